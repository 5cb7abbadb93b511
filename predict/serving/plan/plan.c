/* What is known of a plan's candidates. See plan.h. */
#include "predict/serving/plan/plan.h"
#include "base/status.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

void rt_serving_plan_release(struct rt_serving_plan *plan)
{
    for (size_t e = 0; e < plan->engine_count; e++)
        rt_serving_engine_release(&plan->engine[e]);
    free(plan->engine);
    free(plan->candidate);
    free(plan->fate);
    free(plan->found);
    free(plan->simulated);
    *plan = (struct rt_serving_plan){.request = NULL};
}

const double *rt_serving_numbers(const struct rt_serving_plan *plan, size_t candidate)
{
    uint32_t row = plan->simulated[candidate];
    return row == UINT32_MAX ? NULL : plan->found + (size_t)row * RT_PLANNED_NUMBERS;
}

double rt_serving_shown_us(const struct rt_serving_plan *plan, size_t candidate, int what)
{
    const double *numbers = rt_serving_numbers(plan, candidate);
    return numbers != NULL ? numbers[what + plan->request->percentile] : NAN;
}

double rt_serving_miss(const struct rt_serving_plan *plan, size_t candidate)
{
    const struct rt_serving_request *request = plan->request;
    const struct rt_serving_candidate *c = &plan->candidate[candidate];
    const double *numbers = rt_serving_numbers(plan, candidate);
    const double ttft = c->least_ttft_us, tpot = 1e6 / c->most_user;
    const double bounds[] = {ttft, ttft, ttft, tpot, tpot, tpot};
    const double *times = numbers != NULL ? numbers : bounds;
    return fmax(rt_serving_target_miss(&request->ttft, times + RT_PLANNED_TTFT),
                rt_serving_target_miss(&request->tpot, times + RT_PLANNED_TPOT));
}

double rt_serving_user_rate(const struct rt_serving_plan *plan, size_t candidate)
{
    const double *numbers = rt_serving_numbers(plan, candidate);
    return numbers != NULL ? 1e6 / numbers[RT_PLANNED_TPOT] : NAN;
}

double rt_serving_gpu_rate(const struct rt_serving_plan *plan, size_t candidate)
{
    const double *numbers = rt_serving_numbers(plan, candidate);
    return numbers != NULL ? numbers[RT_PLANNED_TOKENS] / plan->candidate[candidate].gpus : NAN;
}

double rt_serving_price(const struct rt_serving_plan *plan, size_t candidate)
{
    const struct rt_serving_engine *engine = &plan->engine[plan->candidate[candidate].engine];
    double tokens = rt_serving_gpu_rate(plan, candidate) / (1 + plan->request->headroom);
    return plan->request->gpu[engine->gpu].price / 3600 * 1e6 / tokens;
}

/* --- the best --- */

/* Less is better: of money where all have a price, else of GPUs' time. */
static double worth(const struct rt_serving_plan *plan, size_t candidate)
{
    const struct rt_serving_request *request = plan->request;
    const struct rt_serving_candidate *c = &plan->candidate[candidate];
    bool priced = true;
    for (size_t g = 0; g < request->gpu_count; g++)
        priced &= !isnan(request->gpu[g].price);
    if (!isnan(request->rate))
        return c->gpus * (priced ? request->gpu[plan->engine[c->engine].gpu].price : 1);
    return priced ? rt_serving_price(plan, candidate) : -rt_serving_gpu_rate(plan, candidate);
}

int64_t rt_serving_best(const struct rt_serving_plan *plan, size_t gpu, int64_t gpus)
{
    int64_t best = -1;
    for (size_t c = 0; c < plan->candidate_count; c++) {
        const struct rt_serving_candidate *candidate = &plan->candidate[c];
        if (plan->fate[c] != RT_SERVING_FRONT && plan->fate[c] != RT_SERVING_BEATEN)
            continue;
        bool had =
            gpus == 0 || (isnan(plan->request->rate) ? gpus % candidate->gpus == 0 : candidate->gpus == gpus);
        if (!had || (gpu != SIZE_MAX && plan->engine[candidate->engine].gpu != gpu))
            continue;
        double ours = worth(plan, c), theirs = best >= 0 ? worth(plan, (size_t)best) : INFINITY;
        bool equal = best >= 0 && ours == theirs;
        if (ours < theirs ||
            (equal && (candidate->gpus < plan->candidate[best].gpus ||
                       (candidate->gpus == plan->candidate[best].gpus &&
                        rt_serving_user_rate(plan, c) > rt_serving_user_rate(plan, (size_t)best)))))
            best = (int64_t)c;
    }
    return best;
}

/* --- words --- */

char *rt_serving_servers_words(const struct rt_serving_plan *plan, size_t candidate, int64_t times)
{
    const struct rt_serving_candidate *c = &plan->candidate[candidate];
    int64_t prefills = times * c->prefills, engines = times * c->engines;
    struct rt_serving_cut_words engine = rt_serving_cut_words(&plan->engine[c->engine].cut),
                                prefill = rt_serving_cut_words(&plan->engine[c->prefill].cut);
    return c->prefills == 0 ? rt_format("%" PRId64 " x (%s)", engines, engine.text)
                            : rt_format("%" PRId64 " x (%s) prefill, %" PRId64 " x (%s) decode", prefills,
                                        prefill.text, engines, engine.text);
}

static struct rt_serving_quant quant_of(const struct rt_serving_plan *plan, size_t candidate)
{
    const struct rt_serving_engine *engine = &plan->engine[plan->candidate[candidate].engine];
    return rt_serving_quant_on(&plan->request->gpu[engine->gpu].device, &plan->request->quant[engine->quant]);
}

const char *rt_serving_weights_name(const struct rt_serving_plan *plan, size_t candidate)
{
    return rt_dtypes[quant_of(plan, candidate).dtype].name;
}

const char *rt_serving_cache_name(const struct rt_serving_plan *plan, size_t candidate)
{
    struct rt_serving_quant quant = quant_of(plan, candidate);
    return rt_serving_cache_dtype(&quant);
}

int64_t rt_serving_users(const struct rt_serving_plan *plan, size_t candidate)
{
    const struct rt_serving_candidate *c = &plan->candidate[candidate];
    const double *numbers = rt_serving_numbers(plan, candidate);
    if (c->users > 0 || numbers == NULL)
        return (int64_t)c->users * c->engines;
    double steps = plan->request->traffic.output - 1;
    double answer_us = numbers[RT_PLANNED_TTFT] + steps * numbers[RT_PLANNED_TPOT]; /* medians */
    return llround(1e-6 * answer_us * numbers[RT_PLANNED_REQUESTS]);
}
