/*
 * A set of indices into an array of the caller's, found by a hash of the elements: is an equal element there
 * already? Open addressing, at most half full. Slots keep 32 bits of the hash, so that the set grows without
 * the elements and compares few of them.
 *
 *     struct rt_hash_set seen = {0};
 *     for (size_t i = 0; i < count; i++)
 *         equal += rt_hash_set_add_bytes(&seen, elements, sizeof *elements, i) >= 0;
 *     rt_hash_set_release(&seen);
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* An empty set is {0}. */
struct rt_hash_set {
    struct rt_hash_slot {
        uint32_t index1, tag; /* 1 + index, 0: empty; the low bits of the hash */
    } * slot;
    size_t slots, count; /* slots: a power of 2, or 0 */
};
void rt_hash_set_release(struct rt_hash_set *set);

/* Room for `more` elements. */
void rt_hash_set_reserve(struct rt_hash_set *set, size_t more);

/* Eight bytes a step; not kept in files. */
uint64_t rt_hash_words(const void *bytes, size_t size);

/* Is the element of that index the one that is looked for, which `context` knows? */
typedef bool rt_hash_same(const void *context, uint32_t index);

/* The slot of the element, or the empty one where it belongs. The set must have slots. Inline, so that `same`
 * is, too. */
static inline struct rt_hash_slot *rt_hash_set_slot(const struct rt_hash_set *set, uint64_t hash,
                                                    rt_hash_same *same, const void *context)
{
    uint32_t tag = (uint32_t)hash;
    size_t mask = set->slots - 1, at = tag & mask;
    while (set->slot[at].index1 != 0 &&
           (set->slot[at].tag != tag || !same(context, set->slot[at].index1 - 1)))
        at = (at + 1) & mask;
    return &set->slot[at];
}

/* The index of an equal element; -1: none. */
static inline int64_t rt_hash_set_find(const struct rt_hash_set *set, uint64_t hash, rt_hash_same *same,
                                       const void *context)
{
    return set->slots == 0 ? -1 : (int64_t)rt_hash_set_slot(set, hash, same, context)->index1 - 1;
}

/* The index of an equal element that was there; -1: none, and now `index` is there. */
static inline int64_t rt_hash_set_add(struct rt_hash_set *set, uint64_t hash, rt_hash_same *same,
                                      const void *context, size_t index)
{
    if (2 * (set->count + 1) > set->slots)
        rt_hash_set_reserve(set, 1);
    struct rt_hash_slot *slot = rt_hash_set_slot(set, hash, same, context);
    if (slot->index1 != 0)
        return (int64_t)slot->index1 - 1;
    *slot = (struct rt_hash_slot){(uint32_t)index + 1, (uint32_t)hash};
    set->count++;
    return -1;
}

/* Fetches the first slot of a hash before it is needed. */
static inline void rt_hash_set_prefetch(const struct rt_hash_set *set, uint64_t hash)
{
    __builtin_prefetch(&set->slot[(uint32_t)hash & (set->slots - 1)], 1);
}

/* rt_hash_set_add and _find for structs in an array, equal where all their `size` bytes are. */
int64_t rt_hash_set_add_bytes(struct rt_hash_set *set, const void *elements, size_t size, size_t index);
int64_t rt_hash_set_find_bytes(const struct rt_hash_set *set, const void *elements, size_t size,
                               const void *element);
