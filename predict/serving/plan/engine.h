/*
 * An engine: one server of a kind, a GPU quantised and cut in a way. It says whether the model fits, how many
 * users' caches do, what steps cost, and what no simulation of it can do better than.
 *
 * The bound on the rate. A step with d decodes, whose caches hold C tokens together, and k tokens of prompts
 * does
 *
 *     d u + C w + k v
 *
 * of work, for any u, w, v >= 0. Let s be the least time of a unit of work over all steps that there may be.
 * A request of isl + osl tokens is osl - 1 decodes behind isl to isl + osl cached tokens and isl tokens of
 * prompts, so R requests take at least s R ((osl - 1) (u + (isl + osl / 2) w) + isl v), whatever the
 * scheduler does. (That is the dual of the linear program that picks the best steps.) u, w and v are the
 * slopes of the engine's own steps at the number of users asked for, which makes the bound near. s is taken
 * over a grid of steps; costs are linear between points of a grid, and a ratio of such functions is least at
 * its corners.
 *
 * The bound on the time between tokens. By Little's law b users who come back at once wait b / R for each
 * answer, R their rate; what of it is not the wait for the first token is the time between tokens.
 *
 * Where requests come at a rate, users are not given. The rate that n users get is concave in n, so the mean
 * number of users is at least the one whose bound is the rate that comes, which gives the time between tokens
 * as before.
 *
 * All are of the mean and of a long run; RT_SERVING_SLACK covers what a simulation of finite length and a
 * grid between whose points steps are padded differ by. tests/predict/serving/plan and docs/results/plan.md hold
 * plans with and without bounds beside each other.
 */
#ifndef ROOFTILE_PREDICT_SERVING_PLAN_ENGINE_H
#define ROOFTILE_PREDICT_SERVING_PLAN_ENGINE_H

#include "models/networks/memory.h"
#include "predict/serving/plan/plan.h"

#define RT_SERVING_SLACK 0.05

struct rt_serving_engine {
    uint32_t gpu, quant; /* of the request */
    struct rt_engine_cut cut;
    int64_t gpus;
    struct rt_scheduler scheduler;
    enum rt_serving_fate refused; /* RT_SERVING_CUT or RT_SERVING_WEIGHTS; RT_SERVING_FATES: it is not */
    char *reason;                 /* of RT_SERVING_CUT */
    double missing_bytes;         /* of RT_SERVING_WEIGHTS, on each GPU */
    double weight_bytes, request_bytes; /* on each GPU: weights; the cache of one request when it ends */
    double cache_tokens;                /* over all GPUs; INFINITY: the device's memory is unknown */
    struct rt_step_cost *cost;          /* NULL where it is refused */
    /* Bounds, with the slack: */
    double prompt_us;    /* one prompt alone: no first token comes sooner */
    double token_us;     /* a step of one sequence: no token comes sooner */
    double prompts_rate; /* prompts a second, where nothing decodes */
    /* Requests a second with so many users as the request has levels (0: they do not fit), and with as many
     * as fit: with their prompts, and without. */
    size_t levels;
    double requests_rate[RT_SERVING_LEVELS + 1], decodes_rate[RT_SERVING_LEVELS + 1];
};

/* What a GPU holds at least: weights, and the cache of one request when it ends. Errors of rt_graph_build. */
int rt_serving_least_memory(const struct rt_serving_request *request, const struct rt_engine_cut *cut,
                            const struct rt_serving_quant *quant, struct rt_graph_memory *out);
/* What weights, activations and caches may take of a share of a GPU's memory; NaN: unknown. */
double rt_serving_room_bytes(const struct rt_device *device, double share);

/* Does the GPU have units for the products of a quantisation? */
bool rt_serving_has_units(const struct rt_device *device, const struct rt_serving_quant *quant);

/* The same on a GPU: fp16 for bf16 where it has no units for that. */
struct rt_serving_quant rt_serving_quant_on(const struct rt_device *device,
                                            const struct rt_serving_quant *quant);

/* Fills what follows from gpu, quant and cut. An engine that cannot be is `refused`; other errors are those
 * of rt_step_cost_new. */
int rt_serving_engine_fill(const struct rt_serving_request *request, struct rt_network_memo *memo,
                           struct rt_serving_engine *engine);
void rt_serving_engine_release(struct rt_serving_engine *engine);

/* What the CUDA graph of a step of so many decodes was captured for; 0: it runs without. */
int64_t rt_serving_engine_padded(const struct rt_serving_engine *engine, int64_t decodes);

/* Requests whose caches fit at once when they end, as many as the scheduler runs at most. */
int64_t rt_serving_engine_most_users(const struct rt_serving_request *request,
                                     const struct rt_serving_engine *engine);

/* Users that the engine has at least, in the mean, where so many requests come to it a second; INFINITY: it
 * cannot keep up. `rates` is requests_rate or decodes_rate. */
double rt_serving_engine_least_users(const struct rt_serving_request *request,
                                     const struct rt_serving_engine *engine, const double *rates,
                                     double rate);

#endif
