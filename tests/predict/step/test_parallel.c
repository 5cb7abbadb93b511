/* Links, gradient sums and pipelines against formulas and small cases worked out by hand. */
#include "test.h"

#include "models/networks/graph.h"
#include "predict/step/collectives.h"
#include "predict/step/parallel.h"

#include <math.h>

static const struct rt_parallelism two_bytes_a_bucket = {.data = 4, .bucket_bytes = 2};

/* Of a GPU whose link has no end, by the predictor "roofline". */
static struct rt_predictor roofline;
static struct rt_collectives endless;

static void start(void)
{
    static const struct rt_graph graph = {.options.dtype = RT_FP32};
    static const struct rt_parallelism parallel = {.data = 4, .link_gbs = 1e12};
    struct rt_device device;
    RT_ASSERT_OK(rt_device_named("A100-SXM4-80GB", &device));
    rt_predictor_init_roofline(&roofline);
    rt_collectives_init(&endless, &roofline, &device, &graph, &parallel, 0);
}

/* What NCCL takes for a message of one GPU, by the prior: no less than the bytes over the link. */
static void test_collectives_by_the_prior(void)
{
    struct rt_graph graph = {.options.dtype = RT_BF16};
    struct rt_parallelism parallel = {.data = 4, .link_gbs = NAN};
    struct rt_collectives c;
    struct rt_device device;
    start();
    RT_ASSERT_OK(rt_device_named("A100-SXM4-80GB", &device));
    rt_collectives_init(&c, &roofline, &device, &graph, &parallel, 0);
    double us = rt_collective_us(&c, RT_OP_ALL_REDUCE, RT_GROUP_DATA, 2e9), least = 1e6 * 1.5 * 2e9 / 300e9;
    CU_ASSERT_TRUE(us > least && us < 1.6 * least);
    CU_ASSERT_TRUE(rt_collective_us(&c, RT_OP_SEND_RECEIVE, RT_GROUP_PIPELINE, 2) < 20);
    parallel.data = 8;
    parallel.link_gbs = 30; /* what a user measured: nothing more is taken off than over PCIe */
    rt_collectives_init(&c, &roofline, &device, &graph, &parallel, 0);
    CU_ASSERT_EQUAL(c.fabric, RT_FABRIC_PCIE_PEER);
    us = rt_collective_us(&c, RT_OP_ALL_REDUCE, RT_GROUP_DATA, 2e9);
    least = 1e6 * 1.75 * 2e9 / 30e9;
    CU_ASSERT_TRUE(us > least && us < 1.6 * least);
    device.link_gbs = NAN;
    parallel.data = 4;
    parallel.link_gbs = NAN;
    rt_collectives_init(&c, &roofline, &device, &graph, &parallel, 0);
    CU_ASSERT_TRUE(isnan(rt_collective_us(&c, RT_OP_ALL_REDUCE, RT_GROUP_DATA, 1)));
    RT_ASSERT_FAILS(rt_collectives_check(&c, 4), RT_EFORMAT, "link_gbs");
    c.fabric = RT_FABRIC_PAIRS;
    RT_ASSERT_FAILS(rt_collectives_check(&c, 2), RT_EFORMAT, "bridge_gbs");
    rt_predictor_release(&roofline);
}

static double library_us(enum rt_runtime_id runtime, enum rt_step_kind step)
{
    struct rt_graph graph = {.options = {.dtype = RT_BF16, .runtime = runtime, .step = step}};
    struct rt_parallelism parallel = {.link_gbs = NAN};
    struct rt_collectives c;
    struct rt_collective_time time;
    struct rt_device device;
    struct rt_call call;
    RT_ASSERT_OK(rt_device_named("H100-SXM", &device));
    rt_call_init(&call, RT_OP_ALL_REDUCE, RT_BF16);
    call.dim[RT_DIM_GPUS] = 8;
    call.dim[RT_DIM_ELEMENTS] = 65536;
    rt_collectives_init(&c, &roofline, &device, &graph, &parallel, 0.9);
    rt_collective_time_of(&c, &call, RT_GROUP_TENSOR, &time);
    CU_ASSERT_TRUE(time.ln_half_width > 0.2 && time.ln_half_width < 1 && time.bound_us < time.time_us);
    return time.time_us;
}

/* Servers reduce small messages by their own kernels, PyTorch by NCCL's. */
static void test_the_runtime_says_whose_kernels(void)
{
    start();
    double decode = library_us(RT_RUNTIME_SERVING, RT_STEP_DECODE),
           prefill = library_us(RT_RUNTIME_SERVING, RT_STEP_PREFILL),
           eager = library_us(RT_RUNTIME_EAGER, RT_STEP_DECODE);
    CU_ASSERT_TRUE(decode < prefill && prefill < 0.7 * eager);
    rt_predictor_release(&roofline);
}

/* Small sums take their latency alone, so that times are whole multiples of it. */
static double sum_us(void)
{
    return rt_collective_us(&endless, RT_OP_ALL_REDUCE, RT_GROUP_DATA, 4);
}

static void test_gradient_sums_queue_on_the_link(void)
{
    start();
    double one = sum_us(), ready[] = {0, 0, 10 * one, 10 * one, 100 * one};
    double bytes[] = {1, 1, 1, 1, 1};
    struct rt_gradient_sum sums[5];
    size_t count;
    double end =
        rt_gradient_sums_us(ready, bytes, 5, RT_GROUP_DATA, &two_bytes_a_bucket, &endless, sums, &count);
    CU_ASSERT_EQUAL_FATAL(count, 3); /* two, two, and the one that is left */
    RT_ASSERT_NEAR(sums[0].end_us, one, 1e-6);
    RT_ASSERT_NEAR(sums[1].start_us, 10 * one, 1e-6);
    RT_ASSERT_NEAR(end, 101 * one, 1e-6);
    double crowded[] = {0, 0, 0, 0, 0};
    end = rt_gradient_sums_us(crowded, bytes, 5, RT_GROUP_DATA, &two_bytes_a_bucket, &endless, NULL, NULL);
    RT_ASSERT_NEAR(end, 3 * one, 1e-6); /* one after the other */
    rt_predictor_release(&roofline);
}

static void test_gradient_sums_without_overlap(void)
{
    start();
    double one = sum_us(), ready[] = {0, 50}, bytes[] = {2, 2};
    struct rt_parallelism parallel = two_bytes_a_bucket;
    parallel.no_overlap = true;
    RT_ASSERT_NEAR(rt_gradient_sums_us(ready, bytes, 2, RT_GROUP_DATA, &parallel, &endless, NULL, NULL),
                   50 + 2 * one, 1e-6);
    rt_predictor_release(&roofline);
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

RT_TESTS(RT_TEST(test_collectives_by_the_prior), RT_TEST(test_the_runtime_says_whose_kernels),
         RT_TEST(test_gradient_sums_queue_on_the_link), RT_TEST(test_gradient_sums_without_overlap),
         RT_TEST(test_even_pipelines_have_the_known_bubble),
         RT_TEST(test_one_stage_runs_microbatches_in_turn), RT_TEST(test_one_microbatch_is_a_chain),
         RT_TEST(test_the_slowest_stage_sets_the_pace), RT_TEST(test_activations_in_flight))
