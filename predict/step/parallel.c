/* Gradient sums. See parallel.h. */
#include "predict/step/parallel.h"
#include "base/status.h"
#include "predict/step/collectives.h"

#include <math.h>

/* Gradients that are summed together. */
struct bucket {
    double ready_us, bytes;
    enum rt_gpu_group group;
};

struct link {
    const struct rt_gradient_rules *rules;
    const struct rt_collectives *collectives;
    double free_us;
    struct rt_gradient_sum *sums;
    size_t count;
    struct rt_sum_times own, *times; /* of these sums alone; the rules' or it */
};

double rt_gradient_sum_us(const struct rt_collectives *collectives, enum rt_gpu_group group, bool shared,
                          double bytes)
{
    const struct rt_group_places *groups = collectives->groups;
    if (!shared)
        return rt_collective_us(collectives, RT_OP_ALL_REDUCE, group, bytes);
    if (group != RT_GROUP_DATA || groups[RT_GROUP_COPIES].gpus == 1)
        return rt_collective_us(collectives, RT_OP_REDUCE_SCATTER, group, bytes);
    double share = bytes / (double)groups[RT_GROUP_SHARD].gpus;
    return rt_collective_us(collectives, RT_OP_REDUCE_SCATTER, RT_GROUP_SHARD, bytes) +
           rt_collective_us(collectives, RT_OP_ALL_REDUCE, RT_GROUP_COPIES, share);
}

static double bucket_us(const struct link *link, const struct bucket *bucket)
{
    struct rt_sum_times *times = link->times;
    for (size_t i = 0; i < times->count && i < RT_COUNT(times->sum); i++)
        if (times->sum[i].bytes == bucket->bytes && times->sum[i].group == bucket->group)
            return times->sum[i].us;
    bool shared = link->rules->shared && !link->rules->whole;
    double us = rt_gradient_sum_us(link->collectives, bucket->group, shared, bucket->bytes);
    size_t next = times->count++ % RT_COUNT(times->sum);
    times->sum[next].group = bucket->group;
    times->sum[next].bytes = bucket->bytes;
    return times->sum[next].us = us;
}

static void sum(struct link *link, struct bucket *bucket)
{
    double start = fmax(link->free_us, bucket->ready_us);
    link->free_us = start + bucket_us(link, bucket);
    if (link->sums != NULL)
        link->sums[link->count] = (struct rt_gradient_sum){start, link->free_us, bucket->bytes};
    link->count++;
    *bucket = (struct bucket){.bytes = 0};
}

double rt_gradient_sums_us(const struct rt_gradient *gradients, size_t count,
                           const struct rt_gradient_rules *rules, const struct rt_collectives *collectives,
                           struct rt_gradient_sum *sums, size_t *sum_count)
{
    struct link link = {.rules = rules, .collectives = collectives, .sums = sums};
    link.times = rules->times != NULL ? rules->times : &link.own;
    struct bucket open[2] = {{.bytes = 0}}; /* of those that all GPUs sum, of others */
    double all_us = count > 0 ? gradients[count - 1].ready_us : 0;
    for (size_t i = 0; i < count; i++) {
        if (collectives->groups[gradients[i].group].gpus == 1)
            continue;
        struct bucket *bucket = &open[gradients[i].group == RT_GROUP_EXPERT_DATA];
        if (rules->shared && bucket->bytes > 0 && bucket->bytes + gradients[i].bytes > rules->bucket_bytes)
            sum(&link, bucket); /* DeepSpeed's stage_1_and_2.py: what does not fit begins another */
        bucket->group = gradients[i].group;
        bucket->ready_us = rules->no_overlap ? all_us : gradients[i].ready_us;
        bucket->bytes += gradients[i].bytes;
        if (bucket->bytes >= rules->bucket_bytes)
            sum(&link, bucket);
    }
    for (int b = 0; b < 2; b++)
        if (open[b].bytes > 0)
            sum(&link, &open[b]);
    if (sum_count != NULL)
        *sum_count = link.count;
    return link.free_us;
}
