/* Plans as sets of tasks. See plan.h. */
#include "collect/plan/plan.h"
#include "base/array.h"
#include "base/status.h"
#include "base/strings.h"

#include <stdlib.h>

bool rt_plan_add(struct rt_plan *plan, const struct rt_task *task)
{
    RT_GROW(plan->tasks, plan->count, 1, plan->capacity);
    plan->tasks[plan->count] = *task;
    if (rt_hash_set_add_bytes(&plan->set, plan->tasks, sizeof *task, plan->count) >= 0)
        return false;
    plan->hash = rt_task_hash(plan->count++ == 0 ? RT_HASH_START : plan->hash, task);
    return true;
}

ptrdiff_t rt_plan_find(const struct rt_plan *plan, const struct rt_task *task)
{
    return (ptrdiff_t)rt_hash_set_find_bytes(&plan->set, plan->tasks, sizeof *task, task);
}

void rt_plan_release(struct rt_plan *plan)
{
    free(plan->tasks);
    rt_hash_set_release(&plan->set);
    *plan = (struct rt_plan){0};
}
