/* Programs that train: what they can do, and how they are told. See plan.h. */
#include "base/status.h"
#include "base/text.h"
#include "predict/search/train/plan.h"
#include "predict/step/overlap.h"
#include "predict/step/passes.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

enum {
    NOTHING = 1u << RT_SHARD_NONE,
    OPTIMIZER = 1u << RT_SHARD_OPTIMIZER,
    GRADIENTS = 1u << RT_SHARD_GRADIENTS,
    PARAMETERS = 1u << RT_SHARD_PARAMETERS,
    KEEPS = 1u << RT_RECOMPUTE_NONE,
    LAYERS = 1u << RT_RECOMPUTE_LAYERS,
    SELECTIVE = 1u << RT_RECOMPUTE_SELECTIVE,
    NORMS = 1u << RT_RECOMPUTE_NORMS,
};

/* What Megatron-LM and Megatron-Bridge have in common. */
#define MEGATRON_CORE                                                                                        \
    .shards = NOTHING | OPTIMIZER, .recomputes = KEEPS | LAYERS | SELECTIVE | NORMS, .tensor = true,         \
    .context = true, .pipeline = true, .interleaved = true, .sequence = true, .exchanges_beside = true

/* clang-format off */
static const struct rt_trainer trainers[] = {
    {.runtime = RT_RUNTIME_MEGATRON, MEGATRON_CORE},
    {.runtime = RT_RUNTIME_MEGATRON_BRIDGE, MEGATRON_CORE},
    {.runtime = RT_RUNTIME_MEGATRON_OLD, .shards = NOTHING | OPTIMIZER, .recomputes = KEEPS | LAYERS | SELECTIVE,
     .tensor = true, .pipeline = true, .interleaved = true},
    {.runtime = RT_RUNTIME_TORCHTITAN, .shards = PARAMETERS | NOTHING, .recomputes = KEEPS | LAYERS | SELECTIVE,
     .tensor = true, .context = true, .pipeline = true, .interleaved = true, .sequence = true},
    {.runtime = RT_RUNTIME_NANOTRON, .shards = NOTHING | OPTIMIZER, .recomputes = KEEPS | LAYERS, .tensor = true,
     .pipeline = true, .sequence = true, .overlap = true},
    {.runtime = RT_RUNTIME_FSDP, .shards = NOTHING | GRADIENTS | PARAMETERS, .recomputes = KEEPS | LAYERS},
    {.runtime = RT_RUNTIME_DEEPSPEED, .shards = NOTHING | OPTIMIZER | GRADIENTS | PARAMETERS,
     .recomputes = KEEPS | LAYERS},
    {.runtime = RT_RUNTIME_EAGER, .shards = NOTHING | OPTIMIZER, .recomputes = KEEPS | LAYERS},
    {.runtime = RT_RUNTIME_COMPILE, .shards = NOTHING | OPTIMIZER, .recomputes = KEEPS | LAYERS},
};
/* clang-format on */

const struct rt_trainer *rt_trainer_of(enum rt_runtime_id runtime)
{
    for (size_t i = 0; i < RT_COUNT(trainers); i++)
        if (trainers[i].runtime == runtime)
            return &trainers[i];
    return NULL;
}

/* --- how they are told --- */

/* A candidate with what stands beside it. */
struct launched {
    const struct rt_training_request *request;
    const struct rt_training_cell *cell;
    const struct rt_training_candidate *c;
    struct rt_step step; /* of it */
    const struct rt_graph *graph;
    int64_t layers, node;
};

static int64_t of(const struct launched *l, enum rt_training_axis axis)
{
    return l->c->value[axis];
}

static bool recomputes(const struct launched *l, enum rt_recompute what)
{
    return of(l, RT_AXIS_RECOMPUTE) == (int64_t)what;
}

/* Of what is shared out. */
static int64_t copies(const struct launched *l)
{
    int64_t gpus = of(l, RT_AXIS_SHARD_GPUS);
    return gpus > 0 ? of(l, RT_AXIS_DP) * of(l, RT_AXIS_CP) / gpus : 1;
}

