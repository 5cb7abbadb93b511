/*
 * The energy of a step: the work of its launches and its time, by part (models/predictors/roofline/energy.h), scaled as
 * the predictor says.
 *
 * A profile (power.h) is a step at one or several clocks by the priors: what limits are solved on,
 * coefficients are fitted to and curves are drawn from. The energy of a forecast is that of the profile at
 * full clock, or at the clock that a power limit leaves, with the predictor's scales.
 *
 * All of it is of one GPU of the job, the mean over stages of a pipeline; a job takes it `gpus` times. What
 * the host, fans of the server and its cooling take is not in it.
 */
#pragma once

#include "predict/step/forecast.h"

/* The first point: the forecast as it is. Parts are NaN where the board's power is unknown. */
void rt_power_profile_full(const struct rt_forecast *forecast, struct rt_power_profile *out);
/* Adds the point of a forecast at its device's clock (power_limit.h asks for those). */
void rt_power_profile_add(const struct rt_forecast *forecast, struct rt_power_profile *profile);
/* A kernel alone, `time_us` a run. */
void rt_power_profile_kernel(const struct rt_query *query, const struct rt_device *device, double time_us,
                             struct rt_power_profile *out);
/* The same work in another time at full clock: steps and their busy part are scaled alike at all points, and
 * the parts of time with them. */
void rt_power_profile_retime(struct rt_power_profile *profile, double step_us);

/* Sets forecast->energy; options.energy says whether it is asked for. The time of the step is set. */
void rt_forecast_sum_energy(struct rt_forecast *forecast, const struct rt_predictor *predictor);
/* The same from a step under a limit, whose time is the forecast's total_us. */
void rt_forecast_set_energy(struct rt_forecast *forecast, const struct rt_predictor *predictor,
                            const struct rt_power_state *state, double limit_w, double gpus);
