/*
 * Does a dataset file follow FORMAT.md, and are its measurements possible? One row per check, with the number
 * of violations and the first or worst of them.
 */
#pragma once

#include "datasets/dataset.h"

enum rt_check_id {
    RT_CHECK_READING,    /* every array reads, checksums hold, every index and enum is valid */
    RT_CHECK_UNITS,      /* units and long_name of every column are the format's */
    RT_CHECK_UUID,       /* the uuid is that of the content */
    RT_CHECK_RANGES,     /* every value is possible */
    RT_CHECK_DUPLICATES, /* no sample or workload equals another in every column */
    RT_CHECK_DEVICES,    /* no GPU twice; a peak for every dtype that samples have */
    RT_CHECK_ROOFLINE,   /* no sample is faster than its GPU's peaks allow */
    RT_CHECK_COUNT
};

struct rt_check {
    const char *name, *what;
    size_t checked, wrong;
    char first[384]; /* "" where nothing is wrong */
};

/* A sample that is faster than its device allows. */
struct rt_impossible {
    size_t sample;
    double latency_us, least_us;
    const char *limit; /* "compute", "memory", "start" */
};

#define RT_IMPOSSIBLE_KEPT 10
struct rt_validation {
    struct rt_check checks[RT_CHECK_COUNT];
    struct rt_impossible worst[RT_IMPOSSIBLE_KEPT]; /* by least_us / latency_us, falling */
    size_t worst_count;
};

#define RT_VALIDATION_UNITS 2 /* of progress */
/* Checks the file; *dataset gets its content. Not RT_OK where the file cannot be read as a dataset.
 * `progress`: NULL, or started with RT_VALIDATION_UNITS. */
int rt_validate(const char *path, struct rt_progress *progress, struct rt_dataset *dataset,
                struct rt_validation *out);

/* Lower bounds of a sample's FLOPs and bytes. How uneven the loads of experts are is an expectation
 * (moe_routing.h); the busiest GPU has at least its even share. Bytes are at the narrowest width that the
 * sample's attributes name. */
double rt_sample_least_flops(const struct rt_sample *sample);
double rt_sample_least_bytes(const struct rt_dataset *dataset, const struct rt_sample *sample);

/* The lower bound in us of a sample's time on its device, and what sets it ("compute", "memory", "start");
 * NaN where no bound is known. Compute always bounds (a convolution by a quarter of its FLOPs, as Winograd's
 * algorithm needs no more); the memory where the traffic exceeds four times the last-level cache, which
 * repeated runs find filled. On GPUs, what fits the cache is bounded by 16 times the memory's bandwidth, and
 * every kernel by 180 cycles. */
double rt_sample_least_us(const struct rt_dataset *dataset, const struct rt_sample *sample,
                          const char **limit);

/* Is the sample faster than that by more than clocks and latencies are rounded? Then its latency or its
 * device's description is wrong: `validate` counts it, and nothing is fitted to it or judged by it. */
bool rt_sample_is_impossible(const struct rt_dataset *dataset, const struct rt_sample *sample);
bool rt_time_beats_bound(double latency_us, double least_us); /* false where the bound is NaN */
