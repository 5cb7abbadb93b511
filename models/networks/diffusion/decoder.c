/*
 * Decoders of latents: rows of sizes over three builders. Of images: AutoencoderKL (autoencoder_kl.py and
 * vae.py of diffusers), residual blocks with attention in the middle. Deep: AutoencoderDC (autoencoder_dc.py;
 * Chen et al. 2024, DC-AE), 32 pixels of a side to a latent, with linear attention where images are small. Of
 * videos: causal convolutions over 3 x 3 x 3 places (autoencoder_kl_wan.py, autoencoder_kl_hunyuan_video.py,
 * autoencoder_kl_cogvideox.py; the last one's norms read the latents, which is left out, and Wan 2.2's
 * shortcuts are). A convolution over three frames is one over an image of three times the channels: as many
 * FLOPs and weights; what it reads is set to each frame once.
 *
 * Videos are decoded piece by piece to save memory, as ML.ENERGY's runs and the pipelines' pages have it: one
 * video after the other (enable_slicing), in tiles, whose overlap is computed twice (enable_tiling), of them
 * some latents of time at once (Wan: one; CogVideoX: two; HunyuanVideo: five of which two are computed
 * again). A block is a piece of their mean size: those at the ends are smaller.
 */
#include "models/networks/diffusion/decoder.h"
#include "models/networks/diffusion/images.h"
#include "models/networks/diffusion/layers.h"

enum { GROUPS = 32, MOST_LEVELS = 6 };

struct rt_decoder {
    void (*build)(const struct rt_decoder *decoder, struct rt_graph *graph, struct rt_latents latents);
    int64_t latents, levels, channels[MOST_LEVELS]; /* from the latents on */
    int64_t residuals;                              /* of each level */
    int64_t attends;                                /* deep: first levels of linear attention */
    bool quantised;                                 /* a convolution of one pixel comes first */
    bool fp32;                                      /* in fp32 whatever the pipeline's dtype (SDXL's) */
    unsigned doubles_time;                          /* video: bits of the levels behind which frames double */
    int64_t pixels;                                 /* channels of what it makes, in patches: 3, 12 */
    bool rms;                                       /* norms over channels, no group norms */
    bool attention;                                 /* over the places of a frame, in the middle */
    struct {
        /* of a piece, in latents; 0: all, 0 of width: as high as wide */
        int64_t height, stride, width, width_stride, frames, frames_stride;
    } piece;
};

static struct rt_image input(const struct rt_decoder *d, struct rt_latents l)
{
    return (struct rt_image){RT_NO_INPUT, l.batch * l.frames, d->latents, l.height, l.width};
}

/* ---- images ---- */

/* One head over all places, with a group norm before it. */
static struct rt_image attend(struct rt_graph *graph, struct rt_image x, bool rms)
{
    int64_t rows = x.batch * x.height * x.width, c = x.channels;
    struct rt_image in = x;
    if (rms)
        x.node = rt_denoise_rms(graph, "attn.norm", x.node, rows, c, c);
    else
        x = rt_denoise_groupnorm(graph, "attn.norm", x, GROUPS);
    struct rt_tokens t = {x.node, x.batch, x.height * x.width, c};
    uint32_t q = rt_build_linear(graph, "attn.q", t.node, rows, c, c, true),
             k = rt_build_linear(graph, "attn.k", t.node, rows, c, c, true),
             v = rt_build_linear(graph, "attn.v", t.node, rows, c, c, true);
    t.node = rt_denoise_attend_text(graph, "attn", q, k, v, t, t.count, 1, c);
    x.node = rt_tokens_linear(graph, "attn.out", t, c, true).node;
    return rt_image_add(graph, "attn.add", in, x);
}

static void build_images(const struct rt_decoder *d, struct rt_graph *graph, struct rt_latents l)
{
    const struct rt_conv point = {.out = d->latents, .kernel_h = 1, .bias = true};
    struct rt_image x = input(d, l);
    if (d->quantised)
        x = rt_image_conv(graph, "post_quant_conv", x, &point);
    x = rt_denoise_conv3(graph, "conv_in", x, d->channels[0], true);
    x = rt_denoise_residual(graph, "middle1", x, d->channels[0], 0, GROUPS);
    x = attend(graph, x, false);
    x = rt_denoise_residual(graph, "middle2", x, d->channels[0], 0, GROUPS);
    for (int64_t level = 0; level < d->levels; level++) {
        for (int64_t i = 0; i < d->residuals; i++)
            x = rt_denoise_residual(graph, "up", x, d->channels[level], 0, GROUPS);
        if (level + 1 < d->levels)
            x = rt_denoise_conv3(graph, "upsample.conv", rt_denoise_twice(graph, "upsample", x), x.channels,
                                 true);
    }
    x = rt_denoise_groupnorm(graph, "conv_norm_out", x, GROUPS);
    x = rt_image_activation(graph, "conv_act", RT_OP_SILU, x, false);
    rt_denoise_conv3(graph, "conv_out", x, d->pixels, true);
}

