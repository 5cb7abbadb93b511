/* Decoders as LLM servers run them: by hand for Llama, Mixtral and Qwen3-MoE; lists of sequences; what is
 * refused. */
#include "find.h"

#include "models/networks/memory.h"
#include "models/networks/sequences.h"

static struct rt_model named(const char *name)
{
    struct rt_model model = {0};
    RT_ASSERT_OK(rt_model_named(name, &model));
    return model;
}

static struct rt_graph_options served(enum rt_step_kind step, int64_t batch, int64_t tokens)
{
    return (struct rt_graph_options){.step = step,
                                     .batch = batch,
                                     .sequence = tokens,
                                     .context = tokens,
                                     .tensor_parallel = 1,
                                     .dtype = RT_BF16,
                                     .runtime = RT_RUNTIME_SERVING};
}

/* The weights of a step are those of the model: nothing is left out, nothing counted twice. */
static void test_parameters(void)
{
    for (size_t i = 0; i < rt_zoo_size(); i++) {
        struct rt_model m;
        struct rt_graph graph;
        struct rt_graph_options options = served(RT_STEP_DECODE, 1, 16);
        RT_ASSERT_OK(rt_zoo_model(i, &m));
        if (!rt_model_is_served(&m))
            continue;
        RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
        RT_ASSERT_NEAR(graph_parameters(&graph), rt_model_parameters(&m), 1e-12);
        rt_graph_release(&graph);
    }
}

/* Llama-3-8B, by hand: 32 heads of 128, 8 of keys and values, 14336 inside, 128256 words. */
static void test_decode(void)
{
    struct rt_model m = named("llama-3-8b");
    struct rt_graph_options options = served(RT_STEP_DECODE, 16, 1000);
    struct rt_graph graph;
    struct rt_graph_memory memory;
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    ASSERT_FORWARD(&graph, "tokens", RT_OP_EMBEDDING, 16, 4096);
    ASSERT_FORWARD(&graph, "attn.norm", RT_OP_RESIDUAL_RMSNORM, 16, 4096);
    ASSERT_FORWARD(&graph, "attn.qkv", RT_OP_LINEAR, 1, 16, (32 + 2 * 8) * 128, 4096);
    ASSERT_FORWARD(&graph, "attn.rotary", RT_OP_ROTARY, 16, (32 + 8) * 128);
    ASSERT_FORWARD(&graph, "attn.write_cache", RT_OP_COPY, 16, 2 * 8 * 128);
    ASSERT_FORWARD(&graph, "attn.decode", RT_OP_ATTENTION_GENERATION, 16, 1, 1000, 32, 8, 128, 0, 0);
    ASSERT_FORWARD(&graph, "attn.o", RT_OP_LINEAR, 1, 16, 4096, 4096);
    ASSERT_FORWARD(&graph, "mlp.gate_up", RT_OP_LINEAR, 1, 16, 2 * 14336, 4096);
    ASSERT_FORWARD(&graph, "mlp.act_mul", RT_OP_SILU_MUL, 16, 14336);
    ASSERT_FORWARD(&graph, "mlp.down", RT_OP_LINEAR, 1, 16, 4096, 14336);
    ASSERT_FORWARD(&graph, "lm_head", RT_OP_LINEAR, 1, 16, 128256, 4096);
    ASSERT_FORWARD(&graph, "sample.softmax", RT_OP_SOFTMAX, 16, 128256);
    CU_ASSERT_EQUAL(find_kernel(&graph, "sample.softmax", RT_FORWARD, 0)->call.dtype, RT_FP32);
    RT_ASSERT_NEAR(graph.cache, 2.0 * 32 * 16 * 1001 * 8 * 128, 1e-12);
    rt_graph_memory(&graph, NULL, &memory);
    RT_ASSERT_NEAR(memory.cache, 2 * graph.cache, 1e-12);
    rt_graph_release(&graph);
    options.kv_bits = 8; /* half of the cache, and less to write */
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    rt_graph_memory(&graph, NULL, &memory);
    RT_ASSERT_NEAR(memory.cache, graph.cache, 1e-12);
    RT_ASSERT_NEAR(find_kernel(&graph, "attn.write_cache", RT_FORWARD, 0)->bytes, 3.0 * 16 * 2048, 1e-12);
    rt_graph_release(&graph);
}

