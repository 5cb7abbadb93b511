/* RegNet X and Y (Radosavovic et al. 2020), as torchvision/models/regnet.py and timm/models/regnet.py have
 * them. Widths and groups are those that their four numbers make (quantised to whole groups). */
#include "base/status.h"
#include "models/networks/vision/mobile.h"
#include "models/networks/vision/vision.h"

#include <math.h>

struct regnet {
    int64_t layers[4], widths[4], group_widths[4];
    bool squeeze; /* Y: to a quarter of the channels that the layer reads */
};

#define STEM 32

static struct rt_image layer(struct rt_graph *graph, const struct regnet *net, int s, struct rt_image x,
                             int64_t stride)
{
    int64_t width = net->widths[s];
    const struct rt_conv point = {.out = width, .kernel_h = 1};
    const struct rt_conv grouped = {.out = width,
                                    .kernel_h = 3,
                                    .stride = stride,
                                    .padding_h = 1,
                                    .groups = width / net->group_widths[s]};
    const struct rt_conv shortcut = {.out = width, .kernel_h = 1, .stride = stride};
    struct rt_image y = rt_image_conv_bn(graph, "conv1", x, &point, RT_OP_RELU);
    y = rt_image_conv_bn(graph, "conv2", y, &grouped, RT_OP_RELU);
    if (net->squeeze)
        y = rt_squeeze_excitation(graph, y, (int64_t)nearbyint((double)x.channels / 4), RT_OP_RELU,
                                  RT_OP_SIGMOID);
    y = rt_image_conv_bn(graph, "conv3", y, &point, RT_OP_COUNT);
    if (stride != 1 || x.channels != width)
        x = rt_image_conv_bn(graph, "downsample", x, &shortcut, RT_OP_COUNT);
    return rt_image_activation(graph, "relu", RT_OP_RELU, rt_image_add(graph, "add", x, y), true);
}

static void build(const struct rt_vision *vision, struct rt_graph *graph)
{
    static const char *const first[] = {"stage1.0", "stage2.0", "stage3.0", "stage4.0"};
    static const char *const others[] = {"stage1", "stage2", "stage3", "stage4"};
    const struct regnet *net = vision->settings;
    const struct rt_conv stem = {.out = STEM, .kernel_h = 3, .stride = 2, .padding_h = 1};
    rt_graph_add_block(graph, "stem", RT_BLOCK_FIRST, 1);
    struct rt_image x = rt_image_conv_bn(graph, "stem", rt_image_input(graph, 3), &stem, RT_OP_RELU);
    for (int s = 0; s < 4; s++) {
        rt_graph_add_block(graph, first[s], RT_BLOCK_LAYER, 1);
        x = layer(graph, net, s, x, 2);
        if (net->layers[s] == 1)
            continue;
        rt_graph_add_block(graph, others[s], RT_BLOCK_LAYER, net->layers[s] - 1);
        x = layer(graph, net, s, x, 1);
    }
    rt_graph_add_block(graph, "head", RT_BLOCK_LAST, 1);
    x = rt_image_flatten(graph, "flatten", rt_image_adaptive_avg_pool(graph, "avgpool", x, 1, 1));
    rt_image_linear(graph, "fc", x, vision->classes, true);
}

/* clang-format off */
#define REGNET(side, ...) \
    .image = side, .classes = 1000, .build = build, .settings = &(const struct regnet){__VA_ARGS__}
