/* The part of a report that is about whole models. See report.h. */
#include "base/status.h"
#include "base/text.h"
#include "datasets/health.h"
#include "predict/evaluate/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_LINES = 20 };

/* NaN: it has none, as runs on images. */
static double sequence_of(const struct rt_workload *workload)
{
    return workload->sequence >= 1 ? (double)workload->sequence : NAN;
}

static const char *shown_option(const struct rt_workload_name *name)
{
    return name->option[0] != '\0' ? name->option : "plain";
}

json_t *rt_evaluation_run_json(const struct rt_dataset *dataset, const struct rt_workload *workload)
{
    const struct rt_workload *w = workload;
    const struct rt_workload_name name = rt_workload_name(dataset, workload);
    return json_pack("{s:o, s:o, s:s, s:I, s:o, s:o, s:s}", "device", rt_json_text(name.device), "model",
                     rt_json_text(name.model), "mode", rt_modes[w->mode], "batch", (json_int_t)w->batch,
                     "seq", w->sequence >= 1 ? json_integer(w->sequence) : json_null(), "option",
                     rt_json_text(shown_option(&name)), "dtype", rt_dtypes[w->dtype].name);
}

/* --- what was judged --- */

/* Is row `r` the first of its board's that looks throttled? */
static bool is_first_throttled(const struct rt_evaluation *evaluation, size_t r)
{
    if (!evaluation->run[r].throttled)
        return false;
    for (size_t i = 0; i < r; i++)
        if (evaluation->run[i].throttled &&
            strcmp(evaluation->run[i].name.device, evaluation->run[r].name.device) == 0)
            return false;
    return true;
}

/* Names the boards of runs that look throttled, once each. */
static void add_throttled(struct rt_report *report, const struct rt_evaluation *evaluation)
{
    struct rt_text boards = {0};
    size_t count = 0;
    for (size_t r = 0; r < evaluation->row_count; r++) {
        count += evaluation->run[r].throttled;
        if (is_first_throttled(evaluation, r))
            rt_text_item(&boards, ", ", "%s", evaluation->run[r].name.device);
    }
    if (count > 0)
        rt_report_add_words(report, "",
                            "NOTE: %zu prefills look throttled, by %s: their large kernels reach less than "
                            "%.0f%% of what the board sustains; they count like the others",
                            count, boards.text, 100 * RT_THROTTLED);
    rt_report_add_count(report, "data.throttled", NULL, count);
    rt_text_release(&boards);
}

static void add_runs(struct rt_report *report, const struct rt_evaluation *evaluation)
{
    const struct rt_candidate *reference =
        rt_candidates_reference(evaluation->candidates, evaluation->candidate_count);
    rt_report_add_words(report, "workloads",
                        "%zu forecast; no predictor is fitted to whole models, so none was fitted to these",
                        evaluation->row_count);
    if (reference != NULL)
        rt_report_add_words(report, "held out", "runs on GPUs that %s was not fitted to", reference->label);
    if (evaluation->synthetic > 0)
        rt_report_add_words(report, "", "SYNTHETIC: %zu of them are made up, not measured",
                            evaluation->synthetic);
    add_throttled(report, evaluation);
    if (evaluation->options.graphs != NULL)
        rt_report_add_words(report, "graphs",
                            "%zu read from %s; %zu built here (several GPUs, or no file of the name)",
                            evaluation->graphs_read, evaluation->options.graphs,
                            evaluation->row_count - evaluation->graphs_read);
    rt_report_add_count(report, "data.not_asked", NULL,
                        rt_evaluation_left_out(evaluation, RT_LEFT_NOT_ASKED));
    rt_report_add_count(report, "data.calibrated_to", NULL,
                        rt_evaluation_left_out(evaluation, RT_LEFT_CALIBRATED));
    rt_report_add_text(report, "data.graphs", NULL, evaluation->options.graphs);
    rt_report_add_count(report, "data.graphs_read", NULL, evaluation->graphs_read);
}

