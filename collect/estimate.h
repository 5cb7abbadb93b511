/*
 * What a plan costs before it is run: shapes, memory, and the time it takes on devices that are there or that
 * are only described.
 */
#ifndef ROOFTILE_COLLECT_ESTIMATE_H
#define ROOFTILE_COLLECT_ESTIMATE_H

#include "collect/collect.h"

/* Of one op in one dtype. */
struct rt_estimate_row {
    uint8_t op, dtype;
    size_t shapes, kernels;
    double seconds;       /* roughly: from the roofline of each device; NaN without a device */
    double largest_bytes; /* operands and result of the largest shape */
};

struct rt_estimate {
    struct rt_estimate_row *rows;  /* by op, then dtype */
    size_t count, shapes, kernels; /* of the shard, where options name one */
    size_t devices;                /* 0: there is none to estimate the time of, and `why` says why */
    char why[512];
    double seconds; /* until all is done: devices that share nothing work side by side */
};

/* Devices: those of options->like, which is a dataset or a name of the catalogue; else the backend's,
 * described, which may take a second each. A machine without them still counts. */
int rt_estimate(const struct rt_backend *backend, const struct rt_plan *plan,
                const struct rt_collect_options *options, struct rt_estimate *out);
/* Seconds to measure one kernel, roughly. */
double rt_estimate_kernel(const struct rt_task *task, const struct rt_device *device,
                          const struct rt_collect_options *options);
void rt_estimate_release(struct rt_estimate *estimate);

#endif
