/* From options to a plan of serving. See command.h. */
#include "predict/serving/plan/command.h"
#include "base/point_journal.h"
#include "base/progress.h"
#include "base/sort.h"
#include "base/status.h"
#include "base/target.h"
#include "models/networks/architectures/architecture.h"
#include "models/networks/tower.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_USERS = 4096, MOST_GPUS = 1024 };

const char *const rt_serving_percentiles[RT_SERVING_PERCENTILES] = {"50", "90", "99"};

int rt_rising_numbers_read(const char *option, const char *text, const struct rt_range_kind *kind,
                           size_t most, struct rt_numbers *out)
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

int rt_serving_users_read(const char *option, const char *text, void *value)
{
    static const struct rt_range_kind kind = {"number of users", "numbers of users",
                                              "give numbers such as 1,8,64", "a server has 1 to 4096 users",
                                              MOST_USERS};
    return rt_rising_numbers_read(option, text, &kind, RT_SERVING_LEVELS, value);
}

int rt_serving_lengths_read(const char *option, const char *text, void *value)
{
    return rt_serve_lengths_read(option, text, value);
}

/* One of them: "2s@99". */
static int read_time(const char *option, const char *text, struct rt_serving_times *times)
{
    static const struct rt_option_value ms = {.from = 1e-3, .to = 1e9};
    const char *at = strchr(text, '@');
    double *out = &times->shown_ms;
    for (int p = 0; at != NULL && p < RT_SERVING_PERCENTILES; p++)
        if (strcmp(at + 1, rt_serving_percentiles[p]) == 0)
            out = &times->ms[p];
    if (at != NULL && out == &times->shown_ms)
        return rt_fail(RT_EUSAGE, "%s %s: a time is for 50, 90 or 99%% of requests, as 500@50,2s@99", option,
                       text);
    if (!isnan(*out))
        return rt_fail(RT_EUSAGE, "%s %s: a time for as many requests is given already", option, text);
    char *time = at != NULL ? rt_format("%.*s", (int)(at - text), text) : rt_strdup(text);
    int status = rt_read_milliseconds(&ms, option, time, out);
    free(time);
    return status;
}

int rt_serving_times_read(const char *option, const char *text, void *value)
{
    char *words = rt_strdup(text), *rest = words;
    int status = RT_OK;
    *(struct rt_serving_times *)value = (struct rt_serving_times){{NAN, NAN, NAN}, NAN};
    for (char *word; status == RT_OK && (word = strsep(&rest, ",")) != NULL;)
        status = read_time(option, word, value);
    free(words);
    return status;
}

