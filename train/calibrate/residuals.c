/* Gaussian process regression of what device effects leave, robust. See kernel_fits.h. */
#include "train/calibrate/kernel_fits.h"
#include "base/status.h"
#include "models/predictors/nn/blas.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 10, FREEDOM = 3 }; /* reweightings; degrees of freedom of the t distribution */
static const double deviation = RT_CORRECTION_DEVIATION, noise = RT_CORRECTION_NOISE;

double rt_calibrate_noise(double dispatch_part)
{
    return noise * noise * (1 + 9 * dispatch_part * dispatch_part);
}

double rt_calibrate_covariance(const struct rt_calibration_kernel *a, const struct rt_calibration_kernel *b)
{
    if (a->dtype != b->dtype || a->place_width == 0)
        return 0;
    return deviation * deviation * rt_residual_correction_likeness(a->place, b->place, a->place_width);
}

static double weight_of(double error, double variance)
{
    return (FREEDOM + 1) / (FREEDOM + error * error / variance);
}

double rt_calibrate_left(const struct rt_calibration_kernel *kernel, const struct rt_device_effect *effect)
{
    double measured = kernel->measured_us;
    return log(fmax(measured - effect->dispatch_us, 0.2 * measured) /
               (rt_calibration_effect_us(kernel, effect) - effect->dispatch_us));
}

/* Weights of the points: (K + N / w) weights = left (Rasmussen and Williams 2006, equation 2.25), with t
 * weights w by iterative reweighting, so that outliers count little. `given` gets N / w. */
static void fit_weights(const double *likeness, const double *left, const double *variance, size_t n,
                        double *weight, double *given)
{
    double *a = rt_malloc(n * n * sizeof *a);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < n; i++) /* left - K weight = N / w x weight */
            given[i] = variance[i] / (round == 0 ? weight_of(left[i], deviation * deviation + variance[i])
                                                 : weight_of(given[i] * weight[i], variance[i]));
        for (size_t i = 0; i < n * n; i++)
            a[i] = likeness[i];
        for (size_t i = 0; i < n; i++) {
            a[i * n + i] += given[i];
            weight[i] = left[i];
        }
        rt_solve_positive(n, a, weight); /* N > 0, so it is positive definite */
    }
    free(a);
}

/* Weights of the kernels [first, first + n) of `order`, all of one dtype, into the correction. */
static void fit_dtype(const struct rt_calibration_kernel *kernels, const struct rt_device_effect *effect,
                      const size_t *order, size_t first, size_t n, struct rt_residual_correction *correction)
{
    double *likeness = rt_malloc(n * n * sizeof *likeness);
    double *left = rt_malloc(n * sizeof *left), *variance = rt_malloc(n * sizeof *variance);
    for (size_t i = 0; i < n; i++) {
        const struct rt_calibration_kernel *kernel = &kernels[order[first + i]];
        left[i] = rt_calibrate_left(kernel, effect);
        variance[i] = rt_calibrate_noise(effect->dispatch_us / kernel->measured_us);
        for (size_t j = 0; j < n; j++)
            likeness[i * n + j] = rt_calibrate_covariance(kernel, &kernels[order[first + j]]);
        memcpy(correction->point + (first + i) * correction->width, kernel->place,
               correction->width * sizeof *kernel->place);
        correction->dtype[first + i] = kernel->dtype;
    }
    fit_weights(likeness, left, variance, n, correction->weight + first, correction->noise + first);
    for (size_t i = first; i < first + n; i++) {
        correction->weight[i] *= deviation * deviation;
        correction->noise[i] /= deviation * deviation;
    }
    free(likeness);
    free(left);
    free(variance);
}

void rt_calibrate_residuals(const struct rt_calibration_kernel *kernels, size_t count,
                            const struct rt_device_effect *effect, struct rt_residual_correction *out)
{
    size_t width = count > 0 ? kernels[0].place_width : 0, first = 0;
    *out = (struct rt_residual_correction){0};
    if (width == 0)
        return;
    struct rt_residual_correction correction = {.points = count, .width = width};
    size_t *order = rt_malloc(count * sizeof *order);
    correction.point = rt_malloc(count * width * sizeof *correction.point);
    correction.weight = rt_malloc(count * sizeof *correction.weight);
    correction.noise = rt_malloc(count * sizeof *correction.noise);
    correction.dtype = rt_malloc(count);
    for (uint8_t dtype = 0; dtype < RT_DTYPE_COUNT; dtype++) {
        size_t end = first;
        for (size_t i = 0; i < count; i++)
            if (kernels[i].dtype == dtype)
                order[end++] = i;
        if (end > first)
            fit_dtype(kernels, effect, order, first, end - first, &correction);
        first = end;
    }
    free(order);
    rt_residual_correction_prepare(&correction);
    *out = correction;
}
