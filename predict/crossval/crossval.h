/*
 * Cross-validation: everything is trained and judged once per fold, with the fold's GPU (or op) held out.
 *
 * A driver and nothing else: a fold is a chain of steps, each a command of this same program (`train`,
 * `evaluate`, `calibrate`) in a process of its own with one thread, so that what a fold gives depends neither
 * on how many run at once nor on which machine of several runs it. A step's output is a file in the fold's
 * folder; what is there and was made by the same program, options and data is not made again.
 *
 *   plan   folds, and for every fold and kind of predictor a unit                  crossval_plan.c
 *   steps  what a unit does, in order                                              crossval_steps.c,
 * crossval_models.c run    the units in processes, --jobs at a time crossval_run.c table  the evaluations of
 * all units as one table                               crossval_table.c report the table as text, Markdown
 * and JSON                                    crossval_report.c
 */
#ifndef ROOFTILE_PREDICT_CROSSVAL_CROSSVAL_H
#define ROOFTILE_PREDICT_CROSSVAL_CROSSVAL_H

#include "base/options.h"
#include "datasets/dataset.h"
#include "datasets/split.h"
#include "predict/evaluate/workload.h"

#include <jansson.h>
#include <stdio.h>
#include <sys/types.h>

enum rt_leave_out { RT_LEAVE_GPU, RT_LEAVE_MODEL, RT_LEAVE_OP, RT_LEAVE_COUNT };
extern const char *const rt_leave_outs[RT_LEAVE_COUNT]; /* "gpu", "model", "op" */

/* Where the kernels come from that a fold is calibrated with: from the held-out GPU's training part, or from
 * the part that is judged, those that were drawn left out. And each of these with runs of whole models: those
 * of every other model than the one that is judged, model by model. */
enum rt_protocol {
    RT_ZERO_SHOT,
    RT_CALIBRATED,
    RT_CALIBRATED_ALIKE,
    RT_RUNS,
    RT_CALIBRATED_RUNS,
    RT_CALIBRATED_ALIKE_RUNS,
    RT_PROTOCOL_COUNT,
    RT_KERNEL_PROTOCOLS = RT_RUNS /* without runs */
};
struct rt_protocol_row {
    const char *split;          /* of --calibrate-split; NULL: not calibrated with kernels */
    const char *words;          /* behind a predictor's name in the table */
    const char *step, *outputs; /* name of the first step of `calibrate`; how names of evaluations begin */
};
extern const struct rt_protocol_row rt_protocols[RT_PROTOCOL_COUNT];

struct rt_crossval_options {
    enum rt_leave_out leave_out;
    const char *out; /* folder */
    struct rt_names data, kinds;
    struct rt_names only;                /* parts of names: these GPUs, models or ops; none: all */
    struct rt_names families;            /* none: all of the kind */
    struct rt_names train;               /* further options of `train` */
    int64_t seed, epochs;                /* epochs 0: the recipe's */
    int64_t calibrate;                   /* kernels of a family; 0: no calibration */
    bool protocols[RT_KERNEL_PROTOCOLS]; /* how it is calibrated; zero-shot is always judged */
    bool runs;                           /* each of these with other models' runs, too */
    size_t jobs;
    bool keep_test; /* of --leave-out gpu: train on the training part of the other GPUs only */
    bool overwrite, quiet;
};

enum { RT_PARTS = RT_PART_TEST + 1 };

/* Measured kernels that can be judged, by family and enum rt_part. */
typedef size_t rt_part_counts[RT_FAMILY_COUNT][RT_PARTS];

/* What is held out together. Of --leave-out model there is one, "all", which holds nothing out: no predictor
 * is ever fitted to whole models, so the same training serves every model. */
struct rt_fold {
    char *name;    /* "A100", "gelu" */
    bool *devices; /* (device_count) held out and judged; of an op: all are judged */
    int op;        /* -1: it is about devices */
    rt_part_counts kernels;
    size_t workloads;
};

/* One command: argv[0 .. argc), NULL behind. What is at `data` and behind are the datasets. */
struct rt_fold_step {
    char *name;   /* "train" */
    char *output; /* file in the unit's folder: "p.h5" */
    char **argv;
    size_t argc, data;
    double weight;     /* of the progress bar */
    const char *model; /* of an evaluation: only plain runs of that model count; NULL: everything */
    int32_t device;    /* and only those on it; -1: on any */
};

