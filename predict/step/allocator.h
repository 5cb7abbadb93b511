/*
 * PyTorch's caching allocator, replayed over the tensors of a step (c10/cuda/CUDACachingAllocator.cpp, as it
 * is without PYTORCH_CUDA_ALLOC_CONF).
 *
 * Sizes are rounded up to 512 bytes. Requests of at most 1 MiB are cut from segments of 2 MiB, those below 10
 * MiB from segments of 20 MiB, larger ones get a segment of their own, a multiple of 2 MiB. A request takes
 * the smallest free block that is large enough, and what is left of it is a block again if it has 512 bytes
 * (in small segments) or more than 1 MiB. Free neighbours in a segment join. Segments go back to the driver
 * only when it has no more; then all do that are wholly free.
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rt_allocator {
    double limit;               /* bytes that the driver has; NaN: no end */
    double allocated, reserved; /* bytes: of blocks in use, of segments */
    double most_allocated, most_reserved;
    bool full; /* a request did not fit, even after all free segments went back */
    struct rt_allocator_block *blocks;
    uint32_t block_count;
    size_t block_capacity;
    struct rt_allocator_pool {
        uint32_t *blocks; /* that are free, from the smallest; of one size, by address */
        size_t count, capacity;
    } pools[2];          /* small, large */
    uint32_t unused;     /* first of the entries of `blocks` that hold none */
    double next_address; /* of the next segment */
    size_t whole;        /* segments that are wholly free */
};

#define RT_NO_BLOCK UINT32_MAX

void rt_allocator_init(struct rt_allocator *allocator, double limit);
void rt_allocator_release(struct rt_allocator *allocator);

/* Returns the block, RT_NO_BLOCK for 0 bytes. Where the driver has no more the request is granted all the
 * same, and `full` is set. */
uint32_t rt_allocator_make(struct rt_allocator *allocator, double bytes);
/* Where a block is and how large: with those of all blocks in use, and of segments, all that is to come
 * follows. */
void rt_allocator_place(const struct rt_allocator *allocator, uint32_t block, double place[2]);
void rt_allocator_free(struct rt_allocator *allocator, uint32_t block);