/* A line of a command that goes on. */
static void add_line(struct rt_text *out, const char *text)
{
    rt_text_item(out, " \\\n  ", "%s", text);
}

#define ADD(out, ...)                                                                                        \
    do {                                                                                                     \
        char *line = rt_format(__VA_ARGS__);                                                                 \
        add_line(out, line);                                                                                 \
        free(line);                                                                                          \
    } while (0)

/* An NVLink domain over several machines has trays of four GPUs (NVIDIA GB200 NVL72: 18 of them). */
static bool is_rack(const struct launched *l)
{
    const int64_t most_of_a_machine = 16;
    return l->node > most_of_a_machine;
}

/* As few as hold all GPUs in equal numbers. */
static int64_t machines(const struct launched *l)
{
    int64_t most = is_rack(l) ? 4 : l->node, count = (l->cell->gpus + most - 1) / most;
    while (l->cell->gpus % count != 0)
        count++;
    return count;
}

static void add_torchrun(const struct launched *l, const char *script, struct rt_text *out)
{
    ADD(out, "torchrun --nnodes %" PRId64 " --nproc-per-node %" PRId64 "%s %s", machines(l),
        l->cell->gpus / machines(l), machines(l) > 1 ? " --node-rank $RANK --master-addr $HEAD" : "", script);
}

/* Layers of a piece (rt_piece_repeats). */
static int64_t layers_of(const struct launched *l, int64_t piece, int64_t pieces)
{
    int64_t layers = 0;
    for (size_t b = 0; b < l->graph->block_count; b++)
        if (l->graph->blocks[b].role == RT_BLOCK_LAYER)
            layers += rt_piece_repeats(l->graph, b, piece, pieces);
    return layers;
}

/* Pieces of unequal numbers of layers: embedding E, decoder layers t, loss L
 * (--pipeline-model-parallel-layout). */
static void add_layout(const struct launched *l, struct rt_text *out)
{
    struct rt_text layout = {0};
    int64_t pieces = of(l, RT_AXIS_PP) * of(l, RT_AXIS_VP);
    for (int64_t k = 0; k < pieces; k++)
        rt_text_item(&layout, "|", "%st*%" PRId64 "%s", k == 0 ? "E" : "", layers_of(l, k, pieces),
                     k == pieces - 1 ? "L" : "");
    ADD(out, "--pipeline-model-parallel-layout \"%s\"", layout.text);
    rt_text_release(&layout);
}

/* Embedding and loss count as layers where that makes pieces even. */
static void add_pieces(const struct launched *l, struct rt_text *out)
{
    int64_t stages = of(l, RT_AXIS_PP), pieces = stages * of(l, RT_AXIS_VP), layers = l->layers;
    if (layers % pieces != 0 && (layers + 2) % pieces != 0) {
        add_layout(l, out);
        return;
    }
    if (layers % pieces != 0) {
        ADD(out, "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split");
        layers += 2;
    }
    if (pieces > stages)
        ADD(out, "--num-layers-per-virtual-pipeline-stage %" PRId64, layers / pieces);
}

/* What Megatron-LM captures. */
static void add_graphs(const struct launched *l, struct rt_text *out)
{
    bool experts = l->request->source->model.experts.count > 0;
    if (l->step.cuda_graphs == RT_CAPTURES_STEP)
        ADD(out, "--cuda-graph-impl local --cuda-graph-scope full_iteration");
    else if (l->step.cuda_graphs > RT_CAPTURES_NONE)
        ADD(out, "--cuda-graph-impl transformer_engine --cuda-graph-scope%s%s",
            l->step.cuda_graphs == RT_CAPTURES_LAYERS ? " attn" : "",
            experts ? " moe_router moe_preprocess" : " mlp");
}

