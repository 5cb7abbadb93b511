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
 *
 * The files, in reading order:
 *   metrics.h       error metrics and their formulas
 *   candidate.h     the predictors that are judged
 *   quantity.h      what is judged beside time: memory, power, energy, what users of a server wait
 *   evaluation.h    rows, columns, pools
 *   evaluate.h      the two entry points: kernels.c, workloads.c
 *   property.h      what errors are given by
 *   workload.h      a measured run of a model
 *   run_steps.h     its steps as graphs
 *   scores.h        its quantities
 *   published.c     columns of forecasts that others published
 *   serving.h       runs of servers
 *   report.h        the evaluation as text, JSON, CSV, Markdown, a page
 *   cmd_evaluate.c  the command
 */
#ifndef ROOFTILE_PREDICT_EVALUATE_EVALUATE_H
#define ROOFTILE_PREDICT_EVALUATE_EVALUATE_H

#include "predict/evaluate/evaluation.h"

/* Judges the kernels of the dataset. RT_EUSAGE where the candidates forecast different targets (one of time
 * forecasts energy, too); RT_EFORMAT
 * where none can be judged; the sentence says why most were left out. */
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

/* Half-widths (count) of the intervals of ln(measured / forecast energy) at levels (count): of the kernel's
 * time and of power. NaN where one is unknown. */
void rt_kernel_energy_intervals(const struct rt_predictor *predictor, const struct rt_device *device,
                                const struct rt_query *query, const double *level, size_t count,
                                double *ln_half_width);

#endif
