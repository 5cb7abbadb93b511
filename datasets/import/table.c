/*
 * A flat table of kernels, as people write one by hand: CSV, a row each with op, dtype, device (a name of the
 * catalogue; the options name that of a table without), the op's dims by their names and the time in us.
 * `batch` is 1 where it is not given.
 *
 *     op,m,n,k,dtype,device,us
 *     gemm,4096,4096,4096,bf16,H100,260
 */
#include "datasets/import/import.h"
#include "base/csv.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

enum { OP, DTYPE, DEVICE, TIME, COLUMNS };
static const char *const names[COLUMNS] = {"op", "dtype", "device", "us"};

struct table {
    struct rt_csv *csv;
    const struct rt_csv_field *row;
    int column[COLUMNS];
    struct rt_dataset *dataset;
    const char *gpu;        /* in place of the column; NULL: none */
    struct rt_strings said; /* names of devices, and their rows of the dataset: the catalogue is asked once */
    int32_t *device;
    int32_t group;
};

static bool is_dim(const char *name)
{
    for (size_t op = 0; op < RT_OP_COUNT; op++)
        for (size_t d = 0; rt_ops[op].dims[d] != NULL; d++)
            if (strcmp(rt_ops[op].dims[d], name) == 0)
                return true;
    return false;
}

static int find_columns(struct table *table)
{
    for (int c = 0; c < COLUMNS; c++)
        if ((table->column[c] = rt_csv_find(table->csv, names[c])) < 0 && (c != DEVICE || table->gpu == NULL))
            return rt_fail(RT_EFORMAT,
                           "%s:1: has no column \"%s\"; a table has op, dtype, device (or give {gpu}), the "
                           "op's dims by their names (m, n, k; rows, cols ...) and us",
                           rt_csv_path(table->csv), names[c]);
    if (table->column[DEVICE] >= 0 && table->gpu != NULL)
        return rt_fail(RT_EUSAGE, "%s:1: has a column \"device\"; leave out {gpu}", rt_csv_path(table->csv));
    for (size_t c = 0; c < rt_csv_columns(table->csv); c++) {
        const char *name = rt_csv_header(table->csv, c);
        bool known = is_dim(name);
        for (int k = 0; k < COLUMNS && !known; k++)
            known = table->column[k] == (int)c;
        if (!known)
            return rt_fail(RT_EFORMAT,
                           "%s:1: \"%.60s\" is no dim of any op; `rooftile collect --list` names the dims",
                           rt_csv_path(table->csv), name);
    }
    return RT_OK;
}

/* Every dim of the op has a cell, and every cell that is no other column's is a dim of the op. */
static int read_dims(const struct table *table, const struct rt_op *op, int64_t *dim)
{
    for (size_t d = 0; op->dims[d] != NULL; d++) {
        int column = rt_csv_find(table->csv, op->dims[d]);
        bool missing = column < 0 || table->row[column].missing;
        if (missing && strcmp(op->dims[d], "batch") != 0)
            return rt_csv_fail(table->csv, "%s has no %s", op->name, op->dims[d]);
        dim[d] = 1;
        if (!missing && rt_csv_integer(&table->row[column], &dim[d]) != 0)
            return rt_csv_fail_cell(table->csv, op->dims[d], &table->row[column], "a whole number");
    }
    for (size_t c = 0; c < rt_csv_columns(table->csv); c++) {
        bool own = false;
        for (int k = 0; k < COLUMNS; k++)
            own |= table->column[k] == (int)c;
        for (size_t d = 0; op->dims[d] != NULL; d++)
            own |= strcmp(op->dims[d], rt_csv_header(table->csv, c)) == 0;
        if (!own && !table->row[c].missing)
            return rt_csv_fail(table->csv, "%s has no dim \"%.60s\"", op->name, rt_csv_header(table->csv, c));
    }
    if (rt_op_check((enum rt_op_id)(op - rt_ops), dim) != RT_OK)
        return rt_fail_context(RT_EFORMAT, "%s:%zu", rt_csv_path(table->csv), rt_csv_line(table->csv));
    return RT_OK;
}

