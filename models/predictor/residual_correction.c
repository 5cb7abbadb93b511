/* The mean of a Gaussian process. See correction.h. */
#include "models/predictor/residual_correction.h"

#include <math.h>
#include <stdlib.h>

void rt_residual_correction_release(struct rt_residual_correction *correction)
{
    free(correction->point);
    free(correction->weight);
    free(correction->dtype);
    *correction = (struct rt_residual_correction){0};
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

/* As earlier builds had it. */
static double likeness_of_inputs(const rt_real *a, const rt_real *b, size_t width, double length)
{
    return exp(-squared_distance(a, b, width) / ((double)width * 2 * length * length));
}

double rt_residual_correction_at(const struct rt_residual_correction *correction, enum rt_dtype dtype,
                                 const rt_real *place)
{
    double sum = 0;
    size_t width = correction->width;
    for (size_t i = 0; i < correction->points; i++) {
        const rt_real *point = correction->point + i * width;
        if (correction->length > 0)
            sum += correction->weight[i] * likeness_of_inputs(point, place, width, correction->length);
        else if (correction->dtype[i] == dtype)
            sum += correction->weight[i] * rt_residual_correction_likeness(point, place, width);
    }
    return sum;
}
