/*
 * Backends: where kernels run and how they are timed. One file and one row in backend.c each.
 *
 * A backend is a table of functions over a context of its own. The collector calls, in this order:
 *   open -> { describe -> { prepare -> time... -> health -> finish }... } -> close
 * A context holds all devices that were asked for, so that a shape can be measured on each in turn and so
 * that large buffers are shared. Whatever a backend knows about the clock it keeps: `time` returns what a run
 * of the kernel took (an event pair on a GPU, the clock around a batch on a CPU), `clock` is what budgets are
 * counted in. The collector does statistics, stopping, saving and resuming, and knows nothing of devices.
 *
 * What fails: a shape that a device cannot run is not a failure of `prepare`; it is *refused, with the
 * reason. A non-zero status of `prepare` or `time` means that the device itself is of no use any more.
 */
#ifndef ROOFTILE_BACKEND_H
#define ROOFTILE_BACKEND_H

#include "datasets/dataset.h"

#include <stdbool.h>

/* What to measure: an op with its dims. Bytes past the fields are 0, so tasks compare and hash as bytes. */
struct rt_task {
    int64_t dim[RT_MAX_DIMS]; /* -1 past the op's last */
    uint8_t op, dtype, phase;
    uint8_t zero[5];
};

/* What a device will run for it: goes into the sample as it is. */
struct rt_kernel {
    const char *name;  /* lives as long as the work */
    const char *names; /* all names, ";" between, NULL where one runs */
    int32_t tile[3], grid[3], block[3];
};

struct rt_backend_options {
    const char *devices; /* what --device says, NULL: all */
    const char *faults;  /* what --faults says, NULL: none (synthetic) */
    uint64_t seed;       /* of the operands' values */
    bool warm;           /* keep operands in the cache instead of rotating them out of it */
};

typedef void (*rt_fact_visit)(void *to, const char *name, const char *value);

struct rt_backend {
    const char *name, *about;
    const char *devices_help; /* what --device means here */
    uint32_t flags;           /* in every sample: RT_FLAG_SYNTHETIC */
    bool measures_peaks;      /* describe measures peaks: the better of two descriptions is the truer */
    bool (*can)(const struct rt_task *task); /* is there such a kernel at all? */

    int (*open)(const struct rt_backend_options *options, void **context);
    void (*close)(void *context);

    size_t (*device_count)(void *context);
    const char *(*device_name)(void *context, size_t device);
    /* The descriptor; may measure for a second or two what no one publishes. */
    int (*describe)(void *context, size_t device, struct rt_device *out);
    /* Attributes for the device's samples: how they are measured, versions of libraries, drivers, clocks. */
    void (*facts)(void *context, size_t device, rt_fact_visit visit, void *to);

    double (*clock)(void *context); /* seconds; budgets are counted in it */

    /* Makes ready: buffers with seeded random values, never zeros. *refused is NULL, or why this shape cannot
     * run here in a few constant words ("out of memory"); then *work is NULL. */
    int (*prepare)(void *context, size_t device, const struct rt_task *task, struct rt_kernel *kernel,
                   void **work, const char **refused);
    /* Time of `runs` runs, one after the other, in microseconds together. `first` counts the runs of this
     * work so far: cold runs take the buffers that were used longest ago. */
    int (*time)(void *context, void *work, uint64_t first, uint64_t runs, double *us);
    /* RT_FLAG_* that hold for what was timed since prepare, such as RT_FLAG_THROTTLED. */
    uint32_t (*health)(void *context, void *work);
    void (*finish)(void *context, void *work);
};

extern const struct rt_backend *const rt_backends[];
extern const size_t rt_backend_count;

/* RT_ENOTFOUND names the backends there are. */
int rt_backend_find(const char *name, const struct rt_backend **out);

void rt_task_init(struct rt_task *task, enum rt_op_id op, enum rt_dtype dtype);
double rt_task_flops(const struct rt_task *task);
double rt_task_bytes(const struct rt_task *task);

#endif
