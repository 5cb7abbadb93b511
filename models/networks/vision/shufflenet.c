/* ShuffleNet v2 (Ma et al. 2018), as torchvision/models/shufflenetv2.py has it. */
#include "models/networks/vision/vision.h"
#include "base/status.h"
#include "models/networks/build_image.h"

struct shufflenet {
    int64_t stem, channels[3], last;
};

/* 1 x 1, depthwise 3 x 3, 1 x 1 */
static struct rt_image main_branch(struct rt_graph *graph, struct rt_image x, int64_t out, int64_t stride)
{
    const struct rt_conv point = {.out = out, .kernel_h = 1};
    const struct rt_conv depth = {.out = out, .kernel_h = 3, .stride = stride, .padding_h = 1, .groups = out};
    x = rt_image_conv_bn(graph, "main.point1", x, &point, RT_OP_RELU);
    x = rt_image_conv_bn(graph, "main.depth", x, &depth, RT_OP_COUNT);
    return rt_image_conv_bn(graph, "main.point2", x, &point, RT_OP_RELU);
}

static struct rt_image side_branch(struct rt_graph *graph, struct rt_image x, int64_t out)
{
    const struct rt_conv point = {.out = out, .kernel_h = 1};
    const struct rt_conv depth = {
        .out = x.channels, .kernel_h = 3, .stride = 2, .padding_h = 1, .groups = x.channels};
    x = rt_image_conv_bn(graph, "side.depth", x, &depth, RT_OP_COUNT);
    return rt_image_conv_bn(graph, "side.point", x, &point, RT_OP_RELU);
}

static struct rt_image down(struct rt_graph *graph, struct rt_image x, int64_t channels)
{
    struct rt_image part[] = {side_branch(graph, x, channels / 2), main_branch(graph, x, channels / 2, 2)};
    return rt_image_channel_shuffle(graph, "shuffle", rt_image_concat(graph, "concat", part, 2), 2);
}

/* Half of the channels pass through. */
static struct rt_image keep(struct rt_graph *graph, struct rt_image x)
{
    struct rt_image part[2];
    rt_image_chunk(graph, "chunk", x, part, 2);
    part[1] = main_branch(graph, rt_image_contiguous(graph, "contiguous", part[1]), x.channels / 2, 1);
    return rt_image_channel_shuffle(graph, "shuffle", rt_image_concat(graph, "concat", part, 2), 2);
}

static void build(const struct rt_vision *vision, struct rt_graph *graph)
{
    static const char *const first[] = {"stage2.0", "stage3.0", "stage4.0"};
    static const char *const others[] = {"stage2", "stage3", "stage4"};
    static const int64_t repeats[] = {3, 7, 3};
    const struct shufflenet *net = vision->settings;
    const struct rt_conv stem = {.out = net->stem, .kernel_h = 3, .stride = 2, .padding_h = 1};
    const struct rt_conv last = {.out = net->last, .kernel_h = 1};
    rt_graph_add_block(graph, "stem", RT_BLOCK_FIRST, 1);
    struct rt_image x = rt_image_conv_bn(graph, "conv1", rt_image_input(graph, 3), &stem, RT_OP_RELU);
    x = rt_image_max_pool(graph, "maxpool", x, (struct rt_window){.kernel = 3, .stride = 2, .padding = 1});
    for (int s = 0; s < 3; s++) {
        rt_graph_add_block(graph, first[s], RT_BLOCK_LAYER, 1);
        x = down(graph, x, net->channels[s]);
        rt_graph_add_block(graph, others[s], RT_BLOCK_LAYER, repeats[s]);
        x = keep(graph, x);
    }
    rt_graph_add_block(graph, "head", RT_BLOCK_LAST, 1);
    x = rt_image_conv_bn(graph, "conv5", x, &last, RT_OP_RELU);
    x = rt_image_adaptive_avg_pool(graph, "mean", x, 1, 1);
    rt_image_linear(graph, "fc", rt_image_flatten(graph, "flatten", x), vision->classes, true);
}

/* clang-format off */
#define SHUFFLENET(...) .image = 224, .classes = 1000, .build = build, .settings = &(const struct shufflenet){__VA_ARGS__}
static const struct rt_vision models[] = {
    {"shufflenet_v2_x0_5", SHUFFLENET(24, {48, 96, 192}, 1024)},
    {"shufflenet_v2_x1_0", SHUFFLENET(24, {116, 232, 464}, 1024)},
    {"shufflenet_v2_x1_5", SHUFFLENET(24, {176, 352, 704}, 1024)},
    {"shufflenet_v2_x2_0", SHUFFLENET(24, {244, 488, 976}, 2048)},
};
/* clang-format on */

const struct rt_vision_family rt_vision_shufflenet = {"ShuffleNet v2", models, RT_COUNT(models)};
