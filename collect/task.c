/* Tasks. See task.h. */
#include "collect/task.h"
#include "base/strings.h"

#include <string.h>

const struct rt_variant_row rt_variants[RT_VARIANT_COUNT] = {
    [RT_PLAIN] = {NULL, NULL},
    [RT_NHWC] = {"layout", "nhwc"},
    [RT_PAGEABLE] = {"host_memory", "pageable"},
};

uint64_t rt_task_hash(uint64_t hash, const struct rt_task *task)
{
    const struct rt_call *call = &task->call;
    const uint8_t rest[8] = {call->op, call->dtype, call->phase, task->variant};
    return rt_hash(rt_hash(hash, call->dim, rt_call_hashed_dims(call) * sizeof *call->dim), rest,
                   sizeof rest);
}

void rt_task_init(struct rt_task *task, enum rt_op_id op, enum rt_dtype dtype)
{
    memset(task, 0, sizeof *task);
    rt_call_init(&task->call, op, dtype);
}

enum rt_dtype rt_task_dtype(enum rt_op_id op, enum rt_dtype dtype)
{
    enum rt_family family = rt_ops[op].family;
    if (rt_families[family].product || family == RT_FAMILY_CONV)
        return dtype;
    if (rt_families[family].host)
        return RT_FP32;
    dtype = rt_op_dtype(op, dtype);
    return rt_dtypes[dtype].bytes < 2 ? RT_BF16 : dtype;
}
