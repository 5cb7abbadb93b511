/* Forecasting a dataset and gathering the errors. See evaluate.h. */
#include "predict/evaluate/evaluate.h"
#include "base/progress.h"
#include "base/status.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

const struct rt_left_out_row rt_left_outs[RT_LEFT_COUNT] = {
    [RT_LEFT_NOT_ASKED] = {"not_asked", "of another GPU, op or dtype than asked for",
                           "`rooftile dataset info` lists what the data has"},
    [RT_LEFT_OTHER_SPLIT] = {"other_split", "not in the chosen split", "choose with --split, or take all"},
    [RT_LEFT_FITTED] = {"fitted", "fitted to by a predictor that kept no test part",
                        "hold the GPU out, or train without --no-test"},
    [RT_LEFT_FAILED] = {"failed", "marked as failed when they were measured", "collect them again"},
    [RT_LEFT_NO_LATENCY] = {"no_latency", "without a latency above 0", "collect them again"},
    [RT_LEFT_CALIBRATED] = {"calibrated", "kernels that a predictor was calibrated to",
                            "judge it by others: measure more, or calibrate with fewer (--kernels)"},
    [RT_LEFT_NO_FAMILY] = {"no_family", "of a family that a predictor has no network for",
                           "train one with samples of that family"},
    [RT_LEFT_NO_PEAK] = {"no_peak", "of a dtype that the device's description has no peak for",
                         "complete the description of the device"},
    [RT_LEFT_NO_TILE] = {"no_tile", "without a tile: none of anything like them is known to a predictor",
                         "train one with samples whose tiles are known"},
    [RT_LEFT_NO_ORIGIN] = {"no_origin", "that nothing like was measured on another device than theirs",
                           "train wave-scaling with the data of another GPU"},
    [RT_LEFT_NO_NUMBER] = {"no_number", "whose forecast is not a positive number",
                           "train the predictor again"},
};

static const enum rt_left_out left_out_of_skip[RT_SKIP_COUNT] = {[RT_SKIP_NO_FAMILY] = RT_LEFT_NO_FAMILY,
                                                                 [RT_SKIP_NO_PEAK] = RT_LEFT_NO_PEAK,
                                                                 [RT_SKIP_NO_TILE] = RT_LEFT_NO_TILE,
                                                                 [RT_SKIP_NO_ORIGIN] = RT_LEFT_NO_ORIGIN};

static const struct {
    int part;
    const char *name;
} parts[] = {{RT_PART_TEST, "test"},
             {RT_PART_TRAIN, "train"},
             {RT_PART_VALIDATION, "validation"},
             {RT_PART_ANY, "all"}};

const char *rt_part_name(int part)
{
    for (size_t i = 0; i < RT_COUNT(parts); i++)
        if (parts[i].part == part)
            return parts[i].name;
    return "";
}

int rt_part_find(const char *name, int *part)
{
    for (size_t i = 0; i < RT_COUNT(parts); i++)
        if (strcmp(parts[i].name, name) == 0) {
            *part = parts[i].part;
            return RT_OK;
        }
    return rt_fail(RT_EUSAGE, "--split %s: no such split; choose test, train, validation or all", name);
}

/* --- candidates --- */

static char *file_label(const char *path)
{
    const char *slash = strrchr(path, '/');
    char *label = rt_strdup(slash != NULL ? slash + 1 : path);
    size_t length = strlen(label);
    if (length > 3 && strcmp(label + length - 3, ".h5") == 0)
        label[length - 3] = '\0';
    return label;
}

static size_t count_label(const struct rt_candidate *candidates, size_t count, const char *label)
{
    size_t found = 0;
    for (size_t i = 0; i < count; i++)
        found += strcmp(candidates[i].label, label) == 0;
    return found;
}

/* A kind tells candidates apart, else the file's name, else its whole path. */
static void label_candidates(struct rt_candidate *candidates, size_t count)
{
    bool shared[RT_MAX_CANDIDATES];
    for (size_t i = 0; i < count; i++)
        candidates[i].label = rt_strdup(candidates[i].predictor.kind);
    for (int round = 0; round < 2; round++) {
        for (size_t i = 0; i < count; i++)
            shared[i] = count_label(candidates, count, candidates[i].label) > 1;
        for (size_t i = 0; i < count; i++) {
            if (!shared[i])
                continue;
            free(candidates[i].label);
            candidates[i].label = round == 0 ? file_label(candidates[i].name) : rt_strdup(candidates[i].name);
        }
    }
}

