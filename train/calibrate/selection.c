/* Greedy selection by variance reduction. See kernel_fits.h. */
#include "train/calibrate/kernel_fits.h"
#include "base/sort.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>

enum { POOL = 500 }; /* candidates, a random subset: time grows with the square */
/* Weight of the faster half of the kernels: models run larger kernels than the data has. */
static const double fast_weight = 0.5;

/* The part of a kernel's forecast that is dispatch overhead, at most 1. */
static double dispatch_part(const struct rt_calibration_kernel *kernel, const struct rt_device_effect *prior)
{
    return fmin(1, prior->dispatch_us / rt_calibration_effect_us(kernel, prior));
}

/* d ln latency / d ln(dispatch overhead + 1 us), times the overhead's prior deviation. */
static double dispatch_slope(const struct rt_calibration_kernel *kernel, const struct rt_device_effect *prior,
                             double spread)
{
    return spread * fmin(1, (1 + prior->dispatch_us) / rt_calibration_effect_us(kernel, prior));
}

/* Prior covariance (n, n) of ln latency: by device effects, residual correction and dispatch overhead. */
static void fill_covariance(const struct rt_calibration_kernel *kernels, const uint32_t *pool, size_t n,
                            const struct rt_device_effect *prior, const struct rt_device_effects *known,
                            double *covariance)
{
    double spread[RT_EFFECT_PARTS], dispatch_spread = rt_calibrate_dispatch_spread(known);
    for (int p = 0; p < RT_EFFECT_PARTS; p++)
        spread[p] = rt_calibrate_spread(known, (enum rt_effect_part)p);
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j <= i; j++) {
            const struct rt_calibration_kernel *a = &kernels[pool[i]], *b = &kernels[pool[j]];
            double shared = rt_calibrate_covariance(a, b);
            for (int p = 0; p < RT_EFFECT_PARTS; p++)
                shared += a->share[p] * b->share[p] * spread[p] * spread[p];
            shared *= (1 - dispatch_part(a, prior)) * (1 - dispatch_part(b, prior));
            shared += dispatch_slope(a, prior, dispatch_spread) * dispatch_slope(b, prior, dispatch_spread);
            covariance[i * n + j] = covariance[j * n + i] = shared;
        }
}

/* Weight of each candidate in the summed variance. */
static void fill_weight(const struct rt_calibration_kernel *kernels, const uint32_t *pool, size_t n,
                        const struct rt_device_effect *prior, double *weight)
{
    double *sorted = rt_malloc(n * sizeof *sorted);
    for (size_t i = 0; i < n; i++)
        sorted[i] = weight[i] = rt_calibration_effect_us(&kernels[pool[i]], prior);
    rt_sort_reals(sorted, n);
    for (size_t i = 0; i < n; i++)
        weight[i] = weight[i] >= sorted[n / 2] ? 1 : fast_weight;
    free(sorted);
}

/* The candidate not yet taken whose measurement lowers the weighted sum of variances most. */
static size_t most_informative(const double *covariance, const double *noise, const double *weight,
                               const bool *taken, size_t n)
{
    size_t best = n;
    double most = -1;
    for (size_t i = 0; i < n; i++) {
        double gain = 0;
        for (size_t j = 0; j < n; j++)
            gain += weight[j] * covariance[i * n + j] * covariance[i * n + j];
        gain /= covariance[i * n + i] + noise[i];
        if (!taken[i] && gain > most) {
            most = gain;
            best = i;
        }
    }
    return best;
}

/* The posterior covariance once kernel `at` is measured. */
static void condition_on(double *covariance, double noise, size_t at, size_t n)
{
    double *row = rt_malloc(n * sizeof *row), variance = covariance[at * n + at] + noise;
    for (size_t i = 0; i < n; i++)
        row[i] = covariance[at * n + i];
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            covariance[i * n + j] -= row[i] / variance * row[j];
    free(row);
}

size_t rt_calibrate_select(const struct rt_calibration_kernel *kernels, uint32_t *pool, size_t count,
                           size_t wanted, struct rt_random *random, const struct rt_device_effect *prior,
                           const struct rt_device_effects *known)
{
    if (wanted >= count)
        return count;
    rt_random_shuffle(random, pool, count);
    size_t n = count < POOL ? count : POOL;
    double *covariance = rt_malloc(n * n * sizeof *covariance), *noise = rt_malloc(n * sizeof *noise);
    double *weight = rt_malloc(n * sizeof *weight);
    bool *taken = rt_calloc(n, sizeof *taken);
    uint32_t *chosen = rt_malloc(wanted * sizeof *chosen);
    fill_covariance(kernels, pool, n, prior, known, covariance);
    fill_weight(kernels, pool, n, prior, weight);
    for (size_t i = 0; i < n; i++)
        noise[i] = rt_calibrate_noise(dispatch_part(&kernels[pool[i]], prior));
    for (size_t d = 0; d < wanted; d++) { /* the first at random: seeds then differ in a small pool, too */
        size_t at = d == 0 ? 0 : most_informative(covariance, noise, weight, taken, n);
        taken[at] = true;
        chosen[d] = pool[at];
        condition_on(covariance, noise[at], at, n);
    }
    for (size_t d = 0; d < wanted; d++)
        pool[d] = chosen[d];
    free(covariance);
    free(noise);
    free(weight);
    free(taken);
    free(chosen);
    return wanted;
}
