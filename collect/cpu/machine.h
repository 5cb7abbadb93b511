/* What the operating system reports about this machine's CPU: /proc/cpuinfo, /sys, sysconf, sysinfo. */
#pragma once

#include <stdbool.h>
#include <stddef.h>

/* Assumed where neither /sys nor sysconf reports the size of the last-level cache. */
#define RT_CPU_CACHE_ASSUMED ((size_t)32 << 20)

struct rt_cpu_machine {
    char model[64];        /* "AMD EPYC 9B14"; the architecture where the model has no name */
    char vendor[32];       /* "AMD", "Intel", "" */
    char architecture[32]; /* "x86_64" */
    int threads;           /* this process may use: its affinity mask */
    size_t cache_bytes;    /* last-level cache */
    bool cache_known;
    double clock_mhz; /* the highest, NaN where not known */
    double memory_bytes;
};

void rt_cpu_machine_read(struct rt_cpu_machine *out);

/* Value of the first "key : value" line of /proc/cpuinfo's text, blanks trimmed and runs of them made one.
 * false where there is none. */
bool rt_cpuinfo_value(const char *text, const char *key, char *value, size_t size);
