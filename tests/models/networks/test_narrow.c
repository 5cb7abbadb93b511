/* Narrow dtypes: products of the layers are in them, everything beside is in 16 bits. */
#include "models/networks/memory.h"
#include "models/networks/model.h"
#include "test.h"

#include <string.h>

static void build(struct rt_graph *graph, enum rt_dtype dtype, enum rt_step_kind step, bool fp16)
{
    struct rt_model model;
    struct rt_graph_options options = {.step = step,
                                       .batch = 1,
                                       .sequence = 128,
                                       .context = 128,
                                       .tensor_parallel = 1,
                                       .dtype = dtype,
                                       .fp16_beside = fp16};
    RT_ASSERT_OK(rt_model_named("llama-3-8b", &model));
    CU_ASSERT_EQUAL_FATAL(rt_graph_build(&model, &options, graph), RT_OK);
}

static void check_kernels(const struct rt_graph *graph, enum rt_dtype products, enum rt_dtype beside)
{
    size_t narrow = 0, head = 0, others = 0;
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct rt_node *node = &graph->nodes[n];
        bool layer = graph->blocks[node->block].role == RT_BLOCK_LAYER;
        for (uint32_t k = 0; k < node->kernel_count; k++) {
            const struct rt_call *call = &graph->kernels[node->kernel + k].call;
            bool product = call->op == RT_OP_LINEAR && layer;
            CU_ASSERT_EQUAL(call->dtype, product ? products : beside);
            narrow += product;
            head += call->op == RT_OP_LINEAR && !layer;
            others += call->op != RT_OP_LINEAR;
        }
    }
    CU_ASSERT_TRUE(narrow >= 7 && head >= 1 && others > 10); /* q, k, v, o, gate, up, down; lm_head */
}

static void test_products_are_narrow(void)
{
    static const struct {
        enum rt_dtype dtype;
        bool fp16;
        enum rt_dtype beside;
        const char *words;
    } rows[] = {{RT_FP8, false, RT_BF16, "fp8, beside it bf16"},
                {RT_INT8, true, RT_FP16, "int8, beside it fp16"},
                {RT_FP4, false, RT_BF16, "fp4, beside it bf16"},
                {RT_MXFP4, false, RT_BF16, "mxfp4, beside it bf16"},
                {RT_FP16, true, RT_FP16, "fp16"},
                {RT_FP32, true, RT_FP32, "fp32"}};
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        struct rt_graph graph;
        build(&graph, rows[i].dtype, RT_STEP_DECODE, rows[i].fp16);
        CU_ASSERT_EQUAL(graph.products, rows[i].dtype);
        CU_ASSERT_EQUAL(graph.options.dtype, rows[i].beside);
        CU_ASSERT_STRING_EQUAL(rt_graph_dtype_words(&graph).text, rows[i].words);
        check_kernels(&graph, rows[i].dtype, rows[i].beside);
        rt_graph_release(&graph);
    }
}

/* 8.03e9 parameters, 1.05e9 of them in embedding and head and 2.7e5 in norms; keys and values in 16 bits. */
static void test_memory(void)
{
    struct rt_graph_memory wide, narrow;
    struct rt_graph graph;
    double layers = 32.0 * (4096.0 * 4096 * 2 + 4096.0 * 1024 * 2 + 3.0 * 4096 * 14336);
    build(&graph, RT_BF16, RT_STEP_DECODE, false);
    rt_graph_memory(&graph, NULL, &wide);
    rt_graph_release(&graph);
    static const enum rt_dtype dtypes[] = {RT_FP8, RT_FP8_BLOCK, RT_INT4, RT_FP4};
    for (size_t i = 0; i < RT_COUNT(dtypes); i++) {
        build(&graph, dtypes[i], RT_STEP_DECODE, false);
        rt_graph_memory(&graph, NULL, &narrow);
        RT_ASSERT_NEAR(narrow.weights, wide.weights - (2 - rt_dtypes[dtypes[i]].bytes) * layers, 1e-12);
        CU_ASSERT_EQUAL(narrow.cache, wide.cache);
        CU_ASSERT_EQUAL(narrow.activations, wide.activations);
        rt_graph_release(&graph);
    }
}

/* Transformer Engine's way: products forward and backward in fp8, weights and their gradients in bf16; what
 * products read is kept in fp8, and so are two copies of the layers' weights. */
static void test_training(void)
{
    struct rt_graph_memory wide, narrow;
    struct rt_graph graph;
    build(&graph, RT_BF16, RT_STEP_TRAINING, false);
    rt_graph_memory(&graph, NULL, &wide);
    rt_graph_release(&graph);
    build(&graph, RT_FP8, RT_STEP_TRAINING, false);
    check_kernels(&graph, RT_FP8, RT_BF16);
    rt_graph_memory(&graph, NULL, &narrow);
    CU_ASSERT_EQUAL(narrow.gradients, wide.gradients);
    CU_ASSERT_EQUAL(narrow.optimizer, wide.optimizer);
    CU_ASSERT_TRUE(narrow.saved < wide.saved);
    CU_ASSERT_DOUBLE_EQUAL((narrow.weights - wide.weights) / 2,
                           32.0 * 4096 * (2 * 4096 + 2 * 1024 + 3 * 14336), 1);
    rt_graph_release(&graph);
    struct rt_model model;
    struct rt_graph_options options = {
        .step = RT_STEP_TRAINING, .batch = 1, .sequence = 8, .tensor_parallel = 1, .dtype = RT_INT4};
    RT_ASSERT_OK(rt_model_named("gpt2", &model));
    RT_ASSERT_FAILS(rt_graph_build(&model, &options, &graph), RT_EUSAGE, "nobody trains in it");
}

RT_TESTS(RT_TEST(test_products_are_narrow), RT_TEST(test_memory), RT_TEST(test_training))
