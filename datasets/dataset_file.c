/* Dataset files: the layout that FORMAT.md describes, column by column. */
#include "datasets/dataset.h"
#include "base/outputs.h"
#include "base/printable.h"
#include "base/status.h"
#include "base/version.h"
#include "datasets/share.h"

#include <jansson.h>
#include <stdio.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct rt_output_kind rt_dataset_kind = {"a dataset", RT_DATASET_FORMAT, NULL};

#define ADD(call)                                                                                            \
    do {                                                                                                     \
        if ((status = (call)) != RT_OK)                                                                      \
            return status;                                                                                   \
    } while (0)

static struct rt_h5_array column_array(const struct rt_field *field, const char *path)
{
    return (struct rt_h5_array){path,         field->type,      field->units, field->long_name,
                                field->names, field->name_count};
}

_Static_assert(RT_MAX_DIMS + 32 <= RT_MAX_COLUMNS, "a table has at most so many columns");

static void copy_column(const void *rows, size_t column, size_t first, size_t count, void *out)
{
    rt_rows_copy_column(rows, column, first, count, out);
}

static int write_columns(struct rt_h5 *file, const struct rt_rows *rows)
{
    enum { PATH = 64 };
    struct rt_h5_array arrays[RT_MAX_COLUMNS];
    char paths[RT_MAX_COLUMNS][PATH];
    int status;
    ADD(rt_h5_make_group(file, rows->kind->table));
    for (size_t f = 0; f < rows->kind->field_count; f++) {
        snprintf(paths[f], PATH, "%s/%s", rows->kind->table, rows->kind->fields[f].name);
        arrays[f] = column_array(&rows->kind->fields[f], paths[f]);
    }
    return rt_h5_write_columns(file, arrays, rows->kind->field_count, copy_column, rows, rows->count);
}

static int write_workloads(struct rt_h5 *file, const struct rt_dataset *dataset)
{
    struct rt_rows rows = rt_dataset_workload_rows(dataset);
    int status = write_columns(file, &rows);
    rt_rows_release(&rows);
    return status;
}

/* Of NUL-terminated strings one after the other. */
static int check_utf8(const struct rt_h5 *file, const char *path, const char *text, size_t size)
{
    for (size_t at = 0; at < size; at += strlen(text + at) + 1)
        if (!rt_is_utf8(text + at))
            return rt_fail(RT_EFORMAT, "%s: %s has \"%.200s\", which is not UTF-8; correct the name",
                           rt_h5_path(file), path, text + at);
    return RT_OK;
}

/* NUL-terminated strings one after the other; "count" says how many. */
static int write_strings(struct rt_h5 *file, const char *path, const char *long_name, const char *text,
                         size_t size, size_t count)
{
    int status;
    struct rt_h5_array array = {path, RT_H5_U8, NULL, long_name, NULL, 0};
    ADD(check_utf8(file, path, text, size));
    ADD(rt_h5_write(file, &array, text, 1, size));
    return rt_h5_set_integer(file, path, "count", (int64_t)count);
}

static bool any_has(struct rt_device *devices, size_t count, size_t field)
{
    for (size_t d = 0; d < count; d++)
        if (!isnan(*rt_device_value(&devices[d], field)))
            return true;
    return false;
}

static bool any_says(struct rt_device *devices, size_t count, size_t text)
{
    for (size_t d = 0; d < count; d++)
        if (rt_device_text(&devices[d], text)[0] != '\0')
            return true;
    return false;
}

static int write_device_texts(struct rt_h5 *file, struct rt_device *devices, size_t count)
{
    char path[128];
    int status = RT_OK;
    for (size_t t = 0; status == RT_OK && t < rt_device_text_count; t++) {
        struct rt_strings column = {0};
        if (rt_device_texts[t].sparse && !any_says(devices, count, t))
            continue;
        for (size_t d = 0; d < count; d++) { /* one text per device, equal ones too */
            const char *text = rt_device_text(&devices[d], t);
            size_t length = strlen(text) + 1;
            column.text = rt_realloc(column.text, column.size + length, 1);
            memcpy(column.text + column.size, text, length);
            column.size += length;
        }
        snprintf(path, sizeof path, "/devices/%s", rt_device_texts[t].key);
        status = write_strings(file, path, rt_device_texts[t].key, column.text, column.size, count);
        rt_strings_release(&column);
    }
    return status;
}

