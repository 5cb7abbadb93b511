/* `rooftile crossval`: train and judge with every GPU, model or op left out in turn. */
#include "base/options.h"
#include "base/report_files.h"
#include "base/progress.h"
#include "base/status.h"
#include "base/threads.h"
#include "models/predictors/predictor/recipe.h"
#include "train/calibrate/calibrate.h"
#include "train/crossval/fold_file.h"
#include "train/crossval/table.h"

#include <stdlib.h>
#include <string.h>

enum { MOST_JOBS = 4096, DEFAULT_KERNELS = 30 };

struct arguments {
    struct rt_crossval_options options;
    struct rt_names only[RT_LEAVE_COUNT], operands, reports, times;
    enum { TARGET_LATENCY, TARGET_ENERGY, TARGETS } target;
    bool resume, dry_run, json;
};

static const char *const targets[TARGETS] = {"latency", "energy"};

/* --- options --- */

static int check_kind(const char *option, const char *text)
{
    if (rt_recipe_kind(text) || !rt_kind_is_trained(text))
        return RT_OK;
    return rt_fail(RT_EUSAGE,
                   "%s %s: `rooftile train` has no kind of that name; \"roofline\" is the bound alone",
                   option, text);
}

static int read_split(const char *option, const char *text, void *value)
{
    bool *protocols = value;
    for (int p = RT_CALIBRATED; p < RT_KERNEL_PROTOCOLS; p++)
        if (strcmp(text, rt_protocols[p].split) == 0) {
            protocols[p] = true;
            return RT_OK;
        }
    return rt_fail(RT_EUSAGE, "%s %s: choose train or test", option, text);
}

static int read_overwrite(const char *option, const char *text, void *value)
{
    if (text != NULL && strcmp(text, "report") != 0)
        return rt_fail(RT_EUSAGE, "%s=%s: write %s, or %s=report", option, text, option, option);
    *(bool *)value |= text == NULL;
    return RT_OK;
}

#define FIELD(reader, member, ...) reader(struct arguments, options.member, __VA_ARGS__)

