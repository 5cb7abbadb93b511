/* Operators on images: what each launches forward and backward, what is kept, and what is refused. Whole
 * models against PyTorch: pytorch_images.py. */
#include "find.h"
#include "models/networks/vision/vision.h"
#include "models/networks/build_image.h"

enum { BATCH = 3, CHANNELS = 4, SIDE = 10 };
#define ELEMENTS ((double)BATCH * CHANNELS * SIDE * SIDE)

struct net {
    struct rt_graph graph;
    struct rt_image x; /* a convolution's output, which gets a gradient: BATCH x CHANNELS x SIDE x SIDE */
};

static struct net net_of(enum rt_step_kind step, enum rt_dtype dtype)
{
    struct net net;
    struct rt_graph_options options = {
        .step = step, .batch = BATCH, .image = SIDE, .dtype = dtype, .tensor_parallel = 1};
    rt_graph_init(&net.graph, &options);
    rt_graph_add_block(&net.graph, "block", RT_BLOCK_FIRST, 1);
    net.x = rt_image_conv(&net.graph, "first", rt_image_input(&net.graph, 3),
                          &(struct rt_conv){.out = CHANNELS, .kernel_h = 3, .padding_h = 1});
    return net;
}

static size_t count(const struct rt_graph *graph, const char *name, enum rt_phase phase, enum rt_op_id op,
                    double *bytes)
{
    const struct rt_node *node = find_node(graph, name);
    size_t found = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(node);
    for (uint32_t k = node->kernel; k < node->kernel + node->kernel_count; k++)
        if (graph->kernels[k].call.phase == phase && graph->kernels[k].call.op == op) {
            found++;
            if (bytes != NULL)
                *bytes = graph->kernels[k].bytes;
        }
    return found;
}

static void test_convolution(void)
{
    struct net net = net_of(RT_STEP_TRAINING, RT_FP32);
    struct rt_graph *graph = &net.graph;
    const struct rt_conv conv = {
        .out = 8, .kernel_h = 1, .kernel_w = 5, .stride = 2, .padding_w = 2, .groups = 2, .bias = true};
    struct rt_image y = rt_image_conv(graph, "conv", net.x, &conv);
    double bytes = 0;
    CU_ASSERT_TRUE(y.channels == 8 && y.height == 5 && y.width == 5);
    ASSERT_FORWARD(graph, "conv", RT_OP_CONV2D, BATCH, CHANNELS, 8, SIDE, SIDE, 1, 5, 2, 0, 1, 2, -1, 2, -1);
    CU_ASSERT_EQUAL(find_node(graph, "conv")->parameters, 8 * 2 * 5);
    CU_ASSERT_EQUAL(find_node(graph, "conv.bias")->parameters, 8);
    CU_ASSERT_TRUE(find_node(graph, "conv.bias")->nested);
    CU_ASSERT_EQUAL(count(graph, "conv", RT_BACKWARD, RT_OP_CONV2D, NULL), 1);
    CU_ASSERT_EQUAL(count(graph, "conv", RT_ACCUMULATE, RT_OP_CONV2D, NULL), 1);
    CU_ASSERT_EQUAL(count(graph, "conv", RT_ACCUMULATE, RT_OP_ADD, &bytes), 1);
    CU_ASSERT_EQUAL(bytes, 12 * 8 * 2 * 5);
    CU_ASSERT_EQUAL(count(graph, "conv.bias", RT_FORWARD, RT_OP_ADD, &bytes), 1);
    CU_ASSERT_EQUAL(bytes, 4.0 * (2 * BATCH * 8 * 25 + 8));
    CU_ASSERT_EQUAL(count(graph, "conv.bias", RT_BACKWARD, RT_OP_REDUCE, &bytes), 1);
    CU_ASSERT_EQUAL(bytes, 4.0 * BATCH * 8 * 25);
    /* the model's input gets no gradient */
    CU_ASSERT_EQUAL(count(graph, "first", RT_BACKWARD, RT_OP_CONV2D, NULL), 0);
    CU_ASSERT_EQUAL(count(graph, "first", RT_ACCUMULATE, RT_OP_CONV2D, NULL), 1);
    rt_graph_release(graph);
}

