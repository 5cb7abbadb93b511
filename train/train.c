/* The training loop. See train.h. */
#include "train/train.h"
#include "base/progress.h"
#include "base/status.h"
#include "base/text.h"
#include "base/version.h"
#include "models/predictor/recipe.h"
#include "train/fit_baseline.h"
#include "train/checkpoint.h"
#include "train/throttled_sessions.h"
#include "train/fit_effects.h"
#include "models/nn/loss.h"
#include "train/training_rows.h"
#include "models/nn/step.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

const struct rt_train_options rt_train_defaults = {
    .kind = "rooftile", .split = RT_SPLIT_DEFAULT, .checkpoint_seconds = 5};

const struct rt_column rt_train_columns[] = {
    {"family", NULL, 's', 0},
    {"rows_train", "train", 'd', 0},
    {"rows_validation", "validation", 'd', 0},
    {"held_out", "held out", 'd', 0},
    {"test", "test", 'd', 0},
    {"failed", "failed", 'd', 0},
    {"unknown_tile", "no tile", 'd', 0},
    {"no_peak", "no peak", 'd', 0},
    {"throttled", NULL, 'd', 0},
    {"epochs", NULL, 'd', 0},
    {"best_epoch", "best", 'd', 0},
    {"validation_mape", "validation MAPE %", 'f', 2},
    {"seconds", "s", 'f', 1},
};
const size_t rt_train_column_count = RT_COUNT(rt_train_columns);

enum { LATENT_RATE = 3 }; /* times the network's learning rate: there are few of them, each in many rows */
enum {
    STREAM_PARAMETERS = 0,
    STREAM_SHUFFLE = 1,
    STREAM_ROWS = 1 << 30
}; /* random streams; each epoch shuffles with its own */

/* One training run. */
struct run {
    const struct rt_dataset *dataset;
    const struct rt_train_options *options;
    bool *held_out_device;
    bool held_out_op[RT_OP_COUNT];
    char *signature, *checkpoint;
    struct rt_predictor predictor; /* finished families */
    struct rt_threads *pool;
    struct rt_progress progress;
    double done_before;  /* samples of families finished */
    const char *without; /* the device that is left out for the intervals' sake, NULL: none */
    double saved;        /* clock of the last checkpoint */
};

/* One family being fitted. */
struct family {
    const struct rt_recipe *recipe;
    size_t index; /* of the recipe */
    struct rt_family_net net;
    struct rt_training_rows train, validation;
    struct rt_training_rows_left_out left_out;
    struct rt_optimizer optimizer;
    struct rt_effect_fit effects;
    struct rt_schedule schedule;
    struct rt_step *step;
    int epochs, batch, patience;
    struct rt_fit fit;    /* parameters and moments are borrowed from net and optimizer, `best` is its own */
    uint32_t *order;      /* (train.count) */
    rt_real *x;           /* (batch, features) */
    const uint32_t *rows; /* of the batch in train, (batch_rows) */
    size_t batch_rows;    /* the last batch of an epoch may be short */
    const struct rt_loss *loss;
    const struct rt_head *head;
    rt_real *out; /* (validation.count, outputs) */
    double started;
};

/* Derivative of the mean loss of the batch by the network's outputs: rt_gradient of step.h. */
static double batch_gradient(void *context, size_t first, size_t rows, const rt_real *out, rt_real *dout)
{
    struct family *family = context;
    int outputs = family->head->outputs;
    double sum = 0, share = 1.0 / (double)family->batch_rows;
    for (size_t i = 0; i < rows; i++) {
        uint32_t row = family->rows[first + i];
        const struct rt_bound bound = rt_effect_fit_bound(&family->effects, &family->train, row);
        double derivative;
        double latency_us = family->head->latency(out + i * (size_t)outputs, &bound);
        double weight = family->train.weight != NULL ? family->train.weight[row] : 1;
        sum += weight * family->loss->value(latency_us, family->train.target_us[row], &derivative);
        derivative *= weight;
        family->head->gradient(out + i * (size_t)outputs, &bound, derivative * share,
                               dout + i * (size_t)outputs);
        if (family->head->effects)
            rt_effect_fit_add(&family->effects, first / RT_STEP_BLOCK, family->train.device[row], &bound,
                              derivative * share * (latency_us - bound.dispatch_us));
    }
    return sum;
}

static void gather_batch(struct family *family, size_t first, size_t rows)
{
    size_t features = (size_t)family->net.feature_count;
    family->rows = family->order + first;
    family->batch_rows = rows;
    for (size_t i = 0; i < rows; i++)
        memcpy(family->x + i * features, family->train.features + family->rows[i] * features,
               features * sizeof(rt_real));
}

