/*
 * Decoders as LLM servers run them, in parts: attention, its latent and its chosen kinds, other mixers of
 * tokens, feed-forwards. Internal to models/networks/architectures; served.c puts them together.
 */
#pragma once

#include "models/networks/architectures/stack.h"

/* The step on one of the GPUs. */
struct rt_served {
    const struct rt_stack *stack;
    const struct rt_layer_kind *kind; /* of the layers that are built; NULL: layers do not differ so */
    int64_t sequences;                /* whose last tokens the head scores */
    int64_t gpus;                     /* that share the experts: tensor parallel x attention data parallel */
    struct rt_sequences one;          /* the group of a step of equal sequences */
    /* The kernels of attention, or of another mixer, over sequences that are alike. */
    uint32_t (*mix)(const struct rt_served *step, uint32_t x, struct rt_sequences group, bool decode);
};

/* Does a layer of this kind do it? */
static inline bool rt_served_does(const struct rt_served *step, unsigned does)
{
    return step->kind != NULL && (step->kind->does & does) != 0;
}

/* What a layer does, in words, "nothing|attention|...": bit n is word n + 1. */
extern const char rt_layer_does_words[];

/* served_tower.c: adds the blocks of the model's tower over the prompts' images (options.prompt_images). */
void rt_build_served_tower(const struct rt_model *model, struct rt_graph *graph);

/* --- served_parts.c --- */

/* A kernel over rows x cols. */
uint32_t rt_served_vector(struct rt_graph *graph, const char *name, enum rt_op_id op, uint32_t x, uint32_t y,
                          int64_t rows, int64_t cols);
/* The RMS norm of x(rows, cols), with a weight for each column. */
uint32_t rt_served_rmsnorm(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols);
/* Those of latent queries and keys. */
uint32_t rt_served_norm_pair(struct rt_graph *graph, uint32_t x, int64_t rows, int64_t queries, int64_t keys);
/* BitNet: the norm of x(rows, width) before the last products of attention and feed-forward; others: x. */
uint32_t rt_served_sub_norm(const struct rt_stack *stack, const char *name, uint32_t x, int64_t width);
/* A kernel of another op, of sequences that decode or prefill. */
uint32_t rt_served_kernel(const struct rt_served *step, const char *name, enum rt_op_id op, uint32_t x,
                          const int64_t *dim, double outputs, bool decode);
/* The sum over the GPUs of x(rows, hidden). */
uint32_t rt_served_sum(const struct rt_served *step, const char *name, uint32_t x);

uint32_t rt_served_collective(struct rt_graph *graph, const char *name, enum rt_op_id op, uint32_t x,
                              int64_t gpus, int64_t elements);
/* Of the nodes from `first` on. */
void rt_served_set_role(struct rt_graph *graph, size_t first, enum rt_node_role role);

const struct rt_sequences *rt_served_groups(const struct rt_served *step, size_t *count);
/* step->mix of each group of sequences that prefill; of all that decode together, at their mean context.
 * None: x. */
uint32_t rt_served_prefills(const struct rt_served *step, uint32_t x);
uint32_t rt_served_decodes(const struct rt_served *step, uint32_t x);
uint32_t rt_served_mix(const struct rt_served *step, uint32_t x);
/* Rows of sequences that decode. */
int64_t rt_served_decoding_rows(const struct rt_served *step);
/* Keys and values of the new tokens, an entry of `wide` elements for `ratio` of them: graph->cache counts all
 * that is kept after the step. Bytes that writing them moves. */
double rt_served_kept(const struct rt_served *step, int64_t wide, int64_t ratio);
/* They go into their pages by a kernel of their own. */
uint32_t rt_served_cache(const struct rt_served *step, const char *name, uint32_t x, int64_t wide);
/* What a node's kernel does in the same pass, as servers fuse norms, rotary embedding and the cache. */
void rt_served_fuse(struct rt_graph *graph, uint32_t node, double parameters, double bytes);
/* graph->state_bytes: `bytes` for each token that is kept, for each sequence. */
void rt_served_keep_tokens(const struct rt_served *step, double bytes);
void rt_served_keep_states(const struct rt_served *step, double bytes);

/* --- the others --- */

/* Mamba's sizes on one GPU: columns of the mixer, those that its convolution takes. */
struct rt_states {
    int64_t heads, groups, inner, channels;
};
struct rt_states rt_states_of(const struct rt_stack *stack);

/* Mixers of x(rows, hidden). */
uint32_t rt_served_attention(struct rt_served *step, uint32_t x);
uint32_t rt_served_latent(struct rt_served *step, uint32_t x);     /* served_latent.c */
uint32_t rt_served_compressed(struct rt_served *step, uint32_t x); /* served_chosen.c */
uint32_t rt_served_delta(struct rt_served *step, uint32_t x);      /* mixers.c */
uint32_t rt_served_states(struct rt_served *step, uint32_t x);
uint32_t rt_served_convolution(struct rt_served *step, uint32_t x);
uint32_t rt_served_wkv(struct rt_served *step, uint32_t x);
uint32_t rt_served_channel_mix(const struct rt_served *step, uint32_t x);

/* served_chosen.c: where a layer has an indexer, the products that it scores tokens by; its queries are made
 * of `width` columns. */
uint32_t rt_served_index(const struct rt_served *step, uint32_t x, int64_t width);
/* Columns that the products of attention have for it, as MiniMax-M3's; 0: rt_served_index has its own. */
int64_t rt_served_index_columns(const struct rt_served *step);
/* step->mix: attention to what the indexer chose, of heads of the stack's shape; to all keys and values, or
 * to one key, whose first columns are the values. */
uint32_t rt_served_chosen(const struct rt_served *step, uint32_t x, struct rt_sequences group, bool decode);

/* served_experts.c */
uint32_t rt_served_dense(const struct rt_served *step, uint32_t x);
uint32_t rt_served_experts(const struct rt_served *step, uint32_t x);
