/* Rows of kernels: samples are chosen, sorted by op and device, and forecast by every candidate. See
 * evaluate.h. */
#include "base/progress.h"
#include "base/status.h"
#include "datasets/validate.h"
#include "predict/evaluate/evaluate.h"
#include "predict/evaluate/property.h"
#include "predict/step/energy.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* --- energy of a kernel --- */

double rt_kernel_energy_mj(const struct rt_predictor *predictor, const struct rt_device *device,
                           const struct rt_query *query, double time_us)
{
    struct rt_power_profile profile;
    struct rt_power_state state;
    struct rt_tiled_call launch;
    double scale[RT_ENERGY_PARTS];
    rt_power_profile_kernel(query, device, time_us, &profile);
    rt_energy_scales(&predictor->energy, device, scale);
    if (rt_power_at(&profile, scale, device->power_w, &state) != RT_OK)
        return NAN;
    double mj = 1e3 * state.joules;
    return rt_tiled_call_init_whole(&launch, query, device)
               ? fmax(mj, rt_targets[RT_TARGET_ENERGY].bound(&launch))
               : mj;
}

/* Half-widths (count) of the intervals of ln(measured / forecast energy) at levels (count): of the kernel's
 * time and of power. NaN where one is unknown. */
static void kernel_energy_intervals(const struct rt_predictor *predictor, const struct rt_device *device,
                                    const struct rt_query *query, const double *level, size_t count,
                                    double *ln_half_width)
{
    rt_predictor_intervals(predictor, device, query, level, count, ln_half_width);
    for (size_t l = 0; l < count; l++)
        ln_half_width[l] = hypot(ln_half_width[l], rt_energy_interval(&predictor->energy, device, level[l]));
}

/* --- rows --- */

static const enum rt_left_out left_out_of_skip[RT_SKIP_COUNT] = {[RT_SKIP_NO_FAMILY] = RT_LEFT_NO_FAMILY,
                                                                 [RT_SKIP_NO_PEAK] = RT_LEFT_NO_PEAK,
                                                                 [RT_SKIP_NO_TILE] = RT_LEFT_NO_TILE,
                                                                 [RT_SKIP_NO_ORIGIN] = RT_LEFT_NO_ORIGIN};

/* A sample that is judged; those of one op, device and values of all properties lie side by side. */
struct picked {
    uint32_t group, value, sample; /* group: op and device */
};

/* The evaluation while its rows are made. */
struct kernels {
    struct rt_evaluation *evaluation;
    const struct rt_dataset *dataset;
    bool *fitted;             /* (devices, ops, dtypes): RT_LEFT_FITTED; NULL: none */
    struct picked *picked;    /* sorted */
    struct rt_strings values; /* of all properties of a sample, with tabs between */
    size_t picked_count;
    size_t at_measured, at_board; /* columns beside energy; 0: none */
};

/* --- what is left out before anything is forecast --- */

/* Was a predictor fitted to all samples of the device, the test part included? */
static bool fitted_to_all(const struct rt_evaluation *evaluation, const char *device, enum rt_op_id op,
                          enum rt_dtype dtype)
{
    for (size_t c = 0; c < evaluation->candidate_count; c++) {
        const struct rt_predictor *predictor = &evaluation->candidates[c].predictor;
        if (predictor->kept_no_test && rt_predictor_fitted_to(predictor, device, op, dtype))
            return true;
    }
    return false;
}

/* (devices, ops, dtypes); NULL where all predictors kept a test part. */
static bool *list_fitted(const struct rt_evaluation *evaluation, const struct rt_dataset *dataset)
{
    bool any = false;
    for (size_t c = 0; c < evaluation->candidate_count; c++)
        any |= evaluation->candidates[c].predictor.kept_no_test;
    if (!any)
        return NULL;
    bool *fitted = rt_calloc((dataset->device_count + 1) * RT_OP_COUNT * RT_DTYPE_COUNT, sizeof *fitted),
         *to = fitted;
    for (size_t d = 0; d < dataset->device_count; d++)
        for (int op = 0; op < RT_OP_COUNT; op++)
            for (int dtype = 0; dtype < RT_DTYPE_COUNT; dtype++)
                *to++ = fitted_to_all(evaluation, dataset->devices[d].name, (enum rt_op_id)op,
                                      (enum rt_dtype)dtype);
    return fitted;
}

