/* What a step takes of a device's memory. See memory.h. */
#include "predict/step/memory.h"
#include "base/status.h"
#include "base/units.h"
#include "models/networks/memory.h"
#include "models/predictors/roofline/board.h"
#include "predict/step/allocator.h"
#include "predict/step/forecast.h"
#include "predict/step/overlap.h"
#include "predict/step/passes.h"
#include "predict/step/pipeline.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* --- the driver --- */

/* Beside what the allocator has: modules, handles and heaps of context and libraries, by runtime, and what
 * grows with SMs (local memory of resident threads): runs of four MIG slices differ by 4.286 MiB for each SM,
 * to 2 MiB (docs/log/parts.md). */
static const double sm_mib = 4.286;

static bool runs_convolutions(const struct rt_graph *graph)
{
    bool found = false;
    for (size_t k = 0; k < graph->kernel_count; k++)
        found |= graph->kernels[k].call.op == RT_OP_CONV2D;
    return found;
}

/* Bytes that the driver takes beside what the allocator has: context and libraries. */
static double context_bytes(const struct rt_forecast *forecast)
{
    const struct rt_runtime *runtime = &rt_runtimes[forecast->graph->options.runtime];
    double given = rt_forecast_host(forecast)->context_mib, sms = forecast->device->sms;
    double mib = isnan(given)
                     ? runtime->context_mib + (runs_convolutions(forecast->graph) ? runtime->cudnn_mib : 0)
                     : given;
    return RT_MIB * (mib + (sms > 0 ? sm_mib * sms : 0));
}

/* --- workspaces --- */

/* cuBLAS's, which PyTorch makes once for each handle. */
static double cublas_bytes(const struct rt_graph *graph, const struct rt_device *device)
{
    bool products = false;
    for (size_t k = 0; k < graph->kernel_count; k++)
        products |= rt_families[rt_call_family(&graph->kernels[k].call)].product;
    if (!products)
        return 0;
    return RT_KIB * rt_design_of(device)->blas_workspace_kib;
}

/* --- the allocator --- */

static void play_events(struct rt_allocator *allocator, const struct rt_tensor_schedule *schedule,
                        size_t from, size_t to, uint32_t *blocks)
{
    for (size_t e = from; e < to; e++) {
        const struct rt_tensor_event *event = &schedule->events[e];
        if (event->made) {
            blocks[event->tensor] = rt_allocator_make(allocator, schedule->tensors[event->tensor].bytes);
        } else {
            rt_allocator_free(allocator, blocks[event->tensor]);
            blocks[event->tensor] = RT_NO_BLOCK;
        }
    }
}

/* What a repetition leaves: its blocks and the segments decide what the next one does. */
struct left {
    double blocks[RT_MOST_CARRIED][2], reserved, next_address;
};

/* Repetitions that are alike, until one leaves what an earlier one did: from there on they go round. */
static void play_again(struct rt_allocator *allocator, const struct rt_tensor_schedule *schedule,
                       const struct rt_tensor_again *again, uint32_t *blocks)
{
    enum { KEPT = 4 };
    struct left left[KEPT] = {0};
    int64_t todo = again->times;
    for (int64_t done = 0; todo > 0; done++, todo--) {
        struct left kept = {0};
        for (size_t c = 0; c < again->carried; c++)
            blocks[again->before[c]] = blocks[again->own[c]];
        play_events(allocator, schedule, again->from, again->to, blocks);
        kept.reserved = allocator->reserved;
        kept.next_address = allocator->next_address;
        for (size_t c = 0; c < again->carried; c++)
            rt_allocator_place(allocator, blocks[again->own[c]], kept.blocks[c]);
        for (int64_t round = 1; round < KEPT && round <= done; round++)
            if (memcmp(&kept, &left[(done - round) % KEPT], sizeof kept) == 0)
                todo = 1 + (todo - 1) % round;
        left[done % KEPT] = kept;
    }
}

static void play(struct rt_allocator *allocator, const struct rt_tensor_schedule *schedule, size_t from,
                 size_t to, uint32_t *blocks)
{
    for (size_t a = 0; a < schedule->again_count && schedule->again[a].to <= to; a++) {
        play_events(allocator, schedule, from, schedule->again[a].to, blocks);
        play_again(allocator, schedule, &schedule->again[a], blocks);
        from = schedule->again[a].to;
    }
    play_events(allocator, schedule, from, to, blocks);
}

/* What a step left: gradients, which the next frees before it runs, and its output. */
static void free_left(struct rt_allocator *allocator, const struct rt_tensor_schedule *schedule,
                      uint32_t *blocks)
{
    for (size_t e = schedule->resident; e < schedule->event_count; e++) {
        uint32_t tensor = schedule->events[e].tensor;
        rt_allocator_free(allocator, blocks[tensor]);
        blocks[tensor] = RT_NO_BLOCK;
    }
}

