/* What each resource takes for a launch. See times.h. */
#include "models/predictors/roofline/times.h"
#include "models/predictors/roofline/tile.h"

#include <math.h>

/* A product in tiles of one size. */
static double tiled_us(const struct rt_tiled_call *launch, const struct rt_rates *rates, double tile_m,
                       double tile_n)
{
    double blocks = launch->batch * ceil(launch->m / tile_m) * ceil(launch->n / tile_n);
    return rt_blocks_us(rates, blocks, 2 * tile_m * tile_n * launch->k);
}

/* In tiles that a library fixes by the shape. */
static double unsplit_us(const struct rt_tiled_call *launch, const struct rt_rates *rates)
{
    const struct rt_product_kernels *kernels = &launch->kernels;
    double blocks = launch->batch * ceil(launch->m / kernels->tile_m) * ceil(launch->n / kernels->tile_n);
    return ceil(blocks / rates->sms) * kernels->block_us;
}

/* Kernels of their own change the layout. */
static double layout_us(const struct rt_tiled_call *launch)
{
    return 1e6 * rt_conv_layout_bytes(&launch->conv) / launch->bandwidth / rt_memory_gain(launch->device);
}

/* By algorithm. On matrix units a library keeps to the product itself where transforms on vector lanes are
 * slower. */
static void set_conv(const struct rt_tiled_call *launch, double compute_us[RT_COMPUTE_TIMES])
{
    const struct rt_conv_times *times = &launch->conv_times;
    enum rt_dtype dtype = launch->query->call.dtype;
    double most = dtype == RT_FP32 || dtype == RT_FP64 ? INFINITY : times->implicit;
    compute_us[1] = times->implicit;
    compute_us[2] = fmin(isfinite(times->fused) ? times->fused : times->implicit, most);
    compute_us[3] = fmin(isfinite(times->nonfused) ? times->nonfused : times->implicit, most);
    compute_us[4] = times->fastest;
    for (int i = 0; i < RT_COMPUTE_TIMES; i++)
        compute_us[i] = (launch->conv.groups > 1 ? times->implicit : compute_us[i]) + layout_us(launch);
}

static void set_compute(const struct rt_tiled_call *launch, const struct rt_rates *rates,
                        double compute_us[RT_COMPUTE_TIMES])
{
    compute_us[0] = fmax(launch->walk_us, 1e6 * launch->flops / rates->sustained_flops);
    if (launch->conv_times.implicit > 0) {
        set_conv(launch, compute_us);
    } else if (launch->k > 0) {
        compute_us[1] = tiled_us(launch, rates, 128, 128);
        compute_us[2] = tiled_us(launch, rates, 128, 64);
        compute_us[3] = tiled_us(launch, rates, 64, 64);
        compute_us[4] = launch->kernels.quantised ? unsplit_us(launch, rates) : launch->tiling.time_us;
    } else if (launch->rows == 0) {
        compute_us[1] = launch->compute_us; /* of the tiling */
    }
}

static void set_memory(const struct rt_tiled_call *launch, const struct rt_rates *rates,
                       double memory_us[RT_MEMORY_TIMES])
{
    double bytes = rt_query_traffic(launch->query), hits = rt_l2_hits(launch->device, bytes);
    memory_us[0] = launch->memory_us;
    if (launch->rows > 0) {
        memory_us[0] *= 1 - hits + hits * rt_l2_cost(launch->device);
        memory_us[1] = 1e6 * bytes * (1 + launch->row_tiling.rereads) / rates->bandwidth;
    }
    if (launch->conv.groups > 1)
        memory_us[0] = rt_conv_grouped_memory_us(&launch->conv, launch->query->call.dtype, launch->memory_us);
    double gain = rt_memory_gain(launch->device);
    for (int i = 0; i < RT_MEMORY_TIMES; i++)
        memory_us[i] /= gain;
    if (launch->conv.moved > 0)
        memory_us[0] += layout_us(launch);
}

/* Logarithms; times that the op has not are its first. */
static void set_logarithms(const double *time_us, int count, double *out)
{
    for (int i = 0; i < count; i++)
        out[i] = log(time_us[i] > 0 ? time_us[i] : time_us[0]);
}

/* What no algorithm can do without: transforms save a convolution multiplications. */
static double least_flops(const struct rt_tiled_call *launch)
{
    double flops = rt_call_flops(&launch->query->call);
    return flops > 0 ? launch->flops * rt_call_least_flops(&launch->query->call) / flops : launch->flops;
}

void rt_tiled_call_times(const struct rt_tiled_call *launch, struct rt_times *out)
{
    const struct rt_call *call = &launch->query->call;
    struct rt_rates rates = rt_rates_of(launch->device, rt_call_family(call), call->dtype);
    double compute_us[RT_COMPUTE_TIMES] = {0}, memory_us[RT_MEMORY_TIMES] = {0};
    set_compute(launch, &rates, compute_us);
    set_memory(launch, &rates, memory_us);
    set_logarithms(compute_us, RT_COMPUTE_TIMES, out->ln_compute);
    set_logarithms(memory_us, RT_MEMORY_TIMES, out->ln_memory);
    out->start_us = launch->start_us;
    double bytes =
        fmax(rt_l2_cost(launch->device) * rt_query_bytes(launch->query), launch->query->cold_bytes);
    double peak = rt_device_peak_flops(launch->device, rt_call_family(call), call->dtype);
    out->least_us = fmax(1e6 * least_flops(launch) / peak, 1e6 * bytes / rates.bandwidth);
    out->host_us = launch->query->queued ? 0 : launch->kernels.host_us;
}
