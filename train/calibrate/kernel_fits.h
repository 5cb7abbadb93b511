/*
 * Fits to the kernels of one device, which kernels.c calls in this order: which kernels (selection.c), device
 * effects, the residual correction of what those leave, conformal intervals. docs/method.md has the
 * equations.
 *
 * One kernel, all in us and ln latency:
 *
 *   latency = dispatch overhead + unit x exp(sum of share x device effect over the parts
 *                                            + residual correction)
 */
#pragma once

#include "base/random.h"
#include "models/predictors/predictor/device_effects.h"
#include "models/predictors/predictor/head.h"

struct rt_calibration_kernel {
    double measured_us;
    double unit_us; /* forecast with every device effect at 0 and no dispatch overhead */
    double share[RT_EFFECT_PARTS];
    double bound_us;      /* the roofline */
    const rt_real *place; /* (place_width), as residual corrections take it; 0: no correction */
    size_t place_width;
    const rt_real *inputs; /* of the network, as residual corrections of earlier builds take them */
    uint8_t dtype;
};

/* d ln latency / d device effect of each part. */
void rt_calibration_shares(const struct rt_bound *bound, double share[RT_EFFECT_PARTS]);

/* Latency by the effect's numbers and its residual correction; by its numbers alone. */
double rt_calibration_forecast(const struct rt_calibration_kernel *kernel,
                               const struct rt_device_effect *effect);
double rt_calibration_effect_us(const struct rt_calibration_kernel *kernel,
                                const struct rt_device_effect *effect);

/* ---- selection.c ----
 *
 * A greedy design that looks at shapes only, never at latencies. Each step takes the kernel whose measurement
 * lowers the summed variance of all kernels most (active learning of Cohn, 1996) under the prior of the fit:
 * device effects, residual correction and dispatch overhead. */

/* Brings `wanted` of the kernels pool[0..count), indices of kernels of one dtype, to the pool's front.
 * Returns how many there are: `count` where `wanted` is more. */
size_t rt_calibrate_select(const struct rt_calibration_kernel *kernels, uint32_t *pool, size_t count,
                           size_t wanted, struct rt_random *random, const struct rt_device_effect *prior,
                           const struct rt_device_effects *known);

/* ---- effects.c ---- */

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

/* ---- residuals.c: models/predictors/predictor/residual_correction.h ---- */

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

/* ---- intervals.c ---- */

/* Sets out->interval_scale from what each kernel is off by under the residual correction to the others. `out`
 * has its effects and its correction, which is fitted to these kernels. The scale is that of Student's t,
 * shrunk to the geometric mean of the family's widths for known and unseen devices: the fewer kernels, the
 * more. None (0) for a family without widths. */
void rt_calibrate_interval(const struct rt_calibration_kernel *kernels, size_t count,
                           const struct rt_intervals *intervals, struct rt_device_effect *out);

/* Scale of `count` residuals that are Student's t with RT_INTERVAL_FREEDOM degrees of freedom; `prior` counts
 * as `prior_count` of them. A tenth of far outliers moves it by less than a half. */
double rt_calibrate_scale(const double *residual, size_t count, double prior, double prior_count);
