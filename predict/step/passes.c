/* The passes of a piece of the layers. See passes.h. */
#include "predict/step/passes.h"
#include "base/array.h"
#include "base/status.h"
#include "datasets/cluster.h"
#include "datasets/designs.h"
#include "predict/step/overlap.h"

#include <math.h>
#include <stdlib.h>

/* --- the layers of a piece --- */

int64_t rt_forecast_layers(const struct rt_graph *graph)
{
    int64_t layers = 0;
    for (size_t b = 0; b < graph->block_count; b++)
        layers += graph->blocks[b].role == RT_BLOCK_LAYER ? graph->blocks[b].repeat : 0;
    return layers;
}

static bool multiplies(const struct rt_graph *graph, const struct rt_node *node)
{
    for (uint32_t k = node->kernel; k < node->kernel + node->kernel_count; k++)
        if (graph->kernels[k].call.op == RT_OP_LINEAR)
            return true;
    return false;
}

/* What the head weighs in layers, by weights of products. */
static double head_layers(const struct rt_graph *graph)
{
    double layers = 0, head = 0;
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct rt_block *block = &graph->blocks[graph->nodes[n].block];
        double weights =
            multiplies(graph, &graph->nodes[n]) ? (double)block->repeat * graph->nodes[n].parameters : 0;
        layers += block->role == RT_BLOCK_LAYER ? weights : 0;
        head += block->role == RT_BLOCK_LAST ? weights : 0;
    }
    return layers > 0 ? head / layers * (double)rt_forecast_layers(graph) : 0;
}

/* A piece ends with the layer that passes its share of the weights (nanotron/models/base.py, build_model). */
static int64_t balanced_layer(const struct rt_graph *graph, int64_t piece, int64_t pieces)
{
    int64_t layers = rt_forecast_layers(graph);
    double share = ((double)layers + head_layers(graph)) * (double)piece / (double)pieces;
    int64_t first = piece == 0 ? 0 : (int64_t)floor(share + 1e-9) + 1;
    return first < layers ? first : layers;
}

/* The first layer of a piece. */
static int64_t first_layer(const struct rt_graph *graph, int64_t piece, int64_t pieces)
{
    int64_t layers = rt_forecast_layers(graph);
    if (rt_graph_trains(graph) && rt_runtimes[graph->options.runtime].balances_stages)
        return balanced_layer(graph, piece, pieces);
    if (rt_graph_trains(graph) && layers % pieces != 0 && (layers + 2) % pieces == 0) {
        int64_t first =
            piece * ((layers + 2) / pieces) - 1; /* of embedding, layers and head, the layers from 0 on */
        return first < 0 ? 0 : first < layers ? first : layers;
    }
    int64_t each = (layers + pieces - 1) / pieces;
    if (rt_graph_trains(graph) && rt_runtimes[graph->options.runtime].engine && layers > (pieces - 2) * each)
        return piece * each < layers ? piece * each : layers;
    return (piece * layers + pieces - 1) / pieces;
}

int64_t rt_piece_repeats(const struct rt_graph *graph, size_t block, int64_t piece, int64_t pieces)
{
    const struct rt_block *b = &graph->blocks[block];
    if (b->role != RT_BLOCK_LAYER)
        return (b->role == RT_BLOCK_FIRST ? piece == 0 : piece == pieces - 1) ? b->repeat : 0;
    if (graph->alternates)
        return (piece + 1) * b->repeat / pieces - piece * b->repeat / pieces;
    int64_t first = 0, from = first_layer(graph, piece, pieces), to = first_layer(graph, piece + 1, pieces);
    for (size_t i = 0; i < block; i++)
        if (graph->blocks[i].role == RT_BLOCK_LAYER)
            first += graph->blocks[i].repeat;
    int64_t last = first + b->repeat;
    from = from > first ? from : first;
    to = to < last ? to : last;
    return to > from ? to - from : 0;
}

