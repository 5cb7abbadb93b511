/* The op table. FLOPs of vector ops follow NeuSight (ASPLOS 2025, section 5): softmax 5 and layer norm 6 an
 * element, every other elementwise op 1. */
#include "datasets/op.h"
#include "datasets/moe_routing.h"
#include "base/status.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>

/* linear: batch, m, n, k; the bias adds one FLOP an output. */
static double linear_flops(const int64_t *d)
{
    return (double)d[0] * d[1] * d[2] * (2.0 * d[3] + 1);
}
static double linear_bytes(const int64_t *d, double width)
{
    double matrices = (double)d[1] * d[3] + (double)d[3] * d[2] + (double)d[1] * d[2];
    return width * (d[0] * matrices + d[2]);
}

/* gemm: m, n, k */
static double gemm_flops(const int64_t *d)
{
    return 2.0 * d[0] * d[1] * d[2];
}
static double gemm_bytes(const int64_t *d, double width)
{
    return width * ((double)d[0] * d[2] + (double)d[2] * d[1] + (double)d[0] * d[1]);
}

/* bmm: batch, m, n, k */
static double bmm_flops(const int64_t *d)
{
    return d[0] * gemm_flops(d + 1);
}
static double bmm_bytes(const int64_t *d, double width)
{
    return d[0] * gemm_bytes(d + 1, width);
}

/* conv2d: batch, channels in, channels out, height, width, kernel height, kernel width, stride, padding,
 * dilation, groups. Output size as ONNX defines Conv. */
static double conv_out(int64_t in, int64_t kernel, const int64_t *d)
{
    double reach = (double)d[9] * (kernel - 1) + 1;
    double out = floor((in + 2.0 * d[8] - reach) / d[7]) + 1;
    return out > 0 ? out : 0;
}
static double conv_outputs(const int64_t *d)
{
    return (double)d[0] * d[2] * conv_out(d[3], d[5], d) * conv_out(d[4], d[6], d);
}
static double conv_flops(const int64_t *d)
{
    return 2.0 * conv_outputs(d) * ((double)d[1] / d[10]) * d[5] * d[6];
}
static double conv_bytes(const int64_t *d, double width)
{
    double input = (double)d[0] * d[1] * d[3] * d[4];
    double weights = (double)d[2] * ((double)d[1] / d[10]) * d[5] * d[6];
    return width * (input + weights + conv_outputs(d));
}

/* rows, columns */
static double elements(const int64_t *d)
{
    return (double)d[0] * d[1];
}
static double softmax_flops(const int64_t *d)
{
    return 5 * elements(d);
}
static double layernorm_flops(const int64_t *d)
{
    return 6 * elements(d);
}
/* Mean square, then scale by it and by the weight. */
static double rmsnorm_flops(const int64_t *d)
{
    return 4 * elements(d);
}
/* dx = y (dy - sum(y dy)) */
static double softmax_backward_flops(const int64_t *d)
{
    return 4 * elements(d);
}
/* Two sums over a row, then dx from x and dy; the sums over rows of the weights' gradients are another
 * kernel. */
static double norm_backward_flops(const int64_t *d)
{
    return 9 * elements(d);
}
static double unary_bytes(const int64_t *d, double width)
{
    return 2 * width * elements(d);
}
static double binary_bytes(const int64_t *d, double width)
{
    return 3 * width * elements(d);
}
/* fill writes; reduce reads, and its result is small beside what it reads */
static double once_bytes(const int64_t *d, double width)
{
    return width * elements(d);
}
/* batch, channels, height, width: in training mode, statistics first, then scale and shift; x is read twice
 * where it does not fit the L2, which is no compulsory traffic. */
