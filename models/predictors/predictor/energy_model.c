/* Scales of the parts of a step's energy. See energy_model.h. */
#include "models/predictors/predictor/energy_model.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/h5_struct.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const enum rt_energy_effect rt_energy_effect_of[RT_ENERGY_PARTS] = {
    [RT_ENERGY_MATRIX] = RT_ENERGY_CORE,   [RT_ENERGY_VECTOR] = RT_ENERGY_CORE,
    [RT_ENERGY_CACHE] = RT_ENERGY_CORE,    [RT_ENERGY_DRAM] = RT_ENERGY_MEMORY,
    [RT_ENERGY_ACTIVE] = RT_ENERGY_STATIC, [RT_ENERGY_IDLE] = RT_ENERGY_STATIC,
};

void rt_energy_model_init(struct rt_energy_model *model)
{
    const double sd[RT_ENERGY_EFFECTS] = {0.2, 0.2, 0.1}; /* docs/log/energy.md */
    *model = (struct rt_energy_model){0};
    for (int p = 0; p < RT_ENERGY_PARTS; p++)
        model->population[p] = 1;
    for (int e = 0; e < RT_ENERGY_EFFECTS; e++)
        model->sd[e] = sd[e];
    for (int l = 0; l < RT_INTERVAL_LEVELS; l++)
        model->unseen[l] = model->known[l] = NAN;
}

void rt_energy_model_release(struct rt_energy_model *model)
{
    for (size_t d = 0; d < model->count; d++)
        rt_fitted_keys_release(&model->devices[d].fitted_keys);
    free(model->devices);
    model->devices = NULL;
    model->count = 0;
}

struct rt_energy_model rt_energy_model_copy(const struct rt_energy_model *model)
{
    struct rt_energy_model copy = *model;
    copy.devices = rt_malloc((model->count + 1) * sizeof *copy.devices);
    for (size_t d = 0; d < model->count; d++) {
        copy.devices[d] = model->devices[d];
        copy.devices[d].fitted_keys = rt_fitted_keys_copy(&model->devices[d].fitted_keys);
    }
    return copy;
}

bool rt_energy_model_is_fitted(const struct rt_energy_model *model)
{
    bool fitted = model->count > 0;
    for (int p = 0; p < RT_ENERGY_PARTS; p++)
        fitted |= model->population[p] != 1;
    return fitted;
}

static struct rt_energy_device *entry_of(const struct rt_energy_model *model, const char *device)
{
    for (size_t d = 0; d < model->count; d++)
        if (rt_name_equal(model->devices[d].device, device))
            return &model->devices[d];
    return NULL;
}

const struct rt_energy_device *rt_energy_model_find(const struct rt_energy_model *model,
                                                    const struct rt_device *device)
{
    const struct rt_energy_device *own = entry_of(model, device->name);
    return own != NULL ? own : entry_of(model, rt_device_board(device));
}

bool rt_energy_model_fitted_to(const struct rt_energy_model *model, const struct rt_device *device,
                               int64_t key)
{
    const struct rt_energy_device *entry = rt_energy_model_find(model, device);
    return entry != NULL && rt_fitted_keys_has(&entry->fitted_keys, key);
}

void rt_energy_model_put(struct rt_energy_model *model, const struct rt_energy_device *entry)
{
    struct rt_energy_device *at = entry_of(model, entry->device);
    if (at == NULL) {
        model->devices = rt_realloc(model->devices, model->count + 1, sizeof *model->devices);
        at = &model->devices[model->count++];
    } else
        rt_fitted_keys_release(&at->fitted_keys);
    *at = *entry;
}

void rt_energy_scales(const struct rt_energy_model *model, const struct rt_device *device,
                      double scale[RT_ENERGY_PARTS])
{
    const struct rt_energy_device *entry = rt_energy_model_find(model, device);
    for (int p = 0; p < RT_ENERGY_PARTS; p++)
        scale[p] = model->population[p] * (entry != NULL ? exp(entry->effect[rt_energy_effect_of[p]]) : 1);
}

