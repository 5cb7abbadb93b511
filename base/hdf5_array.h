/* What an array in an HDF5 file is: for h5.h, and for the tree that reads files without the library. */
#pragma once

#include <stddef.h>

enum rt_h5_type { RT_H5_F32, RT_H5_F64, RT_H5_I32, RT_H5_I64, RT_H5_U8, RT_H5_U32 };

/* What an array is: `names` (with `name_count`) makes it an HDF5 enum stored in 8 bits (type RT_H5_U8). */
struct rt_h5_array {
    const char *path; /* "/samples/latency_us" */
    enum rt_h5_type type;
    const char *units, *long_name; /* NULL: no such attribute */
    const char *const *names;
    size_t name_count;
};

/* Some values of a column of a table, one after the other. */
typedef void rt_h5_copy(const void *table, size_t column, size_t first, size_t count, void *out);
