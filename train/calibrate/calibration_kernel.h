/*
 * One kernel as calibration fits it, all in us and ln latency:
 *
 *   latency = dispatch overhead + unit x exp(sum of share x device effect over the parts
 *                                            + residual correction)
 */
#ifndef ROOFTILE_TRAIN_CALIBRATE_CALIBRATION_KERNEL_H
#define ROOFTILE_TRAIN_CALIBRATE_CALIBRATION_KERNEL_H

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

/* unit x exp(sum of share x value + shift) */
double rt_calibration_shifted_us(const struct rt_calibration_kernel *kernel,
                                 const double value[RT_EFFECT_PARTS], double shift);

#endif
