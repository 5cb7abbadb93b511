/* `rooftile plan`: how many of which GPU serve a model within a target. */
#include "base/options.h"
#include "base/outputs.h"
#include "base/point_journal.h"
#include "base/progress.h"
#include "base/ranges.h"
#include "base/report_files.h"
#include "base/sort.h"
#include "base/status.h"
#include "base/strings.h"
#include "base/target.h"
#include "base/text.h"
#include "models/networks/architectures/architecture.h"
#include "models/networks/step_options.h"
#include "predict/serving/plan/plan.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_GPUS = 1024, MOST_USERS = 4096, MOST_TOKENS = 1 << 20 };

struct arguments {
    const char *predictor, *model, *as;
    const struct rt_server *server;
    struct rt_names gpus, prices, quants, caches, reports;
    struct rt_numbers counts, users;
    int64_t isl, osl, requests, seed, threads;
    double ttft_ms, tpot_ms, rate, confidence, link_gbs, move_gbs;
    int fabric, percentile;
    const char *csv;
    bool together, exhaustive, fallback, overwrite, json, quiet;
};

static const char *const percentiles[] = {"50", "90", "99"};
static const int percents[] = {50, 90, 99};

/* Whole numbers, rising, each once. */
static int read_numbers(const char *option, const char *text, const struct rt_range_kind *kind, size_t most,
                        struct rt_numbers *out)
{
    size_t kept = 0;
    int status = rt_ranges_read(option, text, kind, out);
    if (status != RT_OK)
        return status;
    if (out->count > most)
        return rt_fail(RT_EUSAGE, "%s %s: at most %zu %s", option, text, most, kind->nouns);
    for (size_t i = 0; i < out->count; i++)
        if (out->value[i] != floor(out->value[i]))
            return rt_fail(RT_EUSAGE, "%s %s: %g is no whole number", option, text, out->value[i]);
    rt_sort_reals(out->value, out->count);
    for (size_t i = 0; i < out->count; i++)
        if (i == 0 || out->value[i] != out->value[kept - 1])
            out->value[kept++] = out->value[i];
    out->count = kept;
    return RT_OK;
}

/* Into an array of whole numbers; how many. */
static size_t copy_numbers(const struct rt_numbers *numbers, int64_t *out)
{
    for (size_t i = 0; i < numbers->count; i++)
        out[i] = (int64_t)numbers->value[i];
    return numbers->count;
}

static int read_counts(const char *option, const char *text, void *value)
{
    static const struct rt_range_kind kind = {"number of GPUs", "numbers of GPUs",
                                              "give numbers such as 8,16", "a number of GPUs is 1 to 1024",
                                              MOST_GPUS};
    return read_numbers(option, text, &kind, RT_SERVING_COUNTS, value);
}

static int read_users(const char *option, const char *text, void *value)
{
    static const struct rt_range_kind kind = {"number of users", "numbers of users",
                                              "give numbers such as 1,8,64", "a server has 1 to 4096 users",
                                              MOST_USERS};
    return read_numbers(option, text, &kind, RT_SERVING_LEVELS, value);
}

