/* Training at scale: what frameworks run, and how a step is cut over GPUs. Laws of graphs and of memory. */
#include "models/networks/memory.h"
#include "models/networks/model.h"
#include "models/networks/step.h"
#include "test.h"

#include <string.h>

static const enum rt_runtime_id frameworks[] = {RT_RUNTIME_MEGATRON,  RT_RUNTIME_MEGATRON_OLD,
                                                RT_RUNTIME_FSDP,      RT_RUNTIME_TORCHTITAN,
                                                RT_RUNTIME_DEEPSPEED, RT_RUNTIME_NANOTRON};

static struct rt_graph_options options_of(enum rt_runtime_id runtime)
{
    return (struct rt_graph_options){.step = RT_STEP_TRAINING,
                                     .runtime = runtime,
                                     .batch = 2,
                                     .sequence = 2048,
                                     .tensor_parallel = 1,
                                     .dtype = RT_BF16,
                                     .optimizer = RT_OPTIMIZER_ADAMW};
}

static void build(const char *name, const struct rt_graph_options *options, struct rt_graph *graph)
{
    struct rt_model model;
    RT_ASSERT_OK(rt_model_named(name, &model));
    CU_ASSERT_EQUAL_FATAL(rt_graph_build(&model, options, graph), RT_OK);
}

/* What kernels of an op come to in a pass, with repetitions. */
struct sum {
    double flops, bytes, count;
};
static struct sum sum_of(const struct rt_graph *graph, enum rt_op_id op, int phase)
{
    struct sum sum = {0};
    for (size_t n = 0; n < graph->node_count; n++)
        for (uint32_t k = 0; k < graph->nodes[n].kernel_count; k++) {
            const struct rt_graph_kernel *kernel = &graph->kernels[graph->nodes[n].kernel + k];
            double repeat = (double)rt_graph_repeat(graph, &graph->nodes[n]);
            if (kernel->call.op != op || kernel->call.phase != phase)
                continue;
            sum.flops += repeat * kernel->flops;
            sum.bytes += repeat * kernel->bytes;
            sum.count += repeat;
        }
    return sum;
}

static struct sum sum_named(const char *name, const struct rt_graph_options *options, enum rt_op_id op,
                            int phase)
{
    struct rt_graph graph;
    build(name, options, &graph);
    struct sum sum = sum_of(&graph, op, phase);
    rt_graph_release(&graph);
    return sum;
}

static double parameters_of(const char *name, const struct rt_graph_options *options)
{
    struct rt_graph graph;
    struct rt_graph_totals totals;
    build(name, options, &graph);
    rt_graph_totals(&graph, &totals);
    rt_graph_release(&graph);
    return totals.parameters;
}

static struct rt_graph_memory memory_of(const char *name, const struct rt_graph_options *options)
{
    struct rt_graph graph;
    struct rt_graph_memory memory;
    build(name, options, &graph);
    rt_graph_memory(&graph, NULL, &memory);
    rt_graph_release(&graph);
    return memory;
}

/* Frameworks fuse and join; they multiply as much, and train as many weights. */
static void test_as_many_products(void)
{
    static const char *const models[] = {"llama-3-8b", "gpt2-large", "falcon-7b", "gpt-neox-20b"};
    for (size_t m = 0; m < RT_COUNT(models); m++)
        for (size_t f = 0; f < RT_COUNT(frameworks); f++) {
            struct rt_graph_options eager = options_of(RT_RUNTIME_EAGER), other = options_of(frameworks[f]);
            for (int phase = RT_FORWARD; phase <= RT_BACKWARD; phase++)
                RT_ASSERT_NEAR(sum_named(models[m], &other, RT_OP_LINEAR, phase).flops,
                               sum_named(models[m], &eager, RT_OP_LINEAR, phase).flops, 1e-4);
            RT_ASSERT_NEAR(parameters_of(models[m], &other), parameters_of(models[m], &eager), 1e-9);
        }
}

