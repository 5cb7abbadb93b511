/* What a training is asked for. */
#pragma once

#include "base/options.h"
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
    bool keep_all; /* fit also to throttled sessions (models/predictors/predictor/throttling.h) and impossible
                      samples */
};
