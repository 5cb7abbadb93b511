#include "base/status.h"
#include "base/locale.h"
#include "base/printable.h"
#include "base/terminal.h"

#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static _Thread_local char sentence[2048];

/* How sentences name the fields of a request: "kv_cache", or "--kv-cache" in those of the program. */
static bool as_options;

void rt_error_names_options(bool options)
{
    as_options = options;
}

/* The length of "{kv_cache}" at `text`; 0: there is no such thing. */
static size_t field_length(const char *text)
{
    size_t letters = *text == '{' ? strspn(text + 1, "abcdefghijklmnopqrstuvwxyz_0123456789") : 0;
    return letters > 0 && text[letters + 1] == '}' ? letters + 2 : 0;
}

/* `format` with the fields that it names in braces as the reader knows them. */
static void name_fields(const char *format, char *out, size_t size)
{
    size_t used = 0;
    while (*format != '\0' && used + 3 < size) {
        size_t length = field_length(format);
        if (length > 0 && as_options) {
            out[used++] = '-';
            out[used++] = '-';
        }
        for (size_t i = 1; i + 1 < length && used + 1 < size; i++)
            out[used++] = as_options && format[i] == '_' ? '-' : format[i];
        if (length == 0)
            out[used++] = *format;
        format += length > 0 ? length : 1;
    }
    out[used] = '\0';
}

struct rt_field_words rt_field_words(const char *field)
{
    struct rt_field_words words;
    char braced[sizeof words.text];
    snprintf(braced, sizeof braced, "{%.40s}", field);
    name_fields(braced, words.text, sizeof words.text);
    return words;
}

/* vsnprintf of such a format. Values that are printed stay as they are, whatever braces they hold. */
static void print_sentence(char *out, size_t size, const char *format, va_list arguments)
{
    char named[2048];
    name_fields(format, named, sizeof named);
    vsnprintf(out, size, named, arguments);
}

int rt_fail(int status, const char *format, ...)
{
    RT_C_LOCALE;
    char raw[sizeof sentence];
    va_list arguments;
    va_start(arguments, format);
    print_sentence(raw, sizeof raw, format, arguments);
    va_end(arguments);
    rt_printable(sentence, sizeof sentence, raw, false);
    return status;
}

int rt_fail_context(int status, const char *format, ...)
{
    RT_C_LOCALE;
    char context[512], whole[sizeof sentence];
    va_list arguments;
    va_start(arguments, format);
    print_sentence(context, sizeof context, format, arguments);
    va_end(arguments);
    snprintf(whole, sizeof whole, "%s: %.1500s", context, sentence);
    rt_printable(sentence, sizeof sentence, whole, false);
    return status;
}

int rt_fail_remedy(int status, const char *format, ...)
{
    RT_C_LOCALE;
    char remedy[512], whole[sizeof sentence];
    if (strchr(sentence, '`') != NULL)
        return status;
    va_list arguments;
    va_start(arguments, format);
    print_sentence(remedy, sizeof remedy, format, arguments);
    va_end(arguments);
    snprintf(whole, sizeof whole, "%.1500s; %s", sentence, remedy);
    rt_printable(sentence, sizeof sentence, whole, false);
    return status;
}

const char *rt_error(void)
{
    return sentence;
}

int rt_exit_status(int status)
{
    switch (status) {
    case RT_OK:
        return 0;
    case RT_EUSAGE:
        return 2;
    case RT_ENOFIT:
        return 3;
    case RT_EINTERRUPTED:
        return 130; /* 128 + SIGINT */
    default:
        return 1;
    }
}

static void say(const char *what, enum rt_style style, const char *format, va_list arguments)
{
    RT_C_LOCALE;
    char raw[sizeof sentence], line[sizeof sentence];
    print_sentence(raw, sizeof raw, format, arguments);
    rt_printable(line, sizeof line, raw, false);
    struct rt_terminal terminal = rt_terminal_of(stderr);
    fprintf(stderr, "rooftile: %s%s%s: %s\n", rt_terminal_style(&terminal, style), what,
            rt_terminal_style(&terminal, RT_STYLE_NONE), line); /* one call: lines of threads do not mix */
}

void rt_note(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say("note", RT_STYLE_DIM, format, arguments);
    va_end(arguments);
}

void rt_warn(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    say("warning", RT_STYLE_YELLOW, format, arguments);
    va_end(arguments);
}

static void *checked(void *block, size_t count, size_t size)
{
    if (block == NULL) {
        /* At once, as a kill would: files that are being written stay as they were (temporary.h). */
        fprintf(stderr, "rooftile: out of memory (%zu x %zu bytes asked for)\n", count, size);
        _exit(1);
    }
    return block;
}

void *rt_malloc(size_t size)
{
    return checked(malloc(size ? size : 1), 1, size);
}

void *rt_calloc(size_t count, size_t size)
{
    return checked(calloc(count ? count : 1, size ? size : 1), count, size);
}

void *rt_realloc(void *block, size_t count, size_t size)
{
    if (size != 0 && count > SIZE_MAX / size)
        checked(NULL, count, size);
    size_t bytes = count * size;
    return checked(realloc(block, bytes > 0 ? bytes : 1), count, size);
}

char *rt_strdup(const char *text)
{
    return checked(strdup(text), 1, strlen(text) + 1);
}

char *rt_vformat(const char *format, va_list arguments)
{
    RT_C_LOCALE;
    char *text = NULL;
    if (vasprintf(&text, format, arguments) < 0)
        text = NULL;
    return checked(text, 1, 0);
}

char *rt_format(const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    char *text = rt_vformat(format, arguments);
    va_end(arguments);
    return text;
}

char *rt_sentence(const char *format, ...)
{
    char named[2048];
    va_list arguments;
    name_fields(format, named, sizeof named);
    va_start(arguments, format);
    char *text = rt_vformat(named, arguments);
    va_end(arguments);
    return text;
}
