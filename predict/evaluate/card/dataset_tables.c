/* What a dataset holds, as tables of its card. See card_parts.h. */
#include "predict/evaluate/card/card_parts.h"
#include "datasets/summary.h"
#include "base/printable.h"
#include "base/status.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct rt_table *rt_card_devices(const struct rt_dataset *dataset)
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
    for (size_t i = 0; i < dataset->sample_count; i++)
        samples[dataset->samples[i].device]++;
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

struct rt_table *rt_card_ops(const struct rt_dataset *dataset)
{
    static const struct rt_column columns[] = {{"op", NULL, 's', 0},       {"dtype", NULL, 's', 0},
                                               {"samples", NULL, 'd', 0},  {"devices", NULL, 'd', 0},
                                               {"us", "time, us", 's', 0}, {"dims", NULL, 's', 0}};
    enum { CELLS = RT_OP_COUNT * RT_DTYPE_COUNT };
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    struct op_row *rows = rt_calloc(CELLS, sizeof *rows);
    bool *seen = rt_calloc(CELLS * dataset->device_count + 1, sizeof *seen);
    for (size_t i = 0; i < dataset->sample_count; i++) {
        const struct rt_sample *sample = &dataset->samples[i];
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

struct rt_table *rt_card_models(const struct rt_dataset *dataset)
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

struct rt_table *rt_card_attributes(const struct rt_dataset *dataset)
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
