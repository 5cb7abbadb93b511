/* Atomic replacement, bounded reads, and a sorted walk. See file.h. */
#include "base/file.h"
#include "base/status.h"
#include "base/target.h"

#include <errno.h>
#include <fcntl.h>
#include <fts.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

/* ---- replacing ---- */

int rt_file_replace(const char *complete, const char *path)
{
    int status = rt_target_check(path);
    char *target = rt_target_find(path);
    if (status == RT_OK && rt_target_sync(complete, O_RDONLY) != 0)
        status = rt_fail(RT_EIO, "%s: cannot be synced to disk: %s; what was there is unchanged", path,
                         strerror(errno));
    else if (status == RT_OK && rename(complete, target) != 0)
        status = rt_fail(RT_EIO, "%s: cannot be put in place: %s; what was there is unchanged", path,
                         strerror(errno));
    if (status == RT_OK)
        rt_target_sync_folder(target);
    else
        unlink(complete);
    free(target);
    return status;
}

/* ---- writing ---- */

/* A stream of its own on the temporary, which stays open and locked until the end. */
static FILE *open_temporary(const struct rt_temporary *temporary)
{
    int copy = dup(temporary->file);
    FILE *stream = copy >= 0 ? fdopen(copy, "w") : NULL;
    if (stream == NULL && copy >= 0)
        close(copy);
    return stream;
}

int rt_file_create(const char *path, struct rt_new_file *out)
{
    struct rt_new_file file = {.temporary = {.file = -1}};
    bool special = rt_target_is_special(path);
    int result = special ? RT_OK : rt_temporary_make(path, &file.temporary);
    if (result != RT_OK)
        return result;
    file.stream = special ? fopen(path, "we") : open_temporary(&file.temporary);
    if (file.stream == NULL) {
        result = rt_fail(RT_EIO, "%s: cannot be written: %s; choose another place", path, strerror(errno));
        rt_temporary_discard(&file.temporary);
        return result;
    }
    file.path = rt_strdup(path);
    *out = file;
    return RT_OK;
}

/* Everything written, and the stream closed. */
static int close_stream(struct rt_new_file *file)
{
    errno = 0;
    int failed = fflush(file->stream) != 0 || ferror(file->stream);
    int code = errno;
    failed |= fclose(file->stream) != 0;
    file->stream = NULL;
    if (!failed)
        return RT_OK;
    code = code != 0 ? code : errno;
    return rt_fail(RT_EIO, "%s: writing failed: %s%s", file->path, strerror(code ? code : EIO),
                   file->temporary.name != NULL ? "; what was there is unchanged" : "");
}

int rt_files_finish(struct rt_new_file *files, size_t count)
{
    struct rt_temporary **temporaries = rt_calloc(count, sizeof *temporaries);
    size_t kept = 0;
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < count; i++) {
        status = close_stream(&files[i]);
        if (files[i].temporary.name != NULL)
            temporaries[kept++] = &files[i].temporary;
    }
    if (status == RT_OK)
        status = rt_temporaries_keep(temporaries, kept);
    for (size_t i = 0; i < count; i++)
        rt_file_abandon(&files[i]);
    free(temporaries);
    return status;
}

int rt_file_finish(struct rt_new_file *file)
{
    return rt_files_finish(file, 1);
}

void rt_file_abandon(struct rt_new_file *file)
{
    if (file->stream != NULL)
        fclose(file->stream);
    rt_temporary_discard(&file->temporary);
    free(file->path);
    *file = (struct rt_new_file){.temporary = {.file = -1}};
}

bool rt_file_ends_in(const char *path, const char *ending)
{
    size_t length = strlen(path), tail = strlen(ending);
    return length > tail && strcasecmp(path + length - tail, ending) == 0;
}

bool rt_file_is_there(const char *path)
{
    struct stat file;
    return path != NULL && stat(path, &file) == 0 && S_ISREG(file.st_mode);
}

/* ---- reading ---- */

int rt_file_read(const char *path, size_t limit, char **text, size_t *size)
{
    FILE *file = fopen(path, "re");
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
