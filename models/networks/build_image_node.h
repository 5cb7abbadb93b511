/* The steps that all operators of build_image.h share. Internal to build_image.c and build_image_moves.c. */
#ifndef ROOFTILE_MODELS_NETWORKS_BUILD_IMAGE_NODE_H
#define ROOFTILE_MODELS_NETWORKS_BUILD_IMAGE_NODE_H

#include "models/networks/build_image.h"
#include "models/networks/build_node.h"

/* Windows of `reach` elements over `in` and `padding` at both ends, `stride` apart; 0 where none fits.
 * Rounded up (`ceil`), the last begins inside the image or its left padding (PyTorch, pooling_output_shape).
 */
int64_t rt_image_windows(int64_t in, int64_t padding, int64_t reach, int64_t stride, bool ceil);

/* x as rows x cols of elements that are neighbours: see build_image.h. */
void rt_image_matrix(const struct rt_graph *graph, struct rt_image x, int64_t *rows, int64_t *cols);

/* A node that reads x (and the node `other`) and makes y. */
uint32_t rt_image_add_node(struct rt_graph *graph, const char *name, struct rt_image x, uint32_t other,
                           struct rt_image y);

/* A kernel of the last node, of an op over all elements of x. */
struct rt_graph_kernel *rt_image_add_kernel(struct rt_graph *graph, enum rt_phase phase, enum rt_op_id op,
                                            struct rt_image x);

#endif
