/* The zoo: models by name. Each is a config.json with "name", "aliases", "sources" and "notes" beside Hugging
 * Face's keys; the files in zoo/ are compiled in. Models of images are rows of vision/, and ids of the Hub
 * rows of zoo/hub.jsonl. */
#include "models/networks/diffusion/diffusion.h"
#include "base/file.h"
#include "models/networks/config.h"
#include "models/networks/hub.h"
#include "models/networks/model.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/text.h"
#include "models/networks/vision/vision.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <sys/stat.h>

/* NULL-terminated; scripts/embed_texts.cmake */
extern const char *const rt_model_zoo_json[];
extern const char *const rt_model_hub_json[];

static bool is_separator(char letter)
{
    return letter != '\0' && strchr(" -_.", letter) != NULL;
}

/* Lower case without separators, except that one stays between digits: "Llama 2 7B" is "llama-2-7b", and
 * "opt-1.3b" is not "opt-13b". */
static void normalise(const char *name, char *out, size_t size)
{
    size_t n = 0;
    while (*name != '\0' && n + 2 < size) {
        bool separated = is_separator(*name);
        while (is_separator(*name))
            name++;
        if (*name == '\0')
            break;
        if (separated && n > 0 && isdigit((unsigned char)out[n - 1]) && isdigit((unsigned char)*name))
            out[n++] = '.';
        out[n++] = (char)tolower((unsigned char)*name++);
    }
    out[n] = '\0';
}

static int parse_text(const char *const *texts, size_t i, json_t **root)
{
    json_error_t error;
    *root = json_loads(texts[i], JSON_REJECT_DUPLICATES, &error);
    if (*root == NULL)
        return rt_fail(RT_EFORMAT, "built-in zoo, model %zu, %d:%d: not JSON: %s", i, error.line,
                       error.column, error.text);
    return RT_OK;
}

static int parse(size_t i, json_t **root)
{
    int status = parse_text(rt_model_zoo_json, i, root);
    if (status != RT_OK || json_string_value(json_object_get(*root, "name")) != NULL)
        return status;
    json_decref(*root);
    return rt_fail(RT_EFORMAT, "built-in zoo, model %zu: \"name\" is missing", i);
}

static int read_model(const json_t *root, const char *changes, struct rt_model *out)
{
    const char *name = json_string_value(json_object_get(root, "name"));
    int status = rt_model_from_json(root, changes, name, out);
    if (status == RT_OK)
        snprintf(out->name, sizeof out->name, "%s", name);
    return status;
}

/* A name that is looked for, the nearest one of a model so far, and the names that are near. All descriptions
 * are looked at for the hints alone: the one of that name holds it. */
struct search {
    bool hinting;
    char wanted[128];    /* normalised */
    const char *changes; /* of its config (rt_config_changes); NULL: none */
    size_t nearest;      /* (size_t)-1: none */
    struct rt_hints hints;
};

/* Is this the name, of a model or one of its aliases? */
static bool matches(struct search *search, const char *name)
{
    char candidate[128];
    normalise(name, candidate, sizeof candidate);
    if (strcmp(candidate, search->wanted) == 0)
        return true;
    if (search->hinting && rt_name_near(candidate, search->wanted)) {
        size_t distance = rt_name_distance(candidate, search->wanted);
        search->nearest = distance < search->nearest ? distance : search->nearest;
    }
    return false;
}

static bool names_transformer(struct search *search, const json_t *root)
{
    const json_t *aliases = json_object_get(root, "aliases"), *name = json_object_get(root, "name");
    bool found = matches(search, json_string_value(name));
    for (size_t i = 0; i < json_array_size(aliases) && !found; i++)
        found = json_is_string(json_array_get(aliases, i)) &&
                matches(search, json_string_value(json_array_get(aliases, i)));
    return found;
}

/* Aliases are separated by ", ". */
static bool names_vision(struct search *search, const struct rt_vision *vision)
{
    bool found = matches(search, vision->name);
    const char *alias = vision->aliases;
    while (alias != NULL && !found) {
        size_t length = strcspn(alias, ",");
        char *copy = rt_format("%.*s", (int)length, alias);
        found = matches(search, copy);
        free(copy);
        alias = alias[length] == ',' ? alias + length + 1 : NULL;
    }
    return found;
}

