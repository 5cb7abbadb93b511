/* The table of sources, and what an import does around them. See import.h. */
#include "datasets/import/import.h"
#include "base/array.h"
#include "base/status.h"
#include "base/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct rt_importer *const importers[] = {&rt_importer_neusight, &rt_importer_aiconfigurator,
                                                      &rt_importer_csv, &rt_importer_workloads,
                                                      &rt_importer_table};

void rt_import_suggest(struct rt_text *list)
{
    for (size_t i = 0; i < RT_COUNT(importers); i++)
        rt_text_add(list, "%s\n", importers[i]->name);
}

/* NULL, with a sentence, where none has the name. */
static const struct rt_importer *find_importer(const char *name)
{
    char names[256] = "";
    for (size_t i = 0; i < RT_COUNT(importers); i++) {
        if (strcmp(importers[i]->name, name) == 0)
            return importers[i];
        strcat(strcat(names, i > 0 ? ", " : ""), importers[i]->name);
    }
    rt_fail(RT_EUSAGE, "no importer is called \"%.40s\"; there are %s", name, names);
    return NULL;
}

/* Why nothing, or not everything, was imported: the first row that was refused, and the first file that was
 * skipped, which may be its cause. */
static char *reasons(const struct rt_import_report *report)
{
    const char *row = report->refused.count > 0 ? report->refused.text[0] : NULL;
    const char *file = report->skipped.count > 0 ? report->skipped.text[0] : NULL;
    if (row != NULL && file != NULL)
        return rt_format("%s (and a file was skipped: %s)", row, file);
    return rt_strdup(row != NULL    ? row
                     : file != NULL ? file
                                    : "no file in it has the columns of a measurement");
}

static int check_report(const struct rt_import_report *report, const char *format, const char *path,
                        bool strict, size_t kept)
{
    int status = RT_OK;
    char *why = reasons(report);
    if (kept == 0)
        status = rt_fail(RT_EFORMAT, "%s: nothing to import as %s: %s", path, format, why);
    else if (strict && report->refused.count + report->skipped.count > 0)
        status = rt_fail(RT_EFORMAT, "%s; with {strict} nothing may be refused, %zu rows and %zu files were",
                         why, report->total.refused, report->skipped.count);
    free(why);
    return status;
}

/* A source that carries creator and date keeps them where its content still has its uuid. */
static void stamp(struct rt_dataset *dataset, const char *path)
{
    char *uuid = rt_strdup(dataset->uuid), *creator = rt_strdup(dataset->creator),
         *created = rt_strdup(dataset->created);
    rt_dataset_stamp(dataset);
    if (uuid[0] != '\0' && strcmp(uuid, dataset->uuid) == 0) {
        free(dataset->creator);
        free(dataset->created);
        dataset->creator = creator;
        dataset->created = created;
    } else {
        if (uuid[0] != '\0')
            rt_warn("%s: its content is no longer what was exported (uuid %.40s); it is imported as a new "
                    "dataset",
                    path, uuid);
        free(creator);
        free(created);
    }
    free(uuid);
}

int rt_import(const char *format, const char *path, const struct rt_import_options *options,
              struct rt_dataset *out, struct rt_import_report *report)
{
    const struct rt_importer *importer = find_importer(format);
    if (importer == NULL)
        return RT_EUSAGE;
    struct rt_dataset dataset;
    rt_dataset_init(&dataset);
    int status = importer->run(path, options, &dataset, report);
    rt_import_report_finish(report);
    if (status == RT_OK)
        status = check_report(report, format, path, options->strict,
                              dataset.samples.count + dataset.workload_count);
    if (status == RT_OK) {
        stamp(&dataset, path);
        *out = dataset;
    } else {
        rt_dataset_release(&dataset);
    }
    return status;
}

/* ---- the report ---- */

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
    RT_GROW(report->others, report->other_count, 1, report->other_capacity);
    report->others[report->other_count++] = (struct rt_import_other){rt_strdup(kind), files};
}

struct rt_import_count *rt_import_counter(struct rt_import_report *report, const char *op, const char *device)
{
    for (size_t i = report->row_count; i-- > 0;) /* the last added is the likeliest */
        if (strcmp(report->rows[i].op, op) == 0 && strcmp(report->rows[i].device, device) == 0)
            return &report->rows[i].count;
    RT_GROW(report->rows, report->row_count, 1, report->row_capacity);
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
