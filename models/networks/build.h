/*
 * Operators: one function for each operator of PyTorch, which adds a node with the kernels of all its phases.
 * Internal to models/networks.
 *
 * The backward phase holds the kernels that PyTorch's autograd launches (tools/autograd/derivatives.yaml,
 * aten/native/cuda): docs/method.md has the table, and tests/models/networks/pytorch_ops.py compares. A weight
 * is accumulated by one addition, as NeuSight counts it (ASPLOS 2025, section 4.4). Every function returns
 * the number of its node; inputs are such numbers.
 */
#pragma once

#include "models/networks/graph.h"

/* Groups of GPUs that nobody asked for are of 1. */
static inline int64_t rt_at_least_one(int64_t value)
{
    return value > 1 ? value : 1;
}

/* y(rows, out) = x(rows, in) W(in, out) [+ bias(out)], in layers with LoRA's adapters beside it; a product
 * has none. */
uint32_t rt_build_product(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t in,
                          int64_t out, bool bias);
uint32_t rt_build_linear(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t in,
                         int64_t out, bool bias);

/* The products of experts in one launch, each of x(rows, in) with its own weights. */
struct rt_grouped {
    int64_t experts, rows, in, out;
    int64_t held; /* experts whose weights are here: more than run where there are few tokens */
};
uint32_t rt_build_grouped(struct rt_graph *graph, const char *name, uint32_t x, const struct rt_grouped *of);

/* `batch` products c(m, n) = a(m, k) b(k, n), both operands computed */
uint32_t rt_build_bmm(struct rt_graph *graph, const char *name, uint32_t a, uint32_t b, int64_t batch,
                      int64_t m, int64_t k, int64_t n);

/* softmax(q k^T) v in one kernel; `dim` as the op's row has them. Backward it computes five products for two
 * (Dao, FlashAttention, 2022, section 3.1 and appendix B), so it counts as 2.5 of the call, each slower than
 * forward (rt_attention_speeds). `outputs`:
 * elements of what it returns. */
uint32_t rt_build_fused_attention(struct rt_graph *graph, const char *name, uint32_t q, uint32_t k,
                                  uint32_t v, enum rt_op_id op, const int64_t *dim, double outputs);

/* Context parallel, of the last node, attention of a GPU's tokens to its own: keys and values of `elements`
 * go round, each while attention to those before runs (Liu et al., Ring Attention, 2023); backward with their
 * gradients. `dim`: of attention_context to its own, which has as many scores as that to half of the keys of
 * another GPU: causal, with a piece of both halves of the sequence on each GPU (Brandon et al., Striped
 * Attention, 2023; Transformer Engine's context_parallel). Or all keys and values are gathered before,
 * `elements` in all (Llama 3, section 3.3.2).
 */
void rt_build_ring(struct rt_graph *graph, const int64_t *dim, int64_t elements);
void rt_build_gathered_context(struct rt_graph *graph, int64_t elements);

/* y(rows, cols) = op(x): relu, gelu, tanh, silu, rsqrt, clamp and the *_scalar ops */
uint32_t rt_build_unary(struct rt_graph *graph, const char *name, enum rt_op_id op, uint32_t x, int64_t rows,
                        int64_t cols);

/* y(rows, cols) = x op z; z is broadcast from `other` elements (rows * cols: not at all) */
uint32_t rt_build_binary(struct rt_graph *graph, const char *name, enum rt_op_id op, uint32_t x, uint32_t z,
                         int64_t rows, int64_t cols, int64_t other);

/* Sets the rereads of the last node, which has a broadcast operand of `width` bytes an element: each of its
 * elements is read again after `distance` elements of the output (a mask of queries x keys: for every head).
 */
void rt_build_broadcast(struct rt_graph *graph, double width, int64_t distance);

/* torch.maximum(x, a constant) */
uint32_t rt_build_maximum(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols);

uint32_t rt_build_softmax(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols);
uint32_t rt_build_layernorm(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols);
/* The same of groups of channels of images, a row each; weight and bias have a number for each channel. */
uint32_t rt_build_groupnorm(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols,
                            int64_t channels);

/* With `weights` vectors of parameters: 2: weight and bias, 1: a weight, 0: none. */
uint32_t rt_build_layernorm_of(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows,
                               int64_t cols, int weights);

/* (x - mean(x)) / sqrt(mean((x - mean(x))^2) + eps) * weight, op by op (CohereLayerNorm): nine nodes. A
 * weight of `weights` elements: the columns, or more where groups of rows have their own. */
uint32_t rt_build_centred_norm(struct rt_graph *graph, uint32_t x, int64_t rows, int64_t cols,
                               int64_t weights);

/* x / sqrt(mean(x^2) + eps) * weight, as frameworks write it without a fused kernel: pow, mean, add, rsqrt,
 * two multiplications. Adds six nodes. */
uint32_t rt_build_rmsnorm(struct rt_graph *graph, uint32_t x, int64_t rows, int64_t cols);

/* The same as one kernel each way. */
uint32_t rt_build_fused_rmsnorm(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows,
                                int64_t cols);

/* y(rows, cols) of x and z by one kernel a pass, which moves so many elements of the graph's dtype for each
 * of y; backward none where 0. */
