/* Fits that leave a device out. See fit_intervals.h. */
#include "train/fit_intervals.h"
#include "base/array.h"
#include "base/status.h"
#include "train/training_rows.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rt_residuals_init(struct rt_residuals *residuals, size_t devices)
{
    *residuals = (struct rt_residuals){.error = rt_calloc(devices + 1, sizeof *residuals->error),
                                       .square = rt_calloc(devices + 1, sizeof *residuals->square),
                                       .rows = rt_calloc(devices + 1, sizeof *residuals->rows)};
}

void rt_residuals_release(struct rt_residuals *residuals)
{
    free(residuals->list);
    free(residuals->error);
    free(residuals->square);
    free(residuals->rows);
}

void rt_residuals_add(struct rt_residuals *residuals, double error, int32_t device, uint8_t dtype,
                      double bound_us)
{
    RT_GROW(residuals->list, residuals->count, 1, residuals->capacity);
    residuals->error[device] += error;
    residuals->square[device] += error * error;
    residuals->rows[device]++;
    residuals->list[residuals->count++] = (struct rt_residual){
        .value = fabs(error), .group = device, .dtype = dtype, .size = rt_interval_size_of(bound_us)};
}

/* Is a dtype among the rows that the fit saw? Another is not what a device that was left out is judged by. */
static void find_dtypes(const struct rt_network_fit *fit, bool seen[RT_DTYPE_COUNT])
{
    memset(seen, 0, RT_DTYPE_COUNT * sizeof *seen);
    for (size_t i = 0; i < fit->train.count; i++)
        seen[fit->train.dtype[i]] = true;
}

/* Residuals of rows; with the prior of their device, or with its own effects. */
static void add_residuals(const struct rt_training *training, const struct rt_network_fit *fit,
                          const struct rt_training_rows *rows, bool prior, struct rt_residuals *residuals)
{
    size_t outputs = (size_t)fit->head->outputs;
    struct rt_device_effects effects;
    bool seen[RT_DTYPE_COUNT];
    find_dtypes(fit, seen);
    rt_effect_fit_finish(&fit->effects, &effects);
    rt_real *out = rt_malloc((rows->count + 1) * outputs * sizeof *out);
    if (rows->count > 0)
        rt_mlp_infer(&fit->net.mlp, training->pool, rows->features, rows->count, out);
    for (size_t i = 0; i < rows->count; i++) {
        struct rt_device_effect effect;
        struct rt_bound bound = rows->bounds[i];
        const struct rt_device *device = &training->data.dataset->devices[rows->device[i]];
        (prior ? rt_device_effects_prior : rt_device_effects_of)(&effects, device, &effect);
        rt_bound_set_effect(&bound, &effect);
        double forecast = fit->head->latency(out + i * outputs, &bound);
        if (seen[rows->dtype[i]])
            rt_residuals_add(residuals, log(rows->target[i] / forecast), rows->device[i], rows->dtype[i],
                             bound.bound_us);
    }
    free(out);
    rt_device_effects_release(&effects);
}

/* Rows of one device outside the test split, scaled as the net's inputs: training
 * and validation. */
static void gather_device(const struct rt_training *training, struct rt_network_fit *fit, size_t device,
                          struct rt_training_rows rows[2])
{
    size_t devices = training->data.dataset->device_count;
    bool *others = rt_malloc((devices + 1) * sizeof *others);
    struct rt_training_rows_left_out left_out;
    struct rt_training_data data = training->data;
    for (size_t d = 0; d < devices; d++)
        others[d] = d != device;
    data.held_out_device = others;
    rt_training_rows_gather(&data, &fit->net, &rows[0], &rows[1], &left_out);
    free(others);
}

/* What a checkpoint keeps of the fits without a device, and how far they were taken from there. */
struct kept {
    struct rt_fit *in;
    size_t taken, effects_taken;
};

