/* Tiles, waves and the roofline. See tile.h. */
#include "models/predictors/roofline/tile.h"
#include "base/units.h"
#include "models/predictors/roofline/link.h"
#include "models/predictors/roofline/board.h"

#include <math.h>
#include <string.h>

/* The published code counts a kernel's bytes in GiB and the bandwidth in GB/s, which raises the memory roof
 * by this factor. Kept here, because NeuSight's networks learn the utilisation relative to it. */
static const double GIB_PER_GB = RT_GIB / 1e9;

void rt_query_init(struct rt_query *query, const struct rt_call *call)
{
    memset(query, 0, sizeof *query);
    query->call = *call;
    if (!rt_op_has_phases(call->op))
        query->call.phase = RT_FORWARD;
    query->tile[0] = query->tile[1] = -1;
}

double rt_query_flops(const struct rt_query *query)
{
    return query->flops > 0 ? query->flops : rt_ops[query->call.op].flops(query->call.dim);
}

double rt_query_bytes(const struct rt_query *query)
{
    return query->bytes > 0
               ? query->bytes
               : rt_ops[query->call.op].bytes(query->call.dim, rt_dtypes[query->call.dtype].bytes);
}

double rt_query_traffic(const struct rt_query *query)
{
    return rt_query_bytes(query) + query->reread_bytes;
}

static double round_up(double value, double multiple)
{
    return ceil(value / multiple) * multiple;
}

/* NeuSight: a tile is (tm x k) (k x tn); the intensity counts the padded product against unpadded operands.
 */
static void launch_product(struct rt_tiled_call *launch, double batch, double m, double n, double k,
                           double tm, double tn, double width)
{
    launch->tiles = batch * ceil(m / tm) * ceil(n / tn);
    launch->tile_flops = 2 * tm * tn * k;
    launch->tile_bytes = width * (tm * k + k * tn + tm * tn);
    launch->intensity = 2 * round_up(m, tm) * round_up(n, tn) * k / (width * (m * k + k * n + m * n));
}

/* NeuSight: a tile is a run of elements of a row; rows never share a tile. */
static void launch_vector(struct rt_tiled_call *launch, const struct rt_query *query, double elements)
{
    double rows = (double)query->call.dim[0], cols = (double)query->call.dim[1];
    double flops = rt_query_flops(query) / (rows * cols), bytes = rt_query_traffic(query) / (rows * cols);
    launch->tiles = rows * ceil(cols / elements);
    launch->tile_flops = flops * elements;
    launch->tile_bytes = bytes * elements;
    launch->intensity = flops * round_up(cols, elements) / (bytes * cols);
}

bool rt_tiled_call_init(struct rt_tiled_call *launch, const struct rt_query *query, const int32_t tile[2],
                        const struct rt_device *device)
{
    int64_t batch, m, n, k;
    double width = rt_dtypes[query->call.dtype].bytes;
    if (rt_call_product(&query->call, &batch, &m, &n, &k)) {
        if (tile[0] < 1 || tile[1] < 1)
            return false;
        launch_product(launch, batch, m, n, k, tile[0], tile[1], width);
    } else if (rt_family_vector(rt_call_family(&query->call)) && tile[0] >= 1) {
        launch_vector(launch, query, tile[0]);
    } else {
        return false;
    }
    launch->device = device;
    launch->waves = ceil(launch->tiles / device->sms);
    launch->peak_flops = rt_device_peak_flops(device, rt_call_family(&query->call), query->call.dtype);
    launch->bandwidth = 1e9 * device->bandwidth_gbs;
    if (isnan(launch->peak_flops))
        return false; /* fmin would drop it */
    double roof = fmin(launch->peak_flops, launch->intensity * GIB_PER_GB * launch->bandwidth);
    launch->bound_us = 1e6 * launch->waves * launch->tile_flops * device->sms / roof;
    return isfinite(launch->bound_us) && launch->bound_us > 0;
}

/* Operands of products that are small beside the L2 are still there from the run before, so that this share
 * of their traffic takes no memory bandwidth: all of it up to an eighth of the L2, none from a quarter.
 * Between two runs other operands pass through the L2, in a model as in AIConfigurator's corpus, where the
 * L40S' matrices of 11 MB are read at 1,150 GB/s and those of 16 MB at 660, with an L2 of 96. Chosen under
 * leave-one-GPU-out: docs/log/predictor.md. */
