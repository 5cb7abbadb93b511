/* Graphs as arrays of blocks, nodes, kernels and inputs. See graph.h. */
#include "models/networks/graph.h"
#include "base/array.h"
#include "base/status.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const rt_steps[RT_STEP_COUNT] = {"inference", "decode", "training"};
const char *const rt_optimizers[RT_OPTIMIZER_COUNT] = {"none", "sgd", "adamw", "momentum", "adamw-cpu"};
const char *const rt_recomputes[RT_RECOMPUTE_COUNT] = {"none",  "layers",  "selective",
                                                       "norms", "experts", "latent"};
const char *const rt_cuda_graphs[RT_CAPTURES_COUNT] = {"none", "router", "layers", "step"};
const char *const rt_lora_places[RT_LORA_PLACES] = {"all", "attention", "qkv"};
const char *const rt_attention_libraries[RT_ATTENTION_LIBRARIES] = {"own",    "math",   "triton",
                                                                    "flash2", "flash3", "cudnn"};

void rt_graph_init(struct rt_graph *graph, const struct rt_graph_options *options)
{
    *graph = (struct rt_graph){.options = *options, .products = options->dtype};
    if (rt_dtype_is_narrow(options->dtype))
        graph->options.dtype = options->fp16_beside ? RT_FP16 : RT_BF16;
}

struct rt_graph_dtype_words rt_graph_dtype_words(const struct rt_graph *graph)
{
    struct rt_graph_dtype_words words;
    const char *products = rt_dtypes[graph->products].name, *all = rt_dtypes[graph->options.dtype].name;
    if (graph->products == graph->options.dtype)
        snprintf(words.text, sizeof words.text, "%s%s", all,
                 graph->options.conv_tf32 ? ", convolutions in tf32" : "");
    else
        snprintf(words.text, sizeof words.text, "%s, beside it %s", products, all);
    return words;
}

const char *rt_graph_runtime_words(const struct rt_graph *graph)
{
    const struct rt_runtime *runtime = &rt_runtimes[graph->options.runtime];
    bool attention = graph->options.image == 0; /* of language models; what an operator graph has shows */
    for (size_t k = 0; k < graph->kernel_count; k++) {
        enum rt_family family = rt_call_family(&graph->kernels[k].call);
        if (rt_families[family].attention)
            return runtime->what;
        attention |= family == RT_FAMILY_SOFTMAX;
    }
    return attention ? runtime->unfused : runtime->plain;
}

void rt_graph_release(struct rt_graph *graph)
{
    for (size_t i = 0; i < graph->text_count; i++)
        free(graph->texts[i]);
    free(graph->texts);
    free(graph->blocks);
    free(graph->nodes);
    free(graph->kernels);
    free(graph->inputs);
    *graph = (struct rt_graph){0};
}

uint32_t rt_graph_add_block(struct rt_graph *graph, const char *name, enum rt_block_role role, int64_t repeat)
{
    RT_GROW(graph->blocks, graph->block_count, 1, graph->block_capacity);
    graph->blocks[graph->block_count] =
        (struct rt_block){.name = name, .role = role, .repeat = repeat, .node = (uint32_t)graph->node_count};
    return (uint32_t)graph->block_count++;
}

uint32_t rt_graph_add_node(struct rt_graph *graph, const char *name)
{
    RT_GROW(graph->nodes, graph->node_count, 1, graph->node_capacity);
    graph->nodes[graph->node_count] = (struct rt_node){.name = name,
                                                       .dtype = graph->options.dtype,
                                                       .adapter = graph->adapting,
                                                       .block = (uint32_t)(graph->block_count - 1),
                                                       .kernel = (uint32_t)graph->kernel_count,
                                                       .input = (uint32_t)graph->input_count};
    graph->blocks[graph->block_count - 1].node_count++;
    return (uint32_t)graph->node_count++;
}

void rt_graph_add_input(struct rt_graph *graph, uint32_t from)
{
    RT_GROW(graph->inputs, graph->input_count, 1, graph->input_capacity);
    graph->inputs[graph->input_count++] = from;
    graph->nodes[graph->node_count - 1].input_count++;
}