static void show_progress(struct run *run, const struct family *family, double done, double loss_sum,
                          double began)
{
    const struct rt_fit *fit = &family->fit;
    char best[32] = "-";
    if (fit->best_epoch > 0)
        snprintf(best, sizeof best, "%.2f%%", fit->best_mape);
    rt_progress_update(
        &run->progress, run->done_before + (double)fit->epoch * (double)family->train.count + done,
        "%s%s%s epoch %d/%d  loss %.4f  best validation MAPE %s  %.0f samples/s",
        rt_net_name(family->recipe->family, family->recipe->units), run->without != NULL ? " without " : "",
        run->without != NULL ? run->without : "", (int)fit->epoch + 1, family->epochs, loss_sum / done, best,
        done / (rt_clock() - began + 1e-9));
}

/* One pass over the training rows; *loss is their mean. False where Ctrl-C came in between. */
static bool run_epoch(struct run *run, struct family *family, double *loss)
{
    struct rt_random random;
    size_t count = family->train.count;
    uint64_t stream =
        (uint64_t)family->recipe->family << 32 | (uint64_t)family->fit.epoch << 1 | STREAM_SHUFFLE;
    double sum = 0, began = rt_clock();
    rt_random_seed(&random, run->options->split.seed, stream);
    for (size_t i = 0; i < count; i++)
        family->order[i] = (uint32_t)i;
    rt_random_shuffle(&random, family->order, count);
    for (size_t first = 0; first < count; first += (size_t)family->batch) {
        size_t rows = count - first < (size_t)family->batch ? count - first : (size_t)family->batch;
        gather_batch(family, first, rows);
        double rate = rt_learning_rate(&family->schedule, family->optimizer.steps);
        sum += rt_step_run(family->step, family->x, rows, rate, batch_gradient, family);
        if (family->head->effects)
            rt_effect_fit_step(&family->effects, LATENT_RATE * rate);
        if (rt_interrupted())
            return false;
        show_progress(run, family, (double)(first + rows), sum, began);
    }
    *loss = sum / (double)count;
    return true;
}

/* Mean absolute percentage error over the validation rows; over the training rows where there are none. */
static double validate(struct run *run, struct family *family)
{
    const struct rt_training_rows *rows = family->validation.count > 0 ? &family->validation : &family->train;
    double sum = 0;
    rt_mlp_infer(&family->net.mlp, run->pool, rows->features, rows->count, family->out);
    for (size_t i = 0; i < rows->count; i++) {
        const struct rt_bound bound = rt_effect_fit_bound(&family->effects, rows, i);
        double latency_us = family->head->latency(family->out + i * (size_t)family->head->outputs, &bound);
        sum += fabs(latency_us - rows->target_us[i]) / rows->target_us[i];
    }
    return 100 * sum / (double)rows->count;
}

static int save_checkpoint(struct run *run, struct family *family)
{
    family->fit.optimizer_steps = family->optimizer.steps;
    run->saved = rt_clock();
    return rt_checkpoint_save(run->checkpoint, run->signature, &run->predictor, &family->fit);
}

static int either(int chosen, int recipe)
{
    return chosen > 0 ? chosen : recipe;
}

/* A head with device effects bounds kernels by what boards sustain; others do not ask. */
static bool is_cleaned(const struct run *run, const struct rt_recipe *recipe)
{
    return rt_throttle_tells(recipe->family) && rt_recipe_has_effects(recipe) && !run->options->keep_all;
}

/* Drops the rows of sessions that look throttled by their training rows; `tell`: and says so. */
static void drop_throttled(const struct run *run, const struct rt_recipe *recipe, int features, bool tell,
                           struct rt_training_rows *train, struct rt_training_rows *validation)
{
    size_t devices = run->dataset->device_count;
    bool *drop = rt_calloc((devices + 1) * RT_SPLIT_COUNT, sizeof *drop);
    for (size_t d = 0; d < devices; d++)
        for (int session = 0; session < RT_SPLIT_COUNT; session++) {
            double utilisation = rt_training_rows_utilisation(train, (int32_t)d, (enum rt_split)session);
            drop[d * RT_SPLIT_COUNT + session] = utilisation < RT_THROTTLED; /* not where it is NaN */
            if (tell && utilisation < RT_THROTTLED)
                fprintf(stderr,
                        "rooftile: warning: %s of %s looks throttled: large kernels reach %.0f%% of what the "
                        "board sustains; its kernels are left out (--keep-all keeps them)\n",
                        rt_net_name(recipe->family, recipe->units), run->dataset->devices[d].name,
                        100 * utilisation);
        }
    rt_training_rows_drop(train, features, drop);
    rt_training_rows_drop(validation, features, drop);
    free(drop);
}

