/* The dtype of a config.json, and what its "quantization_config" makes of it. See config.h.
 *
 * Methods are named as transformers' QuantizationMethod and vLLM's registry name them; what products run in
 * follows from each method's own keys. */
#include "models/networks/config.h"
#include "base/status.h"
#include "base/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static const char *text_of(const json_t *object, const char *key)
{
    const char *text = json_string_value(json_object_get(object, key));
    return text != NULL ? text : "";
}

static int64_t integer_of(const json_t *object, const char *key, int64_t fallback)
{
    const json_t *value = json_object_get(object, key);
    return json_is_integer(value) ? json_integer_value(value) : fallback;
}

enum { UNKNOWN = -1 };

/* DeepSeek's: one scale a block of weights where there is a block. */
static int of_fp8(const json_t *config)
{
    return json_is_array(json_object_get(config, "weight_block_size")) ? RT_FP8_BLOCK : RT_FP8;
}

static int of_fbgemm(const json_t *config)
{
    (void)config;
    return RT_FP8;
}

/* Weights that are multiplied in 16 bits. */
static int of_weights(const json_t *config)
{
    int64_t bits = integer_of(config, "bits", integer_of(config, "w_bit", 4));
    return bits == 4 ? RT_INT4 : bits == 8 ? RT_INT8_WO : UNKNOWN;
}

static int of_mxfp4(const json_t *config)
{
    (void)config;
    return RT_MXFP4;
}

/* ModelOpt's names. Weights of NVFP4 beside inputs of 16 bits are multiplied as those of int4 are, by the
 * same kernels (vLLM's Marlin). */
static int of_algorithm(const char *name)
{
    static const struct {
        const char *name;
        enum rt_dtype dtype;
    } rows[] = {{"FP8", RT_FP8},
                {"FP8_PER_CHANNEL_PER_TOKEN", RT_FP8},
                {"FP8_PB_WO", RT_FP8_BLOCK},
                {"MXFP8", RT_FP8_BLOCK},
                {"NVFP4", RT_FP4},
                {"NVFP4_AWQ", RT_FP4},
                {"W4A16_NVFP4", RT_INT4},
                {"W4A16_AWQ", RT_INT4},
                {"W4A8_AWQ", RT_W4AFP8},
                {"W4A16_MXFP4", RT_MXFP4},
                {"W4A8_MXFP4_MXFP8", RT_MXFP4_MXFP8}};
    for (size_t i = 0; i < RT_COUNT(rows); i++)
        if (strcmp(rows[i].name, name) == 0)
            return rows[i].dtype;
    return UNKNOWN;
}

/* Experts that tokens choose, of which most weights are. */
static bool names_experts(const char *module)
{
    return strstr(module, "experts") != NULL && strstr(module, "shared_expert") == NULL;
}

static bool names_feed_forward(const char *module)
{
    return strstr(module, "mlp") != NULL || strstr(module, "ffn") != NULL || names_experts(module);
}

/* "quantized_layers" of a checkpoint of mixed precision names each module's: the dtype that most of those
 * which `counts` accepts have. */
static int most_common(const json_t *modules, bool (*counts)(const char *module), bool accepted)
{
    int64_t count[RT_DTYPE_COUNT] = {0};
    const char *name;
    json_t *module;
    int most = UNKNOWN;
    json_object_foreach((json_t *)modules, name, module)
    {
        int dtype = of_algorithm(text_of(module, "quant_algo"));
        if (dtype == UNKNOWN || counts(name) != accepted)
            continue;
        count[dtype]++;
        if (most == UNKNOWN || count[dtype] > count[most])
            most = dtype;
    }
    return most;
}

/* Of mixed precision that of the feed-forward, which has most weights, else that of the rest. */
static int of_modelopt(const json_t *config)
{
    const json_t *modules = json_object_get(config, "quantized_layers");
    if (strcmp(text_of(config, "quant_algo"), "MIXED_PRECISION") != 0)
        return of_algorithm(text_of(config, "quant_algo"));
    int dtype = most_common(modules, names_feed_forward, true);
    return dtype != UNKNOWN ? dtype : most_common(modules, names_feed_forward, false);
}

