/*
 * Error metrics of forecasts against measurements, all in percent of what was measured. With the relative
 * error e = (forecast - measured) / measured:
 *
 *   mape      mean of |e|
 *   median    50th percentile of |e|
 *   p90       90th percentile of |e|
 *   bias      mean of e; above 0 the forecast is too slow
 *   within10  share of the values with |e| <= 10%
 *   max       the largest |e|
 *
 * A percentile p of n sorted values lies at place p (n - 1), counted from 0, with linear interpolation
 * between neighbours: type 7 of Hyndman and Fan (1996), the default of NumPy and R.
 */
#ifndef ROOFTILE_PREDICT_EVALUATE_METRICS_H
#define ROOFTILE_PREDICT_EVALUATE_METRICS_H

#include <stddef.h>

struct rt_metrics {
    size_t count;
    double mape, median, p90, bias, within10, max; /* NaN where count is 0 */
};

/* Of the intervals of such forecasts; percent.
 *
 *   coverage  share of the measured values within their interval
 *   width     mean of half the interval, of the forecast
 */
struct rt_interval_metrics {
    double coverage, width; /* NaN where a forecast has no interval */
};

/* (forecast - measured) / measured in percent. */
double rt_error_percent(double measured, double forecast);

/* Measured values are positive, all are finite: the caller chose them. */
void rt_metrics_of(const double *measured, const double *forecast, size_t count, struct rt_metrics *out);

/* `half` (count): how far ln(measured / forecast) may lie from 0, NaN where that is unknown. */
void rt_interval_metrics_of(const double *measured, const double *forecast, const double *ln_half_width,
                            size_t count, struct rt_interval_metrics *out);

/* Percentile of `sorted` (count), `share` in 0..1; NaN where count is 0. */
double rt_percentile(const double *sorted, size_t count, double share);

#endif
