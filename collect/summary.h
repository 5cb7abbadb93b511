/* The samples of a collection counted per op and device. */
#ifndef ROOFTILE_COLLECT_SUMMARY_H
#define ROOFTILE_COLLECT_SUMMARY_H

#include "datasets/dataset.h"

struct rt_summary_row {
    uint8_t op;
    int32_t device;
    size_t measured, unstable, throttled, failed;
    size_t retried;   /* measured again after throttling */
    size_t lost;      /* of the failed: the device or its worker was lost */
    size_t faster;    /* than 1.05 times what the descriptor's peaks allow */
    double median_us; /* of latencies; NaN where nothing was measured */
};

/* Rows by op, then device; those without samples are left out. free() them. */
struct rt_summary_row *rt_summary_rows(const struct rt_dataset *dataset, size_t *count);

#endif
