/* The pictures of a report. See report.h. */
#include "base/plot.h"
#include "base/sort.h"
#include "base/status.h"
#include "predict/evaluate/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum {
    MOST_BARS = 72,     /* of a picture: further ones cannot be read */
    MOST_NAMES = 24,    /* models of a picture: those with the most runs */
    BINS = 16,          /* of rows by their measured value, as many in each */
    ROWS_OF_A_BIN = 12, /* at least: the tenth and the ninetieth percentile lie between rows */
};

/* ---- rows in series: families of kernels, modes of runs ---- */

static size_t series_count(const struct rt_evaluation *evaluation)
{
    return evaluation->workloads ? (size_t)RT_MODE_COUNT : (size_t)RT_FAMILY_COUNT;
}

static const char *series_name(const struct rt_evaluation *evaluation, size_t series)
{
    return evaluation->workloads ? rt_modes[series] : rt_families[series].name;
}

static size_t series_of(const struct rt_evaluation *evaluation, size_t row)
{
    return evaluation->workloads
               ? evaluation->run[row].workload->mode
               : (size_t)rt_ops[RT_SAMPLE(evaluation->dataset, evaluation->sample[row])->call.op].family;
}

static const char *rows_name(const struct rt_evaluation *evaluation)
{
    return evaluation->workloads ? "runs" : "kernels";
}

/* "measured latency, us"; runs have milliseconds. */
static char *axis_label(const struct rt_evaluation *evaluation, const char *what)
{
    return rt_format("%s %s, %s", what, evaluation->target->name,
                     evaluation->workloads ? "ms" : evaluation->target->unit);
}

static double shown(const struct rt_evaluation *evaluation, double value)
{
    return evaluation->workloads ? value / 1e3 : value;
}

/* The rows of a series, of the first column. */
struct points {
    double *measured, *forecast, *low, *high, *ratio; /* (count) */
    size_t count;
};

static struct points gather(const struct rt_evaluation *evaluation, size_t series)
{
    const struct rt_scored_column *column = &evaluation->column[0];
    size_t most = evaluation->row_count;
    struct points points = {.measured = rt_calloc(5 * (most + 1), sizeof(double))};
    points.forecast = points.measured + most;
    points.low = points.forecast + most;
    points.high = points.low + most;
    points.ratio = points.high + most;
    for (size_t row = 0; row < most; row++) {
        if (series_of(evaluation, row) != series)
            continue;
        double forecast = column->value[row];
        points.measured[points.count] = shown(evaluation, evaluation->measured[row]);
        points.forecast[points.count] = shown(evaluation, forecast);
        points.low[points.count] = shown(evaluation, forecast * exp(-column->ln_half_width[row]));
        points.high[points.count] = shown(evaluation, forecast * exp(column->ln_half_width[row]));
        points.ratio[points.count++] = forecast / evaluation->measured[row];
    }
    return points;
}

/* ---- forecast against measured ---- */

static struct rt_metrics metrics_of(const struct rt_evaluation *evaluation)
{
    struct rt_metrics metrics;
    rt_metrics_of(evaluation->measured, evaluation->column[0].value, evaluation->row_count, &metrics);
    return metrics;
}

/* Has the first column intervals? `share`: the percentage of the rows within. */
static bool has_intervals(const struct rt_evaluation *evaluation, double *share)
{
    struct rt_interval_metrics intervals;
    rt_interval_metrics_of(evaluation->measured, evaluation->column[0].value,
                           evaluation->column[0].ln_half_width, evaluation->row_count, &intervals);
    *share = intervals.coverage;
    return !isnan(*share);
}

static struct rt_plot *new_measured(const struct rt_evaluation *evaluation)
{
    struct rt_metrics m = metrics_of(evaluation);
    double covered;
    char *within =
        has_intervals(evaluation, &covered)
            ? rt_format(" %.0f%% lie within their 90%% interval, which is drawn for some.", covered)
            : rt_strdup("");
    struct rt_plot *plot = rt_plot_new(
        "Forecast against measured",
        "%zu %s by their measured and forecast %s. On the line both are equal; %.0f%% lie within 10%% of it. "
        "The mean absolute error is %.1f%%, the largest %.0f%%.%s",
        m.count, rows_name(evaluation), evaluation->target->name, m.within10, m.mape, m.max, within);
    char *x = axis_label(evaluation, "measured"), *y = axis_label(evaluation, "forecast");
    rt_plot_axes(plot, x, RT_SCALE_LOG, y, RT_SCALE_LOG);
    rt_plot_diagonal(plot, 0.1);
    free(within);
    free(x);
    free(y);
    return plot;
}