/* PyTorch's own depthwise kernels add the bias; where channels come last, cuDNN's run. */
static void test_depthwise_bias(void)
{
    const struct rt_conv conv = {.out = CHANNELS, .kernel_h = 3, .groups = CHANNELS, .bias = true};
    struct net net = net_of(RT_STEP_TRAINING, RT_FP32);
    rt_image_conv(&net.graph, "conv", net.x, &conv);
    CU_ASSERT_PTR_NULL(find_node(&net.graph, "conv.bias"));
    CU_ASSERT_EQUAL(find_node(&net.graph, "conv")->parameters, CHANNELS * 9 + CHANNELS);
    CU_ASSERT_EQUAL(count(&net.graph, "conv", RT_BACKWARD, RT_OP_REDUCE, NULL), 1);
    CU_ASSERT(find_kernel(&net.graph, "conv", RT_ACCUMULATE, 0)->own_cycles > 0);
    rt_graph_release(&net.graph);
    net = net_of(RT_STEP_TRAINING, RT_FP32);
    net.graph.options.channels_last = true;
    rt_image_conv(&net.graph, "conv", net.x, &conv);
    CU_ASSERT_PTR_NOT_NULL(find_node(&net.graph, "conv.bias"));
    CU_ASSERT_EQUAL(find_kernel(&net.graph, "conv", RT_FORWARD, 0)->call.dim[13], 1);
    rt_graph_release(&net.graph);
}

/* cuDNN's batch norm is a kernel each way; PyTorch's own, of 16 bits, make statistics in kernels of their
 * own.
 */
static void test_batch_norm(void)
{
    struct net net = net_of(RT_STEP_TRAINING, RT_FP32);
    rt_image_batchnorm(&net.graph, "bn", net.x);
    CU_ASSERT_EQUAL(count(&net.graph, "bn", RT_FORWARD, RT_OP_BATCHNORM, NULL), 1);
    CU_ASSERT_EQUAL(count(&net.graph, "bn", RT_FORWARD, RT_OP_ADD_SCALAR, NULL), 1); /* batches counted */
    CU_ASSERT_EQUAL(count(&net.graph, "bn", RT_BACKWARD, RT_OP_BATCHNORM_BACKWARD, NULL), 1);
    CU_ASSERT_EQUAL(count(&net.graph, "bn", RT_ACCUMULATE, RT_OP_ADD, NULL), 2);
    CU_ASSERT_EQUAL(find_node(&net.graph, "bn")->parameters, 2 * CHANNELS);
    CU_ASSERT_EQUAL(find_node(&net.graph, "first")->saved, ELEMENTS);
    rt_graph_release(&net.graph);
    net = net_of(RT_STEP_PREFILL, RT_FP32);
    rt_image_batchnorm(&net.graph, "bn", net.x);
    CU_ASSERT_EQUAL(find_node(&net.graph, "bn")->kernel_count, 1);
    ASSERT_FORWARD(&net.graph, "bn", RT_OP_BATCHNORM_INFERENCE, BATCH, CHANNELS, SIDE, SIDE);
    rt_graph_release(&net.graph);
    net = net_of(RT_STEP_PREFILL, RT_FP16);
    rt_image_batchnorm(&net.graph, "bn", net.x);
    CU_ASSERT_EQUAL(find_node(&net.graph, "bn")->kernel_count, 3);
    rt_graph_release(&net.graph);
    net = net_of(RT_STEP_TRAINING, RT_BF16);
    net.graph.options.channels_last = true;
    rt_image_batchnorm(&net.graph, "bn", net.x);
    CU_ASSERT_EQUAL(count(&net.graph, "bn", RT_FORWARD, RT_OP_REDUCE, NULL), 1);
    CU_ASSERT_EQUAL(count(&net.graph, "bn", RT_BACKWARD, RT_OP_REDUCE, NULL), 1);
    rt_graph_release(&net.graph);
}

