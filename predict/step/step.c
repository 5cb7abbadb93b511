/* Stages, gradient sums and the step. See step.h. */
#include "predict/step/step.h"
#include "base/array.h"
#include "base/status.h"
#include "datasets/designs.h"
#include "models/networks/sequences.h"

#include <math.h>
#include <stdlib.h>

void rt_forecast_sum_phases(struct rt_forecast *forecast)
{
    double trained = 0, computed = 0;
    for (size_t i = 0; i < forecast->launch_count; i++) {
        const struct rt_forecast_launch *launch = &forecast->launches[i];
        const struct rt_node *node = &forecast->graph->nodes[launch->node];
        double time = rt_forecast_launch_total(forecast, launch);
        double first = launch->time_us * (double)rt_graph_repeat(forecast->graph, node);
        forecast->phase_us[launch->kernel.call.phase] += first;
        forecast->phase_us[RT_BACKWARD] += time - first; /* of what is computed again */
        forecast->source_us[launch->source] += time;
        trained += launch->source == RT_TIME_TRAINED ? time : 0;
        computed += launch->source != RT_TIME_LINK ? time : 0;
    }
    forecast->coverage = computed > 0 ? trained / computed : 0;
}

/* How many of a block's repeats run on stage `s` of `stages`: layers are numbered through all layer blocks,
 * the l-th of `layers` runs on stage l x stages / layers. */
static int64_t repeats_on_stage(const struct rt_graph *graph, size_t block, int64_t layers, int64_t s,
                                int64_t stages)
{
    const struct rt_block *b = &graph->blocks[block];
    if (b->role != RT_BLOCK_LAYER)
        return (b->role == RT_BLOCK_FIRST ? s == 0 : s == stages - 1) ? b->repeat : 0;
    int64_t first = 0, from = (s * layers + stages - 1) / stages,
            to = ((s + 1) * layers + stages - 1) / stages;
    for (size_t i = 0; i < block; i++)
        if (graph->blocks[i].role == RT_BLOCK_LAYER)
            first += graph->blocks[i].repeat;
    int64_t last = first + b->repeat;
    from = from > first ? from : first;
    to = to < last ? to : last;
    return to > from ? to - from : 0;
}

int64_t rt_forecast_layers(const struct rt_graph *graph)
{
    int64_t layers = 0;
    for (size_t b = 0; b < graph->block_count; b++)
        layers += graph->blocks[b].role == RT_BLOCK_LAYER ? graph->blocks[b].repeat : 0;
    return layers;
}

/* --- the host --- */

int rt_forecast_check_copies(const struct rt_device *device, const struct rt_forecast_options *options)
{
    bool copies = options->input != RT_TRANSFER_NONE || options->result != RT_TRANSFER_NONE;
    if (!copies || !isnan(rt_device_host_link_gbs(device)))
        return RT_OK;
    return rt_fail(RT_EFORMAT,
                   "%s: what joins it to its host is not known, so copies cannot be forecast; give "
                   "host_link_gbs, such as {gpu} NAME,host_link_gbs=32 for PCIe 4.0",
                   device->name);
}

double rt_queue_launch(struct rt_queue *queue, double dispatch_us, double time_us)
{
    queue->host_us += dispatch_us;
    double next_us = queue->gpu_us + (queue->started ? queue->gap_us : 0);
    double start = queue->host_us > next_us ? queue->host_us : next_us; /* fmax is a call */
    if (!queue->started)
        queue->first_us = start;
    queue->started = true;
    queue->wait_us += start - queue->gpu_us;
    queue->gpu_us = start + time_us;
    return start;
}

static void scale_host(struct rt_host *host, double scale)
{
    double *times[] = {&host->forward_us, &host->backward_us, &host->launch_us, &host->optimizer_us,
                       &host->step_us};
    for (size_t i = 0; i < RT_COUNT(times) && scale > 0; i++)
        *times[i] *= scale;
}

struct rt_dispatch rt_forecast_dispatch(const struct rt_forecast *forecast)
{
    const struct rt_forecast_options *options = &forecast->options;
    const struct rt_runtime *runtime = &rt_runtimes[forecast->graph->options.runtime];
    double each = options->host_us;
    if (isnan(each) && options->server != NULL && options->server->launch_us > 0)
        each = options->server->launch_us;
    if (each == 0 || (isnan(each) && options->host == NULL && !runtime->hosted))
        return (struct rt_dispatch){0};
    struct rt_host host = options->host != NULL ? *options->host : *rt_host_default();
    if (!isnan(each))
        host.forward_us = host.backward_us = host.launch_us = each;
    scale_host(&host, options->scales.host);
    /* Where a time is given for each kernel, a host launches them one by one, but for what is captured. */
    return rt_host_dispatch(&host, runtime->replayed && (isnan(each) || runtime->hosted));
}

