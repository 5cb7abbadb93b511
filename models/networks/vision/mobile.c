/* MobileNet v2 (Sandler et al. 2018) and v3 (Howard et al. 2019), MNASNet (Tan et al. 2018), EfficientNet
 * (Tan and Le 2019) and v2 (2021), as torchvision has them. One builder; a network is its stages. */
#include "models/networks/vision/mobile.h"
#include "models/networks/vision/vision.h"
#include "base/status.h"

#include <math.h>

/* `channels` as the nearest multiple of 8, at least 8 and at least 90% of them (_make_divisible). */
static int64_t round_channels(double channels)
{
    int64_t rounded = (int64_t)(channels + 4) / 8 * 8;
    rounded = rounded < 8 ? 8 : rounded;
    return (double)rounded < 0.9 * channels ? rounded + 8 : rounded;
}

struct rt_image rt_squeeze_excitation(struct rt_graph *graph, struct rt_image x, int64_t squeeze,
                                      enum rt_op_id activation, enum rt_op_id gate)
{
    const struct rt_conv down = {.out = squeeze, .kernel_h = 1, .bias = true};
    const struct rt_conv up = {.out = x.channels, .kernel_h = 1, .bias = true};
    struct rt_image y = rt_image_adaptive_avg_pool(graph, "squeeze.mean", x, 1, 1);
    y = rt_image_conv(graph, "squeeze.down", y, &down);
    y = rt_image_activation(graph, "squeeze.act", activation, y, true);
    y = rt_image_conv(graph, "squeeze.up", y, &up);
    y = rt_image_activation(graph, "squeeze.gate", gate, y, false);
    return rt_image_scale(graph, "squeeze.scale", x, y);
}

/* 1 x 1 to `hidden` channels where those are not the input's, a depthwise convolution, squeeze-excitation, 1
 * x 1 to `out`; fused: one convolution of all channels instead of the first two, and no other where `hidden`
 * are the input's channels. The input is added where it has the size of the output. */
struct block {
    bool fused;
    int64_t hidden, kernel, stride, out;
    int64_t squeeze; /* channels; 0: none */
    enum rt_op_id activation, squeeze_activation, gate;
    bool drop_path; /* stochastic depth before the addition */
};

static struct rt_image inverted(struct rt_graph *graph, const struct block *block, struct rt_image x)
{
    const struct rt_conv expand = {.out = block->hidden, .kernel_h = 1};
    const struct rt_conv depth = {.out = block->hidden,
                                  .kernel_h = block->kernel,
                                  .stride = block->stride,
                                  .padding_h = block->kernel / 2,
                                  .groups = block->hidden};
    const struct rt_conv project = {.out = block->out, .kernel_h = 1};
    if (block->hidden != x.channels)
        x = rt_image_conv_bn(graph, "expand", x, &expand, block->activation);
    x = rt_image_conv_bn(graph, "depth", x, &depth, block->activation);
    if (block->squeeze > 0)
        x = rt_squeeze_excitation(graph, x, block->squeeze, block->squeeze_activation, block->gate);
    return rt_image_conv_bn(graph, "project", x, &project, RT_OP_COUNT);
}

static struct rt_image fused(struct rt_graph *graph, const struct block *block, struct rt_image x)
{
    bool expands = block->hidden != x.channels;
    const struct rt_conv first = {.out = expands ? block->hidden : block->out,
                                  .kernel_h = block->kernel,
                                  .stride = block->stride,
                                  .padding_h = block->kernel / 2};
    const struct rt_conv project = {.out = block->out, .kernel_h = 1};
    x = rt_image_conv_bn(graph, "expand", x, &first, block->activation);
    if (expands && block->squeeze > 0)
        x = rt_squeeze_excitation(graph, x, block->squeeze, block->squeeze_activation, block->gate);
    return expands ? rt_image_conv_bn(graph, "project", x, &project, RT_OP_COUNT) : x;
}

static struct rt_image add_block(struct rt_graph *graph, const struct block *block, struct rt_image x)
{
    struct rt_image y = block->fused ? fused(graph, block, x) : inverted(graph, block, x);
    if (block->stride != 1 || x.channels != block->out)
        return y;
    if (block->drop_path)
        y = rt_image_drop_path(graph, "drop_path", y);
    return rt_image_add(graph, "add", y, x);
}

/* --- networks as stages --- */

#define MOST_STAGES 15

