/* Listing the launches of graphs, and asking the predictor about them. See launches.h. */
#include "predict/step/launches.h"
#include "base/status.h"
#include "models/predictors/roofline/board.h"
#include "base/hash_set.h"
#include "datasets/designs.h"
#include "datasets/op_sequence.h"
#include "datasets/share.h"
#include "models/predictors/roofline/tile.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Weights and cache are read once a step, and between two reads all the others pass: what the L2 holds of
 * them is what it holds of all of them. */
static void find_cold(struct rt_forecast *forecast)
{
    double all = 0;
    for (size_t i = 0; i < forecast->launch_count; i++) {
        struct rt_forecast_launch *launch = &forecast->launches[i];
        launch->cold_bytes = rt_call_kept_bytes(&launch->kernel.call);
        all += launch->cold_bytes * rt_graph_runs(forecast->graph, &forecast->graph->nodes[launch->node],
                                                  launch->kernel.call.phase);
    }
    for (size_t i = 0; all > 0 && i < forecast->launch_count; i++)
        forecast->launches[i].cold_bytes *= 1 - rt_l2_hits(forecast->device, all);
}

/* Are gradients of weights added up? PyTorch frees them before a step, so that the first microbatch's are
 * taken as they are (AccumulateGrad; zero_grad(set_to_none), the default since 2.0). */
static bool accumulates(const struct rt_forecast *forecast)
{
    return rt_runtimes[forecast->graph->options.runtime].accumulation != RT_ACCUMULATION_FREED ||
           forecast->options.parallel.microbatches > 1;
}

/* Does the kernel add a gradient to those of micro batches before? Convolutions have the phase for the
 * gradient itself, by filter. */
static bool is_sum(const struct rt_graph_kernel *kernel)
{
    return kernel->call.phase == RT_ACCUMULATE && kernel->call.op == RT_OP_ADD;
}

void rt_forecast_list_launches(struct rt_forecast *forecast)
{
    const struct rt_graph *graph = forecast->graph;
    struct rt_graph_kernel *kernels = rt_malloc((graph->kernel_count + 1) * sizeof *kernels);
    forecast->launches = rt_calloc(graph->kernel_count + 1, sizeof *forecast->launches);
    forecast->node_launch = rt_calloc(graph->node_count + 1, sizeof *forecast->node_launch);
    bool adds = accumulates(forecast);
    for (size_t n = 0; n < graph->node_count; n++) {
        forecast->node_launch[n] = (uint32_t)forecast->launch_count;
        for (int phase = 0; phase < RT_PHASE_COUNT; phase++) {
            size_t count = rt_node_launches(graph, &graph->nodes[n], phase, kernels);
            for (size_t k = 0; k < count; k++)
                if (adds || !is_sum(&kernels[k]))
                    forecast->launches[forecast->launch_count++] =
                        (struct rt_forecast_launch){.kernel = kernels[k], .node = (uint32_t)n};
        }
    }
    forecast->node_launch[graph->node_count] = (uint32_t)forecast->launch_count;
    free(kernels);
    find_cold(forecast);
}

const struct rt_family_row *rt_launch_family(const struct rt_forecast_launch *launch)
{
    return &rt_families[rt_call_family(&launch->kernel.call)];
}

double rt_launch_reread_bytes(const struct rt_forecast_launch *launch, const struct rt_device *device)
{
    const struct rt_graph_kernel *kernel = &launch->kernel;
    if (kernel->reread_bytes == 0) /* most; asked for several times in a forecast */
        return 0;
    return kernel->reuse_distance_bytes <= rt_near_l2_bytes(device) ? 0 : kernel->reread_bytes;
}

static bool trains_narrow(const struct rt_forecast *forecast, const struct rt_call *call)
{
    bool narrow = rt_ops[call->op].family == RT_FAMILY_LINEAR && rt_dtypes[call->dtype].input_bytes < 2;
    return narrow && forecast->graph->options.step == RT_STEP_TRAINING;
}

/* Whose kernels a launch's is one of. Narrow products of training are cuBLASLt's (Transformer Engine,
 * torch._scaled_mm), as TensorRT-LLM's are; vLLM's are CUTLASS's. */
