/* Device effects in the steps of a network. See fit_network.h. */
#include "train/fit_network.h"
#include "base/sort.h"
#include "base/status.h"
#include "models/predictors/nn/step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum {
    PARTS = RT_EFFECT_PARTS,
    SMALL_BOUND_US = 30, /* of roofline: below, a kernel is small */
    SMALL_KERNELS = 20   /* fewer show no dispatch overhead */
};

static void list_devices(struct rt_effect_fit *fit, const struct rt_dataset *dataset,
                         const struct rt_training_rows *train)
{
    fit->slot = rt_malloc((dataset->device_count + 1) * sizeof *fit->slot);
    for (size_t d = 0; d < dataset->device_count; d++)
        fit->slot[d] = -1;
    for (size_t i = 0; i < train->count; i++)
        fit->slot[train->device[i]] = 0;
    fit->device = rt_calloc(dataset->device_count + 1, sizeof *fit->device);
    for (size_t d = 0; d < dataset->device_count; d++) {
        if (fit->slot[d] < 0)
            continue;
        rt_device_effect_init(&fit->device[fit->device_count], &dataset->devices[d]);
        fit->slot[d] = (int32_t)fit->device_count++;
    }
}

/* What the host takes of `small` kernels, by the one at position `at` in order of time, less what the
 * shortest compute. NaN where there are too few. */
static double dispatch_of(double *small_us, size_t small, size_t at)
{
    if (small < SMALL_KERNELS)
        return NAN;
    rt_sort_reals(small_us, small);
    double low = small_us[at < small ? at : small - 1];
    return fmax(0, fmax(low - 3, low / 2));
}

/* Of the rows of a device and corpus that the host dispatched one by one: their 1% quantile; where the bound
 * is the time, the 5% quantile of what small kernels take beyond it. `times` has room for all rows. */
static double session_dispatch(const struct rt_effect_fit *fit, const struct rt_training_rows *train,
                               int32_t slot, size_t corpus, double *times)
{
    bool bound_is_time = rt_families[fit->family].bound_is_time;
    size_t count = 0, small = 0;
    for (size_t i = 0; i < train->count; i++) {
        if (fit->slot[train->device[i]] != slot || (size_t)(train->corpus[i] + 1) != corpus ||
            train->bounds[i].queued)
            continue;
        count++;
        const struct rt_bound *bound = &train->bounds[i];
        if (bound->bound_us < SMALL_BOUND_US)
            times[small++] = train->target[i] - (bound_is_time ? bound->bound_us : bound->start_us);
    }
    return dispatch_of(times, small, bound_is_time ? small / 20 : count / 100);
}

/* Devices without small kernels get the median of the others; sessions without, that of their device. Where
 * no kernel shows it, as all were timed on the device, a kernel in a queue still waits for the one before to
 * end. */
static void fill_dispatch(struct rt_effect_fit *fit)
{
    double *known = rt_malloc((fit->device_count + 1) * sizeof *known);
    size_t count = 0;
    for (size_t d = 0; d < fit->device_count; d++)
        if (!isnan(fit->device[d].dispatch_us))
            known[count++] = fit->device[d].dispatch_us;
    double median = count > 0 ? rt_median(known, count) : RT_QUEUED_US;
    for (size_t d = 0; d < fit->device_count; d++) {
        struct rt_device_effect *device = &fit->device[d];
        device->dispatch_us = isnan(device->dispatch_us) ? median : device->dispatch_us;
        for (size_t c = 0; c < fit->corpora; c++)
            if (isnan(fit->dispatch_us[d * fit->corpora + c]))
                fit->dispatch_us[d * fit->corpora + c] = device->dispatch_us;
    }
    free(known);
}

static void count_rows(struct rt_effect_fit *fit, const struct rt_training_rows *train)
{
    for (size_t i = 0; i < train->count; i++) {
        struct rt_device_effect *device = &fit->device[fit->slot[train->device[i]]];
        device->kernels++;
        rt_device_effect_add_dtype(device, (enum rt_dtype)train->dtype[i]);
        fit->corpora =
            (size_t)(train->corpus[i] + 2) > fit->corpora ? (size_t)(train->corpus[i] + 2) : fit->corpora;
    }
}

static void set_dispatch(struct rt_effect_fit *fit, const struct rt_training_rows *train)
{
    double *times = rt_malloc((train->count + 1) * sizeof *times);
    fit->dispatch_us = rt_malloc((fit->device_count * fit->corpora + 1) * sizeof *fit->dispatch_us);
    for (size_t d = 0; d < fit->device_count; d++) {
        double *session = fit->dispatch_us + d * fit->corpora;
        fit->device[d].dispatch_us = NAN;
        for (size_t c = 0; c < fit->corpora; c++) {
            session[c] = session_dispatch(fit, train, (int32_t)d, c, times);
            fit->device[d].dispatch_us = fmax(fit->device[d].dispatch_us, session[c]); /* that is a number */
        }
    }
    fill_dispatch(fit);
    free(times);
}

