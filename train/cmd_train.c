/* `rooftile train`: fits a predictor to datasets. */
#include "base/options.h"
#include "base/outputs.h"
#include "base/progress.h"
#include "base/report.h"
#include "base/status.h"
#include "datasets/dataset_input.h"
#include "models/predictors/nn/blas.h"
#include "models/predictors/predictor/recipe.h"
#include "train/checkpoint.h"
#include "train/train.h"
#include "train/training.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

struct arguments {
    struct rt_train_options train;
    struct rt_names data;
    bool overwrite, json;
};

/* A checkpoint or a predictor that is not complete was begun by a command that was allowed to. */
static bool goes_on(const struct rt_command_line *line, const char *output)
{
    const struct arguments *arguments = line->options;
    struct rt_predictor predictor;
    char *checkpoint = rt_checkpoint_path(output);
    bool unfinished = access(checkpoint, F_OK) == 0;
    free(checkpoint);
    if (!unfinished && arguments->train.resume && rt_predictor_open(output, &predictor) == RT_OK) {
        unfinished = !predictor.complete;
        rt_predictor_release(&predictor);
    }
    return unfinished && arguments->train.resume;
}

static const struct rt_option options[] = {
    {"output", 'o', "PREDICTOR.h5",
     RT_TEXT(struct arguments, train.out, .required = "say where the predictor goes: -o PREDICTOR.h5",
             .writes = &rt_predictor_kind, .goes_on = goes_on),
     "Where the predictor goes"},
    {"predictor", 'p', "KIND", RT_TEXT(struct arguments, train.kind, .suggests = rt_recipe_suggest),
     "What to fit: rooftile, neusight, linear or wave-scaling"},
    {"family", 0, "NAME",
     RT_LIST(struct arguments, train.families, .check = rt_family_check, .suggests = rt_family_suggest),
     "Fit only this family (default: all of the predictor)"},
    {"hold-out-gpu", 0, "NAME", RT_LIST(struct arguments, train.held_out_gpus, .suggests = rt_device_suggest),
     "Leave out the device of that name, or every one with that word or words in its name"},
    {"hold-out-op", 0, "NAME", RT_LIST(struct arguments, train.held_out_ops), "Leave out this op"},
    {"seed", 's', "N", RT_INTEGER(struct arguments, train.split.seed, 1, INT64_MAX),
     "Seed of split, weights and shuffling"},
    {"validation", 0, "FRACTION", RT_NUMBER(struct arguments, train.split.validation, 0, 0.9),
     "Share of the training rows kept for early stopping"},
    {"split", 0, "FRACTION", RT_NUMBER(struct arguments, train.split.test, 0, 0.9),
     "Share of the shapes that is kept for testing, of those that no source marked"},
    {"no-test", 0, NULL, RT_FLAG(struct arguments, train.split.all),
     "Keep nothing for testing, not even what a source marked so: only devices that were held out can judge "
     "this predictor"},
    {"threads", 't', "N", RT_INTEGER(struct arguments, train.threads, 1, RT_THREADS_MAX),
     "Threads that share a minibatch"},
    {"epochs", 0, "N", RT_INTEGER(struct arguments, train.epochs, 1, 1000000),
     "Passes over the rows, at most (default: 12 or 24 by family; of neusight 15 to 60)"},
    {"batch", 0, "N", RT_INTEGER(struct arguments, train.batch, 1, 65536),
     "Rows of a minibatch (default: 512; of neusight 64 or 128)"},
    {"patience", 0, "N", RT_INTEGER(struct arguments, train.patience, 1, 1000000),
     "Epochs without a better validation MAPE before training stops (default: the last epoch is taken; of "
     "neusight 15)"},
    {"learning-rate", 0, "R", RT_NUMBER(struct arguments, train.learning_rate, 1e-9, 10),
     "Highest learning rate, a step of AdamW (default: 0.003; of neusight 0.001)"},
    {"checkpoint-every", 0, "SECONDS", RT_SECONDS(struct arguments, train.checkpoint_seconds, 0, 1e9),
     "Least time between checkpoints, OUTPUT.checkpoint"},
    {"keep-all", 0, NULL, RT_FLAG(struct arguments, train.keep_all),
     "Fit also to sessions that look throttled and to kernels faster than their roofline (default: named and "
     "left out)"},
    {"no-intervals", 0, NULL, RT_FLAG(struct arguments, train.no_intervals),
     "Do not fit once more without each device: forecasts then carry no intervals"},
    {"resume", 0, NULL, RT_FLAG(struct arguments, train.resume),
     "Go on from OUTPUT.checkpoint if it is there"},
    {"overwrite", 0, NULL, RT_FLAG(struct arguments, overwrite),
     "Replace a predictor that is there already, and without --resume the checkpoint of a training that did "
     "not end"},
    {"json", 'j', NULL, RT_FLAG(struct arguments, json), "Print the summary as JSON"},
    {"quiet", 'q', NULL, RT_FLAG(struct arguments, train.quiet), "No progress on stderr"},
};

static void set_defaults(void *value)
{
    struct arguments *arguments = value;
    arguments->train = rt_train_defaults;
    arguments->train.threads = rt_threads_processors();
}

