/* Epochs of a network's fit. See fit_network.h. */
#include "base/status.h"
#include "train/fit_network.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Learning rate of the device effects over the network's: there are few of them, each in many rows. */
enum { EFFECT_RATE = 3 };
enum { SHUFFLE_STREAM = 1 }; /* of random numbers; each epoch has its own */

/* Of the penalty: the recipe's ridge x the squares of the factors' outputs. */
static void add_ridge(const struct rt_network_fit *fit, double share, const rt_real *out, rt_real *dout)
{
    for (int o = 0; o < RT_HEAD_FACTORS && fit->recipe->factor_ridge > 0; o++)
        dout[o] += (rt_real)(2 * fit->recipe->factor_ridge * share) * out[o];
}

/* Derivative of the mean loss of the batch by the network's outputs: rt_gradient of step.h. */
static double batch_gradient(void *context, size_t first, size_t rows, const rt_real *out, rt_real *dout)
{
    struct rt_network_fit *fit = context;
    int outputs = fit->head->outputs;
    double sum = 0, share = 1.0 / (double)fit->batch_count;
    for (size_t i = 0; i < rows; i++) {
        uint32_t row = fit->batch_rows[first + i];
        const struct rt_bound bound = rt_effect_fit_bound(&fit->effects, &fit->train, row);
        double derivative;
        double forecast = fit->head->latency(out + i * (size_t)outputs, &bound);
        double weight = fit->train.weight != NULL ? fit->train.weight[row] : 1;
        sum += weight * fit->loss->value(forecast, fit->train.target[row], &derivative);
        derivative *= weight;
        fit->head->gradient(out + i * (size_t)outputs, &bound, derivative * share,
                            dout + i * (size_t)outputs);
        add_ridge(fit, share, out + i * (size_t)outputs, dout + i * (size_t)outputs);
        if (fit->head->effects)
            rt_effect_fit_add(&fit->effects, first / RT_TRAIN_STEP_BLOCK, fit->train.device[row], &bound,
                              derivative * share * (forecast - bound.dispatch_us));
    }
    return sum;
}

static void gather_batch(struct rt_network_fit *fit, size_t first, size_t rows)
{
    size_t features = (size_t)fit->net.feature_count;
    fit->batch_rows = fit->order + first;
    fit->batch_count = rows;
    for (size_t i = 0; i < rows; i++)
        memcpy(fit->x + i * features, fit->train.features + fit->batch_rows[i] * features,
               features * sizeof(rt_real));
}

static void show_progress(struct rt_training *training, const struct rt_network_fit *fit, double done,
                          double loss_sum, double began)
{
    const struct rt_fit *state = &fit->fit;
    char best[32] = "-";
    if (state->best_epoch > 0)
        snprintf(best, sizeof best, "%.2f%%", state->best_mape);
    rt_progress_update(
        &training->progress, training->done_before + (double)state->epoch * (double)fit->train.count + done,
        "%s%s%s epoch %d/%d  loss %.4f  best validation MAPE %s  %.0f samples/s",
        rt_net_name(fit->recipe->family, fit->recipe->units), training->without != NULL ? " without " : "",
        training->without != NULL ? training->without : "", (int)state->epoch + 1, fit->epochs,
        loss_sum / done, best, done / (rt_clock() - began + 1e-9));
}

/* Longest epoch that is ended after Ctrl-C, s, so that a checkpoint holds it. */
static const double SHORT_EPOCH = 2;