static void leave_out_throttled(struct run *run, struct family *family)
{
    size_t before = family->train.count + family->validation.count;
    drop_throttled(run, family->recipe, family->net.feature_count, !run->options->quiet, &family->train,
                   &family->validation);
    family->left_out.throttled = before - family->train.count - family->validation.count;
}

/* The last layer at 0: a head with device effects then forecasts a multiple of the roofline, whatever the
 * features.
 */
static void start_at_roofline(struct rt_mlp *mlp)
{
    size_t last = mlp->layer[mlp->shape.layers - 1].weight;
    memset(mlp->parameters + last, 0, (mlp->count - last) * sizeof *mlp->parameters);
}

/* Net, rows and optimizer of a recipe; family->train.count is 0 where there is nothing to fit. */
static int family_init(struct run *run, const struct rt_recipe *recipe, size_t index, struct family *family)
{
    const struct rt_train_options *options = run->options;
    *family = (struct family){.recipe = recipe, .index = index, .started = rt_clock()};
    int status = rt_recipe_net(recipe, &family->net);
    if (status != RT_OK)
        return status;
    rt_training_rows_gather(run->dataset, &options->split, run->held_out_device, run->held_out_op,
                            &family->net, &family->train, &family->validation, &family->left_out);
    if (family->train.count == 0)
        return RT_OK;
    family->head = &rt_heads[family->net.head];
    if (is_cleaned(run, recipe))
        leave_out_throttled(run, family);
    if (recipe->rows_per_device > 0) {
        struct rt_random draw;
        rt_random_seed(&draw, options->split.seed, (uint64_t)recipe->family << 32 | STREAM_ROWS);
        rt_training_rows_limit(&family->train, family->net.feature_count, (size_t)recipe->rows_per_device,
                               &draw);
    }
    if (recipe->small_us > 0)
        rt_training_rows_weigh(&family->train, recipe->small_us);
    if (recipe->standardise)
        rt_training_rows_standardise(&family->net, &family->train, &family->validation, recipe->clip_margin);
    family->epochs = either(options->epochs, recipe->epochs);
    family->batch = either(options->batch, recipe->batch);
    family->patience = either(options->patience, recipe->patience);
    family->loss = &rt_losses[rt_loss_find(recipe->loss)];
    struct rt_random random;
    rt_random_seed(&random, options->split.seed, (uint64_t)recipe->family << 32 | STREAM_PARAMETERS);
    rt_mlp_randomize(&family->net.mlp, &random);
    if (family->head->effects)
        start_at_roofline(&family->net.mlp);
    struct rt_adamw adamw = rt_adamw_default;
    adamw.weight_decay = recipe->weight_decay;
    rt_optimizer_init(&family->optimizer, &adamw, family->net.mlp.count);
    size_t batches = (family->train.count + (size_t)family->batch - 1) / (size_t)family->batch;
    family->schedule = rt_schedule_default;
    family->schedule.id = (enum rt_schedule_id)rt_schedule_find(recipe->schedule);
    family->schedule.rate = options->learning_rate > 0 ? options->learning_rate : recipe->learning_rate;
    family->schedule.steps = batches * (size_t)family->epochs;
    if (family->head->effects)
        rt_effect_fit_init(&family->effects, recipe->family, run->dataset, &family->train,
                           recipe->effect_ridge, (size_t)family->batch);
    family->step = rt_step_new(&family->net.mlp, &family->optimizer, run->pool, (size_t)family->batch);
    size_t most = family->validation.count > 0 ? family->validation.count : family->train.count;
    family->order = rt_malloc(family->train.count * sizeof *family->order);
    family->x = rt_malloc((size_t)family->batch * (size_t)family->net.feature_count * sizeof(rt_real));
    family->out = rt_malloc(most * (size_t)family->head->outputs * sizeof(rt_real));
    family->fit = (struct rt_fit){.recipe = index,
                                  .best_mape = INFINITY,
                                  .count = family->net.mlp.count,
                                  .parameters = family->net.mlp.parameters,
                                  .optimizer_state = family->optimizer.state,
                                  .effect_count = family->effects.optimizer.count,
                                  .effects = family->effects.values,
                                  .best_effects = family->effects.best,
                                  .effect_state = family->effects.optimizer.state};
    family->fit.best = rt_malloc(family->fit.count * sizeof(rt_real));
    memcpy(family->fit.best, family->fit.parameters, family->fit.count * sizeof(rt_real));
    return RT_OK;
}

