/* The interval of a step, and how much of it is extrapolated. See uncertainty.h, forecast.h. */
#include "predict/step/uncertainty.h"
#include "base/status.h"
#include "predict/step/launches.h"
#include "predict/step/passes.h"

#include <math.h>
#include <stdlib.h>

/* Half-width in ln at 90% of a model whose kernels are all known: what adding them up misses. */
static const double SUM_HALF = 0.08;

/* The same of what kernels wait for the host: those of public runs (host.c) lie 0.33 around their mean in ln,
 * one standard deviation of seven, so 0.6 to 0.7. A host that was measured is known to 0.2, which is not
 * counted. The default is the fastest of them: the slowest that runs one GPU takes so many us an operator:
 * the TITAN RTX's, by all models that it holds up (hosts.def has it by every second one, 38). */
static const double HOST_HALF = 0.7, SLOWEST_US = 49;

/* Of the whole step: of what it waits, or of what it would wait for a slower host. */
static double host_half(const struct rt_forecast *forecast, double waits, double level)
{
    double scale = rt_interval_scale(level), half = HOST_HALF * scale;
    bool said = forecast->options.host != NULL || !isnan(forecast->options.host_us);
    double slower = said ? 0 : log(SLOWEST_US / rt_forecast_host(forecast)->forward_us) * scale;
    return fmax(waits * half, fmax(half, slower) + log(forecast->launched_us / forecast->total_us));
}

/* Squared sum, over the kernels, of what is a kernel's own in its launches: time x half-width. */
static double own_square(const struct rt_forecast *forecast)
{
    uint32_t kernels = 0;
    for (size_t i = 0; i < forecast->launch_count; i++)
        if (forecast->launches[i].same != RT_NO_QUERY && forecast->launches[i].same >= kernels)
            kernels = forecast->launches[i].same + 1;
    double *own = rt_calloc(kernels + 1, sizeof *own), squares = 0;
    for (size_t i = 0; i < forecast->launch_count; i++) {
        const struct rt_forecast_launch *launch = &forecast->launches[i];
        uint32_t kernel = launch->same != RT_NO_QUERY ? launch->same : kernels;
        own[kernel] +=
            rt_forecast_launch_total(forecast, launch) * launch->ln_half_width * sqrt(1 - launch->shared);
    }
    for (uint32_t k = 0; k <= kernels; k++)
        squares += own[k] * own[k];
    free(own);
    return squares;
}

/* What kernels of a family have in common adds up, that of two families by their correlation R; what is a
 * kernel's own is independent of every other kernel's. With a_f the sum of time x half-width x sqrt(shared)
 * of family f: ln_half_width^2 = (R (sum a_f)^2 + (1 - R) sum a_f^2 + own squares) / time^2 + SUM_HALF^2.
 * Where kernels wait for the host, the first term counts for their share of the step alone, and the host's
 * own is added, also where only a slower one would be waited for. */
void rt_forecast_sum_interval(struct rt_forecast *forecast)
{
    double family[RT_FAMILY_COUNT] = {0}, sum = 0, all = 0, squares = 0, level = forecast->options.level;
    double correlation = forecast->error_correlation;
    forecast->interval_level = level;
    forecast->interval_low_us = forecast->interval_high_us = NAN;
    if (!(level > 0))
        return;
    for (size_t i = 0; i < forecast->launch_count; i++) {
        const struct rt_forecast_launch *launch = &forecast->launches[i];
        double time = rt_forecast_launch_total(forecast, launch);
        family[rt_call_family(&launch->kernel.call)] += time * launch->ln_half_width * sqrt(launch->shared);
        sum += time; /* NaN where a width is unknown */
    }
    for (int f = 0; f < RT_FAMILY_COUNT; f++) {
        all += family[f];
        squares += family[f] * family[f];
    }
    double missed = SUM_HALF * rt_interval_scale(level);
    double common = correlation * all * all + (1 - correlation) * squares;
    double kernels = (common + own_square(forecast)) / (sum * sum);
    double waits = forecast->host_us / forecast->total_us, host = host_half(forecast, waits, level);
    double ln_half_width = sqrt((1 - waits) * (1 - waits) * kernels + host * host + missed * missed);
    forecast->interval_low_us = forecast->total_us * exp(-ln_half_width);
    forecast->interval_high_us = forecast->total_us * exp(ln_half_width);
}

