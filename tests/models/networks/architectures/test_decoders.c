/* Decoders: parameters of transformers' own models, and FLOPs of their products. */
#include "find.h"
#include "models/networks/architectures/architecture.h"

static struct rt_model config(const char *type, const char *rest)
{
    struct rt_model model = {0};
    char text[1024];
    snprintf(text, sizeof text, "{\"model_type\": \"%s\"%s}", type, rest);
    RT_ASSERT_OK(rt_model_load(rt_test_write("config.json", text), &model));
    return model;
}

/* Parameters of AutoModelForCausalLM.from_config and FLOPs (2 m n k of all products) of one forward pass of
 * 128 tokens, by torch's FlopCounterMode with attention written out: transformers 5.23, torch 2.15, meta
 * device. FLOPs 0: its experts do not run there. */
static const struct {
    const char *type, *rest;
    double parameters, flops;
} rows[] = {
    {"gemma", "", 8537680896, 2193117675520},
    {"gemma",
     ", \"hidden_size\": 2048, \"num_hidden_layers\": 18, \"num_attention_heads\": 8, "
     "\"num_key_value_heads\": 1, \"intermediate_size\": 16384",
     2506172416, 643976658944},
    {"gemma2", "", 2614341888, 672699252736},
    {"gemma3_text", "", 2628658432, 676360880128},
    {"phi", "", 1418270720, 339302416384},
    {"phi3", "", 3821079552, 959371542528},
    {"gpt_neox", "", 20554567680, 5199460564992},
    {"gptj", "", 6050882784, 1503473434624},
    {"gpt_neo", "", 1315575808, 338808012800},
    {"falcon", "", 6921720704, 1781413183488},
    {"falcon",
     ", \"new_decoder_architecture\": true, \"hidden_size\": 8192, \"num_hidden_layers\": 60, "
     "\"num_attention_heads\": 128, \"num_kv_heads\": 8, \"ffn_hidden_size\": 32768",
     41303293952, 10605347995648},
    {"RefinedWebModel",
     ", \"alibi\": true, \"multi_query\": false, \"parallel_attn\": false, "
     "\"bias\": true, \"hidden_size\": 2048, \"n_layer\": 24, \"n_head\": 32",
     1341771776, 346550173696},
    {"bloom", ", \"n_embed\": 4096, \"n_layer\": 30, \"n_head\": 32", 7069016064, 1817308037120},
    {"olmo", "", 6888095744, 1719194877952},
    {"olmo2", "", 6888624128, 1719194877952},
    {"olmo3", "", 6888624128, 1719194877952},
    {"smollm3", "", 3075098624, 792018812928},
    {"starcoder2", "", 3030371328, 781549830144},
    {"granite", "", 6738415616, 1700001742848},
    {"cohere", "", 34980831232, 8976481648640},
    {"cohere", ", \"use_qk_norm\": true, \"num_key_value_heads\": 8", 30283579392, 7773890805760},
    {"cohere2", "", 34980831232, 8976481648640},
    {"qwen2_moe", "", 14315784192, 0},
    {"gpt_oss", "", 116829156672, 0},
    {"deepseek_v2",
     ", \"hidden_size\": 2048, \"num_hidden_layers\": 27, \"num_attention_heads\": 16, "
     "\"q_lora_rank\": null, \"intermediate_size\": 10944, \"moe_intermediate_size\": 1408, "
     "\"first_k_dense_replace\": 1",
     15706484224, 0},
    {"deepseek_v3", "", 671026404352, 0},
    {"minimax_m2", "", 228689748992, 0},
    {"llama4_text", "", 107769861120, 27340235079680},
    {"llama4_text", ", \"num_local_experts\": 128, \"interleave_moe_layer_step\": 2", 400711848960,
     102333383966720},
    {"phi", ", \"qk_layernorm\": true", 1418276864, 339302416384},
    {"stablelm", ", \"qk_layernorm\": true", 2795607040, 687949742080},
    {"glm4_moe", "", 103481200640, 2426732019712},
    {"codegen", "", 6050882784, 1503473434624},
    {"openai-gpt", "", 116534784, 30305550336},
    {"biogpt", "", 346763264, 90030735360},
    {"mpt", "", 1311213568, 338866208768},
    {"persimmon", "", 9397175296, 2139967455232},
    {"jais2", "", 8090401280, 1949629939712},
    {"hunyuan_v1_dense", ", \"head_dim\": 128, \"num_key_value_heads\": 8", 8054378496, 1765364727808},
    {"cwm", "", 32581097472, 8164598611968},
    {"hyperclovax", "", 6738677760, 1700001742848},
    {"granite_swa", "", 2144463840, 552977039360},
    {"vaultgemma", "", 2614222080, 672699252736},
    {"ministral", ", \"head_dim\": 128", 7241732096, 1828850761728},
    {"ministral3", "", 8489553920, 2044941303808},
    {"internlm3", "", 8804241408, 2131914391552},
    {"bitnet", "", 2741155840, 622602485760},
    {"apertus", "", 6979596352, 1657857376256},
    {"minicpm3", "", 4073875968, 1055816417280},
    {"youtu", "", 1961560064, 507477229568},
    {"granitemoeshared",
     ", \"shared_intermediate_size\": 1024, \"hidden_size\": 1024, \"num_local_experts\": 32, "
     "\"num_experts_per_tok\": 8, \"intermediate_size\": 512, \"num_attention_heads\": 16",
     1912144896, 174013284352},
    {"phimoe", "", 41872793600, 1674835918848},
    {"ernie4_5_moe", "", 21825437888, 862810275840},
    {"exaone_moe", "", 28550639616, 1618061819904},
    {"flex_olmo", "", 33270665216, 6204315140096},
    {"solar_open", "", 102651793408, 2905545375744},
    {"aria_text", "", 18517069824, 2241436057600},
    {"hy_v3", "", 295033528320, 5209057132544},
    {"mellum", "", 12149923072, 573898227712},
    {"glm4_moe_lite", "", 29943390976, 932075012096},
    {"dots1",
     ", \"n_routed_experts\": 128, \"n_shared_experts\": 2, \"num_experts_per_tok\": 6, "
     "\"first_k_dense_replace\": 1",
     161206276032, 4025751699456},
    {"xglm", "", 564463616, 146030985216},
};

