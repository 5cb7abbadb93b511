/* Published forecasts out of a CSV file. See evaluation.h. */
#include "predict/evaluate/evaluation.h"
#include "base/array.h"
#include "base/csv.h"
#include "base/status.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double AGREES = 1e-3; /* relative: how far two records of one measurement may differ */

/* The CSV file while it is read. */
struct published {
    struct rt_evaluation *evaluation;
    const struct rt_dataset *dataset;
    struct rt_csv *csv;
    int device, workload, measured; /* columns; measured: -1 where there is none */
    int from[RT_MAX_SCORED];        /* column of the file behind each column of the evaluation */
    size_t first;                   /* the evaluation's first column that comes from the file */
    char **title;                   /* (workload_count) of each run of the data */
    int64_t *row;                   /* (workload_count) its row; -1: was not asked for, or left out */
    bool *seen;                     /* (workload_count) */
};

static bool is_forecast(const struct published *published, size_t column)
{
    const char *header = rt_csv_header(published->csv, column);
    size_t length = strlen(header);
    return (int)column != published->measured && length > 3 && strcmp(header + length - 3, "_ms") == 0;
}

static int find_columns(struct published *published)
{
    struct rt_evaluation *evaluation = published->evaluation;
    const char *path = rt_csv_path(published->csv);
    published->device = rt_csv_find(published->csv, "device");
    published->workload = rt_csv_find(published->csv, "workload");
    published->measured = rt_csv_find(published->csv, "measured_ms");
    if (published->device < 0 || published->workload < 0)
        return rt_fail(RT_EFORMAT,
                       "%s:1: has no column \"%s\"; forecasts to compare with need device, workload and a "
                       "column such as neusight_ms",
                       path, published->device < 0 ? "device" : "workload");
    published->first = evaluation->column_count;
    for (size_t c = 0; c < rt_csv_columns(published->csv); c++) {
        if (!is_forecast(published, c))
            continue;
        const char *header = rt_csv_header(published->csv, c);
        if (evaluation->column_count - published->first == RT_MAX_PUBLISHED)
            return rt_fail(RT_EFORMAT, "%s:1: more than %d columns of forecasts; leave some out", path,
                           RT_MAX_PUBLISHED);
        size_t to = rt_evaluation_add_column(evaluation, RT_SCORED_PUBLISHED,
                                             rt_format("%.*s*", (int)strlen(header) - 3, header),
                                             rt_strdup(header), evaluation->row_count);
        published->from[to] = (int)c;
    }
    if (evaluation->column_count == published->first)
        return rt_fail(RT_EFORMAT,
                       "%s:1: has no column of forecasts; their names end in \"_ms\", such as neusight_ms",
                       path);
    return RT_OK;
}

/* A time in ms, above 0, as us; NaN where the cell is empty. */
static int read_time(const struct published *published, const struct rt_csv_field *field, const char *column,
                     double *out_us)
{
    double ms = NAN;
    if (field->length > 0 &&
        (rt_parse_real(field->text, field->length, &ms) != 0 || !rt_time_is_possible(1000 * ms)))
        return rt_fail(RT_EFORMAT,
                       "%s:%zu: %s: \"%.40s\" is not a time above 0 that a clock can give; leave the cell "
                       "empty where there is none",
                       rt_csv_path(published->csv), rt_csv_line(published->csv), column, field->text);
    *out_us = 1000 * ms;
    return RT_OK;
}

/* Fills a row with the file's current line. */
static int fill_row(const struct published *published, const struct rt_csv_field *fields, size_t row)
{
    struct rt_evaluation *evaluation = published->evaluation;
    double measured_us = NAN;
    int status = RT_OK;
    for (size_t c = published->first; status == RT_OK && c < evaluation->column_count; c++)
        status = read_time(published, &fields[published->from[c]], evaluation->column[c].key,
                           &evaluation->column[c].value[row]);
    if (status == RT_OK && published->measured >= 0)
        status = read_time(published, &fields[published->measured], "measured_ms", &measured_us);
    if (status == RT_OK && fabs(measured_us / evaluation->measured[row] - 1) > AGREES) {
        RT_GROW(evaluation->disagreements, evaluation->disagreement_count, 1,
                evaluation->disagreement_capacity);
        evaluation->disagreements[evaluation->disagreement_count++] =
            (struct rt_scored_disagreement){rt_csv_line(published->csv), row, measured_us};
    }
    return status;
}

/* A line holds for every run with its title on its device. */
static int read_line(struct published *published, const struct rt_csv_field *fields)
{
    struct rt_evaluation *evaluation = published->evaluation;
    const struct rt_dataset *dataset = published->dataset;
    bool known = false;
    int status = RT_OK;
    for (size_t w = 0; status == RT_OK && w < dataset->workload_count; w++) {
        const char *device = dataset->devices[dataset->workloads[w].device].name;
        if (!rt_name_equal(fields[published->workload].text, published->title[w]) ||
            !rt_name_equal(fields[published->device].text, device))
            continue;
        if (published->seen[w])
            return rt_fail(RT_EFORMAT, "%s:%zu: %s on %s is there a second time; leave one line",
                           rt_csv_path(published->csv), rt_csv_line(published->csv), published->title[w],
                           device);
        published->seen[w] = known = true;
        if (published->row[w] >= 0)
            status = fill_row(published, fields, (size_t)published->row[w]);
    }
    evaluation->published_lines++;
    evaluation->published_unknown += !known;
    return status;
}

static int read_lines(struct published *published)
{
    const struct rt_csv_field *fields;
    int status = find_columns(published);
    for (int next; status == RT_OK && (next = rt_csv_next(published->csv, &fields)) != RT_CSV_END;)
        status = next == RT_CSV_ROW ? read_line(published, fields) : next < 0 ? next : RT_EFORMAT;
    return status;
}

static int check_known(const struct published *published)
{
    const struct rt_evaluation *evaluation = published->evaluation;
    const char *path = rt_csv_path(published->csv);
    if (evaluation->published_lines == 0)
        return rt_fail(RT_EFORMAT, "%s: holds no forecasts, only the names of its columns", path);
    if (evaluation->published_unknown == evaluation->published_lines)
        return rt_fail(RT_EFORMAT,
                       "%s: none of its %zu lines is about a workload of the data; one of those is written "
                       "%s on device %s",
                       path, evaluation->published_lines, published->title[0],
                       published->dataset->devices[published->dataset->workloads[0].device].name);
    return RT_OK;
}

int rt_published_read(const struct rt_dataset *dataset, struct rt_evaluation *evaluation)
{
    struct published published = {.evaluation = evaluation, .dataset = dataset};
    size_t count = dataset->workload_count;
    int status = rt_csv_open(evaluation->options.published, &published.csv);
    if (status != RT_OK)
        return status;
    published.title = rt_calloc(count, sizeof *published.title);
    published.row = rt_malloc(count * sizeof *published.row);
    published.seen = rt_calloc(count, sizeof *published.seen);
    for (size_t w = 0; w < count; w++) {
        struct rt_workload_name name = rt_workload_name(dataset, &dataset->workloads[w]);
        published.title[w] = rt_workload_title(&dataset->workloads[w], &name);
        published.row[w] = -1;
    }
    for (size_t r = 0; r < evaluation->row_count; r++)
        published.row[evaluation->run[r].workload - dataset->workloads] = (int64_t)r;
    status = read_lines(&published);
    if (status == RT_OK)
        status = check_known(&published);
    for (size_t w = 0; w < count; w++)
        free(published.title[w]);
    free(published.title);
    free(published.row);
    free(published.seen);
    rt_csv_close(published.csv);
    return status;
}
