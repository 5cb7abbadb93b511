/*
 * The op table, and above it what each op computes and moves. The dims of an op with many are a struct of
 * int64_t, laid over the dims of a call.
 *
 * FLOPs of vector ops follow NeuSight (ASPLOS 2025, section 5): softmax 5 and layer norm 6 an element, every
 * other elementwise op 1.
 */
#include "datasets/op.h"
#include "datasets/fabric.h"
#include "datasets/moe_routing.h"
#include "base/status.h"
#include "base/text.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* What `name` computes, and moves, by the dims of a call and the width of an element. */
#define FLOPS(name_, value_)                                                                                 \
    static double name_##_flops(const int64_t *dim)                                                          \
    {                                                                                                        \
        return value_;                                                                                       \
    }
#define BYTES(name_, value_)                                                                                 \
    static double name_##_bytes(const int64_t *dim, double width)                                            \
    {                                                                                                        \
        return value_;                                                                                       \
    }

/* ---- products ---- */

/* The bias adds one FLOP an output. */
struct linear {
    int64_t batch, m, n, k;
};
static double linear_flops(const int64_t *dim)
{
    const struct linear *d = (const struct linear *)dim;
    return (double)d->batch * d->m * d->n * (2.0 * d->k + 1);
}
static double linear_bytes(const int64_t *dim, double width)
{
    const struct linear *d = (const struct linear *)dim;
    double matrices = (double)d->m * d->k + (double)d->k * d->n + (double)d->m * d->n;
    return width * (d->batch * matrices + d->n);
}

static double linear_kept(const int64_t *dim, double width)
{
    const struct linear *d = (const struct linear *)dim;
    return width * ((double)d->batch * d->k * d->n + d->n);
}

struct gemm {
    int64_t m, n, k;
};
static double gemm_flops(const int64_t *dim)
{
    const struct gemm *d = (const struct gemm *)dim;
    return 2.0 * d->m * d->n * d->k;
}
static double gemm_bytes(const int64_t *dim, double width)
{
    const struct gemm *d = (const struct gemm *)dim;
    return width * ((double)d->m * d->k + (double)d->k * d->n + (double)d->m * d->n);
}

static double gemm_kept(const int64_t *dim, double width)
{
    const struct gemm *d = (const struct gemm *)dim;
    return width * (double)d->k * d->n;
}

/* batch, then a gemm */
FLOPS(bmm, dim[0] * gemm_flops(dim + 1))
BYTES(bmm, dim[0] * gemm_bytes(dim + 1, width))

/* ---- convolution and pooling ---- */

struct conv2d {
    int64_t batch, in_channels, out_channels, height, width, kernel_h, kernel_w, stride, padding, dilation,
        groups, stride_w, padding_w, channels_last;
};
/* Output size as ONNX defines Conv. */
static double conv_out(int64_t in, int64_t kernel, int64_t dilation, int64_t stride, int64_t padding)
{
    double reach = (double)dilation * (kernel - 1) + 1;
    double out = floor((in + 2.0 * padding - reach) / stride) + 1;
    return out > 0 ? out : 0;
}
int64_t rt_conv_stride_w(const int64_t *dim)
{
    return dim[RT_CONV_STRIDE_W] > 0 ? dim[RT_CONV_STRIDE_W] : dim[RT_CONV_STRIDE];
}
int64_t rt_conv_padding_w(const int64_t *dim)
{
    return dim[RT_CONV_PADDING_W] >= 0 ? dim[RT_CONV_PADDING_W] : dim[RT_CONV_PADDING];
}
void rt_conv_outputs(const int64_t *dim, double *height, double *width)
{
    const struct conv2d *d = (const struct conv2d *)dim;
    *height = conv_out(d->height, d->kernel_h, d->dilation, d->stride, d->padding);
    *width = conv_out(d->width, d->kernel_w, d->dilation, rt_conv_stride_w(dim), rt_conv_padding_w(dim));
}
static double conv_outputs(const struct conv2d *d)
{
    double height, width;
    rt_conv_outputs(&d->batch, &height, &width);
    return (double)d->batch * d->out_channels * height * width;
}
static double conv_flops(const int64_t *dim)
{
    const struct conv2d *d = (const struct conv2d *)dim;
    return 2.0 * conv_outputs(d) * ((double)d->in_channels / d->groups) * d->kernel_h * d->kernel_w;
}

