/* Cross-conformal intervals from ten folds of the calibration kernels. See intervals.h. */
#include "predict/calibrate/intervals.h"
#include "base/status.h"
#include "predict/calibrate/effects.h"
#include "predict/calibrate/residuals.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { FOLDS = 10 };

/* Widest interval in units of the family's width, which is near 0 for a family without scatter (synthetic
 * data). */
static const double MOST = 1e4;

/* Residuals of the kernels of one fold under a fit to all others, in units of the family's own width. */
static size_t forecast_fold(const struct rt_calibration_kernel *kernels, size_t count, size_t fold,
                            const struct rt_device_effect *prior, const struct rt_device_effects *known,
                            const struct rt_intervals *intervals, struct rt_residual *out)
{
    struct rt_calibration_kernel *others = rt_malloc((count + 1) * sizeof *others);
    struct rt_device_effect effect;
    double scatter;
    size_t kept = 0, found = 0;
    for (size_t i = 0; i < count; i++)
        if (i % FOLDS != fold)
            others[kept++] = kernels[i];
    rt_calibrate_effect(others, kept, prior, known, &effect, &scatter);
    rt_calibrate_residuals(others, kept, &effect, &effect.correction);
    for (size_t i = fold; i < count; i += FOLDS) {
        double forecast_us = rt_calibration_forecast(&kernels[i], &effect);
        double unit = rt_interval_at(intervals->known[rt_interval_size_of(kernels[i].bound_us)], 0.9);
        out[found++] = (struct rt_residual){.value = fabs(log(kernels[i].measured_us / forecast_us)) / unit};
    }
    rt_residual_correction_release(&effect.correction);
    free(others);
    return found;
}

static double least_score(const struct rt_intervals *intervals, int level)
{
    double least = INFINITY;
    for (int size = 0; size < RT_INTERVAL_SIZES; size++)
        least = fmin(least, intervals->known[size][level] / rt_interval_at(intervals->known[size], 0.9));
    return least;
}

void rt_calibrate_interval(const struct rt_calibration_kernel *kernels, size_t count,
                           const struct rt_device_effect *prior, const struct rt_device_effects *known,
                           const struct rt_intervals *intervals, struct rt_device_effect *out)
{
    memset(out->interval, 0, sizeof out->interval);
    if (count < RT_RESIDUAL_LEAST || !(rt_interval_at(intervals->known[RT_INTERVAL_SHORT], 0.9) > 0) ||
        !(rt_interval_at(intervals->known[RT_INTERVAL_LONG], 0.9) > 0))
        return;
    struct rt_residual *residuals = rt_malloc(count * sizeof *residuals);
    size_t found = 0;
    for (size_t fold = 0; fold < FOLDS; fold++)
        found += forecast_fold(kernels, count, fold, prior, known, intervals, residuals + found);
    rt_residual_quantiles(residuals, found, out->interval);
    /* A few kernels may agree by luck: never narrower than for the devices of training. */
    for (int l = 0; l < RT_INTERVAL_LEVELS; l++)
        if (!isnan(out->interval[l]))
            out->interval[l] = fmin(fmax(out->interval[l], least_score(intervals, l)), MOST);
    free(residuals);
}
