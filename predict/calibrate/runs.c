/* Calibrating a predictor for a device from runs of whole models. See calibrate.h. */
#include "base/status.h"
#include "predict/calibrate/calibrate.h"
#include "predict/forecast/forecast.h"
#include "predict/calibrate/robust.h"
#include "predict/evaluate/workloads.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

static const double prior_scatter = 0.05;     /* of ln time of a run: kernels' errors cancel */
static const double common_spread = 1;        /* a run tells how fast a device is as a whole */
static const double difference_spread = 0.15; /* and little about compute apart from memory */
static const double step = 1e-3;              /* of a shift, for slopes by differences */

/* Are kernels of the device known to a network: fitted in training, or calibrated to? */
static bool knows_kernels(const struct rt_predictor *predictor, const char *device)
{
    for (size_t n = 0; n < predictor->net_count; n++) {
        const struct rt_device_effect *known = rt_device_effects_find(&predictor->nets[n].effects, device);
        if (known != NULL && known->kernels > 0)
            return true;
    }
    return false;
}

/* A run with its graph, and whether it is fitted to. */
struct run {
    struct rt_graph graph;
    struct rt_calibrated_run row;
};

struct models {
    struct rt_predictor *predictor;
    const struct rt_device *device;
    bool queued; /* kernels of the device are known: only queues are shifted */
    struct rt_device_effect before[RT_MAX_NETS]; /* of each net */
    struct rt_device_effect base[RT_MAX_NETS];   /* what is shifted: differs where it was calibrated before */
    size_t known[RT_MAX_NETS];                   /* device effects of each net, before */
    struct run *runs;
    size_t count, used;
};

/* Takes corrections from kernels out, which are not shifted, and what was seen. What `before` has of both is
 * then its own. */
static void detach_corrections(struct models *models)
{
    for (size_t n = 0; n < models->predictor->net_count; n++) {
        struct rt_device_effect *entry =
            rt_device_effects_find(&models->predictor->nets[n].effects, models->device->name);
        if (entry != NULL) {
            entry->correction = (struct rt_residual_correction){0};
            entry->fitted_keys = (struct rt_fitted_keys){0};
        }
    }
}

/* In place: the entry keeps what it owns. A family whose kernels are not known gets the prior for it. */
static void set_queued(struct models *models, size_t n, const double shift[RT_EFFECT_PARTS])
{
    struct rt_device_effects *effects = &models->predictor->nets[n].effects;
    if (rt_device_effects_find(effects, models->device->name) == NULL)
        rt_calibrate_entry(effects, &models->base[n]);
    struct rt_device_effect *entry = rt_device_effects_find(effects, models->device->name);
    memcpy(entry->queued, shift, sizeof entry->queued);
}

/* The predictor as if every family's device effects were shifted, or its kernels in queues. */
static void set_shift(struct models *models, const double shift[RT_EFFECT_PARTS])
{
    for (size_t n = 0; n < models->predictor->net_count; n++) {
        struct rt_family_net *net = &models->predictor->nets[n];
        if (!rt_heads[net->head].effects)
            continue;
        if (models->queued) {
            set_queued(models, n, shift);
            continue;
        }
        struct rt_device_effect effect = models->base[n];
        effect.fitted_keys = (struct rt_fitted_keys){0}; /* borrowed; note_runs says what was seen */
        for (int p = 0; p < RT_EFFECT_PARTS; p++)
            effect.value[p] += shift[p];
        rt_calibrate_entry(&net->effects, &effect);
    }
}

static int forecast_run(const struct models *models, const struct run *run, double *time_us)
{
    const struct rt_forecast_options options = {
        .parallel = {.data = 1, .pipeline = 1, .microbatches = 1, .link_gbs = NAN}, .fallback = true};
    struct rt_forecast forecast;
    int status = rt_forecast_graph(&run->graph, models->predictor, models->device, &options, &forecast);
    if (status != RT_OK)
        return status;
    *time_us = forecast.total_us;
    rt_forecast_release(&forecast);
    return RT_OK;
}

