/* Measured tiles in predictor files, laid out as FORMAT.md describes: all sets in six arrays, because opening
 * an array takes HDF5 as long as reading ten thousand numbers. */
#include "base/status.h"
#include "models/baselines/measured_tiles.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADD(call)                                                                                            \
    do {                                                                                                     \
        if ((status = (call)) != RT_OK)                                                                      \
            return status;                                                                                   \
    } while (0)

/* The arrays, named and described. */
enum part { OP, DTYPE, COUNT, DEVICE, DIMS, TILE, PARTS };
struct layout {
    char path[PARTS][128];
    const char *op[RT_OP_COUNT], *dtype[RT_DTYPE_COUNT];
    struct rt_h5_array array[PARTS];
};

static void layout_init(struct layout *layout, const char *group)
{
    static const struct {
        const char *name, *what;
        enum rt_h5_type type;
    } parts[PARTS] = {
        [OP] = {"op", "op of each set", RT_H5_U8},
        [DTYPE] = {"dtype", "element type of each set", RT_H5_U8},
        [COUNT] = {"count", "measured shapes of each set", RT_H5_I64},
        [DEVICE] = {"device", "of each set: SMs, peak GFLOP/s, memory GiB, bandwidth GB/s, L2 MiB",
                    RT_H5_F64},
        [DIMS] = {"dims", "of each set, dim by dim: the measured shapes in k-d tree order", RT_H5_F64},
        [TILE] = {"tile", "of each set: tile0 of the measured shapes, then their tile1", RT_H5_I32},
    };
    for (int i = 0; i < RT_OP_COUNT; i++)
        layout->op[i] = rt_ops[i].name;
    for (int i = 0; i < RT_DTYPE_COUNT; i++)
        layout->dtype[i] = rt_dtypes[i].name;
    for (int p = 0; p < PARTS; p++) {
        snprintf(layout->path[p], sizeof layout->path[p], "%s/%s", group, parts[p].name);
        layout->array[p] = (struct rt_h5_array){layout->path[p], parts[p].type, "1", parts[p].what, NULL, 0};
    }
    layout->array[OP].names = layout->op;
    layout->array[OP].name_count = RT_OP_COUNT;
    layout->array[DTYPE].names = layout->dtype;
    layout->array[DTYPE].name_count = RT_DTYPE_COUNT;
    layout->array[OP].units = layout->array[DTYPE].units = NULL;
}

/* The arrays' values. */
struct table {
    uint8_t *op, *dtype; /* (sets) */
    int64_t *count;      /* (sets) */
    double *device;      /* (sets,RT_TILE_DEVICE_NUMBERS) */
    double *dims;        /* (dim_total) */
    int32_t *tile;       /* (tile_total) */
    size_t sets, dim_total, tile_total;
};

static void table_init(struct table *table)
{
    table->op = rt_calloc(table->sets, 1);
    table->dtype = rt_calloc(table->sets, 1);
    table->count = rt_calloc(table->sets, sizeof *table->count);
    table->device = rt_calloc(table->sets * RT_TILE_DEVICE_NUMBERS, sizeof *table->device);
    table->dims = rt_calloc(table->dim_total, sizeof *table->dims);
    table->tile = rt_calloc(table->tile_total, sizeof *table->tile);
}

static void table_release(struct table *table)
{
    free(table->op);
    free(table->dtype);
    free(table->count);
    free(table->device);
    free(table->dims);
    free(table->tile);
}

static void table_fill(struct table *table, const struct rt_measured_tiles *tiles)
{
    double *dims = table->dims;
    int32_t *tile = table->tile;
    for (size_t i = 0; i < tiles->count; i++) {
        const struct rt_measured_tile_set *set = &tiles->sets[i];
        table->op[i] = set->op;
        table->dtype[i] = set->dtype;
        table->count[i] = (int64_t)set->count;
        memcpy(table->device + i * RT_TILE_DEVICE_NUMBERS, set->device, sizeof set->device);
        for (size_t d = 0; d < set->dims; d++)
            for (size_t p = 0; p < set->count; p++)
                *dims++ = set->points[p * set->dims + d];
        for (size_t t = 0; t < 2; t++)
            for (size_t p = 0; p < set->count; p++)
                *tile++ = set->tile[2 * p + t];
    }
}

