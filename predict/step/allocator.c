/* PyTorch's caching allocator. See allocator.h. */
#include "predict/step/allocator.h"
#include "base/array.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double unit = 512, small = 0x1p20, small_segment = 0x1p21, large = 10 * 0x1p20,
                    large_segment = 20 * 0x1p20, large_unit = 0x1p21;

struct rt_allocator_block {
    double address, size;
    uint32_t before,
        after; /* in the segment; RT_NO_BLOCK: its end. Of an unused entry: after, the next one */
    uint8_t pool;
    bool used;
};

void rt_allocator_init(struct rt_allocator *allocator, double limit)
{
    *allocator = (struct rt_allocator){.limit = limit, .unused = RT_NO_BLOCK};
}

void rt_allocator_release(struct rt_allocator *allocator)
{
    free(allocator->blocks);
    for (int pool = 0; pool < 2; pool++)
        free(allocator->pools[pool].blocks);
    rt_allocator_init(allocator, NAN);
}

static uint32_t new_block(struct rt_allocator *allocator, struct rt_allocator_block block)
{
    uint32_t number = allocator->unused;
    if (number != RT_NO_BLOCK) {
        allocator->unused = allocator->blocks[number].after;
    } else {
        RT_GROW(allocator->blocks, allocator->block_count, 1, allocator->block_capacity);
        number = allocator->block_count++;
    }
    allocator->blocks[number] = block;
    return number;
}

static void drop_block(struct rt_allocator *allocator, uint32_t number)
{
    allocator->blocks[number].after = allocator->unused;
    allocator->unused = number;
}

/* --- free blocks --- */

static bool comes_before(const struct rt_allocator_block *a, double size, double address)
{
    return a->size < size || (a->size == size && a->address < address);
}

/* Of the first block that is not smaller; as many as there are where none is. */
static size_t place_of(const struct rt_allocator *allocator, int pool, double size, double address)
{
    const struct rt_allocator_pool *in = &allocator->pools[pool];
    size_t low = 0, high = in->count;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (comes_before(&allocator->blocks[in->blocks[middle]], size, address))
            low = middle + 1;
        else
            high = middle;
    }
    return low;
}

static bool is_whole(const struct rt_allocator_block *block)
{
    return block->before == RT_NO_BLOCK && block->after == RT_NO_BLOCK;
}

static void add_free(struct rt_allocator *allocator, uint32_t number)
{
    const struct rt_allocator_block *block = &allocator->blocks[number];
    struct rt_allocator_pool *pool = &allocator->pools[block->pool];
    size_t at = place_of(allocator, block->pool, block->size, block->address);
    allocator->whole += is_whole(block);
    RT_GROW(pool->blocks, pool->count, 1, pool->capacity);
    memmove(pool->blocks + at + 1, pool->blocks + at, (pool->count++ - at) * sizeof *pool->blocks);
    pool->blocks[at] = number;
}

static void take_free(struct rt_allocator *allocator, int pool, size_t at)
{
    struct rt_allocator_pool *of = &allocator->pools[pool];
    allocator->whole -= is_whole(&allocator->blocks[of->blocks[at]]);
    memmove(of->blocks + at, of->blocks + at + 1, (--of->count - at) * sizeof *of->blocks);
}

static void remove_free(struct rt_allocator *allocator, uint32_t number)
{
    const struct rt_allocator_block *block = &allocator->blocks[number];
    take_free(allocator, block->pool, place_of(allocator, block->pool, block->size, block->address));
}

/* --- segments --- */

/* Those that are wholly free; from the largest, as their numbers are used again. */
static void give_back(struct rt_allocator *allocator)
{
    for (int pool = 0; pool < 2; pool++)
        for (size_t at = allocator->pools[pool].count; at-- > 0 && allocator->whole > 0;) {
            uint32_t number = allocator->pools[pool].blocks[at];
            if (!is_whole(&allocator->blocks[number]))
                continue;
            allocator->reserved -= allocator->blocks[number].size;
            take_free(allocator, pool, at);
            drop_block(allocator, number);
        }
}

static uint32_t new_segment(struct rt_allocator *allocator, double size)
{
    int pool = size <= small ? 0 : 1;
    double bytes = pool == 0      ? small_segment
                   : size < large ? large_segment
                                  : large_unit * ceil(size / large_unit);
    if (allocator->reserved + bytes > allocator->limit)
        give_back(allocator);
    allocator->full |= allocator->reserved + bytes > allocator->limit;
    allocator->reserved += bytes;
    allocator->most_reserved = fmax(allocator->most_reserved, allocator->reserved);
    struct rt_allocator_block block = {.address = allocator->next_address,
                                       .size = bytes,
                                       .before = RT_NO_BLOCK,
                                       .after = RT_NO_BLOCK,
                                       .pool = (uint8_t)pool};
    allocator->next_address += bytes;
    return new_block(allocator, block);
}

/* --- requests --- */

static void split(struct rt_allocator *allocator, uint32_t number, double size)
{
    struct rt_allocator_block *block = &allocator->blocks[number];
    double left = block->size - size;
    if (block->pool == 0 ? left < unit : left <= small)
        return;
    struct rt_allocator_block rest = *block;
    rest.address += size;
    rest.size = left;
    rest.before = number;
    uint32_t added = new_block(allocator, rest);
    block = &allocator->blocks[number]; /* may have moved */
    if (block->after != RT_NO_BLOCK)
        allocator->blocks[block->after].before = added;
    block->after = added;
    block->size = size;
    add_free(allocator, added);
}

uint32_t rt_allocator_make(struct rt_allocator *allocator, double bytes)
{
    if (!(bytes > 0))
        return RT_NO_BLOCK;
    double size = unit * ceil(bytes / unit);
    int pool = size <= small ? 0 : 1;
    size_t place = place_of(allocator, pool, size, 0);
    uint32_t number;
    if (place < allocator->pools[pool].count) {
        number = allocator->pools[pool].blocks[place];
        take_free(allocator, pool, place);
    } else {
        number = new_segment(allocator, size);
    }
    split(allocator, number, size);
    allocator->blocks[number].used = true;
    allocator->allocated += allocator->blocks[number].size;
    allocator->most_allocated = fmax(allocator->most_allocated, allocator->allocated);
    return number;
}

void rt_allocator_place(const struct rt_allocator *allocator, uint32_t block, double place[2])
{
    place[0] = allocator->blocks[block].address;
    place[1] = allocator->blocks[block].size;
}

/* `number` takes in the block behind it. */
static void join(struct rt_allocator *allocator, uint32_t number, uint32_t behind)
{
    struct rt_allocator_block *block = &allocator->blocks[number];
    block->size += allocator->blocks[behind].size;
    block->after = allocator->blocks[behind].after;
    if (block->after != RT_NO_BLOCK)
        allocator->blocks[block->after].before = number;
    drop_block(allocator, behind);
}

void rt_allocator_free(struct rt_allocator *allocator, uint32_t number)
{
    if (number == RT_NO_BLOCK)
        return;
    struct rt_allocator_block *block = &allocator->blocks[number];
    uint32_t before = block->before, after = block->after;
    allocator->allocated -= block->size;
    block->used = false;
    if (after != RT_NO_BLOCK && !allocator->blocks[after].used) {
        remove_free(allocator, after);
        join(allocator, number, after);
    }
    if (before != RT_NO_BLOCK && !allocator->blocks[before].used) {
        remove_free(allocator, before);
        join(allocator, before, number);
        number = before;
    }
    add_free(allocator, number);
}
