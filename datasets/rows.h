/*
 * Rows of a table, as columns: what no row has takes no memory, whole numbers take as many bytes as the
 * largest needs. A row goes in and out as its struct (struct rt_sample), with everything else missing.
 */
#pragma once

#include "datasets/fields.h"

enum { RT_MAX_COLUMNS = 64 };

struct rt_rows {
    const struct rt_row_kind *kind;
    size_t count, capacity;
    struct rt_row_column {
        void *values;         /* NULL: missing in all rows */
        uint8_t bytes;        /* of a value: 8 of a real, else of a signed integer of 1, 2, 4 or 8 */
        uint8_t width;        /* bytes of it in the struct, */
        uint16_t offset;      /* where it is there */
    } column[RT_MAX_COLUMNS]; /* by field */
    uint8_t held[RT_MAX_COLUMNS], held_count; /* the columns that are not missing */
};

void rt_rows_release(struct rt_rows *rows); /* no rows are left, their kind stays */

void rt_rows_get(const struct rt_rows *rows, size_t row, void *out);
void rt_rows_put(struct rt_rows *rows, size_t row, const void *from);
void rt_rows_add(struct rt_rows *rows, const void *from);

/* Of a column that holds integers: a row's value. */
int64_t rt_rows_integer(const struct rt_rows *rows, size_t field, size_t row);
/* Of the columns that hold row numbers of tables: the value becomes another. */
void rt_rows_put_index(struct rt_rows *rows, size_t field, size_t row, int32_t index);

/* Whole columns, as values of the field's own type one after the other: those of some rows, and of all rows
 * of a table whose `count` is set and which had none. */
void rt_rows_copy_column(const struct rt_rows *rows, size_t field, size_t first, size_t count, void *out);
void rt_rows_set_column(struct rt_rows *rows, size_t field, const void *values);

/* Of the values that are there; NaN, NaN, 0 where none is. */
struct rt_column_range {
    double least, most;
    size_t count;
};
struct rt_column_range rt_rows_range(const struct rt_rows *rows, size_t field);

/* Row i becomes what row order[i] was. */
void rt_rows_arrange(struct rt_rows *rows, const size_t *order);
/* Sorts by the fields first[0..count), then by all in their order; NaN comes last. */
void rt_rows_sort(struct rt_rows *rows, const size_t *first, size_t count);

/* The number of an equal row that was there, -1: none, and now `row` is. Rows are equal in every column; NaN
 * equals NaN. */
struct rt_hash_set;
int64_t rt_rows_seen(struct rt_hash_set *set, const struct rt_rows *rows, size_t row);
