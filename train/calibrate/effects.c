/* What device effects make of one kernel, and the fit of them to a few. See kernel_fits.h. */
#include "train/calibrate/kernel_fits.h"
#include "base/sort.h"
#include "base/status.h"
#include "models/predictors/predictor/predictor.h"
#include "train/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void rt_calibration_shares(const struct rt_bound *bound, double share[RT_EFFECT_PARTS])
{
    for (int p = 0; p < RT_EFFECT_PARTS; p++) {
        struct rt_bound copy = *bound;
        struct rt_device_effect unit = {.value = {0}};
        unit.value[p] = 1;
        rt_bound_set_effect(&copy, &unit);
        share[p] = copy.shift;
    }
}

/* unit x exp(sum of share x value + shift) */
static double shifted_us(const struct rt_calibration_kernel *kernel, const double value[RT_EFFECT_PARTS],
                         double shift)
{
    for (int p = 0; p < RT_EFFECT_PARTS; p++)
        shift += kernel->share[p] * value[p];
    return kernel->unit_us * exp(shift);
}

double rt_calibration_forecast(const struct rt_calibration_kernel *kernel,
                               const struct rt_device_effect *effect)
{
    const struct rt_residual_correction *correction = &effect->correction;
    double shift = rt_residual_correction_at(correction, (enum rt_dtype)kernel->dtype, kernel->place);
    return effect->dispatch_us + shifted_us(kernel, effect->value, shift);
}

double rt_calibration_effect_us(const struct rt_calibration_kernel *kernel,
                                const struct rt_device_effect *effect)
{
    return effect->dispatch_us + shifted_us(kernel, effect->value, 0);
}

enum { GRID = 33, GOLDEN = 40 };            /* overheads of the grid; golden section steps around the best */
static const double prior_scatter = 0.1;    /* of ln latency: where the fit of it starts */
static const double dispatch_scatter = 0.3; /* of a kernel's dispatch overhead, relative */
static const double likeness = 0.1;         /* correlation of any two kernels' errors */
static const double default_spread = 0.3;   /* of device effects, where fewer than three devices are known */
static const double least_spread = 0.1;     /* known devices may agree by chance */
static const double bridges_spread = 0.84;  /* of host bridges: their 90% lie within ln 4 (roofline/link.h) */
static const double least_dispatch_spread = 0.5; /* of ln(dispatch overhead + 1 us) */

/* Standard deviation of `value` (count). */
static double deviation(const double *value, size_t count)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        mean += value[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (value[i] - mean) * (value[i] - mean);
    return sqrt(squares / (double)(count - 1));
}

/* ln(dispatch overhead + 1 us) where `part` is RT_EFFECT_PARTS. */
static double number_of(const struct rt_device_effect *effect, size_t part)
{
    return part < RT_EFFECT_PARTS ? effect->value[part] : log1p(effect->dispatch_us);
}

static double spread_of(const struct rt_device_effects *known, size_t part, double least)
{
    if (known->count < 3)
        return fmax(default_spread, least);
    double *value = rt_malloc(known->count * sizeof *value);
    for (size_t i = 0; i < known->count; i++)
        value[i] = number_of(&known->known[i], part);
    double spread = deviation(value, known->count);
    free(value);
    return fmax(spread, least);
}

double rt_calibrate_spread(const struct rt_device_effects *known, enum rt_effect_part part)
{
    bool bridges = known->family == RT_FAMILY_COLLECTIVE && part == RT_EFFECT_DEPTH;
    return spread_of(known, part, bridges ? bridges_spread : least_spread);
}

double rt_calibrate_dispatch_spread(const struct rt_device_effects *known)
{
    return spread_of(known, RT_EFFECT_PARTS, least_dispatch_spread);
}

/* Kernels with the dispatch overhead held, while the effects are fitted. */
struct held {
    const struct rt_calibration_kernel *kernels;
    size_t count;
    double dispatch_us;
};

/* Scatter of a kernel's ln latency, relative to one without dispatch overhead, which scatters more. */
static double width_of(const struct held *held, size_t kernel)
{
    double part = dispatch_scatter * held->dispatch_us / held->kernels[kernel].measured_us;
    return hypot(1, part / prior_scatter);
}

/* ln t = ln(overhead + unit e^shift), so d ln t / d shift = 1 - overhead / t. In units of the width. */
static int evaluate_held(void *context, const double *value, double *residual, double *slope)
{
    const struct held *held = context;
    for (size_t i = 0; i < held->count; i++) {
        const struct rt_calibration_kernel *kernel = &held->kernels[i];
        double part = shifted_us(kernel, value, 0), time_us = held->dispatch_us + part,
               width = width_of(held, i);
        residual[i] = log(kernel->measured_us / time_us) / width;
        for (int p = 0; p < RT_EFFECT_PARTS; p++)
            slope[i * RT_EFFECT_PARTS + p] = kernel->share[p] * part / time_us / width;
    }
    return RT_OK;
}

