/* Values of options: how the text of each kind is read. See options.h. */
#include "base/options.h"
#include "base/printable.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/text.h"

#include <ctype.h>
#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

void rt_names_add(struct rt_names *names, const char *name)
{
    names->name = rt_realloc(names->name, names->count + 1, sizeof *names->name);
    names->name[names->count++] = name;
}

bool rt_names_match(const struct rt_names *patterns, const char *name)
{
    bool any = false;
    for (size_t i = 0; !any && i < patterns->count; i++)
        any = rt_name_matches(name, patterns->name[i]);
    return any;
}

bool rt_names_have_words(const struct rt_names *names, const char *text)
{
    for (size_t i = 0; i < names->count; i++)
        if (rt_name_has_words(text, names->name[i]))
            return true;
    return names->count == 0;
}

void rt_names_release(struct rt_names *names)
{
    free(names->name);
    *names = (struct rt_names){0};
}

/* ---- values ---- */

int rt_argument_integer(const char *option, const char *text, int64_t least, int64_t most, int64_t *value)
{
    int64_t parsed;
    if (rt_parse_integer(text, strlen(text), &parsed) != 0 || parsed < least || parsed > most)
        return rt_fail(RT_EUSAGE, "%s %s: must be a whole number from %" PRId64 " to %" PRId64, option, text,
                       least, most);
    *value = parsed;
    return RT_OK;
}

int rt_argument_real(const char *option, const char *text, double least, double most, double *value)
{
    double parsed;
    if (rt_parse_real(text, strlen(text), &parsed) != 0 || parsed < least || parsed > most)
        return rt_fail(RT_EUSAGE, "%s %s: must be a number from %g to %g", option, text, least, most);
    *value = parsed;
    return RT_OK;
}

int rt_argument_choice(const char *option, const char *text, const char *const *names, int count, int *value)
{
    struct rt_text known = {0};
    for (int i = 0; i < count; i++) {
        if (strcmp(text, names[i]) == 0) {
            rt_text_release(&known);
            *value = i;
            return RT_OK;
        }
        rt_text_item(&known, i + 1 < count ? ", " : " or ", "%s", names[i]);
    }
    int status = rt_fail(RT_EUSAGE, "%s %s: choose %s", option, text, known.text);
    rt_text_release(&known);
    return status;
}

int rt_check_utf8(const char *option, const char *text)
{
    return rt_is_utf8(text) ? RT_OK : rt_fail(RT_EUSAGE, "%s %s: is not UTF-8; write it so", option, text);
}

int rt_read_flag(const struct rt_option_value *field, const char *option, const char *text, void *value)
{
    (void)field, (void)option, (void)text;
    *(bool *)value = true;
    return RT_OK;
}

int rt_read_text(const struct rt_option_value *field, const char *option, const char *text, void *value)
{
    (void)field, (void)option;
    *(const char **)value = text;
    return RT_OK;
}

static int refuse_twice(const struct rt_option_value *field, const char *option, const char *text,
                        size_t length, const struct rt_names *names)
{
    for (size_t i = 0; field->once && i < names->count; i++)
        if (strlen(names->name[i]) == length && strncmp(names->name[i], text, length) == 0)
            return rt_fail(RT_EUSAGE, "%s %.*s: is given a second time; give it once", option, (int)length,
                           text);
    return RT_OK;
}

int rt_read_list(const struct rt_option_value *field, const char *option, const char *text, void *value)
{
    int status = refuse_twice(field, option, text, strlen(text), value);
    if (status == RT_OK)
        rt_names_add(value, text);
    return status;
}

/* Up to the next comma; of specs with the changes behind it. */
static size_t item_length(const struct rt_option_value *field, const char *item)
{
    size_t length = strcspn(item, ",");
    while (field->specs && length > 0 && item[length] == ',') {
        size_t next = strcspn(item + length + 1, ",");
        if (memchr(item + length + 1, '=', next) == NULL)
            break;
        length += 1 + next;
    }
    return length;
}

