/* From the times of launches to phases and the step; internal to predict/step. */
#pragma once

#include "predict/step/collectives.h"
#include "predict/step/forecast.h"
#include "predict/step/passes.h"

struct rt_pipeline_watch; /* pipeline.h */

/* RT_EFORMAT where a copy is asked for, or an optimizer of the host's, and nothing says how fast the device's
 * link to its host is. */
int rt_forecast_check_copies(const struct rt_graph *graph, const struct rt_device *device,
                             const struct rt_forecast_options *options);

/* Sets phase_us, source_us and coverage. */
void rt_forecast_sum_phases(struct rt_forecast *forecast);

/* Sets the times of the step, of its stages and gradient sums: a pipeline, or one device (a pipeline of one
 * stage, whose microbatches follow one another). `collectives`: between its GPUs. */
void rt_forecast_sum_step(struct rt_forecast *forecast, const struct rt_collectives *collectives);

/* Tells of the passes of a step that has its times, in us since the first began. */
void rt_step_watch_passes(const struct rt_forecast *forecast, const struct rt_pipeline_watch *watch);

/* Time of a step in which a server's host keeps the GPU busy beside its kernels: server.h. */
double rt_step_server_busy_us(const struct rt_forecast *forecast);
/* Of it, what a server's sampler takes. */
double rt_step_sampler_us(const struct rt_forecast *forecast);
