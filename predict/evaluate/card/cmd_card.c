/* `rooftile card`: what a dataset or a predictor is, as the README.md of its repository. */
#include "base/file.h"
#include "base/h5.h"
#include "base/outputs.h"
#include "base/status.h"
#include "base/threads.h"
#include "predict/evaluate/card/card.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
    struct rt_names names; /* one: the file */
    struct rt_card_options card;
    const char *out, *data, *predictor, *notes, *citation; /* paths */
    int64_t threads;
    bool overwrite, json, quiet;
};

#define TEXT(member)  RT_TEXT(struct arguments, member, .check = rt_check_utf8)
#define READS(member) RT_TEXT(struct arguments, member, .reads = rt_reads_path)

static const struct rt_option options[] = {
    {"output", 'o', "README.md",
     RT_TEXT(struct arguments, out, .check = rt_report_check_path, .writes = &rt_output_text),
     "Where the card goes (default: standard output), .md; .txt and .json are plain"},
    {"overwrite", 0, NULL, RT_FLAG(struct arguments, overwrite),
     "Replace a card that is there already (a text)"},
    {"json", 'j', NULL, RT_FLAG(struct arguments, json), "Print JSON instead of Markdown"},
    {"quiet", 'q', NULL, RT_FLAG(struct arguments, quiet), "No progress on stderr"},
    {"threads", 't', "N", RT_INTEGER(struct arguments, threads, 1, RT_THREADS_MAX),
     "Threads of the evaluation; results do not depend on it"},
    RT_HEADING("What the file cannot know:"),
    {"license", 0, "NAME", TEXT(card.licence),
     "The licence under which it is published, mit, apache-2.0, cc-by-4.0 ... (default: that of the data)"},
    {"title", 0, "TEXT", TEXT(card.title), "Its title (default: made of its devices)"},
    {"author", 0, "TEXT", TEXT(card.author), "Who made it"},
    {"source", 0, "TEXT", TEXT(card.source), "Where it is from (default: what the file says)"},
    {"citation", 0, "FILE.bib", READS(citation), "BibTeX entries to cite it by"},
    {"notes", 0, "FILE.md", READS(notes), "Markdown that goes to the end as it is"},
    RT_HEADING("Errors on measurements:"),
    {"data", 0, "DATA.h5", READS(data), "Of a predictor: evaluate it on the test part of this dataset"},
    {"predictor", 'p', "P.h5", RT_TEXT(struct arguments, predictor, .reads = rt_predictor_reads),
     "Of a dataset: evaluate this predictor on its test part"},
    RT_HEADING("On the Hub:"),
    {"csv", 0, "FOLDER", RT_TEXT(struct arguments, card.csv, .check = rt_check_utf8, .reads = rt_reads_path),
     "Of a dataset: the folder beside the card that holds it as CSV (`rooftile dataset export`), for the "
     "viewer"},
    {"hub-dataset", 0, "OWNER/NAME", RT_LIST(struct arguments, card.hub_datasets, .check = rt_check_utf8),
     "Of a predictor: a dataset there that it was fitted to"},
};

static void set_defaults(void *value)
{
    ((struct arguments *)value)->threads = (int64_t)rt_threads_processors();
}

/* A text file of the user, checked: to be freed. */
static int read_text(const char *option, const char *path, const char **out)
{
    enum { MOST = 1 << 20 };
    char *text = NULL;
    size_t size;
    if (path == NULL)
        return RT_OK;
    int status = rt_file_read(path, MOST, &text, &size);
    if (status == RT_OK && rt_check_utf8(option, text) != RT_OK) {
        free(text);
        return rt_fail(RT_EFORMAT, "%s %s: is not UTF-8; save it so", option, path);
    }
    *out = text;
    return status;
}

static int write_card(const struct arguments *arguments, struct rt_report *report)
{
    int status = arguments->out != NULL ? rt_report_save(report, arguments->out) : RT_OK;
    if (status == RT_OK && (arguments->out == NULL || arguments->json))
        status = rt_report_print(report, arguments->json ? RT_REPORT_JSON : RT_REPORT_MARKDOWN, stdout);
    rt_report_free(report);
    return status;
}

