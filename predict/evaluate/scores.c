/* Memory, energy and power limits of runs. See evaluate.h. */
#include "predict/evaluate/evaluate.h"
#include "base/array.h"
#include "base/status.h"
#include "base/units.h"
#include "datasets/run_attributes.h"
#include "predict/step/power_curve.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- memory ---- */

int rt_score_memory(struct rt_evaluation *evaluation, const struct rt_dataset *dataset,
                    const struct rt_workload *workload, const struct rt_run_forecast *forecast)
{
    struct rt_run_attributes attributes;
    int status = rt_run_attributes_read(dataset, workload, &attributes);
    if (status != RT_OK)
        return status;
    struct rt_scored_item *item = rt_scored_items_add(&evaluation->memory);
    const double *mib = attributes.memory_mib;
    item->workload = workload;
    item->device_mib = forecast->memory_bytes / RT_MIB;
    rt_scored_set(item, RT_QUANTITY_ALLOCATED, mib[RT_MEMORY_ALLOCATED], forecast->taken.allocated / RT_MIB);
    rt_scored_set(item, RT_QUANTITY_RESERVED, mib[RT_MEMORY_RESERVED], forecast->taken.reserved / RT_MIB);
    rt_scored_set(item, RT_QUANTITY_USED, mib[RT_MEMORY_USED], forecast->taken.used / RT_MIB);
    rt_scored_set(item, RT_QUANTITY_RAN, attributes.out_of_memory ? NAN : 1, forecast->fits);
    rt_scored_set(item, RT_QUANTITY_OUT_OF_MEMORY, attributes.out_of_memory ? 1 : NAN, !forecast->fits);
    rt_run_attributes_release(&attributes);
    return RT_OK;
}

/* ---- energy ---- */

/* Tokens that it makes of all its sequences; of a prefill none is asked for. */
static double tokens_of(const struct rt_workload *workload, const struct rt_run_attributes *attributes)
{
    if (workload->mode == RT_DECODE)
        return (double)workload->batch;
    return workload->mode == RT_GENERATION ? (double)(workload->batch * attributes->output) : NAN;
}

/* Time and joules of one GPU over the steps, each as the limit leaves it. */
static int sum_steps(const struct rt_run_steps *steps, const struct rt_power_profile *profile,
                     const double *scale, double limit_w, double *us, double *joules)
{
    int status = RT_OK;
    *us = *joules = 0;
    for (size_t s = 0; status == RT_OK && s < steps->count; s++) {
        struct rt_power_state state;
        status = rt_power_at(&profile[s], scale, limit_w, &state);
        *us += status == RT_OK ? steps->times[s] * state.step_us : 0;
        *joules += status == RT_OK ? steps->times[s] * state.joules : 0;
    }
    return status;
}

/* A run while its energy is forecast. */
struct run {
    const struct rt_run_steps *steps;
    const struct rt_predictor *predictor;
    const struct rt_device *device;
    bool fallback;
    double measured_us;
    double scale[RT_BY_BOARD][RT_ENERGY_PARTS]; /* of the forecasters that are made of parts */
};

/* Forecasts made of parts, at the forecast time. */
static int forecast_ends(const struct run *run, const struct rt_power_profile *profile,
                         struct rt_scored_item *item)
{
    int status = RT_OK;
    for (int by = RT_BY_PRIORS; status == RT_OK && by >= RT_BY_PREDICTOR; by--) {
        double us, joules;
        status = sum_steps(run->steps, profile, run->scale[by], item->limit_w, &us, &joules);
        item->forecast[by][RT_QUANTITY_TIME] = us;
        item->forecast[by][RT_QUANTITY_POWER] = 1e6 * joules / us;
        item->forecast[by][RT_QUANTITY_ENERGY] = joules * profile->gpus;
    }
    return status;
}

/* The same where the run takes its measured time: power alone. */
static int forecast_timed(const struct run *run, const struct rt_power_profile *profile,
                          struct rt_scored_item *item)
{
    int status = RT_OK;
    for (int by = RT_BY_PREDICTOR; status == RT_OK && by <= RT_BY_PRIORS; by++) {
        double us, joules;
        status = sum_steps(run->steps, profile, run->scale[by], item->limit_w, &us, &joules);
        item->forecast[by][RT_QUANTITY_TIMED_POWER] = 1e6 * joules / us;
    }
    return status;
}

