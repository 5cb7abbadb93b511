/* An evaluation of whole models for people and for spreadsheets. See report.h. */
#include "base/status.h"
#include "base/table.h"
#include "predict/evaluate/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MAX_FIXED = 16, MAX_CELLS = RT_MAX_WORKLOAD_COLUMNS, MOST_LINES = 20 };

/* --- tables whose last columns are those of the evaluation --- */

/* A table of `fixed` columns and then one for each of the evaluation's from `first` on, all texts. */
struct wide {
    struct rt_column columns[MAX_FIXED + MAX_CELLS];
    struct rt_table *table;
    char *cell[MAX_CELLS]; /* of the row that is being made */
    size_t count;
};

static void wide_clear(struct wide *wide)
{
    for (size_t c = 0; c < wide->count; c++) {
        free(wide->cell[c]);
        wide->cell[c] = NULL;
    }
}

static void wide_open(struct wide *wide, const struct rt_column *fixed, size_t fixed_count,
                      const struct rt_workload_evaluation *evaluation, size_t first, bool keys)
{
    *wide = (struct wide){.count = evaluation->column_count - first};
    memcpy(wide->columns, fixed, fixed_count * sizeof *fixed);
    for (size_t c = 0; c < wide->count; c++) {
        const struct rt_workload_column *column = &evaluation->column[first + c];
        bool compared = column->kind == RT_COLUMN_COMPARED;
        wide->cell[c] =
            keys ? rt_format("%s%s", compared ? "compared_" : column->key, compared ? column->key : "_ms")
                 : rt_strdup(column->name);
        wide->columns[fixed_count + c] = (struct rt_column){wide->cell[c], NULL, 's', 0};
    }
    wide->table = rt_table_new(wide->columns, fixed_count + wide->count);
    wide_clear(wide);
}

static void wide_print(struct wide *wide, FILE *file)
{
    rt_table_text(wide->table, file);
    rt_table_free(wide->table);
}

static char *number_text(const char *format, double value)
{
    char text[64];
    if (isnan(value))
        return NULL;
    snprintf(text, sizeof text, format, value);
    return rt_strdup(text);
}

/* --- head --- */

static void print_data(const struct rt_workload_evaluation *evaluation, FILE *file)
{
    const struct rt_workload_options *options = &evaluation->options;
    for (size_t f = 0; f < options->file_count; f++) {
        const struct rt_evaluation_file *from = &options->files[f];
        char *source = rt_report_commas(from->source), *licence = rt_report_commas(from->licence);
        rt_report_formatted(file, f == 0 ? "data" : "",
                            rt_format("%s: %zu workloads, source %s, licence %s, uuid %s", from->path,
                                      from->workloads, source, licence, from->uuid));
        free(source);
        free(licence);
    }
    if (options->duplicates > 0)
        rt_report_formatted(file, "",
                            rt_format("%zu rows were in the data twice and count once", options->duplicates));
    rt_report_formatted(
        file, "workloads",
        rt_format("%zu forecast; no predictor is fitted to whole models: every model is unseen",
                  evaluation->row_count));
    if (evaluation->reference != NULL)
        rt_report_formatted(file, "unseen",
                            rt_format("GPUs that %s was not fitted to", evaluation->reference->label));
    if (evaluation->synthetic > 0)
        rt_report_formatted(
            file, "", rt_format("SYNTHETIC: %zu of them are made up, not measured", evaluation->synthetic));
}

static void print_graphs(const struct rt_workload_evaluation *evaluation, FILE *file)
{
    if (evaluation->options.graphs == NULL)
        return;
    rt_report_formatted(file, "graphs",
                        rt_format("%zu read from %s; %zu built here (several GPUs, or no file of the name)",
                                  evaluation->graphs_read, evaluation->options.graphs,
                                  evaluation->row_count - evaluation->graphs_read));
}