static const struct rt_option crossval_options[] = {
    {"leave-out", 0, "WHAT",
     FIELD(RT_CHOICE, leave_out, rt_leave_outs,
           .required = "say what a fold leaves out: --leave-out gpu, generation, model or op"),
     "gpu, model or op: a fold for each; generation: one for each generation of GPUs, with everything newer "
     "left out, too"},
    {"target", 't', "WHAT", RT_CHOICE(struct arguments, target, targets),
     "latency, or energy: the energy model fitted to the power of all other GPUs' runs and kernels, then to "
     "one run of the GPU; with --leave-out gpu, and nothing is trained"},
    {"times", 0, "P.h5",
     RT_LIST(struct arguments, times, .reads = rt_predictor_reads, .suggests = rt_predictor_suggest),
     "--target energy: a predictor of times, repeatable: a GPU has those of the first that was not fitted to "
     "it (default pretrained)"},
    {"output", 'o', "DIR", RT_TEXT(struct arguments, options.out), "Folder of what the folds make"},
    {"predictor", 'p', "KIND",
     FIELD(RT_LIST, kinds, .once = true, .check = check_kind, .suggests = rt_recipe_suggest),
     "What `rooftile train` fits, or \"roofline\" alone (default rooftile)"},
    {"gpu", 0, "NAME",
     RT_ITEMS(struct arguments, only[RT_LEAVE_GPU], .specs = true, .suggests = rt_device_suggest),
     "--leave-out gpu: only the fold of the GPU of that name, or those of GPUs with that word or words in "
     "their names"},
    {"generation", 0, "NAME", RT_LIST(struct arguments, only[RT_LEAVE_GENERATION]),
     "--leave-out generation: only this one, or those of a pattern: 'Ada*'"},
    {"model", 0, "NAME", RT_LIST(struct arguments, only[RT_LEAVE_MODEL]),
     "--leave-out model: only this model, or those of a pattern: 'gpt2*'"},
    {"op", 0, "NAME", RT_LIST(struct arguments, only[RT_LEAVE_OP], .suggests = rt_op_suggest),
     "--leave-out op: only this op, or those of a pattern: 'conv*'"},
    {"calibrate", 0, "N", FIELD(RT_INTEGER, calibrate, 0, RT_CALIBRATE_MOST),
     "--leave-out gpu: calibrate every fold to N kernels of each family and dtype, and judge again; 0: do "
     "not (default 30, where the kind of predictor can be calibrated)"},
    {"calibrate-split", 0, "PART", RT_OWN(struct arguments, options.protocols, read_split),
     "Where those kernels are selected from: train, the training part of the held-out GPU (default), or "
     "test, which is what is judged: the selected ones are left out, all others judged; repeatable: a row "
     "for each"},
    {"calibrate-runs", 0, NULL, RT_FLAG(struct arguments, options.runs),
     "--leave-out gpu or model: also judge every whole model after calibration to the runs of all other "
     "models on its GPU, beside the kernels of each --calibrate-split and without"},
    {"seed", 's', "N", FIELD(RT_INTEGER, seed, 1, INT64_MAX), "Seed of `train` and `calibrate`"},
    {"epochs", 0, "N", FIELD(RT_INTEGER, epochs, 1, 1000000),
     "Passes over the rows in `train` (default: the kind's)"},
    {"family", 0, "NAME",
     RT_LIST(struct arguments, options.families, .check = rt_family_check, .suggests = rt_family_suggest),
     "Of `train`: only this family, and no whole models"},
    {"keep-test", 0, NULL, RT_FLAG(struct arguments, options.keep_test),
     "--leave-out gpu: train on the training part of the other GPUs only (default: on all that was measured "
     "on them, for none of it is judged)"},
    {"jobs", 'j', "N", FIELD(RT_INTEGER, jobs, 1, MOST_JOBS),
     "Folds at a time, a thread each (default: every processor); results do not depend on it"},
    {"shard", 0, "I/N", RT_SHARD(struct arguments, options.shard),
     "Only the folds of part I of N, so that several machines share the work in one DIR; the table is made "
     "where all fold files are there"},
    RT_REPORT_OPTION(struct arguments, reports),
    {"overwrite", 0, "[report]", RT_OWN(struct arguments, options.overwrite, read_overwrite),
     "Make everything again, also what DIR has; =report: only replace reports that are there already"},
    {"resume", 0, NULL, RT_FLAG(struct arguments, resume), "Go on from what DIR has: the default"},
    {"dry-run", 0, NULL, RT_FLAG(struct arguments, dry_run), "List the folds and end"},
    {"json", 0, NULL, RT_FLAG(struct arguments, json), "Print JSON instead of text"},
    {"quiet", 'q', NULL, RT_FLAG(struct arguments, options.quiet), "No progress on stderr"},
};

static void set_defaults(void *value)
{
    struct rt_crossval_options *options = &((struct arguments *)value)->options;
    options->out = "crossval-out";
    options->seed = 1;
    options->calibrate = DEFAULT_KERNELS;
    options->jobs = rt_threads_processors();
}

/* Words behind -- go to `train`, but for what the folds decide themselves. */
static int check_train_option(const char *word)
{
    static const char *const own[] = {"output",      "predictor", "family",     "hold-out-gpu",
                                      "hold-out-op", "seed",      "validation", "split",
                                      "threads",     "epochs",    "resume",     "json"};
    size_t length = strcspn(word, "=");
    for (size_t i = 0; i < RT_COUNT(own); i++)
        if (length > 2 && strncmp(word, "--", 2) == 0 && length - 2 <= strlen(own[i]) &&
            strncmp(word + 2, own[i], length - 2) == 0)
            return rt_fail(RT_EUSAGE, "%.*s behind --: crossval itself sets --%s of `train`; leave it out",
                           (int)length, word, own[i]);
    if (strncmp(word, "--", 2) != 0 || length == 2)
        return rt_fail(RT_EUSAGE,
                       "%s behind --: only long options of `rooftile train` go there, written --name=value",
                       word);
    return RT_OK;
}

