/* `rooftile advise`: which slice of a GPU, and which partition. */
#include "base/options.h"
#include "base/report_files.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/text.h"
#include "datasets/dataset_input.h"
#include "models/networks/step_options.h"
#include "models/networks/source.h"
#include "predict/search/advise/advise.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

struct arguments {
    const char *predictor, *gpu, *model, *host_spec, *partition;
    struct rt_names jobs, runs, reports, targets;
    double rate, whole_ms;
    struct rt_step step;
    struct rt_forecast_options forecast;
    struct rt_host host;
    bool throughput, overwrite, json;
};

static const struct rt_option options[] = {
    RT_PREDICTOR_OPTION(struct arguments, predictor),
    {"gpu", 0, "NAME",
     RT_TEXT(struct arguments, gpu, .reads = rt_device_reads, .suggests = rt_device_suggest),
     "The whole GPU, of the catalogue or a device file with `mig`, or a slice of it, A100-40:3g.20gb, for "
     "one model; required but with --runs"},
    {"throughput", 0, NULL, RT_FLAG(struct arguments, throughput),
     "Advise what gives the GPU most, not the smallest profile"},
    RT_HEADING("Of one model:"),
    {"model", 'm', "NAME",
     RT_TEXT(struct arguments, model, .reads = rt_model_reads, .suggests = rt_model_suggest),
     "A model of the zoo (`rooftile graph --list`), a Hugging Face config.json or an ONNX model"},
    {"batch", 'b', "N", RT_INTEGER(struct arguments, step.batch, 1, INT32_MAX),
     "Sequences or images of a step"},
    {"seq", 's', "N", RT_INTEGER(struct arguments, step.sequence, 1, INT32_MAX),
     "Tokens of a sequence (default: the model's positions, at most 1024)"},
    {"image", 0, "N[xW]", RT_OWN(struct arguments, step.image, rt_read_image),
     "Models of images: their side in pixels (default: the model's own)"},
    {"latency-ms", 0, "X[,X...]", RT_ITEMS(struct arguments, targets),
     "A step may take so many ms at most; with --runs several, which are judged one by one (default: any "
     "time; with --runs 5,10,20,50,100,200,500)"},
    {"rate", 0, "X", RT_NUMBER(struct arguments, rate, 1e-9, 1e12),
     "Sequences or images a second that it must serve (default: any)"},
    {"whole-ms", 0, "X", RT_NUMBER(struct arguments, whole_ms, 1e-6, 1e12),
     "The step's measured time on the whole GPU in ms, which the forecasts then follow"},
    RT_STEP_OPTIONS(struct arguments, step),
    RT_HEADING("Of several jobs:"),
    {"partition", 0, "P,P...", RT_TEXT(struct arguments, partition),
     "Take these profiles, one for each job in order, instead of the best ones"},
    RT_HEADING("The host:"),
    {"host", 0, "NAME",
     RT_TEXT(struct arguments, host_spec, .reads = rt_host_reads, .suggests = rt_host_suggest),
     "What launches, as for `rooftile predict`"},
    {"host-us", 0, "X", RT_NUMBER(struct arguments, forecast.host_us, 0, 1e4),
     "What it takes to launch any kernel, in us; 0: it is never in the way (default: as --host has it)"},
    RT_HEADING("Beside measurements:"),
    {"runs", 0, "DATA.h5", RT_LIST(struct arguments, runs, .reads = rt_reads_path),
     "Judge advice by measured runs on slices: how often it names the best one"},
    RT_HEADING("Output:"),
    {"interval", 0, "LEVEL", RT_NUMBER(struct arguments, forecast.level, 0, 0.99),
     "Level of the intervals, a share: 0.9 holds nine of ten; 0: none"},
    {"fallback", 0, NULL, RT_FLAG(struct arguments, forecast.fallback),
     "Take the roofline where the predictor has no network for an op"},
    RT_REPORT_OPTION(struct arguments, reports),
    RT_REPORT_OVERWRITE(struct arguments, overwrite),
    {"json", 'j', NULL, RT_FLAG(struct arguments, json), "Print JSON instead of text"},
};

