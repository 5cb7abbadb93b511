/* config.json to sizes: keys as the architecture's row has them. See config.h. */
#include "models/graph/config.h"
#include "base/file.h"
#include "base/status.h"
#include "base/text.h"
#include "datasets/run_attributes.h"
#include "models/graph/architectures/architecture.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_SIZE       ((int64_t)1 << 31)
#define MOST_PARAMETERS 1e15  /* a typing error, not a model */
#define MOST_LAYERS     65536 /* of an encoder or decoder: memory is walked layer by layer */
#define MOST_EXPERTS    4096  /* Switch-C has 2048; each is a few nodes of the graph */
#define MOST_STEP       64    /* layers that are nodes of one block */
#define SPARSE_LAYERS   3     /* of a Switch Transformer whose config has no number of them */

/* --- one key --- */

/* Names as Hugging Face's ACT2FN has them; what differs is how many kernels run. */
static const struct {
    const char *name;
    enum rt_activation_kind kind;
} activations[] = {
    {"gelu", RT_ACT_GELU},
    {"gelu_pytorch_tanh", RT_ACT_GELU},
    {"gelu_new", RT_ACT_GELU_TANH},
    {"gelu_fast", RT_ACT_GELU_TANH},
    {"relu", RT_ACT_RELU},
    {"silu", RT_ACT_SILU},
    {"swish", RT_ACT_SILU},
    {"relu2", RT_ACT_RELU_SQUARED},
    {"quick_gelu", RT_ACT_QUICK_GELU},
    {"xielu", RT_ACT_XIELU},
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
    bool none = key->kind == RT_KEY_COUNT0 || key->kind == RT_KEY_PERIOD;
    int64_t least = key->kind == RT_KEY_OPTIONAL ? -1 : !none;
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

static int read_sizes(struct rt_model *model, const struct rt_config_key *key, const char *name,
                      const json_t *value, const char *where)
{
    struct rt_sizes *sizes = (struct rt_sizes *)size_of(model, key);
    size_t count = json_array_size(value);
    if (count < 1 || count > RT_MOST_CONVOLUTIONS)
        return rt_fail(RT_EFORMAT, "%s: \"%s\" must be a list of 1 to %d whole numbers; correct it", where,
                       name, RT_MOST_CONVOLUTIONS);
    sizes->count = (int64_t)count;
    for (size_t i = 0; i < count; i++) {
        json_int_t size = json_integer_value(json_array_get(value, i));
        if (size < 1 || size > MOST_SIZE)
            return rt_fail(RT_EFORMAT, "%s: \"%s\" must hold whole numbers in 1..2^31; correct number %zu",
                           where, name, i + 1);
        sizes->of[i] = size;
    }
    return RT_OK;
}

static int read_length(struct rt_model *model, const struct rt_config_key *key, const char *name,
                       const json_t *value, const char *where)
{
    if (!json_is_array(value))
        return rt_fail(RT_EFORMAT, "%s: \"%s\" must be a list; correct it", where, name);
    *size_of(model, key) = (int64_t)json_array_size(value);
    return RT_OK;
}

/* A share of a head, in thousandths. */
static int read_share(struct rt_model *model, const struct rt_config_key *key, const char *name,
                      const json_t *value, const char *where)
{
    double share = json_number_value(value);
    if (!json_is_number(value) || !(share >= 0 && share <= 1))
        return rt_fail(RT_EFORMAT, "%s: \"%s\" must be a number in 0..1; correct it", where, name);
    *size_of(model, key) = llround(1000 * share);
    return RT_OK;
}

static int read_present(struct rt_model *model, const struct rt_config_key *key, const char *name,
                        const json_t *value, const char *where)
{
    if (!json_is_number(value))
        return rt_fail(RT_EFORMAT, "%s: \"%s\" must be a number or null; correct it", where, name);
    *size_of(model, key) = json_number_value(value) != 0;
    return RT_OK;
}

/* Images and patches are squares here. */
static int read_side(struct rt_model *model, const struct rt_config_key *key, const char *name,
                     const json_t *value, const char *where)
{
    const json_t *first = json_array_get(value, 0);
    if (!json_is_array(value))
        return read_size(model, key, name, value, where);
    if (json_array_size(value) != 2 || !json_equal(first, json_array_get(value, 1)))
        return rt_fail(RT_EFORMAT, "%s: \"%s\" must be a whole number, or two that are equal; correct it",
                       where, name);
    return read_size(model, key, name, first, where);
}

/* Among "p2c|c2p", or the texts of a list. */
static int read_named(struct rt_model *model, const struct rt_config_key *key, const char *name,
                      const json_t *value, const char *where)
{
    size_t i;
    const json_t *item;
    bool named = json_is_string(value) && rt_config_is_one_of(key->name, json_string_value(value));
    if (!json_is_string(value) && !json_is_array(value))
        return rt_fail(RT_EFORMAT, "%s: \"%s\" must be a text or a list of texts; correct it", where, name);
    json_array_foreach(value, i, item) named |=
        json_is_string(item) && rt_config_is_one_of(key->name, json_string_value(item));
    *size_of(model, key) = named;
    return RT_OK;
}

/* Words for the kinds of layers in a list: those that count, and the others. */
struct kinds {
    const char *counted, *others;
};
static const struct kinds full_kinds = {"full_attention|global", "sliding_attention|chunked_attention|local"};
static const struct kinds dense_kinds = {"dense", "sparse"};

/* "layer_types": ["sliding_attention", "full_attention", ...]; GPT-Neo writes [[["global", "local"], 12]] for
 * twelve times both. */
static int count_kinds(const json_t *value, const struct kinds *kinds, const char *name, const char *where,
                       int depth, int64_t *count)
{
    const char *text = json_string_value(value);
    const json_t *times = json_array_get(value, 1);
    int64_t before = *count;
    int status = RT_OK;
    if (depth > 0 && json_array_size(value) == 2 && json_is_integer(times)) {
        status = count_kinds(json_array_get(value, 0), kinds, name, where, depth + 1, count);
        int64_t repeated = json_integer_value(times);
        *count = before + (*count - before) * (repeated >= 0 && repeated <= MOST_LAYERS ? repeated : 0);
        return status;
    }
    for (size_t i = 0; i < json_array_size(value) && status == RT_OK && depth < 3; i++)
        status = count_kinds(json_array_get(value, i), kinds, name, where, depth + 1, count);
    if (json_is_array(value) && depth < 3)
        return status;
    if (text == NULL ||
        (!rt_config_is_one_of(text, kinds->counted) && !rt_config_is_one_of(text, kinds->others)))
        return rt_fail(RT_EFORMAT,
                       "%s: \"%s\" names \"%.40s\", a kind of layer that is not known here; known are %s|%s",
                       where, name, text != NULL ? text : "no text", kinds->counted, kinds->others);
    *count += rt_config_is_one_of(text, kinds->counted);
    return RT_OK;
}

static int read_kinds(struct rt_model *model, const struct rt_config_key *key, const char *name,
                      const json_t *value, const char *where)
{
    int64_t count = 0;
    if (!json_is_array(value))
        return rt_fail(RT_EFORMAT, "%s: \"%s\" must be a list; correct it", where, name);
    int status =
        count_kinds(value, key->kind == RT_KEY_FULL ? &full_kinds : &dense_kinds, name, where, 0, &count);
    if (status == RT_OK)
        *size_of(model, key) = count;
    return status;
}

/* "no_rope_layers": [1, 1, 1, 0, ...] */
static int read_zeros(struct rt_model *model, const struct rt_config_key *key, const char *name,
                      const json_t *value, const char *where)
{
    size_t i;
    const json_t *item;
    int64_t zeros = 0;
    if (!json_is_array(value))
        return rt_fail(RT_EFORMAT, "%s: \"%s\" must be a list; correct it", where, name);
    json_array_foreach(value, i, item)
    {
        zeros += json_is_false(item) || (json_is_integer(item) && json_integer_value(item) == 0);
    }
    if (json_array_size(value) > 0)
        *size_of(model, key) = zeros;
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
    bool gated = strcmp(key->key, "feed_forward_proj") == 0 && strncmp(text, "gated-", 6) == 0;
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
                   "gelu_fast, gelu_pytorch_tanh, quick_gelu, relu, relu2, silu, swish and xielu",
                   where, name, text);
}

