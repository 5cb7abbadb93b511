/* Statistics of known numbers; stopping on a backend with a simulated clock. */
#include "test.h"

#include "collect/measure.h"

#include <math.h>

static void test_statistics_odd(void)
{
    double values[] = {5, 1, 6, 2, 4}; /* sorted 1 2 4 5 6; deviations from 4: 0 1 2 2 3 */
    struct rt_statistics s = rt_statistics(values, 5);
    RT_ASSERT_NEAR(s.median, 4, 0);
    RT_ASSERT_NEAR(s.min, 1, 0);
    RT_ASSERT_NEAR(s.mad, 2, 0);
    RT_ASSERT_NEAR(s.rel_error, 1.2533 * 1.4826 * 2 / sqrt(5) / 4, 1e-12);
}

static void test_statistics_even(void)
{
    double values[] = {1, 9, 3, 2}; /* median 2.5; deviations 0.5 0.5 1.5 6.5 */
    struct rt_statistics s = rt_statistics(values, 4);
    RT_ASSERT_NEAR(s.median, 2.5, 0);
    RT_ASSERT_NEAR(s.mad, 1, 0);
}

static void test_statistics_small(void)
{
    double one[] = {7}, two[] = {4, 2};
    struct rt_statistics s = rt_statistics(one, 1);
    RT_ASSERT_NEAR(s.median, 7, 0);
    CU_ASSERT_EQUAL(s.mad, 0);
    s = rt_statistics(two, 2);
    RT_ASSERT_NEAR(s.median, 3, 0);
    RT_ASSERT_NEAR(s.mad, 1, 0);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

/* The deviation found by merging equals the one found by sorting deviations. */
static void test_statistics_against_sorting(void)
{
    srand(1);
    for (int round = 0; round < 500; round++) {
        double values[40], deviation[40];
        size_t n = 1 + (size_t)rand() % 40;
        for (size_t i = 0; i < n; i++)
            values[i] = rand() % 20; /* ties too */
        struct rt_statistics s = rt_statistics(values, n);
        for (size_t i = 0; i < n; i++)
            deviation[i] = fabs(values[i] - s.median);
        qsort(deviation, n, sizeof *deviation, by_value);
        CU_ASSERT_EQUAL(s.mad, 0.5 * (deviation[(n - 1) / 2] + deviation[n / 2]));
    }
}

static void test_bimodal_times(void)
{
    double values[] = {10, 11, 10, 11, 11}; /* the MAD is 0 */
    struct rt_statistics s = rt_statistics(values, 5);
    CU_ASSERT_EQUAL(s.mad, 0);
    RT_ASSERT_NEAR(s.rel_error, 0.5 / 11, 1e-12);
    double many[101];
    for (int i = 0; i < 101; i++)
        many[i] = i % 10 == 0 ? 20 : 10; /* 10% of outliers do not change the median */
    s = rt_statistics(many, 101);
    CU_ASSERT_EQUAL(s.rel_error, 0);
}

/* A kernel of `us` a run, evenly spread over +-`scatter` of that. */
struct fake {
    double us, scatter, now;
    uint64_t calls, runs, next, fail_at;
    uint64_t shortest_batch;
    bool gap; /* `first` was not the number of runs so far */
};

static int fake_time(void *context, void *work, const struct rt_batch *batch, double *us)
{
    uint64_t first = batch->first, runs = batch->runs;
    struct fake *fake = context;
    (void)work;
    if (++fake->calls == fake->fail_at)
        return rt_fail(RT_EIO, "the fake failed");
    fake->gap |= first != fake->next;
    fake->next = first + runs;
    fake->runs = runs;
    double u = 0.6180339887 * (double)fake->calls; /* golden ratio: fills 0..1 evenly */
    *us = (double)runs * fake->us * (1 + fake->scatter * (2 * (u - floor(u)) - 1));
    fake->now += 1e-6 * *us;
    return RT_OK;
}

static double fake_clock(void *context)
{
    return ((struct fake *)context)->now;
}

static const struct rt_backend fake_backend = {
    .name = "fake", .most_batches = 1, .time = fake_time, .clock = fake_clock};

static void test_steady_kernel_stops_at_once(void)
{
    struct fake fake = {.us = 500};
    struct rt_stopping stopping = RT_STOPPING_DEFAULT;
    struct rt_measurement m;
    RT_ASSERT_OK(rt_measure(&fake_backend, &fake, NULL, &stopping, false, &m));
    CU_ASSERT_TRUE(m.met);
    CU_ASSERT_EQUAL(m.samples, stopping.least);
    CU_ASSERT_EQUAL(m.runs, (uint64_t)stopping.least);
    RT_ASSERT_NEAR(m.us.median, 500, 1e-12);
    CU_ASSERT_FALSE(fake.gap);
}

static void test_short_kernels_run_in_batches(void)
{
    struct fake fake = {.us = 0.25};
    struct rt_stopping stopping = RT_STOPPING_DEFAULT;
    struct rt_measurement m;
    RT_ASSERT_OK(rt_measure(&fake_backend, &fake, NULL, &stopping, false, &m));
    CU_ASSERT_TRUE((double)fake.runs * fake.us >= stopping.batch_us);
    CU_ASSERT_TRUE((double)fake.runs * fake.us <= 3 * stopping.batch_us);
    CU_ASSERT_EQUAL(m.runs, (uint64_t)m.samples * fake.runs);
    RT_ASSERT_NEAR(m.us.median, 0.25, 1e-12);
    CU_ASSERT_FALSE(fake.gap);
}

/* +-3%: the MAD is 3%, so 1% needs (1.858 x 3)^2 = 31 samples; it is tested when the count has grown by half.
 */
static void test_noise_takes_more_samples(void)
{
    struct fake fake = {.us = 200, .scatter = 0.06};
    struct rt_stopping stopping = RT_STOPPING_DEFAULT;
    stopping.rel_error = 0.01;
    struct rt_measurement m;
    RT_ASSERT_OK(rt_measure(&fake_backend, &fake, NULL, &stopping, false, &m));
    CU_ASSERT_TRUE(m.met);
    CU_ASSERT_TRUE(m.samples >= 25 && m.samples <= 60);
    CU_ASSERT_TRUE(m.us.rel_error <= 0.01);
}

static void test_time_runs_out(void)
{
    struct fake fake = {.us = 2000, .scatter = 0.4};
    struct rt_stopping stopping = RT_STOPPING_DEFAULT;
    struct rt_measurement m;
    RT_ASSERT_OK(rt_measure(&fake_backend, &fake, NULL, &stopping, false, &m));
    CU_ASSERT_FALSE(m.met);
    CU_ASSERT_TRUE(fake.now >= stopping.max_time_s && fake.now < stopping.max_time_s + 0.01);
}

static void test_long_kernels_get_their_samples(void)
{
    struct fake fake = {.us = 1e6};
    struct rt_stopping stopping = RT_STOPPING_DEFAULT;
    struct rt_measurement m;
    RT_ASSERT_OK(rt_measure(&fake_backend, &fake, NULL, &stopping, false, &m));
    CU_ASSERT_TRUE(m.met);
    CU_ASSERT_EQUAL(m.samples, stopping.least);
    CU_ASSERT_EQUAL(fake.calls, (uint64_t)stopping.least + 1); /* one warm-up is enough */
}

static void test_samples_are_bounded(void)
{
    struct fake fake = {.us = 100, .scatter = 0.5};
    struct rt_stopping stopping = {
        .rel_error = 1e-6, .max_time_s = 1e9, .batch_us = 100, .least = 5, .most = 64};
    struct rt_measurement m;
    RT_ASSERT_OK(rt_measure(&fake_backend, &fake, NULL, &stopping, false, &m));
    CU_ASSERT_EQUAL(m.samples, 64);
    CU_ASSERT_FALSE(m.met);
}

static void test_kernel_of_no_time_ends(void)
{
    struct fake fake = {.us = 0};
    struct rt_stopping stopping = RT_STOPPING_DEFAULT;
    struct rt_measurement m;
    RT_ASSERT_OK(rt_measure(&fake_backend, &fake, NULL, &stopping, false, &m));
    CU_ASSERT_EQUAL(m.us.median, 0);
    CU_ASSERT_FALSE(m.met);
}

static void test_a_failing_device(void)
{
    for (uint64_t at = 1; at <= 4; at++) { /* in the warm-up and among the samples */
        struct fake fake = {.us = 200, .fail_at = at};
        struct rt_stopping stopping = RT_STOPPING_DEFAULT;
        struct rt_measurement m;
        RT_ASSERT_FAILS(rt_measure(&fake_backend, &fake, NULL, &stopping, false, &m), RT_EIO,
                        "the fake failed");
    }
}

RT_TESTS(RT_TEST(test_statistics_odd), RT_TEST(test_statistics_even), RT_TEST(test_statistics_small),
         RT_TEST(test_statistics_against_sorting), RT_TEST(test_bimodal_times),
         RT_TEST(test_steady_kernel_stops_at_once), RT_TEST(test_short_kernels_run_in_batches),
         RT_TEST(test_noise_takes_more_samples), RT_TEST(test_time_runs_out),
         RT_TEST(test_long_kernels_get_their_samples), RT_TEST(test_samples_are_bounded),
         RT_TEST(test_kernel_of_no_time_ends), RT_TEST(test_a_failing_device))
