/* Llama, Mistral and Qwen2: sizes, grouped-query attention, rotary embedding, SwiGLU, shards, decoding. */
#include "find.h"
#include "models/networks/memory.h"

static struct rt_model named(const char *name)
{
    struct rt_model model = {0};
    RT_ASSERT_OK(rt_model_named(name, &model));
    return model;
}

/* As the checkpoints on Hugging Face count them. */
static void test_parameters(void)
{
    static const struct {
        const char *name;
        double parameters;
    } known[] = {
        {"llama-2-7b", 6738415616},    {"llama-2-70b", 68976648192},         {"llama-3-8b", 8030261248},
        {"llama-3-70b", 70553706496},  {"mistral-7b", 7241732096},           {"qwen2.5-7b", 7615616512},
        {"llama-3.1-8b", 8030261248},  {"llama-3.1-70b", 70553706496},       {"qwen2.5-14b", 14770033664},
        {"qwen2-7b", 7615616512},      {"qwen2-72b", 72706203648},           {"qwen3-32b", 32762123264},
        {"mixtral-8x7b", 46702792704}, {"qwen3-235b-a22b", 235093634560},    {"llama-3.1-405b", 405853388800},
        {"mistral-nemo", 12247782400}, {"mistral-large-2407", 122610069504}, {"mixtral-8x22b", 140630071296},
        {"codellama-34b", 33743970304}};
    for (size_t i = 0; i < RT_COUNT(known); i++) {
        struct rt_model m = named(known[i].name);
        CU_ASSERT_EQUAL(rt_model_parameters(&m), known[i].parameters);
    }
}

#define LLAMA(type, more)                                                                                    \
    "{\"model_type\": \"" type "\", \"hidden_size\": 64, \"num_hidden_layers\": 2, \"vocab_size\": 100,"     \
    "\"num_attention_heads\": 4, \"intermediate_size\": 96" more "}"

static struct rt_model config(const char *text)
{
    struct rt_model model = {0};
    RT_ASSERT_OK(rt_model_load(rt_test_write("llama.json", text), &model));
    return model;
}

static void test_config(void)
{
    struct rt_model m = config(LLAMA("llama", ""));
    CU_ASSERT_EQUAL(m.kv_heads, 4);
    CU_ASSERT_EQUAL(m.head_dim, 16);
    CU_ASSERT_EQUAL(m.positions, 2048);
    CU_ASSERT_EQUAL(m.tied, 0);
    CU_ASSERT_EQUAL(m.bias.qkv, 0);
    CU_ASSERT_EQUAL(m.activation, RT_ACT_SILU);
    m = config(LLAMA("mistral", ", \"num_key_value_heads\": 2, \"head_dim\": 8, \"sliding_window\": null"));
    CU_ASSERT_EQUAL(m.kv_heads, 2);
    CU_ASSERT_EQUAL(m.head_dim, 8);
    CU_ASSERT_EQUAL(m.positions, 131072);
    m = config(LLAMA("qwen2", ", \"tie_word_embeddings\": true, \"num_key_value_heads\": 4"));
    CU_ASSERT_EQUAL(m.bias.qkv, 1);
    CU_ASSERT_EQUAL(m.tied, 1);
    CU_ASSERT_EQUAL(m.reach.window, 0); /* 4096 by default, and not used */
    m = config(LLAMA("qwen2",
                     ", \"sliding_window\": 512, \"use_sliding_window\": true, \"num_key_value_heads\": 4"));
    CU_ASSERT_EQUAL(m.reach.window, 512);
    CU_ASSERT_EQUAL(config(LLAMA("mistral", ", \"num_key_value_heads\": 4")).reach.window, 4096);
    CU_ASSERT_EQUAL(
        config(LLAMA("mistral", ", \"num_key_value_heads\": 4, \"sliding_window\": null")).reach.window, 0);
    CU_ASSERT_EQUAL(config(LLAMA("qwen3", ", \"num_key_value_heads\": 4")).head_dim, 128);
}