void rt_effect_fit_init(struct rt_effect_fit *fit, enum rt_family family, const struct rt_dataset *dataset,
                        const struct rt_training_rows *train, double ridge, size_t batch)
{
    *fit = (struct rt_effect_fit){
        .family = family, .ridge = ridge, .blocks = (batch + RT_TRAIN_STEP_BLOCK - 1) / RT_TRAIN_STEP_BLOCK};
    list_devices(fit, dataset, train);
    count_rows(fit, train);
    set_dispatch(fit, train);
    size_t count = fit->device_count * PARTS;
    fit->values = rt_calloc(count + 1, sizeof *fit->values);
    fit->best = rt_calloc(count + 1, sizeof *fit->best);
    fit->gradient = rt_calloc(fit->blocks * count + 1, sizeof *fit->gradient);
    struct rt_adamw adamw = rt_adamw_default;
    adamw.weight_decay = 0;
    rt_optimizer_init(&fit->optimizer, &adamw, count);
}

void rt_effect_fit_release(struct rt_effect_fit *fit)
{
    free(fit->slot);
    free(fit->device);
    free(fit->dispatch_us);
    free(fit->values);
    free(fit->best);
    free(fit->gradient);
    rt_optimizer_release(&fit->optimizer);
    *fit = (struct rt_effect_fit){0};
}

struct rt_bound rt_effect_fit_bound(const struct rt_effect_fit *fit, const struct rt_training_rows *rows,
                                    size_t row)
{
    struct rt_bound bound = rows->bounds[row];
    if (fit->device_count == 0)
        return bound;
    int32_t slot = fit->slot[rows->device[row]];
    if (slot < 0)
        return bound; /* a device with validation rows only */
    struct rt_device_effect effect = fit->device[slot];
    for (int p = 0; p < PARTS; p++)
        effect.value[p] = fit->values[slot * PARTS + p];
    effect.dispatch_us = fit->dispatch_us[(size_t)slot * fit->corpora + (size_t)(rows->corpus[row] + 1)];
    rt_bound_set_effect(&bound, &effect);
    return bound;
}

void rt_effect_fit_add(struct rt_effect_fit *fit, size_t block, int32_t device, const struct rt_bound *bound,
                       double dshift)
{
    double *gradient = fit->gradient + (block * fit->device_count + (size_t)fit->slot[device]) * PARTS;
    gradient[RT_EFFECT_COMPUTE] += dshift * bound->compute_share;
    gradient[RT_EFFECT_MEMORY] += dshift * (1 - bound->compute_share);
    gradient[RT_EFFECT_DEPTH] += dshift * bound->depth_share;
    gradient[RT_EFFECT_NARROW] += dshift * bound->narrow_share;
}

static void centre(struct rt_effect_fit *fit)
{
    for (int p = 0; p < PARTS; p++) {
        double mean = 0;
        for (size_t d = 0; d < fit->device_count; d++)
            mean += fit->values[d * PARTS + (size_t)p] / (double)fit->device_count;
        for (size_t d = 0; d < fit->device_count; d++)
            fit->values[d * PARTS + (size_t)p] -= (rt_real)mean;
    }
}

void rt_effect_fit_step(struct rt_effect_fit *fit, double learning_rate)
{
    size_t count = fit->device_count * PARTS;
    rt_optimizer_begin(&fit->optimizer, learning_rate);
    for (size_t i = 0; i < count; i++) {
        double sum = 2 * fit->ridge * fit->values[i] / (double)count; /* of ridge x mean square */
        for (size_t b = 0; b < fit->blocks; b++)
            sum += fit->gradient[b * count + i];
        rt_real gradient = (rt_real)sum;
        rt_optimizer_update(&fit->optimizer, i, 1, &gradient, fit->values);
    }
    centre(fit);
    memset(fit->gradient, 0, fit->blocks * count * sizeof *fit->gradient);
}

void rt_effect_fit_keep_best(struct rt_effect_fit *fit)
{
    memcpy(fit->best, fit->values, fit->device_count * PARTS * sizeof *fit->best);
}

void rt_effect_fit_finish(const struct rt_effect_fit *fit, struct rt_device_effects *out)
{
    *out = (struct rt_device_effects){.count = fit->device_count, .family = fit->family};
    out->known = rt_calloc(fit->device_count + 1, sizeof *out->known);
    for (size_t d = 0; d < fit->device_count; d++) {
        out->known[d] = fit->device[d];
        for (int p = 0; p < PARTS; p++)
            out->known[d].value[p] = fit->best[d * PARTS + (size_t)p];
    }
}
