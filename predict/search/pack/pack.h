/*
 * Packing: which jobs run side by side on one GPU, on which shares of its SMs and in which batches, so that
 * each meets its rate and latency (gpulets: Choi et al., USENIX ATC 2022; D-STACK: Dhakal et al. 2023), and
 * what that gains over time slicing and over a GPU for each job.
 */
#pragma once

#include "base/ranges.h"
#include "base/report.h"
#include "datasets/share.h"
#include "predict/step/forecast.h"
#include "predict/step/jobs.h"

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
    const double *watts;   /* (shares) of what it computes and moves, beside a busy board's own; 0: unknown */
    const double *time_us; /* (shares, RT_PACK_LEVELS) with that part of the L2 */
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
    double dynamic_w;        /* the board's power less what it draws at rest and for being busy; 0: unknown */
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

/* --- what jobs on one GPU cost each other --- */

/* Side by side: memory's bandwidth is what the others leave, at least a job's part by SMs. They are taken to
 * draw what they draw undisturbed, which is more than they will, so no forecast is too hopeful. The L2
 * is divided by SMs already (surface.c). What is left of neighbours is 2%, as on MIG slices, where MLPerf's
 * runs with all other slices busy reach 0.981 of those with idle ones (mean of 19); the clock, which the
 * board's power holds down for all: by their watts; and L2 and bandwidth, by the part of its time that a job
 * is bound by memory. Both constants are fitted to a tenth of iGniter's pairs (docs/log/parts.md). A thread
 * of the host that launches for several jobs divides its time among them. */

/* Of a job that has a share of its own and no neighbours, or one that has some whose traffic is not yet
 * known: nothing that neighbours do makes it faster. */
double rt_pack_alone_us(const struct rt_pack_problem *problem, size_t job, size_t batch, size_t share,
                        bool neighbours);

/* Step times of the jobs of group->jobs, by their batches and shares: sets step_us and alone_us. */
void rt_pack_side_by_side(const struct rt_pack_problem *problem, struct rt_pack_group *group);

/* The same of jobs that take turns on the whole GPU, by their batches: slices of time, as the driver gives
 * them to processes. At worst a step waits for as long a turn of every other job; jobs without a rate divide
 * what those with one leave. Changing from one to the other costs nothing and a GPU that waits for one job's
 * host runs another's kernels: the best that time slicing can do. */
void rt_pack_turns(const struct rt_pack_problem *problem, struct rt_pack_group *group);

/* What follows for a job from its step: latency, throughput, work and margin. `whole_rate`: items a second of
 * a GPU of its own. A batch of b items at rate r fills in (b - 1) / r and must be done in b / r. */
void rt_pack_judge(const struct rt_pack_job *job, double whole_rate, struct rt_pack_place *place);

/* Items a second on a GPU of its own, in the best of its batches that meet its latency (and its rate); 0:
 * none does. *batch (may be NULL) is that one. */
double rt_pack_whole_rate(const struct rt_pack_problem *problem, size_t job, size_t *batch);

/* --- the best plan --- */

/* Groups of jobs, a GPU each. A group runs side by side or takes turns, whichever is better;
 * better is more work, then more margin. Side by side, shares and batches are found by branch and bound: what
 * jobs do without neighbours bounds what they do with them. Every group is tried, and the fewest GPUs that
 * meet all targets are taken, or as many as are given with the most work. */

/* The best of a group of jobs (a bit each) that may go these ways (a bit each); false where none of them
 * meets all targets in the GPU's memory. */
bool rt_pack_best_group(const struct rt_pack_problem *problem, uint32_t jobs, unsigned ways,
                        struct rt_pack_group *out);

/* `gpus`: at most so many; 0: as few as meet all targets. One job alone may always have a whole GPU. False
 * where they are too few, or where a job misses its targets even alone. */
bool rt_pack_best_plan(const struct rt_pack_problem *problem, size_t gpus, unsigned ways,
                       struct rt_pack_plan *out);

/* All jobs side by side on one GPU, the n-th on the n-th share in its first batch: how far that serves them,
 * whatever their targets. */
void rt_pack_given_plan(const struct rt_pack_problem *problem, struct rt_pack_plan *out);

/* --- from a list of jobs to a problem --- */

/* Every job, in every batch, forecast on every share of the SMs at
 * several bandwidths. A share with neighbours has its part of the L2 by SMs. */
struct rt_pack_options {
    enum rt_share_kind kind;
    double step_percent; /* of the SMs, between the shares that are tried */
    struct rt_numbers given; /* percent of the SMs for each job; none: the best are searched */
    double launchers;    /* as struct rt_pack_problem has them */
    struct rt_forecast_options forecast;
};

struct rt_pack_surface {
    struct rt_pack_problem problem; /* points into what follows */
    struct rt_pack_job *job;
    double *share_sms;
    double **number; /* arrays of times and bytes */
    size_t numbers;
};

/* `path`: of the list, for messages. RT_EFORMAT naming file and line where a job cannot be forecast on the
 * device, does not fit into its memory, or misses its rate or latency on all of it; RT_EUSAGE for more than
 * RT_PACK_JOBS, and for given shares that are not one for each job or more than the GPU. A GPU that has no
 * shares (AMD's) has none in the problem. `jobs` must outlive the surface. Release with
 * rt_pack_surface_release. */
int rt_pack_surface(const char *path, const struct rt_gpu_jobs *jobs, const struct rt_predictor *predictor,
                    const struct rt_device *whole, const struct rt_pack_options *options,
                    struct rt_pack_surface *out);
void rt_pack_surface_release(struct rt_pack_surface *surface);

/* --- what `rooftile pack` prints --- */

/* A plan with what it is beside: `slices` and `whole` are plans by turns alone and of a GPU for each job;
 * gpus 0: there is none. */
struct rt_pack_result {
    struct rt_pack_plan plan, slices, whole;
};

/* Free with rt_report_free. */
struct rt_report *rt_pack_report(const struct rt_pack_problem *problem, const struct rt_pack_result *result,
                                 const char *gpu, const char *predictor, enum rt_share_kind kind);