static void family_release(struct family *family)
{
    rt_step_free(family->step);
    rt_optimizer_release(&family->optimizer);
    rt_effect_fit_release(&family->effects);
    rt_family_net_release(&family->net);
    rt_training_rows_release(&family->train);
    rt_training_rows_release(&family->validation);
    free(family->fit.best);
    free(family->order);
    free(family->x);
    free(family->out);
}

/* Puts the family back to where a checkpoint left it. */
static int family_restore(struct run *run, struct family *family, const struct rt_fit *from)
{
    struct rt_fit *fit = &family->fit;
    if (from->count != fit->count || from->effect_count != fit->effect_count)
        return rt_fail(RT_EFORMAT, "%s: holds %zu parameters where the network has %zu: the file is damaged",
                       run->checkpoint, from->count, fit->count);
    memcpy(fit->parameters, from->parameters, fit->count * sizeof(rt_real));
    memcpy(fit->best, from->best, fit->count * sizeof(rt_real));
    memcpy(fit->optimizer_state, from->optimizer_state, 2 * fit->count * sizeof(rt_real));
    family->optimizer.steps = family->effects.optimizer.steps = from->optimizer_steps;
    if (fit->effect_count > 0) {
        memcpy(fit->effects, from->effects, fit->effect_count * sizeof(rt_real));
        memcpy(fit->best_effects, from->best_effects, fit->effect_count * sizeof(rt_real));
        memcpy(fit->effect_state, from->effect_state, 2 * fit->effect_count * sizeof(rt_real));
    }
    fit->epoch = from->epoch;
    fit->best_epoch = from->best_epoch;
    fit->best_mape = from->best_mape;
    return RT_OK;
}

/* Epochs until the last, or until `patience` of them brought nothing (0: always to the last, which is kept),
 * or until Ctrl-C. */
static int fit_family(struct run *run, struct family *family)
{
    struct rt_fit *fit = &family->fit;
    while (fit->epoch < family->epochs &&
           (family->patience == 0 || fit->epoch - fit->best_epoch < family->patience)) {
        double loss = NAN;
        if (!run_epoch(run, family, &loss))
            return RT_EINTERRUPTED;
        fit->epoch++;
        double mape = validate(run, family);
        if (!isfinite(loss) || !isfinite(mape))
            return rt_fail(RT_EFORMAT,
                           "%s: training diverged in epoch %d (loss %g); try a smaller --learning-rate",
                           rt_net_name(family->recipe->family, family->recipe->units), (int)fit->epoch, loss);
        if (mape < fit->best_mape || family->patience == 0) {
            fit->best_mape = mape;
            fit->best_epoch = fit->epoch;
            memcpy(fit->best, fit->parameters, fit->count * sizeof(rt_real));
            if (family->head->effects)
                rt_effect_fit_keep_best(&family->effects);
        }
        if (run->without == NULL && rt_clock() - run->saved >= run->options->checkpoint_seconds) {
            int status = save_checkpoint(run, family);
            if (status != RT_OK)
                return status;
        }
    }
    return RT_OK;
}

/* --- intervals --- */

/* What forecasts of these rows were off by; `prior`: with the prior of their device, else its device effects.
 */
static void add_residuals(struct run *run, const struct family *family, const struct rt_training_rows *rows,
                          bool prior, struct rt_residual *to)
{
    size_t outputs = (size_t)family->head->outputs;
    struct rt_device_effects effects;
    rt_effect_fit_finish(&family->effects, &effects);
    rt_real *out = rt_malloc((rows->count + 1) * outputs * sizeof *out);
    if (rows->count > 0)
        rt_mlp_infer(&family->net.mlp, run->pool, rows->features, rows->count, out);
    for (size_t i = 0; i < rows->count; i++) {
        struct rt_device_effect effect;
        struct rt_bound bound = rows->bounds[i];
        (prior ? rt_device_effects_prior
               : rt_device_effects_of)(&effects, &run->dataset->devices[rows->device[i]], &effect);
        rt_bound_set_effect(&bound, &effect);
        double latency_us = family->head->latency(out + i * outputs, &bound);
        to[i] = (struct rt_residual){.value = fabs(log(rows->target_us[i] / latency_us)),
                                     .group = rows->device[i],
                                     .size = rt_interval_size_of(bound.bound_us)};
    }
    free(out);
    rt_device_effects_release(&effects);
}

