/* Forecasting: from graphs, a predictor and a device to the times, energy and memory of steps. */
#pragma once

#include "predict/step/forecast.h"

/* Forecasts a step. RT_ENOTFOUND where the predictor lacks a network for a family that the graph needs (the
 * sentence names family, ops and remedy); RT_EFORMAT where the device has no peak for the dtype or no link
 * for a collective; RT_EUSAGE where the parallelism does not fit the graph, or the predictor's target is not
 * time. `out` is released with
 * rt_forecast_release. */
int rt_forecast_graph(const struct rt_graph *graph, const struct rt_predictor *predictor,
                      const struct rt_device *device, const struct rt_forecast_options *options,
                      struct rt_forecast *out);
/* A sweep: `out` (count) in the order of `graphs`. Every distinct kernel of all of them is asked for once,
 * and all in one pass through a network, which for large networks is several times as fast as one graph after
 * the other. The times are those of rt_forecast_graph to within the rounding of single precision. Where one
 * graph cannot be forecast none is. */
int rt_forecast_graphs(const struct rt_graph *const *graphs, size_t count,
                       const struct rt_predictor *predictor, const struct rt_device *device,
                       const struct rt_forecast_options *options, struct rt_forecast *out);
/* The same graph in another step: other stages, data-parallel GPUs, shards and microbatches. Its kernels take what
 * they took in `timed`, whose device and graph are the new forecast's, too. `options` are those of `timed` but for
 * parallel, energy and times_only; `timed` has several microbatches, so that all kernels are in it. RT_EUSAGE where the parallelism does not fit the graph. */
int rt_forecast_recut(const struct rt_forecast *timed, const struct rt_predictor *predictor,
                      const struct rt_forecast_options *options, struct rt_forecast *out);
/* The step's time, us, with another host: kernels take what they took. `options` are the forecast's but for
 * host and host_us. */
double rt_forecast_total_with(const struct rt_forecast *forecast, const struct rt_predictor *predictor,
                              const struct rt_forecast_options *options);