static double image_elements(const int64_t *d)
{
    return (double)d[0] * d[1] * d[2] * d[3];
}
static double batchnorm_flops(const int64_t *d)
{
    return 6 * image_elements(d);
}
static double batchnorm_bytes(const int64_t *d, double width)
{
    return 2 * width * image_elements(d);
}
/* max_pool2d: batch, channels, height, width, kernel, stride, padding; a window of kernel x kernel */
static double pool_out(int64_t in, const int64_t *d)
{
    double out = floor((in + 2.0 * d[6] - d[4]) / d[5]) + 1;
    return out > 0 ? out : 0;
}
static double pool_outputs(const int64_t *d)
{
    return (double)d[0] * d[1] * pool_out(d[2], d) * pool_out(d[3], d);
}
static double pool_flops(const int64_t *d)
{
    return pool_outputs(d) * d[4] * d[4];
}
static double pool_bytes(const int64_t *d, double width)
{
    return width * (image_elements(d) + pool_outputs(d));
}
/* host_to_device, device_to_host: bytes, whatever they are */
static double copied_bytes(const int64_t *d, double width)
{
    (void)width;
    return (double)d[0];
}
static double no_bytes(const int64_t *d, double width)
{
    (void)d;
    (void)width;
    return 0;
}
/* A mask of one byte an element is kept (PyTorch, native_dropout) or read (where). */
static double masked_bytes(const int64_t *d, double width)
{
    return (2 * width + 1) * elements(d);
}

/* Attention: two products, Q K^T and P V, over the keys a query sees. FlashAttention (Dao 2022) counts
 * 4 x tokens x keys x head_dim x heads; a causal mask halves the part within the new tokens. */

/* Bytes of an element of keys and values: kv_bits of them, 0 as the queries have. */
static double kv_width(const int64_t *d, double width)
{
    return d[7] > 0 ? (double)d[7] / 8 : width;
}

/* attention_context: batch, tokens, cached, heads, kv_heads, head_dim, window, kv_bits */
static double context_flops(const int64_t *d)
{
    double tokens = d[1], cached = d[2], window = d[6] > 0 ? d[6] : INFINITY;
    /* Query i sees min(cached + i + 1, window) keys: a ramp, then a plateau. */
    double ramp = fmin(tokens, fmax(0, window - cached));
    double keys = ramp * (cached + (ramp + 1) / 2);
    if (ramp < tokens)
        keys += (tokens - ramp) * window;
    return 4.0 * d[0] * keys * d[3] * d[5];
}
static double context_bytes(const int64_t *d, double width)
{
    double queries = 2.0 * d[1] * d[3];               /* read Q, write the output */
    double keys = 2.0 * ((double)d[1] + d[2]) * d[4]; /* K and V */
    return d[0] * d[5] * (width * queries + kv_width(d, width) * keys);
}
/* attention_generation: batch, tokens (of a step), context, heads, kv_heads, head_dim, window, kv_bits */
static double generation_keys(const int64_t *d)
{
    double keys = (double)d[2] + d[1];
    return d[6] > 0 && d[6] < keys ? d[6] : keys;
}
static double generation_flops(const int64_t *d)
{
    return 4.0 * d[0] * d[1] * generation_keys(d) * d[3] * d[5];
}
static double generation_bytes(const int64_t *d, double width)
{
    double queries = 2.0 * d[1] * d[3], keys = 2 * generation_keys(d) * d[4];
    return d[0] * d[5] * (width * queries + kv_width(d, width) * keys);
}
/* attention_encoder: batch, tokens, heads, head_dim */
static double encoder_flops(const int64_t *d)
{
    return 4.0 * d[0] * d[1] * d[1] * d[2] * d[3];
}
static double encoder_bytes(const int64_t *d, double width)
{
    return width * 4.0 * d[0] * d[1] * d[2] * d[3];
}

/* moe: tokens, hidden, inter, topk, experts, tensor parallel, expert parallel, skew: a gated layer, three
 * products a token and expert; what the busiest of tp x ep GPUs does. */
static double moe_flops(const int64_t *d)
{
    struct rt_moe_routing routing;
    rt_moe_routing_of(d, &routing);
    return 6.0 * routing.rows * d[1] * d[2] / (double)d[5];
}
static double moe_bytes(const int64_t *d, double width)
{
    struct rt_moe_routing routing;
    rt_moe_routing_of(d, &routing);
    return width * (routing.touched * 3.0 * d[1] * d[2] / d[5] + 2.0 * d[0] * d[1]);
}