static void set_defaults(void *value)
{
    *(struct arguments *)value = (struct arguments){
        .predictor = "pretrained",
        .rate = NAN,
        .whole_ms = NAN,
        .step = RT_STEP_NOT_GIVEN,
        .forecast.level = 0.9,
        .forecast.host_us = NAN,
        .forecast.parallel = {.data = 1, .pipeline = 1, .microbatches = 1, .link_gbs = NAN},
    };
}

static int print(const struct arguments *arguments, struct rt_report *report)
{
    return rt_report_end_with(report, arguments->json, &arguments->reports);
}

static struct rt_advise_options advise_options(const struct arguments *arguments,
                                               const struct rt_predictor *predictor)
{
    return (struct rt_advise_options){.predictor = predictor,
                                      .forecast = arguments->forecast,
                                      .whole_us = arguments->whole_ms * 1e3,
                                      .throughput = arguments->throughput};
}

static int read_target(const char *text, double *us)
{
    double ms;
    if (rt_parse_real(text, strlen(text), &ms) != 0 || !(ms > 0) || !isfinite(ms))
        return rt_fail(RT_EUSAGE, "--latency-ms %s: must be a number above 0", text);
    *us = ms * 1e3;
    return RT_OK;
}

/* --- one model --- */

static int advise_model(const struct rt_command_line *line, const struct rt_predictor *predictor)
{
    struct arguments *arguments = line->options;
    struct rt_advise_options asked = advise_options(arguments, predictor);
    struct rt_gpu_job job = {
        .name = (char *)(uintptr_t)arguments->model, .latency_us = NAN, .rate = arguments->rate};
    struct rt_advice advice;
    int status = RT_OK;
    if (arguments->targets.count > 1)
        return rt_fail(RT_EUSAGE, "--latency-ms: one target for a model; several are for --runs");
    if (arguments->targets.count == 1)
        status = read_target(arguments->targets.name[0], &job.latency_us);
    if (status == RT_OK)
        status = rt_model_source_find(arguments->model, &job.source);
    if (status == RT_OK && !rt_model_source_sized(&job.source))
        return rt_fail(RT_EUSAGE, "--model %s: an operator graph is of one GPU; name a model of sizes",
                       arguments->model);
    job.step = arguments->step;
    if (status == RT_OK)
        status = rt_job_settle(&job);
    if (status == RT_OK)
        status = rt_advise(&job, arguments->gpu, &asked, &advice);
    if (status == RT_OK)
        status = print(arguments, rt_advice_report(&job, &advice, &asked));
    rt_settled_step_release(&job.settled);
    return status;
}

/* --- several jobs --- */

/* Of each job (rows) on each profile: what it makes of what it makes on the whole; NaN where it does not do.
 */
static double *progress_of(const struct rt_gpu_jobs *jobs, const struct rt_advice *advices, bool targets)
{
    int profiles = advices[0].mig.count;
    double *progress = rt_malloc(jobs->count * (size_t)profiles * sizeof *progress);
    for (size_t j = 0; j < jobs->count; j++)
        for (int p = 0; p < profiles; p++) {
            const struct rt_gpu_job *job = &jobs->job[j];
            const struct rt_advice *advice = &advices[j];
            const struct rt_advised *row = rt_advised_of(advice, &advice->mig.profile[p]);
            bool serves = row != NULL && row->fits;
            if (serves && targets)
                serves = !(row->busy_us > job->latency_us) &&
                         !(1e6 * (double)job->settled.step.batch / row->busy_us < job->rate);
            double whole = advice->row[advice->count - 1].total_us;
            progress[j * (size_t)profiles + (size_t)p] = serves ? whole / row->busy_us : NAN;
        }
    return progress;
}

