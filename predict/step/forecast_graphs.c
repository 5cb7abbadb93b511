/* From graphs to the times of steps. See forecast_graphs.h. */
#include "predict/step/forecast_graphs.h"
#include "base/status.h"
#include "predict/step/collectives.h"
#include "predict/step/energy.h"
#include "predict/step/launches.h"
#include "predict/step/memory.h"
#include "predict/step/overlap.h"
#include "predict/step/step.h"
#include "predict/step/uncertainty.h"
#include "base/text.h"
#include "datasets/op_sequence.h"
#include "datasets/power.h"
#include "models/predictors/roofline/board.h"
#include "models/predictors/roofline/tiling.h"
#include "models/predictors/roofline/walk.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

static const int64_t FEW_KEYS = 1024;

/* --- the time of each launch: by the predictor, the roofline, bandwidth or the link --- */

/* Names the families that the graph needs and the predictor lacks. */
static int refuse_families(const struct rt_forecast *forecast, const struct rt_forecast_queries *queries,
                           const uint32_t *of_launch)
{
    struct rt_text words = {0};
    size_t launches[RT_FAMILY_COUNT] = {0};
    for (size_t i = 0; i < forecast->launch_count; i++) {
        uint32_t q = of_launch[i];
        if (q != RT_NO_QUERY && queries->skip[q] == RT_SKIP_NO_FAMILY)
            launches[rt_call_family(&forecast->launches[i].kernel.call)]++;
    }
    for (int f = 0; f < RT_FAMILY_COUNT; f++)
        if (launches[f] > 0)
            rt_text_item(&words, ", ", "%s", rt_families[f].name);
    bool attention = launches[RT_FAMILY_ATTENTION] > 0;
    int status = rt_fail(RT_ENOTFOUND,
                         "the predictor has no network for %s, which the model runs; train one with samples "
                         "of it, or take the roofline for it with {fallback}%s%s%s",
                         words.text, attention ? ", or write attention out with " : "",
                         attention ? rt_field_words("runtime").text : "", attention ? " eager-math" : "");
    rt_text_release(&words);
    return status;
}

/* A GPU without units for the dtype. */
static int refuse_peak(const struct rt_forecast *forecast, const struct rt_call *call)
{
    const char *field = rt_device_peak_field(rt_call_family(call), call->dtype);
    const char *dtype = rt_dtypes[call->dtype].name;
    if (field == NULL)
        return rt_fail(RT_EFORMAT, "%s has no %s peak for %s; choose another {dtype}", forecast->device->name,
                       dtype, rt_ops[call->op].name);
    return rt_fail(RT_EFORMAT,
                   "%s has no %s peak for %s; choose another {dtype}, or give its peak (`--gpu NAME,%s=X`)",
                   forecast->device->name, dtype, rt_ops[call->op].name, field);
}

static int refuse_skip(const struct rt_forecast *forecast, enum rt_op_id op, enum rt_skip skip)
{
    if (skip == RT_SKIP_NO_ORIGIN)
        return rt_fail(RT_ENOTFOUND,
                       "the predictor has no measurement of a kernel like %s on another device than %s; "
                       "train one with data of another GPU, or take the roofline for it with {fallback}",
                       rt_ops[op].name, forecast->device->name);
    return rt_fail(RT_ENOTFOUND,
                   "the predictor has no measured tile of a kernel like %s; train one with samples whose "
                   "tiles are known, or take the roofline for it with {fallback}",
                   rt_ops[op].name);
}

static int time_collective(struct rt_forecast_launch *launch, const struct rt_collectives *collectives)
{
    struct rt_collective_time time;
    int status = rt_collectives_check(collectives, launch->kernel.call.dim[RT_DIM_GPUS]);
    if (status != RT_OK)
        return status;
    rt_collective_time_of(collectives, &launch->kernel.call, launch->kernel.group, &time);
    launch->source = RT_TIME_LINK;
    launch->ln_half_width = time.ln_half_width;
    launch->shared = time.shared;
    launch->same = RT_NO_QUERY;
    launch->time_us = time.time_us;
    launch->roofline_us = time.bound_us;
    return RT_OK;
}