/* Collectives: gpus, elements. Bytes each GPU must send over its links in a ring (Thakur 2005): all-reduce
 * 2 (p-1)/p, the others (p-1)/p of the message. */
static double no_flops(const int64_t *d)
{
    (void)d;
    return 0;
}
static double ring_bytes(const int64_t *d, double width)
{
    return width * d[1] * (d[0] - 1.0) / d[0];
}
static double send_bytes(const int64_t *d, double width)
{
    return width * d[1];
}
static double all_reduce_bytes(const int64_t *d, double width)
{
    return 2 * ring_bytes(d, width);
}

/* optimizer: parameters. AdamW (Loshchilov & Hutter 2019): 12 FLOPs or so a parameter; reads weight, gradient
 * and two moments, writes weight and moments. */
static double optimizer_flops(const int64_t *d)
{
    return 12.0 * d[0];
}
static double optimizer_bytes(const int64_t *d, double width)
{
    return 7 * width * d[0];
}

/* clang-format off */
#define ROWS_COLS {"rows", "cols"}
#define ATTENTION {"batch", "tokens", "cached", "heads", "kv_heads", "head_dim", "window", "kv_bits"}
#define RING      {"gpus", "elements"}
#define MATMUL    {"batch", "m", "n", "k"}
#define IMAGE     "batch", "channels", "height", "width"

