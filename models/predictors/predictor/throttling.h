/*
 * Throttling: a GPU that was too hot or short of power while it was measured. The rule covers products: a
 * device whose large, compute-bound kernels of a family reach a median below RT_THROTTLED of what its board
 * sustains was throttled in that session. NeuSight's P4 shows it: 0.27 in the session of its linear training
 * kernels, 0.89 in that of its test kernels.
 */
#ifndef ROOFTILE_MODELS_PREDICTORS_PREDICTOR_THROTTLING_H
#define ROOFTILE_MODELS_PREDICTORS_PREDICTOR_THROTTLING_H

#include "datasets/op.h"
#include "models/predictors/predictor/head.h"

#include <stdbool.h>
#include <stddef.h>

#define RT_THROTTLED     0.3
#define RT_LARGE_US      500 /* of roofline: launch and waves are negligible */
#define RT_LARGE_KERNELS 20  /* fewer are no evidence */

/* Does the rule cover the family? Only products: what boards sustain of others is not known. */
bool rt_throttling_covers(enum rt_family family);

/* Is the kernel large and compute-bound, so that roofline / measured is the share of its peak that the device
 * reaches? The bound is of the whole op. */
bool rt_shows_utilisation(const struct rt_bound *bound);

/* Median of `count` shares, which get sorted; NaN where there are fewer than RT_LARGE_KERNELS. */
double rt_median_utilisation(double *reached, size_t count);

#endif
