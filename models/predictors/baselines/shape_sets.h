/*
 * Sets of measured shapes in predictor files. A set holds the shapes of one op in one dtype on one device;
 * all sets lie in a few arrays of one group, because opening an array takes HDF5 as long as reading ten
 * thousand numbers. Columns are rows of a table, so measured tiles and wave scaling share one writer and one
 * reader.
 */
#pragma once

#include "base/h5.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The head of every set: the first member of its struct. */
struct rt_shape_set {
    uint8_t op, dtype;
    size_t count, dims; /* shapes, dims of the op */
};

struct rt_shape_column {
    const char *name, *units, *what;
    enum rt_h5_type type;
    size_t size;   /* of a value in bytes */
    size_t width;  /* values of a set, or of each shape; 0: of each shape as many as the op has dims */
    bool of_shape; /* the member points to (count, width) values; else it holds (width) values itself */
    size_t offset; /* of the member in the set's struct */
    bool may_lack; /* files of earlier builds lack it: 0 then */
};

struct rt_shape_layout {
    const struct rt_shape_column *columns; /* beside op, dtype and count */
    size_t column_count, set_size;         /* set_size: of the set's struct in bytes */
};

/* Arrays op, dtype and count, and one for each column: set after set, values of shapes transposed to
 * (width, count). The group is there. */
int rt_shape_sets_write(const struct rt_shape_layout *layout, const void *sets, size_t count,
                        struct rt_h5 *file, const char *group);

/* *sets gets *count structs on the heap, other members zero, and is released by the caller whatever is
 * returned. RT_EFORMAT where the lengths of the arrays do not add up. */
int rt_shape_sets_read(const struct rt_shape_layout *layout, struct rt_h5 *file, const char *group,
                       void **sets, size_t *count);
