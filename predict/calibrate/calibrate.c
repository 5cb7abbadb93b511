/* Calibrating a predictor for a device from its kernels. See calibrate.h. */
#include "predict/calibrate/calibrate.h"
#include "base/status.h"
#include "models/predictor/throttling.h"
#include "predict/evaluate/evaluate.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const char *const rt_calibrate_left_words[RT_UNUSED_COUNT] = {
    [RT_UNUSED_FAILED] = "marked as failed when they were measured",
    [RT_UNUSED_THROTTLED] = "measured while the clock fell",
    [RT_UNUSED_UNSTABLE] = "not measured until they were stable",
    [RT_UNUSED_NO_LATENCY] = "without a latency above 0",
    [RT_UNUSED_NO_FORECAST] = "that the predictor has no network, peak or tile for",
};

/* --- the kernels of a family --- */

/* Those of the device that can be used, in the order of the dataset. */
struct kernels {
    const struct rt_sample **sample;
    struct rt_calibration_kernel *kernel;
    bool *in_part, *used;
    rt_real *feature; /* (count, features of the network) */
    rt_real *place;   /* (count, rt_family_net_place_width) */
    double *reached;  /* share of what the device sustains, NaN where a kernel does not tell */
    size_t count;
};

static void kernels_release(struct kernels *kernels)
{
    free(kernels->sample);
    free(kernels->kernel);
    free(kernels->in_part);
    free(kernels->used);
    free(kernels->reached);
    free(kernels->feature);
    free(kernels->place);
}

/* RT_UNUSED_COUNT where the measurement is good. */
static enum rt_calibrate_left check_sample(const struct rt_sample *sample)
{
    if (sample->flags & RT_FLAG_FAILED)
        return RT_UNUSED_FAILED;
    if (sample->flags & RT_FLAG_THROTTLED)
        return RT_UNUSED_THROTTLED;
    if (sample->flags & RT_FLAG_UNSTABLE)
        return RT_UNUSED_UNSTABLE;
    if (!(isfinite(sample->latency_us) && sample->latency_us > 0))
        return RT_UNUSED_NO_LATENCY;
    return RT_UNUSED_COUNT;
}

/* Latency with every device effect at 0: what the shifts multiply and the floor is added to; and what kernels
 * are like. */
static void set_units(const struct rt_family_net *net, const struct rt_bound *bounds, struct kernels *kernels)
{
    const struct rt_head *head = &rt_heads[net->head];
    size_t outputs = (size_t)head->outputs, width = rt_family_net_place_width(net);
    rt_real *out = rt_malloc((kernels->count + 1) * outputs * sizeof *out);
    kernels->place = rt_malloc((kernels->count + 1) * width * sizeof *kernels->place);
    if (kernels->count > 0) {
        rt_mlp_infer(&net->mlp, NULL, kernels->feature, kernels->count, out);
        rt_family_net_places(net, NULL, kernels->feature, kernels->count, kernels->place);
    }
    for (size_t i = 0; i < kernels->count; i++) {
        rt_calibration_shares(&bounds[i], kernels->kernel[i].share);
        kernels->kernel[i].unit_us = head->latency(out + i * outputs, &bounds[i]);
        kernels->kernel[i].bound_us = bounds[i].bound_us;
        kernels->kernel[i].place = kernels->place + i * width;
        kernels->kernel[i].place_width = width;
        kernels->kernel[i].inputs = kernels->feature + i * (size_t)net->feature_count;
        kernels->kernel[i].dtype = kernels->sample[i]->call.dtype;
    }
    free(out);
}