static int write_device_numbers(struct rt_h5 *file, struct rt_device *devices, size_t count)
{
    char path[128];
    int status = RT_OK;
    for (size_t f = 0; status == RT_OK && f < rt_device_field_count; f++) {
        const struct rt_device_field *field = &rt_device_fields[f];
        if (field->sparse && !any_has(devices, count, f))
            continue;
        snprintf(path, sizeof path, "/devices/%s", field->key);
        struct rt_h5_array array = {path, RT_H5_F64, field->units, field->long_name, NULL, 0};
        status = rt_h5_write(file, &array, (const char *)devices + field->offset, sizeof *devices, count);
    }
    return status;
}

static int write_devices(struct rt_h5 *file, const struct rt_dataset *dataset)
{
    size_t count = dataset->device_count;
    struct rt_device *devices = rt_calloc(count + 1, sizeof *devices);
    for (size_t d = 0; d < count; d++) {
        devices[d] = dataset->devices[d];
        rt_device_forget(&devices[d]);
    }
    int status = rt_h5_make_group(file, "/devices");
    if (status == RT_OK)
        status = write_device_texts(file, devices, count);
    if (status == RT_OK)
        status = write_device_numbers(file, devices, count);
    free(devices);
    return status;
}

/* Do all groups have this attribute with this value? Such attributes are written once, at /groups: thousands
 * of groups differ in one or two. */
static bool is_common(const struct rt_dataset *dataset, const char *name, const char *value)
{
    if (dataset->group_count < 2)
        return false;
    for (size_t g = 0; g < dataset->group_count; g++) {
        const char *there = rt_dataset_attribute(dataset, (int32_t)g, name);
        if (there == NULL || strcmp(there, value) != 0)
            return false;
    }
    return true;
}

static int write_group(struct rt_h5 *file, const struct rt_dataset *dataset, size_t g,
                       const struct rt_strings *common)
{
    const struct rt_group *group = &dataset->groups[g];
    char path[64];
    int status;
    snprintf(path, sizeof path, "/groups/%06zu", g);
    ADD(rt_h5_make_group(file, path));
    for (size_t i = 0; i < group->count; i++)
        if (rt_strings_find(common, group->name[i], strlen(group->name[i])) < 0)
            ADD(rt_h5_set_text(file, path, group->name[i], group->value[i]));
    return RT_OK;
}

static int write_groups(struct rt_h5 *file, const struct rt_dataset *dataset)
{
    struct rt_strings common = {0}; /* names */
    int status = rt_h5_make_group(file, "/groups");
    const struct rt_group *first = dataset->groups;
    for (size_t i = 0; status == RT_OK && dataset->group_count > 0 && i < first->count; i++)
        if (is_common(dataset, first->name[i], first->value[i])) {
            rt_strings_add(&common, first->name[i], strlen(first->name[i]));
            status = rt_h5_set_text(file, "/groups", first->name[i], first->value[i]);
        }
    for (size_t g = 0; status == RT_OK && g < dataset->group_count; g++)
        status = write_group(file, dataset, g, &common);
    rt_strings_release(&common);
    return status;
}

static int write_root(struct rt_h5 *file, const struct rt_dataset *dataset)
{
    int status;
    ADD(rt_h5_set_text(file, "/", "format", RT_DATASET_FORMAT));
    ADD(rt_h5_set_integer(file, "/", "version", RT_DATASET_VERSION));
    ADD(rt_h5_set_text(file, "/", "uuid", dataset->uuid));
    ADD(rt_h5_set_text(file, "/", "creator", dataset->creator));
    ADD(rt_h5_set_text(file, "/", "created", dataset->created));
    ADD(rt_h5_set_text(file, "/", "source", dataset->source));
    ADD(rt_h5_set_text(file, "/", "licence", dataset->licence));
    ADD(rt_h5_set_text(file, "/", "tool_version", RT_VERSION));
    ADD(rt_h5_set_text(file, "/", "hdf5_version", rt_h5_library()));
    return rt_h5_set_text(file, "/", "jansson_version", JANSSON_VERSION);
}