struct stage {
    double expand; /* times the channels of the input: those between; 0: as many as `hidden` */
    int64_t kernel, stride, out, blocks; /* the stride is the first block's */
    int64_t hidden;
    bool squeezes, fused;
    enum rt_op_id activation;
};

struct mobile {
    struct stage stage[MOST_STAGES]; /* out 0 ends them */
    int64_t stem, last, inner;       /* channels; inner: of a hidden layer of the classifier, 0: none */
    enum rt_op_id activation;        /* of the stem, of the last convolution and of the classifier */
    enum { NO_SQUEEZE, OF_HIDDEN, OF_INPUT } squeeze; /* a quarter of the channels of which */
    bool drop_path;
};

/* A network in a width and depth, as EfficientNet and MNASNet scale theirs */
struct scaled {
    const struct mobile *net;
    double width, depth;
};

static struct block block_of(const struct mobile *net, const struct stage *stage, int64_t in, int64_t out)
{
    struct block block = {.fused = stage->fused,
                          .hidden = stage->hidden,
                          .kernel = stage->kernel,
                          .stride = stage->stride,
                          .out = out,
                          .activation = stage->activation,
                          .squeeze_activation = RT_OP_RELU,
                          .gate = RT_OP_HARDSIGMOID};
    if (stage->expand > 0)
        block.hidden = (int64_t)(stage->expand * (double)in);
    if (stage->squeezes && net->squeeze == OF_HIDDEN)
        block.squeeze = round_channels((double)(block.hidden / 4));
    if (stage->squeezes && net->squeeze == OF_INPUT) {
        block.squeeze = in / 4;
        block.squeeze_activation = RT_OP_SILU;
        block.gate = RT_OP_SIGMOID;
    }
    return block;
}

/* All of a stage's blocks but the first are alike. */
static struct rt_image run_stage(struct rt_graph *graph, const struct scaled *scaled, int number,
                                 struct rt_image x)
{
    static const char *const first[MOST_STAGES] = {
        "stage1.0", "stage2.0",  "stage3.0",  "stage4.0",  "stage5.0",  "stage6.0",  "stage7.0", "stage8.0",
        "stage9.0", "stage10.0", "stage11.0", "stage12.0", "stage13.0", "stage14.0", "stage15.0"};
    static const char *const others[MOST_STAGES] = {"stage1",  "stage2",  "stage3",  "stage4",  "stage5",
                                                    "stage6",  "stage7",  "stage8",  "stage9",  "stage10",
                                                    "stage11", "stage12", "stage13", "stage14", "stage15"};
    const struct mobile *net = scaled->net;
    const struct stage *stage = &net->stage[number];
    int64_t out = round_channels(scaled->width * (double)stage->out);
    int64_t blocks = (int64_t)ceil(scaled->depth * (double)stage->blocks);
    struct block block = block_of(net, stage, x.channels, out);
    block.drop_path = net->drop_path && number > 0; /* it grows from 0 at the first block */
    rt_graph_add_block(graph, first[number], RT_BLOCK_LAYER, 1);
    x = add_block(graph, &block, x);
    if (blocks == 1)
        return x;
    block = block_of(net, stage, out, out);
    block.stride = 1;
    block.drop_path = net->drop_path;
    rt_graph_add_block(graph, others[number], RT_BLOCK_LAYER, blocks - 1);
    return add_block(graph, &block, x);
}

static void classify(struct rt_graph *graph, const struct mobile *net, struct rt_image x, int64_t classes)
{
    x = rt_image_flatten(graph, "flatten", rt_image_adaptive_avg_pool(graph, "mean", x, 1, 1));
    if (net->inner > 0) {
        x = rt_image_linear(graph, "classifier.inner", x, net->inner, true);
        x = rt_image_activation(graph, "classifier.act", net->activation, x, true);
    }
    rt_image_linear(graph, "classifier", rt_image_dropout(graph, "dropout", x), classes, true);
}

