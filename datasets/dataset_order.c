/* Orders of rows. See order.h. */
#include "datasets/dataset_order.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Where the rows of a table go: place[i] is the new number of row i, -1 where it goes away. */
struct places {
    int32_t *place;
    size_t count, used;
};

struct all_places {
    struct places device, group, kernel, text;
};

static struct places places_new(size_t count)
{
    struct places places = {rt_malloc(count * sizeof *places.place), count, 0};
    for (size_t i = 0; i < count; i++)
        places.place[i] = -1;
    return places;
}

static void all_places_init(struct all_places *all, const struct rt_dataset *dataset)
{
    all->device = places_new(dataset->device_count);
    all->group = places_new(dataset->group_count);
    all->kernel = places_new(dataset->kernels.count);
    all->text = places_new(dataset->texts.count);
}

static void all_places_release(struct all_places *all)
{
    free(all->device.place);
    free(all->group.place);
    free(all->kernel.place);
    free(all->text.place);
}

/* The row's number, the next one where it has none yet. */
static int32_t named(struct places *places, int32_t row)
{
    if (row >= 0 && places->place[row] < 0)
        places->place[row] = (int32_t)places->used++;
    return row >= 0 ? places->place[row] : -1;
}

static void number_rows(struct rt_dataset *dataset, struct all_places *all)
{
    for (size_t i = 0; i < dataset->sample_count; i++) {
        struct rt_sample *sample = &dataset->samples[i];
        sample->device = named(&all->device, sample->device);
        sample->group = named(&all->group, sample->group);
        sample->kernel = named(&all->kernel, sample->kernel);
        sample->kernels = named(&all->kernel, sample->kernels);
    }
    for (size_t i = 0; i < dataset->workload_count; i++) {
        struct rt_workload *workload = &dataset->workloads[i];
        workload->device = named(&all->device, workload->device);
        workload->group = named(&all->group, workload->group);
        workload->model = named(&all->text, workload->model);
        workload->option = named(&all->text, workload->option);
    }
}

/* ---- moving the tables ---- */

static void move_devices(struct rt_dataset *dataset, const struct places *places)
{
    struct rt_device *moved = rt_calloc(places->used, sizeof *moved);
    for (size_t d = 0; d < places->count; d++)
        if (places->place[d] >= 0)
            moved[places->place[d]] = dataset->devices[d];
    free(dataset->devices);
    dataset->devices = moved;
    dataset->device_count = places->used;
}

static void free_group(struct rt_group *group)
{
    for (size_t i = 0; i < group->count; i++) {
        free(group->name[i]);
        free(group->value[i]);
    }
    free(group->name);
    free(group->value);
}

static void move_groups(struct rt_dataset *dataset, const struct places *places)
{
    struct rt_group *moved = rt_calloc(places->used, sizeof *moved);
    for (size_t g = 0; g < places->count; g++)
        if (places->place[g] >= 0)
            moved[places->place[g]] = dataset->groups[g];
        else
            free_group(&dataset->groups[g]);
    free(dataset->groups);
    dataset->groups = moved;
    dataset->group_count = places->used;
}

static void move_strings(struct rt_strings *strings, const struct places *places)
{
    struct rt_strings moved = {0};
    size_t *from = rt_calloc(places->used, sizeof *from);
    for (size_t i = 0; i < places->count; i++)
        if (places->place[i] >= 0)
            from[places->place[i]] = i;
    for (size_t i = 0; i < places->used; i++) {
        const char *text = rt_strings_get(strings, (int32_t)from[i]);
        rt_strings_add(&moved, text, strlen(text));
    }
    free(from);
    rt_strings_release(strings);
    *strings = moved;
}

static void move_tables(struct rt_dataset *dataset, const struct all_places *all)
{
    move_devices(dataset, &all->device);
    move_groups(dataset, &all->group);
    move_strings(&dataset->kernels, &all->kernel);
    move_strings(&dataset->texts, &all->text);
}

void rt_dataset_arrange(struct rt_dataset *dataset, const size_t *order)
{
    struct all_places all;
    struct rt_sample *samples = rt_malloc(dataset->sample_count * sizeof *samples);
    for (size_t i = 0; i < dataset->sample_count; i++)
        samples[i] = dataset->samples[order[i]];
    free(dataset->samples);
    dataset->samples = samples;
    dataset->sample_capacity = dataset->sample_count;
    all_places_init(&all, dataset);
    number_rows(dataset, &all);
    move_tables(dataset, &all);
    all_places_release(&all);
}

/* ---- the canonical order ---- */

static int by_device(const void *a, const void *b, void *dataset)
{
    const struct rt_device *devices = ((const struct rt_dataset *)dataset)->devices;
    return strcmp(devices[*(const int32_t *)a].name, devices[*(const int32_t *)b].name);
}

