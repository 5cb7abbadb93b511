/* Pictures of a calibration. See calibrate_report.h. */
#include "base/plot.h"
#include "base/status.h"
#include "train/calibrate/calibrate_report.h"

#include <math.h>
#include <stdlib.h>

/* ---- families ---- */

/* A number of a family before and after, and between what it lies after; NaN: not known. */
struct change {
    double before, after, low, high;
};

typedef struct change of_family(const struct rt_calibrated_family *family);

static struct change error_of_fit(const struct rt_calibrated_family *family)
{
    return (struct change){family->fit_before.median, family->fit_after.median, NAN, NAN};
}

static struct change error_of_rest(const struct rt_calibrated_family *family)
{
    return (struct change){family->rest_before.median, family->rest_after.median, NAN, NAN};
}

static double percent_of(double ln)
{
    return round(1e4 * expm1(ln)) / 100; /* less is nothing: zeros would show as 3e-07 */
}

/* In percent of the time, with two standard errors: the kernels' scatter around the fit over the square root
 * of their number. */
static struct change effect_of(const struct rt_calibrated_family *family, enum rt_effect_part part)
{
    double after = family->after.value[part], error = 2 * family->scatter / sqrt((double)family->used);
    return (struct change){percent_of(family->before.value[part]), percent_of(after),
                           percent_of(after - error), percent_of(after + error)};
}

static struct change compute_of(const struct rt_calibrated_family *family)
{
    return effect_of(family, RT_EFFECT_COMPUTE);
}

static struct change memory_of(const struct rt_calibrated_family *family)
{
    return effect_of(family, RT_EFFECT_MEMORY);
}

/* Of the families that were fitted. */
struct rows {
    const char *names[RT_MAX_NETS];
    double before[RT_MAX_NETS], after[RT_MAX_NETS], low[RT_MAX_NETS], high[RT_MAX_NETS];
    size_t count, kernels;
};

static struct rows rows_of(const struct rt_calibration *calibration, of_family *of)
{
    struct rows rows = {.count = 0};
    for (size_t f = 0; f < calibration->family_count; f++) {
        const struct rt_calibrated_family *family = &calibration->family[f];
        struct change change = of(family);
        if (family->used == 0 || isnan(change.before) || isnan(change.after))
            continue;
        rows.names[rows.count] = rt_net_name(family->family, family->units);
        rows.before[rows.count] = change.before;
        rows.after[rows.count] = change.after;
        rows.low[rows.count] = change.low;
        rows.high[rows.count++] = change.high;
        rows.kernels += family->used;
    }
    return rows;
}

/* The words are followed by the family that changed most. */
static void add_change(struct rt_report *report, const struct rt_calibration *calibration, const char *title,
                       const char *label, const char *words, of_family *of)
{
    struct rows rows = rows_of(calibration, of);
    size_t most = 0;
    if (rows.count == 0)
        return;
    for (size_t i = 1; i < rows.count; i++)
        if (fabs(rows.after[i] - rows.before[i]) > fabs(rows.after[most] - rows.before[most]))
            most = i;
    struct rt_plot *plot = rt_plot_new(
        title, "%s, before and after %zu kernels of %s. Most changed: %s, from %.1f%% to %.1f%%.", words,
        rows.kernels, calibration->device, rows.names[most], rows.before[most], rows.after[most]);
    rt_plot_axes(plot, label, RT_SCALE_LINEAR, "", RT_SCALE_LINEAR);
    rt_plot_bars(plot, "before", rows.names, rows.before, rows.count);
    rt_plot_bar_intervals(plot, "after", rows.names, rows.after, rows.low, rows.high, rows.count);
    rt_report_add_plot(report, plot);
}

/* ---- runs ---- */

static void add_runs(struct rt_report *report, const struct rt_calibration *calibration)
{
    double *values = rt_calloc(3 * calibration->run_count + 1, sizeof *values);
    double *measured = values, *before = measured + calibration->run_count,
           *after = before + calibration->run_count;
    for (size_t r = 0; r < calibration->run_count; r++) {
        measured[r] = calibration->runs[r].workload->end_to_end_us / 1e3;
        before[r] = calibration->runs[r].before_us / calibration->runs[r].workload->end_to_end_us;
        after[r] = calibration->runs[r].after_us / calibration->runs[r].workload->end_to_end_us;
    }
    struct rt_plot *plot = rt_plot_new(
        "Runs of models before and after",
        "Forecast over measured time of %zu runs on %s: the mean absolute error of the %zu it was "
        "fitted to goes from %.1f%% to %.1f%%.",
        calibration->run_count, calibration->device, calibration->runs_used, calibration->fit_before.mape,
        calibration->fit_after.mape);
    rt_plot_axes(plot, "measured, ms", RT_SCALE_LOG, "forecast / measured", RT_SCALE_LOG);
    rt_plot_points(plot, "before", measured, before, calibration->run_count);
    rt_plot_points(plot, "after", measured, after, calibration->run_count);
    rt_report_add_plot(report, plot);
    free(values);
}

void rt_calibration_add_plots(struct rt_report *report, const struct rt_calibration *calibration)
{
    if (calibration->from_kernels) {
        add_change(report, calibration, "Error on the kernels it was fitted to", "median absolute error, %",
                   "Median absolute error on the kernels that were fitted to", error_of_fit);
        add_change(report, calibration, "Error on the other kernels of the GPU", "median absolute error, %",
                   "Median absolute error on the kernels that were kept as a check", error_of_rest);
        add_change(
            report, calibration, "Device effect where compute binds", "slower than GPUs alike, %",
            "How much slower the GPU is taken to compute, with two standard errors of the kernels' scatter",
            compute_of);
        add_change(report, calibration, "Device effect where memory binds", "slower than GPUs alike, %",
                   "How much slower the GPU is taken to move bytes, with two standard errors of the kernels' "
                   "scatter",
                   memory_of);
    }
    if (calibration->from_models && calibration->run_count > 0)
        add_runs(report, calibration);
}
