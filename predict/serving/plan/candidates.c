/* Candidates and their bounds. See plan.h. */
#include "predict/serving/plan/plan.h"
#include "base/array.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_CANDIDATES = 8000000 };

const struct rt_serving_engine *rt_serving_failing_engine(const struct rt_serving_plan *plan,
                                                          size_t candidate)
{
    const struct rt_serving_candidate *c = &plan->candidate[candidate];
    const struct rt_serving_engine *prefill = &plan->engine[c->prefill], *engine = &plan->engine[c->engine];
    return prefill->refused != RT_SERVING_FATES ? prefill : engine;
}

/* --- bounds --- */

/* The place of a candidate's users among the rates of its engine; with a rate that of all that fit. */
static size_t level_of(const struct rt_serving_plan *plan, const struct rt_serving_candidate *c)
{
    size_t level = 0;
    if (c->users == 0)
        return plan->engine[c->engine].levels;
    while (plan->request->level[level] != c->users)
        level++;
    return level;
}

/* Requests a second that all its servers answer at most. */
static double most_requests(const struct rt_serving_plan *plan, const struct rt_serving_candidate *c)
{
    const struct rt_serving_engine *engine = &plan->engine[c->engine];
    size_t level = level_of(plan, c);
    int64_t spare = plan->request->spare;
    double left = fmax((double)(c->engines - spare), 0);
    if (c->prefills == 0)
        return left * engine->requests_rate[level];
    return fmin(fmax((double)(c->prefills - spare), 0) * plan->engine[c->prefill].prompts_rate,
                left * engine->decodes_rate[level]);
}

/* Little's law, engine.h, of the time in the servers: a request's way to them keeps nobody from coming.
 * Without a target the wait for the first token is that for everybody's prompts. Where requests differ the
 * law says nothing of how their times are shared out. */
static double least_tpot_us(const struct rt_serving_plan *plan, const struct rt_serving_candidate *c,
                            double rate)
{
    const struct rt_serving_request *request = plan->request;
    const struct rt_serving_engine *engine = &plan->engine[c->engine], *prefill = &plan->engine[c->prefill];
    double users = (double)c->users * c->engines, served = c->prefills > 0 ? c->prefills : c->engines;
    double target_us = rt_serving_target_most(&request->ttft);
    double wait_us = isnan(target_us)
                         ? ceil(users / served) * prefill->longest_prompt_us / (1 - RT_SERVING_SLACK)
                         : fmax(target_us - request->server->request_us, 0);
    if (request->traffic.varied)
        return engine->token_us;
    if (c->users == 0) {
        const double *rates = c->prefills > 0 ? engine->decodes_rate : engine->requests_rate;
        double left = (double)(c->engines - request->spare);
        users = (1 - RT_SERVING_SLACK) * left *
                rt_serving_engine_least_users(request, engine, rates, request->rate / left);
        rate = request->rate;
    }
    wait_us += c->users > 0 ? request->load.think_us : 0;
    double us = (1e6 * users / rate - wait_us) / (request->traffic.output - 1);
    return fmax(us, engine->token_us);
}

static void set_bounds(const struct rt_serving_plan *plan, struct rt_serving_candidate *c)
{
    const struct rt_serving_request *request = plan->request;
    double rate = most_requests(plan, c);
    c->least_ttft_us = plan->engine[c->prefill].prompt_us + request->server->request_us;
    c->most_user = 1e6 / least_tpot_us(plan, c, rate);
    c->most_gpu = (c->users > 0 ? rate : request->rate) * request->traffic.output / c->gpus;
}

/* --- fates that need no simulation --- */

static bool caches_fit(const struct rt_serving_plan *plan, const struct rt_serving_candidate *c)
{
    int64_t most = rt_serving_engine_most_users(plan->request, &plan->engine[c->engine]);
    return c->users <= most;
}

static enum rt_serving_fate fate_of(const struct rt_serving_plan *plan, struct rt_serving_candidate *c)
{
    const struct rt_serving_request *request = plan->request;
    const struct rt_serving_engine *prefill = &plan->engine[c->prefill], *engine = &plan->engine[c->engine];
    if (prefill->refused != RT_SERVING_FATES || engine->refused != RT_SERVING_FATES)
        return prefill->refused != RT_SERVING_FATES ? prefill->refused : engine->refused;
    if (!caches_fit(plan, c))
        return RT_SERVING_CACHE;
    set_bounds(plan, c);
    if ((!isnan(request->rate) && c->engines <= request->spare) ||
        (c->prefills > 0 && c->prefills <= request->spare))
        return RT_SERVING_SLOW_RATE;
    if (request->exhaustive)
        return RT_SERVING_FRONT;
    if (c->least_ttft_us > rt_serving_target_least(&request->ttft)) /* not of NaN */
        return RT_SERVING_SLOW_TTFT;
    if (most_requests(plan, c) < request->rate)
        return RT_SERVING_SLOW_RATE;
    if (1e6 / c->most_user > rt_serving_target_least(&request->tpot))
        return RT_SERVING_SLOW_TPOT;
    return RT_SERVING_FRONT;
}

