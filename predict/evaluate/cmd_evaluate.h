/* What `rooftile evaluate` of kernels and of whole models share: the command line and the data it names.
 * Internal to predict. */
#ifndef ROOFTILE_PREDICT_EVALUATE_CMD_EVALUATE_H
#define ROOFTILE_PREDICT_EVALUATE_CMD_EVALUATE_H

#include "base/options.h"
#include "predict/evaluate/evaluate.h"

struct rt_evaluate_arguments {
    struct rt_names predictors, data, gpus, ops, dtypes, reports, models;
    const char *compare, *graphs;
    size_t threads;
    int part;
    bool measured_tiles, no_baseline, json, quiet, workloads, fallback, part_given, tiles_given;
};

/* The data with what was asked for of it. */
struct rt_evaluate_input {
    struct rt_dataset dataset;
    struct rt_evaluation_file *files;
    size_t file_count, duplicates;
    bool *devices; /* (device_count); NULL: all */
    bool ops[RT_OP_COUNT], dtypes[RT_DTYPE_COUNT];
};

/* To be released where it fails, too. */
int rt_evaluate_input_read(const struct rt_evaluate_arguments *arguments, struct rt_evaluate_input *input);
void rt_evaluate_input_release(struct rt_evaluate_input *input);

/* `rooftile evaluate --workloads` */
int rt_evaluate_workloads_command(const struct rt_evaluate_arguments *arguments,
                                  const struct rt_candidate *candidates, size_t count);

#endif
