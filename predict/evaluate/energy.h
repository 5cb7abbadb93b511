/*
 * Energy of runs: the mean power of a GPU and the joules of all of them, as measured and as forecast by the
 * first candidate. Three columns: with the predictor's scales; by the priors of models/predictors/roofline/energy.h
 * alone (one set of coefficients, nothing fitted, no device effects); as if each GPU drew all that its board
 * (or the run's limit) allows.
 *
 * Each is judged twice: from end to end, at the forecast time, and at the measured time, which asks for the
 * power alone.
 */
#ifndef ROOFTILE_PREDICT_EVALUATE_ENERGY_H
#define ROOFTILE_PREDICT_EVALUATE_ENERGY_H

#include "predict/evaluate/evaluate.h"
#include "predict/evaluate/run_steps.h"

struct rt_energy_column_row {
    const char *key, *title; /* in JSON; NULL: the candidate's name */
};
extern const struct rt_energy_column_row rt_energy_columns[RT_ENERGY_COLUMNS];

/* Appends a run whose power or energy was measured; others are passed over, and so are runs on boards whose
 * power is unknown; those that the first candidate's energy was calibrated to are counted. Errors are those
 * of forecasts and of malformed attributes. */
int rt_scored_energy_add(struct rt_evaluation *evaluation, const struct rt_dataset *dataset,
                         const struct rt_scored_run *run, const struct rt_run_steps *steps,
                         const struct rt_device *device);

/* Pools the runs: rt_run_pools. */
void rt_scored_energy_pool(struct rt_evaluation *evaluation, const struct rt_dataset *dataset);

void rt_scored_energy_release(struct rt_evaluation *evaluation);

#endif
