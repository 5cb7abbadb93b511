/* Candidates, columns, groups, pools and reasons of an evaluation. See evaluation.h. */
#include "predict/evaluate/evaluation.h"
#include "base/array.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* ---- candidates ---- */

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

/* A kind names candidates where it is unique, else the file's name, else its whole path. */
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
                return rt_fail(RT_EUSAGE, "{predictor} %s: is named twice; name it once", names[i]);
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
        if (rt_predictor_is_fitted(&candidates[i].predictor))
            return &candidates[i];
    return NULL;
}

const struct rt_candidate *rt_candidates_fitted(const struct rt_candidate *candidates, size_t count, size_t c)
{
    return rt_predictor_is_fitted(&candidates[c].predictor) ? &candidates[c]
                                                            : rt_candidates_reference(candidates, count);
}

/* ---- what they are judged by ---- */

const struct rt_left_out_row rt_left_outs[RT_LEFT_COUNT] = {
    [RT_LEFT_NOT_ASKED] = {"not_asked", "of another GPU, op, dtype or model than asked for",
                           "`rooftile dataset info` lists what the data has"},
    [RT_LEFT_OTHER_SPLIT] = {"other_split", "not in the chosen split", "choose another split, or all"},
    [RT_LEFT_FITTED] = {"fitted", "fitted to by a predictor that kept no test part",
                        "hold the GPU out, or train with a test part"},
    [RT_LEFT_FAILED] = {"failed", "marked as failed when they were measured", "collect them again"},
    [RT_LEFT_NO_LATENCY] = {"no_latency", "without a latency above 0", "collect them again"},
    [RT_LEFT_NO_ENERGY] = {"no_energy", "without a measured energy", "collect them with their energy"},
    [RT_LEFT_NO_POWER] = {"no_power", "of a device without a board power in its description",
                          "add power_w to the description of the device"},
    [RT_LEFT_IMPOSSIBLE] = {"impossible", "faster than the roofline of their device allows",
                            "`rooftile dataset validate` names the worst"},
    [RT_LEFT_NO_WHOLE] = {"no_whole", "on a whole GPU, or without the same run on the whole",
                          "measure the run on the board, too"},
    [RT_LEFT_CALIBRATED] = {"calibrated", "used to calibrate a predictor",
                            "judge it by others: measure more, or calibrate with fewer kernels or runs"},
    [RT_LEFT_NO_FAMILY] = {"no_family", "of a family that a predictor has no network for",
                           "train one with samples of that family"},
    [RT_LEFT_NO_PEAK] = {"no_peak", "of a dtype that the device's description has no peak for",
                         "complete the description of the device"},
    [RT_LEFT_NO_TILE] = {"no_tile", "without a tile: a predictor has no measured tile of a similar kernel",
                         "train one with samples whose tiles are known"},
    [RT_LEFT_NO_ORIGIN] = {"no_origin", "without a similar kernel that was measured on another device",
                           "train wave-scaling with the data of another GPU"},
    [RT_LEFT_NO_NUMBER] = {"no_number", "whose forecast is not a positive number",
                           "train the predictor again"},
    [RT_LEFT_NO_FORECAST] = {"no_forecast", "without a forecast", NULL},
};

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

int rt_part_read(const char *option, const char *name, void *part)
{
    (void)option;
    for (size_t i = 0; i < RT_COUNT(parts); i++)
        if (strcmp(parts[i].name, name) == 0) {
            *(int *)part = parts[i].part;
            return RT_OK;
        }
    return rt_fail(RT_EUSAGE, "{split} %s: no such split; choose test, train, validation or all", name);
}

size_t rt_evaluation_add_column(struct rt_evaluation *evaluation, enum rt_scored_kind kind, char *name,
                                char *key, size_t capacity)
{
    struct rt_scored_column *column = &evaluation->column[evaluation->column_count];
    *column = (struct rt_scored_column){
        .kind = kind, .name = name, .key = key, .value = rt_malloc((capacity + 1) * sizeof *column->value)};
    if (kind == RT_SCORED_CANDIDATE) /* has all rows */
        column->ln_half_width = rt_malloc((capacity + 1) * sizeof *column->ln_half_width);
    for (size_t i = 0; kind != RT_SCORED_CANDIDATE && i < capacity; i++)
        column->value[i] = NAN;
    return evaluation->column_count++;
}

/* From time follows energy (kernel_energy.h). */
static bool forecasts(const struct rt_predictor *predictor, enum rt_target_id target)
{
    return predictor->target == target ||
           (target == RT_TARGET_ENERGY && predictor->target == RT_TARGET_LATENCY);
}

