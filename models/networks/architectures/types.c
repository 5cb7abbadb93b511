/* The files of architectures: types/NAME.json, compiled in, and users' own. types/README.md says what such a
 * file holds, fields.c what it may name. Each is read when it is asked for, since all of them take longer
 * than a forecast, and kept: models point to their architecture. */
#include "base/array.h"
#include "base/file.h"
#include "base/strings.h"
#include "base/text.h"
#include "models/networks/architectures/fields.h"
#include "models/networks/architectures/parts.h"
#include "models/networks/architectures/served.h"
#include "models/networks/architectures/types.h"

#include <jansson.h>
#include <math.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

extern const char *const rt_architecture_json[];  /* NULL-terminated; scripts/embed_texts.cmake */
extern const char *const rt_architecture_names[]; /* their types, in the same order */

/* A file while it is read. */
struct reader {
    const char *where; /* for messages */
    struct rt_architecture *row;
    struct rt_config_key *keys;
    size_t count, capacity;
    void **made; /* what the row points to beside the file's own texts */
    size_t made_count, made_capacity;
};

static void *keep(struct reader *reader, void *made)
{
    RT_GROW(reader->made, reader->made_count, 1, reader->made_capacity);
    return reader->made[reader->made_count++] = made;
}

static int refuse(const char *where, const char *key, const json_t *value, const char *must)
{
    char *text = json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
    int status = rt_fail(RT_EFORMAT, "%s: \"%s\" is %.60s; it must be %s, so correct it", where, key,
                         text != NULL ? text : "unreadable", must);
    free(text);
    return status;
}

static void hint(struct rt_hints *hints, const char *known, const char *wanted)
{
    size_t distance = rt_name_distance(known, wanted);
    if (distance <= 1 + strlen(wanted) / 3)
        rt_hints_add(hints, known, distance);
}

/* --- parts of the network --- */

/* A list of texts as "one|another". */
static int read_names(struct reader *reader, const char *name, const json_t *value, const char **out)
{
    size_t i;
    const json_t *item;
    struct rt_text list = {0};
    bool texts = json_is_array(value);
    json_array_foreach(value, i, item)
    {
        texts &= json_is_string(item);
        rt_text_item(&list, "|", "%s", json_is_string(item) ? json_string_value(item) : "");
    }
    *out = keep(reader, rt_text_take(&list));
    return texts ? RT_OK : refuse(reader->where, name, value, "a list of texts");
}

static int read_heads(const struct reader *reader, const char *name, const json_t *value, unsigned *out)
{
    size_t i;
    const json_t *item;
    unsigned heads = 0;
    json_array_foreach(value, i, item)
    {
        int head = json_is_string(item) ? rt_model_head_find(json_string_value(item)) : -1;
        if (head < 0)
            return refuse(
                reader->where, name, item,
                "what follows the model_type in names of transformers' classes, such as \"ForCausalLM\"");
        heads |= 1U << head;
    }
    *out = heads;
    return heads != 0 ? RT_OK : refuse(reader->where, name, value, "a list of heads");
}

static int read_type(const struct reader *reader, const char *name, const json_t *value,
                     const struct rt_architecture **out)
{
    *out = json_is_string(value) ? rt_architecture_of_type(json_string_value(value)) : NULL;
    return *out != NULL || json_is_null(value)
               ? RT_OK
               : refuse(reader->where, name, value, "one of the types that `rooftile graph --types` lists");
}

static int read_code(const struct reader *reader, const struct rt_architecture_part *part,
                     const json_t *value, char *at)
{
    const struct rt_code *code = part->code;
    const char *name = json_string_value(value);
    while (name != NULL && code->name != NULL && strcmp(code->name, name) != 0)
        code++;
    if (name == NULL && json_is_null(value)) {
        memset(at, 0, sizeof code->object);
        return RT_OK;
    }
    if (name != NULL && code->function != NULL)
        memcpy(at, &code->function, sizeof code->function);
    else if (name != NULL && code->object != NULL)
        memcpy(at, &code->object, sizeof code->object);
    if (name != NULL && code->name != NULL)
        return RT_OK;
    struct rt_text known = {0};
    for (code = part->code; code->name != NULL; code++)
        rt_text_item(&known, "|", "%s", code->name);
    char *must = rt_format("one of %s, or null", known.text);
    int status = refuse(reader->where, part->name, value, must);
    free(must);
    rt_text_release(&known);
    return status;
}

