/* Runs of LLM servers, simulated. See serving.h. */
#include "predict/evaluate/serving.h"
#include "base/progress.h"
#include "base/status.h"
#include "base/strings.h"
#include "predict/serving/deployment.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

const char *const rt_serving_figures[RT_SERVING_FIGURES] = {"tpot", "throughput", "ttft"};

/* Runs of one cut, whose steps cost alike: a job of the threads. */
struct job {
    size_t first, count; /* in `order` */
};

struct builder {
    struct rt_serving_evaluation *evaluation;
    const struct rt_predictor *predictor;
    const struct rt_serving_options *options;
    size_t *order; /* runs, those of one cut one after the other */
    struct job *jobs;
    size_t job_count;
    double (*forecast)[RT_SERVING_FIGURES]; /* (runs) NaN: none */
    struct rt_progress progress;            /* in runs; only the first member draws it */
    atomic_size_t done;
};

/* --- a run's model, dtypes and cut --- */

static int dtype_of(const struct rt_serving_run *run, enum rt_serving_text text, int otherwise, int *out)
{
    const char *name = run->text[text];
    *out = name[0] != '\0' ? rt_dtype_find(name) : otherwise;
    return *out >= 0 || name[0] == '\0'
               ? RT_OK
               : rt_fail(RT_EFORMAT, "its %s is \"%.24s\", which is no element type that is known",
                         rt_serving_texts[text], name);
}

static int graph_options(const struct rt_serving_run *run, const struct rt_serving_cut *cut,
                         struct rt_graph_options *out)
{
    int dtype = RT_BF16, quant = -1, cache = -1;
    int status = dtype_of(run, RT_SERVING_DTYPE, RT_BF16, &dtype);
    if (status == RT_OK)
        status = dtype_of(run, RT_SERVING_QUANT, -1, &quant);
    if (status == RT_OK)
        status = dtype_of(run, RT_SERVING_CACHE, -1, &cache);
    if (status != RT_OK)
        return status;
    bool narrow = cache >= 0 && rt_dtypes[cache].bytes != rt_dtypes[dtype].bytes;
    *out = (struct rt_graph_options){.dtype = (enum rt_dtype)(quant >= 0 ? quant : dtype),
                                     .fp16_beside = dtype == RT_FP16,
                                     .kv_bits = narrow ? (int64_t)(8 * rt_dtypes[cache].bytes) : 0,
                                     .tensor_parallel = cut->tensor,
                                     .expert_parallel = cut->expert,
                                     .attention_data_parallel = cut->attention};
    return RT_OK;
}

/* What a job's runs share. */
struct servers {
    struct rt_device device;
    struct rt_deployment serve, decode; /* decode: zeros where the first does both */
};

static int64_t most_of(const struct builder *builder, const struct job *job, size_t offset)
{
    int64_t most = 0;
    for (size_t i = job->first; i < job->first + job->count; i++) {
        const char *run = (const char *)&builder->evaluation->runs->run[builder->order[i]];
        int64_t value = *(const int64_t *)(run + offset);
        most = value > most ? value : most;
    }
    return most;
}

static int deploy(const struct builder *builder, const struct job *job, const struct rt_serving_cut *cut,
                  const struct rt_model *model, const struct rt_device *device, struct rt_deployment *out)
{
    const struct rt_serving_run *run = &builder->evaluation->runs->run[builder->order[job->first]];
    int64_t input = most_of(builder, job, offsetof(struct rt_serving_run, input));
    const struct rt_server *server;
    int status = rt_server_find(run->text[RT_SERVING_BACKEND], &server);
    if (status != RT_OK)
        return status;
    struct rt_deployment_options options = {
        .name = run->text[RT_SERVING_MODEL],
        .model = model,
        .predictor = builder->predictor,
        .device = device,
        .cost = {.pipeline = cut->pipeline,
                 .link_gbs = NAN,
                 .server = server,
                 .fallback = builder->options->fallback},
        .cache_tokens = NAN,
        .sequences = most_of(builder, job, offsetof(struct rt_serving_run, concurrency)),
        .scheduler = rt_server_scheduler(server, device, cut->tensor),
        .longest_input = input,
        .longest = input + most_of(builder, job, offsetof(struct rt_serving_run, output)),
        .replicas = cut->replicas};
    status = graph_options(run, cut, &options.cost.graph);
    return status == RT_OK ? rt_deployment_open(&options, out) : status;
}

