/*
 * Workers: processes that open a backend and measure, so that a crash, a hang or a broken driver ends a
 * worker and not the collection. A worker is forked from the collector and answers requests over a socket
 * until the collector closes it. It dies with the collector, keeps none of its files open (no lock, no other
 * worker's socket), and leaves Ctrl-C to it.
 */
#pragma once

#include "collect/model_timing.h"
#include "collect/task_result.h"

#include <sys/types.h>

#define RT_WORKER_PATIENCE_S 60 /* for an answer, at least; a device that works reports earlier */

struct rt_worker {
    pid_t process;
    int socket;
};
#define RT_NO_WORKER ((struct rt_worker){-1, -1})

/* Requests to a worker. Each is answered with the message of its kind, or with RT_MESSAGE_ERROR. */
enum rt_request_kind {
    RT_REQUEST_TASK,     /* RT_MESSAGE_RESULT */
    RT_REQUEST_MODEL,    /* RT_MESSAGE_TIMING of job->model */
    RT_REQUEST_DEVICE,   /* RT_MESSAGE_DEVICE, without a descriptor */
    RT_REQUEST_DESCRIBE, /* RT_MESSAGE_DEVICE */
    RT_REQUEST_FACTS     /* RT_MESSAGE_FACT, each; then RT_MESSAGE_END */
};
struct rt_request {
    int32_t kind;
    uint64_t task, device;
    double pause_s; /* of a task: that the device may be given to cool */
};

enum rt_message_kind {
    RT_MESSAGE_NONE,  /* nothing yet */
    RT_MESSAGE_READY, /* the backend is open */
    RT_MESSAGE_ALIVE, /* at work */
    RT_MESSAGE_RESULT,
    RT_MESSAGE_TIMING,
    RT_MESSAGE_DEVICE,
    RT_MESSAGE_FACT,
    RT_MESSAGE_END,
    RT_MESSAGE_ERROR, /* status and text: the request failed */
    RT_MESSAGE_GONE   /* the worker died */
};
struct rt_message {
    int32_t kind, status;
    union {
        struct {
            uint64_t devices;
        } ready;
        struct rt_task_result result;
        struct rt_model_timing timing;
        struct {
            char name[96];
            uint64_t lane;
            struct rt_device descriptor;
        } device;
        struct {
            char name[128], value[2048];
        } fact;
        char text[2048];
    };
};

/* The worker of a job. RT_MESSAGE_READY or RT_MESSAGE_ERROR is its first message. */
int rt_worker_start(const struct rt_job *job, struct rt_worker *out);

/* RT_EIO where the worker is gone. */
int rt_worker_send(const struct rt_worker *worker, const struct rt_request *request);

/* The next message, RT_MESSAGE_NONE where there is none within `seconds`. */
void rt_worker_receive(const struct rt_worker *worker, double seconds, struct rt_message *out);

/* Seconds of processors that it has used; NaN where the system does not say. */
double rt_worker_cpu_s(const struct rt_worker *worker);

/* Closes the socket and waits until the worker has closed its device; kills it where it does not. Accepts
 * RT_NO_WORKER. */
void rt_worker_end(struct rt_worker *worker);
void rt_worker_kill(struct rt_worker *worker);
/* After RT_MESSAGE_GONE; how: "crashed: signal 11", "exited: status 1". */
void rt_worker_release_dead(struct rt_worker *worker, char *how, size_t size);
