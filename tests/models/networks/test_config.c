/* config.json as transformers reads it: defaults, heads, dtype and quantisation. */
#include "find.h"

#include "models/networks/source.h"

static struct rt_model config(const char *text)
{
    struct rt_model model = {0};
    RT_ASSERT_OK(rt_model_load(rt_test_write("config.json", text), &model));
    return model;
}

/* The defaults of transformers' configuration_*.py (GPT2Config, BertConfig ... of 4.57), and the parameters
 * of the class that stands there. Sums of parameters by hand where no checkpoint has these sizes. */
static void test_defaults(void)
{
    static const struct {
        const char *type;
        int64_t hidden, layers, heads, kv_heads, head_dim, inner, vocab, positions, decoder_layers, tied;
        double parameters;
    } rows[] = {
        {"gpt2", 768, 12, 12, 12, 64, 3072, 50257, 1024, 0, 1, 124439808},
        {"bert", 768, 12, 12, 12, 64, 3072, 30522, 512, 0, 1, 109483778},
        {"opt", 768, 12, 12, 12, 64, 3072, 50272, 2048, 0, 1, 125239296},
        {"t5", 512, 6, 8, 8, 64, 2048, 32128, 0, 6, 1, 60506624},
        {"switch_transformers", 768, 12, 12, 12, 64, 2048, 32128, 0, 12, 1, 0},
        {"llama", 4096, 32, 32, 32, 128, 11008, 32000, 2048, 0, 0, 6738415616},
        {"mistral", 4096, 32, 32, 8, 128, 14336, 32000, 131072, 0, 0, 7241732096},
        {"qwen2", 4096, 32, 32, 32, 128, 22016, 151936, 32768, 0, 0, 0},
    };
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        char text[96];
        snprintf(text, sizeof text, "{\"model_type\": \"%s\"}", rows[i].type);
        struct rt_model m = config(text);
        const int64_t read[] = {m.hidden,    m.layers, m.heads,     m.kv_heads,       m.head_dim,
                                m.ffn_width, m.vocab,  m.positions, m.decoder.layers, m.tied};
        CU_ASSERT_EQUAL(memcmp(read, &rows[i].hidden, sizeof read), 0);
        if (rows[i].parameters > 0)
            CU_ASSERT_EQUAL(rt_model_parameters(&m), rows[i].parameters);
        CU_ASSERT_PTR_NOT_NULL(strstr(m.defaulted, "vocab_size = "));
        CU_ASSERT_EQUAL(m.dtype, -1);
        CU_ASSERT_EQUAL(m.labels, 2);
    }
}

/* Keys that are null, and what other keys' defaults are. */
static void test_null(void)
{
    struct rt_model m = config("{\"model_type\": \"mistral\", \"num_key_value_heads\": null}");
    CU_ASSERT_EQUAL(m.kv_heads, 32);
    m = config("{\"model_type\": \"mistral\", \"num_attention_heads\": 16, \"hidden_size\": 2048}");
    CU_ASSERT_EQUAL(m.kv_heads, 8);
    CU_ASSERT_STRING_EQUAL(m.defaulted,
                           "num_hidden_layers = 32, intermediate_size = 14336, vocab_size = 32000");
    m = config("{\"model_type\": \"switch_transformers\", \"num_layers\": 6}");
    CU_ASSERT_EQUAL(m.decoder.layers, 12);
    CU_ASSERT_EQUAL(m.experts.encoder_step, 2); /* 6 / 3 */
    CU_ASSERT_EQUAL(m.experts.decoder_step, 4);
    m = config("{\"model_type\": \"switch_transformers\", \"num_layers\": 6, \"num_decoder_layers\": null}");
    CU_ASSERT_EQUAL(m.decoder.layers, 6);
    m = config("{\"model_type\": \"t5\", \"num_layers\": 3}");
    CU_ASSERT_EQUAL(m.decoder.layers, 3);
    m = config("{\"model_type\": \"switch_transformers\", \"dense_act_fn\": \"gelu_new\", "
               "\"feed_forward_proj\": \"relu\", \"router_bias\": true}");
    CU_ASSERT_EQUAL(m.activation, RT_ACT_GELU_TANH);
    double with_bias = rt_model_parameters(&m);
    m.experts.router_bias = 0;
    CU_ASSERT_EQUAL(with_bias - rt_model_parameters(&m), 6 * 8); /* six routers of eight experts */
}

