/* The datasets that are evaluated, read into one. */
#ifndef ROOFTILE_PREDICT_EVALUATE_INPUT_H
#define ROOFTILE_PREDICT_EVALUATE_INPUT_H

#include "base/options.h"
#include "datasets/dataset.h"

/* A file and where its content comes from. */
struct rt_evaluation_file {
    const char *path;
    char *uuid, *source, *licence;
    size_t samples, workloads;
};

/* Owned, but for the paths. */
struct rt_evaluation_input {
    struct rt_dataset dataset;
    struct rt_evaluation_file *files;
    size_t file_count, duplicates; /* duplicates: rows that were in several files and count once */
};

/* To be released where it fails, too. */
int rt_evaluation_input_read(const struct rt_names *paths, struct rt_evaluation_input *out);
void rt_evaluation_input_release(struct rt_evaluation_input *input);

#endif