/* Of training two steps: the second finds the segments that the first left, and needs others beside them. */
static void replay(const struct rt_tensor_schedule *schedule, double workspace, double limit, bool trains,
                   struct rt_memory_taken *out)
{
    struct rt_allocator allocator;
    uint32_t *blocks = rt_malloc((schedule->tensor_count + 1) * sizeof *blocks);
    rt_allocator_init(&allocator, limit);
    play(&allocator, schedule, 0, schedule->resident, blocks);
    rt_allocator_make(&allocator, workspace);
    play(&allocator, schedule, schedule->resident, schedule->event_count, blocks);
    if (trains) {
        free_left(&allocator, schedule, blocks);
        play(&allocator, schedule, schedule->resident, schedule->event_count, blocks);
    }
    out->allocated = allocator.most_allocated;
    out->reserved = allocator.most_reserved;
    rt_allocator_release(&allocator);
    free(blocks);
}

/* --- a step --- */

/* Of a pipeline the first stage has the embedding and holds most activations, the last one the head. */
enum stage { WHOLE, FIRST, LAST };

/* Layers of all pieces of a stage. */
static double stage_layers(const struct rt_forecast *forecast, int64_t stage)
{
    const struct rt_parallelism *parallel = &forecast->options.parallel;
    int64_t pieces = rt_pieces(parallel), layers = 0;
    for (int64_t piece = stage; piece < pieces; piece += parallel->pipeline)
        for (size_t b = 0; b < forecast->graph->block_count; b++)
            layers += forecast->graph->blocks[b].role == RT_BLOCK_LAYER
                          ? rt_piece_repeats(forecast->graph, b, piece, pieces)
                          : 0;
    return (double)layers;
}

static void options_of(const struct rt_forecast *forecast, enum stage stage, struct rt_memory_options *out)
{
    const struct rt_parallelism *parallel = &forecast->options.parallel;
    int64_t layers = rt_forecast_layers(forecast->graph), pieces = rt_pieces(parallel);
    double most = stage_layers(forecast, stage == LAST ? parallel->pipeline - 1 : 0);
    *out = (struct rt_memory_options)RT_MEMORY_DEFAULTS;
    if (parallel->pipeline > 1 && stage != LAST)
        out->in_flight = rt_pipeline_in_flight(parallel->pipeline, pieces / parallel->pipeline,
                                               parallel->microbatches, parallel->schedule);
    out->without_first = stage == LAST;
    out->without_last = stage == FIRST;
    out->layers = layers > 0 ? fmin(1, most / (double)layers) : 1;
    out->shard = parallel->shard;
    out->gpus = rt_shard_gpus(parallel);
    if (parallel->expert > 1 && forecast->graph->options.step == RT_STEP_TRAINING) /* their copies */
        out->expert_gpus =
            (int64_t)fmax(1, ceil((double)(out->gpus * parallel->tensor) / (double)parallel->expert));
    out->accumulates = parallel->microbatches > 1;
}

/* The allocator frees unused segments where the driver has no more, so what it takes depends on what there
 * is.
 */
static bool is_overfull(const struct rt_forecast *forecast, const struct rt_tensor_schedule *schedule,
                        double workspace, double context)
{
    double safe = (1 - RT_MEMORY_MARGIN) * forecast->memory_bytes;
    struct rt_memory_taken less;
    if (!(forecast->taken.used > safe) || forecast->taken.used > forecast->memory_bytes)
        return forecast->taken.used > safe;
    replay(schedule, workspace, safe - context, rt_graph_trains(forecast->graph), &less);
    return less.reserved + context > safe;
}

static void sum_stage(struct rt_forecast *forecast, enum stage stage, double workspace, double context)
{
    struct rt_memory_options options;
    struct rt_tensor_schedule schedule;
    options_of(forecast, stage, &options);
    rt_tensor_schedule(forecast->graph, &options, &schedule);
    rt_graph_memory_of(forecast->graph, &schedule, &forecast->memory);
    replay(&schedule, workspace, forecast->memory_bytes - context, rt_graph_trains(forecast->graph),
           &forecast->taken);
    forecast->taken.used = forecast->taken.reserved + context;
    forecast->overfull = is_overfull(forecast, &schedule, workspace, context);
    rt_tensor_schedule_release(&schedule);
}

void rt_forecast_sum_memory(struct rt_forecast *forecast)
{
    const struct rt_device *device = forecast->device;
    bool stages = forecast->options.parallel.pipeline > 1;
    forecast->memory_bytes = rt_memory_for_programs_gib(device) * RT_GIB;
    double context = context_bytes(forecast), workspace = cublas_bytes(forecast->graph, device);
    sum_stage(forecast, stages ? FIRST : WHOLE, workspace, context);
    if (!stages)
        return;
    struct rt_forecast last = *forecast;
    sum_stage(&last, LAST, workspace, context);
    if (last.taken.used <= forecast->taken.used)
        return;
    forecast->memory = last.memory;
    forecast->taken = last.taken;
    forecast->overfull = last.overfull;
}

