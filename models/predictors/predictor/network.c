/* Forecasts of a network, in chunks. See network.h. */
#include "models/predictors/predictor/network.h"
#include "base/status.h"
#include "models/predictors/predictor/links.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { CHUNK = 4096 }; /* kernels that go through the network at once, at most */

struct chunk {
    size_t count, room;
    size_t *index;          /* (room), of the queries */
    struct rt_bound *bound; /* (room) */
    rt_real *inputs;        /* (room, feature_count) */
    double *latency_us;     /* (room) */
};

static void chunk_init(struct chunk *chunk, const struct rt_family_net *net, size_t room)
{
    *chunk = (struct chunk){.room = room};
    chunk->index = rt_malloc(room * sizeof *chunk->index);
    chunk->bound = rt_malloc(room * sizeof *chunk->bound);
    chunk->inputs = rt_malloc(room * (size_t)net->feature_count * sizeof(rt_real));
    chunk->latency_us = rt_malloc(room * sizeof *chunk->latency_us);
}

static void chunk_release(struct chunk *chunk)
{
    free(chunk->index);
    free(chunk->bound);
    free(chunk->inputs);
    free(chunk->latency_us);
}

/* Adds the device's residual correction to the shifts. */
static void add_corrections(const struct rt_family_net *net, const struct rt_residual_correction *correction,
                            const struct rt_forecast_batch *batch, struct chunk *chunk)
{
    size_t width = rt_family_net_place_width(net);
    if (correction->points == 0)
        return;
    rt_real *places = rt_malloc(chunk->count * width * sizeof *places);
    rt_family_net_places(net, batch->pool, chunk->inputs, chunk->count, places);
    for (size_t i = 0; i < chunk->count; i++)
        chunk->bound[i].shift += rt_residual_correction_at(
            correction, (enum rt_dtype)batch->queries[chunk->index[i]].call.dtype, places + i * width);
    free(places);
}

/* Heads of kernels whose outputs (count, outputs) are known. */
static void latencies(const struct rt_family_net *net, const rt_real *out, const struct rt_bound *bounds,
                      size_t count, double *latency_us)
{
    static const rt_real nothing[RT_MLP_MAX_WIDTH] = {0};
    const struct rt_head *head = &rt_heads[net->head];
    for (size_t i = 0; i < count; i++)
        latency_us[i] =
            head->latency(bounds[i].unseen ? nothing : out + i * (size_t)head->outputs, &bounds[i]);
}

void rt_network_latency(const struct rt_family_net *net, struct rt_threads *pool, const rt_real *inputs,
                        const struct rt_bound *bounds, size_t count, double *latency_us)
{
    rt_real *out = rt_malloc(count * (size_t)rt_heads[net->head].outputs * sizeof *out);
    rt_mlp_infer(&net->mlp, pool, inputs, count, out);
    latencies(net, out, bounds, count, latency_us);
    free(out);
}

static void forecast_chunk(const struct rt_family_net *net, const struct rt_device_effect *effect,
                           const struct rt_forecast_batch *batch, struct chunk *chunk)
{
    if (chunk->count == 0)
        return;
    if (rt_family_net_has_effects(net))
        add_corrections(net, &effect->correction, batch, chunk);
    if (batch->memo != NULL && net->forecaster == RT_FORECASTER_NETWORK)
        latencies(net, rt_network_memo_outputs(batch->memo, net, chunk->inputs, chunk->count), chunk->bound,
                  chunk->count, chunk->latency_us);
    else
        (net->forecaster == RT_FORECASTER_LINKS ? rt_links_latency : rt_network_latency)(
            net, batch->pool, chunk->inputs, chunk->bound, chunk->count, chunk->latency_us);
    for (size_t i = 0; i < chunk->count; i++)
        batch->latency_us[chunk->index[i]] = chunk->latency_us[i];
    chunk->count = 0;
}

/* Inputs and bound of a query into the chunk's next place; `seen` (may be NULL): its inputs are those of
 * number `i`. */
static enum rt_skip see(const struct rt_family_net *net, const struct rt_forecast_batch *batch, size_t i,
                        const struct rt_seen_inputs *seen, struct chunk *chunk)
{
    size_t width = (size_t)net->feature_count;
    rt_real *inputs = chunk->inputs + chunk->count * width;
    const struct rt_query *query = &batch->queries[batch->index[i]];
    struct rt_tiled_call launch;
    enum rt_skip skip = rt_family_net_launch(net, query, batch->device, &launch);
    if (skip != RT_SKIP_NONE)
        return skip;
    if (seen != NULL)
        memcpy(inputs, seen->inputs + i * width, width * sizeof *inputs);
    bool unseen = seen != NULL ? seen->unseen[i] : rt_family_net_features(net, &launch, inputs);
    rt_family_net_bound(net, query, &launch, unseen, &chunk->bound[chunk->count]);
    return RT_SKIP_NONE;
}

/* Of a batch that is one chunk, all of which is forecast. */
static void keep_inputs(const struct rt_family_net *net, const struct rt_forecast_batch *batch,
                        const struct chunk *chunk)
{
    bool *unseen = rt_malloc(chunk->count + 1);
    for (size_t i = 0; i < chunk->count; i++)
        unseen[i] = chunk->bound[i].unseen;
    rt_network_memo_keep_inputs(batch->memo, net, batch->device, batch->queries, batch->index, batch->count,
                                &(struct rt_seen_inputs){chunk->inputs, unseen});
    free(unseen);
}

void rt_network_forecast(const struct rt_family_net *net, const struct rt_forecast_batch *batch)
{
    const struct rt_seen_inputs *seen = NULL;
    struct chunk chunk;
    struct rt_device_effect effect;
    if (batch->memo != NULL) {
        seen = rt_network_memo_inputs(batch->memo, net, batch->device, batch->queries, batch->index,
                                      batch->count);
        effect = *rt_network_memo_effect(batch->memo, net, batch->device);
    } else {
        rt_device_effects_of(&net->effects, batch->device, &effect);
    }
    chunk_init(&chunk, net, batch->count < CHUNK ? batch->count : CHUNK);
    for (size_t i = 0; i < batch->count; i++) {
        size_t at = batch->index[i];
        batch->skip[at] = see(net, batch, i, seen, &chunk);
        if (batch->skip[at] != RT_SKIP_NONE)
            continue;
        if (rt_family_net_has_effects(net))
            rt_bound_set_effect(&chunk.bound[chunk.count], &effect);
        chunk.index[chunk.count] = at;
        if (++chunk.count == chunk.room && i + 1 < batch->count)
            forecast_chunk(net, &effect, batch, &chunk);
    }
    if (batch->memo != NULL && seen == NULL && chunk.count == batch->count)
        keep_inputs(net, batch, &chunk);
    forecast_chunk(net, &effect, batch, &chunk);
    chunk_release(&chunk);
}

void rt_network_release(struct rt_family_net *net)
{
    rt_mlp_release(&net->mlp);
    rt_measured_tiles_release(&net->tiles);
    rt_device_effects_release(&net->effects);
    rt_intervals_release(&net->intervals);
}