/* relu in place keeps its output; silu in place needs its input, which is copied first. */
static void test_activations(void)
{
    struct net net = net_of(RT_STEP_TRAINING, RT_FP32);
    struct rt_graph *graph = &net.graph;
    struct rt_image x = rt_image_activation(graph, "relu", RT_OP_RELU, net.x, true);
    CU_ASSERT_EQUAL(find_node(graph, "first")->saved, 0);
    CU_ASSERT_EQUAL(find_node(graph, "relu")->saved, ELEMENTS);
    CU_ASSERT_EQUAL(count(graph, "relu", RT_FORWARD, RT_OP_COPY, NULL), 0);
    x = rt_image_activation(graph, "silu", RT_OP_SILU, x, true);
    CU_ASSERT_EQUAL(count(graph, "silu", RT_FORWARD, RT_OP_COPY, NULL), 1);
    rt_image_activation(graph, "relu6", RT_OP_RELU6, x, false);
    CU_ASSERT_EQUAL(count(graph, "relu6", RT_FORWARD, RT_OP_COPY, NULL), 0);
    CU_ASSERT_EQUAL(find_node(graph, "silu")->saved, ELEMENTS);
    CU_ASSERT_EQUAL(count(graph, "relu6", RT_BACKWARD, RT_OP_MUL, NULL), 1);
    rt_graph_release(graph);
    net = net_of(RT_STEP_PREFILL, RT_FP32);
    rt_image_activation(&net.graph, "silu", RT_OP_SILU, net.x, true);
    CU_ASSERT_EQUAL(find_node(&net.graph, "silu")->kernel_count, 1);
    rt_graph_release(&net.graph);
}

static void test_pools(void)
{
    struct net net = net_of(RT_STEP_TRAINING, RT_FP32);
    struct rt_graph *graph = &net.graph;
    double bytes = 0;
    struct rt_image y =
        rt_image_max_pool(graph, "max", net.x, (struct rt_window){.kernel = 3, .stride = 2, .padding = 1});
    CU_ASSERT_TRUE(y.height == 5 && y.width == 5);
    CU_ASSERT_EQUAL(count(graph, "max", RT_FORWARD, RT_OP_MAX_POOL2D, &bytes), 1);
    CU_ASSERT_EQUAL(bytes, 4 * ELEMENTS + 12 * ELEMENTS / 4); /* values and indices of 8 B */
    CU_ASSERT_EQUAL(count(graph, "max", RT_BACKWARD, RT_OP_FILL, NULL), 1);
    CU_ASSERT_EQUAL(count(graph, "max", RT_BACKWARD, RT_OP_MAX_POOL2D_BACKWARD, NULL), 1);
    rt_image_conv(graph, "reader", y, &(struct rt_conv){.out = 1, .kernel_h = 1});
    CU_ASSERT_EQUAL(find_node(graph, "max")->saved, (2 + 1) * ELEMENTS / 4); /* indices, and what is read */
    y = rt_image_avg_pool(graph, "average", net.x, (struct rt_window){.kernel = 3, .ceil = true});
    CU_ASSERT_EQUAL(y.height, 4);
    CU_ASSERT_EQUAL(count(graph, "average", RT_BACKWARD, RT_OP_AVG_POOL2D_BACKWARD, NULL), 1);
    CU_ASSERT_EQUAL(count(graph, "average", RT_BACKWARD, RT_OP_ADD, NULL), 1); /* net.x has two readers */
    y = rt_image_adaptive_avg_pool(graph, "mean", net.x, 1, 1);
    CU_ASSERT_EQUAL(count(graph, "mean", RT_FORWARD, RT_OP_REDUCE, NULL), 1);
    CU_ASSERT_EQUAL(count(graph, "mean", RT_BACKWARD, RT_OP_DIV_SCALAR, &bytes), 1);
    CU_ASSERT_EQUAL(bytes, 4 * (ELEMENTS + BATCH * CHANNELS));
    y = rt_image_adaptive_avg_pool(graph, "adaptive", net.x, 7, 7);
    CU_ASSERT_EQUAL(count(graph, "adaptive", RT_BACKWARD, RT_OP_FILL, NULL), 1);
    CU_ASSERT_EQUAL(rt_image_elements(y), BATCH * CHANNELS * 49);
    /* rounded up, the last window begins inside the image */
    y = rt_image_max_pool(graph, "ceil", rt_image_input(graph, 1),
                          (struct rt_window){.kernel = 2, .stride = 3, .ceil = true});
    CU_ASSERT_EQUAL(y.height, 4);
    y = rt_image_max_pool(graph, "beyond", rt_image_adaptive_avg_pool(graph, "six", net.x, 6, 6),
                          (struct rt_window){.kernel = 1, .stride = 4, .ceil = true});
    CU_ASSERT_EQUAL(y.height, 2);
    rt_graph_release(graph);
}

