/* Links and gradient sums against formulas and small cases worked out by hand. */
#include "test.h"

#include "models/networks/graph.h"
#include "predict/step/collectives.h"
#include "predict/step/parallel.h"

#include <math.h>

static const struct rt_gradient_rules two_bytes_a_bucket = {.bucket_bytes = 2};

/* Of a GPU whose link has no end, by the predictor "roofline". */
static struct rt_predictor roofline;
static struct rt_collectives endless;

static void start(void)
{
    static const struct rt_graph graph = {.options.dtype = RT_FP32};
    static const struct rt_parallelism parallel = {.data = 4, .expert = 2, .link_gbs = 1e12};
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

/* Exchange of experts over `servers` of eight GPUs each, 8 choices a token. */
static double exchange_by_us(enum rt_runtime_id runtime, enum rt_expert_exchange who, int64_t servers)
{
    struct rt_graph graph = {.options = {.dtype = RT_BF16, .runtime = runtime, .step = RT_STEP_TRAINING},
                             .choices = 8};
    struct rt_parallelism parallel = {.data = 8 * servers,
                                      .expert = 8 * servers,
                                      .exchange = who,
                                      .link_gbs = NAN,
                                      .cluster = RT_CLUSTER_NONE};
    struct rt_collectives c;
    struct rt_collective_time time;
    struct rt_device device;
    struct rt_call call;
    RT_ASSERT_OK(rt_device_named("H100-SXM", &device));
    rt_call_init(&call, RT_OP_ALL_TO_ALL, RT_BF16);
    call.dim[RT_DIM_GPUS] = 8 * servers;
    call.dim[RT_DIM_ELEMENTS] = 8LL * 65536 * 4096;
    start();
    rt_collectives_init(&c, &roofline, &device, &graph, &parallel, 0);
    rt_collective_time_of(&c, &call, RT_GROUP_EXPERT, &time);
    rt_predictor_release(&roofline);
    return time.time_us;
}

static double exchange_us(enum rt_runtime_id runtime, int64_t servers)
{
    return exchange_by_us(runtime, RT_EXCHANGE_OWN, servers);
}

/* A token goes once to each server that holds any of its experts: 1 - 2^-8 of them on two servers, where 4
 * copies of 8 would go. More servers are never faster. */
static void test_experts_once_a_server(void)
{
    double each = exchange_us(RT_RUNTIME_TORCHTITAN, 2), once = exchange_us(RT_RUNTIME_MEGATRON, 2);
    RT_ASSERT_NEAR(once / each, (1 - 1 / 256.0) / 4, 0.01);
    CU_ASSERT_EQUAL(exchange_us(RT_RUNTIME_MEGATRON, 1), exchange_us(RT_RUNTIME_TORCHTITAN, 1));
    for (int64_t servers = 2; servers < 64; servers *= 2) {
        CU_ASSERT_TRUE(exchange_us(RT_RUNTIME_MEGATRON, 2 * servers) >
                       exchange_us(RT_RUNTIME_MEGATRON, servers));
        CU_ASSERT_TRUE(exchange_us(RT_RUNTIME_MEGATRON, servers) <
                       exchange_us(RT_RUNTIME_TORCHTITAN, servers));
    }
}

/* Who is named exchanges, whatever the runtime's own. */
static void test_who_exchanges(void)
{
    CU_ASSERT_EQUAL(exchange_by_us(RT_RUNTIME_MEGATRON, RT_EXCHANGE_ALLTOALL, 4),
                    exchange_us(RT_RUNTIME_TORCHTITAN, 4));
    CU_ASSERT_EQUAL(exchange_by_us(RT_RUNTIME_TORCHTITAN, RT_EXCHANGE_DEEPEP, 4),
                    exchange_us(RT_RUNTIME_MEGATRON, 4));
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
    double one = sum_us();
    struct rt_gradient_sum sums[5];
    const struct rt_gradient late[] = {{0, 1, RT_GROUP_DATA},
                                       {0, 1, RT_GROUP_DATA},
                                       {10 * one, 1, RT_GROUP_DATA},
                                       {10 * one, 1, RT_GROUP_DATA},
                                       {100 * one, 1, RT_GROUP_DATA}};
    size_t count;
    double end = rt_gradient_sums_us(late, 5, &two_bytes_a_bucket, &endless, sums, &count);
    CU_ASSERT_EQUAL_FATAL(count, 3); /* two, two, and the one that is left */
    RT_ASSERT_NEAR(sums[0].end_us, one, 1e-6);
    RT_ASSERT_NEAR(sums[1].start_us, 10 * one, 1e-6);
    RT_ASSERT_NEAR(end, 101 * one, 1e-6);
    const struct rt_gradient crowded[] = {{0, 1, RT_GROUP_DATA},
                                          {0, 1, RT_GROUP_DATA},
                                          {0, 1, RT_GROUP_DATA},
                                          {0, 1, RT_GROUP_DATA},
                                          {0, 1, RT_GROUP_DATA}};
    end = rt_gradient_sums_us(crowded, 5, &two_bytes_a_bucket, &endless, NULL, NULL);
    RT_ASSERT_NEAR(end, 3 * one, 1e-6); /* one after the other */
    rt_predictor_release(&roofline);
}

static void test_gradient_sums_without_overlap(void)
{
    start();
    double one = sum_us();
    const struct rt_gradient gradients[] = {{0, 2, RT_GROUP_DATA}, {50, 2, RT_GROUP_DATA}};
    struct rt_gradient_rules rules = two_bytes_a_bucket;
    rules.no_overlap = true;
    RT_ASSERT_NEAR(rt_gradient_sums_us(gradients, 2, &rules, &endless, NULL, NULL), 50 + 2 * one, 1e-6);
    rt_predictor_release(&roofline);
}

/* Experts' gradients are summed by fewer GPUs, in buckets of their own; what nobody else has is not summed.
 */
static void test_experts_have_buckets_of_their_own(void)
{
    start();
    struct rt_gradient_sum sums[4];
    const struct rt_gradient gradients[] = {
        {0, 1, RT_GROUP_DATA}, {0, 1, RT_GROUP_EXPERT_DATA}, {0, 1, RT_GROUP_DATA}, {0, 5, RT_GROUP_TENSOR}};
    size_t count;
    rt_gradient_sums_us(gradients, 4, &two_bytes_a_bucket, &endless, sums, &count);
    CU_ASSERT_EQUAL_FATAL(count, 2);
    RT_ASSERT_NEAR(sums[0].bytes, 2, 0);
    RT_ASSERT_NEAR(sums[1].bytes, 1, 0);
    rt_predictor_release(&roofline);
}

/* Shares of 2 of 8 GPUs: a reduce-scatter within, and an all-reduce of the half over the 4 copies. */
static void test_hybrid_shares_are_summed_over_copies(void)
{
    const struct rt_parallelism parallel = {.data = 8, .shard_gpus = 2, .link_gbs = 10};
    const struct rt_graph graph = {.options.dtype = RT_FP32};
    struct rt_device device;
    struct rt_collectives c;
    start();
    RT_ASSERT_OK(rt_device_named("A100-SXM4-80GB", &device));
    rt_collectives_init(&c, &roofline, &device, &graph, &parallel, 0);
    const struct rt_gradient gradient = {0, 1e9, RT_GROUP_DATA};
    double within = rt_collective_us(&c, RT_OP_REDUCE_SCATTER, RT_GROUP_SHARD, 1e9),
           across = rt_collective_us(&c, RT_OP_ALL_REDUCE, RT_GROUP_COPIES, 0.5e9);
    const struct rt_gradient_rules rules = {.shared = true, .bucket_bytes = 1};
    RT_ASSERT_NEAR(rt_gradient_sums_us(&gradient, 1, &rules, &c, NULL, NULL), within + across, 1e-9);
    rt_predictor_release(&roofline);
}

RT_TESTS(RT_TEST(test_experts_once_a_server), RT_TEST(test_who_exchanges),
         RT_TEST(test_collectives_by_the_prior), RT_TEST(test_the_runtime_says_whose_kernels),
         RT_TEST(test_gradient_sums_queue_on_the_link), RT_TEST(test_gradient_sums_without_overlap),
         RT_TEST(test_experts_have_buckets_of_their_own), RT_TEST(test_hybrid_shares_are_summed_over_copies))
