/*
 * A network as a graph: the kernels that one device runs in one step of inference or training, in order.
 *
 * A graph is a list of blocks in the order of the forward pass. A block is a run of nodes that repeats: a
 * layer is built once and counted `repeat` times. A node is one operator of the framework; it holds its
 * kernels of the forward, backward and accumulation phases. Sizes are in elements; FLOPs and bytes are of one
 * call. Graphs know neither devices nor predictors: predict/step/forecast.h puts them together.
 */
#pragma once

#include "datasets/call.h"
#include "models/networks/parallelism.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* ---- runtimes: what runs a model, and so which kernels it becomes; builders ask the row for each choice
 * ---- */

enum rt_runtime_id {
    RT_RUNTIME_EAGER_MATH, /* PyTorch, op by op, attention written out */
    RT_RUNTIME_EAGER,      /* PyTorch, op by op, attention by scaled_dot_product_attention */
    RT_RUNTIME_COMPILE, /* torch.compile: chains of elementwise ops as one kernel, replayed as CUDA graphs */
    RT_RUNTIME_SERVING, /* an LLM server: vLLM, SGLang, TensorRT-LLM */
    RT_RUNTIME_GRAPH,   /* the kernels of eager, captured once and replayed as a CUDA graph */
    RT_RUNTIME_EAGER_OLD,    /* PyTorch before 1.5, op by op: elementwise kernels load element by element */
    RT_RUNTIME_MEGATRON,     /* Megatron-LM with Transformer Engine; NeMo */
    RT_RUNTIME_MEGATRON_OLD, /* Megatron-LM and Megatron-DeepSpeed of 2020 to 2022: softmax fused, attention
                                not */
    RT_RUNTIME_FSDP,         /* PyTorch's FullyShardedDataParallel, op by op */
    RT_RUNTIME_TORCHTITAN,   /* FSDP2 with torch.compile */
    RT_RUNTIME_DEEPSPEED,
    RT_RUNTIME_NANOTRON,
    RT_RUNTIME_EAGER_1,         /* PyTorch 1.5 to 1.13, op by op, attention written out; gradients stay */
    RT_RUNTIME_MEGATRON_BRIDGE, /* Megatron-LM as its recipes for performance run it */
    RT_RUNTIME_EAGER_2,         /* PyTorch 2.0 to 2.4, op by op */
    RT_RUNTIME_COUNT
};

/* Whose kernels attention in one kernel runs. */
enum rt_attention_library {
    RT_ATTENTION_OWN,    /* the runtime's */
    RT_ATTENTION_MATH,   /* written out */
    RT_ATTENTION_TRITON, /* the first FlashAttention in Triton, of 2022 and 2023 */
    RT_ATTENTION_FLASH2,
    RT_ATTENTION_FLASH3,
    RT_ATTENTION_CUDNN,
    RT_ATTENTION_LIBRARIES
};
extern const char *const rt_attention_libraries[RT_ATTENTION_LIBRARIES]; /* "own", "math", "triton" ... */

/* How the gradient of a weight is added to those of the microbatches before. */
enum rt_accumulation {
    RT_ACCUMULATION_FREED, /* by a kernel where there is a microbatch before: PyTorch since 2.0 */
    RT_ACCUMULATION_KEPT,  /* by a kernel, in every pass: gradients are zeroed, not freed (PyTorch before 2.0)
                            */
    RT_ACCUMULATION_JOINED, /* by the product that makes it, in the weights' element type */
    RT_ACCUMULATION_WIDE,   /* by a kernel in every pass, into fp32 */
    RT_ACCUMULATION_FUSED,  /* by the product that makes it, into fp32 */
};

/* How an optimizer steps: all tensors at once, one kernel an operation (torch.optim's foreach, the default
 * since 2.0); one tensor after the other (before); or in one kernel (fused=True, Apex, DeepSpeed). */
enum rt_stepping { RT_STEPPING_FOREACH, RT_STEPPING_LOOP, RT_STEPPING_FUSED };

