/* An evaluation as a report: text, JSON, CSV or Markdown (base/report.h). docs/guide/evaluate.md names the
 * keys. */
#pragma once

#include "base/report.h"
#include "datasets/dataset_input.h"
#include "predict/evaluate/evaluate.h"

/* Who is judged on what, errors per device and op or model, pooled errors, the worst rows, what was left out.
 * Free with rt_report_free. */
struct rt_report *rt_evaluation_report(const struct rt_evaluation *evaluation,
                                       const struct rt_dataset_input *input);

/* The tables of errors alone, to be a part of another report: per device and op or mode, and pooled. The keys
 * of its tables begin with `key`. */
void rt_evaluation_add_errors(struct rt_report *report, const struct rt_evaluation *evaluation,
                              const char *key);

/* ---- its parts, in their order ---- */

/* The candidates: "predictor" and "beside". */
void rt_evaluation_add_candidates(struct rt_report *report, const struct rt_evaluation *evaluation);

/* The files and how many of their rows are judged: "data". */
void rt_evaluation_add_input(struct rt_report *report, const struct rt_evaluation *evaluation,
                             const struct rt_dataset_input *input);

/* Of kernels: samples, a table per op and device, pools, the worst kernels. */
void rt_evaluation_add_kernels(struct rt_report *report, const struct rt_evaluation *evaluation);

/* Of whole models: graphs and published forecasts, a line per run, passes of training, pools. */
void rt_evaluation_add_workloads(struct rt_report *report, const struct rt_evaluation *evaluation,
                                 const struct rt_dataset *dataset);

/* A row for each kernel, for programs: "each". */
void rt_evaluation_add_each(struct rt_report *report, const struct rt_evaluation *evaluation,
                            const struct rt_dataset *dataset);

/* Memory of runs: pools by mode and property, what fits; null where nothing was measured. */
void rt_evaluation_add_memory(struct rt_report *report, const struct rt_evaluation *evaluation,
                              const struct rt_dataset *dataset);

/* Power and energy of runs, and runs under several power limits: pools by mode and property; null where
 * nothing was measured. */
void rt_evaluation_add_energy(struct rt_report *report, const struct rt_evaluation *evaluation,
                              const struct rt_dataset *dataset);
void rt_evaluation_add_curves(struct rt_report *report, const struct rt_evaluation *evaluation,
                              const struct rt_dataset *dataset);
extern const struct rt_pool_table rt_memory_pools, rt_energy_pools, rt_curve_pools;

/* Pictures: forecast against measured, errors by size, GPU, family and model, coverage of the intervals. */
void rt_evaluation_add_plots(struct rt_report *report, const struct rt_evaluation *evaluation);

/* What a run is, as members of an object. */
json_t *rt_evaluation_run_json(const struct rt_dataset *dataset, const struct rt_workload *workload);

/* A line per pool: scope and what (kernels: what, then scope) under these names, the first column in full,
 * the others by their MAPE. `key` may be NULL. Where `once`, a pool of the same rows as one before is not
 * repeated. */
void rt_evaluation_add_pools(struct rt_report *report, const struct rt_evaluation *evaluation,
                             const struct rt_scored_pools *pools, const char *key, const char *title,
                             const char *scope, const char *what, bool once);

/* The pools of every --by: by.NAME, a line per value and `what` (mode, op). */
void rt_evaluation_add_by(struct rt_report *report, const struct rt_evaluation *evaluation, const char *what);

/* A line for people per reason: how many were left out. */
void rt_evaluation_add_left_out(struct rt_report *report, const struct rt_evaluation *evaluation);

/* The columns of one kind, but for the first, as an object: key -> value(of, column). */
json_t *rt_evaluation_columns_json(const struct rt_evaluation *evaluation, enum rt_scored_kind kind,
                                   json_t *(*value)(const void *of, size_t column), const void *of);
