/* Cuts of products and rows. See cut.h. */
#include "models/predictor/cut.h"
#include "datasets/status.h"
#include "models/predictor/architecture.h"

#include <math.h>
#include <string.h>

/* Tiles of outputs that cuBLAS' kernels have; reductions are padded to steps of 32. */
static const double tiles[][2] = {{256, 128}, {128, 256}, {128, 128}, {128, 64}, {64, 128},
                                  {64, 64},   {32, 128},  {128, 32},  {32, 32}};
static const double splits[] = {1, 2, 4, 8, 16};

void rt_cut_product(double batch, double m, double n, double k, double bytes, double peak_flops,
                    double bandwidth, double sms, double split_us, struct rt_cut *out)
{
    out->time_us = INFINITY;
    for (size_t t = 0; t < RT_COUNT(tiles); t++)
        for (size_t s = 0; s < RT_COUNT(splits); s++) {
            struct rt_cut cut = {.tile_m = tiles[t][0], .tile_n = tiles[t][1], .splits = splits[s]};
            double count = batch * ceil(m / cut.tile_m) * ceil(n / cut.tile_n);
            double depth = 32 * ceil(ceil(k / cut.splits) / 32);
            double reach = cut.tile_m * cut.tile_n / (cut.tile_m + cut.tile_n);
            double partial = cut.splits > 1 ? 8 * cut.splits * batch * m * n : 0;
            cut.blocks = count * cut.splits;
            cut.waves = ceil(cut.blocks / sms);
            cut.padding = batch * m * n / (count * cut.tile_m * cut.tile_n);
            cut.compute_us = 1e6 * cut.waves * 2 * cut.tile_m * cut.tile_n * depth / (peak_flops / sms) /
                             (reach / (reach + 8));
            cut.memory_us = 1e6 * (bytes + partial) / bandwidth;
            cut.time_us = fmax(cut.compute_us, cut.memory_us) + (cut.splits > 1 ? split_us : 0);
            if (cut.time_us < out->time_us * (1 - 1e-9))
                *out = cut;
        }
}

static double next_power(double x)
{
    return exp2(ceil(log2(fmax(x, 1))));
}

static bool is_amd(const struct rt_device *device)
{
    return strcmp(device->vendor, "AMD") == 0;
}

static void cut_layernorm(bool amd, struct rt_row_cut *cut)
{
    cut->threads = amd ? 256 : 128;
    cut->rows = 1;
    cut->rereads = 0.5; /* of two transfers, read and write, one more read */
}

/* Rows in registers, a warp a row (PyTorch, softmax_warp_forward). */
static void cut_short_softmax(double cols, struct rt_row_cut *cut)
{
    double padded = next_power(cols);
    cut->threads = 128;
    cut->rows = (cols <= 128 ? 2 : 1) * (padded < 32 ? 128 / padded : 4);
    cut->fill = cols / padded;
}

static void cut_long_softmax(bool amd, double cols, struct rt_row_cut *cut)
{
    double half = ceil(fmin(cols / 4, 1024) / 2);
    cut->threads = amd ? 1024 : fmax(32, fmin(next_power(half), 1024));
    cut->rows = 1;
    cut->rereads = amd ? 0 : 1;
}

void rt_cut_rows(const struct rt_device *device, bool layernorm, double rows, double cols, double width,
                 struct rt_row_cut *out)
{
    struct rt_row_cut cut = {0};
    bool amd = is_amd(device);
    if (layernorm)
        cut_layernorm(amd, &cut);
    else if (cols <= 1024)
        cut_short_softmax(cols, &cut);
    else
        cut_long_softmax(amd, cols, &cut);
    if (cut.fill == 0) /* four columns a thread and pass */
        cut.fill = cols / 4 / (ceil(cols / 4 / cut.threads) * cut.threads);
    double resident = rt_architecture_of(device)->threads;
    double blocks_per_sm = fmax(1, fmin(floor(resident / cut.threads), resident == 1024 ? 16 : 32));
    double in_flight = fmin(ceil(rows / cut.rows), rt_multiprocessors(device) * blocks_per_sm);
    cut.log2_in_l2 = log2(in_flight * cut.rows * cols * width / rt_near_l2_bytes(device));
    *out = cut;
}

double rt_row_cut_misses(const struct rt_row_cut *cut)
{
    return 1 / (1 + exp(-4 * (cut->log2_in_l2 + 0.25)));
}