/* Instructions of pools were counted on an H100, whose multiprocessors have 128 lanes: where there are fewer
 * they take longer, by the median of KernelBench's even pools on A100 and T4; the odd ones judge it.
 * Depthwise convolutions do not: pytorch-gpu-benchmark's on the RTX 2080 Ti (docs/log/vision.md). */
static double own_us(const struct rt_device *device, const struct rt_forecast_launch *launch)
{
    const double few_lanes = 1.26;
    bool longer = rt_launch_family(launch)->moves && rt_design_of(device)->lanes < 128;
    return rt_cycles_us(device, (longer ? few_lanes : 1) * launch->kernel.own_cycles / device->sms);
}

/* No sooner than its blocks walk along their rows, where the kernels are PyTorch's own: those of runtimes
 * that a host launches one by one. That is as sure as cycles of a step are alike, which range from 870 to
 * 1,150 among GPUs, and instructions of a pool; kernels of such instructions nobody measured for training. */
static void walk(const struct rt_forecast *forecast, struct rt_forecast_launch *launch)
{
    const double unsure = 0.3;
    const struct rt_graph_options *options = &forecast->graph->options;
    bool own = rt_runtimes[options->runtime].hosted && !rt_runtimes[options->runtime].fused_norms;
    if (!own || (options->channels_last && rt_launch_family(launch)->moves))
        return;
    double least_us = fmax(own_us(forecast->device, launch),
                           rt_walk_us(&launch->kernel.call, launch->kernel.row_threads, forecast->device));
    bool longer = least_us > launch->time_us, measured = launch->kernel.own_cycles <= 0;
    if (longer)
        launch->time_us = least_us;
    if ((longer || !measured) && launch->ln_half_width < unsure)
        launch->ln_half_width = unsure;
}

/* `answer`: the query of an elementwise op that moves as many bytes; RT_NO_QUERY: none was asked. */
static void time_move(const struct rt_forecast *forecast, struct rt_forecast_launch *launch,
                      const struct rt_forecast_queries *queries, uint32_t answer)
{
    bool known = answer != RT_NO_QUERY && queries->skip[answer] == RT_SKIP_NONE;
    launch->source = RT_TIME_BANDWIDTH;
    launch->ln_half_width = queries->moved_ln_half_width;
    launch->shared = queries->moved_shared;
    launch->same = answer;
    double bytes = launch->kernel.bytes + rt_launch_reread_bytes(launch, forecast->device);
    launch->roofline_us = 1e6 * bytes / (1e9 * forecast->device->bandwidth_gbs);
    launch->time_us = known ? queries->time_us[answer] : launch->roofline_us;
    walk(forecast, launch);
}

/* By physics where the measured kernels are another's; of few keys no sooner than those. */
static double flash2_us(const struct rt_forecast *forecast, const struct rt_forecast_launch *launch)
{
    const struct rt_call *call = &launch->kernel.call;
    double us =
        rt_flash2_us((enum rt_op_id)call->op, (enum rt_dtype)call->dtype, call->dim, forecast->device);
    if (isnan(us))
        return launch->time_us * rt_launch_narrow_heads(launch);
    return call->op == RT_OP_ATTENTION_CROSS && call->dim[RT_CROSS_KEYS] < FEW_KEYS
               ? fmax(us, launch->time_us)
               : us;
}

/* It is forecast as so many forward passes, which have fewer products beside an exponential. */
static double backward_exponentials(const struct rt_device *device, const struct rt_forecast_launch *launch)
{
    const struct rt_call *call = &launch->kernel.call;
    double head_dim = (double)call->dim[RT_ATTENTION_HEAD_DIM];
    if (call->op != RT_OP_ATTENTION_CONTEXT || call->phase == RT_FORWARD || launch->kernel.flash2)
        return 1;
    return rt_exponentials_gain(device, call->dtype, head_dim, 5) /
           rt_exponentials_gain(device, call->dtype, head_dim, 2);
}

