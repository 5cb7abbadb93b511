/* What a unit does, in the calling process: train, judge, calibrate, judge. */
#ifndef ROOFTILE_TRAIN_CROSSVAL_FOLD_H
#define ROOFTILE_TRAIN_CROSSVAL_FOLD_H

#include "train/crossval/crossval.h"

/* Makes the unit's predictors and its fold file. A trained predictor that is there and was made from the same
 * is taken as it is. RT_EINTERRUPTED after Ctrl-C: training then goes on from its checkpoint. */
int rt_fold_run(const struct rt_crossval *crossval, const struct rt_unit *unit);

#endif
