/*
 * One server: a queue, what runs, its cache, and the step it is in. Times are of the simulation's clock, us.
 *
 * Whoever drives it pushes requests, starts a step where it is not busy, and finishes the step when the clock
 * is at end_us. Steps in which nothing changes are one run, whose times go up evenly with the context; a
 * request that comes ends the run with the step that is under way.
 */
#pragma once

#include "predict/serving/batch.h"
#include "predict/serving/prefix_cache.h"
#include "predict/serving/requests.h"
#include "predict/serving/tally.h"
#include "predict/step/server.h"

/* Replicas of a server. */
struct rt_serve_group {
    struct rt_serve_costs costs;
    struct rt_scheduler scheduler;
    double cache_tokens;    /* of one replica, in whole blocks; INFINITY: no bound */
    double host_tokens;     /* that the host's memory keeps of prefixes; 0: none */
    double load_us;         /* of a token that comes back from there */
    double request_us;      /* that a request takes beside steps, before the first: users wait so much longer,
                               their next requests do not come later */
    int64_t replicas, gpus; /* gpus: of one replica */
    int64_t
        attention_groups; /* of one replica (attention data parallel): each has a scheduler; 0 or 1: none */
};

enum rt_serve_step { RT_SERVE_PREFILL, RT_SERVE_MIXED, RT_SERVE_DECODE, RT_SERVE_STEPS };
extern const char *const rt_serve_steps[RT_SERVE_STEPS]; /* "prefill", "mixed", "decode" */

/* A step, or a run of steps in which nothing changed but the context. */
struct rt_serve_span {
    int replica; /* those that only decode are numbered after the others */
    enum rt_serve_step kind;
    double start_us, end_us;
    int64_t steps, decodes;
    double context; /* of the decodes, at the first of the steps */
    size_t prompts; /* chunks of prompts */
    int64_t prompt_tokens;
    size_t waiting, running; /* requests, during it */
    int64_t blocks;          /* of the cache that are in use, before it */
};

/* A request that was answered. */
struct rt_serve_answer {
    int64_t id; /* of the load, from 0 */
    int32_t input, output;
    double sent_us, first_us, end_us;
};

struct rt_serve_options {
    double ttft_target_us, tpot_target_us; /* 0 or NaN: none */
    bool step_by_step;                     /* no runs: slow, for tests */
    /* What happens, as it does; NULL: nobody asks. */
    void (*step)(void *context, const struct rt_serve_span *span);
    void (*answered)(void *context, const struct rt_serve_answer *answer);
    void *context;
};

/* What all replicas count together. */
struct rt_serve_counts {
    struct rt_tally itl_us;
    double steps[RT_SERVE_STEPS], time_us[RT_SERVE_STEPS], parts_us[RT_SERVE_PARTS];
    double waiting_us, running_us; /* requests x time */
    double preemptions, recomputed_tokens, prefix_tokens, computed_tokens, decoded_tokens;
    double loaded_tokens; /* of prefix_tokens: from the host */
};

struct rt_replica {
    const struct rt_serve_group *group;
    const struct rt_serve_options *options;
    struct rt_lives *lives;
    struct rt_serve_counts *counts;
    int number;
    bool prefills_only;                          /* disaggregated */
    int64_t attention_groups, budget, sequences; /* tokens of a step, and most that run, in all groups */
    struct rt_request_list waiting, running;
    size_t noticed;                /* of those that wait, from the first on: rt_scheduler.poll */
    int64_t unpolled;              /* steps since the server last looked who came */
    bool gathering;                /* since before the step: rt_scheduler.gathers */
    struct rt_request_list moving; /* given room; their caches are on the way here */
    struct rt_request_list ready;  /* their caches came during the step */
    uint32_t begun;                /* whose prompt is computed in part; RT_NOBODY: none */
    struct rt_decoding decoding;

    int64_t blocks, own,
        full; /* of the cache: all, of requests, of them at their ends; prefixes are beside */
    struct rt_prefix_cache prefixes;
    struct rt_prefix_cache host; /* copies of them in the host's memory, nobody uses any */
    double loading_us;           /* of the step that is formed: prefixes come back before it begins */
    int64_t peak;
    double held, held_us; /* tokens that somebody uses, without those of prefixes; with them x time */

    bool busy, holds_back; /* holds back: somebody was preempted, nobody is admitted in this step */
    enum rt_serve_step kind;
    double start_us, end_us, decoded_us; /* decoded: the end of the last step that did */
    double queue_noted_us, held_noted_us;
    int64_t run, longest;      /* steps; what is tried for the next */
    double first_us, slope_us; /* time of the first step of the run, and what each takes more than the last */
    struct rt_serve_chunk *chunks;
    uint32_t *chunk_of; /* (chunks) whose */
    size_t chunk_count, chunk_capacity;
    double link_us; /* when its link to the group that decodes is free */
};

void rt_replica_init(struct rt_replica *replica, const struct rt_serve_group *group, int number,
                     struct rt_lives *lives, struct rt_serve_counts *counts,
                     const struct rt_serve_options *options);
void rt_replica_release(struct rt_replica *replica);

/* Blocks that a request needs at most. */
int64_t rt_replica_blocks(const struct rt_replica *replica, int64_t input, int64_t output);

/* A request joins the queue. */
void rt_replica_push(struct rt_replica *replica, uint32_t request, double now);

/* Admits whom there is room for, forms the next step and begins it; false: there is nothing to do. Not while
 * busy. Requests whose prompts others computed go to `moving` when they are admitted. */
bool rt_replica_start(struct rt_replica *replica, double now);

/* Ends the step at end_us: tokens are out; who is answered, or prefilled where the replica does no more, goes
 * to `left`. */
void rt_replica_finish(struct rt_replica *replica, struct rt_request_list *left);

/* The cache of one that moved is here: it decodes from the next step on. */
void rt_replica_arrive(struct rt_replica *replica, uint32_t request, double now);

/* The cache of one that was prefilled here has moved: its room is free. */
void rt_replica_give_up(struct rt_replica *replica, uint32_t request, double now);

/* Queue and cache up to a time go into the sums. */
void rt_replica_note(struct rt_replica *replica, double now);
