/* From a recipe to a fitted net: a fit for each forecaster. */
#ifndef ROOFTILE_TRAIN_FIT_RECIPE_H
#define ROOFTILE_TRAIN_FIT_RECIPE_H

#include "train/training.h"

/* Fits the net of a recipe (by its index) and adds it to the predictor; nothing where the data has no rows
 * for it. `resumed`: goes on from there; NULL: from the start. */
int rt_recipe_fit(struct rt_training *training, size_t recipe, const struct rt_fit *resumed);

/* Rows that pass through the fit of a recipe: epochs x rows, for progress. An upper estimate: early stopping
 * shortens it. */
double rt_recipe_work(const struct rt_training *training, const struct rt_recipe *recipe);

#endif
