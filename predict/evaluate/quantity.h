/*
 * Errors of forecasts; quantities: what was measured of a run beside its time, and what is forecast of it.
 */
#pragma once

#include "base/options.h"
#include "base/report.h"
#include "datasets/dataset.h"

#include <stdbool.h>
#include <stddef.h>

/* ---- metrics ----
 *
 * Errors of forecasts against measurements, all in percent of what was measured. With the relative
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
 * between neighbours: type 7 of Hyndman and Fan (1996), the default of NumPy and R. */

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

/* ---- quantities ----
 *
 * Each is a row of rt_quantities. A scored item (a run, a run under a power limit, a server under load) has a
 * measured value and forecasts of those that apply to it; one way to pool items and one table of the report
 * serve all of them. To judge another quantity: add its row, set its values where items are made, and give it
 * a column of a table of pools. */

enum rt_quantity_id {
    /* Memory of a GPU at its peak, MiB: of tensors, of the framework's allocator, of all that the GPU has. */
    RT_QUANTITY_ALLOCATED,
    RT_QUANTITY_RESERVED,
    RT_QUANTITY_USED,
    /* 1 where a run ran, where it was out of memory; forecast: 1 where that was said, else 0. */
    RT_QUANTITY_RAN,
    RT_QUANTITY_OUT_OF_MEMORY,
    RT_QUANTITY_TIME,         /* us */
    RT_QUANTITY_POWER,        /* mean of one GPU, W */
    RT_QUANTITY_TIMED_POWER,  /* the same, forecast with the measured time */
    RT_QUANTITY_ENERGY,       /* of all GPUs, J */
    RT_QUANTITY_TOKEN_ENERGY, /* J/token */
    RT_QUANTITY_OPTIMUM,      /* power limit of the least energy, W */
    RT_QUANTITY_LEAST_ENERGY, /* that energy; as forecast: what the limit that is forecast costs, measured */
    RT_QUANTITY_TPOT,         /* us */
    RT_QUANTITY_TTFT,         /* us */
    RT_QUANTITY_TTFT_FEW,     /* with so few users that a prompt hardly waits */
    RT_QUANTITY_THROUGHPUT,   /* tokens/s */
    RT_QUANTITY_COUNT
};

struct rt_quantity {
    const char *key;   /* in JSON */
    const char *words; /* title of its picture; NULL: it has none */
    const char *unit;  /* of the picture */
    double scale;      /* from a value to that unit */
};
extern const struct rt_quantity rt_quantities[RT_QUANTITY_COUNT];

/* Whose forecast: the predictor's; by the priors of models/predictors/roofline/energy.h alone (one set of
 * coefficients, nothing fitted); as if a GPU drew all that its board, or the run's limit, allows. */
enum rt_forecast_by { RT_BY_PREDICTOR, RT_BY_PRIORS, RT_BY_BOARD, RT_BY_COUNT };
extern const char *const rt_forecast_bys[RT_BY_COUNT]; /* "forecast", "priors", "board" */

struct rt_scored_item {
    const struct rt_workload *workload; /* the run; NULL: it is of no dataset */
    double gpus, limit_w,
        tokens;        /* of a run with energy: limit of one GPU; tokens: that it makes, NaN: none */
    double device_mib; /* memory of its GPU; NaN: unknown */
    double measured[RT_QUANTITY_COUNT]; /* NaN: not measured, or no test of the forecast */
    double forecast[RT_BY_COUNT][RT_QUANTITY_COUNT];
    double ln_half_width; /* by the predictor, of ln(power), of ln(TPOT) of servers; NaN: unknown */
};

static inline void rt_scored_set(struct rt_scored_item *item, enum rt_quantity_id quantity, double measured,
                                 double forecast)
{
    item->measured[quantity] = measured;
    item->forecast[RT_BY_PREDICTOR][quantity] = forecast;
}

struct rt_scored_items {
    struct rt_scored_item *item;
    size_t count, capacity;
};

/* A new item without values. The pointer holds until the next is added. */
struct rt_scored_item *rt_scored_items_add(struct rt_scored_items *items);
void rt_scored_items_release(struct rt_scored_items *items);

/* ---- tables of pools ---- */

/* What a column says of the items of a pool that have its quantity measured; metrics.h. */
enum rt_statistic {
    RT_STATISTIC_N,
    RT_STATISTIC_MAPE,
    RT_STATISTIC_MEDIAN,
    RT_STATISTIC_BIAS,
    RT_STATISTIC_MAX,
    RT_STATISTIC_COVERAGE, /* of the 90% interval of the predictor, percent */
    RT_STATISTIC_MISSED,   /* how many were forecast as 0 */
    RT_STATISTIC_NEAR,     /* forecast to RT_NEAR_LIMIT_W, percent */
    RT_STATISTIC_COUNT
};

/* Power limits that are so near count as the same optimum, W: a step of common sweeps. */
#define RT_NEAR_LIMIT_W 25.0

struct rt_pool_column {
    const char *key, *title;      /* as of struct rt_column */
    enum rt_quantity_id quantity; /* RT_QUANTITY_COUNT: of those of the table that with the most values */
    enum rt_statistic statistic;
    enum rt_forecast_by by;
};

enum { RT_POOL_NAMES = 3, RT_MAX_POOL_COLUMNS = 16 };
struct rt_pool_table {
    const char *key, *title;         /* in the report */
    const char *name[RT_POOL_NAMES]; /* columns that say which items a row pools; NULL: no more */
    const struct rt_pool_column *column;
    size_t column_count;
    const enum rt_quantity_id *quantity; /* whose metrics each row has in JSON, as objects */
    size_t quantity_count;
    int forecasters; /* of each of them; 1: the predictor alone, whose metrics are the object */
};

struct rt_table *rt_pool_table_new(const struct rt_pool_table *of);

/* Appends the row of the items that are marked (count); NULL: of all. `name`: texts of its first columns. */
void rt_pool_table_add(struct rt_table *table, const struct rt_pool_table *of,
                       const struct rt_scored_items *items, const bool *member,
                       const char *const name[RT_POOL_NAMES]);

/* The error metrics of a quantity over the items that are marked; NULL: of all. */
struct rt_metrics rt_quantity_metrics(const struct rt_scored_items *items, const bool *member,
                                      enum rt_quantity_id quantity, enum rt_forecast_by by);

/* ---- pools of runs ---- */

/* Appends a row for all runs, one for each mode, and one for each value of every property of `by` (NULL:
 * none) and mode, where there are some. Names: by, value, mode. */
void rt_pool_runs(struct rt_table *table, const struct rt_pool_table *of, const struct rt_scored_items *runs,
                  const struct rt_dataset *dataset, const struct rt_names *by);
