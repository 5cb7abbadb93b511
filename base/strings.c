/* String interning and number parsing. See strings.h. */
#include "base/array.h"
#include "base/strings.h"
#include "base/locale.h"
#include "base/status.h"
#include "base/text.h"

#include <ctype.h>
#include <float.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

uint64_t rt_hash(uint64_t hash, const void *bytes, size_t size)
{
    const unsigned char *byte = bytes;
    for (size_t i = 0; i < size; i++)
        hash = (hash ^ byte[i]) * 0x100000001b3u;
    return hash;
}

void rt_strings_release(struct rt_strings *strings)
{
    free(strings->text);
    free(strings->offset);
    rt_hash_set_release(&strings->set);
    *strings = (struct rt_strings){0};
}

struct looked_for {
    const struct rt_strings *strings;
    const char *text;
    size_t length;
};

static bool same_text(const void *context, uint32_t index)
{
    const struct looked_for *looked_for = context;
    const char *there = looked_for->strings->text + looked_for->strings->offset[index];
    return strncmp(there, looked_for->text, looked_for->length) == 0 && there[looked_for->length] == '\0';
}

int32_t rt_strings_find(const struct rt_strings *strings, const char *text, size_t length)
{
    struct looked_for looked_for = {strings, text, strnlen(text, length)};
    return (int32_t)rt_hash_set_find(&strings->set, rt_hash_words(text, looked_for.length), same_text,
                                     &looked_for);
}

int32_t rt_strings_add(struct rt_strings *strings, const char *text, size_t length)
{
    length = strnlen(text, length);
    struct looked_for looked_for = {strings, text, length};
    int64_t there =
        rt_hash_set_add(&strings->set, rt_hash_words(text, length), same_text, &looked_for, strings->count);
    if (there >= 0)
        return (int32_t)there;
    RT_GROW(strings->text, strings->size, length + 1, strings->capacity);
    RT_GROW(strings->offset, strings->count, 1, strings->offset_capacity);
    strings->offset[strings->count] = strings->size;
    memcpy(strings->text + strings->size, text, length);
    strings->text[strings->size + length] = '\0';
    strings->size += length + 1;
    return (int32_t)strings->count++;
}

const char *rt_strings_get(const struct rt_strings *strings, int32_t index)
{
    return index >= 0 && (size_t)index < strings->count ? strings->text + strings->offset[index] : "";
}

/* By hand: sweeps compare names millions of times, and strspn builds a table at each call. */
static const char *skip_separators(const char *name)
{
    while (*name == ' ' || *name == '-' || *name == '_')
        name++;
    return name;
}

bool rt_name_equal(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b) /* asked for many times in a forecast, of names that begin alike */
        a++, b++;
    do {
        a = skip_separators(a);
        b = skip_separators(b);
        if (*a == '\0' || *b == '\0')
            return *a == *b;
    } while (tolower((unsigned char)*a++) == tolower((unsigned char)*b++));
    return false;
}

uint64_t rt_name_key(const char *name)
{
    uint64_t hash = RT_HASH_START;
    for (name = skip_separators(name); *name != '\0'; name = skip_separators(name)) {
        char letter = (char)tolower((unsigned char)*name++);
        hash = rt_hash(hash, &letter, 1);
    }
    return hash != 0 ? hash : 1;
}

/* Where `part` ends that `name` begins with, separators aside; NULL where it begins with something else. */
static const char *end_of(const char *name, const char *part)
{
    for (;;) {
        part += strspn(part, " -_");
        if (*part == '\0')
            return name;
        name += strspn(name, " -_");
        if (tolower((unsigned char)*name++) != tolower((unsigned char)*part++))
            return NULL;
    }
}

bool rt_name_contains(const char *name, const char *part)
{
    for (; *name; name++)
        if (end_of(name, part) != NULL)
            return true;
    return false;
}

static bool is_letter(char c)
{
    return isalnum((unsigned char)c) || (unsigned char)c >= 0x80; /* UTF-8 */
}

