/* A backend with the ops of a large GPU, for plans; it cannot be opened. */
#pragma once

#include "collect/backend.h"

#include <string.h>

static bool any_can(const struct rt_task *task)
{
    struct rt_task own;
    rt_task_init(&own, task->call.op, task->call.dtype);
    bool wide = task->call.dtype == RT_FP32 || task->call.dtype == RT_FP16 || task->call.dtype == RT_BF16;
    bool image =
        strcmp(rt_ops[task->call.op].dims[0], "batch") == 0; /* of pooling, batch norm and the like */
    if (task->call.op >= RT_OP_MLA_CONTEXT && task->call.op <= RT_OP_ATTENTION_CROSS)
        return false; /* kernels of LLM servers, which no backend runs */
    switch (rt_ops[task->call.op].family) {
    case RT_FAMILY_LINEAR:
    case RT_FAMILY_BMM:
        return (wide || task->call.dtype == RT_TF32 || task->call.dtype == RT_FP8) &&
               task->call.phase == own.call.phase && task->variant == RT_PLAIN;
    case RT_FAMILY_CONV:
        return (wide || task->call.dtype == RT_TF32) && task->variant == RT_PLAIN;
    case RT_FAMILY_HOST:
        return task->call.dtype == RT_FP32 && task->call.phase == own.call.phase &&
               (task->variant == RT_PLAIN || (task->variant == RT_PAGEABLE && task->call.op != RT_OP_LAUNCH));
    case RT_FAMILY_ATTENTION:
        return task->call.dtype != RT_FP32 && wide && task->call.phase == own.call.phase &&
               task->variant == RT_PLAIN;
    case RT_FAMILY_COLLECTIVE:
    case RT_FAMILY_MOE:
        return false;
    default:
        return wide && task->call.phase == own.call.phase &&
               (task->variant == RT_PLAIN || (image && task->variant == RT_NHWC));
    }
}

static const struct rt_backend any_backend = {.name = "any", .about = "for plans", .can = any_can};
