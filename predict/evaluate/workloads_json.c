/* An evaluation of whole models for programs. See report.h; docs/evaluate.md tells the keys. */
#include "base/status.h"
#include "base/table.h"
#include "predict/evaluate/report.h"

#include <math.h>

static void set_number(json_t *json, const char *key, double value)
{
    json_object_set_new(json, key, rt_json_number(value));
}

static void set_text(json_t *json, const char *key, const char *value)
{
    json_object_set_new(json, key, rt_report_text_json(value));
}

static void set_workload(json_t *json, const struct rt_workload_evaluation *evaluation,
                         const struct rt_workload *workload)
{
    const struct rt_dataset *dataset = evaluation->dataset;
    const char *option = rt_strings_get(&dataset->texts, workload->option);
    set_text(json, "device", dataset->devices[workload->device].name);
    set_text(json, "model", rt_strings_get(&dataset->texts, workload->model));
    set_text(json, "mode", rt_modes[workload->mode]);
    json_object_set_new(json, "batch", json_integer((json_int_t)workload->batch));
    json_object_set_new(json, "seq", json_integer((json_int_t)workload->sequence));
    set_text(json, "option", option[0] != '\0' ? option : "plain");
    set_text(json, "dtype", rt_dtypes[workload->dtype].name);
}

/* The columns of one kind as an object: key -> value(evaluation, of, column). */
typedef json_t *cell_of(const void *of, size_t column);

static json_t *columns_json(const struct rt_workload_evaluation *evaluation,
                            enum rt_workload_column_kind kind, cell_of *cell, const void *of)
{
    json_t *json = json_object();
    for (size_t c = 1; c < evaluation->column_count; c++)
        if (evaluation->column[c].kind == kind)
            json_object_set_new(json, evaluation->column[c].key, cell(of, c));
    return json;
}

static json_t *time_cell(const void *of, size_t column)
{
    const struct rt_workload_row *row = of;
    return rt_json_number(row->time_us[column] / 1e3);
}

static json_t *error_cell(const void *of, size_t column)
{
    return rt_json_number(rt_workload_error(of, column));
}

static void set_passes(json_t *json, const struct rt_workload_row *row)
{
    const struct rt_workload *w = row->workload;
    set_number(json, "forward_measured_ms", w->forward_us / 1e3);
    set_number(json, "forward_forecast_ms", row->forward_us / 1e3);
    set_number(json, "forward_error_pct", rt_error_percent(w->forward_us, row->forward_us));
    set_number(json, "backward_measured_ms", w->backward_us / 1e3);
    set_number(json, "backward_forecast_ms", row->backward_us / 1e3);
    set_number(json, "backward_error_pct", rt_error_percent(w->backward_us, row->backward_us));
}

static json_t *row_json(const struct rt_workload_evaluation *evaluation, const struct rt_workload_row *row)
{
    json_t *json = json_object();
    set_workload(json, evaluation, row->workload);
    set_text(json, "kind", rt_workload_kinds[row->kind]);
    json_object_set_new(json, "held_out", json_boolean(row->held_out));
    json_object_set_new(json, "synthetic", json_boolean(row->workload->flags & RT_FLAG_SYNTHETIC));
    set_text(json, "graph", row->graph_read ? "read" : "built");
    set_number(json, "measured_ms", row->workload->end_to_end_us / 1e3);
    set_number(json, "forecast_ms", row->time_us[0] / 1e3);
    set_number(json, "error_pct", rt_workload_error(row, 0));
    set_number(json, "floor_ms", row->time_us[evaluation->floor] / 1e3);
    set_number(json, "floor_pct", rt_workload_error(row, evaluation->floor));
    set_number(json, "coverage_pct", 100 * row->coverage);
    set_number(json, "kernels_ms", row->kernels_us / 1e3);
    set_number(json, "communication_ms", row->communication_us / 1e3);
    set_passes(json, row);
    json_object_set_new(json, "forecasts", columns_json(evaluation, RT_COLUMN_CANDIDATE, time_cell, row));
    json_object_set_new(json, "errors_pct", columns_json(evaluation, RT_COLUMN_CANDIDATE, error_cell, row));
    json_object_set_new(json, "compared", columns_json(evaluation, RT_COLUMN_COMPARED, time_cell, row));
    json_object_set_new(json, "compared_errors_pct",
                        columns_json(evaluation, RT_COLUMN_COMPARED, error_cell, row));
    set_number(json, "low90_ms", row->time_us[0] * exp(-row->half) / 1e3);
    set_number(json, "high90_ms", row->time_us[0] * exp(row->half) / 1e3);
    return json;
}

static json_t *mean_cell(const void *of, size_t column)
{
    const struct rt_workload_mean *mean = &((const struct rt_workload_summary *)of)->mean[column];
    json_t *json = json_object();
    json_object_set_new(json, "n", json_integer((json_int_t)mean->n));
    set_number(json, "mape", mean->mape);
    set_number(json, "bias", mean->bias);
    set_number(json, "max", mean->max);
    set_number(json, "ours_mape", mean->ours);
    return json;
}