/* Megatron-LM's layers have no more kernels than PyTorch's, and move fewer bytes. */
static void test_fusion(void)
{
    static const char *const models[] = {"llama-3-8b", "gpt2-large"};
    for (size_t m = 0; m < RT_COUNT(models); m++) {
        struct rt_graph_options eager = options_of(RT_RUNTIME_EAGER), fused = options_of(RT_RUNTIME_MEGATRON);
        struct rt_graph graphs[2];
        struct rt_graph_totals totals[2];
        build(models[m], &eager, &graphs[0]);
        build(models[m], &fused, &graphs[1]);
        for (int g = 0; g < 2; g++) {
            rt_graph_totals(&graphs[g], &totals[g]);
            rt_graph_release(&graphs[g]);
        }
        for (int phase = RT_FORWARD; phase <= RT_BACKWARD; phase++)
            CU_ASSERT_TRUE(totals[1].kernels[phase] < totals[0].kernels[phase]);
        CU_ASSERT_TRUE(totals[1].bytes[RT_FORWARD] < totals[0].bytes[RT_FORWARD]);
        CU_ASSERT_EQUAL(totals[1].kernels[RT_ACCUMULATE] < 8, true); /* embedding's, the optimizer's */
    }
}

/* A backward pass of attention is 2.5 forward ones, each slower; of Triton's first kernels by far. */
static void test_attention_backward(void)
{
    static const enum rt_attention_library libraries[] = {RT_ATTENTION_FLASH3, RT_ATTENTION_FLASH2,
                                                          RT_ATTENTION_CUDNN, RT_ATTENTION_TRITON};
    for (size_t l = 0; l < RT_COUNT(libraries); l++) {
        struct rt_graph_options options = options_of(RT_RUNTIME_FSDP);
        struct rt_graph graph;
        double forward = 0, backward = 0;
        options.attention = libraries[l];
        build("mpt-7b", &options, &graph);
        for (size_t k = 0; k < graph.kernel_count; k++)
            if (graph.kernels[k].call.op == RT_OP_ATTENTION_CONTEXT) {
                double times = graph.kernels[k].multiple * graph.kernels[k].slower;
                *(graph.kernels[k].call.phase == RT_FORWARD ? &forward : &backward) = times;
            }
        CU_ASSERT_TRUE(forward >= 1 && backward > 2.5 * 1.1 * forward);
        CU_ASSERT_EQUAL(backward > 4 * forward, libraries[l] == RT_ATTENTION_TRITON);
        rt_graph_release(&graph);
    }
    struct rt_graph_options math = options_of(RT_RUNTIME_EAGER);
    math.attention = RT_ATTENTION_MATH;
    CU_ASSERT_EQUAL(sum_named("llama-3-8b", &math, RT_OP_ATTENTION_CONTEXT, RT_FORWARD).count, 0);
    CU_ASSERT_TRUE(sum_named("llama-3-8b", &math, RT_OP_BMM, RT_FORWARD).count >= 64);
}

/* In 16 bits AdamW reads a gradient, and reads and writes a weight and two moments in fp32: what memory
 * holds. As several operations it passes over them again. */
static void test_optimizer_bytes(void)
{
    for (size_t f = 0; f < RT_COUNT(frameworks); f++) {
        struct rt_graph_options options = options_of(frameworks[f]);
        struct rt_graph graph;
        struct rt_weight_bytes bytes;
        build("gpt2-large", &options, &graph);
        rt_graph_weight_bytes(&graph, &bytes);
        const struct rt_runtime *runtime = &rt_runtimes[frameworks[f]];
        double gradient = runtime->accumulation >= RT_ACCUMULATION_WIDE ? 4 : 2;
        CU_ASSERT_EQUAL(bytes.gradient, gradient);
        CU_ASSERT_EQUAL(bytes.state, 12);
        double again = runtime->stepping == RT_STEPPING_FUSED ? 0 : 80 - 28;
        CU_ASSERT_EQUAL(bytes.moved, gradient * (runtime->clips ? 2 : 1) + 24 + 2 + again);
        double parameters = parameters_of("gpt2-large", &options);
        RT_ASSERT_NEAR(sum_of(&graph, RT_OP_OPTIMIZER, RT_ACCUMULATE).bytes, bytes.moved * parameters, 1e-9);
        rt_graph_release(&graph);
        RT_ASSERT_NEAR(memory_of("gpt2-large", &options).optimizer, 12 * parameters, 1e-9);
    }
}

