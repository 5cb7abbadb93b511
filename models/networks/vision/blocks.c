/* timm's small networks (MobileNet v1 to v4, MNASNet, EfficientNet and v2, LCNet, TinyNet, FBNet,
 * HardCoRe-NAS ...): timm/models/efficientnet.py and mobilenetv3.py. They are written as timm writes them, by
 * strings
 * (_efficientnet_builder.py): blocks of a stage are separated by "+", stages by blanks, and
 * "ir_r2_k3_s2_e6_c24_se0.25" is two inverted residuals, 3 x 3, the first of stride 2, 6 times the channels
 * between, 24 out, squeeze-excitation of a quarter of the input's channels. Widths and depths scale them.
 *
 *   ds, dsa  depthwise, 1 x 1; dsa: with an activation behind it, never added to its input
 *   ir       1 x 1, depthwise, 1 x 1
 *   er       k x k to the channels between, 1 x 1
 *   cn       k x k
 *   uir      depthwise (a), 1 x 1, depthwise (k), 1 x 1; 0: without
 */
#include "base/status.h"
#include "models/networks/vision/mobile.h"
#include "models/networks/vision/vision.h"
#include "models/networks/build_image.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What varies, beside sizes. */
enum {
    SAME = 1,            /* TensorFlow's padding: where it is uneven, zeros are put around the image first */
    FIXED_STEM = 2,      /* the stem is not scaled */
    FIXED_ENDS = 4,      /* the depths of the first and the last stage are not scaled */
    POOL_FIRST = 8,      /* the mean comes before the last convolution (MobileNet v3) */
    HEAD_BIAS = 16,      /* that convolution has a bias */
    HEAD_NORM = 32,      /* and a batch norm */
    OF_HIDDEN = 64,      /* squeeze-excitation counts the channels between, not the input's */
    SQUEEZE_ROUND = 128, /* to multiples of 8 */
    SQUEEZE_RELU = 256,
    HARD_GATE = 512,
    ANY_DECREASE = 1024, /* rounding channels may take more than a tenth away */
    LESS_5 = 2048,       /* no more than a twentieth */
    NO_HEAD = 4096,      /* no last convolution */
};

struct blocks {
    const char *stages;
    double width, depth;
    int64_t stem, stem_kernel, head; /* channels */
    enum rt_op_id activation;
    int traits;
};

/* A block as its string has it; numbers that it lacks are 0. */
struct block {
    char kind[8];
    double numbers[128]; /* by their letter */
    double squeeze;
    bool skip, noskip;
    int64_t group; /* channels of a group; 0: all */
    enum rt_op_id activation;
};

static enum rt_op_id activation_named(const char *name)
{
    if (strncmp(name, "re", 2) == 0)
        return RT_OP_RELU;
    return strncmp(name, "hs", 2) == 0 ? RT_OP_HARDSWISH : RT_OP_SILU;
}

/* One part of a block's string: "k3", "se0.25", "nre", "skip". */
static void read_part(const char *part, struct block *block)
{
    if (strncmp(part, "noskip", 6) == 0)
        block->noskip = true;
    else if (strncmp(part, "skip", 4) == 0)
        block->skip = true;
    else if (strncmp(part, "se", 2) == 0)
        block->squeeze = strtod(part + 2, NULL);
    else if (strncmp(part, "gs", 2) == 0)
        block->group = strtol(part + 2, NULL, 10);
    else if (strncmp(part, "fc", 2) == 0)
        block->numbers['f'] = strtod(part + 2, NULL);
    else if (part[0] == 'n')
        block->activation = activation_named(part + 1);
    else
        block->numbers[(unsigned char)part[0] & 127] = strtod(part + 1, NULL);
}

/* Reads a block; returns what follows it. */
static const char *read_block(const char *text, enum rt_op_id activation, struct block *out)
{
    struct block block = {.activation = activation};
    size_t kind = strcspn(text, "_"), end = strcspn(text, "+ ");
    memcpy(block.kind, text, kind < sizeof block.kind ? kind : sizeof block.kind - 1);
    block.numbers['e'] = 1;
    for (const char *part = text + kind; part < text + end; part += strcspn(part, "_+ "))
        read_part(++part, &block);
    *out = block;
    return text + end;
}

/* --- a block as operators --- */

struct builder {
    const struct blocks *net;
    struct rt_graph *graph;
};

/* Channels as a multiple of 8, never much fewer (make_divisible). */
static int64_t rounded(const struct blocks *net, double channels)
{
    double limit = net->traits & ANY_DECREASE ? 0 : net->traits & LESS_5 ? 0.95 : 0.9;
    int64_t value = (int64_t)(channels + 4) / 8 * 8;
    value = value < 8 ? 8 : value;
    return (double)value < limit * channels ? value + 8 : value;
}

static int64_t scaled(const struct blocks *net, double channels)
{
    return rounded(net, channels * net->width);
}

