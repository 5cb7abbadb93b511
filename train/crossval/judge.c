/* Errors of a unit's predictor. See judge.h. */
#include "train/crossval/judge.h"
#include "base/status.h"
#include "predict/evaluate/evaluate.h"

#include <math.h>
#include <string.h>

/* --- rows --- */

/* NULL where none is marked: all. */
static const bool *marked(const struct rt_judgement *judgement)
{
    for (size_t d = 0; d < judgement->dataset->device_count; d++)
        if (judgement->devices[d])
            return judgement->devices;
    return NULL;
}

/* What a group of rows is about: kernels of an op, or one run. */
static struct rt_fold_row row_of(const struct rt_judgement *judgement, const struct rt_evaluation *evaluation,
                                 size_t first)
{
    struct rt_fold_row row = {.protocol = judgement->protocol, .coverage90 = NAN, .width90 = NAN};
    if (evaluation->workloads) {
        const struct rt_scored_run *run = &evaluation->run[first];
        row.level = "end to end";
        row.row = rt_workload_kinds[run->kind];
        row.of = run->name.model;
        row.device = run->name.device;
    } else {
        const struct rt_sample *sample = evaluation->sample[first];
        row.level = "kernels";
        row.row = rt_families[rt_call_family(&sample->call)].name;
        row.of = rt_ops[sample->call.op].name;
        row.device = judgement->dataset->devices[sample->device].name;
    }
    return row;
}

/* Coverage and width of the group's intervals in a column. */
static void add_intervals(const struct rt_evaluation *evaluation, const struct rt_scored_group *group,
                          size_t column, struct rt_fold_row *row)
{
    const struct rt_scored_column *from = &evaluation->column[column];
    double within = 0, width = 0, n = 0;
    row->coverage90 = row->width90 = NAN;
    for (size_t r = group->first; from->ln_half_width != NULL && r < group->first + group->count; r++) {
        double error = rt_evaluation_error(evaluation, r, column);
        if (isnan(error))
            continue;
        within += fabs(log1p(error / 100)) <= from->ln_half_width[r];
        width += sinh(from->ln_half_width[r]); /* NaN stays */
        n++;
    }
    if (n > 0 && !isnan(width)) {
        row->coverage90 = 100 * within / n;
        row->width90 = 100 * width / n;
    }
}

/* A row for each column with a time. The additive floor only stands beside what is not calibrated. */
static void add_group(const struct rt_judgement *judgement, const struct rt_evaluation *evaluation,
                      const struct rt_scored_group *group, json_t *rows)
{
    struct rt_fold_row row = row_of(judgement, evaluation, group->first);
    for (size_t c = 0; c < evaluation->column_count; c++) {
        row.predictor = evaluation->column[c].key;
        row.n = 0;
        row.mape = row.bias = 0;
        for (size_t r = group->first; r < group->first + group->count; r++) {
            double error = rt_evaluation_error(evaluation, r, c);
            if (isnan(error))
                continue;
            row.n++;
            row.mape += fabs(error);
            row.bias += error;
        }
        row.mape /= (double)row.n;
        row.bias /= (double)row.n;
        add_intervals(evaluation, group, c, &row);
        if (row.n > 0 && (c < evaluation->candidate_count || judgement->protocol == RT_ZERO_SHOT))
            rt_fold_row_add(rows, &row);
    }
}

/* Kernels that are left out because the predictor was calibrated to them. */
static void add_left_out(const struct rt_judgement *judgement, const struct rt_evaluation *evaluation,
                         json_t *rows)
{
    for (int op = 0; op < RT_OP_COUNT; op++)
        if (evaluation->left_out[RT_LEFT_CALIBRATED][op] > 0)
            rt_fold_row_add(
                rows, &(struct rt_fold_row){.protocol = judgement->protocol,
                                            .predictor = judgement->predictor->kind,
                                            .level = "kernels",
                                            .row = rt_families[rt_ops[op].family].name,
                                            .of = rt_ops[op].name,
                                            .device = "all",
                                            .calibrated_to = evaluation->left_out[RT_LEFT_CALIBRATED][op],
                                            .mape = NAN,
                                            .bias = NAN,
                                            .coverage90 = NAN,
                                            .width90 = NAN});
}

/* `evaluate` takes parts of names, and runs with other options of a model. */
static bool is_asked(const struct rt_judgement *judgement, const struct rt_evaluation *evaluation, size_t row)
{
    const char *model = judgement->model;
    return model == NULL || (strcmp(evaluation->run[row].name.model, model) == 0 &&
                             rt_workload_is_plain(judgement->dataset, evaluation->run[row].workload));
}

/* --- both kinds of evaluation --- */

typedef int evaluate(const struct rt_dataset *dataset, const struct rt_candidate *candidates, size_t count,
                     const struct rt_evaluate_options *options, struct rt_evaluation *out);

/* The predictor, and the roofline beside what is not calibrated. */
static int judge(const struct rt_judgement *judgement, evaluate *evaluate_them,
                 const struct rt_evaluate_options *options, json_t *rows)
{
    struct rt_predictor roofline = {0};
    struct rt_evaluation evaluation;
    char *kind = judgement->predictor->kind;
    bool beside = judgement->protocol == RT_ZERO_SHOT && rt_kind_is_trained(kind);
    int status = rt_predictor_open("roofline", &roofline);
    if (status != RT_OK)
        return status;
    const struct rt_candidate candidates[] = {
        {.predictor = *judgement->predictor, .name = kind, .label = kind},
        {.predictor = roofline, .name = roofline.kind, .label = roofline.kind}};
    status = evaluate_them(judgement->dataset, candidates, beside ? 2 : 1, options, &evaluation);
    if (status == RT_OK) {
        for (size_t g = 0; g < evaluation.group_count; g++)
            if (is_asked(judgement, &evaluation, evaluation.groups[g].first))
                add_group(judgement, &evaluation, &evaluation.groups[g], rows);
        add_left_out(judgement, &evaluation, rows);
        rt_evaluation_release(&evaluation);
    }
    rt_predictor_release(&roofline);
    return status;
}

/* Where a calibrated predictor has no kernel to be judged on, it was calibrated to all of them: the same ones
 * were judged zero-shot. */
int rt_judge_kernels(const struct rt_judgement *judgement, json_t *rows)
{
    const struct rt_evaluate_options options = {
        .part = judgement->part, .quiet = true, .devices = marked(judgement), .ops = judgement->ops};
    int status = judge(judgement, rt_evaluate_kernels, &options, rows);
    return status == RT_EFORMAT && judgement->protocol != RT_ZERO_SHOT ? RT_OK : status;
}

int rt_judge_models(const struct rt_judgement *judgement, json_t *rows)
{
    const char *model = judgement->model;
    const struct rt_names models = {.name = &model, .count = model != NULL};
    const struct rt_evaluate_options options = {
        .quiet = true, .devices = marked(judgement), .models = &models};
    return judge(judgement, rt_evaluate_workloads, &options, rows);
}
