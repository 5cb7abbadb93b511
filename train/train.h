/*
 * Training: a predictor of some kind is fitted to a dataset, one net for each recipe of the kind. Same data,
 * options, seed and number of threads give the same bytes.
 */
#pragma once

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
