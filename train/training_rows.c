/* Gathering training rows. See training_rows.h. */
#include "train/training_rows.h"
#include "base/status.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

void rt_training_rows_release(struct rt_training_rows *rows)
{
    free(rows->features);
    free(rows->bounds);
    free(rows->target);
    free(rows->device);
    free(rows->dtype);
    free(rows->split);
    free(rows->corpus);
    free(rows->weight);
    *rows = (struct rt_training_rows){0};
}

static void append(struct rt_training_rows *rows, const struct rt_family_net *net, const rt_real *x,
                   const struct rt_bound *bound, const struct rt_sample *sample, int32_t corpus)
{
    int features = net->feature_count;
    if ((rows->count & (rows->count - 1)) == 0) { /* capacity is the next power of two */
        size_t capacity = rows->count ? 2 * rows->count : 1;
        rows->features = rt_realloc(rows->features, capacity * (size_t)features, sizeof *rows->features);
        rows->bounds = rt_realloc(rows->bounds, capacity, sizeof *rows->bounds);
        rows->target = rt_realloc(rows->target, capacity, sizeof *rows->target);
        rows->device = rt_realloc(rows->device, capacity, sizeof *rows->device);
        rows->dtype = rt_realloc(rows->dtype, capacity, sizeof *rows->dtype);
        rows->split = rt_realloc(rows->split, capacity, sizeof *rows->split);
        rows->corpus = rt_realloc(rows->corpus, capacity, sizeof *rows->corpus);
    }
    for (int f = 0; f < features; f++)
        rows->features[rows->count * (size_t)features + (size_t)f] = x[f];
    rows->bounds[rows->count] = *bound;
    rows->device[rows->count] = sample->device;
    rows->dtype[rows->count] = sample->call.dtype;
    rows->split[rows->count] = sample->split;
    rows->corpus[rows->count] = corpus;
    rows->target[rows->count++] = rt_target_measured(&rt_targets[net->target], sample);
}

/* Or no link, for a collective. */
static bool lacks_peak(const struct rt_device *device, const struct rt_call *call)
{
    if (rt_families[rt_call_family(call)].link)
        return isnan(rt_link_bound_us(call, device));
    return isnan(rt_device_peak_flops(device, rt_call_family(call), (enum rt_dtype)call->dtype));
}

/* What is left out for the health of its session, NULL where nothing is. Forecasters without device effects
 * are fitted to throttled families as they were published. */
static size_t *unsound(const struct rt_training_data *data, size_t row, const struct rt_family_net *net,
                       struct rt_training_rows_left_out *left_out)
{
    switch ((enum rt_health_row)data->health->row[row]) {
    case RT_ROW_IMPOSSIBLE:
        return &left_out->impossible;
    case RT_ROW_STRAY:
        return &left_out->stray;
    case RT_ROW_FAMILY:
        return rt_family_net_has_effects(net) ? &left_out->throttled : NULL;
    case RT_ROW_SESSION:
        return &left_out->refused;
    case RT_ROW_REPEAT:
        return &left_out->repeats;
    default:
        return NULL;
    }
}

/* NULL: of use. */
static size_t *reason(const struct rt_training_data *data, size_t row, const struct rt_sample *sample,
                      const struct rt_family_net *net, bool test, struct rt_training_rows_left_out *left_out)
{
    const struct rt_device *device = &data->dataset->devices[sample->device];
    if (data->held_out_device[sample->device] || data->held_out_op[sample->call.op])
        return &left_out->held_out;
    if (!test && rt_split_of(data->split, sample) == RT_PART_TEST)
        return &left_out->test;
    if (isnan(rt_target_measured(&rt_targets[net->target], sample)))
        return &left_out->failed;
    if (net->policy == RT_TILE_NEAREST && net->forecaster == RT_FORECASTER_NETWORK && sample->tile[0] < 1)
        return &left_out->unknown_tile;
    if (lacks_peak(device, &sample->call))
        return &left_out->no_peak;
    return data->health != NULL ? unsound(data, row, net, left_out) : NULL;
}

bool rt_training_leaves_out(const struct rt_training_data *data, size_t row, const struct rt_sample *sample,
                            const struct rt_family_net *net, bool test,
                            struct rt_training_rows_left_out *left_out)
{
    size_t *count = reason(data, row, sample, net, test, left_out);
    if (count != NULL)
        (*count)++;
    return count != NULL;
}

/* For each group the number of the corpus that it names, -1 where it names none. */
static int32_t *corpora_of_groups(const struct rt_dataset *dataset)
{
    struct rt_strings names = {0};
    int32_t *corpus = rt_malloc((dataset->group_count + 1) * sizeof *corpus);
    for (size_t g = 0; g < dataset->group_count; g++) {
        const char *name = rt_dataset_attribute(dataset, (int32_t)g, "corpus");
        corpus[g] = name != NULL ? rt_strings_add(&names, name, strlen(name)) : -1;
    }
    rt_strings_release(&names);
    return corpus;
}

