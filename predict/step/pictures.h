/* Forecasts as plots (base/plot.h), for the HTML form of their reports. */
#ifndef ROOFTILE_PREDICT_STEP_PICTURES_H
#define ROOFTILE_PREDICT_STEP_PICTURES_H

#include "predict/step/prediction.h"

/* Of one forecast: time by op beside its bound, kernels under the device's roofline, the step's timeline,
 * memory by part. */
void rt_prediction_add_plots(struct rt_report *report, const struct rt_prediction *prediction);

/* Of several: time against batch, sequence or image, by GPU; of one step on several GPUs time and coverage by
 * GPU. Those without a forecast are left out. */
void rt_sweep_add_plots(struct rt_report *report, const struct rt_prediction *predictions, size_t count);

#endif
