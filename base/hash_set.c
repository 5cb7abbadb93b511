/* Sets of indices. See hash_set.h. */
#include "base/hash_set.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

void rt_hash_set_release(struct rt_hash_set *set)
{
    free(set->slot);
    *set = (struct rt_hash_set){0};
}

void rt_hash_set_reserve(struct rt_hash_set *set, size_t more)
{
    size_t slots = set->slots > 0 ? set->slots : 64;
    while (slots < 2 * (set->count + more))
        slots *= 2;
    if (slots == set->slots)
        return;
    struct rt_hash_set larger = {.slots = slots, .count = set->count};
    /* Written before it is read: reading fresh memory maps the zero page, and then every page faults twice.
     */
    larger.slot = rt_malloc(slots * sizeof *larger.slot);
    memset(larger.slot, 0, slots * sizeof *larger.slot);
    for (size_t i = 0; i < set->slots; i++) {
        if (set->slot[i].index1 == 0)
            continue;
        size_t at = set->slot[i].tag & (slots - 1);
        while (larger.slot[at].index1 != 0)
            at = (at + 1) & (slots - 1);
        larger.slot[at] = set->slot[i];
    }
    free(set->slot);
    *set = larger;
}

uint64_t rt_hash_words(const void *bytes, size_t size)
{
    const char *at = bytes;
    uint64_t hash = size * 0x9e3779b97f4a7c15u, word;
    for (; size >= 8; at += 8, size -= 8) {
        memcpy(&word, at, 8);
        hash = (hash ^ word) * 0xff51afd7ed558ccdu;
        hash ^= hash >> 32;
    }
    word = 0;
    memcpy(&word, at, size);
    hash = (hash ^ word) * 0xff51afd7ed558ccdu;
    return hash ^ hash >> 29;
}

struct element {
    const char *elements, *element;
    size_t size;
};

static bool same_bytes(const void *context, uint32_t index)
{
    const struct element *looked_for = context;
    return memcmp(looked_for->elements + index * looked_for->size, looked_for->element, looked_for->size) ==
           0;
}

int64_t rt_hash_set_find_bytes(const struct rt_hash_set *set, const void *elements, size_t size,
                               const void *element)
{
    struct element looked_for = {elements, element, size};
    return rt_hash_set_find(set, rt_hash_words(element, size), same_bytes, &looked_for);
}

int64_t rt_hash_set_add_bytes(struct rt_hash_set *set, const void *elements, size_t size, size_t index)
{
    struct element looked_for = {elements, (const char *)elements + index * size, size};
    return rt_hash_set_add(set, rt_hash_words(looked_for.element, size), same_bytes, &looked_for, index);
}
