/* The part of a report that is about kernels. See report.h. */
#include "base/status.h"
#include "base/text.h"
#include "predict/evaluate/report.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Which element types the rows pool, "fp32" or "bf16 10, fp8 20". Free with free(). */
static char *dtype_list(const struct rt_evaluation *evaluation)
{
    struct rt_text text = {0};
    for (int t = 0; t < RT_DTYPE_COUNT; t++) {
        if (evaluation->dtypes[t] == evaluation->row_count)
            return rt_strdup(rt_dtypes[t].name);
        if (evaluation->dtypes[t] > 0)
            rt_text_item(&text, ", ", "%s %zu", rt_dtypes[t].name, evaluation->dtypes[t]);
    }
    return rt_text_take(&text);
}

static void add_samples(struct rt_report *report, const struct rt_evaluation *evaluation)
{
    const struct rt_evaluate_options *options = &evaluation->options;
    bool latency = evaluation->target == &rt_targets[RT_TARGET_LATENCY];
    char *dtypes = dtype_list(evaluation);
    rt_report_add_words(report, "samples", "%zu (%s), split %s (seed %llu); %s", evaluation->row_count,
                        dtypes, rt_part_name(options->part), (unsigned long long)evaluation->split.seed,
                        options->measured_tiles ? "measured tiles where they are known"
                                                : "tiles forecast, as for an unmeasured GPU");
    free(dtypes);
    if (evaluation->synthetic > 0)
        rt_report_add_words(report, "", "SYNTHETIC: %zu of them are made up, not measured",
                            evaluation->synthetic);
    if (options->part != RT_PART_TEST &&
        rt_candidates_reference(evaluation->candidates, evaluation->candidate_count))
        rt_report_add_words(report, "",
                            "NOTE: rows that are not held out were fitted to, unlike those of split test");
    if (evaluation->unstable > 0 || evaluation->throttled > 0)
        rt_report_add_words(
            report, "", "NOTE: %zu are flagged as unstable and %zu as throttled; they count like the others",
            evaluation->unstable, evaluation->throttled);
    rt_report_add_words(
        report, "errors",
        "percent of the measured %s: MAPE, median, p90 and max of the absolute error; bias is its signed "
        "mean (above 0: forecast %s); <=10%% is the share of kernels that "
        "near; in 90%%: share of the kernels within their 90%% interval; +-90%%: mean of half its width",
        evaluation->target->name, latency ? "too slow" : "too much");
    if (!latency)
        rt_report_add_words(report, "beside",
                            "at measured time: the first predictor's coefficients, with the kernel's "
                            "measured time; board power: the board's power for that time");
}

static void add_counts(struct rt_report *report, const struct rt_evaluation *evaluation)
{
    json_t *dtypes = json_object();
    for (int t = 0; t < RT_DTYPE_COUNT; t++)
        if (evaluation->dtypes[t] > 0)
            json_object_set_new(dtypes, rt_dtypes[t].name, json_integer((json_int_t)evaluation->dtypes[t]));
    rt_report_add_count(report, "data.unstable", NULL, evaluation->unstable);
    rt_report_add_count(report, "data.throttled", NULL, evaluation->throttled);
    rt_report_add_json(report, "data.dtypes", dtypes);
    rt_report_add_text(report, "data.target", NULL, evaluation->target->name);
    rt_report_add_text(report, "data.split", NULL, rt_part_name(evaluation->options.part));
    rt_report_add_count(report, "data.split_seed", NULL, evaluation->split.seed);
    rt_report_add_text(report, "data.tiles", NULL,
                       evaluation->options.measured_tiles ? "measured" : "forecast");
}

/* For programs: the share of the measurements within intervals of several levels. */
static void add_coverage(struct rt_report *report, const struct rt_evaluation *evaluation)
{
    json_t *levels = json_array();
    for (size_t l = 0; l < RT_COVERAGE_LEVELS && evaluation->covered_rows > 0; l++)
        json_array_append_new(
            levels, json_pack("{s:f, s:I, s:f}", "level", 100 * rt_coverage_levels[l], "n",
                              (json_int_t)evaluation->covered_rows, "covered",
                              100 * (double)evaluation->covered[l] / (double)evaluation->covered_rows));
    rt_report_add_json(report, "coverage", levels);
}

static void add_skipped(struct rt_report *report, const struct rt_evaluation *evaluation)
{
    json_t *reasons = json_object(), *ops = json_object();
    for (int r = 0; r < RT_LEFT_NO_FORECAST; r++) {
        json_t *of_reason = json_object();
        for (int op = 0; op < RT_OP_COUNT; op++)
            if (evaluation->left_out[r][op] > 0)
                json_object_set_new(of_reason, rt_ops[op].name,
                                    json_integer((json_int_t)evaluation->left_out[r][op]));
        json_object_set_new(reasons, rt_left_outs[r].key,
                            json_integer((json_int_t)rt_evaluation_left_out(evaluation, r)));
        json_object_set_new(ops, rt_left_outs[r].key, of_reason);
    }
    rt_report_add_json(report, "skipped", reasons);
    rt_report_add_json(report, "skipped_ops", ops);
}

