/* Forecasts of a network, in chunks. See forecaster.h. */
#include "models/predictors/predictor/forecaster.h"
#include "base/h5_struct.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
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
        rt_forecasters[net->forecaster].latency(net, batch->pool, chunk->inputs, chunk->bound, chunk->count,
                                                chunk->latency_us);
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
    bool beyond,
        unseen = seen != NULL ? seen->unseen[i] : rt_family_net_features(net, &launch, inputs, &beyond);
    if (seen != NULL && batch->reach != NULL)
        beyond = rt_family_net_launch_beyond(net, &launch) >= 0;
    if (batch->reach != NULL)
        batch->reach[batch->index[i]] = (struct rt_reach){launch.bound_us, beyond};
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

/* ---- in files: shape, features with their scaling, parameters, measured tiles ---- */

static const struct rt_h5_attribute attributes[] = {
    RT_H5_MEMBER_NAME(struct rt_family_net, head, "head", rt_heads, RT_HEAD_COUNT),
    RT_H5_MEMBER_NAME(struct rt_family_net, policy, "tile_policy", rt_tile_policies, RT_TILE_POLICY_COUNT),
    RT_H5_MEMBER_NAME(struct rt_family_net, mlp.shape.activation, "activation", rt_activations,
                      RT_ACTIVATION_COUNT),
};

/* Files of earlier builds have it not. */
static const struct rt_h5_attribute dtypes_attribute[] = {
    RT_H5_MEMBER(struct rt_family_net, dtypes, "dtypes", RT_H5_INTEGER)};

static const struct {
    const char *name;
    size_t offset; /* of a uint32_t in struct rt_mlp_shape */
} widths[] = {{"inputs", offsetof(struct rt_mlp_shape, inputs)},
              {"hidden", offsetof(struct rt_mlp_shape, hidden)},
              {"layers", offsetof(struct rt_mlp_shape, layers)},
              {"outputs", offsetof(struct rt_mlp_shape, outputs)}};

/* No weight that training makes is larger by far: the trained ones of all recipes stay below 10. */
static const double MOST_WEIGHT = 1000;

/* Numbers of each feature and what is possible: features are logarithms, shares and counts; a scale is 1 over
 * a deviation; features that are not clipped have infinite bounds. */
static const struct {
    const char *name, *what;
    size_t offset; /* of a double[] in struct rt_family_net */
    double low, high;
} scalings[] = {
    {"offset", "an input is (feature - offset) x scale", offsetof(struct rt_family_net, offset), -1e6, 1e6},
    {"scale", "an input is (feature - offset) x scale", offsetof(struct rt_family_net, scale), 1e-6, 1e13},
    {"clip_low", "least value of the feature", offsetof(struct rt_family_net, clip_low), -INFINITY, 1e6},
    {"clip_high", "greatest value of the feature", offsetof(struct rt_family_net, clip_high), -1e6, INFINITY},
};

static struct rt_h5_array reals_of_features(const char *what)
{
    return (struct rt_h5_array){.type = RT_H5_F64, .units = "1", .long_name = what};
}

static struct rt_h5_array parameters_array(void)
{
    return (struct rt_h5_array){.type = RT_H5_F32,
                                .units = "1",
                                .long_name = "layer after layer: weight (outputs,inputs), bias (outputs)"};
}

/* ---- writing ---- */

static int write_features(const struct rt_family_net *net, struct rt_h5 *file, const char *group)
{
    char *names = NULL;
    size_t size = 0;
    FILE *stream = open_memstream(&names, &size);
    for (int f = 0; f < net->feature_count; f++)
        fprintf(stream, "%s%s", f ? " " : "", rt_features[net->feature[f]].name);
    fclose(stream);
    int status = rt_h5_set_text(file, group, "features", names);
    free(names);
    for (size_t i = 0; status == RT_OK && i < RT_COUNT(scalings); i++)
        status = rt_h5_write_in(file, group, scalings[i].name, reals_of_features(scalings[i].what),
                                (const char *)net + scalings[i].offset, sizeof(double),
                                (size_t)net->feature_count);
    return status;
}

