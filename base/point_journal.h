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
 */
#ifndef ROOFTILE_BASE_POINT_JOURNAL_H
#define ROOFTILE_BASE_POINT_JOURNAL_H

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
};
size_t rt_point_chunks(const struct rt_point_table *table);
size_t rt_point_chunk_points(const struct rt_point_table *table,
                             size_t chunk); /* the last one may be shorter */

struct rt_point_journal {
    char *path;
    int file;
};

/* Reads the chunks of the same table and marks them as done; `replace`: a journal of another one may go.
 * RT_EUSAGE where another process writes it, or something else is there. */
int rt_point_journal_open(const char *output, bool replace, struct rt_point_table *table,
                          struct rt_point_journal *journal);

/* Appends a chunk of the table. */
int rt_point_journal_add(struct rt_point_journal *journal, const struct rt_point_table *table, size_t chunk);

/* Releases lock and memory; the file stays. */
void rt_point_journal_close(struct rt_point_journal *journal);

/* Removes the journal of an output that is whole. */
void rt_point_journal_remove(const char *output);

#endif
