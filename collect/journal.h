/*
 * The journal of a collection: OUT.h5.journal/ beside OUT.h5, so that nothing measured is lost when the
 * collector is killed.
 *
 *   lock            held with flock by the one collector that may write here
 *   header.h5       a dataset without samples: the devices, the job, its command line
 *   part-000001.h5  datasets of a few seconds of samples, each written atomically and synced
 *
 * At the end the parts become OUT.h5 (atomically) and the folder is removed, header first. So OUT.h5 beside
 * parts without a header holds those parts. OUT.h5 beside a header does not count: either the collector was
 * killed after it wrote OUT.h5, or OUT.h5 is an older file that is about to be replaced.
 */
#pragma once

#include "datasets/dataset.h"

#include <stdbool.h>

struct rt_journal {
    char *output, *folder; /* OUT.h5, OUT.h5.journal */
    int lock;              /* file descriptor, -1: not open */
    bool begun;            /* there is a header */
    struct rt_dataset header;
    struct rt_dataset saved; /* the samples of all parts */
    unsigned last;           /* number of the newest part */
};

/* Is a collection into this output unfinished? */
bool rt_journal_is_begun(const char *output);

/* Locks the folder (made where it is missing), removes temporaries of a killed collector, reads header and
 * parts. RT_EUSAGE where another collector holds the lock; it is named. */
int rt_journal_open(const char *output, struct rt_journal *journal);

/* Writes the header; the folder held none. */
int rt_journal_begin(struct rt_journal *journal, const struct rt_dataset *header);

/* Writes the next part and appends it to `saved`. */
int rt_journal_save(struct rt_journal *journal, const struct rt_dataset *part);

/* Samples that are saved, without repeats. */
size_t rt_journal_kernels(const struct rt_journal *journal);

/* Writes `saved`, stamped, as the output, then removes the parts. */
int rt_journal_finish(struct rt_journal *journal);

/* Removes header and parts with what they hold. */
int rt_journal_discard(struct rt_journal *journal);

/* Releases lock and memory; removes a folder without a header. Accepts what a failed open left. */
void rt_journal_close(struct rt_journal *journal);