/* Of r pixels along an axis: Winograd's F(4, r), 3 + r products for 4 pixels; an FFT of 32 points 32 for 33 -
 * r. */
static double least_share_of_axis(double kernel)
{
    return kernel <= 3 ? (3 + kernel) / (4 * kernel) : 32 / ((33 - fmin(kernel, 32)) * kernel);
}
double rt_conv_least_share(const int64_t *dim)
{
    const struct conv2d *d = (const struct conv2d *)dim;
    if (d->stride > 1 || d->stride_w > 1 || d->dilation > 1)
        return 1;
    return least_share_of_axis((double)d->kernel_h) * least_share_of_axis((double)d->kernel_w);
}

/* Rows of the input that a stride passes over are not read; nor are columns, where channels lie side by side.
 */
static double conv_bytes(const int64_t *dim, double width)
{
    const struct conv2d *d = (const struct conv2d *)dim;
    double out_h, out_w;
    rt_conv_outputs(dim, &out_h, &out_w);
    double rows = fmin((double)d->height, out_h * d->kernel_h);
    double cols = d->channels_last == 1 ? fmin((double)d->width, out_w * d->kernel_w) : (double)d->width;
    double input = (double)d->batch * d->in_channels * rows * cols;
    double weights =
        (double)d->out_channels * ((double)d->in_channels / d->groups) * d->kernel_h * d->kernel_w;
    return width * (input + weights + conv_outputs(d));
}
static const char *conv_wrong(const int64_t *dim)
{
    const struct conv2d *d = (const struct conv2d *)dim;
    if (d->in_channels % d->groups != 0 || d->out_channels % d->groups != 0)
        return "groups must divide the channels of the input and of the output";
    return conv_outputs(d) < 1 ? "the kernel is larger than the padded input, so there is no output" : NULL;
}

/* A window of kernel x kernel. */
struct pool {
    int64_t batch, channels, height, width, kernel, stride, padding, ceil;
};
/* Rounded up, a window must still begin inside the image or its left padding (PyTorch, pooling_shape). */
static double pool_out(const struct pool *d, int64_t in)
{
    double steps = (in + 2.0 * d->padding - d->kernel) / d->stride;
    double out = (d->ceil > 0 ? ceil(steps) : floor(steps)) + 1;
    if (d->ceil > 0 && (out - 1) * d->stride >= (double)in + d->padding)
        out--;
    return out > 0 ? out : 0;
}
static double pool_outputs(const struct pool *d)
{
    return (double)d->batch * d->channels * pool_out(d, d->height) * pool_out(d, d->width);
}
static double pool_flops(const int64_t *dim)
{
    const struct pool *d = (const struct pool *)dim;
    return pool_outputs(d) * d->kernel * d->kernel;
}
/* batch, channels, height, width */
static double image_elements(const int64_t *dim)
{
    return (double)dim[0] * dim[1] * dim[2] * dim[3];
}
BYTES(pool, (image_elements(dim) + pool_outputs((const struct pool *)dim)) * width)
static const char *pool_wrong(const int64_t *dim)
{
    const struct pool *d = (const struct pool *)dim;
    return pool_outputs(d) < 1 || 2 * d->padding > d->kernel
               ? "the window must fit the padded input, and the padding half the window"
               : NULL;
}

/* The gradient of a maximum goes to where it was: an index of 8 bytes an output (PyTorch). */
BYTES(max_pool_backward, pool_bytes(dim, width) + 8 * pool_outputs((const struct pool *)dim))

