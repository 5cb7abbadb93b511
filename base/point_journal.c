/* The journal of a table of points on disk. See point_journal.h. */
#include "base/point_journal.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <unistd.h>

static const char title[] = "rooftile points 1\n";

struct header {
    char title[24];
    uint64_t key, width, points;
};

static char *journal_path(const char *output, struct rt_shard shard)
{
    return shard.of == 0 ? rt_format("%s.journal", output)
                         : rt_format("%s.shard-%zu-of-%zu", output, shard.number, shard.of);
}

/* Journals of shards of an output; release with globfree(). */
static size_t find_shards(const char *output, glob_t *found)
{
    struct rt_text pattern = {0};
    for (const char *at = output; *at != '\0'; at++)
        rt_text_add(&pattern, strchr("*?[\\", *at) != NULL ? "\\%c" : "%c", *at);
    rt_text_add(&pattern, ".shard-[0-9]*-of-[0-9]*");
    *found = (glob_t){0};
    int status = glob(pattern.text, 0, NULL, found);
    rt_text_release(&pattern);
    return status == 0 ? found->gl_pathc : 0;
}

size_t rt_point_chunks(const struct rt_point_table *table)
{
    return (table->points + table->chunk - 1) / table->chunk;
}

size_t rt_point_chunk_points(const struct rt_point_table *table, size_t chunk)
{
    size_t left = table->points - chunk * table->chunk;
    return left < table->chunk ? left : table->chunk;
}

static size_t points_done(const struct rt_point_table *table)
{
    size_t done = 0;
    for (size_t c = 0; c < rt_point_chunks(table); c++)
        done += table->done[c] ? rt_point_chunk_points(table, c) : 0;
    return done;
}

static double *chunk_at(const struct rt_point_table *table, size_t chunk)
{
    return table->numbers + chunk * table->chunk * table->width;
}

static struct header header_of(const struct rt_point_table *table)
{
    struct header header = {.key = table->key, .width = table->width, .points = table->points};
    strcpy(header.title, title);
    return header;
}

/* All of it, or false. */
static bool read_all(int file, void *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        ssize_t got = read(file, (char *)bytes + at, size - at);
        if (got <= 0 && !(got < 0 && errno == EINTR))
            return false;
        at += got > 0 ? (size_t)got : 0;
    }
    return true;
}

static int write_all(const struct rt_point_journal *journal, const void *bytes, size_t size)
{
    for (size_t at = 0; at < size;) {
        ssize_t put = write(journal->file, (const char *)bytes + at, size - at);
        if (put < 0 && errno != EINTR)
            return rt_fail(RT_EIO, "%s: cannot be written: %s", journal->path, strerror(errno));
        at += put > 0 ? (size_t)put : 0;
    }
    return RT_OK;
}

static uint64_t hash_of(uint64_t chunk, const double *numbers, size_t count)
{
    return rt_hash(rt_hash(RT_HASH_START, &chunk, sizeof chunk), numbers, count * sizeof *numbers);
}

/* One chunk into the table; false at the end and where it is not whole. */
static bool read_chunk(int file, struct rt_point_table *table, double *room)
{
    uint64_t chunk, hash;
    if (!read_all(file, &chunk, sizeof chunk) || chunk >= rt_point_chunks(table))
        return false;
    size_t count = rt_point_chunk_points(table, (size_t)chunk) * table->width;
    if (!read_all(file, room, count * sizeof *room) || !read_all(file, &hash, sizeof hash) ||
        hash != hash_of(chunk, room, count))
        return false;
    memcpy(chunk_at(table, (size_t)chunk), room, count * sizeof *room);
    table->done[chunk] = true;
    return true;
}

/* Every whole chunk; where the last one ends. */
static off_t read_chunks(int file, struct rt_point_table *table)
{
    double *room = rt_malloc(table->chunk * table->width * sizeof *room);
    off_t whole;
    do
        whole = lseek(file, 0, SEEK_CUR);
    while (read_chunk(file, table, room));
    free(room);
    return whole;
}

static int lock(struct rt_point_journal *journal, const struct rt_point_table *table, const char *output)
{
    journal->file = open(journal->path, O_CREAT | O_RDWR | O_CLOEXEC | O_NOFOLLOW, 0666);
    if (journal->file < 0)
        return rt_fail(RT_EIO, "%s: cannot be made: %s; choose another output", journal->path,
                       strerror(errno));
    if (flock(journal->file, LOCK_EX | LOCK_NB) != 0)
        return rt_fail(RT_EUSAGE,
                       "%s: the %s goes on in another process; wait for it, or choose another output", output,
                       table->what);
    return RT_OK;
}

/* The header that is there, of which a kill may have left a beginning: *whole. RT_EUSAGE where it may not go.
 */
