/* The op table: sums worked out by hand, checks of dims, lookups. */
#include "datasets/op.h"
#include "test.h"

#include <stdbool.h>

static void test_flops_and_bytes(void)
{
    int64_t linear[RT_MAX_DIMS] = {1, 4, 8, 16}; /* batch, m, n, k */
    CU_ASSERT_EQUAL(rt_ops[RT_OP_LINEAR].flops(linear), 4 * 8 * 2 * 16 + 4 * 8);
    CU_ASSERT_EQUAL(rt_ops[RT_OP_LINEAR].bytes(linear, 4), 4 * (4 * 16 + 16 * 8 + 4 * 8 + 8));
    int64_t bmm[RT_MAX_DIMS] = {3, 4, 8, 16};
    CU_ASSERT_EQUAL(rt_ops[RT_OP_BMM].flops(bmm), 3 * 2 * 4 * 8 * 16);
    CU_ASSERT_EQUAL(rt_ops[RT_OP_BMM].bytes(bmm, 2), 3 * 2 * (4 * 16 + 16 * 8 + 4 * 8));
    int64_t rows[RT_MAX_DIMS] = {10, 7};
    CU_ASSERT_EQUAL(rt_ops[RT_OP_SOFTMAX].flops(rows), 350);
    CU_ASSERT_EQUAL(rt_ops[RT_OP_ADD].bytes(rows, 4), 3 * 4 * 70);
    CU_ASSERT_EQUAL(rt_ops[RT_OP_GELU].bytes(rows, 4), 2 * 4 * 70);
    /* ResNet-50's first convolution: 118 M multiply-adds an image (He 2015, table 1). */
    int64_t conv[RT_MAX_DIMS] = {1, 3, 64, 224, 224, 7, 7, 2, 3, 1, 1, -1, -1, -1};
    CU_ASSERT_EQUAL(rt_ops[RT_OP_CONV2D].flops(conv), 2.0 * 64 * 112 * 112 * 3 * 49);
    int64_t ring[RT_MAX_DIMS] = {4, 1000};
    CU_ASSERT_EQUAL(rt_ops[RT_OP_ALL_REDUCE].bytes(ring, 2), 2 * 2 * 1000 * 3 / 4.0);
    CU_ASSERT_EQUAL(rt_ops[RT_OP_ALL_GATHER].bytes(ring, 2), 2 * 1000 * 3 / 4.0);
}

static void test_attention(void)
{
    /* One query over one key: 4 x head_dim; a window caps the keys. */
    int64_t one[RT_MAX_DIMS] = {1, 1, 0, 1, 1, 64, 0};
    CU_ASSERT_EQUAL(rt_ops[RT_OP_ATTENTION_CONTEXT].flops(one), 4 * 64);
    int64_t causal[RT_MAX_DIMS] = {2, 10, 5, 3, 3, 64, 0}; /* 6 + 7 + ... + 15 keys */
    CU_ASSERT_EQUAL(rt_ops[RT_OP_ATTENTION_CONTEXT].flops(causal), 4.0 * 2 * 105 * 3 * 64);
    causal[6] = 8; /* 6 + 7 + 8 + 7 times 8 */
    CU_ASSERT_EQUAL(rt_ops[RT_OP_ATTENTION_CONTEXT].flops(causal), 4.0 * 2 * (6 + 7 + 8 + 7 * 8) * 3 * 64);
    causal[6] = 3; /* the cache alone fills the window */
    CU_ASSERT_EQUAL(rt_ops[RT_OP_ATTENTION_CONTEXT].flops(causal), 4.0 * 2 * 30 * 3 * 64);
    int64_t window[RT_MAX_DIMS] = {1, 1, 4096, 8, 8, 64, 128};
    CU_ASSERT_EQUAL(rt_ops[RT_OP_ATTENTION_GENERATION].flops(window), 4.0 * 128 * 8 * 64);
    double wide = rt_ops[RT_OP_ATTENTION_GENERATION].bytes(window, 2); /* 128 keys and values, 8 heads */
    CU_ASSERT_EQUAL(wide, 64 * (2.0 * 2 * 8 + 2.0 * 2 * 128 * 8));
    window[7] = 8; /* of one byte */
    CU_ASSERT_EQUAL(rt_ops[RT_OP_ATTENTION_GENERATION].bytes(window, 2), 64 * (2.0 * 2 * 8 + 2.0 * 128 * 8));
    window[7] = -1; /* not said */
    CU_ASSERT_EQUAL(rt_ops[RT_OP_ATTENTION_GENERATION].bytes(window, 2), wide);
    CU_ASSERT_EQUAL(rt_op_check(RT_OP_ATTENTION_GENERATION, window), RT_OK);
    CU_ASSERT_TRUE(rt_op_may_lack(RT_OP_ATTENTION_GENERATION, 7));
    CU_ASSERT_FALSE(rt_op_may_lack(RT_OP_ATTENTION_GENERATION, 6));
    window[6] = -1; /* a window has always been said */
    CU_ASSERT_NOT_EQUAL(rt_op_check(RT_OP_ATTENTION_GENERATION, window), RT_OK);
    int64_t encoder[RT_MAX_DIMS] = {2, 10, 3, 5};
    CU_ASSERT_EQUAL(rt_ops[RT_OP_ATTENTION_ENCODER].flops(encoder), 4.0 * 2 * 100 * 3 * 5);
    int64_t cross[RT_MAX_DIMS] = {2, 10, 3, 5, 7};
    CU_ASSERT_EQUAL(rt_ops[RT_OP_ATTENTION_CROSS].flops(cross), 4.0 * 2 * 10 * 7 * 3 * 5);
    CU_ASSERT_EQUAL(rt_ops[RT_OP_ATTENTION_CROSS].bytes(cross, 2), 2.0 * 2 * 3 * 5 * 2 * (10 + 7));
}

