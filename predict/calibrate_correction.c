/* What latents leave of the calibration kernels' errors, for kernels like them. See calibrate.h and
 * models/predictor/correction.h. */
#include "datasets/status.h"
#include "predict/calibrate.h"

#include <math.h>
#include <stdlib.h>

enum { ROUNDS = 10, FREEDOM = 3 };          /* reweightings; of the t distribution */
static const double correction_size = 0.15; /* deviation of what networks are off by, in ln latency */
static const double correction_length = 0.35;
static const double noise = 0.08; /* of a measurement, in ln latency */

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

/* ln of how much longer a kernel takes than the latents say, its floor aside, and how far a measurement of
 * it scatters: the more, the more of it is floor. */
static double left_of(const struct rt_calibration_kernel *kernel, const struct rt_latent *latent,
                      double *variance)
{
    double measured = kernel->measured_us, part = latent->floor_us / measured;
    *variance = noise * noise * (1 + 9 * part * part);
    return log(fmax(measured - latent->floor_us, 0.2 * measured) /
               (rt_calibration_latent_us(kernel, latent) - latent->floor_us));
}

/* likeness (n, n) of the kernels, times the variance of what is looked for. */
static void fill_likeness(const struct rt_calibration_kernel *kernels, size_t n, double *likeness)
{
    for (size_t i = 0; i < n; i++)
        for (size_t j = 0; j < n; j++)
            likeness[i * n + j] = correction_size * correction_size *
                                  rt_correction_likeness(kernels[i].feature, kernels[j].feature,
                                                         kernels[i].features, correction_length);
}

/* Weights of the points: (K + N / w) weights = left, reweighted so that wild measurements count little. */
static void fit_weights(const double *likeness, const double *left, const double *variance, size_t n,
                        double *weight)
{
    double *a = rt_malloc(n * n * sizeof *a), *trust = rt_malloc(n * sizeof *trust);
    for (size_t i = 0; i < n; i++)
        trust[i] = weight_of(left[i], correction_size * correction_size + variance[i]);
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

void rt_calibrate_correction(const struct rt_calibration_kernel *kernels, size_t count,
                             const struct rt_latent *latent, struct rt_correction *out)
{
    size_t features = count > 0 ? kernels[0].features : 0;
    *out = (struct rt_correction){0};
    if (features == 0 || count > RT_MOST_CORRECTION_POINTS)
        return;
    struct rt_correction correction = {.points = count, .features = features, .length = correction_length};
    correction.point = rt_malloc(count * features * sizeof *correction.point);
    correction.weight = rt_malloc(count * sizeof *correction.weight);
    double *likeness = rt_malloc(count * count * sizeof *likeness);
    double *left = rt_malloc(count * sizeof *left), *variance = rt_malloc(count * sizeof *variance);
    for (size_t i = 0; i < count; i++) {
        left[i] = left_of(&kernels[i], latent, &variance[i]);
        for (size_t f = 0; f < features; f++)
            correction.point[i * features + f] = kernels[i].feature[f];
    }
    fill_likeness(kernels, count, likeness);
    fit_weights(likeness, left, variance, count, correction.weight);
    for (size_t i = 0; i < count; i++)
        correction.weight[i] *= correction_size * correction_size;
    *out = correction;
    free(likeness);
    free(left);
    free(variance);
}
