/* The sequences that decode. See decoding.h. */
#include "predict/serving/decoding.h"
#include "base/status.h"

#include <stdlib.h>

void rt_decoding_init(struct rt_decoding *decoding, int64_t block)
{
    *decoding = (struct rt_decoding){.block = block};
    decoding->remainder = rt_calloc((size_t)block, sizeof *decoding->remainder);
}

void rt_decoding_release(struct rt_decoding *decoding)
{
    free(decoding->remainder);
    free(decoding->heap);
    free(decoding->joined);
    *decoding = (struct rt_decoding){0};
}

static int64_t remainder_of(const struct rt_decoding *decoding, int64_t base)
{
    int64_t remainder = base % decoding->block;
    return remainder < 0 ? remainder + decoding->block : remainder;
}

/* ---- a binary heap by `until` ---- */

static void put(struct rt_decoding *decoding, struct rt_lives *lives, size_t place, uint32_t request)
{
    decoding->heap[place] = request;
    lives->live[request].place = (uint32_t)place;
}

static void sift_up(struct rt_decoding *decoding, struct rt_lives *lives, size_t place, uint32_t request)
{
    while (place > 0) {
        uint32_t above = decoding->heap[(place - 1) / 2];
        if (lives->live[above].until <= lives->live[request].until)
            break;
        put(decoding, lives, place, above);
        place = (place - 1) / 2;
    }
    put(decoding, lives, place, request);
}

static void sift_down(struct rt_decoding *decoding, struct rt_lives *lives, size_t place, uint32_t request)
{
    size_t count = (size_t)decoding->count, child;
    while ((child = 2 * place + 1) < count) {
        const uint32_t *heap = decoding->heap;
        child += child + 1 < count && lives->live[heap[child + 1]].until < lives->live[heap[child]].until;
        if (lives->live[request].until <= lives->live[heap[child]].until)
            break;
        put(decoding, lives, place, heap[child]);
        place = child;
    }
    put(decoding, lives, place, request);
}

static void take_out(struct rt_decoding *decoding, struct rt_lives *lives, uint32_t request)
{
    struct rt_live *live = &lives->live[request];
    size_t place = live->place;
    uint32_t last = decoding->heap[--decoding->count];
    decoding->context -= (double)rt_decoding_tokens(decoding, live);
    decoding->remainder[remainder_of(decoding, live->base)]--;
    if (last == request)
        return;
    sift_down(decoding, lives, place, last);
    sift_up(decoding, lives, lives->live[last].place, last);
}

/* ---- sequences ---- */

static void *grown(void *array, size_t *capacity, size_t count, size_t size)
{
    if (count < *capacity)
        return array;
    *capacity = 2 * *capacity + 64;
    return rt_realloc(array, *capacity, size);
}

void rt_decoding_add(struct rt_decoding *decoding, struct rt_lives *lives, uint32_t request, int64_t tokens)
{
    struct rt_live *live = &lives->live[request];
    live->base = tokens - decoding->steps;
    live->until = decoding->steps + live->output - live->made;
    decoding->remainder[remainder_of(decoding, live->base)]++;
    decoding->context += (double)tokens;
    decoding->heap =
        grown(decoding->heap, &decoding->heap_capacity, (size_t)decoding->count, sizeof *decoding->heap);
    sift_up(decoding, lives, (size_t)decoding->count++, request);
    decoding->joined =
        grown(decoding->joined, &decoding->joined_capacity, decoding->joined_count, sizeof *decoding->joined);
    decoding->joined[decoding->joined_count++] = request;
}

void rt_decoding_remove(struct rt_decoding *decoding, struct rt_lives *lives, uint32_t request)
{
    struct rt_live *live = &lives->live[request];
    live->made = (int32_t)(live->output - (live->until - decoding->steps));
    take_out(decoding, lives, request);
    for (size_t j = 0; j < decoding->joined_count; j++)
        if (decoding->joined[j] == request)
            decoding->joined[j--] = decoding->joined[--decoding->joined_count];
}

uint32_t rt_decoding_answered(struct rt_decoding *decoding, struct rt_lives *lives)
{
    if (decoding->count == 0 || lives->live[decoding->heap[0]].until > decoding->steps)
        return RT_NOBODY;
    uint32_t request = decoding->heap[0];
    lives->live[request].made = lives->live[request].output;
    take_out(decoding, lives, request);
    return request;
}

int64_t rt_decoding_tokens(const struct rt_decoding *decoding, const struct rt_live *live)
{
    return live->base + decoding->steps;
}

int64_t rt_decoding_until(const struct rt_decoding *decoding, const struct rt_lives *lives)
{
    return lives->live[decoding->heap[0]].until - decoding->steps;
}

/* Of the step after so many more: a sequence whose tokens fill its blocks needs one. */
static int64_t blocks_of_step(const struct rt_decoding *decoding, int64_t after)
{
    return decoding->remainder[remainder_of(decoding, -(decoding->steps + after))];
}

int64_t rt_decoding_blocks(const struct rt_decoding *decoding, int64_t steps)
{
    int64_t blocks = steps / decoding->block * decoding->count;
    for (int64_t i = 0; i < steps % decoding->block; i++)
        blocks += blocks_of_step(decoding, i);
    return blocks;
}

int64_t rt_decoding_room(const struct rt_decoding *decoding, int64_t room, int64_t most)
{
    int64_t rounds = decoding->count > 0 ? room / decoding->count : most;
    if (rounds >= most / decoding->block + 1)
        return most;
    int64_t steps = rounds * decoding->block;
    room -= rounds * decoding->count;
    while (steps < most && (room -= blocks_of_step(decoding, steps)) >= 0)
        steps++;
    return steps;
}

void rt_decoding_advance(struct rt_decoding *decoding, int64_t steps)
{
    decoding->steps += steps;
    decoding->context += (double)steps * (double)decoding->count;
    decoding->joined_count = 0;
}
