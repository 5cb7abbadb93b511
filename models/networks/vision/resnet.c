/* ResNet (He et al. 2015), ResNeXt (Xie et al. 2016), Wide ResNet (Zagoruyko and Komodakis 2016), as
 * torchvision/models/resnet.py has them: the stride of a bottleneck is at its 3 x 3 convolution. Those of
 * timm/models/resnet.py beside: other stems and shortcuts (He et al. 2018), squeeze-excitation, ECA,
 * ResNet-RS. */
#include "models/networks/vision/mobile.h"
#include "models/networks/vision/vision.h"
#include "base/status.h"
#include "models/networks/build_image.h"
#include "models/networks/build_node.h"

#include <math.h>

struct resnet {
    bool bottleneck; /* 1 x 1, 3 x 3 and 1 x 1 instead of two 3 x 3 */
    int64_t blocks[4];
    int64_t groups, group_width; /* channels of a group in the first stage, of a 64th of those of its block */
    /* What timm's variants have (timm/models/resnet.py): */
    int64_t deep;           /* the stem is three 3 x 3, the first two of so many channels; 0: one 7 x 7 */
    bool tiered;            /* of them, the first of three quarters */
    bool stride_stem;       /* a convolution of stride 2 instead of the stem's pool */
    bool average_down;      /* shortcuts average before their convolution instead of striding */
    bool average_stride;    /* so do blocks, behind the activation, and the stem (anti-aliasing) */
    int64_t squeeze;        /* squeeze-excitation to so many times fewer channels; 0: none */
    bool channel_attention; /* its efficient form: a convolution over the channels' means */
    bool half_first;        /* a bottleneck's first convolution has half of its width */
    bool wide_down;         /* shortcuts that stride are 3 x 3 */
    int64_t detected;       /* detectors, whose norms are frozen: classes */
};

#define EXPANSION 4 /* of a bottleneck's last convolution */

struct stage {
    const struct resnet *net;
    int64_t channels, stride; /* of the first of its blocks */
};

static int64_t stage_output(const struct stage *stage)
{
    return stage->net->bottleneck ? EXPANSION * stage->channels : stage->channels;
}

/* A mean of 2 x 2 where the image is halved (timm's anti-aliasing by AvgPool2d). */
static struct rt_image average_stride(struct rt_graph *graph, const struct resnet *net, struct rt_image x,
                                      int64_t stride)
{
    if (!net->average_stride || stride == 1)
        return x;
    return rt_image_avg_pool(graph, "aa", x, (struct rt_window){.kernel = stride, .stride = stride});
}

/* ECA (Wang et al. 2019): x times the gate of a convolution over the means of neighbouring channels. */
static struct rt_image channel_attention(struct rt_graph *graph, struct rt_image x)
{
    int64_t taps = (int64_t)((log2((double)x.channels) + 1) / 2);
    taps = taps % 2 == 0 ? taps + 1 : taps;
    taps = taps < 3 ? 3 : taps;
    const struct rt_conv conv = {.out = 1, .kernel_h = 1, .kernel_w = taps, .padding_w = taps / 2};
    struct rt_image mean = rt_image_adaptive_avg_pool(graph, "eca.mean", x, 1, 1), y = mean;
    y.channels = y.height = 1;
    y.width = mean.channels;
    mean.node = rt_image_conv(graph, "eca.conv", y, &conv).node;
    mean = rt_image_activation(graph, "eca.gate", RT_OP_SIGMOID, mean, false);
    return rt_image_scale(graph, "eca.scale", x, mean);
}

static struct rt_image attend(struct rt_graph *graph, const struct resnet *net, struct rt_image x)
{
    if (net->channel_attention)
        return channel_attention(graph, x);
    if (net->squeeze == 0)
        return x;
    int64_t channels = (x.channels / net->squeeze + 4) / 8 * 8;
    return rt_squeeze_excitation(graph, x, channels < 8 ? 8 : channels, RT_OP_RELU, RT_OP_SIGMOID);
}

