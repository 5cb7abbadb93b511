/* Predictor files: the layout that FORMAT.md describes. */
#include "base/h5.h"
#include "base/status.h"
#include "models/predictor/predictor.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADD(call)                                                                                            \
    do {                                                                                                     \
        if ((status = (call)) != RT_OK)                                                                      \
            return status;                                                                                   \
    } while (0)

/* The texts of a predictor and the names of their root attributes. */
struct text_row {
    const char *name;
    size_t offset;
    bool may_lack; /* files of earlier builds do not have it */
};
/* clang-format off */
#define ROW(member, may_lack) {#member, offsetof(struct rt_predictor, member), may_lack}
/* clang-format on */
static const struct text_row texts[] = {
    ROW(kind, false),          ROW(creator, false),       ROW(data_uuids, false),
    ROW(data_sources, false),  ROW(data_licences, false), ROW(devices, false),
    ROW(held_out_gpus, false), ROW(held_out_ops, false),  ROW(calibrated, true)};

static char **text_at(const struct rt_predictor *predictor, size_t i)
{
    return (char **)((char *)(uintptr_t)predictor + texts[i].offset);
}

static struct rt_h5_array reals(const char *path, const char *long_name)
{
    return (struct rt_h5_array){path, RT_H5_F32, "1", long_name, NULL, 0};
}

static struct rt_h5_array doubles(const char *path, const char *long_name)
{
    return (struct rt_h5_array){path, RT_H5_F64, "1", long_name, NULL, 0};
}

/* An enum: whatever is read is one that this build knows. `names` has room for them, and outlives it. */
static struct rt_h5_array correction_dtypes(const char *path, const char *names[RT_DTYPE_COUNT])
{
    for (size_t d = 0; d < RT_DTYPE_COUNT; d++)
        names[d] = rt_dtypes[d].name;
    return (struct rt_h5_array){path, RT_H5_U8, NULL, "element type of each kernel", names, RT_DTYPE_COUNT};
}

static char *feature_names(const struct rt_family_net *net)
{
    char *names = rt_strdup("");
    for (int f = 0; f < net->feature_count; f++) {
        char *longer = rt_format("%s%s%s", names, f ? " " : "", rt_features[net->feature[f]].name);
        free(names);
        names = longer;
    }
    return names;
}

static int write_widths(struct rt_h5 *file, const char *base, const struct rt_mlp_shape *shape)
{
    int status;
    ADD(rt_h5_set_integer(file, base, "inputs", shape->inputs));
    ADD(rt_h5_set_integer(file, base, "hidden", shape->hidden));
    ADD(rt_h5_set_integer(file, base, "layers", shape->layers));
    return rt_h5_set_integer(file, base, "outputs", shape->outputs);
}

static bool has_network(const struct rt_family_net *net)
{
    return rt_heads[net->head].source == RT_SOURCE_NETWORK;
}

static int write_shape(struct rt_h5 *file, const char *base, const struct rt_family_net *net)
{
    int status;
    char *names = feature_names(net);
    status = rt_h5_set_text(file, base, "features", names);
    free(names);
    if (status != RT_OK)
        return status;
    ADD(rt_h5_set_text(file, base, "head", rt_heads[net->head].name));
    ADD(rt_h5_set_text(file, base, "tile_policy", rt_tile_policies[net->policy]));
    if (has_network(net))
        ADD(rt_h5_set_text(file, base, "activation", rt_activations[net->mlp.shape.activation].name));
    ADD(rt_h5_set_text(file, base, "loss", net->loss));
    if (has_network(net))
        ADD(write_widths(file, base, &net->mlp.shape));
    ADD(rt_h5_set_integer(file, base, "rows_train", net->rows_train));
    ADD(rt_h5_set_integer(file, base, "rows_validation", net->rows_validation));
    ADD(rt_h5_set_integer(file, base, "epochs", net->epochs));
    ADD(rt_h5_set_integer(file, base, "best_epoch", net->best_epoch));
    return rt_h5_set_real(file, base, "validation_mape_percent", net->validation_mape);
}

