/* Cuts of products and rows, worked out by hand. */
#include "test.h"

#include "models/predictors/roofline/tiling.h"

#include <math.h>

/* 8192 x 8192 x 8192 on 64 multiprocessors: whole waves of large tiles, no splits, bound by compute. */
static void test_a_large_product(void)
{
    struct rt_tiling tiling;
    rt_tiling_product(1, 8192, 8192, 8192, 3.0 * 4 * 8192 * 8192, &(struct rt_rates){10e12, 10e12, 1e12, 64},
                      NULL, 2, &tiling);
    CU_ASSERT_EQUAL(tiling.tile_m * tiling.tile_n, 256 * 128);
    CU_ASSERT_EQUAL(tiling.splits, 1);
    CU_ASSERT_EQUAL(tiling.blocks, 32 * 64);
    double reach = 256 * 128 / 384.0;
    double compute = 1e6 * 32 * 2.0 * 256 * 128 * 8192 / (10e12 / 64) / (reach / (reach + 8));
    RT_ASSERT_NEAR(tiling.compute_us, compute, 1e-12);
    RT_ASSERT_NEAR(tiling.time_us, compute, 1e-12);
}

/* Few outputs, a long reduction: one tile leaves the device idle, so the reduction is split. */
static void test_a_long_reduction_is_split(void)
{
    struct rt_tiling tiling;
    rt_tiling_product(1, 128, 128, 65536, 4.0 * (2.0 * 128 * 65536 + 128 * 128),
                      &(struct rt_rates){10e12, 10e12, 1e12, 100}, NULL, 2, &tiling);
    CU_ASSERT_EQUAL(tiling.splits, 16);
    CU_ASSERT_TRUE(tiling.blocks > 16);
    CU_ASSERT_TRUE(tiling.time_us >= fmax(tiling.compute_us, tiling.memory_us) + 2);
}

static void test_padding(void)
{
    struct rt_tiling tiling;
    rt_tiling_product(3, 33, 33, 64, 1e4, &(struct rt_rates){10e12, 10e12, 1e12, 100}, NULL, 2, &tiling);
    CU_ASSERT_EQUAL(tiling.tile_m, 32);
    CU_ASSERT_EQUAL(tiling.tile_n, 32);
    CU_ASSERT_EQUAL(tiling.blocks, 3 * 4 * tiling.splits);
}

static void test_rows(void)
{
    struct rt_device v100, amd;
    struct rt_row_tiling tiling;
    RT_ASSERT_OK(rt_device_find("V100-PCIE-32GB", &v100));
    RT_ASSERT_OK(rt_device_find("MI100", &amd));
    rt_tiling_rows(&v100, false, 65536, 1000, 4, &tiling); /* registers: padded to 1024, no second pass */
    RT_ASSERT_NEAR(tiling.fill, 1000.0 / 1024, 1e-12);
    CU_ASSERT_EQUAL(tiling.rereads, 0);
    rt_tiling_rows(&v100, false, 65536, 4096, 4,
                   &tiling); /* 512 threads, 4 blocks on each that the bandwidth keeps busy */
    CU_ASSERT_EQUAL(tiling.threads, 512);
    CU_ASSERT_EQUAL(tiling.rereads, 1);
    RT_ASSERT_NEAR(tiling.log2_in_l2, log2(v100.bandwidth_gbs / 11.5 * 4 * 4096 * 4 / (6 * 1048576.0)),
                   1e-12);
    double few = rt_row_tiling_misses(&tiling);
    rt_tiling_rows(&v100, false, 65536, 16384, 4,
                   &tiling); /* 1024 threads: half the blocks, four times the row */
    CU_ASSERT_TRUE(rt_row_tiling_misses(&tiling) > few && rt_row_tiling_misses(&tiling) > 0.9);
    rt_tiling_rows(&v100, false, 2, 16384, 4, &tiling); /* two rows stay in the L2 */
    CU_ASSERT_TRUE(rt_row_tiling_misses(&tiling) < 0.01);
    rt_tiling_rows(&amd, false, 65536, 16384, 4, &tiling);
    CU_ASSERT_EQUAL(tiling.rereads, 0);
    rt_tiling_rows(&v100, true, 65536, 1024, 4,
                   &tiling); /* layer norm: 128 threads, two passes of four columns each */
    CU_ASSERT_EQUAL(tiling.fill, 1);
    CU_ASSERT_EQUAL(tiling.rereads, 0.5);
}

/* Blocks that walk along rows: 16 bytes a load and 1,024 threads, or an element a load; norms twice. */
static void test_walks(void)
{
    struct rt_device a100, more;
    RT_ASSERT_OK(rt_device_find("A100-SXM4-80GB", &a100));
    struct rt_row_walk old = rt_row_walk_of(&a100, RT_OP_SILU_MUL, true, 28672, 2),
                       now = rt_row_walk_of(&a100, RT_OP_SILU_MUL, false, 28672, 2),
                       norm = rt_row_walk_of(&a100, RT_OP_RESIDUAL_RMSNORM, false, 4096, 2),
                       layernorm = rt_row_walk_of(&a100, RT_OP_LAYERNORM, false, 2560, 2);
    CU_ASSERT_EQUAL(old.steps, 28);
    CU_ASSERT_EQUAL(now.steps, 4); /* 3,584 loads */
    CU_ASSERT_TRUE(norm.threads == 512 && norm.steps == 2);
    CU_ASSERT_TRUE(layernorm.threads == 128 && layernorm.steps == 10);
    RT_ASSERT_NEAR(rt_row_walk_us(&a100, &old, 1), 28 * 1000 / 1410.0, 1e-9);
    RT_ASSERT_NEAR(rt_row_walk_us(&a100, &old, 108), rt_row_walk_us(&a100, &old, 1), 1e-9);
    RT_ASSERT_NEAR(rt_row_walk_us(&a100, &old, 1080), 10 * rt_row_walk_us(&a100, &old, 1), 1e-9);
    RT_ASSERT_NEAR(rt_row_walk_us(&a100, &norm, 216), rt_row_walk_us(&a100, &norm, 1), 1e-9);
    more = a100;
    more.sms *= 2;
    RT_ASSERT_NEAR(rt_row_walk_us(&more, &old, 1080), rt_row_walk_us(&a100, &old, 1080) / 2, 1e-9);
}

/* Whole waves at a block's share of the peak, and no faster than the board's power. */
static void test_blocks(void)
{
    struct rt_rates rates = {.peak_flops = 10e12, .sustained_flops = 10e12, .bandwidth = 1e12, .sms = 100};
    RT_ASSERT_NEAR(rt_blocks_us(&rates, 101, 1e9), 1e6 * 2 * 1e9 / 1e11, 1e-12);
    rates.sustained_flops = 4e12;
    RT_ASSERT_NEAR(rt_blocks_us(&rates, 100, 1e9), 1e6 * 100 * 1e9 / 4e12, 1e-12);
    RT_ASSERT_NEAR(rt_blocks_us(&rates, 1, 1e9), 1e6 * 1e9 / 1e11,
                   1e-12); /* one block is not short of power */
}

RT_TESTS(RT_TEST(test_blocks), RT_TEST(test_a_large_product), RT_TEST(test_a_long_reduction_is_split),
         RT_TEST(test_padding), RT_TEST(test_rows), RT_TEST(test_walks))
