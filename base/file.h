/* Files: atomic replacement, whole-file reads with a limit, walking a tree in a fixed order. */
#pragma once

#include "base/temporary.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Syncs a complete file, renames it to `path`, syncs the folder: readers see the old file or the new one,
 * whole. On failure the file is removed and `path` is unchanged. */
int rt_file_replace(const char *complete, const char *path);

/* A text that is written to `path`: through a temporary (temporary.h), or into the device or pipe that is
 * there. End with rt_file_finish (flush, check, replace) or rt_file_abandon. */
struct rt_new_file {
    FILE *stream;
    char *path;
    struct rt_temporary temporary;
};
int rt_file_create(const char *path, struct rt_new_file *out);
int rt_file_finish(struct rt_new_file *file);
/* Of files that belong together: all are complete on disk before the first replaces anything. */
int rt_files_finish(struct rt_new_file *files, size_t count);
void rt_file_abandon(struct rt_new_file *file); /* accepts zeros, and what was ended */

/* Is it a file, or a link to one? NULL: no. */
bool rt_file_is_there(const char *path);

/* Has it a name that ends so, in any case: ".csv"? */
bool rt_file_ends_in(const char *path, const char *ending);

/* The whole of a text file of at most `limit` bytes, NUL-terminated. RT_EFORMAT where it is larger. */
int rt_file_read(const char *path, size_t limit, char **text, size_t *size);

/* Every regular file below `root` (or `root` itself where it is a file), sorted by path. Symbolic links to
 * files are followed, links to folders are not. Release with rt_paths_release. */
struct rt_paths {
    char **path;
    size_t count;
};
int rt_file_walk(const char *root, struct rt_paths *out);
void rt_paths_release(struct rt_paths *paths);
