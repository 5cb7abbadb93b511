/*
 * Cross-validation of energy: every chip of the data left out in turn, the energy model's population fitted
 * to the measured power of all others (train/judge_energy.h), then the effects of each left-out GPU to one of
 * its runs, several in turn. Nothing is trained: times are those of predictors that are there, of each chip
 * those of the first one that was not fitted to it.
 */
#ifndef ROOFTILE_TRAIN_CROSSVAL_ENERGY_H
#define ROOFTILE_TRAIN_CROSSVAL_ENERGY_H

#include "base/options.h"
#include "base/report.h"

#include <stdint.h>

struct rt_energy_crossval_options {
    struct rt_names data;
    struct rt_names times; /* predictors; none: "pretrained" */
    struct rt_names only;  /* print these GPUs, words in their names; none: all */
    int64_t seed;
};

/* Into a new report. RT_EFORMAT where the data has measured power of fewer than two chips; errors of reading.
 */
int rt_energy_crossval(const struct rt_energy_crossval_options *options, struct rt_report **out);

#endif
