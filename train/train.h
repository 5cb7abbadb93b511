/*
 * Training: a predictor of some kind is fitted to a dataset, one net for each recipe of the kind. Same data,
 * options, seed and number of threads give the same bytes.
 *
 * The files of this folder, in reading order:
 *   train               this: options; one recipe after the other
 *   training            a run: what is held out, checkpoint and result; train_summary is its table
 *   fit_recipe          from a recipe to a fitted net, by forecaster
 *   training_rows       samples as rows of features, bounds and measured targets
 *   throttled_sessions  sessions that are left out
 *   fit_network         a network's fit; fit_epochs is its loop: minibatches of AdamW, early stopping
 *   fit_effects         device effects, fitted in the same steps
 *   fit_intervals       conformal intervals, by fits that leave a device out
 *   fit_energy          the energy model, which `rooftile calibrate` fits; judge_energy leaves GPUs out
 *   fit_baseline        the linear baseline and wave scaling
 *   checkpoint          the state between two epochs as a file
 *   cmd_train           the command
 */
#ifndef ROOFTILE_TRAIN_TRAIN_H
#define ROOFTILE_TRAIN_TRAIN_H

#include "base/options.h"
#include "base/table.h"
#include "models/predictors/predictor/predictor.h"

struct rt_train_options {
    const char *kind;              /* of the recipes: "rooftile" */
    const char *out;               /* predictor file; checkpoints go to OUT.checkpoint */
    struct rt_names held_out_gpus; /* as rt_devices_choose takes them */
    struct rt_names held_out_ops;  /* op names */
    struct rt_names families;      /* none: all of the recipe */
    struct rt_split_rule split;    /* its seed is also that of weights and shuffling */
    size_t threads;
    int epochs, batch, patience; /* 0: the recipe's */
    double learning_rate;        /* 0: the recipe's */
    double checkpoint_seconds;   /* least time between checkpoints */
    bool resume, quiet;
    bool no_intervals; /* no fits that leave each device out, so forecasts carry no intervals */
    bool keep_all; /* fit also to throttled sessions (models/predictors/predictor/throttling.h) and impossible samples */
};
extern const struct rt_train_options rt_train_defaults;

/* Fits and saves to options->out. `summary` (may be NULL) gets a row for each net, see rt_train_columns.
 * RT_EINTERRUPTED after Ctrl-C: the output holds the best so far where at least one epoch ended. */
int rt_train(const struct rt_dataset *dataset, const struct rt_train_options *options,
             struct rt_table *summary);

/* Options as words behind `rooftile train` give them, such as "--patience=3". Lists (families, what is held
 * out) may not be among them. RT_EUSAGE where one is wrong. In cmd_train.c. */
int rt_train_options_read(const struct rt_names *words, struct rt_train_options *out);

extern const struct rt_column rt_train_columns[];
extern const size_t rt_train_column_count;

#endif
