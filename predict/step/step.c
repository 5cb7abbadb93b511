/* Stages, gradient sums and the step. See step.h. */
#include "predict/step/step.h"
#include "base/status.h"
#include "datasets/cluster.h"
#include "models/networks/sequences.h"
#include "predict/step/overlap.h"
#include "predict/step/pipeline.h"

#include <math.h>
#include <stdlib.h>

void rt_forecast_sum_phases(struct rt_forecast *forecast)
{
    double trained = 0, computed = 0;
    for (size_t i = 0; i < forecast->launch_count; i++) {
        const struct rt_forecast_launch *launch = &forecast->launches[i];
        const struct rt_node *node = &forecast->graph->nodes[launch->node];
        double time = rt_forecast_launch_total(forecast, launch);
        double first = launch->kernel.call.phase == RT_FORWARD
                           ? launch->time_us * (double)rt_graph_repeat(forecast->graph, node)
                           : time;
        forecast->phase_us[launch->kernel.call.phase] += first;
        forecast->phase_us[RT_BACKWARD] += time - first; /* of what is computed again */
        forecast->source_us[launch->source] += time;
        trained += launch->source == RT_TIME_TRAINED ? time : 0;
        computed += launch->source != RT_TIME_LINK ? time : 0;
    }
    forecast->coverage = computed > 0 ? trained / computed : 0;
}

int rt_forecast_check_copies(const struct rt_graph *graph, const struct rt_device *device,
                             const struct rt_forecast_options *options)
{
    bool copies = options->input != RT_TRANSFER_NONE || options->result != RT_TRANSFER_NONE ||
                  (rt_graph_trains(graph) && graph->options.optimizer == RT_OPTIMIZER_ADAMW_CPU);
    if (!copies || !isnan(rt_device_host_link_gbs(device)))
        return RT_OK;
    return rt_fail(RT_EFORMAT,
                   "%s: what joins it to its host is not known, so copies cannot be forecast; give "
                   "host_link_gbs, such as {gpu} NAME,host_link_gbs=32 for PCIe 4.0",
                   device->name);
}

static double result_us(const struct rt_forecast *forecast)
{
    return rt_host_copy_us(rt_forecast_host(forecast), forecast->device, forecast->options.result,
                           forecast->graph->result_bytes);
}

/* --- the pipeline --- */

static bool trains(const struct rt_forecast *forecast)
{
    return rt_graph_trains(forecast->graph);
}

/* What a stage passes on: of sequence-parallel GPUs each its part. */
static double boundary_bytes(const struct rt_forecast *forecast)
{
    const struct rt_graph_options *options = &forecast->graph->options;
    double parts = forecast->options.parallel.sequence && options->tensor_parallel > 1
                       ? (double)options->tensor_parallel
                       : 1;
    return rt_dtypes[options->dtype].bytes * forecast->graph->boundary / parts;
}

static void pipeline_of(const struct rt_forecast *forecast, struct rt_pipeline *out)
{
    const struct rt_parallelism *parallel = &forecast->options.parallel;
    int64_t chunks = parallel->chunks > 1 ? parallel->chunks : 1;
    *out = (struct rt_pipeline){
        .stages = parallel->pipeline,
        .chunks = chunks,
        .microbatches = parallel->microbatches,
        .schedule = parallel->schedule,
        .pass_us = {forecast->stage_forward_us, trains(forecast) ? forecast->stage_backward_us : NULL,
                    parallel->schedule == RT_PIPELINE_ZERO_BUBBLE ? forecast->stage_weights_us : NULL},
        .send_us = forecast->send_us,
        .blocks = trains(forecast) &&
                  (parallel->no_overlap || (chunks == 1 && rt_overlap_of(forecast->graph)->blocks))};
}

void rt_step_watch_passes(const struct rt_forecast *forecast, const struct rt_pipeline_watch *watch)
{
    struct rt_pipeline pipeline;
    pipeline_of(forecast, &pipeline);
    rt_pipeline_us(&pipeline, NULL, watch);
}

