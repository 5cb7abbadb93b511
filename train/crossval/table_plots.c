/* Pictures of a cross-validation's table. See table.h. */
#include "base/plot.h"
#include "base/report.h"
#include "base/status.h"
#include "train/crossval/table.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_BARS = 72 }; /* of a picture: more cannot be read */

/* "rooftile, calibrated" */
static char *block_name(const struct rt_crossval_block *block)
{
    return rt_format("%s%s", block->label, rt_protocols[block->protocol].words);
}

/* ---- predictors beside one another ---- */

/* Bars of a block: the mean over the folds, row by row. */
static void add_means(struct rt_plot *plot, const struct rt_crossval_table *table,
                      const struct rt_crossval_block *block, int from, int to)
{
    const char *names[RT_CROSSVAL_ROWS];
    double values[RT_CROSSVAL_ROWS];
    size_t count = 0;
    char *name = block_name(block);
    for (int row = from; row < to; row++)
        if (rt_crossval_has(table, block, row)) {
            names[count] = rt_crossval_row_name(row);
            values[count++] = rt_crossval_mean(table, block, row);
        }
    if (count > 0)
        rt_plot_bars(plot, name, names, values, count);
    free(name);
}

/* The block and row of the least and of the largest mean. */
struct extremes {
    const struct rt_crossval_block *least, *most;
    int least_row, most_row;
    size_t count;
    bool partial; /* some are of fewer rows than others */
};

static struct extremes find_extremes(const struct rt_crossval_table *table, int from, int to)
{
    struct extremes found = {0};
    for (size_t b = 0; b < table->block_count; b++)
        for (int row = from; row < to; row++) {
            const struct rt_crossval_block *block = &table->blocks[b];
            if (!rt_crossval_has(table, block, row))
                continue;
            double mean = rt_crossval_mean(table, block, row);
            found.partial |= rt_crossval_is_partial(table, block, row);
            if (found.count++ == 0 || mean < rt_crossval_mean(table, found.least, found.least_row)) {
                found.least = block;
                found.least_row = row;
            }
            if (found.most == NULL || mean > rt_crossval_mean(table, found.most, found.most_row)) {
                found.most = block;
                found.most_row = row;
            }
        }
    return found;
}

/* Rows [from, to) of the table: families of kernels, or kinds of whole models. */
static void add_beside(struct rt_report *report, const struct rt_crossval_table *table, const char *what,
                       int from, int to)
{
    struct extremes found = find_extremes(table, from, to);
    if (found.count == 0 || found.count > MOST_BARS)
        return;
    char *title = rt_format("%s: predictors beside one another", what);
    char *least = block_name(found.least), *most = block_name(found.most);
    struct rt_plot *plot = rt_plot_new(
        title,
        "Mean absolute error on what each predictor did not see, the mean over %zu folds: from %.1f%% (%s, "
        "%s) to %.1f%% (%s, %s).%s",
        table->crossval->column_count, rt_crossval_mean(table, found.least, found.least_row), least,
        rt_crossval_row_name(found.least_row), rt_crossval_mean(table, found.most, found.most_row), most,
        rt_crossval_row_name(found.most_row),
        found.partial ? " Means with * in the table are of fewer rows: they do not compare." : "");
    rt_plot_axes(plot, "mean absolute error, %", RT_SCALE_LINEAR, "", RT_SCALE_LINEAR);
    for (size_t b = 0; b < table->block_count; b++)
        add_means(plot, table, &table->blocks[b], from, to);
    rt_report_add_plot(report, plot);
    free(title);
    free(least);
    free(most);
}

/* ---- folds of a predictor ---- */

