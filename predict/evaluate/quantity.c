/* Errors, quantities and their pools. See quantity.h. */
#include "predict/evaluate/quantity.h"
#include "base/array.h"
#include "base/sort.h"
#include "base/status.h"
#include "predict/evaluate/property.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- metrics ---- */

double rt_error_percent(double measured, double forecast)
{
    return 100 * (forecast - measured) / measured;
}

double rt_percentile(const double *sorted, size_t count, double share)
{
    if (count == 0)
        return NAN;
    double place = share * (double)(count - 1);
    size_t below = (size_t)place;
    if (below + 1 >= count)
        return sorted[count - 1];
    return sorted[below] + (place - (double)below) * (sorted[below + 1] - sorted[below]);
}

void rt_metrics_of(const double *measured, const double *forecast, size_t count, struct rt_metrics *out)
{
    double *error = rt_malloc(count * sizeof *error), sum = 0, signed_sum = 0;
    size_t within = 0;
    for (size_t i = 0; i < count; i++) {
        double e = rt_error_percent(measured[i], forecast[i]);
        error[i] = fabs(e);
        sum += error[i];
        signed_sum += e;
        within += error[i] <= 10;
    }
    rt_sort_reals(error, count);
    double n = count > 0 ? (double)count : NAN;
    *out = (struct rt_metrics){.count = count,
                               .mape = sum / n,
                               .median = rt_percentile(error, count, 0.5),
                               .p90 = rt_percentile(error, count, 0.9),
                               .bias = signed_sum / n,
                               .within10 = 100 * (double)within / n,
                               .max = rt_percentile(error, count, 1)};
    free(error);
}

void rt_interval_metrics_of(const double *measured, const double *forecast, const double *ln_half_width,
                            size_t count, struct rt_interval_metrics *out)
{
    double within = 0, width = 0;
    for (size_t i = 0; i < count; i++) {
        within += fabs(log(measured[i] / forecast[i])) <= ln_half_width[i];
        width += sinh(ln_half_width[i]); /* (exp(half) - exp(-half)) / 2; NaN stays */
    }
    double n = count > 0 && !isnan(width) ? (double)count : NAN;
    *out = (struct rt_interval_metrics){100 * within / n, 100 * width / n};
}

/* ---- quantities ---- */

const struct rt_quantity rt_quantities[RT_QUANTITY_COUNT] = {
    [RT_QUANTITY_ALLOCATED] = {"allocated", "Peak memory allocated", "GiB", 1.0 / 1024},
    [RT_QUANTITY_RESERVED] = {"reserved", "Peak memory reserved", "GiB", 1.0 / 1024},
    [RT_QUANTITY_USED] = {"used", "Peak memory of the GPU in use", "GiB", 1.0 / 1024},
    [RT_QUANTITY_RAN] = {"ran", NULL, "", 1},
    [RT_QUANTITY_OUT_OF_MEMORY] = {"out_of_memory", NULL, "", 1},
    [RT_QUANTITY_TIME] = {"time", NULL, "ms", 1e-3},
    [RT_QUANTITY_POWER] = {"power", NULL, "W", 1},
    [RT_QUANTITY_TIMED_POWER] = {"power_at_measured_time", "Power at the measured time", "W", 1},
    [RT_QUANTITY_ENERGY] = {"energy", "Energy of a run", "J", 1},
    [RT_QUANTITY_TOKEN_ENERGY] = {"joules_per_token", NULL, "J/token", 1},
    [RT_QUANTITY_OPTIMUM] = {"optimum", NULL, "W", 1},
    [RT_QUANTITY_LEAST_ENERGY] = {"least_energy", NULL, "J", 1},
    [RT_QUANTITY_TPOT] = {"tpot", NULL, "ms", 1e-3},
    [RT_QUANTITY_TTFT] = {"ttft", NULL, "ms", 1e-3},
    [RT_QUANTITY_TTFT_FEW] = {"few_ttft", NULL, "ms", 1e-3},
    [RT_QUANTITY_THROUGHPUT] = {"throughput", NULL, "tokens/s", 1},
};

const char *const rt_forecast_bys[RT_BY_COUNT] = {"forecast", "priors", "board"};

/* ---- items ---- */

struct rt_scored_item *rt_scored_items_add(struct rt_scored_items *items)
{
    RT_GROW(items->item, items->count, 1, items->capacity);
    struct rt_scored_item *item = &items->item[items->count++];
    *item = (struct rt_scored_item){
        .gpus = NAN, .limit_w = NAN, .tokens = NAN, .device_mib = NAN, .ln_half_width = NAN};
    for (int q = 0; q < RT_QUANTITY_COUNT; q++) {
        item->measured[q] = NAN;
        for (int by = 0; by < RT_BY_COUNT; by++)
            item->forecast[by][q] = NAN;
    }
    return item;
}

