/* What runs beside what in training. See overlap.h. */
#include "predict/step/overlap.h"
#include "base/units.h"
#include "predict/step/launches.h"

#include <math.h>

/* Multiprocessors that NCCL's kernels hold: one a channel, 16 assumed (NCCL takes up to 24 within servers of
 * A100s, 32 at most: NCCL_MAX_CTAS; DeepSeek-V3 gives communication 20 of 132: its report, section 3.2.2). */
static const double COLLECTIVE_SMS = 16;

/* GPUs of one kind: servers of V100s, MI60s and others differ by 8% in the time of products on average from
 * the fastest to the slowest, clusters of a few hundred GPUs, so six standard deviations (Sinha et al., Not
 * All GPUs Are Created Equal, SC 2022). */
static const double SPREAD = 0.08 / 6;

/* clang-format off */
/*
 * Sources: Megatron-LM's p2p_communication.py (batch_p2p_sync), tensor_parallel/layers.py
 * (LinearWithGradAccumulationAndAsyncCommunication), distributed_data_parallel.py (buckets in elements, sums in fp32); in
 * 2021 its DistributedDataParallel summed all gradients behind the last pass (model/distributed.py). DeepSpeed's
 * stage_1_and_2.py (reduce_bucket_size; use_multi_rank_bucket_allreduce; step() gathers), partition_parameters.py
 * (AllGatherCoalescedHandle.wait joins), coalesced_collectives.py. PyTorch's FSDP1 splits a flat weight, whose
 * gradient joins. nanotron's zero.py (step() gathers) and gradients in fp32.
 * torchtitan's FSDP2 sums in fp32.
 */
const struct rt_overlap rt_overlaps[RT_RUNTIME_COUNT] = {
    [RT_RUNTIME_MEGATRON] = {.blocks = true, .beside_weights = true, .runs_ahead = true, .gradient_bytes = 4,
                             .bucket_elements = 40e6, .bucket_each = 1e6},
    [RT_RUNTIME_MEGATRON_BRIDGE] = {.blocks = true, .beside_weights = true, .runs_ahead = true, .gradient_bytes = 2,
                                    .bucket_elements = 40e6, .bucket_each = 1e6},
    [RT_RUNTIME_MEGATRON_OLD] = {.blocks = true, .runs_ahead = true, .gathers_late = true, .sums_late = true,
                                 .bucket_elements = 5e8},
    [RT_RUNTIME_FSDP] = {.runs_ahead = true, .joins_gradients = true},
    [RT_RUNTIME_TORCHTITAN] = {.blocks = true, .runs_ahead = true, .gradient_bytes = 4},
    [RT_RUNTIME_DEEPSPEED] = {.blocks = true, .runs_ahead = true, .gathers_late = true, .sums_whole = true, .joins_weights = true,
                              .joins_gradients = true, .bucket_elements = 5e8},
    [RT_RUNTIME_NANOTRON] = {.blocks = true, .runs_ahead = true, .gathers_late = true, .own_pieces = true, .gradient_bytes = 4},
};
/* clang-format on */

const struct rt_overlap *rt_overlap_of(const struct rt_graph *graph)
{
    return &rt_overlaps[graph->options.runtime];
}

double rt_overlap_share(const struct rt_device *device)
{
    return device->sms > 0 ? fmin(COLLECTIVE_SMS / device->sms, 0.5) : 0;
}

double rt_slowest_gpu(int64_t gpus)
{
    return gpus > 1 ? SPREAD * sqrt(2 * log((double)gpus)) : 0;
}

/* --- groups --- */

int64_t rt_shard_gpus(const struct rt_parallelism *parallel)
{
    return rt_parallelism_group(parallel, RT_GROUP_SHARD).gpus;
}

static bool is_shared_out(const struct rt_parallelism *parallel, const struct rt_node *node)
{
    return node->role == RT_NODE_EXPERTS && parallel->expert > 1;
}

enum rt_gpu_group rt_gradient_group(const struct rt_parallelism *parallel, const struct rt_node *node)
{
    return is_shared_out(parallel, node) ? RT_GROUP_EXPERT_DATA : RT_GROUP_DATA;
}

enum rt_gpu_group rt_weights_group(const struct rt_parallelism *parallel, const struct rt_node *node)
{
    return is_shared_out(parallel, node) ? RT_GROUP_EXPERT_DATA : RT_GROUP_SHARD;
}

