/* The report of an import. See report.h. */
#include "datasets/import/report.h"
#include "base/status.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void release_sentences(struct rt_import_sentences *sentences)
{
    for (size_t i = 0; i < sentences->reasons; i++) {
        free(sentences->text[i]);
        free(sentences->reason[i]);
    }
}

void rt_import_report_release(struct rt_import_report *report)
{
    for (size_t i = 0; i < report->other_count; i++)
        free(report->others[i].kind);
    free(report->others);
    free(report->rows);
    release_sentences(&report->refused);
    release_sentences(&report->skipped);
    release_sentences(&report->warned);
    *report = (struct rt_import_report){0};
}

/* Behind "file:line: "; all of it where it has no such place. */
static const char *after_place(const char *text)
{
    for (const char *at = strchr(text, ':'); at != NULL; at = strchr(at + 1, ':')) {
        size_t digits = strspn(at + 1, "0123456789");
        if (digits > 0 && at[1 + digits] == ':' && at[2 + digits] == ' ')
            return at + digits + 3;
    }
    return text;
}

static bool in_word(char letter)
{
    return isalnum((unsigned char)letter) || letter == '_';
}

/* The sentence without its place, its numbers as "#": "fp8" is none. */
static char *reason_of(const char *text)
{
    char *reason = rt_strdup(after_place(text)), *to = reason;
    for (const char *at = reason; *at != '\0';) {
        size_t signs = strspn(at, "+-."), number = signs + strspn(at + signs, ".0123456789");
        if (number > signs && (to == reason || !in_word(to[-1])) && !in_word(at[number])) {
            *to++ = '#';
            at += number;
        } else {
            *to++ = *at++;
        }
    }
    *to = '\0';
    return reason;
}

static void note(struct rt_import_sentences *sentences, const char *text, size_t times)
{
    char *reason = reason_of(text);
    size_t i = 0;
    sentences->count += times;
    while (i < sentences->reasons && strcmp(sentences->reason[i], reason) != 0)
        i++;
    if (i == RT_IMPORT_REASONS) {
        free(reason);
    } else if (i < sentences->reasons) {
        sentences->times[i] += times;
        free(reason);
    } else {
        sentences->text[i] = rt_strdup(text);
        sentences->reason[i] = reason;
        sentences->times[i] = times;
        sentences->reasons++;
    }
}

void rt_import_note(struct rt_import_sentences *sentences, const char *text)
{
    note(sentences, text, 1);
}

void rt_import_other(struct rt_import_report *report, const char *kind, size_t files)
{
    for (size_t i = 0; i < report->other_count; i++)
        if (strcmp(report->others[i].kind, kind) == 0) {
            report->others[i].files += files;
            return;
        }
    report->others = rt_realloc(report->others, report->other_count + 1, sizeof *report->others);
    report->others[report->other_count++] = (struct rt_import_other){rt_strdup(kind), files};
}

struct rt_import_count *rt_import_counter(struct rt_import_report *report, const char *op, const char *device)
{
    for (size_t i = report->row_count; i-- > 0;) /* the last added is the likeliest */
        if (strcmp(report->rows[i].op, op) == 0 && strcmp(report->rows[i].device, device) == 0)
            return &report->rows[i].count;
    report->rows = rt_realloc(report->rows, report->row_count + 1, sizeof *report->rows);
    struct rt_import_row *row = &report->rows[report->row_count++];
    memset(row, 0, sizeof *row);
    snprintf(row->op, sizeof row->op, "%s", op);
    snprintf(row->device, sizeof row->device, "%s", device);
    return &row->count;
}

void rt_import_count_add(struct rt_import_count *to, const struct rt_import_count *from)
{
    to->read += from->read;
    to->kept += from->kept;
    to->duplicates += from->duplicates;
    to->refused += from->refused;
    to->unknown_tiles += from->unknown_tiles;
}

static void add_sentences(struct rt_import_sentences *to, const struct rt_import_sentences *from)
{
    size_t kept = 0;
    for (size_t i = 0; i < from->reasons; i++) {
        note(to, from->text[i], from->times[i]);
        kept += from->times[i];
    }
    to->count += from->count - kept;
}

void rt_import_report_add(struct rt_import_report *report, const struct rt_import_report *file)
{
    for (size_t i = 0; i < file->row_count; i++)
        rt_import_count_add(rt_import_counter(report, file->rows[i].op, file->rows[i].device),
                            &file->rows[i].count);
    for (size_t i = 0; i < file->other_count; i++)
        rt_import_other(report, file->others[i].kind, file->others[i].files);
    add_sentences(&report->refused, &file->refused);
    add_sentences(&report->skipped, &file->skipped);
    add_sentences(&report->warned, &file->warned);
    report->files += file->bytes > 0;
    report->bytes += file->bytes;
}

static int by_op_and_device(const void *one, const void *other)
{
    const struct rt_import_row *a = one, *b = other;
    int op = strcmp(a->op, b->op);
    return op != 0 ? op : strcmp(a->device, b->device);
}

static int by_kind(const void *one, const void *other)
{
    return strcmp(((const struct rt_import_other *)one)->kind, ((const struct rt_import_other *)other)->kind);
}

void rt_import_report_finish(struct rt_import_report *report)
{
    if (report->row_count > 0)
        qsort(report->rows, report->row_count, sizeof *report->rows, by_op_and_device);
    if (report->other_count > 0)
        qsort(report->others, report->other_count, sizeof *report->others, by_kind);
    for (size_t i = 0; i < report->row_count; i++)
        rt_import_count_add(&report->total, &report->rows[i].count);
}
