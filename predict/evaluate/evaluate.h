/*
 * Evaluation: what was measured beside what was forecast. Every measured kernel (or run of a whole model) of
 * a dataset becomes a row with its measured time and one forecast per candidate; rows are gathered into
 * groups and pooled, and errors are computed of each pool.
 *
 * All candidates are judged on the same rows. What one of them cannot forecast is left out for all, and so is
 * what a candidate was calibrated to. Nothing is left out silently:
 * rows + left out (over all reasons) = what the dataset holds.
 *
 * "Held out" is what a candidate was not fitted to: the device or the op is on its held-out list, or its
 * network for the op and dtype was not fitted to the device. Candidates that are fitted to nothing (roofline)
 * follow the reference, the first candidate that is.
 */
#pragma once

#include "predict/evaluate/evaluation.h"
#include "predict/evaluate/run_steps.h"

/* Judges the kernels of the dataset. RT_EUSAGE where the candidates forecast different targets (one of time
 * forecasts energy, too); RT_EFORMAT where none can be judged; the sentence says why most were left out. */
int rt_evaluate_kernels(const struct rt_dataset *dataset, const struct rt_candidate *candidates, size_t count,
                        const struct rt_evaluate_options *options, struct rt_evaluation *out);

/* Judges the runs of whole models, by their time. RT_EUSAGE where a candidate forecasts another target;
 * RT_EFORMAT where there is none or none can be forecast, or the published forecasts cannot be read;
 * RT_ENOTFOUND where a candidate lacks a family and no fallback was allowed. */
int rt_evaluate_workloads(const struct rt_dataset *dataset, const struct rt_candidate *candidates,
                          size_t count, const struct rt_evaluate_options *options, struct rt_evaluation *out);

/* What a kernel takes of energy, from its time and its work by the predictor's energy model. */

/* mJ of a run of `time_us`, one after the other so that the device never rests between them: joules of its
 * parts (models/predictors/roofline/energy.h) with the device's scales, its power within the board's, never
 * below the target's bound. NaN where the device's power is unknown. */
double rt_kernel_energy_mj(const struct rt_predictor *predictor, const struct rt_device *device,
                           const struct rt_query *query, double time_us);

/* ---- scores.c ----
 *
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
 * are of: no graph and no network is asked. */

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