static int read_word(const struct reader *reader, const struct rt_architecture_part *part,
                     const json_t *value, int *out)
{
    int word = json_is_string(value) ? rt_word_find(part->words, json_string_value(value)) : -1;
    if (word >= 0) {
        *out = word;
        return RT_OK;
    }
    char *must = rt_format("one of %s", part->words);
    int status = refuse(reader->where, part->name, value, must);
    free(must);
    return status;
}

static int read_part(struct reader *reader, const struct rt_architecture_part *part, const json_t *value)
{
    char *at = (char *)reader->row + part->offset;
    switch (part->kind) {
    case RT_PART_TEXT:
        if (!json_is_string(value) && !json_is_null(value))
            return refuse(reader->where, part->name, value, "a text");
        *(const char **)at = json_string_value(value);
        return RT_OK;
    case RT_PART_NAMES:
        return read_names(reader, part->name, value, (const char **)at);
    case RT_PART_FLAG:
        *(bool *)at = json_is_true(value);
        return json_is_boolean(value) ? RT_OK : refuse(reader->where, part->name, value, "true or false");
    case RT_PART_COUNT:
        *(int64_t *)at = json_integer_value(value);
        return json_is_integer(value) && json_integer_value(value) >= 0 &&
                       json_integer_value(value) <= RT_CONFIG_MOST_SIZE
                   ? RT_OK
                   : refuse(reader->where, part->name, value, "a whole number in 0..2^31");
    case RT_PART_WORD:
        return read_word(reader, part, value, (int *)at);
    case RT_PART_TYPE:
        return read_type(reader, part->name, value, (const struct rt_architecture **)at);
    case RT_PART_HEADS:
        return read_heads(reader, part->name, value, (unsigned *)at);
    default:
        return read_code(reader, part, value, at);
    }
}

/* --- keys of config.json, and constants --- */

/* What values of a kind are kept as. */
enum store { STORE_SIZE, STORE_FLAG, STORE_SHARE, STORE_ACTIVATION, STORE_SIZES, STORE_LISTED, STORE_DOES };
static enum store store_of(enum rt_key_kind kind)
{
    switch (kind) {
    case RT_KEY_BOOLEAN:
    case RT_KEY_PRESENT:
    case RT_KEY_NAMED:
        return STORE_FLAG;
    case RT_KEY_SHARE:
        return STORE_SHARE;
    case RT_KEY_ACTIVATION:
        return STORE_ACTIVATION;
    case RT_KEY_SIZES:
        return STORE_SIZES;
    case RT_KEY_LISTED:
    case RT_KEY_PLACES:
    case RT_KEY_INDICES:
    case RT_KEY_BLOCKS:
        return STORE_LISTED;
    case RT_KEY_DOES:
        return STORE_DOES;
    default:
        return STORE_SIZE;
    }
}

static int find_field(const struct reader *reader, const char *key, const json_t *name,
                      const struct rt_model_field **out)
{
    const char *wanted = json_string_value(name);
    const struct rt_model_field *field = rt_model_fields;
    struct rt_hints hints = {0};
    if (wanted == NULL)
        return refuse(reader->where, key, name, "the name of a field of a model");
    while (field->name != NULL && strcmp(field->name, wanted) != 0)
        field++;
    *out = field;
    if (field->name != NULL)
        return RT_OK;
    for (field = rt_model_fields; field->name != NULL; field++)
        hint(&hints, field->name, wanted);
    char *near = rt_hints_words(&hints);
    int status = rt_fail(RT_EFORMAT, "%s: \"%s\" names \"%.60s\", which is no field of a model%s",
                         reader->where, key, wanted, near);
    free(near);
    return status;
}

/* NULL: no list of sizes. */
static const struct rt_sizes *read_sizes(struct reader *reader, const json_t *value)
{
    size_t count = json_array_size(value);
    struct rt_sizes sizes = {(int64_t)count, {0}};
    for (size_t i = 0; i < count && count <= RT_MOST_CONVOLUTIONS; i++)
        sizes.of[i] = json_integer_value(json_array_get(value, i));
    for (int64_t i = 0; i < sizes.count && count <= RT_MOST_CONVOLUTIONS; i++)
        if (sizes.of[i] < 1 || sizes.of[i] > RT_CONFIG_MOST_SIZE)
            return NULL;
    if (count < 1 || count > RT_MOST_CONVOLUTIONS)
        return NULL;
    struct rt_sizes *made = keep(reader, rt_malloc(sizeof *made));
    *made = sizes;
    return made;
}

