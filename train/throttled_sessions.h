/* Sessions that cannot be trusted, found before anything is fitted to them: models/predictor/throttling.h.
 * Their rows of the family are left out. */
#ifndef ROOFTILE_TRAIN_THROTTLED_SESSIONS_H
#define ROOFTILE_TRAIN_THROTTLED_SESSIONS_H

#include "models/predictor/throttling.h"
#include "train/training_rows.h"

/* The median of roofline / latency over a device's large, compute-bound rows; NaN where there are fewer than
 * RT_LARGE_KERNELS. */
double rt_training_rows_utilisation(const struct rt_training_rows *rows, int32_t device,
                                    enum rt_split session);

#endif