/* Products of the layers are quantised; the head, the router and all else are not. */
static void test_quantised(void)
{
    struct rt_model m = named("mixtral-8x7b");
    struct rt_graph_options options = served(RT_STEP_DECODE, 4, 100);
    struct rt_graph graph;
    options.dtype = RT_FP8;
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    CU_ASSERT_EQUAL(find_kernel(&graph, "attn.qkv", RT_FORWARD, 0)->call.dtype, RT_FP8);
    CU_ASSERT_EQUAL(find_kernel(&graph, "experts", RT_FORWARD, 0)->call.dtype, RT_FP8);
    CU_ASSERT_EQUAL(find_kernel(&graph, "router", RT_FORWARD, 0)->call.dtype, RT_BF16);
    CU_ASSERT_EQUAL(find_kernel(&graph, "attn.decode", RT_FORWARD, 0)->call.dtype, RT_BF16);
    CU_ASSERT_EQUAL(find_kernel(&graph, "lm_head", RT_FORWARD, 0)->call.dtype, RT_BF16);
    rt_graph_release(&graph);
    options.wide_parts = 1u << RT_PART_ATTENTION; /* which the checkpoint leaves in 16 bits */
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    CU_ASSERT_EQUAL(find_kernel(&graph, "attn.qkv", RT_FORWARD, 0)->call.dtype, RT_BF16);
    CU_ASSERT_EQUAL(find_kernel(&graph, "attn.o", RT_FORWARD, 0)->call.dtype, RT_BF16);
    CU_ASSERT_EQUAL(find_kernel(&graph, "experts", RT_FORWARD, 0)->call.dtype, RT_FP8);
    rt_graph_release(&graph);
}

/* What servers do in one pass is one kernel: MiniMax-M3's indexer has columns of attention's product, and
 * norms, rotary embedding and both caches go together; DeepSeek-V4's pools share a product in 16 bits. No
 * weight is lost by it. */
static void test_fused(void)
{
    struct rt_graph_options options = served(RT_STEP_DECODE, 4, 1000);
    struct rt_model m3 = named("MiniMaxAI/MiniMax-M3"), v4 = named("deepseek-ai/DeepSeek-V4-Flash");
    struct rt_graph graph;
    options.dtype = RT_FP8_BLOCK;
    RT_ASSERT_OK(rt_graph_build(&m3, &options, &graph));
    RT_ASSERT_NEAR(graph_parameters(&graph), rt_model_parameters(&m3), 1e-12);
    ASSERT_FORWARD(&graph, "attn.norm_rotary_cache", RT_OP_RMSNORM, 4 * (64 + 4), 128);
    double moved = 2 * 2 * (64 + 4 + 4 + 1) + 2 * 2 * 4; /* bytes: heads read and written, values copied */
    RT_ASSERT_NEAR(find_kernel(&graph, "attn.norm_rotary_cache", RT_FORWARD, 0)->bytes, 4 * 128 * moved,
                   1e-12);
    rt_graph_release(&graph);
    RT_ASSERT_OK(rt_graph_build(&v4, &options, &graph));
    RT_ASSERT_NEAR(graph_parameters(&graph), rt_model_parameters(&v4), 1e-12);
    CU_ASSERT_EQUAL(find_kernel(&graph, "attn.down", RT_FORWARD, 0)->call.dtype, RT_FP8_BLOCK);
    CU_ASSERT_EQUAL(find_kernel(&graph, "compress.kv", RT_FORWARD, 0)->call.dtype, RT_BF16);
    rt_graph_release(&graph);
}

