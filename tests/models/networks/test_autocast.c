/* torch.autocast: what is cast, in which dtype operators run, and what becomes of gradients. Numbers of casts
 * in whole models are PyTorch's: every _to_copy that a TorchDispatchMode sees of FakeTensors on CUDA under
 * autocast. */
#include "find.h"
#include "models/networks/build_image.h"
#include "models/networks/memory.h"

enum { ROWS = 6, IN = 10, OUT = 4 };

static struct rt_graph autocast(enum rt_step_kind step)
{
    struct rt_graph graph;
    struct rt_graph_options options = {
        .step = step, .batch = 2, .image = 8, .dtype = RT_FP16, .autocast = true, .tensor_parallel = 1};
    rt_graph_init(&graph, &options);
    rt_graph_add_block(&graph, "block", RT_BLOCK_FIRST, 1);
    return graph;
}

/* The op, dtype and bytes of a node's i-th kernel of a phase. */
static void check(const struct rt_graph *graph, const char *name, enum rt_phase phase, size_t i,
                  enum rt_op_id op, enum rt_dtype dtype, double bytes)
{
    const struct rt_graph_kernel *kernel = find_kernel(graph, name, phase, i);
    CU_ASSERT_PTR_NOT_NULL_FATAL(kernel);
    CU_ASSERT_EQUAL(kernel->call.op, op);
    CU_ASSERT_EQUAL(kernel->call.dtype, dtype);
    CU_ASSERT_EQUAL(kernel->bytes, bytes);
}

/* The input is fp32, so it is cast; weight and bias in every step; their gradients back to fp32. Of
 * the input there is no gradient. */
static void test_linear(void)
{
    struct rt_graph graph = autocast(RT_STEP_TRAINING);
    rt_build_linear(&graph, "fc", RT_NO_INPUT, ROWS, IN, OUT, true);
    check(&graph, "cast", RT_FORWARD, 0, RT_OP_COPY, RT_FP16, 6 * ROWS * IN);
    check(&graph, "fc", RT_FORWARD, 0, RT_OP_COPY, RT_FP16, 6 * IN * OUT);
    check(&graph, "fc", RT_FORWARD, 1, RT_OP_COPY, RT_FP16, 6 * OUT);
    CU_ASSERT_EQUAL(find_kernel(&graph, "fc", RT_FORWARD, 2)->call.op, RT_OP_LINEAR);
    CU_ASSERT_EQUAL(find_kernel(&graph, "fc", RT_FORWARD, 2)->call.dtype, RT_FP16);
    CU_ASSERT_EQUAL(find_kernel(&graph, "fc", RT_BACKWARD, 0)->call.op, RT_OP_LINEAR);
    check(&graph, "fc", RT_BACKWARD, 1, RT_OP_COPY, RT_FP32, 6 * IN * OUT);
    check(&graph, "fc", RT_BACKWARD, 3, RT_OP_COPY, RT_FP32, 6 * OUT);
    check(&graph, "fc", RT_ACCUMULATE, 0, RT_OP_ADD, RT_FP32, 12 * IN * OUT);
    rt_graph_release(&graph);
}

/* Layer norm and softmax run in fp32, a residual of both dtypes is fp32, GELU runs in what it gets. */
static void test_dtypes(void)
{
    struct rt_graph graph = autocast(RT_STEP_TRAINING);
    uint32_t x = rt_build_linear(&graph, "fc1", RT_NO_INPUT, ROWS, IN, IN, false);
    uint32_t y = rt_build_unary(&graph, "gelu", RT_OP_GELU, x, ROWS, IN);
    CU_ASSERT_EQUAL(graph.nodes[y].dtype, RT_FP16);
    y = rt_build_layernorm(&graph, "norm", y, ROWS, IN);
    CU_ASSERT_EQUAL(graph.nodes[y].dtype, RT_FP32);
    CU_ASSERT_EQUAL(find_kernel(&graph, "norm", RT_FORWARD, 0)->bytes, 8 * ROWS * IN);
    y = rt_build_binary(&graph, "add", RT_OP_ADD, y, x, ROWS, IN, ROWS * IN);
    CU_ASSERT_EQUAL(graph.nodes[y].dtype, RT_FP32);
    CU_ASSERT_EQUAL(find_kernel(&graph, "add", RT_FORWARD, 0)->bytes, (4 + 2 + 4) * ROWS * IN);
    x = rt_build_softmax(&graph, "softmax", x, ROWS, IN);
    CU_ASSERT_EQUAL(graph.nodes[x].dtype, RT_FP32);
    rt_graph_release(&graph);
}

