/*
 * How a kernel is measured on any backend: warm-up, batches of runs long enough for the clock, and samples
 * until the relative error of the median is small enough or the time is spent.
 *
 * The relative error of the median is its standard error over the median, with the scatter taken from the
 * median absolute deviation: 1.2533 * 1.4826 * MAD / sqrt(n) / median (both factors are those of a normal
 * distribution). Bimodal times (a clock with two states) can have a MAD of 0, so the error is at least half
 * the distance between the order statistics sqrt(n) / 2 to either side of the median. It is tested each time
 * the number of samples has grown by half: testing after every sample would stop too early.
 */
#pragma once

#include "collect/backend.h"

struct rt_stopping {
    double rel_error;  /* of the median, to stop at */
    double max_time_s; /* per kernel, with warm-up; `least` samples are taken even if they take longer */
    double batch_us;   /* a batch takes at least this long, so that the clock is precise */
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
    bool met;                /* rel_error is at most that of rt_stopping */
};

/* Of `count` > 0 values, which are sorted in place. */
struct rt_statistics rt_statistics(double *values, size_t count);

/* `warm`: with operands in the caches. RT_EINTERRUPTED after Ctrl-C, or the status of the backend's `time`.
 */
int rt_measure(const struct rt_backend *backend, void *context, void *work,
               const struct rt_stopping *stopping, bool warm, struct rt_measurement *out);
