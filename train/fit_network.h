/* Fitting one network: its rows, the epochs of minibatches, early stopping. */
#ifndef ROOFTILE_TRAIN_FIT_NETWORK_H
#define ROOFTILE_TRAIN_FIT_NETWORK_H

#include "models/predictors/nn/step.h"
#include "train/fit_effects.h"
#include "train/training.h"

struct rt_network_fit {
    const struct rt_recipe *recipe;
    struct rt_family_net net;
    struct rt_training_rows train, validation;
    struct rt_training_rows_left_out left_out;
    struct rt_optimizer optimizer;
    struct rt_effect_fit effects;
    struct rt_schedule schedule;
    struct rt_train_step *step;
    int epochs, batch, patience;
    struct rt_fit fit; /* parameters and moments are borrowed from net and optimizer, `best` is its own */
    uint32_t *order;   /* (train.count) */
    rt_real *x;        /* (batch, features) */
    const uint32_t *batch_rows; /* of train, (batch_count) */
    size_t batch_count;         /* the last batch of an epoch may be short */
    const struct rt_loss *loss;
    const struct rt_head *head;
    rt_real *out; /* (validation.count, outputs) */
    double started;
};

/* Net, rows and optimizer of a recipe, by its index; train.count is 0 where there is nothing to fit. */
int rt_network_fit_init(const struct rt_training *training, size_t recipe, struct rt_network_fit *fit);
void rt_network_fit_release(struct rt_network_fit *fit);

/* Sets the fit to where a checkpoint left it. */
int rt_network_fit_restore(const struct rt_training *training, struct rt_network_fit *fit,
                           const struct rt_fit *from);

/* Epochs up to the last, or until `patience` of them did not lower the validation MAPE (0: the last epoch is
 * kept), or RT_EINTERRUPTED by Ctrl-C. The net has the best parameters then. */
int rt_network_fit_run(struct rt_training *training, struct rt_network_fit *fit);

/* Best device effects and how the fit went, into fit->net. */
void rt_network_fit_finish(struct rt_network_fit *fit);

/* An option, or the recipe's default where it is 0. */
int rt_option_or_recipe(int option, int recipe);

#endif
