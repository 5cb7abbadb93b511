/* The zoo: models by name. Each is a config.json with "name", "aliases", "sources" and "notes" beside Hugging
 * Face's keys; the files in zoo/ are compiled in. */
#include "models/graph/config.h"
#include "base/status.h"
#include "base/strings.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

extern const char *const rt_model_zoo_json[]; /* NULL-terminated; scripts/embed_json.cmake */

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

/* Does `wanted` (normalised) name this model? Otherwise *nearest is the least distance of its near names,
 * (size_t)-1 where none is. */
static bool names_model(const json_t *root, const char *wanted, size_t *nearest)
{
    char candidate[128];
    const json_t *aliases = json_object_get(root, "aliases");
    *nearest = (size_t)-1;
    for (size_t i = 0; i <= json_array_size(aliases); i++) {
        const char *name =
            json_string_value(i == 0 ? json_object_get(root, "name") : json_array_get(aliases, i - 1));
        if (name == NULL)
            continue;
        normalise(name, candidate, sizeof candidate);
        size_t distance = rt_name_distance(candidate, wanted);
        if (distance == 0)
            return true;
        if (rt_name_near(candidate, wanted) && distance < *nearest)
            *nearest = distance;
    }
    return false;
}

int rt_model_named(const char *name, struct rt_model *out)
{
    char wanted[128];
    struct rt_hints hints = {0};
    normalise(name, wanted, sizeof wanted);
    for (size_t i = 0; rt_model_zoo_json[i] != NULL; i++) {
        json_t *root;
        int status = parse(i, &root);
        if (status != RT_OK)
            return status;
        size_t distance;
        bool found = names_model(root, wanted, &distance);
        if (found)
            status = read_model(root, out);
        else if (distance != (size_t)-1)
            rt_hints_add(&hints, json_string_value(json_object_get(root, "name")), distance);
        json_decref(root);
        if (found)
            return status;
    }
    char *near = rt_hints_words(&hints);
    int status = rt_fail(
        RT_ENOTFOUND,
        "unknown model \"%.80s\"%s; `rooftile graph --list` lists all, or give the path of a config.json",
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