/* ---- deep ---- */

/* RMS norm over channels, with weight and bias. */
static struct rt_image channel_norm(struct rt_graph *graph, const char *name, struct rt_image x)
{
    int64_t rows = x.batch * x.height * x.width;
    x.node = rt_denoise_rms(graph, name, x.node, rows, x.channels, 2 * x.channels);
    return x;
}

static struct rt_image deep_residual(struct rt_graph *graph, struct rt_image x)
{
    struct rt_image y = rt_denoise_conv3(graph, "conv1", x, x.channels, true);
    y = rt_image_activation(graph, "silu", RT_OP_SILU, y, false);
    y = rt_denoise_conv3(graph, "conv2", y, x.channels, false);
    return rt_image_add(graph, "add", x, channel_norm(graph, "norm", y));
}

/* Two scales of queries, keys and values: as they are, and through a convolution of 5 x 5
 * (SanaMultiscaleLinearAttention); heads of 32 columns, in fp32. */
static struct rt_image multiscale(struct rt_graph *graph, struct rt_image x)
{
    enum { HEAD = 32 };
    int64_t c = x.channels, heads = c / HEAD, rows = x.batch * x.height * x.width,
            places = x.height * x.width;
    const struct rt_conv wide = {.out = 3 * c, .kernel_h = 5, .padding_h = 2, .groups = 3 * c},
                         group = {.out = 3 * c, .kernel_h = 1, .groups = 3 * heads},
                         out = {.out = c, .kernel_h = 1};
    struct rt_image qkv = x, y = x;
    qkv.node = rt_build_linear(graph, "attn.qkv", x.node, rows, c, 3 * c, false);
    qkv.channels = 3 * c;
    struct rt_image scaled = rt_image_conv(graph, "attn.wide", qkv, &wide);
    scaled = rt_image_conv(graph, "attn.group", scaled, &group);
    uint32_t both = rt_denoise_move(graph, "attn.cat", RT_OP_CONCAT, scaled.node, rows, 6 * c, 4, false);
    both = rt_build_unary(graph, "attn.relu", RT_OP_RELU, both, rows, 4 * c);
    both = rt_denoise_move(graph, "attn.float", RT_OP_COPY, both, rows, 6 * c, 6, true);
    int64_t groups = x.batch * 2 * heads;
    uint32_t s = rt_build_bmm(graph, "attn.scores", both, both, groups, HEAD + 1, places, HEAD);
    s = rt_build_bmm(graph, "attn.values", s, both, groups, HEAD + 1, HEAD, places);
    s = rt_denoise_move(graph, "attn.divide", RT_OP_DIV, s, rows, 2 * c, 8, true);
    y.node = rt_denoise_move(graph, "attn.cast", RT_OP_COPY, s, rows, 2 * c, 6, false);
    y.channels = 2 * c;
    y = rt_image_conv(graph, "attn.out", y, &out);
    return rt_image_add(graph, "attn.add", x, channel_norm(graph, "attn.norm", y));
}

static struct rt_image inverted(struct rt_graph *graph, struct rt_image x)
{
    struct rt_image y = rt_denoise_inverted(graph, x, 4 * x.channels);
    return rt_image_add(graph, "ff.add", x, channel_norm(graph, "ff.norm", y));
}

static void build_deep(const struct rt_decoder *d, struct rt_graph *graph, struct rt_latents l)
{
    struct rt_image x = rt_denoise_conv3(graph, "conv_in", input(d, l), d->channels[0], true);
    x = rt_image_add(graph, "in_shortcut", x, x);
    for (int64_t level = 0; level < d->levels; level++) {
        if (level > 0) { /* and a shortcut by repeated channels */
            x = rt_denoise_conv3(graph, "upsample.conv", rt_denoise_twice(graph, "upsample", x),
                                 d->channels[level], true);
            x = rt_image_add(graph, "upsample.add", x, x);
        }
        for (int64_t i = 0; i < d->residuals; i++)
            x = level < d->attends ? inverted(graph, multiscale(graph, x)) : deep_residual(graph, x);
    }
    x = rt_image_activation(graph, "conv_act", RT_OP_RELU, channel_norm(graph, "norm_out", x), false);
    rt_denoise_conv3(graph, "conv_out", x, d->pixels, true);
}

