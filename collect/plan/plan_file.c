/* Plan files: a line per shape. See plan.h. */
#include "collect/plan/plan.h"
#include "base/file.h"
#include "base/status.h"
#include "base/strings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const size_t file_limit = (size_t)64 << 20; /* bytes */

static char *trim(char *text)
{
    text += strspn(text, " \t\r");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r", text[length - 1]))
        text[--length] = '\0';
    return text;
}

static int find_dim(enum rt_op_id op, const char *name)
{
    for (int d = 0; d < rt_op_ndims(op); d++)
        if (strcmp(rt_ops[op].dims[d], name) == 0)
            return d;
    return -1;
}

static int no_such_dim(enum rt_op_id op, const char *name)
{
    char dims[256] = "";
    size_t used = 0;
    for (int d = 0; d < rt_op_ndims(op) && used < sizeof dims; d++)
        used += (size_t)snprintf(dims + used, sizeof dims - used, " %s", rt_ops[op].dims[d]);
    return rt_fail(RT_EFORMAT, "%s has no dim \"%.40s\"; it has%s", rt_ops[op].name, name, dims);
}

/* A line's settings; each may be said once. */
struct line {
    struct rt_task task;
    bool dtype, phase, variant; /* said */
};

static int once(bool *said, const char *name)
{
    if (*said)
        return rt_fail(RT_EFORMAT, "%s is given twice", name);
    *said = true;
    return RT_OK;
}

static int parse_dim(struct line *line, int d, const char *value)
{
    int64_t *dim = &line->task.call.dim[d];
    const char *name = rt_ops[line->task.call.op].dims[d];
    if (*dim >= 0)
        return rt_fail(RT_EFORMAT, "dim \"%s\" is given twice", name);
    if (rt_parse_integer(value, strlen(value), dim) != 0 || *dim < 0)
        return rt_fail(RT_EFORMAT, "%s=%.40s is not a whole number", name, value);
    return RT_OK;
}

static int parse_dtype(struct line *line, const char *value)
{
    int dtype = rt_dtype_find(value);
    if (dtype < 0)
        return rt_fail(RT_EFORMAT, "dtype \"%.40s\" is unknown", value);
    line->task.call.dtype = (uint8_t)dtype;
    return once(&line->dtype, "dtype");
}

static int parse_phase(struct line *line, const char *value)
{
    for (int p = 0; p < RT_PHASE_COUNT; p++)
        if (strcmp(rt_phases[p], value) == 0) {
            line->task.call.phase = (uint8_t)p;
            return once(&line->phase, "phase");
        }
    return rt_fail(RT_EFORMAT, "phase \"%.40s\" is not forward, backward or accumulate", value);
}

/* A variant by its attribute; false: no variant has that attribute. */
static bool parse_variant(struct line *line, const char *name, const char *value, int *status)
{
    bool known = false;
    for (int v = RT_PLAIN + 1; v < RT_VARIANT_COUNT; v++) {
        if (strcmp(rt_variants[v].attribute, name) != 0)
            continue;
        known = true;
        if (strcmp(rt_variants[v].value, value) == 0) {
            line->task.variant = (uint8_t)v;
            *status = once(&line->variant, name);
            return true;
        }
        *status =
            rt_fail(RT_EFORMAT, "%s \"%.40s\" is unknown; it may be %s", name, value, rt_variants[v].value);
    }
    return known;
}

/* "name=value" */
static int parse_setting(char *text, struct line *line)
{
    char *value = strchr(text, '=');
    int status = RT_OK;
    if (value == NULL)
        return rt_fail(RT_EFORMAT, "\"%.40s\" is not dim=value", text);
    *value++ = '\0';
    text = trim(text);
    value = trim(value);
    int d = find_dim(line->task.call.op, text);
    if (d >= 0)
        return parse_dim(line, d, value);
    if (strcmp(text, "dtype") == 0)
        return parse_dtype(line, value);
    if (strcmp(text, "phase") == 0)
        return parse_phase(line, value);
    if (parse_variant(line, text, value, &status))
        return status;
    return no_such_dim(line->task.call.op, text);
}

static int check_task(const struct rt_task *task, const struct rt_backend *backend)
{
    const struct rt_op *op = &rt_ops[task->call.op];
    for (int d = 0; d < rt_op_ndims(task->call.op); d++)
        if (task->call.dim[d] < 0 && !rt_op_may_lack(task->call.op, d))
            return rt_fail(RT_EFORMAT, "dim \"%s\" of %s is missing", op->dims[d], op->name);
    int status = rt_op_check(task->call.op, task->call.dim);
    if (status != RT_OK || backend->can(task))
        return status;
    const struct rt_variant_row *variant = &rt_variants[task->variant];
    bool plain = variant->attribute == NULL;
    return rt_fail(RT_EUSAGE, "the %s backend cannot measure %s in %s, %s%s%s%s%s; see --list", backend->name,
                   op->name, rt_dtypes[task->call.dtype].name, rt_phases[task->call.phase], plain ? "" : ", ",
                   plain ? "" : variant->attribute, plain ? "" : "=", plain ? "" : variant->value);
}

static int parse_line(char *text, const struct rt_backend *backend, struct rt_task *task)
{
    char *rest = text, *word = trim(strsep(&rest, ","));
    int op = rt_op_find(word), status = RT_OK;
    if (op < 0)
        return rt_fail(RT_EFORMAT, "\"%.40s\" is no op; see rooftile collect --list", word);
    struct line line = {0};
    rt_task_init(&line.task, op, RT_FP32);
    while (status == RT_OK && (word = strsep(&rest, ",")) != NULL)
        status = parse_setting(trim(word), &line);
    if (status == RT_OK)
        status = check_task(&line.task, backend);
    if (status == RT_OK)
        *task = line.task;
    return status;
}

static int read_lines(char *text, const char *path, const struct rt_backend *backend,
                      const struct rt_op_set *ops, const struct rt_dtype_set *dtypes, struct rt_plan *plan)
{
    size_t number = 0;
    for (char *rest = text, *line; (line = strsep(&rest, "\n")) != NULL;) {
        struct rt_task task;
        number++;
        line[strcspn(line, "#")] = '\0';
        line = trim(line);
        if (*line == '\0')
            continue;
        int status = parse_line(line, backend, &task);
        if (status != RT_OK)
            return rt_fail_context(status, "%s:%zu", path, number);
        if (ops->has[task.call.op] && rt_dtype_set_has(dtypes, task.call.dtype) && !rt_plan_add(plan, &task))
            plan->duplicates++;
    }
    if (plan->count == 0)
        return rt_fail(RT_EFORMAT,
                       "%s: holds no shape to measure; write lines such as bmm,batch=8,m=64,n=64,k=64", path);
    return RT_OK;
}

int rt_plan_read(const char *path, const struct rt_backend *backend, const struct rt_op_set *ops,
                 const struct rt_dtype_set *dtypes, struct rt_plan *out)
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
        status = read_lines(text, path, backend, ops, dtypes, &plan);
    free(text);
    if (status != RT_OK)
        rt_plan_release(&plan);
    else
        *out = plan;
    return status;
}
