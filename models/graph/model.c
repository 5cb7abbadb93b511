/* config.json to sizes, sizes to graphs. See model.h. */
#include "models/graph/model.h"
#include "base/file.h"
#include "base/status.h"
#include "models/graph/build.h"
#include "models/graph/architectures/config.h"
#include "models/graph/zoo.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SIZE       ((int64_t)1 << 31)
#define MOST_DIM        ((double)((int64_t)1 << 40)) /* rt_op_check's */
#define MOST_PARAMETERS 1e15                         /* a typing error, not a model */

/* clang-format off */
const struct rt_architecture *const rt_architectures[] = {
    &rt_gpt2,
    &rt_bert,
    &rt_opt,
    &rt_switch,
    &rt_t5,
    &rt_llama,
    &rt_mistral,
    &rt_qwen2,
    NULL,
};
/* clang-format on */

/* --- one key --- */

/* Hugging Face's attribute_map: the names that all its configs answer to. */
static const struct {
    const char *general, *key;
} other_names[] = {
    {"hidden_size", "n_embd"},
    {"hidden_size", "d_model"},
    {"num_hidden_layers", "n_layer"},
    {"num_hidden_layers", "num_layers"},
    {"num_attention_heads", "n_head"},
    {"num_attention_heads", "num_heads"},
    {"max_position_embeddings", "n_positions"},
    {"head_dim", "d_kv"},
};

static const char *other_name(const char *key)
{
    for (size_t i = 0; i < RT_COUNT(other_names); i++)
        if (strcmp(other_names[i].key, key) == 0)
            return other_names[i].general;
    return NULL;
}

/* Names as Hugging Face's ACT2FN has them; what differs is how many kernels run. */
static const struct {
    const char *name;
    enum rt_activation_kind kind;
} activations[] = {
    {"gelu", RT_ACT_GELU},          {"gelu_pytorch_tanh", RT_ACT_GELU},
    {"gelu_new", RT_ACT_GELU_TANH}, {"gelu_fast", RT_ACT_GELU_TANH},
    {"relu", RT_ACT_RELU},          {"silu", RT_ACT_SILU},
    {"swish", RT_ACT_SILU},
};

static int64_t *size_of(struct rt_model *model, const struct rt_config_key *key)
{
    return (int64_t *)((char *)model + key->offset);
}

static void set_fallback(struct rt_model *model, const struct rt_config_key *key)
{
    if (key->kind == RT_KEY_ACTIVATION)
        *(enum rt_activation_kind *)((char *)model + key->offset) = (enum rt_activation_kind)key->fallback;
    else
        *size_of(model, key) = key->fallback;
}

static int read_size(struct rt_model *model, const struct rt_config_key *key, const char *name,
                     const json_t *value, const char *where)
{
    int64_t least = key->kind == RT_KEY_COUNT0 ? 0 : 1;
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    int status = RT_OK;
    if (!json_is_integer(value) || json_integer_value(value) < least || json_integer_value(value) > MOST_SIZE)
        status = rt_fail(RT_EFORMAT,
                         "%s: \"%s\" is %.60s; it must be a whole number in %" PRId64 "..2^31, so correct it",
                         where, name, text != NULL ? text : "unreadable", least);
    else
        *size_of(model, key) = json_integer_value(value);
    free(text);
    return status;
}

static int read_boolean(struct rt_model *model, const struct rt_config_key *key, const char *name,
                        const json_t *value, const char *where)
{
    if (!json_is_boolean(value))
        return rt_fail(RT_EFORMAT, "%s: \"%s\" must be true or false; correct it", where, name);
    *size_of(model, key) = json_is_true(value);
    return RT_OK;
}