/* A prefill of sequences that differ beside two that decode. */
static void test_groups(void)
{
    struct rt_model m = named("llama-3-8b");
    struct rt_graph_options options = served(RT_STEP_PREFILL, 1, 1);
    struct rt_sequence_list list = {0};
    struct rt_graph graph;
    RT_ASSERT_OK(rt_sequences_read("300,200+50x2", false, &list));
    RT_ASSERT_OK(rt_sequences_read("1000,3000", true, &list));
    rt_sequences_set(&list, &options);
    CU_ASSERT_EQUAL(options.batch, 5);
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    ASSERT_FORWARD(&graph, "attn.qkv", RT_OP_LINEAR, 1, 300 + 2 * 200 + 2, 6144, 4096);
    ASSERT_FORWARD(&graph, "attn.prefill", RT_OP_ATTENTION_CONTEXT, 1, 300, 0, 32, 8, 128, 0, 0);
    ASSERT_FORWARD(&graph, "attn.decode", RT_OP_ATTENTION_GENERATION, 2, 1, 2000, 32, 8, 128, 0, 0);
    ASSERT_FORWARD(&graph, "lm_head", RT_OP_LINEAR, 1, 5, 128256, 4096);
    RT_ASSERT_NEAR(graph.cache, 2.0 * 32 * (300 + 2 * 250 + 1001 + 3001) * 8 * 128, 1e-12);
    rt_graph_release(&graph);
    rt_sequences_release(&list);
}

/* DeepSeek-V3: decodes beside a prefill attend to the 512 + 64 latent columns, as they do alone; the prefill
 * makes keys and values of its own tokens only. No weight is counted twice. */
static void test_latent_groups(void)
{
    struct rt_model m = named("deepseek-v3");
    struct rt_graph_options options = served(RT_STEP_PREFILL, 1, 1);
    struct rt_sequence_list list = {0};
    struct rt_graph mixed, alone;
    RT_ASSERT_OK(rt_sequences_read("300+50", false, &list));
    RT_ASSERT_OK(rt_sequences_read("1000,3000", true, &list));
    rt_sequences_set(&list, &options);
    RT_ASSERT_OK(rt_graph_build(&m, &options, &mixed));
    ASSERT_FORWARD(&mixed, "attn.kv", RT_OP_LINEAR, 1, 300, 128 * (128 + 128), 512);
    ASSERT_FORWARD(&mixed, "attn.prefill", RT_OP_MLA_CONTEXT, 1, 300, 50, 128, 192, 128, 0);
    ASSERT_FORWARD(&mixed, "attn.decode", RT_OP_MLA_GENERATION, 2, 1, 2000, 128, 512, 64, 0);
    ASSERT_FORWARD(&mixed, "attn.absorb_k", RT_OP_BMM, 128, 2, 512, 128);
    ASSERT_FORWARD(&mixed, "attn.o", RT_OP_LINEAR, 1, 302, 7168, 128 * 128);
    RT_ASSERT_NEAR(graph_parameters(&mixed), rt_model_parameters(&m), 1e-12);
    struct rt_graph_options decodes = served(RT_STEP_DECODE, 2, 2000);
    RT_ASSERT_OK(rt_graph_build(&m, &decodes, &alone));
    static const char *const same[] = {"attn.absorb_k", "attn.decode", "attn.absorb_v"};
    for (size_t i = 0; i < sizeof same / sizeof *same; i++) {
        const struct rt_graph_kernel *beside = find_kernel(&mixed, same[i], RT_FORWARD, 0),
                                     *by_itself = find_kernel(&alone, same[i], RT_FORWARD, 0);
        CU_ASSERT_EQUAL(memcmp(&beside->call, &by_itself->call, sizeof beside->call), 0);
        RT_ASSERT_NEAR(beside->bytes, by_itself->bytes, 1e-12);
    }
    rt_graph_release(&alone);
    rt_graph_release(&mixed);
    rt_sequences_release(&list);
}

/* Groups that are alike are the step of as many equal sequences. */
static void test_equal_groups(void)
{
    struct rt_model m = named("qwen3-32b");
    struct rt_graph_options alike = served(RT_STEP_DECODE, 8, 777), options = alike;
    struct rt_sequence_list list = {0};
    struct rt_graph one, other;
    RT_ASSERT_OK(rt_sequences_read("777x3,777x5", true, &list));
    CU_ASSERT_EQUAL(list.count, 1);
    rt_sequences_set(&list, &options);
    RT_ASSERT_OK(rt_graph_build(&m, &alike, &one));
    RT_ASSERT_OK(rt_graph_build(&m, &options, &other));
    CU_ASSERT_EQUAL_FATAL(one.kernel_count, other.kernel_count);
    for (size_t k = 0; k < one.kernel_count; k++)
        CU_ASSERT_EQUAL(memcmp(&one.kernels[k].call, &other.kernels[k].call, sizeof one.kernels[k].call), 0);
    RT_ASSERT_NEAR(one.cache, other.cache, 1e-12);
    rt_graph_release(&one);
    rt_graph_release(&other);
    rt_sequences_release(&list);
}

