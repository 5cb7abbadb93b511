/* From kernels to the time of a step. See forecast.h. */
#include "predict/forecast/forecast.h"
#include "base/status.h"
#include "models/roofline/board.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const rt_time_sources[RT_TIME_SOURCE_COUNT] = {"trained", "roofline", "bandwidth", "link"};

void rt_forecast_release(struct rt_forecast *forecast)
{
    free(forecast->launches);
    free(forecast->node_launch);
    free(forecast->pass_ends_us);
    free(forecast->stage_forward_us);
    free(forecast->stage_backward_us);
    free(forecast->sums);
    *forecast = (struct rt_forecast){0};
}

static enum rt_family family_of(const struct rt_graph_kernel *kernel)
{
    return rt_call_family(&kernel->call);
}

/* Bytes that a kernel moves on this device: where the L2 is smaller than the reuse distance of a broadcast
 * operand, every read of it comes from memory. */
static double bytes_on(const struct rt_graph_kernel *kernel, const struct rt_device *device)
{
    if (kernel->reread_bytes == 0 || kernel->reuse_distance_bytes <= rt_near_l2_bytes(device))
        return kernel->bytes;
    return kernel->bytes + kernel->reread_bytes;
}

static void query_of(const struct rt_forecast *forecast, const struct rt_graph_kernel *kernel,
                     struct rt_query *query)
{
    rt_query_init(query, &kernel->call);
    query->flops = kernel->flops;
    query->bytes = bytes_on(kernel, forecast->device);
    query->queued = true;
}

/* Does the predictor have a network that tells how fast a device moves data? Those with device effects do: of
 * bytes alone. Others need tiles, or measured kernels of that very op. */
static bool knows_moves(const struct rt_predictor *predictor, enum rt_dtype dtype)
{
    const struct rt_family_net *net = rt_predictor_net(predictor, RT_OP_ADD_SCALAR, dtype);
    return net != NULL && rt_heads[net->head].effects;
}

/* What only moves data runs at the pace of an elementwise op that reads and writes as many bytes: kernels of
 * both kinds are bound by the same bandwidth, of which devices reach 0.6 to 0.9. */
static void query_of_move(const struct rt_forecast *forecast, const struct rt_graph_kernel *kernel,
                          struct rt_query *query)
{
    query_of(forecast, kernel, query);
    double width = rt_dtypes[forecast->graph->options.dtype].bytes;
    query->call.op = RT_OP_ADD_SCALAR;
    memset(query->call.dim, 0, sizeof query->call.dim);
    query->call.dim[0] = 1;
    query->call.dim[1] = (int64_t)fmax(1, query->bytes / (2 * width));
    query->flops = (double)query->call.dim[1];
}

/* --- what is launched --- */

static void list_launches(struct rt_forecast *forecast)
{
    const struct rt_graph *graph = forecast->graph;
    struct rt_graph_kernel *kernels = rt_malloc((graph->kernel_count + 1) * sizeof *kernels);
    forecast->launches = rt_calloc(graph->kernel_count + 1, sizeof *forecast->launches);
    forecast->node_launch = rt_calloc(graph->node_count + 1, sizeof *forecast->node_launch);
    for (size_t n = 0; n < graph->node_count; n++) {
        forecast->node_launch[n] = (uint32_t)forecast->launch_count;
        for (int phase = 0; phase < RT_PHASE_COUNT; phase++) {
            size_t count = rt_node_launches(graph, &graph->nodes[n], phase, kernels);
            for (size_t k = 0; k < count; k++)
                forecast->launches[forecast->launch_count++] =
                    (struct rt_forecast_launch){.kernel = kernels[k], .node = (uint32_t)n};
        }
    }
    forecast->node_launch[graph->node_count] = (uint32_t)forecast->launch_count;
    free(kernels);
}

/* --- what the predictor is asked: every distinct kernel once --- */

