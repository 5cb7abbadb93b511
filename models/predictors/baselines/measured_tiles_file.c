/* Measured tiles in predictor files: shape sets (shape_sets.h) with the device's numbers and the tiles. */
#include "base/h5_struct.h"
#include "base/status.h"
#include "models/predictors/baselines/measured_tiles.h"

#include <math.h>

static const struct rt_shape_column columns[] = {
    {"device", "1", "of each set: SMs, peak GFLOP/s, memory GiB, bandwidth GB/s, L2 MiB", RT_H5_F64,
     sizeof(double), RT_TILE_DEVICE_NUMBERS, false, offsetof(struct rt_measured_tile_set, device), false},
    {"dims", "1", "of each set, dim by dim: the measured shapes in k-d tree order", RT_H5_F64, sizeof(double),
     0, true, offsetof(struct rt_measured_tile_set, points), false},
    {"tile", "1", "of each set: tile0 of the measured shapes, then their tile1", RT_H5_I32, sizeof(int32_t),
     2, true, offsetof(struct rt_measured_tile_set, tile), false},
};
static const struct rt_shape_layout layout = {columns, RT_COUNT(columns),
                                              sizeof(struct rt_measured_tile_set)};

int rt_measured_tiles_write(const struct rt_measured_tiles *tiles, struct rt_h5 *file, const char *group)
{
    int status = rt_h5_make_group(file, group);
    if (status != RT_OK || tiles->count == 0)
        return status;
    return rt_shape_sets_write(&layout, tiles->sets, tiles->count, file, group);
}

/* Is every number of the device and dim finite, and every tile a possible one? */
static bool is_sound(const struct rt_measured_tile_set *set)
{
    bool sound = true;
    for (int i = 0; i < RT_TILE_DEVICE_NUMBERS; i++)
        sound &= isfinite(set->device[i]);
    for (size_t i = 0; i < set->shapes.count * set->shapes.dims; i++)
        sound &= isfinite(set->points[i]);
    for (size_t i = 0; i < set->shapes.count; i++)
        sound &= set->tile[2 * i] >= 1 && (set->tile[2 * i + 1] >= 1 || set->tile[2 * i + 1] == -1);
    return sound;
}

int rt_measured_tiles_read(struct rt_h5 *file, const char *group, struct rt_measured_tiles *tiles)
{
    void *sets = NULL;
    if (!rt_h5_exists_in(file, group, "count")) /* none were measured */
        return RT_OK;
    int status = rt_shape_sets_read(&layout, file, group, &sets, &tiles->count);
    tiles->sets = sets;
    for (size_t i = 0; status == RT_OK && i < tiles->count; i++) {
        if (!is_sound(&tiles->sets[i]))
            return rt_fail(RT_EFORMAT,
                           "%s: %s: set %zu has a device, dim or tile that cannot be: the file is damaged",
                           rt_h5_path(file), group, i);
        rt_measured_tile_set_complete(&tiles->sets[i]);
    }
    return status;
}
