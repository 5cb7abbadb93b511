/*
 * Plans: which shapes to measure, in which order. A plan is a list of distinct tasks; each is measured on
 * every device before the next begins, so a plan may be stopped anywhere. docs/collect-plans.md tells what
 * each is for.
 *
 *     quick      plan_quick.c    shapes for a CPU or a first look: a minute
 *     kernels    plan_kernels.c  what a predictor is trained on: all ops, dtypes, layouts of a GPU
 *     models     plan_models.c   every kernel of the zoo's models, over batches and sequences
 *     calibrate  plan_calibrate.c  the few shapes that tell most of a new GPU
 *     FILE.csv   plan_file.c     a line per shape:
 *
 *     # anything behind a hash is a comment
 *     bmm,batch=16,m=512,n=512,k=64
 *     conv2d,batch=8,in_channels=64,...,dtype=fp16,phase=backward,layout=nhwc
 *
 * Dims by their names in any order, all of them; dtype is fp32, phase forward (of softmax_backward and the
 * like: backward) and the variant plain where the line does not say. A shape named twice is measured once.
 */
#ifndef ROOFTILE_COLLECT_PLAN_PLAN_H
#define ROOFTILE_COLLECT_PLAN_PLAN_H

#include "collect/backend.h"

struct rt_plan {
    struct rt_task *tasks;
    size_t count;
    size_t duplicates;          /* lines of the file that repeat an earlier shape */
    size_t too_large;           /* kernels of models left out for their size */
    size_t unable[RT_OP_COUNT]; /* tasks left out, by op: the backend cannot run them in that dtype */
    uint64_t hash;              /* of the tasks in their order */
    uint32_t *slot;             /* open-addressing hash of index + 1 */
    size_t slots;
};

/* Ops that a plan takes, by rt_op_id. */
struct rt_op_set {
    bool has[RT_OP_COUNT];
    bool all; /* none were named */
};

/* "linear,softmax" or a family's name for all its ops, as far as `backend` can run them in any dtype; NULL:
 * all it can. RT_ENOTFOUND, RT_EUSAGE where the backend cannot. */
int rt_op_set_parse(const char *list, const struct rt_backend *backend, struct rt_op_set *out);

/* Dtypes that a plan takes, in the order they were named. */
struct rt_dtype_set {
    uint8_t dtype[RT_DTYPE_COUNT];
    size_t count; /* 0: the plan's own choice */
};

/* "fp32,bf16"; NULL: none named. RT_ENOTFOUND names the dtypes there are. */
int rt_dtype_set_parse(const char *list, struct rt_dtype_set *out);

/* Does the set leave the choice to the plan, or name this dtype? */
bool rt_dtype_set_has(const struct rt_dtype_set *set, enum rt_dtype dtype);

/* At most `count` shapes in fp32: fewer where the ranges of the ops hold no more. */
int rt_plan_quick(uint64_t seed, const struct rt_op_set *ops, size_t count, struct rt_plan *out);

/* At most `count` tasks, as far as the backend can. RT_EUSAGE where it can none. */
int rt_plan_kernels(uint64_t seed, const struct rt_backend *backend, const struct rt_op_set *ops,
                    const struct rt_dtype_set *dtypes, size_t count, struct rt_plan *out);

/* The kernels of the zoo's models: the first `count` of them. Those that the backend cannot run, and those
 * too large for any device to run in a while, are counted and left out. */
int rt_plan_models(const struct rt_backend *backend, const struct rt_op_set *ops,
                   const struct rt_dtype_set *dtypes, size_t count, struct rt_plan *out);

/* The shapes to calibrate a predictor with (`rooftile calibrate`), the most telling of every family first:
 * the first `count` of them. RT_EUSAGE where it has none for these ops. */
int rt_plan_calibrate(const struct rt_op_set *ops, size_t count, struct rt_plan *out);

/* RT_EFORMAT names file and line; so does RT_EUSAGE where the backend cannot run an op. Ops and dtypes that
 * are not in the sets are left out. */
int rt_plan_read(const char *path, const struct rt_backend *backend, const struct rt_op_set *ops,
                 const struct rt_dtype_set *dtypes, struct rt_plan *out);

/* Makes a plan in fp32 one in these dtypes (rt_task_dtype): each shape in each; at most `count` tasks stay.
 * What the backend cannot run is counted and left out; RT_EUSAGE where nothing stays. */
int rt_plan_in_dtypes(struct rt_plan *plan, const struct rt_backend *backend,
                      const struct rt_dtype_set *dtypes, size_t count);

/* Appends a task; false where the plan has it already. An empty plan is {0}. */
bool rt_plan_add(struct rt_plan *plan, const struct rt_task *task);

/* Place of a task in the plan, -1 where it has none. */
ptrdiff_t rt_plan_find(const struct rt_plan *plan, const struct rt_task *task);

void rt_plan_release(struct rt_plan *plan);

#endif
