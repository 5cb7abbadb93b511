/*
 * Measured runs of whole models, a row each: what scripts/label_pytorch.py writes, or a spreadsheet. The
 * columns are those of /workloads by name; every other column becomes an attribute of the row's group, and
 * those of run_attributes.h are checked. Device descriptions (as in datasets/devices/) in the same folder add
 * to the catalogue.
 */
#include "datasets/csv_cell.h"
#include "base/file.h"
#include "datasets/import/tree.h"
#include "datasets/run_attributes.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { OPTION_LENGTH = 64 };

struct reading {
    struct rt_import_file *file;
    struct rt_csv *csv;
    const struct rt_csv_field *row;
    int device;
    int *column;       /* of each of rt_workload_fields, -1: the file has none */
    int failure;       /* the column that says why a run failed, -1 */
    int out_of_memory; /* the one that says that it did not fit, -1 */
    int *attributes;   /* the other columns */
    size_t attribute_count;
};

/* ---- cells ---- */

/* PyTorch's words become ours: "compile-dp4" -> "fusion-dp4"; "eager" and "plain" are left out. */
static int read_option(const struct reading *r, const struct rt_csv_field *cell, int32_t *option)
{
    char text[OPTION_LENGTH + 16] = "";
    if (cell->length > OPTION_LENGTH)
        return rt_csv_fail_cell(r->csv, "option", cell, "a text of at most 64 bytes");
    bool translated = false;
    for (const char *at = cell->text; *at != '\0';) {
        size_t length = strcspn(at, "-");
        bool plain = (length == 5 && (strncmp(at, "eager", 5) == 0 || strncmp(at, "plain", 5) == 0));
        bool compile = length == 7 && strncmp(at, "compile", 7) == 0;
        if (compile && translated)
            return rt_csv_fail_cell(r->csv, "option", cell, "a text with \"compile\" once");
        translated |= compile;
        if (!plain && text[0] != '\0')
            strcat(text, "-");
        if (compile)
            strcat(text, "fusion");
        else if (!plain)
            strncat(text, at, length);
        at += length + (at[length] == '-');
    }
    *option = rt_strings_add(&r->file->data.texts, text, strlen(text));
    return RT_OK;
}

/* Measured or counted: more than 0. */
static int check_number(const struct reading *r, const struct rt_field *field,
                        const struct rt_csv_field *cell, const struct rt_workload *workload)
{
    char possible[96], must[160];
    double value = rt_field_real(field, workload);
    bool number = field->type == RT_H5_F64 || field->type == RT_H5_I64;
    if (!number || (value > 0 && rt_field_is_possible(field, workload)))
        return RT_OK;
    snprintf(must, sizeof must, "%s, or empty where it is not known", rt_field_must_be(field, possible));
    return rt_csv_fail_cell(r->csv, field->name, cell, must);
}

static int read_cell(const struct reading *r, const struct rt_field *field, const struct rt_csv_field *cell,
                     struct rt_workload *workload)
{
    if (field->table == RT_TABLE_DEVICES) /* was read first */
        return RT_OK;
    if (field->offset == offsetof(struct rt_workload, option))
        return read_option(r, cell, &workload->option);
    int status = rt_cell_read(r->csv, cell, &r->file->data, field, workload);
    return status != RT_OK ? status : check_number(r, field, cell, workload);
}

/* ---- rows ---- */

/* The columns that every table of measured models has. */
static const char *const required[] = {"device", "model", "batch", "mode", "dtype", "end_to_end_us"};

static bool is_time(const struct rt_field *field)
{
    return field->type == RT_H5_F64;
}

static int check_cells(const struct reading *r)
{
    for (size_t i = 0; i + 1 < RT_COUNT(required); i++) {
        int column = rt_csv_find(r->csv, required[i]);
        if (r->row[column].length == 0)
            return rt_csv_fail(r->csv, "%s is empty; every row needs it", required[i]);
    }
    return RT_OK;
}

/* Why it failed, or that it did not fit. */
static bool says_failed(const struct reading *r)
{
    return (r->failure >= 0 && r->row[r->failure].length > 0) ||
           (r->out_of_memory >= 0 && strcmp(r->row[r->out_of_memory].text, "1") == 0);
}

/* A failed run has no times; every other has an end_to_end_us. */
static int check_failure(const struct reading *r, const struct rt_workload *workload)
{
    bool failed = workload->flags & RT_FLAG_FAILED;
    if (!failed && isnan(workload->end_to_end_us))
        return rt_csv_fail(r->csv,
                           "end_to_end_us is empty; give the time, or say in a column \"failure\" why "
                           "there is none");
    for (size_t f = 0; failed && f < rt_workload_field_count; f++)
        if (is_time(&rt_workload_fields[f]) && r->column[f] >= 0 && r->row[r->column[f]].length > 0)
            return rt_csv_fail(r->csv,
                               "the run failed, but its %s is \"%.40s\"; leave either of the two empty",
                               rt_workload_fields[f].name, r->row[r->column[f]].text);
    return RT_OK;
}

