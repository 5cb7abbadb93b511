/* ConvNeXt (Liu et al. 2022) and v2 (Woo et al. 2023), as timm/models/convnext.py has them; torchvision's of
 * the same sizes are the same networks. */
#include "base/status.h"
#include "models/networks/vision/tokens.h"
#include "models/networks/vision/vision.h"

/* What varies, beside sizes. */
enum {
    CONVOLUTIONS = 1,  /* the feed-forward's products are 1 x 1 convolutions */
    RESPONSE_NORM = 2, /* v2: global response norm instead of layer scale */
    NORM_FIRST = 4,    /* the last norm comes before the mean */
};

struct convnext {
    int64_t layers[4], widths[4];
    int64_t overlap; /* channels between the two 3 x 3 of an overlapping stem; 0: one 4 x 4 */
    int traits;
    int64_t hidden; /* of the classifier; 0: it is one product */
};

static struct rt_tokens tokens_of(struct rt_image x)
{
    return (struct rt_tokens){x.node, x.batch, x.height * x.width, x.channels};
}

static struct rt_image image_of(struct rt_tokens x, struct rt_image like)
{
    return (struct rt_image){x.node, like.batch, x.width, like.height, like.width};
}

/* Layer norm over channels (LayerNorm2d): it reads channels last, and makes them so. */
static struct rt_image norm(struct rt_graph *graph, const char *name, struct rt_image x)
{
    if (!graph->options.channels_last && x.height * x.width > 1)
        x.node = rt_build_copies(graph, "channels_last", x.node, x.batch * x.height * x.width, x.channels,
                                 RT_COPY_TRANSPOSED, RT_COPY_TRANSPOSED);
    return image_of(rt_tokens_norm(graph, name, tokens_of(x)), x);
}

/* x + bias + weight x n, where n is a channel's norm over the image, over the mean of all channels' norms.
 * The first norm runs in fp32 under autocast. */
static struct rt_tokens response_norm(struct rt_graph *graph, struct rt_tokens x)
{
    int64_t rows = rt_tokens_rows(x);
    struct rt_tokens n = rt_tokens_mean(graph, "grn.norm", x, 0), mean = n;
    graph->nodes[n.node].dtype = graph->options.autocast ? RT_FP32 : graph->options.dtype;
    mean.node = rt_build_move(graph, "grn.mean", RT_OP_REDUCE, n.node, n.batch, n.width, 0);
    n.node = rt_build_binary(graph, "grn.divide", RT_OP_DIV, n.node, mean.node, n.batch, n.width, n.batch);
    n.node = rt_build_binary(graph, "grn.scale", RT_OP_MUL, x.node, n.node, rows, x.width, n.batch * n.width);
    n.batch = x.batch;
    n.count = x.count;
    n = rt_tokens_layer_scale(graph, "grn.weight", n, true);
    graph->nodes[n.node].parameters += (double)x.width; /* the bias */
    return rt_tokens_add(graph, "grn.add", x, n);
}

/* A product of x's channels, as a linear layer or a convolution. */
static struct rt_tokens product(const struct convnext *net, struct rt_graph *graph, const char *name,
                                struct rt_tokens x, struct rt_image like, int64_t out)
{
    const struct rt_conv conv = {.out = out, .kernel_h = 1, .bias = true};
    if (net->traits & CONVOLUTIONS)
        return tokens_of(rt_image_conv(graph, name, image_of(x, like), &conv));
    return rt_tokens_linear(graph, name, x, out, true);
}

static struct rt_image layer(const struct convnext *net, struct rt_graph *graph, struct rt_image x)
{
    const struct rt_conv depth = {
        .out = x.channels, .kernel_h = 7, .padding_h = 3, .groups = x.channels, .bias = true};
    struct rt_image y = norm(graph, "norm", rt_image_conv(graph, "conv_dw", x, &depth));
    struct rt_tokens t = product(net, graph, "mlp.fc1", tokens_of(y), x, 4 * x.channels);
    t.node = rt_build_unary(graph, "mlp.act", RT_OP_GELU, t.node, rt_tokens_rows(t), t.width);
    if (net->traits & RESPONSE_NORM)
        t = response_norm(graph, t);
    t = product(net, graph, "mlp.fc2", t, x, x.channels);
    t = rt_tokens_layer_scale(graph, "gamma", t, (net->traits & RESPONSE_NORM) == 0);
    return image_of(rt_tokens_add(graph, "add", t, tokens_of(x)), x);
}