static int time_kernel(struct rt_forecast *forecast, struct rt_forecast_launch *launch,
                       const struct rt_forecast_queries *queries, const uint32_t *of_launch, bool roofline)
{
    uint32_t answer = of_launch[launch - forecast->launches];
    enum rt_skip skip = queries->skip[answer];
    launch->roofline_us = rt_roofline_us(&queries->query[answer], forecast->device);
    launch->source = roofline || skip != RT_SKIP_NONE ? RT_TIME_ROOFLINE : RT_TIME_TRAINED;
    launch->time_us = skip == RT_SKIP_NONE ? queries->time_us[answer] : launch->roofline_us;
    if (launch->kernel.flash2 && !roofline)
        launch->time_us = flash2_us(forecast, launch);
    launch->time_us *= launch->kernel.multiple * launch->kernel.slower;
    if (launch->source == RT_TIME_TRAINED)
        launch->time_us *= backward_exponentials(forecast->device, launch);
    launch->roofline_us *= launch->kernel.multiple;
    launch->ln_half_width = queries->ln_half_width[answer];
    if (launch->ln_half_width < launch->kernel.unsure)
        launch->ln_half_width = launch->kernel.unsure;
    walk(forecast, launch);
    launch->shared = queries->shared[answer];
    launch->same = answer;
    if (isnan(launch->roofline_us) || skip == RT_SKIP_NO_PEAK)
        return refuse_peak(forecast, &launch->kernel.call);
    /* nobody measured attention in one kernel in fp32, so a predictor may well lack it */
    bool wide = rt_call_family(&launch->kernel.call) == RT_FAMILY_ATTENTION &&
                rt_dtypes[launch->kernel.call.dtype].bytes >= 4;
    if (skip != RT_SKIP_NONE && !forecast->options.fallback && !wide)
        return skip == RT_SKIP_NO_FAMILY ? refuse_families(forecast, queries, of_launch)
                                         : refuse_skip(forecast, launch->kernel.call.op, skip);
    if (!(launch->time_us > 0) || !isfinite(launch->time_us))
        return rt_fail(RT_EFORMAT, "the forecast of %s is not a positive time; train the predictor again",
                       rt_ops[launch->kernel.call.op].name);
    return RT_OK;
}

/* Frameworks that train at scale, and pipelines that denoise for seconds, keep a board at its power: their
 * products, as far as FLOPs bound them. */
static void time_long(const struct rt_forecast *forecast, struct rt_forecast_launch *launch)
{
    const struct rt_call *call = &launch->kernel.call;
    enum rt_family family = rt_call_family(call);
    const struct rt_graph_options *options = &forecast->graph->options;
    bool lasts = options->denoising_steps > 0 ||
                 (rt_graph_trains(forecast->graph) && rt_runtimes[options->runtime].loss);
    if (!lasts || !rt_families[family].tensor || call->dtype == RT_FP32)
        return;
    double flops_us = 1e6 * launch->kernel.flops / rt_issued_flops(forecast->device, family, call->dtype);
    double bound = fmin(1, flops_us / launch->roofline_us);
    launch->time_us *= 1 + bound * (rt_long_run(forecast->device, family, call->dtype) - 1);
}

/* What is longer of a kernel and the one before, beside which it runs. */
static void time_beside(struct rt_forecast_launch *launch, double beside_us)
{
    launch->time_us = fmax(0, launch->time_us - beside_us);
    launch->roofline_us = fmax(0, launch->roofline_us - beside_us);
}

