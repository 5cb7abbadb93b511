/*
 * Workers: processes that open a backend and measure, so that what a kernel does to a driver, a crash or a
 * hang ends a worker and not the collection. A worker is forked from the collector and answers questions over
 * a socket until the collector closes it; it dies with the collector, holds nothing of it (no lock, no other
 * worker's socket), and leaves Ctrl-C to it.
 */
#ifndef ROOFTILE_COLLECT_WORKER_H
#define ROOFTILE_COLLECT_WORKER_H

#include "collect/attributes.h"
#include "collect/task_result.h"
#include "collect/model_timing.h"

#include <sys/types.h>

#define RT_WORKER_PATIENCE_S 60 /* for an answer, at least; a device that works says something sooner */

struct rt_worker {
    pid_t process;
    int socket;
};
#define RT_NO_WORKER ((struct rt_worker){-1, -1})

/* What a worker is for: borrowed. */
struct rt_worker_job {
    const struct rt_backend *backend;
    const struct rt_plan *plan; /* NULL: it only tells of devices */
    const struct rt_collect_options *options;
};

/* What a worker says. */
enum rt_word {
    RT_WORD_NONE,  /* nothing yet */
    RT_WORD_READY, /* the backend is open */
    RT_WORD_ALIVE, /* at work */
    RT_WORD_FOUND,
    RT_WORD_PASSED,
    RT_WORD_DEVICE,
    RT_WORD_FACT,
    RT_WORD_END,  /* of the facts */
    RT_WORD_FAIL, /* status and text: it could not do what it was asked */
    RT_WORD_GONE  /* it died */
};
struct rt_message {
    int32_t word, status;
    union {
        struct {
            uint64_t devices;
        } ready;
        struct rt_task_result task_result;
        struct rt_model_timing pass;
        struct {
            char name[96];
            uint64_t lane;
            struct rt_device descriptor;
        } device;
        struct {
            char name[128], value[2048];
        } fact;
        char text[2048];
    } is;
};

/* RT_WORD_READY or RT_WORD_FAIL is its first word. */
int rt_worker_start(const struct rt_worker_job *job, struct rt_worker *out);

/* Asks for one task, with pauses of `pause_s` at most; RT_WORD_FOUND answers. RT_EIO where the worker is
 * gone. */
int rt_worker_measure(const struct rt_worker *worker, size_t task, size_t device, double pause_s);

/* The next word, RT_WORD_NONE where there is none within `seconds`. */
void rt_worker_hear(const struct rt_worker *worker, double seconds, struct rt_message *out);

/* Closes the socket and waits for the worker to close its device and go; it is killed where it does not.
 * Accepts RT_NO_WORKER. */
void rt_worker_end(struct rt_worker *worker);
void rt_worker_kill(struct rt_worker *worker);
/* After RT_WORD_GONE: "crashed: signal 11", "exited: status 1". */
void rt_worker_release_dead(struct rt_worker *worker, char *how, size_t size);

/* A worker that tells of devices: questions that wait for the answer. Its failures are the caller's, in
 * rt_error(). */
struct rt_probe {
    struct rt_worker worker;
    size_t devices;
};
int rt_probe_start(const struct rt_backend *backend, const struct rt_collect_options *options,
                   struct rt_probe *out);
int rt_probe_device(struct rt_probe *probe, size_t device, char name[static 96], size_t *lane);
int rt_probe_describe(struct rt_probe *probe, size_t device, struct rt_device *out);
int rt_probe_facts(struct rt_probe *probe, size_t device, struct rt_attributes *add_to);
/* One pass of options->model. A worker that dies over it leaves RT_EIO and no worker. */
int rt_probe_model(struct rt_probe *probe, size_t device, struct rt_model_timing *out);
void rt_probe_end(struct rt_probe *probe);

#endif