bool rt_pieces_alike(const struct rt_graph *graph, int64_t a, int64_t b, int64_t pieces)
{
    for (size_t block = 0; block < graph->block_count; block++)
        if (rt_piece_repeats(graph, block, a, pieces) != rt_piece_repeats(graph, block, b, pieces))
            return false;
    return true;
}

/* --- the host --- */

const struct rt_host *rt_forecast_host(const struct rt_forecast *forecast)
{
    return forecast->options.host != NULL ? forecast->options.host
                                          : rt_host_of_runtime(forecast->graph->options.runtime);
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

/* The host's times where stages are on several servers, over those elsewhere: struct rt_host's `staged`. */
static double staged(const struct rt_forecast *forecast, const struct rt_host *host)
{
    const struct rt_parallelism *parallel = &forecast->options.parallel;
    int64_t node_gpus = rt_cluster_settled(&parallel->cluster, forecast->device).node_gpus;
    bool over = parallel->pipeline > 1 && rt_parallelism_gpus(parallel) > node_gpus;
    return over ? fmax(1, host->staged * (double)parallel->tensor) : 1;
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
    struct rt_host host = *rt_forecast_host(forecast);
    if (!isnan(each))
        host.forward_us = host.backward_us = host.launch_us = each;
    scale_host(&host, options->scales.host);
    double step_us = host.step_us; /* not of a layer */
    if (isnan(each))
        scale_host(&host, staged(forecast, &host));
    host.step_us = step_us;
    /* Where a time is given for each kernel, a host launches them one by one, but for what is captured. */
    bool replayed = runtime->replayed && (isnan(each) || runtime->hosted);
    return rt_host_dispatch(&host, replayed || forecast->graph->options.cuda_graphs == RT_CAPTURES_STEP);
}

static bool is_captured(const struct rt_graph *graph, size_t node)
{
    const struct rt_node *n = &graph->nodes[node];
    unsigned layer = graph->blocks[n->block].role == RT_BLOCK_LAYER ? RT_CAPTURES_LAYERS : RT_CAPTURES_STEP;
    return graph->options.cuda_graphs >= (n->captures != 0 ? n->captures : layer);
}

double rt_dispatch_us(const struct rt_dispatch *dispatch, const struct rt_forecast *forecast, size_t node,
                      uint32_t launch)
{
    const struct rt_graph *graph = forecast->graph;
    const struct rt_forecast_launch *l = &forecast->launches[launch];
    const struct rt_node *n = &graph->nodes[node];
    bool nested = n->nested && l->kernel.call.phase != RT_ACCUMULATE;
    bool further =
        nested || (launch > forecast->node_launch[node] && l[-1].kernel.call.phase == l->kernel.call.phase);
    double first = l->kernel.call.phase == RT_FORWARD ? dispatch->forward_us : dispatch->backward_us;
    if (is_captured(graph, node) &&
        (further || (node > graph->blocks[n->block].node && is_captured(graph, node - 1))))
        return 0;
    unsigned operators = n->operators[l->kernel.call.phase != RT_FORWARD];
    double own = further ? fmin(first, dispatch->launch_us)
                         : first * (operators == 0 || is_captured(graph, node) ? 1 : operators);
    bool apart = n->role == RT_NODE_EXPERTS && l->kernel.call.op == RT_OP_LINEAR;
    return apart ? own + (l->kernel.multiple - 1) * fmin(first, dispatch->launch_us) : own;
}

double rt_input_us(const struct rt_forecast *forecast)
{
    return rt_host_copy_us(rt_forecast_host(forecast), forecast->device, forecast->options.input,
                           forecast->graph->input_bytes);
}

bool rt_step_is_one_queue(const struct rt_forecast *forecast)
{
    return forecast->options.parallel.pipeline == 1 && forecast->options.parallel.microbatches == 1;
}

double rt_queued_input_us(const struct rt_forecast *forecast)
{
    const struct rt_forecast_options *options = &forecast->options;
    bool queued = rt_step_is_one_queue(forecast) && options->input == RT_TRANSFER_PINNED && !options->overlap;
    return queued ? rt_input_us(forecast) : 0;
}

/* --- passes --- */

/* Whose weights are gathered before it runs. */
enum gathering {
    GATHERS_NONE,
    GATHERS_EACH, /* every unit's while the one before it runs: shared out */
    GATHERS_AHEAD /* all of them from the step's begin on: ZeRO 1 and 2 stepped a share of them */
};

/* A pass, or several that follow one another. */
struct run {
    const struct rt_forecast *forecast;
    const struct rt_collectives *collectives;
    const struct rt_overlap *overlap;
    struct rt_dispatch dispatch;
    int64_t number;
    struct rt_queue queue;
    /* Kernels of a unit (a repetition of a block) in the order of the forward pass: listed once, run as often
     * as the block repeats. */
    struct unit {
        struct unit_launch {
            const struct rt_forecast_launch *launch;
            double dispatch_us, time_us, link_us;
            enum rt_gpu_group group;
            bool awaited; /* the host waits until it starts */
        } * launch;       /* (capacity) */
        size_t count, capacity;
        double weights_bytes, gather_us, sum_bytes, sum_us; /* of weights that are shared out */
        double join_weights_us, join_gradients_us;          /* copies of them */
    } unit;
    enum gathering gathering;
    double free_us;                     /* when the link between data-parallel GPUs is */
    double unit_us;                     /* when the last unit began */
    double ended_us, sum_us, sum_bytes; /* of a unit whose gradients are still to be summed: when it ended */
    double beside_us, exposed_us;      /* of this pass: that the link is busy, and that kernels wait for it */
    double kernels_us, of_weights_us;  /* of a backward pass: all, and those that make gradients of weights */
    const struct rt_step_watch *watch; /* NULL: nobody is told */
    struct rt_piece *piece;
};

static double gradient_bytes(const struct run *run)
{
    double bytes = run->overlap->gradient_bytes;
    return bytes > 0 ? bytes : rt_dtypes[rt_graph_weight_dtype(run->forecast->graph)].bytes;
}

/* What is gathered and summed of a unit. */
static void list_weights(struct run *run, size_t block)
{
    const struct rt_graph *graph = run->forecast->graph;
    struct unit *unit = &run->unit;
    double gathered[RT_GROUPS] = {0}, trained = 0;
    unit->weights_bytes = unit->gather_us = unit->sum_bytes = unit->sum_us = 0;
    unit->join_weights_us = unit->join_gradients_us = 0;
    if (run->gathering == GATHERS_NONE)
        return;
    for (uint32_t n = graph->blocks[block].node;
         n < graph->blocks[block].node + graph->blocks[block].node_count; n++) {
        const struct rt_node *node = &graph->nodes[n];
        bool stepped = run->gathering == GATHERS_AHEAD; /* else all: frozen ones are shared out, too */
        gathered[rt_weights_group(&run->forecast->options.parallel, node)] +=
            rt_dtypes[rt_graph_weight_dtype(graph)].bytes *
            (stepped ? rt_node_trained(node) : node->parameters);
        trained += rt_node_trained(node);
    }
    for (int group = 0; group < RT_GROUPS; group++)
        if (gathered[group] > 0 && run->collectives->groups[group].gpus > 1) {
            unit->weights_bytes += gathered[group];
            unit->gather_us += rt_collective_us(run->collectives, RT_OP_ALL_GATHER, (enum rt_gpu_group)group,
                                                gathered[group]);
        }
    unit->sum_bytes = gradient_bytes(run) * trained;
    if (run->gathering != GATHERS_EACH)
        return;
    unit->sum_us = rt_gradient_sum_us(run->collectives, RT_GROUP_DATA, true, unit->sum_bytes);
    unit->join_weights_us =
        run->overlap->joins_weights ? rt_join_us(run->collectives, unit->weights_bytes) : 0;
    unit->join_gradients_us =
        run->overlap->joins_gradients ? rt_join_us(run->collectives, unit->sum_bytes) : 0;
}

static void list_unit(struct run *run, size_t block)
{
    const struct rt_forecast *forecast = run->forecast;
    const struct rt_block *b = &forecast->graph->blocks[block];
    struct unit *unit = &run->unit;
    unit->count = 0;
    for (uint32_t n = b->node; n < b->node + b->node_count; n++)
        for (uint32_t i = forecast->node_launch[n]; i < forecast->node_launch[n + 1]; i++) {
            const struct rt_forecast_launch *launch = &forecast->launches[i];
            if (launch->kernel.call.phase != RT_FORWARD)
                continue;
            double time = rt_launch_in_line_us(forecast, launch);
            RT_GROW(unit->launch, unit->count, 1, unit->capacity);
            unit->launch[unit->count++] = (struct unit_launch){launch,
                                                               rt_dispatch_us(&run->dispatch, forecast, n, i),
                                                               time,
                                                               launch->source == RT_TIME_LINK ? time : 0,
                                                               launch->kernel.group,
                                                               forecast->graph->nodes[n].awaited};
        }
}

/* All layers of a model pass through here: the queue is in registers. */
static void run_unit(struct run *run, int64_t repeat)
{
    struct rt_queue queue = run->queue;
    double kernels_us = run->kernels_us;
    bool waits = run->dispatch.forward_us > 0;
    for (size_t i = 0; i < run->unit.count; i++) {
        const struct unit_launch *l = &run->unit.launch[i];
        double start = rt_queue_launch(&queue, l->dispatch_us, l->time_us);
        if (l->awaited && waits && queue.host_us < start)
            queue.host_us = start;
        if (run->watch != NULL)
            run->watch->launch(run->watch->context, l->launch, repeat, start);
        if (l->link_us > 0)
            run->piece->link_us[l->group] += l->link_us;
        kernels_us += l->time_us;
    }
    run->queue = queue;
    run->kernels_us = kernels_us;
}

/* A node's backward pass, `repeat` of its block, from 0; the optimizer's kernels come behind all of it. */
static void run_node(struct run *run, size_t node, int64_t repeat)
{
    const struct rt_forecast *forecast = run->forecast;
    bool splits = forecast->options.parallel.schedule == RT_PIPELINE_ZERO_BUBBLE;
    for (uint32_t i = forecast->node_launch[node]; i < forecast->node_launch[node + 1]; i++) {
        const struct rt_forecast_launch *launch = &forecast->launches[i];
        if (launch->kernel.call.op == RT_OP_OPTIMIZER) {
            run->piece->optimizer_us += launch->time_us;
            continue;
        }
        bool adds = launch->kernel.call.phase == RT_ACCUMULATE;
        if (launch->kernel.call.phase == RT_FORWARD || (adds && forecast->accumulates == 0))
            continue;
        double time = rt_launch_in_line_us(forecast, launch) * (adds ? forecast->accumulates : 1);
        double start = rt_queue_launch(&run->queue, rt_dispatch_us(&run->dispatch, forecast, node, i), time);
        if (run->watch != NULL)
            run->watch->launch(run->watch->context, launch, repeat, start);
        run->piece->link_us[launch->kernel.group] += launch->source == RT_TIME_LINK ? time : 0;
        run->kernels_us += time;
        run->of_weights_us += splits && rt_launch_of_weights(forecast, launch) ? time : 0;
    }
}

/* A collective between data-parallel GPUs, no earlier than `from_us`; what went before it on the link has
 * ended. */
static void run_beside(struct run *run, enum rt_op_id op, double from_us, double time_us, double bytes)
{
    double start = fmax(run->free_us, from_us);
    run->free_us = start + time_us;
    run->beside_us += time_us;
    if (run->watch != NULL && run->watch->beside != NULL)
        run->watch->beside(run->watch->context, op, start, run->free_us, bytes);
}

/* Kernels wait for what the link does. */
static void wait_for_link(struct run *run)
{
    double waits = fmax(0, run->free_us - run->queue.gpu_us);
    run->queue.gpu_us += waits;
    run->piece->link_us[RT_GROUP_DATA] += waits;
    run->exposed_us += waits;
}

/* Sums the last unit's gradients: the link has taken the weights of the next one before, which were asked for
 * when the last one began. */
static void sum_last(struct run *run)
{
    if (run->sum_us == 0)
        return;
    run_beside(run, RT_OP_REDUCE_SCATTER, run->ended_us, run->sum_us, run->sum_bytes);
    run->sum_us = 0;
}

static void join(struct run *run, double time_us)
{
    run->queue.gpu_us += time_us;
    run->piece->link_us[RT_GROUP_DATA] += time_us;
}

/* A unit's weights are gathered while the one before runs; its kernels wait for them. */
static void gather_unit(struct run *run)
{
    bool apart = run->forecast->options.parallel.no_overlap;
    if (run->unit.gather_us == 0)
        return;
    double from = run->gathering == GATHERS_AHEAD ? 0 : apart ? run->queue.gpu_us : run->unit_us;
    run_beside(run, RT_OP_ALL_GATHER, from, run->unit.gather_us, run->unit.weights_bytes);
    wait_for_link(run);
    join(run, run->unit.join_weights_us);
    run->unit_us = run->queue.gpu_us;
    sum_last(run);
}

static void sum_unit(struct run *run)
{
    sum_last(run);
    join(run, run->unit.join_gradients_us);
    run->ended_us = run->queue.gpu_us;
    run->sum_us = run->unit.sum_us;
    run->sum_bytes = run->unit.sum_bytes;
    if (run->sum_us > 0 && run->forecast->options.parallel.no_overlap) {
        sum_last(run);
        wait_for_link(run);
    }
}

static void begin_queue(struct run *run)
{
    run->queue = (struct rt_queue){.host_us = run->dispatch.first_us,
                                   .gap_us = rt_design_of(run->forecast->device)->gap_us};
    run->free_us = run->unit_us = 0;
}

static void begin_pass(struct run *run)
{
    run->beside_us = run->exposed_us = run->kernels_us = run->of_weights_us = 0;
}

/* What is left of the link's work, and what hiding the rest cost. */
static void end_pass(struct run *run)
{
    if (run->beside_us == 0)
        return;
    sum_last(run);
    wait_for_link(run);
    double slower = rt_overlap_share(run->forecast->device) * (run->beside_us - run->exposed_us);
    run->queue.gpu_us += slower;
    run->piece->link_us[RT_GROUP_DATA] += slower;
}

static void run_forward(struct run *run)
{
    const struct rt_graph *graph = run->forecast->graph;
    int64_t pieces = rt_pieces(&run->forecast->options.parallel);
    begin_pass(run);
    for (size_t b = 0; b < graph->block_count; b++) {
        int64_t repeats = rt_piece_repeats(graph, b, run->number, pieces);
        if (repeats == 0)
            continue;
        list_unit(run, b);
        list_weights(run, b);
        for (int64_t r = 0; r < repeats; r++) {
            gather_unit(run);
            run_unit(run, r);
        }
    }
    end_pass(run);
}

/* Checkpoints: a layer's forward kernels run again. */
static bool runs_again(const struct rt_graph *graph, size_t block)
{
    return graph->options.recompute == RT_RECOMPUTE_LAYERS && graph->blocks[block].role == RT_BLOCK_LAYER;
}

static void add_gradient(struct run *run, const struct rt_node *node, double ready_us)
{
    const struct rt_graph *graph = run->forecast->graph;
    struct rt_gradients *gradients = &run->piece->gradients;
    gradients
        ->weights_bytes[rt_weights_group(&run->forecast->options.parallel, node) == RT_GROUP_EXPERT_DATA] +=
        rt_dtypes[rt_graph_weight_dtype(graph)].bytes * node->parameters;
    RT_GROW(gradients->gradient, gradients->count, 1, gradients->capacity);
    gradients->gradient[gradients->count++] =
        (struct rt_gradient){ready_us, gradient_bytes(run) * rt_node_trained(node),
                             rt_gradient_group(&run->forecast->options.parallel, node)};
}

static void run_backward_unit(struct run *run, size_t block, int64_t repeat, double began_us)
{
    const struct rt_graph *graph = run->forecast->graph;
    gather_unit(run);
    if (runs_again(graph, block))
        run_unit(run, repeat);
    for (uint32_t n = graph->blocks[block].node_count; n-- > 0;) {
        const struct rt_node *node = &graph->nodes[graph->blocks[block].node + n];
        run_node(run, graph->blocks[block].node + n, repeat);
        run->piece->layers += rt_node_trained(node) > 0;
        if (rt_node_trained(node) > 0)
            add_gradient(run, node, run->queue.gpu_us - began_us);
    }
    sum_unit(run);
}

static void run_backward(struct run *run)
{
    const struct rt_graph *graph = run->forecast->graph;
    int64_t pieces = rt_pieces(&run->forecast->options.parallel);
    double began = run->queue.gpu_us;
    begin_pass(run);
    for (size_t b = graph->block_count; b-- > 0;) {
        int64_t repeats = rt_piece_repeats(graph, b, run->number, pieces);
        if (repeats > 0 && runs_again(graph, b))
            list_unit(run, b);
        if (repeats > 0)
            list_weights(run, b);
        for (int64_t r = repeats; r-- > 0;)
            run_backward_unit(run, b, r, began);
    }
    end_pass(run);
}

/* --- a piece --- */

/* Does the host launch micro batches ahead? Between stages of a pipeline it waits for what comes
 * (batch_p2p_sync). */
static bool runs_ahead(const struct run *run)
{
    const struct rt_parallelism *parallel = &run->forecast->options.parallel;
    return run->overlap->runs_ahead && parallel->pipeline == 1 && parallel->microbatches > 1;
}

static void forget_round(struct rt_piece *piece)
{
    piece->gradients.count = 0;
    piece->gradients.weights_bytes[0] = piece->gradients.weights_bytes[1] = 0;
    piece->layers = piece->optimizer_us = 0;
    for (int group = 0; group < RT_GROUPS; group++)
        piece->link_us[group] = 0;
}

static double all_links(const struct rt_piece *piece)
{
    double sum = 0;
    for (int group = 0; group < RT_GROUPS; group++)
        sum += piece->link_us[group];
    return sum;
}

static void tell_pass(const struct run *run, bool backward, double start_us)
{
    if (run->watch != NULL && run->watch->pass != NULL)
        run->watch->pass(run->watch->context, backward, start_us);
}

/* Both passes of a micro batch. In one queue the host goes on launching where it is; else it begins again. */
static void run_round(struct run *run)
{
    struct rt_piece *piece = run->piece;
    bool one = rt_step_is_one_queue(run->forecast) || runs_ahead(run);
    double began = run->queue.gpu_us, waited = run->queue.wait_us;
    if (!run->queue.started)
        began = waited = 0; /* what a copy takes before it is the forward pass's */
    forget_round(piece);
    tell_pass(run, false, began);
    run_forward(run);
    piece->forward_us = run->queue.gpu_us - began;
    piece->wait_us = run->queue.wait_us - waited;
    if (piece->first_us < 0)
        piece->first_us = run->queue.first_us;
    if (!rt_graph_trains(run->forecast->graph))
        return;
    if (!one)
        begin_queue(run);
    began = run->queue.gpu_us;
    waited = run->queue.wait_us;
    tell_pass(run, true, began);
    run_backward(run);
    piece->backward_us = run->queue.gpu_us - began;
    piece->wait_us += run->queue.wait_us - waited;
}

/* Micro batches until each takes as long as the one before: three are enough for a host that is ahead or
 * behind. */
static void run_rounds(struct run *run)
{
    struct rt_piece *piece = run->piece;
    int64_t microbatches = run->forecast->options.parallel.microbatches, rounds = 1;
    double sum = 0, waits = 0, links = 0;
    if (runs_ahead(run))
        rounds = microbatches < 3 ? microbatches : 3;
    for (int64_t r = 0; r < rounds; r++) {
        run_round(run);
        sum += piece->forward_us + piece->backward_us;
        waits += piece->wait_us;
        links += all_links(piece);
    }
    if (rounds == 1)
        return;
    piece->begin_us = sum - (double)rounds * (piece->forward_us + piece->backward_us);
    piece->begin_wait_us = waits - (double)rounds * piece->wait_us;
    piece->begin_link_us = links - (double)rounds * all_links(piece);
}

/* ZeRO 1 and 2: weights are gathered while the first forward pass runs, which waits for them. */
static double first_forward_us(const struct run *run)
{
    const struct rt_parallelism *parallel = &run->forecast->options.parallel;
    bool stepped = parallel->shard == RT_SHARD_OPTIMIZER || parallel->shard == RT_SHARD_GRADIENTS;
    if (!stepped || rt_shard_gpus(parallel) == 1 || parallel->no_overlap || run->overlap->gathers_late)
        return 0;
    struct rt_piece piece = {.forward_us = 0};
    struct run first = *run;
    first.gathering = GATHERS_AHEAD;
    first.piece = &piece;
    first.watch = NULL;
    begin_queue(&first);
    run_forward(&first);
    free(first.unit.launch);
    return first.queue.gpu_us;
}

/* Zero-bubble: the part of the backward pass that computes gradients of weights. */
static void split_backward(const struct run *run)
{
    struct rt_piece *piece = run->piece;
    if (run->forecast->options.parallel.schedule != RT_PIPELINE_ZERO_BUBBLE || !(run->kernels_us > 0))
        return;
    piece->weights_us = piece->backward_us * run->of_weights_us / run->kernels_us;
    piece->backward_us -= piece->weights_us;
    for (size_t g = 0; g < piece->gradients.count; g++) /* those of the last micro batches come at the end */
        piece->gradients.gradient[g].ready_us = piece->backward_us + piece->weights_us;
}

void rt_piece_run(const struct rt_forecast *forecast, const struct rt_collectives *collectives,
                  int64_t number, const struct rt_step_watch *watch, struct rt_piece *out)
{
    const struct rt_parallelism *parallel = &forecast->options.parallel;
    *out = (struct rt_piece){.first_us = -1};
    struct run run = {.forecast = forecast,
                      .collectives = collectives,
                      .overlap = rt_overlap_of(forecast->graph),
                      .dispatch = rt_forecast_dispatch(forecast),
                      .number = number,
                      .watch = watch,
                      .piece = out};
    if (parallel->shard == RT_SHARD_PARAMETERS && rt_shard_gpus(parallel) > 1)
        run.gathering = GATHERS_EACH;
    double first_us = first_forward_us(&run);
    begin_queue(&run);
    run.queue.gpu_us = rt_queued_input_us(forecast);
    run_rounds(&run);
    split_backward(&run);
    out->ahead_us = first_us > 0 ? fmax(0, first_us - out->forward_us) : 0;
    out->late_us = run.queue.host_us - run.queue.gpu_us;
    free(run.unit.launch);
}

void rt_piece_copy(const struct rt_piece *piece, struct rt_piece *out)
{
    const struct rt_gradients *from = &piece->gradients;
    *out = *piece;
    out->gradients = (struct rt_gradients){.weights_bytes = {from->weights_bytes[0], from->weights_bytes[1]}};
    RT_GROW(out->gradients.gradient, 0, from->count, out->gradients.capacity);
    for (size_t g = 0; g < from->count; g++)
        out->gradients.gradient[out->gradients.count++] = from->gradient[g];
}

void rt_piece_release(struct rt_piece *piece)
{
    free(piece->gradients.gradient);
    *piece = (struct rt_piece){.forward_us = 0};
}
