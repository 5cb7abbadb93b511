/* Requests that are not answered yet. See requests.h. */
#include "predict/serving/requests.h"
#include "base/array.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>

uint32_t rt_lives_new(struct rt_lives *lives)
{
    uint32_t request = lives->empty;
    if (request != RT_NOBODY) {
        lives->empty = lives->live[request].next;
    } else {
        RT_GROW(lives->live, lives->count, 1, lives->capacity);
        request = lives->count++;
    }
    lives->live[request] = (struct rt_live){.began_us = NAN, .first_us = NAN, .group = RT_NO_GROUP};
    return request;
}

void rt_lives_drop(struct rt_lives *lives, uint32_t request)
{
    lives->live[request].next = lives->empty;
    lives->empty = request;
}

void rt_lives_release(struct rt_lives *lives)
{
    free(lives->live);
    *lives = (struct rt_lives){.empty = RT_NOBODY};
}

static void join(struct rt_request_list *list, struct rt_lives *lives, uint32_t before, uint32_t after)
{
    *(before != RT_NOBODY ? &lives->live[before].next : &list->first) = after;
    *(after != RT_NOBODY ? &lives->live[after].previous : &list->last) = before;
}

void rt_requests_append(struct rt_request_list *list, struct rt_lives *lives, uint32_t request)
{
    uint32_t last = list->last;
    join(list, lives, last, request);
    join(list, lives, request, RT_NOBODY);
    list->count++;
}

void rt_requests_prepend(struct rt_request_list *list, struct rt_lives *lives, uint32_t request)
{
    uint32_t first = list->first;
    join(list, lives, request, first);
    join(list, lives, RT_NOBODY, request);
    list->count++;
}

void rt_requests_remove(struct rt_request_list *list, struct rt_lives *lives, uint32_t request)
{
    join(list, lives, lives->live[request].previous, lives->live[request].next);
    list->count--;
}

void rt_requests_queue(struct rt_request_list *list, struct rt_lives *lives, uint32_t request)
{
    const struct rt_live *live = lives->live;
    uint32_t before = list->last; /* that it comes behind */
    while (before != RT_NOBODY && live[before].priority > live[request].priority)
        before = live[before].previous;
    uint32_t after = before != RT_NOBODY ? live[before].next : list->first;
    join(list, lives, before, request);
    join(list, lives, request, after);
    list->count++;
}

uint32_t rt_requests_pop(struct rt_request_list *list, struct rt_lives *lives)
{
    uint32_t first = list->first;
    if (first != RT_NOBODY)
        rt_requests_remove(list, lives, first);
    return first;
}

/* ---- those that decode ---- */

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

static void sift_up(struct rt_decoding *decoding, size_t place, struct rt_decoding_entry entry)
{
    struct rt_decoding_entry *heap = decoding->heap;
    for (; place > 0 && heap[(place - 1) / 2].until > entry.until; place = (place - 1) / 2)
        heap[place] = heap[(place - 1) / 2];
    heap[place] = entry;
}

static void sift_down(struct rt_decoding *decoding, size_t place, struct rt_decoding_entry entry)
{
    struct rt_decoding_entry *heap = decoding->heap;
    size_t count = (size_t)decoding->count, child;
    while ((child = 2 * place + 1) < count) {
        child += child + 1 < count && heap[child + 1].until < heap[child].until;
        if (entry.until <= heap[child].until)
            break;
        heap[place] = heap[child];
        place = child;
    }
    heap[place] = entry;
}

static void take_out(struct rt_decoding *decoding, const struct rt_live *live, size_t place)
{
    struct rt_decoding_entry last = decoding->heap[--decoding->count];
    decoding->context -= (double)rt_decoding_tokens(decoding, live);
    decoding->remainder[remainder_of(decoding, live->base)]--;
    if (place == (size_t)decoding->count)
        return;
    bool above = place > 0 && decoding->heap[(place - 1) / 2].until > last.until;
    above ? sift_up(decoding, place, last) : sift_down(decoding, place, last);
}

/* ---- sequences ---- */

void rt_decoding_add(struct rt_decoding *decoding, struct rt_lives *lives, uint32_t request, int64_t tokens)
{
    struct rt_live *live = &lives->live[request];
    live->base = tokens - decoding->steps;
    live->until = decoding->steps + live->output - live->made;
    decoding->remainder[remainder_of(decoding, live->base)]++;
    decoding->context += (double)tokens;
    RT_GROW(decoding->heap, (size_t)decoding->count, 1, decoding->heap_capacity);
    sift_up(decoding, (size_t)decoding->count++, (struct rt_decoding_entry){live->until, request});
    RT_GROW(decoding->joined, decoding->joined_count, 1, decoding->joined_capacity);
    decoding->joined[decoding->joined_count++] = request;
}

void rt_decoding_remove(struct rt_decoding *decoding, struct rt_lives *lives, uint32_t request)
{
    struct rt_live *live = &lives->live[request];
    size_t place = 0;
    while (decoding->heap[place].request != request)
        place++;
    live->made = (int32_t)(live->output - (live->until - decoding->steps));
    take_out(decoding, live, place);
    for (size_t j = 0; j < decoding->joined_count; j++)
        if (decoding->joined[j] == request)
            decoding->joined[j--] = decoding->joined[--decoding->joined_count];
}

uint32_t rt_decoding_answered(struct rt_decoding *decoding, struct rt_lives *lives)
{
    if (decoding->count == 0 || decoding->heap[0].until > decoding->steps)
        return RT_NOBODY;
    uint32_t request = decoding->heap[0].request;
    lives->live[request].made = lives->live[request].output;
    take_out(decoding, &lives->live[request], 0);
    return request;
}

int64_t rt_decoding_tokens(const struct rt_decoding *decoding, const struct rt_live *live)
{
    return live->base + decoding->steps;
}

int64_t rt_decoding_until(const struct rt_decoding *decoding)
{
    return decoding->heap[0].until - decoding->steps;
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
