/* A table of distinct strings: kernel names repeat, so samples keep an index. Also text <-> number. */
#pragma once

#include "base/hash_set.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct rt_strings {
    char *text; /* all strings one after the other, each NUL-terminated */
    size_t size, capacity;
    size_t *offset; /* of each string in text */
    size_t count, offset_capacity;
    struct rt_hash_set set;
};

/* An empty table is {0}. */
void rt_strings_release(struct rt_strings *strings);

/* Index of the string of that length, added where it is new. Bytes 0 inside end it there. */
int32_t rt_strings_add(struct rt_strings *strings, const char *text, size_t length);
int32_t rt_strings_find(const struct rt_strings *strings, const char *text, size_t length); /* -1: none */

/* The string of an index; "" out of range. */
const char *rt_strings_get(const struct rt_strings *strings, int32_t index);

/* Equality that ignores case, " ", "-" and "_": file names spell device names in these ways. */
bool rt_name_equal(const char *a, const char *b);
/* The same number for equal names, and hardly ever for others; never 0. */
uint64_t rt_name_key(const char *name);

/* Does `name` contain `part`, ignoring the same? "a100 pcie" is in "NVIDIA A100-PCIE-40GB". */
bool rt_name_contains(const char *name, const char *part);

/* Does it contain them as whole words? "a100 pcie" is in "NVIDIA A100-PCIE-40GB", "L4" not in "L40S". */
bool rt_name_has_words(const char *name, const char *words);

/* Is `name` what `pattern` says, ignoring the same: the name itself, or one with * for any letters and ? for
 * one? "gpt2" is not "gpt2-large", "gpt2*" is. Every choice of models by name is by this. */
bool rt_name_matches(const char *name, const char *pattern);

/* Levenshtein's distance of the first 127 letters. */
size_t rt_name_distance(const char *a, const char *b);

/* May `wanted` be a slip of `known`? Both without separators, in lower case. Words: at most 1 + length / 3
 * letters differ. Names with digits are model numbers, where another letter or digit is another thing (GB200
 * is no GH200, T4 no L4): one is the beginning of the other, or letters were left out, doubled or swapped:
 * one, two in names of six and more, and at most one digit. */
bool rt_name_near(const char *known, const char *wanted);

/* The known names nearest to an unknown one, for its error sentence: nearest first, "" where there are fewer.
 * Starts as {0}. */
enum { RT_HINTS = 3 };
struct rt_hints {
    char name[RT_HINTS][96];
    size_t distance[RT_HINTS];
};
void rt_hints_add(struct rt_hints *hints, const char *name, size_t distance);
/* "; nearest names: H100, H200", "" where there is none. Free with free(). */
char *rt_hints_words(const struct rt_hints *hints);

/* 64-bit FNV-1a, continued from `hash` (start with RT_HASH_START). */
#define RT_HASH_START 0xcbf29ce484222325u
uint64_t rt_hash(uint64_t hash, const void *bytes, size_t size);

/* Cuts spaces, tabs and carriage returns at both ends in place; returns the new start. */
char *rt_trim(char *text);

/* A whole decimal number, a finite real number; -1 for any other text. Independent of the locale. */
int rt_parse_integer(const char *text, size_t length, int64_t *value);
int rt_parse_real(const char *text, size_t length, double *value);
