/* Calibration from kernels, network by network. See calibrate.h. */
#include "train/calibrate/calibrate.h"
#include "base/status.h"
#include "datasets/health.h"
#include "datasets/validate.h"
#include "train/calibrate/kernel_fits.h"
#include "predict/evaluate/evaluate.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- what is not used --- */

const struct rt_unused_row rt_unused[RT_UNUSED_COUNT] = {
    [RT_UNUSED_FAILED] = {"failed", "marked as failed"},
    [RT_UNUSED_THROTTLED] = {"throttled", "measured while the clock fell"},
    [RT_UNUSED_UNSTABLE] = {"unstable", "whose measurement did not become stable"},
    [RT_UNUSED_NO_LATENCY] = {"no_latency", "without a possible latency"},
    [RT_UNUSED_IMPOSSIBLE] = {"impossible", "faster than the roofline of the device allows"},
    [RT_UNUSED_STRAY] = {"stray", "that take hundreds of times their work"},
    [RT_UNUSED_FAMILY] = {"family", "of a family that looks throttled, or mislabelled"},
    [RT_UNUSED_REPEAT] = {"repeat", "that repeat another, to see drift"},
    [RT_UNUSED_NO_FORECAST] = {"no_forecast", "that the predictor has no network, peak or tile for"},
};

enum rt_unused rt_unused_of(uint32_t flags, double latency_us)
{
    return flags & RT_FLAG_FAILED             ? RT_UNUSED_FAILED
           : flags & RT_FLAG_REPEAT           ? RT_UNUSED_REPEAT
           : flags & RT_FLAG_THROTTLED        ? RT_UNUSED_THROTTLED
           : flags & RT_FLAG_UNSTABLE         ? RT_UNUSED_UNSTABLE
           : !rt_time_is_possible(latency_us) ? RT_UNUSED_NO_LATENCY
                                              : RT_UNUSED_COUNT;
}

/* --- the kernels of a network --- */

/* Those of the device that can be used, in the order of the dataset. */
struct kernels {
    size_t *row; /* of the dataset */
    struct rt_calibration_kernel *kernel;
    bool *in_part, *of_session, *used; /* of_session: measured in a session that the part is of */
    rt_real *feature;                  /* (count, features of the network) */
    rt_real *place;                    /* (count, rt_family_net_place_width) */
    size_t count;
};

static void kernels_release(struct kernels *kernels)
{
    free(kernels->row);
    free(kernels->kernel);
    free(kernels->in_part);
    free(kernels->of_session);
    free(kernels->used);
    free(kernels->feature);
    free(kernels->place);
}

/* What one network's calibration reads. */
struct source {
    const struct rt_predictor *predictor;
    const struct rt_family_net *net;
    const struct rt_dataset *dataset;
    const struct rt_device *device;
    const struct rt_calibrate_options *options;
    const struct rt_session_health *health; /* NULL: all is used */
};

/* What the network makes of each kernel. */
static void infer(const struct source *source, const struct rt_bound *bounds, struct kernels *kernels)
{
    const struct rt_family_net *net = source->net;
    size_t width = rt_family_net_place_width(net);
    double *unit_us = rt_malloc((kernels->count + 1) * sizeof *unit_us);
    kernels->place = rt_malloc((kernels->count + 1) * width * sizeof *kernels->place);
    if (kernels->count > 0) {
        rt_forecasters[net->forecaster].latency(net, NULL, kernels->feature, bounds, kernels->count, unit_us);
        rt_family_net_places(net, NULL, kernels->feature, kernels->count, kernels->place);
    }
    for (size_t i = 0; i < kernels->count; i++) {
        const struct rt_sample *sample = RT_SAMPLE(source->dataset, kernels->row[i]);
        kernels->kernel[i] = (struct rt_calibration_kernel){
            .measured_us = sample->latency_us,
            .dtype = sample->call.dtype,
            .unit_us = unit_us[i],
            .bound_us = bounds[i].bound_us,
            .place = kernels->place + i * width,
            .place_width = width,
            .inputs = kernels->feature + i * (size_t)net->feature_count,
        };
        rt_calibration_shares(&bounds[i], kernels->kernel[i].share);
    }
    free(unit_us);
}

