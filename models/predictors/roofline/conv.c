/* Convolutions by algorithm. See conv.h. */
#include "models/predictors/roofline/conv.h"
#include "base/status.h"
#include "models/predictors/roofline/tiling.h"

#include <math.h>

/* ---- geometry ---- */

static bool is_power_of_two(double channels)
{
    return exp2(rint(log2(channels))) == channels;
}

/* The product of a phase. A gradient by data with a stride is as many products as there are residues of a
 * pixel by the stride, each with its share of the taps. */
static void set_product(struct rt_conv_shape *c)
{
    switch (c->phase) {
    case RT_BACKWARD:
        c->m = c->batch * ceil(c->pixels_in / c->stride) * fmin(c->stride, c->taps);
        c->n = c->outputs;
        c->k = c->inputs * ceil(c->taps / c->stride);
        break;
    case RT_ACCUMULATE:
        c->m = c->outputs;
        c->n = c->inputs * c->taps;
        c->k = c->batch * c->pixels_out;
        break;
    default:
        c->m = c->batch * c->pixels_out;
        c->n = c->outputs;
        c->k = c->inputs * c->taps;
    }
}

/* Channels and size of what comes out; by filter those of the layer. */
static void set_sides(struct rt_conv_shape *c, const int64_t *d)
{
    double in = (double)d[RT_CONV_IN] / c->groups, filters = (double)d[RT_CONV_OUT] / c->groups;
    bool by_data = c->phase == RT_BACKWARD;
    rt_conv_outputs(d, &c->height, &c->width);
    c->pixels_in = (double)d[RT_CONV_HEIGHT] * (double)d[RT_CONV_WIDTH];
    c->pixels_out = c->height * c->width;
    c->inputs = by_data ? filters : in;
    c->outputs = by_data ? in : filters;
    if (by_data) {
        c->height = (double)d[RT_CONV_HEIGHT];
        c->width = (double)d[RT_CONV_WIDTH];
    }
}

/* Channels last, kernels of groups are made for powers of two; what else there is changes the layout, as all
 * do that come channels first: RegNets of 24 to 232 channels a group take 0.9 to 1.1 of the time that they
 * take channels first, those of 8, 16, 64 and 128 0.7 to 0.8 (docs/log/vision.md). */
static bool has_kernel(const struct rt_conv_shape *c)
{
    bool depthwise = c->groups > 1 && c->inputs == 1 && c->outputs == 1; /* has kernels for either layout */
    return depthwise || (c->channels_last && (c->groups == 1 || is_power_of_two(c->inputs)));
}

/* A gradient by data writes all pixels, also those that a stride passes over. */
static void set_bytes(struct rt_conv_shape *c, const struct rt_call *call)
{
    double width = rt_dtypes[call->dtype].bytes, in = (double)call->dim[RT_CONV_IN],
           filters = (double)call->dim[RT_CONV_OUT];
    double images = width * c->batch * (in * c->pixels_in + filters * c->pixels_out);
    bool vector = call->dtype == RT_FP32 || call->dtype == RT_FP64;
    c->bytes =
        c->phase == RT_BACKWARD ? images + width * in * filters / c->groups * c->taps : rt_call_bytes(call);
    c->moved = vector || has_kernel(c) ? 0 : 2 * images;
}

void rt_conv_of(const struct rt_call *call, struct rt_conv_shape *out)
{
    const int64_t *d = call->dim;
    double stride_w = (double)rt_conv_stride_w(d);
    *out = (struct rt_conv_shape){.phase = (enum rt_phase)call->phase,
                                  .batch = (double)d[RT_CONV_BATCH],
                                  .groups = (double)d[RT_CONV_GROUPS],
                                  .kernel_h = (double)d[RT_CONV_KERNEL_H],
                                  .kernel_w = (double)d[RT_CONV_KERNEL_W],
                                  .taps = (double)d[RT_CONV_KERNEL_H] * (double)d[RT_CONV_KERNEL_W],
                                  .stride = (double)d[RT_CONV_STRIDE] * stride_w,
                                  .channels_last = d[RT_CONV_CHANNELS_LAST] == 1};
    out->dense = out->stride == 1 && d[RT_CONV_DILATION] == 1;
    set_sides(out, d);
    set_bytes(out, call);
    set_product(out);
}

/* ---- algorithms ---- */

/* Outputs of a block of cuDNN's implicit products ("scudnn_128x64"), and as a gradient by filter also smaller
 * ones. */
static const double tiles[][2] = {{128, 128}, {128, 64}, {128, 32}, {64, 64}, {32, 32}, {128, 16}};
enum { GROUPED_TILE = RT_COUNT(tiles) - 1 }; /* of groups alone */

/* A block begins with the first loads and ends with the stores, which take as long as so many steps of its
 * reduction. Chosen with the other constants of this file: docs/log/convolutions.md. */
