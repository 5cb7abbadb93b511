/* Latents of devices and their prior. See latent.h. */
#include "models/predictor/latent.h"
#include "datasets/status.h"
#include "datasets/strings.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static double log2_bandwidth(const struct rt_device *device)
{
    return log2(device->bandwidth_gbs);
}

static double log2_watts_per_tflops(const struct rt_device *device)
{
    return log2(device->power_w / device->fp32_vector_tflops);
}

static double log2_ridge(const struct rt_device *device)
{
    return log2(1e3 * device->fp32_vector_tflops / device->bandwidth_gbs);
}

const struct rt_trait rt_traits[] = {
    {"log2_bandwidth", "memory bandwidth, GB/s", log2_bandwidth},
    {"log2_watts_per_tflops", "board power over fp32 peak", log2_watts_per_tflops},
    {"log2_ridge", "fp32 peak over memory bandwidth, FLOP/byte", log2_ridge},
};
const size_t rt_trait_count = RT_COUNT(rt_traits);
_Static_assert(RT_COUNT(rt_traits) <= RT_MAX_TRAITS, "room for every trait");

void rt_latents_release(struct rt_latents *latents)
{
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

/* How far a device's trait is from the mean; 0 where its description lacks it. */
static double trait_apart(const struct rt_latents *latents, size_t trait, const struct rt_device *device)
{
    double apart = rt_traits[trait].value(device) - latents->trait_mean[trait];
    return isfinite(apart) ? apart : 0;
}

void rt_latents_of(const struct rt_latents *latents, const struct rt_device *device, struct rt_latent *out)
{
    const struct rt_latent *known = rt_latents_find(latents, device->name);
    *out = known != NULL ? *known : latents->prior;
    if (known != NULL)
        return;
    snprintf(out->device, sizeof out->device, "%s", device->name);
    for (size_t t = 0; t < rt_trait_count; t++)
        for (int p = 0; p < RT_LATENT_PARTS; p++)
            out->value[p] += latents->slope[t][p] * trait_apart(latents, t, device);
}

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

static double median(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
    return count == 0 ? 0 : (values[(count - 1) / 2] + values[count / 2]) / 2;
}

static void set_means(struct rt_latents *latents, const struct rt_device *devices)
{
    double n = (double)latents->count;
    double *floors = rt_malloc((latents->count + 1) * sizeof *floors);
    for (size_t i = 0; i < latents->count; i++) {
        for (int p = 0; p < RT_LATENT_PARTS; p++)
            latents->prior.value[p] += latents->known[i].value[p] / n;
        floors[i] = latents->known[i].floor_us;
    }
    latents->prior.floor_us = median(floors, latents->count);
    free(floors);
    for (size_t t = 0; t < rt_trait_count; t++) {
        double sum = 0, known = 0;
        for (size_t i = 0; i < latents->count; i++) {
            double value = rt_traits[t].value(&devices[i]);
            sum += isfinite(value) ? value : 0;
            known += isfinite(value);
        }
        latents->trait_mean[t] = known > 0 ? sum / known : 0;
    }
}

/* Solves (A + ridge I) x = b in place, A (n,n) symmetric and not negative, by Gauss; n is small. */
static void solve(size_t n, double a[RT_MAX_TRAITS][RT_MAX_TRAITS], double b[RT_MAX_TRAITS])
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = i + 1; j < n; j++) {
            double factor = a[j][i] / a[i][i];
            for (size_t k = i; k < n; k++)
                a[j][k] -= factor * a[i][k];
            b[j] -= factor * b[i];
        }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++)
            b[i] -= a[i][k] * b[k];
        b[i] /= a[i][i];
    }
}

static void set_slopes(struct rt_latents *latents, const struct rt_device *devices, enum rt_latent_part part,
                       double ridge)
{
    double scale[RT_MAX_TRAITS], a[RT_MAX_TRAITS][RT_MAX_TRAITS] = {{0}}, b[RT_MAX_TRAITS] = {0};
    for (size_t t = 0; t < rt_trait_count; t++) {
        double squares = 0;
        for (size_t i = 0; i < latents->count; i++)
            squares += pow(trait_apart(latents, t, &devices[i]), 2);
        scale[t] = squares > 1e-12 ? 1 / sqrt(squares / (double)latents->count) : 0;
    }
    for (size_t i = 0; i < latents->count; i++)
        for (size_t t = 0; t < rt_trait_count; t++) {
            double x = scale[t] * trait_apart(latents, t, &devices[i]);
            b[t] += x * (latents->known[i].value[part] - latents->prior.value[part]);
            for (size_t u = 0; u < rt_trait_count; u++)
                a[t][u] += x * scale[u] * trait_apart(latents, u, &devices[i]);
        }
    for (size_t t = 0; t < rt_trait_count; t++)
        a[t][t] += ridge;
    solve(rt_trait_count, a, b);
    for (size_t t = 0; t < rt_trait_count; t++)
        latents->slope[t][part] = b[t] * scale[t];
}

void rt_latents_set_prior(struct rt_latents *latents, const struct rt_device *devices, double ridge)
{
    latents->prior = (struct rt_latent){0};
    memset(latents->slope, 0, sizeof latents->slope);
    set_means(latents, devices);
    for (int p = 0; p < RT_LATENT_PARTS && isfinite(ridge); p++)
        set_slopes(latents, devices, (enum rt_latent_part)p, ridge);
}
