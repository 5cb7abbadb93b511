/* Cuts of latent and sparse attention, of indexers and of top-k, worked out by hand. */
#include "test.h"

#include "models/predictors/predictor/family_net.h"
#include "models/predictors/roofline/tile.h"

#include <math.h>
#include <string.h>

static struct rt_device a100, l40s, h100, b200;

static void find_devices(void)
{
    RT_ASSERT_OK(rt_device_find("A100", &a100));
    RT_ASSERT_OK(rt_device_find("L40S", &l40s));
    RT_ASSERT_OK(rt_device_find("H100", &h100));
    RT_ASSERT_OK(rt_device_find("B200", &b200));
}

static struct rt_attention_tiling served(enum rt_op_id op, enum rt_dtype dtype, const int64_t *dims,
                                         enum rt_server_project server, const struct rt_device *device)
{
    int64_t dim[RT_MAX_DIMS] = {0};
    memcpy(dim, dims, (size_t)rt_op_ndims(op) * sizeof *dim);
    struct rt_attention_tiling tiling;
    rt_tiling_latent(op, dtype, dim, server, device, &tiling);
    return tiling;
}

/* 4 x 1024 tokens, 8 heads of 192 and 128 columns, causal: 8 blocks of 128 rows a head, that see 2, 4, ... 16
 * tiles of 64 keys. */
static void test_prefill(void)
{
    find_devices();
    const int64_t dim[] = {4, 1024, 0, 8, 192, 128, 0};
    struct rt_attention_tiling t = served(RT_OP_MLA_CONTEXT, RT_BF16, dim, RT_SERVER_VLLM, &a100);
    CU_ASSERT_EQUAL(t.blocks, 4 * 8 * 8);
    CU_ASSERT_EQUAL(t.waves, 3);
    CU_ASSERT_EQUAL(t.longest, 16);
    CU_ASSERT_FALSE(t.split || t.packed || t.triton || t.narrow);
    double tile = 2.0 * 128 * 64 * 320;
    RT_ASSERT_NEAR(t.padding, 256 * 9 * tile / (4 * 8 * 2.0 * 320 * (1024 * 1025 / 2.0)), 1e-12);
    double reads = 128 / 16 * 64 * 320 * 2.0 / 128 / 1410; /* us: every warp all keys, 128 bytes a cycle */
    RT_ASSERT_NEAR(t.fused.compute_us, 3 * 9 * (1e6 * tile / (a100.bf16_matrix_tflops * 1e12 / 108) + reads),
                   1e-12);
}

/* 128 heads over one latent key: two tiles of 64 rows, 2,048 tiles of 64 keys. Kernels for warps leave the
 * keys to one block; FlashMLA deals them out to 132 multiprocessors, Triton's 8 blocks of 16 rows split them
 * into 16. */
