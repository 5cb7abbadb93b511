/* What cards are made of: front matter, tables, commands, citations. card.h has their order. */
#ifndef ROOFTILE_PREDICT_EVALUATE_CARD_CARD_PARTS_H
#define ROOFTILE_PREDICT_EVALUATE_CARD_CARD_PARTS_H

#include "base/table.h"
#include "predict/evaluate/card/card.h"

#include <jansson.h>

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

/* ---- a dataset: what it holds, and what is wrong with it as far as that can be told ---- */

/* Each device with its main numbers and how many rows are of it. */
struct rt_table *rt_card_devices(const struct rt_dataset *dataset);
/* Samples by op and dtype: on how many devices, ranges of dims and times. */
struct rt_table *rt_card_ops(const struct rt_dataset *dataset);
/* Runs of whole models by model, mode and dtype: ranges of batch, sequence and time. */
struct rt_table *rt_card_models(const struct rt_dataset *dataset);
/* Attributes of groups: their distinct values, the first few. */
struct rt_table *rt_card_attributes(const struct rt_dataset *dataset);

/* A row per fault that some sample or run has, with what it means. */
struct rt_table *rt_card_faults(const struct rt_dataset *dataset);
/* Why kernels and runs could not run, by the attribute "failure": a row per reason. */
struct rt_table *rt_card_failures(const struct rt_dataset *dataset);
/* Sessions that look throttled by the rule of models/predictors/predictor/throttling.h, a row each. */
struct rt_table *rt_card_sessions(const struct rt_dataset *dataset);

/* How many samples and runs are made up. */
size_t rt_card_synthetic(const struct rt_dataset *dataset);

/* ---- a predictor: what it was fitted to and how well that went ---- */

/* A row per net: what it is, its dtypes, rows, and the error of its validation rows. */
struct rt_table *rt_card_networks(const struct rt_predictor *predictor);
/* Devices that nets know, with their kernels and dtypes. */
struct rt_table *rt_card_known(const struct rt_predictor *predictor);
/* What GPUs were off by that training left out in turn, for intervals: a row per net and GPU. */
struct rt_table *rt_card_left_out(const struct rt_predictor *predictor);
/* Half-widths of 90% intervals in percent, by net. */
struct rt_table *rt_card_intervals(const struct rt_predictor *predictor);
/* Devices that were calibrated, and to what. */
struct rt_table *rt_card_calibrated(const struct rt_predictor *predictor);
/* Sources, licences and uuids of the data, line by line. */
struct rt_table *rt_card_data(const struct rt_predictor *predictor);

/* Line `number` of a list with one entry a line. Free with free(). */
char *rt_card_line(const char *lines, size_t number);

/* ---- a predictor evaluated on a dataset, for the card of either ---- */

/* The commands and the tables they print. */
void rt_card_add_scored(struct rt_report *report, const struct rt_card_scored *judged);

/* The results as the model-index of a front matter holds them: a new array. */
json_t *rt_card_results(const struct rt_card_scored *judged);

#endif