struct questions {
    struct rt_query *query; /* (count), distinct */
    size_t count;
    uint32_t *of_launch; /* (launches of all forecasts): its question, UINT32_MAX where none is asked */
    uint32_t *slot;      /* hash table of questions, UINT32_MAX empty */
    size_t slots;
    double moved_half;      /* of kernels that only move data */
    double *time_us, *half; /* half: of its interval, NaN where there is none */
    uint8_t *skip;
};

static uint64_t hash_query(const struct rt_query *query)
{
    const unsigned char *bytes = (const unsigned char *)query;
    uint64_t hash = 1469598103934665603u; /* FNV-1a, over words: the struct is a multiple of 8 */
    for (size_t i = 0; i + 8 <= sizeof *query; i += 8) {
        uint64_t word;
        memcpy(&word, bytes + i, 8);
        hash = (hash ^ word) * 1099511628211u;
        hash ^= hash >> 29;
    }
    return hash;
}

static uint32_t ask(struct questions *questions, const struct rt_query *query)
{
    size_t at = hash_query(query) & (questions->slots - 1);
    for (; questions->slot[at] != UINT32_MAX; at = (at + 1) & (questions->slots - 1))
        if (memcmp(&questions->query[questions->slot[at]], query, sizeof *query) == 0)
            return questions->slot[at];
    questions->query[questions->count] = *query;
    return questions->slot[at] = (uint32_t)questions->count++;
}

static void ask_all(const struct rt_forecast *forecast, struct questions *questions, bool moves,
                    uint32_t *of_launch)
{
    for (size_t i = 0; i < forecast->launch_count; i++) {
        const struct rt_graph_kernel *kernel = &forecast->launches[i].kernel;
        const struct rt_family_row *family = &rt_families[family_of(kernel)];
        struct rt_query query;
        of_launch[i] = UINT32_MAX;
        if ((family->moves && !moves) || family->link || family->host)
            continue;
        if (family->moves)
            query_of_move(forecast, kernel, &query);
        else
            query_of(forecast, kernel, &query);
        of_launch[i] = ask(questions, &query);
    }
}

static void list_questions(const struct rt_forecast *forecasts, size_t count,
                           const struct rt_predictor *predictor, struct questions *questions)
{
    size_t launches = 0;
    bool moves = count > 0 && knows_moves(predictor, forecasts[0].graph->options.dtype);
    for (size_t f = 0; f < count; f++)
        launches += forecasts[f].launch_count;
    *questions = (struct questions){.slots = 16};
    while (questions->slots < 2 * launches)
        questions->slots *= 2;
    questions->query = rt_malloc((launches + 1) * sizeof *questions->query);
    questions->of_launch = rt_malloc((launches + 1) * sizeof *questions->of_launch);
    questions->slot = rt_malloc(questions->slots * sizeof *questions->slot);
    memset(questions->slot, 0xff, questions->slots * sizeof *questions->slot);
    uint32_t *of_launch = questions->of_launch;
    for (size_t f = 0; f < count; of_launch += forecasts[f++].launch_count)
        ask_all(&forecasts[f], questions, moves, of_launch);
    questions->time_us = rt_malloc((questions->count + 1) * sizeof *questions->time_us);
    questions->half = rt_malloc((questions->count + 1) * sizeof *questions->half);
    questions->skip = rt_calloc(questions->count + 1, sizeof *questions->skip);
}

static void questions_release(struct questions *questions)
{
    free(questions->query);
    free(questions->of_launch);
    free(questions->slot);
    free(questions->time_us);
    free(questions->half);
    free(questions->skip);
}

/* --- intervals: docs/intervals.md --- */

/* What a link's time is off by at 90%: assumed, no collective was measured under leave-one-GPU-out. */
static const double LINK_HALF = 0.3;
/* What adding up kernels misses where every one of them is known, and how much the errors of two families on
 * one device have in common: together they make 90% intervals hold 93% of NeuSight's measured models on GPUs
 * that were left out and as many on GPUs in training. */
static const double SUM_HALF = 0.08;
static const double FAMILIES_ALIKE = 0.2;

