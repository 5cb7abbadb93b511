/* `rooftile crossval`: train and judge with every GPU, model or op left out in turn. */
#include "base/options.h"
#include "base/file.h"
#include "base/progress.h"
#include "base/status.h"
#include "base/table.h"
#include "models/predictor/recipe.h"
#include "base/threads.h"
#include "predict/calibrate/calibrate.h"
#include "predict/crossval/crossval.h"
#include "predict/crossval/ranks.h"

#include <argp.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

int rt_cmd_crossval(int argc, char **argv);

enum { MOST_JOBS = 4096, DEFAULT_KERNELS = 30 };

/* GPU, MODEL and OP are in the order of enum rt_leave_out. */
enum {
    GPU = 256,
    MODEL,
    OP,
    LEAVE_OUT,
    CALIBRATE,
    CALIBRATE_SPLIT,
    CALIBRATE_RUNS,
    EPOCHS,
    FAMILY,
    REPORT,
    KEEP_TEST,
    OVERWRITE,
    RESUME,
    DRY_RUN,
    JSON
};

static const struct argp_option argument_options[] = {
    {"leave-out", LEAVE_OUT, "WHAT", 0, "gpu, model or op: a fold for each (required)", 0},
    {"output", 'o', "DIR", 0, "Folder of what the folds make (default crossval-out)", 0},
    {"predictor", 'p', "KIND", 0,
     "What `rooftile train` fits, or \"roofline\" alone; repeatable (default rooftile)", 0},
    {"gpu", GPU, "NAME", 0, "--leave-out gpu: only folds of GPUs whose name contains NAME; repeatable", 0},
    {"model", MODEL, "NAME", 0, "--leave-out model: only models whose name contains NAME; repeatable", 0},
    {"op", OP, "NAME", 0, "--leave-out op: only ops whose name contains NAME; repeatable", 0},
    {"calibrate", CALIBRATE, "N", 0,
     "--leave-out gpu: calibrate every fold with N kernels of each family and dtype, and judge again; 0: do "
     "not "
     "(default 30, where the kind of predictor can be calibrated)",
     0},
    {"calibrate-split", CALIBRATE_SPLIT, "PART", 0,
     "Where those kernels are drawn from: train, the training part of the held-out GPU (default), or test, "
     "which is what is judged: those drawn are left out, all others judged; repeatable: a row for each",
     0},
    {"calibrate-runs", CALIBRATE_RUNS, NULL, 0,
     "--leave-out gpu or model: also judge every whole model after calibration with the runs of all other "
     "models on its GPU, beside the kernels of each --calibrate-split and without",
     0},
    {"seed", 's', "N", 0, "Seed of `train` and `calibrate` (default 1)", 0},
    {"epochs", EPOCHS, "N", 0, "Of `train`", 0},
    {"family", FAMILY, "NAME", 0, "Of `train`: only this family, and no whole models; repeatable", 0},
    {"keep-test", KEEP_TEST, NULL, 0,
     "--leave-out gpu: train on the training part of the other GPUs only (default: on all that was measured "
     "on them, for none of it is judged)",
     0},
    {"jobs", 'j', "N", 0,
     "Folds at a time, a thread each (default: every processor); results do not depend on it", 0},
    {"report", REPORT, "FILE", 0, "Also write the table: .md or .json by its ending; repeatable", 0},
    {"overwrite", OVERWRITE, NULL, 0, "Make everything again, also what DIR has", 0},
    {"resume", RESUME, NULL, 0, "Go on from what DIR has: the default", 0},
    {"dry-run", DRY_RUN, NULL, 0, "List the folds and end", 0},
    {"json", JSON, NULL, 0, "Print JSON instead of text", 0},
    {"quiet", 'q', NULL, 0, "No progress on stderr", 0},
    {0},
};

