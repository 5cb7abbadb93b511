/* Losses: known values, derivatives by differences. */
#include "models/predictors/nn/step.h"
#include "test.h"

#include <math.h>

static void test_known_values(void)
{
    static const struct {
        enum rt_loss_id loss;
        double p, t, value, derivative;
    } cases[] = {
        {RT_LOSS_SMAPE, 3, 1, 0.5, 0.125},
        {RT_LOSS_SMAPE, 1, 3, 0.5, -0.375},
        {RT_LOSS_LOG, 2, 4, 0.69314718055994531, -0.5},
    };
    for (size_t i = 0; i < RT_COUNT(cases); i++) {
        double derivative, value = rt_losses[cases[i].loss].value(cases[i].p, cases[i].t, &derivative);
        RT_ASSERT_NEAR(value, cases[i].value, 1e-14);
        RT_ASSERT_NEAR(derivative, cases[i].derivative, 1e-14);
    }
}

static void test_derivatives_match_differences(void)
{
    static const double values[] = {0.01, 0.5, 1, 3, 700};
    for (int loss = 0; loss < RT_LOSS_COUNT; loss++)
        for (size_t i = 0; i < RT_COUNT(values); i++)
            for (size_t j = 0; j < RT_COUNT(values); j++) {
                double p = values[i] * 1.1, t = values[j], h = 1e-5 * p, derivative, unused;
                rt_losses[loss].value(p, t, &derivative);
                double up = rt_losses[loss].value(p + h, t, &unused),
                       down = rt_losses[loss].value(p - h, t, &unused);
                double scale = fmax(fabs(derivative), 1e-4 * up / p);
                CU_ASSERT_TRUE(fabs((up - down) / (2 * h) - derivative) < 1e-6 * scale);
            }
}

static void test_right_predictions_cost_nothing(void)
{
    for (int loss = 0; loss < RT_LOSS_COUNT; loss++) {
        double derivative = 1;
        CU_ASSERT_EQUAL(rt_losses[loss].value(2.5, 2.5, &derivative), 0);
        CU_ASSERT_EQUAL(derivative, 0);
        CU_ASSERT_EQUAL(rt_loss_find(rt_losses[loss].name), loss);
    }
    CU_ASSERT_EQUAL(rt_loss_find("hinge"), -1);
}

RT_TESTS(RT_TEST(test_known_values), RT_TEST(test_derivatives_match_differences),
         RT_TEST(test_right_predictions_cost_nothing))
