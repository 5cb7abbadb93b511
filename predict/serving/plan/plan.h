/*
 * Plans of serving: how many of which GPU, cut how, serve a model within a target. Every way to do it is a
 * candidate; memory and bounds rule most of them out, the rest are simulated (predict/serving), and the front
 * of tokens/s per GPU against tokens/s per user is what is left.
 */
#pragma once

#include "base/outputs.h"
#include "base/report.h"
#include "base/threads.h"
#include "predict/serving/plan/engine.h"

/* `decodes` servers of one kind that do all; or beside `prefills` servers that prefill alone. */
struct rt_serving_candidate {
    uint32_t prefill, engine;  /* of the plan's engines; the same where prefills is 0 */
    int32_t prefills, engines; /* how many of each */
    int32_t users;             /* at once of each server that decodes; 0: requests come at a rate */
    int32_t gpus;              /* of all of them */
    /* What it cannot be better than: tokens/s of a user and of a GPU, us until the first token. */
    double most_user, most_gpu, least_ttft_us;
};

/* What a simulation says of a candidate; the row of a journal. */
enum {
    RT_PLANNED_TTFT,                                              /* (RT_SERVING_PERCENTILES) us */
    RT_PLANNED_TPOT = RT_PLANNED_TTFT + RT_SERVING_PERCENTILES,   /* likewise */
    RT_PLANNED_TOKENS = RT_PLANNED_TPOT + RT_SERVING_PERCENTILES, /* output tokens/s of all GPUs */
    RT_PLANNED_REQUESTS,                                          /* answered a second */
    RT_PLANNED_GOOD,                                              /* of them within the targets, a second */
    RT_PLANNED_INTERVAL, /* half-width of times in ln; NaN: unknown */
    RT_PLANNED_WAITING,  /* mean requests in queues */
    RT_PLANNED_IDLE,     /* share of the time that servers have nothing to do */
    RT_PLANNED_NUMBERS
};

struct rt_serving_plan {
    const struct rt_serving_request *request;
    struct rt_serving_engine *engine;
    size_t engine_count;
    struct rt_serving_candidate *candidate;
    uint8_t *fate; /* (candidate_count), enum rt_serving_fate */
    size_t candidate_count;
    double *found;       /* (those that bounds did not rule out, RT_PLANNED_NUMBERS): simulations */
    size_t found_count;  /* candidates that were simulated */
    size_t resumed;      /* simulations that a journal had */
    uint32_t *simulated; /* (candidate_count): its row of `found`; UINT32_MAX: none */
};
void rt_serving_plan_release(struct rt_serving_plan *plan);

/* Numbers of a candidate that was simulated; NULL: it was not. */
const double *rt_serving_numbers(const struct rt_serving_plan *plan, size_t candidate);

/* RT_PLANNED_TTFT or RT_PLANNED_TPOT at the percentile that is shown; NaN: it was not simulated. */
double rt_serving_shown_us(const struct rt_serving_plan *plan, size_t candidate, int what);
/* By how much, in ln, a candidate is above the targets, by its simulation or else its bounds; below 0: it
 * keeps them; -INFINITY: there are none. */
double rt_serving_miss(const struct rt_serving_plan *plan, size_t candidate);

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

/* --- a candidate in words --- */

/* "2 x (tp 4)", "2 x (tp 2) prefill, 1 x (tp 4) decode", so many `times`. Free with free(). */
char *rt_serving_servers_words(const struct rt_serving_plan *plan, size_t candidate, int64_t times);

/* "fp8" of the weights; "fp8" of the cache. Constant. */
const char *rt_serving_weights_name(const struct rt_serving_plan *plan, size_t candidate);
const char *rt_serving_cache_name(const struct rt_serving_plan *plan, size_t candidate);

/* Users of all servers together; with a rate their mean number by Little's law, 0 where it was not simulated.
 */
int64_t rt_serving_users(const struct rt_serving_plan *plan, size_t candidate);

/* --- what to type --- */

