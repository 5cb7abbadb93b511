/* Reports of cross-validation: the folds of a dry run, and the table. */
#ifndef ROOFTILE_TRAIN_CROSSVAL_TABLE_REPORT_H
#define ROOFTILE_TRAIN_CROSSVAL_TABLE_REPORT_H

#include "base/report.h"
#include "train/crossval/table.h"

/* To be freed. */
struct rt_report *rt_crossval_report_folds(const struct rt_crossval *crossval);
struct rt_report *rt_crossval_report_table(const struct rt_crossval_table *table);

#endif
