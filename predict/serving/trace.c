/* Reading lists of requests. See trace.h. */
#include "predict/serving/trace.h"
#include "base/csv.h"
#include "base/status.h"
#include "base/strings.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum column { ARRIVAL, INPUT, OUTPUT, GROUP, PREFIX, COLUMNS };
static const char *const columns[COLUMNS] = {"arrival_s", "input_tokens", "output_tokens", "prefix_group",
                                             "prefix_tokens"};
static const double MOST_SECONDS = 1e9; /* 30 years */

struct reading {
    struct rt_csv *csv;
    int place[COLUMNS]; /* -1: no such column */
    size_t capacity;
};

static int find_columns(struct reading *r)
{
    for (size_t c = 0; c < rt_csv_columns(r->csv); c++) {
        bool known = false;
        for (int i = 0; i < COLUMNS; i++)
            known |= strcmp(rt_csv_header(r->csv, c), columns[i]) == 0;
        if (!known)
            return rt_fail(
                RT_EFORMAT,
                "%s: a list of requests has no column \"%.40s\"; there are arrival_s, input_tokens, "
                "output_tokens, prefix_group and prefix_tokens",
                rt_csv_path(r->csv), rt_csv_header(r->csv, c));
    }
    for (int i = 0; i < COLUMNS; i++)
        r->place[i] = rt_csv_find(r->csv, columns[i]);
    for (int i = ARRIVAL; i <= OUTPUT; i++)
        if (r->place[i] < 0)
            return rt_fail(RT_EFORMAT, "%s: a list of requests needs the column %s", rt_csv_path(r->csv),
                           columns[i]);
    return RT_OK;
}

static int32_t *grown(int32_t *column, size_t capacity, bool there)
{
    return there ? rt_realloc(column, capacity, sizeof *column) : NULL;
}

static void grow(struct reading *r, struct rt_serve_trace *trace)
{
    if (trace->count < r->capacity)
        return;
    r->capacity = r->capacity > 0 ? r->capacity + r->capacity / 2 : 1024;
    trace->arrival_us = rt_realloc(trace->arrival_us, r->capacity, sizeof *trace->arrival_us);
    trace->input = grown(trace->input, r->capacity, true);
    trace->output = grown(trace->output, r->capacity, true);
    trace->group = grown(trace->group, r->capacity, r->place[GROUP] >= 0);
    trace->prefix = grown(trace->prefix, r->capacity, r->place[GROUP] >= 0);
}

static int read_tokens(struct reading *r, enum column c, const struct rt_csv_field *cell, int64_t most,
                       int32_t *value)
{
    int64_t number;
    if (cell->missing || rt_csv_integer(cell, &number) != 0 || number < (c <= OUTPUT) || number > most)
        return rt_csv_fail_cell(r->csv, columns[c], cell,
                                c == PREFIX  ? "a whole number of tokens, at most input_tokens"
                                : c == GROUP ? "a whole number of 0 to 2147483647, or empty"
                                             : "a whole number of tokens, 1 to 268435456");
    *value = (int32_t)number;
    return RT_OK;
}

static int read_arrival(struct reading *r, const struct rt_csv_field *cell, struct rt_serve_trace *trace)
{
    double seconds;
    size_t i = trace->count;
    if (cell->missing || rt_parse_real(cell->text, cell->length, &seconds) != 0 ||
        !(fabs(seconds) <= MOST_SECONDS))
        return rt_csv_fail_cell(r->csv, columns[ARRIVAL], cell, "seconds, at most 1e9");
    trace->arrival_us[i] = seconds * 1e6;
    if (i > 0 && trace->arrival_us[i] < trace->arrival_us[i - 1])
        return rt_csv_fail(r->csv, "arrival_s goes back from %.10g to %.10g; sort the rows by it",
                           trace->arrival_us[i - 1] / 1e6, seconds);
    return RT_OK;
}

/* A group without prefix_tokens: the whole prompt. */
static int read_prefix(struct reading *r, const struct rt_csv_field *fields, struct rt_serve_trace *trace)
{
    size_t i = trace->count;
    const struct rt_csv_field *group = &fields[r->place[GROUP]];
    trace->group[i] = -1;
    trace->prefix[i] = 0;
    if (group->missing)
        return RT_OK;
    trace->prefix[i] = trace->input[i];
    int status = read_tokens(r, GROUP, group, INT32_MAX, &trace->group[i]);
    if (status == RT_OK && r->place[PREFIX] >= 0 && !fields[r->place[PREFIX]].missing)
        status = read_tokens(r, PREFIX, &fields[r->place[PREFIX]], trace->input[i], &trace->prefix[i]);
    return status;
}

static int read_row(struct reading *r, const struct rt_csv_field *fields, struct rt_serve_trace *trace)
{
    grow(r, trace);
    int status = read_arrival(r, &fields[r->place[ARRIVAL]], trace);
    if (status == RT_OK)
        status = read_tokens(r, INPUT, &fields[r->place[INPUT]], RT_MOST_SERVED_TOKENS,
                             &trace->input[trace->count]);
    if (status == RT_OK)
        status = read_tokens(r, OUTPUT, &fields[r->place[OUTPUT]], RT_MOST_SERVED_TOKENS,
                             &trace->output[trace->count]);
    if (status == RT_OK && r->place[GROUP] >= 0)
        status = read_prefix(r, fields, trace);
    trace->count += status == RT_OK;
    return status;
}

int rt_serve_trace_read(const char *path, struct rt_serve_trace *out)
{
    struct reading r = {0};
    const struct rt_csv_field *fields;
    *out = (struct rt_serve_trace){0};
    int status = rt_csv_open(path, &r.csv);
    if (status != RT_OK)
        return status;
    status = find_columns(&r);
    for (int next; status == RT_OK && (next = rt_csv_next(r.csv, &fields)) != RT_CSV_END;)
        status = next == RT_CSV_ROW ? read_row(&r, fields, out) : next < 0 ? next : RT_EFORMAT;
    if (status == RT_OK && out->count == 0)
        status = rt_fail(RT_EFORMAT, "%s: holds no requests, only the names of its columns", path);
    rt_csv_close(r.csv);
    if (status != RT_OK)
        rt_serve_trace_release(out);
    return status;
}

void rt_serve_trace_release(struct rt_serve_trace *trace)
{
    free(trace->arrival_us);
    free(trace->input);
    free(trace->output);
    free(trace->group);
    free(trace->prefix);
    *trace = (struct rt_serve_trace){0};
}
