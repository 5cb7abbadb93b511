/*
 * Cards: what a dataset or a predictor is, for those who find it on the web. A card is a report
 * (base/report.h) whose Markdown begins with the YAML that Hugging Face reads of a README.md. All of it comes
 * out of the files; what no file knows (a licence, a title, an author) is asked for.
 *
 * The keys of the front matter are those of huggingface/hub-docs, datasetcard.md and modelcard.md.
 *
 * Files in reading order:
 *   card.h            what is asked for
 *   card_parts.h      what cards are made of:
 *   licence.c         from words to the Hub's name of a licence
 *   citation.c        BibTeX of rooftile and of the sources it knows
 *   front.c           the front matter
 *   dataset_tables.c  what a dataset holds, as tables
 *   faults.c          what is wrong with it, as far as that can be told
 *   dataset.c         its card
 *   network_tables.c  what a predictor was fitted to and how well, as tables
 *   predictor.c       its card
 *   judge.c           a predictor evaluated on a dataset, with the command
 *   cmd_card.c        `rooftile card`
 */
#ifndef ROOFTILE_PREDICT_EVALUATE_CARD_CARD_H
#define ROOFTILE_PREDICT_EVALUATE_CARD_CARD_H

#include "base/options.h"
#include "base/report.h"
#include "datasets/dataset_input.h"
#include "models/predictors/predictor/predictor.h"
#include "predict/evaluate/evaluate.h"

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

#endif