/* Waiting for what a stage sends, in a step. */
static double sends_us(const struct rt_pipeline *pipeline, int64_t stage)
{
    int64_t last = pipeline->stages * pipeline->chunks - 1;
    double sum = 0;
    for (int64_t c = 0; pipeline->blocks && c < pipeline->chunks; c++) {
        int64_t piece = c * pipeline->stages + stage,
                before = (stage + pipeline->stages - 1) % pipeline->stages;
        sum += piece < last ? pipeline->send_us[stage] : 0;
        sum += piece > 0 ? pipeline->send_us[before] : 0;
    }
    return (double)pipeline->microbatches * sum;
}

/* --- a step in the making --- */

struct sum {
    struct rt_forecast *forecast;
    const struct rt_collectives *collectives;
    struct rt_sum_times times;
    struct rt_pipeline pipeline;
    struct rt_piece *piece; /* (chunks, stages) */
    struct rt_pipeline_ends ends;
    int64_t busiest; /* the stage with the most to do */
    double busy_us, passes_us, ahead_us, late_us, gather_us, optimizer_us, optimizer_wait_us;
    double wait_us, link_us[RT_GROUPS], begin_us, begin_wait_us; /* of the busiest stage, of a micro batch */
};

static struct rt_piece *piece_of(const struct sum *sum, int64_t chunk, int64_t stage)
{
    return &sum->piece[chunk * sum->pipeline.stages + stage];
}

static struct rt_gradient_rules rules_of(struct sum *sum)
{
    const struct rt_forecast *forecast = sum->forecast;
    const struct rt_parallelism *parallel = &forecast->options.parallel;
    return (struct rt_gradient_rules){.times = &sum->times,
                                      .shared = parallel->shard != RT_SHARD_NONE,
                                      .whole = rt_overlap_of(forecast->graph)->sums_whole,
                                      .bucket_bytes = rt_bucket_bytes(forecast),
                                      .no_overlap =
                                          parallel->no_overlap || rt_overlap_of(forecast->graph)->sums_late};
}

/* Does every micro batch sum its gradients? Where no GPU keeps all of them. */
static bool sums_each(const struct rt_forecast *forecast)
{
    const struct rt_parallelism *parallel = &forecast->options.parallel;
    return parallel->shard == RT_SHARD_GRADIENTS && parallel->microbatches > 1;
}

/* By how much sums make a backward pass of `backward_us` longer, which began at 0: they end behind it, and
 * their kernels hold multiprocessors while they run beside it. */
static double sums_take(const struct rt_forecast *forecast, const struct rt_gradient_sum *sums, size_t count,
                        double backward_us)
{
    double hidden = 0, end = 0;
    for (size_t i = 0; i < count; i++) {
        hidden += fmax(0, fmin(sums[i].end_us, backward_us) - sums[i].start_us);
        end = sums[i].end_us;
    }
    return fmax(0, end - backward_us) + rt_overlap_share(forecast->device) * hidden;
}

static void sum_each(struct sum *sum, struct rt_piece *piece)
{
    const struct rt_gradients *gradients = &piece->gradients;
    struct rt_gradient_rules rules = rules_of(sum);
    struct rt_gradient_sum *sums = rt_malloc((gradients->count + 1) * sizeof *sums);
    size_t count;
    rt_gradient_sums_us(gradients->gradient, gradients->count, &rules, sum->collectives, sums, &count);
    double longer = sums_take(sum->forecast, sums, count, piece->backward_us + piece->weights_us);
    piece->backward_us += longer;
    piece->link_us[RT_GROUP_DATA] += longer;
    free(sums);
}

static void run_pieces(struct sum *sum)
{
    struct rt_forecast *forecast = sum->forecast;
    int64_t pieces = rt_pieces(&forecast->options.parallel);
    for (int64_t i = 0; i < pieces; i++) {
        struct rt_piece *piece = &sum->piece[i];
        bool again = i > 0 && rt_pieces_alike(forecast->graph, i - 1, i, pieces);
        if (again)
            rt_piece_copy(&piece[-1], piece);
        else
            rt_piece_run(forecast, sum->collectives, i, NULL, piece);
        if (sums_each(forecast) && !again)
            sum_each(sum, piece);
        forecast->stage_forward_us[i] = piece->forward_us;
        forecast->stage_backward_us[i] = piece->backward_us;
        forecast->stage_weights_us[i] = piece->weights_us;
    }
}

