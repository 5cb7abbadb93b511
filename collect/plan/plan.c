/* Plans as sets of tasks; the ops and dtypes they take. See plan.h. */
#include "collect/plan/plan.h"
#include "base/status.h"
#include "base/strings.h"

#include <stdlib.h>
#include <string.h>

/* ---- a plan as a set ---- */

static size_t find_slot(const struct rt_plan *plan, const struct rt_task *task)
{
    size_t at = rt_hash(RT_HASH_START, task, sizeof *task) & (plan->slots - 1);
    while (plan->slot[at] != 0 && memcmp(&plan->tasks[plan->slot[at] - 1], task, sizeof *task) != 0)
        at = (at + 1) & (plan->slots - 1);
    return at;
}

static void grow(struct rt_plan *plan)
{
    plan->slots = plan->slots ? 2 * plan->slots : 64;
    plan->tasks = rt_realloc(plan->tasks, plan->slots / 2, sizeof *plan->tasks);
    free(plan->slot);
    plan->slot = rt_calloc(plan->slots, sizeof *plan->slot);
    for (size_t i = 0; i < plan->count; i++)
        plan->slot[find_slot(plan, &plan->tasks[i])] = (uint32_t)i + 1;
}

bool rt_plan_add(struct rt_plan *plan, const struct rt_task *task)
{
    if (2 * plan->count >= plan->slots)
        grow(plan);
    size_t at = find_slot(plan, task);
    if (plan->slot[at] != 0)
        return false;
    plan->hash = rt_hash(plan->count == 0 ? RT_HASH_START : plan->hash, task, sizeof *task);
    plan->tasks[plan->count++] = *task;
    plan->slot[at] = (uint32_t)plan->count;
    return true;
}

ptrdiff_t rt_plan_find(const struct rt_plan *plan, const struct rt_task *task)
{
    return plan->slots == 0 ? -1 : (ptrdiff_t)plan->slot[find_slot(plan, task)] - 1;
}

void rt_plan_release(struct rt_plan *plan)
{
    free(plan->tasks);
    free(plan->slot);
    *plan = (struct rt_plan){0};
}

/* ---- ops ---- */

static bool backend_can(const struct rt_backend *backend, enum rt_op_id op)
{
    for (int dtype = 0; dtype < RT_DTYPE_COUNT; dtype++) {
        struct rt_task task;
        rt_task_init(&task, op, dtype);
        if (backend->can(&task))
            return true;
    }
    return false;
}

static int add_ops(const char *word, const struct rt_backend *backend, struct rt_op_set *set)
{
    int op = rt_op_find(word), family = rt_family_find(word), added = 0;
    if (op < 0 && family < 0)
        return rt_fail(RT_ENOTFOUND, "--ops: \"%s\" is neither an op nor a family of ops; see --list", word);
    for (int i = 0; i < RT_OP_COUNT; i++)
        if ((op >= 0 ? i == op : (int)rt_ops[i].family == family) && backend_can(backend, i)) {
            set->has[i] = true;
            added++;
        }
    if (added == 0)
        return rt_fail(RT_EUSAGE, "--ops: the %s backend cannot measure %s; see --list", backend->name, word);
    return RT_OK;
}

int rt_op_set_parse(const char *list, const struct rt_backend *backend, struct rt_op_set *out)
{
    struct rt_op_set set = {.all = list == NULL};
    int status = RT_OK;
    char *copy = rt_strdup(list != NULL ? list : ""), *rest = copy, *word;
    if (list == NULL)
        for (int i = 0; i < RT_OP_COUNT; i++)
            set.has[i] = backend_can(backend, i);
    else
        while (status == RT_OK && (word = strsep(&rest, ",")) != NULL)
            status = add_ops(word, backend, &set);
    free(copy);
    if (status == RT_OK)
        *out = set;
    return status;
}

/* ---- dtypes ---- */

static int no_such_dtype(const char *word)
{
    char names[256] = "";
    for (int i = 0; i < RT_DTYPE_COUNT; i++) {
        strcat(names, i > 0 ? ", " : "");
        strcat(names, rt_dtypes[i].name);
    }
    return rt_fail(RT_ENOTFOUND, "--dtypes: \"%s\" is not one of %s", word, names);
}

bool rt_dtype_set_has(const struct rt_dtype_set *set, enum rt_dtype dtype)
{
    for (size_t i = 0; i < set->count; i++)
        if (set->dtype[i] == dtype)
            return true;
    return set->count == 0;
}

int rt_dtype_set_parse(const char *list, struct rt_dtype_set *out)
{
    struct rt_dtype_set set = {0};
    int status = RT_OK;
    char *copy = rt_strdup(list != NULL ? list : ""), *rest = list != NULL ? copy : NULL, *word;
    while (status == RT_OK && (word = strsep(&rest, ",")) != NULL) {
        int dtype = rt_dtype_find(word);
        if (dtype < 0)
            status = no_such_dtype(word);
        else if (set.count == 0 || !rt_dtype_set_has(&set, dtype))
            set.dtype[set.count++] = (uint8_t)dtype;
    }
    free(copy);
    if (status == RT_OK)
        *out = set;
    return status;
}

static void add_in_dtypes(struct rt_plan *plan, const struct rt_task *task, const struct rt_backend *backend,
                          const struct rt_dtype_set *dtypes, size_t count)
{
    for (size_t d = 0; d < dtypes->count && plan->count < count; d++) {
        struct rt_task other = *task;
        other.call.dtype = (uint8_t)rt_task_dtype(task->call.op, dtypes->dtype[d]);
        if (backend->can(&other))
            rt_plan_add(plan, &other);
        else
            plan->unable[task->call.op]++;
    }
}

int rt_plan_in_dtypes(struct rt_plan *plan, const struct rt_backend *backend,
                      const struct rt_dtype_set *dtypes, size_t count)
{
    if (dtypes->count == 0)
        return RT_OK;
    struct rt_plan made = {.duplicates = plan->duplicates};
    for (size_t t = 0; t < plan->count && made.count < count; t++)
        add_in_dtypes(&made, &plan->tasks[t], backend, dtypes, count);
    rt_plan_release(plan);
    if (made.count == 0) {
        rt_plan_release(&made);
        return rt_fail(RT_EUSAGE,
                       "--dtypes: the %s backend can measure none of the plan's ops in these; see --list",
                       backend->name);
    }
    *plan = made;
    return RT_OK;
}
