/* The parts of a collection on disk. See parts.h. */
#include "collect/journal.h"
#include "base/status.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#define PART_NAME "part-%06u.h5"

static char *path_in(const struct rt_journal *parts, const char *name)
{
    return rt_format("%s/%s", parts->folder, name);
}

static void remove_in(const struct rt_journal *parts, const char *name)
{
    char *path = path_in(parts, name);
    unlink(path);
    free(path);
}

/* ---- the lock ---- */

static int open_lock(struct rt_journal *parts)
{
    if (mkdir(parts->folder, 0777) != 0 && errno != EEXIST)
        return rt_fail(RT_EIO, "%s: cannot be made: %s; choose another -o", parts->folder, strerror(errno));
    char *path = path_in(parts, "lock");
    parts->lock = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0666);
    int code = errno;
    free(path);
    if (parts->lock < 0 && code != ENOENT) /* ENOENT: a finishing collector took the folder away; try again */
        return rt_fail(RT_EIO, "%s: cannot be locked: %s; choose another -o", parts->folder, strerror(code));
    return RT_OK;
}

/* Is the file that we locked still the one in the folder? A collector that ends removes it. */
static bool lock_is_current(const struct rt_journal *parts)
{
    struct stat ours, there;
    char *path = path_in(parts, "lock");
    bool same = fstat(parts->lock, &ours) == 0 && stat(path, &there) == 0 && ours.st_ino == there.st_ino &&
                ours.st_dev == there.st_dev;
    free(path);
    return same;
}

static int take_lock(struct rt_journal *parts)
{
    for (int try = 0; try < 100; try++) {
        int status = open_lock(parts);
        if (status != RT_OK)
            return status;
        if (parts->lock < 0)
            continue;
        if (flock(parts->lock, LOCK_EX | LOCK_NB) != 0) {
            char who[32] = "";
            if (pread(parts->lock, who, sizeof who - 1, 0) < 0)
                who[0] = '\0';
            close(parts->lock);
            parts->lock = -1;
            return rt_fail(
                RT_EUSAGE,
                "%s: another collector (process %ld) is writing it; wait for it, or choose another -o",
                parts->output, strtol(who, NULL, 10));
        }
        if (lock_is_current(parts)) {
            char who[32];
            int length = snprintf(who, sizeof who, "%ld\n", (long)getpid());
            if (ftruncate(parts->lock, 0) != 0 || pwrite(parts->lock, who, (size_t)length, 0) != length)
                return rt_fail(RT_EIO, "%s: cannot be written: %s; free some space", parts->folder,
                               strerror(errno));
            return RT_OK;
        }
        close(parts->lock);
        parts->lock = -1;
    }
    return rt_fail(RT_EIO, "%s: comes and goes; is another collector being started over and over?",
                   parts->folder);
}

/* ---- what is there ---- */

static bool is_part(const char *name, unsigned *number)
{
    char again[32];
    if (sscanf(name, "part-%6u.h5", number) != 1)
        return false;
    snprintf(again, sizeof again, PART_NAME, *number);
    return strcmp(name, again) == 0;
}

static bool ends_with(const char *name, const char *end)
{
    size_t length = strlen(name), wanted = strlen(end);
    return length >= wanted && strcmp(name + length - wanted, end) == 0;
}

struct listing {
    unsigned *part;
    size_t count;
};

static int by_number(const void *a, const void *b)
{
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}

/* Numbers of the parts, rising; temporaries are removed on the way. */
static int list_parts(const struct rt_journal *parts, struct listing *out)
{
    struct listing list = {0};
    DIR *folder = opendir(parts->folder);
    if (folder == NULL)
        return rt_fail(RT_EIO, "%s: cannot be read: %s", parts->folder, strerror(errno));
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        unsigned number;
        if (ends_with(entry->d_name, ".tmp")) {
            remove_in(parts, entry->d_name);
        } else if (is_part(entry->d_name, &number)) {
            list.part = rt_realloc(list.part, list.count + 1, sizeof *list.part);
            list.part[list.count++] = number;
        }
    }
    closedir(folder);
    if (list.count > 0)
        qsort(list.part, list.count, sizeof *list.part, by_number);
    *out = list;
    return RT_OK;
}

static int read_part(struct rt_journal *parts, unsigned number)
{
    struct rt_dataset part;
    char *path = rt_format("%s/" PART_NAME, parts->folder, number);
    int status = rt_dataset_read(path, &part);
    if (status == RT_OK) {
        status = rt_dataset_append(&parts->saved, &part);
        rt_dataset_release(&part);
    }
    if (status != RT_OK)
        status = rt_fail_context(status, "remove %s to measure its kernels again", path);
    free(path);
    return status;
}

