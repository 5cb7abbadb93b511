/* Fits that leave a device out. See fit_intervals.h. */
#include "train/fit_intervals.h"
#include "base/status.h"
#include "train/throttled_sessions.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Residuals so far. */
struct residuals {
    struct rt_residual *list;
    size_t count;
};

/* |ln(measured / forecast)| of rows; with the prior of their device, or with its own effects. */
static void add_residuals(const struct rt_training *training, const struct rt_network_fit *fit,
                          const struct rt_training_rows *rows, bool prior, struct residuals *residuals)
{
    size_t outputs = (size_t)fit->head->outputs;
    struct rt_device_effects effects;
    rt_effect_fit_finish(&fit->effects, &effects);
    rt_real *out = rt_malloc((rows->count + 1) * outputs * sizeof *out);
    residuals->list =
        rt_realloc(residuals->list, residuals->count + rows->count + 1, sizeof *residuals->list);
    if (rows->count > 0)
        rt_mlp_infer(&fit->net.mlp, training->pool, rows->features, rows->count, out);
    for (size_t i = 0; i < rows->count; i++) {
        struct rt_device_effect effect;
        struct rt_bound bound = rows->bounds[i];
        const struct rt_device *device = &training->data.dataset->devices[rows->device[i]];
        (prior ? rt_device_effects_prior : rt_device_effects_of)(&effects, device, &effect);
        rt_bound_set_effect(&bound, &effect);
        double forecast = fit->head->latency(out + i * outputs, &bound);
        residuals->list[residuals->count++] =
            (struct rt_residual){.value = fabs(log(rows->target[i] / forecast)),
                                 .group = rows->device[i],
                                 .size = rt_interval_size_of(bound.bound_us)};
    }
    free(out);
    rt_device_effects_release(&effects);
}

/* Rows of one device outside the test split, scaled as the net's inputs, without throttled sessions: training
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
    if (!training->options->keep_all)
        rt_throttled_drop(&data, &fit->net, false, &rows[0], &rows[1], &left_out);
    free(others);
}

/* Residuals of a device by a fit that did not see it. */
static int fit_without(struct rt_training *training, size_t recipe, size_t device,
                       struct residuals *residuals)
{
    struct rt_network_fit fit;
    struct rt_training_rows rows[2];
    int status = rt_network_fit_init(training, recipe, &fit);
    if (status == RT_OK && fit.train.count > 0)
        status = rt_network_fit_run(training, &fit);
    if (status == RT_OK && fit.train.count > 0) {
        gather_device(training, &fit, device, rows);
        for (int part = 0; part < 2; part++) {
            add_residuals(training, &fit, &rows[part], true, residuals);
            rt_training_rows_release(&rows[part]);
        }
    }
    training->done_before += (double)fit.epochs * (double)fit.train.count;
    rt_network_fit_release(&fit);
    return status;
}

/* The same with the training as it is for that fit: the device held out, quiet (warnings were printed). */
static int leave_out(struct rt_training *training, size_t recipe, size_t device, struct residuals *residuals)
{
    size_t devices = training->data.dataset->device_count;
    const struct rt_train_options *options = training->options;
    struct rt_train_options quiet = *options;
    struct rt_training_data data = training->data;
    bool *held_out = rt_malloc((devices + 1) * sizeof *held_out);
    quiet.quiet = true;
    memcpy(held_out, data.held_out_device, devices * sizeof *held_out);
    held_out[device] = true;
    training->options = &quiet;
    training->data.held_out_device = held_out;
    training->without = data.dataset->devices[device].name;
    int status = fit_without(training, recipe, device, residuals);
    training->options = options;
    training->data = data;
    training->without = NULL;
    free(held_out);
    return status;
}

int rt_intervals_fit(struct rt_training *training, struct rt_network_fit *fit)
{
    struct rt_intervals *intervals = &fit->net.intervals;
    struct residuals known = {0}, unseen = {0};
    int status = RT_OK;
    add_residuals(training, fit, &fit->validation, false, &known);
    rt_residual_table(known.list, known.count, intervals->known);
    for (size_t d = 0; status == RT_OK && d < training->data.dataset->device_count; d++) {
        if (fit->effects.slot[d] < 0 || fit->effects.device_count < 2)
            continue;
        status = leave_out(training, fit->fit.recipe, d, &unseen);
        intervals->gpus++;
    }
    rt_residual_table(unseen.list, unseen.count, intervals->unseen);
    free(known.list);
    free(unseen.list);
    if (status != RT_OK)
        rt_intervals_init(intervals);
    return status;
}
