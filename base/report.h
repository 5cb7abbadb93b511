/*
 * A report: a title, facts, tables and notes in their order, printed as text, JSON, CSV, Markdown or HTML.
 * Every command that prints results builds one and leaves the forms to this.
 *
 *     struct rt_report *report = rt_report_new();
 *     rt_report_add_title(report, "%s on %s", model, gpu);
 *     rt_report_add_fact(report, "total_ms", rt_json_number(ms), "total", "%.3f ms", ms);
 *     rt_report_add_table(report, "ops", "By op", table);
 *     return rt_report_end(report, arguments->json);
 *
 * A key is the name in JSON; "data.samples" is the member "samples" of the object "data", "" is all of it.
 * What has no key is for people only, what has no label or title for programs only. JSON holds numbers with
 * all digits, null for NaN.
 */
#pragma once

#include "base/plot.h"
#include "base/table.h"

#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

struct rt_report;
/* Of the JSON of every report, its member "schema": goes up where a member goes or changes its meaning;
 * docs/schema/ describes them. */
#define RT_REPORT_SCHEMA 1
struct rt_report *rt_report_new(void);
void rt_report_free(struct rt_report *report); /* accepts NULL */

/* Lines for people: the first of a report, and one before what follows. */
void rt_report_add_title(struct rt_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void rt_report_add_heading(struct rt_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* A member of the JSON object, and "label  words" for people; label "" goes on under the fact before. Takes
 * the value. */
void rt_report_add_fact(struct rt_report *report, const char *key, json_t *value, const char *label,
                        const char *format, ...) __attribute__((format(printf, 5, 6)));
/* Facts that are a text (NULL: null, "-") or a count. */
void rt_report_add_text(struct rt_report *report, const char *key, const char *label, const char *text);
void rt_report_add_count(struct rt_report *report, const char *key, const char *label, size_t count);
/* The words alone, and the member alone. */
void rt_report_add_words(struct rt_report *report, const char *label, const char *format, ...)
    __attribute__((format(printf, 3, 4)));
void rt_report_add_json(struct rt_report *report, const char *key, json_t *value);
/* What is added from now on is in JSON the one element of an array under the key, which is kept, so that one
 * and several read alike; NULL: no longer. */
void rt_report_list(struct rt_report *report, const char *key);

/* An array of objects under the key; a table under the title, "" for none, where it has rows. Takes the
 * table. CSV holds the first table with a key, the first of all where none has one, or
 * the one that was named for it. */
void rt_report_add_table(struct rt_report *report, const char *key, const char *title,
                         struct rt_table *table);
void rt_report_add_csv(struct rt_report *report, struct rt_table *table);

/* A line for people, a text of the array under the key. */
void rt_report_add_note(struct rt_report *report, const char *key, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* A paragraph of words, and lines that stay as they are, such as a command: for people only. */
void rt_report_add_paragraph(struct rt_report *report, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
void rt_report_add_lines(struct rt_report *report, const char *lines);
/* A text that is Markdown already, as it stands: headings and tables of its own. */
void rt_report_add_markdown(struct rt_report *report, const char *text);
/* The front matter of a page in Markdown, as YAML between two lines of "---": add it first. A member of the
 * JSON object, in no other form. Takes the value. */
void rt_report_add_front(struct rt_report *report, const char *key, json_t *value);

/* A picture of what stands beside it, in HTML alone; takes the plot. */
void rt_report_add_plot(struct rt_report *report, struct rt_plot *plot);

/* What decides, at the top of a page, in HTML alone: the label, a value that is read from afar, behind a
 * line's end more of it, and a bar that is filled to `share` (0..1; NaN: no bar). Those that follow each
 * other make a row. */
void rt_report_add_tile(struct rt_report *report, const char *label, double share, const char *format, ...)
    __attribute__((format(printf, 4, 5)));

enum rt_report_form { RT_REPORT_TEXT, RT_REPORT_JSON, RT_REPORT_CSV, RT_REPORT_MARKDOWN, RT_REPORT_HTML };

/* What JSON holds, to be a part of more: a new reference. */
json_t *rt_report_json(const struct rt_report *report);
/* The same as `--json` prints it, with "schema". */
json_t *rt_report_json_whole(const struct rt_report *report);

/* The last failure: {"status": "usage", "exit": 2, "message": rt_error()}; a new reference. */
json_t *rt_report_error(int status);
/* Prints it as the report that could not be made; nothing where one was printed. */
void rt_report_print_error(int status);

int rt_report_print(const struct rt_report *report, enum rt_report_form form, FILE *file);

/* Prints on standard output, in the width, with the styles and by the pager of a terminal (pager.h), and
 * frees the report: how a command ends. */
int rt_report_end(struct rt_report *report, bool json);

/* From now on the reports that this thread ends are not printed: the last one's JSON is put into *into, which
 * the caller owns and sets to NULL before. NULL: printed again. */
void rt_report_divert(json_t **into);
bool rt_report_is_diverted(void);

/* Writes the form that the ending of `path` names: .txt, .json, .csv, .md or .html. The file appears whole.
 */
int rt_report_save(const struct rt_report *report, const char *path);

/* The form that the ending names. RT_EUSAGE "--report x.pdf: name a file that ends in ..." for others. */
int rt_report_form(const char *option, const char *path, enum rt_report_form *form);
/* The same without the form: the check of an option's row, before the work. */
int rt_report_check_path(const char *option, const char *path);
