/* Intervals of a calibrated device. docs/method.md has the equations. */
#ifndef ROOFTILE_TRAIN_CALIBRATE_INTERVALS_H
#define ROOFTILE_TRAIN_CALIBRATE_INTERVALS_H

#include "train/calibrate/calibration_kernel.h"

/* Sets out->interval_scale from what each kernel is off by under the residual correction to the others. `out`
 * has its effects and its correction, which is fitted to these kernels. The scale is that of Student's t,
 * shrunk to the geometric mean of the family's widths for known and unseen devices: the fewer kernels, the
 * more. None (0) for a family without widths. */
void rt_calibrate_interval(const struct rt_calibration_kernel *kernels, size_t count,
                           const struct rt_intervals *intervals, struct rt_device_effect *out);

/* Scale of `count` residuals that are Student's t with RT_INTERVAL_FREEDOM degrees of freedom; `prior` counts
 * as `prior_count` of them. A tenth of far outliers moves it by less than a half. */
double rt_calibrate_scale(const double *residual, size_t count, double prior, double prior_count);

#endif