/* Parts are views: their gradients are concatenated once, and nothing is added up. */
static void test_parts(void)
{
    struct net net = net_of(RT_STEP_TRAINING, RT_FP32);
    struct rt_graph *graph = &net.graph;
    struct rt_image part[2];
    rt_image_chunk(graph, "chunk", net.x, part, 2);
    CU_ASSERT_EQUAL(part[1].channels, CHANNELS / 2);
    part[1] = rt_image_contiguous(graph, "contiguous", part[1]);
    struct rt_image y = rt_image_concat(graph, "concat", part, 2);
    rt_image_channel_shuffle(graph, "shuffle", y, 2);
    CU_ASSERT_EQUAL(y.channels, CHANNELS);
    CU_ASSERT_EQUAL(count(graph, "chunk.1", RT_BACKWARD, RT_OP_CONCAT, NULL), 1);
    CU_ASSERT_EQUAL(count(graph, "contiguous", RT_FORWARD, RT_OP_COPY, NULL), 1);
    CU_ASSERT_EQUAL(count(graph, "concat", RT_FORWARD, RT_OP_CONCAT, NULL), 1);
    CU_ASSERT_EQUAL(count(graph, "shuffle", RT_BACKWARD, RT_OP_CHANNEL_SHUFFLE, NULL), 1);
    for (size_t k = 0; k < graph->kernel_count; k++)
        CU_ASSERT_FALSE(graph->kernels[k].call.phase == RT_BACKWARD &&
                        graph->kernels[k].call.op == RT_OP_ADD);
    rt_graph_release(graph);
}

static void test_scales(void)
{
    struct net net = net_of(RT_STEP_TRAINING, RT_FP32);
    struct rt_graph *graph = &net.graph;
    struct rt_image gate = rt_image_adaptive_avg_pool(graph, "mean", net.x, 1, 1);
    double bytes = 0;
    struct rt_image y = rt_image_scale(graph, "scale", net.x, gate);
    CU_ASSERT_EQUAL(count(graph, "scale", RT_FORWARD, RT_OP_MUL, &bytes), 1);
    CU_ASSERT_EQUAL(bytes, 4 * (2 * ELEMENTS + BATCH * CHANNELS));
    CU_ASSERT_EQUAL(count(graph, "scale", RT_BACKWARD, RT_OP_MUL, NULL), 2);
    CU_ASSERT_EQUAL(count(graph, "scale", RT_BACKWARD, RT_OP_REDUCE, NULL), 1);
    y = rt_image_scale_channels(graph, "layer_scale", y);
    CU_ASSERT_EQUAL(find_node(graph, "layer_scale")->parameters, CHANNELS);
    y = rt_image_drop_path(graph, "drop_path", y);
    CU_ASSERT_EQUAL(count(graph, "drop_path", RT_FORWARD, RT_OP_MUL, &bytes), 1);
    CU_ASSERT_EQUAL(bytes, 4 * (2 * ELEMENTS + BATCH));
    y = rt_image_pad(graph, "pad", y, 1, 2);
    CU_ASSERT_TRUE(y.height == SIDE + 1 && y.width == SIDE + 2);
    y = rt_image_flatten(graph, "flatten", y);
    CU_ASSERT_PTR_NULL(find_node(graph, "flatten")); /* a view */
    CU_ASSERT_TRUE(y.height == 1 && y.channels == CHANNELS * (SIDE + 1) * (SIDE + 2));
    rt_graph_release(graph);
}

