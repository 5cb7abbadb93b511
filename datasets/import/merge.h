/*
 * Putting the parts of a tree together in path order while later files are still being read. Duplicates go;
 * devices, groups and kernels are numbered by first use, so that the result is the same however many threads
 * read.
 *
 * Samples travel in blocks that are used again: fresh memory costs more than filling it. A part whose turn it
 * is merges its blocks as they fill; the others queue theirs.
 */
#ifndef ROOFTILE_DATASETS_IMPORT_MERGE_H
#define ROOFTILE_DATASETS_IMPORT_MERGE_H

#include "datasets/import/tree.h"

/* Also prepares every part of the tree. */
struct rt_merge *rt_merge_new(struct rt_tree *tree, struct rt_dataset *out);
/* One sample of a part; `hash` is over what makes two samples the same. */
void rt_merge_sample(struct rt_merge *merge, struct rt_import_part *part, const struct rt_sample *sample,
                     uint64_t hash);
/* The part has been read to its end. */
void rt_merge_end_part(struct rt_merge *merge, struct rt_import_part *part);
/* All parts have: fills the tree's report. */
void rt_merge_free(struct rt_merge *merge);

#endif
