/* Device effects and their prior. See device_effects.h. */
#include "models/predictors/predictor/device_effects.h"
#include "base/sort.h"
#include "base/status.h"
#include "base/strings.h"
#include "models/predictors/predictor/dtype_scales_file.h"
#include "base/h5_struct.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* What it owns. */
static void release_effect(struct rt_device_effect *effect)
{
    rt_residual_correction_release(&effect->correction);
    rt_fitted_keys_release(&effect->fitted_keys);
}

void rt_device_effects_release(struct rt_device_effects *effects)
{
    for (size_t i = 0; i < effects->count; i++)
        release_effect(&effects->known[i]);
    free(effects->known);
    *effects = (struct rt_device_effects){0};
}

struct rt_device_effect *rt_device_effects_find(const struct rt_device_effects *effects, const char *device)
{
    for (size_t i = 0; i < effects->count; i++)
        if (rt_name_equal(effects->known[i].device, device))
            return &effects->known[i];
    return NULL;
}

struct rt_device_effect *rt_device_effects_known(const struct rt_device_effects *effects,
                                                 const struct rt_device *device)
{
    struct rt_device_effect *own = rt_device_effects_find(effects, device->name);
    return own != NULL || device->whole[0] == '\0' ? own : rt_device_effects_find(effects, device->whole);
}

/* Is `word` one of the space-separated `words`? */
static bool has_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; (at = strstr(at, word)) != NULL; at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

void rt_device_effect_add_dtype(struct rt_device_effect *effect, enum rt_dtype dtype)
{
    size_t used = strlen(effect->dtypes);
    if (!has_word(effect->dtypes, rt_dtypes[dtype].name))
        snprintf(effect->dtypes + used, sizeof effect->dtypes - used, "%s%s", used > 0 ? " " : "",
                 rt_dtypes[dtype].name);
}

bool rt_device_effect_has_dtype(const struct rt_device_effect *effect, enum rt_dtype dtype)
{
    return effect->dtypes[0] == '\0' || has_word(effect->dtypes, rt_dtypes[dtype].name);
}

/* The first board of the device's chip that has a correction of its own; NULL where there is none. Files have
 * boards' names alone. */
static const struct rt_device_effect *calibrated_sibling(const struct rt_device_effects *effects,
                                                         const struct rt_device *device)
{
    struct rt_device other;
    for (size_t i = 0; i < effects->count; i++) {
        if (effects->known[i].correction.points == 0)
            continue;
        rt_device_init(&other, effects->known[i].device);
        rt_device_recall(&other); /* its chip */
        if (rt_chip_same(&other, device))
            return &effects->known[i];
    }
    return NULL;
}

void rt_device_effects_of(const struct rt_device_effects *effects, const struct rt_device *device,
                          struct rt_device_effect *out)
{
    const struct rt_device_effect *known = rt_device_effects_known(effects, device);
    if (known != NULL) {
        *out = *known;
        return;
    }
    rt_device_effects_prior(effects, device, out);
    const struct rt_device_effect *sibling = calibrated_sibling(effects, device);
    if (sibling == NULL)
        return;
    memcpy(out->value, sibling->value, sizeof out->value); /* which the correction goes with */
    out->correction = sibling->correction;
}

static double part_of(const struct rt_device_effect *effect, size_t offset)
{
    return *(const double *)((const char *)effect + offset);
}

/* In what a device of training is like the one whose prior is wanted. */
enum alike {
    ALL = 1,
    VENDOR = 2,
    MEMORY_KIND = 4,
    CAPABILITY = 8, /* one design of multiprocessor */
    LIBRARIES = 16, /* of one major compute capability */
    LINE = 32,      /* and kind of memory */
    UNITS = 64,     /* matrix units fed alike */
};

/* What a prior is taken from: the devices that the network was fitted to. */
struct relatives {
    const struct rt_device_effects *effects;
    uint8_t *alike; /* (count), 0 of devices that were calibrated */
    double *values; /* (count), room to gather in */
};

static uint8_t alike(const struct rt_device_effect *known, const struct rt_device_effect *device)
{
    bool vendor = strcmp(known->vendor, device->vendor) == 0,
         kind = known->memory_kind == device->memory_kind;
    bool capability = rt_capability_same(device->capability, known->capability);
    bool libraries = rt_capability_same_major(device->capability, known->capability);
    bool units = rt_capability_same_units(device->capability, known->capability);
    return (uint8_t)(ALL | vendor * VENDOR | kind * MEMORY_KIND | capability * CAPABILITY |
                     libraries * LIBRARIES | (libraries && kind) * LINE | units * UNITS);
}

