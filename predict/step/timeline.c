/* The spans of a step. See timeline.h. */
#include "predict/step/timeline.h"
#include "predict/step/collectives.h"
#include "predict/step/step.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

const char *const rt_timeline_lanes[RT_LANE_COUNT] = {"stage", "kernels", "gradient sums", "gathered weights",
                                                      "copies"};

struct walk {
    const struct rt_forecast *forecast;
    void (*visit)(void *context, const struct rt_timeline_span *span);
    void (*name)(void *context, int64_t stage, enum rt_timeline_lane lane, const char *name);
    void *context;
};

static void name_lane(const struct walk *walk, int64_t stage, enum rt_timeline_lane lane)
{
    walk->name(walk->context, stage, lane, rt_timeline_lanes[lane]);
}

static void visit_launch(const struct walk *walk, const struct rt_forecast_launch *launch, int64_t stage,
                         int64_t repeat, double start_us, double time_us)
{
    walk->visit(walk->context,
                &(struct rt_timeline_span){.name = walk->forecast->graph->nodes[launch->node].name,
                                           .kind = rt_ops[launch->kernel.call.op].name,
                                           .stage = stage,
                                           .lane = RT_LANE_KERNELS,
                                           .start_us = start_us,
                                           .time_us = time_us,
                                           .launch = launch,
                                           .number = repeat});
}

static void visit_beside(const struct walk *walk, const char *name, enum rt_op_id op, int64_t stage,
                         double start_us, double time_us, double bytes)
{
    enum rt_timeline_lane lane = op == RT_OP_HOST_TO_DEVICE || op == RT_OP_DEVICE_TO_HOST ? RT_LANE_COPIES
                                 : op == RT_OP_ALL_GATHER                                 ? RT_LANE_WEIGHTS
                                                                                          : RT_LANE_GRADIENTS;
    walk->visit(walk->context, &(struct rt_timeline_span){.name = name,
                                                          .kind = rt_ops[op].name,
                                                          .stage = stage,
                                                          .lane = lane,
                                                          .start_us = start_us,
                                                          .time_us = time_us,
                                                          .bytes = bytes});
}

/* --- one device, one batch: kernel by kernel --- */

static void watch_launch(void *context, const struct rt_forecast_launch *launch, int64_t repeat,
                         double start_us)
{
    const struct walk *walk = context;
    visit_launch(walk, launch, 0, repeat, walk->forecast->queue_us + start_us, launch->time_us);
}

static void watch_gather(void *context, double start_us, double end_us, double bytes)
{
    const struct walk *walk = context;
    visit_beside(walk, "weights all-gather", RT_OP_ALL_GATHER, 0, walk->forecast->queue_us + start_us,
                 end_us - start_us, bytes);
}

static void walk_launches(struct walk *walk, const struct rt_predictor *predictor)
{
    const struct rt_forecast *forecast = walk->forecast;
    struct rt_collectives collectives;
    rt_collectives_init(&collectives, predictor, forecast->device, forecast->graph,
                        &forecast->options.parallel, forecast->options.level);
    walk->name(walk->context, 0, RT_LANE_STAGE, forecast->device->name);
    name_lane(walk, 0, RT_LANE_KERNELS);
    if (forecast->options.parallel.shard == RT_SHARD_PARAMETERS)
        name_lane(walk, 0, RT_LANE_WEIGHTS);
    rt_step_run(forecast, &collectives,
                &(struct rt_step_watch){.launch = watch_launch, .gather = watch_gather, .context = walk});
}

/* --- several microbatches or stages: pass by pass --- */

static void visit_pass(const struct walk *walk, bool backward, int64_t stage, int64_t microbatch)
{
    const struct rt_forecast *forecast = walk->forecast;
    int64_t stages = forecast->options.parallel.pipeline, count = forecast->options.parallel.microbatches;
    double end = forecast->pass_ends_us[(backward * stages + stage) * count + microbatch];
    double time = (backward ? forecast->stage_backward_us : forecast->stage_forward_us)[stage];
    char name[64];
    if (isnan(end))
        return; /* inference has no backward pass */
    snprintf(name, sizeof name, "%s %" PRId64, backward ? "backward" : "forward", microbatch);
    walk->visit(walk->context, &(struct rt_timeline_span){.name = name,
                                                          .kind = backward ? "backward" : "forward",
                                                          .stage = stage,
                                                          .lane = RT_LANE_KERNELS,
                                                          .start_us = forecast->queue_us + end - time,
                                                          .time_us = time,
                                                          .number = microbatch});
}

