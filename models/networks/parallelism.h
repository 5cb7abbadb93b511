/*
 * How a step is cut over GPUs: one struct, whoever asks (predict/step/parallel.h has what each cut costs).
 *
 * Data parallel: parts of the batch. Tensor parallel: every layer on several GPUs (Shoeybi et al.,
 * Megatron-LM, 2019). Pipeline: the layers in stages, a GPU's batch in microbatches (Huang et al., GPipe,
 * 2019; Narayanan et al., PipeDream, 2021). Expert parallel: whole experts shared out over the GPUs of tensor
 * x attention. Attention-data parallel: attention of parts of the batch on GPUs of their own, experts over
 * all of them (DeepSeek-V3). Sequence parallel, of diffusion transformers: the tokens of an image or video on
 * ulysses x ring GPUs, which exchange them for heads (Jacobs et al., DeepSpeed-Ulysses, 2023) or pass keys
 * and values round (Liu et al., Ring Attention, 2023). Context parallel: the same of training, the tokens of
 * a sequence on `context` GPUs.
 *
 * GPUs are numbered as Megatron-LM does, tensor innermost, then context, data (experts' groups lie within
 * data x context) and pipeline outermost: a group of a kind that is told first has its members nearest to
 * each other, so that tensor groups stay within a server.
 */
#pragma once

#include "datasets/fabric.h"

#include <math.h>
#include <stdbool.h>
#include <stdint.h>

enum rt_pipeline_schedule { RT_PIPELINE_1F1B, RT_PIPELINE_GPIPE, RT_PIPELINE_ZERO_BUBBLE, RT_PIPELINE_COUNT };
extern const char *const rt_pipeline_schedules[RT_PIPELINE_COUNT]; /* "1f1b", "gpipe", "zero-bubble" */

/* What a group of data-parallel GPUs shares out instead of each holding all (ZeRO: Rajbhandari et al., SC
 * 2020): stage 1 the optimizer's state, 2 the gradients too, 3 the weights too (PyTorch's
 * FullyShardedDataParallel). */
enum rt_shard_kind {
    RT_SHARD_NONE,
    RT_SHARD_OPTIMIZER,
    RT_SHARD_GRADIENTS,
    RT_SHARD_PARAMETERS,
    RT_SHARD_COUNT
};
extern const char *const rt_shard_kinds[RT_SHARD_COUNT]; /* "none", "optimizer", "gradients", "parameters" */

/* Which GPUs a collective joins. */
enum rt_gpu_group {
    RT_GROUP_TENSOR,
    RT_GROUP_CONTEXT, /* context, and ulysses x ring */
    RT_GROUP_EXPERT,  /* of training, within tensor x context x data */
    RT_GROUP_DATA,    /* all that hold the same weights: data x context */
    RT_GROUP_PIPELINE,
    RT_GROUP_SHARD,  /* of RT_GROUP_DATA its inner part, which shares out what `shard` says: `shard_gpus` */
    RT_GROUP_COPIES, /* of RT_GROUP_DATA its outer part: those that hold the same share */
    RT_GROUP_EXPERT_DATA, /* all that hold the same experts: tensor x context x data / expert */
    RT_GROUPS
};

/* Who brings tokens to the GPUs of their experts in training: as the runtime does; NCCL's all-to-all, each of
 * a token's copies by itself; or DeepEP (HybridEP), a token once a server. */
enum rt_expert_exchange { RT_EXCHANGE_OWN, RT_EXCHANGE_ALLTOALL, RT_EXCHANGE_DEEPEP, RT_EXCHANGE_COUNT };
extern const char *const rt_expert_exchanges[RT_EXCHANGE_COUNT]; /* "own", "alltoall", "deepep" */

struct rt_parallelism {
    int64_t data, tensor, pipeline, microbatches, expert, attention; /* GPUs, parts; 1: none */
    int64_t ulysses, ring;                                           /* the same; 0, too: none */
    int64_t context;    /* training: GPUs that share out the tokens of a sequence; 0, too: none */
    int64_t chunks;     /* pieces of the layers in a stage, interleaved (Narayanan et al., SC 2021); 0: 1 */
    int64_t shard_gpus; /* data-parallel GPUs that share out what `shard` says, beside copies; 0: all */
    bool sequence; /* tensor-parallel GPUs share out norms and dropout by tokens (Korthikanti et al. 2022) */
    bool tensor_overlap; /* its collectives run beside the products that need or make them */
    bool expert_overlap; /* tokens of a micro batch are exchanged beside kernels of another */
    enum rt_expert_exchange exchange;
    struct rt_cluster cluster; /* what joins servers */
    enum rt_pipeline_schedule schedule;
    enum rt_shard_kind shard; /* what the data-parallel GPUs share out */
    enum rt_fabric fabric;    /* RT_FABRIC_OWN: by the device's description */
    double link_gbs;          /* that a GPU sends in one direction, whoever to; NaN: by the device's link */
    bool no_overlap;          /* gradients are summed after the backward pass */
    double bucket_bytes; /* of gradients that are summed at once; 0: 25 MiB, as DistributedDataParallel */
};
#define RT_PARALLELISM_NONE                                                                                  \
    {                                                                                                        \
        .data = 1, .tensor = 1, .pipeline = 1, .microbatches = 1, .expert = 1, .attention = 1,               \
        .link_gbs = NAN, .cluster = RT_CLUSTER_NONE                                                          \
    }

/* Parts that follow one another or lie side by side, which the batch of a step must be divisible by. */
static inline int64_t rt_parallelism_parts(const struct rt_parallelism *parallel)
{
    return parallel->data * parallel->microbatches * parallel->attention;
}

/* GPUs that share out the tokens of an image. */
static inline int64_t rt_parallelism_sequence(const struct rt_parallelism *parallel)
{
    return (parallel->ulysses > 1 ? parallel->ulysses : 1) * (parallel->ring > 1 ? parallel->ring : 1);
}

/* Members of a group, and how far apart neighbours are numbered: tensor 1, context and experts `tensor`, ...
 */
struct rt_group_places {
    int64_t gpus, stride;
};
struct rt_group_places rt_parallelism_group(const struct rt_parallelism *parallel, enum rt_gpu_group group);

/* How many of `gpus` that are `stride` apart lie in one server of `node_gpus`, at least 1. Where that is not
 * whole, as many as fit: nobody lays a group across more servers than it needs. */
int64_t rt_group_per_node(int64_t gpus, int64_t stride, int64_t node_gpus);

/* GPUs of the whole step. */
static inline int64_t rt_parallelism_gpus(const struct rt_parallelism *parallel)
{
    int64_t context = parallel->context > 1 ? parallel->context : 1;
    return parallel->data * parallel->tensor * parallel->pipeline * parallel->attention * context *
           rt_parallelism_sequence(parallel);
}