static void test_shared_keys(void)
{
    find_devices();
    const int64_t dim[] = {1, 1, 131071, 128, 512, 64, 0};
    double tile = 2.0 * 64 * 64 * 1088;
    struct rt_attention_tiling t = served(RT_OP_MLA_GENERATION, RT_BF16, dim, RT_SERVER_TENSORRT, &a100);
    CU_ASSERT_TRUE(t.packed && t.decodes && !t.split && !t.triton);
    CU_ASSERT_EQUAL(t.blocks, 2);
    CU_ASSERT_EQUAL(t.tiles, 2048);
    RT_ASSERT_NEAR(t.padding, 1, 1e-12);
    double reads = 64 / 16 * 64 * 1088 * 2.0 / 128 / 1410;
    RT_ASSERT_NEAR(t.fused.compute_us, 2048 * (1e6 * tile / (a100.bf16_matrix_tflops * 1e12 / 108) + reads),
                   1e-12);
    t = served(RT_OP_MLA_GENERATION, RT_BF16, dim, RT_SERVER_SGLANG, &h100);
    CU_ASSERT_TRUE(t.split && !t.triton);
    RT_ASSERT_NEAR(t.blocks, h100.sms, 1e-12);
    double sustained = rt_sustained_flops(&h100, RT_FAMILY_LATENT, RT_BF16); /* its power allows less */
    RT_ASSERT_NEAR(t.fused.compute_us, 1e6 * 4096 * tile / sustained, 1e-12);
    t = served(RT_OP_MLA_GENERATION, RT_BF16, dim, RT_SERVER_SGLANG, &l40s);
    CU_ASSERT_TRUE(t.triton && t.split);
    CU_ASSERT_EQUAL(t.splits, 16);
    CU_ASSERT_EQUAL(t.blocks, 8 * 16);
    CU_ASSERT_EQUAL(t.tiles, 128);
    /* The same keys over a prefill: queries of 1,024 tokens, a causal mask. */
    const int64_t prefill[] = {1, 1024, 0, 128, 1, 576, 512, 0, 1, 0, 1, 0};
    t = served(RT_OP_SPARSE_ATTENTION, RT_BF16, prefill, RT_SERVER_SGLANG, &h100);
    CU_ASSERT_TRUE(t.packed && !t.decodes);
    RT_ASSERT_NEAR(t.blocks / t.splits, 2048, 1e-12);
    CU_ASSERT_EQUAL(t.longest, 16);
}

/* 1,024 tokens that choose 2,048 of 5,120 keys, 64 heads: a block each on Hopper, two of 64 rows on sm_100;
 * all lists are of full length, with few keys, too. A cache of 8 bits is read by the kernel that decodes. */
static void test_chosen(void)
{
    find_devices();
    int64_t dim[] = {1, 1024, 4096, 64, 1, 576, 512, 2048, 1, 0, 1, 0};
    struct rt_attention_tiling t = served(RT_OP_SPARSE_ATTENTION, RT_BF16, dim, RT_SERVER_SGLANG, &h100);
    CU_ASSERT_TRUE(t.blocks == 1024 && t.tiles == 32 && t.waves == 8 && !t.split);
    CU_ASSERT_EQUAL(served(RT_OP_SPARSE_ATTENTION, RT_BF16, dim, RT_SERVER_SGLANG, &b200).blocks, 2048);
    dim[2] = 0;
    CU_ASSERT_EQUAL(served(RT_OP_SPARSE_ATTENTION, RT_BF16, dim, RT_SERVER_VLLM, &h100).tiles, 32);
    /* SGLang does not choose then: 8 blocks of 128 rows a head, heads of 192 and 128 columns. */
    t = served(RT_OP_SPARSE_ATTENTION, RT_BF16, dim, RT_SERVER_SGLANG, &h100);
    CU_ASSERT_TRUE(t.dense && t.blocks == 64 * 8 && t.longest == 16);
    const int64_t made[] = {1, 1024, 0, 64, 192, 128, 0};
    struct rt_attention_tiling same = served(RT_OP_MLA_CONTEXT, RT_BF16, made, RT_SERVER_SGLANG, &h100);
    CU_ASSERT_EQUAL(t.fused.time_us, same.fused.time_us);
    /* From memory what they must read, 1,024 keys: the others hit the L2. Queries and output beside them. */
    t = served(RT_OP_SPARSE_ATTENTION, RT_BF16, dim, RT_SERVER_VLLM, &h100);
    struct rt_tiling_time memory = {0};
    double bytes = 2.0 * (1024 * 64 * 1088.0 + 1024 * 576);
    rt_tiling_add_memory(&h100, bytes, bytes, &memory);
    RT_ASSERT_NEAR(t.fused.memory_us, memory.memory_us, 1e-12);
    dim[2] = 4096;
    dim[11] = 8;
    t = served(RT_OP_SPARSE_ATTENTION, RT_BF16, dim, RT_SERVER_SGLANG, &h100);
    CU_ASSERT_TRUE(t.split && t.narrow);
}