/* A value of the field: of a constant, or what a key stands for that a config lacks. */
static int read_default(struct reader *reader, const char *name, const struct rt_model_field *field,
                        const json_t *value, struct rt_config_key *out)
{
    enum store store = store_of(field->kind);
    out->defaults = true;
    if (field->words != NULL && json_is_string(value) &&
        (out->fallback = rt_word_find(field->words, json_string_value(value))) >= 0)
        return RT_OK;
    if (store == STORE_FLAG && json_is_boolean(value)) {
        out->fallback = json_is_true(value) ? out->yes : 0;
        return RT_OK;
    }
    if (store == STORE_SHARE && json_is_number(value) && json_number_value(value) >= 0 &&
        json_number_value(value) <= 1) {
        out->fallback = llround(1000 * json_number_value(value));
        return RT_OK;
    }
    if (store == STORE_DOES && json_is_string(value) &&
        (out->fallback = rt_layer_does_find(json_string_value(value))) >= 0)
        return RT_OK;
    if (store == STORE_SIZES && (out->sizes = read_sizes(reader, value)) != NULL)
        return RT_OK;
    if (store == STORE_SIZE && (json_is_null(value) || json_is_integer(value)) &&
        json_integer_value(value) >= 0 && json_integer_value(value) <= RT_CONFIG_MOST_SIZE) {
        out->fallback = json_is_null(value) ? -1 : json_integer_value(value);
        return RT_OK;
    }
    char *must = rt_model_field_values(field);
    int status = refuse(reader->where, name, value, must);
    free(must);
    return status;
}

static struct rt_config_key key_of(const char *name, const struct rt_model_field *field)
{
    return (struct rt_config_key){.key = name,
                                  .kind = field->kind,
                                  .offset = field->offset,
                                  .size = field->size,
                                  .yes = 1,
                                  .null_derives = field->nullable};
}

static void drop_keys(struct reader *reader, const char *key)
{
    size_t kept = 0;
    for (size_t i = 0; i < reader->count; i++)
        if (strcmp(reader->keys[i].key, key) != 0)
            reader->keys[kept++] = reader->keys[i];
    reader->count = kept;
}

/* Where a key stands among those of the architecture that this one is like; behind all of them if it does
 * not.
 */
static size_t place_of(const struct reader *reader, const char *key)
{
    size_t place = 0;
    while (place < reader->count && strcmp(reader->keys[place].key, key) != 0)
        place++;
    return place;
}

static void add_key(struct reader *reader, size_t place, const struct rt_config_key *key)
{
    RT_GROW(reader->keys, reader->count, 2, reader->capacity); /* the last ends the list */
    memmove(reader->keys + place + 1, reader->keys + place, (reader->count - place) * sizeof *key);
    reader->keys[place] = *key;
    reader->count++;
}

/* "words": what the items of a list stand for, {"M": "states", "E": "experts"} or {"full": 1}. */
static int read_words(struct reader *reader, const char *name, const json_t *words, struct rt_config_key *out)
{
    const char *text;
    json_t *value;
    size_t count = 0;
    if (!json_is_object(words) || json_object_size(words) == 0)
        return refuse(reader->where, name, words, "an object of a list's items");
    struct rt_word *made = keep(reader, rt_calloc(json_object_size(words) + 1, sizeof *made));
    json_object_foreach((json_t *)words, text, value)
    {
        int64_t number = json_is_string(value)    ? rt_layer_does_find(json_string_value(value))
                         : json_is_integer(value) ? json_integer_value(value)
                                                  : -1;
        if (number < 0 || number > UINT16_MAX) {
            char *must = rt_format("a whole number in 0..65535, or what a layer does: of %s, joined by +",
                                   rt_layer_does_words);
            int status = refuse(reader->where, text, value, must);
            free(must);
            return status;
        }
        made[count++] = (struct rt_word){text, (uint32_t)number};
    }
    out->words = made;
    return RT_OK;
}