/* "hidden_size = 768, vocab_size = 30522": what transformers takes for main sizes that a config lacks. */
static void note_default(struct rt_model *model, const struct rt_config_key *key)
{
    size_t used = strlen(model->defaulted);
    snprintf(model->defaulted + used, sizeof model->defaulted - used, "%s%.*s = %" PRId64,
             used > 0 ? ", " : "", (int)strcspn(key->key, "|"), key->key, key->fallback);
}

/* "vision_config.image_size" is in an object of its own. */
static const json_t *value_of(const json_t *root, const char *name)
{
    char object[64];
    const char *dot = strchr(name, '.');
    if (dot == NULL)
        return json_object_get(root, name);
    snprintf(object, sizeof object, "%.*s", (int)(dot - name), name);
    return json_object_get(json_object_get(root, object), dot + 1);
}

/* The first of a key's spellings that the config has, else the first of all. Rotary shares also stand among
 * the "rope_parameters" of newer configs. */
static const json_t *find_key(const struct rt_config_key *key, const json_t *root, char name[64])
{
    for (const char *next = key->key; *next != '\0';) {
        size_t length = strcspn(next, "|");
        snprintf(name, 64, "%.*s", (int)length, next);
        const json_t *value = value_of(root, name);
        if (value == NULL && key->kind == RT_KEY_SHARE)
            value = json_object_get(json_object_get(root, "rope_parameters"), name);
        if (value != NULL)
            return value;
        next += length + (next[length] == '|');
    }
    snprintf(name, 64, "%.*s", (int)strcspn(key->key, "|"), key->key);
    return NULL;
}