double rt_bucket_bytes(const struct rt_forecast *forecast)
{
    const struct rt_overlap *row = rt_overlap_of(forecast->graph);
    const struct rt_parallelism *parallel = &forecast->options.parallel;
    double width = row->gradient_bytes > 0 ? row->gradient_bytes
                                           : rt_dtypes[rt_graph_weight_dtype(forecast->graph)].bytes;
    double elements = fmax(row->bucket_elements,
                           row->bucket_each * (double)rt_parallelism_group(parallel, RT_GROUP_DATA).gpus);
    if (parallel->bucket_bytes > 0)
        return parallel->bucket_bytes;
    if (row->bucket_each > 0 && parallel->no_overlap) /* Megatron-LM's bucket_size None: all at once */
        return INFINITY;
    return elements > 0 ? width * elements : 25 * RT_MIB;
}

/* --- hidden collectives --- */

static bool is_product(const struct rt_forecast_launch *launch)
{
    return rt_launch_family(launch)->product;
}

bool rt_launch_of_weights(const struct rt_forecast *forecast, const struct rt_forecast_launch *launch)
{
    const struct rt_node *node = &forecast->graph->nodes[launch->node];
    if (launch->kernel.call.phase != RT_BACKWARD || !(rt_node_trained(node) > 0) || !is_product(launch))
        return launch->kernel.call.phase == RT_ACCUMULATE && launch->kernel.call.op != RT_OP_OPTIMIZER;
    const struct rt_forecast_launch *end = &forecast->launches[forecast->node_launch[launch->node + 1]];
    for (const struct rt_forecast_launch *next = launch + 1; next < end; next++)
        if (next->kernel.call.phase == RT_BACKWARD && is_product(next))
            return false; /* the input's gradient comes first: rt_build_linear */
    return true;
}

/* The product next to a collective of its pass: `ahead` in the order in which they run, or behind it; NULL:
 * none. */
static const struct rt_forecast_launch *neighbour(const struct rt_forecast *forecast,
                                                  const struct rt_forecast_launch *of, bool ahead)
{
    const struct rt_block *block = &forecast->graph->blocks[forecast->graph->nodes[of->node].block];
    bool forward = of->kernel.call.phase == RT_FORWARD, up = forward == ahead;
    uint32_t first = block->node, end = first + block->node_count;
    for (uint32_t n = up ? of->node + 1 : of->node - 1; n >= first && n < end; n += up ? 1 : UINT32_MAX) {
        const struct rt_forecast_launch *found = NULL, *from = &forecast->launches[forecast->node_launch[n]];
        for (const struct rt_forecast_launch *l = from; l < &forecast->launches[forecast->node_launch[n + 1]];
             l++)
            if (l->kernel.call.phase == of->kernel.call.phase && is_product(l) && (found == NULL || !ahead))
                found = l; /* the nearest: first of those ahead, last of those behind */
        if (found != NULL)
            return found;
    }
    return NULL;
}

/* Attention of the collective's block in its phase, us. */
static double attention_us(const struct rt_forecast *forecast, const struct rt_forecast_launch *of)
{
    const struct rt_block *block = &forecast->graph->blocks[forecast->graph->nodes[of->node].block];
    uint32_t end = forecast->node_launch[block->node + block->node_count];
    double sum = 0;
    for (uint32_t i = forecast->node_launch[block->node]; i < end; i++) {
        const struct rt_forecast_launch *l = &forecast->launches[i];
        bool attention = rt_call_family(&l->kernel.call) == RT_FAMILY_ATTENTION;
        sum += attention && l->kernel.call.phase == of->kernel.call.phase ? l->time_us : 0;
    }
    return sum;
}

/* Of a collective that moves in chunks beside what lasts `beside_us`. */
static double chunked_us(const struct rt_forecast_launch *launch, double beside_us)
{
    double gpus = (double)launch->kernel.call.dim[RT_DIM_GPUS], rest = 1 - 1 / fmax(gpus, 1);
    return fmin(rest * launch->time_us, rest * beside_us);
}

/* Of an exchange of tokens beside the other pass of another micro batch (Megatron-Core's 1F1B with
 * overlap-moe-expert-parallel-comm, where a layer's forward pass runs beside a backward pass): as far as that
 * pass of the block lasts, shared among the block's exchanges of this one, in all micro batches but those
 * that fill and drain the pipeline. */
