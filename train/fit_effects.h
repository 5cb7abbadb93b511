/*
 * Fitting device effects (models/predictors/predictor/device_effects.h) in the steps of a family's network: AdamW
 * without decay, shrunk to 0 by a ridge, centred to a mean of 0 over the devices, so that what devices have
 * in common stays in the network. Steps depend on the number of threads only through the network's.
 */
#ifndef ROOFTILE_TRAIN_FIT_EFFECTS_H
#define ROOFTILE_TRAIN_FIT_EFFECTS_H

#include "models/predictors/nn/optimizer.h"
#include "train/training_rows.h"

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

#endif