/* Megatron-LM, megatron/training/arguments.py. */
static void add_megatron(const struct launched *l, struct rt_text *out)
{
    add_torchrun(l, l->graph->alternates ? "pretrain_mamba.py" : "pretrain_gpt.py", out);
    ADD(out, "--tensor-model-parallel-size %" PRId64 " --pipeline-model-parallel-size %" PRId64,
        of(l, RT_AXIS_TP), of(l, RT_AXIS_PP));
    add_pieces(l, out);
    if (of(l, RT_AXIS_CP) > 1)
        ADD(out, "--context-parallel-size %" PRId64, of(l, RT_AXIS_CP));
    if (of(l, RT_AXIS_EP) > 1)
        ADD(out,
            "--expert-model-parallel-size %" PRId64
            " --moe-grouped-gemm --moe-token-dispatcher-type flex --moe-flex-dispatcher-backend %s%s",
            of(l, RT_AXIS_EP), is_rack(l) ? "hybridep" : "deepep",
            l->step.parallel.expert_overlap ? " --overlap-moe-expert-parallel-comm" : "");
    ADD(out, "--micro-batch-size %" PRId64 " --global-batch-size %" PRId64 " --seq-length %" PRId64,
        of(l, RT_AXIS_MICRO_BATCH), l->cell->batch, l->request->step.sequence);
    if (l->step.parallel.sequence)
        ADD(out, "--sequence-parallel%s", l->step.parallel.tensor_overlap ? " --tp-comm-overlap" : "");
    if (of(l, RT_AXIS_SHARD) == RT_SHARD_OPTIMIZER)
        ADD(out, "--use-distributed-optimizer");
    if (copies(l) > 1)
        ADD(out, "--num-distributed-optimizer-instances %" PRId64, copies(l));
    if (of(l, RT_AXIS_DP) > 1 && !l->request->step.parallel.no_overlap)
        ADD(out, "--overlap-grad-reduce%s",
            of(l, RT_AXIS_SHARD) == RT_SHARD_OPTIMIZER && !rt_overlaps[l->step.runtime].gathers_late
                ? " --overlap-param-gather"
                : "");
    if (recomputes(l, RT_RECOMPUTE_LAYERS))
        ADD(out, "--recompute-granularity full --recompute-method uniform --recompute-num-layers 1");
    if (recomputes(l, RT_RECOMPUTE_SELECTIVE))
        ADD(out, "--recompute-granularity selective");
    if (recomputes(l, RT_RECOMPUTE_NORMS))
        ADD(out, "--recompute-granularity selective --recompute-modules layernorm%s",
            l->request->source->model.experts.count > 0 ? " moe_act" : "");
    if (recomputes(l, RT_RECOMPUTE_EXPERTS))
        ADD(out, "--recompute-granularity selective --recompute-modules layernorm moe");
    if (recomputes(l, RT_RECOMPUTE_LATENT))
        ADD(out, "--recompute-granularity selective --recompute-modules mla_up_proj");
    add_graphs(l, out);
    if (rt_dtypes[l->step.dtype].bytes == 2)
        ADD(out, "--%s", rt_dtypes[l->step.dtype].name);
    if (l->step.quant == RT_FP8 || l->step.quant == RT_FP8_BLOCK)
        ADD(out, "--fp8-format hybrid --fp8-recipe %s",
            l->step.quant != RT_FP8                   ? "blockwise"
            : rt_runtimes[l->step.runtime].scales_now ? "tensorwise"
                                                      : "delayed");
    if (l->step.quant == RT_FP4)
        ADD(out, "--fp4-format e2m1 --fp4-recipe nvfp4");
    if (rt_runtimes[l->step.runtime].accumulation == RT_ACCUMULATION_JOINED)
        ADD(out, "--grad-reduce-in-bf16");
}

