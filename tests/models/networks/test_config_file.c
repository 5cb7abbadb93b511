/* Files of config.json: Python's bare words for numbers, and the quantisation that ModelOpt writes beside. */
#include "find.h"

#include "datasets/device.h"
#include "models/networks/source.h"
#include "models/networks/step.h"

#include <stdlib.h>

static struct rt_model read_config(const char *name, const char *text)
{
    struct rt_model model = {0};
    RT_ASSERT_OK(rt_model_load(rt_test_write(name, text), &model));
    return model;
}

/* json.dumps(float("inf")) is no JSON; within texts the words stay, quoted quotes too. */
static void test_python_words(void)
{
    struct rt_model m =
        read_config("config.json", "{\"model_type\": \"gpt2\", \"time_step_limit\": [NaN, Infinity, NaN], "
                                   "\"Infinity\": -Infinity, \"x\\\"NaN\": NaN, \"n_layer\": 3}");
    CU_ASSERT_EQUAL(m.layers, 3);
    CU_ASSERT_PTR_NOT_NULL(strstr(m.unread, "\"Infinity\""));
    CU_ASSERT_PTR_NOT_NULL(strstr(m.unread, "NaN\""));
    struct rt_model bad;
    RT_ASSERT_FAILS(
        rt_model_load(rt_test_write("config.json", "{\"a\": Infinity,\n \"b\": Infinity, c}"), &bad),
        RT_EFORMAT, "config.json:2:17: not JSON");
    RT_ASSERT_FAILS(
        rt_model_load(rt_test_write("config.json", "{\"model_type\": \"gpt2\", \"n_layer\": NaN}"), &bad),
        RT_EFORMAT, "\"n_layer\" is NaN; it must be a whole number");
    RT_ASSERT_FAILS(
        rt_model_load(rt_test_write("config.json", "{\"model_type\": \"gpt2\", \"n_layer\": -Infinity}"),
                      &bad),
        RT_EFORMAT, "\"n_layer\" is -Infinity; it must be a whole number");
}

#define CONFIG   "{\"model_type\": \"llama\", \"torch_dtype\": \"bfloat16\"}"
#define MODELOPT "{\"producer\": {\"name\": \"modelopt\"}, \"quantization\": {\"quant_algo\": "

static void test_beside(void)
{
    static const struct {
        const char *text;
        enum rt_dtype dtype;
        int experts;
        int64_t kv_bits;
    } rows[] = {
        {MODELOPT "\"FP8\", \"kv_cache_quant_algo\": \"FP8\"}}", RT_FP8, -1, 8},
        {MODELOPT "\"NVFP4\", \"kv_cache_quant_algo\": null}}", RT_FP4, -1, 0},
        {MODELOPT "\"MIXED_PRECISION\", \"quantized_layers\": {"
                  "\"layers.0.mixer.in_proj\": {\"quant_algo\": \"FP8\"}, "
                  "\"layers.0.mixer.out_proj\": {\"quant_algo\": \"FP8\"}, "
                  "\"layers.1.mixer.experts.0.up_proj\": {\"quant_algo\": \"W4A16_NVFP4\"}}}}",
         RT_INT4, RT_INT4, 0},
        {MODELOPT "\"MIXED_PRECISION\", \"quantized_layers\": {"
                  "\"layers.0.attn.qkv\": {\"quant_algo\": \"FP8\"}}}}",
         RT_FP8, -1, 0},
    };
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        rt_test_write("m_hf_quant_config.json", rows[i].text);
        struct rt_model m = read_config("m_config.json", CONFIG);
        CU_ASSERT_EQUAL(m.dtype, (int)rows[i].dtype);
        CU_ASSERT_EQUAL(m.experts_dtype, rows[i].experts);
        CU_ASSERT_EQUAL(m.kv_bits, rows[i].kv_bits);
        /* asked for by the name of that file, it is the same model */
        RT_ASSERT_OK(rt_model_load(rt_test_path("m_hf_quant_config.json"), &m));
        CU_ASSERT_EQUAL(m.dtype, (int)rows[i].dtype);
        CU_ASSERT_PTR_NOT_NULL(strstr(m.name, "m_config.json"));
    }
}

static void test_refusals(void)
{
    static const struct {
        const char *text, *words;
    } rows[] = {
        {"{\"quantization\": 3}", "\"quantization\" is missing, an object"},
        {"[", "bad_hf_quant_config.json:1:"},
    };
    struct rt_model m;
    rt_test_write("bad_config.json", CONFIG);
    for (size_t i = 0; i < RT_COUNT(rows); i++) {
        rt_test_write("bad_hf_quant_config.json", rows[i].text);
        RT_ASSERT_FAILS(rt_model_load(rt_test_path("bad_config.json"), &m), RT_EFORMAT, rows[i].words);
    }
    rt_test_write("alone_hf_quant_config.json", MODELOPT "\"FP8\"}}");
    RT_ASSERT_FAILS(rt_model_load(rt_test_path("alone_hf_quant_config.json"), &m), RT_EIO,
                    "alone_config.json");
    /* what the config itself says counts */
    rt_test_write("own_hf_quant_config.json", "[");
    m = read_config("own_config.json",
                    "{\"model_type\": \"llama\", \"quantization_config\": {\"quant_method\": \"fp8\"}}");
    CU_ASSERT_EQUAL(m.dtype, RT_FP8);
    enum rt_dtype dtype;
    m = read_config("w_config.json",
                    "{\"model_type\": \"llama\", \"quantization_config\": {\"quant_algo\": \"W1\"}}");
    RT_ASSERT_FAILS(rt_model_dtype(&m, &dtype), RT_EFORMAT, "is none that can be forecast");
}

/* fp4 on a GPU without units for it: weights alone are of 4 bits. A dtype that is asked for stays. */
static void test_weight_only(void)
{
    struct rt_device device = {0};
    struct rt_model_source source;
    struct rt_settled_step settled;
    struct rt_step step = RT_STEP_NOT_GIVEN;
    rt_test_write("f_hf_quant_config.json", MODELOPT "\"NVFP4\"}}");
    rt_test_write("f_config.json", CONFIG);
    RT_ASSERT_OK(rt_model_source_find(rt_test_path("f_config.json"), &source));
    RT_ASSERT_OK(rt_device_named("H200", &device));
    RT_ASSERT_OK(rt_step_settle(&step, &source, &device, &settled));
    CU_ASSERT_EQUAL(settled.graph.dtype, RT_INT4);
    CU_ASSERT(settled.graph.weight_only);
    rt_settled_step_release(&settled);
    step.dtype = RT_FP4;
    RT_ASSERT_OK(rt_step_settle(&step, &source, &device, &settled));
    CU_ASSERT_EQUAL(settled.graph.dtype, RT_FP4);
    CU_ASSERT(!settled.graph.weight_only);
    rt_settled_step_release(&settled);
    step.dtype = RT_NOT_GIVEN;
    RT_ASSERT_OK(rt_device_named("B200", &device));
    RT_ASSERT_OK(rt_step_settle(&step, &source, &device, &settled));
    CU_ASSERT_EQUAL(settled.graph.dtype, RT_FP4);
    rt_settled_step_release(&settled);
}

RT_TESTS(RT_TEST(test_python_words), RT_TEST(test_beside), RT_TEST(test_refusals), RT_TEST(test_weight_only))
