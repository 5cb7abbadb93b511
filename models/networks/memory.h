/*
 * The memory that the tensors of a step take on one device: the most that is held at once
 * (models/networks/liveness.h walks the step). What the framework and the driver take beside tensors is
 * predict/step/memory.h's.
 */
#ifndef ROOFTILE_MODELS_NETWORKS_MEMORY_H
#define ROOFTILE_MODELS_NETWORKS_MEMORY_H

#include "models/networks/liveness.h"

/* Bytes at the moment when most are held; total is the sum of the others. Gradients of weights count as
 * they are made: where most is held before the backward pass, there are none yet. */
struct rt_graph_memory {
    double weights, gradients, optimizer, cache, activations, workspace, total;
    double saved; /* training: activations that the forward pass leaves for the backward pass */
};
/* Of a schedule (liveness.h). */
void rt_graph_memory_of(const struct rt_graph *graph, const struct rt_tensor_schedule *schedule,
                        struct rt_graph_memory *out);
/* `options` NULL: one device. */
void rt_graph_memory(const struct rt_graph *graph, const struct rt_memory_options *options,
                     struct rt_graph_memory *out);

#endif
