/*
 * Fitting the model of links (models/predictors/roofline/link.h) to collectives: coefficients that all GPUs share, then
 * device effects, twice in turn; intervals by fits that leave each device out.
 *
 * Coefficients: least squares of relative errors, reweighted so that outliers count little, none below 0 (the
 * wire not below 1), by coordinate descent. Rows of one device, group, op, dtype, number of GPUs, fabric,
 * library and octave of bytes weigh as one, so that a corpus with a thousand sizes is not worth a hundred
 * others. An algorithm that no row has keeps its prior (rt_link_prior).
 *
 * Device effects: what starting up and the wire take more (ln), a ridge that is worth RT_LINK_RIDGE such
 * cells shrinks both to 0.
 */
#ifndef ROOFTILE_TRAIN_FIT_LINKS_H
#define ROOFTILE_TRAIN_FIT_LINKS_H

#include "train/training.h"

#define RT_LINK_RIDGE 4.0

/* Fits the net of the recipe and adds it to the predictor; nothing where the data has no rows for it. */
int rt_links_fit(struct rt_training *training, const struct rt_recipe *recipe);

#endif
