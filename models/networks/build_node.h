/* The steps that all operators of build.h share. Internal to models/networks. */
#pragma once

#include "models/networks/graph.h"

#define RT_SECTOR_BYTES 32 /* the unit of transfers between memory and L2 */

/* A node with up to two inputs (RT_NO_INPUT: none). Its dtype is the widest of its inputs', as PyTorch
 * promotes types; the graph's where it has none. */
uint32_t rt_node_add(struct rt_graph *graph, const char *name, uint32_t a, uint32_t b, double outputs);

/* A kernel of the last node, of an op over rows x cols. */
struct rt_graph_kernel *rt_node_add_kernel(struct rt_graph *graph, enum rt_phase phase, enum rt_op_id op,
                                           int64_t rows, int64_t cols);

/* torch.autocast (PyTorch's "Automatic Mixed Precision", op-specific behavior;
 * aten/src/ATen/autocast_mode.h): convolutions, linear layers, other products and fused attention run in the
 * graph's dtype, norms of layers and softmax in fp32, all else in what it gets. rt_node_cast returns
 * x(elements) in `dtype`: x itself where it is so already or nothing is autocast; else a node that copies it,
 * and its gradient back. An input of the model (RT_NO_INPUT) is fp32. */
uint32_t rt_node_cast(struct rt_graph *graph, uint32_t x, double elements, enum rt_dtype dtype);
static inline uint32_t rt_node_cast_product(struct rt_graph *graph, uint32_t x, double elements)
{
    return rt_node_cast(graph, x, elements, graph->options.dtype);
}

/* Autocast: the copy of a weight of the last node into the graph's dtype, and of its gradient back. Call it
 * before the kernel that reads the weight, and rt_node_cast_gradient behind the one that makes its gradient.
 */
void rt_node_cast_weight(struct rt_graph *graph, int64_t elements);
void rt_node_cast_gradient(struct rt_graph *graph, int64_t elements);

/* The gradient of an input that is narrower than the last node, to the input's dtype (autograd's
 * validate_outputs). */
void rt_node_narrow_gradient(struct rt_graph *graph, uint32_t input);

/* gradient += new gradient, of one weight of the last node */
void rt_node_accumulate(struct rt_graph *graph, int64_t elements);

/* The gradient of a weight of `elements` that the last node, rows x cols, adds to `read` or multiplies it by:
 * dy or dy `read`, summed over the dims that the weight is broadcast along. */
void rt_node_weight_gradient(struct rt_graph *graph, enum rt_op_id op, uint32_t read, int64_t rows,
                             int64_t cols, int64_t elements);

/* Selective recompute: the last node keeps nothing, and its forward kernels run again before its backward
 * ones. */
void rt_node_recompute(struct rt_graph *graph);
/* Recompute of norms: the same of a node whose output readers need, which nobody keeps. */
void rt_node_discard(struct rt_graph *graph, enum rt_recompute what);
void rt_node_run_again(struct rt_graph *graph);

/* Does a gradient flow into the node? RT_NO_INPUT: no. */
bool rt_node_has_gradient(const struct rt_graph *graph, uint32_t node);

/* The backward pass reads the node's output: it is saved, once, besides a mask that the node saves. */
void rt_node_save(struct rt_graph *graph, uint32_t node);

/* Returns whether the last node runs backward. If so, adds the sums of its inputs' gradients: autograd adds
 * up the gradients that the readers of a value return, one addition for each reader after the first
 * (torch/csrc/autograd/input_buffer.cpp). A value from outside a block that repeats (the encoder's states)
 * was read by the repetition before; the block's own input is the output of that repetition. */
bool rt_node_begin_backward(struct rt_graph *graph, uint32_t node);
