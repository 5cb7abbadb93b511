/*
 * The best partition of one GPU for a list of jobs, an instance for each: exact search over profiles and
 * placements (datasets/mig.h). What is maximised is the progress of all jobs together, each as a share of
 * what it makes alone on the whole board: the system throughput of Eyerman and Eeckhout (IEEE Micro 28(3),
 * 2008).
 */
#ifndef ROOFTILE_PREDICT_SEARCH_ADVISE_PARTITION_H
#define ROOFTILE_PREDICT_SEARCH_ADVISE_PARTITION_H

#include "datasets/mig.h"

struct rt_partition {
    int count;                  /* of jobs, and of instances */
    int profile[RT_MIG_PLACES]; /* of each job's instance: its place in rt_mig.profile */
    int start[RT_MIG_PLACES];   /* memory slice */
    double progress;            /* the sum */
    int memory_slices;          /* taken */
};

/* progress (jobs, mig->count): what a job makes on an instance of a profile, of what it makes on the whole
 * board; NaN: it does not fit, or misses its target. The most progress in all, of equal ones (to 1e-9) the
 * fewest memory slices, of those the first in the order of profiles. False where no partition serves all, or
 * jobs are more than RT_MIG_PLACES. */
bool rt_partition_best(const struct rt_mig *mig, const double *progress, int jobs, struct rt_partition *out);

/* The naive alternative: all instances of one profile, the best such. */
bool rt_partition_equal(const struct rt_mig *mig, const double *progress, int jobs, struct rt_partition *out);

#endif