/* Frozen (torchvision/ops/misc.py, FrozenBatchNorm2d): times and plus constants of a channel. */
static struct rt_image norm(struct rt_graph *graph, const struct resnet *net, const char *name,
                            struct rt_image x)
{
    bool last = graph->options.channels_last;
    int64_t rows = x.batch * (last ? x.height * x.width : x.channels),
            cols = last ? x.channels : x.height * x.width;
    if (net->detected == 0)
        return rt_image_batchnorm(graph, name, x);
    x.node = rt_build_binary(graph, name, RT_OP_MUL, x.node, RT_NO_INPUT, rows, cols, x.channels);
    x.node = rt_build_binary(graph, rt_image_name(graph, name, "bias"), RT_OP_ADD, x.node, RT_NO_INPUT, rows,
                             cols, x.channels);
    return x;
}

static struct rt_image basic(struct rt_graph *graph, const struct stage *stage, struct rt_image x,
                             int64_t stride)
{
    const struct resnet *net = stage->net;
    const struct rt_conv first = {
        .out = stage->channels, .kernel_h = 3, .stride = net->average_stride ? 1 : stride, .padding_h = 1};
    const struct rt_conv second = {.out = stage->channels, .kernel_h = 3, .padding_h = 1};
    x = norm(graph, net, "bn1", rt_image_conv(graph, "conv1", x, &first));
    x = rt_image_activation(graph, "relu1", RT_OP_RELU, x, true);
    x = average_stride(graph, net, x, stride);
    return norm(graph, net, "bn2", rt_image_conv(graph, "conv2", x, &second));
}

static struct rt_image bottleneck(struct rt_graph *graph, const struct stage *stage, struct rt_image x,
                                  int64_t stride)
{
    const struct resnet *net = stage->net;
    int64_t width = stage->channels * net->group_width / 64 * net->groups;
    const struct rt_conv first = {.out = net->half_first ? width / 2 : width, .kernel_h = 1};
    const struct rt_conv second = {.out = width,
                                   .kernel_h = 3,
                                   .stride = net->average_stride ? 1 : stride,
                                   .padding_h = 1,
                                   .groups = net->groups};
    const struct rt_conv third = {.out = EXPANSION * stage->channels, .kernel_h = 1};
    x = norm(graph, net, "bn1", rt_image_conv(graph, "conv1", x, &first));
    x = rt_image_activation(graph, "relu1", RT_OP_RELU, x, true);
    x = norm(graph, net, "bn2", rt_image_conv(graph, "conv2", x, &second));
    x = rt_image_activation(graph, "relu2", RT_OP_RELU, x, true);
    x = average_stride(graph, net, x, stride);
    return norm(graph, net, "bn3", rt_image_conv(graph, "conv3", x, &third));
}

static struct rt_image shortcut(struct rt_graph *graph, const struct stage *stage, struct rt_image x,
                                int64_t stride)
{
    bool averages = stage->net->average_down, wide = stage->net->wide_down && stride > 1;
    const struct rt_conv conv = {.out = stage_output(stage),
                                 .kernel_h = wide ? 3 : 1,
                                 .stride = averages ? 1 : stride,
                                 .padding_h = wide ? 1 : 0};
    if (averages && stride > 1)
        x = rt_image_avg_pool(graph, "downsample.pool", x,
                              (struct rt_window){.kernel = 2, .stride = stride, .ceil = true});
    return norm(graph, stage->net, "downsample.1", rt_image_conv(graph, "downsample.0", x, &conv));
}

static struct rt_image residual(struct rt_graph *graph, const struct stage *stage, struct rt_image x,
                                int64_t stride)
{
    struct rt_image y =
        stage->net->bottleneck ? bottleneck(graph, stage, x, stride) : basic(graph, stage, x, stride);
    y = attend(graph, stage->net, y);
    if (stride != 1 || x.channels != y.channels)
        x = shortcut(graph, stage, x, stride);
    return rt_image_activation(graph, "relu", RT_OP_RELU, rt_image_add(graph, "add", y, x), true);
}