struct rt_runtime {
    const char *name;     /* as --runtime has it */
    const char *what;     /* for people */
    const char *unfused;  /* the same where no kernel fuses attention (fp32, T5) */
    const char *plain;    /* the same of models without attention */
    bool fused_attention; /* one kernel instead of products and softmax, where there is one */
    bool fusion;          /* chains of elementwise ops are one kernel */
    bool served;          /* the kernels of servers: docs/method.md */
    bool hosted;          /* its kernels may wait for a host that launches them, even where none is named */
    bool replayed;        /* the host launches a CUDA graph, not each kernel */
    bool scalar_loads;    /* its elementwise kernels move one element at a time */
    bool narrow_math;     /* scaled_dot_product_attention that no kernel takes stays in 16 bits */
    bool direct_groups;   /* gradients of most groups channels last have no matrix units */
    enum rt_attention_library attention; /* of attention in one kernel */
    enum rt_accumulation accumulation;
    /* Of frameworks that train at scale; each is one kernel a pass: */
    bool fused_norms, fused_rotary;
    bool fused_activation; /* a product's bias and the activation; of gated ones the product with the other
                              half */
    bool fused_residual;   /* bias, dropout and the sum with the residual */
    bool fused_softmax;    /* of attention that is written out: scale, mask and softmax */
    bool joined_products;  /* queries, keys and values are one product, gate and up are one */
    bool copies_heads;     /* joined queries, keys and values are copied into tensors of their own */
    bool grouped_experts;  /* one product for all experts of a GPU */
    bool once_a_server;    /* DeepEP or HybridEP send a token to servers, not to experts */
    bool engine;     /* Transformer Engine: casts by the scales of steps before, with norms and activations;
                        biases' gradients with the products' */
    bool scales_now; /* its casts of a tensor wait for the tensor's own maximum */
    bool narrow_weights; /* fp8 products: weights are held in fp8 alone, beside the optimizer\'s */
    bool loss,
        fused_loss;       /* the graph ends in the loss; in one kernel a pass, words cut by tensor parallel */
    bool loss_by_ops;     /* each step of its softmax is a kernel */
    bool balances_stages; /* of a pipeline, by weights, the head\'s counted */
    enum rt_shard_kind most_shard; /* that it has; NONE: each kind */
    bool clips;                    /* gradients are clipped by their norm, by default */
    bool gathers_context;          /* context parallel: keys and values are gathered, not passed round */
    enum rt_stepping stepping;
    double context_mib; /* that the driver takes of a GPU's memory, beside what each multiprocessor does */
    double cudnn_mib;   /* more where convolutions run */
};
extern const struct rt_runtime rt_runtimes[RT_RUNTIME_COUNT];
extern const char *const rt_runtime_names[RT_RUNTIME_COUNT];

/* ---- steps ---- */

/* What one step does. */
enum rt_step_kind {
    RT_STEP_PREFILL,  /* inference over whole sequences */
    RT_STEP_DECODE,   /* inference: one new token a sequence; keys and values of the others are cached */
    RT_STEP_TRAINING, /* forward, backward, gradient accumulation, optionally the optimizer */
    RT_STEP_COUNT
};
extern const char *const rt_steps[RT_STEP_COUNT]; /* "inference", "decode", "training" */

enum rt_optimizer_kind {
    RT_OPTIMIZER_NONE,
    RT_OPTIMIZER_SGD,
    RT_OPTIMIZER_ADAMW,
    RT_OPTIMIZER_MOMENTUM,
    RT_OPTIMIZER_ADAMW_CPU, /* DeepSpeed's ZeRO-Offload: gradients, moments and wide weights are the host's */
    RT_OPTIMIZER_COUNT
};
extern const char *const rt_optimizers[RT_OPTIMIZER_COUNT];

