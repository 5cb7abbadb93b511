/*
 * The memory that the tensors of a step take on one device: the most that is held at once
 * (models/networks/liveness.h walks the step). What the framework and the driver take beside tensors is
 * predict/step/memory.h's.
 */
#ifndef ROOFTILE_MODELS_NETWORKS_MEMORY_H
#define ROOFTILE_MODELS_NETWORKS_MEMORY_H

#include "models/networks/graph.h"

/* What a group of data-parallel GPUs shares out instead of each holding all (ZeRO: Rajbhandari et al., SC
 * 2020): stage 1 the optimizer's state, 2 the gradients too, 3 the weights too (PyTorch's
 * FullyShardedDataParallel). */
enum rt_shard_kind {
    RT_SHARD_NONE,
    RT_SHARD_OPTIMIZER,
    RT_SHARD_GRADIENTS,
    RT_SHARD_PARAMETERS,
    RT_SHARD_COUNT
};
extern const char *const rt_shard_kinds[RT_SHARD_COUNT]; /* "none", "optimizer", "gradients", "parameters" */

struct rt_memory_options {
    double in_flight;         /* microbatches whose activations are held at once; 1 without a pipeline */
    double layers;            /* part of the layers on this device; 1 without a pipeline */
    enum rt_shard_kind shard; /* over so many GPUs: */
    int64_t gpus;
    bool accumulates; /* gradients are there before the backward pass: of the microbatch before */
};
#define RT_MEMORY_DEFAULTS                                                                                   \
    {                                                                                                        \
        .in_flight = 1, .layers = 1, .gpus = 1                                                               \
    }

/* Bytes at the moment when most are held; total is the sum of the others. Gradients of weights count as
 * they are made: where most is held before the backward pass, there are none yet. */
struct rt_graph_memory {
    double weights, gradients, optimizer, cache, activations, workspace, total;
    double saved; /* training: activations that the forward pass leaves for the backward pass */
};
/* `options` NULL: one device. */
void rt_graph_memory(const struct rt_graph *graph, const struct rt_memory_options *options,
                     struct rt_graph_memory *out);

#endif