const struct rt_op rt_ops[RT_OP_COUNT] = {
    [RT_OP_LINEAR]     = {"linear", RT_FAMILY_LINEAR, MATMUL, linear_flops, linear_bytes, "Gemm", "linear"},
    [RT_OP_GEMM]       = {"gemm", RT_FAMILY_LINEAR, {"m", "n", "k"}, gemm_flops, gemm_bytes, "MatMul", NULL},
    [RT_OP_BMM]        = {"bmm", RT_FAMILY_BMM, MATMUL, bmm_flops, bmm_bytes, NULL, "bmm"},
    [RT_OP_CONV2D]     = {"conv2d", RT_FAMILY_CONV,
                          {"batch", "in_channels", "out_channels", "height", "width", "kernel_h", "kernel_w",
                           "stride", "padding", "dilation", "groups"},
                          conv_flops, conv_bytes, "Conv", "conv"},
    [RT_OP_SOFTMAX]    = {"softmax", RT_FAMILY_SOFTMAX, ROWS_COLS, softmax_flops, unary_bytes, "Softmax", "softmax"},
    [RT_OP_LAYERNORM]  = {"layernorm", RT_FAMILY_LAYERNORM, ROWS_COLS, layernorm_flops, unary_bytes,
                          "LayerNormalization", "ln"},
    [RT_OP_ADD]        = {"add", RT_FAMILY_ELEMENTWISE, ROWS_COLS, elements, binary_bytes, "Add", "add"},
    [RT_OP_ADD_SCALAR] = {"add_scalar", RT_FAMILY_ELEMENTWISE, ROWS_COLS, elements, unary_bytes, NULL, "addu"},
    [RT_OP_MUL]        = {"mul", RT_FAMILY_ELEMENTWISE, ROWS_COLS, elements, binary_bytes, "Mul", "mul"},
    [RT_OP_MUL_SCALAR] = {"mul_scalar", RT_FAMILY_ELEMENTWISE, ROWS_COLS, elements, unary_bytes, NULL, "mulu"},
    [RT_OP_DIV]        = {"div", RT_FAMILY_ELEMENTWISE, ROWS_COLS, elements, binary_bytes, "Div", "div"},
    [RT_OP_DIV_SCALAR] = {"div_scalar", RT_FAMILY_ELEMENTWISE, ROWS_COLS, elements, unary_bytes, NULL, "divu"},
    [RT_OP_POW]        = {"pow", RT_FAMILY_ELEMENTWISE, ROWS_COLS, elements, binary_bytes, "Pow", "pow"},
    [RT_OP_POW_SCALAR] = {"pow_scalar", RT_FAMILY_ELEMENTWISE, ROWS_COLS, elements, unary_bytes, NULL, "powu"},
    [RT_OP_RELU]       = {"relu", RT_FAMILY_ELEMENTWISE, ROWS_COLS, elements, unary_bytes, "Relu", "relu"},
    [RT_OP_GELU]       = {"gelu", RT_FAMILY_ELEMENTWISE, ROWS_COLS, elements, unary_bytes, "Gelu", "gelu"},
    [RT_OP_TANH]       = {"tanh", RT_FAMILY_ELEMENTWISE, ROWS_COLS, elements, unary_bytes, "Tanh", "tanh"},
    [RT_OP_ATTENTION_CONTEXT]    = {"attention_context", RT_FAMILY_ATTENTION, ATTENTION, context_flops,
                                    context_bytes, "Attention", NULL},
    [RT_OP_ATTENTION_GENERATION] = {"attention_generation", RT_FAMILY_ATTENTION, ATTENTION, generation_flops,
                                    generation_bytes, NULL, NULL},
    [RT_OP_ATTENTION_ENCODER]    = {"attention_encoder", RT_FAMILY_ATTENTION,
                                    {"batch", "tokens", "heads", "head_dim"}, encoder_flops, encoder_bytes,
                                    NULL, NULL},
    [RT_OP_MOE]        = {"moe", RT_FAMILY_MOE,
                          {"tokens", "hidden", "inter", "topk", "experts", "tp", "ep", "skew"}, moe_flops, moe_bytes,
                          NULL, NULL},
    [RT_OP_ALL_REDUCE] = {"all_reduce", RT_FAMILY_COLLECTIVE, RING, no_flops, all_reduce_bytes, NULL, NULL},
    [RT_OP_ALL_GATHER] = {"all_gather", RT_FAMILY_COLLECTIVE, RING, no_flops, ring_bytes, NULL, NULL},
    [RT_OP_REDUCE_SCATTER] = {"reduce_scatter", RT_FAMILY_COLLECTIVE, RING, no_flops, ring_bytes, NULL, NULL},
    [RT_OP_ALL_TO_ALL] = {"all_to_all", RT_FAMILY_COLLECTIVE, RING, no_flops, ring_bytes, NULL, NULL},
    [RT_OP_SILU]       = {"silu", RT_FAMILY_ELEMENTWISE, ROWS_COLS, elements, unary_bytes, NULL, NULL},
    [RT_OP_CLAMP]      = {"clamp", RT_FAMILY_ELEMENTWISE, ROWS_COLS, elements, unary_bytes, "Clip", NULL},
    [RT_OP_RSQRT]      = {"rsqrt", RT_FAMILY_ELEMENTWISE, ROWS_COLS, elements, unary_bytes, NULL, NULL},
    [RT_OP_EMBEDDING]  = {"embedding", RT_FAMILY_MEMORY, ROWS_COLS, no_flops, unary_bytes, "Gather", NULL},
    [RT_OP_DROPOUT]    = {"dropout", RT_FAMILY_MEMORY, ROWS_COLS, elements, masked_bytes, "Dropout", NULL},
    [RT_OP_WHERE]      = {"where", RT_FAMILY_MEMORY, ROWS_COLS, no_flops, masked_bytes, "Where", NULL},
    [RT_OP_COPY]       = {"copy", RT_FAMILY_MEMORY, ROWS_COLS, no_flops, unary_bytes, "Transpose", NULL},
    [RT_OP_FILL]       = {"fill", RT_FAMILY_MEMORY, ROWS_COLS, no_flops, once_bytes, NULL, NULL},
    [RT_OP_REDUCE]     = {"reduce", RT_FAMILY_MEMORY, ROWS_COLS, elements, once_bytes, NULL, NULL},
    [RT_OP_INDEX]      = {"index", RT_FAMILY_MEMORY, ROWS_COLS, no_flops, unary_bytes, "GatherElements", NULL},
    [RT_OP_OPTIMIZER]  = {"optimizer", RT_FAMILY_MEMORY, {"parameters"}, optimizer_flops, optimizer_bytes, NULL, NULL},
    [RT_OP_SEND_RECEIVE] = {"send_receive", RT_FAMILY_COLLECTIVE, RING, no_flops, send_bytes, NULL, NULL},
    [RT_OP_RMSNORM]    = {"rmsnorm", RT_FAMILY_LAYERNORM, ROWS_COLS, rmsnorm_flops, unary_bytes,
                          "RMSNormalization", NULL},
    [RT_OP_SOFTMAX_BACKWARD]   = {"softmax_backward", RT_FAMILY_SOFTMAX, ROWS_COLS, softmax_backward_flops,
                                  binary_bytes, NULL, NULL},
    [RT_OP_LAYERNORM_BACKWARD] = {"layernorm_backward", RT_FAMILY_LAYERNORM, ROWS_COLS, norm_backward_flops,
                                  binary_bytes, NULL, NULL},
    [RT_OP_RMSNORM_BACKWARD]   = {"rmsnorm_backward", RT_FAMILY_LAYERNORM, ROWS_COLS, norm_backward_flops,
                                  binary_bytes, NULL, NULL},
    [RT_OP_BATCHNORM]  = {"batchnorm", RT_FAMILY_MEMORY, {IMAGE}, batchnorm_flops, batchnorm_bytes,
                          "BatchNormalization", NULL},
    [RT_OP_MAX_POOL2D] = {"max_pool2d", RT_FAMILY_MEMORY, {IMAGE, "kernel", "stride", "padding"}, pool_flops,
                          pool_bytes, "MaxPool", NULL},
    [RT_OP_TRANSPOSE]  = {"transpose", RT_FAMILY_MEMORY, ROWS_COLS, no_flops, unary_bytes, NULL, NULL},
    [RT_OP_HOST_TO_DEVICE] = {"host_to_device", RT_FAMILY_HOST, {"bytes"}, no_flops, copied_bytes, NULL, NULL},
    [RT_OP_DEVICE_TO_HOST] = {"device_to_host", RT_FAMILY_HOST, {"bytes"}, no_flops, copied_bytes, NULL, NULL},
    [RT_OP_LAUNCH]     = {"launch", RT_FAMILY_HOST, {"blocks"}, no_flops, no_bytes, NULL, NULL},
};

