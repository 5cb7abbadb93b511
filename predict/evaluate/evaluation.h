/* What the evaluation of kernels and of whole models share; internal to predict/evaluate. */
#ifndef ROOFTILE_PREDICT_EVALUATE_EVALUATION_H
#define ROOFTILE_PREDICT_EVALUATE_EVALUATION_H

#include "predict/evaluate/evaluate.h"

/* An evaluation with a column for each candidate and room for `capacity` rows. RT_EUSAGE where a candidate
 * forecasts another target. */
int rt_evaluation_init(struct rt_evaluation *evaluation, const struct rt_candidate *candidates, size_t count,
                       const struct rt_evaluate_options *options, enum rt_target_id target, size_t capacity);

/* A further column with room for `capacity` rows, NaN until it is filled (a candidate's: in every row); takes
 * name and key. Returns its number. */
size_t rt_evaluation_add_column(struct rt_evaluation *evaluation, enum rt_scored_kind kind, char *name,
                                char *key, size_t capacity);

/* Appends a group after the last. */
void rt_evaluation_add_group(struct rt_evaluation *evaluation, const struct rt_scored_group *group);

/* RT_EFORMAT: there are no rows; the sentence says why most were left out. */
int rt_evaluation_refuse_empty(const struct rt_evaluation *evaluation);

#endif
