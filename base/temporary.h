/*
 * Temporaries: a file is written whole beside where it goes, under another name, and renamed when it is
 * complete. So readers see the old file or the new one.
 *
 * A temporary of NAME is NAME.rt-XXXXXXXX.tmp, X random, in the folder of NAME and made with O_EXCL: it
 * follows no link and meets no other. Its maker holds a lock on it (an open file description lock, fcntl(2))
 * that ends with the process. What a killed process left is therefore known by its name and by being
 * unlocked, on any machine that sees the folder, and the next one that writes NAME removes it. Where a file
 * system has no locks nothing is removed.
 */
#pragma once

#include <stddef.h>

struct rt_temporary {
    char *name;   /* of the temporary; NULL: there is none */
    char *target; /* what it is renamed to: links in the path that was given are followed */
    char *path;   /* as it was given, for messages */
    int file;     /* open for reading and writing, locked */
};

/* Removes what killed writers of `path` left, and makes a temporary. RT_EIO where `path` is a folder, a
 * device or a pipe, or the folder cannot be written. */
int rt_temporary_make(const char *path, struct rt_temporary *out);

/* Syncs the temporary, renames it to its target and syncs the folder. Where that fails the temporary is
 * removed and the target unchanged. Either way *temporary is empty then. */
int rt_temporary_keep(struct rt_temporary *temporary);
/* The same of files that belong together: all are synced before the first is renamed. */
int rt_temporaries_keep(struct rt_temporary *const *all, size_t count);
void rt_temporary_discard(struct rt_temporary *temporary); /* accepts an empty one */

/* Removes what killed writers of `path` left; those that are being written stay. */
void rt_temporaries_clean(const char *path);
