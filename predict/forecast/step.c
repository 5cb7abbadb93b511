/* Stages, gradient sums and the step. See step.h. */
#include "predict/forecast/step.h"
#include "base/status.h"
#include "models/graph/sequences.h"

#include <math.h>
#include <stdlib.h>

void rt_forecast_sum_phases(struct rt_forecast *forecast)
{
    double trained = 0, computed = 0;
    for (size_t i = 0; i < forecast->launch_count; i++) {
        const struct rt_forecast_launch *launch = &forecast->launches[i];
        double time = rt_forecast_launch_total(forecast, launch);
        forecast->phase_us[launch->kernel.call.phase] += time;
        forecast->source_us[launch->source] += time;
        trained += launch->source == RT_TIME_TRAINED ? time : 0;
        computed += launch->source != RT_TIME_LINK ? time : 0;
    }
    forecast->coverage = computed > 0 ? trained / computed : 0;
}

/* The times of one stage of a pipeline in one pass. */
struct stage_times {
    double forward_us, backward_us; /* backward with accumulation, without the optimizer */
    double optimizer_us;
    double link_us;  /* of these, in collectives */
    double launches; /* of the forward pass */
};

static void add_node(const struct rt_forecast *forecast, size_t node, double repeat,
                     struct stage_times *times)
{
    for (uint32_t i = forecast->node_launch[node]; i < forecast->node_launch[node + 1]; i++) {
        const struct rt_forecast_launch *launch = &forecast->launches[i];
        double time = repeat * launch->time_us;
        if (launch->kernel.call.op == RT_OP_OPTIMIZER)
            times->optimizer_us += time;
        else if (launch->kernel.call.phase == RT_FORWARD) {
            times->forward_us += time;
            times->launches += repeat;
        } else
            times->backward_us += time;
        times->link_us += launch->source == RT_TIME_LINK ? time : 0;
    }
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

static void stage_sum(const struct rt_forecast *forecast, int64_t s, int64_t stages,
                      struct stage_times *times)
{
    const struct rt_graph *graph = forecast->graph;
    int64_t layers = rt_forecast_layers(graph);
    *times = (struct stage_times){0};
    for (size_t b = 0; b < graph->block_count; b++) {
        double repeat = (double)repeats_on_stage(graph, b, layers, s, stages);
        for (uint32_t n = 0; repeat > 0 && n < graph->blocks[b].node_count; n++)
            add_node(forecast, graph->blocks[b].node + n, repeat, times);
    }
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

static void list_gradients(const struct rt_forecast *forecast, int64_t s, struct gradients *gradients)
{
    const struct rt_graph *graph = forecast->graph;
    int64_t layers = rt_forecast_layers(graph), stages = forecast->options.parallel.pipeline;
    double clock = 0, width = rt_dtypes[graph->options.dtype].bytes;
    for (size_t b = graph->block_count; b-- > 0;) {
        const struct rt_block *block = &graph->blocks[b];
        for (int64_t r = repeats_on_stage(graph, b, layers, s, stages); r > 0; r--)
            for (uint32_t n = block->node_count; n-- > 0;) {
                const struct rt_node *node = &graph->nodes[block->node + n];
                struct stage_times times = {0};
                add_node(forecast, block->node + n, 1, &times);
                clock += times.backward_us;
                if (node->parameters > 0)
                    add_gradient(gradients, clock, width * node->parameters);
            }
    }
}

/* When the gradients of a stage are summed over the data-parallel group, since its last backward pass began.
 */
static double sum_gradients(struct rt_forecast *forecast, int64_t s, const struct rt_collectives *collectives)
{
    const struct rt_parallel *parallel = &forecast->options.parallel;
    struct gradients gradients = {0};
    list_gradients(forecast, s, &gradients);
    double end = 0;
    if (gradients.count > 0) {
        struct rt_gradient_sum *sums = s == 0 ? rt_malloc(gradients.count * sizeof *sums) : NULL;
        size_t count;
        end = rt_gradient_sums_us(gradients.ready_us, gradients.bytes, gradients.count, parallel->data,
                                  parallel, collectives, sums, &count);
        if (s == 0) {
            forecast->sums = sums;
            forecast->sum_count = count;
        }
    }
    free(gradients.ready_us);
    free(gradients.bytes);
    return end;
}

/* How long the kernels of a stage's forward pass wait for the host, which launches one after the other: where
 * that takes longer than to run them, by the difference. */
static double host_wait(const struct rt_forecast *forecast, const struct stage_times *times)
{
    const struct rt_server *server = forecast->options.server;
    double host_us = forecast->options.host_us;
    if (isnan(host_us) && server != NULL && server->launch_us > 0)
        host_us = server->launch_us;
    if (isnan(host_us))
        host_us = rt_runtimes[forecast->graph->options.runtime].host_us;
    return fmax(0, host_us * times->launches - times->forward_us);
}

/* What a server's host adds once a step. */
static double server_us(const struct rt_forecast *forecast)
{
    const struct rt_graph_options *options = &forecast->graph->options;
    const struct rt_parallel *parallel = &forecast->options.parallel;
    const struct rt_server *server = forecast->options.server;
    int64_t gpus = options->tensor_parallel * parallel->data * parallel->pipeline;
    int64_t sequences = options->groups == NULL
                            ? options->batch
                            : rt_sequences_totals(options->groups, options->group_count).sequences;
    return server != NULL ? rt_server_step_us(server, sequences, gpus > 1) : 0;
}

/* A step of a pipeline, or of one device (a pipeline of one stage, microbatches one after the other). */
void rt_forecast_sum_step(struct rt_forecast *forecast, const struct rt_collectives *collectives)
{
    const struct rt_graph *graph = forecast->graph;
    const struct rt_parallel *parallel = &forecast->options.parallel;
    int64_t stages = parallel->pipeline, microbatches = parallel->microbatches;
    bool training = graph->options.step == RT_STEP_TRAINING;
    double *forward = forecast->stage_forward_us = rt_calloc((size_t)stages, sizeof *forward);
    double *backward = forecast->stage_backward_us = rt_calloc((size_t)stages, sizeof *backward);
    double late = 0, optimizer = 0, link_us = 0, wait_us = 0, busy;
    forecast->pass_ends_us = rt_malloc(2 * (size_t)(stages * microbatches) * sizeof(double));
    for (int64_t s = 0; s < stages; s++) {
        struct stage_times times;
        stage_sum(forecast, s, stages, &times);
        double wait = host_wait(forecast, &times);
        wait_us = fmax(wait_us, wait);
        forward[s] = times.forward_us + wait;
        backward[s] = times.backward_us;
        optimizer = fmax(optimizer, times.optimizer_us / (double)stages); /* each steps its own weights */
        link_us = fmax(link_us, times.link_us);
        if (training && parallel->data > 1)
            late = fmax(late, sum_gradients(forecast, s, collectives) - times.backward_us);
    }
    double bytes = rt_dtypes[graph->options.dtype].bytes * graph->boundary;
    double send = stages > 1 ? rt_collective_us(collectives, RT_OP_SEND_RECEIVE, 2, bytes) : 0;
    double passes = rt_pipeline_us(forward, training ? backward : NULL, stages, microbatches, send,
                                   parallel->schedule, &busy, forecast->pass_ends_us);
    double step_us = server_us(forecast);
    forecast->host_us = (double)microbatches * wait_us + step_us;
    forecast->total_us = passes + late + optimizer + step_us;
    forecast->compute_us = busy - (double)microbatches * (link_us + wait_us) + optimizer;
    forecast->communication_us = forecast->total_us - forecast->compute_us - forecast->host_us;
    forecast->forward_us = stages == 1 ? (double)microbatches * forward[0] : NAN;
    forecast->backward_us = stages == 1 ? forecast->total_us - forecast->forward_us : NAN;
}

void rt_forecast_sum_memory(struct rt_forecast *forecast)
{
    const struct rt_parallel *parallel = &forecast->options.parallel;
    int64_t layers = rt_forecast_layers(forecast->graph);
    int64_t held = parallel->pipeline > 1
                       ? rt_pipeline_in_flight(parallel->pipeline, parallel->microbatches, parallel->schedule)
                       : 1;
    double most = ceil((double)layers / (double)parallel->pipeline);
    rt_graph_memory(forecast->graph, (double)held, layers > 0 ? most / (double)layers : 1, &forecast->memory);
    forecast->memory_bytes = forecast->device->memory_gib * 1073741824.0;
}
