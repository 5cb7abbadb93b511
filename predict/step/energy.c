/* The energy of a step. See energy.h. */
#include "predict/step/energy.h"
#include "base/status.h"
#include "models/predictors/predictor/energy_model.h"
#include "models/predictors/roofline/tile.h"
#include "predict/step/forecast.h"
#include "predict/step/launches.h"
#include "predict/step/step.h"

#include <math.h>
#include <string.h>

/* --- profiles --- */

static struct rt_work work_of(const struct rt_forecast_launch *launch, const struct rt_device *device)
{
    const struct rt_graph_kernel *kernel = &launch->kernel;
    const struct rt_family_row *family = rt_launch_family(launch);
    bool link = family->link; /* read here, written there */
    return (struct rt_work){.family = rt_call_family(&kernel->call),
                            .dtype = kernel->call.dtype,
                            .flops = link ? 0 : kernel->flops,
                            .bytes = (link ? 2 : 1) * kernel->bytes,
                            .cold_bytes = link ? 2 * kernel->bytes : launch->cold_bytes,
                            .reread_bytes = rt_launch_reread_bytes(launch, device)};
}

/* Runs of a launch in a step, of all GPUs of a pipeline. */
static double runs_of(const struct rt_forecast *forecast, const struct rt_forecast_launch *launch)
{
    double runs = rt_forecast_launch_runs(forecast, launch);
    bool once = launch->kernel.call.op == RT_OP_OPTIMIZER;
    return once ? runs : runs * (double)forecast->options.parallel.microbatches;
}

/* While kernels and collectives run, of one GPU; `kernels_us`: of the mean GPU of a pipeline. What a GPU
 * waits for other stages is not in it, but what a server has it do between steps. */
static double busy_us(const struct rt_forecast *forecast, double kernels_us)
{
    double waits = forecast->host_us + forecast->copy_us, busy = fmax(forecast->total_us - waits, 0);
    if (forecast->options.parallel.pipeline > 1)
        busy = kernels_us;
    return fmin(busy + rt_step_server_busy_us(forecast), forecast->total_us);
}

static double gpus_of(const struct rt_forecast *forecast)
{
    const struct rt_graph_options *graph = &forecast->graph->options;
    const struct rt_parallelism *parallel = &forecast->options.parallel;
    int64_t attention = graph->attention_data_parallel > 1 ? graph->attention_data_parallel : 1;
    int64_t context = parallel->context > 1 ? parallel->context : 1;
    return (double)(graph->tensor_parallel * attention * context * parallel->data * parallel->pipeline *
                    rt_parallelism_sequence(parallel));
}

/* What a server's sampler moves of one GPU's memory in its time. */
static void add_sampler(const struct rt_energy_rates *rates, const struct rt_forecast *forecast,
                        double joules[RT_ENERGY_PARTS])
{
    double bytes = 1e3 * forecast->device->bandwidth_gbs * rt_step_sampler_us(forecast) /
                   (double)forecast->options.parallel.pipeline;
    if (!(bytes > 0))
        return;
    joules[RT_ENERGY_DRAM] += bytes * rates->dram;
    joules[RT_ENERGY_CACHE] += bytes * rates->cache;
}

void rt_power_profile_add(const struct rt_forecast *forecast, struct rt_power_profile *profile)
{
    size_t point = profile->points++;
    double *joules = profile->joules[point], kernels_us = 0;
    double each = 1 / (double)forecast->options.parallel.pipeline;
    struct rt_energy_rates rates;
    rt_energy_rates_of(forecast->device, &rates);
    for (size_t i = 0; i < forecast->launch_count; i++) {
        const struct rt_forecast_launch *launch = &forecast->launches[i];
        struct rt_work work = work_of(launch, forecast->device);
        double runs = each * runs_of(forecast, launch);
        rt_energy_add_work(&rates, forecast->device, &work, runs, joules);
        kernels_us += runs * launch->time_us;
    }
    add_sampler(&rates, forecast, joules);
    profile->clock[point] = rt_energy_clock(forecast->device);
    profile->step_us[point] = forecast->total_us;
    profile->busy_us[point] = busy_us(forecast, kernels_us);
    rt_energy_add_time(&rates, profile->busy_us[point], forecast->total_us, joules);
}

void rt_power_profile_full(const struct rt_forecast *forecast, struct rt_power_profile *out)
{
    *out = (struct rt_power_profile){.board_w = forecast->device->power_w, .gpus = gpus_of(forecast)};
    rt_power_profile_add(forecast, out);
}

