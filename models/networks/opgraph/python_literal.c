/* A strict parser of Python literals. See python_literal.h. */
#include "models/networks/opgraph/python_literal.h"
#include "base/array.h"
#include "base/status.h"
#include "base/strings.h"

#include <ctype.h>
#include <string.h>

#define DEPTH_LIMIT 16                /* the tables nest four deep */
#define VALUE_LIMIT ((size_t)1 << 22) /* in one cell */

struct parser {
    const char *start, *at, *end;
    struct rt_python_literals *out;
    int depth;
};

static int refuse(const struct parser *parser, const char *what)
{
    return rt_fail(RT_EFORMAT, "character %zu: %s", (size_t)(parser->at - parser->start) + 1, what);
}

static void skip_spaces(struct parser *parser)
{
    while (parser->at < parser->end && *parser->at == ' ')
        parser->at++;
}

/* Is `c` the next character? Then it is taken. */
static int take(struct parser *parser, char c)
{
    if (parser->at == parser->end || *parser->at != c)
        return 0;
    parser->at++;
    return 1;
}

static uint32_t add_value(struct parser *parser, enum rt_python_literal_kind kind)
{
    struct rt_python_literals *out = parser->out;
    RT_GROW(out->value, out->count, 1, out->capacity);
    out->value[out->count] = (struct rt_python_literal){.kind = kind, .end = (uint32_t)out->count + 1};
    return (uint32_t)out->count++;
}

static int parse_integer(struct parser *parser)
{
    const char *start = parser->at, *end = start;
    while (end < parser->end && (isalnum((unsigned char)*end) || memchr("+-._", *end, 4) != NULL))
        end++;
    int64_t integer = 0;
    if (end == start)
        return refuse(parser, "a number, a text in quotes or a bracket must stand here");
    if (rt_parse_integer(start, (size_t)(end - start), &integer) != 0)
        return rt_fail(RT_EFORMAT, "character %zu: \"%.*s\" is no whole number of at most 18 digits",
                       (size_t)(start - parser->start) + 1, end - start > 40 ? 40 : (int)(end - start),
                       start);
    parser->at = end;
    uint32_t value = add_value(parser, RT_PYTHON_INTEGER); /* moves the array */
    parser->out->value[value].integer = integer;
    return RT_OK;
}

static int parse_text(struct parser *parser, char quote)
{
    const char *start = ++parser->at;
    while (parser->at < parser->end && *parser->at != quote && *parser->at != '\\')
        parser->at++;
    if (parser->at == parser->end)
        return refuse(parser, "the text has no closing quote");
    if (*parser->at == '\\')
        return refuse(parser, "texts with a backslash are not read");
    uint32_t value = add_value(parser, RT_PYTHON_TEXT); /* moves the array */
    parser->out->value[value].text = start;
    parser->out->value[value].length = (uint32_t)(parser->at++ - start);
    return RT_OK;
}

/* "(5)" is 5 in Python, "(5,)" a tuple. */
static void unwrap(struct rt_python_literals *out, uint32_t list)
{
    out->count--;
    memmove(out->value + list, out->value + list + 1, (out->count - list) * sizeof *out->value);
    for (size_t i = list; i < out->count; i++)
        out->value[i].end--;
}

static int parse_value(struct parser *parser);

static int parse_list(struct parser *parser, char closing)
{
    uint32_t list = add_value(parser, RT_PYTHON_LIST), count = 0;
    int comma = 1, status = RT_OK;
    if (++parser->depth > DEPTH_LIMIT)
        return refuse(parser, "brackets nest more than 16 deep");
    parser->at++;
    while (skip_spaces(parser), !take(parser, closing)) {
        if (parser->at == parser->end)
            return rt_fail(RT_EFORMAT, "character %zu: a '%c' is missing",
                           (size_t)(parser->at - parser->start) + 1, closing);
        if (!comma)
            return rt_fail(RT_EFORMAT, "character %zu: a ',' or '%c' must stand here",
                           (size_t)(parser->at - parser->start) + 1, closing);
        if ((status = parse_value(parser)) != RT_OK)
            return status;
        count++;
        skip_spaces(parser);
        comma = take(parser, ',');
    }
    parser->depth--;
    parser->out->value[list].count = count;
    parser->out->value[list].end = (uint32_t)parser->out->count;
    if (closing == ')' && count == 1 && !comma)
        unwrap(parser->out, list);
    return RT_OK;
}

static int parse_value(struct parser *parser)
{
    skip_spaces(parser);
    if (parser->out->count >= VALUE_LIMIT)
        return refuse(parser, "the cell holds more than 4 million values");
    size_t left = (size_t)(parser->end - parser->at);
    if (left >= 5 && memcmp(parser->at, "set()", 5) == 0) {
        parser->at += 5;
        add_value(parser, RT_PYTHON_LIST);
        return RT_OK;
    }
    switch (left > 0 ? *parser->at : '\0') {
    case '[':
        return parse_list(parser, ']');
    case '(':
        return parse_list(parser, ')');
    case '{':
        return parse_list(parser, '}');
    case '\'':
    case '"':
        return parse_text(parser, *parser->at);
    default:
        return parse_integer(parser);
    }
}

int rt_python_literal_parse(const char *text, size_t length, struct rt_python_literals *out)
{
    struct parser parser = {.start = text, .at = text, .end = text + length, .out = out};
    out->count = 0;
    int status = parse_value(&parser);
    skip_spaces(&parser);
    if (status == RT_OK && parser.at != parser.end)
        status = refuse(&parser, "more follows where the value has ended");
    return status;
}
