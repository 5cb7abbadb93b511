/*
 * Fitting what has no network: the kinds "linear" (models/baselines/linear.h) and "wave-scaling"
 * (models/baselines/wave_scaling.h). Which samples they are given:
 *
 *   linear        those of the training part, as every network
 *   wave-scaling  all that were measured on devices not held out, test rows too: a device is forecast from
 * the other devices' measurements of the same kernel, and never looks at its own
 */
#ifndef ROOFTILE_TRAIN_FIT_BASELINE_H
#define ROOFTILE_TRAIN_FIT_BASELINE_H

#include "train/training_rows.h"

/* Fills net->lines or net->origins as its head asks, rows_train, rows_validation and validation_mape (of the
 * validation part; NaN where there is none). Held-out devices are marked by device index, ops by rt_op_id. */
void rt_baseline_fit(const struct rt_dataset *dataset, const struct rt_split_rule *rule,
                     const bool *held_out_device, const bool *held_out_op, struct rt_family_net *net,
                     struct rt_training_rows_left_out *left_out);

#endif
