/* Plan files: a line per shape. See plans.h. */
#include "collect/plan/plans.h"
#include "base/file.h"
#include "base/status.h"
#include "base/strings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t file_limit = (size_t)64 << 20; /* bytes */

/* The variant of a line, "layout=nhwc", as a call's further setting. */
static int parse_variant(void *to, const char *name, const char *value)
{
    struct rt_task *task = to;
    int known = 0;
    for (int v = RT_PLAIN + 1; v < RT_VARIANT_COUNT; v++) {
        if (strcmp(rt_variants[v].attribute, name) != 0)
            continue;
        if (strcmp(rt_variants[v].value, value) != 0)
            known = rt_fail(RT_EFORMAT, "%s \"%.40s\" is unknown; it may be %s", name, value,
                            rt_variants[v].value);
        else if (task->variant != RT_PLAIN)
            return rt_fail(RT_EFORMAT, "%s is given twice", name);
        else {
            task->variant = (uint8_t)v;
            return 1;
        }
    }
    return known;
}

static int check_task(const struct rt_task *task, const struct rt_backend *backend)
{
    if (backend->can(task))
        return RT_OK;
    const struct rt_variant_row *variant = &rt_variants[task->variant];
    bool plain = variant->attribute == NULL;
    return rt_fail(RT_EUSAGE, "the %s backend cannot measure %s in %s, %s%s%s%s%s; see {list}", backend->name,
                   rt_ops[task->call.op].name, rt_dtypes[task->call.dtype].name, rt_phases[task->call.phase],
                   plain ? "" : ", ", plain ? "" : variant->attribute, plain ? "" : "=",
                   plain ? "" : variant->value);
}

static int parse_line(const char *text, const struct rt_backend *backend, struct rt_task *task)
{
    memset(task, 0, sizeof *task);
    int status = rt_call_parse(text, parse_variant, task, &task->call);
    return status == RT_OK ? check_task(task, backend) : status;
}

static int read_lines(char *text, const char *path, const struct rt_plan_request *request,
                      struct rt_plan *plan)
{
    size_t number = 0;
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
        struct rt_task task;
        number++;
        line[strcspn(line, "#")] = '\0';
        line = rt_trim(line);
        if (*line == '\0')
            continue;
        int status = parse_line(line, request->backend, &task);
        if (status != RT_OK)
            return rt_fail_context(status, "%s:%zu", path, number);
        if (request->ops.has[task.call.op] && rt_dtype_set_has(&request->dtypes, task.call.dtype))
            plan->duplicates += !rt_plan_add(plan, &task);
    }
    if (plan->count == 0)
        return rt_fail(RT_EFORMAT,
                       "%s: holds no shape to measure; write lines such as bmm,batch=8,m=64,n=64,k=64", path);
    return RT_OK;
}

int rt_plan_read(const char *path, const struct rt_plan_request *request, struct rt_plan *out)
{
    struct rt_plan plan = {0};
    char *text;
    size_t size;
    int status = rt_file_read(path, file_limit, &text, &size);
    if (status != RT_OK)
        return status;
    if (strlen(text) != size)
        status = rt_fail(RT_EFORMAT, "%s: is not text: it holds a byte 0", path);
    else
        status = read_lines(text, path, request, &plan);
    free(text);
    if (status != RT_OK)
        rt_plan_release(&plan);
    else
        *out = plan;
    return status;
}
