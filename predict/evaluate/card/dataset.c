/* The card of a dataset. See card.h. */
#include "predict/evaluate/card/card.h"
#include "base/printable.h"
#include "base/status.h"
#include "base/text.h"
#include "datasets/summary.h"
#include "datasets/validate.h"
#include "models/predictors/predictor/recipe.h"
#include "datasets/health.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* ---- what it holds, as tables ---- */

/* Each device with its main numbers and how many rows are of it. */
static struct rt_table *devices_table(const struct rt_dataset *dataset)
{
    static const struct rt_column columns[] = {{"device", NULL, 's', 0},
                                               {"vendor", NULL, 's', 0},
                                               {"architecture", NULL, 's', 0},
                                               {"sms", "SMs", 'g', 4},
                                               {"fp32_vector_tflops", "fp32 TFLOP/s", 'g', 4},
                                               {"fp16_matrix_tflops", "fp16 matrix TFLOP/s", 'g', 4},
                                               {"memory_gib", "GiB", 'g', 4},
                                               {"bandwidth_gbs", "GB/s", 'g', 4},
                                               {"samples", NULL, 'd', 0},
                                               {"workloads", "runs of models", 'd', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    long long *samples = rt_calloc(2 * dataset->device_count + 1, sizeof *samples);
    long long *workloads = samples + dataset->device_count;
    for (size_t i = 0; i < dataset->samples.count; i++)
        samples[RT_SAMPLE(dataset, i)->device]++;
    for (size_t i = 0; i < dataset->workload_count; i++)
        workloads[dataset->workloads[i].device]++;
    for (size_t d = 0; d < dataset->device_count; d++) {
        const struct rt_device *device = &dataset->devices[d];
        rt_table_row(table, device->name, device->vendor, device->architecture, device->sms,
                     device->fp32_vector_tflops, device->fp16_matrix_tflops, device->memory_gib,
                     device->bandwidth_gbs, samples[d], workloads[d]);
    }
    free(samples);
    return table;
}

/* Least and largest of values, missing ones aside. */
struct range {
    double low, high;
};
#define NO_RANGE ((struct range){NAN, NAN})

static void widen(struct range *range, double value)
{
    range->low = fmin(range->low, value);
    range->high = fmax(range->high, value);
}

/* "64", "16 .. 4096", "" where there is none: four digits, whole from 1000 on. Free with free(). */
static char *range_words(struct range range)
{
    char text[2][32];
    if (isnan(range.low))
        return rt_strdup("");
    for (int end = 0; end < 2; end++) {
        double value = end ? range.high : range.low;
        snprintf(text[end], sizeof text[end], value >= 1000 ? "%.0f" : "%.4g", value);
    }
    return range.low == range.high ? rt_strdup(text[0]) : rt_format("%s .. %s", text[0], text[1]);
}

/* ---- quantities ---- */

/* The columns with a unit that some row has: each with its unit, what it is, and its range. */
static void add_quantities(struct rt_table *table, const char *of, const struct rt_rows *rows)
{
    for (size_t f = 0; f < rows->kind->field_count; f++) {
        const struct rt_field *field = &rows->kind->fields[f];
        if (field->units == NULL || strcmp(field->units, "1") == 0)
            continue;
        struct rt_column_range range = rt_rows_range(rows, f);
        char *words = range_words((struct range){range.least, range.most});
        if (range.count > 0)
            rt_table_row(table, field->name, of, field->units, (long long)range.count, words,
                         field->long_name);
        free(words);
    }
}

static struct rt_table *quantities_table(const struct rt_dataset *dataset)
{
    static const struct rt_column columns[] = {{"column", NULL, 's', 0}, {"of", NULL, 's', 0},
                                               {"unit", NULL, 's', 0},   {"rows", NULL, 'd', 0},
                                               {"range", NULL, 's', 0},  {"meaning", NULL, 's', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    struct rt_rows workloads = rt_dataset_workload_rows(dataset);
    add_quantities(table, "samples", &dataset->samples);
    add_quantities(table, "runs of models", &workloads);
    rt_rows_release(&workloads);
    return table;
}

/* ---- samples ---- */

struct op_row {
    long long samples, devices;
    struct range dim[RT_MAX_DIMS], us;
};

static void add_op(struct rt_table *table, const struct op_row *row, size_t op, size_t dtype)
{
    struct rt_text dims = {0};
    for (int d = 0; rt_ops[op].dims[d] != NULL; d++) {
        char *words = range_words(row->dim[d]);
        if (words[0] != '\0')
            rt_text_item(&dims, ", ", "%s %s", rt_ops[op].dims[d], words);
        free(words);
    }
    char *us = range_words(row->us);
    rt_table_row(table, rt_ops[op].name, rt_dtypes[dtype].name, row->samples, row->devices, us,
                 dims.text != NULL ? dims.text : "");
    free(us);
    rt_text_release(&dims);
}

/* Samples by op and dtype: on how many devices, ranges of dims and times. */
static struct rt_table *ops_table(const struct rt_dataset *dataset)
{
    static const struct rt_column columns[] = {{"op", NULL, 's', 0},       {"dtype", NULL, 's', 0},
                                               {"samples", NULL, 'd', 0},  {"devices", NULL, 'd', 0},
                                               {"us", "time, us", 's', 0}, {"dims", NULL, 's', 0}};
    enum { CELLS = RT_OP_COUNT * RT_DTYPE_COUNT };
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    struct op_row *rows = rt_calloc(CELLS, sizeof *rows);
    bool *seen = rt_calloc(CELLS * dataset->device_count + 1, sizeof *seen);
    for (size_t i = 0; i < dataset->samples.count; i++) {
        const struct rt_sample *sample = RT_SAMPLE(dataset, i);
        size_t cell = (size_t)sample->call.op * RT_DTYPE_COUNT + sample->call.dtype;
        struct op_row *row = &rows[cell];
        bool *on_device = &seen[cell * dataset->device_count + (size_t)sample->device];
        for (int d = 0; row->samples == 0 && d < RT_MAX_DIMS; d++)
            row->dim[d] = NO_RANGE;
        row->us = row->samples == 0 ? NO_RANGE : row->us;
        row->samples++;
        row->devices += !*on_device;
        *on_device = true;
        for (int d = 0; rt_ops[sample->call.op].dims[d] != NULL; d++)
            widen(&row->dim[d], sample->call.dim[d] >= 0 ? (double)sample->call.dim[d] : NAN);
        widen(&row->us, sample->latency_us);
    }
    for (size_t cell = 0; cell < CELLS; cell++)
        if (rows[cell].samples > 0)
            add_op(table, &rows[cell], cell / RT_DTYPE_COUNT, cell % RT_DTYPE_COUNT);
    free(seen);
    free(rows);
    return table;
}

/* ---- runs of models ---- */

struct model_row {
    int32_t model;
    uint8_t mode, dtype;
    long long runs;
    struct range batch, sequence, ms;
};

static struct model_row *find_model(struct model_row *rows, size_t *count, const struct rt_workload *workload)
{
    for (size_t i = 0; i < *count; i++)
        if (rows[i].model == workload->model && rows[i].mode == workload->mode &&
            rows[i].dtype == workload->dtype)
            return &rows[i];
    rows[*count] = (struct model_row){.model = workload->model,
                                      .mode = workload->mode,
                                      .dtype = workload->dtype,
                                      .batch = NO_RANGE,
                                      .sequence = NO_RANGE,
                                      .ms = NO_RANGE};
    return &rows[(*count)++];
}

/* Runs of whole models by model, mode and dtype: ranges of batch, sequence and time. */
static struct rt_table *models_table(const struct rt_dataset *dataset)
{
    static const struct rt_column columns[] = {
        {"model", NULL, 's', 0},   {"mode", NULL, 's', 0},  {"dtype", NULL, 's', 0},
        {"runs", NULL, 'd', 0},    {"batch", NULL, 's', 0}, {"sequence", "sequence, tokens", 's', 0},
        {"ms", "time, ms", 's', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    struct model_row *rows = rt_calloc(dataset->workload_count + 1, sizeof *rows);
    size_t count = 0;
    for (size_t i = 0; i < dataset->workload_count; i++) {
        const struct rt_workload *workload = &dataset->workloads[i];
        struct model_row *row = find_model(rows, &count, workload);
        row->runs++;
        widen(&row->batch, workload->batch >= 0 ? (double)workload->batch : NAN);
        widen(&row->sequence, workload->sequence >= 0 ? (double)workload->sequence : NAN);
        widen(&row->ms, 1e-3 * workload->end_to_end_us);
    }
    for (size_t i = 0; i < count; i++) {
        char *batch = range_words(rows[i].batch), *sequence = range_words(rows[i].sequence),
             *ms = range_words(rows[i].ms);
        rt_table_row(table, rt_strings_get(&dataset->texts, rows[i].model), rt_modes[rows[i].mode],
                     rt_dtypes[rows[i].dtype].name, rows[i].runs, batch, sequence, ms);
        free(batch);
        free(sequence);
        free(ms);
    }
    free(rows);
    return table;
}

/* ---- attributes ---- */

/* The first few of the distinct values, each cut where it is long. */
static char *values_words(const struct rt_strings *values)
{
    enum { SHOWN = 4, LONG = 160 };
    struct rt_text words = {0};
    char value[LONG];
    for (size_t i = 0; i < values->count && i < SHOWN; i++) {
        const char *text = rt_strings_get(values, (int32_t)i);
        size_t length = rt_printable(value, sizeof value, text, false);
        rt_text_item(&words, "; ", "%s%s", value, length >= sizeof value ? " ..." : "");
    }
    if (values->count > SHOWN)
        rt_text_add(&words, "; and %zu more", values->count - SHOWN);
    return rt_text_take(&words);
}

/* Attributes of groups: their distinct values, the first few. */
static struct rt_table *attributes_table(const struct rt_dataset *dataset)
{
    static const struct rt_column columns[] = {
        {"attribute", NULL, 's', 0}, {"groups", NULL, 'd', 0}, {"values", NULL, 's', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    struct rt_strings names = rt_summary_attribute_names(dataset);
    for (size_t n = 0; n < names.count; n++) {
        const char *name = rt_strings_get(&names, (int32_t)n);
        struct rt_strings values = {0};
        long long groups = rt_summary_attribute_values(dataset, name, &values);
        char *words = values_words(&values);
        rt_table_row(table, name, groups, words);
        free(words);
        rt_strings_release(&values);
    }
    rt_strings_release(&names);
    return table;
}

/* ---- what is wrong with it, as far as that can be told ---- */

static const struct {
    const char *name, *meaning;
    uint32_t flag;
} flags[] = {
    {"synthetic", "made up by a formula, not measured: no evidence about any device", RT_FLAG_SYNTHETIC},
    {"failed", "could not run, as the table of failures says; kept without a time", RT_FLAG_FAILED},
    {"throttled", "the clock fell while it was measured, three times over", RT_FLAG_THROTTLED},
    {"unstable", "the median is not known as well as the collector was asked for", RT_FLAG_UNSTABLE},
    {"partial", "some kernels of the model could not run, and its times lack them", RT_FLAG_PARTIAL},
    {"tile unknown", "the tile could not be read off the kernel; no fault of the time", RT_FLAG_UNKNOWN_TILE},
};

static bool is_at_power_limit(const struct rt_dataset *dataset, int32_t group)
{
    const char *throttle = rt_dataset_attribute(dataset, group, "throttle");
    return throttle != NULL && strcmp(throttle, "power cap") == 0;
}

static void add_fault(struct rt_table *table, const char *name, long long samples, long long workloads,
                      const char *meaning)
{
    if (samples + workloads > 0)
        rt_table_row(table, name, samples, workloads, meaning);
}

static void add_flag(struct rt_table *table, const struct rt_dataset *dataset, size_t f)
{
    long long samples = 0, workloads = 0;
    for (size_t i = 0; i < dataset->samples.count; i++)
        samples += (RT_SAMPLE(dataset, i)->flags & flags[f].flag) != 0;
    for (size_t i = 0; i < dataset->workload_count; i++)
        workloads += (dataset->workloads[i].flags & flags[f].flag) != 0;
    add_fault(table, flags[f].name, samples, workloads, flags[f].meaning);
}

/* A row per fault that some sample or run has, with what it means. */
static struct rt_table *faults_table(const struct rt_dataset *dataset)
{
    static const struct rt_column columns[] = {{"fault", NULL, 's', 0},
                                               {"samples", NULL, 'd', 0},
                                               {"workloads", "runs of models", 'd', 0},
                                               {"meaning", NULL, 's', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    long long impossible = 0, limited = 0;
    for (size_t f = 0; f < RT_COUNT(flags); f++)
        add_flag(table, dataset, f);
    for (size_t i = 0; i < dataset->samples.count; i++) {
        impossible += rt_sample_is_impossible(dataset, RT_SAMPLE(dataset, i));
        limited += is_at_power_limit(dataset, RT_SAMPLE(dataset, i)->group);
    }
    add_fault(
        table, "impossible", impossible, 0,
        "faster than the device's peaks allow: `rooftile dataset validate` names the worst; not fitted to");
    add_fault(table, "at the power limit", limited, 0,
              "the board's power limit held the clock down; no fault");
    return table;
}

/* Why kernels and runs could not run, by the attribute "failure": a row per reason. */
static struct rt_table *failures_table(const struct rt_dataset *dataset)
{
    static const struct rt_column columns[] = {{"failure", NULL, 's', 0}, {"count", NULL, 'd', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    struct rt_strings reasons = {0};
    long long *counts = rt_calloc(dataset->samples.count + dataset->workload_count + 1, sizeof *counts);
    for (size_t i = 0; i < dataset->samples.count + dataset->workload_count; i++) {
        bool run = i >= dataset->samples.count;
        const struct rt_workload *workload = run ? &dataset->workloads[i - dataset->samples.count] : NULL;
        uint32_t set = run ? workload->flags : RT_SAMPLE(dataset, i)->flags;
        const char *reason =
            rt_dataset_attribute(dataset, run ? workload->group : RT_SAMPLE(dataset, i)->group, "failure");
        if (set & RT_FLAG_FAILED) {
            reason = reason != NULL ? reason : "no reason is in the file";
            counts[rt_strings_add(&reasons, reason, strlen(reason))]++;
        }
    }
    for (size_t r = 0; r < reasons.count; r++)
        rt_table_row(table, rt_strings_get(&reasons, (int32_t)r), counts[r]);
    free(counts);
    rt_strings_release(&reasons);
    return table;
}

/* How many samples and runs are made up. */
static size_t count_synthetic(const struct rt_dataset *dataset)
{
    size_t count = 0;
    for (size_t i = 0; i < dataset->samples.count; i++)
        count += (RT_SAMPLE(dataset, i)->flags & RT_FLAG_SYNTHETIC) != 0;
    for (size_t i = 0; i < dataset->workload_count; i++)
        count += (dataset->workloads[i].flags & RT_FLAG_SYNTHETIC) != 0;
    return count;
}

/* ---- its card ---- */

/* "Kernel latencies of NVIDIA L4, NVIDIA H100 80GB HBM3 and 3 more". Free with free(). */
static char *title_of(const struct rt_dataset *dataset, const struct rt_card_options *options)
{
    if (options->title != NULL)
        return rt_strdup(options->title);
    const char **names = rt_calloc(dataset->device_count + 1, sizeof *names);
    for (size_t d = 0; d < dataset->device_count; d++)
        names[d] = dataset->devices[d].name;
    char *devices = rt_card_names(names, dataset->device_count, 3);
    char *title = rt_format("%s%s of %s", count_synthetic(dataset) > 0 ? "SYNTHETIC: " : "",
                            dataset->samples.count > 0 ? "Kernel latencies" : "Measured models", devices);
    free(devices);
    free(names);
    return title;
}

static void add_what(struct rt_report *report, const struct rt_dataset *dataset)
{
    size_t synthetic = count_synthetic(dataset), rows = dataset->samples.count + dataset->workload_count;
    if (synthetic > 0)
        rt_report_add_paragraph(report,
                                "**SYNTHETIC: %zu of the %zu rows are made up by a formula, not measured. "
                                "They show how the tools work and nothing about hardware.**",
                                synthetic, rows);
    rt_report_add_paragraph(report,
                            "%zu samples (one kernel on one device each) and %zu runs of whole models, "
                            "measured on %zu device%s, in one HDF5 file. Dims count elements.",
                            dataset->samples.count, dataset->workload_count, dataset->device_count,
                            dataset->device_count == 1 ? "" : "s");
}

static void add_origin(struct rt_report *report, const struct rt_dataset *dataset, const char *licence,
                       const struct rt_card_options *options)
{
    rt_report_add_heading(report, "Where it is from");
    if (options->author != NULL)
        rt_report_add_text(report, "author", "author", options->author);
    rt_report_add_text(report, "source", "source",
                       options->source != NULL ? options->source : dataset->source);
    rt_report_add_fact(
        report, "licence", rt_json_text(licence), "licence", "%s",
        licence[0] != '\0' ? licence : "**not stated: ask who measured it before you use or pass it on**");
    rt_report_add_text(report, "creator", "written by", dataset->creator);
    rt_report_add_text(report, "created", "on", dataset->created);
    rt_report_add_text(report, "uuid", "uuid of the content", dataset->uuid);
    rt_report_add_fact(report, "version", json_integer(RT_DATASET_VERSION), "format", "%s, version %d",
                       RT_DATASET_FORMAT, RT_DATASET_VERSION);
}

static void add_tables(struct rt_report *report, const struct rt_dataset *dataset)
{
    rt_report_add_table(report, "devices", "Devices", devices_table(dataset));
    rt_report_add_table(report, "ops", "Ops and dtypes", ops_table(dataset));
    rt_report_add_table(report, "models", "Whole models", models_table(dataset));
    rt_report_add_table(report, "quantities", "Quantities and their units", quantities_table(dataset));
    rt_report_add_table(report, "attributes", "How it was measured, and with which versions",
                        attributes_table(dataset));
}

static void add_faults(struct rt_report *report, const struct rt_dataset *dataset)
{
    struct rt_session_health health;
    rt_health_judge(dataset, &health);
    struct rt_table *faults = faults_table(dataset), *sessions = rt_health_complaints(&health, dataset);
    rt_health_warn(&health, dataset, -1, 0, "`rooftile train` leaves them out");
    rt_health_release(&health);
    if (rt_table_rows(faults) + rt_table_rows(sessions) == 0) {
        rt_report_add_heading(report, "Known faults");
        rt_report_add_paragraph(report,
                                "None is marked, and no kernel is faster than its device's peaks allow.");
    }
    rt_report_add_table(report, "faults", "Known faults", faults);
    rt_report_add_table(report, "failures", "Failures", failures_table(dataset));
    rt_report_add_table(report, "health", "Health of its sessions", sessions);
}

static void add_limits(struct rt_report *report)
{
    rt_report_add_heading(report, "Limits");
    rt_report_add_note(report, NULL,
                       "It holds for these devices with these drivers, libraries and clocks; others differ.");
    rt_report_add_note(report, NULL,
                       "A kernel that is timed alone carries the host's dispatch, but where it has the flag "
                       "`queued`; in a model that runs many, most of that is hidden.");
    rt_report_add_note(report, NULL,
                       "Outside the ranges above nothing was measured: a predictor that is fitted to it "
                       "extrapolates there, by physics.");
    rt_report_add_note(report, NULL,
                       "Failed kernels have no time: leave out rows whose `latency_us` is missing.");
}

static void add_use(struct rt_report *report, const char *path)
{
    const char *slash = strrchr(path, '/'), *name = slash != NULL ? slash + 1 : path;
    char *lines = rt_format("rooftile dataset info %s\n"
                            "rooftile dataset validate %s\n"
                            "rooftile train %s -o predictor.h5\n",
                            name, name, name);
    rt_report_add_heading(report, "How to use it");
    rt_report_add_lines(report, lines);
    free(lines);
    rt_report_add_paragraph(
        report, "Any reader of HDF5 opens it; datasets/FORMAT.md of rooftile names every column.");
}

struct rt_report *rt_card_of_dataset(const struct rt_dataset *dataset, const char *path,
                                     const struct rt_card_options *options,
                                     const struct rt_card_scored *judged)
{
    struct rt_report *report = rt_report_new();
    const char *licence = options->licence != NULL ? options->licence : dataset->licence;
    char *title = title_of(dataset, options);
    rt_report_add_front(report, "metadata", rt_front_of_dataset(dataset, title, licence, options));
    rt_report_add_title(report, "%s", title);
    add_what(report, dataset);
    add_origin(report, dataset, licence, options);
    add_tables(report, dataset);
    add_faults(report, dataset);
    if (judged != NULL)
        rt_card_add_scored(report, judged);
    add_limits(report);
    add_use(report, path);
    rt_card_add_end(report, options, dataset->source);
    free(title);
    return report;
}
