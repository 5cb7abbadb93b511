/* Tiling of attention and experts. See tiling_fused.h. */
#include "models/predictors/roofline/tiling_fused.h"
#include "models/predictors/roofline/tiling.h"

#include <math.h>

/* Share of the peak bandwidth that large copies reach, by kind of memory (board.h, from NeuSight's
 * elementwise kernels): GDDR 0.74 to 0.75, HBM2 and later 0.87 to 0.91, the first HBM2 and CDNA 0.74 to 0.78.
 */
static const double sustained[RT_MEMORY_KINDS] = {
    [RT_MEMORY_GDDR] = 0.75, [RT_MEMORY_HBM] = 0.9, [RT_MEMORY_HBM_OTHER] = 0.76};

/* Cycles until the first block of an attention kernel computes and after its last: what the shortest take,
 * 7 to 11 us at 2.5 to 1.4 GHz. */
static const double START_CYCLES = 16e3;
/* Of a wave of blocks beside its products: 16,384 blocks of decoding with one key each take 414, 428 and 519
 * us on 132, 142 and 108 multiprocessors. */
static const double BLOCK_US = 3.4;

/* What these kernels get from the L2: 12 bytes in a cycle of each multiprocessor, which is no more than HBM
 * gives. Chosen under leave-one-GPU-out: docs/log/attention-and-experts.md. */
static const double L2_CYCLE_BYTES = 12;

/* Bytes in a second; `held`: bytes between two uses of the same ones, which the L2 has to hold to serve the
 * second. */
static double bandwidth(const struct rt_device *device, double held, double *hit)
{
    double memory = 1e9 * device->bandwidth_gbs, sustains = sustained[rt_memory_kind_of(device)] * memory;
    double l2 =
        fmin(memory / rt_l2_cost(device), 1e6 * L2_CYCLE_BYTES * device->sms / rt_cycles_us(device, 1));
    *hit = rt_l2_hits(device, held);
    return sustains * (1 - *hit) + fmax(sustains, l2) * *hit;
}

static void add_memory(const struct rt_device *device, double bytes, double held, struct rt_tiling_time *time)
{
    time->memory_us += 1e6 * bytes / bandwidth(device, held, &time->l2_hit);
}

static void set_time(struct rt_tiling_time *time)
{
    time->time_us = time->start_us + time->blocks_us + fmax(time->compute_us, time->memory_us);
}

/* ---- attention ---- */

struct attention {
    bool encoder, decodes;
    double batch, tokens, cached, heads, kv_heads, head_dim,
        window;             /* window: infinite where there is none */
    double width, kv_width; /* bytes */
};

static void read_attention(enum rt_op_id op, enum rt_dtype dtype, const int64_t *d, struct attention *a)
{
    double width = rt_dtypes[dtype].bytes;
    *a = (struct attention){.batch = (double)d[RT_ATTENTION_BATCH],
                            .tokens = (double)d[RT_ATTENTION_TOKENS],
                            .window = INFINITY,
                            .width = width,
                            .kv_width = width};
    if (op == RT_OP_ATTENTION_ENCODER) {
        a->encoder = true;
        a->heads = a->kv_heads = (double)d[RT_ENCODER_HEADS];
        a->head_dim = (double)d[RT_ENCODER_HEAD_DIM];
        return;
    }
    a->cached = (double)d[RT_ATTENTION_CACHED];
    a->heads = (double)d[RT_ATTENTION_HEADS];
    a->kv_heads = (double)d[RT_ATTENTION_KV_HEADS];
    a->head_dim = (double)d[RT_ATTENTION_HEAD_DIM];
    if (d[RT_ATTENTION_WINDOW] > 0)
        a->window = (double)d[RT_ATTENTION_WINDOW];
    if (d[RT_ATTENTION_KV_BITS] > 0)
        a->kv_width = (double)d[RT_ATTENTION_KV_BITS] / 8;
    a->decodes = op == RT_OP_ATTENTION_GENERATION || a->tokens == 1;
}

/* Tiles of keys that rows [first, last) of the queries of one head see. */
static double tiles_seen(const struct attention *a, double first, double last, double tile)
{
    if (a->encoder)
        return ceil(a->tokens / tile);
    double end = a->cached + fmin(ceil(last), a->tokens);
    double begin = fmax(0, a->cached + floor(first) + 1 - a->window);
    return ceil(end / tile) - floor(begin / tile);
}

/* The mean and the largest count of key tiles over the blocks of a head; over a sample of thousands of
 * blocks. */
