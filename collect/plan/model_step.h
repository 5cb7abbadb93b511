/*
 * A step of a model as tasks: the kernels of its graph (models/networks) in launch order. The models plan takes
 * its shapes from here, and `rooftile collect --model` runs them.
 */
#ifndef ROOFTILE_COLLECT_PLAN_MODEL_STEP_H
#define ROOFTILE_COLLECT_PLAN_MODEL_STEP_H

#include "base/hash_set.h"
#include "collect/task.h"

#include <stdbool.h>
#include <stddef.h>

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
void rt_model_tasks_release(struct rt_model_tasks *tasks);

#endif