/* Sequence parallel: a gather and a scatter are an all-reduce; backward everything is gathered once more. */
static void test_sequence_parallel(void)
{
    for (int64_t gpus = 2; gpus <= 8; gpus *= 2) {
        struct rt_graph_options whole = options_of(RT_RUNTIME_MEGATRON), cut = whole;
        whole.tensor_parallel = cut.tensor_parallel = gpus;
        cut.sequence_parallel = true;
        double message = 2.0 * 2 * 2048 * 4096 * (double)(gpus - 1) / (double)gpus; /* bytes sent */
        double sublayers = 64 + 1; /* the embedding scatters, the head gathers */
        for (int phase = RT_FORWARD; phase <= RT_BACKWARD; phase++) {
            double again = phase == RT_BACKWARD ? 1 : 0;
            RT_ASSERT_NEAR(sum_named("llama-3-8b", &cut, RT_OP_REDUCE_SCATTER, phase).bytes,
                           sublayers * message, 1e-9);
            RT_ASSERT_NEAR(sum_named("llama-3-8b", &cut, RT_OP_ALL_GATHER, phase).bytes,
                           (1 + again) * sublayers * message, 1e-9);
            RT_ASSERT_NEAR(sum_named("llama-3-8b", &cut, RT_OP_LINEAR, phase).flops,
                           sum_named("llama-3-8b", &whole, RT_OP_LINEAR, phase).flops, 1e-9);
        }
        RT_ASSERT_NEAR(sum_named("llama-3-8b", &cut, RT_OP_RMSNORM, RT_FORWARD).bytes * (double)gpus,
                       sum_named("llama-3-8b", &whole, RT_OP_RMSNORM, RT_FORWARD).bytes, 1e-9);
        CU_ASSERT_TRUE(memory_of("llama-3-8b", &cut).saved < 0.9 * memory_of("llama-3-8b", &whole).saved);
    }
}

/* fp8: what products read is gathered in it, and kept; weights are held in it, by rows and by columns. */
static void test_fp8(void)
{
    struct rt_graph_options wide = options_of(RT_RUNTIME_MEGATRON), narrow = wide;
    wide.tensor_parallel = narrow.tensor_parallel = 4;
    wide.sequence_parallel = narrow.sequence_parallel = true;
    narrow.dtype = RT_FP8;
    double head = 2.0 * 2 * 2048 * 4096 * 3 / 4; /* bytes sent, in bf16 */
    for (int phase = RT_FORWARD; phase <= RT_BACKWARD; phase++) {
        double all = sum_named("llama-3-8b", &wide, RT_OP_ALL_GATHER, phase).bytes,
               half = sum_named("llama-3-8b", &narrow, RT_OP_ALL_GATHER, phase).bytes;
        RT_ASSERT_NEAR(half - head, (all - head) / 2,
                       phase == RT_FORWARD ? 1e-9 : 1e-2); /* the embedding's, too */
        RT_ASSERT_NEAR(sum_named("llama-3-8b", &narrow, RT_OP_REDUCE_SCATTER, phase).bytes,
                       sum_named("llama-3-8b", &wide, RT_OP_REDUCE_SCATTER, phase).bytes, 1e-9);
        RT_ASSERT_NEAR(sum_named("llama-3-8b", &narrow, RT_OP_LINEAR, phase).flops,
                       sum_named("llama-3-8b", &wide, RT_OP_LINEAR, phase).flops, 1e-9);
    }
    struct rt_graph_memory of_wide = memory_of("llama-3-8b", &wide),
                           of_narrow = memory_of("llama-3-8b", &narrow);
    RT_ASSERT_NEAR(of_narrow.weights, of_wide.weights, 1e-9);
    RT_ASSERT_NEAR(of_narrow.optimizer, of_wide.optimizer, 1e-9);
    CU_ASSERT_TRUE(of_narrow.saved < 0.9 * of_wide.saved);
}

