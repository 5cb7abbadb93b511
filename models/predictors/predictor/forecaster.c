/* The table of forecasters. See forecaster.h. */
#include "models/predictors/predictor/forecaster.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* ---- forecasters that take one kernel at a time ---- */

typedef enum rt_skip forecast_one(const struct rt_family_net *net, const struct rt_query *query,
                                  const struct rt_device *device, double *latency_us);

static void forecast_each(const struct rt_family_net *net, const struct rt_forecast_batch *batch,
                          forecast_one *one)
{
    for (size_t i = 0; i < batch->count; i++) {
        size_t at = batch->index[i];
        batch->skip[at] = one(net, &batch->queries[at], batch->device, &batch->latency_us[at]);
    }
}

static bool has_peak(const struct rt_query *query, const struct rt_device *device)
{
    return !isnan(
        rt_device_peak_flops(device, rt_call_family(&query->call), (enum rt_dtype)query->call.dtype));
}

static enum rt_skip linear_one(const struct rt_family_net *net, const struct rt_query *query,
                               const struct rt_device *device, double *latency_us)
{
    if (!has_peak(query, device))
        return RT_SKIP_NO_PEAK;
    *latency_us = rt_linear_baseline_us(&net->linear, query, device);
    return isnan(*latency_us) ? RT_SKIP_NO_ORIGIN : RT_SKIP_NONE;
}

static void linear_forecast(const struct rt_family_net *net, const struct rt_forecast_batch *batch)
{
    forecast_each(net, batch, linear_one);
}

static enum rt_skip wave_scaling_one(const struct rt_family_net *net, const struct rt_query *query,
                                     const struct rt_device *device, double *latency_us)
{
    if (!has_peak(query, device))
        return RT_SKIP_NO_PEAK;
    *latency_us = rt_wave_scaling_us(&net->wave_scaling, query, device);
    return isnan(*latency_us) ? RT_SKIP_NO_ORIGIN : RT_SKIP_NONE;
}

static void wave_scaling_forecast(const struct rt_family_net *net, const struct rt_forecast_batch *batch)
{
    forecast_each(net, batch, wave_scaling_one);
}

static enum rt_skip roofline_one(const struct rt_family_net *net, const struct rt_query *query,
                                 const struct rt_device *device, double *latency_us)
{
    (void)net;
    *latency_us = rt_roofline_us(query, device);
    return isfinite(*latency_us) ? RT_SKIP_NONE : RT_SKIP_NO_PEAK;
}

static void roofline_forecast(const struct rt_family_net *net, const struct rt_forecast_batch *batch)
{
    forecast_each(net, batch, roofline_one);
}

/* ---- in files ---- */

static int linear_write(const struct rt_family_net *net, struct rt_h5 *file, const char *group)
{
    char path[128];
    snprintf(path, sizeof path, "%s/lines", group);
    return rt_linear_baseline_write(&net->linear, file, path);
}

static int linear_read(struct rt_h5 *file, const char *group, struct rt_family_net *net)
{
    char path[128];
    snprintf(path, sizeof path, "%s/lines", group);
    return rt_linear_baseline_read(file, path, &net->linear);
}

static void linear_release(struct rt_family_net *net)
{
    rt_linear_baseline_release(&net->linear);
}

static int wave_scaling_write(const struct rt_family_net *net, struct rt_h5 *file, const char *group)
{
    char path[128];
    snprintf(path, sizeof path, "%s/wave_scaling", group);
    return rt_wave_scaling_write(&net->wave_scaling, file, path);
}

static int wave_scaling_read(struct rt_h5 *file, const char *group, struct rt_family_net *net)
{
    char path[128];
    snprintf(path, sizeof path, "%s/wave_scaling", group);
    return rt_wave_scaling_read(file, path, &net->wave_scaling);
}

static void wave_scaling_release(struct rt_family_net *net)
{
    rt_wave_scaling_release(&net->wave_scaling);
}

/* The roofline holds nothing. */

static int roofline_write(const struct rt_family_net *net, struct rt_h5 *file, const char *group)
{
    (void)net, (void)file, (void)group;
    return RT_OK;
}

static int roofline_read(struct rt_h5 *file, const char *group, struct rt_family_net *net)
{
    (void)net, (void)file, (void)group;
    return RT_OK;
}

static void roofline_release(struct rt_family_net *net)
{
    (void)net;
}

const struct rt_forecaster rt_forecasters[RT_FORECASTER_COUNT] = {
    [RT_FORECASTER_NETWORK] = {"network", true, rt_network_forecast, rt_network_latency, rt_network_write,
                               rt_network_read, rt_network_release},
    [RT_FORECASTER_LINKS] = {"links", true, rt_network_forecast, rt_links_latency, rt_links_write,
                             rt_links_read, rt_links_release},
    [RT_FORECASTER_LINEAR] = {"linear", true, linear_forecast, NULL, linear_write, linear_read,
                              linear_release},
    [RT_FORECASTER_WAVE_SCALING] = {"wave-scaling", true, wave_scaling_forecast, NULL, wave_scaling_write,
                                    wave_scaling_read, wave_scaling_release},
    [RT_FORECASTER_ROOFLINE] = {"roofline", false, roofline_forecast, NULL, roofline_write, roofline_read,
                                roofline_release},
};

void rt_family_net_release(struct rt_family_net *net)
{
    rt_forecasters[net->forecaster].release(net);
    free(net->loss);
    net->loss = NULL;
}