static int table_write(const struct table *table, struct rt_h5 *file, const struct layout *layout)
{
    int status;
    const struct rt_h5_array *array = layout->array;
    ADD(rt_h5_write(file, &array[OP], table->op, 1, table->sets));
    ADD(rt_h5_write(file, &array[DTYPE], table->dtype, 1, table->sets));
    ADD(rt_h5_write(file, &array[COUNT], table->count, sizeof *table->count, table->sets));
    ADD(rt_h5_write(file, &array[DEVICE], table->device, sizeof *table->device,
                    table->sets * RT_TILE_DEVICE_NUMBERS));
    ADD(rt_h5_write(file, &array[DIMS], table->dims, sizeof *table->dims, table->dim_total));
    return rt_h5_write(file, &array[TILE], table->tile, sizeof *table->tile, table->tile_total);
}

int rt_measured_tiles_write(const struct rt_measured_tiles *tiles, struct rt_h5 *file, const char *group)
{
    int status;
    ADD(rt_h5_make_group(file, group));
    if (tiles->count == 0)
        return RT_OK;
    struct layout layout;
    layout_init(&layout, group);
    struct table table = {.sets = tiles->count};
    for (size_t i = 0; i < tiles->count; i++) {
        table.dim_total += tiles->sets[i].count * tiles->sets[i].dims;
        table.tile_total += tiles->sets[i].count * 2;
    }
    table_init(&table);
    table_fill(&table, tiles);
    status = table_write(&table, file, &layout);
    table_release(&table);
    return status;
}

/* --- reading --- */

static int table_read(struct table *table, struct rt_h5 *file, const struct layout *layout)
{
    int status;
    const struct rt_h5_array *array = layout->array;
    ADD(rt_h5_read(file, &array[OP], table->op, 1, table->sets));
    ADD(rt_h5_read(file, &array[DTYPE], table->dtype, 1, table->sets));
    ADD(rt_h5_read(file, &array[COUNT], table->count, sizeof *table->count, table->sets));
    ADD(rt_h5_read(file, &array[DEVICE], table->device, sizeof *table->device,
                   table->sets * RT_TILE_DEVICE_NUMBERS));
    ADD(rt_h5_read(file, &array[DIMS], table->dims, sizeof *table->dims, table->dim_total));
    return rt_h5_read(file, &array[TILE], table->tile, sizeof *table->tile, table->tile_total);
}

/* Do the sets' counts add up to the arrays' lengths? No sum overflows: each is checked before it is added. */
static int table_check(const struct table *table, struct rt_h5 *file, const char *group)
{
    size_t dims = 0, tiles = 0;
    bool right = true;
    for (size_t i = 0; right && i < table->sets; i++) {
        right = table->count[i] >= 1 && (uint64_t)table->count[i] <= table->tile_total;
        if (right) {
            dims += (size_t)table->count[i] * (size_t)rt_op_ndims(table->op[i]);
            tiles += (size_t)table->count[i] * 2;
            right = dims <= table->dim_total && tiles <= table->tile_total;
        }
    }
    if (right && dims == table->dim_total && tiles == table->tile_total)
        return RT_OK;
    return rt_fail(RT_EFORMAT, "%s: %s: the shapes of the sets do not add up to those that are there",
                   rt_h5_path(file), group);
}

