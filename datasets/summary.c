/* Counting what a dataset holds. See summary.h. */
#include "datasets/summary.h"
#include "datasets/dataset.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

struct rt_table *rt_summary_samples(const struct rt_dataset *dataset)
{
    static const struct rt_column columns[] = {
        {"op", NULL, 's', 0},    {"device", NULL, 's', 0},  {"dtype", NULL, 's', 0},
        {"split", NULL, 's', 0}, {"samples", NULL, 'd', 0}, {"unknown_tiles", "unknown tiles", 'd', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    size_t cells = dataset->device_count * RT_OP_COUNT * RT_DTYPE_COUNT * RT_SPLIT_COUNT;
    long long(*count)[2] = rt_calloc(cells, sizeof *count);
    for (size_t i = 0; i < dataset->samples.count; i++) {
        const struct rt_sample *s = RT_SAMPLE(dataset, i);
        size_t cell =
            ((s->call.op * dataset->device_count + (size_t)s->device) * RT_DTYPE_COUNT + s->call.dtype) *
                RT_SPLIT_COUNT +
            s->split;
        count[cell][0]++;
        count[cell][1] += (s->flags & RT_FLAG_UNKNOWN_TILE) != 0;
    }
    for (size_t cell = 0; cell < cells; cell++) {
        size_t split = cell % RT_SPLIT_COUNT, dtype = cell / RT_SPLIT_COUNT % RT_DTYPE_COUNT;
        size_t rest = cell / RT_SPLIT_COUNT / RT_DTYPE_COUNT;
        if (count[cell][0] > 0)
            rt_table_row(table, rt_ops[rest / dataset->device_count].name,
                         dataset->devices[rest % dataset->device_count].name, rt_dtypes[dtype].name,
                         rt_splits[split], count[cell][0], count[cell][1]);
    }
    free(count);
    return table;
}

struct rt_table *rt_summary_workloads(const struct rt_dataset *dataset)
{
    static const struct rt_column columns[] = {
        {"device", NULL, 's', 0}, {"mode", NULL, 's', 0}, {"workloads", NULL, 'd', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    long long *count = rt_calloc(dataset->device_count * RT_MODE_COUNT, sizeof *count);
    for (size_t i = 0; i < dataset->workload_count; i++)
        count[(size_t)dataset->workloads[i].device * RT_MODE_COUNT + dataset->workloads[i].mode]++;
    for (size_t cell = 0; cell < dataset->device_count * RT_MODE_COUNT; cell++)
        if (count[cell] > 0)
            rt_table_row(table, dataset->devices[cell / RT_MODE_COUNT].name, rt_modes[cell % RT_MODE_COUNT],
                         count[cell]);
    free(count);
    return table;
}

/* Enums, row numbers and bits have no range. */
static bool is_quantity(const struct rt_field *field)
{
    return field->names == NULL && field->table == RT_NO_TABLE && field->type != RT_H5_U32;
}

static void add_ranges(struct rt_table *table, const char *name, const struct rt_rows *rows)
{
    for (size_t f = 0; f < rows->kind->field_count && rows->count > 0; f++) {
        const struct rt_field *field = &rows->kind->fields[f];
        if (!is_quantity(field))
            continue;
        struct rt_column_range range = rt_rows_range(rows, f);
        rt_table_row(table, name, field->name, field->units, range.least, range.most,
                     (long long)(rows->count - range.count));
    }
}

struct rt_table *rt_summary_ranges(const struct rt_dataset *dataset)
{
    static const struct rt_column columns[] = {{"table", NULL, 's', 0}, {"column", NULL, 's', 0},
                                               {"units", NULL, 's', 0}, {"min", NULL, 'g', 6},
                                               {"max", NULL, 'g', 6},   {"missing", NULL, 'd', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    struct rt_rows workloads = rt_dataset_workload_rows(dataset);
    add_ranges(table, "samples", &dataset->samples);
    add_ranges(table, "workloads", &workloads);
    rt_rows_release(&workloads);
    return table;
}

struct rt_table *rt_summary_flags(const struct rt_dataset *dataset)
{
    static const struct rt_column columns[] = {{"flag", NULL, 's', 0}, {"samples", NULL, 'd', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    for (int flag = 0; flag < RT_FLAG_COUNT; flag++) {
        long long count = 0;
        for (size_t i = 0; i < dataset->samples.count; i++)
            count += RT_SAMPLE(dataset, i)->flags >> flag & 1;
        rt_table_row(table, rt_flag_names[flag], count);
    }
    return table;
}

struct rt_strings rt_summary_attribute_names(const struct rt_dataset *dataset)
{
    struct rt_strings names = {0};
    for (size_t g = 0; g < dataset->group_count; g++)
        for (size_t i = 0; i < dataset->groups[g].count; i++)
            rt_strings_add(&names, dataset->groups[g].name[i], strlen(dataset->groups[g].name[i]));
    return names;
}

long long rt_summary_attribute_values(const struct rt_dataset *dataset, const char *name,
                                      struct rt_strings *values)
{
    long long groups = 0;
    const char *value;
    for (size_t g = 0; g < dataset->group_count; g++)
        if ((value = rt_dataset_attribute(dataset, (int32_t)g, name)) != NULL) {
            rt_strings_add(values, value, strlen(value));
            groups++;
        }
    return groups;
}

struct rt_table *rt_summary_attributes(const struct rt_dataset *dataset)
{
    static const struct rt_column columns[] = {{"attribute", NULL, 's', 0},
                                               {"groups", NULL, 'd', 0},
                                               {"values", NULL, 'd', 0},
                                               {"example", NULL, 's', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    struct rt_strings names = rt_summary_attribute_names(dataset);
    for (size_t n = 0; n < names.count; n++) {
        const char *name = rt_strings_get(&names, (int32_t)n);
        struct rt_strings values = {0};
        long long groups = rt_summary_attribute_values(dataset, name, &values);
        rt_table_row(table, name, groups, (long long)values.count, rt_strings_get(&values, 0));
        rt_strings_release(&values);
    }
    rt_strings_release(&names);
    return table;
}
