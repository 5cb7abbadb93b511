/* Forecasting with a predictor: queries to tiles to features to a network to latencies. See predictor.h. */
#include "base/h5.h"
#include "models/predictor/predictor.h"
#include "base/status.h"
#include "base/version.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const rt_tile_policies[RT_TILE_POLICY_COUNT] = {"nearest", "row", "whole", "cut"};
const char *const rt_skip_words[RT_SKIP_COUNT] = {
    "forecast", "the predictor has no network for this family", "the device descriptor has no peak for it",
    "no tile of anything like it was measured", "nothing like it was measured on another device"};

void rt_predictor_init(struct rt_predictor *predictor, const char *kind)
{
    *predictor = (struct rt_predictor){.complete = true};
    predictor->kind = rt_strdup(kind);
    predictor->creator = rt_strdup("rooftile " RT_VERSION);
    predictor->data_uuids = rt_strdup("");
    predictor->data_sources = rt_strdup("");
    predictor->data_licences = rt_strdup("");
    predictor->devices = rt_strdup("");
    predictor->held_out_gpus = rt_strdup("");
    predictor->held_out_ops = rt_strdup("");
    predictor->calibrated = rt_strdup("");
}

void rt_family_net_release(struct rt_family_net *net)
{
    rt_mlp_release(&net->mlp);
    rt_measured_tiles_release(&net->tiles);
    rt_device_effects_release(&net->effects);
    rt_linear_baseline_release(&net->lines);
    rt_wave_scaling_release(&net->origins);
    free(net->loss);
    net->loss = NULL;
}

void rt_predictor_release(struct rt_predictor *predictor)
{
    for (size_t i = 0; i < predictor->net_count; i++)
        rt_family_net_release(&predictor->nets[i]);
    free(predictor->nets);
    char *texts[] = {predictor->kind,          predictor->creator,       predictor->data_uuids,
                     predictor->data_sources,  predictor->data_licences, predictor->devices,
                     predictor->held_out_gpus, predictor->held_out_ops,  predictor->calibrated};
    for (size_t i = 0; i < RT_COUNT(texts); i++)
        free(texts[i]);
    *predictor = (struct rt_predictor){0};
}

int rt_predictor_open(const char *name, struct rt_predictor *out)
{
    if (strcmp(name, "roofline") == 0) {
        rt_predictor_init(out, "roofline");
        return RT_OK;
    }
    if (strcmp(name, "pretrained") == 0) {
        char *path;
        int found = rt_pretrained_path(&path);
        if (found == RT_OK) {
            found = rt_predictor_open(path, out);
            free(path);
        }
        return found;
    }
    struct rt_h5 *file;
    int status = rt_h5_open(name, RT_PREDICTOR_FORMAT, RT_PREDICTOR_VERSION, &file);
    if (status != RT_OK)
        return status;
    status = rt_predictor_read(file, out);
    rt_h5_close(file);
    return status;
}

const char *const rt_units[RT_UNITS_COUNT] = {"any", "vector", "matrix"};

const char *rt_net_name(enum rt_family family, enum rt_units units)
{
    static const char *const on_matrix[RT_FAMILY_COUNT] = {
        [RT_FAMILY_LINEAR] = "linear matrix", [RT_FAMILY_BMM] = "bmm matrix"};
    return units == RT_UNITS_MATRIX && on_matrix[family] != NULL ? on_matrix[family]
                                                                 : rt_families[family].name;
}

bool rt_net_serves(const struct rt_family_net *net, enum rt_op_id op, enum rt_dtype dtype)
{
    enum rt_units units = dtype == RT_FP32 || dtype == RT_FP64 ? RT_UNITS_VECTOR : RT_UNITS_MATRIX;
    return rt_ops[op].family == net->family && (net->units == RT_UNITS_ANY || net->units == units);
}

const struct rt_family_net *rt_predictor_net(const struct rt_predictor *predictor, enum rt_op_id op,
                                             enum rt_dtype dtype)
{
    const struct rt_family_net *other = NULL;
    for (size_t i = 0; i < predictor->net_count; i++) {
        if (rt_net_serves(&predictor->nets[i], op, dtype))
            return &predictor->nets[i];
        if (predictor->nets[i].family == rt_ops[op].family)
            other = &predictor->nets[i];
    }
    return other;
}