bool rt_graph_narrows(const struct rt_graph *graph)
{
    return graph->products != graph->options.dtype && rt_dtype_is_narrow(graph->products) &&
           graph->blocks[graph->block_count - 1].role == RT_BLOCK_LAYER &&
           (graph->options.wide_parts >> graph->part & 1) == 0 && !graph->adapting;
}

/* vLLM and the checkpoints it reads quantise the linear modules of the layers, and neither embedding nor head
 * ("ignore": ["lm_head"] in compressed-tensors, exclude_modules in modelopt). */
static enum rt_dtype dtype_of(const struct rt_graph *graph, enum rt_op_id op, const int64_t *dim)
{
    bool layer = graph->blocks[graph->block_count - 1].role == RT_BLOCK_LAYER;
    if (op == RT_OP_LINEAR && ((graph->options.wide_parts >> graph->part & 1) != 0 || graph->adapting))
        layer = false;
    if (layer && op == RT_OP_MOE && graph->options.experts_dtype != RT_FP32)
        return graph->options.experts_dtype;
    enum rt_dtype own = graph->nodes[graph->node_count - 1].dtype;
    if (op == RT_OP_CONV2D && (own == RT_TF32 || (own == RT_FP32 && graph->options.conv_tf32)))
        return dim[RT_CONV_IN] / dim[RT_CONV_GROUPS] < RT_TF32_CHANNELS ? RT_FP32 : RT_TF32;
    return layer && (op == RT_OP_LINEAR || op == RT_OP_MOE) ? graph->products : own;
}

static void count_kernel(struct rt_graph_kernel *kernel)
{
    kernel->flops = rt_call_flops(&kernel->call);
    kernel->bytes = rt_call_bytes(&kernel->call);
}

struct rt_graph_kernel *rt_graph_add_kernel(struct rt_graph *graph, enum rt_phase phase, enum rt_op_id op,
                                            const int64_t *dim)
{
    RT_GROW(graph->kernels, graph->kernel_count, 1, graph->kernel_capacity);
    struct rt_graph_kernel *kernel = &graph->kernels[graph->kernel_count++];
    memset(kernel, 0, sizeof *kernel);
    rt_call_init(&kernel->call, op, dtype_of(graph, op, dim));
    memcpy(kernel->call.dim, dim, (size_t)rt_op_graph_dims(op) * sizeof *dim);
    kernel->call.phase = (uint8_t)phase;
    kernel->multiple = kernel->slower = 1;
    count_kernel(kernel);
    graph->nodes[graph->node_count - 1].kernel_count++;
    return kernel;
}

void rt_graph_set_dtype(struct rt_graph_kernel *kernel, enum rt_dtype dtype)
{
    kernel->call.dtype = (uint8_t)rt_op_dtype((enum rt_op_id)kernel->call.op, dtype);
    count_kernel(kernel);
}

