/* Conformal intervals of a calibrated device. docs/method.md has the equations. */
#ifndef ROOFTILE_PREDICT_CALIBRATE_INTERVALS_H
#define ROOFTILE_PREDICT_CALIBRATE_INTERVALS_H

#include "predict/calibrate/calibration_kernel.h"

/* Sets out->interval: conformal quantiles of the errors of each tenth of the kernels under a fit to the
 * others, in units of the family's 90% width for known devices. Zeros (none) from fewer than
 * RT_RESIDUAL_LEAST kernels. */
void rt_calibrate_interval(const struct rt_calibration_kernel *kernels, size_t count,
                           const struct rt_device_effect *prior, const struct rt_device_effects *known,
                           const struct rt_intervals *intervals, struct rt_device_effect *out);

#endif
