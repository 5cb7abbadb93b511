/* `rooftile collect`: measures kernels on the devices of this machine. */
#include "collect/collect.h"
#include "collect/estimate.h"
#include "collect/list_backends.h"
#include "collect/model_report.h"
#include "collect/model_run.h"
#include "base/options.h"
#include "base/progress.h"
#include "base/status.h"
#include "base/table.h"

#include <argp.h>
#include <ctype.h>
#include <libgen.h>
#include <math.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int rt_cmd_collect(int argc, char **argv);

enum {
    BACKEND = 256,
    DEVICE,
    GPU,
    SM_SHARE,
    SHARD,
    ENERGY,
    HANG_LIMIT,
    PLAN,
    COUNT,
    MODEL,
    BATCH,
    SEQUENCE,
    MODE,
    OPS,
    DTYPES,
    BUDGET,
    REL_ERROR,
    MAX_TIME,
    CACHE,
    LIKE,
    OVERWRITE,
    LIST,
    DRY_RUN,
    FAULTS,
    JSON
};

static const struct argp_option argument_options[] = {
    {"output", 'o', "OUT.h5", 0, "Where the dataset goes (required); OUT.h5.parts holds it until it is whole",
     0},
    {"backend", BACKEND, "NAME", 0, "Where kernels run: see --list (default cpu)", 0},
    {"device", DEVICE, "LIST", 0, "Devices of the backend; of cpu, numbers of threads (default 1,all)", 0},
    {"gpu", GPU, "LIST", 0, "The same, of GPUs: all, or numbers such as 0,1 (default all, side by side)", 0},
    {"sm-share", SM_SHARE, "LIST", 0,
     "Measure on parts of a GPU: percents of its SMs, such as 25,50,100, each a device of its own", 0},
    {"plan", PLAN, "PLAN", 0,
     "quick: a minute on a CPU; kernels: what a predictor of GPUs is trained on; models: every kernel of the "
     "zoo's models; calibrate: the few shapes that `rooftile calibrate` learns a GPU from; or a file with a "
     "line per shape: bmm,batch=8,m=64,n=64,k=64,dtype=bf16 (default quick)",
     0},
    {"count", COUNT, "N", 0,
     "Only the first shapes of the plan (default: of quick 2000, of kernels 4000, else all)", 0},
    {"model", MODEL, "NAME", 0,
     "Instead of a plan: the kernels of a model (`rooftile graph --list`, or a config.json), each alone and "
     "then all in order, as a workload; with --batch, --seq, --mode and one of --dtypes",
     0},
    {"batch", BATCH, "N", 0, "Sequences of the model's step (default 1)", 0},
    {"seq", SEQUENCE, "N", 0, "Tokens of each (default 1024, or as many as the model has positions)", 0},
    {"mode", MODE, "MODE", 0, "inference, or training: forward and backward pass (default inference)", 0},
    {"ops", OPS, "LIST", 0, "Only these ops or families (default: all that the backend can run)", 0},
    {"dtypes", DTYPES, "LIST", 0,
     "Only these dtypes, such as fp32,bf16 (default: of kernels all that the backend can run, else fp32)", 0},
    {"dtype", 0, NULL, OPTION_ALIAS, NULL, 0},
    {"seed", 's', "N", 0, "Seed of the quick and the kernels plan and of the operands (default 1)", 0},
    {"budget", BUDGET, "TIME", 0,
     "Stop measuring after this time of this run: 60s, 8m, 2h (default: no limit)", 0},
    {"rel-error", REL_ERROR, "SHARE", 0, "Measure until the median is known this well (default 0.005)", 0},
    {"max-time", MAX_TIME, "TIME", 0, "Give up on that after this time per kernel (default 200ms)", 0},
    {"energy", ENERGY, NULL, 0, "Also run each kernel long enough to read the device's energy counter", 0},
    {"shard", SHARD, "I/N", 0,
     "Only every N-th shape, from the I-th: N machines measure a plan, and `rooftile dataset merge --sort` "
     "makes one dataset of theirs",
     0},
    {"hang-limit", HANG_LIMIT, "TIME", 0,
     "Take a kernel for hung after this time without a sign of life (default 60s, more for long kernels)", 0},
    {"cache", CACHE, "STATE", 0,
     "cold: operands rotate through more than the cache; warm: they stay; both: one measurement of each "
     "(default: both, of the cpu backend cold)",
     0},
    {"like", LIKE, "DATA.h5", 0,
     "Take the devices' descriptors from an earlier dataset, so that the two merge; with --dry-run also a "
     "device's name: estimates for it",
     0},
    {"overwrite", OVERWRITE, NULL, 0, "Replace an output, or parts of another collection, that is there", 0},
    {"list", LIST, NULL, 0,
     "List backends, devices and what they say of themselves, and what can be measured, then stop", 0},
    {"dry-run", DRY_RUN, NULL, 0, "Count shapes, memory and time, then stop", 0},
    {"faults", FAULTS, "LIST", 0,
     "Faults of the synthetic backend, as shares of shapes: "
     "oom=0.05,noise=0.1,throttle=0.02,lost=0.001,hang=0.001,crash=0.001; slow=5: milliseconds per kernel",
     0},
    {"json", JSON, NULL, 0, "Print tables as JSON", 0},
    {"quiet", 'q', NULL, 0, "No progress on stderr", 0},
    {0},
};