static bool is_asked(const struct source *source, const struct rt_sample *sample)
{
    return &source->dataset->devices[sample->device] == source->device &&
           rt_net_serves(source->net, sample->call.op, sample->call.dtype);
}

/* By the health of its session; a refused one was refused before. */
static enum rt_unused unsound(const struct source *source, size_t row, const struct rt_sample *sample)
{
    static const enum rt_unused reasons[RT_ROW_COUNT] = {
        [RT_ROW_SOUND] = RT_UNUSED_COUNT,    [RT_ROW_IMPOSSIBLE] = RT_UNUSED_IMPOSSIBLE,
        [RT_ROW_STRAY] = RT_UNUSED_STRAY,    [RT_ROW_FAMILY] = RT_UNUSED_FAMILY,
        [RT_ROW_SESSION] = RT_UNUSED_FAMILY, [RT_ROW_REPEAT] = RT_UNUSED_REPEAT};
    if (source->health != NULL)
        return reasons[source->health->row[row]];
    return rt_sample_is_impossible(source->dataset, sample) ? RT_UNUSED_IMPOSSIBLE : RT_UNUSED_COUNT;
}

/* Features and bound of a sample, RT_UNUSED_COUNT where it can be used. */
static enum rt_unused try_sample(const struct source *source, size_t row, const struct rt_sample *sample,
                                 rt_real *features, struct rt_bound *bound)
{
    struct rt_query query;
    enum rt_unused reason = rt_unused_of(sample->flags, sample->latency_us);
    rt_query_of_sample(sample, false, &query);
    query.queued = query.on_device =
        false; /* a calibration fits the dispatch overhead that its kernels show, be it none */
    if (reason == RT_UNUSED_COUNT)
        reason = unsound(source, row, sample);
    if (reason == RT_UNUSED_COUNT &&
        rt_family_net_inputs(source->net, &query, source->device, features, bound) != RT_SKIP_NONE)
        reason = RT_UNUSED_NO_FORECAST;
    return reason;
}

/* Has the part of the data kernels of that session? Splits that a source marks are sessions of their own. */
static bool is_of_part(uint8_t split, int part)
{
    return part == RT_PART_ANY || split == RT_SPLIT_NONE ||
           (split == RT_SPLIT_TEST) == (part == RT_PART_TEST);
}

static void gather_kernels(const struct source *source, struct kernels *out, size_t left[RT_UNUSED_COUNT])
{
    const struct rt_dataset *dataset = source->dataset;
    size_t room = 1, width = (size_t)source->net->feature_count;
    int part = source->options->part;
    for (size_t i = 0; i < dataset->samples.count; i++)
        room += is_asked(source, RT_SAMPLE(dataset, i));
    struct kernels kernels = {.row = rt_malloc(room * sizeof *kernels.row),
                              .kernel = rt_malloc(room * sizeof *kernels.kernel),
                              .in_part = rt_calloc(room, sizeof *kernels.in_part),
                              .of_session = rt_calloc(room, sizeof *kernels.of_session),
                              .used = rt_calloc(room, sizeof *kernels.used),
                              .feature = rt_malloc(room * (width + 1) * sizeof *kernels.feature)};
    struct rt_bound *bounds = rt_malloc(room * sizeof *bounds);
    for (size_t i = 0; i < dataset->samples.count; i++) {
        const struct rt_sample *sample = RT_SAMPLE(dataset, i);
        size_t at = kernels.count;
        if (!is_asked(source, sample))
            continue;
        enum rt_unused reason = try_sample(source, i, sample, kernels.feature + at * width, &bounds[at]);
        if (reason != RT_UNUSED_COUNT) {
            left[reason]++;
            continue;
        }
        kernels.row[at] = i;
        kernels.of_session[at] = is_of_part(sample->split, part);
        kernels.in_part[at] =
            part == RT_PART_ANY || (int)rt_split_of(&source->predictor->split, sample) == part;
        kernels.count++;
    }
    infer(source, bounds, &kernels);
    free(bounds);
    *out = kernels;
}

/* --- one fit --- */

