/*
 * Fitting the baselines (models/predictors/baselines). The linear baseline is fitted to the training part, as networks
 * are. Wave scaling holds all samples of devices that are not held out, test samples too: a device is
 * forecast from other devices' measurements of the same kernel, never from its own.
 */
#ifndef ROOFTILE_TRAIN_FIT_BASELINE_H
#define ROOFTILE_TRAIN_FIT_BASELINE_H

#include "train/training_rows.h"

/* Fits the net by its forecaster; sets rows_train, rows_validation and validation_mape (NaN where there are
 * no validation samples). */
void rt_baseline_fit(const struct rt_training_data *data, struct rt_family_net *net,
                     struct rt_training_rows_left_out *left_out);

#endif
