/* The parts of a report that are about power and energy of runs, and about power limits. See report_parts.h.
 */
#include "base/status.h"
#include "predict/evaluate/curves.h"
#include "predict/evaluate/energy.h"
#include "predict/evaluate/report_parts.h"

#include <math.h>

static json_t *metrics_json(const struct rt_metrics *of)
{
    return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o}", "n", (json_int_t)of->count, "mape",
                     rt_json_number(of->mape), "median", rt_json_number(of->median), "bias",
                     rt_json_number(of->bias), "max", rt_json_number(of->max), "within10",
                     rt_json_number(of->within10));
}

/* --- energy: pools --- */

static json_t *columns_metrics_json(const struct rt_metrics *of)
{
    json_t *object = json_object();
    for (int column = 0; column < RT_ENERGY_COLUMNS; column++)
        json_object_set_new(object, rt_energy_columns[column].key, metrics_json(&of[column]));
    return object;
}

static void add_energy_pool(struct rt_table *table, const struct rt_energy_pool *pool)
{
    const struct rt_metrics *power = pool->power, *energy = pool->energy, *timed = pool->timed;
    rt_table_row(table, pool->by != NULL ? pool->by : "", pool->value, pool->mode,
                 (long long)power[RT_ENERGY_FITTED].count, power[RT_ENERGY_FITTED].mape,
                 power[RT_ENERGY_FITTED].bias, power[RT_ENERGY_PRIORS].mape, power[RT_ENERGY_BOARD].mape,
                 energy[RT_ENERGY_FITTED].mape, energy[RT_ENERGY_FITTED].bias, energy[RT_ENERGY_PRIORS].mape,
                 energy[RT_ENERGY_BOARD].mape, pool->tokens[RT_ENERGY_FITTED].mape,
                 timed[RT_ENERGY_FITTED].mape, timed[RT_ENERGY_PRIORS].mape, pool->interval.coverage);
    rt_table_row_json(table, "power", columns_metrics_json(power));
    rt_table_row_json(table, "energy", columns_metrics_json(energy));
    rt_table_row_json(table, "joules_per_token", columns_metrics_json(pool->tokens));
    rt_table_row_json(table, "power_at_measured_time", columns_metrics_json(timed));
}

static void add_energy_pools(struct rt_report *report, const struct rt_evaluation *evaluation)
{
    static const struct rt_column columns[] = {
        {"by", NULL, 's', 0},      {"value", NULL, 's', 0},
        {"mode", NULL, 's', 0},    {"n", NULL, 'd', 0},
        {NULL, "power", 'f', 1},   {NULL, "bias", 'f', 1},
        {NULL, "priors", 'f', 1},  {NULL, "board", 'f', 1},
        {NULL, "energy", 'f', 1},  {NULL, "bias", 'f', 1},
        {NULL, "priors", 'f', 1},  {NULL, "board", 'f', 1},
        {NULL, "J/token", 'f', 1}, {NULL, "power, timed", 'f', 1},
        {NULL, "priors", 'f', 1},  {"coverage90", "in 90%", 'f', 1},
    };
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    for (size_t p = 0; p < evaluation->energy_pool_count; p++)
        add_energy_pool(table, &evaluation->energy_pools[p]);
    rt_report_add_table(
        report, "energy.pools",
        "energy: MAPE and bias of a GPU's mean power and of the joules of all; beside it by the "
        "priors alone, and as if GPUs drew what boards allow; timed: at the measured time",
        table);
}

/* --- energy: runs --- */

static json_t *columns_json(const double *value)
{
    json_t *object = json_object();
    for (int column = 0; column < RT_ENERGY_COLUMNS; column++)
        json_object_set_new(object, rt_energy_columns[column].key, rt_json_number(value[column]));
    return object;
}

static json_t *energy_row(const struct rt_scored_energy *energy)
{
    json_t *row = rt_evaluation_run_json(&energy->run);
    json_object_set_new(row, "gpus", rt_json_number(energy->gpus));
    json_object_set_new(row, "limit_w", rt_json_number(energy->limit_w));
    json_object_set_new(row, "tokens", rt_json_number(energy->tokens));
    json_object_set_new(row, "measured_us", rt_json_number(energy->run.workload->end_to_end_us));
    json_object_set_new(row, "forecast_us", rt_json_number(energy->forecast_us));
    json_object_set_new(row, "measured_w", rt_json_number(energy->watts));
    json_object_set_new(row, "measured_j", rt_json_number(energy->joules));
    json_object_set_new(row, "forecast_w", columns_json(energy->forecast_w));
    json_object_set_new(row, "forecast_j", columns_json(energy->forecast_j));
    json_object_set_new(row, "timed_w", columns_json(energy->timed_w));
    return row;
}

