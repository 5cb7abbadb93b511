/* Latents of devices and their prior. See latent.h. */
#include "models/predictor/latent.h"
#include "datasets/sort.h"
#include "datasets/status.h"
#include "datasets/strings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const rt_latent_parts[RT_LATENT_PARTS] = {"compute", "memory", "depth", "narrow"};

void rt_latent_release(struct rt_latent *latent)
{
    rt_correction_release(&latent->correction);
    rt_seen_release(&latent->seen);
}

void rt_latents_release(struct rt_latents *latents)
{
    for (size_t i = 0; i < latents->count; i++)
        rt_latent_release(&latents->known[i]);
    free(latents->known);
    *latents = (struct rt_latents){0};
}

struct rt_latent *rt_latents_find(const struct rt_latents *latents, const char *device)
{
    for (size_t i = 0; i < latents->count; i++)
        if (rt_name_equal(latents->known[i].device, device))
            return &latents->known[i];
    return NULL;
}

void rt_latents_of(const struct rt_latents *latents, const struct rt_device *device, struct rt_latent *out)
{
    const struct rt_latent *known = rt_latents_find(latents, device->name);
    if (known != NULL)
        *out = *known;
    else
        rt_latents_prior(latents, device, out);
}

static double part_of(const struct rt_latent *latent, size_t offset)
{
    return *(const double *)((const char *)latent + offset);
}

static bool of_vendor(const struct rt_latent *known, const struct rt_latent *device)
{
    return strcmp(known->vendor, device->vendor) == 0;
}

static bool of_memory_kind(const struct rt_latent *known, const struct rt_latent *device)
{
    return known->memory_kind == device->memory_kind;
}

/* One design of multiprocessor. */
static bool of_capability(const struct rt_latent *known, const struct rt_latent *device)
{
    return device->capability[0] != '\0' && strcmp(known->capability, device->capability) == 0;
}

/* Libraries are compiled for a major compute capability: "a cubin object generated for compute capability X.y
 * will only execute on devices of compute capability X.z where z >= y" (CUDA C++ Programming Guide, binary
 * compatibility). AMD's targets have no minor part. */
static bool of_libraries(const struct rt_latent *known, const struct rt_latent *device)
{
    size_t major = strcspn(device->capability, ".");
    return major > 0 && strcspn(known->capability, ".") == major &&
           strncmp(known->capability, device->capability, major) == 0;
}

typedef bool rt_alike(const struct rt_latent *known, const struct rt_latent *device);

/* Into `values` (room for all): what is known of devices alike, of those that the network was fitted to. */
static size_t gather(const struct rt_latents *latents, const struct rt_latent *device, rt_alike *alike,
                     size_t offset, double *values)
{
    size_t count = 0;
    for (size_t i = 0; i < latents->count; i++)
        if (!latents->known[i].calibrated && (alike == NULL || alike(&latents->known[i], device)))
            values[count++] = part_of(&latents->known[i], offset);
    return count;
}

static double mean(const double *values, size_t count)
{
    double sum = 0;
    for (size_t i = 0; i < count; i++)
        sum += values[i];
    return count > 0 ? sum / (double)count : 0; /* none known: nothing is shifted */
}

/* Median or mean over the devices of the same vendor, over all where there are none. */
static double of_vendors(const struct rt_latents *latents, const struct rt_latent *device, size_t offset,
                         bool median, double *values)
{
    size_t count = gather(latents, device, of_vendor, offset, values);
    if (count == 0)
        count = gather(latents, device, NULL, offset, values);
    return median && count > 0 ? rt_median(values, count) : mean(values, count);
}

/* The mean of devices alike, drawn to `base` as if that were half a device. */
static double drawn(const struct rt_latents *latents, const struct rt_latent *device, rt_alike *alike,
                    size_t offset, double base, double *values)
{
    const double pull = 0.5;
    size_t count = gather(latents, device, alike, offset, values);
    return ((double)count * mean(values, count) + pull * base) / ((double)count + pull);
}

/* From what many devices share to what few do. */
static double prior_of(const struct rt_latents *latents, const struct rt_latent *device,
                       enum rt_latent_part part, double *values)
{
    size_t offset = offsetof(struct rt_latent, value) + (size_t)part * sizeof(double);
    bool product = latents->family == RT_FAMILY_LINEAR || latents->family == RT_FAMILY_BMM;
    double prior;
    if (part == RT_LATENT_MEMORY && !product) {
        prior = mean(values, gather(latents, device, NULL, offset, values));
        prior = drawn(latents, device, of_memory_kind, offset, prior, values);
    } else {
        prior = of_vendors(latents, device, offset, part != RT_LATENT_MEMORY, values);
    }
    if (product && part != RT_LATENT_COMPUTE)
        prior = drawn(latents, device, of_libraries, offset, prior, values);
    return drawn(latents, device, of_capability, offset, prior, values);
}

void rt_latent_init(struct rt_latent *latent, const struct rt_device *device)
{
    *latent = (struct rt_latent){.memory_kind = rt_memory_kind_of(device)};
    snprintf(latent->device, sizeof latent->device, "%s", device->name);
    snprintf(latent->vendor, sizeof latent->vendor, "%s", device->vendor);
    snprintf(latent->capability, sizeof latent->capability, "%s", device->compute_capability);
}

void rt_latents_prior(const struct rt_latents *latents, const struct rt_device *device, struct rt_latent *out)
{
    double few[32],
        *values = latents->count <= RT_COUNT(few) ? few : rt_malloc(latents->count * sizeof *values);
    rt_latent_init(out, device);
    for (int p = 0; p < RT_LATENT_PARTS; p++)
        out->value[p] = prior_of(latents, out, (enum rt_latent_part)p, values);
    out->floor_us = of_vendors(latents, out, offsetof(struct rt_latent, floor_us), true, values);
    if (values != few)
        free(values);
}
