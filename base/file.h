/* Files: atomic replacement, whole-file reads with a limit, walking a tree in a fixed order. */
#ifndef ROOFTILE_BASE_FILE_H
#define ROOFTILE_BASE_FILE_H

#include <stddef.h>
#include <stdio.h>

/* "PATH.<pid>.tmp", in the folder of PATH so that rename is atomic. Free with free(). */
char *rt_file_temporary(const char *path);

/* Syncs `temporary`, renames it to `path`, syncs the folder: readers see the old file or the new one, whole.
 * On failure the temporary is removed and `path` is unchanged. */
int rt_file_replace(const char *temporary, const char *path);

/* Creates `path` for writing through a temporary: *file is open for writing, *temporary names it.
 * End with rt_file_finish (flush, check, replace) or rt_file_abandon. */
int rt_file_create(const char *path, FILE **file, char **temporary);
int rt_file_finish(FILE *file, char *temporary, const char *path);
void rt_file_abandon(FILE *file, char *temporary);

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

#endif
