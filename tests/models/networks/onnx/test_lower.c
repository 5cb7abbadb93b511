/* Operators of ONNX models as kernels: what a row makes, with its dims and dtype, and the parameters. */
#include "find.h"
#include "base/status.h"
#include "base/text.h"
#include "models/networks/build_image.h"
#include "models/networks/source.h"

#include <inttypes.h>
#include <string.h>

#define DATA RT_SOURCE_DIR "/tests/data/onnx/"

/* The graph of a file of DATA; false where the build has no ONNX. */
static bool graph_of(const char *name, enum rt_dtype dtype, struct rt_graph *graph)
{
    char path[300];
    struct rt_model_source source;
    struct rt_graph_options options = {
        .dtype = dtype, .batch = 1, .sequence = 1, .tensor_parallel = 1, .runtime = RT_RUNTIME_EAGER};
    snprintf(path, sizeof path, DATA "%s", name);
    RT_ASSERT_OK(rt_model_source_find(path, &source));
    if (rt_model_source_graph(&source, &options, 0, graph) == RT_OK)
        return true;
    if (strstr(rt_error(), "built without ONNX") == NULL)
        printf("# %s\n", rt_error());
    CU_ASSERT_PTR_NOT_NULL_FATAL(strstr(rt_error(), "built without ONNX"));
    printf("skipped %s: built without ONNX\n", name);
    return false;
}

static bool begins(const char *text, const char *with)
{
    size_t length = strlen(with);
    return strncmp(text, with, length) == 0 && (text[length] == '\0' || text[length] == '.');
}

/* "op dims ...; op dims ..." of the nodes that the operator `name` became; a repeated block's are "N x op
 * ...", and another dtype than the graph's stands behind. */
static void check_kernels(const struct rt_graph *graph, const char *name, const char *expected)
{
    struct rt_text text = {0};
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct rt_node *node = &graph->nodes[n];
        for (uint32_t k = 0; k < node->kernel_count && begins(node->name, name); k++) {
            const struct rt_call *call = &graph->kernels[node->kernel + k].call;
            int64_t repeat = rt_graph_repeat(graph, node);
            rt_text_item(&text, "; ", "%s", "");
            if (repeat > 1)
                rt_text_add(&text, "%" PRId64 " x ", repeat);
            rt_text_add(&text, "%s", rt_ops[call->op].name);
            for (int d = 0; d < rt_op_ndims((enum rt_op_id)call->op); d++)
                if (call->dim[d] >= 0)
                    rt_text_add(&text, " %" PRId64, call->dim[d]);
            if (call->dtype != graph->options.dtype)
                rt_text_add(&text, " %s", rt_dtypes[call->dtype].name);
        }
    }
    const char *got = text.text != NULL ? text.text : "";
    if (strcmp(got, expected) != 0)
        printf("# %s: %s\n# expected: %s\n", name, got, expected);
    CU_ASSERT_STRING_EQUAL(got, expected);
    rt_text_release(&text);
}

static void test_products(void)
{
    struct rt_graph graph;
    if (!graph_of("products.onnx", RT_FP32, &graph))
        return;
    /* bthd,bshd->bhts: heads beside the batch are copied, the second operand turned too */
    check_kernels(&graph, "Einsum 0", "copy 30 8; transpose 48 7; bmm 6 5 7 8");
    /* bthd,hde->bte sums over d, then h */
    check_kernels(&graph, "Einsum 1", "transpose 10 24; copy 24 16; linear 1 10 16 24");
    check_kernels(&graph, "Einsum 2", "copy 42 8; bmm 6 5 8 7");
    check_kernels(&graph, "Einsum 3", "reduce 15 16");
    check_kernels(&graph, "Einsum 4", "mul 30 8");
    check_kernels(&graph, "MatMulInteger 5", "linear 1 6 16 32 int8");
    check_kernels(&graph, "ConvInteger 6", "conv2d 2 4 8 9 9 3 3 1 0 1 1 int8");
    check_kernels(&graph, "QLinearMatMul 7", "linear 1 6 16 32 int8");
    check_kernels(&graph, "QLinearConv 8", "conv2d 2 4 8 9 9 3 3 1 1 1 1 int8");
    check_kernels(&graph, "MatMulNBits 9", "linear 1 6 16 32 int4");
    check_kernels(&graph, "DynamicQuantizeMatMul 10", "copy 6 32; linear 1 6 16 32 int8");
    check_kernels(&graph, "FusedMatMul 11", "linear 1 6 16 32");
    check_kernels(&graph, "MatMulIntegerToFloat 13", "bmm 1 6 6 32 int8");
    check_kernels(&graph, "QGemm 14", "linear 1 6 16 32 int8");
    /* heads, last, w of three products once, kernels of two, bias, 32 x 16 in 256 bytes, wt, wq, bias16 */
    CU_ASSERT_EQUAL(graph_parameters(&graph), 384 + 8 + 512 + 288 + 8 + 512 + 512 + 512 + 16);
    rt_graph_release(&graph);
}

