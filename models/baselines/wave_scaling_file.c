/* Measured kernels of other devices in predictor files, laid out as FORMAT.md describes: devices as groups,
 * all kernels in six arrays, because opening an array takes HDF5 as long as reading ten thousand numbers. */
#include "base/status.h"
#include "models/baselines/wave_scaling.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define ADD(call)                                                                                            \
    do {                                                                                                     \
        if ((status = (call)) != RT_OK)                                                                      \
            return status;                                                                                   \
    } while (0)

/* --- devices --- */

static int write_device(struct rt_h5 *file, const char *base, const struct rt_device *device)
{
    int status;
    ADD(rt_h5_make_group(file, base));
    for (size_t t = 0; t < rt_device_text_count; t++)
        ADD(rt_h5_set_text(file, base, rt_device_texts[t].key,
                           (const char *)device + rt_device_texts[t].offset));
    for (size_t f = 0; f < rt_device_field_count; f++) {
        double value = *(const double *)((const char *)device + rt_device_fields[f].offset);
        if (!isnan(value))
            ADD(rt_h5_set_real(file, base, rt_device_fields[f].key, value));
    }
    return RT_OK;
}

struct reader {
    struct rt_wave_scaling *origins;
    const char *group;
};

static int read_device(struct rt_h5 *file, const char *name, void *context)
{
    struct reader *reader = context;
    struct rt_wave_scaling *origins = reader->origins;
    char base[192];
    int status;
    snprintf(base, sizeof base, "%s/%.16s", reader->group, name);
    origins->devices = rt_realloc(origins->devices, origins->device_count + 1, sizeof *origins->devices);
    struct rt_device *device = &origins->devices[origins->device_count++];
    rt_device_init(device, "");
    for (size_t t = 0; t < rt_device_text_count; t++) {
        char *text;
        ADD(rt_h5_get_text(file, base, rt_device_texts[t].key, &text));
        snprintf((char *)device + rt_device_texts[t].offset, rt_device_texts[t].size, "%s", text);
        free(text);
    }
    for (size_t f = 0; f < rt_device_field_count; f++)
        if (rt_h5_has(file, base, rt_device_fields[f].key))
            ADD(rt_h5_get_real(file, base, rt_device_fields[f].key, rt_device_value(device, f)));
    return rt_device_check(device, rt_h5_path(file));
}

/* --- kernels --- */

enum part { OP, DTYPE, DEVICE, COUNT, DIMS, LATENCY, PARTS };
struct layout {
    char path[PARTS][128], devices[128];
    const char *op[RT_OP_COUNT], *dtype[RT_DTYPE_COUNT];
    struct rt_h5_array array[PARTS];
};

static void layout_init(struct layout *layout, const char *group)
{
    static const struct {
        const char *name, *units, *what;
        enum rt_h5_type type;
    } parts[PARTS] = {
        [OP] = {"op", NULL, "op of each set", RT_H5_U8},
        [DTYPE] = {"dtype", NULL, "element type of each set", RT_H5_U8},
        [DEVICE] = {"device", "1", "of each set: which of the devices, from 0", RT_H5_I32},
        [COUNT] = {"count", "1", "measured kernels of each set", RT_H5_I64},
        [DIMS] = {"dims", "1", "of each set, dim by dim: of the kernels, in k-d tree order", RT_H5_I64},
        [LATENCY] = {"latency_us", "us", "of each set: of the kernels", RT_H5_F32},
    };
    for (int i = 0; i < RT_OP_COUNT; i++)
        layout->op[i] = rt_ops[i].name;
    for (int i = 0; i < RT_DTYPE_COUNT; i++)
        layout->dtype[i] = rt_dtypes[i].name;
    for (int p = 0; p < PARTS; p++) {
        snprintf(layout->path[p], sizeof layout->path[p], "%s/%s", group, parts[p].name);
        layout->array[p] =
            (struct rt_h5_array){layout->path[p], parts[p].type, parts[p].units, parts[p].what, NULL, 0};
    }
    layout->array[OP].names = layout->op;
    layout->array[OP].name_count = RT_OP_COUNT;
    layout->array[DTYPE].names = layout->dtype;
    layout->array[DTYPE].name_count = RT_DTYPE_COUNT;
    snprintf(layout->devices, sizeof layout->devices, "%s/devices", group);
}

/* The arrays' values. */
struct table {
    uint8_t *op, *dtype; /* (sets) */
    int32_t *device;     /* (sets) */
    int64_t *count;      /* (sets) */
    int64_t *dims;       /* (dim_total) */
    float *latency_us;   /* (kernels) */
    size_t sets, dim_total, kernels;
};

static void table_init(struct table *table)
{
    table->op = rt_calloc(table->sets + 1, 1);
    table->dtype = rt_calloc(table->sets + 1, 1);
    table->device = rt_calloc(table->sets + 1, sizeof *table->device);
    table->count = rt_calloc(table->sets + 1, sizeof *table->count);
    table->dims = rt_calloc(table->dim_total + 1, sizeof *table->dims);
    table->latency_us = rt_calloc(table->kernels + 1, sizeof *table->latency_us);
}

static void table_release(struct table *table)
{
    free(table->op);
    free(table->dtype);
    free(table->device);
    free(table->count);
    free(table->dims);
    free(table->latency_us);
}

static void table_fill(struct table *table, const struct rt_wave_scaling *origins)
{
    int64_t *dims = table->dims;
    float *latency_us = table->latency_us;
    for (size_t i = 0; i < origins->count; i++) {
        const struct rt_wave_scaling_set *set = &origins->sets[i];
        table->op[i] = set->op;
        table->dtype[i] = set->dtype;
        table->device[i] = set->device;
        table->count[i] = (int64_t)set->count;
        for (size_t d = 0; d < set->dims; d++)
            for (size_t p = 0; p < set->count; p++)
                *dims++ = set->dim[p * set->dims + d];
        memcpy(latency_us, set->latency_us, set->count * sizeof *latency_us);
        latency_us += set->count;
    }
}

