/*
 * Session health: can what was measured be believed? One verdict, for import, info, validate, merge, train,
 * calibrate and cards.
 *
 * A session is what was measured of one device in one file, each split that a source marks for itself. Its
 * verdict rests on the work of its kernels (FLOPs at what the board sustains, datasets/power.h; bytes at its
 * bandwidth):
 *
 *   reach     median of work / time over a family's large kernels of a dtype (RT_LARGE_TIME_US; four times the
 *             last-level cache of traffic, RT_LARGE_TRAFFIC_US). Below the family's floor, or half of what other
 *             sessions of the same design reach, the family is left out: the board was throttled, the unit or the
 *             dtype is wrong. Where that is so of every product, or of all that shows anything without products,
 *             the session is refused whole: what does not show it was measured in it too.
 *   scale     a session of small kernels that take over RT_SLOW_SCALE times their work and 100 us is refused.
 *   steadiness  a kernel and the nearest shape: time grows with work, and no faster. What an op's pairs are off that by
 *             in ln, at three quarters of them; the session is refused where its ops' median is above RT_UNSTEADY.
 *   impossible  kernels that beat their roofline (validate.h); above a fifth of its rows the session is refused.
 *   stray       a kernel that takes over RT_STRAY times its work and what small kernels of its op take: left out. Not
 *               of experts, whose work is an expectation.
 *   apart       the same call, measured twice, RT_APART times apart: named.
 *   drift       a kernel that was repeated through the session (`collect --repeat-every`): named where its slowest
 *               time is RT_DRIFT of its fastest. Nothing is fitted to repeats, and nothing else is judged by them.
 *
 * Thresholds were chosen with the public sessions of docs/results/session-health.csv in view and are not
 * judged by others: that none of these is refused shows no more than that. 0.35 is a third of the 1.05 that
 * none exceeds, so that a session three times too slow is below it; 0.3 in 8 bits and 0.2 of rows (softmax,
 * norms) make room for what was seen. RT_STRAY went from 100 to 400, large kernels from 20 over 500 us of
 * work to 10 over 200 us of time, and what is apart from left out to named, after a look at these sessions.
 * Steadiness: 0.35 is half of what noise with a deviation of 0.5 in ln gave in NeuSight's (0.74); DeepBench's
 * sessions of 83 products reach 0.25. Convolutions, attention and experts are not judged by it, as libraries
 * choose among algorithms there; nor is reach of CPUs, whose peaks are probed.
 */
#pragma once

#include "base/table.h"
#include "datasets/dataset.h"

#define RT_THROTTLED        0.3
#define RT_LARGE_US         500 /* of whole steps' kernels: launch and waves are negligible */
#define RT_LARGE_TIME_US    200 /* measured, so that a wrong unit or dtype hides none */
#define RT_LARGE_TRAFFIC_US 20
#define RT_LARGE_KERNELS    10 /* fewer are no evidence */
#define RT_SLOW_SCALE       30
#define RT_UNSTEADY         0.35
#define RT_IMPOSSIBLE_MOST  0.2
#define RT_STRAY            400
#define RT_APART            3
#define RT_DRIFT            1.1 /* twenty times what the collector's stopping criterion leaves of a median */

/* What the verdict makes of a sample. */
enum rt_health_row {
    RT_ROW_SOUND,
    RT_ROW_IMPOSSIBLE,
    RT_ROW_STRAY,
    RT_ROW_FAMILY,  /* of a family and dtype that is left out */
    RT_ROW_SESSION, /* of a session that is refused */
    RT_ROW_REPEAT,  /* a repeated kernel; not among the session's rows */
    RT_ROW_COUNT
};

struct rt_session {
    int32_t file, device; /* file: of several that were read as one, else 0 */
    uint8_t split;        /* rt_split */
    bool refused;
    size_t rows, count[RT_ROW_COUNT];                    /* rows with a time */
    size_t apart;                                        /* kernels that the same call contradicts */
    size_t throttled, unstable;                          /* flagged so */
    double products, vectors;                            /* lowest reach of a family; NaN: shows nothing */
    double unsteady;                                     /* as above; NaN: shows nothing */
    size_t repeats;                                      /* of a kernel through the session, */
    double drift;                                        /* slowest over fastest of it; NaN: under 2 times */
    double clock_low_mhz, clock_high_mhz, temperature_c; /* of its kernels, the highest; NaN: not recorded */
};

/* One finding: of a session, in a sentence without the consequence. */
struct rt_complaint {
    size_t session;
    enum rt_health_row rows; /* which rows are left out for it; RT_ROW_SOUND: none */
    char text[320];
};

struct rt_session_health {
    uint8_t *row; /* (samples), rt_health_row */
    struct rt_session *sessions;
    size_t session_count;
    struct rt_complaint *complaints;
    size_t complaint_count;
};

/* In about 2 us a sample; deterministic. */
void rt_health_judge(const struct rt_dataset *dataset, struct rt_session_health *out);
void rt_health_release(struct rt_session_health *health);

/* The first refused session of a device (-1: of any); NULL where none is. */
const struct rt_complaint *rt_health_refusal(const struct rt_session_health *health, int32_t device);

/* A warning for every complaint of the device (-1: of any): "NVIDIA L4, split train: WHAT; CONSEQUENCE". The
 * consequence is said of those that leave rows out, but for the kinds in `kept` (bits 1 << rt_health_row);
 * NULL: none. */
void rt_health_warn(const struct rt_session_health *health, const struct rt_dataset *dataset, int32_t device,
                    unsigned kept, const char *consequence);

/* A row for each session; one for each complaint. */
struct rt_table *rt_health_sessions(const struct rt_session_health *health, const struct rt_dataset *dataset);
struct rt_table *rt_health_complaints(const struct rt_session_health *health,
                                      const struct rt_dataset *dataset);