static void count_tiles(const struct attention *a, const struct rt_attention_tiling *tiling, double *mean,
                        double *longest)
{
    const double most = 256;
    double count = ceil(tiling->rows / tiling->tile_rows), step = fmax(1, count / most), sum = 0, looked = 0;
    double tokens = tiling->tile_rows * a->tokens / tiling->rows; /* of a block */
    *longest = tiles_seen(a, (count - 1) * tokens, count * tokens, tiling->tile_keys);
    for (double i = 0; i < count; i += step) {
        double seen = tiles_seen(a, floor(i) * tokens, (floor(i) + 1) * tokens, tiling->tile_keys);
        sum += seen;
        looked++;
        *longest = fmax(*longest, seen);
    }
    *mean = sum / looked;
}

/* FlashAttention's kernels (Dao 2023, sections 3.2 and 3.3; Shah et al. 2024 since Hopper): a block takes 128
 * rows of queries, 64 while decoding, over tiles of 128 keys, 64 where heads are wider than 128. Query heads
 * that share keys share a block: always since Hopper and in FlashInfer (Ye et al. 2025), which serves 8-bit
 * keys where FlashAttention-2 does not; in FlashAttention-2 for single tokens without a window. Keys are
 * split over blocks while decoding (Dao et al. 2023, Flash-Decoding) wherever heads are packed;
 * FlashAttention-2 packs, and splits, only where there is something to pack. */
static void choose_kernel(const struct attention *a, const struct rt_device *device,
                          struct rt_attention_tiling *tiling)
{
    bool asynchronous = rt_design_asynchronous(rt_design_of(device)), narrow_keys = a->kv_width < a->width;
    double group = a->heads / a->kv_heads;
    bool modern = asynchronous || narrow_keys;
    tiling->packed = !a->encoder && (modern || (a->tokens == 1 && isinf(a->window)));
    tiling->split = a->decodes && tiling->packed && (modern || group > 1);
    tiling->narrow = asynchronous && narrow_keys;
    tiling->rows = tiling->packed ? a->tokens * group : a->tokens;
    tiling->heads = a->batch * (tiling->packed ? a->kv_heads : a->heads);
    tiling->tile_rows = a->decodes ? 64 : 128;
    tiling->tile_keys = a->head_dim <= 128 ? 128 : 64;
}

void rt_tiling_attention(enum rt_op_id op, enum rt_dtype dtype, const int64_t *dim,
                         const struct rt_device *device, struct rt_attention_tiling *out)
{
    struct attention a;
    struct rt_attention_tiling tiling = {.splits = 1};
    struct rt_rates rates = rt_rates_of(device, RT_FAMILY_ATTENTION, dtype);
    double mean, longest, sms = device->sms;
    read_attention(op, dtype, dim, &a);
    choose_kernel(&a, device, &tiling);
    count_tiles(&a, &tiling, &mean, &longest);
    double blocks = tiling.heads * ceil(tiling.rows / tiling.tile_rows);
    if (tiling.split && blocks < 0.8 * sms) /* FlashAttention's num_splits_heuristic fills the device */
        tiling.splits = fmax(1, fmin(floor(sms / blocks), fmin(128, longest)));
    double tile_flops = 4 * tiling.tile_rows * tiling.tile_keys * a.head_dim;
    double whole_flops = blocks * mean * tile_flops;
    tiling.padding = whole_flops / rt_ops[op].flops(dim);
    mean = tiling.splits > 1 ? ceil(mean / tiling.splits) : mean;
    tiling.longest = longest;
    tiling.tiles = ceil(longest / tiling.splits);
    tiling.blocks = blocks * tiling.splits;
    tiling.waves = ceil(tiling.blocks / sms);
    /* Short blocks fill in for long ones, so waves are of the mean; none ends before the longest. */
    /* Split or not, as many FLOPs are within the board's power. */
    tiling.fused.compute_us = fmax(1e6 * whole_flops / rates.sustained_flops,
                                   fmax(tiling.tiles, mean * tiling.waves) * rt_wave_us(&rates, tile_flops));
    tiling.fused.start_us = rt_cycles_us(device, START_CYCLES);
    tiling.fused.blocks_us = BLOCK_US * tiling.waves;
    double bytes = rt_ops[op].bytes(dim, a.width);
    add_memory(device, bytes, bytes, &tiling.fused);
    set_time(&tiling.fused);
    *out = tiling;
}

/* ---- experts ---- */

/* Kernels of a layer: count and sort the routed tokens, quantise or permute them, multiply by gate and up,
 * activate, multiply by down, sum over each token's experts. Each starts in 3,000 cycles, less than one that
 * runs alone (tile.c, START_CYCLES): it follows the one before. */
static const double LAUNCHES = 7, LAUNCH_CYCLES = 3000;

/* Rows of a tile that suit so many rows of an expert: fused_moe's configurations go from 16 to 128 (vLLM,
 * get_default_config). */
