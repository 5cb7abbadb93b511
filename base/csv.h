/*
 * CSV files (RFC 4180), read row by row in constant memory; the only user of libcsv.
 *
 * The first row names the columns. A malformed row is refused with a sentence and the next one is read. Bytes
 * 0, a row of more than 16 MiB or a quote that is never closed end the reading: the file is not CSV.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#define RT_CSV_ROW_LIMIT ((size_t)16 << 20) /* bytes of one row */
#define RT_CSV_COLUMNS   4096               /* at most */

struct rt_csv;

/* A cell: NUL-terminated UTF-8, without spaces around it unless quoted. */
struct rt_csv_field {
    const char *text;
    size_t length;
    bool missing; /* nothing between the commas; "" in quotes is an empty text, not missing */
};

/* Opens `path` and reads its header. RT_EIO, or RT_EFORMAT naming file and line. */
int rt_csv_open(const char *path, struct rt_csv **out);
void rt_csv_close(struct rt_csv *csv); /* accepts NULL */

size_t rt_csv_columns(const struct rt_csv *csv);
const char *rt_csv_header(const struct rt_csv *csv, size_t column);
int rt_csv_find(const struct rt_csv *csv, const char *header);         /* -1: no such column */
bool rt_csv_has(const struct rt_csv *csv, const char *const *headers); /* all of them; NULL-terminated */

/* What rt_csv_next returns, or a negative status, after which nothing more can be read. */
enum { RT_CSV_END = 0, RT_CSV_ROW = 1, RT_CSV_REFUSED = 2 /* this row; rt_error() says why */ };

/* The next row: exactly rt_csv_columns() fields, valid until the next call. Sentences begin "path:line: ". */
int rt_csv_next(struct rt_csv *csv, const struct rt_csv_field **fields);

const char *rt_csv_path(const struct rt_csv *csv);
size_t rt_csv_line(const struct rt_csv *csv);  /* where the last row began; the header is line 1 */
size_t rt_csv_bytes(const struct rt_csv *csv); /* read so far */

/* A cell as a whole number ("168", also "168.0" as spreadsheets write it): 0, or -1. */
int rt_csv_integer(const struct rt_csv_field *cell, int64_t *value);

/* RT_EFORMAT with "path:line: " before the sentence, of the last row. */
int rt_csv_fail(const struct rt_csv *csv, const char *format, ...) __attribute__((format(printf, 2, 3)));
/* "path:line: COLUMN is "TEXT"; it must be MUST" */
int rt_csv_fail_cell(const struct rt_csv *csv, const char *column, const struct rt_csv_field *cell,
                     const char *must);

/* Writes a text as a cell, in quotes where reading needs them; NULL is missing. */
void rt_csv_write(FILE *file, const char *text);
/* A comma and a number; of what is missing the comma. */
void rt_csv_write_number(FILE *file, double value);

/* libcsv's version, "3.0.3": of its header, since the library tells none. */
const char *rt_csv_library(void);
