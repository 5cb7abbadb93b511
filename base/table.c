/* Tables as text, Markdown, CSV and JSON. See table.h. */
#include "base/table.h"
#include "base/csv.h"
#include "base/locale.h"
#include "base/printable.h"
#include "base/status.h"
#include "base/text.h"

#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

union cell {
    char *text;
    double real;
    long long integer;
};

struct rt_table {
    struct rt_column *columns; /* keys and titles are the table's own */
    size_t column_count, row_count, capacity;
    union cell *cells; /* (row_count, column_count) */
    json_t **more;     /* (row_count) more members of the row in JSON; NULL: none */
};

static char *copy_text(const char *text)
{
    return text != NULL ? rt_strdup(text) : NULL;
}

struct rt_table *rt_table_new(const struct rt_column *columns, size_t count)
{
    struct rt_table *table = rt_calloc(1, sizeof *table);
    table->column_count = count;
    table->columns = rt_calloc(count, sizeof *table->columns);
    for (size_t c = 0; c < count; c++)
        table->columns[c] = (struct rt_column){copy_text(columns[c].key), copy_text(columns[c].title),
                                               columns[c].kind, columns[c].digits};
    return table;
}

static bool is_text(const struct rt_column *column)
{
    return column->kind == 's' || column->kind == 'r';
}

static bool is_integer(const struct rt_column *column)
{
    return column->kind == 'd' || column->kind == 'b';
}

void rt_table_free(struct rt_table *table)
{
    if (table == NULL)
        return;
    for (size_t i = 0; i < table->row_count * table->column_count; i++)
        if (is_text(&table->columns[i % table->column_count]))
            free(table->cells[i].text);
    for (size_t c = 0; c < table->column_count; c++) {
        free((char *)table->columns[c].key);
        free((char *)table->columns[c].title);
    }
    for (size_t r = 0; r < table->row_count; r++)
        json_decref(table->more[r]);
    free(table->more);
    free(table->columns);
    free(table->cells);
    free(table);
}

