/*
 * Recipes: what `rooftile train --predictor KIND` builds for each family. One row per kind and family; all of
 * it ends up as data in the predictor file, so a forecast never asks which recipe made it. Recipes whose head
 * takes no network (head.h) have neither features nor an architecture, and nothing of training but `loss`.
 */
#pragma once

#include "models/predictors/predictor/predictor.h"

struct rt_text;

struct rt_recipe {
    const char *kind;
    enum rt_forecaster_id forecaster;
    enum rt_target_id target;
    enum rt_family family;
    enum rt_units units; /* one row each where a family has a network for vector lanes and for matrix units */
    const char *features; /* names, separated by spaces */
    bool standardise;     /* inputs to mean 0, deviation 1 over the training rows; else as they are */
    double clip_margin;   /* with it: beyond the training range, part of it; negative: not clipped */
    int rows_per_device;  /* at most so many training rows of a device and dtype, a sample by the seed; 0: all
                           */
    double small_us; /* rows whose roofline is below count less: weights 0.1 to about 1; 0: all the same */
    double effect_ridge; /* heads with device effects: weight of the penalty that shrinks them to 0 */
    double factor_ridge; /* weight of the penalty that shrinks the outputs of head.h's factors on start,
                            compute and memory to 0: what hides behind another resource on all GPUs in
                            training stays at its start, and shows as that on the next one */
    uint32_t layers, hidden;
    const char *activation, *head, *loss;
    enum rt_tile_policy policy;
    /* Defaults of training, chosen as docs/log/neusight.md says. */
    int batch, epochs, patience; /* patience 0: every epoch, the last is kept */
    double learning_rate, weight_decay;
};

extern const struct rt_recipe rt_recipes[];
extern const size_t rt_recipe_count;

/* Is there a recipe of that kind? */
bool rt_recipe_kind(const char *kind);
void rt_recipe_suggest(struct rt_text *list); /* .suggests of rows: base/options.h */

/* An untrained net: parameters 0, inputs the features themselves, no tiles. */
int rt_recipe_net(const struct rt_recipe *recipe, struct rt_family_net *out);

/* Does its head use device effects? */
bool rt_recipe_has_effects(const struct rt_recipe *recipe);
