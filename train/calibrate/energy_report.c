/* A calibration of energy as tables and notes. See energy.h. */
#include "base/status.h"
#include "predict/evaluate/quantity.h"
#include "train/calibrate/energy.h"

#include <math.h>
#include <stdlib.h>

static const struct rt_column device_columns[] = {
    {"device", NULL, 's', 0},
    {"runs", NULL, 'd', 0},
    {"kernels", NULL, 'd', 0},
    {"core", NULL, 'f', 3},
    {"memory", NULL, 'f', 3},
    {"static", NULL, 'f', 3},
    {"error_before", "uncalibrated %", 'f', 1},
    {"error_after", "calibrated %", 'f', 1},
    {"others", NULL, 'd', 0},
    {"others_error_before", "uncalibrated %", 'f', 1},
    {"others_error_after", "calibrated %", 'f', 1},
};

static const struct rt_column part_columns[] = {
    {"part", NULL, 's', 0}, {"before", "uncalibrated", 'f', 3}, {"after", "calibrated", 'f', 3}};

/* Errors of power over a device's measurements, those that were fitted to or the others. */
static struct rt_metrics errors_of(const struct rt_energy_calibration *calibration,
                                   const struct rt_energy_model *model, const struct rt_device *device,
                                   int32_t index, bool used)
{
    const struct rt_energy_measurements *measurements = &calibration->measurements;
    struct rt_scored_items items = {0};
    double scale[RT_ENERGY_PARTS];
    rt_energy_scales(model, device, scale);
    for (size_t i = 0; i < measurements->count; i++) {
        const struct rt_energy_observation *observation = &measurements->list[i].observation;
        if (observation->device != index || observation->limited || calibration->used[i] != used)
            continue;
        struct rt_scored_item *item = rt_scored_items_add(&items);
        item->measured[RT_QUANTITY_TIMED_POWER] = observation->watts;
        item->forecast[RT_BY_PREDICTOR][RT_QUANTITY_TIMED_POWER] =
            rt_energy_observation_watts(observation, scale);
    }
    struct rt_metrics metrics = rt_quantity_metrics(&items, NULL, RT_QUANTITY_TIMED_POWER, RT_BY_PREDICTOR);
    rt_scored_items_release(&items);
    return metrics;
}

static void add_device(const struct rt_energy_calibration *calibration, const struct rt_predictor *predictor,
                       const struct rt_device *device, int32_t index, struct rt_table *table)
{
    const struct rt_energy_device *entry = rt_energy_model_find(&predictor->energy, device);
    const struct rt_metrics before = errors_of(calibration, &calibration->before, device, index, true);
    if (entry == NULL || before.count == 0)
        return;
    const struct rt_metrics after = errors_of(calibration, &predictor->energy, device, index, true),
                            others_before =
                                errors_of(calibration, &calibration->before, device, index, false),
                            others_after = errors_of(calibration, &predictor->energy, device, index, false);
    rt_table_row(table, device->name, (long long)entry->runs, (long long)entry->kernels,
                 entry->effect[RT_ENERGY_CORE], entry->effect[RT_ENERGY_MEMORY],
                 entry->effect[RT_ENERGY_STATIC], before.mape, after.mape, (long long)others_before.count,
                 others_before.mape, others_after.mape);
}

static void add_population(const struct rt_energy_calibration *calibration,
                           const struct rt_energy_model *after, struct rt_report *report)
{
    struct rt_table *table = rt_table_new(part_columns, RT_COUNT(part_columns));
    for (int p = 0; p < RT_ENERGY_PARTS; p++)
        rt_table_row(table, rt_energy_parts[p], calibration->before.population[p], after->population[p]);
    rt_report_add_table(report, "population", "Population: multiples of what the physics says", table);
    const double unseen = rt_interval_at(after->unseen, 0.9), known = rt_interval_at(after->known, 0.9);
    rt_report_add_json(
        report, "interval_90",
        json_pack("{s:o, s:o}", "unseen", rt_json_number(unseen), "known", rt_json_number(known)));
    if (!isnan(unseen))
        rt_report_add_note(report, NULL,
                           "90%% of GPUs' runs lie within a factor of %.2f of the power that is forecast for "
                           "a GPU left out, of %.2f with one run of it",
                           exp(unseen), exp(known));
}

static void add_unobserved(const char *key, const char *what, const size_t left[RT_UNOBSERVED_COUNT],
                           struct rt_report *report)
{
    json_t *json = json_object();
    for (int r = 0; r < RT_UNOBSERVED_COUNT; r++) {
        json_object_set_new(json, rt_unobserved[r].key, json_integer((json_int_t)left[r]));
        if (left[r] > 0)
            rt_report_add_note(report, NULL, "left out: %zu %s %s", left[r], what, rt_unobserved[r].words);
    }
    rt_report_add_json(report, key, json);
}

void rt_energy_calibration_report(const struct rt_energy_calibration *calibration,
                                  const struct rt_predictor *predictor, const struct rt_dataset *dataset,
                                  const char *data, struct rt_report *report)
{
    const char *name = calibration->device < 0 ? NULL : dataset->devices[calibration->device].name;
    struct rt_table *table = rt_table_new(device_columns, RT_COUNT(device_columns));
    rt_report_add_title(report, "energy of %s, from %s", name != NULL ? name : "all GPUs", data);
    rt_report_add_text(report, "target", NULL, "energy");
    rt_report_add_text(report, "device", NULL, name);
    for (size_t d = 0; d < dataset->device_count; d++)
        add_device(calibration, predictor, &dataset->devices[d], (int32_t)d, table);
    rt_report_add_table(report, "devices", "", table);
    rt_report_add_note(report, NULL,
                       "core (units and cache), memory, static (active and idle watts): what is added to the "
                       "ln of their joules. uncalibrated, calibrated: mean |error| of power at the measured "
                       "time, of what it was fitted to and of the others");
    if (calibration->device < 0)
        add_population(calibration, &predictor->energy, report);
    add_unobserved("runs_left_out", "runs", calibration->measurements.runs_left, report);
    add_unobserved("left_out", "kernels", calibration->measurements.kernels_left, report);
}
