/* Energy of GPUs left out. See crossval.h. */
#include "train/crossval/crossval.h"
#include "base/array.h"
#include "base/status.h"
#include "datasets/dataset_input.h"
#include "train/calibrate/energy_observations.h"
#include "predict/evaluate/quantity.h"
#include "train/judge_energy.h"

#include <stdlib.h>
#include <string.h>

enum { RUNS_IN_TURN = 12 }; /* of a GPU that its effects are fitted to */

/* Whose forecast. */
enum forecaster { UNSEEN, ONE_RUN, PRIORS, BOARD, FORECASTERS };
static const char *const forecasters[FORECASTERS] = {"no run of the GPU", "one run of it", "physics alone",
                                                     "board power"};

/* What a scored item is of. */
struct forecast {
    size_t observation;
    enum forecaster by;
};

struct crossval {
    struct rt_dataset_input input;
    struct rt_predictor *predictors;
    size_t predictor_count;
    size_t *serves;                  /* (device_count) which predictor's times a device has */
    struct rt_energy_measured *list; /* (count) */
    size_t count, capacity;
    struct rt_scored_items items;
    struct forecast *forecasts; /* (items.count) */
    size_t forecast_capacity;
};

static const struct rt_dataset *data_of(const struct crossval *crossval)
{
    return &crossval->input.dataset;
}

static const struct rt_device *device_of(const struct crossval *crossval, size_t observation)
{
    return &data_of(crossval)->devices[crossval->list[observation].observation.device];
}

/* ---- data ---- */

static int open_predictors(const struct rt_energy_crossval_options *options, struct crossval *crossval)
{
    size_t count = options->times.count > 0 ? options->times.count : 1;
    int status = RT_OK;
    crossval->predictors = rt_calloc(count, sizeof *crossval->predictors);
    for (size_t p = 0; status == RT_OK && p < count; p++) {
        status = rt_predictor_open(options->times.count > 0 ? options->times.name[p] : "pretrained",
                                   &crossval->predictors[p]);
        crossval->predictor_count += status == RT_OK;
    }
    return status;
}

/* Was it fitted to kernels of the chip? */
static bool knows_chip(const struct rt_predictor *predictor, const struct rt_device *device)
{
    char *lines = rt_strdup(predictor->devices), *rest = lines, *line;
    bool known = false;
    while (!known && (line = strsep(&rest, "\n")) != NULL) {
        struct rt_device fitted;
        rt_device_init(&fitted, line);
        rt_device_recall(&fitted);
        known = line[0] != '\0' && rt_chip_same(&fitted, device);
    }
    free(lines);
    return known;
}

static void choose_predictors(struct crossval *crossval)
{
    const struct rt_dataset *dataset = data_of(crossval);
    crossval->serves = rt_calloc(dataset->device_count + 1, sizeof *crossval->serves);
    for (size_t d = 0; d < dataset->device_count; d++)
        for (size_t p = crossval->predictor_count; p-- > 0;)
            if (!knows_chip(&crossval->predictors[p], &dataset->devices[d]))
                crossval->serves[d] = p;
}

/* Each device's measurements by the predictor that serves it. */
static void gather(struct crossval *crossval)
{
    const struct rt_dataset *dataset = data_of(crossval);
    bool *devices = rt_malloc((dataset->device_count + 1) * sizeof *devices);
    for (size_t p = 0; p < crossval->predictor_count; p++) {
        struct rt_energy_measurements some;
        for (size_t d = 0; d < dataset->device_count; d++)
            devices[d] = crossval->serves[d] == p;
        rt_energy_measurements_gather(dataset, &crossval->predictors[p], devices, true, true, &some);
        RT_GROW(crossval->list, crossval->count, some.count, crossval->capacity);
        for (size_t i = 0; i < some.count; i++)
            crossval->list[crossval->count++] = some.list[i];
        rt_energy_measurements_release(&some);
    }
    free(devices);
}

/* ---- forecasts ---- */

static double joules(const struct rt_energy_measured *measured, double watts, double time_us)
{
    return watts * measured->gpus * 1e-6 * time_us;
}