static int write_all(struct rt_h5 *file, const struct rt_dataset *dataset)
{
    int status;
    ADD(write_root(file, dataset));
    ADD(write_devices(file, dataset));
    ADD(write_groups(file, dataset));
    ADD(rt_h5_make_group(file, "/strings"));
    ADD(write_strings(file, "/strings/kernels", "names of kernels", dataset->kernels.text,
                      dataset->kernels.size, dataset->kernels.count));
    ADD(write_strings(file, "/strings/texts", "names of models and options", dataset->texts.text,
                      dataset->texts.size, dataset->texts.count));
    ADD(write_columns(file, &dataset->samples));
    return write_workloads(file, dataset);
}

int rt_dataset_write(const struct rt_dataset *dataset, const char *path)
{
    struct rt_h5 *file;
    int status = rt_h5_create(path, &file);
    if (status != RT_OK)
        return status;
    status = write_all(file, dataset);
    if (status != RT_OK) {
        rt_h5_close(file);
        return status;
    }
    return rt_h5_commit(file);
}

/* Those that an older file does not have are missing. `share`: of a unit of the progress. */
static int read_columns(struct rt_h5 *file, struct rt_rows *rows, struct rt_progress *progress, double share)
{
    char path[128];
    void *values = rt_malloc(8 * rows->count + 1);
    int status = RT_OK;
    for (size_t f = 0; f < rows->kind->field_count && status == RT_OK; f++) {
        const struct rt_field *field = &rows->kind->fields[f];
        rt_progress_step(progress, share / (double)rows->kind->field_count, rt_h5_path(file));
        if (field->since > rt_h5_version(file))
            continue;
        snprintf(path, sizeof path, "%s/%s", rows->kind->table, field->name);
        struct rt_h5_array array = column_array(field, path);
        status = rt_h5_read(file, &array, values, rt_field_size(field), rows->count);
        if (status == RT_OK)
            rt_rows_set_column(rows, f, values);
    }
    free(values);
    return status;
}

static int read_workloads(struct rt_h5 *file, size_t count, struct rt_progress *progress, double share,
                          struct rt_dataset *dataset)
{
    struct rt_rows rows = {.kind = &rt_workload_rows, .count = count, .capacity = count};
    int status = read_columns(file, &rows, progress, share);
    dataset->workloads = rt_calloc(count, sizeof *dataset->workloads);
    dataset->workload_count = dataset->workload_capacity = status == RT_OK ? count : 0;
    for (size_t i = 0; i < dataset->workload_count; i++)
        rt_rows_get(&rows, i, &dataset->workloads[i]);
    rt_rows_release(&rows);
    return status;
}

static int count_rows(struct rt_h5 *file, const char *path, const struct rt_field *field, size_t *count)
{
    struct rt_h5_array array = column_array(field, path);
    return rt_h5_count(file, &array, count);
}

/* The bytes of a string column and how many strings it holds; both are checked against each other. */
static int read_text(struct rt_h5 *file, const char *path, char **text, size_t *size, size_t *count)
{
    struct rt_h5_array array = {path, RT_H5_U8, NULL, NULL, NULL, 0};
    size_t bytes, strings = 0;
    int64_t claimed;
    int status;
    ADD(rt_h5_count(file, &array, &bytes));
    char *buffer = rt_malloc(bytes);
    status = rt_h5_read(file, &array, buffer, 1, bytes);
    if (status == RT_OK)
        status = rt_h5_get_integer(file, path, "count", &claimed);
    for (size_t i = 0; status == RT_OK && i < bytes; i++)
        strings += buffer[i] == '\0';
    if (status == RT_OK &&
        ((bytes > 0 && buffer[bytes - 1] != '\0') || claimed < 0 || (size_t)claimed != strings))
        status = rt_fail(RT_EFORMAT, "%s: %s holds %zu texts but claims %lld: the file is damaged",
                         rt_h5_path(file), path, strings, (long long)claimed);
    if (status == RT_OK)
        status = check_utf8(file, path, buffer, bytes);
    if (status != RT_OK) {
        free(buffer);
        return status;
    }
    *text = buffer;
    *size = bytes;
    *count = strings;
    return RT_OK;
}