static void test_latent(void)
{
    /* DeepSeek-V3's prefill of 10 tokens behind 5, two heads of 192 and 128: 6 + 7 + ... + 15 pairs. */
    int64_t prefill[RT_MAX_DIMS] = {3, 10, 5, 2, 192, 128, 0};
    CU_ASSERT_EQUAL(rt_ops[RT_OP_MLA_CONTEXT].flops(prefill), 2.0 * 3 * 105 * 2 * 320);
    CU_ASSERT_EQUAL(rt_ops[RT_OP_MLA_CONTEXT].bytes(prefill, 2), 2.0 * 3 * (10 + 15) * 2 * 320);
    /* Absorbed, 100 keys of 576 bytes in 8 bits whose first 512 columns are the values. */
    int64_t decode[RT_MAX_DIMS] = {3, 1, 99, 16, 512, 64, 8};
    CU_ASSERT_EQUAL(rt_ops[RT_OP_MLA_GENERATION].flops(decode), 2.0 * 3 * 16 * 100 * (576 + 512));
    CU_ASSERT_EQUAL(rt_ops[RT_OP_MLA_GENERATION].bytes(decode, 2),
                    2.0 * 3 * 16 * (576 + 512) + 3.0 * 100 * 576);
    CU_ASSERT_EQUAL(rt_ops[RT_OP_MLA_GENERATION].kept(decode, 2), 3.0 * 99 * 576);
    /* DeepSeek-V3.2: 2048 of 4096 tokens; fewer than are chosen: as many FLOPs as all of them. */
    int64_t chosen[RT_MAX_DIMS] = {1, 1, 4095, 16, 1, 576, 512, 2048, 1, 0, 1, 8};
    CU_ASSERT_EQUAL(rt_ops[RT_OP_SPARSE_ATTENTION].flops(chosen), 2.0 * 16 * 2048 * (576 + 512));
    CU_ASSERT_EQUAL(rt_ops[RT_OP_SPARSE_ATTENTION].bytes(chosen, 2), 2.0 * 16 * (576 + 512) + 2048 * 576);
    decode[0] = chosen[0];
    chosen[2] = 99;
    CU_ASSERT_EQUAL(rt_ops[RT_OP_SPARSE_ATTENTION].flops(chosen), rt_ops[RT_OP_MLA_GENERATION].flops(decode));
    CU_ASSERT_EQUAL(rt_ops[RT_OP_SPARSE_ATTENTION].bytes(chosen, 2),
                    rt_ops[RT_OP_MLA_GENERATION].bytes(decode, 2));
    /* DeepSeek-V4: entries of 128 tokens, all of them, and the last 128 tokens. */
    int64_t compressed[RT_MAX_DIMS] = {1, 1, 12799, 1, 1, 512, 512, 0, 128, 128, 1, 0};
    CU_ASSERT_EQUAL(rt_ops[RT_OP_SPARSE_ATTENTION].flops(compressed), 2.0 * (100 + 128) * 1024);
    int64_t index[RT_MAX_DIMS] = {1, 2, 3, 64, 128, 1, 8}; /* 4 + 5 scores over 5 keys */
    CU_ASSERT_EQUAL(rt_ops[RT_OP_INDEX_LOGITS].flops(index), 2.0 * 9 * 64 * 129);
    CU_ASSERT_EQUAL(rt_ops[RT_OP_INDEX_LOGITS].bytes(index, 1), 2.0 * 64 * 128 + 5 * 128 + 4 * 9);
}