/* Is `name` one of the lines of `list`, up to a tab? */
static bool has_line(const char *list, const char *name)
{
    char *lines = rt_strdup(list), *rest = lines, *line;
    bool found = false;
    while (!found && (line = strtok_r(rest, "\n", &rest)) != NULL) {
        line[strcspn(line, "\t")] = '\0';
        found = rt_name_equal(line, name);
    }
    free(lines);
    return found;
}

bool rt_predictor_knows_device(const struct rt_predictor *predictor, const char *name)
{
    return has_line(predictor->devices, name);
}

bool rt_predictor_fitted_to(const struct rt_predictor *predictor, const char *device, enum rt_op_id op,
                            enum rt_dtype dtype)
{
    const struct rt_family_net *net = rt_predictor_net(predictor, op, dtype);
    if (net == NULL || net->effects.count == 0)
        return rt_predictor_knows_device(predictor, device);
    const struct rt_device_effect *effect = rt_device_effects_find(&net->effects, device);
    return effect != NULL && !effect->calibrated && rt_net_serves(net, op, dtype);
}

bool rt_predictor_knows_device_in(const struct rt_predictor *predictor, const char *name, enum rt_dtype dtype)
{
    static const enum rt_op_id ops[] = {RT_OP_LINEAR, RT_OP_BMM, RT_OP_SOFTMAX, RT_OP_LAYERNORM, RT_OP_ADD};
    bool known = false;
    for (size_t i = 0; i < RT_COUNT(ops) && !known; i++)
        known = rt_predictor_fitted_to(predictor, name, ops[i], dtype);
    return known;
}

bool rt_predictor_calibrated_device(const struct rt_predictor *predictor, const char *name)
{
    return has_line(predictor->calibrated, name);
}

static bool net_has_seen(const struct rt_family_net *net, const char *device, int64_t key)
{
    const struct rt_device_effect *effect = rt_device_effects_find(&net->effects, device);
    return effect != NULL && effect->fitted_keys.count > 0 && rt_fitted_keys_has(&effect->fitted_keys, key);
}

bool rt_predictor_calibrated_to_kernel(const struct rt_predictor *predictor, const struct rt_dataset *dataset,
                                       const struct rt_sample *sample)
{
    const struct rt_family_net *net =
        rt_predictor_net(predictor, (enum rt_op_id)sample->call.op, (enum rt_dtype)sample->call.dtype);
    return net != NULL && net_has_seen(net, dataset->devices[sample->device].name, rt_kernel_key(sample));
}

bool rt_predictor_calibrated_to_run(const struct rt_predictor *predictor, const struct rt_dataset *dataset,
                                    const struct rt_workload *workload)
{
    const char *device = dataset->devices[workload->device].name;
    int64_t key = rt_run_key(dataset, workload);
    for (size_t n = 0; n < predictor->net_count; n++)
        if (net_has_seen(&predictor->nets[n], device, key))
            return true;
    return false;
}

bool rt_predictor_holds_out(const struct rt_predictor *predictor, const char *device, enum rt_op_id op)
{
    return has_line(predictor->held_out_gpus, device) || has_line(predictor->held_out_ops, rt_ops[op].name);
}

void rt_query_of_sample(const struct rt_sample *sample, bool with_tile, struct rt_query *query)
{
    rt_query_init(query, &sample->call);
    if (with_tile)
        memcpy(query->tile, sample->tile, sizeof query->tile);
}

/* The tile given, or the one the net's policy finds. */
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

