/* Tables of a predictor's card. See card_parts.h. */
#include "predict/evaluate/card/card_parts.h"
#include "base/status.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

char *rt_card_line(const char *lines, size_t number)
{
    while (number > 0 && *lines != '\0')
        number -= *lines++ == '\n';
    return rt_format("%.*s", (int)strcspn(lines, "\n"), lines);
}

/* "fp32, bf16"; those that the net serves where the file does not say. */
static char *dtype_words(const struct rt_family_net *net)
{
    struct rt_text words = {0};
    for (int dtype = 0; dtype < RT_DTYPE_COUNT; dtype++)
        if (net->dtypes >> dtype & 1)
            rt_text_item(&words, ", ", "%s", rt_dtypes[dtype].name);
    if (words.length == 0)
        rt_text_add(&words, "%s", "not recorded");
    return rt_text_take(&words);
}

struct rt_table *rt_card_networks(const struct rt_predictor *predictor)
{
    static const struct rt_column columns[] = {{"family", NULL, 's', 0},
                                               {"forecaster", NULL, 's', 0},
                                               {"dtypes", "dtypes fitted to", 's', 0},
                                               {"parameters", NULL, 'd', 0},
                                               {"rows_train", "training rows", 'd', 0},
                                               {"rows_validation", "validation rows", 'd', 0},
                                               {"epochs", NULL, 'd', 0},
                                               {"validation_mape", "validation MAPE, %", 'f', 1},
                                               {"rows_impossible", "left out as impossible", 'd', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    for (size_t n = 0; n < predictor->net_count; n++) {
        const struct rt_family_net *net = &predictor->nets[n];
        char *dtypes = dtype_words(net);
        rt_table_row(table, rt_net_name(net->family, net->units), rt_forecasters[net->forecaster].name,
                     dtypes, (long long)net->mlp.count, (long long)net->rows_train,
                     (long long)net->rows_validation, (long long)net->epochs,
                     net->rows_validation > 0 ? net->validation_mape : NAN, (long long)net->rows_impossible);
        free(dtypes);
    }
    return table;
}

/* ---- devices ---- */

struct known {
    const char *device;
    long long kernels, energy;
    bool dtype[RT_DTYPE_COUNT];
    struct rt_text families;
};

static struct known *find_known(struct known **list, size_t *count, const char *device)
{
    for (size_t i = 0; i < *count; i++)
        if (strcmp((*list)[i].device, device) == 0)
            return &(*list)[i];
    *list = rt_realloc(*list, *count + 1, sizeof **list);
    (*list)[*count] = (struct known){.device = device};
    return &(*list)[(*count)++];
}

static void add_effect(struct known *known, const struct rt_device_effect *effect,
                       const struct rt_family_net *net)
{
    known->kernels += effect->kernels;
    rt_text_item(&known->families, ", ", "%s", rt_net_name(net->family, net->units));
    for (int dtype = 0; dtype < RT_DTYPE_COUNT; dtype++)
        known->dtype[dtype] |=
            effect->dtypes[0] != '\0' && rt_device_effect_has_dtype(effect, (enum rt_dtype)dtype);
}

static void add_known(struct rt_table *table, struct known *known)
{
    struct rt_text dtypes = {0};
    for (int dtype = 0; dtype < RT_DTYPE_COUNT; dtype++)
        if (known->dtype[dtype])
            rt_text_item(&dtypes, ", ", "%s", rt_dtypes[dtype].name);
    char *families = rt_text_take(&known->families), *words = rt_text_take(&dtypes);
    rt_table_row(table, known->device, known->kernels, families, words, known->energy);
    free(families);
    free(words);
}

struct rt_table *rt_card_known(const struct rt_predictor *predictor)
{
    static const struct rt_column columns[] = {{"device", NULL, 's', 0},
                                               {"kernels", NULL, 'd', 0},
                                               {"families", NULL, 's', 0},
                                               {"dtypes", NULL, 's', 0},
                                               {"energy_runs", "runs with energy", 'd', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    struct known *list = NULL;
    size_t count = 0;
    for (size_t n = 0; n < predictor->net_count; n++) {
        const struct rt_family_net *net = &predictor->nets[n];
        for (size_t d = 0; d < net->effects.count; d++)
            add_effect(find_known(&list, &count, net->effects.known[d].device), &net->effects.known[d], net);
    }
    for (size_t d = 0; d < predictor->energy.count; d++)
        find_known(&list, &count, predictor->energy.devices[d].device)->energy +=
            predictor->energy.devices[d].runs;
    for (size_t i = 0; i < count; i++)
        add_known(table, &list[i]);
    free(list);
    return table;
}

struct rt_table *rt_card_calibrated(const struct rt_predictor *predictor)
{
    static const struct rt_column columns[] = {
        {"device", NULL, 's', 0}, {"to", NULL, 's', 0}, {"uuid", NULL, 's', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    for (const char *line = predictor->calibrated; *line != '\0';) {
        char *words = rt_format("%.*s", (int)strcspn(line, "\n"), line), *rest = words;
        const char *device = strsep(&rest, "\t"), *to = strsep(&rest, "\t"), *uuid = strsep(&rest, "\t");
        rt_table_row(table, device, to, uuid);
        free(words);
        line += strcspn(line, "\n");
        line += *line == '\n';
    }
    return table;
}

/* ---- errors that the file holds ---- */

/* e^x - 1 in percent. */
static double percent(double log_ratio)
{
    return 100 * expm1(log_ratio);
}

struct rt_table *rt_card_left_out(const struct rt_predictor *predictor)
{
    static const struct rt_column columns[] = {{"family", NULL, 's', 0},
                                               {"device", "GPU left out", 's', 0},
                                               {"bias", "measured above forecast, %", 'f', 1},
                                               {"rms", "root mean square error, %", 'f', 1}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    for (size_t n = 0; n < predictor->net_count; n++) {
        const struct rt_intervals *intervals = &predictor->nets[n].intervals;
        for (size_t d = 0; d < intervals->left_out_count; d++) {
            const struct rt_left_out_device *device = &intervals->left_out[d];
            rt_table_row(table, rt_net_name(predictor->nets[n].family, predictor->nets[n].units),
                         device->device, percent(device->error), percent(sqrt(device->square)));
        }
    }
    return table;
}

struct rt_table *rt_card_intervals(const struct rt_predictor *predictor)
{
    static const struct rt_column columns[] = {{"family", NULL, 's', 0},
                                               {"gpus", "GPUs left out", 'd', 0},
                                               {"unseen_short", "unseen GPU, short kernels, +-%", 'f', 0},
                                               {"unseen_long", "unseen GPU, long, +-%", 'f', 0},
                                               {"known_short", "known GPU, short, +-%", 'f', 0},
                                               {"known_long", "known GPU, long, +-%", 'f', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    for (size_t n = 0; n < predictor->net_count; n++) {
        const struct rt_intervals *in = &predictor->nets[n].intervals;
        double width[2][RT_INTERVAL_SIZES];
        for (int size = 0; size < RT_INTERVAL_SIZES; size++) {
            width[0][size] = percent(rt_interval_at(in->unseen[size], 0.9));
            width[1][size] = percent(rt_interval_at(in->known[size], 0.9));
        }
        rt_table_row(table, rt_net_name(predictor->nets[n].family, predictor->nets[n].units),
                     (long long)in->gpus, width[0][RT_INTERVAL_SHORT], width[0][RT_INTERVAL_LONG],
                     width[1][RT_INTERVAL_SHORT], width[1][RT_INTERVAL_LONG]);
    }
    return table;
}

struct rt_table *rt_card_data(const struct rt_predictor *predictor)
{
    static const struct rt_column columns[] = {
        {"source", NULL, 's', 0}, {"licence", NULL, 's', 0}, {"uuid", NULL, 's', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    size_t lines = 0;
    for (const char *at = predictor->data_uuids; *at != '\0'; at++)
        lines += *at == '\n' || at == predictor->data_uuids;
    for (size_t i = 0; i < lines; i++) {
        char *source = rt_card_line(predictor->data_sources, i),
             *uuid = rt_card_line(predictor->data_uuids, i),
             *licence = rt_card_line(predictor->data_licences, i);
        rt_table_row(table, source[0] != '\0' ? source : "not stated",
                     licence[0] != '\0' ? licence : "not stated", uuid);
        free(source);
        free(licence);
        free(uuid);
    }
    return table;
}
