/*
 * What crossval_{plan,steps,models}.c share: the commands that the units of cross-validation are made of. See
 * crossval.h.
 */
#ifndef ROOFTILE_PREDICT_CROSSVAL_CROSSVAL_STEPS_H
#define ROOFTILE_PREDICT_CROSSVAL_CROSSVAL_STEPS_H

#include "predict/crossval/crossval.h"

/* --- of the data: crossval_plan.c --- */

enum rt_part rt_crossval_part_of(const struct rt_crossval *crossval, const struct rt_sample *sample);
bool rt_crossval_is_measured(const struct rt_sample *sample);
size_t rt_crossval_count_workloads(const struct rt_crossval *crossval, size_t device);

/* --- a step: crossval_steps.c --- */

/* One argument more, as printf makes it. */
void rt_fold_step_argument(struct rt_fold_step *step, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

/* "--option=PATH" of what the step writes. */
void rt_fold_step_output(const struct rt_unit *unit, struct rt_fold_step *step, const char *option);

/* What every step ends with: the data. */
void rt_fold_step_end(const struct rt_crossval *crossval, struct rt_fold_step *step);

/* Steps of a unit that want more arguments and rt_fold_step_end: an evaluation of the step `predictor` by the
 * marked devices, whose name is `prefix` and `what`; a calibration for a device, on top of what the step
 * `from` made. */
struct rt_fold_step *rt_fold_step_evaluate(const struct rt_crossval *crossval, struct rt_unit *unit,
                                           const char *prefix, const char *what, const char *predictor,
                                           const bool *devices);
struct rt_fold_step *rt_fold_step_calibrate(const struct rt_crossval *crossval, struct rt_unit *unit,
                                            const char *name, const struct rt_fold_step *from, size_t device);

/* --- the steps of a unit --- */

bool rt_unit_is_roofline(const struct rt_unit *unit);
bool rt_kind_has_effects(const char *kind);
/* Has the device enough kernels in that part for a family of the kind that draws from it? */
bool rt_unit_draws_from(const struct rt_crossval *crossval, const struct rt_unit *unit, size_t device,
                        enum rt_protocol protocol, enum rt_part part);

/* Complete steps: training; evaluations of kernels, of families that have some by part, and of whole models,
 * of what the step `predictor` made; calibration with kernels and both evaluations of that. */
void rt_unit_add_train(const struct rt_crossval *crossval, struct rt_unit *unit);
void rt_unit_add_kernels(const struct rt_crossval *crossval, struct rt_unit *unit, const char *prefix,
                         const char *predictor, const bool *devices, const rt_part_counts counts);
void rt_unit_add_workloads(const struct rt_crossval *crossval, struct rt_unit *unit, const char *prefix,
                           const char *predictor, const bool *devices);
void rt_unit_add_calibrated(const struct rt_crossval *crossval, struct rt_unit *unit,
                            enum rt_protocol protocol);

/* Runs of other models: crossval_models.c. Which runs of the data calibration and judgement by models take.
 */
void rt_crossval_find_runs(struct rt_crossval *crossval);
void rt_unit_add_runs(const struct rt_crossval *crossval, struct rt_unit *unit);

#endif