static int read_header(struct rt_journal *parts)
{
    char *path = path_in(parts, "header.h5");
    int status = RT_OK;
    parts->begun = access(path, F_OK) == 0;
    if (parts->begun) {
        struct rt_dataset header;
        status = rt_dataset_read(path, &header);
        if (status == RT_OK) {
            rt_dataset_release(&parts->header);
            parts->header = header;
        }
    }
    if (parts->begun && status != RT_OK)
        status = rt_fail_context(status, "remove the folder %s to begin anew", parts->folder);
    free(path);
    return status;
}

/* Parts without a header: what is left of a collection whose end was cut off. */
static int remove_strays(struct rt_journal *parts, const struct listing *list)
{
    if (list->count > 0 && access(parts->output, F_OK) != 0)
        return rt_fail(RT_EFORMAT, "%s: holds parts but no header.h5; remove the folder to begin anew",
                       parts->folder);
    for (size_t i = 0; i < list->count; i++) {
        char name[32];
        snprintf(name, sizeof name, PART_NAME, list->part[i]);
        remove_in(parts, name);
    }
    return RT_OK;
}

int rt_journal_open(const char *output, struct rt_journal *parts)
{
    struct listing list = {0};
    *parts = (struct rt_journal){.lock = -1};
    rt_dataset_init(&parts->header);
    rt_dataset_init(&parts->saved);
    parts->output = rt_strdup(output);
    parts->folder = rt_format("%s.parts", output);
    int status = take_lock(parts);
    if (status == RT_OK)
        status = list_parts(parts, &list);
    if (status == RT_OK)
        status = read_header(parts);
    if (status == RT_OK && !parts->begun)
        status = remove_strays(parts, &list);
    for (size_t i = 0; status == RT_OK && parts->begun && i < list.count; i++) {
        status = read_part(parts, list.part[i]);
        parts->last = list.part[i];
    }
    free(list.part);
    return status;
}

int rt_journal_begin(struct rt_journal *parts, const struct rt_dataset *header)
{
    char *path = path_in(parts, "header.h5");
    int status = rt_dataset_write(header, path);
    if (status == RT_OK)
        status = rt_dataset_append(&parts->header, header);
    parts->begun = status == RT_OK;
    free(path);
    return status;
}

int rt_journal_save(struct rt_journal *parts, const struct rt_dataset *part)
{
    char *path = rt_format("%s/" PART_NAME, parts->folder, parts->last + 1);
    int status = rt_dataset_write(part, path);
    free(path);
    if (status != RT_OK)
        return status;
    parts->last++;
    return rt_dataset_append(&parts->saved, part);
}

int rt_journal_discard(struct rt_journal *parts)
{
    struct listing list = {0};
    int status = list_parts(parts, &list);
    if (status != RT_OK)
        return status;
    remove_in(parts, "header.h5");
    for (size_t i = 0; i < list.count; i++) {
        char name[32];
        snprintf(name, sizeof name, PART_NAME, list.part[i]);
        remove_in(parts, name);
    }
    free(list.part);
    parts->begun = false;
    parts->last = 0;
    rt_dataset_release(&parts->header);
    rt_dataset_release(&parts->saved);
    rt_dataset_init(&parts->header);
    rt_dataset_init(&parts->saved);
    return RT_OK;
}

int rt_journal_finish(struct rt_journal *parts)
{
    rt_dataset_stamp(&parts->saved);
    int status = rt_dataset_write(&parts->saved, parts->output);
    if (status != RT_OK)
        return rt_fail_context(status, "the parts in %s are whole", parts->folder);
    struct rt_dataset saved = parts->saved; /* the caller still wants to look at it */
    rt_dataset_init(&parts->saved);
    status = rt_journal_discard(parts);
    rt_dataset_release(&parts->saved);
    parts->saved = saved;
    return status;
}

void rt_journal_close(struct rt_journal *parts)
{
    if (parts->lock >= 0) {
        if (!parts->begun && lock_is_current(parts)) {
            remove_in(parts, "lock");
            rmdir(parts->folder); /* fails, rightly, where something else lies in it */
        }
        close(parts->lock);
    }
    free(parts->output);
    free(parts->folder);
    rt_dataset_release(&parts->header);
    rt_dataset_release(&parts->saved);
    *parts = (struct rt_journal){.lock = -1};
}