static const char description[] =
    "Trains a predictor for every GPU with that GPU held out, evaluates it there, and prints one table: "
    "families and whole models by folds, with mean and worst. --leave-out op does so for ops; --leave-out "
    "model trains once on all GPUs and judges model by model. Options behind a lone -- go to `rooftile "
    "train`."
    "\vEvery fold runs `rooftile train`, `calibrate` and `evaluate` with one thread in DIR/fold-NAME/KIND, "
    "where "
    "their commands, outputs and messages are kept. What is complete there and was made from the same data "
    "with the same options by the same program is not made again, so after Ctrl-C or a crash the same "
    "command goes on. GPUs of one chip (A100 PCIe and SXM) are held out together. A fold that fails is told "
    "and the others go on; the exit status is then 1.\n\n"
    "Started by mpirun, rank r of n takes the folds f with f % n = r; DIR must be on a file system that all "
    "ranks see. docs/evaluate.md has the protocol.\n\n"
    "Example: how wrong is a predictor on a GPU it never saw, for each GPU?\n"
    "  rooftile crossval data.h5 --leave-out gpu -p neusight --report logo.md";

struct arguments {
    struct rt_crossval_options options;
    struct rt_names only[RT_LEAVE_COUNT], reports;
    bool leave_out_given, calibrate_given, dry_run, json;
};

static int parse_leave_out(const char *text, struct arguments *arguments)
{
    for (int what = 0; what < RT_LEAVE_COUNT; what++)
        if (strcmp(text, rt_leave_outs[what]) == 0) {
            arguments->options.leave_out = (enum rt_leave_out)what;
            arguments->leave_out_given = true;
            return RT_OK;
        }
    return rt_fail(RT_EUSAGE, "--leave-out %s: choose gpu, model or op", text);
}

static int parse_kind(const char *text, struct rt_names *kinds)
{
    for (size_t i = 0; i < kinds->count; i++)
        if (strcmp(kinds->name[i], text) == 0)
            return rt_fail(RT_EUSAGE, "--predictor %s: is named twice; name it once", text);
    if (!rt_recipe_kind(text) && strcmp(text, "roofline") != 0)
        return rt_fail(
            RT_EUSAGE,
            "--predictor %s: `rooftile train` has no kind of that name; \"roofline\" is the bound alone",
            text);
    rt_names_add(kinds, text);
    return RT_OK;
}

static int parse_calibrate_split(const char *text, struct rt_crossval_options *options)
{
    for (int p = RT_CALIBRATED; p < RT_KERNEL_PROTOCOLS; p++)
        if (strcmp(text, rt_protocols[p].split) == 0) {
            options->protocols[p] = true;
            return RT_OK;
        }
    return rt_fail(RT_EUSAGE, "--calibrate-split %s: choose train or test", text);
}

static int parse_family(const char *text, struct rt_names *families)
{
    if (rt_family_find(text) < 0)
        return rt_fail(RT_EUSAGE,
                       "--family %s: there is no family of that name; bmm, linear, elementwise, "
                       "softmax and layernorm are some",
                       text);
    rt_names_add(families, text);
    return RT_OK;
}

static int parse_report(const char *text, struct rt_names *reports)
{
    const char *ending = strrchr(text, '.');
    if (ending == NULL || (strcmp(ending, ".md") != 0 && strcmp(ending, ".json") != 0))
        return rt_fail(RT_EUSAGE, "--report %s: name a file that ends in .md or .json", text);
    rt_names_add(reports, text);
    return RT_OK;
}

/* What the folds decide themselves. */
static int parse_train_option(const char *text, struct rt_names *train)
{
    static const char *const own[] = {"output",      "predictor", "family",     "hold-out-gpu",
                                      "hold-out-op", "seed",      "validation", "split",
                                      "threads",     "epochs",    "resume",     "json"};
    size_t length = strcspn(text, "=");
    for (size_t i = 0; i < RT_COUNT(own); i++)
        if (length > 2 && strncmp(text, "--", 2) == 0 && length - 2 <= strlen(own[i]) &&
            strncmp(text + 2, own[i], length - 2) == 0)
            return rt_fail(RT_EUSAGE, "%.*s behind --: crossval itself tells `train` its --%s; leave it out",
                           (int)length, text, own[i]);
    if (strncmp(text, "--", 2) != 0 || length == 2)
        return rt_fail(RT_EUSAGE,
                       "%s behind --: only long options of `rooftile train` go there, written "
                       "--name=value",
                       text);
    rt_names_add(train, text);
    return RT_OK;
}