static void build(const struct rt_vision *vision, struct rt_graph *graph)
{
    const struct scaled *scaled = vision->settings;
    const struct mobile *net = scaled->net;
    const struct rt_conv stem = {
        .out = round_channels(scaled->width * (double)net->stem), .kernel_h = 3, .stride = 2, .padding_h = 1};
    rt_graph_add_block(graph, "stem", RT_BLOCK_FIRST, 1);
    struct rt_image x = rt_image_conv_bn(graph, "stem", rt_image_input(graph, 3), &stem, net->activation);
    for (int s = 0; s < MOST_STAGES && net->stage[s].out > 0; s++)
        x = run_stage(graph, scaled, s, x);
    const struct rt_conv last = {.out = net->last > 0 ? net->last : 4 * x.channels, .kernel_h = 1};
    rt_graph_add_block(graph, "head", RT_BLOCK_LAST, 1);
    x = rt_image_conv_bn(graph, "last", x, &last, net->activation);
    classify(graph, net, x, vision->classes);
}

/* clang-format off */
#define STAGE(expand_, kernel_, stride_, out_, blocks_, ...) \
    {.expand = (expand_), .kernel = (kernel_), .stride = (stride_), .out = (out_), .blocks = (blocks_), __VA_ARGS__}

static const struct mobile mobilenet_v2 = {
    .stem = 32, .last = 1280, .activation = RT_OP_RELU6,
    .stage = {
#define V2(...) STAGE(__VA_ARGS__, .activation = RT_OP_RELU6)
        V2(1, 3, 1, 16, 1), V2(6, 3, 2, 24, 2), V2(6, 3, 2, 32, 3), V2(6, 3, 2, 64, 4),
        V2(6, 3, 1, 96, 3), V2(6, 3, 2, 160, 3), V2(6, 3, 1, 320, 1),
    },
};

static const struct mobile mnasnet = {
    .stem = 32, .last = 1280, .activation = RT_OP_RELU,
    .stage = {
#define MNAS(...) STAGE(__VA_ARGS__, .activation = RT_OP_RELU)
        MNAS(1, 3, 1, 16, 1), MNAS(3, 3, 2, 24, 3), MNAS(3, 5, 2, 40, 3), MNAS(6, 5, 2, 80, 3),
        MNAS(6, 3, 1, 96, 2), MNAS(6, 5, 2, 192, 4), MNAS(6, 3, 1, 320, 1),
    },
};

