/* A unit's models, each judged after calibration with runs of all other models on the same GPU. */
#ifndef ROOFTILE_TRAIN_CROSSVAL_OTHER_RUNS_H
#define ROOFTILE_TRAIN_CROSSVAL_OTHER_RUNS_H

#include "train/crossval/crossval.h"

#include <jansson.h>

/* On top of the protocol's calibration to kernels, which must have been made. A model that ran alone on its
 * GPU is judged without runs. Appends to the rows of the fold file. */
int rt_unit_judge_other_runs(const struct rt_crossval *crossval, const struct rt_unit *unit,
                             enum rt_protocol protocol, json_t *rows);

#endif