/* Context parallel: tokens, products and scores over all GPUs are those of one. */
static void test_context_parallel(void)
{
    for (size_t f = 0; f < RT_COUNT(frameworks); f++)
        for (int64_t gpus = 2; gpus <= 16 && rt_runtimes[frameworks[f]].fused_attention; gpus *= 4) {
            struct rt_graph_options whole = options_of(frameworks[f]), cut = whole;
            whole.sequence = cut.sequence = 32768;
            cut.context_parallel = gpus;
            for (int phase = RT_FORWARD; phase <= RT_BACKWARD; phase++) {
                double scores = sum_named("llama-3-8b", &cut, RT_OP_ATTENTION_CONTEXT, phase).flops +
                                sum_named("llama-3-8b", &cut, RT_OP_ATTENTION_CROSS, phase).flops;
                RT_ASSERT_NEAR(scores * (double)gpus,
                               sum_named("llama-3-8b", &whole, RT_OP_ATTENTION_CONTEXT, phase).flops, 1e-3);
                RT_ASSERT_NEAR(sum_named("llama-3-8b", &cut, RT_OP_LINEAR, phase).flops * (double)gpus,
                               sum_named("llama-3-8b", &whole, RT_OP_LINEAR, phase).flops, 1e-4);
            }
            CU_ASSERT_TRUE(memory_of("llama-3-8b", &cut).saved < memory_of("llama-3-8b", &whole).saved);
        }
    struct rt_graph_options ring = options_of(RT_RUNTIME_MEGATRON);
    ring.context_parallel =
        4; /* 3 messages of keys and values of 2 x 512 tokens, 8 heads of 128, in 32 layers */
    double message = 2.0 * 2 * 512 * 2 * 8 * 128;
    RT_ASSERT_NEAR(sum_named("llama-3-8b", &ring, RT_OP_SEND_RECEIVE, RT_FORWARD).bytes, 32 * 3 * message,
                   1e-9);
    RT_ASSERT_NEAR(sum_named("llama-3-8b", &ring, RT_OP_SEND_RECEIVE, RT_BACKWARD).bytes,
                   2 * 32 * 3 * message, 1e-9);
}

/* Experts (58 layers, and one that predicts a token more): one product for all of a GPU's; over all GPUs as
 * much as on one, and each weight once. */
static void test_experts(void)
{
    struct rt_graph_options whole = options_of(RT_RUNTIME_MEGATRON);
    struct sum one = sum_named("deepseek-v3", &whole, RT_OP_LINEAR, RT_FORWARD);
    CU_ASSERT_TRUE(one.count < 12 * 62);
    for (int64_t gpus = 2; gpus <= 64; gpus *= 2) {
        struct rt_graph_options cut = whole;
        cut.expert_parallel = gpus;
        RT_ASSERT_NEAR(sum_named("deepseek-v3", &cut, RT_OP_LINEAR, RT_FORWARD).flops, one.flops, 1e-9);
        double experts = 59.0 * 256 * 3 * 7168 * 2048;
        RT_ASSERT_NEAR(parameters_of("deepseek-v3", &whole) - parameters_of("deepseek-v3", &cut),
                       experts * (1 - 1 / (double)gpus), 1e-9);
        double pairs =
            2.0 * 2048 * 8 * 7168 * 2 * (double)(gpus - 1) / (double)gpus; /* bytes, there or back */
        for (int phase = RT_FORWARD; phase <= RT_BACKWARD; phase++)
            RT_ASSERT_NEAR(sum_named("deepseek-v3", &cut, RT_OP_ALL_TO_ALL, phase).bytes, 59 * 2 * pairs,
                           1e-9);
        CU_ASSERT_TRUE(memory_of("deepseek-v3", &cut).total < memory_of("deepseek-v3", &whole).total);
    }
}