static void test_recurrences(void)
{
    /* A token of one sequence: its state is read and written, 4 bytes an element. */
    int64_t delta[RT_MAX_DIMS] = {2, 1, 4, 128, 8, 128, 1};
    double state = 4.0 * 2 * 8 * 128 * 128;
    CU_ASSERT_EQUAL(rt_ops[RT_OP_DELTA_RULE_GENERATION].kept(delta, 2), state);
    double token = 2.0 * 2 * (2 * (4 * 128 + 8 * 128) + 8 * 2);
    CU_ASSERT_EQUAL(rt_ops[RT_OP_DELTA_RULE_GENERATION].bytes(delta, 2), token + 2 * state);
    CU_ASSERT_EQUAL(rt_ops[RT_OP_DELTA_RULE_CONTEXT].bytes(delta, 2), token + state);
    int64_t conv[RT_MAX_DIMS] = {2, 3, 100, 4}; /* three tokens of the past are kept */
    CU_ASSERT_EQUAL(rt_ops[RT_OP_CAUSAL_CONV1D].flops(conv), 2.0 * 2 * 3 * 100 * 4);
    CU_ASSERT_EQUAL(rt_ops[RT_OP_CAUSAL_CONV1D].bytes(conv, 2), 2.0 * 100 * (2 * 2 * 3 + 4 + 2 * 3));
    /* Mamba-2: state of 64 x 128 a head */
    int64_t ssm[RT_MAX_DIMS] = {1, 1, 64, 64, 8, 128, 128};
    CU_ASSERT_EQUAL(rt_ops[RT_OP_SSM_GENERATION].flops(ssm), 5.0 * 64 * 64 * 128);
    CU_ASSERT_EQUAL(rt_ops[RT_OP_SSM_GENERATION].kept(ssm, 2), 2.0 * 64 * 64 * 128);
    /* Four streams of 7168: four of them read and one written, three of them beside what the layer put out */
    int64_t hyper[RT_MAX_DIMS] = {10, 7168, 4, 20};
    CU_ASSERT_EQUAL(rt_ops[RT_OP_HYPER_CONNECTION_POST].bytes(hyper, 2), 2.0 * 10 * 9 * 7168);
    CU_ASSERT_TRUE(rt_ops[RT_OP_HYPER_CONNECTION_PRE].bytes(hyper, 2) > 2.0 * 10 * 5 * 7168);
    int64_t quantise[RT_MAX_DIMS] = {10, 100, 4}; /* 16 bits to 4 */
    CU_ASSERT_EQUAL(rt_ops[RT_OP_QUANTISE].bytes(quantise, 2), 2.5 * 1000);
}

/* Outputs of torch.nn.functional.conv2d and max_pool2d for the same sizes. */
static void test_images(void)
{
    double height, width;
    /* 1 x 7, as in Inception v3: padding of the width alone */
    const int64_t wide[RT_MAX_DIMS] = {1, 128, 192, 17, 17, 1, 7, 1, 0, 1, 1, -1, 3, 1};
    rt_conv_outputs(wide, &height, &width);
    CU_ASSERT_TRUE(height == 17 && width == 17);
    /* 5 x 20 with stride 2 x 1 */
    const int64_t strided[RT_MAX_DIMS] = {1, 1, 32, 161, 700, 5, 20, 2, 0, 1, 1, 1, -1, -1};
    rt_conv_outputs(strided, &height, &width);
    CU_ASSERT_TRUE(height == 79 && width == 681);
    /* SqueezeNet 1.0: 109 pixels to 54 either way; 54 to 27 with the size rounded up, 26 without */
    int64_t pool[RT_MAX_DIMS] = {1, 1, 54, 54, 3, 2, 0, 1};
    CU_ASSERT_EQUAL(rt_ops[RT_OP_MAX_POOL2D].bytes(pool, 1), 54 * 54 + 27 * 27);
    pool[7] = -1;
    CU_ASSERT_EQUAL(rt_ops[RT_OP_MAX_POOL2D].bytes(pool, 1), 54 * 54 + 26 * 26);
    /* a window that would begin in the right padding is left out */
    const int64_t padded[RT_MAX_DIMS] = {1, 1, 3, 3, 2, 2, 1, 1};
    CU_ASSERT_EQUAL(rt_ops[RT_OP_MAX_POOL2D].bytes(padded, 1), 9 + 4);
}