static int read_key(struct rt_model *model, const struct rt_config_key *key, const json_t *root,
                    const char *where)
{
    char spelling[64];
    const char *name = spelling, *general;
    if (key->key[0] == '\0')
        return RT_OK;
    const json_t *value = find_key(key, root, spelling);
    general = rt_config_other_name(spelling);
    if (key->kind == RT_KEY_PRESENT && json_is_null(value)) {
        *size_of(model, key) = 0;
        return RT_OK;
    }
    if (json_is_null(value) && key->null_derives) {
        *size_of(model, key) = -1;
        return RT_OK;
    }
    if ((value == NULL || json_is_null(value)) && general != NULL)
        value = json_object_get(root, name = general);
    if (value == NULL || json_is_null(value)) {
        if (key->main)
            note_default(model, key);
        return RT_OK;
    }
    switch (key->kind) {
    case RT_KEY_BOOLEAN:
        return read_boolean(model, key, name, value, where);
    case RT_KEY_SIZES:
        return read_sizes(model, key, name, value, where);
    case RT_KEY_LENGTH:
        return read_length(model, key, name, value, where);
    case RT_KEY_ACTIVATION:
        return read_activation(model, key, name, value, where);
    case RT_KEY_SHARE:
        return read_share(model, key, name, value, where);
    case RT_KEY_PRESENT:
        return read_present(model, key, name, value, where);
    case RT_KEY_SIDE:
        return read_side(model, key, name, value, where);
    case RT_KEY_NAMED:
        return read_named(model, key, name, value, where);
    case RT_KEY_FULL:
    case RT_KEY_DENSE:
        return read_kinds(model, key, name, value, where);
    case RT_KEY_PERIOD:
        if (!json_is_string(value))
            return read_size(model, key, name, value, where);
        *size_of(model, key) = (int64_t)json_string_length(value);
        return RT_OK;
    case RT_KEY_ZEROS:
        return read_zeros(model, key, name, value, where);
    default:
        return read_size(model, key, name, value, where);
    }
}

/* --- which architecture --- */

/* The head in the name of a class of transformers: "GPT2LMHeadModel" is "LMHeadModel" of model_type "gpt2",
 * "SwitchTransformersForConditionalGeneration" one of "switch_transformers". NULL for a class of another
 * model_type: "Qwen2MoeForCausalLM" is none of "qwen2". */
static const char *head_of_class(const char *class, const char *model_type)
{
    for (; *model_type != '\0'; model_type++) {
        if (strchr("_-", *model_type) != NULL)
            continue;
        class += *class == '_'; /* "Ernie4_5ForCausalLM" */
        if (tolower((unsigned char)*class ++) != tolower((unsigned char)*model_type))
            return NULL;
    }
    static const char *const heads[] = {"For", "LMHead", "Model", "DoubleHeads", "EncoderModel", "MTModel"};
    for (size_t i = 0; i < RT_COUNT(heads); i++)
        if (strncmp(class, heads[i], strlen(heads[i])) == 0)
            return class;
    return NULL;
}

static char *known_architectures(void)
{
    struct rt_text list = {0};
    for (size_t i = 0; rt_architectures[i] != NULL; i++)
        rt_text_item(&list, "; ", "%s (%s)", rt_architectures[i]->model_type, rt_architectures[i]->what);
    return rt_text_take(&list);
}

/* The row of a type, or of a type of models whose language part the row is. */
static const struct rt_architecture *row_of(const char *type, bool wrapper)
{
    for (size_t i = 0; type != NULL && rt_architectures[i] != NULL; i++) {
        const struct rt_architecture *row = rt_architectures[i];
        if (wrapper ? rt_config_is_one_of(type, row->wrappers)
                    : strcmp(type, row->model_type) == 0 || rt_config_is_one_of(type, row->aliases))
            return row;
    }
    return NULL;
}

/* Letters that two names have in common from the start. */
static size_t common_letters(const char *a, const char *b)
{
    size_t same = 0;
    while (a[same] != '\0' && tolower((unsigned char)a[same]) == tolower((unsigned char)b[same]))
        same++;
    return same;
}

/* The row whose type has most letters in common with a name from the start, and fewest behind them; NULL
 * where none has three. */
