/* What networks of tokens share (ViT, Swin, ConvNeXt, Mixer): patches, layer scale, feed-forward, attention
 * over the tokens of an image or of a window, pooling. Tokens are a matrix, a row each. */
#pragma once

#include "models/networks/build_image.h"

/* `batch` sequences (images, or windows of them) of `count` tokens, each a row of `width` elements. */
struct rt_tokens {
    uint32_t node;
    int64_t batch, count, width;
};

static inline int64_t rt_tokens_rows(struct rt_tokens x)
{
    return x.batch * x.count;
}

/* A convolution of patch x patch pixels, as far apart; a view of what it makes, a row for each place. */
struct rt_tokens rt_tokens_patches(struct rt_graph *graph, const char *name, struct rt_image x, int64_t patch,
                                   int64_t width, bool bias);

struct rt_tokens rt_tokens_linear(struct rt_graph *graph, const char *name, struct rt_tokens x, int64_t out,
                                  bool bias);
struct rt_tokens rt_tokens_norm(struct rt_graph *graph, const char *name, struct rt_tokens x);
struct rt_tokens rt_tokens_add(struct rt_graph *graph, const char *name, struct rt_tokens x,
                               struct rt_tokens y);

/* x + a learned table (count, width), the same for all of the batch */
struct rt_tokens rt_tokens_positions(struct rt_graph *graph, const char *name, struct rt_tokens x);

/* x times a learned number for each column, where `on`; else x */
struct rt_tokens rt_tokens_layer_scale(struct rt_graph *graph, const char *name, struct rt_tokens x, bool on);

/* `prefix` learned tokens before each sequence */
struct rt_tokens rt_tokens_prepend(struct rt_graph *graph, const char *name, struct rt_tokens x,
                                   int64_t prefix);

enum rt_tokens_activation {
    RT_TOKENS_GELU,
    RT_TOKENS_QUICK_GELU, /* x sigmoid(1.702 x), op by op */
    RT_TOKENS_SWIGLU,     /* x silu(z) of the two halves of the first product */
};
struct rt_feed_forward {
    int64_t inner; /* columns of the first product */
    enum rt_tokens_activation activation;
    bool norm; /* a layer norm before the second product */
};
struct rt_tokens rt_tokens_feed_forward(struct rt_graph *graph, struct rt_tokens x,
                                        const struct rt_feed_forward *shape);

struct rt_self_attention {
    int64_t heads, width; /* of all heads together */
    bool qkv_bias;
    bool norm;           /* a layer norm before the last product */
    bool written_out;    /* whatever the runtime */
    int64_t bias_tables; /* entries, for each head, of a table of biases by distance; 0: none */
    int64_t masks;       /* different masks that are added to the scores of windows; 0: none */
};
struct rt_tokens rt_tokens_attention(struct rt_graph *graph, struct rt_tokens x,
                                     const struct rt_self_attention *shape);

/* The first token of each sequence, a view, whose gradient is put into zeros. */
struct rt_tokens rt_tokens_first(struct rt_graph *graph, const char *name, struct rt_tokens x);
/* The mean over all tokens but the first `prefix` */
struct rt_tokens rt_tokens_mean(struct rt_graph *graph, const char *name, struct rt_tokens x, int64_t prefix);