/* Its row of the dataset, added where it is new; -1: no such device. */
static int32_t find_device(struct table *table)
{
    const char *text = table->gpu != NULL ? table->gpu : table->row[table->column[DEVICE]].text;
    struct rt_device device;
    size_t before = table->said.count, name = (size_t)rt_strings_add(&table->said, text, strlen(text));
    if (name == before) {
        table->device = rt_realloc(table->device, before + 1, sizeof *table->device);
        table->device[name] = -1;
    }
    if (table->device[name] >= 0)
        return table->device[name];
    if (rt_device_named(text, &device) != RT_OK) {
        rt_fail_context(RT_EFORMAT, "%s:%zu", rt_csv_path(table->csv), rt_csv_line(table->csv));
        return -1;
    }
    int32_t there = rt_dataset_find_device(table->dataset, device.name);
    return table->device[name] = there >= 0 ? there : rt_dataset_add_device(table->dataset, &device);
}

static int read_sample(struct table *table, struct rt_sample *sample)
{
    const struct rt_csv_field *cell[COLUMNS];
    for (int c = 0; c < COLUMNS; c++)
        if (table->column[c] >= 0 && (cell[c] = &table->row[table->column[c]])->missing)
            return rt_csv_fail(table->csv, "has no %s", names[c]);
    int op = rt_op_find(cell[OP]->text), dtype = rt_dtype_find(cell[DTYPE]->text);
    if (op < 0)
        return rt_csv_fail_cell(table->csv, "op", cell[OP], "an op of `rooftile collect --list`");
    if (dtype < 0)
        return rt_csv_fail_cell(table->csv, "dtype", cell[DTYPE], "an element type such as fp16 or bf16");
    if (rt_parse_real(cell[TIME]->text, cell[TIME]->length, &sample->latency_us) != 0 ||
        !rt_time_is_possible(sample->latency_us))
        return rt_csv_fail_cell(table->csv, "us", cell[TIME], "a time in microseconds, from 1 ns to a day");
    sample->call.op = (uint8_t)op;
    sample->call.dtype = (uint8_t)dtype;
    sample->call.phase = (uint8_t)rt_op_own_phase((enum rt_op_id)op);
    sample->group = table->group;
    sample->flags = RT_FLAG_UNKNOWN_TILE;
    if (read_dims(table, &rt_ops[op], sample->call.dim) != RT_OK)
        return RT_EFORMAT;
    sample->device = find_device(table);
    return sample->device >= 0 ? RT_OK : RT_EFORMAT;
}

static void take_row(struct table *table, bool whole, struct rt_import_report *report)
{
    struct rt_sample sample;
    rt_sample_init(&sample);
    bool kept = whole && read_sample(table, &sample) == RT_OK;
    struct rt_import_count *count =
        rt_import_counter(report, kept ? rt_ops[sample.call.op].name : "?",
                          kept ? table->dataset->devices[sample.device].name : "?");
    count->read++;
    count->kept += kept;
    count->unknown_tiles += kept;
    count->refused += !kept;
    if (kept)
        rt_dataset_add_sample(table->dataset, &sample);
    else
        rt_import_note(&report->refused, rt_error());
}

static int import(const char *path, const struct rt_import_options *options, struct rt_dataset *out,
                  struct rt_import_report *report)
{
    struct table table = {.dataset = out, .gpu = options->gpu};
    struct rt_device device;
    int status = options->gpu != NULL ? rt_device_named(options->gpu, &device) : RT_OK, got = RT_CSV_END;
    if (status == RT_OK)
        status = rt_csv_open(path, &table.csv);
    if (status != RT_OK)
        return status;
    status = find_columns(&table);
    if (status == RT_OK)
        table.group =
            rt_dataset_add_group(out, 1, (const char *const[]){"collector"}, (const char *const[]){"table"});
    while (status == RT_OK && (got = rt_csv_next(table.csv, &table.row)) > 0)
        take_row(&table, got == RT_CSV_ROW, report);
    if (got < 0)
        take_row(&table, false, report); /* the rest of the file cannot be read */
    report->files++;
    report->bytes += (double)rt_csv_bytes(table.csv);
    rt_csv_close(table.csv);
    rt_strings_release(&table.said);
    free(table.device);
    return status;
}

const struct rt_importer rt_importer_table = {"table", import};
