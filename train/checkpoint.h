/*
 * Checkpoints: everything needed to go on with training as if it had never stopped. Written between epochs,
 * atomically, to OUT.checkpoint; a run that was killed and resumed gives the same bytes as one that was not.
 */
#pragma once

#include "models/predictors/predictor/predictor.h"
#include "models/predictors/nn/optimizer.h"

#define RT_CHECKPOINT_FORMAT  "rooftile-checkpoint"
#define RT_CHECKPOINT_VERSION 5

extern const struct rt_output_kind rt_checkpoint_kind; /* base/outputs.h */

/* OUT.checkpoint; free with free(). */
char *rt_checkpoint_path(const char *output);

/* The family being fitted, between two epochs. */
struct rt_fit {
    size_t recipe;       /* index among the recipes of this kind; finished families are in the predictor */
    int64_t epoch;       /* epochs done */
    int64_t best_epoch;  /* 0: none yet */
    double best_mape;    /* percent, INFINITY before the first */
    size_t count;        /* of parameters */
    rt_real *parameters; /* (count); the network's own block: borrowed when saved */
    rt_real *best;       /* (count) */
    rt_real *optimizer_state; /* (2,count) */
    uint64_t optimizer_steps;
    size_t effect_count; /* of device effects; the same three blocks of them: */
    rt_real *effects, *best_effects, *effect_state;
    /* Of the fits without a device that have ended, one behind the other: their best parameters and device
     * effects. */
    size_t without_count, without_effect_count;
    rt_real *without, *without_effects;
};

/* `signature` says which options and data the training has; resuming with another is refused. */
int rt_checkpoint_save(const char *path, const char *signature, const struct rt_predictor *finished,
                       const struct rt_fit *fit);

/* *finished and *fit are the caller's to release (fit with rt_checkpoint_release). RT_EUSAGE where the
 * signature differs. */
int rt_checkpoint_load(const char *path, const char *signature, struct rt_predictor *finished,
                       struct rt_fit *fit);
void rt_checkpoint_release(struct rt_fit *fit);
