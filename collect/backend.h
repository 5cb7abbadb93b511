/*
 * Backends: where kernels run and how they are timed. One file and one row in backend.c each.
 *
 * A backend is a table of functions over a context of its own. The collector calls, in this order:
 *   open -> { describe -> { prepare -> time... -> health -> energy -> finish }... } -> close
 * A context holds all devices that were asked for, so that a shape can be measured on each in turn and so
 * that large buffers are shared. Whatever a backend knows about the clock it keeps: `time` returns what runs
 * of the kernel took (event pairs on a GPU, the clock around a batch on a CPU), `clock` is what budgets are
 * counted in. The collector does statistics, stopping, saving and resuming, and knows nothing of devices.
 *
 * Kernels are measured in worker processes, one for each lane of devices, each with a context of its own:
 * what a kernel does to a driver, or a crash, ends a worker and not the collection. Lanes work side by side;
 * the devices of a lane share hardware and take turns.
 *
 * What fails: a shape that a device cannot run is not a failure of `prepare`; it is *refused, with the
 * reason. A non-zero status of `prepare` or `time` means that the device itself is of no use any more.
 */
#ifndef ROOFTILE_COLLECT_BACKEND_H
#define ROOFTILE_COLLECT_BACKEND_H

#include "collect/task.h"
#include "datasets/dataset.h"

#include <stdbool.h>

/* What a device will run for it: goes into the sample as it is. */
struct rt_kernel_info {
    const char *name;      /* lives as long as the work */
    const char *names;     /* all names, ";" between, NULL where one runs */
    const char *algorithm; /* what a library chose, "stages=4 splitk=2"; NULL where there is no choice */
    int32_t tile[3], grid[3], block[3];
    int32_t registers, shared_bytes; /* 0: not known */
};

/* Runs to time: `batches` of `runs` runs one after the other. */
struct rt_batch {
    uint64_t first; /* runs of this work so far: cold runs take the buffers that were used longest ago */
    uint64_t runs;
    size_t batches;
    bool warm; /* the same buffers for all runs, and the caches left as they are */
};

/* How a device did while a work was timed. NaN: it does not say. */
struct rt_health {
    uint32_t flags; /* RT_FLAG_THROTTLED */
    double sm_clock_mhz, temperature_c, power_w;
    /* Constant text: what held its clock down, NULL where nothing did. Without the flag it is how the device
     * runs such kernels at any time (a board at its power limit), so nothing is gained by measuring again. */
    const char *throttle;
};

/* A model's kernels, one launch after the other. */
struct rt_sequence {
    const struct rt_task *tasks; /* distinct */
    size_t count;
    const uint32_t *launches; /* numbers of tasks, in order */
    size_t launch_count;
    size_t forward; /* the first so many launches are timed apart from the others */
};

struct rt_backend_options {
    const char *devices;   /* what --device says, NULL: all */
    const char *faults;    /* what --faults says, NULL: none (synthetic) */
    const char *sm_shares; /* what --sm-share says, "25,50,100": shares of a GPU as devices of their own */
    uint64_t seed;         /* of the operands' values */
};

typedef void (*rt_fact_visit)(void *to, const char *name, const char *value);

struct rt_backend {
    const char *name, *about;
    const char *devices_help; /* what --device means here */
    uint32_t flags;           /* in every sample: RT_FLAG_SYNTHETIC */
    bool measures_peaks;      /* describe measures peaks: the better of two descriptions is the truer */
    bool warm_too;            /* measures warm runs beside cold ones where --cache does not say */
    bool single_runs;         /* `time` looks at every run: no batches of several */
    size_t most_batches;      /* of one call of `time` */
    bool (*can)(const struct rt_task *task); /* is there such a kernel at all? */

    int (*open)(const struct rt_backend_options *options, void **context);
    void (*close)(void *context);

    size_t (*device_count)(void *context);
    const char *(*device_name)(void *context, size_t device);
    size_t (*lane)(void *context, size_t device); /* 0, 1, ...: devices of a lane share hardware */
    /* The descriptor; may measure for a second or two what no one publishes. */
    int (*describe)(void *context, size_t device, struct rt_device *out);
    /* Attributes for the device's samples: how they are measured, versions of libraries, drivers, clocks. */
    void (*facts)(void *context, size_t device, rt_fact_visit visit, void *to);

    double (*clock)(void *context);               /* seconds; budgets are counted in it */
    void (*pause)(void *context, double seconds); /* lets a device cool */

    /* Makes ready: buffers with seeded random values, never zeros. *refused is NULL, or why this shape cannot
     * run here in a few constant words ("out of memory"); then *work is NULL. */
    int (*prepare)(void *context, size_t device, const struct rt_task *task, struct rt_kernel_info *kernel,
                   void **work, const char **refused);
    /* us (batch->batches): what the runs of each batch took together, in microseconds. */
    int (*time)(void *context, void *work, const struct rt_batch *batch, double *us);
    /* Energy of one run in mJ from runs for about `seconds`; NaN where the device has no counter. NULL: never
     * has one. */
    int (*energy)(void *context, void *work, double seconds, double *mj);
    /* What holds for what was timed since prepare, or since the last call. */
    void (*health)(void *context, void *work, struct rt_health *out);
    void (*finish)(void *context, void *work);

    /* Whole models: all launches of a sequence in order, each with operands of its own kernel, used longest
     * ago. Memory holds the operands of the largest kernels, not those of all: what a kernel reads need not
     * be what the one before it wrote. NULL: `time` is called for launch after launch, where works may live
     * side by side (many_works); else the backend runs no models. */
    bool many_works;
    /* Borrows the sequence; `alive` is told after each kernel that is made ready. */
    int (*prepare_sequence)(void *context, size_t device, const struct rt_sequence *sequence,
                            void (*alive)(void *to), void *to, void **work, const char **refused);
    /* us: of one pass, the first `forward` launches, the others, and what the host took to queue launches
     * once the device was let go (0: all were queued by then; left as it is where that is not known). Where
     * it is about as long as the pass, the device waited for the host. */
    int (*time_sequence)(void *context, void *work, uint64_t pass, double us[3]);
    void (*sequence_health)(void *context, void *work, struct rt_health *out);
    void (*finish_sequence)(void *context, void *work);
};

extern const struct rt_backend *const rt_backends[];
extern const size_t rt_backend_count;

/* RT_ENOTFOUND names the backends there are. */
int rt_backend_find(const char *name, const struct rt_backend **out);

#endif
