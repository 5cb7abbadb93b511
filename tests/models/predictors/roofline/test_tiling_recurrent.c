/* Recurrences by hand: kinds by server and design, steps, blocks, bytes; more tokens never take less. */
#include "base/status.h"
#include "models/predictors/roofline/tiling_recurrent.h"
#include "test.h"

#include <math.h>

static struct rt_device named(const char *name)
{
    struct rt_device device;
    RT_ASSERT_OK(rt_device_named(name, &device));
    return device;
}

static struct rt_recurrent_tiling tile(const char *gpu, enum rt_server_project server, enum rt_op_id op,
                                       const int64_t *dim)
{
    struct rt_device device = named(gpu);
    struct rt_recurrent_tiling tiling;
    rt_tiling_recurrent(op, RT_BF16, dim, server, &device, &tiling);
    CU_ASSERT_TRUE(isfinite(tiling.fused.time_us) && tiling.fused.time_us > 0);
    return tiling;
}

/* One kernel on data-centre GPUs since Hopper by vLLM, several everywhere else; of convolutions a block a
 * channel by TensorRT-LLM, but for a token alone. */
static void test_kinds(void)
{
    const int64_t delta[] = {1, 1024, 16, 128, 16, 128, 1}, conv[] = {2, 17, 300, 4},
                  token[] = {2, 1, 300, 4};
    static const struct {
        const char *gpu;
        enum rt_server_project server;
        enum rt_recurrent_kind kind;
    } rows[] = {{"H200", RT_SERVER_VLLM, RT_RECURRENT_FUSED},
                {"B200", RT_SERVER_VLLM, RT_RECURRENT_FUSED_TENSOR},
                {"L40S", RT_SERVER_VLLM, RT_RECURRENT_CHUNKED},
                {"A100-SXM4-80GB", RT_SERVER_VLLM, RT_RECURRENT_CHUNKED},
                {"H200", RT_SERVER_SGLANG, RT_RECURRENT_CHUNKED},
                {"B200", RT_SERVER_TENSORRT, RT_RECURRENT_CHUNKED}};
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        enum rt_recurrent_kind kind = tile(rows[i].gpu, rows[i].server, RT_OP_DELTA_RULE_CONTEXT, delta).kind;
        CU_ASSERT_EQUAL(kind, rows[i].kind);
        kind = tile(rows[i].gpu, rows[i].server, RT_OP_CAUSAL_CONV1D, conv).kind;
        CU_ASSERT_EQUAL(kind, rows[i].server == RT_SERVER_TENSORRT ? RT_RECURRENT_CHANNELS
                                                                   : RT_RECURRENT_CONVOLUTION);
        kind = tile(rows[i].gpu, rows[i].server, RT_OP_CAUSAL_CONV1D, token).kind;
        CU_ASSERT_EQUAL(kind, RT_RECURRENT_CONVOLUTION_STEP);
    }
}

/* 16 chunks in one kernel: 16 blocks are a wave of 132 multiprocessors, 133 two, which take twice as long
 * beside the start.
 */
static void test_one_kernel_walks_chunks(void)
{
    struct rt_device h200 = named("H200");
    const int64_t wave[] = {1, 1024, 16, 128, 16, 128, 1}, waves[] = {133, 1024, 1, 128, 1, 128, 1};
    struct rt_recurrent_tiling one = tile("H200", RT_SERVER_VLLM, RT_OP_DELTA_RULE_CONTEXT, wave),
                               two = tile("H200", RT_SERVER_VLLM, RT_OP_DELTA_RULE_CONTEXT, waves);
    CU_ASSERT_EQUAL(h200.sms, 132);
    CU_ASSERT_TRUE(one.steps == 16 && one.blocks == 16 && one.heads == 16 && two.blocks == 133);
    RT_ASSERT_NEAR(one.fused.compute_us, 16 * 6000 / h200.clock_mhz, 1e-9);
    RT_ASSERT_NEAR(two.fused.compute_us, 2 * one.fused.compute_us, 1e-9);
    RT_ASSERT_NEAR(two.fused.blocks_us, 2 * one.fused.blocks_us, 1e-9);
}

/* A block takes a channel, a number of its state after the other for 2,048 tokens; RWKV's 32 channels token
 * by token. Nothing is written between chunks. */
static void test_scans_keep_their_state(void)
{
    struct rt_device h100 = named("H100");
    const int64_t mamba[] = {8, 4096, 5120, 1, 1, 16, 2048}, wkv[] = {1, 1024, 4096, 1, 1, 1, 1};
    struct rt_recurrent_tiling one = tile("H100", RT_SERVER_VLLM, RT_OP_SSM_CONTEXT, mamba),
                               two = tile("H100", RT_SERVER_VLLM, RT_OP_SSM_CONTEXT, wkv);
    CU_ASSERT_EQUAL(one.bytes, rt_ops[RT_OP_SSM_CONTEXT].bytes(mamba, 2));
    CU_ASSERT_TRUE(one.steps == 32 && one.blocks == 8 * 5120 && one.kind == RT_RECURRENT_CHANNELS);
    CU_ASSERT_TRUE(two.steps == 1024 && two.blocks == 128);
    RT_ASSERT_NEAR(two.fused.compute_us, (1024 * 1500 + 300) / h100.clock_mhz, 1e-9);
}

/* A chunk of one head of 64 columns, by FLA's kernels, in bytes a token: norms 4 x 128; sums of the gate 22;
 * K K^T 128 + 4 x 64; inverse 6 x 64; W and U, scan, output 640 each. The state is written once, in fp32. */
