/* An evaluation for programs. See report.h; docs/evaluate.md tells the keys. */
#include "base/status.h"
#include "base/table.h"
#include "predict/evaluate/report.h"

#include <string.h>

json_t *rt_report_text_json(const char *text)
{
    json_t *json = json_string(text);
    return json != NULL ? json : json_null();
}

/* "a\nb" as ["a", "b"]. */
static json_t *lines(const char *list)
{
    json_t *array = json_array();
    for (const char *line = list; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        if (length > 0)
            json_array_append_new(array, json_stringn(line, length));
        line += length + (line[length] == '\n');
    }
    return array;
}

static json_t *table_json(const struct rt_evaluation *evaluation, const struct rt_evaluation_row *rows,
                          size_t count)
{
    struct rt_table *table = rt_report_table(evaluation, rows, count);
    json_t *json = rt_table_json(table);
    rt_table_free(table);
    return json;
}

json_t *rt_report_candidate_json(const struct rt_candidate *candidate)
{
    const struct rt_predictor *p = &candidate->predictor;
    json_t *json = json_object();
    json_object_set_new(json, "label", rt_report_text_json(candidate->label));
    json_object_set_new(json, "kind", rt_report_text_json(p->kind));
    json_object_set_new(json, "file", p->net_count > 0 ? rt_report_text_json(candidate->name) : json_null());
    json_object_set_new(json, "complete", json_boolean(p->complete));
    json_object_set_new(json, "devices", lines(p->devices));
    json_object_set_new(json, "held_out_gpus", lines(p->held_out_gpus));
    json_object_set_new(json, "held_out_ops", lines(p->held_out_ops));
    json_object_set_new(json, "data_uuids", lines(p->data_uuids));
    json_object_set_new(json, "data_licences", lines(p->data_licences));
    return json;
}

static json_t *worst_json(const struct rt_evaluation *evaluation)
{
    json_t *array = json_array();
    for (size_t i = 0; i < evaluation->worst_count; i++) {
        const struct rt_evaluation_worst *worst = &evaluation->worst[i];
        const struct rt_sample *sample = worst->sample;
        const struct rt_op *op = &rt_ops[sample->call.op];
        const char *kernel = rt_strings_get(&evaluation->dataset->kernels, sample->kernel);
        json_t *dims = json_object(), *json = json_object();
        for (int d = 0; op->dims[d] != NULL; d++)
            json_object_set_new(dims, op->dims[d], json_integer(sample->call.dim[d]));
        json_object_set_new(json, "op", json_string(op->name));
        json_object_set_new(json, "dims", dims);
        json_object_set_new(json, "dtype", rt_report_text_json(rt_dtypes[sample->call.dtype].name));
        json_object_set_new(json, "device",
                            rt_report_text_json(evaluation->dataset->devices[sample->device].name));
        json_object_set_new(json, "kernel", kernel[0] != '\0' ? rt_report_text_json(kernel) : json_null());
        json_object_set_new(json, "predictor", rt_report_text_json(evaluation->candidates[0].label));
        json_object_set_new(json, "measured_us", rt_json_number(sample->latency_us));
        json_object_set_new(json, "forecast_us", rt_json_number(worst->forecast_us));
        json_object_set_new(json, "error", rt_json_number(worst->error));
        json_array_append_new(array, json);
    }
    return array;
}

static json_t *skipped_json(const struct rt_evaluation *evaluation)
{
    json_t *json = json_object();
    for (int r = 0; r < RT_LEFT_COUNT; r++)
        json_object_set_new(json, rt_left_outs[r].key,
                            json_integer((json_int_t)rt_evaluation_left_out(evaluation, r)));
    return json;
}

static json_t *skipped_ops_json(const struct rt_evaluation *evaluation)
{
    json_t *json = json_object();
    for (int r = 0; r < RT_LEFT_COUNT; r++) {
        json_t *ops = json_object();
        for (int op = 0; op < RT_OP_COUNT; op++)
            if (evaluation->left_out[r][op] > 0)
                json_object_set_new(ops, rt_ops[op].name,
                                    json_integer((json_int_t)evaluation->left_out[r][op]));
        json_object_set_new(json, rt_left_outs[r].key, ops);
    }
    return json;
}

static json_t *data_json(const struct rt_evaluation *evaluation)
{
    json_t *json = json_object(), *files = json_array(), *dtypes = json_object();
    for (int t = 0; t < RT_DTYPE_COUNT; t++)
        if (evaluation->dtypes[t] > 0)
            json_object_set_new(dtypes, rt_dtypes[t].name, json_integer((json_int_t)evaluation->dtypes[t]));
    for (size_t f = 0; f < evaluation->options.file_count; f++) {
        const struct rt_evaluation_file *file = &evaluation->options.files[f];
        json_array_append_new(
            files,
            json_pack("{s:o, s:o, s:o, s:o, s:I}", "path", rt_report_text_json(file->path), "uuid",
                      rt_report_text_json(file->uuid), "source", rt_report_text_json(file->source), "licence",
                      rt_report_text_json(file->licence), "samples", (json_int_t)file->samples));
    }
    json_object_set_new(json, "files", files);
    json_object_set_new(json, "samples", json_integer((json_int_t)evaluation->dataset->sample_count));
    json_object_set_new(json, "duplicates", json_integer((json_int_t)evaluation->options.duplicates));
    json_object_set_new(json, "evaluated", json_integer((json_int_t)evaluation->evaluated));
    json_object_set_new(json, "synthetic", json_integer((json_int_t)evaluation->synthetic));
    json_object_set_new(json, "unstable", json_integer((json_int_t)evaluation->unstable));
    json_object_set_new(json, "throttled", json_integer((json_int_t)evaluation->throttled));
    json_object_set_new(json, "dtypes", dtypes);
    json_object_set_new(json, "split", json_string(rt_part_name(evaluation->options.part)));
    json_object_set_new(json, "split_seed", json_integer((json_int_t)evaluation->split.seed));
    json_object_set_new(json, "tiles",
                        json_string(evaluation->options.measured_tiles ? "measured" : "forecast"));
    return json;
}

int rt_report_json(const struct rt_evaluation *evaluation, FILE *file)
{
    json_t *json = json_object(), *beside = json_array();
    for (size_t c = 1; c < evaluation->candidate_count; c++)
        json_array_append_new(beside, rt_report_candidate_json(&evaluation->candidates[c]));
    json_object_set_new(json, "rows", table_json(evaluation, evaluation->rows, evaluation->row_count));
    json_object_set_new(json, "pooled", table_json(evaluation, evaluation->pooled, evaluation->pooled_count));
    json_object_set_new(json, "worst", worst_json(evaluation));
    json_object_set_new(json, "skipped", skipped_json(evaluation));
    json_object_set_new(json, "skipped_ops", skipped_ops_json(evaluation));
    json_object_set_new(json, "predictor", rt_report_candidate_json(&evaluation->candidates[0]));
    json_object_set_new(json, "beside", beside);
    json_object_set_new(json, "data", data_json(evaluation));
    rt_json_print(json, file);
    return RT_OK;
}
