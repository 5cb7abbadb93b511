/* `rooftile collect`: measures kernels on the devices of this machine. */
#include "base/options.h"
#include "base/outputs.h"
#include "base/printable.h"
#include "base/progress.h"
#include "base/report.h"
#include "base/report_files.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/text.h"
#include "collect/backend.h"
#include "collect/collect.h"
#include "collect/estimate.h"
#include "collect/journal.h"
#include "collect/plan/model_run.h"
#include "collect/plan/plans.h"
#include "collect/probe.h"
#include "datasets/run_attributes.h"
#include "datasets/sample_plots.h"
#include "models/networks/model.h"
#include "models/networks/source.h"

#include <inttypes.h>
#include <libgen.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
    struct rt_job job;
    struct rt_model_step step; /* model NULL: none */
    int mode;
    const char *backend, *plan, *ops, *dtypes;
    size_t count; /* 0: as many as is usual for the plan */
    struct rt_names reports;
    bool list, dry_run, json;
};

/* ---- options ---- */

static int read_gpus(const char *option, const char *text, void *value)
{
    (void)option;
    *(const char **)value = strcmp(text, "all") != 0 ? text : NULL;
    return RT_OK;
}

/* A collection that was begun was allowed to write there; whether it is this one, its journal says. */
static bool goes_on(const struct rt_command_line *line, const char *output)
{
    (void)line;
    return rt_journal_is_begun(output);
}

/* The report of its part before is replaced like that. */
static bool report_goes_on(const struct rt_command_line *line, const char *path)
{
    const struct arguments *arguments = line->options;
    (void)path;
    return arguments->job.output != NULL && rt_journal_is_begun(arguments->job.output);
}

/* What a backend can run of a model; the numbers are those of enum rt_mode. */
static const char *const step_modes[] = {[RT_INFERENCE] = "inference", [RT_TRAINING] = "training"};

static void suggest_backends(struct rt_text *list)
{
    for (size_t b = 0; b < rt_backend_count; b++)
        rt_text_add(list, "%s\n", rt_backends[b]->name);
}