double rt_forecast_extrapolated_share(const struct rt_forecast *forecast,
                                      const struct rt_predictor *predictor, enum rt_family *family,
                                      int *feature)
{
    double *time_us = rt_calloc(RT_FAMILY_COUNT * rt_feature_count, sizeof *time_us);
    double beyond = 0, sum = 0, most = 0;
    for (size_t i = 0; i < forecast->launch_count; i++) {
        const struct rt_forecast_launch *launch = &forecast->launches[i];
        double time = rt_forecast_launch_total(forecast, launch);
        struct rt_query query;
        sum += time;
        rt_launch_query(forecast, launch, &query);
        const struct rt_family_net *net = rt_predictor_net(predictor, query.call.op, query.call.dtype);
        if (launch->source != RT_TIME_TRAINED || net == NULL)
            continue;
        int found = rt_family_net_beyond(net, &query, forecast->device);
        if (found < 0)
            continue;
        beyond += time;
        double *cell = &time_us[(size_t)net->family * rt_feature_count + (size_t)found];
        *cell += time;
        if (*cell > most) {
            most = *cell;
            *family = net->family;
            *feature = found;
        }
    }
    free(time_us);
    return sum > 0 ? beyond / sum : 0;
}

/* The family and dtype whose network forecasts a launch: what only moves data runs as an addition does. */
static void forecast_as(const struct rt_forecast *forecast, const struct rt_forecast_launch *launch,
                        enum rt_op_id *op, enum rt_dtype *dtype)
{
    bool moves = rt_launch_family(launch)->moves;
    *op = moves ? RT_OP_ADD_SCALAR : (enum rt_op_id)launch->kernel.call.op;
    *dtype = moves ? forecast->graph->options.dtype : (enum rt_dtype)launch->kernel.call.dtype;
}

/* By how they are known, the nearest first, then the longest first. */
static int compare_parts(const void *left, const void *right)
{
    const struct rt_known_part *a = left, *b = right;
    return a->by != b->by ? (a->by > b->by) - (a->by < b->by) : (a->share < b->share) - (a->share > b->share);
}

size_t rt_forecast_known(const struct rt_forecast *forecast, const struct rt_predictor *predictor,
                         struct rt_known_part *parts)
{
    double time_us[RT_KNOWLEDGE_COUNT][RT_FAMILY_COUNT][RT_DTYPE_COUNT] = {{{0}}}, sum = 0;
    struct {
        bool asked, in_dtype;
        enum rt_knowledge by;
    } known[RT_OP_COUNT][RT_DTYPE_COUNT] = {{{0}}};
    bool others[RT_FAMILY_COUNT][RT_DTYPE_COUNT] = {{0}};
    size_t count = 0;
    for (size_t i = 0; i < forecast->launch_count; i++) {
        const struct rt_forecast_launch *launch = &forecast->launches[i];
        double time = rt_forecast_launch_total(forecast, launch);
        enum rt_op_id op;
        enum rt_dtype dtype;
        if (launch->source == RT_TIME_LINK)
            continue;
        forecast_as(forecast, launch, &op, &dtype);
        if (!known[op][dtype].asked) {
            known[op][dtype].asked = true;
            known[op][dtype].by =
                rt_predictor_knowledge(predictor, forecast->device, op, dtype, &known[op][dtype].in_dtype);
        }
        int by = launch->source == RT_TIME_ROOFLINE ? RT_KNOWN_NOWHERE : known[op][dtype].by;
        others[rt_ops[op].family][dtype] |= !known[op][dtype].in_dtype;
        time_us[by][rt_ops[op].family][dtype] += time;
        sum += time;
    }
    for (int by = 0; by < RT_KNOWLEDGE_COUNT; by++)
        for (int f = 0; f < RT_FAMILY_COUNT; f++)
            for (int t = 0; t < RT_DTYPE_COUNT; t++)
                if (time_us[by][f][t] > 0)
                    parts[count++] = (struct rt_known_part){by, f, t, !others[f][t], time_us[by][f][t] / sum};
    qsort(parts, count, sizeof *parts, compare_parts);
    return count;
}