/* Shifts of compute and memory from what is fitted: the device as a whole, and how far the two lie apart. */
static void shift_of(const double parameter[2], double shift[RT_EFFECT_PARTS])
{
    memset(shift, 0, RT_EFFECT_PARTS * sizeof *shift);
    shift[RT_EFFECT_COMPUTE] = parameter[0] + parameter[1] / 2;
    shift[RT_EFFECT_MEMORY] = parameter[0] - parameter[1] / 2;
}

/* ln(measured / forecast) of the used runs, at `out` with a stride. */
static int evaluate_at(struct models *models, const double parameter[2], double *out, size_t stride)
{
    double shift[RT_EFFECT_PARTS], time_us = NAN;
    size_t at = 0;
    int status = RT_OK;
    shift_of(parameter, shift);
    set_shift(models, shift);
    for (size_t r = 0; status == RT_OK && r < models->count; r++) {
        const struct run *run = &models->runs[r];
        if (!run->row.used)
            continue;
        status = forecast_run(models, run, &time_us);
        out[stride * at++] = log(run->row.workload->end_to_end_us / time_us);
    }
    return status;
}

static int evaluate_runs(void *context, const double *parameter, double *residual, double *slope)
{
    struct models *models = context;
    int status = evaluate_at(models, parameter, residual, 1);
    for (size_t p = 0; status == RT_OK && p < 2; p++) {
        double moved[2] = {parameter[0], parameter[1]};
        moved[p] += step;
        status = evaluate_at(models, moved, slope + p, 2);
        for (size_t i = 0; i < models->used; i++)
            slope[2 * i + p] = (residual[i] - slope[2 * i + p]) / step;
    }
    return status;
}

/* --- the runs --- */

/* RT_UNUSED_COUNT for a run that can be used; what ran on several GPUs or was fused is not looked at. */
static enum rt_calibrate_left check_run(const struct rt_workload *workload)
{
    if (workload->flags & RT_FLAG_FAILED)
        return RT_UNUSED_FAILED;
    if (workload->flags & RT_FLAG_THROTTLED)
        return RT_UNUSED_THROTTLED;
    if (workload->flags & RT_FLAG_UNSTABLE)
        return RT_UNUSED_UNSTABLE;
    if (!(isfinite(workload->end_to_end_us) && workload->end_to_end_us > 0))
        return RT_UNUSED_NO_LATENCY;
    return RT_UNUSED_COUNT;
}

/* Adds a run, with what is forecast of it before; RT_EFORMAT or RT_EUSAGE where it has no graph. */
static int add_run(struct models *models, const struct rt_dataset *dataset,
                   const struct rt_workload *workload)
{
    struct run run = {.row = {.workload = workload}};
    struct rt_workload_split split;
    int status = rt_workload_graph(dataset, workload, &split, &run.graph);
    if (status != RT_OK)
        return status;
    if ((status = forecast_run(models, &run, &run.row.before_us)) != RT_OK) {
        rt_graph_release(&run.graph);
        return status;
    }
    models->runs[models->count++] = run;
    return RT_OK;
}

static void gather_runs(struct models *models, const struct rt_dataset *dataset, int32_t device,
                        struct rt_calibration *calibration)
{
    models->runs = rt_calloc(dataset->workload_count + 1, sizeof *models->runs);
    for (size_t i = 0; i < dataset->workload_count; i++) {
        const struct rt_workload *workload = &dataset->workloads[i];
        if (workload->device != device || rt_strings_get(&dataset->texts, workload->option)[0] != '\0')
            continue;
        enum rt_calibrate_left reason = check_run(workload);
        if (reason == RT_UNUSED_COUNT && add_run(models, dataset, workload) != RT_OK)
            reason = RT_UNUSED_NO_FORECAST;
        if (reason != RT_UNUSED_COUNT)
            calibration->runs_left[reason]++;
    }
}

static bool is_without(const struct rt_dataset *dataset, const struct rt_workload *workload,
                       const struct rt_names *without)
{
    for (size_t i = 0; i < without->count; i++)
        if (rt_name_contains(rt_strings_get(&dataset->texts, workload->model), without->name[i]))
            return true;
    return false;
}