static int read_strings(struct rt_h5 *file, const char *path, struct rt_strings *out)
{
    char *text;
    size_t size, count;
    int status = read_text(file, path, &text, &size, &count);
    if (status != RT_OK)
        return status;
    for (size_t at = 0; at < size; at += strlen(text + at) + 1)
        rt_strings_add(out, text + at, strlen(text + at));
    free(text);
    if (out->count != count)
        return rt_fail(RT_EFORMAT, "%s: %s holds a text twice: the file is damaged", rt_h5_path(file), path);
    return RT_OK;
}

static int read_device_text(struct rt_h5 *file, const struct rt_device_text *column,
                            struct rt_dataset *dataset)
{
    char path[128], *text;
    size_t size, count, at = 0;
    snprintf(path, sizeof path, "/devices/%s", column->key);
    if (column->sparse && !rt_h5_has(file, path, "long_name"))
        return RT_OK;
    int status = read_text(file, path, &text, &size, &count);
    if (status != RT_OK)
        return status;
    if (dataset->devices == NULL && count > 0) {
        dataset->devices = rt_calloc(count, sizeof *dataset->devices);
        dataset->device_count = count;
    }
    if (count != dataset->device_count)
        status = rt_fail(RT_EFORMAT, "%s: %s has %zu rows where /devices has %zu", rt_h5_path(file), path,
                         count, dataset->device_count);
    for (size_t d = 0; status == RT_OK && d < count; at += strlen(text + at) + 1, d++) {
        if (strlen(text + at) >= column->size)
            status = rt_fail(RT_EFORMAT, "%s: %s[%zu] is longer than %zu bytes", rt_h5_path(file), path, d,
                             column->size);
        else
            strcpy((char *)&dataset->devices[d] + column->offset, text + at);
    }
    free(text);
    return status;
}

/* Sets share_of and slice_of, which no file holds, of a part of a catalogue's GPU. */
static void restore_share(struct rt_device *device)
{
    struct rt_device whole;
    double sms, of;
    if (device->whole[0] != '\0' && strchr(device->name, ':') != NULL &&
        rt_device_named(device->name, &whole) == RT_OK && whole.sms == device->sms)
        device->slice_of = whole.slice_of;
    if (device->whole[0] == '\0' || rt_share_parse(device->name, &sms, &of) == 0 || sms != device->sms ||
        !(of > sms) || rt_device_named(device->whole, &whole) != RT_OK || whole.sms != of)
        return;
    device->share_of.sms = of;
    device->share_of.bandwidth_gbs = whole.bandwidth_gbs;
}

static int read_devices(struct rt_h5 *file, struct rt_dataset *dataset)
{
    int status;
    char path[128];
    for (size_t t = 0; t < rt_device_text_count; t++) /* the first is the name: it says how many there are */
        ADD(read_device_text(file, &rt_device_texts[t], dataset));
    struct rt_device none; /* where there is no device: nothing is read, and the array must be there */
    char *devices = (char *)(dataset->device_count > 0 ? dataset->devices : &none);
    for (size_t f = 0; f < rt_device_field_count; f++) {
        snprintf(path, sizeof path, "/devices/%s", rt_device_fields[f].key);
        for (size_t d = 0; d < dataset->device_count; d++)
            *rt_device_value(&dataset->devices[d], f) = NAN;
        if (rt_device_fields[f].sparse && !rt_h5_has(file, path, "units"))
            continue;
        struct rt_h5_array array = {path, RT_H5_F64, NULL, NULL, NULL, 0};
        ADD(rt_h5_read(file, &array, devices + rt_device_fields[f].offset, sizeof *dataset->devices,
                       dataset->device_count));
    }
    for (size_t d = 0; d < dataset->device_count; d++)
        ADD(rt_device_check(&dataset->devices[d], rt_h5_path(file)));
    for (size_t d = 0; d < dataset->device_count; d++) {
        restore_share(&dataset->devices[d]);
        rt_device_recall(&dataset->devices[d]);
    }
    return RT_OK;
}

