/*
 * Stacks of layers, which all architectures are built of: an embedding of tokens, then layers of attention
 * and feed-forward. Internal to models/networks.
 */
#pragma once

#include "models/networks/architectures/architecture.h"
#include "models/networks/build.h"

#define RT_ATTENTION_NAMES(p, output_)                                                                       \
    {                                                                                                        \
        .q = p ".q", .k = p ".k", .v = p ".v", .heads_q = p ".heads_q", .heads_k = p ".heads_k",             \
        .heads_v = p ".heads_v", .scores = p ".scores", .softmax = p ".softmax", .cast = p ".softmax_cast",  \
        .dropout = p ".dropout", .values = p ".values", .merge = p ".merge_heads", .fused = p ".attention",  \
        .output = p "." output_                                                                              \
    }

/* The sizes of a step on one of the devices that share the tensors. */
struct rt_shape {
    int64_t batch;
    int64_t queries, keys; /* tokens of queries, of keys and values; prefill and training: the same */
    int64_t rows;          /* batch x queries */
    int64_t heads, kv_heads, ffn_width; /* of this device's shard */
    int64_t vocab;                      /* of this device's shard, rounded up */
    int64_t head_dim, value_dim;        /* of queries and keys; of values */
};

/* A stack while it is built. */
struct rt_stack {
    const struct rt_model *model;
    const struct rt_architecture *row;
    struct rt_graph *graph;
    struct rt_shape shape;
    bool fused;            /* attention is one kernel */
    int64_t window, chunk; /* of the layers that are built */
    bool first;            /* the first of all layers, where it is a kind of its own */
    uint32_t bias;         /* node that the row's `bias` made; RT_NO_INPUT: none */
    int64_t rotary_dim;    /* of these: columns of a head that are turned */
    uint32_t mask;         /* node that attention adds to its scores; RT_NO_INPUT: none, or a constant */
    /* Of an encoder-decoder: */
    bool columns;         /* tokens are columns, and so is every sum with them: norms copy them into rows */
    bool cross;           /* the decoder: layers attend to the encoder's tokens, too */
    int64_t source;       /* the encoder's tokens */
    uint32_t states;      /* what the encoder made of them */
    uint32_t source_mask; /* added to the scores over them */
};
void rt_stack_init(struct rt_stack *stack, const struct rt_model *model, struct rt_graph *graph);

/* Rows between products: norms, dropout and residuals of tensor-parallel GPUs that share out tokens. */
static inline int64_t rt_shared_rows(const struct rt_stack *stack)
{
    const struct rt_graph_options *options = &stack->graph->options;
    return options->sequence_parallel ? rt_build_shard(stack->shape.rows, options->tensor_parallel)
                                      : stack->shape.rows;
}

/* (rows, hidden): embedding of tokens, with positions and token types where the row has them. */
uint32_t rt_build_tokens(const struct rt_stack *stack);
/* The same of what the model reads, text or not. */
uint32_t rt_build_input(const struct rt_stack *stack);

/* What a layer does in turn. Tensor parallelism sums the output over the devices and, backward, the gradient
 * of the input; a sparse feed-forward sums the latter itself, behind its router. */
struct rt_sublayer {
    uint32_t (*run)(const struct rt_stack *stack, uint32_t x);
    const char *gradient_all_reduce, *all_reduce, *dropout, *residual;
};
extern const struct rt_sublayer rt_attention_sublayer;
/* in + run(norm(in)), or norm(in + run(in)) where the norm comes last */
uint32_t rt_build_sublayer(const struct rt_stack *stack, const struct rt_sublayer *sublayer, const char *norm,
                           uint32_t in);
/* The same of the row's feed-forward, or its sparse one. */
uint32_t rt_build_fed_sublayer(const struct rt_stack *stack, uint32_t x, bool sparse);

/* One layer. `sparse`: its feed-forward is the row's sparse one. */
uint32_t rt_build_layer(const struct rt_stack *stack, uint32_t x, bool sparse);

/* Layers that are alike, which are one block. */
struct rt_layers {
    const char *name;
    int64_t count;
    bool sparse, windowed;
    bool first;
};
enum { RT_LAYER_KINDS = 5 };
/* The kinds of a stack's layers: a first one that differs, those without experts, the rest. */
int rt_stack_layers(const struct rt_model *model, struct rt_layers kinds[RT_LAYER_KINDS]);
/* Adds a block for layers of a kind, and sets window, chunk and rotary columns to theirs. */
void rt_stack_begin_layers(struct rt_stack *stack, const struct rt_layers *kind);
/* The same of layers that the config lists (served.c). */
void rt_stack_begin_kind(struct rt_stack *stack, const struct rt_layer_kind *kind);

uint32_t rt_build_norm(const struct rt_stack *stack, const char *name, uint32_t x);
/* Of x(rows, width) */
uint32_t rt_build_norm_of(const struct rt_stack *stack, const char *name, uint32_t x, int64_t rows,
                          int64_t width);
/* (queries, keys): the bucket of each distance, of T5's make; an encoder's differ by its sign. */
uint32_t rt_build_buckets(const struct rt_stack *stack);

/* y(rows, hidden) of x(rows, hidden): of a layer, or of one expert */
uint32_t rt_build_feed_forward(const struct rt_stack *stack, const struct rt_feed_forward_names *name,
                               uint32_t x, int64_t rows);
