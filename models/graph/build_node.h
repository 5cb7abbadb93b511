/* The steps that all operators of build.h share. Internal to build.c and build_moves.c. */
#ifndef ROOFTILE_MODELS_GRAPH_BUILD_NODE_H
#define ROOFTILE_MODELS_GRAPH_BUILD_NODE_H

#include "models/graph/graph.h"

#define RT_SECTOR_BYTES 32 /* the unit of transfers between memory and L2 */

/* A node with up to two inputs (RT_NO_INPUT: none). */
uint32_t rt_node_add(struct rt_graph *graph, const char *name, uint32_t a, uint32_t b, double outputs);

/* A kernel of the last node, of an op over rows x cols. */
struct rt_graph_kernel *rt_node_add_kernel(struct rt_graph *graph, enum rt_phase phase, enum rt_op_id op,
                                           int64_t rows, int64_t cols);

/* Does a gradient flow into the node? RT_NO_INPUT: no. */
bool rt_node_has_gradient(const struct rt_graph *graph, uint32_t node);

/* The backward pass reads the node's output: it is kept, once, besides a mask that the node keeps. */
void rt_node_keep(struct rt_graph *graph, uint32_t node);

/* Returns whether the last node runs backward. If so, adds the sums of its inputs' gradients: autograd adds
 * up the gradients that the readers of a value return, one addition for each reader after the first
 * (torch/csrc/autograd/input_buffer.cpp). A value from outside a block that repeats (the encoder's states)
 * was read by the repetition before; the block's own input is the output of that repetition. */
bool rt_node_begin_backward(struct rt_graph *graph, uint32_t node);

#endif
