/* Latents of devices and their prior. See latent.h. */
#include "models/predictor/latent.h"
#include "datasets/sort.h"
#include "datasets/status.h"
#include "datasets/strings.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const rt_latent_parts[RT_LATENT_PARTS] = {"compute", "memory", "depth"};

void rt_latents_release(struct rt_latents *latents)
{
    for (size_t i = 0; i < latents->count; i++)
        rt_correction_release(&latents->known[i].correction);
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

/* The median over those that the network was fitted to of the double `offset` bytes into each. */
static double known_median(const struct rt_latents *latents, const char *vendor, size_t offset)
{
    bool alike = false;
    for (size_t i = 0; i < latents->count; i++)
        alike |= !latents->known[i].calibrated && strcmp(latents->known[i].vendor, vendor) == 0;
    double few[32],
        *values = latents->count <= RT_COUNT(few) ? few : rt_malloc(latents->count * sizeof *values);
    size_t count = 0;
    for (size_t i = 0; i < latents->count; i++)
        if (!latents->known[i].calibrated && (!alike || strcmp(latents->known[i].vendor, vendor) == 0))
            values[count++] = *(const double *)((const char *)&latents->known[i] + offset);
    double result = count == 0 ? 0 : rt_median(values, count); /* none known: nothing is shifted */
    if (values != few)
        free(values);
    return result;
}

static double memory_prior(const struct rt_latents *latents, enum rt_memory_kind kind)
{
    const double pull = 0.5; /* devices that the mean of all counts for */
    double all = 0, count = 0, same = 0, alike = 0;
    for (size_t i = 0; i < latents->count; i++) {
        const struct rt_latent *known = &latents->known[i];
        if (known->calibrated)
            continue;
        double value = known->value[RT_LATENT_MEMORY];
        all += value;
        count++;
        same += known->memory_kind == kind ? value : 0;
        alike += known->memory_kind == kind;
    }
    all = count > 0 ? all / count : 0;
    return (same + pull * all) / (alike + pull);
}

void rt_latents_prior(const struct rt_latents *latents, const struct rt_device *device, struct rt_latent *out)
{
    *out = (struct rt_latent){.memory_kind = rt_memory_kind_of(device)};
    snprintf(out->device, sizeof out->device, "%s", device->name);
    out->value[RT_LATENT_COMPUTE] =
        known_median(latents, device->vendor, offsetof(struct rt_latent, value[RT_LATENT_COMPUTE]));
    out->value[RT_LATENT_DEPTH] =
        known_median(latents, device->vendor, offsetof(struct rt_latent, value[RT_LATENT_DEPTH]));
    out->value[RT_LATENT_MEMORY] = memory_prior(latents, out->memory_kind);
    out->floor_us = known_median(latents, device->vendor, offsetof(struct rt_latent, floor_us));
}
