/*
 * Importers: the measurements of others become datasets. A new source is one file and a row in import.c.
 *
 * Files in reading order:
 *   import        the table of sources and the one function that runs them
 *   report        what was read, kept, refused
 *   tree          a folder of files read side by side, whose samples become one dataset, without duplicates
 *   tree_file     devices, kernels and attributes of a file's rows
 *   sample_table  rows of a CSV file -> samples of ops, by a table of columns
 *   neusight, neusight_models, aiconfigurator, workloads, exported_csv    the sources
 */
#ifndef ROOFTILE_DATASETS_IMPORT_IMPORT_H
#define ROOFTILE_DATASETS_IMPORT_IMPORT_H

#include "datasets/dataset.h"
#include "datasets/import/report.h"

struct rt_import_options {
    int threads; /* files are read side by side on so many; 0: all cores. The result does not depend on it */
    bool quiet;
    bool strict; /* anything refused or skipped ends the import */
};

/* A source of measurements: a file of this folder defines it, and import.c lists it. */
struct rt_importer {
    const char *name; /* --format */
    int (*run)(const char *path, const struct rt_import_options *options, struct rt_dataset *out,
               struct rt_import_report *report);
};

extern const struct rt_importer rt_importer_neusight, rt_importer_aiconfigurator, rt_importer_csv,
    rt_importer_workloads;

struct rt_text;
void rt_import_suggest(struct rt_text *list); /* .suggests of rows (base/options.h): the importers */

/* Imports `path` with the importer of that name. *report is filled even where nothing was kept (RT_EFORMAT).
 * RT_EUSAGE where none has the name. *out is stamped. */
int rt_import(const char *format, const char *path, const struct rt_import_options *options,
              struct rt_dataset *out, struct rt_import_report *report);

#endif
