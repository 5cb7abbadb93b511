/* Gather, shuffle, deflate, fletcher32, chunk by chunk on all processors. See h5_chunks.h. */
#include "base/h5_chunks.h"
#include "base/status.h"
#include "base/threads.h"

#include <stdatomic.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

struct job {
    rt_h5_copy *copy;
    const void *table;
    size_t count, rows, chunks, column_count;
    const struct rt_chunk_column *columns;
    struct rt_chunk *out;
    int level;
    atomic_size_t next; /* chunk: a thread takes all columns of it */
};

/* Buffers of one thread. */
struct buffers {
    unsigned char *values, *planes, *packed; /* of one chunk */
    size_t packed_capacity;
    z_stream stream;
};

/* A chunk of one column; the last one is padded. */
static void gather(const struct job *job, size_t k, size_t first, unsigned char *values)
{
    size_t there = job->count - first < job->rows ? job->count - first : job->rows;
    size_t size = job->columns[k].size;
    job->copy(job->table, k, first, there, values);
    for (size_t i = there; i < job->rows; i++)
        memcpy(values + i * size, &job->columns[k].missing, size); /* little-endian, as the file is */
}

static bool all_missing(const struct rt_chunk_column *column, const unsigned char *values, size_t rows)
{
    return memcmp(values, &column->missing, column->size) == 0 &&
           memcmp(values, values + column->size, (rows - 1) * column->size) == 0;
}

/* The first bytes of all values, then the second ones, and so on. */
static void shuffle(const unsigned char *values, size_t size, size_t rows, unsigned char *planes)
{
    for (size_t byte = 0; byte < size; byte++)
        for (size_t i = 0; i < rows; i++)
            *planes++ = values[i * size + byte];
}

uint32_t rt_chunk_sum(const unsigned char *bytes, size_t size)
{
    uint32_t a = 0, b = 0;
    for (size_t words = size / 2; words > 0;) {
        size_t run = words < 360 ? words : 360; /* no sum overflows before it is folded */
        for (words -= run; run > 0; run--, bytes += 2) {
            a += (uint32_t)bytes[0] << 8 | bytes[1];
            b += a;
        }
        a = (a & 0xffff) + (a >> 16);
        b = (b & 0xffff) + (b >> 16);
    }
    if (size % 2) {
        a += (uint32_t)bytes[0] << 8;
        b += a;
        a = (a & 0xffff) + (a >> 16);
        b = (b & 0xffff) + (b >> 16);
    }
    a = (a & 0xffff) + (a >> 16);
    b = (b & 0xffff) + (b >> 16);
    return b << 16 | a;
}

static struct rt_chunk pack(struct buffers *buffers, size_t size)
{
    buffers->stream.next_in = buffers->planes;
    buffers->stream.avail_in = (uInt)size;
    buffers->stream.next_out = buffers->packed;
    buffers->stream.avail_out = (uInt)buffers->packed_capacity;
    deflateReset(&buffers->stream);
    deflate(&buffers->stream, Z_FINISH); /* cannot run out of room: deflateBound */
    size_t length = buffers->packed_capacity - buffers->stream.avail_out;
    uint32_t sum = rt_chunk_sum(buffers->packed, length);
    for (int i = 0; i < 4; i++)
        buffers->packed[length++] = (unsigned char)(sum >> 8 * i);
    struct rt_chunk chunk = {rt_malloc(length), length};
    memcpy(chunk.bytes, buffers->packed, length);
    return chunk;
}

static void allocate_buffers(struct buffers *buffers, const struct job *job)
{
    size_t size = 8 * job->rows;
    memset(buffers, 0, sizeof *buffers);
    /* Shuffled planes are runs or noise: run-length matching alone is a quarter faster and compresses all
     * columns together as well. */
    if (deflateInit2(&buffers->stream, job->level, Z_DEFLATED, MAX_WBITS, MAX_MEM_LEVEL - 1, Z_RLE) != Z_OK)
        rt_malloc((size_t)-1); /* out of memory: ends the program */
    buffers->packed_capacity = deflateBound(&buffers->stream, size);
    buffers->values = rt_malloc(size);
    buffers->planes = rt_malloc(size);
    buffers->packed = rt_malloc(buffers->packed_capacity + 4);
}

static void work(void *context, size_t member)
{
    struct job *job = context;
    (void)member;
    struct buffers buffers;
    size_t chunk;
    allocate_buffers(&buffers, job);
    while ((chunk = atomic_fetch_add(&job->next, 1)) < job->chunks) {
        for (size_t k = 0; k < job->column_count; k++) {
            const struct rt_chunk_column *column = &job->columns[k];
            gather(job, k, chunk * job->rows, buffers.values);
            if (all_missing(column, buffers.values, job->rows))
                continue;
            shuffle(buffers.values, column->size, job->rows, buffers.planes);
            job->out[k * job->chunks + chunk] = pack(&buffers, column->size * job->rows);
        }
    }
    deflateEnd(&buffers.stream);
    free(buffers.values);
    free(buffers.planes);
    free(buffers.packed);
}

void rt_chunks_make(rt_h5_copy *copy, const void *table, size_t count, const struct rt_chunk_column *columns,
                    size_t column_count, size_t rows, int level, struct rt_chunk **out)
{
    struct job job = {.copy = copy,
                      .table = table,
                      .count = count,
                      .rows = rows,
                      .columns = columns,
                      .column_count = column_count,
                      .level = level,
                      .chunks = (count + rows - 1) / rows};
    job.out = rt_calloc(job.chunks * column_count, sizeof *job.out);
    size_t processors = rt_threads_processors();
    struct rt_threads *pool = rt_threads_new(processors < job.chunks ? processors : job.chunks);
    rt_threads_run(pool, work, &job);
    rt_threads_free(pool);
    *out = job.out;
}

void rt_chunks_free(struct rt_chunk *chunks, size_t count)
{
    for (size_t i = 0; i < count; i++)
        free(chunks[i].bytes);
    free(chunks);
}
