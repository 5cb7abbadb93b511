/* Launches in the order in which they run. See timeline.h. */
#include "predict/step/timeline.h"
#include "predict/step/step.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

struct walk {
    const struct rt_forecast *forecast;
    void (*visit)(void *context, const struct rt_timeline_span *span);
    void (*name)(void *context, int64_t stage, enum rt_timeline_lane lane, const char *name);
    void *context;
    struct rt_dispatch dispatch;
    struct rt_queue queue; /* since forecast->queue_us */
};

/* `dispatch_us`: of its launches; NaN: as their operators take. */
static void walk_node(struct walk *walk, size_t n, enum rt_phase phase, int64_t repeat, double dispatch_us)
{
    const struct rt_forecast *forecast = walk->forecast;
    for (uint32_t i = forecast->node_launch[n]; i < forecast->node_launch[n + 1]; i++) {
        const struct rt_forecast_launch *launch = &forecast->launches[i];
        if (launch->kernel.call.phase != phase)
            continue;
        double dispatch = isnan(dispatch_us) ? rt_dispatch_us(&walk->dispatch, forecast, n, i) : dispatch_us;
        double start = rt_queue_launch(&walk->queue, dispatch, launch->time_us);
        walk->visit(walk->context, &(struct rt_timeline_span){.name = forecast->graph->nodes[n].name,
                                                              .kind = rt_ops[launch->kernel.call.op].name,
                                                              .lane = RT_LANE_KERNELS,
                                                              .start_us = forecast->queue_us + start,
                                                              .time_us = launch->time_us,
                                                              .launch = launch,
                                                              .number = repeat});
    }
}

static void walk_forward(struct walk *walk)
{
    const struct rt_graph *graph = walk->forecast->graph;
    for (size_t b = 0; b < graph->block_count; b++)
        for (int64_t r = 0; r < graph->blocks[b].repeat; r++)
            for (uint32_t n = 0; n < graph->blocks[b].node_count; n++)
                walk_node(walk, graph->blocks[b].node + n, RT_FORWARD, r, NAN);
}

static void walk_beside(struct walk *walk, const char *name, const char *kind, enum rt_timeline_lane lane,
                        double start_us, double time_us, double bytes)
{
    walk->visit(walk->context, &(struct rt_timeline_span){.name = name,
                                                          .kind = kind,
                                                          .lane = lane,
                                                          .start_us = start_us,
                                                          .time_us = time_us,
                                                          .bytes = bytes});
}

/* Gradients are accumulated as soon as they are computed. The optimizer's block comes last. */
static void walk_backward(struct walk *walk)
{
    const struct rt_graph *graph = walk->forecast->graph;
    const struct rt_forecast *forecast = walk->forecast;
    bool optimizer = graph->options.optimizer != RT_OPTIMIZER_NONE;
    double began = forecast->queue_us + walk->queue.gpu_us, layers = 0;
    for (size_t b = graph->block_count - (optimizer ? 1 : 0); b-- > 0;)
        for (int64_t r = graph->blocks[b].repeat; r-- > 0;)
            for (uint32_t n = graph->blocks[b].node_count; n-- > 0;) {
                walk_node(walk, graph->blocks[b].node + n, RT_BACKWARD, r, NAN);
                walk_node(walk, graph->blocks[b].node + n, RT_ACCUMULATE, r, NAN);
                layers += graph->nodes[graph->blocks[b].node + n].parameters > 0;
            }
    for (size_t s = 0; s < forecast->sum_count; s++) {
        const struct rt_gradient_sum *sum = &forecast->sums[s];
        walk_beside(walk, "gradient all-reduce", "all_reduce", RT_LANE_GRADIENTS, began + sum->start_us,
                    sum->end_us - sum->start_us, sum->bytes);
        walk->queue.gpu_us = fmax(walk->queue.gpu_us, began - forecast->queue_us + sum->end_us);
    }
    if (optimizer)
        walk_node(walk, graph->node_count - 1, RT_ACCUMULATE, 0, layers * walk->dispatch.optimizer_us);
}

/* Inputs come before the first kernel, or beside the step before. */
static void walk_copies(struct walk *walk)
{
    const struct rt_forecast *f = walk->forecast;
    double input = f->copy_us - f->after_us;
    if (f->copy_us > 0)
        walk->name(walk->context, 0, RT_LANE_COPIES, "copies");
    if (input > 0)
        walk_beside(walk, "input", "host_to_device", RT_LANE_COPIES, 0, input, f->graph->input_bytes);
    if (f->after_us > 0)
        walk_beside(walk, "result", "device_to_host", RT_LANE_COPIES, f->total_us - f->after_us, f->after_us,
                    f->graph->result_bytes);
}

static void walk_device(struct walk *walk)
{
    walk->name(walk->context, 0, RT_LANE_STAGE, walk->forecast->device->name);
    walk->name(walk->context, 0, RT_LANE_KERNELS, "kernels");
    if (walk->forecast->sum_count > 0)
        walk->name(walk->context, 0, RT_LANE_GRADIENTS, "gradient sums");
    walk->dispatch = rt_forecast_dispatch(walk->forecast);
    rt_queue_init(walk->forecast, &walk->dispatch, &walk->queue);
    walk_copies(walk);
    walk_forward(walk);
    if (walk->forecast->graph->options.step == RT_STEP_TRAINING)
        walk_backward(walk);
}

static void walk_pipeline(struct walk *walk)
{
    const struct rt_forecast *forecast = walk->forecast;
    int64_t stages = forecast->options.parallel.pipeline, micro = forecast->options.parallel.microbatches;
    for (int64_t s = 0; s < stages; s++) {
        char name[64];
        snprintf(name, sizeof name, "stage %" PRId64, s);
        walk->name(walk->context, s, RT_LANE_STAGE, name);
        for (int backward = 0; backward < 2; backward++)
            for (int64_t m = 0; m < micro; m++) {
                double end = forecast->pass_ends_us[(backward * stages + s) * micro + m];
                double time = (backward ? forecast->stage_backward_us : forecast->stage_forward_us)[s];
                if (isnan(end))
                    continue; /* inference has no backward pass */
                snprintf(name, sizeof name, "%s %" PRId64, backward ? "backward" : "forward", m);
                walk->visit(walk->context,
                            &(struct rt_timeline_span){.name = name,
                                                       .kind = backward ? "backward" : "forward",
                                                       .stage = s,
                                                       .lane = RT_LANE_KERNELS,
                                                       .start_us = end - time,
                                                       .time_us = time,
                                                       .number = m});
            }
    }
}

void rt_timeline_walk(
    const struct rt_forecast *forecast, void (*visit)(void *context, const struct rt_timeline_span *span),
    void (*name)(void *context, int64_t stage, enum rt_timeline_lane lane, const char *name), void *context)
{
    struct walk walk = {.forecast = forecast, .visit = visit, .name = name, .context = context};
    if (forecast->options.parallel.pipeline > 1)
        walk_pipeline(&walk);
    else
        walk_device(&walk);
}
