/* Collectives over servers: bounds by hand, measured times, and laws by random pairs: more hardware, nearer
 * GPUs and shorter messages are never slower. */
#include "base/random.h"
#include "models/predictors/roofline/link.h"
#include "test.h"

#include <math.h>

enum { PAIRS = 4000 };

static const enum rt_op_id ops[] = {RT_OP_ALL_REDUCE, RT_OP_ALL_GATHER, RT_OP_REDUCE_SCATTER,
                                    RT_OP_ALL_TO_ALL, RT_OP_SEND_RECEIVE};

static struct rt_call call_of(enum rt_op_id op, int64_t gpus, int64_t per_node, int64_t elements,
                              enum rt_network network, int64_t mbs)
{
    struct rt_call call;
    rt_call_init(&call, op, RT_FP16);
    call.dim[RT_DIM_GPUS] = gpus;
    call.dim[RT_DIM_ELEMENTS] = elements;
    call.dim[RT_DIM_PER_NODE] = per_node;
    call.dim[RT_DIM_NETWORK] = network;
    call.dim[RT_DIM_NETWORK_MBS] = mbs;
    return call;
}

static struct rt_device named(const char *name)
{
    struct rt_device device;
    RT_ASSERT_OK(rt_device_named(name, &device));
    return device;
}

static double us_of(const struct rt_call *call, const struct rt_device *device)
{
    return rt_link_us(&rt_link_prior, call, device, true);
}

/* 400 MB among 32 GPUs in servers of 8, 50 GB/s each: of an all-reduce 2 x 3/4 leave a server by 8 of them.
 */
static void test_bounds(void)
{
    struct rt_device h100 = named("H100-SXM"), pcie = named("L40S");
    const double ms[] = {0.4 / 50 * 1.5 / 8 * 1e6, 0.4 / 450 * 7 / 8 * 1e6, 0.4 / 450 * 7 / 8 * 1e6,
                         0.4 / 50 * 24 / 32 * 1e6, 0.4 / 50 * 1e6};
    for (size_t i = 0; i < RT_COUNT(ops); i++) {
        struct rt_call call =
            call_of(ops[i], 32, ops[i] == RT_OP_SEND_RECEIVE ? 1 : 8, 200000000, RT_NETWORK_OWN, 0);
        RT_ASSERT_NEAR(rt_link_bound_us(&call, &h100), ms[i], 1e-6 * ms[i]);
    }
    struct rt_call call = call_of(RT_OP_ALL_GATHER, 16, 1, 200000000, RT_NETWORK_ROCE, 25000);
    RT_ASSERT_NEAR(rt_link_bound_us(&call, &pcie), 0.4 / 25 * 15 / 16 * 1e6, 1e-3);
    call.dim[RT_DIM_PER_NODE] = 16; /* all in one: 32 GB/s by PCIe */
    RT_ASSERT_NEAR(rt_link_bound_us(&call, &pcie), 0.4 / 32 * 15 / 16 * 1e6, 1e-3);
}

/* ALCF's A100s: two DGX with 8 x 200 Gb/s of InfiniBand (Sophia), servers of four with 2 x 200 of Slingshot
 * (Polaris); two servers of eight H100 with 400 Gb/s each. 25% around them. */
static void test_near_measurements(void)
{
    static const struct {
        const char *device;
        enum rt_op_id op;
        int64_t gpus, per_node, bytes;
        enum rt_network network;
        int64_t mbs;
        double us;
    } rows[] = {{"A100-SXM4-40GB", RT_OP_ALL_REDUCE, 16, 8, 1 << 20, RT_NETWORK_INFINIBAND, 25000, 86},
                {"A100-SXM4-40GB", RT_OP_ALL_REDUCE, 16, 8, 1 << 30, RT_NETWORK_INFINIBAND, 25000, 11298},
                {"A100-SXM4-40GB", RT_OP_ALL_GATHER, 16, 8, 1 << 30, RT_NETWORK_INFINIBAND, 25000, 5756},
                {"A100-SXM4-40GB", RT_OP_ALL_TO_ALL, 16, 8, 4096, RT_NETWORK_INFINIBAND, 25000, 59},
                {"A100-SXM4-40GB", RT_OP_ALL_REDUCE, 32, 4, 1024, RT_NETWORK_SLINGSHOT, 12500, 66},
                {"A100-SXM4-40GB", RT_OP_ALL_REDUCE, 32, 4, 1 << 30, RT_NETWORK_SLINGSHOT, 12500, 57610},
                {"A100-SXM4-40GB", RT_OP_ALL_GATHER, 8, 4, 1 << 16, RT_NETWORK_SLINGSHOT, 12500, 36},
                {"H100-SXM", RT_OP_ALL_TO_ALL, 16, 8, 17179869184, RT_NETWORK_INFINIBAND, 50000, 175792}};
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        struct rt_device device = named(rows[i].device);
        struct rt_call call = call_of(rows[i].op, rows[i].gpus, rows[i].per_node, rows[i].bytes / 2,
                                      rows[i].network, rows[i].mbs);
        double us = us_of(&call, &device);
        if (!(fabs(us / rows[i].us - 1) < 0.25))
            printf("# row %zu: %g us where %g were measured\n", i, us, rows[i].us);
        CU_ASSERT_TRUE(fabs(us / rows[i].us - 1) < 0.25);
    }
}

