/* A source of measurements is a row: a file of this folder defines it, and import.c lists it. */
#ifndef ROOFTILE_DATASETS_IMPORT_IMPORTER_H
#define ROOFTILE_DATASETS_IMPORT_IMPORTER_H

#include "datasets/dataset.h"
#include "datasets/import/report.h"

struct rt_import_options {
    int threads; /* files are read side by side on so many; 0: all cores. The result does not depend on it */
    bool quiet;
    bool strict; /* anything refused or skipped ends the import */
};

struct rt_importer {
    const char *name; /* --format */
    int (*run)(const char *path, const struct rt_import_options *options, struct rt_dataset *out,
               struct rt_import_report *report);
};

extern const struct rt_importer rt_importer_neusight, rt_importer_aiconfigurator, rt_importer_csv,
    rt_importer_workloads;

#endif
