/*
 * collect/: measuring. Every task of a plan is measured on every device of a backend; the samples become one
 * dataset. They are saved every few seconds, so a killed collection goes on where it was.
 *
 * Two kinds of process: the collector plans, schedules and saves, and never opens a device; workers, one per
 * lane of devices, measure. Files in reading order:
 *
 *     task, backend, backends   what is measured, and the interface of what measures it
 *     plan/                     which tasks, in which order; a model's step as tasks
 *     job                       what was asked for, and what datasets say about it
 *     measure, task_result      when a kernel's time is known; the result of one task
 *     model_timing              all kernels of a model in launch order, timed
 *     worker, probe             processes that measure, and that describe devices
 *     journal, collection       what is saved, done and left
 *     scheduler                 hands tasks to workers, replaces workers that die
 *     collect                   a collection from start to end; the job's model run as a whole; counts
 *     estimate                  counts before
 *     synthetic, cpu/, cuda/    the backends
 *     cmd_collect, report       `rooftile collect` and what it prints
 */
#pragma once

#include "collect/job.h"
#include "datasets/dataset.h"

/* The samples of an op on a device, counted. */
struct rt_summary_row {
    uint8_t op;
    int32_t device;
    size_t measured, unstable, throttled, failed;
    size_t retried;   /* measured again after throttling */
    size_t lost;      /* of the failed: the device or its worker was lost */
    size_t faster;    /* than 1.05 times what the descriptor's peaks allow */
    double median_us; /* of latencies; NaN where nothing was measured */
};

struct rt_collected {
    struct rt_dataset dataset;   /* as written */
    struct rt_summary_row *rows; /* by op, then device; those without samples are left out */
    size_t row_count;
    size_t planned;  /* kernels: tasks x devices */
    size_t kernels;  /* of them in the dataset, whose samples may be more: repeats */
    size_t measured; /* of them by this run */
    double seconds;  /* that this run measured for */
};

/* RT_EINTERRUPTED after Ctrl-C: what was measured is saved. Release the result where it returns RT_OK. */
int rt_collect(const struct rt_job *job, struct rt_collected *out);
void rt_collected_release(struct rt_collected *collected);