static bool is_fitted(const struct kernels *kernels, const struct rt_sample *sample)
{
    size_t row = (size_t)sample->device * RT_OP_COUNT + sample->call.op;
    return kernels->fitted != NULL && kernels->fitted[row * RT_DTYPE_COUNT + sample->call.dtype];
}

static bool judges_energy(const struct rt_evaluation *evaluation)
{
    return evaluation->target == &rt_targets[RT_TARGET_ENERGY];
}

static bool is_calibrated_to(const struct kernels *kernels, const struct rt_sample *sample)
{
    const struct rt_evaluation *evaluation = kernels->evaluation;
    for (size_t c = 0; c < evaluation->candidate_count; c++) {
        const struct rt_predictor *predictor = &evaluation->candidates[c].predictor;
        if (rt_predictor_calibrated_to_kernel(predictor, kernels->dataset, sample) ||
            (judges_energy(evaluation) &&
             rt_energy_model_fitted_to(&predictor->energy, &kernels->dataset->devices[sample->device],
                                       rt_kernel_key(sample))))
            return true;
    }
    return false;
}

/* Why a sample is not forecast; RT_LEFT_COUNT where it is. */
static enum rt_left_out check(const struct kernels *kernels, const struct rt_sample *sample)
{
    const struct rt_evaluate_options *options = &kernels->evaluation->options;
    if ((options->devices != NULL && !options->devices[sample->device]) ||
        (options->ops != NULL && !options->ops[sample->call.op]) ||
        (options->dtypes != NULL && !options->dtypes[sample->call.dtype]))
        return RT_LEFT_NOT_ASKED;
    if (options->part != RT_PART_ANY &&
        (int)rt_split_of(&kernels->evaluation->split, sample) != options->part)
        return RT_LEFT_OTHER_SPLIT;
    if (options->part == RT_PART_TEST && is_fitted(kernels, sample))
        return RT_LEFT_FITTED;
    if (sample->flags & RT_FLAG_FAILED)
        return RT_LEFT_FAILED;
    if (isnan(rt_target_measured(&rt_targets[RT_TARGET_LATENCY], sample)))
        return RT_LEFT_NO_LATENCY;
    if (isnan(rt_target_measured(kernels->evaluation->target, sample)))
        return RT_LEFT_NO_ENERGY;
    if (judges_energy(kernels->evaluation) && !(kernels->dataset->devices[sample->device].power_w > 0))
        return RT_LEFT_NO_POWER;
    if (rt_sample_is_impossible(kernels->dataset, sample))
        return RT_LEFT_IMPOSSIBLE;
    return is_calibrated_to(kernels, sample) ? RT_LEFT_CALIBRATED : RT_LEFT_COUNT;
}

static int by_key(const void *a, const void *b)
{
    const struct picked *x = a, *y = b;
    if (x->group != y->group)
        return x->group < y->group ? -1 : 1;
    if (x->value != y->value)
        return x->value < y->value ? -1 : 1;
    return (x->sample > y->sample) - (x->sample < y->sample);
}

/* Does the candidate forecast time where energy is judged? */
static bool forecasts_by_time(const struct rt_evaluation *evaluation, size_t c)
{
    return evaluation->candidates[c].predictor.target != RT_TARGET_ENERGY && judges_energy(evaluation);
}

static void half_widths(const struct rt_evaluation *evaluation, size_t c, const struct rt_device *device,
                        const struct rt_query *query, const double *level, size_t count,
                        double *ln_half_width)
{
    (forecasts_by_time(evaluation, c) ? kernel_energy_intervals : rt_predictor_intervals)(
        &evaluation->candidates[c].predictor, device, query, level, count, ln_half_width);
}