/* "interval_90": the attribute of a level. */
static const char *level_name(int level)
{
    static const char *const names[RT_INTERVAL_LEVELS] = {"interval_50", "interval_80", "interval_90",
                                                          "interval_95", "interval_98"};
    return names[level];
}

/* What a calibrated device's kernels were off by: arrays beside its device effects. */
static int write_correction(struct rt_h5 *file, const char *base,
                            const struct rt_residual_correction *correction)
{
    int status;
    char path[192];
    const char *names[RT_DTYPE_COUNT];
    if (correction->points == 0)
        return RT_OK;
    if (correction->length > 0)
        ADD(rt_h5_set_real(file, base, "correction_length", correction->length));
    snprintf(path, sizeof path, "%s/correction_points", base);
    struct rt_h5_array array =
        reals(path, "inputs and last hidden layer of the network for each kernel, as distances take them");
    ADD(rt_h5_write(file, &array, correction->point, sizeof *correction->point,
                    correction->points * correction->width));
    if (correction->dtype != NULL) {
        snprintf(path, sizeof path, "%s/correction_dtypes", base);
        array = correction_dtypes(path, names);
        ADD(rt_h5_write(file, &array, correction->dtype, 1, correction->points));
    }
    snprintf(path, sizeof path, "%s/correction_weights", base);
    array = doubles(path, "times exp(-d), d the distance of two points: added to ln latency");
    return rt_h5_write(file, &array, correction->weight, sizeof *correction->weight, correction->points);
}

/* Nothing where nothing is shifted, as in files of earlier builds. */
static int write_queued(struct rt_h5 *file, const char *base, const struct rt_device_effect *effect)
{
    char path[192];
    if (effect->queued[RT_EFFECT_COMPUTE] == 0 && effect->queued[RT_EFFECT_MEMORY] == 0)
        return RT_OK;
    snprintf(path, sizeof path, "%s/queued", base);
    struct rt_h5_array array = doubles(path, "compute, memory: added to ln latency of kernels in a queue");
    return rt_h5_write(file, &array, effect->queued, sizeof *effect->queued, RT_QUEUED_PARTS);
}

static int read_queued(struct rt_h5 *file, const char *base, struct rt_device_effect *out)
{
    int status;
    char path[192];
    snprintf(path, sizeof path, "%s/queued", base);
    if (!rt_h5_exists(file, path))
        return RT_OK;
    struct rt_h5_array array = doubles(path, NULL);
    ADD(rt_h5_read(file, &array, out->queued, sizeof *out->queued, RT_QUEUED_PARTS));
    for (int p = 0; p < RT_QUEUED_PARTS; p++)
        if (!(fabs(out->queued[p]) <= 20))
            return rt_fail(RT_EFORMAT, "%s: %s holds a shift that cannot be: the file is damaged",
                           rt_h5_path(file), path);
    return RT_OK;
}

/* One device's device effects as attributes of `base`. */
static int write_effect(struct rt_h5 *file, const char *base, const struct rt_device_effect *effect)
{
    int status;
    char path[192];
    ADD(rt_h5_make_group(file, base));
    ADD(rt_h5_set_text(file, base, "device", effect->device));
    ADD(rt_h5_set_text(file, base, "vendor", effect->vendor));
    ADD(rt_h5_set_text(file, base, "capability", effect->capability));
    ADD(rt_h5_set_text(file, base, "memory_kind", rt_memory_kinds[effect->memory_kind]));
    for (int p = 0; p < RT_EFFECT_PARTS; p++)
        ADD(rt_h5_set_real(file, base, rt_effect_parts[p], effect->value[p]));
    ADD(rt_h5_set_real(file, base, "floor_us", effect->dispatch_us));
    for (int l = 0; effect->interval[0] > 0 && l < RT_INTERVAL_LEVELS; l++)
        ADD(rt_h5_set_real(file, base, level_name(l), effect->interval[l]));
    ADD(rt_h5_set_integer(file, base, "calibrated", effect->calibrated));
    ADD(write_correction(file, base, &effect->correction));
    ADD(write_queued(file, base, effect));
    snprintf(path, sizeof path, "%s/calibrated_to", base);
    ADD(rt_fitted_keys_write(&effect->fitted_keys, file, path));
    return rt_h5_set_integer(file, base, "kernels", effect->kernels);
}

