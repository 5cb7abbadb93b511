/* Set-up, checkpoint and result of a training. See training.h. */
#include "train/training.h"
#include "base/status.h"
#include "base/temporary.h"
#include "base/version.h"
#include "datasets/dataset_input.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* "a\nb"; frees `list`. */
static char *add_line(char *list, const char *line)
{
    char *longer = rt_format("%s%s%s", list, list[0] ? "\n" : "", line);
    free(list);
    return longer;
}

/* An exact name may leave other boards of the chip in the data. */
static void warn_of_same_chip(const struct rt_training *training, size_t held_out)
{
    const struct rt_device *devices = training->data.dataset->devices;
    for (size_t d = 0; d < training->data.dataset->device_count; d++)
        if (!training->held_out_device[d] && rt_chip_same(&devices[d], &devices[held_out]))
            rt_warn("%s is held out, %s is fitted to and has the same chip; hold out both to see how "
                    "an unknown GPU is forecast",
                    devices[held_out].name, devices[d].name);
}

static int hold_out_gpus(struct rt_training *training)
{
    const struct rt_dataset *dataset = training->data.dataset;
    int status = rt_devices_choose(dataset, rt_field_words("hold_out_gpu").text,
                                   &training->options->held_out_gpus, training->held_out_device);
    for (size_t d = 0; status == RT_OK && d < dataset->device_count; d++)
        if (training->held_out_device[d])
            warn_of_same_chip(training, d);
    return status;
}

static int hold_out_ops(struct rt_training *training)
{
    const struct rt_names *names = &training->options->held_out_ops;
    struct rt_predictor *predictor = &training->predictor;
    for (size_t n = 0; n < names->count; n++) {
        int op = rt_op_find(names->name[n]);
        if (op < 0)
            return rt_fail(
                RT_ENOTFOUND,
                "{hold_out_op} %s: there is no op of that name; `rooftile dataset info` lists them",
                names->name[n]);
        training->held_out_op[op] = true;
        predictor->held_out_ops = add_line(predictor->held_out_ops, rt_ops[op].name);
    }
    return RT_OK;
}

/* The devices that have samples: fitted to, or held out. */
static void list_devices(struct rt_training *training)
{
    const struct rt_dataset *dataset = training->data.dataset;
    struct rt_predictor *predictor = &training->predictor;
    bool *has_samples = rt_calloc(dataset->device_count + 1, sizeof *has_samples);
    for (size_t i = 0; i < dataset->samples.count; i++)
        has_samples[RT_SAMPLE(dataset, i)->device] = true;
    for (size_t d = 0; d < dataset->device_count; d++) {
        const char *name = dataset->devices[d].name;
        if (training->held_out_device[d])
            predictor->held_out_gpus = add_line(predictor->held_out_gpus, name);
        else if (has_samples[d])
            predictor->devices = add_line(predictor->devices, name);
    }
    free(has_samples);
}

/* Everything that decides the result. */
static char *make_signature(const struct rt_training *training)
{
    const struct rt_train_options *o = training->options;
    char *text = rt_format(
        "%s %s data %s hold out %s %s seed %llu split %.17g %.17g %d threads %zu epochs %d batch %d "
        "patience %d rate %.17g keep %d intervals %d families",
        RT_VERSION, o->kind, training->data.dataset->uuid, training->predictor.held_out_gpus,
        training->predictor.held_out_ops, (unsigned long long)o->split.seed, o->split.validation,
        o->split.test, o->split.all, rt_threads_size(training->pool), o->epochs, o->batch, o->patience,
        o->learning_rate, o->keep_all, !o->no_intervals);
    for (size_t i = 0; i < o->families.count; i++)
        text = add_line(text, o->families.name[i]);
    return text;
}

static int check_kind(const char *kind)
{
    if (rt_recipe_kind(kind))
        return RT_OK;
    return strcmp(kind, rt_forecasters[RT_FORECASTER_ROOFLINE].name) == 0
               ? rt_fail(RT_EUSAGE, "\"roofline\" needs no training; `rooftile evaluate --predictor "
                                    "roofline` uses it as it is")
               : rt_fail(RT_ENOTFOUND,
                         "there is no predictor \"%s\" to train; there are: rooftile, neusight, linear, "
                         "wave-scaling",
                         kind);
}

static void describe(struct rt_predictor *predictor, const struct rt_dataset *dataset,
                     const struct rt_split_rule *split)
{
    rt_predictor_add_data(predictor, dataset);
    predictor->split = *split;
    predictor->split.all = false;
    predictor->kept_no_test = split->all;
}

/* Judges what is fitted to, and says what of it is left out. */
static void judge_health(struct rt_training *training)
{
    const struct rt_dataset *dataset = training->data.dataset;
    const struct rt_train_options *options = training->options;
    bool effects = strcmp(options->kind, "rooftile") == 0;
    if (options->keep_all)
        return;
    rt_health_judge(dataset, &training->health);
    training->data.health = &training->health;
    char *left_out = rt_sentence("left out ({keep_all} keeps them)");
    for (size_t d = 0; d < dataset->device_count && !options->quiet; d++)
        if (!training->held_out_device[d])
            rt_health_warn(&training->health, dataset, (int32_t)d, effects ? 0 : 1u << RT_ROW_FAMILY,
                           left_out);
    free(left_out);
}

