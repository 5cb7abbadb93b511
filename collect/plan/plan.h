/*
 * A plan: a list of distinct tasks. Each is measured on every device before the next begins, so a plan may be
 * stopped anywhere. plans.h makes plans by name or from a file.
 */
#pragma once

#include "base/hash_set.h"
#include "collect/backend.h"

struct rt_plan {
    struct rt_task *tasks;
    size_t count;
    size_t duplicates;          /* lines of the file that repeat an earlier shape */
    size_t too_large;           /* kernels of models left out for their size */
    size_t unable[RT_OP_COUNT]; /* tasks left out, by op: the backend cannot run them in that dtype */
    uint64_t hash;              /* of the tasks in their order */
    struct rt_hash_set set;     /* of the tasks */
    size_t capacity;
};

/* Appends a task; false where the plan has it already. An empty plan is {0}. */
bool rt_plan_add(struct rt_plan *plan, const struct rt_task *task);

/* Place of a task in the plan, -1 where it has none. */
ptrdiff_t rt_plan_find(const struct rt_plan *plan, const struct rt_task *task);

void rt_plan_release(struct rt_plan *plan);

/* ---- what a plan is to hold: ops, dtypes, count, seed, and what the backend can run ---- */

/* By rt_op_id. */
struct rt_op_set {
    bool has[RT_OP_COUNT];
    bool all; /* none were named */
};

/* "linear,softmax" or a family's name for all its ops, as far as `backend` can run them in any dtype; NULL:
 * all it can. RT_ENOTFOUND, RT_EUSAGE where the backend cannot. */
int rt_op_set_parse(const char *list, const struct rt_backend *backend, struct rt_op_set *out);

/* In the order they were named. */
struct rt_dtype_set {
    uint8_t dtype[RT_DTYPE_COUNT];
    size_t count; /* 0: the plan's own choice */
};

/* "fp32,bf16"; NULL: none named. RT_ENOTFOUND names the dtypes there are. */
int rt_dtype_set_parse(const char *list, struct rt_dtype_set *out);

/* Does the set leave the choice to the plan, or name this dtype? */
bool rt_dtype_set_has(const struct rt_dtype_set *set, enum rt_dtype dtype);

struct rt_plan_request {
    const struct rt_backend *backend;
    struct rt_op_set ops;
    struct rt_dtype_set dtypes;
    uint64_t seed;
    size_t count; /* tasks at most */
};