/* Operands before -- are data. */
static int take_operands(const struct rt_command_line *line, struct arguments *arguments)
{
    int behind = 1;
    while (behind < line->argc && strcmp(line->argv[behind], "--") != 0)
        behind++;
    size_t train = behind < line->argc ? (size_t)(line->argc - behind - 1) : 0;
    for (size_t i = 0; i < arguments->operands.count; i++) {
        const char *word = arguments->operands.name[i];
        bool is_train = i + train >= arguments->operands.count;
        int status = is_train ? check_train_option(word) : RT_OK;
        if (status != RT_OK)
            return status;
        rt_names_add(is_train ? &arguments->options.train : &arguments->options.data, word);
    }
    if (arguments->options.data.count == 0)
        return rt_fail(RT_EUSAGE, "name at least one dataset, DATA.h5, to train and judge on");
    int status = rt_train_options_read(&arguments->options.train, &arguments->options.training);
    return status == RT_OK ? RT_OK : rt_fail_context(status, "behind --");
}

static int check_arguments(const struct rt_command_line *line, struct arguments *arguments)
{
    struct rt_crossval_options *o = &arguments->options;
    for (int what = 0; what < RT_LEAVE_COUNT; what++)
        if (arguments->only[what].count > 0 && what != (int)o->leave_out)
            return rt_fail(RT_EUSAGE, "--%s is for --leave-out %s", rt_leave_outs[what], rt_leave_outs[what]);
    if (o->families.count > 0 && (o->leave_out == RT_LEAVE_MODEL || o->runs))
        return rt_fail(RT_EUSAGE, "--family leaves networks out that whole models need; leave it out with %s",
                       o->runs ? "--calibrate-runs" : "--leave-out model");
    if (rt_given(line, "calibrate") && o->leave_out != RT_LEAVE_GPU)
        return rt_fail(RT_EUSAGE, "--calibrate is about a held-out GPU: give --leave-out gpu with it");
    if (rt_given(line, "calibrate-split") && (o->leave_out != RT_LEAVE_GPU || o->calibrate == 0))
        return rt_fail(RT_EUSAGE, "--calibrate-split is about calibration on a held-out GPU: give "
                                  "--leave-out gpu with it, and no --calibrate 0");
    if (o->runs && o->leave_out == RT_LEAVE_OP)
        return rt_fail(RT_EUSAGE, "--calibrate-runs is about whole models, which no op is held out of: give "
                                  "--leave-out gpu or model with it");
    o->protocols[RT_CALIBRATED] |= !rt_given(line, "calibrate-split");
    o->only = arguments->only[o->leave_out];
    if (o->kinds.count == 0)
        rt_names_add(&o->kinds, "rooftile");
    return RT_OK;
}

/* --- work --- */

static int fail_folds(const struct arguments *arguments, const struct rt_crossval_table *table)
{
    const struct rt_crossval_failure *first = table->failures;
    if (table->failure_count == 0)
        return RT_OK;
    return rt_fail(RT_EIO, "%zu of %zu folds failed%s; the first: %s, %s: %s", table->failure_count,
                   table->crossval->unit_count,
                   arguments->reports.count > 0 ? " and no --report was written" : "",
                   first->unit->fold->name, first->unit->kind, first->why);
}

/* A table that lacks folds replaces no whole one. */
static int print_table(const struct arguments *arguments, const struct rt_crossval_table *table)
{
    struct rt_report *report = rt_crossval_report_table(table);
    return table->failure_count > 0 ? rt_report_end(report, arguments->json)
                                    : rt_report_end_with(report, arguments->json, &arguments->reports);
}

/* Folds of other shards may not be there yet. */
static int finish(const struct arguments *arguments, const struct rt_crossval *crossval)
{
    struct rt_crossval_table table;
    int status = rt_crossval_collect(crossval, &table);
    if (status != RT_OK)
        return status;
    if (table.missing > 0)
        printf("%zu of %zu folds are to be made by other shards; the table is made where all are in %s\n",
               table.missing, crossval->unit_count, crossval->options->out);
    else
        status = print_table(arguments, &table);
    if (status == RT_OK)
        status = fail_folds(arguments, &table);
    rt_crossval_table_release(&table);
    return status;
}

/* ---- energy ---- */