/* Qwen3-235B-A22B: 128 experts of 1536, 8 a token, on 8 GPUs: experts cut, shared out, or both. */
static void test_experts(void)
{
    struct rt_model m = named("qwen3-235b-a22b");
    struct rt_graph_options options = served(RT_STEP_DECODE, 32, 512);
    struct rt_graph graph;
    options.tensor_parallel = 4;
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    ASSERT_FORWARD(&graph, "experts", RT_OP_MOE, 32, 4096, 1536, 8, 128, 4, 1, 101);
    ASSERT_FORWARD(&graph, "experts.combine", RT_OP_ALL_REDUCE, 4, 32 * 4096);
    ASSERT_FORWARD(&graph, "attn.q_norm", RT_OP_RMSNORM, 32 * 64 / 4, 128);
    CU_ASSERT_PTR_NULL(find_node(&graph, "experts.dispatch"));
    rt_graph_release(&graph);
    options.expert_parallel = 4;
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    ASSERT_FORWARD(&graph, "experts", RT_OP_MOE, 32, 4096, 1536, 8, 128, 1, 4, 101);
    rt_graph_release(&graph);
    options.tensor_parallel = 1;
    options.attention_data_parallel = 8; /* each GPU has 32 sequences of its own */
    options.expert_parallel = 8;
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    ASSERT_FORWARD(&graph, "experts", RT_OP_MOE, 256, 4096, 1536, 8, 128, 1, 8, 101);
    ASSERT_FORWARD(&graph, "experts.dispatch", RT_OP_ALL_TO_ALL, 8, 32 * 8 * 4096);
    options.expert_parallel = 1;
    rt_graph_release(&graph);
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    ASSERT_FORWARD(&graph, "experts.dispatch", RT_OP_ALL_GATHER, 8, 256 * 4096);
    ASSERT_FORWARD(&graph, "experts.combine", RT_OP_REDUCE_SCATTER, 8, 256 * 4096);
    rt_graph_release(&graph);
}

/* Attention stays within a window, or a chunk. */
static void test_window_and_chunk(void)
{
    struct rt_model m = named("mistral-7b");
    struct rt_graph_options options = served(RT_STEP_DECODE, 2, 9000);
    struct rt_graph graph;
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    ASSERT_FORWARD(&graph, "attn.decode", RT_OP_ATTENTION_GENERATION, 2, 1, 9000, 32, 8, 128, 4096, 0);
    RT_ASSERT_NEAR(graph.cache, 2.0 * 32 * 2 * 4096 * 8 * 128, 1e-12);
    rt_graph_release(&graph);
    m = named("llama-3-8b");
    m.reach.chunk = 4096;
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    ASSERT_FORWARD(&graph, "attn.decode", RT_OP_ATTENTION_GENERATION, 2, 1, 9000 - 2 * 4096, 32, 8, 128, 0,
                   0);
    rt_graph_release(&graph);
    options.step = RT_STEP_PREFILL;
    options.sequence = 8192;
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    ASSERT_FORWARD(&graph, "attn.prefill", RT_OP_ATTENTION_CONTEXT, 4, 4096, 0, 32, 8, 128, 0, 0);
    rt_graph_release(&graph);
}

/* PyTorch's fused attention: one kernel, no scores; its gradient is 2.5 of it. FlashAttention has none of
 * fp32. */
