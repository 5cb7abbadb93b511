/* Tiling of recurrences. See tiling_recurrent.h. */
#include "models/predictors/roofline/tiling_recurrent.h"

#include <math.h>

/* Tokens of a chunk, in FLA, FlashInfer and FlashKDA. */
static const double CHUNK = 64;

/* What a kind takes beside its bytes and FLOPs, in cycles, read off the H100's rows of AIConfigurator: one
 * sequence of 32,768 tokens takes 3.06 us a chunk in one kernel and 2.4 in FLA's walk, a draft 0.65 us a
 * token, 98,304 blocks of a convolution 346 us, 131,072 of a channel each 150. Networks scale each part. Left
 * out, the H100 has seen them; docs/results/recurrences.csv has the others, too. */
struct costs {
    double start;    /* of all its kernels */
    double block;    /* of a block, whatever it does: first loads, last stores */
    double step;     /* of a step of one block that has a multiprocessor to itself */
    double share;    /* of a multiprocessor's time that a step of a block takes where others run beside it */
    double resident; /* blocks of a multiprocessor */
};
static const struct costs costs[RT_RECURRENT_KINDS] = {
    [RT_RECURRENT_CHUNKED] = {.start = 36e3, .step = 4700, .share = 4700 / 2.0, .resident = 2},
    [RT_RECURRENT_FUSED] = {.start = 5000, .block = 14e3, .step = 6000, .share = 6000, .resident = 1},
    [RT_RECURRENT_FUSED_TENSOR] = {.start = 5000, .block = 14e3, .step = 6000, .share = 6000, .resident = 1},
    [RT_RECURRENT_STEP] = {.start = 7000, .step = 1300, .share = 1300 / 16.0, .resident = 16},
    [RT_RECURRENT_CONVOLUTION] = {.start = 4000, .block = 200, .step = 400, .share = 88, .resident = 16},
    [RT_RECURRENT_CHANNELS] = {.start = 8000, .block = 300, .step = 1500, .share = 300, .resident = 16},
    [RT_RECURRENT_CONVOLUTION_STEP] = {.start = 4000, .block = 200, .step = 400, .share = 88, .resident = 16},
    [RT_RECURRENT_PRE] = {.start = 18e3},
    [RT_RECURRENT_POST] = {.start = 6000},
};
/* A triangular system of a chunk's tokens, row by row: 64 tokens take 19 us more than one, on the H100. */
static const double SOLVE_ROW_CYCLES = 600;

/* One op's shape, whichever it is. */
struct work {
    double flops, bytes; /* moved, with what kernels write for each other */
    double array;        /* of these, what a kernel writes that the next reads */
    double serial_rows;  /* solved one after the other */
};

static double up(double value, double step)
{
    return ceil(value / step);
}

static bool is_fused(enum rt_recurrent_kind kind)
{
    return kind == RT_RECURRENT_FUSED || kind == RT_RECURRENT_FUSED_TENSOR;
}

/* ---- delta rule ---- */

struct delta {
    int64_t batch, tokens, k_heads, k_dim, v_heads, v_dim, gates;
};

/* FLA's kernels of a chunk: norms of queries and keys; sums of the gates; K K^T; its triangular inverse; W
 * and U; states and new values; the output. Matrices of a chunk in fp32 and 16 bits, everything else in 16,
 * gates' sums in fp32. */
static double chunked_delta_bytes(const struct delta *d, double width)
{
    double keys = width * d->k_heads * d->k_dim, wide = width * d->v_heads * d->k_dim,
           values = width * d->v_heads * d->v_dim, matrix = d->v_heads * CHUNK,
           states = values * d->k_dim / CHUNK, gates = (double)d->v_heads * d->gates;
    double norms = 4 * keys, sums = gates * (width + 4 * 5), product = keys + 4 * matrix,
           inverse = (4 + width) * matrix, transformed = keys + values + width * matrix + wide + values,
           scan = keys + wide + values + states + values, output = 2 * keys + values + states + values;
    double tokens = (double)d->batch * d->tokens;
    return tokens * (norms + sums + product + inverse + transformed + scan + output) +
           4.0 * d->batch * d->v_heads * d->k_dim * d->v_dim;
}

/* Products of a chunk: K K^T, Q K^T, W and U, the state's two, the output's two. */
static double chunked_delta_flops(const struct delta *d)
{
    double k = (double)d->k_dim, v = (double)d->v_dim;
    return 2.0 * d->batch * d->tokens * d->v_heads * (CHUNK * (3 * k + 2 * v) + 3 * k * v);
}

