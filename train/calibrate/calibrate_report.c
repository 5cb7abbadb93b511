/* A calibration as tables, facts and notes. See calibrate.h. */
#include "train/calibrate/calibrate.h"
#include "base/status.h"
#include "base/text.h"

#include <math.h>

/* --- families --- */

static const struct rt_column family_columns[] = {
    {"family", NULL, 's', 0},
    {"kernels", NULL, 'd', 0},
    {"of", NULL, 'd', 0},
    {"compute_before", "compute", 'f', 3},
    {"compute_after", "calibrated", 'f', 3},
    {"memory_before", "memory", 'f', 3},
    {"memory_after", "calibrated", 'f', 3},
    {"dispatch_overhead_us_before", "overhead us", 'f', 1},
    {"dispatch_overhead_us_after", "calibrated", 'f', 1},
    {"error_before", "error %", 'f', 1},
    {"error_after", "calibrated", 'f', 1},
    {"rest", "others", 'd', 0},
    {"rest_error_before", "error %", 'f', 1},
    {"rest_error_after", "calibrated", 'f', 1},
};

static json_t *metrics_json(const struct rt_metrics *metrics)
{
    return json_pack("{s:I, s:o, s:o, s:o, s:o}", "n", (json_int_t)metrics->count, "mape",
                     rt_json_number(metrics->mape), "median", rt_json_number(metrics->median), "p90",
                     rt_json_number(metrics->p90), "bias", rt_json_number(metrics->bias));
}

static json_t *dtypes_json(const struct rt_calibrated_family *row)
{
    json_t *json = json_object();
    for (size_t d = 0; d < RT_DTYPE_COUNT; d++)
        if (row->used_of[d] > 0)
            json_object_set_new(json, rt_dtypes[d].name, json_integer((json_int_t)row->used_of[d]));
    return json;
}

static void add_family(struct rt_table *table, const struct rt_calibrated_family *row)
{
    const struct rt_device_effect *before = &row->before, *after = &row->after;
    rt_table_row(table, rt_net_name(row->family, row->units), (long long)row->used, (long long)row->available,
                 before->value[RT_EFFECT_COMPUTE], after->value[RT_EFFECT_COMPUTE],
                 before->value[RT_EFFECT_MEMORY], after->value[RT_EFFECT_MEMORY], before->dispatch_us,
                 after->dispatch_us, row->fit_before.median, row->fit_after.median,
                 (long long)row->rest_before.count, row->rest_before.median, row->rest_after.median);
    rt_table_row_json(table, "kernels_of", dtypes_json(row));
    rt_table_row_json(table, "throttled", json_boolean(row->throttled));
    rt_table_row_json(table, "scatter", rt_json_number(row->scatter));
    rt_table_row_json(table, "fit_before", metrics_json(&row->fit_before));
    rt_table_row_json(table, "fit_after", metrics_json(&row->fit_after));
    rt_table_row_json(table, "rest_before", metrics_json(&row->rest_before));
    rt_table_row_json(table, "rest_after", metrics_json(&row->rest_after));
}

/* Kernels are selected dtype by dtype. */
static void note_dtypes(const struct rt_calibrated_family *row, struct rt_report *report)
{
    struct rt_text text = {0};
    for (size_t d = 0; d < RT_DTYPE_COUNT; d++)
        if (row->used_of[d] > 0)
            rt_text_item(&text, ", ", "%zu %s", row->used_of[d], rt_dtypes[d].name);
    if (row->used > 0)
        rt_report_add_note(report, NULL, "kernels of %s: %s", rt_net_name(row->family, row->units),
                           text.text);
    rt_text_release(&text);
}

