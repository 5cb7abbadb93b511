/* Members of structs as attributes. See h5_struct.h. */
#include "base/h5_struct.h"
#include "base/status.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *name_of(const struct rt_h5_attribute *row, size_t index)
{
    return *(const char *const *)((const char *)row->table + index * row->stride);
}

static int write_member(struct rt_h5 *file, const char *object, const struct rt_h5_attribute *row,
                        const void *member)
{
    switch (row->kind) {
    case RT_H5_TEXT:
        return rt_h5_set_text(file, object, row->name,
                              *(char *const *)member != NULL ? *(char *const *)member : "");
    case RT_H5_CHARS:
        return rt_h5_set_text(file, object, row->name, member);
    case RT_H5_INTEGER:
        return rt_h5_set_integer(file, object, row->name, *(const int64_t *)member);
    case RT_H5_REAL:
        return rt_h5_set_real(file, object, row->name, *(const double *)member);
    case RT_H5_BOOL:
        return rt_h5_set_integer(file, object, row->name, *(const bool *)member);
    case RT_H5_NAME:
        break;
    }
    size_t index = row->size == 1 ? *(const uint8_t *)member : *(const unsigned *)member;
    return rt_h5_set_text(file, object, row->name, name_of(row, index));
}

int rt_h5_write_struct(struct rt_h5 *file, const char *object, const struct rt_h5_attribute *rows,
                       size_t count, const void *from)
{
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < count; i++)
        status = write_member(file, object, &rows[i], (const char *)from + rows[i].offset);
    return status;
}

static int take_name(struct rt_h5 *file, const char *object, const struct rt_h5_attribute *row,
                     const char *text, void *member)
{
    for (size_t i = 0; i < row->rows; i++)
        if (strcmp(name_of(row, i), text) == 0) {
            if (row->size == 1)
                *(uint8_t *)member = (uint8_t)i;
            else
                *(unsigned *)member = (unsigned)i;
            return RT_OK;
        }
    return rt_fail(RT_EVERSION,
                   "%s: %s needs the %s \"%.60s\", which this build does not have; use a newer rooftile",
                   rt_h5_path(file), object, row->name, text);
}

static int read_text(struct rt_h5 *file, const char *object, const struct rt_h5_attribute *row, void *member)
{
    char *text;
    int status = rt_h5_get_text(file, object, row->name, &text);
    if (status != RT_OK)
        return status;
    if (row->kind == RT_H5_TEXT) {
        free(*(char **)member);
        *(char **)member = text;
        return RT_OK;
    }
    if (row->kind == RT_H5_CHARS)
        snprintf(member, row->size, "%s", text);
    else
        status = take_name(file, object, row, text, member);
    free(text);
    return status;
}

static int read_member(struct rt_h5 *file, const char *object, const struct rt_h5_attribute *row,
                       void *member)
{
    int64_t value = 0;
    if (row->kind == RT_H5_INTEGER)
        return rt_h5_get_integer(file, object, row->name, member);
    if (row->kind == RT_H5_REAL)
        return rt_h5_get_real(file, object, row->name, member);
    if (row->kind != RT_H5_BOOL)
        return read_text(file, object, row, member);
    int status = rt_h5_get_integer(file, object, row->name, &value);
    *(bool *)member = value != 0;
    return status;
}

int rt_h5_read_struct(struct rt_h5 *file, const char *object, const struct rt_h5_attribute *rows,
                      size_t count, void *to)
{
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < count; i++)
        status = read_member(file, object, &rows[i], (char *)to + rows[i].offset);
    return status;
}

/* ---- arrays of a group ---- */

enum { PATH = 256 };

static const char *path_in(const char *group, const char *name, char path[static PATH])
{
    snprintf(path, PATH, "%s/%s", group, name);
    return path;
}

int rt_h5_write_in(struct rt_h5 *file, const char *group, const char *name, struct rt_h5_array array,
                   const void *values, size_t size, size_t count)
{
    char path[PATH];
    array.path = path_in(group, name, path);
    return rt_h5_write(file, &array, values, size, count);
}

int rt_h5_read_in(struct rt_h5 *file, const char *group, const char *name, struct rt_h5_array array,
                  void *values, size_t size, size_t count)
{
    char path[PATH];
    array.path = path_in(group, name, path);
    return rt_h5_read(file, &array, values, size, count);
}

int rt_h5_read_range(struct rt_h5 *file, const char *group, const char *name, struct rt_h5_array array,
                     void *values, size_t size, size_t count, double low, double high)
{
    int status = rt_h5_read_in(file, group, name, array, values, size, count);
    for (size_t i = 0; status == RT_OK && i < count; i++) {
        double value = array.type == RT_H5_F32 ? ((const float *)values)[i] : ((const double *)values)[i];
        if (!(value >= low && value <= high))
            status = rt_fail(RT_EFORMAT,
                             "%s: %s/%s[%zu] is %g where only %g to %g is possible: the file is damaged, "
                             "restore it from a copy or train again",
                             rt_h5_path(file), group, name, i, value, low, high);
    }
    return status;
}

int rt_h5_count_in(struct rt_h5 *file, const char *group, const char *name, struct rt_h5_array array,
                   size_t *count)
{
    char path[PATH];
    array.path = path_in(group, name, path);
    return rt_h5_count(file, &array, count);
}

bool rt_h5_exists_in(struct rt_h5 *file, const char *group, const char *name)
{
    char path[PATH];
    return rt_h5_exists(file, path_in(group, name, path));
}
