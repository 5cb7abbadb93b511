/*
 * Importers: measurements of others become datasets. One row of rt_importers per format; import_X.c each.
 *
 * A row of a source that cannot be right is refused, counted and told with file and line; the rest goes on.
 * A file that holds no samples is counted by what it is. So read = kept + duplicates + refused, always.
 */
#ifndef ROOFTILE_DATASETS_IMPORT_IMPORT_H
#define ROOFTILE_DATASETS_IMPORT_IMPORT_H

#include "datasets/dataset.h"

#include <stdbool.h>

struct rt_import_options {
    int threads; /* files are read side by side on so many; 0: all cores. The result does not depend on it */
    bool quiet;
    bool strict; /* anything refused or skipped ends the import */
};

struct rt_import_count {
    size_t read, kept, duplicates, refused, unknown_tiles;
};

/* Rows of one op on one device; "?" where a refused row does not say, op "workload" for whole models. */
struct rt_import_row {
    char op[32], device[96];
    struct rt_import_count count;
};

/* Files that hold no samples, by what they are: "operator graph". */
struct rt_import_other {
    char *kind;
    size_t files;
};

#define RT_IMPORT_SENTENCES 20 /* kept of each kind; the counts go on */
struct rt_import_sentences {
    char *text[RT_IMPORT_SENTENCES];
    size_t count; /* of all, kept or not */
};

struct rt_import_report {
    struct rt_import_row *rows; /* by op, then device */
    size_t row_count;
    struct rt_import_count total;
    struct rt_import_sentences refused; /* rows: "file:line: why" */
    struct rt_import_sentences skipped; /* files that should or could hold samples but were not understood */
    struct rt_import_sentences warned;  /* device descriptions that clash with an earlier one */
    struct rt_import_other *others;     /* by name */
    size_t other_count;
    size_t files; /* that samples came from */
    double bytes; /* of those files */
};
void rt_import_report_release(struct rt_import_report *report); /* an empty report is {0} */
void rt_import_note(struct rt_import_sentences *sentences, const char *text);
void rt_import_other(struct rt_import_report *report, const char *kind, size_t files);
/* The counter of an op and device, added where it is new. */
struct rt_import_count *rt_import_counter(struct rt_import_report *report, const char *op,
                                          const char *device);

struct rt_importer {
    const char *name, *reads; /* "neusight", what it reads in a few words */
    int (*run)(const char *path, const struct rt_import_options *options, struct rt_dataset *out,
               struct rt_import_report *report);
};
extern const struct rt_importer rt_importers[];
extern const size_t rt_importer_count;

/* Imports `path` with the importer of that name. *report is filled even where nothing was kept (RT_EFORMAT).
 * RT_EUSAGE where no importer has the name. *out is stamped; a source that carries creator and date of the
 * same content keeps them. */
int rt_import(const char *format, const char *path, const struct rt_import_options *options,
              struct rt_dataset *out, struct rt_import_report *report);

/* The importers. */
int rt_import_neusight(const char *path, const struct rt_import_options *options, struct rt_dataset *out,
                       struct rt_import_report *report);
int rt_import_aiconfigurator(const char *path, const struct rt_import_options *options,
                             struct rt_dataset *out, struct rt_import_report *report);
int rt_import_csv(const char *path, const struct rt_import_options *options, struct rt_dataset *out,
                  struct rt_import_report *report);
int rt_import_workloads(const char *path, const struct rt_import_options *options, struct rt_dataset *out,
                        struct rt_import_report *report);

#endif