#define HEAD(type, class) "{\"model_type\": \"" type "\", \"architectures\": [\"" class "\"]}"

/* Parameters of transformers' classes: BertModel has 109,482,240, GPT2Model 124,439,808, LlamaModel
 * 6,607,343,616. */
static void test_heads(void)
{
    static const struct {
        const char *text;
        double parameters;
    } rows[] = {
        {HEAD("bert", "BertModel"), 109482240},
        {HEAD("bert", "BertForMaskedLM"), 109514298},
        {HEAD("bert", "BertLMHeadModel"), 109514298},
        {HEAD("bert", "BertForPreTraining"), 110106428},
        {HEAD("bert", "BertForSequenceClassification"), 109483778},
        {HEAD("bert", "BertForNextSentencePrediction"), 109483778},
        {HEAD("bert", "BertForTokenClassification"), 108893186},
        {HEAD("bert", "BertForQuestionAnswering"), 108893186},
        {HEAD("gpt2", "GPT2Model"), 124439808},
        {HEAD("gpt2", "GPT2LMHeadModel"), 124439808},
        {HEAD("gpt2", "GPT2ForSequenceClassification"), 124439808 + 2 * 768},
        {HEAD("gpt2", "GPT2ForTokenClassification"), 124439808 + 2 * 769},
        {HEAD("llama", "LlamaModel"), 6607343616},
        {HEAD("llama", "LlamaForCausalLM"), 6738415616},
        {HEAD("llama", "LlamaForSequenceClassification"), 6607343616 + 2 * 4096},
        {HEAD("llama", "LlamaForQuestionAnswering"), 6607343616 + 2 * 4097.0},
        {HEAD("t5", "T5ForConditionalGeneration"), 60506624},
        {HEAD("t5", "T5Model"), 60506624},
        {"{\"model_type\": \"bert\", \"architectures\": [\"BertForSequenceClassification\"], "
         "\"id2label\": {\"0\": \"a\", \"1\": \"b\", \"2\": \"c\"}, \"num_labels\": 7}",
         109483778 + 769},
        {"{\"architectures\": [\"GPT2ForSequenceClassification\"], \"num_labels\": 5}", 124439808 + 5 * 768},
    };
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        struct rt_model m = config(rows[i].text);
        CU_ASSERT_EQUAL(rt_model_parameters(&m), rows[i].parameters);
        struct rt_graph_options training = {
            .step = RT_STEP_TRAINING, .batch = 2, .sequence = 16, .tensor_parallel = 1};
        struct rt_graph graph;
        struct rt_graph_totals totals;
        RT_ASSERT_OK(rt_graph_build(&m, &training, &graph)); /* training has the same head */
        rt_graph_totals(&graph, &totals);
        CU_ASSERT_EQUAL(totals.parameters, rows[i].parameters);
        rt_graph_release(&graph);
    }
    struct rt_model classifier = config(HEAD("llama", "LlamaForSequenceClassification"));
    struct rt_graph_options decode = {
        .step = RT_STEP_DECODE, .batch = 1, .context = 16, .tensor_parallel = 1};
    struct rt_graph none;
    RT_ASSERT_FAILS(rt_graph_build(&classifier, &decode, &none), RT_EUSAGE, "classifies, it does not decode");
    static const char *const unknown[] = {
        HEAD("bert", "BertForMultipleChoice"), HEAD("gpt2", "GPT2DoubleHeadsModel"),
        HEAD("t5", "T5ForTokenClassification"), HEAD("llama", "LlavaForCausalLM")};
    struct rt_model m;
    for (size_t i = 0; i < RT_COUNT(unknown); i++)
        RT_ASSERT_FAILS(rt_model_load(rt_test_write("bad.json", unknown[i]), &m), RT_EFORMAT,
                        "a class that is not known here");
}

