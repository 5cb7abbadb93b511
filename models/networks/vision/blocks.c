/* timm's small networks (MobileNet v1 to v4, MNASNet, EfficientNet and v2, LCNet, TinyNet, FBNet,
 * HardCoRe-NAS ...): timm/models/efficientnet.py and mobilenetv3.py. They are written as timm writes them, by
 * strings
 * (_efficientnet_builder.py): blocks of a stage are separated by "+", stages by blanks, and
 * "ir_r2_k3_s2_e6_c24_se0.25" is two inverted residuals, 3 x 3, the first of stride 2, 6 times the channels
 * between, 24 out, squeeze-excitation of a quarter of the input's channels. Widths and depths scale them.
 *
 *   ds, dsa  depthwise, 1 x 1; dsa: with an activation behind it
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
    bool same = stride == 1 && x.channels == out && !block->noskip, plain = strcmp(block->kind, "cn") == 0;
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

/* clang-format off */
static const char efficientnet_b0[] =
    "ds_r1_k3_s1_e1_c16_se0.25 ir_r2_k3_s2_e6_c24_se0.25 ir_r2_k5_s2_e6_c40_se0.25 "
    "ir_r3_k3_s2_e6_c80_se0.25 ir_r3_k5_s1_e6_c112_se0.25 ir_r4_k5_s2_e6_c192_se0.25 "
    "ir_r1_k3_s1_e6_c320_se0.25";
static const char efficientnet_el[] =
    "er_r1_k3_s1_e4_c24_fc24_noskip er_r2_k3_s2_e8_c32 er_r4_k3_s2_e8_c48 ir_r5_k5_s2_e8_c96 "
    "ir_r4_k5_s1_e8_c144 ir_r2_k5_s2_e8_c192";
static const char efficientnet_lite0[] =
    "ds_r1_k3_s1_e1_c16 ir_r2_k3_s2_e6_c24 ir_r2_k5_s2_e6_c40 ir_r3_k3_s2_e6_c80 ir_r3_k5_s1_e6_c112 "
    "ir_r4_k5_s2_e6_c192 ir_r1_k3_s1_e6_c320";
static const char efficientnetv2_l[] =
    "cn_r4_k3_s1_e1_c32_skip er_r7_k3_s2_e4_c64 er_r7_k3_s2_e4_c96 ir_r10_k3_s2_e4_c192_se0.25 "
    "ir_r19_k3_s1_e6_c224_se0.25 ir_r25_k3_s2_e6_c384_se0.25 ir_r7_k3_s1_e6_c640_se0.25";
static const char efficientnetv2_m[] =
    "cn_r3_k3_s1_e1_c24_skip er_r5_k3_s2_e4_c48 er_r5_k3_s2_e4_c80 ir_r7_k3_s2_e4_c160_se0.25 "
    "ir_r14_k3_s1_e6_c176_se0.25 ir_r18_k3_s2_e6_c304_se0.25 ir_r5_k3_s1_e6_c512_se0.25";
static const char efficientnetv2_rw_m[] =
    "er_r3_k3_s1_e1_c24 er_r5_k3_s2_e4_c48 er_r5_k3_s2_e4_c64 ir_r8_k3_s2_e4_c128_se0.25 "
    "ir_r15_k3_s1_e6_c160_se0.25 ir_r24_k3_s2_e6_c272_se0.25";
static const char efficientnetv2_rw_s[] =
    "er_r2_k3_s1_e1_c24 er_r4_k3_s2_e4_c48 er_r4_k3_s2_e4_c64 ir_r6_k3_s2_e4_c128_se0.25 "
    "ir_r9_k3_s1_e6_c160_se0.25 ir_r15_k3_s2_e6_c272_se0.25";
static const char efficientnetv2_rw_t[] =
    "cn_r2_k3_s1_e1_c24_skip er_r4_k3_s2_e4_c48 er_r4_k3_s2_e4_c64 ir_r6_k3_s2_e4_c128_se0.25 "
    "ir_r9_k3_s1_e6_c160_se0.25 ir_r15_k3_s2_e6_c256_se0.25";
static const char efficientnetv2_xl[] =
    "cn_r4_k3_s1_e1_c32_skip er_r8_k3_s2_e4_c64 er_r8_k3_s2_e4_c96 ir_r16_k3_s2_e4_c192_se0.25 "
    "ir_r24_k3_s1_e6_c256_se0.25 ir_r32_k3_s2_e6_c512_se0.25 ir_r8_k3_s1_e6_c640_se0.25";
static const char fbnetc_100[] =
    "ir_r1_k3_s1_e1_c16 ir_r1_k3_s2_e6_c24+ir_r2_k3_s1_e1_c24 "
    "ir_r1_k5_s2_e6_c32+ir_r1_k5_s1_e3_c32+ir_r1_k5_s1_e6_c32+ir_r1_k3_s1_e6_c32 "
    "ir_r1_k5_s2_e6_c64+ir_r1_k5_s1_e3_c64+ir_r2_k5_s1_e6_c64 ir_r3_k5_s1_e6_c112+ir_r1_k5_s1_e3_c112 "
    "ir_r4_k5_s2_e6_c184 ir_r1_k3_s1_e6_c352";
static const char mnasnet_050[] =
    "ds_r1_k3_s1_c16_noskip ir_r3_k3_s2_e3_c24 ir_r3_k5_s2_e3_c40 ir_r3_k5_s2_e6_c80 ir_r2_k3_s1_e6_c96 "
    "ir_r4_k5_s2_e6_c192 ir_r1_k3_s1_e6_c320_noskip";
static const char mnasnet_a1[] =
    "ds_r1_k3_s1_e1_c16_noskip ir_r2_k3_s2_e6_c24 ir_r3_k5_s2_e3_c40_se0.25 ir_r4_k3_s2_e6_c80 "
    "ir_r2_k3_s1_e6_c112_se0.25 ir_r3_k5_s2_e6_c160_se0.25 ir_r1_k3_s1_e6_c320";
static const char mnasnet_small[] =
    "ds_r1_k3_s1_c8 ir_r1_k3_s2_e3_c16 ir_r2_k3_s2_e6_c16 ir_r4_k5_s2_e6_c32_se0.25 "
    "ir_r3_k3_s1_e6_c32_se0.25 ir_r3_k5_s2_e6_c88_se0.25 ir_r1_k3_s1_e6_c144";