/* T5 writes "gated-gelu" where two products share the activation; its GELU is the tanh form then. */
static int read_activation(struct rt_model *model, const struct rt_config_key *key, const char *name,
                           const json_t *value, const char *where)
{
    const char *text = json_string_value(value);
    if (text == NULL)
        return rt_fail(RT_EFORMAT, "%s: \"%s\" must be the name of an activation, such as \"relu\"", where,
                       name);
    bool gated = strncmp(text, "gated-", 6) == 0;
    const char *plain = gated ? text + 6 : text;
    if (gated && strcmp(plain, "gelu") == 0)
        plain = "gelu_new";
    for (size_t i = 0; i < RT_COUNT(activations); i++) {
        if (strcmp(activations[i].name, plain) != 0)
            continue;
        *(enum rt_activation_kind *)((char *)model + key->offset) = activations[i].kind;
        if (gated)
            model->gated = 1;
        return RT_OK;
    }
    return rt_fail(RT_EFORMAT,
                   "%s: \"%s\" is \"%.60s\", an activation that is not known here; known are gelu, gelu_new, "
                   "gelu_fast, gelu_pytorch_tanh, relu, silu and swish",
                   where, name, text);
}

static int read_key(struct rt_model *model, const struct rt_config_key *key, const json_t *root,
                    const char *where)
{
    const char *name = key->key, *general = other_name(key->key);
    const json_t *value = json_object_get(root, name);
    if ((value == NULL || json_is_null(value)) && general != NULL)
        value = json_object_get(root, name = general);
    if (value == NULL || json_is_null(value)) {
        if (!key->required)
            return RT_OK;
        return rt_fail(RT_EFORMAT, "%s: \"%s\"%s%s%s is missing, and a %s model needs it; add it", where,
                       key->key, general != NULL ? " (or \"" : "", general != NULL ? general : "",
                       general != NULL ? "\")" : "", model->architecture->model_type);
    }
    switch (key->kind) {
    case RT_KEY_BOOLEAN:
        return read_boolean(model, key, name, value, where);
    case RT_KEY_ACTIVATION:
        return read_activation(model, key, name, value, where);
    default:
        return read_size(model, key, name, value, where);
    }
}

/* --- which architecture --- */

/* "GPT2LMHeadModel" is a class of model_type "gpt2", "SwitchTransformersForConditionalGeneration" of
 * "switch_transformers"; "Qwen2MoeForCausalLM" is none of "qwen2". */
static bool is_class_of(const char *class, const char *model_type)
{
    for (; *model_type != '\0'; model_type++)
        if (*model_type != '_' && tolower((unsigned char)*class ++) != tolower((unsigned char)*model_type))
            return false;
    static const char *const heads[] = {"For", "LMHead", "Model", "DoubleHeads"};
    for (size_t i = 0; i < RT_COUNT(heads); i++)
        if (strncmp(class, heads[i], strlen(heads[i])) == 0)
            return true;
    return false;
}

static char *known_architectures(void)
{
    char *list = rt_strdup("");
    for (size_t i = 0; rt_architectures[i] != NULL; i++) {
        char *longer = rt_format("%s%s%s (%s)", list, i > 0 ? "; " : "", rt_architectures[i]->model_type,
                                 rt_architectures[i]->what);
        free(list);
        list = longer;
    }
    return list;
}

static int find_architecture(const json_t *root, const char *where, const struct rt_architecture **out)
{
    const char *type = json_string_value(json_object_get(root, "model_type"));
    const char *class = json_string_value(json_array_get(json_object_get(root, "architectures"), 0));
    for (size_t i = 0; rt_architectures[i] != NULL; i++) {
        const char *known = rt_architectures[i]->model_type;
        if (type != NULL ? strcmp(type, known) == 0 : class != NULL && is_class_of(class, known)) {
            *out = rt_architectures[i];
            return RT_OK;
        }
    }
    char *known = known_architectures();
    int status;
    if (type != NULL || class != NULL)
        status = rt_fail(RT_ENOTFOUND, "%s: \"%.60s\" is no architecture that is known here; known are %s",
                         where, type != NULL ? type : class, known);
    else
        status = rt_fail(RT_EFORMAT, "%s: \"model_type\" is missing; give one of %s", where, known);
    free(known);
    return status;
}

/* --- the whole config --- */