static double busy_us(const struct sum *sum, int64_t stage)
{
    double each = 0;
    for (int64_t c = 0; c < sum->pipeline.chunks; c++) {
        const struct rt_piece *piece = piece_of(sum, c, stage);
        each += piece->forward_us + piece->backward_us + piece->weights_us;
    }
    return (double)sum->pipeline.microbatches * each;
}

static void find_busiest(struct sum *sum)
{
    sum->busy_us = -1;
    for (int64_t s = 0; s < sum->pipeline.stages; s++) {
        double busy = busy_us(sum, s);
        sum->busiest = busy > sum->busy_us ? s : sum->busiest;
        sum->busy_us = fmax(sum->busy_us, busy);
    }
    for (int64_t c = 0; c < sum->pipeline.chunks; c++) {
        const struct rt_piece *piece = piece_of(sum, c, sum->busiest);
        sum->wait_us += piece->wait_us;
        for (int group = 0; group < RT_GROUPS; group++)
            sum->link_us[group] += piece->link_us[group];
    }
}

/* Of inference: the most of any stage. */
static void find_most(struct sum *sum)
{
    for (int64_t s = 0; s < sum->pipeline.stages; s++) {
        sum->wait_us = fmax(sum->wait_us, sum->piece[s].wait_us);
        for (int group = 0; group < RT_GROUPS; group++)
            sum->link_us[group] = fmax(sum->link_us[group], sum->piece[s].link_us[group]);
    }
}

/* Weights that are gathered beside the first forward pass, as far as that waits: the first micro batch comes
 * to later stages later. */
static double ahead_us(const struct sum *sum)
{
    double most = 0, arrives = 0;
    for (int64_t s = 0; s < sum->pipeline.stages; s++) {
        most = fmax(most, sum->piece[s].ahead_us - arrives);
        arrives += sum->piece[s].forward_us + sum->pipeline.send_us[s];
    }
    return most;
}

/* --- gradients and weights --- */

/* All gradients of a stage since the passes began: the last chunk's backward passes end first. Their number.
 */
static size_t list_gradients(const struct sum *sum, int64_t stage, struct rt_gradient *out)
{
    size_t count = 0;
    for (int64_t c = sum->pipeline.chunks; c-- > 0;) {
        const struct rt_piece *piece = piece_of(sum, c, stage);
        double took = piece->backward_us + piece->weights_us;
        double began = sum->ends.last_us[c * sum->pipeline.stages + stage] - took;
        if (sum->pipeline.schedule == RT_PIPELINE_ZERO_BUBBLE)
            began = sum->ends.stage_us[stage] - took;
        for (size_t g = 0; g < piece->gradients.count; g++) {
            out[count] = piece->gradients.gradient[g];
            out[count++].ready_us += began;
        }
    }
    return count;
}

/* When the gradients of a stage are summed, us since the passes began. */
static double summed_us(struct sum *sum, int64_t stage)
{
    struct rt_forecast *forecast = sum->forecast;
    double end = sum->ends.stage_us[stage];
    size_t most = 0, count;
    for (int64_t c = 0; c < sum->pipeline.chunks; c++)
        most += piece_of(sum, c, stage)->gradients.count;
    if (most == 0 || forecast->options.parallel.shard == RT_SHARD_PARAMETERS || sums_each(forecast))
        return end;
    struct rt_gradient *gradients = rt_malloc(most * sizeof *gradients);
    struct rt_gradient_sum *sums = rt_malloc(most * sizeof *sums);
    struct rt_gradient_rules rules = rules_of(sum);
    most = list_gradients(sum, stage, gradients);
    rt_gradient_sums_us(gradients, most, &rules, sum->collectives, sums, &count);
    end += sums_take(forecast, sums, count, end);
    free(gradients);
    if (stage == 0) {
        forecast->sums = sums;
        forecast->sum_count = count;
    } else {
        free(sums);
    }
    return end;
}

/* How long the optimizer's kernels wait for the host, which launches them behind the backward pass. */
static double optimizer_wait(const struct sum *sum, int64_t stage, double late)
{
    const struct rt_piece *piece = piece_of(sum, 0, stage);
    double layers = 0, optimizer = 0;
    for (int64_t c = 0; c < sum->pipeline.chunks; c++) {
        layers += piece_of(sum, c, stage)->layers;
        optimizer += piece_of(sum, c, stage)->optimizer_us;
    }
    double dispatch = rt_forecast_dispatch(sum->forecast).optimizer_us * layers;
    if (optimizer == 0)
        return 0;
    if (sum->pipeline.stages > 1 ||
        !(rt_step_is_one_queue(sum->forecast) || rt_overlap_of(sum->forecast->graph)->runs_ahead))
        return dispatch;
    return fmax(0, piece->late_us + dispatch - late);
}