static const char mobilenet_edgetpu_100[] =
    "cn_r1_k1_s1_c16 er_r1_k3_s2_e8_c32+er_r3_k3_s1_e4_c32 er_r1_k3_s2_e8_c48+er_r3_k3_s1_e4_c48 "
    "ir_r1_k3_s2_e8_c96+ir_r3_k3_s1_e4_c96 ir_r1_k3_s1_e8_c96_noskip+ir_r3_k3_s1_e4_c96 "
    "ir_r1_k5_s2_e8_c160+ir_r3_k5_s1_e4_c160 ir_r1_k3_s1_e8_c192";
static const char mobilenet_edgetpu_v2_l[] =
    "cn_r1_k1_s1_c32 er_r1_k3_s2_e8_c64+er_r1_k3_s1_e4_gs128_c64 "
    "er_r1_k3_s2_e8_c96+er_r1_k3_s1_e4_gs128_c96+er_r1_k3_s1_e4_c96+er_r1_k3_s1_e4_gs128_c96 "
    "er_r1_k3_s2_e8_c192+ir_r3_k3_s1_e4_c192 ir_r1_k3_s1_e8_c240+ir_r3_k3_s1_e4_c240 "
    "ir_r1_k3_s2_e8_c256+ir_r3_k3_s1_e4_c256 ir_r1_k3_s1_e8_c384";
static const char mobilenet_edgetpu_v2_m[] =
    "cn_r1_k1_s1_c32 er_r1_k3_s2_e8_c64+er_r1_k3_s1_e4_gs64_c64 "
    "er_r1_k3_s2_e8_c80+er_r1_k3_s1_e4_gs64_c80+er_r1_k3_s1_e4_c80+er_r1_k3_s1_e4_gs64_c80 "
    "er_r1_k3_s2_e8_c160+ir_r3_k3_s1_e4_c160 ir_r1_k3_s1_e8_c192+ir_r3_k3_s1_e4_c192 "
    "ir_r1_k3_s2_e8_c240+ir_r3_k3_s1_e4_c240 ir_r1_k3_s1_e8_c320";
static const char mobilenet_edgetpu_v2_s[] =
    "cn_r1_k1_s1_c24 er_r1_k3_s2_e8_c48+er_r1_k3_s1_e4_gs64_c48 "
    "er_r1_k3_s2_e8_c64+er_r1_k3_s1_e4_gs64_c64+er_r1_k3_s1_e4_c64+er_r1_k3_s1_e4_gs64_c64 "
    "er_r1_k3_s2_e8_c128+ir_r3_k3_s1_e4_c128 ir_r1_k3_s1_e8_c160+ir_r3_k3_s1_e4_c160 "
    "ir_r1_k3_s2_e8_c192+ir_r3_k3_s1_e4_c192 ir_r1_k3_s1_e8_c256";
static const char mobilenet_edgetpu_v2_xs[] =
    "cn_r1_k1_s1_c16 er_r1_k3_s2_e8_c32+er_r1_k3_s1_e4_gs64_c32 "
    "er_r1_k3_s2_e8_c48+er_r1_k3_s1_e4_gs64_c48+er_r1_k3_s1_e4_c48+er_r1_k3_s1_e4_gs64_c48 "
    "er_r1_k3_s2_e8_c96+ir_r3_k3_s1_e4_c96 ir_r1_k3_s1_e8_c144+ir_r3_k3_s1_e4_c144 "
    "ir_r1_k3_s2_e8_c160+ir_r3_k3_s1_e4_c160 ir_r1_k3_s1_e8_c192";
static const char mobilenetv1_100[] =
    "dsa_r1_k3_s1_c64 dsa_r2_k3_s2_c128 dsa_r2_k3_s2_c256 dsa_r6_k3_s2_c512 dsa_r2_k3_s2_c1024";
static const char mobilenetv2_035[] =
    "ds_r1_k3_s1_c16 ir_r2_k3_s2_e6_c24 ir_r3_k3_s2_e6_c32 ir_r4_k3_s2_e6_c64 ir_r3_k3_s1_e6_c96 "
    "ir_r3_k3_s2_e6_c160 ir_r1_k3_s1_e6_c320";
static const char spnasnet_100[] =
    "ds_r1_k3_s1_c16_noskip ir_r3_k3_s2_e3_c24 ir_r1_k5_s2_e6_c40+ir_r3_k3_s1_e3_c40 "
    "ir_r1_k5_s2_e6_c80+ir_r3_k3_s1_e3_c80 ir_r1_k5_s1_e6_c96+ir_r3_k5_s1_e3_c96 ir_r4_k5_s2_e6_c192 "
    "ir_r1_k3_s1_e6_c320_noskip";
static const char test_efficientnet[] =
    "cn_r1_k3_s1_e1_c16_skip er_r1_k3_s2_e4_c24 er_r1_k3_s2_e4_c32 ir_r1_k3_s2_e4_c48_se0.25 "
    "ir_r1_k3_s2_e4_c64_se0.25";
static const char tf_efficientnetv2_b0[] =
    "cn_r1_k3_s1_e1_c16_skip er_r2_k3_s2_e4_c32 er_r2_k3_s2_e4_c48 ir_r3_k3_s2_e4_c96_se0.25 "
    "ir_r5_k3_s1_e6_c112_se0.25 ir_r8_k3_s2_e6_c192_se0.25";
static const char fbnetv3_b[] =
    "ds_r2_k3_s1_e1_c16 ir_r1_k5_s2_e4_c24+ir_r3_k5_s1_e2_c24 "
    "ir_r1_k5_s2_e5_c40_se0.25+ir_r4_k5_s1_e3_c40_se0.25 ir_r1_k5_s2_e5_c72+ir_r4_k3_s1_e3_c72 "
    "ir_r1_k3_s1_e5_c120_se0.25+ir_r5_k5_s1_e3_c120_se0.25 "
    "ir_r1_k3_s2_e6_c184_se0.25+ir_r5_k5_s1_e4_c184_se0.25+ir_r1_k5_s1_e6_c224_se0.25 cn_r1_k1_s1_c1344";
static const char fbnetv3_d[] =
    "ds_r2_k3_s1_e1_c16 ir_r1_k3_s2_e5_c24+ir_r5_k3_s1_e2_c24 "
    "ir_r1_k5_s2_e4_c40_se0.25+ir_r4_k3_s1_e3_c40_se0.25 ir_r1_k3_s2_e5_c72+ir_r4_k3_s1_e3_c72 "
    "ir_r1_k3_s1_e5_c128_se0.25+ir_r6_k5_s1_e3_c128_se0.25 "
    "ir_r1_k3_s2_e6_c208_se0.25+ir_r5_k5_s1_e5_c208_se0.25+ir_r1_k5_s1_e6_c240_se0.25 cn_r1_k1_s1_c1440";
