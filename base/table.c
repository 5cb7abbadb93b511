/* Tables as text, CSV and JSON. See table.h. */
#include "base/table.h"
#include "base/status.h"

#include <math.h>
#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

union cell {
    char *text;
    double real;
    long long integer;
};

struct rt_table {
    const struct rt_column *columns;
    size_t column_count, row_count, capacity;
    union cell *cells; /* (row_count, column_count) */
};

struct rt_table *rt_table_new(const struct rt_column *columns, size_t count)
{
    struct rt_table *table = rt_calloc(1, sizeof *table);
    table->columns = columns;
    table->column_count = count;
    return table;
}

void rt_table_free(struct rt_table *table)
{
    if (table == NULL)
        return;
    for (size_t i = 0; i < table->row_count * table->column_count; i++)
        if (table->columns[i % table->column_count].kind == 's')
            free(table->cells[i].text);
    free(table->cells);
    free(table);
}

/* Adds a row, its first `count` columns from the arguments. */
static union cell *add_row(struct rt_table *table, size_t count, va_list arguments)
{
    if (table->row_count == table->capacity) {
        table->capacity = table->capacity ? 2 * table->capacity : 16;
        table->cells = rt_realloc(table->cells, table->capacity * table->column_count, sizeof *table->cells);
    }
    union cell *row = table->cells + table->row_count++ * table->column_count;
    for (size_t c = 0; c < count; c++) {
        const char *text;
        switch (table->columns[c].kind) {
        case 's':
            text = va_arg(arguments, const char *);
            row[c].text = text != NULL ? rt_strdup(text) : NULL;
            break;
        case 'd':
            row[c].integer = va_arg(arguments, long long);
            break;
        case 'b':
            row[c].integer = va_arg(arguments, int);
            break;
        default:
            row[c].real = va_arg(arguments, double);
        }
    }
    return row;
}

void rt_table_row(struct rt_table *table, ...)
{
    va_list arguments;
    va_start(arguments, table);
    add_row(table, table->column_count, arguments);
    va_end(arguments);
}

void rt_table_row_texts(struct rt_table *table, const char *const *texts, size_t count, ...)
{
    va_list arguments;
    va_start(arguments, count);
    union cell *row = add_row(table, table->column_count - count, arguments);
    va_end(arguments);
    for (size_t i = 0; i < count; i++)
        row[table->column_count - count + i].text = texts[i] != NULL ? rt_strdup(texts[i]) : NULL;
}

size_t rt_table_rows(const struct rt_table *table)
{
    return table->row_count;
}

static void format_cell(const struct rt_column *column, const union cell *cell, char *out, size_t size)
{
    switch (column->kind) {
    case 's':
        snprintf(out, size, "%s", cell->text != NULL ? cell->text : "-");
        break;
    case 'd':
        snprintf(out, size, "%lld", cell->integer);
        break;
    case 'b':
        snprintf(out, size, "%s", cell->integer ? "yes" : "no");
        break;
    default:
        if (isnan(cell->real))
            snprintf(out, size, "-");
        else
            snprintf(out, size, column->kind == 'f' ? "%.*f" : "%.*g", column->digits, cell->real);
    }
}

static const char *heading(const struct rt_column *column)
{
    return column->title != NULL ? column->title : column->key;
}

void rt_table_text(const struct rt_table *table, FILE *file)
{
    char text[512];
    size_t *width = rt_calloc(table->column_count, sizeof *width);
    for (size_t c = 0; c < table->column_count; c++) {
        width[c] = strlen(heading(&table->columns[c]));
        for (size_t r = 0; r < table->row_count; r++) {
            format_cell(&table->columns[c], &table->cells[r * table->column_count + c], text, sizeof text);
            width[c] = strlen(text) > width[c] ? strlen(text) : width[c];
        }
    }
    for (size_t r = 0; r <= table->row_count; r++) { /* row 0 is the heading */
        for (size_t c = 0; c < table->column_count; c++) {
            const struct rt_column *column = &table->columns[c];
            if (r == 0)
                snprintf(text, sizeof text, "%s", heading(column));
            else
                format_cell(column, &table->cells[(r - 1) * table->column_count + c], text, sizeof text);
            int left = column->kind == 's' || column->kind == 'b', last = c + 1 == table->column_count;
            fprintf(file, left ? "%-*s%s" : "%*s%s", left && last ? 0 : (int)width[c], text,
                    last ? "\n" : "  ");
        }
    }
    free(width);
}

static void csv_text(const char *text, FILE *file)
{
    if (strpbrk(text, ",\"\r\n") == NULL) {
        fputs(text, file);
        return;
    }
    fputc('"', file);
    for (; *text; text++) {
        if (*text == '"')
            fputc('"', file);
        fputc(*text, file);
    }
    fputc('"', file);
}

int rt_table_csv(const struct rt_table *table, FILE *file)
{
    for (size_t c = 0; c < table->column_count; c++)
        fprintf(file, "%s%s", c ? "," : "", table->columns[c].key);
    fputc('\n', file);
    for (size_t i = 0; i < table->row_count * table->column_count; i++) {
        const struct rt_column *column = &table->columns[i % table->column_count];
        const union cell *cell = &table->cells[i];
        if (column->kind == 's')
            csv_text(cell->text != NULL ? cell->text : "", file);
        else if (column->kind == 'd' || column->kind == 'b')
            fprintf(file, "%lld", cell->integer);
        else if (!isnan(cell->real))
            fprintf(file, "%.17g", cell->real);
        fputc((i + 1) % table->column_count ? ',' : '\n', file);
    }
    return ferror(file) ? rt_fail(RT_EIO, "writing the table failed") : RT_OK;
}

json_t *rt_json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *rt_table_json(const struct rt_table *table)
{
    json_t *rows = json_array();
    for (size_t r = 0; r < table->row_count; r++) {
        json_t *row = json_object();
        for (size_t c = 0; c < table->column_count; c++) {
            const struct rt_column *column = &table->columns[c];
            const union cell *cell = &table->cells[r * table->column_count + c];
            json_t *value = column->kind == 's' ? (cell->text != NULL ? json_string(cell->text) : json_null())
                            : column->kind == 'd' ? json_integer(cell->integer)
                            : column->kind == 'b' ? json_boolean(cell->integer)
                                                  : rt_json_number(cell->real);
            json_object_set_new(row, column->key, value);
        }
        json_array_append_new(rows, row);
    }
    return rows;
}

void rt_json_print(json_t *value, FILE *file)
{
    json_dumpf(value, file, JSON_INDENT(2) | JSON_REAL_PRECISION(17));
    fputc('\n', file);
    json_decref(value);
}
