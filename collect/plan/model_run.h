/*
 * A model as a backend can run it, without a framework: the kernels of its graph are measured one by one, as
 * samples, and then run all in launch order (model_timing.h), as a workload (workloads.h).
 * docs/guide/collect.md says what such a workload is and is not.
 */
#pragma once

#include "base/hash_set.h"
#include "collect/backend.h"
#include "collect/plan/plan.h"
#include "collect/task.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- a step as tasks ---- */

/* The models plan takes its shapes from here, and `rooftile collect --model` runs them. */
struct rt_model_source;

struct rt_model_step {
    const char *model;       /* a name of the zoo, or the path of a config.json */
    int64_t batch, sequence; /* sequence 0: 1024, or as many as the model has positions */
    int64_t image;           /* of models of images, the side in pixels; 0: the model's own */
    enum rt_dtype dtype;
    bool training; /* forward and backward, no optimizer; else inference over whole sequences */
    bool decode;   /* inference of one token per sequence, `sequence` tokens in the cache */
};

struct rt_model_tasks {
    char name[96]; /* of the zoo, or the last part of the path */
    int64_t layers;
    int64_t sequence, image; /* one of them, the other is -1 */
    bool overlong;           /* the sequence is longer than the model was made for */
    struct rt_task *tasks;   /* distinct */
    size_t count, capacity;
    struct rt_hash_set set; /* of the tasks */
    uint32_t *launches; /* numbers of tasks in launch order: forward, then backward from the last node to the
                           first, each node's weight gradients right after its input gradients */
    size_t launch_count, launch_capacity;
    size_t forward; /* number of forward launches, the first ones */
};

/* RT_EUSAGE where the model has no such step; RT_ENOTFOUND, RT_EFORMAT, RT_EIO about the model. */
int rt_model_tasks(const struct rt_model_step *step, struct rt_model_tasks *out);
/* The same of a model that was found before (models/networks/source.h), whose name step->model is. */
int rt_source_tasks(const struct rt_model_source *source, const struct rt_model_step *step,
                    struct rt_model_tasks *out);
void rt_model_tasks_release(struct rt_model_tasks *tasks);

/* ---- what a backend can run of it ---- */

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
