/* From queries to a network's inputs. See family_net.h. */
#include "models/predictors/predictor/family_net.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const rt_tile_policies[RT_TILE_POLICY_COUNT] = {"nearest", "row", "whole", "tiling", "walk"};
const char *const rt_units[RT_UNITS_COUNT] = {"any", "vector", "matrix"};
const char *const rt_skip_words[RT_SKIP_COUNT] = {
    "forecast", "the predictor has no network for this family", "the device descriptor has no peak for it",
    "no tile of a similar kernel was measured", "no similar kernel was measured on another device"};

const char *rt_net_name(enum rt_family family, enum rt_units units)
{
    static const char *const on_matrix[RT_FAMILY_COUNT] = {[RT_FAMILY_LINEAR] = "linear matrix",
                                                           [RT_FAMILY_BMM] = "bmm matrix",
                                                           [RT_FAMILY_CONV] = "conv matrix",
                                                           [RT_FAMILY_ELEMENTWISE] = "elementwise 16-bit",
                                                           [RT_FAMILY_LAYERNORM] = "layernorm 16-bit"};
    return units == RT_UNITS_MATRIX && on_matrix[family] != NULL ? on_matrix[family]
                                                                 : rt_families[family].name;
}

bool rt_net_serves(const struct rt_family_net *net, enum rt_op_id op, enum rt_dtype dtype)
{
    enum rt_units units = dtype == RT_FP32 || dtype == RT_FP64 ? RT_UNITS_VECTOR : RT_UNITS_MATRIX;
    return rt_ops[op].family == net->family && (net->units == RT_UNITS_ANY || net->units == units);
}

bool rt_family_net_has_effects(const struct rt_family_net *net)
{
    return net->forecaster == RT_FORECASTER_LINKS ||
           (net->forecaster == RT_FORECASTER_NETWORK && rt_heads[net->head].effects);
}

bool rt_net_saw(const struct rt_family_net *net, enum rt_dtype dtype)
{
    return net->dtypes == 0 || (net->dtypes >> dtype & 1) != 0;
}

void rt_query_of_sample(const struct rt_sample *sample, bool with_tile, struct rt_query *query)
{
    rt_query_init(query, &sample->call);
    query->queued = query->on_device = (sample->flags & RT_FLAG_QUEUED) != 0;
    query->server = sample->flags & RT_FLAG_SGLANG     ? RT_SERVER_SGLANG
                    : sample->flags & RT_FLAG_TENSORRT ? RT_SERVER_TENSORRT
                                                       : RT_SERVER_VLLM;
    query->scalar_loads = (sample->flags & RT_FLAG_SCALAR_LOADS) != 0;
    if (with_tile)
        memcpy(query->tile, sample->tile, sizeof query->tile);
}

/* The tile that was measured, or the one that the net's policy finds. */
static bool choose_tile(const struct rt_family_net *net, const struct rt_query *query,
                        const struct rt_device *device, int32_t tile[2])
{
    if (net->policy == RT_TILE_ROW) { /* also over a measured tile: the net was fitted to rows */
        tile[0] = query->call.dim[1] > INT32_MAX ? INT32_MAX : (int32_t)query->call.dim[1];
        tile[1] = -1;
        return true;
    }
    memcpy(tile, query->tile, 2 * sizeof *tile);
    return tile[0] >= 1 || rt_measured_tiles_nearest(&net->tiles, query, device, tile);
}

/* A collective: its bound and nothing else. */
static enum rt_skip launch_link(const struct rt_query *query, const struct rt_device *device,
                                struct rt_tiled_call *launch)
{
    *launch = (struct rt_tiled_call){.device = device,
                                     .query = query,
                                     .waves = 1,
                                     .bytes = rt_query_bytes(query),
                                     .bound_us = rt_link_bound_us(&query->call, device)};
    return isnan(launch->bound_us) ? RT_SKIP_NO_PEAK : RT_SKIP_NONE;
}

enum rt_skip rt_family_net_launch(const struct rt_family_net *net, const struct rt_query *query,
                                  const struct rt_device *device, struct rt_tiled_call *launch)
{
    int32_t tile[2];
    if (net->forecaster == RT_FORECASTER_LINKS)
        return launch_link(query, device, launch);
    if (isnan(rt_device_peak_flops(device, rt_call_family(&query->call), query->call.dtype)))
        return RT_SKIP_NO_PEAK;
    if (net->policy == RT_TILE_WHOLE)
        return rt_tiled_call_init_whole(launch, query, device) ? RT_SKIP_NONE : RT_SKIP_NO_PEAK;
    if (net->policy == RT_TILE_TILING)
        return rt_tiled_call_init_tiling(launch, query, device) ? RT_SKIP_NONE : RT_SKIP_NO_PEAK;
    if (net->policy == RT_TILE_WALK)
        return rt_tiled_call_init_walk(launch, query, device) ? RT_SKIP_NONE : RT_SKIP_NO_PEAK;
    bool tiled = choose_tile(net, query, device, tile) && rt_tiled_call_init(launch, query, tile, device);
    return tiled ? RT_SKIP_NONE : RT_SKIP_NO_TILE;
}

/* How far a feature lies outside the range of training, relative to its width; above OUTSIDE where it does.
 */
static const double OUTSIDE = 1e-6; /* rounding aside */

static double outside(const struct rt_family_net *net, int f, double value)
{
    double range = fmax(net->clip_high[f] - net->clip_low[f], 1e-6);
    return fmax(net->clip_low[f] - value, value - net->clip_high[f]) / range;
}