static void add_disagreements(struct rt_report *report, const struct rt_evaluation *evaluation,
                              const struct rt_dataset *dataset, json_t *array)
{
    for (size_t d = 0; d < evaluation->disagreement_count; d++) {
        const struct rt_scored_disagreement *other = &evaluation->disagreements[d];
        const struct rt_scored_run *run = &evaluation->run[other->row];
        double measured_us = evaluation->measured[other->row];
        char *title = rt_workload_title(run->workload, &run->name);
        if (d < MOST_LINES)
            rt_report_add_words(report, "",
                                "NOTE: its line %zu, %s on %s, was measured at %.3f ms there and %.3f ms in "
                                "the data; errors are of the data's",
                                other->line, title, run->name.device, other->measured_us / 1e3,
                                measured_us / 1e3);
        free(title);
        json_t *item = rt_evaluation_run_json(dataset, run->workload);
        json_object_set_new(item, "line", json_integer((json_int_t)other->line));
        json_object_set_new(item, "measured_ms", rt_json_number(measured_us / 1e3));
        json_object_set_new(item, "compared_measured_ms", rt_json_number(other->measured_us / 1e3));
        json_array_append_new(array, item);
    }
    if (evaluation->disagreement_count > MOST_LINES)
        rt_report_add_words(report, "", "NOTE: %zu more lines were measured otherwise than in the data",
                            evaluation->disagreement_count - MOST_LINES);
}

static void add_published(struct rt_report *report, const struct rt_evaluation *evaluation,
                          const struct rt_dataset *dataset)
{
    const char *path = evaluation->options.published;
    if (path == NULL) {
        rt_report_add_json(report, "compared", json_null());
        return;
    }
    json_t *disagreements = json_array();
    rt_report_add_words(report, "compared", "columns with * are forecasts out of %s, of %zu lines", path,
                        evaluation->published_lines);
    if (evaluation->published_unknown > 0)
        rt_report_add_words(report, "",
                            "NOTE: %zu of its lines are about workloads that the data does not have",
                            evaluation->published_unknown);
    add_disagreements(report, evaluation, dataset, disagreements);
    rt_report_add_text(report, "compared.file", NULL, path);
    rt_report_add_count(report, "compared.lines", NULL, evaluation->published_lines);
    rt_report_add_count(report, "compared.unknown", NULL, evaluation->published_unknown);
    rt_report_add_json(report, "compared.disagreements", disagreements);
}

static void add_legend(struct rt_report *report)
{
    rt_report_add_words(report, "floor",
                        "the model's nodes, each measured alone, added up: the error that remains where "
                        "every kernel's time is known");
    rt_report_add_words(
        report, "errors",
        "percent of the measured time, above 0: forecast too slow. Coverage: share of the forecast kernels' "
        "time that trained networks account for; in 90%%: measured within the 90%% interval; +-90%%: half "
        "its width. Pools as for kernels: MAPE, median, p90 and max of the absolute error, bias its signed "
        "mean; a column that lacks some of the rows has in brackets the first predictor's MAPE over its own");
}

/* --- a line per run --- */

/* A cell of a column of the evaluation. */
struct cell {
    const struct rt_evaluation *evaluation;
    size_t row;
};

static json_t *time_json(const void *of, size_t column)
{
    const struct cell *cell = of;
    return rt_json_number(cell->evaluation->column[column].value[cell->row] / 1e3);
}

static json_t *error_json(const void *of, size_t column)
{
    const struct cell *cell = of;
    return rt_json_number(rt_evaluation_error(cell->evaluation, cell->row, column));
}

static void add_pass_json(struct rt_table *table, const char *pass, double measured_us, double forecast_us)
{
    const struct {
        const char *what;
        double value;
    } members[] = {{"measured_ms", measured_us / 1e3},
                   {"forecast_ms", forecast_us / 1e3},
                   {"error_pct", rt_error_percent(measured_us, forecast_us)}};
    for (size_t i = 0; i < RT_COUNT(members); i++) {
        char *key = rt_format("%s_%s", pass, members[i].what);
        rt_table_row_json(table, key, rt_json_number(members[i].value));
        free(key);
    }
}

