/* What is wrong with a dataset. See card_parts.h. */
#include "predict/evaluate/card/card_parts.h"
#include "base/status.h"
#include "datasets/validate.h"
#include "models/predictors/predictor/recipe.h"
#include "models/predictors/predictor/throttling.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const struct {
    const char *name, *meaning;
    uint32_t flag;
} flags[] = {
    {"synthetic", "made up by a formula, not measured: no evidence about any device", RT_FLAG_SYNTHETIC},
    {"failed", "could not run, as the table of failures says; kept without a time", RT_FLAG_FAILED},
    {"throttled", "the clock fell while it was measured, three times over", RT_FLAG_THROTTLED},
    {"unstable", "the median is not known as well as the collector was asked for", RT_FLAG_UNSTABLE},
    {"partial", "some kernels of the model could not run, and its times lack them", RT_FLAG_PARTIAL},
    {"tile unknown", "the tile could not be read off the kernel; no fault of the time", RT_FLAG_UNKNOWN_TILE},
};

static bool is_at_power_limit(const struct rt_dataset *dataset, int32_t group)
{
    const char *throttle = rt_dataset_attribute(dataset, group, "throttle");
    return throttle != NULL && strcmp(throttle, "power cap") == 0;
}

static void add_fault(struct rt_table *table, const char *name, long long samples, long long workloads,
                      const char *meaning)
{
    if (samples + workloads > 0)
        rt_table_row(table, name, samples, workloads, meaning);
}

static void add_flag(struct rt_table *table, const struct rt_dataset *dataset, size_t f)
{
    long long samples = 0, workloads = 0;
    for (size_t i = 0; i < dataset->sample_count; i++)
        samples += (dataset->samples[i].flags & flags[f].flag) != 0;
    for (size_t i = 0; i < dataset->workload_count; i++)
        workloads += (dataset->workloads[i].flags & flags[f].flag) != 0;
    add_fault(table, flags[f].name, samples, workloads, flags[f].meaning);
}

struct rt_table *rt_card_faults(const struct rt_dataset *dataset)
{
    static const struct rt_column columns[] = {{"fault", NULL, 's', 0},
                                               {"samples", NULL, 'd', 0},
                                               {"workloads", "runs of models", 'd', 0},
                                               {"meaning", NULL, 's', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    long long impossible = 0, limited = 0;
    for (size_t f = 0; f < RT_COUNT(flags); f++)
        add_flag(table, dataset, f);
    for (size_t i = 0; i < dataset->sample_count; i++) {
        impossible += rt_sample_is_impossible(dataset, &dataset->samples[i]);
        limited += is_at_power_limit(dataset, dataset->samples[i].group);
    }
    add_fault(
        table, "impossible", impossible, 0,
        "faster than the device's peaks allow: `rooftile dataset validate` names the worst; not fitted to");
    add_fault(table, "at the power limit", limited, 0,
              "the board's power limit held the clock down; no fault");
    return table;
}

struct rt_table *rt_card_failures(const struct rt_dataset *dataset)
{
    static const struct rt_column columns[] = {{"failure", NULL, 's', 0}, {"count", NULL, 'd', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    struct rt_strings reasons = {0};
    long long *counts = rt_calloc(dataset->sample_count + dataset->workload_count + 1, sizeof *counts);
    for (size_t i = 0; i < dataset->sample_count + dataset->workload_count; i++) {
        bool run = i >= dataset->sample_count;
        const struct rt_workload *workload = run ? &dataset->workloads[i - dataset->sample_count] : NULL;
        uint32_t set = run ? workload->flags : dataset->samples[i].flags;
        const char *reason =
            rt_dataset_attribute(dataset, run ? workload->group : dataset->samples[i].group, "failure");
        if (set & RT_FLAG_FAILED) {
            reason = reason != NULL ? reason : "no reason is in the file";
            counts[rt_strings_add(&reasons, reason, strlen(reason))]++;
        }
    }
    for (size_t r = 0; r < reasons.count; r++)
        rt_table_row(table, rt_strings_get(&reasons, (int32_t)r), counts[r]);
    free(counts);
    rt_strings_release(&reasons);
    return table;
}

/* The share of its bound that a sample of the net's family reaches, NaN where it shows nothing. */
static double reached(const struct rt_dataset *dataset, const struct rt_family_net *net,
                      const struct rt_sample *sample)
{
    struct rt_query query;
    struct rt_tiled_call launch;
    struct rt_bound bound;
    if (!rt_net_serves(net, sample->call.op, sample->call.dtype) || !(sample->latency_us > 0))
        return NAN;
    rt_query_of_sample(sample, false, &query);
    if (rt_family_net_launch(net, &query, &dataset->devices[sample->device], &launch) != RT_SKIP_NONE)
        return NAN;
    rt_family_net_bound(net, &query, &launch, false, &bound);
    return rt_shows_utilisation(&bound) ? bound.bound_us / sample->latency_us : NAN;
}

static void add_sessions(struct rt_table *table, const struct rt_dataset *dataset,
                         const struct rt_family_net *net)
{
    double *all = rt_malloc((dataset->sample_count + 1) * sizeof *all);
    double *shares = rt_malloc((dataset->sample_count + 1) * sizeof *shares);
    for (size_t i = 0; i < dataset->sample_count; i++)
        all[i] = reached(dataset, net, &dataset->samples[i]);
    for (size_t cell = 0; cell < dataset->device_count * RT_SPLIT_COUNT; cell++) {
        size_t device = cell / RT_SPLIT_COUNT, split = cell % RT_SPLIT_COUNT, count = 0;
        for (size_t i = 0; i < dataset->sample_count; i++)
            if (!isnan(all[i]) && (size_t)dataset->samples[i].device == device &&
                dataset->samples[i].split == split)
                shares[count++] = all[i];
        double median = rt_median_utilisation(shares, count);
        if (median < RT_THROTTLED)
            rt_table_row(table, dataset->devices[device].name, rt_net_name(net->family, net->units),
                         rt_splits[split], (long long)count, 100 * median);
    }
    free(shares);
    free(all);
}

struct rt_table *rt_card_sessions(const struct rt_dataset *dataset)
{
    static const struct rt_column columns[] = {{"device", NULL, 's', 0},
                                               {"family", NULL, 's', 0},
                                               {"split", NULL, 's', 0},
                                               {"kernels", "large kernels", 'd', 0},
                                               {"reached", "median of what the board sustains, %", 'f', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    for (size_t r = 0; r < rt_recipe_count; r++) {
        struct rt_family_net net;
        if (strcmp(rt_recipes[r].kind, "rooftile") != 0 || !rt_throttling_covers(rt_recipes[r].family) ||
            rt_recipe_net(&rt_recipes[r], &net) != RT_OK)
            continue;
        add_sessions(table, dataset, &net);
        rt_family_net_release(&net);
    }
    return table;
}

size_t rt_card_synthetic(const struct rt_dataset *dataset)
{
    size_t count = 0;
    for (size_t i = 0; i < dataset->sample_count; i++)
        count += (dataset->samples[i].flags & RT_FLAG_SYNTHETIC) != 0;
    for (size_t i = 0; i < dataset->workload_count; i++)
        count += (dataset->workloads[i].flags & RT_FLAG_SYNTHETIC) != 0;
    return count;
}