/* The measured time as it would be at full clock, by what the limit does to the forecast. */
static double at_full_clock(const struct run *run, const struct rt_power_profile *own, double forecast_us)
{
    double us = 0;
    for (size_t s = 0; s < run->steps->count; s++)
        us += run->steps->times[s] * own[s].step_us[0];
    return run->measured_us * us / forecast_us;
}

static void forecast_board(struct rt_scored_item *item)
{
    double us = item->forecast[RT_BY_PREDICTOR][RT_QUANTITY_TIME], *board = item->forecast[RT_BY_BOARD];
    board[RT_QUANTITY_POWER] = board[RT_QUANTITY_TIMED_POWER] = item->limit_w;
    board[RT_QUANTITY_ENERGY] = 1e-6 * item->limit_w * us * item->gpus;
}

static int forecast_energy(struct run *run, struct rt_scored_item *item)
{
    struct rt_power_profile own[RT_MOST_RUN_STEPS], timed[RT_MOST_RUN_STEPS];
    int status = rt_run_profiles(run->steps, run->predictor, run->device, run->fallback, NAN, own);
    if (status != RT_OK)
        return status;
    rt_energy_scales(&run->predictor->energy, run->device, run->scale[RT_BY_PREDICTOR]);
    for (int p = 0; p < RT_ENERGY_PARTS; p++)
        run->scale[RT_BY_PRIORS][p] = 1;
    status = forecast_ends(run, own, item);
    double full_us = at_full_clock(run, own, item->forecast[RT_BY_PREDICTOR][RT_QUANTITY_TIME]);
    if (status == RT_OK)
        status = rt_run_profiles(run->steps, run->predictor, run->device, run->fallback, full_us, timed);
    if (status == RT_OK)
        status = forecast_timed(run, timed, item);
    item->gpus = own[0].gpus;
    item->ln_half_width = rt_energy_interval(&run->predictor->energy, run->device, RT_EVALUATE_LEVEL);
    forecast_board(item);
    return status;
}

static int score_energy(struct rt_evaluation *evaluation, const struct rt_workload *workload,
                        const struct rt_run_attributes *attributes, const struct rt_run_steps *steps,
                        const struct rt_device *device)
{
    struct run run = {.steps = steps,
                      .predictor = &evaluation->candidates[0].predictor,
                      .device = device,
                      .fallback = evaluation->options.fallback,
                      .measured_us = workload->end_to_end_us};
    struct rt_scored_item *item = rt_scored_items_add(&evaluation->energy);
    item->workload = workload;
    item->limit_w = fmin(device->power_w, attributes->power_limit_w);
    item->tokens = tokens_of(workload, attributes);
    int status = forecast_energy(&run, item);
    if (status != RT_OK) {
        evaluation->energy.count--;
        return status;
    }
    double watts = rt_run_watts(workload, attributes, item->gpus);
    double joules = 1e-6 * watts * workload->end_to_end_us * item->gpus;
    item->measured[RT_QUANTITY_TIME] = workload->end_to_end_us;
    item->measured[RT_QUANTITY_POWER] = item->measured[RT_QUANTITY_TIMED_POWER] = watts;
    item->measured[RT_QUANTITY_ENERGY] = joules;
    item->measured[RT_QUANTITY_TOKEN_ENERGY] = joules / item->tokens;
    for (int by = 0; by < RT_BY_COUNT; by++)
        item->forecast[by][RT_QUANTITY_TOKEN_ENERGY] = item->forecast[by][RT_QUANTITY_ENERGY] / item->tokens;
    return RT_OK;
}

int rt_score_energy(struct rt_evaluation *evaluation, const struct rt_dataset *dataset,
                    const struct rt_workload *workload, const struct rt_run_steps *steps,
                    const struct rt_device *device)
{
    struct rt_run_attributes attributes;
    int status = rt_run_attributes_read(dataset, workload, &attributes);
    if (status != RT_OK)
        return status;
    bool measured = !isnan(rt_run_watts(workload, &attributes, 1)) && device->power_w > 0;
    if (measured && rt_energy_model_fitted_to(&evaluation->candidates[0].predictor.energy, device,
                                              rt_run_key(dataset, workload)))
        evaluation->energy_calibrated++;
    else if (measured)
        status = score_energy(evaluation, workload, &attributes, steps, device);
    rt_run_attributes_release(&attributes);
    return status;
}

