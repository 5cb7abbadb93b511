/* The value of one key of a config.json, of each kind that rows of architectures name. See config.h. */
#include "models/networks/config.h"
#include "base/status.h"
#include "models/networks/architectures/fields.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static void *member_of(struct rt_model *model, const struct rt_config_key *key)
{
    return (char *)model + key->offset;
}

static void set(struct rt_model *model, const struct rt_config_key *key, int64_t value)
{
    void *member = member_of(model, key);
    if (key->size == sizeof(bool))
        *(bool *)member = value != 0;
    else if (key->size == sizeof(int))
        *(int *)member = (int)value;
    else
        *(int64_t *)member = value;
}

void rt_config_set_fallback(struct rt_model *model, const struct rt_config_key *key)
{
    if (key->size == sizeof(struct rt_listed))
        return; /* nothing is listed */
    if (key->kind == RT_KEY_SIZES && key->defaults)
        *(struct rt_sizes *)member_of(model, key) = *key->sizes;
    else if (key->defaults)
        set(model, key, key->fallback);
}

static int read_size(struct rt_model *model, const struct rt_config_key *key, const char *name,
                     const json_t *value, const char *where)
{
    bool none = key->kind == RT_KEY_COUNT0 || key->kind == RT_KEY_PERIOD;
    int64_t least = key->kind == RT_KEY_OPTIONAL ? -1 : !none;
    char *text = rt_config_value_text(value);
    int status = RT_OK;
    if (!json_is_integer(value) || json_integer_value(value) < least ||
        json_integer_value(value) > RT_CONFIG_MOST_SIZE)
        status = rt_fail(RT_EFORMAT,
                         "%s: \"%s\" is %.60s; it must be a whole number in %" PRId64 "..2^31, so correct it",
                         where, name, text != NULL ? text : "unreadable", least);
    else
        set(model, key, json_integer_value(value));
    free(text);
    return status;
}

static int read_boolean(struct rt_model *model, const struct rt_config_key *key, const char *name,
                        const json_t *value, const char *where)
{
    if (!json_is_boolean(value))
        return rt_fail(RT_EFORMAT, "%s: \"%s\" must be true or false; correct it", where, name);
    set(model, key, json_is_true(value) ? key->yes : 0);
    return RT_OK;
}

static int read_sizes(struct rt_model *model, const struct rt_config_key *key, const char *name,
                      const json_t *value, const char *where)
{
    struct rt_sizes *sizes = member_of(model, key);
    size_t count = json_array_size(value);
    if (count < 1 || count > RT_MOST_CONVOLUTIONS)
        return rt_fail(RT_EFORMAT, "%s: \"%s\" must be a list of 1 to %d whole numbers; correct it", where,
                       name, RT_MOST_CONVOLUTIONS);
    sizes->count = (int64_t)count;
    for (size_t i = 0; i < count; i++) {
        json_int_t size = json_integer_value(json_array_get(value, i));
        if (size < 1 || size > RT_CONFIG_MOST_SIZE)
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
    set(model, key, (int64_t)json_array_size(value));
    return RT_OK;
}

/* A share of a head, in thousandths. */
static int read_share(struct rt_model *model, const struct rt_config_key *key, const char *name,
                      const json_t *value, const char *where)
{
    double share = json_number_value(value);
    if (!json_is_number(value) || !(share >= 0 && share <= 1))
        return rt_fail(RT_EFORMAT, "%s: \"%s\" must be a number in 0..1; correct it", where, name);
    set(model, key, llround(1000 * share));
    return RT_OK;
}

static int read_present(struct rt_model *model, const struct rt_config_key *key, const char *name,
                        const json_t *value, const char *where)
{
    if (!json_is_number(value))
        return rt_fail(RT_EFORMAT, "%s: \"%s\" must be a number or null; correct it", where, name);
    set(model, key, json_number_value(value) != 0 ? key->yes : 0);
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
    bool named = json_is_string(value) && rt_word_find(json_string_value(value), key->name) >= 0;
    if (!json_is_string(value) && !json_is_array(value))
        return rt_fail(RT_EFORMAT, "%s: \"%s\" must be a text or a list of texts; correct it", where, name);
    json_array_foreach(value, i, item) named |=
        json_is_string(item) && rt_word_find(json_string_value(item), key->name) >= 0;
    set(model, key, named ? key->yes : 0);
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
        *count =
            before + (*count - before) * (repeated >= 0 && repeated <= RT_CONFIG_MOST_LAYERS ? repeated : 0);
        return status;
    }
    for (size_t i = 0; i < json_array_size(value) && status == RT_OK && depth < 3; i++)
        status = count_kinds(json_array_get(value, i), kinds, name, where, depth + 1, count);
    if (json_is_array(value) && depth < 3)
        return status;
    if (text == NULL || (rt_word_find(kinds->counted, text) < 0 && rt_word_find(kinds->others, text) < 0))
        return rt_fail(RT_EFORMAT,
                       "%s: \"%s\" names \"%.40s\", a kind of layer that is not known here; known are %s|%s",
                       where, name, text != NULL ? text : "no text", kinds->counted, kinds->others);
    *count += rt_word_find(kinds->counted, text) >= 0;
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
        set(model, key, count);
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
        set(model, key, zeros);
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
        set(model, key, activations[i].kind);
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
const json_t *rt_config_find_key(const struct rt_config_key *key, const json_t *root, char name[64])
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

int rt_config_read_key(struct rt_model *model, const struct rt_config_key *key, const json_t *root,
                       const char *where)
{
    char spelling[64];
    const char *name = spelling, *general;
    if (key->key[0] == '\0')
        return RT_OK;
    const json_t *value = rt_config_find_key(key, root, spelling);
    general = rt_config_other_name(spelling);
    if (key->kind == RT_KEY_PRESENT && json_is_null(value)) {
        set(model, key, 0);
        return RT_OK;
    }
    bool automatic = json_is_string(value) && strcmp(json_string_value(value), "auto") == 0;
    if ((json_is_null(value) || automatic) && key->null_derives) {
        set(model, key, -1);
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
        set(model, key, (int64_t)json_string_length(value));
        return RT_OK;
    case RT_KEY_LISTED:
    case RT_KEY_PLACES:
    case RT_KEY_INDICES:
    case RT_KEY_BLOCKS:
        return rt_config_read_listed(model, key, name, value, where);
    case RT_KEY_ZEROS:
        return read_zeros(model, key, name, value, where);
    default:
        return read_size(model, key, name, value, where);
    }
}
