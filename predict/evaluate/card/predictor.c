/* The card of a predictor. See card.h. */
#include "predict/evaluate/card/card_parts.h"
#include "base/status.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

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
        char *line = rt_card_line(lines, i);
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
            report, "**INCOMPLETE: its training was interrupted; these are the best weights until "
                    "then.**");
    if (strstr(predictor->data_sources, "ynthetic") != NULL)
        rt_report_add_paragraph(report,
                                "**SYNTHETIC: some of what it was fitted to is made up, not measured. Its "
                                "forecasts say nothing about hardware.**");
    rt_report_add_paragraph(
        report,
        "A predictor of the time that GPU kernels take, and of whole models made of them, in one HDF5 "
        "file that rooftile reads: a small network per family of ops under the roofline of the GPU. "
        "It forecasts GPUs that it was fitted to, and others by their data sheets. It was fitted to "
        "%zu device%s; the file holds parameters and device effects, no measurement.",
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
            char *name = rt_card_line(lines, i), *word = rt_card_shell_word(name);
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
    struct rt_table *left_out = rt_card_left_out(predictor);
    if (judged != NULL)
        rt_card_add_scored(report, judged);
    if (rt_table_rows(left_out) > 0) {
        rt_report_add_heading(report, "Errors by the file itself");
        rt_report_add_paragraph(
            report, "For its intervals the training was repeated without each GPU in turn. These are "
                    "the errors of kernels of that GPU, over training and validation shapes; "
                    "choices of the design saw them, so they are no independent test.");
    }
    rt_report_add_table(report, "left_out", "GPUs left out in turn", left_out);
    rt_report_add_table(report, "intervals", "Half-widths of 90% intervals", rt_card_intervals(predictor));
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
        "In dtypes that a family was not fitted to, and on GPUs that are not listed above, forecasts rest "
        "on data sheets and on the nearest that was measured; their intervals are wider.");
    rt_report_add_note(
        report, NULL,
        "Inputs outside the range of training are clipped to it; beyond, physics alone carries the "
        "forecast.");
    rt_report_add_note(
        report, NULL,
        "Intervals are conformal: nine of ten measurements lie inside where a GPU is as different from "
        "those measured as they are from one another. No more is promised.");
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
    rt_report_add_table(report, "data", "Data", rt_card_data(predictor));
    rt_report_add_table(report, "networks", "Networks", rt_card_networks(predictor));
    rt_report_add_table(report, "devices", "Devices it knows", rt_card_known(predictor));
    rt_report_add_table(report, "calibrated", "Devices it was calibrated to", rt_card_calibrated(predictor));
    add_recipe(report, predictor);
    add_errors(report, predictor, judged);
    add_limits(report, predictor);
    add_use(report, path);
    rt_card_add_end(report, options, predictor->data_sources);
    free(title);
    return report;
}
