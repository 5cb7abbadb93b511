/*
 * Fitting a predictor: one network per family of a recipe, minibatches of AdamW, early stopping on validation
 * MAPE, checkpoints. Same data, options, seed and threads give the same bytes.
 */
#ifndef ROOFTILE_TRAIN_TRAIN_H
#define ROOFTILE_TRAIN_TRAIN_H

#include "base/options.h"
#include "base/table.h"
#include "models/predictor/predictor.h"

struct rt_train_options {
    const char *kind;              /* of the recipes: "neusight" */
    const char *out;               /* predictor file; checkpoints go to OUT.checkpoint */
    struct rt_names held_out_gpus; /* every device whose name contains one of these */
    struct rt_names held_out_ops;  /* op names */
    struct rt_names families;      /* none: all of the recipe */
    struct rt_split_rule split;    /* its seed also starts the weights and the shuffling */
    size_t threads;
    int epochs, batch, patience; /* 0: the recipe's */
    double learning_rate;        /* 0: the recipe's */
    double checkpoint_seconds;   /* least time between checkpoints */
    bool resume, quiet;
    bool no_intervals; /* saves the fits that leave each device out: models/predictor/conformal_interval.h */
    bool keep_all;     /* fit also to sessions that look throttled: hygiene.h */
};
extern const struct rt_train_options rt_train_defaults;

/* Fits and saves to options->out. `summary` (may be NULL) gets one row per family, see rt_train_columns.
 * RT_EINTERRUPTED after Ctrl-C: OUT holds the best so far where at least one epoch ended. */
int rt_train(const struct rt_dataset *dataset, const struct rt_train_options *options,
             struct rt_table *summary);

extern const struct rt_column rt_train_columns[];
extern const size_t rt_train_column_count;

#endif