double rt_energy_interval(const struct rt_energy_model *model, const struct rt_device *device, double level)
{
    return rt_interval_at(rt_energy_model_find(model, device) != NULL ? model->known : model->unseen, level);
}

/* ---- in files: the group /energy, as FORMAT.md describes ---- */

/* What a file may hold: factors, deviations and effects in ln, half-widths in ln. */
static const double LEAST_FACTOR = 1e-3, MOST_FACTOR = 1e3, MOST_SD = 10, MOST_EFFECT = 10, MOST_WIDTH = 100;

static const char GROUP[] = "/energy";

static const struct rt_h5_array population_array = {
    .type = RT_H5_F64,
    .units = "1",
    .long_name = "by part: matrix, vector, cache, dram, active, idle: multiples of the prior joules"};
static const struct rt_h5_array sd_array = {
    .type = RT_H5_F64,
    .units = "1",
    .long_name = "by effect: core, memory, static: deviation over devices, in ln"};
static const struct rt_h5_array levels_array = {
    .type = RT_H5_F64, .units = "1", .long_name = "share of the measurements within the half-width"};
static const struct rt_h5_array widths_array = {
    .type = RT_H5_F64, .units = "1", .long_name = "half-width of ln(measured / forecast power) by level"};

#define DEVICE(member, name, kind) RT_H5_MEMBER(struct rt_energy_device, member, name, kind)

static const struct rt_h5_attribute device_attributes[] = {
    DEVICE(device, "device", RT_H5_CHARS),
    DEVICE(effect[RT_ENERGY_CORE], "core", RT_H5_REAL),
    DEVICE(effect[RT_ENERGY_MEMORY], "memory", RT_H5_REAL),
    DEVICE(effect[RT_ENERGY_STATIC], "static", RT_H5_REAL),
    DEVICE(runs, "runs", RT_H5_INTEGER),
    DEVICE(kernels, "kernels", RT_H5_INTEGER),
    DEVICE(calibrated, "calibrated", RT_H5_BOOL),
};

/* ---- writing ---- */

static bool has_intervals(const struct rt_energy_model *model)
{
    return !isnan(model->unseen[0]) || !isnan(model->known[0]);
}

static int write_reals(struct rt_h5 *file, const char *name, struct rt_h5_array array, const double *values,
                       size_t count)
{
    return rt_h5_write_in(file, GROUP, name, array, values, sizeof *values, count);
}

static int write_intervals(const struct rt_energy_model *model, struct rt_h5 *file)
{
    int status = write_reals(file, "level", levels_array, rt_interval_levels, RT_INTERVAL_LEVELS);
    if (status == RT_OK)
        status = write_reals(file, "unseen", widths_array, model->unseen, RT_INTERVAL_LEVELS);
    return status == RT_OK ? write_reals(file, "known", widths_array, model->known, RT_INTERVAL_LEVELS)
                           : status;
}

static int write_device(const struct rt_energy_model *model, size_t index, struct rt_h5 *file)
{
    const struct rt_energy_device *device = &model->devices[index];
    char group[64], keys[80];
    snprintf(group, sizeof group, "%s/devices/%04zu", GROUP, index);
    snprintf(keys, sizeof keys, "%s/fitted_keys", group);
    int status = rt_h5_make_group(file, group);
    if (status == RT_OK)
        status = rt_h5_write_struct(file, group, device_attributes, RT_COUNT(device_attributes), device);
    return status == RT_OK ? rt_fitted_keys_write(&device->fitted_keys, file, keys) : status;
}

int rt_energy_model_write(const struct rt_energy_model *model, struct rt_h5 *file)
{
    if (!rt_energy_model_is_fitted(model))
        return RT_OK;
    int status = rt_h5_make_group(file, GROUP);
    if (status == RT_OK)
        status = write_reals(file, "population", population_array, model->population, RT_ENERGY_PARTS);
    if (status == RT_OK)
        status = write_reals(file, "sd", sd_array, model->sd, RT_ENERGY_EFFECTS);
    if (status == RT_OK && has_intervals(model))
        status = write_intervals(model, file);
    if (status == RT_OK)
        status = rt_h5_make_group(file, "/energy/devices");
    for (size_t d = 0; status == RT_OK && d < model->count; d++)
        status = write_device(model, d, file);
    return status;
}

