/*
 * What runs beside what in training: runtimes as rows, and the collectives of a graph that products hide.
 *
 * NCCL's kernels hold multiprocessors, so that what hides a collective takes longer meanwhile.
 */
#pragma once

#include "predict/step/forecast.h"

struct rt_overlap {
    bool blocks;         /* a pipeline without chunks waits until what it sends has arrived */
    bool beside_weights; /* sums of an input's gradient over tensor-parallel GPUs run beside the weights' */
    bool own_pieces;     /* tp_overlap: a gather beside the product of the tokens that are here already */
    bool runs_ahead;     /* the host launches the next micro batch while the GPU runs this one */
    bool gathers_late; /* weights that ZeRO 1 and 2 stepped are gathered before the step ends, else beside the
                          next */
    bool sums_late;    /* gradients are summed when the last backward pass has ended */
    bool sums_whole;   /* of ZeRO 1 and 2 every GPU gets all sums (all-reduce), whose share it steps */
    bool joins_weights, joins_gradients; /* ZeRO 3: what is gathered is copied into whole weights, what is to
                                            be summed into pieces for each GPU */
    double gradient_bytes;               /* of an element of a gradient that is summed; 0: as the weights */
    double bucket_elements;              /* that are summed at once; 0: 25 MiB */
    double bucket_each;                  /* no fewer than so many elements for each GPU */
};
extern const struct rt_overlap rt_overlaps[RT_RUNTIME_COUNT];

const struct rt_overlap *rt_overlap_of(const struct rt_graph *graph);

/* Share of a GPU's multiprocessors that a collective holds, 0..1. */
double rt_overlap_share(const struct rt_device *device);

/* GPUs that share out what {shard} says, and the groups that sum the gradients of a node and gather its
 * weights. */
int64_t rt_shard_gpus(const struct rt_parallelism *parallel);
enum rt_gpu_group rt_gradient_group(const struct rt_parallelism *parallel, const struct rt_node *node);
enum rt_gpu_group rt_weights_group(const struct rt_parallelism *parallel, const struct rt_node *node);

/* Bytes of gradients that are summed at once. */
double rt_bucket_bytes(const struct rt_forecast *forecast);

/* Sets `accumulates`, and hidden_us of collectives: what of them runs beside kernels of the same pass.
 *
 *   tensor     with `tensor_overlap` in as many chunks as GPUs, beside the product that needs or makes them: all but
 *              one chunk, as far as the product lasts (nanotron: a piece alone, `own_pieces`); else, of a gradient, beside the product of the weights' where
 *              the runtime does so
 *   expert     with `expert_overlap` tokens of a micro batch beside the other pass of another, as far as that lasts
 *   context    what goes round in a ring beside attention: all but the first of its blocks
 */
void rt_forecast_overlap(struct rt_forecast *forecast);

/* What a launch takes of its pass: a collective what nothing hides, and what hiding the rest costs. */
double rt_launch_in_line_us(const struct rt_forecast *forecast, const struct rt_forecast_launch *launch);

/* Does the kernel compute a gradient of weights? */
bool rt_launch_of_weights(const struct rt_forecast *forecast, const struct rt_forecast_launch *launch);

/* How much longer the slowest of so many GPUs takes than the usual one, a share. GPUs of one kind differ with
 * a standard deviation of SPREAD, so the slowest of n is expected sqrt(2 ln n) of them behind. */
double rt_slowest_gpu(int64_t gpus);