static const struct rt_option options[] = {
    {"output", 'o', "OUT.h5",
     RT_TEXT(struct arguments, job.output, .writes = &rt_dataset_kind, .goes_on = goes_on),
     "Where the dataset goes (required); OUT.h5.journal holds it until it is complete"},
    {"backend", 0, "NAME", RT_TEXT(struct arguments, backend, .suggests = suggest_backends),
     "Where kernels run: see --list (default cpu)"},
    {"device", 0, "LIST", RT_TEXT(struct arguments, job.backend_options.devices),
     "Devices of the backend; of cpu, numbers of threads (default 1,all)"},
    {"gpu", 0, "LIST", RT_OWN(struct arguments, job.backend_options.devices, read_gpus),
     "The same for GPUs: all, or numbers such as 0,1 (default all, in parallel)"},
    {"sm-share", 0, "LIST", RT_TEXT(struct arguments, job.backend_options.sm_shares),
     "Measure on parts of a GPU: percents of its SMs, such as 25,50,100, each a device of its own"},

    RT_HEADING("What is measured:"),
    {"plan", 0, "PLAN", RT_TEXT(struct arguments, plan, .reads = rt_reads_path, .suggests = rt_plan_suggest),
     "quick: a minute on a CPU; kernels: what a predictor of GPUs is trained on; models: every kernel of the "
     "zoo's models; calibrate: the few shapes that `rooftile calibrate` needs of a GPU; or a file with a "
     "line per shape: bmm,batch=8,m=64,n=64,k=64,dtype=bf16 (default quick)"},
    {"count", 0, "N", RT_INTEGER(struct arguments, count, 1, 1000000),
     "Only the first shapes of the plan (default: of quick 2000, of kernels 4000, else all)"},
    {"ops", 0, "LIST", RT_TEXT(struct arguments, ops, .suggests = rt_op_suggest),
     "Only these ops or families (default: all that the backend can run)"},
    {"dtypes", 0, "LIST", RT_TEXT(struct arguments, dtypes, .suggests = rt_dtype_suggest),
     "Only these dtypes, such as fp32,bf16 (default: of kernels all that the backend can run, else fp32)"},
    {"seed", 's', "N", RT_INTEGER(struct arguments, job.backend_options.seed, 0, INT64_MAX),
     "Seed of the quick and the kernels plan and of the operands"},
    {"shard", 0, "I/N", RT_SHARD(struct arguments, job.shard),
     "Only every N-th shape, from the I-th: N machines measure a plan, and `rooftile dataset merge --sort` "
     "makes one dataset of theirs"},
    {"model", 0, "NAME",
     RT_TEXT(struct arguments, step.model, .reads = rt_model_reads, .suggests = rt_model_suggest),
     "Instead of a plan: the kernels of a model (`rooftile graph --list`, or a config.json), each alone and "
     "then all in order, as a workload; with --batch, --seq, --mode and one of --dtypes"},
    {"batch", 0, "N", RT_INTEGER(struct arguments, step.batch, 1, 1 << 24), "Sequences of the model's step"},
    {"seq", 0, "N", RT_INTEGER(struct arguments, step.sequence, 1, 1 << 24),
     "Tokens of each (default 1024, or as many as the model has positions)"},
    {"image", 0, "N", RT_INTEGER(struct arguments, step.image, 1, RT_MOST_PIXELS),
     "Of a model of images: their side in pixels (default: the model's own)"},
    {"mode", 0, "MODE", RT_CHOICE(struct arguments, mode, step_modes),
     "inference, or training: forward and backward"},

    RT_HEADING("How:"),
    {"budget", 0, "TIME", RT_SECONDS(struct arguments, job.budget_s, 0, INFINITY),
     "Stop measuring after this time of this run: 60s, 8m, 2h (default: no limit)"},
    {"rel-error", 0, "SHARE", RT_NUMBER(struct arguments, job.stopping.rel_error, 1e-6, 1),
     "Measure until the relative error of the median is at most this share: 0.005 is half a percent"},
    {"max-time", 0, "TIME", RT_SECONDS(struct arguments, job.stopping.max_time_s, 0, INFINITY),
     "Time per kernel after which it is not measured further: 50ms, 1s (default 200ms)"},
    {"cache", 0, "STATE", RT_CHOICE(struct arguments, job.cache, rt_caches),
     "cold: operands rotate through more than the cache; warm: they stay; both: one measurement of each "
     "(default: both, of the cpu backend cold)"},
    {"repeat-every", 0, "TIME", RT_SECONDS(struct arguments, job.repeat_s, 0, 86400),
     "Measure one kernel of each device again so often, so that `dataset validate` sees the session drift; "
     "0s: never (default 60s, of the synthetic backend never)"},
    {"energy", 0, NULL, RT_FLAG(struct arguments, job.energy),
     "Also run each kernel long enough to read the device's energy counter"},
    {"hang-limit", 0, "TIME", RT_SECONDS(struct arguments, job.hang_limit_s, 0.001, 1e6),
     "Count a kernel as hung after this time without a message (default 60s, more for long kernels)"},
    {"like", 0, "DATA.h5", RT_TEXT(struct arguments, job.like, .reads = rt_reads_path),
     "Take the devices' descriptors from an earlier dataset, so that the two merge; with --dry-run also a "
     "device's name: estimates for it"},
    {"faults", 0, "LIST", RT_TEXT(struct arguments, job.backend_options.faults),
     "Faults of the synthetic backend, as shares of shapes: oom, noise, throttle, lost, hang, crash, such as "
     "oom=0.05,hang=0.001; slow=5: milliseconds per kernel; drift=0.1: slower by that share each simulated "
     "second"},
    {"overwrite", 0, NULL, RT_FLAG(struct arguments, job.overwrite),
     "Replace an output that exists, or the journal of another collection"},

    RT_HEADING("What is printed:"),
    {"list", 0, NULL, RT_FLAG(struct arguments, list),
     "List backends, devices and their properties, and what can be measured, then stop"},
    {"dry-run", 0, NULL, RT_FLAG(struct arguments, dry_run), "Count shapes, memory and time, then stop"},
    {"report", 0, "FILE",
     RT_LIST(struct arguments, reports, .check = rt_report_check_path, .writes = &rt_output_text,
             .goes_on = report_goes_on),
     "Also write a report when it ends: .html with pictures, .txt, .json, .csv or .md"},
    {"json", 'j', NULL, RT_FLAG(struct arguments, json), "Print JSON instead of text"},
    {"quiet", 'q', NULL, RT_FLAG(struct arguments, job.quiet), "No progress on stderr"},
};