const struct rt_dtype_row rt_dtypes[RT_DTYPE_COUNT] = {
    [RT_FP32]      = {"fp32", 4, "float32 float single"},
    [RT_TF32]      = {"tf32", 4, "tensorfloat32"},
    [RT_FP16]      = {"fp16", 2, "float16 half"},
    [RT_BF16]      = {"bf16", 2, "bfloat16"},
    [RT_FP8]       = {"fp8", 1, "float8 float8_e4m3 fp8_e4m3"},
    [RT_FP8_BLOCK] = {"fp8_block", 1 + 4.0 / (128 * 128), "fp8_blockwise"},
    [RT_FP4]       = {"fp4", 0.5 + 1.0 / 16, "nvfp4 float4"},
    [RT_INT8]      = {"int8", 1, "sq int8_wo"},
    [RT_FP64]      = {"fp64", 8, "float64 double"},
    [RT_INT4]      = {"int4", 0.5, "int4_wo w4a16"},
    [RT_MXFP4]     = {"mxfp4", 0.5 + 1.0 / 32, "w4a16_mxfp4"},
};
/* clang-format on */

const struct rt_family_row rt_families[RT_FAMILY_COUNT] = {
    [RT_FAMILY_BMM] = {"bmm", .product = true, .tensor = true, .keeps = RT_KEEPS_INPUTS},
    [RT_FAMILY_LINEAR] = {"linear", .product = true, .tensor = true, .keeps = RT_KEEPS_INPUTS},
    [RT_FAMILY_ELEMENTWISE] = {"elementwise", .pointwise = true, .keeps = RT_KEEPS_INPUTS},
    [RT_FAMILY_SOFTMAX] = {"softmax", .row_wise = true, .keeps = RT_KEEPS_OUTPUT},
    [RT_FAMILY_LAYERNORM] = {"layernorm", .row_wise = true, .keeps = RT_KEEPS_INPUTS},
    [RT_FAMILY_CONV] = {"conv", .tensor = true, .keeps = RT_KEEPS_INPUTS},
    [RT_FAMILY_ATTENTION] = {"attention", .tensor = true, .keeps = RT_KEEPS_INPUTS},
    [RT_FAMILY_MOE] = {"moe", .tensor = true, .keeps = RT_KEEPS_INPUTS},
    [RT_FAMILY_COLLECTIVE] = {"collective", .link = true},
    [RT_FAMILY_MEMORY] = {"memory", .moves = true},
    [RT_FAMILY_HOST] = {"host", .host = true},
};

