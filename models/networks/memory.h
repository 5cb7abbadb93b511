/*
 * The memory that the tensors of a step take on one device: which it makes and frees, in the order in which
 * the device does so; the most that is held at once. What the framework and the driver take beside tensors is
 * predict/step/memory.h's.
 *
 * Inference frees a value when its last reader has run. Training keeps what a gradient is computed from until
 * that gradient is there (what autograd's saved_tensors_hooks see), and computes values again where
 * checkpoints keep only the inputs of layers (Chen et al. 2016; torch.utils.checkpoint). A gradient lives
 * from the first kernel that makes it to the last that reads it; those of weights until the optimizer has
 * stepped (zero_grad frees them: set_to_none, the default since PyTorch 2.0).
 */
#pragma once

#include "models/networks/graph.h"
#include "models/networks/parallelism.h"

struct rt_memory_options {
    double in_flight;         /* microbatches whose activations are held at once; 1 without a pipeline. Of
                               * interleaved chunks the last one may be a part of one */
    double layers;            /* part of the layers on this device; 1 without a pipeline */
    enum rt_shard_kind shard; /* over so many GPUs: */
    int64_t gpus;
    int64_t expert_gpus; /* of experts that GPUs share out; 0: as gpus */
    bool accumulates;    /* gradients are there before the backward pass: of the microbatch before */
    bool every;          /* repetitions that are alike are all listed */
    bool without_first, without_last; /* a stage of a pipeline without embedding, without head */
};
#define RT_MEMORY_DEFAULTS                                                                                   \
    {                                                                                                        \
        .in_flight = 1, .layers = 1, .gpus = 1                                                               \
    }

enum rt_memory_part {
    RT_MEMORY_WEIGHTS,
    RT_MEMORY_GRADIENTS,
    RT_MEMORY_OPTIMIZER,
    RT_MEMORY_CACHE,
    RT_MEMORY_ACTIVATIONS,
    RT_MEMORY_WORKSPACE,
    RT_MEMORY_PART_COUNT
};

/* A tensor is made or freed. */
struct rt_tensor_event {
    uint32_t tensor;
    bool made;
};

struct rt_tensor {
    double bytes;
    enum rt_memory_part part;
    uint32_t holders; /* while the schedule is made */
};

/* Inference: a block's repetitions between its first and its last are alike, and one of them is listed. */
enum { RT_MOST_CARRIED = 4 };
struct rt_tensor_again {
    size_t from, to; /* its events, */
    int64_t times;   /* that come so often once more, */
    size_t carried;  /* with tensors of the repetition before in place of those that it found: before, own */
    uint32_t before[RT_MOST_CARRIED], own[RT_MOST_CARRIED];
};

struct rt_tensor_schedule {
    struct rt_tensor *tensors;
    size_t tensor_count, tensor_capacity;
    struct rt_tensor_event *events;
    size_t event_count, event_capacity;
    struct rt_tensor_again *again; /* in order */
    size_t again_count, again_capacity;
    size_t resident; /* events before the first kernel: what every step finds there */
    size_t forward;  /* events until the forward pass has ended */
    uint32_t output; /* tensor that the model returns; UINT32_MAX: none */
};

/* `out` is released with rt_tensor_schedule_release. */
void rt_tensor_schedule(const struct rt_graph *graph, const struct rt_memory_options *options,
                        struct rt_tensor_schedule *out);
void rt_tensor_schedule_release(struct rt_tensor_schedule *schedule);

/* Bytes at the moment when most are held; total is the sum of the others. Gradients of weights count as
 * they are made: where most is held before the backward pass, there are none yet. */
struct rt_graph_memory {
    double weights, gradients, optimizer, cache, activations, workspace, total;
    double saved; /* training: activations that the forward pass leaves for the backward pass */
};
void rt_graph_memory_of(const struct rt_graph *graph, const struct rt_tensor_schedule *schedule,
                        struct rt_graph_memory *out);
/* `options` NULL: one device. */
void rt_graph_memory(const struct rt_graph *graph, const struct rt_memory_options *options,
                     struct rt_graph_memory *out);
