/*
 * Calibration of energy: what a predictor's energy model (models/predictors/predictor/energy_model.h) knows
 * of one GPU, by the measured power of runs, kernels or both; or the population with all GPUs of the data,
 * and its intervals by leaving each out. Times stay as they are.
 */
#pragma once

#include "base/report.h"
#include "train/calibrate/calibrate.h"
#include "train/calibrate/energy_observations.h"

/* Borrows the dataset. */
struct rt_energy_calibration {
    int32_t device;                             /* of the dataset; -1: the population */
    struct rt_energy_model before;              /* owned */
    struct rt_energy_measurements measurements; /* of the device, or of all */
    bool *used;                                 /* (measurements.count); others are a check */
};

/* Fits predictor->energy. `device`: index in the dataset, -1 for the population. RT_EFORMAT where the data
 * has no power that can be fitted to, RT_ENOTFOUND where no run is of a model that
 * options->without names. On failure the predictor is as it was.
 */
int rt_calibrate_energy(struct rt_predictor *predictor, const struct rt_dataset *dataset, int32_t device,
                        const struct rt_calibrate_options *options, struct rt_energy_calibration *out);
void rt_energy_calibration_release(struct rt_energy_calibration *calibration);

/* energy_report.c: what changed. */
void rt_energy_calibration_report(const struct rt_energy_calibration *calibration,
                                  const struct rt_predictor *predictor, const struct rt_dataset *dataset,
                                  const char *data, struct rt_report *report);