/* Every step takes as many times as long as there are jobs; all of them lie in memory. */
static void judge_turns(const struct rt_gpu_jobs *jobs, const struct rt_advice *advices,
                        struct rt_advised_partition *out)
{
    double used = 0, count = (double)jobs->count;
    out->turns_meet = true;
    for (size_t j = 0; j < jobs->count; j++) {
        const struct rt_advised *whole = &advices[j].row[advices[j].count - 1];
        double us = count * whole->total_us;
        used += whole->used_bytes;
        out->turns_meet &= !(us > jobs->job[j].latency_us) &&
                           !(1e6 * (double)jobs->job[j].settled.step.batch / us < jobs->job[j].rate);
    }
    out->turns_fit = !(used > advices[0].row[advices[0].count - 1].memory_bytes);
}

/* Where on the board a profile may lie: "1g.5gb at 0 to 6, 3g.20gb at 0 or 4". */
static char *placement_words(const struct rt_mig *mig, const int *profiles, int count)
{
    struct rt_text words = {0};
    bool said[RT_MIG_PROFILES] = {false};
    for (int i = 0; i < count; i++) {
        const struct rt_mig_profile *profile = &mig->profile[profiles[i]];
        if (said[profiles[i]])
            continue;
        said[profiles[i]] = true;
        rt_text_item(&words, "; ", "%s takes %d from", profile->name, profile->memory_slices);
        for (int p = 0; p < profile->placement_count; p++)
            rt_text_add(&words, "%s %d", p > 0 ? "," : "", profile->placements[p]);
    }
    return rt_text_take(&words);
}

static int read_partition(const char *text, const struct rt_mig *mig, const char *board, size_t jobs,
                          struct rt_partition *out)
{
    *out = (struct rt_partition){0};
    for (const char *item = text; *item != '\0';) {
        size_t length = strcspn(item, ",");
        char *name = rt_format("%.*s", (int)length, item), *names = rt_mig_profile_names(mig);
        const struct rt_mig_profile *profile = rt_mig_profile_named(mig, name);
        int status = RT_OK;
        if (profile == NULL)
            status = rt_fail(RT_EUSAGE, "--partition: %s has no MIG profile \"%s\"; it has %s", board, name,
                             names);
        else if (out->count == RT_MIG_PLACES)
            status = rt_fail(RT_EUSAGE, "--partition: more than %d instances are on no GPU", RT_MIG_PLACES);
        free(name);
        free(names);
        if (status != RT_OK)
            return status;
        out->profile[out->count++] = (int)(profile - mig->profile);
        out->memory_slices += profile->memory_slices;
        item += length + (item[length] != '\0');
    }
    if (!rt_mig_place(mig, out->profile, out->count, out->start)) {
        char *words = placement_words(mig, out->profile, out->count);
        int status = rt_fail(
            RT_EUSAGE,
            "--partition %s: NVIDIA's placements on %s allow no such partition: of %d memory slices %s", text,
            board, mig->memory_slices, words);
        free(words);
        return status;
    }
    if ((size_t)out->count != jobs)
        return rt_fail(RT_EUSAGE, "--partition has %d instances for %zu jobs; name one for each", out->count,
                       jobs);
    return RT_OK;
}

static int refuse_jobs(const struct rt_gpu_jobs *jobs, const struct rt_advice *advices)
{
    for (size_t j = 0; j < jobs->count; j++)
        if (advices[j].advised < 0)
            return rt_fail(RT_EUSAGE,
                           "%s: no profile of %s, nor all of it, holds the job and meets its target; lower "
                           "its batch or its target",
                           jobs->job[j].name, advices[j].board.name);
    return rt_fail(RT_EUSAGE,
                   "no partition of %s, and no turns on all of it, hold all %zu jobs and meet their targets; "
                   "take some to another GPU (`rooftile pack` says how many GPUs they need)",
                   advices[0].board.name, jobs->count);
}

/* A partition that was named: how far it serves its jobs is said, whatever their targets. */
static int take_given(const struct arguments *arguments, const struct rt_gpu_jobs *jobs,
                      const struct rt_advice *advices, struct rt_partition *out)
{
    const struct rt_mig *mig = &advices[0].mig;
    int status = read_partition(arguments->partition, mig, advices[0].board.name, jobs->count, out);
    if (status != RT_OK)
        return status;
    double *progress = progress_of(jobs, advices, false);
    for (size_t j = 0; status == RT_OK && j < jobs->count; j++) {
        double own = progress[j * (size_t)mig->count + (size_t)out->profile[j]];
        out->progress += own;
        if (isnan(own))
            status = rt_fail(RT_EUSAGE, "--partition: %s does not fit the memory of a %s", jobs->job[j].name,
                             mig->profile[out->profile[j]].name);
    }
    free(progress);
    return status;
}

