/* Fitting one network: its rows, the epochs of minibatches, early stopping. */
#pragma once

#include "models/predictors/nn/optimizer.h"
#include "models/predictors/nn/step.h"
#include "train/training.h"
#include "train/training_rows.h"

/* ---- fit_effects.c ----
 *
 * Device effects (models/predictors/predictor/device_effects.h), fitted in the steps of a family's network:
 * AdamW without decay, shrunk to 0 by a ridge, centred to a mean of 0 over the devices, so that what devices
 * have in common stays in the network. Steps depend on the number of threads only through the network's. */

struct rt_effect_fit {
    enum rt_family family;
    size_t device_count;             /* devices with training rows; 0: the head has no device effects */
    int32_t *slot;                   /* (devices of the dataset): index among those, -1 none */
    struct rt_device_effect *device; /* (device_count): names, dispatch overhead, numbers of kernels */
    size_t corpora;                  /* of the rows: numbers 0..corpora - 2, and none */
    double *dispatch_us;             /* (device_count, corpora): dispatch overhead of a device's sessions */
    rt_real *values, *best;          /* (device_count, RT_EFFECT_PARTS) */
    struct rt_optimizer optimizer;
    double ridge;
    double *gradient; /* (blocks, device_count, RT_EFFECT_PARTS) of the step that runs */
    size_t blocks;
};

/* Effects of 0 for the devices of the rows. Rows of one device and corpus are a session: they share the
 * device's effects and have a dispatch overhead of their own, that of their host. It is the 1% quantile of
 * the session's training latencies less 3 us for what the shortest kernels compute (at most half of it); rows
 * that were timed in a queue have none and say nothing of it. A device's is that of its slowest session, or
 * the median of the other devices' where no session of it shows one. `batch` is the largest batch. */
void rt_effect_fit_init(struct rt_effect_fit *fit, enum rt_family family, const struct rt_dataset *dataset,
                        const struct rt_training_rows *train, double ridge, size_t batch);
void rt_effect_fit_release(struct rt_effect_fit *fit);

/* The bound of a row with the current effects of its device. */
struct rt_bound rt_effect_fit_bound(const struct rt_effect_fit *fit, const struct rt_training_rows *rows,
                                    size_t row);

/* Adds a row to the gradient: dshift is d loss / d shift. Blocks may be filled by several threads. */
void rt_effect_fit_add(struct rt_effect_fit *fit, size_t block, int32_t device, const struct rt_bound *bound,
                       double dshift);

/* The step: gradients of the blocks in their order, ridge, update, mean to 0; clears the gradients. */
void rt_effect_fit_step(struct rt_effect_fit *fit, double learning_rate);

void rt_effect_fit_keep_best(struct rt_effect_fit *fit);

/* The best effects as entries; `out` is released by the caller. */
void rt_effect_fit_finish(const struct rt_effect_fit *fit, struct rt_device_effects *out);

/* ---- fit_network.c ---- */

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
