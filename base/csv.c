/* Reading CSV through libcsv. See csv.h. */
#include "base/csv.h"
#include "base/status.h"
#include "base/strings.h"

#include <csv.h>
#include <errno.h>
#include <fcntl.h>
#include <math.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum { BLOCK = 1 << 18 };

struct rt_csv {
    struct csv_parser parser;
    char *path;
    int descriptor;
    char *block; /* of the file; [at, end) is still to be parsed */
    size_t at, end, bytes;
    bool block_nul, block_high; /* the block holds a byte 0, a byte >= 128 */
    bool at_eof, finished;

    char *row; /* texts of the row's cells, one after the other */
    size_t row_used, row_capacity;
    size_t row_bytes; /* bytes of the file in the row so far */
    size_t cell_count, cell_capacity;
    struct rt_csv_field *cells; /* texts point into `row` */
    bool row_ready, row_high;
    bool row_extra; /* a second row ended within the line: a lone carriage return */
    size_t line, row_line;

    size_t column_count; /* 0 until the header is read */
    char **columns;
};

/* memcpy for texts of mostly a few bytes: no call, two moves that may overlap. */
static void copy_text(char *to, const char *from, size_t length)
{
    if (length > 16) {
        memcpy(to, from, length);
    } else if (length >= 8) {
        uint64_t first, last;
        memcpy(&first, from, 8);
        memcpy(&last, from + length - 8, 8);
        memcpy(to, &first, 8);
        memcpy(to + length - 8, &last, 8);
    } else {
        for (size_t i = 0; i < length; i++)
            to[i] = from[i];
    }
}

static void on_cell(void *text, size_t length, void *context)
{
    struct rt_csv *csv = context;
    if (csv->row_ready)
        csv->row_extra = true;
    if (csv->cell_count >= csv->cell_capacity) { /* more than the header has: counted, not kept */
        csv->cell_count++;
        return;
    }
    char *to = csv->row + csv->row_used;
    csv->cells[csv->cell_count++] = (struct rt_csv_field){to, length, text == NULL};
    if (length > 0)
        copy_text(to, text, length);
    to[length] = '\0';
    csv->row_used += length + 1;
}

static void on_row(int terminator, void *context)
{
    struct rt_csv *csv = context;
    (void)terminator;
    csv->row_ready = true;
}

static int fail_at(const struct rt_csv *csv, size_t line, const char *what)
{
    return rt_fail(RT_EFORMAT, "%s:%zu: %s", csv->path, line, what);
}

/* Bytes 0 never occur in text; rows with bytes >= 128 are checked for UTF-8. */
static void scan_block(struct rt_csv *csv)
{
    unsigned char high = 0;
    for (size_t i = 0; i < csv->end; i++)
        high |= (unsigned char)csv->block[i];
    csv->block_high = high & 0x80;
    csv->block_nul = memchr(csv->block, 0, csv->end) != NULL;
}

static int read_block(struct rt_csv *csv)
{
    ssize_t got;
    do
        got = read(csv->descriptor, csv->block, BLOCK);
    while (got < 0 && errno == EINTR);
    if (got < 0)
        return rt_fail(RT_EIO, "%s: cannot be read: %s", csv->path, strerror(errno));
    csv->at = 0;
    csv->end = (size_t)got;
    csv->at_eof = got == 0;
    csv->bytes += (size_t)got;
    scan_block(csv);
    return RT_OK;
}

/* Room for the cells of a row of `bytes`: every byte is part of a text or a comma that ends one. */
static void reserve_row(struct rt_csv *csv, size_t bytes)
{
    size_t needed = 2 * bytes + 2, cells = csv->cell_count;
    if (needed <= csv->row_capacity)
        return;
    char *row = rt_malloc(2 * needed);
    if (csv->row_used > 0)
        memcpy(row, csv->row, csv->row_used);
    for (size_t c = 0; c < cells && c < csv->cell_capacity; c++)
        csv->cells[c].text = row + (csv->cells[c].text - csv->row);
    free(csv->row);
    csv->row = row;
    csv->row_capacity = 2 * needed;
}

static int check_bytes(struct rt_csv *csv, size_t length)
{
    if (csv->block_nul && memchr(csv->block + csv->at, 0, length) != NULL)
        return fail_at(csv, csv->line, "holds bytes 0: this is a binary file, not CSV");
    if (csv->row_bytes + length > RT_CSV_ROW_LIMIT)
        return rt_fail(
            RT_EFORMAT,
            "%s:%zu: the row is longer than %zu MiB: this is not CSV, or a quote is opened and never closed",
            csv->path, csv->row_line, RT_CSV_ROW_LIMIT >> 20);
    return RT_OK;
}