static void take_sets(const struct table *table, struct rt_measured_tiles *tiles)
{
    const double *dims = table->dims;
    const int32_t *tile = table->tile;
    tiles->sets = rt_calloc(table->sets, sizeof *tiles->sets);
    tiles->count = table->sets;
    for (size_t i = 0; i < table->sets; i++) {
        struct rt_measured_tile_set *set = &tiles->sets[i];
        *set = (struct rt_measured_tile_set){.op = table->op[i], .dtype = table->dtype[i]};
        memcpy(set->device, table->device + i * RT_TILE_DEVICE_NUMBERS, sizeof set->device);
        set->count = (size_t)table->count[i];
        set->dims = (size_t)rt_op_ndims(set->op);
        set->points = rt_malloc(set->count * set->dims * sizeof *set->points);
        set->tile = rt_malloc(set->count * 2 * sizeof *set->tile);
        for (size_t d = 0; d < set->dims; d++)
            for (size_t p = 0; p < set->count; p++)
                set->points[p * set->dims + d] = *dims++;
        for (size_t t = 0; t < 2; t++)
            for (size_t p = 0; p < set->count; p++)
                set->tile[2 * p + t] = *tile++;
        rt_measured_tile_set_complete(set);
    }
}

/* Version 1: a group for each set, an array for each dim. */

struct reader {
    struct rt_measured_tiles *tiles;
    const char *group;
};

static int read_arrays(struct rt_h5 *file, const char *base, struct rt_measured_tile_set *set)
{
    int status;
    char path[192];
    struct rt_h5_array reals = {path, RT_H5_F64, NULL, NULL, NULL, 0};
    struct rt_h5_array integers = {path, RT_H5_I32, NULL, NULL, NULL, 0};
    snprintf(path, sizeof path, "%s/device", base);
    ADD(rt_h5_read(file, &reals, set->device, sizeof *set->device, RT_TILE_DEVICE_NUMBERS));
    snprintf(path, sizeof path, "%s/tile0", base);
    ADD(rt_h5_count(file, &integers, &set->count));
    set->dims = (size_t)rt_op_ndims(set->op);
    set->points = rt_calloc(set->count * set->dims, sizeof *set->points);
    set->tile = rt_calloc(set->count * 2, sizeof *set->tile);
    for (size_t t = 0; t < 2; t++) {
        snprintf(path, sizeof path, "%s/tile%zu", base, t);
        ADD(rt_h5_read(file, &integers, set->tile + t, 2 * sizeof *set->tile, set->count));
    }
    for (size_t d = 0; d < set->dims; d++) {
        snprintf(path, sizeof path, "%s/%s", base, rt_ops[set->op].dims[d]);
        ADD(rt_h5_read(file, &reals, set->points + d, set->dims * sizeof *set->points, set->count));
    }
    rt_measured_tile_set_complete(set);
    return RT_OK;
}

static int read_set(struct rt_h5 *file, const char *name, void *context)
{
    struct reader *reader = context;
    struct rt_measured_tiles *tiles = reader->tiles;
    char base[160];
    int status, op = -1, dtype = -1;
    snprintf(base, sizeof base, "%s/%.16s", reader->group, name);
    ADD(rt_h5_get_name(file, base, "op", rt_op_find, &op));
    ADD(rt_h5_get_name(file, base, "dtype", rt_dtype_find, &dtype));
    tiles->sets = rt_realloc(tiles->sets, tiles->count + 1, sizeof *tiles->sets);
    struct rt_measured_tile_set *set = &tiles->sets[tiles->count++];
    *set = (struct rt_measured_tile_set){.op = (uint8_t)op, .dtype = (uint8_t)dtype};
    return read_arrays(file, base, set);
}

int rt_measured_tiles_read(struct rt_h5 *file, const char *group, struct rt_measured_tiles *tiles)
{
    struct layout layout;
    struct table table = {0};
    int status;
    layout_init(&layout, group);
    if (!rt_h5_exists(file, layout.path[COUNT]))
        return rt_h5_each_child(file, group, read_set, &(struct reader){tiles, group});
    ADD(rt_h5_count(file, &layout.array[COUNT], &table.sets));
    ADD(rt_h5_count(file, &layout.array[DIMS], &table.dim_total));
    ADD(rt_h5_count(file, &layout.array[TILE], &table.tile_total));
    table_init(&table);
    status = table_read(&table, file, &layout);
    if (status == RT_OK)
        status = table_check(&table, file, group);
    if (status == RT_OK)
        take_sets(&table, tiles);
    table_release(&table);
    return status;
}