static int time_launches(struct rt_forecast *forecast, const struct rt_forecast_queries *queries,
                         const uint32_t *of_launch, bool roofline, const struct rt_collectives *collectives)
{
    int status = RT_OK;
    forecast->error_correlation = queries->error_correlation;
    for (size_t i = 0; status == RT_OK && i < forecast->launch_count; i++) {
        struct rt_forecast_launch *launch = &forecast->launches[i];
        const struct rt_family_row *family = rt_launch_family(launch);
        if (family->link)
            status = time_collective(launch, collectives);
        else if (family->moves)
            time_move(forecast, launch, queries, of_launch[i]);
        else
            status = time_kernel(forecast, launch, queries, of_launch, roofline);
        if (status == RT_OK && !family->link && !roofline)
            time_long(forecast, launch);
        if (!family->link && forecast->options.scales.kernels > 0)
            launch->time_us *= forecast->options.scales.kernels;
        if (status == RT_OK && launch->kernel.overlaps && i > 0)
            time_beside(launch, launch[-1].time_us);
    }
    return status;
}

/* --- steps --- */

/* Pieces of the layers, and how micro batches pass through them. */
static int check_pieces(const struct rt_graph *graph, const struct rt_parallelism *parallel)
{
    int64_t layers = rt_forecast_layers(graph), pieces = rt_pieces(parallel),
            chunks = pieces / parallel->pipeline;
    bool trains = rt_graph_trains(graph);
    if (parallel->pipeline > 1 && parallel->pipeline > layers)
        return rt_fail(RT_EUSAGE, "{pp} %" PRId64 ": the model has %" PRId64 " layers to divide into stages",
                       parallel->pipeline, layers);
    if (parallel->schedule == RT_PIPELINE_ZERO_BUBBLE && !trains)
        return rt_fail(RT_EUSAGE, "{schedule} zero-bubble is of backward passes: give {mode} training");
    if (chunks == 1)
        return RT_OK;
    if (!trains || parallel->pipeline == 1 || parallel->schedule != RT_PIPELINE_1F1B)
        return rt_fail(RT_EUSAGE,
                       "{vp} %" PRId64 ": stages of a training pipeline hold pieces that are interleaved: "
                       "give {mode} training, {pp} 2 or more and {schedule} 1f1b",
                       chunks);
    if (pieces > layers && pieces != layers + 2)
        return rt_fail(RT_EUSAGE,
                       "{pp} %" PRId64 " x {vp} %" PRId64 ": the model has %" PRId64
                       " layers to divide into %" PRId64 " pieces; {vp} %" PRId64 " would",
                       parallel->pipeline, chunks, layers, pieces, layers / parallel->pipeline);
    if (parallel->microbatches % parallel->pipeline != 0)
        return rt_fail(RT_EUSAGE,
                       "{microbatches} %" PRId64 ": interleaved stages take them in groups of %" PRId64
                       " ({pp}); give a multiple, such as %" PRId64,
                       parallel->microbatches, parallel->pipeline,
                       (parallel->microbatches / parallel->pipeline + 1) * parallel->pipeline);
    return RT_OK;
}

static int check_shards(const struct rt_graph *graph, const struct rt_parallelism *parallel)
{
    int64_t all = rt_parallelism_group(parallel, RT_GROUP_DATA).gpus, some = parallel->shard_gpus;
    if (parallel->shard != RT_SHARD_NONE && (all == 1 || !rt_graph_trains(graph)))
        return rt_fail(RT_EUSAGE,
                       "{shard} %s shares out a training step over data-parallel GPUs: give {mode} "
                       "training and {dp} 2 or more",
                       rt_shard_kinds[parallel->shard]);
    if (some > 0 && parallel->shard == RT_SHARD_NONE)
        return rt_fail(RT_EUSAGE,
                       "{shard_gpus} %" PRId64 ": says over how many GPUs {shard} shares out; give {shard}",
                       some);
    if (some > 0 && all % some != 0)
        return rt_fail(RT_EUSAGE,
                       "{shard_gpus} %" PRId64 ": the %" PRId64 " data-parallel GPUs cannot be divided by it",
                       some, all);
    return RT_OK;
}

