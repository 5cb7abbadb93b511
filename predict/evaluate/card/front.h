/* The front matter of cards. */
#ifndef ROOFTILE_PREDICT_EVALUATE_CARD_FRONT_H
#define ROOFTILE_PREDICT_EVALUATE_CARD_FRONT_H

#include "predict/evaluate/card/card.h"

/* Of a dataset. `title` is its pretty name; `licence` has a line for each source. */
json_t *rt_front_of_dataset(const struct rt_dataset *dataset, const char *title, const char *licence,
                            const struct rt_card_options *options);

/* Of a predictor. Takes `results` (model-index; NULL or empty: none). */
json_t *rt_front_of_predictor(const char *title, const char *licence, const struct rt_card_options *options,
                              json_t *results);

/* A result of the model-index: the MAPE in percent of forecasts of `what`, by `dataset` (its name) and
 * `split`. */
json_t *rt_front_result(const char *dataset, const char *split, const char *what, double mape);

#endif