static void gather_kernels(const struct rt_predictor *predictor, const struct rt_family_net *net,
                           const struct rt_dataset *dataset, int32_t device, int part, struct kernels *out,
                           size_t left[RT_UNUSED_COUNT])
{
    size_t room = 0, width = (size_t)net->feature_count;
    for (size_t i = 0; i < dataset->sample_count; i++)
        room +=
            dataset->samples[i].device == device && rt_call_family(&dataset->samples[i].call) == net->family;
    struct kernels kernels = {.sample = rt_malloc((room + 1) * sizeof *kernels.sample),
                              .kernel = rt_calloc(room + 1, sizeof *kernels.kernel),
                              .in_part = rt_calloc(room + 1, sizeof *kernels.in_part),
                              .used = rt_calloc(room + 1, sizeof *kernels.used),
                              .reached = rt_malloc((room + 1) * sizeof *kernels.reached)};
    kernels.feature = rt_malloc((room + 1) * (width + 1) * sizeof *kernels.feature);
    struct rt_bound *bounds = rt_malloc((room + 1) * sizeof *bounds);
    for (size_t i = 0; i < dataset->sample_count; i++) {
        const struct rt_sample *sample = &dataset->samples[i];
        size_t at = kernels.count;
        struct rt_query query;
        if (sample->device != device || !rt_net_serves(net, sample->call.op, sample->call.dtype))
            continue;
        enum rt_calibrate_left reason = check_sample(sample);
        rt_query_of_sample(sample, false, &query);
        if (reason == RT_UNUSED_COUNT && rt_family_net_inputs(net, &query, &dataset->devices[device],
                                                              kernels.feature + at * width, &bounds[at]))
            reason = RT_UNUSED_NO_FORECAST;
        if (reason != RT_UNUSED_COUNT) {
            left[reason]++;
            continue;
        }
        kernels.sample[at] = sample;
        kernels.kernel[at].measured_us = sample->latency_us;
        kernels.reached[at] =
            rt_tells_utilisation(&bounds[at]) ? bounds[at].bound_us / sample->latency_us : NAN;
        kernels.in_part[at] = part == RT_PART_ANY || (int)rt_split_of(&predictor->split, sample) == part;
        kernels.count++;
    }
    set_units(net, bounds, &kernels);
    free(bounds);
    *out = kernels;
}

/* --- which of them --- */

/* Marks at most `wanted` kernels of each dtype of the part (calibrate_draw.c). Returns how many in all. */
static size_t choose_kernels(struct kernels *kernels, size_t wanted, uint64_t seed, enum rt_family family,
                             const struct rt_device_effect *prior, const struct rt_device_effects *known)
{
    uint32_t *pool = rt_malloc((kernels->count + 1) * sizeof *pool);
    size_t chosen = 0;
    struct rt_random random;
    rt_random_seed(&random, seed, 1000 + (uint64_t)family);
    for (uint8_t dtype = 0; dtype < RT_DTYPE_COUNT; dtype++) {
        size_t count = 0;
        for (size_t i = 0; i < kernels->count; i++)
            if (kernels->in_part[i] && kernels->sample[i]->call.dtype == dtype)
                pool[count++] = (uint32_t)i;
        size_t drawn = rt_calibrate_select(kernels->kernel, pool, count, wanted, &random, prior, known);
        for (size_t d = 0; d < drawn; d++)
            kernels->used[pool[d]] = true;
        chosen += drawn;
    }
    free(pool);
    return chosen;
}

/* --- one family --- */

/* What a fit to the used kernels was made from: also what was believed was, where that was itself calibrated.
 */
static struct rt_fitted_keys seen_by(const struct kernels *kernels, const struct rt_device_effect *prior)
{
    struct rt_fitted_keys seen = rt_fitted_keys_copy(&prior->fitted_keys);
    for (size_t i = 0; i < kernels->count; i++)
        if (kernels->used[i])
            rt_fitted_keys_add(&seen, rt_kernel_key(kernels->sample[i]));
    return seen;
}

/* Errors of the kernels that were used, or of those that were not. */
static void measure_error(const struct kernels *kernels, bool used, const struct rt_device_effect *effect,
                          struct rt_metrics *out)
{
    double *measured = rt_malloc((kernels->count + 1) * sizeof *measured);
    double *forecast = rt_malloc((kernels->count + 1) * sizeof *forecast);
    size_t count = 0;
    for (size_t i = 0; i < kernels->count; i++) {
        if (kernels->used[i] != used)
            continue;
        measured[count] = kernels->kernel[i].measured_us;
        forecast[count++] = rt_calibration_forecast(&kernels->kernel[i], effect);
    }
    rt_metrics_of(measured, forecast, count, out);
    free(measured);
    free(forecast);
}

