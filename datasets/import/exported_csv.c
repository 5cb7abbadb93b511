/*
 * Reads what `rooftile dataset export --format csv` writes: a folder of CSV files. devices.csv and
 * samples.csv or workloads.csv are required; the other files and most columns may be missing, as in a folder
 * written by hand.
 */
#include "datasets/csv_cell.h"
#include "datasets/export_csv.h"
#include "datasets/import/import.h"
#include "datasets/run_attributes.h"
#include "base/progress.h"
#include "base/status.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { GROUP_ATTRIBUTES = 64 };

struct reading {
    struct rt_dataset *dataset;
    struct rt_import_report *report;
    struct rt_csv *csv;
    const struct rt_csv_field *row;
    struct rt_progress *progress; /* in bytes */
};

/* Opens FOLDER/name. *found is false, and the status RT_OK, where there is no such file. */
static int open_file(struct reading *r, const char *folder, const char *name, bool *found)
{
    struct stat file;
    char *path = rt_format("%s/%s", folder, name);
    int status = RT_OK;
    *found = stat(path, &file) == 0 || errno != ENOENT;
    if (*found)
        status = rt_csv_open(path, &r->csv);
    free(path);
    return status;
}

/* Calls `take` for every row. The first bad row ends the import: samples refer to the rows of these files. */
static int each_row(struct reading *r, int (*take)(struct reading *r))
{
    int got, status = RT_OK;
    while (status == RT_OK && (got = rt_csv_next(r->csv, &r->row)) != RT_CSV_END)
        status = got == RT_CSV_ROW ? take(r) : RT_EFORMAT;
    r->report->files++;
    r->report->bytes += (double)rt_csv_bytes(r->csv);
    rt_csv_close(r->csv);
    r->csv = NULL;
    return status;
}

static int need_columns(const struct reading *r, const char *const *names, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (i >= rt_csv_columns(r->csv) || strcmp(rt_csv_header(r->csv, i), names[i]) != 0)
            return rt_fail(RT_EFORMAT, "%s:1: column %zu must be \"%s\"", rt_csv_path(r->csv), i + 1,
                           names[i]);
    return RT_OK;
}

/* ---- meta.csv, strings.csv, groups.csv, devices.csv ---- */

static int take_meta(struct reading *r)
{
    struct rt_dataset *d = r->dataset;
    const struct rt_csv_field *value = &r->row[1];
    const struct {
        const char *name;
        char **text;
    } texts[] = {{"uuid", &d->uuid},
                 {"creator", &d->creator},
                 {"created", &d->created},
                 {"source", &d->source},
                 {"licence", &d->licence}};
    int64_t version;
    if (strcmp(r->row[0].text, "format") == 0 && strcmp(value->text, RT_DATASET_FORMAT) != 0)
        return rt_csv_fail_cell(r->csv, "format", value, RT_DATASET_FORMAT);
    if (strcmp(r->row[0].text, "version") == 0 &&
        (rt_parse_integer(value->text, value->length, &version) != 0 || version < 1 ||
         version > RT_DATASET_VERSION))
        return rt_fail(RT_EVERSION,
                       "%s:%zu: version %.20s, this build reads versions 1 to %d; use a newer rooftile",
                       rt_csv_path(r->csv), rt_csv_line(r->csv), value->text, RT_DATASET_VERSION);
    for (size_t i = 0; i < RT_COUNT(texts); i++)
        if (strcmp(r->row[0].text, texts[i].name) == 0) {
            free(*texts[i].text);
            *texts[i].text = rt_strdup(value->text);
        }
    return RT_OK;
}

static int take_string(struct reading *r)
{
    struct rt_strings *table = strcmp(r->row[0].text, "kernels") == 0 ? &r->dataset->kernels
                               : strcmp(r->row[0].text, "texts") == 0 ? &r->dataset->texts
                                                                      : NULL;
    if (table == NULL)
        return rt_csv_fail_cell(r->csv, "table", &r->row[0], "kernels or texts");
    rt_strings_add(table, r->row[1].text, r->row[1].length);
    return RT_OK;
}

/* Attributes of the group that is being read, up to the first row of the next. */
struct gathering {
    struct reading reading;
    size_t count;
    bool any;
    char *names[GROUP_ATTRIBUTES], *values[GROUP_ATTRIBUTES];
};

static int end_group(struct gathering *g)
{
    if (!g->any)
        return RT_OK;
    size_t before = g->reading.dataset->group_count;
    int32_t index = rt_dataset_add_group(g->reading.dataset, g->count, (const char *const *)g->names,
                                         (const char *const *)g->values);
    for (size_t i = 0; i < g->count; i++) {
        free(g->names[i]);
        free(g->values[i]);
    }
    g->count = 0;
    g->any = false;
    return (size_t)index == before ? RT_OK
                                   : rt_fail(RT_EFORMAT, "%s: groups %d and %zu are the same",
                                             rt_csv_path(g->reading.csv), index, before);
}

