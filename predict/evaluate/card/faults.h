/* What is wrong with a dataset, as far as that can be told from it. */
#ifndef ROOFTILE_PREDICT_EVALUATE_CARD_FAULTS_H
#define ROOFTILE_PREDICT_EVALUATE_CARD_FAULTS_H

#include "base/table.h"
#include "datasets/dataset.h"

/* A row per fault that some sample or run has, with what it means. */
struct rt_table *rt_card_faults(const struct rt_dataset *dataset);
/* Why kernels and runs could not run, by the attribute "failure": a row per reason. */
struct rt_table *rt_card_failures(const struct rt_dataset *dataset);
/* Sessions that look throttled by the rule of models/predictors/predictor/throttling.h, a row each. */
struct rt_table *rt_card_sessions(const struct rt_dataset *dataset);

/* How many samples and runs are made up. */
size_t rt_card_synthetic(const struct rt_dataset *dataset);

#endif
