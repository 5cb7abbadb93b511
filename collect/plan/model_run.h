/*
 * A model as a backend can run it, without a framework: the kernels of its graph are measured one by one, as
 * samples, and then run all in launch order (model_timing.h), as a workload (workloads.h).
 * docs/guide/collect.md says what such a workload is and is not.
 */
#ifndef ROOFTILE_COLLECT_PLAN_MODEL_RUN_H
#define ROOFTILE_COLLECT_PLAN_MODEL_RUN_H

#include "collect/backend.h"
#include "collect/plan/model_step.h"
#include "collect/plan/plan.h"

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

/* Adds its distinct kernels to a plan. */
void rt_model_run_plan(const struct rt_model_run *run, struct rt_plan *plan);

#endif
