/* Cuts of attention and experts, worked out by hand. */
#include "test.h"

#include "models/predictors/predictor/family_net.h"
#include "models/predictors/roofline/tiling.h"
#include "models/predictors/roofline/tile.h"

#include <math.h>

static struct rt_device a100, h100, l40s;

static void find_devices(void)
{
    RT_ASSERT_OK(rt_device_find("A100", &a100));
    RT_ASSERT_OK(rt_device_find("H100", &h100));
    RT_ASSERT_OK(rt_device_find("L40S", &l40s));
}

static struct rt_attention_tiling served(enum rt_op_id op, const int64_t *dims, enum rt_server_project server,
                                         const struct rt_device *device)
{
    int64_t dim[RT_MAX_DIMS] = {0};
    memcpy(dim, dims, 8 * sizeof *dim);
    struct rt_attention_tiling tiling;
    rt_tiling_attention(op, RT_BF16, dim, server, device, &tiling);
    return tiling;
}

static struct rt_attention_tiling tiling_of(enum rt_op_id op, const int64_t *dims,
                                            const struct rt_device *device)
{
    return served(op, dims, RT_SERVER_VLLM, device);
}

/* 4 x 1024 tokens, 8 heads of 128, causal: 8 blocks of 128 rows a head, that see 1, 2, ... 8 tiles of keys.
 */
static void test_causal(void)
{
    find_devices();
    const int64_t dim[8] = {4, 1024, 0, 8, 8, 128, 0, 0};
    struct rt_attention_tiling tiling = tiling_of(RT_OP_ATTENTION_CONTEXT, dim, &a100);
    CU_ASSERT_EQUAL(tiling.blocks, 4 * 8 * 8);
    CU_ASSERT_EQUAL(tiling.waves, 3); /* 256 blocks on 108 multiprocessors */
    CU_ASSERT_EQUAL(tiling.tiles, 8);
    CU_ASSERT_EQUAL(tiling.splits, 1);
    double whole = 4.0 * 128 * 128 * 128, asked = 4.0 * 4 * 8 * 128 * (1024 * 1025 / 2.0);
    RT_ASSERT_NEAR(tiling.padding, 256 * 4.5 * whole / asked, 1e-12);
    RT_ASSERT_NEAR(tiling.fused.compute_us, 1e6 * 3 * 4.5 * whole / (a100.bf16_matrix_tflops * 1e12 / 108),
                   1e-12);
    RT_ASSERT_NEAR(tiling.fused.start_us, 16e3 / 1410, 1e-12);
    double most = fmax(tiling.fused.compute_us, tiling.fused.memory_us);
    RT_ASSERT_NEAR(tiling.fused.time_us, tiling.fused.start_us + tiling.fused.blocks_us + most, 1e-12);
    const int64_t one[8] = {1, 1024, 0, 1, 1, 128, 0, 0}; /* one wave of 8: none ends before the longest */
    tiling = tiling_of(RT_OP_ATTENTION_CONTEXT, one, &a100);
    RT_ASSERT_NEAR(tiling.fused.compute_us, 1e6 * 8 * whole / (a100.bf16_matrix_tflops * 1e12 / 108), 1e-12);
}

/* A block that decodes waits for its keys; blocks that share a multiprocessor hide that from one another. */
static void test_decoding_blocks_wait(void)
{
    find_devices();
    const int64_t alone[8] = {1, 1, 16383, 32, 32, 128, 0, 0}, crowd[8] = {27, 1, 16383, 32, 32, 128, 0, 0};
    double tile = 1e6 * 4 * 64 * 128 * 128 / (a100.bf16_matrix_tflops * 1e12 / 108),
           load = 2.0 * 128 * 128 * 2 / 32 / 1410;
    struct rt_attention_tiling tiling = tiling_of(RT_OP_ATTENTION_GENERATION, alone, &a100);
    RT_ASSERT_NEAR(tiling.fused.compute_us, 128 * (tile + load), 1e-9);
    tiling = tiling_of(RT_OP_ATTENTION_GENERATION, crowd, &a100); /* 8 waves */
    RT_ASSERT_NEAR(tiling.fused.compute_us, 8 * 128 * tile, 1e-9);
}

