/* Plans as sets of tasks. See plan.h. */
#include "collect/plan/plan.h"
#include "base/array.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

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
        return rt_fail(RT_ENOTFOUND, "{ops}: \"%s\" is neither an op nor a family of ops; see {list}", word);
    for (int i = 0; i < RT_OP_COUNT; i++)
        if ((op >= 0 ? i == op : (int)rt_ops[i].family == family) && backend_can(backend, i)) {
            set->has[i] = true;
            added++;
        }
    if (added == 0)
        return rt_fail(RT_EUSAGE, "{ops}: the %s backend cannot measure %s; see {list}", backend->name, word);
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
    struct rt_text names = {0};
    for (int i = 0; i < RT_DTYPE_COUNT; i++)
        rt_text_item(&names, ", ", "%s", rt_dtypes[i].name);
    int status = rt_fail(RT_ENOTFOUND, "{dtypes}: \"%s\" is not one of %s", word, names.text);
    rt_text_release(&names);
    return status;
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
