/* Kernels of other devices, and scaling them. See wave_scaling.h. */
#include "models/predictors/baselines/wave_scaling.h"
#include "base/sort.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- building --- */

/* As queries have it: phases are kernels of their own in convolutions alone (tile.h). */
static uint8_t phase_of(const struct rt_sample *sample)
{
    struct rt_query query;
    rt_query_init(&query, &sample->call);
    return query.call.phase;
}

/* Samples of one set, of one kernel in it, from fast to slow, lie beside each other. */
static int compare(const void *a, const void *b)
{
    const struct rt_sample *x = a, *y = b;
    int64_t keys[][2] = {{x->call.op, y->call.op},
                         {phase_of(x), phase_of(y)},
                         {x->call.dtype, y->call.dtype},
                         {x->device, y->device}};
    for (size_t k = 0; k < RT_COUNT(keys); k++)
        if (keys[k][0] != keys[k][1])
            return keys[k][0] < keys[k][1] ? -1 : 1;
    for (int d = 0; d < RT_MAX_DIMS; d++)
        if (x->call.dim[d] != y->call.dim[d])
            return x->call.dim[d] < y->call.dim[d] ? -1 : 1;
    return x->latency_us < y->latency_us ? -1 : x->latency_us > y->latency_us;
}

static bool same_set(const struct rt_sample *a, const struct rt_sample *b)
{
    return a->call.op == b->call.op && phase_of(a) == phase_of(b) && a->call.dtype == b->call.dtype &&
           a->device == b->device;
}

/* Index of a device of the data among the origins. */
static int32_t origin_of(struct rt_wave_scaling *scaling, const struct rt_device *device)
{
    for (size_t i = 0; i < scaling->device_count; i++)
        if (rt_name_equal(scaling->devices[i].name, device->name))
            return (int32_t)i;
    scaling->devices = rt_realloc(scaling->devices, scaling->device_count + 1, sizeof *scaling->devices);
    scaling->devices[scaling->device_count] = *device;
    return (int32_t)scaling->device_count++;
}

/* Of the samples of one set, sorted. */
static void fill_set(struct rt_wave_scaling_set *set, const struct rt_sample *samples, size_t count)
{
    set->dim = rt_malloc(count * set->shapes.dims * sizeof *set->dim);
    set->latency_us = rt_malloc(count * sizeof *set->latency_us);
    double *times = rt_malloc(count * sizeof *times);
    for (size_t i = 0, next; i < count; i = next) {
        const int64_t *dim = samples[i].call.dim;
        for (next = i; next < count && memcmp(samples[next].call.dim, dim, sizeof samples->call.dim) == 0;
             next++)
            times[next - i] = samples[next].latency_us;
        memcpy(set->dim + set->shapes.count * set->shapes.dims, dim, set->shapes.dims * sizeof *set->dim);
        set->latency_us[set->shapes.count++] = (float)rt_median(times, next - i);
    }
    free(times);
}

void rt_wave_scaling_point(const struct rt_query *query, double *point)
{
    int dims = rt_op_ndims(query->call.op);
    for (int d = 0; d < dims; d++)
        point[d] = log2(1 + fmax((double)query->call.dim[d], 0)); /* -1: missing, as 0 */
    point[dims] = 2 * log2(1 + rt_query_flops(query));
    point[dims + 1] = 2 * log2(1 + rt_query_traffic(query));
}

/* The query of a measured kernel. */
static struct rt_query query_of(const struct rt_wave_scaling_set *set, size_t place)
{
    struct rt_query query = {.call.op = set->shapes.op,
                             .call.dtype = set->shapes.dtype,
                             .call.phase = (uint8_t)set->phase,
                             .tile = {-1, -1}};
    memcpy(query.call.dim, set->dim + place * set->shapes.dims, set->shapes.dims * sizeof *set->dim);
    return query;
}

static size_t axes_of(const struct rt_wave_scaling_set *set)
{
    return set->shapes.dims + RT_WAVE_SCALING_AMOUNTS;
}

/* Computes points and box of a set, which searches need. */
static void complete(struct rt_wave_scaling_set *set)
{
    size_t axes = axes_of(set);
    set->points = rt_malloc(set->shapes.count * axes * sizeof *set->points);
    for (size_t i = 0; i < set->shapes.count; i++) {
        struct rt_query query = query_of(set, i);
        rt_wave_scaling_point(&query, set->points + i * axes);
    }
    rt_kdtree_box(set->points, set->shapes.count, axes, set->low, set->high);
}

