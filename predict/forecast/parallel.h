/*
 * Several GPUs: collectives, gradient sums and pipelines; how the time of a step follows from the time of its
 * parts.
 *
 * Data parallel: every device runs the whole graph on its part of the batch and sums the gradients in a ring,
 * bucket by bucket, while the backward pass goes on (PyTorch DistributedDataParallel: Li et al., VLDB 2020).
 * Pipeline: the layers are divided into stages, a batch into microbatches; GPipe (Huang et al. 2019) runs all
 * forward passes first, 1F1B (Narayanan et al., PipeDream-flush, 2021) alternates. Tensor parallel: the graph
 * itself holds shards and all-reduces (Shoeybi et al., Megatron-LM, 2019).
 */
#ifndef ROOFTILE_PREDICT_FORECAST_PARALLEL_H
#define ROOFTILE_PREDICT_FORECAST_PARALLEL_H

#include "datasets/device.h"

#include <stdint.h>

enum rt_pipeline_schedule { RT_PIPELINE_1F1B, RT_PIPELINE_GPIPE, RT_PIPELINE_COUNT };
extern const char *const rt_pipeline_schedules[RT_PIPELINE_COUNT]; /* "1f1b", "gpipe" */

struct rt_parallel {
    int64_t data, pipeline, microbatches; /* 1: none */
    enum rt_pipeline_schedule schedule;
    double link_gbs;     /* that a GPU sends in one direction, whoever to; NaN: by the device's link */
    bool no_overlap;     /* gradients are summed after the backward pass */
    double bucket_bytes; /* of gradients that are summed at once; 0: 25 MiB, as DistributedDataParallel */
};

/* Part of a link's bandwidth that large messages reach. NeuSight takes 0.72 (ASPLOS 2025, section 5.5);
 * NCCL's all-reduce of 512 MB on 4 GPUs reached 0.72 (A100), 0.78 (H100) and 0.77 (H200) of it in
 * AIConfigurator's measurements. GPUs that share a PCIe host bridge reach far less: 0.16 for 4 L40S. */
#define RT_LINK_UTILISATION 0.72
/* Start of a collective and each of its steps, in us: between the latencies of the smallest messages on A100
 * (10, 14, 23 us for 2, 4, 8 GPUs) and on H100 (6, 10, 16 us) in the same measurements. */
#define RT_LINK_START_US 5.0
#define RT_LINK_STEP_US  1.2

/* What a GPU sends in one direction, in GB/s: to one peer, or in a collective of `gpus`. A mesh of links
 * takes as many rings as there are peers, over all of its links at once (RCCL and NCCL build them so). */
double rt_collective_gbs(enum rt_op_id op, int64_t gpus, const struct rt_link *link);

/* Time of one collective of op `op` (family collective) in which one device sends `bytes`. NaN where the link
 * is unknown. */
double rt_collective_us(enum rt_op_id op, int64_t gpus, double bytes, const struct rt_link *link);

/* The all-reduce of one bucket of gradients; times since the backward pass began. */
struct rt_gradient_sum {
    double start_us, end_us, bytes;
};

/* The end of the last of the gradient sums, which start when their bucket is full and queue on one link.
 * ready_us and bytes are per weight (count), in the order of the backward pass, ready_us not decreasing.
 * `sums` (may be NULL) has room for `count`; *sum_count is how many there were. */
double rt_gradient_sums_us(const double *ready_us, const double *bytes, size_t count, int64_t gpus,
                           const struct rt_parallel *parallel, const struct rt_link *link,
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