static int judge(const struct arguments *arguments, const char *predictor, const char *data,
                 struct rt_card_scored *judged)
{
    struct rt_threads *threads = rt_threads_new((size_t)arguments->threads);
    int status = rt_card_judge(predictor, data, threads, arguments->quiet, judged);
    rt_threads_free(threads);
    return status;
}

static int run_dataset(const struct arguments *arguments)
{
    const char *path = arguments->names.name[0];
    struct rt_card_scored judged = {0};
    struct rt_dataset dataset;
    if (arguments->data != NULL)
        return rt_fail(
            RT_EUSAGE,
            "--data is for the card of a predictor; %s is a dataset: name a predictor with --predictor",
            path);
    int status = rt_dataset_read(path, &dataset);
    if (status != RT_OK)
        return status;
    if (arguments->predictor != NULL)
        status = judge(arguments, arguments->predictor, path, &judged);
    if (status == RT_OK)
        status = write_card(arguments, rt_card_of_dataset(&dataset, path, &arguments->card,
                                                          arguments->predictor != NULL ? &judged : NULL));
    rt_card_scored_release(&judged);
    rt_dataset_release(&dataset);
    return status;
}

static int run_predictor(const struct arguments *arguments)
{
    const char *path = arguments->names.name[0];
    struct rt_card_scored judged = {0};
    struct rt_predictor predictor;
    if (arguments->predictor != NULL || arguments->card.csv != NULL)
        return rt_fail(RT_EUSAGE,
                       "--%s is for the card of a dataset; %s is a predictor: name a dataset with --data",
                       arguments->predictor != NULL ? "predictor" : "csv", path);
    int status = rt_predictor_open(path, &predictor);
    if (status != RT_OK)
        return status;
    if (arguments->data != NULL)
        status = judge(arguments, path, arguments->data, &judged);
    if (status == RT_OK)
        status = write_card(arguments, rt_card_of_predictor(&predictor, path, &arguments->card,
                                                            arguments->data != NULL ? &judged : NULL));
    rt_card_scored_release(&judged);
    rt_predictor_release(&predictor);
    return status;
}

static int run(const struct rt_command_line *line)
{
    struct arguments *arguments = line->options;
    char *format = rt_h5_format(arguments->names.name[0]);
    bool is_dataset = format != NULL && strcmp(format, RT_DATASET_FORMAT) == 0;
    free(format);
    int status = rt_outputs_check(line);
    if (status == RT_OK)
        status = read_text("--notes", arguments->notes, &arguments->card.notes);
    if (status == RT_OK)
        status = read_text("--citation", arguments->citation, &arguments->card.citation);
    if (status == RT_OK)
        status = is_dataset ? run_dataset(arguments) : run_predictor(arguments);
    free((char *)(uintptr_t)arguments->card.notes);
    free((char *)(uintptr_t)arguments->card.citation);
    return status;
}

const struct rt_command rt_command_card = {
    .name = "card",
    .also = "describe publish readme",
    .brief = "describe a dataset or a predictor, as the README.md to publish it with",
    .operands_usage = "DATA.h5|PREDICTOR.h5",
    .about = "Prints what a dataset or a predictor is: where it is from, its licence, GPUs, versions, "
             "dtypes, ranges, known faults, errors on measurements, limits and how to cite it, as Markdown "
             "that begins with the YAML which Hugging Face reads.",
    .details = "Times are in us and ms, errors in percent. Nothing is uploaded. scripts/publish.sh makes "
               "whole folders with cards, reports and checksums.\n\n"
               "Example: a dataset of one's own, and what a predictor is worth on it:\n"
               "  rooftile card data.h5 --license cc-by-4.0 --author \"A. Name\" -o README.md\n"
               "  rooftile card predictor.h5 --data data.h5\n"
               "  rooftile card pretrained",
    RT_RUNS(run, struct arguments, options),
    .operands = RT_OPERANDS(struct arguments, names, 1, 1, "a dataset or a predictor, DATA.h5", .once = true,
                            .reads = rt_predictor_reads),
    .set_defaults = set_defaults,
};