/* A window of 256: from the third block on, three tiles. A cache: all blocks see it. */
static void test_window_and_cache(void)
{
    find_devices();
    const int64_t window[8] = {1, 1024, 0, 1, 1, 128, 256, 0};
    struct rt_attention_tiling tiling = tiling_of(RT_OP_ATTENTION_CONTEXT, window, &a100);
    CU_ASSERT_EQUAL(tiling.tiles, 3);
    double asked =
        rt_ops[RT_OP_ATTENTION_CONTEXT].flops((int64_t[RT_MAX_DIMS]){1, 1024, 0, 1, 1, 128, 256, 0});
    RT_ASSERT_NEAR(tiling.padding, (1 + 2 + 6 * 3) * 4.0 * 128 * 128 * 128 / asked, 1e-12);
    const int64_t cached[8] = {1, 128, 1024, 1, 1, 128, 0, 0};
    CU_ASSERT_EQUAL(tiling_of(RT_OP_ATTENTION_CONTEXT, cached, &a100).tiles, 9);
    const int64_t encoder[8] = {2, 300, 4, 64};
    tiling = tiling_of(RT_OP_ATTENTION_ENCODER, encoder, &h100);
    CU_ASSERT_EQUAL(tiling.tiles, 3);
    CU_ASSERT_EQUAL(tiling.blocks, 2 * 4 * 3);
    const int64_t cross[8] = {2, 300, 4, 64, 1000};
    tiling = tiling_of(RT_OP_ATTENTION_CROSS, cross, &h100);
    CU_ASSERT_EQUAL(tiling.tiles, 8);
    CU_ASSERT_EQUAL(tiling.blocks, 2 * 4 * 3);
    CU_ASSERT_FALSE(tiling.packed);
}

/* 32 query heads share 8 of keys. FlashAttention-2 packs single tokens without a window, Hopper always. */
static void test_heads_that_share_keys(void)
{
    find_devices();
    const int64_t prompt[8] = {1, 16, 0, 32, 8, 128, 0, 0}, windowed[8] = {64, 1, 999, 32, 8, 128, 128, 0},
                  single[8] = {64, 1, 999, 32, 8, 128, 0, 0};
    CU_ASSERT_EQUAL(tiling_of(RT_OP_ATTENTION_CONTEXT, prompt, &a100).blocks, 32);
    CU_ASSERT_EQUAL(tiling_of(RT_OP_ATTENTION_CONTEXT, prompt, &h100).blocks, 8);
    CU_ASSERT_EQUAL(tiling_of(RT_OP_ATTENTION_GENERATION, windowed, &a100).blocks, 64 * 32);
    CU_ASSERT_EQUAL(tiling_of(RT_OP_ATTENTION_GENERATION, windowed, &h100).blocks, 64 * 8);
    CU_ASSERT_EQUAL(tiling_of(RT_OP_ATTENTION_GENERATION, single, &a100).blocks, 64 * 8);
}

/* A long context of one sequence: split over the device, but not by FlashAttention-2 where every query head
 * has its own keys. */
static void test_splits(void)
{
    find_devices();
    const int64_t shared[8] = {1, 1, 131071, 32, 8, 128, 0, 0}, own[8] = {1, 1, 131071, 8, 8, 128, 0, 0};
    struct rt_attention_tiling tiling = tiling_of(RT_OP_ATTENTION_GENERATION, shared, &a100);
    CU_ASSERT_EQUAL(tiling.splits, 13);
    CU_ASSERT_EQUAL(tiling.blocks, 8 * 13);
    CU_ASSERT_EQUAL(tiling.tiles, 79); /* of 1024 */
    tiling = tiling_of(RT_OP_ATTENTION_GENERATION, own, &a100);
    CU_ASSERT_EQUAL(tiling.splits, 1);
    CU_ASSERT_EQUAL(tiling.tiles, 1024);
    CU_ASSERT_EQUAL(tiling_of(RT_OP_ATTENTION_GENERATION, own, &h100).splits, 16);
    const int64_t narrow[8] = {1, 1, 131071, 8, 8, 128, 0, 8}; /* FlashInfer */
    CU_ASSERT_EQUAL(tiling_of(RT_OP_ATTENTION_GENERATION, narrow, &l40s).splits, 17);
    CU_ASSERT_FALSE(tiling_of(RT_OP_ATTENTION_GENERATION, narrow, &l40s).narrow);
    CU_ASSERT_TRUE(tiling_of(RT_OP_ATTENTION_GENERATION, narrow, &h100).narrow);
}

