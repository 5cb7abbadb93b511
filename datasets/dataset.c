/* Datasets in memory: samples, workloads, devices, groups, strings. dataset_file.c reads and writes them. */
#include "datasets/dataset.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

void rt_dataset_init(struct rt_dataset *dataset)
{
    memset(dataset, 0, sizeof *dataset);
    dataset->uuid = rt_strdup("");
    dataset->creator = rt_strdup("");
    dataset->created = rt_strdup("");
    dataset->source = rt_strdup("");
    dataset->licence = rt_strdup("");
}

void rt_group_release(struct rt_group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        free(group->name[i]);
        free(group->value[i]);
    }
    free(group->name);
    free(group->value);
}

void rt_dataset_release(struct rt_dataset *dataset)
{
    for (size_t g = 0; g < dataset->group_count; g++)
        rt_group_release(&dataset->groups[g]);
    free(dataset->samples);
    free(dataset->workloads);
    free(dataset->devices);
    free(dataset->groups);
    rt_strings_release(&dataset->kernels);
    rt_strings_release(&dataset->texts);
    free(dataset->uuid);
    free(dataset->creator);
    free(dataset->created);
    free(dataset->source);
    free(dataset->licence);
    free(dataset->file_end);
    memset(dataset, 0, sizeof *dataset);
}

/* Large pages for large tables: an import otherwise spends a quarter of its time on page faults. */
static void prefer_large_pages(void *block, size_t size)
{
    const size_t page = 2 << 20;
    if (size >= 4 * page)
        madvise((void *)(((uintptr_t)block + page - 1) & ~(page - 1)), size - page, MADV_HUGEPAGE);
}

struct rt_sample *rt_dataset_add_sample(struct rt_dataset *dataset, const struct rt_sample *sample)
{
    if (dataset->sample_count == dataset->sample_capacity) {
        dataset->sample_capacity = dataset->sample_capacity ? 2 * dataset->sample_capacity : 256;
        dataset->samples = rt_realloc(dataset->samples, dataset->sample_capacity, sizeof *sample);
        prefer_large_pages(dataset->samples, dataset->sample_capacity * sizeof *sample);
    }
    return memcpy(&dataset->samples[dataset->sample_count++], sample, sizeof *sample);
}

struct rt_workload *rt_dataset_add_workload(struct rt_dataset *dataset, const struct rt_workload *workload)
{
    if (dataset->workload_count == dataset->workload_capacity) {
        dataset->workload_capacity = dataset->workload_capacity ? 2 * dataset->workload_capacity : 64;
        dataset->workloads = rt_realloc(dataset->workloads, dataset->workload_capacity, sizeof *workload);
    }
    return memcpy(&dataset->workloads[dataset->workload_count++], workload, sizeof *workload);
}

int32_t rt_dataset_find_device(const struct rt_dataset *dataset, const char *name)
{
    for (size_t d = 0; d < dataset->device_count; d++)
        if (rt_name_equal(dataset->devices[d].name, name))
            return (int32_t)d;
    return -1;
}

int32_t rt_dataset_add_device(struct rt_dataset *dataset, const struct rt_device *device)
{
    int32_t there = rt_dataset_find_device(dataset, device->name);
    if (there >= 0) {
        if (!rt_device_same(&dataset->devices[there], device))
            return RT_EFORMAT;
        rt_device_fill(&dataset->devices[there], device);
        return there;
    }
    dataset->devices = rt_realloc(dataset->devices, dataset->device_count + 1, sizeof *device);
    dataset->devices[dataset->device_count] = *device;
    return (int32_t)dataset->device_count++;
}

static bool group_equals(const struct rt_group *group, size_t count, const char *const *names,
                         const char *const *values)
{
    size_t kept = 0;
    for (size_t i = 0; i < count; i++) {
        if (values[i][0] == '\0')
            continue;
        size_t g = 0;
        while (g < group->count &&
               (strcmp(group->name[g], names[i]) != 0 || strcmp(group->value[g], values[i]) != 0))
            g++;
        if (g == group->count)
            return false;
        kept++;
    }
    return kept == group->count;
}

static void group_insert(struct rt_group *group, const char *name, const char *value)
{
    size_t at = group->count++;
    group->name = rt_realloc(group->name, group->count, sizeof *group->name);
    group->value = rt_realloc(group->value, group->count, sizeof *group->value);
    for (; at > 0 && strcmp(group->name[at - 1], name) > 0; at--) {
        group->name[at] = group->name[at - 1];
        group->value[at] = group->value[at - 1];
    }
    group->name[at] = rt_strdup(name);
    group->value[at] = rt_strdup(value);
}

