/* `rooftile train`: fits a predictor to datasets. */
#include "base/progress.h"
#include "base/status.h"
#include "models/nn/blas.h"
#include "models/predictor/recipe.h"
#include "train/train.h"

#include <argp.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int rt_cmd_train(int argc, char **argv);

enum {
    VALIDATION = 256,
    TEST,
    NO_TEST,
    EPOCHS,
    BATCH,
    PATIENCE,
    RATE,
    HOLD_GPU,
    HOLD_OP,
    RESUME,
    CHECKPOINT,
    KEEP_ALL,
    NO_INTERVALS,
    JSON,
    FAMILY
};

static const struct argp_option argument_options[] = {
    {"output", 'o', "PREDICTOR.h5", 0, "Where the predictor goes (required)", 0},
    {"predictor", 'p', "KIND", 0,
     "What to fit: rooftile, neusight, linear or wave-scaling (default rooftile)", 0},
    {"family", FAMILY, "NAME", 0, "Fit only this family; repeatable (default: all of the predictor)", 0},
    {"hold-out-gpu", HOLD_GPU, "NAME", 0, "Leave out every device whose name contains NAME; repeatable", 0},
    {"hold-out-op", HOLD_OP, "NAME", 0, "Leave out this op; repeatable", 0},
    {"seed", 's', "N", 0, "Seed of split, weights and shuffling (default 1)", 0},
    {"validation", VALIDATION, "FRACTION", 0,
     "Share of the training rows kept for early stopping (default 0.1)", 0},
    {"split", TEST, "FRACTION", 0,
     "Share of the shapes that no source marked which is kept for testing (default 0.2)", 0},
    {"no-test", NO_TEST, NULL, 0,
     "Keep nothing for testing, not even what a source marked so: only devices that were held out can judge "
     "this predictor",
     0},
    {"threads", 't', "N", 0, "Threads a minibatch is shared out over (default: every processor)", 0},
    {"epochs", EPOCHS, "N", 0,
     "Most passes over the rows (default: 12; of neusight per family, docs/neusight.md)", 0},
    {"batch", BATCH, "N", 0, "Rows of a minibatch (default 512; of neusight 64 or 128)", 0},
    {"patience", PATIENCE, "N", 0,
     "Epochs without a better validation MAPE before it stops (default: the last epoch is taken; of neusight "
     "15)",
     0},
    {"learning-rate", RATE, "R", 0, "Highest learning rate (default 0.003; of neusight 0.001)", 0},
    {"checkpoint-every", CHECKPOINT, "SECONDS", 0,
     "Least time between checkpoints, OUTPUT.checkpoint (default 5)", 0},
    {"keep-all", KEEP_ALL, NULL, 0, "Fit also to sessions that look throttled (default: named and left out)",
     0},
    {"no-intervals", NO_INTERVALS, NULL, 0,
     "Do not fit once more without each device: forecasts then carry no intervals (docs/intervals.md)", 0},
    {"resume", RESUME, NULL, 0, "Go on from OUTPUT.checkpoint where there is one", 0},
    {"json", JSON, NULL, 0, "Print the summary as JSON", 0},
    {"quiet", 'q', NULL, 0, "No progress on stderr", 0},
    {0},
};

static const char description[] =
    "Fits one network per op family to the samples of DATA.h5 and writes them to one predictor file."
    "\vSame data, options, seed and threads give the same bytes. Ctrl-C leaves the best so far in the "
    "output; after "
    "Ctrl-C or a crash the same command with --resume goes on where the last checkpoint was.\n\n"
    "linear and wave-scaling are baselines without a network, fitted in seconds: no options of training "
    "apply to "
    "them (docs/baselines.md).\n\n"
    "Example: hold the A100 out, then see how wrong the forecasts for it are:\n"
    "  rooftile train data.h5 -o predictor.h5 --hold-out-gpu A100\n"
    "  rooftile evaluate --predictor predictor.h5 data.h5";

struct arguments {
    struct rt_train_options options;
    struct rt_names data;
    bool json;
};

static double real_argument(struct argp_state *state, const char *option, const char *text, double least,
                            double most)
{
    double value = NAN;
    if (rt_argument_real(option, text, least, most, &value) != RT_OK)
        argp_error(state, "%s", rt_error());
    return value;
}