static void walk_passes(struct walk *walk)
{
    const struct rt_parallelism *parallel = &walk->forecast->options.parallel;
    for (int64_t s = 0; s < parallel->pipeline; s++) {
        char name[64];
        snprintf(name, sizeof name, "stage %" PRId64, s);
        walk->name(walk->context, s, RT_LANE_STAGE, name);
        for (int backward = 0; backward < 2; backward++)
            for (int64_t m = 0; m < parallel->microbatches; m++)
                visit_pass(walk, backward, s, m);
    }
}

/* --- what goes on beside them, and after --- */

/* Inputs come before the first kernel, or beside the step before. */
static void walk_copies(struct walk *walk)
{
    const struct rt_forecast *f = walk->forecast;
    double input = f->copy_us - f->after_us;
    int64_t last = f->options.parallel.pipeline - 1;
    if (input > 0) {
        name_lane(walk, 0, RT_LANE_COPIES);
        visit_beside(walk, "input", RT_OP_HOST_TO_DEVICE, 0, 0, input, f->graph->input_bytes);
    }
    if (f->after_us > 0 && (input == 0 || last > 0))
        name_lane(walk, last, RT_LANE_COPIES);
    if (f->after_us > 0)
        visit_beside(walk, "result", RT_OP_DEVICE_TO_HOST, last, f->total_us - f->after_us, f->after_us,
                     f->graph->result_bytes);
}

/* The first stage's gradients: its last microbatch adds to them, and they are summed as that computes them.
 */
static void walk_sums(struct walk *walk)
{
    const struct rt_forecast *f = walk->forecast;
    const struct rt_parallelism *parallel = &f->options.parallel;
    bool shared = parallel->shard != RT_SHARD_NONE;
    if (f->sum_count == 0)
        return;
    double began = f->queue_us - f->stage_backward_us[0] +
                   f->pass_ends_us[(parallel->pipeline + 1) * parallel->microbatches - 1];
    name_lane(walk, 0, RT_LANE_GRADIENTS);
    for (const struct rt_gradient_sum *sum = f->sums; sum < f->sums + f->sum_count; sum++)
        visit_beside(walk, shared ? "gradient reduce-scatter" : "gradient all-reduce",
                     shared ? RT_OP_REDUCE_SCATTER : RT_OP_ALL_REDUCE, 0, began + sum->start_us,
                     sum->end_us - sum->start_us, sum->bytes);
}

/* The optimizer's kernels end the step, each stage's on its own weights; what they stepped is gathered. */
static void walk_optimizer(struct walk *walk)
{
    const struct rt_forecast *f = walk->forecast;
    double end = f->total_us - f->after_us, bytes = 0;
    int64_t stages = f->options.parallel.pipeline;
    for (size_t s = 0; s < f->sum_count; s++)
        bytes += f->sums[s].bytes;
    if (f->gather_us > 0) {
        name_lane(walk, 0, RT_LANE_WEIGHTS);
        visit_beside(walk, "weights all-gather", RT_OP_ALL_GATHER, 0, end - f->gather_us, f->gather_us,
                     bytes);
    }
    end -= f->gather_us;
    for (size_t i = f->launch_count; i-- > 0;) {
        double time = f->launches[i].time_us / (double)stages;
        if (f->launches[i].kernel.call.op != RT_OP_OPTIMIZER)
            continue;
        end -= time;
        for (int64_t s = 0; s < stages; s++)
            visit_launch(walk, &f->launches[i], s, 0, end, time);
    }
}

void rt_timeline_walk(const struct rt_forecast *forecast, const struct rt_predictor *predictor,
                      void (*visit)(void *context, const struct rt_timeline_span *span),
                      void (*name)(void *context, int64_t stage, enum rt_timeline_lane lane,
                                   const char *name),
                      void *context)
{
    struct walk walk = {.forecast = forecast, .visit = visit, .name = name, .context = context};
    if (rt_step_is_one_queue(forecast))
        walk_launches(&walk, predictor);
    else
        walk_passes(&walk);
    walk_copies(&walk);
    walk_sums(&walk);
    walk_optimizer(&walk);
}
