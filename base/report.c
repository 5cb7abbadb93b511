/* Reports as text, JSON, CSV and Markdown. See report.h. */
#include "base/report_data.h"
#include "base/file.h"
#include "base/locale.h"
#include "base/pager.h"
#include "base/status.h"
#include "base/text.h"
#include "base/yaml.h"

#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

struct rt_report *rt_report_new(void)
{
    return rt_calloc(1, sizeof(struct rt_report));
}

void rt_report_free(struct rt_report *report)
{
    if (report == NULL)
        return;
    for (size_t i = 0; i < report->count; i++) {
        struct rt_item *item = &report->item[i];
        free(item->key);
        free(item->label);
        free(item->text);
        json_decref(item->value);
        rt_table_free(item->table);
        rt_plot_free(item->plot);
    }
    free(report->item);
    rt_table_free(report->csv);
    free(report);
}

/* ---- what a report holds ---- */

static struct rt_item *add_item(struct rt_report *report, enum rt_item_kind kind, const char *key,
                                const char *label)
{
    report->item = rt_realloc(report->item, report->count + 1, sizeof *report->item);
    struct rt_item *item = &report->item[report->count++];
    *item = (struct rt_item){.kind = kind,
                             .key = key != NULL ? rt_strdup(key) : NULL,
                             .list = report->list,
                             .label = label != NULL ? rt_strdup(label) : NULL};
    return item;
}

/* Sets item->text from the arguments after `format`. */
#define SET_TEXT(item, format)                                                                               \
    do {                                                                                                     \
        va_list arguments;                                                                                   \
        va_start(arguments, format);                                                                         \
        (item)->text = rt_vformat(format, arguments);                                                        \
        va_end(arguments);                                                                                   \
    } while (0)

void rt_report_add_title(struct rt_report *report, const char *format, ...)
{
    SET_TEXT(add_item(report, RT_ITEM_TITLE, NULL, NULL), format);
}

void rt_report_add_heading(struct rt_report *report, const char *format, ...)
{
    SET_TEXT(add_item(report, RT_ITEM_HEADING, NULL, NULL), format);
}

void rt_report_add_fact(struct rt_report *report, const char *key, json_t *value, const char *label,
                        const char *format, ...)
{
    struct rt_item *item = add_item(report, RT_ITEM_FACT, key, label);
    item->value = value;
    SET_TEXT(item, format);
}

void rt_report_add_text(struct rt_report *report, const char *key, const char *label, const char *text)
{
    rt_report_add_fact(report, key, rt_json_text(text), label, "%s", text != NULL ? text : "-");
}

void rt_report_add_count(struct rt_report *report, const char *key, const char *label, size_t count)
{
    rt_report_add_fact(report, key, json_integer((json_int_t)count), label, "%zu", count);
}

void rt_report_add_words(struct rt_report *report, const char *label, const char *format, ...)
{
    SET_TEXT(add_item(report, RT_ITEM_FACT, NULL, label), format);
}

void rt_report_add_json(struct rt_report *report, const char *key, json_t *value)
{
    add_item(report, RT_ITEM_FACT, key, NULL)->value = value;
}

void rt_report_list(struct rt_report *report, const char *key)
{
    report->list = key;
}

void rt_report_add_table(struct rt_report *report, const char *key, const char *title, struct rt_table *table)
{
    struct rt_item *item = add_item(report, RT_ITEM_TABLE, key, NULL);
    item->text = title != NULL ? rt_strdup(title) : NULL;
    item->table = table;
}

void rt_report_add_csv(struct rt_report *report, struct rt_table *table)
{
    rt_table_free(report->csv);
    report->csv = table;
}

void rt_report_add_note(struct rt_report *report, const char *key, const char *format, ...)
{
    SET_TEXT(add_item(report, RT_ITEM_NOTE, key, NULL), format);
}

void rt_report_add_paragraph(struct rt_report *report, const char *format, ...)
{
    SET_TEXT(add_item(report, RT_ITEM_PARAGRAPH, NULL, NULL), format);
}

void rt_report_add_lines(struct rt_report *report, const char *lines)
{
    add_item(report, RT_ITEM_LINES, NULL, NULL)->text = rt_strdup(lines);
}

void rt_report_add_markdown(struct rt_report *report, const char *text)
{
    size_t length = strlen(text); /* one end of line is printed after it */
    add_item(report, RT_ITEM_MARKDOWN, NULL, NULL)->text =
        rt_format("%.*s", (int)(length > 0 && text[length - 1] == '\n' ? length - 1 : length), text);
}

