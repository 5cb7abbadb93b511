/* Links, gradient sums and pipelines against formulas and small cases worked out by hand. */
#include "test.h"

#include "datasets/op.h"
#include "predict/forecast/parallel.h"

#include <math.h>

static const struct rt_parallel two_bytes_a_bucket = {.data = 4, .bucket_bytes = 2};

static const struct rt_link wide = {300, 1}, endless = {1e12, 1};

static void test_collectives_take_bytes_over_link(void)
{
    double second = 1e9 * RT_LINK_UTILISATION * 300; /* bytes that a 300 GB/s link moves in a second */
    double large = rt_collective_us(RT_OP_ALL_REDUCE, 4, second, &wide);
    RT_ASSERT_NEAR(large, 1e6 + RT_LINK_START_US + 6 * RT_LINK_STEP_US, 1e-12);
    RT_ASSERT_NEAR(rt_collective_us(RT_OP_ALL_GATHER, 4, 0, &wide), RT_LINK_START_US + 3 * RT_LINK_STEP_US,
                   1e-12);
    RT_ASSERT_NEAR(rt_collective_us(RT_OP_SEND_RECEIVE, 2, 0, &wide), RT_LINK_START_US + RT_LINK_STEP_US,
                   1e-12);
    CU_ASSERT_TRUE(isnan(rt_collective_us(RT_OP_ALL_REDUCE, 4, 1, &(struct rt_link){NAN, 1})));
}

/* MI300X: a link of 64 GB/s to each of seven peers. A message takes one, a collective those of its peers. */
static void test_a_mesh_sends_over_all_of_its_links(void)
{
    struct rt_device device;
    RT_ASSERT_OK(rt_device_named("MI300X", &device));
    const struct rt_link link = rt_device_link(&device);
    CU_ASSERT_EQUAL(rt_collective_gbs(RT_OP_SEND_RECEIVE, 2, &link), 64);
    CU_ASSERT_EQUAL(rt_collective_gbs(RT_OP_ALL_REDUCE, 2, &link), 64);
    CU_ASSERT_EQUAL(rt_collective_gbs(RT_OP_ALL_REDUCE, 4, &link), 3 * 64);
    CU_ASSERT_EQUAL(rt_collective_gbs(RT_OP_ALL_GATHER, 8, &link), 7 * 64);
    CU_ASSERT_EQUAL(rt_collective_gbs(RT_OP_ALL_REDUCE, 16, &link), 7 * 64); /* there are no more links */
    RT_ASSERT_OK(rt_device_named("H100", &device));                          /* through a switch */
    const struct rt_link through = rt_device_link(&device);
    CU_ASSERT_EQUAL(rt_collective_gbs(RT_OP_ALL_REDUCE, 8, &through), 450);
}

/* Small sums take their latency alone, so that times are whole multiples of it. */
static double sum_us(void)
{
    return rt_collective_us(RT_OP_ALL_REDUCE, 4, 0, &endless);
}

static void test_gradient_sums_queue_on_the_link(void)
{
    double one = sum_us(), ready[] = {0, 0, 10 * one, 10 * one, 100 * one};
    double bytes[] = {1, 1, 1, 1, 1};
    struct rt_gradient_sum sums[5];
    size_t count;
    double end = rt_gradient_sums_us(ready, bytes, 5, 4, &two_bytes_a_bucket, &endless, sums, &count);
    CU_ASSERT_EQUAL_FATAL(count, 3); /* two, two, and the one that is left */
    RT_ASSERT_NEAR(sums[0].end_us, one, 1e-6);
    RT_ASSERT_NEAR(sums[1].start_us, 10 * one, 1e-6);
    RT_ASSERT_NEAR(end, 101 * one, 1e-6);
    double crowded[] = {0, 0, 0, 0, 0};
    end = rt_gradient_sums_us(crowded, bytes, 5, 4, &two_bytes_a_bucket, &endless, NULL, NULL);
    RT_ASSERT_NEAR(end, 3 * one, 1e-6); /* one after the other */
}

