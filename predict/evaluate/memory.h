/*
 * The memory of runs: what was measured at its peak beside what is forecast, and whether a run was said to
 * fit. It is one forecast, whatever predicts the time. Runs that were out of memory have no time and are no
 * rows of the evaluation; they are here.
 */
#ifndef ROOFTILE_PREDICT_EVALUATE_MEMORY_H
#define ROOFTILE_PREDICT_EVALUATE_MEMORY_H

#include "predict/evaluate/evaluate.h"
#include "predict/evaluate/run_steps.h"

extern const char *const rt_memory_columns[RT_MEMORY_COLUMNS]; /* "allocated", "reserved", "used" */

/* Appends a run, of whose attributes it reads what was measured. RT_EFORMAT where they are malformed. */
int rt_scored_memory_add(struct rt_evaluation *evaluation, const struct rt_dataset *dataset,
                         const struct rt_scored_run *run, const struct rt_run_forecast *forecast);

/* Pools the runs of each mode, and of each value of the properties in options.by; none where no run has its
 * memory measured or was out of it. */
void rt_scored_memory_pool(struct rt_evaluation *evaluation, const struct rt_dataset *dataset);

void rt_scored_memory_release(struct rt_evaluation *evaluation);

#endif