static void test_bad_configs(void)
{
    struct rt_model m;
    RT_ASSERT_FAILS(rt_model_load(rt_test_write("bad.json", LLAMA("llama", ", \"head_dim\": 5")), &m),
                    RT_EFORMAT, "a head is 5 wide, and rotary embedding turns pairs");
    RT_ASSERT_FAILS(
        rt_model_load(rt_test_write("bad.json", LLAMA("llama", ", \"num_key_value_heads\": 3")), &m),
        RT_EFORMAT, "3 key-value heads do not divide 4 heads");
    RT_ASSERT_FAILS(
        rt_model_load(rt_test_write("bad.json", LLAMA("llama", ", \"num_key_value_heads\": 0")), &m),
        RT_EFORMAT, "\"num_key_value_heads\" is 0");
    RT_ASSERT_FAILS(rt_model_load(rt_test_write("bad.json", LLAMA("gemma9", "")), &m), RT_ENOTFOUND,
                    "\"gemma9\" is no architecture that is known here");
}

/* Llama-3-8B, by hand: 32 heads of 128, 8 of keys and values, 14336 inside. */
static void test_prefill(void)
{
    struct rt_model m = named("llama-3-8b");
    struct rt_graph_options options = prefill(2, 512);
    struct rt_graph graph;
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    ASSERT_FORWARD(&graph, "tokens", RT_OP_EMBEDDING, 1024, 4096);
    ASSERT_FORWARD(&graph, "norm.pow", RT_OP_POW_SCALAR, 1024, 4096);
    ASSERT_FORWARD(&graph, "norm.rsqrt", RT_OP_RSQRT, 1024, 1);
    ASSERT_FORWARD(&graph, "attn.q", RT_OP_LINEAR, 1, 1024, 4096, 4096);
    ASSERT_FORWARD(&graph, "attn.k", RT_OP_LINEAR, 1, 1024, 1024, 4096);
    ASSERT_FORWARD(&graph, "attn.v", RT_OP_LINEAR, 1, 1024, 1024, 4096);
    ASSERT_FORWARD(&graph, "rotary.q_cos", RT_OP_MUL, 2 * 512 * 32, 128);
    ASSERT_FORWARD(&graph, "rotary.k_rotate_half", RT_OP_COPY, 2 * 512 * 8, 128);
    ASSERT_FORWARD(&graph, "rotary.k_add", RT_OP_ADD, 2 * 512 * 8, 128);
    ASSERT_FORWARD(&graph, "attn.repeat_keys", RT_OP_COPY, 2 * 32 * 512, 128);
    ASSERT_FORWARD(&graph, "attn.scores", RT_OP_BMM, 64, 512, 512, 128);
    ASSERT_FORWARD(&graph, "attn.scale", RT_OP_MUL_SCALAR, 64 * 512, 512);
    ASSERT_FORWARD(&graph, "attn.mask", RT_OP_ADD, 64 * 512, 512);
    ASSERT_FORWARD(&graph, "attn.softmax", RT_OP_SOFTMAX, 64 * 512, 512);
    ASSERT_FORWARD(&graph, "attn.values", RT_OP_BMM, 64, 512, 128, 512);
    ASSERT_FORWARD(&graph, "attn.o", RT_OP_LINEAR, 1, 1024, 4096, 4096);
    ASSERT_FORWARD(&graph, "mlp.gate", RT_OP_LINEAR, 1, 1024, 14336, 4096);
    ASSERT_FORWARD(&graph, "mlp.silu", RT_OP_SILU, 1024, 14336);
    ASSERT_FORWARD(&graph, "mlp.product", RT_OP_MUL, 1024, 14336);
    ASSERT_FORWARD(&graph, "mlp.down", RT_OP_LINEAR, 1, 1024, 4096, 14336);
    ASSERT_FORWARD(&graph, "lm_head", RT_OP_LINEAR, 1, 1024, 128256, 4096);
    CU_ASSERT_PTR_NULL(find_node(&graph, "attn.softmax_cast")); /* fp32 */
    CU_ASSERT_EQUAL(graph.cache, 0);
    CU_ASSERT_EQUAL(graph.boundary, 1024.0 * 4096);
    CU_ASSERT_EQUAL(graph.classes, 1024.0 * 128256);
    CU_ASSERT_EQUAL(graph.block_count, 3);
    CU_ASSERT_EQUAL(graph.blocks[1].repeat, 32);
    rt_graph_release(&graph);
}