static struct rt_image stem(const struct convnext *net, struct rt_graph *graph)
{
    const struct rt_conv patches = {.out = net->widths[0], .kernel_h = 4, .stride = 4, .bias = true};
    const struct rt_conv first = {
        .out = net->overlap, .kernel_h = 3, .stride = 2, .padding_h = 1, .bias = true};
    const struct rt_conv second = {
        .out = net->widths[0], .kernel_h = 3, .stride = 2, .padding_h = 1, .bias = true};
    struct rt_image x = rt_image_input(graph, 3);
    if (net->overlap == 0)
        x = rt_image_conv(graph, "stem.0", x, &patches);
    else
        x = rt_image_conv(graph, "stem.1", rt_image_conv(graph, "stem.0", x, &first), &second);
    return norm(graph, "stem.norm", x);
}

static void head(const struct rt_vision *vision, struct rt_graph *graph, struct rt_image x)
{
    const struct convnext *net = vision->settings;
    bool first = (net->traits & NORM_FIRST) != 0;
    x = first ? norm(graph, "norm_pre", x) : x;
    struct rt_tokens t = rt_tokens_mean(graph, "pool", tokens_of(x), 0);
    t = first ? t : rt_tokens_norm(graph, "head.norm", t);
    if (net->hidden > 0) {
        t = rt_tokens_linear(graph, "head.pre_logits", t, net->hidden, true);
        t.node = rt_build_unary(graph, "head.act", RT_OP_GELU, t.node, t.batch, t.width);
    }
    rt_tokens_linear(graph, "head.fc", t, vision->classes, true);
}

/* The stem's norm leaves channels last, and everything behind it stays so, whatever the input's layout. */
static void build(const struct rt_vision *vision, struct rt_graph *graph)
{
    static const char *const downs[] = {"", "downsample2", "downsample3", "downsample4"};
    static const char *const first[] = {"stage1.0", "stage2.0", "stage3.0", "stage4.0"};
    static const char *const others[] = {"stage1", "stage2", "stage3", "stage4"};
    const struct convnext *net = vision->settings;
    bool input_channels_last = graph->options.channels_last;
    rt_graph_add_block(graph, "stem", RT_BLOCK_FIRST, 1);
    struct rt_image x = stem(net, graph);
    graph->options.channels_last = true;
    for (int s = 0; s < 4; s++) {
        const struct rt_conv down = {.out = net->widths[s], .kernel_h = 2, .stride = 2, .bias = true};
        if (s > 0) {
            rt_graph_add_block(graph, downs[s], RT_BLOCK_LAYER, 1);
            x = rt_image_conv(graph, "conv", norm(graph, "norm", x), &down);
        }
        rt_graph_add_block(graph, first[s], RT_BLOCK_LAYER, 1);
        x = layer(net, graph, x);
        if (net->layers[s] == 1)
            continue;
        rt_graph_add_block(graph, others[s], RT_BLOCK_LAYER, net->layers[s] - 1);
        x = layer(net, graph, x);
    }
    rt_graph_add_block(graph, "head", RT_BLOCK_LAST, 1);
    head(vision, graph, x);
    graph->options.channels_last = input_channels_last;
}

/* clang-format off */
#define CONVNEXT(side, ...) \
    .image = side, .classes = 1000, .build = build, .settings = &(const struct convnext){__VA_ARGS__}