static int advise_partition(const struct arguments *arguments, const struct rt_gpu_jobs *jobs,
                            const struct rt_advice *advices)
{
    struct rt_partition best, equal;
    struct rt_advised_partition advised = {
        .jobs = jobs, .advices = advices, .given = arguments->partition != NULL};
    int status = RT_OK, count = (int)jobs->count;
    double *progress = progress_of(jobs, advices, true);
    if (advised.given) {
        status = take_given(arguments, jobs, advices, &best);
        advised.partition = &best;
    } else if (rt_partition_best(&advices[0].mig, progress, count, &best)) {
        advised.partition = &best;
    }
    if (rt_partition_equal(&advices[0].mig, progress, count, &equal))
        advised.equal = &equal;
    free(progress);
    judge_turns(jobs, advices, &advised);
    if (status == RT_OK && advised.partition == NULL && !rt_partition_turns(&advised))
        status = refuse_jobs(jobs, advices);
    return status == RT_OK ? print(arguments, rt_partition_report(&advised)) : status;
}

/* Of one GPU, whole. */
static int check_jobs(const struct arguments *arguments)
{
    struct rt_device gpu;
    int status = rt_device_find(arguments->gpu, &gpu);
    if (status == RT_OK && gpu.slice_of.sms > 0)
        return rt_fail(RT_EUSAGE, "--gpu %s is a slice: of several jobs the GPU is divided; give %s",
                       arguments->gpu, gpu.whole);
    return status;
}

static int advise_jobs(const struct arguments *arguments, const struct rt_predictor *predictor)
{
    struct rt_advise_options asked = advise_options(arguments, predictor);
    struct rt_gpu_jobs jobs;
    int status = rt_jobs_read(arguments->jobs.name[0], &jobs);
    if (status != RT_OK)
        return status;
    struct rt_advice *advices = rt_calloc(jobs.count, sizeof *advices);
    status = check_jobs(arguments);
    for (size_t j = 0; status == RT_OK && j < jobs.count; j++)
        status = rt_advise(&jobs.job[j], arguments->gpu, &asked, &advices[j]);
    if (status == RT_OK)
        status = advise_partition(arguments, &jobs, advices);
    free(advices);
    rt_jobs_release(&jobs);
    return status;
}

/* --- measured runs --- */

static int set_targets(const struct arguments *arguments, struct rt_advice_judgement *out)
{
    static const double usual_ms[] = {5, 10, 20, 50, 100, 200, 500};
    for (size_t t = 0; arguments->targets.count == 0 && t < RT_COUNT(usual_ms); t++)
        out->target_us[out->targets++] = 1e3 * usual_ms[t];
    if (arguments->targets.count > RT_ADVISE_TARGETS)
        return rt_fail(RT_EUSAGE, "--latency-ms: at most %d targets", RT_ADVISE_TARGETS);
    int status = RT_OK;
    for (size_t t = 0; status == RT_OK && t < arguments->targets.count; t++)
        status = read_target(arguments->targets.name[t], &out->target_us[out->targets++]);
    return status;
}

static int judge_runs(const struct arguments *arguments, const struct rt_predictor *predictor)
{
    struct rt_advice_judgement judgement = {0};
    struct rt_dataset_input input;
    int status = set_targets(arguments, &judgement);
    if (status != RT_OK)
        return status;
    status = rt_dataset_input_read(&arguments->runs, &input);
    if (status == RT_OK)
        status = rt_advice_judge(&input.dataset, predictor, arguments->forecast.fallback, &judgement);
    rt_dataset_input_release(&input);
    return status == RT_OK ? print(arguments, rt_judgement_report(&judgement)) : status;
}

/* --- the command --- */

