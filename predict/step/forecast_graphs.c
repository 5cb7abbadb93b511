/* From graphs to the times of steps. See forecast_graphs.h. */
#include "predict/step/forecast_graphs.h"
#include "base/status.h"
#include "predict/step/collectives.h"
#include "predict/step/energy.h"
#include "predict/step/launch_times.h"
#include "predict/step/launches.h"
#include "predict/step/memory.h"
#include "predict/step/step.h"
#include "predict/step/uncertainty.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static int check_parallel(const struct rt_graph *graph, const struct rt_parallelism *parallel,
                          const struct rt_collectives *collectives)
{
    int64_t layers = rt_forecast_layers(graph);
    bool sums = parallel->data > 1 && graph->options.step == RT_STEP_TRAINING;
    if (parallel->shard != RT_SHARD_NONE && (parallel->data == 1 || graph->options.step != RT_STEP_TRAINING))
        return rt_fail(RT_EUSAGE,
                       "{shard} %s shares out a training step over data-parallel GPUs: give {mode} "
                       "training and {dp} 2 or more",
                       rt_shard_kinds[parallel->shard]);
    if (parallel->pipeline > 1 && parallel->pipeline > layers)
        return rt_fail(RT_EUSAGE, "{pp} %" PRId64 ": the model has %" PRId64 " layers to divide into stages",
                       parallel->pipeline, layers);
    int status = parallel->pipeline > 1 ? rt_collectives_check(collectives, 2) : RT_OK;
    return status == RT_OK && sums ? rt_collectives_check(collectives, parallel->data) : status;
}

static void collectives_of(const struct rt_forecast *forecast, const struct rt_predictor *predictor,
                           struct rt_collectives *out)
{
    rt_collectives_init(out, predictor, forecast->device, forecast->graph, &forecast->options.parallel,
                        forecast->options.level);
}

/* Sharded, each GPU steps its part of the weights. */
static void share_optimizer(struct rt_forecast *forecast)
{
    const struct rt_parallelism *parallel = &forecast->options.parallel;
    for (size_t i = 0; i < forecast->launch_count && parallel->shard != RT_SHARD_NONE; i++)
        if (forecast->launches[i].kernel.call.op == RT_OP_OPTIMIZER) {
            forecast->launches[i].time_us /= (double)parallel->data;
            forecast->launches[i].roofline_us /= (double)parallel->data;
            forecast->launches[i].kernel.flops /= (double)parallel->data;
            forecast->launches[i].kernel.bytes /= (double)parallel->data;
        }
}

/* Asks the predictor for all of them at once. */
static int forecast_all(struct rt_forecast *forecasts, size_t count, const struct rt_predictor *predictor)
{
    struct rt_forecast_queries queries;
    int status = RT_OK;
    rt_forecast_queries(forecasts, count, predictor, &queries);
    bool roofline = !rt_predictor_is_fitted(predictor);
    const uint32_t *of_launch = queries.of_launch;
    for (size_t f = 0; f < count; of_launch += forecasts[f++].launch_count) {
        struct rt_collectives collectives;
        collectives_of(&forecasts[f], predictor, &collectives);
        status = rt_forecast_time_launches(&forecasts[f], &queries, of_launch, roofline, &collectives);
        if (status != RT_OK)
            break;
        share_optimizer(&forecasts[f]);
        rt_forecast_sum_phases(&forecasts[f]);
        rt_forecast_sum_step(&forecasts[f], &collectives);
        rt_forecast_sum_interval(&forecasts[f]);
        rt_forecast_sum_energy(&forecasts[f], predictor);
        if (!forecasts[f].options.times_only)
            rt_forecast_sum_memory(&forecasts[f]);
    }
    rt_forecast_queries_release(&queries);
    return status;
}

static int check_target(const struct rt_predictor *predictor)
{
    return predictor->target == RT_TARGET_LATENCY
               ? RT_OK
               : rt_fail(RT_EUSAGE,
                         "the predictor forecasts %s of kernels; a step is forecast from their time: name a "
                         "predictor of latency, which has energy beside it",
                         rt_targets[predictor->target].name);
}

int rt_forecast_graphs(const struct rt_graph *const *graphs, size_t count,
                       const struct rt_predictor *predictor, const struct rt_device *device,
                       const struct rt_forecast_options *options, struct rt_forecast *out)
{
    int status = check_target(predictor);
    if (status == RT_OK)
        status = rt_forecast_check_copies(device, options);
    for (size_t f = 0; status == RT_OK && f < count; f++) {
        struct rt_collectives collectives;
        rt_collectives_init(&collectives, predictor, device, graphs[f], &options->parallel, options->level);
        status = check_parallel(graphs[f], &options->parallel, &collectives);
    }
    if (status != RT_OK || count == 0)
        return status;
    struct rt_forecast *forecasts = rt_calloc(count, sizeof *forecasts);
    for (size_t f = 0; f < count; f++) {
        forecasts[f] = (struct rt_forecast){.graph = graphs[f], .device = device, .options = *options};
        rt_forecast_list_launches(&forecasts[f]);
    }
    status = forecast_all(forecasts, count, predictor);
    for (size_t f = 0; f < count; f++) {
        if (status == RT_OK)
            out[f] = forecasts[f];
        else
            rt_forecast_release(&forecasts[f]);
    }
    free(forecasts);
    return status;
}

int rt_forecast_graph(const struct rt_graph *graph, const struct rt_predictor *predictor,
                      const struct rt_device *device, const struct rt_forecast_options *options,
                      struct rt_forecast *out)
{
    return rt_forecast_graphs(&graph, 1, predictor, device, options, out);
}

double rt_forecast_total_with(const struct rt_forecast *forecast, const struct rt_predictor *predictor,
                              const struct rt_forecast_options *options)
{
    struct rt_forecast again = *forecast;
    struct rt_collectives collectives;
    again.options = *options;
    again.sums = NULL;
    collectives_of(&again, predictor, &collectives);
    rt_forecast_sum_step(&again, &collectives);
    again.launches = NULL; /* the other's */
    again.node_launch = NULL;
    double total_us = again.total_us;
    rt_forecast_release(&again);
    return total_us;
}
