/* VGG (Simonyan and Zisserman 2014), as torchvision/models/vgg.py has it. */
#include "models/networks/vision/vision.h"
#include "base/status.h"
#include "models/networks/build_image.h"

struct vgg {
    int64_t convolutions[5]; /* before each of the pools */
    bool norm;
};

#define WIDTH 4096 /* of the classifier */

static struct rt_image features(const struct vgg *net, struct rt_graph *graph)
{
    static const char *const stages[] = {"features1", "features2", "features3", "features4", "features5"};
    static const char *const convolutions[] = {"conv1", "conv2", "conv3", "conv4"};
    static const char *const norms[] = {"bn1", "bn2", "bn3", "bn4"};
    static const char *const activations[] = {"relu1", "relu2", "relu3", "relu4"};
    struct rt_image x = rt_image_input(graph, 3);
    for (int s = 0; s < 5; s++) {
        struct rt_conv conv = {
            .out = s < 3 ? (int64_t)64 << s : 512, .kernel_h = 3, .padding_h = 1, .bias = true};
        rt_graph_add_block(graph, stages[s], s == 0 ? RT_BLOCK_FIRST : RT_BLOCK_LAYER, 1);
        for (int64_t c = 0; c < net->convolutions[s]; c++) {
            x = rt_image_conv(graph, convolutions[c], x, &conv);
            if (net->norm)
                x = rt_image_batchnorm(graph, norms[c], x);
            x = rt_image_activation(graph, activations[c], RT_OP_RELU, x, true);
        }
        x = rt_image_max_pool(graph, "maxpool", x, (struct rt_window){.kernel = 2});
    }
    return x;
}

static void build(const struct rt_vision *vision, struct rt_graph *graph)
{
    static const char *const linears[] = {"classifier1", "classifier2"};
    static const char *const activations[] = {"relu1", "relu2"}, *const dropouts[] = {"dropout1", "dropout2"};
    struct rt_image x = features(vision->settings, graph);
    rt_graph_add_block(graph, "head", RT_BLOCK_LAST, 1);
    x = rt_image_flatten(graph, "flatten", rt_image_adaptive_avg_pool(graph, "avgpool", x, 7, 7));
    for (int i = 0; i < 2; i++) {
        x = rt_image_linear(graph, linears[i], x, WIDTH, true);
        x = rt_image_activation(graph, activations[i], RT_OP_RELU, x, true);
        x = rt_image_dropout(graph, dropouts[i], x);
    }
    rt_image_linear(graph, "classifier3", x, vision->classes, true);
}

/* clang-format off */
#define VGG(...) .image = 224, .classes = 1000, .build = build, .settings = &(const struct vgg){__VA_ARGS__}
static const struct rt_vision models[] = {
    {"vgg11",    VGG({1, 1, 2, 2, 2}, false)},
    {"vgg13",    VGG({2, 2, 2, 2, 2}, false)},
    {"vgg16",    VGG({2, 2, 3, 3, 3}, false)},
    {"vgg19",    VGG({2, 2, 4, 4, 4}, false)},
    {"vgg11_bn", VGG({1, 1, 2, 2, 2}, true)},
    {"vgg13_bn", VGG({2, 2, 2, 2, 2}, true)},
    {"vgg16_bn", VGG({2, 2, 3, 3, 3}, true)},
    {"vgg19_bn", VGG({2, 2, 4, 4, 4}, true)},
};
/* clang-format on */

const struct rt_vision_family rt_vision_vgg = {"VGG", models, RT_COUNT(models)};