/* 64 heads, keys of 512 columns that stand for 128 tokens, a window of 128: 524,288 tokens are 4,096 entries,
 * 64 tiles, and two of the window. */
static void test_compressed(void)
{
    find_devices();
    const int64_t dim[] = {2, 1, 524287, 64, 1, 512, 512, 0, 128, 128, 1, 8};
    struct rt_attention_tiling t = served(RT_OP_SPARSE_ATTENTION, RT_BF16, dim, RT_SERVER_VLLM, &h100);
    CU_ASSERT_EQUAL(t.longest, 66);
    CU_ASSERT_TRUE(t.split);
    RT_ASSERT_NEAR(t.fused.compute_us,
                   1e6 * 132 * 2.0 * 64 * 64 * 1024 / rt_sustained_flops(&h100, RT_FAMILY_LATENT, RT_BF16),
                   1e-12);
}

/* Keys that are no latent ones, 16 heads for each of four: a block of 16 rows for a token, 16 tiles of the
 * 1,024 keys there are, not of 2,048. */
static void test_groups(void)
{
    find_devices();
    const int64_t dim[] = {1, 1, 1023, 64, 4, 128, 128, 2048, 1, 0, 0, 0};
    struct rt_attention_tiling t = served(RT_OP_SPARSE_ATTENTION, RT_BF16, dim, RT_SERVER_VLLM, &b200);
    CU_ASSERT_TRUE(t.blocks == 4 && t.longest == 16 && !t.split);
    RT_ASSERT_NEAR(t.padding, 1, 1e-12);
    /* Of a prompt of 4,096, on tensor memory: 32 blocks of 128 keys for each of four, which tokens attend to
     * 12.25 of in the mean (1 to 16, then 16); 16 heads a token, 128 rows a tile. SGLang's: a block a token.
     */
    const int64_t prompt[] = {1, 4096, 0, 64, 4, 128, 128, 2048, 1, 0, 0, 0};
    t = served(RT_OP_SPARSE_ATTENTION, RT_BF16, prompt, RT_SERVER_VLLM, &b200);
    RT_ASSERT_NEAR(t.blocks / t.splits, 4 * 32, 1e-12);
    RT_ASSERT_NEAR(t.longest, 4096 * 12.25 * 16 / 128 / 32, 1e-2);
    CU_ASSERT_EQUAL(served(RT_OP_SPARSE_ATTENTION, RT_BF16, prompt, RT_SERVER_SGLANG, &b200).blocks,
                    4 * 4096);
}

/* 32 heads of 4 tokens are 128 rows: 256 blocks of 1,024 tokens over tiles of 256 keys. With compressed keys,
 * or one token, each by itself. */
static void test_logits(void)
{
    find_devices();
    const int64_t dim[] = {1, 1024, 65536, 32, 128, 1, 0}, paged[] = {64, 1, 8191, 32, 128, 1, 0};
    struct rt_attention_tiling t = served(RT_OP_INDEX_LOGITS, RT_FP8, dim, RT_SERVER_SGLANG, &h100);
    CU_ASSERT_TRUE(t.blocks == 256 && t.longest == 260 && !t.paged && !t.split);
    t = served(RT_OP_INDEX_LOGITS, RT_FP8, paged, RT_SERVER_SGLANG, &h100);
    CU_ASSERT_TRUE(t.paged && t.split && t.longest == 32);
    RT_ASSERT_NEAR(t.blocks / t.splits, 64, 1e-12);
}

/* Rows of 65,536 scores: 64 steps of 1,024 threads, twice, and their ranks; a row of no more than k is
 * copied. Of eight rows with 2,045 to 2,052 scores half are. */
