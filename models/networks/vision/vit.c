/* Vision transformers (Dosovitskiy et al. 2020), DeiT (Touvron et al. 2021, 2022), and others that timm
 * builds of the same class (CLIP's, SigLIP's, DINOv2's): timm/models/vision_transformer.py and deit.py, and
 * torchvision/models/vision_transformer.py, whose networks of the same sizes are the same. */
#include "base/status.h"
#include "models/networks/vision/tokens.h"
#include "models/networks/vision/vision.h"
#include "models/networks/build_image.h"

/* What varies, beside sizes. */
enum {
    PRE_NORM = 1,         /* a layer norm before the first layer; the patches' convolution has no bias */
    LAYER_SCALE = 2,      /* what a layer adds is scaled by learned numbers */
    NO_QKV_BIAS = 4,      /* queries, keys and values have no bias */
    QUICK_GELU = 8,       /* x sigmoid(1.702 x) */
    SWIGLU = 16,          /* gated feed-forward */
    SUB_NORMS = 32,       /* layer norms before the last product of attention and feed-forward */
    OWN_POSITIONS = 64,   /* positions are added to patches alone, before tokens are put in front */
    AVERAGE = 128,        /* the mean of the patches is classified, not the first token */
    NORM_POOLED = 256,    /* the last norm is of what was pooled */
    ATTENTION_POOL = 512, /* a learned query attends to all tokens (SigLIP) */
    DISTILLED = 1024,     /* two heads, for the first two tokens (DeiT) */
    NO_LAST_NORM = 2048,
};

struct vit {
    int64_t patch, width, layers, heads, inner;
    int64_t prefix; /* learned tokens before the patches: of the class, registers */
    int traits;
};

static struct rt_tokens embed(const struct vit *net, struct rt_graph *graph)
{
    struct rt_tokens x = rt_tokens_patches(graph, "patch_embed.proj", rt_image_input(graph, 3), net->patch,
                                           net->width, (net->traits & PRE_NORM) == 0);
    if (net->traits & OWN_POSITIONS)
        x = rt_tokens_prepend(graph, "prefix", rt_tokens_positions(graph, "pos_embed", x), net->prefix);
    else
        x = rt_tokens_positions(graph, "pos_embed", rt_tokens_prepend(graph, "prefix", x, net->prefix));
    return net->traits & PRE_NORM ? rt_tokens_norm(graph, "norm_pre", x) : x;
}

/* Without learned tokens before them patches are a view of what the convolution made, a channel after the
 * other, and so is every sum with them; layer norm copies what it reads into rows. */
static struct rt_tokens norm(const struct vit *net, struct rt_graph *graph, const char *name,
                             struct rt_tokens x)
{
    bool rows = net->prefix > 0 || graph->options.channels_last || graph->options.fusion;
    if (!rows)
        x.node = rt_build_copies(graph, rt_image_name(graph, name, "order"), x.node, rt_tokens_rows(x),
                                 x.width, RT_COPY_TRANSPOSED, RT_COPY_NONE);
    return rt_tokens_norm(graph, name, x);
}

static struct rt_tokens layer(const struct vit *net, struct rt_graph *graph, struct rt_tokens x)
{
    bool scaled = (net->traits & LAYER_SCALE) != 0, norms = (net->traits & SUB_NORMS) != 0;
    const struct rt_self_attention attention = {.heads = net->heads,
                                                .width = net->width,
                                                .qkv_bias = (net->traits & NO_QKV_BIAS) == 0,
                                                .norm = norms};
    const struct rt_feed_forward mlp = {.inner = net->inner,
                                        .activation = net->traits & QUICK_GELU ? RT_TOKENS_QUICK_GELU
                                                      : net->traits & SWIGLU   ? RT_TOKENS_SWIGLU
                                                                               : RT_TOKENS_GELU,
                                        .norm = norms};
    struct rt_tokens y = rt_tokens_attention(graph, norm(net, graph, "norm1", x), &attention);
    x = rt_tokens_add(graph, "add1", x, rt_tokens_layer_scale(graph, "ls1", y, scaled));
    y = rt_tokens_feed_forward(graph, norm(net, graph, "norm2", x), &mlp);
    return rt_tokens_add(graph, "add2", x, rt_tokens_layer_scale(graph, "ls2", y, scaled));
}

