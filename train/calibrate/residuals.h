/* The residual correction of a device (models/predictors/predictor/residual_correction.h), fitted to what device effects
 * leave of the calibration kernels' errors. */
#ifndef ROOFTILE_TRAIN_CALIBRATE_RESIDUALS_H
#define ROOFTILE_TRAIN_CALIBRATE_RESIDUALS_H

#include "train/calibrate/calibration_kernel.h"

/* ln(measured / forecast by device effects), both less the dispatch overhead. */
double rt_calibrate_left(const struct rt_calibration_kernel *kernel, const struct rt_device_effect *effect);

/* The correction on top of `effect`, into `out`; none where kernels have no place. Dtypes are fitted apart:
 * the points are those of the first dtype in the order of the kernels, then those of the next.
 */
void rt_calibrate_residuals(const struct rt_calibration_kernel *kernels, size_t count,
                            const struct rt_device_effect *effect, struct rt_residual_correction *out);

/* Variance of ln of a measured latency, `dispatch_part` of which is dispatch overhead. */
double rt_calibrate_noise(double dispatch_part);

/* Prior covariance of what device effects leave of two kernels' errors in ln latency. */
double rt_calibrate_covariance(const struct rt_calibration_kernel *a, const struct rt_calibration_kernel *b);

#endif
