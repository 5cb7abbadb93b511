/* The device effects of one device and network, fitted to a few of its kernels. */
#ifndef ROOFTILE_TRAIN_CALIBRATE_EFFECTS_H
#define ROOFTILE_TRAIN_CALIBRATE_EFFECTS_H

#include "train/calibrate/calibration_kernel.h"

/*
 * Sets value, dispatch_us and kernels of `out`; the rest is that of `prior`, what it owns is borrowed.
 *
 * Maximum a posteriori: ln(measured / forecast) is t-distributed (robust.h), the prior is normal around
 * `prior` with the standard deviations of the known devices. *scatter: that of ln latency around the fit.
 */
void rt_calibrate_effect(const struct rt_calibration_kernel *kernels, size_t count,
                         const struct rt_device_effect *prior, const struct rt_device_effects *known,
                         struct rt_device_effect *out, double *scatter);

/* Prior standard deviation of a part, and of ln(dispatch overhead + 1 us): that of the known devices around
 * their mean. */
double rt_calibrate_spread(const struct rt_device_effects *known, enum rt_effect_part part);
double rt_calibrate_dispatch_spread(const struct rt_device_effects *known);

#endif