static void set_defaults(void *to)
{
    *(struct arguments *)to = (struct arguments){
        .job = {.backend_options = {.seed = 1}, .stopping = RT_STOPPING_DEFAULT, .budget_s = INFINITY},
        .step = {.batch = 1}};
}

/* A model is a plan of its own, and is run on one machine as a whole. */
static int check_options(const struct rt_command_line *line)
{
    const struct arguments *arguments = line->options;
    static const char *const of_models[] = {"batch", "seq", "mode", NULL};
    static const char *const of_plans[] = {"plan", "ops", "count", NULL};
    bool model = arguments->step.model != NULL;
    if (arguments->job.output == NULL && !arguments->list && !arguments->dry_run)
        return rt_fail(RT_EUSAGE, "say where the dataset goes: -o OUT.h5");
    if (arguments->reports.count > 0 && (arguments->list || arguments->dry_run))
        return rt_fail(RT_EUSAGE, "--report is of a collection; leave it out with --list and --dry-run");
    if (!model && rt_given_of(line, of_models) != NULL)
        return rt_fail(RT_EUSAGE, "--batch, --seq and --mode are about --model; give one");
    if (model && rt_given_of(line, of_plans) != NULL)
        return rt_fail(RT_EUSAGE, "--model is all of a model's kernels; leave --plan, --ops and --count out");
    if (model && arguments->job.shard.of > 1)
        return rt_fail(RT_EUSAGE, "--model runs as a whole; leave --shard out");
    return RT_OK;
}

/* ---- the plan ---- */

/* Texts of a dataset are UTF-8: a name that is not is kept with its bytes escaped. Takes the text. */
static char *keep_utf8(char *text)
{
    if (rt_is_utf8(text))
        return text;
    char *escaped = rt_text_printable(text, false);
    free(text);
    return escaped;
}

/* Warns of what the plan holds and the backend cannot run. */
static void warn_left_out(const struct rt_backend *backend, const struct rt_plan *plan)
{
    struct rt_text ops = {0};
    size_t tasks = 0;
    for (int op = 0; op < RT_OP_COUNT; op++) {
        if (plan->unable[op] == 0)
            continue;
        tasks += plan->unable[op];
        rt_text_item(&ops, ", ", "%s (%zu)", rt_ops[op].name, plan->unable[op]);
    }
    if (tasks > 0)
        rt_warn("%zu kernels are left out because the %s backend cannot run them: %s", tasks, backend->name,
                ops.text);
    rt_text_release(&ops);
    if (plan->too_large > 0)
        rt_warn("%zu kernels of models are left out because they are too large; a plan file may name them",
                plan->too_large);
}

/* The job's plan of a model, with the model's name and step for its own. */
static int make_model_plan(struct arguments *arguments, const struct rt_dtype_set *dtypes,
                           struct rt_model_run *run, struct rt_plan *plan, char **name)
{
    struct rt_model_step step = arguments->step;
    const struct rt_backend *backend = arguments->job.backend;
    if (dtypes->count > 1)
        return rt_fail(RT_EUSAGE, "--model runs in one dtype; give one of them to --dtypes");
    step.dtype = dtypes->count == 1 ? (enum rt_dtype)dtypes->dtype[0] : RT_FP32;
    step.training = arguments->mode == RT_TRAINING;
    int status = rt_model_run_open(backend, &step, run);
    if (status != RT_OK)
        return status;
    rt_model_run_plan(run, plan);
    if (run->model.overlong)
        rt_warn("%s was not made for a sequence of %lld tokens", run->model.name,
                (long long)run->step.sequence);
    if (run->left_out > 0)
        rt_warn("%zu of %zu launches of %s are left out because the %s backend cannot run them: %s",
                run->left_out, run->model.launch_count, run->model.name, backend->name, run->left_out_ops);
    bool images = run->model.image > 0;
    *name =
        rt_format("model %s, batch %lld, %s %lld, %s", run->model.name, (long long)step.batch,
                  images ? "image" : "sequence", (long long)(images ? run->model.image : run->step.sequence),
                  step_modes[arguments->mode]);
    arguments->job.model = run;
    return RT_OK;
}

