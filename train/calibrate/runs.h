/*
 * Calibration from runs of whole models: a shift of compute and one of memory, the same for every family.
 *
 * Where kernels of the device are known, by training or calibration, the shift is that of kernels in a queue:
 * forecasts of single kernels stay. Else the device effects themselves are shifted.
 */
#ifndef ROOFTILE_TRAIN_CALIBRATE_RUNS_H
#define ROOFTILE_TRAIN_CALIBRATE_RUNS_H

#include "train/calibrate/calibration.h"

/* Writes the shift into the predictor's device effects and the runs into `out`. RT_EFORMAT where the device
 * has no run to fit to; the predictor may then be changed in part. */
int rt_calibrate_runs(struct rt_predictor *predictor, const struct rt_dataset *dataset, int32_t device,
                      const struct rt_calibrate_options *options, struct rt_calibration *out);

#endif
