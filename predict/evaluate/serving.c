/* Runs of LLM servers out of CSV, simulated. See serving.h. */
#include "predict/evaluate/serving.h"
#include "base/array.h"
#include "base/csv.h"
#include "base/progress.h"
#include "base/status.h"
#include "base/strings.h"
#include "models/networks/architectures/architecture.h"
#include "models/networks/step.h"
#include "predict/serving/deployment.h"

#include <math.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>

/* ---- runs out of CSV ---- */

const char *const rt_serving_texts[RT_SERVING_TEXTS] = {"id",    "device", "model",    "backend",
                                                        "dtype", "quant",  "kv_cache", "note"};

#define NUMBER(member) offsetof(struct rt_serving_run, member)

/* A column of whole numbers: where it goes, what an empty cell is; -1: the run cannot do without. */
static const struct count_column {
    const char *name;
    size_t offset;
    int64_t otherwise;
} counts[] = {{"tp", NUMBER(serve.tensor), 1},
              {"pp", NUMBER(serve.pipeline), 1},
              {"ep", NUMBER(serve.expert), 1},
              {"attention_dp", NUMBER(serve.attention), 1},
              {"replicas", NUMBER(serve.data), 1},
              {"decode_tp", NUMBER(decode.tensor), 0},
              {"decode_pp", NUMBER(decode.pipeline), 1},
              {"decode_ep", NUMBER(decode.expert), 1},
              {"decode_attention_dp", NUMBER(decode.attention), 1},
              {"decode_replicas", NUMBER(decode.data), 0},
              {"input", NUMBER(input), -1},
              {"output", NUMBER(output), -1},
              {"concurrency", NUMBER(concurrency), -1},
              {"sequences", NUMBER(sequences), 0},
              {"budget", NUMBER(budget), 0},
              {"poll_steps", NUMBER(poll), 0},
              {"gather_steps", NUMBER(gather), 0},
              {"graph_tokens", NUMBER(graph), 0}};

static const struct real_column {
    const char *name;
    size_t offset;
    double scale, otherwise;
} reals[] = {{"least", NUMBER(least), 1, 1},
             {"ttft_ms", NUMBER(ttft_us), 1e3, NAN},
             {"tpot_ms", NUMBER(tpot_us), 1e3, NAN},
             {"output_per_s", NUMBER(output_per_s), 1, NAN}};

static const struct rt_csv_field *field_of(const struct rt_csv *csv, const struct rt_csv_field *fields,
                                           const char *name)
{
    int column = rt_csv_find(csv, name);
    return column >= 0 && fields[column].length > 0 ? &fields[column] : NULL;
}

/* Keeps the first reason. */
static void refuse(struct rt_serving_run *run, char *reason)
{
    if (run->reason == NULL)
        run->reason = reason;
    else
        free(reason);
}

static int read_counts(const struct rt_csv *csv, const struct rt_csv_field *fields,
                       struct rt_serving_run *run)
{
    for (size_t c = 0; c < RT_COUNT(counts); c++) {
        const struct rt_csv_field *field = field_of(csv, fields, counts[c].name);
        int64_t *value = (int64_t *)((char *)run + counts[c].offset);
        *value = counts[c].otherwise;
        if (field == NULL && *value < 0)
            refuse(run, rt_format("its %s is missing", counts[c].name));
        if (field != NULL && (rt_csv_integer(field, value) != 0 || *value < 1 || *value > INT32_MAX))
            return rt_csv_fail_cell(csv, counts[c].name, field, "a whole number from 1");
    }
    if (run->decode.tensor > 0 && run->decode.data == 0)
        refuse(run, rt_strdup("disaggregated: how many groups prefill and decode is missing"));
    return RT_OK;
}

static int read_reals(const struct rt_csv *csv, const struct rt_csv_field *fields, struct rt_serving_run *run)
{
    for (size_t c = 0; c < RT_COUNT(reals); c++) {
        const struct rt_csv_field *field = field_of(csv, fields, reals[c].name);
        double *value = (double *)((char *)run + reals[c].offset), cell;
        *value = reals[c].otherwise;
        if (field == NULL)
            continue;
        if (rt_parse_real(field->text, field->length, &cell) != 0 || !(cell > 0) || cell > 1e12)
            return rt_csv_fail_cell(csv, reals[c].name, field, "a number above 0");
        *value = cell * reals[c].scale;
    }
    if (run->least > 1)
        return rt_csv_fail(csv, "least is %g; it must be a share of the lengths, at most 1", run->least);
    if (isnan(run->tpot_us) || isnan(run->ttft_us))
        refuse(run, rt_format("its %s_ms is missing", isnan(run->tpot_us) ? "tpot" : "ttft"));
    return RT_OK;
}

