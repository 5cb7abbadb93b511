/* Error metrics. See metrics.h. */
#include "predict/evaluate/metrics.h"
#include "base/sort.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>

double rt_error_percent(double measured, double forecast)
{
    return 100 * (forecast - measured) / measured;
}

double rt_percentile(const double *sorted, size_t count, double share)
{
    if (count == 0)
        return NAN;
    double place = share * (double)(count - 1);
    size_t below = (size_t)place;
    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

void rt_metrics_of(const double *measured, const double *forecast, size_t count, struct rt_metrics *out)
{
    double *error = rt_malloc(count * sizeof *error), sum = 0, signed_sum = 0;
    size_t within = 0;
    for (size_t i = 0; i < count; i++) {
        double e = rt_error_percent(measured[i], forecast[i]);
        error[i] = fabs(e);
        sum += error[i];
        signed_sum += e;
        within += error[i] <= 10;
    }
    rt_sort_reals(error, count);
    double n = count > 0 ? (double)count : NAN;
    *out = (struct rt_metrics){.count = count,
                               .mape = sum / n,
                               .median = rt_percentile(error, count, 0.5),
                               .p90 = rt_percentile(error, count, 0.9),
                               .bias = signed_sum / n,
                               .within10 = 100 * (double)within / n,
                               .max = rt_percentile(error, count, 1)};
    free(error);
}

void rt_interval_metrics_of(const double *measured, const double *forecast, const double *ln_half_width,
                            size_t count, struct rt_interval_metrics *out)
{
    double within = 0, width = 0;
    for (size_t i = 0; i < count; i++) {
        within += fabs(log(measured[i] / forecast[i])) <= ln_half_width[i];
        width += sinh(ln_half_width[i]); /* (exp(half) - exp(-half)) / 2; NaN stays */
    }
    double n = count > 0 && !isnan(width) ? (double)count : NAN;
    *out = (struct rt_interval_metrics){100 * within / n, 100 * width / n};
}
