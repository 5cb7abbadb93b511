/* A text that grows. See text.h. */
#include "base/text.h"
#include "base/status.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

static void reserve(struct rt_text *text, size_t more)
{
    size_t needed = text->length + more + 1;
    if (needed <= text->capacity)
        return;
    text->capacity = needed > 2 * text->capacity ? needed : 2 * text->capacity;
    text->text = rt_realloc(text->text, text->capacity, 1);
}

static void add(struct rt_text *text, const char *format, va_list arguments)
{
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