static const struct rt_option options[] = {
    {"model", 'm', "NAME",
     RT_TEXT(struct arguments, model,
             .required = "say which model: --model config.json, or a name (`rooftile graph --list`)",
             .reads = rt_reads_path, .suggests = rt_model_suggest),
     "A Hugging Face config.json, or a model of the zoo"},
    RT_STEP_AS_OPTION(struct arguments, as),
    {"gpu", 0, "NAME",
     RT_LIST(struct arguments, gpus,
             .required = "say which GPUs may be had: --gpu NAME (`rooftile devices` lists them)",
             .once = true, .reads = rt_device_reads),
     "A GPU that may be had, of the catalogue or a device file, with overrides as in `predict`"},
    {"gpus", 0, "N,N,...", RT_OWN(struct arguments, counts, read_counts),
     "How many GPUs of one kind may be had (default: 8)"},
    {"price", 0, "GPU=X", RT_LIST(struct arguments, prices),
     "What an hour of one such GPU costs, in any currency: the best plan is then the cheapest"},
    {"predictor", 'p', "P.h5",
     RT_TEXT(struct arguments, predictor, .reads = rt_predictor_reads, .suggests = rt_predictor_suggest),
     "A predictor file, or \"roofline\"; pretrained: what comes with rooftile"},
    RT_HEADING("Traffic and target:"),
    {"isl", 0, "N",
     RT_INTEGER(struct arguments, isl, 1, MOST_TOKENS, .required = "say how long prompts are: --isl TOKENS"),
     "Tokens of a prompt"},
    {"osl", 0, "N",
     RT_INTEGER(struct arguments, osl, 2, MOST_TOKENS, .required = "say how long answers are: --osl TOKENS"),
     "Tokens of an answer"},
    {"ttft", 0, "MS", RT_NUMBER(struct arguments, ttft_ms, 1e-3, 1e9),
     "The first token is to come within so many ms (default: any time)"},
    {"tpot", 0, "MS", RT_NUMBER(struct arguments, tpot_ms, 1e-3, 1e9),
     "Each further token is to come within so many ms, in the mean of a request (default: any time)"},
    {"percentile", 0, "P", RT_CHOICE(struct arguments, percentile, percentiles),
     "Of requests for which that holds: 50, 90 or 99"},
    {"rate", 0, "X", RT_NUMBER(struct arguments, rate, 1e-6, 1e9),
     "Requests that come a second (Poisson): how many GPUs do (default: each server has as many users as is "
     "best)"},
    RT_HEADING("What is tried:"),
    {"quantisation", 0, "NAME,...", RT_ITEMS(struct arguments, quants, .suggests = rt_dtype_suggest),
     "Of weights: bf16, fp8, fp8_block, int8, int4, fp4 ... (default: the model's own, and fp8, of models "
     "with experts fp8_block)"},
    {"kv-cache", 0, "NAME,...", RT_ITEMS(struct arguments, caches),
     "Of cached keys and values: bf16 (or fp16), fp8 (default: both)"},
    {"users", 0, "N,N,...", RT_OWN(struct arguments, users, read_users),
     "Users at once of one server (default: 1 to 512, powers of two and what is halfway between)"},
    {"no-disaggregation", 0, NULL, RT_FLAG(struct arguments, together),
     "Every server prefills and decodes: no servers that do one of the two alone"},
    {"exhaustive", 0, NULL, RT_FLAG(struct arguments, exhaustive),
     "Simulate every candidate that fits, also those that bounds rule out: slow"},
    RT_HEADING("How they are served:"),
    {"server", 0, "NAME", RT_OWN(struct arguments, server, rt_server_argument, .suggests = rt_server_suggest),
     "Whose scheduler and host: " RT_SERVER_NAMES
     " (default: vllm); what it chooses by the GPU follows from it"},
    {"fabric", 0, "NAME", RT_CHOICE(struct arguments, fabric, rt_fabrics),
     "What joins the GPUs: switch, mesh, pairs, pcie, pcie-peer or pcie-host; own: as the GPU's description "
     "has it"},
    {"link-gbs", 0, "X", RT_NUMBER(struct arguments, link_gbs, 1e-3, 1e6),
     "What a GPU sends to others, 10^9 bytes/s one way (default: by the GPU's description)"},
    {"transfer-gbs", 0, "X", RT_NUMBER(struct arguments, move_gbs, 1e-3, 1e6),
     "The same between servers that prefill and servers that decode, 10^9 bytes/s (default: the GPU's link)"},
    {"fallback", 0, NULL, RT_FLAG(struct arguments, fallback),
     "Take the roofline where the predictor has no network for an op"},
    RT_HEADING("Output:"),
    {"interval", 0, "LEVEL", RT_NUMBER(struct arguments, confidence, 0, 0.99),
     "Level of the intervals; 0: none"},
    {"requests", 0, "N", RT_INTEGER(struct arguments, requests, 1, 1000000),
     "Simulated requests for each user, or with --rate in all (default: 3 and 400)"},
    {"seed", 0, "N", RT_INTEGER(struct arguments, seed, 0, INT64_MAX), "Seed of the simulations"},
    {"csv", 0, "PLANS.csv", RT_TEXT(struct arguments, csv, .writes = &rt_serving_points_kind),
     "All candidates as CSV; simulations are kept beside it while the search runs"},
    RT_REPORT_OPTION(struct arguments, reports),
    {"overwrite", 0, NULL, RT_FLAG(struct arguments, overwrite), "Replace outputs that are there already"},
    {"threads", 't', "N", RT_INTEGER(struct arguments, threads, 1, RT_THREADS_MAX),
     "Threads (default: all processors); they change no byte of the results"},
    {"json", 'j', NULL, RT_FLAG(struct arguments, json), "Print JSON instead of text"},
    {"quiet", 'q', NULL, RT_FLAG(struct arguments, quiet), "No progress"},
};

