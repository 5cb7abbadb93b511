/*
 * Schedules of pipelines: in which order stages run the passes of micro batches, and when each is done.
 *
 *   gpipe        all forward passes, then all backward ones (Huang et al. 2019)
 *   1f1b         a stage begins with as many forward passes as there are stages from it to the last, then alternates
 *                (PipeDream-flush: Narayanan et al. 2021)
 *   1f1b with chunks  each stage holds several pieces of the layers, those that are `stages` apart; micro batches go
 *                round in groups of `stages` (interleaved: Narayanan et al., SC 2021, section 2.2; Megatron-LM's
 *                forward_backward_pipelining_with_interleaving)
 *   zero-bubble  1f1b, whose backward pass hands on the input's gradient before it computes those of the weights;
 *                stage i leaves the weights' gradients of i micro batches for the time in which it would wait at the
 *                end (ZB-H1: Qi et al., Zero Bubble Pipeline Parallelism, 2023). Stages that are so uneven that this
 *                takes longer compute them at once
 *
 * Stages are uneven where embedding and head are, so a step is simulated; where it repeats itself from one
 * group of micro batches to the next, the groups between are counted.
 */
#pragma once

#include "models/networks/parallelism.h"

#include <stdint.h>

enum rt_pass { RT_PASS_FORWARD, RT_PASS_BACKWARD, RT_PASS_WEIGHTS, RT_PASSES };
extern const char *const rt_passes[RT_PASSES]; /* "forward", "backward", "weights" */

/* The l-th of `chunks` x `stages` pieces of the layers, in the order of the forward pass, is chunk l / stages
 * of stage l % stages. */
struct rt_pipeline {
    int64_t stages, chunks, microbatches; /* of chunks above 1 a multiple of `stages` */
    enum rt_pipeline_schedule schedule;
    /* (chunks, stages), us, of a micro batch: forward; backward (NULL: inference), of zero-bubble that of the
     * input's gradient alone; the weights' gradients, of zero-bubble alone. */
    const double *pass_us[RT_PASSES];
    const double
        *send_us; /* (stages): what a stage passes on to the next, the last one to the first; as much back */
    bool blocks;  /* a stage waits until what it sends has arrived */
};

struct rt_pipeline_span {
    enum rt_pass pass;
    int64_t stage, chunk, microbatch;
    double start_us, time_us;
};

/* Told of every pass, in the order of each stage. */
struct rt_pipeline_watch {
    void (*pass)(void *context, const struct rt_pipeline_span *span);
    void *context;
};

/* When stages are done; arrays are the caller's. */
struct rt_pipeline_ends {
    double *stage_us; /* (stages): with all of its passes */
    double
        *last_us; /* (chunks, stages): with the backward pass of the last micro batch; inference: forward */
};

/* Time of a step's passes, us. `ends` and `watch` may be NULL. */
double rt_pipeline_us(const struct rt_pipeline *pipeline, const struct rt_pipeline_ends *ends,
                      const struct rt_pipeline_watch *watch);

/* Micro batches whose activations the first stage holds at once; a part of one where it holds them of a
 * chunk. */
double rt_pipeline_in_flight(int64_t stages, int64_t chunks, int64_t microbatches,
                             enum rt_pipeline_schedule schedule);