static int take_attribute(struct reading *r)
{
    struct gathering *g = (struct gathering *)r; /* its first member */
    int64_t group;
    if (rt_parse_integer(r->row[0].text, r->row[0].length, &group) != 0 || group < 0)
        return rt_csv_fail_cell(r->csv, "group", &r->row[0], "a number from 0 on");
    if (g->any && (size_t)group == r->dataset->group_count + 1 && end_group(g) != RT_OK)
        return RT_EFORMAT;
    if ((size_t)group != r->dataset->group_count)
        return rt_csv_fail_cell(r->csv, "group", &r->row[0], "the number of the row before, or one more");
    g->any = true;
    if (r->row[1].length == 0)
        return RT_OK; /* a group without attributes */
    if (g->count == GROUP_ATTRIBUTES)
        return rt_csv_fail_cell(r->csv, "group", &r->row[0], "a group of at most 64 attributes");
    g->names[g->count] = rt_strdup(r->row[1].text);
    g->values[g->count++] = rt_strdup(r->row[2].text);
    return RT_OK;
}

static int take_device(struct reading *r)
{
    struct rt_device device;
    char where[512];
    rt_device_init(&device, "");
    snprintf(where, sizeof where, "%.400s:%zu", rt_csv_path(r->csv), rt_csv_line(r->csv));
    for (size_t t = 0; t < rt_device_text_count; t++) {
        int column = rt_csv_find(r->csv, rt_device_texts[t].key);
        if (column >= 0 && r->row[column].length >= rt_device_texts[t].size)
            return rt_csv_fail_cell(r->csv, rt_device_texts[t].key, &r->row[column], "a shorter text");
        if (column >= 0)
            strcpy(rt_device_text(&device, t), r->row[column].text);
    }
    for (size_t f = 0; f < rt_device_field_count; f++) {
        int column = rt_csv_find(r->csv, rt_device_fields[f].key);
        const struct rt_csv_field *cell = column >= 0 ? &r->row[column] : NULL;
        if (cell != NULL && !cell->missing &&
            rt_parse_real(cell->text, cell->length, rt_device_value(&device, f)) != 0)
            return rt_csv_fail_cell(r->csv, rt_device_fields[f].key, cell, "a number");
    }
    int status = rt_device_check(&device, where);
    if (status == RT_OK && rt_dataset_find_device(r->dataset, device.name) >= 0)
        status = rt_fail(RT_EFORMAT, "%s: device \"%s\" is described twice", where, device.name);
    if (status == RT_OK && rt_dataset_add_device(r->dataset, &device) < 0)
        status = RT_EFORMAT;
    return status;
}

/* ---- samples.csv, workloads.csv ---- */

/* A table of rows that are built from rt_fields. */
struct table {
    struct reading reading;
    const struct rt_field *fields;
    size_t field_count;
    int *columns; /* per field, -1: missing */
    const char *const *required;
    size_t required_count, filled; /* columns that the file has; the first of them have a value in each row */
};

static int check_filled(const struct table *table)
{
    const struct reading *r = &table->reading;
    for (size_t i = 0; i < table->filled; i++)
        if (r->row[rt_csv_find(r->csv, table->required[i])].missing)
            return rt_csv_fail(r->csv, "has no %s", table->required[i]);
    return RT_OK;
}

static int read_row(const struct table *table, void *row)
{
    struct reading r = table->reading;
    if (check_filled(table) != RT_OK)
        return RT_EFORMAT;
    for (size_t f = 0; f < table->field_count; f++) {
        const struct rt_csv_field *cell = table->columns[f] >= 0 ? &r.row[table->columns[f]] : NULL;
        int status = RT_OK;
        if (cell != NULL && !cell->missing)
            status = rt_cell_read(r.csv, cell, r.dataset, &table->fields[f], row);
        if (status != RT_OK)
            return status;
    }
    return RT_OK;
}

static int check_group(const struct reading *r, int32_t group)
{
    return group >= -1 && group < (int32_t)r->dataset->group_count
               ? RT_OK
               : rt_csv_fail(r->csv, "group is %d, but groups.csv has %zu", group, r->dataset->group_count);
}

