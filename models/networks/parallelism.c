/* Which GPUs a group has, and where they are. See parallelism.h. */
#include "models/networks/parallelism.h"

static int64_t at_least_one(int64_t gpus)
{
    return gpus > 1 ? gpus : 1;
}

static int64_t quotient(int64_t gpus, int64_t by)
{
    return at_least_one(gpus / at_least_one(by));
}

struct rt_group_places rt_parallelism_group(const struct rt_parallelism *parallel, enum rt_gpu_group group)
{
    const struct rt_parallelism *p = parallel;
    int64_t tensor = at_least_one(p->tensor), context = at_least_one(p->context),
            sequence = rt_parallelism_sequence(p), attention = at_least_one(p->attention),
            expert = at_least_one(p->expert), data = at_least_one(p->data) * context,
            outer = tensor * sequence * attention,
            shard = p->shard_gpus > 0 && p->shard_gpus < data ? p->shard_gpus : data;
    const struct rt_group_places places[RT_GROUPS] = {
        [RT_GROUP_TENSOR] = {tensor, 1},
        [RT_GROUP_CONTEXT] = {context * sequence, tensor},
        [RT_GROUP_EXPERT] = {expert,
                             1}, /* whole experts, whatever tp cuts: neighbours, as Megatron's ranks */
        [RT_GROUP_DATA] = {data, outer},
        [RT_GROUP_PIPELINE] = {at_least_one(p->pipeline), outer * data},
        [RT_GROUP_SHARD] = {shard, outer},
        [RT_GROUP_COPIES] = {quotient(data, shard), outer * shard},
        [RT_GROUP_EXPERT_DATA] = {quotient(tensor * data, expert), expert},
    };
    return places[group];
}

int64_t rt_group_per_node(int64_t gpus, int64_t stride, int64_t node_gpus)
{
    int64_t fit = at_least_one(node_gpus / stride);
    return fit < gpus ? fit : gpus;
}
