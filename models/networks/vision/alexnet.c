/* The first networks: LeNet-5 (LeCun et al. 1998) and AlexNet (Krizhevsky 2014, "one weird trick", as
 * torchvision/models/alexnet.py has it: one column, no response norm).
 *
 * Of LeNet-5 it is the form that most write today: average pools without weights, convolutions over all
 * channels, a linear layer for C5 and for the output, tanh between them: 61,706 parameters for images of 32 x
 * 32 in one channel. The paper's subsampling has weights, its C3 reads some of the channels, and its output
 * are radial basis functions: about 60,000. */
#include "models/networks/vision/vision.h"
#include "base/status.h"
#include "models/networks/build_image.h"

static void build_lenet(const struct rt_vision *vision, struct rt_graph *graph)
{
    const struct rt_conv first = {.out = 6, .kernel_h = 5, .bias = true};
    const struct rt_conv second = {.out = 16, .kernel_h = 5, .bias = true};
    const struct rt_window halve = {.kernel = 2};
    rt_graph_add_block(graph, "features", RT_BLOCK_FIRST, 1);
    struct rt_image x = rt_image_conv(graph, "conv1", rt_image_input(graph, 1), &first);
    x = rt_image_activation(graph, "tanh1", RT_OP_TANH, x, false);
    x = rt_image_avg_pool(graph, "pool1", x, halve);
    x = rt_image_conv(graph, "conv2", x, &second);
    x = rt_image_activation(graph, "tanh2", RT_OP_TANH, x, false);
    x = rt_image_avg_pool(graph, "pool2", x, halve);
    rt_graph_add_block(graph, "head", RT_BLOCK_LAST, 1);
    x = rt_image_linear(graph, "fc1", rt_image_flatten(graph, "flatten", x), 120, true);
    x = rt_image_activation(graph, "tanh3", RT_OP_TANH, x, false);
    x = rt_image_linear(graph, "fc2", x, 84, true);
    x = rt_image_activation(graph, "tanh4", RT_OP_TANH, x, false);
    rt_image_linear(graph, "fc3", x, vision->classes, true);
}

struct layer {
    const char *conv, *relu, *pool; /* pool NULL: none */
    struct rt_conv settings;
};
static const struct layer alexnet_layers[] = {
    {"conv1", "relu1", "pool1", {.out = 64, .kernel_h = 11, .stride = 4, .padding_h = 2, .bias = true}},
    {"conv2", "relu2", "pool2", {.out = 192, .kernel_h = 5, .padding_h = 2, .bias = true}},
    {"conv3", "relu3", NULL, {.out = 384, .kernel_h = 3, .padding_h = 1, .bias = true}},
    {"conv4", "relu4", NULL, {.out = 256, .kernel_h = 3, .padding_h = 1, .bias = true}},
    {"conv5", "relu5", "pool3", {.out = 256, .kernel_h = 3, .padding_h = 1, .bias = true}},
};

static void build_alexnet(const struct rt_vision *vision, struct rt_graph *graph)
{
    const struct rt_window window = {.kernel = 3, .stride = 2};
    rt_graph_add_block(graph, "features", RT_BLOCK_FIRST, 1);
    struct rt_image x = rt_image_input(graph, 3);
    for (size_t i = 0; i < RT_COUNT(alexnet_layers); i++) {
        const struct layer *layer = &alexnet_layers[i];
        x = rt_image_conv(graph, layer->conv, x, &layer->settings);
        x = rt_image_activation(graph, layer->relu, RT_OP_RELU, x, true);
        if (layer->pool != NULL)
            x = rt_image_max_pool(graph, layer->pool, x, window);
    }
    rt_graph_add_block(graph, "head", RT_BLOCK_LAST, 1);
    x = rt_image_flatten(graph, "flatten", rt_image_adaptive_avg_pool(graph, "avgpool", x, 6, 6));
    x = rt_image_linear(graph, "fc1", rt_image_dropout(graph, "dropout1", x), 4096, true);
    x = rt_image_activation(graph, "fc1.relu", RT_OP_RELU, x, true);
    x = rt_image_linear(graph, "fc2", rt_image_dropout(graph, "dropout2", x), 4096, true);
    x = rt_image_activation(graph, "fc2.relu", RT_OP_RELU, x, true);
    rt_image_linear(graph, "fc3", x, vision->classes, true);
}

static const struct rt_vision models[] = {
    {"lenet5", "lenet", .image = 32, .classes = 10, .build = build_lenet, .fixed_image = true},
    {"alexnet", .image = 224, .classes = 1000, .build = build_alexnet},
};

const struct rt_vision_family rt_vision_alexnet = {"LeNet, AlexNet", models, RT_COUNT(models)};