static const double L2_FULL = 0.125, L2_NONE = 0.25;
/* What a kernel takes beside its work: launch, first loads, last stores. The smallest bf16 products of
 * AIConfigurator's corpus take 2.1 to 4.1 us, which is 5,090 to 5,780 cycles of the boost clock on each of
 * A100, L40S, H100 and H200; the smallest additions of Vidur's (CUPTI, to 1 us) 1 to 2 us on A40, A100 and
 * H100. */
static const double PRODUCT_START_CYCLES = 5000, VECTOR_START_CYCLES = 3000;
/* cuBLAS' on 10.x, of one half of the shapes by a hash: 3,670 of a B200, where H100's are 5,120 (k of 32 and
 * up to 64 rows; the other half says the same). Other libraries' narrow products start no sooner there, nor
 * do batches of them: with it bmm of a B200 left out goes from 14 to 28% off. */
static const double TENSOR_MEMORY_START_CYCLES = 3600;
/* A product whose reduction is split starts a second kernel, or waits for its last block. */
static const double SPLIT_CYCLES = 4000;

/* Cycles by family: attention and experts have theirs in tiling.c. */
static double start_us(const struct rt_tiled_call *launch)
{
    const struct rt_call *call = &launch->query->call;
    bool tensor_memory = rt_design_of(launch->device)->units == RT_MATRIX_TENSOR_MEMORY,
         by_cublas = rt_call_family(call) == RT_FAMILY_LINEAR && call->dtype != RT_FP32 &&
                     call->dtype != RT_FP64 && rt_dtypes[call->dtype].input_bytes >= 2;
    double product = tensor_memory && by_cublas ? TENSOR_MEMORY_START_CYCLES : PRODUCT_START_CYCLES;
    return rt_cycles_us(launch->device,
                        rt_family_vector(rt_call_family(call)) ? VECTOR_START_CYCLES : product);
}

static double hit_share(const struct rt_tiled_call *launch)
{
    double taken = launch->bytes / (launch->device->l2_mib * RT_MIB);
    return fmax(0, fmin(1, (L2_NONE - taken) / (L2_NONE - L2_FULL)));
}

/* Rows and columns of the smallest tile of matrix units (mma.m16n8k16, either way round): fewer take as long
 * as these, and what libraries do with fewer is no step of speed. Over the 16-bit products of
 * AIConfigurator's A100, L40S, H100 and H200 16 rows take 1.02 to 1.07 times one (medians). */
static const int64_t LEAST_SIDE = 16;

/* A linear layer's product as networks see it, so that of fewer rows only the times change, which fall: a
 * step of a model at batch 1 takes no longer than at 2, up to LEAST_SIDE. Of other calls the call. */
static void pad_sides(struct rt_query *query)
{
    const struct rt_op *op = &rt_ops[query->call.op];
    for (int d = 0; op->family == RT_FAMILY_LINEAR && op->dims[d] != NULL; d++)
        if ((strcmp(op->dims[d], "m") == 0 || strcmp(op->dims[d], "n") == 0) &&
            query->call.dim[d] < LEAST_SIDE)
            query->call.dim[d] = LEAST_SIDE;
}

static double own_intensity(const struct rt_query *query)
{
    const struct rt_op *op = &rt_ops[query->call.op];
    return op->flops(query->call.dim) / op->bytes(query->call.dim, rt_dtypes[query->call.dtype].bytes);
}

/* What networks see of a product, and whether it is one. A step gives FLOPs and bytes, those of the call as
 * it is: of a padded one they grow as its own do. */
static bool see_product(struct rt_tiled_call *launch)
{
    struct rt_query seen = *launch->query;
    int64_t batch, m, n, k;
    pad_sides(&seen);
    launch->intensity = rt_query_flops(&seen) / rt_query_bytes(&seen);
    if (memcmp(&seen.call, &launch->query->call, sizeof seen.call) != 0 && (seen.flops > 0 || seen.bytes > 0))
        launch->intensity *= own_intensity(&seen) / own_intensity(launch->query);
    if (!rt_call_product(&seen.call, &batch, &m, &n, &k))
        return false;
    launch->batch = (double)batch;
    launch->m = (double)m;
    launch->n = (double)n;
    launch->k = (double)k;
    return true;
}

