/* Rows, network and optimizer of a fit. See fit_network.h. */
#include "base/status.h"
#include "train/fit_network.h"
#include "train/training_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { PARAMETERS_STREAM = 0, ROWS_STREAM = 1 << 30 }; /* of random numbers */

int rt_option_or_recipe(int option, int recipe)
{
    return option > 0 ? option : recipe;
}

static void seed(struct rt_random *random, const struct rt_training *training, const struct rt_recipe *recipe,
                 uint64_t stream)
{
    rt_random_seed(random, training->options->split.seed, (uint64_t)recipe->family << 32 | stream);
}

/* Rows that the recipe is fitted to, weighted and scaled as it says. */
static void prepare_rows(const struct rt_training *training, struct rt_network_fit *fit)
{
    const struct rt_recipe *recipe = fit->recipe;
    if (recipe->rows_per_device > 0) {
        struct rt_random random;
        seed(&random, training, recipe, ROWS_STREAM);
        rt_training_rows_limit(&fit->train, fit->net.feature_count, (size_t)recipe->rows_per_device, &random);
    }
    if (recipe->small_us > 0)
        rt_training_rows_weigh(&fit->train, recipe->small_us);
    if (recipe->standardise)
        rt_training_rows_standardise(&fit->net, &fit->train, &fit->validation, recipe->clip_margin);
}

/* The last layer at 0: a head with device effects then forecasts a multiple of the roofline, whatever the
 * features. */
static void start_at_roofline(struct rt_mlp *mlp)
{
    size_t last = mlp->layer[mlp->shape.layers - 1].weight;
    memset(mlp->parameters + last, 0, (mlp->count - last) * sizeof *mlp->parameters);
}

static void init_parameters(const struct rt_training *training, struct rt_network_fit *fit)
{
    struct rt_random random;
    seed(&random, training, fit->recipe, PARAMETERS_STREAM);
    rt_mlp_randomize(&fit->net.mlp, &random);
    if (fit->head->effects)
        start_at_roofline(&fit->net.mlp);
}

static void init_optimizer(const struct rt_training *training, struct rt_network_fit *fit)
{
    const struct rt_recipe *recipe = fit->recipe;
    const struct rt_train_options *options = training->options;
    struct rt_adamw adamw = rt_adamw_default;
    adamw.weight_decay = recipe->weight_decay;
    rt_optimizer_init(&fit->optimizer, &adamw, fit->net.mlp.count);
    size_t batches = (fit->train.count + (size_t)fit->batch - 1) / (size_t)fit->batch;
    fit->schedule = rt_schedule_default;
    fit->schedule.rate = options->learning_rate > 0 ? options->learning_rate : recipe->learning_rate;
    fit->schedule.steps = batches * (size_t)fit->epochs;
    if (fit->head->effects)
        rt_effect_fit_init(&fit->effects, recipe->family, training->data.dataset, &fit->train,
                           recipe->effect_ridge, (size_t)fit->batch);
    fit->step = rt_train_step_new(&fit->net.mlp, &fit->optimizer, training->pool, (size_t)fit->batch);
}

static void init_workspace(struct rt_network_fit *fit)
{
    size_t most = fit->validation.count > 0 ? fit->validation.count : fit->train.count;
    fit->order = rt_malloc(fit->train.count * sizeof *fit->order);
    fit->x = rt_malloc((size_t)fit->batch * (size_t)fit->net.feature_count * sizeof(rt_real));
    fit->out = rt_malloc(most * (size_t)fit->head->outputs * sizeof(rt_real));
}

/* What a checkpoint holds of the fit. */
static void init_state(size_t recipe, struct rt_network_fit *fit)
{
    fit->fit = (struct rt_fit){.recipe = recipe,
                               .best_mape = INFINITY,
                               .count = fit->net.mlp.count,
                               .parameters = fit->net.mlp.parameters,
                               .optimizer_state = fit->optimizer.state,
                               .effect_count = fit->effects.optimizer.count,
                               .effects = fit->effects.values,
                               .best_effects = fit->effects.best,
                               .effect_state = fit->effects.optimizer.state};
    fit->fit.best = rt_malloc(fit->fit.count * sizeof(rt_real));
    memcpy(fit->fit.best, fit->fit.parameters, fit->fit.count * sizeof(rt_real));
}

