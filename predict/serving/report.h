/* What a simulation of a server leaves behind and says, printed. */
#pragma once

#include "base/outputs.h"
#include "base/report.h"
#include "predict/serving/deployment.h"
#include "predict/serving/tally.h"

/* --- what a simulation leaves behind (recorder.c) --- */

/* For pictures, in bounded memory: its first steps, queue and cache over time
 * at up to RT_RECORDED_POINTS moments, and the latencies of requests. */
enum { RT_RECORDED_SPANS = 200000, RT_RECORDED_POINTS = 4096 };

struct rt_serve_moment {
    double time_us, waiting, running, blocks; /* of the replica that began a step */
};

struct rt_serve_recorder {
    struct rt_serve_span *span;                        /* (spans) */
    size_t spans, span_capacity, most_spans, left_out; /* left out: beyond the most */
    struct rt_serve_moment *moment;                    /* (moments) every stride-th */
    size_t moments, stride, seen;
    struct rt_tally ttft_us, tpot_us, e2e_us;
};

/* `most_spans` 0: no steps are kept. */
void rt_serve_recorder_init(struct rt_serve_recorder *recorder, size_t most_spans);
void rt_serve_recorder_release(struct rt_serve_recorder *recorder); /* accepts zeros */

/* Makes it the one that is asked while a simulation with these options runs. */
void rt_serve_recorder_attach(struct rt_serve_recorder *recorder, struct rt_serve_options *options);

/* Its steps as a timeline that Perfetto opens. */
extern const struct rt_output_kind rt_serve_timeline_kind;

/* A process a replica; steps, and counters of its queue, of what runs and of cache blocks in use. RT_EIO. */
int rt_serve_timeline_write(const struct rt_serve_recorder *recorder, const char *path);

/* --- the report --- */

/* One load: its result, and those of steps at both ends of their interval. */
struct rt_serve_point {
    struct rt_serve_load load;
    struct rt_serve_result result, low,
        high; /* low: of the shorter steps; NaN-free only where has_interval */
    bool has_interval;
    struct rt_serve_recorder recorder;
};

/* What all points have in common. */
struct rt_serve_setting {
    const char *model, *gpu, *server, *predictor, *trace; /* trace: the list's path; NULL: none */
    double level;                                         /* of the intervals */
    double ttft_target_us, tpot_target_us;                /* NaN: none */
    const struct rt_deployment *serve, *decode;           /* decode: NULL: not disaggregated */
    int64_t gpus;                                         /* all together */
    const char *draft;                                    /* NULL: none */
    int64_t drafted;
    double accepted;
    int64_t images, image;                                /* of a prompt, 0: none; their side in pixels */
};

/* Several points: a row each, and pictures of throughput against latency. End with rt_report_end_with. */
struct rt_report *rt_serve_report(const struct rt_serve_setting *setting, struct rt_serve_point *points,
                                  size_t count);
