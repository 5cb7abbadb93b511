/*
 * Plans of serving: how many of which GPU, cut how, serve a model within a target. Every way to do it is a
 * candidate; memory and bounds rule most of them out, the rest are simulated (predict/serving), and the front
 * of tokens/s per GPU against tokens/s per user is what is left.
 *
 * The files of this folder, in reading order:
 *   plan         this: what is asked for, a candidate, what is known of it; the search
 *   cuts         tensor, pipeline, attention-data and expert parallel degrees of a server
 *   engine       one server: a GPU, a quantisation and a cut; its memory, its step costs, the bounds on them
 *   candidates   engines and how many users each serves: alone, or prefill beside decode
 *   reasons      what became of all candidates, and why, counted
 *   remedy       what would help a model that fits nowhere
 *   words        a candidate and its parts in words
 *   report       best plan, front, prices, reasons
 *   points       all candidates as CSV
 *   cmd_plan     the command
 */
#ifndef ROOFTILE_PREDICT_SERVING_PLAN_PLAN_H
#define ROOFTILE_PREDICT_SERVING_PLAN_PLAN_H

#include "base/threads.h"
#include "datasets/device.h"
#include "models/networks/source.h"
#include "models/predictors/predictor/predictor.h"
#include "predict/serving/simulate.h"
#include "predict/serving/step_cost.h"

enum { RT_SERVING_GPUS = 16, RT_SERVING_COUNTS = 32, RT_SERVING_QUANTS = 24, RT_SERVING_LEVELS = 40 };

/* A kind of GPU that may be had. */
struct rt_serving_gpu {
    struct rt_device device;
    const char *asked; /* as it was named */
    double price;      /* of a GPU-hour, in any currency; NaN: unknown */
};

/* Of weights and cache. */
struct rt_serving_quant {
    enum rt_dtype dtype; /* of the products with weights */
    bool fp16_beside;    /* narrow: what is beside them is fp16, not bf16 */
    int64_t kv_bits;     /* of cached keys and values; 0: as the activations */
};

/* One server: tensor x attention GPUs hold a stage of the model, `pipeline` stages all of it. */
struct rt_engine_cut {
    int64_t tensor, pipeline, attention, experts; /* experts: GPUs of a stage that share out whole experts */
};

struct rt_serving_request {
    const struct rt_model_source *source; /* a model of sizes that servers run */
    const struct rt_predictor *predictor;
    struct rt_serving_gpu gpu[RT_SERVING_GPUS];
    size_t gpu_count;
    int64_t gpus[RT_SERVING_COUNTS]; /* GPUs that may be had of one kind, rising */
    size_t gpus_count;
    struct rt_serving_quant quant[RT_SERVING_QUANTS];
    size_t quant_count;
    int64_t level[RT_SERVING_LEVELS]; /* users at once of one server, rising; not with a rate */
    size_t level_count;
    int64_t isl, osl;        /* tokens of a prompt and of its answer, osl >= 2 */
    double ttft_us, tpot_us; /* targets; NaN: none */
    double rate;    /* requests a second that come, Poisson; NaN: users come back as they are served */
    int percentile; /* that targets hold at: 50, 90 or 99 */
    const struct rt_server *server; /* whose scheduler, and what its host takes */
    enum rt_fabric fabric;          /* between GPUs; RT_FABRIC_OWN: by the device's description */
    double link_gbs;                /* NaN: likewise */
    double move_gbs;                /* between prefill and decode, one way of a GPU; NaN: the device's link */
    double confidence;              /* of intervals; 0: none */
    int64_t requests;               /* simulated for each user or server; 0: as many as settle it */
    uint64_t seed;
    bool disaggregate; /* prefill and decode on servers of their own, too */
    bool exhaustive;   /* bounds rule nothing out: slow */
    bool fallback;     /* the roofline where the predictor has no network for an op */
    bool overwrite;    /* a journal of another plan may be replaced */
    bool quiet;        /* no progress */
};

/* --- candidates --- */

struct rt_serving_engine; /* engine.h */

/* `decodes` servers of one kind that do all; or beside `prefills` servers that prefill alone. */
struct rt_serving_candidate {
    uint32_t prefill, engine;  /* of the plan's engines; the same where prefills is 0 */
    int32_t prefills, engines; /* how many of each */
    int32_t users;             /* at once of each server that decodes; 0: requests come at a rate */
    int32_t gpus;              /* of all of them */
    /* What it cannot be better than: tokens/s of a user and of a GPU, us until the first token. */
    double most_user, most_gpu, least_ttft_us;
};

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

/* What a simulation says of a candidate; the row of a journal. */
enum {
    RT_PLANNED_CANDIDATE, /* its number */
    RT_PLANNED_TTFT,      /* us, at the percentile of the targets */
    RT_PLANNED_TPOT,      /* us, likewise */
    RT_PLANNED_TTFT_HALF, /* us, medians */
    RT_PLANNED_TPOT_HALF,
    RT_PLANNED_TOKENS,   /* output tokens/s of all GPUs */
    RT_PLANNED_REQUESTS, /* answered a second */
    RT_PLANNED_GOOD,     /* of them within the targets, a second */
    RT_PLANNED_INTERVAL, /* half-width of times in ln; NaN: unknown */
    RT_PLANNED_WAITING,  /* mean requests in queues */
    RT_PLANNED_NUMBERS
};

struct rt_serving_plan {
    const struct rt_serving_request *request;
    struct rt_serving_engine *engine;
    size_t engine_count;
    struct rt_serving_candidate *candidate;
    uint8_t *fate; /* (candidate_count), enum rt_serving_fate */
    size_t candidate_count;
    double *found;       /* (found_count, RT_PLANNED_NUMBERS): simulations in their order */
    size_t found_count;  /* candidates that were simulated */
    size_t resumed;      /* of them, those that a journal had */
    uint32_t *simulated; /* (candidate_count): its row of `found`; UINT32_MAX: none */
};

/* Searches. With `output` (may be NULL) simulations are kept in a journal beside it (base/point_journal.h),
 * so that a search that was killed goes on. The plan does not depend on how many threads there are.
 * RT_EINTERRUPTED after Ctrl-C; RT_EUSAGE where no cut of the model fits any of the GPUs: the sentence says
 * what would. Release in all cases. */
int rt_serving_plan_make(const struct rt_serving_request *request, struct rt_threads *pool,
                         const char *output, struct rt_serving_plan *out);
void rt_serving_plan_release(struct rt_serving_plan *plan);

/* Numbers of a candidate that was simulated; NULL: it was not. */
const double *rt_serving_numbers(const struct rt_serving_plan *plan, size_t candidate);

/* Tokens/s of a user, by the median time between tokens; tokens/s of a GPU; price of a million output tokens,
 * NaN where the GPU has none. */
double rt_serving_user_rate(const struct rt_serving_plan *plan, size_t candidate);
double rt_serving_gpu_rate(const struct rt_serving_plan *plan, size_t candidate);
double rt_serving_price(const struct rt_serving_plan *plan, size_t candidate);

/* The best that meets the targets: the least price of a token where every GPU has a price, else the most
 * tokens/s per GPU; with a rate the least price of an hour, else the fewest GPUs; of equal ones the fewest
 * GPUs, then the most tokens/s of a user. `gpu` SIZE_MAX: of any kind, else of that one; `gpus` 0: of any
 * number, else of so many (which hold what fewer do several times). -1: there is none. */
int64_t rt_serving_best(const struct rt_serving_plan *plan, size_t gpu, int64_t gpus);

#endif
