/*
 * The timed CPU kernels. See kernels.h.
 *
 * Loops are written so that the compiler vectorises them without -ffast-math: reductions run in LANES partial
 * sums, exponential and logarithm are polynomials. On x86 each tile function is compiled for three
 * instruction sets and the loader picks one; not in sanitizer builds, where that would run before the
 * sanitizer starts.
 */
#include "collect/cpu/kernels.h"
#include "base/expf.h"
#include "datasets/op.h"

#include <cblas.h>
#include <math.h>
#include <stdbool.h>
#include <string.h>

#if defined(__has_feature)
#if __has_feature(address_sanitizer)
#define SANITIZED 1
#endif
#endif
#if defined(__SANITIZE_ADDRESS__)
#define SANITIZED 1
#endif
#if defined(__x86_64__) && defined(__GLIBC__) && !defined(SANITIZED)
#define FOR_EACH_ISA __attribute__((target_clones("avx512f", "avx2", "default")))
#else
#define FOR_EACH_ISA
#endif

enum { LANES = 16 };

/* ---- products ---- */

/* input 0: A (batch, m, k); input 1: B (batch, k, n), linear: W (batch, n, k); input 2: bias (n) */
static void product_shape(const struct rt_cpu_kernel *kernel, int64_t batch, const int64_t *mnk,
                          struct rt_cpu_call *call)
{
    int64_t m = mnk[0], n = mnk[1], k = mnk[2];
    *call = (struct rt_cpu_call){.batch = batch, .m = m, .n = n, .k = k};
    call->tile_m = rt_cpu_smaller(m, RT_CPU_TILE_EDGE);
    call->tile_n = rt_cpu_smaller(n, RT_CPU_TILE_EDGE);
    call->tiles = (size_t)(batch * rt_cpu_ceil_div(m, call->tile_m) * rt_cpu_ceil_div(n, call->tile_n));
    call->input_count[0] = (size_t)(batch * m * k);
    call->input_count[1] = (size_t)(batch * k * n);
    call->input_count[2] = kernel->inputs > 2 ? (size_t)n : 0;
    call->output_count = (size_t)(batch * m * n);
}

static void gemm_shape(const struct rt_cpu_kernel *kernel, const int64_t *dim, struct rt_cpu_call *call)
{
    product_shape(kernel, 1, dim, call);
}

static void batched_shape(const struct rt_cpu_kernel *kernel, const int64_t *dim, struct rt_cpu_call *call)
{
    product_shape(kernel, dim[0], dim + 1, call);
}

/* Position and size of a product's tile. */
struct block {
    int64_t batch, row, column, rows, columns;
};

static struct block product_block(const struct rt_cpu_call *call, size_t tile)
{
    int64_t across = rt_cpu_ceil_div(call->n, call->tile_n), down = rt_cpu_ceil_div(call->m, call->tile_m);
    int64_t t = (int64_t)tile;
    struct block at = {.batch = t / (across * down),
                       .row = t / across % down * call->tile_m,
                       .column = t % across * call->tile_n};
    at.rows = rt_cpu_smaller(call->tile_m, call->m - at.row);
    at.columns = rt_cpu_smaller(call->tile_n, call->n - at.column);
    return at;
}

static void product_tile(const struct rt_cpu_call *call, size_t tile)
{
    struct block at = product_block(call, tile);
    const float *a = call->input[0] + (at.batch * call->m + at.row) * call->k;
    const float *b = call->input[1] + at.batch * call->k * call->n + at.column;
    float *c = call->output + (at.batch * call->m + at.row) * call->n + at.column;
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)at.rows, (blasint)at.columns,
                (blasint)call->k, 1, a, (blasint)call->k, b, (blasint)call->n, 0, c, (blasint)call->n);
}

static void linear_tile(const struct rt_cpu_call *call, size_t tile)
{
    struct block at = product_block(call, tile);
    const float *a = call->input[0] + (at.batch * call->m + at.row) * call->k;
    const float *w = call->input[1] + (at.batch * call->n + at.column) * call->k;
    const float *bias = call->input[2] + at.column;
    float *c = call->output + (at.batch * call->m + at.row) * call->n + at.column;
    for (int64_t i = 0; i < at.rows; i++)
        memcpy(c + i * call->n, bias, (size_t)at.columns * sizeof *c);
    cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasTrans, (blasint)at.rows, (blasint)at.columns,
                (blasint)call->k, 1, a, (blasint)call->k, w, (blasint)call->k, 1, c, (blasint)call->n);
}