static const double EDGE_STEPS = 8, FUSED_EDGE_STEPS = 16;

/* In blocks of one tile, the reduction in `splits` parts. */
static double tiled_us(const struct rt_conv_shape *c, const struct rt_rates *rates,
                       const struct rt_device *device, const double tile[2], double splits, double width)
{
    double blocks = c->groups * ceil(c->m / tile[0]) * ceil(c->n / tile[1]) * splits;
    double steps = 8 * ceil(ceil(c->k / splits) / 8) + EDGE_STEPS,
           reach = tile[0] * tile[1] / (tile[0] + tile[1]);
    double compute = rt_blocks_us(rates, blocks, 2 * tile[0] * tile[1] * steps * (reach + 8) / reach);
    double stream = ceil(blocks / rates->sms) * rt_stream_us(device, (tile[0] + tile[1]) * steps * width);
    double partial = splits > 1 ? 8 * splits * c->groups * c->m * c->n : 0;
    return fmax(compute, stream) + 1e6 * partial / rates->bandwidth;
}

/* Gradients by filter sum over all pixels of a batch, which is split; the others run whole. */
static double implicit_us(const struct rt_conv_shape *c, const struct rt_rates *rates,
                          const struct rt_device *device, enum rt_dtype dtype, double width)
{
    bool unseen = device->share_of.tiles;
    struct rt_rates library = unseen ? rt_library_rates(device, RT_FAMILY_CONV, dtype, 0) : *rates;
    double best = INFINITY, best_splits = 1, most = c->phase == RT_ACCUMULATE ? 64 : 1;
    const double *best_tile = tiles[0];
    for (size_t t = 0; t < (c->groups > 1 ? RT_COUNT(tiles) : GROUPED_TILE); t++)
        for (double splits = 1; splits <= most; splits *= 2) {
            double time = tiled_us(c, &library, device, tiles[t], splits, width);
            if (time < best * (unseen ? 1 - 1e-9 : 1)) { /* where the choice matters, not by rounding */
                best = time;
                best_tile = tiles[t];
                best_splits = splits;
            }
        }
    return unseen ? tiled_us(c, rates, device, best_tile, best_splits, width) : best;
}

/* A thread an output: it loads a pixel and a weight for every multiply-add, and a multiprocessor loads a
 * quarter of what it adds. In 16 bits it converts what it loads, too: 9.5 times what the FLOPs take at the
 * fp32 peak in depthwise convolutions of timm's networks on the RTX 3090 and 4090 (docs/log/vision.md), 1.4
 * of which are the head's. */
static double direct_us(const struct rt_conv_shape *c, const struct rt_device *device, double width)
{
    double flops = 2 * c->groups * c->m * c->n * c->k, loads = width < 4 ? c->channels_last ? 2.5 : 6.8 : 4;
    return 1e6 * loads * flops / rt_device_peak_flops(device, RT_FAMILY_CONV, RT_FP32);
}

/* cuDNN's depthwise kernels that load neighbouring channels at once are made for filters of these sides;
 * others are products whose channels are padded. */
static bool has_direct(const struct rt_conv_shape *c, double width)
{
    bool made = c->kernel_h == c->kernel_w && c->kernel_h <= 7 && fmod(c->kernel_h, 2) == 1;
    return c->groups > 1 && (made || width >= 4 || !c->channels_last || c->inputs > 1);
}

double rt_conv_grouped_memory_us(const struct rt_conv_shape *conv, enum rt_dtype dtype, double memory_us)
{
    bool vector = dtype == RT_FP32 || dtype == RT_FP64;
    double share = vector ? 1 : conv->inputs == 1 ? 0.6 : 0.73; /* of the bandwidth, likewise */
    return memory_us / share;
}

double rt_conv_layout_bytes(const struct rt_conv_shape *conv)
{
    double share = conv->groups > 1 ? 0.62 : conv->inputs <= 4 ? 0.33 : conv->taps == 1 ? 0.23 : 0.54;
    return share * conv->moved;
}

/* Images, rows and columns of Winograd's tiles that a block of cuDNN's one kernel takes, of 2 x 2 pixels each
 * ("winograd_128x128_ldg1_ldg4_relu_tile148t"), by 32 filters: the grids of NeuSight's corpus confirm it. */
static const double shapes[][3] = {{1, 4, 8}, {2, 4, 4}, {2, 2, 8}, {4, 2, 4}, {4, 1, 8}, {4, 4, 2}};
static const double FUSED_TILES = 32, FUSED_FILTERS = 32;

static double fused_blocks(const struct rt_conv_shape *c)
{
    double best = INFINITY;
    for (size_t s = 0; s < RT_COUNT(shapes); s++)
        best = fmin(best, ceil(c->batch / shapes[s][0]) * ceil(c->height / (2 * shapes[s][1])) *
                              ceil(c->width / (2 * shapes[s][2])));
    return best;
}