/* A convolution as networks see it: the product that it is, and what its phase moves. */
static void see_conv(struct rt_tiled_call *launch)
{
    const struct rt_call *call = &launch->query->call;
    rt_conv_of(call, &launch->conv);
    if (launch->query->bytes == 0)
        launch->bytes = launch->conv.bytes + launch->query->reread_bytes;
    launch->intensity = rt_query_flops(launch->query) / launch->conv.bytes;
    launch->batch = launch->conv.groups;
    launch->m = launch->conv.m;
    launch->n = launch->conv.n;
    launch->k = launch->conv.k;
}

/* The fastest tiling of a product, and its library. */
static void tile_product(struct rt_tiled_call *launch, double batch, double m, double n, double k)
{
    const struct rt_call *call = &launch->query->call;
    enum rt_family family = rt_call_family(call);
    bool unseen = launch->device->share_of.tiles;
    struct rt_rates rates = rt_rates_of(launch->device, family, call->dtype), library;
    rates.bandwidth = launch->bandwidth;
    if (unseen)
        library = rt_library_rates(launch->device, family, call->dtype, hit_share(launch));
    rt_tiling_product(batch, m, n, k, launch->bytes, &rates, unseen ? &library : NULL,
                      rt_cycles_us(launch->device, SPLIT_CYCLES), &launch->tiling);
    if (family == RT_FAMILY_LINEAR)
        rt_product_kernels_of(call->dtype, launch->m, launch->n, launch->k, launch->query->server,
                              launch->device, &launch->kernels);
}

static double l2_cost(const struct rt_tiled_call *launch)
{
    bool product = rt_families[rt_call_family(&launch->query->call)].product;
    return product ? rt_product_l2_cost(launch->device) : rt_l2_cost(launch->device);
}

/* Tiling by the family; launch->bytes grows by what a row op reads again from memory. */
static void tile_whole(struct rt_tiled_call *launch)
{
    const struct rt_query *query = launch->query;
    enum rt_family family = rt_call_family(&query->call);
    int64_t batch, m, n, k;
    if (family == RT_FAMILY_CONV)
        see_conv(launch);
    if (!rt_family_vector(family))
        launch->bandwidth /= 1 - (1 - l2_cost(launch)) * hit_share(launch);
    if (family == RT_FAMILY_CONV) {
        rt_conv_times_of(&launch->conv, launch->device, (enum rt_dtype)query->call.dtype, launch->bandwidth,
                         &launch->conv_times);
    } else if (see_product(launch) && rt_call_product(&query->call, &batch, &m, &n, &k)) {
        tile_product(launch, (double)batch, (double)m, (double)n, (double)k);
    } else if (rt_family_vector(rt_call_family(&query->call))) {
        launch->rows = (double)query->call.dim[0];
        launch->cols = (double)query->call.dim[1];
    }
    if (!rt_families[family].row_wise)
        return;
    rt_tiling_rows(launch->device, family == RT_FAMILY_LAYERNORM, launch->rows, launch->cols,
                   rt_dtypes[query->call.dtype].bytes, &launch->row_tiling);
    launch->bytes *= 1 + launch->row_tiling.rereads * rt_row_tiling_misses(&launch->row_tiling);
}

bool rt_tiled_call_init_whole(struct rt_tiled_call *launch, const struct rt_query *query,
                              const struct rt_device *device)
{
    *launch = (struct rt_tiled_call){.device = device, .query = query, .waves = 1};
    launch->peak_flops = rt_sustained_flops(device, rt_call_family(&query->call), query->call.dtype);
    launch->bandwidth = 1e9 * device->bandwidth_gbs;
    launch->flops = rt_query_flops(query);
    launch->bytes = rt_query_traffic(query);
    if (isnan(launch->peak_flops))
        return false;
    tile_whole(launch);
    launch->compute_us = 1e6 * launch->flops / launch->peak_flops;
    launch->memory_us = 1e6 * launch->bytes / launch->bandwidth;
    launch->start_us = start_us(launch) + (query->narrow_input ? 0 : launch->kernels.quantise_us);
    launch->bound_us = launch->start_us + fmax(launch->compute_us, launch->memory_us);
    if (launch->conv_times.fastest > 0)
        launch->bound_us = launch->start_us + fmax(launch->conv_times.fastest, launch->memory_us);
    return isfinite(launch->bound_us) && launch->bound_us > 0;
}

