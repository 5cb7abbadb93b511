/* Writing YAML. See yaml.h. */
#include "base/yaml.h"
#include "base/printable.h"
#include "base/status.h"
#include "base/text.h"

#include <ctype.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

/* ---- texts ---- */

/* What YAML 1.1 reads as a boolean or as nothing where it stands without quotes. */
static bool is_word_of_yaml(const char *text)
{
    static const char *const words[] = {"true", "false", "yes", "no", "on", "off", "null", "y", "n"};
    for (size_t i = 0; i < RT_COUNT(words); i++)
        if (strcasecmp(text, words[i]) == 0)
            return true;
    return false;
}

/* May it stand without quotes? From a letter on, of letters, digits and what means nothing in YAML. */
static bool is_plain(const char *text)
{
    size_t length = strlen(text);
    if (!isalpha((unsigned char)text[0]) || text[length - 1] == ' ' || is_word_of_yaml(text))
        return false;
    for (size_t i = 0; i < length; i++)
        if (!isalnum((unsigned char)text[i]) && strchr(" -_./+()", text[i]) == NULL)
            return false;
    return true;
}

/* Characters that may not stand in a stream (YAML 1.2, 5.1), or that YAML 1.1 takes for the end of a line;
 * and those that a terminal acts on. */
static bool is_escaped(unsigned code)
{
    return rt_is_control(code) || code == 0x2028 || code == 0x2029 || code == 0xfeff || code == 0xfffe ||
           code == 0xffff;
}

/* JSON's quoted text is YAML's, but for the characters above. */
static void add_quoted(struct rt_text *out, const json_t *text)
{
    char *json = json_dumps(text, JSON_ENCODE_ANY);
    unsigned code = 0;
    for (const char *at = json; *at != '\0';) {
        size_t length = rt_utf8(at, &code);
        length = length > 0 ? length : 1;
        if (is_escaped(code))
            rt_text_add(out, "\\u%04X", code);
        else
            rt_text_add(out, "%.*s", (int)length, at);
        at += length;
    }
    free(json);
}

static void add_text(struct rt_text *out, const char *text)
{
    json_t *value = json_string(text);
    if (is_plain(text))
        rt_text_add(out, "%s", text);
    else
        add_quoted(out, value);
    json_decref(value);
}

/* ---- values ---- */

static void add_real(struct rt_text *out, double value)
{
    char *text = rt_format("%.6f", value);
    size_t length = strlen(text);
    while (text[length - 1] == '0' && text[length - 2] != '.')
        length--;
    rt_text_add(out, "%.*s", (int)length, text);
    free(text);
}

static void add_scalar(struct rt_text *out, const json_t *value)
{
    if (json_is_string(value))
        add_text(out, json_string_value(value));
    else if (json_is_integer(value))
        rt_text_add(out, "%lld", (long long)json_integer_value(value));
    else if (json_is_real(value))
        add_real(out, json_real_value(value));
    else
        rt_text_add(out, "%s", json_is_true(value) ? "true" : json_is_false(value) ? "false" : "null");
}

static void add_members(struct rt_text *out, const json_t *object, int indent, bool open);

/* Items stand below their key, a dash before each; an item's members beside the dash. */
static void add_items(struct rt_text *out, const json_t *array, int indent)
{
    size_t i;
    json_t *item;
    json_array_foreach(array, i, item)
    {
        rt_text_add(out, "%*s- ", indent, "");
        if (json_object_size(item) > 0) {
            add_members(out, item, indent + 2, true);
        } else {
            add_scalar(out, item);
            rt_text_add(out, "\n");
        }
    }
}

/* What follows "key:". */
static void add_value(struct rt_text *out, const json_t *value, int indent)
{
    if (json_array_size(value) > 0) {
        rt_text_add(out, "\n");
        add_items(out, value, indent);
    } else if (json_object_size(value) > 0) {
        rt_text_add(out, "\n");
        add_members(out, value, indent + 2, false);
    } else if (json_is_array(value) || json_is_object(value)) {
        rt_text_add(out, json_is_array(value) ? " []\n" : " {}\n");
    } else {
        rt_text_add(out, " ");
        add_scalar(out, value);
        rt_text_add(out, "\n");
    }
}

/* `open`: the first member goes on in its line. */
static void add_members(struct rt_text *out, const json_t *object, int indent, bool open)
{
    const char *key;
    json_t *value;
    json_object_foreach((json_t *)(uintptr_t)object, key, value)
    {
        rt_text_add(out, "%*s", open ? 0 : indent, "");
        add_text(out, key);
        rt_text_add(out, ":");
        add_value(out, value, indent);
        open = false;
    }
}

char *rt_yaml_text(const json_t *object)
{
    struct rt_text out = {0};
    add_members(&out, object, 0, false);
    return rt_text_take(&out);
}