void rt_power_profile_kernel(const struct rt_query *query, const struct rt_device *device, double time_us,
                             struct rt_power_profile *out)
{
    struct rt_energy_rates rates;
    struct rt_work work = {.family = rt_call_family(&query->call),
                           .dtype = query->call.dtype,
                           .flops = rt_query_flops(query),
                           .bytes = rt_query_bytes(query),
                           .cold_bytes = query->cold_bytes,
                           .reread_bytes = query->reread_bytes};
    *out = (struct rt_power_profile){
        .points = 1, .clock = {rt_energy_clock(device)}, .step_us = {time_us}, .busy_us = {time_us}};
    out->board_w = device->power_w;
    out->gpus = 1;
    rt_energy_rates_of(device, &rates);
    rt_energy_add_work(&rates, device, &work, 1, out->joules[0]);
    rt_energy_add_time(&rates, time_us, time_us, out->joules[0]);
}

void rt_power_profile_retime(struct rt_power_profile *profile, double step_us)
{
    double factor = step_us / profile->step_us[0];
    for (size_t p = 0; p < profile->points; p++) {
        profile->step_us[p] *= factor;
        profile->busy_us[p] *= factor;
        profile->joules[p][RT_ENERGY_ACTIVE] *= factor;
        profile->joules[p][RT_ENERGY_IDLE] *= factor;
    }
}

/* --- the forecast --- */

/* Power keeps to the limit and to what is drawn at rest, energy to them and the interval of the time. */
static void set_interval(const struct rt_forecast *forecast, double ln_half_width,
                         struct rt_forecast_energy *energy)
{
    energy->low_watts = energy->high_watts = energy->low_joules = energy->high_joules = NAN;
    if (isnan(ln_half_width)) /* fmin and fmax would drop it */
        return;
    double rest = energy->parts[RT_ENERGY_IDLE] / (1e-6 * forecast->total_us);
    double faster = log(forecast->total_us / forecast->interval_low_us),
           slower = log(forecast->interval_high_us / forecast->total_us);
    energy->low_watts = fmax(energy->watts * exp(-ln_half_width), fmin(rest, energy->watts));
    energy->high_watts = fmin(energy->watts * exp(ln_half_width), fmax(energy->limit_w, energy->watts));
    energy->low_joules = energy->joules * exp(-hypot(ln_half_width, faster));
    energy->high_joules = energy->joules * exp(hypot(ln_half_width, slower));
}

static struct rt_forecast_energy unknown_energy(void)
{
    struct rt_forecast_energy energy = {.gpus = NAN};
    energy.joules = energy.watts = energy.clock_mhz = energy.limit_w = NAN;
    energy.low_joules = energy.high_joules = energy.low_watts = energy.high_watts = NAN;
    for (int part = 0; part < RT_ENERGY_PARTS; part++)
        energy.parts[part] = NAN;
    return energy;
}

void rt_forecast_set_energy(struct rt_forecast *forecast, const struct rt_predictor *predictor,
                            const struct rt_power_state *state, double limit_w, double gpus)
{
    struct rt_forecast_energy *energy = &forecast->energy;
    const struct rt_device *device = forecast->device;
    double boost_mhz = device->boost_mhz > 0 ? device->boost_mhz : device->clock_mhz;
    *energy = (struct rt_forecast_energy){.joules = state->joules,
                                          .watts = state->watts,
                                          .clock_mhz = state->clock * boost_mhz,
                                          .limit_w = limit_w,
                                          .limited = state->limited,
                                          .gpus = gpus};
    memcpy(energy->parts, state->parts, sizeof energy->parts);
    set_interval(forecast, rt_energy_interval(&predictor->energy, device, forecast->options.level), energy);
}

void rt_forecast_sum_energy(struct rt_forecast *forecast, const struct rt_predictor *predictor)
{
    struct rt_power_profile profile;
    struct rt_power_state state;
    double scale[RT_ENERGY_PARTS];
    forecast->energy = unknown_energy();
    if (!forecast->options.energy)
        return;
    rt_power_profile_full(forecast, &profile);
    rt_energy_scales(&predictor->energy, forecast->device, scale);
    if (rt_power_at(&profile, scale, profile.board_w, &state) == RT_OK)
        rt_forecast_set_energy(forecast, predictor, &state, profile.board_w, profile.gpus);
}