bool rt_name_has_words(const char *name, const char *words)
{
    char before = ' ';
    for (const char *at = name; words[strspn(words, " -_")] != '\0' && *at != '\0'; before = *at++) {
        const char *end = is_letter(before) && is_letter(*at) ? NULL : end_of(at, words);
        if (end != NULL && !(is_letter(end[-1]) && is_letter(*end)))
            return true;
    }
    return false;
}

bool rt_name_matches(const char *name, const char *pattern)
{
    const char *star = NULL, *from = NULL; /* behind the last *, and where the name is that it stands for */
    for (;;) {
        name = skip_separators(name);
        pattern = skip_separators(pattern);
        if (*pattern == '*') {
            star = ++pattern;
            from = name;
        } else if (*name != '\0' &&
                   (*pattern == '?' || tolower((unsigned char)*pattern) == tolower((unsigned char)*name))) {
            pattern++;
            name++;
        } else if (*name == '\0' && *pattern == '\0') {
            return true;
        } else if (star == NULL || *from == '\0') {
            return false;
        } else { /* the last * stands for a letter more */
            pattern = star;
            name = ++from;
        }
    }
}

/* Levenshtein's distance where a letter replaced counts `replaced`. */
static size_t distance_with(const char *a, const char *b, size_t replaced)
{
    size_t row[128], n = strlen(b) < 127 ? strlen(b) : 127;
    for (size_t j = 0; j <= n; j++)
        row[j] = j;
    for (size_t i = 1; a[i - 1] != '\0'; i++) {
        size_t diagonal = row[0];
        row[0] = i;
        for (size_t j = 1; j <= n; j++) {
            size_t change = diagonal + (a[i - 1] != b[j - 1] ? replaced : 0);
            diagonal = row[j];
            size_t drop = diagonal + 1, insert = row[j - 1] + 1;
            row[j] = change < drop ? change : drop;
            row[j] = row[j] < insert ? row[j] : insert;
        }
    }
    return row[n];
}

/* Damerau's distance is more than a hint needs. */
size_t rt_name_distance(const char *a, const char *b)
{
    return distance_with(a, b, 1);
}

/* What no distance is less than. */
static size_t lengths_apart(const char *a, const char *b)
{
    size_t m = strlen(a), n = strlen(b) < 127 ? strlen(b) : 127;
    return m > n ? m - n : n - m;
}

static bool is_within(const char *a, const char *b, size_t replaced, size_t most)
{
    return lengths_apart(a, b) <= most && distance_with(a, b, replaced) <= most;
}

static void digits_of(const char *name, char out[128])
{
    size_t n = 0;
    for (; *name != '\0' && n < 127; name++)
        if (isdigit((unsigned char)*name))
            out[n++] = *name;
    out[n] = '\0';
}

/* Does the longer name begin with the shorter one, and go on with more than its number? "a100x" is of "a100",
 * "t400" is not of "t4". */
static bool goes_on(const char *shorter, const char *longer, bool with_digits)
{
    size_t length = strlen(shorter);
    return length >= 3 && strncmp(shorter, longer, length) == 0 &&
           (with_digits || !isdigit((unsigned char)longer[length]));
}

/* "gtp2" is "gpt2" with two letters swapped. */
static bool letters_swapped(const char *a, const char *b)
{
    while (*a != '\0' && *a == *b)
        a++, b++;
    return a[0] != '\0' && b[0] != '\0' && a[0] == b[1] && a[1] == b[0] && isalpha((unsigned char)a[0]) &&
           isalpha((unsigned char)a[1]) && strcmp(a + 2, b + 2) == 0;
}

bool rt_name_near(const char *known, const char *wanted)
{
    char digits[128], known_digits[128];
    size_t length = strlen(wanted), known_length = strlen(known);
    bool begins = strncmp(known, wanted, known_length < length ? known_length : length) == 0;
    if (lengths_apart(known, wanted) > 2 + length / 3 && !begins)
        return false; /* most of a catalogue */
    digits_of(wanted, digits);
    digits_of(known, known_digits);
    if (digits[0] == '\0' && known_digits[0] == '\0')
        return is_within(known, wanted, 1, 1 + length / 3);
    if (letters_swapped(known, wanted) || goes_on(wanted, known, true) || goes_on(known, wanted, false))
        return true;
    return is_within(known_digits, digits, 2, 1) && is_within(known, wanted, 2, length < 6 ? 1 : 2);
}

