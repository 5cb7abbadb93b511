/*
 * How a kernel is measured, whatever the backend: warm-up, batches that are long for the clock, and samples
 * until the median is known well enough or the time is spent.
 *
 * The relative error of the median is its standard error over the median, with the scatter taken from the
 * median absolute deviation: 1.2533 * 1.4826 * MAD / sqrt(n) / median (both factors are those of a normal
 * distribution). Times with two humps (a clock with two states) can have a MAD of 0, so it is never less than
 * half the distance between the order statistics sqrt(n) / 2 to either side of the median. It is looked at
 * when the number of samples has grown by half, not after each: looking more often stops too early.
 */
#ifndef ROOFTILE_COLLECT_MEASURE_H
#define ROOFTILE_COLLECT_MEASURE_H

#include "collect/backend.h"

struct rt_stopping {
    double rel_error;  /* of the median, to stop at */
    double max_time_s; /* per kernel, warm-up included; `least` samples are taken whatever they cost */
    double batch_us;   /* shortest batch of runs worth a look at the clock */
    int least, most;   /* samples */
};
#define RT_STOPPING_DEFAULT ((struct rt_stopping){0.005, 0.2, 100, 5, 2000})

struct rt_statistics {
    double median, min, mad, p20, p80;
    double rel_error; /* of the median */
};

struct rt_measurement {
    struct rt_statistics us; /* of one run */
    int samples;             /* timed batches */
    uint64_t runs;           /* timed runs: samples x runs of a batch */
    bool met;                /* the criterion: rel_error is at most what was asked for */
};

/* Of `count` > 0 values, which are sorted in place. */
struct rt_statistics rt_statistics(double *values, size_t count);

/* `warm`: with the operands left in the caches. RT_EINTERRUPTED after Ctrl-C, or what the backend's `time`
 * failed with. */
int rt_measure(const struct rt_backend *backend, void *context, void *work,
               const struct rt_stopping *stopping, bool warm, struct rt_measurement *out);

#endif