/* What a row has for programs only. */
static void add_row_json(struct rt_table *table, const struct rt_evaluation *evaluation, size_t row)
{
    const struct rt_scored_run *run = &evaluation->run[row];
    const struct cell cell = {evaluation, row};
    double forecast_us = evaluation->column[0].value[row],
           ln_half_width = evaluation->column[0].ln_half_width[row];
    add_pass_json(table, "forward", run->workload->forward_us, run->forward_us);
    add_pass_json(table, "backward", run->workload->backward_us, run->backward_us);
    const struct {
        const char *key;
        json_t *value;
    } members[] = {
        {"dtype", rt_json_text(rt_dtypes[run->workload->dtype].name)},
        {"kind", rt_json_text(rt_workload_kinds[run->kind])},
        {"synthetic", json_boolean(run->workload->flags & RT_FLAG_SYNTHETIC)},
        {"floor_ms", time_json(&cell, evaluation->floor)},
        {"kernels_ms", rt_json_number(run->kernels_us / 1e3)},
        {"communication_ms", rt_json_number(run->communication_us / 1e3)},
        {"low90_ms", rt_json_number(forecast_us * exp(-ln_half_width) / 1e3)},
        {"high90_ms", rt_json_number(forecast_us * exp(ln_half_width) / 1e3)},
        {"trust", rt_trust_json(&run->trust)},
        {"forecasts", rt_evaluation_columns_json(evaluation, RT_SCORED_CANDIDATE, time_json, &cell)},
        {"errors_pct", rt_evaluation_columns_json(evaluation, RT_SCORED_CANDIDATE, error_json, &cell)},
        {"compared", rt_evaluation_columns_json(evaluation, RT_SCORED_PUBLISHED, time_json, &cell)},
        {"compared_errors_pct",
         rt_evaluation_columns_json(evaluation, RT_SCORED_PUBLISHED, error_json, &cell)},
    };
    for (size_t i = 0; i < RT_COUNT(members); i++)
        rt_table_row_json(table, members[i].key, members[i].value);
}

/* Does the 90% interval hold what was measured? NULL where there is none. */
static const char *within_words(const struct rt_evaluation *evaluation, size_t row)
{
    const struct rt_scored_column *own = &evaluation->column[0];
    double off = fabs(log(evaluation->measured[row] / own->value[row]));
    return isnan(own->ln_half_width[row]) ? NULL : off <= own->ln_half_width[row] ? "yes" : "no";
}

/* For people the errors of the other columns, in CSV (and `csv`) their times in ms. */
static struct rt_table *run_table(const struct rt_evaluation *evaluation, bool csv)
{
    enum { OWN = 15 };
    struct rt_column columns[OWN + RT_MAX_SCORED] = {
        {"device", NULL, 's', 0},
        {"model", NULL, 's', 0},
        {"mode", NULL, 's', 0},
        {"batch", NULL, 'd', 0},
        {"seq", NULL, 'f', 0},
        {"option", NULL, 's', 0},
        {"held_out", "held out", 'b', 0},
        {"graph", "", 's', 0},
        {"measured_ms", "measured ms", 'f', 1},
        {"forecast_ms", "forecast ms", 'f', 1},
        {"error_pct", "error %", 'f', 1},
        {"floor_pct", "", 'f', 1},
        {"coverage_pct", "coverage %", 'f', 1},
        {NULL, "+-90%", 'f', 1},
        {NULL, "in 90%", 's', 0},
    };
    char *keys[RT_MAX_SCORED] = {NULL};
    for (size_t c = 1; c < evaluation->column_count; c++) {
        const struct rt_scored_column *column = &evaluation->column[c];
        bool published = column->kind == RT_SCORED_PUBLISHED;
        keys[c] = rt_format("%s%s", published ? "compared_" : column->key, published ? column->key : "_ms");
        columns[OWN + c - 1] = (struct rt_column){csv ? keys[c] : NULL, column->name, 'f', 1};
    }
    struct rt_table *table = rt_table_new(columns, OWN + evaluation->column_count - 1);
    for (size_t c = 1; c < evaluation->column_count; c++)
        free(keys[c]);
    return table;
}

static void add_run(struct rt_table *table, const struct rt_evaluation *evaluation, size_t row, bool csv)
{
    const struct rt_scored_run *run = &evaluation->run[row];
    double other[RT_MAX_SCORED];
    for (size_t c = 1; c < evaluation->column_count; c++)
        other[c] = csv ? evaluation->column[c].value[row] / 1e3 : rt_evaluation_error(evaluation, row, c);
    rt_table_row_numbers(table, other + 1, evaluation->column_count - 1, run->name.device, run->name.model,
                         rt_modes[run->workload->mode], (long long)run->workload->batch,
                         sequence_of(run->workload), shown_option(&run->name),
                         (int)evaluation->groups[row].held_out[0], run->graph_read ? "read" : "built",
                         evaluation->measured[row] / 1e3, evaluation->column[0].value[row] / 1e3,
                         rt_evaluation_error(evaluation, row, 0),
                         rt_evaluation_error(evaluation, row, evaluation->floor), 100 * run->coverage,
                         100 * sinh(evaluation->column[0].ln_half_width[row]), within_words(evaluation, row));
}