/* Effects of the devices alike into `values`. */
static size_t gather(const struct relatives *relatives, enum alike in, size_t offset)
{
    size_t count = 0;
    for (size_t i = 0; i < relatives->effects->count; i++)
        if ((relatives->alike[i] & in) != 0)
            relatives->values[count++] = part_of(&relatives->effects->known[i], offset);
    return count;
}

static double mean(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return count > 0 ? sum / (double)count : 0; /* none: no shift */
}

/* Median or mean over the devices of the same vendor, over all where there are none. */
static double of_vendors(const struct relatives *relatives, size_t offset, bool median)
{
    size_t count = gather(relatives, VENDOR, offset);
    if (count == 0)
        count = gather(relatives, ALL, offset);
    return median && count > 0 ? rt_median(relatives->values, count) : mean(relatives->values, count);
}

/* The mean of the devices alike, shrunk to `base`, which counts as half a device. */
static double shrunk(const struct relatives *relatives, enum alike in, size_t offset, double base)
{
    const double base_count = 0.5;
    size_t count = gather(relatives, in, offset);
    return ((double)count * mean(relatives->values, count) + base_count * base) /
           ((double)count + base_count);
}

/* From large groups of devices to small ones. */
static double prior_of(const struct relatives *relatives, enum rt_effect_part part)
{
    size_t offset = offsetof(struct rt_device_effect, value) + (size_t)part * sizeof(double);
    enum rt_family family = relatives->effects->family;
    bool product = rt_families[family].product;
    double prior;
    if (family == RT_FAMILY_COLLECTIVE && (part == RT_EFFECT_DEPTH || part == RT_EFFECT_NARROW))
        return 0; /* of servers: what one does says nothing of the next */
    if (part == RT_EFFECT_MEMORY && !product) {
        prior = mean(relatives->values, gather(relatives, ALL, offset));
        prior = shrunk(relatives, MEMORY_KIND, offset, prior);
    } else {
        prior = of_vendors(relatives, offset, part != RT_EFFECT_MEMORY);
    }
    if (product ? part != RT_EFFECT_COMPUTE : family == RT_FAMILY_CONV && part == RT_EFFECT_COMPUTE)
        prior = shrunk(relatives, LIBRARIES, offset, prior);
    if (family == RT_FAMILY_COLLECTIVE && part == RT_EFFECT_COMPUTE)
        prior = shrunk(relatives, LINE, offset, prior);
    if (rt_families[family].attention || family == RT_FAMILY_MOE)
        prior = shrunk(relatives, UNITS, offset, prior);
    return shrunk(relatives, CAPABILITY, offset, prior);
}

/* The room is zeros. A forecast does this for each net, and snprintf takes longer than a prior. */
static void copy_text(char *to, size_t room, const char *from)
{
    memcpy(to, from, strnlen(from, room - 1));
}

void rt_device_effect_init(struct rt_device_effect *effect, const struct rt_device *device)
{
    *effect = (struct rt_device_effect){.memory_kind = rt_memory_kind_of(device)};
    copy_text(effect->device, sizeof effect->device, device->name);
    copy_text(effect->vendor, sizeof effect->vendor, device->vendor);
    copy_text(effect->capability, sizeof effect->capability, device->compute_capability);
}

void rt_device_effects_prior(const struct rt_device_effects *effects, const struct rt_device *device,
                             struct rt_device_effect *out)
{
    double few[32];
    uint8_t few_alike[RT_COUNT(few)];
    bool fits = effects->count <= RT_COUNT(few);
    struct relatives relatives = {.effects = effects, .alike = few_alike, .values = few};
    if (!fits) {
        relatives.alike = rt_malloc(effects->count);
        relatives.values = rt_malloc(effects->count * sizeof *relatives.values);
    }
    rt_device_effect_init(out, device);
    for (size_t i = 0; i < effects->count; i++)
        relatives.alike[i] = effects->known[i].calibrated ? 0 : alike(&effects->known[i], out);
    for (int p = 0; p < RT_EFFECT_PARTS; p++)
        out->value[p] = prior_of(&relatives, (enum rt_effect_part)p);
    out->dispatch_us = of_vendors(&relatives, offsetof(struct rt_device_effect, dispatch_us), true);
    if (!fits) {
        free(relatives.alike);
        free(relatives.values);
    }
}