/* --- the list --- */

struct list {
    struct rt_serving_plan *plan;
    size_t room;
    bool full;
};

static void add(struct list *list, struct rt_serving_candidate candidate)
{
    struct rt_serving_plan *plan = list->plan;
    list->full |= plan->candidate_count >= MOST_CANDIDATES;
    if (list->full)
        return;
    RT_GROW(plan->candidate, plan->candidate_count, 1, list->room);
    plan->candidate[plan->candidate_count++] = candidate;
}

/* With every number of users. */
static void add_levels(struct list *list, struct rt_serving_candidate candidate)
{
    const struct rt_serving_request *request = list->plan->request;
    if (!isnan(request->rate))
        add(list, candidate);
    for (size_t l = 0; isnan(request->rate) && l < request->level_count; l++) {
        candidate.users = (int32_t)request->level[l];
        add(list, candidate);
    }
}

/* Is there the same candidate in a part of the GPUs? */
static bool is_multiple(const struct rt_serving_request *request, size_t count, int64_t prefills,
                        int64_t engines)
{
    for (size_t g = 0; isnan(request->rate) && g < count; g++) {
        int64_t times = request->gpus[count] / request->gpus[g];
        if (request->gpus[count] % request->gpus[g] == 0 && prefills % times == 0 && engines % times == 0)
            return true;
    }
    return false;
}

static void add_alone(struct list *list, size_t e)
{
    const struct rt_serving_request *request = list->plan->request;
    int64_t gpus = list->plan->engine[e].gpus;
    for (size_t g = 0; g < request->gpus_count; g++)
        if (request->gpus[g] % gpus == 0 && !is_multiple(request, g, 0, request->gpus[g] / gpus))
            add_levels(list, (struct rt_serving_candidate){.prefill = (uint32_t)e,
                                                           .engine = (uint32_t)e,
                                                           .engines = (int32_t)(request->gpus[g] / gpus),
                                                           .gpus = (int32_t)request->gpus[g]});
}

static void add_pair(struct list *list, size_t prefill, size_t engine, size_t g)
{
    const struct rt_serving_request *request = list->plan->request;
    int64_t all = request->gpus[g], ours = list->plan->engine[prefill].gpus,
            theirs = list->plan->engine[engine].gpus;
    for (int64_t prefills = 1; prefills * ours < all; prefills++) {
        int64_t left = all - prefills * ours;
        if (left % theirs == 0 && !is_multiple(request, g, prefills, left / theirs))
            add_levels(list, (struct rt_serving_candidate){.prefill = (uint32_t)prefill,
                                                           .engine = (uint32_t)engine,
                                                           .prefills = (int32_t)prefills,
                                                           .engines = (int32_t)(left / theirs),
                                                           .gpus = (int32_t)all});
    }
}

int rt_serving_list_candidates(struct rt_serving_plan *plan)
{
    const struct rt_serving_request *request = plan->request;
    struct list list = {.plan = plan};
    for (size_t e = 0; e < plan->engine_count; e++)
        add_alone(&list, e);
    for (size_t p = 0; request->disaggregate && p < plan->engine_count; p++)
        for (size_t e = 0; e < plan->engine_count; e++)
            for (size_t g = 0; g < request->gpus_count && plan->engine[p].gpu == plan->engine[e].gpu &&
                               plan->engine[p].quant == plan->engine[e].quant;
                 g++)
                add_pair(&list, p, e, g);
    if (list.full)
        return rt_fail(RT_EUSAGE,
                       "there are more than %d ways to serve it; leave some out with {gpus}, {quantisation}, "
                       "{users} or {no_disaggregation}",
                       MOST_CANDIDATES);
    plan->fate = rt_malloc(plan->candidate_count + 1);
    for (size_t c = 0; c < plan->candidate_count; c++)
        plan->fate[c] = (uint8_t)fate_of(plan, &plan->candidate[c]);
    return RT_OK;
}

/* --- simulation --- */

/* Requests that come at a rate, where nobody says how many. */
enum { COMING = 1000 };

static struct rt_serve_group group_of(const struct rt_serving_plan *plan, uint32_t e, int64_t replicas)
{
    struct rt_serve_group group = plan->engine[e].deployment.group;
    group.replicas = replicas;
    return group;
}

struct move {
    const struct rt_serving_plan *plan;
    const struct rt_serving_engine *prefill;
};

static double move_us(const void *context, int64_t tokens)
{
    const struct move *move = context;
    return rt_step_cost_move_us(move->prefill->deployment.cost, (double)tokens,
                                move->plan->request->move_gbs);
}