/* One group of layers of compressed-tensors: numbers of `bits` of weights and of inputs. */
static int of_group(const json_t *group)
{
    const json_t *weights = json_object_get(group, "weights"),
                 *inputs = json_object_get(group, "input_activations");
    bool floats = strcmp(text_of(weights, "type"), "float") == 0;
    int64_t bits = integer_of(weights, "num_bits", 0), input_bits = integer_of(inputs, "num_bits", 16);
    if (bits == 8 && input_bits == 8 && floats)
        return strcmp(text_of(weights, "strategy"), "block") == 0 ? RT_FP8_BLOCK : RT_FP8;
    if (bits == 8 && input_bits == 8)
        return RT_INT8;
    if (bits == 8 && input_bits == 16)
        return RT_INT8_WO;
    if (bits == 4 && input_bits == 8 && !floats && strcmp(text_of(inputs, "type"), "float") == 0)
        return RT_W4AFP8;
    if (bits == 4 && input_bits == 4 && floats && integer_of(weights, "group_size", 16) == 16)
        return RT_FP4;
    if (bits == 4 && input_bits == 16 && floats)
        return RT_MXFP4;
    return bits == 4 && input_bits == 16 ? RT_INT4 : UNKNOWN;
}

static int of_compressed_tensors(const json_t *config)
{
    const char *key;
    json_t *group;
    int dtype = UNKNOWN, groups = 0;
    json_object_foreach(json_object_get(config, "config_groups"), key, group)
    {
        int other = of_group(group);
        dtype = groups++ == 0 || other == dtype ? other : UNKNOWN; /* layers of several kinds */
    }
    return dtype;
}

static const struct {
    const char *method;
    int (*dtype)(const json_t *config);
} methods[] = {
    {"fp8", of_fp8},           {"fbgemm_fp8", of_fbgemm}, {"gptq", of_weights},
    {"awq", of_weights},       {"mxfp4", of_mxfp4},       {"compressed-tensors", of_compressed_tensors},
    {"modelopt", of_modelopt},
};

static int dtype_of_quantisation(const json_t *config)
{
    const char *method = text_of(config, "quant_method");
    if (method[0] == '\0' && text_of(config, "quant_algo")[0] != '\0')
        method = "modelopt"; /* which alone names an algorithm */
    for (size_t i = 0; i < RT_COUNT(methods); i++)
        if (strcmp(methods[i].method, method) == 0)
            return methods[i].dtype(config);
    return UNKNOWN;
}

/* "gptq" with "bits" of 3, ... */
static void refuse_quantisation(const json_t *config, const char *where, struct rt_model *model)
{
    char *text = json_dumps(config, JSON_COMPACT);
    const char *method = text_of(config, "quant_method");
    snprintf(
        model->unknown_dtype, sizeof model->unknown_dtype,
        "%s: \"quantization_config\" of method \"%.30s\" (%.60s...) is none that can be forecast; give the "
        "dtype that its products run in with %s, such as int4, fp8 or bf16",
        where, method, text != NULL ? text : "unreadable", rt_field_words("dtype").text);
    free(text);
}

/* "bfloat16", "torch.bfloat16" */
static int find_dtype(const char *name)
{
    return rt_dtype_find(strncmp(name, "torch.", 6) == 0 ? name + 6 : name);
}

/* Cached keys and values: "kv_cache_scheme" of compressed-tensors, "kv_cache_quant_algo" of modelopt; fp8 in
 * both. */
static int64_t kv_bits_of(const json_t *config)
{
    const json_t *scheme = json_object_get(config, "kv_cache_scheme");
    if (json_is_object(scheme))
        return integer_of(scheme, "num_bits", 0) == 8 ? 8 : 0;
    if (strcmp(text_of(config, "kv_cache_scheme"), "FP8") == 0)
        return 8;
    return strcmp(text_of(config, "kv_cache_quant_algo"), "FP8") == 0 ? 8 : 0;
}

/* What the experts' products run in where a config says that they differ: "expert_dtype" of DeepSeek-V4,
 * "quantized_layers" of ModelOpt. */
static int experts_dtype_of(const json_t *root, const json_t *config)
{
    if (strcmp(text_of(root, "expert_dtype"), "fp4") == 0) /* with a scale for 32, as MXFP4 has */
        return strcmp(text_of(config, "quant_algo"), "MIXED_PRECISION") == 0 ? RT_FP4 : RT_MXFP4_MXFP8;
    return most_common(json_object_get(config, "quantized_layers"), names_experts, true);
}

/* ---- parts that are left in 16 bits ---- */

static bool names_shared_experts(const char *module)
{
    return strstr(module, "shared_expert") != NULL && !rt_ends_with(module, "gate");
}

