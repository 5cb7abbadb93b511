/* Temporaries with random names, locked by their maker. See temporary.h. */
#include "base/temporary.h"
#include "base/status.h"
#include "base/target.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <libgen.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>
#include <sys/stat.h>
#include <unistd.h>

#define MARK   ".rt-"
#define ENDING ".tmp"
enum { RANDOM = 8, TRIES = 100 };

static const char letters[] = "0123456789abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ";

static char *random_name(const char *target)
{
    unsigned char bytes[RANDOM];
    char word[RANDOM + 1] = "";
    if (getrandom(bytes, sizeof bytes, 0) != sizeof bytes)
        return NULL;
    for (int i = 0; i < RANDOM; i++)
        word[i] = letters[bytes[i] % (sizeof letters - 1)];
    return rt_format("%s" MARK "%s" ENDING, target, word);
}

/* 0: locked; else errno, EAGAIN where another process holds the lock. */
static int lock(int file)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(file, F_OFD_SETLK, &whole) == 0)
        return 0;
    return errno == EACCES ? EAGAIN : errno;
}

/* ---- what killed processes left ---- */

/* NAME.rt-XXXXXXXX.tmp? */
static bool is_temporary_of(const char *entry, const char *name)
{
    size_t length = strlen(name), mark = sizeof MARK - 1;
    if (strncmp(entry, name, length) != 0 || strncmp(entry + length, MARK, mark) != 0)
        return false;
    const char *word = entry + length + mark;
    return strspn(word, letters) == RANDOM && strcmp(word + RANDOM, ENDING) == 0;
}

static void remove_unlocked(int folder, const char *entry)
{
    struct stat status;
    int file = openat(folder, entry, O_RDWR | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (file < 0)
        return;
    if (fstat(file, &status) == 0 && S_ISREG(status.st_mode) && lock(file) == 0)
        unlinkat(folder, entry, 0);
    close(file);
}

static void clean_target(const char *target)
{
    char *for_folder = rt_strdup(target), *for_name = rt_strdup(target);
    const char *name = basename(for_name);
    DIR *folder = opendir(dirname(for_folder));
    for (struct dirent *entry; folder != NULL && (entry = readdir(folder)) != NULL;)
        if (is_temporary_of(entry->d_name, name))
            remove_unlocked(dirfd(folder), entry->d_name);
    if (folder != NULL)
        closedir(folder);
    free(for_folder);
    free(for_name);
}

void rt_temporaries_clean(const char *path)
{
    char *target = rt_target_find(path);
    clean_target(target);
    free(target);
}

/* ---- making one ---- */

/* Another process may take a new file for one that was left, lock it first and remove it: then another name
 * is tried. Returns a file, or -1 with errno. */
static int make_locked(const char *name)
{
    struct stat status;
    int file = open(name, O_RDWR | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
    if (file < 0)
        return -1;
    if (lock(file) != EAGAIN && fstat(file, &status) == 0 && status.st_nlink > 0)
        return file;
    close(file);
    errno = EEXIST;
    return -1;
}

int rt_temporary_make(const char *path, struct rt_temporary *out)
{
    int status = rt_target_check(path);
    if (status != RT_OK)
        return status;
    struct rt_temporary made = {.target = rt_target_find(path), .path = rt_strdup(path), .file = -1};
    clean_target(made.target);
    errno = EEXIST;
    for (int try = 0; made.file < 0 && errno == EEXIST && try < TRIES; try++) {
        free(made.name);
        made.name = random_name(made.target);
        made.file = made.name != NULL ? make_locked(made.name) : -1;
    }
    if (made.file < 0) {
        status = rt_fail(RT_EIO, "%s: cannot be written: %s; choose another place", path, strerror(errno));
        free(made.name);
        free(made.target);
        free(made.path);
        return status;
    }
    struct stat there; /* who may read what is replaced may read what replaces it */
    if (stat(made.target, &there) == 0)
        (void)!fchmod(made.file, there.st_mode & 0777);
    *out = made;
    return RT_OK;
}

/* ---- its end ---- */

/* Frees what it holds; the name is gone or another file's by now. */
static void release(struct rt_temporary *temporary)
{
    close(temporary->file);
    free(temporary->name);
    free(temporary->target);
    free(temporary->path);
    *temporary = (struct rt_temporary){.file = -1};
}

static int fail(const struct rt_temporary *temporary, const char *what)
{
    return rt_fail(RT_EIO, "%s: cannot be %s: %s; what was there is unchanged", temporary->path, what,
                   strerror(errno));
}

int rt_temporaries_keep(struct rt_temporary *const *all, size_t count)
{
    int status = RT_OK;
    size_t renamed = 0;
    for (size_t i = 0; status == RT_OK && i < count; i++)
        if (fsync(all[i]->file) != 0)
            status = fail(all[i], "synced to disk");
    for (; status == RT_OK && renamed < count; renamed++)
        if (rename(all[renamed]->name, all[renamed]->target) != 0) {
            status = fail(all[renamed], "put in place");
            break;
        }
    for (size_t i = 0; i < count; i++) {
        if (i < renamed)
            rt_target_sync_folder(all[i]->target);
        else
            unlink(all[i]->name);
        release(all[i]);
    }
    return status;
}

int rt_temporary_keep(struct rt_temporary *temporary)
{
    return rt_temporaries_keep(&temporary, 1);
}

void rt_temporary_discard(struct rt_temporary *temporary)
{
    if (temporary->name == NULL)
        return;
    unlink(temporary->name);
    release(temporary);
}