void rt_calibrate_prior(const struct rt_family_net *net, const struct rt_device *device,
                        struct rt_device_effect *out)
{
    const struct rt_device_effect *known = rt_device_effects_find(&net->effects, device->name);
    if (known != NULL && !known->calibrated)
        *out = *known;
    else /* also after an earlier calibration: start over */
        rt_device_effects_prior(&net->effects, device, out);
}

static double utilisation_of(const struct kernels *kernels)
{
    double *reached = rt_malloc((kernels->count + 1) * sizeof *reached);
    size_t count = 0;
    for (size_t i = 0; i < kernels->count; i++)
        if (kernels->in_part[i] && !isnan(kernels->reached[i]))
            reached[count++] = kernels->reached[i];
    double median = rt_median_utilisation(reached, count);
    free(reached);
    return median;
}

/* The devices that tell how far one may lie from another: not the one in question. Borrows from `known`, in
 * fresh memory for its table. */
static void others(const struct rt_device_effects *effects, const char *device, struct rt_device_effects *out)
{
    *out = (struct rt_device_effects){.known = rt_malloc((effects->count + 1) * sizeof *out->known),
                                      .family = effects->family};
    for (size_t i = 0; i < effects->count; i++)
        if (!effects->known[i].calibrated && !rt_name_equal(effects->known[i].device, device))
            out->known[out->count++] = effects->known[i];
}

static void calibrate_family(const struct rt_predictor *predictor, const struct rt_family_net *net,
                             const struct rt_dataset *dataset, int32_t device,
                             const struct rt_calibrate_options *options, struct rt_calibration *calibration)
{
    struct rt_calibrated_family *row = &calibration->family[calibration->family_count++];
    struct kernels kernels;
    struct rt_device_effects known;
    *row = (struct rt_calibrated_family){
        .family = net->family, .units = net->units, .net = (size_t)(net - predictor->nets), .scatter = NAN};
    gather_kernels(predictor, net, dataset, device, options->part, &kernels, calibration->left);
    for (size_t i = 0; i < kernels.count; i++)
        row->available += kernels.in_part[i];
    rt_device_effects_of(&net->effects, &dataset->devices[device], &row->before);
    row->after = row->before;
    row->utilisation = utilisation_of(&kernels);
    row->throttled = rt_throttle_tells(net->family) && !options->keep_all &&
                     row->utilisation < RT_THROTTLED; /* not where it is NaN */
    struct rt_device_effect prior;
    rt_calibrate_prior(net, &dataset->devices[device], &prior);
    others(&net->effects, prior.device, &known);
    if (row->available >= RT_CALIBRATE_LEAST && !row->throttled)
        row->used = choose_kernels(&kernels, options->kernels, options->seed, net->family, &prior, &known);
    if (row->used > 0) {
        struct rt_calibration_kernel *chosen = rt_malloc(row->used * sizeof *chosen);
        size_t count = 0;
        for (size_t i = 0; i < kernels.count; i++)
            if (kernels.used[i]) {
                row->used_of[kernels.kernel[i].dtype]++;
                chosen[count++] = kernels.kernel[i];
            }
        for (size_t i = 0; options->effects_only && i < count; i++)
            chosen[i].place_width = 0;
        rt_calibrate_effect(chosen, count, &prior, &known, &row->after, &row->scatter);
        rt_calibrate_interval(chosen, count, &prior, &known, &net->intervals, &row->after);
        row->after.fitted_keys = seen_by(&kernels, &prior);
        free(chosen);
    }
    free(known.known);
    measure_error(&kernels, true, &row->before, &row->fit_before);
    measure_error(&kernels, true, &row->after, &row->fit_after);
    measure_error(&kernels, false, &row->before, &row->rest_before);
    measure_error(&kernels, false, &row->after, &row->rest_after);
    kernels_release(&kernels);
}

/* --- the predictor --- */