static void test_top_k(void)
{
    find_devices();
    const int64_t dim[] = {1320, 65536, 2048, 0}, one[] = {1, 65536, 2048, -1}, few[] = {8, 2052, 2048, 7},
                  all[] = {1, 2048, 2048, 0};
    struct rt_attention_tiling t = served(RT_OP_TOP_K, RT_FP32, dim, RT_SERVER_SGLANG, &h100);
    CU_ASSERT_EQUAL(t.longest, 128);
    RT_ASSERT_NEAR(t.fused.compute_us, 1320 / h100.sms * (128 * 500 + 3600) / h100.clock_mhz, 1e-9);
    t = served(RT_OP_TOP_K, RT_FP32, one, RT_SERVER_SGLANG, &h100);
    RT_ASSERT_NEAR(t.fused.compute_us, (128 * 500 + 3600) / h100.clock_mhz, 1e-12);
    t = served(RT_OP_TOP_K, RT_FP32, all, RT_SERVER_SGLANG, &h100);
    RT_ASSERT_NEAR(t.fused.compute_us, 2 * 500 / h100.clock_mhz, 1e-12);
    CU_ASSERT_EQUAL(rt_top_k_rows(few).count, 4);
    CU_ASSERT_EQUAL(rt_top_k_rows(few).length, 2050.5);
}

/* Launches of all sizes are finite, and so is every feature of them. */
static void test_features_are_finite(void)
{
    find_devices();
    static const struct rt_query queries[] = {
        {.call = {.op = RT_OP_MLA_CONTEXT, .dtype = RT_BF16, .dim = {1, 1, 0, 1, 192, 128, -1}}},
        {.call = {.op = RT_OP_MLA_CONTEXT,
                  .dtype = RT_BF16,
                  .dim = {64, 1 << 20, 1 << 20, 128, 192, 128, 8}}},
        {.call = {.op = RT_OP_MLA_GENERATION, .dtype = RT_BF16, .dim = {4096, 4, 0, 1, 512, 64, 8}}},
        {.call = {.op = RT_OP_SPARSE_ATTENTION,
                  .dtype = RT_BF16,
                  .dim = {1, 1, 0, 3, 3, 128, 128, 16, 64, 512, 0, 0}}},
        {.call = {.op = RT_OP_SPARSE_ATTENTION,
                  .dtype = RT_FP16,
                  .dim = {2, 1 << 20, 5, 200, 2, 512, 512, 0, 128, 128, 1, 8}}},
        {.call = {.op = RT_OP_INDEX_LOGITS, .dtype = RT_FP8, .dim = {1, 1, 0, 1, 128, 4, 0}}},
        {.call = {.op = RT_OP_INDEX_LOGITS, .dtype = RT_FP8, .dim = {2, 1 << 20, 1 << 20, 512, 128, 1, 4}}},
        {.call = {.op = RT_OP_TOP_K, .dtype = RT_FP32, .dim = {1, 1, 1, 0}}},
        {.call = {.op = RT_OP_TOP_K, .dtype = RT_FP32, .dim = {1 << 20, 1 << 20, 2048, 4096}}}};
    for (size_t q = 0; q < RT_COUNT(queries); q++) {
        struct rt_tiled_call launch;
        CU_ASSERT_TRUE_FATAL(rt_tiled_call_init_tiling(&launch, &queries[q], &h100));
        CU_ASSERT_TRUE(launch.start_us > 0 && launch.bound_us > launch.start_us);
        for (size_t f = 0; f < rt_feature_count; f++) {
            const char *name = rt_features[f].name;
            bool own = strncmp(name, "attention_", 10) == 0 || strncmp(name, "latent_", 7) == 0;
            if (own && !isfinite(rt_features[f].value(&launch))) {
                printf("# %s of query %zu\n", name, q);
                CU_FAIL();
            }
        }
    }
}

RT_TESTS(RT_TEST(test_prefill), RT_TEST(test_shared_keys), RT_TEST(test_chosen), RT_TEST(test_compressed),
         RT_TEST(test_groups), RT_TEST(test_logits), RT_TEST(test_top_k), RT_TEST(test_features_are_finite))
