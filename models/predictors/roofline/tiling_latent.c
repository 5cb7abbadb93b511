/*
 * Tiling of latent and sparse attention, of the indexers that choose for it and of top-k. See tiling.h. Which
 * kernels servers run, by their sources of mid-2026 (vLLM 0.24, SGLang 0.5.14, TensorRT-LLM 1.3), FlashMLA
 * and DeepGEMM.
 */
#include "models/predictors/roofline/tiling.h"

#include <math.h>

/* Rows of queries and keys of a tile of FlashMLA and of TensorRT-LLM's kernels; DeepGEMM's of logits has 128
 * rows over a prefill and 256 keys. Triton's have 16 rows. */
static const double LATENT_ROWS = 64, LATENT_KEYS = 64, LOGITS_ROWS = 128, LOGITS_KEYS = 256,
                    TRITON_ROWS = 16;
/* Triton splits the keys of a sequence into no more parts. */
static const double TRITON_SPLITS = 16;
/* Cycles of a block of latent attention beside its products: 1,024 sequences of two keys take 5 to 6 us a
 * wave on H100 and B200. */
static const double LATENT_BLOCK_CYCLES = 9000, LOGITS_BLOCK_CYCLES = 2000;
/* Cycles until the first block computes and after the last: 9 to 15 us of attention, 3 to 4 of logits. */
static const double LATENT_START_CYCLES = 18e3, LOGITS_START_CYCLES = 7000;
/* A thread block of top-k reads 1,024 scores of a row at a time, once to count and once to choose, and has
 * got them after so many cycles. */
static const double TOP_K_THREADS = 1024, TOP_K_PASSES = 2, TOP_K_CYCLES = 500;
/* Of a row with more than k scores the ranks of counts besides, which one of no more does without: 65,536
 * rows of 2,049 to 2,112 scores take 1,471 us on the H200, where all but 32 have no more than 2,048 328. */
static const double TOP_K_RANKS_CYCLES = 3600;

/* How the keys of a block's queries become the work of blocks. */
enum cut {
    CUT_NONE,  /* a block walks along all of them */
    CUT_SPLIT, /* split as far as multiprocessors are idle */
    CUT_EVEN   /* a scheduler gives all multiprocessors as many tiles */
};

/* A kernel as blocks over tiles of keys, all of one design. */
struct work {
    enum cut cut;
    double blocks;         /* before keys are split */
    double tiles, longest; /* of keys: the mean over blocks, and the longest block's */
    double tile_flops;     /* with padding */
    double tile_bytes;     /* that a block reads for it */
    double tile_rows;
    double operand_bytes; /* of its keys and values, as they are multiplied */
    double bytes;         /* of the whole from memory */
    double start_us, block_us;
    double most_splits;
};

static enum rt_matrix_units units_of(const struct rt_device *device)
{
    return rt_design_of(device)->units;
}

/* Tiles that blocks of `rows` of the tokens x heads queries of a sequence see under a causal mask, where an
 * entry stands for `ratio` tokens: the mean over blocks, exactly up to the rounding of the last tile. */
static void count_causal(double tokens, double cached, double ratio, double blocks, double tile,
                         struct work *work)
{
    double span = tokens / blocks, most = 64, step = fmax(1, blocks / most), sum = 0, looked = 0;
    for (double i = 0; i < blocks; i += step) {
        double last = cached + fmin(tokens, ceil((floor(i) + 1) * span));
        sum += fmax(1, ceil(last / ratio / tile));
        looked++;
    }
    work->tiles = sum / looked;
    work->longest = fmax(1, ceil((cached + tokens) / ratio / tile));
}

static double wide_or(int64_t bits, double width)
{
    return bits > 0 ? (double)bits / 8 : width;
}

/* A prefill whose keys and values are made for all heads, `columns` of both: FlashAttention's tiles of 128
 * rows. */
