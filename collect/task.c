/* Tasks. See task.h. */
#include "collect/task.h"

#include <string.h>

const struct rt_variant_row rt_variants[RT_VARIANT_COUNT] = {
    [RT_PLAIN] = {NULL, NULL},
    [RT_NHWC] = {"layout", "nhwc"},
    [RT_PAGEABLE] = {"host_memory", "pageable"},
};

void rt_task_init(struct rt_task *task, enum rt_op_id op, enum rt_dtype dtype)
{
    memset(task, 0, sizeof *task);
    for (int i = 0; i < RT_MAX_DIMS; i++)
        task->dim[i] = -1;
    task->op = (uint8_t)op;
    task->dtype = (uint8_t)dtype;
    task->phase = rt_task_own_phase(op);
}

enum rt_phase rt_task_own_phase(enum rt_op_id op)
{
    return strstr(rt_ops[op].name, "_backward") != NULL ? RT_BACKWARD : RT_FORWARD;
}

double rt_task_flops(const struct rt_task *task)
{
    return rt_ops[task->op].flops(task->dim);
}

double rt_task_bytes(const struct rt_task *task)
{
    return rt_ops[task->op].bytes(task->dim, rt_dtypes[task->dtype].bytes);
}

enum rt_dtype rt_task_dtype(enum rt_op_id op, enum rt_dtype dtype)
{
    enum rt_family family = rt_ops[op].family;
    if (family == RT_FAMILY_LINEAR || family == RT_FAMILY_BMM || family == RT_FAMILY_CONV)
        return dtype;
    if (dtype == RT_TF32 || family == RT_FAMILY_HOST)
        return RT_FP32;
    return rt_dtypes[dtype].bytes < 2 ? RT_BF16 : dtype;
}
