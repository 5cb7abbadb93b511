/* Datasets in memory: samples, workloads, devices, groups, strings. dataset_file.c reads and writes them. */
#include "datasets/dataset.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void rt_dataset_init(struct rt_dataset *dataset)
{
    memset(dataset, 0, sizeof *dataset);
    dataset->samples.kind = &rt_sample_rows;
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
    rt_rows_release(&dataset->samples);
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

struct rt_sample rt_dataset_sample(const struct rt_dataset *dataset, size_t i)
{
    struct rt_sample sample;
    rt_rows_get(&dataset->samples, i, &sample);
    return sample;
}

void rt_dataset_add_sample(struct rt_dataset *dataset, const struct rt_sample *sample)
{
    rt_rows_add(&dataset->samples, sample);
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

/* Was that field of a device probed, by the attributes of its samples and workloads? */
static bool is_probed(const struct rt_dataset *dataset, int32_t device, size_t field)
{
    char *name = rt_format("%s_source", rt_device_fields[field].key);
    int32_t group = -1, last = -1;
    bool probed = false;
    for (size_t i = 0; !probed && i < dataset->samples.count + dataset->workload_count; i++) {
        bool sample = i < dataset->samples.count;
        const struct rt_workload *workload = sample ? NULL : &dataset->workloads[i - dataset->samples.count];
        group = sample ? RT_SAMPLE(dataset, i)->group : workload->group;
        if ((sample ? RT_SAMPLE(dataset, i)->device : workload->device) != device || group == last)
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
        if (!isnan(*x) && !isnan(*y) && *x != *y && is_probed(to, there, f) && is_probed(from, device, f))
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
        size_t samples = dataset->samples.count, workloads = dataset->workload_count;
        maps[RT_TABLE_GROUPS] = map_groups(dataset, from);
        maps[RT_TABLE_KERNELS] = map_strings(&dataset->kernels, &from->kernels);
        maps[RT_TABLE_TEXTS] = map_strings(&dataset->texts, &from->texts);
        for (size_t i = 0; i < from->samples.count; i++)
            rt_dataset_add_sample(dataset, RT_SAMPLE(from, i));
        for (size_t i = 0; i < from->workload_count; i++)
            rt_dataset_add_workload(dataset, &from->workloads[i]);
        rt_each_index(dataset, samples, workloads, renumber, maps);
    }
    for (int t = 0; t < RT_TABLE_COUNT; t++)
        free(maps[t]);
    return status;
}

/* Keeps the first of equal ones, in order. Ends of files lie between samples and stay between the same. */
static size_t drop_equal_samples(struct rt_dataset *dataset)
{
    struct rt_rows *rows = &dataset->samples;
    size_t kept = 0, next = 0, count = rows->count;
    struct rt_hash_set set = {0};
    rt_hash_set_reserve(&set, count);
    for (size_t i = 0; i < count; i++) {
        for (; next < dataset->file_count && dataset->file_end[next] == i; next++)
            dataset->file_end[next] = kept;
        if (kept < i)
            rt_rows_put(rows, kept, RT_SAMPLE(dataset, i));
        kept += rt_rows_seen(&set, rows, kept) < 0;
    }
    for (; next < dataset->file_count; next++)
        dataset->file_end[next] = kept;
    rt_hash_set_release(&set);
    rows->count = kept;
    return count - kept;
}

static size_t drop_equal_workloads(struct rt_dataset *dataset)
{
    struct rt_workload *workloads = dataset->workloads;
    size_t kept = 0, count = dataset->workload_count;
    struct rt_hash_set set = {0};
    for (size_t i = 0; i < count; i++) {
        workloads[kept] = workloads[i];
        kept += rt_hash_set_add_bytes(&set, workloads, sizeof *workloads, kept) < 0;
    }
    rt_hash_set_release(&set);
    dataset->workload_count = kept;
    return count - kept;
}

size_t rt_dataset_drop_duplicates(struct rt_dataset *dataset)
{
    return drop_equal_samples(dataset) + drop_equal_workloads(dataset);
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

/* The columns of a table that hold row numbers; returns how many. */
static size_t index_fields(const struct rt_row_kind *kind, size_t fields[static RT_MAX_COLUMNS])
{
    size_t count = 0;
    for (size_t f = 0; f < kind->field_count; f++)
        if (kind->fields[f].table != RT_NO_TABLE)
            fields[count++] = f;
    return count;
}

int rt_each_index(struct rt_dataset *dataset, size_t first_sample, size_t first_workload,
                  rt_index_visit visit, void *context)
{
    size_t fields[RT_MAX_COLUMNS], count = index_fields(&rt_sample_rows, fields);
    int status = RT_OK;
    for (size_t i = first_sample; i < dataset->samples.count && status == RT_OK; i++)
        for (size_t k = 0; k < count && status == RT_OK; k++) {
            int32_t index = (int32_t)rt_rows_integer(&dataset->samples, fields[k], i), before = index;
            status = visit(context, &rt_sample_fields[fields[k]], i, &index);
            if (index != before)
                rt_rows_put_index(&dataset->samples, fields[k], i, index);
        }
    count = index_fields(&rt_workload_rows, fields);
    for (size_t i = first_workload; i < dataset->workload_count && status == RT_OK; i++)
        for (size_t k = 0; k < count && status == RT_OK; k++) {
            const struct rt_field *field = &rt_workload_fields[fields[k]];
            status = visit(context, field, i, (int32_t *)((char *)&dataset->workloads[i] + field->offset));
        }
    return status;
}

struct rt_rows rt_dataset_workload_rows(const struct rt_dataset *dataset)
{
    struct rt_rows rows = {.kind = &rt_workload_rows};
    for (size_t i = 0; i < dataset->workload_count; i++)
        rt_rows_add(&rows, &dataset->workloads[i]);
    return rows;
}