static void tile_prefill(const int64_t *d, double columns, double width, double key_width, struct work *work)
{
    const double rows = 128, keys = 64;
    double tokens = (double)d[RT_ATTENTION_TOKENS], cached = (double)d[RT_ATTENTION_CACHED],
           heads = (double)d[RT_ATTENTION_BATCH] * (double)d[RT_ATTENTION_HEADS],
           row_blocks = ceil(tokens / rows);
    work->blocks = heads * row_blocks;
    count_causal(tokens, cached, 1, row_blocks, keys, work);
    work->tile_flops = 2 * rows * keys * columns;
    work->tile_rows = rows;
    work->operand_bytes = keys * columns * width;
    work->tile_bytes = keys * columns * key_width;
    work->bytes = heads * columns * (width * tokens + key_width * (cached + tokens));
    if (key_width < width) /* queries, keys and values are quantised before */
        work->bytes += (width + 1) * heads * columns * (2 * tokens + cached) / 2;
}

/* What latent attention and attention to chosen keys have in common. */
struct keys {
    double batch, tokens, cached, heads, kv_heads, head_dim, value_dim, chosen, ratio, window;
    double width, key_bytes; /* of an element; of a key and its value */
    bool latent;             /* values are columns of keys */
    bool narrow;             /* keys of fewer bits than queries */
};

static struct keys keys_of(enum rt_op_id op, enum rt_dtype dtype, const int64_t *d)
{
    double width = rt_dtypes[dtype].bytes;
    struct keys k = {.batch = (double)d[RT_ATTENTION_BATCH],
                     .tokens = (double)d[RT_ATTENTION_TOKENS],
                     .cached = (double)d[RT_ATTENTION_CACHED],
                     .heads = (double)d[RT_ATTENTION_HEADS],
                     .kv_heads = 1,
                     .latent = true,
                     .ratio = 1,
                     .width = width};
    if (op == RT_OP_MLA_GENERATION) {
        k.value_dim = (double)d[RT_MLA_LATENT_DIM];
        k.head_dim = k.value_dim + (double)d[RT_MLA_ROPE_DIM];
        k.key_bytes = k.head_dim * wide_or(d[RT_MLA_KV_BITS], width);
        k.narrow = k.key_bytes < k.head_dim * width;
        return k;
    }
    k.latent = d[RT_SPARSE_LATENT] != 0;
    k.kv_heads = (double)d[RT_SPARSE_KV_HEADS];
    k.head_dim = (double)d[RT_SPARSE_HEAD_DIM];
    k.value_dim = (double)d[RT_SPARSE_VALUE_DIM];
    k.chosen = (double)d[RT_SPARSE_CHOSEN];
    k.ratio = (double)d[RT_SPARSE_RATIO];
    k.window = (double)d[RT_SPARSE_WINDOW];
    double bytes = wide_or(d[RT_SPARSE_KV_BITS], width);
    k.narrow = bytes < width;
    k.key_bytes = bytes * (k.head_dim + (k.latent ? 0 : k.value_dim));
    return k;
}

/* Where all keys would be chosen, SGLang and TensorRT-LLM prefill without choosing, keys made for all heads.
 */
static bool runs_dense(const struct keys *k, enum rt_server_project server)
{
    return server != RT_SERVER_VLLM && k->latent && k->ratio == 1 && k->tokens > 1 &&
           k->chosen >= k->cached + k->tokens;
}

/* All queries of a sequence over the same keys: the heads that share a key are rows of one tile. */
static void tile_shared(const struct keys *k, enum rt_server_project server, const struct rt_device *device,
                        struct rt_attention_tiling *out, struct work *work)
{
    enum rt_matrix_units units = units_of(device);
    bool warp = units != RT_MATRIX_WARP_GROUP && units != RT_MATRIX_TENSOR_MEMORY;
    out->triton = warp && server != RT_SERVER_TENSORRT;
    double rows = k->tokens * k->heads / k->kv_heads, tile = out->triton ? TRITON_ROWS : LATENT_ROWS;
    double row_blocks = ceil(rows / tile);
    work->cut = out->triton ? CUT_SPLIT : warp ? CUT_NONE : CUT_EVEN;
    work->most_splits = out->triton ? TRITON_SPLITS : INFINITY;
    work->blocks = k->batch * k->kv_heads * row_blocks;
    count_causal(k->tokens, k->cached, 1, row_blocks, LATENT_KEYS, work);
    work->tile_flops = 2 * tile * LATENT_KEYS * (k->head_dim + k->value_dim);
    work->tile_rows = tile;
    work->operand_bytes = LATENT_KEYS * (k->head_dim + k->value_dim) * k->width;
    work->tile_bytes = LATENT_KEYS * k->key_bytes;
    work->bytes = k->batch * (k->width * k->tokens * k->heads * (k->head_dim + k->value_dim) +
                              k->kv_heads * (k->cached + k->tokens) * k->key_bytes);
}

