/*
 * Denoising transformers whose tokens are the image's and which attend to text by an attention of its own
 * (DiT, Peebles and Xie 2022; PixArt, Chen et al. 2023). Sizes are those of transformer/config.json; orders
 * are diffusers': pixart_transformer_2d.py, sana_transformer.py, hunyuan_transformer_2d.py,
 * transformer_wan.py.
 */
#include "models/networks/diffusion/cross.h"
#include "models/networks/diffusion/images.h"
#include "models/networks/diffusion/layers.h"
#include "models/networks/build.h"

struct layer {
    struct rt_graph *graph;
    const struct rt_cross *net;
    struct rt_tokens x;
    int64_t latents_high, latents_wide; /* of this GPU's share of the image, in tokens */
};

static uint32_t linear(const struct layer *l, const char *name, uint32_t x, int64_t rows, int64_t in,
                       int64_t out, bool bias)
{
    return rt_build_linear(l->graph, name, x, rows, in, out, bias);
}

/* Queries and keys: over whole rows, or over heads (HunyuanDiT's layer norms). */
static uint32_t norm_qk(const struct layer *l, const char *name, uint32_t x, int64_t rows)
{
    const struct rt_cross *net = l->net;
    if (!net->qk_norm)
        return x;
    if (net->kind == RT_CROSS_HUNYUAN) { /* of heads that lie apart: a norm's input is copied into order */
        x = rt_denoise_copy(l->graph, "heads.copy", x, rows, net->width);
        return rt_build_layernorm(l->graph, name, x, rows * net->heads, net->width / net->heads);
    }
    return rt_denoise_rms(l->graph, name, x, rows, net->width, net->width);
}

static uint32_t turn(const struct layer *l, const char *name, uint32_t x, int64_t rows)
{
    bool turns = l->net->kind == RT_CROSS_HUNYUAN || l->net->kind == RT_CROSS_WAN;
    return turns ? rt_denoise_rotary(l->graph, name, x, rows, l->net->width) : x;
}

/* Processors of diffusers.Attention divide by a factor, which is 1. */
static struct rt_tokens rescaled(const struct layer *l, struct rt_tokens x, bool is)
{
    if (is)
        x.node =
            rt_build_unary(l->graph, "attn.rescale", RT_OP_DIV_SCALAR, x.node, rt_tokens_rows(x), x.width);
    return x;
}

/* ---- attention within the image ---- */

/* v k^T q of a round, in fp32, whose casts are those of what came last. */
static uint32_t linear_round(const struct layer *l, uint32_t q, struct rt_tokens x, int64_t heads, bool first)
{
    struct rt_graph *graph = l->graph;
    int64_t rows = rt_tokens_rows(x), d = x.width / heads, groups = x.batch * heads;
    if (first)
        q = rt_denoise_move(graph, "attn.float_q", RT_OP_COPY, q, rows, x.width, 6, true);
    uint32_t k = rt_denoise_move(graph, "attn.float_k", RT_OP_COPY, q, rows, x.width, 6, true),
             v = rt_denoise_move(graph, "attn.float_v", RT_OP_COPY, k, rows, x.width, 6, true);
    uint32_t s = rt_build_bmm(graph, "attn.scores", v, k, groups, d + 1, x.count, d);
    s = rt_build_bmm(graph, "attn.values", s, q, groups, d + 1, d, x.count);
    return first ? s : rt_denoise_move(graph, "ring.add", RT_OP_ADD, s, rows, x.width, 12, true);
}

/* relu(q) (relu(k)^T v), with a row of ones that sums the weights (SanaLinearAttnProcessor2_0); on several
 * GPUs of heads of all tokens, laid out anew, round by round (xdit_sana_ring_flash_attn_forward). */
