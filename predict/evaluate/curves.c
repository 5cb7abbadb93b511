/* Curves of runs under power limits. See curves.h. */
#include "predict/evaluate/curves.h"
#include "base/status.h"
#include "datasets/run_attributes.h"
#include "predict/evaluate/run_pools.h"
#include "predict/step/power_curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- gathering ---- */

/* A run whose limit and power are known. */
struct limited {
    const struct rt_workload *workload;
    double limit_w, watts;
    bool taken; /* by a curve */
};

/* Do two runs differ in their limit alone? Copies of a run ("run") are others. */
static bool is_same_but_limit(const struct rt_dataset *dataset, const struct rt_workload *a,
                              const struct rt_workload *b)
{
    if (a->device != b->device || a->sequence != b->sequence || !rt_workload_is_same(dataset, a, b))
        return false;
    for (size_t i = 0; i <= rt_run_attribute_count; i++) {
        const char *name = i < rt_run_attribute_count ? rt_run_attribute_names[i] : "run";
        const char *of_a = rt_dataset_attribute(dataset, a->group, name);
        const char *of_b = rt_dataset_attribute(dataset, b->group, name);
        if (strcmp(name, "power_limit_w") != 0 &&
            strcmp(of_a != NULL ? of_a : "", of_b != NULL ? of_b : "") != 0)
            return false;
    }
    return true;
}

static int read_limited(const struct rt_dataset *dataset, const struct rt_workload *workload,
                        struct limited *out)
{
    struct rt_run_attributes attributes;
    int status = rt_run_attributes_read(dataset, workload, &attributes);
    if (status != RT_OK)
        return status;
    *out = (struct limited){workload, attributes.power_limit_w, attributes.power_w, false};
    rt_run_attributes_release(&attributes);
    return RT_OK;
}

static int by_falling_limit(const void *a, const void *b)
{
    const struct limited *x = a, *y = b;
    if (x->limit_w != y->limit_w)
        return x->limit_w > y->limit_w ? -1 : 1;
    return x->workload < y->workload ? -1 : x->workload > y->workload;
}

/* Moves the first run that is in no curve, and those that differ from it in their limit, to `out`; returns
 * how many. Of runs at one limit the first is taken. */
static size_t take_curve(const struct rt_dataset *dataset, struct limited *runs, size_t count,
                         struct limited *out)
{
    size_t points = 0;
    const struct rt_workload *first = NULL;
    for (size_t i = 0; i < count; i++) {
        if (runs[i].taken || (first != NULL && !is_same_but_limit(dataset, first, runs[i].workload)))
            continue;
        runs[i].taken = true;
        first = first != NULL ? first : runs[i].workload;
        if (points == 0 || out[points - 1].limit_w != runs[i].limit_w)
            out[points++] = runs[i];
    }
    return points;
}

/* ---- judging ---- */

static void measure(const struct limited *runs, struct rt_scored_curve *curve, struct rt_power_state *states)
{
    for (size_t i = 0; i < curve->points; i++) {
        curve->limit_w[i] = runs[i].limit_w;
        curve->us[i] = runs[i].workload->end_to_end_us;
        curve->watts[i] = runs[i].watts;
        states[i] =
            (struct rt_power_state){.step_us = curve->us[i], .joules = 1e-6 * curve->us[i] * curve->watts[i]};
    }
    curve->best = rt_power_least_energy(states, curve->limit_w, curve->points);
}

static int forecast(const struct rt_device *device, struct rt_scored_curve *curve,
                    struct rt_power_state *states)
{
    double watts = fmin(curve->watts[0], curve->limit_w[0]);
    int status = rt_power_curve_from_point(device, curve->us[0], watts, curve->limit_w[0], curve->limit_w,
                                           curve->points, states);
    if (status != RT_OK)
        return status;
    for (size_t i = 0; i < curve->points; i++) {
        curve->forecast_us[i] = states[i].step_us;
        curve->forecast_w[i] = states[i].watts;
    }
    curve->forecast_best = rt_power_least_energy(states, curve->limit_w, curve->points);
    return RT_OK;
}

static void free_curve(struct rt_scored_curve *curve)
{
    free(curve->limit_w);
}

/* A curve of one point is none, and so is one that no limit can be solved on. */
static void judge_curve(struct rt_evaluation *evaluation, const struct rt_dataset *dataset,
                        const struct rt_device *devices, const struct limited *runs, size_t points)
{
    double *room = rt_malloc(5 * points * sizeof *room);
    struct rt_scored_curve curve = {
        .run = {.workload = runs[0].workload, .name = rt_workload_name(dataset, runs[0].workload)},
        .points = points,
        .limit_w = room,
        .us = room + points,
        .watts = room + 2 * points,
        .forecast_us = room + 3 * points,
        .forecast_w = room + 4 * points};
    struct rt_power_state *states = rt_malloc(points * sizeof *states);
    measure(runs, &curve, states);
    if (points > 1 && forecast(&devices[runs[0].workload->device], &curve, states) == RT_OK) {
        evaluation->curves =
            rt_realloc(evaluation->curves, evaluation->curve_count + 1, sizeof *evaluation->curves);
        evaluation->curves[evaluation->curve_count++] = curve;
    } else {
        free_curve(&curve);
    }
    free(states);
}