/* 8-bit keys halve the bytes; what fits the L2 costs less, what does not costs what memory sustains. */
static void test_memory(void)
{
    find_devices();
    int64_t dim[8] = {64, 1, 65535, 8, 8, 128, 0, 0};
    struct rt_attention_tiling tiling = tiling_of(RT_OP_ATTENTION_GENERATION, dim, &h100);
    double queries = 64 * 128 * 2.0 * 8 * 2, keys = 64 * 128 * 2.0 * 65536 * 8;
    CU_ASSERT_TRUE(tiling.fused.l2_hit < 1e-3);
    RT_ASSERT_NEAR(tiling.fused.memory_us, (queries + 2 * keys) / (0.9 * h100.bandwidth_gbs * 1e3), 1e-3);
    dim[7] = 8;
    tiling = tiling_of(RT_OP_ATTENTION_GENERATION, dim, &h100);
    RT_ASSERT_NEAR(tiling.fused.memory_us, (queries + keys) / (0.9 * h100.bandwidth_gbs * 1e3), 1e-3);
    dim[7] = 0;
    dim[0] = 1;
    dim[2] = 1023; /* 4 MiB */
    tiling = tiling_of(RT_OP_ATTENTION_GENERATION, dim, &h100);
    CU_ASSERT_TRUE(tiling.fused.l2_hit > 0.99);
    double bytes = queries / 64 + 2 * keys / 64 / 64; /* at 12 a cycle of each multiprocessor */
    RT_ASSERT_NEAR(tiling.fused.memory_us, bytes / (12 * 132 * 1980.0), 0.01);
    struct rt_device slow = h100; /* whose memory gives less than the L2: up to 1 / 0.3 of it */
    slow.bandwidth_gbs = 300;
    CU_ASSERT_TRUE(tiling_of(RT_OP_ATTENTION_GENERATION, dim, &slow).fused.memory_us > 0.29 * bytes / 300e3);
    RT_ASSERT_NEAR(tiling_of(RT_OP_ATTENTION_GENERATION, dim, &slow).fused.memory_us, 0.3 * bytes / 300e3,
                   0.01);
    dim[7] = -1; /* not said: as wide as the queries */
    CU_ASSERT_EQUAL(tiling_of(RT_OP_ATTENTION_GENERATION, dim, &h100).fused.memory_us,
                    tiling.fused.memory_us);
}

/* 1024 tokens to 2 of 8 experts: 256 rows each, two tiles of 128. */
static void test_experts(void)
{
    find_devices();
    int64_t dim[RT_MAX_DIMS] = {1024, 4096, 14336, 2, 8, 1, 1, 0};
    struct rt_experts_tiling tiling;
    double peak = h100.bf16_matrix_tflops * 1e12, width = 2;
    h100.power_w = NAN; /* sustains its peak */
    rt_tiling_experts(RT_BF16, dim, RT_SERVER_VLLM, &h100, &tiling);
    CU_ASSERT_EQUAL(tiling.rows, 256);
    CU_ASSERT_EQUAL(tiling.tile_rows, 128);
    CU_ASSERT_EQUAL(tiling.padding, 1);
    CU_ASSERT_EQUAL(tiling.blocks, 8 * 2 * 224.0); /* 2 x 14336 columns */
    CU_ASSERT_EQUAL(tiling.waves, 28);             /* over 132 */
    double down = ceil(8 * 2 * 32.0 / 132), tile = 2.0 * 128 * 128;
    double read = (28 * 4096 + down * 14336) * 2 * (128 + 128) / 16; /* bytes at 16 in a cycle */
    RT_ASSERT_NEAR(tiling.fused.compute_us, read / 1980, 1e-9);
    CU_ASSERT_TRUE(tiling.fused.compute_us > 1e6 * tile * (28 * 4096 + down * 14336) / (peak / 132));
    double weights = 8 * 3 * 4096.0 * 14336 * width, row = width * (3 * 4096 + 6 * 14336.0);
    RT_ASSERT_NEAR(tiling.weight_share, weights / (weights + 2048 * row + 1024 * 4096 * width), 1e-12);
    CU_ASSERT_EQUAL(tiling.gathered, 1);
    dim[0] = 16; /* 4 rows an expert */
    rt_tiling_experts(RT_BF16, dim, RT_SERVER_VLLM, &h100, &tiling);
    CU_ASSERT_EQUAL(tiling.tile_rows, 16);
    CU_ASSERT_EQUAL(tiling.padding, 4);
    dim[0] = 1; /* two experts are read */
    rt_tiling_experts(RT_BF16, dim, RT_SERVER_VLLM, &h100, &tiling);
    CU_ASSERT_EQUAL(tiling.routing.touched, 2);
    dim[0] = 1024;
    dim[7] = 120; /* uneven: every expert's last tile is half empty */
    rt_tiling_experts(RT_BF16, dim, RT_SERVER_VLLM, &h100, &tiling);
    RT_ASSERT_NEAR(tiling.padding, 1 + tiling.routing.touched / 2 * 128 / 2048, 1e-12);
    dim[7] = 0;
    dim[8] = 1; /* without a gate: two products; 14336 columns in the first, which come out, in, out and in
                   once each */
    rt_tiling_experts(RT_BF16, dim, RT_SERVER_VLLM, &h100, &tiling);
    CU_ASSERT_TRUE(tiling.ungated && tiling.blocks == 8 * 2 * 112.0 && !tiling.cutlass);
    weights *= 2.0 / 3;
    row = width * (3 * 4096 + 4 * 14336.0);
    RT_ASSERT_NEAR(tiling.weight_share, weights / (weights + 2048 * row + 1024 * 4096 * width), 1e-12);
    rt_tiling_experts(RT_BF16, dim, RT_SERVER_SGLANG, &h100, &tiling);
    CU_ASSERT_TRUE(tiling.cutlass);
}

