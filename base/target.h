/* Where a file goes that is written to a path: links, folders, devices and pipes; and syncing to disk. */
#pragma once

#include <stdbool.h>

/* The path with symbolic links followed, also one that points to nothing yet. Free with free(). */
char *rt_target_find(const char *path);

/* RT_EIO where there is a folder, a device or a pipe: what is made by renaming would replace it. */
int rt_target_check(const char *path);

/* Is there a device, a pipe or a socket? Texts are written into it. */
bool rt_target_is_special(const char *path);

/* Syncs what is opened with `flags`, O_RDONLY for a file; -1 with errno. Then the folder that `path` lies in.
 */
int rt_target_sync(const char *path, int flags);
void rt_target_sync_folder(const char *path);
