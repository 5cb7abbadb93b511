/*
 * Is a dataset file what FORMAT.md says, and can its measurements be true? One row per check; what is wrong
 * is counted and the first or worst case told.
 */
#ifndef ROOFTILE_DATASETS_VALIDATE_H
#define ROOFTILE_DATASETS_VALIDATE_H

#include "datasets/dataset.h"

enum rt_check_id {
    RT_CHECK_READING,    /* every array reads, its checksums hold, every index and enum points somewhere */
    RT_CHECK_UNITS,      /* units and long_name of every column are the format's */
    RT_CHECK_UUID,       /* the content is what the uuid was made of */
    RT_CHECK_RANGES,     /* every value lies where it can lie */
    RT_CHECK_DUPLICATES, /* no sample or workload equals another in every column */
    RT_CHECK_DEVICES,    /* no GPU twice; the peaks are there that samples are held against */
    RT_CHECK_ROOFLINE,   /* no sample is faster than its GPU's peaks allow */
    RT_CHECK_COUNT
};

struct rt_check {
    const char *name, *what;
    size_t checked, wrong;
    char first[384]; /* "" where nothing is wrong */
};

/* A sample that is faster than its device can be. */
struct rt_impossible {
    size_t sample;
    double latency_us, least_us;
    const char *limit; /* "compute", "memory" */
};

#define RT_IMPOSSIBLE_KEPT 10
struct rt_validation {
    struct rt_check checks[RT_CHECK_COUNT];
    struct rt_impossible worst[RT_IMPOSSIBLE_KEPT]; /* by least_us / latency_us, falling */
    size_t worst_count;
};

/* Checks the file; *dataset gets its content. Not RT_OK where the file cannot be read as a dataset. */
int rt_validate(const char *path, struct rt_dataset *dataset, struct rt_validation *out);

/* The least time in us that a sample can take on its device, and what sets it; NaN where nothing is known.
 * Compute always counts (a convolution for a quarter, because Winograd's needs no more); memory where the
 * traffic exceeds four times the last-level cache, because runs that are repeated find it filled. */
double rt_sample_least_us(const struct rt_dataset *dataset, const struct rt_sample *sample,
                          const char **limit);

#endif
