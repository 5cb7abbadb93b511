/* Which profile was best, and which was advised. See advise.h. */
#include "predict/search/advise/advise.h"
#include "base/array.h"
#include "base/status.h"
#include "datasets/mig.h"
#include "predict/evaluate/run_steps.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* A run on a slice. */
struct entry {
    const struct rt_workload *run;
    struct rt_device device;
    int most;           /* instances */
    double measured_us; /* INFINITY: out of memory */
    double forecast_us, from_whole_us;
    bool fits;
};

/* The same run on slices of one board, small ones first. */
struct group {
    struct entry entry[RT_MIG_PROFILES];
    int count;
};

/* The slice that a run was on; false where it was on none, or has no result. */
static bool read_entry(const struct rt_dataset *dataset, const struct rt_workload *run, struct entry *out)
{
    const char *name = dataset->devices[run->device].name, *profile = strchr(name, ':');
    struct rt_device board;
    struct rt_mig mig;
    bool out_of_memory = rt_run_was_out_of_memory(dataset, run);
    if (profile == NULL || (!(run->end_to_end_us > 0) && !out_of_memory))
        return false;
    if (rt_device_named(name, &out->device) != RT_OK || rt_device_mig(name, &board, &mig) != RT_OK)
        return false;
    const struct rt_mig_profile *row = rt_mig_profile_named(&mig, profile + 1);
    out->run = run;
    out->most = row != NULL ? row->most : 0;
    out->measured_us = out_of_memory ? INFINITY : run->end_to_end_us;
    return row != NULL;
}

static bool is_smaller(const struct entry *a, const struct entry *b)
{
    return a->device.sms != b->device.sms ? a->device.sms < b->device.sms
                                          : a->device.memory_gib < b->device.memory_gib;
}

static void insert(struct group *group, const struct entry *entry)
{
    int at = group->count;
    while (at > 0 && is_smaller(entry, &group->entry[at - 1]))
        at--;
    memmove(&group->entry[at + 1], &group->entry[at], (size_t)(group->count - at) * sizeof *entry);
    group->entry[at] = *entry;
    group->count++;
}

static bool belongs(const struct rt_dataset *dataset, const struct group *group, const struct entry *entry)
{
    const struct entry *first = &group->entry[0];
    return group->count < RT_MIG_PROFILES && strcmp(first->device.whole, entry->device.whole) == 0 &&
           rt_workload_is_same(dataset, first->run, entry->run);
}

static struct group *gather(const struct rt_dataset *dataset, size_t *count)
{
    struct group *groups = NULL;
    size_t capacity = 0;
    *count = 0;
    for (size_t w = 0; w < dataset->workload_count; w++) {
        struct entry entry = {0};
        size_t g = 0;
        if (!read_entry(dataset, &dataset->workloads[w], &entry))
            continue;
        while (g < *count && !belongs(dataset, &groups[g], &entry))
            g++;
        if (g == *count) {
            RT_GROW(groups, *count, 1, capacity);
            groups[(*count)++] = (struct group){0};
        }
        insert(&groups[g], &entry);
    }
    return groups;
}

/* --- forecasts --- */

static int steps_of(const struct rt_dataset *dataset, const struct entry *entry, struct rt_run_steps *out)
{
    return isinf(entry->measured_us) ? rt_run_steps_untimed(dataset, entry->run, &entry->device, NULL, out)
                                     : rt_run_steps(dataset, entry->run, &entry->device, NULL, out);
}

/* The scales by the largest slice, where it has a time. */
static int whole_scales(const struct rt_dataset *dataset, const struct entry *largest,
                        const struct rt_predictor *predictor, bool fallback, struct rt_time_scales *out)
{
    struct rt_run_steps steps;
    *out = (struct rt_time_scales){0};
    int status = isinf(largest->measured_us) ? RT_OK : steps_of(dataset, largest, &steps);
    if (status != RT_OK || isinf(largest->measured_us))
        return status;
    status = rt_run_scales(&steps, predictor, &largest->device, fallback, largest->measured_us, out);
    rt_run_steps_release(&steps);
    return status;
}

static int forecast_entry(const struct rt_dataset *dataset, const struct rt_predictor *predictor,
                          bool fallback, const struct rt_time_scales *scales, struct entry *entry)
{
    struct rt_run_steps steps;
    struct rt_run_forecast plain = {0}, scaled = {0};
    int status = steps_of(dataset, entry, &steps);
    if (status != RT_OK)
        return status;
    status = rt_run_forecast(&steps, predictor, &entry->device, fallback, 0, &plain);
    steps.scales = *scales;
    if (status == RT_OK)
        status = rt_run_forecast(&steps, predictor, &entry->device, fallback, 0, &scaled);
    rt_run_steps_release(&steps);
    entry->forecast_us = plain.total_us;
    entry->from_whole_us = scaled.total_us;
    entry->fits = plain.fits;
    return status;
}

