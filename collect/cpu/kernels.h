/* The kernels that the CPU backend times: what a framework's CPU path would run, in tiles (call.h). */
#ifndef ROOFTILE_COLLECT_CPU_KERNELS_H
#define ROOFTILE_COLLECT_CPU_KERNELS_H

#include "collect/cpu/call.h"
#include "datasets/op.h"

/* The row of an op, NULL where it has none. */
const struct rt_cpu_kernel *rt_cpu_kernel(enum rt_op_id op);

/* One triad a[i] = b[i] + s * c[i], the probe of memory bandwidth. */
void rt_cpu_triad(float *a, const float *b, const float *c, float scalar, size_t count);

#endif
