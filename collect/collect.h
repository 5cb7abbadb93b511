/*
 * A collection: every task of a plan measured on every device of a backend, saved in parts as it goes, one
 * dataset at the end. Killed at any moment it goes on where it was when it is started again with the same
 * options.
 *
 * Kernels are measured by worker processes (lanes.h, worker.h); this process never opens a backend.
 */
#ifndef ROOFTILE_COLLECT_COLLECT_H
#define ROOFTILE_COLLECT_COLLECT_H

#include "collect/backend.h"
#include "collect/measure.h"
#include "collect/plan/plan.h"

#define RT_PART_SAMPLES 64 /* of a part, at most */
#define RT_PART_SECONDS 5  /* between parts, as soon as a kernel is done */

/* Where a run finds its operands: in memory, in the caches, or one measurement of each. */
enum rt_cache { RT_CACHE_COLD, RT_CACHE_WARM, RT_CACHE_BOTH };

struct rt_model_run; /* model_run.h */

struct rt_collect_options {
    const char *output;    /* OUT.h5 */
    const char *plan_name; /* "quick", "calibrate", or the name of a plan file */
    const char *command;   /* to tell a user who comes back with another one */
    const char *like;      /* dataset to take devices' descriptors from, NULL: measure them */
    struct rt_backend_options backend;
    struct rt_stopping stopping;
    enum rt_cache cache;
    bool energy;         /* measure it where the device can tell */
    double budget_s;     /* for measuring, restarts included; infinity: until the plan is done */
    double hang_limit_s; /* silence after which a worker is taken for hung; 0: 60 s, more for long kernels */
    size_t shard;        /* from 1 */
    size_t shards;       /* 0, 1: the whole plan */
    bool overwrite, quiet;
    const struct rt_model_run *model; /* whose kernels the plan holds, to be run as a whole; NULL: none */
};

/* Per op and device of what was collected. */
struct rt_collect_row {
    uint8_t op;
    int32_t device;
    size_t measured, unstable, throttled, failed;
    size_t retried;   /* measured again after throttling */
    size_t lost;      /* of the failed: took the device or its worker along */
    size_t faster;    /* than 1.05 times what the descriptor's peaks allow */
    double median_us; /* latency; NaN where nothing was measured */
};

struct rt_collect_summary {
    struct rt_dataset dataset; /* as written */
    struct rt_collect_row *rows;
    size_t row_count;
    size_t planned;  /* kernels: tasks x devices */
    size_t measured; /* of them by this run */
    double seconds;  /* it measured for */
};

/* RT_EINTERRUPTED after Ctrl-C: what was measured is saved. Release the summary where it returns RT_OK. */
int rt_collect(const struct rt_backend *backend, const struct rt_plan *plan,
               const struct rt_collect_options *options, struct rt_collect_summary *out);
void rt_collect_summary_release(struct rt_collect_summary *summary);

/* Counts the rows of a summary's dataset. */
void rt_collect_summarise(struct rt_collect_summary *summary);

#endif
