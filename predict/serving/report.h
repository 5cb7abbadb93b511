/* What a simulation of a server says, printed. */
#ifndef ROOFTILE_PREDICT_SERVING_REPORT_H
#define ROOFTILE_PREDICT_SERVING_REPORT_H

#include "base/report.h"
#include "predict/serving/deployment.h"
#include "predict/serving/recorder.h"

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
};

/* Several points: a row each, and pictures of throughput against latency. End with rt_report_end_with. */
struct rt_report *rt_serve_report(const struct rt_serve_setting *setting, struct rt_serve_point *points,
                                  size_t count);

#endif
