/* The part of a report that is about the memory of runs. See report_parts.h. */
#include "base/status.h"
#include "predict/evaluate/memory.h"
#include "predict/evaluate/report_parts.h"

#include <math.h>
#include <stdlib.h>

enum { MOST_LINES = 20 };

/* --- pools --- */

static json_t *metrics_json(const struct rt_metrics *metrics)
{
    return json_pack("{s:I, s:o, s:o, s:o, s:o}", "n", (json_int_t)metrics->count, "mape",
                     rt_json_number(metrics->mape), "bias", rt_json_number(metrics->bias), "max",
                     rt_json_number(metrics->max), "within10", rt_json_number(metrics->within10));
}

static size_t measured_count(const struct rt_memory_pool *pool)
{
    size_t most = 0;
    for (int column = 0; column < RT_MEMORY_COLUMNS; column++)
        most = pool->metrics[column].count > most ? pool->metrics[column].count : most;
    return most;
}

static void add_pool(struct rt_table *table, const struct rt_memory_pool *pool)
{
    const struct rt_metrics *of = pool->metrics;
    rt_table_row(table, pool->by != NULL ? pool->by : "", pool->value, pool->mode,
                 (long long)measured_count(pool), of[RT_MEMORY_ALLOCATED].mape, of[RT_MEMORY_ALLOCATED].bias,
                 of[RT_MEMORY_RESERVED].mape, of[RT_MEMORY_RESERVED].bias, of[RT_MEMORY_USED].mape,
                 of[RT_MEMORY_USED].bias, of[RT_MEMORY_USED].max, (long long)pool->ran,
                 (long long)pool->said_not_to_fit, (long long)pool->out_of_memory,
                 (long long)pool->said_to_fit);
    for (int column = 0; column < RT_MEMORY_COLUMNS; column++)
        rt_table_row_json(table, rt_memory_columns[column], metrics_json(&of[column]));
}

static void add_pools(struct rt_report *report, const struct rt_evaluation *evaluation)
{
    static const struct rt_column columns[] = {
        {"by", NULL, 's', 0},
        {"value", NULL, 's', 0},
        {"mode", NULL, 's', 0},
        {"n", NULL, 'd', 0},
        {NULL, "allocated", 'f', 1},
        {NULL, "bias", 'f', 1},
        {NULL, "reserved", 'f', 1},
        {NULL, "bias", 'f', 1},
        {NULL, "used", 'f', 1},
        {NULL, "bias", 'f', 1},
        {NULL, "max", 'f', 1},
        {"ran", NULL, 'd', 0},
        {"said_not_to_fit", "said not to fit", 'd', 0},
        {"out_of_memory", "out of memory", 'd', 0},
        {"said_to_fit", "said to fit", 'd', 0},
    };
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    for (size_t p = 0; p < evaluation->memory_pool_count; p++)
        add_pool(table, &evaluation->memory_pools[p]);
    rt_report_add_table(report, "memory.pools",
                        "memory at its peak: MAPE and bias of what tensors, the allocator and the device had "
                        "(n measured); runs by whether they fitted",
                        table);
}

/* --- runs --- */

static json_t *columns_json(const double *mib)
{
    json_t *object = json_object();
    for (int column = 0; column < RT_MEMORY_COLUMNS; column++)
        json_object_set_new(object, rt_memory_columns[column], rt_json_number(mib[column]));
    return object;
}

static void add_rows(struct rt_report *report, const struct rt_evaluation *evaluation)
{
    json_t *rows = json_array();
    for (size_t m = 0; m < evaluation->memory_count; m++) {
        const struct rt_scored_memory *memory = &evaluation->memory[m];
        json_t *row = rt_evaluation_run_json(&memory->run);
        json_object_set_new(row, "measured_mib", columns_json(memory->measured_mib));
        json_object_set_new(row, "forecast_mib", columns_json(memory->forecast_mib));
        json_object_set_new(row, "device_mib", rt_json_number(memory->device_mib));
        json_object_set_new(row, "out_of_memory", json_boolean(memory->out_of_memory));
        json_object_set_new(row, "fits", json_boolean(memory->fits));
        json_array_append_new(rows, row);
    }
    rt_report_add_json(report, "memory.rows", rows);
}

/* What was said to fit and did not, and the reverse. */
static void add_misses(struct rt_report *report, const struct rt_evaluation *evaluation)
{
    size_t lines = 0;
    for (size_t m = 0; m < evaluation->memory_count; m++) {
        const struct rt_scored_memory *memory = &evaluation->memory[m];
        if (memory->fits != memory->out_of_memory || lines++ >= MOST_LINES)
            continue;
        char *title = rt_workload_title(memory->run.workload, &memory->run.name);
        rt_report_add_note(report, NULL, "%s on %s: %s, forecast %.0f of %.0f MiB", title,
                           memory->run.name.device,
                           memory->fits ? "OUT OF MEMORY, SAID TO FIT" : "ran, said not to fit",
                           memory->forecast_mib[RT_MEMORY_USED], memory->device_mib);
        free(title);
    }
    if (lines > MOST_LINES)
        rt_report_add_note(report, NULL, "%zu more", lines - MOST_LINES);
}

void rt_evaluation_add_memory(struct rt_report *report, const struct rt_evaluation *evaluation)
{
    if (evaluation->memory_pool_count == 0) {
        rt_report_add_json(report, "memory", json_null());
        return;
    }
    rt_evaluation_add_memory_plots(report, evaluation);
    add_pools(report, evaluation);
    add_misses(report, evaluation);
    add_rows(report, evaluation);
}
