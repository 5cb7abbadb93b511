/* config.json to a model: keys as the architecture's row has them. See config.h. */
#include "models/networks/config.h"
#include "base/file.h"
#include "base/status.h"
#include "base/text.h"
#include "models/networks/architectures/fields.h"
#include "models/networks/architectures/types.h"
#include "models/networks/tower.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

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

static const struct rt_architecture *row_of(const char *type)
{
    return type != NULL ? rt_architecture_of_type(type) : NULL;
}

static const struct rt_architecture *wrapped_by(const char *type)
{
    return type != NULL ? rt_architecture_of_wrapper(type) : NULL;
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
    const struct rt_architecture *best = NULL, *row;
    size_t least = SIZE_MAX;
    for (size_t i = 0; (row = rt_architecture_at(i)) != NULL; i++) {
        const char *known = row->model_type;
        size_t same = common_letters(known, name), distance = 1000 + 2 * (strlen(known) - same) - 4 * same;
        if (same >= 3 && distance < least) {
            least = distance;
            best = row;
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
            rt_config_find_key(key, root, name) != NULL ||
            (rt_config_other_name(name) != NULL && json_object_get(root, rt_config_other_name(name)) != NULL);
        common += found;
    }
    return common;
}

static const struct rt_architecture *nearest_by_keys(const json_t *root)
{
    const struct rt_architecture *best = row_of("llama"), *row;
    for (size_t i = 0; (row = rt_architecture_at(i)) != NULL; i++)
        if (common_keys(row, root) > common_keys(best, root))
            best = row;
    return best;
}

static int refuse_type(const char *type, const json_t *root, const char *where)
{
    int status = rt_architectures_check();
    if (status != RT_OK)
        return status;
    const struct rt_architecture *near = nearest_by_name(type);
    const char *by = near != NULL ? "name" : "its keys";
    if (near == NULL)
        near = nearest_by_keys(root);
    return rt_fail(RT_ENOTFOUND,
                   "%s: \"%.60s\" is no architecture that is known here; the nearest by %s is %s, as "
                   "which {as} %s reads it (`rooftile graph --types` lists all)",
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
    const struct rt_architecture *row;
    for (size_t i = 0; class != NULL && (row = rt_architecture_at(i)) != NULL; i++)
        if (head_of_class(class, class_of(row)) != NULL)
            return row;
    return NULL;
}

static int find_architecture(const json_t *root, const char *where, const struct rt_architecture **out)
{
    const char *type = json_string_value(json_object_get(root, "model_type"));
    const char *class = json_string_value(json_array_get(json_object_get(root, "architectures"), 0));
    *out = type != NULL ? row_of(type) : row_of_class(class);
    if (*out != NULL)
        return RT_OK;
    if (type != NULL || class != NULL)
        return refuse_type(type != NULL ? type : class, root, where);
    return rt_fail(
        RT_EFORMAT,
        "%s: \"model_type\" is missing; give one of those that `rooftile graph --types` lists, such as "
        "llama",
        where);
}

/* Models of text and images keep the sizes of their decoder in an object of its own. */
static const json_t *text_of(const json_t *root)
{
    static const char *const names[] = {"text_config", "llm_config", "language_config"};
    if (row_of(json_string_value(json_object_get(root, "model_type"))) != NULL)
        return root;
    for (size_t i = 0; i < RT_COUNT(names); i++)
        if (json_is_object(json_object_get(root, names[i])))
            return json_object_get(root, names[i]);
    return root;
}

/* Architecture and keys of the config, or of the language part of one whose type is another's: `part_of` is
 * that type then. The architecture that is asked for counts, else the config's own. */
static int find_part(const json_t *root, const char *where, const struct rt_architecture *asked,
                     struct rt_model *model, const json_t **part)
{
    const char *type = json_string_value(json_object_get(root, "model_type"));
    const struct rt_architecture *wrapped = asked == NULL ? wrapped_by(type) : NULL,
                                 *row = asked != NULL ? asked : wrapped;
    *part = text_of(root);
    bool typed = json_is_string(json_object_get(*part, "model_type"));
    if (asked == NULL && (*part == root ? row == NULL : row == NULL || typed)) {
        int status = find_architecture(*part, where, &row);
        if (status != RT_OK)
            return status;
    }
    model->architecture = row;
    if (*part != root || (row == wrapped && row != NULL))
        snprintf(model->part_of, sizeof model->part_of, "%s",
                 type != NULL ? type : "a model of several parts");
    return RT_OK;
}

/* --- the head --- */

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
            name = rt_model_head_names[other_heads[i].head];
    for (int head = 0; head < RT_MODEL_HEAD_COUNT; head++)
        if (rt_model_head_names[head] != NULL && (row->heads & (1U << head)) &&
            strcmp(name, rt_model_head_names[head]) == 0)
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
    if (*labels < 1 || *labels > RT_CONFIG_MOST_SIZE)
        return rt_fail(RT_EFORMAT,
                       "%s: the head has %" PRId64
                       " labels; it must have 1..2^31, so correct \"num_labels\" or \"id2label\"",
                       where, *labels);
    return RT_OK;
}

/* `classes`: "architectures" names a class of this architecture. */
static int read_head(struct rt_model *model, const json_t *root, bool classes, const char *where)
{
    const struct rt_architecture *row = model->architecture;
    const json_t *names = classes ? json_object_get(root, "architectures") : NULL;
    const char *class = json_string_value(json_array_get(names, 0));
    int status = read_labels(root, where, row, &model->labels);
    if (status != RT_OK || class == NULL)
        return status;
    const char *name = head_of_class(class, class_of(row));
    if (name == NULL) /* of a type whose class is another's in transformers alone */
        name = head_of_class(class, row->model_type);
    model->head = name != NULL ? find_head(name, row) : RT_MODEL_HEAD_OWN;
    if (model->head != RT_MODEL_HEAD_OWN ||
        model->part_of[0] != '\0') /* the class of the whole is none of the part's */
        return RT_OK;
    struct rt_text known = {0};
    if (row->heads & (1U << RT_MODEL_HEAD_WORDS))
        rt_text_add(&known, row->cross != NULL ? "ForConditionalGeneration" : "ForCausalLM");
    for (int head = 0; head < RT_MODEL_HEAD_COUNT; head++)
        if (rt_model_head_names[head] != NULL && (row->heads & (1U << head)))
            rt_text_item(&known, ", ", "%s", rt_model_head_names[head]);
    status =
        rt_fail(RT_EFORMAT,
                "%s: \"architectures\" names %.60s, a class that is not known here; of %s there are %s. Take "
                "\"architectures\" out for the usual one (docs/guide/predict.md)",
                where, class, row->what, known.text);
    rt_text_release(&known);
    return status;
}

/* --- the whole config --- */

/* Where a key stands: models of several parts may say of the whole alone whether embedding and head are one
 * matrix. */
static const json_t *place_of(const struct rt_config_key *key, const json_t *whole, const json_t *part)
{
    static const char tied[] = "tie_word_embeddings";
    bool of_whole = strcmp(key->key, tied) == 0 && json_object_get(part, tied) == NULL;
    return of_whole && json_object_get(whole, tied) != NULL ? whole : part;
}

/* Reads the part of it that the row is of. */
static int read_part(const json_t *whole, const json_t *root, const char *where, bool classes,
                     struct rt_model *found)
{
    struct rt_model model = *found;
    int status = RT_OK;
    const struct rt_config_key *keys = model.architecture->keys;
    for (const struct rt_config_key *key = keys; key->key != NULL; key++)
        rt_config_set_fallback(&model, key);
    for (const struct rt_config_key *key = keys; key->key != NULL && status == RT_OK; key++)
        status = rt_config_read_key(&model, key, place_of(key, whole, root), where);
    if (status == RT_OK)
        status = read_head(&model, root, classes, where);
    if (status == RT_OK)
        status = rt_config_complete(&model, where);
    if (status == RT_OK && model.part_of[0] != '\0')
        status = rt_vision_tower_read(whole, model.part_of, where, &model);
    rt_config_read_dtype(whole, root, where, &model);
    rt_config_note_unread(root, &model);
    if (status == RT_OK)
        status = rt_config_check(&model, where);
    if (status == RT_OK)
        *found = model;
    return status;
}

/* `asked`: the architecture that it is read as; NULL: its own. */
static int read_model(const json_t *root, const char *changes, const char *where,
                      const struct rt_architecture *asked, struct rt_model *out)
{
    if (!json_is_object(root))
        return rt_fail(RT_EFORMAT, "%s: a config.json holds one JSON object", where);
    struct rt_model model = {0};
    const json_t *part;
    int status = find_part(root, where, asked, &model, &part);
    json_t *changed = status == RT_OK && changes != NULL ? json_deep_copy(part) : NULL;
    if (changed != NULL)
        status = rt_config_change(changed, model.architecture, changes, where);
    if (status == RT_OK)
        status = read_part(root, changed != NULL ? changed : part, where, asked == NULL, &model);
    json_decref(changed);
    if (status == RT_OK)
        *out = model;
    return status;
}

int rt_model_from_json(const json_t *root, const char *changes, const char *where, struct rt_model *out)
{
    return read_model(root, changes, where, NULL, out);
}

/* A built-in architecture by type, or a user's by the name of its file. */
static int find_asked(const char *type, const char *path, const struct rt_architecture **out)
{
    size_t length = strlen(type);
    if (length > 5 && strcmp(type + length - 5, ".json") == 0)
        return rt_architecture_load(type, out);
    if ((*out = row_of(type)) != NULL)
        return RT_OK;
    int status = rt_architectures_check();
    if (status != RT_OK)
        return status;
    struct rt_text known = {0};
    const struct rt_architecture *row;
    for (size_t i = 0; (row = rt_architecture_at(i)) != NULL; i++)
        rt_text_item(&known, ", ", "%s", row->model_type);
    status =
        rt_fail(RT_EUSAGE,
                "{as} %.60s: no architecture for %s; give the file of one, which ends in .json, or one of "
                "%s",
                type, path, known.text);
    rt_text_release(&known);
    return status;
}

int rt_model_load(const char *path, struct rt_model *out)
{
    return rt_model_load_as(path, NULL, out);
}

/* A file, or "FILE,key=value". */
static int load_as(const char *path, const char *type, struct rt_model *out)
{
    json_t *root;
    const struct rt_architecture *asked = NULL;
    struct rt_model model;
    const char *changes = rt_file_is_there(path) ? NULL : rt_config_changes(path);
    char *file = changes != NULL ? rt_format("%.*s", (int)(changes - path), path) : rt_strdup(path);
    int status = rt_config_read_file(file, &root);
    free(file);
    if (status != RT_OK)
        return status;
    if (type != NULL)
        status = find_asked(type, path, &asked);
    if (status == RT_OK)
        status = read_model(root, changes, path, asked, &model);
    json_decref(root);
    if (status != RT_OK)
        return status;
    size_t length = strlen(path), most = sizeof model.name - 1; /* the end of a path is the specific part */
    snprintf(model.name, sizeof model.name, "%s", path + (length > most ? length - most : 0));
    *out = model;
    return RT_OK;
}

int rt_model_load_as(const char *path, const char *type, struct rt_model *out)
{
    char *config = rt_config_path(path);
    int status = load_as(config, type, out);
    free(config);
    return status;
}