/* A weight that multiplies (layer scale) makes fp32 of fp16; the gradient goes back as fp16. */
static void test_scale(void)
{
    struct rt_graph graph = autocast(RT_STEP_TRAINING);
    struct rt_image x = rt_image_input(&graph, 3);
    x = rt_image_conv(&graph, "conv", x, &(struct rt_conv){.out = 4, .kernel_h = 1});
    x = rt_image_scale_channels(&graph, "scale", x);
    CU_ASSERT_EQUAL(graph.nodes[x.node].dtype, RT_FP32);
    check(&graph, "conv", RT_FORWARD, 0, RT_OP_COPY, RT_FP16, 6 * 4 * 3);
    CU_ASSERT_EQUAL(find_kernel(&graph, "scale", RT_FORWARD, 0)->bytes, 6 * 2 * 4 * 64 + 4 * 4);
    rt_graph_release(&graph);
}

/* Bytes of weights, gradients and SGD's step are those of fp32. */
static void test_weights_are_fp32(void)
{
    struct rt_graph_options options = {.step = RT_STEP_TRAINING,
                                       .batch = 2,
                                       .dtype = RT_FP16,
                                       .autocast = true,
                                       .optimizer = RT_OPTIMIZER_SGD,
                                       .tensor_parallel = 1};
    struct rt_model model;
    struct rt_graph graph;
    struct rt_graph_memory memory;
    RT_ASSERT_OK(rt_model_named("vit_tiny_patch16_224", &model));
    RT_ASSERT_OK(rt_graph_build(&model, &options, &graph));
    struct rt_memory_options again = RT_MEMORY_DEFAULTS;
    again.accumulates = true;
    rt_graph_memory(&graph, &again, &memory);
    CU_ASSERT_EQUAL(memory.weights, 4.0 * 5717416);
    CU_ASSERT_EQUAL(memory.gradients, 4.0 * 5717416);
    check(&graph, "optimizer.step", RT_ACCUMULATE, 0, RT_OP_OPTIMIZER, RT_FP32, 12.0 * 5717416);
    rt_graph_release(&graph);
}

/* Copies of one row are casts here: other copies have a row a token. */
static void count_casts(const char *name, double *casts, double *elements)
{
    struct rt_graph_options options = {.batch = 2, .dtype = RT_FP16, .autocast = true, .tensor_parallel = 1};
    struct rt_model model;
    struct rt_graph graph;
    RT_ASSERT_OK(rt_model_named(name, &model));
    RT_ASSERT_OK(rt_graph_build(&model, &options, &graph));
    *casts = *elements = 0;
    for (size_t n = 0; n < graph.node_count; n++)
        for (uint32_t k = graph.nodes[n].kernel; k < graph.nodes[n].kernel + graph.nodes[n].kernel_count; k++)
            if (graph.kernels[k].call.op == RT_OP_COPY && graph.kernels[k].call.dim[0] == 1) {
                double repeat = (double)rt_graph_repeat(&graph, &graph.nodes[n]);
                *casts += repeat;
                *elements += repeat * (double)graph.kernels[k].call.dim[1];
            }
    rt_graph_release(&graph);
}