/* torchtitan, torchtitan/config/job_config.py. */
static void add_torchtitan(const struct launched *l, struct rt_text *out)
{
    bool shards = of(l, RT_AXIS_SHARD) == RT_SHARD_PARAMETERS;
    add_torchrun(l, "-m torchtitan.train", out);
    ADD(out,
        "--parallelism.tensor_parallel_degree %" PRId64 " --parallelism.pipeline_parallel_degree %" PRId64,
        of(l, RT_AXIS_TP), of(l, RT_AXIS_PP));
    ADD(out,
        "--parallelism.data_parallel_shard_degree %" PRId64
        " --parallelism.data_parallel_replicate_degree %" PRId64,
        shards ? of(l, RT_AXIS_DP) / copies(l) : 1, shards ? copies(l) : of(l, RT_AXIS_DP));
    if (of(l, RT_AXIS_PP) > 1)
        ADD(out,
            "--parallelism.pipeline_parallel_schedule %s --parallelism.pipeline_parallel_microbatch_size "
            "%" PRId64,
            of(l, RT_AXIS_VP) > 1 ? "Interleaved1F1B" : "1F1B", of(l, RT_AXIS_MICRO_BATCH));
    if (of(l, RT_AXIS_CP) > 1)
        ADD(out, "--parallelism.context_parallel_degree %" PRId64, of(l, RT_AXIS_CP));
    if (of(l, RT_AXIS_EP) > 1)
        ADD(out, "--parallelism.expert_parallel_degree %" PRId64, of(l, RT_AXIS_EP));
    /* In a pipeline the local batch is cut into micro batches; else gradients accumulate over local batches.
     */
    ADD(out,
        "--training.local_batch_size %" PRId64 " --training.global_batch_size %" PRId64
        " --training.seq_len %" PRId64,
        of(l, RT_AXIS_MICRO_BATCH) * (of(l, RT_AXIS_PP) > 1 ? l->c->microbatches : 1), l->cell->batch,
        l->request->step.sequence);
    ADD(out, "--activation_checkpoint.mode %s",
        recomputes(l, RT_RECOMPUTE_LAYERS)      ? "full"
        : recomputes(l, RT_RECOMPUTE_SELECTIVE) ? "selective"
                                                : "none");
}

/* nanotron reads a file, src/nanotron/config. */
static void add_nanotron(const struct launched *l, struct rt_text *out)
{
    rt_text_add(out,
                "parallelism:\n  dp: %" PRId64 "\n  tp: %" PRId64 "\n  pp: %" PRId64 "\n  pp_engine: 1f1b\n",
                of(l, RT_AXIS_DP), of(l, RT_AXIS_TP), of(l, RT_AXIS_PP));
    if (of(l, RT_AXIS_EP) > 1)
        rt_text_add(out, "  expert_parallel_size: %" PRId64 "\n", of(l, RT_AXIS_EP));
    rt_text_add(out, "  tp_mode: %s\n  tp_linear_async_communication: %s\n",
                l->step.parallel.sequence ? "REDUCE_SCATTER" : "ALL_REDUCE",
                l->step.parallel.tensor_overlap ? "true" : "false");
    if (recomputes(l, RT_RECOMPUTE_LAYERS))
        rt_text_add(out, "  recompute_layer: true\n");
    rt_text_add(out,
                "tokens:\n  micro_batch_size: %" PRId64 "\n  batch_accumulation_per_replica: %d\n"
                "  sequence_length: %" PRId64 "\noptimizer:\n  zero_stage: %d",
                of(l, RT_AXIS_MICRO_BATCH), l->c->microbatches, l->request->step.sequence,
                of(l, RT_AXIS_SHARD) == RT_SHARD_OPTIMIZER);
}

