/*
 * A whole model on a device, without a framework: the kernels of its graph (models/graph) are measured one by
 * one, as samples, and then run all in order, as a workload with the option "kernels". docs/collect-plans.md
 * tells what such a workload is and is not.
 */
#ifndef ROOFTILE_COLLECT_MODEL_RUN_H
#define ROOFTILE_COLLECT_MODEL_RUN_H

#include "collect/backend.h"
#include "collect/plan/model_tasks.h"
#include "collect/plan/plan.h"

#define RT_OPTION_KERNELS "kernels" /* rt_workload.option */

struct rt_model_run {
    struct rt_model_step step;
    struct rt_model_tasks model; /* all of it */
    struct rt_sequence sequence; /* what the backend can run of it */
    size_t left_out;             /* launches */
    char left_out_ops[512];      /* "embedding (2), copy (36)" */
};

/* RT_EUSAGE where the backend can run none of its kernels. */
int rt_model_run_open(const struct rt_backend *backend, const struct rt_model_step *step,
                      struct rt_model_run *out);
void rt_model_run_release(struct rt_model_run *run);

/* Its distinct kernels. */
void rt_model_run_plan(const struct rt_model_run *run, struct rt_plan *plan);

/* Runs options->model on every device, in a worker process, and adds its workloads to what the collection has
 * saved. A device that the model does not fit, or is lost over it, gets a workload that failed. All kernels
 * must be done. RT_EINTERRUPTED after Ctrl-C. */
struct rt_collection;
int rt_model_run_workloads(struct rt_collection *c);

#endif