/* What is computed again is not kept. */
static void test_recompute(void)
{
    struct rt_graph_options none = options_of(RT_RUNTIME_MEGATRON_OLD), scores = none, layers = none;
    scores.recompute = RT_RECOMPUTE_SELECTIVE;
    layers.recompute = RT_RECOMPUTE_LAYERS;
    struct rt_graph_memory all = memory_of("gpt2-large", &none), some = memory_of("gpt2-large", &scores),
                           least = memory_of("gpt2-large", &layers);
    double heads = 20,
           pairs = 2 * heads * 2048 * 2048; /* of a layer: softmax, its mask, what dropout puts out */
    RT_ASSERT_NEAR(all.saved - some.saved, 36 * pairs * (2 + 1 + 2), 1e-6);
    CU_ASSERT_TRUE(least.saved < 0.2 * some.saved);
    CU_ASSERT_TRUE(all.total > some.total && some.total > least.total);
    RT_ASSERT_NEAR(sum_named("gpt2-large", &scores, RT_OP_BMM, RT_BACKWARD).flops,
                   sum_named("gpt2-large", &none, RT_OP_BMM, RT_BACKWARD).flops * 1.5, 1e-9);
}

/* Of a layer's norms and its experts' activation nothing is kept but their inputs, which are there anyway:
 * (tokens, hidden) twice and (pairs, width) less, and their forward kernels run again. */
static void test_recompute_norms(void)
{
    struct rt_graph_options none = options_of(RT_RUNTIME_MEGATRON), norms = none;
    norms.recompute = RT_RECOMPUTE_NORMS;
    double kept = memory_of("mixtral-8x7b", &none).saved - memory_of("mixtral-8x7b", &norms).saved;
    RT_ASSERT_NEAR(kept, 32 * 2.0 * 2 * 2048 * (2 * 4096 + 2 * 14336.0), 1e-6);
    CU_ASSERT_EQUAL(sum_named("mixtral-8x7b", &norms, RT_OP_RMSNORM, RT_BACKWARD).count, 64);
    RT_ASSERT_NEAR(sum_named("mixtral-8x7b", &norms, RT_OP_SILU_MUL, RT_BACKWARD).bytes,
                   sum_named("mixtral-8x7b", &none, RT_OP_SILU_MUL, RT_BACKWARD).bytes * 8 / 5, 1e-9);
}

/* Of a layer of experts all runs again, exchanges too; of latent attention what makes queries, keys and
 * values of all heads, of which nothing is kept but the one rotated head. */
static void test_recompute_modules(void)
{
    struct rt_graph_options none = options_of(RT_RUNTIME_MEGATRON), again = none;
    none.expert_parallel = again.expert_parallel = 8;
    again.recompute = RT_RECOMPUTE_EXPERTS;
    RT_ASSERT_NEAR(sum_named("mixtral-8x7b", &again, RT_OP_ALL_TO_ALL, RT_BACKWARD).count,
                   2 * sum_named("mixtral-8x7b", &none, RT_OP_ALL_TO_ALL, RT_BACKWARD).count, 1e-9);
    double all = sum_named("mixtral-8x7b", &none, RT_OP_LINEAR, RT_FORWARD).flops; /* of it, two a token: */
    double experts = 32 * 2.0 * 2 * 2048 * 4096 * (2 * 3 * 14336.0 + 8);
    RT_ASSERT_NEAR(sum_named("mixtral-8x7b", &again, RT_OP_LINEAR, RT_BACKWARD).flops, 2 * all + experts,
                   1e-5);
    CU_ASSERT_TRUE(memory_of("mixtral-8x7b", &again).saved < 0.5 * memory_of("mixtral-8x7b", &none).saved);
    again.recompute = RT_RECOMPUTE_LATENT;
    double kept = memory_of("deepseek-v3", &none).saved - memory_of("deepseek-v3", &again).saved;
    RT_ASSERT_NEAR(kept, 62 * 2.0 * 2 * 2048 * (128 * (192 + 192 + 128) - 64), 1e-6);
}

/* Transformer Engine multiplies experts one by one, others as a group; what a bias of theirs and clamped
 * halves move is the same whatever holds them. */