void rt_calibrate_entry(struct rt_device_effects *effects, const struct rt_device_effect *effect)
{
    struct rt_device_effect *entry = rt_device_effects_find(effects, effect->device);
    if (entry == NULL) {
        effects->known = rt_realloc(effects->known, effects->count + 1, sizeof *effects->known);
        entry = &effects->known[effects->count++];
        *entry = (struct rt_device_effect){.calibrated = true};
    }
    bool calibrated = entry->calibrated; /* what the network was fitted to stays so */
    rt_device_effect_release(entry);
    *entry = *effect;
    entry->calibrated = calibrated;
}

/* "150 kernels", "2 runs", "150 kernels, 2 runs". `before`: what an earlier call said, NULL where it does not
 * count any more: runs leave kernels as they are. Free with free(). */
static char *what_to(const struct rt_calibration *calibration, const char *before)
{
    size_t kernels = 0, runs = calibration->runs_used;
    for (size_t f = 0; f < calibration->family_count; f++)
        kernels += calibration->family[f].used;
    const char *end = before != NULL ? strstr(before, " kernels") : NULL;
    char *first = calibration->from_kernels ? rt_format("%zu kernels", kernels)
                  : end != NULL             ? rt_format("%.*s kernels", (int)(end - before), before)
                                            : rt_strdup("");
    if (!calibration->from_models)
        return first;
    char *both =
        rt_format("%s%s%zu %s", first, first[0] != '\0' ? ", " : "", runs, runs == 1 ? "run" : "runs");
    free(first);
    return both;
}

/* The data of an earlier call, which counts on, and of this one. Free with free(). */
static char *data_of(const char *before, const char *uuid)
{
    if (before[0] == '\0')
        return rt_strdup(uuid);
    return strstr(before, uuid) != NULL ? rt_strdup(before) : rt_format("%s,%s", before, uuid);
}

/* Into the list of calibrated devices, over what it says of that device. */
static void record(struct rt_predictor *predictor, const struct rt_dataset *dataset,
                   const struct rt_calibration *calibration)
{
    char *list = rt_strdup(""), *copy = rt_strdup(predictor->calibrated), *rest = copy, *line;
    const char *before = NULL, *uuids = "";
    while ((line = strtok_r(rest, "\n", &rest)) != NULL) {
        size_t name = strcspn(line, "\t");
        char *device = rt_format("%.*s", (int)name, line);
        if (!rt_name_equal(device, calibration->device)) {
            char *longer = rt_format("%s%s%s", list, list[0] != '\0' ? "\n" : "", line);
            free(list);
            list = longer;
        } else if (calibration->queued && !calibration->from_kernels && line[name] == '\t') {
            before = line + name + 1;
            uuids = before + strcspn(before, "\t");
            uuids += uuids[0] == '\t';
        }
        free(device);
    }
    char *what = what_to(calibration, before), *data = data_of(uuids, dataset->uuid);
    free(predictor->calibrated);
    predictor->calibrated =
        rt_format("%s%s%s\t%s\t%s", list, list[0] != '\0' ? "\n" : "", calibration->device, what, data);
    free(what);
    free(data);
    free(list);
    free(copy);
}

static int check_predictor(const struct rt_predictor *predictor)
{
    for (size_t n = 0; n < predictor->net_count; n++)
        if (rt_heads[predictor->nets[n].head].effects)
            return RT_OK;
    return rt_fail(RT_EUSAGE,
                   "a predictor of kind \"%s\" has nothing to calibrate: its networks know no latents of "
                   "devices; train one with `rooftile train --predictor rooftile`",
                   predictor->kind);
}

