/* The journal of a collection on disk. See journal.h. */
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

static char *path_in(const struct rt_journal *journal, const char *name)
{
    return rt_format("%s/%s", journal->folder, name);
}

static char *part_path(const struct rt_journal *journal, unsigned number)
{
    return rt_format("%s/" PART_NAME, journal->folder, number);
}

/* Takes the path. */
static void remove_path(char *path)
{
    unlink(path);
    free(path);
}

/* ---- the lock ---- */

static int open_lock(struct rt_journal *journal)
{
    if (mkdir(journal->folder, 0777) != 0 && errno != EEXIST)
        return rt_fail(RT_EIO, "%s: cannot be made: %s; choose another -o", journal->folder, strerror(errno));
    char *path = path_in(journal, "lock");
    journal->lock = open(path, O_CREAT | O_RDWR | O_CLOEXEC, 0666);
    int code = errno;
    free(path);
    if (journal->lock < 0 && code != ENOENT) /* ENOENT: a finishing collector removed the folder; try again */
        return rt_fail(RT_EIO, "%s: cannot be locked: %s; choose another -o", journal->folder,
                       strerror(code));
    return RT_OK;
}

/* Is the locked file still the one in the folder? A collector that ends removes it. */
static bool lock_is_current(const struct rt_journal *journal)
{
    struct stat ours, there;
    char *path = path_in(journal, "lock");
    bool same = fstat(journal->lock, &ours) == 0 && stat(path, &there) == 0 && ours.st_ino == there.st_ino &&
                ours.st_dev == there.st_dev;
    free(path);
    return same;
}

static int take_lock(struct rt_journal *journal)
{
    for (int try = 0; try < 100; try++) {
        int status = open_lock(journal);
        if (status != RT_OK)
            return status;
        if (journal->lock < 0)
            continue;
        if (flock(journal->lock, LOCK_EX | LOCK_NB) != 0) {
            char who[32] = "";
            if (pread(journal->lock, who, sizeof who - 1, 0) < 0)
                who[0] = '\0';
            close(journal->lock);
            journal->lock = -1;
            return rt_fail(
                RT_EUSAGE,
                "%s: another collector (process %ld) is writing it; wait for it, or choose another -o",
                journal->output, strtol(who, NULL, 10));
        }
        if (lock_is_current(journal)) {
            char who[32];
            int length = snprintf(who, sizeof who, "%ld\n", (long)getpid());
            if (ftruncate(journal->lock, 0) != 0 || pwrite(journal->lock, who, (size_t)length, 0) != length)
                return rt_fail(RT_EIO, "%s: cannot be written: %s; free some space", journal->folder,
                               strerror(errno));
            return RT_OK;
        }
        close(journal->lock);
        journal->lock = -1;
    }
    return rt_fail(RT_EIO, "%s: appears and disappears; is another collector being started over and over?",
                   journal->folder);
}

/* ---- reading ---- */

static bool is_part(const char *name, unsigned *number)
{
    char again[32];
    if (sscanf(name, "part-%6u.h5", number) != 1)
        return false;
    snprintf(again, sizeof again, PART_NAME, *number);
    return strcmp(name, again) == 0;
}

/* Of a header or a part; also as builds before named them. Whoever made it is gone: this one holds the lock.
 */