static const struct rt_vision models[] = {
    {"regnet_x_16gf", "regnetx_160", REGNET(224, {2, 6, 13, 1}, {256, 512, 896, 2048}, {128, 128, 128, 128}, false)},
    {"regnet_x_1_6gf", "regnetx_016", REGNET(224, {2, 4, 10, 2}, {72, 168, 408, 912}, {24, 24, 24, 24}, false)},
    {"regnet_x_32gf", "regnetx_320", REGNET(224, {2, 7, 13, 1}, {336, 672, 1344, 2520}, {168, 168, 168, 168}, false)},
    {"regnet_x_3_2gf", "regnetx_032", REGNET(224, {2, 6, 15, 2}, {96, 192, 432, 1008}, {48, 48, 48, 48}, false)},
    {"regnet_x_400mf", "regnetx_004_tv", REGNET(224, {1, 2, 7, 12}, {32, 64, 160, 400}, {16, 16, 16, 16}, false)},
    {"regnet_x_800mf", "regnetx_008", REGNET(224, {1, 3, 7, 5}, {64, 128, 288, 672}, {16, 16, 16, 16}, false)},
    {"regnet_x_8gf", "regnetx_080", REGNET(224, {2, 5, 15, 1}, {80, 240, 720, 1920}, {80, 120, 120, 120}, false)},
    {"regnet_y_128gf", NULL, REGNET(224, {2, 7, 17, 1}, {528, 1056, 2904, 7392}, {264, 264, 264, 264}, true)},
    {"regnet_y_16gf", "regnety_160", REGNET(224, {2, 4, 11, 1}, {224, 448, 1232, 3024}, {112, 112, 112, 112}, true)},
    {"regnet_y_1_6gf", "regnety_016", REGNET(224, {2, 6, 17, 2}, {48, 120, 336, 888}, {24, 24, 24, 24}, true)},
    {"regnet_y_32gf", "regnety_320", REGNET(224, {2, 5, 12, 1}, {232, 696, 1392, 3712}, {232, 232, 232, 232}, true)},
    {"regnet_y_3_2gf", "regnety_032", REGNET(224, {2, 5, 13, 1}, {72, 216, 576, 1512}, {24, 24, 24, 24}, true)},
    {"regnet_y_400mf", "regnety_004", REGNET(224, {1, 3, 6, 6}, {48, 104, 208, 440}, {8, 8, 8, 8}, true)},
    {"regnet_y_800mf", "regnety_008_tv", REGNET(224, {1, 3, 8, 2}, {64, 144, 320, 784}, {16, 16, 16, 16}, true)},
    {"regnet_y_8gf", "regnety_080_tv", REGNET(224, {2, 4, 10, 1}, {224, 448, 896, 2016}, {56, 56, 56, 56}, true)},
    {"regnetx_002", NULL, REGNET(224, {1, 1, 4, 7}, {24, 56, 152, 368}, {8, 8, 8, 8}, false)},
    {"regnetx_004", NULL, REGNET(224, {1, 2, 7, 12}, {32, 64, 160, 384}, {16, 16, 16, 16}, false)},
    {"regnetx_006", NULL, REGNET(224, {1, 3, 5, 7}, {48, 96, 240, 528}, {24, 24, 24, 24}, false)},
    {"regnetx_040", NULL, REGNET(224, {2, 5, 14, 2}, {80, 240, 560, 1360}, {40, 40, 40, 40}, false)},
    {"regnetx_064", NULL, REGNET(224, {2, 4, 10, 1}, {168, 392, 784, 1624}, {56, 56, 56, 56}, false)},
    {"regnetx_120", NULL, REGNET(224, {2, 5, 11, 1}, {224, 448, 896, 2240}, {112, 112, 112, 112}, false)},
    {"regnety_002", NULL, REGNET(224, {1, 1, 4, 7}, {24, 56, 152, 368}, {8, 8, 8, 8}, true)},
    {"regnety_006", NULL, REGNET(224, {1, 3, 7, 4}, {48, 112, 256, 608}, {16, 16, 16, 16}, true)},
    {"regnety_008", NULL, REGNET(224, {1, 3, 8, 2}, {64, 128, 320, 768}, {16, 16, 16, 16}, true)},
    {"regnety_040", NULL, REGNET(224, {2, 6, 12, 2}, {128, 192, 512, 1088}, {64, 64, 64, 64}, true)},
    {"regnety_064", NULL, REGNET(224, {2, 7, 14, 2}, {144, 288, 576, 1296}, {72, 72, 72, 72}, true)},
    {"regnety_080", NULL, REGNET(224, {2, 4, 10, 1}, {168, 448, 896, 2016}, {56, 56, 56, 56}, true)},
    {"regnety_120", NULL, REGNET(224, {2, 5, 11, 1}, {224, 448, 896, 2240}, {112, 112, 112, 112}, true)},
    {"regnety_1280", NULL, REGNET(384, {2, 7, 17, 1}, {528, 1056, 2904, 7392}, {264, 264, 264, 264}, true)},
    {"regnety_2560", NULL, REGNET(384, {2, 7, 17, 1}, {746, 1492, 4103, 10444}, {373, 373, 373, 373}, true)},
    {"regnety_640", NULL, REGNET(384, {2, 5, 12, 1}, {328, 984, 1968, 4920}, {328, 328, 328, 328}, true)},
};
/* clang-format on */

const struct rt_vision_family rt_vision_regnet = {"RegNet", models, RT_COUNT(models)};
