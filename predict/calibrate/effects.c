/* The device effects of one device and family from a few kernels. See calibrate.h. */
#include "base/status.h"
#include "base/sort.h"
#include "predict/calibrate/calibrate.h"
#include "predict/calibrate/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)RT_EFFECT_PARTS <= (int)RT_ROBUST_MOST, "room for every part");
enum { FLOORS = 33, GOLDEN = 40 };          /* floors on the grid; halvings around the best of them */
static const double prior_scatter = 0.1;    /* of ln latency, before kernels tell */
static const double dispatch_scatter = 0.3; /* of a kernel's floor, a part of it */
static const double likeness = 0.1;         /* correlation of any two kernels' errors */
static const double default_spread = 0.3;   /* of device effects, where fewer than three devices are known */
static const double least_spread = 0.1;     /* known devices may agree by chance */
static const double least_dispatch_spread = 0.5; /* of ln(floor + 1 us) */

/* Deviation of `value` (count) from its mean. */
static double deviation(const double *value, size_t count)
{
    double mean = 0, squares = 0;
    for (size_t i = 0; i < count; i++)
        mean += value[i] / (double)count;
    for (size_t i = 0; i < count; i++)
        squares += (value[i] - mean) * (value[i] - mean);
    return sqrt(squares / (double)(count - 1));
}

/* ln(floor + 1 us) where `part` is RT_EFFECT_PARTS. */
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
    return spread_of(known, part, least_spread);
}

double rt_calibrate_dispatch_spread(const struct rt_device_effects *known)
{
    return spread_of(known, RT_EFFECT_PARTS, least_dispatch_spread);
}

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

static double shifted(const struct rt_calibration_kernel *kernel, const double value[RT_EFFECT_PARTS],
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
    double shift = rt_residual_correction_at(correction, (enum rt_dtype)kernel->dtype,
                                             correction->length > 0 ? kernel->inputs : kernel->place);
    return effect->dispatch_us + shifted(kernel, effect->value, shift);
}

double rt_calibration_effect_us(const struct rt_calibration_kernel *kernel,
                                const struct rt_device_effect *effect)
{
    return effect->dispatch_us + shifted(kernel, effect->value, 0);
}

/* The kernels beside a floor that is held while the shifts are fitted. */
struct held {
    const struct rt_calibration_kernel *kernels;
    size_t count;
    double dispatch_us;
};

/* How much wider a kernel scatters because its floor does: 1 where the floor is nothing to it. */
static double width_of(const struct held *held, size_t kernel)
{
    double part = dispatch_scatter * held->dispatch_us / held->kernels[kernel].measured_us;
    return hypot(1, part / prior_scatter);
}

/* ln t = ln(floor + unit e^shift): d ln t / d shift = 1 - floor / t. In units of the width. */
static int evaluate_held(void *context, const double *value, double *residual, double *slope)
{
    const struct held *held = context;
    for (size_t i = 0; i < held->count; i++) {
        const struct rt_calibration_kernel *kernel = &held->kernels[i];
        double part = shifted(kernel, value, 0), time_us = held->dispatch_us + part,
               width = width_of(held, i);
        residual[i] = log(kernel->measured_us / time_us) / width;
        for (int p = 0; p < RT_EFFECT_PARTS; p++)
            slope[i * RT_EFFECT_PARTS + p] = kernel->share[p] * part / time_us / width;
    }
    return RT_OK;
}

/* A fit for every floor; the best floor is the one whose fit is best, with what was believed of the floor. */
struct floors {
    struct held held;
    struct rt_robust_problem problem;
    double prior, spread; /* of ln(floor + 1 us) */
};

static double fit_at(struct floors *floors, double log_dispatch_us, struct rt_robust_fit *fit)
{
    floors->held.dispatch_us = expm1(log_dispatch_us);
    rt_robust_fit(&floors->problem, fit); /* evaluate_held does not fail */
    double objective = fit->objective + pow((log_dispatch_us - floors->prior) / floors->spread, 2) / 2;
    for (size_t i = 0; i < floors->held.count; i++)
        objective += log(width_of(&floors->held, i));
    return objective;
}

/* ln(1 us + the median): no floor lies above what half of the kernels take. */
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

/* The least of what fit_at gives between 0 and `highest`: a grid, then the golden section around its best. */
static double best_dispatch(struct floors *floors, double highest)
{
    const double ratio = (sqrt(5) - 1) / 2;
    struct rt_robust_fit fit;
    double step = highest / (FLOORS - 1), best = 0, least = INFINITY;
    for (int i = 0; i < FLOORS; i++) {
        double objective = fit_at(floors, i * step, &fit);
        if (objective < least) {
            least = objective;
            best = i * step;
        }
    }
    double low = fmax(0, best - step), high = fmin(highest, best + step);
    for (int i = 0; i < GOLDEN; i++) {
        double left = high - ratio * (high - low), right = low + ratio * (high - low);
        if (fit_at(floors, left, &fit) <= fit_at(floors, right, &fit))
            high = right;
        else
            low = left;
    }
    double found = (low + high) / 2;
    return fit_at(floors, found, &fit) < least ? found : best;
}

void rt_calibrate_effect(const struct rt_calibration_kernel *kernels, size_t count,
                         const struct rt_device_effect *prior, const struct rt_device_effects *known,
                         struct rt_device_effect *out, double *scatter)
{
    /* A network is wrong alike for kernels that are alike, so n of them tell what n / (1 + likeness (n - 1))
     * would whose errors had nothing in common: what was believed counts for more in the same measure. */
    double narrower = 1 / sqrt(1 + likeness * ((double)count - 1));
    struct floors floors = {.held = {.kernels = kernels, .count = count},
                            .problem = {.rows = count,
                                        .parameters = RT_EFFECT_PARTS,
                                        .scale = prior_scatter,
                                        .evaluate = evaluate_held},
                            .prior = log1p(prior->dispatch_us),
                            .spread = narrower * rt_calibrate_dispatch_spread(known)};
    struct rt_robust_fit fit;
    floors.problem.context = &floors.held;
    for (int p = 0; p < RT_EFFECT_PARTS; p++) {
        floors.problem.centre[p] = prior->value[p];
        floors.problem.spread[p] = narrower * rt_calibrate_spread(known, (enum rt_effect_part)p);
    }
    double best = best_dispatch(&floors, highest_dispatch(kernels, count));
    fit_at(&floors, best, &fit);
    *out = *prior;
    for (int p = 0; p < RT_EFFECT_PARTS; p++)
        out->value[p] = fit.parameter[p];
    out->dispatch_us = expm1(best);
    out->kernels = (int64_t)count;
    *scatter = fit.scale;
    rt_calibrate_residuals(kernels, count, out, &out->correction);
}