/* Marks at most options->kernels of each dtype of the part. Returns how many in all. */
static size_t select_kernels(const struct source *source, struct kernels *kernels,
                             const struct rt_device_effect *prior, const struct rt_device_effects *known)
{
    uint32_t *pool = rt_malloc((kernels->count + 1) * sizeof *pool);
    size_t selected = 0;
    struct rt_random random;
    rt_random_seed(&random, source->options->seed, 1000 + (uint64_t)source->net->family);
    for (uint8_t dtype = 0; dtype < RT_DTYPE_COUNT; dtype++) {
        size_t count = 0;
        for (size_t i = 0; i < kernels->count; i++)
            if (kernels->in_part[i] && kernels->kernel[i].dtype == dtype)
                pool[count++] = (uint32_t)i;
        size_t taken = rt_calibrate_select(kernels->kernel, pool, count, source->options->kernels, &random,
                                           prior, known);
        for (size_t k = 0; k < taken; k++)
            kernels->used[pool[k]] = true;
        selected += taken;
    }
    free(pool);
    return selected;
}

/* Keys of the used kernels, beside those that the prior was fitted to. */
static struct rt_fitted_keys keys_of(const struct rt_dataset *dataset, const struct kernels *kernels,
                                     const struct rt_device_effect *prior)
{
    struct rt_fitted_keys keys = rt_fitted_keys_copy(&prior->fitted_keys);
    for (size_t i = 0; i < kernels->count; i++)
        if (kernels->used[i])
            rt_fitted_keys_add(&keys, rt_kernel_key(RT_SAMPLE(dataset, kernels->row[i])));
    return keys;
}

/* The three fits to the used kernels, into row->after, which owns what they give. */
static void fit(const struct source *source, const struct kernels *kernels,
                const struct rt_device_effect *prior, const struct rt_device_effects *known,
                struct rt_calibrated_family *row)
{
    struct rt_calibration_kernel *used = rt_malloc(row->used * sizeof *used);
    size_t count = 0;
    for (size_t i = 0; i < kernels->count; i++)
        if (kernels->used[i]) {
            row->used_of[kernels->kernel[i].dtype]++;
            used[count++] = kernels->kernel[i];
        }
    for (size_t i = 0; source->options->effects_only && i < count; i++)
        used[i].place_width = 0;
    rt_calibrate_effect(used, count, prior, known, &row->after, &row->scatter);
    rt_calibrate_residuals(used, count, &row->after, &row->after.correction);
    rt_calibrate_interval(used, count, &source->net->intervals, &row->after);
    row->after.fitted_keys = keys_of(source->dataset, kernels, prior);
    memset(row->after.queued, 0, sizeof row->after.queued);
    free(used);
}

/* Does the kernel check the fit? Not one of another session, which may have run at other clocks. */
static bool is_check(const struct kernels *kernels, size_t kernel)
{
    return kernels->of_session[kernel] && !kernels->used[kernel];
}

/* Errors of the kernels that were used, or of those that check them. */
static void measure_error(const struct kernels *kernels, bool used, const struct rt_device_effect *effect,
                          struct rt_metrics *out)
{
    double *measured = rt_malloc((kernels->count + 1) * sizeof *measured);
    double *forecast = rt_malloc((kernels->count + 1) * sizeof *forecast);
    size_t count = 0;
    for (size_t i = 0; i < kernels->count; i++) {
        if (used ? !kernels->used[i] : !is_check(kernels, i))
            continue;
        measured[count] = kernels->kernel[i].measured_us;
        forecast[count++] = rt_calibration_forecast(&kernels->kernel[i], effect);
    }
    rt_metrics_of(measured, forecast, count, out);
    free(measured);
    free(forecast);
}

/* Did the fit make the forecasts of the other kernels worse? Where their median is further off, and more of
 * them are than tosses of a coin would say, by two standard deviations: few kernels scatter. */
static bool makes_worse(const struct kernels *kernels, const struct rt_calibrated_family *row)
{
    double count = 0, further = 0;
    for (size_t i = 0; i < kernels->count; i++) {
        const struct rt_calibration_kernel *kernel = &kernels->kernel[i];
        if (!is_check(kernels, i))
            continue;
        double before = rt_calibration_forecast(kernel, &row->before) / kernel->measured_us,
               after = rt_calibration_forecast(kernel, &row->after) / kernel->measured_us;
        further += fabs(after - 1) > fabs(before - 1);
        count++;
    }
    return count >= RT_CHECK_LEAST && row->rest_after.median > row->rest_before.median &&
           further > count / 2 + sqrt(count);
}

