/*
 * Lists of sequences that differ: "2648,3740x2,512+4096" is one sequence of 2648 new tokens, two of 3740 and
 * one of 512 behind 4096 cached ones (a prefix that is shared, or the chunks before). Of sequences that
 * decode the list holds their contexts: "1000,2000x8".
 */
#pragma once

#include "models/networks/graph.h"

#include <jansson.h>

#define RT_MOST_SEQUENCE_GROUPS 4096 /* that differ, in one step */

struct rt_sequence_list {
    struct rt_sequences *group; /* owned; equal ones are one group, in the order in which they came first */
    size_t count;
};

/* Appends what `text` lists; `decoding`: contexts. RT_EUSAGE. */
int rt_sequences_read(const char *text, bool decoding, struct rt_sequence_list *list);
void rt_sequences_release(struct rt_sequence_list *list);

/* Their number, and the new and the cached tokens of all. */
struct rt_sequence_totals {
    int64_t sequences;
    double tokens, cached;
};
struct rt_sequence_totals rt_sequences_totals(const struct rt_sequences *group, size_t count);

/* "12 sequences with 30000 new and 4096 cached tokens". Free with free(). */
char *rt_sequences_words(const struct rt_sequences *group, size_t count);
/* [{"count" "tokens" "cached"}], null where there are no groups: a new reference. */
json_t *rt_sequences_json(const struct rt_sequences *group, size_t count);

/* Sets the groups of a step, its batch (their number) and its sequence and context (means, rounded). `list`
 * must outlive `options`. */
void rt_sequences_set(const struct rt_sequence_list *list, struct rt_graph_options *options);
