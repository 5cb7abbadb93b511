/* kernels.cu compiled for the CPU, seen from C. */
#pragma once

#include "collect/cuda/kernels/args.h"

#ifdef __cplusplus
extern "C" {
#endif

struct on_cpu_launch {
    const char *kernel;
    int32_t grid[3], block[3];
    int64_t first, last; /* blocks first..last-1 in the order of blockIdx.x, y, z; last 0: to the end */
    int descending;      /* the last warp, and the last thread, first */
};

/* NULL, or why the launch failed: no such kernel, more threads than it is compiled for, a barrier that not
 * all threads reach, a shuffle with a lane that has returned. */
const char *on_cpu_run(const struct on_cpu_launch *launch, const struct rt_cuda_args *args);

/* Called whenever a kernel reads the clock, so that a test can act while a kernel waits. */
extern void (*on_cpu_clock)(void);

#ifdef __cplusplus
}
#endif