/* Of the first candidate's forecast of a sample. */
static const char *grade_of(const struct kernels *kernels, const struct rt_sample *sample)
{
    const struct rt_device *device = &kernels->dataset->devices[sample->device];
    struct rt_query query;
    double ln_half_width;
    rt_query_of_sample(sample, kernels->evaluation->options.measured_tiles, &query);
    half_widths(kernels->evaluation, 0, device, &query, (double[]){RT_EVALUATE_LEVEL}, 1, &ln_half_width);
    struct rt_trust trust = rt_kernel_trust(ln_half_width, RT_EVALUATE_LEVEL);
    return rt_grades[rt_trust_grade(&trust)];
}

/* The properties that are asked for of a sample, all of it as one text by number. */
static uint32_t value_of(struct kernels *kernels, const struct rt_sample *sample)
{
    const struct rt_names *by = kernels->evaluation->options.by;
    char value[512], all[4 * 512] = "";
    size_t length = 0;
    for (size_t b = 0; by != NULL && b < by->count && length < sizeof all; b++) {
        const char *grade = strstr(by->name[b], "grade") != NULL ? grade_of(kernels, sample) : NULL;
        rt_kernel_properties(kernels->dataset, sample, grade, by->name[b], value, sizeof value);
        length += (size_t)snprintf(all + length, sizeof all - length, "%s%s", b > 0 ? "\t" : "", value);
    }
    return (uint32_t)rt_strings_add(&kernels->values, all, strlen(all));
}

static void pick_samples(struct kernels *kernels)
{
    const struct rt_dataset *dataset = kernels->dataset;
    kernels->picked = rt_malloc((dataset->samples.count + 1) * sizeof *kernels->picked);
    for (size_t i = 0; i < dataset->samples.count; i++) {
        const struct rt_sample *sample = RT_SAMPLE(dataset, i);
        enum rt_left_out reason = check(kernels, sample);
        if (reason != RT_LEFT_COUNT) {
            kernels->evaluation->left_out[reason][sample->call.op]++;
            continue;
        }
        kernels->picked[kernels->picked_count++] = (struct picked){
            .group = sample->call.op * (uint32_t)dataset->device_count + (uint32_t)sample->device,
            .value = value_of(kernels, sample),
            .sample = (uint32_t)i};
    }
    qsort(kernels->picked, kernels->picked_count, sizeof *kernels->picked, by_key);
}

/* --- forecasts --- */

enum { BATCH = 4096 }; /* kernels forecast at once, between two updates of the progress */

struct batch {
    struct rt_query query[BATCH];
    struct rt_sample sample[BATCH];
    uint32_t row[BATCH]; /* of the dataset */
    double forecast[RT_MAX_CANDIDATES][BATCH];
    uint8_t skip[RT_MAX_CANDIDATES][BATCH];
};

/* Why row `i` is not judged, by the first candidate that has no forecast; RT_LEFT_COUNT where all have. */
static enum rt_left_out missing(const struct batch *batch, size_t candidates, size_t i)
{
    for (size_t c = 0; c < candidates; c++) {
        if (batch->skip[c][i] != RT_SKIP_NONE)
            return left_out_of_skip[batch->skip[c][i]];
        if (!(isfinite(batch->forecast[c][i]) && batch->forecast[c][i] > 0))
            return RT_LEFT_NO_NUMBER;
    }
    return RT_LEFT_COUNT;
}

/* mJ in the place of us. */
static void energy_of_times(const struct rt_evaluation *evaluation, const struct rt_device *device,
                            struct batch *batch, size_t count)
{
    for (size_t c = 0; c < evaluation->candidate_count; c++)
        for (size_t i = 0; i < count && forecasts_by_time(evaluation, c); i++)
            if (batch->skip[c][i] == RT_SKIP_NONE)
                batch->forecast[c][i] = rt_kernel_energy_mj(&evaluation->candidates[c].predictor, device,
                                                            &batch->query[i], batch->forecast[c][i]);
}

