/* The parts of a report that are about memory, energy and power limits of runs: tables of pools, pictures,
 * and each run for programs. See report.h. */
#include "base/plot.h"
#include "base/status.h"
#include "predict/evaluate/report.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_LINES = 20 };

#define MEMORY(id, title, statistic)                                                                         \
    {                                                                                                        \
        NULL, title, RT_QUANTITY_##id, RT_STATISTIC_##statistic, RT_BY_PREDICTOR                             \
    }

static const struct rt_pool_column memory_columns[] = {
    {"n", "n", RT_QUANTITY_COUNT, RT_STATISTIC_N, RT_BY_PREDICTOR},
    MEMORY(ALLOCATED, "allocated", MAPE),
    MEMORY(ALLOCATED, "bias", BIAS),
    MEMORY(RESERVED, "reserved", MAPE),
    MEMORY(RESERVED, "bias", BIAS),
    MEMORY(USED, "used", MAPE),
    MEMORY(USED, "bias", BIAS),
    MEMORY(USED, "max", MAX),
    {"ran", NULL, RT_QUANTITY_RAN, RT_STATISTIC_N, RT_BY_PREDICTOR},
    {"said_not_to_fit", "said not to fit", RT_QUANTITY_RAN, RT_STATISTIC_MISSED, RT_BY_PREDICTOR},
    {"out_of_memory", "out of memory", RT_QUANTITY_OUT_OF_MEMORY, RT_STATISTIC_N, RT_BY_PREDICTOR},
    {"said_to_fit", "said to fit", RT_QUANTITY_OUT_OF_MEMORY, RT_STATISTIC_MISSED, RT_BY_PREDICTOR},
};
static const enum rt_quantity_id memory_quantities[] = {RT_QUANTITY_ALLOCATED, RT_QUANTITY_RESERVED,
                                                        RT_QUANTITY_USED};

#define ENERGY(id, title, statistic, by)                                                                     \
    {                                                                                                        \
        NULL, title, RT_QUANTITY_##id, RT_STATISTIC_##statistic, RT_BY_##by                                  \
    }

static const struct rt_pool_column energy_columns[] = {
    {"n", "n", RT_QUANTITY_POWER, RT_STATISTIC_N, RT_BY_PREDICTOR},
    ENERGY(POWER, "power", MAPE, PREDICTOR),
    ENERGY(POWER, "bias", BIAS, PREDICTOR),
    ENERGY(POWER, "priors", MAPE, PRIORS),
    ENERGY(POWER, "board", MAPE, BOARD),
    ENERGY(ENERGY, "energy", MAPE, PREDICTOR),
    ENERGY(ENERGY, "bias", BIAS, PREDICTOR),
    ENERGY(ENERGY, "priors", MAPE, PRIORS),
    ENERGY(ENERGY, "board", MAPE, BOARD),
    ENERGY(TOKEN_ENERGY, "J/token", MAPE, PREDICTOR),
    ENERGY(TIMED_POWER, "power, timed", MAPE, PREDICTOR),
    ENERGY(TIMED_POWER, "priors", MAPE, PRIORS),
    {"coverage90", "in 90%", RT_QUANTITY_TIMED_POWER, RT_STATISTIC_COVERAGE, RT_BY_PREDICTOR},
};
static const enum rt_quantity_id energy_quantities[] = {RT_QUANTITY_POWER, RT_QUANTITY_ENERGY,
                                                        RT_QUANTITY_TOKEN_ENERGY, RT_QUANTITY_TIMED_POWER};

static const struct rt_pool_column curve_columns[] = {
    {"curves", NULL, RT_QUANTITY_OPTIMUM, RT_STATISTIC_N, RT_BY_PREDICTOR},
    {"points", NULL, RT_QUANTITY_TIME, RT_STATISTIC_N, RT_BY_PREDICTOR},
    ENERGY(TIME, "time", MAPE, PREDICTOR),
    ENERGY(TIME, "bias", BIAS, PREDICTOR),
    ENERGY(POWER, "power", MAPE, PREDICTOR),
    ENERGY(POWER, "bias", BIAS, PREDICTOR),
    ENERGY(ENERGY, "energy", MAPE, PREDICTOR),
    {"near_percent", "optimum near", RT_QUANTITY_OPTIMUM, RT_STATISTIC_NEAR, RT_BY_PREDICTOR},
    {"regret_percent", "lost by it", RT_QUANTITY_LEAST_ENERGY, RT_STATISTIC_BIAS, RT_BY_PREDICTOR},
};
static const enum rt_quantity_id curve_quantities[] = {RT_QUANTITY_TIME, RT_QUANTITY_POWER,
                                                       RT_QUANTITY_ENERGY};

