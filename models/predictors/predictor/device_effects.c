/* Device effects and their prior. See device_effects.h. */
#include "models/predictors/predictor/device_effects.h"
#include "base/sort.h"
#include "base/status.h"
#include "base/strings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rt_device_effect_release(struct rt_device_effect *effect)
{
    rt_residual_correction_release(&effect->correction);
    rt_fitted_keys_release(&effect->fitted_keys);
}

void rt_device_effects_release(struct rt_device_effects *effects)
{
    for (size_t i = 0; i < effects->count; i++)
        rt_device_effect_release(&effects->known[i]);
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

void rt_device_effects_of(const struct rt_device_effects *effects, const struct rt_device *device,
                          struct rt_device_effect *out)
{
    const struct rt_device_effect *known = rt_device_effects_known(effects, device);
    if (known != NULL)
        *out = *known;
    else
        rt_device_effects_prior(effects, device, out);
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
    return (uint8_t)(ALL | vendor * VENDOR | kind * MEMORY_KIND | capability * CAPABILITY |
                     libraries * LIBRARIES);
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
    if (part == RT_EFFECT_MEMORY && !product) {
        prior = mean(relatives->values, gather(relatives, ALL, offset));
        prior = shrunk(relatives, MEMORY_KIND, offset, prior);
    } else {
        prior = of_vendors(relatives, offset, part != RT_EFFECT_MEMORY);
    }
    if (product ? part != RT_EFFECT_COMPUTE : family == RT_FAMILY_CONV && part == RT_EFFECT_COMPUTE)
        prior = shrunk(relatives, LIBRARIES, offset, prior);
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
    rt_device_effect_release(entry);
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
