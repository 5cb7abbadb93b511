/* Reasons to doubt a forecast. See prediction.h. */
#include "base/status.h"
#include "base/units.h"
#include "base/text.h"
#include "datasets/cluster.h"
#include "predict/step/prediction.h"
#include "predict/step/uncertainty.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

static const double MAIN_SHARE = 0.05; /* of the time: what has less is not warned of */

enum { FEW_GPUS = 3 };

/* The family's net that serves the model. */
static const struct rt_family_net *net_of(const struct rt_prediction *prediction, enum rt_family family)
{
    const struct rt_forecast *forecast = &prediction->forecast;
    for (size_t i = 0; i < forecast->launch_count; i++) {
        const struct rt_call *call = &forecast->launches[i].kernel.call;
        if (rt_ops[call->op].family == family)
            return rt_predictor_net(prediction->predictor, call->op, call->dtype);
    }
    return NULL;
}

/* "softmax on 2, moe on 1": families whose intervals rest on few GPUs, and how many; those with a small share
 * of the time are left out. */
static char *few_words(const struct rt_prediction *prediction)
{
    const struct rt_forecast *forecast = &prediction->forecast;
    double time_us[RT_FAMILY_COUNT] = {0}, sum = 0;
    struct rt_text words = {0};
    for (size_t i = 0; i < forecast->launch_count; i++) {
        double time = rt_forecast_launch_total(forecast, &forecast->launches[i]);
        time_us[rt_call_family(&forecast->launches[i].kernel.call)] += time;
        sum += time;
    }
    for (int f = 0; f < RT_FAMILY_COUNT; f++) {
        const struct rt_family_net *net = net_of(prediction, (enum rt_family)f);
        if (net == NULL || !rt_family_net_has_effects(net) || net->effects.count >= FEW_GPUS ||
            time_us[f] < MAIN_SHARE * sum)
            continue;
        rt_text_item(&words, ", ", "%s on %zu", rt_families[f].name, net->effects.count);
    }
    return rt_text_take(&words);
}

static char *few(const struct rt_prediction *prediction)
{
    char *words = few_words(prediction), *sentence = NULL;
    if (words[0] != '\0')
        sentence = rt_format("the interval is uncertain: some ops were measured on few GPUs (%s)", words);
    free(words);
    return sentence;
}

/* "only the weights are narrow" of a feature that is "1 where only the weights are narrow", else 0. */
static const char *plain_words(const char *what)
{
    static const char *const before[] = {"1 where ", "1 for ", "1 "};
    for (size_t i = 0; i < RT_COUNT(before); i++)
        if (strncmp(what, before[i], strlen(before[i])) == 0)
            return what + strlen(before[i]);
    return what;
}

/* Where the forecast extrapolates. */
static char *beyond(const struct rt_prediction *prediction)
{
    enum rt_family family = RT_FAMILY_LINEAR;
    int feature = 0;
    double share =
        rt_forecast_extrapolated_share(&prediction->forecast, prediction->predictor, &family, &feature);
    if (share < MAIN_SHARE)
        return NULL;
    return rt_format("%.0f%% of the time is in kernels unlike all that the predictor was fitted to, so it "
                     "may be off by more than the interval says (most of it in %s; what differs: %s); "
                     "measure such kernels and give them to `rooftile calibrate`",
                     100 * share, rt_families[family].name, plain_words(rt_features[feature].what));
}

/* "; batch 10 takes 39.88 GiB": the first change with which it fits. */
static char *remedy(const struct rt_fit_advice *advice)
{
    for (size_t c = 0; c < advice->change_count; c++)
        if (advice->changes[c].fit.fits)
            return rt_format("; %s takes %.1f", advice->changes[c].words,
                             advice->changes[c].fit.used_bytes / RT_GIB);
    return rt_strdup("");
}

static char *no_fit(const struct rt_prediction *prediction)
{
    const struct rt_forecast *forecast = &prediction->forecast;
    if (rt_forecast_fits(forecast))
        return NULL;
    char *words = remedy(&prediction->advice);
    bool nearly = !(forecast->taken.used > forecast->memory_bytes);
    char *sentence = rt_format("%s: the step needs %.1f GiB and %s has %.1f GiB%s%s",
                               nearly ? "may not fit" : "does not fit", forecast->taken.used / RT_GIB,
                               prediction->device.name, forecast->memory_bytes / RT_GIB,
                               nearly ? ", of which a tenth is kept for errors of the forecast" : "", words);
    free(words);
    return sentence;
}

