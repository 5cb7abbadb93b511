/* Blocks that walk along rows: by hand, and laws over random pairs. */
#include "test.h"

#include "base/random.h"
#include "models/predictors/roofline/walk.h"

static struct rt_call call_of(enum rt_op_id op, int64_t rows, int64_t cols)
{
    struct rt_call call;
    rt_call_init(&call, op, RT_FP32);
    call.dim[0] = rows;
    call.dim[1] = cols;
    return call;
}

/* Sixteen rows of 4 Mi columns: two passes of 8,192 steps of 1,000 cycles, wherever there are more
 * multiprocessors. */
static void test_few_rows(void)
{
    struct rt_device t4, a100;
    RT_ASSERT_OK(rt_device_find("T4", &t4));
    RT_ASSERT_OK(rt_device_find("A100-80", &a100));
    struct rt_call few = call_of(RT_OP_LAYERNORM, 16, 4194304),
                   many = call_of(RT_OP_LAYERNORM, 16 * 1728, 4194304);
    RT_ASSERT_NEAR(rt_walk_us(&few, 0, &t4), 16384e3 / t4.clock_mhz, 1e-12);
    RT_ASSERT_NEAR(rt_walk_us(&few, 0, &a100), 16384e3 / a100.clock_mhz, 1e-12);
    RT_ASSERT_NEAR(rt_walk_us(&many, 0, &a100), 16 * rt_walk_us(&few, 0, &a100), 1e-12); /* 16 blocks each */
}

/* Of channels, not rows; a reduction by a block a row alone; short softmax keeps rows in registers; AMD's are
 * not known. */
static void test_which(void)
{
    struct rt_device a100, amd;
    RT_ASSERT_OK(rt_device_find("A100-80", &a100));
    RT_ASSERT_OK(rt_device_find("MI100", &amd));
    struct rt_call norm, rows = call_of(RT_OP_REDUCE, 4, 512000), narrow = call_of(RT_OP_SOFTMAX, 4, 1024),
                         wide = call_of(RT_OP_SOFTMAX, 4, 4096000);
    rt_call_init(&norm, RT_OP_BATCHNORM, RT_FP32);
    for (int d = 0; d < 4; d++)
        norm.dim[d] = (const int64_t[]){16, 64, 256, 256}[d];
    RT_ASSERT_NEAR(rt_walk_us(&norm, 0, &a100), 3 * 512e3 / a100.clock_mhz, 1e-12);
    RT_ASSERT_NEAR(rt_walk_us(&rows, 512, &a100), 1000e3 / a100.clock_mhz, 1e-12);
    RT_ASSERT_NEAR(rt_walk_us(&wide, 0, &a100), 3 * 1000e3 / a100.clock_mhz, 1e-12);
    CU_ASSERT_EQUAL(rt_walk_us(&rows, 0, &a100), 0);
    CU_ASSERT_EQUAL(rt_walk_us(&narrow, 0, &a100), 0);
    CU_ASSERT_EQUAL(rt_walk_us(&norm, 0, &amd), 0);
}

/* More hardware is never slower, and more rows or columns never faster. */
static void test_laws(void)
{
    static const enum rt_op_id ops[] = {RT_OP_LAYERNORM, RT_OP_LAYERNORM_BACKWARD, RT_OP_SOFTMAX,
                                        RT_OP_REDUCE};
    struct rt_random random;
    struct rt_device a;
    rt_random_seed(&random, 36, 0);
    RT_ASSERT_OK(rt_device_find("L4", &a));
    for (int i = 0; i < 20000; i++) {
        struct rt_device b = a;
        struct rt_call call = call_of(ops[rt_random_below(&random, RT_COUNT(ops))],
                                      1 + (int64_t)rt_random_below(&random, 5000),
                                      1 + (int64_t)rt_random_below(&random, 5000000)),
                       more = call;
        b.sms *= 1 + rt_random_uniform(&random);
        b.clock_mhz *= 1 + rt_random_uniform(&random);
        more.dim[0] += (int64_t)rt_random_below(&random, 100);
        more.dim[1] += (int64_t)rt_random_below(&random, 100);
        double one = rt_walk_us(&call, 512, &a);
        CU_ASSERT_TRUE(rt_walk_us(&call, 512, &b) <= one);
        CU_ASSERT_TRUE(rt_walk_us(&more, 512, &a) >= one);
    }
}

RT_TESTS(RT_TEST(test_few_rows), RT_TEST(test_which), RT_TEST(test_laws))
