/* Means over devices, models and kinds of workloads. See workloads.h. */
#include "base/status.h"
#include "predict/evaluate/workloads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Which rows a summary gathers; NULL and RT_KIND_COUNT: any. */
struct pool {
    const char *device, *model;
    int mode; /* -1: any */
    enum rt_workload_kind kind;
    int held_out;      /* -1: any */
    bool every_column; /* rows that every scored column has */
};

static bool has_every_column(const struct rt_workload_evaluation *evaluation,
                             const struct rt_workload_row *row)
{
    for (size_t c = 0; c < evaluation->column_count; c++)
        if (evaluation->column[c].scored && isnan(row->time_us[c]))
            return false;
    return true;
}

static bool in_pool(const struct rt_workload_evaluation *evaluation, const struct pool *pool,
                    const struct rt_workload_row *row)
{
    return (pool->device == NULL || strcmp(row->device, pool->device) == 0) &&
           (pool->model == NULL || strcmp(row->model, pool->model) == 0) &&
           (pool->mode < 0 || row->workload->mode == pool->mode) &&
           (pool->kind == RT_KIND_COUNT || row->kind == pool->kind) &&
           (pool->held_out < 0 || row->held_out == (bool)pool->held_out) &&
           (!pool->every_column || has_every_column(evaluation, row));
}

static void add_error(struct rt_workload_mean *mean, double error, double ours)
{
    mean->n++;
    mean->mape += fabs(error);
    mean->bias += error;
    mean->max = fmax(mean->max, fabs(error));
    mean->ours += fabs(ours);
}

static void finish_mean(struct rt_workload_mean *mean)
{
    double n = mean->n > 0 ? (double)mean->n : NAN;
    mean->mape /= n;
    mean->bias /= n;
    mean->ours /= n;
    if (mean->n == 0)
        mean->max = NAN;
}

/* The intervals of a pool's rows. */
static void add_intervals(const struct rt_workload_evaluation *evaluation, const struct pool *pool,
                          struct rt_interval_metrics *out)
{
    size_t count = 0;
    double *values = rt_malloc(3 * (evaluation->row_count + 1) * sizeof *values);
    double *forecast = values + evaluation->row_count, *half = forecast + evaluation->row_count;
    for (size_t r = 0; r < evaluation->row_count; r++) {
        const struct rt_workload_row *row = &evaluation->rows[r];
        if (!in_pool(evaluation, pool, row))
            continue;
        values[count] = row->workload->end_to_end_us;
        forecast[count] = row->time_us[0];
        half[count++] = row->half;
    }
    rt_interval_metrics_of(values, forecast, half, count, out);
    free(values);
}

/* Appends the summary of a pool, unless nothing is in it. */
static void add_pool(const struct rt_workload_evaluation *evaluation, struct rt_workload_summaries *to,
                     const char *scope, const char *what, const struct pool *pool)
{
    struct rt_workload_summary summary = {.scope = scope, .what = what, .held_out = true};
    for (size_t r = 0; r < evaluation->row_count; r++) {
        const struct rt_workload_row *row = &evaluation->rows[r];
        if (!in_pool(evaluation, pool, row))
            continue;
        summary.rows++;
        summary.held_out &= row->held_out;
        for (size_t c = 0; c < evaluation->column_count; c++)
            if (!isnan(row->time_us[c]))
                add_error(&summary.mean[c], rt_workload_error(row, c), rt_workload_error(row, 0));
    }
    if (summary.rows == 0)
        return;
    for (size_t c = 0; c < evaluation->column_count; c++)
        finish_mean(&summary.mean[c]);
    add_intervals(evaluation, pool, &summary.interval);
    to->row = rt_realloc(to->row, to->count + 1, sizeof summary);
    to->row[to->count++] = summary;
}

/* Has an earlier row this device (or model)? Then it is summarised already. */
static bool is_first(const struct rt_workload_evaluation *evaluation, size_t r, bool by_model)
{
    for (size_t i = 0; i < r; i++)
        if (by_model ? strcmp(evaluation->rows[i].model, evaluation->rows[r].model) == 0
                     : strcmp(evaluation->rows[i].device, evaluation->rows[r].device) == 0)
            return false;
    return true;
}

static void summarise_modes(struct rt_workload_evaluation *evaluation)
{
    for (size_t r = 0; r < evaluation->row_count; r++) {
        const char *device = evaluation->rows[r].device, *model = evaluation->rows[r].model;
        for (int mode = 0; mode < RT_MODE_COUNT; mode++) {
            if (is_first(evaluation, r, false))
                add_pool(evaluation, &evaluation->devices, device, rt_modes[mode],
                         &(struct pool){device, NULL, mode, RT_KIND_COUNT, -1, false});
            if (is_first(evaluation, r, true))
                add_pool(evaluation, &evaluation->models, model, rt_modes[mode],
                         &(struct pool){NULL, model, mode, RT_KIND_COUNT, -1, false});
        }
    }
}

void rt_workloads_summarise(struct rt_workload_evaluation *evaluation)
{
    static const struct {
        const char *scope;
        int held_out;
        bool every_column;
    } scopes[] = {
        {"all", -1, false}, {"fitted", 0, false}, {"held out", 1, false}, {"every column", -1, true}};
    summarise_modes(evaluation);
    for (size_t s = 0; s < RT_COUNT(scopes); s++)
        for (int kind = 0; kind < RT_KIND_COUNT; kind++)
            add_pool(evaluation, &evaluation->kinds, scopes[s].scope, rt_workload_kinds[kind],
                     &(struct pool){NULL, NULL, -1, kind, scopes[s].held_out, scopes[s].every_column});
}
