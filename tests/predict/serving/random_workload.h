/* Loads and servers drawn at random: every kind of arrival, scheduler, cache and group. Small, so that 10,000
 * of them take a second. */
#pragma once

#include "base/random.h"
#include "predict/serving/simulate.h"
#include "synthetic_costs.h"

#include <math.h>

enum { WORKLOADS = 10000, MOST_REQUESTS = 24, TRANSFER_US = 7 };

struct workload {
    struct rt_serve_load load;
    struct rt_serve_system system;
    struct synthetic_costs costs;
    struct rt_serve_trace trace;
    double arrival_us[MOST_REQUESTS];
    int32_t input[MOST_REQUESTS], output[MOST_REQUESTS], group[MOST_REQUESTS], prefix[MOST_REQUESTS];
};

static inline int64_t whole(struct rt_random *random, int64_t least, int64_t most)
{
    return least + (int64_t)rt_random_below(random, (uint64_t)(most - least + 1));
}

/* Of binary digits that sums of a workload keep, so that events at one time are at one time however it is
 * summed up. */
static inline double fraction(struct rt_random *random)
{
    return (double)rt_random_below(random, 1 << 12) / (1 << 12);
}

static inline bool coin(struct rt_random *random)
{
    return rt_random_below(random, 2) == 1;
}

static inline void draw_trace(struct rt_random *random, struct workload *w)
{
    double time = 0;
    w->trace = (struct rt_serve_trace){.arrival_us = w->arrival_us,
                                       .input = w->input,
                                       .output = w->output,
                                       .group = w->group,
                                       .prefix = w->prefix,
                                       .count = (size_t)whole(random, 1, MOST_REQUESTS)};
    for (size_t i = 0; i < w->trace.count; i++) {
        w->arrival_us[i] = time += coin(random) ? 0 : (double)whole(random, 0, 400);
        w->input[i] = (int32_t)whole(random, 1, 60);
        w->output[i] = (int32_t)whole(random, 1, 30);
        w->group[i] = (int32_t)whole(random, -1, 3);
        w->prefix[i] = (int32_t)whole(random, 0, w->input[i]);
    }
}

static inline void draw_load(struct rt_random *random, struct workload *w)
{
    int64_t input = whole(random, 1, 50), output = whole(random, 1, 25);
    w->load = (struct rt_serve_load){
        .arrivals = (enum rt_arrivals)rt_random_below(random, RT_ARRIVALS),
        .concurrency = whole(random, 1, 8),
        .rate = 1e6 / (double)whole(random, 5, 500),
        .input = {input, input + whole(random, 0, 10)},
        .output = {output, output + whole(random, 0, 5)},
        .prefix_share = coin(random) ? rt_random_uniform(random) : 0,
        .requests = whole(random, 1, MOST_REQUESTS),
        .ramp_us = coin(random) ? (double)whole(random, 0, 500) : 0,
        .seed = rt_random_next(random),
        .trace = &w->trace,
    };
    if (w->load.arrivals != RT_CLOSED_LOOP && coin(random))
        w->load.concurrency = 0;
    draw_trace(random, w);
}

static inline struct rt_serve_group draw_group(struct rt_random *random, const struct workload *w)
{
    return (struct rt_serve_group){
        .costs = synthetic_costs(&w->costs),
        .scheduler = {.budget = whole(random, 1, 80),
                      .sequences = whole(random, 1, 10),
                      .block = whole(random, 1, 7),
                      .reserve = coin(random) ? 0 : rt_random_uniform(random),
                      .graph_most = whole(random, 0, 16),
                      .mixed = coin(random),
                      .poll = coin(random) ? 0 : (int64_t)rt_random_below(random, 40),
                      .gathers = coin(random),
                      .chunked = coin(random),
                      .budget_shared = coin(random),
                      .prefix_cache = coin(random),
                      .keeps = coin(random)},
        .cache_tokens = coin(random) ? INFINITY : (double)whole(random, 110, 250),
        .replicas = whole(random, 1, 3),
        .attention_groups = whole(random, 0, 2),
    };
}

static inline double transfer_us(const void *context, int64_t tokens)
{
    (void)context;
    return TRANSFER_US * (double)tokens;
}

static inline void draw_workload(uint64_t seed, struct workload *w)
{
    struct rt_random random;
    rt_random_seed(&random, seed, 0);
    w->costs = (struct synthetic_costs){.step_us = (double)whole(&random, 1, 20),
                                        .sequence_us = fraction(&random),
                                        .context_us = fraction(&random) / 16,
                                        .token_us = fraction(&random),
                                        .cached_us = fraction(&random) / 128,
                                        .kink = (double)whole(&random, 0, 200)};
    draw_load(&random, w);
    w->system = (struct rt_serve_system){.serve = draw_group(&random, w),
                                         .router = (enum rt_serve_router)coin(&random),
                                         .transfer_us = coin(&random) ? transfer_us : NULL,
                                         .transfer_overlap = coin(&random)};
    if (rt_random_below(&random, 3) == 0)
        w->system.decode = draw_group(&random, w);
}