static void choose_runs(struct models *models, const struct rt_dataset *dataset,
                        const struct rt_calibrate_options *options)
{
    uint32_t *order = rt_malloc((models->count + 1) * sizeof *order);
    size_t wanted = options->runs > 0 ? options->runs : models->count;
    struct rt_random random;
    for (size_t r = 0; r < models->count; r++)
        order[r] = (uint32_t)r;
    rt_random_seed(&random, options->seed, 999);
    rt_random_shuffle(&random, order, models->count);
    for (size_t r = 0; r < models->count && models->used < wanted; r++) {
        struct rt_calibrated_run *row = &models->runs[order[r]].row;
        row->used = !is_without(dataset, row->workload, &options->without);
        models->used += row->used;
    }
    free(order);
}

static void measure_error(const struct models *models, bool used, bool after, struct rt_metrics *out)
{
    double *measured = rt_malloc((models->count + 1) * sizeof *measured);
    double *forecast = rt_malloc((models->count + 1) * sizeof *forecast);
    size_t count = 0;
    for (size_t r = 0; r < models->count; r++) {
        const struct rt_calibrated_run *row = &models->runs[r].row;
        if (row->used != used)
            continue;
        measured[count] = row->workload->end_to_end_us;
        forecast[count++] = after ? row->after_us : row->before_us;
    }
    rt_metrics_of(measured, forecast, count, out);
    free(measured);
    free(forecast);
}

/* --- the fit --- */

/* The runs that were fitted to, and what the device effects that were shifted had seen before. */
static void note_runs(struct models *models, const struct rt_dataset *dataset)
{
    for (size_t n = 0; n < models->predictor->net_count; n++) {
        struct rt_device_effect *entry =
            rt_device_effects_find(&models->predictor->nets[n].effects, models->device->name);
        if (entry == NULL)
            continue;
        if (!models->queued)
            entry->fitted_keys = rt_fitted_keys_copy(&models->base[n].fitted_keys);
        for (size_t r = 0; r < models->count; r++)
            if (models->runs[r].row.used)
                rt_fitted_keys_add(&entry->fitted_keys, rt_run_key(dataset, models->runs[r].row.workload));
    }
}

static int fit_runs(struct models *models, struct rt_calibration *calibration)
{
    struct rt_robust_problem problem = {.rows = models->used,
                                        .parameters = 2,
                                        .spread = {common_spread, difference_spread},
                                        .scale = prior_scatter,
                                        .evaluate = evaluate_runs,
                                        .context = models};
    struct rt_robust_fit fit;
    if (!models->queued)
        detach_corrections(models);
    int status = rt_robust_fit(&problem, &fit);
    if (status != RT_OK)
        return status;
    shift_of(fit.parameter, calibration->shift);
    set_shift(models, calibration->shift);
    for (size_t r = 0; status == RT_OK && r < models->count; r++)
        status = forecast_run(models, &models->runs[r], &models->runs[r].row.after_us);
    return status;
}

/* The device effects as they were and are; where kernels were fitted in the same call, their rows stand. */
static void tell_families(const struct models *models, struct rt_calibration *out)
{
    for (size_t n = 0; n < models->predictor->net_count && !out->from_kernels; n++) {
        const struct rt_family_net *net = &models->predictor->nets[n];
        if (!rt_heads[net->head].effects)
            continue;
        struct rt_calibrated_family *row = &out->family[out->family_count++];
        *row = (struct rt_calibrated_family){.family = net->family,
                                             .units = net->units,
                                             .net = n,
                                             .before = models->before[n],
                                             .utilisation = NAN,
                                             .scatter = NAN};
        rt_device_effects_of(&net->effects, models->device, &row->after);
        if (!models->queued)
            rt_device_effect_release(&row->before); /* detached from the predictor */
        row->before.correction = row->after.correction =
            (struct rt_residual_correction){0}; /* the predictor's */
        row->before.fitted_keys = row->after.fitted_keys = (struct rt_fitted_keys){0};
    }
}

static void tell(const struct models *models, struct rt_calibration *out)
{
    out->queued = models->queued;
    out->runs = rt_malloc((models->count + 1) * sizeof *out->runs);
    for (size_t r = 0; r < models->count; r++)
        out->runs[out->run_count++] = models->runs[r].row;
    out->runs_used = models->used;
    measure_error(models, true, false, &out->fit_before);
    measure_error(models, true, true, &out->fit_after);
    measure_error(models, false, false, &out->rest_before);
    measure_error(models, false, true, &out->rest_after);
    tell_families(models, out);
}