static void test_whole_models(void)
{
    static const struct {
        const char *name;
        double casts, elements;
    } pytorch[] = {
        {"resnet18", 23, 11980968},       {"mobilenetv3_large_100", 83, 5759688},
        {"regnet_y_400mf", 120, 4618048}, {"swin_t", 168, 44136616},
        {"convnext_atto", 121, 8035856},  {"convnextv2_atto", 129, 12520976},
    };
    for (size_t i = 0; i < RT_COUNT(pytorch); i++) {
        double casts, elements;
        count_casts(pytorch[i].name, &casts, &elements);
        CU_ASSERT_EQUAL(casts, pytorch[i].casts);
        CU_ASSERT_EQUAL(elements, pytorch[i].elements);
    }
}

/* Nest's attention has five dims: in fp32 since PyTorch 2.5, before as it comes. CaiT's probabilities are
 * cast before its linear layer over heads copies them. */
static void test_attention_of_no_kernel(void)
{
    static const enum rt_runtime_id runtimes[] = {RT_RUNTIME_EAGER, RT_RUNTIME_EAGER_2};
    struct rt_model model;
    struct rt_graph graph;
    struct rt_graph_options options = prefill(1, 0);
    options.dtype = RT_FP16;
    options.autocast = true;
    options.image = 224;
    for (size_t i = 0; i < RT_COUNT(runtimes); i++) {
        options.runtime = runtimes[i];
        RT_ASSERT_OK(rt_model_named("timm/nest_tiny", &model));
        RT_ASSERT_OK(rt_graph_build(&model, &options, &graph));
        CU_ASSERT_EQUAL(find_kernel(&graph, "attn.softmax7", RT_FORWARD, 0)->call.dtype,
                        i == 0 ? RT_FP32 : RT_FP16);
        CU_ASSERT_EQUAL(find_node(&graph, "attn.softmax7")->kernel_count, i == 0 ? 4 : 1);
        rt_graph_release(&graph);
    }
    RT_ASSERT_OK(rt_model_named("timm/cait_s24_224", &model));
    RT_ASSERT_OK(rt_graph_build(&model, &options, &graph));
    CU_ASSERT_EQUAL(find_kernel(&graph, "softmax12", RT_FORWARD, 0)->call.dtype, RT_FP32);
    CU_ASSERT_EQUAL(find_kernel(&graph, "copy13", RT_FORWARD, 0)->call.dtype, RT_FP16);
    rt_graph_release(&graph);
}

/* EvoNorm casts its weights to what comes, so that values stay in 16 bits; LayerScale does not. */
static void test_weights_of_the_values_type(void)
{
    static const struct {
        const char *name, *node;
        int64_t image;
        enum rt_dtype dtype;
    } cases[] = {{"timm/regnetz_d8_evos", "scale5", 256, RT_FP16},
                 {"timm/regnetz_d8_evos", "binary9", 256, RT_FP16},
                 {"timm/cait_s24_224", "weight20", 224, RT_FP32}};
    struct rt_model model;
    struct rt_graph graph;
    struct rt_graph_options options = prefill(1, 0);
    options.dtype = RT_FP16;
    options.autocast = true;
    for (size_t i = 0; i < RT_COUNT(cases); i++) {
        options.image = cases[i].image;
        RT_ASSERT_OK(rt_model_named(cases[i].name, &model));
        RT_ASSERT_OK(rt_graph_build(&model, &options, &graph));
        const struct rt_node *node = find_node(&graph, cases[i].node);
        CU_ASSERT_TRUE(node != NULL && node->dtype == cases[i].dtype);
        rt_graph_release(&graph);
    }
}

RT_TESTS(RT_TEST(test_weights_of_the_values_type), RT_TEST(test_attention_of_no_kernel), RT_TEST(test_linear),
         RT_TEST(test_dtypes), RT_TEST(test_scale), RT_TEST(test_weights_are_fp32),
         RT_TEST(test_whole_models))