static void test_recurrent(void)
{
    struct rt_graph graph;
    if (!graph_of("recurrent.onnx", RT_FP32, &graph))
        return;
    check_kernels(&graph, "LSTM 0",
                  "linear 1 10 16 8; linear 1 10 16 8; 10 x linear 1 2 16 4; 10 x tanh 2 16");
    check_kernels(&graph, "GRU 1", "linear 1 10 12 8; 5 x linear 1 2 12 4; 5 x tanh 2 12");
    check_kernels(&graph, "Relu 2", "relu 2 4");
    /* layout 1: the first dim is the batch */
    check_kernels(&graph, "RNN 3", "linear 1 10 4 8; 2 x linear 1 5 4 4; 2 x tanh 5 4");
    CU_ASSERT_EQUAL(graph_parameters(&graph), 256 + 128 + 64 + 96 + 48 + 32 + 16);
    CU_ASSERT_STRING_EQUAL(graph.blocks[graph.block_count - 1].name, "RNN 3.steps");
    size_t beside = 0; /* of several layers, gates and products are in streams of their own */
    for (size_t k = 0; k < graph.kernel_count; k++)
        beside += graph.kernels[k].overlaps && graph.kernels[k].call.op == RT_OP_TANH;
    CU_ASSERT_EQUAL(beside, 3);
    rt_graph_release(&graph);
}

static void test_fused_written_out(void)
{
    struct rt_graph graph;
    if (!graph_of("fused.onnx", RT_FP32, &graph))
        return;
    /* two heads share keys, which are copied for both */
    check_kernels(&graph, "Attention 0",
                  "copy 12 16; copy 48 4; copy 48 4; bmm 8 6 6 4; mul_scalar 48 6; add 48 6; softmax 48 6; "
                  "bmm 8 6 4 6; copy 12 16");
    /* heads are a dim, there is no mask */
    check_kernels(&graph, "Attention 1", "bmm 8 6 6 4; mul_scalar 48 6; softmax 48 6; bmm 8 6 4 6");
    check_kernels(&graph, "Attention 3",
                  "linear 1 12 48 16; copy 12 16; transpose 12 16; copy 12 16; bmm 8 6 6 4; mul_scalar 48 6; "
                  "softmax 48 6; bmm 8 6 4 6; copy 12 16");
    check_kernels(&graph, "EmbedLayerNormalization 6",
                  "embedding 12 16; embedding 12 16; add 12 16; embedding 12 16; add 12 16; layernorm 12 16");
    /* products made rows of heads, which the reshape copies */
    check_kernels(&graph, "Reshape 11", "copy 12 16");
    CU_ASSERT_EQUAL(graph_parameters(&graph), 768 + 48 + 1600 + 512 + 32 + 16 + 3072 + 1536);
    rt_graph_release(&graph);
}

/* Of 16 bits, attention is one kernel. */
static void test_fused(void)
{
    struct rt_graph graph;
    if (!graph_of("fused.onnx", RT_FP16, &graph))
        return;
    check_kernels(&graph, "Attention 0", "attention_context 2 6 0 4 2 4 0 0");
    check_kernels(&graph, "Attention 1", "attention_encoder 2 6 4 4");
    check_kernels(&graph, "RotaryEmbedding 2", "rotary 48 4");
    check_kernels(&graph, "Attention 3", "linear 1 12 48 16; attention_encoder 2 6 4 4");
    check_kernels(&graph, "MultiHeadAttention 4",
                  "add 12 16; add 12 16; add 12 16; attention_encoder 2 6 4 4");
    /* one token behind nine that are cached, and the caches with it */
    check_kernels(&graph, "GroupQueryAttention 5",
                  "rotary 2 16; rotary 2 8; attention_generation 2 1 9 4 2 4 0 0; copy 40 4; copy 40 4");
    check_kernels(&graph, "RMSNormalization 7", "rmsnorm 12 16");
    check_kernels(&graph, "MoE 8", "moe 12 16 32 2 3 1 1 0 0");
    check_kernels(&graph, "Reshape 11", ""); /* the one kernel writes them in order */
    rt_graph_release(&graph);
}

