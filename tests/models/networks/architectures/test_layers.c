/* Architectures whose layers differ: parameters beside transformers', what is cached, what is refused. */
#include "find.h"

#include "models/networks/memory.h"
#include "models/networks/source.h"

#include <math.h>

static struct rt_model config(const char *text)
{
    struct rt_model model = {0};
    RT_ASSERT_OK(rt_model_load(rt_test_write("config.json", text), &model));
    return model;
}

#define TYPE(type, more) "{\"model_type\": \"" type "\"" more "}"
#define MIXED            "\"mamba\", \"mamba\", \"mamba\", \"attention\""
#define RANKS(gate)                                                                                          \
    ", \"decay_low_rank_dim\": 96, \"a_low_rank_dim\": 96, \"v_low_rank_dim\": 64, "                         \
    "\"gate_low_rank_dim\": " gate
#define CONVS "\"conv\", \"conv\", \"full_attention\", \"conv\""

/* Parameters that transformers 5.23 counts on PyTorch's meta device, of its configuration classes' defaults
 * and the keys that stand here. */
static void test_parameters(void)
{
    static const struct {
        const char *text;
        double parameters;
    } rows[] = {
        {TYPE("deepseek_v32", ""), 671877929216},
        {TYPE("glm_moe_dsa", ""), 743911199232},
        {TYPE("qwen3_5_text", ""), 8953803264},
        {TYPE("qwen3_5_moe_text", ""), 34660610688},
        {TYPE("qwen3_next", ""), 79674391296},
        {TYPE("falcon_h1", ""), 8514961408},
        {TYPE("jamba", ""), 51570323328},
        {TYPE("jamba", ", \"mamba_dt_rank\": \"auto\""), 51570323328},
        {TYPE("mamba2", ""), 7285403648},
        {TYPE("mamba", ""), 159308544},
        {TYPE("falcon_mamba", ", \"architectures\": [\"FalconMambaForCausalLM\"]"), 159308544},
        {TYPE("zamba", ""), 7232490496},
        {TYPE("zamba",
              ", \"num_hidden_layers\": 4, \"layers_block_type\": [\"mamba\", \"hybrid\", \"mamba\", "
              "\"hybrid\"]"),
         850731008},
        {TYPE("rwkv", ""), 7392649216},
        {TYPE("rwkv", ", \"hidden_size\": 768, \"num_hidden_layers\": 12, \"attention_hidden_size\": 384, "
                      "\"intermediate_size\": 1024"),
         117428736},
        /* Published: arXiv 2404.05892 has 7.52B, 7.64B and 1.60B of RWKV-5 and 6, arXiv 2503.14456 each of
         * RWKV-7's, to the parameter (both from memory). */
        {TYPE("rwkv5", ", \"intermediate_size\": null"), 7518044160},
        {TYPE("rwkv6", ", \"intermediate_size\": 14336"), 7635746816},
        {TYPE("rwkv6", ", \"hidden_size\": 2048, \"num_hidden_layers\": 24, \"intermediate_size\": null"),
         1599873024},
        {TYPE("rwkv7", ", \"hidden_size\": 768, \"num_hidden_layers\": 12, \"v_low_rank_dim\": 32"),
         191034624},
        {TYPE("rwkv7", ", \"hidden_size\": 1024, \"v_low_rank_dim\": 32"), 450767872},
        {TYPE("rwkv7", RANKS("256")), 1527404544},
        {TYPE("rwkv7", ", \"hidden_size\": 2560, \"num_hidden_layers\": 32" RANKS("320")), 2947735040},
        {TYPE("bamba", ", \"attn_layer_indices\": [9, 18, 27]"), 9808584064},
        {TYPE("granitemoehybrid", ", \"num_hidden_layers\": 8, \"layer_types\": [" MIXED ", " MIXED "]"),
         9774421248},
        {TYPE("granitemoehybrid",
              ", \"num_hidden_layers\": 4, \"num_local_experts\": 0, \"layer_types\": [" MIXED "]"),
         689631872},
        {TYPE("lfm2", ", \"num_hidden_layers\": 4, \"layer_types\": [" CONVS "]"), 514503840},
        {TYPE("lfm2", ", \"num_hidden_layers\": 16, \"full_attn_idxs\": [2, 5, 8, 10]"), 1554691200},
        {TYPE("lfm2_moe", ", \"num_hidden_layers\": 4, \"layer_types\": [" CONVS "]"), 987926656},
        {TYPE("nemotron_h", ", \"num_hidden_layers\": 5, \"hybrid_override_pattern\": \"M-M*E\""),
         2077995776},
        {TYPE("deepseek_v4", ", \"num_hidden_layers\": 3, \"compress_ratios\": [0, 4, 128]"), 20811783143},
        {TYPE("kimi_linear",
              ", \"num_hidden_layers\": 4, \"linear_attn_config\": {\"full_attn_layers\": [4], "
              "\"kda_layers\": [1, 2, 3]}"),
         6425175264},
        {TYPE("mimo_v2_flash", ", \"num_hidden_layers\": 3, \"hybrid_layer_pattern\": [0, 1, 1], "
                               "\"moe_layer_freq\": [0, 1, 1]"),
         14616129664},
        {TYPE("gemma4_text", ", \"num_hidden_layers\": 6, \"hidden_size_per_layer_input\": 0, "
                             "\"enable_moe_block\": true, \"num_experts\": 16, \"top_k_experts\": 4, "
                             "\"moe_intermediate_size\": 704, \"attention_k_eq_v\": true, "
                             "\"global_head_dim\": 512, \"num_global_key_value_heads\": 2"),
         1545676640},
        {TYPE("gemma4_text",
              ", \"num_hidden_layers\": 12, \"num_kv_shared_layers\": 4, \"use_double_wide_mlp\": true, "
              "\"global_head_dim\": 512"),
         2624470272},
        {TYPE("step3p5", ", \"num_hidden_layers\": 4, \"vocab_size\": 128815, \"layer_types\": "
                         "[\"full_attention\", \"sliding_attention\", \"full_attention\", "
                         "\"sliding_attention\"], \"num_sliding_attention_heads\": 96"),
         6387692544},
        {TYPE("minimax_m3", ", \"num_hidden_layers\": 2, \"moe_layer_freq\": [0, 1], "
                            "\"sparse_attention_config\": {\"sparse_attention_freq\": [0, 1]}"),
         10207918848},
    };
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        struct rt_model m = config(rows[i].text);
        CU_ASSERT_EQUAL(rt_model_parameters(&m), rows[i].parameters);
    }
}