static int write_effects(struct rt_h5 *file, const char *net, const struct rt_device_effects *effects)
{
    int status;
    char base[96], path[160];
    if (effects->count == 0)
        return RT_OK;
    snprintf(base, sizeof base, "%s/latents", net);
    ADD(rt_h5_make_group(file, base));
    for (size_t i = 0; i < effects->count; i++) {
        snprintf(path, sizeof path, "%s/%04zu", base, i);
        ADD(write_effect(file, path, &effects->known[i]));
    }
    return RT_OK;
}

/* Rows of `unseen` and `known` are sizes, columns levels; nothing where there are no intervals. */
static int write_intervals(struct rt_h5 *file, const char *net, const struct rt_intervals *intervals)
{
    int status;
    char base[96], path[128];
    const size_t cells = RT_INTERVAL_SIZES * RT_INTERVAL_LEVELS;
    if (intervals->gpus == 0 && !(intervals->known[RT_INTERVAL_LONG][0] > 0))
        return RT_OK;
    snprintf(base, sizeof base, "%s/intervals", net);
    ADD(rt_h5_make_group(file, base));
    ADD(rt_h5_set_integer(file, base, "gpus", intervals->gpus));
    snprintf(path, sizeof path, "%s/level", base);
    struct rt_h5_array array = doubles(path, "share of the measurements within the half-width");
    ADD(rt_h5_write(file, &array, rt_interval_levels, sizeof(double), RT_INTERVAL_LEVELS));
    snprintf(path, sizeof path, "%s/unseen", base);
    array = doubles(path, "half-width of ln(measured / forecast), short kernels and then long ones");
    ADD(rt_h5_write(file, &array, intervals->unseen, sizeof(double), cells));
    snprintf(path, sizeof path, "%s/known", base);
    return rt_h5_write(file, &array, intervals->known, sizeof(double), cells);
}

/* What a family has instead of a network. */
static int write_baseline(struct rt_h5 *file, const char *base, const struct rt_family_net *net)
{
    char path[96];
    bool lines = rt_heads[net->head].source == RT_SOURCE_LINEAR;
    snprintf(path, sizeof path, "%s/%s", base, lines ? "lines" : "origins");
    return lines ? rt_linear_baseline_write(&net->lines, file, path)
                 : rt_wave_scaling_write(&net->origins, file, path);
}

/* "/families/linear", "/families/linear.matrix" */
static void net_path(enum rt_family family, enum rt_units units, char path[static 64])
{
    snprintf(path, 64, "/families/%s", rt_net_name(family, units));
    for (char *at = path; *at != '\0'; at++)
        *at = *at == ' ' ? '.' : *at;
}

