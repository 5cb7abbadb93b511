/* The curve over power limits. See limit_curve.h. */
#include "predict/step/limit_curve.h"
#include "base/status.h"
#include "predict/step/power_limit.h"
#include "predict/step/energy.h"

#include <stdlib.h>

int rt_limit_list_read(const char *option, const char *text, void *value)
{
    static const struct rt_range_kind kind = {
        .noun = "power limit",
        .nouns = "power limits",
        .give = "give watts such as 200 or 150,200,250, or FROM:TO:STEP such as 150:700:25",
        .bounds = "a power limit is above 0 W",
        .most = 1e6};
    struct rt_limit_list *list = value;
    return rt_ranges_read(option, text, &kind, list->watts, &list->count);
}

static int solve(const struct rt_prediction *prediction, struct rt_limit_curve *curve)
{
    struct rt_power_profile profile;
    double scale[RT_ENERGY_PARTS];
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < curve->limits.count; i++)
        status = rt_power_limit_check(&prediction->device, curve->limits.watts[i]);
    if (status == RT_OK)
        status = rt_power_profile_clocks(&prediction->forecast, prediction->predictor, &profile, scale);
    if (status == RT_OK)
        status = rt_power_at(&profile, scale, profile.board_w, &curve->full);
    for (size_t i = 0; status == RT_OK && i < curve->limits.count; i++)
        if ((status = rt_power_at(&profile, scale, curve->limits.watts[i], &curve->states[i])) != RT_OK)
            rt_fail_context(status, "%s", prediction->device.name);
    return status;
}

int rt_limit_curve(const struct rt_prediction *prediction, const struct rt_limit_list *limits,
                   struct rt_limit_curve *out)
{
    const struct rt_device *device = &prediction->device;
    struct rt_limit_curve curve = {.limits = *limits, .boost_mhz = device->clock_mhz};
    if (device->boost_mhz > 0)
        curve.boost_mhz = device->boost_mhz;
    curve.states = rt_calloc(limits->count, sizeof *curve.states);
    int status = solve(prediction, &curve);
    if (status != RT_OK) {
        rt_limit_curve_release(&curve);
        return status;
    }
    curve.least_energy = rt_power_least_energy(curve.states, limits->watts, limits->count);
    curve.least_delay_product = rt_power_least_delay_product(curve.states, limits->watts, limits->count);
    *out = curve;
    return RT_OK;
}

void rt_limit_curve_release(struct rt_limit_curve *curve)
{
    free(curve->states);
    *curve = (struct rt_limit_curve){0};
}
