/* What T5 and Switch Transformer share: the encoder-decoder of T5, whose feed-forward layers Switch makes
 * sparse. Internal to models/graph. */
#ifndef ROOFTILE_MODELS_GRAPH_ARCHITECTURES_T5_H
#define ROOFTILE_MODELS_GRAPH_ARCHITECTURES_T5_H

#include "models/graph/model.h"

/* Config keys of both. */
#define RT_T5_KEYS                                                                                           \
    RT_MODEL_KEY("d_model", RT_KEY_SIZE, hidden, true, 0),                                                   \
        RT_MODEL_KEY("d_kv", RT_KEY_SIZE, head_dim, false, 64),                                              \
        RT_MODEL_KEY("d_ff", RT_KEY_SIZE, inner, true, 0),                                                   \
        RT_MODEL_KEY("num_layers", RT_KEY_SIZE, layers, true, 0),                                            \
        RT_MODEL_KEY("num_decoder_layers", RT_KEY_SIZE, decoder_layers, false, -1),                          \
        RT_MODEL_KEY("num_heads", RT_KEY_SIZE, heads, true, 0),                                              \
        RT_MODEL_KEY("relative_attention_num_buckets", RT_KEY_SIZE, buckets, false, 32),                     \
        RT_MODEL_KEY("vocab_size", RT_KEY_SIZE, vocab, true, 0),                                             \
        RT_MODEL_KEY("feed_forward_proj", RT_KEY_ACTIVATION, activation, false, RT_ACT_RELU),                \
        RT_MODEL_KEY("tie_word_embeddings", RT_KEY_BOOLEAN, tied, false, 1)

int rt_t5_complete(struct rt_model *model, const char *where);
void rt_t5_build(const struct rt_model *model, struct rt_graph *graph);

/* y(rows, hidden) = down(act(up x)), or down(act(up x) * gate x): of a layer, of one expert */
struct rt_t5_names {
    const char *up, *gate, *product, *dropout, *down;
};
uint32_t rt_t5_feed_forward(const struct rt_model *model, struct rt_graph *graph,
                            const struct rt_t5_names *name, uint32_t x, int64_t rows);

/* The feed-forward of a sparse layer: y(rows, hidden), each token by one of the experts. */
uint32_t rt_switch_experts(const struct rt_model *model, struct rt_graph *graph, uint32_t x);

/* The losses that keep the routers of a stack's sparse layers (`layers` of them) even and small. */
void rt_switch_losses(const struct rt_model *model, struct rt_graph *graph, int64_t layers);

#endif
