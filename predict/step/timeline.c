/* The spans of a step. See timeline.h. */
#include "predict/step/timeline.h"
#include "base/array.h"
#include "predict/step/collectives.h"
#include "predict/step/passes.h"
#include "predict/step/pipeline.h"
#include "predict/step/step.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const rt_timeline_lanes[RT_LANE_COUNT] = {"stage",
                                                      "kernels",
                                                      "gradient sums",
                                                      "gathered weights",
                                                      "copies",
                                                      "tensor collectives",
                                                      "context collectives",
                                                      "expert collectives"};

/* Collectives of layers that are shown of passes: of the first micro batches. */
enum { MOST_COLLECTIVES = 200000 };

/* A collective of a layer, since its pass began. */
struct joined {
    const struct rt_forecast_launch *launch;
    int64_t repeat;
    double start_us, time_us;
};

/* Those of a pass of a piece. */
struct joined_pass {
    struct joined *joined; /* (capacity) */
    size_t count, capacity;
    double start_us, free_us[RT_LANE_COUNT];
};

struct walk {
    const struct rt_forecast *forecast;
    void (*visit)(void *context, const struct rt_timeline_span *span);
    void (*name)(void *context, int64_t stage, enum rt_timeline_lane lane, const char *name);
    void *context;
    struct joined_pass *pass; /* (pieces, 2): forward, backward */
    size_t at;                /* that is listed */
    int64_t microbatches;     /* of which collectives are shown */
};

static void tell(const struct walk *walk, int64_t stage, enum rt_timeline_lane lane, const char *words)
{
    if (walk->name != NULL)
        walk->name(walk->context, stage, lane, words);
}

static void name_lane(const struct walk *walk, int64_t stage, enum rt_timeline_lane lane)
{
    tell(walk, stage, lane, rt_timeline_lanes[lane]);
}

/* Where a launch is shown: kernels, or collectives of a group. */
static enum rt_timeline_lane lane_of(const struct rt_forecast_launch *launch)
{
    if (launch->source != RT_TIME_LINK)
        return RT_LANE_KERNELS;
    return launch->kernel.group == RT_GROUP_EXPERT    ? RT_LANE_EXPERT
           : launch->kernel.group == RT_GROUP_CONTEXT ? RT_LANE_CONTEXT
                                                      : RT_LANE_TENSOR;
}