static int read_workload(struct reading *r, struct rt_workload *workload)
{
    int status = check_cells(r);
    for (size_t f = 0; status == RT_OK && f < rt_workload_field_count; f++) {
        const struct rt_csv_field *cell = r->column[f] >= 0 ? &r->row[r->column[f]] : NULL;
        if (cell != NULL && cell->length > 0)
            status = read_cell(r, &rt_workload_fields[f], cell, workload);
    }
    if (status != RT_OK)
        return status;
    if (says_failed(r))
        workload->flags |= RT_FLAG_FAILED;
    if (workload->option < 0)
        workload->option = rt_strings_add(&r->file->data.texts, "", 0);
    if ((status = check_failure(r, workload)) != RT_OK)
        return status;
    workload->group = rt_import_file_group(r->file, r->csv, r->row, r->attributes, r->attribute_count, NULL);
    if (workload->group < 0)
        return workload->group;
    if (rt_run_attributes_check(&r->file->data, workload) != RT_OK)
        return rt_fail_context(RT_EFORMAT, "%s:%zu", rt_csv_path(r->csv), rt_csv_line(r->csv));
    return RT_OK;
}

/* Keeps or refuses a row. Not RT_OK where the rest of the file is not worth reading. */
static int take_row(void *context, const struct rt_csv_field *row)
{
    struct reading *r = context;
    struct rt_workload workload;
    rt_workload_init(&workload);
    r->row = row;
    workload.device = rt_import_file_device(r->file, r->csv, &row[r->device]);
    if (workload.device >= 0 && read_workload(r, &workload) == RT_OK)
        rt_dataset_add_workload(&r->file->data, &workload);
    else
        rt_import_file_refuse(r->file, "workload", workload.device);
    return workload.device == RT_EFORMAT ? RT_EFORMAT : RT_OK;
}

/* ---- files ---- */

/* Columns of /workloads, and the others as attributes. `option`, which is translated, is both. */
static void find_columns(struct reading *r)
{
    size_t columns = rt_csv_columns(r->csv);
    r->attributes = rt_calloc(columns, sizeof *r->attributes);
    r->column = rt_calloc(rt_workload_field_count, sizeof *r->column);
    for (size_t f = 0; f < rt_workload_field_count; f++)
        r->column[f] = rt_csv_find(r->csv, rt_workload_fields[f].name);
    r->failure = rt_csv_find(r->csv, "failure");
    r->out_of_memory = rt_csv_find(r->csv, rt_out_of_memory_attribute);
    for (size_t c = 0; c < columns; c++) {
        const char *header = rt_csv_header(r->csv, c);
        bool is_field = false;
        for (size_t f = 0; f < rt_workload_field_count; f++)
            is_field |= strcmp(rt_workload_fields[f].name, header) == 0;
        if (header[0] != '\0' && (!is_field || strcmp(header, "option") == 0))
            r->attributes[r->attribute_count++] = (int)c;
    }
}

static int check_columns(const struct reading *r)
{
    for (size_t i = 0; i < RT_COUNT(required); i++)
        if (rt_csv_find(r->csv, required[i]) < 0)
            return rt_fail(RT_EFORMAT,
                           "%s:1: has no column \"%s\"; measured models need device, model, batch, mode, "
                           "dtype and end_to_end_us",
                           rt_csv_path(r->csv), required[i]);
    if (rt_csv_find(r->csv, "group") >= 0)
        return rt_fail(RT_EFORMAT,
                       "%s:1: has a column \"group\", as exported datasets have; import their folder with "
                       "{format} csv",
                       rt_csv_path(r->csv));
    return RT_OK;
}

static void read_csv(struct rt_import_file *file)
{
    struct reading r = {.file = file, .csv = rt_import_file_csv(file)};
    if (r.csv == NULL)
        return;
    if (check_columns(&r) == RT_OK) {
        r.device = rt_csv_find(r.csv, "device");
        find_columns(&r);
        rt_import_each_row(file, r.csv, "workload", take_row, &r);
        free(r.attributes);
        free(r.column);
    } else {
        rt_import_file_skip(file);
    }
    rt_csv_close(r.csv);
}

/* A file that was named on the command line is a table, whatever its name. */
static void read_file(struct rt_import_file *file)
{
    if (rt_file_ends_in(file->path, ".csv") || strcmp(file->path, file->tree->root) == 0)
        read_csv(file);
    else if (rt_file_ends_in(file->path, ".json"))
        rt_import_file_is(file, "device descriptions");
    else
        rt_import_file_is(file, "other files (not .csv or .json)");
}

/* Devices are read first: rows refer to them. */
static void prepare(struct rt_tree *tree)
{
    for (size_t i = 0; i < tree->paths.count; i++) {
        struct rt_device device;
        if (!rt_file_ends_in(tree->paths.path[i], ".json"))
            continue;
        if (rt_device_load(tree->paths.path[i], &device) != RT_OK)
            rt_import_note(&tree->report->skipped, rt_error());
        else if (rt_dataset_add_device(&tree->devices, &device) < 0)
            rt_import_note(&tree->report->warned, rt_error());
    }
}

static int import(const char *path, const struct rt_import_options *options, struct rt_dataset *out,
                  struct rt_import_report *report)
{
    static const struct rt_tree_reader reader = {
        .prepare = prepare, .read = read_file, .source = "", .licence = ""};
    return rt_tree_import(path, &reader, options, out, report);
}

const struct rt_importer rt_importer_workloads = {"workloads", import};