struct rt_fused_pass {
    double moved, moved_back;
    bool keeps; /* x, for the backward pass */
    bool mask;  /* training: moves and keeps a byte an element more */
};
uint32_t rt_build_fused(struct rt_graph *graph, const char *name, enum rt_op_id op, uint32_t x, uint32_t z,
                        int64_t rows, int64_t cols, const struct rt_fused_pass *pass);
/* act(first half) times the second half of x(rows, 2 cols), in one kernel a pass */
uint32_t rt_build_gated(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols);

/* The means of x(rows, cols): (rows, 1) */
uint32_t rt_build_mean(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols);

/* The activation of a feed-forward layer; GELU's tanh form is eight ops, as Hugging Face writes it. */
uint32_t rt_build_activation(struct rt_graph *graph, enum rt_activation_kind kind, uint32_t x, int64_t rows,
                             int64_t cols);

/* rows looked up in a table of (vocab, cols); in training its gradient is a whole table */
uint32_t rt_build_embedding(struct rt_graph *graph, const char *name, int64_t rows, int64_t vocab,
                            int64_t cols);

/* No node at inference: returns x. */
uint32_t rt_build_dropout(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols);

/* Data movement: copy, where, index, reduce. `bytes` of the forward kernel, 0: those of the op's row; the
 * backward pass moves as much. */
uint32_t rt_build_move(struct rt_graph *graph, const char *name, enum rt_op_id op, uint32_t x, int64_t rows,
                       int64_t cols, double bytes);

/* x(rows, cols), or a part of it, in another order: the copy that the forward and the backward pass make.
 * Gradients of several parts are not added up. Returns x where inference copies nothing. */
enum rt_copy {
    RT_COPY_NONE, /* a view */
    RT_COPY_ROWS,
    RT_COPY_TRANSPOSED
};
uint32_t rt_build_copies(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols,
                         enum rt_copy forward, enum rt_copy backward);

/* x(rows, cols), whose columns are neighbours, copied into rows as an operator does for itself: its gradient
 * is the operator's, and is added to those that others have of x. */
uint32_t rt_build_rows(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols);

/* Queries, keys or values by heads, a view of x(rows, cols), as an operand of a batched product. PyTorch's
 * matmul merges batch and heads into one dim. A view cannot where there are several sequences, so matmul
 * copies (reshape in aten/native/LinearAlgebra.cpp), keys transposed. The gradient is copied back into rows;
 * the gradient of keys comes transposed, so it is in rows already except for the sequences. */
static inline enum rt_copy rt_copy_keys(int64_t batch)
{
    return batch > 1 ? RT_COPY_TRANSPOSED : RT_COPY_NONE;
}
static inline enum rt_copy rt_copy_values(int64_t batch)
{
    return batch > 1 ? RT_COPY_ROWS : RT_COPY_NONE;
}
uint32_t rt_build_heads(struct rt_graph *graph, const char *name, uint32_t x, int64_t batch, int64_t rows,
                        int64_t cols, bool keys);

/* Parts of x(rows, cols), views of it, whose gradients are concatenated; those of `transposed` columns are
 * read transposed. Returns x at inference. */
uint32_t rt_build_split(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols,
                        int64_t transposed);

/* `cols` of the `whole` columns of x(rows, whole): a view, whose gradient is copied into zeros
 * (slice_backward, select_backward); `transposed`: it is read transposed. Returns x at inference. */
uint32_t rt_build_slice(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t whole,
                        int64_t cols, bool transposed);

/* y(rows, cols) of the columns of a and b, side by side; their gradients are views. */
uint32_t rt_build_join(struct rt_graph *graph, const char *name, uint32_t a, uint32_t b, int64_t rows,
                       int64_t cols);

/* Swaps the halves of the rows of x(rows, cols) and negates the second. A slice's gradient is copied into
 * zeros; `transposed`: it is read transposed. */
struct rt_rotate_names {
    const char *negate, *join;
};
uint32_t rt_build_rotate_half(struct rt_graph *graph, const struct rt_rotate_names *name, uint32_t x,
                              int64_t rows, int64_t cols, bool transposed);

/* Sets the rereads of an elementwise kernel that reads one of its two operands with a stride: the other
 * elements of a sector are read `distance` elements of the output later. */
void rt_build_strided(const struct rt_graph *graph, struct rt_graph_kernel *kernel, int64_t distance);

/* Merges heads: copies x(rows, cols). The gradient is copied where several sequences are to be merged with
 * heads into one dim. */
uint32_t rt_build_merge(struct rt_graph *graph, const char *name, uint32_t x, int64_t batch, int64_t rows,
                        int64_t cols);

/* Data movement of what gets no gradient (a mask, zeros, noise, whole numbers): nothing runs backward. */
uint32_t rt_build_constant(struct rt_graph *graph, const char *name, enum rt_op_id op, uint32_t x,
                           int64_t rows, int64_t cols);

/* Sum over the tensor-parallel group, of x forward or of its gradient backward; no node where the group is
 * one device: returns x. Sequence parallel: x(elements) summed and scattered, or gathered to so many
 * elements. */
uint32_t rt_build_all_reduce(struct rt_graph *graph, const char *name, uint32_t x, int64_t elements,
                             bool forward, bool backward);

/* Elements / parts, rounded up: what the largest shard holds. */
int64_t rt_build_shard(int64_t elements, int64_t parts);

/* Adds a block with the optimizer's kernel, where options have one, for all parameters of the graph (shared
 * ones once). Call last. */
void rt_build_optimizer(struct rt_graph *graph);
