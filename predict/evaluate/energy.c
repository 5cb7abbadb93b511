/* Energy of runs. See energy.h. */
#include "predict/evaluate/energy.h"
#include "base/status.h"
#include "datasets/run_attributes.h"
#include "predict/evaluate/run_pools.h"

#include <math.h>
#include <stdlib.h>

const struct rt_energy_column_row rt_energy_columns[RT_ENERGY_COLUMNS] = {
    [RT_ENERGY_FITTED] = {"forecast", NULL},
    [RT_ENERGY_PRIORS] = {"priors", "priors"},
    [RT_ENERGY_BOARD] = {"board", "board"},
};

/* ---- runs ---- */

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

/* The columns that are made of parts, at the forecast time: time, watts and joules of one GPU. */
static int forecast_own(const struct rt_run_steps *steps, const struct rt_power_profile *profile,
                        const double (*scale)[RT_ENERGY_PARTS], struct rt_scored_energy *out)
{
    int status = RT_OK;
    for (int column = RT_ENERGY_PRIORS; status == RT_OK && column >= RT_ENERGY_FITTED; column--) {
        double joules;
        status = sum_steps(steps, profile, scale[column], out->limit_w, &out->forecast_us, &joules);
        out->forecast_w[column] = 1e6 * joules / out->forecast_us;
        out->forecast_j[column] = joules * profile->gpus;
    }
    return status;
}

/* The same where the run takes its measured time. */
static int forecast_timed(const struct rt_run_steps *steps, const struct rt_power_profile *profile,
                          const double (*scale)[RT_ENERGY_PARTS], struct rt_scored_energy *out)
{
    int status = RT_OK;
    for (int column = RT_ENERGY_FITTED; status == RT_OK && column <= RT_ENERGY_PRIORS; column++) {
        double us, joules;
        status = sum_steps(steps, profile, scale[column], out->limit_w, &us, &joules);
        out->timed_w[column] = 1e6 * joules / us;
    }
    return status;
}

/* The measured time as it would be at full clock, by what the limit does to the forecast. */
static double at_full_clock(const struct rt_run_steps *steps, const struct rt_power_profile *own,
                            const struct rt_scored_energy *energy)
{
    double us = 0;
    for (size_t s = 0; s < steps->count; s++)
        us += steps->times[s] * own[s].step_us[0];
    return energy->run.workload->end_to_end_us * us / energy->forecast_us;
}

static int forecast_energy(const struct rt_run_steps *steps, const struct rt_predictor *predictor,
                           const struct rt_device *device, bool fallback, struct rt_scored_energy *out)
{
    struct rt_power_profile own[RT_MOST_RUN_STEPS], timed[RT_MOST_RUN_STEPS];
    double scale[2][RT_ENERGY_PARTS]; /* fitted, priors */
    int status = rt_run_profiles(steps, predictor, device, fallback, NAN, own);
    if (status != RT_OK)
        return status;
    rt_energy_scales(&predictor->energy, device, scale[RT_ENERGY_FITTED]);
    for (int p = 0; p < RT_ENERGY_PARTS; p++)
        scale[RT_ENERGY_PRIORS][p] = 1;
    status = forecast_own(steps, own, scale, out);
    if (status == RT_OK)
        status = rt_run_profiles(steps, predictor, device, fallback, at_full_clock(steps, own, out), timed);
    if (status == RT_OK)
        status = forecast_timed(steps, timed, scale, out);
    out->gpus = own[0].gpus;
    out->forecast_w[RT_ENERGY_BOARD] = out->timed_w[RT_ENERGY_BOARD] = out->limit_w;
    out->forecast_j[RT_ENERGY_BOARD] = 1e-6 * out->limit_w * out->forecast_us * out->gpus;
    out->half = rt_energy_interval(&predictor->energy, device, RT_EVALUATE_LEVEL);
    return status;
}

static int judge(struct rt_evaluation *evaluation, const struct rt_dataset *dataset,
                 const struct rt_scored_run *run, const struct rt_run_attributes *attributes,
                 const struct rt_run_steps *steps, const struct rt_device *device)
{
    const struct rt_workload *workload = run->workload;
    const struct rt_predictor *predictor = &evaluation->candidates[0].predictor;
    if (isnan(rt_run_watts(workload, attributes, 1)) || !(device->power_w > 0))
        return RT_OK;
    if (rt_energy_model_fitted_to(&predictor->energy, device, rt_run_key(dataset, workload))) {
        evaluation->energy_calibrated++;
        return RT_OK;
    }
    struct rt_scored_energy energy = {.run = *run,
                                      .limit_w = fmin(device->power_w, attributes->power_limit_w),
                                      .tokens = tokens_of(workload, attributes)};
    int status = forecast_energy(steps, predictor, device, evaluation->options.fallback, &energy);
    if (status != RT_OK)
        return status;
    energy.watts = rt_run_watts(workload, attributes, energy.gpus);
    energy.joules = 1e-6 * energy.watts * workload->end_to_end_us * energy.gpus;
    evaluation->energy =
        rt_realloc(evaluation->energy, evaluation->energy_count + 1, sizeof *evaluation->energy);
    evaluation->energy[evaluation->energy_count++] = energy;
    return RT_OK;
}