struct group_reader {
    struct rt_dataset *dataset;
    char path[64];
    const char *names[64];
    const char *values[64];
    char *owned[128];
    size_t count;
};

static int read_attribute(struct rt_h5 *file, const char *name, void *context)
{
    struct group_reader *reader = context;
    if (reader->count == RT_COUNT(reader->names))
        return rt_fail(RT_EFORMAT, "%s: %s has more than %zu attributes", rt_h5_path(file), reader->path,
                       RT_COUNT(reader->names));
    char *value;
    int status = rt_h5_get_text(file, reader->path, name, &value);
    if (status != RT_OK)
        return status;
    size_t i = reader->count++;
    reader->names[i] = reader->owned[2 * i] = rt_strdup(name);
    reader->values[i] = reader->owned[2 * i + 1] = value;
    return RT_OK;
}

static void reader_release(struct group_reader *reader)
{
    for (size_t i = 0; i < RT_COUNT(reader->owned); i++)
        free(reader->owned[i]);
}

static int read_group(struct rt_h5 *file, const char *name, void *context)
{
    const struct group_reader *common = context;
    struct rt_dataset *dataset = common->dataset;
    struct group_reader reader = {.count = common->count};
    memcpy(reader.names, common->names, sizeof reader.names);
    memcpy(reader.values, common->values, sizeof reader.values);
    snprintf(reader.path, sizeof reader.path, "/groups/%.32s", name);
    int status = rt_h5_each_attribute(file, reader.path, read_attribute, &reader);
    if (status == RT_OK) {
        size_t before = dataset->group_count;
        int32_t index = rt_dataset_add_group(dataset, reader.count, reader.names, reader.values);
        char expected[16];
        snprintf(expected, sizeof expected, "%06zu", before);
        if ((size_t)index != before || strcmp(expected, name) != 0)
            status = rt_fail(RT_EFORMAT, "%s: /groups/%.32s is out of order or a repeat: the file is damaged",
                             rt_h5_path(file), name);
    }
    reader_release(&reader);
    return status;
}

static int read_groups(struct rt_h5 *file, struct rt_dataset *dataset)
{
    struct group_reader common = {.dataset = dataset, .path = "/groups"};
    int status = rt_h5_each_attribute(file, "/groups", read_attribute, &common);
    if (status == RT_OK)
        status = rt_h5_each_child(file, "/groups", read_group, &common);
    reader_release(&common);
    return status;
}

struct index_check {
    const struct rt_dataset *dataset;
    const char *path;
};

static int check_index(void *context, const struct rt_field *field, size_t row, int32_t *index)
{
    const struct index_check *check = context;
    size_t rows = rt_dataset_table_rows(check->dataset, field->table);
    if (*index >= (field->required ? 0 : -1) && (*index < 0 || (size_t)*index < rows))
        return RT_OK;
    return rt_fail(RT_EFORMAT, "%s: %s of row %zu is %d, but there are %zu: the file is damaged", check->path,
                   field->name, row, *index, rows);
}

static int check_rows(struct rt_dataset *dataset, const char *path)
{
    int status = rt_each_index(dataset, 0, 0, check_index, &(struct index_check){dataset, path});
    for (size_t i = 0; status == RT_OK && i < dataset->samples.count; i++)
        if (rt_op_check(RT_SAMPLE(dataset, i)->call.op, RT_SAMPLE(dataset, i)->call.dim) != RT_OK)
            status = rt_fail_context(RT_EFORMAT, "%s: /samples row %zu", path, i);
    return status;
}