void rt_device_effects_start(const struct rt_device_effects *effects, const struct rt_device *device,
                             struct rt_device_effect *out)
{
    const struct rt_device_effect *known = rt_device_effects_known(effects, device);
    if (known != NULL && !known->calibrated)
        *out = *known;
    else
        rt_device_effects_prior(effects, device, out);
    snprintf(out->device, sizeof out->device, "%s", device->name); /* a part gets an entry of its own */
}

void rt_device_effects_put(struct rt_device_effects *effects, const struct rt_device_effect *effect)
{
    struct rt_device_effect *entry = rt_device_effects_find(effects, effect->device);
    if (entry == NULL) {
        effects->known = rt_realloc(effects->known, effects->count + 1, sizeof *effects->known);
        entry = &effects->known[effects->count++];
        *entry = (struct rt_device_effect){.calibrated = true};
    }
    bool calibrated = entry->calibrated;
    release_effect(entry);
    *entry = *effect;
    entry->calibrated = calibrated;
}

void rt_device_effects_copy(const struct rt_device_effects *effects, struct rt_device_effects *out)
{
    struct rt_device_effects copy = *effects;
    copy.known = rt_malloc((effects->count + 1) * sizeof *copy.known);
    for (size_t i = 0; i < effects->count; i++) {
        copy.known[i] = effects->known[i];
        rt_residual_correction_copy(&effects->known[i].correction, &copy.known[i].correction);
        copy.known[i].fitted_keys = rt_fitted_keys_copy(&effects->known[i].fitted_keys);
    }
    *out = copy;
}

/* ---- in files: a group for each device, as FORMAT.md describes ---- */

/* What a file may hold: shifts of ln latency; places of kernels, whose inputs are clipped and standardised.
 */
static const double MOST_SHIFT = 20, MOST_PLACE = 1e6;

#define EFFECT(member, name, kind) RT_H5_MEMBER(struct rt_device_effect, member, name, kind)

static const struct rt_h5_attribute attributes[] = {
    EFFECT(device, "device", RT_H5_CHARS),
    EFFECT(vendor, "vendor", RT_H5_CHARS),
    EFFECT(capability, "capability", RT_H5_CHARS),
    RT_H5_MEMBER_NAME(struct rt_device_effect, memory_kind, "memory_kind", rt_memory_kinds, RT_MEMORY_KINDS),
    EFFECT(value[RT_EFFECT_COMPUTE], "compute", RT_H5_REAL),
    EFFECT(value[RT_EFFECT_MEMORY], "memory", RT_H5_REAL),
    EFFECT(value[RT_EFFECT_DEPTH], "depth", RT_H5_REAL),
    EFFECT(value[RT_EFFECT_NARROW], "narrow", RT_H5_REAL),
    EFFECT(dispatch_us, "dispatch_overhead_us", RT_H5_REAL),
    EFFECT(kernels, "kernels", RT_H5_INTEGER),
    EFFECT(calibrated, "calibrated", RT_H5_BOOL),
};

/* Not in files of earlier builds. */
static const struct rt_h5_attribute dtypes_attribute[] = {EFFECT(dtypes, "dtypes", RT_H5_CHARS)};

/* Half-widths of a device that an earlier build calibrated. */
static const struct rt_h5_attribute intervals[RT_INTERVAL_LEVELS] = {
    EFFECT(interval[0], "interval_50", RT_H5_REAL), EFFECT(interval[1], "interval_80", RT_H5_REAL),
    EFFECT(interval[2], "interval_90", RT_H5_REAL), EFFECT(interval[3], "interval_95", RT_H5_REAL),
    EFFECT(interval[4], "interval_98", RT_H5_REAL),
};

static const struct rt_h5_array points_array = {
    .type = RT_H5_F32,
    .units = "1",
    .long_name = "inputs and last hidden layer of the network for each kernel, as distances take them"};
static const struct rt_h5_array weights_array = {
    .type = RT_H5_F64,
    .units = "1",
    .long_name = "times exp(-d), d the distance of two points: added to ln latency"};
static const struct rt_h5_array noise_array = {
    .type = RT_H5_F64,
    .units = "1",
    .long_name =
        "variance of each kernel's measurement over that of the network's errors, large for outliers"};
static const struct rt_dtype_scales scales = {
    "interval_dtypes",
    "interval_scale",
    "errors of the calibrated device in units of their expected deviation",
    0,
    0,
    1e4};
