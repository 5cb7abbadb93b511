/*
 * The kernels that the CPU backend times: what a framework's CPU path would run. An op's output is divided
 * into `tiles` disjoint tiles, which any number of threads may compute in any order, as a GPU's SMs compute
 * thread blocks:
 *
 *     products               at most 128 x 128 outputs, one cblas_sgemm each over the whole depth k
 *     convolutions           at most 128 filters x 128 pixels of one image and group
 *     softmax, layer norm    whole rows, about 16 Ki elements
 *     elementwise            at most 4 Ki elements of one row
 *
 * All matrices are row-major; linear's weight is (n, k), as frameworks store it.
 */
#pragma once

#include "datasets/op.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RT_CPU_INPUTS        3
#define RT_CPU_TILE_EDGE     128   /* products: rows and columns of a tile */
#define RT_CPU_TILE_ELEMENTS 16384 /* softmax, layer norm: of whole rows */
#define RT_CPU_TILE_RUN      4096  /* elementwise: of one row */
#define RT_CPU_POW_SCALAR    3.0f
#define RT_CPU_SCALAR        1.25f
#define RT_CPU_EPSILON       1e-5f /* layer norm */

/* Of a convolution: its input and its windows. */
struct rt_cpu_image {
    int64_t groups, height, width, kernel_h, kernel_w, stride_h, stride_w, padding_h, padding_w, dilation;
    int64_t out_width;
};

/* One op with its dims and operands. */
struct rt_cpu_call {
    int64_t batch, m, n, k; /* products; else 1, rows, columns, 1 */
    int64_t tile_m, tile_n; /* what a tile covers, at most; elementwise: 1, elements */
    struct rt_cpu_image image;
    size_t tiles;
    size_t input_count[RT_CPU_INPUTS]; /* elements of each operand, 0: none */
    size_t output_count;
    const float *input[RT_CPU_INPUTS];
    float *output;
};

struct rt_cpu_kernel {
    const char *name; /* "openblas_sgemm_tile128x128"; NULL: this op has no CPU kernel */
    int inputs;       /* operands of a product or of an elementwise op */
    void (*shape)(const struct rt_cpu_kernel *kernel, const int64_t *dim, struct rt_cpu_call *call);
    void (*tile)(const struct rt_cpu_call *call, size_t tile);
};

static inline int64_t rt_cpu_smaller(int64_t a, int64_t b)
{
    return a < b ? a : b;
}
static inline int64_t rt_cpu_ceil_div(int64_t a, int64_t b)
{
    return (a + b - 1) / b;
}

/* The row of an op, NULL where it has none. */
const struct rt_cpu_kernel *rt_cpu_kernel(enum rt_op_id op);

/* One triad a[i] = b[i] + s * c[i], the probe of memory bandwidth. */
void rt_cpu_triad(float *a, const float *b, const float *c, float scalar, size_t count);

/* Can a convolution of these dims be run? Channels first; dims may be missing. */
bool rt_cpu_conv_can(const int64_t *dim);