static void test_experts_apart(void)
{
    struct rt_graph_options one = options_of(RT_RUNTIME_MEGATRON), other = options_of(RT_RUNTIME_TORCHTITAN);
    struct rt_graph apart, grouped;
    build("gpt-oss-20b", &one, &apart);
    build("gpt-oss-20b", &other, &grouped);
    RT_ASSERT_NEAR(sum_of(&apart, RT_OP_LINEAR, RT_FORWARD).flops,
                   sum_of(&grouped, RT_OP_LINEAR, RT_FORWARD).flops, 1e-9);
    size_t found = 0;
    for (size_t n = 0; n < apart.node_count; n++) {
        const struct rt_node *node = &apart.nodes[n];
        const struct rt_graph_kernel *kernel = &apart.kernels[node->kernel];
        double moved = 2.0 * 2 * 2048 * 4 * 2880; /* of the pairs of a layer, 16 bits */
        if (strcmp(node->name, "experts.down") == 0) {
            CU_ASSERT_TRUE(kernel->call.dim[0] == 1 && kernel->multiple == 32);
            found++;
        } else if (strcmp(node->name, "experts.clamp") == 0) {
            RT_ASSERT_NEAR(kernel[0].bytes + kernel[1].bytes, 4 * 2 * moved, 1e-9);
        } else if (strcmp(node->name, "experts.bias") == 0) {
            RT_ASSERT_NEAR(kernel[0].bytes + kernel[1].bytes + kernel[2].bytes, 6 * moved, 1e-9);
            CU_ASSERT_EQUAL(node->operators[0], 2 * 32 + 1);
            found++;
        }
    }
    CU_ASSERT_EQUAL(found, 4); /* layers with a window and without */
    for (size_t n = 0; n < grouped.node_count; n++)
        if (strcmp(grouped.nodes[n].name, "experts.down") == 0)
            CU_ASSERT_EQUAL(grouped.kernels[grouped.nodes[n].kernel].call.dim[0], 32);
    rt_graph_release(&apart);
    rt_graph_release(&grouped);
}

/* Adapters alone have gradients and an optimizer's state; the gradient of data flows through all. */
static void test_lora(void)
{
    for (size_t f = 0; f < RT_COUNT(frameworks); f++) {
        struct rt_graph_options full = options_of(frameworks[f]), lora = full;
        lora.lora = 16;
        double adapters = parameters_of("llama-3-8b", &lora) - parameters_of("llama-3-8b", &full);
        bool joined = rt_runtimes[frameworks[f]].joined_products;
        double in = joined ? 4096 + 4096 + 4096 + 14336 : 3 * 4096 + 4096 + 2 * 4096 + 14336,
               out = joined ? 6144 + 4096 + 2 * 14336 + 4096 : 6144 + 4096 + 2 * 14336 + 4096;
        RT_ASSERT_NEAR(adapters, 32 * 16 * (in + out), 1e-9);
        struct rt_graph graph;
        build("llama-3-8b", &lora, &graph);
        RT_ASSERT_NEAR(sum_of(&graph, RT_OP_OPTIMIZER, RT_ACCUMULATE).flops, 12 * adapters, 1e-9);
        double forward = sum_of(&graph, RT_OP_LINEAR, RT_FORWARD).flops,
               backward = sum_of(&graph, RT_OP_LINEAR, RT_BACKWARD).flops;
        rt_graph_release(&graph);
        CU_ASSERT_TRUE(backward > forward && backward < 1.02 * forward);
        CU_ASSERT_TRUE(memory_of("llama-3-8b", &lora).total < 0.5 * memory_of("llama-3-8b", &full).total);
        lora.lora_on = RT_LORA_ATTENTION;
        adapters = parameters_of("llama-3-8b", &lora) - parameters_of("llama-3-8b", &full);
        RT_ASSERT_NEAR(adapters, 32 * 16 * ((joined ? 4096 : 3 * 4096) + 6144 + 4096 + 4096), 1e-9);
        lora.lora_on = RT_LORA_QKV;
        adapters = parameters_of("llama-3-8b", &lora) - parameters_of("llama-3-8b", &full);
        RT_ASSERT_NEAR(adapters, 32 * 16 * ((joined ? 4096 : 3 * 4096) + 6144), 1e-9);
    }
}

/* --- settling --- */

