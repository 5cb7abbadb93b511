/*
 * What builders of graphs are made of: one function per operator of a framework, which adds the node with the
 * kernels of all its phases. Internal to models/graph.
 *
 * The backward phase holds what PyTorch's autograd launches (tools/autograd/derivatives.yaml, aten/native/
 * cuda): docs/graphs.md has the table, and tests/graph/pytorch_ops.py compares. Accumulation is one add per
 * weight, as NeuSight counts it (ASPLOS 2025, section 4.4). Every function returns the number of its node, to
 * name as the input of a later one; inputs are such numbers.
 */
#ifndef ROOFTILE_MODELS_GRAPH_BUILD_H
#define ROOFTILE_MODELS_GRAPH_BUILD_H

#include "models/graph/model.h"

#define RT_NO_INPUT UINT32_MAX /* a constant, or the model's own input */

static inline bool rt_build_training(const struct rt_graph *graph)
{
    return graph->options.step == RT_STEP_TRAINING;
}

/* y(rows, out) = x(rows, in) W(in, out) [+ bias(out)] */
uint32_t rt_build_linear(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t in,
                         int64_t out, bool bias);

/* `batch` products c(m, n) = a(m, k) b(k, n), both operands computed */
uint32_t rt_build_bmm(struct rt_graph *graph, const char *name, uint32_t a, uint32_t b, int64_t batch,
                      int64_t m, int64_t k, int64_t n);

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

/* x / sqrt(mean(x^2) + eps) * weight, as frameworks write it without a fused kernel: pow, mean, add, rsqrt,
 * two multiplications. Adds six nodes. */
uint32_t rt_build_rmsnorm(struct rt_graph *graph, uint32_t x, int64_t rows, int64_t cols);

/* The activation of a feed-forward layer; GELU's tanh form is eight ops, as Hugging Face writes it. */
uint32_t rt_build_activation(struct rt_graph *graph, enum rt_activation_kind kind, uint32_t x, int64_t rows,
                             int64_t cols);

/* rows looked up in a table of (vocab, cols); in training its gradient is a whole table */
uint32_t rt_build_embedding(struct rt_graph *graph, const char *name, int64_t rows, int64_t vocab,
                            int64_t cols);

/* Nothing at inference, so no node: returns x. */
uint32_t rt_build_dropout(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols);

/* Data movement without a trained family: copy, where, index, reduce. `bytes` of the forward kernel, 0: the
 * op's own; the backward pass moves as much. */
uint32_t rt_build_move(struct rt_graph *graph, const char *name, enum rt_op_id op, uint32_t x, int64_t rows,
                       int64_t cols, double bytes);

/* x(rows, cols), or a part of it, in another order: what is copied forward, and of the gradient. Gradients of
 * several parts are not added up. Returns x where nothing is copied at inference. */
enum rt_copy {
    RT_COPY_NONE, /* a view does */
    RT_COPY_ROWS,
    RT_COPY_TURNED /* rows become columns */
};
uint32_t rt_build_copies(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols,
                         enum rt_copy forward, enum rt_copy backward);

/* q, k or v by heads, a view of x(rows, cols), as operand of a batched product. PyTorch's matmul merges batch
 * and heads into one dim, which a view cannot do where there is more than one sequence: it copies (reshape in
 * aten/native/LinearAlgebra.cpp), keys transposed. The gradient is copied back into rows; that of keys, which
 * comes transposed, is in rows already but for the sequences. */
static inline enum rt_copy rt_copy_keys(int64_t batch)
{
    return batch > 1 ? RT_COPY_TURNED : RT_COPY_NONE;
}
static inline enum rt_copy rt_copy_values(int64_t batch)
{
    return batch > 1 ? RT_COPY_ROWS : RT_COPY_NONE;
}
uint32_t rt_build_heads(struct rt_graph *graph, const char *name, uint32_t x, int64_t batch, int64_t rows,
                        int64_t cols, bool keys);

/* Parts of x(rows, cols), views of it, whose gradients are concatenated; those of `turned` columns come
 * transposed. Returns x at inference. */
uint32_t rt_build_split(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols,
                        int64_t turned);

/* Halves of the rows of x(rows, cols) swapped, the second one negated. A slice's gradient is copied into
 * zeros; `turned`: it comes with columns for rows. */
struct rt_rotate_names {
    const char *negate, *join;
};
uint32_t rt_build_rotate_half(struct rt_graph *graph, const struct rt_rotate_names *name, uint32_t x,
                              int64_t rows, int64_t cols, bool turned);

/* Sets the rereads of an elementwise kernel that reads one of its two operands with a stride: the other
 * elements of a sector are read `distance` elements of the output later. */
void rt_build_strided(const struct rt_graph *graph, struct rt_graph_kernel *kernel, int64_t distance);

/* Heads merged again, x(rows, cols) copied; their gradient is copied where batch and heads are to be one dim.
 */
uint32_t rt_build_merge(struct rt_graph *graph, const char *name, uint32_t x, int64_t batch, int64_t rows,
                        int64_t cols);

/* The same of what gets no gradient (a mask, zeros, noise, whole numbers): nothing runs backward. */
uint32_t rt_build_constant(struct rt_graph *graph, const char *name, enum rt_op_id op, uint32_t x,
                           int64_t rows, int64_t cols);

/* Sum over the tensor-parallel group; no node where the group is one device: returns x. */
uint32_t rt_build_all_reduce(struct rt_graph *graph, const char *name, uint32_t x, int64_t elements,
                             bool forward, bool backward);

/* Elements / parts, rounded up: what the largest shard holds. */
int64_t rt_build_shard(int64_t elements, int64_t parts);

/* The optimizer's node, where one is asked for: once for all parameters added so far (less the shared ones).
 * Call last, in a block of its own. */
void rt_build_optimizer(struct rt_graph *graph);

#endif
