/* The checks of `rooftile dataset validate`. See validate.h. */
#include "datasets/validate.h"
#include "datasets/run_attributes.h"
#include "datasets/dataset.h"
#include "datasets/moe_routing.h"
#include "base/units.h"
#include "base/status.h"

#include <inttypes.h>
#include <math.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *what;
} check_names[RT_CHECK_COUNT] = {
    [RT_CHECK_READING] = {"reading", "every array reads, checksums hold, every index is valid"},
    [RT_CHECK_UNITS] = {"units", "units and names of the columns are the format's"},
    [RT_CHECK_UUID] = {"uuid", "the uuid is that of the content"},
    [RT_CHECK_RANGES] = {"ranges", "every value is possible"},
    [RT_CHECK_DUPLICATES] = {"duplicates", "no sample or workload occurs twice"},
    [RT_CHECK_DEVICES] = {"devices", "no GPU occurs twice, and has a peak for every dtype of its samples"},
    [RT_CHECK_ROOFLINE] = {"roofline", "no sample is faster than its GPU's peaks allow"},
};

static void wrong(struct rt_check *check, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void wrong(struct rt_check *check, const char *format, ...)
{
    if (check->wrong++ > 0)
        return;
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(check->first, sizeof check->first, format, arguments);
    va_end(arguments);
}

/* ---- units ---- */

static bool attribute_is(struct rt_h5 *file, const char *path, const char *name, const char *expected)
{
    char *text;
    if (expected == NULL)
        return !rt_h5_has(file, path, name);
    if (rt_h5_get_text(file, path, name, &text) != RT_OK)
        return false;
    bool same = strcmp(text, expected) == 0;
    free(text);
    return same;
}

static void check_column(struct rt_h5 *file, const char *table, const char *name, const char *units,
                         const char *long_name, int since, struct rt_check *check)
{
    char path[128];
    if (since > rt_h5_version(file))
        return;
    snprintf(path, sizeof path, "/%s/%s", table, name);
    check->checked++;
    if (!attribute_is(file, path, "units", units))
        wrong(check, "%s: units are not \"%s\"", path, units != NULL ? units : "");
    else if (!attribute_is(file, path, "long_name", long_name))
        wrong(check, "%s: long_name is not \"%s\"", path, long_name);
}

static void check_device_column(struct rt_h5 *file, const struct rt_device_field *field,
                                struct rt_check *check)
{
    char path[128];
    snprintf(path, sizeof path, "/devices/%s", field->key);
    if (!field->sparse || rt_h5_has(file, path, "units"))
        check_column(file, "devices", field->key, field->units, field->long_name, 1, check);
}

static int check_units(const char *path, struct rt_check *check)
{
    struct rt_h5 *file;
    int status = rt_h5_open(path, RT_DATASET_FORMAT, RT_DATASET_VERSION, &file);
    if (status != RT_OK)
        return status;
    for (size_t f = 0; f < rt_sample_field_count; f++)
        check_column(file, "samples", rt_sample_fields[f].name, rt_sample_fields[f].units,
                     rt_sample_fields[f].long_name, rt_sample_fields[f].since, check);
    for (size_t f = 0; f < rt_workload_field_count; f++)
        check_column(file, "workloads", rt_workload_fields[f].name, rt_workload_fields[f].units,
                     rt_workload_fields[f].long_name, rt_workload_fields[f].since, check);
    for (size_t f = 0; f < rt_device_field_count; f++)
        check_device_column(file, &rt_device_fields[f], check);
    rt_h5_close(file);
    return RT_OK;
}

/* ---- content ---- */

static void check_uuid(struct rt_dataset *dataset, struct rt_check *check)
{
    char **kept[] = {&dataset->uuid, &dataset->creator, &dataset->created}, *before[3];
    for (int i = 0; i < 3; i++)
        before[i] = rt_strdup(*kept[i]);
    rt_dataset_stamp(dataset);
    check->checked++;
    if (strcmp(before[0], dataset->uuid) != 0)
        wrong(check, "the file has %.40s, its content makes %s", before[0], dataset->uuid);
    for (int i = 0; i < 3; i++) {
        free(*kept[i]);
        *kept[i] = before[i];
    }
}

/* The first column whose value is impossible, NULL where all can be. A run that failed, and no other, lacks
 * its main latency. */
static const char *odd_field(const struct rt_field *fields, size_t count, const void *row, double latency_us,
                             uint32_t flags)
{
    if ((flags & RT_FLAG_FAILED) ? !isnan(latency_us) : !rt_time_is_possible(latency_us))
        return fields == rt_sample_fields ? "latency_us" : "end_to_end_us";
    for (size_t f = 0; f < count; f++)
        if (!rt_field_is_possible(&fields[f], row))
            return fields[f].name;
    return NULL;
}

static const char *odd_sample(const struct rt_sample *s)
{
    for (int i = rt_op_ndims(s->call.op); i < RT_MAX_DIMS; i++)
        if (s->call.dim[i] != -1)
            return "a dim that its op does not have";
    if (s->latency_min_us > s->latency_median_us)
        return "latency_min_us is above latency_median_us";
    return odd_field(rt_sample_fields, rt_sample_field_count, s, s->latency_us, s->flags);
}

static const char *odd_workload(const struct rt_workload *w)
{
    return odd_field(rt_workload_fields, rt_workload_field_count, w, w->end_to_end_us, w->flags);
}

static void check_ranges(const struct rt_dataset *dataset, struct rt_check *check)
{
    check->checked = dataset->samples.count + dataset->workload_count;
    for (size_t i = 0; i < dataset->samples.count; i++) {
        const char *column = odd_sample(RT_SAMPLE(dataset, i));
        if (column != NULL)
            wrong(check, "/samples row %zu (%s, %g us): %s", i, rt_ops[RT_SAMPLE(dataset, i)->call.op].name,
                  RT_SAMPLE(dataset, i)->latency_us, column);
    }
    for (size_t i = 0; i < dataset->workload_count; i++) {
        const char *column = odd_workload(&dataset->workloads[i]);
        if (column == NULL && rt_run_attributes_check(dataset, &dataset->workloads[i]) != RT_OK)
            column = rt_error();
        if (column != NULL)
            wrong(check, "/workloads row %zu (%s): %s", i,
                  rt_strings_get(&dataset->texts, dataset->workloads[i].model), column);
    }
}

/* How many rows equal an earlier one; the first of them is *first. */
static size_t count_equal(const struct rt_rows *rows, size_t *first)
{
    size_t equal = 0;
    struct rt_hash_set set = {0};
    rt_hash_set_reserve(&set, rows->count);
    for (size_t i = 0; i < rows->count; i++)
        if (rt_rows_seen(&set, rows, i) >= 0 && equal++ == 0)
            *first = i;
    rt_hash_set_release(&set);
    return equal;
}

static void check_duplicates(const struct rt_dataset *dataset, struct rt_check *check)
{
    size_t first = 0;
    check->checked = dataset->samples.count + dataset->workload_count;
    size_t samples = count_equal(&dataset->samples, &first);
    if (samples > 0)
        wrong(check, "/samples row %zu equals an earlier one; `rooftile dataset merge` drops such rows",
              first);
    struct rt_rows rows = rt_dataset_workload_rows(dataset);
    size_t workloads = count_equal(&rows, &first);
    rt_rows_release(&rows);
    if (workloads > 0)
        wrong(check, "/workloads row %zu equals an earlier one; `rooftile dataset merge` drops such rows",
              first);
    check->wrong = samples + workloads;
}

/* ---- the roofline ---- */

double rt_sample_least_bytes(const struct rt_dataset *dataset, const struct rt_sample *sample)
{
    double width = rt_dtypes[sample->call.dtype].bytes;
    const char *cache = rt_dataset_attribute(dataset, sample->group, "kv_cache_dtype");
    int narrow = cache != NULL ? rt_dtype_find(cache) : -1;
    if (narrow >= 0 && rt_dtypes[narrow].bytes < width)
        width = rt_dtypes[narrow].bytes;
    return rt_ops[sample->call.op].bytes(sample->call.dim, width);
}

double rt_sample_least_flops(const struct rt_sample *sample)
{
    struct rt_sample even = *sample;
    if (rt_call_family(&sample->call) == RT_FAMILY_MOE)
        even.call.dim[RT_MOE_SKEW] = 0;
    return rt_call_least_flops(&even.call);
}

/* Moving the bytes, where they are known: from the memory where the last-level cache cannot hold them, else
 * from that cache, which has a few times the memory's bandwidth. */
static double least_memory_us(const struct rt_dataset *dataset, const struct rt_sample *sample)
{
    const double most_of_cache = 16;
    const struct rt_device *device = &dataset->devices[sample->device];
    if (rt_call_family(&sample->call) ==
        RT_FAMILY_MOE) /* what it reads depends on the routing of its tokens */
        return NAN;
    double bytes = rt_sample_least_bytes(dataset, sample), us = 1e6 * bytes / (1e9 * device->bandwidth_gbs);
    if (bytes > 4 * device->l2_mib * RT_MIB)
        return us;
    return rt_device_is_gpu(device) ? us / most_of_cache : NAN;
}

/* A kernel of a GPU waits at least once for the L2, about 200 cycles (Jia et al. 2018, arXiv:1804.06826,
 * section 3.2). */
static double least_start_us(const struct rt_device *device)
{
    return rt_device_is_gpu(device) ? 180 / device->clock_mhz : NAN;
}

/* Over the clock of the data sheet, where that is a typical one: best square products of GeForce boards reach
 * up to 1.17 times what the sheet allows (RTX 5090 in TF32; scripts/corpora/sustained.py). */
static double most_clock(const struct rt_device *device)
{
    return device->boost_typical > 0 ? 1.25 : 1;
}

double rt_sample_least_us(const struct rt_dataset *dataset, const struct rt_sample *sample,
                          const char **limit)
{
    const struct rt_device *device = &dataset->devices[sample->device];
    enum rt_family family = rt_call_family(&sample->call);
    if (rt_families[family].link || rt_families[family].host)
        return NAN; /* moves over links, not through the memory */
    double peak = most_clock(device) * rt_device_peak_flops(device, family, sample->call.dtype);
    const struct {
        double us;
        const char *limit;
    } bounds[] = {{1e6 * rt_sample_least_flops(sample) / peak, "compute"},
                  {least_memory_us(dataset, sample), "memory"},
                  {least_start_us(device) / most_clock(device), "start"}};
    double least = NAN;
    for (size_t i = 0; i < RT_COUNT(bounds); i++)
        if (!(bounds[i].us <= least) && !isnan(bounds[i].us)) {
            least = bounds[i].us;
            *limit = bounds[i].limit;
        }
    return least;
}

bool rt_time_beats_bound(double latency_us, double least_us)
{
    const double slack = 0.98;
    return rt_time_is_possible(latency_us) && latency_us < slack * least_us;
}

bool rt_sample_is_impossible(const struct rt_dataset *dataset, const struct rt_sample *sample)
{
    const char *limit;
    return rt_time_beats_bound(sample->latency_us, rt_sample_least_us(dataset, sample, &limit));
}

/* Keeps the worst, sorted: rows that come later must be worse to pass an equal one. */
static void keep_worst(struct rt_validation *validation, const struct rt_impossible *found)
{
    size_t at = validation->worst_count;
    double excess = found->least_us / found->latency_us;
    while (at > 0 && validation->worst[at - 1].least_us / validation->worst[at - 1].latency_us < excess)
        at--;
    if (at == RT_IMPOSSIBLE_KEPT)
        return;
    if (validation->worst_count < RT_IMPOSSIBLE_KEPT)
        validation->worst_count++;
    memmove(&validation->worst[at + 1], &validation->worst[at],
            (validation->worst_count - at - 1) * sizeof *validation->worst);
    validation->worst[at] = *found;
}

static void check_roofline(const struct rt_dataset *dataset, struct rt_validation *validation)
{
    struct rt_check *check = &validation->checks[RT_CHECK_ROOFLINE];
    char dims[128];
    for (size_t i = 0; i < dataset->samples.count; i++) {
        const struct rt_sample *sample = RT_SAMPLE(dataset, i);
        struct rt_impossible found = {.sample = i, .latency_us = sample->latency_us};
        found.least_us = rt_sample_least_us(dataset, sample, &found.limit);
        if (!rt_time_is_possible(found.latency_us) || isnan(found.least_us))
            continue; /* what no clock gives is a matter of the ranges */
        check->checked++;
        if (!rt_time_beats_bound(found.latency_us, found.least_us))
            continue;
        check->wrong++;
        keep_worst(validation, &found);
    }
    if (validation->worst_count == 0)
        return;
    const struct rt_impossible *worst = &validation->worst[0];
    const struct rt_sample *sample = RT_SAMPLE(dataset, worst->sample);
    rt_call_dims(&sample->call, dims, sizeof dims);
    snprintf(check->first, sizeof check->first,
             "/samples row %zu: %s (%s) on %s took %.4g us, its %s allows no less than %.4g", worst->sample,
             rt_ops[sample->call.op].name, dims, dataset->devices[sample->device].name, worst->latency_us,
             worst->limit, worst->least_us);
}

/* ---- devices ---- */

static void check_devices(const struct rt_dataset *dataset, struct rt_check *check)
{
    bool *used = rt_calloc(dataset->device_count * RT_FAMILY_COUNT * RT_DTYPE_COUNT, sizeof *used);
    for (size_t i = 0; i < dataset->samples.count; i++) {
        const struct rt_sample *s = RT_SAMPLE(dataset, i);
        used[((size_t)s->device * RT_FAMILY_COUNT + rt_call_family(&s->call)) * RT_DTYPE_COUNT +
             s->call.dtype] = true;
    }
    for (size_t d = 0; d < dataset->device_count; d++) {
        const struct rt_device *device = &dataset->devices[d];
        check->checked++;
        if (rt_dataset_find_device(dataset, device->name) != (int32_t)d)
            wrong(check, "/devices row %zu: \"%s\" is described twice", d, device->name);
        for (int family = 0; family < RT_FAMILY_COUNT; family++)
            for (int dtype = 0; dtype < RT_DTYPE_COUNT; dtype++)
                if (used[(d * RT_FAMILY_COUNT + (size_t)family) * RT_DTYPE_COUNT + (size_t)dtype] &&
                    !rt_families[family].link && !rt_families[family].host &&
                    isnan(rt_device_peak_flops(device, (enum rt_family)family, (enum rt_dtype)dtype)))
                    wrong(check, "%s: has samples of %s in %s, but no peak for it", device->name,
                          rt_families[family].name, rt_dtypes[dtype].name);
    }
    free(used);
}

int rt_validate(const char *path, struct rt_progress *progress, struct rt_dataset *dataset,
                struct rt_validation *out)
{
    *out = (struct rt_validation){0};
    for (int i = 0; i < RT_CHECK_COUNT; i++) {
        out->checks[i].name = check_names[i].name;
        out->checks[i].what = check_names[i].what;
    }
    int status = rt_dataset_read_shown(path, progress, dataset);
    if (status != RT_OK)
        return status;
    if ((status = check_units(path, &out->checks[RT_CHECK_UNITS])) != RT_OK) {
        rt_dataset_release(dataset);
        return status;
    }
    out->checks[RT_CHECK_READING].checked = rt_sample_field_count + rt_workload_field_count +
                                            rt_device_field_count + rt_device_text_count +
                                            2; /* two string tables */
    rt_progress_step(progress, 0, "uuid");
    check_uuid(dataset, &out->checks[RT_CHECK_UUID]);
    rt_progress_step(progress, 0.2, "ranges");
    check_ranges(dataset, &out->checks[RT_CHECK_RANGES]);
    rt_progress_step(progress, 0.2, "duplicates");
    check_duplicates(dataset, &out->checks[RT_CHECK_DUPLICATES]);
    rt_progress_step(progress, 0.2, "devices");
    check_devices(dataset, &out->checks[RT_CHECK_DEVICES]);
    rt_progress_step(progress, 0.2, "roofline");
    check_roofline(dataset, out);
    rt_progress_step(progress, 0.2, "");
    return RT_OK;
}