/* Products, not norms; the indexer's are left out of its own accord. */
static bool names_attention(const char *module)
{
    bool mixer = strstr(module, "mixer.") != NULL && rt_ends_with(module, "_proj"); /* Nemotron-H */
    return (strstr(module, "attn") != NULL || mixer) && strstr(module, "norm") == NULL &&
           strstr(module, "index") == NULL;
}

static bool names_dense_feed_forward(const char *module)
{
    bool whole = rt_ends_with(module, "mlp") || rt_ends_with(module, "mlp*");
    return strstr(module, "expert") == NULL &&
           (whole || (strstr(module, "mlp") != NULL && strstr(module, "_proj") != NULL));
}

/* The number in "model.layers.17.self_attn*", -1 where all layers are meant. */
static int64_t layer_of(const char *module)
{
    const char *digit = strpbrk(module, "0123456789");
    return digit != NULL && strstr(module, "layers.") != NULL ? strtoll(digit, NULL, 10) : -1;
}

/* Are modules that `names` accepts left out of the quantisation of at least half of the layers? Names of a
 * layer follow one another. */
static bool is_left_out(const json_t *modules, bool (*names)(const char *module), int64_t layers)
{
    int64_t count = 0, last = -1;
    size_t i;
    json_t *module;
    json_array_foreach(modules, i, module)
    {
        const char *name = json_string_value(module);
        if (name == NULL || !names(name))
            continue;
        int64_t layer = layer_of(name);
        if (layer < 0 || strstr(name, "mixer.") != NULL)
            return true; /* all; of a hybrid's few layers with attention each is named */
        count += layer != last;
        last = layer;
    }
    return count > 0 && 2 * count >= layers;
}

static unsigned wide_parts_of(const json_t *config, int64_t layers)
{
    static const char *const keys[] = {"ignore", "exclude_modules", "modules_to_not_convert"};
    static bool (*const names[])(const char *module) = {[RT_PART_ATTENTION] = names_attention,
                                                        [RT_PART_FEED_FORWARD] = names_dense_feed_forward,
                                                        [RT_PART_SHARED_EXPERTS] = names_shared_experts};
    unsigned parts = 0;
    for (size_t k = 0; k < RT_COUNT(keys); k++)
        for (size_t part = 0; part < RT_COUNT(names); part++)
            if (is_left_out(json_object_get(config, keys[k]), names[part], layers))
                parts |= 1u << part;
    return parts;
}

void rt_config_read_dtype(const json_t *root, const json_t *part, const char *where, struct rt_model *model)
{
    const json_t *quantisation = json_object_get(root, "quantization_config"),
                 *dtype = json_object_get(root, "dtype");
    if (!json_is_object(quantisation))
        quantisation = json_object_get(part, "quantization_config");
    if (dtype == NULL || json_is_null(dtype))
        dtype = json_object_get(root, "torch_dtype"); /* its name before transformers 4.56 */
    const char *name = json_string_value(dtype);
    model->dtype = UNKNOWN;
    model->experts_dtype = UNKNOWN;
    model->fp16 = name != NULL && find_dtype(name) == RT_FP16;
    if (json_is_object(quantisation)) {
        model->dtype = dtype_of_quantisation(quantisation);
        model->experts_dtype = experts_dtype_of(part, quantisation);
        model->kv_bits = kv_bits_of(quantisation);
        model->wide_parts = wide_parts_of(quantisation, model->layers);
        if (model->dtype == UNKNOWN)
            refuse_quantisation(quantisation, where, model);
    } else if (name != NULL && strcmp(name, "auto") != 0) {
        model->dtype = find_dtype(name);
        if (model->dtype == UNKNOWN)
            snprintf(model->unknown_dtype, sizeof model->unknown_dtype,
                     "%s: the dtype \"%.40s\" is not known here; give another with %s, such as bf16", where,
                     name, rt_field_words("dtype").text);
    } else if (dtype != NULL && !json_is_null(dtype) && name == NULL) {
        snprintf(model->unknown_dtype, sizeof model->unknown_dtype,
                 "%s: the dtype is no name of one; correct it, or give another with %s, such as bf16", where,
                 rt_field_words("dtype").text);
    }
}

int rt_model_dtype(const struct rt_model *model, enum rt_dtype *out)
{
    if (model->unknown_dtype[0] != '\0')
        return rt_fail(RT_EFORMAT, "%s", model->unknown_dtype);
    *out = model->dtype < 0 ? RT_FP32 : (enum rt_dtype)model->dtype;
    return RT_OK;
}