static uint32_t linear_attention(const struct layer *l, uint32_t q, uint32_t k, uint32_t v)
{
    const struct rt_cross *net = l->net;
    struct rt_graph *graph = l->graph;
    struct rt_tokens x = l->x, mine = x;
    int64_t rows = rt_tokens_rows(x), rings = graph->options.ring > 1 ? graph->options.ring : 1;
    int64_t parts = rt_denoise_parts(graph) / rings;
    bool shared = rt_denoise_parts(graph) > 1;
    mine.count *= parts;
    mine.width = net->width / parts;
    if (shared) {
        q = rt_denoise_exchange(graph, "ulysses.q", q, x, true, false);
        k = rt_denoise_exchange(graph, "ulysses.k", k, x, true, false);
        v = rt_denoise_cache(graph, rt_denoise_exchange(graph, "ulysses.v", v, x, true, false), x);
    }
    q = rt_build_unary(graph, "attn.relu_q", RT_OP_RELU, q, rows, net->width);
    k = rt_build_unary(graph, "attn.relu_k", RT_OP_RELU, k, rows, net->width);
    for (int i = 0; shared && i < 3; i++)
        q = rt_denoise_copy(graph, "attn.turn", q, rows, net->width);
    v = rt_denoise_move(graph, "attn.pad", RT_OP_COPY, v, rows, net->width, 8, true);
    uint32_t s = linear_round(l, q, mine, net->heads / parts, true);
    for (int64_t r = 1; r < rings; r++) {
        rt_denoise_pass_on(graph, v, 2 * rows * net->width);
        s = linear_round(l, s, mine, net->heads / parts, false);
    }
    s = rt_denoise_move(graph, "attn.divide", RT_OP_DIV, s, rows, net->width, 8, true);
    if (shared)
        s = rt_denoise_exchange(graph, "ulysses.out", s, x, true, true);
    return rt_denoise_move(graph, "attn.cast", RT_OP_COPY, s, rows, net->width, 6, false);
}

static struct rt_tokens self_attention(const struct layer *l, struct rt_tokens x)
{
    const struct rt_cross *net = l->net;
    bool bias = net->kind != RT_CROSS_SANA;
    int64_t rows = rt_tokens_rows(x), w = net->width;
    uint32_t q = linear(l, "attn1.q", x.node, rows, w, w, bias),
             k = linear(l, "attn1.k", x.node, rows, w, w, bias),
             v = linear(l, "attn1.v", x.node, rows, w, w, bias);
    q = turn(l, "attn1.rotary_q", norm_qk(l, "attn1.norm_q", q, rows), rows);
    k = turn(l, "attn1.rotary_k", norm_qk(l, "attn1.norm_k", k, rows), rows);
    if (net->kind == RT_CROSS_SANA) {
        x.node = linear_attention(l, q, k, v);
    } else {
        const struct rt_denoise_attention shape = {net->heads, w / net->heads, 0,
                                                   .long_context = net->kind != RT_CROSS_WAN, .cached = true};
        x.node = rt_denoise_attend(l->graph, "attn1", (const uint32_t[]){q, k, v}, x, &shape);
    }
    x = rt_tokens_linear(l->graph, "attn1.out", x, w, true);
    return rescaled(l, x, net->kind == RT_CROSS_PIXART || net->kind == RT_CROSS_HUNYUAN);
}

/* ---- attention to text ---- */

static struct rt_tokens cross_attention(const struct layer *l, struct rt_tokens x)
{
    const struct rt_cross *net = l->net;
    int64_t rows = rt_tokens_rows(x), text = x.batch * net->text_tokens, w = net->width;
    int64_t from = net->kind == RT_CROSS_HUNYUAN ? net->text_width : w;
    uint32_t q = linear(l, "attn2.q", x.node, rows, w, w, true),
             k = linear(l, "attn2.k", RT_NO_INPUT, text, from, w, true),
             v = linear(l, "attn2.v", RT_NO_INPUT, text, from, w, true);
    q = norm_qk(l, "attn2.norm_q", q, rows);
    if (net->kind == RT_CROSS_HUNYUAN)
        q = turn(l, "attn2.rotary_q", q, rows);
    k = norm_qk(l, "attn2.norm_k", k, text);
    x.node = rt_denoise_attend_text(l->graph, "attn2", q, k, v, x, net->text_tokens, net->cross_heads,
                                    w / net->cross_heads);
    return rescaled(l, rt_tokens_linear(l->graph, "attn2.out", x, w, true), net->kind != RT_CROSS_WAN);
}

/* ---- feed-forward ---- */

static struct rt_image image_of(const struct layer *l, struct rt_tokens x)
{
    return (struct rt_image){x.node, x.batch, x.width, l->latents_high, l->latents_wide};
}

/* Convolutions see a row of their neighbours': both borders are sent, and what the neighbour's adds is made
 * apart (xFuserGLUMBConvWrapper; of two GPUs each has one neighbour). */
static void borders(const struct layer *l, struct rt_tokens x)
{
    int64_t gpus = rt_denoise_parts(l->graph), rows = x.batch * l->latents_wide;
    for (int i = 0; gpus > 1 && i < 2; i++) {
        uint32_t border = rt_denoise_copy(l->graph, "ff.border", x.node, rows, x.width);
        rt_denoise_pass_on(l->graph, border, rows * x.width);
        if (i < gpus - 1)
            rt_denoise_border(l->graph, (struct rt_image){border, x.batch, x.width, 1, l->latents_wide},
                              l->net->ffn);
    }
}

