/*
 * What a measured step says of its forecast: by how much all its kernels, and all dispatches of its host,
 * take longer than forecast. One time determines two numbers only with a prior: both are 1 but for a spread,
 * as wide for the one as for the other, and the most probable pair is taken. Where the host is never in the
 * way, that moves the kernels alone; where the GPU always waits, the host alone. So the time of a whole GPU,
 * which a small model often leaves waiting, says the right thing of a slice of it, which does not wait.
 */
#pragma once

struct rt_time_scales {
    double kernels; /* all but collectives; 0: as forecast, like 1 */
    double host;    /* dispatches, and what the host takes once a step; 0: like 1 */
};

/* The forecast time of the step with such scales, us, into *us. */
typedef int rt_scaled_time(void *context, const struct rt_time_scales *scales, double *us);

/* The scales with which the forecast is what was measured, within 0.1% or as near as a factor of 8 of either
 * comes; times other than positive: RT_EUSAGE. Errors of `time` are passed on. */
int rt_time_scales_fit(rt_scaled_time *time, void *context, double measured_us, struct rt_time_scales *out);
