/* Means and percentiles beside numpy's definition, exactly for few values and nearly for many. */
#include "base/random.h"
#include "base/sort.h"
#include "predict/serving/tally.h"
#include "test.h"

#include <math.h>

static void test_few(void)
{
    struct rt_tally tally = {0};
    CU_ASSERT_TRUE(isnan(rt_tally_mean(&tally)));
    CU_ASSERT_TRUE(isnan(rt_tally_percentile(&tally, 0.5)));
    rt_tally_add(&tally, 4, 1);
    rt_tally_add(&tally, 1, 2);
    rt_tally_add_run(&tally, 2, 0.5, 3, 1); /* 1 1 2 2.5 3 4 */
    CU_ASSERT_EQUAL(rt_tally_mean(&tally), 13.5 / 6);
    CU_ASSERT_EQUAL(rt_tally_percentile(&tally, 0.5), 2.25);
    CU_ASSERT_EQUAL(rt_tally_percentile(&tally, 0.9), 3.5);
    CU_ASSERT_EQUAL(rt_tally_percentile(&tally, 1), 4);
    CU_ASSERT_EQUAL(rt_tally_percentile(&tally, 0), 1);
    rt_tally_release(&tally);
}

static void test_many(void)
{
    enum { COUNT = 100000 };
    static double values[COUNT];
    struct rt_tally tally = {0};
    struct rt_random random;
    rt_random_seed(&random, 3, 0);
    for (int i = 0; i < COUNT; i++)
        rt_tally_add(&tally, values[i] = exp(10 * rt_random_uniform(&random)), 1);
    rt_sort_reals(values, COUNT);
    for (double share = 0; share <= 1; share += 0.01)
        RT_ASSERT_NEAR(rt_tally_percentile(&tally, share), values[(int)floor(share * (COUNT - 1))], 2e-3);
    CU_ASSERT_EQUAL(rt_tally_percentile(&tally, 1), values[COUNT - 1]);
    rt_tally_release(&tally);
}

/* A long run goes into bins as its values would one by one. */
static void test_runs(void)
{
    static const double slopes[] = {1e-3, 0.5, -1e-4, 0};
    for (size_t s = 0; s < sizeof slopes / sizeof *slopes; s++) {
        struct rt_tally run = {0}, one = {0};
        rt_tally_add_run(&run, 100, slopes[s], 200000, 3);
        for (int i = 0; i < 200000; i++)
            rt_tally_add(&one, 100 + slopes[s] * i, 3);
        RT_ASSERT_NEAR(rt_tally_mean(&run), rt_tally_mean(&one), 1e-9);
        RT_ASSERT_NEAR(rt_tally_percentile(&run, 0.9), rt_tally_percentile(&one, 0.9), 1e-3);
        CU_ASSERT_EQUAL(run.weight, one.weight);
        rt_tally_release(&run);
        rt_tally_release(&one);
    }
}

static void test_very_small_and_large(void)
{
    struct rt_tally tally = {0};
    for (int i = 0; i < 2 * RT_TALLY_EXACT; i++)
        rt_tally_add(&tally, i % 2 == 0 ? 0 : 1e30, 1);
    CU_ASSERT_TRUE(rt_tally_percentile(&tally, 0.25) < 1e-5);
    CU_ASSERT_TRUE(rt_tally_percentile(&tally, 0.75) <= 1e30);
    rt_tally_release(&tally);
}

RT_TESTS(RT_TEST(test_few), RT_TEST(test_many), RT_TEST(test_runs), RT_TEST(test_very_small_and_large))
