/*
 * Datasets: what was measured on which device. A dataset holds samples (one measured op on one device),
 * workloads (one measured run of a whole model), the devices, and the provenance of it all. On disk it is one
 * HDF5 file, described in FORMAT.md. Missing is NaN for reals and -1 for integers, never 0. Times are in
 * microseconds.
 *
 * Files of this folder in reading order:
 *   dtype, family, op     element types, families of ops, ops with their FLOPs and bytes: tables
 *   call                  one op with dims, dtype and phase
 *   moe_routing           how tokens spread over experts (FLOPs and bytes of moe)
 *   designs               what follows from a GPU's generation, a row each
 *   device_fields         a device as numbers: fields, quirks, peaks, links
 *   device                the catalogue, JSON files, devices/, "H100,sms=100"
 *   mig, share            parts of a device: slices, some of its SMs
 *   fields                samples, workloads and their columns, a row each: what files, CSV, checks and orders follow
 *   rows                  many of them, as columns
 *   dataset               the tables in memory
 *   dataset_file          the HDF5 file
 *   dataset_uuid          the hash of the content
 *   run_attributes        how a run was served, as attributes say it
 *   dataset_order         orders of rows
 *   split                 which samples train, validate and test
 *   device_choice         which devices --gpu and --hold-out-gpu mean
 *   csv_cell, export_csv  a dataset as CSV
 *   summary, validate     what `rooftile dataset info` and `validate` compute
 *   power                 what a board's power sustains
 *   health                can a session be believed?
 *   import/               measurements of others, a file per source
 *   cmd_dataset, cmd_devices    the commands
 */
#pragma once

#include "datasets/device.h"
#include "datasets/rows.h"
#include "base/progress.h"
#include "base/strings.h"

#define RT_DATASET_FORMAT  "rooftile-dataset"
#define RT_DATASET_VERSION 4

extern const struct rt_output_kind rt_dataset_kind; /* base/outputs.h */

/* Attributes that many samples share (library versions, backend): names and values, sorted by name. */
struct rt_group {
    size_t count;
    char **name, **value;
    uint64_t hash; /* of all of them, in any order */
};

struct rt_dataset {
    struct rt_rows samples;
    struct rt_workload *workloads;
    size_t workload_count, workload_capacity;
    struct rt_device *devices;
    size_t device_count;
    struct rt_group *groups;
    size_t group_count;
    struct rt_strings kernels, texts;
    size_t *file_end; /* (file_count): where the samples of each end, of several files read as one; else NULL,
                         0 */
    size_t file_count;
    /* Provenance; heap texts, never NULL after rt_dataset_init. */
    char *uuid;    /* a hash of the content: rt_dataset_stamp */
    char *creator; /* "rooftile 0.1.0" */
    char *created; /* ISO 8601, UTC; SOURCE_DATE_EPOCH is respected */
    char *source, *licence;
};

void rt_group_release(struct rt_group *group);

void rt_dataset_init(struct rt_dataset *dataset);
void rt_dataset_release(struct rt_dataset *dataset); /* accepts what init made, twice too */

/* A sample, in a copy that lives as long as the block around it. */
#define RT_SAMPLE(dataset, i) ((const struct rt_sample[]){rt_dataset_sample(dataset, i)})
struct rt_sample rt_dataset_sample(const struct rt_dataset *dataset, size_t i);

void rt_dataset_add_sample(struct rt_dataset *dataset, const struct rt_sample *sample);
/* The pointer is to the new last element, valid until the next addition. */
struct rt_workload *rt_dataset_add_workload(struct rt_dataset *dataset, const struct rt_workload *workload);

/* The workloads, as columns too: what goes through both tables. To be released. */
struct rt_rows rt_dataset_workload_rows(const struct rt_dataset *dataset);

/* Index of the device of that name, -1 where the dataset has none. Case is ignored and "-", "_", space are
 * the same, as in names of files. */
int32_t rt_dataset_find_device(const struct rt_dataset *dataset, const char *name);
/* Index of the device, added where its name is new; a known one gets the numbers it lacks. RT_EFORMAT
 * (negative) where a number differs, with the field and both values. */
int32_t rt_dataset_add_device(struct rt_dataset *dataset, const struct rt_device *device);
/* Index of the group with exactly these attributes, added where it is new. Order does not matter; an
 * attribute whose value is "" is left out. */
int32_t rt_dataset_add_group(struct rt_dataset *dataset, size_t count, const char *const *names,
                             const char *const *values);
/* Value of an attribute of a sample's group, NULL where it has none. */
const char *rt_dataset_attribute(const struct rt_dataset *dataset, int32_t group, const char *name);

/* The attribute "FIELD_source" begins with this where a device's number was probed: it is the best of many
 * runs, and another session's may be a few percent off. */
#define RT_PROBED "best of "

/* Appends all of `from`: devices, groups and strings are matched or added. Exact duplicates stay: see
 * rt_dataset_drop_duplicates. Of a number that was probed in both the larger is kept, whatever the order;
 * RT_EFORMAT where two descriptions of a device differ otherwise. */
int rt_dataset_append(struct rt_dataset *dataset, const struct rt_dataset *from);
/* Removes samples and workloads that equal an earlier one in every column; returns how many. */
size_t rt_dataset_drop_duplicates(struct rt_dataset *dataset);

/* Sets creator, created and uuid. The uuid is a hash of the content (not of `created`): the same samples in
 * the same order have the same uuid. Call before writing; rt_dataset_write does not. */
void rt_dataset_stamp(struct rt_dataset *dataset);

int rt_dataset_write(const struct rt_dataset *dataset, const char *path); /* atomic */
int rt_dataset_read(const char *path, struct rt_dataset *out);            /* every index and enum checked */
/* The same; one unit of `progress` (NULL: none) is done in its course. */
int rt_dataset_read_shown(const char *path, struct rt_progress *progress, struct rt_dataset *out);

/* Rows of a dataset's table. */
size_t rt_dataset_table_rows(const struct rt_dataset *dataset, enum rt_dataset_table table);

/* Calls `visit` for every row number that samples and workloads hold, from these rows on: of row `row`,
 * column `field`. It may change *index. Ends with the first status that is not RT_OK, and returns it. */
typedef int (*rt_index_visit)(void *context, const struct rt_field *field, size_t row, int32_t *index);
int rt_each_index(struct rt_dataset *dataset, size_t first_sample, size_t first_workload,
                  rt_index_visit visit, void *context);
