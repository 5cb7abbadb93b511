/* The cost of a job before it runs: shapes, memory, and time on devices that are present or only described.
 */
#ifndef ROOFTILE_COLLECT_ESTIMATE_H
#define ROOFTILE_COLLECT_ESTIMATE_H

#include "collect/job.h"

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
    size_t devices;                /* 0: no device can be described, for the reason `why` */
    char why[512];
    double seconds; /* until all is measured; lanes run in parallel */
};

/* Devices: those of job->like, which is a dataset or a name of the catalogue; else the backend's, which may
 * take a second each to describe. Without a device shapes are counted all the same. */
int rt_estimate(const struct rt_job *job, struct rt_estimate *out);
/* Seconds to measure one kernel, roughly. */
double rt_estimate_kernel(const struct rt_task *task, const struct rt_device *device,
                          const struct rt_job *job);
void rt_estimate_release(struct rt_estimate *estimate);

#endif