/* An image of another size: batch, channels, height, width, out_height, out_width. */
static double resized_elements(const int64_t *dim)
{
    return (double)dim[0] * dim[1] * dim[4] * dim[5];
}
BYTES(resize, (image_elements(dim) + resized_elements(dim)) * width)
/* A sum over the input that the outputs share out. */
FLOPS(adaptive_pool, fmax(image_elements(dim), resized_elements(dim)))
/* Bilinear: four products and three sums an output. */
FLOPS(resize, 7 * resized_elements(dim))

/* Scale and shift by running statistics. */
FLOPS(batchnorm_inference, 2 * image_elements(dim))
/* Two sums over x and dy, then dx from both (Ioffe & Szegedy 2015). That x and dy are read twice where they
 * exceed the L2 is no compulsory traffic. */
FLOPS(batchnorm_backward, 9 * image_elements(dim))
BYTES(image_ternary, 3 * width * image_elements(dim))
/* Squares, their sums over `size` channels, a power, a quotient (Krizhevsky 2012, section 3.3). */
FLOPS(response_norm, (dim[4] + 4.0) * image_elements(dim))
static const char *shuffle_wrong(const int64_t *dim)
{
    return dim[1] % dim[4] != 0 ? "groups must divide the channels" : NULL;
}

/* batchnorm in training: statistics, then scale and shift. That x is read twice where it exceeds the L2 is no
 * compulsory traffic. */
FLOPS(batchnorm, 6 * image_elements(dim))
BYTES(batchnorm, 2 * width * image_elements(dim))

/* ---- rows x columns ---- */

static double elements(const int64_t *dim)
{
    return (double)dim[0] * dim[1];
}
FLOPS(softmax, 5 * elements(dim))
FLOPS(layernorm, 6 * elements(dim))
/* Mean square, then scale by it and by the weight. */
FLOPS(rmsnorm, 4 * elements(dim))
/* x cos + rotated x sin, for a pair at a time: four multiplications and two additions a pair (Su et al. 2021)
 */
FLOPS(rotary, 3 * elements(dim))
/* The sigmoid counts two, as a product with x. */
FLOPS(silu_mul, 3 * elements(dim))
FLOPS(residual_rmsnorm, 5 * elements(dim))
/* dx = y (dy - sum(y dy)) */
FLOPS(softmax_backward, 4 * elements(dim))
/* Two sums over a row, then dx from x and dy. The gradients of the weights, sums over rows, are another
 * kernel. */
FLOPS(norm_backward, 9 * elements(dim))
BYTES(unary, 2 * width * elements(dim))
BYTES(binary, 3 * width * elements(dim))
/* Reads x and the residual, writes their sum and its norm. */
BYTES(residual, 4 * width * elements(dim))
/* fill writes once; reduce reads once, and its result is small beside what it reads. */
BYTES(once, elements(dim) * width)
/* dropout writes a mask of one byte an element (PyTorch, native_dropout); where reads one. */
BYTES(masked, (2 * width + 1) * elements(dim))

/* To elements of so many bits, by a scale a row or a block. */
BYTES(quantise, (width + dim[2] / 8.0) * elements(dim))

/* Manifold-constrained hyper-connections (DeepSeek, arXiv 2512.24880): the residual is n streams. Before a
 * layer their norm times a matrix gives n weights to read, n to write and n x n to mix by, in fp32, the last
 * made doubly stochastic by so many Sinkhorn steps; the layer reads the weighed sum. After it every stream
 * becomes a mix of all and of what the layer put out. */