static struct rt_residual *more_residuals(struct rt_residual *list, size_t count, size_t more)
{
    return rt_realloc(list, count + more + 1, sizeof *list);
}

/* Rows of one device outside the test split, as the net scales them, and less what looks throttled: training
 * and validation. */
static void gather_device(const struct run *run, const struct rt_recipe *recipe, struct rt_family_net *net,
                          size_t device, struct rt_training_rows rows[2])
{
    bool *others = rt_malloc((run->dataset->device_count + 1) * sizeof *others);
    struct rt_training_rows_left_out left_out;
    for (size_t d = 0; d < run->dataset->device_count; d++)
        others[d] = d != device;
    rt_training_rows_gather(run->dataset, &run->options->split, others, run->held_out_op, net, &rows[0],
                            &rows[1], &left_out);
    if (is_cleaned(run, recipe))
        drop_throttled(run, recipe, net->feature_count, false, &rows[0], &rows[1]);
    free(others);
}

static int family_init(struct run *run, const struct rt_recipe *recipe, size_t index, struct family *family);
static void family_release(struct family *family);

/* Fits the family once more without a device, whose rows then tell what such forecasts are off by. */
static int leave_out(struct run *run, const struct family *family, size_t device,
                     struct rt_residual **residuals, size_t *count)
{
    struct rt_train_options options = *run->options;
    struct run inner = *run;
    struct family fitted;
    struct rt_training_rows rows[2];
    size_t devices = run->dataset->device_count;
    options.quiet = true; /* what there is to warn of was told */
    inner.options = &options;
    inner.without = run->dataset->devices[device].name;
    inner.held_out_device = rt_malloc((devices + 1) * sizeof *inner.held_out_device);
    memcpy(inner.held_out_device, run->held_out_device, devices * sizeof *inner.held_out_device);
    inner.held_out_device[device] = true;
    int status = family_init(&inner, family->recipe, family->index, &fitted);
    if (status == RT_OK && fitted.train.count > 0)
        status = fit_family(&inner, &fitted);
    if (status == RT_OK && fitted.train.count > 0) {
        memcpy(fitted.net.mlp.parameters, fitted.fit.best, fitted.fit.count * sizeof(rt_real));
        gather_device(&inner, family->recipe, &fitted.net, device, rows);
        *residuals = more_residuals(*residuals, *count, rows[0].count + rows[1].count);
        for (int part = 0; part < 2; part++) {
            add_residuals(&inner, &fitted, &rows[part], true, *residuals + *count);
            *count += rows[part].count;
            rt_training_rows_release(&rows[part]);
        }
    }
    run->done_before += (double)fitted.epochs * (double)fitted.train.count;
    run->progress = inner.progress;
    family_release(&fitted);
    free(inner.held_out_device);
    return status;
}

/* The widths of the family's intervals: docs/intervals.md. Its best parameters must be in its net. */
static int fit_intervals(struct run *run, struct family *family)
{
    struct rt_intervals *intervals = &family->net.intervals;
    size_t count = family->validation.count;
    int status = RT_OK;
    struct rt_residual *residuals = more_residuals(NULL, 0, count);
    add_residuals(run, family, &family->validation, false, residuals);
    rt_residual_table(residuals, count, intervals->known);
    count = 0;
    for (size_t d = 0; status == RT_OK && d < run->dataset->device_count; d++) {
        if (family->effects.slot[d] < 0 || family->effects.device_count < 2)
            continue;
        status = leave_out(run, family, d, &residuals, &count);
        intervals->gpus++;
    }
    rt_residual_table(residuals, count, intervals->unseen);
    free(residuals);
    if (status != RT_OK)
        rt_intervals_init(intervals);
    return status;
}

static void move_net(struct run *run, struct rt_family_net *net)
{
    struct rt_predictor *predictor = &run->predictor;
    predictor->nets = rt_realloc(predictor->nets, predictor->net_count + 1, sizeof *net);
    predictor->nets[predictor->net_count++] = *net;
    memset(net, 0, sizeof *net);
}

/* Moves the family's net, with its best parameters, to the predictor. */
static void finish_family(struct run *run, struct family *family)
{
    struct rt_family_net *net = &family->net;
    struct rt_fit *fit = &family->fit;
    memcpy(net->mlp.parameters, fit->best, fit->count * sizeof(rt_real)); /* where it was interrupted */
    if (family->head->effects)
        rt_effect_fit_finish(&family->effects, &net->effects);
    net->rows_train = (int64_t)family->train.count;
    net->rows_validation = (int64_t)family->validation.count;
    net->epochs = fit->epoch;
    net->best_epoch = fit->best_epoch;
    net->validation_mape = fit->best_mape;
    rt_step_free(family->step); /* it borrows the network */
    family->step = NULL;
    move_net(run, net);
}