static const struct rt_h5_array queued_array = {
    .type = RT_H5_F64,
    .units = "1",
    .long_name = "compute, memory: added to ln latency of kernels in a queue"};

static const char each_kernel[] = "element type of each kernel";

/* ---- writing ---- */

static int write_correction(struct rt_h5 *file, const char *base,
                            const struct rt_residual_correction *correction)
{
    const char *names[RT_DTYPE_COUNT];
    size_t points = correction->points;
    if (points == 0)
        return RT_OK;
    int status = rt_h5_write_in(file, base, "residual_correction_points", points_array, correction->point,
                                sizeof *correction->point, points * correction->width);
    if (status == RT_OK)
        status = rt_h5_write_in(file, base, "residual_correction_dtypes", rt_dtypes_array(each_kernel, names),
                                correction->dtype, 1, points);
    if (status == RT_OK)
        status = rt_h5_write_in(file, base, "residual_correction_weights", weights_array, correction->weight,
                                sizeof *correction->weight, points);
    if (status != RT_OK || correction->noise == NULL)
        return status;
    return rt_h5_write_in(file, base, "residual_correction_noise", noise_array, correction->noise,
                          sizeof *correction->noise, points);
}

/* Absent where both are 0. */
static int write_queued(struct rt_h5 *file, const char *base, const struct rt_device_effect *effect)
{
    if (effect->queued[RT_EFFECT_COMPUTE] == 0 && effect->queued[RT_EFFECT_MEMORY] == 0)
        return RT_OK;
    return rt_h5_write_in(file, base, "queued", queued_array, effect->queued, sizeof *effect->queued,
                          RT_QUEUED_PARTS);
}

static int write_effect(struct rt_h5 *file, const char *base, const struct rt_device_effect *effect)
{
    char keys[192];
    snprintf(keys, sizeof keys, "%s/fitted_keys", base);
    int status = rt_h5_make_group(file, base);
    if (status == RT_OK)
        status = rt_h5_write_struct(file, base, attributes, RT_COUNT(attributes), effect);
    if (status == RT_OK && effect->dtypes[0] != '\0')
        status = rt_h5_write_struct(file, base, dtypes_attribute, 1, effect);
    if (status == RT_OK && effect->interval[0] > 0)
        status = rt_h5_write_struct(file, base, intervals, RT_COUNT(intervals), effect);
    if (status == RT_OK)
        status = write_correction(file, base, &effect->correction);
    if (status == RT_OK)
        status = write_queued(file, base, effect);
    if (status == RT_OK)
        status = rt_dtype_scales_write(&scales, file, base, effect->interval_scale);
    return status == RT_OK ? rt_fitted_keys_write(&effect->fitted_keys, file, keys) : status;
}

int rt_device_effects_write(const struct rt_device_effects *effects, struct rt_h5 *file, const char *group)
{
    char base[128], path[160];
    if (effects->count == 0)
        return RT_OK;
    snprintf(base, sizeof base, "%s/device_effects", group);
    int status = rt_h5_make_group(file, base);
    for (size_t i = 0; status == RT_OK && i < effects->count; i++) {
        snprintf(path, sizeof path, "%s/%04zu", base, i);
        status = write_effect(file, path, &effects->known[i]);
    }
    return status;
}

/* ---- reading ---- */

static int read_points(struct rt_h5 *file, const char *base, struct rt_residual_correction *out)
{
    const char *name = "residual_correction_points";
    size_t stored = 0;
    int status = rt_h5_count_in(file, base, name, points_array, &stored);
    if (status != RT_OK)
        return status;
    if (out->points > RT_MOST_CORRECTION_POINTS * RT_DTYPE_COUNT || stored != out->points * out->width)
        return rt_fail(RT_EFORMAT, "%s: %s holds %zu numbers of %zu kernels where the network makes %zu each",
                       rt_h5_path(file), base, stored, out->points, out->width);
    out->point = rt_calloc(stored + 1, sizeof *out->point);
    return rt_h5_read_range(file, base, name, points_array, out->point, sizeof *out->point, stored,
                            -MOST_PLACE, MOST_PLACE);
}

/* Not in files of earlier builds. */
static int read_noise(struct rt_h5 *file, const char *base, struct rt_residual_correction *out)
{
    if (!rt_h5_exists_in(file, base, "residual_correction_noise"))
        return RT_OK;
    out->noise = rt_calloc(out->points + 1, sizeof *out->noise);
    return rt_h5_read_range(file, base, "residual_correction_noise", noise_array, out->noise,
                            sizeof *out->noise, out->points, 1e-9, 1e9);
}

