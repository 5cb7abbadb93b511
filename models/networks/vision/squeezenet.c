/* SqueezeNet (Iandola et al. 2016), as torchvision/models/squeezenet.py has it. */
#include "models/networks/vision/vision.h"
#include "base/status.h"
#include "models/networks/build_image.h"

#define FIRES 8

struct squeezenet {
    int64_t stem, stem_kernel;
    bool pool[FIRES]; /* before each of the fire modules */
};

/* Convolution with bias, then ReLU: "NAME", "NAME.relu". */
static struct rt_image conv_relu(struct rt_graph *graph, const char *const name[2], struct rt_image x,
                                 int64_t out, int64_t kernel, int64_t padding)
{
    const struct rt_conv conv = {.out = out, .kernel_h = kernel, .padding_h = padding, .bias = true};
    return rt_image_activation(graph, name[1], RT_OP_RELU, rt_image_conv(graph, name[0], x, &conv), true);
}

static struct rt_image fire(struct rt_graph *graph, struct rt_image x, int64_t squeeze)
{
    static const char *const first[] = {"squeeze", "squeeze.relu"},
                             *const small[] = {"expand1", "expand1.relu"},
                             *const large[] = {"expand3", "expand3.relu"};
    x = conv_relu(graph, first, x, squeeze, 1, 0);
    const struct rt_image part[] = {conv_relu(graph, small, x, 4 * squeeze, 1, 0),
                                    conv_relu(graph, large, x, 4 * squeeze, 3, 1)};
    return rt_image_concat(graph, "concat", part, RT_COUNT(part));
}

static void build(const struct rt_vision *vision, struct rt_graph *graph)
{
    static const char *const names[FIRES] = {"fire1", "fire2", "fire3", "fire4",
                                             "fire5", "fire6", "fire7", "fire8"};
    static const int64_t squeeze[FIRES] = {16, 16, 32, 32, 48, 48, 64, 64};
    static const char *const last[] = {"classifier", "classifier.relu"};
    const struct squeezenet *net = vision->settings;
    const struct rt_conv stem = {.out = net->stem, .kernel_h = net->stem_kernel, .stride = 2, .bias = true};
    const struct rt_window window = {.kernel = 3, .stride = 2, .ceil = true};
    rt_graph_add_block(graph, "stem", RT_BLOCK_FIRST, 1);
    struct rt_image x = rt_image_conv(graph, "conv", rt_image_input(graph, 3), &stem);
    x = rt_image_activation(graph, "relu", RT_OP_RELU, x, true);
    for (int i = 0; i < FIRES; i++) {
        if (i > 0)
            rt_graph_add_block(graph, names[i], RT_BLOCK_LAYER, 1);
        if (net->pool[i])
            x = rt_image_max_pool(graph, "maxpool", x, window);
        if (i == 0)
            rt_graph_add_block(graph, names[i], RT_BLOCK_LAYER, 1);
        x = fire(graph, x, squeeze[i]);
    }
    rt_graph_add_block(graph, "head", RT_BLOCK_LAST, 1);
    x = conv_relu(graph, last, rt_image_dropout(graph, "dropout", x), vision->classes, 1, 0);
    rt_image_adaptive_avg_pool(graph, "avgpool", x, 1, 1);
}

/* clang-format off */
#define SQUEEZENET(...) .image = 224, .classes = 1000, .build = build, .settings = &(const struct squeezenet){__VA_ARGS__}
static const struct rt_vision models[] = {
    {"squeezenet1_0", SQUEEZENET(96, 7, {1, 0, 0, 1, 0, 0, 0, 1})},
    {"squeezenet1_1", SQUEEZENET(64, 3, {1, 0, 1, 0, 1, 0, 0, 0})},
};
/* clang-format on */

const struct rt_vision_family rt_vision_squeezenet = {"SqueezeNet", models, RT_COUNT(models)};
