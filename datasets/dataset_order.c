/* Orders of rows. See dataset_order.h. */
#include "datasets/dataset_order.h"
#include "datasets/dataset.h"
#include "base/status.h"

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
    dataset->file_count = 0; /* rows leave the file that they were in */
    rt_rows_arrange(&dataset->samples, order);
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

/* By device and call, then by the columns as they are. */
static void sort_samples(struct rt_rows *rows)
{
    static const char *const first[] = {"device", "op", "dtype", "phase"};
    size_t fields[RT_MAX_COLUMNS], count = 0;
    for (size_t i = 0; i < RT_COUNT(first); i++)
        fields[count++] = rt_field_named(rows->kind, first[i]);
    for (size_t d = 0, dim = rt_field_named(rows->kind, "dim0"); d < RT_MAX_DIMS; d++)
        fields[count++] = dim + d;
    fields[count++] = rt_field_named(rows->kind, "group");
    rt_rows_sort(rows, fields, count);
}

static void sort_workloads(struct rt_dataset *dataset)
{
    struct rt_rows rows = rt_dataset_workload_rows(dataset);
    rt_rows_sort(&rows, (size_t[]){rt_field_named(rows.kind, "device")}, 1);
    for (size_t i = 0; i < rows.count; i++)
        rt_rows_get(&rows, i, &dataset->workloads[i]);
    rt_rows_release(&rows);
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
    sort_samples(&dataset->samples);
    sort_workloads(dataset);
}
