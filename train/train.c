/* The recipes of a kind, one after the other, and a fit for each forecaster. See train.h. */
#include "train/train.h"
#include "base/status.h"
#include "train/fit_intervals.h"
#include "train/training.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

const struct rt_train_options rt_train_defaults = {
    .kind = "rooftile", .split = RT_SPLIT_DEFAULT, .checkpoint_seconds = 5};

/* --- rows that pass through a fit --- */

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
    for (size_t i = 0; i < dataset->samples.count; i++) {
        const struct rt_sample *sample = RT_SAMPLE(dataset, i);
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

/* Rows that pass through the fit of a recipe: epochs x rows, for progress. An upper estimate: early stopping
 * shortens it. */
static double work_of(const struct rt_training *training, const struct rt_recipe *recipe)
{
    return training_rows(training, recipe) * fit_count(training, recipe) *
           rt_option_or_recipe(training->options->epochs, recipe->epochs);
}

/* --- baselines (models/predictors/baselines) ---
 *
 * The linear baseline is fitted to the training part, as networks are. Wave scaling holds all samples of
 * devices that are not held out, test samples too: a device is forecast from other devices' measurements of
 * the same kernel, never from its own. */

/* Samples by index. */
struct chosen {
    uint32_t *fit, *validation;
    size_t fit_count, validation_count;
};

static void fit_linear(struct rt_family_net *net, const struct rt_dataset *dataset,
                       const struct chosen *chosen)
{
    rt_linear_baseline_fit(&net->linear, dataset, chosen->fit, chosen->fit_count);
}

static void fit_wave_scaling(struct rt_family_net *net, const struct rt_dataset *dataset,
                             const struct chosen *chosen)
{
    rt_wave_scaling_build(&net->wave_scaling, dataset, chosen->fit, chosen->fit_count);
}

static const struct {
    bool all_parts; /* fitted to validation and test samples, too */
    void (*fit)(struct rt_family_net *net, const struct rt_dataset *dataset, const struct chosen *chosen);
} baselines[RT_FORECASTER_COUNT] = {
    [RT_FORECASTER_LINEAR] = {false, fit_linear},
    [RT_FORECASTER_WAVE_SCALING] = {true, fit_wave_scaling},
};

static void choose(const struct rt_training_data *data, const struct rt_family_net *net, struct chosen *out,
                   struct rt_training_rows_left_out *left_out)
{
    const struct rt_dataset *dataset = data->dataset;
    bool all = baselines[net->forecaster].all_parts;
    *out = (struct chosen){0};
    *left_out = (struct rt_training_rows_left_out){0};
    out->fit = rt_malloc((dataset->samples.count + 1) * sizeof *out->fit);
    out->validation = rt_malloc((dataset->samples.count + 1) * sizeof *out->validation);
    for (size_t i = 0; i < dataset->samples.count; i++) {
        const struct rt_sample *sample = RT_SAMPLE(dataset, i);
        if (rt_call_family(&sample->call) != net->family ||
            rt_training_leaves_out(data, i, sample, net, all, left_out))
            continue;
        enum rt_part part = rt_split_of(data->split, sample);
        if (part == RT_PART_VALIDATION)
            out->validation[out->validation_count++] = (uint32_t)i;
        if (all || part == RT_PART_TRAIN)
            out->fit[out->fit_count++] = (uint32_t)i;
    }
}

/* Mean absolute percentage error over the validation samples that can be forecast. */
static double validate(const struct rt_dataset *dataset, const struct chosen *chosen,
                       struct rt_family_net *net)
{
    char kind[] = "";
    const struct rt_predictor alone = {.kind = kind, .nets = net, .net_count = 1};
    double sum = 0;
    size_t count = 0;
    for (size_t i = 0; i < chosen->validation_count; i++) {
        const struct rt_sample *sample = RT_SAMPLE(dataset, chosen->validation[i]);
        struct rt_query query;
        double forecast, measured = rt_target_measured(&rt_targets[net->target], sample);
        uint8_t skip;
        rt_query_of_sample(sample, false, &query);
        rt_predictor_forecast(&alone, &dataset->devices[sample->device], &query, 1, NULL, &forecast, &skip);
        if (skip != RT_SKIP_NONE)
            continue;
        sum += fabs(forecast - measured) / measured;
        count++;
    }
    return count > 0 ? 100 * sum / (double)count : NAN;
}

/* Fits the net by its forecaster; sets rows_train, rows_validation and validation_mape (NaN where there are
 * no validation samples). */
static void fit_by_forecaster(const struct rt_training_data *data, struct rt_family_net *net,
                              struct rt_training_rows_left_out *left_out)
{
    struct chosen chosen;
    choose(data, net, &chosen, left_out);
    net->rows_train = (int64_t)chosen.fit_count;
    net->rows_validation = (int64_t)chosen.validation_count;
    net->rows_impossible = (int64_t)left_out->impossible;
    baselines[net->forecaster].fit(net, data->dataset, &chosen);
    net->validation_mape = validate(data->dataset, &chosen, net);
    free(chosen.fit);
    free(chosen.validation);
}

/* --- a fit for each forecaster: of the net of a recipe, by its index ---
 *
 * The net is added to the predictor; nothing where the data has no rows for it. `resumed`: goes on from
 * there; NULL: from the start. */

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
    fit_by_forecaster(&training->data, &net, &left_out);
    training->done_before += work_of(training, recipe);
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
    bool intervals = status == RT_OK && fit->head->effects && !training->options->no_intervals;
    if (intervals) { /* they may take longer than the epochs, which are not to be run again */
        fit->fit.optimizer_steps = fit->optimizer.steps;
        status = rt_training_save_checkpoint(training, &fit->fit);
    }
    if (intervals && status == RT_OK)
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

/* --- all of them --- */

static bool names_family(const struct rt_names *names, const char *family)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->name[i], family) == 0)
            return true;
    return names->count == 0;
}

