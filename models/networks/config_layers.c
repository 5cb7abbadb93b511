/* Layers that differ: what a config lists of each, and the kinds of layers that follow. See config.h. */
#include "models/networks/config.h"
#include "base/status.h"
#include "models/networks/architectures/parts.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- reading lists --- */

#define FFN_SHARES 100000 /* of listed widths of feed-forwards */

static struct rt_listed *list_of(struct rt_model *model, const struct rt_config_key *key)
{
    return (struct rt_listed *)((char *)model + key->offset);
}

static int refuse_length(const char *where, const char *name)
{
    return rt_fail(RT_EFORMAT,
                   "%s: \"%s\" must be a list with an item for each layer, %d at most; correct it", where,
                   name, RT_MOST_LISTED_LAYERS);
}

/* What an item stands for: by its text, or a whole number as it is. */
static int read_item(const struct rt_config_key *key, const char *name, const char *text, size_t place,
                     const char *where, uint32_t *out)
{
    char *end;
    for (const struct rt_word *word = key->words; word != NULL && word->text != NULL; word++)
        if (strcmp(word->text, text) == 0) {
            *out = word->value;
            return RT_OK;
        }
    unsigned long number = strtoul(text, &end, 10);
    if (key->words == NULL && text[0] >= '0' && text[0] <= '9' && *end == '\0' && number <= UINT16_MAX) {
        *out = (uint32_t)number;
        return RT_OK;
    }
    char known[160] = "whole numbers in 0..65535";
    size_t used = 0;
    for (const struct rt_word *word = key->words; word != NULL && word->text != NULL; word++)
        used += (size_t)snprintf(known + (used < sizeof known ? used : sizeof known - 1),
                                 used < sizeof known ? sizeof known - used : 1, "%s%s", used > 0 ? "|" : "",
                                 word->text);
    return rt_fail(
        RT_EFORMAT,
        "%s: \"%s\" names \"%.40s\" for layer %zu, a kind of layer that is not known here; known are %s",
        where, name, text, place + 1, known);
}

static int read_list(struct rt_listed *list, const struct rt_config_key *key, const char *name,
                     const json_t *value, const char *where)
{
    size_t count = json_array_size(value);
    int status = RT_OK;
    if (!json_is_array(value) || count < 1 || count > RT_MOST_LISTED_LAYERS)
        return refuse_length(where, name);
    for (size_t i = 0; i < count && status == RT_OK; i++) {
        const json_t *item = json_array_get(value, i);
        char *text = json_is_string(item) ? rt_strdup(json_string_value(item))
                                          : json_dumps(item, JSON_ENCODE_ANY | JSON_COMPACT);
        status = read_item(key, name, text != NULL ? text : "", i, where, &list->of[i]);
        free(text);
    }
    list->count = (int64_t)count;
    return status;
}

/* "MEM*E" */
static int read_letters(struct rt_listed *list, const struct rt_config_key *key, const char *name,
                        const char *letters, const char *where)
{
    size_t count = strlen(letters);
    int status = RT_OK;
    if (count < 1 || count > RT_MOST_LISTED_LAYERS)
        return refuse_length(where, name);
    for (size_t i = 0; i < count && status == RT_OK; i++)
        status = read_item(key, name, (const char[]){letters[i], '\0'}, i, where, &list->of[i]);
    list->count = (int64_t)count;
    return status;
}

/* Numbers of layers that are of the other kind; the list is as long as the last of them says. */
static int read_places(struct rt_listed *list, int64_t first, const char *name, const json_t *value,
                       const char *where)
{
    size_t i;
    const json_t *item;
    if (!json_is_array(value))
        return refuse_length(where, name);
    json_array_foreach(value, i, item)
    {
        json_int_t place = json_is_integer(item) ? json_integer_value(item) - first : -1;
        if (place < 0 || place >= RT_MOST_LISTED_LAYERS)
            return rt_fail(RT_EFORMAT,
                           "%s: \"%s\" must hold numbers of layers in %" PRId64 "..%" PRId64
                           "; correct number %zu",
                           where, name, first, first + RT_MOST_LISTED_LAYERS - 1, i + 1);
        list->of[place] = 1;
        list->count = place >= list->count ? place + 1 : list->count;
    }
    return RT_OK;
}

static bool is_true(const json_t *object, const char *key)
{
    return json_is_true(json_object_get(object, key));
}