static char *tight_fit(const struct rt_prediction *prediction)
{
    const struct rt_forecast *forecast = &prediction->forecast;
    if (!rt_forecast_fits(forecast) || !rt_forecast_is_tight(forecast))
        return NULL;
    return rt_format("memory is tight: a training step needs %.1f of %.1f GiB, and where the allocator frees "
                     "and maps memory in every step it takes longer than forecast (measured: from 0.9 of an "
                     "H100 on 1.3 to 10 times in 15 of 15 runs, from 0.8 on in 5 of 30)",
                     forecast->memory.total / RT_GIB, forecast->memory_bytes / RT_GIB);
}

static char *positions(const struct rt_prediction *prediction)
{
    if (!prediction->overlong)
        return NULL;
    return rt_format("%s has fewer positions than the sequence has tokens; the model would not run so",
                     prediction->model);
}

static char *unfinished(const struct rt_prediction *prediction)
{
    if (prediction->predictor->complete)
        return NULL;
    return rt_sentence(
        "%s is unfinished: its training was interrupted; `rooftile train` with {resume} ends it",
        prediction->predictor_name);
}

static char *emulated(const struct rt_prediction *prediction)
{
    if (prediction->graph.options.dtype != RT_BF16 || rt_device_has_bf16(&prediction->device))
        return NULL;
    return rt_sentence("%s has no units for bf16: PyTorch converts and computes in fp32 there, which is what "
                       "is forecast (vLLM refuses it); {dtype} fp16 is what such GPUs are used with",
                       prediction->device.name);
}

static char *weights_alone(const struct rt_prediction *prediction)
{
    if (!prediction->graph.options.weight_only)
        return NULL;
    return rt_sentence("%s has no units for fp4: weights of 4 bits are multiplied in 16 there, which is what "
                       "is forecast, as %s (vLLM's Marlin kernels; the scales of NVFP4 take 1/16 byte a "
                       "weight more); {dtype} asks for another",
                       prediction->device.name, rt_dtypes[prediction->graph.products].name);
}

static char *roofline(const struct rt_prediction *prediction)
{
    if (!(prediction->forecast.source_us[RT_TIME_ROOFLINE] > 0) ||
        !rt_predictor_is_fitted(prediction->predictor))
        return NULL;
    return rt_sentence(
        "{fallback}: part of the time is the bare roofline, which is a lower bound, not a forecast");
}

/* Two collectives a layer, forward alone. */
static char *over_servers(const struct rt_prediction *prediction)
{
    const struct rt_parallelism *parallel = &prediction->settled.step.parallel;
    struct rt_group_places tensor = rt_parallelism_group(parallel, RT_GROUP_TENSOR);
    struct rt_cluster cluster = rt_cluster_settled(&parallel->cluster, &prediction->device);
    if (tensor.gpus <= cluster.node_gpus)
        return NULL;
    return rt_sentence("{tp} %" PRId64 ": the tensor-parallel GPUs lie in several servers of %" PRId64
                       ", so that every layer waits for the network; {tp} %" PRId64
                       " stays in one, and {node_gpus} says how many a server or NVLink domain has",
                       tensor.gpus, cluster.node_gpus, cluster.node_gpus);
}

char *rt_prediction_warning(const struct rt_prediction *prediction, enum rt_warning warning)
{
    if (prediction->refused != NULL)
        return NULL;
    static char *(*const reasons[RT_WARNING_COUNT])(const struct rt_prediction *) = {
        [RT_WARNING_MEMORY] = no_fit,
        [RT_WARNING_TIGHT] = tight_fit,
        [RT_WARNING_POSITIONS] = positions,
        [RT_WARNING_UNFINISHED] = unfinished,
        [RT_WARNING_EMULATED] = emulated,
        [RT_WARNING_ROOFLINE] = roofline,
        [RT_WARNING_WEIGHTS] = weights_alone,
        [RT_WARNING_BEYOND] = beyond,
        [RT_WARNING_FEW] = few,
        [RT_WARNING_SERVERS] = over_servers,
    };
    return reasons[warning](prediction);
}
