/* Counting candidates by what became of them. See plan.h. */
#include "base/status.h"
#include "base/text.h"
#include "base/units.h"
#include "predict/serving/plan/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

const char *const rt_serving_fates[RT_SERVING_FATES] = {"cut",        "weights",    "cache",  "ttft_bound",
                                                        "tpot_bound", "rate_bound", "below",  "ttft",
                                                        "tpot",       "rate",       "beaten", "front"};

/* Of RT_SERVING_CUT the engine says why. */
static const char *const words[RT_SERVING_FATES] = {
    NULL,
    "weights and one request do not fit",
    "caches of so many users do not fit",
    "TTFT too long, by its bound",
    "TPOT too long, by its bound",
    "too slow for the rate, by its bound",
    "below a simulated plan, by its bound",
    "TTFT too long, simulated",
    "TPOT too long, simulated",
    "requests pile up, simulated",
    "meet the targets, beaten",
    "meet the targets, on the front",
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

/* By how much percentiles are above their targets at most. */
static double above(const struct rt_serving_target *target, const double *percentiles)
{
    double most = NAN;
    for (int p = 0; p < RT_SERVING_PERCENTILES; p++)
        most = fmax(most, percentiles[p] - target->us[p]); /* drops a NaN */
    return most;
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
        return c->least_ttft_us - rt_serving_target_least(&request->ttft);
    case RT_SERVING_SLOW_TPOT:
        return 1e6 / c->most_user - rt_serving_target_least(&request->tpot);
    case RT_SERVING_MISSED_TTFT:
        return above(&request->ttft, numbers + RT_PLANNED_TTFT);
    case RT_SERVING_MISSED_TPOT:
        return above(&request->tpot, numbers + RT_PLANNED_TPOT);
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
                                      .nearest = NAN,
                                      .example = candidate};
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
        double by = amount(plan, c);
        if (by < reasons[last].nearest || (isnan(reasons[last].nearest) && !isnan(by))) {
            reasons[last].nearest = by;
            reasons[last].example = c;
        }
    }
    qsort(reasons, *count, sizeof *reasons, compare);
    return reasons;
}

char *rt_serving_reason_amount(const struct rt_serving_reason *reason)
{
    if (isnan(reason->nearest))
        return rt_strdup("");
    if (is_memory(reason->fate))
        return rt_format("%.2f GiB a GPU", reason->nearest / RT_GIB);
    if (reason->fate == RT_SERVING_MISSED_RATE)
        return rt_format("%.1f%% of the rate", 100 * reason->nearest);
    return rt_format("%s ms", rt_number_text(reason->nearest / 1e3).text);
}

/* --- what would help a model that fits on no cut of any GPU that was asked for --- */

enum { MOST_GPUS = 1024 };

/* Does any cut over so many GPUs hold weights and one request? */
static bool fits(const struct rt_serving_request *request, const struct rt_device *device,
                 const struct rt_serving_quant *quant, int64_t gpus)
{
    size_t count;
    struct rt_serving_quant on = rt_serving_quant_on(device, quant);
    struct rt_parallelism *cut = rt_serving_cuts(&request->source->model, request->server, &gpus, 1, &count);
    bool found = false;
    for (size_t c = count; c-- > 0 && !found;) { /* the most GPUs first */
        double weights, missing;
        found = rt_serving_has_units(device, &on) &&
                rt_serving_missing_bytes(request, device, &cut[c], &on, &weights, &missing) == RT_OK &&
                missing <= 0;
    }
    free(cut);
    return found;
}

/* Twice, four times ... as many of the first kind that does with them. */
static void add_more_gpus(const struct rt_serving_request *request, struct rt_text *out)
{
    int64_t gpus = request->gpus[request->gpus_count - 1];
    for (gpus *= 2; gpus <= MOST_GPUS; gpus *= 2)
        for (size_t g = 0; g < request->gpu_count; g++)
            for (size_t q = 0; q < request->quant_count; q++)
                if (fits(request, &request->gpu[g].device, &request->quant[q], gpus)) {
                    rt_text_item(out, ", or ", "%s %" PRId64 " (%s in %s)", rt_field_words("gpus").text, gpus,
                                 request->gpu[g].device.name, rt_dtypes[request->quant[q].dtype].name);
                    return;
                }
}

/* The widest that does. */
static void add_quant(const struct rt_serving_request *request, struct rt_text *out)
{
    static const enum rt_dtype narrow[] = {RT_FP8, RT_INT4};
    for (size_t n = 0; n < RT_COUNT(narrow); n++)
        for (size_t g = 0; g < request->gpu_count; g++) {
            struct rt_serving_quant quant = request->quant[0];
            quant.dtype = narrow[n];
            if (fits(request, &request->gpu[g].device, &quant, request->gpus[request->gpus_count - 1])) {
                rt_text_item(out, ", or ", "%s %s (on %s)", rt_field_words("quantisation").text,
                             rt_dtypes[narrow[n]].name, request->gpu[g].device.name);
                return;
            }
        }
}

/* The GPU of the catalogue with the least memory that does. */
static void add_other_gpu(const struct rt_serving_request *request, struct rt_text *out)
{
    struct rt_device best = {.name = ""};
    for (size_t i = 0; i < rt_device_catalogue_size(); i++) {
        struct rt_device device;
        if (rt_device_catalogue(i, &device) != RT_OK || isnan(device.memory_gib) ||
            (best.name[0] != '\0' && device.memory_gib >= best.memory_gib))
            continue;
        for (size_t q = 0; q < request->quant_count; q++)
            if (fits(request, &device, &request->quant[q], request->gpus[request->gpus_count - 1])) {
                best = device;
                break;
            }
    }
    if (best.name[0] != '\0')
        rt_text_item(out, ", or ", "%s \"%s\" (%.0f GiB)", rt_field_words("gpu").text, best.name,
                     best.memory_gib);
}

int rt_serving_refuse(const struct rt_serving_plan *plan)
{
    const struct rt_serving_request *request = plan->request;
    const struct rt_serving_engine *nearest = NULL;
    struct rt_text helps = {0};
    for (size_t e = 0; e < plan->engine_count; e++)
        if (plan->engine[e].refused == RT_SERVING_WEIGHTS &&
            (nearest == NULL || plan->engine[e].missing_bytes < nearest->missing_bytes))
            nearest = &plan->engine[e];
    if (nearest == NULL)
        return rt_fail(RT_EUSAGE, "%s: no plan: %s", request->source->spec, plan->engine[0].reason);
    add_more_gpus(request, &helps);
    add_quant(request, &helps);
    add_other_gpu(request, &helps);
    int status =
        rt_fail(RT_EUSAGE,
                "%s fits on no cut of %" PRId64 " GPUs: in %s on %s (%s) each GPU lacks %.2f GiB for "
                "weights and one request; %s%s",
                request->source->spec, request->gpus[request->gpus_count - 1],
                rt_dtypes[request->quant[nearest->quant].dtype].name, request->gpu[nearest->gpu].device.name,
                rt_serving_cut_words(&nearest->cut).text, nearest->missing_bytes / RT_GIB,
                helps.length > 0 ? "what would fit: " : "nothing that was tried would fit",
                helps.length > 0 ? helps.text : "");
    rt_text_release(&helps);
    return status;
}