static int by_group(const void *a, const void *b, void *dataset)
{
    const struct rt_group *groups = ((const struct rt_dataset *)dataset)->groups;
    const struct rt_group *x = &groups[*(const int32_t *)a], *y = &groups[*(const int32_t *)b];
    for (size_t i = 0; i < x->count && i < y->count; i++) {
        int order = strcmp(x->name[i], y->name[i]);
        if (order == 0)
            order = strcmp(x->value[i], y->value[i]);
        if (order != 0)
            return order;
    }
    return (x->count > y->count) - (x->count < y->count);
}

static int by_text(const void *a, const void *b, void *strings)
{
    return strcmp(rt_strings_get(strings, *(const int32_t *)a), rt_strings_get(strings, *(const int32_t *)b));
}

/* Numbers the rows that `used` numbers (all where it is NULL) in their order. */
static void rank(struct places *places, const struct places *used,
                 int (*compare)(const void *, const void *, void *), void *to)
{
    int32_t *row = rt_malloc(places->count * sizeof *row);
    size_t count = 0;
    for (size_t i = 0; i < places->count; i++)
        if (used == NULL || used->place[i] >= 0)
            row[count++] = (int32_t)i;
    qsort_r(row, count, sizeof *row, compare, to);
    for (size_t i = 0; i < count; i++)
        places->place[row[i]] = (int32_t)i;
    places->used = count;
    free(row);
}

/* Which groups and strings rows name; the numbers themselves do not matter. */
static void find_used(const struct rt_dataset *dataset, struct all_places *used)
{
    all_places_init(used, dataset);
    for (size_t i = 0; i < dataset->sample_count; i++) {
        named(&used->group, dataset->samples[i].group);
        named(&used->kernel, dataset->samples[i].kernel);
        named(&used->kernel, dataset->samples[i].kernels);
    }
    for (size_t i = 0; i < dataset->workload_count; i++) {
        named(&used->group, dataset->workloads[i].group);
        named(&used->text, dataset->workloads[i].model);
        named(&used->text, dataset->workloads[i].option);
    }
}

static int compare_integers(int64_t x, int64_t y)
{
    return (x > y) - (x < y);
}

/* Missing ones last. */
static int compare_reals(double x, double y)
{
    if (isnan(x) || isnan(y))
        return isnan(x) - isnan(y);
    return (x > y) - (x < y);
}

static int compare_columns(const void *a, const void *b, const struct rt_field *fields, size_t count)
{
    for (size_t f = 0; f < count; f++) {
        const void *x = (const char *)a + fields[f].offset, *y = (const char *)b + fields[f].offset;
        int order = 0;
        switch (fields[f].type) {
        case RT_H5_U8:
            order = compare_integers(*(const uint8_t *)x, *(const uint8_t *)y);
            break;
        case RT_H5_I32:
            order = compare_integers(*(const int32_t *)x, *(const int32_t *)y);
            break;
        case RT_H5_U32:
            order = compare_integers(*(const uint32_t *)x, *(const uint32_t *)y);
            break;
        case RT_H5_I64:
            order = compare_integers(*(const int64_t *)x, *(const int64_t *)y);
            break;
        default:
            order = compare_reals(*(const double *)x, *(const double *)y);
            break;
        }
        if (order != 0)
            return order;
    }
    return 0;
}

static int compare_samples(const void *a, const void *b)
{
    const struct rt_sample *x = a, *y = b;
    const int64_t keys[][2] = {{x->device, y->device},
                               {x->call.op, y->call.op},
                               {x->call.dtype, y->call.dtype},
                               {x->call.phase, y->call.phase}};
    int order = 0;
    for (size_t k = 0; k < RT_COUNT(keys) && order == 0; k++)
        order = compare_integers(keys[k][0], keys[k][1]);
    for (int i = 0; i < RT_MAX_DIMS && order == 0; i++)
        order = compare_integers(x->call.dim[i], y->call.dim[i]);
    if (order == 0)
        order = compare_integers(x->group, y->group);
    return order != 0 ? order : compare_columns(a, b, rt_sample_fields, rt_sample_field_count);
}

static int compare_workloads(const void *a, const void *b)
{
    const struct rt_workload *x = a, *y = b;
    int order = compare_integers(x->device, y->device);
    return order != 0 ? order : compare_columns(a, b, rt_workload_fields, rt_workload_field_count);
}

void rt_dataset_sort(struct rt_dataset *dataset)
{
    struct all_places all, used;
    all_places_init(&all, dataset);
    find_used(dataset, &used);
    rank(&all.device, NULL, by_device, dataset);
    rank(&all.group, &used.group, by_group, dataset);
    rank(&all.kernel, &used.kernel, by_text, &dataset->kernels);
    rank(&all.text, &used.text, by_text, &dataset->texts);
    number_rows(dataset, &all);
    move_tables(dataset, &all);
    all_places_release(&all);
    all_places_release(&used);
    if (dataset->sample_count > 0)
        qsort(dataset->samples, dataset->sample_count, sizeof *dataset->samples, compare_samples);
    if (dataset->workload_count > 0)
        qsort(dataset->workloads, dataset->workload_count, sizeof *dataset->workloads, compare_workloads);
}