static int read_root(struct rt_h5 *file, struct rt_dataset *dataset)
{
    char **texts[] = {&dataset->uuid, &dataset->creator, &dataset->created, &dataset->source,
                      &dataset->licence};
    const char *names[] = {"uuid", "creator", "created", "source", "licence"};
    for (size_t i = 0; i < RT_COUNT(texts); i++) {
        char *text;
        int status = rt_h5_get_text(file, "/", names[i], &text);
        if (status != RT_OK)
            return status;
        free(*texts[i]);
        *texts[i] = text;
    }
    return RT_OK;
}

static int read_all(struct rt_h5 *file, struct rt_dataset *dataset, struct rt_progress *progress)
{
    int status;
    size_t samples, workloads;
    ADD(read_root(file, dataset));
    ADD(read_devices(file, dataset));
    ADD(read_groups(file, dataset));
    ADD(read_strings(file, "/strings/kernels", &dataset->kernels));
    ADD(read_strings(file, "/strings/texts", &dataset->texts));
    ADD(count_rows(file, "/samples/op", &rt_sample_fields[0], &samples));
    ADD(count_rows(file, "/workloads/model", &rt_workload_fields[0], &workloads));
    ADD(rt_h5_check_count(file, "/samples", samples, sizeof(struct rt_sample)));
    ADD(rt_h5_check_count(file, "/workloads", workloads, sizeof *dataset->workloads));
    dataset->samples.count = dataset->samples.capacity = samples;
    const double rows = fmax(1, (double)samples + (double)workloads);
    ADD(read_columns(file, &dataset->samples, progress, (double)samples / rows));
    ADD(read_workloads(file, workloads, progress, (double)workloads / rows, dataset));
    return check_rows(dataset, rt_h5_path(file));
}

/* What to type for a CSV file, by the columns that its first line names. */
static int fail_by_columns(const char *path, int status)
{
    char line[4096] = "";
    FILE *file = fopen(path, "r");
    if (file != NULL && fgets(line, sizeof line, file) == NULL)
        line[0] = '\0';
    if (file != NULL)
        fclose(file);
    if (strstr(line, "ttft_ms") != NULL)
        return rt_fail_remedy(status, "`rooftile evaluate -p pretrained --serving %s` judges runs of servers",
                              path);
    if (strstr(line, "end_to_end_us") != NULL)
        return rt_fail_remedy(
            status, "`rooftile dataset import --format workloads %s -o data.h5` makes a dataset", path);
    if (strstr(line, "dtype") != NULL)
        return rt_fail_remedy(status,
                              "`rooftile dataset import --format table %s -o data.h5` makes a dataset", path);
    return rt_fail_remedy(status, "`rooftile dataset import --help` says which tables become a dataset");
}

/* What to type where the file is none. */
static int fail_to_open(const char *path, int status)
{
    char *format = rt_h5_format(path);
    if (access(path, F_OK) != 0)
        rt_fail_remedy(status, "`rooftile collect -o %s` measures this machine and makes it", path);
    else if (status == RT_EFORMAT && format == NULL)
        fail_by_columns(path, status);
    else if (status == RT_EFORMAT)
        rt_fail_remedy(status,
                       "`rooftile collect -o data.h5` makes a dataset, `rooftile card %s` says what this is",
                       path);
    free(format);
    return status;
}

int rt_dataset_read(const char *path, struct rt_dataset *out)
{
    return rt_dataset_read_shown(path, NULL, out);
}

int rt_dataset_read_shown(const char *path, struct rt_progress *progress, struct rt_dataset *out)
{
    struct rt_h5 *file;
    int status = rt_h5_open(path, RT_DATASET_FORMAT, RT_DATASET_VERSION, &file);
    if (status != RT_OK)
        return fail_to_open(path, status);
    struct rt_dataset dataset;
    rt_dataset_init(&dataset);
    status = read_all(file, &dataset, progress);
    rt_h5_close(file);
    if (status == RT_OK)
        *out = dataset;
    else
        rt_dataset_release(&dataset);
    return status;
}
