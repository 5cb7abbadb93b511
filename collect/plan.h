/*
 * Plans: which shapes to measure, in which order. A plan is a list of distinct tasks; each is measured on
 * every device before the next begins.
 *
 * The quick plan takes the families by turns (linear, bmm, softmax, layer norm, elementwise) and the ops of a
 * family by turns. The shapes of an op are log-uniform over its ranges in the order of a Halton sequence,
 * shifted by the seed, so every prefix of a plan covers ops and ranges evenly: it may be stopped anywhere.
 *
 * The calibrate plan is a fixed list, 16 shapes of each family by turns.
 *
 * A plan file has a line per shape, "op,dim=value,dim=value...", dims by their names in any order, all of
 * them:
 *
 *     # anything behind a hash is a comment
 *     bmm,batch=16,m=512,n=512,k=64
 *     softmax,rows=4096,cols=1024,dtype=fp32
 *
 * dtype is fp32 where it is not said. A shape named twice is measured once.
 */
#ifndef ROOFTILE_PLAN_H
#define ROOFTILE_PLAN_H

#include "collect/backend.h"

struct rt_plan {
    struct rt_task *tasks;
    size_t count;
    size_t duplicates; /* lines of the file that repeat an earlier shape */
    uint64_t hash;     /* of the tasks in their order */
    uint32_t *slot;    /* open-addressing hash of index + 1 */
    size_t slots;
};

/* Ops that a plan takes, by rt_op_id. */
struct rt_op_set {
    bool has[RT_OP_COUNT];
};

/* "linear,softmax" or a family's name for all its ops, as far as `backend` can run them; NULL: all it can.
 * RT_ENOTFOUND, RT_EUSAGE where the backend cannot. */
int rt_op_set_parse(const char *list, const struct rt_backend *backend, struct rt_op_set *out);

/* At most `count` shapes: fewer where the ranges of the ops hold no more. */
int rt_plan_quick(uint64_t seed, const struct rt_op_set *ops, size_t count, struct rt_plan *out);

/* The shapes to calibrate a predictor with (`rooftile calibrate`), the most telling of every family first:
 * the first `count` of them. RT_EUSAGE where it has none for these ops. */
int rt_plan_calibrate(const struct rt_op_set *ops, size_t count, struct rt_plan *out);

/* RT_EFORMAT names file and line; so does RT_EUSAGE where the backend cannot run an op. Ops that are not in
 * the set are left out. */
int rt_plan_read(const char *path, const struct rt_backend *backend, const struct rt_op_set *ops,
                 struct rt_plan *out);

/* Appends a task; false where the plan has it already. An empty plan is {0}. */
bool rt_plan_add(struct rt_plan *plan, const struct rt_task *task);

/* Place of a task in the plan, -1 where it has none. */
ptrdiff_t rt_plan_find(const struct rt_plan *plan, const struct rt_task *task);

void rt_plan_release(struct rt_plan *plan);

#endif