static void test_eager(void)
{
    struct rt_model m = named("llama-3-8b");
    struct rt_graph_options options = prefill(2, 512);
    struct rt_graph graph;
    options.runtime = RT_RUNTIME_EAGER;
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    CU_ASSERT_PTR_NULL(find_node(&graph, "attn.scores"));
    rt_graph_release(&graph);
    options.attention = RT_ATTENTION_FLASH2;
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    CU_ASSERT_PTR_NOT_NULL(find_node(&graph, "attn.scores"));
    rt_graph_release(&graph);
    options.attention = RT_ATTENTION_OWN;
    options.dtype = RT_BF16;
    options.step = RT_STEP_TRAINING;
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    CU_ASSERT_PTR_NULL(find_node(&graph, "attn.scores"));
    CU_ASSERT_PTR_NULL(find_node(&graph, "attn.repeat_keys"));
    ASSERT_FORWARD(&graph, "attn.attention", RT_OP_ATTENTION_CONTEXT, 2, 512, 0, 32, 8, 128, 0, 0);
    const struct rt_graph_kernel *forward = find_kernel(&graph, "attn.attention", RT_FORWARD, 0),
                                 *backward = find_kernel(&graph, "attn.attention", RT_BACKWARD, 0);
    CU_ASSERT_EQUAL(backward->multiple, 2.5);
    RT_ASSERT_NEAR(backward->flops, 2.5 * forward->flops, 1e-12);
    rt_graph_release(&graph);
    m = named("bert-large");
    options.step = RT_STEP_PREFILL;
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    ASSERT_FORWARD(&graph, "attn.attention", RT_OP_ATTENTION_ENCODER, 2, 512, 16, 64);
    rt_graph_release(&graph);
}

static void test_refused(void)
{
    struct rt_model m = named("llama-3-8b"), bert = named("bert-large");
    struct rt_graph_options options = served(RT_STEP_PREFILL, 1, 128);
    struct rt_graph graph;
    RT_ASSERT_FAILS(rt_graph_build(&bert, &options, &graph), RT_EUSAGE, "LLM servers do not run BERT");
    options.step = RT_STEP_TRAINING;
    RT_ASSERT_FAILS(rt_graph_build(&m, &options, &graph), RT_EUSAGE, "does not train");
    options = served(RT_STEP_PREFILL, 1, 128);
    options.dtype = RT_FP32;
    RT_ASSERT_FAILS(rt_graph_build(&m, &options, &graph), RT_EUSAGE, "16 bits or fewer");
    options.dtype = RT_BF16;
    options.expert_parallel = 2;
    RT_ASSERT_FAILS(rt_graph_build(&m, &options, &graph), RT_EUSAGE, "has no experts to share out");
    struct rt_model sparse = named("mixtral-8x7b");
    options.expert_parallel = 3;
    RT_ASSERT_FAILS(rt_graph_build(&sparse, &options, &graph), RT_EUSAGE, "ep 3 does not divide");
    const struct rt_sequences huge = {INT64_C(1) << 31, INT64_C(1) << 31, 0};
    options = served(RT_STEP_PREFILL, 1, 128);
    options.groups = &huge;
    options.group_count = 1;
    RT_ASSERT_FAILS(rt_graph_build(&m, &options, &graph), RT_EUSAGE, "at most 2^31");
    options.runtime = RT_RUNTIME_EAGER;
    RT_ASSERT_FAILS(rt_graph_build(&m, &options, &graph), RT_EUSAGE, "at most 2^31");
}

static void test_lists(void)
{
    static const char *const bad[] = {"",    ",",  "5,",  "0",          "-3",   "5x",
                                      "5x0", "5+", "1.5", "9999999999", "5 ,6", "5+1x2x3"};
    struct rt_sequence_list list = {0};
    for (size_t i = 0; i < RT_COUNT(bad); i++)
        RT_ASSERT_FAILS(rt_sequences_read(bad[i], false, &list), RT_EUSAGE, "lengths");
    RT_ASSERT_FAILS(rt_sequences_read("5+6", true, &list), RT_EUSAGE, "is no context");
    rt_sequences_release(&list);
    char *text = rt_malloc(8 * (RT_MOST_SEQUENCE_GROUPS + 2)), *at = text;
    for (int i = 1; i <= RT_MOST_SEQUENCE_GROUPS + 1; i++)
        at += sprintf(at, "%s%d", i > 1 ? "," : "", i);
    RT_ASSERT_FAILS(rt_sequences_read(text, false, &list), RT_EUSAGE, "more than 4096");
    rt_sequences_release(&list);
    free(text);
}

RT_TESTS(RT_TEST(test_parameters), RT_TEST(test_decode), RT_TEST(test_quantised), RT_TEST(test_fused),
         RT_TEST(test_groups), RT_TEST(test_latent_groups), RT_TEST(test_equal_groups), RT_TEST(test_experts),
         RT_TEST(test_window_and_chunk), RT_TEST(test_eager), RT_TEST(test_refused), RT_TEST(test_lists))
