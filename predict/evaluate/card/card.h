/*
 * Cards: what a dataset or a predictor is, for those who find it on the web. A card is a report
 * (base/report.h) whose Markdown begins with the YAML that Hugging Face reads of a README.md. All of it comes
 * out of the files; what no file knows (a licence, a title, an author) is asked for.
 *
 * The keys of the front matter are those of huggingface/hub-docs, datasetcard.md and modelcard.md.
 */
#pragma once

#include "base/options.h"
#include "base/report.h"
#include "base/table.h"
#include "datasets/dataset_input.h"
#include "models/predictors/predictor/predictor.h"
#include "predict/evaluate/evaluate.h"

#include <jansson.h>

struct rt_card_options {
    const char *title, *author, *licence, *source, *citation; /* NULL: what the file says */
    const char *notes;            /* a Markdown text that goes to the end; NULL: none */
    const char *csv;              /* dataset: a folder beside the card that holds it as CSV; NULL: none */
    struct rt_names hub_datasets; /* predictor: OWNER/NAME of datasets on the Hub that it was fitted to */
};

/* Owned, but for the paths. */
struct rt_card_scored {
    const char *predictor, *data;      /* as they were named */
    struct rt_candidate candidates[2]; /* the predictor, and the roofline beside it unless it is that */
    size_t candidate_count;
    struct rt_dataset_input input;
    bool has_kernels, has_runs;
    struct rt_evaluation kernels, runs;
};

/* Judges the kernels of the dataset's test part, and its runs of whole models, as far as it has any.
 * RT_EFORMAT where none can be judged, with the reason. To be released in any case. */
int rt_card_judge(const char *predictor, const char *data, struct rt_threads *threads, bool quiet,
                  struct rt_card_scored *out);
void rt_card_scored_release(struct rt_card_scored *judged);

/* A new report. `path` is how the file is named in commands; `judged` may be NULL. */
struct rt_report *rt_card_of_dataset(const struct rt_dataset *dataset, const char *path,
                                     const struct rt_card_options *options,
                                     const struct rt_card_scored *judged);
struct rt_report *rt_card_of_predictor(const struct rt_predictor *predictor, const char *path,
                                       const struct rt_card_options *options,
                                       const struct rt_card_scored *judged);

/* ---- words ---- */

/* How to cite, and the notes: the end of every card. `sources`: a line each. */
void rt_card_add_end(struct rt_report *report, const struct rt_card_options *options, const char *sources);

/* The word as a shell reads it, in quotes where it needs them. Free with free(). */
char *rt_card_shell_word(const char *word);

/* "a, b and 3 more" of `count` names. Free with free(). */
char *rt_card_names(const char *const *names, size_t count, size_t shown);

/* ---- the front matter ---- */

/* Of a dataset. `title` is its pretty name; `licence` has a line for each source. */
json_t *rt_front_of_dataset(const struct rt_dataset *dataset, const char *title, const char *licence,
                            const struct rt_card_options *options);

/* Of a predictor. Takes `results` (model-index; NULL or empty: none). */
json_t *rt_front_of_predictor(const char *title, const char *licence, const struct rt_card_options *options,
                              json_t *results);

/* A result of the model-index: the MAPE in percent of forecasts of `what`, by `dataset` (its name) and
 * `split`. */
json_t *rt_front_result(const char *dataset, const char *split, const char *what, double mape);

/* Sets "license" of the front matter to the names of the licences that the lines say, each once; to "other"
 * with "license_name" where one of them is not known there; to nothing where no line says anything. A line is
 * its licence, then anything: "Apache-2.0, copyright 2025 ...". */
void rt_licence_set(json_t *front, const char *lines);

/* ---- citations ---- */

/* The entries: rooftile, those whose mark is in `sources`, and `own`, a BibTeX text (NULL: none). Free with
 * free(). */
char *rt_citations(const char *sources, const char *own);

/* ---- a predictor evaluated on a dataset, for the card of either ---- */

/* The commands and the tables they print. */
void rt_card_add_scored(struct rt_report *report, const struct rt_card_scored *judged);

/* The results as the model-index of a front matter holds them: a new array. */
json_t *rt_card_results(const struct rt_card_scored *judged);