/* A plan's name is without folders: datasets hold no paths of the machine they were measured on. */
static int make_plan(struct arguments *arguments, struct rt_model_run *run, struct rt_plan *plan, char **name)
{
    const char *spec = arguments->plan != NULL ? arguments->plan : "quick";
    struct rt_plan_request request = {.backend = arguments->job.backend,
                                      .seed = arguments->job.backend_options.seed,
                                      .count = arguments->count};
    int status = rt_op_set_parse(arguments->ops, request.backend, &request.ops);
    if (status == RT_OK)
        status = rt_dtype_set_parse(arguments->dtypes, &request.dtypes);
    if (status == RT_OK && arguments->step.model != NULL)
        return make_model_plan(arguments, &request.dtypes, run, plan, name);
    if (status == RT_OK)
        status = rt_plan_make(spec, &request, plan);
    if (status != RT_OK)
        return status;
    warn_left_out(request.backend, plan);
    char *path = rt_strdup(spec);
    *name = keep_utf8(rt_strdup(basename(path)));
    free(path);
    return RT_OK;
}

/* ---- report: devices ---- */

struct lists {
    struct rt_table *devices, *ops, *facts;
};

/* In any phase and variant. */
static bool can(const struct rt_backend *backend, enum rt_op_id op, enum rt_dtype dtype)
{
    struct rt_task task;
    rt_task_init(&task, op, dtype);
    for (int phase = task.call.phase; phase < RT_PHASE_COUNT; phase++)
        for (int variant = 0; variant < RT_VARIANT_COUNT; variant++) {
            task.call.phase = (uint8_t)phase;
            task.variant = (uint8_t)variant;
            if (backend->can(&task))
                return true;
        }
    return false;
}

static void list_ops(const struct rt_backend *backend, struct rt_table *ops)
{
    for (int dtype = 0; dtype < RT_DTYPE_COUNT; dtype++) {
        struct rt_text names = {0};
        for (int op = 0; op < RT_OP_COUNT; op++)
            if (can(backend, op, dtype))
                rt_text_item(&names, ",", "%s", rt_ops[op].name);
        if (names.length > 0)
            rt_table_row(ops, backend->name, rt_dtypes[dtype].name, names.text);
        rt_text_release(&names);
    }
}

static int list_device(const struct rt_backend *backend, struct rt_probe *probe, size_t device,
                       struct lists *lists)
{
    char name[96];
    size_t lane;
    struct rt_attributes facts = {0};
    int status = rt_probe_device(probe, device, name, &lane);
    if (status == RT_OK)
        status = rt_probe_facts(probe, device, &facts);
    if (status == RT_OK)
        rt_table_row(lists->devices, backend->name, name, (long long)lane, backend->about);
    for (size_t i = 0; i < facts.count && status == RT_OK; i++)
        rt_table_row(lists->facts, backend->name, name, facts.name[i], facts.value[i]);
    rt_attributes_release(&facts);
    return status;
}

static void list_backend(const struct rt_job *job, struct lists *lists)
{
    struct rt_probe probe;
    list_ops(job->backend, lists->ops);
    int status = rt_probe_start(job, &probe);
    if (status == RT_OK) {
        for (size_t d = 0; d < probe.devices && status == RT_OK; d++)
            status = list_device(job->backend, &probe, d, lists);
        rt_probe_end(&probe);
    }
    if (status != RT_OK)
        rt_table_row(lists->devices, job->backend->name, NULL, -1LL, rt_error());
}

/* All backends, or the job's where it has one: devices, ops, facts. A backend that cannot be opened is listed
 * with the reason. */
static struct rt_report *report_backends(const struct rt_job *job)
{
    static const struct rt_column devices[] = {
        {"backend", NULL, 's', 0}, {"device", NULL, 's', 0}, {"lane", NULL, 'd', 0}, {"about", NULL, 's', 0}};
    static const struct rt_column ops[] = {
        {"backend", NULL, 's', 0}, {"dtype", NULL, 's', 0}, {"ops", NULL, 's', 0}};
    static const struct rt_column facts[] = {
        {"backend", NULL, 's', 0}, {"device", NULL, 's', 0}, {"fact", NULL, 's', 0}, {"value", NULL, 's', 0}};
    struct lists lists = {rt_table_new(devices, RT_COUNT(devices)), rt_table_new(ops, RT_COUNT(ops)),
                          rt_table_new(facts, RT_COUNT(facts))};
    struct rt_report *report = rt_report_new();
    for (size_t b = 0; b < rt_backend_count; b++) {
        struct rt_job one = *job;
        one.backend = rt_backends[b];
        if (job->backend == NULL || job->backend == one.backend)
            list_backend(&one, &lists);
    }
    rt_report_add_table(report, "devices", "devices (those of one lane share hardware and take turns)",
                        lists.devices);
    rt_report_add_table(report, "ops", "what can be measured", lists.ops);
    rt_report_add_table(report, "facts", "what the devices report", lists.facts);
    return report;
}

