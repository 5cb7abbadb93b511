/* Calibration from runs of whole models. See calibrate.h. */
#include "train/calibrate/calibrate.h"
#include "base/random.h"
#include "base/status.h"
#include "predict/evaluate/run_steps.h"
#include "train/robust.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Prior standard deviations in ln latency. */
static const double prior_scatter = 0.05;     /* of a run: errors of kernels cancel in it */
static const double common_spread = 1;        /* wide, for hosts that are several times slower */
static const double difference_spread = 0.15; /* runs say little about compute apart from memory */
static const double step = 1e-3;              /* of a shift, for slopes by differences */

/* A run with its graph, and whether it is fitted to. */
struct run {
    struct rt_run_steps steps;
    struct rt_calibrated_run row;
    bool throttled; /* looks so */
};

struct runs {
    struct rt_predictor *predictor;
    const struct rt_dataset *dataset;
    const struct rt_device *device;
    bool queued;  /* kernels of the device are known: only queues are shifted */
    double prior; /* mean of that shift: what a slow session of the kernels leads to expect, else 0 */
    struct rt_device_effect before[RT_MAX_NETS]; /* of each network: numbers only */
    double start[RT_MAX_NETS][RT_EFFECT_PARTS];  /* device effects that the shift is added to */
    struct run *run;
    size_t count, used;
};

/* --- the shift --- */

/* Was a network fitted to kernels of the device, in training or by calibration? */
static bool knows_kernels(const struct rt_predictor *predictor, const char *device)
{
    for (size_t n = 0; n < predictor->net_count; n++) {
        const struct rt_device_effect *known = rt_device_effects_find(&predictor->nets[n].effects, device);
        if (known != NULL && known->kernels > 0)
            return true;
    }
    return false;
}

/* Entries of the device to shift: those that are there where kernels of it are known, else and for families
 * without kernels where calibration starts. */
static void put_start(struct runs *runs)
{
    for (size_t n = 0; n < runs->predictor->net_count; n++) {
        struct rt_family_net *net = &runs->predictor->nets[n];
        struct rt_device_effect start;
        if (!rt_heads[net->head].effects)
            continue;
        rt_device_effects_of(&net->effects, runs->device, &runs->before[n]);
        runs->before[n].correction = (struct rt_residual_correction){0};
        runs->before[n].fitted_keys = (struct rt_fitted_keys){0};
        rt_device_effects_start(&net->effects, runs->device, &start);
        memcpy(runs->start[n], start.value, sizeof start.value);
        if (runs->queued && rt_device_effects_find(&net->effects, runs->device->name) != NULL)
            continue;
        start.correction = (struct rt_residual_correction){0}; /* not shifted */
        start.fitted_keys = rt_fitted_keys_copy(&start.fitted_keys);
        rt_device_effects_put(&net->effects, &start);
    }
}

static void set_shift(struct runs *runs, const double shift[RT_EFFECT_PARTS])
{
    for (size_t n = 0; n < runs->predictor->net_count; n++) {
        struct rt_device_effect *entry =
            rt_device_effects_find(&runs->predictor->nets[n].effects, runs->device->name);
        if (entry == NULL) /* a network without device effects */
            continue;
        if (runs->queued)
            memcpy(entry->queued, shift, sizeof entry->queued);
        else
            for (int p = 0; p < RT_EFFECT_PARTS; p++)
                entry->value[p] = runs->start[n][p] + shift[p];
    }
}

static int forecast_run(const struct runs *runs, struct run *run, double *time_us)
{
    struct rt_run_forecast forecast;
    int status = rt_run_forecast(&run->steps, runs->predictor, runs->device, true, 0, &forecast);
    if (status != RT_OK)
        return status;
    *time_us = forecast.total_us;
    run->throttled = rt_run_looks_throttled(&run->steps, &forecast, run->row.workload->end_to_end_us);
    return RT_OK;
}

/* What is fitted is the mean of the two shifts and their difference. */
static void shift_of(const double parameter[2], double shift[RT_EFFECT_PARTS])
{
    memset(shift, 0, RT_EFFECT_PARTS * sizeof *shift);
    shift[RT_EFFECT_COMPUTE] = parameter[0] + parameter[1] / 2;
    shift[RT_EFFECT_MEMORY] = parameter[0] - parameter[1] / 2;
}

/* ln(measured / forecast) of the used runs, at `out` with a stride. */
static int evaluate_at(struct runs *runs, const double parameter[2], double *out, size_t stride)
{
    double shift[RT_EFFECT_PARTS], time_us = NAN;
    size_t at = 0;
    int status = RT_OK;
    shift_of(parameter, shift);
    set_shift(runs, shift);
    for (size_t r = 0; status == RT_OK && r < runs->count; r++) {
        struct run *run = &runs->run[r];
        if (!run->row.used)
            continue;
        status = forecast_run(runs, run, &time_us);
        out[stride * at++] = log(run->row.workload->end_to_end_us / time_us);
    }
    return status;
}

