/* The order of a dataset's rows, and with it the numbers of its devices, groups and strings. */
#pragma once

#include "datasets/dataset.h"

/* Puts samples in the order given: sample i becomes what order[i] was. Devices, groups and strings are
 * numbered in the order of their first use; unused ones are removed. */
void rt_dataset_arrange(struct rt_dataset *dataset, const size_t *order);

/* The canonical order of a dataset's content: devices by name; samples by device, op,
 * dtype, phase, dims, attributes, then every other column; workloads likewise by device, model, option and
 * every other column. Unused groups and strings are removed. Equal content has equal uuids afterwards. */
void rt_dataset_sort(struct rt_dataset *dataset);