void rt_report_add_front(struct rt_report *report, const char *key, json_t *value)
{
    add_item(report, RT_ITEM_FRONT, key, NULL)->value = value;
}

void rt_report_add_tile(struct rt_report *report, const char *label, double share, const char *format, ...)
{
    struct rt_item *item = add_item(report, RT_ITEM_TILE, NULL, label);
    item->share = share;
    SET_TEXT(item, format);
}

void rt_report_add_plot(struct rt_report *report, struct rt_plot *plot)
{
    add_item(report, RT_ITEM_PLOT, NULL, NULL)->plot = plot;
}

/* ---- for people ---- */

static bool is_shown(const struct rt_item *item)
{
    return item->kind < RT_ITEM_PLOT && rt_item_is_shown(item);
}

static int label_width(const struct rt_report *report)
{
    size_t width = 0;
    for (size_t i = 0; i < report->count; i++)
        if (report->item[i].kind == RT_ITEM_FACT && report->item[i].label != NULL &&
            strlen(report->item[i].label) > width)
            width = strlen(report->item[i].label);
    return (int)width + 2;
}

/* The text as people see it; facts and notes may have lines. */
static char *visible(const struct rt_item *item)
{
    return rt_text_printable(item->text, item->kind == RT_ITEM_FACT || item->kind == RT_ITEM_NOTE ||
                                             item->kind == RT_ITEM_LINES || item->kind == RT_ITEM_MARKDOWN);
}

static void print_indented(const char *lines, int indent, FILE *file)
{
    for (const char *line = lines; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        fprintf(file, "%*s%.*s\n", indent, "", (int)length, line);
        line += length + (line[length] == '\n');
    }
}

enum { WIDTH = 108 }; /* of a line of facts; titles and notes are lines of any length but on a terminal */

static void print_fact(const char *label, const char *text, int labels, const struct rt_terminal *terminal,
                       FILE *file)
{
    fprintf(file, "%s%-*s%s", rt_terminal_style(terminal, RT_STYLE_DIM), labels, label,
            rt_terminal_style(terminal, RT_STYLE_NONE));
    rt_print_wrapped(file, text, labels, labels, rt_terminal_width(terminal, WIDTH));
}

static void print_line(enum rt_item_kind kind, const char *text, const struct rt_terminal *terminal,
                       FILE *file)
{
    bool plain = kind == RT_ITEM_NOTE;
    fputs(plain ? "" : rt_terminal_style(terminal, RT_STYLE_BOLD), file);
    rt_print_wrapped(file, text, 0, 0, terminal->columns > 0 ? rt_terminal_width(terminal, WIDTH) : INT_MAX);
    fputs(plain ? "" : rt_terminal_style(terminal, RT_STYLE_NONE), file);
}

static void print_text_item(const struct rt_item *item, int labels, const struct rt_terminal *terminal,
                            FILE *file)
{
    char *text = visible(item);
    if (item->kind == RT_ITEM_LINES)
        print_indented(text, 4, file);
    else if (item->kind == RT_ITEM_FACT)
        print_fact(item->label, text, labels, terminal, file);
    else if (item->kind == RT_ITEM_PARAGRAPH)
        rt_print_wrapped(file, text, 0, 0, rt_terminal_width(terminal, WIDTH));
    else if (item->kind != RT_ITEM_TABLE || text[0] != '\0')
        print_line(item->kind, text, terminal, file);
    free(text);
    if (item->kind == RT_ITEM_TABLE)
        rt_table_text_for(item->table, terminal, file);
}

/* Facts stand together and so do notes, which may follow a heading; all else has an empty line before it. */
static void print_text_for(const struct rt_report *report, const struct rt_terminal *terminal, FILE *file)
{
    int labels = label_width(report);
    const struct rt_item *before = NULL;
    for (size_t i = 0; i < report->count; i++) {
        const struct rt_item *item = &report->item[i];
        if (!is_shown(item))
            continue;
        bool together =
            before == NULL ||
            (before->kind == item->kind && item->kind <= RT_ITEM_NOTE && item->kind != RT_ITEM_TABLE) ||
            (before->kind <= RT_ITEM_HEADING && item->kind != RT_ITEM_HEADING);
        if (!together)
            fputc('\n', file);
        print_text_item(item, labels, terminal, file);
        before = item;
    }
}

static int print_text(const struct rt_report *report, FILE *file)
{
    print_text_for(report, &(struct rt_terminal){0}, file);
    return RT_OK;
}