static double exchanged_us(const struct rt_forecast *forecast, const struct rt_forecast_launch *launch)
{
    const struct rt_parallelism *parallel = &forecast->options.parallel;
    const struct rt_block *block = &forecast->graph->blocks[forecast->graph->nodes[launch->node].block];
    double beside = 0, exchanged = 0, all = (double)parallel->microbatches;
    for (uint32_t i = forecast->node_launch[block->node],
                  end = forecast->node_launch[block->node + block->node_count];
         i < end; i++) {
        const struct rt_forecast_launch *l = &forecast->launches[i];
        bool same = l->kernel.call.phase == launch->kernel.call.phase;
        if (same && l->source == RT_TIME_LINK && l->kernel.group == RT_GROUP_EXPERT)
            exchanged += l->time_us;
        else if (!same && l->source != RT_TIME_LINK)
            beside += l->time_us;
    }
    double steady = fmax(0, 1 - fmax(1, (double)parallel->pipeline - 1) / all);
    return steady * launch->time_us * fmin(1, beside / exchanged);
}

/* nanotron's (parallel/tensor_parallel/functional.py): a gather beside the product of the tokens that are
 * here already; one for weights' gradients beside the product before it; what scatters a gradient beside the
 * weights'; outputs are scattered by themselves. */
static double own_piece_us(const struct rt_forecast *forecast, const struct rt_forecast_launch *launch,
                           const struct rt_forecast_launch *beside)
{
    const struct rt_node *node = &forecast->graph->nodes[launch->node];
    bool forward = launch->kernel.call.phase == RT_FORWARD;
    if (launch->kernel.call.op != RT_OP_ALL_GATHER)
        return forward || !rt_launch_of_weights(forecast, beside) ? 0
                                                                  : fmin(launch->time_us, beside->time_us);
    bool again = !forward && forecast->graph->kernels[node->kernel].call.op == RT_OP_ALL_GATHER;
    double pieces = again ? 1 : (double)launch->kernel.call.dim[RT_DIM_GPUS];
    return fmin(launch->time_us, beside->time_us / pieces);
}

static double hidden_us(const struct rt_forecast *forecast, const struct rt_forecast_launch *launch)
{
    const struct rt_parallelism *parallel = &forecast->options.parallel;
    enum rt_op_id op = launch->kernel.call.op;
    if (launch->kernel.group == RT_GROUP_CONTEXT && op == RT_OP_SEND_RECEIVE) {
        double blocks = (double)(parallel->context > 1 ? parallel->context : 1);
        return fmin(launch->time_us, (1 - 1 / blocks) * attention_us(forecast, launch));
    }
    if (launch->kernel.group == RT_GROUP_EXPERT && op == RT_OP_ALL_TO_ALL && parallel->expert_overlap)
        return exchanged_us(forecast, launch);
    if (launch->kernel.group != RT_GROUP_TENSOR || (op == RT_OP_ALL_TO_ALL))
        return 0;
    const struct rt_forecast_launch *beside = neighbour(forecast, launch, op == RT_OP_ALL_GATHER);
    if (beside == NULL)
        return 0;
    if (parallel->tensor_overlap && rt_overlap_of(forecast->graph)->own_pieces)
        return own_piece_us(forecast, launch, beside);
    if (parallel->tensor_overlap)
        return chunked_us(launch, beside->time_us);
    bool gradient = launch->kernel.call.phase == RT_BACKWARD && rt_launch_of_weights(forecast, beside);
    return gradient && rt_overlap_of(forecast->graph)->beside_weights ? fmin(launch->time_us, beside->time_us)
                                                                      : 0;
}

/* Share of the micro batches that add their gradients to those before by kernels. */
static double accumulates(const struct rt_forecast *forecast)
{
    enum rt_runtime_id runtime = forecast->graph->options.runtime;
    double all = (double)forecast->options.parallel.microbatches;
    bool freed =
        rt_runtimes[runtime].accumulation == RT_ACCUMULATION_FREED && rt_overlaps[runtime].runs_ahead;
    return freed ? (all - 1) / all : 1;
}

void rt_forecast_overlap(struct rt_forecast *forecast)
{
    forecast->accumulates = accumulates(forecast);
    if (!rt_graph_trains(forecast->graph))
        return;
    for (size_t i = 0; i < forecast->launch_count; i++)
        if (forecast->launches[i].source == RT_TIME_LINK)
            forecast->launches[i].hidden_us = hidden_us(forecast, &forecast->launches[i]);
}

double rt_launch_in_line_us(const struct rt_forecast *forecast, const struct rt_forecast_launch *launch)
{
    if (launch->hidden_us == 0) /* most */
        return launch->time_us;
    return launch->time_us - (1 - rt_overlap_share(forecast->device)) * launch->hidden_us;
}
