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
#define VIT(name_, aliases_, side, labels, patch_, ...) \
    {name_, aliases_, .image = side, .classes = labels, .build = build, .multiple = patch_, \
     .settings = &(const struct vit){patch_, __VA_ARGS__}},
/* clang-format on */
static const struct rt_vision models[] = {
#include "models/networks/vision/vit.def"
};

const struct rt_vision_family rt_vision_vit = {"vision transformer", models, RT_COUNT(models)};