static void add_rows(struct rt_report *report, const struct rt_evaluation *evaluation)
{
    struct rt_table *table = run_table(evaluation, false), *csv = run_table(evaluation, true);
    for (size_t row = 0; row < evaluation->row_count; row++) {
        add_run(table, evaluation, row, false);
        add_row_json(table, evaluation, row);
        add_run(csv, evaluation, row, true);
    }
    rt_report_add_table(report, "rows", "workloads: error % of every forecast", table);
    rt_report_add_csv(report, csv);
}

/* Forward and backward pass of training, measured and forecast. */
static void add_passes(struct rt_report *report, const struct rt_evaluation *evaluation)
{
    static const struct rt_column columns[] = {
        {NULL, "device", 's', 0},      {NULL, "model", 's', 0},    {NULL, "batch", 'd', 0},
        {NULL, "option", 's', 0},      {NULL, "held out", 'b', 0}, {NULL, "forward ms", 'f', 1},
        {NULL, "forecast ms", 'f', 1}, {NULL, "error %", 'f', 1},  {NULL, "backward ms", 'f', 1},
        {NULL, "forecast ms", 'f', 1}, {NULL, "error %", 'f', 1},
    };
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    for (size_t row = 0; row < evaluation->row_count; row++) {
        const struct rt_scored_run *run = &evaluation->run[row];
        const struct rt_workload *w = run->workload;
        if (w->mode == RT_TRAINING && w->forward_us > 0 && w->backward_us > 0)
            rt_table_row(table, run->name.device, run->name.model, (long long)w->batch,
                         shown_option(&run->name), (int)evaluation->groups[row].held_out[0],
                         w->forward_us / 1e3, run->forward_us / 1e3,
                         rt_error_percent(w->forward_us, run->forward_us), w->backward_us / 1e3,
                         run->backward_us / 1e3, rt_error_percent(w->backward_us, run->backward_us));
    }
    char *title =
        rt_format("passes of training, by %s (backward with accumulation)", evaluation->column[0].name);
    rt_report_add_table(report, NULL, title, table);
    free(title);
}

static void add_skipped(struct rt_report *report, const struct rt_evaluation *evaluation,
                        const struct rt_dataset *dataset)
{
    json_t *array = json_array();
    for (size_t r = 0; r < evaluation->refused_count; r++) {
        json_t *json = rt_evaluation_run_json(dataset, evaluation->refused[r].run.workload);
        json_object_set_new(json, "reason", rt_json_text(evaluation->refused[r].reason));
        json_array_append_new(array, json);
    }
    rt_report_add_json(report, "skipped", array);
}

void rt_evaluation_add_workloads(struct rt_report *report, const struct rt_evaluation *evaluation,
                                 const struct rt_dataset *dataset)
{
    add_runs(report, evaluation);
    add_published(report, evaluation, dataset);
    add_legend(report);
    if (evaluation->options.pictures)
        rt_evaluation_add_plots(report, evaluation);
    add_rows(report, evaluation);
    add_passes(report, evaluation);
    rt_evaluation_add_pools(report, evaluation, &evaluation->devices, "summary", "per GPU and mode", "device",
                            "mode", false);
    rt_evaluation_add_pools(report, evaluation, &evaluation->models, "models", "per model and mode", "model",
                            "mode", false);
    rt_evaluation_add_by(report, evaluation, "mode");
    rt_evaluation_add_pools(report, evaluation, &evaluation->pooled, "kinds", NULL, "scope", "kind", false);
    rt_evaluation_add_pools(report, evaluation, &evaluation->pooled, NULL,
                            "per kind (each pool once); fitted, held out: on GPUs that the predictor was and "
                            "was not fitted to; every column: runs that all forecasts have",
                            "scope", "kind", true);
    add_skipped(report, evaluation, dataset);
}
