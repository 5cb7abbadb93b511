/* Sorting real numbers. See sort.h. */
#include "base/sort.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

void rt_sort_reals(double *values, size_t count)
{
    qsort(values, count, sizeof *values, by_value);
}

double rt_median(double *values, size_t count)
{
    if (count == 0)
        return NAN;
    rt_sort_reals(values, count);
    return (values[(count - 1) / 2] + values[count / 2]) / 2;
}