static const struct rt_architecture *nearest_by_name(const char *name)
{
    const struct rt_architecture *best = NULL;
    size_t least = SIZE_MAX;
    for (size_t i = 0; rt_architectures[i] != NULL; i++) {
        const char *known = rt_architectures[i]->model_type;
        size_t same = common_letters(known, name), distance = 1000 + 2 * (strlen(known) - same) - 4 * same;
        if (same >= 3 && distance < least) {
            least = distance;
            best = rt_architectures[i];
        }
    }
    return best;
}

/* How many keys of a config a row reads. */
static int common_keys(const struct rt_architecture *row, const json_t *root)
{
    int common = 0;
    for (const struct rt_config_key *key = row->keys; key->key != NULL; key++) {
        char name[64];
        bool found =
            find_key(key, root, name) != NULL ||
            (rt_config_other_name(name) != NULL && json_object_get(root, rt_config_other_name(name)) != NULL);
        common += found;
    }
    return common;
}

static const struct rt_architecture *nearest_by_keys(const json_t *root)
{
    const struct rt_architecture *best = row_of("llama", false);
    for (size_t i = 0; rt_architectures[i] != NULL; i++)
        if (common_keys(rt_architectures[i], root) > common_keys(best, root))
            best = rt_architectures[i];
    return best;
}

static int refuse_type(const char *type, const json_t *root, const char *where)
{
    const struct rt_architecture *near = nearest_by_name(type);
    const char *by = near != NULL ? "name" : "its keys";
    if (near == NULL)
        near = nearest_by_keys(root);
    return rt_fail(RT_ENOTFOUND,
                   "%s: \"%.60s\" is no architecture that is known here; the nearest by %s is %s, as "
                   "which --as %s reads it (`rooftile graph --types` lists all)",
                   where, type, by, near->model_type, near->model_type);
}

/* What its classes' names begin with. */
static const char *class_of(const struct rt_architecture *row)
{
    return row->class != NULL ? row->class : row->model_type;
}

/* Of a config without "model_type": the row of its class. */
static const struct rt_architecture *row_of_class(const char *class)
{
    for (size_t i = 0; class != NULL && rt_architectures[i] != NULL; i++)
        if (head_of_class(class, class_of(rt_architectures[i])) != NULL)
            return rt_architectures[i];
    return NULL;
}

static int find_architecture(const json_t *root, const char *where, const struct rt_architecture **out)
{
    const char *type = json_string_value(json_object_get(root, "model_type"));
    const char *class = json_string_value(json_array_get(json_object_get(root, "architectures"), 0));
    *out = type != NULL ? row_of(type, false) : row_of_class(class);
    if (*out != NULL)
        return RT_OK;
    if (type != NULL || class != NULL)
        return refuse_type(type != NULL ? type : class, root, where);
    char *known = known_architectures();
    int status = rt_fail(RT_EFORMAT, "%s: \"model_type\" is missing; give one of %s", where, known);
    free(known);
    return status;
}

/* Models of text and images keep the sizes of their decoder in an object of its own. */
static const json_t *text_of(const json_t *root)
{
    static const char *const names[] = {"text_config", "llm_config", "language_config"};
    if (row_of(json_string_value(json_object_get(root, "model_type")), false) != NULL)
        return root;
    for (size_t i = 0; i < RT_COUNT(names); i++)
        if (json_is_object(json_object_get(root, names[i])))
            return json_object_get(root, names[i]);
    return root;
}

/* Row and keys of the config, or of the language part of one whose type is another's: `part_of` is that type
 * then. */
static int find_part(const json_t *root, const char *where, struct rt_model *model, const json_t **part)
{
    const char *type = json_string_value(json_object_get(root, "model_type"));
    const struct rt_architecture *row = row_of(type, true);
    *part = text_of(root);
    bool typed = json_is_string(json_object_get(*part, "model_type"));
    if (*part == root ? row == NULL : row == NULL || typed) {
        int status = find_architecture(*part, where, &row);
        if (status != RT_OK)
            return status;
    }
    model->architecture = row;
    if (*part != root || row_of(type, true) == row)
        snprintf(model->part_of, sizeof model->part_of, "%s",
                 type != NULL ? type : "a model of several parts");
    return RT_OK;
}

/* --- the head --- */

static const char *const head_names[RT_MODEL_HEAD_COUNT] = {
    [RT_MODEL_HEAD_NONE] = "Model",
    [RT_MODEL_HEAD_SEQUENCE_CLASSES] = "ForSequenceClassification",
    [RT_MODEL_HEAD_TOKEN_CLASSES] = "ForTokenClassification",
    [RT_MODEL_HEAD_QUESTION] = "ForQuestionAnswering",
    [RT_MODEL_HEAD_MASKED_WORDS] = "ForMaskedLM",
    [RT_MODEL_HEAD_PRETRAINING] = "ForPreTraining",
    [RT_MODEL_HEAD_NEXT_SENTENCE] = "ForNextSentencePrediction",
    [RT_MODEL_HEAD_IMAGE_CLASSES] = "ForImageClassification",
    [RT_MODEL_HEAD_TEACHER] = "ForImageClassificationWithTeacher",
    [RT_MODEL_HEAD_PROJECTION] = "ModelWithProjection",
    [RT_MODEL_HEAD_ENCODER] = "EncoderModel",
    [RT_MODEL_HEAD_CTC] = "ForCTC",
};