/* A convolution with padding that keeps the size at stride 1, norm and activation. */
static struct rt_image conv(const struct builder *b, const char *name, struct rt_image x, int64_t out,
                            int64_t kernel, int64_t stride, int64_t groups, enum rt_op_id activation)
{
    struct rt_conv shape = {
        .out = out, .kernel_h = kernel, .stride = stride, .padding_h = kernel / 2, .groups = groups};
    if ((b->net->traits & SAME) && stride > 1 && kernel > 1) {
        int64_t rows = ((x.height + stride - 1) / stride - 1) * stride + kernel - x.height;
        int64_t cols = ((x.width + stride - 1) / stride - 1) * stride + kernel - x.width;
        shape.padding_h = 0;
        if (rows > 0 || cols > 0)
            x = rt_image_pad(b->graph, rt_image_name(b->graph, name, "pad"), x, rows > 0 ? rows : 0,
                             cols > 0 ? cols : 0);
    }
    return rt_image_conv_bn(b->graph, name, x, &shape, activation);
}

static struct rt_image depthwise(const struct builder *b, const char *name, struct rt_image x, double kernel,
                                 int64_t stride, enum rt_op_id activation)
{
    return conv(b, name, x, x.channels, (int64_t)kernel, stride, x.channels, activation);
}

/* `expand`: how many times the block's input x has. */
static struct rt_image squeeze(const struct builder *b, const struct block *block, struct rt_image x,
                               double expand)
{
    int traits = b->net->traits;
    if (!(block->squeeze > 0))
        return x;
    double channels = (double)x.channels * block->squeeze / (traits & OF_HIDDEN ? 1 : expand);
    int64_t to = traits & SQUEEZE_ROUND ? rounded(b->net, channels) : (int64_t)nearbyint(channels);
    return rt_squeeze_excitation(b->graph, x, to, traits & SQUEEZE_RELU ? RT_OP_RELU : block->activation,
                                 traits & HARD_GATE ? RT_OP_HARDSIGMOID : RT_OP_SIGMOID);
}

static struct rt_image separable(const struct builder *b, const struct block *block, struct rt_image x,
                                 int64_t stride, int64_t out)
{
    bool activates = strcmp(block->kind, "dsa") == 0;
    x = depthwise(b, "depth", x, block->numbers['k'], stride, block->activation);
    x = squeeze(b, block, x, 1);
    return conv(b, "project", x, out, 1, 1, 1, activates ? block->activation : RT_OP_COUNT);
}

static struct rt_image inverted(const struct builder *b, const struct block *block, struct rt_image x,
                                int64_t stride, int64_t out)
{
    static const struct blocks plain = {.traits = 0};
    double expand = block->numbers['e'];
    x = conv(b, "expand", x, rounded(&plain, (double)x.channels * expand), 1, 1, 1, block->activation);
    x = depthwise(b, "depth", x, block->numbers['k'], stride, block->activation);
    return conv(b, "project", squeeze(b, block, x, expand), out, 1, 1, 1, RT_OP_COUNT);
}

static struct rt_image fused(const struct builder *b, const struct block *block, struct rt_image x,
                             int64_t stride, int64_t out)
{
    static const struct blocks plain = {.traits = 0};
    double expand = block->numbers['e'], forced = block->numbers['f'];
    double in = forced > 0 ? (double)scaled(b->net, forced) : (double)x.channels;
    int64_t hidden = rounded(&plain, in * expand), groups = block->group > 0 ? hidden / block->group : 1;
    x = conv(b, "expand", x, hidden, (int64_t)block->numbers['k'], stride, groups, block->activation);
    return conv(b, "project", squeeze(b, block, x, expand), out, 1, 1, 1, RT_OP_COUNT);
}

static struct rt_image universal(const struct builder *b, const struct block *block, struct rt_image x,
                                 int64_t stride, int64_t out)
{
    static const struct blocks plain = {.traits = 0};
    double start = block->numbers['a'], middle = block->numbers['k'];
    int64_t hidden = rounded(&plain, (double)x.channels * block->numbers['e']);
    if (start > 0)
        x = depthwise(b, "start", x, start, middle > 0 ? 1 : stride, RT_OP_COUNT);
    x = conv(b, "expand", x, hidden, 1, 1, 1, block->activation);
    if (middle > 0)
        x = depthwise(b, "depth", x, middle, stride, block->activation);
    return conv(b, "project", x, out, 1, 1, 1, RT_OP_COUNT);
}

