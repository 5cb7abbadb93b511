/* Collectives on links: bounds by hand, who reduces, and that more hardware is never slower. */
#include "base/random.h"
#include "models/predictors/roofline/link.h"
#include "test.h"

#include <math.h>

static const enum rt_op_id ops[] = {RT_OP_ALL_REDUCE, RT_OP_ALL_GATHER, RT_OP_REDUCE_SCATTER,
                                    RT_OP_ALL_TO_ALL, RT_OP_SEND_RECEIVE};

static struct rt_call call_of(enum rt_op_id op, int64_t gpus, int64_t elements, enum rt_fabric fabric,
                              enum rt_collective_library library)
{
    struct rt_call call;
    rt_call_init(&call, op, RT_FP16);
    call.dim[RT_DIM_GPUS] = gpus;
    call.dim[RT_DIM_ELEMENTS] = elements;
    call.dim[RT_DIM_FABRIC] = fabric;
    call.dim[RT_DIM_LIBRARY] = library;
    return call;
}

static struct rt_device named(const char *name)
{
    struct rt_device device;
    RT_ASSERT_OK(rt_device_named(name, &device));
    return device;
}

static double bound(const struct rt_device *device, enum rt_op_id op, int64_t gpus, enum rt_fabric fabric)
{
    struct rt_call call = call_of(op, gpus, 150000000, fabric, RT_LIBRARY_NCCL); /* 300 MB */
    return rt_link_bound_us(&call, device);
}

static double prior_us(const struct rt_device *device, enum rt_op_id op, int64_t gpus, int64_t elements,
                       enum rt_fabric fabric, enum rt_collective_library library)
{
    struct rt_call call = call_of(op, gpus, elements, fabric, library);
    return rt_link_us(&rt_link_prior, &call, device, true);
}

static void test_bounds(void)
{
    struct rt_device a100 = named("A100-SXM4-80GB"), h100 = named("H100-SXM"), mesh = named("MI300X"),
                     boards = named("A100-PCIE-80GB");
    RT_ASSERT_NEAR(bound(&a100, RT_OP_ALL_REDUCE, 4, RT_FABRIC_OWN), 1500, 1e-9); /* 2 x 3/4 of 1 ms */
    RT_ASSERT_NEAR(bound(&a100, RT_OP_ALL_GATHER, 4, RT_FABRIC_OWN), 750, 1e-9);
    RT_ASSERT_NEAR(bound(&a100, RT_OP_SEND_RECEIVE, 4, RT_FABRIC_OWN), 1000, 1e-9);
    RT_ASSERT_NEAR(bound(&h100, RT_OP_ALL_REDUCE, 4, RT_FABRIC_OWN), 1000, 1e-9);
    RT_ASSERT_NEAR(bound(&h100, RT_OP_ALL_REDUCE, 8, RT_FABRIC_OWN), 1e6 * 0.3 / 450, 1e-9); /* by switches */
    RT_ASSERT_NEAR(bound(&h100, RT_OP_ALL_REDUCE, 2, RT_FABRIC_MESH), 2000, 1e-9); /* 150 to a peer */
    RT_ASSERT_NEAR(bound(&h100, RT_OP_ALL_REDUCE, 4, RT_FABRIC_MESH), 1000, 1e-9); /* and three of them */
    RT_ASSERT_NEAR(bound(&mesh, RT_OP_ALL_GATHER, 8, RT_FABRIC_OWN), 1e6 * 0.3 * 7 / 8 / 448, 1e-9);
    RT_ASSERT_NEAR(bound(&boards, RT_OP_ALL_REDUCE, 2, RT_FABRIC_PAIRS), 1000, 1e-9); /* the bridge: 300 */
    RT_ASSERT_NEAR(bound(&boards, RT_OP_ALL_REDUCE, 4, RT_FABRIC_PAIRS), 1e6 * 0.45 / 32, 1e-9);
    a100.link_gbs = NAN;
    CU_ASSERT_TRUE(isnan(bound(&a100, RT_OP_ALL_REDUCE, 4, RT_FABRIC_OWN)));
    CU_ASSERT_TRUE(isnan(prior_us(&a100, RT_OP_ALL_REDUCE, 4, 1000, RT_FABRIC_OWN, RT_LIBRARY_NCCL)));
    boards.bridge_gbs = NAN;
    CU_ASSERT_TRUE(isnan(bound(&boards, RT_OP_ALL_REDUCE, 2, RT_FABRIC_PAIRS)));
}

