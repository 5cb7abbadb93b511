/* Measured power as observations. See energy_observations.h. */
#include "train/calibrate/energy_observations.h"
#include "base/array.h"
#include "base/status.h"
#include "base/strings.h"
#include "datasets/run_attributes.h"
#include "predict/evaluate/run_steps.h"
#include "predict/step/energy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct rt_unobserved_row rt_unobserved[RT_UNOBSERVED_COUNT] = {
    [RT_UNOBSERVED_NO_POWER] = {"no_power", "without a measured power or energy"},
    [RT_UNOBSERVED_FLAGGED] = {"flagged", "marked as failed, throttled or unstable"},
    [RT_UNOBSERVED_LIMITED] =
        {"limited", "that a power limit slowed by less than a tenth, or without a run at the board's"},
    [RT_UNOBSERVED_NO_FORECAST] = {"no_forecast", "that cannot be forecast: unknown model, network or power "
                                                  "of the board"},
};

static const double full_limit = 0.995; /* of the board's: lower ones are limits */

struct builder {
    const struct rt_dataset *dataset;
    const struct rt_predictor *predictor;
    struct rt_strings cells; /* a number for each */
    struct rt_energy_measurements *out;
};

static enum rt_unobserved add(struct builder *builder, const struct rt_energy_measured *measured,
                              const char *cell)
{
    struct rt_energy_measurements *out = builder->out;
    if (!rt_energy_observation_is_sound(&measured->observation))
        return RT_UNOBSERVED_NO_FORECAST;
    RT_GROW(out->list, out->count, 1, out->capacity);
    out->list[out->count] = *measured;
    int32_t number = rt_strings_add(&builder->cells, cell, strlen(cell));
    out->list[out->count].observation.cell = out->list[out->count].as_forecast.cell = number;
    out->count++;
    return RT_UNOBSERVED_COUNT;
}

static void set_step(const struct rt_power_profile *profile, double times, struct rt_energy_step *out)
{
    for (int p = 0; p < RT_ENERGY_PARTS; p++)
        out->joules[p] = times * profile->joules[0][p];
    out->step_us = times * profile->step_us[0];
    out->busy_us = times * profile->busy_us[0];
}

/* ---- runs ---- */

/* Both observations, of the profiles of the steps as forecast. */
static void set_observations(const struct rt_run_steps *steps, struct rt_power_profile *profile,
                             struct rt_energy_measured *measured)
{
    for (size_t s = 0; s < steps->count; s++)
        measured->forecast_us += steps->times[s] * profile[s].step_us[0];
    for (size_t s = 0; s < steps->count; s++) {
        set_step(&profile[s], steps->times[s], &measured->as_forecast.step[s]);
        rt_power_profile_retime(&profile[s],
                                profile[s].step_us[0] * measured->measured_us / measured->forecast_us);
        set_step(&profile[s], steps->times[s], &measured->observation.step[s]);
    }
    measured->observation.steps = measured->as_forecast.steps = steps->count;
    measured->gpus = profile[0].gpus;
}

/* ---- under a power limit ---- */

/* Times that at the board's limit; what is slowed less says little of its clock. */
static const double least_slower = 1.1;

/* The time of the same run at its board's own limit; NaN: there is none. */
static double full_us(const struct rt_dataset *dataset, const struct rt_workload *workload)
{
    double board_w = dataset->devices[workload->device].power_w;
    for (size_t w = 0; w < dataset->workload_count; w++) {
        const struct rt_workload *other = &dataset->workloads[w];
        struct rt_run_attributes attributes;
        if (other == workload || !rt_workload_same_but_limit(dataset, workload, other) ||
            rt_run_attributes_read(dataset, other, &attributes) != RT_OK)
            continue;
        bool full = !(attributes.power_limit_w < full_limit * board_w);
        rt_run_attributes_release(&attributes);
        if (full)
            return other->end_to_end_us;
    }
    return NAN;
}