int rt_read_items(const struct rt_option_value *field, const char *option, const char *text, void *value)
{
    for (const char *item = text;; item++) {
        size_t length = item_length(field, item);
        if (length == 0) /* an empty text is part of every name */
            return rt_fail(RT_EUSAGE, "%s %s: has an empty name; write NAME or NAME,NAME", option, text);
        int status = refuse_twice(field, option, item, length, value);
        if (status != RT_OK)
            return status;
        rt_names_add(value, rt_format("%.*s", (int)length, item));
        item += length;
        if (*item == '\0')
            return RT_OK;
    }
}

int rt_read_integer(const struct rt_option_value *field, const char *option, const char *text, void *value)
{
    int64_t parsed = 0;
    int status = rt_argument_integer(option, text, field->least, field->most, &parsed);
    if (status == RT_OK && field->size == sizeof(int))
        *(int *)value = (int)parsed;
    else if (status == RT_OK)
        *(int64_t *)value = parsed;
    return status;
}

int rt_read_real(const struct rt_option_value *field, const char *option, const char *text, void *value)
{
    return rt_argument_real(option, text, field->from, field->to, value);
}

/* A time in the option's `unit` of so many seconds, which a number alone has too. */
static int read_time(const struct rt_option_value *field, const char *option, const char *text,
                     const char *unit, double seconds, double *out)
{
    const struct {
        const char *suffix;
        double seconds;
    } units[] = {{"", seconds}, {"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}};
    size_t digits = strlen(text), u = 0;
    double parsed = -1;
    while (digits > 0 && isalpha((unsigned char)text[digits - 1]))
        digits--;
    while (u < RT_COUNT(units) && strcmp(text + digits, units[u].suffix) != 0)
        u++;
    if (u == RT_COUNT(units) || rt_parse_real(text, digits, &parsed) != 0 || !(parsed >= 0))
        return rt_fail(RT_EUSAGE, "%s %s: must be a time such as 200ms, 60s, 8m or 2h", option, text);
    parsed *= units[u].seconds / seconds; /* exactly 1 in its own unit */
    if (parsed < field->from || parsed > field->to)
        return rt_fail(RT_EUSAGE, "%s %s: must be from %g %s to %g %s", option, text, field->from, unit,
                       field->to, unit);
    *out = parsed;
    return RT_OK;
}

int rt_read_seconds(const struct rt_option_value *field, const char *option, const char *text, void *value)
{
    return read_time(field, option, text, "s", 1, value);
}

int rt_read_milliseconds(const struct rt_option_value *field, const char *option, const char *text,
                         void *value)
{
    return read_time(field, option, text, "ms", 1e-3, value);
}

int rt_read_choice(const struct rt_option_value *field, const char *option, const char *text, void *value)
{
    return rt_argument_choice(option, text, field->choices, field->choice_count, value);
}

int rt_read_shard(const struct rt_option_value *field, const char *option, const char *text, void *value)
{
    const char *slash = strchr(text, '/');
    int64_t number = 0, of = 0;
    (void)field;
    if (slash == NULL || rt_parse_integer(text, (size_t)(slash - text), &number) != 0 ||
        rt_parse_integer(slash + 1, strlen(slash + 1), &of) != 0 || number < 1 || number > of || of > 1000000)
        return rt_fail(RT_EUSAGE, "%s %s: must be I/N with I from 1 to N, such as 1/4", option, text);
    *(struct rt_shard *)value = (struct rt_shard){(size_t)number, (size_t)of};
    return RT_OK;
}

bool rt_shard_has(struct rt_shard shard, size_t i)
{
    return shard.of < 2 || i % shard.of == shard.number - 1;
}

int rt_read_own(const struct rt_option_value *field, const char *option, const char *text, void *value)
{
    return field->own(option, text, value);
}
