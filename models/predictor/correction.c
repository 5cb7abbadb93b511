/* The mean of a Gaussian process. See correction.h. */
#include "models/predictor/correction.h"

#include <math.h>
#include <stdlib.h>

void rt_correction_release(struct rt_correction *correction)
{
    free(correction->point);
    free(correction->weight);
    *correction = (struct rt_correction){0};
}

double rt_correction_likeness(const rt_real *a, const rt_real *b, size_t features, double length)
{
    double squares = 0;
    for (size_t f = 0; f < features; f++) {
        double apart = (double)a[f] - (double)b[f];
        squares += apart * apart;
    }
    return exp(-squares / ((double)features * 2 * length * length));
}

double rt_correction_at(const struct rt_correction *correction, const rt_real *features)
{
    double sum = 0;
    for (size_t i = 0; i < correction->points; i++)
        sum += correction->weight[i] * rt_correction_likeness(correction->point + i * correction->features,
                                                              features, correction->features,
                                                              correction->length);
    return sum;
}