static int read_row(const struct rt_csv *csv, const struct rt_csv_field *fields, struct rt_serving_run *run)
{
    run->line = rt_csv_line(csv);
    for (int t = 0; t < RT_SERVING_TEXTS; t++) {
        const struct rt_csv_field *field = field_of(csv, fields, rt_serving_texts[t]);
        run->text[t] = rt_strdup(field != NULL ? field->text : "");
    }
    int status = read_counts(csv, fields, run);
    return status == RT_OK ? read_reals(csv, fields, run) : status;
}

static int check_columns(const struct rt_csv *csv)
{
    static const char *const needed[] = {"device",      "model",   "backend", "input", "output",
                                         "concurrency", "ttft_ms", "tpot_ms", NULL};
    for (size_t c = 0; needed[c] != NULL; c++)
        if (rt_csv_find(csv, needed[c]) < 0)
            return rt_fail(RT_EFORMAT,
                           "%s:1: has no column \"%s\"; runs of servers need device, model, backend, input, "
                           "output, concurrency, ttft_ms and tpot_ms",
                           rt_csv_path(csv), needed[c]);
    return RT_OK;
}

static int read_rows(struct rt_csv *csv, struct rt_serving_runs *out)
{
    const struct rt_csv_field *fields;
    int status = check_columns(csv), row = RT_CSV_END;
    while (status == RT_OK && (row = rt_csv_next(csv, &fields)) == RT_CSV_ROW) {
        RT_GROW(out->run, out->count, 1, out->capacity);
        out->run[out->count] =
            (struct rt_serving_run){.serve = RT_PARALLELISM_NONE, .decode = RT_PARALLELISM_NONE};
        status = read_row(csv, fields, &out->run[out->count++]);
    }
    if (status != RT_OK)
        return status;
    return row == RT_CSV_REFUSED ? RT_EFORMAT : row;
}

int rt_serving_runs_read(const char *path, struct rt_serving_runs *out)
{
    struct rt_csv *csv;
    *out = (struct rt_serving_runs){.path = rt_strdup(path)};
    int status = rt_csv_open(path, &csv);
    if (status != RT_OK)
        return status;
    status = read_rows(csv, out);
    rt_csv_close(csv);
    return status;
}

void rt_serving_runs_release(struct rt_serving_runs *runs)
{
    for (size_t r = 0; r < runs->count; r++) {
        for (int t = 0; t < RT_SERVING_TEXTS; t++)
            free(runs->run[r].text[t]);
        free(runs->run[r].reason);
    }
    free(runs->run);
    free(runs->path);
    *runs = (struct rt_serving_runs){0};
}

uint64_t rt_serving_run_key(const struct rt_serving_run *run)
{
    const double times[] = {run->least, run->ttft_us, run->tpot_us};
    const int64_t whole[] = {run->input,           run->output,         run->concurrency,
                             run->serve.tensor,    run->serve.pipeline, run->serve.expert,
                             run->serve.attention, run->serve.data,     run->decode.data};
    uint64_t key = rt_hash(rt_hash(RT_HASH_START, times, sizeof times), whole, sizeof whole);
    for (int t = RT_SERVING_DEVICE; t <= RT_SERVING_CACHE; t++)
        key = rt_hash(key, run->text[t], strlen(run->text[t]) + 1);
    return key;
}

/* Tokens a second that users get who wait `ttft_us` for the first and `tpot_us` for each further one of the
 * mean output: Little's law, without what the server takes between requests. */
static double output_per_s_of(const struct rt_serving_run *run, double ttft_us, double tpot_us)
{
    double output = (double)run->output * (1 + run->least) / 2;
    return 1e6 * (double)run->concurrency * output / (ttft_us + tpot_us * (output - 1));
}

/* ---- simulations ---- */

/* What users wait by a simulation; NaN: there is none. */
struct waits {
    double tpot_us, ttft_us, output_per_s;
};

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
    struct waits *forecast;      /* (runs) */
    struct rt_progress progress; /* in runs; only the first member draws it */
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