/* One sentence where the kernels contradict what is known of the device. */
static void note_session(const struct rt_calibration *calibration, struct rt_report *report)
{
    struct rt_text families = {0};
    for (size_t f = 0; f < calibration->family_count; f++) {
        const struct rt_calibrated_family *row = &calibration->family[f];
        if (row->tells_session)
            rt_text_item(&families, ", ", "%s %+.0f%%", rt_net_name(row->family, row->units),
                         100 * expm1(row->session.slower));
    }
    rt_report_add_json(report, "slow_session",
                       json_pack("{s:f, s:f, s:f}", "probability", calibration->slow_session.probability,
                                 "slower_pct", 100 * expm1(calibration->slow_session.slower), "queued_pct",
                                 100 * expm1(calibration->queued_prior)));
    if (calibration->queued_prior != 0 && !calibration->from_models)
        rt_report_add_note(
            report, "warnings",
            "all families of kernels are slower than known GPUs lead to expect (%s), as in a session where "
            "the "
            "GPU was throttled or shared: kernels in models are taken as %.0f%% faster than these; measure "
            "runs of models and calibrate with %s both",
            families.text, -100 * expm1(calibration->queued_prior), rt_field_words("from").text);
    rt_text_release(&families);
}

/* Families are for programs only where the calibration is from runs alone: no kernels stand beside. */
static void add_families(const struct rt_calibration *calibration, struct rt_report *report)
{
    struct rt_table *table = rt_table_new(family_columns, RT_COUNT(family_columns));
    for (size_t f = 0; f < calibration->family_count; f++)
        add_family(table, &calibration->family[f]);
    rt_report_add_table(report, "families", calibration->from_kernels ? "" : NULL, table);
    if (!calibration->from_kernels)
        return;
    rt_report_add_note(
        report, NULL,
        "kernels, of: fitted to, of those that can be used. compute, memory: what is added to ln latency "
        "where that binds (0.1: 10%% slower than known GPUs)");
    rt_report_add_note(
        report, NULL,
        "overhead: what a kernel takes beside its work where it is timed alone. error: median |error| "
        "of the kernels it was fitted to, then of the others of this GPU that were measured beside them");
    for (size_t f = 0; f < calibration->family_count; f++)
        note_dtypes(&calibration->family[f], report);
    note_session(calibration, report);
    if (calibration->forgot_runs && !calibration->from_models)
        rt_report_add_note(report, NULL,
                           "the earlier shift of kernels in a queue, fitted to runs beside other device "
                           "effects, is set to 0: calibrate from models again");
}

/* --- runs --- */

static const struct rt_column run_columns[] = {
    {"model", NULL, 's', 0},
    {"mode", NULL, 's', 0},
    {"batch", NULL, 'd', 0},
    {"sequence", NULL, 'f', 0},
    {"used", NULL, 'b', 0},
    {"measured_ms", NULL, 'f', 2},
    {"before_ms", "uncalibrated", 'f', 2},
    {"after_ms", "calibrated", 'f', 2},
    {"error_before", "error %", 'f', 1},
    {"error_after", "calibrated", 'f', 1},
};

static struct rt_table *run_table(const struct rt_dataset *dataset, const struct rt_calibration *calibration)
{
    struct rt_table *table = rt_table_new(run_columns, RT_COUNT(run_columns));
    for (size_t r = 0; r < calibration->run_count; r++) {
        const struct rt_calibrated_run *row = &calibration->runs[r];
        const struct rt_workload *workload = row->workload;
        double measured = workload->end_to_end_us;
        rt_table_row(table, rt_strings_get(&dataset->texts, workload->model), rt_modes[workload->mode],
                     (long long)workload->batch, workload->sequence >= 1 ? (double)workload->sequence : NAN,
                     (int)row->used, measured / 1e3, row->before_us / 1e3, row->after_us / 1e3,
                     rt_error_percent(measured, row->before_us), rt_error_percent(measured, row->after_us));
    }
    return table;
}

