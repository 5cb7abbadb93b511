/*
 * A plan: a list of distinct tasks. Each is measured on every device before the next begins, so a plan may be
 * stopped anywhere. plans.h makes plans by name or from a file.
 */
#ifndef ROOFTILE_COLLECT_PLAN_PLAN_H
#define ROOFTILE_COLLECT_PLAN_PLAN_H

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

#endif