/* ---- video ---- */

/* What a causal convolution over x's frames of one video copies: the two frames before them, which Wan and
 * CogVideoX keep of the piece before, are put in front (torch.cat), or the first one twice (HunyuanVideo);
 * Wan keeps two and pads all at their borders, too (WanCausalConv3d). */
static struct rt_image causal(struct rt_graph *graph, struct rt_image x, bool wan)
{
    double each = 2 * rt_dtypes[graph->options.dtype].bytes; /* read and written */
    int64_t frames = x.batch + 2, rows = frames * x.channels, cols = x.height * x.width;
    if (wan)
        rt_denoise_move(graph, "conv.keep", RT_OP_COPY, x.node, 2 * x.channels, cols, each, false);
    x.node = rt_denoise_move(graph, "conv.before", RT_OP_CONCAT, x.node, rows, cols, each, false);
    if (wan)
        x.node = rt_denoise_move(graph, "conv.pad", RT_OP_COPY, x.node, rows, cols, each, false);
    return x;
}

/* Of `depth` frames, each read once. */
static struct rt_image conv3d(struct rt_graph *graph, const char *name, struct rt_image x, int64_t out,
                              int64_t depth, int64_t side, bool wan)
{
    struct rt_image tall = depth > 1 ? causal(graph, x, wan) : x;
    tall.channels *= depth;
    const struct rt_conv conv = {.out = out, .kernel_h = side, .padding_h = side / 2};
    struct rt_image y = rt_image_conv(graph, name, tall, &conv);
    struct rt_graph_kernel *kernel = &graph->kernels[graph->kernel_count - 1];
    kernel->bytes -= (double)(depth - 1) * rt_dtypes[kernel->call.dtype].bytes * (double)rt_image_elements(x);
    graph->nodes[y.node].parameters += (double)out;
    y.node = rt_build_binary(graph, "conv.bias", RT_OP_ADD, y.node, RT_NO_INPUT, y.batch * out,
                             y.height * y.width, out);
    graph->nodes[y.node].nested = true;
    return y;
}

static struct rt_image video_norm(const struct rt_decoder *d, struct rt_graph *graph, const char *name,
                                  struct rt_image x)
{
    if (!d->rms)
        return rt_denoise_groupnorm(graph, name, x, GROUPS);
    x.node = rt_denoise_rms(graph, name, x.node, x.batch * x.height * x.width, x.channels, x.channels);
    return x;
}

static struct rt_image video_residual(const struct rt_decoder *d, struct rt_graph *graph, struct rt_image x,
                                      int64_t out)
{
    struct rt_image y =
        rt_image_activation(graph, "silu1", RT_OP_SILU, video_norm(d, graph, "norm1", x), false);
    y = conv3d(graph, "conv1", y, out, 3, 3, d->rms);
    y = rt_image_activation(graph, "silu2", RT_OP_SILU, video_norm(d, graph, "norm2", y), false);
    y = conv3d(graph, "conv2", y, out, 3, 3, d->rms);
    return rt_image_add(graph, "add", x.channels == out ? x : conv3d(graph, "shortcut", x, out, 1, 1, d->rms),
                        y);
}

/* T latents make 1 + 2 (T - 1) frames, the first one alone; of pieces, which begin anywhere, 2 T. */
static struct rt_image larger(const struct rt_decoder *d, struct rt_graph *graph, struct rt_image x,
                              int64_t level, struct rt_latents *l)
{
    if (d->doubles_time & (1U << level)) {
        l->frames = 2 * l->frames - (d->piece.frames > 0 ? 0 : 1);
        if (d->rms) { /* Wan: a convolution over time makes twice the channels, which become frames */
            struct rt_image twice = conv3d(graph, "upsample.time", x, 2 * x.channels, 3, 1, d->rms);
            x.node = twice.node;
        }
        x.batch = l->batch * l->frames;
    }
    x = rt_denoise_twice(graph, "upsample", x);
    return conv3d(graph, "upsample.conv", x, d->rms ? x.channels / 2 : x.channels, d->rms ? 1 : 3, 3, d->rms);
}

static void build_video(const struct rt_decoder *d, struct rt_graph *graph, struct rt_latents l)
{
    struct rt_image x = input(d, l);
    if (d->quantised)
        x = conv3d(graph, "post_quant_conv", x, d->latents, 1, 1, d->rms);
    x = conv3d(graph, "conv_in", x, d->channels[0], 3, 3, d->rms);
    x = video_residual(d, graph, x, d->channels[0]);
    if (d->attention)
        x = attend(graph, x, d->rms);
    x = video_residual(d, graph, x, d->channels[0]);
    for (int64_t level = 0; level < d->levels; level++) {
        for (int64_t i = 0; i < d->residuals; i++)
            x = video_residual(d, graph, x, d->channels[level]);
        if (level + 1 < d->levels)
            x = larger(d, graph, x, level, &l);
    }
    x = rt_image_activation(graph, "conv_act", RT_OP_SILU, video_norm(d, graph, "norm_out", x), false);
    conv3d(graph, "conv_out", x, d->pixels, 3, 3, d->rms);
}