/* The load of `rooftile serve`. */
static struct rt_serve_load load_of(const struct rt_serving_plan *plan, const struct rt_serving_candidate *c,
                                    const struct rt_serve_system *system)
{
    const struct rt_serving_request *request = plan->request;
    int64_t users = (int64_t)c->users * c->engines;
    bool lasts = users > 0 && isnan(request->load.ramp_us);
    struct rt_serve_load load = request->load;
    load.arrivals = users > 0 ? RT_CLOSED_LOOP : load.trace != NULL ? RT_TRACE : RT_POISSON;
    load.concurrency = users;
    load.rate = request->rate;
    load.seed = request->seed;
    load.ramp_us = users > 0 && !lasts ? load.ramp_us : 0;
    if (users > 0)
        load.requests = request->requests > 0 ? (lasts + request->requests) * users : 0;
    else
        load.requests = request->requests > 0 || load.trace != NULL ? request->requests : COMING;
    if (lasts)
        rt_serve_load_last(&load, system);
    return load;
}

static void set_percentiles(const struct rt_serve_quantiles *quantiles, double *out)
{
    out[0] = quantiles->p50;
    out[1] = quantiles->p90;
    out[2] = quantiles->p99;
}

static double idle_of(const struct rt_serve_result *result)
{
    double busy_us = 0;
    for (int k = 0; k < RT_SERVE_STEPS; k++)
        busy_us += result->time_us[k];
    return result->idle_us / fmax(result->idle_us + busy_us, 1e-9);
}

/* Of a decode step of its users at their mean context; with a rate of one. */
static double interval_of(const struct rt_serving_plan *plan, const struct rt_serving_candidate *c)
{
    const struct rt_serving_request *request = plan->request;
    const struct rt_deployment *deployment = &plan->engine[c->engine].deployment;
    const struct rt_serve_batch batch = rt_deployment_decodes(
        deployment, c->users > 0 ? c->users : 1, request->traffic.input + request->traffic.output / 2);
    return rt_deployment_ln_half_width(deployment, &batch);
}

/* Of users who ask again those that were answered; a rate: as many as come, where they do not pile up: then
 * the last is answered not long after it came. */
static double requests_per_s(const struct rt_serving_plan *plan, const struct rt_serve_load *load,
                             const struct rt_serving_candidate *c, const struct rt_serve_result *result)
{
    double coming_us = 1e6 * (double)rt_serve_load_requests(load) / plan->request->rate;
    double alone_us = plan->engine[c->prefill].longest_prompt_us +
                      plan->request->traffic.output * fmax(result->tpot_us.p99, result->tpot_us.p50);
    bool keeps_up = c->users == 0 && result->duration_us <= 1.15 * coming_us + 2 * alone_us;
    return keeps_up ? plan->request->rate : result->requests_per_s;
}

int rt_serving_simulate(const struct rt_serving_plan *plan, size_t candidate, double *numbers)
{
    const struct rt_serving_request *request = plan->request;
    const struct rt_serving_candidate *c = &plan->candidate[candidate];
    const struct move move = {plan, &plan->engine[c->prefill]};
    bool alone = c->prefills == 0;
    int64_t spare = c->users > 0 ? 0 : request->spare;
    struct rt_serve_system system = {
        .serve = group_of(plan, c->prefill, (alone ? c->engines : c->prefills) - spare),
        .router = RT_LEAST_LOADED};
    const struct rt_serve_options options = {.ttft_target_us = rt_serving_target_most(&request->ttft),
                                             .tpot_target_us = rt_serving_target_most(&request->tpot)};
    struct rt_serve_result result;
    if (!alone) {
        system.decode = group_of(plan, c->engine, c->engines - spare);
        system.transfer_us = move_us;
        system.transfer_context = &move;
        system.transfer_overlap = true;
    }
    struct rt_serve_load load = load_of(plan, c, &system);
    int status = rt_serve_simulate(&load, &system, &options, &result);
    if (status != RT_OK)
        return status;
    set_percentiles(&result.ttft_us, numbers + RT_PLANNED_TTFT);
    set_percentiles(&result.tpot_us, numbers + RT_PLANNED_TPOT);
    numbers[RT_PLANNED_REQUESTS] = requests_per_s(plan, &load, c, &result);
    numbers[RT_PLANNED_TOKENS] =
        numbers[RT_PLANNED_REQUESTS] * result.output_tokens / (double)result.requests;
    numbers[RT_PLANNED_GOOD] = numbers[RT_PLANNED_REQUESTS] * result.good_requests / (double)result.requests;
    numbers[RT_PLANNED_INTERVAL] = interval_of(plan, c);
    numbers[RT_PLANNED_WAITING] = result.waiting_mean;
    numbers[RT_PLANNED_IDLE] = idle_of(&result);
    return RT_OK;
}