/* False where the checkpoint had no more. */
static bool take(struct kept *kept, struct rt_network_fit *fit)
{
    size_t count = fit->fit.count, effects = fit->fit.effect_count;
    if (kept->taken + count > kept->in->without_count ||
        kept->effects_taken + effects > kept->in->without_effect_count)
        return false;
    memcpy(fit->net.mlp.parameters, kept->in->without + kept->taken, count * sizeof(rt_real));
    memcpy(fit->effects.best, kept->in->without_effects + kept->effects_taken, effects * sizeof(rt_real));
    return true;
}

static void keep(struct kept *kept, const struct rt_network_fit *fit)
{
    struct rt_fit *in = kept->in;
    size_t count = fit->fit.count, effects = fit->fit.effect_count;
    in->without_count = kept->taken + count;
    in->without_effect_count = kept->effects_taken + effects;
    in->without = rt_realloc(in->without, in->without_count, sizeof(rt_real));
    in->without_effects = rt_realloc(in->without_effects, in->without_effect_count + 1, sizeof(rt_real));
    memcpy(in->without + kept->taken, fit->net.mlp.parameters, count * sizeof(rt_real));
    memcpy(in->without_effects + kept->effects_taken, fit->effects.best, effects * sizeof(rt_real));
}

/* The fit, of this run or of the one before; a checkpoint has those that are done. */
static int run_or_take(struct rt_training *training, struct rt_network_fit *fit, struct kept *kept)
{
    int status = RT_OK;
    if (!take(kept, fit)) {
        status = rt_network_fit_run(training, fit);
        if (status == RT_OK)
            keep(kept, fit);
        if (rt_interrupted() || rt_clock() - training->saved >= training->options->checkpoint_seconds) {
            int saved = rt_training_save_checkpoint(training, kept->in);
            status = status == RT_OK ? saved : status;
        }
    }
    kept->taken += fit->fit.count;
    kept->effects_taken += fit->fit.effect_count;
    return status;
}

/* Residuals of the devices marked, by a fit that did not see them. */
static int fit_without(struct rt_training *training, struct kept *kept, const bool *marked,
                       struct rt_residuals *residuals)
{
    struct rt_network_fit fit;
    struct rt_training_rows rows[2];
    int status = rt_network_fit_init(training, kept->in->recipe, &fit);
    if (status == RT_OK && fit.train.count > 0)
        status = run_or_take(training, &fit, kept);
    for (size_t d = 0; status == RT_OK && fit.train.count > 0 && d < training->data.dataset->device_count;
         d++) {
        if (!marked[d])
            continue;
        gather_device(training, &fit, d, rows);
        for (int part = 0; part < 2; part++) {
            add_residuals(training, &fit, &rows[part], true, residuals);
            rt_training_rows_release(&rows[part]);
        }
    }
    training->done_before += (double)fit.epochs * (double)fit.train.count;
    rt_network_fit_release(&fit);
    return status;
}

/* The same with the training as it is for that fit: they are held out, quiet (warnings were printed). */
static int leave_out(struct rt_training *training, struct kept *kept, const bool *marked,
                     struct rt_residuals *residuals)
{
    size_t devices = training->data.dataset->device_count;
    const struct rt_train_options *options = training->options;
    struct rt_train_options quiet = *options;
    struct rt_training_data data = training->data;
    bool *held_out = rt_malloc((devices + 1) * sizeof *held_out);
    size_t first = devices;
    quiet.quiet = true;
    for (size_t d = devices; d-- > 0;) {
        held_out[d] = data.held_out_device[d] || marked[d];
        first = marked[d] ? d : first;
    }
    training->options = &quiet;
    training->data.held_out_device = held_out;
    training->without = data.dataset->devices[first].name;
    int status = fit_without(training, kept, marked, residuals);
    training->options = options;
    training->data = data;
    training->without = NULL;
    free(held_out);
    return status;
}

/* Is the device in the fit? */
static bool is_fitted(const struct rt_network_fit *fit, size_t device)
{
    return fit->effects.slot[device] >= 0;
}

