/*
 * A pass: a model's kernels run one after the other on a device. Timed until the median of the whole is
 * known, as kernels are. Plain bytes, so that it crosses from the process that measures to the one that
 * saves.
 */
#ifndef ROOFTILE_COLLECT_MODEL_TIMING_H
#define ROOFTILE_COLLECT_MODEL_TIMING_H

#include "collect/task_result.h"

#define RT_PASS_TIMES 10 /* a pass may be measured for this many times --max-time */

struct rt_model_timing {
    int32_t status;                           /* not RT_OK: the device is of no use any more */
    int32_t passes;                           /* timed */
    double forward_us, backward_us, total_us; /* medians; backward 0 where there is none */
    double host_us;                           /* to queue launches while the device ran; NaN: not known */
    uint32_t flags;                           /* RT_FLAG_UNSTABLE, RT_FLAG_THROTTLED, RT_FLAG_FAILED */
    double sm_clock_mhz;
    bool in_one_go; /* the backend queued all launches; else they were timed one by one and added up */
    char throttle[128];
    char failure[512]; /* why there are no times, "" where there are */
};

void rt_model_timing_measure(const struct rt_measurer *measurer, size_t device,
                             const struct rt_sequence *sequence, struct rt_model_timing *out);

/* Makes it the pass of a device or worker that was lost over it. */
void rt_model_timing_lose(struct rt_model_timing *pass, const char *why);

#endif