static void add_measured(struct rt_report *report, const struct rt_evaluation *evaluation)
{
    struct rt_plot *plot = new_measured(evaluation);
    for (size_t s = 0; s < series_count(evaluation); s++) {
        struct points points = gather(evaluation, s);
        if (points.count > 0)
            rt_plot_intervals(plot, series_name(evaluation, s), points.measured, points.forecast, points.low,
                              points.high, points.count);
        free(points.measured);
    }
    rt_report_add_plot(report, plot);
}

/* ---- residuals ---- */

/* A row's measured value and its forecast over it. */
struct residual {
    double measured, ratio;
};

static int by_measured(const void *a, const void *b)
{
    const struct residual *x = a, *y = b;
    return (x->measured > y->measured) - (x->measured < y->measured);
}

static struct residual *sorted_residuals(const struct rt_evaluation *evaluation)
{
    struct residual *rows = rt_calloc(evaluation->row_count + 1, sizeof *rows);
    for (size_t row = 0; row < evaluation->row_count; row++)
        rows[row] = (struct residual){shown(evaluation, evaluation->measured[row]),
                                      evaluation->column[0].value[row] / evaluation->measured[row]};
    qsort(rows, evaluation->row_count, sizeof *rows, by_measured);
    return rows;
}

/* The median and the tenth and ninetieth percentile of the ratio, by size. */
static void add_bins(struct rt_plot *plot, const struct rt_evaluation *evaluation)
{
    static const char name[] = "median, and 80% around it";
    double x[BINS], median[BINS], low[BINS], high[BINS];
    size_t count = evaluation->row_count;
    if (count < (size_t)BINS * ROWS_OF_A_BIN)
        return;
    struct residual *rows = sorted_residuals(evaluation);
    double *ratio = rt_calloc(count, sizeof *ratio);
    for (size_t b = 0; b < BINS; b++) {
        size_t first = b * count / BINS, n = (b + 1) * count / BINS - first;
        for (size_t i = 0; i < n; i++)
            ratio[i] = rows[first + i].ratio;
        rt_sort_reals(ratio, n);
        x[b] = rows[first + n / 2].measured;
        low[b] = rt_percentile(ratio, n, 0.1);
        median[b] = rt_percentile(ratio, n, 0.5);
        high[b] = rt_percentile(ratio, n, 0.9);
    }
    rt_plot_band(plot, name, x, low, high, BINS);
    rt_plot_line(plot, name, x, median, BINS);
    free(rows);
    free(ratio);
}

static void add_residuals(struct rt_report *report, const struct rt_evaluation *evaluation)
{
    struct rt_metrics m = metrics_of(evaluation);
    struct rt_plot *plot =
        rt_plot_new("Error against size",
                    "Forecast over measured %s of %zu %s by their measured %s: above 1 the forecast is too "
                    "high. On average it is off by %+.1f%%; half of the %s are off by less than %.1f%%, a "
                    "tenth by more than %.0f%%.",
                    evaluation->target->name, m.count, rows_name(evaluation), evaluation->target->name,
                    m.bias, rows_name(evaluation), m.median, m.p90);
    char *x = axis_label(evaluation, "measured");
    rt_plot_axes(plot, x, RT_SCALE_LOG, "forecast / measured", RT_SCALE_LOG);
    free(x);
    for (size_t s = 0; s < series_count(evaluation); s++) {
        struct points points = gather(evaluation, s);
        if (points.count > 0)
            rt_plot_points(plot, series_name(evaluation, s), points.measured, points.ratio, points.count);
        free(points.measured);
    }
    add_bins(plot, evaluation);
    rt_report_add_plot(report, plot);
}

/* ---- errors as bars ---- */