static void summarise(struct rt_table *summary, const struct family *family, size_t train, size_t validation)
{
    const struct rt_training_rows_left_out *out = &family->left_out;
    size_t all = train + validation + out->held_out + out->test + out->failed + out->unknown_tile +
                 out->no_peak + out->throttled;
    if (summary != NULL && all > 0) /* the data may lack families, and units */
        rt_table_row(summary, rt_net_name(family->recipe->family, family->recipe->units), (long long)train,
                     (long long)validation, (long long)out->held_out, (long long)out->test,
                     (long long)out->failed, (long long)out->unknown_tile, (long long)out->no_peak,
                     (long long)out->throttled, (long long)family->fit.epoch,
                     (long long)family->fit.best_epoch,
                     family->fit.best_epoch > 0 ? family->fit.best_mape : NAN, rt_clock() - family->started);
}

static bool names_family(const struct rt_names *names, const char *family)
{
    for (size_t i = 0; i < names->count; i++)
        if (strcmp(names->name[i], family) == 0)
            return true;
    return names->count == 0;
}

static bool wanted(const struct run *run, size_t recipe)
{
    return strcmp(rt_recipes[recipe].kind, run->options->kind) == 0 &&
           names_family(&run->options->families, rt_families[rt_recipes[recipe].family].name);
}

/* How often the rows of a recipe are run over: leaving each of n devices out makes n - 1 more rounds. */
static double repeated(const struct run *run, const struct rt_recipe *recipe)
{
    double devices = 0;
    for (size_t d = 0; d < run->dataset->device_count; d++)
        devices += !run->held_out_device[d];
    bool intervals = !run->options->no_intervals && rt_recipe_has_effects(recipe);
    return intervals && devices > 1 ? devices : 1;
}

static bool recipe_serves(const struct rt_recipe *recipe, const struct rt_sample *sample)
{
    const struct rt_family_net net = {.family = recipe->family, .units = recipe->units};
    return rt_net_serves(&net, sample->call.op, sample->call.dtype);
}

/* Rows that a recipe is fitted to in an epoch. */
static double training_rows(const struct run *run, const struct rt_recipe *recipe)
{
    const struct rt_dataset *dataset = run->dataset;
    size_t most = recipe->rows_per_device > 0 ? (size_t)recipe->rows_per_device : SIZE_MAX, rows = 0;
    size_t(*taken)[RT_DTYPE_COUNT] = rt_calloc(dataset->device_count + 1, sizeof *taken);
    for (size_t i = 0; i < dataset->sample_count; i++) {
        const struct rt_sample *sample = &dataset->samples[i];
        bool out = run->held_out_device[sample->device] || run->held_out_op[sample->call.op];
        if (recipe_serves(recipe, sample) && !out &&
            rt_split_of(&run->options->split, sample) == RT_PART_TRAIN)
            rows += taken[sample->device][sample->call.dtype]++ < most;
    }
    free(taken);
    return (double)rows;
}

/* Epochs x rows over all families, for the progress bar. A first guess: early stopping shortens it. */
static double total_work(const struct run *run)
{
    double total = 0;
    for (size_t r = 0; r < rt_recipe_count; r++)
        if (wanted(run, r))
            total += training_rows(run, &rt_recipes[r]) * either(run->options->epochs, rt_recipes[r].epochs) *
                     repeated(run, &rt_recipes[r]);
    return total;
}

/* A family without a network: no epochs, nothing to go on from. */
static int fit_baseline(struct run *run, size_t recipe, struct rt_table *summary)
{
    struct family family = {.recipe = &rt_recipes[recipe], .index = recipe, .started = rt_clock()};
    struct rt_family_net *net = &family.net;
    int status = rt_recipe_net(family.recipe, net);
    if (status != RT_OK)
        return status;
    rt_baseline_fit(run->dataset, &run->options->split, run->held_out_device, run->held_out_op, net,
                    &family.left_out);
    run->done_before += training_rows(run, family.recipe);
    rt_progress_update(&run->progress, run->done_before, "%s", rt_families[net->family].name);
    family.fit.epoch = family.fit.best_epoch = net->epochs = net->best_epoch = net->rows_train > 0;
    family.fit.best_mape = net->validation_mape;
    summarise(summary, &family, (size_t)net->rows_train, (size_t)net->rows_validation);
    if (net->rows_train > 0)
        move_net(run, net);
    family_release(&family);
    return RT_OK;
}