static int write_net(struct rt_h5 *file, const struct rt_family_net *net)
{
    int status;
    char base[64], path[96];
    net_path(net->family, net->units, base);
    ADD(rt_h5_make_group(file, base));
    ADD(rt_h5_set_text(file, base, "units", rt_units[net->units]));
    ADD(write_shape(file, base, net));
    if (!has_network(net))
        return write_baseline(file, base, net);
    snprintf(path, sizeof path, "%s/offset", base);
    struct rt_h5_array array = doubles(path, "the net sees (feature - offset) x scale");
    ADD(rt_h5_write(file, &array, net->offset, sizeof *net->offset, net->feature_count));
    snprintf(path, sizeof path, "%s/scale", base);
    array = doubles(path, "the net sees (feature - offset) x scale");
    ADD(rt_h5_write(file, &array, net->scale, sizeof *net->scale, net->feature_count));
    snprintf(path, sizeof path, "%s/clip_low", base);
    array = doubles(path, "least value of the feature");
    ADD(rt_h5_write(file, &array, net->clip_low, sizeof *net->clip_low, net->feature_count));
    snprintf(path, sizeof path, "%s/clip_high", base);
    array = doubles(path, "greatest value of the feature");
    ADD(rt_h5_write(file, &array, net->clip_high, sizeof *net->clip_high, net->feature_count));
    ADD(write_effects(file, base, &net->effects));
    ADD(write_intervals(file, base, &net->intervals));
    snprintf(path, sizeof path, "%s/parameters", base);
    array = reals(path, "layer after layer: weight (outputs,inputs), bias (outputs)");
    ADD(rt_h5_write(file, &array, net->mlp.parameters, sizeof *net->mlp.parameters, net->mlp.count));
    snprintf(path, sizeof path, "%s/tiles", base);
    return rt_measured_tiles_write(&net->tiles, file, path);
}

int rt_predictor_write(const struct rt_predictor *predictor, struct rt_h5 *file)
{
    int status;
    for (size_t i = 0; i < RT_COUNT(texts); i++)
        ADD(rt_h5_set_text(file, "/", texts[i].name, *text_at(predictor, i)));
    ADD(rt_h5_set_integer(file, "/", "seed", (int64_t)predictor->split.seed));
    ADD(rt_h5_set_real(file, "/", "split_validation", predictor->split.validation));
    ADD(rt_h5_set_real(file, "/", "split_test", predictor->split.test));
    if (predictor->kept_no_test)
        ADD(rt_h5_set_integer(file, "/", "kept_no_test", 1));
    ADD(rt_h5_set_integer(file, "/", "threads", predictor->threads));
    ADD(rt_h5_set_integer(file, "/", "complete", predictor->complete));
    ADD(rt_h5_make_group(file, "/families"));
    /* In the order of the families: the same nets, the same bytes. */
    for (int family = 0; family < RT_FAMILY_COUNT; family++)
        for (int units = 0; units < RT_UNITS_COUNT; units++)
            for (size_t n = 0; n < predictor->net_count; n++)
                if ((int)predictor->nets[n].family == family && (int)predictor->nets[n].units == units)
                    ADD(write_net(file, &predictor->nets[n]));
    return RT_OK;
}

int rt_predictor_save(const struct rt_predictor *predictor, const char *path)
{
    struct rt_h5 *file;
    int status = rt_h5_create(path, &file);
    if (status != RT_OK)
        return status;
    if ((status = rt_h5_set_text(file, "/", "format", RT_PREDICTOR_FORMAT)) != RT_OK ||
        (status = rt_h5_set_integer(file, "/", "version", RT_PREDICTOR_VERSION)) != RT_OK ||
        (status = rt_predictor_write(predictor, file)) != RT_OK) {
        rt_h5_close(file);
        return status;
    }
    return rt_h5_commit(file);
}

static int policy_find(const char *name)
{
    for (int i = 0; i < RT_TILE_POLICY_COUNT; i++)
        if (strcmp(rt_tile_policies[i], name) == 0)
            return i;
    return -1;
}

static int read_features(struct rt_h5 *file, const char *base, struct rt_family_net *net)
{
    char *names;
    int status = rt_h5_get_text(file, base, "features", &names);
    if (status != RT_OK)
        return status;
    char *rest = names;
    for (char *name; status == RT_OK && (name = strtok_r(rest, " ", &rest)) != NULL;) {
        int feature = rt_feature_find(name);
        if (net->feature_count == RT_MAX_FEATURES)
            status = rt_fail(RT_EFORMAT, "%s: %s lists more than %d features", rt_h5_path(file), base,
                             RT_MAX_FEATURES);
        else if (feature < 0)
            status = rt_fail(
                RT_EVERSION,
                "%s: %s needs the feature \"%.60s\", which this build does not have; use a newer rooftile",
                rt_h5_path(file), base, name);
        else
            net->feature[net->feature_count++] = feature;
    }
    free(names);
    return status;
}

