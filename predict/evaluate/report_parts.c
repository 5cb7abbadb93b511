/* Candidates, data, pools and what was left out, in reports. See report.h. */
#include "predict/evaluate/report.h"
#include "base/status.h"
#include "base/text.h"

#include <stdlib.h>
#include <string.h>

/* --- candidates --- */

/* "a\nb" as "a, b"; "none" where there is nothing. Free with free(). */
static char *joined_lines(const char *lines)
{
    struct rt_text text = {0};
    for (const char *line = lines; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        rt_text_item(&text, ", ", "%.*s", (int)length, line);
        line += length + (line[length] == '\n');
    }
    if (text.length == 0)
        rt_text_add(&text, "none");
    return rt_text_take(&text);
}

/* "a\nb" as ["a", "b"]. */
static json_t *lines_json(const char *lines)
{
    json_t *array = json_array();
    for (const char *line = lines; *line != '\0';) {
        size_t length = strcspn(line, "\n");
        if (length > 0)
            json_array_append_new(array, json_stringn(line, length));
        line += length + (line[length] == '\n');
    }
    return array;
}

static json_t *candidate_json(const struct rt_candidate *candidate)
{
    const struct rt_predictor *p = &candidate->predictor;
    json_t *json = json_object();
    json_object_set_new(json, "label", rt_json_text(candidate->label));
    json_object_set_new(json, "kind", rt_json_text(p->kind));
    json_object_set_new(json, "file", rt_json_text(rt_predictor_is_fitted(p) ? candidate->name : NULL));
    json_object_set_new(json, "complete", json_boolean(p->complete));
    json_object_set_new(json, "devices", lines_json(p->devices));
    json_object_set_new(json, "held_out_gpus", lines_json(p->held_out_gpus));
    json_object_set_new(json, "held_out_ops", lines_json(p->held_out_ops));
    json_object_set_new(json, "data_uuids", lines_json(p->data_uuids));
    json_object_set_new(json, "data_licences", lines_json(p->data_licences));
    return json;
}

static void add_candidate(struct rt_report *report, const char *label, const struct rt_candidate *candidate)
{
    const struct rt_predictor *p = &candidate->predictor;
    if (!rt_predictor_is_fitted(p)) {
        rt_report_add_words(report, label, "%s, fitted to nothing", candidate->label);
        return;
    }
    bool by_kind = strcmp(candidate->label, p->kind) == 0, ops_held_out = p->held_out_ops[0] != '\0';
    char *devices = joined_lines(p->devices), *gpus = joined_lines(p->held_out_gpus),
         *ops = joined_lines(p->held_out_ops);
    rt_report_add_words(report, label, "%s%s%s (%s), fitted to %s; held out: %s%s%s",
                        by_kind ? "" : candidate->label, by_kind ? "" : ": ", p->kind, candidate->name,
                        devices, gpus, ops_held_out ? "; ops held out: " : "", ops_held_out ? ops : "");
    if (!p->complete)
        rt_report_add_words(report, "",
                            "WARNING: its training was interrupted; these are the best weights up to then");
    free(devices);
    free(gpus);
    free(ops);
}

void rt_evaluation_add_candidates(struct rt_report *report, const struct rt_evaluation *evaluation)
{
    json_t *beside = json_array();
    for (size_t c = 0; c < evaluation->candidate_count; c++) {
        add_candidate(report, c == 0 ? "predictor" : c == 1 ? "beside" : "", &evaluation->candidates[c]);
        if (c > 0)
            json_array_append_new(beside, candidate_json(&evaluation->candidates[c]));
    }
    rt_report_add_json(report, "predictor", candidate_json(&evaluation->candidates[0]));
    rt_report_add_json(report, "beside", beside);
}

/* --- data --- */

static json_t *file_json(const struct rt_dataset_file *file, const char *unit, size_t count)
{
    return json_pack("{s:o, s:o, s:o, s:o, s:I}", "path", rt_json_text(file->path), "uuid",
                     rt_json_text(file->uuid), "source", rt_json_text(file->source), "licence",
                     rt_json_text(file->licence), unit, (json_int_t)count);
}