static void test_parameters_and_flops(void)
{
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        struct rt_model m = config(rows[i].type, rows[i].rest);
        struct rt_graph_options options = {.batch = 1, .sequence = 128, .tensor_parallel = 1};
        struct rt_graph graph;
        CU_ASSERT_EQUAL(rt_model_parameters(&m), rows[i].parameters);
        RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
        if (rows[i].flops > 0)
            CU_ASSERT_EQUAL(product_flops(&graph, false), rows[i].flops);
        rt_graph_release(&graph);
    }
}

static double parameters_of(const struct rt_model *m, const struct rt_graph_options *options)
{
    struct rt_graph graph;
    struct rt_graph_totals totals;
    RT_ASSERT_OK(rt_graph_build(m, options, &graph));
    for (size_t n = 0; n < graph.node_count; n++)
        CU_ASSERT_PTR_NOT_NULL(graph.nodes[n].name);
    rt_graph_totals(&graph, &totals);
    rt_graph_release(&graph);
    return totals.parameters;
}

/* Every step and runtime has the same weights. */
static void test_steps(void)
{
    static const struct {
        enum rt_step_kind step;
        enum rt_runtime_id runtime;
    } steps[] = {
        {RT_STEP_PREFILL, RT_RUNTIME_EAGER},  {RT_STEP_TRAINING, RT_RUNTIME_EAGER_MATH},
        {RT_STEP_DECODE, RT_RUNTIME_EAGER},   {RT_STEP_PREFILL, RT_RUNTIME_SERVING},
        {RT_STEP_DECODE, RT_RUNTIME_SERVING}, {RT_STEP_TRAINING, RT_RUNTIME_COMPILE},
    };
    for (size_t i = 0; i < RT_COUNT(rows); i++)
        for (size_t s = 0; s < RT_COUNT(steps); s++) {
            struct rt_model m = config(rows[i].type, rows[i].rest);
            struct rt_graph_options options = {.step = steps[s].step,
                                               .runtime = steps[s].runtime,
                                               .dtype = RT_BF16,
                                               .batch = 2,
                                               .sequence = 128,
                                               .context = 128,
                                               .tensor_parallel = 1};
            if (rt_runtimes[options.runtime].served && !m.architecture->served)
                continue;
            RT_ASSERT_NEAR(parameters_of(&m, &options), rows[i].parameters, 1e-12);
        }
}