/* Parses the rest of the line as far as the block holds it, so that at most one row ends. */
static int parse_piece(struct rt_csv *csv)
{
    char *start = csv->block + csv->at, *newline = memchr(start, '\n', csv->end - csv->at);
    size_t length = newline != NULL ? (size_t)(newline + 1 - start) : csv->end - csv->at;
    if (csv->row_bytes == 0)
        csv->row_line = csv->line;
    int status = check_bytes(csv, length);
    if (status != RT_OK)
        return status;
    csv->row_bytes += length;
    csv->row_high |= csv->block_high;
    reserve_row(csv, csv->row_bytes);
    if (csv_parse(&csv->parser, start, length, on_cell, on_row, csv) != length) {
        if (csv_error(&csv->parser) == CSV_EPARSE)
            return fail_at(csv, csv->row_line, "a quote stands where none may stand, or is never closed");
        return rt_fail(RT_EIO, "%s:%zu: %s", csv->path, csv->row_line, csv_strerror(csv_error(&csv->parser)));
    }
    csv->at += length;
    csv->line += newline != NULL;
    if (csv->row_extra)
        return fail_at(csv, csv->row_line,
                       "holds a carriage return within the line; end lines with \\n or \\r\\n");
    if (newline != NULL && !csv->row_ready && csv->cell_count == 0 && csv->parser.pstate == 0)
        csv->row_bytes = 0; /* an empty line */
    return RT_OK;
}

/* Parses up to the end of the next row: row_ready, or `finished` at the end of the file. */
static int parse_row(struct rt_csv *csv)
{
    int status;
    csv->row_used = csv->row_bytes = csv->cell_count = 0;
    csv->row_ready = csv->row_high = csv->row_extra = false;
    while (!csv->row_ready) {
        if (csv->at == csv->end && (status = read_block(csv)) != RT_OK)
            return status;
        if (csv->at_eof)
            break;
        if ((status = parse_piece(csv)) != RT_OK)
            return status;
    }
    if (csv->row_ready)
        return RT_OK;
    csv->finished = true;
    if (csv_fini(&csv->parser, on_cell, on_row, csv) != 0)
        return fail_at(csv, csv->row_line,
                       "a quote is opened and never closed: the file is cut off or damaged");
    return RT_OK;
}

static bool is_utf8(const unsigned char *s, size_t length)
{
    for (size_t i = 0; i < length;) {
        uint32_t c = s[i++], least;
        int more;
        if (c < 0x80)
            continue;
        if (c >= 0xc2 && c <= 0xdf)
            more = 1, least = 0x80, c &= 0x1f;
        else if (c >= 0xe0 && c <= 0xef)
            more = 2, least = 0x800, c &= 0x0f;
        else if (c >= 0xf0 && c <= 0xf4)
            more = 3, least = 0x10000, c &= 0x07;
        else
            return false;
        for (; more > 0; more--, i++) {
            if (i == length || (s[i] & 0xc0) != 0x80)
                return false;
            c = c << 6 | (s[i] & 0x3f);
        }
        if (c < least || c > 0x10ffff || (c >= 0xd800 && c <= 0xdfff))
            return false;
    }
    return true;
}

/* RT_CSV_ROW, or RT_CSV_REFUSED with the reason. */
static int check_row(struct rt_csv *csv)
{
    if (csv->finished) {
        fail_at(csv, csv->row_line,
                "the line has no newline at its end, so it may be cut off; add one if it is whole");
        return RT_CSV_REFUSED;
    }
    if (csv->column_count > 0 && csv->cell_count != csv->column_count) {
        rt_fail(RT_EFORMAT, "%s:%zu: the row has %zu columns where the header has %zu", csv->path,
                csv->row_line, csv->cell_count, csv->column_count);
        return RT_CSV_REFUSED;
    }
    if (csv->row_high && !is_utf8((const unsigned char *)csv->row, csv->row_used)) {
        fail_at(csv, csv->row_line, "is not UTF-8 text");
        return RT_CSV_REFUSED;
    }
    return RT_CSV_ROW;
}

int rt_csv_next(struct rt_csv *csv, const struct rt_csv_field **fields)
{
    if (csv->finished)
        return RT_CSV_END;
    int status = parse_row(csv);
    if (status != RT_OK)
        csv->finished = true;
    if (status != RT_OK || !csv->row_ready)
        return status;
    status = check_row(csv);
    if (status != RT_CSV_ROW)
        return status;
    *fields = csv->cells;
    return RT_CSV_ROW;
}

static int check_header(const struct rt_csv *csv)
{
    if (csv->cell_count > csv->cell_capacity)
        return rt_fail(RT_EFORMAT, "%s:1: the header has %zu columns; more than %d are not read", csv->path,
                       csv->cell_count, RT_CSV_COLUMNS);
    for (size_t a = 0; a < csv->cell_count; a++)
        for (size_t b = 0; b < a; b++)
            if (csv->cells[a].length > 0 && strcmp(csv->cells[a].text, csv->cells[b].text) == 0)
                return rt_fail(RT_EFORMAT, "%s:1: the header names column \"%.100s\" twice", csv->path,
                               csv->cells[a].text);
    return RT_OK;
}