/* One of DeciLM's blocks: its key-value heads and the width of its feed-forward, or neither. */
static int read_block(struct rt_model *model, const json_t *block, const char *name, size_t i,
                      const char *where)
{
    const json_t *attention = json_object_get(block, "attention"), *ffn = json_object_get(block, "ffn");
    const json_t *group = json_object_get(attention, "n_heads_in_group"),
                 *share = json_object_get(ffn, "ffn_mult");
    bool attends = !is_true(attention, "no_op"), feeds = !is_true(ffn, "no_op");
    double part = json_number_value(share) * FFN_SHARES;
    if (!json_is_object(attention) || !json_is_object(ffn) || is_true(attention, "replace_with_linear") ||
        is_true(ffn, "replace_with_linear") || (attends && !(json_integer_value(group) >= 1)) ||
        (feeds && !(part >= 1 && part <= 100.0 * FFN_SHARES)) ||
        (attends && json_integer_value(group) > RT_CONFIG_MOST_SIZE))
        return rt_fail(RT_EFORMAT,
                       "%s: \"%s\" number %zu is no block that is known here: \"attention\" with "
                       "\"n_heads_in_group\", \"ffn\" with \"ffn_mult\" in 0..100, or \"no_op\" of either",
                       where, name, i + 1);
    model->layered.does.of[i] = (attends ? RT_DOES_ATTENTION : 0) | (feeds ? RT_DOES_DENSE : 0);
    model->layered.kv_heads.of[i] = attends ? (uint32_t)json_integer_value(group) : 0;
    model->layered.ffn_shares.of[i] = feeds ? (uint32_t)llround(part) : 0;
    return RT_OK;
}

static int read_blocks(struct rt_model *model, const char *name, const json_t *value, const char *where)
{
    size_t count = json_array_size(value);
    int status = RT_OK;
    if (!json_is_array(value) || count < 1 || count > RT_MOST_LISTED_LAYERS)
        return refuse_length(where, name);
    for (size_t i = 0; i < count && status == RT_OK; i++)
        status = read_block(model, json_array_get(value, i), name, i, where);
    model->layered.does.count = model->layered.kv_heads.count = model->layered.ffn_shares.count =
        (int64_t)count;
    return status;
}

int rt_config_read_listed(struct rt_model *model, const struct rt_config_key *key, const char *name,
                          const json_t *value, const char *where)
{
    struct rt_listed *list = list_of(model, key);
    switch (key->kind) {
    case RT_KEY_PLACES:
    case RT_KEY_INDICES:
        model->layered.marked = true;
        return read_places(list, key->kind == RT_KEY_PLACES, name, value, where);
    case RT_KEY_BLOCKS:
        return read_blocks(model, name, value, where);
    default:
        return json_is_string(value) ? read_letters(list, key, name, json_string_value(value), where)
                                     : read_list(list, key, name, value, where);
    }
}

/* --- kinds of layers --- */

static int check_length(const struct rt_model *model, const struct rt_listed *list, const char *what,
                        const char *where)
{
    int64_t most = model->layers + (model->layered.predicting > 0 ? model->layered.predicting : 0);
    if (list->count == 0 || (list->count >= model->layers && list->count <= most))
        return RT_OK;
    return rt_fail(RT_EFORMAT,
                   "%s: %s are listed for %" PRId64 " layers, and there are %" PRId64
                   "; correct the list or \"num_hidden_layers\"",
                   where, what, list->count, model->layers);
}

static int check_lengths(const struct rt_model *model, const char *where)
{
    const struct {
        const struct rt_listed *list;
        const char *what;
    } lists[] = {{&model->layered.does, "kinds of layers"},
                 {&model->layered.feeds, "feed-forwards"},
                 {&model->layered.indexers, "indexers"},
                 {&model->layered.ratios, "ratios"}};
    int status = RT_OK;
    for (size_t i = 0; i < RT_COUNT(lists) && status == RT_OK; i++)
        status = check_length(model, lists[i].list, lists[i].what, where);
    return status;
}

/* Of layers that no list names. */
static unsigned usual(const struct rt_model *model, int64_t layer)
{
    int64_t period = model->layered.period;
    unsigned most = model->layered.usual != 0 ? (unsigned)model->layered.usual : RT_DOES_ATTENTION;
    bool other = period > 0 && layer % period == model->layered.offset % period;
    return other ? (unsigned)model->layered.other : most;
}

