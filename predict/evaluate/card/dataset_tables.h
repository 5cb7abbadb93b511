/* What a dataset holds, as tables of its card. */
#ifndef ROOFTILE_PREDICT_EVALUATE_CARD_DATASET_TABLES_H
#define ROOFTILE_PREDICT_EVALUATE_CARD_DATASET_TABLES_H

#include "base/table.h"
#include "datasets/dataset.h"

/* Each device with its main numbers and how many rows are of it. */
struct rt_table *rt_card_devices(const struct rt_dataset *dataset);
/* Samples by op and dtype: on how many devices, ranges of dims and times. */
struct rt_table *rt_card_ops(const struct rt_dataset *dataset);
/* Runs of whole models by model, mode and dtype: ranges of batch, sequence and time. */
struct rt_table *rt_card_models(const struct rt_dataset *dataset);
/* Attributes of groups: their distinct values, the first few. */
struct rt_table *rt_card_attributes(const struct rt_dataset *dataset);

#endif