/* ---- convolutions ---- */

enum { DEPTH = 256 }; /* of the patches gathered at once: with 128 pixels half of a core's L2 */

static struct rt_cpu_image image_of(const int64_t *dim)
{
    double height, width;
    rt_conv_outputs(dim, &height, &width);
    return (struct rt_cpu_image){.groups = dim[RT_CONV_GROUPS],
                                 .height = dim[RT_CONV_HEIGHT],
                                 .width = dim[RT_CONV_WIDTH],
                                 .kernel_h = dim[RT_CONV_KERNEL_H],
                                 .kernel_w = dim[RT_CONV_KERNEL_W],
                                 .stride_h = dim[RT_CONV_STRIDE],
                                 .stride_w = rt_conv_stride_w(dim),
                                 .padding_h = dim[RT_CONV_PADDING],
                                 .padding_w = rt_conv_padding_w(dim),
                                 .dilation = dim[RT_CONV_DILATION],
                                 .out_width = (int64_t)width};
}

bool rt_cpu_conv_can(const int64_t *dim)
{
    return dim[RT_CONV_CHANNELS_LAST] <= 0;
}

static void conv_shape(const struct rt_cpu_kernel *kernel, const int64_t *dim, struct rt_cpu_call *call)
{
    (void)kernel;
    double height, width;
    rt_conv_outputs(dim, &height, &width);
    int64_t groups = dim[RT_CONV_GROUPS], filters = dim[RT_CONV_OUT] / groups,
            pixels = (int64_t)(height * width);
    int64_t depth = dim[RT_CONV_IN] / groups * dim[RT_CONV_KERNEL_H] * dim[RT_CONV_KERNEL_W],
            products = dim[RT_CONV_BATCH] * groups;
    *call = (struct rt_cpu_call){
        .batch = products, .m = filters, .n = pixels, .k = depth, .image = image_of(dim)};
    call->tile_m = rt_cpu_smaller(filters, RT_CPU_TILE_EDGE);
    call->tile_n = rt_cpu_smaller(pixels, RT_CPU_TILE_EDGE);
    call->tiles =
        (size_t)(products * rt_cpu_ceil_div(filters, call->tile_m) * rt_cpu_ceil_div(pixels, call->tile_n));
    call->input_count[0] =
        (size_t)(dim[RT_CONV_BATCH] * dim[RT_CONV_IN] * dim[RT_CONV_HEIGHT] * dim[RT_CONV_WIDTH]);
    call->input_count[1] = (size_t)(dim[RT_CONV_OUT] * depth);
    call->output_count = (size_t)(products * filters * pixels);
}

/* Row `depth` of the patches of a group's image: the values that one element of a filter meets at `count`
 * output pixels from `pixel` on, 0 in the padding. */
static void gather(const struct rt_cpu_image *image, const float *x, int64_t depth, int64_t pixel,
                   int64_t count, float *out)
{
    int64_t window = image->kernel_h * image->kernel_w, tap = depth % window;
    const float *channel = x + depth / window * image->height * image->width;
    int64_t down = tap / image->kernel_w * image->dilation - image->padding_h;
    int64_t right = tap % image->kernel_w * image->dilation - image->padding_w;
    int64_t row = pixel / image->out_width, column = pixel % image->out_width;
    for (int64_t i = 0; i < count; i++) {
        int64_t y = row * image->stride_h + down, z = column * image->stride_w + right;
        bool inside = y >= 0 && y < image->height && z >= 0 && z < image->width;
        out[i] = inside ? channel[y * image->width + z] : 0;
        if (++column == image->out_width) {
            column = 0;
            row++;
        }
    }
}