/* Of the optimizer's step: parameters that all GPUs of a stage's cut have together. */
static double stepped(const struct rt_forecast *forecast)
{
    for (size_t i = forecast->launch_count; i-- > 0;)
        if (forecast->launches[i].kernel.call.op == RT_OP_OPTIMIZER)
            return (double)forecast->launches[i].kernel.call.dim[0];
    return 0;
}

/* us of a server's cores for a parameter: 10^10 take 2.57 s on two Xeon 8168 (Ren et al., ZeRO-Offload,
 * USENIX ATC 2021, table of CPU-Adam; from memory, it was not found again). */
static const double CPU_ADAM_US = 257e-6;

/* ZeRO-Offload: the cores of a server step the weights of all its GPUs, which come back in 16 bits; gradients
 * are sent while passes run (section 5 there), and nothing but these hides them. */
static double offloaded_us(const struct sum *sum, double share)
{
    const struct rt_forecast *forecast = sum->forecast;
    const struct rt_parallelism *parallel = &forecast->options.parallel;
    if (forecast->graph->options.optimizer != RT_OPTIMIZER_ADAMW_CPU)
        return 0;
    double shards = parallel->shard != RT_SHARD_NONE ? (double)rt_shard_gpus(parallel) : 1;
    double own = stepped(forecast) * share / shards;
    double copy = rt_host_copy_us(rt_forecast_host(forecast), forecast->device, RT_TRANSFER_PINNED,
                                  own * rt_dtypes[rt_graph_weight_dtype(forecast->graph)].bytes);
    double near = fmin((double)rt_cluster_settled(&parallel->cluster, forecast->device).node_gpus,
                       (double)rt_parallelism_gpus(parallel));
    double sent = fmax(0, (double)parallel->microbatches * copy - sum->passes_us);
    return sent + near * own * CPU_ADAM_US + copy;
}

static double weights_bytes(const struct sum *sum, int64_t stage, enum rt_gpu_group group)
{
    double bytes = 0;
    for (int64_t c = 0; c < sum->pipeline.chunks; c++)
        bytes += piece_of(sum, c, stage)->gradients.weights_bytes[group == RT_GROUP_EXPERT_DATA];
    return bytes;
}

static double all_weights_bytes(const struct sum *sum, int64_t stage)
{
    return weights_bytes(sum, stage, RT_GROUP_SHARD) + weights_bytes(sum, stage, RT_GROUP_EXPERT_DATA);
}

/* Sharded, each GPU steps its part of the weights; where each holds all of them, the others' are gathered:
 * here, where the next step does not begin meanwhile. */
static double gather_us(const struct sum *sum, int64_t stage)
{
    const struct rt_parallelism *parallel = &sum->forecast->options.parallel;
    bool gathers = parallel->shard == RT_SHARD_OPTIMIZER || parallel->shard == RT_SHARD_GRADIENTS;
    bool late = parallel->no_overlap || rt_overlap_of(sum->forecast->graph)->gathers_late;
    static const enum rt_gpu_group groups[] = {RT_GROUP_SHARD, RT_GROUP_EXPERT_DATA};
    double us = 0;
    for (size_t i = 0; i < RT_COUNT(groups); i++) {
        double bytes = gathers && late ? weights_bytes(sum, stage, groups[i]) : 0;
        if (bytes > 0 && rt_parallelism_group(parallel, groups[i]).gpus > 1)
            us += rt_collective_us(sum->collectives, RT_OP_ALL_GATHER, groups[i], bytes);
    }
    return us;
}