#define COLUMNS(of) of##_columns, RT_COUNT(of##_columns), of##_quantities, RT_COUNT(of##_quantities)

const struct rt_pool_table rt_memory_pools = {"memory.pools",
                                              "memory at its peak: MAPE and bias of what tensors, the "
                                              "allocator and the device had (n measured); runs by "
                                              "whether they fitted",
                                              {"by", "value", "mode"},
                                              COLUMNS(memory),
                                              1};
const struct rt_pool_table rt_energy_pools = {"energy.pools",
                                              "energy: MAPE and bias of a GPU's mean power and of the joules "
                                              "of all; beside it by the priors alone, and as if "
                                              "GPUs drew what boards allow; timed: at the measured time",
                                              {"by", "value", "mode"},
                                              COLUMNS(energy),
                                              RT_BY_COUNT};
const struct rt_pool_table rt_curve_pools = {
    "curves.pools",
    "power limits: time, power and energy under lower ones from the measured point under the highest, MAPE "
    "and bias; "
    "% of curves whose limit of least energy is met to 25 W, and what energy that limit costs more, %",
    {"by", "value", "mode"},
    COLUMNS(curve),
    1};

static void add_pools(struct rt_report *report, const struct rt_pool_table *of,
                      const struct rt_scored_items *items, const struct rt_evaluation *evaluation,
                      const struct rt_dataset *dataset)
{
    struct rt_table *table = rt_pool_table_new(of);
    rt_pool_runs(table, of, items, dataset, evaluation->options.by);
    rt_report_add_table(report, of->key, of->title, table);
}

/* --- pictures: measured and forecast, by mode --- */

static size_t points_of(const struct rt_scored_items *items, enum rt_quantity_id quantity, int mode,
                        double *measured, double *forecast)
{
    const double scale = rt_quantities[quantity].scale;
    size_t count = 0;
    for (size_t i = 0; i < items->count; i++) {
        const struct rt_scored_item *item = &items->item[i];
        double x = item->measured[quantity], y = item->forecast[RT_BY_PREDICTOR][quantity];
        if (!(x > 0) || !(y > 0) || (mode < RT_MODE_COUNT && item->workload->mode != mode))
            continue;
        measured[count] = scale * x;
        forecast[count++] = scale * y;
    }
    return count;
}

static void add_plot(struct rt_report *report, const struct rt_scored_items *items, enum rt_quantity_id id)
{
    const struct rt_quantity *quantity = &rt_quantities[id];
    double *x = rt_malloc(2 * (items->count + 1) * sizeof *x), *y = x + items->count;
    struct rt_metrics m;
    rt_metrics_of(x, y, points_of(items, id, RT_MODE_COUNT, x, y), &m);
    if (m.count > 0) {
        struct rt_plot *plot = rt_plot_new(
            quantity->words, "%s of %zu runs, measured and forecast: the mean absolute error is %.1f%%.",
            quantity->words, m.count, m.mape);
        char *across = rt_format("measured, %s", quantity->unit),
             *up = rt_format("forecast, %s", quantity->unit);
        rt_plot_axes(plot, across, RT_SCALE_LOG, up, RT_SCALE_LOG);
        rt_plot_diagonal(plot, 0.1);
        for (int mode = 0; mode < RT_MODE_COUNT; mode++) {
            size_t count = points_of(items, id, mode, x, y);
            if (count > 0)
                rt_plot_points(plot, rt_modes[mode], x, y, count);
        }
        rt_report_add_plot(report, plot);
        free(across);
        free(up);
    }
    free(x);
}