/* A product of sizes that kernels are launched with. */
static int check_product(int64_t a, int64_t b, const char *what, const char *where)
{
    if ((double)a * (double)b <= (double)MOST_SIZE)
        return RT_OK;
    return rt_fail(RT_EFORMAT, "%s: %s is %.3g; it may be 2^31 at most, so correct its factors", where, what,
                   (double)a * (double)b);
}

/* What one key alone does not tell. */
static int check_sizes(const struct rt_model *model, const char *where)
{
    int status = check_product(model->heads, model->head_dim, "the number of heads times their width", where);
    if (status == RT_OK)
        status = check_product(model->inner, 1, "the inner width of the feed-forward layers", where);
    if (status == RT_OK)
        status = check_product(model->experts, model->capacity, "the number of experts times their capacity",
                               where);
    if (status != RT_OK)
        return status;
    double parameters = rt_model_parameters(model);
    if (!(parameters < MOST_PARAMETERS))
        return rt_fail(RT_EFORMAT,
                       "%s: these sizes make %.3g parameters, more than any model has; look for a typing "
                       "error in the hidden, inner and vocabulary sizes and the number of layers",
                       where, parameters);
    return RT_OK;
}

int rt_model_from_json(const json_t *root, const char *where, struct rt_model *out)
{
    if (!json_is_object(root))
        return rt_fail(RT_EFORMAT, "%s: a config.json holds one JSON object", where);
    struct rt_model model = {0};
    int status = find_architecture(root, where, &model.architecture);
    if (status != RT_OK)
        return status;
    const struct rt_config_key *keys = model.architecture->keys;
    for (const struct rt_config_key *key = keys; key->key != NULL; key++)
        set_fallback(&model, key);
    for (const struct rt_config_key *key = keys; key->key != NULL && status == RT_OK; key++)
        status = read_key(&model, key, root, where);
    if (status == RT_OK)
        status = model.architecture->complete(&model, where);
    if (status == RT_OK)
        status = check_sizes(&model, where);
    if (status == RT_OK)
        *out = model;
    return status;
}

int rt_model_load(const char *path, struct rt_model *out)
{
    char *text;
    size_t size;
    int status = rt_file_read(path, 1 << 20, &text, &size);
    if (status != RT_OK)
        return status;
    json_error_t error;
    json_t *root = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    struct rt_model model;
    if (root == NULL)
        status = rt_fail(RT_EFORMAT, "%s:%d:%d: not JSON: %s", path, error.line, error.column, error.text);
    else
        status = rt_model_from_json(root, path, &model);
    json_decref(root);
    free(text);
    if (status != RT_OK)
        return status;
    size_t length = strlen(path), most = sizeof model.name - 1; /* the end says more than the beginning */
    snprintf(model.name, sizeof model.name, "%s", path + (length > most ? length - most : 0));
    *out = model;
    return RT_OK;
}

/* --- graphs --- */

static int check_option(const char *option, int64_t value)
{
    if (value >= 1 && value <= MOST_SIZE)
        return RT_OK;
    return rt_fail(RT_EUSAGE, "--%s is %" PRId64 "; it must lie in 1..2^31", option, value);
}

/* Every device holds whole heads, and whole key-value heads or a copy of one. */
static bool divides_heads(const struct rt_model *model, int64_t parts)
{
    return model->heads % parts == 0 && (model->kv_heads % parts == 0 || parts % model->kv_heads == 0);
}

static int check_tensor_parallel(const struct rt_model *model, int64_t parts)
{
    if (parts >= 1 && parts <= model->heads && divides_heads(model, parts))
        return RT_OK;
    char list[128] = "1";
    for (int64_t p = 2; p <= model->heads && p <= 4096; p++)
        if (divides_heads(model, p) && strlen(list) + 8 < sizeof list)
            snprintf(list + strlen(list), sizeof list - strlen(list), ", %" PRId64, p);
    return rt_fail(RT_EUSAGE,
                   "--tp %" PRId64 " does not divide the %" PRId64 " heads (%" PRId64
                   " of keys and values) of %s; give one of %s",
                   parts, model->heads, model->kv_heads, model->name, list);
}

