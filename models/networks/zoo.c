/* The zoo: models by name. Each is a config.json with "name", "aliases", "sources" and "notes" beside Hugging
 * Face's keys; the files in zoo/ are compiled in. Models of images are rows of architectures/vision/. */
#include "models/networks/config.h"
#include "models/networks/model.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/text.h"
#include "models/networks/vision/vision.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

extern const char *const rt_model_zoo_json[]; /* NULL-terminated; scripts/embed_texts.cmake */

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

static int parse(size_t i, json_t **root)
{
    json_error_t error;
    *root = json_loads(rt_model_zoo_json[i], JSON_REJECT_DUPLICATES, &error);
    if (*root == NULL)
        return rt_fail(RT_EFORMAT, "built-in zoo, model %zu, %d:%d: not JSON: %s", i, error.line,
                       error.column, error.text);
    if (json_string_value(json_object_get(*root, "name")) == NULL) {
        json_decref(*root);
        return rt_fail(RT_EFORMAT, "built-in zoo, model %zu: \"name\" is missing", i);
    }
    return RT_OK;
}

static int read_model(const json_t *root, struct rt_model *out)
{
    const char *name = json_string_value(json_object_get(root, "name"));
    int status = rt_model_from_json(root, name, out);
    if (status == RT_OK)
        snprintf(out->name, sizeof out->name, "%s", name);
    return status;
}

/* A name that is looked for, the nearest one of a model so far, and the names that are near. */
struct search {
    char wanted[128]; /* normalised */
    size_t nearest;   /* (size_t)-1: none */
    struct rt_hints hints;
};

/* Is this the name, of a model or one of its aliases? */
static bool matches(struct search *search, const char *name)
{
    char candidate[128];
    normalise(name, candidate, sizeof candidate);
    size_t distance = rt_name_distance(candidate, search->wanted);
    if (rt_name_near(candidate, search->wanted) && distance < search->nearest)
        search->nearest = distance;
    return distance == 0;
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
        status = read_model(root, out);
    else
        pass(search, json_string_value(json_object_get(root, "name")));
    json_decref(root);
    return status;
}

/* First among the descriptions that hold the name, then among all of them for the hints. RT_ENOTFOUND without
 * a sentence where no transformer has the name. */
static int find_transformer(struct search *search, struct rt_model *out)
{
    struct search first = {.nearest = (size_t)-1};
    memcpy(first.wanted, search->wanted, sizeof first.wanted);
    int status = RT_ENOTFOUND;
    for (size_t i = 0; rt_model_zoo_json[i] != NULL && status == RT_ENOTFOUND; i++)
        if (may_name(&first, rt_model_zoo_json[i]))
            status = try_description(&first, i, out);
    for (size_t i = 0; rt_model_zoo_json[i] != NULL && status == RT_ENOTFOUND; i++)
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

int rt_model_named(const char *name, struct rt_model *out)
{
    struct search search = {.nearest = (size_t)-1};
    normalise(name, search.wanted, sizeof search.wanted);
    int status = find_transformer(&search, out);
    if (status == RT_ENOTFOUND)
        status = find_vision(&search, name, out);
    if (status == RT_ENOTFOUND && strncmp(name, "timm/", 5) == 0) { /* the same network in both */
        normalise(name + 5, search.wanted, sizeof search.wanted);
        status = find_vision(&search, name + 5, out);
    }
    char *near = rt_hints_words(&search.hints);
    if (status == RT_ENOTFOUND)
        rt_fail(RT_ENOTFOUND,
                "unknown model \"%.80s\"%s; `rooftile graph --list` lists all, or give the path of a "
                "config.json",
                name, near);
    free(near);
    return status;
}

int rt_model_find(const char *spec, struct rt_model *out)
{
    struct stat file;
    if (stat(spec, &file) == 0 && S_ISREG(file.st_mode))
        return rt_model_load(spec, out);
    int status = rt_model_named(spec, out);
    if (status != RT_ENOTFOUND)
        return status;
    /* The folder of a downloaded model. */
    char *inside = rt_format("%s/config.json", spec);
    size_t length = strlen(spec);
    if (stat(inside, &file) == 0)
        status = rt_model_load(inside, out);
    else if (length > 5 && strcmp(spec + length - 5, ".json") == 0)
        status = rt_model_load(spec, out); /* fails with the reason */
    free(inside);
    return status;
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
    status = read_model(root, out);
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
    rt_text_add(list, ":files json onnx csv\n");
}