/* Notes a model that does not have the name as a hint, where one of its names is near. */
static void pass(struct search *search, const char *name)
{
    if (search->nearest != (size_t)-1)
        rt_hints_add(&search->hints, name, search->nearest);
    search->nearest = (size_t)-1;
}

void rt_model_of_images(const struct rt_vision *vision, struct rt_model *out)
{
    *out = (struct rt_model){.vision = vision, .dtype = -1};
    if (vision->diffusion != NULL)
        out->dtype = vision->diffusion->fp16 ? RT_FP16 : RT_BF16;
    snprintf(out->name, sizeof out->name, "%s", vision->name);
}

/* Letters and digits alone, in lower case. Free it. */
static char *letters_of(const char *text)
{
    char *letters = rt_malloc(strlen(text) + 1);
    size_t n = 0;
    for (; *text != '\0'; text++)
        if (isalnum((unsigned char)*text))
            letters[n++] = (char)tolower((unsigned char)*text);
    letters[n] = '\0';
    return letters;
}

/* Is the name that is looked for anywhere in this description? Parsing them all takes longer than a forecast.
 */
static bool may_name(const struct search *search, const char *json)
{
    if (search->hinting)
        return true;
    char *letters = letters_of(json), *wanted = letters_of(search->wanted);
    bool found = strstr(letters, wanted) != NULL;
    free(letters);
    free(wanted);
    return found;
}

static int try_description(struct search *search, size_t i, struct rt_model *out)
{
    json_t *root;
    int status = parse(i, &root);
    if (status != RT_OK)
        return status;
    status = RT_ENOTFOUND;
    if (names_transformer(search, root))
        status = read_model(root, search->changes, out);
    else
        pass(search, json_string_value(json_object_get(root, "name")));
    json_decref(root);
    return status;
}

/* RT_ENOTFOUND without a sentence where no transformer has the name. */
static int find_transformer(struct search *search, struct rt_model *out)
{
    int status = RT_ENOTFOUND;
    for (size_t i = 0; rt_model_zoo_json[i] != NULL && status == RT_ENOTFOUND; i++)
        if (may_name(search, rt_model_zoo_json[i]))
            status = try_description(search, i, out);
    return status;
}

/* torchvision and timm have names that differ in separators alone: efficientnet_v2_s, efficientnetv2_s. */
static const struct rt_vision *find_exactly(const char *name)
{
    const struct rt_vision *vision;
    size_t i = 0;
    while ((vision = rt_vision_at(i)) != NULL && strcmp(vision->name, name) != 0)
        i++;
    return vision;
}

static int find_vision(struct search *search, const char *name, struct rt_model *out)
{
    const struct rt_vision *vision = find_exactly(name);
    if (vision != NULL) {
        rt_model_of_images(vision, out);
        return RT_OK;
    }
    for (size_t i = 0; (vision = rt_vision_at(i)) != NULL; i++) {
        if (names_vision(search, vision)) {
            rt_model_of_images(vision, out);
            return RT_OK;
        }
        pass(search, vision->name);
    }
    return RT_ENOTFOUND;
}

/* --- ids of the Hub --- */

static const char *row_text(const json_t *row, const char *key)
{
    return json_string_value(json_object_get(row, key));
}

/* What follows the Hub's address in the source of a config that is a file of its own; else "ids". */
static const char *ids_of(const json_t *row)
{
    static const char hub[] = "huggingface.co/";
    const char *source = json_string_value(json_array_get(json_object_get(row, "sources"), 0));
    const char *id = source != NULL ? strstr(source, hub) : NULL;
    return id != NULL ? id + strlen(hub) : row_text(row, "ids");
}

static int parse_row(size_t i, json_t **row)
{
    int status = parse_text(rt_model_hub_json, i, row);
    if (status != RT_OK || ids_of(*row) != NULL)
        return status;
    json_decref(*row);
    return rt_fail(RT_EFORMAT, "built-in ids of the Hub, row %zu: \"ids\" is missing", i);
}

/* The id at *next of a row's, which spaces separate; moves behind it. false: no more. */
static bool next_id(const char **next, char id[96])
{
    *next += strspn(*next, " ");
    size_t length = strcspn(*next, " ");
    snprintf(id, 96, "%.*s", (int)length, *next);
    *next += length;
    return length > 0;
}