bool rt_family_vector(enum rt_family family)
{
    return rt_families[family].pointwise || rt_families[family].row_wise;
}
const char *const rt_phases[RT_PHASE_COUNT] = {"forward", "backward", "accumulate"};

int rt_op_find(const char *name)
{
    for (int i = 0; i < RT_OP_COUNT; i++)
        if (strcmp(rt_ops[i].name, name) == 0)
            return i;
    for (int i = 0; i < RT_OP_COUNT; i++)
        if (rt_ops[i].neusight != NULL && strcmp(rt_ops[i].neusight, name) == 0)
            return i;
    return -1;
}

static int has_word(const char *words, const char *word)
{
    size_t length = strlen(word);
    for (const char *at = words; (at = strcasestr(at, word)) != NULL; at += length)
        if ((at == words || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return 1;
    return 0;
}

int rt_dtype_find(const char *name)
{
    if (name[0] == '\0')
        return -1;
    for (int i = 0; i < RT_DTYPE_COUNT; i++)
        if (strcasecmp(rt_dtypes[i].name, name) == 0 || has_word(rt_dtypes[i].aliases, name))
            return i;
    return -1;
}

int rt_family_find(const char *name)
{
    for (int i = 0; i < RT_FAMILY_COUNT; i++)
        if (strcmp(rt_families[i].name, name) == 0)
            return i;
    return -1;
}

int rt_op_ndims(enum rt_op_id op)
{
    int n = 0;
    while (rt_ops[op].dims[n] != NULL)
        n++;
    return n;
}

enum rt_kept rt_op_keeps(enum rt_op_id op)
{
    switch (op) {
    case RT_OP_ADD:
    case RT_OP_ADD_SCALAR:
    case RT_OP_MUL_SCALAR:
    case RT_OP_DIV_SCALAR: /* linear: the gradient of the output is enough */
        return RT_KEEPS_NOTHING;
    default:
        return rt_families[rt_ops[op].family].keeps;
    }
}

/* Dims for which nothing (no padding, no window, an empty cache) is a sensible value. */
static int may_be_zero(const char *dim)
{
    return strcmp(dim, "padding") == 0 || strcmp(dim, "cached") == 0 || strcmp(dim, "window") == 0;
}

bool rt_op_may_lack(enum rt_op_id op, int d)
{
    const char *dim = rt_ops[op].dims[d];
    return strcmp(dim, "kv_bits") == 0 || strcmp(dim, "skew") == 0;
}

int rt_op_check(enum rt_op_id op, const int64_t *dim)
{
    const int64_t most = (int64_t)1 << 40;
    for (int i = 0; rt_ops[op].dims[i] != NULL; i++) {
        if (dim[i] >= 1 && dim[i] <= most)
            continue;
        const char *name = rt_ops[op].dims[i];
        int64_t least = rt_op_may_lack(op, i) ? -1 : may_be_zero(name) ? 0 : 1;
        if (dim[i] < least || dim[i] > most)
            return rt_fail(RT_EFORMAT, "%s: %s is %" PRId64 "; it must lie in %" PRId64 "..2^40",
                           rt_ops[op].name, name, dim[i], least);
    }
    if (op == RT_OP_CONV2D && conv_outputs(dim) < 1)
        return rt_fail(RT_EFORMAT,
                       "conv2d: the kernel is larger than the padded input, so nothing comes out");
    if (op == RT_OP_MAX_POOL2D && (pool_outputs(dim) < 1 || 2 * dim[6] > dim[4]))
        return rt_fail(RT_EFORMAT,
                       "max_pool2d: the window must fit the padded input, and the padding half the window");
    return RT_OK;
}
