/*
 * Devices of a dataset that a user names: --gpu, --hold-out-gpu. A name that a device has, but for case and
 * separators, is that device alone. Other texts are whole words in names: "A100" is NVIDIA A100-PCIE-40GB and
 * every other A100, "L4" is never an L40S.
 */
#ifndef ROOFTILE_DATASETS_DEVICE_CHOICE_H
#define ROOFTILE_DATASETS_DEVICE_CHOICE_H

#include "base/options.h"
#include "datasets/dataset.h"

/* Marks them in `devices` (device_count) and returns how many they are. `exact` (may be NULL): is it the name
 * of one? */
size_t rt_devices_named(const struct rt_dataset *dataset, const char *name, bool *devices, bool *exact);

/* Marks the devices of every name. Those that words took are said on stderr. RT_ENOTFOUND, with `option` and
 * the devices of the data in its sentence, where a name takes none. */
int rt_devices_choose(const struct rt_dataset *dataset, const char *option, const struct rt_names *names,
                      bool *devices);

/* "A, B and C": the names of those that are marked, NULL: of all. Free with free(). */
char *rt_devices_list(const struct rt_dataset *dataset, const bool *devices);

#endif