/* Every query token over keys of its own, a block for its heads alone. Latent keys: 64 rows at least, 128 on
 * sm_100 where they are not in a narrow cache (FlashMLA's flash_mla_sparse_fwd; SGLang pads them), and lists
 * of chosen keys of full length, whatever is chosen. A cache is read by the kernel that decodes, whose
 * scheduler evens out. Other keys: 16 rows, the heads of a group, and no more keys than there are (NSA, arXiv
 * 2502.11089, section 3.4). */
static void tile_chosen(const struct keys *k, const struct rt_device *device, struct work *work)
{
    bool prefills = k->chosen > 0 && !(k->latent && k->narrow),
         wide = units_of(device) == RT_MATRIX_TENSOR_MEMORY;
    double all = k->cached + k->tokens, group = k->heads / k->kv_heads,
           rows = k->latent ? LATENT_ROWS : TRITON_ROWS,
           row_blocks = fmax(k->latent && prefills && wide ? 2 : 1, ceil(group / rows));
    double window_tiles = k->window > 0 ? ceil(fmin(k->window, all) / LATENT_KEYS) : 0;
    double entries = all / k->ratio, read = k->chosen > 0 ? fmin(entries, k->tokens * k->chosen) : entries;
    work->cut = prefills ? CUT_NONE : CUT_EVEN;
    work->blocks = k->batch * k->kv_heads * k->tokens * row_blocks;
    count_causal(k->tokens, k->cached, k->ratio, k->tokens, LATENT_KEYS, work);
    if (k->chosen > 0) {
        double most = ceil(k->chosen / LATENT_KEYS);
        work->tiles = k->latent ? most : fmin(most, work->tiles);
        work->longest = k->latent ? most : fmin(most, work->longest);
    }
    work->tiles += window_tiles;
    work->longest += window_tiles;
    work->tile_flops = 2 * rows * LATENT_KEYS * (k->head_dim + k->value_dim);
    work->tile_rows = rows;
    work->operand_bytes = LATENT_KEYS * (k->head_dim + k->value_dim) * k->width;
    work->tile_bytes = LATENT_KEYS * k->key_bytes;
    read += k->window > 0 ? fmin(all, k->window + k->tokens - 1) : 0;
    work->bytes = k->batch * (k->width * k->tokens * k->heads * (k->head_dim + k->value_dim) +
                              k->kv_heads * read * k->key_bytes);
}

/* Does a prefill walk blocks of keys, each with the rows of all queries that chose it? MiniMax's kernels for
 * matrix units with a memory of their own, which vLLM and TensorRT-LLM call (fmha_sm100: build_k2q_csr,
 * sparse_atten_func). */
static bool walks_keys(const struct keys *k, enum rt_server_project server, const struct rt_device *device)
{
    return !k->latent && k->chosen > 0 && k->tokens > 1 && server != RT_SERVER_SGLANG &&
           units_of(device) == RT_MATRIX_TENSOR_MEMORY;
}

/* Full tiles of rows, the heads of a group of many tokens; what a query gets of each block of keys is written
 * and combined, in the width of the queries. Kernels of their own list who chose what, deal it out and
 * combine.
 */
static void tile_walked_keys(const struct keys *k, double kernel_us, struct work *work)
{
    const double rows = 128, keys = 128;
    double all = k->cached + k->tokens, group = k->heads / k->kv_heads, blocks = ceil(all / keys);
    double few = fmin(k->tokens, fmax(0, k->chosen - k->cached)); /* tokens that see no more than is chosen */
    double chosen = ceil(k->chosen / keys);
    if (few > 0) {
        count_causal(few, k->cached, 1, few, keys, work);
        chosen += few / k->tokens * (work->tiles - chosen);
    }
    work->cut = CUT_EVEN;
    work->start_us += 3 * kernel_us;
    work->blocks = k->batch * k->kv_heads * blocks;
    work->tiles = work->longest = fmax(1, k->tokens * chosen * group / rows / blocks);
    work->tile_flops = 2 * rows * keys * (k->head_dim + k->value_dim);
    work->tile_rows = rows;
    work->operand_bytes = keys * (k->head_dim + k->value_dim) * k->width;
    work->tile_bytes = rows * k->head_dim * k->width;
    double queries = k->tokens * k->heads;
    work->bytes =
        k->batch * (k->width * queries * (k->head_dim + k->value_dim) + k->kv_heads * all * k->key_bytes +
                    2 * k->width * queries * chosen * k->value_dim);
}