static double tile_rows(double rows)
{
    return rows <= 16 ? 16 : rows <= 48 ? 32 : rows <= 96 ? 64 : 128;
}

/* Least time of a block of experts' products that reads so many bytes: few loads are under way at a time
 * (Little's law), so that a multiprocessor reads 16 bytes in a cycle, 34 GB/s on Hopper, whatever its peak.
 */
static double expert_stream_us(const struct rt_device *device, double bytes)
{
    return rt_cycles_us(device, bytes / 16);
}

void rt_tiling_experts(enum rt_dtype dtype, const int64_t *dim, const struct rt_device *device,
                       struct rt_experts_tiling *out)
{
    struct rt_experts_tiling tiling = {0};
    struct rt_rates rates = rt_rates_of(device, RT_FAMILY_MOE, dtype);
    const double tile_columns = 128;
    double tokens = (double)dim[RT_MOE_TOKENS], hidden = (double)dim[RT_MOE_HIDDEN],
           inter = (double)dim[RT_MOE_INTER] / (double)dim[RT_MOE_TP];
    double narrow = rt_dtypes[dtype].input_bytes, wide = fmax(narrow, 2), sms = device->sms;
    rt_moe_routing_of(dim, &tiling.routing);
    struct rt_moe_routing *routing = &tiling.routing;
    routing->touched = fmax(1, routing->touched); /* a GPU without tokens is not timed */
    routing->rows = fmax(routing->touched, routing->rows);
    tiling.rows = routing->rows / routing->touched;
    tiling.tile_rows = tile_rows(tiling.rows);
    /* Uneven loads end anywhere in their last tile: half of it is padding on average. */
    double tiles = routing->even
                       ? routing->touched * ceil(tiling.rows / tiling.tile_rows)
                       : fmax(routing->touched, routing->rows / tiling.tile_rows + routing->touched / 2);
    tiling.padding = tiles * tiling.tile_rows / routing->rows;
    tiling.blocks = tiles * ceil(2 * inter / tile_columns);
    tiling.waves = ceil(tiling.blocks / sms);
    double down_blocks = tiles * ceil(hidden / tile_columns), tile = 2 * tiling.tile_rows * tile_columns;
    double up_bytes = hidden * (tiling.tile_rows * narrow + tile_columns * rt_dtypes[dtype].bytes);
    double down_bytes = inter * (tiling.tile_rows * narrow + tile_columns * rt_dtypes[dtype].bytes);
    tiling.fused.compute_us = fmax(rt_blocks_us(&rates, tiling.blocks, tile * hidden),
                                   tiling.waves * expert_stream_us(device, up_bytes)) +
                              fmax(rt_blocks_us(&rates, down_blocks, tile * inter),
                                   ceil(down_blocks / sms) * expert_stream_us(device, down_bytes));
    /* vLLM's choice of kernels: 8 bits on Hopper by FlashInfer's CUTLASS kernels, block-scaled ones with
     * expert parallelism only (its fused_moe/oracle/fp8.py; issue 34249). */
    bool hopper = rt_design_of(device)->units == RT_MATRIX_WARP_GROUP;
    tiling.cutlass = hopper && (dtype == RT_FP8 || (dtype == RT_FP8_BLOCK && dim[RT_MOE_EP] > 1));
    /* A row: hidden in, gate and up out and in, their product out and in, hidden out and in again. Triton's
     * kernels keep room for the rows of all tokens, those of other GPUs' experts too, and fill it with zeros.
     */
    double row = hidden * (narrow + 2 * wide) + inter * (5 * wide + narrow),
           all_rows = tokens * (double)dim[RT_MOE_TOPK];
    double row_bytes = (tiling.cutlass ? routing->rows : fmax(all_rows, routing->rows)) * row;
    double weights = routing->touched * 3 * hidden * inter * rt_dtypes[dtype].bytes;
    double bytes = weights + row_bytes + fmin(tokens, routing->rows) * hidden * wide;
    tiling.weight_share = weights / bytes;
    /* Libraries that keep only their own rows may still move the others. */
    tiling.gathered = 1 + (tiling.cutlass ? fmax(0, all_rows - routing->rows) * row / bytes : 0);
    tiling.fused.start_us = rt_cycles_us(device, LAUNCHES * LAUNCH_CYCLES);
    /* Weights come again in the next run, rows in the next kernel. */
    double array = row_bytes / row * wide * fmax(hidden, 2 * inter);
    add_memory(device, weights, weights + row_bytes / 2, &tiling.fused);
    add_memory(device, bytes - weights, array, &tiling.fused);
    set_time(&tiling.fused);
    *out = tiling;
}