static bool is_asked(const struct rt_evaluate_options *options, const struct rt_dataset *dataset,
                     const struct rt_workload *workload)
{
    bool model = options->models == NULL || options->models->count == 0;
    for (size_t i = 0; !model && i < options->models->count; i++)
        model = rt_name_contains(rt_workload_name(dataset, workload).model, options->models->name[i]);
    return model && (options->devices == NULL || options->devices[workload->device]) &&
           workload->end_to_end_us > 0 && !(workload->flags & RT_FLAG_FAILED);
}

void rt_scored_curves_add(struct rt_evaluation *evaluation, const struct rt_dataset *dataset,
                          const struct rt_device *devices)
{
    struct limited *runs = rt_malloc(2 * (dataset->workload_count + 1) * sizeof *runs);
    struct limited *curve = runs + dataset->workload_count + 1;
    size_t count = 0, points;
    for (size_t w = 0; w < dataset->workload_count; w++) {
        if (!is_asked(&evaluation->options, dataset, &dataset->workloads[w]) ||
            read_limited(dataset, &dataset->workloads[w], &runs[count]) != RT_OK)
            continue;
        count += runs[count].limit_w > 0 && runs[count].watts > 0;
    }
    qsort(runs, count, sizeof *runs, by_falling_limit);
    while ((points = take_curve(dataset, runs, count, curve)) > 0)
        judge_curve(evaluation, dataset, devices, curve, points);
    free(runs);
}

/* ---- pools ---- */

enum { TIME, POWER, ENERGY, QUANTITIES };

static void add_point(const struct rt_scored_curve *curve, size_t i, double *measured[], double *forecast[],
                      size_t at)
{
    measured[TIME][at] = curve->us[i];
    forecast[TIME][at] = curve->forecast_us[i];
    measured[POWER][at] = curve->watts[i];
    forecast[POWER][at] = curve->forecast_w[i];
    measured[ENERGY][at] = curve->us[i] * curve->watts[i];
    forecast[ENERGY][at] = curve->forecast_us[i] * curve->forecast_w[i];
}

static void pool_points(const struct rt_evaluation *evaluation, const bool *member,
                        struct rt_curve_pool *pool)
{
    size_t most = 0, count = 0;
    for (size_t c = 0; c < evaluation->curve_count; c++)
        most += evaluation->curves[c].points;
    double *room = rt_malloc(2 * QUANTITIES * (most + 1) * sizeof *room);
    double *measured[QUANTITIES], *forecast[QUANTITIES];
    for (int q = 0; q < QUANTITIES; q++) {
        measured[q] = room + 2 * (size_t)q * most;
        forecast[q] = measured[q] + most;
    }
    for (size_t c = 0; c < evaluation->curve_count; c++)
        for (size_t i = 1; member[c] && i < evaluation->curves[c].points; i++)
            add_point(&evaluation->curves[c], i, measured, forecast, count++);
    rt_metrics_of(measured[TIME], forecast[TIME], count, &pool->time);
    rt_metrics_of(measured[POWER], forecast[POWER], count, &pool->power);
    rt_metrics_of(measured[ENERGY], forecast[ENERGY], count, &pool->energy);
    free(room);
}

static void count_optimum(const struct rt_scored_curve *curve, struct rt_curve_pool *pool)
{
    size_t found = curve->forecast_best, best = curve->best;
    pool->curves++;
    pool->near += fabs(curve->limit_w[found] - curve->limit_w[best]) <= RT_CURVE_STEP_W;
    pool->regret +=
        100 * (curve->us[found] * curve->watts[found] / (curve->us[best] * curve->watts[best]) - 1);
}

static void take_pool(void *context, const struct rt_run_pool *of, const bool *member)
{
    struct rt_evaluation *evaluation = context;
    struct rt_curve_pool pool = {.by = of->by, .value = rt_strdup(of->value), .mode = of->mode};
    pool_points(evaluation, member, &pool);
    for (size_t c = 0; c < evaluation->curve_count; c++)
        if (member[c])
            count_optimum(&evaluation->curves[c], &pool);
    pool.regret /= (double)pool.curves;
    evaluation->curve_pools =
        rt_realloc(evaluation->curve_pools, evaluation->curve_pool_count + 1, sizeof pool);
    evaluation->curve_pools[evaluation->curve_pool_count++] = pool;
}

void rt_scored_curves_pool(struct rt_evaluation *evaluation, const struct rt_dataset *dataset)
{
    const struct rt_workload **runs = rt_malloc((evaluation->curve_count + 1) * sizeof *runs);
    for (size_t c = 0; c < evaluation->curve_count; c++)
        runs[c] = evaluation->curves[c].run.workload;
    rt_run_pools(dataset, evaluation->options.by, runs, evaluation->curve_count, take_pool, evaluation);
    free(runs);
}

void rt_scored_curves_release(struct rt_evaluation *evaluation)
{
    for (size_t c = 0; c < evaluation->curve_count; c++)
        free_curve(&evaluation->curves[c]);
    for (size_t p = 0; p < evaluation->curve_pool_count; p++)
        free(evaluation->curve_pools[p].value);
    free(evaluation->curve_pools);
    free(evaluation->curves);
}
