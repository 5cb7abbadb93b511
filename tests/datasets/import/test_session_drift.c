/* Samples in random order whose host took longer with every row: what is taken off. */
#include "base/random.h"
#include "datasets/import/neusight.h"
#include "test.h"

#include <math.h>
#include <stdlib.h>

enum { ROWS = 4000 };

/* Kernels of 20 us to 20 ms, and `slope` us more in each row from `start` on. */
static void fill(struct rt_sample *samples, double *truth, double slope, size_t start)
{
    struct rt_random random;
    rt_random_seed(&random, 1, 1);
    for (size_t i = 0; i < ROWS; i++) {
        truth[i] = 20 * exp(rt_random_uniform(&random) * log(1000));
        samples[i] =
            (struct rt_sample){.latency_us = truth[i] + (i > start ? slope * (double)(i - start) : 0)};
    }
}

static double worst_left(const struct rt_sample *samples, const double *truth)
{
    double worst = 0;
    for (size_t i = 0; i < ROWS; i++)
        worst = fmax(worst, fabs(samples[i].latency_us - truth[i]));
    return worst;
}

static void test_drift_goes(void)
{
    struct rt_sample *samples = calloc(ROWS, sizeof *samples);
    double *truth = calloc(ROWS, sizeof *truth);
    fill(samples, truth, 0.2, 0);
    CU_ASSERT_TRUE(worst_left(samples, truth) > 790);
    rt_session_drift_remove(samples, ROWS);
    CU_ASSERT_TRUE(worst_left(samples, truth) < 10);
    fill(samples, truth, 0.2, 1000);
    rt_session_drift_remove(samples, ROWS);
    CU_ASSERT_TRUE(worst_left(samples, truth) < 15);
    free(truth);
    free(samples);
}

static void test_what_stays(void)
{
    struct rt_sample *samples = calloc(ROWS, sizeof *samples);
    double *truth = calloc(ROWS, sizeof *truth);
    fill(samples, truth, 0, 0);
    rt_session_drift_remove(samples, ROWS);
    CU_ASSERT_TRUE(worst_left(samples, truth) < 5); /* there was none */
    fill(samples, truth, 0.2, 0);
    rt_session_drift_remove(samples, RT_DRIFT_ROWS - 1); /* too few rows to know */
    CU_ASSERT_EQUAL(samples[900].latency_us, truth[900] + 0.2 * 900);
    for (size_t i = 0; i < ROWS; i++)
        CU_ASSERT_TRUE_FATAL(samples[i].latency_us > 0);
    free(truth);
    free(samples);
}

RT_TESTS(RT_TEST(test_drift_goes), RT_TEST(test_what_stays))