/* Activation checkpointing (torch.utils.checkpoint): of each layer only the input is saved, and the layer
 * runs again before its backward pass. Selective: attention's scores alone (Korthikanti et al. 2022). Norms:
 * layers' norms and experts' activations, whose outputs are thrown away (Megatron-Core's layernorm and
 * moe_act); experts: norms, and layers of experts as a whole, their exchange too (moe); latent: what makes
 * heads of latent attention (mla_up_proj). */
enum rt_recompute {
    RT_RECOMPUTE_NONE,
    RT_RECOMPUTE_LAYERS,
    RT_RECOMPUTE_SELECTIVE,
    RT_RECOMPUTE_NORMS,
    RT_RECOMPUTE_EXPERTS,
    RT_RECOMPUTE_LATENT,
    RT_RECOMPUTE_COUNT
};
extern const char *const rt_recomputes[RT_RECOMPUTE_COUNT]; /* "none", "layers", "selective", "norms" ... */

/* What of a step is captured as CUDA graphs: nothing; routers of experts with what prepares the exchange of
 * tokens (Megatron-Core's cuda_graph_scope moe_router, moe_preprocess); layers, but for what depends on how
 * many tokens an expert gets (attn, too); all. */
enum rt_cuda_graphs {
    RT_CAPTURES_NONE,
    RT_CAPTURES_ROUTER,
    RT_CAPTURES_LAYERS,
    RT_CAPTURES_STEP,
    RT_CAPTURES_COUNT
};
extern const char *const rt_cuda_graphs[RT_CAPTURES_COUNT]; /* "none", "router", "layers", "step" */

/* Activations of feed-forward layers. */
enum rt_activation_kind {
    RT_ACT_GELU,
    RT_ACT_GELU_TANH,
    RT_ACT_RELU,
    RT_ACT_SILU,
    RT_ACT_RELU_SQUARED,
    RT_ACT_QUICK_GELU,
    RT_ACT_GELU_BLOOM, /* GELU's tanh form as a function that keeps its input alone (BLOOM) */
    RT_ACT_XIELU,      /* with two weights of its own (Apertus) */
    RT_ACT_COUNT
};

/* Sequences of a step that are alike: `count` of them, each with `tokens` new ones (1: it decodes) behind
 * `cached` ones whose keys and values are kept. */
struct rt_sequences {
    int64_t count, tokens, cached;
};

/* Parts of a layer, as checkpoints name them that quantise one and not another. */
enum rt_layer_part { RT_PART_ATTENTION, RT_PART_FEED_FORWARD, RT_PART_SHARED_EXPERTS };

/* Products of a layer beside which LoRA's adapters are: these and all that follow here. */
enum rt_lora_place { RT_LORA_ALL, RT_LORA_ATTENTION, RT_LORA_QKV, RT_LORA_PLACES };
extern const char *const rt_lora_places[RT_LORA_PLACES]; /* "all", "attention", "qkv" */