/* A fold with one kind of predictor. */
struct rt_unit {
    const struct rt_fold *fold;
    const char *kind;
    char *folder;
    struct rt_fold_step *steps;
    size_t step_count;
    /* While it runs: */
    size_t done; /* steps that are complete */
    pid_t process;
    bool failed;
};

struct rt_crossval {
    const struct rt_crossval_options *options;
    struct rt_dataset dataset; /* all of the data */
    struct rt_names uuids, sources, licences;
    rt_part_counts *kernels;    /* (device_count) */
    bool measured[RT_OP_COUNT]; /* is there a kernel of the op? */
    bool *plain;                /* (workload_count) of runs: plain ones on one GPU that can be forecast */
    struct rt_fold *folds;
    struct rt_unit *units; /* fold by fold */
    size_t fold_count, unit_count;
    char **columns; /* of the table: names of folds or models */
    size_t column_count;
    char *left_out; /* what cannot be a fold, in words; NULL where nothing is */
};

/* Reads the data, finds folds and steps. Release also where it fails. */
int rt_crossval_plan(const struct rt_crossval_options *options, struct rt_crossval *out);
void rt_crossval_release(struct rt_crossval *crossval);

/* Files of a unit; free with free(). The second is where a step writes before it is complete. */
char *rt_fold_step_path(const struct rt_unit *unit, const struct rt_fold_step *step);
char *rt_fold_step_part_path(const struct rt_unit *unit, const struct rt_fold_step *step);
char *rt_fold_step_log_path(const struct rt_unit *unit, const struct rt_fold_step *step);

/* The step of that name, NULL where the unit has none. */
const struct rt_fold_step *rt_unit_step(const struct rt_unit *unit, const char *name);

/* Runs the units of the folds f with f % size == rank, and keeps what is complete. A step that fails ends its
 * unit only: rt_unit_failure tells. RT_EINTERRUPTED after Ctrl-C. */
int rt_crossval_run(struct rt_crossval *crossval, int rank, int size);

/* One run at a time in an output folder: creates the folder; *lock is to be closed. */
int rt_crossval_lock(const char *folder, int *lock);

/* Why a unit is not complete: its first step without output and what that said; false where it is complete.
 * Free *message with free(). */
bool rt_unit_failure(const struct rt_unit *unit, const struct rt_fold_step **step, char **message);

/* --- the table --- */

/* Errors of some kernels or workloads, percent. */
struct rt_score {
    size_t n;
    size_t calibrated_to; /* kernels that are left out because the predictor was calibrated to them */
    double mape, bias;    /* sums until rt_crossval_collect returns; NaN where n is 0 */
};

/* Rows of the table are families, then kinds of whole models. */
enum { RT_CROSSVAL_ROWS = RT_FAMILY_COUNT + RT_KIND_COUNT };
const char *rt_crossval_row_name(int row); /* "linear", "end to end training" */

/* One predictor's part of the table. */
struct rt_crossval_block {
    const char *label; /* "rooftile", "roofline", "floor" */
    enum rt_protocol protocol;
    bool baseline;
    struct rt_score *score[RT_CROSSVAL_ROWS]; /* (column_count) */
};

struct rt_crossval_table {
    const struct rt_crossval *crossval;
    struct rt_crossval_block *blocks;
    size_t block_count;
};

/* Reads the evaluations of all units. RT_EFORMAT where one is damaged. */
int rt_crossval_collect(const struct rt_crossval *crossval, struct rt_crossval_table *out);
void rt_crossval_table_release(struct rt_crossval_table *table);

/* Mean and largest MAPE of a block's row over the columns that have one; NaN and -1 where none has. */
double rt_crossval_mean(const struct rt_crossval_table *table, const struct rt_crossval_block *block,
                        int row);
double rt_crossval_worst(const struct rt_crossval_table *table, const struct rt_crossval_block *block,
                         int row, int *column);

void rt_crossval_text(const struct rt_crossval_table *table, FILE *file);
void rt_crossval_markdown(const struct rt_crossval_table *table, FILE *file);
json_t *rt_crossval_json(const struct rt_crossval_table *table); /* a new reference */

/* The folds as they are planned: for --dry-run. */
void rt_crossval_list(const struct rt_crossval *crossval, FILE *file);
json_t *rt_crossval_list_json(const struct rt_crossval *crossval); /* a new reference */

/* The word that names the chip in a device's name: "A100" in "NVIDIA A100-PCIE-40GB"; the first with a digit.
 * Devices with the same word are one fold, or a fold would be judged on what it was fitted to. */
void rt_chip_word(const char *device, char *out, size_t size);
bool rt_chip_same(const char *a, const char *b);

#endif
