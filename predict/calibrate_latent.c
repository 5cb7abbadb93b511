/* The latents of one device and family from a few kernels. See calibrate.h. */
#include "datasets/status.h"
#include "datasets/sort.h"
#include "predict/calibrate.h"
#include "predict/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

_Static_assert((int)RT_LATENT_PARTS <= (int)RT_ROBUST_MOST, "room for every part");
enum { FLOORS = 33, GOLDEN = 40 };            /* floors on the grid; halvings around the best of them */
static const double believed_scatter = 0.1;   /* of ln latency, before kernels tell */
static const double floor_scatter = 0.3;      /* of a kernel's floor, a part of it */
static const double likeness = 0.1;           /* correlation of any two kernels' errors */
static const double default_spread = 0.3;     /* of latents, where fewer than three devices are known */
static const double least_spread = 0.1;       /* known devices may agree by chance */
static const double least_floor_spread = 0.5; /* of ln(floor + 1 us) */

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

/* ln(floor + 1 us) where `part` is RT_LATENT_PARTS. */
static double number_of(const struct rt_latent *latent, size_t part)
{
    return part < RT_LATENT_PARTS ? latent->value[part] : log1p(latent->floor_us);
}

static double spread_of(const struct rt_latents *known, size_t part, double least)
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

double rt_calibrate_spread(const struct rt_latents *known, enum rt_latent_part part)
{
    return spread_of(known, part, least_spread);
}

double rt_calibrate_floor_spread(const struct rt_latents *known)
{
    return spread_of(known, RT_LATENT_PARTS, least_floor_spread);
}

void rt_calibration_shares(const struct rt_bound *bound, double share[RT_LATENT_PARTS])
{
    for (int p = 0; p < RT_LATENT_PARTS; p++) {
        struct rt_bound copy = *bound;
        struct rt_latent unit = {.value = {0}};
        unit.value[p] = 1;
        rt_bound_set_latent(&copy, &unit);
        share[p] = copy.shift;
    }
}

static double shifted(const struct rt_calibration_kernel *kernel, const double value[RT_LATENT_PARTS],
                      double shift)
{
    for (int p = 0; p < RT_LATENT_PARTS; p++)
        shift += kernel->share[p] * value[p];
    return kernel->unit_us * exp(shift);
}

double rt_calibration_forecast(const struct rt_calibration_kernel *kernel, const struct rt_latent *latent)
{
    const struct rt_correction *correction = &latent->correction;
    double shift = rt_correction_at(correction, (enum rt_dtype)kernel->dtype,
                                    correction->length > 0 ? kernel->inputs : kernel->place);
    return latent->floor_us + shifted(kernel, latent->value, shift);
}

double rt_calibration_latent_us(const struct rt_calibration_kernel *kernel, const struct rt_latent *latent)
{
    return latent->floor_us + shifted(kernel, latent->value, 0);
}

/* The kernels beside a floor that is held while the shifts are fitted. */
struct held {
    const struct rt_calibration_kernel *kernels;
    size_t count;
    double floor_us;
};

/* How much wider a kernel scatters because its floor does: 1 where the floor is nothing to it. */
static double width_of(const struct held *held, size_t kernel)
{
    double part = floor_scatter * held->floor_us / held->kernels[kernel].measured_us;
    return hypot(1, part / believed_scatter);
}

/* ln t = ln(floor + unit e^shift): d ln t / d shift = 1 - floor / t. In units of the width. */
static int evaluate_held(void *context, const double *value, double *residual, double *slope)
{
    const struct held *held = context;
    for (size_t i = 0; i < held->count; i++) {
        const struct rt_calibration_kernel *kernel = &held->kernels[i];
        double part = shifted(kernel, value, 0), time_us = held->floor_us + part, width = width_of(held, i);
        residual[i] = log(kernel->measured_us / time_us) / width;
        for (int p = 0; p < RT_LATENT_PARTS; p++)
            slope[i * RT_LATENT_PARTS + p] = kernel->share[p] * part / time_us / width;
    }
    return RT_OK;
}

/* A fit for every floor; the best floor is the one whose fit is best, with what was believed of the floor. */
struct floors {
    struct held held;
    struct rt_robust_problem problem;
    double believed, spread; /* of ln(floor + 1 us) */
};

static double fit_at(struct floors *floors, double log_floor_us, struct rt_robust_fit *fit)
{
    floors->held.floor_us = expm1(log_floor_us);
    rt_robust_fit(&floors->problem, fit); /* evaluate_held does not fail */
    double objective = fit->objective + pow((log_floor_us - floors->believed) / floors->spread, 2) / 2;
    for (size_t i = 0; i < floors->held.count; i++)
        objective += log(width_of(&floors->held, i));
    return objective;
}

/* ln(1 us + the median): no floor lies above what half of the kernels take. */
static double highest_floor(const struct rt_calibration_kernel *kernels, size_t count)
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
static double best_floor(struct floors *floors, double highest)
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

void rt_calibrate_latent(const struct rt_calibration_kernel *kernels, size_t count,
                         const struct rt_latent *believed, const struct rt_latents *known,
                         struct rt_latent *out, double *scatter)
{
    /* A network is wrong alike for kernels that are alike, so n of them tell what n / (1 + likeness (n - 1))
     * would whose errors had nothing in common: what was believed counts for more in the same measure. */
    double narrower = 1 / sqrt(1 + likeness * ((double)count - 1));
    struct floors floors = {.held = {.kernels = kernels, .count = count},
                            .problem = {.rows = count,
                                        .parameters = RT_LATENT_PARTS,
                                        .scale = believed_scatter,
                                        .evaluate = evaluate_held},
                            .believed = log1p(believed->floor_us),
                            .spread = narrower * rt_calibrate_floor_spread(known)};
    struct rt_robust_fit fit;
    floors.problem.context = &floors.held;
    for (int p = 0; p < RT_LATENT_PARTS; p++) {
        floors.problem.centre[p] = believed->value[p];
        floors.problem.spread[p] = narrower * rt_calibrate_spread(known, (enum rt_latent_part)p);
    }
    double best = best_floor(&floors, highest_floor(kernels, count));
    fit_at(&floors, best, &fit);
    *out = *believed;
    for (int p = 0; p < RT_LATENT_PARTS; p++)
        out->value[p] = fit.parameter[p];
    out->floor_us = expm1(best);
    out->kernels = (int64_t)count;
    *scatter = fit.scale;
    rt_calibrate_correction(kernels, count, out, &out->correction);
}