/* --- memory --- */

static bool was_said_to_fit(const struct rt_scored_item *item)
{
    return item->forecast[RT_BY_PREDICTOR][RT_QUANTITY_RAN] == 1;
}

static bool was_out_of_memory(const struct rt_scored_item *item)
{
    return item->measured[RT_QUANTITY_OUT_OF_MEMORY] == 1;
}

static json_t *memory_json(const double value[RT_QUANTITY_COUNT])
{
    json_t *object = json_object();
    for (size_t q = 0; q < RT_COUNT(memory_quantities); q++)
        json_object_set_new(object, rt_quantities[memory_quantities[q]].key,
                            rt_json_number(value[memory_quantities[q]]));
    return object;
}

static void add_memory_rows(struct rt_report *report, const struct rt_scored_items *items,
                            const struct rt_dataset *dataset)
{
    json_t *rows = json_array();
    for (size_t i = 0; i < items->count; i++) {
        const struct rt_scored_item *item = &items->item[i];
        json_t *row = rt_evaluation_run_json(dataset, item->workload);
        json_object_set_new(row, "measured_mib", memory_json(item->measured));
        json_object_set_new(row, "forecast_mib", memory_json(item->forecast[RT_BY_PREDICTOR]));
        json_object_set_new(row, "device_mib", rt_json_number(item->device_mib));
        json_object_set_new(row, "out_of_memory", json_boolean(was_out_of_memory(item)));
        json_object_set_new(row, "fits", json_boolean(was_said_to_fit(item)));
        json_array_append_new(rows, row);
    }
    rt_report_add_json(report, "memory.rows", rows);
}

/* What was said to fit and did not, and the reverse. */
static void add_misses(struct rt_report *report, const struct rt_scored_items *items,
                       const struct rt_dataset *dataset)
{
    size_t lines = 0;
    for (size_t i = 0; i < items->count; i++) {
        const struct rt_scored_item *item = &items->item[i];
        if (was_said_to_fit(item) != was_out_of_memory(item) || lines++ >= MOST_LINES)
            continue;
        const struct rt_workload_name name = rt_workload_name(dataset, item->workload);
        char *title = rt_workload_title(item->workload, &name);
        rt_report_add_note(report, NULL, "%s on %s: %s, forecast %.0f of %.0f MiB", title, name.device,
                           was_said_to_fit(item) ? "OUT OF MEMORY, SAID TO FIT" : "ran, said not to fit",
                           item->forecast[RT_BY_PREDICTOR][RT_QUANTITY_USED], item->device_mib);
        free(title);
    }
    if (lines > MOST_LINES)
        rt_report_add_note(report, NULL, "%zu more", lines - MOST_LINES);
}

static bool has_memory(const struct rt_scored_items *items)
{
    bool any = false;
    for (size_t i = 0; i < items->count; i++) {
        any |= was_out_of_memory(&items->item[i]);
        for (size_t q = 0; q < RT_COUNT(memory_quantities); q++)
            any |= !isnan(items->item[i].measured[memory_quantities[q]]);
    }
    return any;
}

void rt_evaluation_add_memory(struct rt_report *report, const struct rt_evaluation *evaluation,
                              const struct rt_dataset *dataset)
{
    const struct rt_scored_items *items = &evaluation->memory;
    if (!has_memory(items)) {
        rt_report_add_json(report, "memory", json_null());
        return;
    }
    for (size_t q = 0; q < RT_COUNT(memory_quantities); q++)
        add_plot(report, items, memory_quantities[q]);
    add_pools(report, &rt_memory_pools, items, evaluation, dataset);
    add_misses(report, items, dataset);
    add_memory_rows(report, items, dataset);
}

/* --- energy --- */

static json_t *forecasters_json(const struct rt_scored_item *item, enum rt_quantity_id quantity)
{
    json_t *object = json_object();
    for (int by = 0; by < RT_BY_COUNT; by++)
        json_object_set_new(object, rt_forecast_bys[by], rt_json_number(item->forecast[by][quantity]));
    return object;
}

