/* The interval of a step; internal to predict/step. */
#ifndef ROOFTILE_PREDICT_STEP_UNCERTAINTY_H
#define ROOFTILE_PREDICT_STEP_UNCERTAINTY_H

#include "predict/step/forecast.h"

/* Sets interval_level, interval_low_us and interval_high_us, symmetric in ln, from the half-widths of the
 * launches and total_us. */
void rt_forecast_sum_interval(struct rt_forecast *forecast);

#endif