/* On a terminal: in its width, by a pager where it is long. */
static int print_on_stdout(const struct rt_report *report)
{
    RT_C_LOCALE;
    struct rt_terminal terminal = rt_terminal_of(stdout);
    char *text = NULL;
    size_t size = 0;
    FILE *memory = terminal.columns > 0 ? open_memstream(&text, &size) : NULL;
    if (memory == NULL) {
        print_text_for(report, &terminal, stdout);
        return RT_OK;
    }
    print_text_for(report, &terminal, memory);
    fclose(memory);
    rt_pager_print(text, &terminal);
    free(text);
    return RT_OK;
}

/* Between fences that are longer than any in the lines. */
static void print_fenced(const char *lines, FILE *file)
{
    int fence = 3, run = 0;
    for (const char *at = lines; *at != '\0'; at++) {
        run = *at == '`' ? run + 1 : 0;
        fence = run >= fence ? run + 1 : fence;
    }
    for (int end = 0; end < 2; end++) {
        for (int i = 0; i < fence; i++)
            fputc('`', file);
        fputc('\n', file);
        if (end == 0)
            print_indented(lines, 0, file);
    }
}

static void print_front(const struct rt_report *report, FILE *file)
{
    if (report->count == 0 || report->item[0].kind != RT_ITEM_FRONT)
        return;
    char *yaml = rt_yaml_text(report->item[0].value);
    fprintf(file, "---\n%s---\n", yaml);
    free(yaml);
}

static void print_markdown_item(const struct rt_item *item, FILE *file)
{
    static const char *const before[] = {[RT_ITEM_TITLE] = "# ",
                                         [RT_ITEM_HEADING] = "## ",
                                         [RT_ITEM_TABLE] = "## ",
                                         [RT_ITEM_NOTE] = "- ",
                                         [RT_ITEM_PARAGRAPH] = ""};
    char *text = visible(item);
    if (item->kind == RT_ITEM_LINES) {
        print_fenced(text, file);
    } else if (item->kind == RT_ITEM_MARKDOWN) {
        fprintf(file, "%s\n", text);
    } else if (item->kind == RT_ITEM_FACT || text[0] != '\0') {
        bool fact = item->kind == RT_ITEM_FACT, named = fact && item->label[0] != '\0';
        fprintf(file, "%s%s%s", fact ? (named ? "- " : "  ") : before[item->kind], named ? item->label : "",
                named ? ": " : "");
        bool sentence = item->kind == RT_ITEM_NOTE || item->kind == RT_ITEM_PARAGRAPH;
        rt_print_markdown(file, text, sentence ? RT_MARKDOWN_SENTENCE : RT_MARKDOWN_NAME);
        fputs(item->kind == RT_ITEM_TABLE ? "\n\n" : "\n", file);
    }
    free(text);
    if (item->kind == RT_ITEM_TABLE)
        rt_table_markdown(item->table, file);
}

static int print_markdown(const struct rt_report *report, FILE *file)
{
    const struct rt_item *before = NULL;
    print_front(report, file);
    for (size_t i = 0; i < report->count; i++) {
        const struct rt_item *item = &report->item[i];
        if (!is_shown(item))
            continue;
        if (i > 0 && (before == NULL || item->kind != before->kind ||
                      (item->kind != RT_ITEM_FACT && item->kind != RT_ITEM_NOTE)))
            fputc('\n', file);
        before = item;
        print_markdown_item(item, file);
    }
    return RT_OK;
}

/* ---- for programs ---- */

/* The object that holds the last part of the key, made where it is missing; *key becomes that part. */
static json_t *holder(json_t *root, const char **key)
{
    for (const char *dot; (dot = strchr(*key, '.')) != NULL; *key = dot + 1) {
        char *name = rt_format("%.*s", (int)(dot - *key), *key);
        json_t *object = json_object_get(root, name);
        if (object == NULL) {
            object = json_object();
            json_object_set_new(root, name, object);
        }
        free(name);
        root = object;
    }
    return root;
}

static void set_member(json_t *root, const struct rt_item *item)
{
    const char *key = item->key;
    json_t *object = holder(root, &key);
    if (item->kind == RT_ITEM_TABLE) {
        json_object_set_new(object, key, rt_table_json(item->table));
    } else if (item->kind == RT_ITEM_FACT || item->kind == RT_ITEM_FRONT) {
        json_object_set(object, key, item->value);
    } else {
        if (json_object_get(object, key) == NULL)
            json_object_set_new(object, key, json_array());
        json_array_append_new(json_object_get(object, key), rt_json_text(item->text));
    }
}

