/* A forecast under a power limit. See power_limit.h. */
#include "predict/step/power_limit.h"
#include "base/status.h"
#include "datasets/share.h"
#include "predict/step/energy.h"
#include "predict/step/forecast_graphs.h"
#include "predict/step/passes.h"

#include <math.h>

/* --- a step at lower clocks --- */

/* A point of a lower clock. */
static int add_lower(const struct rt_forecast *forecast, const struct rt_predictor *predictor, double clock,
                     struct rt_power_profile *profile)
{
    struct rt_forecast_options options = forecast->options;
    struct rt_forecast lower;
    struct rt_device device;
    size_t point = profile->points;
    options.times_only = true;
    options.energy = false;
    options.level = 0;
    int status = rt_device_clock(forecast->device, clock * forecast->device->clock_mhz, &device);
    if (status == RT_OK)
        status = rt_forecast_graph(forecast->graph, predictor, &device, &options, &lower);
    if (status != RT_OK)
        return status;
    rt_power_profile_add(&lower, profile);
    profile->step_us[point] = fmax(profile->step_us[point], profile->step_us[point - 1]);
    rt_forecast_release(&lower);
    return RT_OK;
}

/* Adds points at `clock` (count, shares of the device's own clock that fall, each below 1) to the profile of
 * a forecast's first point: the same graph on the same device at those clocks. Errors are those of
 * rt_forecast_graph. No time is below that of the point before it. */
static int add_lowers(const struct rt_forecast *forecast, const struct rt_predictor *predictor,
                      const double *clock, size_t count, struct rt_power_profile *profile)
{
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < count && profile->points < RT_POWER_POINTS; i++)
        status = add_lower(forecast, predictor, clock[i], profile);
    return status;
}

/* --- a limit --- */

int rt_power_limit_check(const struct rt_device *device, double limit_w)
{
    if (!(device->power_w > 0))
        return rt_fail(RT_EFORMAT,
                       "{power_limit}: the board power of %s is not known; give it: {gpu} NAME,power_w=WATTS",
                       device->name);
    if (!(limit_w > 0 && limit_w <= device->power_w))
        return rt_fail(
            RT_EUSAGE,
            "{power_limit}: a limit of %g W is not one of %s, whose board has %g W; give limits up "
            "to that",
            limit_w, device->name, device->power_w);
    return RT_OK;
}

int rt_power_profile_clocks(const struct rt_forecast *forecast, const struct rt_predictor *predictor,
                            struct rt_power_profile *profile, double scale[RT_ENERGY_PARTS])
{
    static const double lower[] = {0.93, 0.86, 0.79, 0.72, 0.65, 0.58,
                                   0.5,  0.42, 0.34, 0.27, 0.21, RT_POWER_LEAST_CLOCK};
    rt_power_profile_full(forecast, profile);
    rt_energy_scales(&predictor->energy, forecast->device, scale);
    return add_lowers(forecast, predictor, lower, RT_COUNT(lower), profile);
}

/* The lowest clock of a profile at which the step takes no longer than `step_us`, and no lower than the mean
 * clock of the state: what waits for its host takes as long at many clocks. */
static double clock_that_takes(const struct rt_power_profile *profile, const struct rt_power_state *state)
{
    size_t p = 0;
    while (p + 1 < profile->points && profile->step_us[p + 1] <= state->step_us)
        p++;
    double clock = profile->clock[p];
    if (p + 1 < profile->points)
        clock += (state->step_us - profile->step_us[p]) / (profile->step_us[p + 1] - profile->step_us[p]) *
                 (profile->clock[p + 1] - profile->clock[p]);
    return fmin(profile->clock[0], fmax(clock, state->clock));
}

static void stretch_all(double *time_us, size_t count, double factor)
{
    for (size_t i = 0; time_us != NULL && i < count; i++)
        time_us[i] *= factor;
}

static void stretch_stages(struct rt_forecast *forecast, double factor)
{
    const struct rt_parallelism *parallel = &forecast->options.parallel;
    size_t pieces = (size_t)rt_pieces(parallel);
    stretch_all(forecast->stage_forward_us, 3 * pieces + (size_t)parallel->pipeline,
                factor); /* step.c: all in one */
    for (size_t s = 0; s < forecast->sum_count; s++) {
        forecast->sums[s].start_us *= factor;
        forecast->sums[s].end_us *= factor;
    }
}

/* All times of a forecast. */
static void stretch(struct rt_forecast *forecast, double factor)
{
    double *const times[] = {&forecast->forward_us,       &forecast->backward_us, &forecast->compute_us,
                             &forecast->communication_us, &forecast->host_us,     &forecast->copy_us,
                             &forecast->before_us,        &forecast->on_us,       &forecast->after_us,
                             &forecast->queue_us,         &forecast->gather_us,   &forecast->total_us,
                             &forecast->bubble_us,        &forecast->slowest_us,  &forecast->ahead_us,
                             &forecast->begin_us,         &forecast->launched_us, &forecast->interval_low_us,
                             &forecast->interval_high_us};
    for (size_t i = 0; i < RT_COUNT(times); i++)
        *times[i] *= factor;
    stretch_all(forecast->phase_us, RT_PHASE_COUNT, factor);
    stretch_all(forecast->exposed_us, RT_GROUPS, factor);
    stretch_all(forecast->source_us, RT_TIME_SOURCE_COUNT, factor);
    for (size_t i = 0; i < forecast->launch_count; i++) {
        forecast->launches[i].time_us *= factor;
        forecast->launches[i].hidden_us *= factor;
    }
    stretch_stages(forecast, factor);
}

/* The same graph on `device`, in the state's time. */
static int forecast_again(struct rt_forecast *forecast, const struct rt_device *at,
                          const struct rt_predictor *predictor, const struct rt_power_state *state)
{
    struct rt_forecast again;
    int status = rt_forecast_graph(forecast->graph, predictor, at, &forecast->options, &again);
    if (status != RT_OK)
        return status;
    stretch(&again, state->step_us / again.total_us);
    again.device = forecast->device;
    rt_forecast_release(forecast);
    *forecast = again;
    return RT_OK;
}

int rt_forecast_cap_power(struct rt_forecast *forecast, struct rt_device *device,
                          const struct rt_predictor *predictor, double limit_w)
{
    struct rt_power_profile profile;
    struct rt_power_state state;
    struct rt_device held;
    double scale[RT_ENERGY_PARTS];
    int status = rt_power_limit_check(device, limit_w);
    if (status == RT_OK)
        status = rt_power_profile_clocks(forecast, predictor, &profile, scale);
    if (status == RT_OK && (status = rt_power_at(&profile, scale, limit_w, &state)) != RT_OK)
        rt_fail_context(status, "%s", device->name);
    if (status == RT_OK)
        status = rt_device_clock(
            device, clock_that_takes(&profile, &state) / profile.clock[0] * device->clock_mhz, &held);
    if (status == RT_OK)
        status = forecast_again(forecast, &held, predictor, &state);
    if (status != RT_OK)
        return status;
    *device = held;
    rt_forecast_set_energy(forecast, predictor, &state, limit_w, profile.gpus);
    return RT_OK;
}
