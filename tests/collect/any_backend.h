/* A backend that can what a large GPU can, for plans: it is never opened. */
#ifndef ANY_BACKEND_H
#define ANY_BACKEND_H

#include "collect/backend.h"

static bool any_can(const struct rt_task *task)
{
    struct rt_task own;
    rt_task_init(&own, task->op, task->dtype);
    bool wide = task->dtype == RT_FP32 || task->dtype == RT_FP16 || task->dtype == RT_BF16;
    bool image = task->op == RT_OP_BATCHNORM || task->op == RT_OP_MAX_POOL2D;
    switch (rt_ops[task->op].family) {
    case RT_FAMILY_LINEAR:
    case RT_FAMILY_BMM:
        return (wide || task->dtype == RT_TF32 || task->dtype == RT_FP8) && task->phase == own.phase &&
               task->variant == RT_PLAIN;
    case RT_FAMILY_CONV:
        return (wide || task->dtype == RT_TF32) && task->variant != RT_PAGEABLE;
    case RT_FAMILY_HOST:
        return task->dtype == RT_FP32 && task->phase == own.phase &&
               (task->variant == RT_PLAIN || (task->variant == RT_PAGEABLE && task->op != RT_OP_LAUNCH));
    case RT_FAMILY_ATTENTION:
        return task->dtype != RT_FP32 && wide && task->phase == own.phase && task->variant == RT_PLAIN;
    case RT_FAMILY_COLLECTIVE:
    case RT_FAMILY_MOE:
        return false;
    default:
        return wide && task->phase == own.phase &&
               (task->variant == RT_PLAIN || (image && task->variant == RT_NHWC));
    }
}

static const struct rt_backend any_backend = {.name = "any", .about = "for plans", .can = any_can};

#endif