/* Cuts the kernel as the net's policy says. */
static enum rt_skip init_launch(const struct rt_family_net *net, const struct rt_query *query,
                                const struct rt_device *device, struct rt_launch *launch)
{
    int32_t tile[2];
    if (isnan(rt_device_peak_flops(device, rt_call_family(&query->call), query->call.dtype)))
        return RT_SKIP_NO_PEAK;
    if (net->policy == RT_TILE_WHOLE)
        return rt_launch_init_whole(launch, query, device) ? RT_SKIP_NONE : RT_SKIP_NO_PEAK;
    if (net->policy == RT_TILE_TILING)
        return rt_launch_init_tiling(launch, query, device) ? RT_SKIP_NONE : RT_SKIP_NO_PEAK;
    bool tiling = choose_tile(net, query, device, tile) && rt_launch_init(launch, query, tile, device);
    return tiling ? RT_SKIP_NONE : RT_SKIP_NO_TILE;
}

enum rt_skip rt_family_net_inputs(const struct rt_family_net *net, const struct rt_query *query,
                                  const struct rt_device *device, rt_real *features, struct rt_bound *bound)
{
    struct rt_launch launch;
    enum rt_skip skip = init_launch(net, query, device, &launch);
    if (skip != RT_SKIP_NONE)
        return skip;
    for (int f = 0; f < net->feature_count; f++) {
        double value = rt_features[net->feature[f]].value(&launch);
        value = fmax(net->clip_low[f], fmin(value, net->clip_high[f]));
        features[f] = (rt_real)((value - net->offset[f]) * net->scale[f]);
    }
    *bound =
        (struct rt_bound){.bound_us = launch.bound_us, .waves = launch.waves, .start_us = launch.start_us};
    if (rt_heads[net->head].effects) {
        bound->compute_share = rt_launch_compute_share(&launch);
        bound->depth_share = rt_launch_depth_share(&launch);
        bound->narrow_share = rt_launch_narrow_share(&launch);
    }
    return RT_SKIP_NONE;
}

/* How much differences of a network's inputs, and of its last hidden layer, count in places: chosen with the
 * rest of the correction, docs/calibrate.md. */
static const double inputs_count = 1.5, hidden_counts = 2.25;

size_t rt_family_net_place_width(const struct rt_family_net *net)
{
    return (size_t)net->feature_count + rt_mlp_last_hidden(&net->mlp);
}

void rt_family_net_places(const struct rt_family_net *net, struct rt_threads *pool, const rt_real *features,
                          size_t count, rt_real *places)
{
    size_t inputs = (size_t)net->feature_count, hidden = rt_mlp_last_hidden(&net->mlp);
    rt_real *held = rt_malloc((count * hidden + 1) * sizeof *held);
    rt_mlp_infer_hidden(&net->mlp, pool, features, count, held);
    for (size_t i = 0; i < count; i++) {
        rt_real *place = places + i * (inputs + hidden);
        for (size_t f = 0; f < inputs; f++)
            place[f] = (rt_real)(inputs_count / sqrt((double)inputs) * (double)features[i * inputs + f]);
        for (size_t h = 0; h < hidden; h++)
            place[inputs + h] =
                (rt_real)(hidden_counts / sqrt((double)hidden) * (double)held[i * hidden + h]);
    }
    free(held);
}

