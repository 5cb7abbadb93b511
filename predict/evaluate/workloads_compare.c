/* Forecasts that others published, out of a CSV file: columns `device`, `workload`, perhaps `measured_ms`,
 * and any further ones that end in "_ms", each a forecast; an empty cell is none. See workloads.h. */
#include "base/csv.h"
#include "base/status.h"
#include "predict/evaluate/workloads.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double AGREES = 1e-3; /* relative: measured times that are the same one */

/* The CSV file while it is read. */
struct others {
    struct rt_workload_evaluation *evaluation;
    struct rt_csv *csv;
    int device, workload, measured;    /* columns; measured: -1 where there is none */
    int from[RT_MAX_WORKLOAD_COLUMNS]; /* column of the file behind each compared column */
    size_t first;                      /* the first compared column of the evaluation */
    char **name;                  /* (workload_count) what the file would call each workload of the data */
    struct rt_workload_row **row; /* (workload_count) its row; NULL: was not asked for, or left out */
    bool *seen;                   /* (workload_count) */
};

static bool is_forecast(const struct others *others, size_t column)
{
    const char *header = rt_csv_header(others->csv, column);
    size_t length = strlen(header);
    return (int)column != others->measured && length > 3 && strcmp(header + length - 3, "_ms") == 0;
}

static int find_columns(struct others *others)
{
    struct rt_workload_evaluation *evaluation = others->evaluation;
    const char *path = rt_csv_path(others->csv);
    others->device = rt_csv_find(others->csv, "device");
    others->workload = rt_csv_find(others->csv, "workload");
    others->measured = rt_csv_find(others->csv, "measured_ms");
    if (others->device < 0 || others->workload < 0)
        return rt_fail(RT_EFORMAT,
                       "%s:1: has no column \"%s\"; forecasts to compare with need device, workload and a "
                       "column such as neusight_ms",
                       path, others->device < 0 ? "device" : "workload");
    others->first = evaluation->column_count;
    for (size_t c = 0; c < rt_csv_columns(others->csv); c++) {
        if (!is_forecast(others, c))
            continue;
        const char *header = rt_csv_header(others->csv, c);
        if (evaluation->column_count - others->first == RT_MAX_COMPARED)
            return rt_fail(RT_EFORMAT, "%s:1: more than %d columns of forecasts; leave some out", path,
                           RT_MAX_COMPARED);
        others->from[evaluation->column_count] = (int)c;
        evaluation->column[evaluation->column_count++] =
            (struct rt_workload_column){.kind = RT_COLUMN_COMPARED,
                                        .name = rt_format("%.*s*", (int)strlen(header) - 3, header),
                                        .key = rt_strdup(header),
                                        .scored = true};
    }
    if (evaluation->column_count == others->first)
        return rt_fail(RT_EFORMAT,
                       "%s:1: has no column of forecasts; their names end in \"_ms\", such as neusight_ms",
                       path);
    return RT_OK;
}

/* A time in ms, above 0, as us; NaN where the cell is empty. */
static int read_time(const struct others *others, const struct rt_csv_field *field, const char *column,
                     double *out_us)
{
    double ms = NAN;
    if (field->length > 0 && (rt_parse_real(field->text, field->length, &ms) != 0 || !(ms > 0)))
        return rt_fail(RT_EFORMAT,
                       "%s:%zu: %s: \"%.40s\" is not a time above 0; leave the cell empty where "
                       "there is none",
                       rt_csv_path(others->csv), rt_csv_line(others->csv), column, field->text);
    *out_us = 1000 * ms;
    return RT_OK;
}