const double rt_coverage_levels[RT_COVERAGE_LEVELS] = {0.5, 0.6, 0.7, 0.8, 0.9, 0.95};

/* The first candidate's interval of the last row, which is counted where it lies within those of each level.
 */
static double count_covered(struct rt_evaluation *evaluation, const struct rt_device *device,
                            const struct rt_query *query)
{
    double level[RT_COVERAGE_LEVELS + 1] = {RT_EVALUATE_LEVEL}, ln_half_width[RT_COVERAGE_LEVELS + 1];
    size_t row = evaluation->row_count - 1;
    double off = fabs(log(evaluation->measured[row] / evaluation->column[0].value[row]));
    memcpy(level + 1, rt_coverage_levels, sizeof rt_coverage_levels);
    half_widths(evaluation, 0, device, query, level, RT_COVERAGE_LEVELS + 1, ln_half_width);
    evaluation->covered_rows += !isnan(ln_half_width[0]);
    for (size_t l = 0; l < RT_COVERAGE_LEVELS; l++)
        evaluation->covered[l] += !isnan(ln_half_width[0]) && off <= ln_half_width[l + 1];
    return ln_half_width[0];
}

/* Beside energy: the first candidate's coefficients at the measured time, and the board's power for it. */
static void add_beside(const struct kernels *kernels, const struct rt_device *device,
                       const struct rt_query *query, const struct rt_sample *sample, size_t row)
{
    struct rt_evaluation *evaluation = kernels->evaluation;
    if (kernels->at_measured == 0)
        return;
    evaluation->column[kernels->at_measured].value[row] =
        rt_kernel_energy_mj(&evaluation->candidates[0].predictor, device, query, sample->latency_us);
    evaluation->column[kernels->at_board].value[row] = 1e-3 * device->power_w * sample->latency_us;
}

/* Appends a row. */
static void add_row(struct kernels *kernels, const struct rt_device *device, const struct batch *batch,
                    size_t i)
{
    struct rt_evaluation *evaluation = kernels->evaluation;
    const struct rt_sample *sample = &batch->sample[i];
    size_t row = evaluation->row_count++;
    evaluation->sample[row] = batch->row[i];
    evaluation->measured[row] = rt_target_measured(evaluation->target, sample);
    for (size_t c = 0; c < evaluation->candidate_count; c++) {
        evaluation->column[c].value[row] = batch->forecast[c][i];
        if (c > 0)
            half_widths(evaluation, c, device, &batch->query[i], (double[]){RT_EVALUATE_LEVEL}, 1,
                        &evaluation->column[c].ln_half_width[row]);
    }
    evaluation->column[0].ln_half_width[row] = count_covered(evaluation, device, &batch->query[i]);
    add_beside(kernels, device, &batch->query[i], sample, row);
    evaluation->dtypes[sample->call.dtype]++;
    evaluation->unstable += (sample->flags & RT_FLAG_UNSTABLE) != 0;
    evaluation->throttled += (sample->flags & RT_FLAG_THROTTLED) != 0;
}

/* Forecasts `count` picked samples of one op on one device; those that all candidates forecast become rows.
 */
static void forecast_batch(struct kernels *kernels, const struct rt_device *device, struct batch *batch,
                           const struct picked *picked, size_t count)
{
    struct rt_evaluation *evaluation = kernels->evaluation;
    for (size_t i = 0; i < count; i++) {
        batch->row[i] = picked[i].sample;
        batch->sample[i] = rt_dataset_sample(kernels->dataset, picked[i].sample);
        rt_query_of_sample(&batch->sample[i], evaluation->options.measured_tiles, &batch->query[i]);
    }
    for (size_t c = 0; c < evaluation->candidate_count; c++)
        rt_predictor_forecast(&evaluation->candidates[c].predictor, device, batch->query, count,
                              evaluation->options.threads, batch->forecast[c], batch->skip[c]);
    energy_of_times(evaluation, device, batch, count);
    for (size_t i = 0; i < count; i++) {
        enum rt_left_out reason = missing(batch, evaluation->candidate_count, i);
        if (reason == RT_LEFT_COUNT)
            add_row(kernels, device, batch, i);
        else
            evaluation->left_out[reason][batch->sample[i].call.op]++;
    }
}

