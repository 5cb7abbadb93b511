/*
 * What the architectures share: checks on config.json, and the sizes that one device works on. Internal to
 * models/graph.
 */
#ifndef ROOFTILE_MODELS_GRAPH_ARCHITECTURES_CONFIG_H
#define ROOFTILE_MODELS_GRAPH_ARCHITECTURES_CONFIG_H

#include "models/graph/model.h"

/* The architectures, for the table of model.c. */
extern const struct rt_architecture rt_gpt2, rt_bert, rt_opt, rt_switch, rt_t5, rt_llama, rt_mistral,
    rt_qwen2;

/* head_dim and kv_heads where they are missing (< 1); RT_EFORMAT where heads do not divide the hidden size or
 * key-value heads the heads. */
int rt_config_heads(struct rt_model *model, const char *where);

/* The sizes of a step on one of the devices that share the tensors. */
struct rt_shape {
    int64_t batch;
    int64_t queries, keys; /* tokens that ask, tokens that are seen; prefill and training: the same */
    int64_t rows;          /* batch x queries */
    int64_t heads, kv_heads, inner; /* of this device's shard */
    int64_t vocab;                  /* of this device's shard, rounded up */
    int64_t head_dim;
};
struct rt_shape rt_shape_of(const struct rt_model *model, const struct rt_graph_options *options);

/* Decode: the new keys and values are appended to the cache (a copy of the whole cache, as Hugging Face's
 * DynamicCache concatenates), and graph->cache is set. Elsewhere returns x. Call in the layer's block. */
uint32_t rt_build_cache(const struct rt_model *model, struct rt_graph *graph, uint32_t x);

#endif