/* Bars of a row: a name for each fold that has a number. Returns how many. */
static size_t add_folds_of(struct rt_plot *plot, const struct rt_crossval_table *table,
                           const struct rt_crossval_block *block, int row)
{
    size_t columns = table->crossval->column_count, count = 0;
    const char **names = rt_calloc(columns + 1, sizeof *names);
    double *values = rt_calloc(columns + 1, sizeof *values);
    for (size_t c = 0; c < columns; c++)
        if (block->score[row][c].n > 0) {
            names[count] = table->crossval->columns[c];
            values[count++] = block->score[row][c].mape;
        }
    if (count > 0)
        rt_plot_bars(plot, rt_crossval_row_name(row), names, values, count);
    free(names);
    free(values);
    return count;
}

/* Folds by rows of one block; of kernels and of whole models one each. */
static void add_folds(struct rt_report *report, const struct rt_crossval_table *table,
                      const struct rt_crossval_block *block, const char *what, int from, int to)
{
    double worst = -INFINITY;
    int worst_row = -1, worst_column = -1;
    for (int row = from; row < to; row++) {
        int column;
        double error =
            rt_crossval_has(table, block, row) ? rt_crossval_worst(table, block, row, &column) : NAN;
        if (error > worst) {
            worst = error;
            worst_row = row;
            worst_column = column;
        }
    }
    if (worst_row < 0)
        return;
    char *name = block_name(block), *title = rt_format("%s by fold: %s", what, name);
    struct rt_plot *plot =
        rt_plot_new(title, "Mean absolute error of %s in every fold; the largest is %.1f%% (%s, %s).", name,
                    worst, table->crossval->columns[worst_column], rt_crossval_row_name(worst_row));
    size_t bars = 0;
    rt_plot_axes(plot, "mean absolute error, %", RT_SCALE_LINEAR, "", RT_SCALE_LINEAR);
    for (int row = from; row < to; row++)
        if (rt_crossval_has(table, block, row))
            bars += add_folds_of(plot, table, block, row);
    if (bars <= MOST_BARS)
        rt_report_add_plot(report, plot);
    else
        rt_plot_free(plot);
    free(title);
    free(name);
}

/* ---- intervals ---- */

/* The share within the 90% intervals of the first block, by row; its mean over the folds. */
static void add_coverage(struct rt_report *report, const struct rt_crossval_table *table)
{
    const struct rt_crossval_block *block = table->blocks;
    const char *names[RT_CROSSVAL_ROWS];
    double values[RT_CROSSVAL_ROWS], least = INFINITY;
    size_t count = 0, lowest = 0;
    for (int row = 0; row < RT_CROSSVAL_ROWS; row++) {
        double sum = 0, folds = 0;
        for (size_t c = 0; block->score[row] != NULL && c < table->crossval->column_count; c++)
            if (block->score[row][c].n > 0) {
                sum += block->score[row][c].coverage90;
                folds++;
            }
        if (!(sum / folds >= 0))
            continue;
        names[count] = rt_crossval_row_name(row);
        values[count] = sum / folds;
        lowest = values[count] < least ? count : lowest;
        least = fmin(least, values[count++]);
    }
    if (count == 0)
        return;
    char *name = block_name(block);
    struct rt_plot *plot = rt_plot_new("Within the 90% intervals",
                                       "Share of the measurements within the 90%% intervals of %s, the mean "
                                       "over the folds; 90 is what it should be, the lowest is %.0f%% (%s).",
                                       name, least, names[lowest]);
    rt_plot_axes(plot, "within, %", RT_SCALE_LINEAR, "", RT_SCALE_LINEAR);
    rt_plot_bars(plot, name, names, values, count);
    rt_report_add_plot(report, plot);
    free(name);
}

void rt_crossval_add_plots(struct rt_report *report, const struct rt_crossval_table *table)
{
    if (table->block_count == 0)
        return;
    add_beside(report, table, "Kernels", 0, RT_FAMILY_COUNT);
    add_beside(report, table, "Whole models", RT_FAMILY_COUNT, RT_CROSSVAL_ROWS);
    add_folds(report, table, table->blocks, "Kernels", 0, RT_FAMILY_COUNT);
    add_folds(report, table, table->blocks, "Whole models", RT_FAMILY_COUNT, RT_CROSSVAL_ROWS);
    add_coverage(report, table);
}