/* --- groups --- */

static bool is_held_out(const struct rt_candidate *candidate, const char *device, enum rt_op_id op,
                        enum rt_dtype dtype)
{
    return candidate != NULL && (!rt_predictor_fitted_to(&candidate->predictor, device, op, dtype) ||
                                 rt_predictor_holds_out(&candidate->predictor, device, op));
}

/* In all dtypes that the group has; of energy, its coefficients too. */
static bool group_held_out(const struct rt_evaluation *evaluation, const struct rt_scored_group *group,
                           const struct rt_candidate *candidate, const struct rt_device *device)
{
    bool dtype[RT_DTYPE_COUNT] = {false}, held_out = true;
    if (judges_energy(evaluation) && candidate != NULL)
        held_out = rt_energy_model_find(&candidate->predictor.energy, device) == NULL;
    for (size_t r = group->first; r < group->first + group->count; r++)
        dtype[RT_SAMPLE(evaluation->dataset, evaluation->sample[r])->call.dtype] = true;
    for (int d = 0; d < RT_DTYPE_COUNT; d++)
        held_out &= !dtype[d] || is_held_out(candidate, device->name, (enum rt_op_id)group->key[RT_KEY_OP],
                                             (enum rt_dtype)d);
    return held_out;
}

/* The rows from `first` on become a group; none where there are no rows. */
static void close_group(struct kernels *kernels, enum rt_op_id op, int32_t device, uint32_t value,
                        size_t first)
{
    struct rt_evaluation *evaluation = kernels->evaluation;
    struct rt_scored_group group = {.key = {[RT_KEY_DEVICE] = device,
                                            [RT_KEY_OP] = (int32_t)op,
                                            [RT_KEY_FAMILY] = (int32_t)rt_ops[op].family,
                                            [RT_KEY_PROPERTY] = (int32_t)value},
                                    .first = first,
                                    .count = evaluation->row_count - first};
    if (group.count == 0)
        return;
    for (size_t r = first; r < evaluation->row_count; r++)
        group.synthetic +=
            (RT_SAMPLE(kernels->dataset, evaluation->sample[r])->flags & RT_FLAG_SYNTHETIC) != 0;
    for (size_t c = 0; c < evaluation->candidate_count; c++)
        group.held_out[c] = group_held_out(
            evaluation, &group, rt_candidates_fitted(evaluation->candidates, evaluation->candidate_count, c),
            &kernels->dataset->devices[device]);
    group.key[RT_KEY_HELD_OUT] = group.held_out[0];
    rt_evaluation_add_group(evaluation, &group);
}

/* Forecasts picked[from..to), all of one op on one device. */
static void forecast_group(struct kernels *kernels, struct batch *batch, size_t from, size_t to,
                           struct rt_progress *progress)
{
    const struct rt_sample *some = RT_SAMPLE(kernels->dataset, kernels->picked[from].sample);
    const struct rt_device *device = &kernels->dataset->devices[some->device];
    size_t first = kernels->evaluation->row_count;
    for (size_t done = from; done < to;) {
        size_t count = to - done < BATCH ? to - done : BATCH;
        forecast_batch(kernels, device, batch, kernels->picked + done, count);
        done += count;
        rt_progress_update(progress, (double)done, "%s on %s", rt_ops[some->call.op].name, device->name);
    }
    close_group(kernels, (enum rt_op_id)some->call.op, some->device, kernels->picked[from].value, first);
}

static bool same_group(const struct picked *a, const struct picked *b)
{
    return a->group == b->group && a->value == b->value;
}

static void forecast_picked(struct kernels *kernels)
{
    struct batch *batch = rt_malloc(sizeof *batch);
    struct rt_progress progress;
    size_t count = kernels->picked_count;
    rt_progress_start(&progress, "evaluate", (double)count, kernels->evaluation->options.quiet);
    for (size_t from = 0, to; from < count; from = to) {
        for (to = from + 1; to < count && same_group(&kernels->picked[to], &kernels->picked[from]); to++)
            ;
        forecast_group(kernels, batch, from, to, &progress);
    }
    rt_progress_end(&progress);
    free(batch);
}

