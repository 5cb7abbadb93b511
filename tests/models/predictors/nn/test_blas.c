/* The solver of symmetric positive definite systems: a known solution, and a matrix that is not definite. */
#include "models/predictors/nn/blas.h"
#include "test.h"

#include <math.h>

static void test_solution(void)
{
    /* A = B B^T + I of a lower triangle B of ones */
    enum { N = 5 };
    double a[N * N], b[N] = {0};
    const double x[N] = {1, -2, 0.5, 3, -0.25};
    for (size_t i = 0; i < N; i++)
        for (size_t j = 0; j < N; j++) {
            a[i * N + j] = (double)(i < j ? i + 1 : j + 1) + (i == j);
            b[i] += a[i * N + j] * x[j];
        }
    CU_ASSERT_TRUE(rt_solve_positive(N, a, b));
    for (size_t i = 0; i < N; i++)
        RT_ASSERT_NEAR(b[i], x[i], 1e-13);
    CU_ASSERT_TRUE(rt_solve_positive(0, NULL, NULL));
}

static void test_not_definite(void)
{
    double a[] = {1, 2, 2, 1}, b[] = {1, 1};
    CU_ASSERT_FALSE(rt_solve_positive(2, a, b));
    CU_ASSERT_TRUE(isnan(b[0]) && isnan(b[1]));
}

RT_TESTS(RT_TEST(test_solution), RT_TEST(test_not_definite))