/* The half-width of each question. Kernels that only move data are as uncertain as a large addition. */
static void ask_intervals(struct questions *questions, const struct rt_predictor *predictor,
                          const struct rt_device *device, double level)
{
    const struct rt_query addition = {
        .call.op = RT_OP_ADD, .call.dtype = RT_FP32, .call.dim = {65536, 4096}, .tile = {-1, -1}};
    questions->moved_half = level > 0 ? rt_predictor_interval(predictor, device, &addition, level) : NAN;
    for (size_t q = 0; q < questions->count; q++)
        questions->half[q] =
            level > 0 ? rt_predictor_interval(predictor, device, &questions->query[q], level) : NAN;
}

/* The interval of the step, symmetric in ln. Kernels of a family are wrong together; families have
 * FAMILIES_ALIKE of their errors in common; what adding up misses has nothing to do with either. */
static void sum_interval(struct rt_forecast *forecast)
{
    double family[RT_FAMILY_COUNT] = {0}, sum = 0, all = 0, squares = 0, level = forecast->options.level;
    forecast->interval_level = level;
    forecast->interval_low_us = forecast->interval_high_us = NAN;
    if (!(level > 0))
        return;
    for (size_t i = 0; i < forecast->launch_count; i++) {
        const struct rt_forecast_launch *launch = &forecast->launches[i];
        double time = rt_forecast_launch_total(forecast, launch);
        family[family_of(&launch->kernel)] += time * launch->half; /* NaN where one is unknown */
        sum += time;
    }
    for (int f = 0; f < RT_FAMILY_COUNT; f++) {
        all += family[f] / sum;
        squares += family[f] / sum * (family[f] / sum);
    }
    double missed = SUM_HALF * rt_interval_scale(level);
    double half = sqrt(FAMILIES_ALIKE * all * all + (1 - FAMILIES_ALIKE) * squares + missed * missed);
    forecast->interval_low_us = forecast->total_us * exp(-half);
    forecast->interval_high_us = forecast->total_us * exp(half);
}

/* --- the time of a launch --- */

/* "linear (linear), softmax": families that the graph needs and the predictor lacks. */
static int refuse_families(const struct rt_forecast *forecast, const struct questions *questions,
                           const uint32_t *of_launch)
{
    char words[256] = "";
    size_t launches[RT_FAMILY_COUNT] = {0};
    for (size_t i = 0; i < forecast->launch_count; i++) {
        uint32_t q = of_launch[i];
        if (q != UINT32_MAX && questions->skip[q] == RT_SKIP_NO_FAMILY)
            launches[family_of(&forecast->launches[i].kernel)]++;
    }
    for (int f = 0; f < RT_FAMILY_COUNT; f++) {
        size_t used = strlen(words);
        if (launches[f] > 0 && used < sizeof words)
            snprintf(words + used, sizeof words - used, "%s%s", used > 0 ? ", " : "", rt_families[f].name);
    }
    return rt_fail(RT_ENOTFOUND,
                   "the predictor has no network for %s, which the model runs; train one with samples of it, "
                   "or take the roofline for it with --fallback",
                   words);
}

static int refuse_skip(const struct rt_forecast *forecast, const struct rt_graph_kernel *kernel,
                       enum rt_skip skip)
{
    if (skip == RT_SKIP_NO_PEAK)
        return rt_fail(RT_EFORMAT,
                       "%s: the description has no %s peak for %s; choose another --dtype, or add the peak "
                       "(`--gpu NAME,field=value`)",
                       forecast->device->name, rt_dtypes[forecast->graph->options.dtype].name,
                       rt_ops[kernel->call.op].name);
    if (skip == RT_SKIP_NO_ORIGIN)
        return rt_fail(
            RT_ENOTFOUND,
            "the predictor has no measurement of anything like %s on another device than %s; train one "
            "with data of another GPU, or take the roofline for it with --fallback",
            rt_ops[kernel->call.op].name, forecast->device->name);
    return rt_fail(RT_ENOTFOUND,
                   "the predictor knows no tile of anything like %s; train one with samples whose tiles are "
                   "known, or take the roofline for it with --fallback",
                   rt_ops[kernel->call.op].name);
}

