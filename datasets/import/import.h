/*
 * Importers: the measurements of others become datasets. A new source is one file and a row in import.c.
 *
 * Files in reading order:
 *   import        the table of sources and the one function that runs them
 *   tree          a folder of files read side by side, whose samples become one dataset, without duplicates
 *   tree_file     devices, kernels and attributes of a file's rows
 *   sample_table  rows of a CSV file -> samples of ops, by a table of columns
 *   neusight, neusight_models, aiconfigurator, workloads, exported_csv, table    the sources
 */
#pragma once

#include "datasets/dataset.h"

/* ---- the report ---- */

/*
 * What an import read, kept and refused. A row that cannot be right is refused, counted and reported with
 * file, line and reason; the rest of the file is read on. So read = kept + duplicates + refused, always. A
 * file without measurements is counted under what it is.
 */
struct rt_import_count {
    size_t read, kept, duplicates, refused, unknown_tiles;
};

/* Rows of one op on one device; "?" where a refused row does not name it, op "workload" for whole models. */
struct rt_import_row {
    char op[32], device[96];
    struct rt_import_count count;
};

/* Files without measurements, by what they are: "operator graphs". */
struct rt_import_other {
    char *kind;
    size_t files;
};

/* Sentences by reason: what follows "file:line: ", whatever its numbers. Of each reason the first is kept,
 * and how many there were. */
#define RT_IMPORT_REASONS 20 /* kept; `count` counts the others, too */
struct rt_import_sentences {
    char *text[RT_IMPORT_REASONS], *reason[RT_IMPORT_REASONS];
    size_t times[RT_IMPORT_REASONS];
    size_t reasons, count;
};

struct rt_import_report {
    struct rt_import_row *rows; /* by op, then device */
    size_t row_count, row_capacity;
    struct rt_import_count total;
    struct rt_import_sentences refused; /* rows: "file:line: why" */
    struct rt_import_sentences skipped; /* files that could hold measurements but are not understood */
    struct rt_import_sentences warned;  /* device descriptions that contradict an earlier one */
    struct rt_import_other *others;     /* by kind */
    size_t other_count, other_capacity;
    size_t files; /* with measurements */
    double bytes; /* of those files */
};
void rt_import_report_release(struct rt_import_report *report); /* an empty report is {0} */

void rt_import_note(struct rt_import_sentences *sentences, const char *text);
void rt_import_other(struct rt_import_report *report, const char *kind, size_t files);
/* The counts of an op on a device, added where they are new. */
struct rt_import_count *rt_import_counter(struct rt_import_report *report, const char *op,
                                          const char *device);
void rt_import_count_add(struct rt_import_count *to, const struct rt_import_count *from);
/* Adds what was noted and counted while a file was read. */
void rt_import_report_add(struct rt_import_report *report, const struct rt_import_report *file);
/* Sorts the rows and sums them up. */
void rt_import_report_finish(struct rt_import_report *report);

/* ---- sources ---- */

struct rt_import_options {
    int threads; /* files are read side by side on so many; 0: all cores. The result does not depend on it */
    bool quiet;
    bool strict;     /* anything refused or skipped ends the import */
    const char *gpu; /* of a table that has no column of devices; NULL: none */
};

/* A source of measurements: a file of this folder defines it, and import.c lists it. */
struct rt_importer {
    const char *name; /* --format */
    int (*run)(const char *path, const struct rt_import_options *options, struct rt_dataset *out,
               struct rt_import_report *report);
};

extern const struct rt_importer rt_importer_neusight, rt_importer_aiconfigurator, rt_importer_csv,
    rt_importer_workloads, rt_importer_table;

struct rt_text;
void rt_import_suggest(struct rt_text *list); /* .suggests of rows (base/options.h): the importers */

/* Imports `path` with the importer of that name. *report is filled even where nothing was kept (RT_EFORMAT).
 * RT_EUSAGE where none has the name. *out is stamped. */
int rt_import(const char *format, const char *path, const struct rt_import_options *options,
              struct rt_dataset *out, struct rt_import_report *report);