/* All candidates forecast the target that is judged. */
static int check_targets(const struct rt_candidate *candidates, size_t count, enum rt_target_id target)
{
    for (size_t c = 0; c < count; c++)
        if (!forecasts(&candidates[c].predictor, target))
            return rt_fail(RT_EUSAGE,
                           "%s forecasts %s where %s is judged; name predictors of one target ({no_baseline} "
                           "leaves out the roofline)",
                           candidates[c].name, rt_targets[candidates[c].predictor.target].name,
                           rt_targets[target].name);
    return RT_OK;
}

int rt_evaluation_init(struct rt_evaluation *evaluation, const struct rt_candidate *candidates, size_t count,
                       const struct rt_evaluate_options *options, enum rt_target_id target, size_t capacity)
{
    int status = check_targets(candidates, count, target);
    if (status != RT_OK)
        return status;
    *evaluation =
        (struct rt_evaluation){.candidates = candidates,
                               .candidate_count = count,
                               .options = *options,
                               .target = &rt_targets[target],
                               .measured = rt_malloc((capacity + 1) * sizeof *evaluation->measured)};
    for (size_t c = 0; c < count; c++)
        rt_evaluation_add_column(evaluation, RT_SCORED_CANDIDATE, rt_strdup(candidates[c].label),
                                 rt_strdup(candidates[c].label), capacity);
    return RT_OK;
}

void rt_evaluation_add_group(struct rt_evaluation *evaluation, const struct rt_scored_group *group)
{
    RT_GROW(evaluation->groups, evaluation->group_count, 1, evaluation->group_capacity);
    evaluation->groups[evaluation->group_count++] = *group;
    evaluation->synthetic += group->synthetic;
}

void rt_evaluation_release(struct rt_evaluation *evaluation)
{
    for (size_t c = 0; c < evaluation->column_count; c++) {
        free(evaluation->column[c].name);
        free(evaluation->column[c].key);
        free(evaluation->column[c].value);
        free(evaluation->column[c].ln_half_width);
    }
    for (size_t r = 0; r < evaluation->refused_count; r++)
        free(evaluation->refused[r].reason);
    free(evaluation->refused);
    free(evaluation->measured);
    free(evaluation->sample);
    free(evaluation->run);
    free(evaluation->groups);
    rt_scored_pools_release(&evaluation->devices);
    rt_scored_pools_release(&evaluation->models);
    rt_scored_pools_release(&evaluation->pooled);
    for (size_t b = 0; b < evaluation->by_count; b++)
        rt_scored_pools_release(&evaluation->by[b]);
    free(evaluation->disagreements);
    rt_scored_items_release(&evaluation->memory);
    rt_scored_items_release(&evaluation->energy);
    rt_scored_items_release(&evaluation->points);
    for (size_t c = 0; c < evaluation->curve_count; c++)
        free(evaluation->curves[c].limit_w);
    free(evaluation->curves);
    *evaluation = (struct rt_evaluation){0};
}

size_t rt_evaluation_left_out(const struct rt_evaluation *evaluation, enum rt_left_out reason)
{
    size_t sum = 0;
    for (int op = 0; op <= RT_OP_COUNT; op++)
        sum += evaluation->left_out[reason][op];
    return sum;
}

double rt_evaluation_error(const struct rt_evaluation *evaluation, size_t row, size_t column)
{
    return rt_error_percent(evaluation->measured[row], evaluation->column[column].value[row]);
}

/* The reason to name where there are no rows: the most frequent one. "Not asked for" and "not in the split"
 * count only where no sample was left out for another reason. */
static enum rt_left_out main_reason(const struct rt_evaluation *evaluation)
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

int rt_evaluation_refuse_empty(const struct rt_evaluation *evaluation)
{
    bool runs = evaluation->workloads;
    enum rt_left_out reason = main_reason(evaluation);
    if (evaluation->total == 0)
        return rt_fail(RT_EFORMAT,
                       runs ? "there are no measured workloads (whole models); `rooftile dataset import "
                              "--format neusight` reads some; leave out {workloads} to evaluate kernels"
                            : "nothing to evaluate: the data holds no samples of kernels");
    return rt_fail(
        RT_EFORMAT, "nothing to evaluate (%s%s): of %zu %s %zu are %s; %s", runs ? "whole models" : "split ",
        runs ? "" : rt_part_name(evaluation->options.part), evaluation->total, runs ? "workloads" : "samples",
        rt_evaluation_left_out(evaluation, reason), rt_left_outs[reason].words,
        reason == RT_LEFT_NO_FORECAST ? evaluation->refused[0].reason : rt_left_outs[reason].remedy);
}

bool rt_evaluation_asks(const struct rt_evaluate_options *options, const struct rt_dataset *dataset,
                        const struct rt_workload *workload)
{
    bool model = options->models == NULL || options->models->count == 0 ||
                 rt_names_match(options->models, rt_workload_name(dataset, workload).model);
    return model && (options->devices == NULL || options->devices[workload->device]);
}