void rt_mark_alike(const struct rt_dataset *dataset, const bool *fitted, size_t device, bool *marked)
{
    const struct rt_device *devices = dataset->devices;
    const char *capability = devices[device].compute_capability;
    size_t count = dataset->device_count, alike = 0, all = 0;
    for (size_t d = 0; d < count; d++) {
        bool same = rt_capability_same(capability, devices[d].compute_capability);
        marked[d] = fitted[d] && (d == device || same);
        alike += marked[d];
        all += fitted[d];
    }
    for (size_t d = 0; alike == all && d < count; d++)
        marked[d] = d == device;
}

/* Every device of the fit left out once, with those like it. */
static int leave_each_out(struct rt_training *training, struct rt_network_fit *fit,
                          struct rt_residuals *unseen)
{
    struct kept kept = {.in = &fit->fit};
    size_t devices = training->data.dataset->device_count;
    bool *marked = rt_malloc((devices + 1) * sizeof *marked);
    bool *fitted = rt_malloc((devices + 1) * sizeof *fitted);
    int status = RT_OK;
    for (size_t d = 0; d < devices; d++)
        fitted[d] = is_fitted(fit, d);
    for (size_t d = 0; status == RT_OK && d < devices; d++) {
        if (!fitted[d] || fit->effects.device_count < 2)
            continue;
        rt_mark_alike(training->data.dataset, fitted, d, marked);
        bool before = false;
        for (size_t other = 0; other < d; other++)
            before |= marked[other];
        if (!before)
            status = leave_out(training, &kept, marked, unseen);
    }
    free(fitted);
    free(marked);
    return status;
}

/* Mean errors by device. */
static void note_left_out(const struct rt_dataset *dataset, const struct rt_residuals *unseen,
                          struct rt_intervals *intervals)
{
    intervals->left_out = rt_calloc(dataset->device_count + 1, sizeof *intervals->left_out);
    for (size_t d = 0; d < dataset->device_count; d++) {
        if (unseen->rows[d] == 0)
            continue;
        struct rt_left_out_device *row = &intervals->left_out[intervals->left_out_count++];
        snprintf(row->device, sizeof row->device, "%s", dataset->devices[d].name);
        row->error = unseen->error[d] / unseen->rows[d];
        row->square = unseen->square[d] / unseen->rows[d];
    }
    intervals->gpus = (int64_t)intervals->left_out_count;
}

/* Both tables, in units of the dtypes' scales. */
static void fill_tables(struct rt_residuals *known, struct rt_residuals *unseen,
                        struct rt_intervals *intervals)
{
    struct rt_residuals *scales = unseen->count > 0 ? unseen : known,
                        *others = unseen->count > 0 ? known : unseen;
    rt_residual_scale_dtypes(scales->list, scales->count, intervals->dtype_scale);
    for (size_t i = 0; i < others->count; i++)
        others->list[i].value /= intervals->dtype_scale[others->list[i].dtype];
    rt_residual_table(known->list, known->count, intervals->known);
    rt_residual_table(unseen->list, unseen->count, intervals->unseen);
}

void rt_residuals_finish(const struct rt_dataset *dataset, struct rt_residuals *known,
                         struct rt_residuals *unseen, struct rt_intervals *intervals)
{
    fill_tables(known, unseen, intervals);
    note_left_out(dataset, unseen, intervals);
}

int rt_intervals_fit(struct rt_training *training, struct rt_network_fit *fit)
{
    struct rt_intervals *intervals = &fit->net.intervals;
    const struct rt_dataset *dataset = training->data.dataset;
    struct rt_residuals known, unseen;
    rt_residuals_init(&known, dataset->device_count);
    rt_residuals_init(&unseen, dataset->device_count);
    add_residuals(training, fit, &fit->validation, false, &known);
    int status = leave_each_out(training, fit, &unseen);
    if (status == RT_OK)
        rt_residuals_finish(dataset, &known, &unseen, intervals);
    rt_residuals_release(&known);
    rt_residuals_release(&unseen);
    return status;
}