/* The "kind", "true" and "words" of a key. */
static int read_manner(struct reader *reader, const char *name, const struct rt_model_field *field,
                       const json_t *spec, struct rt_config_key *out)
{
    const json_t *kind = json_object_get(spec, "kind"), *yes = json_object_get(spec, "true"),
                 *words = json_object_get(spec, "words");
    if (kind != NULL) {
        int word = json_is_string(kind) ? rt_word_find(rt_key_kind_words, json_string_value(kind)) : -1;
        if (word < 0 || store_of((enum rt_key_kind)word) != store_of(field->kind)) {
            char *must = rt_format("a kind of key that %s can have, of %s", field->name, rt_key_kind_words);
            int status = refuse(reader->where, name, kind, must);
            free(must);
            return status;
        }
        out->kind = (enum rt_key_kind)word;
    }
    if (words != NULL && store_of(field->kind) == STORE_LISTED) {
        int status = read_words(reader, name, words, out);
        if (status != RT_OK)
            return status;
    }
    bool named = field->words != NULL && store_of(field->kind) == STORE_FLAG;
    if (named &&
        (!json_is_string(yes) || (out->yes = rt_word_find(field->words, json_string_value(yes))) < 0))
        return rt_fail(RT_EFORMAT, "%s: \"%s\" must say what \"true\" stands for, one of %s", reader->where,
                       name, field->words);
    return RT_OK;
}

/* One field that a key gives, or, where the key's value holds a name (`looked`), that it sets. */
static int add_field(struct reader *reader, const char *name, const json_t *spec, const json_t *is,
                     const char *looked, size_t place)
{
    const struct rt_model_field *field;
    const json_t *fallback = json_object_get(spec, "default");
    int status = find_field(reader, name, is, &field);
    if (status != RT_OK)
        return status;
    struct rt_config_key key = key_of(name, field);
    status = read_manner(reader, name, field, spec, &key);
    if (status == RT_OK && looked != NULL && store_of(field->kind) != STORE_FLAG)
        return refuse(reader->where, name, is, "a field that is true or false");
    if (looked != NULL) {
        key.kind = RT_KEY_NAMED;
        key.name = looked;
    }
    if (status == RT_OK && fallback != NULL)
        status = read_default(reader, name, field, fallback, &key);
    key.main = field->main && key.fallback >= 0 && fallback != NULL;
    for (size_t i = 0; i < reader->count && key.main; i++) /* said once, by the first key of a field */
        key.main =
            reader->keys[i].offset != key.offset || reader->keys[i].key[0] == '\0' || !reader->keys[i].main;
    if (status == RT_OK)
        add_key(reader, place, &key);
    return status;
}

/* {"is": FIELD or FIELDS or {NAME: FIELD}, "default": ..., "kind": ..., "true": ...} */
static int read_key(struct reader *reader, const char *name, const json_t *spec)
{
    size_t i, place = place_of(reader, name);
    const char *looked;
    json_t *item, *is = json_object_get(spec, "is");
    int status = RT_OK;
    drop_keys(reader, name);
    json_object_foreach(
        (json_t *)spec, looked,
        item) if (rt_word_find("is|default|kind|true|words", looked) <
                  0) return rt_fail(RT_EFORMAT,
                                    "%s: \"%s\" has \"%.40s\"; a key has is|default|kind|true|words",
                                    reader->where, name, looked);
    if (json_is_object(is)) {
        json_object_foreach(is, looked, item) if (status == RT_OK) status =
            add_field(reader, name, spec, item, looked, place++);
        return status;
    }
    if (!json_is_array(is))
        return add_field(reader, name, spec, is, NULL, place);
    json_array_foreach(is, i, item) if (status == RT_OK) status =
        add_field(reader, name, spec, item, NULL, place++);
    return status;
}

static const struct rt_model_field *field_at(size_t offset)
{
    const struct rt_model_field *field = rt_model_fields;
    while (field->offset != offset)
        field++;
    return field;
}

/* Another default of a key of the architecture that this one is like. */
static int change_default(struct reader *reader, const char *name, const json_t *value)
{
    bool found = false;
    struct rt_hints hints = {0};
    for (size_t i = 0; i < reader->count; i++) {
        struct rt_config_key *key = &reader->keys[i];
        hint(&hints, key->key, name);
        if (strcmp(key->key, name) != 0)
            continue;
        found = true;
        int status = read_default(reader, name, field_at(key->offset), value, key);
        if (status != RT_OK)
            return status;
        key->main = key->main && key->fallback >= 0;
    }
    char *near = rt_hints_words(&hints);
    int status =
        found ? RT_OK
              : rt_fail(RT_EFORMAT,
                        "%s: \"%s\" has a default alone, and the architecture that this is like has no "
                        "such key%s; say which field it is: {\"is\": ..., \"default\": ...}",
                        reader->where, name, near);
    free(near);
    return status;
}