/* --- whole models --- */

/* torch.compile makes one kernel of batch norm, activation and addition; convolutions stay cuDNN's. */
static void test_fusion(void)
{
    struct rt_graph graph =
        build_images("resnet18", (struct rt_graph_options){.batch = BATCH, .runtime = RT_RUNTIME_COMPILE});
    struct rt_graph_totals totals;
    rt_graph_totals(&graph, &totals);
    /* 20 convolutions, 17 chains that end in a ReLU, 3 norms of shortcuts within them, pool, mean, linear */
    CU_ASSERT_EQUAL(totals.kernels[RT_FORWARD], 20 + 17 + 3);
    const struct rt_node *chain = find_node(&graph, "bn2+add+relu");
    CU_ASSERT_PTR_NOT_NULL_FATAL(chain);
    /* the convolution and the residual are read, the sum is written */
    RT_ASSERT_NEAR(chain->fused_bytes[RT_FORWARD], 4.0 * 3 * BATCH * 64 * 56 * 56, 1e-12);
    rt_graph_release(&graph);
    /* a norm alone is one kernel over its image, in 16 bits too; an activation in place copies nothing */
    graph = build_images("efficientnet_b0", (struct rt_graph_options){.batch = BATCH,
                                                                      .runtime = RT_RUNTIME_COMPILE,
                                                                      .step = RT_STEP_TRAINING,
                                                                      .dtype = RT_BF16});
    ASSERT_FORWARD(&graph, "project.bn", RT_OP_BATCHNORM, BATCH, 16, 112, 112);
    CU_ASSERT_EQUAL(find_node(&graph, "project.bn")->kernel_count, 4);
    RT_ASSERT_NEAR(find_node(&graph, "stem.bn+stem.act")->fused_bytes[RT_FORWARD],
                   2.0 * 2 * BATCH * 32 * 112 * 112, 1e-12);
    rt_graph_release(&graph);
}

static void test_memory_of_training(void)
{
    struct rt_graph graph =
        build_images("vgg11", (struct rt_graph_options){.batch = 1, .image = 32, .step = RT_STEP_TRAINING});
    double saved = 0;
    for (size_t n = 0; n < graph.node_count; n++)
        saved += graph.nodes[n].saved;
    /* what each ReLU makes, which the layer behind it reads, too; of each pool that and indices of 8 B */
    double relus = 64 * 1024 + 128 * 256 + 2 * 256 * 64 + 2 * 512 * 16 + 2 * 512 * 4;
    double pools = 64 * 256 + 128 * 64 + 256 * 16 + 512 * 4 + 512 * 1;
    double head = 25088 + 2 * (4096 + 4096.0 / 4 + 4096);
    RT_ASSERT_NEAR(saved, relus + 3 * pools + head, 1e-12);
    rt_graph_release(&graph);
}

static void refuses(const char *name, struct rt_graph_options options, const char *words)
{
    struct rt_model model;
    struct rt_graph graph;
    options.tensor_parallel = options.tensor_parallel > 0 ? options.tensor_parallel : 1;
    RT_ASSERT_OK(rt_model_named(name, &model));
    RT_ASSERT_FAILS(rt_graph_build(&model, &options, &graph), RT_EUSAGE, words);
}

