/* Plain runs (rt_workload_is_plain) of a model that can be built as a graph. Calibration from runs takes
 * these, and only these are judged after it. */
#ifndef ROOFTILE_TRAIN_CROSSVAL_PLAIN_RUNS_H
#define ROOFTILE_TRAIN_CROSSVAL_PLAIN_RUNS_H

#include "datasets/dataset.h"

/* Whether each workload is one (workload_count); free with free(). */
bool *rt_plain_runs(const struct rt_dataset *dataset);

#endif
