/*
 * A forecast under a power limit below the board's: the step at lower clocks is its profile (energy.h), the
 * limit is solved on it (power.h), and the forecast becomes that of the GPU at the clock that takes as long.
 */
#pragma once

#include "predict/step/forecast.h"
#include "predict/step/energy.h"

/* RT_EUSAGE where a limit is above the board's power, RT_EFORMAT where that is not known. */
int rt_power_limit_check(const struct rt_device *device, double limit_w);

/* The profile of a forecast from full clock down to the least, and the predictor's scales. Errors are those
 * of rt_forecast_graph. */
int rt_power_profile_clocks(const struct rt_forecast *forecast, const struct rt_predictor *predictor,
                            struct rt_power_profile *profile, double scale[RT_ENERGY_PARTS]);

/* Makes a forecast at full power one under a limit, in watts: times, interval and energy. `device` is the one
 * that forecast->device points to; it becomes the one at the lower clock. Time and power are those that
 * rt_power_at gives. Also RT_EUSAGE where the limit is at or under the watts at rest; on errors both stay as
 * they were. */
int rt_forecast_cap_power(struct rt_forecast *forecast, struct rt_device *device,
                          const struct rt_predictor *predictor, double limit_w);
