/* The table of backends. See backend.h. */
#include "collect/backend.h"
#include "datasets/status.h"

#include <string.h>

extern const struct rt_backend rt_backend_cpu, rt_backend_synthetic;

const struct rt_backend *const rt_backends[] = {&rt_backend_cpu, &rt_backend_synthetic};
const size_t rt_backend_count = RT_COUNT(rt_backends);

const struct rt_variant_row rt_variants[RT_VARIANT_COUNT] = {
    [RT_PLAIN] = {NULL, NULL},
    [RT_NHWC] = {"layout", "nhwc"},
    [RT_PAGEABLE] = {"host_memory", "pageable"},
};

int rt_backend_find(const char *name, const struct rt_backend **out)
{
    char names[256] = "";
    for (size_t i = 0; i < rt_backend_count; i++) {
        if (strcmp(rt_backends[i]->name, name) == 0) {
            *out = rt_backends[i];
            return RT_OK;
        }
        strcat(names, i > 0 ? ", " : "");
        strcat(names, rt_backends[i]->name);
    }
    return rt_fail(RT_ENOTFOUND, "backend \"%s\" is not one of %s", name, names);
}

void rt_task_init(struct rt_task *task, enum rt_op_id op, enum rt_dtype dtype)
{
    memset(task, 0, sizeof *task);
    for (int i = 0; i < RT_MAX_DIMS; i++)
        task->dim[i] = -1;
    task->op = (uint8_t)op;
    task->dtype = (uint8_t)dtype;
    const char *backward = strstr(rt_ops[op].name, "_backward");
    task->phase = backward != NULL ? RT_BACKWARD : RT_FORWARD;
}

double rt_task_flops(const struct rt_task *task)
{
    return rt_ops[task->op].flops(task->dim);
}

double rt_task_bytes(const struct rt_task *task)
{
    return rt_ops[task->op].bytes(task->dim, rt_dtypes[task->dtype].bytes);
}