/* ---- laws ---- */

static const char *const devices[] = {"A100-SXM4-80GB", "H100-SXM", "B200",     "GB200",
                                      "L40S",           "MI300X",   "H100-PCIE"};

struct draw {
    struct rt_device device;
    struct rt_call call;
};

static int64_t whole(struct rt_random *random, double least, double most)
{
    return (int64_t)(least * pow(most / least, rt_random_uniform(random)));
}

static struct draw drawn(struct rt_random *random)
{
    struct draw draw = {.device = named(devices[rt_random_below(random, RT_COUNT(devices))])};
    enum rt_op_id op = ops[rt_random_below(random, RT_COUNT(ops))];
    int64_t gpus = whole(random, 2, 4096), near = whole(random, 1, 73);
    draw.call = call_of(op, gpus, near < gpus ? near : gpus, whole(random, 1, 1e10),
                        (enum rt_network)rt_random_below(random, RT_NETWORK_COUNT), whole(random, 500, 2e5));
    draw.call.dim[RT_DIM_FABRIC] = (int64_t)rt_random_below(random, RT_FABRIC_COUNT);
    draw.call.dim[RT_DIM_LIBRARY] = (int64_t)rt_random_below(random, RT_LIBRARY_COUNT);
    return draw;
}

static void never_faster(const struct draw *a, const struct draw *b, const char *what)
{
    double before = us_of(&a->call, &a->device), after = us_of(&b->call, &b->device);
    char x[256], y[256];
    if (isnan(before) || isnan(after))
        return;
    if (!(after >= before * (1 - 1e-12))) {
        rt_call_dims(&a->call, x, sizeof x);
        rt_call_dims(&b->call, y, sizeof y);
        printf("# %s, %s, %s: %s takes %g us, %s %g\n", what, a->device.name, rt_ops[a->call.op].name, x,
               before, y, after);
    }
    CU_ASSERT_TRUE(after >= before * (1 - 1e-12));
}

static void test_laws(void)
{
    struct rt_random random;
    rt_random_seed(&random, 32, 0);
    for (int i = 0; i < PAIRS; i++) {
        struct draw a = drawn(&random), b = a;
        int64_t near = a.call.dim[RT_DIM_PER_NODE];
        double bound = rt_link_bound_us(&a.call, &a.device);
        CU_ASSERT_TRUE(isnan(bound) || us_of(&a.call, &a.device) >= bound);
        b.call.dim[RT_DIM_PER_NODE] = whole(&random, 1, (double)near + 0.99);
        never_faster(&a, &b, "the same over more servers");
        b = a;
        b.call.dim[RT_DIM_ELEMENTS] += whole(&random, 1, 1e9);
        never_faster(&a, &b, "a longer message");
        b = a;
        b.call.dim[RT_DIM_NETWORK_MBS] = whole(&random, 1, (double)a.call.dim[RT_DIM_NETWORK_MBS]);
        never_faster(&a, &b, "a slower network");
        b = a;
        b.device.link_gbs *= rt_random_uniform(&random);
        never_faster(&a, &b, "a slower link");
        b = a;
        b.call.dim[RT_DIM_GPUS] += near < a.call.dim[RT_DIM_GPUS] ? near * whole(&random, 1, 100) : 0;
        never_faster(&a, &b, "more servers");
    }
}

RT_TESTS(RT_TEST(test_bounds), RT_TEST(test_near_measurements), RT_TEST(test_laws))
