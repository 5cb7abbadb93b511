/* The most probable scales of a step whose time was measured. See time_scales.h. */
#include "predict/step/time_scales.h"
#include "base/status.h"

#include <math.h>

/* Logarithms of the two scales, and of the time they give. */
struct point {
    double kernels, host, ln_us;
};

static int evaluate(rt_scaled_time *time, void *context, struct point *point)
{
    const struct rt_time_scales scales = {exp(point->kernels), exp(point->host)};
    double us = 0;
    int status = time(context, &scales, &us);
    if (status == RT_OK && !(us > 0))
        return rt_fail(RT_EUSAGE, "a forecast of %g us cannot be scaled to a measured time", us);
    point->ln_us = log(us);
    return status;
}

/* How much the time changes with either scale, by a difference. */
static int slopes(rt_scaled_time *time, void *context, const struct point *at, double *kernels, double *host)
{
    const double step = 0.02;
    struct point more_kernels = {at->kernels + step, at->host, 0},
                 more_host = {at->kernels, at->host + step, 0};
    int status = evaluate(time, context, &more_kernels);
    if (status == RT_OK)
        status = evaluate(time, context, &more_host);
    *kernels = (more_kernels.ln_us - at->ln_us) / step;
    *host = (more_host.ln_us - at->ln_us) / step;
    return status;
}

/* The point of least k^2 + h^2 on the line on which the linearised time is the measured one: Gauss-Newton for
 * normal priors of ln(scale), of equal spread, and an exact measurement. */
int rt_time_scales_fit(rt_scaled_time *time, void *context, double measured_us, struct rt_time_scales *out)
{
    enum { STEPS = 12 };
    const double near = 1e-3, most = log(8);
    struct point at = {0};
    if (!(measured_us > 0) || !isfinite(measured_us))
        return rt_fail(RT_EUSAGE, "a measured time of %g us is not positive", measured_us);
    int status = evaluate(time, context, &at);
    for (int i = 0; status == RT_OK && i < STEPS && fabs(log(measured_us) - at.ln_us) > near; i++) {
        double kernels = 0, host = 0;
        status = slopes(time, context, &at, &kernels, &host);
        double square = kernels * kernels + host * host;
        if (status != RT_OK || square < 1e-6)
            break;
        double wanted = log(measured_us) - at.ln_us + kernels * at.kernels + host * at.host;
        at.kernels = fmax(-most, fmin(most, kernels * wanted / square));
        at.host = fmax(-most, fmin(most, host * wanted / square));
        status = evaluate(time, context, &at);
    }
    if (status == RT_OK)
        *out = (struct rt_time_scales){exp(at.kernels), exp(at.host)};
    return status;
}