static void test_gradient_sums_without_overlap(void)
{
    double one = sum_us(), ready[] = {0, 50}, bytes[] = {2, 2};
    struct rt_parallel parallel = two_bytes_a_bucket;
    parallel.no_overlap = true;
    RT_ASSERT_NEAR(rt_gradient_sums_us(ready, bytes, 2, 4, &parallel, &endless, NULL, NULL), 50 + 2 * one,
                   1e-6);
}

/* Even stages without links: both schedules take (m + p - 1) (f + b) (Narayanan 2021, section 2.2). */
static void test_even_pipelines_have_the_known_bubble(void)
{
    double forward[] = {3, 3, 3, 3}, backward[] = {5, 5, 5, 5}, busy;
    for (int schedule = 0; schedule < RT_PIPELINE_COUNT; schedule++)
        for (int64_t m = 1; m <= 9; m++) {
            double end = rt_pipeline_us(forward, backward, 4, m, 0, schedule, &busy, NULL);
            RT_ASSERT_NEAR(end, (double)(m + 3) * 8, 1e-12);
            RT_ASSERT_NEAR(busy, (double)m * 8, 1e-12);
        }
    RT_ASSERT_NEAR(rt_pipeline_us(forward, NULL, 4, 6, 0, RT_PIPELINE_1F1B, NULL, NULL), (6 + 3) * 3, 1e-12);
}

static void test_one_stage_runs_microbatches_in_turn(void)
{
    double forward = 2, backward = 4;
    RT_ASSERT_NEAR(rt_pipeline_us(&forward, &backward, 1, 5, 100, RT_PIPELINE_1F1B, NULL, NULL), 30, 1e-12);
}

/* One microbatch passes 3 stages forward and backward: every time once, every link once in each direction. */
static void test_one_microbatch_is_a_chain(void)
{
    double forward[] = {1, 2, 3}, backward[] = {10, 20, 30}, ends[6];
    double end = rt_pipeline_us(forward, backward, 3, 1, 7, RT_PIPELINE_GPIPE, NULL, ends);
    RT_ASSERT_NEAR(end, 1 + 7 + 2 + 7 + 3 + 30 + 7 + 20 + 7 + 10, 1e-12);
    RT_ASSERT_NEAR(ends[2], 20, 1e-12);
    RT_ASSERT_NEAR(ends[3 + 2], 50, 1e-12);
    RT_ASSERT_NEAR(ends[3 + 0], end, 1e-12);
}

/* The slowest stage sets the pace: with many microbatches the step tends to m times its time. */
static void test_the_slowest_stage_sets_the_pace(void)
{
    double forward[] = {1, 4, 1}, backward[] = {2, 8, 2};
    for (int schedule = 0; schedule < RT_PIPELINE_COUNT; schedule++) {
        double end = rt_pipeline_us(forward, backward, 3, 100, 0, schedule, NULL, NULL);
        CU_ASSERT_TRUE(end >= 1200 && end < 1200 + 12 * 3);
    }
}

static void test_activations_in_flight(void)
{
    CU_ASSERT_EQUAL(rt_pipeline_in_flight(4, 16, RT_PIPELINE_1F1B), 4);
    CU_ASSERT_EQUAL(rt_pipeline_in_flight(4, 2, RT_PIPELINE_1F1B), 2);
    CU_ASSERT_EQUAL(rt_pipeline_in_flight(4, 16, RT_PIPELINE_GPIPE), 16);
}

RT_TESTS(RT_TEST(test_collectives_take_bytes_over_link), RT_TEST(test_a_mesh_sends_over_all_of_its_links),
         RT_TEST(test_gradient_sums_queue_on_the_link), RT_TEST(test_gradient_sums_without_overlap),
         RT_TEST(test_even_pipelines_have_the_known_bubble),
         RT_TEST(test_one_stage_runs_microbatches_in_turn), RT_TEST(test_one_microbatch_is_a_chain),
         RT_TEST(test_the_slowest_stage_sets_the_pace), RT_TEST(test_activations_in_flight))