static int forecast_group(const struct rt_dataset *dataset, const struct rt_predictor *predictor,
                          bool fallback, struct group *group)
{
    struct rt_time_scales scales;
    int status = whole_scales(dataset, &group->entry[group->count - 1], predictor, fallback, &scales);
    for (int i = 0; status == RT_OK && i < group->count; i++)
        status = forecast_entry(dataset, predictor, fallback, &scales, &group->entry[i]);
    return status;
}

/* --- choices --- */

/* What a rule takes a run on a slice to last; INFINITY where it is not to be chosen. */
static double rule_us(const struct entry *entry, enum rt_advice_rule rule)
{
    if (!entry->fits)
        return INFINITY;
    return rule == RT_RULE_WHOLE ? entry->from_whole_us : entry->forecast_us;
}

static int smallest(const struct group *group, enum rt_advice_rule rule, double target_us)
{
    if (rule == RT_RULE_LARGEST)
        return group->count - 1;
    for (int i = 0; i < group->count; i++)
        if (rule_us(&group->entry[i], rule) <= (rule == RT_RULE_MEMORY ? 1e300 : target_us))
            return i;
    return -1;
}

static int smallest_measured(const struct group *group, double target_us)
{
    for (int i = 0; i < group->count; i++)
        if (group->entry[i].measured_us <= target_us)
            return i;
    return -1;
}

/* Instances in a microsecond, of the board full of them. */
static double throughput(const struct entry *entry, double us)
{
    return entry->most / us;
}

static int most_throughput(const struct group *group, enum rt_advice_rule rule, bool measured)
{
    int best = -1;
    double most = 0;
    if (!measured && (rule == RT_RULE_LARGEST || rule == RT_RULE_MEMORY))
        return smallest(group, rule, INFINITY);
    for (int i = 0; i < group->count; i++) {
        const struct entry *entry = &group->entry[i];
        double all = throughput(entry, measured ? entry->measured_us : rule_us(entry, rule));
        best = all > most ? i : best;
        most = fmax(most, all);
    }
    return best;
}

static void score_group(const struct group *group, struct rt_advice_judgement *out)
{
    int mode = group->entry[0].run->mode == RT_TRAINING;
    int best = most_throughput(group, RT_RULE_ADVICE, true);
    for (int rule = 0; rule < RT_RULE_COUNT; rule++) {
        int chosen = most_throughput(group, (enum rt_advice_rule)rule, false);
        const struct entry *entry = chosen >= 0 ? &group->entry[chosen] : NULL;
        const struct entry *top = best >= 0 ? &group->entry[best] : NULL;
        out->throughput[mode].right[rule] += chosen == best;
        if (top != NULL)
            out->throughput[mode].lost[rule] +=
                entry == NULL ? 1
                              : 1 - throughput(entry, entry->measured_us) / throughput(top, top->measured_us);
        for (size_t t = 0; t < out->targets; t++)
            out->latency[mode][t].right[rule] +=
                smallest(group, (enum rt_advice_rule)rule, out->target_us[t]) ==
                smallest_measured(group, out->target_us[t]);
    }
    out->throughput[mode].cases++;
    for (size_t t = 0; t < out->targets; t++)
        out->latency[mode][t].cases++;
}

int rt_advice_judge(const struct rt_dataset *dataset, const struct rt_predictor *predictor, bool fallback,
                    struct rt_advice_judgement *out)
{
    size_t count;
    struct group *groups = gather(dataset, &count);
    int status = RT_OK;
    for (size_t g = 0; status == RT_OK && g < count; g++) {
        if (groups[g].count < 2)
            continue;
        status = forecast_group(dataset, predictor, fallback, &groups[g]);
        if (status == RT_OK) {
            score_group(&groups[g], out);
            out->groups++;
            out->runs += (size_t)groups[g].count;
        } else if (status == RT_EFORMAT || status == RT_EUSAGE) { /* about these runs only */
            out->refused += (size_t)groups[g].count;
            status = RT_OK;
        }
    }
    free(groups);
    if (status == RT_OK && out->groups == 0)
        return rt_fail(RT_ENOTFOUND, "the data has no run of a known model on two MIG slices of one GPU");
    return status;
}