void rt_hints_add(struct rt_hints *hints, const char *name, size_t distance)
{
    for (int i = 0; i < RT_HINTS; i++) {
        if (hints->name[i][0] != '\0' && hints->distance[i] <= distance)
            continue;
        for (int j = RT_HINTS - 1; j > i; j--) {
            memcpy(hints->name[j], hints->name[j - 1], sizeof hints->name[j]);
            hints->distance[j] = hints->distance[j - 1];
        }
        snprintf(hints->name[i], sizeof hints->name[i], "%s", name);
        hints->distance[i] = distance;
        return;
    }
}

char *rt_hints_words(const struct rt_hints *hints)
{
    struct rt_text words = {0};
    for (int i = 0; i < RT_HINTS && hints->name[i][0] != '\0'; i++)
        rt_text_add(&words, "%s%s", i == 0 ? "; nearest names: " : ", ", hints->name[i]);
    return rt_text_take(&words);
}

char *rt_trim(char *text)
{
    text += strspn(text, " \t\r");
    size_t length = strlen(text);
    while (length > 0 && strchr(" \t\r", text[length - 1]))
        text[--length] = '\0';
    return text;
}

int rt_parse_integer(const char *text, size_t length, int64_t *value)
{
    size_t at = 0;
    int negative = length > 0 && text[0] == '-';
    uint64_t sum = 0;
    at = negative;
    if (at == length || length - at > 18) /* 18 digits fit; no measured quantity has more */
        return -1;
    for (; at < length; at++) {
        unsigned digit = (unsigned char)text[at] - '0';
        if (digit > 9)
            return -1;
        sum = 10 * sum + digit;
    }
    *value = negative ? -(int64_t)sum : (int64_t)sum;
    return 0;
}

/* digits / 10^decimals to the last bit, where that takes no long arithmetic: 0, or -1. */
static int divide_exactly(uint64_t digits, size_t decimals, double *value)
{
    static const double power[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                   1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    if (decimals >= RT_COUNT(power))
        return -1;
    /* Both are exact, so one division rounds once (Clinger 1990). */
    if (digits <= (uint64_t)1 << 53) {
        *value = (double)digits / power[decimals];
        return 0;
    }
#if LDBL_MANT_DIG == 64
    /* The same with 64 bits; rounding those to 53 is right unless they lie half way. */
    long double quotient = (long double)digits / (long double)power[decimals];
    uint64_t mantissa;
    memcpy(&mantissa, &quotient, sizeof mantissa);
    if ((mantissa & 0x7ff) != 0x400) {
        *value = (double)quotient;
        return 0;
    }
#endif
    return -1;
}

int rt_parse_real(const char *text, size_t length, double *value)
{
    uint64_t digits = 0;
    size_t at = 0, point = length, count = 0;
    for (; at < length; at++) {
        unsigned digit = (unsigned char)text[at] - '0';
        if (digit <= 9 && count < 18) {
            digits = 10 * digits + digit;
            count += digits > 0;
        } else if (text[at] == '.' && point == length) {
            point = at;
        } else {
            break;
        }
    }
    size_t decimals = point < length ? length - point - 1 : 0;
    if (at == length && length > (point < length) && divide_exactly(digits, decimals, value) == 0)
        return 0;
    char copy[64], *end;
    if (length == 0 || length >= sizeof copy || strspn(text, "+-.0123456789eE") < length)
        return -1; /* also refuses spaces, hexadecimal, inf and nan */
    memcpy(copy, text, length);
    copy[length] = '\0';
    double parsed = strtod_l(copy, &end, rt_c_locale());
    if (*end != '\0' || !isfinite(parsed))
        return -1;
    *value = parsed;
    return 0;
}