static const char fbnetv3_g[] =
    "ds_r3_k3_s1_e1_c24 ir_r1_k5_s2_e4_c40+ir_r4_k5_s1_e2_c40 "
    "ir_r1_k5_s2_e4_c56_se0.25+ir_r4_k5_s1_e3_c56_se0.25 ir_r1_k5_s2_e5_c104+ir_r4_k3_s1_e3_c104 "
    "ir_r1_k3_s1_e5_c160_se0.25+ir_r8_k5_s1_e3_c160_se0.25 "
    "ir_r1_k3_s2_e6_c264_se0.25+ir_r6_k5_s1_e5_c264_se0.25+ir_r2_k5_s1_e6_c288_se0.25 cn_r1_k1_s1_c1728";
static const char hardcorenas_a[] =
    "ds_r1_k3_s1_e1_c16_nre ir_r1_k5_s2_e3_c24_nre+ir_r1_k5_s1_e3_c24_nre_se0.25 "
    "ir_r1_k5_s2_e3_c40_nre+ir_r1_k5_s1_e6_c40_nre_se0.25 "
    "ir_r1_k5_s2_e6_c80_se0.25+ir_r1_k5_s1_e6_c80_se0.25 "
    "ir_r1_k5_s1_e6_c112_se0.25+ir_r1_k5_s1_e6_c112_se0.25 "
    "ir_r1_k5_s2_e6_c192_se0.25+ir_r1_k5_s1_e6_c192_se0.25 cn_r1_k1_s1_c960";
static const char hardcorenas_b[] =
    "ds_r1_k3_s1_e1_c16_nre ir_r1_k5_s2_e3_c24_nre+ir_r1_k5_s1_e3_c24_nre_se0.25+ir_r1_k3_s1_e3_c24_nre "
    "ir_r1_k5_s2_e3_c40_nre+ir_r1_k5_s1_e3_c40_nre+ir_r1_k5_s1_e3_c40_nre "
    "ir_r1_k5_s2_e3_c80+ir_r1_k5_s1_e3_c80+ir_r1_k3_s1_e3_c80+ir_r1_k3_s1_e3_c80 "
    "ir_r1_k5_s1_e3_c112+ir_r1_k3_s1_e3_c112+ir_r1_k3_s1_e3_c112+ir_r1_k3_s1_e3_c112 "
    "ir_r1_k5_s2_e6_c192_se0.25+ir_r1_k5_s1_e6_c192_se0.25+ir_r1_k3_s1_e3_c192_se0.25 cn_r1_k1_s1_c960";
static const char hardcorenas_c[] =
    "ds_r1_k3_s1_e1_c16_nre ir_r1_k5_s2_e3_c24_nre+ir_r1_k5_s1_e3_c24_nre_se0.25 "
    "ir_r1_k5_s2_e3_c40_nre+ir_r1_k5_s1_e3_c40_nre+ir_r1_k5_s1_e3_c40_nre+ir_r1_k5_s1_e3_c40_nre "
    "ir_r1_k5_s2_e4_c80+ir_r1_k5_s1_e6_c80_se0.25+ir_r1_k3_s1_e3_c80+ir_r1_k3_s1_e3_c80 "
    "ir_r1_k5_s1_e6_c112_se0.25+ir_r1_k3_s1_e3_c112+ir_r1_k3_s1_e3_c112+ir_r1_k3_s1_e3_c112 "
    "ir_r1_k5_s2_e6_c192_se0.25+ir_r1_k5_s1_e6_c192_se0.25+ir_r1_k3_s1_e3_c192_se0.25 cn_r1_k1_s1_c960";
static const char hardcorenas_d[] =
    "ds_r1_k3_s1_e1_c16_nre ir_r1_k5_s2_e3_c24_nre_se0.25+ir_r1_k5_s1_e3_c24_nre_se0.25 "
    "ir_r1_k5_s2_e3_c40_nre_se0.25+ir_r1_k5_s1_e4_c40_nre_se0.25+ir_r1_k3_s1_e3_c40_nre_se0.25 "
    "ir_r1_k5_s2_e4_c80_se0.25+ir_r1_k3_s1_e3_c80_se0.25+ir_r1_k3_s1_e3_c80_se0.25+ir_r1_k3_s1_e3_c80_se0.25 "
    "ir_r1_k3_s1_e4_c112_se0.25+ir_r1_k5_s1_e4_c112_se0.25+ir_r1_k3_s1_e3_c112_se0.25+ir_r1_k5_s1_e3_c112_se0.25 "
    "ir_r1_k5_s2_e6_c192_se0.25+ir_r1_k5_s1_e6_c192_se0.25+ir_r1_k5_s1_e6_c192_se0.25+ir_r1_k3_s1_e6_c192_se0.25 "
    "cn_r1_k1_s1_c960";
static const char hardcorenas_e[] =
    "ds_r1_k3_s1_e1_c16_nre ir_r1_k5_s2_e3_c24_nre_se0.25+ir_r1_k5_s1_e3_c24_nre_se0.25 "
    "ir_r1_k5_s2_e6_c40_nre_se0.25+ir_r1_k5_s1_e4_c40_nre_se0.25+ir_r1_k5_s1_e4_c40_nre_se0.25+"
    "ir_r1_k3_s1_e3_c40_nre_se0.25 "
    "ir_r1_k5_s2_e4_c80_se0.25+ir_r1_k3_s1_e6_c80_se0.25 "
    "ir_r1_k5_s1_e6_c112_se0.25+ir_r1_k5_s1_e6_c112_se0.25+ir_r1_k5_s1_e6_c112_se0.25+ir_r1_k5_s1_e3_c112_se0.25 "
    "ir_r1_k5_s2_e6_c192_se0.25+ir_r1_k5_s1_e6_c192_se0.25+ir_r1_k5_s1_e6_c192_se0.25+ir_r1_k3_s1_e6_c192_se0.25 "
    "cn_r1_k1_s1_c960";
static const char hardcorenas_f[] =
    "ds_r1_k3_s1_e1_c16_nre ir_r1_k5_s2_e3_c24_nre_se0.25+ir_r1_k5_s1_e3_c24_nre_se0.25 "
    "ir_r1_k5_s2_e6_c40_nre_se0.25+ir_r1_k5_s1_e6_c40_nre_se0.25 "
    "ir_r1_k5_s2_e6_c80_se0.25+ir_r1_k5_s1_e6_c80_se0.25+ir_r1_k3_s1_e3_c80_se0.25+ir_r1_k3_s1_e3_c80_se0.25 "
    "ir_r1_k3_s1_e6_c112_se0.25+ir_r1_k5_s1_e6_c112_se0.25+ir_r1_k5_s1_e6_c112_se0.25+ir_r1_k3_s1_e3_c112_se0.25 "
    "ir_r1_k5_s2_e6_c192_se0.25+ir_r1_k5_s1_e6_c192_se0.25+ir_r1_k3_s1_e6_c192_se0.25+ir_r1_k3_s1_e6_c192_se0.25 "
    "cn_r1_k1_s1_c960";