static const char description[] =
    "Measures the kernels of a plan, each on every device, and writes a dataset."
    "\vThe plan is ordered so that it may be stopped anywhere. What is measured is saved every few seconds: "
    "after Ctrl-C, kill -9 or a power cut the same command goes on where it was. A kernel that crashes, "
    "hangs "
    "or loses its device is marked, and the rest goes on.\n\n"
    "Example: a minute on this machine, where one thread and all threads are two devices:\n"
    "  rooftile collect -o cpu.h5 --budget 60s";

struct arguments {
    struct rt_collect_options options;
    const struct rt_backend *backend;
    const char *backend_name, *plan, *ops, *dtypes;
    size_t count;              /* 0: as many as is usual for the plan */
    struct rt_model_step step; /* model NULL: none */
    bool step_given;           /* --batch, --seq or --mode */
    bool list, dry_run, json, cache_given;
};

/* "200ms", "60s", "8m", "2h", "1.5" (seconds); negative where it is none of these. */
static double parse_time(const char *text)
{
    static const struct {
        const char *suffix;
        double seconds;
    } units[] = {{"ms", 1e-3}, {"s", 1}, {"m", 60}, {"h", 3600}, {"", 1}};
    size_t length = strlen(text), digits = length;
    while (digits > 0 && isalpha((unsigned char)text[digits - 1]))
        digits--;
    double value;
    if (rt_parse_real(text, digits, &value) != 0)
        return -1;
    for (size_t u = 0; u < RT_COUNT(units); u++)
        if (strcmp(text + digits, units[u].suffix) == 0)
            return value * units[u].seconds;
    return -1;
}

static double time_argument(struct argp_state *state, const char *option, const char *text)
{
    double seconds = parse_time(text);
    if (!(seconds >= 0))
        argp_error(state, "%s must be a time such as 200ms, 60s, 8m or 2h, not \"%s\"", option, text);
    return seconds;
}

static int64_t integer_argument(struct argp_state *state, const char *option, const char *text, int64_t least,
                                int64_t most)
{
    int64_t value = least;
    if (rt_argument_integer(option, text, least, most, &value) != RT_OK)
        argp_error(state, "%s", rt_error());
    return value;
}

static double share_argument(struct argp_state *state, const char *option, const char *text)
{
    double value = 1;
    if (rt_argument_real(option, text, 1e-6, 1, &value) != RT_OK)
        argp_error(state, "%s", rt_error());
    return value;
}

/* "2/3": the second of three. */
static void parse_shard(struct argp_state *state, const char *text, struct rt_collect_options *options)
{
    const char *slash = strchr(text, '/');
    int64_t shard = 0, shards = 0;
    if (slash == NULL || rt_parse_integer(text, (size_t)(slash - text), &shard) != 0 ||
        rt_parse_integer(slash + 1, strlen(slash + 1), &shards) != 0 || shard < 1 || shard > shards ||
        shards > 1000000)
        argp_error(state, "--shard must be I/N with I from 1 to N, such as 1/4, not \"%s\"", text);
    options->shard = (size_t)shard;
    options->shards = (size_t)shards;
}

