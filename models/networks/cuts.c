/* See cuts.h. */
#include "models/networks/cuts.h"
#include "base/status.h"
#include "base/text.h"
#include "models/networks/architectures/hybrid.h"
#include "models/networks/architectures/parts.h"

#include <inttypes.h>

/* Fields of training at scale that are given; NULL: none. */
static const char *given_of_training(const struct rt_parallelism *parallel,
                                     const struct rt_graph_options *options)
{
    return parallel->context > 1                          ? "cp"
           : parallel->chunks > 1                         ? "vp"
           : parallel->sequence                           ? "sp"
           : parallel->tensor_overlap                     ? "tp_overlap"
           : parallel->exchange != RT_EXCHANGE_OWN        ? "expert_exchange"
           : parallel->expert_overlap                     ? "expert_overlap"
           : parallel->shard_gpus > 0                     ? "shard_gpus"
           : options->lora > 0                            ? "lora"
           : options->recompute >= RT_RECOMPUTE_SELECTIVE ? "recompute"
           : options->cuda_graphs > RT_CAPTURES_NONE      ? "cuda_graphs"
                                                          : NULL;
}

bool rt_is_stack(const struct rt_model *model)
{
    return model->architecture != NULL &&
           (model->architecture->build == rt_build_transformer || rt_is_hybrid(model));
}

/* The numbers up to `most` that divide `whole`, for a sentence. */
static void list_divisors(struct rt_text *list, int64_t whole, int64_t most)
{
    for (int64_t n = 1; n <= most && n <= whole && list->length < 100; n++)
        if (whole % n == 0)
            rt_text_item(list, ", ", "%" PRId64, n);
}

static int check_sequence(const struct rt_parallelism *parallel, const struct rt_graph_options *options)
{
    if (parallel->sequence && parallel->tensor == 1)
        return rt_fail(RT_EUSAGE, "{sp} shares out the tokens of tensor-parallel GPUs: give {tp} 2 or more");
    if (parallel->tensor_overlap && !parallel->sequence)
        return rt_fail(RT_EUSAGE,
                       "{tp_overlap} runs the gathers and scatters of {sp} beside products: give {sp}");
    if (parallel->sequence &&
        options->sequence / (parallel->context > 1 ? parallel->context : 1) % parallel->tensor != 0)
        return rt_fail(RT_EUSAGE,
                       "{sp}: {tp} %" PRId64 " does not divide the %" PRId64
                       " tokens that a GPU has of {seq}",
                       parallel->tensor, options->sequence / (parallel->context > 1 ? parallel->context : 1));
    return RT_OK;
}

static int check_exchange(const struct rt_parallelism *parallel)
{
    if (parallel->exchange == RT_EXCHANGE_OWN && !parallel->expert_overlap)
        return RT_OK;
    if (parallel->expert <= 1 && parallel->expert_overlap)
        return rt_fail(RT_EUSAGE, "{expert_overlap} is of GPUs that share experts out: give {ep} 2 or more");
    if (parallel->expert <= 1)
        return rt_fail(RT_EUSAGE, "{expert_exchange} is of GPUs that share experts out: give {ep} 2 or more");
    if (parallel->expert_overlap && parallel->microbatches <= 1)
        return rt_fail(RT_EUSAGE,
                       "{expert_overlap} runs beside another micro batch: give {microbatches} 2 or more");
    return RT_OK;
}

static bool is_fused(const struct rt_graph_options *options, const struct rt_model *model)
{
    struct rt_graph_options beside = *options; /* products in fp8 leave attention in 16 bits */
    if (rt_dtype_is_narrow(beside.dtype))
        beside.dtype = RT_BF16;
    return rt_dtypes[beside.dtype].bytes <= 2 && model->architecture->attention->fusable &&
           rt_graph_fuses_attention(&beside);
}

/* Each GPU has a piece of both halves of a sequence, so that all see as many keys. */
static int check_context(const struct rt_parallelism *parallel, const struct rt_graph_options *options,
                         const struct rt_model *model)
{
    int64_t gpus = parallel->context;
    if (gpus <= 1)
        return RT_OK;
    if (rt_is_hybrid(model))
        return rt_fail(RT_EUSAGE,
                       "{cp} is for attention alone, and %s hands states on from token to token; "
                       "leave {cp} away",
                       model->name);
    if (model->architecture->attention->bidirectional)
        return rt_fail(RT_EUSAGE, "{cp} is for decoders, which %s is not", model->name);
    if (!is_fused(options, model))
        return rt_fail(RT_EUSAGE,
                       "{cp} needs attention in one kernel: 16 bits, a {runtime} or {attention} that has it");
    if (options->sequence % (2 * gpus) == 0)
        return RT_OK;
    struct rt_text list = {0};
    list_divisors(&list, options->sequence / 2, 4096);
    int status = rt_fail(RT_EUSAGE,
                         "{cp} %" PRId64 ": {seq} %" PRId64 " has no 2 x %" PRId64
                         " pieces of as many tokens; give one of %s",
                         gpus, options->sequence, gpus, list.text != NULL ? list.text : "1");
    rt_text_release(&list);
    return status;
}

/* Pieces have a layer each, or are those of embedding and head, which count as layers where all then have as
 * many (rt_piece_repeats). */