void rt_evaluation_add_input(struct rt_report *report, const struct rt_evaluation *evaluation,
                             const struct rt_dataset_input *input)
{
    const char *unit = evaluation->workloads ? "workloads" : "samples";
    json_t *files = json_array();
    for (size_t f = 0; f < input->file_count; f++) {
        const struct rt_dataset_file *file = &input->files[f];
        size_t count = evaluation->workloads ? file->workloads : file->samples;
        char *source = joined_lines(file->source), *licence = joined_lines(file->licence);
        rt_report_add_words(report, f == 0 ? "data" : "", "%s: %zu %s, source %s, licence %s, uuid %s",
                            file->path, count, unit, source, licence, file->uuid);
        json_array_append_new(files, file_json(file, unit, count));
        free(source);
        free(licence);
    }
    if (input->duplicates > 0)
        rt_report_add_words(report, "", "%zu %s were in the data twice and count once", input->duplicates,
                            evaluation->workloads ? "rows" : "samples");
    rt_report_add_json(report, "data.files", files);
    rt_report_add_json(report, evaluation->workloads ? "data.workloads" : "data.samples",
                       json_integer((json_int_t)evaluation->total));
    rt_report_add_count(report, "data.duplicates", NULL, input->duplicates);
    rt_report_add_count(report, "data.evaluated", NULL, evaluation->row_count);
    rt_report_add_count(report, "data.synthetic", NULL, evaluation->synthetic);
}

/* --- pools --- */

json_t *rt_evaluation_columns_json(const struct rt_evaluation *evaluation, enum rt_scored_kind kind,
                                   json_t *(*value)(const void *of, size_t column), const void *of)
{
    json_t *json = json_object();
    for (size_t c = 1; c < evaluation->column_count; c++)
        if (evaluation->column[c].kind == kind)
            json_object_set_new(json, evaluation->column[c].key, value(of, c));
    return json;
}

static json_t *column_json(const void *of, size_t column)
{
    const struct rt_scored_pool *pool = of;
    const struct rt_metrics *m = &pool->metrics[column];
    return json_pack("{s:I, s:o, s:o, s:o, s:o}", "n", (json_int_t)m->count, "mape", rt_json_number(m->mape),
                     "bias", rt_json_number(m->bias), "max", rt_json_number(m->max), "ours_mape",
                     rt_json_number(pool->first_mape[column]));
}

/* Has a pool before the same rows? One of kernels may be those of one op on one device. */
static bool is_repeated(const struct rt_evaluation *evaluation, const struct rt_scored_pools *pools, size_t p)
{
    const struct rt_scored_pool *pool = &pools->row[p];
    for (size_t i = 0; i < p; i++)
        if (strcmp(pools->row[i].scope, "all") == 0 && strcmp(pools->row[i].what, pool->what) == 0 &&
            pools->row[i].count == pool->count)
            return true;
    for (size_t i = 0; !evaluation->workloads && i < evaluation->devices.count; i++)
        if (strcmp(evaluation->devices.row[i].what, pool->what) == 0 &&
            evaluation->devices.row[i].count == pool->count)
            return true;
    return false;
}

/* "12.3", and where the column lacks some of the rows "12.3 (ours 9.8 on 18)"; NULL where it has none. */
static char *mape_text(const struct rt_scored_pool *pool, size_t column, const char *ours)
{
    const struct rt_metrics *m = &pool->metrics[column];
    if (m->count == 0)
        return NULL;
    if (m->count == pool->count)
        return rt_format("%.1f", m->mape);
    return rt_format("%.1f (%s %.1f on %zu)", m->mape, ours, pool->first_mape[column], m->count);
}

static void add_pool(struct rt_table *table, const struct rt_evaluation *evaluation,
                     const struct rt_scored_pool *pool)
{
    const struct rt_metrics *m = pool->metrics;
    char *mape[RT_MAX_SCORED] = {NULL};
    bool runs = evaluation->workloads;
    for (size_t c = 1; c < evaluation->column_count; c++)
        mape[c] = mape_text(pool, c, evaluation->column[0].name);
    rt_table_row_texts(table, (const char *const *)mape + 1, evaluation->column_count - 1,
                       runs ? pool->scope : pool->what, runs ? pool->what : pool->scope,
                       (int)pool->held_out[0], (long long)pool->count, m->mape, m->median, m->p90, m->bias,
                       m->max, m->within10, pool->intervals[0].coverage, pool->intervals[0].width);
    for (size_t c = 1; c < evaluation->column_count; c++)
        free(mape[c]);
    if (!runs)
        return;
    rt_table_row_json(table, "floor", column_json(pool, evaluation->floor));
    rt_table_row_json(table, "forecasts",
                      rt_evaluation_columns_json(evaluation, RT_SCORED_CANDIDATE, column_json, pool));
    rt_table_row_json(table, "compared",
                      rt_evaluation_columns_json(evaluation, RT_SCORED_PUBLISHED, column_json, pool));
}