int rt_scored_energy_add(struct rt_evaluation *evaluation, const struct rt_dataset *dataset,
                         const struct rt_scored_run *run, const struct rt_run_steps *steps,
                         const struct rt_device *device)
{
    struct rt_run_attributes attributes;
    int status = rt_run_attributes_read(dataset, run->workload, &attributes);
    if (status != RT_OK)
        return status;
    status = judge(evaluation, dataset, run, &attributes, steps, device);
    rt_run_attributes_release(&attributes);
    return status;
}

/* ---- pools ---- */

/* What a metric compares: of a run and a column. */
struct compared {
    double measured, forecast; /* NaN: the run has none */
};

static struct compared power(const struct rt_scored_energy *energy, int column)
{
    return (struct compared){energy->watts, energy->forecast_w[column]};
}

static struct compared joules(const struct rt_scored_energy *energy, int column)
{
    return (struct compared){energy->joules, energy->forecast_j[column]};
}

static struct compared timed(const struct rt_scored_energy *energy, int column)
{
    return (struct compared){energy->watts, energy->timed_w[column]};
}

static struct compared tokens(const struct rt_scored_energy *energy, int column)
{
    return (struct compared){energy->joules / energy->tokens, energy->forecast_j[column] / energy->tokens};
}

static void pool_metrics(const struct rt_evaluation *evaluation, const bool *member,
                         struct compared (*of)(const struct rt_scored_energy *, int), struct rt_metrics *out)
{
    double *measured = rt_malloc(2 * (evaluation->energy_count + 1) * sizeof *measured);
    double *forecast = measured + evaluation->energy_count;
    for (int column = 0; column < RT_ENERGY_COLUMNS; column++) {
        size_t count = 0;
        for (size_t i = 0; i < evaluation->energy_count; i++) {
            struct compared values = of(&evaluation->energy[i], column);
            if (!member[i] || isnan(values.measured))
                continue;
            measured[count] = values.measured;
            forecast[count++] = values.forecast;
        }
        rt_metrics_of(measured, forecast, count, &out[column]);
    }
    free(measured);
}

static void pool_interval(const struct rt_evaluation *evaluation, const bool *member,
                          struct rt_interval_metrics *out)
{
    double *measured = rt_malloc(3 * (evaluation->energy_count + 1) * sizeof *measured);
    double *forecast = measured + evaluation->energy_count, *half = forecast + evaluation->energy_count;
    size_t count = 0;
    for (size_t i = 0; i < evaluation->energy_count; i++)
        if (member[i]) {
            measured[count] = evaluation->energy[i].watts;
            forecast[count] = evaluation->energy[i].timed_w[RT_ENERGY_FITTED];
            half[count++] = evaluation->energy[i].half;
        }
    rt_interval_metrics_of(measured, forecast, half, count, out);
    free(measured);
}

static void take_pool(void *context, const struct rt_run_pool *of, const bool *member)
{
    struct rt_evaluation *evaluation = context;
    struct rt_energy_pool pool = {.by = of->by, .value = rt_strdup(of->value), .mode = of->mode};
    pool_metrics(evaluation, member, power, pool.power);
    pool_metrics(evaluation, member, joules, pool.energy);
    pool_metrics(evaluation, member, timed, pool.timed);
    pool_metrics(evaluation, member, tokens, pool.tokens);
    pool_interval(evaluation, member, &pool.interval);
    evaluation->energy_pools =
        rt_realloc(evaluation->energy_pools, evaluation->energy_pool_count + 1, sizeof pool);
    evaluation->energy_pools[evaluation->energy_pool_count++] = pool;
}

void rt_scored_energy_pool(struct rt_evaluation *evaluation, const struct rt_dataset *dataset)
{
    const struct rt_workload **runs = rt_malloc((evaluation->energy_count + 1) * sizeof *runs);
    for (size_t i = 0; i < evaluation->energy_count; i++)
        runs[i] = evaluation->energy[i].run.workload;
    rt_run_pools(dataset, evaluation->options.by, runs, evaluation->energy_count, take_pool, evaluation);
    free(runs);
}

void rt_scored_energy_release(struct rt_evaluation *evaluation)
{
    for (size_t p = 0; p < evaluation->energy_pool_count; p++)
        free(evaluation->energy_pools[p].value);
    free(evaluation->energy_pools);
    free(evaluation->energy);
}