static int time_collective(struct rt_forecast *forecast, struct rt_forecast_launch *launch, double link_gbs)
{
    if (!(link_gbs > 0))
        return rt_fail(RT_EFORMAT, "%s: the bandwidth to a peer GPU is unknown; give it with --link-gbs",
                       forecast->device->name);
    launch->source = RT_TIME_LINK;
    launch->half = LINK_HALF * rt_interval_scale(forecast->options.level);
    launch->time_us =
        rt_collective_us(launch->kernel.call.op, launch->kernel.call.dim[0], launch->kernel.bytes, link_gbs);
    launch->roofline_us = 1e6 * launch->kernel.bytes / (1e9 * link_gbs);
    return RT_OK;
}

/* `answer`: what the predictor says of an elementwise op that moves as much, UINT32_MAX where it cannot. */
static int time_move(const struct rt_forecast *forecast, struct rt_forecast_launch *launch,
                     const struct questions *questions, uint32_t answer)
{
    bool known = answer != UINT32_MAX && questions->skip[answer] == RT_SKIP_NONE;
    launch->source = RT_TIME_BANDWIDTH;
    launch->half = questions->moved_half;
    launch->roofline_us =
        1e6 * bytes_on(&launch->kernel, forecast->device) / (1e9 * forecast->device->bandwidth_gbs);
    launch->time_us = known ? questions->time_us[answer] : launch->roofline_us;
    return RT_OK;
}

static int time_kernel(struct rt_forecast *forecast, struct rt_forecast_launch *launch,
                       const struct questions *questions, const uint32_t *of_launch, bool roofline)
{
    uint32_t answer = of_launch[launch - forecast->launches];
    if (rt_families[family_of(&launch->kernel)].moves)
        return time_move(forecast, launch, questions, answer);
    struct rt_query query;
    query_of(forecast, &launch->kernel, &query);
    enum rt_skip skip = questions->skip[answer];
    launch->roofline_us = rt_roofline_us(&query, forecast->device);
    launch->source = roofline || skip != RT_SKIP_NONE ? RT_TIME_ROOFLINE : RT_TIME_TRAINED;
    launch->time_us = skip == RT_SKIP_NONE ? questions->time_us[answer] : launch->roofline_us;
    launch->half = questions->half[answer];
    if (isnan(launch->roofline_us) || skip == RT_SKIP_NO_PEAK)
        return refuse_skip(forecast, &launch->kernel, RT_SKIP_NO_PEAK);
    if (skip != RT_SKIP_NONE && !forecast->options.fallback)
        return skip == RT_SKIP_NO_FAMILY ? refuse_families(forecast, questions, of_launch)
                                         : refuse_skip(forecast, &launch->kernel, skip);
    if (!(launch->time_us > 0) || !isfinite(launch->time_us))
        return rt_fail(RT_EFORMAT, "the forecast of %s is not a positive time; train the predictor again",
                       rt_ops[launch->kernel.call.op].name);
    return RT_OK;
}

/* of_launch (launch_count): the answers. */
static int time_launches(struct rt_forecast *forecast, const struct questions *questions,
                         const uint32_t *of_launch, bool roofline, double link_gbs)
{
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < forecast->launch_count; i++) {
        struct rt_forecast_launch *launch = &forecast->launches[i];
        if (rt_families[family_of(&launch->kernel)].link)
            status = time_collective(forecast, launch, link_gbs);
        else
            status = time_kernel(forecast, launch, questions, of_launch, roofline);
    }
    return status;
}

double rt_forecast_launch_total(const struct rt_forecast *forecast, const struct rt_forecast_launch *launch)
{
    return launch->time_us * (double)rt_graph_repeat(forecast->graph, &forecast->graph->nodes[launch->node]);
}

double rt_forecast_node_us(const struct rt_forecast *forecast, size_t node, enum rt_phase phase)
{
    double sum = 0;
    for (uint32_t i = forecast->node_launch[node]; i < forecast->node_launch[node + 1]; i++)
        if (forecast->launches[i].kernel.call.phase == phase)
            sum += forecast->launches[i].time_us;
    return sum;
}

/* --- sums --- */

static void sum_phases(struct rt_forecast *forecast)
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