/* ---- an estimate ---- */

static struct rt_report *report_estimate(const struct rt_job *job, const struct rt_estimate *estimate)
{
    static const struct rt_column columns[] = {{"op", NULL, 's', 0},          {"dtype", NULL, 's', 0},
                                               {"shapes", NULL, 'd', 0},      {"kernels", NULL, 'd', 0},
                                               {"largest_mib", NULL, 'f', 1}, {"estimated_s", NULL, 'f', 1}};
    struct rt_report *report = rt_report_new();
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    struct rt_text words = {0};
    for (size_t i = 0; i < estimate->count; i++) {
        const struct rt_estimate_row *row = &estimate->rows[i];
        rt_table_row(table, rt_ops[row->op].name, rt_dtypes[row->dtype].name, (long long)row->shapes,
                     (long long)row->kernels, row->largest_bytes * 0x1p-20, row->seconds);
    }
    rt_text_add(&words, "%zu shapes, %zu kernels", estimate->shapes, estimate->kernels);
    if (estimate->devices > 0)
        rt_text_add(&words, ", about %.0f s", estimate->seconds);
    if (job->plan->duplicates > 0)
        rt_text_add(&words, "; %zu repeated shapes are left out", job->plan->duplicates);
    rt_report_add_table(report, "rows", "", table);
    rt_report_add_note(report, NULL, "%s", words.text);
    if (estimate->devices == 0)
        rt_report_add_note(report, NULL, "the time is not known: %s; %s H100 estimates it for such a device",
                           estimate->why, rt_field_words("like").text);
    rt_report_add_count(report, "shapes", NULL, estimate->shapes);
    rt_report_add_count(report, "kernels", NULL, estimate->kernels);
    rt_report_add_json(report, "estimated_s", rt_json_number(estimate->seconds));
    rt_report_add_count(report, "duplicates", NULL, job->plan->duplicates);
    rt_text_release(&words);
    return report;
}

/* ---- a collection ---- */

static struct rt_table *count_table(const struct rt_collected *collected)
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
    for (size_t i = 0; i < collected->row_count; i++) {
        const struct rt_summary_row *row = &collected->rows[i];
        rt_table_row(table, rt_ops[row->op].name, collected->dataset.devices[row->device].name,
                     (long long)row->measured, (long long)row->unstable, (long long)row->throttled,
                     (long long)row->retried, (long long)row->failed, (long long)row->lost,
                     (long long)row->faster, row->median_us);
    }
    return table;
}

/* Of what was measured: the share whose median met --rel-error. NaN where nothing was measured. */
static double met_share(const struct rt_collected *collected)
{
    size_t measured = 0, unstable = 0;
    for (size_t i = 0; i < collected->row_count; i++) {
        measured += collected->rows[i].measured;
        unstable += collected->rows[i].unstable;
    }
    return measured > 0 ? 1 - (double)unstable / (double)measured : NAN;
}

/* "gpt2, batch 1, sequence 64, inference, fp32 on NVIDIA A100: 9.075 ms; its kernels alone 9.012 ms" */
static void add_workload_note(struct rt_report *report, const struct rt_dataset *dataset,
                              const struct rt_workload *w)
{
    bool training = w->mode == RT_TRAINING;
    const char *failure = rt_dataset_attribute(dataset, w->group, "failure");
    const char *left_out = rt_dataset_attribute(dataset, w->group, "left_out");
    const char *image = rt_dataset_attribute(dataset, w->group, "image");
    struct rt_text words = {0};
    rt_text_add(&words, "%s, batch %" PRId64, rt_strings_get(&dataset->texts, w->model), w->batch);
    if (image != NULL)
        rt_text_add(&words, ", image %s", image);
    else
        rt_text_add(&words, ", sequence %" PRId64, w->sequence);
    rt_text_add(&words, ", %s, %s on %s: ", rt_modes[w->mode], rt_dtypes[w->dtype].name,
                dataset->devices[w->device].name);
    if (w->flags & RT_FLAG_FAILED)
        rt_text_add(&words, "failed: %s", failure != NULL ? failure : "");
    else
        rt_text_add(&words, "%.3f ms", 1e-3 * w->end_to_end_us);
    if (!(w->flags & RT_FLAG_FAILED) && training)
        rt_text_add(&words, " (forward %.3f, backward %.3f)", 1e-3 * w->forward_us, 1e-3 * w->backward_us);
    if (!(w->flags & RT_FLAG_FAILED))
        rt_text_add(&words, "; its kernels alone %.3f ms%s",
                    1e-3 * (w->kernels_forward_us + (training ? w->kernels_backward_us : 0)),
                    w->flags & RT_FLAG_UNSTABLE ? "; unstable" : "");
    rt_report_add_note(report, NULL, "%s", words.text);
    if (left_out != NULL)
        rt_report_add_note(report, NULL,
                           "  partial: %s of its launches cannot run here and are missing in these times: %s",
                           rt_dataset_attribute(dataset, w->group, "launches_left_out"), left_out);
    rt_text_release(&words);
}