struct hyper {
    int64_t tokens, hidden, streams, iterations;
};
static double hyper_pre_flops(const int64_t *dim)
{
    const struct hyper *d = (const struct hyper *)dim;
    double n = (double)d->streams, weights = n * (n + 2);
    return d->tokens * (n * d->hidden * (2 * weights + 4) + 4.0 * d->iterations * n * n);
}
static double hyper_pre_bytes(const int64_t *dim, double width)
{
    const struct hyper *d = (const struct hyper *)dim;
    double n = (double)d->streams, weights = n * (n + 2);
    return width * d->tokens * (n + 1) * d->hidden + 4 * weights * n * d->hidden +
           4.0 * d->tokens * n * (n + 1);
}
static double hyper_post_flops(const int64_t *dim)
{
    const struct hyper *d = (const struct hyper *)dim;
    return 2.0 * d->tokens * d->hidden * d->streams * (d->streams + 1);
}
static double hyper_post_bytes(const int64_t *dim, double width)
{
    const struct hyper *d = (const struct hyper *)dim;
    return width * d->tokens * (2.0 * d->streams + 1) * d->hidden;
}

/* ---- mixture of experts ---- */

/* Three products a (token, expert) pair, two where the layer is not gated. Of the busiest of tp x ep GPUs. */
static double moe_flops(const int64_t *dim)
{
    struct rt_moe_routing routing;
    rt_moe_routing_of(dim, &routing);
    return 2 * rt_moe_products(dim) * routing.rows * (double)dim[RT_MOE_HIDDEN] * (double)dim[RT_MOE_INTER] /
           (double)dim[RT_MOE_TP];
}

/* Of the tokens, in and out. */
BYTES(moe_token, width * 2 * (double)dim[RT_MOE_TOKENS] * (double)dim[RT_MOE_HIDDEN])

static double moe_kept(const int64_t *dim, double width)
{
    struct rt_moe_routing routing;
    rt_moe_routing_of(dim, &routing);
    return width * routing.touched * rt_moe_products(dim) * (double)dim[RT_MOE_HIDDEN] *
           (double)dim[RT_MOE_INTER] / (double)dim[RT_MOE_TP];
}

BYTES(moe, moe_kept(dim, width) + moe_token_bytes(dim, width))

/* ---- collectives: gpus, elements, fabric, library, per_node, network, network_mbs ---- */

enum { FABRIC = RT_DIM_FABRIC, LIBRARY = RT_DIM_LIBRARY, NETWORK = RT_DIM_NETWORK };

/* What each GPU must send over its links in a ring (Thakur 2005): (p-1)/p of the message, all-reduce twice
 * that. */
BYTES(ring, dim[1] * width * (dim[0] - 1.0) / dim[0])
BYTES(all_reduce, 2 * ring_bytes(dim, width))
BYTES(send, dim[1] * width)
static const char *collective_wrong(const int64_t *dim)
{
    return dim[FABRIC] >= RT_FABRIC_COUNT     ? "there is no fabric of that number (datasets/fabric.h)"
           : dim[LIBRARY] >= RT_LIBRARY_COUNT ? "there is no library of that number (datasets/fabric.h)"
           : dim[NETWORK] >= RT_NETWORK_COUNT ? "there is no network of that number (datasets/fabric.h)"
                                              : NULL;
}
static double no_flops(const int64_t *dim)
{
    (void)dim;
    return 0;
}

/* ---- optimizer: parameters ---- */

/* AdamW (Loshchilov & Hutter 2019): about 12 FLOPs a parameter; reads weight, gradient and two moments,
 * writes weight and moments. */
FLOPS(optimizer, 12.0 * dim[0])
BYTES(optimizer, 7 * width * dim[0])

/* ---- host ---- */

/* The dim of a copy is its bytes, whatever the dtype. */
static double copied_bytes(const int64_t *dim, double width)
{
    (void)width;
    return (double)dim[0];
}
static double no_bytes(const int64_t *dim, double width)
{
    (void)dim;
    (void)width;
    return 0;
}

/* ---- the table ---- */

