/* Throttled sessions. See hygiene.h. */
#include "train/hygiene.h"
#include "datasets/status.h"

#include <math.h>
#include <stdlib.h>

static int by_value(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;
    return (x > y) - (x < y);
}

double rt_rows_utilisation(const struct rt_rows *rows, int32_t device)
{
    double *shares = rt_malloc((rows->count + 1) * sizeof *shares);
    size_t count = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const struct rt_bound *bound = &rows->bounds[i];
        if (rows->device[i] == device && bound->compute_share > 0.9 && bound->bound_us > RT_LARGE_US)
            shares[count++] = bound->bound_us / rows->target_us[i];
    }
    qsort(shares, count, sizeof *shares, by_value);
    double median = count < RT_LARGE_KERNELS ? NAN : (shares[(count - 1) / 2] + shares[count / 2]) / 2;
    free(shares);
    return median;
}
