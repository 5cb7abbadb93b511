/*
 * Measured tiles: the tile that the library chose for the nearest measured shape. One set per (op, dtype,
 * device); distance is Euclidean over the dims and the device's numbers as NeuSight's descriptors have them
 * (SMs, GFLOP/s, memory GiB, bandwidth GB/s, L2 MiB), unscaled as published.
 */
#pragma once

#include "base/h5.h"
#include "datasets/dataset.h"
#include "models/predictors/baselines/kdtree.h"
#include "models/predictors/baselines/shape_sets.h"
#include "models/predictors/roofline/tile.h"

#define RT_TILE_DEVICE_NUMBERS 5

struct rt_measured_tile_set {
    struct rt_shape_set shapes;
    double device[RT_TILE_DEVICE_NUMBERS];
    double *points;                             /* (count,dims), tree order */
    double low[RT_MAX_DIMS], high[RT_MAX_DIMS]; /* of the points */
    int32_t *tile;                              /* (count,2) */
};

struct rt_measured_tiles {
    struct rt_measured_tile_set *sets;
    size_t count;
};

/* From samples[picked[0..count)], all of one family, with known tiles. */
void rt_measured_tiles_build(struct rt_measured_tiles *tiles, const struct rt_dataset *dataset,
                             const uint32_t *picked, size_t count);
void rt_measured_tiles_release(struct rt_measured_tiles *tiles);

/* As predictor files hold them, under `group`. What a failed reading leaves is
 * released as usual. */
int rt_measured_tiles_write(const struct rt_measured_tiles *tiles, struct rt_h5 *file, const char *group);
int rt_measured_tiles_read(struct rt_h5 *file, const char *group, struct rt_measured_tiles *tiles);

/* Tile of the nearest measured shape of the same op and dtype; of any op or dtype in the table where that op
 * or dtype was never measured. False where the table is empty or the dims don't compare. */
bool rt_measured_tiles_nearest(const struct rt_measured_tiles *tiles, const struct rt_query *query,
                               const struct rt_device *device, int32_t tile[2]);
