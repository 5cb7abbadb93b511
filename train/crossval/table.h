/* The fold files of all units as one table: a block per predictor and protocol, rows by columns. */
#pragma once

#include "base/report.h"
#include "predict/evaluate/workload.h"
#include "train/crossval/crossval.h"

/* Errors of some kernels or runs, percent. */
struct rt_score {
    size_t n;
    size_t calibrated_to;       /* kernels that are not judged because the predictor was calibrated to them */
    double mape, bias;          /* sums until rt_crossval_collect returns; NaN where n is 0 */
    double coverage90, width90; /* the same of 90% intervals; NaN also where one has none */
    const struct rt_unit *unit; /* whose errors they are */
};

/* Rows of a block are families, then kinds of whole models. */
enum { RT_CROSSVAL_ROWS = RT_FAMILY_COUNT + RT_KIND_COUNT };

struct rt_crossval_block {
    const char *label; /* "rooftile", "roofline", "floor" */
    enum rt_protocol protocol;
    struct rt_score *score[RT_CROSSVAL_ROWS]; /* (column_count) */
};

struct rt_crossval_failure {
    const struct rt_unit *unit;
    char *why;
};

struct rt_crossval_table {
    const struct rt_crossval *crossval;
    struct rt_crossval_block *blocks; /* those with a score, kind by kind and protocol by protocol */
    size_t block_count;
    struct rt_crossval_failure *failures; /* units whose fold file says so */
    size_t failure_count;
    size_t missing; /* units without a fold file */
};

/* RT_EFORMAT where a fold file is damaged. */
int rt_crossval_collect(const struct rt_crossval *crossval, struct rt_crossval_table *out);
void rt_crossval_table_release(struct rt_crossval_table *table);

/* Has the block a number in the row? */
bool rt_crossval_has(const struct rt_crossval_table *table, const struct rt_crossval_block *block, int row);

/* Mean and largest MAPE over the columns that have one; NaN and -1 where none has. */
double rt_crossval_mean(const struct rt_crossval_table *table, const struct rt_crossval_block *block,
                        int row);
double rt_crossval_worst(const struct rt_crossval_table *table, const struct rt_crossval_block *block,
                         int row, int *column);

/* Is the row judged on fewer than another block's, in that column? In some column? Then its mean is not
 * comparable. */
bool rt_crossval_has_fewer(const struct rt_crossval_table *table, const struct rt_crossval_block *block,
                           int row, size_t column);
bool rt_crossval_is_partial(const struct rt_crossval_table *table, const struct rt_crossval_block *block,
                            int row);

/* A row of the table: "softmax", "end to end inference". */
const char *rt_crossval_row_name(int row);

/* table_plots.c. Its pictures in a report: predictors beside one another, folds of the first, coverage of its
 * intervals. */
void rt_crossval_add_plots(struct rt_report *report, const struct rt_crossval_table *table);

/* ---- table_report.c: the folds of a dry run, and the table; to be freed ---- */

struct rt_report *rt_crossval_report_folds(const struct rt_crossval *crossval);
struct rt_report *rt_crossval_report_table(const struct rt_crossval_table *table);