/* `scope` and `what` are the keys of the texts that tell the summaries apart. */
static json_t *summaries_json(const struct rt_workload_evaluation *evaluation,
                              const struct rt_workload_summaries *summaries, const char *scope,
                              const char *what)
{
    json_t *array = json_array();
    for (size_t s = 0; s < summaries->count; s++) {
        const struct rt_workload_summary *row = &summaries->row[s];
        json_t *json = json_object();
        set_text(json, scope, row->scope);
        set_text(json, what, row->what);
        json_object_set_new(json, "held_out", json_boolean(row->held_out));
        json_object_set_new(json, "n", json_integer((json_int_t)row->rows));
        set_number(json, "mape", row->mean[0].mape);
        set_number(json, "bias", row->mean[0].bias);
        set_number(json, "max", row->mean[0].max);
        json_object_set_new(json, "floor", mean_cell(row, evaluation->floor));
        json_object_set_new(json, "forecasts", columns_json(evaluation, RT_COLUMN_CANDIDATE, mean_cell, row));
        json_object_set_new(json, "compared", columns_json(evaluation, RT_COLUMN_COMPARED, mean_cell, row));
        set_number(json, "coverage90", row->interval.coverage);
        set_number(json, "width90", row->interval.width);
        json_array_append_new(array, json);
    }
    return array;
}

static json_t *skipped_json(const struct rt_workload_evaluation *evaluation)
{
    json_t *array = json_array();
    for (size_t s = 0; s < evaluation->skipped_count; s++) {
        json_t *json = json_object();
        set_workload(json, evaluation, evaluation->skipped[s].workload);
        set_text(json, "reason", evaluation->skipped[s].reason);
        json_array_append_new(array, json);
    }
    return array;
}

static json_t *compared_json(const struct rt_workload_evaluation *evaluation)
{
    if (evaluation->options.compare == NULL)
        return json_null();
    json_t *json = json_object(), *array = json_array();
    set_text(json, "file", evaluation->options.compare);
    json_object_set_new(json, "lines", json_integer((json_int_t)evaluation->compared_rows));
    json_object_set_new(json, "unknown", json_integer((json_int_t)evaluation->compared_unknown));
    for (size_t d = 0; d < evaluation->disagreement_count; d++) {
        const struct rt_workload_disagreement *other = &evaluation->disagreements[d];
        json_t *item = json_object();
        json_object_set_new(item, "line", json_integer((json_int_t)other->line));
        set_workload(item, evaluation, other->row->workload);
        set_number(item, "measured_ms", other->row->workload->end_to_end_us / 1e3);
        set_number(item, "compared_measured_ms", other->measured_us / 1e3);
        json_array_append_new(array, item);
    }
    json_object_set_new(json, "disagreements", array);
    return json;
}

static json_t *data_json(const struct rt_workload_evaluation *evaluation)
{
    const struct rt_workload_options *options = &evaluation->options;
    json_t *json = json_object(), *files = json_array();
    for (size_t f = 0; f < options->file_count; f++) {
        json_t *file = json_object();
        set_text(file, "path", options->files[f].path);
        set_text(file, "uuid", options->files[f].uuid);
        set_text(file, "source", options->files[f].source);
        set_text(file, "licence", options->files[f].licence);
        json_object_set_new(file, "workloads", json_integer((json_int_t)options->files[f].workloads));
        json_array_append_new(files, file);
    }
    json_object_set_new(json, "files", files);
    json_object_set_new(json, "workloads", json_integer((json_int_t)evaluation->dataset->workload_count));
    json_object_set_new(json, "duplicates", json_integer((json_int_t)options->duplicates));
    json_object_set_new(json, "evaluated", json_integer((json_int_t)evaluation->row_count));
    json_object_set_new(json, "not_asked", json_integer((json_int_t)evaluation->not_asked));
    json_object_set_new(json, "calibrated_to", json_integer((json_int_t)evaluation->calibrated_to));
    json_object_set_new(json, "synthetic", json_integer((json_int_t)evaluation->synthetic));
    json_object_set_new(json, "graphs",
                        options->graphs != NULL ? rt_report_text_json(options->graphs) : json_null());
    json_object_set_new(json, "graphs_read", json_integer((json_int_t)evaluation->graphs_read));
    return json;
}

int rt_workloads_json(const struct rt_workload_evaluation *evaluation, FILE *file)
{
    json_t *json = json_object(), *rows = json_array(), *beside = json_array();
    for (size_t r = 0; r < evaluation->row_count; r++)
        json_array_append_new(rows, row_json(evaluation, &evaluation->rows[r]));
    for (size_t c = 1; c < evaluation->candidate_count; c++)
        json_array_append_new(beside, rt_report_candidate_json(&evaluation->candidates[c]));
    json_object_set_new(json, "rows", rows);
    json_object_set_new(json, "summary", summaries_json(evaluation, &evaluation->devices, "device", "mode"));
    json_object_set_new(json, "models", summaries_json(evaluation, &evaluation->models, "model", "mode"));
    json_object_set_new(json, "kinds", summaries_json(evaluation, &evaluation->kinds, "scope", "kind"));
    json_object_set_new(json, "skipped", skipped_json(evaluation));
    json_object_set_new(json, "predictor", rt_report_candidate_json(&evaluation->candidates[0]));
    json_object_set_new(json, "beside", beside);
    json_object_set_new(json, "compared", compared_json(evaluation));
    json_object_set_new(json, "data", data_json(evaluation));
    rt_json_print(json, file);
    return RT_OK;
}
