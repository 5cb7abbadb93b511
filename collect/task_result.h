/*
 * What is found of one task on one device: measured, and measured again where the device was throttled. Plain
 * bytes, so that it crosses from the process that measures to the one that saves.
 */
#ifndef ROOFTILE_COLLECT_TASK_RESULT_H
#define ROOFTILE_COLLECT_TASK_RESULT_H

#include "collect/collect.h"

#define RT_THROTTLE_RETRIES 3   /* at most */
#define RT_THROTTLE_PAUSE_S 2   /* before the first of them; twice as long before each other */
#define RT_THROTTLE_ALL_S   14  /* all pauses of a kernel */
#define RT_ENERGY_S         0.5 /* of runs, to read a counter at both ends of */

struct rt_task_result {
    int32_t status;          /* not RT_OK: the device is of no use any more, and `failure` is the sentence */
    int32_t retries;         /* after throttling */
    double seconds;          /* of the backend's clock */
    double paused_s;         /* of them, to let the device cool */
    struct rt_sample sample; /* numbers and flags; op, dims, device and names are filled in by who saves it */
    char failure[512];       /* why there is no latency, "" where there is one */
    char throttle[128], algorithm[512];
    char kernel[1024], kernels[4096];
};

/* Who measures. `alive` is told now and then: a measurement takes its time, a hang says nothing. */
struct rt_measurer {
    const struct rt_backend *backend;
    void *context;
    const struct rt_collect_options *options;
    void (*alive)(void *to);
    void *to;
    double pause_s; /* that the device may be given to cool, for one task */
};

void rt_find(const struct rt_measurer *measurer, const struct rt_task *task, size_t device,
             struct rt_task_result *out);

/* Makes it the task result of a kernel that took its device or its worker along: "device lost: ...",
 * "crashed: signal 11". */
void rt_task_result_lose(struct rt_task_result *task_result, const char *why);
/* Is that what a sample's attribute "failure" says? (Not: out of memory, not supported.) */
bool rt_failure_is_loss(const char *failure);

#endif