static const struct rt_vision models[] = {
    {"convnext_atto", NULL, CONVNEXT(224, {2, 2, 6, 2}, {40, 80, 160, 320}, 0, CONVOLUTIONS, 0)},
    {"convnext_atto_ols", NULL, CONVNEXT(224, {2, 2, 6, 2}, {40, 80, 160, 320}, 24, CONVOLUTIONS, 0)},
    {"convnext_base", "convnext_base_in22ft1k", CONVNEXT(224, {3, 3, 27, 3}, {128, 256, 512, 1024}, 0, 0, 0)},
    {"convnext_base_384_in22ft1k", NULL, CONVNEXT(384, {3, 3, 27, 3}, {128, 256, 512, 1024}, 0, 0, 0)},
    {"convnext_femto", NULL, CONVNEXT(224, {2, 2, 6, 2}, {48, 96, 192, 384}, 0, CONVOLUTIONS, 0)},
    {"convnext_femto_ols", NULL, CONVNEXT(224, {2, 2, 6, 2}, {48, 96, 192, 384}, 24, CONVOLUTIONS, 0)},
    {"convnext_large", "convnext_large_in22ft1k", CONVNEXT(224, {3, 3, 27, 3}, {192, 384, 768, 1536}, 0, 0, 0)},
    {"convnext_large_384_in22ft1k", NULL, CONVNEXT(384, {3, 3, 27, 3}, {192, 384, 768, 1536}, 0, 0, 0)},
    {"convnext_large_mlp", NULL, CONVNEXT(320, {3, 3, 27, 3}, {192, 384, 768, 1536}, 0, 0, 1536)},
    {"convnext_nano", NULL, CONVNEXT(224, {2, 2, 8, 2}, {80, 160, 320, 640}, 0, CONVOLUTIONS, 0)},
    {"convnext_nano_ols", NULL, CONVNEXT(224, {2, 2, 8, 2}, {80, 160, 320, 640}, 80, CONVOLUTIONS, 0)},
    {"convnext_pico", NULL, CONVNEXT(224, {2, 2, 6, 2}, {64, 128, 256, 512}, 0, CONVOLUTIONS, 0)},
    {"convnext_pico_ols", NULL, CONVNEXT(224, {2, 2, 6, 2}, {64, 128, 256, 512}, 32, CONVOLUTIONS, 0)},
    {"convnext_small", "convnext_small_in22ft1k", CONVNEXT(224, {3, 3, 27, 3}, {96, 192, 384, 768}, 0, 0, 0)},
    {"convnext_small_384_in22ft1k", NULL, CONVNEXT(384, {3, 3, 27, 3}, {96, 192, 384, 768}, 0, 0, 0)},
    {"convnext_tiny", "convnext_tiny_in22ft1k", CONVNEXT(224, {3, 3, 9, 3}, {96, 192, 384, 768}, 0, 0, 0)},
    {"convnext_tiny_384_in22ft1k", NULL, CONVNEXT(384, {3, 3, 9, 3}, {96, 192, 384, 768}, 0, 0, 0)},
    {"convnext_tiny_hnf", NULL, CONVNEXT(224, {3, 3, 9, 3}, {96, 192, 384, 768}, 0, CONVOLUTIONS | NORM_FIRST, 0)},
    {"convnext_xlarge", "convnext_xlarge_in22ft1k", CONVNEXT(224, {3, 3, 27, 3}, {256, 512, 1024, 2048}, 0, 0, 0)},
    {"convnext_xlarge_384_in22ft1k", NULL, CONVNEXT(384, {3, 3, 27, 3}, {256, 512, 1024, 2048}, 0, 0, 0)},
    {"convnext_xxlarge", NULL, CONVNEXT(256, {3, 4, 30, 3}, {384, 768, 1536, 3072}, 0, 0, 0)},
    {"convnextv2_atto", NULL, CONVNEXT(224, {2, 2, 6, 2}, {40, 80, 160, 320}, 0, CONVOLUTIONS | RESPONSE_NORM, 0)},
    {"convnextv2_base", NULL, CONVNEXT(224, {3, 3, 27, 3}, {128, 256, 512, 1024}, 0, RESPONSE_NORM, 0)},
    {"convnextv2_femto", NULL, CONVNEXT(224, {2, 2, 6, 2}, {48, 96, 192, 384}, 0, CONVOLUTIONS | RESPONSE_NORM, 0)},
    {"convnextv2_huge", NULL, CONVNEXT(384, {3, 3, 27, 3}, {352, 704, 1408, 2816}, 0, RESPONSE_NORM, 0)},
    {"convnextv2_large", NULL, CONVNEXT(224, {3, 3, 27, 3}, {192, 384, 768, 1536}, 0, RESPONSE_NORM, 0)},
    {"convnextv2_nano", NULL, CONVNEXT(224, {2, 2, 8, 2}, {80, 160, 320, 640}, 0, CONVOLUTIONS | RESPONSE_NORM, 0)},
    {"convnextv2_pico", NULL, CONVNEXT(224, {2, 2, 6, 2}, {64, 128, 256, 512}, 0, CONVOLUTIONS | RESPONSE_NORM, 0)},
    {"convnextv2_small", NULL, CONVNEXT(224, {3, 3, 27, 3}, {96, 192, 384, 768}, 0, RESPONSE_NORM, 0)},
    {"convnextv2_tiny", NULL, CONVNEXT(224, {3, 3, 9, 3}, {96, 192, 384, 768}, 0, RESPONSE_NORM, 0)},
    {"test_convnext", NULL, CONVNEXT(160, {1, 2, 4, 2}, {24, 32, 48, 64}, 0, 0, 0)},
    {"test_convnext2", NULL, CONVNEXT(160, {1, 1, 1, 1}, {32, 64, 96, 128}, 0, 0, 0)},
};
/* clang-format on */

const struct rt_vision_family rt_vision_convnext = {"ConvNeXt", models, RT_COUNT(models)};