void rt_evaluation_add_pools(struct rt_report *report, const struct rt_evaluation *evaluation,
                             const struct rt_scored_pools *pools, const char *key, const char *title,
                             const char *scope, const char *what, bool once)
{
    enum { OWN = 12 };
    bool runs = evaluation->workloads;
    struct rt_column columns[OWN + RT_MAX_SCORED] = {
        {runs ? scope : what, NULL, 's', 0},
        {runs ? what : scope, NULL, 's', 0},
        {"held_out", "held out", 'b', 0},
        {"n", NULL, 'd', 0},
        {"mape", "MAPE", 'f', 1},
        {"median", NULL, 'f', 1},
        {"p90", NULL, 'f', 1},
        {"bias", NULL, 'f', 1},
        {"max", NULL, 'f', 1},
        {"within10", "<=10%", 'f', 1},
        {"coverage90", "in 90%", 'f', 1},
        {"width90", "+-90%", 'f', 1},
    };
    char *titles[RT_MAX_SCORED] = {NULL};
    for (size_t c = 1; c < evaluation->column_count; c++) {
        titles[c] = rt_format("%s MAPE", evaluation->column[c].name);
        columns[OWN + c - 1] = (struct rt_column){NULL, titles[c], 'r', 0};
    }
    struct rt_table *table = rt_table_new(columns, OWN + evaluation->column_count - 1);
    for (size_t p = 0; p < pools->count; p++)
        if (!once || !is_repeated(evaluation, pools, p))
            add_pool(table, evaluation, &pools->row[p]);
    rt_report_add_table(report, key, title, table);
    for (size_t c = 1; c < evaluation->column_count; c++)
        free(titles[c]);
}

/* --- what was left out --- */

/* ": linear 3, bmm 5"; reasons of choice say nothing by op. */
static char *ops_words(const struct rt_evaluation *evaluation, enum rt_left_out reason)
{
    struct rt_text text = {0};
    for (int op = 0; reason > RT_LEFT_OTHER_SPLIT && op < RT_OP_COUNT; op++)
        if (evaluation->left_out[reason][op] > 0)
            rt_text_add(&text, "%s%s %zu", text.length > 0 ? ", " : ": ", rt_ops[op].name,
                        evaluation->left_out[reason][op]);
    return rt_text_take(&text);
}

/* Runs of a model that are left out for one reason. */
struct alike {
    size_t first, count; /* the number of the first in `refused` */
};

/* Counts them, in the order of the first of each; `out` has room for all. Returns how many lines they are. */
static size_t join_refused(const struct rt_evaluation *evaluation, struct alike *out)
{
    struct rt_strings keys = {0};
    for (size_t r = 0; r < evaluation->refused_count; r++) {
        const struct rt_scored_refusal *refused = &evaluation->refused[r];
        char *key = rt_format("%s\n%s", refused->run.name.model, refused->reason);
        size_t lines = keys.count;
        int32_t at = rt_strings_add(&keys, key, strlen(key));
        free(key);
        if (keys.count > lines)
            out[at] = (struct alike){r, 0};
        out[at].count++;
    }
    size_t lines = keys.count;
    rt_strings_release(&keys);
    return lines;
}

static void add_refused(struct rt_report *report, const struct rt_evaluation *evaluation)
{
    struct alike *line = rt_malloc((evaluation->refused_count + 1) * sizeof *line);
    size_t count = join_refused(evaluation, line);
    for (size_t i = 0; i < count; i++) {
        const struct rt_scored_refusal *refused = &evaluation->refused[line[i].first];
        char *title = rt_workload_title(refused->run.workload, &refused->run.name);
        rt_report_add_note(report, NULL, "%9zu  %s on %s%s: %s", line[i].count, title,
                           refused->run.name.device, line[i].count > 1 ? " and others of the model" : "",
                           refused->reason);
        free(title);
    }
    free(line);
}

void rt_evaluation_add_left_out(struct rt_report *report, const struct rt_evaluation *evaluation)
{
    rt_report_add_heading(report, "left out: %zu of %zu %s", evaluation->total - evaluation->row_count,
                          evaluation->total, evaluation->workloads ? "workloads" : "samples");
    for (int r = 0; r < RT_LEFT_NO_FORECAST; r++) {
        size_t count = rt_evaluation_left_out(evaluation, r);
        if (count == 0)
            continue;
        char *ops = ops_words(evaluation, r);
        rt_report_add_note(report, NULL, "%9zu  %s%s", count, rt_left_outs[r].words, ops);
        free(ops);
    }
    add_refused(report, evaluation);
}

void rt_evaluation_add_by(struct rt_report *report, const struct rt_evaluation *evaluation, const char *what)
{
    for (size_t b = 0; b < evaluation->by_count; b++) {
        const char *property = evaluation->options.by->name[b];
        char *key = rt_format("by.%s", property), *title = rt_format("per %s and %s", property, what);
        rt_evaluation_add_pools(report, evaluation, &evaluation->by[b], key, title, property, what, false);
        free(key);
        free(title);
    }
}
