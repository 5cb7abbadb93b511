/* Requests that are not answered yet, and lists of them. */
#ifndef ROOFTILE_PREDICT_SERVING_LIVES_H
#define ROOFTILE_PREDICT_SERVING_LIVES_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define RT_NOBODY UINT32_MAX

/* What a request has of a cache, in blocks. */
struct rt_room {
    int64_t full;     /* of its own at its end */
    int32_t shared;   /* of its prefix, which belong to the cache */
    bool uses_prefix; /* and stay while it does */
};

struct rt_live {
    double sent_us, began_us, first_us; /* began: its first chunk; NaN: not yet. first: its first token */
    double last_us;              /* of its tokens, the last that came outside a step of all that decode */
    int64_t id;                  /* of the load, from 0 */
    int64_t base, until;         /* decoding: tokens in the cache less the steps so far; its last step */
    struct rt_room room, behind; /* behind: disaggregated, where its prompt was computed */
    int32_t input, output, made; /* tokens; made: of the output, before it decodes */
    int32_t done;                /* of input + made: computed so far */
    int32_t group, prefix;       /* prefix: its tokens */
    bool remote;                 /* its prompt was computed by another group */
    uint32_t next, previous;     /* in a list */
    uint32_t place;              /* in the heap of those that decode */
    uint32_t source;             /* the replica that computed its prompt */
};

/* All of them; numbers stay valid, pointers do not. Starts as {.empty = RT_NOBODY}. */
struct rt_lives {
    struct rt_live *live;
    uint32_t count, capacity, empty; /* empty: the first that is free, by `next` */
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
void rt_requests_remove(struct rt_request_list *list, struct rt_lives *lives, uint32_t request);
uint32_t rt_requests_pop(struct rt_request_list *list, struct rt_lives *lives); /* RT_NOBODY: none */

#endif
