/* What a predictor was fitted to and how well that went, as tables of its card. */
#ifndef ROOFTILE_PREDICT_EVALUATE_CARD_NETWORK_TABLES_H
#define ROOFTILE_PREDICT_EVALUATE_CARD_NETWORK_TABLES_H

#include "base/table.h"
#include "models/predictors/predictor/predictor.h"

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

#endif