static int64_t integer_argument(struct argp_state *state, const char *option, const char *text, int64_t most)
{
    int64_t value = 1;
    if (rt_argument_integer(option, text, 1, most, &value) != RT_OK)
        argp_error(state, "%s", rt_error());
    return value;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    struct rt_train_options *options = &arguments->options;
    switch (key) {
    case 'o':
        options->out = text;
        break;
    case 'p':
        options->kind = text;
        break;
    case FAMILY:
        if (rt_family_find(text) < 0)
            argp_error(state, "--family: there is no family \"%s\"", text);
        rt_names_add(&options->families, text);
        break;
    case HOLD_GPU:
        rt_names_add(&options->held_out_gpus, text);
        break;
    case HOLD_OP:
        rt_names_add(&options->held_out_ops, text);
        break;
    case 's':
        options->split.seed = (uint64_t)integer_argument(state, "--seed", text, INT64_MAX);
        break;
    case VALIDATION:
        options->split.validation = real_argument(state, "--validation", text, 0, 0.9);
        break;
    case TEST:
        options->split.test = real_argument(state, "--split", text, 0, 0.9);
        break;
    case NO_TEST:
        options->split.all = true;
        break;
    case 't':
        options->threads = (size_t)integer_argument(state, "--threads", text, RT_THREADS_MAX);
        break;
    case EPOCHS:
        options->epochs = (int)integer_argument(state, "--epochs", text, 1000000);
        break;
    case BATCH:
        options->batch = (int)integer_argument(state, "--batch", text, 65536);
        break;
    case PATIENCE:
        options->patience = (int)integer_argument(state, "--patience", text, 1000000);
        break;
    case RATE:
        options->learning_rate = real_argument(state, "--learning-rate", text, 1e-9, 10);
        break;
    case CHECKPOINT:
        options->checkpoint_seconds = real_argument(state, "--checkpoint-every", text, 0, 1e9);
        break;
    case KEEP_ALL:
        options->keep_all = true;
        break;
    case NO_INTERVALS:
        options->no_intervals = true;
        break;
    case RESUME:
        options->resume = true;
        break;
    case JSON:
        arguments->json = true;
        break;
    case 'q':
        options->quiet = true;
        break;
    case ARGP_KEY_ARG:
        rt_names_add(&arguments->data, text);
        break;
    case ARGP_KEY_END:
        if (options->out == NULL)
            argp_error(state, "say where the predictor goes: -o PREDICTOR.h5");
        if (arguments->data.count == 0)
            argp_error(state, "name at least one dataset, DATA.h5");
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

/* "a\nb": provenance of several datasets, a line each; frees `list`. */
static char *join(char *list, const char *more)
{
    char *longer = rt_format("%s\n%s", list, more);
    free(list);
    return longer;
}

/* All datasets as one; uuid, source and licence get a line each. */
static int read_all(const struct rt_names *data, struct rt_dataset *out)
{
    struct rt_dataset whole;
    int status = rt_dataset_read(data->name[0], &whole);
    if (status != RT_OK)
        return status;
    for (size_t i = 1; status == RT_OK && i < data->count; i++) {
        struct rt_dataset next;
        if ((status = rt_dataset_read(data->name[i], &next)) != RT_OK)
            break;
        if ((status = rt_dataset_append(&whole, &next)) != RT_OK)
            rt_fail_context(status, "%s", data->name[i]);
        whole.uuid = join(whole.uuid, next.uuid);
        whole.source = join(whole.source, next.source);
        whole.licence = join(whole.licence, next.licence);
        rt_dataset_release(&next);
    }
    if (status == RT_OK)
        *out = whole;
    else
        rt_dataset_release(&whole);
    return status;
}

/* What was fitted to all there is has nothing left to be judged by, but for GPUs that were held out. */
static void print_next(const struct rt_train_options *options, const char *data)
{
    bool judged = !options->split.all || options->held_out_gpus.count > 0;
    if (judged)
        printf("next: rooftile evaluate --predictor %s %s\n", options->out, data);
    else
        printf("next: rooftile predict --predictor %s --gpu NAME --model NAME\n", options->out);
    if (!options->split.all && strcmp(options->kind, "rooftile") == 0)
        printf("for GPUs that are not in the data, --no-test fits to its test part as well\n");
}

static void print_summary(const struct arguments *arguments, const struct rt_table *summary)
{
    if (arguments->json) {
        json_t *root = json_pack("{s:s, s:s, s:o}", "predictor", arguments->options.kind, "output",
                                 arguments->options.out, "families", rt_table_json(summary));
        rt_json_print(root, stdout);
        return;
    }
    rt_table_text(summary, stdout);
    printf("\npredictor: %s (OpenBLAS %s kernels)\n", arguments->options.out, rt_blas_core());
    print_next(&arguments->options, arguments->data.name[0]);
}

int rt_cmd_train(int argc, char **argv)
{
    struct arguments arguments = {.options = rt_train_defaults};
    const struct argp argp = {argument_options, parse_option, "DATA.h5...", description, NULL, NULL, NULL};
    argp_parse(&argp, argc, argv, 0, NULL, &arguments);
    rt_interrupt_catch();
    struct rt_dataset dataset;
    struct rt_table *summary = rt_table_new(rt_train_columns, rt_train_column_count);
    int status = read_all(&arguments.data, &dataset);
    if (status == RT_OK) {
        status = rt_train(&dataset, &arguments.options, summary);
        if (status == RT_OK || rt_table_rows(summary) > 0)
            print_summary(&arguments, summary);
        rt_dataset_release(&dataset);
    }
    rt_table_free(summary);
    rt_names_release(&arguments.options.families);
    rt_names_release(&arguments.options.held_out_gpus);
    rt_names_release(&arguments.options.held_out_ops);
    rt_names_release(&arguments.data);
    return status;
}
