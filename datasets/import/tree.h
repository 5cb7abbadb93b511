/*
 * A folder of files, read side by side. Each file is read on one thread into a struct of its own; a
 * merge puts them together in path order, so that the result does not depend on the threads.
 *
 * A source's `read` is called once per file. It adds samples and workloads to the file, refuses rows, or says
 * what the file is where it holds no measurements. Device numbers are rows of the tree's devices; groups and
 * strings are the file's own until the merge.
 */
#pragma once

#include "base/csv.h"
#include "base/file.h"
#include "datasets/import/import.h"

#include <pthread.h>

struct rt_tree {
    const char *root;
    const struct rt_import_options *options;
    const struct rt_tree_reader *reader;
    struct rt_paths paths;
    struct rt_import_file *files;    /* one per path */
    struct rt_import_report *report; /* for prepare() and the merge; not for readers */
    pthread_mutex_t lock;            /* of devices, turn, and the files' `ended` */
    struct rt_dataset devices;       /* only its devices are used */
    size_t turn;                     /* the file that is merged next */
};

/* A text of the row before, which the next row mostly repeats, and its number; -1: none yet. */
struct rt_import_last {
    int32_t index;
    size_t length;
};

/* A file while it is read. */
struct rt_import_file {
    struct rt_tree *tree;
    const char *path;
    enum rt_split split;            /* of the folder's name: "train", "test" */
    struct rt_dataset data;         /* no devices: samples refer to the tree's */
    struct rt_import_report report; /* of this file */
    bool ended;
    struct rt_import_last last_device, last_kernel;
    struct rt_strings device_names; /* as the file spells them */
    int32_t *device_index;          /* per name: row of the tree's devices, -1 for an unknown GPU */
    size_t unknown_devices;
    struct rt_strings group_keys; /* the attributes' values, joined */
    int32_t *group_index;         /* per key */
    char *key, *last_key;         /* of this row and of the row before */
    size_t key_capacity, last_key_length;
    int32_t last_group;
};

struct rt_tree_reader {
    void (*prepare)(struct rt_tree *tree);     /* before all files, on one thread; may be NULL */
    void (*read)(struct rt_import_file *file); /* on any thread */
    bool groups_differ; /* rows that differ in their attributes only are no duplicates */
    const char *source, *licence;
};

int rt_tree_import(const char *root, const struct rt_tree_reader *reader,
                   const struct rt_import_options *options, struct rt_dataset *out,
                   struct rt_import_report *report);

/* True where the path has a folder of that name below the root. */
bool rt_tree_has_folder(const struct rt_tree *tree, const char *path, const char *folder);

/* ---- a file (tree_file.c) ---- */

void rt_import_file_init(struct rt_import_file *file, struct rt_tree *tree, const char *path);
void rt_import_file_release(struct rt_import_file *file);

/* The file as CSV; where it is none, it is skipped and NULL is returned. */
struct rt_csv *rt_import_file_csv(struct rt_import_file *file);

/* The tree's file of the same stem whose name ends in `end` (".json"); NULL where there is none. */
const char *rt_import_file_beside(const struct rt_import_file *file, const char *end);

/* Calls `take` for each row; ends the file where it does not return RT_OK. Rows that are no CSV are refused,
 * under the name `op` (NULL: unknown). */
typedef int rt_import_take(void *context, const struct rt_csv_field *row);
void rt_import_each_row(struct rt_import_file *file, struct rt_csv *csv, const char *op, rt_import_take *take,
                        void *context);

/* For a file without measurements: what it is; or it is not understood, for the reason in rt_error(). */
void rt_import_file_is(struct rt_import_file *file, const char *kind);
void rt_import_file_skip(struct rt_import_file *file);
/* Counts a row as refused, for the reason in rt_error(). op: NULL, device: negative where unknown. */
void rt_import_file_refuse(struct rt_import_file *file, const char *op, int32_t device);

/* Row of the tree's devices for a GPU's name, from the tree's own descriptions or the catalogue; -1. */
int32_t rt_tree_device(struct rt_tree *tree, const char *name);
/* The same for a cell. RT_ENOTFOUND (negative) for an unknown GPU, with "path:line: why"; RT_EFORMAT where a
 * file names so many that the rest is not worth reading. */
int32_t rt_import_file_device(struct rt_import_file *file, const struct rt_csv *csv,
                              const struct rt_csv_field *name);

/* Number of a kernel's name in the file's table, -1 for "". */
int32_t rt_import_file_kernel(struct rt_import_file *file, struct rt_import_last *last, const char *text,
                              size_t length);

/* Number of the group whose attributes have the names and values of these columns, and the latency statistic
 * where that is not NULL. RT_EFORMAT (negative) where the file has more groups than attributes make sense. */
int32_t rt_import_file_group(struct rt_import_file *file, const struct rt_csv *csv,
                             const struct rt_csv_field *row, const int *columns, size_t count,
                             const char *latency_statistic);
