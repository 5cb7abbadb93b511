/* A text that grows: lists for messages, command lines. For whole files use rt_file_create. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

/* Starts as {0}. `text` is NUL-terminated, and NULL only before the first call. */
struct rt_text {
    char *text;
    size_t length, capacity;
};

void rt_text_add(struct rt_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* The same for one item of a list: `separator` goes before it, but not before the first. */
void rt_text_item(struct rt_text *text, const char *separator, const char *format, ...)
    __attribute__((format(printf, 3, 4)));

/* The text, "" where nothing was added; the caller frees it and `text` is {0} again. */
char *rt_text_take(struct rt_text *text);
void rt_text_release(struct rt_text *text);

bool rt_ends_with(const char *text, const char *end);
/* A copy of its first `length` letters, or of all that there are. Free with free(). */
char *rt_strndup(const char *text, size_t length);

/* A copy of the text as a terminal may print it (printable.h). */
char *rt_text_printable(const char *text, bool lines);

/* Prints `text` and a line end, broken between words into lines of at most `width` columns that begin at
 * column `left`; the first goes on at `column`. Its own line ends stay, and so do the spaces that a line
 * begins with. */
void rt_print_wrapped(FILE *file, const char *text, int left, int column, int width);

/* Prints the text as one line of Markdown that shows it, for CommonMark, GitHub and Python-Markdown alike: no
 * tag of HTML, link or code begins in it, line ends are spaces. In a sentence what stands between backticks
 * is code. */
enum rt_markdown { RT_MARKDOWN_NAME, RT_MARKDOWN_CELL, RT_MARKDOWN_SENTENCE };
void rt_print_markdown(FILE *file, const char *text, enum rt_markdown kind);

/* A number in words and at bars, as people write it: three significant digits, all those before the point, no
 * zeros at the end behind it; a power of ten only below 0.0001, from 10 million on millions, billions and
 * trillions: "0.0123", "23.7", "23719", "1.2 billion". */
struct rt_number_text {
    char text[32];
};
struct rt_number_text rt_number_text(double number);

/* A bar of 1 to 32 letters for a share of 0 to 1. Free with free(). */
char *rt_text_bar(double share);

/* Text of HTML or SVG, also between double quotes of an attribute: & < > " ' as entities, control characters
 * and what is no UTF-8 as in printable.h; line ends stay. */
void rt_html_text(const char *text, FILE *file);