/* kernel, channels between, out, squeezes, activation, stride: a row a block, as in the paper's tables */
#define V3(kernel_, hidden_, out_, squeezes_, activation_, stride_) \
    {.kernel = (kernel_), .hidden = (hidden_), .out = (out_), .blocks = 1, .squeezes = (squeezes_), \
     .activation = RT_OP_##activation_, .stride = (stride_)}
static const struct mobile mobilenet_v3_large = {
    .stem = 16, .last = 960, .inner = 1280, .activation = RT_OP_HARDSWISH, .squeeze = OF_HIDDEN,
    .stage = {
        V3(3, 16, 16, false, RELU, 1),
        V3(3, 64, 24, false, RELU, 2),       V3(3, 72, 24, false, RELU, 1),
        V3(5, 72, 40, true, RELU, 2),        V3(5, 120, 40, true, RELU, 1),
        V3(5, 120, 40, true, RELU, 1),
        V3(3, 240, 80, false, HARDSWISH, 2), V3(3, 200, 80, false, HARDSWISH, 1),
        V3(3, 184, 80, false, HARDSWISH, 1), V3(3, 184, 80, false, HARDSWISH, 1),
        V3(3, 480, 112, true, HARDSWISH, 1), V3(3, 672, 112, true, HARDSWISH, 1),
        V3(5, 672, 160, true, HARDSWISH, 2), V3(5, 960, 160, true, HARDSWISH, 1),
        V3(5, 960, 160, true, HARDSWISH, 1),
    },
};
static const struct mobile mobilenet_v3_small = {
    .stem = 16, .last = 576, .inner = 1024, .activation = RT_OP_HARDSWISH, .squeeze = OF_HIDDEN,
    .stage = {
        V3(3, 16, 16, true, RELU, 2),
        V3(3, 72, 24, false, RELU, 2),       V3(3, 88, 24, false, RELU, 1),
        V3(5, 96, 40, true, HARDSWISH, 2),   V3(5, 240, 40, true, HARDSWISH, 1),
        V3(5, 240, 40, true, HARDSWISH, 1),
        V3(5, 120, 48, true, HARDSWISH, 1),  V3(5, 144, 48, true, HARDSWISH, 1),
        V3(5, 288, 96, true, HARDSWISH, 2),  V3(5, 576, 96, true, HARDSWISH, 1),
        V3(5, 576, 96, true, HARDSWISH, 1),
    },
};

#define MB(...)    STAGE(__VA_ARGS__, .activation = RT_OP_SILU, .squeezes = true)
#define FUSED(...) STAGE(__VA_ARGS__, .activation = RT_OP_SILU, .fused = true)
#define EFFICIENTNET .activation = RT_OP_SILU, .squeeze = OF_INPUT, .drop_path = true
static const struct mobile efficientnet = { /* its last convolution has four times the channels before it */
    .stem = 32, EFFICIENTNET,
    .stage = {
        MB(1, 3, 1, 16, 1), MB(6, 3, 2, 24, 2), MB(6, 5, 2, 40, 2), MB(6, 3, 2, 80, 3),
        MB(6, 5, 1, 112, 3), MB(6, 5, 2, 192, 4), MB(6, 3, 1, 320, 1),
    },
};
static const struct mobile efficientnet_v2_s = {
    .stem = 24, .last = 1280, EFFICIENTNET,
    .stage = {
        FUSED(1, 3, 1, 24, 2), FUSED(4, 3, 2, 48, 4), FUSED(4, 3, 2, 64, 4),
        MB(4, 3, 2, 128, 6), MB(6, 3, 1, 160, 9), MB(6, 3, 2, 256, 15),
    },
};
static const struct mobile efficientnet_v2_m = {
    .stem = 24, .last = 1280, EFFICIENTNET,
    .stage = {
        FUSED(1, 3, 1, 24, 3), FUSED(4, 3, 2, 48, 5), FUSED(4, 3, 2, 80, 5),
        MB(4, 3, 2, 160, 7), MB(6, 3, 1, 176, 14), MB(6, 3, 2, 304, 18), MB(6, 3, 1, 512, 5),
    },
};
static const struct mobile efficientnet_v2_l = {
    .stem = 32, .last = 1280, EFFICIENTNET,
    .stage = {
        FUSED(1, 3, 1, 32, 4), FUSED(4, 3, 2, 64, 7), FUSED(4, 3, 2, 96, 7),
        MB(4, 3, 2, 192, 10), MB(6, 3, 1, 224, 19), MB(6, 3, 2, 384, 25), MB(6, 3, 1, 640, 7),
    },
};

#define MOBILE(image_, ...) .image = (image_), .classes = 1000, .build = build, .settings = &(const struct scaled){__VA_ARGS__}
static const struct rt_vision models[] = {
    {"mobilenet_v2",       MOBILE(224, &mobilenet_v2, 1, 1)},
    {"mobilenet_v3_large", MOBILE(224, &mobilenet_v3_large, 1, 1)},
    {"mobilenet_v3_small", MOBILE(224, &mobilenet_v3_small, 1, 1)},
    {"mnasnet0_5",         MOBILE(224, &mnasnet, 0.5, 1)},
    {"mnasnet0_75",        MOBILE(224, &mnasnet, 0.75, 1)},
    {"mnasnet1_0",         MOBILE(224, &mnasnet, 1, 1)},
    {"mnasnet1_3",         MOBILE(224, &mnasnet, 1.3, 1)},
    {"efficientnet_b0",    MOBILE(224, &efficientnet, 1, 1)},
    {"efficientnet_b1",    MOBILE(240, &efficientnet, 1, 1.1)},
    {"efficientnet_b2",    MOBILE(288, &efficientnet, 1.1, 1.2)},
    {"efficientnet_b3",    MOBILE(300, &efficientnet, 1.2, 1.4)},
    {"efficientnet_b4",    MOBILE(380, &efficientnet, 1.4, 1.8)},
    {"efficientnet_b5",    MOBILE(456, &efficientnet, 1.6, 2.2)},
    {"efficientnet_b6",    MOBILE(528, &efficientnet, 1.8, 2.6)},
    {"efficientnet_b7",    MOBILE(600, &efficientnet, 2, 3.1)},
    {"efficientnet_v2_s",  MOBILE(384, &efficientnet_v2_s, 1, 1)},
    {"efficientnet_v2_m",  MOBILE(480, &efficientnet_v2_m, 1, 1)},
    {"efficientnet_v2_l",  MOBILE(480, &efficientnet_v2_l, 1, 1)},
};
/* clang-format on */

const struct rt_vision_family rt_vision_mobile = {"MobileNet, MNASNet, EfficientNet", models,
                                                  RT_COUNT(models)};