/* Hugging Face's accelerate, which passes them to torch.distributed.fsdp. */
static void add_fsdp(const struct launched *l, struct rt_text *out)
{
    static const char *const strategies[RT_SHARD_COUNT] = {"NO_SHARD", "SHARD_GRAD_OP", "SHARD_GRAD_OP",
                                                           "FULL_SHARD"};
    ADD(out, "accelerate launch --use_fsdp --num_machines %" PRId64 " --num_processes %" PRId64 "%s",
        machines(l), l->cell->gpus,
        machines(l) > 1 ? " --machine_rank $RANK --main_process_ip $HEAD --main_process_port 29500" : "");
    ADD(out, "--fsdp_sharding_strategy %s --fsdp_auto_wrap_policy TRANSFORMER_BASED_WRAP",
        copies(l) > 1 ? (of(l, RT_AXIS_SHARD) == RT_SHARD_PARAMETERS ? "HYBRID_SHARD" : "HYBRID_SHARD_ZERO2")
                      : strategies[of(l, RT_AXIS_SHARD)]);
    if (recomputes(l, RT_RECOMPUTE_LAYERS))
        ADD(out, "--fsdp_activation_checkpointing true");
    ADD(out, "--mixed_precision %s --gradient_accumulation_steps %d train.py",
        l->request->step.dtype == RT_FP16 ? "fp16" : "bf16", l->c->microbatches);
    ADD(out, "--per_device_train_batch_size %" PRId64, of(l, RT_AXIS_MICRO_BATCH));
}

/* DeepSpeed reads a file: deepspeed.ai/docs/config-json. */
static void add_deepspeed(const struct launched *l, struct rt_text *out)
{
    rt_text_add(out,
                "{\"train_batch_size\": %" PRId64 ", \"train_micro_batch_size_per_gpu\": %" PRId64
                ", \"gradient_accumulation_steps\": %d,\n \"zero_optimization\": {\"stage\": %" PRId64,
                l->cell->batch, of(l, RT_AXIS_MICRO_BATCH), l->c->microbatches, of(l, RT_AXIS_SHARD));
    if (copies(l) > 1) /* MiCS, of stage 3 */
        rt_text_add(out, ", \"mics_shard_size\": %" PRId64, of(l, RT_AXIS_SHARD_GPUS));
    if (l->step.optimizer == RT_OPTIMIZER_ADAMW_CPU)
        rt_text_add(out, ", \"offload_optimizer\": {\"device\": \"cpu\", \"pin_memory\": true}");
    rt_text_add(out, ", \"overlap_comm\": true}, \"%s\": {\"enabled\": true}}",
                l->request->step.dtype == RT_FP16 ? "fp16" : "bf16");
}

/* A script of one's own. */
static void add_plain(const struct launched *l, struct rt_text *out)
{
    add_torchrun(l, "train.py", out);
    ADD(out, "# micro batch %" PRId64 ", %d a step on each GPU", of(l, RT_AXIS_MICRO_BATCH),
        l->c->microbatches);
}

static void (*const launches[RT_COUNT(trainers)])(const struct launched *l, struct rt_text *out) = {
    add_megatron, add_megatron,  add_megatron, add_torchtitan, add_nanotron,
    add_fsdp,     add_deepspeed, add_plain,    add_plain};

char *rt_training_launch(const struct rt_training_plan *plan, const struct rt_training_candidate *c)
{
    struct launched l = {.request = plan->request,
                         .cell = &plan->cell[c->cell],
                         .c = c,
                         .step = rt_training_step(plan, c),
                         .graph = &plan->shape[c->shape].prediction.graph,
                         .layers = plan->request->source->model.layers,
                         .node = rt_training_node_gpus(plan, &plan->cell[c->cell])};
    struct rt_text out = {0};
    launches[plan->trainer - trainers](&l, &out);
    if (l.step.lora > 0)
        rt_text_add(&out,
                    "\n# with adapters of rank %" PRId64 ", which the script puts on the layers' products",
                    l.step.lora);
    return rt_text_take(&out);
}

/* ---- the same step by `rooftile predict` ---- */

/* Quoted where a shell would split it. */
static void add_word(struct rt_text *out, const char *option, const char *word)
{
    rt_text_add(out, strpbrk(word, " ()") != NULL ? " --%s \"%s\"" : " --%s %s", option, word);
}