static int fit_recipe(struct run *run, size_t recipe, const struct rt_fit *resumed, struct rt_table *summary)
{
    struct family family;
    if (rt_recipes[recipe].forecaster != RT_FORECASTER_NETWORK)
        return fit_baseline(run, recipe, summary);
    int status = family_init(run, &rt_recipes[recipe], recipe, &family);
    if (status == RT_OK && family.train.count == 0) {
        summarise(summary, &family, 0, family.validation.count);
        family_release(&family);
        return RT_OK;
    }
    if (status == RT_OK && resumed != NULL)
        status = family_restore(run, &family, resumed);
    if (status == RT_OK)
        status = fit_family(run, &family);
    run->done_before += (double)family.epochs * (double)family.train.count;
    if (status == RT_OK && family.head->effects && !run->options->no_intervals) {
        memcpy(family.net.mlp.parameters, family.fit.best, family.fit.count * sizeof(rt_real));
        status = fit_intervals(run, &family);
    }
    if (status == RT_OK || (status == RT_EINTERRUPTED && family.fit.best_epoch > 0)) {
        summarise(summary, &family, family.train.count, family.validation.count);
        finish_family(run, &family);
    }
    family_release(&family);
    return status;
}

/* The state between two families: the next recipe, no parameters yet. */
static int save_between(struct run *run, size_t next)
{
    struct rt_fit fit = {.recipe = next, .best_mape = INFINITY};
    run->saved = rt_clock();
    return rt_checkpoint_save(run->checkpoint, run->signature, &run->predictor, &fit);
}

static int fit_all(struct run *run, size_t first, const struct rt_fit *resumed, struct rt_table *summary)
{
    int status = RT_OK;
    run->saved = rt_clock();
    for (size_t r = first; status == RT_OK && r < rt_recipe_count; r++) {
        if (!wanted(run, r))
            continue;
        bool goes_on = resumed != NULL && r == resumed->recipe && resumed->count > 0;
        size_t nets = run->predictor.net_count;
        status = fit_recipe(run, r, goes_on ? resumed : NULL, summary);
        if (status == RT_OK && run->predictor.net_count > nets)
            status = save_between(run, r + 1);
    }
    return status;
}

static char *add_line(char *list, const char *line)
{
    char *longer = rt_format("%s%s%s", list, list[0] ? "\n" : "", line);
    free(list);
    return longer;
}

/* Marks held-out devices and ops; fills the predictor's lists. */
static int hold_out(struct run *run)
{
    const struct rt_train_options *options = run->options;
    struct rt_predictor *predictor = &run->predictor;
    run->held_out_device = rt_calloc(run->dataset->device_count, sizeof *run->held_out_device);
    for (size_t n = 0; n < options->held_out_gpus.count; n++) {
        bool found = false;
        for (size_t d = 0; d < run->dataset->device_count; d++)
            if (rt_name_contains(run->dataset->devices[d].name, options->held_out_gpus.name[n]))
                found = run->held_out_device[d] = true;
        if (!found)
            return rt_fail(RT_ENOTFOUND,
                           "--hold-out-gpu %s: no device of the data has that in its name; `rooftile dataset "
                           "info` lists them",
                           options->held_out_gpus.name[n]);
    }
    for (size_t n = 0; n < options->held_out_ops.count; n++) {
        int op = rt_op_find(options->held_out_ops.name[n]);
        if (op < 0)
            return rt_fail(
                RT_ENOTFOUND,
                "--hold-out-op %s: there is no op of that name; `rooftile dataset info` lists them",
                options->held_out_ops.name[n]);
        run->held_out_op[op] = true;
        predictor->held_out_ops = add_line(predictor->held_out_ops, rt_ops[op].name);
    }
    bool *seen = rt_calloc(run->dataset->device_count, sizeof *seen);
    for (size_t i = 0; i < run->dataset->sample_count; i++)
        seen[run->dataset->samples[i].device] = true;
    for (size_t d = 0; d < run->dataset->device_count; d++) {
        const char *name = run->dataset->devices[d].name;
        if (run->held_out_device[d])
            predictor->held_out_gpus = add_line(predictor->held_out_gpus, name);
        else if (seen[d])
            predictor->devices = add_line(predictor->devices, name);
    }
    free(seen);
    return RT_OK;
}