static double copy_us(const struct rt_forecast *forecast, enum rt_transfer copy, double bytes)
{
    const struct rt_host *host = forecast->options.host;
    return rt_host_copy_us(host != NULL ? host : rt_host_default(), forecast->device, copy, bytes);
}

static double input_us(const struct rt_forecast *forecast)
{
    return copy_us(forecast, forecast->options.input, forecast->graph->input_bytes);
}

bool rt_step_is_one_queue(const struct rt_forecast *forecast)
{
    return forecast->options.parallel.pipeline == 1 && forecast->options.parallel.microbatches == 1;
}

/* Of a copy that is queued before the kernels, which the host launches meanwhile. */
static double queued_input_us(const struct rt_forecast *forecast)
{
    const struct rt_forecast_options *options = &forecast->options;
    bool queued = rt_step_is_one_queue(forecast) && options->input == RT_TRANSFER_PINNED && !options->overlap;
    return queued ? input_us(forecast) : 0;
}

/* The gradients of a stage in the order of its backward pass. */
struct gradients {
    double *ready_us, *bytes; /* (capacity); ready_us: since the pass began */
    size_t count, capacity;
};

static void add_gradient(struct gradients *gradients, double ready_us, double bytes)
{
    if (gradients->count == gradients->capacity) {
        gradients->capacity = gradients->capacity > 0 ? 2 * gradients->capacity : 256;
        gradients->ready_us = rt_realloc(gradients->ready_us, gradients->capacity, sizeof(double));
        gradients->bytes = rt_realloc(gradients->bytes, gradients->capacity, sizeof(double));
    }
    gradients->ready_us[gradients->count] = ready_us;
    gradients->bytes[gradients->count++] = bytes;
}

/* Kernels of a unit (a repetition of a block) in the order of the forward pass: listed once, run as often as
 * the block repeats. */
struct unit {
    struct unit_launch {
        const struct rt_forecast_launch *launch;
        double dispatch_us, time_us, link_us;
    } * launch; /* (capacity) */
    size_t count, capacity;
};

/* A stage of a pipeline, or all of the graph, in one pass. */
struct stage {
    const struct rt_forecast *forecast;
    const struct rt_collectives *collectives;
    struct rt_dispatch dispatch;
    int64_t number;
    struct rt_queue queue;
    struct gradients gradients;
    struct unit unit;
    double forward_us, backward_us;    /* with what kernels wait; backward with accumulation, no optimizer */
    double wait_us;                    /* that kernels wait for the host, in both passes */
    double first_us;                   /* until the first kernel of the forward pass starts */
    double link_us;                    /* in collectives */
    double optimizer_us;               /* of all weights of the graph, on the GPU */
    double layers;                     /* with weights */
    double gathered_us;                /* when the last unit's weights were there; of a sharded model */
    double unit_us;                    /* when the last unit began */
    const struct rt_step_watch *watch; /* NULL: nobody is told */
};

double rt_dispatch_us(const struct rt_dispatch *dispatch, const struct rt_forecast *forecast, size_t node,
                      uint32_t launch)
{
    const struct rt_forecast_launch *l = &forecast->launches[launch];
    bool nested = forecast->graph->nodes[node].nested && l->kernel.call.phase != RT_ACCUMULATE;
    bool further =
        nested || (launch > forecast->node_launch[node] && l[-1].kernel.call.phase == l->kernel.call.phase);
    double first = l->kernel.call.phase == RT_FORWARD ? dispatch->forward_us : dispatch->backward_us;
    return further ? fmin(first, dispatch->launch_us) : first;
}

static void list_unit(struct stage *stage, size_t block)
{
    const struct rt_forecast *forecast = stage->forecast;
    const struct rt_block *b = &forecast->graph->blocks[block];
    struct unit *unit = &stage->unit;
    unit->count = 0;
    for (uint32_t n = b->node; n < b->node + b->node_count; n++)
        for (uint32_t i = forecast->node_launch[n]; i < forecast->node_launch[n + 1]; i++) {
            const struct rt_forecast_launch *launch = &forecast->launches[i];
            if (launch->kernel.call.phase != RT_FORWARD)
                continue;
            RT_GROW(unit->launch, unit->count, 1, unit->capacity);
            unit->launch[unit->count++] =
                (struct unit_launch){launch, rt_dispatch_us(&stage->dispatch, forecast, n, i),
                                     launch->time_us, launch->source == RT_TIME_LINK ? launch->time_us : 0};
        }
}