static void into_tree_order(struct rt_wave_scaling_set *set)
{
    uint32_t *order = rt_malloc(set->shapes.count * sizeof *order);
    int64_t *dim = rt_malloc(set->shapes.count * set->shapes.dims * sizeof *dim);
    float *latency_us = rt_malloc(set->shapes.count * sizeof *latency_us);
    complete(set);
    rt_kdtree_order(set->points, set->shapes.count, axes_of(set), order);
    for (size_t i = 0; i < set->shapes.count; i++) {
        memcpy(dim + i * set->shapes.dims, set->dim + order[i] * set->shapes.dims,
               set->shapes.dims * sizeof *dim);
        latency_us[i] = set->latency_us[order[i]];
    }
    free(order);
    free(set->dim);
    free(set->latency_us);
    free(set->points);
    set->dim = dim;
    set->latency_us = latency_us;
    complete(set);
}

void rt_wave_scaling_build(struct rt_wave_scaling *scaling, const struct rt_dataset *dataset,
                           const uint32_t *picked, size_t count)
{
    struct rt_sample *samples = rt_malloc((count + 1) * sizeof *samples);
    for (size_t i = 0; i < count; i++)
        samples[i] = rt_dataset_sample(dataset, picked[i]);
    qsort(samples, count, sizeof *samples, compare);
    *scaling = (struct rt_wave_scaling){0};
    for (size_t i = 0, next; i < count; i = next) {
        const struct rt_sample *first = &samples[i];
        for (next = i; next < count && same_set(&samples[next], first);)
            next++;
        int32_t device = origin_of(scaling, &dataset->devices[first->device]);
        scaling->sets = rt_realloc(scaling->sets, scaling->count + 1, sizeof *scaling->sets);
        struct rt_wave_scaling_set *set = &scaling->sets[scaling->count++];
        *set = (struct rt_wave_scaling_set){.shapes = {.op = first->call.op,
                                                       .dtype = first->call.dtype,
                                                       .dims = (size_t)rt_op_ndims(first->call.op)},
                                            .phase = phase_of(first),
                                            .device = device};
        fill_set(set, first, next - i);
        into_tree_order(set);
    }
    free(samples);
}

void rt_wave_scaling_release(struct rt_wave_scaling *scaling)
{
    for (size_t i = 0; i < scaling->count; i++) {
        free(scaling->sets[i].dim);
        free(scaling->sets[i].latency_us);
        free(scaling->sets[i].points);
    }
    free(scaling->sets);
    free(scaling->devices);
    *scaling = (struct rt_wave_scaling){0};
}

/* --- scaling --- */

/* Thread blocks at once x clock. The occupancy of a kernel is not known: it is taken to be the same on both
 * devices, so that multiprocessors stand for W. */
static double compute_ratio(const struct rt_query *query, const struct rt_device *origin,
                            const struct rt_device *device)
{
    double ratio = origin->sms * origin->clock_mhz / (device->sms * device->clock_mhz);
    enum rt_family family = rt_call_family(&query->call);
    enum rt_dtype dtype = (enum rt_dtype)query->call.dtype;
    return isfinite(ratio)
               ? ratio
               : rt_device_peak_flops(origin, family, dtype) / rt_device_peak_flops(device, family, dtype);
}

double rt_wave_scale(const struct rt_query *query, const struct rt_device *origin,
                     const struct rt_device *device)
{
    double intensity = rt_query_flops(query) / rt_query_traffic(query);
    double peak =
        rt_device_peak_flops(device, rt_call_family(&query->call), (enum rt_dtype)query->call.dtype);
    double share = intensity * 1e9 * device->bandwidth_gbs / peak; /* x / R */
    double gamma = share < 1 ? 1 - 0.5 * share : 0.5 / share;
    return pow(origin->bandwidth_gbs / device->bandwidth_gbs, gamma) *
           pow(compute_ratio(query, origin, device), 1 - gamma);
}

/* --- the nearest kernel --- */

/* How far a set's op, phase and dtype are from a query's: 0 the same, more is worse, UNLIKE not comparable.
 */