/* How much slower its large kernels are than by the prior, of a device that training did not have. */
static void compare_prior(const struct source *source, const struct kernels *kernels,
                          const struct rt_device_effect *prior, struct rt_calibrated_family *row)
{
    double *ratio = rt_malloc((kernels->count + 1) * sizeof *ratio);
    size_t count = 0;
    for (size_t i = 0; i < kernels->count; i++) {
        const struct rt_calibration_kernel *kernel = &kernels->kernel[i];
        if (kernels->used[i] && rt_interval_size_of(kernel->bound_us) == RT_INTERVAL_LONG)
            ratio[count++] = log(kernel->measured_us / rt_calibration_effect_us(kernel, prior));
    }
    row->tells_session =
        prior->kernels == 0 && rt_session_family_of(ratio, count, &source->net->intervals, &row->session);
    free(ratio);
}

/* The devices of training other than this one: how far one lies from another. Borrows the entries; the table
 * is to be freed. */
static void other_devices(const struct rt_device_effects *effects, const char *device,
                          struct rt_device_effects *out)
{
    *out = (struct rt_device_effects){.known = rt_malloc((effects->count + 1) * sizeof *out->known),
                                      .family = effects->family};
    for (size_t i = 0; i < effects->count; i++)
        if (!effects->known[i].calibrated && !rt_name_equal(effects->known[i].device, device))
            out->known[out->count++] = effects->known[i];
}

/* Leaves the network as it was: forecasts of the kernels that the fit did not see became worse by it. */
static void forget_fit(struct rt_calibrated_family *row)
{
    rt_fitted_keys_release(&row->after.fitted_keys);
    rt_residual_correction_release(&row->after.correction);
    row->after = row->before;
    row->worse = true;
    row->used = 0;
    memset(row->used_of, 0, sizeof row->used_of);
}

/* One network: its row of the calibration. row->after is to be put into the device effects where row->used
 * is not 0. */
static void fit_net(const struct source *source, struct rt_calibrated_family *row,
                    size_t left[RT_UNUSED_COUNT])
{
    const struct rt_family_net *net = source->net;
    struct kernels kernels;
    struct rt_device_effects known;
    struct rt_device_effect prior;
    *row = (struct rt_calibrated_family){.family = net->family, .units = net->units, .scatter = NAN};
    size_t families = left[RT_UNUSED_FAMILY];
    gather_kernels(source, &kernels, left);
    for (size_t i = 0; i < kernels.count; i++)
        row->available += kernels.in_part[i];
    rt_device_effects_of(&net->effects, source->device, &row->before);
    row->after = row->before;
    row->throttled = left[RT_UNUSED_FAMILY] > families;
    rt_device_effects_start(&net->effects, source->device, &prior);
    other_devices(&net->effects, prior.device, &known);
    if (row->available >= RT_CALIBRATE_LEAST)
        row->used = select_kernels(source, &kernels, &prior, &known);
    if (row->used > 0)
        fit(source, &kernels, &prior, &known, row);
    compare_prior(source, &kernels, &prior, row);
    free(known.known);
    measure_error(&kernels, true, &row->before, &row->fit_before);
    measure_error(&kernels, true, &row->after, &row->fit_after);
    measure_error(&kernels, false, &row->before, &row->rest_before);
    measure_error(&kernels, false, &row->after, &row->rest_after);
    if (row->used > 0 && makes_worse(&kernels, row))
        forget_fit(row);
    kernels_release(&kernels);
}

/* --- all networks --- */

/* A shift of queues was fitted beside device effects that are now replaced. Was there one, fitted to runs? */
static bool forget_queued(struct rt_predictor *predictor, const char *device)
{
    bool forgot = false, runs = rt_predictor_calibrated_to_runs(predictor, device);
    for (size_t n = 0; n < predictor->net_count; n++) {
        struct rt_device_effect *entry = rt_device_effects_find(&predictor->nets[n].effects, device);
        for (int p = 0; entry != NULL && p < RT_QUEUED_PARTS; p++) {
            forgot |= runs && entry->queued[p] != 0;
            entry->queued[p] = 0;
        }
    }
    return forgot;
}