static void visit_launch(const struct walk *walk, const struct rt_forecast_launch *launch, int64_t stage,
                         int64_t repeat, double start_us, double time_us)
{
    walk->visit(walk->context,
                &(struct rt_timeline_span){.name = walk->forecast->graph->nodes[launch->node].name,
                                           .kind = rt_ops[launch->kernel.call.op].name,
                                           .stage = stage,
                                           .lane = lane_of(launch),
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

/* When the first pass begins. */
static double passes_begin_us(const struct rt_forecast *forecast)
{
    return forecast->queue_us + forecast->ahead_us;
}

/* Names the lanes of collectives that there are. */
static void name_joined(const struct walk *walk, int64_t stage)
{
    bool named[RT_LANE_COUNT] = {[RT_LANE_KERNELS] = true};
    for (size_t i = 0; i < walk->forecast->launch_count; i++) {
        enum rt_timeline_lane lane = lane_of(&walk->forecast->launches[i]);
        if (!named[lane])
            name_lane(walk, stage, lane);
        named[lane] = true;
    }
}

/* --- one device, one batch: kernel by kernel --- */

static void watch_launch(void *context, const struct rt_forecast_launch *launch, int64_t repeat,
                         double start_us)
{
    const struct walk *walk = context;
    visit_launch(walk, launch, 0, repeat, passes_begin_us(walk->forecast) + start_us, launch->time_us);
}

static void watch_beside(void *context, enum rt_op_id op, double start_us, double end_us, double bytes)
{
    const struct walk *walk = context;
    visit_beside(walk, op == RT_OP_ALL_GATHER ? "weights all-gather" : "gradient reduce-scatter", op, 0,
                 passes_begin_us(walk->forecast) + start_us, end_us - start_us, bytes);
}

static void walk_launches(struct walk *walk, const struct rt_predictor *predictor)
{
    const struct rt_forecast *forecast = walk->forecast;
    struct rt_collectives collectives;
    rt_collectives_init(&collectives, predictor, forecast->device, forecast->graph,
                        &forecast->options.parallel, forecast->options.level);
    tell(walk, 0, RT_LANE_STAGE, forecast->device->name);
    name_lane(walk, 0, RT_LANE_KERNELS);
    name_joined(walk, 0);
    if (forecast->options.parallel.shard == RT_SHARD_PARAMETERS) {
        name_lane(walk, 0, RT_LANE_WEIGHTS);
        name_lane(walk, 0, RT_LANE_GRADIENTS);
    }
    struct rt_piece piece;
    rt_piece_run(forecast, &collectives, 0,
                 &(struct rt_step_watch){.launch = watch_launch, .beside = watch_beside, .context = walk},
                 &piece);
    rt_piece_release(&piece);
}

/* --- collectives of the layers of a pass --- */

/* Of several rounds the last one counts. */
static void begin_joined(void *context, bool backward, double start_us)
{
    struct walk *walk = context;
    walk->at = walk->at / 2 * 2 + backward;
    walk->pass[walk->at].count = 0;
    walk->pass[walk->at].start_us = start_us;
    memset(walk->pass[walk->at].free_us, 0, sizeof walk->pass[walk->at].free_us);
}

/* One after the other, whatever hides them. */
static void add_joined(void *context, const struct rt_forecast_launch *launch, int64_t repeat,
                       double start_us)
{
    struct walk *walk = context;
    struct joined_pass *pass = &walk->pass[walk->at];
    enum rt_timeline_lane lane = lane_of(launch);
    if (lane == RT_LANE_KERNELS)
        return;
    double start = fmax(start_us - pass->start_us, pass->free_us[lane]);
    RT_GROW(pass->joined, pass->count, 1, pass->capacity);
    pass->joined[pass->count++] = (struct joined){launch, repeat, start, launch->time_us};
    pass->free_us[lane] = start + launch->time_us;
}

static void list_joined(struct walk *walk, const struct rt_predictor *predictor)
{
    const struct rt_forecast *forecast = walk->forecast;
    int64_t pieces = rt_pieces(&forecast->options.parallel), most = forecast->options.parallel.microbatches;
    const struct rt_step_watch watch = {.pass = begin_joined, .launch = add_joined, .context = walk};
    struct rt_collectives collectives;
    size_t count = 0;
    rt_collectives_init(&collectives, predictor, forecast->device, forecast->graph,
                        &forecast->options.parallel, forecast->options.level);
    walk->pass = rt_calloc(2 * (size_t)pieces, sizeof *walk->pass);
    for (int64_t p = 0; p < pieces; p++) {
        struct rt_piece piece;
        walk->at = 2 * (size_t)p;
        rt_piece_run(forecast, &collectives, p, &watch, &piece);
        count += walk->pass[2 * p].count + walk->pass[2 * p + 1].count;
        rt_piece_release(&piece);
    }
    walk->microbatches = count > 0 ? MOST_COLLECTIVES / (int64_t)count + 1 : 0;
    walk->microbatches = walk->microbatches < most ? walk->microbatches : most;
}

/* What does not end with its pass is cut off there. */
static void visit_joined(const struct walk *walk, const struct rt_pipeline_span *span)
{
    int64_t piece = span->chunk * walk->forecast->options.parallel.pipeline + span->stage;
    const struct joined_pass *pass = &walk->pass[2 * piece + (span->pass == RT_PASS_BACKWARD)];
    if (span->pass == RT_PASS_WEIGHTS || span->microbatch >= walk->microbatches)
        return;
    for (size_t i = 0; i < pass->count; i++) {
        const struct joined *j = &pass->joined[i];
        if (j->start_us < span->time_us)
            visit_launch(walk, j->launch, span->stage, j->repeat,
                         passes_begin_us(walk->forecast) + span->start_us + j->start_us,
                         fmin(j->time_us, span->time_us - j->start_us));
    }
}

static void release_joined(struct walk *walk)
{
    for (int64_t p = 0; p < 2 * rt_pieces(&walk->forecast->options.parallel); p++)
        free(walk->pass[p].joined);
    free(walk->pass);
}

/* --- several microbatches or stages: pass by pass --- */

static void watch_pass(void *context, const struct rt_pipeline_span *span)
{
    const struct walk *walk = context;
    const struct rt_forecast *forecast = walk->forecast;
    char name[64], chunk[32] = "";
    if (forecast->options.parallel.chunks > 1)
        snprintf(chunk, sizeof chunk, ", chunk %" PRId64, span->chunk);
    snprintf(name, sizeof name, "%s %" PRId64 "%s", rt_passes[span->pass], span->microbatch, chunk);
    walk->visit(walk->context,
                &(struct rt_timeline_span){.name = name,
                                           .kind = rt_passes[span->pass],
                                           .stage = span->stage,
                                           .lane = RT_LANE_KERNELS,
                                           .start_us = passes_begin_us(forecast) + span->start_us,
                                           .time_us = span->time_us,
                                           .number = span->microbatch});
    visit_joined(walk, span);
}

static void walk_passes(struct walk *walk, const struct rt_predictor *predictor)
{
    list_joined(walk, predictor);
    for (int64_t s = 0; s < walk->forecast->options.parallel.pipeline; s++) {
        char words[64];
        snprintf(words, sizeof words, "stage %" PRId64, s);
        tell(walk, s, RT_LANE_STAGE, words);
        name_joined(walk, s);
    }
    rt_step_watch_passes(walk->forecast, &(struct rt_pipeline_watch){watch_pass, walk});
    release_joined(walk);
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

/* Of the first stage's gradients, and so of its weights. */
static double summed_bytes(const struct rt_forecast *forecast)
{
    double bytes = 0;
    for (size_t s = 0; s < forecast->sum_count; s++)
        bytes += forecast->sums[s].bytes;
    return bytes;
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
    double began = passes_begin_us(f);
    name_lane(walk, 0, RT_LANE_GRADIENTS);
    for (const struct rt_gradient_sum *sum = f->sums; sum < f->sums + f->sum_count; sum++)
        visit_beside(walk, shared ? "gradient reduce-scatter" : "gradient all-reduce",
                     shared ? RT_OP_REDUCE_SCATTER : RT_OP_ALL_REDUCE, 0, began + sum->start_us,
                     sum->end_us - sum->start_us, sum->bytes);
}

/* Weights that the step before has stepped, where the first forward pass waits for them. */
static void walk_ahead(struct walk *walk)
{
    const struct rt_forecast *f = walk->forecast;
    double time = f->ahead_us - f->begin_us;
    if (!(time > 0))
        return;
    name_lane(walk, 0, RT_LANE_WEIGHTS);
    visit_beside(walk, "weights all-gather", RT_OP_ALL_GATHER, 0, passes_begin_us(f) - time, time,
                 summed_bytes(f));
}

/* All stages wait for the slowest GPU of the step. */
static void walk_slowest(struct walk *walk, double end)
{
    const struct rt_forecast *f = walk->forecast;
    for (int64_t s = 0; f->slowest_us > 0 && s < f->options.parallel.pipeline; s++)
        walk->visit(walk->context, &(struct rt_timeline_span){.name = "waits for the slowest GPU",
                                                              .kind = "wait",
                                                              .stage = s,
                                                              .lane = RT_LANE_KERNELS,
                                                              .start_us = end - f->slowest_us,
                                                              .time_us = f->slowest_us});
}

/* The optimizer's kernels end the step, each stage's on its own weights; what they stepped is gathered. */
static void walk_optimizer(struct walk *walk)
{
    const struct rt_forecast *f = walk->forecast;
    double end = f->total_us - f->after_us;
    int64_t stages = f->options.parallel.pipeline;
    if (f->gather_us > 0) {
        name_lane(walk, 0, RT_LANE_WEIGHTS);
        visit_beside(walk, "weights all-gather", RT_OP_ALL_GATHER, 0, end - f->gather_us, f->gather_us,
                     summed_bytes(f));
    }
    end -= f->gather_us;
    for (size_t i = f->launch_count; i-- > 0;) {
        double time = f->launches[i].time_us * f->optimizer_part; /* all end with the last */
        if (f->launches[i].kernel.call.op != RT_OP_OPTIMIZER)
            continue;
        end -= time;
        for (int64_t s = 0; s < stages; s++)
            visit_launch(walk, &f->launches[i], s, 0, end, time);
    }
    walk_slowest(walk, end);
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
        walk_passes(&walk, predictor);
    walk_ahead(&walk);
    walk_copies(&walk);
    walk_sums(&walk);
    walk_optimizer(&walk);
}