struct rt_graph_options {
    enum rt_step_kind step;
    int64_t batch;    /* sequences that one device sees in one pass (with pipelines: of one microbatch) */
    int64_t sequence; /* tokens of each; ignored when decoding, and of models of images */
    int64_t image;    /* models of images: side of a square image in pixels; 0: the model's own */
    /* Diffusion pipelines (diffusion/diffusion.h): width in pixels where it is not `image`, frames of videos,
     * steps; 0: the pipeline's own. GPUs that share out the tokens of an image by heads and in a ring; 0: 1.
     */
    int64_t image_width, frames, denoising_steps, ulysses, ring;
    /* Models of text and images, prefill: images of each prompt, and their side in pixels; 0: none. */
    int64_t prompt_images, prompt_image_side;
    double seconds;  /* models of sound: of each recording, at 16 kHz; 0: rt_model_seconds */
    int64_t context; /* decode: tokens already in the cache, >= 1 */
    /* Inference of sequences that differ: their groups, instead of batch, sequence and context, which are
     * their number and means then. Not owned. NULL: all alike. */
    const struct rt_sequences *groups;
    size_t group_count;
    int64_t tensor_parallel;
    int64_t expert_parallel;         /* GPUs of the same group that share out whole experts; 0 or 1: none */
    int64_t attention_data_parallel; /* parts of the batch whose attention runs on GPUs of its own; 0 or 1:
                                        none */
    enum rt_runtime_id runtime;
    int64_t kv_bits; /* of cached keys and values; 0: as the activations */
    /* Of weights and activations. A narrow one (fp8, int4 ...) is that of the layers' products with weights:
     * all else, embedding and head too, is in 16 bits, which become the dtype of the graph's options. */
    enum rt_dtype dtype;
    enum rt_dtype
        experts_dtype;   /* of the experts' products where it is another narrow one; RT_FP32: it is not */
    unsigned wide_parts; /* narrow: 1 << enum rt_layer_part whose products are left in 16 bits */
    bool weight_only;    /* narrow: of weights alone, since the GPU has no units for the checkpoint's fp4 */
    bool fp16_beside;    /* narrow: those 16 bits are fp16 (GPUs without bf16), not bf16 */
    enum rt_optimizer_kind optimizer;
    enum rt_recompute recompute;
    enum rt_cuda_graphs cuda_graphs;
    enum rt_attention_library attention;
    int64_t lora; /* training: rank of the adapters that alone are trained; 0: all weights are. serving: of an
                   * adapter beside the model; 0: none */
    enum rt_lora_place lora_on;
    int64_t context_parallel; /* training: GPUs that share out the tokens of a sequence; 0 or 1: none */
    bool sequence_parallel;   /* training: tensor-parallel GPUs share out tokens between products */
    bool fusion;              /* chains of elementwise ops run as one kernel */
    /* Models of images: */
    bool channels_last; /* stored as batch, height, width, channels (NHWC) */
    /* torch.autocast in `dtype`: weights are fp32 and cast in every step; what autocast runs in fp32 runs in
     * fp32 (build_node.h), but norms where they are fast. */
    bool autocast, fast_norms;
    bool conv_tf32; /* in fp32: convolutions in TF32, products not */
};

/* cuDNN's TF32 kernels load 16 bytes of channels at once: convolutions of fewer a group, as the first layer
 * of images, run on vector lanes (KernelBench's even problems say so, the odd ones judge it:
 * docs/log/vision.md). */
enum { RT_TF32_CHANNELS = 4 };

struct rt_graph_kernel {
    struct rt_call call;
    double flops, bytes; /* compulsory traffic; collectives: bytes sent by one device */
    /* A broadcast operand is read more than once: the bytes of its later reads, which a cache serves where
     * it holds the bytes that move between two reads (the reuse distance). 0: every operand is read once. */
    double reread_bytes, reuse_distance_bytes;
    /* The kernel does as much as so many of the call: the backward pass of fused attention computes five
     * products for its two (Dao 2022). FLOPs and bytes above are of all. */
    double multiple;
    double slower;     /* the kernel takes so many times as long as the measured one of the call: another
                          library's */
    bool overlaps;     /* runs beside the kernel before it: what is longer counts */
    bool scalar_loads; /* moves its elements one by one: rt_graph_mark_scalar_loads */
    enum rt_gpu_group group; /* of a collective; the first one, of tensor-parallel GPUs, where nobody says */
    bool flash2;             /* attention by FlashAttention-2, whatever the GPU (rt_flash2_us) */
    /* What the threads of PyTorch's own kernel take beside memory, cycles of a multiprocessor; 0: no more. */
    double own_cycles;
    double unsure;   /* of a kind that was not measured as such: at least this is the half-width of ln time at
                        90% */
    int row_threads; /* of a reduction by one block of so many threads a row (rt_walk_us); 0: others */
};

/* Which tokens of a step a node works on: its time follows their number, and a server's steps have any. */
enum rt_node_role {
    RT_NODE_TOKENS,      /* all */
    RT_NODE_EXPERTS,     /* all, each at the experts that it is routed to */
    RT_NODE_LAST_TOKENS, /* the last one of each sequence: what follows the last norm of a language model */
    RT_NODE_DECODES,     /* those of sequences that decode, over what is cached: their attention */
    RT_NODE_CHUNKS,      /* those of sequences with several new tokens: their attention */
    RT_NODE_ROLES
};

