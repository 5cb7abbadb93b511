/* Rows as columns. See rows.h. */
#include "datasets/rows.h"
#include "base/hash_set.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

void rt_rows_release(struct rt_rows *rows)
{
    for (size_t k = 0; k < rows->held_count; k++)
        free(rows->column[rows->held[k]].values);
    *rows = (struct rt_rows){.kind = rows->kind};
}

/* ---- values ---- */

static const void *value_in(const struct rt_field *field, const void *row)
{
    return (const char *)row + field->offset;
}

static bool is_blank(const struct rt_row_kind *kind, const struct rt_field *field, const void *value)
{
    const void *blank = value_in(field, kind->blank);
    switch (rt_field_size(field)) {
    case 1:
        return memcmp(value, blank, 1) == 0;
    case 4:
        return memcmp(value, blank, 4) == 0;
    default:
        return memcmp(value, blank, 8) == 0;
    }
}

static void set_integer(enum rt_h5_type type, void *value, int64_t to)
{
    switch (type) {
    case RT_H5_U8:
        *(uint8_t *)value = (uint8_t)to;
        return;
    case RT_H5_I32:
    case RT_H5_U32:
        *(uint32_t *)value = (uint32_t)to;
        return;
    default:
        *(int64_t *)value = to;
    }
}

static uint8_t bytes_of(int64_t value)
{
    return value == (int8_t)value ? 1 : value == (int16_t)value ? 2 : value == (int32_t)value ? 4 : 8;
}

static int64_t load(const struct rt_row_column *column, size_t row)
{
    switch (column->bytes) {
    case 1:
        return ((const int8_t *)column->values)[row];
    case 2:
        return ((const int16_t *)column->values)[row];
    case 4:
        return ((const int32_t *)column->values)[row];
    default:
        return ((const int64_t *)column->values)[row];
    }
}

static void store(const struct rt_row_column *column, size_t row, int64_t value)
{
    switch (column->bytes) {
    case 1:
        ((int8_t *)column->values)[row] = (int8_t)value;
        return;
    case 2:
        ((int16_t *)column->values)[row] = (int16_t)value;
        return;
    case 4:
        ((int32_t *)column->values)[row] = (int32_t)value;
        return;
    default:
        ((int64_t *)column->values)[row] = value;
    }
}

/* ---- columns ---- */

/* A column of so many bytes a value, as missing in all rows where it was. */
static struct rt_row_column *hold(struct rt_rows *rows, size_t f, uint8_t bytes)
{
    const struct rt_field *field = &rows->kind->fields[f];
    struct rt_row_column *column = &rows->column[f];
    struct rt_row_column wider = {rt_malloc(rows->capacity * bytes), bytes, (uint8_t)rt_field_size(field),
                                  (uint16_t)field->offset};
    const void *blank = value_in(field, rows->kind->blank);
    for (size_t i = 0; i < rows->count; i++)
        if (field->type == RT_H5_F64)
            memcpy((double *)wider.values + i, blank, sizeof(double));
        else
            store(&wider, i,
                  column->values != NULL ? load(column, i) : rt_field_integer(field, rows->kind->blank));
    if (column->values == NULL)
        rows->held[rows->held_count++] = (uint8_t)f;
    free(column->values);
    *column = wider;
    return column;
}

static void put_integer(struct rt_rows *rows, size_t f, size_t row, int64_t value)
{
    struct rt_row_column *column = &rows->column[f];
    uint8_t bytes = bytes_of(value);
    if (column->bytes < bytes)
        column = hold(rows, f, bytes);
    store(column, row, value);
}

void rt_rows_get(const struct rt_rows *rows, size_t row, void *out)
{
    memcpy(out, rows->kind->blank, rows->kind->size);
    for (size_t k = 0; k < rows->held_count; k++) {
        const struct rt_row_column *column = &rows->column[rows->held[k]];
        char *value = (char *)out + column->offset;
        int64_t bits = load(column, row); /* a real's too */
        if (column->width == 8)
            memcpy(value, &bits, 8);
        else if (column->width == 4)
            memcpy(value, &(int32_t){(int32_t)bits}, 4);
        else
            *value = (char)bits;
    }
}

void rt_rows_put(struct rt_rows *rows, size_t row, const void *from)
{
    for (size_t f = 0; f < rows->kind->field_count; f++) {
        const struct rt_field *field = &rows->kind->fields[f];
        struct rt_row_column *column = &rows->column[f];
        const void *value = value_in(field, from);
        if (column->values == NULL && is_blank(rows->kind, field, value))
            continue;
        if (field->type != RT_H5_F64)
            put_integer(rows, f, row, rt_integer_of(field->type, value));
        else
            memcpy((double *)(column->values ? column : hold(rows, f, 8))->values + row, value,
                   sizeof(double));
    }
}

void rt_rows_add(struct rt_rows *rows, const void *from)
{
    if (rows->count == rows->capacity) {
        rows->capacity = rows->capacity > 0 ? 2 * rows->capacity : 64;
        for (size_t k = 0; k < rows->held_count; k++) {
            struct rt_row_column *column = &rows->column[rows->held[k]];
            column->values = rt_realloc(column->values, rows->capacity, column->bytes);
        }
    }
    rt_rows_put(rows, rows->count, from);
    rows->count++;
}

int64_t rt_rows_integer(const struct rt_rows *rows, size_t f, size_t row)
{
    const struct rt_field *field = &rows->kind->fields[f];
    return rows->column[f].values != NULL ? load(&rows->column[f], row)
                                          : rt_field_integer(field, rows->kind->blank);
}