static double total_us(const struct rt_run_steps *steps, const struct rt_power_profile *profile, size_t point)
{
    double sum = 0;
    for (size_t s = 0; s < steps->count; s++)
        sum += steps->times[s] * profile[s].step_us[point];
    return sum;
}

static double between(double from, double to, double share)
{
    return from + share * (to - from);
}

/* The first point becomes one between the point before `p` and p. */
static void set_between(struct rt_power_profile *profile, size_t p, double share)
{
    profile->step_us[0] = between(profile->step_us[p - 1], profile->step_us[p], share);
    profile->busy_us[0] = between(profile->busy_us[p - 1], profile->busy_us[p], share);
    for (int part = 0; part < RT_ENERGY_PARTS; part++)
        profile->joules[0][part] = between(profile->joules[p - 1][part], profile->joules[p][part], share);
}

/* Makes the clock at which the run takes `ratio` times as long as at the full one the first point of the
 * profiles. False where none does. */
static bool take_clock(const struct rt_run_steps *steps, struct rt_power_profile *profile, double ratio)
{
    double full = total_us(steps, profile, 0), before = full;
    for (size_t p = 1; p < profile[0].points; p++) {
        double here = total_us(steps, profile, p), share = (ratio * full - before) / (here - before);
        before = here;
        if (here < ratio * full)
            continue;
        for (size_t s = 0; s < steps->count; s++)
            set_between(&profile[s], p, share);
        return true;
    }
    return false;
}

/* `slower`: its time over that at the board's limit; 1: it is under that. */
static int observe_steps(const struct builder *builder, const struct rt_workload *workload, double slower,
                         struct rt_energy_measured *measured)
{
    const struct rt_device *device = &builder->dataset->devices[workload->device];
    struct rt_power_profile profile[RT_MOST_RUN_STEPS];
    struct rt_run_steps steps;
    int status = rt_run_steps(builder->dataset, workload, device, NULL, &steps);
    if (status != RT_OK)
        return status;
    status = rt_run_profiles(&steps, builder->predictor, device, true, NAN, profile);
    if (status == RT_OK && slower > 1 && !take_clock(&steps, profile, slower))
        status = RT_ENOTFOUND;
    if (status == RT_OK)
        set_observations(&steps, profile, measured);
    rt_run_steps_release(&steps);
    return status;
}

static void set_measured(int32_t device, double watts, double limit_w,
                         struct rt_energy_observation *observation)
{
    observation->device = device;
    observation->watts = watts;
    observation->limit_w = limit_w;
}

/* RT_UNOBSERVED_COUNT: it is one. */
static enum rt_unobserved observe_run(struct builder *builder, const struct rt_workload *workload,
                                      const struct rt_run_attributes *attributes)
{
    const struct rt_device *device = &builder->dataset->devices[workload->device];
    struct rt_energy_measured measured = {.workload = workload, .measured_us = workload->end_to_end_us};
    if (isnan(rt_run_watts(workload, attributes, 1)))
        return RT_UNOBSERVED_NO_POWER;
    if (workload->flags & (RT_FLAG_FAILED | RT_FLAG_THROTTLED | RT_FLAG_UNSTABLE | RT_FLAG_PARTIAL) ||
        !rt_time_is_possible(workload->end_to_end_us))
        return RT_UNOBSERVED_FLAGGED;
    bool limited = attributes->power_limit_w < full_limit * device->power_w;
    double slower = limited ? workload->end_to_end_us / full_us(builder->dataset, workload) : 1;
    if (limited && !(slower >= least_slower))
        return RT_UNOBSERVED_LIMITED;
    if (!(device->power_w > 0) || observe_steps(builder, workload, slower, &measured) != RT_OK)
        return RT_UNOBSERVED_NO_FORECAST;
    measured.observation.limited = limited;
    double watts = rt_run_watts(workload, attributes, measured.gpus);
    double limit_w = limited ? NAN : device->power_w; /* its clock says what the limit does */
    set_measured(workload->device, watts, limit_w, &measured.observation);
    set_measured(workload->device, watts, limit_w, &measured.as_forecast);
    char *cell =
        rt_format("%d run %d%s", (int)workload->device, (int)workload->model, limited ? " limited" : "");
    enum rt_unobserved reason = add(builder, &measured, cell);
    free(cell);
    return reason;
}

