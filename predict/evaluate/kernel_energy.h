/* What a kernel takes of energy: from its time and its work by the predictor's energy model. */
#ifndef ROOFTILE_PREDICT_EVALUATE_KERNEL_ENERGY_H
#define ROOFTILE_PREDICT_EVALUATE_KERNEL_ENERGY_H

#include "models/predictors/predictor/predictor.h"

/* mJ of a run of `time_us`, one after the other so that the device never rests between them: joules of its
 * parts (models/predictors/roofline/energy.h) with the device's scales, its power within the board's, never below the
 * target's bound. NaN where the device's power is unknown. */
double rt_kernel_energy_mj(const struct rt_predictor *predictor, const struct rt_device *device,
                           const struct rt_query *query, double time_us);

/* Half-widths (count) of the intervals of ln(measured / forecast energy) at levels (count): of the kernel's
 * time and of power. NaN where one is unknown. */
void rt_kernel_energy_intervals(const struct rt_predictor *predictor, const struct rt_device *device,
                                const struct rt_query *query, const double *level, size_t count,
                                double *half);

#endif
