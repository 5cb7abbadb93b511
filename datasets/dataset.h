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
 *   device                a device as numbers; device_catalogue: JSON files, devices/, "H100,sms=100"
 *   chips                 which devices have the same chip, by their names
 *   dataset               the tables in memory
 *   fields                their columns, a row each: what files, CSV, checks and orders follow
 *   dataset_file          the HDF5 file
 *   dataset_uuid          the hash of the content
 *   run_attributes        how a run was served, as attributes say it
 *   dataset_order         orders of rows
 *   split                 which samples train, validate and test
 *   device_choice         which devices --gpu and --hold-out-gpu mean
 *   csv_cell, export_csv  a dataset as CSV
 *   summary, validate     what `rooftile dataset info` and `validate` compute
 *   import/               measurements of others, a file per source
 *   cmd_dataset, cmd_devices    the commands
 */
#ifndef ROOFTILE_DATASETS_DATASET_H
#define ROOFTILE_DATASETS_DATASET_H

#include "datasets/device.h"
#include "datasets/call.h"
#include "base/progress.h"
#include "base/strings.h"

#define RT_DATASET_FORMAT  "rooftile-dataset"
#define RT_DATASET_VERSION 4

extern const struct rt_output_kind rt_dataset_kind; /* base/outputs.h */

enum rt_split { RT_SPLIT_NONE = 0, RT_SPLIT_TRAIN = 1, RT_SPLIT_TEST = 2, RT_SPLIT_COUNT };
/* What a workload ran. The numbers are stored in files: append, never renumber. */
enum rt_mode {
    RT_INFERENCE = 0,  /* one pass over whole sequences: the prefill of a language model */
    RT_TRAINING = 1,   /* one step of it */
    RT_DECODE = 2,     /* one step: a new token of each sequence */
    RT_GENERATION = 3, /* a prefill and the decode steps after it, of a whole batch */
    RT_MODE_COUNT
};

/* Bits of rt_sample.flags. Flagged samples are kept; training and evaluation decide what to do with them. */
enum {
    RT_FLAG_UNKNOWN_TILE = 1 << 0, /* the tile could not be read off the kernel */
    RT_FLAG_UNSTABLE = 1 << 1,     /* the collector's stopping criterion was not met */
    RT_FLAG_THROTTLED = 1 << 2,    /* the clock fell while it was measured */
    RT_FLAG_FAILED = 1 << 3,       /* could not run (out of memory, unsupported): latency is NaN */
    RT_FLAG_SYNTHETIC = 1 << 4,    /* not a measurement */
    RT_FLAG_PARTIAL = 1 << 5,      /* a workload some of whose kernels could not run: its times lack them */
    RT_FLAG_QUEUED = 1 << 6,       /* timed by the device itself or in a queue: no dispatch overhead in it */
    RT_FLAG_SCALAR_LOADS =
        1 << 7, /* the kernel reads its rows element by element, as vLLM's did until 2025 */
};
#define RT_FLAG_COUNT 8
extern const char *const rt_flag_names[RT_FLAG_COUNT];

/* Could a clock have given that time: 1 ns to a day? Not so NaN. What could not is no measurement: importers
 * refuse its row, `validate` names it, and nothing is fitted to it or judged by it. */
static inline bool rt_time_is_possible(double time_us)
{
    return time_us >= 1e-3 && time_us <= 86400e6;
}

struct rt_sample {
    double latency_us; /* what predictors are fitted to; which statistic: its group's attribute
                          "latency_statistic" */
    double latency_median_us, latency_min_us;
    double latency_spread_us; /* median absolute deviation */
    double energy_mj;
    struct rt_call call;
    int32_t count;         /* timed runs behind the statistics */
    int32_t device, group; /* indices into the dataset's tables */
    int32_t kernel;        /* index into kernels: name of the kernel that dominates */
    int32_t kernels;       /* index into kernels: all names, ";" between, where several ran */
    int32_t tile[3];       /* products: rows m, columns n, depth k; else: elements, -1, -1 */
    int32_t grid[3], block[3];
    uint32_t flags;
    uint8_t split;   /* rt_split */
    uint8_t zero[7]; /* samples compare as bytes */
    /* Columns of version 3: */
    double latency_p20_us, latency_p80_us; /* of the timed runs */
    double latency_warm_us;                /* median with the operands left in the caches */
    double sm_clock_mhz;                   /* while it was timed */
    double temperature_c, power_w;         /* right after */
    int32_t registers;                     /* of a thread of the main kernel */
    int32_t shared_bytes;                  /* of a block of it, static and dynamic */
};

struct rt_workload {
    double forward_us, backward_us, end_to_end_us;
    double energy_mj;
    int64_t batch, sequence; /* tokens of a sequence (a prompt); decode: those that are cached */
    int64_t layers;          /* of the model as it was run */
    int32_t device, group;
    int32_t model, option; /* indices into `texts`: "gpt3_27"; "" plain, "fusion", "dp4", "tp4", "pp4_1" */
    uint32_t flags;
    uint8_t mode, dtype; /* rt_mode, rt_dtype */
    /* Sums over the model's nodes, each measured alone: the additive floor. Backward includes accumulation.
     * They stay last: the uuid is over the columns of version 1, then over these (dataset.c). */
    double kernels_forward_us, kernels_backward_us;
};

/* Attributes that many samples share (library versions, backend): names and values, sorted by name. */
struct rt_group {
    size_t count;
    char **name, **value;
    uint64_t hash; /* of all of them, in any order */
};

struct rt_dataset {
    struct rt_sample *samples;
    size_t sample_count, sample_capacity;
    struct rt_workload *workloads;
    size_t workload_count, workload_capacity;
    struct rt_device *devices;
    size_t device_count;
    struct rt_group *groups;
    size_t group_count;
    struct rt_strings kernels, texts;
    /* Provenance; heap texts, never NULL after rt_dataset_init. */
    char *uuid;    /* a hash of the content: rt_dataset_stamp */
    char *creator; /* "rooftile 0.1.0" */
    char *created; /* ISO 8601, UTC; SOURCE_DATE_EPOCH is respected */
    char *source, *licence;
};

extern const char *const rt_splits[RT_SPLIT_COUNT];
extern const char *const rt_modes[RT_MODE_COUNT];

void rt_group_release(struct rt_group *group);

void rt_dataset_init(struct rt_dataset *dataset);
void rt_dataset_release(struct rt_dataset *dataset); /* accepts what init made, twice too */

/* A sample or workload with everything missing. The pointer from rt_dataset_add_* is to the new last element,
 * valid until the next addition. */
void rt_sample_init(struct rt_sample *sample);
void rt_workload_init(struct rt_workload *workload);
struct rt_sample *rt_dataset_add_sample(struct rt_dataset *dataset, const struct rt_sample *sample);
struct rt_workload *rt_dataset_add_workload(struct rt_dataset *dataset, const struct rt_workload *workload);

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
/* Was that field (of rt_device_fields) of a device probed, by the attributes of its samples and workloads? */
bool rt_dataset_is_probed(const struct rt_dataset *dataset, int32_t device, size_t field);

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

#endif
