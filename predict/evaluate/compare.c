/* Two datasets, predictors or GPUs beside each other. See compare.h. */
#include "predict/evaluate/compare.h"
#include "base/array.h"
#include "base/sort.h"
#include "base/status.h"
#include "datasets/summary.h"
#include "models/predictors/predictor/fitted_keys.h"
#include "predict/step/forecast_graphs.h"
#include "predict/step/prediction.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- times of both sides, and what became of them ---- */

/* A time of something that the other side may have, too: by its key. */
struct timed {
    int32_t device, what, dtype; /* what: a family of kernels, or the mode of a run */
    int32_t side;
    uint64_t key;
    double time_us;
};
struct times {
    struct timed *list;
    size_t count, capacity;
};

static void add_time(struct times *times, const struct timed *timed)
{
    if (!rt_time_is_possible(timed->time_us))
        return;
    RT_GROW(times->list, times->count, 1, times->capacity);
    times->list[times->count++] = *timed;
}

#define ORDER(a, b) (((a) > (b)) - ((a) < (b)))

static int by_row(const struct timed *a, const struct timed *b)
{
    int device = ORDER(a->device, b->device), what = ORDER(a->what, b->what);
    return device != 0 ? device : what != 0 ? what : ORDER(a->dtype, b->dtype);
}

static int by_all(const void *first, const void *second)
{
    const struct timed *a = first, *b = second;
    int row = by_row(a, b), key = ORDER(a->key, b->key), side = ORDER(a->side, b->side);
    return row != 0 ? row : key != 0 ? key : side != 0 ? side : ORDER(a->time_us, b->time_us);
}

/* Of times in order, that of one key and side which stand first: the median; *count is how many they are. */
static double next_median(const struct timed *from, size_t rest, int side, size_t *count)
{
    size_t n = 0;
    while (n < rest && from[n].key == from->key && from[n].side == side && by_row(&from[n], from) == 0)
        n++;
    *count = n;
    return n == 0 ? NAN : (from[(n - 1) / 2].time_us + from[n / 2].time_us) / 2;
}

struct row {
    double *ratio; /* of what both have: B's time over A's, ascending */
    size_t both, only[2];
};

/* The row that begins at `from`; returns its times. */
static size_t make_row(const struct timed *from, size_t rest, struct row *row)
{
    size_t at = 0, n;
    while (at < rest && by_row(&from[at], from) == 0) {
        double a = next_median(from + at, rest - at, 0, &n), b = NAN;
        const struct timed *key = from + at;
        at += n;
        n = 0;
        if (at < rest && from[at].key == key->key && by_row(&from[at], from) == 0)
            b = next_median(from + at, rest - at, 1, &n);
        at += n;
        row->only[0] += !isnan(a) && isnan(b);
        row->only[1] += isnan(a) && !isnan(b);
        if (!isnan(a) && !isnan(b))
            row->ratio[row->both++] = b / a;
    }
    rt_sort_reals(row->ratio, row->both);
    return at;
}

static double quantile(const struct row *row, double q)
{
    return row->both == 0 ? NAN : row->ratio[(size_t)lround(q * (double)(row->both - 1))];
}

static const char *kernel_name(int what)
{
    return rt_families[what].name;
}

static const char *run_name(int what)
{
    return rt_modes[what];
}