const char *rt_graph_text(struct rt_graph *graph, const char *text, size_t length)
{
    graph->texts = rt_realloc(graph->texts, graph->text_count + 1, sizeof *graph->texts);
    char *copy = rt_malloc(length + 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return graph->texts[graph->text_count++] = copy;
}

size_t rt_node_launches(const struct rt_graph *graph, const struct rt_node *node, enum rt_phase phase,
                        struct rt_graph_kernel *out)
{
    const struct rt_graph_kernel *kernels = graph->kernels + node->kernel;
    size_t count = 0;
    for (uint32_t k = 0; k < node->kernel_count; k++)
        if (kernels[k].call.phase == phase)
            out[count++] = kernels[k];
    bool alone =
        count == 1 && graph->options.image == 0; /* a kernel alone is what it was, but for models of images */
    if (count == 0 || alone || phase == RT_ACCUMULATE || !(node->fused_bytes[phase] > 0))
        return count;
    struct rt_graph_kernel fused = out[count - 1];
    double flops = 0;
    for (size_t k = 0; k < count; k++) {
        flops += out[k].flops;
        if (rt_family_vector(rt_call_family(&out[k].call)))
            fused = out[k];
    }
    fused.flops = flops;
    fused.bytes = node->fused_bytes[phase];
    fused.reread_bytes = 0; /* unknown for a chain */
    out[0] = fused;
    return 1;
}

/* Adds a kernel that runs `repeat` times. */
static void add_kernel(struct rt_graph_totals *totals, const struct rt_graph_kernel *kernel, double repeat)
{
    int phase = kernel->call.phase;
    totals->kernels[phase] += (size_t)repeat;
    if (rt_families[rt_call_family(&kernel->call)].link) {
        totals->sent_bytes[phase] += repeat * kernel->bytes;
        return;
    }
    totals->flops[phase] += repeat * kernel->flops;
    totals->bytes[phase] += repeat * kernel->bytes;
}

/* Repetitions of a block that have weights of their own. */
static int64_t distinct_repeats(const struct rt_block *block)
{
    return block->distinct > 0 ? block->distinct : block->repeat;
}

void rt_graph_totals(const struct rt_graph *graph, struct rt_graph_totals *out)
{
    struct rt_graph_totals totals = {0};
    struct rt_graph_kernel *launches = rt_malloc((graph->kernel_count + 1) * sizeof *launches);
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct rt_node *node = &graph->nodes[n];
        double repeat = (double)rt_graph_repeat(graph, node);
        totals.parameters += (double)distinct_repeats(&graph->blocks[node->block]) * node->parameters;
        totals.frozen += (double)distinct_repeats(&graph->blocks[node->block]) * node->frozen;
        totals.nodes += (size_t)repeat;
        for (int phase = 0; phase < RT_PHASE_COUNT; phase++) {
            size_t count = rt_node_launches(graph, node, phase, launches);
            for (size_t k = 0; k < count; k++)
                add_kernel(&totals, &launches[k], rt_graph_runs(graph, node, phase));
        }
    }
    free(launches);
    totals.parameters -= graph->shared;
    totals.frozen -= totals.frozen > 0 ? graph->shared : 0;
    *out = totals;
}

/* ---- runtimes ---- */

/*
 * Memory beside the allocator's, by framework (docs/log/parts.md): 860 MiB of PyTorch 2.1 with CUDA 11.8
 * (optimum-benchmark, used less reserved), 1,424 before kernels were loaded when they first run (MIGProfiler,
 * PyTorch 1.11; CUDA 11.7, "Lazy Loading"). With cuDNN's handle and kernels more, which are among the 1,424:
 * a tenth of GPUMemNet's models.
 */
#define PYTORCH_2 .context_mib = 860, .cudnn_mib = 420
#define PYTORCH_1 .context_mib = 1424, .accumulation = RT_ACCUMULATION_KEPT, .stepping = RT_STEPPING_LOOP
#define MEGATRON                                                                                             \
    .fused_attention = true, .hosted = true, .attention = RT_ATTENTION_CUDNN, .fused_norms = true,           \
    .fused_rotary = true, .fused_activation = true, .fused_residual = true, .fused_softmax = true,           \
    .joined_products = true, .grouped_experts = true, .once_a_server = true, .engine = true,                 \
    .narrow_weights = true, .loss = true, .fused_loss = true, .clips = true, .stepping = RT_STEPPING_FUSED,  \
    PYTORCH_2
