/*
 * Fitting the device effects of devices (models/predictor/device_effects.h) beside a family's network: one
 * pair a device, AdamW without decay, drawn to 0 by a ridge, their mean over the devices 0 so that the
 * network keeps what all devices have in common. Steps do not depend on the number of threads other than
 * through the network's.
 */
#ifndef ROOFTILE_TRAIN_FIT_EFFECTS_H
#define ROOFTILE_TRAIN_FIT_EFFECTS_H

#include "models/nn/optimizer.h"
#include "train/training_rows.h"

struct rt_effect_fit {
    enum rt_family family;
    size_t device_count;             /* devices with training rows; 0: the head has no device effects */
    int32_t *slot;                   /* (devices of the dataset): their place among those, -1 none */
    struct rt_device_effect *device; /* (device_count): names, floors, numbers of kernels */
    rt_real *values, *best;          /* (device_count, RT_EFFECT_PARTS) */
    struct rt_optimizer optimizer;
    double ridge;
    double *gradient; /* (blocks, device_count, RT_EFFECT_PARTS) of the step that runs */
    size_t blocks;
};

/* Device effects for the devices of the rows; floors are the 1% quantile of a device's training latencies
 * less 3 us (at most half of it), what the shortest kernels take for themselves; the median of the others'
 * where a device ran no small kernels. `batch` is the largest batch. */
void rt_effect_fit_init(struct rt_effect_fit *fit, enum rt_family family, const struct rt_dataset *dataset,
                        const struct rt_training_rows *train, double ridge, size_t batch);
void rt_effect_fit_release(struct rt_effect_fit *fit);

/* The bound of a row as its device's device effects shift it now. */
struct rt_bound rt_effect_fit_bound(const struct rt_effect_fit *fit, const struct rt_training_rows *rows,
                                    size_t row);

/* Adds a row's part to the gradient: d what is minimised / d shift. Blocks may be filled side by side. */
void rt_effect_fit_add(struct rt_effect_fit *fit, size_t block, int32_t device, const struct rt_bound *bound,
                       double dshift);

/* The step: gradients of the blocks in their order, ridge, update, mean to 0; clears the gradients. */
void rt_effect_fit_step(struct rt_effect_fit *fit, double learning_rate);

void rt_effect_fit_keep_best(struct rt_effect_fit *fit);

/* The best device effects, into the net. */
void rt_effect_fit_finish(const struct rt_effect_fit *fit, struct rt_device_effects *out);

#endif