#define GPT2(more)      "{\"model_type\": \"gpt2\", " more "}"
#define QUANTISED(more) GPT2("\"torch_dtype\": \"bfloat16\", \"quantization_config\": {" more "}")
#define GROUP(weights, inputs)                                                                               \
    QUANTISED(                                                                                               \
        "\"quant_method\": \"compressed-tensors\", \"config_groups\": {\"group_0\": {\"weights\": {" weights \
        "}, \"input_activations\": " inputs "}}")

static void test_dtype(void)
{
    static const struct {
        const char *text;
        enum rt_dtype dtype;
    } rows[] = {
        {GPT2("\"n_layer\": 12"), RT_FP32},
        {GPT2("\"torch_dtype\": \"bfloat16\""), RT_BF16},
        {GPT2("\"torch_dtype\": \"torch.float16\""), RT_FP16},
        {GPT2("\"torch_dtype\": \"float32\", \"dtype\": \"bfloat16\""), RT_BF16},
        {GPT2("\"dtype\": null, \"torch_dtype\": \"float16\""), RT_FP16},
        {GPT2("\"torch_dtype\": \"auto\""), RT_FP32},
        {GPT2("\"torch_dtype\": \"bfloat16\", \"quantization_config\": null"), RT_BF16},
        {QUANTISED("\"quant_method\": \"fp8\", \"weight_block_size\": [128, 128]"), RT_FP8_BLOCK},
        {QUANTISED("\"quant_method\": \"fp8\", \"activation_scheme\": \"static\""), RT_FP8},
        {QUANTISED("\"quant_method\": \"fbgemm_fp8\""), RT_FP8},
        {QUANTISED("\"quant_method\": \"gptq\", \"bits\": 4, \"group_size\": 128"), RT_INT4},
        {QUANTISED("\"quant_method\": \"awq\", \"bits\": 4"), RT_INT4},
        {QUANTISED("\"quant_method\": \"awq\", \"w_bit\": 4"), RT_INT4},
        {QUANTISED("\"quant_method\": \"mxfp4\""), RT_MXFP4},
        {QUANTISED("\"quant_method\": \"modelopt\", \"quant_algo\": \"NVFP4\""), RT_FP4},
        {GROUP("\"num_bits\": 8, \"type\": \"float\", \"strategy\": \"channel\"",
               "{\"num_bits\": 8, \"type\": \"float\"}"),
         RT_FP8},
        {GROUP("\"num_bits\": 8, \"type\": \"float\", \"strategy\": \"block\"",
               "{\"num_bits\": 8, \"type\": \"float\"}"),
         RT_FP8_BLOCK},
        {GROUP("\"num_bits\": 8, \"type\": \"int\"", "{\"num_bits\": 8, \"type\": \"int\"}"), RT_INT8},
        {GROUP("\"num_bits\": 4, \"type\": \"int\"", "null"), RT_INT4},
        {GROUP("\"num_bits\": 8, \"type\": \"int\"", "null"), RT_INT8_WO},
        {GROUP("\"num_bits\": 4, \"type\": \"int\"", "{\"num_bits\": 8, \"type\": \"float\"}"), RT_W4AFP8},
        {QUANTISED("\"quant_method\": \"gptq\", \"bits\": 8"), RT_INT8_WO},
        {QUANTISED("\"quant_method\": \"modelopt\", \"quant_algo\": \"W4A8_MXFP4_MXFP8\""), RT_MXFP4_MXFP8},
        {GROUP("\"num_bits\": 4, \"type\": \"float\", \"group_size\": 16",
               "{\"num_bits\": 4, \"type\": \"float\"}"),
         RT_FP4},
    };
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        struct rt_model m = config(rows[i].text);
        enum rt_dtype dtype = RT_DTYPE_COUNT;
        RT_ASSERT_OK(rt_model_dtype(&m, &dtype));
        CU_ASSERT_EQUAL(dtype, rows[i].dtype);
    }
}

