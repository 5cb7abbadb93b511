/* The robust fit itself: a line through points, two of which are nonsense. */
#include "train/calibrate/robust.h"
#include "test.h"

static int evaluate_line(void *context, const double *parameter, double *residual, double *slope)
{
    (void)context;
    for (int i = 0; i < 12; i++) {
        double x = i / 11.0, y = i == 3 ? 50 : i == 7 ? -20 : 1 + 2 * x;
        residual[i] = y - (parameter[0] + parameter[1] * x);
        slope[2 * i] = 1;
        slope[2 * i + 1] = x;
    }
    return RT_OK;
}

static void test_robust_line(void)
{
    struct rt_robust_problem problem = {
        .rows = 12, .parameters = 2, .spread = {10, 10}, .scale = 0.01, .evaluate = evaluate_line};
    struct rt_robust_fit fit;
    RT_ASSERT_OK(rt_robust_fit(&problem, &fit));
    CU_ASSERT_DOUBLE_EQUAL(fit.parameter[0], 1, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(fit.parameter[1], 2, 1e-3);
    CU_ASSERT_TRUE(fit.scale < 0.05);
}

RT_TESTS(RT_TEST(test_robust_line))
