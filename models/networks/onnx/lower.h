/*
 * A model that was read to the kernels that it runs: the rows of its operators (operator.h) add nodes to a
 * graph. What runs of a node follows from its row, from patterns of several nodes (patterns.h), and from what
 * is the same in every step: operators whose inputs are all constants are computed once.
 */
#ifndef ROOFTILE_MODELS_NETWORKS_ONNX_LOWER_H
#define ROOFTILE_MODELS_NETWORKS_ONNX_LOWER_H

#include "models/networks/graph.h"
#include "models/networks/onnx/onnx.h"

/* The kernels of one step of inference or training, all of options->dtype, as options->runtime runs them (no
 * server's); batch, sequence and image are those of the first input. RT_EUSAGE where given->batch or
 * given->sequence is asked for, and the file has no such dim and another size. RT_EIO, or RT_EFORMAT with the
 * file, the node and what is not known of it. Warns of operators that are forecast by their bytes and of
 * bodies that are counted once. */
int rt_graph_import_onnx(const char *path, const struct rt_onnx_given *given,
                         const struct rt_graph_options *options, struct rt_graph *out);

#endif