static enum rt_server_project project_of(const struct rt_forecast *forecast, const struct rt_call *call)
{
    const struct rt_server *server = forecast->options.server;
    if (server != NULL)
        return server->project;
    return trains_narrow(forecast, call) ? RT_SERVER_TENSORRT : RT_SERVER_VLLM;
}

/* Decoding with latent keys in 16 bits, kernels of dense attention take what an indexer chose as pages of one
 * token: SGLang's (FlashAttention 3), and TensorRT-LLM's, which all three servers run where matrix units have
 * a memory of their own. vLLM's and TensorRT-LLM's of Hopper (FlashMLA) go over all places that may be
 * chosen. */
static void attend_chosen_densely(struct rt_query *query, const struct rt_device *device)
{
    const int64_t *d = query->call.dim;
    if (query->call.op != RT_OP_SPARSE_ATTENTION || d[RT_ATTENTION_TOKENS] != 1 || d[RT_SPARSE_LATENT] == 0 ||
        d[RT_SPARSE_RATIO] > 1 || d[RT_SPARSE_HEAD_DIM] == d[RT_SPARSE_VALUE_DIM] ||
        d[RT_SPARSE_CHOSEN] < 2 || d[RT_SPARSE_KV_BITS] != 0)
        return;
    if (query->server != RT_SERVER_SGLANG &&
        (device == NULL || rt_design_of(device)->units != RT_MATRIX_TENSOR_MEMORY))
        return;
    const int64_t keys = d[RT_SPARSE_CHOSEN] - 1;
    const int64_t dim[] = {d[RT_ATTENTION_BATCH],
                           1,
                           d[RT_ATTENTION_CACHED] < keys ? d[RT_ATTENTION_CACHED] : keys,
                           d[RT_ATTENTION_HEADS],
                           d[RT_SPARSE_VALUE_DIM],
                           d[RT_SPARSE_HEAD_DIM] - d[RT_SPARSE_VALUE_DIM],
                           0};
    struct rt_call call;
    rt_call_init(&call, RT_OP_MLA_GENERATION, (enum rt_dtype)query->call.dtype);
    memcpy(call.dim, dim, sizeof dim);
    call.phase = query->call.phase;
    query->call = call;
    query->flops = rt_call_flops(&call);
    query->bytes = rt_call_bytes(&call);
}

/* FlashAttention-2's heads of 64 take what half as many of 128 do, and 6% more forward, 3 backward (RTX 4090,
 * masked: apache/tvm, tl_doc/flash_perf.md); servers' kernels of an A100, which the network learned from,
 * half as much again. */
static const double NARROW_HEADS[2] = {1.06, 1.03};

double rt_launch_narrow_heads(const struct rt_forecast_launch *launch)
{
    const struct rt_call *call = &launch->kernel.call;
    const int64_t *dim = call->dim;
    bool narrow = launch->kernel.flash2 && call->op == RT_OP_ATTENTION_CONTEXT &&
                  dim[RT_ATTENTION_HEAD_DIM] == 64 && dim[RT_ATTENTION_HEADS] % 2 == 0 &&
                  dim[RT_ATTENTION_KV_HEADS] % 2 == 0;
    return narrow ? NARROW_HEADS[call->phase != RT_FORWARD] : 1;
}

void rt_launch_query(const struct rt_forecast *forecast, const struct rt_forecast_launch *launch,
                     struct rt_query *query)
{
    rt_query_init(query, &launch->kernel.call);
    if (rt_launch_narrow_heads(launch) > 1) {
        query->call.dim[RT_ATTENTION_HEADS] /= 2;
        query->call.dim[RT_ATTENTION_KV_HEADS] /= 2;
        query->call.dim[RT_ATTENTION_HEAD_DIM] *= 2;
    }
    query->flops = launch->kernel.flops / launch->kernel.multiple;
    query->bytes = launch->kernel.bytes / launch->kernel.multiple;
    if (launch->kernel.scalar_loads) /* as long as elements of 4 bytes */
        query->bytes *= fmax(1, 4 / rt_dtypes[launch->kernel.call.dtype].bytes);
    query->cold_bytes = launch->cold_bytes;
    query->reread_bytes = rt_launch_reread_bytes(launch, forecast->device);
    query->queued = true;
    query->server = (uint8_t)project_of(forecast, &launch->kernel.call);
    /* A step of training has nodes that quantise (models/networks/build.c); a server's product is timed with
     * it. */
    query->narrow_input = trains_narrow(forecast, &launch->kernel.call);
    attend_chosen_densely(query, forecast->device);
}

