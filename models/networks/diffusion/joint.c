/*
 * Denoising transformers whose attention is over text and image at once. Layers with weights for either
 * (double: Esser et al. 2024, MMDiT) and layers with one set for both (single). Sizes are those of
 * transformer/config.json; orders are diffusers': transformer_sd3.py, transformer_flux.py,
 * transformer_hunyuan_video.py, cogvideox_transformer_3d.py.
 */
#include "models/networks/diffusion/joint.h"
#include "models/networks/diffusion/layers.h"
#include "models/networks/build.h"

/* The two streams of a batch on one GPU. */
struct streams {
    struct rt_graph *graph;
    const struct rt_joint *net;
    struct rt_tokens image, text;
};

static struct rt_tokens both_of(const struct streams *s)
{
    struct rt_tokens x = s->image;
    x.count += s->text.count;
    return x;
}

static uint32_t join(const struct streams *s, const char *name)
{
    struct rt_tokens x = both_of(s);
    double width = rt_dtypes[s->graph->options.dtype].bytes;
    return rt_denoise_move(s->graph, name, RT_OP_CONCAT, s->image.node, rt_tokens_rows(x), x.width, 2 * width,
                           false);
}

/* ---- products of one stream ---- */

static void project(const struct streams *s, struct rt_tokens x, uint32_t out[3])
{
    static const char *const names[] = {"attn.q", "attn.k", "attn.v"};
    const struct rt_joint *net = s->net;
    for (int i = 0; i < 3; i++) {
        uint32_t y = rt_tokens_linear(s->graph, names[i], x, net->width, true).node;
        int64_t rows = rt_tokens_rows(x), d = net->width / net->heads;
        if (i < 2 && (net->traits & RT_JOINT_RMS_QK))
            y = rt_denoise_rms(s->graph, i == 0 ? "attn.norm_q" : "attn.norm_k", y, rows * net->heads, d, d);
        if (i < 2 && (net->traits & RT_JOINT_LAYER_QK)) {
            y = rt_build_layernorm(s->graph, i == 0 ? "attn.norm_q" : "attn.norm_k", y, rows * net->heads, d);
        }
        out[i] = y;
    }
}

static void rotate(const struct streams *s, uint32_t qkv[3], int64_t rows)
{
    if ((s->net->traits & RT_JOINT_ROTARY) == 0)
        return;
    qkv[0] = rt_denoise_rotary(s->graph, "attn.rotary_q", qkv[0], rows, s->net->width);
    qkv[1] = rt_denoise_rotary(s->graph, "attn.rotary_k", qkv[1], rows, s->net->width);
}

static uint32_t attend(const struct streams *s, const uint32_t qkv[3], int64_t text)
{
    /* Text that does not divide is no part of xDiT's USP; CogVideoX's processor names no layer to cache for.
     */
    const struct rt_denoise_attention shape = {s->net->heads, s->net->width / s->net->heads, text,
                                               .long_context =
                                                   s->net->text_tokens % rt_denoise_parts(s->graph) != 0,
                                               .cached = s->net->time_width == 0};
    return rt_denoise_attend(s->graph, "attn", qkv, s->image, &shape);
}

/* ---- a layer with weights for either stream ---- */

static struct rt_tokens out_of(const struct streams *s, const char *name, struct rt_tokens x, uint32_t y)
{
    struct rt_tokens part = x;
    part.node = y;
    part = rt_tokens_linear(s->graph, name, part, s->net->width, true);
    return rt_denoise_gated_add(s->graph, "attn.add", x, part);
}

static struct rt_tokens feed_forward(const struct streams *s, struct rt_tokens x)
{
    struct rt_tokens y = rt_denoise_modulate(s->graph, "norm2", x, false);
    y = rt_denoise_feed_forward(s->graph, "ff.out", y, 4 * s->net->width, RT_DENOISE_GELU);
    return rt_denoise_gated_add(s->graph, "ff.add", x, y);
}

/* A second attention, of the image alone (SD 3.5 medium's first layers). */
static struct rt_tokens alone(const struct streams *s, struct rt_tokens x, struct rt_tokens normed)
{
    uint32_t qkv[3];
    normed = rt_denoise_scale_shift(s->graph, normed);
    project(s, normed, qkv);
    const uint32_t nodes[] = {qkv[0], qkv[1], qkv[2]};
    return out_of(s, "attn2.out", x, attend(s, nodes, 0));
}

