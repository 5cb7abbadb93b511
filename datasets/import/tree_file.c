/* A file of a tree while it is read: its rows, devices, kernels and attributes. See tree.h. */
#include "datasets/import/tree.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

enum {
    UNKNOWN_DEVICES = 64, /* more in one file: the column holds no GPUs */
    GROUPS = 4096,        /* more in one file: an attribute numbers the rows */
    ATTRIBUTES = 60,
    ATTRIBUTE_BYTES = 1000,
};

void rt_import_file_init(struct rt_import_file *file, struct rt_tree *tree, const char *path)
{
    file->tree = tree;
    file->path = path;
    file->last_device.index = file->last_kernel.index = file->last_group = -1;
    rt_dataset_init(&file->data);
}

void rt_import_file_release(struct rt_import_file *file)
{
    rt_dataset_release(&file->data);
    rt_import_report_release(&file->report);
    rt_strings_release(&file->device_names);
    rt_strings_release(&file->group_keys);
    free(file->device_index);
    free(file->group_index);
    free(file->key);
    free(file->last_key);
}

const char *rt_import_file_beside(const struct rt_import_file *file, const char *end)
{
    const struct rt_paths *paths = &file->tree->paths;
    size_t stem = (size_t)(strrchr(file->path, '.') - file->path);
    for (size_t i = 0; i < paths->count; i++)
        if (strncmp(paths->path[i], file->path, stem) == 0 && strcmp(paths->path[i] + stem, end) == 0)
            return paths->path[i];
    return NULL;
}

struct rt_csv *rt_import_file_csv(struct rt_import_file *file)
{
    struct rt_csv *csv = NULL;
    if (rt_csv_open(file->path, &csv) != RT_OK)
        rt_import_file_skip(file);
    return csv;
}

void rt_import_each_row(struct rt_import_file *file, struct rt_csv *csv, const char *op, rt_import_take *take,
                        void *context)
{
    const struct rt_csv_field *row;
    int got;
    while ((got = rt_csv_next(csv, &row)) > 0) {
        if (got == RT_CSV_REFUSED)
            rt_import_file_refuse(file, op, -1);
        else if (take(context, row) != RT_OK)
            break;
    }
    if (got < 0)
        rt_import_file_refuse(file, op, -1);
    file->report.bytes = (double)rt_csv_bytes(csv);
}

void rt_import_file_is(struct rt_import_file *file, const char *kind)
{
    rt_import_other(&file->report, kind, 1);
}

void rt_import_file_skip(struct rt_import_file *file)
{
    rt_import_note(&file->report.skipped, rt_error());
}

void rt_import_file_refuse(struct rt_import_file *file, const char *op, int32_t device)
{
    char name[sizeof((struct rt_device *)0)->name] = "?";
    rt_import_note(&file->report.refused, rt_error());
    if (device >= 0) {
        pthread_mutex_lock(&file->tree->lock);
        memcpy(name, file->tree->devices.devices[device].name, sizeof name);
        pthread_mutex_unlock(&file->tree->lock);
    }
    struct rt_import_count *count = rt_import_counter(&file->report, op != NULL ? op : "?", name);
    count->read++;
    count->refused++;
}

static int32_t resolve_device(struct rt_dataset *devices, const char *name)
{
    struct rt_device device;
    int32_t index = rt_dataset_find_device(devices, name);
    if (index >= 0)
        return index;
    if (rt_device_named(name, &device) != RT_OK)
        return -1;
    index = rt_dataset_find_device(devices, device.name); /* `name` may be an alias of one that is there */
    return index >= 0 ? index : rt_dataset_add_device(devices, &device);
}

int32_t rt_tree_device(struct rt_tree *tree, const char *name)
{
    pthread_mutex_lock(&tree->lock);
    int32_t index = resolve_device(&tree->devices, name);
    pthread_mutex_unlock(&tree->lock);
    return index;
}

static int32_t name_device(struct rt_import_file *file, const struct rt_csv_field *name)
{
    size_t known = file->device_names.count;
    int32_t at = rt_strings_add(&file->device_names, name->text, name->length);
    if ((size_t)at < known)
        return at;
    file->device_index = rt_realloc(file->device_index, known + 1, sizeof *file->device_index);
    file->device_index[at] = rt_tree_device(file->tree, name->text);
    if (file->device_index[at] < 0)
        file->unknown_devices++;
    return at;
}

static bool same_text(const struct rt_strings *strings, const struct rt_import_last *last, const char *text,
                      size_t length)
{
    return last->index >= 0 && last->length == length &&
           memcmp(rt_strings_get(strings, last->index), text, length) == 0;
}

