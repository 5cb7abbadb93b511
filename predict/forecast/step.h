/* From the times of launches to phases, the step and its memory; internal to predict/forecast. */
#ifndef ROOFTILE_PREDICT_FORECAST_STEP_H
#define ROOFTILE_PREDICT_FORECAST_STEP_H

#include "predict/forecast/collectives.h"
#include "predict/forecast/forecast.h"

/* Layers of a graph, over all its layer blocks: a pipeline divides them into stages. */
int64_t rt_forecast_layers(const struct rt_graph *graph);

/* Sets phase_us, source_us and coverage. */
void rt_forecast_sum_phases(struct rt_forecast *forecast);

/* Sets the times of the step, of its stages and gradient sums: a pipeline, or one device (a pipeline of one
 * stage, whose microbatches follow one another). `collectives`: between its GPUs. */
void rt_forecast_sum_step(struct rt_forecast *forecast, const struct rt_collectives *collectives);

/* Sets memory and memory_bytes. */
void rt_forecast_sum_memory(struct rt_forecast *forecast);

#endif