/* Measured by AIConfigurator and PipeWeave, in us; 20% around them. */
static void test_prior_is_near_measurements(void)
{
    static const struct {
        const char *device;
        enum rt_op_id op;
        int64_t gpus, bytes;
        enum rt_collective_library library;
        double us;
    } rows[] = {{"A100-SXM4-80GB", RT_OP_ALL_REDUCE, 4, 4096, RT_LIBRARY_NCCL, 14.3},
                {"A100-SXM4-80GB", RT_OP_ALL_REDUCE, 8, 268435456, RT_LIBRARY_NCCL, 2182},
                {"H100-SXM", RT_OP_ALL_REDUCE, 8, 268435456, RT_LIBRARY_NCCL, 1092},
                {"H100-SXM", RT_OP_ALL_GATHER, 2, 67108864, RT_LIBRARY_NCCL, 159},
                {"H200", RT_OP_ALL_REDUCE, 8, 65536, RT_LIBRARY_SERVER, 6.6},
                {"H200", RT_OP_ALL_TO_ALL, 8, 134217728, RT_LIBRARY_NCCL, 404},
                {"H800-SXM", RT_OP_SEND_RECEIVE, 2, 268435456, RT_LIBRARY_NCCL, 1620}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct rt_device device = named(rows[i].device);
        double us =
            prior_us(&device, rows[i].op, rows[i].gpus, rows[i].bytes / 2, RT_FABRIC_OWN, rows[i].library);
        if (!(fabs(us / rows[i].us - 1) < 0.2))
            printf("# %s: %g us where %g were measured\n", rows[i].device, us, rows[i].us);
        CU_ASSERT_TRUE(fabs(us / rows[i].us - 1) < 0.2);
    }
}

/* vLLM's rule: below 8 MiB, two GPUs or all joined by NVLink, at most 8. */
static void test_servers_reduce_small_messages(void)
{
    struct rt_device h100 = named("H100-SXM"), l40s = named("L40S");
    const enum rt_fabric own = RT_FABRIC_OWN;
    const enum rt_op_id op = RT_OP_ALL_REDUCE;
    const struct {
        const struct rt_device *device;
        int64_t gpus, elements;
        bool server;
    } rows[] = {{&h100, 8, 8192, true},   {&h100, 8, 4194303, true}, {&h100, 8, 4194304, false},
                {&h100, 16, 8192, false}, {&l40s, 2, 8192, true},    {&l40s, 4, 8192, false}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        double nccl = prior_us(rows[i].device, op, rows[i].gpus, rows[i].elements, own, RT_LIBRARY_NCCL);
        double server = prior_us(rows[i].device, op, rows[i].gpus, rows[i].elements, own, RT_LIBRARY_SERVER);
        CU_ASSERT_EQUAL(server < nccl, rows[i].server);
        CU_ASSERT_EQUAL(server != nccl, rows[i].server);
    }
    struct rt_call call = call_of(op, 8, 8192, own, RT_LIBRARY_SERVER_EAGER);
    double graph = prior_us(&h100, op, 8, 8192, own, RT_LIBRARY_SERVER);
    double queued = rt_link_us(&rt_link_prior, &call, &h100, true);
    RT_ASSERT_NEAR(queued - graph, 1e6 * 2 * 16384 / (1e9 * h100.bandwidth_gbs), 1e-9); /* a copy more */
    CU_ASSERT_EQUAL(rt_link_us(&rt_link_prior, &call, &h100, false), rt_link_prior.host_us);
}

/* NVLink SHARP adds floating-point numbers, on NVIDIA's GPUs since Hopper, for more than four. */
static void test_switches_reduce_large_messages(void)
{
    struct rt_device h100 = named("H100-SXM"), a100 = named("A100-SXM4-80GB");
    struct rt_call call = call_of(RT_OP_ALL_REDUCE, 8, 1 << 26, RT_FABRIC_OWN, RT_LIBRARY_NCCL);
    CU_ASSERT_EQUAL(rt_link_chosen(&call, &h100), RT_LINK_SWITCH_REDUCE);
    CU_ASSERT_EQUAL(rt_link_chosen(&call, &a100), RT_LINK_RING_REDUCE);
    call.dtype = RT_INT8;
    CU_ASSERT_EQUAL(rt_link_chosen(&call, &h100), RT_LINK_RING_REDUCE);
    call = call_of(RT_OP_ALL_REDUCE, 4, 1 << 26, RT_FABRIC_OWN, RT_LIBRARY_NCCL);
    CU_ASSERT_EQUAL(rt_link_chosen(&call, &h100), RT_LINK_RING_REDUCE);
    call = call_of(RT_OP_ALL_REDUCE, 8, 1 << 26, RT_FABRIC_PCIE_PEER, RT_LIBRARY_NCCL);
    CU_ASSERT_EQUAL(rt_link_chosen(&call, &h100), RT_LINK_RING_REDUCE);
}

