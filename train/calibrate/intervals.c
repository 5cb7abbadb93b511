/* Studentised residuals of calibration kernels, each left out. See kernel_fits.h. */
#include "train/calibrate/kernel_fits.h"
#include "base/sort.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { ROUNDS = 100 };
/* How many kernels the prior of a net's scale counts as, and the net's scale for that of one dtype. */
static const double prior_of_net = 6, prior_of_dtype = 5;
static const double least = 1e-6; /* of a scale: data without any scatter */

double rt_calibrate_scale(const double *residual, size_t count, double prior, double prior_count)
{
    double *size = rt_malloc((count + 1) * sizeof *size), scale = fmax(prior, least);
    for (size_t i = 0; i < count; i++)
        size[i] = fabs(residual[i]);
    if (count > 0) /* wide enough for most of them to begin with */
        scale = fmax(scale, 1.4826 * rt_median(size, count));
    for (int round = 0; round < ROUNDS; round++) {
        double squares = prior_count * prior * prior;
        for (size_t i = 0; i < count; i++) {
            double z = residual[i] / scale;
            squares += (RT_INTERVAL_FREEDOM + 1) / (RT_INTERVAL_FREEDOM + z * z) * residual[i] * residual[i];
        }
        scale = fmax(sqrt(squares / (prior_count + (double)count)), least);
    }
    free(size);
    return scale;
}

/* Of the kernels, in their order: residuals in units of their expected deviation, and that deviation. */
struct scores {
    double *residual, *deviation;
    size_t count;
};

/* Kernel `i`, which is the correction's point `point` where there is a correction. */
static void add_score(const struct rt_calibration_kernel *kernel, size_t point,
                      const struct rt_intervals *intervals, const struct rt_device_effect *effect,
                      struct scores *scores)
{
    double part = fmin(1, effect->dispatch_us / kernel->measured_us), error, share = 1;
    if (effect->correction.points > 0)
        share = rt_residual_correction_left_out(&effect->correction, point, &error);
    else
        error = rt_calibrate_left(kernel, effect);
    double deviation = rt_interval_deviation(share, part) *
                       rt_interval_size_factor(intervals, rt_interval_size_of(kernel->bound_us));
    scores->residual[scores->count] = error * (1 - part) / deviation;
    scores->deviation[scores->count++] = deviation;
}

/* The scale at which most kernels would have the geometric mean of the family's two widths. */
static double prior_scale(const struct rt_calibration_kernel *kernels, size_t count,
                          const struct rt_intervals *intervals, const struct scores *scores)
{
    double *scale = rt_malloc(count * sizeof *scale);
    for (size_t i = 0; i < count; i++) {
        enum rt_interval_size size = rt_interval_size_of(kernels[i].bound_us);
        double known = rt_interval_at(intervals->known[size], 0.9),
               unseen = rt_interval_at(intervals->unseen[size], 0.9);
        double ln_half_width = intervals->dtype_scale[kernels[i].dtype] * sqrt(known * fmax(known, unseen));
        scale[i] = ln_half_width / scores->deviation[i] / rt_interval_student(0.9);
    }
    double median = rt_median(scale, count);
    free(scale);
    return median;
}

static bool has_widths(const struct rt_intervals *intervals)
{
    return rt_interval_at(intervals->known[RT_INTERVAL_SHORT], 0.9) > 0 &&
           rt_interval_at(intervals->known[RT_INTERVAL_LONG], 0.9) > 0;
}

void rt_calibrate_interval(const struct rt_calibration_kernel *kernels, size_t count,
                           const struct rt_intervals *intervals, struct rt_device_effect *out)
{
    memset(out->interval, 0, sizeof out->interval);
    memset(out->interval_scale, 0, sizeof out->interval_scale);
    if (count == 0 || !has_widths(intervals))
        return;
    struct rt_calibration_kernel *sorted = rt_malloc(count * sizeof *sorted);
    struct scores scores = {.residual = rt_malloc(count * sizeof *scores.residual),
                            .deviation = rt_malloc(count * sizeof *scores.deviation)};
    size_t first[RT_DTYPE_COUNT + 1] = {0};
    for (uint8_t dtype = 0; dtype < RT_DTYPE_COUNT; dtype++) { /* as the correction has its points */
        for (size_t i = 0; i < count; i++)
            if (kernels[i].dtype == dtype) {
                sorted[scores.count] = kernels[i];
                add_score(&kernels[i], scores.count, intervals, out, &scores);
            }
        first[dtype + 1] = scores.count;
    }
    double scale = prior_scale(sorted, count, intervals, &scores);
    scale = rt_calibrate_scale(scores.residual, count, scale, prior_of_net);
    for (size_t d = 0; d < RT_DTYPE_COUNT; d++)
        if (first[d + 1] > first[d])
            out->interval_scale[d] = rt_calibrate_scale(scores.residual + first[d], first[d + 1] - first[d],
                                                        scale, prior_of_dtype);
    free(scores.residual);
    free(scores.deviation);
    free(sorted);
}