/* A predictor that was fitted to the test part, too, can be judged by held-out GPUs only. */
static void add_next(struct rt_report *report, const struct rt_train_options *train, const char *data)
{
    rt_report_add_note(report, NULL,
                       "train, validation: what it was fitted to and stopped by; test: kept for `rooftile "
                       "evaluate`; left out: held out, not timed,\ntile unknown, peak unknown (of the GPU in "
                       "that dtype), impossible (faster than the GPU's peaks allow), stray, throttled, "
                       "refused (by the health of their session), repeats (of one kernel, to see drift)");
    bool judged = !train->split.all || train->held_out_gpus.count > 0;
    if (judged)
        rt_report_add_note(report, NULL, "next: rooftile evaluate --predictor %s %s", train->out, data);
    else
        rt_report_add_note(report, NULL, "next: rooftile predict --predictor %s --gpu NAME --model NAME",
                           train->out);
    if (!train->split.all && strcmp(train->kind, "rooftile") == 0)
        rt_report_add_note(report, NULL,
                           "for GPUs that are not in the data, --no-test fits to its test part as well");
}

/* Takes the summary. */
static int print_summary(const struct arguments *arguments, size_t duplicates, struct rt_table *summary)
{
    struct rt_report *report = rt_report_new();
    rt_report_add_table(report, "families", "", summary);
    rt_report_add_text(report, "predictor", NULL, arguments->train.kind);
    rt_report_add_fact(report, "output", json_string(arguments->train.out), "predictor",
                       "%s (OpenBLAS %s kernels)", arguments->train.out, rt_blas_core());
    if (duplicates > 0)
        rt_report_add_note(report, NULL, "%zu rows were in several of the files and count once", duplicates);
    add_next(report, &arguments->train, arguments->data.name[0]);
    return rt_report_end(report, arguments->json);
}

/* The predictor, and the checkpoint beside it. */
static int check_outputs(const struct rt_command_line *line)
{
    const struct arguments *arguments = line->options;
    char *checkpoint = rt_checkpoint_path(arguments->train.out);
    bool is_there = access(checkpoint, F_OK) == 0, replace = arguments->overwrite || arguments->train.resume;
    int status = rt_outputs_check(line);
    if (status == RT_OK && is_there && !replace)
        status = rt_fail(RT_EUSAGE,
                         "%s: is of a training that did not end; go on from it with --resume, or start over "
                         "with --overwrite",
                         checkpoint);
    if (status == RT_OK)
        status = rt_output_check("-o", checkpoint, &rt_checkpoint_kind, replace, &arguments->data);
    free(checkpoint);
    return status;
}

static int train(const struct arguments *arguments)
{
    struct rt_dataset_input input;
    int status = rt_dataset_input_read(&arguments->data, &input);
    if (status == RT_OK) {
        rt_interrupt_catch();
        struct rt_table *summary = rt_table_new(rt_train_columns, rt_train_column_count);
        status = rt_train(&input.dataset, &arguments->train, summary);
        if (status == RT_OK || (status == RT_EINTERRUPTED && rt_table_rows(summary) > 0))
            print_summary(arguments, input.duplicates, summary);
        else
            rt_table_free(summary);
    }
    rt_dataset_input_release(&input);
    return status;
}

static int run(const struct rt_command_line *line)
{
    int status = check_outputs(line);
    return status == RT_OK ? train(line->options) : status;
}

const struct rt_command rt_command_train = {
    .name = "train",
    .also = "fit",
    .brief = "fit a predictor to measurements",
    .operands_usage = "DATA.h5...",
    .about =
        "Fits one network per op family to the samples of DATA.h5 and writes them to one predictor file.",
    .details = "Same data, options, seed and threads give the same bytes. Ctrl-C leaves the best so far in "
               "the output; after Ctrl-C or a crash the same command with --resume goes on where the last "
               "checkpoint was.\n\n"
               "linear and wave-scaling are baselines without a network, fitted in seconds: the options of "
               "training do not apply to them.\n\n"
               "Example: hold the A100 out, then see how wrong the forecasts for it are:\n"
               "  rooftile train data.h5 -o predictor.h5 --hold-out-gpu A100\n"
               "  rooftile evaluate --predictor predictor.h5 data.h5",
    RT_RUNS(run, struct arguments, options),
    .set_defaults = set_defaults,
    .operands = RT_OPERANDS(struct arguments, data, 1, RT_MANY, "at least one dataset, DATA.h5",
                            .reads = rt_reads_path),
};

int rt_train_options_read(const struct rt_names *words, struct rt_train_options *out)
{
    static char name[] = "train", output[] = "--output=-", data[] = "-"; /* both required; not kept */
    char **argv = rt_calloc(words->count + 4, sizeof *argv);
    struct rt_command_line line;
    int argc = 0;
    argv[argc++] = name;
    for (size_t i = 0; i < words->count; i++)
        argv[argc++] = (char *)(uintptr_t)words->name[i];
    argv[argc++] = output;
    argv[argc++] = data;
    int status = rt_command_line_read(&rt_command_train, argc, argv, &line);
    if (status == RT_OK)
        *out = ((struct arguments *)line.options)->train;
    rt_command_line_release(&line);
    free(argv);
    return status;
}
