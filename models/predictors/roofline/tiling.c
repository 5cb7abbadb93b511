/* Tiling of products and rows. See tiling.h. */
#include "models/predictors/roofline/tiling.h"
#include "base/status.h"
#include "models/predictors/roofline/board.h"

#include <math.h>
#include <string.h>

/* Tiles of outputs that cuBLAS' kernels have; reductions are padded to steps of 32. */
static const double tiles[][2] = {{256, 128}, {128, 256}, {128, 128}, {128, 64}, {64, 128},
                                  {64, 64},   {32, 128},  {128, 32},  {32, 32}};
static const double splits[] = {1, 2, 4, 8, 16};

double rt_wave_us(const struct rt_rates *rates, double block_flops)
{
    return 1e6 * block_flops / (rates->peak_flops / rates->sms);
}

double rt_stream_us(const struct rt_device *device, double bytes)
{
    return rt_cycles_us(device, bytes / 64);
}

double rt_blocks_us(const struct rt_rates *rates, double blocks, double block_flops)
{
    return fmax(ceil(blocks / rates->sms) * rt_wave_us(rates, block_flops),
                1e6 * blocks * block_flops / rates->sustained_flops);
}

/* A product and how it is cut. */
struct cut {
    double batch, m, n, k, bytes, split_us;
};

static void time_tiling(const struct cut *cut, const struct rt_rates *rates, struct rt_tiling *tiling)
{
    double count = cut->batch * ceil(cut->m / tiling->tile_m) * ceil(cut->n / tiling->tile_n);
    double depth = 32 * ceil(ceil(cut->k / tiling->splits) / 32);
    double reach = tiling->tile_m * tiling->tile_n / (tiling->tile_m + tiling->tile_n);
    double partial = tiling->splits > 1 ? 8 * tiling->splits * cut->batch * cut->m * cut->n : 0;
    tiling->blocks = count * tiling->splits;
    tiling->compute_us = rt_blocks_us(rates, tiling->blocks,
                                      2 * tiling->tile_m * tiling->tile_n * depth * (reach + 8) / reach);
    tiling->memory_us = 1e6 * (cut->bytes + partial) / rates->bandwidth;
    tiling->time_us = fmax(tiling->compute_us, tiling->memory_us) + (tiling->splits > 1 ? cut->split_us : 0);
}

void rt_tiling_product(double batch, double m, double n, double k, double bytes, const struct rt_rates *rates,
                       const struct rt_rates *library, double split_us, struct rt_tiling *out)
{
    struct cut cut = {batch, m, n, k, bytes, split_us};
    struct rt_tiling fastest = {.time_us = INFINITY};
    for (size_t t = 0; t < RT_COUNT(tiles); t++)
        for (size_t s = 0; s < RT_COUNT(splits); s++) {
            struct rt_tiling tiling = {.tile_m = tiles[t][0], .tile_n = tiles[t][1], .splits = splits[s]};
            time_tiling(&cut, library != NULL ? library : rates, &tiling);
            if (tiling.time_us < fastest.time_us * (1 - 1e-9))
                fastest = tiling;
        }
    if (library != NULL)
        time_tiling(&cut, rates, &fastest);
    *out = fastest;
}

/* Of bandwidth for each multiprocessor: 8 to 16 on the devices of NeuSight's corpus. How many blocks are in
 * flight is told from the bandwidth that they have to keep busy, so that multiprocessors added to the same L2
 * and bandwidth cost no hits. */
static const double SM_GBS = 11.5;

static double next_power(double x)
{
    return exp2(ceil(log2(fmax(x, 1))));
}

static bool is_amd(const struct rt_device *device)
{
    return strcmp(device->vendor, "AMD") == 0;
}

static void tile_layernorm(bool amd, struct rt_row_tiling *tiling)
{
    tiling->threads = amd ? 256 : 128;
    tiling->rows = 1;
    tiling->rereads = 0.5; /* of two transfers, read and write, one more read */
}

/* Rows in registers, a warp a row (PyTorch, softmax_warp_forward). */
static void tile_short_softmax(double cols, struct rt_row_tiling *tiling)
{
    double padded = next_power(cols);
    tiling->threads = 128;
    tiling->rows = (cols <= 128 ? 2 : 1) * (padded < 32 ? 128 / padded : 4);
    tiling->fill = cols / padded;
}

static void tile_long_softmax(bool amd, double cols, struct rt_row_tiling *tiling)
{
    double half = ceil(fmin(cols / 4, 1024) / 2);
    tiling->threads = amd ? 1024 : fmax(32, fmin(next_power(half), 1024));
    tiling->rows = 1;
    tiling->rereads = amd ? 0 : 1;
}

void rt_tiling_rows(const struct rt_device *device, bool layernorm, double rows, double cols, double width,
                    struct rt_row_tiling *out)
{
    struct rt_row_tiling tiling = {0};
    bool amd = is_amd(device);
    if (layernorm)
        tile_layernorm(amd, &tiling);
    else if (cols <= 1024)
        tile_short_softmax(cols, &tiling);
    else
        tile_long_softmax(amd, cols, &tiling);
    if (tiling.fill == 0) /* four columns a thread and pass */
        tiling.fill = cols / 4 / (ceil(cols / 4 / tiling.threads) * tiling.threads);
    double resident = rt_design_of(device)->threads;
    double blocks_per_sm = fmax(1, fmin(floor(resident / tiling.threads), resident == 1024 ? 16 : 32));
    double in_flight = fmin(ceil(rows / tiling.rows), device->bandwidth_gbs / SM_GBS * blocks_per_sm);
    tiling.log2_in_l2 = log2(in_flight * tiling.rows * cols * width / rt_near_l2_bytes(device));
    *out = tiling;
}

double rt_row_tiling_misses(const struct rt_row_tiling *tiling)
{
    return 1 / (1 + exp(-2 * (tiling->log2_in_l2 + 0.25)));
}

struct rt_row_walk rt_row_walk_of(const struct rt_device *device, enum rt_op_id op, bool scalar_loads,
                                  double cols, double width)
{
    struct rt_row_tiling tiling = {0};
    tile_layernorm(is_amd(device), &tiling);
    bool server = rt_ops[op].block_a_row, norm = rt_ops[op].family == RT_FAMILY_LAYERNORM;
    double elements = !server ? 4 : scalar_loads ? 1 : 16 / width, loads = ceil(cols / elements);
    double threads = server ? fmin(1024, 32 * ceil(loads / 32)) : tiling.threads;
    return (struct rt_row_walk){.threads = threads, .steps = (norm ? 2 : 1) * ceil(loads / threads)};
}

double rt_row_walk_us(const struct rt_device *device, const struct rt_row_walk *walk, double rows)
{
    const double step_cycles = 1000, step_threads = 1024;
    double turns = fmax(1, rows * walk->threads / (device->sms * step_threads));
    return turns * walk->steps * rt_cycles_us(device, step_cycles);
}

/* ---- products of narrow activations ---- */

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