static int evaluate_runs(void *context, const double *parameter, double *residual, double *slope)
{
    struct runs *runs = context;
    int status = evaluate_at(runs, parameter, residual, 1);
    for (size_t p = 0; status == RT_OK && p < 2; p++) {
        double moved[2] = {parameter[0], parameter[1]};
        moved[p] += step;
        status = evaluate_at(runs, moved, slope + p, 2);
        for (size_t i = 0; i < runs->used; i++)
            slope[2 * i + p] = (residual[i] - slope[2 * i + p]) / step;
    }
    return status;
}

/* Says so where runs to be fitted look throttled: the shift would be that of a hot board. */
static void warn_of_throttled(const struct runs *runs)
{
    size_t count = 0;
    for (size_t r = 0; r < runs->count; r++)
        count += runs->run[r].row.used && runs->run[r].throttled;
    if (count > 0)
        rt_warn("%zu of the %zu runs that %s is calibrated to look throttled: a cool one will be faster",
                count, runs->used, runs->device->name);
}

static int fit_shift(struct runs *runs, double shift[RT_EFFECT_PARTS])
{
    const double centre[2] = {runs->prior, 0}, spread[2] = {common_spread, difference_spread};
    double parameter[2] = {runs->prior, 0};
    struct rt_robust_problem problem = {.rows = runs->used,
                                        .parameters = 2,
                                        .centre = centre,
                                        .spread = spread,
                                        .scale = prior_scatter,
                                        .evaluate = evaluate_runs,
                                        .context = runs};
    struct rt_robust_fit fit;
    warn_of_throttled(runs);
    put_start(runs);
    int status = rt_robust_fit(&problem, parameter, &fit);
    if (status != RT_OK)
        return status;
    shift_of(parameter, shift);
    set_shift(runs, shift);
    for (size_t r = 0; status == RT_OK && r < runs->count; r++)
        status = forecast_run(runs, &runs->run[r], &runs->run[r].row.after_us);
    return status;
}

/* --- which runs --- */

/* Adds a run with its forecast before the fit. Not RT_OK where no model has its name. */
static int add_run(struct runs *runs, const struct rt_workload *workload)
{
    struct run run = {.row = {.workload = workload}};
    int status = rt_run_steps(runs->dataset, workload, runs->device, NULL, &run.steps);
    if (status != RT_OK)
        return status;
    if ((status = forecast_run(runs, &run, &run.row.before_us)) != RT_OK) {
        rt_run_steps_release(&run.steps);
        return status;
    }
    runs->run[runs->count++] = run;
    return RT_OK;
}

static void gather(struct runs *runs, size_t left[RT_UNUSED_COUNT])
{
    const struct rt_dataset *dataset = runs->dataset;
    runs->run = rt_calloc(dataset->workload_count + 1, sizeof *runs->run);
    for (size_t i = 0; i < dataset->workload_count; i++) {
        const struct rt_workload *workload = &dataset->workloads[i];
        if (&dataset->devices[workload->device] != runs->device || !rt_workload_is_plain(dataset, workload))
            continue;
        enum rt_unused reason = rt_unused_of(workload->flags, workload->end_to_end_us);
        if (reason == RT_UNUSED_COUNT && add_run(runs, workload) != RT_OK)
            reason = RT_UNUSED_NO_FORECAST;
        if (reason != RT_UNUSED_COUNT)
            left[reason]++;
    }
}

static bool is_without(const struct rt_dataset *dataset, const struct rt_workload *workload,
                       const struct rt_names *without)
{
    return rt_names_match(without, rt_strings_get(&dataset->texts, workload->model));
}

static void choose(struct runs *runs, const struct rt_calibrate_options *options)
{
    uint32_t *order = rt_malloc((runs->count + 1) * sizeof *order);
    size_t wanted = options->runs > 0 ? options->runs : runs->count;
    struct rt_random random;
    for (size_t r = 0; r < runs->count; r++)
        order[r] = (uint32_t)r;
    rt_random_seed(&random, options->seed, 999);
    rt_random_shuffle(&random, order, runs->count);
    for (size_t r = 0; r < runs->count && runs->used < wanted; r++) {
        struct rt_calibrated_run *row = &runs->run[order[r]].row;
        row->used = !is_without(runs->dataset, row->workload, &options->without);
        runs->used += row->used;
    }
    free(order);
}

