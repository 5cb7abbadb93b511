/*
 * U-Nets that denoise (Rombach et al. 2022; Podell et al. 2023, SDXL): residual blocks that read the time,
 * transformers that attend to text, skips from the way down to the way up. Sizes are those of
 * unet/config.json, orders diffusers' unet_2d_condition.py, unet_2d_blocks.py, resnet.py and attention.py.
 */
#include "models/networks/diffusion/unet.h"
#include "models/networks/diffusion/images.h"
#include "models/networks/diffusion/layers.h"

enum { GROUPS = 32, MOST_SKIPS = 16 };

struct unet {
    struct rt_graph *graph;
    const struct rt_unet *net;
    int64_t time_width;
    struct rt_image skip[MOST_SKIPS];
    size_t skips;
};

static struct rt_image residual(struct unet *u, const char *name, struct rt_image x, int64_t out)
{
    return rt_denoise_residual(u->graph, name, x, out, u->time_width, GROUPS);
}

/* ---- transformers ---- */

static struct rt_tokens attention(struct unet *u, const char *name, struct rt_tokens x, int64_t heads,
                                  bool text)
{
    const struct rt_unet *net = u->net;
    int64_t rows = rt_tokens_rows(x), keys = text ? net->text_tokens : x.count,
            from = text ? net->text_width : x.width;
    uint32_t source = text ? RT_NO_INPUT : x.node;
    uint32_t q = rt_build_linear(u->graph, "attn.q", x.node, rows, x.width, x.width, false),
             k = rt_build_linear(u->graph, "attn.k", source, x.batch * keys, from, x.width, false),
             v = rt_build_linear(u->graph, "attn.v", source, x.batch * keys, from, x.width, false);
    x.node = rt_denoise_attend_text(u->graph, name, q, k, v, x, keys, heads, x.width / heads);
    return rt_tokens_linear(u->graph, "attn.out", x, x.width, true);
}

static struct rt_tokens transformer_layer(struct unet *u, struct rt_tokens x, int64_t heads)
{
    x = rt_tokens_add(u->graph, "attn1.add", x,
                      attention(u, "attn1", rt_tokens_norm(u->graph, "norm1", x), heads, false));
    x = rt_tokens_add(u->graph, "attn2.add", x,
                      attention(u, "attn2", rt_tokens_norm(u->graph, "norm2", x), heads, true));
    struct rt_tokens y = rt_denoise_feed_forward(u->graph, "ff.out", rt_tokens_norm(u->graph, "norm3", x),
                                                 4 * x.width, RT_DENOISE_GEGLU);
    return rt_tokens_add(u->graph, "ff.add", x, y);
}

static struct rt_image transformer(struct unet *u, struct rt_image x, int64_t layers, int64_t heads)
{
    int64_t rows = x.batch * x.height * x.width;
    struct rt_image in = x;
    struct rt_image y = rt_denoise_groupnorm(u->graph, "transformer.norm", x, GROUPS);
    y.node = rt_build_copies(u->graph, "transformer.order", y.node, rows, x.channels, RT_COPY_TRANSPOSED,
                             RT_COPY_NONE);
    struct rt_tokens t = {y.node, x.batch, x.height * x.width, x.channels};
    t = rt_tokens_linear(u->graph, "proj_in", t, x.channels, true);
    for (int64_t l = 0; l < layers; l++)
        t = transformer_layer(u, t, heads);
    t = rt_tokens_linear(u->graph, "proj_out", t, x.channels, true);
    y.node = rt_build_copies(u->graph, "transformer.back", t.node, rows, x.channels, RT_COPY_TRANSPOSED,
                             RT_COPY_NONE);
    return rt_image_add(u->graph, "transformer.add", in, y);
}

/* ---- the U ---- */

static void keep(struct unet *u, struct rt_image x)
{
    if (u->skips < MOST_SKIPS)
        u->skip[u->skips++] = x;
}

static struct rt_image down(struct unet *u, struct rt_image x)
{
    const struct rt_unet *net = u->net;
    const struct rt_conv half = {.kernel_h = 3, .stride = 2, .padding_h = 1, .bias = true};
    for (int64_t level = 0; level < net->levels; level++) {
        for (int i = 0; i < 2; i++) {
            x = residual(u, "down", x, net->channels[level]);
            if (net->layers[level] > 0)
                x = transformer(u, x, net->layers[level], net->heads[level]);
            keep(u, x);
        }
        if (level + 1 == net->levels)
            break;
        struct rt_conv conv = half;
        conv.out = x.channels;
        x = rt_image_conv(u->graph, "downsample", x, &conv);
        keep(u, x);
    }
    return x;
}

static struct rt_image up(struct unet *u, struct rt_image x)
{
    const struct rt_unet *net = u->net;
    for (int64_t level = net->levels - 1; level >= 0; level--) {
        for (int i = 0; i < 3; i++) {
            const struct rt_image both[] = {x, u->skip[--u->skips]};
            x = residual(u, "up", rt_image_concat(u->graph, "skip", both, 2), net->channels[level]);
            if (net->layers[level] > 0)
                x = transformer(u, x, net->layers[level], net->heads[level]);
        }
        if (level > 0) {
            struct rt_image larger = rt_denoise_twice(u->graph, "upsample", x);
            larger.height = u->skip[u->skips - 1].height; /* odd sides */
            larger.width = u->skip[u->skips - 1].width;
            x = rt_denoise_conv3(u->graph, "upsample.conv", larger, x.channels, true);
        }
    }
    return x;
}

static void times(struct unet *u, int64_t batch)
{
    const struct rt_unet *net = u->net;
    rt_denoise_time(u->graph, "time", batch, net->channels[0], u->time_width);
    if (net->added_width > 0)
        rt_denoise_time(u->graph, "added", batch, net->added_width, u->time_width);
}

void rt_unet_build(const struct rt_diffusion *pipeline, struct rt_graph *graph)
{
    const struct rt_unet *net = pipeline->denoiser;
    struct rt_latents l = rt_diffusion_latents(pipeline, graph);
    struct unet u = {.graph = graph, .net = net, .time_width = 4 * net->channels[0]};
    struct rt_image x = {RT_NO_INPUT, rt_diffusion_batch(pipeline, graph), pipeline->channels, l.height,
                         l.width};
    int64_t last = net->levels - 1;
    rt_diffusion_block(pipeline, graph, "unet", 1);
    times(&u, x.batch);
    x = rt_denoise_conv3(graph, "conv_in", x, net->channels[0], true);
    keep(&u, x);
    x = down(&u, x);
    x = residual(&u, "middle1", x, net->channels[last]);
    x = transformer(&u, x, net->middle_layers, net->heads[last]);
    x = residual(&u, "middle2", x, net->channels[last]);
    x = up(&u, x);
    x = rt_denoise_groupnorm(graph, "conv_norm_out", x, GROUPS);
    x = rt_image_activation(graph, "conv_act", RT_OP_SILU, x, false);
    x = rt_denoise_conv3(graph, "conv_out", x, pipeline->channels, true);
    rt_denoise_move(graph, "scheduler", RT_OP_ADD, x.node, x.batch * x.channels, x.height * x.width, 12,
                    true);
}