/* Hosts that its largest server takes. */
int64_t rt_serving_hosts(const struct rt_serving_plan *plan, size_t candidate);
/* The command that launches a server of a candidate, on every host where it takes several, those that prefill
 * alone where there are and `prefills`; the one that simulates it again, NULL where its options cannot say
 * how servers that prefill are cut. Free with free(). */
char *rt_serving_launch(const struct rt_serving_plan *plan, size_t candidate, bool prefills);
char *rt_serving_simulate_words(const struct rt_serving_plan *plan, size_t candidate);
/* "fp4": the checkpoint that the command needs in place of the model's own; NULL: that one. Constant. */
const char *rt_serving_checkpoint(const struct rt_serving_plan *plan, size_t candidate);

/* All its servers on one machine, as Docker's compose file. The file appears whole. RT_EUSAGE: they take more
 * GPUs than one has. */
extern const struct rt_output_kind rt_serving_compose_kind;
int rt_serving_write_compose(const struct rt_serving_plan *plan, size_t candidate, const char *path);

/* --- all of them --- */

/* Every engine with every number of users, alone; and every pair of engines of one GPU and one quantisation
 * that prefill and decode for each other, as many of each as fill a count of GPUs. The same in twice the GPUs
 * is the same candidate, unless requests come at a rate. */

/* Sets the candidates of a plan whose engines are filled, with their bounds, and the fate of those that these
 * rule out by themselves; the others are RT_SERVING_FRONT until more is known. RT_EUSAGE: too many. */
int rt_serving_list_candidates(struct rt_serving_plan *plan);

/* The engine that a candidate fails by, where one is refused, else the one that decodes. */
const struct rt_serving_engine *rt_serving_failing_engine(const struct rt_serving_plan *plan,
                                                          size_t candidate);

/* Simulates a candidate: numbers (RT_PLANNED_NUMBERS). */
int rt_serving_simulate(const struct rt_serving_plan *plan, size_t candidate, double *numbers);

/* --- what became of them, and why: each is counted once; what would help where none can be --- */

struct rt_serving_reason {
    enum rt_serving_fate fate;
    uint32_t gpu;
    uint32_t quant;    /* of what does not fit; else UINT32_MAX */
    const char *words; /* borrowed from the plan, or constant */
    size_t candidates;
    /* By how much the nearest of them fails: bytes of a GPU of what does not fit, us of targets, a share of
     * the rate that comes; NaN: it does not fail by an amount. */
    double nearest;
    size_t example; /* the candidate that is nearest; the first where none is */
};

/* By GPU, then in the order of fates. Free with free(). */
struct rt_serving_reason *rt_serving_reasons(const struct rt_serving_plan *plan, size_t *count);

/* "cut", "weights" ...: names of fates in files. */
extern const char *const rt_serving_fates[RT_SERVING_FATES];

/* "by 3.2 GiB a GPU"; "" where nearest is NaN. Free with free(). */
char *rt_serving_reason_amount(const struct rt_serving_reason *reason);

/* RT_EUSAGE with a sentence of a plan none of whose engines can be: what is missing at least, and which more
 * GPUs, narrower weights or other GPUs would do. */
int rt_serving_refuse(const struct rt_serving_plan *plan);

/* --- the search, and what it found --- */

/* Searches. With `output` (may be NULL) simulations are kept in a journal beside it (base/point_journal.h),
 * so that a search that was killed goes on. The plan does not depend on how many threads there are.
 * RT_EINTERRUPTED after Ctrl-C; RT_EUSAGE where no cut of the model fits any of the GPUs: the sentence says
 * what would. Release in all cases. */
int rt_serving_plan_make(const struct rt_serving_request *request, struct rt_threads *pool,
                         const char *output, struct rt_serving_plan *out);

/* The best plan, the best of each GPU and number of GPUs, the front of each GPU, what became of all
 * candidates; a picture of the fronts. Free with rt_report_free. */
struct rt_report *rt_serving_plan_report(const struct rt_serving_plan *plan);

/* All candidates in CSV, a row each: what they are, what became of them, their bounds and their simulation.
 */
extern const struct rt_output_kind rt_serving_points_kind;

/* The file appears whole. */
int rt_serving_write_points(const struct rt_serving_plan *plan, const char *path);