/* One pass over the training rows; *loss is their mean. False where Ctrl-C came in a long one. */
static bool run_epoch(struct rt_training *training, struct rt_network_fit *fit, double *loss)
{
    struct rt_random random;
    size_t count = fit->train.count;
    uint64_t stream = (uint64_t)fit->recipe->family << 32 | (uint64_t)fit->fit.epoch << 1 | SHUFFLE_STREAM;
    double sum = 0, began = rt_clock();
    rt_random_seed(&random, training->options->split.seed, stream);
    for (size_t i = 0; i < count; i++)
        fit->order[i] = (uint32_t)i;
    rt_random_shuffle(&random, fit->order, count);
    for (size_t first = 0; first < count; first += (size_t)fit->batch) {
        size_t rows = count - first < (size_t)fit->batch ? count - first : (size_t)fit->batch;
        gather_batch(fit, first, rows);
        double rate = rt_learning_rate(&fit->schedule, fit->optimizer.steps);
        sum += rt_train_step_run(fit->step, fit->x, rows, rate, batch_gradient, fit);
        if (fit->head->effects)
            rt_effect_fit_step(&fit->effects, EFFECT_RATE * rate);
        if (rt_interrupted() && rt_clock() - began > SHORT_EPOCH)
            return false;
        show_progress(training, fit, (double)(first + rows), sum, began);
    }
    *loss = sum / (double)count;
    return true;
}

/* Mean absolute percentage error over the validation rows; over the training rows where there are none. */
static double validate(struct rt_training *training, struct rt_network_fit *fit)
{
    const struct rt_training_rows *rows = fit->validation.count > 0 ? &fit->validation : &fit->train;
    double sum = 0;
    rt_mlp_infer(&fit->net.mlp, training->pool, rows->features, rows->count, fit->out);
    for (size_t i = 0; i < rows->count; i++) {
        const struct rt_bound bound = rt_effect_fit_bound(&fit->effects, rows, i);
        double forecast = fit->head->latency(fit->out + i * (size_t)fit->head->outputs, &bound);
        sum += fabs(forecast - rows->target[i]) / rows->target[i];
    }
    return 100 * sum / (double)rows->count;
}

/* Keeps the parameters where they are the best so far, or the last where patience is 0. */
static void keep_best(struct rt_network_fit *fit, double mape)
{
    struct rt_fit *state = &fit->fit;
    if (!(mape < state->best_mape) && fit->patience > 0)
        return;
    state->best_mape = mape;
    state->best_epoch = state->epoch;
    memcpy(state->best, state->parameters, state->count * sizeof(rt_real));
    if (fit->head->effects)
        rt_effect_fit_keep_best(&fit->effects);
}

static int save_checkpoint(struct rt_training *training, struct rt_network_fit *fit)
{
    bool due = rt_interrupted() || rt_clock() - training->saved >= training->options->checkpoint_seconds;
    if (training->without != NULL || !due)
        return RT_OK;
    fit->fit.optimizer_steps = fit->optimizer.steps;
    return rt_training_save_checkpoint(training, &fit->fit);
}

static int run_epochs(struct rt_training *training, struct rt_network_fit *fit)
{
    struct rt_fit *state = &fit->fit;
    int status = RT_OK;
    while (status == RT_OK && state->epoch < fit->epochs &&
           (fit->patience == 0 || state->epoch - state->best_epoch < fit->patience)) {
        double loss = NAN;
        if (!run_epoch(training, fit, &loss))
            return RT_EINTERRUPTED;
        state->epoch++;
        double mape = validate(training, fit);
        if (!isfinite(loss) || !isfinite(mape))
            return rt_fail(RT_EFORMAT,
                           "%s: training diverged in epoch %d (loss %g); try a smaller {learning_rate}",
                           rt_net_name(fit->recipe->family, fit->recipe->units), (int)state->epoch, loss);
        keep_best(fit, mape);
        status = save_checkpoint(training, fit);
        if (status == RT_OK && rt_interrupted())
            return RT_EINTERRUPTED;
    }
    return status;
}

int rt_network_fit_run(struct rt_training *training, struct rt_network_fit *fit)
{
    int status = run_epochs(training, fit);
    memcpy(fit->net.mlp.parameters, fit->fit.best, fit->fit.count * sizeof(rt_real));
    return status;
}
