/* Reasons to doubt a forecast. See prediction.h. */
#include "base/status.h"
#include "base/text.h"
#include "predict/forecast/prediction.h"

#include <stdlib.h>

static const double GIB = 1073741824.0;
static const double MAIN_SHARE = 0.05; /* of the time: what has less is not warned of */
enum { FEW_GPUS = 3 };

/* The family's net that serves the model. */
static const struct rt_family_net *net_of(const struct rt_prediction *prediction, enum rt_family family)
{
    const struct rt_forecast *forecast = &prediction->forecast;
    for (size_t i = 0; i < forecast->launch_count; i++) {
        enum rt_op_id op = forecast->launches[i].kernel.call.op;
        if (rt_ops[op].family == family)
            return rt_predictor_net(prediction->predictor, op, forecast->graph->options.dtype);
    }
    return NULL;
}

/* "softmax 2, moe 1": families whose intervals rest on few GPUs, and how many; those with a small share of
 * the time are left out. */
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
        if (net == NULL || !rt_heads[net->head].effects || net->effects.count >= FEW_GPUS ||
            time_us[f] < MAIN_SHARE * sum)
            continue;
        rt_text_item(&words, ", ", "%s %zu", rt_families[f].name, net->effects.count);
    }
    return rt_text_take(&words);
}

/* Where the forecast extrapolates. */
static size_t add_doubts(const struct rt_prediction *prediction, char *warnings[RT_MAX_WARNINGS],
                         size_t count)
{
    enum rt_family family = RT_FAMILY_LINEAR;
    int feature = 0;
    double beyond = rt_forecast_beyond(&prediction->forecast, prediction->predictor, &family, &feature);
    if (beyond >= MAIN_SHARE)
        warnings[count++] =
            rt_format("%.0f%% of the time is in kernels beyond what the predictor was fitted to (%s: %s)",
                      100 * beyond, rt_families[family].name, rt_features[feature].name);
    char *few = few_words(prediction);
    if (few[0] != '\0')
        warnings[count++] = rt_format("few GPUs were measured for some families, so their intervals are "
                                      "uncertain (%s)",
                                      few);
    free(few);
    return count;
}

/* NeuSight's training runs that need 0.81, 0.88 and 0.91 of an MI210: the first and the last spend 700 and
 * 540 ms more in the forward pass than their kernels take. Runs that need less than 0.55 do not. */
static bool tight(const struct rt_forecast *forecast)
{
    return forecast->graph->options.step == RT_STEP_TRAINING &&
           forecast->memory.total > 0.75 * forecast->memory_bytes;
}

size_t rt_prediction_warnings(const struct rt_prediction *prediction, char *warnings[RT_MAX_WARNINGS])
{
    const struct rt_forecast *forecast = &prediction->forecast;
    const struct rt_predictor *predictor = prediction->predictor;
    size_t count = 0;
    if (!rt_forecast_fits(forecast))
        warnings[count++] =
            rt_format("does not fit: the step needs %.1f GiB and %s has %.1f GiB",
                      forecast->memory.total / GIB, prediction->device.name, forecast->memory_bytes / GIB);
    else if (tight(forecast))
        warnings[count++] =
            rt_format("memory is tight: a training step needs %.1f of %.1f GiB, and where the "
                      "allocator frees and maps memory in every step it takes longer than "
                      "forecast (of three such runs that were measured, two: 1.3 and 1.6 times)",
                      forecast->memory.total / GIB, forecast->memory_bytes / GIB);
    if (prediction->overlong)
        warnings[count++] = rt_format("%s has fewer positions than the sequence has tokens; the model "
                                      "would not run so",
                                      prediction->model);
    if (!predictor->complete)
        warnings[count++] =
            rt_format("%s is unfinished: its training was interrupted", prediction->predictor_name);
    if (forecast->source_us[RT_TIME_ROOFLINE] > 0 && rt_predictor_is_fitted(predictor))
        warnings[count++] = rt_format("--fallback: part of the time is the bare roofline, which is a lower "
                                      "bound, not a forecast");
    return add_doubts(prediction, warnings, count);
}