/* watts: at the measured time; end_watts: at the forecast time. */
static void add_forecast(struct crossval *crossval, size_t observation, enum forecaster by, double watts,
                         double end_watts)
{
    const struct rt_energy_measured *measured = &crossval->list[observation];
    double measured_w = measured->observation.watts;
    RT_GROW(crossval->forecasts, crossval->items.count, 1, crossval->forecast_capacity);
    crossval->forecasts[crossval->items.count] = (struct forecast){observation, by};
    struct rt_scored_item *item = rt_scored_items_add(&crossval->items);
    item->workload = measured->workload;
    rt_scored_set(item, RT_QUANTITY_TIMED_POWER, measured_w, watts);
    rt_scored_set(item, RT_QUANTITY_POWER, measured_w, end_watts);
    rt_scored_set(item, RT_QUANTITY_ENERGY, joules(measured, measured_w, measured->measured_us),
                  joules(measured, end_watts, measured->forecast_us));
}

static void add_scaled(struct crossval *crossval, size_t observation, enum forecaster by,
                       const double scale[RT_ENERGY_PARTS])
{
    const struct rt_energy_measured *measured = &crossval->list[observation];
    add_forecast(crossval, observation, by, rt_energy_observation_watts(&measured->observation, scale),
                 rt_energy_observation_watts(&measured->as_forecast, scale));
}

static void visit(void *context, size_t observation, const struct rt_energy_model *model, bool one_run)
{
    struct crossval *crossval = context;
    const struct rt_dataset *dataset = data_of(crossval);
    double scale[RT_ENERGY_PARTS];
    rt_energy_scales(model, &dataset->devices[crossval->list[observation].observation.device], scale);
    add_scaled(crossval, observation, one_run ? ONE_RUN : UNSEEN, scale);
}

static void add_baselines(struct crossval *crossval)
{
    double scale[RT_ENERGY_PARTS];
    for (int p = 0; p < RT_ENERGY_PARTS; p++)
        scale[p] = 1;
    for (size_t i = 0; i < crossval->count; i++) {
        double board = crossval->list[i].observation.limit_w;
        if (crossval->list[i].observation.limited)
            continue;
        add_scaled(crossval, i, PRIORS, scale);
        add_forecast(crossval, i, BOARD, board, board);
    }
}

static int judge(struct crossval *crossval, int64_t seed)
{
    const struct rt_dataset *dataset = data_of(crossval);
    struct rt_energy_observation *observations = rt_malloc((crossval->count + 1) * sizeof *observations);
    const char **names = rt_malloc((dataset->device_count + 1) * sizeof *names);
    for (size_t i = 0; i < crossval->count; i++)
        observations[i] = crossval->list[i].observation;
    for (size_t d = 0; d < dataset->device_count; d++)
        names[d] = dataset->devices[d].name;
    const struct rt_energy_folds folds = {.observations = observations,
                                          .count = crossval->count,
                                          .devices = dataset->devices,
                                          .names = names,
                                          .device_count = dataset->device_count,
                                          .seed = (uint64_t)seed,
                                          .runs = RUNS_IN_TURN};
    int status = rt_energy_leave_each_out(&folds, visit, crossval);
    if (status == RT_OK)
        add_baselines(crossval);
    free(observations);
    free(names);
    return status;
}

/* ---- the table ---- */

#define COLUMN(key, title, id, statistic)                                                                    \
    {                                                                                                        \
        key, title, RT_QUANTITY_##id, RT_STATISTIC_##statistic, RT_BY_PREDICTOR                              \
    }

static const struct rt_pool_column columns[] = {
    COLUMN("n", NULL, POWER, N),
    COLUMN("power_median", "power %", TIMED_POWER, MEDIAN),
    COLUMN("power_mean", "mean", TIMED_POWER, MAPE),
    COLUMN("end_power_median", "end to end: power %", POWER, MEDIAN),
    COLUMN("end_power_mean", "mean", POWER, MAPE),
    COLUMN("end_energy_median", "energy %", ENERGY, MEDIAN),
    COLUMN("end_energy_mean", "mean", ENERGY, MAPE),
};
static const struct rt_pool_table pools = {
    .name = {"gpu", "mode", "with"}, .column = columns, .column_count = RT_COUNT(columns)};

static bool is_in(const struct crossval *crossval, size_t item, const struct rt_device *chip, int mode,
                  enum forecaster by)
{
    const struct forecast *forecast = &crossval->forecasts[item];
    const struct rt_workload *run = crossval->items.item[item].workload;
    return forecast->by == by && (mode < 0 || (run != NULL && run->mode == mode)) &&
           (chip == NULL || rt_chip_same(device_of(crossval, forecast->observation), chip));
}

