/* An evaluation as a report: text, JSON, CSV or Markdown (base/report.h). docs/guide/evaluate.md names the
 * keys. */
#ifndef ROOFTILE_PREDICT_EVALUATE_REPORT_H
#define ROOFTILE_PREDICT_EVALUATE_REPORT_H

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

#endif
