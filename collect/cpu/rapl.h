/*
 * RAPL (running average power limit): counters of the energy that x86 packages took, as Linux shows them
 * below /sys/class/powercap (Documentation/power/powercap/powercap.rst of Linux): intel-rapl:0/name is
 * "package-0", energy_uj its counter in microjoules, max_energy_range_uj what that counts up to before it
 * begins again. AMD's processors have the same files. A package is the whole processor: all its cores, at
 * work or idle, and its caches; memory modules, boards and fans are not in it.
 *
 * Since 2020 only root may read the counters (CVE-2020-8694). ROOFTILE_POWERCAP names another folder.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

enum { RT_RAPL_PACKAGES = 16 };

struct rt_rapl_package {
    char counter[300]; /* path of its energy_uj */
    double range_uj;   /* 0: not known */
    double last_uj;
};

struct rt_rapl {
    struct rt_rapl_package package[RT_RAPL_PACKAGES];
    size_t count;
    char missing[400]; /* why there is no counter, for a sentence; "" where there is one */
};

/* Finds the packages and reads each once. */
void rt_rapl_open(struct rt_rapl *out);

/* What all packages took since the last call (the first: since rt_rapl_open), in mJ; a counter may begin
 * again once between two calls. NaN where one cannot be read (`missing` then says why), or fell without a
 * range. */
double rt_rapl_taken_mj(struct rt_rapl *rapl);