void rt_serving_arguments_init(struct rt_serving_arguments *arguments)
{
    *arguments = (struct rt_serving_arguments){.server = rt_server_default(),
                                               .ttft = {{NAN, NAN, NAN}, NAN},
                                               .tpot = {{NAN, NAN, NAN}, NAN},
                                               .range_ratio = 1,
                                               .think_us = NAN,
                                               .ramp_us = NAN,
                                               .drafted = 5,
                                               .accepted = NAN,
                                               .rate = NAN,
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

/* The model's own, in 16 bits where it has more. */
static int own_dtype(const struct rt_model_source *source, enum rt_dtype *out)
{
    int status = rt_model_source_dtype(source, out);
    if (status == RT_OK && !rt_dtype_is_narrow(*out) && *out != RT_FP16)
        *out = RT_BF16;
    return status;
}

/* Has a GPU units for 4-bit products? */
static bool has_fp4(const struct rt_serving_request *request)
{
    const struct rt_serving_quant fp4 = {.dtype = RT_FP4};
    bool has = false;
    for (size_t g = 0; g < request->gpu_count; g++)
        has |= rt_serving_has_units(&request->gpu[g].device, &fp4);
    return has;
}

static int list_dtypes(const struct rt_serving_arguments *arguments, const struct rt_serving_request *request,
                       enum rt_dtype *dtype, size_t *count)
{
    const struct rt_model_source *source = request->source;
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
    /* Experts are published with a scale for each block; for Blackwell NVIDIA publishes NVFP4 of both. */
    if (status == RT_OK && !rt_dtype_is_narrow(dtype[0]))
        dtype[(*count)++] = source->model.experts.count > 0 ? RT_FP8_BLOCK : RT_FP8;
    /* Its units multiply MXFP4 by MXFP8, as TensorRT-LLM and SGLang do by themselves. */
    if (status == RT_OK && has_fp4(request) && dtype[*count - 1] != RT_FP4)
        dtype[(*count)++] = dtype[0] == RT_MXFP4 ? RT_MXFP4_MXFP8 : RT_FP4;
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

static int set_quants(const struct rt_serving_arguments *arguments, struct rt_serving_request *request)
{
    enum rt_dtype dtype[RT_SERVING_QUANTS / 2];
    int64_t bits[2] = {0, 8};
    size_t count, caches = 2;
    int status = list_dtypes(arguments, request, dtype, &count);
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

static int check_traffic(const struct rt_serving_arguments *arguments)
{
    bool lengths = arguments->isl.most > 0 || arguments->osl.most > 0;
    if (arguments->trace != NULL)
        return lengths || arguments->image > 0 || !isnan(arguments->rate)
                   ? rt_fail(RT_EUSAGE,
                             "--requests-from says how long requests are and when they come: leave out "
                             "--isl, --osl, --image and --rate")
                   : RT_OK;
    if (arguments->isl.most == 0)
        return rt_fail(RT_EUSAGE, "say how long prompts are: --isl TOKENS, or plan training: --train");
    if (arguments->osl.most == 0)
        return rt_fail(RT_EUSAGE, "say how long answers are: --osl TOKENS");
    if (arguments->osl.least < 2)
        return rt_fail(RT_EUSAGE,
                       "--osl 1: an answer of one token has no time between tokens; take 2 or more");
    if ((arguments->headroom_percent > 0 || arguments->spare > 0) && isnan(arguments->rate))
        return rt_fail(RT_EUSAGE,
                       "--headroom and --spare are of requests that come: give --rate or --requests-from");
    return RT_OK;
}

/* When requests come: a list's rate is that of its first to its last. */
static int read_trace(const struct rt_serving_arguments *arguments, struct rt_serving_request *request,
                      struct rt_serve_trace *trace)
{
    struct rt_serve_load *load = &request->load;
    int status = rt_serve_trace_read(arguments->trace, trace);
    if (status != RT_OK)
        return status;
    load->arrivals = RT_TRACE;
    load->trace = trace;
    load->requests = arguments->requests;
    for (size_t i = 0; i < trace->count; i++)
        trace->arrival_us[i] /= 1 + request->headroom;
    size_t count = rt_serve_load_requests(load);
    double seconds = 1e-6 * (trace->arrival_us[count - 1] - trace->arrival_us[0]);
    if (!(seconds > 0))
        return rt_fail(RT_EUSAGE, "--requests-from %s: its requests come at one time; a plan needs a rate",
                       arguments->trace);
    request->rate = (double)(count - 1) / seconds;
    return RT_OK;
}

/* Lengths, prefixes and times of the requests. */
static int set_load(const struct rt_serving_arguments *arguments, struct rt_serving_request *request,
                    struct rt_serve_trace *trace)
{
    struct rt_serve_load *load = &request->load;
    request->headroom = arguments->headroom_percent / 100;
    request->rate = arguments->rate * (1 + request->headroom);
    load->input = arguments->isl;
    load->output = arguments->osl;
    rt_serve_lengths_spread(arguments->range_ratio, &load->input);
    rt_serve_lengths_spread(arguments->range_ratio, &load->output);
    load->output.least = load->output.least > 2 ? load->output.least : 2;
    load->prefix_share = arguments->prefix_percent / 100;
    load->think_us = isnan(arguments->think_us) ? RT_SERVE_THINK_US : 1e6 * arguments->think_us;
    load->ramp_us = 1e6 * arguments->ramp_us;
    load->input.least += request->image_tokens;
    load->input.most += request->image_tokens;
    int status = arguments->trace != NULL ? read_trace(arguments, request, trace) : RT_OK;
    if (status == RT_OK)
        request->traffic = rt_serving_traffic(load);
    return status;
}

/* Images of a prompt, one where their side alone is given; their tokens are the prompt's. */
static int set_images(const struct rt_serving_arguments *arguments, const struct rt_model_source *source,
                      struct rt_serving_request *request)
{
    const struct rt_model *model = &source->model;
    if (arguments->image == 0 && arguments->images == 0)
        return RT_OK;
    if (!rt_model_sees(model))
        return rt_fail(RT_EUSAGE, "--image: %s has no tower of images that is known", source->spec);
    if (arguments->image == 0)
        return rt_fail(RT_EUSAGE, "--images %" PRId64 ": give their side with --image", arguments->images);
    request->image = arguments->image;
    request->images = arguments->images > 0 ? arguments->images : 1;
    request->image_tokens = request->images * rt_vision_tower_tokens(&model->vision_tower, request->image);
    return rt_vision_tower_check(model, request->image);
}

static int check_model(const struct rt_plan_arguments *shared, const struct rt_serving_request *request)
{
    const struct rt_model_source *source = request->source;
    const struct rt_model *model = &source->model;
    if (rt_model_source_traced(source) || !rt_model_reads_text(model) || !model->architecture->served)
        return rt_fail(RT_EUSAGE,
                       "--model %s: LLM servers do not run it; name a language model that decodes, by its "
                       "config.json or of the zoo",
                       shared->model);
    if (model->positions > 0 && request->traffic.longest > model->positions)
        return rt_fail(RT_EUSAGE,
                       "the longest prompt and answer are %" PRId64
                       " tokens together, and %s has positions for %" PRId64 "; take fewer",
                       request->traffic.longest, shared->model, model->positions);
    return RT_OK;
}

/* The time without a percentile is for that of --percentile. */
static struct rt_serving_target target_of(const struct rt_serving_times *times, int shown)
{
    struct rt_serving_target target;
    for (int p = 0; p < RT_SERVING_PERCENTILES; p++)
        target.us[p] = 1e3 * times->ms[p];
    if (isnan(target.us[shown]))
        target.us[shown] = 1e3 * times->shown_ms;
    return target;
}

static int set_request(const struct rt_plan_arguments *shared, const struct rt_serving_arguments *arguments,
                       const struct rt_model_source *source, struct rt_serving_request *request,
                       struct rt_serve_trace *trace)
{
    *request = (struct rt_serving_request){.source = source,
                                           .trace = arguments->trace,
                                           .ttft = target_of(&arguments->ttft, arguments->percentile),
                                           .tpot = target_of(&arguments->tpot, arguments->percentile),
                                           .percentile = arguments->percentile,
                                           .spare = arguments->spare,
                                           .cluster = shared->cluster,
                                           .server = arguments->server,
                                           .fabric = (enum rt_fabric)shared->fabric,
                                           .link_gbs = shared->link_gbs,
                                           .move_gbs = arguments->move_gbs,
                                           .risk = arguments->risk,
                                           /* both ends of an interval leave 1 - risk beyond each */
                                           .confidence = arguments->risk == 0 ? shared->confidence
                                                                              : 2 * arguments->risk - 1,
                                           .requests = arguments->requests,
                                           .seed = (uint64_t)arguments->seed,
                                           .disaggregate = !arguments->together,
                                           /* bounds are of users who go on */
                                           .exhaustive = shared->exhaustive || !isnan(arguments->ramp_us),
                                           .fallback = shared->fallback,
                                           .overwrite = shared->overwrite,
                                           .shard = shared->shard,
                                           .quiet = shared->quiet};
    if (shared->counts.value[shared->counts.count - 1] > MOST_GPUS)
        return rt_fail(RT_EUSAGE, "--gpus %g: servers are planned on at most %d GPUs",
                       shared->counts.value[shared->counts.count - 1], MOST_GPUS);
    request->gpus_count = copy_numbers(&shared->counts, request->gpus);
    request->level_count = copy_numbers(&arguments->users, request->level);
    int status = check_traffic(arguments);
    if (status == RT_OK)
        status = set_images(arguments, source, request);
    if (status == RT_OK)
        status = set_load(arguments, request, trace);
    if (status == RT_OK)
        status = check_model(shared, request);
    if (status == RT_OK)
        status = rt_priced_gpus_find(&shared->gpus, &shared->prices, request->gpu, &request->gpu_count);
    return status == RT_OK ? set_quants(arguments, request) : status;
}

/* A draft's cache does not move between servers. */
static int set_draft(const struct rt_serving_arguments *arguments, const struct rt_model_source *of,
                     struct rt_serving_request *request, struct rt_model_source *source,
                     struct rt_draft *draft)
{
    if (arguments->draft == NULL)
        return isnan(arguments->accepted)
                   ? RT_OK
                   : rt_fail(RT_EUSAGE, "--accepted is of speculative decoding: say what proposes tokens, "
                                        "--draft MODEL");
    *draft = (struct rt_draft){.name = arguments->draft,
                               .source = source,
                               .drafted = arguments->drafted,
                               .accepted = arguments->accepted};
    request->draft = draft;
    request->disaggregate = false;
    int status = rt_draft_check(arguments->drafted, arguments->accepted);
    return status == RT_OK ? rt_draft_find(arguments->draft, of, source) : status;
}

/* ---- the plan ---- */

/* Simulations lie in a journal beside the CSV; none where that is a device or a pipe. */
const char *rt_plan_journal_of(const struct rt_plan_arguments *shared)
{
    return shared->csv != NULL && !rt_target_is_special(shared->csv) ? shared->csv : NULL;
}

static int make_plan(const struct rt_plan_arguments *shared, const struct rt_serving_request *request)
{
    struct rt_serving_plan plan;
    struct rt_threads *pool =
        rt_threads_new(shared->threads > 0 ? (size_t)shared->threads : rt_threads_processors());
    rt_interrupt_catch();
    int status = rt_serving_plan_make(request, pool, rt_plan_journal_of(shared), &plan);
    rt_threads_free(pool);
    if (status != RT_OK || shared->shard.of > 0) {
        rt_serving_plan_release(&plan);
        return status;
    }
    if (shared->csv != NULL)
        status = rt_serving_write_points(&plan, shared->csv);
    int64_t best = status == RT_OK ? rt_serving_best(&plan, SIZE_MAX, 0) : -1;
    if (best >= 0 && shared->compose != NULL)
        status = rt_serving_write_compose(&plan, (size_t)best, shared->compose);
    if (status == RT_OK && rt_plan_journal_of(shared) != NULL)
        rt_point_journal_remove(rt_plan_journal_of(shared));
    if (status == RT_OK)
        status = rt_report_end_with(rt_serving_plan_report(&plan), shared->json, &shared->reports);
    rt_serving_plan_release(&plan);
    return status;
}

int rt_serving_plan_run(const struct rt_plan_arguments *shared, const struct rt_serving_arguments *arguments,
                        const struct rt_model_source *source)
{
    struct rt_serving_request request;
    struct rt_serve_trace trace = {0};
    struct rt_predictor predictor;
    struct rt_model_source drafts;
    struct rt_draft draft;
    int status = set_request(shared, arguments, source, &request, &trace);
    if (status == RT_OK)
        status = set_draft(arguments, source, &request, &drafts, &draft);
    if (status == RT_OK)
        status = rt_predictor_open(shared->predictor, &predictor);
    if (status == RT_OK) {
        request.predictor = &predictor;
        status = make_plan(shared, &request);
        rt_predictor_release(&predictor);
    }
    rt_serve_trace_release(&trace);
    return status;
}