/* All layers of a model pass through here: the queue is in registers. */
static void run_unit(struct stage *stage, int64_t repeat)
{
    struct rt_queue queue = stage->queue;
    for (size_t i = 0; i < stage->unit.count; i++) {
        const struct unit_launch *l = &stage->unit.launch[i];
        double start = rt_queue_launch(&queue, l->dispatch_us, l->time_us);
        if (stage->watch != NULL)
            stage->watch->launch(stage->watch->context, l->launch, repeat, start);
        stage->link_us += l->link_us;
    }
    stage->queue = queue;
}

/* A node's backward pass, `repeat` of its block, from 0; the optimizer's kernels come behind all of it. */
static void run_node(struct stage *stage, size_t node, int64_t repeat)
{
    const struct rt_forecast *forecast = stage->forecast;
    for (uint32_t i = forecast->node_launch[node]; i < forecast->node_launch[node + 1]; i++) {
        const struct rt_forecast_launch *launch = &forecast->launches[i];
        if (launch->kernel.call.op == RT_OP_OPTIMIZER) {
            stage->optimizer_us += launch->time_us;
            continue;
        }
        if (launch->kernel.call.phase == RT_FORWARD)
            continue;
        double start = rt_queue_launch(&stage->queue, rt_dispatch_us(&stage->dispatch, forecast, node, i),
                                       launch->time_us);
        if (stage->watch != NULL)
            stage->watch->launch(stage->watch->context, launch, repeat, start);
        stage->link_us += launch->source == RT_TIME_LINK ? launch->time_us : 0;
    }
}

/* Where the weights are shared out, a unit's are gathered while the one before runs; its kernels wait for
 * them. */
static void gather_unit(struct stage *stage, size_t block)
{
    const struct rt_forecast *forecast = stage->forecast;
    const struct rt_graph *graph = forecast->graph;
    const struct rt_parallelism *parallel = &forecast->options.parallel;
    double parameters = 0, began = stage->queue.gpu_us;
    if (parallel->shard != RT_SHARD_PARAMETERS || parallel->data == 1)
        return;
    for (uint32_t n = 0; n < graph->blocks[block].node_count; n++)
        parameters += graph->nodes[graph->blocks[block].node + n].parameters;
    if (parameters == 0)
        return;
    double bytes = rt_dtypes[rt_graph_weight_dtype(graph)].bytes * parameters;
    double start = fmax(stage->gathered_us, parallel->no_overlap ? began : stage->unit_us);
    stage->gathered_us = start + rt_collective_us(stage->collectives, RT_OP_ALL_GATHER, RT_GROUP_DATA, bytes);
    stage->queue.gpu_us = fmax(began, stage->gathered_us);
    stage->link_us += stage->queue.gpu_us - began;
    stage->unit_us = stage->queue.gpu_us;
    if (stage->watch != NULL)
        stage->watch->gather(stage->watch->context, start, stage->gathered_us, bytes);
}

static void begin_queue(struct stage *stage)
{
    stage->queue = (struct rt_queue){.host_us = stage->dispatch.first_us,
                                     .gap_us = rt_design_of(stage->forecast->device)->gap_us};
}

static void run_forward(struct stage *stage)
{
    const struct rt_graph *graph = stage->forecast->graph;
    int64_t layers = rt_forecast_layers(graph), stages = stage->forecast->options.parallel.pipeline;
    begin_queue(stage);
    stage->queue.gpu_us = queued_input_us(stage->forecast);
    for (size_t b = 0; b < graph->block_count; b++) {
        int64_t repeats = repeats_on_stage(graph, b, layers, stage->number, stages);
        list_unit(stage, b);
        for (int64_t r = 0; r < repeats; r++) {
            gather_unit(stage, b);
            run_unit(stage, r);
        }
    }
    stage->forward_us = stage->queue.gpu_us;
    stage->wait_us = stage->queue.wait_us;
    stage->first_us = stage->queue.first_us;
}

/* Checkpoints: a layer's forward kernels run again. */
static bool runs_again(const struct rt_graph *graph, size_t block)
{
    return graph->options.recompute == RT_RECOMPUTE_LAYERS && graph->blocks[block].role == RT_BLOCK_LAYER;
}