/* What heads of models that read something else than text are called. */
static const struct {
    const char *name;
    enum rt_model_head head;
} other_heads[] = {
    {"ForAudioClassification", RT_MODEL_HEAD_SEQUENCE_CLASSES},
    {"ForAudioFrameClassification", RT_MODEL_HEAD_TOKEN_CLASSES},
};

/* Scores of words, of a row that has them: BERT's LMHeadModel has those of its ForMaskedLM; a decoder alone
 * (BartForCausalLM) is none of an encoder-decoder's. */
static bool scores_words(const char *name, const struct rt_architecture *row)
{
    static const char *const words[] = {"LMHeadModel", "ForConditionalGeneration", "MTModel"};
    bool found = strcmp(name, "ForCausalLM") == 0 && row->cross == NULL;
    for (size_t i = 0; i < RT_COUNT(words); i++)
        found |= strcmp(name, words[i]) == 0;
    return found && (row->heads & (1U << RT_MODEL_HEAD_WORDS | 1U << RT_MODEL_HEAD_MASKED_WORDS)) != 0;
}

static enum rt_model_head find_head(const char *name, const struct rt_architecture *row)
{
    if (scores_words(name, row))
        return row->heads & (1U << RT_MODEL_HEAD_WORDS) ? RT_MODEL_HEAD_WORDS : RT_MODEL_HEAD_MASKED_WORDS;
    for (size_t i = 0; i < RT_COUNT(other_heads); i++)
        if (strcmp(name, other_heads[i].name) == 0)
            name = head_names[other_heads[i].head];
    for (int head = 0; head < RT_MODEL_HEAD_COUNT; head++)
        if (head_names[head] != NULL && (row->heads & (1U << head)) && strcmp(name, head_names[head]) == 0)
            return (enum rt_model_head)head;
    return RT_MODEL_HEAD_OWN;
}

/* As transformers has it: of "id2label" where that is there, else "num_labels", else 2, BART's 3. */
static int read_labels(const json_t *root, const char *where, const struct rt_architecture *row,
                       int64_t *labels)
{
    const json_t *names = json_object_get(root, "id2label"), *count = json_object_get(root, "num_labels");
    *labels = row->labels > 0 ? row->labels : 2;
    if (json_is_object(names))
        *labels = (int64_t)json_object_size(names);
    else if (json_is_integer(count))
        *labels = json_integer_value(count);
    if (*labels < 1 || *labels > MOST_SIZE)
        return rt_fail(RT_EFORMAT,
                       "%s: the head has %" PRId64
                       " labels; it must have 1..2^31, so correct \"num_labels\" or \"id2label\"",
                       where, *labels);
    return RT_OK;
}

static int read_head(struct rt_model *model, const json_t *root, const char *where)
{
    const struct rt_architecture *row = model->architecture;
    const char *class = json_string_value(json_array_get(json_object_get(root, "architectures"), 0));
    int status = read_labels(root, where, row, &model->labels);
    if (status != RT_OK || class == NULL)
        return status;
    const char *name = head_of_class(class, class_of(row));
    model->head = name != NULL ? find_head(name, row) : RT_MODEL_HEAD_OWN;
    if (model->head != RT_MODEL_HEAD_OWN ||
        model->part_of[0] != '\0') /* the class of the whole is none of the part's */
        return RT_OK;
    struct rt_text known = {0};
    if (row->heads & (1U << RT_MODEL_HEAD_WORDS))
        rt_text_add(&known,
                    row->build == rt_build_encoder_decoder ? "ForConditionalGeneration" : "ForCausalLM");
    for (int head = 0; head < RT_MODEL_HEAD_COUNT; head++)
        if (head_names[head] != NULL && (row->heads & (1U << head)))
            rt_text_item(&known, ", ", "%s", head_names[head]);
    status =
        rt_fail(RT_EFORMAT,
                "%s: \"architectures\" names %.60s, a class that is not known here; of %s there are %s. Take "
                "\"architectures\" out for the usual one (docs/guide/predict.md)",
                where, class, row->what, known.text);
    rt_text_release(&known);
    return status;
}

/* --- what follows from several keys --- */

/* Latent attention: a head of queries and keys has columns without and with positions. */
static void complete_latent(struct rt_model *model)
{
    if (model->kv_rank > 0) {
        model->head_dim = model->nope_dim + model->rope_dim;
        model->rotary_dim = model->rope_dim;
    } else {
        model->value_dim = model->head_dim;
    }
    if (model->q_rank < 0)
        model->q_rank = 0;
}