/* The query that stands for a launch that only moves data: an elementwise op that reads and writes as many
 * bytes, in the graph's dtype. Both are bound by memory bandwidth, of which devices reach 0.6 to 0.9. */
static void query_move(const struct rt_forecast *forecast, const struct rt_forecast_launch *launch,
                       struct rt_query *query)
{
    enum rt_dtype dtype = forecast->graph->options.dtype;
    rt_launch_query(forecast, launch, query);
    query->call.op = RT_OP_ADD_SCALAR;
    query->call.dtype = (uint8_t)rt_op_dtype(RT_OP_ADD_SCALAR, dtype);
    memset(query->call.dim, 0, sizeof query->call.dim);
    query->call.dim[0] = 1;
    query->call.dim[1] = (int64_t)fmax(1, query->bytes / (2 * rt_dtypes[dtype].bytes));
    query->flops = (double)query->call.dim[1];
}

/* --- asking the predictor --- */

/* Has the predictor a network that forecasts data movement from bytes alone? Those with device effects do;
 * others need tiles, or measured kernels of that very op. */
static bool forecasts_moves(const struct rt_predictor *predictor, enum rt_dtype dtype)
{
    const struct rt_family_net *net = rt_predictor_net(predictor, RT_OP_ADD_SCALAR, dtype);
    return net != NULL && rt_heads[net->head].effects;
}

/* The number of an equal query, which is added where it is new. */
static uint32_t add_query(struct rt_forecast_queries *queries, struct rt_hash_set *set,
                          const struct rt_query *query)
{
    queries->query[queries->count] = *query;
    int64_t same = rt_hash_set_add_bytes(set, queries->query, sizeof *query, queries->count);
    return same >= 0 ? (uint32_t)same : (uint32_t)queries->count++;
}

static void list_queries(const struct rt_forecast *forecast, struct rt_forecast_queries *queries,
                         struct rt_hash_set *set, bool moves, uint32_t *of_launch)
{
    for (size_t i = 0; i < forecast->launch_count; i++) {
        const struct rt_forecast_launch *launch = &forecast->launches[i];
        const struct rt_family_row *family = rt_launch_family(launch);
        struct rt_query query;
        of_launch[i] = RT_NO_QUERY;
        if ((family->moves && !moves) || family->link || family->host)
            continue;
        if (family->moves)
            query_move(forecast, launch, &query);
        else
            rt_launch_query(forecast, launch, &query);
        of_launch[i] = add_query(queries, set, &query);
    }
}

/* Launches that only move data are as uncertain as a large addition. Where no interval is asked for nothing
 * is looked up: all are NaN. */
static void ask_intervals(struct rt_forecast_queries *queries, const struct rt_predictor *predictor,
                          const struct rt_device *device, const struct rt_reach *reach, double level)
{
    const struct rt_query addition = {
        .call.op = RT_OP_ADD, .call.dtype = RT_FP32, .call.dim = {65536, 4096}, .tile = {-1, -1}};
    bool asked = level > 0;
    queries->moved_ln_half_width = asked ? rt_predictor_interval(predictor, device, &addition, level) : NAN;
    queries->moved_shared = asked ? rt_predictor_shared_error(predictor, &addition) : NAN;
    queries->error_correlation = asked ? rt_predictor_error_correlation(predictor) : NAN;
    for (size_t q = 0; q < queries->count; q++) {
        const struct rt_query *query = &queries->query[q];
        bool known = asked && queries->skip[q] == RT_SKIP_NONE;
        queries->ln_half_width[q] =
            known ? rt_predictor_interval_at(predictor, device, query, &reach[q], level) : NAN;
        queries->shared[q] = asked ? rt_predictor_shared_error(predictor, query) : NAN;
    }
}

