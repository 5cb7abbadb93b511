/* Tiling of products, rows, attention and experts. See tiling.h. */
#include "models/predictors/roofline/tiling.h"
#include "base/status.h"
#include "models/predictors/roofline/board.h"

#include <math.h>
#include <string.h>

/* Tiles of outputs that cuBLAS' kernels have; reductions are padded to steps of 32. */
static const double product_tiles[][2] = {{256, 128}, {128, 256}, {128, 128}, {128, 64}, {64, 128},
                                          {64, 64},   {32, 128},  {128, 32},  {32, 32}};
static const double product_splits[] = {1, 2, 4, 8, 16};

/* As fmax, without a call, where a is not NaN: tilings are tried by the dozen for each product. */
static double larger(double a, double b)
{
    return b > a ? b : a;
}

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
    return larger(ceil(blocks / rates->sms) * rt_wave_us(rates, block_flops),
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
    tiling->time_us =
        larger(tiling->compute_us, tiling->memory_us) + (tiling->splits > 1 ? cut->split_us : 0);
}

void rt_tiling_product(double batch, double m, double n, double k, double bytes, const struct rt_rates *rates,
                       const struct rt_rates *library, double split_us, struct rt_tiling *out)
{
    struct cut cut = {batch, m, n, k, bytes, split_us};
    struct rt_tiling fastest = {.time_us = INFINITY};
    for (size_t t = 0; t < RT_COUNT(product_tiles); t++)
        for (size_t s = 0; s < RT_COUNT(product_splits); s++) {
            struct rt_tiling tiling = {
                .tile_m = product_tiles[t][0], .tile_n = product_tiles[t][1], .splits = product_splits[s]};
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
    /* Bandwidth that does not get through the L2 keeps no rows in flight. */
    double gbs = fmin(device->bandwidth_gbs, 1e-9 * rt_vector_l2_bandwidth(device));
    double in_flight = fmin(ceil(rows / tiling.rows), gbs / SM_GBS * blocks_per_sm);
    tiling.log2_in_l2 = log2(in_flight * tiling.rows * cols * width / rt_near_l2_bytes(device));
    *out = tiling;
}

double rt_row_tiling_misses(const struct rt_row_tiling *tiling)
{
    return 1 / (1 + exp(-2 * (tiling->log2_in_l2 + 1)));
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
    const double step_threads = 1024;
    double turns = fmax(1, rows * walk->threads / (device->sms * step_threads));
    return turns * walk->steps * rt_cycles_us(device, RT_ROW_STEP_CYCLES);
}

/* ---- products of narrow activations ---- */

/* The kernel that quantises takes a thread block for each row: cycles of a multiprocessor that a row takes at
 * least, and for each element. fp8 products of one tile of columns and up to 32,768 rows take 7.3 ns a row on
 * H100 and H200 and 5.6 on the L40S where k is small, which is 1,910 and 2,010 cycles; more columns add 0.6
 * cycles each on Hopper. */
static const double ROW_CYCLES = 1900, ELEMENT_CYCLES = 0.6;

/* A kernel that follows another starts in so many, fewer than one that runs alone (tile.c, START_CYCLES). */
static const double LAUNCH_CYCLES = 3000;

/* SGLang: 203 us for 32,768 rows of 4,096 on the H200. */
static const double SGLANG_ELEMENT_CYCLES = 0.4;
/* TensorRT-LLM finds one scale for all activations before it makes them narrow: 7.3 us more on H100 and
 * H200, 7.5 on the L40S, and another two passes. */
static const double TENSOR_SCALE_CYCLES = 15e3;

/* SGLang's block-scaled products on 10.x, where scales seem to be brought into a layout of
 * their own: 24,200 cycles at least, 7,000 on the H100 (up to 64 rows, one half of the shapes by a hash; the
 * other half says 23,200). They hardly grow with the rows. */
static const double SCALE_LAYOUT_CYCLES = 17e3;

/* One scale a row is found by a block a row; one for each few elements needs no sum along the row. nvfp4 is
 * made as fast as vector ops run: seen on the B200 alone. */
static double quantise_us(enum rt_dtype dtype, double m, double k, enum rt_server_project server,
                          const struct rt_device *device)
{
    bool row_scale = server == RT_SERVER_VLLM && !rt_dtypes[dtype].block_scaled,
         tensor_scale = server == RT_SERVER_TENSORRT && !rt_dtypes[dtype].block_scaled,
         layout = server == RT_SERVER_SGLANG && dtype == RT_FP8_BLOCK &&
                  rt_design_of(device)->units == RT_MATRIX_TENSOR_MEMORY;
    double element = dtype == RT_FP4              ? 0
                     : server == RT_SERVER_SGLANG ? SGLANG_ELEMENT_CYCLES
                                                  : ELEMENT_CYCLES;
    double cycles = m * fmax(row_scale ? ROW_CYCLES : 0, element * k) / device->sms;
    double bytes = m * k * ((tensor_scale ? 6 : 2) + rt_dtypes[dtype].input_bytes);
    double hits = rt_l2_hits(device, bytes);
    double memory_us = rt_vector_memory_us(device, (1 - hits) * bytes, hits * bytes);
    double launches =
        LAUNCH_CYCLES + (tensor_scale ? TENSOR_SCALE_CYCLES : 0) + (layout ? SCALE_LAYOUT_CYCLES : 0);
    return rt_cycles_us(device, launches) + fmax(rt_cycles_us(device, cycles), memory_us);
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
    double share = rt_design_asynchronous(rt_design_of(device)) && kernels->tile_m >= 128 ? 0.5 : 1;
    double bytes = share * (kernels->tile_m + kernels->tile_n) * k * rt_dtypes[dtype].bytes;
    return fmax(rt_wave_us(&rates, 2 * kernels->tile_m * kernels->tile_n * k), rt_stream_us(device, bytes));
}

/* Median of the products of less than 4 MB and 1 GFLOP by library, on H100 and H200 alike: FlashInfer,
 * DeepGEMM, CUTLASS.
 */
static const double SWAPPED_HOST_US = 59, MADE_HOST_US = 90, GENERAL_HOST_US = 178;

/* Block-scaled products: DeepGEMM since Hopper where n is a multiple of 64 and k of 128, for up to 31 rows
 * the one that FlashInfer compiled; else CUTLASS there and on 12.x (vLLM's
 * cutlass_scaled_mm_blockwise_sm120_fp8), and Triton everywhere else (vLLM 0.24; the tables name them). */
static void choose_block_scaled(double m, double n, double k, const struct rt_device *device,
                                struct rt_product_kernels *kernels)
{
    bool asynchronous = rt_design_asynchronous(rt_design_of(device)),
         aligned = fmod(n, 64) == 0 && fmod(k, 128) == 0;
    bool made = asynchronous && aligned; /* for this GPU and such shapes */
    kernels->swapped = made && m < 32;
    kernels->host_us = !made ? GENERAL_HOST_US : kernels->swapped ? SWAPPED_HOST_US : MADE_HOST_US;
    kernels->triton = !asynchronous && isnan(rt_design_of(device)->rates.fp4);
}

void rt_product_kernels_of(enum rt_dtype dtype, double m, double n, double k, enum rt_server_project server,
                           const struct rt_device *device, struct rt_product_kernels *out)
{
    *out = (struct rt_product_kernels){.quantised = rt_dtypes[dtype].input_bytes < 2, .server = server};
    if (!out->quantised)
        return;
    /* TensorRT-LLM's norms quantise for its SmoothQuant plugin (RmsnormQuantization), timed alone. */
    if (dtype != RT_INT8 || server != RT_SERVER_TENSORRT)
        out->quantise_us = quantise_us(dtype, m, k, server, device);
    choose_tile(m, out);
    out->block_us = block_us(out, dtype, k, device);
    if (dtype == RT_FP8_BLOCK && server == RT_SERVER_VLLM)
        choose_block_scaled(m, n, k, device, out);
}

/* ---- attention and mixtures of experts ---- */

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
/* The same of TensorRT-LLM's kernels for decoding, in cycles. Those for keys that no heads share ("masked
 * multi-head attention") take 2,500 to 3,000 on A100, L40S, H100 and H200, whatever the head. Those for
 * shared keys ("XQA") 8,100 to 9,600 where warps multiply; where a group of them does, in 8 bits on Hopper,
 * 2,200 to 2,700 with heads of 64, 2,900 to 3,200 of 128, 4,600 to 5,400 of 256. */
static const double MASKED_BLOCK_CYCLES = 2600, WARP_BLOCK_CYCLES = 8800, GROUP_BLOCK_CYCLES = 1200,
                    GROUP_HEAD_CYCLES = 14.5;
/* A decoding block waits for its keys before it multiplies, which others on its multiprocessor hide: bytes in
 * a cycle, by 128 tiles of 128 keys one after another in 4,160 cycles each on the A100, of which products
 * take 2,050. */
static const double BLOCK_LOAD_BYTES = 32;
/* XQA serves no more heads than this for each of the keys'. */
static const double XQA_GROUP = 32;

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

void rt_tiling_add_memory(const struct rt_device *device, double bytes, double held,
                          struct rt_tiling_time *time)
{
    time->memory_us += 1e6 * bytes / bandwidth(device, held, &time->l2_hit);
}

void rt_tiling_set_time(struct rt_tiling_time *time)
{
    time->time_us = time->start_us + time->blocks_us + fmax(time->compute_us, time->memory_us);
}

/* ---- attention ---- */

struct attention {
    bool encoder, decodes;
    double batch, tokens, cached, heads, kv_heads, head_dim,
        window;             /* window: infinite where there is none */
    double keys;            /* encoder */
    double width, kv_width; /* bytes */
};

static void read_attention(enum rt_op_id op, enum rt_dtype dtype, const int64_t *d,
                           enum rt_server_project server, struct attention *a)
{
    double width = rt_dtypes[dtype].bytes;
    *a = (struct attention){.batch = (double)d[RT_ATTENTION_BATCH],
                            .tokens = (double)d[RT_ATTENTION_TOKENS],
                            .window = INFINITY,
                            .width = width,
                            .kv_width = width};
    if (op == RT_OP_ATTENTION_ENCODER || op == RT_OP_ATTENTION_CROSS) {
        a->encoder = true;
        a->keys = op == RT_OP_ATTENTION_CROSS ? (double)d[RT_CROSS_KEYS] : a->tokens;
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
    a->decodes = op == RT_OP_ATTENTION_GENERATION || (a->tokens == 1 && server != RT_SERVER_TENSORRT);
}

/* Tiles of keys that rows [first, last) of the queries of one head see. */
static double tiles_seen(const struct attention *a, double first, double last, double tile)
{
    if (a->encoder)
        return ceil(a->keys / tile);
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

/* TensorRT-LLM's kernels: its own server runs them everywhere, vLLM and SGLang decode with them on sm_100,
 * through FlashInfer. */
static void choose_tensorrt(const struct attention *a, double group, enum rt_server_project server,
                            const struct rt_device *device, struct rt_attention_tiling *tiling)
{
    enum rt_matrix_units units = rt_design_of(device)->units;
    bool own = server == RT_SERVER_TENSORRT, gen = units == RT_MATRIX_TENSOR_MEMORY;
    bool masked = own && a->decodes && ((group == 1 && !gen) || group > XQA_GROUP);
    tiling->xqa = a->decodes && !masked && (gen || (own && units == RT_MATRIX_WARP_GROUP && a->kv_width < 2));
    tiling->tensorrt = own && !tiling->xqa;
    tiling->sglang = server == RT_SERVER_SGLANG && !gen;
    tiling->packed = tiling->packed && !masked;
    tiling->block_us = BLOCK_US;
    if (tiling->xqa)
        tiling->block_us = rt_cycles_us(device, GROUP_BLOCK_CYCLES + GROUP_HEAD_CYCLES * a->head_dim);
    else if (own && a->decodes)
        tiling->block_us = rt_cycles_us(device, masked ? MASKED_BLOCK_CYCLES : WARP_BLOCK_CYCLES);
}

/* FlashAttention's kernels (Dao 2023, sections 3.2 and 3.3; Shah et al. 2024 since Hopper): a block takes 128
 * rows of queries, 64 while decoding, over tiles of 128 keys, 64 where heads are wider than 128. Query heads
 * that share keys share a block: always since Hopper and in FlashInfer (Ye et al. 2025), which serves 8-bit
 * keys where FlashAttention-2 does not; in FlashAttention-2 for single tokens without a window. Keys are
 * split over blocks while decoding (Dao et al. 2023, Flash-Decoding) wherever heads are packed;
 * FlashAttention-2 packs, and splits, only where there is something to pack. */
static void choose_kernel(const struct attention *a, enum rt_server_project server,
                          const struct rt_device *device, struct rt_attention_tiling *tiling)
{
    bool asynchronous = rt_design_asynchronous(rt_design_of(device)), narrow_keys = a->kv_width < a->width;
    double group = a->heads / a->kv_heads;
    bool modern = asynchronous || narrow_keys;
    tiling->packed = !a->encoder && (modern || (a->tokens == 1 && isinf(a->window)));
    choose_tensorrt(a, group, server, device, tiling);
    tiling->split = a->decodes && tiling->packed && (modern || group > 1);
    tiling->narrow = asynchronous && narrow_keys;
    tiling->rows = tiling->packed ? a->tokens * group : a->tokens;
    tiling->heads = a->batch * (tiling->packed ? a->kv_heads : a->heads);
    tiling->decodes = a->decodes;
    tiling->tile_rows = a->decodes ? 64 : 128;
    tiling->tile_keys = a->head_dim <= 128 ? 128 : 64;
}

double rt_exponentials_gain(const struct rt_device *device, enum rt_dtype dtype, double head_dim,
                            double products)
{
    const double measured = 16;
    const struct rt_design_rates *rates = &rt_design_of(device)->rates;
    double width = rt_dtypes[dtype].bytes,
           multiply = 2 * products * head_dim / (width < 2 ? rates->fp8 : rates->bf16);
    double gain = (multiply + 1 / rates->exponentials) / (multiply + 1 / measured);
    return width <= 2 && gain < 1 ? gain : 1;
}

void rt_tiling_attention(enum rt_op_id op, enum rt_dtype dtype, const int64_t *dim,
                         enum rt_server_project server, const struct rt_device *device,
                         struct rt_attention_tiling *out)
{
    struct attention a;
    struct rt_attention_tiling tiling = {.splits = 1};
    struct rt_rates rates = rt_rates_of(device, RT_FAMILY_ATTENTION, dtype);
    double mean, longest, sms = device->sms;
    read_attention(op, dtype, dim, server, &a);
    choose_kernel(&a, server, device, &tiling);
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
    double tile_us = rt_wave_us(&rates, tile_flops), keys = 2 * tiling.tile_keys * a.head_dim * a.kv_width;
    double load_us = a.decodes ? rt_cycles_us(device, keys / BLOCK_LOAD_BYTES) : 0;
    tiling.fused.compute_us = fmax(1e6 * whole_flops / rates.sustained_flops,
                                   fmax(tiling.tiles * (tile_us + load_us), mean * tiling.waves * tile_us));
    tiling.gain =
        a.decodes ? 1 : rt_exponentials_gain(device, dtype, a.head_dim, 2); /* else blocks wait for keys */
    tiling.fused.compute_us *= tiling.gain;
    tiling.fused.start_us = rt_cycles_us(device, START_CYCLES);
    tiling.fused.blocks_us = tiling.block_us * tiling.waves;
    double bytes = rt_ops[op].bytes(dim, a.width);
    rt_tiling_add_memory(device, bytes, bytes, &tiling.fused);
    rt_tiling_set_time(&tiling.fused);
    *out = tiling;
}

static const double FLASH2_SHARE = 0.35, /* of the peak */
    FLASH2_CAUSAL = 0.873;               /* of that rate where scores are masked */

double rt_flash2_us(enum rt_op_id op, enum rt_dtype dtype, const int64_t *dim, const struct rt_device *device)
{
    bool causal = op == RT_OP_ATTENTION_CONTEXT;
    if (rt_design_of(device)->units != RT_MATRIX_WARP_GROUP ||
        !(causal || op == RT_OP_ATTENTION_ENCODER || op == RT_OP_ATTENTION_CROSS))
        return NAN;
    double head = (double)dim[causal ? RT_ATTENTION_HEAD_DIM : RT_ENCODER_HEAD_DIM],
           padded = 32 * ceil(head / 32);
    double flops = rt_ops[op].flops(dim) * padded / head;
    double share = FLASH2_SHARE * (causal ? FLASH2_CAUSAL : 1);
    double compute_us = 1e6 * flops / (share * rt_device_peak_flops(device, RT_FAMILY_ATTENTION, dtype));
    double blocks = (double)dim[RT_ATTENTION_BATCH] *
                    (double)dim[causal ? RT_ATTENTION_HEADS : RT_ENCODER_HEADS] *
                    ceil((double)dim[RT_ATTENTION_TOKENS] / 128);
    double waves = ceil(blocks / device->sms) * device->sms / blocks; /* the last one is not full */
    double bytes = rt_ops[op].bytes(dim, rt_dtypes[dtype].bytes);
    return rt_cycles_us(device, START_CYCLES) +
           fmax(compute_us * waves, 1e6 * bytes / (1e9 * device->bandwidth_gbs));
}

/* ---- experts ---- */

/* Kernels of a layer: count and sort the routed tokens, quantise or permute them, multiply by gate and up,
 * activate, multiply by down, sum over each token's experts. Each follows the one before. */
static const double LAUNCHES = 7;
/* TensorRT-LLM's for sm_100: route, multiply and activate, multiply, sum. */
static const double FUSED_LAUNCHES = 4;
/* Each with what it waits for before its first product and after its last: the shortest take 36,000 (SGLang
 * on an A100) to 52,000 (vLLM on an L40S) in all, on GPUs of 1.4 to 2.5 GHz. */
static const double EXPERTS_LAUNCH_CYCLES = 6000;
/* FlashInfer's grouped products in fp8 on Hopper wait 50 cycles for each element of a tile's sums, however
 * many rows it has: H100 and H200 take the same, 4 to 7 times as long as their memory takes for the weights.
 * Here over 1.4, where the network's factor on compute starts (head.c). */
static const double STEP_CYCLES = 36;
/* Weights stream from GDDR at 0.79 (A40) and 0.83 (L40S) of its bandwidth (rt_memory_gain). */
static const double GDDR_WEIGHTS = 0.81;

/* Rows of a tile that suit so many rows of an expert: fused_moe's configurations go from 16 to 128 (vLLM,
 * get_default_config). */
static double tile_rows(double rows)
{
    return rows <= 16 ? 16 : rows <= 48 ? 32 : rows <= 96 ? 64 : 128;
}

/* Least time of a block of experts' products that reads so many bytes: few loads are under way at a time
 * (Little's law), so that a multiprocessor reads 16 bytes in a cycle, 34 GB/s on Hopper, whatever its peak.
 */
static double expert_stream_us(const struct rt_device *device, bool asynchronous, double bytes)
{
    return asynchronous ? rt_stream_us(device, bytes) : rt_cycles_us(device, bytes / 16);
}

/* What servers of mid-2026 run. TensorRT-LLM: CUTLASS' grouped products, of sm_100 on its own kernels, which
 * vLLM and SGLang take there through FlashInfer. vLLM on Hopper: CUTLASS for 8 bits by FlashInfer,
 * block-scaled ones with expert parallelism only (its fused_moe/oracle/fp8.py; issue 34249). SGLang on
 * Hopper: CUTLASS for experts without a gate (the tables name it). nvfp4 elsewhere: CUTLASS (vLLM's
 * fused_moe/oracle/nvfp4.py). Everything else Triton, Marlin for int4.
 */
static void choose_experts(enum rt_dtype dtype, const int64_t *dim, enum rt_server_project server,
                           const struct rt_device *device, struct rt_experts_tiling *tiling)
{
    bool spread = dim[RT_MOE_EP] > 1;
    enum rt_matrix_units units = rt_design_of(device)->units;
    bool vllm = server == RT_SERVER_VLLM;
    tiling->server = server;
    tiling->ungated = rt_moe_products(dim) < 3;
    tiling->fused_kernels = units == RT_MATRIX_TENSOR_MEMORY && !(vllm && dtype == RT_INT4);
    tiling->cutlass =
        tiling->fused_kernels || server == RT_SERVER_TENSORRT || dtype == RT_FP4 ||
        (tiling->ungated && server == RT_SERVER_SGLANG && units == RT_MATRIX_WARP_GROUP) ||
        (vllm && units == RT_MATRIX_WARP_GROUP && (dtype == RT_FP8 || (dtype == RT_FP8_BLOCK && spread)));
}

void rt_tiling_experts(enum rt_dtype dtype, const int64_t *dim, enum rt_server_project server,
                       const struct rt_device *device, struct rt_experts_tiling *out)
{
    struct rt_experts_tiling tiling = {0};
    choose_experts(dtype, dim, server, device, &tiling);
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
    double products = rt_moe_products(dim),
           wide_inter = (products - 1) * inter; /* of gate and up, or up alone */
    tiling.blocks = tiles * ceil(wide_inter / tile_columns);
    tiling.waves = ceil(tiling.blocks / sms);
    double down_blocks = tiles * ceil(hidden / tile_columns), tile = 2 * tiling.tile_rows * tile_columns;
    bool streams = tiling.cutlass && rt_design_asynchronous(rt_design_of(device));
    double up_bytes = hidden * (tiling.tile_rows * narrow + tile_columns * rt_dtypes[dtype].bytes);
    double down_bytes = inter * (tiling.tile_rows * narrow + tile_columns * rt_dtypes[dtype].bytes);
    if (tiling.cutlass && !tiling.fused_kernels && server == RT_SERVER_VLLM && dtype == RT_FP8)
        tiling.wait_us =
            rt_cycles_us(device, STEP_CYCLES * (tiling.waves * hidden + ceil(down_blocks / sms) * inter));
    tiling.fused.compute_us = fmax(rt_blocks_us(&rates, tiling.blocks, tile * hidden),
                                   tiling.waves * expert_stream_us(device, streams, up_bytes)) +
                              fmax(rt_blocks_us(&rates, down_blocks, tile * inter),
                                   ceil(down_blocks / sms) * expert_stream_us(device, streams, down_bytes));
    tiling.fused.compute_us = fmax(tiling.fused.compute_us, tiling.wait_us);
    /* A row: hidden in, gate and up out and in, their product out and in, hidden out and in again. Triton's
     * kernels keep room for the rows of all tokens, those of other GPUs' experts too, and fill it with zeros.
     */
    double row = tiling.fused_kernels
                     ? hidden * (narrow + wide) + 2 * inter * narrow
                     : hidden * (narrow + 2 * wide) + 2 * wide_inter * wide + inter * (wide + narrow),
           all_rows = tokens * (double)dim[RT_MOE_TOPK];
    double row_bytes = (tiling.cutlass ? routing->rows : fmax(all_rows, routing->rows)) * row;
    double weights = routing->touched * products * hidden * inter * rt_dtypes[dtype].bytes;
    double bytes = weights + row_bytes + fmin(tokens, routing->rows) * hidden * wide;
    tiling.weight_share = weights / bytes;
    /* Libraries that keep only their own rows may still move the others. */
    tiling.gathered = 1 + (tiling.cutlass ? fmax(0, all_rows - routing->rows) * row / bytes : 0);
    tiling.fused.start_us =
        rt_cycles_us(device, (tiling.fused_kernels ? FUSED_LAUNCHES : LAUNCHES) * EXPERTS_LAUNCH_CYCLES);
    /* Weights come again in the next run, rows in the next kernel. */
    double array = row_bytes / row * wide * fmax(hidden, wide_inter);
    rt_tiling_add_memory(device, weights, weights + row_bytes / 2, &tiling.fused);
    rt_tiling_add_memory(device, bytes - weights, array, &tiling.fused);
    if (rt_memory_kind_of(device) == RT_MEMORY_GDDR)
        tiling.fused.memory_us *= sustained[RT_MEMORY_GDDR] / GDDR_WEIGHTS;
    rt_tiling_set_time(&tiling.fused);
    *out = tiling;
}
