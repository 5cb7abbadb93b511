/* The rule of throttling. See throttling.h. */
#include "models/predictors/predictor/throttling.h"
#include "base/sort.h"

#include <math.h>
#include <stdlib.h>

bool rt_throttling_covers(enum rt_family family)
{
    return rt_families[family].product;
}

bool rt_shows_utilisation(const struct rt_bound *bound)
{
    return bound->compute_share > 0.9 && bound->bound_us > RT_LARGE_US;
}

double rt_median_utilisation(double *reached, size_t count)
{
    if (count < RT_LARGE_KERNELS)
        return NAN;
    return rt_median(reached, count);
}
