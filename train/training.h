/* One run of `rooftile train`: its data and options, the nets that are finished, the checkpoint. */
#pragma once

#include "base/progress.h"
#include "base/table.h"
#include "base/threads.h"
#include "models/predictors/predictor/recipe.h"
#include "train/checkpoint.h"
#include "train/options.h"
#include "train/training_rows.h"

struct rt_training {
    struct rt_training_data data;
    const struct rt_train_options *options;
    struct rt_session_health health; /* of the data; empty with keep_all */
    bool *held_out_device;           /* (devices of the data) */
    bool held_out_op[RT_OP_COUNT];
    char *signature, *checkpoint;  /* what decides the result, the checkpoint's path */
    struct rt_predictor predictor; /* finished nets */
    struct rt_threads *pool;
    struct rt_progress progress;
    double done_before;       /* samples of the nets that are finished */
    const char *without;      /* the device that a fit for the intervals leaves out, NULL: none */
    double saved;             /* clock of the last checkpoint */
    struct rt_table *summary; /* may be NULL */
};

int rt_training_init(struct rt_training *training, const struct rt_dataset *dataset,
                     const struct rt_train_options *options, struct rt_table *summary);
void rt_training_release(struct rt_training *training);

/* Moves a fitted net to the predictor; *net is empty then. */
void rt_training_add_net(struct rt_training *training, struct rt_family_net *net);

/* With --resume and a checkpoint: its finished nets, and the state of the fit that was running; *found says
 * so. */
int rt_training_load_checkpoint(struct rt_training *training, struct rt_fit *fit, bool *found);
int rt_training_save_checkpoint(struct rt_training *training, const struct rt_fit *fit);

/* Writes the predictor where `status` is RT_OK or RT_EINTERRUPTED; returns what the run ends with. */
int rt_training_save(struct rt_training *training, int status);

extern const struct rt_column rt_train_columns[];
extern const size_t rt_train_column_count;
/* A row of the summary: of `train` and `validation` rows. */
void rt_training_summarise(struct rt_training *training, const struct rt_recipe *recipe,
                           const struct rt_training_rows_left_out *left_out, size_t train, size_t validation,
                           const struct rt_fit *fit, double started);