static struct rt_graph_options served(enum rt_step_kind step, int64_t tokens, int64_t tensor)
{
    return (struct rt_graph_options){.step = step,
                                     .batch = 4,
                                     .sequence = tokens,
                                     .context = tokens - 1,
                                     .tensor_parallel = tensor,
                                     .dtype = RT_BF16,
                                     .runtime = RT_RUNTIME_SERVING};
}

static void caches(const char *text, int64_t tokens, double *elements, double *bytes)
{
    struct rt_model m = config(text);
    const struct rt_graph_options options = served(RT_STEP_DECODE, tokens, 1);
    struct rt_graph graph;
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    *elements = graph.cache;
    *bytes = graph.state_bytes;
    rt_graph_release(&graph);
}

/* By hand, of four sequences: what grows with their tokens and what does not. */
static void test_caches(void)
{
    double elements, bytes;
    /* 32 layers: a state of 128 x 8 x 256 in fp32, three tokens of 1024 + 512 channels; 8 heads of keys and
     * values */
    const char *falcon = TYPE("falcon_h1", "");
    caches(falcon, 1000, &elements, &bytes);
    CU_ASSERT_EQUAL(elements, 4.0 * 1000 * 32 * 2 * 8 * 128);
    CU_ASSERT_EQUAL(bytes, 4.0 * 32 * (4.0 * 1024 * 256 + 2 * 3 * 1536));
    double longer;
    caches(falcon, 2000, &elements, &longer);
    CU_ASSERT_EQUAL(longer, bytes);
    CU_ASSERT_EQUAL(elements, 4.0 * 2000 * 32 * 2 * 8 * 128);
    /* 32 layers: three numbers a column in fp32; the last token of both mixers. Nothing grows. */
    caches(TYPE("rwkv", ""), 1000, &elements, &bytes);
    CU_ASSERT_TRUE(elements == 0 && bytes == 4.0 * 32 * 4096 * (3 * 4 + 2 * 2));
    caches(TYPE("rwkv7", ""), 1000, &elements, &bytes);
    CU_ASSERT_TRUE(elements == 0 && bytes == 4.0 * 24 * 2048 * (64 * 4 + 2 * 2));
    caches(TYPE("mamba2", ""), 1000, &elements, &bytes);
    CU_ASSERT_EQUAL(elements, 0);
    CU_ASSERT_EQUAL(bytes, 4.0 * 64 * (4.0 * 8192 * 128 + 2 * 3 * 10240));
    /* 24 of 32 layers by the delta rule, 8 attend: 4 heads of 256 */
    caches(TYPE("qwen3_5_text", ""), 1000, &elements, &bytes);
    CU_ASSERT_EQUAL(elements, 4.0 * 1000 * 8 * 2 * 4 * 256);
    CU_ASSERT_EQUAL(bytes, 4.0 * 24 * (4.0 * 32 * 128 * 128 + 2 * 3 * 8192));
    /* latent columns, and the indexer's in 8 bits with a scale */
    caches(TYPE("deepseek_v32", ", \"num_hidden_layers\": 8"), 1000, &elements, &bytes);
    CU_ASSERT_EQUAL(elements, 4.0 * 1000 * 8 * 576);
    CU_ASSERT_EQUAL(bytes, 4.0 * 1000 * 8 * 132);
    /* a window of 128, an entry for 4 tokens and one for 128; the indexer's for 4; what is not pooled yet */
    caches(TYPE("deepseek_v4", ", \"num_hidden_layers\": 3, \"compress_ratios\": [0, 4, 128]"), 1024,
           &elements, &bytes);
    CU_ASSERT_EQUAL(elements, 4.0 * 512 * (3 * 128 + 1024 / 4 + 1024 / 128));
    CU_ASSERT_EQUAL(bytes, 4.0 * (132 * 1024 / 4 + 4.0 * 2 * 2 * (512 + 128) * 8 + 4.0 * 2 * 512 * 128));
    /* GLM-5.2: layers without an indexer keep no keys of it */
    caches(TYPE("glm_moe_dsa", ", \"num_hidden_layers\": 4, \"first_k_dense_replace\": 1, \"indexer_types\": "
                               "[\"full\", \"full\", \"shared\", \"shared\"]"),
           1000, &elements, &bytes);
    CU_ASSERT_EQUAL(bytes, 4.0 * 1000 * 2 * 132);
}

