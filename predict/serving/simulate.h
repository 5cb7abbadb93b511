/*
 * The simulation: requests come, wait, are prefilled in chunks and decoded in batches, and leave. Every step
 * is one call of step_us. Definitions are those of vLLM's benchmark_serving, which InferenceX runs too:
 *
 *   TTFT         from sending a request to its first token
 *   E2E          from sending it to its last
 *   TPOT         (E2E - TTFT) / (output - 1), of requests of more than one token
 *   ITL          times between tokens, of all requests together
 *   throughput   tokens (or requests) over the time from the first request's sending to the last's end
 */
#ifndef ROOFTILE_PREDICT_SERVING_SIMULATE_H
#define ROOFTILE_PREDICT_SERVING_SIMULATE_H

#include "predict/serving/batch.h"
#include "predict/serving/load.h"
#include "predict/step/server.h"

enum { RT_MOST_REPLICAS = 1024 };

enum rt_serve_router { RT_ROUND_ROBIN, RT_LEAST_LOADED, RT_SERVE_ROUTERS };
extern const char *const rt_serve_routers[RT_SERVE_ROUTERS];

/* Replicas of a server. */
struct rt_serve_group {
    struct rt_serve_costs costs;
    struct rt_scheduler scheduler;
    double cache_tokens;    /* of one replica, in whole blocks; INFINITY: no bound */
    double request_us;      /* that a request takes beside steps, before the first: users wait so much longer,
                               their next requests do not come later */
    int64_t replicas, gpus; /* gpus: of one replica */
    int64_t
        attention_groups; /* of one replica (attention data parallel): each has a scheduler; 0 or 1: none */
};

struct rt_serve_system {
    struct rt_serve_group serve;  /* prefills only where there is a group that decodes */
    struct rt_serve_group decode; /* replicas 0: none, the first group does both */
    /* Disaggregated: time to move the cache of so many tokens to the group that decodes, once it has room for
     * it; each replica that prefills has a link, which moves one after the other. NULL: no time. The first
     * token goes to its user with the cache. */
    double (*transfer_us)(const void *context, int64_t tokens);
    const void *transfer_context;
    bool transfer_overlap; /* layers move while later ones are computed: a move may begin with the prefill */
    enum rt_serve_router router;
};

struct rt_serve_quantiles {
    double mean, p50, p90, p99, most; /* NaN: of nothing */
};

enum rt_serve_step { RT_SERVE_PREFILL, RT_SERVE_MIXED, RT_SERVE_DECODE, RT_SERVE_STEPS };
extern const char *const rt_serve_steps[RT_SERVE_STEPS]; /* "prefill", "mixed", "decode" */

/* Sums over time are from the first sending to the last end, of all replicas together; what is per request is
 * of those that are counted (after the warm-up). */
struct rt_serve_result {
    size_t requests;                    /* answered and counted */
    double input_tokens, output_tokens; /* of them */
    double duration_us;                 /* from the first one's sending to the last one's end */
    struct rt_serve_quantiles ttft_us, tpot_us, itl_us, e2e_us;
    struct rt_serve_quantiles queue_us; /* from sending until its first chunk runs */
    double input_per_s, output_per_s, requests_per_s;
    double good_requests;                                  /* within the targets; NaN: there are none */
    double steps[RT_SERVE_STEPS], time_us[RT_SERVE_STEPS]; /* of the servers */
    double parts_us[RT_SERVE_PARTS];                       /* of time_us; zeros: not known */
    double idle_us;                                        /* of the servers: replicas x time less time_us */
    double cache_mean,
        cache_peak; /* shares of the cache in use, of the group that decodes; NaN: no bound. mean:
                       of its tokens, over time; peak: of the blocks of the fullest replica */
    double waiting_mean, waiting_peak, running_mean; /* requests in servers */
    double prefix_tokens, computed_tokens; /* of prompts: found in the cache, and computed (again, too) */
    double preemptions, recomputed_tokens; /* recomputed: given up when preempted */
    double transfers_us;                   /* of links */
};

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

/* RT_EUSAGE with a sentence where the load or a group is none, or where a request does not fit into the cache
 * of a replica. */
int rt_serve_simulate(const struct rt_serve_load *load, const struct rt_serve_system *system,
                      const struct rt_serve_options *options, struct rt_serve_result *out);

#endif