void rt_evaluation_add_energy(struct rt_report *report, const struct rt_evaluation *evaluation)
{
    if (evaluation->energy_calibrated > 0)
        rt_report_add_note(report, NULL,
                           "energy: left out: %zu runs, used to calibrate the predictor's energy",
                           evaluation->energy_calibrated);
    if (evaluation->energy_count == 0) {
        rt_report_add_json(report, "energy", json_null());
        return;
    }
    rt_evaluation_add_energy_plots(report, evaluation);
    add_energy_pools(report, evaluation);
    json_t *rows = json_array();
    for (size_t i = 0; i < evaluation->energy_count; i++)
        json_array_append_new(rows, energy_row(&evaluation->energy[i]));
    rt_report_add_json(report, "energy.rows", rows);
}

/* --- curves --- */

static void add_curve_pools(struct rt_report *report, const struct rt_evaluation *evaluation)
{
    static const struct rt_column columns[] = {
        {"by", NULL, 's', 0},
        {"value", NULL, 's', 0},
        {"mode", NULL, 's', 0},
        {"curves", NULL, 'd', 0},
        {"points", NULL, 'd', 0},
        {NULL, "time", 'f', 1},
        {NULL, "bias", 'f', 1},
        {NULL, "power", 'f', 1},
        {NULL, "bias", 'f', 1},
        {NULL, "energy", 'f', 1},
        {"near_percent", "optimum near", 'f', 1},
        {"regret_percent", "lost by it", 'f', 1},
    };
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    for (size_t p = 0; p < evaluation->curve_pool_count; p++) {
        const struct rt_curve_pool *pool = &evaluation->curve_pools[p];
        rt_table_row(table, pool->by != NULL ? pool->by : "", pool->value, pool->mode,
                     (long long)pool->curves, (long long)pool->time.count, pool->time.mape, pool->time.bias,
                     pool->power.mape, pool->power.bias, pool->energy.mape,
                     100 * (double)pool->near / (double)pool->curves, pool->regret);
        rt_table_row_json(table, "time", metrics_json(&pool->time));
        rt_table_row_json(table, "power", metrics_json(&pool->power));
        rt_table_row_json(table, "energy", metrics_json(&pool->energy));
    }
    rt_report_add_table(
        report, "curves.pools",
        "power limits: time, power and energy under lower ones from the measured point under the "
        "highest, MAPE and bias; % of curves whose limit of least energy is met to 25 W, and what "
        "energy that limit costs more, %",
        table);
}

static json_t *numbers_json(const double *value, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, rt_json_number(value[i]));
    return list;
}

static json_t *curve_row(const struct rt_scored_curve *curve)
{
    json_t *row = json_pack("{s:s, s:s, s:s, s:I}", "device", curve->run.name.device, "model",
                            curve->run.name.model, "mode", rt_modes[curve->run.workload->mode], "batch",
                            (json_int_t)curve->run.workload->batch);
    json_object_set_new(row, "limit_w", numbers_json(curve->limit_w, curve->points));
    json_object_set_new(row, "measured_us", numbers_json(curve->us, curve->points));
    json_object_set_new(row, "forecast_us", numbers_json(curve->forecast_us, curve->points));
    json_object_set_new(row, "measured_w", numbers_json(curve->watts, curve->points));
    json_object_set_new(row, "forecast_w", numbers_json(curve->forecast_w, curve->points));
    json_object_set_new(row, "best_limit_w", rt_json_number(curve->limit_w[curve->best]));
    json_object_set_new(row, "forecast_best_limit_w", rt_json_number(curve->limit_w[curve->forecast_best]));
    return row;
}

void rt_evaluation_add_curves(struct rt_report *report, const struct rt_evaluation *evaluation)
{
    if (evaluation->curve_count == 0) {
        rt_report_add_json(report, "curves", json_null());
        return;
    }
    add_curve_pools(report, evaluation);
    json_t *rows = json_array();
    for (size_t c = 0; c < evaluation->curve_count; c++)
        json_array_append_new(rows, curve_row(&evaluation->curves[c]));
    rt_report_add_json(report, "curves.rows", rows);
}