static void set_defaults(void *value)
{
    struct arguments *arguments = value;
    *arguments = (struct arguments){.predictor = "pretrained",
                                    .server = rt_server_default(),
                                    .counts = {{8}, 1},
                                    .ttft_ms = NAN,
                                    .tpot_ms = NAN,
                                    .rate = NAN,
                                    .confidence = 0.9,
                                    .link_gbs = NAN,
                                    .move_gbs = NAN,
                                    .percentile = 1,
                                    .seed = 1};
    struct rt_numbers *users = &arguments->users;
    for (int64_t at = 1; at <= 512; at *= 2) {
        users->value[users->count++] = (double)at;
        if (at > 1 && at < 512)
            users->value[users->count++] = (double)(at + at / 2);
    }
}

/* ---- the request ---- */

static int set_gpus(const struct arguments *arguments, struct rt_serving_request *request)
{
    int status = RT_OK;
    if (arguments->gpus.count > RT_SERVING_GPUS)
        return rt_fail(RT_EUSAGE, "--gpu: at most %d kinds of GPU", RT_SERVING_GPUS);
    for (size_t g = 0; status == RT_OK && g < arguments->gpus.count; g++) {
        struct rt_serving_gpu *gpu = &request->gpu[request->gpu_count++];
        *gpu = (struct rt_serving_gpu){.asked = arguments->gpus.name[g], .price = NAN};
        status = rt_device_find(gpu->asked, &gpu->device);
        for (size_t other = 0; status == RT_OK && other < g; other++)
            if (strcmp(request->gpu[other].asked, gpu->asked) != 0 &&
                rt_device_same(&request->gpu[other].device, &gpu->device))
                status = rt_fail(RT_EUSAGE, "--gpu %s and --gpu %s are the same GPU; name it once",
                                 request->gpu[other].asked, gpu->asked);
    }
    return status;
}

/* "H100=2.5": the name as --gpu has it, or one of the same device. */
static int set_price(const char *text, struct rt_serving_request *request)
{
    const char *equals = strrchr(text, '=');
    double price;
    if (equals == NULL || equals == text || rt_parse_real(equals + 1, strlen(equals + 1), &price) != 0 ||
        !(price > 0) || !isfinite(price))
        return rt_fail(RT_EUSAGE, "--price %s: give GPU=PRICE of a GPU-hour, above 0, such as H100=2.5",
                       text);
    char *name = rt_format("%.*s", (int)(equals - text), text);
    struct rt_device device;
    struct rt_serving_gpu *found = NULL;
    for (size_t g = 0; g < request->gpu_count; g++)
        if (strcmp(request->gpu[g].asked, name) == 0)
            found = &request->gpu[g];
    int status = found != NULL ? RT_OK : rt_device_find(name, &device);
    for (size_t g = 0; status == RT_OK && found == NULL && g < request->gpu_count; g++)
        if (rt_device_same(&request->gpu[g].device, &device))
            found = &request->gpu[g];
    if (status != RT_OK)
        status = rt_fail_context(status, "--price %s", text);
    else if (found == NULL)
        status = rt_fail(RT_EUSAGE, "--price %s: %s is not among the GPUs; add --gpu %s", text, name, name);
    else
        found->price = price;
    free(name);
    return status;
}

/* The model's own, in 16 bits where it has more. */
static int own_dtype(const struct rt_model_source *source, enum rt_dtype *out)
{
    int status = rt_model_source_dtype(source, out);
    if (status == RT_OK && !rt_dtype_is_narrow(*out) && *out != RT_FP16)
        *out = RT_BF16;
    return status;
}