/* Three 3 x 3 convolutions; the last one's norm follows as that of one 7 x 7 does. */
static struct rt_image deep_stem(struct rt_graph *graph, const struct resnet *net)
{
    const struct rt_conv first = {
        .out = net->tiered ? 3 * (net->deep / 4) : net->deep, .kernel_h = 3, .stride = 2, .padding_h = 1};
    const struct rt_conv second = {.out = net->deep, .kernel_h = 3, .padding_h = 1};
    const struct rt_conv third = {.out = 2 * net->deep, .kernel_h = 3, .padding_h = 1};
    struct rt_image x = rt_image_conv_bn(graph, "conv1.0", rt_image_input(graph, 3), &first, RT_OP_RELU);
    x = rt_image_conv_bn(graph, "conv1.3", x, &second, RT_OP_RELU);
    return rt_image_conv(graph, "conv1.6", x, &third);
}

static struct rt_image stem(struct rt_graph *graph, const struct resnet *net)
{
    const struct rt_conv conv = {.out = 64, .kernel_h = 7, .stride = 2, .padding_h = 3};
    struct rt_image x = net->deep > 0 ? deep_stem(graph, net)
                                      : rt_image_conv(graph, "conv1", rt_image_input(graph, 3), &conv);
    x = rt_image_activation(graph, "relu", RT_OP_RELU, norm(graph, net, "bn1", x), true);
    if (net->stride_stem) {
        const struct rt_conv down = {
            .out = x.channels, .kernel_h = 3, .stride = net->average_stride ? 1 : 2, .padding_h = 1};
        x = average_stride(graph, net, rt_image_conv(graph, "pool.conv", x, &down), 2);
        return rt_image_activation(graph, "pool.relu", RT_OP_RELU, norm(graph, net, "pool.bn", x), true);
    }
    if (net->average_stride)
        return average_stride(graph, net, x, 2);
    return rt_image_max_pool(graph, "maxpool", x, (struct rt_window){.kernel = 3, .stride = 2, .padding = 1});
}

/* The stem, and what each of the four stages makes. */
static void build_stages(const struct resnet *net, struct rt_graph *graph, struct rt_image made[4])
{
    static const char *const first[] = {"layer1.0", "layer2.0", "layer3.0", "layer4.0"};
    static const char *const others[] = {"layer1", "layer2", "layer3", "layer4"};
    rt_graph_add_block(graph, "stem", RT_BLOCK_FIRST, 1);
    struct rt_image x = stem(graph, net);
    for (int s = 0; s < 4; s++) {
        struct stage stage = {.net = net, .channels = (int64_t)64 << s};
        rt_graph_add_block(graph, first[s], RT_BLOCK_LAYER, 1);
        made[s] = x = residual(graph, &stage, x, s > 0 ? 2 : 1);
        if (net->blocks[s] < 2)
            continue;
        rt_graph_add_block(graph, others[s], RT_BLOCK_LAYER, net->blocks[s] - 1);
        made[s] = x = residual(graph, &stage, x, 1);
    }
}

static void build(const struct rt_vision *vision, struct rt_graph *graph)
{
    struct rt_image made[4];
    build_stages(vision->settings, graph, made);
    rt_graph_add_block(graph, "head", RT_BLOCK_LAST, 1);
    struct rt_image x = rt_image_adaptive_avg_pool(graph, "avgpool", made[3], 1, 1);
    rt_image_linear(graph, "fc", rt_image_flatten(graph, "flatten", x), vision->classes, true);
}

/* --- RetinaNet (Lin et al. 2017), as torchvision/models/detection/retinanet.py has it, but for its frozen
 * norms: a pyramid of five sizes, under each of which the same convolutions find classes and boxes of nine
 * anchors a place --- */

enum { LEVELS = 5, WIDE = 256, ANCHORS = 9 };

static struct rt_image conv3(struct rt_graph *graph, const char *name, struct rt_image x, int64_t out,
                             int64_t stride)
{
    const struct rt_conv conv = {.out = out, .kernel_h = 3, .stride = stride, .padding_h = 1, .bias = true};
    return rt_image_conv(graph, name, x, &conv);
}

/* x at the size of `as`, by nearest places. */
static struct rt_image enlarged(struct rt_graph *graph, const char *name, struct rt_image x,
                                struct rt_image as)
{
    struct rt_image y = {.batch = x.batch, .channels = x.channels, .height = as.height, .width = as.width};
    const int64_t dim[] = {x.batch, x.channels, x.height, x.width, y.height, y.width};
    y.node = rt_node_add(graph, name, x.node, RT_NO_INPUT, (double)rt_image_elements(y));
    rt_graph_add_kernel(graph, RT_FORWARD, RT_OP_RESIZE, dim);
    if (rt_node_begin_backward(graph, y.node))
        rt_graph_add_kernel(graph, RT_BACKWARD, RT_OP_RESIZE, dim);
    return y;
}

