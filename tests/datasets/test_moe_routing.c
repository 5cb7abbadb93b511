/* Where tokens go, beside routing drawn at random. */
#include "test.h"

#include "datasets/op.h"
#include "datasets/moe_routing.h"

#include <math.h>
#include <stdlib.h>

static struct rt_moe_routing route(int64_t tokens, int64_t topk, int64_t experts, int64_t ep, int64_t skew)
{
    const int64_t dim[RT_MAX_DIMS] = {tokens, 4096, 2048, topk, experts, 1, ep, skew};
    struct rt_moe_routing routing;
    rt_moe_routing_of(dim, &routing);
    return routing;
}

static void test_even(void)
{
    struct rt_moe_routing r = route(64, 8, 128, 4, 0);
    CU_ASSERT_TRUE(r.even);
    CU_ASSERT_EQUAL(r.experts, 32);
    CU_ASSERT_EQUAL(r.rows, 64 * 8 / 4.0);
    CU_ASSERT_EQUAL(r.touched, 32);
    CU_ASSERT_EQUAL(r.busiest, 1);
    CU_ASSERT_EQUAL(route(2, 8, 128, 1, 0).touched, 16);
    CU_ASSERT_TRUE(route(64, 8, 128, 4, -1).even); /* not said */
}

static double uniform(uint64_t *state)
{
    *state = *state * 6364136223846793005u + 1442695040888963407u;
    return (double)(*state >> 11) * 0x1p-53;
}

/* One draw of loads from the density x^-a: rows and touched experts of the busiest of ep GPUs. */
static void draw(int64_t tokens, int64_t topk, int64_t experts, int64_t ep, double a, uint64_t *state,
                 double *rows, double *touched)
{
    double *load = malloc((size_t)experts * sizeof *load), sum = 0, x_max = 0.8 * (double)tokens;
    for (int64_t e = 0; e < experts; e++)
        sum += load[e] = pow((pow(x_max, 1 - a) - 1) * uniform(state) + 1, 1 / (1 - a));
    *rows = *touched = 0;
    for (int64_t g = 0; g < ep; g++) {
        double mine = 0, some = 0;
        for (int64_t e = g * (experts / ep); e < (g + 1) * (experts / ep); e++) {
            double share = fmin(round(load[e] / sum * (double)(tokens * topk)), (double)tokens);
            mine += share;
            some += share > 0;
        }
        if (mine > *rows) {
            *rows = mine;
            *touched = some;
        }
    }
    free(load);
}

/* The closed form lies within a quarter of what 200 draws give on the mean. */
static void against_draws(int64_t tokens, int64_t topk, int64_t experts, int64_t ep, int64_t skew)
{
    uint64_t state = 7;
    double rows = 0, touched = 0;
    for (int i = 0; i < 200; i++) {
        double r, t;
        draw(tokens, topk, experts, ep, (double)skew / 100, &state, &r, &t);
        rows += r / 200;
        touched += t / 200;
    }
    struct rt_moe_routing routing = route(tokens, topk, experts, ep, skew);
    CU_ASSERT_FALSE(routing.even);
    RT_ASSERT_NEAR(routing.rows, rows, 0.25);
    RT_ASSERT_NEAR(routing.touched, touched, 0.25);
}

static void test_power_law(void)
{
    against_draws(4096, 8, 256, 1, 120);
    against_draws(4096, 8, 256, 8, 120);
    against_draws(4096, 8, 256, 8, 101);
    against_draws(256, 8, 256, 1, 101);
    against_draws(16384, 8, 128, 32, 120);
}

/* Fewer pairs than experts: no expert gets a token twice, and shares that round to none go round. */
static void test_few_tokens(void)
{
    CU_ASSERT_EQUAL(route(1, 8, 256, 1, 120).touched, 8);
    struct rt_moe_routing two = route(1, 8, 256, 2, 101);
    RT_ASSERT_NEAR(two.touched, two.rows, 1e-12);
    CU_ASSERT_TRUE(two.touched >= 4);
    CU_ASSERT_EQUAL(route(2, 8, 256, 1, 101).touched, 16);
    RT_ASSERT_NEAR(route(8, 8, 256, 1, 101).touched, 47, 0.05); /* means of 60 draws */
    RT_ASSERT_NEAR(route(16, 8, 256, 8, 120).touched, 11.9, 0.2);
    RT_ASSERT_NEAR(route(8, 22, 512, 8, 120).touched, 17.4, 0.2);
}

/* What can be at most: every expert of the GPU gets every token; what must be at least: one expert. */
static void test_bounds(void)
{
    for (int64_t tokens = 1; tokens <= 1 << 20; tokens *= 4)
        for (int64_t ep = 1; ep <= 256; ep *= 4)
            for (int64_t skew = 50; skew <= 350; skew += 50) {
                struct rt_moe_routing r = route(tokens, 8, 256, ep, skew);
                double mean = (double)tokens * 8 / (double)ep;
                CU_ASSERT_TRUE(r.rows >= mean && r.rows <= fmax(mean, (double)tokens * r.experts));
                CU_ASSERT_TRUE(r.touched >= 1 && r.touched <= fmax(1, r.experts));
                CU_ASSERT_TRUE(r.busiest >= 1 && r.busiest <= (double)ep);
            }
    struct rt_moe_routing near = route(4096, 8, 256, 8, 100), beside = route(4096, 8, 256, 8, 101);
    RT_ASSERT_NEAR(near.rows, beside.rows, 0.02); /* an exponent of 1 is no pole */
}

/* Work and weights of a layer follow the busiest GPU. */
static void test_counts_of_the_op(void)
{
    int64_t dim[RT_MAX_DIMS] = {4096, 4096, 2048, 8, 256, 1, 8, 0};
    const struct rt_op *op = &rt_ops[RT_OP_MOE];
    CU_ASSERT_EQUAL(op->flops(dim), 6.0 * 4096 * 8 / 8 * 4096 * 2048);
    double even = op->flops(dim), bytes = op->bytes(dim, 1);
    CU_ASSERT_EQUAL(bytes, 32 * 3.0 * 4096 * 2048 + 2.0 * 4096 * 4096);
    dim[7] = 120;
    CU_ASSERT_TRUE(op->flops(dim) > 1.3 * even);
    CU_ASSERT_TRUE(op->bytes(dim, 1) <= bytes);
}

RT_TESTS(RT_TEST(test_even), RT_TEST(test_power_law), RT_TEST(test_few_tokens), RT_TEST(test_bounds),
         RT_TEST(test_counts_of_the_op))
