/* The time of a step by op and by node. See forecast.h. */
#include "base/status.h"
#include "predict/step/forecast.h"
#include "predict/step/breakdown.h"
#include "predict/step/overlap.h"
#include "predict/step/passes.h"
#include "predict/step/timeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static int by_time(const void *a, const void *b)
{
    const struct rt_forecast_row *x = a, *y = b;
    return x->time_us != y->time_us ? (x->time_us < y->time_us ? 1 : -1) : (int)x->op - (int)y->op;
}

/* How often a launch runs in a step: in training on the busiest GPU, for all micro batches; else in one pass.
 */
static double runs_of(const struct rt_forecast *forecast, const struct rt_forecast_launch *launch)
{
    const struct rt_graph *graph = forecast->graph;
    const struct rt_node *node = &graph->nodes[launch->node];
    const struct rt_parallelism *parallel = &forecast->options.parallel;
    int64_t pieces = rt_pieces(parallel), repeats = 0;
    if (!rt_graph_trains(graph))
        return rt_graph_runs(graph, node, launch->kernel.call.phase);
    if (launch->kernel.call.op == RT_OP_OPTIMIZER)
        return forecast->optimizer_part;
    for (int64_t piece = forecast->busiest; piece < pieces; piece += parallel->pipeline)
        repeats += rt_piece_repeats(graph, node->block, piece, pieces);
    double each = rt_forecast_launch_runs(forecast, launch) / (double)rt_graph_repeat(graph, node);
    return (double)(parallel->microbatches * repeats) * each;
}

size_t rt_forecast_rows(const struct rt_forecast *forecast, struct rt_forecast_row *out)
{
    struct rt_forecast_row cell[RT_OP_COUNT][RT_TIME_SOURCE_COUNT] = {0};
    double compute_us[RT_OP_COUNT][RT_TIME_SOURCE_COUNT] = {0}, sum = 0;
    for (size_t i = 0; i < forecast->launch_count; i++) {
        const struct rt_forecast_launch *launch = &forecast->launches[i];
        const struct rt_graph_kernel *kernel = &launch->kernel;
        struct rt_forecast_row *row = &cell[kernel->call.op][launch->source];
        double repeat = runs_of(forecast, launch), time_us = rt_launch_in_line_us(forecast, launch);
        double peak =
            rt_device_peak_flops(forecast->device, rt_call_family(&kernel->call), kernel->call.dtype);
        row->launches += (size_t)ceil(repeat);
        row->time_us += repeat * time_us;
        row->roofline_us +=
            repeat * launch->roofline_us * (time_us / launch->time_us); /* of what is in line */
        row->flops += repeat * kernel->flops;
        row->bytes += repeat * kernel->bytes;
        if (kernel->flops / peak > kernel->bytes / (1e9 * forecast->device->bandwidth_gbs))
            compute_us[kernel->call.op][launch->source] += repeat * time_us;
        sum += repeat * time_us;
    }
    size_t count = 0;
    for (int op = 0; op < RT_OP_COUNT; op++)
        for (int source = 0; source < RT_TIME_SOURCE_COUNT; source++) {
            struct rt_forecast_row *row = &cell[op][source];
            if (row->launches == 0)
                continue;
            row->op = op;
            row->source = source;
            row->share = sum > 0 ? row->time_us / sum : 0;
            row->compute_bound = compute_us[op][source] > row->time_us / 2;
            out[count++] = *row;
        }
    qsort(out, count, sizeof *out, by_time);
    return count;
}

void rt_forecast_use(const struct rt_forecast *forecast, double *mfu, double *hfu)
{
    const struct rt_graph *graph = forecast->graph;
    const struct rt_parallelism *parallel = &forecast->options.parallel;
    double forward = 0, again = 0;
    double peak = rt_device_peak_flops(forecast->device, RT_FAMILY_LINEAR, graph->products);
    double all =
        1e-6 * forecast->total_us * peak * (double)parallel->pipeline / (double)parallel->microbatches;
    for (size_t i = 0; i < forecast->launch_count; i++) {
        const struct rt_forecast_launch *launch = &forecast->launches[i];
        const struct rt_node *node = &graph->nodes[launch->node];
        if (launch->kernel.call.phase != RT_FORWARD ||
            !rt_families[rt_call_family(&launch->kernel.call)].tensor)
            continue;
        double once = (double)rt_graph_repeat(graph, node) * launch->kernel.flops;
        forward += once;
        again += rt_graph_runs(graph, node, RT_FORWARD) * launch->kernel.flops - once;
    }
    *mfu = rt_graph_trains(graph) ? 3 * forward / all : NAN;
    *hfu = rt_graph_trains(graph) ? (3 * forward + again) / all : NAN;
}

static int by_node_time(const void *a, const void *b)
{
    const struct rt_forecast_node *x = a, *y = b;
    return x->time_us != y->time_us ? (x->time_us < y->time_us ? 1 : -1)
                                    : (x->node > y->node) - (x->node < y->node);
}

size_t rt_forecast_heaviest(const struct rt_forecast *forecast, struct rt_forecast_node *out, size_t most)
{
    double sum = forecast->phase_us[0] + forecast->phase_us[1] + forecast->phase_us[2];
    size_t count = forecast->graph->node_count;
    struct rt_forecast_node *all = rt_calloc(count + 1, sizeof *all);
    for (size_t n = 0; n < count; n++) {
        all[n].node = (uint32_t)n;
        for (uint32_t i = forecast->node_launch[n]; i < forecast->node_launch[n + 1]; i++)
            all[n].time_us += rt_forecast_launch_total(forecast, &forecast->launches[i]);
        all[n].share = sum > 0 ? all[n].time_us / sum : 0;
    }
    qsort(all, count, sizeof *all, by_node_time);
    count = count < most ? count : most;
    memcpy(out, all, count * sizeof *out);
    free(all);
    return count;
}

/* ---- parts of a diffusion pipeline ---- */

struct parts {
    const struct rt_forecast *forecast;
    double *us, end_us;
};

/* Index of the part whose blocks are named so; RT_DIFFUSION_PARTS: none. */
static int part_of(const struct rt_graph *graph, uint32_t node)
{
    const char *name = graph->blocks[graph->nodes[node].block].name;
    int part = 0;
    while (part < RT_DIFFUSION_PARTS &&
           strncmp(name, rt_diffusion_parts[part], strlen(rt_diffusion_parts[part])) != 0)
        part++;
    return part;
}

static void visit_span(void *context, const struct rt_timeline_span *span)
{
    struct parts *parts = context;
    if (span->launch == NULL)
        return;
    int part = part_of(parts->forecast->graph, span->launch->node);
    double end_us = span->start_us + span->time_us;
    if (part < RT_DIFFUSION_PARTS)
        parts->us[part] += end_us - parts->end_us;
    parts->end_us = end_us;
}

bool rt_forecast_parts(const struct rt_forecast *forecast, const struct rt_predictor *predictor,
                       double us[RT_DIFFUSION_PARTS])
{
    struct parts parts = {forecast, us, forecast->before_us};
    memset(us, 0, RT_DIFFUSION_PARTS * sizeof *us);
    if (forecast->graph->options.denoising_steps == 0)
        return false;
    rt_timeline_walk(forecast, predictor, visit_span, NULL, &parts);
    return true;
}
