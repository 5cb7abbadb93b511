/* Counting candidates by what became of them. See reasons.h. */
#include "predict/serving/plan/reasons.h"
#include "base/status.h"
#include "base/text.h"
#include "predict/serving/plan/candidates.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const rt_serving_fates[RT_SERVING_FATES] = {"cut",        "weights",    "cache",  "ttft_bound",
                                                        "tpot_bound", "rate_bound", "below",  "ttft",
                                                        "tpot",       "rate",       "beaten", "front"};

/* Of RT_SERVING_CUT the engine says why. */
static const char *const words[RT_SERVING_FATES] = {
    NULL,
    "do not fit: weights and one request",
    "do not fit: caches of so many users",
    "first token too late, by their bound",
    "time between tokens too long, by their bound",
    "cannot keep up with the rate, by their bound",
    "below a plan that was simulated, by their bound",
    "first token too late, simulated",
    "time between tokens too long, simulated",
    "requests pile up, simulated",
    "meet the targets, beaten by another plan",
    "meet the targets, on the front of this GPU",
};

static bool is_memory(enum rt_serving_fate fate)
{
    return fate == RT_SERVING_WEIGHTS || fate == RT_SERVING_CACHE;
}

static double cache_missing(const struct rt_serving_plan *plan, const struct rt_serving_candidate *c)
{
    const struct rt_serving_engine *engine = &plan->engine[c->engine];
    double most = (double)rt_serving_engine_most_users(plan->request, engine);
    return ((double)c->users - most) * engine->request_bytes / (double)engine->cut.attention;
}

/* By how much a candidate fails. */
static double amount(const struct rt_serving_plan *plan, size_t candidate)
{
    const struct rt_serving_request *request = plan->request;
    const struct rt_serving_candidate *c = &plan->candidate[candidate];
    const double *numbers = rt_serving_numbers(plan, candidate);
    switch ((enum rt_serving_fate)plan->fate[candidate]) {
    case RT_SERVING_WEIGHTS:
        return rt_serving_failing_engine(plan, candidate)->missing_bytes;
    case RT_SERVING_CACHE:
        return cache_missing(plan, c);
    case RT_SERVING_SLOW_TTFT:
        return c->least_ttft_us - request->ttft_us;
    case RT_SERVING_SLOW_TPOT:
        return 1e6 / c->most_user - request->tpot_us;
    case RT_SERVING_MISSED_TTFT:
        return numbers[RT_PLANNED_TTFT] - request->ttft_us;
    case RT_SERVING_MISSED_TPOT:
        return numbers[RT_PLANNED_TPOT] - request->tpot_us;
    case RT_SERVING_MISSED_RATE:
        return 1 - numbers[RT_PLANNED_REQUESTS] / request->rate;
    default:
        return NAN;
    }
}

static struct rt_serving_reason reason_of(const struct rt_serving_plan *plan, size_t candidate)
{
    enum rt_serving_fate fate = (enum rt_serving_fate)plan->fate[candidate];
    const struct rt_serving_engine *engine = rt_serving_failing_engine(plan, candidate);
    return (struct rt_serving_reason){.fate = fate,
                                      .gpu = engine->gpu,
                                      .quant = is_memory(fate) ? engine->quant : UINT32_MAX,
                                      .words = fate == RT_SERVING_CUT ? engine->reason : words[fate],
                                      .nearest = NAN};
}

static bool same(const struct rt_serving_reason *a, const struct rt_serving_reason *b)
{
    return a->fate == b->fate && a->gpu == b->gpu && a->quant == b->quant &&
           (a->words == b->words || strcmp(a->words, b->words) == 0);
}

static int compare(const void *x, const void *y)
{
    const struct rt_serving_reason *a = x, *b = y;
    const int64_t ours[] = {a->gpu, a->fate, a->quant}, theirs[] = {b->gpu, b->fate, b->quant};
    for (size_t i = 0; i < RT_COUNT(ours); i++)
        if (ours[i] != theirs[i])
            return ours[i] < theirs[i] ? -1 : 1;
    return strcmp(a->words, b->words);
}

struct rt_serving_reason *rt_serving_reasons(const struct rt_serving_plan *plan, size_t *count)
{
    struct rt_serving_reason *reasons = rt_malloc(sizeof *reasons);
    size_t last = 0; /* neighbours mostly fail alike */
    *count = 0;
    for (size_t c = 0; c < plan->candidate_count; c++) {
        struct rt_serving_reason reason = reason_of(plan, c);
        if (last >= *count || !same(&reasons[last], &reason))
            for (last = 0; last < *count && !same(&reasons[last], &reason);)
                last++;
        if (last == *count) {
            reasons = rt_realloc(reasons, ++*count, sizeof *reasons);
            reasons[last] = reason;
        }
        reasons[last].candidates++;
        reasons[last].nearest = fmin(reasons[last].nearest, amount(plan, c)); /* drops a NaN */
    }
    qsort(reasons, *count, sizeof *reasons, compare);
    return reasons;
}

char *rt_serving_reason_amount(const struct rt_serving_reason *reason)
{
    if (isnan(reason->nearest))
        return rt_strdup("");
    if (is_memory(reason->fate))
        return rt_format("%.2f GiB a GPU", reason->nearest / 0x1p30);
    if (reason->fate == RT_SERVING_MISSED_RATE)
        return rt_format("%.1f%% of the rate", 100 * reason->nearest);
    return rt_format("%s ms", rt_number_text(reason->nearest / 1e3).text);
}