static int refuse(const struct rt_calibration *calibration, const struct rt_calibrate_options *options)
{
    char left[512] = "";
    for (size_t f = 0; f < calibration->family_count; f++)
        if (calibration->family[f].worse)
            return rt_fail(
                RT_EFORMAT,
                "nothing is written: the fit to kernels of %s took the other kernels of %s from %.1f to "
                "%.1f%% in the median; measure again, or more",
                calibration->device, rt_net_name(calibration->family[f].family, calibration->family[f].units),
                calibration->family[f].rest_before.median, calibration->family[f].rest_after.median);
    for (int r = 0; r < RT_UNUSED_COUNT; r++) {
        size_t used = strlen(left);
        if (calibration->left[r] > 0)
            snprintf(left + used, sizeof left - used, "; %zu are %s", calibration->left[r],
                     rt_unused[r].words);
    }
    return rt_fail(RT_EFORMAT,
                   "no family has %d kernels of %s that can be used (split %s)%s; measure some with "
                   "`rooftile collect --plan calibrate`, or choose another {split}",
                   RT_CALIBRATE_LEAST, calibration->device, rt_part_name(options->part), left);
}

/* Where the session was slow, more likely than not, forecasts of kernels alone follow it, as it was measured;
 * those in a queue are taken back by what is expected to be the session's. */
static void take_back_session(struct rt_predictor *predictor, struct rt_calibration *out)
{
    struct rt_session_family families[RT_MAX_NETS];
    size_t count = 0;
    for (size_t f = 0; f < out->family_count; f++)
        if (out->family[f].tells_session)
            families[count++] = out->family[f].session;
    rt_slow_session_of(families, count, rt_predictor_error_correlation(predictor), &out->slow_session);
    if (out->slow_session.probability <= 0.5)
        return;
    out->queued_prior = -out->slow_session.probability * out->slow_session.slower;
    for (size_t n = 0; n < predictor->net_count; n++) {
        struct rt_device_effect *entry = rt_device_effects_find(&predictor->nets[n].effects, out->device);
        for (int p = 0; entry != NULL && entry->kernels > 0 && p < RT_QUEUED_PARTS; p++)
            entry->queued[p] = out->queued_prior;
    }
}

/* Refuses what was measured in a session that cannot be believed; names what else is left out. */
static int check_health(const struct rt_session_health *health, const struct rt_dataset *dataset,
                        int32_t device, const struct rt_calibrate_options *options)
{
    const struct rt_complaint *refusal = rt_health_refusal(health, device);
    char *not_used = rt_sentence("not calibrated to ({keep_all} uses them)");
    rt_health_warn(health, dataset, device, 0, not_used);
    free(not_used);
    if (refusal == NULL || !is_of_part(health->sessions[refusal->session].split, options->part))
        return RT_OK;
    return rt_fail(RT_EFORMAT,
                   "nothing to calibrate with: of %s %s; measure again, or use its kernels with {keep_all}",
                   dataset->devices[device].name, refusal->text);
}

int rt_calibrate_kernels(struct rt_predictor *predictor, const struct rt_dataset *dataset, int32_t device,
                         const struct rt_calibrate_options *options, struct rt_calibration *out)
{
    size_t used = 0;
    struct rt_session_health health = {0};
    if (!options->keep_all)
        rt_health_judge(dataset, &health);
    int status = !options->keep_all ? check_health(&health, dataset, device, options) : RT_OK;
    if (status != RT_OK) {
        rt_health_release(&health);
        return status;
    }
    out->forgot_runs = forget_queued(predictor, out->device);
    for (size_t n = 0; n < predictor->net_count; n++) {
        struct rt_family_net *net = &predictor->nets[n];
        const struct source source = {
            predictor, net, dataset, &dataset->devices[device], options, options->keep_all ? NULL : &health};
        if (!rt_family_net_has_effects(net))
            continue;
        struct rt_calibrated_family *row = &out->family[out->family_count++];
        fit_net(&source, row, out->left);
        used += row->used;
        if (row->used > 0)
            rt_device_effects_put(&net->effects, &row->after);
        row->before.correction = row->after.correction = (struct rt_residual_correction){0};
        row->before.fitted_keys = row->after.fitted_keys = (struct rt_fitted_keys){0};
    }
    rt_health_release(&health);
    if (used == 0)
        return refuse(out, options);
    take_back_session(predictor, out);
    return RT_OK;
}