/* Behind the passes: gradients are summed, weights are stepped and gathered. */
static void end_stages(struct sum *sum)
{
    double all_us = 0, all_bytes = 0;
    sum->forecast->optimizer_part = 0;
    for (int64_t s = 0; s < sum->pipeline.stages; s++) {
        all_bytes += all_weights_bytes(sum, s);
        for (int64_t c = 0; c < sum->pipeline.chunks; c++)
            all_us += piece_of(sum, c, s)->optimizer_us;
    }
    for (int64_t s = 0; s < sum->pipeline.stages; s++) {
        double late = fmax(0, summed_us(sum, s) - sum->passes_us), gather = gather_us(sum, s);
        double share = all_bytes > 0 ? all_weights_bytes(sum, s) / all_bytes : 1;
        sum->late_us = fmax(sum->late_us, late);
        sum->gather_us = fmax(sum->gather_us, gather);
        sum->forecast->optimizer_part = fmax(sum->forecast->optimizer_part, share);
        sum->optimizer_us = fmax(sum->optimizer_us, all_us * share); /* each steps its own weights */
        sum->optimizer_wait_us =
            fmax(sum->optimizer_wait_us, optimizer_wait(sum, s, late + gather) + offloaded_us(sum, share));
    }
}

/* --- the step --- */

static int64_t sequences_of(const struct rt_graph_options *options)
{
    return options->groups == NULL ? options->batch
                                   : rt_sequences_totals(options->groups, options->group_count).sequences;
}

/* What a server's host adds once a step. */
static double server_us(const struct rt_forecast *forecast)
{
    const struct rt_graph_options *options = &forecast->graph->options;
    const struct rt_parallelism *parallel = &forecast->options.parallel;
    const struct rt_server *server = forecast->options.server;
    int64_t gpus = options->tensor_parallel * parallel->data * parallel->pipeline;
    return server != NULL ? rt_server_step_us(server, sequences_of(options), gpus, parallel->pipeline) : 0;
}

double rt_step_sampler_us(const struct rt_forecast *forecast)
{
    const struct rt_server *server = forecast->options.server;
    return server != NULL ? server->sampler_us * (double)sequences_of(&forecast->graph->options) : 0;
}

double rt_step_server_busy_us(const struct rt_forecast *forecast)
{
    const struct rt_server *server = forecast->options.server;
    return server != NULL ? rt_server_busy_us(server, sequences_of(&forecast->graph->options)) : 0;
}

/* The copies of a step, beside those that wait in the queue: what of them nothing hides. */
static double input_before(const struct rt_forecast *forecast, double step_us)
{
    const struct rt_forecast_options *options = &forecast->options;
    double copy = (double)options->parallel.microbatches * rt_input_us(forecast);
    if (options->overlap)
        return fmax(0, copy - step_us);
    return rt_queued_input_us(forecast) > 0 ? 0 : copy;
}

static void set_phases(struct rt_forecast *forecast, const struct sum *sum)
{
    const struct rt_forecast_options *options = &forecast->options;
    double microbatches = (double)options->parallel.microbatches;
    double fixed = server_us(forecast) + rt_forecast_dispatch(forecast).step_us;
    double late = sum->ahead_us + sum->late_us + sum->gather_us + forecast->slowest_us;
    double step = fixed + sum->passes_us + late + sum->optimizer_us + sum->optimizer_wait_us;
    double input = input_before(forecast, step);
    forecast->after_us = microbatches * result_us(forecast);
    forecast->total_us = step + input + forecast->after_us;
    forecast->queue_us = fixed + input;
    forecast->before_us = forecast->queue_us + sum->piece[0].first_us;
    forecast->on_us = forecast->total_us - forecast->before_us - forecast->after_us;
    if (options->parallel.microbatches == 1 && sum->pipeline.stages == 1)
        forecast->launched_us = fmax(0, fixed + sum->passes_us + sum->piece[0].late_us);
    forecast->host_us = fixed + microbatches * sum->wait_us + sum->begin_wait_us + sum->optimizer_wait_us;
    forecast->copy_us = input + rt_queued_input_us(forecast) + forecast->after_us;
}

/* What of the step is neither kernels nor host nor copies: by group, and what is left is the pipeline's
 * bubble. */