int rt_training_init(struct rt_training *training, const struct rt_dataset *dataset,
                     const struct rt_train_options *options, struct rt_table *summary)
{
    *training = (struct rt_training){.options = options, .summary = summary};
    rt_predictor_init(&training->predictor, options->kind);
    training->held_out_device = rt_calloc(dataset->device_count + 1, sizeof *training->held_out_device);
    training->data = (struct rt_training_data){
        .dataset = dataset,
        .split = &options->split,
        .held_out_device = training->held_out_device,
        .held_out_op = training->held_out_op,
    };
    int status = check_kind(options->kind);
    if (status == RT_OK)
        status = hold_out_gpus(training);
    if (status == RT_OK)
        status = hold_out_ops(training);
    if (status != RT_OK)
        return status;
    judge_health(training);
    list_devices(training);
    describe(&training->predictor, dataset, &options->split);
    training->pool = rt_threads_new(options->threads > 0 ? options->threads : rt_threads_processors());
    training->predictor.threads = (int64_t)rt_threads_size(training->pool);
    training->signature = make_signature(training);
    training->checkpoint = rt_checkpoint_path(options->out);
    return RT_OK;
}

void rt_training_release(struct rt_training *training)
{
    rt_predictor_release(&training->predictor);
    rt_threads_free(training->pool);
    rt_health_release(&training->health);
    free(training->held_out_device);
    free(training->signature);
    free(training->checkpoint);
}

void rt_training_add_net(struct rt_training *training, struct rt_family_net *net)
{
    struct rt_predictor *predictor = &training->predictor;
    predictor->nets = rt_realloc(predictor->nets, predictor->net_count + 1, sizeof *net);
    predictor->target = net->target;
    predictor->nets[predictor->net_count++] = *net;
    *net = (struct rt_family_net){0};
}

int rt_training_load_checkpoint(struct rt_training *training, struct rt_fit *fit, bool *found)
{
    struct rt_predictor finished;
    *found = training->options->resume && access(training->checkpoint, F_OK) == 0;
    if (!*found)
        return RT_OK;
    int status = rt_checkpoint_load(training->checkpoint, training->signature, &finished, fit);
    if (status != RT_OK)
        return status;
    rt_predictor_release(&training->predictor);
    training->predictor = finished;
    return RT_OK;
}

int rt_training_save_checkpoint(struct rt_training *training, const struct rt_fit *fit)
{
    training->saved = rt_clock();
    return rt_checkpoint_save(training->checkpoint, training->signature, &training->predictor, fit);
}

int rt_training_save(struct rt_training *training, int status)
{
    bool interrupted = status == RT_EINTERRUPTED;
    if (status != RT_OK && !interrupted)
        return status;
    if (training->predictor.net_count == 0)
        return interrupted
                   ? rt_fail(RT_EINTERRUPTED, "interrupted before the first epoch ended: nothing to save")
                   : rt_fail(RT_EFORMAT,
                             "the data holds nothing to fit \"%s\" to; see the table for what was left out",
                             training->options->kind);
    training->predictor.complete = !interrupted;
    status = rt_predictor_save(&training->predictor, training->options->out);
    if (status != RT_OK)
        return status;
    if (interrupted)
        return rt_fail(RT_EINTERRUPTED,
                       "interrupted: %s holds the best so far; the same command with {resume} goes on",
                       training->options->out);
    unlink(training->checkpoint);
    rt_temporaries_clean(training->checkpoint);
    return RT_OK;
}

/* ---- the summary: a row for each net ---- */

/* clang-format off */
const struct rt_column rt_train_columns[] = {
    {"family", NULL, 's', 0}, {"rows_train", "train", 'd', 0}, {"rows_validation", "validation", 'd', 0},
    {"held_out", "held out", 'd', 0}, {"test", "test", 'd', 0}, {"failed", "not timed", 'd', 0},
    {"unknown_tile", "tile unknown", 'd', 0}, {"no_peak", "peak unknown", 'd', 0},
    {"impossible", NULL, 'd', 0}, {"stray", NULL, 'd', 0}, {"throttled", NULL, 'd', 0},
    {"refused", NULL, 'd', 0}, {"repeats", NULL, 'd', 0}, {"epochs", NULL, 'd', 0},
    {"best_epoch", "best", 'd', 0}, {"validation_mape", "validation MAPE %", 'f', 2},
    {"seconds", "s", 'f', 1},
};
/* clang-format on */
const size_t rt_train_column_count = RT_COUNT(rt_train_columns);

void rt_training_summarise(struct rt_training *training, const struct rt_recipe *recipe,
                           const struct rt_training_rows_left_out *left_out, size_t train, size_t validation,
                           const struct rt_fit *fit, double started)
{
    size_t all = train + validation + left_out->held_out + left_out->test + left_out->failed +
                 left_out->unknown_tile + left_out->no_peak + left_out->impossible + left_out->stray +
                 left_out->throttled + left_out->refused + left_out->repeats;
    if (training->summary == NULL || all == 0) /* the data may lack families, and units */
        return;
    rt_table_row(training->summary, rt_net_name(recipe->family, recipe->units), (long long)train,
                 (long long)validation, (long long)left_out->held_out, (long long)left_out->test,
                 (long long)left_out->failed, (long long)left_out->unknown_tile, (long long)left_out->no_peak,
                 (long long)left_out->impossible, (long long)left_out->stray, (long long)left_out->throttled,
                 (long long)left_out->refused, (long long)left_out->repeats, (long long)fit->epoch,
                 (long long)fit->best_epoch, fit->best_epoch > 0 ? fit->best_mape : NAN,
                 rt_clock() - started);
}