static void gather_runs(struct builder *builder, const bool *devices)
{
    for (size_t w = 0; w < builder->dataset->workload_count; w++) {
        const struct rt_workload *workload = &builder->dataset->workloads[w];
        struct rt_run_attributes attributes;
        if (!devices[workload->device])
            continue;
        enum rt_unobserved reason = RT_UNOBSERVED_NO_FORECAST;
        if (rt_run_attributes_read(builder->dataset, workload, &attributes) == RT_OK) {
            reason = observe_run(builder, workload, &attributes);
            rt_run_attributes_release(&attributes);
        }
        if (reason != RT_UNOBSERVED_COUNT)
            builder->out->runs_left[reason]++;
    }
}

/* ---- kernels ---- */

static enum rt_unobserved observe_kernel(struct builder *builder, size_t row, const struct rt_sample *sample)
{
    const struct rt_device *device = &builder->dataset->devices[sample->device];
    struct rt_energy_measured measured = {
        .sample = row, .measured_us = sample->latency_us, .forecast_us = sample->latency_us, .gpus = 1};
    struct rt_power_profile profile;
    struct rt_query query;
    if (!(sample->energy_mj > 0))
        return RT_UNOBSERVED_NO_POWER;
    if (sample->flags & (RT_FLAG_FAILED | RT_FLAG_THROTTLED | RT_FLAG_UNSTABLE) ||
        !rt_time_is_possible(sample->latency_us))
        return RT_UNOBSERVED_FLAGGED;
    if (!(device->power_w > 0) || rt_call_family(&sample->call) == RT_FAMILY_COLLECTIVE)
        return RT_UNOBSERVED_NO_FORECAST;
    rt_query_of_sample(sample, true, &query);
    rt_power_profile_kernel(&query, device, sample->latency_us, &profile);
    measured.observation = (struct rt_energy_observation){.kernel = true, .steps = 1};
    set_step(&profile, 1, &measured.observation.step[0]);
    set_measured(sample->device, 1e3 * sample->energy_mj / sample->latency_us, profile.board_w,
                 &measured.observation);
    measured.as_forecast = measured.observation;
    char *cell = rt_format("%d kernel %d", (int)sample->device, (int)rt_call_family(&sample->call));
    enum rt_unobserved reason = add(builder, &measured, cell);
    free(cell);
    return reason;
}

static void gather_kernels(struct builder *builder, const bool *devices)
{
    for (size_t i = 0; i < builder->dataset->samples.count; i++) {
        const struct rt_sample *sample = RT_SAMPLE(builder->dataset, i);
        if (!devices[sample->device])
            continue;
        enum rt_unobserved reason = observe_kernel(builder, i, sample);
        if (reason != RT_UNOBSERVED_COUNT)
            builder->out->kernels_left[reason]++;
    }
}

/* ---- both ---- */

void rt_energy_measurements_gather(const struct rt_dataset *dataset, const struct rt_predictor *predictor,
                                   const bool *devices, bool runs, bool kernels,
                                   struct rt_energy_measurements *out)
{
    struct builder builder = {.dataset = dataset, .predictor = predictor, .out = out};
    *out = (struct rt_energy_measurements){0};
    if (runs)
        gather_runs(&builder, devices);
    if (kernels)
        gather_kernels(&builder, devices);
    rt_strings_release(&builder.cells);
}

void rt_energy_measurements_release(struct rt_energy_measurements *measurements)
{
    free(measurements->list);
    *measurements = (struct rt_energy_measurements){0};
}