int rt_network_fit_init(const struct rt_training *training, size_t recipe, struct rt_network_fit *fit)
{
    const struct rt_train_options *options = training->options;
    *fit = (struct rt_network_fit){.recipe = &rt_recipes[recipe], .started = rt_clock()};
    int status = rt_recipe_net(fit->recipe, &fit->net);
    if (status != RT_OK)
        return status;
    rt_training_rows_gather(&training->data, &fit->net, &fit->train, &fit->validation, &fit->left_out);
    if (fit->train.count == 0)
        return RT_OK;
    fit->head = &rt_heads[fit->net.head];
    fit->loss = &rt_losses[rt_loss_find(fit->recipe->loss)];
    fit->epochs = rt_option_or_recipe(options->epochs, fit->recipe->epochs);
    fit->batch = rt_option_or_recipe(options->batch, fit->recipe->batch);
    fit->patience = rt_option_or_recipe(options->patience, fit->recipe->patience);
    prepare_rows(training, fit);
    init_parameters(training, fit);
    init_optimizer(training, fit);
    init_workspace(fit);
    init_state(recipe, fit);
    return RT_OK;
}

void rt_network_fit_release(struct rt_network_fit *fit)
{
    rt_train_step_free(fit->step);
    rt_optimizer_release(&fit->optimizer);
    rt_effect_fit_release(&fit->effects);
    rt_family_net_release(&fit->net);
    rt_training_rows_release(&fit->train);
    rt_training_rows_release(&fit->validation);
    free(fit->fit.best);
    free(fit->fit.without);
    free(fit->fit.without_effects);
    free(fit->order);
    free(fit->x);
    free(fit->out);
}

static rt_real *copy_of(const rt_real *values, size_t count)
{
    rt_real *copy = rt_malloc((count + 1) * sizeof *copy);
    if (count > 0)
        memcpy(copy, values, count * sizeof *copy);
    return copy;
}

int rt_network_fit_restore(const struct rt_training *training, struct rt_network_fit *fit,
                           const struct rt_fit *from)
{
    struct rt_fit *state = &fit->fit;
    uint64_t batches = fit->schedule.steps / (uint64_t)fit->epochs;
    if (from->epoch > fit->epochs || from->optimizer_steps != batches * (uint64_t)from->epoch)
        return rt_fail(RT_EFORMAT,
                       "%s: /fit is at epoch %lld and step %llu, where there are %d epochs of %llu steps: "
                       "the file is damaged; give {overwrite} in the place of {resume} to start over",
                       training->checkpoint, (long long)from->epoch,
                       (unsigned long long)from->optimizer_steps, fit->epochs, (unsigned long long)batches);
    if (from->count != state->count || from->effect_count != state->effect_count)
        return rt_fail(RT_EFORMAT,
                       "%s: holds %zu parameters and %zu device effects where %zu and %zu belong: the file "
                       "is damaged; give {overwrite} in the place of {resume} to start over",
                       training->checkpoint, from->count, from->effect_count, state->count,
                       state->effect_count);
    memcpy(state->parameters, from->parameters, state->count * sizeof(rt_real));
    memcpy(state->best, from->best, state->count * sizeof(rt_real));
    memcpy(state->optimizer_state, from->optimizer_state, 2 * state->count * sizeof(rt_real));
    fit->optimizer.steps = fit->effects.optimizer.steps = from->optimizer_steps;
    if (state->effect_count > 0) {
        memcpy(state->effects, from->effects, state->effect_count * sizeof(rt_real));
        memcpy(state->best_effects, from->best_effects, state->effect_count * sizeof(rt_real));
        memcpy(state->effect_state, from->effect_state, 2 * state->effect_count * sizeof(rt_real));
    }
    state->without_count = from->without_count;
    state->without_effect_count = from->without_effect_count;
    state->without = copy_of(from->without, from->without_count);
    state->without_effects = copy_of(from->without_effects, from->without_effect_count);
    state->epoch = from->epoch;
    state->best_epoch = from->best_epoch;
    state->best_mape = from->best_mape;
    return RT_OK;
}

void rt_network_fit_finish(struct rt_network_fit *fit)
{
    struct rt_family_net *net = &fit->net;
    if (fit->head->effects)
        rt_effect_fit_finish(&fit->effects, &net->effects);
    for (size_t i = 0; i < fit->train.count; i++)
        net->dtypes |= INT64_C(1) << fit->train.dtype[i];
    net->rows_train = (int64_t)fit->train.count;
    net->rows_validation = (int64_t)fit->validation.count;
    net->rows_impossible = (int64_t)fit->left_out.impossible;
    net->epochs = fit->fit.epoch;
    net->best_epoch = fit->fit.best_epoch;
    net->validation_mape = fit->fit.best_mape;
    rt_train_step_free(fit->step); /* it borrows the network */
    fit->step = NULL;
}