static struct rt_tokens convolved(const struct layer *l, struct rt_tokens x)
{
    borders(l, x);
    x.node = rt_denoise_inverted(l->graph, image_of(l, x), l->net->ffn).node;
    return x;
}

static struct rt_tokens feed_forward(const struct layer *l, struct rt_tokens x)
{
    return l->net->kind == RT_CROSS_SANA
               ? convolved(l, x)
               : rt_denoise_feed_forward(l->graph, "ff.out", x, l->net->ffn, RT_DENOISE_GELU);
}

/* ---- layers ---- */

/* Shifts, scales and gates are learned numbers beside those of the time (adaLN-single). */
static void table(const struct layer *l, int64_t chunks)
{
    int64_t width = chunks * l->net->width;
    uint32_t t = rt_build_binary(l->graph, "scale_shift_table", RT_OP_ADD, RT_NO_INPUT, RT_NO_INPUT,
                                 l->x.batch, width, width);
    l->graph->nodes[t].parameters = (double)width;
}

static void single_layer(const struct layer *l)
{
    bool wide = l->net->kind == RT_CROSS_WAN;
    struct rt_tokens x = l->x;
    table(l, 6);
    struct rt_tokens y = self_attention(l, rt_denoise_modulate(l->graph, "norm1", x, wide));
    x = rt_denoise_gated_add(l->graph, "attn1.add", x, y);
    y = cross_attention(l, wide ? rt_tokens_norm(l->graph, "norm2", x) : x);
    x = rt_tokens_add(l->graph, "attn2.add", x, y);
    y = feed_forward(l, rt_denoise_modulate(l->graph, "norm3", x, wide));
    rt_denoise_gated_add(l->graph, "ff.add", x, y);
}

/* Long skips join what the first half of the layers made to the second half. */
static void hunyuan_layer(const struct layer *l, bool skip)
{
    const struct rt_cross *net = l->net;
    struct rt_tokens x = l->x;
    int64_t rows = rt_tokens_rows(x);
    double width = rt_dtypes[l->graph->options.dtype].bytes;
    if (skip) {
        x.node = rt_denoise_move(l->graph, "skip.cat", RT_OP_CONCAT, x.node, rows, 2 * net->width, 2 * width,
                                 false);
        x.node = rt_denoise_wide_norm(l->graph, "skip.norm",
                                      (struct rt_tokens){x.node, x.batch, x.count, 2 * net->width})
                     .node;
        x.node = rt_build_linear(l->graph, "skip.linear", x.node, rows, 2 * net->width, net->width, true);
    }
    rt_denoise_modulation(l->graph, "norm1.linear", x.batch, net->width, net->width, 1);
    struct rt_tokens y = rt_denoise_wide_norm(l->graph, "norm1", x);
    y.node = rt_build_binary(l->graph, "norm1.shift", RT_OP_ADD, y.node, RT_NO_INPUT, rows, x.width,
                             x.batch * x.width);
    x = rt_tokens_add(l->graph, "attn1.add", x, self_attention(l, y));
    x = rt_tokens_add(l->graph, "attn2.add", x,
                      cross_attention(l, rt_denoise_wide_norm(l->graph, "norm2", x)));
    y = rt_denoise_feed_forward(l->graph, "ff.out", rt_denoise_wide_norm(l->graph, "norm3", x), net->ffn,
                                RT_DENOISE_GELU);
    rt_tokens_add(l->graph, "ff.add", x, y);
}

/* ---- what comes before them and after ---- */

static uint32_t two_products(const struct layer *l, const char *name, int64_t rows, int64_t in, int64_t inner,
                             int64_t out)
{
    uint32_t x = linear(l, name, RT_NO_INPUT, rows, in, inner, true);
    x = rt_build_unary(l->graph, "act", RT_OP_GELU, x, rows, inner);
    return linear(l, name, x, rows, inner, out, true);
}