/* `last`: the text is not needed behind it, but for its keys and values (context_pre_only). */
static void double_layer(const struct streams *s, bool dual, bool last)
{
    static const char *const names[] = {"attn.cat_q", "attn.cat_k", "attn.cat_v"};
    const struct rt_joint *net = s->net;
    struct streams now = *s;
    uint32_t of_image[3], of_text[3];
    uint32_t qkv[3];
    rt_denoise_modulation(s->graph, "norm1.linear", s->image.batch, net->width, net->width, dual ? 9 : 6);
    struct rt_tokens x = rt_denoise_modulate(s->graph, "norm1", s->image, false);
    rt_denoise_modulation(s->graph, "norm1_context.linear", s->image.batch, net->width, net->width,
                          last ? 2 : 6);
    struct rt_tokens t = rt_denoise_modulate(s->graph, "norm1_context", s->text, false);
    project(s, x, of_image);
    project(s, t, of_text);
    for (int i = 0; i < 3; i++) {
        struct streams parts = *s;
        parts.image.node = of_image[i];
        qkv[i] = join(&parts, names[i]);
        rt_graph_add_input(s->graph, of_text[i]);
    }
    rotate(s, qkv, rt_tokens_rows(both_of(s)));
    uint32_t y = attend(s, qkv, s->text.count);
    now.image = out_of(s, "attn.out", s->image, y);
    if (dual)
        now.image = alone(s, now.image, x);
    if (!last)
        now.text = feed_forward(s, out_of(s, "attn.add_out", s->text, y));
    feed_forward(s, now.image);
}

/* ---- a layer with one set of weights ---- */

/* Attention and feed-forward side by side (FLUX, HunyuanVideo). */
static void parallel_layer(const struct streams *s)
{
    const struct rt_joint *net = s->net;
    struct rt_tokens x = both_of(s);
    int64_t rows = rt_tokens_rows(x), wide = 5 * net->width;
    uint32_t qkv[3];
    double width = rt_dtypes[s->graph->options.dtype].bytes;
    x.node = s->image.node;
    rt_denoise_modulation(s->graph, "norm.linear", x.batch, net->width, net->width, 3);
    struct rt_tokens normed = rt_denoise_modulate(s->graph, "norm", x, false);
    struct rt_tokens up = rt_tokens_linear(s->graph, "proj_mlp", normed, 4 * net->width, true);
    up.node = rt_build_unary(s->graph, "act_mlp", RT_OP_GELU, up.node, rows, up.width);
    project(s, normed, qkv);
    uint32_t nodes[] = {qkv[0], qkv[1], qkv[2]};
    rotate(s, nodes, rows);
    struct rt_tokens y = x;
    y.node = attend(s, nodes, s->text.count);
    y.node = rt_denoise_move(s->graph, "cat", RT_OP_CONCAT, y.node, rows, wide, 2 * width, false);
    rt_graph_add_input(s->graph, up.node);
    y.width = wide;
    y = rt_tokens_linear(s->graph, "proj_out", y, net->width, true);
    rt_denoise_gated_add(s->graph, "add", x, y);
}

/* Norms with weights, modulated by stream; attention, then feed-forward, of both (CogVideoX). */
static struct rt_tokens modulated(const struct streams *s, const char *name, struct rt_tokens x)
{
    int64_t rows = rt_tokens_rows(x);
    rt_denoise_modulation(s->graph, name, x.batch, s->net->time_width, x.width, 6);
    x.node = rt_build_layernorm(s->graph, "norm", x.node, rows, x.width);
    return rt_denoise_scale_shift(s->graph, x);
}

static void shared_layer(const struct streams *s)
{
    struct rt_tokens x = both_of(s);
    uint32_t qkv[3];
    x.node = s->image.node;
    struct rt_tokens y = modulated(s, "norm1.linear", x);
    y.node = join(&(struct streams){s->graph, s->net, y, {0}}, "attn.cat");
    project(s, y, qkv);
    uint32_t nodes[] = {qkv[0], qkv[1], qkv[2]};
    rotate(s, nodes, rt_tokens_rows(s->image));
    y.node = attend(s, nodes, s->text.count);
    y = rt_tokens_linear(s->graph, "attn.out", y, s->net->width, true);
    x = rt_denoise_gated_add(s->graph, "attn.add", x, y);
    y = modulated(s, "norm2.linear", x);
    y.node = join(&(struct streams){s->graph, s->net, y, {0}}, "ff.cat");
    y = rt_denoise_feed_forward(s->graph, "ff.out", y, 4 * s->net->width, RT_DENOISE_GELU);
    rt_denoise_gated_add(s->graph, "ff.add", x, y);
}

/* ---- what comes before the layers and after ---- */

static void two_products(struct rt_graph *graph, const char *name, int64_t rows, int64_t in, int64_t width)
{
    uint32_t x = rt_build_linear(graph, name, RT_NO_INPUT, rows, in, width, true);
    x = rt_build_unary(graph, "act", RT_OP_SILU, x, rows, width);
    rt_build_linear(graph, name, x, rows, width, width, true);
}