/* The next id of a row that the zoo does not have: its description is found first. */
static bool next_new_id(const char **next, char id[96])
{
    while (next_id(next, id)) {
        char *quoted = rt_format("\"%s\"", id);
        bool known = false;
        for (size_t i = 0; rt_model_zoo_json[i] != NULL; i++)
            known |= strstr(rt_model_zoo_json[i], quoted) != NULL;
        free(quoted);
        if (!known)
            return true;
    }
    return false;
}

/* Is it an id of the row, or one without its org? */
static bool names_row(struct search *search, const json_t *row, char id[96])
{
    for (const char *next = ids_of(row); next_id(&next, id);) {
        const char *slash = strchr(id, '/');
        if (matches(search, id) || (slash != NULL && matches(search, slash + 1)))
            return true;
    }
    return false;
}

/* A row without a config: a network of images that the id is another name of. */
static const struct rt_vision *vision_of_row(const json_t *row)
{
    const char *like = row_text(row, "like");
    return like != NULL ? find_exactly(like) : NULL;
}

static int config_of_row(const json_t *row, json_t **config);

/* Is `like` the name of a model of the zoo, or the first id of a row? */
static bool is_like(const json_t *description, const char *like)
{
    const char *names =
        row_text(description, "name") != NULL ? row_text(description, "name") : ids_of(description);
    size_t length = strlen(like);
    return strncmp(names, like, length) == 0 && strchr(" ", names[length]) != NULL;
}

/* The config of what a row is like. Texts without the name are not parsed. */
static int config_like(const char *like, json_t **config)
{
    const char *const *const lists[] = {rt_model_zoo_json, rt_model_hub_json};
    for (size_t i = 0; i < 2; i++)
        for (size_t k = 0; lists[i][k] != NULL; k++) {
            json_t *root;
            if (strstr(lists[i][k], like) == NULL)
                continue;
            int status = parse_text(lists[i], k, &root);
            if (status != RT_OK)
                return status;
            bool found = is_like(root, like);
            if (found)
                status = config_of_row(root, config);
            json_decref(root);
            if (found || status != RT_OK)
                return status;
        }
    return rt_fail(RT_EFORMAT, "built-in zoo: no model \"%s\", which a row of hub.jsonl is like", like);
}

/* The config that a row stands for: that of the model it is like, with its own keys in their place. */
static int config_of_row(const json_t *row, json_t **config)
{
    const char *like = row_text(row, "like"), *key;
    const json_t *value;
    *config = like == NULL ? json_object() : NULL;
    int status = like == NULL ? RT_OK : config_like(like, config);
    if (status != RT_OK)
        return status;
    json_object_foreach((json_t *)row, key, value)
    {
        json_t *inner = json_object_get(*config, key);
        if (strcmp(key, "ids") == 0 || strcmp(key, "like") == 0 || strcmp(key, "source") == 0)
            continue; /* of the row, not of the config */
        if (json_is_object(inner) && json_is_object(value))
            json_object_update(inner, (json_t *)value);
        else
            json_object_set(*config, key, (json_t *)value);
    }
    return RT_OK;
}

static int read_row(const json_t *row, const char *id, const char *changes, struct rt_model *out)
{
    const struct rt_vision *vision = vision_of_row(row);
    json_t *config = NULL;
    int status = RT_OK;
    if (vision != NULL) {
        rt_model_of_images(vision, out);
    } else if ((status = config_of_row(row, &config)) == RT_OK) {
        status = rt_model_from_json(config, changes, id, out);
        json_decref(config);
    }
    if (status == RT_OK)
        snprintf(out->name, sizeof out->name, "%s", id);
    return status;
}

static int try_row(struct search *search, size_t i, struct rt_model *out)
{
    json_t *row;
    char id[96];
    int status = parse_row(i, &row);
    if (status != RT_OK)
        return status;
    if (names_row(search, row, id)) {
        status = read_row(row, id, search->changes, out);
    } else {
        next_id(&(const char *){ids_of(row)}, id);
        pass(search, id);
        status = RT_ENOTFOUND;
    }
    json_decref(row);
    return status;
}