static int open_servers(const struct builder *builder, const struct job *job, struct servers *out)
{
    const struct rt_serving_run *run = &builder->evaluation->runs->run[builder->order[job->first]];
    struct rt_model model;
    *out = (struct servers){0};
    int status = rt_device_find(run->text[RT_SERVING_DEVICE], &out->device);
    if (status == RT_OK)
        status = rt_model_named(run->text[RT_SERVING_MODEL], &model);
    if (status == RT_OK)
        status = deploy(builder, job, &run->serve, &model, &out->device, &out->serve);
    if (status == RT_OK && run->decode.replicas > 0)
        status = deploy(builder, job, &run->decode, &model, &out->device, &out->decode);
    return status;
}

static void close_servers(struct servers *servers)
{
    rt_deployment_release(&servers->serve);
    rt_deployment_release(&servers->decode);
}

/* --- the simulation of a run --- */

static double move_us(const void *context, int64_t tokens)
{
    return rt_step_cost_move_us(context, (double)tokens, NAN);
}

static struct rt_serve_lengths lengths(double least, int64_t most)
{
    int64_t from = (int64_t)round(least * (double)most);
    return (struct rt_serve_lengths){from >= 1 ? from : 1, most};
}

static int simulate(const struct servers *servers, const struct rt_serving_run *run,
                    double forecast[RT_SERVING_FIGURES])
{
    const struct rt_serve_load load = {.arrivals = RT_CLOSED_LOOP,
                                       .concurrency = run->concurrency,
                                       .input = lengths(run->least, run->input),
                                       .output = lengths(run->least, run->output),
                                       .seed = 1};
    const struct rt_serve_options options = {.ttft_target_us = NAN, .tpot_target_us = NAN};
    struct rt_serve_system system = {.serve = servers->serve.group, .decode = servers->decode.group};
    struct rt_serve_result result;
    if (run->sequences > 0)
        system.serve.scheduler.sequences = run->sequences;
    if (servers->decode.cost != NULL) {
        system.transfer_us = move_us;
        system.transfer_context = servers->serve.cost;
    }
    int status = rt_serve_simulate(&load, &system, &options, &result);
    if (status != RT_OK)
        return status;
    forecast[RT_SERVING_TTFT] = result.ttft_us.mean;
    forecast[RT_SERVING_TPOT] = result.tpot_us.mean;
    forecast[RT_SERVING_THROUGHPUT] =
        isnan(run->output_per_s) ? rt_serving_output_per_s(run, result.ttft_us.mean, result.tpot_us.mean)
                                 : result.output_per_s;
    return RT_OK;
}

static void judge_job(const struct builder *builder, const struct job *job)
{
    struct servers servers;
    int status = open_servers(builder, job, &servers);
    for (size_t i = job->first; i < job->first + job->count; i++) {
        struct rt_serving_run *run = &builder->evaluation->runs->run[builder->order[i]];
        int own = status == RT_OK ? simulate(&servers, run, builder->forecast[builder->order[i]]) : status;
        if (own != RT_OK)
            run->reason = rt_strdup(rt_error());
    }
    close_servers(&servers);
}

static void judge_jobs(void *context, size_t member)
{
    struct builder *builder = context;
    size_t members = rt_threads_size(builder->options->threads);
    for (size_t j = member; j < builder->job_count && !rt_interrupted(); j += members) {
        judge_job(builder, &builder->jobs[j]);
        size_t done = builder->jobs[j].count + atomic_fetch_add(&builder->done, builder->jobs[j].count);
        if (member == 0)
            rt_progress_update(&builder->progress, (double)done, "%zu of %.0f runs", done,
                               builder->progress.total);
    }
}

/* --- which runs go together --- */

/* Runs of one cut, which share a cost: 0. */
static int by_cut(const void *a, const void *b, void *context)
{
    const struct rt_serving_runs *runs = context;
    const struct rt_serving_run *x = &runs->run[*(const size_t *)a], *y = &runs->run[*(const size_t *)b];
    for (int t = RT_SERVING_DEVICE; t <= RT_SERVING_CACHE; t++) {
        int order = strcmp(x->text[t], y->text[t]);
        if (order != 0)
            return order;
    }
    int order = memcmp(&x->serve, &y->serve, sizeof x->serve);
    return order != 0 ? order : memcmp(&x->decode, &y->decode, sizeof x->decode);
}