static int list_dtypes(const struct arguments *arguments, const struct rt_model_source *source,
                       enum rt_dtype *dtype, size_t *count)
{
    *count = 0;
    for (size_t q = 0; q < arguments->quants.count; q++) {
        if (*count == RT_SERVING_QUANTS / 2)
            return rt_fail(RT_EUSAGE, "--quantisation: at most %d", RT_SERVING_QUANTS / 2);
        int status = rt_dtype_argument("--quantisation", arguments->quants.name[q], &dtype[*count]);
        if (status != RT_OK)
            return status;
        if (rt_dtypes[dtype[(*count)++]].bytes > 2)
            return rt_fail(RT_EUSAGE, "--quantisation %s: servers run in 16 bits or fewer; take bf16",
                           arguments->quants.name[q]);
    }
    if (*count > 0)
        return RT_OK;
    int status = own_dtype(source, &dtype[0]);
    *count = 1;
    /* Experts are published with a scale for each block. */
    if (status == RT_OK && !rt_dtype_is_narrow(dtype[0]))
        dtype[(*count)++] = source->model.experts.count > 0 ? RT_FP8_BLOCK : RT_FP8;
    return status;
}

/* Bits of a name of --kv-cache; 0: as the activations. */
static int cache_bits(const char *name, int64_t *bits)
{
    enum rt_dtype dtype = RT_FP32;
    int status = rt_dtype_argument("--kv-cache", name, &dtype);
    *bits = dtype == RT_FP8 || dtype == RT_INT8 ? 8 : 0;
    if (status == RT_OK && *bits == 0 && dtype != RT_BF16 && dtype != RT_FP16)
        return rt_fail(RT_EUSAGE, "--kv-cache %s: servers keep keys and values in bf16, fp16, fp8 or int8",
                       name);
    return status;
}

static int set_quants(const struct arguments *arguments, struct rt_serving_request *request)
{
    enum rt_dtype dtype[RT_SERVING_QUANTS / 2];
    int64_t bits[2] = {0, 8};
    size_t count, caches = 2;
    int status = list_dtypes(arguments, request->source, dtype, &count);
    if (arguments->caches.count > 2)
        return rt_fail(RT_EUSAGE, "--kv-cache: 16 bits and 8 bits are all there is");
    if (arguments->caches.count > 0)
        caches = arguments->caches.count;
    for (size_t c = 0; status == RT_OK && c < arguments->caches.count; c++)
        status = cache_bits(arguments->caches.name[c], &bits[c]);
    if (caches == 2 && bits[0] == bits[1])
        caches = 1;
    for (size_t q = 0; status == RT_OK && q < count; q++)
        for (size_t c = 0; c < caches; c++)
            request->quant[request->quant_count++] = (struct rt_serving_quant){
                .dtype = dtype[q], .fp16_beside = request->source->model.fp16, .kv_bits = bits[c]};
    return status;
}

static int check_model(const struct arguments *arguments, const struct rt_model_source *source)
{
    const struct rt_model *model = &source->model;
    if (rt_model_source_traced(source) || !rt_model_reads_text(model) || !model->architecture->served)
        return rt_fail(RT_EUSAGE,
                       "--model %s: LLM servers do not run it; name a language model that decodes, by its "
                       "config.json or of the zoo",
                       arguments->model);
    if (model->positions > 0 && arguments->isl + arguments->osl > model->positions)
        return rt_fail(RT_EUSAGE,
                       "--isl %" PRId64 " and --osl %" PRId64 " are %" PRId64
                       " tokens together, and %s has positions for %" PRId64 "; take fewer",
                       arguments->isl, arguments->osl, arguments->isl + arguments->osl, arguments->model,
                       model->positions);
    return RT_OK;
}

static int set_request(const struct arguments *arguments, const struct rt_model_source *source,
                       struct rt_serving_request *request)
{
    *request = (struct rt_serving_request){.source = source,
                                           .isl = arguments->isl,
                                           .osl = arguments->osl,
                                           .ttft_us = 1e3 * arguments->ttft_ms,
                                           .tpot_us = 1e3 * arguments->tpot_ms,
                                           .rate = arguments->rate,
                                           .percentile = percents[arguments->percentile],
                                           .server = arguments->server,
                                           .fabric = (enum rt_fabric)arguments->fabric,
                                           .link_gbs = arguments->link_gbs,
                                           .move_gbs = arguments->move_gbs,
                                           .confidence = arguments->confidence,
                                           .requests = arguments->requests,
                                           .seed = (uint64_t)arguments->seed,
                                           .disaggregate = !arguments->together,
                                           .exhaustive = arguments->exhaustive,
                                           .fallback = arguments->fallback,
                                           .overwrite = arguments->overwrite,
                                           .quiet = arguments->quiet};
    request->gpus_count = copy_numbers(&arguments->counts, request->gpus);
    request->level_count = copy_numbers(&arguments->users, request->level);
    int status = check_model(arguments, source);
    if (status == RT_OK)
        status = set_gpus(arguments, request);
    for (size_t p = 0; status == RT_OK && p < arguments->prices.count; p++)
        status = set_price(arguments->prices.name[p], request);
    return status == RT_OK ? set_quants(arguments, request) : status;
}

