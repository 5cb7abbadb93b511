/*
 * Training: a predictor of some kind is fitted to a dataset, one net for each recipe of the kind. Same data,
 * options, seed and number of threads give the same bytes.
 *
 * The files of this folder, in reading order:
 *   train               this: one recipe after the other, by options
 *   training            a run: what is held out, checkpoint, result and its table
 *   fit_recipe          from a recipe to a fitted net, by forecaster
 *   training_rows       samples as rows of features, bounds and measured targets
 *   throttled_sessions  sessions that are left out
 *   fit_network         a network's fit; fit_epochs is its loop: minibatches of AdamW, early stopping
 *   fit_effects         device effects, fitted in the same steps
 *   robust              a robust fit of some parameters, of calibrations too
 *   fit_intervals       conformal intervals, by fits that leave a device out
 *   fit_energy          the energy model, which `rooftile calibrate` fits; judge_energy leaves GPUs out
 *   fit_baseline        the linear baseline and wave scaling
 *   checkpoint          the state between two epochs as a file
 *   cmd_train           the command
 */
#ifndef ROOFTILE_TRAIN_TRAIN_H
#define ROOFTILE_TRAIN_TRAIN_H

#include "base/table.h"
#include "train/options.h"

extern const struct rt_train_options rt_train_defaults;

/* Fits and saves to options->out. `summary` (may be NULL) gets a row for each net, see rt_train_columns.
 * RT_EINTERRUPTED after Ctrl-C: the output holds the best so far where at least one epoch ended. */
int rt_train(const struct rt_dataset *dataset, const struct rt_train_options *options,
             struct rt_table *summary);

/* Options as words behind `rooftile train` give them, such as "--patience=3". Lists (families, what is held
 * out) may not be among them. RT_EUSAGE where one is wrong. In cmd_train.c. */
int rt_train_options_read(const struct rt_names *words, struct rt_train_options *out);

#endif