/* Gemma 3: one layer in six attends to all tokens; "layer_types" and the pattern say so. */
static void test_windows(void)
{
    struct rt_model m = config("gemma3_text", ", \"sliding_window_pattern\": 13");
    CU_ASSERT_EQUAL(m.reach.full_layers, 2);
    m = config("gemma3_text", ", \"num_hidden_layers\": 3, \"sliding_window\": 512, \"layer_types\": "
                              "[\"full_attention\", \"sliding_attention\", \"full_attention\"]");
    CU_ASSERT_EQUAL(m.reach.full_layers, 2);
    struct rt_graph_options options = {.step = RT_STEP_DECODE,
                                       .runtime = RT_RUNTIME_SERVING,
                                       .dtype = RT_BF16,
                                       .batch = 1,
                                       .context = 999,
                                       .tensor_parallel = 1};
    struct rt_graph graph;
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    /* keys and values of 4 heads, 256 wide: two layers of 1000 tokens and one of its window */
    RT_ASSERT_NEAR(graph.cache, 2.0 * 4 * 256 * (2 * 1000 + 512), 1e-12);
    rt_graph_release(&graph);
}

/* DeepSeek-V3 keeps 512 + 64 numbers a token and layer where a server runs it. */
static void test_latent_cache(void)
{
    struct rt_model m = config("deepseek_v3", "");
    struct rt_graph_options options = {.step = RT_STEP_DECODE,
                                       .runtime = RT_RUNTIME_SERVING,
                                       .dtype = RT_BF16,
                                       .batch = 4,
                                       .context = 999,
                                       .tensor_parallel = 1};
    struct rt_graph graph;
    RT_ASSERT_OK(rt_graph_build(&m, &options, &graph));
    RT_ASSERT_NEAR(graph.cache, 61.0 * 4 * 1000 * (512 + 64), 1e-12);
    rt_graph_release(&graph);
}

/* A decoder inside a model of text and images. */
static void test_text_config(void)
{
    struct rt_model m = {0};
    RT_ASSERT_OK(rt_model_load(
        rt_test_write("wrapper.json", "{\"model_type\": \"gemma3\", \"architectures\": "
                                      "[\"Gemma3ForConditionalGeneration\"], \"torch_dtype\": \"bfloat16\", "
                                      "\"text_config\": {\"model_type\": \"gemma3_text\", "
                                      "\"num_hidden_layers\": 7}, \"vision_config\": {}}"),
        &m));
    CU_ASSERT_EQUAL(m.layers, 7);
    CU_ASSERT_EQUAL(m.dtype, RT_BF16);
}

/* Of other types than the part's: in an object of their own, with and without its type, and flat. */
static void test_language_parts(void)
{
    static const struct {
        const char *text, *part_of, *type;
        int64_t layers;
    } parts[] = {
        {"{\"model_type\": \"llava\", \"text_config\": {\"model_type\": \"mistral\", \"num_hidden_layers\": "
         "3}}",
         "llava", "mistral", 3},
        {"{\"model_type\": \"gemma3\", \"text_config\": {\"num_hidden_layers\": 5}}", "gemma3", "gemma3_text",
         5},
        {"{\"model_type\": \"gemma3\"}", "gemma3", "gemma3_text", 26},
        {"{\"model_type\": \"llama4\", \"vision_config\": {}, \"image_size\": 3}", "llama4", "llama4_text",
         48},
        {"{\"model_type\": \"llama\", \"num_hidden_layers\": 4}", "", "llama", 4},
    };
    for (size_t i = 0; i < RT_COUNT(parts); i++) {
        struct rt_model m = {0};
        RT_ASSERT_OK(rt_model_load(rt_test_write("part.json", parts[i].text), &m));
        CU_ASSERT_STRING_EQUAL(m.part_of, parts[i].part_of);
        CU_ASSERT_STRING_EQUAL(m.architecture->model_type, parts[i].type);
        CU_ASSERT_EQUAL(m.layers, parts[i].layers);
        CU_ASSERT_STRING_EQUAL(m.unread, "");
    }
}