/* Broadcast operands count once: cosines and the mask for all heads, keys for their group. */
static void test_traffic(void)
{
    struct rt_model m = named("llama-3-8b");
    struct rt_graph_options options = prefill(2, 512);
    struct rt_graph graph;
    options.dtype = RT_BF16;
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    double scores = 64.0 * 512 * 512, queries = 2.0 * 512 * 32 * 128, keys = queries / 4;
    CU_ASSERT_EQUAL(find_kernel(&graph, "rotary.q_cos", RT_FORWARD, 0)->bytes, 2 * (2 * queries + 512 * 128));
    CU_ASSERT_EQUAL(find_kernel(&graph, "rotary.q_negate", RT_FORWARD, 0)->bytes, 2 * queries);
    CU_ASSERT_EQUAL(find_kernel(&graph, "rotary.q_rotate_half", RT_FORWARD, 0)->bytes, 2 * 2 * queries);
    CU_ASSERT_EQUAL(find_kernel(&graph, "attn.repeat_keys", RT_FORWARD, 0)->bytes, 2 * (keys + queries));
    CU_ASSERT_EQUAL(find_kernel(&graph, "attn.mask", RT_FORWARD, 0)->bytes,
                    2 * (2 * scores + 2.0 * 512 * 512));
    CU_ASSERT_EQUAL(find_kernel(&graph, "attn.softmax_cast", RT_FORWARD, 0)->bytes, (4 + 2) * scores);
    rt_graph_release(&graph);
}

/* A token of Llama-3-8B keeps 2 x 32 layers x 8 heads x 128: 128 KiB in 16 bits. */
static void test_decode(void)
{
    struct rt_model m = named("llama-3-8b");
    struct rt_graph_options options = {
        .step = RT_STEP_DECODE, .batch = 3, .context = 999, .tensor_parallel = 1, .dtype = RT_BF16};
    struct rt_graph graph;
    struct rt_graph_memory memory;
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    ASSERT_FORWARD(&graph, "attn.q", RT_OP_LINEAR, 1, 3, 4096, 4096);
    ASSERT_FORWARD(&graph, "rotary.q_cos", RT_OP_MUL, 3 * 32, 128);
    ASSERT_FORWARD(&graph, "attn.append_cache", RT_OP_COPY, 2 * 3 * 8, 1000 * 128);
    ASSERT_FORWARD(&graph, "attn.repeat_values", RT_OP_COPY, 3 * 32 * 1000, 128);
    ASSERT_FORWARD(&graph, "attn.scores", RT_OP_BMM, 96, 1, 1000, 128);
    ASSERT_FORWARD(&graph, "attn.values", RT_OP_BMM, 96, 1, 128, 1000);
    ASSERT_FORWARD(&graph, "mlp.gate", RT_OP_LINEAR, 1, 3, 14336, 4096);
    CU_ASSERT_EQUAL(find_node(&graph, "attn.append_cache")->input_count, 2);
    rt_graph_memory(&graph, NULL, &memory);
    CU_ASSERT_EQUAL(memory.cache, 3 * (999 + 1000) * 131072.0); /* concatenated: before and after */
    rt_graph_release(&graph);
}

/* Grouped-query attention copies key-value heads and sums their gradients; full attention does neither. */
static void test_heads(void)
{
    struct rt_model m = named("llama-2-7b");
    struct rt_graph_options options = prefill(1, 16);
    struct rt_graph graph;
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    CU_ASSERT_PTR_NULL(find_node(&graph, "attn.repeat_keys"));
    rt_graph_release(&graph);
    m = named("mistral-7b");
    options.step = RT_STEP_TRAINING;
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    CU_ASSERT_PTR_NOT_NULL(find_kernel(&graph, "attn.repeat_keys", RT_BACKWARD, 0));
    CU_ASSERT_PTR_NULL(find_kernel(&graph, "rotary.q_cos", RT_BACKWARD, 1)); /* cosines have no gradient */
    rt_graph_release(&graph);
}

