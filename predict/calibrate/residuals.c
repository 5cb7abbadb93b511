/* What device effects leave of the calibration kernels' errors, for kernels like them. See calibrate.h and
 * models/predictor/residual_correction.h. */
#include "base/status.h"
#include "predict/calibrate/calibrate.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 10, FREEDOM = 3 };    /* reweightings; of the t distribution */
static const double deviation = 0.25; /* of what networks are off by, in ln latency */
static const double noise = 0.08;     /* of a measurement, in ln latency */

double rt_calibrate_noise(double dispatch_part)
{
    return noise * noise * (1 + 9 * dispatch_part * dispatch_part);
}

double rt_calibrate_likeness(const struct rt_calibration_kernel *a, const struct rt_calibration_kernel *b)
{
    if (a->dtype != b->dtype || a->place_width == 0)
        return 0;
    return deviation * deviation * rt_residual_correction_likeness(a->place, b->place, a->place_width);
}

/* Solves A x = b, A (n, n) symmetric and positive, by Cholesky's factors in A's lower half; x over b. */
static void solve(size_t n, double *a, double *b)
{
    for (size_t j = 0; j < n; j++) {
        for (size_t k = 0; k < j; k++)
            a[j * n + j] -= a[j * n + k] * a[j * n + k];
        a[j * n + j] = sqrt(a[j * n + j]);
        for (size_t i = j + 1; i < n; i++) {
            for (size_t k = 0; k < j; k++)
                a[i * n + j] -= a[i * n + k] * a[j * n + k];
            a[i * n + j] /= a[j * n + j];
        }
    }
    for (size_t i = 0; i < n; i++) {
        for (size_t k = 0; k < i; k++)
            b[i] -= a[i * n + k] * b[k];
        b[i] /= a[i * n + i];
    }
    for (size_t i = n; i-- > 0;) {
        for (size_t k = i + 1; k < n; k++)
            b[i] -= a[k * n + i] * b[k];
        b[i] /= a[i * n + i];
    }
}

static double weight_of(double error, double variance)
{
    return (FREEDOM + 1) / (FREEDOM + error * error / variance);
}

/* ln of how much longer a kernel takes than the device effects say, its floor aside. */
static double left_of(const struct rt_calibration_kernel *kernel, const struct rt_device_effect *effect)
{
    double measured = kernel->measured_us;
    return log(fmax(measured - effect->dispatch_us, 0.2 * measured) /
               (rt_calibration_effect_us(kernel, effect) - effect->dispatch_us));
}

/* Weights of the points: (K + N / w) weights = left, reweighted so that wild measurements count little. */
static void fit_weights(const double *likeness, const double *left, const double *variance, size_t n,
                        double *weight)
{
    double *a = rt_malloc(n * n * sizeof *a), *trust = rt_malloc(n * sizeof *trust);
    for (size_t i = 0; i < n; i++)
        trust[i] = weight_of(left[i], deviation * deviation + variance[i]);
    for (int round = 0; round < ROUNDS; round++) {
        for (size_t i = 0; i < n * n; i++)
            a[i] = likeness[i];
        for (size_t i = 0; i < n; i++) {
            a[i * n + i] += variance[i] / trust[i];
            weight[i] = left[i];
        }
        solve(n, a, weight);
        for (size_t i = 0; i < n; i++) /* left - K weight = N / w x weight */
            trust[i] = weight_of(variance[i] / trust[i] * weight[i], variance[i]);
    }
    free(a);
    free(trust);
}

/* Weights of the kernels [first, first + n) of `order`, all of one dtype, into the correction. */
static void fit_dtype(const struct rt_calibration_kernel *kernels, const struct rt_device_effect *effect,
                      const size_t *order, size_t first, size_t n, struct rt_residual_correction *correction)
{
    double *likeness = rt_malloc(n * n * sizeof *likeness);
    double *left = rt_malloc(n * sizeof *left), *variance = rt_malloc(n * sizeof *variance);
    for (size_t i = 0; i < n; i++) {
        const struct rt_calibration_kernel *kernel = &kernels[order[first + i]];
        left[i] = left_of(kernel, effect);
        variance[i] = rt_calibrate_noise(effect->dispatch_us / kernel->measured_us);
        for (size_t j = 0; j < n; j++)
            likeness[i * n + j] = rt_calibrate_likeness(kernel, &kernels[order[first + j]]);
        memcpy(correction->point + (first + i) * correction->width, kernel->place,
               correction->width * sizeof *kernel->place);
        correction->dtype[first + i] = kernel->dtype;
    }
    fit_weights(likeness, left, variance, n, correction->weight + first);
    for (size_t i = first; i < first + n; i++)
        correction->weight[i] *= deviation * deviation;
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
    *out = correction;
}