static void test_sampled(void)
{
    struct rt_graph graph;
    if (!graph_of("sampled.onnx", RT_FP32, &graph))
        return;
    check_kernels(&graph, "GridSample 0", "resize 2 4 8 8 5 5");
    check_kernels(&graph, "DeformConv 1", "index 72 36; linear 1 72 6 36");
    check_kernels(&graph, "SoftmaxCrossEntropyLoss 2", "softmax 6 10; reduce 1 12");
    check_kernels(&graph, "BiasGelu 3", "gelu 12 32");
    check_kernels(&graph, "QLinearAdd 4", "add 4 16");
    check_kernels(&graph, "AveragePool 5", "adaptive_avg_pool2d 2 4 8 8 8 8");
    check_kernels(&graph, "Conv 6", "conv2d 2 4 6 8 8 3 3 1 0 1 1"); /* zeros are no bias */
    check_kernels(&graph, "Concat 7", "copy 12 64");
    check_kernels(&graph, "Concat 8", "concat 2 384");
    rt_graph_release(&graph);
}

/* Transposed, three dims are two of slices, stacked as channels, each of which moves once. */
static void test_volumes(void)
{
    struct rt_graph graph;
    if (!graph_of("volumes.onnx", RT_FP32, &graph))
        return;
    check_kernels(&graph, "Conv 0", "linear 1 216 6 108");
    check_kernels(&graph, "ConvTranspose 1", "conv2d 6 12 6 8 8 3 3 1 0 1 1 1 0");
    check_kernels(&graph, "ConvTranspose 2", "conv2d 2 4 6 1 21 1 3 1 0 2 2 2 1");
    check_kernels(&graph, "ConvTranspose 3", "conv2d 2 4 6 21 38 3 5 2 0 1 1 3 0");
    double images = 2 * 4 * 5 * 8 * 8 + 2 * 6 * 3 * 6 * 6, weights = 6 * 4 * 27;
    for (size_t k = 0; k < graph.kernel_count; k++) {
        const struct rt_graph_kernel *kernel = &graph.kernels[k];
        bool strided = kernel->call.dim[RT_CONV_STRIDE] * rt_conv_stride_w(kernel->call.dim) > 1;
        if (kernel->call.op == RT_OP_CONV2D) /* on lanes; TF32 multiplies what a stride leaves */
            CU_ASSERT_EQUAL(kernel->slower > 1, strided);
        if (graph.kernels[k].call.dim[0] == 6) {
            CU_ASSERT_DOUBLE_EQUAL(graph.kernels[k].bytes, 4 * (images + weights), 1e-6);
            CU_ASSERT_DOUBLE_EQUAL(graph.kernels[k].flops, 2.0 * 2 * 6 * 3 * 6 * 6 * 4 * 27, 1e-6);
        }
    }
    rt_graph_release(&graph);
}

static const struct rt_graph_kernel *kernel_of(const struct rt_graph *graph, enum rt_op_id op)
{
    for (size_t k = 0; k < graph->kernel_count; k++)
        if (graph->kernels[k].call.op == op)
            return &graph->kernels[k];
    return NULL;
}

