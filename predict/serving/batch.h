/* What runs in one step of a server, and what says how long it takes. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* Tokens of one prompt that are computed, behind those that are in the cache. */
struct rt_serve_chunk {
    int64_t tokens, cached;
    bool first; /* of its prompt: the tower encodes the prompt's images in its step */
};

struct rt_serve_batch {
    int64_t decodes; /* sequences that get one token each */
    int64_t padded;  /* of a step that only decodes: what its CUDA graph was captured for; 0: none, launches
                        one  by one. 0 beside chunks */
    int64_t drafted; /* tokens that each of the decodes checks beside its own (speculation.h) */
    double context;  /* of the decodes: all tokens in their caches together */
    const struct rt_serve_chunk *chunks;
    size_t chunk_count;
};

/* What a step's time is spent on. */
enum rt_serve_part {
    RT_SERVE_PRODUCTS,
    RT_SERVE_ATTENTION,
    RT_SERVE_OTHER_KERNELS,
    RT_SERVE_COLLECTIVES,
    RT_SERVE_HOST, /* between kernels: scheduling, sampling, launches that the GPU waits for */
    RT_SERVE_PARTS
};

/* More tokens or more context never take less. Between kinks the time is linear in `context`. */
struct rt_serve_costs {
    double (*step_us)(const void *context, const struct rt_serve_batch *batch);
    /* What of the step goes where; adds up to step_us. NULL: not known. */
    void (*parts_us)(const void *context, const struct rt_serve_batch *batch, double parts[RT_SERVE_PARTS]);
    const void *context;
};