static const char *const levels[LEVELS] = {"p3", "p4", "p5", "p6", "p7"};

static void build_pyramid(struct rt_graph *graph, const struct rt_image made[4],
                          struct rt_image level[LEVELS])
{
    const struct rt_conv inner = {.out = WIDE, .kernel_h = 1, .bias = true};
    struct rt_image x = {0};
    for (int l = 2; l >= 0; l--) {
        struct rt_image side =
            rt_image_conv(graph, rt_image_name(graph, levels[l], "inner"), made[l + 1], &inner);
        x = l == 2 ? side
                   : rt_image_add(graph, rt_image_name(graph, levels[l], "add"), side,
                                  enlarged(graph, rt_image_name(graph, levels[l], "upsample"), x, side));
        level[l] = conv3(graph, levels[l], x, WIDE, 1);
    }
    level[3] = conv3(graph, levels[3], level[2], WIDE, 2);
    level[4] =
        conv3(graph, levels[4], rt_image_activation(graph, "p7.relu", RT_OP_RELU, level[3], false), WIDE, 2);
}

/* Four convolutions and what they score; in training a pass over the scores for the loss, in one kernel each
 * way. */
static void find(struct rt_graph *graph, const char *name, struct rt_image x, int64_t out)
{
    static const char *const convs[] = {"conv1", "conv2", "conv3", "conv4"};
    for (size_t i = 0; i < RT_COUNT(convs); i++) {
        const char *conv = rt_image_name(graph, name, convs[i]);
        x = rt_image_activation(graph, rt_image_name(graph, conv, "relu"), RT_OP_RELU,
                                conv3(graph, conv, x, WIDE, 1), true);
    }
    x = conv3(graph, rt_image_name(graph, name, "scores"), x, ANCHORS * out, 1);
    if (rt_graph_trains(graph))
        rt_build_unary(graph, rt_image_name(graph, name, "loss"), RT_OP_SIGMOID, x.node, x.batch * x.channels,
                       x.height * x.width);
}

static void build_retina(const struct rt_vision *vision, struct rt_graph *graph)
{
    const struct resnet *net = vision->settings;
    struct rt_image made[4], level[LEVELS];
    build_stages(net, graph, made);
    rt_graph_add_block(graph, "head", RT_BLOCK_LAST, 1);
    build_pyramid(graph, made, level);
    for (int l = 0; l < LEVELS; l++) {
        uint32_t first = (uint32_t)graph->node_count;
        find(graph, rt_image_name(graph, levels[l], "classes"), level[l], net->detected);
        find(graph, rt_image_name(graph, levels[l], "boxes"), level[l], 4);
        for (uint32_t n = first; l > 0 && n < graph->node_count; n++)
            graph->nodes[n].parameters = 0; /* the first level's */
    }
}

/* clang-format off */
#define RESNET(side, bottleneck_, groups_, width_, ...) \
    .image = side, .classes = 1000, .build = build, \
    .settings = &(const struct resnet){.bottleneck = bottleneck_, .groups = groups_, .group_width = width_, \
                                       .blocks = __VA_ARGS__}
#define RETINA(classes_, groups_, width_) .image = 800, .build = build_retina, .settings = \
    &(const struct resnet){.bottleneck = true, .groups = groups_, .group_width = width_, .blocks = {3, 4, 6, 3}, .detected = classes_}
