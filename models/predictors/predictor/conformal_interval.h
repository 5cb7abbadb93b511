/*
 * Conformal intervals of a family: half-widths of ln(measured / forecast) by level.
 *
 * They are quantiles of the absolute residuals of forecasts that did not see the measurement: split conformal
 * prediction (Vovk; Lei et al. 2018). For unseen devices the residuals come from fits that leave each device
 * out in turn, for known ones from rows that nothing was fitted to. A residual is taken in units of its
 * dtype's typical error. docs/method.md has the equations, docs/results the measured coverage.
 */
#pragma once

#include "datasets/device.h"
#include "datasets/op.h"

#include <stddef.h>
#include <stdint.h>

struct rt_h5;

enum { RT_INTERVAL_LEVELS = 5 };
extern const double rt_interval_levels[RT_INTERVAL_LEVELS]; /* ascending */

/* Kernels by the time of their roofline: short ones are mostly dispatch overhead, which scatters. */
enum rt_interval_size { RT_INTERVAL_SHORT, RT_INTERVAL_LONG, RT_INTERVAL_SIZES };
#define RT_INTERVAL_LONG_US 20.0
enum rt_interval_size rt_interval_size_of(double bound_us);

/* What a device that was left out was off by, over its kernels. */
struct rt_left_out_device {
    char device[96];
    double error, square; /* mean of ln(measured / forecast), and of its square */
    uint64_t key;         /* rt_name_key of the device where it was read from a file; else 0 */
};

/* Of one family; NaN where unknown. */
struct rt_intervals {
    int64_t gpus; /* that were left out in turn; 0: none, `unseen` is unknown */
    double unseen[RT_INTERVAL_SIZES][RT_INTERVAL_LEVELS];
    double known[RT_INTERVAL_SIZES][RT_INTERVAL_LEVELS];
    double dtype_scale[RT_DTYPE_COUNT];  /* what both are multiplied by; 1 where nothing is known */
    struct rt_left_out_device *left_out; /* (left_out_count), owned; none in files of earlier builds */
    size_t left_out_count;
};
void rt_intervals_init(struct rt_intervals *intervals); /* none */
void rt_intervals_release(struct rt_intervals *intervals);

/* Mean square error of the devices that were left out; the share of it that is a device's mean error, which
 * its kernels have in common. NaN where none were. */
double rt_intervals_square(const struct rt_intervals *intervals);
double rt_intervals_shared(const struct rt_intervals *intervals);
/* Adds the products of the mean errors of devices that both families left out, and the norms of both. */
void rt_intervals_add_pair(const struct rt_intervals *a, const struct rt_intervals *b, double *products,
                           double *norms);

/* A residual. Groups (GPUs) have equal weight, however many residuals each has. */
struct rt_residual {
    double value; /* |ln(measured / forecast)| */
    int32_t group;
    enum rt_interval_size size;
    uint8_t dtype;
};

/* Fills dtype_scale: by the median of each group's residuals of the dtype over that of all its residuals, the
 * geometric mean over groups; 1 where no group has RT_RESIDUAL_LEAST of it and as many of others. Divides the
 * residuals by it. */
void rt_residual_scale_dtypes(struct rt_residual *residuals, size_t count,
                              double dtype_scale[RT_DTYPE_COUNT]);

/* Fills `quantile` with the conformal quantiles of the mixture of the groups' distributions: the least value
 * that ceil((n + 1) level) / n of the weight does not exceed. NaN from the level on that n residuals do not
 * suffice for. `residuals` get sorted. */
void rt_residual_quantiles(struct rt_residual *residuals, size_t count, double quantile[RT_INTERVAL_LEVELS]);

/* The same for each size; a group counts for a size from RT_RESIDUAL_LEAST residuals on. Long
 * kernels that fewer groups count for than short ones get the quantiles of those, short ones those of all.
 * `residuals` get sorted. */
enum { RT_RESIDUAL_LEAST = 20 };
void rt_residual_table(struct rt_residual *residuals, size_t count,
                       double table[RT_INTERVAL_SIZES][RT_INTERVAL_LEVELS]);

/* Expected standard deviation of a calibrated device's error in ln latency: `share` is what its calibration
 * kernels leave of the residual correction's variance, `dispatch_part` the share of the time that is dispatch
 * overhead. */
double rt_interval_deviation(double share, double dispatch_part);
/* What it is multiplied by for kernels of a size: the root of known 90% widths, of that size over long ones.
 */
double rt_interval_size_factor(const struct rt_intervals *intervals, enum rt_interval_size size);

/* Quantile of the absolute value of Student's t with RT_INTERVAL_FREEDOM degrees of freedom: the shape that
 * errors of calibrated devices have. */
enum { RT_INTERVAL_FREEDOM = 3 };
double rt_interval_student(double level);

/* Scale of a single 90% half-width to another level, by the same line. */
double rt_interval_scale(double level);

/* Any level 0 < level < 1 out of such quantiles: straight lines over -ln(1 - level), on which the tail of an
 * exponential is straight, from 0 and beyond the last. NaN where none is known. */
double rt_interval_at(const double quantile[RT_INTERVAL_LEVELS], double level);

/* In predictor files, in the group of their family. */
int rt_intervals_write(const struct rt_intervals *intervals, struct rt_h5 *file, const char *group);
int rt_intervals_read(struct rt_h5 *file, const char *group, struct rt_intervals *intervals);