struct rt_node {
    const char *name; /* within its block; lives as long as the graph */
    const char *of;   /* the node of the file that it was made of, where it was imported; else NULL */
    uint32_t block;
    enum rt_node_role role;
    uint32_t kernel, kernel_count; /* first of its kernels in graph->kernels; phase by phase */
    uint32_t input, input_count;   /* first of its inputs in graph->inputs */
    enum rt_dtype dtype;           /* of what it writes; autocast mixes, else that of the graph's options */
    double outputs;                /* elements it writes */
    double parameters;             /* elements of its weights, on one device */
    double frozen; /* of its parameters, those that are not trained (adapters beside them are) */
    double saved;  /* elements of its dtype that are saved for the backward pass */
    /* Traffic of the forward and the backward phase where its kernels run as one; 0: they run one by one. */
    double fused_bytes[2];
    bool fusable;      /* pointwise, row-wise or a view: may join a chain */
    bool output_saved; /* `saved` holds its output */
    bool nested;       /* launched by the operator of the node before (the bias of a convolution) */
    bool cached;       /* its output are keys or values that stay for the next step */
    bool adapter;      /* of LoRA: trained, where all else is frozen */
    bool regathered;   /* made of all GPUs' tokens; the backward pass gathers them again, its input is kept */
    bool recomputed; /* selective recompute: keeps nothing; its forward kernels are among its backward ones */
    bool awaited;    /* the host waits until it starts: it reads what the kernels before have counted */
    uint8_t captures;     /* enum rt_cuda_graphs from which on it is captured; 0: as its block */
    uint8_t operators[2]; /* that its forward and its backward pass dispatch; 0: one */
    /* While a training graph is built: */
    bool gradient; /* its output gets a gradient: it has weights, or an input that gets one */
    bool read;     /* a node that runs backward reads its output */
};

enum rt_block_role { RT_BLOCK_FIRST, RT_BLOCK_LAYER, RT_BLOCK_LAST };

struct rt_block {
    const char *name; /* "embedding", "layer", "head" */
    uint32_t node, node_count;
    int64_t repeat;
    int64_t distinct; /* repetitions with weights of their own, the others share them (ALBERT); 0: all */
    enum rt_block_role role; /* the pipeline stages that run it: the first, any, the last */
};

struct rt_graph {
    struct rt_graph_options options;
    enum rt_dtype products;   /* of the layers' products with weights; options.dtype unless that was narrow */
    enum rt_layer_part part;  /* that nodes are added to */
    enum rt_lora_place place; /* of products that are added: feed-forwards are in RT_LORA_ALL alone */
    bool adapting;            /* nodes that are added are adapters */
    bool again; /* forward kernels of nodes that are added run again before their backward ones */
    struct rt_block *blocks;
    struct rt_node *nodes;
    struct rt_graph_kernel *kernels;
    uint32_t *inputs; /* numbers of the nodes whose output a node reads */
    size_t block_count, node_count, kernel_count, input_count;
    size_t block_capacity, node_capacity, kernel_capacity, input_capacity;
    double boundary;    /* elements that pass from one layer to the next */
    double cache;       /* elements of keys and values cached, all layers, after the step; 0: none */
    double state_bytes; /* of what is cached beside them: recurrent states, indexers' keys */
    double shared;      /* elements of weights that several nodes share (tied embeddings); each counts them */
    double classes;     /* elements of the model's last output */
    bool alternates;    /* layers of the blocks take turns: a pipeline's pieces have as many of each */
    double choices;     /* experts that a token is sent to, where GPUs share them out; 0: none */
    bool fp32_scores;   /* the framework copies that output to fp32: transformers' Llama and those after it */
    double input_bytes, result_bytes; /* of a pass: what it reads from the host, what it may give back */
    char **texts;                     /* names that the graph owns (imported ones) */
    size_t text_count;
};

