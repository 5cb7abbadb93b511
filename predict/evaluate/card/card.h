/*
 * Cards: what a dataset or a predictor is, for those who find it on the web. A card is a report
 * (base/report.h) whose Markdown begins with the YAML that Hugging Face reads of a README.md. All of it comes
 * out of the files; what no file knows (a licence, a title, an author) is asked for.
 *
 * The keys of the front matter are those of huggingface/hub-docs, datasetcard.md and modelcard.md.
 *
 * Files in reading order:
 *   card            this: what is asked for
 *   licence         from words to the Hub's name of a licence
 *   citation        BibTeX of rooftile and of the sources it knows
 *   front           the front matter
 *   dataset_tables  what a dataset holds, as tables
 *   faults          what is wrong with it, as far as that can be told
 *   dataset         its card
 *   network_tables  what a predictor was fitted to and how well, as tables
 *   predictor       its card
 *   judge           a predictor evaluated on a dataset, with the command
 *   cmd_card        `rooftile card`
 */
#ifndef ROOFTILE_PREDICT_EVALUATE_CARD_CARD_H
#define ROOFTILE_PREDICT_EVALUATE_CARD_CARD_H

#include "base/options.h"
#include "base/report.h"
#include "datasets/dataset_input.h"
#include "models/predictors/predictor/predictor.h"

struct rt_card_options {
    const char *title, *author, *licence, *source, *citation; /* NULL: what the file says */
    const char *notes;            /* a Markdown text that goes to the end; NULL: none */
    const char *csv;              /* dataset: a folder beside the card that holds it as CSV; NULL: none */
    struct rt_names hub_datasets; /* predictor: OWNER/NAME of datasets on the Hub that it was fitted to */
};

struct rt_card_scored; /* judge.h */

/* A new report. `path` is how the file is named in commands; `judged` may be NULL. */
struct rt_report *rt_card_of_dataset(const struct rt_dataset *dataset, const char *path,
                                     const struct rt_card_options *options,
                                     const struct rt_card_scored *judged);
struct rt_report *rt_card_of_predictor(const struct rt_predictor *predictor, const char *path,
                                       const struct rt_card_options *options,
                                       const struct rt_card_scored *judged);

/* How to cite, and the notes: the end of every card. `sources`: a line each. */
void rt_card_add_end(struct rt_report *report, const struct rt_card_options *options, const char *sources);

/* The word as a shell reads it, in quotes where it needs them. Free with free(). */
char *rt_card_shell_word(const char *word);

/* "a, b and 3 more" of `count` names. Free with free(). */
char *rt_card_names(const char *const *names, size_t count, size_t shown);

#endif
