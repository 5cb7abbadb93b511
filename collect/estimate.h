/* The cost of a job before it runs: shapes, memory, and time on devices that are present or only described.
 */
#pragma once

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
/* A range of shapes that a predictor should see some of: a family and a decade of its FLOPs or bytes. */
enum { RT_ESTIMATE_DECADES = 20, RT_ESTIMATE_RANGES = RT_FAMILY_COUNT * RT_ESTIMATE_DECADES };
size_t rt_estimate_range(const struct rt_task *task);
/* Which task of the plan to measure first in a finite budget: one of each range, then a second of each, and
 * so on; in a round the cheap ones first, and what takes more than a twentieth of the budget at the end. Free
 * with free(). */
size_t *rt_estimate_order(const struct rt_job *job, const struct rt_device *device);
void rt_estimate_release(struct rt_estimate *estimate);