/* Experts on many GPUs: fewer rows here, the others' where all tokens are gathered. */
static void test_expert_parallelism(void)
{
    find_devices();
    const int64_t dim[RT_MAX_DIMS] = {1024, 2048, 768, 8, 128, 1, 16, 0};
    struct rt_experts_tiling tiling;
    rt_tiling_experts(RT_FP8_BLOCK, dim, RT_SERVER_VLLM, &h100, &tiling);
    CU_ASSERT_EQUAL(tiling.routing.rows, 512);
    CU_ASSERT_EQUAL(tiling.rows, 64);
    CU_ASSERT_TRUE(tiling.gathered > 2);
    CU_ASSERT_TRUE(tiling.cutlass);
    double own = tiling.fused.memory_us * h100.bandwidth_gbs;
    rt_tiling_experts(RT_FP8_BLOCK, dim, RT_SERVER_VLLM, &l40s, &tiling);
    CU_ASSERT_FALSE(tiling.cutlass);
    CU_ASSERT_EQUAL(tiling.gathered, 1); /* Triton moves all tokens' rows */
    struct rt_device ampere = h100;      /* and would so on it */
    strcpy(ampere.compute_capability, "8.0");
    rt_tiling_experts(RT_FP8_BLOCK, dim, RT_SERVER_VLLM, &ampere, &tiling);
    CU_ASSERT_TRUE(tiling.fused.memory_us * h100.bandwidth_gbs > 2 * own);
    rt_tiling_experts(RT_FP8_BLOCK, dim, RT_SERVER_VLLM, &l40s, &tiling);
    const int64_t few[RT_MAX_DIMS] = {1, 2048, 768, 8, 128, 1, 128, 0}; /* the busiest has one to do */
    rt_tiling_experts(RT_BF16, few, RT_SERVER_VLLM, &h100, &tiling);
    CU_ASSERT_EQUAL(tiling.routing.touched, 1);
    CU_ASSERT_EQUAL(tiling.rows, 1);
}

/* Which kernels decode. TensorRT-LLM's take a wave of blocks at 2,600 cycles where no keys are shared, or by
 * more heads than its kernels for shared keys serve; at 8,800 in 16 bits on Hopper, 3,056 in 8 bits there and
 * on sm_100, where the others run them too. */