static int read_width(struct rt_h5 *file, const char *base, const char *name, uint32_t *out)
{
    int64_t value = 0;
    int status = rt_h5_get_integer(file, base, name, &value);
    if (status == RT_OK && (value < 1 || value > INT32_MAX))
        status = rt_fail(RT_EFORMAT, "%s: %s of %s is %lld; it must be positive", rt_h5_path(file), name,
                         base, (long long)value);
    if (status == RT_OK)
        *out = (uint32_t)value;
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

static int read_network(struct rt_h5 *file, const char *base, struct rt_family_net *net)
{
    int status, activation = 0;
    struct rt_mlp_shape shape;
    ADD(rt_h5_get_name(file, base, "activation", rt_activation_find, &activation));
    ADD(read_width(file, base, "inputs", &shape.inputs));
    ADD(read_width(file, base, "hidden", &shape.hidden));
    ADD(read_width(file, base, "layers", &shape.layers));
    ADD(read_width(file, base, "outputs", &shape.outputs));
    if (shape.inputs != (uint32_t)net->feature_count ||
        shape.outputs != (uint32_t)rt_heads[net->head].outputs)
        return rt_fail(RT_EFORMAT,
                       "%s: %s has %u inputs and %u outputs where its features and head make %d and %d",
                       rt_h5_path(file), base, shape.inputs, shape.outputs, net->feature_count,
                       rt_heads[net->head].outputs);
    shape.activation = (enum rt_activation_id)activation;
    char path[96];
    snprintf(path, sizeof path, "%s/parameters", base);
    struct rt_h5_array array = reals(path, NULL);
    size_t stored;
    ADD(rt_h5_count(file, &array,
                    &stored)); /* bounded by the file's size, before a wide shape is allocated */
    if (parameter_count(&shape) != (double)stored)
        return rt_fail(RT_EFORMAT, "%s: %s claims %u layers of %u, %.0f parameters, but %s holds %zu",
                       rt_h5_path(file), base, shape.layers, shape.hidden, parameter_count(&shape), path,
                       stored);
    if (rt_mlp_init(&net->mlp, &shape) != RT_OK)
        return rt_fail_context(RT_EFORMAT, "%s: %s", rt_h5_path(file), base);
    return rt_h5_read(file, &array, net->mlp.parameters, sizeof *net->mlp.parameters, net->mlp.count);
}

static int read_shape(struct rt_h5 *file, const char *base, struct rt_family_net *net)
{
    int status, policy = 0;
    ADD(read_features(file, base, net));
    ADD(rt_h5_get_name(file, base, "head", rt_head_find, &net->head));
    ADD(rt_h5_get_name(file, base, "tile_policy", policy_find, &policy));
    ADD(rt_h5_get_text(file, base, "loss", &net->loss));
    ADD(rt_h5_get_integer(file, base, "rows_train", &net->rows_train));
    ADD(rt_h5_get_integer(file, base, "rows_validation", &net->rows_validation));
    ADD(rt_h5_get_integer(file, base, "epochs", &net->epochs));
    ADD(rt_h5_get_integer(file, base, "best_epoch", &net->best_epoch));
    ADD(rt_h5_get_real(file, base, "validation_mape_percent", &net->validation_mape));
    net->policy = (enum rt_tile_policy)policy;
    return has_network(net) ? read_network(file, base, net) : RT_OK;
}

/* How many numbers a point of a correction has: its place, or the network's inputs in files of earlier
 * builds, which say a length. */
static int read_correction_points(struct rt_h5 *file, const char *base, const struct rt_family_net *net,
                                  struct rt_residual_correction *out)
{
    int status;
    char path[192];
    size_t stored;
    bool by_inputs = rt_h5_has(file, base, "correction_length");
    if (by_inputs)
        ADD(rt_h5_get_real(file, base, "correction_length", &out->length));
    out->width = by_inputs ? (size_t)net->feature_count : rt_family_net_place_width(net);
    snprintf(path, sizeof path, "%s/correction_points", base);
    struct rt_h5_array array = reals(path, NULL);
    ADD(rt_h5_count(file, &array, &stored));
    if (out->points > RT_MOST_CORRECTION_POINTS * RT_DTYPE_COUNT || stored != out->points * out->width ||
        by_inputs != (out->length > 0))
        return rt_fail(RT_EFORMAT, "%s: %s holds %zu numbers of %zu kernels where the network makes %zu each",
                       rt_h5_path(file), base, stored, out->points, out->width);
    out->point = rt_calloc(stored + 1, sizeof *out->point);
    return rt_h5_read(file, &array, out->point, sizeof *out->point, stored);
}

static int read_correction(struct rt_h5 *file, const char *base, const struct rt_family_net *net,
                           struct rt_residual_correction *out)
{
    int status;
    char path[192];
    const char *names[RT_DTYPE_COUNT];
    snprintf(path, sizeof path, "%s/correction_weights", base);
    if (!rt_h5_exists(file, path))
        return RT_OK;
    struct rt_h5_array array = doubles(path, NULL);
    ADD(rt_h5_count(file, &array, &out->points));
    out->weight = rt_calloc(out->points + 1, sizeof *out->weight);
    ADD(rt_h5_read(file, &array, out->weight, sizeof *out->weight, out->points));
    ADD(read_correction_points(file, base, net, out));
    if (out->length > 0)
        return RT_OK;
    snprintf(path, sizeof path, "%s/correction_dtypes", base);
    array = correction_dtypes(path, names);
    out->dtype = rt_calloc(out->points + 1, 1);
    return rt_h5_read(file, &array, out->dtype, 1, out->points);
}

static int read_short_text(struct rt_h5 *file, const char *base, const char *name, char *out, size_t size)
{
    char *text;
    int status = rt_h5_get_text(file, base, name, &text);
    if (status != RT_OK)
        return status;
    snprintf(out, size, "%s", text);
    free(text);
    return RT_OK;
}

static int read_effect(struct rt_h5 *file, const char *base, const struct rt_family_net *net,
                       struct rt_device_effect *out)
{
    int status;
    ADD(read_short_text(file, base, "device", out->device, sizeof out->device));
    if (rt_h5_has(file, base, "vendor")) /* older files do not say */
        ADD(read_short_text(file, base, "vendor", out->vendor, sizeof out->vendor));
    if (rt_h5_has(file, base, "capability"))
        ADD(read_short_text(file, base, "capability", out->capability, sizeof out->capability));
    int kind = 0;
    int64_t calibrated = 0;
    ADD(rt_h5_get_name(file, base, "memory_kind", rt_memory_kind_find, &kind));
    out->memory_kind = (enum rt_memory_kind)kind;
    bool sound = true;
    for (int p = 0; p < RT_EFFECT_PARTS; p++) {
        if (p != RT_EFFECT_NARROW || rt_h5_has(file, base, rt_effect_parts[p])) /* older files lack it */
            ADD(rt_h5_get_real(file, base, rt_effect_parts[p], &out->value[p]));
        sound &= fabs(out->value[p]) <= 20;
    }
    ADD(rt_h5_get_real(file, base, "floor_us", &out->dispatch_us));
    ADD(rt_h5_get_integer(file, base, "kernels", &out->kernels));
    if (rt_h5_has(file, base, "calibrated")) { /* files of the first builds of version 2 lack it */
        ADD(rt_h5_get_integer(file, base, "calibrated", &calibrated));
        out->calibrated = calibrated != 0;
    }
    for (int l = 0; l < RT_INTERVAL_LEVELS && rt_h5_has(file, base, level_name(l)); l++) {
        ADD(rt_h5_get_real(file, base, level_name(l), &out->interval[l]));
        sound &= !(out->interval[l] < 0 || out->interval[l] > 1e4); /* NaN: too few kernels for the level */
    }
    if (!sound || !(out->dispatch_us >= 0 && out->dispatch_us < 1e9))
        return rt_fail(RT_EFORMAT, "%s: %s holds latents that cannot be: the file is damaged",
                       rt_h5_path(file), base);
    ADD(read_correction(file, base, net, &out->correction));
    ADD(read_queued(file, base, out));
    char path[192];
    snprintf(path, sizeof path, "%s/calibrated_to", base);
    return rt_fitted_keys_read(file, path, &out->fitted_keys);
}

struct effects_reader {
    struct rt_device_effects *effects;
    const char *base;
    const struct rt_family_net *net;
};

static int read_known_effect(struct rt_h5 *file, const char *name, void *context)
{
    struct effects_reader *reader = context;
    struct rt_device_effects *effects = reader->effects;
    char path[160];
    snprintf(path, sizeof path, "%s/%.16s", reader->base, name);
    effects->known = rt_realloc(effects->known, effects->count + 1, sizeof *effects->known);
    effects->known[effects->count++] = (struct rt_device_effect){0};
    return read_effect(file, path, reader->net, &effects->known[effects->count - 1]);
}

static int read_effects(struct rt_h5 *file, const char *group, const struct rt_family_net *net,
                        struct rt_device_effects *effects)
{
    char base[96];
    snprintf(base, sizeof base, "%s/latents", group);
    if (!rt_h5_exists(file, base))
        return RT_OK;
    struct effects_reader reader = {effects, base, net};
    return rt_h5_each_child(file, base, read_known_effect, &reader);
}

static bool sound_widths(const double *widths, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (widths[i] < 0 || widths[i] > 100)
            return false;
    return true; /* NaN: unknown */
}

static int read_intervals(struct rt_h5 *file, const char *net, struct rt_intervals *intervals)
{
    int status;
    char base[96], path[128];
    const size_t cells = RT_INTERVAL_SIZES * RT_INTERVAL_LEVELS;
    double levels[RT_INTERVAL_LEVELS];
    rt_intervals_init(intervals);
    snprintf(base, sizeof base, "%s/intervals", net);
    if (!rt_h5_exists(file, base)) /* files of the first builds of version 2 lack them */
        return RT_OK;
    ADD(rt_h5_get_integer(file, base, "gpus", &intervals->gpus));
    snprintf(path, sizeof path, "%s/level", base);
    struct rt_h5_array array = doubles(path, NULL);
    ADD(rt_h5_read(file, &array, levels, sizeof(double), RT_INTERVAL_LEVELS));
    snprintf(path, sizeof path, "%s/unseen", base);
    ADD(rt_h5_read(file, &array, intervals->unseen, sizeof(double), cells));
    snprintf(path, sizeof path, "%s/known", base);
    ADD(rt_h5_read(file, &array, intervals->known, sizeof(double), cells));
    if (memcmp(levels, rt_interval_levels, sizeof levels) != 0)
        return rt_fail(RT_EVERSION, "%s: %s has other levels than this build knows; use a newer rooftile",
                       rt_h5_path(file), base);
    if (intervals->gpus < 0 || !sound_widths(&intervals->unseen[0][0], cells) ||
        !sound_widths(&intervals->known[0][0], cells))
        return rt_fail(RT_EFORMAT, "%s: %s holds widths that cannot be: the file is damaged",
                       rt_h5_path(file), base);
    return RT_OK;
}

static int read_baseline(struct rt_h5 *file, const char *base, struct rt_family_net *net)
{
    char path[96];
    bool lines = rt_heads[net->head].source == RT_SOURCE_LINEAR;
    snprintf(path, sizeof path, "%s/%s", base, lines ? "lines" : "origins");
    return lines ? rt_linear_baseline_read(file, path, &net->lines)
                 : rt_wave_scaling_read(file, path, &net->origins);
}

static int units_find(const char *name)
{
    for (int u = 0; u < RT_UNITS_COUNT; u++)
        if (strcmp(rt_units[u], name) == 0)
            return u;
    return -1;
}

static int read_net(struct rt_h5 *file, const char *name, void *context)
{
    struct rt_predictor *predictor = context;
    char base[64], path[96];
    snprintf(base, sizeof base, "%.*s", (int)strcspn(name, "."), name);
    int family = rt_family_find(base), units = RT_UNITS_ANY, status;
    if (family < 0 || predictor->net_count == RT_MAX_NETS)
        return rt_fail(
            RT_EVERSION,
            "%s: has a network for \"%.40s\", a family this build does not know; use a newer rooftile",
            rt_h5_path(file), name);
    predictor->nets = rt_realloc(predictor->nets, predictor->net_count + 1, sizeof *predictor->nets);
    struct rt_family_net *net = &predictor->nets[predictor->net_count++];
    *net = (struct rt_family_net){.family = (enum rt_family)family};
    snprintf(base, sizeof base, "/families/%.48s", name);
    if (rt_h5_has(file, base, "units")) /* older files do not say */
        ADD(rt_h5_get_name(file, base, "units", units_find, &units));
    net->units = (enum rt_units)units;
    ADD(read_shape(file, base, net));
    if (!has_network(net))
        return read_baseline(file, base, net);
    snprintf(path, sizeof path, "%s/offset", base);
    struct rt_h5_array array = doubles(path, NULL);
    ADD(rt_h5_read(file, &array, net->offset, sizeof *net->offset, (size_t)net->feature_count));
    snprintf(path, sizeof path, "%s/scale", base);
    ADD(rt_h5_read(file, &array, net->scale, sizeof *net->scale, (size_t)net->feature_count));
    for (int f = 0; f < net->feature_count; f++) {
        net->clip_low[f] = -INFINITY;
        net->clip_high[f] = INFINITY;
    }
    if (rt_h5_version(file) >= 2) {
        snprintf(path, sizeof path, "%s/clip_low", base);
        ADD(rt_h5_read(file, &array, net->clip_low, sizeof *net->clip_low, (size_t)net->feature_count));
        snprintf(path, sizeof path, "%s/clip_high", base);
        ADD(rt_h5_read(file, &array, net->clip_high, sizeof *net->clip_high, (size_t)net->feature_count));
    }
    net->effects.family = net->family;
    ADD(read_effects(file, base, net, &net->effects));
    ADD(read_intervals(file, base, &net->intervals));
    snprintf(path, sizeof path, "%s/tiles", base);
    return rt_measured_tiles_read(file, path, &net->tiles);
}

static int read_root(struct rt_h5 *file, struct rt_predictor *predictor)
{
    int status;
    int64_t seed = 0, complete = 0;
    for (size_t i = 0; i < RT_COUNT(texts); i++) {
        char *text;
        if (texts[i].may_lack && !rt_h5_has(file, "/", texts[i].name))
            continue;
        ADD(rt_h5_get_text(file, "/", texts[i].name, &text));
        free(*text_at(predictor, i));
        *text_at(predictor, i) = text;
    }
    ADD(rt_h5_get_integer(file, "/", "seed", &seed));
    ADD(rt_h5_get_real(file, "/", "split_validation", &predictor->split.validation));
    ADD(rt_h5_get_real(file, "/", "split_test", &predictor->split.test));
    predictor->kept_no_test = rt_h5_has(file, "/", "kept_no_test");
    ADD(rt_h5_get_integer(file, "/", "threads", &predictor->threads));
    ADD(rt_h5_get_integer(file, "/", "complete", &complete));
    predictor->split.seed = (uint64_t)seed;
    predictor->complete = complete != 0;
    return RT_OK;
}

int rt_predictor_read(struct rt_h5 *file, struct rt_predictor *out)
{
    struct rt_predictor predictor;
    rt_predictor_init(&predictor, "");
    int status = read_root(file, &predictor);
    if (status == RT_OK)
        status = rt_h5_each_child(file, "/families", read_net, &predictor);
    if (status == RT_OK)
        *out = predictor;
    else
        rt_predictor_release(&predictor);
    return status;
}
