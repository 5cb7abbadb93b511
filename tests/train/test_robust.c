/* The robust fit itself: a line through points, two of which are nonsense. */
#include "train/robust.h"
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
    const double centre[2] = {0}, spread[2] = {10, 10};
    struct rt_robust_problem problem = {.rows = 12,
                                        .parameters = 2,
                                        .centre = centre,
                                        .spread = spread,
                                        .scale = 0.01,
                                        .evaluate = evaluate_line};
    struct rt_robust_fit fit;
    double parameter[2] = {0};
    RT_ASSERT_OK(rt_robust_fit(&problem, parameter, &fit));
    CU_ASSERT_DOUBLE_EQUAL(parameter[0], 1, 1e-3);
    CU_ASSERT_DOUBLE_EQUAL(parameter[1], 2, 1e-3);
    CU_ASSERT_TRUE(fit.scale < 0.05);
    problem.wide = 200; /* another way to the same */
    double other[2] = {0};
    RT_ASSERT_OK(rt_robust_fit(&problem, other, &fit));
    CU_ASSERT_DOUBLE_EQUAL(other[0], parameter[0], 1e-6);
}

/* A parameter without a spread stays where it starts; measurements that weigh nothing say nothing. */
static void test_held(void)
{
    const double centre[2] = {0}, spread[2] = {10, 0}, weight[12] = {1, [11] = 1};
    struct rt_robust_problem problem = {.rows = 12,
                                        .parameters = 2,
                                        .centre = centre,
                                        .spread = spread,
                                        .weight = weight,
                                        .scale = 0.01,
                                        .evaluate = evaluate_line};
    struct rt_robust_fit fit;
    double parameter[2] = {0, 2};
    RT_ASSERT_OK(rt_robust_fit(&problem, parameter, &fit));
    CU_ASSERT_DOUBLE_EQUAL(parameter[0], 1, 1e-3);
    CU_ASSERT_EQUAL(parameter[1], 2);
}

/* A fit that has settled while the scale is wide ends there, as far from the prior as that scale says. */
static void test_settled_while_wide(void)
{
    const double centre[2] = {0}, spread[2] = {0.02, 0.02};
    struct rt_robust_problem problem = {.rows = 12,
                                        .parameters = 2,
                                        .centre = centre,
                                        .spread = spread,
                                        .scale = 0.1,
                                        .evaluate = evaluate_line,
                                        .wide = 4};
    struct rt_robust_fit settled, fitted;
    double near[2] = {0}, far[2] = {0};
    problem.short_step = 1; /* longer than its first step */
    RT_ASSERT_OK(rt_robust_fit(&problem, near, &settled));
    CU_ASSERT_EQUAL(settled.scale, problem.wide * problem.scale);
    problem.short_step = 0; /* the usual */
    RT_ASSERT_OK(rt_robust_fit(&problem, far, &fitted));
    CU_ASSERT_NOT_EQUAL(fitted.scale, settled.scale);
    problem.short_step = 1e-10;
    double same[2] = {0};
    RT_ASSERT_OK(rt_robust_fit(&problem, same, &fitted));
    CU_ASSERT_TRUE(same[0] == far[0] && same[1] == far[1]);
}

RT_TESTS(RT_TEST(test_robust_line), RT_TEST(test_held), RT_TEST(test_settled_while_wide))
