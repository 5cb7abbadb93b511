/* Several dataset files as one: what train, calibrate, evaluate and crossval read, and the devices of it that
 * users name. */
#pragma once

#include "base/options.h"
#include "datasets/dataset.h"

/* A file and where its content comes from. */
struct rt_dataset_file {
    const char *path;
    char *uuid, *source, *licence;
    size_t samples, workloads;
};

/* Owned, but for the paths. */
struct rt_dataset_input {
    struct rt_dataset dataset; /* its uuid, source and licence have a line for each file */
    struct rt_dataset_file *files;
    size_t file_count, duplicates; /* duplicates: rows that were in several files and count once */
};

/* Where two files describe a device differently, the first one's numbers are used, with a warning. RT_EIO, or
 * RT_EFORMAT where a file is damaged, with its name. To be released where it fails, too. */
int rt_dataset_input_read(const struct rt_names *paths, struct rt_dataset_input *out);
void rt_dataset_input_release(struct rt_dataset_input *input);

/*
 * Devices of a dataset that a user names: --gpu, --hold-out-gpu. A name that a device has, but for case and
 * separators, is that device alone. Other texts are whole words in names: "A100" is NVIDIA A100-PCIE-40GB and
 * every other A100, "L4" is never an L40S.
 */

/* Marks them in `devices` (device_count) and returns how many they are. `exact` (may be NULL): is it the name
 * of one? */
size_t rt_devices_named(const struct rt_dataset *dataset, const char *name, bool *devices, bool *exact);

/* Marks the devices of every name. Those that words took are said on stderr. RT_ENOTFOUND, with `option` and
 * the devices of the data in its sentence, where a name takes none. */
int rt_devices_choose(const struct rt_dataset *dataset, const char *option, const struct rt_names *names,
                      bool *devices);

/* "A, B and C": the names of those that are marked, NULL: of all. Free with free(). */
char *rt_devices_list(const struct rt_dataset *dataset, const bool *devices);
