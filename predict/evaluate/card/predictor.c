/* The card of a predictor. See card.h. */
#include "predict/evaluate/card/card.h"
#include "base/status.h"
#include "base/text.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- what it was fitted to and how well that went, as tables ---- */

/* Line `number` of a list with one entry a line. Free with free(). */
static char *nth_line(const char *lines, size_t number)
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

/* A row per net: what it is, its dtypes, rows, and the error of its validation rows. */
static struct rt_table *networks_table(const struct rt_predictor *predictor)
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

/* Devices that nets know, with their kernels and dtypes. */
static struct rt_table *known_table(const struct rt_predictor *predictor)
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

/* Devices that were calibrated, and to what. */
static struct rt_table *calibrated_table(const struct rt_predictor *predictor)
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

/* What GPUs were off by that training left out in turn, for intervals: a row per net and GPU. */
static struct rt_table *left_out_table(const struct rt_predictor *predictor)
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

/* Half-widths of 90% intervals in percent, by net. */
static struct rt_table *intervals_table(const struct rt_predictor *predictor)
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

/* Sources, licences and uuids of the data, line by line. */
static struct rt_table *data_table(const struct rt_predictor *predictor)
{
    static const struct rt_column columns[] = {
        {"source", NULL, 's', 0}, {"licence", NULL, 's', 0}, {"uuid", NULL, 's', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    size_t lines = 0;
    for (const char *at = predictor->data_uuids; *at != '\0'; at++)
        lines += *at == '\n' || at == predictor->data_uuids;
    for (size_t i = 0; i < lines; i++) {
        char *source = nth_line(predictor->data_sources, i), *uuid = nth_line(predictor->data_uuids, i),
             *licence = nth_line(predictor->data_licences, i);
        rt_table_row(table, source[0] != '\0' ? source : "not stated",
                     licence[0] != '\0' ? licence : "not stated", uuid);
        free(source);
        free(licence);
        free(uuid);
    }
    return table;
}

/* ---- its card ---- */

static size_t count_lines(const char *lines)
{
    size_t count = lines[0] != '\0';
    for (const char *at = lines; *at != '\0'; at++)
        count += *at == '\n';
    return count;
}

/* "a\nb" as "a, b"; "none". Free with free(). */
static char *joined(const char *lines)
{
    struct rt_text words = {0};
    for (size_t i = 0; i < count_lines(lines); i++) {
        char *line = nth_line(lines, i);
        rt_text_item(&words, ", ", "%s", line);
        free(line);
    }
    if (words.length == 0)
        rt_text_add(&words, "none");
    return rt_text_take(&words);
}

static void add_what(struct rt_report *report, const struct rt_predictor *predictor)
{
    size_t count = count_lines(predictor->devices);
    if (!predictor->complete)
        rt_report_add_paragraph(
            report, "**INCOMPLETE: its training was interrupted; these are the best weights until then.**");
    if (strstr(predictor->data_sources, "ynthetic") != NULL)
        rt_report_add_paragraph(report, "**SYNTHETIC: some of what it was fitted to is made up, not "
                                        "measured. Its forecasts say nothing about hardware.**");
    rt_report_add_paragraph(
        report,
        "A predictor of the time that GPU kernels take, and of whole models made of them, in one HDF5 file "
        "that rooftile reads: a small network per family of ops under the roofline of the GPU. It forecasts "
        "GPUs that it was fitted to, and others by their data sheets. It was fitted to %zu device%s; the "
        "file holds parameters and device effects, no measurement.",
        count, count == 1 ? "" : "s");
}

static void add_origin(struct rt_report *report, const struct rt_predictor *predictor,
                       const struct rt_card_options *options)
{
    char *gpus = joined(predictor->held_out_gpus), *ops = joined(predictor->held_out_ops);
    rt_report_add_heading(report, "What it was fitted to");
    if (options->author != NULL)
        rt_report_add_text(report, "author", "author", options->author);
    if (options->source != NULL)
        rt_report_add_text(report, "source", "source", options->source);
    if (options->licence != NULL)
        rt_report_add_text(report, "licence", "licence", options->licence);
    rt_report_add_text(report, "kind", "kind", predictor->kind);
    rt_report_add_text(report, "target", "target", rt_targets[predictor->target].name);
    rt_report_add_text(report, "held_out_gpus", "GPUs held out", gpus);
    rt_report_add_text(report, "held_out_ops", "ops held out", ops);
    rt_report_add_fact(report, "split",
                       json_pack("{s:I, s:f, s:f, s:b}", "seed", (json_int_t)predictor->split.seed,
                                 "validation", predictor->split.validation, "test", predictor->split.test,
                                 "no_test", predictor->kept_no_test),
                       "split", "seed %llu; %g of the rows for validation, %s",
                       (unsigned long long)predictor->split.seed, predictor->split.validation,
                       predictor->kept_no_test
                           ? "nothing kept for testing"
                           : "the shapes that a source marked, else a share, for testing");
    rt_report_add_text(report, "creator", "written by", predictor->creator);
    rt_report_add_fact(report, "version", json_integer(RT_PREDICTOR_VERSION), "format", "%s, version %d",
                       RT_PREDICTOR_FORMAT, RT_PREDICTOR_VERSION);
    free(gpus);
    free(ops);
}

/* The options of `train` that the file knows. Free with free(). */
static char *recipe_line(const struct rt_predictor *predictor)
{
    struct rt_text line = {0};
    rt_text_add(&line, "rooftile train DATA.h5... -o predictor.h5 --predictor %s --seed %llu --validation %g",
                predictor->kind, (unsigned long long)predictor->split.seed, predictor->split.validation);
    if (predictor->kept_no_test)
        rt_text_add(&line, " --no-test");
    else
        rt_text_add(&line, " --split %g", predictor->split.test);
    if (predictor->threads > 0)
        rt_text_add(&line, " --threads %lld", (long long)predictor->threads);
    for (int op = 0; op < 2; op++) {
        const char *lines = op ? predictor->held_out_ops : predictor->held_out_gpus;
        for (size_t i = 0; i < count_lines(lines); i++) {
            char *name = nth_line(lines, i), *word = rt_card_shell_word(name);
            rt_text_add(&line, " --hold-out-%s %s", op ? "op" : "gpu", word);
            free(word);
            free(name);
        }
    }
    rt_text_add(&line, "\n");
    return rt_text_take(&line);
}

static void add_recipe(struct rt_report *report, const struct rt_predictor *predictor)
{
    char *line = recipe_line(predictor);
    rt_report_add_heading(report, "How it was made");
    bool later = predictor->calibrated[0] != '\0' || predictor->energy.count > 0;
    rt_report_add_paragraph(
        report, "By this command, from those data%s:", later ? ", then by `rooftile calibrate`" : "");
    rt_report_add_lines(report, line);
    free(line);
}

static void add_errors(struct rt_report *report, const struct rt_predictor *predictor,
                       const struct rt_card_scored *judged)
{
    struct rt_table *left_out = left_out_table(predictor);
    if (judged != NULL)
        rt_card_add_scored(report, judged);
    if (rt_table_rows(left_out) > 0) {
        rt_report_add_heading(report, "Errors by the file itself");
        rt_report_add_paragraph(report,
                                "For its intervals the training was repeated without each GPU in turn. These "
                                "are the errors of kernels of that GPU, over training and validation shapes; "
                                "choices of the design saw them, so they are no independent test.");
    }
    rt_report_add_table(report, "left_out", "GPUs left out in turn", left_out);
    rt_report_add_table(report, "intervals", "Half-widths of 90% intervals", intervals_table(predictor));
}

/* Families without a net. Free with free(). */
static char *families_without(const struct rt_predictor *predictor)
{
    struct rt_text words = {0};
    for (int family = 0; family < RT_FAMILY_COUNT; family++) {
        bool found = false;
        for (size_t n = 0; n < predictor->net_count; n++)
            found |= (int)predictor->nets[n].family == family;
        if (!found)
            rt_text_item(&words, ", ", "%s", rt_families[family].name);
    }
    return rt_text_take(&words);
}

static void add_limits(struct rt_report *report, const struct rt_predictor *predictor)
{
    char *families = families_without(predictor);
    rt_report_add_heading(report, "Limits");
    if (families[0] != '\0')
        rt_report_add_note(report, NULL,
                           "It has no network for the families %s: those are forecast by bytes and "
                           "bandwidth, or not at all.",
                           families);
    rt_report_add_note(
        report, NULL,
        "In dtypes that a family was not fitted to, and on GPUs that are not listed above, forecasts rest on "
        "data sheets and on the nearest that was measured; their intervals are wider.");
    rt_report_add_note(report, NULL,
                       "Inputs outside the range of training are clipped to it; beyond, physics alone "
                       "carries the forecast.");
    rt_report_add_note(report, NULL,
                       "Intervals are conformal: nine of ten measurements lie inside where a GPU is as "
                       "different from those measured as they are from one another. No more is promised.");
    rt_report_add_note(
        report, NULL, "Library versions, drivers and clocks are those of the data: others take other times.");
    free(families);
}

static void add_use(struct rt_report *report, const char *path)
{
    const char *slash = strrchr(path, '/');
    char *word = rt_card_shell_word(slash != NULL ? slash + 1 : path);
    char *lines =
        rt_format("rooftile predict --predictor %s --gpu H200 --model gpt3-2.7b --batch 2 --seq 2048\n"
                  "rooftile evaluate --predictor %s DATA.h5\n",
                  word, word);
    rt_report_add_heading(report, "How to use it");
    rt_report_add_lines(report, lines);
    free(lines);
    free(word);
}

/* "rooftile predictor of kernel latencies, fitted to 18 devices". Free with free(). */
static char *title_of(const struct rt_predictor *predictor, const struct rt_card_options *options)
{
    if (options->title != NULL)
        return rt_strdup(options->title);
    return rt_format("Predictor of GPU kernel latencies (%s), fitted to %zu device%s", predictor->kind,
                     count_lines(predictor->devices), count_lines(predictor->devices) == 1 ? "" : "s");
}

struct rt_report *rt_card_of_predictor(const struct rt_predictor *predictor, const char *path,
                                       const struct rt_card_options *options,
                                       const struct rt_card_scored *judged)
{
    struct rt_report *report = rt_report_new();
    const char *licence = options->licence != NULL ? options->licence : predictor->data_licences;
    char *title = title_of(predictor, options);
    rt_report_add_front(report, "metadata",
                        rt_front_of_predictor(title, licence, options, rt_card_results(judged)));
    rt_report_add_title(report, "%s", title);
    add_what(report, predictor);
    add_origin(report, predictor, options);
    rt_report_add_table(report, "data", "Data", data_table(predictor));
    rt_report_add_table(report, "networks", "Networks", networks_table(predictor));
    rt_report_add_table(report, "devices", "Devices it knows", known_table(predictor));
    rt_report_add_table(report, "calibrated", "Devices it was calibrated to", calibrated_table(predictor));
    add_recipe(report, predictor);
    add_errors(report, predictor, judged);
    add_limits(report, predictor);
    add_use(report, path);
    rt_card_add_end(report, options, predictor->data_sources);
    free(title);
    return report;
}