static const char lcnet_035[] =
    "dsa_r1_k3_s1_c32 dsa_r2_k3_s2_c64 dsa_r2_k3_s2_c128 dsa_r1_k3_s2_c256+dsa_r1_k5_s1_c256 "
    "dsa_r4_k5_s1_c256 dsa_r2_k5_s2_c512_se0.25";
static const char mobilenetv3_large_075[] =
    "ds_r1_k3_s1_e1_c16_nre ir_r1_k3_s2_e4_c24_nre+ir_r1_k3_s1_e3_c24_nre ir_r3_k5_s2_e3_c40_se0.25_nre "
    "ir_r1_k3_s2_e6_c80+ir_r1_k3_s1_e2.5_c80+ir_r2_k3_s1_e2.3_c80 ir_r2_k3_s1_e6_c112_se0.25 "
    "ir_r3_k5_s2_e6_c160_se0.25 cn_r1_k1_s1_c960";
static const char mobilenetv3_rw[] =
    "ds_r1_k3_s1_e1_c16_nre_noskip ir_r1_k3_s2_e4_c24_nre+ir_r1_k3_s1_e3_c24_nre "
    "ir_r3_k5_s2_e3_c40_se0.25_nre ir_r1_k3_s2_e6_c80+ir_r1_k3_s1_e2.5_c80+ir_r2_k3_s1_e2.3_c80 "
    "ir_r2_k3_s1_e6_c112_se0.25 ir_r3_k5_s2_e6_c160_se0.25 cn_r1_k1_s1_c960";
static const char mobilenetv3_small_050[] =
    "ds_r1_k3_s2_e1_c16_se0.25_nre ir_r1_k3_s2_e4.5_c24_nre+ir_r1_k3_s1_e3.67_c24_nre "
    "ir_r1_k5_s2_e4_c40_se0.25+ir_r2_k5_s1_e6_c40_se0.25 ir_r2_k5_s1_e3_c48_se0.25 "
    "ir_r3_k5_s2_e6_c96_se0.25 cn_r1_k1_s1_c576";
static const char mobilenetv4_conv_large[] =
    "er_r1_k3_s2_e4_c48 uir_r1_a3_k5_s2_e4_c96+uir_r1_a3_k3_s1_e4_c96 "
    "uir_r1_a3_k5_s2_e4_c192+uir_r3_a3_k3_s1_e4_c192+uir_r1_a3_k5_s1_e4_c192+uir_r5_a5_k3_s1_e4_c192+"
    "uir_r1_a3_k0_s1_e4_c192 "
    "uir_r4_a5_k5_s2_e4_c512+uir_r1_a5_k0_s1_e4_c512+uir_r1_a5_k3_s1_e4_c512+uir_r2_a5_k0_s1_e4_c512+"
    "uir_r1_a5_k3_s1_e4_c512+uir_r1_a5_k5_s1_e4_c512+uir_r3_a5_k0_s1_e4_c512 "
    "cn_r1_k1_s1_c960";
static const char mobilenetv4_conv_medium[] =
    "er_r1_k3_s2_e4_c48 uir_r1_a3_k5_s2_e4_c80+uir_r1_a3_k3_s1_e2_c80 "
    "uir_r1_a3_k5_s2_e6_c160+uir_r2_a3_k3_s1_e4_c160+uir_r1_a3_k5_s1_e4_c160+uir_r1_a3_k3_s1_e4_c160+"
    "uir_r1_a3_k0_s1_e4_c160+uir_r1_a0_k0_s1_e2_c160+uir_r1_a3_k0_s1_e4_c160 "
    "uir_r1_a5_k5_s2_e6_c256+uir_r1_a5_k5_s1_e4_c256+uir_r2_a3_k5_s1_e4_c256+uir_r1_a0_k0_s1_e4_c256+"
    "uir_r1_a3_k0_s1_e4_c256+uir_r1_a3_k5_s1_e2_c256+uir_r1_a5_k5_s1_e4_c256+uir_r2_a0_k0_s1_e4_c256+"
    "uir_r1_a5_k0_s1_e2_c256 "
    "cn_r1_k1_s1_c960";
static const char mobilenetv4_conv_small[] =
    "cn_r1_k3_s2_e1_c32+cn_r1_k1_s1_e1_c32 cn_r1_k3_s2_e1_c96+cn_r1_k1_s1_e1_c64 "
    "uir_r1_a5_k5_s2_e3_c96+uir_r4_a0_k3_s1_e2_c96+uir_r1_a3_k0_s1_e4_c96 "
    "uir_r1_a3_k3_s2_e6_c128+uir_r1_a5_k5_s1_e4_c128+uir_r1_a0_k5_s1_e4_c128+uir_r1_a0_k5_s1_e3_c128+"
    "uir_r2_a0_k3_s1_e4_c128 "
    "cn_r1_k1_s1_c960";
static const char tf_mobilenetv3_large_minimal_100[] =
    "ds_r1_k3_s1_e1_c16 ir_r1_k3_s2_e4_c24+ir_r1_k3_s1_e3_c24 ir_r3_k3_s2_e3_c40 "
    "ir_r1_k3_s2_e6_c80+ir_r1_k3_s1_e2.5_c80+ir_r2_k3_s1_e2.3_c80 ir_r2_k3_s1_e6_c112 "
    "ir_r3_k3_s2_e6_c160 cn_r1_k1_s1_c960";
static const char tf_mobilenetv3_small_minimal_100[] =
    "ds_r1_k3_s2_e1_c16 ir_r1_k3_s2_e4.5_c24+ir_r1_k3_s1_e3.67_c24 ir_r1_k3_s2_e4_c40+ir_r2_k3_s1_e6_c40 "
    "ir_r2_k3_s1_e3_c48 ir_r3_k3_s2_e6_c96 cn_r1_k1_s1_c576";

#define BLOCKS(side, labels, ...) \
    .image = side, .classes = labels, .build = build, .settings = &(const struct blocks){__VA_ARGS__}