static void test_kernels_of_servers(void)
{
    struct rt_device b200;
    find_devices();
    RT_ASSERT_OK(rt_device_find("B200", &b200));
    const int64_t shared[8] = {1024, 1, 0, 32, 8, 128, 0, 0}, narrow[8] = {1024, 1, 0, 32, 8, 128, 0, 8},
                  own[8] = {1024, 1, 0, 8, 8, 128, 0, 0}, many[8] = {1024, 1, 0, 64, 1, 128, 0, 0};
    const struct {
        const int64_t *dim;
        enum rt_server_project server;
        const struct rt_device *device;
        double cycles; /* of a wave; 0: 3.4 us, FlashAttention's */
        bool xqa, packed;
    } rows[] = {{shared, RT_SERVER_VLLM, &h100, 0, false, true},
                {shared, RT_SERVER_TENSORRT, &h100, 8800, false, true},
                {narrow, RT_SERVER_TENSORRT, &h100, 3056, true, true},
                {own, RT_SERVER_TENSORRT, &h100, 2600, false, false},
                {many, RT_SERVER_TENSORRT, &h100, 2600, false, false},
                {shared, RT_SERVER_VLLM, &b200, 3056, true, true},
                {many, RT_SERVER_SGLANG, &b200, 3056, true, true},
                {many, RT_SERVER_TENSORRT, &b200, 2600, false, false}};
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        struct rt_attention_tiling tiling =
            served(RT_OP_ATTENTION_GENERATION, rows[i].dim, rows[i].server, rows[i].device);
        double wave = rows[i].cycles > 0 ? rows[i].cycles / rows[i].device->clock_mhz : 3.4;
        RT_ASSERT_NEAR(tiling.fused.blocks_us, wave * tiling.waves, 1e-9);
        CU_ASSERT_TRUE(tiling.xqa == rows[i].xqa && tiling.packed == rows[i].packed);
    }
}

/* Experts of TensorRT-LLM keep to their own rows; its kernels for sm_100, which all servers run there, begin
 * less often and write less between. */
static void test_experts_of_servers(void)
{
    struct rt_device b200;
    find_devices();
    RT_ASSERT_OK(rt_device_find("B200", &b200));
    const int64_t dim[RT_MAX_DIMS] = {1024, 2048, 768, 8, 128, 1, 16, 0};
    struct rt_experts_tiling triton, cutlass, fused;
    rt_tiling_experts(RT_BF16, dim, RT_SERVER_VLLM, &h100, &triton);
    rt_tiling_experts(RT_BF16, dim, RT_SERVER_TENSORRT, &h100, &cutlass);
    CU_ASSERT_TRUE(!triton.cutlass && cutlass.cutlass && !cutlass.fused_kernels);
    CU_ASSERT_TRUE(cutlass.fused.memory_us < triton.fused.memory_us);
    RT_ASSERT_NEAR(cutlass.fused.start_us, 7 * 6000 / 1980.0, 1e-9);
    rt_tiling_experts(RT_BF16, dim, RT_SERVER_VLLM, &b200, &fused);
    CU_ASSERT_TRUE(fused.cutlass && fused.fused_kernels);
    RT_ASSERT_NEAR(fused.fused.start_us, 4 * 6000 / 1980.0, 1e-9);
    CU_ASSERT_TRUE(fused.wait_us == 0 && cutlass.wait_us == 0);
    rt_tiling_experts(RT_FP8, dim, RT_SERVER_VLLM, &h100, &cutlass); /* 8 x 12 blocks, then 8 x 16 */
    RT_ASSERT_NEAR(cutlass.wait_us, 36 * (2048 + 768) / 1980.0, 1e-9);
    CU_ASSERT_EQUAL(cutlass.fused.compute_us, cutlass.wait_us);
    rt_tiling_experts(RT_INT4, dim, RT_SERVER_VLLM, &b200, &fused); /* Marlin */
    CU_ASSERT_FALSE(fused.fused_kernels);
    RT_ASSERT_OK(rt_device_find("RTX PRO 6000", &b200)); /* of Blackwell, too, without tensor memory */
    rt_tiling_experts(RT_FP4, dim, RT_SERVER_VLLM, &b200, &fused);
    CU_ASSERT_TRUE(fused.cutlass && !fused.fused_kernels);
    rt_tiling_experts(RT_FP8, dim, RT_SERVER_VLLM, &b200, &fused);
    CU_ASSERT_FALSE(fused.cutlass);
}