/* ---- reading ---- */

static int read_range(struct rt_h5 *file, const char *name, struct rt_h5_array array, double *values,
                      size_t count, double low, double high)
{
    return rt_h5_read_range(file, GROUP, name, array, values, sizeof *values, count, low, high);
}

/* Half-widths by level: positive up to the last that is known, NaN from there. */
static bool is_sound(const double width[RT_INTERVAL_LEVELS])
{
    for (int l = 0; l < RT_INTERVAL_LEVELS; l++)
        if (width[l] < 0 || width[l] > MOST_WIDTH)
            return false;
    return true;
}

static int read_intervals(struct rt_h5 *file, struct rt_energy_model *model)
{
    double levels[RT_INTERVAL_LEVELS];
    if (!rt_h5_exists_in(file, GROUP, "unseen"))
        return RT_OK;
    int status =
        rt_h5_read_in(file, GROUP, "level", levels_array, levels, sizeof *levels, RT_INTERVAL_LEVELS);
    if (status == RT_OK)
        status = rt_h5_read_in(file, GROUP, "unseen", widths_array, model->unseen, sizeof(double),
                               RT_INTERVAL_LEVELS);
    if (status == RT_OK)
        status = rt_h5_read_in(file, GROUP, "known", widths_array, model->known, sizeof(double),
                               RT_INTERVAL_LEVELS);
    if (status != RT_OK)
        return status;
    if (memcmp(levels, rt_interval_levels, sizeof levels) != 0)
        return rt_fail(RT_EVERSION, "%s: %s has other levels than this build knows; use a newer rooftile",
                       rt_h5_path(file), GROUP);
    if (!is_sound(model->unseen) || !is_sound(model->known))
        return rt_fail(RT_EFORMAT, "%s: %s holds widths that cannot be: the file is damaged",
                       rt_h5_path(file), GROUP);
    return RT_OK;
}

static bool device_is_sound(const struct rt_energy_device *device)
{
    bool sound = device->runs >= 0 && device->kernels >= 0;
    for (int e = 0; e < RT_ENERGY_EFFECTS; e++)
        sound &= fabs(device->effect[e]) <= MOST_EFFECT; /* not so NaN */
    return sound;
}

static int read_device(struct rt_h5 *file, const char *name, void *context)
{
    struct rt_energy_model *model = context;
    struct rt_energy_device device = {0};
    char group[128], keys[160];
    snprintf(group, sizeof group, "%s/devices/%.64s", GROUP, name);
    snprintf(keys, sizeof keys, "%s/fitted_keys", group);
    int status = rt_h5_read_struct(file, group, device_attributes, RT_COUNT(device_attributes), &device);
    if (status == RT_OK && !device_is_sound(&device))
        status = rt_fail(RT_EFORMAT,
                         "%s: %s has effects beyond %g or negative counts: the file is damaged, restore it "
                         "from a copy or calibrate again",
                         rt_h5_path(file), group, MOST_EFFECT);
    if (status == RT_OK)
        status = rt_fitted_keys_read(file, keys, &device.fitted_keys);
    if (status == RT_OK)
        rt_energy_model_put(model, &device);
    return status;
}

int rt_energy_model_read(struct rt_h5 *file, struct rt_energy_model *out)
{
    struct rt_energy_model model;
    rt_energy_model_init(&model);
    if (rt_h5_exists(file, GROUP)) {
        int status = read_range(file, "population", population_array, model.population, RT_ENERGY_PARTS,
                                LEAST_FACTOR, MOST_FACTOR);
        if (status == RT_OK)
            status = read_range(file, "sd", sd_array, model.sd, RT_ENERGY_EFFECTS, 0, MOST_SD);
        if (status == RT_OK)
            status = read_intervals(file, &model);
        if (status == RT_OK)
            status = rt_h5_each_child(file, "/energy/devices", read_device, &model);
        if (status != RT_OK) {
            rt_energy_model_release(&model);
            return status;
        }
    }
    *out = model;
    return RT_OK;
}