static struct rt_table *workload_table(const struct rt_dataset *dataset)
{
    static const struct rt_column columns[] = {
        {"model", NULL, 's', 0},
        {"batch", NULL, 'd', 0},
        {"sequence", NULL, 'd', 0},
        {"mode", NULL, 's', 0},
        {"dtype", NULL, 's', 0},
        {"device", NULL, 's', 0},
        {"end_to_end_us", NULL, 'f', 1},
        {"forward_us", NULL, 'f', 1},
        {"backward_us", NULL, 'f', 1},
        {"kernels_forward_us", NULL, 'f', 1},
        {"kernels_backward_us", NULL, 'f', 1},
        {"partial", NULL, 'b', 0},
        {"left_out", NULL, 's', 0},
        {"failure", NULL, 's', 0},
    };
    struct rt_table *table = rt_table_new(columns, RT_COUNT(columns));
    for (size_t i = 0; i < dataset->workload_count; i++) {
        const struct rt_workload *w = &dataset->workloads[i];
        rt_table_row(table, rt_strings_get(&dataset->texts, w->model), (long long)w->batch,
                     (long long)w->sequence, rt_modes[w->mode], rt_dtypes[w->dtype].name,
                     dataset->devices[w->device].name, w->end_to_end_us, w->forward_us, w->backward_us,
                     w->kernels_forward_us, w->kernels_backward_us, (w->flags & RT_FLAG_PARTIAL) != 0,
                     rt_dataset_attribute(dataset, w->group, "left_out"),
                     rt_dataset_attribute(dataset, w->group, "failure"));
    }
    return table;
}

static struct rt_report *report_collected(const struct rt_job *job, const struct rt_collected *collected)
{
    const struct rt_dataset *dataset = &collected->dataset;
    double met = met_share(collected),
           rate = 60 * (double)collected->measured / fmax(collected->seconds, 1e-3);
    struct rt_report *report = rt_report_new();
    struct rt_text words = {0};
    rt_text_add(&words, "%zu of %zu planned kernels are in %s", collected->kernels, collected->planned,
                job->output);
    if (!isnan(met))
        rt_text_add(&words, "; %.1f%% of those measured met %s", 100 * met, rt_field_words("rel_error").text);
    if (collected->measured > 0)
        rt_text_add(&words, "; %.0f a minute", rate);
    if (dataset->samples.count > collected->kernels)
        rt_text_add(&words, "; %zu repeats of one", dataset->samples.count - collected->kernels);
    rt_sample_plots_add(report, dataset);
    rt_report_add_table(report, "rows", "", count_table(collected));
    rt_report_add_note(report, NULL, "%s", words.text);
    rt_report_add_text(report, "output", NULL, job->output);
    rt_report_add_count(report, "kernels", NULL, collected->kernels);
    rt_report_add_count(report, "planned", NULL, collected->planned);
    rt_report_add_count(report, "measured_now", NULL, collected->measured);
    rt_report_add_json(report, "met_share", rt_json_number(met));
    rt_report_add_json(report, "seconds", rt_json_number(collected->seconds));
    rt_report_add_json(report, "kernels_per_minute", rt_json_number(rate));
    rt_report_add_table(report, "workloads", NULL, workload_table(dataset));
    for (size_t i = 0; i < dataset->workload_count; i++)
        add_workload_note(report, dataset, &dataset->workloads[i]);
    rt_text_release(&words);
    return report;
}