static void test_refusals(void)
{
    refuses("resnet50", (struct rt_graph_options){.batch = 0}, "batch is 0; it must lie in 1..2^31");
    refuses("alexnet", (struct rt_graph_options){.batch = 1, .image = 62},
            "image 62 is smaller than the windows of alexnet reach; give at least 63");
    refuses("inception_v3", (struct rt_graph_options){.batch = 1, .image = 74},
            "image 74 is smaller than the windows of inception_v3 reach; give at least 75");
    refuses("lenet5", (struct rt_graph_options){.batch = 1, .image = 28},
            "lenet5 takes images of 32 pixels a side and no others");
    refuses("vgg16", (struct rt_graph_options){.batch = 1, .image = -1}, "image is -1");
    refuses("vgg16", (struct rt_graph_options){.batch = 1, .tensor_parallel = 2},
            "tp 2: vgg16 is a model of images");
    refuses("vgg16", (struct rt_graph_options){.batch = 1, .step = RT_STEP_DECODE}, "it does not decode");
    refuses("vgg16", (struct rt_graph_options){.batch = 1, .expert_parallel = 2},
            "ep and attention_dp are for LLM servers");
    refuses("vgg16", (struct rt_graph_options){.batch = 1, .dtype = RT_FP8},
            "convolutions in it are not forecast");
    refuses("vgg16", (struct rt_graph_options){.batch = 1, .runtime = RT_RUNTIME_SERVING},
            "LLM servers do not run vgg16");
    refuses("vgg16", (struct rt_graph_options){.batch = INT64_C(1) << 31, .image = 4096},
            "more than 2^40 pixels");
    refuses("resnet18", (struct rt_graph_options){.batch = 1, .image = 32, .step = RT_STEP_TRAINING},
            "leaves one value a channel to a batch norm");
}

/* Compiled, with the layout as given. */
static bool is_channels_last(const char *name, enum rt_step_kind step, enum rt_runtime_id runtime)
{
    struct rt_model model;
    struct rt_graph graph;
    struct rt_graph_options options = {
        .step = step, .batch = 2, .dtype = RT_FP16, .tensor_parallel = 1, .runtime = runtime};
    RT_ASSERT_OK(rt_model_named(name, &model));
    RT_ASSERT_OK(rt_graph_build(&model, &options, &graph));
    bool last = graph.options.channels_last;
    rt_graph_release(&graph);
    return last;
}

static void test_layout_of_compiled_code(void)
{
    CU_ASSERT_FALSE(is_channels_last("resnet50", RT_STEP_PREFILL, RT_RUNTIME_EAGER));
    CU_ASSERT_TRUE(is_channels_last("resnet50", RT_STEP_PREFILL, RT_RUNTIME_COMPILE));
    CU_ASSERT_TRUE(is_channels_last("mobilenet_v2", RT_STEP_TRAINING, RT_RUNTIME_COMPILE)); /* depthwise */
    CU_ASSERT_FALSE(is_channels_last("resnext50_32x4d", RT_STEP_TRAINING, RT_RUNTIME_COMPILE));
    CU_ASSERT_TRUE(is_channels_last("resnext50_32x4d", RT_STEP_PREFILL, RT_RUNTIME_COMPILE));
    CU_ASSERT_FALSE(is_channels_last("densenet121", RT_STEP_TRAINING, RT_RUNTIME_COMPILE)); /* 128 to 32 */
    CU_ASSERT_FALSE(is_channels_last("vit_b_16", RT_STEP_PREFILL, RT_RUNTIME_COMPILE));
}

static void test_names_of_timm(void)
{
    struct rt_model model;
    RT_ASSERT_OK(rt_model_named("timm/resnet50", &model));
    CU_ASSERT_STRING_EQUAL(model.vision->name, "resnet50"); /* the same in both */
    RT_ASSERT_OK(rt_model_named("timm/efficientnet_b0", &model));
    CU_ASSERT_STRING_EQUAL(model.vision->name, "timm/efficientnet_b0");
    CU_ASSERT_EQUAL(rt_model_named("timm/gpt2", &model), RT_ENOTFOUND);
}

/* Batch norm in training reads what it read for its sums once more, cuDNN's channels first one of it twice,
 * but not forward in fp32. */
