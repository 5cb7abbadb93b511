/*
 * The linear baseline (Li, Sun and Jog: Path Forward Beyond Simulators, MICRO 2023): on one device the
 * kernels of a family take
 *
 *   latency = start + amount / rate,
 *
 * with FLOPs as the amount of products and bytes as that of vector ops, and from device to device the rate
 * is proportional to the peak that bounds it. docs/log/baselines.md says what else was tried and where this
 * differs from the paper.
 */
#pragma once

#include "base/h5.h"
#include "datasets/dataset.h"
#include "models/predictors/roofline/tile.h"

/* The amount: FLOPs or bytes, by family. */
enum rt_line_by { RT_LINE_FLOPS, RT_LINE_BYTES, RT_LINE_BY_COUNT };

/* Of the kernels of one dtype on one device. */
struct rt_line {
    char device[96];
    uint8_t dtype, by; /* rt_dtype; rt_line_by, the same for all lines of a family */
    double start_us;   /* >= 0 */
    double rate, peak; /* FLOP/s or bytes/s, of the line and of the description; > 0 */
    int64_t kernels;   /* that it was fitted to */
};

struct rt_linear_baseline {
    struct rt_line *line; /* (count) */
    size_t count;
};

/* Least squares of relative errors over samples[picked[0..count)], all of one family. */
void rt_linear_baseline_fit(struct rt_linear_baseline *lines, const struct rt_dataset *dataset,
                            const uint32_t *picked, size_t count);
void rt_linear_baseline_release(struct rt_linear_baseline *lines);

/* The line of a device that was fitted; else the median start of all lines of the dtype, and the rate that a
 * straight line through the origin gives their rates over their peaks (least squares). Of all dtypes where
 * that one was never measured. NaN where there are no lines or the device has no peak. */
double rt_linear_baseline_us(const struct rt_linear_baseline *lines, const struct rt_query *query,
                             const struct rt_device *device);

/* As predictor files hold them, under `group`. What a failed reading leaves is released as
 * usual. */
int rt_linear_baseline_write(const struct rt_linear_baseline *lines, struct rt_h5 *file, const char *group);
int rt_linear_baseline_read(struct rt_h5 *file, const char *group, struct rt_linear_baseline *lines);