/* --- pools and the worst --- */

/* Of every op, of families with several ops, and of all; `scope`: of the rows where `where` holds. */
static void pool_over_devices(struct rt_evaluation *evaluation, const char *scope,
                              struct rt_scored_where where)
{
    char label[64];
    for (int op = 0; op < RT_OP_COUNT; op++)
        rt_scored_pool(evaluation, &evaluation->pooled, scope, rt_ops[op].name,
                       (struct rt_scored_where){RT_KEY_OP, op}, where);
    for (int family = 0; family < RT_FAMILY_COUNT; family++) {
        struct rt_scored_where of_family = {RT_KEY_FAMILY, family};
        snprintf(label, sizeof label, "all %s", rt_families[family].name);
        if (rt_scored_several(evaluation, RT_KEY_OP, of_family, where))
            rt_scored_pool(evaluation, &evaluation->pooled, scope, label, of_family, where);
    }
    rt_scored_pool(evaluation, &evaluation->pooled, scope, "all", where, where);
}

/* The b-th of the texts that a value is made of. */
static void part_of(const char *value, size_t b, char *out, size_t size)
{
    for (; b > 0; b--)
        value += strcspn(value, "\t") + 1;
    snprintf(out, size, "%.*s", (int)strcspn(value, "\t"), value);
}

/* Of each value of the b-th property x op, in the order of the rows. */
static void pool_property(struct kernels *kernels, size_t b)
{
    struct rt_evaluation *evaluation = kernels->evaluation;
    struct rt_strings parts = {0};
    int32_t *whole = rt_malloc((evaluation->group_count + 1) * sizeof *whole);
    char part[512];
    for (size_t g = 0; g < evaluation->group_count; g++) {
        int32_t *value = &evaluation->groups[g].key[RT_KEY_PROPERTY];
        whole[g] = *value;
        part_of(rt_strings_get(&kernels->values, *value), b, part, sizeof part);
        *value = rt_strings_add(&parts, part, strlen(part));
    }
    for (int32_t v = 0; v < (int32_t)parts.count; v++)
        for (int op = 0; op < RT_OP_COUNT; op++)
            rt_scored_pool(evaluation, &evaluation->by[b], rt_strings_get(&parts, v), rt_ops[op].name,
                           (struct rt_scored_where){RT_KEY_PROPERTY, v},
                           (struct rt_scored_where){RT_KEY_OP, op});
    for (size_t g = 0; g < evaluation->group_count; g++)
        evaluation->groups[g].key[RT_KEY_PROPERTY] = whole[g];
    free(whole);
    rt_strings_release(&parts);
}

static void pool_properties(struct kernels *kernels)
{
    struct rt_evaluation *evaluation = kernels->evaluation;
    evaluation->by_count = evaluation->options.by != NULL ? evaluation->options.by->count : 0;
    for (size_t b = 0; b < evaluation->by_count; b++)
        pool_property(kernels, b);
}

/* Groups of one op and device that differ in properties only lie side by side. */
static void add_pools(const struct kernels *kernels)
{
    struct rt_evaluation *evaluation = kernels->evaluation;
    for (size_t g = 0; g < evaluation->group_count; g++) {
        const int32_t *key = evaluation->groups[g].key,
                      *before = g > 0 ? evaluation->groups[g - 1].key : NULL;
        if (before != NULL && before[RT_KEY_OP] == key[RT_KEY_OP] &&
            before[RT_KEY_DEVICE] == key[RT_KEY_DEVICE])
            continue;
        rt_scored_pool(evaluation, &evaluation->devices, kernels->dataset->devices[key[RT_KEY_DEVICE]].name,
                       rt_ops[key[RT_KEY_OP]].name,
                       (struct rt_scored_where){RT_KEY_DEVICE, key[RT_KEY_DEVICE]},
                       (struct rt_scored_where){RT_KEY_OP, key[RT_KEY_OP]});
    }
    pool_over_devices(evaluation, "all", (struct rt_scored_where){RT_KEY_NONE, 0});
    pool_over_devices(evaluation, "held out", (struct rt_scored_where){RT_KEY_HELD_OUT, 1});
}

