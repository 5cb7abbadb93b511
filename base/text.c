/* A text that grows. See text.h. */
#include "base/text.h"
#include "base/array.h"
#include "base/locale.h"
#include "base/printable.h"
#include "base/status.h"

#include <ctype.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

bool rt_ends_with(const char *text, const char *end)
{
    size_t length = strlen(text), tail = strlen(end);
    return length >= tail && strcmp(text + length - tail, end) == 0;
}

char *rt_strndup(const char *text, size_t length)
{
    length = strnlen(text, length);
    char *copy = rt_malloc(length + 1);
    memcpy(copy, text, length);
    copy[length] = '\0';
    return copy;
}

static void reserve(struct rt_text *text, size_t more)
{
    RT_GROW(text->text, text->length, more + 1, text->capacity);
}

static void add(struct rt_text *text, const char *format, va_list arguments)
{
    RT_C_LOCALE;
    va_list again;
    va_copy(again, arguments);
    int length = vsnprintf(NULL, 0, format, arguments);
    if (length < 0) /* a character that the locale cannot print */
        length = 0;
    reserve(text, (size_t)length);
    vsnprintf(text->text + text->length, (size_t)length + 1, format, again);
    text->length += (size_t)length;
    va_end(again);
}

void rt_text_add(struct rt_text *text, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    add(text, format, arguments);
    va_end(arguments);
}

void rt_text_item(struct rt_text *text, const char *separator, const char *format, ...)
{
    va_list arguments;
    if (text->length > 0)
        rt_text_add(text, "%s", separator);
    va_start(arguments, format);
    add(text, format, arguments);
    va_end(arguments);
}

char *rt_text_take(struct rt_text *text)
{
    reserve(text, 0);
    text->text[text->length] = '\0';
    char *taken = text->text;
    *text = (struct rt_text){0};
    return taken;
}

void rt_text_release(struct rt_text *text)
{
    free(text->text);
    *text = (struct rt_text){0};
}

char *rt_text_printable(const char *text, bool lines)
{
    size_t size = rt_printable(NULL, 0, text, lines) + 1;
    char *copy = rt_malloc(size);
    rt_printable(copy, size, text, lines);
    return copy;
}

void rt_print_wrapped(FILE *file, const char *text, int left, int column, int width)
{
    while (*text != '\0') {
        int spaces = (int)strspn(text, " \n"), length = (int)strcspn(text + spaces, " \n");
        bool own_line = memchr(text, '\n', (size_t)spaces) != NULL;
        if (!own_line && spaces > 0 && length > 0 && column + spaces + length > width) {
            fprintf(file, "\n%*s", left, "");
            column = left;
            text += spaces;
            spaces = 0;
        }
        for (; spaces > 0; spaces--, text++) {
            bool indent = *text == '\n' && text[1] != '\n';
            fprintf(file, "%c%*s", *text, indent ? left : 0, "");
            column = *text == '\n' ? left : column + 1;
        }
        fprintf(file, "%.*s", length, text);
        column += length;
        text += length;
    }
    fputc('\n', file);
}

/* Digits behind the point that make three significant ones: 9.996 is 10.0. -1: a power of ten is better. */
static int digits_of(double size)
{
    if (size >= 99.95 || size == 0)
        return 0;
    return size >= 1e-4 ? 2 - (int)floor(log10(size * 1.0005)) : -1;
}

struct rt_number_text rt_number_text(double number)
{
    static const char *const names[] = {"", " million", " billion", " trillion"};
    struct rt_number_text out;
    size_t name = 0, end;
    double unit = 1;
    if (isfinite(number) && fabs(number) >= 1e7)
        for (unit = 1e6, name = 1; fabs(number) / unit >= 999.5 && name + 1 < RT_COUNT(names); name++)
            unit *= 1000;
    int digits = isfinite(number) ? digits_of(fabs(number) / unit) : -1;
    if (digits < 0)
        snprintf(out.text, sizeof out.text, "%.3g", number);
    else
        snprintf(out.text, sizeof out.text, fabs(number) / unit < 1e15 ? "%.*f" : "%.*g", digits,
                 number / unit);
    for (end = strlen(out.text); digits > 0 && out.text[end - 1] == '0';)
        end--;
    end -= digits > 0 && out.text[end - 1] == '.';
    snprintf(out.text + end, sizeof out.text - end, "%s", names[name]);
    return out;
}

char *rt_text_bar(double share)
{
    enum { LETTERS = 32 };
    char *bar = rt_calloc(LETTERS + 1, 1);
    memset(bar, '#', (size_t)fmax(1, fmin(LETTERS, round(LETTERS * share))));
    return bar;
}

/* What a line must not begin with: a heading, a quotation, a list. */
static bool is_block(const char *text)
{
    return *text == '#' || *text == '>' || (strchr("+-", *text) != NULL && text[1] == ' ');
}

/* Is what stands between single backticks code, as in sentences of ours that name commands? */
static bool has_code(const char *text)
{
    size_t ticks = 0;
    for (const char *at = text; *at != '\0'; at++)
        ticks += *at == '`';
    return ticks % 2 == 0 && strstr(text, "``") == NULL;
}

/* Stars stay: cards stress words with them, and a name can do no more. "&lt;" and "&amp;" because
 * Python-Markdown knows no escapes of "<" and "&". */
void rt_print_markdown(FILE *file, const char *text, enum rt_markdown kind)
{
    bool knows_code = kind == RT_MARKDOWN_SENTENCE && has_code(text), code = false;
    for (const char *at = text; *at != '\0'; at++) {
        bool tick = *at == '`' && knows_code;
        bool sign = (!code && !tick && strchr("\\`[]", *at) != NULL) ||
                    (*at == '|' && kind == RT_MARKDOWN_CELL) || (at == text && is_block(text));
        bool begins =
            !code && (isalpha((unsigned char)at[1]) || (at[1] != '\0' && strchr("#/!?", at[1]) != NULL));
        if (begins && strchr("<&", *at) != NULL)
            fputs(*at == '&' ? "&amp;" : "&lt;", file);
        else if (isspace((unsigned char)*at))
            fputc(' ', file);
        else
            fprintf(file, sign ? "\\%c" : "%c", *at);
        code = code != tick;
    }
}

/* ---- HTML ---- */

static void add_html(struct rt_text *out, const char *text)
{
    static const char signs[] = "&<>\"'";
    static const char *const entities[] = {"&amp;", "&lt;", "&gt;", "&quot;", "&#39;", ""};
    char *printable = rt_text_printable(text, true);
    for (const char *at = printable; *at != '\0';) {
        size_t plain = strcspn(at, signs);
        rt_text_add(out, "%.*s%s", (int)plain, at, entities[strchr(signs, at[plain]) - signs]);
        at += plain + (at[plain] != '\0');
    }
    free(printable);
}

void rt_html_text(const char *text, FILE *file)
{
    struct rt_text html = {0};
    add_html(&html, text);
    fputs(html.length > 0 ? html.text : "", file);
    rt_text_release(&html);
}