static unsigned feeds_of(const struct rt_model *model, int64_t layer)
{
    int64_t step = model->experts.step > 1 ? model->experts.step : 1;
    if (model->layered.feeds.count > 0)
        return model->layered.feeds.of[layer];
    bool sparse = model->experts.count > 1 && layer >= model->experts.dense_layers &&
                  layer % step == model->experts.offset % step;
    return sparse ? RT_DOES_EXPERTS : RT_DOES_DENSE;
}

static unsigned mixers_of(const struct rt_model *model, int64_t layer)
{
    const struct rt_listed *does = &model->layered.does;
    if (model->layered.marked)
        return layer < does->count && does->of[layer] != 0 ? (unsigned)model->layered.other
                                                           : (unsigned)model->layered.usual;
    return does->count > 0 ? does->of[layer] : usual(model, layer);
}

/* DeepSeek-V4: layers of ratio 0 have the window alone. */
static unsigned indexes(const struct rt_model *model, int64_t layer, int64_t ratio)
{
    const struct rt_listed *own = &model->layered.indexers;
    if (model->index.heads == 0 || (own->count > 0 && own->of[layer] == 0))
        return 0;
    if (model->layered.ratios.count > 0)
        return ratio > 0 && ratio <= model->layered.indexed_ratio ? RT_DOES_INDEX : 0;
    return RT_DOES_INDEX;
}

/* A multiple of 256, as DeciLM's code has it (_ffn_mult_to_intermediate_size). */
static int64_t width_of_share(const struct rt_model *model, int64_t share)
{
    double width = floor(2.0 * (double)share / FFN_SHARES * (double)model->hidden / 3);
    return (int64_t)ceil(width / 256) * 256;
}

static struct rt_layer_kind kind_of(const struct rt_model *model, int64_t layer)
{
    struct rt_layer_kind kind = {.count = 1, .does = mixers_of(model, layer)};
    if (model->layered.ratios.count > 0) {
        kind.ratio = model->layered.ratios.of[layer];
        kind.does = kind.ratio > 0 ? RT_DOES_ATTENTION : RT_DOES_WINDOW;
    }
    if (model->layered.both)
        kind.does |= RT_DOES_DENSE | RT_DOES_EXPERTS;
    else if (!model->layered.whole && (kind.does & RT_DOES_FEEDS) == 0)
        kind.does |= feeds_of(model, layer);
    if (model->wkv.value_rank > 0 && layer > 0)
        kind.does |= RT_DOES_VALUES;
    if (kind.does & RT_DOES_ATTENTION)
        kind.does |= indexes(model, layer, kind.ratio);
    if (model->layered.kv_heads.count > 0 && model->layered.kv_heads.of[layer] > 0)
        kind.kv_heads = model->heads / (int64_t)model->layered.kv_heads.of[layer];
    if (layer >= model->layers - model->layered.reusing) {
        kind.does |= RT_DOES_REUSE;
        kind.ffn_width = model->layered.reusing_wide ? 2 * model->ffn_width : 0;
    }
    if (model->layered.ffn_shares.count > 0)
        kind.ffn_width = width_of_share(model, model->layered.ffn_shares.of[layer]);
    return kind;
}

static bool alike(const struct rt_layer_kind *a, const struct rt_layer_kind *b)
{
    return a->does == b->does && a->ratio == b->ratio && a->kv_heads == b->kv_heads &&
           a->ffn_width == b->ffn_width;
}

static int add_kind(struct rt_model *model, const struct rt_layer_kind *kind, const char *where)
{
    struct rt_layer_kind *kinds = model->layered.kinds;
    int64_t k = 0, count = model->layered.kind_count;
    while (k < count && !alike(&kinds[k], kind))
        k++;
    if (k == RT_MOST_KINDS)
        return rt_fail(RT_EFORMAT, "%s: its layers are of more than %d kinds; correct the lists of layers",
                       where, RT_MOST_KINDS);
    if (k < count) {
        kinds[k].count++;
        return RT_OK;
    }
    kinds[model->layered.kind_count++] = *kind;
    return RT_OK;
}

/* Of a state-space mixer: heads, and what its steps are made of. RWKV's columns. */
static void complete_states(struct rt_model *model)
{
    if (model->states.heads < 1 && model->states.head_dim > 0 && model->states.expand > 0)
        model->states.heads = model->states.expand * model->hidden / model->states.head_dim;
    if (model->states.rank < 0)
        model->states.rank = (model->hidden + 15) / 16;
    if (model->wkv_width < 0)
        model->wkv_width = model->hidden;
}