static json_t *energy_row(const struct rt_scored_item *item, const struct rt_dataset *dataset)
{
    json_t *row = rt_evaluation_run_json(dataset, item->workload);
    json_object_set_new(row, "gpus", rt_json_number(item->gpus));
    json_object_set_new(row, "limit_w", rt_json_number(item->limit_w));
    json_object_set_new(row, "tokens", rt_json_number(item->tokens));
    json_object_set_new(row, "measured_us", rt_json_number(item->measured[RT_QUANTITY_TIME]));
    json_object_set_new(row, "forecast_us",
                        rt_json_number(item->forecast[RT_BY_PREDICTOR][RT_QUANTITY_TIME]));
    json_object_set_new(row, "measured_w", rt_json_number(item->measured[RT_QUANTITY_POWER]));
    json_object_set_new(row, "measured_j", rt_json_number(item->measured[RT_QUANTITY_ENERGY]));
    json_object_set_new(row, "forecast_w", forecasters_json(item, RT_QUANTITY_POWER));
    json_object_set_new(row, "forecast_j", forecasters_json(item, RT_QUANTITY_ENERGY));
    json_object_set_new(row, "timed_w", forecasters_json(item, RT_QUANTITY_TIMED_POWER));
    return row;
}

void rt_evaluation_add_energy(struct rt_report *report, const struct rt_evaluation *evaluation,
                              const struct rt_dataset *dataset)
{
    const struct rt_scored_items *items = &evaluation->energy;
    if (evaluation->energy_calibrated > 0)
        rt_report_add_note(report, NULL,
                           "energy: left out: %zu runs, used to calibrate the predictor's energy",
                           evaluation->energy_calibrated);
    if (items->count == 0) {
        rt_report_add_json(report, "energy", json_null());
        return;
    }
    add_plot(report, items, RT_QUANTITY_TIMED_POWER);
    add_plot(report, items, RT_QUANTITY_ENERGY);
    add_pools(report, &rt_energy_pools, items, evaluation, dataset);
    json_t *rows = json_array();
    for (size_t i = 0; i < items->count; i++)
        json_array_append_new(rows, energy_row(&items->item[i], dataset));
    rt_report_add_json(report, "energy.rows", rows);
}

/* --- curves --- */

static json_t *numbers_json(const double *value, size_t count)
{
    json_t *list = json_array();
    for (size_t i = 0; i < count; i++)
        json_array_append_new(list, rt_json_number(value[i]));
    return list;
}

static json_t *curve_row(const struct rt_scored_curve *curve, const struct rt_dataset *dataset)
{
    const struct rt_workload_name name = rt_workload_name(dataset, curve->workload);
    json_t *row = json_pack("{s:s, s:s, s:s, s:I}", "device", name.device, "model", name.model, "mode",
                            rt_modes[curve->workload->mode], "batch", (json_int_t)curve->workload->batch);
    json_object_set_new(row, "limit_w", numbers_json(curve->limit_w, curve->points));
    json_object_set_new(row, "measured_us", numbers_json(curve->us, curve->points));
    json_object_set_new(row, "forecast_us", numbers_json(curve->forecast_us, curve->points));
    json_object_set_new(row, "measured_w", numbers_json(curve->watts, curve->points));
    json_object_set_new(row, "forecast_w", numbers_json(curve->forecast_w, curve->points));
    json_object_set_new(row, "best_limit_w", rt_json_number(curve->limit_w[curve->best]));
    json_object_set_new(row, "forecast_best_limit_w", rt_json_number(curve->limit_w[curve->forecast_best]));
    return row;
}

void rt_evaluation_add_curves(struct rt_report *report, const struct rt_evaluation *evaluation,
                              const struct rt_dataset *dataset)
{
    if (evaluation->curve_count == 0) {
        rt_report_add_json(report, "curves", json_null());
        return;
    }
    add_pools(report, &rt_curve_pools, &evaluation->points, evaluation, dataset);
    json_t *rows = json_array();
    for (size_t c = 0; c < evaluation->curve_count; c++)
        json_array_append_new(rows, curve_row(&evaluation->curves[c], dataset));
    rt_report_add_json(report, "curves.rows", rows);
}