/* DeepGEMM's fp8_mqa_logits: a block has the heads of as many tokens as make 128 rows and walks along their
 * keys. Decoding, and for compressed keys always, fp8_paged_mqa_logits: each token by itself, its keys dealt
 * out evenly. */
static void tile_logits(enum rt_dtype dtype, const int64_t *d, struct rt_attention_tiling *out,
                        struct work *work)
{
    double tokens = (double)d[RT_ATTENTION_TOKENS], heads = (double)d[RT_ATTENTION_HEADS],
           dim = (double)d[RT_INDEX_HEAD_DIM], width = rt_dtypes[dtype].bytes;
    out->paged = tokens == 1 || d[RT_INDEX_RATIO] > 1;
    double rows = out->paged ? fmax(LATENT_ROWS, heads) : LOGITS_ROWS;
    double row_blocks = out->paged ? tokens : ceil(tokens * heads / rows);
    work->cut = out->paged ? CUT_EVEN : CUT_NONE;
    work->blocks = (double)d[RT_ATTENTION_BATCH] * row_blocks;
    count_causal(tokens, (double)d[RT_ATTENTION_CACHED], (double)d[RT_INDEX_RATIO], row_blocks, LOGITS_KEYS,
                 work);
    work->tile_flops = 2 * rows * LOGITS_KEYS * dim;
    work->tile_rows = rows;
    work->operand_bytes = LOGITS_KEYS * dim * width;
    work->tile_bytes = LOGITS_KEYS * (dim * wide_or(d[RT_INDEX_KV_BITS], width) + 4);
    work->bytes = rt_index_bytes(d, width);
}

/* A tile takes its products, or as long as its keys come. Where warps multiply, each reads all keys for its
 * 16 rows out of shared memory, 128 bytes a cycle, before it does. */
static double tile_time_us(const struct work *work, const struct rt_rates *rates,
                           const struct rt_device *device)
{
    const double warp_rows = 16, shared_bytes = 128;
    double products = rt_wave_us(rates, work->tile_flops);
    if (units_of(device) == RT_MATRIX_WARP)
        products += rt_cycles_us(device, work->tile_rows / warp_rows * work->operand_bytes / shared_bytes);
    return fmax(products, rt_stream_us(device, work->tile_bytes));
}

/* Blocks in waves, or evenly. */
static void time_work(const struct work *work, const struct rt_rates *rates, const struct rt_device *device,
                      struct rt_attention_tiling *out)
{
    double sms = device->sms, tile_us = tile_time_us(work, rates, device);
    double all = work->blocks * work->tiles, mean = work->tiles;
    out->split = work->cut != CUT_NONE;
    out->splits = 1;
    if (work->cut == CUT_SPLIT && work->blocks < 0.8 * sms)
        out->splits = fmax(1, fmin(floor(sms / work->blocks), fmin(work->most_splits, work->longest)));
    if (work->cut == CUT_EVEN)
        out->splits = fmax(1, fmin(sms / work->blocks, work->longest));
    mean = out->splits > 1 ? ceil(mean / out->splits) : mean;
    out->longest = work->longest;
    out->tiles = ceil(work->longest / out->splits);
    out->blocks = work->blocks * out->splits;
    out->waves = ceil(out->blocks / sms);
    double walked = work->cut == CUT_EVEN ? fmax(1, all / sms) : fmax(out->tiles, mean * out->waves);
    out->fused.compute_us = fmax(1e6 * all * work->tile_flops / rates->sustained_flops, walked * tile_us);
    out->fused.start_us = work->start_us;
    out->fused.blocks_us = work->block_us * (work->cut == CUT_EVEN ? fmax(1, out->blocks / sms) : out->waves);
    rt_tiling_add_memory(device, work->bytes, work->bytes, &out->fused);
    rt_tiling_set_time(&out->fused);
}