void rt_graph_init(struct rt_graph *graph, const struct rt_graph_options *options);
void rt_graph_release(struct rt_graph *graph);

/* Add, in this order, a block, its nodes, their inputs and kernels. Each returns the number of the element
 * added. FLOPs and bytes of a kernel follow from op, dims and the graph's dtype; a builder may change them.
 */
uint32_t rt_graph_add_block(struct rt_graph *graph, const char *name, enum rt_block_role role,
                            int64_t repeat);
uint32_t rt_graph_add_node(struct rt_graph *graph, const char *name);
void rt_graph_add_input(struct rt_graph *graph, uint32_t from); /* of the last node */
struct rt_graph_kernel *rt_graph_add_kernel(struct rt_graph *graph, enum rt_phase phase, enum rt_op_id op,
                                            const int64_t *dim); /* of the last node */
/* Another dtype than the graph's: FLOPs and bytes follow. */
void rt_graph_set_dtype(struct rt_graph_kernel *kernel, enum rt_dtype dtype);
const char *rt_graph_text(struct rt_graph *graph, const char *text, size_t length); /* a copy it owns */

#define RT_NO_INPUT UINT32_MAX /* a constant, or an input of the model */

/* Bytes of an element that the node writes; RT_NO_INPUT: of the graph's dtype. */
static inline double rt_node_width(const struct rt_graph *graph, uint32_t node)
{
    return rt_dtypes[node == RT_NO_INPUT ? graph->options.dtype : graph->nodes[node].dtype].bytes;
}

/* Weights of a node that have gradients. */
static inline double rt_node_trained(const struct rt_node *node)
{
    return node->parameters - node->frozen;
}

/* Of the gradient of what a node puts out: not narrower than 16 bits. */
static inline enum rt_dtype rt_gradient_dtype(const struct rt_graph *graph, const struct rt_node *node)
{
    return rt_dtype_is_narrow(node->dtype) ? graph->options.dtype : node->dtype;
}

/* Weights, their gradients and the optimizer's step are in this dtype. */
static inline enum rt_dtype rt_graph_weight_dtype(const struct rt_graph *graph)
{
    return graph->options.autocast ? RT_FP32 : graph->options.dtype;
}

static inline bool rt_graph_trains(const struct rt_graph *graph)
{
    return graph->options.step == RT_STEP_TRAINING;
}

/* Are products with weights that are added now in another dtype than what they read? */
bool rt_graph_narrows(const struct rt_graph *graph);
/* Are weights of nodes that are added now left as they are? */
static inline bool rt_graph_freezes(const struct rt_graph *graph)
{
    return graph->options.lora > 0 && !graph->adapting;
}

/* Bytes that a weight which is trained holds in its optimizer and moves through it. In 16 bits: weights and
 * moments in fp32 beside them (Micikevicius et al., Mixed Precision Training, 2018). */
struct rt_weight_bytes {
    double gradient;  /* that stays until the optimizer's step */
    double state;     /* of the optimizer */
    double offloaded; /* what the host's memory has instead */
    double moved; /* by its step: gradient read, state read and written, weight written; clipped, once more */
    double
        held; /* of a weight of the layers' products: itself, and narrow copies that are made once a step */
};
void rt_graph_weight_bytes(const struct rt_graph *graph, struct rt_weight_bytes *out);

/* What a library's attention takes, in times of the measured kernels' forward pass: its own, and what its
 * backward pass takes for each product over that. */
struct rt_attention_speed {
    double forward, backward;
    bool flash2; /* of kernels that do not use groups of warps (rt_flash2_us) */
};
extern const struct rt_attention_speed rt_attention_speeds[RT_ATTENTION_LIBRARIES];
/* The one that runs: what was asked for, or the runtime's. */
enum rt_attention_library rt_graph_attention(const struct rt_graph_options *options);
/* Is it one kernel, where there is one of the dtype? */
bool rt_graph_fuses_attention(const struct rt_graph_options *options);

