/*
 * Selection of calibration kernels: a greedy design that looks at shapes only, never at latencies. Each step
 * takes the kernel whose measurement lowers the summed variance of all kernels most (active learning of
 * Cohn, 1996) under the prior of the fit: device effects, residual correction and dispatch overhead.
 */
#ifndef ROOFTILE_TRAIN_CALIBRATE_SELECTION_H
#define ROOFTILE_TRAIN_CALIBRATE_SELECTION_H

#include "base/random.h"
#include "train/calibrate/calibration_kernel.h"

/* Brings `wanted` of the kernels pool[0..count), indices of kernels of one dtype, to the pool's front.
 * Returns how many there are: `count` where `wanted` is more. */
size_t rt_calibrate_select(const struct rt_calibration_kernel *kernels, uint32_t *pool, size_t count,
                           size_t wanted, struct rt_random *random, const struct rt_device_effect *prior,
                           const struct rt_device_effects *known);

#endif