static void print_compared(const struct rt_workload_evaluation *evaluation, FILE *file)
{
    if (evaluation->options.compare == NULL)
        return;
    rt_report_formatted(file, "compared",
                        rt_format("columns with * are forecasts out of %s, of %zu lines",
                                  evaluation->options.compare, evaluation->compared_rows));
    if (evaluation->compared_unknown > 0)
        rt_report_formatted(
            file, "",
            rt_format("NOTE: %zu of its lines are about workloads that the data does not have",
                      evaluation->compared_unknown));
    for (size_t d = 0; d < evaluation->disagreement_count && d < MOST_LINES; d++) {
        const struct rt_workload_disagreement *other = &evaluation->disagreements[d];
        char *name = rt_workload_name(evaluation->dataset, other->row->workload);
        rt_report_formatted(
            file, "",
            rt_format("NOTE: its line %zu, %s on %s, was measured at %.3f ms there and %.3f ms in the data; "
                      "errors are of the data's",
                      other->line, name, other->row->device, other->measured_us / 1e3,
                      other->row->workload->end_to_end_us / 1e3));
        free(name);
    }
    if (evaluation->disagreement_count > MOST_LINES)
        rt_report_formatted(file, "",
                            rt_format("NOTE: %zu more lines were measured otherwise than in the data",
                                      evaluation->disagreement_count - MOST_LINES));
}

static void print_head(const struct rt_workload_evaluation *evaluation, FILE *file)
{
    for (size_t c = 0; c < evaluation->candidate_count; c++)
        rt_report_candidate(file, c == 0 ? "predictor" : c == 1 ? "beside" : "", &evaluation->candidates[c]);
    print_data(evaluation, file);
    print_graphs(evaluation, file);
    print_compared(evaluation, file);
    rt_report_labelled(file, "floor",
                       "the error that is left if every kernel's time is known: the model's nodes, each "
                       "measured alone, added up");
    rt_report_labelled(
        file, "errors",
        "percent of the measured time, above 0: forecast too slow. Coverage: share of the "
        "forecast kernels' time that trained networks account for; in 90%: measured within the 90% "
        "interval, half of which is +-90% of the forecast");
}

/* --- a line per workload --- */

static const struct rt_column row_columns[] = {
    {"device", NULL, 's', 0},
    {"unseen", NULL, 'b', 0},
    {"model", NULL, 's', 0},
    {"mode", NULL, 's', 0},
    {"batch", NULL, 'd', 0},
    {"seq", NULL, 'd', 0},
    {"option", NULL, 's', 0},
    {"measured_ms", "measured ms", 'f', 1},
    {"forecast_ms", "forecast ms", 'f', 1},
    {"error_pct", "error %", 'f', 1},
    {"coverage_pct", "coverage %", 'f', 1},
    {"width90", "+-90%", 'f', 1},
    {"in90", "in 90%", 's', 0},
};

/* Does the 90% interval hold what was measured? */
static const char *within_words(const struct rt_workload_row *row)
{
    double off = fabs(log(row->workload->end_to_end_us / row->time_us[0]));
    return isnan(row->half) ? NULL : off <= row->half ? "yes" : "no";
}

static void print_rows(const struct rt_workload_evaluation *evaluation, FILE *file)
{
    struct wide wide;
    wide_open(&wide, row_columns, RT_COUNT(row_columns), evaluation, 1, false);
    for (size_t r = 0; r < evaluation->row_count; r++) {
        const struct rt_workload_row *row = &evaluation->rows[r];
        for (size_t c = 0; c < wide.count; c++)
            wide.cell[c] = number_text("%6.1f", rt_workload_error(row, 1 + c));
        rt_table_row_texts(wide.table, (const char *const *)wide.cell, wide.count, row->device,
                           (int)row->held_out, row->model, rt_modes[row->workload->mode],
                           (long long)row->workload->batch, (long long)row->workload->sequence, row->option,
                           row->workload->end_to_end_us / 1e3, row->time_us[0] / 1e3,
                           rt_workload_error(row, 0), 100 * row->coverage, 100 * sinh(row->half),
                           within_words(row));
        wide_clear(&wide);
    }
    wide_print(&wide, file);
}

