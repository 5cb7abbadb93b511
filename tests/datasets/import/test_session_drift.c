/* Samples in random order whose host took longer with every row: what is taken off. */
#include "base/random.h"
#include "datasets/import/neusight.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS = 4000 };

/* Kernels of 20 us to 20 ms, and `slope` us more in each row from `start` on. */
static void fill(double *time_us, double *truth, double slope, size_t start)
{
    struct rt_random random;
    rt_random_seed(&random, 1, 1);
    for (size_t i = 0; i < ROWS; i++) {
        truth[i] = 20 * exp(rt_random_uniform(&random) * log(1000));
        time_us[i] = truth[i] + (i > start ? slope * (double)(i - start) : 0);
    }
}

static double worst_left(const double *time_us, const double *truth)
{
    double worst = 0;
    for (size_t i = 0; i < ROWS; i++)
        worst = fmax(worst, fabs(time_us[i] - truth[i]));
    return worst;
}

static void test_drift_goes(void)
{
    double *time_us = calloc(ROWS, sizeof *time_us);
    double *truth = calloc(ROWS, sizeof *truth);
    fill(time_us, truth, 0.2, 0);
    CU_ASSERT_TRUE(worst_left(time_us, truth) > 790);
    rt_session_drift_remove(time_us, ROWS);
    CU_ASSERT_TRUE(worst_left(time_us, truth) < 10);
    fill(time_us, truth, 0.2, 1000);
    rt_session_drift_remove(time_us, ROWS);
    CU_ASSERT_TRUE(worst_left(time_us, truth) < 15);
    free(truth);
    free(time_us);
}

static void test_what_stays(void)
{
    double *time_us = calloc(ROWS, sizeof *time_us);
    double *truth = calloc(ROWS, sizeof *truth);
    fill(time_us, truth, 0, 0);
    rt_session_drift_remove(time_us, ROWS);
    CU_ASSERT_TRUE(worst_left(time_us, truth) < 5); /* there was none */
    fill(time_us, truth, 0.2, 0);
    rt_session_drift_remove(time_us, RT_DRIFT_ROWS - 1); /* too few rows to know */
    CU_ASSERT_EQUAL(time_us[900], truth[900] + 0.2 * 900);
    for (size_t i = 0; i < ROWS; i++)
        CU_ASSERT_TRUE_FATAL(time_us[i] > 0);
    free(truth);
    free(time_us);
}

RT_TESTS(RT_TEST(test_drift_goes), RT_TEST(test_what_stays))
