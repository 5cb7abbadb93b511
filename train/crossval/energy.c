/* Energy of GPUs left out. See energy.h. */
#include "train/crossval/energy.h"
#include "base/status.h"
#include "datasets/chips.h"
#include "datasets/dataset_input.h"
#include "train/calibrate/energy_observations.h"
#include "predict/evaluate/metrics.h"
#include "train/judge_energy.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { RUNS_IN_TURN = 12 }; /* of a GPU that its effects are fitted to */

/* Whose forecast. */
enum judged { UNSEEN, ONE_RUN, PRIORS, BOARD, JUDGED };
static const struct {
    const char *key, *words;
} judged[JUDGED] = {[UNSEEN] = {"unseen", "no run of the GPU"},
                    [ONE_RUN] = {"one_run", "one run of it"},
                    [PRIORS] = {"priors", "physics alone"},
                    [BOARD] = {"board", "board power"}};

/* A forecast of one run or kernel. */
struct forecast {
    size_t observation;
    enum judged judged;
    double watts;                 /* at the measured time */
    double end_watts, end_joules; /* at the forecast time */
};

struct crossval {
    struct rt_dataset_input input;
    struct rt_predictor *predictors;
    size_t predictor_count;
    size_t *serves;                  /* (device_count) which predictor's times a device has */
    struct rt_energy_measured *list; /* (count) */
    size_t count;
    struct forecast *forecasts;
    size_t forecast_count;
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
        crossval->list = rt_realloc(crossval->list, crossval->count + some.count + 1, sizeof *crossval->list);
        for (size_t i = 0; i < some.count; i++)
            crossval->list[crossval->count++] = some.list[i];
        rt_energy_measurements_release(&some);
    }
    free(devices);
}

/* ---- forecasts ---- */

static void add_forecast(struct crossval *crossval, struct forecast forecast)
{
    size_t count = crossval->forecast_count;
    if ((count & (count - 1)) == 0) /* capacity is the next power of two */
        crossval->forecasts =
            rt_realloc(crossval->forecasts, count ? 2 * count : 1, sizeof *crossval->forecasts);
    crossval->forecasts[crossval->forecast_count++] = forecast;
}

static double joules(const struct rt_energy_measured *measured, double watts, double time_us)
{
    return watts * measured->gpus * 1e-6 * time_us;
}

static void add_scaled(struct crossval *crossval, size_t observation, enum judged who,
                       const double scale[RT_ENERGY_PARTS])
{
    const struct rt_energy_measured *measured = &crossval->list[observation];
    double end_watts = rt_energy_observation_watts(&measured->as_forecast, scale);
    add_forecast(crossval, (struct forecast){observation, who,
                                             rt_energy_observation_watts(&measured->observation, scale),
                                             end_watts, joules(measured, end_watts, measured->forecast_us)});
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
        const struct rt_energy_measured *measured = &crossval->list[i];
        double board = measured->observation.limit_w;
        add_scaled(crossval, i, PRIORS, scale);
        add_forecast(crossval, (struct forecast){i, BOARD, board, board,
                                                 joules(measured, board, measured->forecast_us)});
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

/* Which forecasts a row is about; NULL and -1: all. */
struct pool {
    const struct rt_device *chip; /* a device of it */
    int mode;                     /* of runs */
    enum judged judged;
};

static const struct rt_column columns[] = {
    {"gpu", NULL, 's', 0},
    {"mode", NULL, 's', 0},
    {"with", NULL, 's', 0},
    {"n", NULL, 'd', 0},
    {"power_median", "power %", 'f', 1},
    {"power_mean", "mean", 'f', 1},
    {"end_power_median", "end to end: power %", 'f', 1},
    {"end_power_mean", "mean", 'f', 1},
    {"end_energy_median", "energy %", 'f', 1},
    {"end_energy_mean", "mean", 'f', 1},
};

static bool is_in(const struct crossval *crossval, const struct pool *pool, const struct forecast *forecast)
{
    const struct rt_energy_measured *measured = &crossval->list[forecast->observation];
    bool mode = pool->mode < 0 || (measured->workload != NULL && measured->workload->mode == pool->mode);
    return forecast->judged == pool->judged && mode &&
           (pool->chip == NULL || rt_chip_same(device_of(crossval, forecast->observation), pool->chip));
}

static void add_row(const struct crossval *crossval, const struct pool *pool, struct rt_table *table)
{
    size_t most = crossval->forecast_count + 1, count = 0;
    double *value = rt_malloc(5 * most * sizeof *value);
    double *watts = value, *forecast_w = value + most, *end_w = value + 2 * most,
           *measured_j = value + 3 * most, *end_j = value + 4 * most;
    for (size_t f = 0; f < crossval->forecast_count; f++) {
        const struct forecast *forecast = &crossval->forecasts[f];
        if (!is_in(crossval, pool, forecast))
            continue;
        const struct rt_energy_measured *measured = &crossval->list[forecast->observation];
        watts[count] = measured->observation.watts;
        forecast_w[count] = forecast->watts;
        end_w[count] = forecast->end_watts;
        measured_j[count] = joules(measured, measured->observation.watts, measured->measured_us);
        end_j[count++] = forecast->end_joules;
    }
    struct rt_metrics power, end_power, energy;
    rt_metrics_of(watts, forecast_w, count, &power);
    rt_metrics_of(watts, end_w, count, &end_power);
    rt_metrics_of(measured_j, end_j, count, &energy);
    char word[96] = "all";
    if (pool->chip != NULL)
        rt_chip_word(pool->chip, word, sizeof word);
    if (count > 0)
        rt_table_row(table, word, pool->mode < 0 ? "all" : rt_modes[pool->mode], judged[pool->judged].words,
                     (long long)count, power.median, power.mape, end_power.median, end_power.mape,
                     energy.median, energy.mape);
    free(value);
}

static void add_rows(const struct crossval *crossval, const struct rt_device *chip, int mode,
                     struct rt_table *table)
{
    for (int who = 0; who < JUDGED; who++)
        add_row(crossval, &(struct pool){chip, mode, (enum judged)who}, table);
}

static bool is_wanted(const struct rt_names *only, const char *device)
{
    for (size_t i = 0; i < only->count; i++)
        if (rt_name_has_words(device, only->name[i]))
            return true;
    return only->count == 0;
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
            rt_report_add_note(
                report, "warnings",
                "times of %s are by a predictor that was fitted to it: end to end is not as of a "
                "GPU left out; train one with --hold-out-gpu and name it with --times",
                dataset->devices[d].name);
}

static struct rt_report *make_report(const struct crossval *crossval,
                                     const struct rt_energy_crossval_options *options)
{
    const struct rt_dataset *dataset = data_of(crossval);
    struct rt_report *report = rt_report_new();
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    for (size_t d = 0; d < dataset->device_count; d++)
        if (is_first(crossval, d) && is_wanted(&options->only, dataset->devices[d].name))
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
        "power: mean watts of a GPU at the measured time; its energy is as far off. End to end: "
        "at the forecast time. one run of it: each of up to %d runs of the GPU in turn, judged "
        "by its others",
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