int rt_candidates_open(const char *const *names, size_t count, struct rt_candidate *out)
{
    if (count > RT_MAX_CANDIDATES)
        return rt_fail(RT_EUSAGE,
                       "%zu predictors are more than can stand beside one another: name at most %d", count,
                       RT_MAX_CANDIDATES);
    for (size_t i = 0; i < count; i++)
        for (size_t j = 0; j < i; j++)
            if (strcmp(names[i], names[j]) == 0)
                return rt_fail(RT_EUSAGE, "--predictor %s: is named twice; name it once", names[i]);
    for (size_t i = 0; i < count; i++) {
        out[i] = (struct rt_candidate){0};
        int status = rt_predictor_open(names[i], &out[i].predictor);
        if (status != RT_OK) {
            rt_candidates_release(out, i);
            return status;
        }
        out[i].name = rt_strdup(names[i]);
    }
    label_candidates(out, count);
    return RT_OK;
}

void rt_candidates_release(struct rt_candidate *candidates, size_t count)
{
    for (size_t i = 0; i < count; i++) {
        rt_predictor_release(&candidates[i].predictor);
        free(candidates[i].name);
        free(candidates[i].label);
        candidates[i] = (struct rt_candidate){0};
    }
}

const struct rt_candidate *rt_candidates_reference(const struct rt_candidate *candidates, size_t count)
{
    for (size_t i = 0; i < count; i++)
        if (candidates[i].predictor.net_count > 0)
            return &candidates[i];
    return NULL;
}

static bool held_out_of(const struct rt_candidate *candidate, const char *device, enum rt_op_id op,
                        enum rt_dtype dtype)
{
    return candidate != NULL && (!rt_predictor_fitted_to(&candidate->predictor, device, op, dtype) ||
                                 rt_predictor_holds_out(&candidate->predictor, device, op));
}