void rt_scored_items_release(struct rt_scored_items *items)
{
    free(items->item);
    *items = (struct rt_scored_items){0};
}

/* ---- statistics ---- */

/* A quantity of the items of a pool that have it measured, side by side. */
struct values {
    double *measured, *forecast, *ln_half_width; /* (count); one block */
    size_t count;
};

static struct values values_of(const struct rt_scored_items *items, const bool *member,
                               enum rt_quantity_id quantity, enum rt_forecast_by by)
{
    struct values values = {.measured = rt_malloc(3 * (items->count + 1) * sizeof(double))};
    values.forecast = values.measured + items->count;
    values.ln_half_width = values.forecast + items->count;
    for (size_t i = 0; i < items->count; i++) {
        const struct rt_scored_item *item = &items->item[i];
        if ((member != NULL && !member[i]) || isnan(item->measured[quantity]))
            continue;
        values.measured[values.count] = item->measured[quantity];
        values.forecast[values.count] = item->forecast[by][quantity];
        values.ln_half_width[values.count++] = item->ln_half_width;
    }
    return values;
}

struct rt_metrics rt_quantity_metrics(const struct rt_scored_items *items, const bool *member,
                                      enum rt_quantity_id quantity, enum rt_forecast_by by)
{
    struct values values = values_of(items, member, quantity, by);
    struct rt_metrics metrics;
    rt_metrics_of(values.measured, values.forecast, values.count, &metrics);
    free(values.measured);
    return metrics;
}

static double count_values(const struct values *values, enum rt_statistic statistic)
{
    size_t missed = 0, near = 0;
    struct rt_interval_metrics interval;
    for (size_t i = 0; i < values->count; i++) {
        missed += values->forecast[i] == 0;
        near += fabs(values->forecast[i] - values->measured[i]) <= RT_NEAR_LIMIT_W;
    }
    switch (statistic) {
    case RT_STATISTIC_MISSED:
        return (double)missed;
    case RT_STATISTIC_NEAR:
        return 100 * (double)near / (double)values->count;
    default:
        rt_interval_metrics_of(values->measured, values->forecast, values->ln_half_width, values->count,
                               &interval);
        return interval.coverage;
    }
}

static double statistic_of(const struct rt_scored_items *items, const bool *member,
                           enum rt_quantity_id quantity, enum rt_statistic statistic, enum rt_forecast_by by)
{
    struct values values = values_of(items, member, quantity, by);
    struct rt_metrics metrics;
    rt_metrics_of(values.measured, values.forecast, values.count, &metrics);
    const double of[RT_STATISTIC_COUNT] = {[RT_STATISTIC_N] = (double)metrics.count,
                                           [RT_STATISTIC_MAPE] = metrics.mape,
                                           [RT_STATISTIC_MEDIAN] = metrics.median,
                                           [RT_STATISTIC_BIAS] = metrics.bias,
                                           [RT_STATISTIC_MAX] = metrics.max};
    double value = statistic <= RT_STATISTIC_MAX ? of[statistic] : count_values(&values, statistic);
    free(values.measured);
    return value;
}

/* ---- tables of pools ---- */

static bool is_count(enum rt_statistic statistic)
{
    return statistic == RT_STATISTIC_N || statistic == RT_STATISTIC_MISSED;
}

static size_t name_count(const struct rt_pool_table *of)
{
    size_t count = 0;
    while (count < RT_POOL_NAMES && of->name[count] != NULL)
        count++;
    return count;
}

struct rt_table *rt_pool_table_new(const struct rt_pool_table *of)
{
    struct rt_column columns[RT_POOL_NAMES + RT_MAX_POOL_COLUMNS];
    size_t names = name_count(of);
    for (size_t n = 0; n < names; n++)
        columns[n] = (struct rt_column){of->name[n], NULL, 's', 0};
    for (size_t c = 0; c < of->column_count; c++) {
        const struct rt_pool_column *column = &of->column[c];
        bool count = is_count(column->statistic);
        columns[names + c] = (struct rt_column){column->key, column->title, count ? 'd' : 'f', count ? 0 : 1};
    }
    return rt_table_new(columns, names + of->column_count);
}

/* The most values that a quantity of the table has in the pool. */
static double most_values(const struct rt_pool_table *of, const struct rt_scored_items *items,
                          const bool *member)
{
    double most = 0;
    for (size_t q = 0; q < of->quantity_count; q++)
        most = fmax(most, statistic_of(items, member, of->quantity[q], RT_STATISTIC_N, RT_BY_PREDICTOR));
    return most;
}

