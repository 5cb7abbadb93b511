/* Mean and variance of a Gaussian process. See residual_correction.h. */
#include "models/predictors/predictor/residual_correction.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void rt_residual_correction_release(struct rt_residual_correction *correction)
{
    free(correction->point);
    free(correction->weight);
    free(correction->dtype);
    free(correction->noise);
    free(correction->factor);
    *correction = (struct rt_residual_correction){0};
}

/* NULL stays NULL. */
static void *copy_of(const void *block, size_t bytes)
{
    return block != NULL ? memcpy(rt_malloc(bytes + 1), block, bytes) : NULL;
}

void rt_residual_correction_copy(const struct rt_residual_correction *from,
                                 struct rt_residual_correction *out)
{
    struct rt_residual_correction copy = *from;
    copy.point = copy_of(from->point, from->points * from->width * sizeof *from->point);
    copy.weight = copy_of(from->weight, from->points * sizeof *from->weight);
    copy.dtype = copy_of(from->dtype, from->points * sizeof *from->dtype);
    copy.noise = copy_of(from->noise, from->points * sizeof *from->noise);
    copy.factor = NULL;
    rt_residual_correction_prepare(&copy);
    *out = copy;
}

static double squared_distance(const rt_real *a, const rt_real *b, size_t width)
{
    double squares = 0;
    for (size_t i = 0; i < width; i++) {
        double apart = (double)a[i] - (double)b[i];
        squares += apart * apart;
    }
    return squares;
}

double rt_residual_correction_likeness(const rt_real *a, const rt_real *b, size_t width)
{
    return exp(-sqrt(squared_distance(a, b, width)));
}

double rt_residual_correction_at(const struct rt_residual_correction *correction, enum rt_dtype dtype,
                                 const rt_real *place)
{
    double sum = 0;
    size_t width = correction->width;
    for (size_t i = 0; i < correction->points; i++) {
        const rt_real *point = correction->point + i * width;
        if (correction->dtype[i] == dtype)
            sum += correction->weight[i] * rt_residual_correction_likeness(point, place, width);
    }
    return sum;
}

/* --- variance --- */

/* The points of one dtype, and their part of the factor. */
struct block {
    const struct rt_residual_correction *correction;
    size_t count;
    size_t *index;  /* (count) of the correction's points */
    double *factor; /* (count, count) */
};

static void block_init(struct block *block, const struct rt_residual_correction *correction, uint8_t dtype)
{
    size_t before[RT_DTYPE_COUNT] = {0}, offset = 0;
    *block = (struct block){.correction = correction,
                            .index = rt_malloc((correction->points + 1) * sizeof *block->index)};
    for (size_t i = 0; correction->factor != NULL && i < correction->points; i++) {
        before[correction->dtype[i]]++;
        if (correction->dtype[i] == dtype)
            block->index[block->count++] = i;
    }
    for (uint8_t d = 0; d < dtype; d++)
        offset += before[d] * before[d];
    block->factor = correction->factor != NULL ? correction->factor + offset : NULL;
}

static const rt_real *point_of(const struct block *block, size_t k)
{
    return block->correction->point + block->index[k] * block->correction->width;
}

/* Row k of L from the rows above (Golub and Van Loan, section 4.2). The matrix is positive definite: noise is
 * above 0. */
static void factor_row(struct block *block, size_t k)
{
    double *row = block->factor + k * block->count;
    for (size_t j = 0; j <= k; j++) {
        const double *other = block->factor + j * block->count;
        double left =
            rt_residual_correction_likeness(point_of(block, k), point_of(block, j), block->correction->width);
        left += j == k ? block->correction->noise[block->index[k]] : 0;
        for (size_t i = 0; i < j; i++)
            left -= row[i] * other[i];
        row[j] = j == k ? sqrt(fmax(left, 1e-12)) : left / other[j];
    }
}

static size_t factor_size(const struct rt_residual_correction *correction)
{
    size_t count[RT_DTYPE_COUNT] = {0}, size = 0;
    for (size_t i = 0; i < correction->points; i++)
        count[correction->dtype[i]]++;
    for (size_t d = 0; d < RT_DTYPE_COUNT; d++)
        size += count[d] * count[d];
    return size;
}

void rt_residual_correction_prepare(struct rt_residual_correction *correction)
{
    free(correction->factor);
    correction->factor = NULL;
    if (correction->noise == NULL)
        return;
    correction->factor = rt_calloc(factor_size(correction) + 1, sizeof *correction->factor);
    for (uint8_t dtype = 0; dtype < RT_DTYPE_COUNT; dtype++) {
        struct block block;
        block_init(&block, correction, dtype);
        for (size_t k = 0; k < block.count; k++)
            factor_row(&block, k);
        free(block.index);
    }
}

/* x := L^-1 x, whose elements before `from` are 0; returns x . x */
static double solve_lower(const struct block *block, size_t from, double *x)
{
    double squares = 0;
    for (size_t k = from; k < block->count; k++) {
        const double *row = block->factor + k * block->count;
        for (size_t i = from; i < k; i++)
            x[k] -= row[i] * x[i];
        x[k] /= row[k];
        squares += x[k] * x[k];
    }
    return squares;
}

double rt_residual_correction_variance(const struct rt_residual_correction *correction, enum rt_dtype dtype,
                                       const rt_real *place)
{
    struct block block;
    block_init(&block, correction, (uint8_t)dtype);
    double *x = rt_malloc((block.count + 1) * sizeof *x);
    for (size_t k = 0; k < block.count; k++)
        x[k] = rt_residual_correction_likeness(point_of(&block, k), place, correction->width);
    double share = 1 - solve_lower(&block, 0, x);
    free(x);
    free(block.index);
    return fmax(share, 0);
}

double rt_residual_correction_left_out(const struct rt_residual_correction *correction, size_t point,
                                       double *error)
{
    struct block block;
    size_t k = 0;
    block_init(&block, correction, correction->dtype[point]);
    while (block.index[k] != point)
        k++;
    double *x = rt_calloc(block.count + 1, sizeof *x);
    x[k] = 1;
    double precision = solve_lower(&block, k, x); /* of the inverse's diagonal */
    free(x);
    free(block.index);
    *error = correction->weight[point] / precision;
    return fmax(1 / precision - correction->noise[point], 0);
}
