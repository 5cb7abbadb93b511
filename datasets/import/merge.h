/*
 * The files of a tree become one dataset, in path order, while later files are still being read. Devices,
 * groups and kernels are numbered at their first use, so that the result is the same however many threads
 * read.
 */
#ifndef ROOFTILE_DATASETS_IMPORT_MERGE_H
#define ROOFTILE_DATASETS_IMPORT_MERGE_H

#include "base/hash_set.h"
#include "datasets/import/tree.h"

struct rt_merge {
    struct rt_tree *tree;
    struct rt_dataset *out;
    struct rt_hash_set samples, workloads;
};

/* A file that has been read to its end. Files come in path order, on one thread at a time. */
void rt_merge_file(struct rt_merge *merge, struct rt_import_file *file);
void rt_merge_finish(struct rt_merge *merge);

#endif
