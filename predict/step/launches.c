/* Listing the launches of a graph. See launches.h. */
#include "predict/step/launches.h"
#include "base/status.h"
#include "models/predictors/roofline/board.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Weights and cache are read once a step, and between two reads all the others pass: what the L2 holds of
 * them is what it holds of all of them. */
static void find_cold(struct rt_forecast *forecast)
{
    double all = 0;
    for (size_t i = 0; i < forecast->launch_count; i++) {
        struct rt_forecast_launch *launch = &forecast->launches[i];
        launch->cold_bytes = rt_call_kept_bytes(&launch->kernel.call);
        all += launch->cold_bytes * rt_graph_runs(forecast->graph, &forecast->graph->nodes[launch->node],
                                                  launch->kernel.call.phase);
    }
    for (size_t i = 0; all > 0 && i < forecast->launch_count; i++)
        forecast->launches[i].cold_bytes *= 1 - rt_l2_hits(forecast->device, all);
}

void rt_forecast_list_launches(struct rt_forecast *forecast)
{
    const struct rt_graph *graph = forecast->graph;
    struct rt_graph_kernel *kernels = rt_malloc((graph->kernel_count + 1) * sizeof *kernels);
    forecast->launches = rt_calloc(graph->kernel_count + 1, sizeof *forecast->launches);
    forecast->node_launch = rt_calloc(graph->node_count + 1, sizeof *forecast->node_launch);
    for (size_t n = 0; n < graph->node_count; n++) {
        forecast->node_launch[n] = (uint32_t)forecast->launch_count;
        for (int phase = 0; phase < RT_PHASE_COUNT; phase++) {
            size_t count = rt_node_launches(graph, &graph->nodes[n], phase, kernels);
            for (size_t k = 0; k < count; k++)
                forecast->launches[forecast->launch_count++] =
                    (struct rt_forecast_launch){.kernel = kernels[k], .node = (uint32_t)n};
        }
    }
    forecast->node_launch[graph->node_count] = (uint32_t)forecast->launch_count;
    free(kernels);
    find_cold(forecast);
}

const struct rt_family_row *rt_launch_family(const struct rt_forecast_launch *launch)
{
    return &rt_families[rt_call_family(&launch->kernel.call)];
}

double rt_launch_reread_bytes(const struct rt_forecast_launch *launch, const struct rt_device *device)
{
    const struct rt_graph_kernel *kernel = &launch->kernel;
    if (kernel->reread_bytes == 0) /* most; asked for several times in a forecast */
        return 0;
    return kernel->reuse_distance_bytes <= rt_near_l2_bytes(device) ? 0 : kernel->reread_bytes;
}

void rt_launch_query(const struct rt_forecast_launch *launch, const struct rt_device *device,
                     struct rt_query *query)
{
    rt_query_init(query, &launch->kernel.call);
    query->flops = launch->kernel.flops / launch->kernel.multiple;
    query->bytes = launch->kernel.bytes / launch->kernel.multiple;
    if (launch->kernel.scalar_loads) /* as long as elements of 4 bytes */
        query->bytes *= fmax(1, 4 / rt_dtypes[launch->kernel.call.dtype].bytes);
    query->cold_bytes = launch->cold_bytes;
    query->reread_bytes = rt_launch_reread_bytes(launch, device);
    query->queued = true;
}

void rt_launch_query_move(const struct rt_forecast_launch *launch, const struct rt_device *device,
                          enum rt_dtype dtype, struct rt_query *query)
{
    rt_launch_query(launch, device, query);
    query->call.op = RT_OP_ADD_SCALAR;
    query->call.dtype = (uint8_t)dtype;
    memset(query->call.dim, 0, sizeof query->call.dim);
    query->call.dim[0] = 1;
    query->call.dim[1] = (int64_t)fmax(1, query->bytes / (2 * rt_dtypes[dtype].bytes));
    query->flops = (double)query->call.dim[1];
}
