/*
 * The quantities of a run beside its time: its memory, its power and energy, and those of runs under several
 * power limits.
 *
 * Memory is one forecast, whatever predicts the time. Runs that were out of memory have no time and are no
 * rows of the evaluation; they are scored here.
 *
 * Power is the mean of one GPU, energy the joules of all of them, by the first candidate. Each is judged
 * twice: from end to end, at the forecast time, and at the measured time, which asks for the power alone.
 *
 * A curve is runs of one kind on one GPU under several power limits. Their time and power at lower limits are
 * forecast from the measured point at the highest one (predict/step/power_curve.h), whatever model they
 * are of: no graph and no network is asked.
 */
#ifndef ROOFTILE_PREDICT_EVALUATE_SCORES_H
#define ROOFTILE_PREDICT_EVALUATE_SCORES_H

#include "predict/evaluate/evaluation.h"
#include "predict/evaluate/run_steps.h"

/* Appends the run to evaluation->memory. RT_EFORMAT where its attributes are malformed. */
int rt_score_memory(struct rt_evaluation *evaluation, const struct rt_dataset *dataset,
                    const struct rt_workload *workload, const struct rt_run_forecast *forecast);

/* Appends a run whose power or energy was measured to evaluation->energy; others are passed over, and so are
 * runs on boards whose power is unknown; those that the first candidate's energy was calibrated to are
 * counted. Errors are those of forecasts and of malformed attributes. */
int rt_score_energy(struct rt_evaluation *evaluation, const struct rt_dataset *dataset,
                    const struct rt_workload *workload, const struct rt_run_steps *steps,
                    const struct rt_device *device);

/* Finds and scores the curves among the runs that are asked for. Runs whose attributes are malformed are in
 * none. `devices`: the dataset's, completed. */
void rt_score_curves(struct rt_evaluation *evaluation, const struct rt_dataset *dataset,
                     const struct rt_device *devices);

#endif
