/* A forecast as it is: releasing it, its launches and nodes. See forecast.h. */
#include "predict/step/forecast.h"

#include <stdlib.h>

const char *const rt_time_sources[RT_TIME_SOURCE_COUNT] = {"trained", "roofline", "bandwidth", "link"};

void rt_forecast_release(struct rt_forecast *forecast)
{
    free(forecast->launches);
    free(forecast->node_launch);
    free(forecast->stage_forward_us);
    free(forecast->sums);
    *forecast = (struct rt_forecast){0};
}

bool rt_forecast_fits(const struct rt_forecast *forecast)
{
    return !forecast->overfull;
}

bool rt_forecast_is_tight(const struct rt_forecast *forecast)
{
    return forecast->graph->options.step == RT_STEP_TRAINING &&
           forecast->memory.total > RT_TIGHT_MEMORY * forecast->memory_bytes;
}

double rt_forecast_launch_runs(const struct rt_forecast *forecast, const struct rt_forecast_launch *launch)
{
    const struct rt_call *call = &launch->kernel.call;
    bool adds = call->phase == RT_ACCUMULATE && call->op != RT_OP_OPTIMIZER;
    double runs = rt_graph_runs(forecast->graph, &forecast->graph->nodes[launch->node], call->phase);
    return adds ? runs * forecast->accumulates : runs;
}

double rt_forecast_launch_total(const struct rt_forecast *forecast, const struct rt_forecast_launch *launch)
{
    return launch->time_us * rt_forecast_launch_runs(forecast, launch);
}

double rt_forecast_node_us(const struct rt_forecast *forecast, size_t node, enum rt_phase phase)
{
    double sum = 0;
    for (uint32_t i = forecast->node_launch[node]; i < forecast->node_launch[node + 1]; i++)
        if (forecast->launches[i].kernel.call.phase == phase)
            sum += forecast->launches[i].time_us;
    return sum;
}
