/* The table of sources, and what an import does around them. See import.h. */
#include "datasets/import/import.h"
#include "base/status.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

static const struct rt_importer *const importers[] = {&rt_importer_neusight, &rt_importer_aiconfigurator,
                                                      &rt_importer_csv, &rt_importer_workloads};

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
        status = rt_fail(RT_EFORMAT, "%s; with --strict nothing may be refused, %zu rows and %zu files were",
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
                              dataset.sample_count + dataset.workload_count);
    if (status == RT_OK) {
        stamp(&dataset, path);
        *out = dataset;
    } else {
        rt_dataset_release(&dataset);
    }
    return status;
}
