/* The importer table and the report of an import. See import.h. */
#include "datasets/import/import.h"
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct rt_importer rt_importers[] = {
    {"neusight", "a tree of NeuSight's CSV and JSON files (ASPLOS 2025)", rt_import_neusight},
    {"aiconfigurator", "a tree of AIConfigurator's tables as CSV", rt_import_aiconfigurator},
    {"csv", "a folder that `rooftile dataset export --format csv` wrote", rt_import_csv},
    {"workloads", "measured models, a row each, as CSV", rt_import_workloads},
};
const size_t rt_importer_count = RT_COUNT(rt_importers);

static const struct rt_importer *find_importer(const char *name)
{
    for (size_t i = 0; i < rt_importer_count; i++)
        if (strcmp(rt_importers[i].name, name) == 0)
            return &rt_importers[i];
    return NULL;
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

static void finish_report(struct rt_import_report *report)
{
    if (report->row_count > 0)
        qsort(report->rows, report->row_count, sizeof *report->rows, by_op_and_device);
    if (report->other_count > 0)
        qsort(report->others, report->other_count, sizeof *report->others, by_kind);
    for (size_t i = 0; i < report->row_count; i++) {
        const struct rt_import_count *count = &report->rows[i].count;
        report->total.read += count->read;
        report->total.kept += count->kept;
        report->total.duplicates += count->duplicates;
        report->total.refused += count->refused;
        report->total.unknown_tiles += count->unknown_tiles;
    }
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
        status = rt_fail(RT_EFORMAT, "%s; with --strict nothing may be refused, %zu rows and %zu files were",
                         why, report->total.refused, report->skipped.count);
    free(why);
    return status;
}

/* A source that carries provenance keeps it where the content is still what it was. */
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
        return rt_fail(RT_EUSAGE, "no importer is called \"%s\"; `rooftile dataset import --help` lists them",
                       format);
    struct rt_dataset dataset;
    rt_dataset_init(&dataset);
    int status = importer->run(path, options, &dataset, report);
    finish_report(report);
    if (status == RT_OK)
        status = check_report(report, format, path, options->strict,
                              dataset.sample_count + dataset.workload_count);
    if (status == RT_OK) {
        stamp(&dataset, path);
        *out = dataset;
    } else {
        rt_dataset_release(&dataset);
    }
    return status;
}

static void release_sentences(struct rt_import_sentences *sentences)
{
    for (size_t i = 0; i < sentences->count && i < RT_IMPORT_SENTENCES; i++)
        free(sentences->text[i]);
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

void rt_import_note(struct rt_import_sentences *sentences, const char *text)
{
    if (sentences->count < RT_IMPORT_SENTENCES)
        sentences->text[sentences->count] = rt_strdup(text);
    sentences->count++;
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
