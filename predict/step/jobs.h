/*
 * Jobs that share a GPU: a list in CSV, a job a row. Columns, in any order, all but `model` may be missing:
 *
 *   name        how reports call it (default: the model)
 *   model       as --model of `rooftile predict`: a name of the zoo, a config.json or an ONNX model
 *   batch       sequences or images of a step (default 1); several, of which `rooftile pack` chooses: 1 2 4 8
 *   seq, image  tokens of a sequence, the side of images (default: as `rooftile predict` has them)
 *   mode        inference, training or decode
 *   optimizer   training: its step, too: none, sgd, momentum or adamw
 *   dtype       default: as `rooftile predict` has it
 *   runtime     likewise
 *   input       what copies inputs to the GPU first: none (default), pageable or pinned
 *   latency_ms  a step may take so long at most (default: any time)
 *   rate        sequences or images a second that it must serve (default: none)
 */
#pragma once

#include "datasets/device.h"
#include "models/networks/step.h"

enum { RT_JOB_BATCHES = 16 };

struct rt_gpu_job {
    char *name, *model;              /* source.spec is model */
    struct rt_model_source source;   /* of sizes, or an ONNX model */
    struct rt_step step;             /* as it was asked for, in the first of its batches */
    struct rt_settled_step settled;  /* the same on no GPU in particular: what reports say of it */
    int64_t batches[RT_JOB_BATCHES];
    size_t batch_count;
    size_t line;       /* of the file */
    double latency_us; /* NaN: any */
    double rate;       /* items a second; NaN: none asked for */
};

struct rt_gpu_jobs {
    struct rt_gpu_job *job;
    size_t count;
};

/* Release with rt_jobs_release. RT_EIO; RT_EFORMAT naming file, line and column for cells that are wrong, for
 * columns that do not exist and for a file without jobs; RT_ENOTFOUND for models that are not known. */
int rt_jobs_read(const char *path, struct rt_gpu_jobs *out);
void rt_jobs_release(struct rt_gpu_jobs *jobs);

/* Settles job->step; of a file also tells whether it has such sizes, and warns of what there is to say of it. */
int rt_job_settle(struct rt_gpu_job *job);

/* The graph of a job's step on a device; release with rt_graph_release. */
int rt_job_graph(const struct rt_gpu_job *job, const struct rt_device *device, struct rt_graph *out);
