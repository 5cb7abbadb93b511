/* The table of targets. See target.h. */
#include "models/predictors/roofline/target.h"
#include "models/predictors/roofline/energy.h"

#include <math.h>

static double time_bound(const struct rt_tiled_call *launch)
{
    return launch->bound_us;
}

/* mJ = us x W / 1000; no kernel is faster than its roofline. */
static double energy_bound(const struct rt_tiled_call *launch)
{
    struct rt_energy_rates rates;
    rt_energy_rates_of(launch->device, &rates);
    return 1e-3 * rt_roofline_us(launch->query, launch->device) * rates.idle_w;
}

/* Within what a board of 1 mW to 1 MW takes in a time that is possible. */
static bool energy_is_possible(double mj)
{
    return mj >= 1e-9 && mj <= 86400e9;
}

const struct rt_target rt_targets[RT_TARGET_COUNT] = {
    [RT_TARGET_LATENCY] = {"latency", "us", offsetof(struct rt_sample, latency_us), time_bound,
                           rt_time_is_possible},
    [RT_TARGET_ENERGY] = {"energy", "mJ", offsetof(struct rt_sample, energy_mj), energy_bound,
                          energy_is_possible},
};

double rt_target_measured(const struct rt_target *target, const struct rt_sample *sample)
{
    double value = *(const double *)((const char *)sample + target->column);
    bool sound = target->possible(value);
    return sound && !(sample->flags & RT_FLAG_FAILED) ? value : NAN;
}