static int table_write(const struct table *table, struct rt_h5 *file, const struct layout *layout)
{
    int status;
    const struct rt_h5_array *array = layout->array;
    ADD(rt_h5_write(file, &array[OP], table->op, 1, table->sets));
    ADD(rt_h5_write(file, &array[DTYPE], table->dtype, 1, table->sets));
    ADD(rt_h5_write(file, &array[DEVICE], table->device, sizeof *table->device, table->sets));
    ADD(rt_h5_write(file, &array[COUNT], table->count, sizeof *table->count, table->sets));
    ADD(rt_h5_write(file, &array[DIMS], table->dims, sizeof *table->dims, table->dim_total));
    return rt_h5_write(file, &array[LATENCY], table->latency_us, sizeof *table->latency_us, table->kernels);
}

int rt_wave_scaling_write(const struct rt_wave_scaling *origins, struct rt_h5 *file, const char *group)
{
    int status;
    char path[160];
    struct layout layout;
    layout_init(&layout, group);
    ADD(rt_h5_make_group(file, group));
    ADD(rt_h5_make_group(file, layout.devices));
    for (size_t i = 0; i < origins->device_count; i++) {
        snprintf(path, sizeof path, "%s/%04zu", layout.devices, i);
        ADD(write_device(file, path, &origins->devices[i]));
    }
    struct table table = {.sets = origins->count};
    for (size_t i = 0; i < origins->count; i++) {
        table.dim_total += origins->sets[i].count * origins->sets[i].dims;
        table.kernels += origins->sets[i].count;
    }
    table_init(&table);
    table_fill(&table, origins);
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
    ADD(rt_h5_read(file, &array[DEVICE], table->device, sizeof *table->device, table->sets));
    ADD(rt_h5_read(file, &array[COUNT], table->count, sizeof *table->count, table->sets));
    ADD(rt_h5_read(file, &array[DIMS], table->dims, sizeof *table->dims, table->dim_total));
    return rt_h5_read(file, &array[LATENCY], table->latency_us, sizeof *table->latency_us, table->kernels);
}

/* Do the sets' counts add up to the arrays' lengths, and can dims and latencies be? No sum overflows: each is
 * checked before it is added. */
static int table_check(const struct table *table, size_t devices, struct rt_h5 *file, const char *group)
{
    size_t dims = 0, kernels = 0;
    bool right = true;
    for (size_t i = 0; right && i < table->sets; i++) {
        right = table->count[i] >= 1 && (uint64_t)table->count[i] <= table->kernels &&
                table->device[i] >= 0 && (size_t)table->device[i] < devices;
        if (right) {
            dims += (size_t)table->count[i] * (size_t)rt_op_ndims(table->op[i]);
            kernels += (size_t)table->count[i];
            right = dims <= table->dim_total && kernels <= table->kernels;
        }
    }
    for (size_t i = 0; right && i < table->dim_total; i++)
        right = table->dims[i] >= 0;
    for (size_t i = 0; right && i < table->kernels; i++)
        right = table->latency_us[i] > 0 && isfinite(table->latency_us[i]);
    if (right && dims == table->dim_total && kernels == table->kernels)
        return RT_OK;
    return rt_fail(
        RT_EFORMAT,
        "%s: %s: the kernels of the sets are not those that are there, or cannot be: the file is damaged",
        rt_h5_path(file), group);
}

static void take_sets(const struct table *table, struct rt_wave_scaling *origins)
{
    const int64_t *dims = table->dims;
    const float *latency_us = table->latency_us;
    origins->sets = rt_calloc(table->sets + 1, sizeof *origins->sets);
    origins->count = table->sets;
    for (size_t i = 0; i < table->sets; i++) {
        struct rt_wave_scaling_set *set = &origins->sets[i];
        *set = (struct rt_wave_scaling_set){.op = table->op[i],
                                            .dtype = table->dtype[i],
                                            .device = table->device[i],
                                            .count = (size_t)table->count[i],
                                            .dims = (size_t)rt_op_ndims(table->op[i])};
        set->dim = rt_malloc((set->count * set->dims + 1) * sizeof *set->dim);
        set->latency_us = rt_malloc(set->count * sizeof *set->latency_us);
        for (size_t d = 0; d < set->dims; d++)
            for (size_t p = 0; p < set->count; p++)
                set->dim[p * set->dims + d] = *dims++;
        memcpy(set->latency_us, latency_us, set->count * sizeof *latency_us);
        latency_us += set->count;
        rt_wave_scaling_set_complete(set);
    }
}

int rt_wave_scaling_read(struct rt_h5 *file, const char *group, struct rt_wave_scaling *origins)
{
    struct layout layout;
    struct table table = {0};
    int status;
    layout_init(&layout, group);
    ADD(rt_h5_each_child(file, layout.devices, read_device, &(struct reader){origins, layout.devices}));
    ADD(rt_h5_count(file, &layout.array[COUNT], &table.sets));
    ADD(rt_h5_count(file, &layout.array[DIMS], &table.dim_total));
    ADD(rt_h5_count(file, &layout.array[LATENCY], &table.kernels));
    table_init(&table);
    status = table_read(&table, file, &layout);
    if (status == RT_OK)
        status = table_check(&table, origins->device_count, file, group);
    if (status == RT_OK)
        take_sets(&table, origins);
    table_release(&table);
    return status;
}