/* How many pieces there are of `all`, and what one has in the mean. */
struct pieces {
    int64_t count, mean;
};

static struct pieces cut(int64_t all, int64_t piece, int64_t stride)
{
    if (piece == 0 || all <= piece)
        return (struct pieces){1, all};
    int64_t count = (all + stride - 1) / stride, sum = 0;
    for (int64_t i = 0; i < count; i++)
        sum += all - i * stride < piece ? all - i * stride : piece;
    return (struct pieces){count, (sum + count / 2) / count};
}

/* Beside the layers no dtype of products is narrow. */
void rt_decoder_build(const struct rt_decoder *decoder, struct rt_graph *graph, struct rt_latents latents)
{
    enum rt_dtype dtype = graph->options.dtype;
    if (decoder->fp32 && rt_dtypes[dtype].bytes < 4)
        graph->options.dtype = RT_TF32; /* convolutions of fp32 run so in PyTorch */
    bool video = decoder->piece.frames > 0, square = decoder->piece.width == 0;
    struct pieces down = cut(latents.height, decoder->piece.height, decoder->piece.stride),
                  across = cut(latents.width, square ? decoder->piece.height : decoder->piece.width,
                               square ? decoder->piece.stride : decoder->piece.width_stride),
                  along = cut(latents.frames, decoder->piece.frames, decoder->piece.frames_stride);
    int64_t pieces = down.count * across.count * along.count * (video ? latents.batch : 1);
    latents = (struct rt_latents){
        .batch = video ? 1 : latents.batch, .frames = along.mean, .height = down.mean, .width = across.mean};
    rt_graph_add_block(graph, rt_diffusion_parts[RT_DIFFUSION_DECODE], RT_BLOCK_LAST, pieces);
    graph->blocks[graph->block_count - 1].distinct = 1;
    decoder->build(decoder, graph, latents);
    graph->options.dtype = dtype;
}

/* clang-format off */
#define IMAGES .build = build_images, .levels = 4, .channels = {512, 512, 256, 128}, .residuals = 3, .pixels = 3
const struct rt_decoder
    rt_decoder_kl4      = {IMAGES, .latents = 4, .quantised = true},                /* SD 1.5, 2.1, PixArt, HunyuanDiT */
    rt_decoder_kl4_wide = {IMAGES, .latents = 4, .quantised = true, .fp32 = true},  /* SDXL: "force_upcast" */
    rt_decoder_kl16     = {IMAGES, .latents = 16},                                  /* SD 3, FLUX.1 */
    rt_decoder_dc32 = {.build = build_deep, .latents = 32, .levels = 6, .channels = {1024, 1024, 512, 512, 256, 128},
                       .residuals = 3, .attends = 3, .pixels = 3},                  /* dc-ae-f32c32-sana-1.1 */
    rt_decoder_wan = {.build = build_video, .latents = 16, .levels = 4, .channels = {384, 384, 192, 96}, .residuals = 3,
                      .quantised = true, .doubles_time = 3, .pixels = 3, .rms = true, .attention = true, .piece = {.height = 32, .stride = 24, .frames = 1, .frames_stride = 1}},
    rt_decoder_wan22 = {.build = build_video, .latents = 48, .levels = 4, .channels = {1024, 1024, 512, 256}, .residuals = 3,
                        .quantised = true, .doubles_time = 3, .pixels = 12, .rms = true, .attention = true, .piece = {.height = 16, .stride = 12, .frames = 1, .frames_stride = 1}},
    rt_decoder_hunyuan = {.build = build_video, .latents = 16, .levels = 4, .channels = {512, 512, 256, 128}, .residuals = 3,
                          .quantised = true, .doubles_time = 6, .pixels = 3, .attention = true,
                          .piece = {.height = 32, .stride = 24, .frames = 5, .frames_stride = 3}},
    rt_decoder_cogvideox = {.build = build_video, .latents = 16, .levels = 4, .channels = {512, 256, 256, 128}, .residuals = 4,
                            .doubles_time = 3, .pixels = 3, 
                            .piece = {.height = 30, .stride = 25, .width = 45, .width_stride = 36, .frames = 2, .frames_stride = 2}};
/* clang-format on */