/* --- a generation --- */

/* Blocks of keys and values: those that the step found, and those that it made. */
struct cache {
    uint32_t *before, *now;
    size_t before_count, now_count;
};

static void drop_cache(struct rt_allocator *allocator, struct cache *cache)
{
    uint32_t *was = cache->before;
    for (size_t i = 0; i < cache->before_count; i++)
        rt_allocator_free(allocator, was[i]);
    cache->before = cache->now;
    cache->before_count = cache->now_count;
    cache->now = was;
    cache->now_count = 0;
}

static bool concatenates(const struct rt_graph *graph)
{
    for (size_t n = 0; n < graph->node_count; n++)
        if (graph->nodes[n].cached)
            return graph->options.step == RT_STEP_DECODE;
    return false;
}

/* One step, of tensors `at` (0..1) of the way between two schedules that are alike. Only large requests:
 * those of at most `least` bytes have segments of their own. A node of a decode step makes keys and values,
 * which are two tensors. */
static void play_step(struct rt_allocator *allocator, const struct rt_tensor_schedule *schedule,
                      const struct rt_tensor_schedule *end, double at, double least, uint32_t *blocks,
                      struct cache *cache)
{
    for (size_t t = 0; t < schedule->tensor_count; t++)
        blocks[t] = RT_NO_BLOCK;
    for (size_t e = schedule->resident; e < schedule->event_count; e++) {
        uint32_t t = schedule->events[e].tensor;
        double bytes = schedule->tensors[t].bytes + at * (end->tensors[t].bytes - schedule->tensors[t].bytes);
        bool cached = schedule->tensors[t].part == RT_MEMORY_CACHE;
        int parts = cached && least > 0 ? 2 : 1;
        if (!schedule->events[e].made) {
            rt_allocator_free(allocator, blocks[t]);
            blocks[t] = RT_NO_BLOCK;
        }
        if (!schedule->events[e].made || bytes / parts <= least)
            continue;
        for (int p = 0; p < parts; p++) {
            uint32_t block = rt_allocator_make(allocator, bytes / parts);
            if (cached)
                cache->now[cache->now_count++] = block;
            else
                blocks[t] = block;
        }
    }
    for (size_t t = 0; t < schedule->tensor_count; t++)
        rt_allocator_free(allocator, blocks[t]); /* what the step returned */
    drop_cache(allocator, cache);
}

/* `of`: prefill, first and last decode step. */
static void play_generation(const struct rt_tensor_schedule *of, int64_t steps, double workspace,
                            struct rt_allocator *allocator)
{
    size_t most = of[0].tensor_count > of[1].tensor_count ? of[0].tensor_count : of[1].tensor_count;
    uint32_t *blocks = rt_malloc((most + 1) * sizeof *blocks);
    struct cache cache = {.before = rt_malloc((2 * most + 1) * sizeof *blocks),
                          .now = rt_malloc((2 * most + 1) * sizeof *blocks)};
    for (size_t e = 0; e < of[0].resident; e++)
        rt_allocator_make(allocator, of[0].tensors[of[0].events[e].tensor].bytes);
    rt_allocator_make(allocator, workspace);
    play_step(allocator, &of[0], &of[0], 0, 0, blocks, &cache);
    for (int64_t s = 0; s < steps; s++)
        play_step(allocator, &of[1], &of[2], steps > 1 ? (double)s / (double)(steps - 1) : 0, RT_MIB, blocks,
                  &cache);
    free(blocks);
    free(cache.before);
    free(cache.now);
}

void rt_memory_generation(const struct rt_forecast *prefill, const struct rt_forecast *first,
                          const struct rt_forecast *last, struct rt_memory_taken *out)
{
    const struct rt_forecast *step[] = {prefill, first, last};
    struct rt_tensor_schedule schedules[3];
    struct rt_memory_options options;
    struct rt_allocator allocator;
    double context = context_bytes(first);
    int64_t steps = last->graph->options.context - first->graph->options.context + 1;
    if (!concatenates(first->graph) || steps < 1)
        return;
    for (int i = 0; i < 3; i++) {
        options_of(step[i], WHOLE, &options);
        options.every = true;
        rt_tensor_schedule(step[i]->graph, &options, &schedules[i]);
    }
    rt_allocator_init(&allocator, first->memory_bytes - context);
    if (schedules[1].tensor_count == schedules[2].tensor_count)
        play_generation(schedules, steps, cublas_bytes(first->graph, first->device), &allocator);
    out->allocated = fmax(out->allocated, allocator.most_allocated);
    out->reserved = fmax(out->reserved, allocator.most_reserved);
    out->used = fmax(out->used, allocator.most_reserved + context);
    rt_allocator_release(&allocator);
    for (int i = 0; i < 3; i++)
        rt_tensor_schedule_release(&schedules[i]);
}