/* Kernels of PyTorch's own, and what they take beside memory (models/predictors/roofline/walk.h). */
static void test_own(void)
{
    struct rt_graph graph;
    if (!graph_of("own.onnx", RT_FP32, &graph))
        return;
    double elements = 2 * 4 * 6 * 8 * 8, pooled = elements / 8;
    const struct rt_graph_kernel *pool = kernel_of(&graph, RT_OP_REDUCE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(pool);
    CU_ASSERT_DOUBLE_EQUAL(pool->bytes, 4 * (elements + pooled) + 8 * pooled, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(pool->own_cycles, rt_pool_cycles(pooled, 8), 1e-9);
    CU_ASSERT_EQUAL(pool->row_threads, 0);
    check_kernels(&graph, "CumSum 2", "copy 384 8");
    check_kernels(&graph, "Slice 6", "copy 384 8");
    check_kernels(&graph, "Add 13", "reduce 4 768; batchnorm_inference 1 4 1 768");
    check_kernels(&graph, "BatchNormalization 14", "add_scalar 1 1; batchnorm 2 4 48 8");
    for (size_t k = 0; k < graph.kernel_count; k++)
        CU_ASSERT_EQUAL(graph.kernels[k].row_threads > 0,
                        graph.kernels[k].call.op == RT_OP_REDUCE && graph.kernels[k].call.dim[0] == 4);
    rt_graph_release(&graph);
}

static void test_others(void)
{
    static const char *const expected[][2] = {
        {"QuantizeLinear 1", "copy 12 16"},
        {"MatMulBnb4 2", "linear 1 6 16 32 int4"},
        {"GemmFloat8 3", "linear 1 6 16 32 fp8"},
        {"TransposeMatMul 4", "linear 1 32 32 6"}, /* 6 rows of 32 are turned */
        {"FusedConv 5", "conv2d 2 4 8 9 9 3 3 1 0 1 1"},
        {"NhwcConv 6", "linear 1 98 8 36"}, /* 7 x 7 places of windows of 3 x 3 x 4 */
        {"QAttention 7", "linear 1 12 48 16 int8; attention_encoder 2 6 4 4"},
        {"MultiHeadAttention 8", "attention_encoder 2 6 4 4"},
        {"GroupQueryAttention 9", "attention_context 2 6 0 4 2 4 0 0"},
        {"NegativeLogLikelihoodLoss 10", "reduce 1 4"},
        {"QLinearLeakyRelu 11", "relu 72 9"},
        {"QLinearGlobalAveragePool 12", "reduce 8 1"},
        {"QLinearConcat 13", "concat 144 9"},
        {"MatMulNBits 14", "linear 1 6 16 32 int8_wo"},
        {"MatMulNBits 15", "copy 6 16"}, /* of 2 bits: by its bytes */
        {"AffineGrid 16", "fill 70 2"},
        {"Col2Im 17", "copy 40 5"},
        {"Shrink 18", "relu 6 32"},
        {"Einsum 19", "copy 1 6"}, /* a diagonal: by its bytes */
        {"Einsum 20", "copy 32 160; linear 1 6 160 32; bmm 6 5 1 32"},
        {"RandomNormalLike 21", "fill 6 32"},
        {"SkipLayerNormalization 22", "add 12 16; layernorm 12 16"},
    };
    struct rt_graph graph;
    if (!graph_of("others.onnx", RT_FP16, &graph))
        return;
    for (size_t i = 0; i < RT_COUNT(expected); i++)
        check_kernels(&graph, expected[i][0], expected[i][1]);
    rt_graph_release(&graph);
}

/* What quantised operators read and write is counted by the width of their numbers. */
static void test_bytes(void)
{
    struct rt_graph graph;
    if (!graph_of("others.onnx", RT_FP32, &graph))
        return;
    const struct rt_graph_kernel *kernel = find_kernel(&graph, "QLinearLeakyRelu 11", RT_FORWARD, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(kernel);
    CU_ASSERT_EQUAL(kernel->bytes, 2 * (2 * 4 * 9 * 9) + 2 * (4 + 1)); /* scales and zero points */
    kernel = find_kernel(&graph, "MatMulBnb4 2", RT_FORWARD, 0);
    CU_ASSERT_PTR_NOT_NULL_FATAL(kernel);
    CU_ASSERT_TRUE(kernel->bytes < 4 * (6 * 32 + 32 * 16 + 6 * 16));
    rt_graph_release(&graph);
}

RT_TESTS(RT_TEST(test_products), RT_TEST(test_recurrent), RT_TEST(test_fused_written_out),
         RT_TEST(test_fused), RT_TEST(test_sampled), RT_TEST(test_volumes), RT_TEST(test_own),
         RT_TEST(test_others), RT_TEST(test_bytes))
