/*
 * A backend: where kernels run and how they are timed. A backend is a table of functions over a context of
 * its own, and a row in backend.c. It is called in this order:
 *
 *     open -> { describe -> { prepare -> time... -> health -> energy -> finish }... } -> close
 *
 * A context holds all devices of --device, so that a shape is measured on each in turn and large buffers are
 * shared. `time` returns the duration of runs (event pairs on a GPU, the host's clock around a batch on a
 * CPU); budgets are counted in `clock`. Statistics, stopping, saving and resuming are the collector's.
 *
 * Kernels are measured in worker processes, one per lane, each with a context of its own, so that a crash or
 * a broken driver ends a worker and not the collection. Lanes run in parallel; the devices of a lane share
 * hardware and take turns.
 *
 * A shape that a device cannot run is no failure of `prepare`: *refused is the reason. A status other than
 * RT_OK from `prepare` or `time` means that the device is lost.
 */
#pragma once

#include "collect/task.h"
#include "datasets/dataset.h"

#include <stdbool.h>

/* What a task runs as; stored in its sample. */
struct rt_launch_config {
    const char *name;      /* lives as long as the work */
    const char *names;     /* all names, separated by ";"; NULL where one kernel runs */
    const char *algorithm; /* the library's choice, "stages=4 splitk=2"; NULL where it has none */
    int32_t tile[3], grid[3], block[3];
    int32_t registers, shared_bytes; /* per thread, per block; 0: not known */
};

/* Runs to time: `batches` batches of `runs` runs each, one after the other. */
struct rt_batch {
    uint64_t first; /* number of this work's first run: cold runs take the buffers used longest ago */
    uint64_t runs;
    size_t batches;
    bool warm; /* the same buffers for all runs, caches not flushed */
};

/* State of a device while a work was timed. NaN: not known. */
struct rt_health {
    uint32_t flags; /* RT_FLAG_THROTTLED */
    double sm_clock_mhz, temperature_c, power_w;
    /* Constant text: what lowered the clock, NULL where nothing did. Without the flag the device always runs
     * such kernels so (a board at its power limit), and measuring again would give the same. */
    const char *throttle;
};

/* A model's kernels in launch order. */
struct rt_sequence {
    const struct rt_task *tasks; /* distinct */
    size_t count;
    const uint32_t *launches; /* numbers of tasks, in order */
    size_t launch_count;
    size_t forward; /* number of forward launches, the first ones; timed apart from the others */
};

struct rt_backend_options {
    const char *devices;   /* --device, NULL: all */
    const char *faults;    /* --faults, NULL: none (synthetic) */
    const char *sm_shares; /* --sm-share, "25,50,100": shares of a GPU as devices of their own */
    uint64_t seed;         /* of the operands' values */
};

typedef void (*rt_fact_visit)(void *to, const char *name, const char *value);

struct rt_backend {
    const char *name, *about;
    uint32_t flags;      /* in every sample: RT_FLAG_SYNTHETIC */
    bool measures_peaks; /* `describe` measures peaks: of two descriptions the higher peaks hold */
    bool warm_too;       /* --cache is both by default */
    size_t most_batches; /* of one call of `time` */
    bool (*can)(const struct rt_task *task); /* is there such a kernel? */

    int (*open)(const struct rt_backend_options *options, void **context);
    void (*close)(void *context);

    size_t (*device_count)(void *context);
    const char *(*device_name)(void *context, size_t device);
    size_t (*lane)(void *context, size_t device); /* 0, 1, ...: devices of a lane share hardware */
    /* The descriptor; may take a second or two to measure unpublished peaks. */
    int (*describe)(void *context, size_t device, struct rt_device *out);
    /* Attributes for the device's samples: how they are measured, versions of libraries, drivers, clocks. */
    void (*facts)(void *context, size_t device, rt_fact_visit visit, void *to);

    double (*clock)(void *context);               /* seconds; budgets are counted in it */
    void (*pause)(void *context, double seconds); /* lets a device cool */

    /* Operands hold seeded random values, never zeros. *refused is NULL, or why this shape cannot run here in
     * a few constant words ("out of memory"); then *work is NULL. */
    int (*prepare)(void *context, size_t device, const struct rt_task *task, struct rt_launch_config *launch,
                   void **work, const char **refused);
    /* us (batch->batches): duration of each batch's runs together, in microseconds. */
    int (*time)(void *context, void *work, const struct rt_batch *batch, double *us);
    /* Energy of one run in mJ, of runs for about `seconds`. NaN where it cannot be measured: *missing is why,
     * as a sentence says it after "--energy: ", and lives as long as the context. NULL: no device can. */
    int (*energy)(void *context, void *work, double seconds, double *mj, const char **missing);
    /* State since `prepare`, or since the last call. */
    void (*health)(void *context, void *work, struct rt_health *out);
    void (*finish)(void *context, void *work);

    /* Whole models: all launches of a sequence in order. A launch takes the operands of its kernel that were
     * used longest ago; memory holds operands of the largest kernels, not of all, so a kernel need not read
     * what the one before it wrote. prepare_sequence NULL: `time` is called for launch after launch, where
     * works may exist side by side (many_works); else the backend runs no models. */
    bool many_works;
    /* Borrows the sequence; calls `alive` after each kernel it has prepared. */
    int (*prepare_sequence)(void *context, size_t device, const struct rt_sequence *sequence,
                            void (*alive)(void *to), void *to, void **work, const char **refused);
    /* us: of one run of the sequence, the first `forward` launches, the others, and the host's time to queue
     * launches while the device ran (0: all were queued before it started; left as it is where not known).
     * Host time close to the total means that the device waited for the host. */
    int (*time_sequence)(void *context, void *work, uint64_t run, double us[3]);
    void (*sequence_health)(void *context, void *work, struct rt_health *out);
    void (*finish_sequence)(void *context, void *work);
};

/* All backends. */
extern const struct rt_backend *const rt_backends[];
extern const size_t rt_backend_count;

/* RT_ENOTFOUND names the backends there are. */
int rt_backend_find(const char *name, const struct rt_backend **out);