/* Keys that may change the graph and are not read are named; those that do not, or say the usual, are not. */
static void test_unread(void)
{
    static const struct {
        const char *type, *rest, *unread;
    } configs[] = {
        {"llama",
         ", \"rope_theta\": 5e5, \"bos_token_id\": 1, \"attention_dropout\": 0.1, \"temperature\": 1", ""},
        {"llama", ", \"new_trick\": 3, \"sliding_window\": 64, \"other\": null",
         "\"new_trick\", \"sliding_window\""},
        {"llama", ", \"sliding_window\": null, \"alibi\": false, \"layer_types\": [\"full_attention\"]", ""},
        {"llama", ", \"alibi\": true, \"layer_types\": [\"sliding_attention\"]",
         "\"alibi\", \"layer_types\""},
        {"llama", ", \"rope_parameters\": {\"partial_rotary_factor\": 0.5}", "\"partial_rotary_factor\""},
        {"phi", ", \"rope_parameters\": {\"partial_rotary_factor\": 0.5}", ""},
        {"gpt2", ", \"hidden_size\": 768, \"n_ctx\": 1024, \"vision_config\": {}", "\"vision_config\""},
        {"gpt2", ", \"is_decoder\": true", "\"is_decoder\""},
        {"deepseek_v3", ", \"qk_head_dim\": 192, \"n_group\": 8", ""},
    };
    for (size_t i = 0; i < RT_COUNT(configs); i++)
        CU_ASSERT_STRING_EQUAL(config(configs[i].type, configs[i].rest).unread, configs[i].unread);
    char many[900] = "";
    for (int i = 0; i < 30; i++)
        snprintf(many + strlen(many), sizeof many - strlen(many), ", \"a_key_of_some_length_%d\": 1", i);
    struct rt_model m = config("llama", many);
    CU_ASSERT(strlen(m.unread) < sizeof m.unread);
    CU_ASSERT_STRING_EQUAL(m.unread + strlen(m.unread) - 4, " ...");
}

static double rotations(const struct rt_model *model)
{
    struct rt_graph graph = {0};
    RT_ASSERT_OK(rt_graph_build(
        model, &(struct rt_graph_options){.batch = 1, .sequence = 64, .tensor_parallel = 1}, &graph));
    double layers = 0;
    for (size_t b = 0; b < graph.block_count; b++)
        for (uint32_t n = 0; n < graph.blocks[b].node_count; n++)
            if (strcmp(graph.nodes[graph.blocks[b].node + n].name, "rotary.q_cos") == 0)
                layers += (double)graph.blocks[b].repeat;
    rt_graph_release(&graph);
    return layers;
}

/* Layers whose heads are not turned, and layers with windows. */
static void test_unrotated(void)
{
    static const struct {
        const char *type, *rest;
        double rotated;
        int64_t full;
    } configs[] = {
        {"smollm3", "", 27, 9},
        {"smollm3", ", \"num_hidden_layers\": 4, \"no_rope_layers\": [1, 0, 0, 1]", 2, 2},
        {"llama4_text", ", \"num_hidden_layers\": 8, \"no_rope_layers\": []", 6, 2},
        {"cohere2", ", \"num_hidden_layers\": 8", 6, 2},
        {"exaone4", ", \"num_hidden_layers\": 8", 6, 2},
        {"exaone4", ", \"num_hidden_layers\": 8, \"sliding_window\": null, \"sliding_window_pattern\": 0", 8,
         0},
        {"exaone4", ", \"num_hidden_layers\": 8, \"sliding_window_pattern\": \"LLLG\"", 6, 2},
        {"gemma2", ", \"num_hidden_layers\": 8", 8, 4},
        {"gpt_neo",
         ", \"attention_types\": [[[\"global\", \"local\"], 4], [[\"global\"], 2]], \"num_layers\": 10", 0,
         6},
        {"qwen2", ", \"use_sliding_window\": true, \"max_window_layers\": 20", 32, 20},
        {"qwen2", ", \"max_window_layers\": 20", 32, 0},
    };
    for (size_t i = 0; i < RT_COUNT(configs); i++) {
        struct rt_model m = config(configs[i].type, configs[i].rest);
        CU_ASSERT_EQUAL(m.reach.full_layers, configs[i].full);
        CU_ASSERT_EQUAL(rotations(&m), configs[i].rotated);
    }
}