static void test_several_kernels_write_for_each_other(void)
{
    struct rt_device a100 = named("A100-SXM4-80GB");
    const int64_t dim[] = {1, 64, 1, 64, 1, 64, 1};
    struct rt_recurrent_tiling tiling =
        tile("A100-SXM4-80GB", RT_SERVER_SGLANG, RT_OP_DELTA_RULE_CONTEXT, dim);
    CU_ASSERT_EQUAL(tiling.bytes, 64 * (512 + 22 + 384 + 384 + 3 * 640) + 4 * 64 * 64);
    CU_ASSERT_TRUE(tiling.steps == 1 && tiling.blocks == 1);
    RT_ASSERT_NEAR(tiling.fused.start_us, (36e3 + 64 * 600) / a100.clock_mhz, 1e-9);
    RT_ASSERT_NEAR(tiling.fused.blocks_us, 4700 / a100.clock_mhz, 1e-9);
}

/* A step reads and writes 64 heads' states of 64 KiB for 512 sequences, 4.3 GB: 1.43 ms of 3.35 TB/s x 0.9;
 * where three drafts are verified with it, four are written. */
static void test_steps_move_states(void)
{
    const int64_t step[] = {512, 1, 16, 128, 64, 128, 1}, drafts[] = {512, 4, 16, 128, 64, 128, 1};
    const double states = 512.0 * 64 * 65536;
    struct rt_recurrent_tiling one = tile("H100-SXM", RT_SERVER_VLLM, RT_OP_DELTA_RULE_GENERATION, step),
                               four = tile("H100-SXM", RT_SERVER_VLLM, RT_OP_DELTA_RULE_GENERATION, drafts);
    double tokens = one.bytes - 2 * states;
    CU_ASSERT_EQUAL(tokens, 512 * (2 * 2 * (16 * 128 + 64 * 128) + 2 * 64 * 2));
    RT_ASSERT_NEAR(one.fused.memory_us, 1e6 * one.bytes / (0.9 * 3.35e12), 1e-3);
    CU_ASSERT_EQUAL(four.bytes, 4 * tokens + 5 * states);
    CU_ASSERT_EQUAL(one.blocks, 512 * 64 * 4);
}

/* 8 tokens of 256 channels a block, or a channel. */
static void test_convolutions(void)
{
    const int64_t conv[] = {2, 17, 300, 4}, channels[] = {2, 2049, 300, 4};
    struct rt_recurrent_tiling tiling = tile("H200", RT_SERVER_SGLANG, RT_OP_CAUSAL_CONV1D, conv);
    CU_ASSERT_TRUE(tiling.blocks == 2 * 3 * 2 && tiling.steps == 8);
    /* In, out, weights; the last three tokens read and written. */
    CU_ASSERT_EQUAL(tiling.bytes, 2 * 300 * (2 * 2 * 17 + 4 + 2 * 2 * 3));
    tiling = tile("H200", RT_SERVER_TENSORRT, RT_OP_CAUSAL_CONV1D, channels);
    CU_ASSERT_TRUE(tiling.blocks == 600 && tiling.steps == 3);
}

/* Streams are read twice before a layer: n + 1 of them and n again, 4 x 6 rows of weights in fp32, and the
 * weights that come out, 4 x 5 a token. */
static void test_hyper_connections(void)
{
    const int64_t dim[] = {1000, 4096, 4, 20};
    struct rt_recurrent_tiling pre = tile("H200", RT_SERVER_VLLM, RT_OP_HYPER_CONNECTION_PRE, dim),
                               post = tile("H200", RT_SERVER_VLLM, RT_OP_HYPER_CONNECTION_POST, dim);
    CU_ASSERT_TRUE(pre.kind == RT_RECURRENT_PRE && post.kind == RT_RECURRENT_POST);
    CU_ASSERT_EQUAL(pre.bytes, 2 * 1000 * 9 * 4096 + 4 * 24 * 4 * 4096 + 4 * 1000 * 20);
    CU_ASSERT_EQUAL(post.bytes, 2 * 1000 * 9 * 4096);
}

/* Mamba-2 has nobody's times: its parts all the same grow with tokens and sequences. */
static void test_more_work_takes_longer(void)
{
    static const enum rt_op_id ops[] = {RT_OP_DELTA_RULE_CONTEXT, RT_OP_DELTA_RULE_GENERATION,
                                        RT_OP_SSM_CONTEXT, RT_OP_SSM_GENERATION, RT_OP_CAUSAL_CONV1D};
    for (size_t o = 0; o < RT_COUNT(ops); o++)
        for (int server = 0; server < RT_SERVER_PROJECTS; server++)
            for (int grows = 0; grows < 2; grows++) {
                int64_t dim[] = {1, 2, 16, 128, 16, 128, 1};
                double before = 0;
                if (ops[o] == RT_OP_SSM_CONTEXT || ops[o] == RT_OP_SSM_GENERATION)
                    dim[4] = 1, dim[6] = 256;
                if (ops[o] == RT_OP_CAUSAL_CONV1D)
                    dim[2] = 4096, dim[3] = 4;
                for (; dim[grows] < 65536; dim[grows] *= 2) {
                    double us = tile("H200", (enum rt_server_project)server, ops[o], dim).fused.time_us;
                    CU_ASSERT_TRUE(us >= before);
                    before = us;
                }
            }
}

RT_TESTS(RT_TEST(test_kinds), RT_TEST(test_one_kernel_walks_chunks), RT_TEST(test_scans_keep_their_state),
         RT_TEST(test_several_kernels_write_for_each_other), RT_TEST(test_steps_move_states),
         RT_TEST(test_convolutions), RT_TEST(test_hyper_connections), RT_TEST(test_more_work_takes_longer))
