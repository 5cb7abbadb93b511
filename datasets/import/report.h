/*
 * What an import read, kept and refused. A row that cannot be right is refused, counted and reported with
 * file, line and reason; the rest of the file is read on. So read = kept + duplicates + refused, always. A
 * file without measurements is counted under what it is.
 */
#ifndef ROOFTILE_DATASETS_IMPORT_REPORT_H
#define ROOFTILE_DATASETS_IMPORT_REPORT_H

#include <stddef.h>

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
    size_t row_count;
    struct rt_import_count total;
    struct rt_import_sentences refused; /* rows: "file:line: why" */
    struct rt_import_sentences skipped; /* files that could hold measurements but are not understood */
    struct rt_import_sentences warned;  /* device descriptions that contradict an earlier one */
    struct rt_import_other *others;     /* by kind */
    size_t other_count;
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

#endif