static int write_mlp(const struct rt_mlp *mlp, struct rt_h5 *file, const char *group)
{
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < RT_COUNT(widths); i++)
        status = rt_h5_set_integer(file, group, widths[i].name,
                                   *(const uint32_t *)((const char *)&mlp->shape + widths[i].offset));
    return status == RT_OK ? rt_h5_write_in(file, group, "parameters", parameters_array(), mlp->parameters,
                                            sizeof *mlp->parameters, mlp->count)
                           : status;
}

int rt_network_write(const struct rt_family_net *net, struct rt_h5 *file, const char *group)
{
    char tiles[128];
    snprintf(tiles, sizeof tiles, "%s/measured_tiles", group);
    int status = rt_h5_write_struct(file, group, attributes, RT_COUNT(attributes), net);
    if (status == RT_OK && net->dtypes != 0)
        status = rt_h5_write_struct(file, group, dtypes_attribute, 1, net);
    if (status == RT_OK)
        status = write_features(net, file, group);
    if (status == RT_OK)
        status = write_mlp(&net->mlp, file, group);
    if (status == RT_OK)
        status = rt_device_effects_write(&net->effects, file, group);
    if (status == RT_OK)
        status = rt_intervals_write(&net->intervals, file, group);
    return status == RT_OK ? rt_measured_tiles_write(&net->tiles, file, tiles) : status;
}

/* ---- reading ---- */

static int add_feature(struct rt_h5 *file, const char *group, const char *name, struct rt_family_net *net)
{
    int feature = rt_feature_find(name);
    if (net->feature_count == RT_MAX_FEATURES)
        return rt_fail(RT_EFORMAT, "%s: %s lists more than %d features", rt_h5_path(file), group,
                       RT_MAX_FEATURES);
    if (feature < 0)
        return rt_fail(
            RT_EVERSION,
            "%s: %s needs the feature \"%.60s\", which this build does not have; use a newer rooftile",
            rt_h5_path(file), group, name);
    for (int f = 0; f < net->feature_count; f++)
        if (net->feature[f] == feature)
            return rt_fail(RT_EFORMAT,
                           "%s: %s lists the feature \"%.60s\" twice: the file is damaged, restore it from a "
                           "copy or train again",
                           rt_h5_path(file), group, name);
    net->feature[net->feature_count++] = feature;
    return RT_OK;
}

static int read_features(struct rt_h5 *file, const char *group, struct rt_family_net *net)
{
    char *names;
    int status = rt_h5_get_text(file, group, "features", &names);
    if (status != RT_OK)
        return status;
    char *rest = names;
    for (char *name; status == RT_OK && (name = strtok_r(rest, " ", &rest)) != NULL;)
        status = add_feature(file, group, name, net);
    free(names);
    return status;
}

static int read_scalings(struct rt_h5 *file, const char *group, struct rt_family_net *net)
{
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < RT_COUNT(scalings); i++)
        status = rt_h5_read_range(file, group, scalings[i].name, reals_of_features(NULL),
                                  (char *)net + scalings[i].offset, sizeof(double),
                                  (size_t)net->feature_count, scalings[i].low, scalings[i].high);
    for (int f = 0; status == RT_OK && f < net->feature_count; f++)
        if (net->clip_low[f] > net->clip_high[f])
            return rt_fail(
                RT_EFORMAT,
                "%s: %s clips %s to %g .. %g, which is empty: the file is damaged, restore it from a "
                "copy or train again",
                rt_h5_path(file), group, rt_features[net->feature[f]].name, net->clip_low[f],
                net->clip_high[f]);
    return status;
}

static int read_width(struct rt_h5 *file, const char *group, const char *name, uint32_t *out)
{
    int64_t value = 0;
    int status = rt_h5_get_integer(file, group, name, &value);
    if (status == RT_OK && (value < 1 || value > INT32_MAX))
        status = rt_fail(RT_EFORMAT, "%s: %s of %s is %lld; it must be positive", rt_h5_path(file), name,
                         group, (long long)value);
    if (status == RT_OK)
        *out = (uint32_t)value;
    return status;
}

