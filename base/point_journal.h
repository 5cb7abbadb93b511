/*
 * The journal of long work that makes a table of numbers point by point (an exploration, a plan of serving):
 * OUTPUT.journal, beside the file that all points go to. It begins with what the points were made from, and
 * holds finished chunks in the order in which they were finished:
 *
 *   "rooftile points 1\n", key, doubles of a point, points      8 bytes each, of this machine
 *   chunk, its doubles, their hash                             again and again
 *
 * A chunk that a kill cut short is dropped, and so is a journal of another table. The file is locked
 * while it is written, and removed when the output is whole.
 *
 * Of work that machines share (--shard I/N) each has a journal of its own, OUTPUT.shard-I-of-N, and keeps it:
 * who does the whole reads all of them first, makes what is missing and removes them with its own.
 */
#pragma once

#include "base/options.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* What it is a journal of. */
struct rt_point_table {
    const char *what; /* "exploration": for sentences */
    uint64_t key;     /* of all that the numbers follow from */
    size_t points, width;
    size_t chunk;    /* points of a chunk, above 0: what a kill may cost */
    double *numbers; /* (points, width) */
    bool *done;      /* (chunks) */
    size_t resumed;  /* points that the journal had, without those of shards; set when it is opened */
};
size_t rt_point_chunks(const struct rt_point_table *table);
size_t rt_point_chunk_points(const struct rt_point_table *table,
                             size_t chunk); /* the last one may be shorter */

struct rt_point_journal {
    char *path;
    int file;
};

/* Reads the chunks of the same table and marks them as done; `replace`: a journal of another one may go.
 * `shard`: whose journal; {0, 0}: the whole's. RT_EUSAGE where another process writes it, or something else
 * is there, or a shard is of another table. */
int rt_point_journal_open(const char *output, struct rt_shard shard, bool replace,
                          struct rt_point_table *table, struct rt_point_journal *journal);

/* Appends a chunk of the table. */
int rt_point_journal_add(struct rt_point_journal *journal, const struct rt_point_table *table, size_t chunk);

/* Releases lock and memory; the file stays. */
void rt_point_journal_close(struct rt_point_journal *journal);

/* How much of the table is done, for who ends a shard: "shard 2/8: 1024 of 65536 points are kept in ...". */
void rt_point_journal_say(const char *output, struct rt_shard shard, const struct rt_point_table *table);

/* RT_EUSAGE: a shard has no `output` to lie beside, or was asked for a report, which is the whole's
 * (`option`, NULL: none was). */
int rt_point_shard_check(struct rt_shard shard, const char *output, const char *outputs, const char *option);

/* Removes the journal of an output that is whole, and those of its shards. */
void rt_point_journal_remove(const char *output);