/* clang-format off */
#define ONE_KERNEL(words) .what = words ", attention in one kernel", .unfused = words ", attention written out", .plain = words
#define WRITTEN_OUT(words) .what = words ", attention written out", .unfused = words ", attention written out", .plain = words
const struct rt_runtime rt_runtimes[RT_RUNTIME_COUNT] = {
    [RT_RUNTIME_EAGER_MATH] = {.name = "eager-math", WRITTEN_OUT("PyTorch op by op"), .hosted = true, PYTORCH_2},
    [RT_RUNTIME_EAGER] = {.name = "eager", ONE_KERNEL("PyTorch op by op"), .fused_attention = true, .hosted = true,
        PYTORCH_2},
    [RT_RUNTIME_COMPILE] = {.name = "compile", ONE_KERNEL("torch.compile"), .fused_attention = true, .fusion = true,
        .replayed = true, PYTORCH_2},
    [RT_RUNTIME_SERVING] = {.name = "serving", .what = "an LLM server (vLLM, SGLang, TensorRT-LLM)",
        .unfused = "an LLM server (vLLM, SGLang, TensorRT-LLM)", .plain = "an LLM server (vLLM, SGLang, TensorRT-LLM)",
        .fused_attention = true, .served = true, .replayed = true, PYTORCH_2},
    [RT_RUNTIME_GRAPH] = {.name = "graph", ONE_KERNEL("PyTorch's kernels as one CUDA graph"), .fused_attention = true,
        .hosted = true, .replayed = true, PYTORCH_2},
    [RT_RUNTIME_EAGER_OLD] = {.name = "eager-1.4", WRITTEN_OUT("PyTorch 1.4 or older op by op"), .hosted = true,
        .scalar_loads = true, PYTORCH_1},
    /* Megatron-LM's defaults with Transformer Engine: layer norms and RMS norms of TE, bias_gelu_fusion,
     * bias_swiglu_fusion, bias_dropout_fusion, apply_rope_fusion, cross_entropy_loss_fusion,
     * gradient_accumulation_fusion, clip_grad 1 (megatron/training/arguments.py); on Hopper TE takes cuDNN's
     * attention (transformer_engine/pytorch/attention/dot_product_attention/utils.py); of fp8
     * fp8_param_gather (Megatron-Bridge's recipes of current scaling and mxfp8); moe_flex_dispatcher_backend
     * deepep or hybridep (its recipes of models with experts; alltoall is the library's default). */
    [RT_RUNTIME_MEGATRON] = {.name = "megatron", ONE_KERNEL("Megatron-LM"), .accumulation = RT_ACCUMULATION_FUSED,
        MEGATRON},
    /* scripts/performance: bf16_with_fp8_current_scaling_mixed, grad_reduce_in_fp32 False
       (NVIDIA-NeMo/Megatron-Bridge). */
    [RT_RUNTIME_MEGATRON_BRIDGE] = {.name = "megatron-bridge", ONE_KERNEL("Megatron-Bridge"),
        .accumulation = RT_ACCUMULATION_JOINED, .scales_now = true, MEGATRON},
    /* Narayanan et al., SC 2021, section 4.2: bias and GELU, bias, dropout and addition, scale, mask and
     * softmax as one kernel each; Apex's layer norm and its gradients added in fp32 by the product. */
    [RT_RUNTIME_MEGATRON_OLD] = {.name = "megatron-2021", WRITTEN_OUT("Megatron-LM of 2021"), .hosted = true,
        .accumulation = RT_ACCUMULATION_FUSED, .fused_norms = true, .fused_activation = true, .fused_residual = true,
        .fused_softmax = true, .joined_products = true, .most_shard = RT_SHARD_OPTIMIZER, .loss = true, .clips = true,
        .stepping = RT_STEPPING_FUSED, .context_mib = 1424},
    /* llm-foundry clips by the norm in all of its configurations (algorithms: gradient_clipping). */
    [RT_RUNTIME_FSDP] = {.name = "fsdp", ONE_KERNEL("PyTorch FSDP op by op"), .fused_attention = true, .hosted = true,
        .attention = RT_ATTENTION_FLASH2, .grouped_experts = true, .loss = true, .clips = true, PYTORCH_2},
    /* Each block is compiled by itself, not captured; training.max_norm is 1; keys and values are gathered
     * (parallelism.context_parallel_rotate_method "allgather"); experts by torch._grouped_mm. */
    [RT_RUNTIME_TORCHTITAN] = {.name = "torchtitan", ONE_KERNEL("torchtitan (FSDP2, torch.compile)"),
        .fused_attention = true, .fusion = true, .hosted = true, .attention = RT_ATTENTION_FLASH2, .grouped_experts = true,
        .loss = true, .clips = true, .gathers_context = true, .stepping = RT_STEPPING_FUSED, PYTORCH_2},
    /* bf16 gradients are added to fp32 ones in every pass (runtime/bf16_optimizer.py); gradient_clipping is
     * 0 by default. */
    [RT_RUNTIME_DEEPSPEED] = {.name = "deepspeed", ONE_KERNEL("DeepSpeed ZeRO op by op"), .fused_attention = true,
        .hosted = true, .attention = RT_ATTENTION_FLASH2, .accumulation = RT_ACCUMULATION_WIDE, .grouped_experts = true,
        .loss = true, .stepping = RT_STEPPING_FUSED, PYTORCH_2},
    /* src/nanotron/models/llama.py: qkv_proj and gate_up_proj, TritonRMSNorm and rotary positions of
     * flash-attn, flash_attn_func; activation and product apart; queries, keys and values permuted, keys and
     * values concatenated and permuted again, split behind the rotary positions; sharded_cross_entropy in
     * fp32 (parallel/tensor_parallel/functional.py); accumulate_grad_in_fp32, clip_grad 1; stages of equal
     * costs (get_block_compute_costs). */
    [RT_RUNTIME_NANOTRON] = {.name = "nanotron", ONE_KERNEL("nanotron op by op"), .fused_attention = true, .hosted = true,
        .attention = RT_ATTENTION_FLASH2, .accumulation = RT_ACCUMULATION_WIDE, .fused_norms = true, .fused_rotary = true,
        .joined_products = true, .copies_heads = true, .grouped_experts = true, .balances_stages = true,
        .loss_by_ops = true, .most_shard = RT_SHARD_OPTIMIZER, .loss = true, .clips = true, .stepping = RT_STEPPING_FUSED,
        PYTORCH_2}, /* zero_stage is 0 or 1 */
    [RT_RUNTIME_EAGER_1] = {.name = "eager-1.13", WRITTEN_OUT("PyTorch 1.5 to 1.13 op by op"), .hosted = true,
        .direct_groups = true, PYTORCH_1},
    [RT_RUNTIME_EAGER_2] = {.name = "eager-2.4", ONE_KERNEL("PyTorch 2.0 to 2.4 op by op"), .fused_attention = true,
        .hosted = true, .narrow_math = true, PYTORCH_2},
};
/* clang-format on */
#undef ONE_KERNEL
#undef WRITTEN_OUT
#undef MEGATRON
#undef PYTORCH_1
#undef PYTORCH_2