static bool is_wanted(const struct rt_training *training, const struct rt_recipe *recipe)
{
    return strcmp(recipe->kind, training->options->kind) == 0 &&
           names_family(&training->options->families, rt_families[recipe->family].name);
}

static double total_work(const struct rt_training *training)
{
    double total = 0;
    for (size_t r = 0; r < rt_recipe_count; r++)
        if (is_wanted(training, &rt_recipes[r]))
            total += work_of(training, &rt_recipes[r]);
    return total;
}

/* Between two nets a checkpoint holds the next recipe and no parameters. */
static int fit_all(struct rt_training *training, const struct rt_fit *resumed)
{
    int status = RT_OK;
    training->saved = rt_clock();
    for (size_t r = resumed != NULL ? resumed->recipe : 0; status == RT_OK && r < rt_recipe_count; r++) {
        if (!is_wanted(training, &rt_recipes[r]))
            continue;
        bool goes_on = resumed != NULL && r == resumed->recipe && resumed->count > 0;
        size_t nets = training->predictor.net_count;
        status = fits[rt_recipes[r].forecaster](training, r, goes_on ? resumed : NULL);
        if (status == RT_OK && training->predictor.net_count > nets)
            status = rt_training_save_checkpoint(training,
                                                 &(struct rt_fit){.recipe = r + 1, .best_mape = INFINITY});
    }
    return status;
}

int rt_train(const struct rt_dataset *dataset, const struct rt_train_options *options,
             struct rt_table *summary)
{
    struct rt_training training;
    struct rt_fit fit = {0};
    bool resumed = false;
    int status = rt_training_init(&training, dataset, options, summary);
    if (status == RT_OK)
        status = rt_training_load_checkpoint(&training, &fit, &resumed);
    if (status == RT_OK) {
        rt_progress_start(&training.progress, "train", total_work(&training), options->quiet);
        status = fit_all(&training, resumed ? &fit : NULL);
        rt_progress_end(&training.progress);
        status = rt_training_save(&training, status);
    }
    rt_checkpoint_release(&fit);
    rt_training_release(&training);
    return status;
}