static int check_parallel(const struct rt_graph *graph, const struct rt_parallelism *parallel,
                          const struct rt_collectives *collectives)
{
    int64_t sums = rt_graph_trains(graph) ? rt_parallelism_group(parallel, RT_GROUP_DATA).gpus : 1;
    int status = check_shards(graph, parallel);
    if (status == RT_OK)
        status = check_pieces(graph, parallel);
    if (status == RT_OK && parallel->pipeline > 1)
        status = rt_collectives_check(collectives, 2);
    return status == RT_OK && sums > 1 ? rt_collectives_check(collectives, sums) : status;
}

static void collectives_of(const struct rt_forecast *forecast, const struct rt_predictor *predictor,
                           struct rt_collectives *out)
{
    rt_collectives_init(out, predictor, forecast->device, forecast->graph, &forecast->options.parallel,
                        forecast->options.level);
}

/* Sharded, each GPU steps its part of the weights. */
static double optimizer_shares(const struct rt_parallelism *parallel)
{
    return parallel->shard != RT_SHARD_NONE ? (double)rt_shard_gpus(parallel) : 1;
}

static void share_optimizer(struct rt_forecast *forecast, double shares)
{
    for (size_t i = 0; i < forecast->launch_count && shares != 1; i++)
        if (forecast->launches[i].kernel.call.op == RT_OP_OPTIMIZER) {
            forecast->launches[i].time_us /= shares;
            forecast->launches[i].roofline_us /= shares;
            forecast->launches[i].kernel.flops /= shares;
            forecast->launches[i].kernel.bytes /= shares;
        }
}

/* From the times of launches to all of the rest. */
static void sum_all(struct rt_forecast *forecast, const struct rt_predictor *predictor,
                    const struct rt_collectives *collectives)
{
    rt_forecast_overlap(forecast);
    rt_forecast_sum_phases(forecast);
    rt_forecast_sum_step(forecast, collectives);
    rt_forecast_sum_interval(forecast);
    rt_forecast_sum_energy(forecast, predictor);
    if (!forecast->options.times_only)
        rt_forecast_sum_memory(forecast);
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
        status = time_launches(&forecasts[f], &queries, of_launch, roofline, &collectives);
        if (status != RT_OK)
            break;
        share_optimizer(&forecasts[f], optimizer_shares(&forecasts[f].options.parallel));
        sum_all(&forecasts[f], predictor, &collectives);
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
        status = count > 0 ? rt_forecast_check_copies(graphs[0], device, options) : RT_OK;
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

/* Launches that are listed, each as it was timed where there may have been others between them. */
static void take_times(struct rt_forecast *again, const struct rt_forecast *timed)
{
    size_t from = 0;
    for (size_t i = 0; i < again->launch_count; i++) {
        struct rt_forecast_launch *launch = &again->launches[i];
        while (timed->launches[from].node != launch->node ||
               timed->launches[from].kernel.call.phase != launch->kernel.call.phase ||
               timed->launches[from].kernel.call.op != launch->kernel.call.op)
            from++;
        *launch = timed->launches[from++];
    }
}

int rt_forecast_recut(const struct rt_forecast *timed, const struct rt_predictor *predictor,
                      const struct rt_forecast_options *options, struct rt_forecast *out)
{
    struct rt_collectives collectives;
    struct rt_forecast again = {.graph = timed->graph,
                                .device = timed->device,
                                .options = *options,
                                .error_correlation = timed->error_correlation};
    collectives_of(&again, predictor, &collectives);
    int status = check_parallel(again.graph, &options->parallel, &collectives);
    if (status != RT_OK)
        return status;
    rt_forecast_list_launches(&again);
    take_times(&again, timed);
    share_optimizer(&again,
                    optimizer_shares(&options->parallel) / optimizer_shares(&timed->options.parallel));
    sum_all(&again, predictor, &collectives);
    *out = again;
    return RT_OK;
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