const char *const rt_runtime_names[RT_RUNTIME_COUNT] = {
    "eager-math", "eager",           "compile",  "serving",    "graph",     "eager-1.4",
    "megatron",   "megatron-2021",   "fsdp",     "torchtitan", "deepspeed", "nanotron",
    "eager-1.13", "megatron-bridge", "eager-2.4"};

/* ---- attention ---- */

/* TFLOP/s of H100 SXM, heads of 128, 2k to 16k tokens without a mask (Shah et al., FlashAttention-3, 2024,
 * figures 5 and 6), forward over backward: FlashAttention-2 362 to 370 over 291 to 322, cuDNN 595 to 617 over
 * 465 to 518, FlashAttention-3 625 to 648 over 501 to 561; geometric means of the four lengths. On A100 it is
 * 230 over 196 of FlashAttention-2 (Dao 2023, section 4.1). Its forward pass is 1.3 to 1.5 times as fast as
 * that of FlashAttention in Triton, its backward pass twice (there). The H100's are as another's page gives
 * the figures; A100's and Triton's are from memory, and were not found again. PyTorch's is
 * FlashAttention-2's; of a runtime that names no library, the forward pass is as measured. */
#define FLASH2_BACKWARD 1.19
#define TRITON          1.4
const struct rt_attention_speed rt_attention_speeds[RT_ATTENTION_LIBRARIES] = {
    [RT_ATTENTION_OWN] = {1, FLASH2_BACKWARD, false},
    [RT_ATTENTION_MATH] = {1, 1, false},
    [RT_ATTENTION_TRITON] = {TRITON, 2 * FLASH2_BACKWARD / TRITON, true},
    [RT_ATTENTION_FLASH2] = {1, FLASH2_BACKWARD, true},
    [RT_ATTENTION_FLASH3] = {1, 1.18, false},
    [RT_ATTENTION_CUDNN] = {1, 1.21, false},
};