/* Of HunyuanDiT: text of two encoders, one of them pooled by attention. */
static void hunyuan_embedding(const struct layer *l)
{
    enum { T5 = 256, T5_WIDTH = 2048, POOL_HEADS = 8 };
    const struct rt_cross *net = l->net;
    struct rt_graph *graph = l->graph;
    int64_t batch = l->x.batch, tokens = batch * (T5 + 1);
    uint32_t text = two_products(l, "text_embedder", batch * T5, T5_WIDTH, 4 * T5_WIDTH, net->text_width);
    text = rt_denoise_move(graph, "text_padding", RT_OP_WHERE, text, batch * net->text_tokens,
                           net->text_width, 4, false);
    graph->nodes[text].parameters = (double)(net->text_tokens * net->text_width);
    rt_denoise_time(graph, "time", batch, 256, net->width);
    uint32_t p = rt_build_binary(graph, "pooler.positions", RT_OP_ADD, RT_NO_INPUT, RT_NO_INPUT, tokens,
                                 T5_WIDTH, (T5 + 1) * T5_WIDTH);
    graph->nodes[p].parameters = (double)((T5 + 1) * T5_WIDTH);
    uint32_t q = linear(l, "pooler.q", p, batch, T5_WIDTH, T5_WIDTH, true),
             k = linear(l, "pooler.k", p, tokens, T5_WIDTH, T5_WIDTH, true),
             v = linear(l, "pooler.v", p, tokens, T5_WIDTH, T5_WIDTH, true);
    q = rt_build_bmm(graph, "pooler.scores", q, k, batch * POOL_HEADS, 1, T5_WIDTH / POOL_HEADS, T5 + 1);
    q = rt_build_softmax(graph, "pooler.softmax", q, batch * POOL_HEADS, T5 + 1);
    q = rt_build_bmm(graph, "pooler.values", q, v, batch * POOL_HEADS, 1, T5 + 1, T5_WIDTH / POOL_HEADS);
    linear(l, "pooler.out", q, batch, T5_WIDTH, 1024, true);
    two_products(l, "extra_embedder", batch, 1024, 4 * net->width, net->width);
}

static void embed(struct layer *l, const struct rt_diffusion *pipeline)
{
    const struct rt_cross *net = l->net;
    struct rt_graph *graph = l->graph;
    int64_t batch = l->x.batch, text = batch * net->text_tokens;
    l->x.node = rt_build_linear(graph, "patch_embed", RT_NO_INPUT, rt_tokens_rows(l->x),
                                pipeline->channels * net->patch * net->patch, net->width, true);
    if (net->kind == RT_CROSS_HUNYUAN) {
        hunyuan_embedding(l);
        return;
    }
    rt_denoise_time(graph, "time", batch, 256, net->width);
    rt_denoise_modulation(graph, "time.linear", batch, net->width, net->width, 6);
    uint32_t t = two_products(l, "caption_projection", text, net->text_width, net->width, net->width);
    if (net->kind == RT_CROSS_SANA)
        rt_denoise_rms(graph, "caption_norm", t, text, net->width, net->width);
}

static void finish(const struct layer *l, const struct rt_diffusion *pipeline)
{
    const struct rt_cross *net = l->net;
    int64_t patch = net->out_channels * net->patch * net->patch;
    (void)pipeline;
    if (net->kind == RT_CROSS_HUNYUAN)
        rt_denoise_modulation(l->graph, "norm_out.linear", l->x.batch, net->width, net->width, 2);
    else
        table(l, 2);
    struct rt_tokens x = rt_denoise_modulate(l->graph, "norm_out", l->x, net->kind == RT_CROSS_WAN);
    x = rt_tokens_linear(l->graph, "proj_out", x, patch, true);
    /* The scheduler's step, in fp32. */
    rt_denoise_move(l->graph, "scheduler", RT_OP_ADD, x.node, rt_tokens_rows(x), patch, 12, true);
}

void rt_cross_build(const struct rt_diffusion *pipeline, struct rt_graph *graph)
{
    const struct rt_cross *net = pipeline->denoiser;
    struct rt_latents latents = rt_diffusion_latents(pipeline, graph);
    int64_t high = latents.height / net->patch, wide = latents.width / net->patch;
    struct layer l = {.graph = graph, .net = net};
    l.x = (struct rt_tokens){RT_NO_INPUT, rt_diffusion_batch(pipeline, graph),
                             rt_denoise_share(graph, latents.frames * high * wide), net->width};
    l.latents_wide = wide;
    l.latents_high = rt_build_shard(l.x.count, wide);
    l.x.count = net->kind == RT_CROSS_SANA ? l.latents_high * wide : l.x.count; /* whole rows of the image */
    rt_diffusion_block(pipeline, graph, "embedding", 1);
    embed(&l, pipeline);
    int64_t skips = net->kind == RT_CROSS_HUNYUAN ? net->layers - net->layers / 2 - 1 : 0;
    rt_diffusion_block(pipeline, graph, "layers", net->layers - skips);
    net->kind == RT_CROSS_HUNYUAN ? hunyuan_layer(&l, false) : single_layer(&l);
    if (skips > 0) {
        rt_diffusion_block(pipeline, graph, "layers with skips", skips);
        hunyuan_layer(&l, true);
    }
    rt_diffusion_block(pipeline, graph, "head", 1);
    finish(&l, pipeline);
}