/* In any order of the attributes. */
static uint64_t group_hash(size_t count, const char *const *names, const char *const *values)
{
    uint64_t sum = 0;
    for (size_t i = 0; i < count; i++)
        if (values[i][0] != '\0')
            sum +=
                rt_hash(rt_hash(RT_HASH_START, names[i], strlen(names[i]) + 1), values[i], strlen(values[i]));
    return sum;
}

int32_t rt_dataset_add_group(struct rt_dataset *dataset, size_t count, const char *const *names,
                             const char *const *values)
{
    size_t last = dataset->group_count - 1; /* the likeliest */
    if (dataset->group_count > 0 && group_equals(&dataset->groups[last], count, names, values))
        return (int32_t)last;
    struct rt_group group = {.hash = group_hash(count, names, values)};
    for (size_t g = 0; g < dataset->group_count; g++)
        if (dataset->groups[g].hash == group.hash && group_equals(&dataset->groups[g], count, names, values))
            return (int32_t)g;
    for (size_t i = 0; i < count; i++)
        if (values[i][0] != '\0')
            group_insert(&group, names[i], values[i]);
    dataset->groups = rt_realloc(dataset->groups, dataset->group_count + 1, sizeof group);
    dataset->groups[dataset->group_count] = group;
    return (int32_t)dataset->group_count++;
}

const char *rt_dataset_attribute(const struct rt_dataset *dataset, int32_t group, const char *name)
{
    if (group < 0 || (size_t)group >= dataset->group_count)
        return NULL;
    const struct rt_group *g = &dataset->groups[group];
    for (size_t i = 0; i < g->count; i++)
        if (strcmp(g->name[i], name) == 0)
            return g->value[i];
    return NULL;
}

static int32_t *map_strings(struct rt_strings *to, const struct rt_strings *from)
{
    int32_t *map = rt_malloc(from->count * sizeof *map);
    for (size_t i = 0; i < from->count; i++) {
        const char *text = rt_strings_get(from, (int32_t)i);
        map[i] = rt_strings_add(to, text, strlen(text));
    }
    return map;
}

static int32_t *map_groups(struct rt_dataset *to, const struct rt_dataset *from)
{
    int32_t *map = rt_malloc(from->group_count * sizeof *map);
    for (size_t g = 0; g < from->group_count; g++) {
        const struct rt_group *group = &from->groups[g];
        map[g] = rt_dataset_add_group(to, group->count, (const char *const *)group->name,
                                      (const char *const *)group->value);
    }
    return map;
}

bool rt_dataset_is_probed(const struct rt_dataset *dataset, int32_t device, size_t field)
{
    char *name = rt_format("%s_source", rt_device_fields[field].key);
    int32_t group = -1, last = -1;
    bool probed = false;
    for (size_t i = 0; !probed && i < dataset->sample_count + dataset->workload_count; i++) {
        bool sample = i < dataset->sample_count;
        const struct rt_workload *workload = sample ? NULL : &dataset->workloads[i - dataset->sample_count];
        group = sample ? dataset->samples[i].group : workload->group;
        if ((sample ? dataset->samples[i].device : workload->device) != device || group == last)
            continue;
        last = group;
        const char *value = rt_dataset_attribute(dataset, group, name);
        probed = value != NULL && strncmp(value, RT_PROBED, strlen(RT_PROBED)) == 0;
    }
    free(name);
    return probed;
}

/* Of numbers that were probed in both the larger, in both descriptions. */
static void take_best(struct rt_dataset *to, int32_t there, const struct rt_dataset *from, int32_t device,
                      struct rt_device *described)
{
    for (size_t f = 0; f < rt_device_field_count; f++) {
        double *x = rt_device_value(&to->devices[there], f), *y = rt_device_value(described, f);
        if (!isnan(*x) && !isnan(*y) && *x != *y && rt_dataset_is_probed(to, there, f) &&
            rt_dataset_is_probed(from, device, f))
            *x = *y = fmax(*x, *y);
    }
}

static int map_devices(struct rt_dataset *to, const struct rt_dataset *from, int32_t *map)
{
    for (size_t d = 0; d < from->device_count; d++) {
        struct rt_device described = from->devices[d];
        int32_t there = rt_dataset_find_device(to, described.name);
        if (there >= 0)
            take_best(to, there, from, (int32_t)d, &described);
        if ((map[d] = rt_dataset_add_device(to, &described)) < 0)
            return map[d];
    }
    return RT_OK;
}