void rt_training_rows_gather(const struct rt_training_data *data, struct rt_family_net *net,
                             struct rt_training_rows *train, struct rt_training_rows *validation,
                             struct rt_training_rows_left_out *left_out)
{
    const struct rt_dataset *dataset = data->dataset;
    uint32_t *chosen = rt_malloc((dataset->samples.count + 1) * sizeof *chosen);
    size_t chosen_count = 0;
    int32_t *corpus = corpora_of_groups(dataset);
    *train = *validation = (struct rt_training_rows){0};
    *left_out = (struct rt_training_rows_left_out){0};
    for (size_t i = 0; i < dataset->samples.count; i++) {
        const struct rt_sample *sample = RT_SAMPLE(dataset, i);
        struct rt_query query;
        struct rt_bound bound;
        rt_real x[RT_MAX_FEATURES];
        if (!rt_net_serves(net, sample->call.op, sample->call.dtype) ||
            rt_training_leaves_out(data, i, sample, net, false, left_out))
            continue;
        rt_query_of_sample(sample, true, &query);
        enum rt_skip skip = rt_family_net_inputs(net, &query, &dataset->devices[sample->device], x, &bound);
        left_out->no_peak += skip == RT_SKIP_NO_PEAK;
        left_out->unknown_tile += skip == RT_SKIP_NO_TILE;
        if (skip != RT_SKIP_NONE)
            continue;
        append(rt_split_of(data->split, sample) == RT_PART_TRAIN ? train : validation, net, x, &bound, sample,
               sample->group >= 0 ? corpus[sample->group] : -1);
        chosen[chosen_count++] = (uint32_t)i;
    }
    if (net->policy == RT_TILE_NEAREST)
        rt_measured_tiles_build(&net->tiles, dataset, chosen, chosen_count);
    free(chosen);
    free(corpus);
}

static void move_row(struct rt_training_rows *rows, int features, size_t from, size_t to)
{
    memmove(rows->features + to * (size_t)features, rows->features + from * (size_t)features,
            (size_t)features * sizeof *rows->features);
    rows->bounds[to] = rows->bounds[from];
    rows->target[to] = rows->target[from];
    rows->device[to] = rows->device[from];
    rows->dtype[to] = rows->dtype[from];
    rows->split[to] = rows->split[from];
    rows->corpus[to] = rows->corpus[from];
}

void rt_training_rows_limit(struct rt_training_rows *rows, int features, size_t most,
                            struct rt_random *random)
{
    size_t devices = 0, kept = 0;
    for (size_t i = 0; i < rows->count; i++)
        devices = (size_t)rows->device[i] >= devices ? (size_t)rows->device[i] + 1 : devices;
    uint32_t *order = rt_malloc((rows->count + 1) * sizeof *order);
    bool *keep = rt_calloc(rows->count + 1, sizeof *keep);
    size_t(*taken)[RT_DTYPE_COUNT] = rt_calloc(devices + 1, sizeof *taken);
    for (size_t i = 0; i < rows->count; i++)
        order[i] = (uint32_t)i;
    rt_random_shuffle(random, order, rows->count);
    for (size_t i = 0; i < rows->count; i++)
        keep[order[i]] = taken[rows->device[order[i]]][rows->dtype[order[i]]]++ < most;
    for (size_t i = 0; i < rows->count; i++)
        if (keep[i])
            move_row(rows, features, i, kept++);
    rows->count = kept;
    free(order);
    free(keep);
    free(taken);
}

void rt_training_rows_weigh(struct rt_training_rows *rows, double small_us)
{
    double sum = 0;
    rows->weight = rt_malloc((rows->count + 1) * sizeof *rows->weight);
    for (size_t i = 0; i < rows->count; i++)
        sum += rows->weight[i] = 1 / (1 + exp(-log2(rows->bounds[i].bound_us / small_us)));
    for (size_t i = 0; i < rows->count; i++)
        rows->weight[i] = rows->weight[i] * (double)rows->count / sum + 0.1;
}

/* The range of a feature over the training rows, widened by `margin` of it on both sides: a network does not
 * extrapolate. */
static void set_clip(struct rt_family_net *net, const struct rt_training_rows *train, int f, double margin)
{
    double low = INFINITY, high = -INFINITY;
    for (size_t i = 0; i < train->count; i++) {
        double value = train->features[i * (size_t)net->feature_count + (size_t)f];
        low = fmin(low, value);
        high = fmax(high, value);
    }
    net->clip_low[f] = low - margin * (high - low);
    net->clip_high[f] = high + margin * (high - low);
}

static void scale_rows(const struct rt_family_net *net, struct rt_training_rows *rows)
{
    for (size_t i = 0; i < rows->count; i++)
        for (int f = 0; f < net->feature_count; f++) {
            rt_real *x = &rows->features[i * (size_t)net->feature_count + (size_t)f];
            *x = (rt_real)((*x - net->offset[f]) * net->scale[f]);
        }
}

void rt_training_rows_standardise(struct rt_family_net *net, struct rt_training_rows *train,
                                  struct rt_training_rows *validation, double clip_margin)
{
    for (int f = 0; f < net->feature_count; f++) {
        if (clip_margin >= 0)
            set_clip(net, train, f, clip_margin);
        double sum = 0, squares = 0, n = (double)train->count;
        for (size_t i = 0; i < train->count; i++)
            sum += train->features[i * (size_t)net->feature_count + (size_t)f];
        for (size_t i = 0; i < train->count; i++) {
            double apart = train->features[i * (size_t)net->feature_count + (size_t)f] - sum / n;
            squares += apart * apart;
        }
        double deviation = sqrt(squares / n);
        net->offset[f] = sum / n;
        net->scale[f] = deviation > 1e-12 ? 1 / deviation : 1; /* a constant feature stays 0 */
    }
    scale_rows(net, train);
    scale_rows(net, validation);
}
