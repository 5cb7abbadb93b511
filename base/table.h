/*
 * A small table of results: built once, printed as aligned text, as CSV, or as a JSON array of objects.
 * Every command that prints rows goes through here, so --json is the same rows under the same names.
 */
#ifndef ROOFTILE_BASE_TABLE_H
#define ROOFTILE_BASE_TABLE_H

#include <jansson.h>
#include <stdio.h>

/* How a column's numbers are printed in text: 'd' integer, 'f' fixed with `digits` decimals,
 * 'g' `digits` significant, 's' text, 'b' yes/no. JSON and CSV always carry full precision. */
struct rt_column {
    const char *key; /* JSON and CSV name; the text heading where `title` is NULL */
    const char *title;
    char kind;
    int digits;
};

struct rt_table;

struct rt_table *rt_table_new(const struct rt_column *columns, size_t count); /* columns must outlive it */
void rt_table_free(struct rt_table *table);

/* Appends a row: one argument per column: const char* for 's' (NULL prints "-"), double for 'f' and 'g'
 * (NaN prints "-", null in JSON), long long for 'd', int for 'b'. */
void rt_table_row(struct rt_table *table, ...);
/* The same for a table whose last `count` columns, all 's', are only known when the program runs: they come
 * from `texts`, the columns before them from the arguments. */
void rt_table_row_texts(struct rt_table *table, const char *const *texts, size_t count, ...);
size_t rt_table_rows(const struct rt_table *table);

void rt_table_text(const struct rt_table *table, FILE *file);
int rt_table_csv(const struct rt_table *table, FILE *file);
json_t *rt_table_json(const struct rt_table *table); /* a new reference: array of objects */

/* Prints `value` on `file` with an ending newline and releases it. NaN is not JSON: use json_null. */
void rt_json_print(json_t *value, FILE *file);
json_t *rt_json_number(double value); /* json_real, json_null for NaN and infinities */

#endif