static struct rt_image one_block(const struct builder *b, const struct block *block, struct rt_image x,
                                 int64_t stride)
{
    int64_t out = scaled(b->net, block->numbers['c']);
    bool dsa = strcmp(block->kind, "dsa") == 0, plain = strcmp(block->kind, "cn") == 0;
    bool same = stride == 1 && x.channels == out && !block->noskip && !dsa;
    struct rt_image y;
    if (plain)
        y = conv(b, "conv", x, out, (int64_t)block->numbers['k'], stride, 1, block->activation);
    else if (strncmp(block->kind, "ds", 2) == 0)
        y = separable(b, block, x, stride, out);
    else if (strcmp(block->kind, "er") == 0)
        y = fused(b, block, x, stride, out);
    else if (strcmp(block->kind, "uir") == 0)
        y = universal(b, block, x, stride, out);
    else
        y = inverted(b, block, x, stride, out);
    return same && (!plain || block->skip) ? rt_image_add(b->graph, "add", y, x) : y;
}

/* --- stages --- */

static const char *kept_name(struct rt_graph *graph, const char *format, int stage, int block)
{
    char text[40];
    int length = snprintf(text, sizeof text, format, stage, block);
    return rt_graph_text(graph, text, (size_t)length);
}

/* All of a block's repetitions but the first are alike, and the input's channels those of the output. */
static struct rt_image repeat_block(const struct builder *b, const struct block *block, struct rt_image x,
                                    int64_t count, int stage, int number)
{
    int64_t stride = (int64_t)block->numbers['s'];
    rt_graph_add_block(b->graph, kept_name(b->graph, "stage%d.%d", stage, number), RT_BLOCK_LAYER, 1);
    x = one_block(b, block, x, number > 0 ? 1 : stride);
    if (count == 1)
        return x;
    rt_graph_add_block(b->graph, kept_name(b->graph, "stage%d.%d+", stage, number + 1), RT_BLOCK_LAYER,
                       count - 1);
    return one_block(b, block, x, 1);
}

static struct rt_image run_stages(const struct builder *b, struct rt_image x)
{
    const char *text = b->net->stages;
    for (int stage = 1; *text != '\0'; stage++) {
        size_t length = strcspn(text, " ");
        bool single = memchr(text, '+', length) == NULL; /* only those are scaled in depth */
        bool end = stage == 1 || text[length] == '\0';
        double depth = single && !(end && (b->net->traits & FIXED_ENDS)) ? b->net->depth : 1;
        for (int number = 0; number == 0 || *text == '+';) {
            struct block block;
            text = read_block(text + (*text == '+'), b->net->activation, &block);
            int64_t count = (int64_t)ceil(block.numbers['r'] * depth - 1e-9);
            x = repeat_block(b, &block, x, count, stage, number);
            number += (int)count;
        }
        text += *text == ' ';
    }
    return x;
}

/* The last convolution, the mean of every channel, the classifier. */
static void head(const struct builder *b, struct rt_image x, int64_t classes)
{
    const struct blocks *net = b->net;
    struct rt_graph *graph = b->graph;
    const struct rt_conv last = {.out = net->head, .kernel_h = 1, .bias = (net->traits & HEAD_BIAS) != 0};
    rt_graph_add_block(graph, "head", RT_BLOCK_LAST, 1);
    if (net->traits & POOL_FIRST) {
        x = rt_image_conv(graph, "conv_head", rt_image_adaptive_avg_pool(graph, "mean", x, 1, 1), &last);
        if (net->traits & HEAD_NORM)
            x = rt_image_batchnorm(graph, "norm_head", x);
        x = rt_image_activation(graph, "act", net->activation, x, true);
    } else {
        if (!(net->traits & NO_HEAD))
            x = rt_image_conv_bn(graph, "last", x, &last, net->activation);
        x = rt_image_adaptive_avg_pool(graph, "mean", x, 1, 1);
    }
    rt_image_linear(graph, "classifier", rt_image_flatten(graph, "flatten", x), classes, true);
}

static void build(const struct rt_vision *vision, struct rt_graph *graph)
{
    const struct builder b = {vision->settings, graph};
    int64_t stem = b.net->traits & FIXED_STEM ? b.net->stem : scaled(b.net, (double)b.net->stem);
    rt_graph_add_block(graph, "stem", RT_BLOCK_FIRST, 1);
    struct rt_image x =
        conv(&b, "stem", rt_image_input(graph, 3), stem, b.net->stem_kernel, 2, 1, b.net->activation);
    head(&b, run_stages(&b, x), vision->classes);
}

#define STAGES(name_, text) static const char name_[] = text;
#define BLOCKS(...)
#include "models/networks/vision/blocks.def"
#undef STAGES
#undef BLOCKS

/* clang-format off */
#define STAGES(...)
#define BLOCKS(name_, aliases_, side, labels, ...) \
    {name_, aliases_, .image = side, .classes = labels, .build = build, \
     .settings = &(const struct blocks){__VA_ARGS__}},
/* clang-format on */
static const struct rt_vision models[] = {
#include "models/networks/vision/blocks.def"
};

const struct rt_vision_family rt_vision_blocks = {"MobileNet, EfficientNet (timm)", models, RT_COUNT(models)};