/* The one element of the array. */
static json_t *element(json_t *root, const char *list)
{
    if (json_object_get(root, list) == NULL)
        json_object_set_new(root, list, json_pack("[{}]"));
    return json_array_get(json_object_get(root, list), 0);
}

json_t *rt_report_json(const struct rt_report *report)
{
    json_t *root = json_object();
    for (size_t i = 0; i < report->count; i++) {
        const struct rt_item *item = &report->item[i];
        if (item->key != NULL)
            set_member(item->list != NULL ? element(root, item->list) : root, item);
    }
    json_t *all = json_object_get(root, "");
    json_t *result = json_incref(all != NULL ? all : root);
    json_decref(root);
    return result;
}

json_t *rt_report_json_whole(const struct rt_report *report)
{
    json_t *whole = json_pack("{s:i}", "schema", RT_REPORT_SCHEMA), *all = rt_report_json(report);
    json_object_update(whole, all);
    json_decref(all);
    return whole;
}

json_t *rt_report_error(int status)
{
    static const char *const names[] = {"ok", "io", "format", "version", "usage", "not found", "interrupted"};
    return json_pack("{s:s, s:i, s:o}", "status", names[-status], "exit", rt_exit_status(status), "message",
                     rt_json_text(rt_error()));
}

static bool printed; /* a report, on standard output */

void rt_report_print_error(int status)
{
    if (!printed)
        rt_json_print(json_pack("{s:i, s:o}", "schema", RT_REPORT_SCHEMA, "error", rt_report_error(status)),
                      stdout);
}

static int print_json(const struct rt_report *report, FILE *file)
{
    rt_json_print(rt_report_json_whole(report), file);
    return RT_OK;
}

static int print_csv(const struct rt_report *report, FILE *file)
{
    if (report->csv != NULL)
        return rt_table_csv(report->csv, file);
    const struct rt_item *first = NULL;
    for (size_t i = 0; i < report->count && (first == NULL || first->key == NULL); i++) {
        const struct rt_item *item = &report->item[i];
        if (item->kind == RT_ITEM_TABLE && (item->key != NULL || first == NULL))
            first = item;
    }
    return first != NULL ? rt_table_csv(first->table, file) : RT_OK;
}

/* ---- files ---- */

static const struct {
    const char *ending;
    int (*print)(const struct rt_report *report, FILE *file);
} forms[] = {
    [RT_REPORT_TEXT] = {".txt", print_text},      [RT_REPORT_JSON] = {".json", print_json},
    [RT_REPORT_CSV] = {".csv", print_csv},        [RT_REPORT_MARKDOWN] = {".md", print_markdown},
    [RT_REPORT_HTML] = {".html", rt_report_html},
};

int rt_report_print(const struct rt_report *report, enum rt_report_form form, FILE *file)
{
    RT_C_LOCALE;
    return forms[form].print(report, file);
}

static _Thread_local json_t **diverted;

void rt_report_divert(json_t **into)
{
    diverted = into;
}

bool rt_report_is_diverted(void)
{
    return diverted != NULL;
}

static int divert(struct rt_report *report)
{
    json_decref(*diverted);
    *diverted = rt_report_json_whole(report);
    rt_report_free(report);
    return RT_OK;
}

int rt_report_end(struct rt_report *report, bool json)
{
    if (diverted != NULL)
        return divert(report);
    printed = true;
    int status = json ? rt_report_print(report, RT_REPORT_JSON, stdout) : print_on_stdout(report);
    rt_report_free(report);
    return status;
}

int rt_report_form(const char *option, const char *path, enum rt_report_form *form)
{
    for (size_t f = 0; f < RT_COUNT(forms); f++)
        if (rt_file_ends_in(path, forms[f].ending)) {
            *form = (enum rt_report_form)f;
            return RT_OK;
        }
    return rt_fail(RT_EUSAGE, "%s %s: name a file that ends in .txt, .json, .csv, .md or .html", option,
                   path);
}

int rt_report_check_path(const char *option, const char *path)
{
    enum rt_report_form form;
    return rt_report_form(option, path, &form);
}

int rt_report_save(const struct rt_report *report, const char *path)
{
    enum rt_report_form form = RT_REPORT_TEXT;
    struct rt_new_file file;
    int status = rt_report_form("report", path, &form);
    if (status == RT_OK)
        status = rt_file_create(path, &file);
    if (status != RT_OK)
        return status;
    if ((status = rt_report_print(report, form, file.stream)) != RT_OK) {
        rt_file_abandon(&file);
        return rt_fail_context(status, "%s", path);
    }
    return rt_file_finish(&file);
}
