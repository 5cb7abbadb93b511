/* A table of distinct strings: kernel names repeat, so samples keep an index. Also text <-> number. */
#ifndef ROOFTILE_BASE_STRINGS_H
#define ROOFTILE_BASE_STRINGS_H

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

/* The string of an index; "" for -1 and for what is out of range. */
const char *rt_strings_get(const struct rt_strings *strings, int32_t index);

/* Is it the same name, with case and " ", "-", "_" alike? File names carry device names so. */
bool rt_name_equal(const char *a, const char *b);

/* Does `name` contain `part`, with case and " ", "-", "_" alike? "A100" is in "NVIDIA A100-PCIE-40GB". */
bool rt_name_contains(const char *name, const char *part);

/* How many letters it takes to turn one name into the other (Levenshtein); compared up to 127 letters. */
size_t rt_name_distance(const char *a, const char *b);

/* The names nearest to one that nothing has, for the sentence that says so. Starts as {0}; keeps the nearest
 * first, "" where there were fewer. */
enum { RT_HINTS = 3 };
struct rt_hints {
    char name[RT_HINTS][96];
    size_t distance[RT_HINTS];
};
void rt_hints_add(struct rt_hints *hints, const char *name, size_t distance);

/* 64-bit FNV-1a, continued from `hash` (start with RT_HASH_START). */
#define RT_HASH_START 0xcbf29ce484222325u
uint64_t rt_hash(uint64_t hash, const void *bytes, size_t size);

/* The text without spaces, tabs and carriage returns at both ends: cut in place, returns its new start. */
char *rt_trim(char *text);

/* A whole decimal number, a finite real number: 0, or -1 where the text is anything else. Locale-free. */
int rt_parse_integer(const char *text, size_t length, int64_t *value);
int rt_parse_real(const char *text, size_t length, double *value);

#endif