/* A part of a GPU is no other GPU: its libraries' kernels are the whole's, and use multiprocessors and memory
 * as well. So a kernel takes as many times longer than on the whole as its physics says, the larger of FLOPs
 * and bytes after its start, whatever networks make of a GPU with so few multiprocessors. 0: there is no
 * physics of it. */
static double physics_us(const struct rt_query *query, const struct rt_device *device, double *least_us)
{
    struct rt_tiled_call call;
    struct rt_times times;
    if (!rt_tiled_call_init_tiling(&call, query, device))
        return 0;
    rt_tiled_call_times(&call, &times);
    *least_us = times.least_us;
    return times.start_us + exp(fmax(times.ln_compute[0], times.ln_memory[0]));
}

static void time_part(const struct rt_predictor *predictor, const struct rt_device *device,
                      struct rt_network_memo *memo, struct rt_forecast_queries *queries)
{
    struct rt_device whole;
    if (!rt_part_whole(device, &whole))
        return;
    double *whole_us = rt_malloc((queries->count + 1) * sizeof *whole_us), least_us;
    uint8_t *skip = rt_calloc(queries->count + 1, sizeof *skip);
    rt_predictor_forecast_again(predictor, &whole, queries->query, queries->count, memo, whole_us, skip,
                                NULL);
    for (size_t q = 0; q < queries->count; q++) {
        double all = physics_us(&queries->query[q], &whole, &least_us),
               part = physics_us(&queries->query[q], device, &least_us);
        if (skip[q] != RT_SKIP_NONE || queries->skip[q] != RT_SKIP_NONE || !(all > 0 && part > 0))
            continue;
        double scaled = fmax(whole_us[q] * part / all, least_us);
        queries->time_us[q] = device->share_of.tiles ? fmax(scaled, queries->time_us[q]) : scaled;
    }
    free(whole_us);
    free(skip);
}

void rt_forecast_queries(const struct rt_forecast *forecasts, size_t count,
                         const struct rt_predictor *predictor, struct rt_forecast_queries *out)
{
    struct rt_forecast_queries queries = {.count = 0};
    struct rt_hash_set set = {0};
    const struct rt_device *device = forecasts[0].device;
    bool moves = forecasts_moves(predictor, forecasts[0].graph->options.dtype);
    size_t launches = 0;
    for (size_t f = 0; f < count; f++)
        launches += forecasts[f].launch_count;
    queries.query = rt_malloc((launches + 1) * sizeof *queries.query);
    queries.of_launch = rt_malloc((launches + 1) * sizeof *queries.of_launch);
    rt_hash_set_reserve(&set, launches);
    uint32_t *of_launch = queries.of_launch;
    for (size_t f = 0; f < count; of_launch += forecasts[f++].launch_count)
        list_queries(&forecasts[f], &queries, &set, moves, of_launch);
    rt_hash_set_release(&set);
    queries.time_us = rt_malloc((queries.count + 1) * sizeof *queries.time_us);
    queries.ln_half_width = rt_malloc((queries.count + 1) * sizeof *queries.ln_half_width);
    queries.shared = rt_malloc((queries.count + 1) * sizeof *queries.shared);
    queries.skip = rt_calloc(queries.count + 1, sizeof *queries.skip);
    struct rt_reach *reach = rt_malloc((queries.count + 1) * sizeof *reach);
    rt_predictor_forecast_again(predictor, device, queries.query, queries.count, forecasts[0].options.memo,
                                queries.time_us, queries.skip, reach);
    time_part(predictor, device, forecasts[0].options.memo, &queries);
    ask_intervals(&queries, predictor, device, reach, forecasts[0].options.level);
    free(reach);
    *out = queries;
}

void rt_forecast_queries_release(struct rt_forecast_queries *queries)
{
    free(queries->query);
    free(queries->of_launch);
    free(queries->time_us);
    free(queries->ln_half_width);
    free(queries->shared);
    free(queries->skip);
}