enum rt_attention_library rt_graph_attention(const struct rt_graph_options *options)
{
    return options->attention != RT_ATTENTION_OWN ? options->attention
                                                  : rt_runtimes[options->runtime].attention;
}

/* FlashAttention is of 16 bits; PyTorch has a kernel for fp32 too (memory-efficient attention,
 * aten/src/ATen/native/transformers/cuda/sdp_utils.cpp), which nobody measured here. */
bool rt_graph_fuses_attention(const struct rt_graph_options *options)
{
    enum rt_dtype dtype = options->dtype;
    bool own = rt_graph_attention(options) == RT_ATTENTION_OWN && !rt_runtimes[options->runtime].served;
    if ((dtype == RT_FP32 || dtype == RT_TF32) ? !own : dtype != RT_FP16 && dtype != RT_BF16)
        return false;
    return options->attention == RT_ATTENTION_OWN ? rt_runtimes[options->runtime].fused_attention
                                                  : options->attention > RT_ATTENTION_MATH;
}

/* ---- bytes of a weight ---- */

/* Moments of AdamW, in fp32; of SGD with momentum one, as wide as the weight. */
static double moments_of(const struct rt_graph *graph, double weight)
{
    static const double adamw[RT_OPTIMIZER_COUNT] = {[RT_OPTIMIZER_ADAMW] = 8, [RT_OPTIMIZER_ADAMW_CPU] = 8};
    return graph->options.optimizer == RT_OPTIMIZER_MOMENTUM ? weight : adamw[graph->options.optimizer];
}

/* Bytes of a weight that an optimizer of several operations moves more than one that is a kernel: AdamW 80 at
 * once and 88 one by one where the kernel has 28, SGD with momentum 32 for 20, by the operations of
 * torch/optim/adamw.py and sgd.py (mul_, lerp_ or mul_ and add_, mul_, addcmul_, sqrt, div, add_, addcdiv_;
 * mul_, add_, add_), all in fp32. */
static double passed_again(const struct rt_graph *graph)
{
    static const double adamw[] = {
        [RT_STEPPING_FOREACH] = 80 - 28, [RT_STEPPING_LOOP] = 88 - 28, [RT_STEPPING_FUSED] = 0};
    enum rt_stepping stepping = rt_runtimes[graph->options.runtime].stepping;
    return graph->options.optimizer == RT_OPTIMIZER_ADAMW ? adamw[stepping]
           : graph->options.optimizer == RT_OPTIMIZER_MOMENTUM && stepping != RT_STEPPING_FUSED ? 32 - 20
                                                                                                : 0;
}

void rt_graph_weight_bytes(const struct rt_graph *graph, struct rt_weight_bytes *out)
{
    const struct rt_runtime *runtime = &rt_runtimes[graph->options.runtime];
    double weight = rt_dtypes[rt_graph_weight_dtype(graph)].bytes;
    bool wide = runtime->accumulation >= RT_ACCUMULATION_WIDE;
    double gradient = wide ? fmax(4, weight) : weight;
    bool away = graph->options.optimizer == RT_OPTIMIZER_ADAMW_CPU;
    double moments = moments_of(graph, weight), master = moments >= 8 && weight < 4 ? 4 : 0;
    double state = moments + master;
    double read = master > 0 ? 0 : weight; /* where there is a wide copy the weight is written alone */
    bool narrow = graph->products != graph->options.dtype && graph->options.lora == 0;
    double copies = narrow ? 2 * rt_dtypes[graph->products].bytes : 0; /* by rows and by columns */
    bool alone = narrow && runtime->narrow_weights && rt_dtypes[graph->products].bytes >= 1;
    *out =
        (struct rt_weight_bytes){.gradient = gradient, .state = state, .held = copies + (alone ? 0 : weight)};
    out->moved = gradient * (runtime->clips ? 2 : 1) + 2 * state + read + weight +
                 (narrow ? weight + copies : 0) + passed_again(graph);
    if (!away)
        return;
    out->moved -= 2 * state; /* a gradient is sent, a weight comes */
    out->offloaded = state;
    out->gradient = out->state = 0;
}