/* ---- pools ---- */

/* The groups of a pool, and its rows of one column side by side. */
struct builder {
    const struct rt_evaluation *evaluation;
    const struct rt_scored_group **groups;
    size_t group_count, row_count;
    double *measured, *time, *ln_half_width; /* (row_count) */
};

static bool meets(const struct rt_scored_group *group, struct rt_scored_where where)
{
    return group->key[where.key] == where.value;
}

static void gather_groups(struct builder *builder, struct rt_scored_where first,
                          struct rt_scored_where second)
{
    const struct rt_evaluation *evaluation = builder->evaluation;
    builder->groups = rt_malloc((evaluation->group_count + 1) * sizeof *builder->groups);
    for (size_t g = 0; g < evaluation->group_count; g++) {
        const struct rt_scored_group *group = &evaluation->groups[g];
        if (!meets(group, first) || !meets(group, second))
            continue;
        builder->groups[builder->group_count++] = group;
        builder->row_count += group->count;
    }
}

/* The times of column `c` in the rows that column `having` has, and their measured times. Returns how many.
 */
static size_t gather_times(struct builder *builder, size_t c, size_t having)
{
    const struct rt_evaluation *evaluation = builder->evaluation;
    const double *has = evaluation->column[having].value, *time = evaluation->column[c].value,
                 *ln_half_width = evaluation->column[c].ln_half_width;
    size_t count = 0;
    for (size_t g = 0; g < builder->group_count; g++) {
        size_t end = builder->groups[g]->first + builder->groups[g]->count;
        for (size_t r = builder->groups[g]->first; r < end; r++) {
            if (isnan(has[r]))
                continue;
            builder->measured[count] = evaluation->measured[r];
            builder->time[count] = time[r];
            builder->ln_half_width[count++] = ln_half_width != NULL ? ln_half_width[r] : NAN;
        }
    }
    return count;
}

static void sum_errors(struct builder *builder, struct rt_scored_pool *pool)
{
    struct rt_metrics first;
    for (size_t c = 0; c < builder->evaluation->column_count; c++) {
        size_t count = gather_times(builder, c, c);
        rt_metrics_of(builder->measured, builder->time, count, &pool->metrics[c]);
        if (c < builder->evaluation->candidate_count)
            rt_interval_metrics_of(builder->measured, builder->time, builder->ln_half_width, count,
                                   &pool->intervals[c]);
        pool->first_mape[c] = pool->metrics[0].mape;
        if (count == builder->row_count)
            continue;
        count = gather_times(builder, 0, c);
        rt_metrics_of(builder->measured, builder->time, count, &first);
        pool->first_mape[c] = first.mape;
    }
}

static void sum_groups(const struct builder *builder, struct rt_scored_pool *pool)
{
    memset(pool->held_out, true, sizeof pool->held_out);
    pool->count = builder->row_count;
    for (size_t g = 0; g < builder->group_count; g++) {
        pool->synthetic += builder->groups[g]->synthetic;
        for (size_t c = 0; c < RT_MAX_CANDIDATES; c++)
            pool->held_out[c] &= builder->groups[g]->held_out[c];
    }
}

void rt_scored_pool(const struct rt_evaluation *evaluation, struct rt_scored_pools *to, const char *scope,
                    const char *what, struct rt_scored_where first, struct rt_scored_where second)
{
    struct builder builder = {.evaluation = evaluation};
    gather_groups(&builder, first, second);
    if (builder.row_count > 0) {
        builder.measured = rt_malloc(3 * builder.row_count * sizeof *builder.measured);
        builder.time = builder.measured + builder.row_count;
        builder.ln_half_width = builder.time + builder.row_count;
        RT_GROW(to->row, to->count, 1, to->capacity);
        struct rt_scored_pool *pool = &to->row[to->count++];
        *pool = (struct rt_scored_pool){.scope = rt_strdup(scope), .what = rt_strdup(what)};
        sum_groups(&builder, pool);
        sum_errors(&builder, pool);
        free(builder.measured);
    }
    free(builder.groups);
}

void rt_scored_pools_release(struct rt_scored_pools *pools)
{
    for (size_t p = 0; p < pools->count; p++) {
        free(pools->row[p].scope);
        free(pools->row[p].what);
    }
    free(pools->row);
}

bool rt_scored_several(const struct rt_evaluation *evaluation, enum rt_scored_key key,
                       struct rt_scored_where first, struct rt_scored_where second)
{
    const struct rt_scored_group *found = NULL;
    for (size_t g = 0; g < evaluation->group_count; g++) {
        const struct rt_scored_group *group = &evaluation->groups[g];
        if (!meets(group, first) || !meets(group, second))
            continue;
        if (found != NULL && found->key[key] != group->key[key])
            return true;
        found = group;
    }
    return false;
}
