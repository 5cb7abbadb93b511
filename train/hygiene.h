/*
 * Sessions that cannot be trusted, found before anything is fitted to them.
 *
 * The rule, for products: a device whose large, compute-bound kernels of a family reach less than RT_THROTTLED of what its
 * board sustains (their median) was throttled while they were measured, and its rows of that family are left
 * out. NeuSight's P4 shows it: 0.25 in the session of its linear training kernels, 0.89 in that of its test
 * kernels.
 */
#ifndef ROOFTILE_HYGIENE_H
#define ROOFTILE_HYGIENE_H

#include "train/rows.h"

#define RT_THROTTLED     0.3
#define RT_LARGE_US      500 /* a roofline that launch and waves do not matter beside */
#define RT_LARGE_KERNELS 20  /* fewer say nothing */

/* The median of roofline / latency over a device's large, compute-bound rows; NaN where there are fewer than
 * RT_LARGE_KERNELS. */
double rt_rows_utilisation(const struct rt_rows *rows, int32_t device);

#endif
