/* DenseNet (Huang et al. 2016), as torchvision/models/densenet.py has it: without checkpoints. */
#include "models/networks/vision/vision.h"
#include "base/status.h"
#include "models/networks/build_image.h"

#include <inttypes.h>
#include <stdio.h>

#define MOST_LAYERS 64 /* of a block */

struct densenet {
    int64_t growth, stem, layers[4];
};

#define BOTTLENECK 4 /* times the growth: channels of a layer's first convolution */

static struct rt_image norm_relu(struct rt_graph *graph, const char *norm, const char *relu,
                                 struct rt_image x)
{
    return rt_image_activation(graph, relu, RT_OP_RELU, rt_image_batchnorm(graph, norm, x), true);
}

/* What the layer adds to the channels of all before it */
static struct rt_image dense_layer(struct rt_graph *graph, int64_t growth, const struct rt_image *before,
                                   size_t count)
{
    const struct rt_conv first = {.out = BOTTLENECK * growth, .kernel_h = 1};
    const struct rt_conv second = {.out = growth, .kernel_h = 3, .padding_h = 1};
    struct rt_image x = rt_image_concat(graph, "concat", before, count);
    x = rt_image_conv(graph, "conv1", norm_relu(graph, "norm1", "relu1", x), &first);
    return rt_image_conv(graph, "conv2", norm_relu(graph, "norm2", "relu2", x), &second);
}

static struct rt_image dense_block(struct rt_graph *graph, const struct densenet *net, struct rt_image x,
                                   const char *name, int64_t layers)
{
    struct rt_image part[MOST_LAYERS + 1] = {x};
    for (int64_t i = 0; i < layers; i++) {
        char number[24];
        snprintf(number, sizeof number, "%" PRId64, i + 1);
        rt_graph_add_block(graph, rt_image_name(graph, name, number), RT_BLOCK_LAYER, 1);
        part[i + 1] = dense_layer(graph, net->growth, part, (size_t)i + 1);
    }
    return rt_image_concat(graph, "join", part, (size_t)layers + 1);
}

static struct rt_image transition(struct rt_graph *graph, struct rt_image x)
{
    const struct rt_conv conv = {.out = x.channels / 2, .kernel_h = 1};
    x = rt_image_conv(graph, "conv", norm_relu(graph, "norm", "relu", x), &conv);
    return rt_image_avg_pool(graph, "pool", x, (struct rt_window){.kernel = 2});
}

static void build(const struct rt_vision *vision, struct rt_graph *graph)
{
    static const char *const blocks[] = {"denseblock1", "denseblock2", "denseblock3", "denseblock4"};
    static const char *const transitions[] = {"transition1", "transition2", "transition3"};
    const struct densenet *net = vision->settings;
    const struct rt_conv stem = {.out = net->stem, .kernel_h = 7, .stride = 2, .padding_h = 3};
    rt_graph_add_block(graph, "stem", RT_BLOCK_FIRST, 1);
    struct rt_image x = rt_image_conv(graph, "conv0", rt_image_input(graph, 3), &stem);
    x = norm_relu(graph, "norm0", "relu0", x);
    x = rt_image_max_pool(graph, "pool0", x, (struct rt_window){.kernel = 3, .stride = 2, .padding = 1});
    for (int b = 0; b < 4; b++) {
        x = dense_block(graph, net, x, blocks[b], net->layers[b]);
        if (b == 3)
            break;
        rt_graph_add_block(graph, transitions[b], RT_BLOCK_LAYER, 1);
        x = transition(graph, x);
    }
    rt_graph_add_block(graph, "head", RT_BLOCK_LAST, 1);
    x = rt_image_adaptive_avg_pool(graph, "avgpool", norm_relu(graph, "norm5", "relu5", x), 1, 1);
    rt_image_linear(graph, "classifier", rt_image_flatten(graph, "flatten", x), vision->classes, true);
}

/* clang-format off */
#define DENSENET(...) .image = 224, .classes = 1000, .build = build, .settings = &(const struct densenet){__VA_ARGS__}
static const struct rt_vision models[] = {
    {"densenet121", DENSENET(32, 64, {6, 12, 24, 16})},
    {"densenet161", DENSENET(48, 96, {6, 12, 36, 24})},
    {"densenet169", DENSENET(32, 64, {6, 12, 32, 32})},
    {"densenet201", DENSENET(32, 64, {6, 12, 48, 32})},
};
/* clang-format on */

const struct rt_vision_family rt_vision_densenet = {"DenseNet", models, RT_COUNT(models)};
