/* The table of targets. See target.h. */
#include "models/roofline/target.h"

#include <math.h>

static double time_bound(const struct rt_launch *launch)
{
    return launch->bound_us;
}

const struct rt_target rt_targets[RT_TARGET_COUNT] = {
    [RT_TARGET_LATENCY] = {"latency", "us", offsetof(struct rt_sample, latency_us), time_bound,
                           rt_time_is_possible},
};

double rt_target_measured(const struct rt_target *target, const struct rt_sample *sample)
{
    double value = *(const double *)((const char *)sample + target->column);
    bool sound = target->possible(value);
    return sound && !(sample->flags & RT_FLAG_FAILED) ? value : NAN;
}