/* One of three things is asked for. */
static int check_arguments(const struct rt_command_line *line)
{
    static const char *const of_model[] = {"batch",    "seq",       "image",    "latency-ms", "rate",
                                           "whole-ms", "mode",      "dtype",    "quant",      "kv-cache",
                                           "runtime",  "lengths",   "contexts", "fusion",     "layout",
                                           "autocast", "optimizer", NULL};
    static const char *const not_of_runs[] = {
        "gpu",     "throughput", "partition", "host",   "host-us",  "interval",  "batch",    "seq",
        "image",   "rate",       "whole-ms",  "mode",   "dtype",    "quant",     "kv-cache", "runtime",
        "lengths", "contexts",   "fusion",    "layout", "autocast", "optimizer", NULL};
    const struct arguments *arguments = line->options;
    bool jobs = arguments->jobs.count > 0, runs = arguments->runs.count > 0;
    const char *given = jobs ? rt_given_of(line, of_model) : NULL;
    if (runs + jobs + (arguments->model != NULL) != 1)
        return rt_fail(
            RT_EUSAGE,
            "say what is to run: --model NAME, or a list of jobs, JOBS.csv, or judge advice with --runs");
    if (given != NULL)
        return rt_fail(RT_EUSAGE, "--%s is for --model; of jobs it is a column of JOBS.csv", given);
    if (runs && (given = rt_given_of(line, not_of_runs)) != NULL)
        return rt_fail(RT_EUSAGE, "--%s: measured runs say that themselves; leave it out with --runs", given);
    if (!jobs && arguments->partition != NULL)
        return rt_fail(RT_EUSAGE, "--partition is for a list of jobs, JOBS.csv");
    if (!runs && arguments->gpu == NULL)
        return rt_fail(RT_EUSAGE,
                       "say of which GPU: --gpu NAME (A30, A100, H100, H200 and B200 have MIG slices)");
    return RT_OK;
}

static int run(const struct rt_command_line *line)
{
    struct arguments *arguments = line->options;
    struct rt_predictor predictor;
    int status = check_arguments(line);
    if (status == RT_OK)
        status = rt_outputs_check(line);
    if (status == RT_OK && arguments->host_spec != NULL) {
        status = rt_host_find(arguments->host_spec, &arguments->host);
        arguments->forecast.host = &arguments->host;
    }
    if (status == RT_OK)
        status = rt_predictor_open(arguments->predictor, &predictor);
    if (status != RT_OK)
        return status;
    if (arguments->runs.count > 0)
        status = judge_runs(arguments, &predictor);
    else if (arguments->jobs.count > 0)
        status = advise_jobs(arguments, &predictor);
    else
        status = advise_model(line, &predictor);
    rt_predictor_release(&predictor);
    return status;
}

const struct rt_command rt_command_advise = {
    .name = "advise",
    .brief = "which MIG slice a model needs, and how to divide a GPU among jobs",
    .operands_usage = "[JOBS.csv]",
    .about = "Forecasts a step on each MIG profile of a GPU and advises the smallest that holds it in memory "
             "and meets its target. Of a list of jobs: the best partition of one GPU, an instance for each.",
    .details =
        "JOBS.csv has a job a row; columns: model, batch, seq, image, mode, dtype, runtime, latency_ms, "
        "rate, name; all but model may be missing. docs/guide/parts.md says what is maximised.\n\n"
        "Example: the smallest slice of an A100 on which BERT answers within 20 ms\n"
        "  rooftile advise --gpu A100-40 -m bert-base --batch 8 --seq 128 --dtype fp16 --latency-ms 20\n"
        "Example: a partition\n"
        "  rooftile advise --gpu A100-80GB jobs.csv\n"
        "Example: how often such advice names the best profile that was measured\n"
        "  rooftile advise --runs migprofiler.h5",
    RT_RUNS(run, struct arguments, options),
    .operands =
        RT_OPERANDS(struct arguments, jobs, 0, 1, "one list of jobs, JOBS.csv", .reads = rt_reads_path),
    .set_defaults = set_defaults,
    .in_library = true,
};
