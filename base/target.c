/* Where outputs go. See target.h. */
#include "base/target.h"
#include "base/status.h"

#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* What the link at `path` says, in the folder it lies in; takes `path`. */
static char *follow(char *path)
{
    char text[PATH_MAX];
    ssize_t length = readlink(path, text, sizeof text - 1);
    char *next = NULL;
    if (length > 0) {
        char *copy = rt_strdup(path);
        text[length] = '\0';
        next = text[0] == '/' ? rt_strdup(text) : rt_format("%s/%s", dirname(copy), text);
        free(copy);
    }
    free(path);
    return next;
}

char *rt_target_find(const char *path)
{
    enum { MOST_LINKS = 40 };
    char *target = realpath(path, NULL);
    if (target != NULL)
        return target;
    struct stat status;
    target = rt_strdup(path);
    for (int i = 0; i < MOST_LINKS && target != NULL && lstat(target, &status) == 0; i++) {
        if (!S_ISLNK(status.st_mode))
            return target;
        target = follow(target);
    }
    if (target != NULL && lstat(target, &status) != 0)
        return target;
    free(target); /* links in a circle: opening it says so */
    return rt_strdup(path);
}

bool rt_target_is_special(const char *path)
{
    struct stat status;
    return stat(path, &status) == 0 && !S_ISREG(status.st_mode) && !S_ISDIR(status.st_mode);
}

int rt_target_check(const char *path)
{
    struct stat status;
    if (stat(path, &status) != 0)
        return errno == ELOOP ? rt_fail(RT_EIO, "%s: cannot be written: %s", path, strerror(errno)) : RT_OK;
    if (S_ISDIR(status.st_mode))
        return rt_fail(RT_EIO, "%s: is a folder; name a file to write to", path);
    if (!S_ISREG(status.st_mode))
        return rt_fail(RT_EIO, "%s: is a device or a pipe, which cannot be replaced; name a file to write to",
                       path);
    return RT_OK;
}

int rt_target_sync(const char *path, int flags)
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

void rt_target_sync_folder(const char *path)
{
    char *copy = rt_strdup(path);
    /* Some file systems refuse to sync a folder; the rename is done. */
    (void)rt_target_sync(dirname(copy), O_RDONLY | O_DIRECTORY);
    free(copy);
}