/* Fills a row, which the file's current line is about. */
static int fill_row(const struct others *others, const struct rt_csv_field *fields,
                    struct rt_workload_row *row)
{
    struct rt_workload_evaluation *evaluation = others->evaluation;
    double measured_us = NAN;
    int status = RT_OK;
    for (size_t c = others->first; status == RT_OK && c < evaluation->column_count; c++)
        status = read_time(others, &fields[others->from[c]], evaluation->column[c].key, &row->time_us[c]);
    if (status == RT_OK && others->measured >= 0)
        status = read_time(others, &fields[others->measured], "measured_ms", &measured_us);
    if (status == RT_OK && fabs(measured_us / row->workload->end_to_end_us - 1) > AGREES) {
        evaluation->disagreements = rt_realloc(evaluation->disagreements, evaluation->disagreement_count + 1,
                                               sizeof *evaluation->disagreements);
        evaluation->disagreements[evaluation->disagreement_count++] =
            (struct rt_workload_disagreement){rt_csv_line(others->csv), row, measured_us};
    }
    return status;
}

/* One line is about every time that its workload was measured. */
static int read_line(struct others *others, const struct rt_csv_field *fields)
{
    struct rt_workload_evaluation *evaluation = others->evaluation;
    const struct rt_dataset *dataset = evaluation->dataset;
    bool known = false;
    int status = RT_OK;
    for (size_t w = 0; status == RT_OK && w < dataset->workload_count; w++) {
        const char *device = dataset->devices[dataset->workloads[w].device].name;
        if (!rt_name_equal(fields[others->workload].text, others->name[w]) ||
            !rt_name_equal(fields[others->device].text, device))
            continue;
        if (others->seen[w])
            return rt_fail(RT_EFORMAT, "%s:%zu: %s on %s is there a second time; leave one line",
                           rt_csv_path(others->csv), rt_csv_line(others->csv), others->name[w], device);
        others->seen[w] = known = true;
        if (others->row[w] != NULL)
            status = fill_row(others, fields, others->row[w]);
    }
    evaluation->compared_rows++;
    evaluation->compared_unknown += !known;
    return status;
}

static int read_lines(struct others *others)
{
    const struct rt_csv_field *fields;
    int status = find_columns(others);
    for (int next; status == RT_OK && (next = rt_csv_next(others->csv, &fields)) != RT_CSV_END;)
        status = next == RT_CSV_ROW ? read_line(others, fields) : next < 0 ? next : RT_EFORMAT;
    return status;
}

static int check_known(const struct others *others)
{
    const struct rt_workload_evaluation *evaluation = others->evaluation;
    const char *path = rt_csv_path(others->csv);
    if (evaluation->compared_rows == 0)
        return rt_fail(RT_EFORMAT, "%s: holds no forecasts, only the names of its columns", path);
    if (evaluation->compared_unknown == evaluation->compared_rows)
        return rt_fail(RT_EFORMAT,
                       "%s: none of its %zu lines is about a workload of the data; one of those is written "
                       "%s on device %s",
                       path, evaluation->compared_rows, others->name[0],
                       evaluation->dataset->devices[evaluation->dataset->workloads[0].device].name);
    return RT_OK;
}

int rt_workloads_compare(struct rt_workload_evaluation *evaluation)
{
    const struct rt_dataset *dataset = evaluation->dataset;
    struct others others = {.evaluation = evaluation};
    int status = rt_csv_open(evaluation->options.compare, &others.csv);
    if (status != RT_OK)
        return status;
    others.name = rt_calloc(dataset->workload_count, sizeof *others.name);
    others.row = rt_calloc(dataset->workload_count, sizeof *others.row);
    others.seen = rt_calloc(dataset->workload_count, sizeof *others.seen);
    for (size_t w = 0; w < dataset->workload_count; w++)
        others.name[w] = rt_workload_name(dataset, &dataset->workloads[w]);
    for (size_t r = 0; r < evaluation->row_count; r++)
        others.row[evaluation->rows[r].workload - dataset->workloads] = &evaluation->rows[r];
    status = read_lines(&others);
    if (status == RT_OK)
        status = check_known(&others);
    for (size_t w = 0; w < dataset->workload_count; w++)
        free(others.name[w]);
    free(others.name);
    free(others.row);
    free(others.seen);
    rt_csv_close(others.csv);
    return status;
}
