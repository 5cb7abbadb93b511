/*
 * Calibration: a predictor fitted to a GPU of which a few kernels, runs of whole models or both were
 * measured.
 *
 * Networks stay as they are. What is fitted is what the predictor knows of one device, its entry in the
 * device effects of each network (models/predictors/predictor/device_effects.h):
 *
 *   kernels  device effects and dispatch overhead by a robust fit, shrunk to the prior; a residual correction
 *            (Gaussian process) of what they leave; conformal intervals
 *   runs     one shift of compute and one of memory for all families
 *
 * The entry keeps keys of what it was fitted to: `evaluate` does not judge by those.
 *
 *   calibration.h         options and result
 *   calibrate.c           works on a copy of the device effects and swaps them in on success
 *   kernels.c, runs.c     from kernels; from runs of whole models
 *   selection.c           which kernels
 *   calibration_kernel.c  what device effects make of one kernel
 *   effects.c, residuals.c, intervals.c    the three fits
 *   robust.c              least squares that outliers do not move
 *   unused.c              why a measurement was not used
 *   energy.c              the energy model from measured power (energy_observations.c); energy_report.c
 *   calibrate_report.c    what changed, as tables and notes
 *   cmd_calibrate.c       `rooftile calibrate`
 *
 * docs/method.md has the equations.
 */
#ifndef ROOFTILE_TRAIN_CALIBRATE_CALIBRATE_H
#define ROOFTILE_TRAIN_CALIBRATE_CALIBRATE_H

#include "train/calibrate/calibration.h"

/* Calibrates `predictor` for the device with that index in the dataset. RT_EUSAGE where the predictor has no
 * device effects, RT_EFORMAT where the data has too little of the device. On failure the predictor is as it
 * was. */
int rt_calibrate(struct rt_predictor *predictor, const struct rt_dataset *dataset, int32_t device,
                 const struct rt_calibrate_options *options, struct rt_calibration *out);
void rt_calibration_release(struct rt_calibration *calibration);

#endif
