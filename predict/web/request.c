/* From the fields of a client to the words of a command. See request.h. */
#include "predict/web/request.h"
#include "base/status.h"
#include "base/text.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

enum { LONGEST = 4096 }; /* of a value that is no config.json */

void rt_web_words_release(struct rt_web_words *words)
{
    for (size_t i = 0; i < words->count; i++)
        free((char *)(uintptr_t)words->word[i]);
    free(words->word);
    free(words->config);
    *words = (struct rt_web_words){0};
}

void rt_web_words_add(struct rt_web_words *words, char *word)
{
    words->word = rt_realloc(words->word, words->count + 2, sizeof *words->word);
    words->word[words->count++] = word;
    words->word[words->count] = NULL;
}

/* A slash that letters, digits or "._-" do not stand before begins at a root or names a folder above; an
 * address on the Hub is a name. */
bool rt_web_is_path(const char *text)
{
    static const char hub[] = "https://huggingface.co/";
    if (strncmp(text, hub, sizeof hub - 1) == 0)
        text += sizeof hub - 1;
    if (strstr(text, "..") != NULL || strchr(text, '\\') != NULL || strchr(text, '~') != NULL)
        return true;
    for (const char *at = strchr(text, '/'); at != NULL; at = strchr(at + 1, '/'))
        if (at == text || !(isalnum((unsigned char)at[-1]) || at[-1] == '_' || at[-1] == '-'))
            return true;
    return false;
}

static int check_text(const char *text)
{
    if (strlen(text) > LONGEST)
        return rt_fail(RT_EUSAGE, "\"%.40s...\" is longer than %d bytes", text, LONGEST);
    if (rt_web_is_path(text))
        return rt_fail(RT_EUSAGE,
                       "\"%.80s\" is a path: models and GPUs have names here, and a config.json is sent as "
                       "\"config\"",
                       text);
    return RT_OK;
}

int rt_web_check(const json_t *value)
{
    const char *key;
    json_t *one;
    size_t i;
    int status = json_is_string(value) ? check_text(json_string_value(value)) : RT_OK;
    json_object_foreach((json_t *)(uintptr_t)value, key, one) if (status == RT_OK) status = rt_web_check(one);
    json_array_foreach(value, i, one) if (status == RT_OK) status = rt_web_check(one);
    return status;
}

/* ---- words ---- */

/* "8", "H100,B200"; NULL: nothing is said. To be freed. */
static char *text_of(const json_t *value)
{
    if (json_is_string(value))
        return json_string_length(value) > 0 ? rt_strdup(json_string_value(value)) : NULL;
    if (json_is_integer(value))
        return rt_format("%" JSON_INTEGER_FORMAT, json_integer_value(value));
    if (json_is_real(value))
        return rt_format("%.17g", json_real_value(value));
    if (json_is_true(value))
        return rt_strdup("true");
    struct rt_text list = {0};
    size_t i;
    json_t *one;
    json_array_foreach(value, i, one)
    {
        char *text = text_of(one);
        if (text != NULL)
            rt_text_item(&list, ",", "%s", text);
        free(text);
    }
    if (list.length > 0)
        return rt_text_take(&list);
    rt_text_release(&list);
    return NULL;
}

/* The option of that field, "kv_cache" of --kv-cache; NULL: there is none, or it is not for clients. */
static const struct rt_option *option_of(const struct rt_command *command, const char *field)
{
    static const char *const own[] = {"jobs", "threads", "json", "overwrite", "quiet", "report"};
    for (size_t i = 0; i < RT_COUNT(own); i++)
        if (strcmp(own[i], field) == 0)
            return NULL;
    for (size_t i = 0; i < command->option_count; i++) {
        const struct rt_option *option = &command->options[i];
        const char *a = option->name, *b = field;
        while (a != NULL && *a != '\0' && *a == (*b == '_' ? '-' : *b))
            a++, b++;
        if (a != NULL && *a == '\0' && *b == '\0')
            return option->field.writes != NULL ? NULL : option;
    }
    return NULL;
}

static bool is_among(const char *name, const char *names)
{
    size_t length = strlen(name);
    for (const char *at = strstr(names, name); at != NULL; at = strstr(at + 1, name))
        if ((at == names || at[-1] == ' ') && (at[length] == ' ' || at[length] == '\0'))
            return true;
    return false;
}

static int add_field(const struct rt_command *command, const char *name, const json_t *value,
                     struct rt_web_words *words)
{
    const struct rt_option *option = option_of(command, name);
    if (option == NULL)
        return rt_fail(RT_EUSAGE, "\"%.40s\" is no field of %s", name, command->name);
    int status = rt_web_check(value);
    char *text = status == RT_OK ? text_of(value) : NULL;
    bool off = text != NULL && option->argument == NULL && strcmp(text, "false") == 0;
    if (text != NULL && !off)
        rt_web_words_add(words, option->argument == NULL ? rt_format("--%s", option->name)
                                                         : rt_format("--%s=%s", option->name, text));
    free(text);
    return status;
}

/* The field "config", a text of JSON or JSON itself; NULL: there is none, or a blank text. To be freed. */
static char *config_of(const json_t *fields)
{
    const json_t *value = json_object_get(fields, "config");
    if (!json_is_string(value))
        return value != NULL ? json_dumps(value, JSON_ENCODE_ANY) : NULL;
    const char *text = json_string_value(value);
    return text[strspn(text, " \t\r\n")] != '\0' ? rt_strdup(text) : NULL;
}

int rt_web_words_of(const struct rt_command *command, const json_t *fields, const char *only,
                    struct rt_web_words *out)
{
    struct rt_web_words words = {.config = config_of(fields)};
    const char *name;
    json_t *value;
    int status = RT_OK;
    rt_web_words_add(&words, rt_strdup("rooftile"));
    rt_web_words_add(&words, rt_strdup(command->name));
    json_object_foreach((json_t *)(uintptr_t)fields, name, value)
    {
        bool replaced = strcmp(name, "config") == 0 || (words.config != NULL && strcmp(name, "model") == 0);
        if (status == RT_OK && !replaced && (only == NULL || is_among(name, only)))
            status = add_field(command, name, value, &words);
    }
    if (status != RT_OK) {
        rt_web_words_release(&words);
        return status;
    }
    *out = words;
    return RT_OK;
}

/* ---- fields ---- */

void rt_web_add_value(json_t *fields, const char *name, json_t *value)
{
    json_t *old = json_object_get(fields, name);
    if (old == NULL)
        json_object_set_new(fields, name, value);
    else if (json_is_array(old))
        json_array_append_new(old, value);
    else
        json_object_set_new(fields, name, json_pack("[O, o]", old, value));
}
