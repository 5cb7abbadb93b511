/*
 * Importers: the measurements of others become datasets. A new source is one file and a row in import.c.
 *
 * Files in reading order:
 *   import        the table of sources and the one function that runs them
 *   importer.h    what a source is
 *   report        what was read, kept, refused
 *   tree          a folder of files read side by side; devices, kernels and attributes of a file's rows
 *   merge         the files' samples become one dataset, without duplicates
 *   sample_table  rows of a CSV file -> samples of ops, by a table of columns
 *   neusight, neusight_models, aiconfigurator, workloads, exported_csv    the sources
 */
#ifndef ROOFTILE_DATASETS_IMPORT_IMPORT_H
#define ROOFTILE_DATASETS_IMPORT_IMPORT_H

#include "datasets/import/importer.h"

struct rt_text;
void rt_import_suggest(struct rt_text *list); /* .suggests of rows (base/options.h): the importers */

/* Imports `path` with the importer of that name. *report is filled even where nothing was kept (RT_EFORMAT).
 * RT_EUSAGE where none has the name. *out is stamped. */
int rt_import(const char *format, const char *path, const struct rt_import_options *options,
              struct rt_dataset *out, struct rt_import_report *report);

#endif