static void find_worst(const struct kernels *kernels)
{
    struct rt_evaluation *evaluation = kernels->evaluation;
    struct rt_scored_worst *worst = evaluation->worst;
    for (size_t r = 0; r < evaluation->row_count; r++) {
        double error = rt_evaluation_error(evaluation, r, 0);
        size_t at = evaluation->worst_count;
        if (at == RT_WORST_KERNELS && !(fabs(error) > fabs(worst[at - 1].error)))
            continue;
        if (at < RT_WORST_KERNELS)
            evaluation->worst_count++;
        else
            at--;
        for (; at > 0 && fabs(error) > fabs(worst[at - 1].error); at--)
            worst[at] = worst[at - 1];
        const struct rt_sample *sample = RT_SAMPLE(kernels->dataset, evaluation->sample[r]);
        worst[at] =
            (struct rt_scored_worst){.sample = *sample,
                                     .device = kernels->dataset->devices[sample->device].name,
                                     .kernel = rt_strings_get(&kernels->dataset->kernels, sample->kernel),
                                     .forecast = evaluation->column[0].value[r],
                                     .error = error};
    }
}

/* --- the evaluation --- */

/* What is judged: what is asked for, else what the reference was fitted to. */
static enum rt_target_id target_of(const struct rt_evaluate_options *options,
                                   const struct rt_candidate *reference)
{
    if (options->target != NULL)
        return (enum rt_target_id)(options->target - rt_targets);
    return reference != NULL ? reference->predictor.target : RT_TARGET_LATENCY;
}

static void add_columns_beside(struct kernels *kernels)
{
    struct rt_evaluation *evaluation = kernels->evaluation;
    if (!judges_energy(evaluation) || !forecasts_by_time(evaluation, 0))
        return;
    kernels->at_measured =
        rt_evaluation_add_column(evaluation, RT_SCORED_BESIDE, rt_strdup("at measured time"),
                                 rt_strdup("measured_time"), evaluation->total);
    kernels->at_board = rt_evaluation_add_column(evaluation, RT_SCORED_BESIDE, rt_strdup("board power"),
                                                 rt_strdup("board_power"), evaluation->total);
}

int rt_evaluate_kernels(const struct rt_dataset *dataset, const struct rt_candidate *candidates, size_t count,
                        const struct rt_evaluate_options *options, struct rt_evaluation *out)
{
    struct rt_evaluation evaluation;
    struct kernels kernels = {.evaluation = &evaluation, .dataset = dataset};
    const struct rt_candidate *reference = rt_candidates_reference(candidates, count);
    int status = rt_evaluation_init(&evaluation, candidates, count, options, target_of(options, reference),
                                    dataset->samples.count);
    if (status != RT_OK)
        return status;
    evaluation.total = dataset->samples.count;
    evaluation.dataset = dataset;
    evaluation.sample = rt_malloc((dataset->samples.count + 1) * sizeof *evaluation.sample);
    evaluation.split =
        reference != NULL ? reference->predictor.split : (struct rt_split_rule)RT_SPLIT_DEFAULT;
    add_columns_beside(&kernels);
    kernels.fitted = list_fitted(&evaluation, dataset);
    pick_samples(&kernels);
    forecast_picked(&kernels);
    add_pools(&kernels);
    pool_properties(&kernels);
    find_worst(&kernels);
    free(kernels.fitted);
    free(kernels.picked);
    rt_strings_release(&kernels.values);
    if (evaluation.row_count == 0) {
        status = rt_evaluation_refuse_empty(&evaluation);
        rt_evaluation_release(&evaluation);
        return status;
    }
    *out = evaluation;
    return RT_OK;
}