static void test_biases(void)
{
    static const struct {
        const char *text;
        double q, o, up; /* parameters of the products */
    } known[] = {
        {LLAMA("llama", ""), 64 * 64, 64 * 64, 64 * 96},
        {LLAMA("llama", ", \"attention_bias\": true"), 64 * 64 + 64, 64 * 64 + 64, 64 * 96},
        {LLAMA("llama", ", \"mlp_bias\": true"), 64 * 64, 64 * 64, 64 * 96 + 96},
        {LLAMA("qwen2", ", \"num_key_value_heads\": 4"), 64 * 64 + 64, 64 * 64, 64 * 96},
        {LLAMA("mistral", ", \"head_dim\": 8, \"num_key_value_heads\": null"), 64 * 32, 32 * 64, 64 * 96},
    };
    for (size_t i = 0; i < RT_COUNT(known); i++) {
        struct rt_model m = config(known[i].text);
        struct rt_graph_options options = prefill(1, 16);
        struct rt_graph graph;
        RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
        CU_ASSERT_EQUAL(find_node(&graph, "attn.q")->parameters, known[i].q);
        CU_ASSERT_EQUAL(find_node(&graph, "attn.o")->parameters, known[i].o);
        CU_ASSERT_EQUAL(find_node(&graph, "mlp.up")->parameters, known[i].up);
        rt_graph_release(&graph);
    }
}

static void test_tensor_parallel(void)
{
    struct rt_model m = named("llama-3-8b");
    struct rt_graph_options options = prefill(2, 512);
    struct rt_graph graph;
    options.step = RT_STEP_TRAINING;
    options.tensor_parallel = 4;
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    ASSERT_FORWARD(&graph, "attn.q", RT_OP_LINEAR, 1, 1024, 1024, 4096);
    ASSERT_FORWARD(&graph, "attn.k", RT_OP_LINEAR, 1, 1024, 256, 4096);
    ASSERT_FORWARD(&graph, "attn.scores", RT_OP_BMM, 16, 512, 512, 128);
    ASSERT_FORWARD(&graph, "attn.o", RT_OP_LINEAR, 1, 1024, 4096, 1024);
    ASSERT_FORWARD(&graph, "mlp.up", RT_OP_LINEAR, 1, 1024, 3584, 4096);
    ASSERT_FORWARD(&graph, "mlp.down", RT_OP_LINEAR, 1, 1024, 4096, 3584);
    ASSERT_FORWARD(&graph, "mlp.all_reduce", RT_OP_ALL_REDUCE, 4, 1024 * 4096);
    ASSERT_FORWARD(&graph, "lm_head", RT_OP_LINEAR, 1, 1024, 32064, 4096);
    CU_ASSERT_PTR_NOT_NULL(find_kernel(&graph, "attn.gradient_all_reduce", RT_BACKWARD, 0));
    CU_ASSERT_PTR_NOT_NULL(find_kernel(&graph, "gradient_all_reduce", RT_BACKWARD, 0));
    rt_graph_release(&graph);
    options.tensor_parallel = 16; /* more devices than key-value heads: each holds a copy of one */
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    ASSERT_FORWARD(&graph, "attn.q", RT_OP_LINEAR, 1, 1024, 256, 4096);
    ASSERT_FORWARD(&graph, "attn.k", RT_OP_LINEAR, 1, 1024, 128, 4096);
    ASSERT_FORWARD(&graph, "attn.repeat_keys", RT_OP_COPY, 2 * 2 * 512, 128);
    rt_graph_release(&graph);
}

/* Every node but the first reads a node before it, in its own block or the one before. */
static void test_inputs(void)
{
    struct rt_model m = named("qwen2.5-7b");
    struct rt_graph_options options = {
        .step = RT_STEP_DECODE, .batch = 1, .context = 8, .tensor_parallel = 2};
    struct rt_graph graph;
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    for (size_t n = 1; n < graph.node_count; n++) {
        CU_ASSERT_TRUE(graph.nodes[n].input_count >= 1);
        for (uint32_t i = 0; i < graph.nodes[n].input_count; i++)
            CU_ASSERT_TRUE(graph.inputs[graph.nodes[n].input + i] < n);
    }
    rt_graph_release(&graph);
}

RT_TESTS(RT_TEST(test_parameters), RT_TEST(test_config), RT_TEST(test_bad_configs), RT_TEST(test_prefill),
         RT_TEST(test_traffic), RT_TEST(test_decode), RT_TEST(test_heads), RT_TEST(test_biases),
         RT_TEST(test_tensor_parallel), RT_TEST(test_inputs))
