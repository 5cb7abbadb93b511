/*
 * The result of one task on one device: measured, and measured again where the device was throttled. Plain
 * bytes, so that it passes through a socket from the worker that measures to the collector that saves.
 */
#pragma once

#include "collect/job.h"

#define RT_THROTTLE_RETRIES 3   /* at most */
#define RT_THROTTLE_PAUSE_S 2   /* before the first retry; doubled before each other */
#define RT_THROTTLE_ALL_S   14  /* all pauses of a kernel */
#define RT_ENERGY_S         0.5 /* of runs between two readings of the energy counter */

struct rt_task_result {
    int32_t status;           /* not RT_OK: the device is lost, and `failure` says why */
    int32_t retries;          /* after throttling */
    double seconds;           /* of the backend's clock */
    double paused_s;          /* of them, to let the device cool */
    struct rt_sample sample;  /* numbers and flags; call, device and names are filled in by the collection */
    char failure[512];        /* why there is no latency, "" where there is one */
    char energy_missing[512]; /* why it was asked for and not measured, "" where it was */
    char throttle[128], algorithm[512];
    char kernel[1024], kernels[4096];
};

/* Where and how a worker measures. */
struct rt_measurer {
    const struct rt_job *job;
    void *context;           /* of the backend, open */
    void (*alive)(void *to); /* called before each step that may take long: silence means a hang */
    void *to;
    double pause_s; /* that the device may be given to cool, for one task */
};

void rt_measure_task(const struct rt_measurer *measurer, const struct rt_task *task, size_t device,
                     struct rt_task_result *out);

/* The result of a kernel after which its device or its worker was lost: "device lost: ...", "crashed: signal
 * 11". */
void rt_task_result_lose(struct rt_task_result *task_result, const char *why);
/* Does a sample's attribute "failure" say that a device or worker was lost? (Not: out of memory.) */
bool rt_failure_is_loss(const char *failure);