/* DeepEP's exchanges of eight GPUs, measured by AIConfigurator on an H100: 4,096 tokens of 7,168 to 8 of 256
 * experts reach 5.25 GPUs each on average, 128 tokens in low latency all 8 experts. */
static void test_deepep(void)
{
    static const struct {
        enum rt_collective_library library;
        enum rt_dtype dtype;
        int64_t elements;
        double us, within;
    } rows[] = {{RT_LIBRARY_DEEPEP, RT_FP8, 154186000, 492.2, 0.15},
                {RT_LIBRARY_DEEPEP, RT_BF16, 154186000, 982.7, 0.15},
                {RT_LIBRARY_DEEPEP_LL, RT_FP8, 7340032, 36.7, 0.2},
                {RT_LIBRARY_DEEPEP_LL, RT_BF16, 7340032, 67, 0.2}};
    struct rt_device h100 = named("H100-SXM");
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        struct rt_call call = call_of(RT_OP_ALL_TO_ALL, 8, rows[i].elements, RT_FABRIC_OWN, rows[i].library);
        call.dtype = (uint8_t)rows[i].dtype;
        double us = rt_link_us(&rt_link_prior, &call, &h100, true);
        if (!(fabs(us / rows[i].us - 1) < rows[i].within))
            printf("# DeepEP %zu: %g us where %g were measured\n", i, us, rows[i].us);
        CU_ASSERT_TRUE(fabs(us / rows[i].us - 1) < rows[i].within);
        RT_ASSERT_NEAR(rt_link_bound_us(&call, &h100),
                       rt_dtypes[rows[i].dtype].bytes * rows[i].elements * 7 / 8 / 450e3, 1e-9);
        CU_ASSERT_EQUAL(rt_link_chosen(&call, &h100),
                        rows[i].library == RT_LIBRARY_DEEPEP ? RT_LINK_DEEPEP : RT_LINK_DEEPEP_LL);
    }
    struct rt_call call = call_of(RT_OP_ALL_REDUCE, 8, 8192, RT_FABRIC_OWN, RT_LIBRARY_DEEPEP);
    CU_ASSERT_EQUAL(rt_link_chosen(&call, &h100), RT_LINK_RING_REDUCE); /* exchanges tokens alone */
}

/* 20,000 calls on a GPU and on one with more of something: never slower, and never under the bound. */
static void test_more_hardware_is_never_slower(void)
{
    static const size_t numbers[] = {
        offsetof(struct rt_device, clock_mhz), offsetof(struct rt_device, bandwidth_gbs),
        offsetof(struct rt_device, link_gbs), offsetof(struct rt_device, link_peers),
        offsetof(struct rt_device, bridge_gbs)};
    static const char *const devices[] = {"A100-SXM4-80GB", "H100-SXM", "L40S", "A40", "H100-PCIE", "MI300X"};
    struct rt_device found[RT_COUNT(devices)];
    struct rt_random dice;
    for (size_t d = 0; d < RT_COUNT(devices); d++)
        found[d] = named(devices[d]);
    rt_random_seed(&dice, 5, 0);
    for (int i = 0; i < 20000; i++) {
        struct rt_device less = found[rt_random_below(&dice, 6)], more;
        double factor = 1 + 3 * rt_random_uniform(&dice);
        more = less;
        *(double *)((char *)&more + numbers[rt_random_below(&dice, 5)]) *= factor;
        struct rt_call call = call_of(ops[rt_random_below(&dice, 5)], 2 + (int64_t)rt_random_below(&dice, 15),
                                      (int64_t)exp2(30 * rt_random_uniform(&dice)),
                                      (enum rt_fabric)rt_random_below(&dice, RT_FABRIC_COUNT),
                                      (enum rt_collective_library)rt_random_below(&dice, RT_LIBRARY_COUNT));
        double slow = rt_link_us(&rt_link_prior, &call, &less, true),
               fast = rt_link_us(&rt_link_prior, &call, &more, true);
        if (isnan(slow)) /* pairs without a bridge */
            continue;
        if (!(fast <= slow * (1 + 1e-12)))
            printf("# %s: %g us, with more %g\n", less.name, slow, fast);
        CU_ASSERT_TRUE(fast <= slow * (1 + 1e-12));
        CU_ASSERT_TRUE(slow >= rt_link_bound_us(&call, &less));
    }
}

