/*
 * Columns of a table as compressed chunks, made in threads: the bytes that HDF5's filters
 * shuffle, deflate and fletcher32 read. HDF5 itself compresses in one thread: the imports then take half as
 * long again (docs/DESIGN.md). No calls of HDF5; h5.c writes the chunks.
 */
#pragma once

#include "base/hdf5_array.h"

#include <stdint.h>

struct rt_chunk_column {
    size_t size;      /* of a value: 1, 4 or 8 bytes */
    uint64_t missing; /* bits of a value that is not there; they pad the last chunk */
};

/* One chunk of one column, ready to be stored; bytes NULL where every value is missing. */
struct rt_chunk {
    void *bytes;
    size_t size;
};

/* All chunks of `rows` values each, column after column: chunk c of column k is (*out)[k * chunks + c], with
 * chunks = ceil(count / rows). Release with rt_chunks_free. The bytes do not depend on the number of threads.
 */
void rt_chunks_make(rt_h5_copy *copy, const void *table, size_t count, const struct rt_chunk_column *columns,
                    size_t column_count, size_t rows, int level, struct rt_chunk **out);
void rt_chunks_free(struct rt_chunk *chunks, size_t count);

/* Fletcher's checksum as HDF5 computes it: over 16-bit words of two bytes, the first one high. */
uint32_t rt_chunk_sum(const unsigned char *bytes, size_t size);