/* What was given of the step beside its cut, and is no default. */
static void add_given(struct rt_text *out, const struct rt_step *step)
{
    const struct rt_cluster *cluster = &step->parallel.cluster;
    if (step->optimizer >= 0)
        add_word(out, "optimizer", rt_optimizers[step->optimizer]);
    if (step->attention > RT_ATTENTION_OWN)
        add_word(out, "attention", rt_attention_libraries[step->attention]);
    if (step->cuda_graphs > RT_CAPTURES_NONE)
        add_word(out, "cuda-graphs", rt_cuda_graphs[step->cuda_graphs]);
    if (step->host != NULL)
        add_word(out, "host", step->host);
    if (step->lora > 0)
        rt_text_add(out, " --lora %" PRId64, step->lora);
    if (step->parallel.fabric != RT_FABRIC_OWN)
        add_word(out, "fabric", rt_fabrics[step->parallel.fabric]);
    if (step->parallel.link_gbs > 0)
        rt_text_add(out, " --link-gbs %.9g", step->parallel.link_gbs);
    if (cluster->node_gpus > 0)
        rt_text_add(out, " --node-gpus %" PRId64, cluster->node_gpus);
    if (cluster->node_gbs > 0)
        rt_text_add(out, " --node-gbs %.9g", cluster->node_gbs);
    if (cluster->network != RT_NETWORK_OWN)
        add_word(out, "network", rt_networks[cluster->network]);
    if (cluster->oversubscription > 1)
        rt_text_add(out, " --oversubscription %.9g", cluster->oversubscription);
}

char *rt_training_predict_line(const struct rt_training_plan *plan, const struct rt_training_candidate *c)
{
    static const struct {
        const char *option;
        enum rt_training_axis axis;
    } degrees[] = {{"dp", RT_AXIS_DP}, {"tp", RT_AXIS_TP}, {"pp", RT_AXIS_PP},
                   {"vp", RT_AXIS_VP}, {"cp", RT_AXIS_CP}, {"ep", RT_AXIS_EP}};
    const struct rt_training_request *request = plan->request;
    const struct rt_training_cell *cell = &plan->cell[c->cell];
    struct rt_step step = rt_training_step(plan, c);
    struct rt_text out = {0};
    rt_text_add(&out, "rooftile predict --mode training --runtime %s --dtype %s",
                rt_runtimes[plan->trainer->runtime].name, rt_dtypes[request->step.dtype].name);
    if (request->step.quant >= 0)
        add_word(&out, "quant", rt_dtypes[request->step.quant].name);
    add_word(&out, "model", request->source->spec);
    add_word(&out, "gpu", request->gpu[cell->gpu].asked);
    rt_text_add(&out, " --batch %" PRId64 " --seq %" PRId64, cell->batch, request->step.sequence);
    for (size_t d = 0; d < RT_COUNT(degrees); d++)
        if (c->value[degrees[d].axis] > 1)
            rt_text_add(&out, " --%s %d", degrees[d].option, c->value[degrees[d].axis]);
    if (c->microbatches > 1)
        rt_text_add(&out, " --microbatches %d", c->microbatches);
    if (step.parallel.schedule != RT_PIPELINE_1F1B)
        add_word(&out, "schedule", rt_pipeline_schedules[step.parallel.schedule]);
    if (step.parallel.sequence)
        rt_text_add(&out, " --sp%s", step.parallel.tensor_overlap ? " --tp-overlap" : "");
    if (step.parallel.expert_overlap)
        rt_text_add(&out, " --expert-overlap");
    if (c->value[RT_AXIS_SHARD] != RT_SHARD_NONE)
        add_word(&out, "shard", rt_shard_kinds[c->value[RT_AXIS_SHARD]]);
    if (c->value[RT_AXIS_SHARD_GPUS] > 0)
        rt_text_add(&out, " --shard-gpus %d", c->value[RT_AXIS_SHARD_GPUS]);
    if (c->value[RT_AXIS_RECOMPUTE] != RT_RECOMPUTE_NONE)
        add_word(&out, "recompute", rt_recomputes[c->value[RT_AXIS_RECOMPUTE]]);
    add_given(&out, &request->step);
    return rt_text_take(&out);
}
