/* Every kernel that was judged, for programs. See report_parts.h. */
#include "base/status.h"
#include "predict/evaluate/report_parts.h"

#include <math.h>
#include <stdlib.h>

/* A row of the evaluation. */
struct judged {
    const struct rt_evaluation *evaluation;
    size_t row;
};

static json_t *value_json(const void *of, size_t column)
{
    const struct judged *judged = of;
    return rt_json_number(judged->evaluation->column[column].value[judged->row]);
}

static json_t *error_json(const void *of, size_t column)
{
    const struct judged *judged = of;
    return rt_json_number(rt_evaluation_error(judged->evaluation, judged->row, column));
}

/* "measured_us", "forecast_us" ... of the target's unit. */
static struct rt_table *new_table(const struct rt_evaluation *evaluation)
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

static void add_row(struct rt_table *table, const struct rt_evaluation *evaluation,
                    const struct rt_dataset *dataset, size_t row, bool held_out)
{
    const struct rt_sample *sample = evaluation->sample[row];
    const struct rt_call *call = &sample->call;
    const struct judged judged = {evaluation, row};
    double forecast = evaluation->column[0].value[row], half = evaluation->column[0].half[row];
    const char *kernel = rt_strings_get(&dataset->kernels, sample->kernel);
    rt_table_row(table, dataset->devices[sample->device].name, rt_ops[call->op].name,
                 rt_dtypes[call->dtype].name, rt_phases[call->phase], (int)held_out,
                 evaluation->measured[row], forecast, rt_evaluation_error(evaluation, row, 0),
                 forecast * exp(-half), forecast * exp(half), kernel[0] != '\0' ? kernel : NULL,
                 (sample->flags & RT_FLAG_SYNTHETIC) != 0, (sample->flags & RT_FLAG_THROTTLED) != 0,
                 (sample->flags & RT_FLAG_UNSTABLE) != 0);
    rt_table_row_json(table, "dims", rt_evaluation_dims_json(call));
    rt_table_row_json(table, "forecasts",
                      rt_evaluation_columns_json(evaluation, RT_SCORED_CANDIDATE, value_json, &judged));
    rt_table_row_json(table, "errors_pct",
                      rt_evaluation_columns_json(evaluation, RT_SCORED_CANDIDATE, error_json, &judged));
}

void rt_evaluation_add_each(struct rt_report *report, const struct rt_evaluation *evaluation,
                            const struct rt_dataset *dataset)
{
    struct rt_table *table = new_table(evaluation);
    for (size_t g = 0; g < evaluation->group_count; g++) {
        const struct rt_scored_group *group = &evaluation->groups[g];
        for (size_t i = 0; i < group->count; i++)
            add_row(table, evaluation, dataset, group->first + i, group->held_out[0]);
    }
    rt_report_add_table(report, "each", NULL, table);
}
