/* Measured tiles by nearest shape. See measured_tiles.h. */
#include "models/predictors/baselines/measured_tiles.h"
#include "base/status.h"
#include "base/h5_struct.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static void device_numbers(const struct rt_device *device, enum rt_op_id op, enum rt_dtype dtype,
                           double numbers[RT_TILE_DEVICE_NUMBERS])
{
    numbers[0] = device->sms;
    numbers[1] = rt_device_peak_flops(device, rt_ops[op].family, dtype) / 1e9;
    numbers[2] = device->memory_gib;
    numbers[3] = device->bandwidth_gbs;
    numbers[4] = device->l2_mib;
}

static struct rt_measured_tile_set *find_set(struct rt_measured_tiles *tiles, const struct rt_sample *sample,
                                             const struct rt_device *device)
{
    double numbers[RT_TILE_DEVICE_NUMBERS];
    device_numbers(device, sample->call.op, sample->call.dtype, numbers);
    for (size_t i = 0; i < tiles->count; i++) {
        struct rt_measured_tile_set *set = &tiles->sets[i];
        if (set->shapes.op == sample->call.op && set->shapes.dtype == sample->call.dtype &&
            memcmp(set->device, numbers, sizeof numbers) == 0)
            return set;
    }
    tiles->sets = rt_realloc(tiles->sets, tiles->count + 1, sizeof *tiles->sets);
    struct rt_measured_tile_set *set = &tiles->sets[tiles->count++];
    *set = (struct rt_measured_tile_set){.shapes = {.op = sample->call.op,
                                                    .dtype = sample->call.dtype,
                                                    .dims = (size_t)rt_op_ndims(sample->call.op)}};
    memcpy(set->device, numbers, sizeof numbers);
    return set;
}

static void append(struct rt_measured_tile_set *set, const struct rt_sample *sample)
{
    if ((set->shapes.count & (set->shapes.count - 1)) == 0) { /* capacity is the next power of two */
        size_t capacity = set->shapes.count ? 2 * set->shapes.count : 1;
        set->points = rt_realloc(set->points, capacity * set->shapes.dims, sizeof *set->points);
        set->tile = rt_realloc(set->tile, capacity, 2 * sizeof *set->tile);
    }
    for (size_t d = 0; d < set->shapes.dims; d++)
        set->points[set->shapes.count * set->shapes.dims + d] = (double)sample->call.dim[d];
    memcpy(set->tile + 2 * set->shapes.count++, sample->tile, 2 * sizeof *set->tile);
}

static void into_tree_order(struct rt_measured_tile_set *set)
{
    uint32_t *order = rt_malloc(set->shapes.count * sizeof *order);
    double *points = rt_malloc(set->shapes.count * set->shapes.dims * sizeof *points);
    int32_t *tile = rt_malloc(set->shapes.count * 2 * sizeof *tile);
    rt_kdtree_order(set->points, set->shapes.count, set->shapes.dims, order);
    for (size_t i = 0; i < set->shapes.count; i++) {
        memcpy(points + i * set->shapes.dims, set->points + order[i] * set->shapes.dims,
               set->shapes.dims * sizeof *points);
        memcpy(tile + 2 * i, set->tile + 2 * order[i], 2 * sizeof *tile);
    }
    free(order);
    free(set->points);
    free(set->tile);
    set->points = points;
    set->tile = tile;
}

/* Computes the box of a set, which searches need. */
static void complete(struct rt_measured_tile_set *set)
{
    rt_kdtree_box(set->points, set->shapes.count, set->shapes.dims, set->low, set->high);
}

void rt_measured_tiles_build(struct rt_measured_tiles *tiles, const struct rt_dataset *dataset,
                             const uint32_t *picked, size_t count)
{
    *tiles = (struct rt_measured_tiles){0};
    for (size_t i = 0; i < count; i++) {
        const struct rt_sample *sample = RT_SAMPLE(dataset, picked[i]);
        append(find_set(tiles, sample, &dataset->devices[sample->device]), sample);
    }
    for (size_t i = 0; i < tiles->count; i++) {
        into_tree_order(&tiles->sets[i]);
        complete(&tiles->sets[i]);
    }
}