static int read_keys(struct reader *reader, const json_t *keys)
{
    const char *name;
    json_t *value;
    int status = RT_OK;
    if (keys != NULL && !json_is_object(keys))
        return refuse(reader->where, "keys", keys, "an object of keys of config.json");
    json_object_foreach((json_t *)keys, name, value) if (status == RT_OK) status =
        name[0] == '\0'         ? refuse(reader->where, "keys", keys, "an object of keys with a name")
        : json_is_object(value) ? read_key(reader, name, value)
                                : change_default(reader, name, value);
    return status;
}

/* Constants stand before all keys: a key that gives the same field overrides them. */
static int read_fixed(struct reader *reader, const json_t *fixed)
{
    const char *name;
    json_t *value;
    if (fixed != NULL && !json_is_object(fixed))
        return refuse(reader->where, "fixed", fixed, "an object of fields");
    json_object_foreach((json_t *)fixed, name, value)
    {
        const struct rt_model_field *field;
        json_t *text = json_string(name);
        int status = find_field(reader, "fixed", text, &field);
        json_decref(text);
        if (status != RT_OK)
            return status;
        struct rt_config_key key = key_of("", field);
        status = read_default(reader, name, field, value, &key);
        if (status != RT_OK)
            return status;
        for (size_t i = 0; i < reader->count; i++)
            if (reader->keys[i].key[0] == '\0' && reader->keys[i].offset == field->offset)
                memmove(reader->keys + i, reader->keys + i + 1, (--reader->count - i) * sizeof key);
        add_key(reader, 0, &key);
    }
    return RT_OK;
}

static int read_without(struct reader *reader, const json_t *without)
{
    size_t i;
    const json_t *item;
    if (without != NULL && !json_is_array(without))
        return refuse(reader->where, "without", without, "a list of keys");
    json_array_foreach(without, i, item)
    {
        const char *name = json_string_value(item);
        if (name == NULL || name[0] == '\0' || place_of(reader, name) == reader->count)
            return refuse(reader->where, "without", item, "a key of the architecture that this one is like");
        drop_keys(reader, name);
    }
    return RT_OK;
}

/* --- a whole file --- */

/* The members of an object that are parts of a network. */
static int read_parts(struct reader *reader, const json_t *root, const struct rt_architecture_part *parts,
                      const char *others, const char *what)
{
    const char *name;
    json_t *value;
    json_object_foreach((json_t *)root, name, value)
    {
        const struct rt_architecture_part *part = parts;
        struct rt_hints hints = {0};
        for (; part->name != NULL && strcmp(part->name, name) != 0; part++)
            hint(&hints, part->name, name);
        if (part->name == NULL && rt_word_find(others, name) >= 0)
            continue;
        char *near = rt_hints_words(&hints);
        int status = part->name != NULL ? read_part(reader, part, value)
                                        : rt_fail(RT_EFORMAT, "%s: \"%.60s\" is none of %s%s", reader->where,
                                                  name, what, near);
        free(near);
        if (status != RT_OK)
            return status;
    }
    return RT_OK;
}

/* Is the field given by a key, or fixed to another value than 0? */
static bool gives(const struct reader *reader, const char *field, size_t length)
{
    for (size_t i = 0; i < reader->count; i++) {
        const struct rt_config_key *key = &reader->keys[i];
        const char *name = field_at(key->offset)->name;
        if (strlen(name) == length && strncmp(name, field, length) == 0 &&
            (key->fallback != 0 || key->sizes != NULL))
            return true;
    }
    return false;
}

/* What builders divide by, or count by. */
static int check_fields(const struct reader *reader, const char *part, const char *needed)
{
    for (const char *at = needed; *at != '\0'; at += strcspn(at, "|"), at += *at == '|')
        if (!gives(reader, at, strcspn(at, "|")))
            return rt_fail(
                RT_EFORMAT,
                "%s: %s needs \"%.*s\", and no key with a default but 0 gives it; add one to \"keys\" "
                "or \"fixed\"",
                reader->where, part, (int)strcspn(at, "|"), at);
    return RT_OK;
}

