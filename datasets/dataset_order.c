/* Orders of rows. See dataset_order.h. */
#include "datasets/dataset_order.h"
#include "datasets/dataset.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* The new number of each row of a table, -1 where the row is removed. */
struct numbering {
    int32_t *number;
    size_t count, used;
};

/* One per table. */
struct numberings {
    struct numbering of[RT_TABLE_COUNT];
};

static void numberings_init(struct numberings *all, const struct rt_dataset *dataset)
{
    for (int t = 0; t < RT_TABLE_COUNT; t++) {
        size_t count = rt_dataset_table_rows(dataset, (enum rt_dataset_table)t);
        all->of[t] = (struct numbering){rt_malloc(count * sizeof *all->of[t].number), count, 0};
        for (size_t i = 0; i < count; i++)
            all->of[t].number[i] = -1;
    }
}

static void numberings_release(struct numberings *all)
{
    for (int t = 0; t < RT_TABLE_COUNT; t++)
        free(all->of[t].number);
}

/* Numbers the table's row at its first use. */
static int use(void *numberings, const struct rt_field *field, size_t row, int32_t *index)
{
    struct numbering *table = &((struct numberings *)numberings)->of[field->table];
    (void)row;
    if (*index >= 0 && table->number[*index] < 0)
        table->number[*index] = (int32_t)table->used++;
    return RT_OK;
}

static int renumber(void *numberings, const struct rt_field *field, size_t row, int32_t *index)
{
    (void)row;
    if (*index >= 0)
        *index = ((struct numberings *)numberings)->of[field->table].number[*index];
    return RT_OK;
}

/* ---- moving the tables ---- */

static void move_devices(struct rt_dataset *dataset, const struct numbering *numbering)
{
    struct rt_device *moved = rt_calloc(numbering->used, sizeof *moved);
    for (size_t d = 0; d < numbering->count; d++)
        if (numbering->number[d] >= 0)
            moved[numbering->number[d]] = dataset->devices[d];
    free(dataset->devices);
    dataset->devices = moved;
    dataset->device_count = numbering->used;
}

static void move_groups(struct rt_dataset *dataset, const struct numbering *numbering)
{
    struct rt_group *moved = rt_calloc(numbering->used, sizeof *moved);
    for (size_t g = 0; g < numbering->count; g++)
        if (numbering->number[g] >= 0)
            moved[numbering->number[g]] = dataset->groups[g];
        else
            rt_group_release(&dataset->groups[g]);
    free(dataset->groups);
    dataset->groups = moved;
    dataset->group_count = numbering->used;
}

static void move_strings(struct rt_strings *strings, const struct numbering *numbering)
{
    struct rt_strings moved = {0};
    size_t *from = rt_calloc(numbering->used, sizeof *from);
    for (size_t i = 0; i < numbering->count; i++)
        if (numbering->number[i] >= 0)
            from[numbering->number[i]] = i;
    for (size_t i = 0; i < numbering->used; i++) {
        const char *text = rt_strings_get(strings, (int32_t)from[i]);
        rt_strings_add(&moved, text, strlen(text));
    }
    free(from);
    rt_strings_release(strings);
    *strings = moved;
}

static void apply(struct rt_dataset *dataset, struct numberings *all)
{
    rt_each_index(dataset, 0, 0, renumber, all);
    move_devices(dataset, &all->of[RT_TABLE_DEVICES]);
    move_groups(dataset, &all->of[RT_TABLE_GROUPS]);
    move_strings(&dataset->kernels, &all->of[RT_TABLE_KERNELS]);
    move_strings(&dataset->texts, &all->of[RT_TABLE_TEXTS]);
}

void rt_dataset_arrange(struct rt_dataset *dataset, const size_t *order)
{
    struct numberings all;
    struct rt_sample *samples = rt_malloc(dataset->sample_count * sizeof *samples);
    dataset->file_count = 0; /* rows leave the file that they were in */
    for (size_t i = 0; i < dataset->sample_count; i++)
        samples[i] = dataset->samples[order[i]];
    free(dataset->samples);
    dataset->samples = samples;
    dataset->sample_capacity = dataset->sample_count;
    numberings_init(&all, dataset);
    rt_each_index(dataset, 0, 0, use, &all);
    apply(dataset, &all);
    numberings_release(&all);
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

/* Numbers the rows that have a number, or all of them, in the order of `compare`. */
static void rank(struct numbering *numbering, bool all, int (*compare)(const void *, const void *, void *),
                 void *context)
{
    int32_t *row = rt_malloc(numbering->count * sizeof *row);
    size_t count = 0;
    for (size_t i = 0; i < numbering->count; i++)
        if (all || numbering->number[i] >= 0)
            row[count++] = (int32_t)i;
    qsort_r(row, count, sizeof *row, compare, context);
    for (size_t i = 0; i < count; i++)
        numbering->number[row[i]] = (int32_t)i;
    numbering->used = count;
    free(row);
}

static int compare_integers(int64_t x, int64_t y)
{
    return (x > y) - (x < y);
}

/* NaN comes last. */
static int compare_reals(double x, double y)
{
    if (isnan(x) || isnan(y))
        return isnan(x) - isnan(y);
    return (x > y) - (x < y);
}

static int compare_columns(const void *a, const void *b, const struct rt_field *fields, size_t count)
{
    for (size_t f = 0; f < count; f++) {
        int order = fields[f].type == RT_H5_F64
                        ? compare_reals(rt_field_real(&fields[f], a), rt_field_real(&fields[f], b))
                        : compare_integers(rt_field_integer(&fields[f], a), rt_field_integer(&fields[f], b));
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
    struct numberings all;
    numberings_init(&all, dataset);
    rt_each_index(dataset, 0, 0, use, &all);
    rank(&all.of[RT_TABLE_DEVICES], true, by_device, dataset);
    rank(&all.of[RT_TABLE_GROUPS], false, by_group, dataset);
    rank(&all.of[RT_TABLE_KERNELS], false, by_text, &dataset->kernels);
    rank(&all.of[RT_TABLE_TEXTS], false, by_text, &dataset->texts);
    apply(dataset, &all);
    numberings_release(&all);
    if (dataset->sample_count > 0)
        qsort(dataset->samples, dataset->sample_count, sizeof *dataset->samples, compare_samples);
    if (dataset->workload_count > 0)
        qsort(dataset->workloads, dataset->workload_count, sizeof *dataset->workloads, compare_workloads);
}
