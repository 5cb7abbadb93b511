/*
 * What the importers of CSV trees share: the files of a tree are read side by side, each into a part of its
 * own, and the parts are put together in path order (import_merge.h), so that the result does not depend on
 * the threads.
 *
 * A reader is called once per file. It adds samples and workloads to its part, refuses rows, or says what the
 * file is when it holds none. Device indices in a part are rows of the tree's devices; groups and strings are
 * the part's own.
 */
#ifndef ROOFTILE_DATASETS_IMPORT_TREE_H
#define ROOFTILE_DATASETS_IMPORT_TREE_H

#include "base/csv.h"
#include "base/file.h"
#include "datasets/import/import.h"

#include <pthread.h>

struct rt_tree {
    const char *root;
    const struct rt_import_options *options;
    const struct rt_tree_reader *reader;
    struct rt_paths paths;
    struct rt_import_part *parts;    /* one per path */
    struct rt_import_report *report; /* for prepare() and the merge; not for readers */
    pthread_mutex_t lock;
    struct rt_dataset devices; /* only its device table is used; under `lock` while files are read */
    struct rt_merge *merge;    /* import_merge.h */
};

/* A text that is interned per row, and the one before it: neighbours mostly share it. */
struct rt_import_part_text {
    int32_t index;
    size_t length;
};

struct rt_import_part {
    struct rt_tree *tree;
    const char *path;
    enum rt_split split; /* from the folder names: "train", "test" */
    struct rt_dataset data;
    struct rt_import_report report; /* refusals, skips, other kinds of this file */
    double bytes;                   /* of the file, where it holds samples */
    uint64_t *kernel_hashes;        /* one per string of data.kernels */
    size_t kernel_hash_count;
    struct rt_import_part_text device_text, kernel_text;
    struct rt_strings device_names; /* as the file spells them */
    int32_t *device_index;          /* per name: row of the tree's devices, -1 for an unknown GPU */
    size_t unknown_devices;
    struct rt_strings group_keys; /* the attributes' values, joined */
    int32_t *group_index;         /* per key */
    char *key, *last_key;         /* of this row and of the row before */
    size_t key_capacity, last_key_length;
    int32_t last_group;
    struct rt_import_part_merge *state; /* import_merge.c's */
};

struct rt_tree_reader {
    void (*prepare)(struct rt_tree *tree);     /* before all files, alone; may be NULL */
    void (*read)(struct rt_import_part *part); /* one file, on any thread */
    bool groups_differ;                        /* a row with other attributes is no duplicate */
    const char *source, *licence;
};

int rt_tree_import(const char *root, const struct rt_tree_reader *reader,
                   const struct rt_import_options *options, struct rt_dataset *out,
                   struct rt_import_report *report);

/* The file at hand holds no samples: what it is; or rt_error() says why it is not understood. */
void rt_import_part_is(struct rt_import_part *part, const char *kind);
void rt_import_part_skip(struct rt_import_part *part);
/* Counts a row as refused for what rt_error() says. op: NULL and device: negative where unknown. */
void rt_import_part_refuse(struct rt_import_part *part, const char *op, int32_t device);

/* Row of the tree's devices for a GPU's name, from the tree's own descriptions or the catalogue; -1. */
int32_t rt_tree_device(struct rt_tree *tree, const char *name);

/* The same for a row's cell, remembered:
 * RT_ENOTFOUND (negative) with a sentence that begins "path:line: ". RT_EFORMAT ends the file: too many. */
int32_t rt_import_part_device(struct rt_import_part *part, const struct rt_csv *csv,
                              const struct rt_csv_field *name);
/* Index of a kernel's name in the part's table, -1 for "". */
int32_t rt_import_part_kernel(struct rt_import_part *part, struct rt_import_part_text *last, const char *text,
                              size_t length);
/* Index of the group whose attributes are named and valued like these cells, after `fixed` attributes that
 * hold for the whole file. RT_EFORMAT where the file has more groups than samples can share. */
int32_t rt_import_part_group(struct rt_import_part *part, const struct rt_csv *csv,
                             const struct rt_csv_field *row, const int *columns, size_t count, size_t fixed,
                             const char *const *names, const char *const *values);
void rt_import_part_sample(struct rt_import_part *part, const struct rt_sample *sample);

/* A cell as a whole number ("168", also "168.0" as spreadsheets write it), 0 or -1. */
int rt_import_part_integer(const struct rt_csv_field *field, int64_t *value);
/* A latency: a positive finite number. RT_EFORMAT with a sentence that begins "path:line: ". */
int rt_import_part_latency(const struct rt_csv *csv, const struct rt_csv_field *field, const char *column,
                           double *value);

/* True where the path has a folder of that name below the root. */
bool rt_tree_has_folder(const struct rt_tree *tree, const char *path, const char *folder);

#endif
