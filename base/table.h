/*
 * A small table of results: built once, printed as aligned text, Markdown, CSV, or a JSON array of objects.
 * Every command that prints rows goes through here, so --json is the same rows under the same names. Reports
 * (report.h) hold tables.
 */
#pragma once

#include "base/terminal.h"

#include <jansson.h>
#include <stdio.h>

/* How a column's cells are printed for people: 'd' integer, 'f' fixed with `digits` decimals, 'g' `digits`
 * significant, 's' text, 'r' text on the right such as "12.3*", 'b' yes/no. JSON and CSV have all digits. */
struct rt_column {
    const char *key;   /* JSON and CSV name; NULL: for people only */
    const char *title; /* heading for people; NULL: the key; "": for programs only */
    char kind;
    int digits;
};

struct rt_table;

struct rt_table *rt_table_new(const struct rt_column *columns, size_t count); /* copies the columns */
void rt_table_free(struct rt_table *table);

/* Appends a row: one argument per column: const char* for 's' and 'r' (NULL prints "-"), double for 'f' and
 * 'g' (NaN prints "-", null in JSON), long long for 'd', int for 'b'. */
void rt_table_row(struct rt_table *table, ...);
/* The same for a table whose last `count` columns are only known when the program runs: all 's' or 'r', or
 * all numbers. They come from the array, the columns before them from the arguments. */
void rt_table_row_texts(struct rt_table *table, const char *const *texts, size_t count, ...);
void rt_table_row_numbers(struct rt_table *table, const double *numbers, size_t count, ...);
/* Another member of the last row in JSON, such as an object; takes the value. */
void rt_table_row_json(struct rt_table *table, const char *key, json_t *value);
size_t rt_table_rows(const struct rt_table *table);

void rt_table_text(const struct rt_table *table, FILE *file);
/* The same for a terminal. Columns that are more than it has go on in further blocks below, each with the
 * columns that name the rows; a long text in the last column is wrapped. */
void rt_table_text_for(const struct rt_table *table, const struct rt_terminal *terminal, FILE *file);
void rt_table_markdown(const struct rt_table *table, FILE *file);
/* An HTML table: its caption, headings with scope; the first column heads its row where it holds texts.
 * Its classes r1, r2 ... name columns that stand on the right; "l" is
 * a cell of a long text. */
void rt_table_html(const struct rt_table *table, const char *caption, FILE *file);
int rt_table_csv(const struct rt_table *table, FILE *file);
json_t *rt_table_json(const struct rt_table *table); /* a new reference: array of objects */

/* Prints `value` on `file` with an ending newline and releases it. NaN is not JSON: use json_null. */
void rt_json_print(json_t *value, FILE *file);
void rt_json_print_line(json_t *value, FILE *file); /* the same without any other newline */
json_t *rt_json_number(double value);   /* json_real, json_null for NaN and infinities */
json_t *rt_json_text(const char *text); /* json_string, json_null for NULL; what is not UTF-8 has \xNN */