static void conv_tile(const struct rt_cpu_call *call, size_t tile)
{
    float patches[DEPTH * RT_CPU_TILE_EDGE];
    const struct rt_cpu_image *image = &call->image;
    int64_t across = rt_cpu_ceil_div(call->n, call->tile_n), down = rt_cpu_ceil_div(call->m, call->tile_m),
            t = (int64_t)tile;
    int64_t product = t / (across * down), filter = t / across % down * call->tile_m;
    int64_t pixel = t % across * call->tile_n, channels = call->k / (image->kernel_h * image->kernel_w);
    int64_t filters = rt_cpu_smaller(call->tile_m, call->m - filter),
            pixels = rt_cpu_smaller(call->tile_n, call->n - pixel);
    const float *x = call->input[0] + product * channels * image->height * image->width;
    const float *w = call->input[1] + (product % image->groups * call->m + filter) * call->k;
    float *y = call->output + (product * call->m + filter) * call->n + pixel;
    for (int64_t from = 0; from < call->k; from += DEPTH) {
        int64_t depth = rt_cpu_smaller(DEPTH, call->k - from);
        for (int64_t d = 0; d < depth; d++)
            gather(image, x, from + d, pixel, pixels, patches + d * pixels);
        cblas_sgemm(CblasRowMajor, CblasNoTrans, CblasNoTrans, (blasint)filters, (blasint)pixels,
                    (blasint)depth, 1, w + from, (blasint)call->k, patches, (blasint)pixels, from > 0, y,
                    (blasint)call->n);
    }
}

/* ---- rows: softmax, layer norm ---- */

static void row_shape(const struct rt_cpu_kernel *kernel, const int64_t *dim, struct rt_cpu_call *call)
{
    (void)kernel;
    int64_t rows = dim[0], cols = dim[1];
    *call = (struct rt_cpu_call){.batch = 1, .m = rows, .n = cols, .k = 1, .tile_n = cols};
    call->tile_m = cols < RT_CPU_TILE_ELEMENTS ? RT_CPU_TILE_ELEMENTS / cols : 1;
    call->tile_m = rt_cpu_smaller(call->tile_m, rows);
    call->tiles = (size_t)rt_cpu_ceil_div(rows, call->tile_m);
    call->input_count[0] = call->output_count = (size_t)(rows * cols);
}

static inline float fold_sum(const float *lane)
{
    float sum = 0;
    for (int l = 0; l < LANES; l++)
        sum += lane[l];
    return sum;
}

static inline float row_max(const float *x, int64_t n)
{
    float lane[LANES], most = x[0];
    for (int l = 0; l < LANES; l++)
        lane[l] = x[0];
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] = x[j + l] > lane[l] ? x[j + l] : lane[l];
    for (int l = 0; l < LANES; l++)
        most = lane[l] > most ? lane[l] : most;
    for (; j < n; j++)
        most = x[j] > most ? x[j] : most;
    return most;
}

static inline float row_sum(const float *x, int64_t n)
{
    float lane[LANES] = {0};
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] += x[j + l];
    float sum = fold_sum(lane);
    for (; j < n; j++)
        sum += x[j];
    return sum;
}

static inline float row_squares(const float *x, int64_t n, float mean)
{
    float lane[LANES] = {0};
    int64_t j = 0;
    for (; j + LANES <= n; j += LANES)
        for (int l = 0; l < LANES; l++)
            lane[l] += (x[j + l] - mean) * (x[j + l] - mean);
    float sum = fold_sum(lane);
    for (; j < n; j++)
        sum += (x[j] - mean) * (x[j] - mean);
    return sum;
}

/* y_ij = exp(x_ij - max_j x_ij) / sum_j exp(...) */
FOR_EACH_ISA static void softmax_tile(const struct rt_cpu_call *call, size_t tile)
{
    int64_t first = (int64_t)tile * call->tile_m, last = rt_cpu_smaller(first + call->tile_m, call->m);
    for (int64_t i = first; i < last; i++) {
        const float *x = call->input[0] + i * call->n;
        float *y = call->output + i * call->n;
        float most = row_max(x, call->n);
        for (int64_t j = 0; j < call->n; j++)
            y[j] = rt_expf(x[j] - most);
        float scale = 1 / row_sum(y, call->n);
        for (int64_t j = 0; j < call->n; j++)
            y[j] *= scale;
    }
}