static void shape_delta(enum rt_op_id op, const int64_t *dim, double width,
                        struct rt_recurrent_tiling *tiling, struct work *work)
{
    const struct delta *d = (const struct delta *)dim;
    double heads = (double)d->batch * d->v_heads, state = 4 * heads * d->k_dim * d->v_dim;
    tiling->heads = heads;
    if (op == RT_OP_DELTA_RULE_GENERATION) {
        tiling->steps = (double)d->tokens;
        tiling->blocks = heads * up((double)d->v_dim, 32);
        /* Where drafts are verified each token's state is kept, to go back to. */
        work->bytes = rt_ops[op].bytes(dim, width) + state * (tiling->steps - 1);
        work->array = work->bytes - state; /* it is written where it was read */
        work->flops = rt_ops[op].flops(dim);
        return;
    }
    tiling->steps = up((double)d->tokens, CHUNK);
    bool one = is_fused(tiling->kind);
    tiling->blocks = one ? heads : heads * up((double)d->v_dim, 64);
    work->bytes = one ? rt_ops[op].bytes(dim, width) + state : chunked_delta_bytes(d, width);
    work->array = one ? work->bytes : work->bytes / 6;
    work->flops = chunked_delta_flops(d);
    work->serial_rows = one ? 0 : fmin((double)d->tokens, CHUNK);
}

/* ---- state spaces ---- */

struct ssm {
    int64_t batch, tokens, heads, head_dim, groups, state, chunk;
};

/* Mamba-2's kernels (ssd_combined.py): sums of the steps, states of chunks, their recurrence, C B^T, the
 * output. States in fp32, written and read twice. Heads of one number are a scan that keeps them on the chip:
 * Mamba-1's block takes a channel, a number of its state after the other, 2,048 tokens at once
 * (selective_scan_fwd_kernel.cuh); RWKV's a warp of channels token by token (wkv_cuda.cu). */
static void shape_ssm(enum rt_op_id op, const int64_t *dim, double width, struct rt_recurrent_tiling *tiling,
                      struct work *work)
{
    const struct ssm *d = (const struct ssm *)dim;
    double heads = (double)d->batch * d->heads, state = heads * d->head_dim * d->state;
    tiling->heads = heads;
    work->bytes = rt_ops[op].bytes(dim, width);
    work->flops = rt_ops[op].flops(dim);
    work->array = work->bytes;
    if (op == RT_OP_SSM_CONTEXT && d->head_dim == 1) {
        tiling->steps = up((double)d->tokens, (double)d->chunk) * (double)d->state;
        tiling->blocks = d->chunk > 1 ? heads : up(heads, 32);
        return;
    }
    if (op == RT_OP_SSM_GENERATION) {
        tiling->steps = (double)d->tokens;
        tiling->blocks = heads * up((double)d->head_dim, 32);
        work->bytes += 2 * state * (tiling->steps - 1);
        return;
    }
    double chunk = (double)d->chunk, tokens = (double)d->batch * d->tokens;
    tiling->steps = up((double)d->tokens, chunk);
    tiling->blocks = heads * up((double)d->head_dim * d->state, 4096);
    work->bytes += 4 * 4 * state * tiling->steps + width * tokens * d->heads * d->head_dim +
                   2 * 4 * tokens * d->groups * chunk;
    work->array = work->bytes / 5;
    work->flops = 2 * tokens *
                  (chunk * (d->groups * (double)d->state + d->heads * (double)d->head_dim) +
                   2.0 * d->heads * d->head_dim * d->state);
}

/* ---- convolutions ---- */

struct causal_conv {
    int64_t batch, tokens, channels, kernel;
};

/* A block: 8 tokens of 256 channels (vLLM's and SGLang's, causal_conv1d.py), or a channel in steps of 1,024
 * tokens (Dao's, causal_conv1d_fwd.cu). */
static void shape_convolution(enum rt_op_id op, const int64_t *dim, double width,
                              struct rt_recurrent_tiling *tiling, struct work *work)
{
    const struct causal_conv *d = (const struct causal_conv *)dim;
    bool by_channel = tiling->kind == RT_RECURRENT_CHANNELS;
    tiling->heads = (double)d->channels;
    tiling->steps = by_channel ? up((double)d->tokens, 1024) : fmin((double)d->tokens, 8);
    tiling->blocks = by_channel ? (double)d->batch * d->channels
                                : d->batch * up((double)d->tokens, 8) * up((double)d->channels, 256);
    work->flops = rt_ops[op].flops(dim);
    work->bytes = work->array = rt_ops[op].bytes(dim, width) + rt_ops[op].kept(dim, width);
}

/* ---- hyper-connections ---- */

/* Before a layer the streams are read by the product and once more by the sum that it weighs. The product has
 * few columns of outputs, of which matrix units compute 64 at least. */