static void add_runs(const struct rt_dataset *dataset, const struct rt_calibration *calibration,
                     struct rt_report *report)
{
    const char *before = calibration->from_kernels ? "with the kernels alone" : "before";
    const double *shift = calibration->shift;
    rt_report_add_table(report, "runs", "", run_table(dataset, calibration));
    rt_report_add_json(report, "shifted", json_string(calibration->queued ? "queued" : "device_effects"));
    rt_report_add_json(
        report, "shift",
        json_pack("{s:f, s:f}", "compute", shift[RT_EFFECT_COMPUTE], "memory", shift[RT_EFFECT_MEMORY]));
    rt_report_add_json(report, "fit_before", metrics_json(&calibration->fit_before));
    rt_report_add_json(report, "fit_after", metrics_json(&calibration->fit_after));
    rt_report_add_json(report, "rest_before", metrics_json(&calibration->rest_before));
    rt_report_add_json(report, "rest_after", metrics_json(&calibration->rest_after));
    rt_report_add_note(report, NULL, "shift of %s: compute %+.3f, memory %+.3f of ln latency",
                       calibration->queued
                           ? "kernels in a queue, of every family; alone they stay as they were"
                           : "every family",
                       shift[RT_EFFECT_COMPUTE], shift[RT_EFFECT_MEMORY]);
    rt_report_add_note(report, NULL, "mean |error| of the %zu it was fitted to: %.1f%% %s, %.1f%% after",
                       calibration->runs_used, calibration->fit_before.mape, before,
                       calibration->fit_after.mape);
    if (calibration->rest_before.count > 0)
        rt_report_add_note(report, NULL, "mean |error| of the %zu others: %.1f%% %s, %.1f%% after",
                           calibration->rest_before.count, calibration->rest_before.mape, before,
                           calibration->rest_after.mape);
}

/* --- what was not used --- */

static json_t *unused_json(const size_t left[RT_UNUSED_COUNT])
{
    json_t *json = json_object();
    for (int r = 0; r < RT_UNUSED_COUNT; r++)
        json_object_set_new(json, rt_unused[r].key, json_integer((json_int_t)left[r]));
    return json;
}

static void note_unused(const char *what, const size_t left[RT_UNUSED_COUNT], struct rt_report *report)
{
    for (int r = 0; r < RT_UNUSED_COUNT; r++)
        if (left[r] > 0)
            rt_report_add_note(report, NULL, "left out: %zu %s %s", left[r], what, rt_unused[r].words);
}

static void note_unfitted(const struct rt_calibrated_family *row, struct rt_report *report)
{
    const char *name = rt_net_name(row->family, row->units);
    if (row->throttled)
        rt_report_add_note(report, NULL,
                           "%s: kernels of it that look throttled or mislabelled are not used (%s uses them)",
                           name, rt_field_words("keep_all").text);
    if (row->worse)
        rt_report_add_note(
            report, NULL,
            "%s is left as it was: its fit took the other kernels from %.1f to %.1f%% in the median", name,
            row->rest_before.median, row->rest_after.median);
    else if (!row->throttled && row->used == 0 && (row->available > 0 || row->units != RT_UNITS_MATRIX))
        rt_report_add_note(report, NULL,
                           "%s is left as it was: %zu kernels of it can be used, and %d are needed", name,
                           row->available, RT_CALIBRATE_LEAST);
}

/* ---- pictures ---- */

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
    rt_plot_bars(plot, "uncalibrated", rows.names, rows.before, rows.count);
    rt_plot_bar_intervals(plot, "calibrated", rows.names, rows.after, rows.low, rows.high, rows.count);
    rt_report_add_plot(report, plot);
}

/* ---- runs ---- */

static void draw_runs(struct rt_report *report, const struct rt_calibration *calibration)
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
        draw_runs(report, calibration);
}

void rt_calibration_report(const struct rt_calibration *calibration, const struct rt_dataset *dataset,
                           const char *data, struct rt_report *report)
{
    bool kernels = calibration->from_kernels, models = calibration->from_models;
    rt_report_add_title(report, "%s, from %s of %s", calibration->device,
                        !models   ? "kernels"
                        : kernels ? "kernels and models"
                                  : "models",
                        data);
    rt_report_add_text(report, "device", NULL, calibration->device);
    rt_report_add_text(report, "from", NULL, !models ? "kernels" : kernels ? "both" : "models");
    rt_calibration_add_plots(report, calibration);
    add_families(calibration, report);
    if (models)
        add_runs(dataset, calibration, report);
    note_unused("kernels", calibration->left, report);
    note_unused("runs", calibration->runs_left, report);
    rt_report_add_json(report, "left_out", unused_json(kernels ? calibration->left : calibration->runs_left));
    if (models)
        rt_report_add_json(report, "runs_left_out", unused_json(calibration->runs_left));
    for (size_t f = 0; kernels && f < calibration->family_count; f++)
        note_unfitted(&calibration->family[f], report);
}
