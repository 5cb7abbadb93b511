/* Forecasts of measured runs: sums over their steps. See run_steps.h. */
#include "predict/evaluate/run_steps.h"
#include "base/status.h"
#include "datasets/health.h"
#include "predict/step/forecast_graphs.h"
#include "predict/step/memory.h"
#include "predict/step/power_limit.h"

#include <math.h>

/* Sum of the launches' bounds from `least_us` on in one pass; NaN where several stages share it. */
static double roofline_us(const struct rt_forecast *forecast, double least_us)
{
    double sum = forecast->options.parallel.pipeline > 1 ? NAN : 0;
    for (size_t i = 0; i < forecast->launch_count; i++) {
        const struct rt_forecast_launch *launch = &forecast->launches[i];
        double times = rt_forecast_launch_total(forecast, launch) / launch->time_us;
        bool counts = launch->source != RT_TIME_LINK && launch->roofline_us >= least_us;
        sum += counts ? times * launch->roofline_us : 0;
    }
    return sum;
}

static void add_forecast(struct rt_run_forecast *sum, const struct rt_run_steps *steps, size_t s,
                         const struct rt_forecast *forecast)
{
    double times = steps->times[s];
    sum->total_us += times * forecast->total_us;
    sum->roofline_us += times * roofline_us(forecast, 0);
    sum->large_us += times * roofline_us(forecast, RT_LARGE_US);
    sum->forward_us += times * forecast->forward_us;
    sum->backward_us += times * forecast->backward_us;
    sum->kernels_us += times * forecast->compute_us;
    sum->communication_us += times * forecast->communication_us;
    sum->coverage += times * forecast->compute_us * forecast->coverage;
    sum->ln_half_width += times * forecast->interval_high_us;
    sum->taken.allocated = fmax(sum->taken.allocated, forecast->taken.allocated);
    sum->taken.reserved = fmax(sum->taken.reserved, forecast->taken.reserved);
    sum->taken.used = fmax(sum->taken.used, forecast->taken.used);
    sum->memory_bytes = forecast->memory_bytes;
    sum->fits &= rt_forecast_fits(forecast);
}

/* Is it under a limit that its board has not by itself? */
static bool is_limited(const struct rt_run_steps *steps, const struct rt_device *device)
{
    return steps->step.power_limit_w < device->power_w;
}

/* Under the run's limit. */
static int hold_steps(const struct rt_run_steps *steps, const struct rt_predictor *predictor,
                      const struct rt_device *device, struct rt_forecast forecasts[RT_MOST_RUN_STEPS])
{
    int status = RT_OK;
    for (size_t s = 0; s < steps->count && status == RT_OK && is_limited(steps, device); s++) {
        struct rt_device held = *device;
        forecasts[s].device = &held;
        status = rt_forecast_cap_power(&forecasts[s], &held, predictor, steps->step.power_limit_w);
        forecasts[s].device = device;
    }
    return status;
}

/* Forecasts of all steps at full power, to be released. */
static int forecast_steps(const struct rt_run_steps *steps, const struct rt_predictor *predictor,
                          const struct rt_device *device, bool fallback, double level,
                          struct rt_forecast forecasts[RT_MOST_RUN_STEPS])
{
    const struct rt_forecast_options options = {.parallel = steps->step.parallel,
                                                .fallback = fallback,
                                                .host = steps->host.name[0] != '\0' ? &steps->host : NULL,
                                                .host_us = steps->step.host_us,
                                                .input = (enum rt_transfer)steps->step.input,
                                                .server = steps->server,
                                                .scales = steps->scales,
                                                .level = level};
    const struct rt_graph *graphs[RT_MOST_RUN_STEPS];
    for (size_t s = 0; s < steps->count; s++)
        graphs[s] = &steps->graph[s];
    return rt_forecast_graphs(graphs, steps->count, predictor, device, &options, forecasts);
}

int rt_run_forecast(const struct rt_run_steps *steps, const struct rt_predictor *predictor,
                    const struct rt_device *device, bool fallback, double level, struct rt_run_forecast *out)
{
    struct rt_forecast forecasts[RT_MOST_RUN_STEPS];
    struct rt_run_forecast sum = {.fits = true};
    int status = forecast_steps(steps, predictor, device, fallback, level, forecasts);
    if (status != RT_OK)
        return status;
    status = hold_steps(steps, predictor, device, forecasts);
    for (size_t s = 0; s < steps->count; s++) {
        struct rt_trust trust = {.ln_error = NAN};
        if (level > 0)
            trust = rt_forecast_trust(&forecasts[s], predictor);
        rt_trust_add(&sum.trust, &trust, steps->times[s]);
        add_forecast(&sum, steps, s, &forecasts[s]);
    }
    if (steps->count > 2 && steps->graph[0].options.step == RT_STEP_PREFILL && forecasts[0].taken.used > 0)
        rt_memory_generation(&forecasts[0], &forecasts[1], &forecasts[steps->count - 1], &sum.taken);
    for (size_t s = 0; s < steps->count; s++)
        rt_forecast_release(&forecasts[s]);
    sum.coverage /= sum.kernels_us;
    sum.ln_half_width = log(sum.ln_half_width / sum.total_us);
    *out = sum;
    return status;
}

bool rt_run_looks_throttled(const struct rt_run_steps *steps, const struct rt_run_forecast *forecast,
                            double measured_us)
{
    return steps->kind == RT_KIND_PREFILL && forecast->communication_us == 0 &&
           forecast->large_us > forecast->roofline_us / 2 &&
           forecast->roofline_us < RT_THROTTLED * measured_us;
}

int rt_run_profiles(const struct rt_run_steps *steps, const struct rt_predictor *predictor,
                    const struct rt_device *device, bool fallback, double measured_us,
                    struct rt_power_profile *profile)
{
    struct rt_forecast forecasts[RT_MOST_RUN_STEPS];
    double total_us = 0;
    int status = forecast_steps(steps, predictor, device, fallback, 0, forecasts);
    if (status != RT_OK)
        return status;
    for (size_t s = 0; s < steps->count; s++) {
        double scale[RT_ENERGY_PARTS];
        rt_power_profile_full(&forecasts[s], &profile[s]);
        if (is_limited(steps, device) && status == RT_OK)
            status = rt_power_profile_clocks(&forecasts[s], predictor, &profile[s], scale);
        total_us += steps->times[s] * forecasts[s].total_us;
        rt_forecast_release(&forecasts[s]);
    }
    for (size_t s = 0; s < steps->count && status == RT_OK && !isnan(measured_us); s++)
        rt_power_profile_retime(&profile[s], profile[s].step_us[0] * measured_us / total_us);
    return status;
}

struct scaled_run {
    struct rt_run_steps steps; /* borrowed but for its scales */
    const struct rt_predictor *predictor;
    const struct rt_device *device;
    bool fallback;
};

static int scaled_run_us(void *context, const struct rt_time_scales *scales, double *us)
{
    struct scaled_run *run = context;
    struct rt_run_forecast forecast = {0};
    run->steps.scales = *scales;
    int status = rt_run_forecast(&run->steps, run->predictor, run->device, run->fallback, 0, &forecast);
    *us = forecast.total_us;
    return status;
}

int rt_run_scales(const struct rt_run_steps *steps, const struct rt_predictor *predictor,
                  const struct rt_device *device, bool fallback, double measured_us,
                  struct rt_time_scales *out)
{
    struct scaled_run run = {*steps, predictor, device, fallback};
    return rt_time_scales_fit(scaled_run_us, &run, measured_us, out);
}
