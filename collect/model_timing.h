/*
 * The timing of a model: all its kernels run in launch order, repeated until the median of the whole is known
 * as well as that of a kernel. Plain bytes, so that it passes through a socket as a task result does.
 */
#pragma once

#include "collect/task_result.h"

#define RT_MODEL_TIMES 10 /* --max-time of a model, in those of a kernel */

struct rt_model_timing {
    int32_t status;                           /* not RT_OK: the device is lost */
    int32_t runs;                             /* timed */
    double forward_us, backward_us, total_us; /* medians; backward 0 for inference */
    double host_us;                           /* to queue launches while the device ran; NaN: not known */
    uint32_t flags;                           /* RT_FLAG_UNSTABLE, RT_FLAG_THROTTLED, RT_FLAG_FAILED */
    bool queued; /* the backend queued all launches; else they were timed one by one and added up */
    char throttle[128];
    char failure[512]; /* why there are no times, "" where there are */
};

void rt_model_timing_measure(const struct rt_measurer *measurer, size_t device,
                             const struct rt_sequence *sequence, struct rt_model_timing *out);

/* The timing of a device or worker that was lost while it ran the model, or could not run it. */
void rt_model_timing_lose(struct rt_model_timing *out, const char *why);