/* A thread block a row. */
static void tile_top_k(enum rt_dtype dtype, const int64_t *dim, const struct rt_device *device,
                       struct rt_attention_tiling *out)
{
    struct rt_long_rows chosen = rt_top_k_rows(dim);
    double rows = (double)dim[0], all = ceil((double)dim[2] / TOP_K_THREADS);
    bool chooses = chosen.count > 0;
    double steps = TOP_K_PASSES * ceil(chosen.length / TOP_K_THREADS) * TOP_K_CYCLES + TOP_K_RANKS_CYCLES;
    out->blocks = rows;
    out->splits = out->padding = 1;
    out->longest = chooses ? TOP_K_PASSES * ceil((double)dim[1] / TOP_K_THREADS) : all;
    out->tiles = out->longest;
    out->waves = fmax(1, rows / device->sms);
    double cycles = (chosen.count * steps + (rows - chosen.count) * all * TOP_K_CYCLES) / rows;
    double last = out->longest * TOP_K_CYCLES + (chooses ? TOP_K_RANKS_CYCLES : 0);
    out->fused.compute_us = rt_cycles_us(device, fmax(last, rows / device->sms * cycles));
    out->fused.start_us = rt_cycles_us(device, LOGITS_START_CYCLES);
    double bytes = rt_ops[RT_OP_TOP_K].bytes(dim, rt_dtypes[dtype].bytes);
    rt_tiling_add_memory(device, bytes, bytes, &out->fused);
    rt_tiling_set_time(&out->fused);
}

void rt_tiling_latent(enum rt_op_id op, enum rt_dtype dtype, const int64_t *dim,
                      enum rt_server_project server, const struct rt_device *device,
                      struct rt_attention_tiling *out)
{
    struct rt_attention_tiling tiling = {0};
    struct rt_rates rates = rt_rates_of(device, RT_FAMILY_LATENT, dtype);
    bool logits = op == RT_OP_INDEX_LOGITS;
    struct work work = {.most_splits = INFINITY,
                        .start_us = rt_cycles_us(device, logits ? LOGITS_START_CYCLES : LATENT_START_CYCLES),
                        .block_us = rt_cycles_us(device, logits ? LOGITS_BLOCK_CYCLES : LATENT_BLOCK_CYCLES)};
    tiling.tensorrt = server == RT_SERVER_TENSORRT;
    tiling.sglang = server == RT_SERVER_SGLANG;
    if (op == RT_OP_TOP_K) {
        tile_top_k(dtype, dim, device, &tiling);
        *out = tiling;
        return;
    }
    if (op == RT_OP_MLA_CONTEXT) {
        double width = rt_dtypes[dtype].bytes, keys = wide_or(dim[RT_MLA_KV_BITS], width);
        tile_prefill(dim, (double)(dim[RT_MLA_HEAD_DIM] + dim[RT_MLA_VALUE_DIM]), width, keys, &work);
        tiling.narrow = keys < width;
    } else if (logits) {
        tile_logits(dtype, dim, &tiling, &work);
    } else {
        struct keys keys = keys_of(op, dtype, dim);
        tiling.narrow = keys.narrow;
        tiling.packed = keys.chosen == 0 && keys.ratio == 1;
        tiling.decodes = keys.tokens == 1;
        tiling.dense = runs_dense(&keys, server);
        if (tiling.dense) /* heads of a quarter of the latent columns, as DeepSeek's, and the rotary ones */
            tile_prefill(dim, keys.head_dim - keys.value_dim / 2, keys.width, keys.width, &work);
        else if (tiling.packed)
            tile_shared(&keys, server, device, &tiling, &work);
        else if (walks_keys(&keys, server, device))
            tile_walked_keys(&keys, rt_cycles_us(device, LOGITS_START_CYCLES), &work);
        else
            tile_chosen(&keys, device, &work);
    }
    tiling.padding = work.blocks * work.tiles * work.tile_flops / rt_ops[op].flops(dim);
    /* TensorRT-LLM's kernels multiply queries and keys of 8 bits; those for sparse caches widen the keys. */
    if (tiling.narrow && (tiling.packed || op == RT_OP_MLA_CONTEXT) &&
        rt_design_asynchronous(rt_design_of(device)))
        rates = rt_rates_of(device, RT_FAMILY_LATENT, RT_FP8);
    time_work(&work, &rates, device, &tiling);
    *out = tiling;
}
