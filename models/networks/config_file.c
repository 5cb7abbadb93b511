/* The file of a config.json, and the file of its quantisation beside it. See config.h.
 *
 * Python's json.dumps writes NaN, Infinity and -Infinity bare, which JSON has not. NVIDIA's ModelOpt writes
 * how a checkpoint is quantised into hf_quant_config.json beside config.json, and not always into both. */
#include "models/networks/config.h"
#include "base/file.h"
#include "base/status.h"
#include "base/text.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MOST_BYTES ((size_t)16 << 20) /* checkpoints that list every quantised product have 3 MiB */

static const char config_name[] = "config.json", quantisation_name[] = "hf_quant_config.json";

/* What stands in their place is as long, so that errors keep their line and column: a number that no config
 * has, and a text of one DEL. */
static const struct {
    const char *word, *json;
} words[] = {{"Infinity", "1.0e+308"}, {"NaN", "\"\x7f\""}};

char *rt_config_value_text(const json_t *value)
{
    double number = json_number_value(value);
    if (json_is_string(value) && strcmp(json_string_value(value), "\x7f") == 0)
        return rt_strdup("NaN");
    if (json_is_real(value) && fabs(number) >= 1e308)
        return rt_strdup(number > 0 ? "Infinity" : "-Infinity");
    return json_dumps(value, JSON_ENCODE_ANY | JSON_COMPACT);
}

/* Bare words outside texts are replaced, in place. */
static void replace_words(char *text)
{
    bool quoted = false;
    for (char *at = text; *at != '\0'; at++) {
        if (quoted && *at == '\\' && at[1] != '\0')
            at++;
        else if (*at == '"')
            quoted = !quoted;
        for (size_t i = 0; i < RT_COUNT(words) && !quoted; i++)
            if (strncmp(at, words[i].word, strlen(words[i].word)) == 0) {
                memcpy(at, words[i].json, strlen(words[i].json));
                at += strlen(words[i].json) - 1; /* a NaN's quotes begin no text */
            }
    }
}

static int read_json(const char *path, json_t **out)
{
    char *text;
    size_t size;
    int status = rt_file_read(path, MOST_BYTES, &text, &size);
    if (status != RT_OK)
        return status;
    if (strlen(text) == size)
        replace_words(text);
    json_error_t error;
    *out = json_loadb(text, size, JSON_REJECT_DUPLICATES, &error);
    if (*out == NULL)
        status = rt_fail(RT_EFORMAT, "%s:%d:%d: not JSON: %s", path, error.line, error.column, error.text);
    free(text);
    return status;
}

/* "a/b_config.json" of "a/b_hf_quant_config.json"; NULL: the path does not end so. Free with free(). */
static char *renamed(const char *path, const char *from, const char *to)
{
    return rt_ends_with(path, from) ? rt_format("%.*s%s", (int)(strlen(path) - strlen(from)), path, to)
                                    : NULL;
}

/* What ModelOpt wrote beside the config, as if it was in it. */
static int add_quantisation(const char *path, json_t *config)
{
    json_t *root = NULL;
    int status = read_json(path, &root);
    if (status != RT_OK)
        return status;
    json_t *quantisation = json_object_get(root, "quantization");
    if (!json_is_object(quantisation))
        status = rt_fail(RT_EFORMAT,
                         "%s: \"quantization\" is missing, an object; give ModelOpt's file, or take it away",
                         path);
    else {
        json_object_set_new(quantisation, "quant_method", json_string("modelopt"));
        json_object_set(config, "quantization_config", quantisation);
    }
    json_decref(root);
    return status;
}

static bool is_quantised(const json_t *root)
{
    return json_is_object(json_object_get(root, "quantization_config")) ||
           json_is_object(json_object_get(json_object_get(root, "text_config"), "quantization_config"));
}

char *rt_config_path(const char *path)
{
    char *config = renamed(path, quantisation_name, config_name);
    return config != NULL ? config : rt_strdup(path);
}

int rt_config_read_file(const char *path, json_t **out)
{
    json_t *root = NULL;
    int status = read_json(path, &root);
    char *beside = renamed(path, config_name, quantisation_name);
    if (status == RT_OK && json_is_object(root) && !is_quantised(root) && rt_file_is_there(beside))
        status = add_quantisation(beside, root);
    free(beside);
    if (status != RT_OK) {
        json_decref(root);
        return status;
    }
    *out = root;
    return RT_OK;
}
