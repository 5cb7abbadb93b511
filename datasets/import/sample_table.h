/*
 * Tables of kernels as CSV, a row per measured call: a source says in a struct rt_sample_table which columns
 * its files have and how they give the dims of its ops. Every other column becomes an attribute of the row's
 * group, under its own name.
 */
#pragma once

#include "datasets/import/tree.h"

/* What gives a dim of an op: a column, or the number `fixed`. */
struct rt_dim_column {
    const char *name; /* "A|B": column A, or B where there is no A; NULL: the number */
    bool optional;    /* 0 where column or cell is missing */
    /* For cells that are no number: fills *dim and returns NULL, or returns what the cell must be. Such a
     * column is an attribute as well. */
    const char *(*read)(const struct rt_csv_field *cell, enum rt_dtype dtype, int64_t *dim);
    int64_t fixed;
};

/* An op of the source. */
struct rt_sample_op {
    const char *name; /* in the op column */
    enum rt_op_id op;
    const char *dtype; /* its column; NULL: the table's dtype */
    struct rt_dim_column dims[RT_MAX_DIMS];
};

struct rt_sample_table {
    const char *op, *device, *latency; /* columns */
    double latency_unit_us;
    const char *latency_statistic; /* of all rows; NULL: not known, or a column */
    enum rt_dtype dtype;           /* of ops without a column for it */
    const struct rt_sample_op *ops;
    size_t op_count;
    const char *const *no_attributes; /* columns that follow from others or that `finish` reads;
                                         NULL-terminated, or NULL */
    /* Adds kernel, grid, block and tile to a sample. RT_EFORMAT refuses the row. NULL: the source names no
     * kernels; their tiles are unknown. */
    int (*finish)(void *context, const struct rt_csv_field *row, struct rt_sample *sample);
};

/* Reads all rows of the file. */
void rt_import_samples(struct rt_import_file *file, struct rt_csv *csv, const struct rt_sample_table *table,
                       void *context);