int32_t rt_import_file_device(struct rt_import_file *file, const struct rt_csv *csv,
                              const struct rt_csv_field *name)
{
    struct rt_import_last *last = &file->last_device;
    if (!same_text(&file->device_names, last, name->text, name->length))
        *last = (struct rt_import_last){name_device(file, name), name->length};
    if (file->device_index[last->index] >= 0)
        return file->device_index[last->index];
    if (file->unknown_devices > UNKNOWN_DEVICES)
        return rt_csv_fail(csv, "names more than %d unknown GPUs; the rest of the file is not read",
                           UNKNOWN_DEVICES);
    return rt_fail(RT_ENOTFOUND,
                   "%s:%zu: unknown GPU \"%.80s\": neither a device file of the tree nor the catalogue "
                   "(`rooftile devices`) has it; add a device file",
                   rt_csv_path(csv), rt_csv_line(csv), name->text);
}

int32_t rt_import_file_kernel(struct rt_import_file *file, struct rt_import_last *last, const char *text,
                              size_t length)
{
    struct rt_strings *kernels = &file->data.kernels;
    if (length == 0)
        return -1;
    if (same_text(kernels, last, text, length))
        return last->index;
    *last = (struct rt_import_last){rt_strings_add(kernels, text, length), length};
    return last->index;
}

/* `value` as digits to the base 255, none of them 0: keys are strings. */
static char *put_number(char *to, size_t value, int digits)
{
    for (; digits > 0; digits--, value /= 255)
        *to++ = (char)(1 + value % 255);
    return to;
}

/* The row's attributes as one string in file->key: which columns, how long, what. Returns its length. */
static size_t join_values(struct rt_import_file *file, const struct rt_csv_field *row, const int *columns,
                          size_t count)
{
    enum { COLUMN = 2, LENGTH = 4 }; /* digits: RT_CSV_COLUMNS and RT_CSV_ROW_LIMIT fit */
    size_t length = COLUMN;
    for (size_t i = 0; i < count; i++)
        length += COLUMN + LENGTH + row[columns[i]].length;
    if (length > file->key_capacity) {
        file->key_capacity = 2 * length;
        file->key = rt_realloc(file->key, file->key_capacity, 1);
        file->last_key = rt_realloc(file->last_key, file->key_capacity, 1);
    }
    char *to = put_number(file->key, count, COLUMN);
    for (size_t i = 0; i < count; i++) {
        to = put_number(to, (size_t)columns[i], COLUMN);
        to = put_number(to, row[columns[i]].length, LENGTH);
        memcpy(to, row[columns[i]].text, row[columns[i]].length);
        to += row[columns[i]].length;
    }
    return length;
}

static int check_attributes(const struct rt_csv *csv, const struct rt_csv_field *row, const int *columns,
                            size_t count)
{
    if (count > ATTRIBUTES)
        return rt_csv_fail(csv, "has %zu columns that nothing is known of; at most %d are kept as attributes",
                           count, ATTRIBUTES);
    for (size_t i = 0; i < count; i++)
        if (row[columns[i]].length > ATTRIBUTE_BYTES ||
            strlen(rt_csv_header(csv, columns[i])) > ATTRIBUTE_BYTES)
            return rt_csv_fail(
                csv, "column \"%.60s\" holds a text of more than %d bytes, too long for an attribute",
                rt_csv_header(csv, columns[i]), ATTRIBUTE_BYTES);
    return RT_OK;
}

static int32_t make_group(struct rt_import_file *file, const struct rt_csv *csv,
                          const struct rt_csv_field *row, const int *columns, size_t count,
                          const char *latency_statistic)
{
    const char *names[ATTRIBUTES + 1], *values[ATTRIBUTES + 1];
    int status = check_attributes(csv, row, columns, count);
    if (status != RT_OK)
        return status;
    for (size_t i = 0; i < count; i++) {
        names[i] = rt_csv_header(csv, (size_t)columns[i]);
        values[i] = row[columns[i]].text;
    }
    names[count] = "latency_statistic";
    values[count] = latency_statistic != NULL ? latency_statistic : "";
    return rt_dataset_add_group(&file->data, count + 1, names, values);
}

int32_t rt_import_file_group(struct rt_import_file *file, const struct rt_csv *csv,
                             const struct rt_csv_field *row, const int *columns, size_t count,
                             const char *latency_statistic)
{
    size_t length = join_values(file, row, columns, count), known = file->group_keys.count;
    if (length == file->last_key_length && memcmp(file->key, file->last_key, length) == 0)
        return file->last_group;
    int32_t key = rt_strings_find(&file->group_keys, file->key, length);
    if (key < 0 && known >= GROUPS)
        return rt_csv_fail(
            csv, "more than %d combinations of attributes (%s ...): a column numbers the rows; take it out",
            GROUPS, count > 0 ? rt_csv_header(csv, columns[0]) : "");
    if (key < 0) {
        int32_t group = make_group(file, csv, row, columns, count, latency_statistic);
        if (group < 0)
            return group;
        key = rt_strings_add(&file->group_keys, file->key, length);
        file->group_index = rt_realloc(file->group_index, known + 1, sizeof *file->group_index);
        file->group_index[key] = group;
    }
    char *swap = file->key;
    file->key = file->last_key;
    file->last_key = swap;
    file->last_key_length = length;
    return file->last_group = file->group_index[key];
}