/* ---- curves: which runs are of one ---- */

/* A run whose limit and power are known. */
struct limited {
    const struct rt_workload *workload;
    double limit_w, watts;
    bool taken; /* by a curve */
};

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
        if (runs[i].taken || (first != NULL && !rt_workload_same_but_limit(dataset, first, runs[i].workload)))
            continue;
        runs[i].taken = true;
        first = first != NULL ? first : runs[i].workload;
        if (points == 0 || out[points - 1].limit_w != runs[i].limit_w)
            out[points++] = runs[i];
    }
    return points;
}

/* ---- curves: their scores ---- */

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

/* For the pools: every point but the first is a test of the forecast; the first one stands for the curve and
 * has its optimum. */
static void add_points(struct rt_scored_items *points, const struct rt_scored_curve *curve)
{
    const size_t best = curve->best, found = curve->forecast_best;
    for (size_t i = 0; i < curve->points; i++) {
        struct rt_scored_item *item = rt_scored_items_add(points);
        item->workload = curve->workload;
        item->limit_w = curve->limit_w[i];
        if (i == 0) {
            rt_scored_set(item, RT_QUANTITY_OPTIMUM, curve->limit_w[best], curve->limit_w[found]);
            rt_scored_set(item, RT_QUANTITY_LEAST_ENERGY, curve->us[best] * curve->watts[best],
                          curve->us[found] * curve->watts[found]);
            continue;
        }
        rt_scored_set(item, RT_QUANTITY_TIME, curve->us[i], curve->forecast_us[i]);
        rt_scored_set(item, RT_QUANTITY_POWER, curve->watts[i], curve->forecast_w[i]);
        rt_scored_set(item, RT_QUANTITY_ENERGY, curve->us[i] * curve->watts[i],
                      curve->forecast_us[i] * curve->forecast_w[i]);
    }
}

/* A curve of one point is none, and so is one that no limit can be solved on. */
static void score_curve(struct rt_evaluation *evaluation, const struct rt_device *devices,
                        const struct limited *runs, size_t points)
{
    double *room = rt_malloc(5 * points * sizeof *room);
    struct rt_scored_curve curve = {.workload = runs[0].workload,
                                    .points = points,
                                    .limit_w = room,
                                    .us = room + points,
                                    .watts = room + 2 * points,
                                    .forecast_us = room + 3 * points,
                                    .forecast_w = room + 4 * points};
    struct rt_power_state *states = rt_malloc(points * sizeof *states);
    measure(runs, &curve, states);
    if (points > 1 && forecast(&devices[runs[0].workload->device], &curve, states) == RT_OK) {
        RT_GROW(evaluation->curves, evaluation->curve_count, 1, evaluation->curve_capacity);
        evaluation->curves[evaluation->curve_count++] = curve;
        add_points(&evaluation->points, &curve);
    } else {
        free(room);
    }
    free(states);
}

static bool is_point(const struct rt_evaluate_options *options, const struct rt_dataset *dataset,
                     const struct rt_workload *workload)
{
    return rt_evaluation_asks(options, dataset, workload) && workload->end_to_end_us > 0 &&
           !(workload->flags & RT_FLAG_FAILED);
}

void rt_score_curves(struct rt_evaluation *evaluation, const struct rt_dataset *dataset,
                     const struct rt_device *devices)
{
    struct limited *runs = rt_malloc(2 * (dataset->workload_count + 1) * sizeof *runs);
    struct limited *curve = runs + dataset->workload_count + 1;
    size_t count = 0, points;
    for (size_t w = 0; w < dataset->workload_count; w++) {
        if (!is_point(&evaluation->options, dataset, &dataset->workloads[w]) ||
            read_limited(dataset, &dataset->workloads[w], &runs[count]) != RT_OK)
            continue;
        count += runs[count].limit_w > 0 && runs[count].watts > 0;
    }
    qsort(runs, count, sizeof *runs, by_falling_limit);
    while ((points = take_curve(dataset, runs, count, curve)) > 0)
        score_curve(evaluation, devices, curve, points);
    free(runs);
}