/* Modules that a checkpoint leaves out of its quantisation: gpt-oss, Kimi-K2.5 (by expressions), Qwen3.5 and
 * DeepSeek-V3.2 in nvfp4 (by layer), fp8 of Qwen3 (norms and routers). */
static void test_wide_parts(void)
{
    enum {
        ATTENTION = 1 << RT_PART_ATTENTION,
        DENSE = 1 << RT_PART_FEED_FORWARD,
        SHARED = 1 << RT_PART_SHARED_EXPERTS
    };
    static const struct {
        const char *text;
        unsigned parts;
    } rows[] = {
        {"\"modules_to_not_convert\": [\"model.layers.*.self_attn\", \"model.layers.*.mlp.router\", "
         "\"lm_head\"]",
         ATTENTION},
        {"\"ignore\": [\"lm_head\", \"re:.*self_attn.*\", \"re:.*shared_experts.*\", "
         "\"re:.*mlp\\\\.(gate|up|gate_up|down)_proj.*\"]",
         ATTENTION | DENSE | SHARED},
        {"\"exclude_modules\": [\"lm_head\", \"model.layers.0.linear_attn*\", "
         "\"model.layers.0.mlp.shared_expert_gate\", "
         "\"model.layers.1.self_attn.q_a_proj\", \"model.layers.1.self_attn.q_b_proj\"]",
         ATTENTION},
        {"\"ignore\": [\"model.layers.0.self_attn*\", \"model.layers.1*\"]", 0}, /* one layer of four */
        {"\"modules_to_not_convert\": [\"model.layers.0.mlp.gate\", "
         "\"model.layers.0.self_attn.kv_a_layernorm\", "
         "\"model.layers.1.self_attn.indexer*\"]",
         0},
    };
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        char text[600];
        snprintf(text, sizeof text,
                 "{\"model_type\": \"gpt2\", \"n_layer\": 4, \"quantization_config\": {\"quant_method\": "
                 "\"fp8\", %s}}",
                 rows[i].text);
        struct rt_model m = config(text);
        CU_ASSERT_EQUAL(m.wide_parts, rows[i].parts);
    }
}

/* A config that cannot be forecast in its own dtype is read, for --dtype may replace it. */
static void test_unknown_dtype(void)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        {GPT2("\"torch_dtype\": \"complex64\""), "the dtype \"complex64\" is not known here"},
        {GPT2("\"torch_dtype\": 3"), "the dtype is no name of one"},
        {GPT2("\"dtype\": [\"float16\"]"), "the dtype is no name of one"},
        {QUANTISED("\"quant_method\": \"bitsandbytes\", \"load_in_4bit\": true"),
         "of method \"bitsandbytes\""},
        {QUANTISED("\"quant_method\": \"gptq\", \"bits\": 3"),
         "of method \"gptq\" ({\"quant_method\":\"gptq\",\"bits\":3"},
        {QUANTISED("\"bits\": 4"), "of method \"\""},
        {GROUP("\"num_bits\": 2, \"type\": \"int\"", "null"),
         "give the dtype that its products run in with dtype"},
        {QUANTISED("\"quant_method\": \"compressed-tensors\""), "of method \"compressed-tensors\""},
    };
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        struct rt_model m = config(rows[i].text);
        enum rt_dtype dtype = RT_DTYPE_COUNT;
        RT_ASSERT_FAILS(rt_model_dtype(&m, &dtype), RT_EFORMAT, rows[i].words);
        CU_ASSERT_EQUAL(dtype, RT_DTYPE_COUNT);
    }
}

RT_TESTS(RT_TEST(test_defaults), RT_TEST(test_null), RT_TEST(test_heads), RT_TEST(test_dtype),
         RT_TEST(test_wide_parts), RT_TEST(test_unknown_dtype))