/* Launches of all sizes are finite, and so is every feature of them. */
static void test_features_are_finite(void)
{
    find_devices();
    static const struct rt_query queries[] = {
        {.call.op = RT_OP_ATTENTION_CONTEXT,
         .call.dtype = RT_BF16,
         .call.dim = {1, 1 << 24, 0, 64, 8, 128, 0, 0}},
        {.call.op = RT_OP_ATTENTION_CONTEXT, .call.dtype = RT_BF16, .call.dim = {1, 1, 0, 1, 1, 64, 0, -1}},
        {.call.op = RT_OP_ATTENTION_CONTEXT, .call.dtype = RT_BF16, .call.dim = {1, 100, 3, 1, 1, 64, 2, 0}},
        {.call.op = RT_OP_ATTENTION_GENERATION,
         .call.dtype = RT_BF16,
         .call.dim = {2048, 4, 3, 96, 8, 192, 0, 8}},
        {.call.op = RT_OP_ATTENTION_ENCODER, .call.dtype = RT_FP16, .call.dim = {1, 1 << 20, 2, 72}},
        {.call.op = RT_OP_MOE, .call.dtype = RT_INT4, .call.dim = {1, 7168, 2048, 8, 384, 1, 384, 120}},
        {.call.op = RT_OP_MOE, .call.dtype = RT_MXFP4, .call.dim = {1 << 20, 2880, 2880, 4, 32, 32, 1, 101}},
        {.call.op = RT_OP_MOE, .call.dtype = RT_FP8, .call.dim = {1, 16, 16, 1, 1, 1, 1, -1}}};
    for (size_t q = 0; q < RT_COUNT(queries); q++) {
        struct rt_tiled_call launch;
        bool attention = rt_call_family(&queries[q].call) == RT_FAMILY_ATTENTION;
        CU_ASSERT_TRUE_FATAL(rt_tiled_call_init_tiling(&launch, &queries[q], &h100));
        CU_ASSERT_TRUE(launch.start_us > 0 && launch.bound_us > launch.start_us);
        for (size_t f = 0; f < rt_feature_count; f++) {
            const char *name = rt_features[f].name;
            if (strncmp(name, attention ? "attention_" : "experts_", attention ? 10 : 8) == 0 &&
                !isfinite(rt_features[f].value(&launch))) {
                printf("# %s of query %zu\n", name, q);
                CU_FAIL();
            }
        }
    }
}

/* Of heads of 128 a score has 512 FLOPs forward, 8,192 a cycle, as long as an exponential of 16 a cycle
 * takes; with 32 both take three quarters, and as much of prompts, not of decoding. Other designs have 16. */
static void test_exponentials(void)
{
    struct rt_device b200, b300 = {0};
    const int64_t prompt[8] = {4, 4096, 0, 32, 8, 128, 0, 0}, decode[8] = {64, 4096, 0, 32, 8, 128, 0, 0};
    find_devices();
    RT_ASSERT_OK(rt_device_find("B200", &b200));
    b300 = b200;
    strcpy(b300.compute_capability, "10.3");
    RT_ASSERT_NEAR(rt_exponentials_gain(&b300, RT_BF16, 128, 2), 0.75, 1e-12);
    RT_ASSERT_NEAR(rt_exponentials_gain(&b300, RT_FP8, 128, 2), 2. / 3, 1e-12);
    CU_ASSERT_EQUAL(rt_exponentials_gain(&b300, RT_FP32, 128, 2), 1);
    CU_ASSERT_EQUAL(rt_exponentials_gain(&b200, RT_BF16, 128, 2), 1);
    CU_ASSERT_EQUAL(rt_exponentials_gain(&h100, RT_BF16, 128, 2), 1);
    double more = tiling_of(RT_OP_ATTENTION_CONTEXT, prompt, &b300).fused.compute_us,
           usual = tiling_of(RT_OP_ATTENTION_CONTEXT, prompt, &b200).fused.compute_us;
    RT_ASSERT_NEAR(more / usual, 0.75, 1e-9);
    CU_ASSERT_EQUAL(tiling_of(RT_OP_ATTENTION_GENERATION, decode, &b300).fused.compute_us,
                    tiling_of(RT_OP_ATTENTION_GENERATION, decode, &b200).fused.compute_us);
}

RT_TESTS(RT_TEST(test_exponentials), RT_TEST(test_causal), RT_TEST(test_decoding_blocks_wait),
         RT_TEST(test_window_and_cache), RT_TEST(test_heads_that_share_keys), RT_TEST(test_splits),
         RT_TEST(test_memory), RT_TEST(test_experts), RT_TEST(test_expert_parallelism),
         RT_TEST(test_kernels_of_servers), RT_TEST(test_experts_of_servers),
         RT_TEST(test_features_are_finite))