static json_t *metrics_json(const struct rt_metrics *of)
{
    return json_pack("{s:I, s:o, s:o, s:o, s:o, s:o}", "n", (json_int_t)of->count, "mape",
                     rt_json_number(of->mape), "median", rt_json_number(of->median), "bias",
                     rt_json_number(of->bias), "max", rt_json_number(of->max), "within10",
                     rt_json_number(of->within10));
}

static json_t *quantity_json(const struct rt_pool_table *of, const struct rt_scored_items *items,
                             const bool *member, enum rt_quantity_id quantity)
{
    json_t *object = json_object();
    for (int by = 0; by < of->forecasters; by++) {
        struct rt_metrics metrics = rt_quantity_metrics(items, member, quantity, (enum rt_forecast_by)by);
        if (of->forecasters == 1)
            json_object_update_new(object, metrics_json(&metrics));
        else
            json_object_set_new(object, rt_forecast_bys[by], metrics_json(&metrics));
    }
    return object;
}

void rt_pool_table_add(struct rt_table *table, const struct rt_pool_table *of,
                       const struct rt_scored_items *items, const bool *member,
                       const char *const name[RT_POOL_NAMES])
{
    double number[RT_MAX_POOL_COLUMNS];
    for (size_t c = 0; c < of->column_count; c++) {
        const struct rt_pool_column *column = &of->column[c];
        number[c] = column->quantity == RT_QUANTITY_COUNT
                        ? most_values(of, items, member)
                        : statistic_of(items, member, column->quantity, column->statistic, column->by);
    }
    rt_table_row_numbers(table, number, of->column_count, name[0], name[1],
                         name[2]); /* takes as many as there are */
    for (size_t q = 0; q < of->quantity_count; q++)
        rt_table_row_json(table, rt_quantities[of->quantity[q]].key,
                          quantity_json(of, items, member, of->quantity[q]));
}

/* ---- pools of runs ---- */

struct pooling {
    struct rt_table *table;
    const struct rt_pool_table *of;
    const struct rt_scored_items *runs;
    bool *member; /* (runs->count) */
};

/* `mode`: RT_MODE_COUNT for all; `values`: of each run, NULL where all are meant. */
static void add_pool(const struct pooling *pooling, const char *by, const int32_t *values, int32_t value,
                     const char *text, int mode)
{
    bool any = false;
    for (size_t i = 0; i < pooling->runs->count; i++) {
        pooling->member[i] = (values == NULL || values[i] == value) &&
                             (mode == RT_MODE_COUNT || pooling->runs->item[i].workload->mode == mode);
        any |= pooling->member[i];
    }
    const char *const name[RT_POOL_NAMES] = {by, text, mode == RT_MODE_COUNT ? "all" : rt_modes[mode]};
    if (any)
        rt_pool_table_add(pooling->table, pooling->of, pooling->runs, pooling->member, name);
}

static void add_modes(const struct pooling *pooling, const char *by, const int32_t *values, int32_t value,
                      const char *text)
{
    for (int mode = 0; mode < RT_MODE_COUNT; mode++)
        add_pool(pooling, by, values, value, text, mode);
}

static void add_property(const struct pooling *pooling, const struct rt_dataset *dataset,
                         const char *property)
{
    char *list = rt_strdup(property), text[400];
    struct rt_names names = rt_run_property_names(list);
    struct rt_strings texts = {0};
    int32_t *values = rt_malloc((pooling->runs->count + 1) * sizeof *values);
    for (size_t i = 0; i < pooling->runs->count; i++) {
        rt_run_properties(dataset, pooling->runs->item[i].workload, &names, text, sizeof text);
        values[i] = rt_strings_add(&texts, text, strlen(text));
    }
    for (int32_t v = 0; v < (int32_t)texts.count; v++)
        add_modes(pooling, property, values, v, rt_strings_get(&texts, v));
    free(values);
    rt_strings_release(&texts);
    rt_names_release(&names);
    free(list);
}

void rt_pool_runs(struct rt_table *table, const struct rt_pool_table *of, const struct rt_scored_items *runs,
                  const struct rt_dataset *dataset, const struct rt_names *by)
{
    const struct pooling pooling = {table, of, runs, rt_calloc(runs->count + 1, sizeof(bool))};
    add_pool(&pooling, "", NULL, 0, "all", RT_MODE_COUNT);
    add_modes(&pooling, "", NULL, 0, "all");
    for (size_t b = 0; by != NULL && b < by->count; b++)
        add_property(&pooling, dataset, by->name[b]);
    free(pooling.member);
}
