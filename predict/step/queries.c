/* Listing distinct queries and asking the predictor. See queries.h. */
#include "predict/step/queries.h"
#include "base/hash_set.h"
#include "base/status.h"
#include "predict/step/launches.h"

#include <math.h>
#include <stdlib.h>

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
            rt_launch_query_move(launch, forecast->device, forecast->graph->options.dtype, &query);
        else
            rt_launch_query(launch, forecast->device, &query);
        of_launch[i] = add_query(queries, set, &query);
    }
}

/* Launches that only move data are as uncertain as a large addition. Where no interval is asked for nothing
 * is looked up: all are NaN. */
static void ask_intervals(struct rt_forecast_queries *queries, const struct rt_predictor *predictor,
                          const struct rt_device *device, double level)
{
    const struct rt_query addition = {
        .call.op = RT_OP_ADD, .call.dtype = RT_FP32, .call.dim = {65536, 4096}, .tile = {-1, -1}};
    bool asked = level > 0;
    queries->moved_ln_half_width = asked ? rt_predictor_interval(predictor, device, &addition, level) : NAN;
    queries->moved_shared = asked ? rt_predictor_shared_error(predictor, &addition) : NAN;
    queries->error_correlation = asked ? rt_predictor_error_correlation(predictor) : NAN;
    for (size_t q = 0; q < queries->count; q++) {
        const struct rt_query *query = &queries->query[q];
        queries->ln_half_width[q] = asked ? rt_predictor_interval(predictor, device, query, level) : NAN;
        queries->shared[q] = asked ? rt_predictor_shared_error(predictor, query) : NAN;
    }
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
    rt_predictor_forecast_again(predictor, device, queries.query, queries.count, forecasts[0].options.memo,
                                queries.time_us, queries.skip);
    ask_intervals(&queries, predictor, device, forecasts[0].options.level);
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
