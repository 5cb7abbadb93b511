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
 * grid between whose points steps are padded differ by. tests/predict/serving/plan and docs/results/plan.md
 * hold plans with and without bounds beside each other.
 */
#pragma once

#include "models/networks/source.h"
#include "models/predictors/predictor/predictor.h"
#include "predict/serving/deployment.h"
#include "predict/step/priced_gpu.h"
#include "predict/step/server.h"

#include <stddef.h>
#include <stdint.h>

/* --- what a plan of serving is asked for --- */

enum { RT_SERVING_COUNTS = 32, RT_SERVING_QUANTS = 24, RT_SERVING_LEVELS = 40 };

/* Of weights and cache. */
struct rt_serving_quant {
    enum rt_dtype dtype; /* of the products with weights */
    bool fp16_beside;    /* narrow: what is beside them is fp16, not bf16 */
    int64_t kv_bits;     /* of cached keys and values; 0: as the activations */
};

/* What bounds and memory take of the requests. */
struct rt_serving_traffic {
    int64_t longest_input, longest; /* tokens of a prompt, and with its answer */
    int64_t least_input;
    int64_t least_prompt;   /* tokens of a prompt that are computed at least: others are in a prefix */
    int64_t least_context;  /* of a sequence that decodes, in its mean */
    double input, output;   /* means of tokens */
    double prompt, context; /* means of a request: of least_prompt; of cached tokens over its decode steps */
    bool varied;            /* requests differ */
};
struct rt_serving_traffic rt_serving_traffic(const struct rt_serve_load *load);

/* Times that may be taken at most, us, by the percent of requests: rt_serving_percents. NaN: any. */
enum { RT_SERVING_PERCENTILES = 3 };
extern const int rt_serving_percents[RT_SERVING_PERCENTILES]; /* 50, 90, 99 */
struct rt_serving_target {
    double us[RT_SERVING_PERCENTILES];
};
double rt_serving_target_least(const struct rt_serving_target *target); /* NaN: there is none */
double rt_serving_target_most(const struct rt_serving_target *target);
/* By how much, in ln, such percentiles are above the target; below 0 by how much they keep it; -INFINITY:
 * there is none. */
double rt_serving_target_miss(const struct rt_serving_target *target, const double *percentiles);

struct rt_serving_request {
    const struct rt_model_source *source; /* a model of sizes that servers run */
    const struct rt_predictor *predictor;
    struct rt_priced_gpu gpu[RT_MOST_PRICED_GPUS];
    size_t gpu_count;
    int64_t gpus[RT_SERVING_COUNTS]; /* GPUs that may be had of one kind, rising */
    size_t gpus_count;
    struct rt_serving_quant quant[RT_SERVING_QUANTS];
    size_t quant_count;
    int64_t level[RT_SERVING_LEVELS]; /* users at once of one server, rising; not with a rate */
    size_t level_count;
    struct rt_serve_load load; /* lengths and when requests come; ramp_us NaN: users go on, think_us */
    const char *trace;         /* the file of its list; NULL: none */
    struct rt_serving_traffic traffic; /* of it: rt_serving_traffic */
    int64_t images, image;             /* of a prompt, 0: none; their side */
    int64_t image_tokens;              /* of prompts, that they become */
    struct rt_serving_target ttft, tpot;
    double rate; /* requests a second that come, Poisson or as the load's trace, with `headroom`; NaN: users
                    come back as they are served */
    double headroom;                /* share that the rate is above what comes */
    int64_t spare;                  /* with a rate: servers of each kind that may be lost */
    int percentile;                 /* place in rt_serving_percents of what is shown */
    const struct rt_draft *draft;   /* NULL: none; its graph is each engine's */
    struct rt_cluster cluster;      /* beyond a server's GPUs */
    const struct rt_server *server; /* whose scheduler, and what its host takes */
    enum rt_fabric fabric;          /* between GPUs; RT_FABRIC_OWN: by the device's description */
    double link_gbs;                /* NaN: likewise */
    double move_gbs;                /* between prefill and decode, one way of a GPU; NaN: the device's link */
    double confidence;              /* of intervals; 0: none */
    double risk; /* targets hold at the end of the interval that times stay below so often; 0: as forecast */
    int64_t requests; /* simulated for each user or server; 0: as many as settle it */
    uint64_t seed;
    bool disaggregate;     /* prefill and decode on servers of their own, too */
    bool exhaustive;       /* bounds rule nothing out: slow */
    bool fallback;         /* the roofline where the predictor has no network for an op */
    bool overwrite;        /* a journal of another plan may be replaced */
    struct rt_shard shard; /* of the simulations: only these are made, into the shard's journal */
    bool quiet;            /* no progress */
};

/* Does a device have units for the products? */
bool rt_serving_has_units(const struct rt_device *device, const struct rt_serving_quant *quant);