/* As rt_family_net_beyond tells it. */
static int beyond_of(const struct rt_family_net *net, const struct rt_launch *launch)
{
    double farthest = 1e-6; /* rounding aside */
    int found = -1;
    for (int f = 0; f < net->feature_count; f++) {
        double value = rt_features[net->feature[f]].value(launch);
        double range = fmax(net->clip_high[f] - net->clip_low[f], 1e-6);
        double beyond = fmax(net->clip_low[f] - value, value - net->clip_high[f]) / range;
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
    struct rt_launch launch;
    return init_launch(net, query, device, &launch) == RT_SKIP_NONE ? beyond_of(net, &launch) : -1;
}

void rt_bound_set_effect(struct rt_bound *bound, const struct rt_device_effect *effect)
{
    bound->shift = bound->compute_share * effect->value[RT_EFFECT_COMPUTE] +
                   (1 - bound->compute_share) * effect->value[RT_EFFECT_MEMORY] +
                   bound->depth_share * effect->value[RT_EFFECT_DEPTH] +
                   bound->narrow_share * effect->value[RT_EFFECT_NARROW];
    bound->dispatch_us = effect->dispatch_us;
}

/* Of a kernel that is one of many in a queue, after rt_bound_set_effect. */
static void set_queued(struct rt_bound *bound, const struct rt_device_effect *effect)
{
    bound->shift += bound->compute_share * effect->queued[RT_EFFECT_COMPUTE] +
                    (1 - bound->compute_share) * effect->queued[RT_EFFECT_MEMORY];
    bound->dispatch_us = fmin(bound->dispatch_us, RT_QUEUED_US);
}

double rt_predictor_interval(const struct rt_predictor *predictor, const struct rt_device *device,
                             const struct rt_query *query, double level)
{
    const struct rt_family_net *net = rt_predictor_net(predictor, query->call.op, query->call.dtype);
    struct rt_launch launch;
    if (net == NULL || !rt_heads[net->head].effects ||
        init_launch(net, query, device, &launch) != RT_SKIP_NONE)
        return NAN;
    enum rt_interval_size size = rt_interval_size_of(launch.bound_us);
    double known = rt_interval_at(net->intervals.known[size], level),
           unseen = rt_interval_at(net->intervals.unseen[size], level);
    const struct rt_device_effect *effect = rt_device_effects_find(&net->effects, device->name);
    if (effect == NULL)
        return unseen;
    double half = effect->calibrated ? sqrt(known * unseen) : known; /* by a few kernels: between the two */
    if (effect->interval[0] > 0)
        half = rt_interval_at(effect->interval, level) * rt_interval_at(net->intervals.known[size], 0.9);
    /* beyond what was fitted to nobody knows more than of a device that was not measured */
    return beyond_of(net, &launch) < 0 ? half : fmax(half, unseen); /* where that is NaN: half */
}

enum { CHUNK = 4096 }; /* kernels gathered for one pass through a network, at most */

struct gathered {
    size_t count, room;
    size_t *place;          /* (room), of each in the caller's arrays */
    struct rt_bound *bound; /* (room) */
    rt_real *features;      /* (room, feature_count) */
    rt_real *out;           /* (room, outputs) */
};

static void gathered_init(struct gathered *gathered, const struct rt_family_net *net, size_t room)
{
    *gathered = (struct gathered){.room = room};
    gathered->place = rt_malloc(room * sizeof *gathered->place);
    gathered->bound = rt_malloc(room * sizeof *gathered->bound);
    gathered->features = rt_malloc(room * (size_t)net->feature_count * sizeof(rt_real));
    gathered->out = rt_malloc(room * (size_t)rt_heads[net->head].outputs * sizeof(rt_real));
}

static void gathered_release(struct gathered *gathered)
{
    free(gathered->place);
    free(gathered->bound);
    free(gathered->features);
    free(gathered->out);
}

/* Adds what the device's calibration kernels were off by to the shifts. */
static void add_corrections(const struct rt_family_net *net, const struct rt_residual_correction *correction,
                            const struct rt_query *queries, struct gathered *gathered,
                            struct rt_threads *pool)
{
    bool by_inputs = correction->length > 0;
    size_t width = by_inputs ? (size_t)net->feature_count : rt_family_net_place_width(net);
    rt_real *places = NULL;
    if (correction->points == 0)
        return;
    if (!by_inputs) {
        places = rt_malloc(gathered->count * width * sizeof *places);
        rt_family_net_places(net, pool, gathered->features, gathered->count, places);
    }
    for (size_t i = 0; i < gathered->count; i++)
        gathered->bound[i].shift +=
            rt_residual_correction_at(correction, (enum rt_dtype)queries[gathered->place[i]].call.dtype,
                                      (by_inputs ? gathered->features : places) + i * width);
    free(places);
}

static void forecast_gathered(const struct rt_family_net *net, const struct rt_device_effect *effect,
                              const struct rt_query *queries, struct gathered *gathered,
                              struct rt_threads *pool, double *latency_us)
{
    const struct rt_head *head = &rt_heads[net->head];
    if (gathered->count == 0)
        return;
    if (head->effects)
        add_corrections(net, &effect->correction, queries, gathered, pool);
    rt_mlp_infer(&net->mlp, pool, gathered->features, gathered->count, gathered->out);
    for (size_t i = 0; i < gathered->count; i++)
        latency_us[gathered->place[i]] =
            head->latency(gathered->out + i * head->outputs, &gathered->bound[i]);
    gathered->count = 0;
}

/* Those of the queries that this net is for. */
static void forecast_family(const struct rt_predictor *predictor, const struct rt_family_net *net,
                            const struct rt_device *device, const struct rt_query *queries, size_t count,
                            struct rt_threads *pool, double *latency_us, uint8_t *skip)
{
    struct gathered gathered;
    struct rt_device_effect effect;
    rt_device_effects_of(&net->effects, device, &effect);
    gathered_init(&gathered, net, count < CHUNK ? count : CHUNK);
    for (size_t i = 0; i < count; i++) {
        if (rt_call_family(&queries[i].call) != net->family ||
            rt_predictor_net(predictor, queries[i].call.op, queries[i].call.dtype) != net)
            continue;
        size_t row = gathered.count;
        skip[i] = rt_family_net_inputs(net, &queries[i], device, gathered.features + row * net->feature_count,
                                       &gathered.bound[row]);
        if (skip[i] != RT_SKIP_NONE)
            continue;
        if (rt_heads[net->head].effects)
            rt_bound_set_effect(&gathered.bound[row], &effect);
        if (queries[i].queued)
            set_queued(&gathered.bound[row], &effect);
        gathered.place[row] = i;
        if (++gathered.count == gathered.room)
            forecast_gathered(net, &effect, queries, &gathered, pool, latency_us);
    }
    forecast_gathered(net, &effect, queries, &gathered, pool, latency_us);
    gathered_release(&gathered);
}

/* A family without a network. */
static void forecast_baseline(const struct rt_family_net *net, const struct rt_device *device,
                              const struct rt_query *queries, size_t count, double *latency_us, uint8_t *skip)
{
    bool lines = rt_heads[net->head].source == RT_SOURCE_LINEAR;
    for (size_t i = 0; i < count; i++) {
        enum rt_family family = rt_call_family(&queries[i].call);
        if (family != net->family)
            continue;
        skip[i] = RT_SKIP_NO_PEAK;
        if (isnan(rt_device_peak_flops(device, family, (enum rt_dtype)queries[i].call.dtype)))
            continue;
        latency_us[i] = lines ? rt_linear_baseline_us(&net->lines, &queries[i], device)
                              : rt_wave_scaling_us(&net->origins, &queries[i], device);
        skip[i] = isnan(latency_us[i]) ? RT_SKIP_NO_ORIGIN : RT_SKIP_NONE;
    }
}

static void forecast_roofline(const struct rt_device *device, const struct rt_query *queries, size_t count,
                              double *latency_us, uint8_t *skip)
{
    for (size_t i = 0; i < count; i++) {
        latency_us[i] = rt_roofline_us(&queries[i], device);
        skip[i] = isfinite(latency_us[i]) ? RT_SKIP_NONE : RT_SKIP_NO_PEAK;
    }
}

void rt_predictor_forecast(const struct rt_predictor *predictor, const struct rt_device *device,
                           const struct rt_query *queries, size_t count, struct rt_threads *pool,
                           double *latency_us, uint8_t *skip)
{
    uint8_t *reasons = skip != NULL ? skip : rt_malloc(count);
    for (size_t i = 0; i < count; i++) {
        latency_us[i] = NAN;
        reasons[i] = RT_SKIP_NO_FAMILY;
    }
    if (strcmp(predictor->kind, "roofline") == 0)
        forecast_roofline(device, queries, count, latency_us, reasons);
    for (size_t n = 0; n < predictor->net_count; n++) {
        const struct rt_family_net *net = &predictor->nets[n];
        if (rt_heads[net->head].source == RT_SOURCE_NETWORK)
            forecast_family(predictor, net, device, queries, count, pool, latency_us, reasons);
        else
            forecast_baseline(net, device, queries, count, latency_us, reasons);
    }
    if (reasons != skip)
        free(reasons);
}