/* A row for each device, family or mode and dtype, and what all of them come to in words. Frees the times. */
static void add_times(struct rt_report *report, const char *key, const char *title, struct times *times,
                      const struct rt_device *devices, const char *(*name)(int))
{
    const struct rt_column columns[] = {
        {"device", NULL, 's', 0},         {"what", name == run_name ? "mode" : "family", 's', 0},
        {"dtype", NULL, 's', 0},          {"both", "in both", 'd', 0},
        {"ratio", "time, B / A", 'f', 3}, {"ratio_p10", "p10", 'f', 3},
        {"ratio_p90", "p90", 'f', 3},     {"only_a", "in A alone", 'd', 0},
        {"only_b", "in B alone", 'd', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    double *ratio = rt_malloc((times->count + 1) * sizeof *ratio), *all = ratio;
    if (times->count > 0)
        qsort(times->list, times->count, sizeof *times->list, by_all);
    for (size_t at = 0; at < times->count;) {
        const struct timed *first = &times->list[at];
        struct row row = {.ratio = all};
        at += make_row(first, times->count - at, &row);
        rt_table_row(table, devices[first->device].name, name(first->what), rt_dtypes[first->dtype].name,
                     (long long)row.both, quantile(&row, 0.5), quantile(&row, 0.1), quantile(&row, 0.9),
                     (long long)row.only[0], (long long)row.only[1]);
        all += row.both;
    }
    size_t both = (size_t)(all - ratio);
    double median = rt_median(ratio, both);
    char *path = rt_format("%s_ratio", key);
    if (both > 0)
        rt_report_add_fact(report, path, rt_json_number(median), key,
                           "%zu in both; B takes %.3f of A's time in the median", both, median);
    else
        rt_report_add_fact(report, path, json_null(), key, "none in both");
    rt_report_add_table(report, key, title, table);
    free(path);
    free(ratio);
    free(times->list);
}

/* ---- lists of names ---- */

/* A row for each that one side has and the other has not. */
static void add_names(struct rt_table *table, const char *what, const struct rt_strings sides[2])
{
    for (int s = 0; s < 2; s++)
        for (size_t i = 0; i < sides[s].count; i++) {
            const char *name = rt_strings_get(&sides[s], (int32_t)i);
            if (rt_strings_find(&sides[1 - s], name, strlen(name)) < 0)
                rt_table_row(table, what, s == 0 ? "A" : "B", name);
        }
}

static struct rt_table *names_table(void)
{
    static const struct rt_column columns[] = {
        {"what", NULL, 's', 0}, {"side", "in", 's', 0}, {"value", NULL, 's', 0}};
    return rt_table_new(columns, RT_COUNT(columns));
}

static void release_both(struct rt_strings sides[2])
{
    rt_strings_release(&sides[0]);
    rt_strings_release(&sides[1]);
}

/* A list with one entry a line. */
static void add_lines(struct rt_table *table, const char *what, const char *a, const char *b)
{
    struct rt_strings sides[2] = {{0}, {0}};
    for (int s = 0; s < 2; s++)
        for (const char *at = s == 0 ? a : b; *at != '\0'; at += *at == '\n') {
            size_t length = strcspn(at, "\n");
            rt_strings_add(&sides[s], at, length);
            at += length;
        }
    add_names(table, what, sides);
    release_both(sides);
}

/* ---- datasets ---- */

/* B's device that is A's: by name; the only one of each. -1: none. */
static int32_t same_device(const struct rt_dataset sides[2], int32_t device)
{
    if (sides[0].device_count == 1 && sides[1].device_count == 1)
        return 0;
    return rt_dataset_find_device(&sides[1], sides[0].devices[device].name);
}

/* For every device of B, A's number of it; -1: A has none. Shares in all. */
static size_t number_devices(const struct rt_dataset sides[2], int32_t *of_b)
{
    size_t shared = 0;
    for (size_t d = 0; d < sides[1].device_count; d++)
        of_b[d] = -1;
    for (size_t d = 0; d < sides[0].device_count; d++) {
        int32_t other = same_device(sides, (int32_t)d);
        if (other >= 0)
            of_b[other] = (int32_t)d;
        shared += other >= 0;
    }
    return shared;
}

/* What tells apart kernels of one call: who chose them, and how they were timed. */
enum { KINDS = RT_FLAG_QUEUED | RT_FLAG_SCALAR_LOADS | RT_FLAG_SGLANG | RT_FLAG_TENSORRT };

static void time_kernels(const struct rt_dataset *dataset, int side, const int32_t *number,
                         struct times *times)
{
    for (size_t i = 0; i < dataset->samples.count; i++) {
        const struct rt_sample *s = RT_SAMPLE(dataset, i);
        struct {
            struct rt_call call;
            uint64_t flags;
        } key = {s->call, s->flags & KINDS};
        struct timed timed = {.device = side == 0 ? s->device : number[s->device],
                              .what = rt_call_family(&s->call),
                              .dtype = s->call.dtype,
                              .side = side,
                              .key = rt_hash_words(&key, sizeof key),
                              .time_us = s->latency_us};
        if (timed.device >= 0 && (s->flags & RT_FLAG_FAILED) == 0)
            add_time(times, &timed);
    }
}

static void time_runs(const struct rt_dataset *dataset, int side, const int32_t *number, struct times *times)
{
    for (size_t i = 0; i < dataset->workload_count; i++) {
        const struct rt_workload *w = &dataset->workloads[i];
        bool whole = !isnan(w->end_to_end_us);
        struct timed timed = {.device = side == 0 ? w->device : number[w->device],
                              .what = w->mode,
                              .dtype = w->dtype,
                              .side = side,
                              .key = (uint64_t)rt_run_key(dataset, w),
                              .time_us = whole ? w->end_to_end_us : w->forward_us};
        if (timed.device >= 0 && (w->flags & RT_FLAG_FAILED) == 0)
            add_time(times, &timed);
    }
}

/* Devices, sources, and every attribute whose values differ: drivers, libraries, boards, statistics. */
static void add_differences(struct rt_report *report, const struct rt_dataset sides[2])
{
    struct rt_table *table = names_table();
    struct rt_strings devices[2] = {{0}, {0}};
    for (int s = 0; s < 2; s++)
        for (size_t d = 0; d < sides[s].device_count; d++)
            rt_strings_add(&devices[s], sides[s].devices[d].name, strlen(sides[s].devices[d].name));
    add_names(table, "devices", devices);
    release_both(devices);
    add_lines(table, "source", sides[0].source, sides[1].source);
    struct rt_strings names = rt_summary_attribute_names(&sides[0]),
                      more = rt_summary_attribute_names(&sides[1]);
    for (size_t n = 0; n < more.count; n++)
        rt_strings_add(&names, rt_strings_get(&more, (int32_t)n), strlen(rt_strings_get(&more, (int32_t)n)));
    for (size_t n = 0; n < names.count; n++) {
        struct rt_strings values[2] = {{0}, {0}};
        for (int s = 0; s < 2; s++)
            rt_summary_attribute_values(&sides[s], rt_strings_get(&names, (int32_t)n), &values[s]);
        add_names(table, rt_strings_get(&names, (int32_t)n), values);
        release_both(values);
    }
    rt_strings_release(&names);
    rt_strings_release(&more);
    rt_report_add_table(report, "differences", "What is in one alone", table);
}

/* Where boards are described differently: the first difference of each. */
static void add_boards(struct rt_report *report, const struct rt_dataset sides[2])
{
    for (size_t d = 0; d < sides[0].device_count; d++) {
        int32_t other = rt_dataset_find_device(&sides[1], sides[0].devices[d].name);
        if (other >= 0 && !rt_device_same(&sides[0].devices[d], &sides[1].devices[other]))
            rt_report_add_note(report, "boards", "%s", rt_error());
    }
}

int rt_compare_datasets(const struct rt_dataset sides[2], struct rt_report *report)
{
    int32_t *number = rt_malloc((sides[1].device_count + 1) * sizeof *number);
    struct times kernels = {0}, runs = {0};
    if (number_devices(sides, number) == 0) {
        free(number);
        return rt_fail(RT_EFORMAT, "A and B share no device, and have several: nothing was measured on both");
    }
    for (int s = 0; s < 2; s++) {
        time_kernels(&sides[s], s, number, &kernels);
        time_runs(&sides[s], s, number, &runs);
        char *path = rt_format("samples_%c", "ab"[s]);
        rt_report_add_fact(report, path, json_integer((json_int_t)sides[s].samples.count), s == 0 ? "A" : "B",
                           "%zu kernels, %zu runs, %zu devices, uuid %s", sides[s].samples.count,
                           sides[s].workload_count, sides[s].device_count, sides[s].uuid);
        free(path);
    }
    add_times(report, "kernels", "Kernels of both", &kernels, sides[0].devices, kernel_name);
    add_times(report, "runs", "Runs of models of both", &runs, sides[0].devices, run_name);
    add_differences(report, sides);
    add_boards(report, sides);
    free(number);
    return RT_OK;
}

/* ---- steps of models, forecast ---- */

/* What is forecast where nobody names models: each family in the dtypes that it mostly runs in. */
struct step {
    const char *model, *mode, *dtype; /* dtype NULL: the checkpoint's */
};
static const struct step usual[] = {
    {"gpt2-large", "inference", "fp32"},   {"gpt2-large", "training", "bf16"},
    {"llama-3.1-8b", "inference", "bf16"}, {"llama-3.1-8b", "decode", "bf16"},
    {"llama-3.1-8b", "decode", "fp8"},     {"mixtral-8x7b", "decode", "bf16"},
    {"resnet50", "inference", "fp32"},     {"resnet50", "inference", "fp16"},
};

struct steps {
    struct step *list;
    size_t count;
};

static struct steps choose_steps(const struct rt_names *models)
{
    static const char *const modes[] = {"inference", "decode"};
    struct steps steps = {rt_malloc((2 * models->count + RT_COUNT(usual)) * sizeof *steps.list), 0};
    for (size_t m = 0; m < models->count; m++)
        for (size_t i = 0; i < RT_COUNT(modes); i++)
            steps.list[steps.count++] = (struct step){models->name[m], modes[i], NULL};
    if (models->count == 0)
        for (size_t i = 0; i < RT_COUNT(usual); i++)
            steps.list[steps.count++] = usual[i];
    return steps;
}

static int ask(const struct step *step, const struct rt_model_source *source, const struct rt_device *device,
               const struct rt_predictor *predictor, struct rt_prediction *out)
{
    struct rt_step asked = RT_STEP_NOT_GIVEN;
    asked.batch = 8;
    int status = rt_step_set(&asked, "mode", step->mode);
    if (status == RT_OK && step->dtype != NULL)
        status = rt_step_set(&asked, "dtype", step->dtype);
    if (status == RT_OK)
        status = rt_prediction_begin(&asked, source, device, out);
    if (status != RT_OK)
        return status;
    struct rt_forecast_options how = rt_prediction_how(out);
    how.fallback = true;
    return rt_forecast_graph(&out->graph, predictor, &out->device, &how, &out->forecast);
}

/* The kernels of a forecast, but for those that only links and hosts bound, and the whole step. */
static void time_forecast(const struct rt_prediction *prediction, int32_t device, int side,
                          struct times *kernels, struct times *runs)
{
    const struct rt_forecast *f = &prediction->forecast;
    struct timed timed = {.device = device, .side = side};
    for (size_t i = 0; i < f->launch_count; i++) {
        struct rt_call call = f->launches[i].kernel.call;
        timed.what = rt_call_family(&call);
        timed.dtype = call.dtype;
        timed.key = rt_hash_words(&call, sizeof call);
        timed.time_us = f->launches[i].time_us;
        if (!rt_families[timed.what].link && !rt_families[timed.what].host)
            add_time(kernels, &timed);
    }
    static const int modes[RT_STEP_COUNT] = {
        [RT_STEP_PREFILL] = RT_INFERENCE, [RT_STEP_DECODE] = RT_DECODE, [RT_STEP_TRAINING] = RT_TRAINING};
    timed.what = modes[f->graph->options.step];
    timed.dtype = (int32_t)f->graph->products;
    timed.key = rt_hash_words(&prediction->model, sizeof prediction->model);
    timed.time_us = f->total_us;
    add_time(runs, &timed);
}

/* Both sides of a step; what a side cannot run leaves both out. */
static bool ask_both(const struct step *step, const struct rt_model_source *source,
                     const struct rt_device *devices[2], const struct rt_predictor *predictors[2],
                     struct rt_prediction out[2])
{
    bool asked = true;
    for (int s = 0; s < 2; s++)
        asked = ask(step, source, devices[s], predictors[s], &out[s]) == RT_OK && asked;
    return asked;
}

/* A row of each step, in ms; NULL: steps have rows by device and dtype alone. */
static void add_step(struct rt_table *table, const struct step *step, const struct rt_prediction sides[2])
{
    double a = sides[0].forecast.total_us / 1e3, b = sides[1].forecast.total_us / 1e3;
    if (table != NULL)
        rt_table_row(table, step->model, step->mode, rt_dtypes[sides[0].forecast.graph->products].name, a, b,
                     b / a);
}

struct comparison {
    const struct rt_predictor *predictors[2];
    struct times kernels, runs;
    struct rt_table *table;
};

/* Forecasts every step on both sides' devices; a model that is not found is an error, a step that one of them
 * cannot run is left out. */
static int compare_steps(struct comparison *comparison, const struct steps *steps,
                         const struct rt_device *devices[2], int32_t device)
{
    for (size_t i = 0; i < steps->count; i++) {
        struct rt_model_source source;
        struct rt_prediction sides[2] = {{.model = steps->list[i].model}, {.model = steps->list[i].model}};
        int status = rt_model_source_find(steps->list[i].model, &source);
        if (status != RT_OK)
            return status;
        if (ask_both(&steps->list[i], &source, devices, comparison->predictors, sides)) {
            for (int s = 0; s < 2; s++)
                time_forecast(&sides[s], device, s, &comparison->kernels, &comparison->runs);
            add_step(comparison->table, &steps->list[i], sides);
        }
        rt_prediction_release(&sides[0]);
        rt_prediction_release(&sides[1]);
    }
    return RT_OK;
}

static int end_steps(struct comparison *comparison, int status, const struct rt_device *devices,
                     struct rt_report *report)
{
    if (status == RT_OK && comparison->runs.count == 0)
        status = rt_fail(RT_EFORMAT, "none of the models' steps can be forecast on both sides");
    if (status != RT_OK) {
        free(comparison->kernels.list);
        free(comparison->runs.list);
        rt_table_free(comparison->table);
        return status;
    }
    if (comparison->table != NULL)
        rt_report_add_table(report, "steps", "Steps of models, 8 sequences or images each",
                            comparison->table);
    add_times(report, "kernels", "Kernels of these models", &comparison->kernels, devices, kernel_name);
    if (comparison->table == NULL)
        add_times(report, "runs", "Steps of these models", &comparison->runs, devices, run_name);
    else
        free(comparison->runs.list);
    return RT_OK;
}

/* ---- predictors ---- */

/* Those of the catalogue that both were fitted to; where there are none, those of A, else an H100. */
static size_t shared_devices(const struct rt_predictor sides[2], struct rt_device *out)
{
    size_t count = 0;
    for (int both = 1; both >= 0 && count == 0; both--)
        for (size_t i = 0; i < rt_device_catalogue_size(); i++) {
            bool known = rt_device_catalogue(i, &out[count]) == RT_OK &&
                         rt_predictor_knows_device(&sides[0], out[count].name) &&
                         (!both || rt_predictor_knows_device(&sides[1], out[count].name));
            count += known;
        }
    return count > 0 ? count : rt_device_named("H100", &out[0]) == RT_OK;
}

static int choose_devices(const struct rt_predictor sides[2], const struct rt_names *gpus,
                          struct rt_device **out, size_t *count)
{
    *out = rt_malloc((rt_device_catalogue_size() + gpus->count + 1) * sizeof **out);
    *count = gpus->count;
    for (size_t i = 0; i < gpus->count; i++) {
        int status = rt_device_find(gpus->name[i], &(*out)[i]);
        if (status != RT_OK)
            return status;
    }
    if (gpus->count == 0)
        *count = shared_devices(sides, *out);
    return RT_OK;
}

static void add_fitted(struct rt_report *report, const struct rt_predictor sides[2])
{
    struct rt_table *table = names_table();
    struct rt_strings families[2] = {{0}, {0}};
    for (int s = 0; s < 2; s++)
        for (size_t n = 0; n < sides[s].net_count; n++) {
            const char *name = rt_net_name(sides[s].nets[n].family, sides[s].nets[n].units);
            rt_strings_add(&families[s], name, strlen(name));
        }
    add_lines(table, "kind", sides[0].kind, sides[1].kind);
    add_lines(table, "devices", sides[0].devices, sides[1].devices);
    add_names(table, "families", families);
    add_lines(table, "data", sides[0].data_sources, sides[1].data_sources);
    add_lines(table, "held out", sides[0].held_out_gpus, sides[1].held_out_gpus);
    add_lines(table, "calibrated", sides[0].calibrated, sides[1].calibrated);
    release_both(families);
    rt_report_add_table(report, "differences", "What is in one alone", table);
}

int rt_compare_predictors(const struct rt_predictor sides[2], const struct rt_names *gpus,
                          const struct rt_names *models, struct rt_report *report)
{
    struct comparison comparison = {.predictors = {&sides[0], &sides[1]}};
    struct steps steps = choose_steps(models);
    struct rt_device *devices;
    size_t count;
    int status = choose_devices(sides, gpus, &devices, &count);
    for (size_t d = 0; status == RT_OK && d < count; d++)
        status = compare_steps(&comparison, &steps, (const struct rt_device *[]){&devices[d], &devices[d]},
                               (int32_t)d);
    status = end_steps(&comparison, status, devices, report);
    if (status == RT_OK)
        add_fitted(report, sides);
    free(steps.list);
    free(devices);
    return status;
}

/* ---- GPUs ---- */

static void add_fields(struct rt_report *report, const struct rt_device sides[2])
{
    static const struct rt_column columns[] = {{"field", NULL, 's', 0}, {"a", "A", 'g', 6},
                                               {"b", "B", 'g', 6},      {"ratio", "B / A", 'f', 3},
                                               {"units", NULL, 's', 0}, {"meaning", NULL, 's', 0}};
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    struct rt_device copy[2] = {sides[0], sides[1]};
    for (size_t f = 0; f < rt_device_field_count; f++) {
        double a = *rt_device_value(&copy[0], f), b = *rt_device_value(&copy[1], f);
        bool alike = a == b || (isnan(a) && isnan(b));
        if (!alike)
            rt_table_row(table, rt_device_fields[f].key, a, b, a != 0 ? b / a : NAN,
                         rt_device_fields[f].units, rt_device_fields[f].long_name);
    }
    rt_report_add_table(report, "fields", "Numbers that differ", table);
}

int rt_compare_devices(const struct rt_device sides[2], const struct rt_predictor *predictor,
                       const struct rt_names *models, struct rt_report *report)
{
    static const struct rt_column columns[] = {{"model", NULL, 's', 0},   {"mode", NULL, 's', 0},
                                               {"dtype", NULL, 's', 0},   {"a_ms", "A, ms", 'f', 3},
                                               {"b_ms", "B, ms", 'f', 3}, {"ratio", "time, B / A", 'f', 3}};
    struct comparison comparison = {.predictors = {predictor, predictor}};
    struct steps steps = choose_steps(models);
    comparison.table = rt_table_new(columns, RT_COUNT(columns));
    int status = compare_steps(&comparison, &steps, (const struct rt_device *[]){&sides[0], &sides[1]}, 0);
    struct rt_device pair = sides[0];
    snprintf(pair.name, sizeof pair.name, "A, B");
    status = end_steps(&comparison, status, &pair, report);
    if (status == RT_OK)
        add_fields(report, sides);
    free(steps.list);
    return status;
}