static void remember(struct models *models)
{
    for (size_t n = 0; n < models->predictor->net_count; n++) {
        const struct rt_family_net *net = &models->predictor->nets[n];
        models->known[n] = net->effects.count;
        rt_device_effects_of(&net->effects, models->device, &models->before[n]);
        rt_calibrate_prior(net, models->device, &models->base[n]);
        models->base[n].correction = (struct rt_residual_correction){0};
    }
}

static void take_back(struct models *models)
{
    for (size_t n = 0; n < models->predictor->net_count; n++) {
        struct rt_device_effects *effects = &models->predictor->nets[n].effects;
        struct rt_device_effect *entry = rt_device_effects_find(effects, models->device->name);
        if (entry != NULL && models->queued)
            memcpy(entry->queued, models->before[n].queued, sizeof entry->queued);
        else if (entry != NULL)
            rt_calibrate_entry(effects, &models->before[n]);
        effects->count = models->known[n]; /* a new one is the last */
    }
}

/* Every name that is left out is part of some model's that ran on the device. */
static int check_names(const struct models *models, const struct rt_dataset *dataset, int32_t device,
                       const struct rt_names *without)
{
    for (size_t i = 0; i < without->count; i++) {
        const struct rt_names name = {.name = &without->name[i], .count = 1};
        bool found = false;
        for (size_t w = 0; !found && w < dataset->workload_count; w++)
            found =
                dataset->workloads[w].device == device && is_without(dataset, &dataset->workloads[w], &name);
        if (!found)
            return rt_fail(RT_ENOTFOUND,
                           "--without-model %s: no run on %s is of a model with that in its name; there are "
                           "runs of %s, for one",
                           without->name[i], models->device->name,
                           rt_strings_get(&dataset->texts, models->runs[0].row.workload->model));
    }
    return RT_OK;
}

/* The runs of the device and which of them are fitted to; where there is none, why. */
static int find_runs(struct models *models, const struct rt_dataset *dataset, int32_t device,
                     const struct rt_calibrate_options *options, struct rt_calibration *out)
{
    gather_runs(models, dataset, device, out);
    choose_runs(models, dataset, options);
    if (models->count == 0)
        return rt_fail(RT_EFORMAT,
                       "holds no run of a whole model on one %s that can be forecast; calibrate from kernels "
                       "of it (--from kernels): `rooftile collect --plan calibrate` measures some",
                       models->device->name);
    int status = check_names(models, dataset, device, &options->without);
    if (status == RT_OK && models->used == 0)
        status = rt_fail(RT_EFORMAT,
                         "every run on one %s is of a model that --without-model names; name fewer, or "
                         "measure others",
                         models->device->name);
    return status;
}

static void release_runs(struct models *models)
{
    for (size_t r = 0; r < models->count; r++)
        rt_graph_release(&models->runs[r].graph);
    free(models->runs);
}

int rt_calibrate_models_check(struct rt_predictor *predictor, const struct rt_dataset *dataset,
                              int32_t device, const struct rt_calibrate_options *options)
{
    struct models models = {.predictor = predictor, .device = &dataset->devices[device]};
    struct rt_calibration unused = {0};
    int status = find_runs(&models, dataset, device, options, &unused);
    release_runs(&models);
    return status;
}

int rt_calibrate_models(struct rt_predictor *predictor, const struct rt_dataset *dataset, int32_t device,
                        const struct rt_calibrate_options *options, struct rt_calibration *out)
{
    struct models models = {.predictor = predictor,
                            .device = &dataset->devices[device],
                            .queued = knows_kernels(predictor, dataset->devices[device].name)};
    remember(&models);
    int status = find_runs(&models, dataset, device, options, out);
    if (status == RT_OK && (status = fit_runs(&models, out)) != RT_OK)
        take_back(&models);
    if (status == RT_OK) {
        note_runs(&models, dataset);
        tell(&models, out);
    }
    release_runs(&models);
    return status;
}
