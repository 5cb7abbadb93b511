/*
 * Packing: which jobs run side by side on one GPU, on which shares of its SMs and in which batches, so that
 * each meets its rate and latency (gpulets: Choi et al., USENIX ATC 2022; D-STACK: Dhakal et al. 2023), and
 * what that gains over time slicing and over a GPU for each job.
 *
 * The files, in reading order:
 *   pack.h             this: jobs as times by share and bandwidth, and what a plan is
 *   contention.[ch]    what neighbours cost: bandwidth, L2, launches
 *   search.[ch]        the best shares and batches of a group; the best groups
 *   surface.[ch]       from a list of jobs and a predictor to those times
 *   report.[ch], cmd_pack.c   `rooftile pack`
 */
#ifndef ROOFTILE_PREDICT_SEARCH_PACK_PACK_H
#define ROOFTILE_PREDICT_SEARCH_PACK_PACK_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
    RT_PACK_JOBS = 12,  /* of a list: all their groups are tried */
    RT_PACK_LEVELS = 5, /* of bandwidth: rt_pack_levels */
};
extern const double rt_pack_levels[RT_PACK_LEVELS]; /* shares of the bandwidth, the first is 1, falling */

/* A job in one of its batches. Times are of a step. */
struct rt_pack_batch {
    int64_t items;               /* sequences or images of a step */
    double whole_us, kernels_us; /* alone on the whole GPU: the step, and its kernels without waiting */
    double host_us;              /* that a thread of the host launches for */
    double memory_bytes;         /* of the GPU's memory that it takes */
    const double *bytes;         /* (shares) to and from memory, with the share's part of the L2 */
    const double *time_us;       /* (shares, RT_PACK_LEVELS) with that, and its part of the power */
};

struct rt_pack_job {
    const char *name;
    double rate;                       /* items a second that it must serve; NaN: as many as it can */
    double latency_us;                 /* an item may take so long at most; NaN: any time */
    const struct rt_pack_batch *batch; /* (batches) */
    size_t batches;
};

struct rt_pack_problem {
    double sms;
    double bandwidth_gbs;
    double memory_bytes;
    double launchers;        /* threads of the host that launch; INFINITY: one for each job */
    const double *share_sms; /* (shares) growing; the SMs of the shares to choose from */
    size_t shares;
    const struct rt_pack_job *job; /* (jobs), at most RT_PACK_JOBS */
    size_t jobs;
};

enum rt_pack_way {
    RT_PACK_WHOLE,  /* one job has the GPU */
    RT_PACK_SLICED, /* jobs take turns on all of it */
    RT_PACK_SHARED, /* each has a share of the SMs */
    RT_PACK_WAYS
};
extern const char *const rt_pack_ways[RT_PACK_WAYS]; /* "whole", "time slices", "side by side" */

/* A job on its GPU. */
struct rt_pack_place {
    size_t batch, share; /* numbers; a share only where jobs are side by side */
    double step_us;      /* from one of its steps to the next: with neighbours, or with everybody's turns */
    double alone_us;     /* on the same share, or the whole GPU, without neighbours */
    double latency_us;   /* of an item at worst: until its batch is full, then the step */
    double throughput;   /* items a second: its rate where it has one */
    double work;         /* throughput over what a GPU of its own gives */
    double margin;       /* what is left of latency and of the time for a batch, 0..1; below 0: missed */
};

struct rt_pack_group {
    uint32_t jobs; /* a bit each */
    enum rt_pack_way way;
    struct rt_pack_place place[RT_PACK_JOBS]; /* by job */
    double work;   /* sum over its jobs (system throughput, Eyerman and Eeckhout, IEEE Micro 2008) */
    double margin; /* the least of its jobs */
    bool exact;    /* nothing better exists; false: the search was cut short */
};

struct rt_pack_plan {
    struct rt_pack_group group[RT_PACK_JOBS];
    size_t gpus;
    double work;
    bool exact;
};

#endif
