/* Words for candidates. See words.h. */
#include "predict/serving/plan/words.h"
#include "base/status.h"
#include "predict/serving/plan/cuts.h"
#include "predict/serving/plan/engine.h"

#include <inttypes.h>
#include <math.h>

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

const char *rt_serving_cache_dtype(const struct rt_serving_quant *quant)
{
    return quant->kv_bits == 8 ? "fp8" : rt_dtypes[quant->fp16_beside ? RT_FP16 : RT_BF16].name;
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
    double steps = (double)(plan->request->osl - 1);
    double answer_us = numbers[RT_PLANNED_TTFT_HALF] + steps * numbers[RT_PLANNED_TPOT_HALF];
    return llround(1e-6 * answer_us * numbers[RT_PLANNED_REQUESTS]);
}