bool rt_tiled_call_init_walk(struct rt_tiled_call *launch, const struct rt_query *query,
                             const struct rt_device *device)
{
    if (!rt_tiled_call_init_whole(launch, query, device))
        return false;
    enum rt_op_id op = query->call.op;
    if (!rt_ops[op].block_a_row && rt_call_family(&query->call) != RT_FAMILY_LAYERNORM)
        return true;
    launch->walk =
        rt_row_walk_of(device, op, query->scalar_loads, launch->cols, rt_dtypes[query->call.dtype].bytes);
    launch->walk_us = rt_row_walk_us(device, &launch->walk, launch->rows);
    return true;
}

bool rt_tiled_call_init_tiling(struct rt_tiled_call *launch, const struct rt_query *query,
                               const struct rt_device *device)
{
    if (!rt_tiled_call_init_whole(launch, query, device))
        return false;
    enum rt_family family = rt_call_family(&query->call);
    const struct rt_tiling_time *fused = rt_families[family].attention   ? &launch->attention.fused
                                         : family == RT_FAMILY_RECURRENT ? &launch->recurrent.fused
                                                                         : &launch->experts.fused;
    if (family == RT_FAMILY_ATTENTION)
        rt_tiling_attention(query->call.op, query->call.dtype, query->call.dim, query->server, device,
                            &launch->attention);
    else if (family == RT_FAMILY_LATENT)
        rt_tiling_latent(query->call.op, query->call.dtype, query->call.dim, query->server, device,
                         &launch->attention);
    else if (family == RT_FAMILY_MOE)
        rt_tiling_experts(query->call.dtype, query->call.dim, query->server, device, &launch->experts);
    else if (family == RT_FAMILY_RECURRENT)
        rt_tiling_recurrent(query->call.op, query->call.dtype, query->call.dim, query->server, device,
                            &launch->recurrent);
    else
        return true;
    launch->start_us = fused->start_us + fused->blocks_us;
    launch->compute_us = fused->compute_us;
    launch->memory_us = fused->memory_us;
    launch->bound_us = fused->time_us;
    return isfinite(launch->bound_us) && launch->bound_us > 0;
}

/* FLOP per byte at which measured GPUs go from memory to compute: geometric means of the peaks over
 * bandwidths of NeuSight's in fp32 and AIConfigurator's in bf16. A constant, so that what a device effect
 * adds is the same on any device. */
static const double VECTOR_RIDGE = 18, MATRIX_RIDGE = 250;

double rt_tiled_call_compute_share(const struct rt_tiled_call *launch)
{
    enum rt_dtype dtype = launch->query->call.dtype;
    bool vector =
        !rt_families[rt_call_family(&launch->query->call)].tensor || dtype == RT_FP32 || dtype == RT_FP64;
    return 1 / (1 + exp(-2 * log2(launch->intensity / (vector ? VECTOR_RIDGE : MATRIX_RIDGE))));
}

double rt_tiled_call_depth_share(const struct rt_tiled_call *launch)
{
    double depth = launch->k > 0 ? (log2(launch->k) - 12.5) / 2.5 : 0;
    return depth > 0 ? rt_tiled_call_compute_share(launch) * fmin(depth, 1) : 0;
}

double rt_tiled_call_narrow_share(const struct rt_tiled_call *launch)
{
    double narrow = launch->k > 0 ? log2(128 / fmin(launch->m, launch->n)) : 0;
    return narrow > 0 ? rt_tiled_call_compute_share(launch) * fmin(narrow, 1) : 0;
}

double rt_roofline_us(const struct rt_query *query, const struct rt_device *device)
{
    const struct rt_op *op = &rt_ops[query->call.op];
    double bytes = rt_query_traffic(query);
    if (rt_families[op->family].link)
        return rt_link_bound_us(&query->call, device);
    double peak = rt_device_peak_flops(device, op->family, query->call.dtype);
    if (isnan(peak) || rt_families[op->family].host)
        return NAN; /* fmax would drop it */
    return 1e6 * fmax(rt_query_flops(query) / peak, bytes / (1e9 * device->bandwidth_gbs));
}

/* ---- times ---- */

/* Matrix units take fewer rows, or columns: a library has smaller tiles for those. Of 16 at least
 * (mma.m16n8k16, either way round). */
