/* Gradient sums. See parallel.h. */
#include "predict/step/parallel.h"
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
    struct bucket last; /* as it was timed, for the next that is alike */
    double last_us;
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

static void sum(struct link *link, struct bucket *bucket)
{
    if (link->last.bytes != bucket->bytes || link->last.group != bucket->group) {
        link->last = *bucket;
        bool shared = link->rules->shared && !link->rules->whole;
        link->last_us = rt_gradient_sum_us(link->collectives, bucket->group, shared, bucket->bytes);
    }
    double start = fmax(link->free_us, bucket->ready_us);
    link->free_us = start + link->last_us;
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