/* Broken and hostile files are refused in one sentence, or read. */
static void test_hostile(void)
{
    static const struct {
        const char *text, *words; /* words NULL: it is read */
    } files[] = {
        {"{\"model_type\": \"llava\", \"text_config\": {\"text_config\": {\"model_type\": \"llama\"}}}",
         "\"model_type\" is missing"},
        {"{\"model_type\": \"x\", \"text_config\": []}", "\"x\" is no architecture"},
        {"{\"model_type\": \"llama\", \"text_config\": {\"model_type\": \"gpt2\"}}", NULL},
        {"{\"model_type\": \"llama\", \"hidden_size\": 8, \"hidden_size\": 9}", "duplicate"},
        {"{\"model_type\": \"\xff\xfe\"}", "not JSON"},
        {"{\"model_type\": \"gpt_neo\", \"attention_types\": [[[[[\"global\"]]], 2]]}", "attention_types"},
        {"{\"model_type\": \"gpt_neo\", \"attention_types\": [[[\"global\"], 9223372036854775807]]}", NULL},
        {"{\"model_type\": \"smollm3\", \"no_rope_layers\": {\"a\": 1}}", "must be a list"},
        {"{\"model_type\": \"exaone4\", \"sliding_window_pattern\": -4}", "sliding_window_pattern"},
        {"{\"model_type\": \"glm4_moe\", \"num_attention_heads\": 100000}", "heads"},
        {"{\"model_type\": \"hy_v3\", \"num_experts_per_tok\": 4000}", "each token goes to"},
        {"{\"model_type\": \"hy_v3\", \"mlp_layer_types\": [\"dense\", 3]}", "mlp_layer_types"},
    };
    for (size_t i = 0; i < RT_COUNT(files); i++) {
        struct rt_model m;
        const char *path = rt_test_write("hostile.json", files[i].text);
        if (files[i].words == NULL) {
            RT_ASSERT_OK(rt_model_load(path, &m));
            continue;
        }
        CU_ASSERT_NOT_EQUAL(rt_model_load(path, &m), RT_OK);
        CU_ASSERT_PTR_NOT_NULL(strstr(rt_error(), files[i].words));
        CU_ASSERT_PTR_NULL(strchr(rt_error(), '\n'));
    }
    static char deep[20000];
    memset(deep, '[', sizeof deep - 1);
    struct rt_model m;
    RT_ASSERT_FAILS(rt_model_load(rt_test_write("deep.json", deep), &m), RT_EFORMAT, "not JSON");
}

/* An unknown type names the nearest known one, as which it can be read. */
static void test_as(void)
{
    struct rt_model m;
    const char *path = rt_test_write("next.json", "{\"model_type\": \"qwen3_next9\", \"architectures\": "
                                                  "[\"Qwen3Next9ForCausalLM\"], \"num_hidden_layers\": 5}");
    RT_ASSERT_FAILS(rt_model_load(path, &m), RT_ENOTFOUND,
                    "\"qwen3_next9\" is no architecture that is known here; the nearest by name is qwen3");
    RT_ASSERT_OK(rt_model_load_as(path, "llama", &m));
    CU_ASSERT_STRING_EQUAL(m.architecture->model_type, "llama");
    CU_ASSERT_EQUAL(m.layers, 5);
    RT_ASSERT_FAILS(rt_model_load_as(path, "lama", &m), RT_EUSAGE, "as lama: no architecture for ");
}

static void test_refused(void)
{
    static const struct {
        const char *type, *rest, *words;
    } bad[] = {
        {"phi", ", \"partial_rotary_factor\": 2", "\"partial_rotary_factor\" must be a number in 0..1"},
        {"gptj", ", \"rotary_dim\": 300", "\"rotary_dim\" is 300 of heads that are 256 wide"},
        {"gemma2", ", \"layer_types\": [\"mamba\"]", "\"layer_types\" names \"mamba\""},
        {"gemma2", ", \"layer_types\": 3", "\"layer_types\" must be a list"},
        {"gemma2", ", \"attn_logit_softcapping\": \"x\"", "\"attn_logit_softcapping\" must be a number or"},
        {"deepseek_v3", ", \"v_head_dim\": 1073741824", "the number of heads times \"v_head_dim\""},
    };
    for (size_t i = 0; i < RT_COUNT(bad); i++) {
        struct rt_model m;
        char text[512];
        snprintf(text, sizeof text, "{\"model_type\": \"%s\"%s}", bad[i].type, bad[i].rest);
        RT_ASSERT_FAILS(rt_model_load(rt_test_write("bad.json", text), &m), RT_EFORMAT, bad[i].words);
    }
}

RT_TESTS(RT_TEST(test_parameters_and_flops), RT_TEST(test_steps), RT_TEST(test_windows),
         RT_TEST(test_latent_cache), RT_TEST(test_text_config), RT_TEST(test_language_parts),
         RT_TEST(test_unread), RT_TEST(test_unrotated), RT_TEST(test_hostile), RT_TEST(test_as),
         RT_TEST(test_refused))