/* --- passes of training --- */

static const struct rt_column pass_columns[] = {
    {"device", NULL, 's', 0},
    {"unseen", NULL, 'b', 0},
    {"model", NULL, 's', 0},
    {"batch", NULL, 'd', 0},
    {"option", NULL, 's', 0},
    {"forward_ms", "forward ms", 'f', 1},
    {"forward_forecast", "forecast ms", 'f', 1},
    {"forward_error", "error %", 'f', 1},
    {"backward_ms", "backward ms", 'f', 1},
    {"backward_forecast", "forecast ms", 'f', 1},
    {"backward_error", "error %", 'f', 1},
};

static void print_passes(const struct rt_workload_evaluation *evaluation, FILE *file)
{
    struct rt_table *table = rt_table_new(pass_columns, RT_COUNT(pass_columns));
    for (size_t r = 0; r < evaluation->row_count; r++) {
        const struct rt_workload_row *row = &evaluation->rows[r];
        const struct rt_workload *w = row->workload;
        if (w->mode == RT_TRAINING && w->forward_us > 0 && w->backward_us > 0)
            rt_table_row(table, row->device, (int)row->held_out, row->model, (long long)w->batch, row->option,
                         w->forward_us / 1e3, row->forward_us / 1e3,
                         rt_error_percent(w->forward_us, row->forward_us), w->backward_us / 1e3,
                         row->backward_us / 1e3, rt_error_percent(w->backward_us, row->backward_us));
    }
    if (rt_table_rows(table) > 0) {
        fprintf(file, "\npasses of training, by %s (backward with accumulation)\n",
                evaluation->column[0].name);
        rt_table_text(table, file);
    }
    rt_table_free(table);
}

/* --- means --- */

/* "12.3", and where the column lacks some of the rows "12.3 (ours 9.8 on 18)". */
static char *mean_text(const struct rt_workload_summary *summary, size_t column, const char *ours)
{
    const struct rt_workload_mean *mean = &summary->mean[column];
    if (mean->n == 0)
        return NULL;
    if (mean->n == summary->rows)
        return rt_format("%5.1f", mean->mape);
    return rt_format("%5.1f (%s %.1f on %zu)", mean->mape, ours, mean->ours, mean->n);
}

/* Does the row of all workloads of this kind gather the same ones? */
static bool told_already(const struct rt_workload_summaries *summaries, size_t s)
{
    for (size_t i = 0; i < s; i++)
        if (strcmp(summaries->row[i].scope, "all") == 0 &&
            strcmp(summaries->row[i].what, summaries->row[s].what) == 0)
            return summaries->row[i].rows == summaries->row[s].rows;
    return false;
}

static void print_summaries(const struct rt_workload_evaluation *evaluation, const char *scope,
                            const char *what, const struct rt_workload_summaries *summaries, FILE *file)
{
    const struct rt_column fixed[] = {
        {scope, NULL, 's', 0},        {what, NULL, 's', 0},
        {"unseen", NULL, 'b', 0},     {"n", NULL, 'd', 0},
        {"mape", "mean |e|", 'f', 1}, {"bias", "mean e", 'f', 1},
        {"max", "max |e|", 'f', 1},   {"coverage90", "in 90%", 'f', 1},
        {"width90", "+-90%", 'f', 1},
    };
    struct wide wide;
    wide_open(&wide, fixed, RT_COUNT(fixed), evaluation, 1, false);
    for (size_t s = 0; s < summaries->count; s++) {
        const struct rt_workload_summary *row = &summaries->row[s];
        if (summaries == &evaluation->kinds && told_already(summaries, s))
            continue;
        for (size_t c = 0; c < wide.count; c++)
            wide.cell[c] = mean_text(row, 1 + c, evaluation->column[0].name);
        rt_table_row_texts(wide.table, (const char *const *)wide.cell, wide.count, row->scope, row->what,
                           (int)row->held_out, (long long)row->rows, row->mean[0].mape, row->mean[0].bias,
                           row->mean[0].max, row->interval.coverage, row->interval.width);
        wide_clear(&wide);
    }
    wide_print(&wide, file);
}