static bool is_winograd(const struct rt_conv_shape *c, double kernel)
{
    return c->dense && c->groups == 1 && c->kernel_h == kernel && c->kernel_w == kernel;
}

double rt_conv_tile_fill(const struct rt_conv_shape *conv)
{
    if (!is_winograd(conv, 3))
        return 1;
    return conv->batch * conv->height * conv->width / (fused_blocks(conv) * 4 * FUSED_TILES);
}

/* 16 products for 2 x 2 pixels, which direct sums give 36; pixels are read about twice, as tiles overlap. */
static double fused_us(const struct rt_conv_shape *c, const struct rt_rates *rates)
{
    if (!is_winograd(c, 3) || c->phase == RT_ACCUMULATE)
        return INFINITY;
    double blocks = fused_blocks(c) * ceil(c->outputs / FUSED_FILTERS);
    double block_flops = 2 * 16 * FUSED_TILES * FUSED_FILTERS * (c->inputs + FUSED_EDGE_STEPS);
    return fmax(rt_blocks_us(rates, blocks, block_flops), 1e6 * 2 * c->bytes / rates->bandwidth);
}

/* Tiles of 6 x 6: outputs of 4 x 4 with a kernel of 3 x 3, of 2 x 2 with 5 x 5; by filter the gradient's
 * tiles likewise. Transforms of pixels, of filters and back write and read every point of every tile and
 * channel; between them are as many products. */
static double nonfused_us(const struct rt_conv_shape *c, const struct rt_rates *rates)
{
    const double points = 36, side = 7 - c->kernel_h;
    if (!is_winograd(c, 3) && !is_winograd(c, 5))
        return INFINITY;
    struct rt_tiling tiling;
    bool by_filter = c->phase == RT_ACCUMULATE;
    double count = c->batch * ceil(c->height / side) * ceil(c->width / side),
           n = by_filter ? c->inputs : c->outputs;
    double m = by_filter ? c->outputs : count, k = by_filter ? count : c->inputs;
    rt_tiling_product(points, m, n, k, 0, rates, NULL, 0, &tiling);
    double moved = 2 * 4 * points * (m * k + k * n + m * n) + c->bytes;
    return tiling.compute_us + 1e6 * moved / rates->bandwidth;
}

/* Matrix units take channels in vectors: of 16 bytes, half of that for the first layer of images, 16 channels
 * of a group. A library pads what it is given (fitted to runs of vision models: docs/log/vision.md). */
static double padded(const struct rt_conv_shape *c, double channels, double width)
{
    double vector = c->groups > 1 && channels > 1 ? 16 : 16 / width;
    return channels * width <= 8 && c->groups == 1 ? 8 / width : vector * ceil(channels / vector);
}

static void pad_channels(struct rt_conv_shape *c, double width)
{
    c->inputs = padded(c, c->inputs, width);
    c->outputs = padded(c, c->outputs, width);
    set_product(c);
}

bool rt_conv_only_product(const struct rt_device *device, enum rt_dtype dtype)
{
    const struct rt_design *design = rt_design_of(device);
    bool matrix = rt_device_has_matrix_units(device, dtype), narrow = rt_dtypes[dtype].bytes < 4;
    return matrix ? design->rates.tf32 > 0 : narrow && design->rates.fp16_vector < 2 * design->lanes;
}

void rt_conv_times_of(const struct rt_conv_shape *conv, const struct rt_device *device, enum rt_dtype dtype,
                      double bandwidth, struct rt_conv_times *out)
{
    double width = rt_dtypes[dtype].bytes;
    bool matrix = rt_device_has_matrix_units(device, dtype);
    bool product = rt_conv_only_product(device, dtype);
    struct rt_rates rates = rt_rates_of(device, RT_FAMILY_CONV, dtype);
    enum rt_dtype lanes = matrix || dtype == RT_TF32 ? RT_FP32 : dtype; /* transforms run there */
    struct rt_rates vector = rt_rates_of(device, RT_FAMILY_ELEMENTWISE, lanes);
    struct rt_conv_shape shape = *conv;
    rates.bandwidth = vector.bandwidth = bandwidth;
    if (matrix && width < 4)
        pad_channels(&shape, width);
    out->implicit = implicit_us(&shape, &rates, device, dtype, width);
    if (has_direct(conv, width))
        out->implicit = fmin(out->implicit, direct_us(conv, device, width));
    out->fused = product ? INFINITY : fused_us(conv, &vector);
    out->nonfused = product ? INFINITY : nonfused_us(conv, &vector);
    out->fastest = fmin(out->implicit, fmin(out->fused, out->nonfused));
}
