/* Requests that are not answered yet: lists of them, and those that decode. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RT_NOBODY UINT32_MAX

/* What a request has of a cache, in blocks. */
struct rt_kv_allocation {
    int64_t full;     /* of its own at its end */
    int32_t shared;   /* of its prefix, which belong to the cache */
    int32_t loaded;   /* of its prefix, which came back from the host's memory */
    int32_t hashes;   /* of its prompt's hashes that it uses */
    bool uses_prefix; /* and stay while it does */
};

enum { RT_NO_GROUP = -1 }; /* below it: a request's own, which was preempted */

struct rt_live {
    double sent_us, began_us, first_us; /* began: its first chunk; NaN: not yet. first: its first token */
    double last_us;      /* of its tokens, the last that came outside a step of all that decode */
    int64_t id;          /* of the load, from 0 */
    int64_t base, until; /* decoding: tokens in the cache less the steps so far; its last step */
    struct rt_kv_allocation room, behind; /* behind: disaggregated, where its prompt was computed */
    int32_t input, output, made;          /* tokens; made: of the output, before it decodes */
    int32_t done;                         /* of input + made: computed so far */
    int32_t group, prefix, priority;      /* prefix: its tokens; priority: the least goes first */
    const int32_t *hash; /* (hashes) of its prompt (struct rt_serve_trace); NULL: it has a group */
    int32_t hashes;
    bool remote;             /* its prompt was computed by another group */
    uint32_t next, previous; /* in a list */
    uint32_t source, target; /* replicas: that computed its prompt; that its cache moves to */
};

/* All of them; numbers stay valid, pointers do not. Starts as {.empty = RT_NOBODY}. */
struct rt_lives {
    struct rt_live *live;
    uint32_t count, empty; /* empty: the first that is free, by `next` */
    size_t capacity;
    bool prioritised; /* some have a priority */
};
uint32_t rt_lives_new(struct rt_lives *lives);
void rt_lives_drop(struct rt_lives *lives, uint32_t request);
void rt_lives_release(struct rt_lives *lives);

struct rt_request_list {
    uint32_t first, last;
    size_t count;
};
#define RT_NO_REQUESTS ((struct rt_request_list){RT_NOBODY, RT_NOBODY, 0})

void rt_requests_append(struct rt_request_list *list, struct rt_lives *lives, uint32_t request);
void rt_requests_prepend(struct rt_request_list *list, struct rt_lives *lives, uint32_t request);
/* Behind those of its priority and of lesser numbers. */
void rt_requests_queue(struct rt_request_list *list, struct rt_lives *lives, uint32_t request);
void rt_requests_remove(struct rt_request_list *list, struct rt_lives *lives, uint32_t request);
uint32_t rt_requests_pop(struct rt_request_list *list, struct rt_lives *lives); /* RT_NOBODY: none */

/*
 * The sequences of a server that decode. Each gets one token in every step that decodes, so nothing is done
 * for each of them in a step: a sequence remembers its tokens less the number of such steps (base) and the
 * step that answers it (until), by which a heap is ordered; the blocks that steps need follow from how many
 * sequences have each remainder of base by the block.
 */
struct rt_decoding_entry {
    int64_t until; /* of the request, beside it: others lie far apart in memory */
    uint32_t request;
};
struct rt_decoding {
    int64_t count, block;
    int64_t steps;                  /* so far */
    double context;                 /* all tokens in their caches */
    int64_t *remainder;             /* (block) sequences by base modulo block */
    struct rt_decoding_entry *heap; /* (count) */
    uint32_t *joined;               /* since the last step */
    size_t heap_capacity, joined_count, joined_capacity;
};

void rt_decoding_init(struct rt_decoding *decoding, int64_t block);
void rt_decoding_release(struct rt_decoding *decoding);

/* A sequence with so many tokens in its cache and `made` of its output. */
void rt_decoding_add(struct rt_decoding *decoding, struct rt_lives *lives, uint32_t request, int64_t tokens);
/* One that is not answered yet stops; `made` says how far it came. */
void rt_decoding_remove(struct rt_decoding *decoding, struct rt_lives *lives, uint32_t request);
/* One that the last step answered, no longer decoding; RT_NOBODY: no more. */
uint32_t rt_decoding_answered(struct rt_decoding *decoding, struct rt_lives *lives);

int64_t rt_decoding_tokens(const struct rt_decoding *decoding, const struct rt_live *live);
/* Steps until one is answered; decoding->count > 0. */
int64_t rt_decoding_until(const struct rt_decoding *decoding);
/* New blocks that the next steps need; and the steps, at most `most`, that `room` blocks are enough for. */
int64_t rt_decoding_blocks(const struct rt_decoding *decoding, int64_t steps);
int64_t rt_decoding_room(const struct rt_decoding *decoding, int64_t room, int64_t most);
/* So many steps are over. */
void rt_decoding_advance(struct rt_decoding *decoding, int64_t steps);