static void test_rereads(void)
{
    for (int last = 0; last < 2; last++) {
        struct net net = net_of(RT_STEP_TRAINING, RT_FP32);
        net.graph.options.channels_last = last;
        rt_image_batchnorm(&net.graph, "norm", net.x);
        const struct rt_node *node = find_node(&net.graph, "norm");
        for (uint32_t k = node->kernel; k < node->kernel + node->kernel_count; k++) {
            const struct rt_graph_kernel *kernel = &net.graph.kernels[k];
            double operands = kernel->call.op == RT_OP_BATCHNORM            ? 1
                              : kernel->call.op == RT_OP_BATCHNORM_BACKWARD ? 3 - last
                                                                            : 0;
            CU_ASSERT_EQUAL(kernel->reread_bytes, operands * 4 * ELEMENTS);
            CU_ASSERT_EQUAL(kernel->reuse_distance_bytes, kernel->reread_bytes);
        }
        rt_graph_release(&net.graph);
    }
}

/* Gradients of groups: channels first slower than products; channels last, by PyTorch 1, a thread an output
 * where no kernel of matrix units is made for them. By filter, 1 x 1 channels first is slower, too. */
static void test_gradients_of_groups(void)
{
    static const struct {
        int64_t channels, groups, kernel;
        enum rt_runtime_id runtime;
        bool last;
        double cycles, by_data, by_filter;
    } cases[] = {{128, 8, 3, RT_RUNTIME_EAGER_1, true, 0, 1, 1},
                 {128, 2, 3, RT_RUNTIME_EAGER_1, true, 12.0 / 128, 1, 1},
                 {96, 8, 3, RT_RUNTIME_EAGER_1, true, 12.0 / 128, 1, 1},
                 {80, 10, 3, RT_RUNTIME_EAGER_1, true, 12.0 / 128, 1, 1},
                 {96, 8, 3, RT_RUNTIME_EAGER, true, 0, 1, 1},
                 {96, 8, 3, RT_RUNTIME_EAGER, false, 0, 1.5, 1.5},
                 {96, 1, 1, RT_RUNTIME_EAGER, false, 0, 1, 1.3},
                 {96, 1, 1, RT_RUNTIME_EAGER, true, 0, 1, 1},
                 {96, 1, 3, RT_RUNTIME_EAGER, false, 0, 1, 1}};
    for (size_t i = 0; i < RT_COUNT(cases); i++) {
        struct net net = net_of(RT_STEP_TRAINING, RT_FP16);
        int64_t in = cases[i].channels / cases[i].groups, taps = cases[i].kernel * cases[i].kernel;
        net.graph.options.channels_last = cases[i].last;
        net.graph.options.runtime = cases[i].runtime;
        struct rt_image x = rt_image_conv(&net.graph, "wide", net.x,
                                          &(struct rt_conv){.out = cases[i].channels, .kernel_h = 1});
        struct rt_image y = rt_image_conv(&net.graph, "conv", x,
                                          &(struct rt_conv){.out = cases[i].channels,
                                                            .kernel_h = cases[i].kernel,
                                                            .groups = cases[i].groups});
        const struct rt_graph_kernel *by_data = find_kernel(&net.graph, "conv", RT_BACKWARD, 0),
                                     *by_filter = find_kernel(&net.graph, "conv", RT_ACCUMULATE, 0);
        double adds = (double)(rt_image_elements(y) * in * taps);
        RT_ASSERT_NEAR(by_data->own_cycles, cases[i].cycles * adds, 1e-9);
        RT_ASSERT_NEAR(by_filter->own_cycles, cases[i].cycles * adds, 1e-9);
        CU_ASSERT_EQUAL(by_data->slower, cases[i].by_data);
        CU_ASSERT_EQUAL(by_filter->slower, cases[i].by_filter);
        CU_ASSERT_EQUAL(find_kernel(&net.graph, "conv", RT_FORWARD, 0)->slower, 1);
        rt_graph_release(&net.graph);
    }
}

RT_TESTS(RT_TEST(test_rereads), RT_TEST(test_gradients_of_groups), RT_TEST(test_names_of_timm),
         RT_TEST(test_layout_of_compiled_code), RT_TEST(test_convolution), RT_TEST(test_depthwise_bias),
         RT_TEST(test_batch_norm), RT_TEST(test_activations), RT_TEST(test_pools), RT_TEST(test_parts),
         RT_TEST(test_scales), RT_TEST(test_fusion), RT_TEST(test_memory_of_training), RT_TEST(test_refusals))
