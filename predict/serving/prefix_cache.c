/* Prefixes that requests share. See prefix_cache.h. */
#include "predict/serving/prefix_cache.h"
#include "base/status.h"

#include <stdlib.h>
#include <string.h>

static size_t bucket_of(const struct rt_prefix_cache *cache, int32_t group)
{
    return (uint64_t)(uint32_t)group * 0x9e3779b97f4a7c15u >> 32 & (cache->buckets - 1);
}

static uint32_t find(const struct rt_prefix_cache *cache, int32_t group)
{
    uint32_t p = cache->buckets > 0 ? cache->bucket[bucket_of(cache, group)] : 0;
    while (p != 0 && cache->prefix[p].group != group)
        p = cache->prefix[p].next;
    return p;
}

/* ---- the list of unused prefixes: prefix[0].newer is the oldest, prefix[0].older the newest ---- */

static void list_remove(struct rt_prefix_cache *cache, uint32_t p)
{
    struct rt_prefix *prefix = &cache->prefix[p];
    cache->prefix[prefix->older].newer = prefix->newer;
    cache->prefix[prefix->newer].older = prefix->older;
}

static void list_append(struct rt_prefix_cache *cache, uint32_t p)
{
    cache->prefix[p].newer = 0;
    cache->prefix[p].older = cache->prefix[0].older;
    cache->prefix[cache->prefix[0].older].newer = p;
    cache->prefix[0].older = p;
}

/* ---- the table ---- */

static void grow(struct rt_prefix_cache *cache)
{
    cache->buckets = cache->buckets > 0 ? 2 * cache->buckets : 64;
    cache->capacity = cache->buckets + 1;
    cache->prefix = rt_realloc(cache->prefix, cache->capacity, sizeof *cache->prefix);
    if (cache->count == 0)
        cache->prefix[cache->count++] = (struct rt_prefix){.group = -1};
    cache->bucket = rt_realloc(cache->bucket, cache->buckets, sizeof *cache->bucket);
    memset(cache->bucket, 0, cache->buckets * sizeof *cache->bucket);
    for (uint32_t p = 1; p < cache->count; p++) { /* all have content: else one of them would be taken */
        uint32_t *bucket = &cache->bucket[bucket_of(cache, cache->prefix[p].group)];
        cache->prefix[p].next = *bucket;
        *bucket = p;
    }
}

static uint32_t insert(struct rt_prefix_cache *cache, int32_t group)
{
    uint32_t p = cache->empty;
    if (p != 0) {
        cache->empty = cache->prefix[p].next;
    } else {
        if (cache->count == cache->capacity)
            grow(cache);
        p = (uint32_t)cache->count++;
    }
    uint32_t *bucket = &cache->bucket[bucket_of(cache, group)];
    cache->prefix[p] = (struct rt_prefix){.group = group, .next = *bucket};
    *bucket = p;
    return p;
}

static void remove_prefix(struct rt_prefix_cache *cache, uint32_t p)
{
    uint32_t *at = &cache->bucket[bucket_of(cache, cache->prefix[p].group)];
    while (*at != p)
        at = &cache->prefix[*at].next;
    *at = cache->prefix[p].next;
    cache->prefix[p].next = cache->empty;
    cache->empty = p;
}

/* ---- use ---- */

static void take(struct rt_prefix_cache *cache, uint32_t p)
{
    struct rt_prefix *prefix = &cache->prefix[p];
    if (prefix->users++ > 0)
        return;
    list_remove(cache, p);
    cache->unused -= prefix->blocks;
    cache->used += prefix->blocks;
}

int64_t rt_prefix_use(struct rt_prefix_cache *cache, int32_t group, int64_t most)
{
    uint32_t p = most > 0 ? find(cache, group) : 0;
    if (p == 0)
        return 0;
    take(cache, p);
    return cache->prefix[p].blocks < most ? cache->prefix[p].blocks : most;
}

int64_t rt_prefix_publish(struct rt_prefix_cache *cache, int32_t group, int64_t blocks, int uses)
{
    uint32_t p = find(cache, group);
    if (p == 0) {
        p = insert(cache, group);
        cache->prefix[p].users = 1;
    } else if (!uses) {
        take(cache, p);
    }
    struct rt_prefix *prefix = &cache->prefix[p];
    int64_t more = blocks > prefix->blocks ? blocks - prefix->blocks : 0;
    prefix->blocks += more;
    cache->used += more;
    return more;
}

void rt_prefix_leave(struct rt_prefix_cache *cache, int32_t group)
{
    uint32_t p = find(cache, group);
    struct rt_prefix *prefix = &cache->prefix[p];
    if (--prefix->users > 0)
        return;
    list_append(cache, p);
    cache->used -= prefix->blocks;
    cache->unused += prefix->blocks;
}

void rt_prefix_evict(struct rt_prefix_cache *cache, int64_t blocks)
{
    while (blocks > 0 && cache->unused > 0) {
        uint32_t p = cache->prefix[0].newer;
        struct rt_prefix *prefix = &cache->prefix[p];
        int64_t gone = prefix->blocks < blocks ? prefix->blocks : blocks;
        prefix->blocks -= gone;
        cache->unused -= gone;
        blocks -= gone;
        if (prefix->blocks == 0) {
            list_remove(cache, p);
            remove_prefix(cache, p);
        }
    }
}

void rt_prefix_cache_release(struct rt_prefix_cache *cache)
{
    free(cache->prefix);
    free(cache->bucket);
    *cache = (struct rt_prefix_cache){0};
}
