/* What device effects make of one kernel. See calibration_kernel.h. */
#include "train/calibrate/calibration_kernel.h"
#include "models/predictors/predictor/predictor.h"

#include <math.h>

void rt_calibration_shares(const struct rt_bound *bound, double share[RT_EFFECT_PARTS])
{
    for (int p = 0; p < RT_EFFECT_PARTS; p++) {
        struct rt_bound copy = *bound;
        struct rt_device_effect unit = {.value = {0}};
        unit.value[p] = 1;
        rt_bound_set_effect(&copy, &unit);
        share[p] = copy.shift;
    }
}

double rt_calibration_shifted_us(const struct rt_calibration_kernel *kernel,
                                 const double value[RT_EFFECT_PARTS], double shift)
{
    for (int p = 0; p < RT_EFFECT_PARTS; p++)
        shift += kernel->share[p] * value[p];
    return kernel->unit_us * exp(shift);
}

double rt_calibration_forecast(const struct rt_calibration_kernel *kernel,
                               const struct rt_device_effect *effect)
{
    const struct rt_residual_correction *correction = &effect->correction;
    double shift = rt_residual_correction_at(correction, (enum rt_dtype)kernel->dtype, kernel->place);
    return effect->dispatch_us + rt_calibration_shifted_us(kernel, effect->value, shift);
}

double rt_calibration_effect_us(const struct rt_calibration_kernel *kernel,
                                const struct rt_device_effect *effect)
{
    return effect->dispatch_us + rt_calibration_shifted_us(kernel, effect->value, 0);
}
