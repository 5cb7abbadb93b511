/*
 * Reports of an evaluation: a table of writers, chosen by the ending of the file's name. A new format is a
 * report_x.c and a row in report.c.
 */
#ifndef ROOFTILE_PREDICT_EVALUATE_REPORT_H
#define ROOFTILE_PREDICT_EVALUATE_REPORT_H

#include "predict/evaluate/evaluate.h"
#include "predict/evaluate/workloads.h"

#include <jansson.h>
#include <stdio.h>

struct rt_report_writer {
    const char *ending; /* ".json" */
    const char *what;
    int (*write)(const struct rt_evaluation *evaluation, FILE *file);
    int (*write_workloads)(const struct rt_workload_evaluation *evaluation, FILE *file);
};

extern const struct rt_report_writer rt_report_writers[];
extern const size_t rt_report_writer_count;

/* RT_EUSAGE naming the known endings where no writer has that of `path`: ask before the work. */
int rt_report_check(const char *path);

/* Writes the report that the ending asks for; atomic. */
int rt_report_write(const struct rt_evaluation *evaluation, const char *path);
int rt_report_write_workloads(const struct rt_workload_evaluation *evaluation, const char *path);

/* For people: who is judged on what, errors per op and device, pooled, worst kernels, what was left out. */
int rt_report_text(const struct rt_evaluation *evaluation, FILE *file);

/* For spreadsheets: one line per op, device and predictor; pooled ones have device "all" or "held out". */
int rt_report_csv(const struct rt_evaluation *evaluation, FILE *file);

/* For programs: {"rows", "pooled", "worst", "skipped", "skipped_ops", "predictor", "beside", "data"}. */
int rt_report_json(const struct rt_evaluation *evaluation, FILE *file);

/* One row per op, device and predictor, for CSV and JSON alike. Free with rt_table_free. */
struct rt_table *rt_report_table(const struct rt_evaluation *evaluation, const struct rt_evaluation_row *rows,
                                 size_t count);
void rt_report_table_add(struct rt_table *table, const struct rt_evaluation *evaluation,
                         const struct rt_evaluation_row *rows, size_t count);

/* The same for whole models: a line per workload, means per device, kind and model, what was left out. CSV
 * has the lines per workload only. */
int rt_workloads_text(const struct rt_workload_evaluation *evaluation, FILE *file);
int rt_workloads_csv(const struct rt_workload_evaluation *evaluation, FILE *file);
int rt_workloads_json(const struct rt_workload_evaluation *evaluation, FILE *file);

/* --- what reports for people share --- */

/* "label      words ...", broken between words and continued under the first one. _formatted frees the text.
 */
void rt_report_labelled(FILE *file, const char *label, const char *text);
void rt_report_formatted(FILE *file, const char *label, char *text);
void rt_report_candidate(FILE *file, const char *label, const struct rt_candidate *candidate);
/* "a\nb" as "a, b"; "none" where there is nothing. Free with free(). */
char *rt_report_commas(const char *list);

/* --- what reports for programs share: new references --- */

json_t *rt_report_text_json(const char *text); /* null where it is not UTF-8 */
json_t *rt_report_candidate_json(const struct rt_candidate *candidate);

#endif