/* For programs: a row per pool and column, which beside candidates is held out as the first one is. Percent
 * everywhere. */
static void add_candidate_rows(struct rt_table *table, const struct rt_evaluation *evaluation,
                               const struct rt_scored_pools *pools)
{
    for (size_t p = 0; p < pools->count; p++)
        for (size_t c = 0; c < evaluation->column_count; c++) {
            const struct rt_scored_pool *pool = &pools->row[p];
            const struct rt_metrics *m = &pool->metrics[c];
            bool candidate = c < evaluation->candidate_count;
            rt_table_row(table, pool->what, pool->scope, evaluation->column[c].key,
                         (int)pool->held_out[candidate ? c : 0], (long long)m->count, m->mape, m->median,
                         m->p90, m->bias, m->within10, (long long)pool->synthetic,
                         candidate ? pool->intervals[c].coverage : NAN,
                         candidate ? pool->intervals[c].width : NAN);
        }
}

static struct rt_table *new_candidate_table(void)
{
    static const struct rt_column columns[] = {
        {"op", NULL, 's', 0},       {"device", NULL, 's', 0},    {"predictor", NULL, 's', 0},
        {"held_out", NULL, 'b', 0}, {"n", NULL, 'd', 0},         {"mape", NULL, 'f', 1},
        {"median", NULL, 'f', 1},   {"p90", NULL, 'f', 1},       {"bias", NULL, 'f', 1},
        {"within10", NULL, 'f', 1}, {"synthetic", NULL, 'd', 0}, {"coverage90", NULL, 'f', 1},
        {"width90", NULL, 'f', 1},
    };
    return rt_table_new(columns, RT_COUNT(columns));
}

static void add_tables(struct rt_report *report, const struct rt_evaluation *evaluation)
{
    struct rt_table *rows = new_candidate_table(), *pooled = new_candidate_table(),
                    *both = new_candidate_table();
    add_candidate_rows(rows, evaluation, &evaluation->devices);
    add_candidate_rows(pooled, evaluation, &evaluation->pooled);
    add_candidate_rows(both, evaluation, &evaluation->devices);
    add_candidate_rows(both, evaluation, &evaluation->pooled);
    rt_report_add_table(report, "rows", NULL, rows);
    rt_report_add_table(report, "pooled", NULL, pooled);
    rt_report_add_csv(report, both);
    rt_evaluation_add_pools(report, evaluation, &evaluation->devices, NULL, "", "device", "op", false);
    rt_evaluation_add_pools(report, evaluation, &evaluation->pooled, NULL,
                            "pooled over all devices and over what was held out (each pool once)", "device",
                            "op", true);
    rt_evaluation_add_by(report, evaluation, "op");
}

/* The dims of a call by name. */
static json_t *dims_json(const struct rt_call *call)
{
    json_t *json = json_object();
    for (int d = 0; rt_ops[call->op].dims[d] != NULL; d++)
        json_object_set_new(json, rt_ops[call->op].dims[d], json_integer(call->dim[d]));
    return json;
}

static void add_worst(struct rt_report *report, const struct rt_evaluation *evaluation)
{
    static const char *const formats[] = {"measured_%s", "measured %s", "forecast_%s", "forecast %s"};
    char *name[RT_COUNT(formats)];
    for (size_t i = 0; i < RT_COUNT(formats); i++)
        name[i] = rt_format(formats[i], evaluation->target->unit);
    const struct rt_column columns[] = {
        {"error", "error %", 'f', 1}, {name[0], name[1], 'f', 1}, {name[2], name[3], 'f', 1},
        {"device", NULL, 's', 0},     {"op", NULL, 's', 0},       {"dtype", NULL, 's', 0},
        {NULL, "dims", 's', 0},       {"kernel", "", 's', 0},     {"predictor", "", 's', 0},
    };
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    for (size_t i = 0; i < evaluation->worst_count; i++) {
        const struct rt_scored_worst *worst = &evaluation->worst[i];
        const struct rt_call *call = &worst->sample.call;
        char dims[512];
        rt_call_dims(call, dims, sizeof dims);
        rt_table_row(table, worst->error, rt_target_measured(evaluation->target, &worst->sample),
                     worst->forecast, worst->device, rt_ops[call->op].name, rt_dtypes[call->dtype].name, dims,
                     worst->kernel[0] != '\0' ? worst->kernel : NULL, evaluation->candidates[0].label);
        rt_table_row_json(table, "dims", dims_json(call));
    }
    char *title =
        rt_format("worst %zu kernels of %s", evaluation->worst_count, evaluation->candidates[0].label);
    rt_report_add_table(report, "worst", title, table);
    free(title);
    for (size_t i = 0; i < RT_COUNT(formats); i++)
        free(name[i]);
}