static int complete_rotary(struct rt_model *model, const char *where)
{
    if (model->rotary_dim < 0)
        model->rotary_dim = model->head_dim * model->rotary_share / 1000;
    if (model->rotary_dim > model->head_dim)
        return rt_fail(RT_EFORMAT,
                       "%s: \"rotary_dim\" is %" PRId64 " of heads that are %" PRId64 " wide; correct either",
                       where, model->rotary_dim, model->head_dim);
    if (model->rotary_dim % 2 != 0)
        return rt_fail(RT_EFORMAT,
                       "%s: a head is %" PRId64 " wide, and rotary embedding turns pairs of %" PRId64
                       " of its columns; correct the hidden "
                       "size, the heads or \"head_dim\"",
                       where, model->head_dim, model->rotary_dim);
    return RT_OK;
}

static int complete_heads(struct rt_model *model, const char *where)
{
    if (model->kv_rank > 0)
        complete_latent(model);
    if (model->head_dim < 1) {
        if (model->hidden % model->heads != 0)
            return rt_fail(RT_EFORMAT,
                           "%s: %" PRId64 " heads do not divide the hidden size %" PRId64
                           "; correct either, or give \"head_dim\"",
                           where, model->heads, model->hidden);
        model->head_dim = model->hidden / model->heads;
    }
    if (model->kv_heads < 1)
        model->kv_heads = model->heads;
    if (model->heads % model->kv_heads != 0)
        return rt_fail(RT_EFORMAT,
                       "%s: %" PRId64 " key-value heads do not divide %" PRId64 " heads; correct either",
                       where, model->kv_heads, model->heads);
    if (model->decoder_heads > 0 && model->hidden % model->decoder_heads != 0)
        return rt_fail(RT_EFORMAT,
                       "%s: %" PRId64 " heads of the decoder do not divide the hidden size %" PRId64
                       "; correct either",
                       where, model->decoder_heads, model->hidden);
    complete_latent(model);
    return complete_rotary(model, where);
}

/* Which layers are sparse: those whose number leaves 1 when divided by the step. As in transformers the step
 * is what the config says, else layers / sparse layers. */
static int complete_step(int64_t *step, int64_t sparse, int64_t layers, const char *stack, const char *where)
{
    if (sparse > layers)
        return rt_fail(RT_EFORMAT,
                       "%s: \"num_sparse_%s_layers\" is %" PRId64 " of %" PRId64 " layers; correct either",
                       where, stack, sparse, layers);
    if (sparse < 0)
        sparse = SPARSE_LAYERS;
    if (*step < 0)
        *step = sparse == 0 ? 0 : layers / sparse;
    if (*step > MOST_STEP)
        return rt_fail(RT_EFORMAT,
                       "%s: one %s layer in %" PRId64 " is sparse; at most one in %d can be built here, so "
                       "correct \"%s_sparse_step\"",
                       where, stack, *step, MOST_STEP, stack);
    return RT_OK;
}

/* Of decoders: every `sparse_step`-th layer has experts, but for those listed as dense. */
static int complete_topk(struct rt_model *model, const char *where)
{
    int64_t step = model->sparse_step > 1 ? model->sparse_step : 1;
    if (model->topk > model->experts)
        return rt_fail(RT_EFORMAT,
                       "%s: each token goes to %" PRId64 " of %" PRId64
                       " experts; correct \"num_experts_per_tok\"",
                       where, model->topk, model->experts);
    model->dense_layers += model->layers - model->layers / step;
    if (model->shared_inner < 1)
        model->shared_inner = model->shared_experts * model->expert_inner;
    if (model->dense_layers >= model->layers)
        return rt_fail(RT_EFORMAT,
                       "%s: no layer has experts; correct \"decoder_sparse_step\" or \"mlp_only_layers\"",
                       where);
    return RT_OK;
}

static int complete_experts(struct rt_model *model, const char *where)
{
    if (model->architecture->sparse == NULL)
        return RT_OK;
    if (model->experts > MOST_EXPERTS)
        return rt_fail(RT_EFORMAT, "%s: \"num_experts\" is %" PRId64 "; it must lie in 1..%d, so correct it",
                       where, model->experts, MOST_EXPERTS);
    if (model->topk > 0)
        return complete_topk(model, where);
    int status =
        complete_step(&model->encoder_sparse_step, model->sparse_layers, model->layers, "encoder", where);
    if (status == RT_OK)
        status = complete_step(&model->decoder_sparse_step, model->sparse_decoder_layers,
                               model->decoder_layers, "decoder", where);
    return status;
}

/* How many layers attend to all tokens where others do not, or have no rotary positions where others do; 0:
 * all are alike. */