/* The profile of the posterior over the dispatch overhead: the effects are fitted anew at each. */
struct profile {
    struct held held;
    struct rt_robust_problem problem;
    double centre[RT_EFFECT_PARTS], spreads[RT_EFFECT_PARTS]; /* of the effects: prior */
    double prior, spread; /* of ln(dispatch overhead + 1 us): mean and standard deviation */
};

/* What is fitted with the overhead held. */
struct effects_fit {
    double value[RT_EFFECT_PARTS];
    struct rt_robust_fit fit;
};

/* Minus the logarithm of the posterior at that overhead, up to a constant. */
static double fit_at(struct profile *profile, double log_dispatch_us, struct effects_fit *out)
{
    profile->held.dispatch_us = expm1(log_dispatch_us);
    memcpy(out->value, profile->centre, sizeof out->value);
    rt_robust_fit(&profile->problem, out->value, &out->fit); /* evaluate_held does not fail */
    double objective = out->fit.objective + pow((log_dispatch_us - profile->prior) / profile->spread, 2) / 2;
    for (size_t i = 0; i < profile->held.count; i++)
        objective += log(width_of(&profile->held, i));
    return objective;
}

/* ln(1 us + the median latency): the overhead is no more than what half of the kernels take. */
static double highest_dispatch(const struct rt_calibration_kernel *kernels, size_t count)
{
    double *times = rt_malloc(count * sizeof *times);
    for (size_t i = 0; i < count; i++)
        times[i] = kernels[i].measured_us;
    rt_sort_reals(times, count);
    double highest = log1p(times[(count - 1) / 2]);
    free(times);
    return highest;
}

/* Where fit_at is least between 0 and `highest`: a grid, then golden section around its best point. */
static double best_dispatch(struct profile *profile, double highest)
{
    const double ratio = (sqrt(5) - 1) / 2;
    struct effects_fit fit;
    double step = highest / (GRID - 1), best = 0, least = INFINITY;
    for (int i = 0; i < GRID; i++) {
        double objective = fit_at(profile, i * step, &fit);
        if (objective < least) {
            least = objective;
            best = i * step;
        }
    }
    double low = fmax(0, best - step), high = fmin(highest, best + step);
    for (int i = 0; i < GOLDEN; i++) {
        double left = high - ratio * (high - low), right = low + ratio * (high - low);
        if (fit_at(profile, left, &fit) <= fit_at(profile, right, &fit))
            high = right;
        else
            low = left;
    }
    double found = (low + high) / 2;
    return fit_at(profile, found, &fit) < least ? found : best;
}

void rt_calibrate_effect(const struct rt_calibration_kernel *kernels, size_t count,
                         const struct rt_device_effect *prior, const struct rt_device_effects *known,
                         struct rt_device_effect *out, double *scatter)
{
    /* Errors of kernels are correlated: n of them are worth n / (1 + likeness (n - 1)) independent ones. The
     * prior is narrowed by that factor instead of widening every kernel. */
    double narrower = 1 / sqrt(1 + likeness * ((double)count - 1));
    struct profile profile = {.held = {.kernels = kernels, .count = count},
                              .problem = {.rows = count,
                                          .parameters = RT_EFFECT_PARTS,
                                          .scale = prior_scatter,
                                          .evaluate = evaluate_held},
                              .prior = log1p(prior->dispatch_us),
                              .spread = narrower * rt_calibrate_dispatch_spread(known)};
    struct effects_fit fit;
    profile.problem.context = &profile.held;
    profile.problem.centre = profile.centre;
    profile.problem.spread = profile.spreads;
    for (int p = 0; p < RT_EFFECT_PARTS; p++) {
        profile.centre[p] = prior->value[p];
        profile.spreads[p] = narrower * rt_calibrate_spread(known, (enum rt_effect_part)p);
    }
    double best = best_dispatch(&profile, highest_dispatch(kernels, count));
    fit_at(&profile, best, &fit);
    *out = *prior;
    for (int p = 0; p < RT_EFFECT_PARTS; p++)
        out->value[p] = fit.value[p];
    out->dispatch_us = expm1(best);
    out->kernels = (int64_t)count;
    for (size_t i = 0; i < count; i++)
        rt_device_effect_add_dtype(out, (enum rt_dtype)kernels[i].dtype);
    *scatter = fit.fit.scale;
}