/* As a device runs it: fp16 for bf16 where it has none. */
struct rt_serving_quant rt_serving_quant_on(const struct rt_device *device,
                                            const struct rt_serving_quant *quant);

/* "fp8" of the cache. Constant. */
const char *rt_serving_cache_dtype(const struct rt_serving_quant *quant);

/* --- cuts --- */

/* The ways in which a server can cut a model over its GPUs: tensor x attention GPUs hold a stage, `pipeline`
 * stages all of it; `expert` GPUs of a stage share out whole experts. All cuts whose GPUs divide one of the
 * counts: tensor, pipeline and attention-data degrees of any divisor. Experts are shared
 * out over one or all GPUs of a stage by vLLM (--enable-expert-parallel) and SGLang, over any divisor by
 * TensorRT-LLM, whose attention is data parallel over all GPUs or none (enable_attention_dp). Attention data
 * parallel and expert parallel are for models with experts; a pipeline has no more stages than the model
 * layers. Fewest GPUs first. Free with free(). */
struct rt_parallelism *rt_serving_cuts(const struct rt_model *model, const struct rt_server *server,
                                       const int64_t *gpus, size_t gpus_count, size_t *count);

/* "tp 4, pp 2, attention dp 2, ep 8": degrees of 1 are left out, "1 GPU" where all are. */
struct rt_serving_cut_words {
    char text[96];
};
struct rt_serving_cut_words rt_serving_cut_words(const struct rt_parallelism *cut);

/* --- engines --- */

#define RT_SERVING_SLACK 0.05

/* What became of a candidate. */
enum rt_serving_fate {
    RT_SERVING_CUT,       /* the model cannot be cut so, or the GPU has no units for the dtype */
    RT_SERVING_WEIGHTS,   /* weights do not fit into the memory */
    RT_SERVING_CACHE,     /* nor do the caches of its users beside them */
    RT_SERVING_SLOW_TTFT, /* its bound misses the target */
    RT_SERVING_SLOW_TPOT,
    RT_SERVING_SLOW_RATE,   /* it cannot keep up with the requests that come */
    RT_SERVING_BELOW,       /* its bound is below a plan that was found: not simulated */
    RT_SERVING_MISSED_TTFT, /* simulated: misses the target */
    RT_SERVING_MISSED_TPOT,
    RT_SERVING_MISSED_RATE, /* requests pile up */
    RT_SERVING_BEATEN, /* meets the targets, and another one of its kind of GPU is at least as good in both */
    RT_SERVING_FRONT,  /* on the front of its kind of GPU */
    RT_SERVING_FATES
};

struct rt_serving_engine {
    uint32_t gpu, quant; /* of the request */
    struct rt_parallelism cut;
    int64_t gpus;
    enum rt_serving_fate refused; /* RT_SERVING_CUT or RT_SERVING_WEIGHTS; RT_SERVING_FATES: it is not */
    char *reason;                 /* of RT_SERVING_CUT */
    double missing_bytes;         /* of RT_SERVING_WEIGHTS, on each GPU */
    double weight_bytes, request_bytes; /* on each GPU: weights; the cache of one request when it ends */
    struct rt_deployment deployment;    /* one replica; zeros where it is refused */
    /* Bounds, with the slack: */
    double prompt_us; /* the shortest prompt alone: no first token comes sooner */
    double longest_prompt_us;
    double token_us;     /* a step of one sequence: no token comes sooner */
    double prompts_rate; /* prompts a second, where nothing decodes */
    /* Requests a second with so many users as the request has levels (0: they do not fit), and with as many
     * as fit: with their prompts, and without. */
    size_t levels;
    double requests_rate[RT_SERVING_LEVELS + 1], decodes_rate[RT_SERVING_LEVELS + 1];
};

/* Bytes that each GPU of a cut lacks for weights and the cache of one request when it ends; 0 or less: it has
 * room. Errors of rt_graph_build. */
int rt_serving_missing_bytes(const struct rt_serving_request *request, const struct rt_device *device,
                             const struct rt_parallelism *cut, const struct rt_serving_quant *quant,
                             double *weight_bytes, double *missing_bytes);

/* Fills what follows from gpu, quant and cut. An engine that cannot be is `refused`; other errors are those
 * of rt_step_cost_new. */
int rt_serving_engine_fill(const struct rt_serving_request *request, struct rt_network_memo *memo,
                           struct rt_serving_engine *engine);
void rt_serving_engine_release(struct rt_serving_engine *engine);

/* Requests whose caches fit at once when they end, as many as the scheduler runs at most. */
int64_t rt_serving_engine_most_users(const struct rt_serving_request *request,
                                     const struct rt_serving_engine *engine);

/* Users that the engine has at least, in the mean, where so many requests come to it a second; INFINITY: it
 * cannot keep up. `rates` is requests_rate or decodes_rate. */
double rt_serving_engine_least_users(const struct rt_serving_request *request,
                                     const struct rt_serving_engine *engine, const double *rates,
                                     double rate);