/* One stage of a pipeline: which blocks' nodes it runs, each how often in a pass. */
struct stage_times {
    double forward_us, backward_us; /* backward with accumulation, without the optimizer */
    double optimizer_us;
    double link_us; /* of these, in collectives */
};

static void add_node(const struct rt_forecast *forecast, size_t node, double repeat,
                     struct stage_times *times)
{
    for (uint32_t i = forecast->node_launch[node]; i < forecast->node_launch[node + 1]; i++) {
        const struct rt_forecast_launch *launch = &forecast->launches[i];
        double time = repeat * launch->time_us;
        if (launch->kernel.call.op == RT_OP_OPTIMIZER)
            times->optimizer_us += time;
        else if (launch->kernel.call.phase == RT_FORWARD)
            times->forward_us += time;
        else
            times->backward_us += time;
        times->link_us += launch->source == RT_TIME_LINK ? time : 0;
    }
}

/* How many of a block's repeats fall on stage `s` of `stages`: layers are numbered through all layer blocks,
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

static int64_t count_layers(const struct rt_graph *graph)
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
    int64_t layers = count_layers(graph);
    *times = (struct stage_times){0};
    for (size_t b = 0; b < graph->block_count; b++) {
        double repeat = (double)repeats_on_stage(graph, b, layers, s, stages);
        for (uint32_t n = 0; repeat > 0 && n < graph->blocks[b].node_count; n++)
            add_node(forecast, graph->blocks[b].node + n, repeat, times);
    }
}

/* The gradients of a stage in the order of its backward pass: when they are there, how large they are. */
struct gradients {
    double *ready_us, *bytes; /* (capacity) */
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
    int64_t layers = count_layers(graph), stages = forecast->options.parallel.pipeline;
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

/* When the gradients of a stage are summed over the data-parallel group, after the start of its last backward
 * pass. */
static double sum_gradients(struct rt_forecast *forecast, int64_t s, double link_gbs)
{
    const struct rt_parallel *parallel = &forecast->options.parallel;
    struct gradients gradients = {0};
    list_gradients(forecast, s, &gradients);
    double end = 0;
    if (gradients.count > 0) {
        struct rt_gradient_sum *sums = s == 0 ? rt_malloc(gradients.count * sizeof *sums) : NULL;
        size_t count;
        end = rt_gradient_sums_us(gradients.ready_us, gradients.bytes, gradients.count, parallel->data,
                                  parallel, link_gbs, sums, &count);
        if (s == 0) {
            forecast->sums = sums;
            forecast->sum_count = count;
        }
    }
    free(gradients.ready_us);
    free(gradients.bytes);
    return end;
}

/* A step of a pipeline, or of one device (a pipeline of one stage, microbatches one after the other). */
static void sum_step(struct rt_forecast *forecast, double link_gbs)
{
    const struct rt_graph *graph = forecast->graph;
    const struct rt_parallel *parallel = &forecast->options.parallel;
    int64_t stages = parallel->pipeline, microbatches = parallel->microbatches;
    bool training = graph->options.step == RT_STEP_TRAINING;
    double *forward = forecast->stage_forward_us = rt_calloc((size_t)stages, sizeof *forward);
    double *backward = forecast->stage_backward_us = rt_calloc((size_t)stages, sizeof *backward);
    double late = 0, optimizer = 0, link = 0, busy;
    forecast->pass_ends_us = rt_malloc(2 * (size_t)(stages * microbatches) * sizeof(double));
    for (int64_t s = 0; s < stages; s++) {
        struct stage_times times;
        stage_sum(forecast, s, stages, &times);
        forward[s] = times.forward_us;
        backward[s] = times.backward_us;
        optimizer = fmax(optimizer, times.optimizer_us / (double)stages); /* each steps its own weights */
        link = fmax(link, times.link_us);
        if (training && parallel->data > 1)
            late = fmax(late, sum_gradients(forecast, s, link_gbs) - times.backward_us);
    }
    double bytes = rt_dtypes[graph->options.dtype].bytes * graph->boundary;
    double send = stages > 1 ? rt_collective_us(RT_OP_SEND_RECEIVE, 2, bytes, link_gbs) : 0;
    double passes = rt_pipeline_us(forward, training ? backward : NULL, stages, microbatches, send,
                                   parallel->schedule, &busy, forecast->pass_ends_us);
    forecast->total_us = passes + late + optimizer;
    forecast->compute_us = busy - (double)microbatches * link + optimizer;
    forecast->communication_us = forecast->total_us - forecast->compute_us;
    forecast->forward_us = stages == 1 ? (double)microbatches * forward[0] : NAN;
    forecast->backward_us = stages == 1 ? forecast->total_us - forecast->forward_us : NAN;
}

static void need_memory(struct rt_forecast *forecast)
{
    const struct rt_parallel *parallel = &forecast->options.parallel;
    int64_t layers = count_layers(forecast->graph);
    int64_t held = parallel->pipeline > 1
                       ? rt_pipeline_in_flight(parallel->pipeline, parallel->microbatches, parallel->schedule)
                       : 1;
    double most = ceil((double)layers / (double)parallel->pipeline);
    rt_graph_memory(forecast->graph, (double)held, layers > 0 ? most / (double)layers : 1, &forecast->memory);
    forecast->memory_bytes = forecast->device->memory_gib * 1073741824.0;
}

static int check_parallel(const struct rt_graph *graph, const struct rt_parallel *parallel,
                          const struct rt_device *device, double *link_gbs)
{
    int64_t layers = count_layers(graph);
    *link_gbs = isnan(parallel->link_gbs) ? device->link_gbs : parallel->link_gbs;
    if (parallel->pipeline > 1 && parallel->pipeline > layers)
        return rt_fail(RT_EUSAGE, "--pp %" PRId64 ": the model has %" PRId64 " layers to cut into stages",
                       parallel->pipeline, layers);
    if ((parallel->pipeline > 1 || (parallel->data > 1 && graph->options.step == RT_STEP_TRAINING)) &&
        !(*link_gbs > 0))
        return rt_fail(RT_EFORMAT, "%s: the bandwidth to a peer GPU is unknown; give it with --link-gbs",
                       device->name);
    return RT_OK;
}

/* Asks the predictor for all of them at once. */
static int forecast_all(struct rt_forecast *forecasts, size_t count, const struct rt_predictor *predictor,
                        double link_gbs)
{
    struct questions questions;
    int status = RT_OK;
    list_questions(forecasts, count, predictor, &questions);
    rt_predictor_forecast(predictor, forecasts[0].device, questions.query, questions.count, NULL,
                          questions.time_us, questions.skip);
    ask_intervals(&questions, predictor, forecasts[0].device, forecasts[0].options.level);
    bool roofline = strcmp(predictor->kind, "roofline") == 0;
    const uint32_t *of_launch = questions.of_launch;
    for (size_t f = 0; f < count; of_launch += forecasts[f++].launch_count) {
        status = time_launches(&forecasts[f], &questions, of_launch, roofline, link_gbs);
        if (status != RT_OK)
            break;
        sum_phases(&forecasts[f]);
        sum_step(&forecasts[f], link_gbs);
        sum_interval(&forecasts[f]);
        need_memory(&forecasts[f]);
    }
    questions_release(&questions);
    return status;
}

int rt_forecast_graphs(const struct rt_graph *const *graphs, size_t count,
                       const struct rt_predictor *predictor, const struct rt_device *device,
                       const struct rt_forecast_options *options, struct rt_forecast *out)
{
    double link_gbs = NAN;
    int status = RT_OK;
    for (size_t f = 0; f < count; f++)
        if ((status = check_parallel(graphs[f], &options->parallel, device, &link_gbs)) != RT_OK)
            return status;
    if (count == 0)
        return RT_OK;
    struct rt_forecast *forecasts = rt_calloc(count, sizeof *forecasts);
    for (size_t f = 0; f < count; f++) {
        forecasts[f] = (struct rt_forecast){.graph = graphs[f], .device = device, .options = *options};
        list_launches(&forecasts[f]);
    }
    status = forecast_all(forecasts, count, predictor, link_gbs);
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

bool rt_forecast_fits(const struct rt_forecast *forecast)
{
    return !(forecast->memory.total > forecast->memory_bytes);
}

/* --- how much of it is beyond what was fitted --- */

double rt_forecast_beyond(const struct rt_forecast *forecast, const struct rt_predictor *predictor,
                          enum rt_family *family, int *feature)
{
    double *time_us = rt_calloc(RT_FAMILY_COUNT * rt_feature_count, sizeof *time_us);
    double beyond = 0, sum = 0, most = 0;
    for (size_t i = 0; i < forecast->launch_count; i++) {
        const struct rt_forecast_launch *launch = &forecast->launches[i];
        double time = rt_forecast_launch_total(forecast, launch);
        struct rt_query query;
        sum += time;
        query_of(forecast, &launch->kernel, &query);
        const struct rt_family_net *net = rt_predictor_net(predictor, query.call.op, query.call.dtype);
        if (launch->source != RT_TIME_TRAINED || net == NULL)
            continue;
        int found = rt_family_net_beyond(net, &query, forecast->device);
        if (found < 0)
            continue;
        beyond += time;
        double *cell = &time_us[(size_t)net->family * rt_feature_count + (size_t)found];
        *cell += time;
        if (*cell > most) {
            most = *cell;
            *family = net->family;
            *feature = found;
        }
    }
    free(time_us);
    return sum > 0 ? beyond / sum : 0;
}

/* --- rows --- */

static int by_time(const void *a, const void *b)
{
    const struct rt_forecast_row *x = a, *y = b;
    return x->time_us != y->time_us ? (x->time_us < y->time_us ? 1 : -1) : (int)x->op - (int)y->op;
}

size_t rt_forecast_rows(const struct rt_forecast *forecast, struct rt_forecast_row *out)
{
    struct rt_forecast_row cell[RT_OP_COUNT][RT_TIME_SOURCE_COUNT] = {0};
    double compute_us[RT_OP_COUNT][RT_TIME_SOURCE_COUNT] = {0}, sum = 0;
    const struct rt_graph *graph = forecast->graph;
    for (size_t i = 0; i < forecast->launch_count; i++) {
        const struct rt_forecast_launch *launch = &forecast->launches[i];
        const struct rt_graph_kernel *kernel = &launch->kernel;
        struct rt_forecast_row *row = &cell[kernel->call.op][launch->source];
        double repeat = (double)rt_graph_repeat(graph, &graph->nodes[launch->node]);
        double peak = rt_device_peak_flops(forecast->device, family_of(kernel), graph->options.dtype);
        row->launches += (size_t)repeat;
        row->time_us += repeat * launch->time_us;
        row->roofline_us += repeat * launch->roofline_us;
        row->flops += repeat * kernel->flops;
        row->bytes += repeat * kernel->bytes;
        if (kernel->flops / peak > kernel->bytes / (1e9 * forecast->device->bandwidth_gbs))
            compute_us[kernel->call.op][launch->source] += repeat * launch->time_us;
        sum += repeat * launch->time_us;
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

size_t rt_forecast_heaviest(const struct rt_forecast *forecast, struct rt_forecast_node *out, size_t most)
{
    double sum = forecast->phase_us[0] + forecast->phase_us[1] + forecast->phase_us[2];
    size_t count = 0;
    for (size_t n = 0; n < forecast->graph->node_count; n++) {
        struct rt_forecast_node node = {.node = (uint32_t)n};
        for (uint32_t i = forecast->node_launch[n]; i < forecast->node_launch[n + 1]; i++)
            node.time_us += rt_forecast_launch_total(forecast, &forecast->launches[i]);
        node.share = sum > 0 ? node.time_us / sum : 0;
        if (count == most && !(node.time_us > out[count - 1].time_us))
            continue;
        size_t at = count < most ? count++ : count - 1;
        for (; at > 0 && node.time_us > out[at - 1].time_us; at--)
            out[at] = out[at - 1];
        out[at] = node;
    }
    return count;
}
