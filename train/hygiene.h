/* Sessions that cannot be trusted, found before anything is fitted to them: models/predictor/throttled.h.
 * Their rows of the family are left out. */
#ifndef ROOFTILE_HYGIENE_H
#define ROOFTILE_HYGIENE_H

#include "models/predictor/throttled.h"
#include "train/rows.h"

/* The median of roofline / latency over a device's large, compute-bound rows; NaN where there are fewer than
 * RT_LARGE_KERNELS. */
double rt_rows_utilisation(const struct rt_rows *rows, int32_t device, enum rt_split session);

#endif