void rt_rows_put_index(struct rt_rows *rows, size_t f, size_t row, int32_t index)
{
    put_integer(rows, f, row, index);
}

void rt_rows_copy_column(const struct rt_rows *rows, size_t f, size_t first, size_t count, void *out)
{
    const struct rt_field *field = &rows->kind->fields[f];
    const struct rt_row_column *column = &rows->column[f];
    size_t size = rt_field_size(field);
    if (field->type == RT_H5_F64 && column->values != NULL) {
        memcpy(out, (const double *)column->values + first, count * size);
        return;
    }
    for (size_t i = 0; i < count; i++)
        if (column->values == NULL)
            memcpy((char *)out + i * size, value_in(field, rows->kind->blank), size);
        else
            set_integer(field->type, (char *)out + i * size, load(column, first + i));
}

void rt_rows_set_column(struct rt_rows *rows, size_t f, const void *values)
{
    const struct rt_field *field = &rows->kind->fields[f];
    size_t size = rt_field_size(field);
    uint8_t bytes = 0;
    for (size_t i = 0; i < rows->count; i++) {
        const void *value = (const char *)values + i * size;
        uint8_t needs = is_blank(rows->kind, field, value) ? bytes > 0
                        : field->type == RT_H5_F64         ? 8
                                                           : bytes_of(rt_integer_of(field->type, value));
        bytes = needs > bytes ? needs : bytes;
    }
    if (bytes == 0)
        return;
    struct rt_row_column *column = hold(rows, f, bytes);
    if (field->type == RT_H5_F64)
        memcpy(column->values, values, rows->count * size);
    else
        for (size_t i = 0; i < rows->count; i++)
            store(column, i, rt_integer_of(field->type, (const char *)values + i * size));
}

struct rt_column_range rt_rows_range(const struct rt_rows *rows, size_t f)
{
    const struct rt_row_column *column = &rows->column[f];
    struct rt_column_range range = {NAN, NAN, 0};
    for (size_t i = 0; i < rows->count; i++) {
        int64_t integer = rows->kind->fields[f].type == RT_H5_F64 ? 0 : rt_rows_integer(rows, f, i);
        double value = integer == -1                             ? NAN
                       : rows->kind->fields[f].type != RT_H5_F64 ? (double)integer
                       : column->values != NULL                  ? ((const double *)column->values)[i]
                                                                 : NAN;
        range.count += !isnan(value);
        range.least = fmin(range.least, value);
        range.most = fmax(range.most, value);
    }
    return range;
}

/* ---- orders and equal rows ---- */

static int compare_values(const struct rt_rows *rows, size_t f, size_t a, size_t b)
{
    const struct rt_row_column *column = &rows->column[f];
    if (column->values == NULL)
        return 0;
    if (rows->kind->fields[f].type != RT_H5_F64) {
        int64_t x = load(column, a), y = load(column, b);
        return (x > y) - (x < y);
    }
    double x = ((const double *)column->values)[a], y = ((const double *)column->values)[b];
    return isnan(x) || isnan(y) ? isnan(x) - isnan(y) : (x > y) - (x < y);
}

void rt_rows_arrange(struct rt_rows *rows, const size_t *order)
{
    for (size_t k = 0; k < rows->held_count; k++) {
        struct rt_row_column *column = &rows->column[rows->held[k]];
        struct rt_row_column moved = *column;
        moved.values = rt_malloc(rows->capacity * column->bytes);
        for (size_t i = 0; i < rows->count; i++)
            store(&moved, i, load(column, order[i])); /* a real's bits too */
        free(column->values);
        *column = moved;
    }
}

struct sorting {
    const struct rt_rows *rows;
    const size_t *first;
    size_t count;
};

static int compare_rows(const void *a, const void *b, void *context)
{
    const struct sorting *sorting = context;
    size_t x = *(const size_t *)a, y = *(const size_t *)b;
    int order = 0;
    for (size_t k = 0; k < sorting->count && order == 0; k++)
        order = compare_values(sorting->rows, sorting->first[k], x, y);
    for (size_t f = 0; f < sorting->rows->kind->field_count && order == 0; f++)
        order = compare_values(sorting->rows, f, x, y);
    return order;
}

void rt_rows_sort(struct rt_rows *rows, const size_t *first, size_t count)
{
    struct sorting sorting = {rows, first, count};
    size_t *order = rt_malloc((rows->count + 1) * sizeof *order);
    for (size_t i = 0; i < rows->count; i++)
        order[i] = i;
    qsort_r(order, rows->count, sizeof *order, compare_rows, &sorting);
    rt_rows_arrange(rows, order);
    free(order);
}

struct sought {
    const struct rt_rows *rows;
    const void *row;
};

static bool same_row(const void *context, uint32_t index)
{
    const struct sought *sought = context;
    char row[RT_LARGEST_ROW] __attribute__((aligned(8)));
    rt_rows_get(sought->rows, index, row);
    return memcmp(row, sought->row, sought->rows->kind->size) == 0;
}

int64_t rt_rows_seen(struct rt_hash_set *set, const struct rt_rows *rows, size_t row)
{
    char bytes[RT_LARGEST_ROW] __attribute__((aligned(8)));
    rt_rows_get(rows, row, bytes);
    return rt_hash_set_add(set, rt_hash_words(bytes, rows->kind->size), same_row,
                           &(struct sought){rows, bytes}, row);
}
