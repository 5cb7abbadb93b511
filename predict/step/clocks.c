/* A step at lower clocks. See clocks.h. */
#include "predict/step/clocks.h"
#include "base/status.h"
#include "datasets/share.h"
#include "predict/step/forecast.h"
#include "predict/step/energy.h"
#include "predict/step/forecast_graphs.h"

#include <math.h>

/* A point of a lower clock; no time is below that of the point before. */
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

int rt_power_profile_lower(const struct rt_forecast *forecast, const struct rt_predictor *predictor,
                           const double *clock, size_t count, struct rt_power_profile *profile)
{
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < count && profile->points < RT_POWER_POINTS; i++)
        status = add_lower(forecast, predictor, clock[i], profile);
    return status;
}