static bool is_named(const struct rt_names *names, const char *text, bool words)
{
    for (size_t i = 0; i < names->count; i++)
        if (words ? rt_name_has_words(text, names->name[i]) : rt_name_contains(text, names->name[i]))
            return true;
    return names->count == 0;
}

static size_t choose(struct builder *builder)
{
    const struct rt_serving_runs *runs = builder->evaluation->runs;
    size_t count = 0;
    for (size_t r = 0; r < runs->count; r++) {
        const struct rt_serving_run *run = &runs->run[r];
        if (!is_named(builder->options->gpus, run->text[RT_SERVING_DEVICE], true) ||
            !is_named(builder->options->models, run->text[RT_SERVING_MODEL], false))
            continue;
        builder->evaluation->asked++;
        if (run->reason == NULL)
            builder->order[count++] = r;
    }
    return count;
}

static void make_jobs(struct builder *builder, size_t count)
{
    struct rt_serving_runs *runs = builder->evaluation->runs;
    qsort_r(builder->order, count, sizeof *builder->order, by_cut, runs);
    builder->jobs = rt_calloc(count + 1, sizeof *builder->jobs);
    for (size_t i = 0; i < count; i++) {
        if (i == 0 || by_cut(&builder->order[i - 1], &builder->order[i], runs) != 0)
            builder->jobs[builder->job_count++] = (struct job){i, 0};
        builder->jobs[builder->job_count - 1].count++;
    }
}

static void collect(struct builder *builder)
{
    struct rt_serving_evaluation *evaluation = builder->evaluation;
    evaluation->judged = rt_calloc(evaluation->runs->count + 1, sizeof *evaluation->judged);
    for (size_t r = 0; r < evaluation->runs->count; r++) {
        const struct rt_serving_run *run = &evaluation->runs->run[r];
        if (run->reason != NULL || isnan(builder->forecast[r][RT_SERVING_TPOT]))
            continue;
        struct rt_scored_serving *judged = &evaluation->judged[evaluation->count++];
        *judged = (struct rt_scored_serving){.run = run};
        memcpy(judged->forecast, builder->forecast[r], sizeof judged->forecast);
        judged->measured[RT_SERVING_TPOT] = run->tpot_us;
        judged->measured[RT_SERVING_TTFT] = run->ttft_us;
        judged->measured[RT_SERVING_THROUGHPUT] =
            isnan(run->output_per_s) ? rt_serving_output_per_s(run, run->ttft_us, run->tpot_us)
                                     : run->output_per_s;
    }
}

int rt_evaluate_serving(struct rt_serving_runs *runs, const struct rt_predictor *predictor,
                        const struct rt_serving_options *options, struct rt_serving_evaluation *out)
{
    struct builder builder = {.evaluation = out, .predictor = predictor, .options = options};
    *out = (struct rt_serving_evaluation){.runs = runs};
    builder.order = rt_calloc(runs->count + 1, sizeof *builder.order);
    builder.forecast = rt_calloc(runs->count + 1, sizeof *builder.forecast);
    for (size_t r = 0; r < runs->count; r++)
        for (int f = 0; f < RT_SERVING_FIGURES; f++)
            builder.forecast[r][f] = NAN;
    size_t count = choose(&builder);
    make_jobs(&builder, count);
    rt_progress_start(&builder.progress, "evaluate", (double)count, options->quiet);
    rt_threads_run(options->threads, judge_jobs, &builder);
    rt_progress_end(&builder.progress);
    collect(&builder);
    free(builder.order);
    free(builder.forecast);
    free(builder.jobs);
    if (out->count > 0)
        return RT_OK;
    return out->asked == 0 ? rt_fail(RT_ENOTFOUND, "no run is of a GPU and model with these names")
                           : rt_fail(RT_ENOTFOUND, "no run can be forecast; the first: %s",
                                     runs->run[0].reason != NULL ? runs->run[0].reason : "not asked for");
}

void rt_serving_evaluation_release(struct rt_serving_evaluation *evaluation)
{
    free(evaluation->judged);
    *evaluation = (struct rt_serving_evaluation){0};
}
