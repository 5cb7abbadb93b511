/*
 * Members of a struct as attributes of an object in an HDF5 file: a row for each member, one function that
 * writes them and one that reads them.
 */
#pragma once

#include "base/h5.h"

enum rt_h5_kind {
    RT_H5_TEXT,    /* char *, on the heap; NULL is written as "" */
    RT_H5_CHARS,   /* char[size]: a text that is cut where it is longer */
    RT_H5_INTEGER, /* int64_t or uint64_t */
    RT_H5_REAL,    /* double */
    RT_H5_BOOL,    /* bool, stored as 0 or 1 */
    RT_H5_NAME     /* index of a row of a table, in an int, an enum or 8 bits; stored as the row's name */
};

struct rt_h5_attribute {
    const char *name;
    enum rt_h5_kind kind;
    size_t offset, size; /* of the member */
    /* Of a name: the table, whose rows begin with a const char *, `stride` bytes apart. */
    const void *table;
    size_t stride, rows;
};
/* clang-format off */
#define RT_H5_MEMBER(type, member, name_, kind_)                                                             \
    {.name = name_, .kind = kind_, .offset = offsetof(type, member), .size = sizeof ((type *)0)->member}
#define RT_H5_MEMBER_NAME(type, member, name_, table_, count_)                                               \
    {.name = name_, .kind = RT_H5_NAME, .offset = offsetof(type, member),                                    \
     .size = sizeof ((type *)0)->member, .table = table_, .stride = sizeof *(table_), .rows = count_}
/* clang-format on */

int rt_h5_write_struct(struct rt_h5 *file, const char *object, const struct rt_h5_attribute *rows,
                       size_t count, const void *from);
/* What a failed reading leaves in `to` is released as usual. A text that `to` holds is freed. RT_EVERSION
 * where a name is in no row of its table. */
int rt_h5_read_struct(struct rt_h5 *file, const char *object, const struct rt_h5_attribute *rows,
                      size_t count, void *to);

/* The array `name` of a group; `array` describes it without its path. `count` values as rt_h5_write. */
int rt_h5_write_in(struct rt_h5 *file, const char *group, const char *name, struct rt_h5_array array,
                   const void *values, size_t size, size_t count);
int rt_h5_read_in(struct rt_h5 *file, const char *group, const char *name, struct rt_h5_array array,
                  void *values, size_t size, size_t count);
/* rt_h5_read_in of reals (float or double), each of which must lie in low..high; NaN does not. RT_EFORMAT
 * names the first that does not. */
int rt_h5_read_range(struct rt_h5 *file, const char *group, const char *name, struct rt_h5_array array,
                     void *values, size_t size, size_t count, double low, double high);
int rt_h5_count_in(struct rt_h5 *file, const char *group, const char *name, struct rt_h5_array array,
                   size_t *count);
bool rt_h5_exists_in(struct rt_h5 *file, const char *group, const char *name);