static int read_header(const struct rt_point_journal *journal, const struct rt_point_table *table,
                       bool replace, bool *whole)
{
    const struct header expected = header_of(table);
    struct header header = {.key = 0};
    ssize_t size = pread(journal->file, &header, sizeof header, 0);
    size_t known = size > (ssize_t)sizeof title - 1 ? sizeof title - 1 : size > 0 ? (size_t)size : 0;
    *whole = false;
    if (size < 0 || memcmp(header.title, title, known) != 0)
        return rt_fail(RT_EUSAGE,
                       "%s: is there already and is no journal of points; move it, or choose another output",
                       journal->path);
    if (size < (ssize_t)sizeof header)
        return RT_OK;
    *whole = memcmp(&header, &expected, sizeof header) == 0;
    return *whole || replace ? RT_OK
                             : rt_fail(RT_EUSAGE,
                                       "%s: is of another %s that did not end; go on with the command that "
                                       "began it, or start over with {overwrite}",
                                       journal->path, table->what);
}

/* What a shard did, which may still be at it. */
static int take_shard(const char *path, struct rt_point_table *table)
{
    struct rt_point_journal shard = {.path = rt_strdup(path),
                                     .file = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW)};
    bool same = false;
    int status = shard.file >= 0 ? read_header(&shard, table, false, &same)
                                 : rt_fail(RT_EIO, "%s: cannot be read: %s", path, strerror(errno));
    if (status == RT_OK && same && lseek(shard.file, sizeof(struct header), SEEK_SET) > 0)
        read_chunks(shard.file, table);
    rt_point_journal_close(&shard);
    return status;
}

static int take_shards(const char *output, struct rt_point_table *table)
{
    glob_t found;
    int status = RT_OK;
    size_t count = find_shards(output, &found);
    for (size_t i = 0; status == RT_OK && i < count; i++)
        status = take_shard(found.gl_pathv[i], table);
    globfree(&found);
    return status;
}

int rt_point_journal_open(const char *output, struct rt_shard shard, bool replace,
                          struct rt_point_table *table, struct rt_point_journal *journal)
{
    struct rt_point_journal opened = {.path = journal_path(output, shard), .file = -1};
    const struct header header = header_of(table);
    bool same = false;
    off_t whole = 0;
    int status = lock(&opened, table, output);
    if (status == RT_OK)
        status = read_header(&opened, table, replace, &same);
    if (status == RT_OK && same)
        whole = lseek(opened.file, sizeof header, SEEK_SET) > 0 ? read_chunks(opened.file, table) : 0;
    if (status == RT_OK &&
        (ftruncate(opened.file, whole) != 0 || lseek(opened.file, whole, SEEK_SET) != whole))
        status = rt_fail(RT_EIO, "%s: cannot be written: %s", opened.path, strerror(errno));
    if (status == RT_OK && whole == 0)
        status = write_all(&opened, &header, sizeof header);
    table->resumed = points_done(table);
    if (status == RT_OK && shard.of == 0) {
        status = take_shards(output, table);
        if (status != RT_OK && whole == 0) /* it holds nothing */
            unlink(opened.path);
    }
    if (status == RT_OK)
        *journal = opened;
    else
        rt_point_journal_close(&opened);
    return status;
}

int rt_point_journal_add(struct rt_point_journal *journal, const struct rt_point_table *table, size_t chunk)
{
    const double *numbers = chunk_at(table, chunk);
    size_t count = rt_point_chunk_points(table, chunk) * table->width;
    uint64_t number = chunk, hash = hash_of(number, numbers, count);
    int status = write_all(journal, &number, sizeof number);
    if (status == RT_OK)
        status = write_all(journal, numbers, count * sizeof *numbers);
    if (status == RT_OK)
        status = write_all(journal, &hash, sizeof hash);
    table->done[chunk] |= status == RT_OK;
    return status;
}

void rt_point_journal_close(struct rt_point_journal *journal)
{
    if (journal->file >= 0)
        close(journal->file);
    free(journal->path);
    *journal = (struct rt_point_journal){.file = -1};
}

void rt_point_journal_say(const char *output, struct rt_shard shard, const struct rt_point_table *table)
{
    char *path = journal_path(output, shard);
    printf("shard %zu/%zu: %zu of %zu points are kept in %s; when all shards are done, the same command "
           "without --shard makes the rest\n",
           shard.number, shard.of, points_done(table), table->points, path);
    free(path);
}

int rt_point_shard_check(struct rt_shard shard, const char *output, const char *outputs, const char *option)
{
    if (shard.of == 0)
        return RT_OK;
    if (output == NULL)
        return rt_fail(RT_EUSAGE,
                       "{shard}: say where all points go, %s FILE: what a shard makes is kept beside it",
                       outputs);
    return option == NULL
               ? RT_OK
               : rt_fail(RT_EUSAGE, "--%s is written by the same command without {shard}, of all shards",
                         option);
}

void rt_point_journal_remove(const char *output)
{
    char *path = journal_path(output, (struct rt_shard){0, 0});
    glob_t found;
    size_t count = find_shards(output, &found);
    unlink(path);
    for (size_t i = 0; i < count; i++)
        unlink(found.gl_pathv[i]);
    globfree(&found);
    free(path);
}
