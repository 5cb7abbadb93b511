/*
 * Values with weights, for their mean and percentiles in bounded memory: exact up to RT_TALLY_EXACT entries,
 * beyond in bins of at most 0.1% of the value. Percentiles are numpy's (linear between order statistics), as
 * benchmark_serving has them.
 */
#pragma once

#include <stddef.h>

enum { RT_TALLY_EXACT = 1 << 15 };

struct rt_tally_entry {
    double value, weight;
};

struct rt_tally {
    struct rt_tally_entry *entry; /* while there are few */
    size_t entries, capacity;
    double *bin; /* (weights), where there were too many; NULL: not yet */
    double weight, sum, least, most;
};

/* A value of 0 or more, `weight` times, a whole number above 0. Starts as {0}. */
void rt_tally_add(struct rt_tally *tally, double value, double weight);

/* first, first + slope, ..., `count` values, each `weight` times. */
void rt_tally_add_run(struct rt_tally *tally, double first, double slope, size_t count, double weight);

double rt_tally_mean(const struct rt_tally *tally); /* NaN: of nothing */

/* `share` of 0 to 1: 0.5 is the median. Sorts the entries. NaN: of nothing. */
double rt_tally_percentile(struct rt_tally *tally, double share);

void rt_tally_release(struct rt_tally *tally);