static const struct rt_graph_kernel *kernel_of(const struct rt_graph *graph, enum rt_op_id op, size_t *count)
{
    const struct rt_graph_kernel *found = NULL;
    *count = 0;
    for (size_t k = 0; k < graph->kernel_count; k++)
        if (graph->kernels[k].call.op == op) {
            found = found != NULL ? found : &graph->kernels[k];
            ++*count;
        }
    return found;
}

/* Calls by hand: their dims in a step on one of two GPUs. */
static void test_kernels(void)
{
    static const struct {
        const char *text;
        enum rt_step_kind step;
        enum rt_op_id op;
        size_t blocks; /* kinds of layers that have it */
        int64_t dim[12];
        size_t dims;
    } rows[] = {
        {TYPE("qwen3_5_text", ""),
         RT_STEP_PREFILL,
         RT_OP_DELTA_RULE_CONTEXT,
         1,
         {4, 300, 8, 128, 16, 128, 1},
         7},
        {TYPE("qwen3_5_text", ""), RT_STEP_DECODE, RT_OP_CAUSAL_CONV1D, 1, {4, 1, 4096, 4}, 4},
        {TYPE("kimi_linear", ""),
         RT_STEP_DECODE,
         RT_OP_DELTA_RULE_GENERATION,
         2,
         {4, 1, 16, 128, 16, 128, 128},
         7},
        {TYPE("mamba2", ""), RT_STEP_DECODE, RT_OP_SSM_GENERATION, 1, {4, 1, 64, 64, 4, 128, 256}, 7},
        {TYPE("jamba", ""), RT_STEP_DECODE, RT_OP_SSM_GENERATION, 2, {4, 1, 4096, 1, 1, 16, 2048}, 7},
        {TYPE("deepseek_v32", ""),
         RT_STEP_DECODE,
         RT_OP_SPARSE_ATTENTION,
         2,
         {4, 1, 299, 64, 1, 576, 512, 2048, 1, 0, 1, 0},
         12},
        {TYPE("deepseek_v32", ""), RT_STEP_PREFILL, RT_OP_INDEX_LOGITS, 2, {4, 300, 0, 64, 128, 1, 8}, 7},
        {TYPE("deepseek_v32", ""), RT_STEP_DECODE, RT_OP_TOP_K, 2, {4, 300, 300, 0}, 4},
        {TYPE("deepseek_v4", ", \"num_hidden_layers\": 2, \"compress_ratios\": [4, 128]"),
         RT_STEP_DECODE,
         RT_OP_SPARSE_ATTENTION,
         2,
         {4, 1, 299, 32, 1, 512, 512, 512, 4, 128, 1, 0},
         12},
        {TYPE("deepseek_v4", ", \"num_hidden_layers\": 2, \"compress_ratios\": [4, 128]"),
         RT_STEP_DECODE,
         RT_OP_HYPER_CONNECTION_PRE,
         4,
         {4, 4096, 4, 20},
         4},
        {TYPE("minimax_m3",
              ", \"num_hidden_layers\": 1, \"sparse_attention_config\": {\"sparse_attention_freq\": [1]}"),
         RT_STEP_DECODE,
         RT_OP_SPARSE_ATTENTION,
         1,
         {4, 1, 299, 32, 2, 128, 128, 2048, 1, 0, 0, 0},
         12},
        {TYPE("nemotron_h",
              ", \"num_hidden_layers\": 1, \"hybrid_override_pattern\": \"E\", \"moe_latent_size\": 512"),
         RT_STEP_PREFILL,
         RT_OP_MOE,
         1,
         {1200, 512, 7688, 2, 8, 2, 1, 101, 1},
         9},
    };
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        struct rt_model m = config(rows[i].text);
        const struct rt_graph_options options = served(rows[i].step, 300, 2);
        struct rt_graph graph;
        size_t count;
        RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
        const struct rt_graph_kernel *kernel = kernel_of(&graph, rows[i].op, &count);
        CU_ASSERT_EQUAL(count, rows[i].blocks);
        CU_ASSERT(kernel != NULL &&
                  memcmp(kernel->call.dim, rows[i].dim, rows[i].dims * sizeof(int64_t)) == 0);
        rt_graph_release(&graph);
    }
}