/* Bars of the first column's MAPE: a series for each distinct `what` of the pools, a row for each scope. */
static void add_pool_bars(struct rt_report *report, const char *title, const char *rows,
                          const struct rt_scored_pools *pools)
{
    const struct rt_scored_pool *worst = NULL, *best = NULL;
    for (size_t p = 0; p < pools->count; p++) {
        const struct rt_scored_pool *pool = &pools->row[p];
        worst = worst == NULL || pool->metrics[0].mape > worst->metrics[0].mape ? pool : worst;
        best = best == NULL || pool->metrics[0].mape < best->metrics[0].mape ? pool : best;
    }
    if (pools->count < 2 || pools->count > MOST_BARS)
        return;
    struct rt_plot *plot = rt_plot_new(
        title, "Mean absolute error of %zu groups of %s: from %.1f%% (%s, %s) to %.1f%% (%s, %s).",
        pools->count, rows, best->metrics[0].mape, best->scope, best->what, worst->metrics[0].mape,
        worst->scope, worst->what);
    rt_plot_axes(plot, "mean absolute error, %", RT_SCALE_LINEAR, "", RT_SCALE_LINEAR);
    const char **names = rt_calloc(pools->count, sizeof *names);
    double *values = rt_calloc(pools->count, sizeof *values);
    for (size_t p = 0; p < pools->count; p++) {
        const char *what = pools->row[p].what;
        size_t count = 0;
        bool repeated = false;
        for (size_t q = 0; q < p && !repeated; q++)
            repeated = strcmp(pools->row[q].what, what) == 0;
        for (size_t q = p; q < pools->count && !repeated; q++)
            if (strcmp(pools->row[q].what, what) == 0) {
                names[count] = pools->row[q].scope;
                values[count++] = pools->row[q].metrics[0].mape;
            }
        if (count > 0)
            rt_plot_bars(plot, what, names, values, count);
    }
    rt_report_add_plot(report, plot);
    free(names);
    free(values);
}

/* A pool for each GPU and family of kernels. */
static struct rt_scored_pools pool_families(const struct rt_evaluation *evaluation)
{
    struct rt_scored_pools pools = {0};
    const struct rt_scored_group *groups = evaluation->groups;
    for (size_t g = 0, p = 0; g < evaluation->group_count; g++) {
        const int32_t *key = groups[g].key;
        bool seen = false, same = g > 0 && groups[g - 1].key[RT_KEY_OP] == key[RT_KEY_OP] &&
                                  groups[g - 1].key[RT_KEY_DEVICE] == key[RT_KEY_DEVICE];
        p += g > 0 && !same; /* evaluation->devices has a pool for each op and device */
        for (size_t i = 0; i < g && !seen; i++)
            seen = groups[i].key[RT_KEY_DEVICE] == key[RT_KEY_DEVICE] &&
                   groups[i].key[RT_KEY_FAMILY] == key[RT_KEY_FAMILY];
        if (!seen)
            rt_scored_pool(evaluation, &pools, evaluation->devices.row[p].scope,
                           rt_families[key[RT_KEY_FAMILY]].name,
                           (struct rt_scored_where){RT_KEY_DEVICE, key[RT_KEY_DEVICE]},
                           (struct rt_scored_where){RT_KEY_FAMILY, key[RT_KEY_FAMILY]});
    }
    return pools;
}

/* Rows of all pools of the same scope. */
static size_t *rows_of_scopes(const struct rt_scored_pools *pools)
{
    size_t *rows = rt_calloc(pools->count + 1, sizeof *rows);
    for (size_t p = 0; p < pools->count; p++)
        for (size_t q = 0; q < pools->count; q++)
            if (strcmp(pools->row[p].scope, pools->row[q].scope) == 0)
                rows[p] += pools->row[q].count;
    return rows;
}

/* The pools of the models with the most runs; pools of a model lie side by side. Borrows them. */
static struct rt_scored_pools pools_of_most(const struct rt_scored_pools *models)
{
    struct rt_scored_pools out = {.row = rt_calloc(models->count + 1, sizeof *out.row)};
    const struct rt_scored_pool *row = models->row;
    size_t *rows = rows_of_scopes(models);
    for (size_t p = 0; p < models->count; p++) {
        size_t before = 0; /* models that come first */
        for (size_t q = 0; q < models->count; q++)
            before += (q == 0 || strcmp(row[q - 1].scope, row[q].scope) != 0) &&
                      (rows[q] > rows[p] || (rows[q] == rows[p] && q < p)) &&
                      strcmp(row[q].scope, row[p].scope) != 0;
        if (before < MOST_NAMES)
            out.row[out.count++] = row[p];
    }
    free(rows);
    return out;
}