/* In one queue the host goes on launching where it is; else it begins again. */
static void run_backward(struct stage *stage)
{
    const struct rt_graph *graph = stage->forecast->graph;
    int64_t layers = rt_forecast_layers(graph), stages = stage->forecast->options.parallel.pipeline;
    double width = rt_dtypes[graph->options.dtype].bytes;
    if (!rt_step_is_one_queue(stage->forecast)) {
        begin_queue(stage);
        stage->gathered_us = stage->unit_us = 0;
    }
    double began = stage->queue.gpu_us, waited = stage->queue.wait_us;
    for (size_t b = graph->block_count; b-- > 0;) {
        bool again = runs_again(graph, b);
        if (again)
            list_unit(stage, b);
        for (int64_t r = repeats_on_stage(graph, b, layers, stage->number, stages); r-- > 0;) {
            gather_unit(stage, b);
            if (again)
                run_unit(stage, r);
            for (uint32_t n = graph->blocks[b].node_count; n-- > 0;) {
                double parameters = graph->nodes[graph->blocks[b].node + n].parameters;
                run_node(stage, graph->blocks[b].node + n, r);
                stage->layers += parameters > 0;
                if (parameters > 0)
                    add_gradient(&stage->gradients, stage->queue.gpu_us - began, width * parameters);
            }
        }
    }
    stage->backward_us = stage->queue.gpu_us - began;
    stage->wait_us += stage->queue.wait_us - waited;
}

static void run_passes(struct stage *stage)
{
    stage->dispatch = rt_forecast_dispatch(stage->forecast);
    run_forward(stage);
    if (stage->forecast->graph->options.step == RT_STEP_TRAINING)
        run_backward(stage);
}

static void release_stage(struct stage *stage)
{
    free(stage->gradients.ready_us);
    free(stage->gradients.bytes);
    free(stage->unit.launch);
}

void rt_step_run(const struct rt_forecast *forecast, const struct rt_collectives *collectives,
                 const struct rt_step_watch *watch)
{
    struct stage stage = {.forecast = forecast, .collectives = collectives, .watch = watch};
    run_passes(&stage);
    release_stage(&stage);
}

/* How much later than the backward pass the gradients of a stage are summed over the data-parallel group. */
static double sums_are_late(struct rt_forecast *forecast, const struct stage *stage,
                            const struct rt_collectives *collectives)
{
    const struct rt_parallelism *parallel = &forecast->options.parallel;
    const struct gradients *gradients = &stage->gradients;
    if (parallel->data == 1 || gradients->count == 0)
        return 0;
    bool kept = stage->number == 0;
    struct rt_gradient_sum *sums = kept ? rt_malloc(gradients->count * sizeof *sums) : NULL;
    size_t count;
    double end = rt_gradient_sums_us(gradients->ready_us, gradients->bytes, gradients->count, RT_GROUP_DATA,
                                     parallel, collectives, sums, &count);
    if (kept) {
        forecast->sums = sums;
        forecast->sum_count = count;
    }
    return fmax(0, end - stage->backward_us);
}

/* How long the optimizer's kernels wait for the host, which launches them behind the backward pass. */
static double optimizer_wait(const struct stage *stage, double late)
{
    double dispatch = stage->dispatch.optimizer_us * stage->layers;
    if (stage->optimizer_us == 0)
        return 0;
    if (!rt_step_is_one_queue(stage->forecast))
        return dispatch;
    return fmax(0, stage->queue.host_us + dispatch - stage->queue.gpu_us - late);
}

/* Sharded, each GPU steps its part of the weights; where each holds all of them, the others' are gathered. */
static double step_shards(const struct rt_forecast *forecast, const struct stage *stage)
{
    const struct rt_parallelism *parallel = &forecast->options.parallel;
    bool gathers = parallel->shard == RT_SHARD_OPTIMIZER || parallel->shard == RT_SHARD_GRADIENTS;
    double bytes = 0;
    for (size_t g = 0; g < stage->gradients.count; g++)
        bytes += stage->gradients.bytes[g];
    if (!gathers || parallel->data == 1 || bytes == 0)
        return 0;
    return rt_collective_us(stage->collectives, RT_OP_ALL_GATHER, RT_GROUP_DATA, bytes);
}

/* What all stages come to. */
struct sum {
    double late_us, optimizer_us, optimizer_wait_us, link_us, wait_us, first_us;
};