/* Everything that decides the result. */
static char *make_signature(const struct run *run)
{
    const struct rt_train_options *o = run->options;
    struct rt_text text = {0};
    rt_text_add(&text,
                "%s %s data %s hold out %s %s seed %llu split %.17g %.17g %d threads %zu epochs %d batch %d "
                "patience %d rate %.17g keep %d intervals %d families",
                RT_VERSION, o->kind, run->dataset->uuid, run->predictor.held_out_gpus,
                run->predictor.held_out_ops, (unsigned long long)o->split.seed, o->split.validation,
                o->split.test, o->split.all, rt_threads_size(run->pool), o->epochs, o->batch, o->patience,
                o->learning_rate, o->keep_all, !o->no_intervals);
    for (size_t i = 0; i < o->families.count; i++)
        rt_text_add(&text, " %s", o->families.name[i]);
    return rt_text_take(&text);
}

static int run_init(struct run *run, const struct rt_dataset *dataset, const struct rt_train_options *options)
{
    *run = (struct run){.dataset = dataset, .options = options};
    rt_predictor_init(&run->predictor, options->kind);
    struct rt_predictor *predictor = &run->predictor;
    if (!rt_recipe_kind(options->kind))
        return strcmp(options->kind, "roofline") == 0
                   ? rt_fail(RT_EUSAGE, "\"roofline\" needs no training; `rooftile evaluate --predictor "
                                        "roofline` uses it as it is")
                   : rt_fail(RT_ENOTFOUND,
                             "there is no predictor \"%s\" to train; there are: rooftile, neusight, linear, "
                             "wave-scaling",
                             options->kind);
    int status = hold_out(run);
    if (status != RT_OK)
        return status;
    predictor->data_uuids = add_line(predictor->data_uuids, dataset->uuid);
    predictor->data_sources = add_line(predictor->data_sources, dataset->source);
    predictor->data_licences = add_line(predictor->data_licences, dataset->licence);
    predictor->split = options->split;
    predictor->split.all = false;
    predictor->kept_no_test = options->split.all;
    run->pool = rt_threads_new(options->threads > 0 ? options->threads : rt_threads_processors());
    predictor->threads = (int64_t)rt_threads_size(run->pool);
    run->signature = make_signature(run);
    run->checkpoint = rt_format("%s.checkpoint", options->out);
    return RT_OK;
}

static void run_release(struct run *run)
{
    rt_predictor_release(&run->predictor);
    rt_threads_free(run->pool);
    free(run->held_out_device);
    free(run->signature);
    free(run->checkpoint);
}

/* Takes up the checkpoint where --resume finds one; *found says so. */
static int take_up(struct run *run, struct rt_fit *fit, bool *found)
{
    *found = run->options->resume && access(run->checkpoint, F_OK) == 0;
    if (!*found)
        return RT_OK;
    struct rt_predictor finished;
    int status = rt_checkpoint_load(run->checkpoint, run->signature, &finished, fit);
    if (status != RT_OK)
        return status;
    rt_predictor_release(&run->predictor);
    run->predictor = finished;
    return RT_OK;
}

static int save_result(struct run *run, int status)
{
    bool interrupted = status == RT_EINTERRUPTED;
    if (status != RT_OK && !interrupted)
        return status;
    if (run->predictor.net_count == 0)
        return interrupted
                   ? rt_fail(RT_EINTERRUPTED, "interrupted before the first epoch ended: nothing to save")
                   : rt_fail(RT_EFORMAT,
                             "the data holds nothing to fit \"%s\" to; see the table for what was left out",
                             run->options->kind);
    run->predictor.complete = !interrupted;
    status = rt_predictor_save(&run->predictor, run->options->out);
    if (status != RT_OK)
        return status;
    if (interrupted)
        return rt_fail(RT_EINTERRUPTED,
                       "interrupted: %s holds the best so far; the same command with --resume goes on",
                       run->options->out);
    unlink(run->checkpoint);
    return RT_OK;
}

int rt_train(const struct rt_dataset *dataset, const struct rt_train_options *options,
             struct rt_table *summary)
{
    struct run run;
    struct rt_fit fit = {0};
    bool resumed = false;
    int status = run_init(&run, dataset, options);
    if (status == RT_OK)
        status = take_up(&run, &fit, &resumed);
    if (status == RT_OK) {
        rt_progress_start(&run.progress, "train", total_work(&run), options->quiet);
        status = fit_all(&run, resumed ? fit.recipe : 0, resumed ? &fit : NULL, summary);
        rt_progress_end(&run.progress);
        status = save_result(&run, status);
    }
    rt_checkpoint_release(&fit);
    run_release(&run);
    return status;
}