bool rt_family_net_features(const struct rt_family_net *net, const struct rt_tiled_call *launch,
                            rt_real *inputs, bool *beyond)
{
    bool unseen = false;
    *beyond = false;
    for (int f = 0; f < net->feature_count; f++) {
        const struct rt_feature *feature = &rt_features[net->feature[f]];
        double value = feature->value(launch), seen = fmax(net->clip_low[f], fmin(value, net->clip_high[f]));
        inputs[f] = (rt_real)((seen - net->offset[f]) * net->scale[f]);
        unseen |= feature->use == RT_OF_KIND && seen != value;
        *beyond |= seen != value && outside(net, f, value) > OUTSIDE;
    }
    return unseen;
}

void rt_family_net_bound(const struct rt_family_net *net, const struct rt_query *query,
                         const struct rt_tiled_call *launch, bool unseen, struct rt_bound *bound)
{
    *bound = (struct rt_bound){.bound_us = rt_targets[net->target].bound(launch),
                               .waves = launch->waves,
                               .start_us = launch->start_us,
                               .unseen = unseen,
                               .queued = query->queued,
                               .on_device = query->on_device};
    if (net->forecaster == RT_FORECASTER_LINKS) {
        bound->link_us = rt_link_one_server_us(&net->links, &query->call, launch->device, true);
        bound->start_us = fmax(query->queued ? 0 : rt_link_host_us(&net->links, &query->call, launch->device),
                               rt_link_nodes_us(&net->links, &query->call, launch->device));
        bound->compute_share = rt_link_start_share(&query->call, launch->device);
        bound->depth_share = rt_link_bridge_share(&query->call, launch->device);
        bound->narrow_share = rt_link_steps_share(&query->call, launch->device);
    } else if (rt_heads[net->head].effects) {
        rt_tiled_call_times(launch, &bound->times);
        bound->compute_share = rt_tiled_call_compute_share(launch);
        bound->depth_share = rt_tiled_call_depth_share(launch);
        bound->narrow_share = rt_tiled_call_narrow_share(launch);
    }
}

enum rt_skip rt_family_net_inputs(const struct rt_family_net *net, const struct rt_query *query,
                                  const struct rt_device *device, rt_real *inputs, struct rt_bound *bound)
{
    struct rt_tiled_call launch;
    bool beyond;
    enum rt_skip skip = rt_family_net_launch(net, query, device, &launch);
    if (skip == RT_SKIP_NONE)
        rt_family_net_bound(net, query, &launch, rt_family_net_features(net, &launch, inputs, &beyond),
                            bound);
    return skip;
}

void rt_bound_set_effect(struct rt_bound *bound, const struct rt_device_effect *effect)
{
    bound->shift = bound->compute_share * effect->value[RT_EFFECT_COMPUTE] +
                   (1 - bound->compute_share) * effect->value[RT_EFFECT_MEMORY] +
                   bound->depth_share * effect->value[RT_EFFECT_DEPTH] +
                   bound->narrow_share * effect->value[RT_EFFECT_NARROW];
    bound->dispatch_us = effect->dispatch_us;
    if (!bound->queued)
        return;
    bound->shift += bound->compute_share * effect->queued[RT_EFFECT_COMPUTE] +
                    (1 - bound->compute_share) * effect->queued[RT_EFFECT_MEMORY];
    bound->dispatch_us = bound->on_device ? 0 : fmin(bound->dispatch_us, RT_QUEUED_US);
}

/* Distances of 1 in all inputs and in all hidden units: chosen with the rest of the residual correction. */
static const double input_distance = 1.5, hidden_distance = 2.25;

size_t rt_family_net_place_width(const struct rt_family_net *net)
{
    return (size_t)net->feature_count + rt_mlp_last_hidden(&net->mlp);
}

void rt_family_net_places(const struct rt_family_net *net, struct rt_threads *pool, const rt_real *inputs,
                          size_t count, rt_real *places)
{
    size_t width = (size_t)net->feature_count, hidden = rt_mlp_last_hidden(&net->mlp);
    rt_real *held = rt_malloc((count * hidden + 1) * sizeof *held);
    rt_mlp_infer_hidden(&net->mlp, pool, inputs, count, held);
    for (size_t i = 0; i < count; i++) {
        rt_real *place = places + i * (width + hidden);
        for (size_t f = 0; f < width; f++)
            place[f] = (rt_real)(input_distance / sqrt((double)width) * (double)inputs[i * width + f]);
        for (size_t h = 0; h < hidden; h++)
            place[width + h] =
                (rt_real)(hidden_distance / sqrt((double)hidden) * (double)held[i * hidden + h]);
    }
    free(held);
}

int rt_family_net_launch_beyond(const struct rt_family_net *net, const struct rt_tiled_call *launch)
{
    double farthest = OUTSIDE;
    int found = -1;
    for (int f = 0; f < net->feature_count; f++) {
        double beyond = outside(net, f, rt_features[net->feature[f]].value(launch));
        if (beyond > farthest) {
            farthest = beyond;
            found = net->feature[f];
        }
    }
    return found;
}

int rt_family_net_beyond(const struct rt_family_net *net, const struct rt_query *query,
                         const struct rt_device *device)
{
    struct rt_tiled_call launch;
    return rt_family_net_launch(net, query, device, &launch) == RT_SKIP_NONE
               ? rt_family_net_launch_beyond(net, &launch)
               : -1;
}