/* timm's AttentionPoolLatent: one learned query an image. */
static struct rt_tokens attention_pool(const struct vit *net, struct rt_graph *graph, struct rt_tokens x)
{
    const struct rt_feed_forward mlp = {.inner = net->inner};
    int64_t groups = x.batch * net->heads, d = net->width / net->heads;
    struct rt_tokens q = {RT_NO_INPUT, x.batch, 1, net->width};
    q = rt_tokens_linear(graph, "attn_pool.q", q, net->width, true);
    graph->nodes[q.node].parameters += (double)net->width; /* the query */
    struct rt_tokens kv = rt_tokens_linear(graph, "attn_pool.kv", x, 2 * net->width, true);
    kv.node = rt_build_split(graph, "attn_pool.split", kv.node, rt_tokens_rows(kv), kv.width, 0);
    uint32_t s = rt_build_bmm(graph, "attn_pool.scores", q.node, kv.node, groups, 1, d, x.count);
    s = rt_build_softmax(graph, "attn_pool.softmax", s, groups, x.count);
    q.node = rt_build_bmm(graph, "attn_pool.values", s, kv.node, groups, 1, x.count, d);
    q = rt_tokens_linear(graph, "attn_pool.proj", q, net->width, true);
    struct rt_tokens y = rt_tokens_feed_forward(graph, rt_tokens_norm(graph, "attn_pool.norm", q), &mlp);
    return rt_tokens_add(graph, "attn_pool.add", q, y);
}

static struct rt_tokens pool(const struct vit *net, struct rt_graph *graph, struct rt_tokens x)
{
    if (net->traits & ATTENTION_POOL)
        return attention_pool(net, graph, x);
    return net->traits & AVERAGE ? rt_tokens_mean(graph, "pool", x, net->prefix)
                                 : rt_tokens_first(graph, "pool", x);
}

static void head(const struct rt_vision *vision, struct rt_graph *graph, struct rt_tokens x)
{
    const struct vit *net = vision->settings;
    if (net->traits & DISTILLED) {
        struct rt_tokens second = rt_tokens_linear(graph, "head_dist", rt_tokens_first(graph, "pool_dist", x),
                                                   vision->classes, true);
        x = rt_tokens_linear(graph, "head", pool(net, graph, x), vision->classes, true);
        x = rt_tokens_add(graph, "heads.add", x, second);
        rt_build_unary(graph, "heads.mean", RT_OP_DIV_SCALAR, x.node, x.batch, x.width);
        return;
    }
    x = pool(net, graph, x);
    if (net->traits & NORM_POOLED)
        x = rt_tokens_norm(graph, "fc_norm", x);
    if (vision->classes > 0)
        rt_tokens_linear(graph, "head", x, vision->classes, true);
}

static void build(const struct rt_vision *vision, struct rt_graph *graph)
{
    const struct vit *net = vision->settings;
    rt_graph_add_block(graph, "embedding", RT_BLOCK_FIRST, 1);
    struct rt_tokens x = embed(net, graph);
    rt_graph_add_block(graph, "layer", RT_BLOCK_LAYER, net->layers);
    x = layer(net, graph, x);
    rt_graph_add_block(graph, "head", RT_BLOCK_LAST, 1);
    if ((net->traits & (NORM_POOLED | NO_LAST_NORM)) == 0)
        x = norm(net, graph, "norm", x);
    head(vision, graph, x);
}

/* clang-format off */
#define VIT(side, labels, patch_, ...) \
    .image = side, .classes = labels, .build = build, .multiple = patch_, .settings = &(const struct vit){patch_, __VA_ARGS__}
