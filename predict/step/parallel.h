/*
 * Several GPUs: gradient sums and pipelines; how the time of a step follows from the time of its
 * parts.
 *
 * Data parallel: every device runs the whole graph on its part of the batch and sums the gradients in a ring,
 * bucket by bucket, while the backward pass goes on (PyTorch DistributedDataParallel: Li et al., VLDB 2020).
 * Sharded (ZeRO): each GPU sums its share of the gradients alone (reduce-scatter) and steps its share of the
 * weights, which are then gathered; where it holds no more than its share of the weights (FSDP), a layer's
 * are gathered before it runs, forward and backward, while the layer before runs (Zhao et al., VLDB 2023).
 * Pipeline: the layers are divided into stages, a batch into microbatches; GPipe (Huang et al. 2019) runs all
 * forward passes first, 1F1B (Narayanan et al., PipeDream-flush, 2021) alternates. Tensor parallel: the graph
 * itself holds shards and all-reduces (Shoeybi et al., Megatron-LM, 2019).
 */
#ifndef ROOFTILE_PREDICT_STEP_PARALLEL_H
#define ROOFTILE_PREDICT_STEP_PARALLEL_H

#include "datasets/device.h"
#include "models/networks/parallelism.h"

#include <stdint.h>

struct rt_collectives; /* collectives.h */

/* The all-reduce of one bucket of gradients; times since the backward pass began. */
struct rt_gradient_sum {
    double start_us, end_us, bytes;
};

/* The end of the last of the gradient sums, which start when their bucket is full and queue on one link.
 * ready_us and bytes are per weight (count), in the order of the backward pass, ready_us not decreasing.
 * `sums` (may be NULL) has room for `count`; *sum_count is how many there were. */
double rt_gradient_sums_us(const double *ready_us, const double *bytes, size_t count, enum rt_gpu_group group,
                           const struct rt_parallelism *parallel, const struct rt_collectives *collectives,
                           struct rt_gradient_sum *sums, size_t *sum_count);

/* A pipeline's step, simulated: stage i takes forward_us[i] and backward_us[i] (NULL: inference) for a
 * microbatch, then send_us to pass it on. Returns the time until the last stage is done; *busy_us (may be
 * NULL): of the busiest stage; `ends` (2, stages, microbatches; may be NULL): when each forward and each
 * backward pass ended. */
double rt_pipeline_us(const double *forward_us, const double *backward_us, int64_t stages,
                      int64_t microbatches, double send_us, enum rt_pipeline_schedule schedule,
                      double *busy_us, double *ends);

/* Microbatches whose activations the first stage holds at once. */
int64_t rt_pipeline_in_flight(int64_t stages, int64_t microbatches, enum rt_pipeline_schedule schedule);

#endif
