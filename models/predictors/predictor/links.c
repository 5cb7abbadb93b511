/* Forecasts of collectives. See links.h. */
#include "models/predictors/predictor/links.h"

#include <math.h>

void rt_links_latency(const struct rt_family_net *net, struct rt_threads *pool, const rt_real *inputs,
                      const struct rt_bound *bounds, size_t count, double *latency_us)
{
    (void)net, (void)pool, (void)inputs;
    for (size_t i = 0; i < count; i++)
        latency_us[i] =
            bounds[i].dispatch_us + fmax(bounds[i].bound_us, bounds[i].link_us * exp(bounds[i].shift));
}

void rt_links_release(struct rt_family_net *net)
{
    rt_device_effects_release(&net->effects);
    rt_intervals_release(&net->intervals);
}
