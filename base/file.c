/* Atomic replacement, bounded reads, and a sorted walk. See file.h. */
#include "base/file.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <libgen.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

char *rt_file_temporary(const char *path)
{
    return rt_format("%s.%ld.tmp", path, (long)getpid());
}

static int sync_path(const char *path, int flags)
{
    int descriptor = open(path, flags);
    if (descriptor < 0)
        return -1;
    int failed = fsync(descriptor);
    int code = errno;
    close(descriptor);
    errno = code;
    return failed;
}

int rt_file_replace(const char *temporary, const char *path)
{
    int status = RT_OK;
    if (sync_path(temporary, O_RDONLY) != 0)
        status = rt_fail(RT_EIO, "%s: cannot be synced to disk: %s; what was there is unchanged", path,
                         strerror(errno));
    else if (rename(temporary, path) != 0)
        status = rt_fail(RT_EIO, "%s: cannot be put in place: %s; what was there is unchanged", path,
                         strerror(errno));
    if (status != RT_OK) {
        unlink(temporary);
        return status;
    }
    char *copy = rt_strdup(path);
    /* Some file systems refuse to sync a folder; the rename is done. */
    (void)sync_path(dirname(copy), O_RDONLY | O_DIRECTORY);
    free(copy);
    return RT_OK;
}

int rt_file_create(const char *path, FILE **file, char **temporary)
{
    struct stat target;
    if (stat(path, &target) == 0 && S_ISDIR(target.st_mode))
        return rt_fail(RT_EIO, "%s: is a folder; name a file to write to", path);
    char *name = rt_file_temporary(path);
    FILE *opened = fopen(name, "w");
    if (opened == NULL) {
        int status =
            rt_fail(RT_EIO, "%s: cannot be written: %s; choose another place", path, strerror(errno));
        free(name);
        return status;
    }
    *file = opened;
    *temporary = name;
    return RT_OK;
}

int rt_file_finish(FILE *file, char *temporary, const char *path)
{
    int failed = fflush(file) != 0 || ferror(file);
    int code = errno;
    failed |= fclose(file) != 0;
    int status;
    if (failed) {
        status = rt_fail(RT_EIO, "%s: writing failed: %s; what was there is unchanged", path,
                         strerror(code ? code : EIO));
        unlink(temporary);
    } else {
        status = rt_file_replace(temporary, path);
    }
    free(temporary);
    return status;
}

void rt_file_abandon(FILE *file, char *temporary)
{
    fclose(file);
    unlink(temporary);
    free(temporary);
}

int rt_file_read(const char *path, size_t limit, char **text, size_t *size)
{
    FILE *file = fopen(path, "r");
    if (file == NULL)
        return rt_fail(RT_EIO, "%s: cannot be read: %s", path, strerror(errno));
    size_t capacity = 1 << 16, used = 0;
    char *buffer = rt_malloc(capacity + 1);
    size_t got;
    while (used <= limit && (got = fread(buffer + used, 1, capacity - used, file)) > 0) {
        used += got;
        if (used == capacity) {
            capacity *= 2;
            buffer = rt_realloc(buffer, capacity + 1, 1);
        }
    }
    int status = RT_OK;
    if (ferror(file))
        status = rt_fail(RT_EIO, "%s: cannot be read: %s", path, strerror(errno));
    else if (used > limit)
        status =
            rt_fail(RT_EFORMAT, "%s: is larger than %zu bytes, which no file of its kind is", path, limit);
    fclose(file);
    if (status != RT_OK) {
        free(buffer);
        return status;
    }
    buffer[used] = '\0';
    *text = buffer;
    *size = used;
    return RT_OK;
}

static int by_path(const FTSENT **a, const FTSENT **b)
{
    return strcmp((*a)->fts_name, (*b)->fts_name);
}

static void add_path(struct rt_paths *paths, const char *path)
{
    if ((paths->count & (paths->count - 1)) == 0) /* capacity is the next power of two */
        paths->path = rt_realloc(paths->path, paths->count ? 2 * paths->count : 1, sizeof *paths->path);
    paths->path[paths->count++] = rt_strdup(path);
}

int rt_file_walk(const char *root, struct rt_paths *out)
{
    struct rt_paths paths = {0};
    char *name = rt_strdup(root);
    size_t length = strlen(name);
    while (length > 1 && name[length - 1] == '/')
        name[--length] = '\0';
    char *roots[] = {name, NULL};
    int status = RT_OK;
    FTS *tree = fts_open(roots, FTS_PHYSICAL | FTS_COMFOLLOW | FTS_NOCHDIR, by_path);
    if (tree == NULL) {
        status = rt_fail(RT_EIO, "%s: cannot be read: %s", root, strerror(errno));
        goto done;
    }
    for (FTSENT *entry; (entry = fts_read(tree)) != NULL && status == RT_OK;) {
        struct stat target;
        if (entry->fts_info == FTS_D && entry->fts_level > 0 && entry->fts_name[0] == '.')
            fts_set(tree, entry, FTS_SKIP); /* .git and the like */
        else if (entry->fts_info == FTS_F)
            add_path(&paths, entry->fts_path);
        else if (entry->fts_info == FTS_SL && stat(entry->fts_path, &target) == 0 && S_ISREG(target.st_mode))
            add_path(&paths, entry->fts_path);
        else if (entry->fts_info == FTS_NS || entry->fts_info == FTS_ERR || entry->fts_info == FTS_DNR)
            status = rt_fail(RT_EIO, "%s: cannot be read: %s", entry->fts_path, strerror(entry->fts_errno));
    }
    fts_close(tree);
done:
    free(name);
    if (status != RT_OK)
        rt_paths_release(&paths);
    else
        *out = paths;
    return status;
}

void rt_paths_release(struct rt_paths *paths)
{
    for (size_t i = 0; i < paths->count; i++)
        free(paths->path[i]);
    free(paths->path);
    *paths = (struct rt_paths){0};
}