static double fitting_tile(const struct rt_tiled_call *launch, double tile, double side)
{
    enum rt_dtype dtype = launch->query->call.dtype;
    while (dtype != RT_FP32 && dtype != RT_FP64 && tile / 2 >= side && tile > (double)LEAST_SIDE)
        tile /= 2;
    return tile;
}

/* A product in tiles of one size. */
static double tiled_us(const struct rt_tiled_call *launch, const struct rt_rates *rates, double tile_m,
                       double tile_n)
{
    tile_m = fitting_tile(launch, tile_m, launch->m);
    tile_n = fitting_tile(launch, tile_n, launch->n);
    double blocks = launch->batch * ceil(launch->m / tile_m) * ceil(launch->n / tile_n);
    return rt_blocks_us(rates, blocks, 2 * tile_m * tile_n * launch->k);
}

/* fp32 since Hopper: cuBLAS keeps to blocks of 256 x 128, one a multiprocessor, where a product has so many
 * rows and columns and fills all multiprocessors; else it has smaller ones. So counted, products of
 * KernelBench's even problems reach 39.7 to 41.5 TFLOP/s on an H100, 30 to 37 without; the odd ones judge it
 * (docs/log/vision.md). */
static double largest_tile_us(const struct rt_tiled_call *launch, const struct rt_rates *rates)
{
    const double rows = 256, cols = 128;
    double m = fmax(launch->m, launch->n), n = fmin(launch->m, launch->n);
    double blocks = launch->batch * ceil(m / rows) * ceil(n / cols);
    bool known = launch->query->call.dtype == RT_FP32 && rt_design_asynchronous(rt_design_of(launch->device));
    return known && m >= rows && n >= cols && blocks >= rates->sms
               ? rt_blocks_us(rates, blocks, 2 * rows * cols * launch->k)
               : 0;
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

/* In 16 bits PyTorch converts and computes in fp32: GELU issues some 40 instructions an element, of 128 a
 * cycle, for which A100 and H100 wait rather than for memory (Vidur: 0.65 and 0.71 of the bandwidth, an A40
 * 0.83). */
static double instructions_us(const struct rt_tiled_call *launch)
{
    const struct rt_call *call = &launch->query->call;
    double cycles = rt_dtypes[call->dtype].bytes == 2 ? rt_ops[call->op].cycles : 0;
    return rt_cycles_us(launch->device, cycles * launch->rows * launch->cols / launch->device->sms);
}

/* Waits for pages of a linear layer's operands, whose rows lie along k: a tile of 128 x 128 walks down 256 of
 * them at once, each of which asks for a page with every 32 bytes. Half of what is asked misses the pages
 * that a multiprocessor knows with rows of 54 kB, half of this those that all share with operands of 270 MB,
 * of shorter rows more. Fitted to a half of NeuSight's P100, judged by newer GPUs: docs/log/next-gpu.md. */
static double pages_us(const struct rt_tiled_call *launch)
{
    const double tile = 128, sector = 32, long_row = 54e3, large = 270e6;
    const struct rt_call *call = &launch->query->call;
    double found = rt_design_of(launch->device)->page_rows;
    if (!(found > 0) || rt_call_family(call) != RT_FAMILY_LINEAR || call->phase != RT_FORWARD)
        return 0;
    double m = launch->m, n = launch->n, row = launch->k * rt_dtypes[call->dtype].bytes;
    double shorter = long_row / row, smaller = large / (launch->batch * (m + n) * row);
    double asked = launch->batch * (m * ceil(n / tile) + n * ceil(m / tile)) * row / sector;
    double missed = asked / (1 + pow(shorter, 2)) / (1 + pow(shorter * smaller, 2));
    return rt_cycles_us(launch->device, missed / found);
}

static void set_compute(const struct rt_tiled_call *launch, const struct rt_rates *rates,
                        double compute_us[RT_COMPUTE_TIMES])
{
    compute_us[0] =
        fmax(fmax(launch->walk_us, instructions_us(launch)), 1e6 * launch->flops / rates->sustained_flops);
    if (launch->attention.gain > 0)
        compute_us[0] *= launch->attention.gain;
    if (launch->conv_times.implicit > 0) {
        set_conv(launch, compute_us);
    } else if (launch->kernels.quantised) {
        double unsplit = unsplit_us(launch, rates);
        for (int i = 1; i < RT_COMPUTE_TIMES; i++)
            compute_us[i] = unsplit;
    } else if (launch->k > 0) {
        compute_us[1] = tiled_us(launch, rates, 128, 128);
        compute_us[2] = tiled_us(launch, rates, 128, 64);
        compute_us[3] = tiled_us(launch, rates, 64, 64);
        compute_us[4] = launch->tiling.time_us;
        double least_us = largest_tile_us(launch, rates), waits_us = pages_us(launch);
        for (int i = 0; i < RT_COMPUTE_TIMES; i++)
            compute_us[i] = fmax(compute_us[i], least_us) + waits_us;
    } else if (launch->rows == 0) {
        compute_us[0] = fmax(compute_us[0], launch->experts.wait_us);
        compute_us[1] = launch->compute_us; /* of the tiling */
    }
}

/* Share of its bytes that a vector op finds in the L2 in a step: what the kernel before wrote last, or what
 * it writes itself and leaves there, up to a quarter of the L2. Weights and other operands have passed
 * through the rest, as with products (L2_NONE). */
static double left_in_l2(const struct rt_device *device, double bytes)
{
    double left = L2_NONE * device->l2_mib * RT_MIB / bytes;
    return left / pow(1 + pow(left, 4), 0.25);
}

/* Rows that lie in the L2 miss nothing when they are read again. */
static double through_l2_us(const struct rt_tiled_call *launch, double hits)
{
    return rt_vector_memory_us(launch->device, (1 - hits) * launch->bytes,
                               hits * rt_query_traffic(launch->query));
}

/* Run over and over, as it is measured alone, and in a step. */
static void set_vector_memory(const struct rt_tiled_call *launch, double memory_us[RT_MEMORY_TIMES])
{
    double bytes = rt_query_traffic(launch->query);
    memory_us[0] = through_l2_us(launch, rt_l2_hits(launch->device, bytes));
    memory_us[1] = through_l2_us(launch, left_in_l2(launch->device, bytes));
}

static void set_memory(const struct rt_tiled_call *launch, double memory_us[RT_MEMORY_TIMES])
{
    memory_us[0] = launch->memory_us;
    if (launch->rows > 0)
        set_vector_memory(launch, memory_us);
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
    out[0] = log(time_us[0]);
    for (int i = 1; i < count; i++)
        out[i] = time_us[i] > 0 ? log(time_us[i]) : out[0];
}

/* Is it a convolution that a library runs as the product alone? */
static bool is_only_product(const struct rt_tiled_call *launch)
{
    return launch->conv_times.implicit > 0 &&
           rt_conv_only_product(launch->device, (enum rt_dtype)launch->query->call.dtype);
}

/* What no algorithm can do without: transforms save a convolution multiplications. */
static double least_flops(const struct rt_tiled_call *launch)
{
    double flops = rt_call_flops(&launch->query->call);
    return flops > 0 && !is_only_product(launch)
               ? launch->flops * rt_call_least_flops(&launch->query->call) / flops
               : launch->flops;
}

void rt_tiled_call_times(const struct rt_tiled_call *launch, struct rt_times *out)
{
    const struct rt_call *call = &launch->query->call;
    struct rt_rates rates = rt_rates_of(launch->device, rt_call_family(call), call->dtype);
    double compute_us[RT_COMPUTE_TIMES] = {0}, memory_us[RT_MEMORY_TIMES] = {0};
    set_compute(launch, &rates, compute_us);
    set_memory(launch, memory_us);
    set_logarithms(compute_us, RT_COMPUTE_TIMES, out->ln_compute);
    set_logarithms(memory_us, RT_MEMORY_TIMES, out->ln_memory);
    out->start_us = launch->start_us;
    double bytes =
        fmax(rt_l2_least_cost(launch->device) * rt_query_bytes(launch->query), launch->query->cold_bytes);
    double peak = rt_device_peak_flops(launch->device, rt_call_family(call), call->dtype);
    if (is_only_product(launch)) /* boards for games exceed their sheets (board.c) */
        peak = fmax(peak, rates.peak_flops);
    out->least_us = fmax(1e6 * least_flops(launch) / peak, 1e6 * bytes / rates.bandwidth);
    out->host_us = launch->query->queued ? 0 : launch->kernels.host_us;
}
