/* Memory of runs. See memory.h. */
#include "predict/evaluate/memory.h"
#include "base/status.h"
#include "datasets/run_attributes.h"
#include "predict/evaluate/run_pools.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#define MIB 1048576.0

const char *const rt_memory_columns[RT_MEMORY_COLUMNS] = {"allocated", "reserved", "used"};

int rt_scored_memory_add(struct rt_evaluation *evaluation, const struct rt_dataset *dataset,
                         const struct rt_scored_run *run, const struct rt_run_forecast *forecast)
{
    struct rt_run_attributes attributes;
    int status = rt_run_attributes_read(dataset, run->workload, &attributes);
    if (status != RT_OK)
        return status;
    evaluation->memory =
        rt_realloc(evaluation->memory, evaluation->memory_count + 1, sizeof *evaluation->memory);
    struct rt_scored_memory *memory = &evaluation->memory[evaluation->memory_count++];
    *memory = (struct rt_scored_memory){.run = *run,
                                        .forecast_mib = {forecast->taken.allocated / MIB,
                                                         forecast->taken.reserved / MIB,
                                                         forecast->taken.used / MIB},
                                        .device_mib = forecast->memory_bytes / MIB,
                                        .fits = forecast->fits,
                                        .out_of_memory = attributes.out_of_memory};
    memcpy(memory->measured_mib, attributes.memory_mib, sizeof memory->measured_mib);
    rt_run_attributes_release(&attributes);
    return RT_OK;
}

/* --- pools --- */

static void count_run(struct rt_memory_pool *pool, const struct rt_scored_memory *memory)
{
    if (memory->out_of_memory) {
        pool->out_of_memory++;
        pool->said_to_fit += memory->fits;
    } else {
        pool->ran++;
        pool->said_not_to_fit += !memory->fits;
    }
}

static void sum_column(const struct rt_evaluation *evaluation, const bool *member, int column,
                       struct rt_metrics *out)
{
    double *measured = rt_malloc(2 * (evaluation->memory_count + 1) * sizeof *measured);
    double *forecast = measured + evaluation->memory_count;
    size_t count = 0;
    for (size_t m = 0; m < evaluation->memory_count; m++) {
        const struct rt_scored_memory *memory = &evaluation->memory[m];
        if (isnan(memory->measured_mib[column]) || !member[m])
            continue;
        measured[count] = memory->measured_mib[column];
        forecast[count++] = memory->forecast_mib[column];
    }
    rt_metrics_of(measured, forecast, count, out);
    free(measured);
}

static void take_pool(void *context, const struct rt_run_pool *of, const bool *member)
{
    struct rt_evaluation *evaluation = context;
    struct rt_memory_pool pool = {.by = of->by, .value = rt_strdup(of->value), .mode = of->mode};
    for (size_t m = 0; m < evaluation->memory_count; m++)
        if (member[m])
            count_run(&pool, &evaluation->memory[m]);
    for (int column = 0; column < RT_MEMORY_COLUMNS; column++)
        sum_column(evaluation, member, column, &pool.metrics[column]);
    evaluation->memory_pools =
        rt_realloc(evaluation->memory_pools, evaluation->memory_pool_count + 1, sizeof pool);
    evaluation->memory_pools[evaluation->memory_pool_count++] = pool;
}

static bool is_measured(const struct rt_scored_memory *memory)
{
    bool any = memory->out_of_memory;
    for (int column = 0; column < RT_MEMORY_COLUMNS; column++)
        any |= !isnan(memory->measured_mib[column]);
    return any;
}

void rt_scored_memory_pool(struct rt_evaluation *evaluation, const struct rt_dataset *dataset)
{
    const struct rt_workload **runs = rt_malloc((evaluation->memory_count + 1) * sizeof *runs);
    bool any = false;
    for (size_t m = 0; m < evaluation->memory_count; m++) {
        runs[m] = evaluation->memory[m].run.workload;
        any |= is_measured(&evaluation->memory[m]);
    }
    if (any)
        rt_run_pools(dataset, evaluation->options.by, runs, evaluation->memory_count, take_pool, evaluation);
    free(runs);
}

void rt_scored_memory_release(struct rt_evaluation *evaluation)
{
    for (size_t p = 0; p < evaluation->memory_pool_count; p++)
        free(evaluation->memory_pools[p].value);
    free(evaluation->memory_pools);
    free(evaluation->memory);
}