static void complete_windows(struct rt_model *model)
{
    bool windows = model->window > 0 || model->chunk > 0;
    if (!windows && model->unrotated != RT_UNROTATED_ALWAYS)
        model->full_layers = 0;
    else if (model->full_layers < 0)
        model->full_layers = model->full_period > 0 ? model->layers / model->full_period : 0;
    if (model->full_layers > model->layers)
        model->full_layers = model->layers;
}

/* Convolutions over sound: a width, a kernel and a stride each. */
static int complete_convolutions(const struct rt_model *model, const char *where)
{
    int64_t count = model->sound_dim.count;
    if (model->sound_kernel.count != count || model->sound_stride.count != count)
        return rt_fail(RT_EFORMAT,
                       "%s: \"conv_dim\", \"conv_kernel\" and \"conv_stride\" list %" PRId64 ", %" PRId64
                       " and %" PRId64 " convolutions; make them as many",
                       where, count, model->sound_kernel.count, model->sound_stride.count);
    if (model->position_groups > 0 && model->hidden % model->position_groups != 0)
        return rt_fail(RT_EFORMAT,
                       "%s: \"num_conv_pos_embedding_groups\" is %" PRId64
                       ", which does not divide the hidden size %" PRId64 "; correct either",
                       where, model->position_groups, model->hidden);
    if (model->codebooks > 0 && model->code_width % model->codebooks != 0)
        return rt_fail(RT_EFORMAT,
                       "%s: \"num_codevector_groups\" is %" PRId64
                       ", which does not divide \"codevector_dim\" %" PRId64 "; correct either",
                       where, model->codebooks, model->code_width);
    return RT_OK;
}

/* Patches of images, and the heads of a second tower. */
static int complete_images(const struct rt_model *model, const char *where)
{
    if (model->image > RT_MOST_PIXELS)
        return rt_fail(RT_EFORMAT,
                       "%s: \"image_size\" is %" PRId64 "; a side may have %d pixels at most, so correct it",
                       where, model->image, RT_MOST_PIXELS);
    if (model->patch > model->image)
        return rt_fail(RT_EFORMAT,
                       "%s: patches of %" PRId64 " pixels do not fit into images of %" PRId64
                       "; correct \"patch_size\" or \"image_size\"",
                       where, model->patch, model->image);
    if (model->tower_heads > 0 && model->tower_hidden % model->tower_heads != 0)
        return rt_fail(RT_EFORMAT,
                       "%s: %" PRId64 " heads do not divide the hidden size %" PRId64
                       " of \"vision_config\"; correct either",
                       where, model->tower_heads, model->tower_hidden);
    if (model->tower_layers > MOST_LAYERS)
        return rt_fail(RT_EFORMAT, "%s: %" PRId64 " layers; it may have %d at most, so correct their number",
                       where, model->tower_layers, MOST_LAYERS);
    return RT_OK;
}

/* A convolution over tokens leaves as many. */
static int complete_token_convolution(const struct rt_model *model, const char *where)
{
    if (model->conv_kernel == 0 || (model->conv_kernel % 2 == 1 && model->hidden % model->conv_groups == 0))
        return RT_OK;
    return rt_fail(RT_EFORMAT,
                   "%s: \"conv_kernel_size\" is %" PRId64 " and \"conv_groups\" %" PRId64
                   "; the first must be odd, the second divide the hidden size, so correct them",
                   where, model->conv_kernel, model->conv_groups);
}

