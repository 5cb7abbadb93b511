/*
 * Kernels that load and store element by element. A thread that moves 2 bytes at a time keeps half as many
 * bytes in flight as one that moves 4, so in 16 bits such kernels take as long as in 32; vectors of 16 bytes
 * would hide it (NVIDIA, "CUDA Pro Tip: Increase Performance with Vectorized Memory Access", 2013). PyTorch's
 * own batch norm and pooling are such kernels; before PyTorch 1.5 all elementwise ones are
 * (github.com/pytorch/pytorch, issue 31975). What it explains: docs/log/vision.md.
 */
#ifndef ROOFTILE_MODELS_NETWORKS_SCALAR_LOADS_H
#define ROOFTILE_MODELS_NETWORKS_SCALAR_LOADS_H

#include "models/networks/graph.h"

/* Sets scalar_loads of the graph's kernels. Compiled graphs have none. */
void rt_graph_mark_scalar_loads(struct rt_graph *graph);

#endif