/* Graphs of a server that is cut so: a decode step of one sequence for each part; its costs take others. */
static int settle(const struct rt_serving_run *run, const struct rt_parallelism *cut,
                  const struct rt_model_source *source, const struct rt_device *device,
                  struct rt_graph_options *out)
{
    struct rt_step step = RT_STEP_NOT_GIVEN;
    struct rt_settled_step settled;
    step.mode = RT_STEP_DECODE;
    step.runtime = RT_RUNTIME_SERVING;
    step.server = run->text[RT_SERVING_BACKEND];
    step.batch = rt_parallelism_parts(cut);
    step.sequence = 1;
    step.context = run->input + run->output;
    step.parallel = *cut;
    int status = dtype_of(run, RT_SERVING_DTYPE, RT_BF16, &step.dtype);
    if (status == RT_OK)
        status = dtype_of(run, RT_SERVING_QUANT, RT_NOT_GIVEN, &step.quant);
    if (status == RT_OK)
        status = dtype_of(run, RT_SERVING_CACHE, RT_DTYPE_NONE, &step.kv_cache);
    if (status != RT_OK)
        return status;
    status = rt_step_settle(&step, source, device, &settled);
    *out = settled.graph;
    rt_settled_step_release(&settled);
    return status;
}

/* What a job's runs share. */
struct servers {
    struct rt_device device;
    struct rt_deployment serve, decode; /* decode: zeros where the first does both */
    const char *server, *architecture, *dtype;
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

static int deploy(const struct builder *builder, const struct job *job, const struct rt_parallelism *cut,
                  const struct rt_model_source *source, struct servers *servers, struct rt_deployment *out)
{
    const struct rt_device *device = &servers->device;
    const struct rt_serving_run *run = &builder->evaluation->runs->run[builder->order[job->first]];
    int64_t input = most_of(builder, job, offsetof(struct rt_serving_run, input));
    const struct rt_server *server;
    int status = rt_server_find(run->text[RT_SERVING_BACKEND], &server);
    if (status != RT_OK)
        return status;
    struct rt_deployment_options options = {
        .name = run->text[RT_SERVING_MODEL],
        .model = &source->model,
        .predictor = builder->predictor,
        .device = device,
        .cost = {.parallel = *cut, .server = server, .fallback = builder->options->fallback, .level = 0.9},
        .cache_tokens = NAN,
        .sequences = most_of(builder, job, offsetof(struct rt_serving_run, concurrency)),
        .scheduler = rt_server_scheduler(server, device, cut->tensor),
        .longest_input = input,
        .longest = input + most_of(builder, job, offsetof(struct rt_serving_run, output))};
    if (run->graph > 0)
        options.scheduler.graph_most = run->graph;
    status = settle(run, cut, source, device, &options.cost.graph);
    servers->server = server->name;
    servers->architecture = source->model.architecture->model_type;
    servers->dtype = rt_dtypes[options.cost.graph.dtype].name;
    return status == RT_OK ? rt_deployment_open(&options, out) : status;
}

static int open_servers(const struct builder *builder, const struct job *job, struct servers *out)
{
    const struct rt_serving_run *run = &builder->evaluation->runs->run[builder->order[job->first]];
    struct rt_model_source source;
    *out = (struct servers){0};
    int status = rt_device_find(run->text[RT_SERVING_DEVICE], &out->device);
    if (status == RT_OK)
        status = rt_model_source_named(run->text[RT_SERVING_MODEL], &source);
    if (status == RT_OK)
        status = deploy(builder, job, &run->serve, &source, out, &out->serve);
    if (status == RT_OK && run->decode.data > 0)
        status = deploy(builder, job, &run->decode, &source, out, &out->decode);
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

static int simulate(const struct servers *servers, const struct rt_serving_run *run, struct waits *out)
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
    if (run->budget > 0)
        system.serve.scheduler.budget = run->budget;
    system.serve.scheduler.poll = run->gather > 0 ? run->gather : run->poll;
    system.serve.scheduler.gathers = run->gather > 0;
    if (servers->decode.cost != NULL) {
        system.transfer_us = move_us;
        system.transfer_context = servers->serve.cost;
    }
    int status = rt_serve_simulate(&load, &system, &options, &result);
    if (status != RT_OK)
        return status;
    *out = (struct waits){.tpot_us = result.tpot_us.mean, .ttft_us = result.ttft_us.mean};
    out->output_per_s =
        isnan(run->output_per_s) ? output_per_s_of(run, out->ttft_us, out->tpot_us) : result.output_per_s;
    return RT_OK;
}

/* Of a decode step of its users at their mean context. */
static double half_width_of(const struct rt_deployment *decodes, const struct rt_serving_run *run)
{
    int64_t servers = decodes->group.replicas, users = (run->concurrency + servers - 1) / servers;
    double shorter = (1 + run->least) / 2;
    const struct rt_serve_batch batch =
        rt_deployment_decodes(decodes, users, shorter * ((double)run->input + (double)run->output / 2));
    return rt_deployment_ln_half_width(decodes, &batch);
}

static void judge_job(const struct builder *builder, const struct job *job)
{
    struct servers servers;
    int status = open_servers(builder, job, &servers);
    for (size_t i = job->first; i < job->first + job->count; i++) {
        struct rt_serving_run *run = &builder->evaluation->runs->run[builder->order[i]];
        int own = status == RT_OK ? simulate(&servers, run, &builder->forecast[builder->order[i]]) : status;
        const struct rt_deployment *decodes = servers.decode.cost != NULL ? &servers.decode : &servers.serve;
        run->server = servers.server;
        run->architecture = servers.architecture;
        run->dtype = servers.dtype;
        if (own == RT_OK) {
            run->trust = rt_step_cost_trust(decodes->cost);
            run->ln_half_width = half_width_of(decodes, run);
        } else {
            run->reason = rt_strdup(rt_error());
        }
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
    const size_t degrees =
        offsetof(struct rt_parallelism, sequence); /* whole numbers, nothing between them */
    const struct rt_serving_runs *runs = context;
    const struct rt_serving_run *x = &runs->run[*(const size_t *)a], *y = &runs->run[*(const size_t *)b];
    for (int t = RT_SERVING_DEVICE; t <= RT_SERVING_CACHE; t++) {
        int order = strcmp(x->text[t], y->text[t]);
        if (order != 0)
            return order;
    }
    int order = memcmp(&x->serve, &y->serve, degrees);
    if (order == 0)
        order = memcmp(&x->decode, &y->decode, degrees);
    return order != 0 ? order : (x->graph > y->graph) - (x->graph < y->graph);
}

static bool is_asked(const struct rt_serving_options *options, const struct rt_serving_run *run)
{
    return rt_names_have_words(options->gpus, run->text[RT_SERVING_DEVICE]) &&
           (options->models->count == 0 || rt_names_match(options->models, run->text[RT_SERVING_MODEL]));
}

static size_t choose(struct builder *builder)
{
    const struct rt_serving_runs *runs = builder->evaluation->runs;
    size_t count = 0;
    for (size_t r = 0; r < runs->count; r++) {
        struct rt_serving_run *run = &runs->run[r];
        run->asked = is_asked(builder->options, run);
        if (!run->asked)
            continue;
        builder->evaluation->asked++;
        if (rt_anchors_have(builder->predictor->anchors, rt_serving_run_key(run)))
            refuse(run, rt_strdup("the predictor was calibrated to it"));
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
    evaluation->run = rt_malloc((evaluation->runs->count + 1) * sizeof(const struct rt_serving_run *));
    for (size_t r = 0; r < evaluation->runs->count; r++) {
        const struct rt_serving_run *run = &evaluation->runs->run[r];
        const struct waits *forecast = &builder->forecast[r];
        if (run->reason != NULL || isnan(forecast->tpot_us))
            continue;
        evaluation->run[evaluation->items.count] = run;
        struct rt_scored_item *item = rt_scored_items_add(&evaluation->items);
        double measured =
            isnan(run->output_per_s) ? output_per_s_of(run, run->ttft_us, run->tpot_us) : run->output_per_s;
        item->ln_half_width = run->ln_half_width;
        rt_scored_set(item, RT_QUANTITY_TPOT, run->tpot_us, forecast->tpot_us);
        rt_scored_set(item, RT_QUANTITY_TTFT, run->ttft_us, forecast->ttft_us);
        rt_scored_set(item, RT_QUANTITY_THROUGHPUT, measured, forecast->output_per_s);
        if (run->concurrency <= RT_FEW_USERS)
            rt_scored_set(item, RT_QUANTITY_TTFT_FEW, run->ttft_us, forecast->ttft_us);
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
        builder.forecast[r] = (struct waits){NAN, NAN, NAN};
    size_t count = choose(&builder);
    make_jobs(&builder, count);
    rt_progress_start(&builder.progress, "evaluate", (double)count, options->quiet);
    rt_threads_run(options->threads, judge_jobs, &builder);
    rt_progress_end(&builder.progress);
    collect(&builder);
    free(builder.order);
    free(builder.forecast);
    free(builder.jobs);
    if (out->items.count > 0)
        return RT_OK;
    const char *first = NULL; /* of those that were asked for */
    for (size_t r = 0; r < runs->count && first == NULL; r++)
        first = runs->run[r].asked ? runs->run[r].reason : NULL;
    return out->asked == 0 ? rt_fail(RT_ENOTFOUND, "no run is of a GPU and model with these names")
                           : rt_fail(RT_ENOTFOUND, "no run can be forecast; the first: %s",
                                     first != NULL ? first : "nothing of it is known");
}

void rt_serving_evaluation_release(struct rt_serving_evaluation *evaluation)
{
    rt_scored_items_release(&evaluation->items);
    free(evaluation->run);
    *evaluation = (struct rt_serving_evaluation){0};
}
