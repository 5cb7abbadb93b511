/*
 * The columns of /samples and /workloads, a row each: reading, writing, CSV, checks, ranges and orders of
 * rows all follow these tables. A new column is a member of the struct, a row here, and a version of the
 * format.
 */
#ifndef ROOFTILE_DATASETS_FIELDS_H
#define ROOFTILE_DATASETS_FIELDS_H

#include "datasets/dataset.h"
#include "base/h5.h"

#include <math.h>

/* The table of which a column holds row numbers. */
enum rt_dataset_table {
    RT_NO_TABLE,
    RT_TABLE_DEVICES,
    RT_TABLE_GROUPS,
    RT_TABLE_KERNELS,
    RT_TABLE_TEXTS,
    RT_TABLE_COUNT
};

struct rt_field {
    const char *name;
    enum rt_h5_type type; /* RT_H5_U8: an enum; RT_H5_U32: bits */
    size_t offset;        /* in struct rt_sample or rt_workload */
    const char *units, *long_name;
    const char *const *names; /* of an enum */
    size_t name_count;
    int since; /* the first version of the format with this column; files before it read as missing */
    enum rt_dataset_table table;
    bool required;    /* never missing */
    bool may_be_zero; /* otherwise integers are 1 or more */
    int64_t most;     /* of an integer; 0: no limit */
};
extern const struct rt_field rt_sample_fields[];
extern const size_t rt_sample_field_count;
extern const struct rt_field rt_workload_fields[];
extern const size_t rt_workload_field_count;

/* Is the value missing, or possible? Times are what a clock can give (rt_time_is_possible; a spread from
 * 0), other reals are finite and 0 or more, integers 1 or more, or 0 where that is a value. */
bool rt_field_is_possible(const struct rt_field *field, const void *row);
/* What the value must be, as words of a sentence: "a whole number of 1..65536". */
const char *rt_field_must_be(const struct rt_field *field, char text[static 96]);

/* Value of an integer column of any width; -1 where it is missing. */
static inline int64_t rt_field_integer(const struct rt_field *field, const void *row)
{
    const void *at = (const char *)row + field->offset;
    switch (field->type) {
    case RT_H5_U8:
        return *(const uint8_t *)at;
    case RT_H5_I32:
        return *(const int32_t *)at;
    case RT_H5_U32:
        return *(const uint32_t *)at;
    case RT_H5_I64:
        return *(const int64_t *)at;
    default:
        return -1;
    }
}

/* Value of any column as a real; NaN where it is missing. */
static inline double rt_field_real(const struct rt_field *field, const void *row)
{
    if (field->type == RT_H5_F64)
        return *(const double *)((const char *)row + field->offset);
    int64_t value = rt_field_integer(field, row);
    return value == -1 ? NAN : (double)value;
}

/* Rows of a dataset's table. */
size_t rt_dataset_table_rows(const struct rt_dataset *dataset, enum rt_dataset_table table);

/* Calls `visit` for every row number that samples and workloads hold, from these rows on: of row `row`,
 * column `field`. It may change *index. Ends with the first status that is not RT_OK, and returns it. */
typedef int (*rt_index_visit)(void *context, const struct rt_field *field, size_t row, int32_t *index);
int rt_each_index(struct rt_dataset *dataset, size_t first_sample, size_t first_workload,
                  rt_index_visit visit, void *context);

#endif