static const struct rt_vision models[] = {
    {"beit3_base_patch16_224", NULL, VIT(224, 1000, 16, 768, 12, 12, 3072, 1, SUB_NORMS | AVERAGE | NORM_POOLED)},
    {"beit3_giant_patch14_224", NULL, VIT(224, 1000, 14, 1408, 40, 16, 6144, 1, SUB_NORMS | AVERAGE | NORM_POOLED)},
    {"beit3_giant_patch14_336", NULL, VIT(336, 1000, 14, 1408, 40, 16, 6144, 1, SUB_NORMS | AVERAGE | NORM_POOLED)},
    {"beit3_large_patch16_224", NULL, VIT(224, 1000, 16, 1024, 24, 16, 4096, 1, SUB_NORMS | AVERAGE | NORM_POOLED)},
    {"deit3_base_patch16_224", "deit3_base_patch16_224_in21ft1k", VIT(224, 1000, 16, 768, 12, 12, 3072, 1, LAYER_SCALE | OWN_POSITIONS)},
    {"deit3_base_patch16_384", "deit3_base_patch16_384_in21ft1k", VIT(384, 1000, 16, 768, 12, 12, 3072, 1, LAYER_SCALE | OWN_POSITIONS)},
    {"deit3_huge_patch14_224", "deit3_huge_patch14_224_in21ft1k", VIT(224, 1000, 14, 1280, 32, 16, 5120, 1, LAYER_SCALE | OWN_POSITIONS)},
    {"deit3_large_patch16_224", "deit3_large_patch16_224_in21ft1k", VIT(224, 1000, 16, 1024, 24, 16, 4096, 1, LAYER_SCALE | OWN_POSITIONS)},
    {"deit3_large_patch16_384", "deit3_large_patch16_384_in21ft1k", VIT(384, 1000, 16, 1024, 24, 16, 4096, 1, LAYER_SCALE | OWN_POSITIONS)},
    {"deit3_medium_patch16_224", "deit3_medium_patch16_224_in21ft1k", VIT(224, 1000, 16, 512, 12, 8, 2048, 1, LAYER_SCALE | OWN_POSITIONS)},
    {"deit3_small_patch16_224", "deit3_small_patch16_224_in21ft1k", VIT(224, 1000, 16, 384, 12, 6, 1536, 1, LAYER_SCALE | OWN_POSITIONS)},
    {"deit3_small_patch16_384", "deit3_small_patch16_384_in21ft1k", VIT(384, 1000, 16, 384, 12, 6, 1536, 1, LAYER_SCALE | OWN_POSITIONS)},
    {"deit_base_distilled_patch16_224", NULL, VIT(224, 1000, 16, 768, 12, 12, 3072, 2, DISTILLED)},
    {"deit_base_distilled_patch16_384", NULL, VIT(384, 1000, 16, 768, 12, 12, 3072, 2, DISTILLED)},
    {"deit_small_distilled_patch16_224", NULL, VIT(224, 1000, 16, 384, 12, 6, 1536, 2, DISTILLED)},
    {"deit_tiny_distilled_patch16_224", NULL, VIT(224, 1000, 16, 192, 12, 3, 768, 2, DISTILLED)},
    {"flexivit_base", NULL, VIT(240, 1000, 16, 768, 12, 12, 3072, 1, OWN_POSITIONS)},
    {"flexivit_large", NULL, VIT(240, 1000, 16, 1024, 24, 16, 4096, 1, OWN_POSITIONS)},
    {"flexivit_small", NULL, VIT(240, 1000, 16, 384, 12, 6, 1536, 1, OWN_POSITIONS)},
    {"test_vit", NULL, VIT(160, 1000, 16, 64, 6, 2, 192, 1, 0)},
    {"test_vit2", NULL, VIT(160, 1000, 16, 64, 8, 2, 192, 1, LAYER_SCALE | AVERAGE | NORM_POOLED)},
    {"test_vit3", NULL, VIT(160, 1000, 16, 96, 9, 3, 192, 1, LAYER_SCALE | ATTENTION_POOL)},
    {"vit_b_16", "vit_base_patch16_224, deit_base_patch16_224", VIT(224, 1000, 16, 768, 12, 12, 3072, 1, 0)},
    {"vit_b_32", "vit_base_patch32_224", VIT(224, 1000, 32, 768, 12, 12, 3072, 1, 0)},
    {"vit_base_patch14_dinov2", NULL, VIT(518, 0, 14, 768, 12, 12, 3072, 1, LAYER_SCALE)},
    {"vit_base_patch14_reg4_dinov2", NULL, VIT(518, 0, 14, 768, 12, 12, 3072, 5, LAYER_SCALE | OWN_POSITIONS)},
    {"vit_base_patch16_224_miil", NULL, VIT(224, 11221, 16, 768, 12, 12, 3072, 1, NO_QKV_BIAS)},
    {"vit_base_patch16_384", "deit_base_patch16_384", VIT(384, 1000, 16, 768, 12, 12, 3072, 1, 0)},
    {"vit_base_patch16_clip_224", NULL, VIT(224, 1000, 16, 768, 12, 12, 3072, 1, PRE_NORM)},
    {"vit_base_patch16_clip_384", NULL, VIT(384, 1000, 16, 768, 12, 12, 3072, 1, PRE_NORM)},
    {"vit_base_patch16_clip_quickgelu_224", NULL, VIT(224, 512, 16, 768, 12, 12, 3072, 1, PRE_NORM | QUICK_GELU)},
    {"vit_base_patch16_gap_224", NULL, VIT(224, 1000, 16, 768, 12, 16, 3072, 0, AVERAGE)},
    {"vit_base_patch16_plus_240", NULL, VIT(240, 1000, 16, 896, 12, 14, 3584, 1, LAYER_SCALE)},
    {"vit_base_patch16_plus_clip_240", NULL, VIT(240, 640, 16, 896, 12, 14, 3584, 1, PRE_NORM)},
    {"vit_base_patch16_reg4_gap_256", NULL, VIT(256, 1000, 16, 768, 12, 12, 3072, 4, OWN_POSITIONS | AVERAGE | NORM_POOLED)},
    {"vit_base_patch16_siglip_224", NULL, VIT(224, 0, 16, 768, 12, 12, 3072, 0, ATTENTION_POOL)},
    {"vit_base_patch16_siglip_256", NULL, VIT(256, 0, 16, 768, 12, 12, 3072, 0, ATTENTION_POOL)},
    {"vit_base_patch16_siglip_384", NULL, VIT(384, 0, 16, 768, 12, 12, 3072, 0, ATTENTION_POOL)},
    {"vit_base_patch16_siglip_512", NULL, VIT(512, 0, 16, 768, 12, 12, 3072, 0, ATTENTION_POOL)},
    {"vit_base_patch16_siglip_gap_224", NULL, VIT(224, 0, 16, 768, 12, 12, 3072, 0, AVERAGE)},
    {"vit_base_patch16_siglip_gap_256", NULL, VIT(256, 0, 16, 768, 12, 12, 3072, 0, AVERAGE)},
    {"vit_base_patch16_siglip_gap_384", NULL, VIT(384, 0, 16, 768, 12, 12, 3072, 0, AVERAGE)},
    {"vit_base_patch16_siglip_gap_512", NULL, VIT(512, 0, 16, 768, 12, 12, 3072, 0, AVERAGE)},
    {"vit_base_patch32_384", NULL, VIT(384, 1000, 32, 768, 12, 12, 3072, 1, 0)},
    {"vit_base_patch32_clip_224", NULL, VIT(224, 1000, 32, 768, 12, 12, 3072, 1, PRE_NORM)},
    {"vit_base_patch32_clip_256", NULL, VIT(256, 512, 32, 768, 12, 12, 3072, 1, PRE_NORM)},
    {"vit_base_patch32_clip_384", NULL, VIT(384, 1000, 32, 768, 12, 12, 3072, 1, PRE_NORM)},
    {"vit_base_patch32_clip_448", NULL, VIT(448, 1000, 32, 768, 12, 12, 3072, 1, PRE_NORM)},
    {"vit_base_patch32_clip_quickgelu_224", NULL, VIT(224, 512, 32, 768, 12, 12, 3072, 1, PRE_NORM | QUICK_GELU)},
    {"vit_base_patch32_plus_256", NULL, VIT(256, 1000, 32, 896, 12, 14, 3584, 1, LAYER_SCALE)},
    {"vit_base_patch32_siglip_256", NULL, VIT(256, 0, 32, 768, 12, 12, 3072, 0, ATTENTION_POOL)},
    {"vit_base_patch32_siglip_gap_256", NULL, VIT(256, 0, 32, 768, 12, 12, 3072, 0, AVERAGE)},
    {"vit_base_patch8_224", NULL, VIT(224, 1000, 8, 768, 12, 12, 3072, 1, 0)},
    {"vit_betwixt_patch16_gap_256", NULL, VIT(256, 1000, 16, 640, 12, 10, 2560, 0, LAYER_SCALE | NO_QKV_BIAS | AVERAGE)},
    {"vit_betwixt_patch16_reg1_gap_256", NULL, VIT(256, 1000, 16, 640, 12, 10, 2560, 1, LAYER_SCALE | OWN_POSITIONS | AVERAGE | NORM_POOLED)},
    {"vit_betwixt_patch16_reg4_gap_256", NULL, VIT(256, 1000, 16, 640, 12, 10, 2560, 4, LAYER_SCALE | OWN_POSITIONS | AVERAGE | NORM_POOLED)},
    {"vit_betwixt_patch16_reg4_gap_384", NULL, VIT(384, 1000, 16, 640, 12, 10, 2560, 4, LAYER_SCALE | OWN_POSITIONS | AVERAGE | NORM_POOLED)},
    {"vit_betwixt_patch32_clip_224", NULL, VIT(224, 512, 32, 640, 12, 10, 2560, 1, PRE_NORM)},
    {"vit_giant_patch14_224", NULL, VIT(224, 1000, 14, 1408, 40, 16, 6144, 1, 0)},
    {"vit_giant_patch14_clip_224", NULL, VIT(224, 1024, 14, 1408, 40, 16, 6144, 1, PRE_NORM)},
    {"vit_giant_patch14_dinov2", NULL, VIT(518, 0, 14, 1536, 40, 24, 8192, 1, LAYER_SCALE | SWIGLU)},
    {"vit_giant_patch14_reg4_dinov2", NULL, VIT(518, 0, 14, 1536, 40, 24, 8192, 5, LAYER_SCALE | SWIGLU | OWN_POSITIONS)},
    {"vit_giant_patch16_gap_224", NULL, VIT(224, 0, 16, 1408, 40, 16, 6144, 0, AVERAGE)},
    {"vit_giantopt_patch16_siglip_256", NULL, VIT(256, 0, 16, 1536, 40, 16, 6144, 0, ATTENTION_POOL)},
    {"vit_giantopt_patch16_siglip_384", NULL, VIT(384, 0, 16, 1536, 40, 16, 6144, 0, ATTENTION_POOL)},
    {"vit_giantopt_patch16_siglip_gap_256", NULL, VIT(256, 0, 16, 1536, 40, 16, 6144, 0, AVERAGE)},
    {"vit_giantopt_patch16_siglip_gap_384", NULL, VIT(384, 0, 16, 1536, 40, 16, 6144, 0, AVERAGE)},
    {"vit_gigantic_patch14_224", NULL, VIT(224, 1000, 14, 1664, 48, 16, 8192, 1, 0)},
    {"vit_gigantic_patch14_clip_224", NULL, VIT(224, 1280, 14, 1664, 48, 16, 8192, 1, PRE_NORM)},
    {"vit_gigantic_patch14_clip_378", NULL, VIT(378, 1280, 14, 1664, 48, 16, 8192, 1, PRE_NORM)},
    {"vit_gigantic_patch14_clip_quickgelu_224", NULL, VIT(224, 1280, 14, 1664, 48, 16, 8192, 1, PRE_NORM | QUICK_GELU)},
    {"vit_h_14", NULL, VIT(224, 1000, 14, 1280, 32, 16, 5120, 1, 0)},
    {"vit_huge_patch14_224", NULL, VIT(224, 0, 14, 1280, 32, 16, 5120, 1, 0)},
    {"vit_huge_patch14_clip_224", NULL, VIT(224, 1000, 14, 1280, 32, 16, 5120, 1, PRE_NORM)},
    {"vit_huge_patch14_clip_336", NULL, VIT(336, 1000, 14, 1280, 32, 16, 5120, 1, PRE_NORM)},
    {"vit_huge_patch14_clip_378", NULL, VIT(378, 1024, 14, 1280, 32, 16, 5120, 1, PRE_NORM)},
    {"vit_huge_patch14_clip_quickgelu_224", NULL, VIT(224, 1024, 14, 1280, 32, 16, 5120, 1, PRE_NORM | QUICK_GELU)},
    {"vit_huge_patch14_clip_quickgelu_378", NULL, VIT(378, 1024, 14, 1280, 32, 16, 5120, 1, PRE_NORM | QUICK_GELU)},
    {"vit_huge_patch14_gap_224", NULL, VIT(224, 0, 14, 1280, 32, 16, 5120, 0, AVERAGE)},
    {"vit_huge_patch16_gap_448", NULL, VIT(448, 0, 16, 1280, 32, 16, 5120, 0, AVERAGE)},
    {"vit_intern300m_patch14_448", NULL, VIT(448, 0, 14, 1024, 24, 16, 4096, 1, LAYER_SCALE | NO_LAST_NORM)},
    {"vit_l_16", "vit_large_patch16_224", VIT(224, 1000, 16, 1024, 24, 16, 4096, 1, 0)},
    {"vit_l_32", NULL, VIT(224, 1000, 32, 1024, 24, 16, 4096, 1, 0)},
    {"vit_large_patch14_224", NULL, VIT(224, 1000, 14, 1024, 24, 16, 4096, 1, 0)},
    {"vit_large_patch14_clip_224", NULL, VIT(224, 1000, 14, 1024, 24, 16, 4096, 1, PRE_NORM)},
    {"vit_large_patch14_clip_336", NULL, VIT(336, 1000, 14, 1024, 24, 16, 4096, 1, PRE_NORM)},
    {"vit_large_patch14_clip_quickgelu_224", NULL, VIT(224, 768, 14, 1024, 24, 16, 4096, 1, PRE_NORM | QUICK_GELU)},
    {"vit_large_patch14_clip_quickgelu_336", NULL, VIT(336, 768, 14, 1024, 24, 16, 4096, 1, PRE_NORM | QUICK_GELU)},
    {"vit_large_patch14_dinov2", NULL, VIT(518, 0, 14, 1024, 24, 16, 4096, 1, LAYER_SCALE)},
    {"vit_large_patch14_reg4_dinov2", NULL, VIT(518, 0, 14, 1024, 24, 16, 4096, 5, LAYER_SCALE | OWN_POSITIONS)},
    {"vit_large_patch16_384", NULL, VIT(384, 1000, 16, 1024, 24, 16, 4096, 1, 0)},
    {"vit_large_patch16_siglip_256", NULL, VIT(256, 0, 16, 1024, 24, 16, 4096, 0, ATTENTION_POOL)},
    {"vit_large_patch16_siglip_384", NULL, VIT(384, 0, 16, 1024, 24, 16, 4096, 0, ATTENTION_POOL)},
    {"vit_large_patch16_siglip_512", NULL, VIT(512, 0, 16, 1024, 24, 16, 4096, 0, ATTENTION_POOL)},
    {"vit_large_patch16_siglip_gap_256", NULL, VIT(256, 0, 16, 1024, 24, 16, 4096, 0, AVERAGE)},
    {"vit_large_patch16_siglip_gap_384", NULL, VIT(384, 0, 16, 1024, 24, 16, 4096, 0, AVERAGE)},
    {"vit_large_patch16_siglip_gap_512", NULL, VIT(512, 0, 16, 1024, 24, 16, 4096, 0, AVERAGE)},
    {"vit_large_patch32_224", NULL, VIT(224, 0, 32, 1024, 24, 16, 4096, 1, 0)},
    {"vit_large_patch32_384", NULL, VIT(384, 1000, 32, 1024, 24, 16, 4096, 1, 0)},
    {"vit_little_patch16_reg1_gap_256", NULL, VIT(256, 1000, 16, 320, 14, 5, 1792, 1, LAYER_SCALE | OWN_POSITIONS | AVERAGE | NORM_POOLED)},
    {"vit_little_patch16_reg4_gap_256", NULL, VIT(256, 1000, 16, 320, 14, 5, 1792, 4, LAYER_SCALE | OWN_POSITIONS | AVERAGE | NORM_POOLED)},
    {"vit_medium_patch16_clip_224", NULL, VIT(224, 512, 16, 512, 12, 8, 2048, 1, PRE_NORM)},
    {"vit_medium_patch16_gap_240", NULL, VIT(240, 11821, 16, 512, 12, 8, 2048, 0, LAYER_SCALE | NO_QKV_BIAS | AVERAGE)},
    {"vit_medium_patch16_gap_256", NULL, VIT(256, 1000, 16, 512, 12, 8, 2048, 0, LAYER_SCALE | NO_QKV_BIAS | AVERAGE)},
    {"vit_medium_patch16_gap_384", NULL, VIT(384, 1000, 16, 512, 12, 8, 2048, 0, LAYER_SCALE | NO_QKV_BIAS | AVERAGE)},
    {"vit_medium_patch16_reg1_gap_256", NULL, VIT(256, 1000, 16, 512, 12, 8, 2048, 1, LAYER_SCALE | OWN_POSITIONS | AVERAGE | NORM_POOLED)},
    {"vit_medium_patch16_reg4_gap_256", NULL, VIT(256, 1000, 16, 512, 12, 8, 2048, 4, LAYER_SCALE | OWN_POSITIONS | AVERAGE | NORM_POOLED)},
    {"vit_medium_patch32_clip_224", NULL, VIT(224, 512, 32, 512, 12, 8, 2048, 1, PRE_NORM)},
    {"vit_mediumd_patch16_reg4_gap_256", NULL, VIT(256, 1000, 16, 512, 20, 8, 2048, 4, LAYER_SCALE | OWN_POSITIONS | AVERAGE | NORM_POOLED)},
    {"vit_mediumd_patch16_reg4_gap_384", NULL, VIT(384, 1000, 16, 512, 20, 8, 2048, 4, LAYER_SCALE | OWN_POSITIONS | AVERAGE | NORM_POOLED)},
    {"vit_small_patch14_dinov2", NULL, VIT(518, 0, 14, 384, 12, 6, 1536, 1, LAYER_SCALE)},
    {"vit_small_patch14_reg4_dinov2", NULL, VIT(518, 0, 14, 384, 12, 6, 1536, 5, LAYER_SCALE | OWN_POSITIONS)},
    {"vit_small_patch16_224", "deit_small_patch16_224", VIT(224, 1000, 16, 384, 12, 6, 1536, 1, 0)},
    {"vit_small_patch16_36x1_224", NULL, VIT(224, 1000, 16, 384, 36, 6, 1536, 1, LAYER_SCALE)},
    {"vit_small_patch16_384", NULL, VIT(384, 1000, 16, 384, 12, 6, 1536, 1, 0)},
    {"vit_small_patch32_224", NULL, VIT(224, 1000, 32, 384, 12, 6, 1536, 1, 0)},
    {"vit_small_patch32_384", NULL, VIT(384, 1000, 32, 384, 12, 6, 1536, 1, 0)},
    {"vit_small_patch8_224", NULL, VIT(224, 0, 8, 384, 12, 6, 1536, 1, 0)},
    {"vit_so150m2_patch16_reg1_gap_256", NULL, VIT(256, 1000, 16, 832, 21, 13, 2176, 1, LAYER_SCALE | NO_QKV_BIAS | AVERAGE | NORM_POOLED)},
    {"vit_so150m2_patch16_reg1_gap_384", NULL, VIT(384, 1000, 16, 832, 21, 13, 2176, 1, LAYER_SCALE | NO_QKV_BIAS | AVERAGE | NORM_POOLED)},
    {"vit_so150m2_patch16_reg1_gap_448", NULL, VIT(448, 1000, 16, 832, 21, 13, 2176, 1, LAYER_SCALE | NO_QKV_BIAS | AVERAGE | NORM_POOLED)},
    {"vit_so150m_patch16_reg4_gap_256", NULL, VIT(256, 1000, 16, 896, 18, 14, 2304, 4, AVERAGE)},
    {"vit_so150m_patch16_reg4_gap_384", NULL, VIT(384, 1000, 16, 896, 18, 14, 2304, 4, AVERAGE)},
    {"vit_so150m_patch16_reg4_map_256", NULL, VIT(256, 1000, 16, 896, 18, 14, 2304, 4, ATTENTION_POOL)},
    {"vit_so400m_patch14_siglip_224", NULL, VIT(224, 0, 14, 1152, 27, 16, 4304, 0, ATTENTION_POOL)},
    {"vit_so400m_patch14_siglip_378", NULL, VIT(378, 0, 14, 1152, 27, 16, 4304, 0, ATTENTION_POOL)},
    {"vit_so400m_patch14_siglip_384", NULL, VIT(384, 0, 14, 1152, 27, 16, 4304, 0, ATTENTION_POOL)},
    {"vit_so400m_patch14_siglip_gap_224", NULL, VIT(224, 0, 14, 1152, 27, 16, 4304, 0, AVERAGE)},
    {"vit_so400m_patch14_siglip_gap_378", NULL, VIT(378, 0, 14, 1152, 27, 16, 4304, 0, AVERAGE)},
    {"vit_so400m_patch14_siglip_gap_384", NULL, VIT(384, 0, 14, 1152, 27, 16, 4304, 0, AVERAGE)},
    {"vit_so400m_patch14_siglip_gap_448", NULL, VIT(448, 0, 14, 1152, 27, 16, 4304, 0, AVERAGE)},
    {"vit_so400m_patch14_siglip_gap_896", NULL, VIT(896, 0, 14, 1152, 27, 16, 4304, 0, AVERAGE)},
    {"vit_so400m_patch16_siglip_256", NULL, VIT(256, 0, 16, 1152, 27, 16, 4304, 0, ATTENTION_POOL)},
    {"vit_so400m_patch16_siglip_384", NULL, VIT(384, 0, 16, 1152, 27, 16, 4304, 0, ATTENTION_POOL)},
    {"vit_so400m_patch16_siglip_512", NULL, VIT(512, 0, 16, 1152, 27, 16, 4304, 0, ATTENTION_POOL)},
    {"vit_so400m_patch16_siglip_gap_256", NULL, VIT(256, 0, 16, 1152, 27, 16, 4304, 0, AVERAGE)},
    {"vit_so400m_patch16_siglip_gap_384", NULL, VIT(384, 0, 16, 1152, 27, 16, 4304, 0, AVERAGE)},
    {"vit_so400m_patch16_siglip_gap_512", NULL, VIT(512, 0, 16, 1152, 27, 16, 4304, 0, AVERAGE)},
    {"vit_tiny_patch16_224", "deit_tiny_patch16_224", VIT(224, 1000, 16, 192, 12, 3, 768, 1, 0)},
    {"vit_tiny_patch16_384", NULL, VIT(384, 1000, 16, 192, 12, 3, 768, 1, 0)},
    {"vit_wee_patch16_reg1_gap_256", NULL, VIT(256, 1000, 16, 256, 14, 4, 1280, 1, LAYER_SCALE | OWN_POSITIONS | AVERAGE | NORM_POOLED)},
    {"vit_xsmall_patch16_clip_224", NULL, VIT(224, 512, 16, 256, 10, 4, 1024, 1, PRE_NORM)},
};
/* clang-format on */

const struct rt_vision_family rt_vision_vit = {"vision transformer", models, RT_COUNT(models)};
