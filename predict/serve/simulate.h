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
#ifndef ROOFTILE_PREDICT_SERVE_SIMULATE_H
#define ROOFTILE_PREDICT_SERVE_SIMULATE_H

#include "predict/serve/batch.h"
#include "predict/serve/load.h"
#include "predict/serve/scheduler.h"

enum rt_serve_router { RT_ROUND_ROBIN, RT_LEAST_LOADED, RT_SERVE_ROUTERS };
extern const char *const rt_serve_routers[RT_SERVE_ROUTERS];

/* Replicas of a server. */
struct rt_serve_group {
    struct rt_serve_costs costs;
    struct rt_scheduler scheduler;
    int64_t cache_tokens;   /* of one replica; it holds whole blocks */
    int64_t replicas, gpus; /* gpus: of one replica */
};

struct rt_serve_system {
    struct rt_serve_group serve;  /* prefills only where there is a group that decodes */
    struct rt_serve_group decode; /* replicas 0: none, the first group does both */
    /* Disaggregated: time to move the cache of so many tokens from one group to the other; one link a replica
     * of the prefill group, in turn. NULL: none. The first token is out before. */
    double (*transfer_us)(const void *context, int64_t tokens);
    const void *transfer_context;
    bool transfer_overlap; /* layers move while later ones are computed: what is left is the part after the
                              prefill's end */
    enum rt_serve_router router;
};

struct rt_serve_quantiles {
    double mean, p50, p90, p99, most; /* NaN: of nothing */
};

enum rt_serve_step { RT_SERVE_PREFILL, RT_SERVE_MIXED, RT_SERVE_DECODE, RT_SERVE_STEPS };
extern const char *const rt_serve_steps[RT_SERVE_STEPS];

struct rt_serve_result {
    size_t requests;                    /* answered and counted */
    double input_tokens, output_tokens; /* of them */
    double duration_us;                 /* from the first one's sending to the last one's end */
    struct rt_serve_quantiles ttft_us, tpot_us, itl_us, e2e_us,
        queue_us; /* queue: until the first chunk runs */
    double input_per_s, output_per_s, requests_per_s;
    double good_requests;                                  /* within the targets */
    double steps[RT_SERVE_STEPS], time_us[RT_SERVE_STEPS]; /* of all replicas */
    double parts_us[RT_SERVE_PARTS];                       /* NaN: not known */
    double idle_us;
    double cache_mean, cache_peak; /* share of the blocks in use; of the group that decodes */
    double waiting_mean, waiting_peak, running_mean, running_peak; /* requests, over time, in all replicas */
    double prefix_tokens;                                          /* found in the cache */
    double preemptions, recomputed_tokens;
    double transfer_us;
};

struct rt_serve_options {
    double ttft_target_us, tpot_target_us; /* NaN: none */
    bool step_by_step;                     /* no runs of equal steps are summed: slow, for tests */
};

/* RT_EUSAGE with a sentence where the load is none, or where a request does not fit into the cache of a
 * replica.
 */
int rt_serve_simulate(const struct rt_serve_load *load, const struct rt_serve_system *system,
                      const struct rt_serve_options *options, struct rt_serve_result *out);

#endif