static int check_needs(const struct reader *reader)
{
    const struct rt_architecture *row = reader->row;
    int status = check_fields(reader, "each architecture", "hidden|layers|heads|ffn_width");
    if (status == RT_OK && (row->input == NULL || row->cross != NULL))
        status = check_fields(reader, "a model of text", "vocab");
    if (status == RT_OK && row->learned_positions)
        status = check_fields(reader, "a table of positions", "positions");
    for (const struct rt_architecture_part *part = rt_architecture_parts;
         part->name != NULL && status == RT_OK; part++) {
        void (*function)(void);
        const void *object;
        if (part->kind != RT_PART_CODE)
            continue;
        memcpy(&function, (const char *)row + part->offset, sizeof function);
        memcpy(&object, (const char *)row + part->offset, sizeof object);
        for (const struct rt_code *code = part->code; code->name != NULL && status == RT_OK; code++)
            if (code->needs != NULL &&
                (code->function != NULL ? code->function == function : code->object == object))
                status = check_fields(reader, code->name, code->needs);
    }
    return status;
}

static int check_row(const struct reader *reader)
{
    const struct rt_architecture *row = reader->row;
    bool both = row->build == rt_build_encoder_decoder,
         named = row->norm != RT_NORM_RMS && row->norm != RT_NORM_RMS_ONE;
    const char *missing = row->model_type == NULL                             ? "type"
                          : row->what == NULL                                 ? "what"
                          : row->build == NULL                                ? "builder"
                          : row->attention == NULL                            ? "attention"
                          : row->feed_forward == NULL                         ? "feed_forward"
                          : row->heads == 0                                   ? "heads"
                          : both && row->cross == NULL                        ? "cross"
                          : row->build == rt_build_clip && row->tower == NULL ? "tower"
                          : named && row->norms.attention == NULL             ? "attention\" of \"norms"
                          : named && row->norms.feed_forward == NULL          ? "feed_forward\" of \"norms"
                          : named && both && row->norms.cross == NULL         ? "cross\" of \"norms"
                                                                              : NULL;
    if (missing != NULL)
        return rt_fail(RT_EFORMAT,
                       "%s: \"%s\" is missing; give it, or the architecture that this one is \"like\"",
                       reader->where, missing);
    if (!both && row->cross != NULL)
        return rt_fail(RT_EFORMAT, "%s: \"cross\" is for the builder encoder_decoder; take it out",
                       reader->where);
    return check_needs(reader);
}

/* What is the same as in the architecture that this one is like. */
static int inherit(struct reader *reader, const json_t *root)
{
    const json_t *like = json_object_get(root, "like");
    if (like == NULL)
        return RT_OK;
    const struct rt_architecture *from;
    int status = read_type(reader, "like", like, &from);
    if (status != RT_OK || from == NULL)
        return status;
    *reader->row = *from;
    for (const struct rt_architecture_part *part = rt_architecture_parts; part->name != NULL; part++)
        if (part->own)
            *(const char **)((char *)reader->row + part->offset) = NULL;
    for (const struct rt_config_key *key = from->keys; key->key != NULL; key++)
        add_key(reader, reader->count, key);
    return RT_OK;
}

/* A file that was read. */
struct held {
    struct held *next;
    const char *text;
    json_t *root; /* texts of the row are its */
    struct rt_architecture row;
    void **made;
    size_t made_count;
};

static int read_row(struct held *held, const char *where)
{
    const json_t *root = held->root;
    struct rt_architecture *out = &held->row;
    struct reader reader = {.where = where, .row = out};
    const json_t *norms = json_object_get(root, "norms");
    int status = json_is_object(root) ? inherit(&reader, root)
                                      : rt_fail(RT_EFORMAT, "%s: an architecture is one JSON object", where);
    if (status == RT_OK)
        status = read_parts(&reader, root, rt_architecture_parts,
                            "like|norms|without|keys|fixed|sources|notes", "an architecture's fields");
    if (status == RT_OK && norms != NULL && !json_is_object(norms))
        status = refuse(where, "norms", norms, "an object of names of nodes");
    if (status == RT_OK)
        status = read_parts(&reader, norms, rt_norm_parts, "", "the places of norms");
    if (status == RT_OK)
        status = read_without(&reader, json_object_get(root, "without"));
    if (status == RT_OK)
        status = read_fixed(&reader, json_object_get(root, "fixed"));
    if (status == RT_OK)
        status = read_keys(&reader, json_object_get(root, "keys"));
    if (status == RT_OK)
        status = check_row(&reader);
    RT_GROW(reader.keys, reader.count, 1, reader.capacity);
    reader.keys[reader.count] = (struct rt_config_key){0};
    out->keys = keep(&reader, reader.keys);
    held->made = reader.made;
    held->made_count = reader.made_count;
    return status;
}

