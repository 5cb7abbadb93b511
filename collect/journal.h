/*
 * What a collection keeps while it runs, so that nothing measured is ever lost: OUT.h5.parts/ beside OUT.h5.
 *
 *   lock            held with flock by the one collector that may write here
 *   header.h5       a dataset without samples: the devices, what the collection is, and its command line
 *   part-000001.h5  datasets of at most some seconds of samples, each written atomically and synced
 *
 * At the end the parts become OUT.h5 (atomically) and the folder goes, header first: where OUT.h5 and parts
 * without a header lie side by side, the parts are in OUT.h5. A header beside OUT.h5 means that the parts are
 * still the truth: either the end was cut off after OUT.h5 was written, or OUT.h5 is an older file about to
 * be replaced.
 */
#ifndef ROOFTILE_COLLECT_JOURNAL_H
#define ROOFTILE_COLLECT_JOURNAL_H

#include "datasets/dataset.h"

#include <stdbool.h>

struct rt_journal {
    char *output, *folder; /* OUT.h5, OUT.h5.parts */
    int lock;              /* descriptor, -1: not open */
    bool begun;            /* there is a header */
    struct rt_dataset header;
    struct rt_dataset saved; /* the samples of all parts */
    unsigned last;           /* number of the newest part */
};

/* Locks the folder (made where it is missing), removes temporaries of a killed collector, reads header and
 * parts. RT_EUSAGE where another collector holds the lock; it is named. */
int rt_journal_open(const char *output, struct rt_journal *parts);

/* Writes the header; the folder held none. */
int rt_journal_begin(struct rt_journal *parts, const struct rt_dataset *header);

/* Writes the next part and appends it to `saved`. */
int rt_journal_save(struct rt_journal *parts, const struct rt_dataset *part);

/* Writes `saved`, stamped, as the output, then removes the parts. */
int rt_journal_finish(struct rt_journal *parts);

/* Removes header and parts: what they hold is gone. */
int rt_journal_discard(struct rt_journal *parts);

/* Lets go of the lock and of memory; a folder without a header is removed. Accepts what a failed open left.
 */
void rt_journal_close(struct rt_journal *parts);

#endif
