/* Tables of kernels. See sample_table.h. */
#include "datasets/import/sample_table.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

enum { WORD_LENGTH = 32 };

/* A word that a row said, which the next mostly repeats, and what it stood for. */
struct said {
    char text[WORD_LENGTH];
    const char *(*read)(const struct rt_csv_field *cell, enum rt_dtype dtype, int64_t *dim);
    uint8_t dtype;
    int64_t value;
};

/* Where the columns of an op are in the file at hand; -1: there is no such column. */
struct places {
    int dims; /* how many the op has */
    int dtype, dim[RT_MAX_DIMS];
    const char *missing; /* a column that must be there and is not */
    int *attributes;
    size_t attribute_count;
};

struct reading {
    struct rt_import_file *file;
    struct rt_csv *csv;
    const struct rt_sample_table *table;
    void *context;
    int op, device, latency; /* columns */
    struct places *places;   /* per op of the table */
    struct rt_sample blank;
    size_t last_op; /* of the row before, which the next mostly repeats */
    struct said dtype, dims[RT_MAX_DIMS];
};

/* ---- columns ---- */

/* The first of the names between "|" that the file has a column of; -1. */
static int find_column(const struct rt_csv *csv, const char *names)
{
    char name[64];
    int column = -1;
    for (const char *at = names; column < 0 && *at != '\0';) {
        size_t length = strcspn(at, "|");
        snprintf(name, sizeof name, "%.*s", (int)length, at);
        column = rt_csv_find(csv, name);
        at += length + (at[length] == '|');
    }
    return column;
}

static bool is_attribute(const struct reading *r, const struct rt_sample_op *op, const struct places *places,
                         int column)
{
    const char *header = rt_csv_header(r->csv, (size_t)column);
    if (header[0] == '\0' || column == r->op || column == r->device || column == r->latency ||
        column == places->dtype)
        return false;
    for (int i = 0; i < places->dims; i++)
        if (column == places->dim[i] && op->dims[i].read == NULL)
            return false;
    for (const char *const *name = r->table->no_attributes; name != NULL && *name != NULL; name++)
        if (strcmp(*name, header) == 0)
            return false;
    return true;
}

static void find_places(const struct reading *r, const struct rt_sample_op *op, struct places *places)
{
    int columns = (int)rt_csv_columns(r->csv);
    places->dims = rt_op_ndims(op->op);
    places->dtype = op->dtype != NULL ? find_column(r->csv, op->dtype) : -1;
    if (op->dtype != NULL && places->dtype < 0)
        places->missing = op->dtype;
    for (int i = 0; i < places->dims; i++) {
        const struct rt_dim_column *dim = &op->dims[i];
        places->dim[i] = dim->name != NULL ? find_column(r->csv, dim->name) : -1;
        if (dim->name != NULL && places->dim[i] < 0 && !dim->optional && places->missing == NULL)
            places->missing = dim->name;
    }
    places->attributes = rt_calloc((size_t)columns, sizeof *places->attributes);
    for (int c = 0; c < columns; c++)
        if (is_attribute(r, op, places, c))
            places->attributes[places->attribute_count++] = c;
}

/* ---- rows ---- */

static size_t find_op(struct reading *r, const char *name)
{
    if (strcmp(r->table->ops[r->last_op].name, name) == 0)
        return r->last_op;
    for (size_t i = 0; i < r->table->op_count; i++)
        if (strcmp(r->table->ops[i].name, name) == 0)
            return r->last_op = i;
    return r->table->op_count;
}

static int read_latency(const struct reading *r, const struct rt_csv_field *cell, struct rt_sample *sample)
{
    double value;
    if (rt_parse_real(cell->text, cell->length, &value) != 0 ||
        !rt_time_is_possible(value * r->table->latency_unit_us))
        return rt_csv_fail_cell(r->csv, r->table->latency, cell,
                                "a positive number, 1 ns to a day: no clock gives more or less");
    sample->latency_us = value * r->table->latency_unit_us;
    return RT_OK;
}

static int read_dtype(struct reading *r, const struct rt_csv_field *row, int column, struct rt_sample *sample)
{
    if (column < 0) {
        sample->call.dtype = (uint8_t)r->table->dtype;
        return RT_OK;
    }
    const struct rt_csv_field *cell = &row[column];
    if (cell->length == 0 || strcmp(cell->text, r->dtype.text) != 0) {
        int dtype = cell->length < WORD_LENGTH ? rt_dtype_find(cell->text) : -1;
        if (dtype < 0)
            return rt_csv_fail_cell(r->csv, rt_csv_header(r->csv, (size_t)column), cell,
                                    "an element type that is known here, such as bf16, fp8 or w4a16_mxfp4 "
                                    "(datasets/dtype.c lists them)");
        strcpy(r->dtype.text, cell->text);
        r->dtype.value = dtype;
    }
    sample->call.dtype = (uint8_t)r->dtype.value;
    return RT_OK;
}