/* A row for each forecaster. `chip`: a device of it, NULL for all; `mode`: of runs, -1 for all and kernels.
 */
static void add_rows(const struct crossval *crossval, const struct rt_device *chip, int mode,
                     struct rt_table *table)
{
    bool *member = rt_malloc((crossval->items.count + 1) * sizeof *member);
    char word[96] = "all";
    if (chip != NULL)
        rt_chip_word(chip, word, sizeof word);
    for (int by = 0; by < FORECASTERS; by++) {
        bool any = false;
        for (size_t i = 0; i < crossval->items.count; i++)
            any |= member[i] = is_in(crossval, i, chip, mode, (enum forecaster)by);
        const char *const name[RT_POOL_NAMES] = {word, mode < 0 ? "all" : rt_modes[mode], forecasters[by]};
        if (any)
            rt_pool_table_add(table, &pools, &crossval->items, member, name);
    }
    free(member);
}

/* Is it the first device of its chip that has measurements? */
static bool is_first(const struct crossval *crossval, size_t device)
{
    const struct rt_dataset *dataset = data_of(crossval);
    for (size_t i = 0; i < crossval->count; i++) {
        size_t of = (size_t)crossval->list[i].observation.device;
        if (rt_chip_same(&dataset->devices[of], &dataset->devices[device]))
            return of == device;
    }
    return false;
}

static void note_times(const struct crossval *crossval, struct rt_report *report)
{
    const struct rt_dataset *dataset = data_of(crossval);
    for (size_t d = 0; d < dataset->device_count; d++)
        if (is_first(crossval, d) &&
            knows_chip(&crossval->predictors[crossval->serves[d]], &dataset->devices[d]))
            rt_report_add_note(report, "warnings",
                               "times of %s are by a predictor that was fitted to it: end to end is not as "
                               "of a GPU left out; train one that holds it out and name that for times",
                               dataset->devices[d].name);
}

static struct rt_report *make_report(const struct crossval *crossval,
                                     const struct rt_energy_crossval_options *options)
{
    const struct rt_dataset *dataset = data_of(crossval);
    struct rt_report *report = rt_report_new();
    struct rt_table *table = rt_pool_table_new(&pools);
    for (size_t d = 0; d < dataset->device_count; d++)
        if (is_first(crossval, d) && rt_names_have_words(&options->only, dataset->devices[d].name))
            add_rows(crossval, &dataset->devices[d], -1, table);
    for (int mode = 0; options->only.count == 0 && mode < RT_MODE_COUNT; mode++)
        add_rows(crossval, NULL, mode, table);
    if (options->only.count == 0)
        add_rows(crossval, NULL, -1, table);
    rt_report_add_title(report, "energy, every GPU left out in turn, |error| of runs");
    rt_report_add_table(report, "rows", "", table);
    rt_report_add_text(report, "data_uuid", NULL, dataset->uuid);
    rt_report_add_json(report, "seed", json_integer((json_int_t)options->seed));
    rt_report_add_note(
        report, NULL,
        "power: mean watts of a GPU at the measured time; its energy is as far off. End to end: at the "
        "forecast time. one run of it: each of up to %d runs of the GPU in turn, judged by its others",
        RUNS_IN_TURN);
    note_times(crossval, report);
    return report;
}

/* ---- all ---- */

static void release(struct crossval *crossval)
{
    for (size_t p = 0; p < crossval->predictor_count; p++)
        rt_predictor_release(&crossval->predictors[p]);
    free(crossval->predictors);
    free(crossval->serves);
    free(crossval->list);
    free(crossval->forecasts);
    rt_scored_items_release(&crossval->items);
    rt_dataset_input_release(&crossval->input);
}

int rt_energy_crossval(const struct rt_energy_crossval_options *options, struct rt_report **out)
{
    struct crossval crossval = {0};
    int status = rt_dataset_input_read(&options->data, &crossval.input);
    if (status == RT_OK)
        status = open_predictors(options, &crossval);
    if (status == RT_OK) {
        choose_predictors(&crossval);
        gather(&crossval);
        status = judge(&crossval, options->seed);
        if (status != RT_OK)
            status =
                rt_fail_context(status, "%s", options->data.count == 1 ? options->data.name[0] : "the data");
    }
    if (status == RT_OK)
        *out = make_report(&crossval, options);
    release(&crossval);
    return status;
}
