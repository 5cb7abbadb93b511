/*
 * Prefixes that stay in the cache for later requests of their group: whole blocks, used by as many requests
 * as there are, and given up from the longest unused on where room is needed. A group's blocks go from the
 * end of its prefix, as those of vLLM and SGLang do.
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct rt_prefix {
    int32_t group;
    uint32_t next;         /* of the same bucket, or of those without content */
    uint32_t older, newer; /* of those that nobody uses */
    int64_t blocks, users;
};

/* Starts as {0}. */
struct rt_prefix_cache {
    struct rt_prefix *prefix; /* the first is no prefix, it holds both ends of the unused ones */
    uint32_t *bucket;
    size_t count, capacity, buckets;
    uint32_t empty;       /* prefixes without content */
    int64_t used, unused; /* blocks of prefixes with users and without */
};

/* Blocks of a group's prefix that are there, at most `most`; the caller uses them until rt_prefix_leave. 0:
 * none, and nothing to leave. */
int64_t rt_prefix_use(struct rt_prefix_cache *cache, int32_t group, int64_t most);

/* A request holds `blocks` of its group's prefix: those beyond what is there become the cache's. Returns how
 * many. The request uses the prefix from then on; `uses` says whether it did before. */
int64_t rt_prefix_publish(struct rt_prefix_cache *cache, int32_t group, int64_t blocks, int uses);

void rt_prefix_leave(struct rt_prefix_cache *cache, int32_t group);

/* Gives up unused blocks. */
void rt_prefix_evict(struct rt_prefix_cache *cache, int64_t blocks);

void rt_prefix_cache_release(struct rt_prefix_cache *cache);
