/* Which kernels a device is calibrated to. See calibrate.h. */
#include "base/sort.h"
#include "base/status.h"
#include "predict/calibrate/calibrate.h"

#include <math.h>
#include <stdlib.h>

enum { POOL = 500 }; /* kernels to choose from, drawn at random: what they cost grows with the square */
static const double small_counts =
    0.5; /* the smaller half: what is forecast is larger than what is measured */

/* The part of a kernel's forecast that is floor, at most all. */
static double dispatch_part(const struct rt_calibration_kernel *kernel, const struct rt_device_effect *prior)
{
    return fmin(1, prior->dispatch_us / rt_calibration_effect_us(kernel, prior));
}

/* d ln latency / d ln(floor + 1 us), the floor's believed deviation along with it. */
static double dispatch_slope(const struct rt_calibration_kernel *kernel, const struct rt_device_effect *prior,
                             double spread)
{
    return spread * fmin(1, (1 + prior->dispatch_us) / rt_calibration_effect_us(kernel, prior));
}

/* How alike two kernels' errors are before anything is measured: by their device effects, by what device
 * effects leave and by the floor. Covariance of ln latency. */
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
            double shared = rt_calibrate_likeness(a, b);
            for (int p = 0; p < RT_EFFECT_PARTS; p++)
                shared += a->share[p] * b->share[p] * spread[p] * spread[p];
            shared *= (1 - dispatch_part(a, prior)) * (1 - dispatch_part(b, prior));
            shared += dispatch_slope(a, prior, dispatch_spread) * dispatch_slope(b, prior, dispatch_spread);
            covariance[i * n + j] = covariance[j * n + i] = shared;
        }
}

/* How much each kernel of the pool counts. */
static void fill_worth(const struct rt_calibration_kernel *kernels, const uint32_t *pool, size_t n,
                       const struct rt_device_effect *prior, double *worth)
{
    double *sorted = rt_malloc(n * sizeof *sorted);
    for (size_t i = 0; i < n; i++)
        sorted[i] = worth[i] = rt_calibration_effect_us(&kernels[pool[i]], prior);
    rt_sort_reals(sorted, n);
    for (size_t i = 0; i < n; i++)
        worth[i] = worth[i] >= sorted[n / 2] ? 1 : small_counts;
    free(sorted);
}

/* The kernel not yet taken after which the variances of all together, each times its worth, are smallest. */
static size_t most_telling(const double *covariance, const double *noise, const double *worth,
                           const bool *taken, size_t n)
{
    size_t best = n;
    double most = -1;
    for (size_t i = 0; i < n; i++) {
        double told = 0;
        for (size_t j = 0; j < n; j++)
            told += worth[j] * covariance[i * n + j] * covariance[i * n + j];
        told /= covariance[i * n + i] + noise[i];
        if (!taken[i] && told > most) {
            most = told;
            best = i;
        }
    }
    return best;
}

/* The covariance once kernel `at` is measured. */
static void learn(double *covariance, double noise, size_t at, size_t n)
{
    double *told = rt_malloc(n * sizeof *told), variance = covariance[at * n + at] + noise;
    for (size_t i = 0; i < n; i++)
        told[i] = covariance[at * n + i];
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            covariance[i * n + j] -= told[i] / variance * told[j];
    free(told);
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
    double *worth = rt_malloc(n * sizeof *worth);
    bool *taken = rt_calloc(n, sizeof *taken);
    uint32_t *drawn = rt_malloc(wanted * sizeof *drawn);
    fill_covariance(kernels, pool, n, prior, known, covariance);
    fill_worth(kernels, pool, n, prior, worth);
    for (size_t i = 0; i < n; i++)
        noise[i] = rt_calibrate_noise(dispatch_part(&kernels[pool[i]], prior));
    for (size_t d = 0; d < wanted; d++) { /* the first at random: in a small pool nothing else is */
        size_t at = d == 0 ? 0 : most_telling(covariance, noise, worth, taken, n);
        taken[at] = true;
        drawn[d] = pool[at];
        learn(covariance, noise[at], at, n);
    }
    for (size_t d = 0; d < wanted; d++)
        pool[d] = drawn[d];
    free(covariance);
    free(noise);
    free(worth);
    free(taken);
    free(drawn);
    return wanted;
}