/* Sequences that differ: those that prefill have kernels of their own, those that decode share one. */
static void test_groups(void)
{
    struct rt_model m = config(TYPE("qwen3_5_text", ""));
    const struct rt_sequences groups[] = {{2, 100, 50}, {1, 1, 700}, {3, 1, 900}};
    struct rt_graph_options options = served(RT_STEP_PREFILL, 1, 1);
    options.groups = groups;
    options.group_count = RT_COUNT(groups);
    struct rt_graph graph;
    size_t count;
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    const struct rt_graph_kernel *prefill = kernel_of(&graph, RT_OP_DELTA_RULE_CONTEXT, &count);
    CU_ASSERT(count == 1 && prefill->call.dim[0] == 2 && prefill->call.dim[1] == 100);
    const struct rt_graph_kernel *decode = kernel_of(&graph, RT_OP_DELTA_RULE_GENERATION, &count);
    CU_ASSERT(count == 1 && decode->call.dim[0] == 4 && decode->call.dim[1] == 1);
    rt_graph_release(&graph);
}

/* One sentence each. */
static void test_refusals(void)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        {TYPE("nemotron_h", ", \"num_hidden_layers\": 3, \"hybrid_override_pattern\": \"MXE\""),
         "names \"X\" for layer 2, a kind of layer that is not known here; known are M|*|-|E"},
        {TYPE("nemotron_h", ", \"num_hidden_layers\": 4, \"hybrid_override_pattern\": \"MME\""),
         "kinds of layers are listed for 3 layers, and there are 4"},
        {TYPE("nemotron_h", ", \"num_hidden_layers\": 2, \"hybrid_override_pattern\": \"MME\""),
         "kinds of layers are listed for 3 layers, and there are 2"},
        {TYPE("nemotron_h", ""), "\"num_hidden_layers\" is missing; give it, or a list of the layers"},
        {TYPE("nemotron_h", ", \"hybrid_override_pattern\": \"\""),
         "must be a list with an item for each layer"},
        {TYPE("nemotron_h", ", \"hybrid_override_pattern\": 7"),
         "must be a list with an item for each layer"},
        {TYPE("nemotron_h", ", \"layers_block_type\": [\"mamba\"], \"ssm_state_size\": -3"),
         "\"ssm_state_size\" is -3; it must be a whole number"},
        {TYPE("nemotron_h", ", \"layers_block_type\": [\"moe\"], \"num_experts_per_tok\": 9"),
         "each token goes to 9 of 8 experts"},
        {TYPE("qwen3_5_text", ", \"num_hidden_layers\": 1, \"layer_types\": [\"conv\"]"),
         "names \"conv\" for layer 1"},
        {TYPE("qwen3_5_text", ", \"num_hidden_layers\": 1, \"layer_types\": [[]]"),
         "names \"[]\" for layer 1"},
        {TYPE("qwen3_5_text", ", \"linear_num_value_heads\": 0"), "\"linear_num_value_heads\" is 0"},
        {TYPE("deepseek_v4", ""), "compressed keys: how many tokens each layer's stand for"},
        {TYPE("deepseek_v4", ", \"num_hidden_layers\": 1, \"compress_ratios\": [-4]"),
         "names \"-4\" for layer 1"},
        {TYPE("deepseek_v32", ", \"index_topk\": -1"), "\"index_topk\" is -1"},
        {TYPE("deepseek_v32", ", \"kv_lora_rank\": -1"), "\"kv_lora_rank\" is -1"},
        {TYPE("deepseek_v32", ", \"num_hidden_layers\": 70000"), "layers; it may have 65536 at most"},
        {TYPE("bamba", ", \"attn_layer_indices\": [-1]"),
         "must hold numbers of layers in 0..511; correct number 1"},
        {TYPE("kimi_linear", ", \"linear_attn_config\": {\"full_attn_layers\": [0]}"),
         "must hold numbers of layers in 1..512"},
        {TYPE("nemotron-nas",
              ", \"num_hidden_layers\": 1, \"block_configs\": [{\"attention\": {}, \"ffn\": {}}]"),
         "\"block_configs\" number 1 is no block that is known here"},
        {TYPE("nemotron-nas",
              ", \"num_hidden_layers\": 1, \"block_configs\": [{\"attention\": {\"n_heads_in_group\": 7},"
              " \"ffn\": {\"no_op\": true}}]"),
         "groups of 7 heads of layer 1 do not divide 64 heads"},
        {TYPE("mimo_v2_flash",
              ", \"num_hidden_layers\": 1, \"hybrid_layer_pattern\": [1], \"sliding_window\": 0"),
         "\"sliding_window\" is 0"},
        {TYPE("mamba2", ", \"num_heads\": 2147483648, \"state_size\": 2147483648"),
         "the number of heads times their width is"},
    };
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        struct rt_model m;
        RT_ASSERT_FAILS(rt_model_load(rt_test_write("bad.json", rows[i].text), &m), RT_EFORMAT,
                        rows[i].words);
    }
    struct rt_model m = config(TYPE("qwen3_5_text", ""));
    struct rt_graph_options options = served(RT_STEP_PREFILL, 16, 1);
    struct rt_graph graph;
    options.runtime = RT_RUNTIME_EAGER;
    RT_ASSERT_FAILS(rt_graph_build(&m, &options, &graph), RT_EUSAGE,
                    "as LLM servers run it and not otherwise");
}