/* RT_ENOTFOUND without a sentence where no row has the name. */
static int find_row(struct search *search, struct rt_model *out)
{
    int status = RT_ENOTFOUND;
    for (size_t i = 0; rt_model_hub_json[i] != NULL && status == RT_ENOTFOUND; i++)
        if (may_name(search, rt_model_hub_json[i]))
            status = try_row(search, i, out);
    return status;
}

int rt_hub_each(int (*visit)(void *context, const struct rt_model *model), void *context)
{
    int status = RT_OK;
    for (size_t i = 0; rt_model_hub_json[i] != NULL && status == RT_OK; i++) {
        json_t *row;
        char id[96];
        if ((status = parse_row(i, &row)) != RT_OK)
            return status;
        for (const char *next = ids_of(row); status == RT_OK && next_new_id(&next, id);) {
            struct rt_model model;
            if ((status = read_row(row, id, NULL, &model)) == RT_OK)
                status = visit(context, &model);
        }
        json_decref(row);
    }
    return status;
}

/* --- all names --- */

/* Networks of timm: what follows a dot is of their weights ("timm/resnet50.a1_in1k"). */
static int find_timm(struct search *search, const char *name, struct rt_model *out)
{
    char *network = rt_format("%.*s", (int)strcspn(name, "."), name);
    normalise(network, search->wanted, sizeof search->wanted);
    int status = find_vision(search, network, out);
    free(network);
    return status;
}

static int check_changes(const char *changes, const char *name, const struct rt_model *model)
{
    if (changes == NULL || model->vision == NULL)
        return RT_OK;
    return rt_fail(RT_EUSAGE, "%s%s: only models with a config.json can be changed, and %s has none", name,
                   changes, name);
}

static int find_among_all(struct search *search, const char *name, struct rt_model *out)
{
    normalise(name, search->wanted, sizeof search->wanted);
    int status = find_transformer(search, out);
    if (status == RT_ENOTFOUND)
        status = find_vision(search, name, out);
    if (status == RT_ENOTFOUND)
        status = find_row(search, out);
    if (status == RT_ENOTFOUND && strncasecmp(name, "timm/", 5) == 0) /* the same network in both */
        status = find_timm(search, name + 5, out);
    return status;
}

/* RT_ENOTFOUND without a sentence where nothing has the name. */
static int find_named(struct search *search, const char *name, const char *changes, struct rt_model *out)
{
    *search = (struct search){.nearest = (size_t)-1, .changes = changes};
    int status = find_among_all(search, name, out);
    search->hinting = true;
    if (status == RT_ENOTFOUND)
        status = find_among_all(search, name, out);
    return status == RT_OK ? check_changes(changes, name, out) : status;
}

static bool holds_weights(const char *name)
{
    static const char *const endings[] = {".pt", ".pth", ".bin", ".safetensors", ".gguf"};
    const char *dot = strrchr(name, '.');
    size_t i = 0;
    while (dot != NULL && i < RT_COUNT(endings) && strcmp(dot, endings[i]) != 0)
        i++;
    return dot != NULL && i < RT_COUNT(endings);
}

static int name_changed(const char *name, const char *changes, struct rt_model *out)
{
    struct search search = {0};
    int status = find_named(&search, name, changes, out);
    char *near = rt_hints_words(&search.hints);
    if (status == RT_ENOTFOUND)
        rt_fail(RT_ENOTFOUND,
                holds_weights(name)
                    ? "unknown model \"%.80s\"%s; such a file holds weights and no layers: give the "
                      "config.json beside it, or export it as ONNX (docs/guide/onnx.md)"
                    : "unknown model \"%.80s\"%s; `rooftile graph --list` lists all, or give the "
                      "path of a config.json",
                name, near);
    free(near);
    return status;
}

/* Splits "NAME,key=value" for `find`, and gives the model the whole as its name. */
static int find_changed(const char *spec, int (*find)(const char *, const char *, struct rt_model *),
                        struct rt_model *out)
{
    const char *changes = rt_config_changes(spec);
    if (changes == NULL)
        return find(spec, NULL, out);
    char *name = rt_format("%.*s", (int)(changes - spec), spec);
    int status = find(name, changes, out);
    if (status == RT_OK)
        snprintf(out->name, sizeof out->name, "%s", spec);
    free(name);
    return status;
}

int rt_model_named(const char *name, struct rt_model *out)
{
    return find_changed(name, name_changed, out);
}

/* --- by name, path, id --- */