/* Builders multiply in 64 bits: what they multiply stays below 2^62 by this, and check_kernels looks at the
 * dims that come out. */
static int check_volume(const struct rt_model *model, const struct rt_graph_options *options)
{
    bool decode = options->step == RT_STEP_DECODE;
    double batch = (double)options->batch, heads = (double)model->heads, head_dim = (double)model->head_dim;
    double keys = decode ? (double)options->context + 1 : (double)options->sequence;
    double rows = batch * (decode ? 1 : keys);
    double widest = fmax(fmax((double)model->hidden, (double)model->inner),
                         fmax((double)model->vocab, fmax(heads * head_dim, keys)));
    widest = fmax(widest, fmax((double)model->experts * (double)model->capacity, heads * keys));
    if (batch * heads * keys <= MOST_DIM && keys * head_dim <= MOST_DIM && rows * widest <= 0x1p60)
        return RT_OK;
    return rt_fail(RT_EUSAGE,
                   "--batch %" PRId64 " with --%s %" PRId64
                   " is more than the kernels of %s can be counted for (2^40 rows); give less of either",
                   options->batch, decode ? "context" : "seq", decode ? options->context : options->sequence,
                   model->name);
}

static int check_options(const struct rt_model *model, const struct rt_graph_options *options)
{
    int status = check_option("batch", options->batch);
    if (status == RT_OK && options->step == RT_STEP_DECODE)
        status = check_option("context", options->context);
    else if (status == RT_OK)
        status = check_option("seq", options->sequence);
    if (status == RT_OK)
        status = check_tensor_parallel(model, options->tensor_parallel);
    if (status == RT_OK)
        status = check_volume(model, options);
    return status;
}

static int check_kernels(const struct rt_model *model, const struct rt_graph *graph)
{
    const struct rt_graph_options *options = &graph->options;
    bool decode = options->step == RT_STEP_DECODE;
    for (size_t k = 0; k < graph->kernel_count; k++)
        if (rt_op_check((enum rt_op_id)graph->kernels[k].call.op, graph->kernels[k].call.dim) != RT_OK)
            return rt_fail_context(RT_EUSAGE,
                                   "%s with --batch %" PRId64 " and --%s %" PRId64
                                   " is too large, give less of either",
                                   model->name, options->batch, decode ? "context" : "seq",
                                   decode ? options->context : options->sequence);
    if (decode && !(graph->cache > 0))
        return rt_fail(RT_EUSAGE,
                       "%s keeps no keys and values, so it does not decode token by token; use --mode "
                       "inference",
                       model->name);
    return RT_OK;
}

int rt_graph_build(const struct rt_model *model, const struct rt_graph_options *options, struct rt_graph *out)
{
    int status = check_options(model, options);
    if (status != RT_OK)
        return status;
    struct rt_graph graph;
    rt_graph_init(&graph, options);
    model->architecture->build(model, &graph);
    graph.classes = graph.nodes[graph.node_count - 1].outputs;
    rt_build_optimizer(&graph);
    status = check_kernels(model, &graph);
    if (status != RT_OK) {
        rt_graph_release(&graph);
        return status;
    }
    if (options->fusion)
        rt_graph_fuse(&graph);
    *out = graph;
    return RT_OK;
}

bool rt_model_overlong(const struct rt_model *model, const struct rt_graph_options *options)
{
    int64_t last = options->step == RT_STEP_DECODE ? options->context + 1 : options->sequence;
    return model->positions > 0 && last > model->positions; /* relative positions have no end */
}

double rt_model_parameters(const struct rt_model *model)
{
    struct rt_graph_options one = {.batch = 1, .sequence = 1, .tensor_parallel = 1};
    struct rt_graph graph;
    struct rt_graph_totals totals;
    rt_graph_init(&graph, &one);
    model->architecture->build(model, &graph);
    rt_graph_totals(&graph, &totals);
    rt_graph_release(&graph);
    return totals.parameters;
}
