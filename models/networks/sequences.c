/* Reading lists of sequences. See sequences.h. */
#include "models/networks/sequences.h"
#include "base/status.h"
#include "base/strings.h"

#include <ctype.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MOST_TOKENS ((int64_t)1 << 31)

/* Takes a number of least..2^31 off the front of *at. */
static bool take_number(const char **at, int64_t least, int64_t *out)
{
    size_t digits = 0;
    while (isdigit((unsigned char)(*at)[digits]))
        digits++;
    if (digits == 0 || digits > 10 || rt_parse_integer(*at, digits, out) != 0 || *out < least ||
        *out > MOST_TOKENS)
        return false;
    *at += digits;
    return true;
}

/* "512", "512+4096", "512x8" or "512+4096x8" */
static bool take_group(const char **at, bool decoding, struct rt_sequences *out)
{
    struct rt_sequences group = {.count = 1, .tokens = 1};
    if (!take_number(at, 1, decoding ? &group.cached : &group.tokens))
        return false;
    if (**at == '+' && !decoding) {
        ++*at;
        if (!take_number(at, 0, &group.cached))
            return false;
    }
    if (**at == 'x') {
        ++*at;
        if (!take_number(at, 1, &group.count))
            return false;
    }
    *out = group;
    return true;
}

static int add_group(struct rt_sequence_list *list, const struct rt_sequences *group)
{
    for (size_t g = 0; g < list->count; g++) {
        struct rt_sequences *same = &list->group[g];
        if (same->tokens != group->tokens || same->cached != group->cached)
            continue;
        same->count += group->count;
        return RT_OK;
    }
    if (list->count == RT_MOST_SEQUENCE_GROUPS)
        return rt_fail(RT_EUSAGE, "more than %d sequences that differ; give fewer",
                       RT_MOST_SEQUENCE_GROUPS);
    list->group = rt_realloc(list->group, list->count + 1, sizeof *list->group);
    list->group[list->count++] = *group;
    return RT_OK;
}

static int read_list(const char *text, bool decoding, struct rt_sequence_list *list)
{
    const char *at = text;
    for (;;) {
        struct rt_sequences group;
        size_t place = (size_t)(at - text);
        if (!take_group(&at, decoding, &group) || (*at != ',' && *at != '\0'))
            return rt_fail(
                RT_EUSAGE,
                "\"%.20s\" (from character %zu) is no %s; give whole numbers up to 2^31, such as %s",
                text + place, place + 1, decoding ? "context" : "length",
                decoding ? "1000,2000x8" : "2648,3740x2,512+4096");
        int status = add_group(list, &group);
        if (status != RT_OK || *at == '\0')
            return status;
        at++;
    }
}

int rt_sequences_read(const char *text, bool decoding, struct rt_sequence_list *list)
{
    int status = read_list(text, decoding, list);
    return status == RT_OK ? RT_OK : rt_fail_context(status, decoding ? "{contexts}" : "{lengths}");
}

void rt_sequences_release(struct rt_sequence_list *list)
{
    free(list->group);
    *list = (struct rt_sequence_list){0};
}

struct rt_sequence_totals rt_sequences_totals(const struct rt_sequences *group, size_t count)
{
    struct rt_sequence_totals totals = {0};
    for (size_t g = 0; g < count; g++) {
        totals.sequences += group[g].count;
        totals.tokens += (double)group[g].count * (double)group[g].tokens;
        totals.cached += (double)group[g].count * (double)group[g].cached;
    }
    return totals;
}

char *rt_sequences_words(const struct rt_sequences *group, size_t count)
{
    struct rt_sequence_totals totals = rt_sequences_totals(group, count);
    return rt_format("%" PRId64 " %s with %.0f new and %.0f cached tokens", totals.sequences,
                     totals.sequences == 1 ? "sequence" : "sequences", totals.tokens, totals.cached);
}

json_t *rt_sequences_json(const struct rt_sequences *group, size_t count)
{
    if (count == 0)
        return json_null();
    json_t *array = json_array();
    for (size_t g = 0; g < count; g++)
        json_array_append_new(array,
                              json_pack("{s:I, s:I, s:I}", "count", (json_int_t)group[g].count, "tokens",
                                        (json_int_t)group[g].tokens, "cached", (json_int_t)group[g].cached));
    return array;
}

void rt_sequences_set(const struct rt_sequence_list *list, struct rt_graph_options *options)
{
    struct rt_sequence_totals totals = rt_sequences_totals(list->group, list->count);
    options->groups = list->group;
    options->group_count = list->count;
    options->batch = totals.sequences;
    options->sequence = llround(totals.tokens / (double)totals.sequences);
    options->context = llround(totals.cached / (double)totals.sequences);
}
