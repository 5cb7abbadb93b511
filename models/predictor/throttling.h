/*
 * Sessions that cannot be trusted, found by what their kernels reach. The rule, for products: a device whose
 * large, compute-bound kernels of a family reach less than RT_THROTTLED of what its board sustains (their
 * median) was throttled while they were measured. NeuSight's P4 shows it: 0.25 in the session of its linear
 * training kernels, 0.89 in that of its test kernels.
 */
#ifndef ROOFTILE_MODELS_PREDICTOR_THROTTLING_H
#define ROOFTILE_MODELS_PREDICTOR_THROTTLING_H

#include "datasets/op.h"
#include "models/predictor/head.h"

#include <stdbool.h>
#include <stddef.h>

#define RT_THROTTLED     0.3
#define RT_LARGE_US      500 /* a roofline that launch and waves do not matter beside */
#define RT_LARGE_KERNELS 20  /* fewer say nothing */

/* Does the rule hold for a family? For products: what boards sustain of others is not known. */
bool rt_throttle_tells(enum rt_family family);

/* Does a kernel tell how much of its peak the device reaches? Its bound is of the whole op. */
bool rt_tells_utilisation(const struct rt_bound *bound);

/* The median of what they reach, roofline / latency, sorted in place; NaN where `count` is below
 * RT_LARGE_KERNELS. */
double rt_median_utilisation(double *reached, size_t count);

#endif