/* Was a predictor fitted to all that there is of the device, what is marked for testing too? */
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
static bool *list_fitted(const struct rt_evaluation *evaluation)
{
    const struct rt_dataset *dataset = evaluation->dataset;
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

static bool is_fitted(const struct rt_evaluation *evaluation, const struct rt_sample *sample)
{
    size_t row = (size_t)sample->device * RT_OP_COUNT + sample->call.op;
    return evaluation->fitted != NULL && evaluation->fitted[row * RT_DTYPE_COUNT + sample->call.dtype];
}

static bool is_calibrated_to(const struct rt_evaluation *evaluation, const struct rt_sample *sample)
{
    for (size_t c = 0; c < evaluation->candidate_count; c++)
        if (rt_predictor_calibrated_to_kernel(&evaluation->candidates[c].predictor, evaluation->dataset,
                                              sample))
            return true;
    return false;
}

/* --- choosing and forecasting samples --- */

/* The samples of one op on one device: [first, first + count) of the run's arrays. */
struct group {
    enum rt_op_id op;
    int32_t device;
    size_t first, count, synthetic;
    bool held_out[RT_MAX_CANDIDATES];
    bool held_out_of_reference;
};

/* Everything between choosing samples and having the results. */
struct run {
    struct rt_evaluation *evaluation;
    uint64_t *picked; /* group key << 32 | sample, sorted, so a group's samples lie side by side */
    size_t picked_count;
    const struct rt_sample **sample;     /* those that were forecast, group after group */
    double *measured;                    /* of each, us */
    double *forecast[RT_MAX_CANDIDATES]; /* of each, us */
    double *half[RT_MAX_CANDIDATES];     /* of each: half-width of the interval in ln, NaN: none */
    struct group *groups;
    size_t group_count;
    double *pool_measured, *pool_forecast, *pool_half; /* a pool's samples side by side */
};

/* RT_LEFT_COUNT for a sample to be forecast, else why it is not. */
static enum rt_left_out choose(const struct rt_evaluation *evaluation, const struct rt_sample *sample)
{
    const struct rt_evaluate_options *options = &evaluation->options;
    if ((options->devices != NULL && !options->devices[sample->device]) ||
        (options->ops != NULL && !options->ops[sample->call.op]) ||
        (options->dtypes != NULL && !options->dtypes[sample->call.dtype]))
        return RT_LEFT_NOT_ASKED;
    if (options->part != RT_PART_ANY && (int)rt_split_of(&evaluation->split, sample) != options->part)
        return RT_LEFT_OTHER_SPLIT;
    if (options->part == RT_PART_TEST && is_fitted(evaluation, sample))
        return RT_LEFT_FITTED;
    if (sample->flags & RT_FLAG_FAILED)
        return RT_LEFT_FAILED;
    if (!(isfinite(sample->latency_us) && sample->latency_us > 0))
        return RT_LEFT_NO_LATENCY;
    return is_calibrated_to(evaluation, sample) ? RT_LEFT_CALIBRATED : RT_LEFT_COUNT;
}

static int by_key(const void *a, const void *b)
{
    uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;
    return (x > y) - (x < y);
}

static void pick_samples(struct run *run)
{
    struct rt_evaluation *evaluation = run->evaluation;
    const struct rt_dataset *dataset = evaluation->dataset;
    run->picked = rt_malloc(dataset->sample_count * sizeof *run->picked);
    for (size_t i = 0; i < dataset->sample_count; i++) {
        const struct rt_sample *sample = &dataset->samples[i];
        enum rt_left_out reason = choose(evaluation, sample);
        if (reason != RT_LEFT_COUNT) {
            evaluation->left_out[reason][sample->call.op]++;
            continue;
        }
        uint64_t key = sample->call.op * (uint64_t)dataset->device_count + (uint64_t)sample->device;
        run->picked[run->picked_count++] = key << 32 | i;
    }
    qsort(run->picked, run->picked_count, sizeof *run->picked, by_key);
}

enum { BATCH = 4096 }; /* kernels forecast at once, between two looks at the progress */

struct batch {
    struct rt_query query[BATCH];
    const struct rt_sample *sample[BATCH];
    double forecast[RT_MAX_CANDIDATES][BATCH];
    uint8_t skip[RT_MAX_CANDIDATES][BATCH];
};

/* Why row `i` can't be compared, by the first candidate that has no forecast; RT_LEFT_COUNT where all have.
 */
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

/* Moves what all candidates forecast to the end of the run's arrays. */
static void keep_batch(struct run *run, struct group *group, const struct batch *batch, size_t count)
{
    struct rt_evaluation *evaluation = run->evaluation;
    const struct rt_device *device = &evaluation->dataset->devices[group->device];
    for (size_t i = 0; i < count; i++) {
        enum rt_left_out reason = missing(batch, evaluation->candidate_count, i);
        if (reason != RT_LEFT_COUNT) {
            evaluation->left_out[reason][group->op]++;
            continue;
        }
        size_t at = group->first + group->count++;
        uint32_t flags = batch->sample[i]->flags;
        run->sample[at] = batch->sample[i];
        run->measured[at] = batch->sample[i]->latency_us;
        for (size_t c = 0; c < evaluation->candidate_count; c++) {
            run->forecast[c][at] = batch->forecast[c][i];
            run->half[c][at] = rt_predictor_interval(&evaluation->candidates[c].predictor, device,
                                                     &batch->query[i], RT_EVALUATE_LEVEL);
        }
        group->synthetic += (flags & RT_FLAG_SYNTHETIC) != 0;
        evaluation->dtypes[batch->sample[i]->call.dtype]++;
        evaluation->unstable += (flags & RT_FLAG_UNSTABLE) != 0;
        evaluation->throttled += (flags & RT_FLAG_THROTTLED) != 0;
    }
}

/* Forecasts picked[from..to), all of one op on one device. */
static void forecast_group(struct run *run, struct batch *batch, size_t from, size_t to,
                           struct rt_progress *progress)
{
    struct rt_evaluation *evaluation = run->evaluation;
    const struct rt_dataset *dataset = evaluation->dataset;
    const struct rt_sample *some = &dataset->samples[(uint32_t)run->picked[from]];
    const struct rt_device *device = &dataset->devices[some->device];
    struct group group = {.op = some->call.op, .device = some->device, .first = evaluation->evaluated};
    for (size_t done = from; done < to;) {
        size_t count = to - done < BATCH ? to - done : BATCH;
        for (size_t i = 0; i < count; i++) {
            batch->sample[i] = &dataset->samples[(uint32_t)run->picked[done + i]];
            rt_query_of_sample(batch->sample[i], evaluation->options.measured_tiles, &batch->query[i]);
        }
        for (size_t c = 0; c < evaluation->candidate_count; c++)
            rt_predictor_forecast(&evaluation->candidates[c].predictor, device, batch->query, count,
                                  evaluation->options.pool, batch->forecast[c], batch->skip[c]);
        keep_batch(run, &group, batch, count);
        done += count;
        rt_progress_update(progress, (double)done, "%s on %s", rt_ops[group.op].name, device->name);
    }
    if (group.count == 0)
        return;
    run->groups = rt_realloc(run->groups, run->group_count + 1, sizeof group);
    run->groups[run->group_count++] = group;
    evaluation->evaluated += group.count;
    evaluation->synthetic += group.synthetic;
}

static void forecast_picked(struct run *run)
{
    struct rt_evaluation *evaluation = run->evaluation;
    struct batch *batch = rt_malloc(sizeof *batch);
    struct rt_progress progress;
    run->sample = rt_malloc(run->picked_count * sizeof *run->sample);
    run->measured = rt_malloc(run->picked_count * sizeof *run->measured);
    for (size_t c = 0; c < evaluation->candidate_count; c++) {
        run->forecast[c] = rt_malloc(run->picked_count * sizeof *run->forecast[c]);
        run->half[c] = rt_malloc(run->picked_count * sizeof *run->half[c]);
    }
    rt_progress_start(&progress, "evaluate", (double)run->picked_count, evaluation->options.quiet);
    for (size_t from = 0, to; from < run->picked_count; from = to) {
        for (to = from + 1; to < run->picked_count && run->picked[to] >> 32 == run->picked[from] >> 32; to++)
            ;
        forecast_group(run, batch, from, to, &progress);
    }
    rt_progress_end(&progress);
    free(batch);
}

/* --- rows, pools and the worst --- */

/* In all dtypes that it has. */
static bool group_held_out(const struct run *run, const struct group *group,
                           const struct rt_candidate *candidate, const char *device)
{
    bool dtype[RT_DTYPE_COUNT] = {false}, held_out = true;
    for (size_t i = group->first; i < group->first + group->count; i++)
        dtype[run->sample[i]->call.dtype] = true;
    for (int d = 0; d < RT_DTYPE_COUNT; d++)
        held_out &= !dtype[d] || held_out_of(candidate, device, group->op, (enum rt_dtype)d);
    return held_out;
}

static void mark_held_out(struct run *run)
{
    const struct rt_evaluation *evaluation = run->evaluation;
    const struct rt_candidate *reference =
        rt_candidates_reference(evaluation->candidates, evaluation->candidate_count);
    for (size_t g = 0; g < run->group_count; g++) {
        struct group *group = &run->groups[g];
        const char *device = evaluation->dataset->devices[group->device].name;
        group->held_out_of_reference = group_held_out(run, group, reference, device);
        for (size_t c = 0; c < evaluation->candidate_count; c++) {
            const struct rt_candidate *candidate = &evaluation->candidates[c];
            bool fitted = candidate->predictor.net_count > 0;
            group->held_out[c] = group_held_out(run, group, fitted ? candidate : reference, device);
        }
    }
}

static void add_rows(struct run *run)
{
    struct rt_evaluation *evaluation = run->evaluation;
    evaluation->rows = rt_calloc(run->group_count, sizeof *evaluation->rows);
    for (size_t g = 0; g < run->group_count; g++) {
        const struct group *group = &run->groups[g];
        struct rt_evaluation_row *row = &evaluation->rows[evaluation->row_count++];
        snprintf(row->op, sizeof row->op, "%s", rt_ops[group->op].name);
        row->device = evaluation->dataset->devices[group->device].name;
        row->synthetic = group->synthetic;
        memcpy(row->held_out, group->held_out, sizeof row->held_out);
        for (size_t c = 0; c < evaluation->candidate_count; c++) {
            rt_metrics_of(run->measured + group->first, run->forecast[c] + group->first, group->count,
                          &row->metrics[c]);
            rt_interval_metrics_of(run->measured + group->first, run->forecast[c] + group->first,
                                   run->half[c] + group->first, group->count, &row->intervals[c]);
        }
    }
}

/* Which groups a pooled row gathers: those of an op or of a family, -1 for any. */
struct pool {
    int op, family;
    bool held_out_only;
};

static bool in_pool(const struct pool *pool, const struct group *group)
{
    return (pool->op < 0 || (int)group->op == pool->op) &&
           (pool->family < 0 || (int)rt_ops[group->op].family == pool->family) &&
           (!pool->held_out_only || group->held_out_of_reference);
}

static size_t pool_samples(struct run *run, const struct pool *pool, const double *from, double *to)
{
    size_t count = 0;
    for (size_t g = 0; g < run->group_count; g++) {
        const struct group *group = &run->groups[g];
        if (!in_pool(pool, group))
            continue;
        memcpy(to + count, from + group->first, group->count * sizeof *to);
        count += group->count;
    }
    return count;
}

/* Appends the pooled row, unless nothing is in the pool. */
static void add_pool(struct run *run, const char *op, const struct pool *pool)
{
    struct rt_evaluation *evaluation = run->evaluation;
    size_t count = pool_samples(run, pool, run->measured, run->pool_measured);
    if (count == 0)
        return;
    evaluation->pooled =
        rt_realloc(evaluation->pooled, evaluation->pooled_count + 1, sizeof *evaluation->pooled);
    struct rt_evaluation_row *row = &evaluation->pooled[evaluation->pooled_count++];
    *row = (struct rt_evaluation_row){.device = pool->held_out_only ? "held out" : "all"};
    snprintf(row->op, sizeof row->op, "%s", op);
    for (size_t c = 0; c < evaluation->candidate_count; c++) {
        pool_samples(run, pool, run->forecast[c], run->pool_forecast);
        pool_samples(run, pool, run->half[c], run->pool_half);
        rt_metrics_of(run->pool_measured, run->pool_forecast, count, &row->metrics[c]);
        rt_interval_metrics_of(run->pool_measured, run->pool_forecast, run->pool_half, count,
                               &row->intervals[c]);
        row->held_out[c] = true;
    }
    for (size_t g = 0; g < run->group_count; g++) {
        if (!in_pool(pool, &run->groups[g]))
            continue;
        row->synthetic += run->groups[g].synthetic;
        for (size_t c = 0; c < evaluation->candidate_count; c++)
            row->held_out[c] &= run->groups[g].held_out[c];
    }
}

/* Does the pool gather more than one op? */
static bool several_ops(const struct run *run, const struct pool *pool)
{
    int first = -1;
    for (size_t g = 0; g < run->group_count; g++) {
        if (!in_pool(pool, &run->groups[g]))
            continue;
        if (first >= 0 && (int)run->groups[g].op != first)
            return true;
        first = run->groups[g].op;
    }
    return false;
}

static void add_pools(struct run *run)
{
    char label[64];
    run->pool_measured = rt_malloc(run->evaluation->evaluated * sizeof *run->pool_measured);
    run->pool_forecast = rt_malloc(run->evaluation->evaluated * sizeof *run->pool_forecast);
    run->pool_half = rt_malloc(run->evaluation->evaluated * sizeof *run->pool_half);
    for (int held_out_only = 0; held_out_only < 2; held_out_only++) {
        for (int op = 0; op < RT_OP_COUNT; op++)
            add_pool(run, rt_ops[op].name, &(struct pool){op, -1, held_out_only});
        for (int family = 0; family < RT_FAMILY_COUNT; family++) {
            struct pool pool = {-1, family, held_out_only};
            snprintf(label, sizeof label, "all %s", rt_families[family].name);
            if (several_ops(run, &pool))
                add_pool(run, label, &pool);
        }
        add_pool(run, "all", &(struct pool){-1, -1, held_out_only});
    }
}

static void find_worst(struct run *run)
{
    struct rt_evaluation *evaluation = run->evaluation;
    struct rt_evaluation_worst *worst = evaluation->worst;
    for (size_t i = 0; i < evaluation->evaluated; i++) {
        double error = rt_error_percent(run->measured[i], run->forecast[0][i]);
        size_t at = evaluation->worst_count;
        if (at == RT_WORST_KERNELS && !(fabs(error) > fabs(worst[at - 1].error)))
            continue;
        if (at < RT_WORST_KERNELS)
            evaluation->worst_count++;
        else
            at--;
        for (; at > 0 && fabs(error) > fabs(worst[at - 1].error); at--)
            worst[at] = worst[at - 1];
        worst[at] = (struct rt_evaluation_worst){run->sample[i], run->forecast[0][i], error};
    }
}

size_t rt_evaluation_left_out(const struct rt_evaluation *evaluation, enum rt_left_out reason)
{
    size_t sum = 0;
    for (int op = 0; op < RT_OP_COUNT; op++)
        sum += evaluation->left_out[reason][op];
    return sum;
}

/* The reason to tell where nothing is left: samples that got furthest count, so a wrong split is not told
 * where the split has samples, but none can be forecast. */
static enum rt_left_out telling_reason(const struct rt_evaluation *evaluation)
{
    enum rt_left_out most = RT_LEFT_NOT_ASKED;
    for (int r = RT_LEFT_OTHER_SPLIT; r < RT_LEFT_COUNT; r++) {
        size_t count = rt_evaluation_left_out(evaluation, r);
        bool further = most <= RT_LEFT_OTHER_SPLIT; /* those two are checked first, in this order */
        if (count > 0 && (further || count > rt_evaluation_left_out(evaluation, most)))
            most = r;
    }
    return most;
}

static int refuse_empty(const struct rt_evaluation *evaluation)
{
    size_t samples = evaluation->dataset->sample_count;
    if (samples == 0)
        return rt_fail(RT_EFORMAT, "nothing to evaluate: the data holds no samples of kernels");
    enum rt_left_out reason = telling_reason(evaluation);
    return rt_fail(RT_EFORMAT, "nothing to evaluate (split %s): of %zu samples %zu are %s; %s",
                   rt_part_name(evaluation->options.part), samples,
                   rt_evaluation_left_out(evaluation, reason), rt_left_outs[reason].words,
                   rt_left_outs[reason].remedy);
}

static void run_release(struct run *run)
{
    free(run->picked);
    free(run->sample);
    free(run->measured);
    for (size_t c = 0; c < RT_MAX_CANDIDATES; c++) {
        free(run->forecast[c]);
        free(run->half[c]);
    }
    free(run->groups);
    free(run->pool_measured);
    free(run->pool_forecast);
    free(run->pool_half);
}

int rt_evaluate(const struct rt_dataset *dataset, const struct rt_candidate *candidates, size_t count,
                const struct rt_evaluate_options *options, struct rt_evaluation *out)
{
    struct rt_evaluation evaluation = {.dataset = dataset,
                                       .candidates = candidates,
                                       .candidate_count = count,
                                       .options = *options,
                                       .split = RT_SPLIT_DEFAULT};
    const struct rt_candidate *reference = rt_candidates_reference(candidates, count);
    if (reference != NULL)
        evaluation.split = reference->predictor.split;
    evaluation.fitted = list_fitted(&evaluation);
    struct run run = {.evaluation = &evaluation};
    pick_samples(&run);
    forecast_picked(&run);
    int status = RT_OK;
    if (evaluation.evaluated == 0) {
        status = refuse_empty(&evaluation);
        free(evaluation.fitted);
    } else {
        mark_held_out(&run);
        add_rows(&run);
        add_pools(&run);
        find_worst(&run);
        *out = evaluation;
    }
    run_release(&run);
    return status;
}

void rt_evaluation_release(struct rt_evaluation *evaluation)
{
    free(evaluation->rows);
    free(evaluation->fitted);
    free(evaluation->pooled);
    *evaluation = (struct rt_evaluation){0};
}
