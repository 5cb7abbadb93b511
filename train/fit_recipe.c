/* The table of fits. See fit_recipe.h. */
#include "train/fit_recipe.h"
#include "base/status.h"
#include "train/fit_baseline.h"
#include "train/fit_intervals.h"
#include "train/fit_links.h"

#include <math.h>
#include <stdlib.h>

/* A baseline: one pass over the rows, nothing to go on from. */
static int fit_baseline(struct rt_training *training, size_t index, const struct rt_fit *resumed)
{
    const struct rt_recipe *recipe = &rt_recipes[index];
    struct rt_training_rows_left_out left_out;
    struct rt_family_net net;
    double started = rt_clock();
    (void)resumed;
    int status = rt_recipe_net(recipe, &net);
    if (status != RT_OK)
        return status;
    rt_baseline_fit(&training->data, &net, &left_out);
    training->done_before += rt_recipe_work(training, recipe);
    rt_progress_update(&training->progress, training->done_before, "%s", rt_families[net.family].name);
    net.epochs = net.best_epoch = net.rows_train > 0;
    struct rt_fit fit = {.epoch = net.epochs, .best_epoch = net.best_epoch, .best_mape = net.validation_mape};
    rt_training_summarise(training, recipe, &left_out, (size_t)net.rows_train, (size_t)net.rows_validation,
                          &fit, started);
    if (net.rows_train > 0)
        rt_training_add_net(training, &net);
    rt_family_net_release(&net);
    return RT_OK;
}

static void summarise(struct rt_training *training, const struct rt_network_fit *fit)
{
    rt_training_summarise(training, fit->recipe, &fit->left_out, fit->train.count, fit->validation.count,
                          &fit->fit, fit->started);
}

static int run_network(struct rt_training *training, struct rt_network_fit *fit, const struct rt_fit *resumed)
{
    int status = resumed != NULL ? rt_network_fit_restore(training, fit, resumed) : RT_OK;
    if (status == RT_OK)
        status = rt_network_fit_run(training, fit);
    training->done_before += (double)fit->epochs * (double)fit->train.count;
    if (status == RT_OK && fit->head->effects && !training->options->no_intervals)
        status = rt_intervals_fit(training, fit);
    if (status == RT_OK || (status == RT_EINTERRUPTED && fit->fit.best_epoch > 0)) {
        summarise(training, fit);
        rt_network_fit_finish(fit);
        rt_training_add_net(training, &fit->net);
    }
    return status;
}

static int fit_network(struct rt_training *training, size_t recipe, const struct rt_fit *resumed)
{
    struct rt_network_fit fit;
    int status = rt_network_fit_init(training, recipe, &fit);
    if (status == RT_OK && fit.train.count == 0)
        summarise(training, &fit);
    else if (status == RT_OK)
        status = run_network(training, &fit, resumed);
    rt_network_fit_release(&fit);
    return status;
}

static int fit_links(struct rt_training *training, size_t recipe, const struct rt_fit *resumed)
{
    (void)resumed; /* takes less than a second */
    return rt_links_fit(training, &rt_recipes[recipe]);
}

/* By forecaster; the roofline has no recipe. */
static int (*const fits[RT_FORECASTER_COUNT])(struct rt_training *, size_t, const struct rt_fit *) = {
    [RT_FORECASTER_NETWORK] = fit_network,
    [RT_FORECASTER_LINKS] = fit_links,
    [RT_FORECASTER_LINEAR] = fit_baseline,
    [RT_FORECASTER_WAVE_SCALING] = fit_baseline,
};

int rt_recipe_fit(struct rt_training *training, size_t recipe, const struct rt_fit *resumed)
{
    return fits[rt_recipes[recipe].forecaster](training, recipe, resumed);
}

static bool recipe_serves(const struct rt_recipe *recipe, const struct rt_sample *sample)
{
    const struct rt_family_net net = {.family = recipe->family, .units = recipe->units};
    return rt_net_serves(&net, sample->call.op, sample->call.dtype);
}

/* Rows that a recipe is fitted to in an epoch. */
static double training_rows(const struct rt_training *training, const struct rt_recipe *recipe)
{
    const struct rt_dataset *dataset = training->data.dataset;
    size_t most = recipe->rows_per_device > 0 ? (size_t)recipe->rows_per_device : SIZE_MAX, rows = 0;
    size_t(*taken)[RT_DTYPE_COUNT] = rt_calloc(dataset->device_count + 1, sizeof *taken);
    for (size_t i = 0; i < dataset->sample_count; i++) {
        const struct rt_sample *sample = &dataset->samples[i];
        bool out =
            training->data.held_out_device[sample->device] || training->data.held_out_op[sample->call.op];
        if (recipe_serves(recipe, sample) && !out &&
            rt_split_of(training->data.split, sample) == RT_PART_TRAIN)
            rows += taken[sample->device][sample->call.dtype]++ < most;
    }
    free(taken);
    return (double)rows;
}

/* Fits of a recipe: intervals leave each of n devices out, n fits of n - 1 devices beside the first. */
static double fit_count(const struct rt_training *training, const struct rt_recipe *recipe)
{
    double devices = 0;
    for (size_t d = 0; d < training->data.dataset->device_count; d++)
        devices += !training->data.held_out_device[d];
    bool intervals = !training->options->no_intervals && rt_recipe_has_effects(recipe);
    return intervals && devices > 1 ? devices : 1;
}

double rt_recipe_work(const struct rt_training *training, const struct rt_recipe *recipe)
{
    return training_rows(training, recipe) * fit_count(training, recipe) *
           rt_option_or_recipe(training->options->epochs, recipe->epochs);
}
