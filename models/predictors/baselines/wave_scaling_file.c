/* Measured kernels of other devices in predictor files: the devices as groups, the kernels as shape sets
 * (shape_sets.h). */
#include "base/h5_struct.h"
#include "base/status.h"
#include "models/predictors/baselines/wave_scaling.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>

/* --- devices --- */

static int write_device(struct rt_h5 *file, const char *base, const struct rt_device *device)
{
    int status = rt_h5_make_group(file, base);
    for (size_t t = 0; status == RT_OK && t < rt_device_text_count; t++) {
        const char *text = (const char *)device + rt_device_texts[t].offset;
        if (!rt_device_texts[t].sparse || text[0] != '\0')
            status = rt_h5_set_text(file, base, rt_device_texts[t].key, text);
    }
    for (size_t f = 0; status == RT_OK && f < rt_device_field_count; f++) {
        double value = *(const double *)((const char *)device + rt_device_fields[f].offset);
        if (!isnan(value))
            status = rt_h5_set_real(file, base, rt_device_fields[f].key, value);
    }
    return status;
}

struct reader {
    struct rt_wave_scaling *scaling;
    const char *group;
};

static int read_device_text(struct rt_h5 *file, const char *base, size_t t, struct rt_device *device)
{
    char *text;
    if (rt_device_texts[t].sparse && !rt_h5_has(file, base, rt_device_texts[t].key))
        return RT_OK;
    int status = rt_h5_get_text(file, base, rt_device_texts[t].key, &text);
    if (status != RT_OK)
        return status;
    snprintf((char *)device + rt_device_texts[t].offset, rt_device_texts[t].size, "%s", text);
    free(text);
    return RT_OK;
}

static int read_device(struct rt_h5 *file, const char *name, void *context)
{
    struct reader *reader = context;
    struct rt_wave_scaling *scaling = reader->scaling;
    char base[192];
    int status = RT_OK;
    snprintf(base, sizeof base, "%s/%.16s", reader->group, name);
    scaling->devices = rt_realloc(scaling->devices, scaling->device_count + 1, sizeof *scaling->devices);
    struct rt_device *device = &scaling->devices[scaling->device_count++];
    rt_device_init(device, "");
    for (size_t t = 0; status == RT_OK && t < rt_device_text_count; t++)
        status = read_device_text(file, base, t, device);
    for (size_t f = 0; status == RT_OK && f < rt_device_field_count; f++)
        if (rt_h5_has(file, base, rt_device_fields[f].key))
            status = rt_h5_get_real(file, base, rt_device_fields[f].key, rt_device_value(device, f));
    return status == RT_OK ? rt_device_check(device, rt_h5_path(file)) : status;
}

/* --- kernels --- */

static const struct rt_shape_column columns[] = {
    {"device", "1", "of each set: which of the devices, from 0", RT_H5_I32, sizeof(int32_t), 1, false,
     offsetof(struct rt_wave_scaling_set, device), false},
    {"phase", "1", "of each set: 0 forward, 1 backward, 2 accumulate", RT_H5_I32, sizeof(int32_t), 1, false,
     offsetof(struct rt_wave_scaling_set, phase), true},
    {"dims", "1", "of each set, dim by dim: of the kernels, in k-d tree order", RT_H5_I64, sizeof(int64_t), 0,
     true, offsetof(struct rt_wave_scaling_set, dim), false},
    {"latency_us", "us", "of each set: of the kernels", RT_H5_F32, sizeof(float), 1, true,
     offsetof(struct rt_wave_scaling_set, latency_us), false},
};
static const struct rt_shape_layout layout = {columns, RT_COUNT(columns), sizeof(struct rt_wave_scaling_set)};

int rt_wave_scaling_write(const struct rt_wave_scaling *scaling, struct rt_h5 *file, const char *group)
{
    char devices[128], path[160];
    snprintf(devices, sizeof devices, "%s/devices", group);
    int status = rt_h5_make_group(file, group);
    if (status == RT_OK)
        status = rt_h5_make_group(file, devices);
    for (size_t i = 0; status == RT_OK && i < scaling->device_count; i++) {
        snprintf(path, sizeof path, "%s/%04zu", devices, i);
        status = write_device(file, path, &scaling->devices[i]);
    }
    return status == RT_OK ? rt_shape_sets_write(&layout, scaling->sets, scaling->count, file, group)
                           : status;
}

/* Is the device one of those that are there, and is every phase, dim and latency a possible one? */
static bool is_sound(const struct rt_wave_scaling_set *set, size_t devices)
{
    bool sound =
        set->device >= 0 && (size_t)set->device < devices && set->phase >= 0 && set->phase < RT_PHASE_COUNT;
    for (size_t i = 0; sound && i < set->shapes.count * set->shapes.dims; i++)
        sound = set->dim[i] >= (rt_op_may_lack(set->shapes.op, (int)(i % set->shapes.dims)) ? -1 : 0);
    for (size_t i = 0; sound && i < set->shapes.count; i++)
        sound = set->latency_us[i] > 0 && isfinite(set->latency_us[i]);
    return sound;
}

int rt_wave_scaling_read(struct rt_h5 *file, const char *group, struct rt_wave_scaling *scaling)
{
    char devices[128];
    void *sets = NULL;
    snprintf(devices, sizeof devices, "%s/devices", group);
    int status = rt_h5_each_child(file, devices, read_device, &(struct reader){scaling, devices});
    if (status == RT_OK)
        status = rt_shape_sets_read(&layout, file, group, &sets, &scaling->count);
    scaling->sets = sets;
    for (size_t i = 0; status == RT_OK && i < scaling->count; i++) {
        if (!is_sound(&scaling->sets[i], scaling->device_count))
            return rt_fail(RT_EFORMAT,
                           "%s: %s: set %zu has a device, dim or latency that cannot be: the file is damaged",
                           rt_h5_path(file), group, i);
        rt_wave_scaling_set_complete(&scaling->sets[i]);
    }
    return status;
}