/* y_ij = (x_ij - mean_i) / sqrt(var_i + epsilon) * weight_j + bias_j */
FOR_EACH_ISA static void layernorm_tile(const struct rt_cpu_call *call, size_t tile)
{
    int64_t first = (int64_t)tile * call->tile_m, last = rt_cpu_smaller(first + call->tile_m, call->m);
    const float *weight = call->input[1], *bias = call->input[2];
    for (int64_t i = first; i < last; i++) {
        const float *x = call->input[0] + i * call->n;
        float *y = call->output + i * call->n;
        float mean = row_sum(x, call->n) / (float)call->n;
        float scale = 1 / sqrtf(row_squares(x, call->n, mean) / (float)call->n + RT_CPU_EPSILON);
        for (int64_t j = 0; j < call->n; j++)
            y[j] = (x[j] - mean) * scale * weight[j] + bias[j];
    }
}

static void layernorm_shape(const struct rt_cpu_kernel *kernel, const int64_t *dim, struct rt_cpu_call *call)
{
    row_shape(kernel, dim, call);
    call->input_count[1] = call->input_count[2] = (size_t)dim[1];
}

/* ---- elementwise ---- */

/* A tile is a run of elements of one row, as the tiles of NeuSight's vector ops are: rows never share one. */
static void run_shape(const struct rt_cpu_kernel *kernel, const int64_t *dim, struct rt_cpu_call *call)
{
    int64_t count = dim[0] * dim[1];
    *call = (struct rt_cpu_call){.batch = 1, .m = dim[0], .n = dim[1], .k = 1, .tile_m = 1};
    call->tile_n = rt_cpu_smaller(dim[1], RT_CPU_TILE_RUN);
    call->tiles = (size_t)(dim[0] * rt_cpu_ceil_div(dim[1], call->tile_n));
    for (int i = 0; i < kernel->inputs; i++)
        call->input_count[i] = (size_t)count;
    call->output_count = (size_t)count;
}

/* x and y are an element of the first and second input; unary ops ignore y. */
#define ELEMENTWISE(name, unary, expression)                                                                 \
    FOR_EACH_ISA static void name(const struct rt_cpu_call *call, size_t tile)                               \
    {                                                                                                        \
        size_t runs = (size_t)rt_cpu_ceil_div(call->n, call->tile_n), run = tile % runs;                     \
        size_t first = tile / runs * (size_t)call->n + run * (size_t)call->tile_n;                           \
        size_t count = (size_t)rt_cpu_smaller(call->n - (int64_t)run * call->tile_n, call->tile_n);          \
        const float *restrict a = call->input[0] + first;                                                    \
        const float *restrict b = unary ? a : call->input[1] + first;                                        \
        float *restrict out = call->output + first;                                                          \
        for (size_t i = 0; i < count; i++) {                                                                 \
            float x = a[i], y = b[i];                                                                        \
            (void)y;                                                                                         \
            out[i] = expression;                                                                             \
        }                                                                                                    \
    }

static inline float tanh_of(float x)
{
    return 1 - 2 / (rt_expf(2 * x) + 1);
}

/* Cephes' logf for x > 0: x = 2^n (1 + r) with 1 + r in sqrt(1/2)..sqrt(2) */
static inline float log_of(float x)
{
    int32_t bits, mantissa;
    memcpy(&bits, &x, sizeof bits);
    mantissa = (bits & 0x007fffff) | 0x3f000000; /* 0.5..1 */
    float r, n = (float)((bits >> 23) - 126);
    memcpy(&r, &mantissa, sizeof r);
    n = r < 0.707106781f ? n - 1 : n;
    r = r < 0.707106781f ? r + r - 1 : r - 1;
    float p = 7.0376836292e-2f;
    p = p * r - 1.1514610310e-1f;
    p = p * r + 1.1676998740e-1f;
    p = p * r - 1.2420140846e-1f;
    p = p * r + 1.4249322787e-1f;
    p = p * r - 1.6668057665e-1f;
    p = p * r + 2.0000714765e-1f;
    p = p * r - 2.4999993993e-1f;
    p = p * r + 3.3333331174e-1f;
    float z = r * r, y = p * r * z;
    y += n * -2.12194440e-4f - 0.5f * z;
    return r + y + n * 0.693359375f;
}