static void add_stage(struct rt_forecast *forecast, int64_t number, const struct rt_collectives *collectives,
                      struct sum *sum)
{
    struct stage stage = {.forecast = forecast, .collectives = collectives, .number = number};
    double stages = (double)forecast->options.parallel.pipeline;
    run_passes(&stage);
    double gather = step_shards(forecast, &stage),
           late = sums_are_late(forecast, &stage, collectives) + gather;
    forecast->stage_forward_us[number] = stage.forward_us;
    forecast->stage_backward_us[number] = stage.backward_us;
    sum->first_us = number == 0 ? stage.first_us : sum->first_us;
    sum->late_us = fmax(sum->late_us, late);
    forecast->gather_us = fmax(forecast->gather_us, gather);
    sum->wait_us = fmax(sum->wait_us, stage.wait_us);
    sum->link_us = fmax(sum->link_us, stage.link_us);
    sum->optimizer_us = fmax(sum->optimizer_us, stage.optimizer_us / stages); /* each steps its own weights */
    sum->optimizer_wait_us = fmax(sum->optimizer_wait_us, optimizer_wait(&stage, late));
    release_stage(&stage);
}

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

double rt_step_server_busy_us(const struct rt_forecast *forecast)
{
    const struct rt_server *server = forecast->options.server;
    return server != NULL ? rt_server_busy_us(server, sequences_of(&forecast->graph->options)) : 0;
}

/* The copies of a step, beside those that wait in the queue: what of them nothing hides. */
static double input_before(const struct rt_forecast *forecast, double step_us)
{
    const struct rt_forecast_options *options = &forecast->options;
    double copy = (double)options->parallel.microbatches * input_us(forecast);
    if (options->overlap)
        return fmax(0, copy - step_us);
    return queued_input_us(forecast) > 0 ? 0 : copy;
}

static void set_phases(struct rt_forecast *forecast, double passes_us, const struct sum *sum)
{
    const struct rt_forecast_options *options = &forecast->options;
    double microbatches = (double)options->parallel.microbatches;
    double fixed = server_us(forecast) + rt_forecast_dispatch(forecast).step_us;
    double step = fixed + passes_us + sum->late_us + sum->optimizer_us + sum->optimizer_wait_us;
    double input = input_before(forecast, step);
    forecast->after_us = microbatches * copy_us(forecast, options->result, forecast->graph->result_bytes);
    forecast->total_us = step + input + forecast->after_us;
    forecast->queue_us = fixed + input;
    forecast->before_us = forecast->queue_us + sum->first_us;
    forecast->on_us = forecast->total_us - forecast->before_us - forecast->after_us;
    forecast->host_us = fixed + microbatches * sum->wait_us + sum->optimizer_wait_us;
    forecast->copy_us = input + queued_input_us(forecast) + forecast->after_us;
}

/* A step of a pipeline, or of one device (a pipeline of one stage, microbatches one after the other). */
void rt_forecast_sum_step(struct rt_forecast *forecast, const struct rt_collectives *collectives)
{
    const struct rt_graph *graph = forecast->graph;
    const struct rt_parallelism *parallel = &forecast->options.parallel;
    int64_t stages = parallel->pipeline, microbatches = parallel->microbatches;
    bool training = graph->options.step == RT_STEP_TRAINING;
    double *forward = forecast->stage_forward_us = rt_calloc((size_t)stages, sizeof *forward);
    double *backward = forecast->stage_backward_us = rt_calloc((size_t)stages, sizeof *backward);
    struct sum sum = {0};
    double busy;
    forecast->gather_us = 0;
    forecast->pass_ends_us = rt_malloc(2 * (size_t)(stages * microbatches) * sizeof(double));
    for (int64_t s = 0; s < stages; s++)
        add_stage(forecast, s, collectives, &sum);
    double bytes = rt_dtypes[graph->options.dtype].bytes * graph->boundary;
    double send =
        stages > 1 ? rt_collective_us(collectives, RT_OP_SEND_RECEIVE, RT_GROUP_PIPELINE, bytes) : 0;
    double passes = rt_pipeline_us(forward, training ? backward : NULL, stages, microbatches, send,
                                   parallel->schedule, &busy, forecast->pass_ends_us);
    set_phases(forecast, passes, &sum);
    forecast->compute_us = busy - queued_input_us(forecast) -
                           (double)microbatches * (sum.link_us + sum.wait_us) + sum.optimizer_us;
    forecast->communication_us =
        forecast->total_us - forecast->compute_us - forecast->host_us - forecast->copy_us;
    forecast->forward_us = stages == 1 ? (double)microbatches * forward[0] - sum.first_us : NAN;
    forecast->backward_us = stages == 1 ? forecast->on_us - forecast->forward_us : NAN;
}