static void shape_hyper(enum rt_op_id op, const int64_t *dim, double width,
                        struct rt_recurrent_tiling *tiling, struct work *work)
{
    double tokens = (double)dim[0], hidden = (double)dim[1], streams = (double)dim[2];
    bool before = op == RT_OP_HYPER_CONNECTION_PRE;
    double again = before ? width * tokens * streams * hidden : 0;
    tiling->heads = tiling->steps = 1;
    tiling->blocks = up(tokens, 64);
    work->bytes = rt_ops[op].bytes(dim, width) + again;
    work->array = again > 0 ? again : work->bytes;
    work->flops =
        before ? 2 * tokens * streams * hidden * fmax(64, streams * (streams + 2)) : rt_ops[op].flops(dim);
}

/* ---- all of them ---- */

static enum rt_recurrent_kind delta_kind(enum rt_server_project server, const struct rt_design *design)
{
    bool one = server == RT_SERVER_VLLM && rt_design_asynchronous(design);
    return !one                                       ? RT_RECURRENT_CHUNKED
           : design->units == RT_MATRIX_TENSOR_MEMORY ? RT_RECURRENT_FUSED_TENSOR
                                                      : RT_RECURRENT_FUSED;
}

static enum rt_recurrent_kind kind_of(enum rt_op_id op, const int64_t *dim, enum rt_server_project server,
                                      const struct rt_device *device)
{
    switch (op) {
    case RT_OP_DELTA_RULE_CONTEXT:
        return delta_kind(server, rt_design_of(device));
    case RT_OP_SSM_CONTEXT:
        return dim[3] == 1 ? RT_RECURRENT_CHANNELS : RT_RECURRENT_CHUNKED;
    case RT_OP_CAUSAL_CONV1D:
        return dim[1] == 1                    ? RT_RECURRENT_CONVOLUTION_STEP
               : server == RT_SERVER_TENSORRT ? RT_RECURRENT_CHANNELS
                                              : RT_RECURRENT_CONVOLUTION;
    case RT_OP_HYPER_CONNECTION_PRE:
        return RT_RECURRENT_PRE;
    case RT_OP_HYPER_CONNECTION_POST:
        return RT_RECURRENT_POST;
    default:
        return RT_RECURRENT_STEP;
    }
}

static void shape(enum rt_op_id op, const int64_t *dim, double width, struct rt_recurrent_tiling *tiling,
                  struct work *work)
{
    if (op == RT_OP_DELTA_RULE_CONTEXT || op == RT_OP_DELTA_RULE_GENERATION)
        shape_delta(op, dim, width, tiling, work);
    else if (op == RT_OP_CAUSAL_CONV1D)
        shape_convolution(op, dim, width, tiling, work);
    else if (op == RT_OP_SSM_CONTEXT || op == RT_OP_SSM_GENERATION)
        shape_ssm(op, dim, width, tiling, work);
    else
        shape_hyper(op, dim, width, tiling, work);
}

/* What follows one another: blocks, all of them or one, and their steps. Of a kernel that fills a
 * multiprocessor with a block whole waves of them. */
static void set_serial(struct rt_recurrent_tiling *tiling, const struct rt_device *device)
{
    const struct costs *cost = &costs[tiling->kind];
    double turns = tiling->blocks / device->sms, block, steps;
    if (cost->resident == 1)
        turns = ceil(turns);
    block = fmax(1, turns) * cost->block;
    steps = tiling->steps * fmax(cost->step, turns * cost->share);
    if (tiling->kind == RT_RECURRENT_CHUNKED || is_fused(tiling->kind))
        tiling->fused.blocks_us = rt_cycles_us(device, block);
    else
        steps += block;
    /* The walk of several kernels comes after what the others move, that of one beside it. */
    *(tiling->kind == RT_RECURRENT_CHUNKED ? &tiling->fused.blocks_us : &tiling->fused.compute_us) +=
        rt_cycles_us(device, steps);
}

void rt_tiling_recurrent(enum rt_op_id op, enum rt_dtype dtype, const int64_t *dim,
                         enum rt_server_project server, const struct rt_device *device,
                         struct rt_recurrent_tiling *out)
{
    struct rt_recurrent_tiling tiling = {.kind = kind_of(op, dim, server, device), .server = server};
    struct work work = {0};
    struct rt_rates rates = rt_rates_of(device, RT_FAMILY_RECURRENT, dtype);
    shape(op, dim, rt_dtypes[dtype].bytes, &tiling, &work);
    tiling.bytes = work.bytes;
    tiling.fused.start_us =
        rt_cycles_us(device, costs[tiling.kind].start + SOLVE_ROW_CYCLES * work.serial_rows);
    set_serial(&tiling, device);
    tiling.fused.compute_us = fmax(tiling.fused.compute_us, 1e6 * work.flops / rates.sustained_flops);
    rt_tiling_add_memory(device, work.bytes, work.array, &tiling.fused);
    rt_tiling_set_time(&tiling.fused);
    *out = tiling;
}
