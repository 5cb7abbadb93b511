/* Products of narrow activations. See product_kernels.h. */
#include "models/predictors/roofline/product_kernels.h"
#include "models/predictors/roofline/tiling.h"

#include <math.h>

/* The kernel that quantises takes a thread block for each row: cycles of a multiprocessor that a row takes at
 * least, and for each element. fp8 products of one tile of columns and up to 32,768 rows take 7.3 ns a row on
 * H100 and H200 and 5.6 on the L40S where k is small, which is 1,910 and 2,010 cycles; more columns add 0.6
 * cycles each on Hopper. */
static const double ROW_CYCLES = 1900, ELEMENT_CYCLES = 0.6, LAUNCH_CYCLES = 3000;

static double quantise_us(enum rt_dtype dtype, double m, double k, const struct rt_device *device)
{
    double cycles = m * fmax(ROW_CYCLES, ELEMENT_CYCLES * k) / device->sms;
    double bytes = m * k * (2 + rt_dtypes[dtype].input_bytes);
    double hits = rt_l2_hits(device, bytes);
    double memory_us = 1e-3 * bytes / device->bandwidth_gbs * (1 - hits + hits * rt_l2_cost(device));
    return rt_cycles_us(device, LAUNCH_CYCLES) + fmax(rt_cycles_us(device, cycles), memory_us);
}

/* CUTLASS' tiles by rows, as vLLM chooses them. */
static void choose_tile(double m, struct rt_product_kernels *kernels)
{
    kernels->tile_m = m <= 16 ? 16 : m <= 32 ? 32 : m <= 128 ? 64 : 128;
    kernels->tile_n = m <= 64 ? 64 : 128;
}

static double block_us(const struct rt_product_kernels *kernels, enum rt_dtype dtype, double k,
                       const struct rt_device *device)
{
    struct rt_rates rates = rt_rates_of(device, RT_FAMILY_LINEAR, dtype);
    double bytes = (kernels->tile_m + kernels->tile_n) * k * rt_dtypes[dtype].bytes;
    return fmax(rt_wave_us(&rates, 2 * kernels->tile_m * kernels->tile_n * k), rt_stream_us(device, bytes));
}

/* Median of the products of less than 4 MB and 1 GFLOP by library, on H100 and H200 alike: FlashInfer,
 * DeepGEMM, CUTLASS.
 */
static const double SWAPPED_HOST_US = 59, MADE_HOST_US = 90, GENERAL_HOST_US = 178;

/* Block-scaled products: DeepGEMM since Hopper where n is a multiple of 64 and k of 128, for up to 31 rows
 * the one that FlashInfer compiled; else CUTLASS there, and Triton everywhere else (vLLM 0.24; the tables
 * name them). */
static void choose_block_scaled(double m, double n, double k, const struct rt_device *device,
                                struct rt_product_kernels *kernels)
{
    bool asynchronous = rt_design_asynchronous(rt_design_of(device)),
         aligned = fmod(n, 64) == 0 && fmod(k, 128) == 0;
    bool made = asynchronous && aligned; /* for this GPU and such shapes */
    kernels->swapped = made && m < 32;
    kernels->host_us = !made ? GENERAL_HOST_US : kernels->swapped ? SWAPPED_HOST_US : MADE_HOST_US;
    kernels->triton = !asynchronous;
}

void rt_product_kernels_of(enum rt_dtype dtype, double m, double n, double k, const struct rt_device *device,
                           struct rt_product_kernels *out)
{
    *out = (struct rt_product_kernels){.quantised = rt_dtypes[dtype].input_bytes < 2};
    if (!out->quantised)
        return;
    out->quantise_us = quantise_us(dtype, m, k, device);
    choose_tile(m, out);
    out->block_us = block_us(out, dtype, k, device);
    if (dtype == RT_FP8_BLOCK)
        choose_block_scaled(m, n, k, device, out);
}