/* clang-format off */
#define ROWS_COLS {"rows", "cols"}
#define SEQUENCES "batch", "tokens", "cached", "heads"
#define ATTENTION {SEQUENCES, "kv_heads", "head_dim", "window", "kv_bits"}
#define CHOSEN    {SEQUENCES, "kv_heads", "head_dim", "value_dim", "chosen", "ratio", "window", "latent", "kv_bits"}
#define DELTA     {"batch", "tokens", "k_heads", "k_dim", "v_heads", "v_dim", "gates"}
#define STATES    {"batch", "tokens", "heads", "head_dim", "groups", "state", "chunk"}
#define MOE       {"tokens", "hidden", "inter", "topk", "experts", "tp", "ep", "skew", "ungated"}
#define RING      {"gpus", "elements", "fabric", "library", "per_node", "network", "network_mbs"}
#define MATMUL    {"batch", "m", "n", "k"}
#define IMAGE     "batch", "channels", "height", "width"
#define CONV      {"batch", "in_channels", "out_channels", "height", "width", "kernel_h", "kernel_w", "stride", \
                   "padding", "dilation", "groups", "stride_w", "padding_w", "channels_last"}
#define POOL      {IMAGE, "kernel", "stride", "padding", "ceil"}
#define RESIZE    {IMAGE, "out_height", "out_width"}

/* clang-format on */

const struct rt_op rt_ops[RT_OP_COUNT] = {
#define OP(id_, number_, ...) [RT_OP_##id_] = {__VA_ARGS__},
#include "datasets/ops.def"
#undef OP
};

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

int rt_op_ndims(enum rt_op_id op)
{
    int n = 0;
    while (rt_ops[op].dims[n] != NULL)
        n++;
    return n;
}

enum rt_kept rt_op_keeps(enum rt_op_id op)
{
    return rt_ops[op].linear ? RT_KEEPS_NOTHING : rt_families[rt_ops[op].family].keeps;
}

bool rt_op_may_lack(enum rt_op_id op, int d)
{
    static const char *const late[] = {"kv_bits",   "skew",          "fabric", "library", "stride_w",
                                       "padding_w", "channels_last", "ceil",   "ungated", "per_node",
                                       "network",   "network_mbs",   "growth"};
    for (size_t i = 0; i < RT_COUNT(late); i++)
        if (strcmp(rt_ops[op].dims[d], late[i]) == 0)
            return true;
    return false;
}

int rt_op_graph_dims(enum rt_op_id op)
{
    return rt_families[rt_ops[op].family].link ? RT_DIM_FABRIC : rt_op_ndims(op);
}

/* -1: may be missing; 0: no padding, no window, an empty cache. */
static int64_t least_value(enum rt_op_id op, int d)
{
    const char *dim = rt_ops[op].dims[d];
    static const char *const from_zero[] = {"padding", "cached", "window", "chosen", "latent"};
    bool zero = false;
    for (size_t i = 0; i < RT_COUNT(from_zero); i++)
        zero = zero || strcmp(dim, from_zero[i]) == 0;
    return rt_op_may_lack(op, d) ? -1 : zero ? 0 : 1;
}

int rt_op_check(enum rt_op_id op, const int64_t *dim)
{
    const int64_t most = (int64_t)1 << 40;
    for (int i = 0; rt_ops[op].dims[i] != NULL; i++) {
        if (dim[i] >= 1 && dim[i] <= most)
            continue;
        int64_t least = least_value(op, i);
        if (dim[i] < least || dim[i] > most)
            return rt_fail(RT_EFORMAT, "%s: %s is %" PRId64 "; it must lie in %" PRId64 "..2^40",
                           rt_ops[op].name, rt_ops[op].dims[i], dim[i], least);
    }
    const char *wrong = rt_ops[op].wrong != NULL ? rt_ops[op].wrong(dim) : NULL;
    return wrong == NULL ? RT_OK : rt_fail(RT_EFORMAT, "%s: %s", rt_ops[op].name, wrong);
}

void rt_op_suggest(struct rt_text *list)
{
    rt_family_suggest(list);
    for (int op = 0; op < RT_OP_COUNT; op++)
        if (rt_family_find(rt_ops[op].name) < 0) /* softmax is both */
            rt_text_add(list, "%s\n", rt_ops[op].name);
}
