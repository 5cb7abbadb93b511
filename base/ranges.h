/*
 * Lists of numbers on the command line: "25,50,100", ranges FROM:TO:STEP such as "10:100:10", or both mixed.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { RT_RANGES_MOST = 200 };

struct rt_numbers {
    double value[RT_RANGES_MOST];
    size_t count;
};

/* What the numbers of an option are, for its sentences. */
struct rt_range_kind {
    const char *noun, *nouns; /* "share", "shares" */
    const char *give;         /* "give percents of the SMs such as 25,50,100, or FROM:TO:STEP such as ..." */
    const char *bounds;       /* "a share is above 0 and at most 100 percent of the SMs" */
    double most;              /* that a number may be; all are above 0 */
};

/* In order. RT_EUSAGE for what is no list of such numbers. */
int rt_ranges_read(const char *option, const char *text, const struct rt_range_kind *kind,
                   struct rt_numbers *out);

/* The same without ranges: at most `count` numbers from `least` to `most`, or whole ones. */
int rt_numbers_read(const char *option, const char *text, double least, double most, bool whole, size_t count,
                    struct rt_numbers *out);