static error_t parse_model(int key, char *text, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    struct rt_model_step *step = &arguments->step;
    int mode = RT_INFERENCE;
    switch (key) {
    case MODEL:
        step->model = text;
        return 0;
    case BATCH:
        step->batch = integer_argument(state, "--batch", text, 1, 1 << 24);
        break;
    case SEQUENCE:
        step->sequence = integer_argument(state, "--seq", text, 1, 1 << 24);
        break;
    case MODE:
        if (rt_argument_choice("--mode", text, rt_modes, RT_MODE_COUNT, &mode) != RT_OK)
            argp_error(state, "%s", rt_error());
        step->training = mode == RT_TRAINING;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    arguments->step_given = true;
    return 0;
}

/* A model is a plan of its own, and is run on one machine as a whole. */
static void check_model(struct argp_state *state)
{
    const struct arguments *arguments = state->input;
    if (arguments->step.model == NULL && arguments->step_given)
        argp_error(state, "--batch, --seq and --mode are about --model; give one");
    if (arguments->step.model == NULL)
        return;
    if (arguments->plan != NULL || arguments->ops != NULL || arguments->count > 0)
        argp_error(state, "--model is all of a model's kernels; leave --plan, --ops and --count out");
    if (arguments->options.shards > 1)
        argp_error(state, "--model runs as a whole; leave --shard out");
}

static error_t parse_measuring(int key, char *text, struct argp_state *state)
{
    struct rt_collect_options *options = &((struct arguments *)state->input)->options;
    switch (key) {
    case BUDGET:
        options->budget_s = time_argument(state, "--budget", text);
        break;
    case REL_ERROR:
        options->stopping.rel_error = share_argument(state, "--rel-error", text);
        break;
    case MAX_TIME:
        options->stopping.max_time_s = time_argument(state, "--max-time", text);
        break;
    case CACHE:
        ((struct arguments *)state->input)->cache_given = true;
        if (strcmp(text, "cold") != 0 && strcmp(text, "warm") != 0 && strcmp(text, "both") != 0)
            argp_error(state, "--cache must be cold, warm or both, not \"%s\"", text);
        options->cache = strcmp(text, "cold") == 0   ? RT_CACHE_COLD
                         : strcmp(text, "warm") == 0 ? RT_CACHE_WARM
                                                     : RT_CACHE_BOTH;
        break;
    case FAULTS:
        options->backend.faults = text;
        break;
    case GPU:
        options->backend.devices = strcmp(text, "all") != 0 ? text : NULL;
        break;
    case SM_SHARE:
        options->backend.sm_shares = text;
        break;
    case ENERGY:
        options->energy = true;
        break;
    case SHARD:
        parse_shard(state, text, options);
        break;
    case HANG_LIMIT:
        options->hang_limit_s = time_argument(state, "--hang-limit", text);
        if (options->hang_limit_s <= 0)
            argp_error(state, "--hang-limit must be longer than 0");
        break;
    case LIKE:
        options->like = text;
        break;
    default:
        return ARGP_ERR_UNKNOWN;
    }
    return 0;
}

static error_t parse_option(int key, char *text, struct argp_state *state)
{
    struct arguments *arguments = state->input;
    struct rt_collect_options *options = &arguments->options;
    switch (key) {
    case 'o':
        options->output = text;
        break;
    case BACKEND:
        arguments->backend_name = text;
        break;
    case DEVICE:
        options->backend.devices = text;
        break;
    case PLAN:
        arguments->plan = text;
        break;
    case COUNT:
        arguments->count = (size_t)integer_argument(state, "--count", text, 1, 1000000);
        break;
    case OPS:
        arguments->ops = text;
        break;
    case DTYPES:
        arguments->dtypes = text;
        break;
    case 's':
        options->backend.seed = (uint64_t)integer_argument(state, "--seed", text, 0, INT64_MAX);
        break;
    case OVERWRITE:
        options->overwrite = true;
        break;
    case LIST:
        arguments->list = true;
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
        argp_error(state, "\"%s\" is not an option; the output is named with -o", text);
        break;
    case ARGP_KEY_END:
        if (options->output == NULL && !arguments->list && !arguments->dry_run)
            argp_error(state, "say where the dataset goes: -o OUT.h5");
        check_model(state);
        break;
    default:
        return parse_model(key, text, state) == 0 ? 0 : parse_measuring(key, text, state);
    }
    return 0;
}

/* ---- --dry-run ---- */

static void dry_json(const struct rt_plan *plan, const struct rt_estimate *estimate, struct rt_table *table)
{
    json_t *json =
        json_pack("{s:o, s:I, s:I, s:o, s:I}", "rows", rt_table_json(table), "shapes",
                  (json_int_t)estimate->shapes, "kernels", (json_int_t)estimate->kernels, "estimated_s",
                  rt_json_number(estimate->seconds), "duplicates", (json_int_t)plan->duplicates);
    rt_json_print(json, stdout);
}

static void dry_text(const struct rt_plan *plan, const struct rt_estimate *estimate, struct rt_table *table)
{
    rt_table_text(table, stdout);
    printf("%zu shapes, %zu kernels", estimate->shapes, estimate->kernels);
    if (estimate->devices > 0)
        printf(", about %.0f s", estimate->seconds);
    if (plan->duplicates > 0)
        printf("; %zu repeated shapes are left out", plan->duplicates);
    putchar('\n');
    if (estimate->devices == 0)
        printf("how long they take is not known here: %s; --like H100 estimates for such a device\n",
               estimate->why);
}

static int run_dry(const struct arguments *arguments, const struct rt_plan *plan)
{
    static const struct rt_column columns[] = {{"op", NULL, 's', 0},          {"dtype", NULL, 's', 0},
                                               {"shapes", NULL, 'd', 0},      {"kernels", NULL, 'd', 0},
                                               {"largest_mib", NULL, 'f', 1}, {"estimated_s", NULL, 'f', 1}};
    struct rt_estimate estimate;
    int status = rt_estimate(arguments->backend, plan, &arguments->options, &estimate);
    if (status != RT_OK)
        return status;
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    for (size_t i = 0; i < estimate.count; i++) {
        const struct rt_estimate_row *row = &estimate.rows[i];
        rt_table_row(table, rt_ops[row->op].name, rt_dtypes[row->dtype].name, (long long)row->shapes,
                     (long long)row->kernels, row->largest_bytes * 0x1p-20, row->seconds);
    }
    if (arguments->json)
        dry_json(plan, &estimate, table);
    else
        dry_text(plan, &estimate, table);
    rt_table_free(table);
    rt_estimate_release(&estimate);
    return RT_OK;
}

/* ---- measuring ---- */

/* Kernels faster than the roofline mean that the peaks were measured while the machine was busy. */
static void warn_faster(const struct rt_collect_summary *summary)
{
    size_t faster = 0;
    for (size_t i = 0; i < summary->row_count; i++)
        faster += summary->rows[i].faster;
    if (20 * faster > summary->dataset.sample_count)
        rt_warn("%zu of %zu kernels ran faster than the measured peaks allow: the machine was busy when its "
                "peaks were "
                "measured; collect again when it is quiet",
                faster, summary->dataset.sample_count);
}

/* Of what was measured: the share whose median is known as well as was asked for. NaN where nothing was. */
static double met_share(const struct rt_collect_summary *summary)
{
    size_t measured = 0, unstable = 0;
    for (size_t i = 0; i < summary->row_count; i++) {
        measured += summary->rows[i].measured;
        unstable += summary->rows[i].unstable;
    }
    return measured > 0 ? 1 - (double)unstable / (double)measured : NAN;
}

static void print_summary(const struct rt_collect_summary *summary, const char *output, bool json)
{
    static const struct rt_column columns[] = {
        {"op", NULL, 's', 0},
        {"device", NULL, 's', 0},
        {"measured", NULL, 'd', 0},
        {"unstable", NULL, 'd', 0},
        {"throttled", NULL, 'd', 0},
        {"retried", NULL, 'd', 0},
        {"failed", NULL, 'd', 0},
        {"lost", NULL, 'd', 0},
        {"above_roofline", "above roofline", 'd', 0},
        {"median_us", NULL, 'f', 1},
    };
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    for (size_t i = 0; i < summary->row_count; i++) {
        const struct rt_collect_row *row = &summary->rows[i];
        rt_table_row(table, rt_ops[row->op].name, summary->dataset.devices[row->device].name,
                     (long long)row->measured, (long long)row->unstable, (long long)row->throttled,
                     (long long)row->retried, (long long)row->failed, (long long)row->lost,
                     (long long)row->faster, row->median_us);
    }
    double met = met_share(summary), rate = 60 * (double)summary->measured / fmax(summary->seconds, 1e-3);
    if (json) {
        rt_json_print(json_pack("{s:o, s:s, s:I, s:I, s:I, s:o, s:f, s:f, s:o}", "rows", rt_table_json(table),
                                "output", output, "kernels", (json_int_t)summary->dataset.sample_count,
                                "planned", (json_int_t)summary->planned, "measured_now",
                                (json_int_t)summary->measured, "met_share", rt_json_number(met), "seconds",
                                summary->seconds, "kernels_per_minute", rate, "workloads",
                                rt_model_report_json(&summary->dataset)),
                      stdout);
    } else {
        rt_table_text(table, stdout);
        printf("%zu of %zu planned kernels are in %s", summary->dataset.sample_count, summary->planned,
               output);
        if (!isnan(met))
            printf("; %.1f%% of those measured met --rel-error", 100 * met);
        if (summary->measured > 0)
            printf("; %.0f a minute", rate);
        putchar('\n');
        rt_model_report(&summary->dataset, stdout);
    }
    rt_table_free(table);
}

/* The command line as a shell would take it; free() it. */
static char *command_line(int argc, char **argv)
{
    char *text = rt_strdup("rooftile collect");
    for (int i = 1; i < argc; i++) {
        bool plain =
            argv[i][0] != '\0' && strspn(argv[i], "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                                  "0123456789-_=+./,:@%") == strlen(argv[i]);
        char *longer = rt_format(plain ? "%s %s" : "%s '%s'", text, argv[i]);
        free(text);
        text = longer;
    }
    return text;
}

static int run_collect(struct arguments *arguments, const struct rt_plan *plan)
{
    struct rt_collect_summary summary;
    rt_interrupt_catch();
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is an error like a full disk, not the end of the program */
    int status = rt_collect(arguments->backend, plan, &arguments->options, &summary);
    if (status != RT_OK)
        return status;
    print_summary(&summary, arguments->options.output, arguments->json);
    warn_faster(&summary);
    rt_collect_summary_release(&summary);
    return RT_OK;
}

static int make_named_plan(const struct arguments *arguments, const struct rt_op_set *ops,
                           const struct rt_dtype_set *dtypes, struct rt_plan *plan)
{
    const struct rt_backend *backend = arguments->backend;
    uint64_t seed = arguments->options.backend.seed;
    size_t count = arguments->count;
    int status;
    const char *name = arguments->plan != NULL ? arguments->plan : "quick";
    if (strcmp(name, "kernels") == 0)
        return rt_plan_kernels(seed, backend, ops, dtypes, count > 0 ? count : 4000, plan);
    count = count > 0 ? count : SIZE_MAX;
    if (strcmp(name, "models") == 0)
        return rt_plan_models(backend, ops, dtypes, count, plan);
    if (strcmp(name, "calibrate") == 0) {
        status = rt_plan_calibrate(ops, count, plan);
    } else if (strcmp(name, "quick") == 0) {
        count = count < SIZE_MAX ? count : 2000;
        status = rt_plan_quick(seed, ops, count, plan);
    } else {
        return rt_plan_read(name, backend, ops, dtypes, plan);
    }
    return status == RT_OK ? rt_plan_in_dtypes(plan, backend, dtypes, count) : status;
}

/* What a plan has and the backend has not, so that nobody takes the rest for all. */
static void warn_left_out(const struct rt_backend *backend, const struct rt_plan *plan)
{
    char ops[512] = "";
    size_t tasks = 0;
    for (int op = 0; op < RT_OP_COUNT; op++) {
        if (plan->unable[op] == 0)
            continue;
        size_t used = strlen(ops);
        tasks += plan->unable[op];
        snprintf(ops + used, sizeof ops - used, "%s%s (%zu)", used > 0 ? ", " : "", rt_ops[op].name,
                 plan->unable[op]);
    }
    if (tasks > 0)
        rt_warn("%zu kernels are left out because the %s backend cannot run them: %s", tasks, backend->name,
                ops);
    if (plan->too_large > 0)
        rt_warn("%zu kernels of models are left out because they are too large; a plan file may name them",
                plan->too_large);
}

static int make_model_plan(const struct arguments *arguments, const struct rt_dtype_set *dtypes,
                           struct rt_model_run *run, struct rt_plan *plan)
{
    struct rt_model_step step = arguments->step;
    if (dtypes->count > 1)
        return rt_fail(RT_EUSAGE, "--model runs in one dtype; give one of them to --dtypes");
    step.dtype = dtypes->count == 1 ? (enum rt_dtype)dtypes->dtype[0] : RT_FP32;
    int status = rt_model_run_open(arguments->backend, &step, run);
    if (status != RT_OK)
        return status;
    rt_model_run_plan(run, plan);
    if (run->model.overlong)
        rt_warn("%s was not made for a sequence of %lld tokens", run->model.name,
                (long long)run->step.sequence);
    if (run->left_out > 0)
        rt_warn("%zu of %zu launches of %s are left out because the %s backend cannot run them: %s",
                run->left_out, run->model.launch_count, run->model.name, arguments->backend->name,
                run->left_out_ops);
    return RT_OK;
}

static int make_plan(const struct arguments *arguments, struct rt_model_run *run, struct rt_plan *plan)
{
    struct rt_op_set ops;
    struct rt_dtype_set dtypes;
    int status = rt_op_set_parse(arguments->ops, arguments->backend, &ops);
    if (status == RT_OK)
        status = rt_dtype_set_parse(arguments->dtypes, &dtypes);
    if (status == RT_OK && arguments->step.model != NULL)
        return make_model_plan(arguments, &dtypes, run, plan);
    if (status == RT_OK)
        status = make_named_plan(arguments, &ops, &dtypes, plan);
    if (status == RT_OK)
        warn_left_out(arguments->backend, plan);
    return status;
}

int rt_cmd_collect(int argc, char **argv)
{
    struct arguments arguments = {
        .options = {.backend = {.seed = 1}, .stopping = RT_STOPPING_DEFAULT, .budget_s = INFINITY},
        .step = {.batch = 1}};
    struct argp parser = {argument_options, parse_option, NULL, description, NULL, NULL, NULL};
    char *command = command_line(argc, argv); /* argp moves words about */
    struct rt_plan plan = {0};
    struct rt_model_run run = {0};
    argp_parse(&parser, argc, argv, 0, NULL, &arguments);
    arguments.options.command = command;
    char *plan_path = rt_strdup(arguments.plan != NULL ? arguments.plan : "quick"), *plan_name = NULL;
    arguments.options.plan_name = basename(plan_path); /* no folders of this machine in a dataset */
    int status = RT_OK;
    if (!arguments.list || arguments.backend_name != NULL)
        status = rt_backend_find(arguments.backend_name != NULL ? arguments.backend_name : "cpu",
                                 &arguments.backend);
    if (status == RT_OK && arguments.list) {
        rt_list_backends(arguments.backend, &arguments.options, arguments.json);
        goto done;
    }
    if (status == RT_OK && !arguments.cache_given)
        arguments.options.cache = arguments.backend->warm_too ? RT_CACHE_BOTH : RT_CACHE_COLD;
    if (status == RT_OK)
        status = make_plan(&arguments, &run, &plan);
    if (status == RT_OK && arguments.step.model != NULL) {
        plan_name =
            rt_format("model %s, batch %lld, sequence %lld, %s", run.model.name, (long long)run.step.batch,
                      (long long)run.step.sequence, rt_modes[run.step.training ? RT_TRAINING : RT_INFERENCE]);
        arguments.options.plan_name = plan_name;
        arguments.options.model = &run;
    }
    if (status == RT_OK)
        status = arguments.dry_run ? run_dry(&arguments, &plan) : run_collect(&arguments, &plan);
done:
    rt_plan_release(&plan);
    rt_model_run_release(&run);
    free(plan_name);
    free(plan_path);
    free(command);
    return status;
}
