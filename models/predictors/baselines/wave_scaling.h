/*
 * The wave-scaling baseline (Yu, Gao, Golikov and Pekhimenko: Habitat, USENIX ATC 2021): a kernel is forecast
 * from measurements of the same kernel on other devices, the origins, each scaled to the device of the
 * forecast (equation 2 of the paper, of kernels of many waves):
 *
 *   t_d = t_o x (D_o / D_d)^gamma x (W_o C_o / (W_d C_d))^(1 - gamma)
 *
 * with D the memory bandwidth, W the thread blocks that run at once, C the clock, and gamma, as in the
 * authors' code (habitat.analysis.wave_scaling.roofline), from the kernel's FLOPs per byte x and the device's
 * ridge point R = peak / D: 1 - x / (2 R) below the ridge, R / (2 x) above it.
 *
 * Which kernel: the same one, else the nearest in the logarithms of dims, FLOPs and bytes, scaled by the
 * ratio of the two rooflines on the origin; of the same op, phase and dtype, else of another dtype, else of
 * another phase, else of another op of the family. Which origins: all that measured that nearest kernel,
 * those of the device's vendor where there are some; the forecast is their median. docs/log/baselines.md says
 * what else was tried.
 */
#pragma once

#include "base/h5.h"
#include "datasets/dataset.h"
#include "models/predictors/baselines/kdtree.h"
#include "models/predictors/baselines/shape_sets.h"
#include "models/predictors/roofline/tile.h"

/* Of a kernel beside its dims: FLOPs and bytes. */
enum { RT_WAVE_SCALING_AMOUNTS = 2, RT_WAVE_SCALING_MOST_AXES = RT_MAX_DIMS + RT_WAVE_SCALING_AMOUNTS };

/* The measured kernels of one op, phase and dtype on one device, in the order of their k-d tree. */
struct rt_wave_scaling_set {
    struct rt_shape_set shapes;
    int32_t phase;     /* enum rt_phase; only convolutions have several */
    int32_t device;    /* index into the devices that were measured */
    int64_t *dim;      /* (count,dims) */
    float *latency_us; /* (count); the median where a kernel was measured several times */
    double *points;    /* (count,dims + RT_WAVE_SCALING_AMOUNTS): rt_wave_scaling_point of each */
    double low[RT_WAVE_SCALING_MOST_AXES], high[RT_WAVE_SCALING_MOST_AXES]; /* of the points */
};

/* Coordinates of a kernel: log2(1 + dim) of each dim, then twice log2(1 + FLOPs) and twice log2(1 + bytes),
 * because the amount of work predicts latency better than the shape. */
void rt_wave_scaling_point(const struct rt_query *query, double *point);

struct rt_wave_scaling {
    struct rt_device *devices;
    size_t device_count;
    struct rt_wave_scaling_set *sets;
    size_t count;
};

/* From samples[picked[0..count)], all of one family. */
void rt_wave_scaling_build(struct rt_wave_scaling *scaling, const struct rt_dataset *dataset,
                           const uint32_t *picked, size_t count);
void rt_wave_scaling_release(struct rt_wave_scaling *scaling);

/* Of a kernel on a device, from the other devices' measurements: those of the device itself are never used.
 * NaN where no similar kernel was measured. */
double rt_wave_scaling_us(const struct rt_wave_scaling *scaling, const struct rt_query *query,
                          const struct rt_device *device);

/* The formula: t_d / t_o. Without clocks the ratio of peaks stands for that of W C. */
double rt_wave_scale(const struct rt_query *query, const struct rt_device *origin,
                     const struct rt_device *device);

/* As predictor files hold them, under `group`. What a failed reading leaves is released
 * as usual. */
int rt_wave_scaling_write(const struct rt_wave_scaling *scaling, struct rt_h5 *file, const char *group);
int rt_wave_scaling_read(struct rt_h5 *file, const char *group, struct rt_wave_scaling *scaling);