enum { UNLIKE = 8 };
static int mismatch(const struct rt_wave_scaling *scaling, const struct rt_wave_scaling_set *set,
                    const struct rt_query *query, const struct rt_device *device)
{
    if (set->shapes.dims != (size_t)rt_op_ndims(query->call.op) ||
        rt_name_equal(scaling->devices[set->device].name, device->name) ||
        isnan(rt_roofline_us(query, &scaling->devices[set->device])))
        return UNLIKE;
    return 4 * (set->shapes.op != query->call.op) + 2 * (set->phase != query->call.phase) +
           (set->shapes.dtype != query->call.dtype);
}

/* Forecast of the query on the device from one kernel of a set. */
static double scaled_us(const struct rt_wave_scaling *scaling, const struct rt_wave_scaling_set *set,
                        size_t place, const struct rt_query *query, const struct rt_device *device)
{
    const struct rt_device *origin = &scaling->devices[set->device];
    struct rt_query measured = query_of(set, place);
    double alike = rt_roofline_us(query, origin) / rt_roofline_us(&measured, origin);
    return (double)set->latency_us[place] * alike * rt_wave_scale(query, origin, device);
}

/* Distances that differ by less are the same. */
static const double SAME = 1e-9;

/* Squared distance of the nearest kernel over all sets of that mismatch; place (count): of each set's
 * nearest, SIZE_MAX where it is farther than that of another set. */
static void find_nearest(const struct rt_wave_scaling *scaling, const struct rt_query *query,
                         const struct rt_device *device, int least, size_t *place)
{
    double point[RT_WAVE_SCALING_MOST_AXES], nearest = INFINITY;
    double *distance = rt_malloc((scaling->count + 1) * sizeof *distance);
    rt_wave_scaling_point(query, point);
    for (size_t i = 0; i < scaling->count; i++) {
        const struct rt_wave_scaling_set *set = &scaling->sets[i];
        place[i] = SIZE_MAX;
        if (mismatch(scaling, set, query, device) != least)
            continue;
        struct rt_kdtree tree = {set->shapes.count, axes_of(set), set->points, set->low, set->high};
        distance[i] = nearest + SAME;
        place[i] = rt_kdtree_nearest(&tree, point, &distance[i]);
        if (place[i] != SIZE_MAX && distance[i] < nearest)
            nearest = distance[i];
    }
    for (size_t i = 0; i < scaling->count; i++)
        if (place[i] != SIZE_MAX && distance[i] > nearest + SAME)
            place[i] = SIZE_MAX;
    free(distance);
}

/* The median, in logarithms, of the forecasts from the nearest kernels: of the device's vendor, or of all. */
static double median_us(const struct rt_wave_scaling *scaling, const size_t *place,
                        const struct rt_query *query, const struct rt_device *device, bool vendor)
{
    double *logs = rt_malloc((scaling->count + 1) * sizeof *logs);
    size_t count = 0;
    for (size_t i = 0; i < scaling->count; i++) {
        const struct rt_wave_scaling_set *set = &scaling->sets[i];
        if (place[i] == SIZE_MAX ||
            (vendor && strcmp(scaling->devices[set->device].vendor, device->vendor) != 0))
            continue;
        double us = scaled_us(scaling, set, place[i], query, device);
        if (us > 0 && isfinite(us))
            logs[count++] = log(us);
    }
    double us = exp(rt_median(logs, count)); /* of none: NaN */
    free(logs);
    return us;
}

double rt_wave_scaling_us(const struct rt_wave_scaling *scaling, const struct rt_query *query,
                          const struct rt_device *device)
{
    int least = UNLIKE;
    for (size_t i = 0; i < scaling->count; i++) {
        int m = mismatch(scaling, &scaling->sets[i], query, device);
        least = m < least ? m : least;
    }
    if (least == UNLIKE)
        return NAN;
    size_t *place = rt_malloc((scaling->count + 1) * sizeof *place);
    find_nearest(scaling, query, device, least, place);
    double us = median_us(scaling, place, query, device, true);
    if (isnan(us))
        us = median_us(scaling, place, query, device, false);
    free(place);
    return us;
}

/* ---- in files: the devices as groups, the kernels as shape sets ---- */

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
        complete(&scaling->sets[i]);
    }
    return status;
}