/* Every name that is left out is of a model that ran on the device. */
static int check_names(const struct runs *runs, const struct rt_names *without)
{
    const struct rt_dataset *dataset = runs->dataset;
    for (size_t i = 0; i < without->count; i++) {
        const struct rt_names name = {.name = &without->name[i], .count = 1};
        bool found = false;
        for (size_t w = 0; !found && w < dataset->workload_count; w++)
            found = &dataset->devices[dataset->workloads[w].device] == runs->device &&
                    is_without(dataset, &dataset->workloads[w], &name);
        if (!found)
            return rt_fail(RT_ENOTFOUND,
                           "{without_model} %s: no run on %s is of a model of that name; there are runs of "
                           "%s, for one; '%s*' is "
                           "all that begin so",
                           without->name[i], runs->device->name,
                           rt_strings_get(&dataset->texts, runs->run[0].row.workload->model),
                           without->name[i]);
    }
    return RT_OK;
}

/* The runs of the device and which of them are fitted to. */
static int find_runs(struct runs *runs, const struct rt_calibrate_options *options,
                     size_t left[RT_UNUSED_COUNT])
{
    gather(runs, left);
    choose(runs, options);
    if (runs->count == 0)
        return rt_fail(RT_EFORMAT,
                       "holds no run of a whole model on one %s that can be forecast; calibrate from kernels "
                       "of it ({from} kernels): `rooftile collect --plan calibrate` measures some",
                       runs->device->name);
    int status = check_names(runs, &options->without);
    if (status == RT_OK && runs->used == 0)
        status = rt_fail(RT_EFORMAT,
                         "every run on one %s is of a model that {without_model} names; name fewer, or "
                         "measure others",
                         runs->device->name);
    return status;
}

/* --- what comes out --- */

static void add_keys(struct runs *runs)
{
    for (size_t n = 0; n < runs->predictor->net_count; n++) {
        struct rt_device_effect *entry =
            rt_device_effects_find(&runs->predictor->nets[n].effects, runs->device->name);
        for (size_t r = 0; entry != NULL && r < runs->count; r++)
            if (runs->run[r].row.used)
                rt_fitted_keys_add(&entry->fitted_keys, rt_run_key(runs->dataset, runs->run[r].row.workload));
    }
}

static void measure_error(const struct runs *runs, bool used, bool after, struct rt_metrics *out)
{
    double *measured = rt_malloc((runs->count + 1) * sizeof *measured);
    double *forecast = rt_malloc((runs->count + 1) * sizeof *forecast);
    size_t count = 0;
    for (size_t r = 0; r < runs->count; r++) {
        const struct rt_calibrated_run *row = &runs->run[r].row;
        if (row->used != used)
            continue;
        measured[count] = row->workload->end_to_end_us;
        forecast[count++] = after ? row->after_us : row->before_us;
    }
    rt_metrics_of(measured, forecast, count, out);
    free(measured);
    free(forecast);
}

/* A row for each family; where kernels were fitted in the same call, theirs stand. */
static void note_families(const struct runs *runs, struct rt_calibration *out)
{
    for (size_t n = 0; n < runs->predictor->net_count && !out->from_kernels; n++) {
        const struct rt_family_net *net = &runs->predictor->nets[n];
        if (!rt_heads[net->head].effects)
            continue;
        struct rt_calibrated_family *row = &out->family[out->family_count++];
        *row = (struct rt_calibrated_family){
            .family = net->family, .units = net->units, .before = runs->before[n], .scatter = NAN};
        rt_device_effects_of(&net->effects, runs->device, &row->after);
        row->after.correction = (struct rt_residual_correction){0};
        row->after.fitted_keys = (struct rt_fitted_keys){0};
    }
}

static void note_runs(const struct runs *runs, struct rt_calibration *out)
{
    out->queued = runs->queued;
    out->runs = rt_malloc((runs->count + 1) * sizeof *out->runs);
    for (size_t r = 0; r < runs->count; r++)
        out->runs[out->run_count++] = runs->run[r].row;
    out->runs_used = runs->used;
    measure_error(runs, true, false, &out->fit_before);
    measure_error(runs, true, true, &out->fit_after);
    measure_error(runs, false, false, &out->rest_before);
    measure_error(runs, false, true, &out->rest_after);
}

int rt_calibrate_runs(struct rt_predictor *predictor, const struct rt_dataset *dataset, int32_t device,
                      const struct rt_calibrate_options *options, struct rt_calibration *out)
{
    struct runs runs = {.predictor = predictor,
                        .dataset = dataset,
                        .device = &dataset->devices[device],
                        .queued = knows_kernels(predictor, dataset->devices[device].name)};
    runs.prior = out->queued_prior;
    int status = find_runs(&runs, options, out->runs_left);
    if (status == RT_OK)
        status = fit_shift(&runs, out->shift);
    if (status == RT_OK) {
        add_keys(&runs);
        note_runs(&runs, out);
        note_families(&runs, out);
    }
    for (size_t r = 0; r < runs.count; r++)
        rt_run_steps_release(&runs.run[r].steps);
    free(runs.run);
    return status;
}