/* Two layers over the text alone (HunyuanVideo), each modulated by the time. */
static void refine(const struct streams *s)
{
    const struct rt_joint *net = s->net;
    struct rt_graph *graph = s->graph;
    struct rt_tokens x = s->text;
    rt_denoise_time(graph, "refiner.time", x.batch, 256, net->width);
    two_products(graph, "refiner.text", x.batch, net->text_width, net->width);
    for (int i = 0; i < 2; i++) {
        struct rt_tokens y = rt_tokens_norm(graph, "refiner.norm1", x);
        const struct rt_self_attention shape = {.heads = net->heads, .width = net->width, .qkv_bias = true};
        y = rt_tokens_attention(graph, y, &shape);
        rt_denoise_modulation(graph, "refiner.linear", x.batch, net->width, net->width, 2);
        x = rt_denoise_gated_add(graph, "refiner.add1", x, y);
        y = rt_denoise_feed_forward(graph, "refiner.ff", rt_tokens_norm(graph, "refiner.norm2", x),
                                    4 * net->width, RT_DENOISE_SILU);
        x = rt_denoise_gated_add(graph, "refiner.add2", x, y);
    }
}

static void embed(struct streams *s, const struct rt_diffusion *pipeline)
{
    const struct rt_joint *net = s->net;
    struct rt_graph *graph = s->graph;
    int64_t patch = pipeline->channels * net->patch * net->patch * net->patch_time, batch = s->image.batch;
    int64_t pooled = net->pooled_width;
    if (net->time_width > 0) {
        rt_denoise_time(graph, "time", batch, net->width, net->time_width);
    } else {
        rt_denoise_time(graph, "time", batch, 256, net->width);
        if (net->traits & RT_JOINT_GUIDANCE)
            rt_denoise_time(graph, "guidance", batch, 256, net->width);
        if (pooled > 0)
            two_products(graph, "pooled_text", batch, pooled, net->width);
    }
    s->text.node = rt_build_linear(graph, "context_embedder", RT_NO_INPUT, rt_tokens_rows(s->text),
                                   net->text_width, net->width, true);
    if (net->traits & RT_JOINT_REFINER)
        refine(s);
    s->image.node =
        rt_build_linear(graph, "x_embedder", RT_NO_INPUT, rt_tokens_rows(s->image), patch, net->width, true);
}

static void finish(const struct streams *s, const struct rt_diffusion *pipeline)
{
    const struct rt_joint *net = s->net;
    int64_t patch = pipeline->channels * net->patch * net->patch * net->patch_time;
    struct rt_tokens x = s->image;
    if (net->time_width > 0) {
        x = rt_tokens_norm(s->graph, "norm_final", x);
        rt_denoise_modulation(s->graph, "norm_out.linear", x.batch, net->time_width, net->width, 2);
        x = rt_tokens_norm(s->graph, "norm_out", x);
    } else {
        rt_denoise_modulation(s->graph, "norm_out.linear", x.batch, net->width, net->width, 2);
        x = rt_denoise_modulate(s->graph, "norm_out", x, false);
    }
    x = rt_tokens_linear(s->graph, "proj_out", x, patch, true);
    /* The scheduler's step, in fp32. */
    rt_denoise_move(s->graph, "scheduler", RT_OP_ADD, x.node, rt_tokens_rows(x), patch, 12, true);
}

void rt_joint_build(const struct rt_diffusion *pipeline, struct rt_graph *graph)
{
    const struct rt_joint *net = pipeline->denoiser;
    struct rt_latents l = rt_diffusion_latents(pipeline, graph);
    int64_t frames = (l.frames + net->patch_time - 1) / net->patch_time;
    int64_t tokens = frames * (l.height / net->patch) * (l.width / net->patch);
    int64_t batch = rt_diffusion_batch(pipeline, graph);
    struct streams s = {.graph = graph, .net = net};
    s.image = (struct rt_tokens){RT_NO_INPUT, batch, rt_denoise_share(graph, tokens), net->width};
    s.text =
        (struct rt_tokens){RT_NO_INPUT, batch, rt_denoise_text_share(graph, net->text_tokens), net->width};
    rt_diffusion_block(pipeline, graph, "embedding", 1);
    embed(&s, pipeline);
    if (net->duals > 0) {
        rt_diffusion_block(pipeline, graph, "dual layers", net->duals);
        double_layer(&s, true, false);
    }
    int64_t last = net->traits & RT_JOINT_LAST;
    if (net->doubles - net->duals - (last ? 1 : 0) > 0) {
        rt_diffusion_block(pipeline, graph, "double layers", net->doubles - net->duals - (last ? 1 : 0));
        double_layer(&s, false, false);
    }
    if (last) {
        rt_diffusion_block(pipeline, graph, "last layer", 1);
        double_layer(&s, false, true);
    }
    if (net->singles > 0) {
        rt_diffusion_block(pipeline, graph, "single layers", net->singles);
        net->time_width > 0 ? shared_layer(&s) : parallel_layer(&s);
    }
    rt_diffusion_block(pipeline, graph, "head", 1);
    finish(&s, pipeline);
}