static int read_correction(struct rt_h5 *file, const char *base, size_t width,
                           struct rt_residual_correction *out)
{
    const char *names[RT_DTYPE_COUNT];
    const char *weights = "residual_correction_weights";
    if (!rt_h5_exists_in(file, base, weights))
        return RT_OK;
    out->width = width;
    int status = rt_h5_count_in(file, base, weights, weights_array, &out->points);
    if (status != RT_OK)
        return status;
    out->weight = rt_calloc(out->points + 1, sizeof *out->weight);
    out->dtype = rt_calloc(out->points + 1, 1);
    status = rt_h5_read_range(file, base, weights, weights_array, out->weight, sizeof *out->weight,
                              out->points, -MOST_SHIFT, MOST_SHIFT);
    if (status == RT_OK)
        status = read_points(file, base, out);
    if (status == RT_OK)
        status = read_noise(file, base, out);
    if (status == RT_OK)
        status = rt_h5_read_in(file, base, "residual_correction_dtypes", rt_dtypes_array(each_kernel, names),
                               out->dtype, 1, out->points);
    if (status == RT_OK)
        rt_residual_correction_prepare(out);
    return status;
}

static int read_queued(struct rt_h5 *file, const char *base, struct rt_device_effect *out)
{
    if (!rt_h5_exists_in(file, base, "queued"))
        return RT_OK;
    return rt_h5_read_range(file, base, "queued", queued_array, out->queued, sizeof *out->queued,
                            RT_QUEUED_PARTS, -MOST_SHIFT, MOST_SHIFT);
}

/* Half-widths of levels for which there were too few kernels are NaN. */
static bool is_sound(const struct rt_device_effect *effect)
{
    bool sound = effect->dispatch_us >= 0 && effect->dispatch_us < 1e9 && effect->kernels >= 0;
    for (int p = 0; p < RT_EFFECT_PARTS; p++)
        sound &= fabs(effect->value[p]) <= MOST_SHIFT;
    for (int l = 0; l < RT_INTERVAL_LEVELS; l++)
        sound &= !(effect->interval[l] < 0 || effect->interval[l] > 1e4);
    return sound;
}

static int read_effect(struct rt_h5 *file, const char *base, size_t width, struct rt_device_effect *out)
{
    char keys[192];
    snprintf(keys, sizeof keys, "%s/fitted_keys", base);
    int status = rt_h5_read_struct(file, base, attributes, RT_COUNT(attributes), out);
    if (status == RT_OK && rt_h5_has(file, base, dtypes_attribute[0].name))
        status = rt_h5_read_struct(file, base, dtypes_attribute, 1, out);
    if (status == RT_OK && rt_h5_has(file, base, intervals[0].name))
        status = rt_h5_read_struct(file, base, intervals, RT_COUNT(intervals), out);
    if (status == RT_OK && !is_sound(out))
        return rt_fail(RT_EFORMAT, "%s: %s holds device effects that cannot be: the file is damaged",
                       rt_h5_path(file), base);
    if (status == RT_OK)
        status = read_correction(file, base, width, &out->correction);
    if (status == RT_OK)
        status = read_queued(file, base, out);
    if (status == RT_OK)
        status = rt_dtype_scales_read(&scales, file, base, out->interval_scale);
    return status == RT_OK ? rt_fitted_keys_read(file, keys, &out->fitted_keys) : status;
}

struct reader {
    struct rt_device_effects *effects;
    const char *base;
    size_t width;
};

static int read_known(struct rt_h5 *file, const char *name, void *context)
{
    struct reader *reader = context;
    struct rt_device_effects *effects = reader->effects;
    char path[160];
    snprintf(path, sizeof path, "%s/%.16s", reader->base, name);
    effects->known = rt_realloc(effects->known, effects->count + 1, sizeof *effects->known);
    effects->known[effects->count++] = (struct rt_device_effect){0};
    return read_effect(file, path, reader->width, &effects->known[effects->count - 1]);
}

int rt_device_effects_read(struct rt_h5 *file, const char *group, size_t width,
                           struct rt_device_effects *effects)
{
    char base[128];
    snprintf(base, sizeof base, "%s/device_effects", group);
    if (!rt_h5_exists(file, base))
        return RT_OK;
    return rt_h5_each_child(file, base, read_known, &(struct reader){effects, base, width});
}