static bool is_temporary(const char *name)
{
    size_t length = strlen(name);
    return (strncmp(name, "header.h5.", 10) == 0 || strncmp(name, "part-", 5) == 0) && length > 4 &&
           strcmp(name + length - 4, ".tmp") == 0;
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

/* Numbers of the parts in ascending order; temporaries are removed on the way. */
static int list_parts(const struct rt_journal *journal, struct listing *out)
{
    struct listing list = {0};
    DIR *folder = opendir(journal->folder);
    if (folder == NULL)
        return rt_fail(RT_EIO, "%s: cannot be read: %s", journal->folder, strerror(errno));
    for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        unsigned number;
        if (is_temporary(entry->d_name)) {
            remove_path(path_in(journal, entry->d_name));
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

static int read_part(struct rt_journal *journal, unsigned number)
{
    struct rt_dataset part;
    char *path = part_path(journal, number);
    int status = rt_dataset_read(path, &part);
    if (status == RT_OK) {
        status = rt_dataset_append(&journal->saved, &part);
        rt_dataset_release(&part);
    }
    if (status != RT_OK)
        status = rt_fail_context(status, "remove %s to measure its kernels again", path);
    free(path);
    return status;
}

static int read_header(struct rt_journal *journal)
{
    char *path = path_in(journal, "header.h5");
    int status = RT_OK;
    journal->begun = access(path, F_OK) == 0;
    if (journal->begun) {
        struct rt_dataset header;
        status = rt_dataset_read(path, &header);
        if (status == RT_OK) {
            rt_dataset_release(&journal->header);
            journal->header = header;
        }
    }
    if (journal->begun && status != RT_OK)
        status = rt_fail_context(status, "remove the folder %s to start again", journal->folder);
    free(path);
    return status;
}

/* Parts without a header are in the output already: the collector was killed while it removed them. */
static int remove_strays(struct rt_journal *journal, const struct listing *list)
{
    if (list->count > 0 && access(journal->output, F_OK) != 0)
        return rt_fail(RT_EFORMAT, "%s: holds parts but no header.h5; remove the folder to start again",
                       journal->folder);
    for (size_t i = 0; i < list->count; i++)
        remove_path(part_path(journal, list->part[i]));
    return RT_OK;
}

/* Development builds named the folder OUT.h5.parts; its content is the same. */
static void adopt_parts(const struct rt_journal *journal)
{
    char *folder = rt_format("%s.parts", journal->output);
    if (access(journal->folder, F_OK) != 0)
        rename(folder, journal->folder); /* fails where there is none */
    free(folder);
}

bool rt_journal_is_begun(const char *output)
{
    char *header = rt_format("%s.journal/header.h5", output);
    bool begun = access(header, F_OK) == 0;
    free(header);
    return begun;
}

int rt_journal_open(const char *output, struct rt_journal *journal)
{
    struct listing list = {0};
    *journal = (struct rt_journal){.lock = -1};
    rt_dataset_init(&journal->header);
    rt_dataset_init(&journal->saved);
    journal->output = rt_strdup(output);
    journal->folder = rt_format("%s.journal", output);
    adopt_parts(journal);
    int status = take_lock(journal);
    if (status == RT_OK)
        status = list_parts(journal, &list);
    if (status == RT_OK)
        status = read_header(journal);
    if (status == RT_OK && !journal->begun)
        status = remove_strays(journal, &list);
    for (size_t i = 0; status == RT_OK && journal->begun && i < list.count; i++) {
        status = read_part(journal, list.part[i]);
        journal->last = list.part[i];
    }
    free(list.part);
    return status;
}

int rt_journal_begin(struct rt_journal *journal, const struct rt_dataset *header)
{
    char *path = path_in(journal, "header.h5");
    int status = rt_dataset_write(header, path);
    if (status == RT_OK)
        status = rt_dataset_append(&journal->header, header);
    journal->begun = status == RT_OK;
    free(path);
    return status;
}

int rt_journal_save(struct rt_journal *journal, const struct rt_dataset *part)
{
    char *path = part_path(journal, journal->last + 1);
    int status = rt_dataset_write(part, path);
    free(path);
    if (status != RT_OK)
        return status;
    journal->last++;
    return rt_dataset_append(&journal->saved, part);
}

int rt_journal_discard(struct rt_journal *journal)
{
    struct listing list = {0};
    int status = list_parts(journal, &list);
    if (status != RT_OK)
        return status;
    remove_path(path_in(journal, "header.h5"));
    for (size_t i = 0; i < list.count; i++)
        remove_path(part_path(journal, list.part[i]));
    free(list.part);
    journal->begun = false;
    journal->last = 0;
    rt_dataset_release(&journal->header);
    rt_dataset_release(&journal->saved);
    rt_dataset_init(&journal->header);
    rt_dataset_init(&journal->saved);
    return RT_OK;
}

size_t rt_journal_kernels(const struct rt_journal *journal)
{
    size_t count = 0;
    for (size_t i = 0; i < journal->saved.samples.count; i++)
        count += !(RT_SAMPLE(&journal->saved, i)->flags & RT_FLAG_REPEAT);
    return count;
}

int rt_journal_finish(struct rt_journal *journal)
{
    rt_dataset_stamp(&journal->saved);
    int status = rt_dataset_write(&journal->saved, journal->output);
    if (status != RT_OK)
        return rt_fail_context(status, "the parts in %s are complete", journal->folder);
    struct rt_dataset saved = journal->saved; /* the caller summarises it */
    rt_dataset_init(&journal->saved);
    status = rt_journal_discard(journal);
    rt_dataset_release(&journal->saved);
    journal->saved = saved;
    return status;
}

void rt_journal_close(struct rt_journal *journal)
{
    if (journal->lock >= 0) {
        if (!journal->begun && lock_is_current(journal)) {
            remove_path(path_in(journal, "lock"));
            rmdir(journal->folder); /* fails, as it should, where other files are in it */
        }
        close(journal->lock);
    }
    free(journal->output);
    free(journal->folder);
    rt_dataset_release(&journal->header);
    rt_dataset_release(&journal->saved);
    *journal = (struct rt_journal){.lock = -1};
}
