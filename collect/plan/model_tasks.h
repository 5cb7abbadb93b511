/*
 * A step of a model as tasks: the kernels of its graph (models/graph), in the order in which they run. What
 * the models plan takes its shapes from, and what `rooftile collect --model` runs.
 *
 * Graphs speak of other kernels than backends do (struct rt_graph_kernel is one thing there and another
 * here), so this header names neither.
 */
#ifndef ROOFTILE_COLLECT_PLAN_MODEL_TASKS_H
#define ROOFTILE_COLLECT_PLAN_MODEL_TASKS_H

#include "collect/task.h"

#include <stdbool.h>
#include <stddef.h>

struct rt_model_step {
    const char *model;       /* a name of the zoo, or the path of a config.json */
    int64_t batch, sequence; /* sequence 0: 1024, or as many as the model has positions */
    enum rt_dtype dtype;
    bool training; /* forward and backward pass, no optimizer; else inference over whole sequences */
    bool decode;   /* inference of one token a sequence, `sequence` tokens in the cache */
};

struct rt_model_tasks {
    char name[96]; /* of the zoo, or of the file or folder without those above it */
    int64_t layers, sequence;
    bool overlong;         /* the sequence is longer than the model was made for */
    struct rt_task *tasks; /* distinct */
    size_t count;
    uint32_t *launches; /* numbers of tasks, in the order they run: forward, then backward from the last node
                           to the first, gradients accumulated as they come */
    size_t launch_count;
    size_t forward; /* the first so many are the forward pass */
};

/* RT_EUSAGE where the model has no such step; RT_ENOTFOUND, RT_EFORMAT, RT_EIO about the model. */
int rt_model_tasks(const struct rt_model_step *step, struct rt_model_tasks *out);
void rt_model_tasks_release(struct rt_model_tasks *tasks);

/* Names of the zoo's models; free each and the list. */
char **rt_zoo_names(size_t *count);

#endif