static const struct rt_vision models[] = {
    {"retinanet_resnet50_fpn", "retinanet", RETINA(91, 1, 64)},
    {"retinanet_resnext50_32x4d_fpn", NULL, RETINA(264, 32, 4)}, /* MLPerf's */
    {"resnet18", "ssl_resnet18, swsl_resnet18, gluon_resnet18_v1b", RESNET(224, false, 1, 64, {2, 2, 2, 2})},
    {"resnet34", "tv_resnet34, gluon_resnet34_v1b", RESNET(224, false, 1, 64, {3, 4, 6, 3})},
    {"resnet50", "tv_resnet50, ssl_resnet50, swsl_resnet50, gluon_resnet50_v1b", RESNET(224, true, 1, 64, {3, 4, 6, 3})},
    {"resnet101", "tv_resnet101, gluon_resnet101_v1b", RESNET(224, true, 1, 64, {3, 4, 23, 3})},
    {"resnet152", "tv_resnet152, gluon_resnet152_v1b", RESNET(224, true, 1, 64, {3, 8, 36, 3})},
    {"resnext50_32x4d", "tv_resnext50_32x4d, ssl_resnext50_32x4d, swsl_resnext50_32x4d, gluon_resnext50_32x4d", RESNET(224, true, 32, 4, {3, 4, 6, 3})},
    {"resnext101_32x8d", "ig_resnext101_32x8d, ssl_resnext101_32x8d, swsl_resnext101_32x8d", RESNET(224, true, 32, 8, {3, 4, 23, 3})},
    {"resnext101_64x4d", "gluon_resnext101_64x4d", RESNET(224, true, 64, 4, {3, 4, 23, 3})},
    {"wide_resnet50_2", NULL, RESNET(224, true, 1, 128, {3, 4, 6, 3})},
    {"wide_resnet101_2", NULL, RESNET(224, true, 1, 128, {3, 4, 23, 3})},
    {"resnext101_32x48d", "ig_resnext101_32x48d", RESNET(224, true, 32, 48, {3, 4, 23, 3})},
    {"ecaresnet101d", NULL, RESNET(224, true, 1, 64, {3, 4, 23, 3}, .deep = 32, .average_down = true, .channel_attention = true)},
    {"ecaresnet200d", NULL, RESNET(256, true, 1, 64, {3, 24, 36, 3}, .deep = 32, .average_down = true, .channel_attention = true)},
    {"ecaresnet269d", NULL, RESNET(320, true, 1, 64, {3, 30, 48, 8}, .deep = 32, .average_down = true, .channel_attention = true)},
    {"ecaresnet26t", NULL, RESNET(256, true, 1, 64, {2, 2, 2, 2}, .deep = 32, .tiered = true, .average_down = true, .channel_attention = true)},
    {"ecaresnet50d", NULL, RESNET(224, true, 1, 64, {3, 4, 6, 3}, .deep = 32, .average_down = true, .channel_attention = true)},
    {"ecaresnet50t", NULL, RESNET(256, true, 1, 64, {3, 4, 6, 3}, .deep = 32, .tiered = true, .average_down = true, .channel_attention = true)},
    {"ecaresnetlight", NULL, RESNET(224, true, 1, 64, {1, 1, 11, 3}, .average_down = true, .channel_attention = true)},
    {"ecaresnext26t_32x4d", NULL, RESNET(224, true, 32, 4, {2, 2, 2, 2}, .deep = 32, .tiered = true, .average_down = true, .channel_attention = true)},
    {"ecaresnext50t_32x4d", NULL, RESNET(224, true, 32, 4, {3, 4, 6, 3}, .deep = 32, .tiered = true, .average_down = true, .channel_attention = true)},
    {"resnet101c", "gluon_resnet101_v1c", RESNET(224, true, 1, 64, {3, 4, 23, 3}, .deep = 32)},
    {"gluon_resnet101_v1d", NULL, RESNET(224, true, 1, 64, {3, 4, 23, 3}, .deep = 32, .average_down = true)},
    {"resnet101s", "gluon_resnet101_v1s", RESNET(224, true, 1, 64, {3, 4, 23, 3}, .deep = 64)},
    {"resnet152c", "gluon_resnet152_v1c", RESNET(224, true, 1, 64, {3, 8, 36, 3}, .deep = 32)},
    {"gluon_resnet152_v1d", NULL, RESNET(224, true, 1, 64, {3, 8, 36, 3}, .deep = 32, .average_down = true)},
    {"resnet152s", "gluon_resnet152_v1s", RESNET(224, true, 1, 64, {3, 8, 36, 3}, .deep = 64)},
    {"resnet50c", "gluon_resnet50_v1c", RESNET(224, true, 1, 64, {3, 4, 6, 3}, .deep = 32)},
    {"resnet50d", "gluon_resnet50_v1d", RESNET(224, true, 1, 64, {3, 4, 6, 3}, .deep = 32, .average_down = true)},
    {"resnet50s", "gluon_resnet50_v1s", RESNET(224, true, 1, 64, {3, 4, 6, 3}, .deep = 64)},
    {"resnext101_32x4d", "ssl_resnext101_32x4d, swsl_resnext101_32x4d, gluon_resnext101_32x4d", RESNET(224, true, 32, 4, {3, 4, 23, 3})},
    {"senet154", "gluon_senet154", RESNET(224, true, 64, 4, {3, 8, 36, 3}, .deep = 64, .squeeze = 16, .half_first = true, .wide_down = true)},
    {"seresnext101_32x4d", "gluon_seresnext101_32x4d", RESNET(224, true, 32, 4, {3, 4, 23, 3}, .squeeze = 16)},
    {"seresnext101_64x4d", "gluon_seresnext101_64x4d", RESNET(224, true, 64, 4, {3, 4, 23, 3}, .squeeze = 16)},
    {"seresnext50_32x4d", "gluon_seresnext50_32x4d", RESNET(224, true, 32, 4, {3, 4, 6, 3}, .squeeze = 16)},
    {"resnet101d", NULL, RESNET(256, true, 1, 64, {3, 4, 23, 3}, .deep = 32, .average_down = true)},
    {"resnet10t", NULL, RESNET(176, false, 1, 64, {1, 1, 1, 1}, .deep = 32, .tiered = true, .average_down = true)},
    {"resnet14t", NULL, RESNET(176, true, 1, 64, {1, 1, 1, 1}, .deep = 32, .tiered = true, .average_down = true)},
    {"resnet152d", NULL, RESNET(256, true, 1, 64, {3, 8, 36, 3}, .deep = 32, .average_down = true)},
    {"resnet18d", NULL, RESNET(224, false, 1, 64, {2, 2, 2, 2}, .deep = 32, .average_down = true)},
    {"resnet200", NULL, RESNET(224, true, 1, 64, {3, 24, 36, 3})},
    {"resnet200d", NULL, RESNET(256, true, 1, 64, {3, 24, 36, 3}, .deep = 32, .average_down = true)},
    {"resnet26", NULL, RESNET(224, true, 1, 64, {2, 2, 2, 2})},
    {"resnet26d", NULL, RESNET(224, true, 1, 64, {2, 2, 2, 2}, .deep = 32, .average_down = true)},
    {"resnet26t", NULL, RESNET(256, true, 1, 64, {2, 2, 2, 2}, .deep = 32, .tiered = true, .average_down = true)},
    {"resnet34d", NULL, RESNET(224, false, 1, 64, {3, 4, 6, 3}, .deep = 32, .average_down = true)},
    {"resnet50t", NULL, RESNET(224, true, 1, 64, {3, 4, 6, 3}, .deep = 32, .tiered = true, .average_down = true)},
    {"resnetaa101d", NULL, RESNET(224, true, 1, 64, {3, 4, 23, 3}, .deep = 32, .average_down = true, .average_stride = true)},
    {"resnetaa34d", NULL, RESNET(224, false, 1, 64, {3, 4, 6, 3}, .deep = 32, .average_down = true, .average_stride = true)},
    {"resnetaa50", NULL, RESNET(224, true, 1, 64, {3, 4, 6, 3}, .average_stride = true)},
    {"resnetaa50d", NULL, RESNET(224, true, 1, 64, {3, 4, 6, 3}, .deep = 32, .average_down = true, .average_stride = true)},
    {"resnetrs101", NULL, RESNET(192, true, 1, 64, {3, 4, 23, 3}, .deep = 32, .stride_stem = true, .average_down = true, .squeeze = 4)},
    {"resnetrs152", NULL, RESNET(256, true, 1, 64, {3, 8, 36, 3}, .deep = 32, .stride_stem = true, .average_down = true, .squeeze = 4)},
    {"resnetrs200", NULL, RESNET(256, true, 1, 64, {3, 24, 36, 3}, .deep = 32, .stride_stem = true, .average_down = true, .squeeze = 4)},
    {"resnetrs270", NULL, RESNET(256, true, 1, 64, {4, 29, 53, 4}, .deep = 32, .stride_stem = true, .average_down = true, .squeeze = 4)},
    {"resnetrs350", NULL, RESNET(288, true, 1, 64, {4, 36, 72, 4}, .deep = 32, .stride_stem = true, .average_down = true, .squeeze = 4)},
    {"resnetrs420", NULL, RESNET(320, true, 1, 64, {4, 44, 87, 4}, .deep = 32, .stride_stem = true, .average_down = true, .squeeze = 4)},
    {"resnetrs50", NULL, RESNET(160, true, 1, 64, {3, 4, 6, 3}, .deep = 32, .stride_stem = true, .average_down = true, .squeeze = 4)},
    {"resnext101_32x16d", "ssl_resnext101_32x16d, swsl_resnext101_32x16d, ig_resnext101_32x16d", RESNET(224, true, 32, 16, {3, 4, 23, 3})},
    {"resnext101_32x32d", "ig_resnext101_32x32d", RESNET(224, true, 32, 32, {3, 4, 23, 3})},
    {"resnext50d_32x4d", NULL, RESNET(224, true, 32, 4, {3, 4, 6, 3}, .deep = 32, .average_down = true)},
    {"seresnet101", NULL, RESNET(224, true, 1, 64, {3, 4, 23, 3}, .squeeze = 16)},
    {"seresnet152", NULL, RESNET(224, true, 1, 64, {3, 8, 36, 3}, .squeeze = 16)},
    {"seresnet152d", NULL, RESNET(256, true, 1, 64, {3, 8, 36, 3}, .deep = 32, .average_down = true, .squeeze = 16)},
    {"seresnet18", NULL, RESNET(224, false, 1, 64, {2, 2, 2, 2}, .squeeze = 16)},
    {"seresnet200d", NULL, RESNET(256, true, 1, 64, {3, 24, 36, 3}, .deep = 32, .average_down = true, .squeeze = 16)},
    {"seresnet269d", NULL, RESNET(256, true, 1, 64, {3, 30, 48, 8}, .deep = 32, .average_down = true, .squeeze = 16)},
    {"seresnet34", NULL, RESNET(224, false, 1, 64, {3, 4, 6, 3}, .squeeze = 16)},
    {"seresnet50", NULL, RESNET(224, true, 1, 64, {3, 4, 6, 3}, .squeeze = 16)},
    {"seresnet50t", NULL, RESNET(224, true, 1, 64, {3, 4, 6, 3}, .deep = 32, .tiered = true, .average_down = true, .squeeze = 16)},
    {"seresnetaa50d", NULL, RESNET(224, true, 1, 64, {3, 4, 6, 3}, .deep = 32, .average_down = true, .squeeze = 16, .average_stride = true)},
    {"seresnext101_32x8d", NULL, RESNET(224, true, 32, 8, {3, 4, 23, 3}, .squeeze = 16)},
    {"seresnext101d_32x8d", NULL, RESNET(224, true, 32, 8, {3, 4, 23, 3}, .deep = 32, .average_down = true, .squeeze = 16)},
    {"seresnext26d_32x4d", NULL, RESNET(224, true, 32, 4, {2, 2, 2, 2}, .deep = 32, .average_down = true, .squeeze = 16)},
    {"seresnext26t_32x4d", "seresnext26tn_32x4d", RESNET(224, true, 32, 4, {2, 2, 2, 2}, .deep = 32, .tiered = true, .average_down = true, .squeeze = 16)},
    {"seresnextaa101d_32x8d", NULL, RESNET(288, true, 32, 8, {3, 4, 23, 3}, .deep = 32, .average_down = true, .squeeze = 16, .average_stride = true)},
    {"seresnextaa201d_32x8d", NULL, RESNET(384, true, 32, 8, {3, 24, 36, 4}, .deep = 64, .average_down = true, .squeeze = 16, .average_stride = true)},
};
/* clang-format on */

const struct rt_vision_family rt_vision_resnet = {"ResNet, ResNeXt, Wide ResNet", models, RT_COUNT(models)};