/* Experts, and heads that a block's group divides. */
static int check_sizes(struct rt_model *model, const char *where)
{
    complete_states(model);
    if (model->experts.topk > model->experts.count && model->experts.count > 0)
        return rt_fail(RT_EFORMAT,
                       "%s: each token goes to %" PRId64 " of %" PRId64
                       " experts; correct \"num_experts_per_tok\"",
                       where, model->experts.topk, model->experts.count);
    if (model->layered.reusing > 0 && model->layered.reusing >= model->layers)
        return rt_fail(RT_EFORMAT,
                       "%s: %" PRId64 " of %" PRId64
                       " layers reuse keys and values of earlier ones; correct \"num_kv_shared_layers\"",
                       where, model->layered.reusing, model->layers);
    if (model->experts.shared_width < 1)
        model->experts.shared_width = model->experts.shared * model->experts.width;
    for (int64_t i = 0; i < model->layered.kv_heads.count; i++) {
        uint32_t group = model->layered.kv_heads.of[i];
        if (group > 0 && (group > model->heads || model->heads % group != 0))
            return rt_fail(RT_EFORMAT,
                           "%s: groups of %" PRIu32 " heads of layer %" PRId64 " do not divide %" PRId64
                           " heads; correct either",
                           where, group, i + 1, model->heads);
    }
    return RT_OK;
}

/* What a kind of layer is made of must have sizes. */
static int check_kind(const struct rt_model *model, unsigned does, const char *where)
{
    const struct {
        unsigned bit;
        bool there;
        const char *what;
    } needs[] = {
        {RT_DOES_DELTA,
         model->delta.k_heads > 0 && model->delta.k_dim > 0 && model->delta.v_heads > 0 &&
             model->delta.v_dim > 0 && model->delta.kernel > 0,
         "the delta rule: heads of keys and values, their widths and a convolution (delta.*)"},
        {RT_DOES_STATES,
         model->states.heads > 0 && model->states.head_dim > 0 && model->states.groups > 0 &&
             model->states.state > 0 && model->states.kernel > 0 && model->states.chunk > 0,
         "a state-space mixer: heads, their width, groups, state, convolution and chunk (states.*)"},
        {RT_DOES_WKV,
         model->wkv_width > 0 && (model->wkv.head == 0 || model->wkv_width % model->wkv.head == 0),
         "RWKV's recurrence: its columns (wkv_width), as many for each head (wkv.head)"},
        {RT_DOES_CONVOLUTION, model->short_kernel > 0, "a convolution: its kernel (short_kernel)"},
        {RT_DOES_EXPERTS, model->experts.count > 0 && model->experts.topk > 0 && model->experts.width > 0,
         "experts: their number, those of a token and their width (experts.*)"},
        {RT_DOES_SHARED, model->shared.blocks > 0, "attention of others: how many there are (shared.blocks)"},
        {RT_DOES_WINDOW, model->reach.window > 0, "a window: its tokens (reach.window)"},
        {RT_DOES_ATTENTION | RT_DOES_WINDOW, model->output.groups == 0 || model->layered.ratios.count > 0,
         "compressed keys: how many tokens each layer's stand for (compress_ratios)"},
        {RT_DOES_INDEX, model->index.dim > 0 && model->index.topk > 0 && model->index.block > 0,
         "an indexer: its heads' width, how many are chosen and of what (index.*)"},
    };
    for (size_t i = 0; i < RT_COUNT(needs); i++)
        if ((does & needs[i].bit) && !needs[i].there)
            return rt_fail(RT_EFORMAT,
                           "%s: it has layers with %s, and these are not given, or not so; correct them",
                           where, needs[i].what);
    return RT_OK;
}

int rt_config_complete_layers(struct rt_model *model, const char *where)
{
    if (model->architecture->build != rt_build_served)
        return RT_OK;
    if (model->layers < 1)
        model->layers = model->layered.does.count;
    if (model->layers < 1)
        return rt_fail(RT_EFORMAT, "%s: \"num_hidden_layers\" is missing; give it, or a list of the layers",
                       where);
    int status = model->layered.marked ? RT_OK : check_lengths(model, where);
    if (status == RT_OK)
        status = check_sizes(model, where);
    for (int64_t i = 0; i < model->layers && status == RT_OK; i++) {
        struct rt_layer_kind kind = kind_of(model, i);
        status = check_kind(model, kind.does, where);
        if (status == RT_OK)
            status = add_kind(model, &kind, where);
    }
    return status;
}