/* ---- the work ---- */

/* Kernels faster than the roofline mean that the peaks were measured while the machine was busy. */
static void warn_faster(const struct rt_collected *collected)
{
    size_t faster = 0;
    for (size_t i = 0; i < collected->row_count; i++)
        faster += collected->rows[i].faster;
    if (20 * faster > collected->dataset.samples.count)
        rt_warn("%zu of %zu kernels ran faster than the measured peaks allow: the machine was busy when its "
                "peaks were measured; collect again when it is quiet",
                faster, collected->dataset.samples.count);
}

/* The command line as a shell would take it; free() it. */
static char *command_text(const struct rt_command_line *line)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+./,:@%";
    struct rt_text text = {0};
    rt_text_add(&text, "rooftile collect");
    for (int i = 1; i < line->argc; i++) {
        const char *word = line->argv[i];
        rt_text_add(&text, word[0] != '\0' && word[strspn(word, plain)] == '\0' ? " %s" : " '%s'", word);
    }
    return keep_utf8(rt_text_take(&text));
}

static int estimate(const struct arguments *arguments)
{
    struct rt_estimate estimate;
    int status = rt_estimate(&arguments->job, &estimate);
    if (status != RT_OK)
        return status;
    struct rt_report *report = report_estimate(&arguments->job, &estimate);
    rt_estimate_release(&estimate);
    return rt_report_end(report, arguments->json);
}

static int collect(const struct arguments *arguments)
{
    struct rt_collected collected;
    rt_interrupt_catch();
    signal(SIGXFSZ, SIG_IGN); /* a file size limit is an error like a full disk, not the end of the program */
    int status = rt_collect(&arguments->job, &collected);
    if (status != RT_OK)
        return status;
    status = rt_report_end_with(report_collected(&arguments->job, &collected), arguments->json,
                                &arguments->reports);
    warn_faster(&collected);
    rt_collected_release(&collected);
    return status;
}

static int run_plan(const struct rt_command_line *line)
{
    struct arguments *arguments = line->options;
    struct rt_plan plan = {0};
    struct rt_model_run model = {0};
    char *command = command_text(line), *name = NULL;
    int status = arguments->dry_run ? RT_OK : rt_outputs_check(line);
    if (status == RT_OK)
        status = make_plan(arguments, &model, &plan, &name);
    arguments->job.command = command;
    arguments->job.plan_name = name;
    arguments->job.plan = &plan;
    if (status == RT_OK)
        status = arguments->dry_run ? estimate(arguments) : collect(arguments);
    rt_plan_release(&plan);
    rt_model_run_release(&model);
    free(command);
    free(name);
    return status;
}

static int run(const struct rt_command_line *line)
{
    struct arguments *arguments = line->options;
    struct rt_job *job = &arguments->job;
    const char *backend = arguments->backend;
    int status = check_options(line);
    if (status == RT_OK && (backend != NULL || !arguments->list))
        status = rt_backend_find(backend != NULL ? backend : "cpu", &job->backend);
    if (status != RT_OK)
        return status;
    if (arguments->list)
        return rt_report_end(report_backends(job), arguments->json);
    if (!rt_given(line, "repeat-every") && !(job->backend->flags & RT_FLAG_SYNTHETIC))
        job->repeat_s = RT_REPEAT_S;
    if (!rt_given(line, "cache"))
        job->cache = job->backend->warm_too ? RT_CACHE_BOTH : RT_CACHE_COLD;
    return run_plan(line);
}

const struct rt_command rt_command_collect = {
    .name = "collect",
    .also = "measure benchmark bench profile",
    .brief = "measure kernels on the devices of this machine",
    .about = "Measures the kernels of a plan, each on every device, and writes a dataset.",
    .details = "The plan is ordered so that it may be stopped anywhere. Results are saved every few seconds: "
               "after Ctrl-C, kill -9 or a power cut the same command goes on where it was. A kernel that "
               "crashes, hangs or loses its device is marked as failed, and the rest goes on.\n\n"
               "Example: a minute on this machine, where one thread and all threads are two devices:\n"
               "  rooftile collect -o cpu.h5 --budget 60s",
    RT_RUNS(run, struct arguments, options),
    .operands = RT_NO_OPERANDS("the output is named with -o"),
    .set_defaults = set_defaults,
};