void rt_measured_tiles_release(struct rt_measured_tiles *tiles)
{
    for (size_t i = 0; i < tiles->count; i++) {
        free(tiles->sets[i].points);
        free(tiles->sets[i].tile);
    }
    free(tiles->sets);
    *tiles = (struct rt_measured_tiles){0};
}

struct search {
    const struct rt_measured_tiles *tiles;
    const struct rt_query *query;
    double device[RT_TILE_DEVICE_NUMBERS], dim[RT_MAX_DIMS]; /* of the query */
    size_t dims;
    int mismatch; /* the least of all sets: only those are searched */
    double best;
    size_t set, place; /* what is nearest so far; SIZE_MAX none */
};

/* How far a set's op and dtype are from a query's: 0 the same, more is worse, 4 not comparable. */
static int mismatch(const struct search *search, const struct rt_measured_tile_set *set)
{
    if (set->shapes.dims != search->dims)
        return 4;
    return 2 * (set->shapes.op != search->query->call.op) + (set->shapes.dtype != search->query->call.dtype);
}

static double device_distance(const struct search *search, const struct rt_measured_tile_set *set)
{
    double sum = 0;
    for (int d = 0; d < RT_TILE_DEVICE_NUMBERS; d++)
        sum += (set->device[d] - search->device[d]) * (set->device[d] - search->device[d]);
    return sum;
}

/* Returns the first of the sets to be searched whose device is nearest, SIZE_MAX none. */
static size_t search_init(struct search *search, const struct rt_measured_tiles *tiles,
                          const struct rt_query *query, const struct rt_device *device)
{
    *search = (struct search){.tiles = tiles, .query = query, .best = INFINITY, .set = SIZE_MAX};
    device_numbers(device, query->call.op, query->call.dtype, search->device);
    search->dims = (size_t)rt_op_ndims(query->call.op);
    for (size_t d = 0; d < search->dims; d++)
        search->dim[d] = (double)query->call.dim[d];
    search->mismatch = 4;
    size_t nearest = SIZE_MAX;
    double least = INFINITY;
    for (size_t i = 0; i < tiles->count; i++) {
        int m = mismatch(search, &tiles->sets[i]);
        if (m >= 4 || m > search->mismatch)
            continue;
        if (m < search->mismatch) {
            search->mismatch = m;
            least = INFINITY;
            nearest = SIZE_MAX;
        }
        double apart = device_distance(search, &tiles->sets[i]);
        if (apart < least) {
            least = apart;
            nearest = i;
        }
    }
    return nearest;
}

static void search_set(struct search *search, size_t i)
{
    const struct rt_measured_tile_set *set = &search->tiles->sets[i];
    double apart = device_distance(search, set);
    if (!(apart < search->best))
        return;
    double within = search->best - apart;
    struct rt_kdtree tree = {set->shapes.count, set->shapes.dims, set->points, set->low, set->high};
    size_t place = rt_kdtree_nearest(&tree, search->dim, &within);
    if (place == SIZE_MAX)
        return;
    search->best = apart + within;
    search->set = i;
    search->place = place;
}

bool rt_measured_tiles_nearest(const struct rt_measured_tiles *tiles, const struct rt_query *query,
                               const struct rt_device *device, int32_t tile[2])
{
    struct search search;
    size_t first = search_init(&search, tiles, query, device);
    if (first == SIZE_MAX)
        return false;
    search_set(&search, first); /* a near tile first, so that searches in sets of farther devices end early */
    for (size_t i = 0; i < tiles->count; i++)
        if (i != first && mismatch(&search, &tiles->sets[i]) == search.mismatch)
            search_set(&search, i);
    if (search.set == SIZE_MAX)
        return false;
    memcpy(tile, tiles->sets[search.set].tile + 2 * search.place, 2 * sizeof *tile);
    return true;
}

/* ---- in files: shape sets with the device's numbers and the tiles ---- */

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
        complete(&tiles->sets[i]);
    }
    return status;
}