static int settle(const char *model, const char *const fields[][2], struct rt_settled_step *settled)
{
    struct rt_model_source source;
    struct rt_step step = RT_STEP_NOT_GIVEN;
    RT_ASSERT_OK(rt_model_source_find(model, &source));
    RT_ASSERT_OK(rt_step_set(&step, "mode", "training"));
    RT_ASSERT_OK(rt_step_set(&step, "runtime", "megatron"));
    for (int f = 0; fields[f][0] != NULL; f++)
        RT_ASSERT_OK(rt_step_set(&step, fields[f][0], fields[f][1]));
    int status = rt_step_settle(&step, &source, NULL, settled);
    rt_settled_step_release(settled);
    return status;
}

/* Mamba-2 beside attention and latent experts, one a layer: the weights and the scans' forward FLOPs are
 * those of servers, backward three times as many; each expert reads its latent columns. Half of the heads
 * each on two GPUs. */
static void test_hybrid(void)
{
    static const char name[] = "nvidia/NVIDIA-Nemotron-3-Super-120B-A12B-FP8";
    struct rt_graph_options options = options_of(RT_RUNTIME_MEGATRON), served = options;
    struct rt_model_source source;
    struct rt_graph trained, cut, run;
    struct rt_graph_totals totals;
    RT_ASSERT_OK(rt_model_source_find(name, &source));
    served.runtime = RT_RUNTIME_SERVING;
    served.step = RT_STEP_PREFILL;
    CU_ASSERT_EQUAL_FATAL(rt_graph_build(&source.model, &options, &trained), RT_OK);
    CU_ASSERT_EQUAL_FATAL(rt_graph_build(&source.model, &served, &run), RT_OK);
    options.tensor_parallel = 2;
    CU_ASSERT_EQUAL_FATAL(rt_graph_build(&source.model, &options, &cut), RT_OK);
    rt_graph_totals(&trained, &totals);
    RT_ASSERT_NEAR(totals.parameters, rt_model_parameters(&source.model), 1e-6);
    struct sum forward = sum_of(&trained, RT_OP_SSM_CONTEXT, RT_FORWARD),
               back = sum_of(&trained, RT_OP_SSM_CONTEXT, RT_BACKWARD);
    CU_ASSERT_EQUAL(forward.count, 40);
    RT_ASSERT_NEAR(forward.flops, sum_of(&run, RT_OP_SSM_CONTEXT, RT_FORWARD).flops, 1e-12);
    RT_ASSERT_NEAR(back.flops, 3 * forward.flops, 1e-12);
    RT_ASSERT_NEAR(sum_of(&cut, RT_OP_SSM_CONTEXT, RT_BACKWARD).flops, back.flops / 2, 1e-12);
    CU_ASSERT_EQUAL(sum_of(&trained, RT_OP_ATTENTION_CONTEXT, RT_FORWARD).count, 8);
    for (size_t n = 0; n < trained.node_count; n++)
        if (strcmp(trained.nodes[n].name, "experts.up") == 0)
            CU_ASSERT_EQUAL(trained.kernels[trained.nodes[n].kernel].call.dim[3], 1024);
    rt_graph_release(&trained);
    rt_graph_release(&cut);
    rt_graph_release(&run);
    options.runtime = RT_RUNTIME_EAGER;
    RT_ASSERT_FAILS(rt_graph_build(&source.model, &options, &trained), RT_EUSAGE, "give runtime megatron");
    RT_ASSERT_OK(rt_model_source_find("Qwen/Qwen3-Next-80B-A3B-Instruct", &source)); /* a delta rule */
    options.runtime = RT_RUNTIME_MEGATRON;
    RT_ASSERT_FAILS(rt_graph_build(&source.model, &options, &trained), RT_EUSAGE, "as LLM servers run it");
}

/* Products in fp8 leave attention in 16 bits, in one kernel. */
static void test_context_parallel_in_fp8(void)
{
    static const char *const fields[5][2] = {{"cp", "2"}, {"quant", "fp8"}, {"runtime", "megatron"}};
    struct rt_settled_step settled;
    RT_ASSERT_OK(settle("llama-3-8b", fields, &settled));
}

