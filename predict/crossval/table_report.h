/* Reports of cross-validation: the folds of a dry run, and the table. */
#ifndef ROOFTILE_PREDICT_CROSSVAL_TABLE_REPORT_H
#define ROOFTILE_PREDICT_CROSSVAL_TABLE_REPORT_H

#include "base/report.h"
#include "predict/crossval/table.h"

/* To be freed. */
struct rt_report *rt_crossval_report_folds(const struct rt_crossval *crossval);
struct rt_report *rt_crossval_report_table(const struct rt_crossval_table *table);

/* Its pictures: predictors beside one another, folds of the first, coverage of its intervals. */
void rt_crossval_add_plots(struct rt_report *report, const struct rt_crossval_table *table);

/* Is the row judged on fewer than another block's in some column? Then its mean is not comparable. */
bool rt_crossval_is_partial(const struct rt_crossval_table *table, const struct rt_crossval_block *block,
                            int row);

/* A row of the table: "softmax", "end to end inference". */
const char *rt_crossval_row_name(int row);

#endif
