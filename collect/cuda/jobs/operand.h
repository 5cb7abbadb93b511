/* Operands of a job's launch and what they are filled with; without CUDA, for vector_plan.h. */
#pragma once

#include "datasets/op.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum { RT_CUDA_OPERANDS = 8 };

enum rt_cuda_fill {
    RT_FILL_VALUES,  /* seeded, uniform in 0.5..1.5 (as the CPU backend): no zeros, no subnormals */
    RT_FILL_INDICES, /* int32 in 0..limit-1 */
    RT_FILL_RESULT   /* written by the kernel; filled once so that its pages exist */
};

struct rt_cuda_operand {
    size_t bytes;
    enum rt_cuda_fill fill;
    enum rt_dtype dtype; /* of values */
    int64_t limit;       /* of indices */
    bool on_host;        /* host_to_device, device_to_host; pinned or pageable by the task's variant */
};