/* "fp8, beside it bf16"; "bf16" where one dtype is that of everything. */
struct rt_graph_dtype_words {
    char text[40];
};
struct rt_graph_dtype_words rt_graph_dtype_words(const struct rt_graph *graph);

/* What runs the graph, for people. */
const char *rt_graph_runtime_words(const struct rt_graph *graph);

/* How often a node runs in a step. */
static inline int64_t rt_graph_repeat(const struct rt_graph *graph, const struct rt_node *node)
{
    return graph->blocks[node->block].repeat;
}

/* Is what it makes computed again before its backward pass? */
static inline bool rt_node_runs_again(const struct rt_graph *graph, const struct rt_node *node)
{
    bool layers =
        graph->options.recompute == RT_RECOMPUTE_LAYERS && graph->blocks[node->block].role == RT_BLOCK_LAYER;
    return rt_graph_trains(graph) && (layers || node->recomputed);
}

/* How often the kernels of a phase of it do: those of layers that are computed again run twice. */
static inline double rt_graph_runs(const struct rt_graph *graph, const struct rt_node *node, int phase)
{
    const struct rt_block *block = &graph->blocks[node->block];
    bool again = rt_graph_trains(graph) && graph->options.recompute == RT_RECOMPUTE_LAYERS &&
                 block->role == RT_BLOCK_LAYER && phase == RT_FORWARD;
    return (again ? 2 : 1) * (double)block->repeat;
}

/* The launches of one phase of a node: its kernels, or the one that they were fused into (op and dims of its
 * last pointwise or row-wise kernel, the FLOPs of all, the traffic of the chain). Returns their number; `out`
 * has room for node->kernel_count. */
size_t rt_node_launches(const struct rt_graph *graph, const struct rt_node *node, enum rt_phase phase,
                        struct rt_graph_kernel *out);

/* --- graph_runtime.c: what a runtime makes of a graph that is built --- */

/* Joins chains of fusable nodes, each the only reader of the one before, within a block, as torch.compile
 * joins pointwise and row-wise ops. rt_graph_build calls it where options.fusion is set. */
void rt_graph_fuse(struct rt_graph *graph);

/* Inductor, torch.compile's backend, stores images channels last where the convolutions of the model gain by
 * it, whatever the user gave it. Does it, for a graph that was built as given? By PyTorch 2.15,
 * torch/_inductor/graph.py, decide_layout_opt: inference weighs the FLOPs of grouped convolutions (1.358), of
 * those with at most 64 channels (0.783), of those that halve the channels or more (0.725) and of others
 * (0.823); training is refused by one grouped convolution or one that halves the channels. Depthwise ones are
 * not grouped here. Models with 300 operators and more for each convolution stay as they are; a node counts
 * as three operators. */
bool rt_graph_prefers_channels_last(const struct rt_graph *graph);

/* Sets scalar_loads of the kernels that load and store element by element. A thread that moves 2 bytes at a
 * time keeps half as many bytes in flight as one that moves 4, so in 16 bits such kernels take as long as in
 * 32; vectors of 16 bytes would hide it (NVIDIA, "CUDA Pro Tip: Increase Performance with Vectorized Memory
 * Access", 2013). PyTorch's own batch norm and pooling are such kernels; before PyTorch 1.5 all elementwise
 * ones are (github.com/pytorch/pytorch, issue 31975). What it explains: docs/log/vision.md. Compiled graphs
 * have none. */
void rt_graph_mark_scalar_loads(struct rt_graph *graph);

/* --- totals --- */

struct rt_graph_totals {
    double flops[RT_PHASE_COUNT], bytes[RT_PHASE_COUNT]; /* of one step on one device; no collectives */
    double sent_bytes[RT_PHASE_COUNT];                   /* by collectives */
    size_t nodes, kernels[RT_PHASE_COUNT];               /* with repetitions */
    double parameters, frozen;                           /* on one device; of them not trained */
};
void rt_graph_totals(const struct rt_graph *graph, struct rt_graph_totals *out);