static int check_chunks(const struct rt_parallelism *parallel, const struct rt_model *model)
{
    int64_t pieces = parallel->chunks * parallel->pipeline, layers = model->layers;
    if (parallel->chunks <= 1)
        return RT_OK;
    if (parallel->pipeline == 1)
        return rt_fail(RT_EUSAGE, "{vp} interleaves the stages of a pipeline: give {pp} 2 or more");
    if (pieces <= layers || pieces == layers + 2)
        return RT_OK;
    struct rt_text list = {0};
    for (int64_t v = 2; v * parallel->pipeline <= layers + 2; v++)
        if (layers % (v * parallel->pipeline) == 0 || (layers + 2) % (v * parallel->pipeline) == 0)
            rt_text_item(&list, ", ", "%" PRId64, v);
    int status = rt_fail(
        RT_EUSAGE, "{vp} %" PRId64 " x {pp} %" PRId64 ": %s has %" PRId64 " layers; leave {vp} away%s%s",
        parallel->chunks, parallel->pipeline, model->name, layers, list.length > 0 ? ", or give one of " : "",
        list.length > 0 ? list.text : "");
    rt_text_release(&list);
    return status;
}

/* Groups of experts lie within the GPUs that have copies of a layer or cuts of it: tp x cp x dp. */
static int check_experts(const struct rt_parallelism *parallel, const struct rt_graph_options *options,
                         const struct rt_model *model)
{
    int64_t gpus = parallel->tensor * parallel->data * (parallel->context > 1 ? parallel->context : 1);
    if (parallel->expert <= 1 || options->step != RT_STEP_TRAINING)
        return RT_OK;
    if (model->experts.count == 0)
        return rt_fail(RT_EUSAGE, "%s has no experts to share out; leave {ep} away", model->name);
    if (!rt_runtimes[options->runtime].grouped_experts)
        return rt_fail(RT_EUSAGE, "{runtime} %s does not share out experts; take megatron for {ep}",
                       rt_runtimes[options->runtime].name);
    if (parallel->tensor > 1 && !parallel->sequence)
        return rt_fail(RT_EUSAGE, "{ep} with {tp} needs {sp}: each GPU sends tokens of its own to experts");
    if (gpus % parallel->expert == 0 && model->experts.count % parallel->expert == 0)
        return RT_OK;
    struct rt_text list = {0};
    for (int64_t n = 1; n <= gpus && n <= model->experts.count && list.length < 100; n++)
        if (gpus % n == 0 && model->experts.count % n == 0)
            rt_text_item(&list, ", ", "%" PRId64, n);
    int status = rt_fail(RT_EUSAGE,
                         "{ep} %" PRId64 " does not divide the %" PRId64
                         " GPUs of {tp} x {cp} x {dp} and the %" PRId64 " experts of %s; give one of %s",
                         parallel->expert, gpus, model->experts.count, model->name, list.text);
    rt_text_release(&list);
    return status;
}

static int check_shards(const struct rt_parallelism *parallel)
{
    int64_t gpus = parallel->data * (parallel->context > 1 ? parallel->context : 1);
    if (parallel->shard_gpus == 0)
        return RT_OK;
    if (parallel->shard == RT_SHARD_NONE)
        return rt_fail(RT_EUSAGE,
                       "{shard_gpus} says how many GPUs share out what {shard} names: give {shard}");
    if (gpus % parallel->shard_gpus == 0)
        return RT_OK;
    struct rt_text list = {0};
    list_divisors(&list, gpus, gpus);
    int status = rt_fail(RT_EUSAGE,
                         "{shard_gpus} %" PRId64 " does not divide the %" PRId64
                         " GPUs of {dp} x {cp}; give one of %s",
                         parallel->shard_gpus, gpus, list.text);
    rt_text_release(&list);
    return status;
}

int rt_check_cuts(const struct rt_parallelism *parallel, const struct rt_graph_options *options,
                  const struct rt_model *model)
{
    const char *given = given_of_training(parallel, options);
    bool stack = rt_is_stack(model);
    if (given != NULL && options->step != RT_STEP_TRAINING)
        return rt_fail(RT_EUSAGE, "%s is for {mode} training", rt_field_words(given).text);
    if (options->attention != RT_ATTENTION_OWN && rt_runtimes[options->runtime].served)
        return rt_fail(RT_EUSAGE,
                       "{attention} is for PyTorch and frameworks that train; LLM servers have kernels "
                       "of their own");
    if (options->lora_on > RT_LORA_ALL && options->lora == 0)
        return rt_fail(RT_EUSAGE, "{lora_on} says which products have adapters: give their rank by {lora}");
    bool engine = rt_runtimes[options->runtime].engine;
    if (options->recompute >= RT_RECOMPUTE_NORMS && !engine)
        return rt_fail(RT_EUSAGE,
                       "{recompute} %s is of {runtime} megatron and megatron-bridge; for others "
                       "give layers",
                       rt_recomputes[options->recompute]);
    if ((options->recompute == RT_RECOMPUTE_EXPERTS && model->experts.count == 0) ||
        (options->recompute == RT_RECOMPUTE_LATENT && model->latent.kv_rank == 0))
        return rt_fail(RT_EUSAGE, "{recompute} %s: %s has none; give norms or layers",
                       rt_recomputes[options->recompute], model->name);
    if (options->cuda_graphs > RT_CAPTURES_NONE && !engine)
        return rt_fail(RT_EUSAGE,
                       "{cuda_graphs} is of {runtime} megatron and megatron-bridge; all of PyTorch's "
                       "eager kernels are captured by {runtime} graph");
    bool cut = parallel->context > 1 || parallel->sequence || options->lora > 0 || parallel->chunks > 1;
    if (cut && !stack)
        return rt_fail(RT_EUSAGE, "%s is for language models of one stack of layers, which %s is not",
                       rt_field_words(given).text, model->name);
    int status = check_sequence(parallel, options);
    if (status == RT_OK)
        status = check_exchange(parallel);
    if (status == RT_OK)
        status = check_context(parallel, options, model);
    if (status == RT_OK)
        status = check_chunks(parallel, model);
    if (status == RT_OK)
        status = check_experts(parallel, options, model);
    return status == RT_OK ? check_shards(parallel) : status;
}