/* Adds a row, its first `count` columns from the arguments. */
static union cell *add_row(struct rt_table *table, size_t count, va_list arguments)
{
    if (table->row_count == table->capacity) {
        table->capacity = table->capacity ? 2 * table->capacity : 16;
        table->cells = rt_realloc(table->cells, table->capacity * table->column_count, sizeof *table->cells);
        table->more = rt_realloc(table->more, table->capacity, sizeof *table->more);
    }
    table->more[table->row_count] = NULL;
    union cell *row = table->cells + table->row_count++ * table->column_count;
    for (size_t c = 0; c < count; c++) {
        if (is_text(&table->columns[c]))
            row[c].text = copy_text(va_arg(arguments, const char *));
        else if (table->columns[c].kind == 'd')
            row[c].integer = va_arg(arguments, long long);
        else if (table->columns[c].kind == 'b')
            row[c].integer = va_arg(arguments, int);
        else
            row[c].real = va_arg(arguments, double);
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
    size_t first = table->column_count - count;
    va_list arguments;
    va_start(arguments, count);
    union cell *row = add_row(table, first, arguments);
    va_end(arguments);
    for (size_t i = 0; i < count; i++)
        row[first + i].text = copy_text(texts[i]);
}

void rt_table_row_numbers(struct rt_table *table, const double *numbers, size_t count, ...)
{
    size_t first = table->column_count - count;
    va_list arguments;
    va_start(arguments, count);
    union cell *row = add_row(table, first, arguments);
    va_end(arguments);
    for (size_t i = 0; i < count; i++)
        if (table->columns[first + i].kind == 'd')
            row[first + i].integer = (long long)numbers[i];
        else
            row[first + i].real = numbers[i];
}

void rt_table_row_json(struct rt_table *table, const char *key, json_t *value)
{
    json_t **more = &table->more[table->row_count - 1];
    if (*more == NULL)
        *more = json_object();
    json_object_set_new(*more, key, value);
}

size_t rt_table_rows(const struct rt_table *table)
{
    return table->row_count;
}

/* ---- for people ---- */

static const char *raw_text(const struct rt_table *table, size_t row, size_t c)
{
    const struct rt_column *column = &table->columns[c];
    if (row == 0)
        return column->title != NULL ? column->title : column->key;
    const union cell *cell = &table->cells[(row - 1) * table->column_count + c];
    if (column->kind == 'b')
        return cell->integer ? "yes" : "no";
    return !is_text(column) || cell->text == NULL ? "-" : cell->text;
}

/* The text of a cell, row 0 the heading; the caller frees it. */
static char *cell_text(const struct rt_table *table, size_t row, size_t c)
{
    const struct rt_column *column = &table->columns[c];
    const union cell *cell = row > 0 ? &table->cells[(row - 1) * table->column_count + c] : NULL;
    if (cell != NULL && column->kind == 'd')
        return rt_format("%lld", cell->integer);
    if (cell != NULL && (column->kind == 'f' || column->kind == 'g') && !isnan(cell->real))
        return rt_format(column->kind == 'f' ? "%.*f" : "%.*g", column->digits, cell->real);
    return rt_text_printable(raw_text(table, row, c), false);
}

static bool is_left(const struct rt_column *column)
{
    return column->kind == 's' || column->kind == 'b';
}

static bool is_shown(const struct rt_column *column)
{
    return column->title == NULL || column->title[0] != '\0';
}

static size_t *column_widths(const struct rt_table *table)
{
    size_t *width = rt_calloc(table->column_count, sizeof *width);
    for (size_t r = 0; r <= table->row_count; r++)
        for (size_t c = 0; c < table->column_count; c++) {
            char *text = cell_text(table, r, c);
            size_t length = strlen(text);
            width[c] = length > width[c] ? length : width[c];
            free(text);
        }
    return width;
}

/* A table as it is laid out: the shown columns, the first `keys` of which name the rows. */
struct layout {
    const struct rt_table *table;
    const struct rt_terminal *terminal;
    size_t *column, *width; /* (count) indices; the letters of the widest cell */
    size_t count, keys;
    size_t room; /* letters of a line */
};

enum { GAP = 2, LEAST_WRAP = 24 }; /* letters between columns; the least that a wrapped text is given */

/* The letters of column i. Where it names rows again, half of a line at most. */
static size_t letters(const struct layout *layout, size_t i, bool again)
{
    return again && layout->width[i] > layout->room / 2 ? layout->room / 2 : layout->width[i];
}

/* The letters of the columns that name rows again, with the gaps behind them. */
static size_t span_of_keys(const struct layout *layout)
{
    size_t span = 0;
    for (size_t i = 0; i < layout->keys; i++)
        span += letters(layout, i, true) + GAP;
    return span;
}

/* The first column names rows, and so do texts after it while all take no more than half of a line. */
static void find_keys(struct layout *layout)
{
    for (size_t i = 0; i + 1 < layout->count; i++) {
        bool text = is_left(&layout->table->columns[layout->column[i]]);
        bool fits = span_of_keys(layout) + layout->width[i] <= layout->room / 2;
        if (i > 0 && !(text && fits))
            return;
        layout->keys = i + 1;
    }
}

static struct layout lay_out(const struct rt_table *table, const struct rt_terminal *terminal)
{
    size_t *width = column_widths(table);
    struct layout layout = {.table = table, .terminal = terminal, .width = width};
    layout.column = rt_calloc(table->column_count, sizeof *layout.column);
    layout.room = terminal->columns > 0 ? (size_t)rt_terminal_width(terminal, terminal->columns) : SIZE_MAX;
    for (size_t c = 0; c < table->column_count; c++)
        if (is_shown(&table->columns[c])) {
            layout.column[layout.count] = c;
            width[layout.count++] = width[c];
        }
    find_keys(&layout);
    return layout;
}

/* The end of the block that begins with column `from`. A last text is taken that does not fit, and wrapped.
 */
static size_t block_end(const struct layout *layout, size_t from)
{
    size_t used = from > 0 ? span_of_keys(layout) : 0, to = from;
    for (; to < layout->count && used + layout->width[to] <= layout->room; to++)
        used += layout->width[to] + GAP;
    bool wraps = to + 1 == layout->count && is_left(&layout->table->columns[layout->column[to]]) &&
                 used + LEAST_WRAP <= layout->room;
    return to == from || wraps ? to + 1 : to;
}

/* A column that names rows again: a name that is too long ends in "..". Returns where the next begins. */
static size_t print_key(const struct layout *layout, size_t row, size_t i, size_t at, FILE *file)
{
    size_t c = layout->column[i], width = letters(layout, i, true);
    char *text = cell_text(layout->table, row, c);
    bool cut = strlen(text) > width;
    fprintf(file, is_left(&layout->table->columns[c]) ? "%-*.*s%s  " : "%*.*s%s  ", (int)(width - 2 * cut),
            (int)(width - 2 * cut), text, cut ? ".." : "");
    free(text);
    return at + width + GAP;
}

/* The cell of shown column i at letter `at`; `last` of its line. */
static size_t print_cell(const struct layout *layout, size_t row, size_t i, size_t at, bool last, FILE *file)
{
    size_t c = layout->column[i];
    bool left = is_left(&layout->table->columns[c]);
    char *text = cell_text(layout->table, row, c);
    if (left && last && at + strlen(text) > layout->room)
        rt_print_wrapped(file, text, (int)at, (int)at, (int)layout->room);
    else
        fprintf(file, left ? "%-*s%s" : "%*s%s", left && last ? 0 : (int)layout->width[i], text,
                last ? "\n" : "  ");
    free(text);
    return at + layout->width[i] + GAP;
}

static void print_row(const struct layout *layout, size_t row, size_t from, size_t to, FILE *file)
{
    size_t at = 0;
    fputs(row == 0 ? rt_terminal_style(layout->terminal, RT_STYLE_DIM) : "", file);
    for (size_t i = 0; from > 0 && i < layout->keys; i++)
        at = print_key(layout, row, i, at, file);
    for (size_t i = from; i < to; i++)
        at = print_cell(layout, row, i, at, i + 1 == to, file);
    fputs(row == 0 ? rt_terminal_style(layout->terminal, RT_STYLE_NONE) : "", file);
}

void rt_table_text_for(const struct rt_table *table, const struct rt_terminal *terminal, FILE *file)
{
    struct layout layout = lay_out(table, terminal);
    for (size_t from = 0, to; from < layout.count; from = to) {
        to = block_end(&layout, from);
        fputs(from > 0 ? "\n" : "", file);
        for (size_t r = 0; r <= table->row_count; r++)
            print_row(&layout, r, from, to, file);
    }
    free(layout.column);
    free(layout.width);
}

void rt_table_text(const struct rt_table *table, FILE *file)
{
    rt_table_text_for(table, &(struct rt_terminal){0}, file);
}

/* A cell between two bars, padded; a bar in it is no border. */
static void print_markdown_cell(const struct rt_table *table, size_t row, size_t c, size_t width, FILE *file)
{
    char *text = cell_text(table, row, c);
    int pad = (int)width - (int)strlen(text);
    bool left = is_left(&table->columns[c]);
    fprintf(file, "| %*s", left ? 0 : pad, "");
    rt_print_markdown(file, text, RT_MARKDOWN_CELL);
    fprintf(file, "%*s ", left ? pad : 0, "");
    free(text);
}

void rt_table_markdown(const struct rt_table *table, FILE *file)
{
    size_t *width = column_widths(table);
    for (size_t r = 0; r <= table->row_count; r++) {
        for (size_t c = 0; c < table->column_count; c++)
            if (is_shown(&table->columns[c]))
                print_markdown_cell(table, r, c, width[c], file);
        fputs("|\n", file);
        for (size_t c = 0; r == 0 && c < table->column_count; c++)
            if (is_shown(&table->columns[c]))
                fputs(is_left(&table->columns[c]) ? "| --- " : "| --: ", file);
        fputs(r == 0 ? "|\n" : "", file);
    }
    free(width);
}

static void print_html_cell(const struct rt_table *table, size_t row, size_t c, const char *tag, FILE *file)
{
    enum { LONG = 48 }; /* bytes; such texts are broken into lines */
    char *text = cell_text(table, row, c);
    fprintf(file, "<%s%s>", tag, is_left(&table->columns[c]) && strlen(text) > LONG ? " class=\"l\"" : "");
    rt_html_text(text, file);
    fprintf(file, "</%.2s>", tag);
    free(text);
}

static void print_html_row(const struct rt_table *table, size_t row, size_t head, FILE *file)
{
    fputs("<tr>", file);
    for (size_t c = 0; c < table->column_count; c++)
        if (is_shown(&table->columns[c]))
            print_html_cell(table, row, c,
                            row == 0    ? "th scope=\"col\""
                            : c == head ? "th scope=\"row\""
                                        : "td",
                            file);
    fputs("</tr>\n", file);
}

/* Classes say which columns stand on the right, the first is r1: in every cell they would be a third of a
 * page. */
static void print_html_classes(const struct rt_table *table, FILE *file)
{
    const char *separator = "";
    size_t place = 0;
    fputs("<table class=\"", file);
    for (size_t c = 0; c < table->column_count; c++) {
        place += is_shown(&table->columns[c]);
        if (is_shown(&table->columns[c]) && !is_left(&table->columns[c])) {
            fprintf(file, "%sr%zu", separator, place);
            separator = " ";
        }
    }
    fputs("\">\n", file);
}

void rt_table_html(const struct rt_table *table, const char *caption, FILE *file)
{
    size_t head = 0;
    while (head < table->column_count && !is_shown(&table->columns[head]))
        head++;
    if (head < table->column_count && table->columns[head].kind != 's')
        head = table->column_count;
    print_html_classes(table, file);
    fputs("<caption>", file);
    rt_html_text(caption, file);
    fputs("</caption>\n<thead>\n", file);
    print_html_row(table, 0, head, file);
    fputs("</thead>\n<tbody>\n", file);
    for (size_t r = 1; r <= table->row_count; r++)
        print_html_row(table, r, head, file);
    fputs("</tbody>\n</table>\n", file);
}

/* ---- for programs ---- */

/* Would a spreadsheet take the text for a formula? Those of files and command lines may be somebody else's.
 */
static bool is_formula(const char *text)
{
    char *end;
    strtod(text, &end);
    return strchr("=@+-", text[0]) != NULL && text[1] != '\0' && *end != '\0';
}

/* An apostrophe before a formula makes it a text (OWASP, CSV injection). */
static void write_text(FILE *file, const char *text)
{
    if (text == NULL || text[0] == '\0')
        return;
    char *printable = rt_text_printable(text, false), *quoted = rt_format("'%s", printable);
    rt_csv_write(file, is_formula(printable) ? quoted : printable);
    free(quoted);
    free(printable);
}

int rt_table_csv(const struct rt_table *table, FILE *file)
{
    RT_C_LOCALE;
    for (size_t r = 0; r <= table->row_count; r++) {
        const char *comma = "";
        for (size_t c = 0; c < table->column_count; c++) {
            const struct rt_column *column = &table->columns[c];
            if (column->key == NULL)
                continue;
            fputs(comma, file);
            comma = ",";
            const union cell *cell = r > 0 ? &table->cells[(r - 1) * table->column_count + c] : NULL;
            if (r == 0)
                fputs(column->key, file);
            else if (is_text(column))
                write_text(file, cell->text);
            else if (is_integer(column))
                fprintf(file, "%lld", cell->integer);
            else if (!isnan(cell->real))
                fprintf(file, "%.17g", cell->real);
        }
        fputc('\n', file);
    }
    return ferror(file) ? rt_fail(RT_EIO, "writing the table failed") : RT_OK;
}

json_t *rt_json_number(double value)
{
    return isfinite(value) ? json_real(value) : json_null();
}

json_t *rt_json_text(const char *text)
{
    if (text == NULL || rt_is_utf8(text))
        return text != NULL ? json_string(text) : json_null();
    char *escaped = rt_text_printable(text, true);
    json_t *json = json_string(escaped);
    free(escaped);
    return json;
}

static json_t *cell_json(const struct rt_column *column, const union cell *cell)
{
    return is_text(column)       ? rt_json_text(cell->text)
           : column->kind == 'd' ? json_integer(cell->integer)
           : column->kind == 'b' ? json_boolean(cell->integer)
                                 : rt_json_number(cell->real);
}

json_t *rt_table_json(const struct rt_table *table)
{
    json_t *rows = json_array();
    for (size_t r = 0; r < table->row_count; r++) {
        json_t *row = json_object();
        for (size_t c = 0; c < table->column_count; c++)
            if (table->columns[c].key != NULL)
                json_object_set_new(
                    row, table->columns[c].key,
                    cell_json(&table->columns[c], &table->cells[r * table->column_count + c]));
        json_object_update(row, table->more[r]);
        json_array_append_new(rows, row);
    }
    return rows;
}

/* Jansson escapes what is below a space; what a terminal acts on beyond that stands in texts alone. */
static void print_json(json_t *value, size_t form, FILE *file)
{
    char *text = json_dumps(value, form | JSON_REAL_PRECISION(17));
    unsigned code = 0;
    size_t begin = 0, at = 0; /* text[begin..at) is still to be written */
    for (size_t length; text != NULL && text[at] != '\0'; at += length) {
        code = (unsigned char)text[at];
        length = code < 0x7f ? 1 : rt_utf8(text + at, &code);
        if (code >= 0x7f && rt_is_control(code)) {
            fwrite(text + begin, 1, at - begin, file);
            fprintf(file, "\\u%04x", code);
            begin = at + length;
        }
    }
    fwrite(text != NULL ? text + begin : "", 1, at - begin, file);
    fputc('\n', file);
    free(text);
    json_decref(value);
}

void rt_json_print(json_t *value, FILE *file)
{
    print_json(value, JSON_INDENT(2), file);
}

void rt_json_print_line(json_t *value, FILE *file)
{
    print_json(value, JSON_COMPACT, file);
}