/* All columns beside one another, pooled over all devices. */
static void add_beside(struct rt_report *report, const struct rt_evaluation *evaluation)
{
    const struct rt_scored_pools *pools = &evaluation->pooled;
    const char **names = rt_calloc(pools->count + 1, sizeof *names);
    double *values = rt_calloc(pools->count + 1, sizeof *values);
    struct rt_metrics m = metrics_of(evaluation);
    struct rt_plot *plot = rt_plot_new(
        "Forecasts beside one another",
        "Mean absolute error pooled over all devices, of %zu forecasts: %s is off by %.1f%% over all %zu %s.",
        evaluation->column_count, evaluation->column[0].name, m.mape, m.count, rows_name(evaluation));
    rt_plot_axes(plot, "mean absolute error, %", RT_SCALE_LINEAR, "", RT_SCALE_LINEAR);
    for (size_t c = 0; c < evaluation->column_count; c++) {
        size_t count = 0;
        for (size_t p = 0; p < pools->count; p++)
            if (strcmp(pools->row[p].scope, "all") == 0 && pools->row[p].metrics[c].count > 0) {
                names[count] = pools->row[p].what;
                values[count++] = pools->row[p].metrics[c].mape;
            }
        if (count > 0)
            rt_plot_bars(plot, evaluation->column[c].name, names, values, count);
    }
    rt_report_add_plot(report, plot);
    free(names);
    free(values);
}

static void add_errors(struct rt_report *report, const struct rt_evaluation *evaluation)
{
    if (evaluation->workloads) {
        struct rt_scored_pools models = pools_of_most(&evaluation->models);
        add_pool_bars(report, "Error by GPU and mode", "runs", &evaluation->devices);
        add_pool_bars(report, "Error by model and mode", "runs", &models);
        free(models.row);
    } else {
        struct rt_scored_pools families = pool_families(evaluation);
        add_pool_bars(report, "Error by GPU and family", "kernels", &families);
        rt_scored_pools_release(&families);
    }
    if (evaluation->column_count > 1)
        add_beside(report, evaluation);
}

/* ---- coverage ---- */

static void add_coverage(struct rt_report *report, const struct rt_evaluation *evaluation)
{
    double level[RT_COVERAGE_LEVELS + 2] = {0}, share[RT_COVERAGE_LEVELS + 2] = {0};
    size_t count = evaluation->covered_rows;
    if (count == 0)
        return;
    for (size_t l = 0; l < RT_COVERAGE_LEVELS; l++) {
        level[l] = 100 * rt_coverage_levels[l];
        share[l] = 100 * (double)evaluation->covered[l] / (double)count;
    }
    struct rt_plot *plot = rt_plot_new("Coverage of the intervals",
                                       "Of %zu %s, intervals for %.0f%% hold %.1f%%, those for %.0f%% hold "
                                       "%.1f%%. On the line as many lie within as should.",
                                       count, rows_name(evaluation), level[0], share[0],
                                       level[RT_COVERAGE_LEVELS - 1], share[RT_COVERAGE_LEVELS - 1]);
    rt_plot_axes(plot, "nominal level, %", RT_SCALE_LINEAR, "measured within the interval, %",
                 RT_SCALE_LINEAR);
    rt_plot_line(plot, evaluation->column[0].name, level, share, RT_COVERAGE_LEVELS);
    rt_plot_limit(plot, "as nominal", (double[]){level[0], level[RT_COVERAGE_LEVELS - 1]},
                  (double[]){level[0], level[RT_COVERAGE_LEVELS - 1]}, 2);
    rt_report_add_plot(report, plot);
}

void rt_evaluation_add_plots(struct rt_report *report, const struct rt_evaluation *evaluation)
{
    add_measured(report, evaluation);
    add_residuals(report, evaluation);
    add_errors(report, evaluation);
    add_coverage(report, evaluation);
}