static int refuse_kernels(const struct rt_calibration *calibration,
                          const struct rt_calibrate_options *options)
{
    char left[512] = "";
    for (size_t f = 0; f < calibration->family_count; f++)
        if (calibration->family[f].throttled)
            return rt_fail(
                RT_EFORMAT,
                "nothing to calibrate with: %s kernels of %s look throttled (split %s), large ones "
                "reach %.0f%% of what the board sustains; measure again, or use them with --keep-all",
                rt_net_name(calibration->family[f].family, calibration->family[f].units), calibration->device,
                rt_part_name(options->part), 100 * calibration->family[f].utilisation);
    for (int r = 0; r < RT_UNUSED_COUNT; r++) {
        size_t used = strlen(left);
        if (calibration->left[r] > 0 && used < sizeof left)
            snprintf(left + used, sizeof left - used, "; %zu are %s", calibration->left[r],
                     rt_calibrate_left_words[r]);
    }
    return rt_fail(
        RT_EFORMAT,
        "no family has %d kernels of %s that can be used (split %s)%s; measure some with `rooftile "
        "collect --plan calibrate`, or choose another --split",
        RT_CALIBRATE_LEAST, calibration->device, rt_part_name(options->part), left);
}

/* What runs told of queues was told beside other device effects than kernels have just given. */
static void forget_queued(struct rt_predictor *predictor, struct rt_calibration *out)
{
    for (size_t n = 0; n < predictor->net_count; n++) {
        struct rt_device_effect *entry = rt_device_effects_find(&predictor->nets[n].effects, out->device);
        for (int p = 0; entry != NULL && p < RT_QUEUED_PARTS; p++) {
            out->forgot_runs |= entry->queued[p] != 0;
            entry->queued[p] = 0;
        }
    }
}

static int calibrate_kernels(struct rt_predictor *predictor, const struct rt_dataset *dataset, int32_t device,
                             const struct rt_calibrate_options *options, struct rt_calibration *out)
{
    bool some = false;
    for (size_t n = 0; n < predictor->net_count; n++)
        if (rt_heads[predictor->nets[n].head].effects)
            calibrate_family(predictor, &predictor->nets[n], dataset, device, options, out);
    for (size_t f = 0; f < out->family_count; f++)
        some |= out->family[f].used > 0;
    if (!some)
        return refuse_kernels(out, options);
    forget_queued(predictor, out);
    for (size_t f = 0; f < out->family_count; f++) {
        struct rt_calibrated_family *row = &out->family[f];
        memset(row->after.queued, 0, sizeof row->after.queued);
        if (row->used > 0)
            rt_calibrate_entry(&predictor->nets[row->net].effects, &row->after);
        row->before.correction = row->after.correction =
            (struct rt_residual_correction){0}; /* the predictor's, as */
        row->before.fitted_keys = row->after.fitted_keys =
            (struct rt_fitted_keys){0}; /* what it has seen is */
    }
    return RT_OK;
}

static bool has_kernels(const struct rt_dataset *dataset, int32_t device)
{
    for (size_t i = 0; i < dataset->sample_count; i++)
        if (dataset->samples[i].device == device)
            return true;
    return false;
}

int rt_calibrate(struct rt_predictor *predictor, const struct rt_dataset *dataset, int32_t device,
                 const struct rt_calibrate_options *options, struct rt_calibration *out)
{
    enum rt_calibrate_from from = options->from;
    if (from == RT_FROM_EITHER)
        from = has_kernels(dataset, device) ? RT_FROM_KERNELS : RT_FROM_MODELS;
    struct rt_calibration calibration = {.device = dataset->devices[device].name,
                                         .from_kernels = from != RT_FROM_MODELS,
                                         .from_models = from != RT_FROM_KERNELS};
    int status = check_predictor(predictor);
    if (status == RT_OK && from == RT_FROM_BOTH) /* before kernels change anything */
        status = rt_calibrate_models_check(predictor, dataset, device, options);
    if (status == RT_OK && calibration.from_kernels)
        status = calibrate_kernels(predictor, dataset, device, options, &calibration);
    if (status == RT_OK && calibration.from_models)
        status = rt_calibrate_models(predictor, dataset, device, options, &calibration);
    if (status != RT_OK) {
        rt_calibration_release(&calibration);
        return status;
    }
    record(predictor, dataset, &calibration);
    *out = calibration;
    return RT_OK;
}

void rt_calibration_release(struct rt_calibration *calibration)
{
    free(calibration->runs);
    *calibration = (struct rt_calibration){0};
}