/* A cell of words; NULL, or what it must be. */
static const char *read_word(struct said *said, const struct rt_dim_column *dim,
                             const struct rt_csv_field *cell, const struct rt_call *call, int64_t *value)
{
    if (said->read != dim->read || said->dtype != call->dtype || cell->length == 0 ||
        strcmp(cell->text, said->text) != 0) {
        const char *must = dim->read(cell, call->dtype, &said->value);
        if (must != NULL || cell->length >= WORD_LENGTH)
            said->text[0] = '\0';
        else
            strcpy(said->text, cell->text);
        if (must != NULL)
            return must;
        said->read = dim->read;
        said->dtype = call->dtype;
    }
    *value = said->value;
    return NULL;
}

static int read_dim(struct reading *r, const struct rt_dim_column *dim, int column,
                    const struct rt_csv_field *cell, struct rt_call *call, int i)
{
    const char *must = NULL;
    if (dim->name == NULL)
        call->dim[i] = dim->fixed;
    else if (dim->optional && (column < 0 || cell->missing))
        call->dim[i] = 0;
    else if (dim->read != NULL)
        must = read_word(&r->dims[i], dim, cell, call, &call->dim[i]);
    else if (rt_csv_integer(cell, &call->dim[i]) != 0)
        must = "a whole number";
    return must == NULL ? RT_OK : rt_csv_fail_cell(r->csv, rt_csv_header(r->csv, (size_t)column), cell, must);
}

static int read_dims(struct reading *r, const struct rt_csv_field *row, const struct rt_sample_op *op,
                     const struct places *places, struct rt_call *call)
{
    call->op = (uint8_t)op->op;
    for (int i = 0; i < places->dims; i++) {
        int column = places->dim[i];
        int status = read_dim(r, &op->dims[i], column, column < 0 ? NULL : &row[column], call, i);
        if (status != RT_OK)
            return status;
    }
    if (rt_op_check(op->op, call->dim) != RT_OK)
        return rt_fail_context(RT_EFORMAT, "%s:%zu", rt_csv_path(r->csv), rt_csv_line(r->csv));
    return RT_OK;
}

static int finish(const struct reading *r, const struct rt_csv_field *row, struct rt_sample *sample)
{
    if (r->table->finish != NULL)
        return r->table->finish(r->context, row, sample);
    if (!rt_families[rt_call_family(&sample->call)].link)
        sample->flags = RT_FLAG_UNKNOWN_TILE;
    return RT_OK;
}

static int read_sample(struct reading *r, const struct rt_csv_field *row, size_t op, struct rt_sample *sample)
{
    const struct places *places = &r->places[op];
    int status;
    if (places->missing != NULL)
        return rt_csv_fail(r->csv, "a row of %s needs a column \"%s\"", r->table->ops[op].name,
                           places->missing);
    if ((status = read_latency(r, &row[r->latency], sample)) != RT_OK ||
        (status = read_dtype(r, row, places->dtype, sample)) != RT_OK ||
        (status = read_dims(r, row, &r->table->ops[op], places, &sample->call)) != RT_OK ||
        (status = finish(r, row, sample)) != RT_OK)
        return status;
    sample->group = rt_import_file_group(r->file, r->csv, row, places->attributes, places->attribute_count,
                                         r->table->latency_statistic);
    return sample->group < 0 ? sample->group : RT_OK;
}

static int fail_op(const struct reading *r, const struct rt_csv_field *cell)
{
    char must[256];
    const struct rt_sample_op *ops = r->table->ops;
    snprintf(must, sizeof must, "an op of this source (%s, %s, %s, ...)", ops[0].name, ops[1].name,
             ops[2].name);
    return rt_csv_fail_cell(r->csv, r->table->op, cell, must);
}

/* Keeps or refuses a row. Not RT_OK where the rest of the file is not worth reading. */
static int take_row(void *context, const struct rt_csv_field *row)
{
    struct reading *r = context;
    struct rt_dataset *data = &r->file->data;
    int32_t device = rt_import_file_device(r->file, r->csv, &row[r->device]);
    size_t op = find_op(r, row[r->op].text);
    bool known = op < r->table->op_count, kept = false;
    if (device >= 0 && !known) {
        fail_op(r, &row[r->op]);
    } else if (device >= 0) {
        struct rt_sample sample = r->blank;
        sample.device = device;
        kept = read_sample(r, row, op, &sample) == RT_OK;
        if (kept)
            rt_dataset_add_sample(data, &sample);
    }
    if (!kept)
        rt_import_file_refuse(r->file, known ? rt_ops[r->table->ops[op].op].name : NULL, device);
    return device == RT_EFORMAT ? RT_EFORMAT : RT_OK;
}

void rt_import_samples(struct rt_import_file *file, struct rt_csv *csv, const struct rt_sample_table *table,
                       void *context)
{
    struct reading r = {.file = file,
                        .csv = csv,
                        .table = table,
                        .context = context,
                        .op = rt_csv_find(csv, table->op),
                        .device = rt_csv_find(csv, table->device),
                        .latency = rt_csv_find(csv, table->latency),
                        .places = rt_calloc(table->op_count, sizeof *r.places)};
    rt_sample_init(&r.blank);
    r.blank.split = (uint8_t)file->split;
    for (size_t i = 0; i < table->op_count; i++)
        find_places(&r, &table->ops[i], &r.places[i]);
    rt_import_each_row(file, csv, NULL, take_row, &r);
    for (size_t i = 0; i < table->op_count; i++)
        free(r.places[i].attributes);
    free(r.places);
}