static int check_arguments(struct arguments *arguments)
{
    struct rt_crossval_options *options = &arguments->options;
    if (options->data.count == 0)
        return rt_fail(RT_EUSAGE, "name at least one dataset, DATA.h5, to train and judge on");
    if (!arguments->leave_out_given)
        return rt_fail(RT_EUSAGE, "say what a fold leaves out: --leave-out gpu, model or op");
    for (int what = 0; what < RT_LEAVE_COUNT; what++)
        if (arguments->only[what].count > 0 && what != (int)options->leave_out)
            return rt_fail(RT_EUSAGE, "--%s is for --leave-out %s", rt_leave_outs[what], rt_leave_outs[what]);
    if (options->leave_out == RT_LEAVE_MODEL && options->families.count > 0)
        return rt_fail(RT_EUSAGE, "--family leaves networks out that whole models need; leave it out with "
                                  "--leave-out model");
    if (arguments->calibrate_given && options->leave_out != RT_LEAVE_GPU)
        return rt_fail(RT_EUSAGE, "--calibrate is about a held-out GPU: give --leave-out gpu with it");
    bool split_given = options->protocols[RT_CALIBRATED] || options->protocols[RT_CALIBRATED_ALIKE];
    if (split_given && (options->leave_out != RT_LEAVE_GPU || options->calibrate == 0))
        return rt_fail(RT_EUSAGE,
                       "--calibrate-split is about calibration on a held-out GPU: give --leave-out "
                       "gpu with it, and no --calibrate 0");
    if (options->runs && options->leave_out == RT_LEAVE_OP)
        return rt_fail(RT_EUSAGE, "--calibrate-runs is about whole models, which no op is held out of: give "
                                  "--leave-out gpu or model with it");
    if (options->runs && options->families.count > 0)
        return rt_fail(RT_EUSAGE, "--family leaves networks out that whole models need; leave it out with "
                                  "--calibrate-runs");
    if (!split_given)
        options->protocols[RT_CALIBRATED] = true;
    options->only = arguments->only[options->leave_out];
    if (options->kinds.count == 0)
        rt_names_add(&options->kinds, "rooftile");
    return RT_OK;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    struct rt_crossval_options *options = &arguments->options;
    int64_t jobs = 0;
    int status = RT_OK;
    switch (key) {
    case LEAVE_OUT:
        return parse_leave_out(text, arguments);
    case 'o':
        options->out = text;
        break;
    case 'p':
        return parse_kind(text, &options->kinds);
    case GPU:
    case MODEL:
    case OP:
        rt_names_add(&arguments->only[key - GPU], text);
        break;
    case CALIBRATE:
        arguments->calibrate_given = true;
        return rt_argument_integer("--calibrate", text, 0, RT_CALIBRATE_MOST, &options->calibrate);
    case CALIBRATE_SPLIT:
        return parse_calibrate_split(text, options);
    case CALIBRATE_RUNS:
        options->runs = true;
        break;
    case 's':
        return rt_argument_integer("--seed", text, 1, INT64_MAX, &options->seed);
    case EPOCHS:
        return rt_argument_integer("--epochs", text, 1, 1000000, &options->epochs);
    case FAMILY:
        return parse_family(text, &options->families);
    case 'j':
        if ((status = rt_argument_integer("--jobs", text, 1, MOST_JOBS, &jobs)) == RT_OK)
            options->jobs = (size_t)jobs;
        return status;
    case REPORT:
        return parse_report(text, &arguments->reports);
    case KEEP_TEST:
        options->keep_test = true;
        break;
    case OVERWRITE:
        options->overwrite = true;
        break;
    case RESUME:
        break;
    case DRY_RUN:
        arguments->dry_run = true;
        break;
    case JSON:
        arguments->json = true;
        break;
    case 'q':
        options->quiet = true;
        break;
    case ARGP_KEY_ARG:
        if (state->quoted > 0 && state->next > state->quoted) /* behind -- */
            return parse_train_option(text, &options->train);
        rt_names_add(&options->data, text);
        break;
    case ARGP_KEY_END:
        return check_arguments(arguments);
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static int write_report(const struct rt_crossval_table *table, const char *path)
{
    FILE *file;
    char *temporary;
    int status = rt_file_create(path, &file, &temporary);
    if (status != RT_OK)
        return status;
    if (strcmp(strrchr(path, '.'), ".json") == 0)
        rt_json_print(rt_crossval_json(table), file);
    else
        rt_crossval_markdown(table, file);
    return rt_file_finish(file, temporary, path);
}

static int tell_failures(const struct rt_crossval *crossval)
{
    size_t failed = 0;
    char *first = NULL;
    for (size_t u = 0; u < crossval->unit_count; u++) {
        const struct rt_unit *unit = &crossval->units[u];
        const struct rt_fold_step *step;
        char *message;
        if (!rt_unit_failure(unit, &step, &message))
            continue;
        if (failed++ == 0)
            first = rt_format("%s, %s: %s: %s", unit->fold->name, unit->kind, step->name, message);
        free(message);
    }
    if (failed == 0)
        return RT_OK;
    int status =
        rt_fail(RT_EIO, "%zu of %zu folds failed; the first: %s", failed, crossval->unit_count, first);
    free(first);
    return status;
}

static int print_table(const struct arguments *arguments, const struct rt_crossval *crossval)
{
    struct rt_crossval_table table;
    int status = rt_crossval_collect(crossval, &table);
    if (status != RT_OK)
        return status;
    for (size_t i = 0; status == RT_OK && i < arguments->reports.count; i++)
        status = write_report(&table, arguments->reports.name[i]);
    if (status == RT_OK && arguments->json)
        rt_json_print(rt_crossval_json(&table), stdout);
    else if (status == RT_OK)
        rt_crossval_text(&table, stdout);
    rt_crossval_table_release(&table);
    return status == RT_OK ? tell_failures(crossval) : status;
}

static void print_list(const struct arguments *arguments, const struct rt_crossval *crossval)
{
    if (arguments->json)
        rt_json_print(rt_crossval_list_json(crossval), stdout);
    else
        rt_crossval_list(crossval, stdout);
}

static int run(const struct arguments *arguments, const struct rt_ranks *ranks)
{
    struct rt_crossval crossval;
    int lock = -1, status = rt_crossval_plan(&arguments->options, &crossval);
    bool first = ranks->rank == 0, work = !arguments->dry_run;
    if (status == RT_OK && work && first)
        status = rt_crossval_lock(arguments->options.out, &lock);
    if (status == RT_OK && work)
        status = rt_crossval_run(&crossval, ranks->rank, ranks->size);
    status = rt_ranks_agree(ranks, status);
    if (status == RT_OK && first && work)
        status = print_table(arguments, &crossval);
    else if (status == RT_OK && first)
        print_list(arguments, &crossval);
    if (lock >= 0)
        close(lock);
    rt_crossval_release(&crossval);
    return status;
}

static size_t default_jobs(void)
{
    size_t processors = rt_threads_processors(), ranks = (size_t)rt_ranks_local();
    return processors > ranks ? processors / ranks : 1;
}

int rt_cmd_crossval(int argc, char **argv)
{
    struct arguments arguments = {
        .options = {.out = "crossval-out", .seed = 1, .calibrate = DEFAULT_KERNELS, .jobs = default_jobs()}};
    const struct argp argp = {
        argument_options, parse_option, "DATA.h5... [-- TRAIN-OPTION...]", description, NULL, NULL, NULL};
    struct rt_ranks ranks = {.size = 1};
    int status = argp_parse(&argp, argc, argv, ARGP_IN_ORDER, NULL, &arguments);
    if (status == RT_OK)
        status = rt_ranks_start(&ranks);
    if (status == RT_OK) {
        rt_interrupt_catch(); /* after MPI, which has handlers of its own */
        status = run(&arguments, &ranks);
        rt_ranks_finish(&ranks);
    }
    struct rt_names *lists[] = {
        &arguments.options.data,         &arguments.options.kinds,    &arguments.options.families,
        &arguments.options.train,        &arguments.reports,          &arguments.only[RT_LEAVE_GPU],
        &arguments.only[RT_LEAVE_MODEL], &arguments.only[RT_LEAVE_OP]};
    for (size_t i = 0; i < RT_COUNT(lists); i++)
        rt_names_release(lists[i]);
    return status;
}
