/* Remedies for a model that does not fit. See remedy.h. */
#include "predict/serving/plan/remedy.h"
#include "base/status.h"
#include "base/text.h"
#include "predict/serving/plan/cuts.h"
#include "predict/serving/plan/engine.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

enum { MOST_GPUS = 1024 };

/* Does any cut over so many GPUs hold weights and one request? */
static bool fits(const struct rt_serving_request *request, const struct rt_device *device,
                 const struct rt_serving_quant *quant, int64_t gpus)
{
    size_t count;
    struct rt_serving_quant on = rt_serving_quant_on(device, quant);
    struct rt_engine_cut *cut = rt_serving_cuts(&request->source->model, &gpus, 1, &count);
    bool found = false;
    for (size_t c = count; c-- > 0 && !found;) { /* the most GPUs first */
        struct rt_graph_memory memory;
        struct rt_scheduler scheduler = rt_server_scheduler(request->server, device, cut[c].tensor);
        found = rt_serving_has_units(device, &on) &&
                rt_serving_least_memory(request, &cut[c], &on, &memory) == RT_OK &&
                rt_server_kv_allocation(&scheduler, device->memory_gib, memory.total) >= 0;
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
                    rt_text_item(out, ", or ", "--gpus %" PRId64 " (%s in %s)", gpus,
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
                rt_text_item(out, ", or ", "--quantisation %s (on %s)", rt_dtypes[narrow[n]].name,
                             request->gpu[g].device.name);
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
        rt_text_item(out, ", or ", "--gpu \"%s\" (%.0f GiB)", best.name, best.memory_gib);
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
                rt_serving_cut_words(&nearest->cut).text, nearest->missing_bytes / 0x1p30,
                helps.length > 0 ? "what would fit: " : "nothing that was tried would fit",
                helps.length > 0 ? helps.text : "");
    rt_text_release(&helps);
    return status;
}