static double shifted(const struct rt_device *device, const struct rt_call *call, const double effect[4])
{
    double start = rt_link_start_share(call, device);
    return rt_link_us(&rt_link_prior, call, device, true) *
           exp(effect[0] * start + effect[1] * (1 - start) + effect[2] * rt_link_bridge_share(call, device) +
               effect[3] * rt_link_steps_share(call, device));
}

/* Nor is a message of more bytes faster, whatever the GPU's effects: start, wire, bridges, steps. */
static void test_longer_messages_take_longer(void)
{
    static const double effects[][4] = {
        {0}, {0.5, 0, 0, 0}, {-0.4, 0.4, 0, 0}, {0, 0.3, 1.39, 0}, {0, 0, 1.39, 0.4}, {0.2, 0, -0.7, 0}};
    static const char *const names[] = {"H100-SXM", "B200", "L40S", "A40", "MI300X"};
    for (size_t d = 0; d < RT_COUNT(names); d++)
        for (int row = 0; row < RT_FABRIC_COUNT * RT_LIBRARY_COUNT * (int)RT_COUNT(ops); row++)
            for (int64_t gpus = 2; gpus <= 64; gpus *= 2) {
                struct rt_device device = named(names[d]);
                for (size_t e = 0; e < RT_COUNT(effects); e++) {
                    double before = 0;
                    for (double bits = 0; bits < 30; bits += 0.5) {
                        struct rt_call call =
                            call_of(ops[row % (int)RT_COUNT(ops)], gpus, (int64_t)exp2(bits),
                                    (enum rt_fabric)(row / (int)RT_COUNT(ops) % RT_FABRIC_COUNT),
                                    (enum rt_collective_library)(row / (int)RT_COUNT(ops) / RT_FABRIC_COUNT));
                        double us = shifted(&device, &call, effects[e]);
                        CU_ASSERT_TRUE(isnan(us) || us >= before * (1 - 1e-12));
                        before = us;
                    }
                }
            }
}

/* Shared bridges: between peers and the square of the GPUs; beyond the eight of a host a ring's formula. */
static void test_bridges(void)
{
    struct rt_device l40s = named("L40S");
    const enum rt_op_id op = RT_OP_ALL_REDUCE;
    const int64_t large = (int64_t)1 << 30;
    double us[7];
    for (int bits = 1; bits <= 6; bits++) {
        int64_t gpus = (int64_t)1 << bits;
        us[bits] = prior_us(&l40s, op, gpus, large, RT_FABRIC_PCIE, RT_LIBRARY_NCCL);
        struct rt_call call = call_of(op, gpus, large, RT_FABRIC_PCIE, RT_LIBRARY_NCCL);
        RT_ASSERT_NEAR(rt_link_bridge_share(&call, &l40s), fmin(bits - 1, 2) / 2, 0.01);
        call.dim[RT_DIM_FABRIC] = RT_FABRIC_PCIE_PEER;
        CU_ASSERT_EQUAL(rt_link_bridge_share(&call, &l40s), 0);
        call.dim[RT_DIM_ELEMENTS] = 16;
        CU_ASSERT_TRUE(rt_link_start_share(&call, &l40s) > 0.99);
        RT_ASSERT_NEAR(rt_link_steps_share(&call, &l40s), fmin(bits - 1, 2) / 2, 0.01);
    }
    for (int bits = 2; bits <= 6; bits++)
        CU_ASSERT_TRUE(us[bits] > us[bits - 1]);
    RT_ASSERT_NEAR(us[3] / us[1], 4 * 1.75, 0.2);
    CU_ASSERT_TRUE(us[6] < 1.3 * us[3]);
}

RT_TESTS(RT_TEST(test_bounds), RT_TEST(test_prior_is_near_measurements),
         RT_TEST(test_servers_reduce_small_messages), RT_TEST(test_switches_reduce_large_messages),
         RT_TEST(test_deepep), RT_TEST(test_more_hardware_is_never_slower),
         RT_TEST(test_longer_messages_take_longer), RT_TEST(test_bridges))