static int read_widths(struct rt_h5 *file, const char *group, const struct rt_family_net *net,
                       struct rt_mlp_shape *shape)
{
    int status = RT_OK, outputs = rt_heads[net->head].outputs;
    for (size_t i = 0; status == RT_OK && i < RT_COUNT(widths); i++)
        status = read_width(file, group, widths[i].name, (uint32_t *)((char *)shape + widths[i].offset));
    if (status == RT_OK &&
        (shape->inputs != (uint32_t)net->feature_count || shape->outputs != (uint32_t)outputs))
        return rt_fail(RT_EFORMAT,
                       "%s: %s has %u inputs and %u outputs where its features and head make %d and %d",
                       rt_h5_path(file), group, shape->inputs, shape->outputs, net->feature_count, outputs);
    return status;
}

/* In reals, because a hostile file may claim a product that no integer holds. */
static double parameter_count(const struct rt_mlp_shape *shape)
{
    double in = shape->inputs, hidden = shape->hidden, out = shape->outputs;
    if (shape->layers == 1)
        return (in + 1) * out;
    return (in + 1) * hidden + (shape->layers - 2.0) * (hidden + 1) * hidden + (hidden + 1) * out;
}

/* The number of stored parameters is bounded by the file's size; the shape must agree before anything is
 * allocated by it. */
static int read_mlp(struct rt_h5 *file, const char *group, struct rt_family_net *net)
{
    struct rt_mlp_shape shape = net->mlp.shape;
    size_t stored = 0;
    int status = read_widths(file, group, net, &shape);
    if (status == RT_OK)
        status = rt_h5_count_in(file, group, "parameters", parameters_array(), &stored);
    if (status != RT_OK)
        return status;
    if (parameter_count(&shape) != (double)stored)
        return rt_fail(
            RT_EFORMAT, "%s: %s claims %u layers of %u, %.0f parameters, but %s/parameters holds %zu",
            rt_h5_path(file), group, shape.layers, shape.hidden, parameter_count(&shape), group, stored);
    if (rt_mlp_init(&net->mlp, &shape) != RT_OK)
        return rt_fail_context(RT_EFORMAT, "%s: %s", rt_h5_path(file), group);
    return rt_h5_read_range(file, group, "parameters", parameters_array(), net->mlp.parameters,
                            sizeof *net->mlp.parameters, net->mlp.count, -MOST_WEIGHT, MOST_WEIGHT);
}

/* Networks of version 3 and earlier saw the device's numbers. */
static int refuse_residual(struct rt_h5 *file, const char *group)
{
    char *head;
    int status = rt_h5_get_text(file, group, "head", &head);
    if (status != RT_OK)
        return status;
    if (strcmp(head, "residual") == 0)
        status = rt_fail(
            RT_EVERSION,
            "%s: was trained by an earlier rooftile, which could forecast more hardware to be slower: train "
            "the predictor again",
            rt_h5_path(file));
    free(head);
    return status;
}

/* More hardware is never slower only where the network sees none of it. */
static int check_features(struct rt_h5 *file, const char *group, const struct rt_family_net *net)
{
    for (int f = 0; rt_heads[net->head].effects && f < net->feature_count; f++)
        if (rt_features[net->feature[f]].use == RT_OF_DEVICE)
            return rt_fail(RT_EFORMAT,
                           "%s: %s lists the feature \"%s\", which its head does not take: the file is "
                           "damaged, restore it from a copy or train again",
                           rt_h5_path(file), group, rt_features[net->feature[f]].name);
    return RT_OK;
}

int rt_network_read(struct rt_h5 *file, const char *group, struct rt_family_net *net)
{
    char tiles[128];
    snprintf(tiles, sizeof tiles, "%s/measured_tiles", group);
    int status = refuse_residual(file, group);
    if (status == RT_OK)
        status = read_features(file, group, net);
    if (status == RT_OK)
        status = rt_h5_read_struct(file, group, attributes, RT_COUNT(attributes), net);
    if (status == RT_OK && rt_h5_has(file, group, "dtypes"))
        status = rt_h5_read_struct(file, group, dtypes_attribute, 1, net);
    if (status == RT_OK)
        status = check_features(file, group, net);
    if (status == RT_OK)
        status = read_scalings(file, group, net);
    if (status == RT_OK)
        status = read_mlp(file, group, net);
    net->effects.family = net->family;
    if (status == RT_OK)
        status = rt_device_effects_read(file, group, rt_family_net_place_width(net), &net->effects);
    if (status == RT_OK)
        status = rt_intervals_read(file, group, &net->intervals);
    return status == RT_OK ? rt_measured_tiles_read(file, tiles, &net->tiles) : status;
}