static void set_exposed(struct rt_forecast *forecast, const struct sum *sum)
{
    double microbatches = (double)forecast->options.parallel.microbatches, exposed = forecast->slowest_us;
    double left = forecast->total_us - forecast->compute_us - forecast->host_us - forecast->copy_us;
    forecast->communication_us = left > 1e-12 * forecast->total_us ? left : 0; /* less is rounding */
    for (int group = 0; group < RT_GROUPS; group++)
        forecast->exposed_us[group] = microbatches * sum->link_us[group];
    forecast->exposed_us[RT_GROUP_DATA] +=
        sum->piece[0].begin_link_us + sum->ahead_us + sum->late_us + sum->gather_us;
    forecast->exposed_us[RT_GROUP_PIPELINE] += sends_us(&sum->pipeline, sum->busiest);
    for (int group = 0; group < RT_GROUPS; group++)
        exposed += forecast->exposed_us[group];
    forecast->bubble_us = fmax(0, forecast->communication_us - exposed);
}

static double all_links(const struct sum *sum)
{
    double all = 0;
    for (int group = 0; group < RT_GROUPS; group++)
        all += sum->link_us[group];
    return all;
}

static void set_times(struct rt_forecast *forecast, const struct sum *sum)
{
    double microbatches = (double)forecast->options.parallel.microbatches;
    forecast->compute_us = sum->busy_us + sum->begin_us - sum->begin_wait_us - sum->piece[0].begin_link_us -
                           rt_queued_input_us(forecast) - microbatches * (all_links(sum) + sum->wait_us) +
                           sum->optimizer_us;
    forecast->slowest_us =
        trains(forecast)
            ? rt_slowest_gpu(rt_parallelism_gpus(&forecast->options.parallel)) * forecast->compute_us
            : 0;
    forecast->gather_us = sum->gather_us;
    forecast->ahead_us = sum->ahead_us + sum->begin_us;
    forecast->begin_us = sum->begin_us;
    forecast->busiest = sum->busiest;
    set_phases(forecast, sum);
    set_exposed(forecast, sum);
    bool one = sum->pipeline.stages == 1;
    forecast->forward_us = one ? microbatches * forecast->stage_forward_us[0] - sum->piece[0].first_us : NAN;
    forecast->backward_us = one ? forecast->on_us - forecast->forward_us : NAN;
}

static void allocate(struct rt_forecast *forecast, struct sum *sum)
{
    size_t stages = (size_t)forecast->options.parallel.pipeline,
           pieces = (size_t)rt_pieces(&forecast->options.parallel);
    forecast->stage_forward_us = rt_calloc(3 * pieces + stages, sizeof(double));
    forecast->stage_backward_us = forecast->stage_forward_us + pieces;
    forecast->stage_weights_us = forecast->stage_backward_us + pieces;
    forecast->send_us = forecast->stage_weights_us + pieces;
    sum->piece = rt_calloc(pieces, sizeof *sum->piece);
    sum->ends.stage_us = rt_calloc(stages + pieces, sizeof(double));
    sum->ends.last_us = sum->ends.stage_us + stages;
}

static void send_boundaries(struct sum *sum)
{
    struct rt_forecast *forecast = sum->forecast;
    int64_t stages = forecast->options.parallel.pipeline;
    if (stages == 1)
        return;
    double send =
        rt_collective_us(sum->collectives, RT_OP_SEND_RECEIVE, RT_GROUP_PIPELINE, boundary_bytes(forecast));
    for (int64_t s = 0; s < stages; s++)
        forecast->send_us[s] = send;
}

/* A step of a pipeline, or of one device (a pipeline of one stage, micro batches one after the other). */
void rt_forecast_sum_step(struct rt_forecast *forecast, const struct rt_collectives *collectives)
{
    struct sum sum = {.forecast = forecast, .collectives = collectives};
    allocate(forecast, &sum);
    send_boundaries(&sum);
    pipeline_of(forecast, &sum.pipeline);
    run_pieces(&sum);
    find_busiest(&sum);
    if (!trains(forecast))
        find_most(&sum);
    sum.begin_us = sum.piece[0].begin_us; /* of one stage alone */
    sum.begin_wait_us = sum.piece[0].begin_wait_us;
    sum.passes_us = rt_pipeline_us(&sum.pipeline, &sum.ends, NULL);
    sum.ahead_us = ahead_us(&sum);
    end_stages(&sum);
    sum.passes_us += sum.begin_us;
    set_times(forecast, &sum);
    for (int64_t i = 0; i < rt_pieces(&forecast->options.parallel); i++)
        rt_piece_release(&sum.piece[i]);
    free(sum.piece);
    free(sum.ends.stage_us);
}
