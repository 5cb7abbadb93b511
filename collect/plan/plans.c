/* The table of plans. See plans.h. */
#include "collect/plan/plans.h"
#include "base/status.h"
#include "base/text.h"

#include <stdint.h>
#include <string.h>

static void add_in_dtypes(struct rt_plan *plan, const struct rt_task *task,
                          const struct rt_plan_request *request)
{
    const struct rt_dtype_set *dtypes = &request->dtypes;
    for (size_t d = 0; d < dtypes->count && plan->count < request->count; d++) {
        struct rt_task other = *task;
        other.call.dtype = (uint8_t)rt_task_dtype(task->call.op, dtypes->dtype[d]);
        if (request->backend->can(&other))
            rt_plan_add(plan, &other);
        else
            plan->unable[task->call.op]++;
    }
}

/* Each shape of a plan in fp32 in each of the request's dtypes. */
static int put_in_dtypes(const struct rt_plan_request *request, struct rt_plan *plan)
{
    if (request->dtypes.count == 0)
        return RT_OK;
    struct rt_plan made = {.duplicates = plan->duplicates};
    for (size_t t = 0; t < plan->count && made.count < request->count; t++)
        add_in_dtypes(&made, &plan->tasks[t], request);
    rt_plan_release(plan);
    *plan = made;
    if (made.count > 0)
        return RT_OK;
    rt_plan_release(plan);
    return rt_fail(RT_EUSAGE,
                   "{dtypes}: the %s backend can measure none of the plan's ops in these; see {list}",
                   request->backend->name);
}

static const struct {
    const char *name;
    size_t count; /* tasks where the request does not say */
    bool in_fp32;
    int (*make)(const struct rt_plan_request *request, struct rt_plan *out);
} plans[] = {
    {"quick", 2000, true, rt_plan_quick},
    {"kernels", 4000, false, rt_plan_kernels},
    {"models", SIZE_MAX, false, rt_plan_models},
    {"calibrate", SIZE_MAX, true, rt_plan_calibrate},
};

void rt_plan_suggest(struct rt_text *list)
{
    for (size_t p = 0; p < RT_COUNT(plans); p++)
        rt_text_add(list, "%s\n", plans[p].name);
    rt_text_add(list, ":files\n");
}

int rt_plan_make(const char *name, const struct rt_plan_request *request, struct rt_plan *out)
{
    size_t p = 0;
    while (p < RT_COUNT(plans) && strcmp(plans[p].name, name) != 0)
        p++;
    if (p == RT_COUNT(plans))
        return rt_plan_read(name, request, out);
    struct rt_plan_request counted = *request;
    struct rt_plan plan = {0};
    if (counted.count == 0)
        counted.count = plans[p].count;
    int status = plans[p].make(&counted, &plan);
    if (status == RT_OK && plans[p].in_fp32)
        status = put_in_dtypes(&counted, &plan);
    if (status == RT_OK)
        *out = plan;
    return status;
}