/* What is about folders, training and kernels' times is not given with it. */
static int check_energy(const struct rt_command_line *line, const struct arguments *arguments)
{
    static const char *const others[] = {
        "output",         "predictor", "model",  "op",        "calibrate", "calibrate-split",
        "calibrate-runs", "epochs",    "family", "keep-test", "jobs",      "shard",
        "resume",         "dry-run",   NULL};
    const char *option = rt_given_of(line, others);
    if (option != NULL)
        return rt_fail(RT_EUSAGE, "--%s is about training and times; leave it out with --target energy",
                       option);
    if (arguments->options.leave_out != RT_LEAVE_GPU)
        return rt_fail(RT_EUSAGE, "--target energy leaves GPUs out: give --leave-out gpu with it");
    if (arguments->operands.count == 0)
        return rt_fail(RT_EUSAGE, "name at least one dataset, DATA.h5, with measured power or energy");
    return rt_outputs_check(line);
}

static int run_energy(const struct rt_command_line *line, struct arguments *arguments)
{
    const struct rt_energy_crossval_options options = {.data = arguments->operands,
                                                       .times = arguments->times,
                                                       .only = arguments->only[RT_LEAVE_GPU],
                                                       .seed = arguments->options.seed};
    struct rt_report *report = NULL;
    int status = check_energy(line, arguments);
    if (status == RT_OK)
        status = rt_energy_crossval(&options, &report);
    if (status == RT_OK)
        return rt_report_end_with(report, arguments->json, &arguments->reports);
    rt_report_free(report);
    return status;
}

static int run(const struct rt_command_line *line)
{
    struct arguments *arguments = line->options;
    struct rt_crossval crossval = {0};
    if (arguments->target == TARGET_ENERGY)
        return run_energy(line, arguments);
    if (arguments->times.count > 0)
        return rt_fail(RT_EUSAGE, "--times is about energy: give --target energy with it");
    int status = take_operands(line, arguments);
    if (status == RT_OK)
        status = check_arguments(line, arguments);
    if (status == RT_OK)
        status = arguments->dry_run ? RT_OK : rt_outputs_check(line);
    if (status == RT_OK)
        status = rt_crossval_plan(&arguments->options, &crossval);
    if (status == RT_OK && arguments->dry_run) {
        status = rt_report_end(rt_crossval_report_folds(&crossval), arguments->json);
    } else if (status == RT_OK) {
        rt_interrupt_catch();
        status = rt_crossval_run(&crossval);
        if (status == RT_OK)
            status = finish(arguments, &crossval);
    }
    rt_crossval_release(&crossval);
    rt_names_release(&arguments->options.data);
    rt_names_release(&arguments->options.train);
    return status;
}

const struct rt_command rt_command_crossval = {
    .name = "crossval",
    .brief = "train and evaluate with every GPU, model or op left out in turn",
    .operands_usage = "DATA.h5... [-- TRAIN-OPTION...]",
    .about = "Trains a predictor for every GPU with that GPU held out, evaluates it there, and prints one "
             "table: families and whole models by folds, with mean and worst. --leave-out op does so for "
             "ops; --leave-out model trains once on all GPUs and judges model by model. Options behind a "
             "lone -- go to `rooftile train`.",
    .details =
        "Every fold is a process with one thread and leaves its predictors and errors in DIR/fold-NAME/KIND. "
        "What is complete there and was made from the same data with the same options by the same program is "
        "not made again, so after Ctrl-C or a crash the same command goes on. GPUs of one chip (A100 PCIe "
        "and SXM) are held out together. A fold that fails is reported and the others go on; the exit status "
        "is then 1, and no --report is written.\n\n"
        "Example: how wrong is a predictor on a GPU it never saw, for each GPU?\n"
        "  rooftile crossval data.h5 --leave-out gpu -p neusight --report logo.md\n"
        "Example: the same on four machines that share a folder, then the table\n"
        "  rooftile crossval data.h5 --leave-out gpu -o shared --shard 1/4   # ... 4/4\n"
        "  rooftile crossval data.h5 --leave-out gpu -o shared\n"
        "Example: power and energy of runs on GPUs left out, with times by predictors that do not know them\n"
        "  rooftile crossval runs.h5 --target energy --leave-out gpu --times without-A100.h5 --times "
        "pretrained",
    RT_RUNS(run, struct arguments, crossval_options),
    .operands = RT_OPERANDS(struct arguments, operands, 0, RT_MANY, "at least one dataset, DATA.h5",
                            .reads = rt_reads_path),
    .set_defaults = set_defaults,
};
