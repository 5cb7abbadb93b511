/*
 * Cross-validation: a predictor is trained and judged once per fold, with the fold's GPUs or op held out.
 *
 * A unit is a fold with one kind of predictor. Each runs in a child process with one thread, on the data that
 * the parent has read, so that a unit's result depends neither on --jobs nor on the machine. It calls
 * rt_train, rt_calibrate and the evaluation as functions and leaves one fold file with its errors; the table
 * is made of fold files alone. A complete fold file of the same program, data and options is not made again,
 * and --shard I/N makes those of the folds f with f mod N = I - 1: units on several machines meet in one
 * folder.
 */
#pragma once

#include "base/options.h"
#include "base/report.h"
#include "datasets/dataset.h"
#include "datasets/split.h"
#include "train/train.h"

enum rt_leave_out { RT_LEAVE_GPU, RT_LEAVE_GENERATION, RT_LEAVE_MODEL, RT_LEAVE_OP, RT_LEAVE_COUNT };
extern const char *const rt_leave_outs[RT_LEAVE_COUNT]; /* "gpu", "generation", "model", "op" */

/* What a predictor is calibrated to before it is judged: kernels of the held-out GPU, from its training part
 * or from the part that is judged (the selected ones are then not judged); and each of these with runs of
 * every other model than the one that is judged, model by model. */
enum rt_protocol {
    RT_ZERO_SHOT,
    RT_CALIBRATED,
    RT_CALIBRATED_TEST,
    RT_RUNS,
    RT_CALIBRATED_RUNS,
    RT_CALIBRATED_TEST_RUNS,
    RT_PROTOCOL_COUNT,
    RT_KERNEL_PROTOCOLS = RT_RUNS /* without runs */
};
struct rt_protocol_row {
    const char *name;  /* in fold files, and of the predictor file */
    const char *split; /* of --calibrate-split; NULL: not calibrated to kernels */
    const char *words; /* behind a predictor's name in the table */
};
extern const struct rt_protocol_row rt_protocols[RT_PROTOCOL_COUNT];

struct rt_crossval_options {
    enum rt_leave_out leave_out;
    const char *out; /* folder */
    struct rt_names data, kinds;
    struct rt_names only;     /* these GPUs (rt_devices_choose), models or ops (parts of names); none: all */
    struct rt_names families; /* none: all of the kind */
    struct rt_names train;    /* further options of `train`, as they were given */
    struct rt_train_options training;    /* those, read */
    int64_t seed, epochs;                /* epochs 0: the recipe's */
    int64_t calibrate;                   /* kernels of a family and dtype; 0: no calibration */
    bool protocols[RT_KERNEL_PROTOCOLS]; /* which calibrations to kernels; zero-shot is always judged */
    bool runs;                           /* and each with runs of other models */
    size_t jobs;
    struct rt_shard shard; /* of the folds */
    bool keep_test;        /* of --leave-out gpu: train on the training part of the other GPUs only */
    bool overwrite, quiet;
};

enum { RT_PARTS = RT_PART_TEST + 1 };

/* Measured kernels by family and enum rt_part. */
typedef size_t rt_part_counts[RT_FAMILY_COUNT][RT_PARTS];

/* What is held out together. Of --leave-out model there is one, "all", which holds nothing out: no predictor
 * is fitted to whole models, so the same training serves every model. */
struct rt_fold {
    char *name;    /* "A100", "gelu" */
    bool *devices; /* (device_count) held out and judged; of an op: none, all are judged */
    bool *newer;   /* (device_count) of a generation: held out, too, and not judged */
    int op;        /* -1: it is about devices */
    rt_part_counts kernels;
    size_t workloads;
};

/* A fold with one kind of predictor. */
struct rt_unit {
    const struct rt_fold *fold;
    const char *kind;
    char *folder;
};

struct rt_crossval {
    const struct rt_crossval_options *options;
    struct rt_dataset dataset; /* all of the data; uuids, sources and licences a line each */
    rt_part_counts *kernels;   /* (device_count) */
    struct rt_fold *folds;
    struct rt_unit *units; /* fold by fold */
    size_t fold_count, unit_count;
    char **columns; /* of the table: names of folds or models */
    size_t column_count;
    char *left_out;   /* ops that cannot be a fold, "a, b"; NULL: none */
    uint64_t program; /* a hash of it: another build may give other numbers */
};

/* Reads the data and finds folds and units. Release also where it fails. */
int rt_crossval_plan(const struct rt_crossval_options *options, struct rt_crossval *out);
void rt_crossval_release(struct rt_crossval *crossval);

/* Is it trained on all parts of the data? Then only what is held out judges it. */
bool rt_crossval_trains_on_all(const struct rt_crossval_options *options);
bool rt_kind_is_trained(const char *kind); /* false: "roofline" */
bool rt_kind_has_effects(const char *kind);

/* FOLDER/NAME; free with free(). */
char *rt_unit_path(const struct rt_unit *unit, const char *name);

/* All that the trained predictor, and all that the fold file depends on, as texts. Free with free(). */
char *rt_unit_training_key(const struct rt_crossval *crossval, const struct rt_unit *unit);
char *rt_unit_key(const struct rt_crossval *crossval, const struct rt_unit *unit);

/* Plain runs (rt_workload_is_plain) of a model that can be built as a graph: whether each workload is one
 * (workload_count), to be freed. Calibration from runs takes these, and only these are judged after it. */
bool *rt_plain_runs(const struct rt_dataset *dataset);

/* ---- unit_calibration.c: a unit's predictor calibrated to kernels of the held-out GPUs ---- */

/* The families that the kind has networks for and that were asked for. */
void rt_unit_families(const struct rt_crossval *crossval, const struct rt_unit *unit,
                      bool out[RT_FAMILY_COUNT]);

/* Has a family of the unit enough kernels of the device for calibration? True of RT_ZERO_SHOT. */
bool rt_unit_calibrates(const struct rt_crossval *crossval, const struct rt_unit *unit, size_t device,
                        enum rt_protocol kernels);

/* The same of one family. */
bool rt_unit_calibrates_family(const struct rt_crossval *crossval, const struct rt_fold *fold, size_t device,
                               int family, enum rt_protocol kernels);

/* Calibrates the trained predictor to all devices of the fold, into rt_unit_predictor(unit, kernels). */
int rt_unit_calibrate(const struct rt_crossval *crossval, const struct rt_unit *unit,
                      enum rt_protocol kernels);

/* Path of a protocol's predictor, "predictor.h5" of RT_ZERO_SHOT; "roofline" where the kind is. Free with
 * free(). */
char *rt_unit_predictor(const struct rt_unit *unit, enum rt_protocol kernels);

/* ---- energy.c ----
 *
 * Cross-validation of energy: every chip of the data left out in turn, the energy model's population fitted
 * to the measured power of all others (train/judge_energy.h), then the effects of each left-out GPU to one of
 * its runs, several in turn. Nothing is trained: times are those of predictors that are there, of each chip
 * those of the first one that was not fitted to it. */

struct rt_energy_crossval_options {
    struct rt_names data;
    struct rt_names times; /* predictors; none: "pretrained" */
    struct rt_names only;  /* print these GPUs, words in their names; none: all */
    int64_t seed;
};

/* Into a new report. RT_EFORMAT where the data has measured power of fewer than two chips; errors of reading.
 */
int rt_energy_crossval(const struct rt_energy_crossval_options *options, struct rt_report **out);
