/* Sessions in which a GPU was throttled (models/predictors/predictor/throttling.h) are found before anything is fitted
 * to them; their rows of the family are dropped. */
#ifndef ROOFTILE_TRAIN_THROTTLED_SESSIONS_H
#define ROOFTILE_TRAIN_THROTTLED_SESSIONS_H

#include "models/predictors/predictor/throttling.h"
#include "train/training_rows.h"

/* The median of roofline / measured over a session's large, compute-bound rows; NaN where there are fewer
 * than RT_LARGE_KERNELS. */
double rt_training_rows_utilisation(const struct rt_training_rows *rows, int32_t device,
                                    enum rt_split session);

/* Drops the rows of sessions whose training rows look throttled, of families that the rule covers; `warn`:
 * with a line on stderr each. Adds to left_out->throttled. */
void rt_throttled_drop(const struct rt_training_data *data, const struct rt_family_net *net, bool warn,
                       struct rt_training_rows *train, struct rt_training_rows *validation,
                       struct rt_training_rows_left_out *left_out);

#endif
