/* The order of a dataset's rows, and with it the numbers of its devices, groups and strings. */
#ifndef ROOFTILE_DATASETS_DATASET_ORDER_H
#define ROOFTILE_DATASETS_DATASET_ORDER_H

#include "datasets/dataset.h"

/* Samples in the order given: sample i becomes what order[i] was. Devices, groups and strings are numbered as
 * the rows name them first; what no row names goes. */
void rt_dataset_arrange(struct rt_dataset *dataset, const size_t *order);

/* The one order of what a dataset holds, whoever wrote it in which: devices by name; samples by device, op,
 * dtype, phase, dims, attributes, then every other column; workloads likewise by device, model, option and
 * every other column. Groups and strings that no row names go. Equal content has equal uuids afterwards. */
void rt_dataset_sort(struct rt_dataset *dataset);

#endif