static const struct rt_vision models[] = {
    {"timm/efficientnet_b0", NULL, BLOCKS(224, 1000, efficientnet_b0, 1, 1, 32, 3, 1280, RT_OP_SILU, 0)},
    {"timm/efficientnet_b1", NULL, BLOCKS(240, 1000, efficientnet_b0, 1, 1.1, 32, 3, 1280, RT_OP_SILU, 0)},
    {"timm/efficientnet_b2", "efficientnet_b2a", BLOCKS(256, 1000, efficientnet_b0, 1.1, 1.2, 32, 3, 1408, RT_OP_SILU, 0)},
    {"timm/efficientnet_b3", "efficientnet_b3a", BLOCKS(288, 1000, efficientnet_b0, 1.2, 1.4, 32, 3, 1536, RT_OP_SILU, 0)},
    {"timm/efficientnet_b4", NULL, BLOCKS(320, 1000, efficientnet_b0, 1.4, 1.8, 32, 3, 1792, RT_OP_SILU, 0)},
    {"timm/efficientnet_b5", NULL, BLOCKS(448, 1000, efficientnet_b0, 1.6, 2.2, 32, 3, 2048, RT_OP_SILU, 0)},
    {"timm/efficientnet_b6", NULL, BLOCKS(528, 1000, efficientnet_b0, 1.8, 2.6, 32, 3, 2304, RT_OP_SILU, 0)},
    {"timm/efficientnet_b7", NULL, BLOCKS(600, 1000, efficientnet_b0, 2, 3.1, 32, 3, 2560, RT_OP_SILU, 0)},
    {"efficientnet_b8", NULL, BLOCKS(672, 1000, efficientnet_b0, 2.2, 3.6, 32, 3, 2816, RT_OP_SILU, 0)},
    {"efficientnet_el", NULL, BLOCKS(300, 1000, efficientnet_el, 1.2, 1.4, 32, 3, 1536, RT_OP_RELU, 0)},
    {"efficientnet_em", NULL, BLOCKS(240, 1000, efficientnet_el, 1, 1.1, 32, 3, 1280, RT_OP_RELU, 0)},
    {"efficientnet_es", NULL, BLOCKS(224, 1000, efficientnet_el, 1, 1, 32, 3, 1280, RT_OP_RELU, 0)},
    {"efficientnet_l2", NULL, BLOCKS(800, 1000, efficientnet_b0, 4.3, 5.3, 32, 3, 5504, RT_OP_SILU, 0)},
    {"efficientnet_lite0", NULL, BLOCKS(224, 1000, efficientnet_lite0, 1, 1, 32, 3, 1280, RT_OP_RELU6, FIXED_STEM | FIXED_ENDS)},
    {"efficientnet_lite1", NULL, BLOCKS(240, 1000, efficientnet_lite0, 1, 1.1, 32, 3, 1280, RT_OP_RELU6, FIXED_STEM | FIXED_ENDS)},
    {"efficientnet_lite2", NULL, BLOCKS(260, 1000, efficientnet_lite0, 1.1, 1.2, 32, 3, 1280, RT_OP_RELU6, FIXED_STEM | FIXED_ENDS)},
    {"efficientnet_lite3", NULL, BLOCKS(300, 1000, efficientnet_lite0, 1.2, 1.4, 32, 3, 1280, RT_OP_RELU6, FIXED_STEM | FIXED_ENDS)},
    {"efficientnet_lite4", NULL, BLOCKS(380, 1000, efficientnet_lite0, 1.4, 1.8, 32, 3, 1280, RT_OP_RELU6, FIXED_STEM | FIXED_ENDS)},
    {"efficientnetv2_l", NULL, BLOCKS(384, 1000, efficientnetv2_l, 1, 1, 32, 3, 1280, RT_OP_SILU, 0)},
    {"efficientnetv2_m", NULL, BLOCKS(320, 1000, efficientnetv2_m, 1, 1, 24, 3, 1280, RT_OP_SILU, 0)},
    {"efficientnetv2_rw_m", NULL, BLOCKS(320, 1000, efficientnetv2_rw_m, 1.2, 1, 24, 3, 2152, RT_OP_SILU, 0)},
    {"efficientnetv2_rw_s", NULL, BLOCKS(288, 1000, efficientnetv2_rw_s, 1, 1, 24, 3, 1792, RT_OP_SILU, 0)},
    {"efficientnetv2_rw_t", NULL, BLOCKS(224, 1000, efficientnetv2_rw_t, 0.8, 0.9, 24, 3, 1024, RT_OP_SILU, 0)},
    {"efficientnetv2_s", NULL, BLOCKS(288, 1000, efficientnetv2_rw_t, 1, 1, 24, 3, 1280, RT_OP_SILU, 0)},
    {"efficientnetv2_xl", NULL, BLOCKS(384, 1000, efficientnetv2_xl, 1, 1, 32, 3, 1280, RT_OP_SILU, 0)},
    {"fbnetc_100", NULL, BLOCKS(224, 1000, fbnetc_100, 1, 1, 16, 3, 1984, RT_OP_RELU, 0)},
    {"mnasnet_050", NULL, BLOCKS(224, 1000, mnasnet_050, 0.5, 1, 32, 3, 1280, RT_OP_RELU, 0)},
    {"mnasnet_075", NULL, BLOCKS(224, 1000, mnasnet_050, 0.75, 1, 32, 3, 1280, RT_OP_RELU, 0)},
    {"mnasnet_b1", "mnasnet_100", BLOCKS(224, 1000, mnasnet_050, 1, 1, 32, 3, 1280, RT_OP_RELU, 0)},
    {"mnasnet_140", NULL, BLOCKS(224, 1000, mnasnet_050, 1.4, 1, 32, 3, 1280, RT_OP_RELU, 0)},
    {"mnasnet_a1", "semnasnet_100", BLOCKS(224, 1000, mnasnet_a1, 1, 1, 32, 3, 1280, RT_OP_RELU, 0)},
    {"mnasnet_small", NULL, BLOCKS(224, 1000, mnasnet_small, 1, 1, 8, 3, 1280, RT_OP_RELU, 0)},
    {"mobilenet_edgetpu_100", NULL, BLOCKS(224, 1000, mobilenet_edgetpu_100, 1, 1, 32, 3, 1280, RT_OP_RELU, 0)},
    {"mobilenet_edgetpu_v2_l", NULL, BLOCKS(224, 1000, mobilenet_edgetpu_v2_l, 1, 1, 64, 7, 1408, RT_OP_RELU, 0)},
    {"mobilenet_edgetpu_v2_m", NULL, BLOCKS(224, 1000, mobilenet_edgetpu_v2_m, 1, 1, 64, 5, 1344, RT_OP_RELU, 0)},
    {"mobilenet_edgetpu_v2_s", NULL, BLOCKS(224, 1000, mobilenet_edgetpu_v2_s, 1, 1, 64, 5, 1280, RT_OP_RELU, 0)},
    {"mobilenet_edgetpu_v2_xs", NULL, BLOCKS(224, 1000, mobilenet_edgetpu_v2_xs, 1, 1, 32, 3, 1280, RT_OP_RELU, 0)},
    {"mobilenetv1_100", NULL, BLOCKS(224, 1000, mobilenetv1_100, 1, 1, 32, 3, 0, RT_OP_RELU6, NO_HEAD)},
    {"mobilenetv1_100h", NULL, BLOCKS(224, 1000, mobilenetv1_100, 1, 1, 32, 3, 1024, RT_OP_RELU6, 0)},
    {"mobilenetv1_125", NULL, BLOCKS(224, 1000, mobilenetv1_100, 1.25, 1, 32, 3, 0, RT_OP_RELU6, NO_HEAD)},
    {"mobilenetv2_035", NULL, BLOCKS(224, 1000, mobilenetv2_035, 0.35, 1, 32, 3, 1280, RT_OP_RELU6, 0)},
    {"mobilenetv2_050", NULL, BLOCKS(224, 1000, mobilenetv2_035, 0.5, 1, 32, 3, 1280, RT_OP_RELU6, 0)},
    {"mobilenetv2_075", NULL, BLOCKS(224, 1000, mobilenetv2_035, 0.75, 1, 32, 3, 1280, RT_OP_RELU6, 0)},
    {"mobilenetv2_100", NULL, BLOCKS(224, 1000, mobilenetv2_035, 1, 1, 32, 3, 1280, RT_OP_RELU6, 0)},
    {"mobilenetv2_110d", NULL, BLOCKS(224, 1000, mobilenetv2_035, 1.1, 1.2, 32, 3, 1280, RT_OP_RELU6, FIXED_STEM | FIXED_ENDS)},
    {"mobilenetv2_120d", NULL, BLOCKS(224, 1000, mobilenetv2_035, 1.2, 1.4, 32, 3, 1280, RT_OP_RELU6, FIXED_STEM | FIXED_ENDS)},
    {"mobilenetv2_140", NULL, BLOCKS(224, 1000, mobilenetv2_035, 1.4, 1, 32, 3, 1792, RT_OP_RELU6, 0)},
    {"semnasnet_050", NULL, BLOCKS(224, 1000, mnasnet_a1, 0.5, 1, 32, 3, 1280, RT_OP_RELU, 0)},
    {"semnasnet_075", NULL, BLOCKS(224, 1000, mnasnet_a1, 0.75, 1, 32, 3, 1280, RT_OP_RELU, 0)},
    {"semnasnet_140", NULL, BLOCKS(224, 1000, mnasnet_a1, 1.4, 1, 32, 3, 1280, RT_OP_RELU, 0)},
    {"spnasnet_100", NULL, BLOCKS(224, 1000, spnasnet_100, 1, 1, 32, 3, 1280, RT_OP_RELU, 0)},
    {"test_efficientnet", NULL, BLOCKS(160, 1000, test_efficientnet, 1, 1, 24, 3, 256, RT_OP_SILU, ANY_DECREASE)},
    {"tf_efficientnet_b0", "tf_efficientnet_b0_ap, tf_efficientnet_b0_ns", BLOCKS(224, 1000, efficientnet_b0, 1, 1, 32, 3, 1280, RT_OP_SILU, SAME)},
    {"tf_efficientnet_b1", "tf_efficientnet_b1_ap, tf_efficientnet_b1_ns", BLOCKS(240, 1000, efficientnet_b0, 1, 1.1, 32, 3, 1280, RT_OP_SILU, SAME)},
    {"tf_efficientnet_b2", "tf_efficientnet_b2_ap, tf_efficientnet_b2_ns", BLOCKS(260, 1000, efficientnet_b0, 1.1, 1.2, 32, 3, 1408, RT_OP_SILU, SAME)},
    {"tf_efficientnet_b3", "tf_efficientnet_b3_ap, tf_efficientnet_b3_ns", BLOCKS(300, 1000, efficientnet_b0, 1.2, 1.4, 32, 3, 1536, RT_OP_SILU, SAME)},
    {"tf_efficientnet_b4", "tf_efficientnet_b4_ap, tf_efficientnet_b4_ns", BLOCKS(380, 1000, efficientnet_b0, 1.4, 1.8, 32, 3, 1792, RT_OP_SILU, SAME)},
    {"tf_efficientnet_b5", "tf_efficientnet_b5_ap, tf_efficientnet_b5_ns", BLOCKS(456, 1000, efficientnet_b0, 1.6, 2.2, 32, 3, 2048, RT_OP_SILU, SAME)},
    {"tf_efficientnet_b6", "tf_efficientnet_b6_ap, tf_efficientnet_b6_ns", BLOCKS(528, 1000, efficientnet_b0, 1.8, 2.6, 32, 3, 2304, RT_OP_SILU, SAME)},
    {"tf_efficientnet_b7", "tf_efficientnet_b7_ap, tf_efficientnet_b7_ns", BLOCKS(600, 1000, efficientnet_b0, 2, 3.1, 32, 3, 2560, RT_OP_SILU, SAME)},
    {"tf_efficientnet_b8", "tf_efficientnet_b8_ap", BLOCKS(672, 1000, efficientnet_b0, 2.2, 3.6, 32, 3, 2816, RT_OP_SILU, SAME)},
    {"tf_efficientnet_el", NULL, BLOCKS(300, 1000, efficientnet_el, 1.2, 1.4, 32, 3, 1536, RT_OP_RELU, SAME)},
    {"tf_efficientnet_em", NULL, BLOCKS(240, 1000, efficientnet_el, 1, 1.1, 32, 3, 1280, RT_OP_RELU, SAME)},
    {"tf_efficientnet_es", NULL, BLOCKS(224, 1000, efficientnet_el, 1, 1, 32, 3, 1280, RT_OP_RELU, SAME)},
    {"tf_efficientnet_l2", "tf_efficientnet_l2_ns_475", BLOCKS(475, 1000, efficientnet_b0, 4.3, 5.3, 32, 3, 5504, RT_OP_SILU, SAME)},
    {"tf_efficientnet_l2_ns", NULL, BLOCKS(800, 1000, efficientnet_b0, 4.3, 5.3, 32, 3, 5504, RT_OP_SILU, SAME)},
    {"tf_efficientnet_lite0", NULL, BLOCKS(224, 1000, efficientnet_lite0, 1, 1, 32, 3, 1280, RT_OP_RELU6, SAME | FIXED_STEM | FIXED_ENDS)},
    {"tf_efficientnet_lite1", NULL, BLOCKS(240, 1000, efficientnet_lite0, 1, 1.1, 32, 3, 1280, RT_OP_RELU6, SAME | FIXED_STEM | FIXED_ENDS)},
    {"tf_efficientnet_lite2", NULL, BLOCKS(260, 1000, efficientnet_lite0, 1.1, 1.2, 32, 3, 1280, RT_OP_RELU6, SAME | FIXED_STEM | FIXED_ENDS)},
    {"tf_efficientnet_lite3", NULL, BLOCKS(300, 1000, efficientnet_lite0, 1.2, 1.4, 32, 3, 1280, RT_OP_RELU6, SAME | FIXED_STEM | FIXED_ENDS)},
    {"tf_efficientnet_lite4", NULL, BLOCKS(380, 1000, efficientnet_lite0, 1.4, 1.8, 32, 3, 1280, RT_OP_RELU6, SAME | FIXED_STEM | FIXED_ENDS)},
    {"tf_efficientnetv2_b0", NULL, BLOCKS(192, 1000, tf_efficientnetv2_b0, 1, 1, 32, 3, 1280, RT_OP_SILU, SAME | ANY_DECREASE)},
    {"tf_efficientnetv2_b1", NULL, BLOCKS(192, 1000, tf_efficientnetv2_b0, 1, 1.1, 32, 3, 1280, RT_OP_SILU, SAME | ANY_DECREASE)},
    {"tf_efficientnetv2_b2", NULL, BLOCKS(208, 1000, tf_efficientnetv2_b0, 1.1, 1.2, 32, 3, 1408, RT_OP_SILU, SAME | ANY_DECREASE)},
    {"tf_efficientnetv2_b3", NULL, BLOCKS(240, 1000, tf_efficientnetv2_b0, 1.2, 1.4, 32, 3, 1536, RT_OP_SILU, SAME | ANY_DECREASE)},
    {"tf_efficientnetv2_l", "tf_efficientnetv2_l_in21ft1k", BLOCKS(384, 1000, efficientnetv2_l, 1, 1, 32, 3, 1280, RT_OP_SILU, SAME)},
    {"tf_efficientnetv2_m", "tf_efficientnetv2_m_in21ft1k", BLOCKS(384, 1000, efficientnetv2_m, 1, 1, 24, 3, 1280, RT_OP_SILU, SAME)},
    {"tf_efficientnetv2_s", "tf_efficientnetv2_s_in21ft1k", BLOCKS(300, 1000, efficientnetv2_rw_t, 1, 1, 24, 3, 1280, RT_OP_SILU, SAME)},
    {"tf_efficientnetv2_xl", "tf_efficientnetv2_xl_in21ft1k", BLOCKS(384, 1000, efficientnetv2_xl, 1, 1, 32, 3, 1280, RT_OP_SILU, SAME)},
    {"fbnetv3_b", NULL, BLOCKS(224, 1000, fbnetv3_b, 1, 1, 16, 3, 1984, RT_OP_HARDSWISH, POOL_FIRST | SQUEEZE_ROUND | HARD_GATE | LESS_5)},
    {"fbnetv3_d", NULL, BLOCKS(224, 1000, fbnetv3_d, 1, 1, 24, 3, 1984, RT_OP_HARDSWISH, POOL_FIRST | SQUEEZE_ROUND | HARD_GATE | LESS_5)},
    {"fbnetv3_g", NULL, BLOCKS(240, 1000, fbnetv3_g, 1, 1, 32, 3, 1984, RT_OP_HARDSWISH, POOL_FIRST | SQUEEZE_ROUND | HARD_GATE | LESS_5)},
    {"hardcorenas_a", NULL, BLOCKS(224, 1000, hardcorenas_a, 1, 1, 32, 3, 1280, RT_OP_HARDSWISH, POOL_FIRST | HEAD_BIAS | OF_HIDDEN | SQUEEZE_ROUND | SQUEEZE_RELU | HARD_GATE)},
    {"hardcorenas_b", NULL, BLOCKS(224, 1000, hardcorenas_b, 1, 1, 32, 3, 1280, RT_OP_HARDSWISH, POOL_FIRST | HEAD_BIAS | OF_HIDDEN | SQUEEZE_ROUND | SQUEEZE_RELU | HARD_GATE)},
    {"hardcorenas_c", NULL, BLOCKS(224, 1000, hardcorenas_c, 1, 1, 32, 3, 1280, RT_OP_HARDSWISH, POOL_FIRST | HEAD_BIAS | OF_HIDDEN | SQUEEZE_ROUND | SQUEEZE_RELU | HARD_GATE)},
    {"hardcorenas_d", NULL, BLOCKS(224, 1000, hardcorenas_d, 1, 1, 32, 3, 1280, RT_OP_HARDSWISH, POOL_FIRST | HEAD_BIAS | OF_HIDDEN | SQUEEZE_ROUND | SQUEEZE_RELU | HARD_GATE)},
    {"hardcorenas_e", NULL, BLOCKS(224, 1000, hardcorenas_e, 1, 1, 32, 3, 1280, RT_OP_HARDSWISH, POOL_FIRST | HEAD_BIAS | OF_HIDDEN | SQUEEZE_ROUND | SQUEEZE_RELU | HARD_GATE)},
    {"hardcorenas_f", NULL, BLOCKS(224, 1000, hardcorenas_f, 1, 1, 32, 3, 1280, RT_OP_HARDSWISH, POOL_FIRST | HEAD_BIAS | OF_HIDDEN | SQUEEZE_ROUND | SQUEEZE_RELU | HARD_GATE)},
    {"lcnet_035", NULL, BLOCKS(224, 1000, lcnet_035, 0.35, 1, 16, 3, 1280, RT_OP_HARDSWISH, POOL_FIRST | HEAD_BIAS | OF_HIDDEN | SQUEEZE_RELU | HARD_GATE)},
    {"lcnet_050", NULL, BLOCKS(224, 1000, lcnet_035, 0.5, 1, 16, 3, 1280, RT_OP_HARDSWISH, POOL_FIRST | HEAD_BIAS | OF_HIDDEN | SQUEEZE_RELU | HARD_GATE)},
    {"lcnet_075", NULL, BLOCKS(224, 1000, lcnet_035, 0.75, 1, 16, 3, 1280, RT_OP_HARDSWISH, POOL_FIRST | HEAD_BIAS | OF_HIDDEN | SQUEEZE_RELU | HARD_GATE)},
    {"lcnet_100", NULL, BLOCKS(224, 1000, lcnet_035, 1, 1, 16, 3, 1280, RT_OP_HARDSWISH, POOL_FIRST | HEAD_BIAS | OF_HIDDEN | SQUEEZE_RELU | HARD_GATE)},
    {"lcnet_150", NULL, BLOCKS(224, 1000, lcnet_035, 1.5, 1, 16, 3, 1280, RT_OP_HARDSWISH, POOL_FIRST | HEAD_BIAS | OF_HIDDEN | SQUEEZE_RELU | HARD_GATE)},
    {"mobilenetv3_large_075", NULL, BLOCKS(224, 1000, mobilenetv3_large_075, 0.75, 1, 16, 3, 1280, RT_OP_HARDSWISH, POOL_FIRST | HEAD_BIAS | OF_HIDDEN | SQUEEZE_ROUND | SQUEEZE_RELU | HARD_GATE)},
    {"mobilenetv3_large_100", "mobilenetv3_large_100_miil", BLOCKS(224, 1000, mobilenetv3_large_075, 1, 1, 16, 3, 1280, RT_OP_HARDSWISH, POOL_FIRST | HEAD_BIAS | OF_HIDDEN | SQUEEZE_ROUND | SQUEEZE_RELU | HARD_GATE)},
    {"mobilenetv3_rw", NULL, BLOCKS(224, 1000, mobilenetv3_rw, 1, 1, 16, 3, 1280, RT_OP_HARDSWISH, POOL_FIRST | OF_HIDDEN | HARD_GATE)},
    {"mobilenetv3_small_050", NULL, BLOCKS(224, 1000, mobilenetv3_small_050, 0.5, 1, 16, 3, 1024, RT_OP_HARDSWISH, FIXED_STEM | POOL_FIRST | HEAD_BIAS | OF_HIDDEN | SQUEEZE_ROUND | SQUEEZE_RELU | HARD_GATE)},
    {"mobilenetv3_small_075", NULL, BLOCKS(224, 1000, mobilenetv3_small_050, 0.75, 1, 16, 3, 1024, RT_OP_HARDSWISH, POOL_FIRST | HEAD_BIAS | OF_HIDDEN | SQUEEZE_ROUND | SQUEEZE_RELU | HARD_GATE)},
    {"mobilenetv3_small_100", NULL, BLOCKS(224, 1000, mobilenetv3_small_050, 1, 1, 16, 3, 1024, RT_OP_HARDSWISH, POOL_FIRST | HEAD_BIAS | OF_HIDDEN | SQUEEZE_ROUND | SQUEEZE_RELU | HARD_GATE)},
    {"mobilenetv4_conv_large", NULL, BLOCKS(384, 1000, mobilenetv4_conv_large, 1, 1, 24, 3, 1280, RT_OP_RELU, POOL_FIRST | HEAD_NORM | OF_HIDDEN)},
    {"mobilenetv4_conv_medium", NULL, BLOCKS(256, 1000, mobilenetv4_conv_medium, 1, 1, 32, 3, 1280, RT_OP_RELU, POOL_FIRST | HEAD_NORM | OF_HIDDEN)},
    {"mobilenetv4_conv_small", NULL, BLOCKS(224, 1000, mobilenetv4_conv_small, 1, 1, 32, 3, 1280, RT_OP_RELU, POOL_FIRST | HEAD_NORM | OF_HIDDEN)},
    {"mobilenetv4_conv_small_035", NULL, BLOCKS(224, 1000, mobilenetv4_conv_small, 0.35, 1, 32, 3, 1280, RT_OP_RELU, FIXED_STEM | POOL_FIRST | HEAD_NORM | OF_HIDDEN)},
    {"mobilenetv4_conv_small_050", NULL, BLOCKS(224, 1000, mobilenetv4_conv_small, 0.5, 1, 32, 3, 1280, RT_OP_RELU, FIXED_STEM | POOL_FIRST | HEAD_NORM | OF_HIDDEN)},
    {"tf_mobilenetv3_large_075", NULL, BLOCKS(224, 1000, mobilenetv3_large_075, 0.75, 1, 16, 3, 1280, RT_OP_HARDSWISH, SAME | POOL_FIRST | HEAD_BIAS | OF_HIDDEN | SQUEEZE_ROUND | SQUEEZE_RELU | HARD_GATE)},
    {"tf_mobilenetv3_large_100", NULL, BLOCKS(224, 1000, mobilenetv3_large_075, 1, 1, 16, 3, 1280, RT_OP_HARDSWISH, SAME | POOL_FIRST | HEAD_BIAS | OF_HIDDEN | SQUEEZE_ROUND | SQUEEZE_RELU | HARD_GATE)},
    {"tf_mobilenetv3_large_minimal_100", NULL, BLOCKS(224, 1000, tf_mobilenetv3_large_minimal_100, 1, 1, 16, 3, 1280, RT_OP_RELU, SAME | POOL_FIRST | HEAD_BIAS | OF_HIDDEN | SQUEEZE_ROUND | SQUEEZE_RELU | HARD_GATE)},
    {"tf_mobilenetv3_small_075", NULL, BLOCKS(224, 1000, mobilenetv3_small_050, 0.75, 1, 16, 3, 1024, RT_OP_HARDSWISH, SAME | POOL_FIRST | HEAD_BIAS | OF_HIDDEN | SQUEEZE_ROUND | SQUEEZE_RELU | HARD_GATE)},
    {"tf_mobilenetv3_small_100", NULL, BLOCKS(224, 1000, mobilenetv3_small_050, 1, 1, 16, 3, 1024, RT_OP_HARDSWISH, SAME | POOL_FIRST | HEAD_BIAS | OF_HIDDEN | SQUEEZE_ROUND | SQUEEZE_RELU | HARD_GATE)},
    {"tf_mobilenetv3_small_minimal_100", NULL, BLOCKS(224, 1000, tf_mobilenetv3_small_minimal_100, 1, 1, 16, 3, 1024, RT_OP_RELU, SAME | POOL_FIRST | HEAD_BIAS | OF_HIDDEN | SQUEEZE_ROUND | SQUEEZE_RELU | HARD_GATE)},
};
/* clang-format on */

const struct rt_vision_family rt_vision_blocks = {"MobileNet, EfficientNet (timm)", models, RT_COUNT(models)};
