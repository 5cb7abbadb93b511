/* Swin transformers (Liu et al. 2021; AutoFormerV2's S3, Chen et al. 2021), as
 * timm/models/swin_transformer.py has them: attention, written out, within windows of the image that are
 * shifted in every other layer. torchvision's of the same sizes are the same networks. */
#include "base/status.h"
#include "models/networks/vision/tokens.h"
#include "models/networks/vision/vision.h"

struct swin {
    int64_t width, layers[4], heads[4], window[4];
};

#define PATCH 4

/* Tokens as an image: height x width of them. */
struct map {
    struct rt_tokens x;
    int64_t height, width;
};

/* A copy of all tokens in another order (torch.roll, windows, zeros around them). */
static struct rt_tokens copied(struct rt_graph *graph, const char *name, struct rt_tokens x)
{
    x.node = rt_build_move(graph, name, RT_OP_COPY, x.node, rt_tokens_rows(x), x.width, 0);
    graph->nodes[x.node].fusable = true; /* an index in compiled code */
    return x;
}

/* Windows as sequences of their own. The image is padded to whole windows, which copies it in any case. */
static struct rt_tokens window_attention(struct rt_graph *graph, const struct map *map, struct rt_tokens x,
                                         int64_t heads, int64_t window, bool shifted)
{
    int64_t down = (map->height + window - 1) / window, across = (map->width + window - 1) / window;
    struct rt_tokens image = x;
    const struct rt_self_attention shape = {.heads = heads,
                                            .width = x.width,
                                            .qkv_bias = true,
                                            .written_out = true,
                                            .bias_tables = (2 * window - 1) * (2 * window - 1),
                                            .masks = shifted ? down * across : 0};
    if (shifted)
        x = copied(graph, "roll", x);
    x.count = down * window * across * window;
    x = copied(graph, "windows", copied(graph, "pad", x));
    x.batch *= down * across;
    x.count = window * window;
    x = rt_tokens_attention(graph, x, &shape);
    x.batch = image.batch;
    x.count = down * window * across * window;
    x = copied(graph, "windows.reverse", x);
    x.count = image.count;
    return shifted ? copied(graph, "roll.back", x) : x;
}

static struct rt_tokens layer(struct rt_graph *graph, const struct map *map, int64_t heads, int64_t window,
                              bool shifted)
{
    struct rt_tokens x = map->x;
    const struct rt_feed_forward mlp = {.inner = 4 * x.width};
    struct rt_tokens y = rt_tokens_norm(graph, "norm1", x);
    x = rt_tokens_add(graph, "add1", x, window_attention(graph, map, y, heads, window, shifted));
    y = rt_tokens_feed_forward(graph, rt_tokens_norm(graph, "norm2", x), &mlp);
    return rt_tokens_add(graph, "add2", x, y);
}

/* Four neighbours become one token of twice the width. */
static void merge(struct rt_graph *graph, struct map *map)
{
    map->height = (map->height + 1) / 2;
    map->width = (map->width + 1) / 2;
    map->x.count = map->height * map->width;
    map->x.width *= 4;
    map->x = rt_tokens_norm(graph, "merge.norm", copied(graph, "merge", map->x));
    map->x = rt_tokens_linear(graph, "merge.reduction", map->x, map->x.width / 2, false);
}

static void stage(const struct swin *net, struct rt_graph *graph, int s, struct map *map)
{
    static const char *const merges[] = {"", "merge2", "merge3", "merge4"};
    static const char *const layers[][2] = {{"stage1.even", "stage1.odd"},
                                            {"stage2.even", "stage2.odd"},
                                            {"stage3.even", "stage3.odd"},
                                            {"stage4.even", "stage4.odd"}};
    if (s > 0) {
        rt_graph_add_block(graph, merges[s], RT_BLOCK_LAYER, 1);
        merge(graph, map);
    }
    int64_t least = map->height < map->width ? map->height : map->width;
    bool whole = least <= net->window[s]; /* one window: nothing to shift */
    int64_t window = whole ? least : net->window[s];
    for (int odd = 0; odd < 2; odd++) { /* the list has first all even layers, then all odd ones */
        rt_graph_add_block(graph, layers[s][odd], RT_BLOCK_LAYER, (net->layers[s] + 1 - odd) / 2);
        map->x = layer(graph, map, net->heads[s], window, odd == 1 && !whole);
    }
}

/* Its norms are of PyTorch's class, which timm does not make fast. */
static void build(const struct rt_vision *vision, struct rt_graph *graph)
{
    const struct swin *net = vision->settings;
    bool fast_norms = graph->options.fast_norms;
    graph->options.fast_norms = false;
    struct rt_image image = rt_image_input(graph, 3);
    rt_graph_add_block(graph, "embedding", RT_BLOCK_FIRST, 1);
    struct map map = {.height = image.height / PATCH, .width = image.width / PATCH};
    map.x = rt_tokens_patches(graph, "patch_embed.proj", image, PATCH, net->width, true);
    if (!graph->options.channels_last)
        map.x = copied(graph, "patch_embed.order", map.x); /* layer norm's input, channels last */
    map.x = rt_tokens_norm(graph, "patch_embed.norm", map.x);
    for (int s = 0; s < 4; s++)
        stage(net, graph, s, &map);
    rt_graph_add_block(graph, "head", RT_BLOCK_LAST, 1);
    map.x = rt_tokens_mean(graph, "pool", rt_tokens_norm(graph, "norm", map.x), 0);
    rt_tokens_linear(graph, "head", map.x, vision->classes, true);
    graph->options.fast_norms = fast_norms;
}

/* clang-format off */
#define SWIN(side, ...) \
    .image = side, .classes = 1000, .build = build, .fixed_image = true, .settings = &(const struct swin){__VA_ARGS__}
static const struct rt_vision models[] = {
    {"swin_t", "swin_tiny_patch4_window7_224",  SWIN(224,  96, {2, 2,  6, 2}, {3,  6, 12, 24}, {7, 7, 7, 7})},
    {"swin_s", "swin_small_patch4_window7_224", SWIN(224,  96, {2, 2, 18, 2}, {3,  6, 12, 24}, {7, 7, 7, 7})},
    {"swin_b", "swin_base_patch4_window7_224",  SWIN(224, 128, {2, 2, 18, 2}, {4,  8, 16, 32}, {7, 7, 7, 7})},
    {"swin_large_patch4_window7_224",  NULL,    SWIN(224, 192, {2, 2, 18, 2}, {6, 12, 24, 48}, {7, 7, 7, 7})},
    {"swin_base_patch4_window12_384",  NULL,    SWIN(384, 128, {2, 2, 18, 2}, {4,  8, 16, 32}, {12, 12, 12, 12})},
    {"swin_large_patch4_window12_384", NULL,    SWIN(384, 192, {2, 2, 18, 2}, {6, 12, 24, 48}, {12, 12, 12, 12})},
    {"swin_s3_tiny_224",               NULL,    SWIN(224,  96, {2, 2,  6, 2}, {3,  6, 12, 24}, {7, 7, 14, 7})},
    {"swin_s3_small_224",              NULL,    SWIN(224,  96, {2, 2, 18, 2}, {3,  6, 12, 24}, {14, 14, 14, 7})},
    {"swin_s3_base_224",               NULL,    SWIN(224,  96, {2, 2, 30, 2}, {3,  6, 12, 24}, {7, 7, 14, 7})},
};
/* clang-format on */

const struct rt_vision_family rt_vision_swin = {"Swin transformer", models, RT_COUNT(models)};