static int check_sample(const struct reading *r, const struct rt_sample *sample)
{
    if (rt_op_check(sample->call.op, sample->call.dim) != RT_OK)
        return rt_fail_context(RT_EFORMAT, "%s:%zu", rt_csv_path(r->csv), rt_csv_line(r->csv));
    if (!(sample->latency_us > 0) && !(sample->flags & RT_FLAG_FAILED))
        return rt_csv_fail(r->csv,
                           "latency_us is %g; it must be above 0 (or missing, where flags say failed)",
                           sample->latency_us);
    return check_group(r, sample->group);
}

/* Every number of the row is possible. Flags of later builds stay. */
static int check_numbers(const struct table *table, const void *row)
{
    char must[96];
    for (size_t f = 0; f < table->field_count; f++)
        if (table->fields[f].type != RT_H5_U32 && !rt_field_is_possible(&table->fields[f], row))
            return rt_csv_fail(table->reading.csv, "%s is %.9g; it must be %s", table->fields[f].name,
                               rt_field_real(&table->fields[f], row),
                               rt_field_must_be(&table->fields[f], must));
    return RT_OK;
}

/* Counts a row as kept or refused. `name`: the op of a sample, or "workload". */
static void count_row(struct reading *r, bool kept, const char *name, int32_t device, bool unknown_tile)
{
    struct rt_import_count *count =
        rt_import_counter(r->report, name, device >= 0 ? r->dataset->devices[device].name : "?");
    count->read++;
    count->kept += kept;
    count->refused += !kept;
    count->unknown_tiles += kept && unknown_tile;
    if (!kept)
        rt_import_note(&r->report->refused, rt_error());
}

static void take_sample(struct table *table, bool whole)
{
    struct reading *r = &table->reading;
    struct rt_sample sample;
    rt_sample_init(&sample);
    bool kept = whole && read_row(table, &sample) == RT_OK && check_sample(r, &sample) == RT_OK &&
                check_numbers(table, &sample) == RT_OK;
    if (kept)
        rt_dataset_add_sample(r->dataset, &sample);
    count_row(r, kept, sample.device >= 0 ? rt_ops[sample.call.op].name : "?", sample.device,
              sample.flags & RT_FLAG_UNKNOWN_TILE);
}

static int check_attributes(const struct reading *r, const struct rt_workload *workload)
{
    return rt_run_attributes_check(r->dataset, workload) == RT_OK
               ? RT_OK
               : rt_fail_context(RT_EFORMAT, "%s:%zu", rt_csv_path(r->csv), rt_csv_line(r->csv));
}

static void take_workload(struct table *table, bool whole)
{
    struct reading *r = &table->reading;
    struct rt_workload workload;
    rt_workload_init(&workload);
    bool kept = whole && read_row(table, &workload) == RT_OK && check_group(r, workload.group) == RT_OK &&
                check_numbers(table, &workload) == RT_OK && check_attributes(r, &workload) == RT_OK;
    if (kept)
        rt_dataset_add_workload(r->dataset, &workload);
    count_row(r, kept, "workload", workload.device, false);
}

static int find_columns(struct table *table)
{
    struct rt_csv *csv = table->reading.csv;
    for (size_t c = 0; c < rt_csv_columns(csv); c++) {
        size_t f = 0;
        while (f < table->field_count && strcmp(table->fields[f].name, rt_csv_header(csv, c)) != 0)
            f++;
        if (f == table->field_count)
            return rt_fail(RT_EFORMAT, "%s:1: no column is called \"%.60s\"; FORMAT.md lists them",
                           rt_csv_path(csv), rt_csv_header(csv, c));
    }
    for (size_t i = 0; i < table->required_count; i++)
        if (rt_csv_find(csv, table->required[i]) < 0)
            return rt_fail(RT_EFORMAT, "%s:1: has no column \"%s\"", rt_csv_path(csv), table->required[i]);
    table->columns = rt_calloc(table->field_count, sizeof *table->columns);
    for (size_t f = 0; f < table->field_count; f++)
        table->columns[f] = rt_csv_find(csv, table->fields[f].name);
    return RT_OK;
}

static void take_rows(struct table *table, void (*take)(struct table *table, bool whole))
{
    struct reading *r = &table->reading;
    size_t rows = 0;
    int got;
    while ((got = rt_csv_next(r->csv, &r->row)) > 0) {
        take(table, got == RT_CSV_ROW);
        if (++rows % 4096 == 0)
            rt_progress_update(r->progress, r->report->bytes + (double)rt_csv_bytes(r->csv), "%zu rows",
                               rows);
    }
    if (got < 0)
        take(table, false); /* the rest of the file cannot be read */
    r->report->files++;
    r->report->bytes += (double)rt_csv_bytes(r->csv);
}