/* --- those that were read --- */

static struct held *all_held;
static pthread_mutex_t held_lock = PTHREAD_MUTEX_INITIALIZER;

/* A text that is compiled in is one pointer; of two files with the same text the first is as good. */
static const struct rt_architecture *find_held(const char *text)
{
    pthread_mutex_lock(&held_lock);
    const struct held *held = all_held;
    while (held != NULL && held->text != text && strcmp(held->text, text) != 0)
        held = held->next;
    pthread_mutex_unlock(&held_lock);
    return held != NULL ? &held->row : NULL;
}

static int read_architecture(const char *text, const char *where, const struct rt_architecture **out)
{
    if ((*out = find_held(text)) != NULL)
        return RT_OK;
    json_error_t error;
    struct held *held = rt_malloc(sizeof *held);
    *held = (struct held){.root = json_loads(text, JSON_REJECT_DUPLICATES, &error)};
    int status = held->root == NULL ? rt_fail(RT_EFORMAT, "%s:%d:%d: not JSON: %s", where, error.line,
                                              error.column, error.text)
                                    : read_row(held, where);
    if (status != RT_OK) {
        for (size_t i = 0; i < held->made_count; i++)
            free(held->made[i]);
        free(held->made);
        json_decref(held->root);
        free(held);
        return status;
    }
    held->text = rt_strdup(text);
    pthread_mutex_lock(&held_lock);
    held->next = all_held;
    all_held = held;
    pthread_mutex_unlock(&held_lock);
    *out = &held->row;
    return RT_OK;
}

int rt_architecture_load(const char *path, const struct rt_architecture **out)
{
    char *text;
    size_t size;
    int status = rt_file_read(path, 1 << 20, &text, &size);
    if (status != RT_OK)
        return status;
    status = read_architecture(text, path, out);
    free(text);
    return status;
}

/* --- those that are compiled in --- */

static int read_built_in(size_t i, const struct rt_architecture **out)
{
    char *where = rt_format("built-in architecture %s", rt_architecture_names[i]);
    int status = read_architecture(rt_architecture_json[i], where, out);
    free(where);
    return status;
}

const struct rt_architecture *rt_architecture_at(size_t i)
{
    const struct rt_architecture *row;
    return rt_architecture_json[i] != NULL && read_built_in(i, &row) == RT_OK ? row : NULL;
}

int rt_architectures_check(void)
{
    const struct rt_architecture *row;
    int status = RT_OK;
    for (size_t i = 0; rt_architecture_json[i] != NULL && status == RT_OK; i++)
        status = read_built_in(i, &row);
    return status;
}

/* The one that has a name in a list of names. Only files with this list and name are read. */
static const struct rt_architecture *find_listed(const char *list, const char *name, bool wrapper)
{
    char *quoted = rt_format("\"%s\"", name);
    const struct rt_architecture *found = NULL;
    for (size_t i = 0; rt_architecture_json[i] != NULL && found == NULL; i++) {
        const char *at = strstr(rt_architecture_json[i], list);
        const struct rt_architecture *row =
            at != NULL && strstr(at, quoted) != NULL ? rt_architecture_at(i) : NULL;
        if (row != NULL && rt_word_find(wrapper ? row->wrappers : row->aliases, name) >= 0)
            found = row;
    }
    free(quoted);
    return found;
}

const struct rt_architecture *rt_architecture_of_type(const char *type)
{
    for (size_t i = 0; rt_architecture_names[i] != NULL; i++)
        if (strcmp(rt_architecture_names[i], type) == 0)
            return rt_architecture_at(i);
    return find_listed("\"aliases\"", type, false);
}

const struct rt_architecture *rt_architecture_of_wrapper(const char *type)
{
    return find_listed("\"wrappers\"", type, true);
}