static void test_refused(void)
{
    static const struct {
        const char *model, *fields[5][2], *words;
    } rows[] = {
        {"llama-3-8b", {{"sp", "true"}}, "give tp 2 or more"},
        {"llama-3-8b", {{"tp", "2"}, {"tp_overlap", "true"}}, "give sp"},
        {"llama-3-8b", {{"cp", "3"}}, "give one of 1, 2, 4"},
        {"llama-3-8b", {{"cp", "2"}, {"attention", "math"}}, "needs attention in one kernel"},
        {"bert-base", {{"cp", "2"}}, "is for decoders"},
        {"t5-base", {{"tp", "2"}, {"sp", "true"}}, "one stack of layers"},
        {"deepseek-v3", {{"expert_exchange", "alltoall"}}, "give ep 2 or more"},
        {"deepseek-v3",
         {{"ep", "2"}, {"dp", "2"}, {"expert_overlap", "true"}},
         "give microbatches 2 or more"},
        {"llama-3-8b", {{"vp", "2"}}, "give pp 2 or more"},
        {"llama-3-8b", {{"vp", "16"}, {"pp", "4"}}, "give one of 2, 4, 8"},
        {"llama-3-8b", {{"ep", "2"}, {"dp", "2"}}, "has no experts"},
        {"deepseek-v3", {{"ep", "3"}, {"dp", "8"}}, "give one of 1, 2, 4, 8"},
        {"deepseek-v3", {{"ep", "2"}, {"tp", "2"}}, "needs sp"},
        {"llama-3-8b", {{"shard_gpus", "2"}, {"dp", "4"}}, "give shard"},
        {"llama-3-8b", {{"shard_gpus", "3"}, {"dp", "4"}, {"shard", "parameters"}}, "give one of 1, 2, 4"},
        {"llama-3-8b",
         {{"dp", "2"}, {"shard", "parameters"}, {"runtime", "nanotron"}},
         "no more than its optimizer"},
        {"llama-3-8b",
         {{"dp", "2"}, {"shard", "gradients"}, {"runtime", "megatron-2021"}},
         "no more than its optimizer"},
        {"nvidia/NVIDIA-Nemotron-3-Nano-30B-A3B-BF16", {{"cp", "2"}}, "hands states on"},
        {"llama-3-8b", {{"recompute", "norms"}, {"runtime", "fsdp"}}, "is of runtime megatron"},
        {"llama-3-8b", {{"recompute", "latent"}, {"runtime", "fsdp"}}, "latent is of runtime megatron"},
        {"llama-3-8b", {{"recompute", "experts"}}, "llama-3-8b has none"},
        {"mixtral-8x7b", {{"recompute", "latent"}}, "mixtral-8x7b has none"},
        {"llama-3-8b", {{"cuda_graphs", "layers"}, {"runtime", "fsdp"}}, "captured by runtime graph"},
        {"llama-3-8b", {{"mode", "inference"}, {"cuda_graphs", "step"}}, "is for mode training"},
        {"llama-3-8b", {{"mode", "inference"}, {"lora", "8"}}, "is for mode training"},
        {"llama-3-8b", {{"mode", "training"}, {"lora_on", "qkv"}}, "give their rank by lora"},
        {"llama-3-8b", {{"mode", "inference"}, {"recompute", "selective"}}, "is for mode training"},
    };
    struct rt_settled_step settled;
    for (size_t i = 0; i < RT_COUNT(rows); i++)
        RT_ASSERT_FAILS(settle(rows[i].model, rows[i].fields, &settled), RT_EUSAGE, rows[i].words);
}

RT_TESTS(RT_TEST(test_as_many_products), RT_TEST(test_fusion), RT_TEST(test_attention_backward),
         RT_TEST(test_optimizer_bytes), RT_TEST(test_sequence_parallel), RT_TEST(test_fp8),
         RT_TEST(test_context_parallel), RT_TEST(test_experts), RT_TEST(test_recompute),
         RT_TEST(test_recompute_norms), RT_TEST(test_recompute_modules), RT_TEST(test_experts_apart),
         RT_TEST(test_lora), RT_TEST(test_context_parallel_in_fp8), RT_TEST(test_hybrid),
         RT_TEST(test_refused))