/* ---- the command ---- */

/* Simulations lie in a journal beside the CSV; none where that is a device or a pipe. */
static const char *journal_of(const struct arguments *arguments)
{
    return arguments->csv != NULL && !rt_target_is_special(arguments->csv) ? arguments->csv : NULL;
}

static int make_plan(const struct arguments *arguments, const struct rt_serving_request *request)
{
    struct rt_serving_plan plan;
    struct rt_threads *pool =
        rt_threads_new(arguments->threads > 0 ? (size_t)arguments->threads : rt_threads_processors());
    rt_interrupt_catch();
    int status = rt_serving_plan_make(request, pool, journal_of(arguments), &plan);
    rt_threads_free(pool);
    if (status == RT_OK && arguments->csv != NULL)
        status = rt_serving_write_points(&plan, arguments->csv);
    if (status == RT_OK && journal_of(arguments) != NULL)
        rt_point_journal_remove(journal_of(arguments));
    if (status == RT_OK)
        status = rt_report_end_with(rt_serving_plan_report(&plan), arguments->json, &arguments->reports);
    rt_serving_plan_release(&plan);
    return status;
}

static int run(const struct rt_command_line *line)
{
    const struct arguments *arguments = line->options;
    struct rt_model_source source;
    struct rt_serving_request request;
    struct rt_predictor predictor;
    int status = rt_outputs_check(line);
    if (status == RT_OK && rt_given(line, "rate") && rt_given(line, "users"))
        status = rt_fail(RT_EUSAGE, "--users and --rate exclude each other: requests that come at a rate are "
                                    "as many at once as they are");
    if (status == RT_OK)
        status = rt_model_source_find_as(arguments->model, arguments->as, &source);
    if (status == RT_OK)
        status = set_request(arguments, &source, &request);
    if (status == RT_OK)
        status = rt_predictor_open(arguments->predictor, &predictor);
    if (status != RT_OK)
        return status;
    request.predictor = &predictor;
    status = make_plan(arguments, &request);
    rt_predictor_release(&predictor);
    return status;
}

const struct rt_command rt_command_plan = {
    .name = "plan",
    .brief = "how many of which GPU, cut how, serve an LLM within a target",
    .about =
        "Searches all ways to serve a model: kinds and numbers of GPUs, tensor, pipeline, data and expert "
        "parallel degrees, quantisation, users at once, prefill and decode together or apart. Prints the "
        "best for the target, its price, the front of throughput against speed, and why the others fail.",
    .details =
        "Memory and bounds rule most candidates out; the rest are simulated as `rooftile serve` does. With "
        "--csv simulations are kept: after Ctrl-C or a crash the same command goes on. docs/guide/plan.md "
        "says what the figures mean.\n\n"
        "Example: Llama-3.1-70B on 8 H100 or 8 H200, first token in 2 s, then a token every 30 ms\n"
        "  rooftile plan --model config.json --gpu H100 --gpu H200 --gpus 8 --isl 4096 --osl 1024 \\\n"
        "    --ttft 2000 --tpot 30 --price H100=2.5 --price H200=3.5\n"
        "Example: how many GPUs serve 6 requests a second\n"
        "  rooftile plan --model config.json --gpu H100 --gpus 2,4,8,16 --isl 4096 --osl 1024 --rate 6 "
        "--ttft 2000 --tpot 50",
    .options = options,
    .option_count = RT_COUNT(options),
    .size = sizeof(struct arguments),
    .set_defaults = set_defaults,
    .run = run,
    .operands = RT_NO_OPERANDS("plan takes options only; name the model with --model"),
};