static int named_id(const char *id, const char *changes, struct rt_model *out)
{
    struct search search = {0};
    int status = find_named(&search, id, changes, out);
    if (status != RT_ENOTFOUND)
        return status;
    char *near = rt_hints_words(&search.hints), *folder = rt_hub_folder();
    if (strncasecmp(id, "timm/", 5) == 0)
        status = rt_fail(
            RT_ENOTFOUND,
            "unknown model \"%.90s\"%s; where there are PyTorch and timm, `scripts/export_onnx.py %.90s -o "
            "net.onnx` writes a file that --model reads",
            id, near, id);
    else
        status = rt_fail(
            RT_ENOTFOUND,
            "unknown model \"%.90s\"%s; neither a folder here nor Hugging Face's cache (%.200s) has it: "
            "fetch https://huggingface.co/%.90s/resolve/main/config.json and give its path, or one of "
            "`rooftile graph --list`",
            id, near, folder, id);
    free(near);
    free(folder);
    return status;
}

static int load_changed(const char *config, const char *changes, struct rt_model *out)
{
    char *spec = rt_format("%s%s", config, changes != NULL ? changes : "");
    int status = rt_model_load(spec, out);
    free(spec);
    return status;
}

/* A folder here, as transformers reads it; the cache; the catalogue that comes along. */
static int find_id(const char *id, const char *changes, struct rt_model *out)
{
    struct stat file;
    char *config = rt_format("%s/config.json", id);
    if (stat(config, &file) != 0) {
        free(config);
        config = rt_hub_cached(id);
    }
    if (config == NULL)
        return named_id(id, changes, out);
    int status = load_changed(config, changes, out);
    if (status == RT_OK)
        snprintf(out->name, sizeof out->name, "%s", id);
    free(config);
    return status;
}

static int find_spec(const char *spec, const char *changes, struct rt_model *out)
{
    if (rt_file_is_there(spec))
        return load_changed(spec, changes, out);
    if (rt_diffusion_is_folder(spec)) {
        const struct rt_vision *pipeline;
        int status = rt_diffusion_of_folder(spec, &pipeline);
        if (status == RT_OK)
            rt_model_of_images(pipeline, out);
        return status == RT_OK ? check_changes(changes, spec, out) : status;
    }
    char *id = rt_hub_id(spec);
    if (id != NULL) {
        int status = find_id(id, changes, out);
        free(id);
        return status;
    }
    int status = name_changed(spec, changes, out);
    if (status != RT_ENOTFOUND)
        return status;
    /* The folder of a downloaded model. */
    char *inside = rt_format("%s/config.json", spec);
    if (rt_file_is_there(inside))
        status = load_changed(inside, changes, out);
    else if (rt_ends_with(spec, ".json"))
        status = rt_model_load(spec, out); /* fails with the reason */
    free(inside);
    return status;
}

int rt_model_find(const char *spec, struct rt_model *out)
{
    if (rt_file_is_there(spec)) /* whatever its name */
        return rt_model_load(spec, out);
    return find_changed(spec, find_spec, out);
}

size_t rt_zoo_size(void)
{
    size_t n = 0;
    while (rt_model_zoo_json[n] != NULL)
        n++;
    return n;
}

int rt_zoo_model(size_t i, struct rt_model *out)
{
    json_t *root;
    int status = parse(i, &root);
    if (status != RT_OK)
        return status;
    status = read_model(root, NULL, out);
    json_decref(root);
    return status;
}

void rt_model_suggest(struct rt_text *list)
{
    json_t *root;
    for (size_t i = 0; rt_model_zoo_json[i] != NULL && parse(i, &root) == RT_OK; i++) {
        rt_text_add(list, "%s\n", json_string_value(json_object_get(root, "name")));
        json_decref(root);
    }
    const struct rt_vision *vision;
    for (size_t i = 0; (vision = rt_vision_at(i)) != NULL; i++)
        rt_text_add(list, "%s\n", vision->name);
    char id[96];
    for (size_t i = 0; rt_model_hub_json[i] != NULL && parse_row(i, &root) == RT_OK; i++) {
        for (const char *next = ids_of(root); next_new_id(&next, id);)
            rt_text_add(list, "%s\n", id);
        json_decref(root);
    }
    rt_text_add(list, ":files json onnx csv\n");
}
