/*
 * Products, convolutions and attention by their definitions, in double precision. Compared
 * with stand-ins (test_cuda_libraries.c, test_cuda_dnn.c) and with the real libraries on a GPU (test_cuda_device.c).
 */
#pragma once

#include "collect/task.h"
#include "base/status.h"
#include "numbers.h"

#include <stdbool.h>
#include <stdlib.h>

/* Numbers of a type in host memory. */
struct block {
    const void *at;
    enum rt_dtype dtype;
};

static inline double element(struct block block, int64_t i)
{
    return value_of(block.at, block.dtype, i);
}

/* ---- products ---- */

/* C(m,n) = A(m,k) B(k,n) for each of a batch; the bias, where there is one, is added to every row. */
struct product {
    struct block a, b, bias; /* bias.at NULL: none */
    int64_t m, n, k;
    bool transposed; /* b is (n,k) */
};

/* Element i of C; *size: the sum of the absolute values of its terms. */
static inline double product_at(const struct product *p, int64_t i, double *size)
{
    int64_t column = i % p->n, row = i / p->n % p->m, at = i / p->n / p->m;
    double sum = p->bias.at == NULL ? 0 : element(p->bias, column);
    *size = fabs(sum);
    for (int64_t k = 0; k < p->k; k++) {
        double term =
            element(p->a, (at * p->m + row) * p->k + k) *
            element(p->b, at * p->k * p->n + (p->transposed ? column * p->k + k : k * p->n + column));
        sum += term;
        *size += fabs(term);
    }
    return sum;
}

/* ---- convolutions ---- */

/* An image or weights (a, b, c, d) in memory, channels (b) first or last. */
static inline int64_t at4(const int64_t dim[4], bool last, int64_t a, int64_t b, int64_t c, int64_t d)
{
    return last ? ((a * dim[2] + c) * dim[3] + d) * dim[1] + b : ((a * dim[1] + b) * dim[2] + c) * dim[3] + d;
}

/* Sizes of x, w and y. */
static inline void conv_dims(const struct rt_task *task, int64_t dims[3][4])
{
    const int64_t *d = task->call.dim;
    int64_t stride_w = d[11] > 0 ? d[11] : d[7], padding_w = d[12] >= 0 ? d[12] : d[8];
    int64_t height = (d[3] + 2 * d[8] - d[9] * (d[5] - 1) - 1) / d[7] + 1;
    int64_t width = (d[4] + 2 * padding_w - d[9] * (d[6] - 1) - 1) / stride_w + 1;
    const int64_t all[3][4] = {
        {d[0], d[1], d[3], d[4]}, {d[2], d[1] / d[10], d[5], d[6]}, {d[0], d[2], height, width}};
    memcpy(dims, all, sizeof all);
}

/* Which of x, w, y a phase writes. */
static inline int conv_result(const struct rt_task *task)
{
    return task->call.phase == RT_FORWARD ? 2 : task->call.phase == RT_BACKWARD ? 0 : 1;
}

/* What the phase should write, from the other two operands, and the size of the terms: both `count` numbers,
 * to be freed. */
static inline double *expect_conv(const struct rt_task *task, const struct block operand[3], double **size,
                                  int64_t *count)
{
    const int64_t *d = task->call.dim;
    int64_t dims[3][4];
    conv_dims(task, dims);
    const int64_t *xd = dims[0], *wd = dims[1], *yd = dims[2];
    bool last = d[13] == 1;
    int64_t stride_w = d[11] > 0 ? d[11] : d[7], padding_w = d[12] >= 0 ? d[12] : d[8];
    int into = conv_result(task);
    *count = dims[into][0] * dims[into][1] * dims[into][2] * dims[into][3];
    double *result = rt_calloc((size_t)*count, sizeof *result);
    *size = rt_calloc((size_t)*count, sizeof **size);
    for (int64_t n = 0; n < yd[0]; n++)
        for (int64_t k = 0; k < yd[1]; k++)
            for (int64_t pixel = 0; pixel < yd[2] * yd[3]; pixel++)
                for (int64_t tap = 0; tap < wd[1] * wd[2] * wd[3]; tap++) {
                    int64_t p = pixel / yd[3], q = pixel % yd[3];
                    int64_t c = tap / (wd[2] * wd[3]), r = tap / wd[3] % wd[2], t = tap % wd[3];
                    int64_t row = p * d[7] - d[8] + r * d[9], column = q * stride_w - padding_w + t * d[9];
                    if (row < 0 || row >= xd[2] || column < 0 || column >= xd[3])
                        continue;
                    int64_t group = k / (yd[1] / d[10]);
                    int64_t place[3] = {at4(xd, last, n, group * wd[1] + c, row, column),
                                        at4(wd, last, k, c, r, t), at4(yd, last, n, k, p, q)};
                    int one = into == 0 ? 1 : 0, other = into == 2 ? 1 : 2;
                    double term = element(operand[one], place[one]) * element(operand[other], place[other]);
                    result[place[into]] += term;
                    (*size)[place[into]] += fabs(term);
                }
    return result;
}

/* ---- attention ---- */

struct attention_shape {
    int64_t batch, queries, keys, heads, kv_heads, width;
    bool causal;
};

/* The largest difference between the output and softmax(Q K' / sqrt(d)) V, tensors (batch, token, head, d).
 */
static inline double attention_error(struct block q, struct block k, struct block v, struct block out,
                                     const struct attention_shape *s)
{
    double worst = 0, *weight = rt_malloc((size_t)s->keys * sizeof *weight);
    int64_t shared = s->heads / s->kv_heads, width = s->width;
    for (int64_t at = 0; at < s->batch * s->queries * s->heads; at++) {
        int64_t head = at % s->heads, token = at / s->heads % s->queries, b = at / s->heads / s->queries;
        int64_t seen = s->causal ? token + 1 : s->keys;
        double sum = 0;
        for (int64_t key = 0; key < seen; key++) {
            double score = 0;
            int64_t row = ((b * s->keys + key) * s->kv_heads + head / shared) * width;
            for (int64_t i = 0; i < width; i++)
                score += element(q, at * width + i) * element(k, row + i);
            sum += weight[key] = exp(score / sqrt((double)width));
        }
        for (int64_t i = 0; i < width; i++) {
            double value = 0;
            for (int64_t key = 0; key < seen; key++)
                value += weight[key] / sum *
                         element(v, ((b * s->keys + key) * s->kv_heads + head / shared) * width + i);
            double error = fabs(value - element(out, at * width + i));
            worst = error > worst || isnan(error) ? error : worst;
        }
    }
    free(weight);
    return worst;
}