static void print_left_out(const struct rt_workload_evaluation *evaluation, FILE *file)
{
    size_t count = evaluation->dataset->workload_count;
    fprintf(file, "\nleft out: %zu of %zu workloads\n", count - evaluation->row_count, count);
    if (evaluation->not_asked > 0)
        fprintf(file, "%9zu  of another GPU or model than asked for\n", evaluation->not_asked);
    if (evaluation->calibrated_to > 0)
        fprintf(file, "%9zu  that a predictor was calibrated to\n", evaluation->calibrated_to);
    for (size_t s = 0; s < evaluation->skipped_count; s++) {
        const struct rt_workload_skip *skip = &evaluation->skipped[s];
        char *name = rt_workload_name(evaluation->dataset, skip->workload);
        fprintf(file, "%9d  %s on %s: %s\n", 1, name,
                evaluation->dataset->devices[skip->workload->device].name, skip->reason);
        free(name);
    }
}

int rt_workloads_text(const struct rt_workload_evaluation *evaluation, FILE *file)
{
    print_head(evaluation, file);
    fputs("\nworkloads: error % of every forecast\n", file);
    print_rows(evaluation, file);
    print_passes(evaluation, file);
    fprintf(
        file,
        "\nmean |error| %% per GPU and mode; a column that lacks some of the rows tells %s's mean over its "
        "own\n",
        evaluation->column[0].name);
    print_summaries(evaluation, "device", "mode", &evaluation->devices, file);
    fputs("\nper model and mode\n", file);
    print_summaries(evaluation, "model", "mode", &evaluation->models, file);
    fputs("\nper kind; fitted, held out: on GPUs that the predictor was and was not fitted to; every column: "
          "rows that all forecasts have. What \"all\" says already is not repeated\n",
          file);
    print_summaries(evaluation, "rows", "kind", &evaluation->kinds, file);
    print_left_out(evaluation, file);
    return RT_OK;
}

/* --- CSV --- */

static const struct rt_column csv_columns[] = {
    {"device", NULL, 's', 0},       {"model", NULL, 's', 0},     {"mode", NULL, 's', 0},
    {"batch", NULL, 'd', 0},        {"seq", NULL, 'd', 0},       {"option", NULL, 's', 0},
    {"held_out", NULL, 'b', 0},     {"graph", NULL, 's', 0},     {"measured_ms", NULL, 'f', 0},
    {"forecast_ms", NULL, 'f', 0},  {"error_pct", NULL, 'f', 0}, {"floor_pct", NULL, 'f', 0},
    {"coverage_pct", NULL, 'f', 0},
};

/* A line per workload; the times of the other columns in ms under their keys. */
int rt_workloads_csv(const struct rt_workload_evaluation *evaluation, FILE *file)
{
    struct wide wide;
    wide_open(&wide, csv_columns, RT_COUNT(csv_columns), evaluation, 1, true);
    for (size_t r = 0; r < evaluation->row_count; r++) {
        const struct rt_workload_row *row = &evaluation->rows[r];
        for (size_t c = 0; c < wide.count; c++)
            wide.cell[c] = number_text("%.17g", row->time_us[1 + c] / 1e3);
        rt_table_row_texts(wide.table, (const char *const *)wide.cell, wide.count, row->device, row->model,
                           rt_modes[row->workload->mode], (long long)row->workload->batch,
                           (long long)row->workload->sequence, row->option, (int)row->held_out,
                           row->graph_read ? "read" : "built", row->workload->end_to_end_us / 1e3,
                           row->time_us[0] / 1e3, rt_workload_error(row, 0),
                           rt_workload_error(row, evaluation->floor), 100 * row->coverage);
        wide_clear(&wide);
    }
    int status = rt_table_csv(wide.table, file);
    rt_table_free(wide.table);
    return status;
}
