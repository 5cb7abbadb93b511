/*
 * Gradient sums of data-parallel GPUs; how the time of a step of several GPUs follows from the time of its
 * parts.
 *
 * Data parallel: every device runs the whole graph on its part of the batch and sums the gradients in a ring,
 * bucket by bucket, while the backward pass goes on (PyTorch DistributedDataParallel: Li et al., VLDB 2020).
 * Sharded (ZeRO): each GPU sums its share of the gradients alone (reduce-scatter) and steps its share of the
 * weights, which are then gathered, beside the next step's first forward pass; where it holds no more than
 * its share of the weights (FSDP), a layer's are gathered before it runs, forward and backward, while the
 * layer before runs, and its gradients are summed behind it, in every micro batch (Zhao et al., VLDB 2023:
 * passes.h). Shares may be those of fewer GPUs than there are: gradients are then summed over the copies, too
 * (hybrid sharding). Pipeline: pipeline.h. Tensor parallel: the graph itself holds shards and collectives
 * (Shoeybi et al., Megatron-LM, 2019).
 */
#pragma once

#include "datasets/device.h"
#include "models/networks/parallelism.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rt_collectives; /* collectives.h */

/* A weight's gradient. */
struct rt_gradient {
    double ready_us, bytes;
    enum rt_gpu_group group; /* that sums it: RT_GROUP_DATA, of experts RT_GROUP_EXPERT_DATA */
};

/* The sum of one bucket of gradients. */
struct rt_gradient_sum {
    double start_us, end_us, bytes;
};

/* What the last sums took, for those that are alike: 0 at first. */
struct rt_sum_times {
    struct {
        enum rt_gpu_group group;
        double bytes, us;
    } sum[16];
    size_t count; /* that were timed so far */
};

/* How gradients are summed. */
struct rt_gradient_rules {
    struct rt_sum_times *times; /* of the same collectives; NULL: of each call alone */
    bool shared; /* each GPU has a share of the sum, those of RT_GROUP_SHARD all of it; else each has all */
    bool whole;  /* `shared`, but all have all of it: what they step is theirs */
    double bucket_bytes; /* that are summed at once, at least */
    bool no_overlap;     /* when all are there */
};

/* The sum of `bytes` of gradients over a group, us. `shared` over copies of shares: a reduce-scatter within
 * RT_GROUP_SHARD, and an all-reduce of a share over RT_GROUP_COPIES. */
double rt_gradient_sum_us(const struct rt_collectives *collectives, enum rt_gpu_group group, bool shared,
                          double bytes);

/* The end of the last of the sums, which start when their bucket is full and queue on one link; 0: there are
 * none. `gradients` (count) in the order of the backward pass. Those that fewer GPUs sum (experts') have
 * buckets of their own. `sums` (may be NULL) has room for `count`; *sum_count is how many there were. */
double rt_gradient_sums_us(const struct rt_gradient *gradients, size_t count,
                           const struct rt_gradient_rules *rules, const struct rt_collectives *collectives,
                           struct rt_gradient_sum *sums, size_t *sum_count);
