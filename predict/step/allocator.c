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
    for (int pool = 0; pool < 2; pool++) {
        for (size_t run = 0; run < allocator->pools[pool].count; run++)
            free(allocator->pools[pool].runs[run]);
        free(allocator->pools[pool].runs);
    }
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

/* Runs of sorted blocks: adding and taking one moves no more than a run, however many blocks are free. */
enum { RUN = 256 };
struct rt_allocator_run {
    size_t count; /* above 0 */
    uint32_t blocks[RUN];
};
struct place {
    size_t run, at; /* run: as many as there are where none is meant */
};

/* The first block that is not smaller. */
static struct place place_of(const struct rt_allocator *allocator, int pool, double size, double address)
{
    const struct rt_allocator_pool *in = &allocator->pools[pool];
    size_t low = 0, high = in->count;
    while (low < high) { /* the first run that ends in such a block */
        size_t middle = (low + high) / 2;
        const struct rt_allocator_run *run = in->runs[middle];
        if (comes_before(&allocator->blocks[run->blocks[run->count - 1]], size, address))
            low = middle + 1;
        else
            high = middle;
    }
    struct place place = {low, 0};
    size_t end = low < in->count ? in->runs[low]->count : 0;
    while (place.at < end) {
        size_t middle = (place.at + end) / 2;
        if (comes_before(&allocator->blocks[in->runs[low]->blocks[middle]], size, address))
            place.at = middle + 1;
        else
            end = middle;
    }
    return place;
}

static bool is_whole(const struct rt_allocator_block *block)
{
    return block->before == RT_NO_BLOCK && block->after == RT_NO_BLOCK;
}

/* A run at that place, with `count` blocks. */
static void insert_run(struct rt_allocator_pool *pool, size_t at, const uint32_t *blocks, size_t count)
{
    struct rt_allocator_run *run = rt_malloc(sizeof *run);
    run->count = count;
    memcpy(run->blocks, blocks, count * sizeof *blocks);
    RT_GROW(pool->runs, pool->count, 1, pool->capacity);
    memmove(pool->runs + at + 1, pool->runs + at, (pool->count - at) * sizeof *pool->runs);
    pool->runs[at] = run;
    pool->count++;
}

/* The same place where there is room: behind the last block, or in the half of a run that is parted. */
static struct place make_room(struct rt_allocator_pool *pool, struct place place)
{
    if (place.run == pool->count) {
        place.run--;
        place.at = pool->runs[place.run]->count;
    }
    struct rt_allocator_run *run = pool->runs[place.run];
    if (run->count < RUN)
        return place;
    run->count = RUN / 2;
    insert_run(pool, place.run + 1, run->blocks + RUN / 2, RUN / 2);
    return place.at <= RUN / 2 ? place : (struct place){place.run + 1, place.at - RUN / 2};
}

static void add_free(struct rt_allocator *allocator, uint32_t number)
{
    const struct rt_allocator_block *block = &allocator->blocks[number];
    struct rt_allocator_pool *pool = &allocator->pools[block->pool];
    struct place place = place_of(allocator, block->pool, block->size, block->address);
    allocator->whole += is_whole(block);
    if (pool->count == 0) {
        insert_run(pool, 0, &number, 1);
        return;
    }
    place = make_room(pool, place);
    struct rt_allocator_run *run = pool->runs[place.run];
    memmove(run->blocks + place.at + 1, run->blocks + place.at,
            (run->count - place.at) * sizeof *run->blocks);
    run->blocks[place.at] = number;
    run->count++;
}

static void take_free(struct rt_allocator *allocator, int pool, struct place place)
{
    struct rt_allocator_pool *of = &allocator->pools[pool];
    struct rt_allocator_run *run = of->runs[place.run];
    allocator->whole -= is_whole(&allocator->blocks[run->blocks[place.at]]);
    run->count--;
    memmove(run->blocks + place.at, run->blocks + place.at + 1,
            (run->count - place.at) * sizeof *run->blocks);
    if (run->count > 0)
        return;
    free(run);
    of->count--;
    memmove(of->runs + place.run, of->runs + place.run + 1, (of->count - place.run) * sizeof *of->runs);
}

static void remove_free(struct rt_allocator *allocator, uint32_t number)
{
    const struct rt_allocator_block *block = &allocator->blocks[number];
    take_free(allocator, block->pool, place_of(allocator, block->pool, block->size, block->address));
}

/* --- segments --- */

static void give_back_run(struct rt_allocator *allocator, int pool, size_t run)
{
    for (size_t i = allocator->pools[pool].runs[run]->count; i-- > 0;) {
        uint32_t number = allocator->pools[pool].runs[run]->blocks[i];
        const struct rt_allocator_block *block = &allocator->blocks[number];
        if (!is_whole(block))
            continue;
        allocator->reserved -= block->size;
        take_free(allocator, pool, (struct place){run, i}); /* the last of a run ends the loop, too */
        drop_block(allocator, number);
    }
}

static void give_back(struct rt_allocator *allocator)
{
    for (int pool = 0; pool < 2; pool++)
        for (size_t run = allocator->pools[pool].count; run-- > 0 && allocator->whole > 0;)
            give_back_run(allocator, pool, run);
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
    struct place place = place_of(allocator, pool, size, 0);
    uint32_t number;
    if (place.run < allocator->pools[pool].count) {
        number = allocator->pools[pool].runs[place.run]->blocks[place.at];
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
