/* A step at lower clocks: the further points of its profile (energy.h). */
#ifndef ROOFTILE_PREDICT_STEP_CLOCKS_H
#define ROOFTILE_PREDICT_STEP_CLOCKS_H

#include "predict/step/energy.h"

/* Adds points at `clock` (count, shares of the device's own clock that fall, each below 1) to the profile of
 * a forecast's first point: the same graph on the same device at those clocks. Errors are those of
 * rt_forecast_graph. No time is below that of the point before it. */
int rt_power_profile_lower(const struct rt_forecast *forecast, const struct rt_predictor *predictor,
                           const double *clock, size_t count, struct rt_power_profile *profile);

#endif