static int read_table(const struct reading *r, const char *folder, const char *name, struct table *table,
                      void (*take)(struct table *table, bool whole))
{
    bool found;
    table->reading = *r;
    int status = open_file(&table->reading, folder, name, &found);
    if (status == RT_OK && found) {
        status = find_columns(table);
        if (status == RT_OK)
            take_rows(table, take);
        free(table->columns);
        rt_csv_close(table->reading.csv);
    }
    return status;
}

static int read_small_file(const struct reading *reading, const char *folder, const char *name,
                           const char *const *columns, size_t column_count, int (*take)(struct reading *r))
{
    struct reading r = *reading;
    bool found;
    int status = open_file(&r, folder, name, &found);
    if (status != RT_OK || !found)
        return status;
    if ((status = need_columns(&r, columns, column_count)) == RT_OK)
        return each_row(&r, take);
    rt_csv_close(r.csv);
    return status;
}

static int read_groups(const struct reading *reading, const char *folder)
{
    static const char *const columns[] = {"group", "name", "value"};
    struct gathering g = {.reading = *reading};
    bool found;
    int status = open_file(&g.reading, folder, "groups.csv", &found), got;
    if (status != RT_OK || !found)
        return status;
    status = need_columns(&g.reading, columns, RT_COUNT(columns));
    while (status == RT_OK && (got = rt_csv_next(g.reading.csv, &g.reading.row)) != RT_CSV_END)
        status = got == RT_CSV_ROW ? take_attribute(&g.reading) : RT_EFORMAT;
    int ended = end_group(&g); /* also after a failure: it releases */
    rt_csv_close(g.reading.csv);
    return status != RT_OK ? status : ended;
}

/* Some of the files may be of an earlier export. */
static int check_complete(const char *folder)
{
    char *mark = rt_format("%s/" RT_EXPORT_MARK, folder);
    bool there = access(mark, F_OK) == 0;
    free(mark);
    return there ? rt_fail(RT_EFORMAT,
                           "%s: was being replaced when its export ended, so its files do not belong "
                           "together; export again with {overwrite}",
                           folder)
                 : RT_OK;
}

/* In bytes; 0 where there is no such file. */
static double size_of(const char *folder, const char *name)
{
    struct stat file;
    char *path = rt_format("%s/%s", folder, name);
    double size = stat(path, &file) == 0 ? (double)file.st_size : 0;
    free(path);
    return size;
}

static int read_what_rows_name(const struct reading *r, const char *folder)
{
    static const char *const meta[] = {"name", "value"}, *const strings[] = {"table", "text"},
                             *const devices[] = {"name"};
    int status = read_small_file(r, folder, "meta.csv", meta, RT_COUNT(meta), take_meta);
    if (status == RT_OK)
        status = read_small_file(r, folder, "strings.csv", strings, RT_COUNT(strings), take_string);
    if (status == RT_OK)
        status = read_groups(r, folder);
    if (status == RT_OK)
        status = read_small_file(r, folder, "devices.csv", devices, RT_COUNT(devices), take_device);
    return status;
}

static int import(const char *path, const struct rt_import_options *options, struct rt_dataset *out,
                  struct rt_import_report *report)
{
    static const char *const sample_columns[] = {"op", "dtype", "device", "latency_us"};
    static const char *const workload_columns[] = {"model", "mode", "dtype", "device", "end_to_end_us"};
    struct reading r = {.dataset = out, .report = report};
    struct table samples = {.fields = rt_sample_fields,
                            .field_count = rt_sample_field_count,
                            .required = sample_columns,
                            .required_count = RT_COUNT(sample_columns),
                            .filled = RT_COUNT(sample_columns) - 1}; /* failed ones have no latency */
    struct table workloads = {.fields = rt_workload_fields,
                              .field_count = rt_workload_field_count,
                              .required = workload_columns,
                              .required_count = RT_COUNT(workload_columns),
                              .filled = RT_COUNT(workload_columns) - 1};
    struct rt_progress progress;
    struct stat folder;
    int status;
    if (stat(path, &folder) != 0 || !S_ISDIR(folder.st_mode))
        return rt_fail(
            RT_EIO, "%s: is not a folder that can be read; name what `rooftile dataset export` wrote", path);
    if ((status = check_complete(path)) != RT_OK)
        return status;
    rt_progress_start(&progress, "import", size_of(path, "samples.csv") + size_of(path, "workloads.csv"),
                      options->quiet);
    r.progress = &progress;
    status = read_what_rows_name(&r, path);
    if (status == RT_OK)
        status = read_table(&r, path, "samples.csv", &samples, take_sample);
    if (status == RT_OK)
        status = read_table(&r, path, "workloads.csv", &workloads, take_workload);
    rt_progress_end(&progress);
    return status;
}

const struct rt_importer rt_importer_csv = {"csv", import};