/* Sizes that the config leaves out; RT_EFORMAT where sizes do not fit together. */
static int complete(struct rt_model *model, const char *where)
{
    if (model->architecture->complete != NULL)
        model->architecture->complete(model);
    if (model->inner < 0)
        model->inner = 4 * model->hidden;
    if (model->embedding < 1)
        model->embedding = model->hidden;
    if (model->decoder_layers < 0)
        model->decoder_layers = model->layers;
    if (model->window < 0 || !model->slides)
        model->window = 0;
    if (model->chunk < 0)
        model->chunk = 0;
    complete_windows(model);
    if (model->layers > MOST_LAYERS || model->decoder_layers > MOST_LAYERS)
        return rt_fail(RT_EFORMAT, "%s: %" PRId64 " layers; it may have %d at most, so correct their number",
                       where, model->layers > MOST_LAYERS ? model->layers : model->decoder_layers,
                       MOST_LAYERS);
    int status = complete_heads(model, where);
    if (status == RT_OK)
        status = complete_convolutions(model, where);
    if (status == RT_OK)
        status = complete_images(model, where);
    if (status == RT_OK)
        status = complete_token_convolution(model, where);
    return status == RT_OK ? complete_experts(model, where) : status;
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

/* Parameters of the largest tensor of a model of sound: of a convolution, of the codebooks. */
static double largest_of_sound(const struct rt_model *model)
{
    double dim = (double)rt_sizes_largest(&model->sound_dim), h = (double)model->hidden;
    double convolution = dim * dim * (double)rt_sizes_largest(&model->sound_kernel);
    double codes = (double)model->codebooks * (double)model->code_entries;
    return fmax(fmax(convolution, h * h * (double)model->position_kernel),
                codes * fmax(dim, (double)model->code_width));
}

/* Parameters of the largest matrix that two sizes can make. Builders multiply sizes in 64 bits. */
static double largest_matrix(const struct rt_model *model)
{
    const int64_t sizes[] = {model->hidden,
                             model->embedding,
                             model->heads * model->head_dim,
                             model->inner,
                             model->decoder_inner,
                             model->source_positions,
                             model->mel_bins,
                             model->projection,
                             model->code_projection,
                             model->vocab,
                             model->expert_inner,
                             model->positions,
                             model->labels,
                             model->types,
                             model->experts,
                             model->q_rank,
                             model->kv_rank + model->rope_dim,
                             model->shared_inner,
                             2 * model->span,
                             model->conv_kernel * model->hidden,
                             model->tower_hidden,
                             model->tower_inner,
                             model->pooled_width,
                             model->projection,
                             model->channels * model->patch * model->patch,
                             model->heads * (model->nope_dim + model->value_dim)};
    double width = fmax((double)sizes[0], fmax((double)sizes[1], (double)sizes[2])),
           most = largest_of_sound(model);
    width = fmax(width, (double)model->tower_hidden);
    for (size_t i = 0; i < RT_COUNT(sizes); i++)
        most = fmax(most, width * (double)sizes[i]);
    return most;
}

static double parameters_of(const struct rt_model *model)
{
    double matrix = largest_matrix(model);
    return matrix < MOST_PARAMETERS ? rt_model_parameters(model) : matrix;
}

/* Limits on what follows from several keys. */
static int check_sizes(const struct rt_model *model, const char *where)
{
    int status = check_product(model->heads, model->head_dim, "the number of heads times their width", where);
    if (status == RT_OK)
        status =
            check_product(model->heads, model->value_dim, "the number of heads times \"v_head_dim\"", where);
    if (status == RT_OK)
        status = check_product(model->shared_experts, model->expert_inner,
                               "the number of shared experts times their width", where);
    if (status == RT_OK)
        status = check_product(model->inner, 1, "the inner width of the feed-forward layers", where);
    if (status == RT_OK)
        status = check_product(model->experts, model->capacity, "the number of experts times their capacity",
                               where);
    if (status != RT_OK)
        return status;
    double parameters = parameters_of(model);
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
    const json_t *whole = root;
    int status = find_part(whole, where, &model, &root);
    if (status != RT_OK)
        return status;
    const struct rt_config_key *keys = model.architecture->keys;
    for (const struct rt_config_key *key = keys; key->key != NULL; key++)
        set_fallback(&model, key);
    for (const struct rt_config_key *key = keys; key->key != NULL && status == RT_OK; key++)
        status = read_key(&model, key, root, where);
    if (status == RT_OK)
        status = read_head(&model, root, where);
    if (status == RT_OK)
        status = complete(&model, where);
    rt_config_read_dtype(whole, where, &model);
    rt_config_note_unread(root, &model);
    if (status == RT_OK)
        status = check_sizes(&model, where);
    if (status == RT_OK)
        *out = model;
    return status;
}

/* The config as one of another model_type, whose classes' names are none of its own. */
static int set_type(json_t *root, const char *path, const char *type)
{
    struct rt_text known = {0};
    for (size_t i = 0; rt_architectures[i] != NULL; i++) {
        const struct rt_architecture *row = rt_architectures[i];
        if (strcmp(type, row->model_type) == 0 || rt_config_is_one_of(type, row->aliases)) {
            rt_text_release(&known);
            if (!json_is_object(root))
                return RT_OK;
            json_t *text = (json_t *)text_of(root);
            json_object_set_new(text, "model_type", json_string(type));
            json_object_del(text, "architectures");
            return RT_OK;
        }
        rt_text_item(&known, ", ", "%s", row->model_type);
    }
    int status =
        rt_fail(RT_EUSAGE, "--as %.60s: no architecture for %s; known are %s", type, path, known.text);
    rt_text_release(&known);
    return status;
}

int rt_model_load(const char *path, struct rt_model *out)
{
    return rt_model_load_as(path, NULL, out);
}

int rt_model_load_as(const char *path, const char *type, struct rt_model *out)
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
    else if (type != NULL)
        status = set_type(root, path, type);
    if (status == RT_OK)
        status = rt_model_from_json(root, path, &model);
    json_decref(root);
    free(text);
    if (status != RT_OK)
        return status;
    size_t length = strlen(path), most = sizeof model.name - 1; /* the end of a path is the specific part */
    snprintf(model.name, sizeof model.name, "%s", path + (length > most ? length - most : 0));
    *out = model;
    return RT_OK;
}