static void test_every_row_is_whole(void)
{
    int64_t ones[RT_MAX_DIMS] = {2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 2, 0};
    for (int op = 0; op < RT_OP_COUNT; op++) {
        CU_ASSERT_PTR_NOT_NULL_FATAL(rt_ops[op].name);
        CU_ASSERT_EQUAL(rt_op_find(rt_ops[op].name), op);
        CU_ASSERT_TRUE(rt_op_ndims(op) >= 1);
        enum rt_family family = rt_ops[op].family;
        CU_ASSERT_TRUE(op == RT_OP_LAUNCH || rt_ops[op].bytes(ones, 4) > 0);
        bool moves = family == RT_FAMILY_COLLECTIVE || family == RT_FAMILY_MEMORY || family == RT_FAMILY_HOST;
        CU_ASSERT_TRUE(moves || rt_ops[op].flops(ones) > 0);
    }
    for (int d = 0; d < RT_DTYPE_COUNT; d++)
        CU_ASSERT_EQUAL(rt_dtype_find(rt_dtypes[d].name), d);
}

static void test_lookups(void)
{
    CU_ASSERT_EQUAL(rt_op_find("ln"), RT_OP_LAYERNORM); /* NeuSight's name */
    CU_ASSERT_EQUAL(rt_op_find("addu"), RT_OP_ADD_SCALAR);
    CU_ASSERT_EQUAL(rt_op_find("lin"), -1);
    CU_ASSERT_EQUAL(rt_dtype_find("bfloat16"), RT_BF16);
    CU_ASSERT_EQUAL(rt_dtype_find("half"), RT_FP16);
    CU_ASSERT_EQUAL(rt_dtype_find("float"), RT_FP32);
    CU_ASSERT_EQUAL(rt_dtype_find("floa"), -1);
    CU_ASSERT_EQUAL(rt_dtype_find(""), -1);
}

static void test_check(void)
{
    int64_t dims[RT_MAX_DIMS] = {1, 4, 8, 16};
    RT_ASSERT_OK(rt_op_check(RT_OP_BMM, dims));
    dims[2] = 0;
    RT_ASSERT_FAILS(rt_op_check(RT_OP_BMM, dims), RT_EFORMAT, "n is 0");
    dims[2] = ((int64_t)1 << 40) + 1;
    RT_ASSERT_FAILS(rt_op_check(RT_OP_BMM, dims), RT_EFORMAT, "2^40");
    int64_t conv[RT_MAX_DIMS] = {1, 3, 64, 4, 4, 7, 7, 1, 0, 1, 1};
    RT_ASSERT_FAILS(rt_op_check(RT_OP_CONV2D, conv), RT_EFORMAT, "larger than the padded input");
    int64_t groups[RT_MAX_DIMS] = {1, 6, 8, 4, 4, 1, 1, 1, 0, 1, 3, -1, -1, -1};
    RT_ASSERT_FAILS(rt_op_check(RT_OP_CONV2D, groups), RT_EFORMAT, "groups must divide the channels");
    groups[2] = 9;
    RT_ASSERT_OK(rt_op_check(RT_OP_CONV2D, groups));
}

RT_TESTS(RT_TEST(test_flops_and_bytes), RT_TEST(test_attention), RT_TEST(test_latent),
         RT_TEST(test_recurrences), RT_TEST(test_images), RT_TEST(test_every_row_is_whole),
         RT_TEST(test_lookups), RT_TEST(test_check))