void rt_evaluation_add_kernels(struct rt_report *report, const struct rt_evaluation *evaluation)
{
    add_samples(report, evaluation);
    add_counts(report, evaluation);
    add_coverage(report, evaluation);
    if (evaluation->options.pictures)
        rt_evaluation_add_plots(report, evaluation);
    add_tables(report, evaluation);
    add_worst(report, evaluation);
    add_skipped(report, evaluation);
}

/* --- every kernel that was judged, for programs --- */

/* A row of the evaluation. */
struct cell {
    const struct rt_evaluation *evaluation;
    size_t row;
};

static json_t *value_json(const void *of, size_t column)
{
    const struct cell *cell = of;
    return rt_json_number(cell->evaluation->column[column].value[cell->row]);
}

static json_t *error_json(const void *of, size_t column)
{
    const struct cell *cell = of;
    return rt_json_number(rt_evaluation_error(cell->evaluation, cell->row, column));
}

/* "measured_us", "forecast_us" ... of the target's unit. */
static struct rt_table *new_each_table(const struct rt_evaluation *evaluation)
{
    static const char *const formats[] = {"measured_%s", "forecast_%s", "low90_%s", "high90_%s"};
    char *name[RT_COUNT(formats)];
    for (size_t i = 0; i < RT_COUNT(formats); i++)
        name[i] = rt_format(formats[i], evaluation->target->unit);
    const struct rt_column columns[] = {
        {"device", NULL, 's', 0},    {"op", NULL, 's', 0},        {"dtype", NULL, 's', 0},
        {"phase", NULL, 's', 0},     {"held_out", NULL, 'b', 0},  {name[0], NULL, 'f', 1},
        {name[1], NULL, 'f', 1},     {"error_pct", NULL, 'f', 1}, {name[2], NULL, 'f', 1},
        {name[3], NULL, 'f', 1},     {"kernel", NULL, 's', 0},    {"synthetic", NULL, 'b', 0},
        {"throttled", NULL, 'b', 0}, {"unstable", NULL, 'b', 0},
    };
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    for (size_t i = 0; i < RT_COUNT(formats); i++)
        free(name[i]);
    return table;
}

static void add_each_row(struct rt_table *table, const struct rt_evaluation *evaluation,
                         const struct rt_dataset *dataset, size_t row, bool held_out)
{
    const struct rt_sample *sample = RT_SAMPLE(dataset, evaluation->sample[row]);
    const struct rt_call *call = &sample->call;
    const struct cell cell = {evaluation, row};
    double forecast = evaluation->column[0].value[row],
           ln_half_width = evaluation->column[0].ln_half_width[row];
    const char *kernel = rt_strings_get(&dataset->kernels, sample->kernel);
    rt_table_row(table, dataset->devices[sample->device].name, rt_ops[call->op].name,
                 rt_dtypes[call->dtype].name, rt_phases[call->phase], (int)held_out,
                 evaluation->measured[row], forecast, rt_evaluation_error(evaluation, row, 0),
                 forecast * exp(-ln_half_width), forecast * exp(ln_half_width),
                 kernel[0] != '\0' ? kernel : NULL, (sample->flags & RT_FLAG_SYNTHETIC) != 0,
                 (sample->flags & RT_FLAG_THROTTLED) != 0, (sample->flags & RT_FLAG_UNSTABLE) != 0);
    rt_table_row_json(table, "dims", dims_json(call));
    rt_table_row_json(table, "forecasts",
                      rt_evaluation_columns_json(evaluation, RT_SCORED_CANDIDATE, value_json, &cell));
    rt_table_row_json(table, "errors_pct",
                      rt_evaluation_columns_json(evaluation, RT_SCORED_CANDIDATE, error_json, &cell));
}

void rt_evaluation_add_each(struct rt_report *report, const struct rt_evaluation *evaluation,
                            const struct rt_dataset *dataset)
{
    struct rt_table *table = new_each_table(evaluation);
    for (size_t g = 0; g < evaluation->group_count; g++) {
        const struct rt_scored_group *group = &evaluation->groups[g];
        for (size_t i = 0; i < group->count; i++)
            add_each_row(table, evaluation, dataset, group->first + i, group->held_out[0]);
    }
    rt_report_add_table(report, "each", NULL, table);
}