#define FILE_OF(more)                                                                                        \
    "{\"type\": \"mine\", \"what\": \"mine\", \"like\": \"llama\", \"builder\": \"layers\", " more "}"

/* A user's own: layers by words of its own; what lacks sizes is said. */
static void test_own(void)
{
    struct rt_model m;
    const char *path =
        rt_test_write("own.json", "{\"model_type\": \"mine\", \"num_hidden_layers\": 2, \"kinds\": \"ab\"}");
    const char *good = FILE_OF("\"keys\": {\"kinds\": {\"is\": \"layered.does\", \"words\": "
                               "{\"a\": \"attention\", \"b\": \"attention+dense\"}}}");
    RT_ASSERT_OK(rt_model_load_as(path, rt_test_write("mine.json", good), &m));
    CU_ASSERT_EQUAL(m.layered.kind_count, 1);
    static const struct {
        const char *text, *words;
    } rows[] = {
        {FILE_OF("\"keys\": {\"kinds\": {\"is\": \"layered.does\", \"words\": {\"a\": \"attention\", \"b\": "
                 "\"delta\"}}}"),
         "it has layers with the delta rule"},
        {FILE_OF("\"keys\": {\"kinds\": {\"is\": \"layered.does\", \"words\": {\"a\": \"magic\"}}}"),
         "\"a\" is \"magic\"; it must be a whole number in 0..65535, or what a layer does: of "
         "nothing|attention"},
        {FILE_OF("\"keys\": {\"kinds\": {\"is\": \"layered.does\", \"words\": {}}}"),
         "an object of a list's items"},
        {FILE_OF("\"fixed\": {\"layered.usual\": \"sleep\"}"), "it must be of nothing|attention"},
    };
    for (size_t i = 0; i < RT_COUNT(rows); i++)
        RT_ASSERT_FAILS(rt_model_load_as(path, rt_test_write("mine.json", rows[i].text), &m), RT_EFORMAT,
                        rows[i].words);
}

RT_TESTS(RT_TEST(test_parameters), RT_TEST(test_caches), RT_TEST(test_kernels), RT_TEST(test_groups),
         RT_TEST(test_refusals), RT_TEST(test_own))