static int read_header(struct rt_csv *csv)
{
    csv->cell_capacity = RT_CSV_COLUMNS;
    csv->cells = rt_malloc(csv->cell_capacity * sizeof *csv->cells);
    int status = read_block(csv);
    if (status == RT_OK && csv->at_eof)
        status = rt_fail(RT_EFORMAT, "%s: is empty", csv->path);
    if (status == RT_OK && csv->end >= 3 && memcmp(csv->block, "\xef\xbb\xbf", 3) == 0)
        csv->at = 3; /* the byte order mark of some spreadsheets */
    if (status == RT_OK)
        status = parse_row(csv);
    if (status == RT_OK && !csv->row_ready)
        status = rt_fail(RT_EFORMAT, "%s: holds nothing but empty lines", csv->path);
    if (status == RT_OK && check_row(csv) != RT_CSV_ROW)
        status = RT_EFORMAT;
    if (status == RT_OK)
        status = check_header(csv);
    if (status != RT_OK)
        return status;
    csv->column_count = csv->cell_capacity = csv->cell_count;
    csv->columns = rt_calloc(csv->column_count, sizeof *csv->columns);
    for (size_t c = 0; c < csv->column_count; c++)
        csv->columns[c] = rt_strdup(csv->cells[c].text);
    return RT_OK;
}

int rt_csv_open(const char *path, struct rt_csv **out)
{
    struct stat file;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0)
        return rt_fail(RT_EIO, "%s: cannot be read: %s", path, strerror(errno));
    if (fstat(descriptor, &file) == 0 && S_ISDIR(file.st_mode)) {
        close(descriptor);
        return rt_fail(RT_EIO, "%s: is a folder, not a CSV file", path);
    }
    struct rt_csv *csv = rt_calloc(1, sizeof *csv);
    csv_init(&csv->parser, CSV_STRICT | CSV_STRICT_FINI | CSV_EMPTY_IS_NULL);
    csv_set_blk_size(&csv->parser, 1 << 14);
    csv->path = rt_strdup(path);
    csv->descriptor = descriptor;
    csv->block = rt_malloc(BLOCK);
    csv->line = 1;
    int status = read_header(csv);
    if (status == RT_OK)
        *out = csv;
    else
        rt_csv_close(csv);
    return status;
}

void rt_csv_close(struct rt_csv *csv)
{
    if (csv == NULL)
        return;
    csv_free(&csv->parser);
    close(csv->descriptor);
    for (size_t c = 0; c < csv->column_count; c++)
        free(csv->columns[c]);
    free(csv->columns);
    free(csv->cells);
    free(csv->row);
    free(csv->block);
    free(csv->path);
    free(csv);
}

size_t rt_csv_columns(const struct rt_csv *csv)
{
    return csv->column_count;
}

const char *rt_csv_header(const struct rt_csv *csv, size_t column)
{
    return csv->columns[column];
}

int rt_csv_find(const struct rt_csv *csv, const char *header)
{
    for (size_t c = 0; c < csv->column_count; c++)
        if (strcmp(csv->columns[c], header) == 0)
            return (int)c;
    return -1;
}

bool rt_csv_has(const struct rt_csv *csv, const char *const *headers)
{
    for (; *headers != NULL; headers++)
        if (rt_csv_find(csv, *headers) < 0)
            return false;
    return true;
}

const char *rt_csv_path(const struct rt_csv *csv)
{
    return csv->path;
}

size_t rt_csv_line(const struct rt_csv *csv)
{
    return csv->row_line;
}

size_t rt_csv_bytes(const struct rt_csv *csv)
{
    return csv->bytes;
}

int rt_csv_integer(const struct rt_csv_field *cell, int64_t *value)
{
    double real;
    if (rt_parse_integer(cell->text, cell->length, value) == 0)
        return 0;
    if (rt_parse_real(cell->text, cell->length, &real) != 0 || real != floor(real) || fabs(real) > 0x1p53)
        return -1;
    *value = (int64_t)real;
    return 0;
}

int rt_csv_fail(const struct rt_csv *csv, const char *format, ...)
{
    char sentence[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(sentence, sizeof sentence, format, arguments);
    va_end(arguments);
    return rt_fail(RT_EFORMAT, "%s:%zu: %s", csv->path, csv->row_line, sentence);
}

int rt_csv_fail_cell(const struct rt_csv *csv, const char *column, const struct rt_csv_field *cell,
                     const char *must)
{
    return rt_csv_fail(csv, "%s is \"%.60s\"; it must be %s", column, cell->text, must);
}

void rt_csv_write(FILE *file, const char *text)
{
    if (text == NULL)
        return;
    size_t length = strlen(text);
    if (length > 0 && strpbrk(text, ",\"\r\n") == NULL && strchr(" \t", text[0]) == NULL &&
        strchr(" \t", text[length - 1]) == NULL)
        fwrite(text, 1, length, file);
    else
        csv_fwrite(file, text, length);
}

#define TEXT_OF(number)                     #number
#define VERSION_TEXT(major, minor, release) TEXT_OF(major) "." TEXT_OF(minor) "." TEXT_OF(release)
void rt_csv_write_number(FILE *file, double value)
{
    if (isfinite(value))
        fprintf(file, ",%.12g", value);
    else
        fputc(',', file);
}

const char *rt_csv_library(void)
{
    return VERSION_TEXT(CSV_MAJOR, CSV_MINOR, CSV_RELEASE);
}
