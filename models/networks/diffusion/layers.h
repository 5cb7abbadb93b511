/*
 * What denoising transformers share, as diffusers writes it: modulated norms, norms of queries and keys,
 * rotary positions in fp32, attention over the tokens of all GPUs, gates, feed-forward. Tokens are a matrix,
 * a row each; those of an image or video are a GPU's share of them.
 */
#pragma once

#include "models/networks/diffusion/pipeline.h"
#include "models/networks/vision/tokens.h"

/* GPUs that share the tokens of an image. */
int64_t rt_denoise_parts(const struct rt_graph *graph);
/* A GPU's share of `tokens`, rounded up. */
int64_t rt_denoise_share(const struct rt_graph *graph, int64_t tokens);
/* Tokens of text of which each GPU has a part, or all where they do not divide. */
int64_t rt_denoise_text_share(const struct rt_graph *graph, int64_t tokens);

/* An operator of its own over rows x cols that moves so many bytes an element, in fp32 where `wide`. */
uint32_t rt_denoise_move(struct rt_graph *graph, const char *name, enum rt_op_id op, uint32_t x, int64_t rows,
                         int64_t cols, double bytes, bool wide);

/* silu(time) W + b: shifts, scales and gates, `chunks` of `width` numbers a picture. */
void rt_denoise_modulation(struct rt_graph *graph, const char *name, int64_t batch, int64_t in, int64_t width,
                           int64_t chunks);
/* norm(x) (1 + scale) + shift; `wide`: the norm reads and writes fp32 copies (FP32LayerNorm) */
struct rt_tokens rt_denoise_modulate(struct rt_graph *graph, const char *name, struct rt_tokens x, bool wide);
/* FP32LayerNorm, with weights */
struct rt_tokens rt_denoise_wide_norm(struct rt_graph *graph, const char *name, struct rt_tokens x);
/* x (1 + scale) + shift, each a vector a picture */
struct rt_tokens rt_denoise_scale_shift(struct rt_graph *graph, struct rt_tokens x);
/* x + gate y */
struct rt_tokens rt_denoise_gated_add(struct rt_graph *graph, const char *name, struct rt_tokens x,
                                      struct rt_tokens y);
/* RMSNorm of diffusers: squares, means and quotients in fp32; `weights` numbers. */
uint32_t rt_denoise_rms(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols,
                        int64_t weights);
/* apply_rotary_emb of diffusers: pairs are swapped, both multiplied and added in fp32. */
uint32_t rt_denoise_rotary(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols);

struct rt_denoise_attention {
    int64_t heads, head_dim;
    int64_t text;      /* tokens of text that each GPU has beside the image's: queries and keys */
    bool long_context; /* on several GPUs by xDiT's xFuserLongContextAttention, not by its USP */
    bool cached;       /* which then hands keys and values through its cache */
};
/* A copy whose rows do not lie in order, on either side. */
uint32_t rt_denoise_copy(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols);
/* Tokens of heads become heads of tokens, or `back`; `of`: what this GPU has. */
uint32_t rt_denoise_exchange(struct rt_graph *graph, const char *name, uint32_t x, struct rt_tokens of,
                             bool long_context, bool back);
uint32_t rt_denoise_cache(struct rt_graph *graph, uint32_t k, struct rt_tokens of);
/* Keys and values go to the next GPU of the ring, in one group of messages. */
void rt_denoise_pass_on(struct rt_graph *graph, uint32_t x, int64_t elements);
/* softmax(q k^T) v over all GPUs' tokens of the image and the text; q, k, v: nodes over x's tokens and text.
 */
uint32_t rt_denoise_attend(struct rt_graph *graph, const char *name, const uint32_t qkv[3],
                           struct rt_tokens x, const struct rt_denoise_attention *shape);
/* Queries of x attend to `keys` tokens of text, which every GPU has. */
uint32_t rt_denoise_attend_text(struct rt_graph *graph, const char *name, uint32_t q, uint32_t k, uint32_t v,
                                struct rt_tokens x, int64_t keys, int64_t heads, int64_t head_dim);

enum rt_denoise_activation { RT_DENOISE_GELU, RT_DENOISE_GEGLU, RT_DENOISE_SILU };
struct rt_tokens rt_denoise_feed_forward(struct rt_graph *graph, const char *name, struct rt_tokens x,
                                         int64_t inner, enum rt_denoise_activation activation);

/* Sinusoids of 256 and two products: the embedding of a time, or of a guidance scale. */
void rt_denoise_time(struct rt_graph *graph, const char *name, int64_t batch, int64_t in, int64_t width);
