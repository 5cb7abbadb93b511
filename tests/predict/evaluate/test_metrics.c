/* Error metrics against values worked out by hand and by NumPy's percentile. */
#include "test.h"

#include "predict/evaluate/quantity.h"

#include <math.h>

static void test_hand_worked_errors(void)
{
    const double measured[] = {100, 200, 50, 10}, forecast[] = {110, 150, 50, 30};
    struct rt_metrics m; /* errors: +10, -25, 0, +200 */
    rt_metrics_of(measured, forecast, 4, &m);
    CU_ASSERT_EQUAL(m.count, 4);
    RT_ASSERT_NEAR(m.mape, 235.0 / 4, 1e-12);
    RT_ASSERT_NEAR(m.median, 17.5, 1e-12);
    RT_ASSERT_NEAR(m.p90, 25 + 0.7 * 175, 1e-12); /* numpy.percentile([0, 10, 25, 200], 90) */
    RT_ASSERT_NEAR(m.bias, 185.0 / 4, 1e-12);
    RT_ASSERT_NEAR(m.within10, 50, 1e-12); /* 10% itself counts */
}

static void test_bias_keeps_its_sign(void)
{
    const double measured[] = {100, 100}, forecast[] = {50, 90};
    struct rt_metrics m;
    rt_metrics_of(measured, forecast, 2, &m);
    RT_ASSERT_NEAR(m.bias, -30, 1e-12);
    RT_ASSERT_NEAR(m.mape, 30, 1e-12);
}

static void test_one_value_is_every_percentile(void)
{
    const double measured[] = {4}, forecast[] = {5};
    struct rt_metrics m;
    rt_metrics_of(measured, forecast, 1, &m);
    RT_ASSERT_NEAR(m.median, 25, 1e-12);
    RT_ASSERT_NEAR(m.p90, 25, 1e-12);
    RT_ASSERT_NEAR(m.within10, 0, 1e-12);
}

static void test_nothing_is_nan(void)
{
    struct rt_metrics m;
    rt_metrics_of(NULL, NULL, 0, &m);
    CU_ASSERT_EQUAL(m.count, 0);
    CU_ASSERT_TRUE(isnan(m.mape) && isnan(m.median) && isnan(m.p90) && isnan(m.bias) && isnan(m.within10));
}

static void test_percentiles_are_type_7(void)
{
    const double value[] = {1, 2, 4, 8, 16};
    RT_ASSERT_NEAR(rt_percentile(value, 5, 0), 1, 0);
    RT_ASSERT_NEAR(rt_percentile(value, 5, 0.5), 4, 0);
    RT_ASSERT_NEAR(rt_percentile(value, 5, 0.9), 12.8, 1e-12); /* 8 + 0.6 (16 - 8) */
    RT_ASSERT_NEAR(rt_percentile(value, 5, 1), 16, 0);
    CU_ASSERT_TRUE(isnan(rt_percentile(value, 0, 0.5)));
}

static void test_order_does_not_matter(void)
{
    double measured[101], forecast[101];
    for (int i = 0; i < 101; i++) { /* errors 0..100%, shuffled: 37 is prime to 101 */
        measured[i] = 1 + i % 7;
        forecast[i] = measured[i] * (1 + 0.01 * (i * 37 % 101));
    }
    struct rt_metrics m;
    rt_metrics_of(measured, forecast, 101, &m);
    RT_ASSERT_NEAR(m.median, 50, 1e-9);
    RT_ASSERT_NEAR(m.p90, 90, 1e-9);
    RT_ASSERT_NEAR(m.mape, 50, 1e-9);
}

RT_TESTS(RT_TEST(test_hand_worked_errors), RT_TEST(test_bias_keeps_its_sign),
         RT_TEST(test_one_value_is_every_percentile), RT_TEST(test_nothing_is_nan),
         RT_TEST(test_percentiles_are_type_7), RT_TEST(test_order_does_not_matter))
