/* The mean of a Gaussian process. See residual_correction.h. */
#include "models/predictor/residual_correction.h"

#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void rt_residual_correction_release(struct rt_residual_correction *correction)
{
    free(correction->point);
    free(correction->weight);
    free(correction->dtype);
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