/* `maps`: per table, the number in `dataset` of each row of `from`. */
static int renumber(void *maps, const struct rt_field *field, size_t row, int32_t *index)
{
    (void)row;
    if (*index >= 0)
        *index = ((int32_t *const *)maps)[field->table][*index];
    return RT_OK;
}

int rt_dataset_append(struct rt_dataset *dataset, const struct rt_dataset *from)
{
    int32_t *maps[RT_TABLE_COUNT] = {[RT_TABLE_DEVICES] = rt_malloc(from->device_count * sizeof **maps)};
    int status = map_devices(dataset, from, maps[RT_TABLE_DEVICES]);
    if (status == RT_OK) {
        size_t samples = dataset->sample_count, workloads = dataset->workload_count;
        maps[RT_TABLE_GROUPS] = map_groups(dataset, from);
        maps[RT_TABLE_KERNELS] = map_strings(&dataset->kernels, &from->kernels);
        maps[RT_TABLE_TEXTS] = map_strings(&dataset->texts, &from->texts);
        for (size_t i = 0; i < from->sample_count; i++)
            rt_dataset_add_sample(dataset, &from->samples[i]);
        for (size_t i = 0; i < from->workload_count; i++)
            rt_dataset_add_workload(dataset, &from->workloads[i]);
        rt_each_index(dataset, samples, workloads, renumber, maps);
    }
    for (int t = 0; t < RT_TABLE_COUNT; t++)
        free(maps[t]);
    return status;
}

/* Keeps the first of equal elements, in order. NaN equals NaN here: elements are compared as bytes. `end`
 * (ends) lie between elements and stay between the same. */
static size_t drop_equal(void *elements, size_t *count, size_t size, size_t *end, size_t ends)
{
    char *base = elements;
    size_t kept = 0, next = 0;
    struct rt_hash_set set = {0};
    rt_hash_set_reserve(&set, *count);
    for (size_t i = 0; i < *count; i++) {
        for (; next < ends && end[next] == i; next++)
            end[next] = kept;
        memmove(base + kept * size, base + i * size, size);
        kept += rt_hash_set_add_bytes(&set, base, size, kept) < 0;
    }
    for (; next < ends; next++)
        end[next] = kept;
    rt_hash_set_release(&set);
    size_t dropped = *count - kept;
    *count = kept;
    return dropped;
}

size_t rt_dataset_drop_duplicates(struct rt_dataset *dataset)
{
    return drop_equal(dataset->samples, &dataset->sample_count, sizeof *dataset->samples, dataset->file_end,
                      dataset->file_count) +
           drop_equal(dataset->workloads, &dataset->workload_count, sizeof *dataset->workloads, NULL, 0);
}

/* ---- row numbers that columns hold ---- */

size_t rt_dataset_table_rows(const struct rt_dataset *dataset, enum rt_dataset_table table)
{
    const size_t rows[RT_TABLE_COUNT] = {[RT_TABLE_DEVICES] = dataset->device_count,
                                         [RT_TABLE_GROUPS] = dataset->group_count,
                                         [RT_TABLE_KERNELS] = dataset->kernels.count,
                                         [RT_TABLE_TEXTS] = dataset->texts.count};
    return rows[table];
}

static int each_index(void *rows, size_t size, size_t first, size_t count, const struct rt_field *fields,
                      size_t field_count, rt_index_visit visit, void *context)
{
    const struct rt_field *index[16]; /* more than either table has */
    size_t indices = 0;
    for (size_t f = 0; f < field_count && indices < RT_COUNT(index); f++)
        if (fields[f].table != RT_NO_TABLE)
            index[indices++] = &fields[f];
    for (size_t i = first; i < count; i++)
        for (size_t f = 0; f < indices; f++) {
            int status = visit(context, index[f], i, (int32_t *)((char *)rows + i * size + index[f]->offset));
            if (status != RT_OK)
                return status;
        }
    return RT_OK;
}

int rt_each_index(struct rt_dataset *dataset, size_t first_sample, size_t first_workload,
                  rt_index_visit visit, void *context)
{
    int status = each_index(dataset->samples, sizeof *dataset->samples, first_sample, dataset->sample_count,
                            rt_sample_fields, rt_sample_field_count, visit, context);
    return status != RT_OK ? status
                           : each_index(dataset->workloads, sizeof *dataset->workloads, first_workload,
                                        dataset->workload_count, rt_workload_fields, rt_workload_field_count,
                                        visit, context);
}
