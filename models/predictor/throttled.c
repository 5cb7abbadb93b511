/* Throttled sessions. See throttled.h. */
#include "models/predictor/throttled.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

bool rt_tells_utilisation(const struct rt_bound *bound)
{
    return bound->compute_share > 0.9 && bound->bound_us > RT_LARGE_US;
}

double rt_median_utilisation(double *reached, size_t count)
{
    if (count < RT_LARGE_KERNELS)
        return NAN;
    qsort(reached, count, sizeof *reached, by_value);
    return (reached[(count - 1) / 2] + reached[count / 2]) / 2;
}