/* x^y for x > 0, which the operands are; relative error about 1e-7 |y log x| */
static inline float pow_of(float x, float y)
{
    return rt_expf(y * log_of(x));
}

ELEMENTWISE(add_tile, false, x + y)
ELEMENTWISE(mul_tile, false, (x * y))
ELEMENTWISE(div_tile, false, x / y)
ELEMENTWISE(pow_tile, false, pow_of(x, y))
ELEMENTWISE(add_scalar_tile, true, x + RT_CPU_SCALAR)
ELEMENTWISE(mul_scalar_tile, true, (x * RT_CPU_SCALAR))
ELEMENTWISE(div_scalar_tile, true, x / RT_CPU_SCALAR)
ELEMENTWISE(pow_scalar_tile, true, pow_of(x, RT_CPU_POW_SCALAR))
ELEMENTWISE(relu_tile, true, x > 0 ? x : 0)
ELEMENTWISE(tanh_tile, true, tanh_of(x))
/* GPT-2's form: 0.5 x (1 + tanh(sqrt(2 / pi) (x + 0.044715 x^3))) */
ELEMENTWISE(gelu_tile, true, 0.5f * x * (1 + tanh_of(0.797884561f * (x + 0.044715f * x * x * x))))

FOR_EACH_ISA static void triad(float *restrict a, const float *restrict b, const float *restrict c,
                               float scalar, size_t count)
{
    for (size_t i = 0; i < count; i++)
        a[i] = b[i] + scalar * c[i];
}

/* Not itself for each ISA: clang 14 gives such a function no name that other files can call. */
void rt_cpu_triad(float *a, const float *b, const float *c, float scalar, size_t count)
{
    triad(a, b, c, scalar, count);
}

/* clang-format off */
static const struct rt_cpu_kernel kernels[RT_OP_COUNT] = {
    [RT_OP_LINEAR]     = {"openblas_sgemm_bias_tile128x128", 3, batched_shape, linear_tile},
    [RT_OP_GEMM]       = {"openblas_sgemm_tile128x128", 2, gemm_shape, product_tile},
    [RT_OP_BMM]        = {"openblas_sgemm_tile128x128", 2, batched_shape, product_tile},
    [RT_OP_CONV2D]     = {"openblas_sgemm_conv_tile128x128", 2, conv_shape, conv_tile},
    [RT_OP_SOFTMAX]    = {"rooftile_softmax_rows", 1, row_shape, softmax_tile},
    [RT_OP_LAYERNORM]  = {"rooftile_layernorm_rows", 3, layernorm_shape, layernorm_tile},
    [RT_OP_ADD]        = {"rooftile_add", 2, run_shape, add_tile},
    [RT_OP_ADD_SCALAR] = {"rooftile_add_scalar", 1, run_shape, add_scalar_tile},
    [RT_OP_MUL]        = {"rooftile_mul", 2, run_shape, mul_tile},
    [RT_OP_MUL_SCALAR] = {"rooftile_mul_scalar", 1, run_shape, mul_scalar_tile},
    [RT_OP_DIV]        = {"rooftile_div", 2, run_shape, div_tile},
    [RT_OP_DIV_SCALAR] = {"rooftile_div_scalar", 1, run_shape, div_scalar_tile},
    [RT_OP_POW]        = {"rooftile_pow", 2, run_shape, pow_tile},
    [RT_OP_POW_SCALAR] = {"rooftile_pow_scalar", 1, run_shape, pow_scalar_tile},
    [RT_OP_RELU]       = {"rooftile_relu", 1, run_shape, relu_tile},
    [RT_OP_GELU]       = {"rooftile_gelu_tanh", 1, run_shape, gelu_tile},
    [RT_OP_TANH]       = {"rooftile_tanh", 1, run_shape, tanh_tile},
};
/* clang-format on */

const struct rt_cpu_kernel *rt_cpu_kernel(enum rt_op_id op)
{
    return op < RT_OP_COUNT && kernels[op].name != NULL ? &kernels[op] : NULL;
}
