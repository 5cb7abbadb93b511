/*
 * Serving: what users of an LLM server wait for, and what it gives, on GPUs that nobody has. A discrete-event
 * simulation of continuous batching (Orca: Yu et al., OSDI 2022; vLLM: Kwon et al., SOSP 2023; chunked
 * prefill: Agrawal et al., OSDI 2024), each step of which takes what the predictor says: requests come, wait,
 * are prefilled in chunks and decoded in batches, and leave. Every step is one call of step_us.
 *
 * Definitions are those of vLLM's benchmark_serving, which InferenceX runs too:
 *
 *   TTFT         from sending a request to its first token
 *   E2E          from sending it to its last
 *   TPOT         (E2E - TTFT) / (output - 1), of requests of more than one token
 *   ITL          times between tokens, of all requests together
 *   throughput   tokens (or requests) over the time from the first request's sending to the last's end
 */
#pragma once

#include "predict/serving/load.h"
#include "predict/serving/replica.h"

enum { RT_MOST_REPLICAS = 1024 };

enum rt_serve_router { RT_ROUND_ROBIN, RT_LEAST_LOADED, RT_SERVE_ROUTERS };
extern const char *const rt_serve_routers[RT_SERVE_ROUTERS];

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
    double loaded_tokens;                  /* of prefix_tokens: from the host's memory */
    double preemptions, recomputed_tokens; /* recomputed: given up when preempted */
    double transfers_us;                   /* of links */
};

/* Mean time that users take between an answer and their next request, where nobody says another: about a step,
 * so that requests do not come at the very end of one. A choice, not a measurement. */
#define RT_SERVE_THINK_US 20e3

/* Makes a closed loop last: its users begin within the time of an answer and go on until all requests are
 * answered, of which the first of every user do not count. What `serve` and plans simulate where nobody asks
 * for the start of a benchmark, when all come at once. `load` has its users and lengths. */
void rt_serve_load_last(struct rt_serve_load *load, const struct rt_serve_system *system);

/* RT_EUSAGE with a sentence where the load or a group is none, or where a request does not fit into the cache
 * of a replica. */
int rt_serve_simulate(const struct rt_serve_load *load, const struct rt_serve_system *system,
                      const struct rt_serve_options *options, struct rt_serve_result *out);
