/* `rooftile simulate` (or serve): what users of an LLM server wait for, and what it gives. */
#include "base/options.h"
#include "base/outputs.h"
#include "base/ranges.h"
#include "base/report_files.h"
#include "base/status.h"
#include "models/networks/step_options.h"
#include "models/networks/tower.h"
#include "models/networks/source.h"
#include "models/predictors/predictor/network_memo.h"
#include "predict/serving/report.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

enum { MOST_POINTS = 64 };

struct arguments {
    const char *predictor, *gpu, *model, *as, *requests, *timeline;
    const struct rt_server *server;
    struct rt_step step;
    struct rt_numbers concurrency, rate;
    struct rt_serve_load load;
    double range_ratio, prefix_percent;
    int64_t budget, sequences, block, poll, gather,
        cache_tokens; /* 0: the server's own, and as many as fit */
    double memory_share, host_gib;
    bool no_prefix_cache, no_graphs;
    int64_t prefill_replicas, prefill_tensor;
    const char *draft;
    int64_t drafted, lora, adapters;
    double accepted, request_ms;
    enum rt_serve_router router;
    double transfer_gbs;
    bool transfer_overlap, fallback;
    double ttft_ms, tpot_ms, level;
    struct rt_names reports;
    bool overwrite, json;
};

static int read_concurrency(const char *option, const char *text, void *value)
{
    return rt_numbers_read(option, text, 1, 1000000, true, MOST_POINTS, value);
}

static int read_rates(const char *option, const char *text, void *value)
{
    return rt_numbers_read(option, text, 1e-6, 1e9, false, MOST_POINTS, value);
}

static const struct rt_option options[] = {
    RT_PREDICTOR_OPTION(struct arguments, predictor),
    {"gpu", 0, "NAME",
     RT_TEXT(struct arguments, gpu,
             .required = "say on which GPU: --gpu NAME (`rooftile devices` lists them)",
             .reads = rt_device_reads, .suggests = rt_device_suggest),
     "A GPU of the catalogue or a device file, with overrides: H100,memory_gib=96"},
    {"model", 'm', "NAME",
     RT_TEXT(struct arguments, model,
             .required =
                 "say which model: --model NAME (`rooftile graph --list` lists them) or a config.json",
             .reads = rt_model_reads, .suggests = rt_model_suggest),
     "A decoder of the zoo (`rooftile graph --list`) or a Hugging Face config.json"},
    RT_STEP_AS_OPTION(struct arguments, as),
    RT_HEADING("Requests:"),
    {"isl", 0, "N[:N]",
     RT_OWN(struct arguments, load.input, rt_serve_lengths_read, .also = "input prompt random-input"),
     "Tokens of a prompt: all alike, or even between two lengths"},
    {"osl", 0, "N[:N]",
     RT_OWN(struct arguments, load.output, rt_serve_lengths_read, .also = "output random-output"),
     "Tokens of an output, likewise"},
    {"range-ratio", 0, "R", RT_NUMBER(struct arguments, range_ratio, 0, 1),
     "Ratio: lengths even between R x --isl and --isl, and likewise of --osl, as --random-range-ratio of "
     "InferenceX (0.8 there)"},
    {"image", 0, "N", RT_INTEGER(struct arguments, step.image, 1, RT_MOST_PIXELS),
     "Side in pixels of the images of a prompt, beside its --isl tokens of text (models with a tower of "
     "images)"},
    {"images", 0, "N", RT_INTEGER(struct arguments, step.images, 1, RT_MOST_PROMPT_IMAGES),
     "Images of each prompt (default 1)"},
    {"concurrency", 'c', "N[,N...]",
     RT_OWN(struct arguments, concurrency, read_concurrency, .also = "max-concurrency users"),
     "Users, each of whom sends a request when the last is answered; several: a row each. With --rate and "
     "--trace: at most so many requests at once"},
    {"rate", 0, "X[,X...]", RT_OWN(struct arguments, rate, read_rates, .also = "qps request-rate"),
     "Requests a second that come as a Poisson process; several: a row each"},
    {"trace", 0, "FILE", RT_TEXT(struct arguments, requests, .reads = rt_reads_path),
     "Requests as they came: FILE.csv, a row each of arrival_s, input_tokens, output_tokens, and perhaps "
     "prefix_group, prefix_tokens and priority (the least first); FILE.jsonl as Mooncake has them, with "
     "hashes of blocks"},
    {"requests", 'n', "N",
     RT_INTEGER(struct arguments, load.requests, 1, 1000000000, .also = "num-prompts num-requests"),
     "So many requests (default: 10 x --concurrency as InferenceX sends, 1000 of --rate, all of --trace)"},
    {"think", 0, "TIME", RT_SECONDS(struct arguments, load.think_us, 0, 1e6),
     "Mean time between an answer and its user's next request, such as 2s; exponential (default 0.02s)"},
    {"ramp", 0, "TIME", RT_SECONDS(struct arguments, load.ramp_us, 0, 1e6),
     "Users begin at random within this time and end with the last request (default: a load that lasts; 0s: "
     "all at once, as in benchmarks)"},
    {"warm-up", 0, "N", RT_INTEGER(struct arguments, load.warm_up, 0, 1000000000),
     "The first N requests that are answered do not count (default: the first of each user; 0 with --ramp, "
     "--rate and --trace)"},
    {"prefix-share", 0, "PERCENT", RT_NUMBER(struct arguments, prefix_percent, 0, 100),
     "Of every prompt, that all have in common, as a system's prompt"},
    {"seed", 0, "N", RT_INTEGER(struct arguments, load.seed, 0, INT64_MAX), "Seed of lengths and arrivals"},
    RT_HEADING("The server:"),
    {"server", 0, "NAME", RT_OWN(struct arguments, server, rt_server_argument, .suggests = rt_server_suggest),
     "Whose scheduler and host: " RT_SERVER_NAMES
     " (default: vllm); what it chooses by the GPU follows from it"},
    {"max-tokens", 0, "N", RT_INTEGER(struct arguments, budget, 1, 1 << 24),
     "Tokens of a step: max_num_batched_tokens, chunked_prefill_size, max_num_tokens (default: the "
     "server's)"},
    {"max-sequences", 0, "N", RT_INTEGER(struct arguments, sequences, 1, 1 << 20),
     "Sequences that run at once (default: the server's)"},
    {"poll-steps", 0, "N", RT_INTEGER(struct arguments, poll, 1, 1 << 20),
     "Steps that decode between two looks for new requests: SGLang's --scheduler-recv-interval (default 1)"},
    {"gather-steps", 0, "N", RT_INTEGER(struct arguments, gather, 1, 1 << 20),
     "Steps for which a prompt waits beside decodes for others: TensorRT-LLM's batch_wait_timeout_iters "
     "(default: none)"},
    {"block", 0, "N", RT_INTEGER(struct arguments, block, 1, 65536),
     "Tokens of a block of the cache (default: the server's)"},
    {"memory-share", 0, "PERCENT", RT_NUMBER(struct arguments, memory_share, 1, 100),
     "Of a GPU's memory, for weights, activations and cache (default: the server's)"},
    {"cache-tokens", 0, "N", RT_INTEGER(struct arguments, cache_tokens, 1, INT64_MAX / 4),
     "Tokens that a replica's cache holds (default: as many as fit)"},
    {"host-cache", 0, "GIB", RT_NUMBER(struct arguments, host_gib, 0, 1e6),
     "Memory of the host that keeps prefixes which the GPUs' cache gives up, GiB a replica; they come back "
     "over the host's link before a step"},
    {"no-prefix-cache", 0, NULL, RT_FLAG(struct arguments, no_prefix_cache),
     "Every prompt is computed as a whole"},
    {"no-graphs", 0, NULL, RT_FLAG(struct arguments, no_graphs),
     "No CUDA graphs: kernels are launched one by one"},
    {"request-ms", 0, "MS", RT_NUMBER(struct arguments, request_ms, 0, 1e6),
     "What a request takes beside steps, in ms: network, web server, tokenizer (default: the server's, 20 or "
     "0)"},
    {"lora", 0, "RANK", RT_INTEGER(struct arguments, lora, 1, 65536),
     "Requests ask for adapters of this rank beside the products of the layers (experts have none)"},
    {"adapters", 0, "N", RT_INTEGER(struct arguments, adapters, 1, 65536),
     "So many adapters with --lora share the GPU's memory, each replica has all; sequences of a step ask for "
     "different ones (default 1)"},
    {"draft", 0, "MODEL",
     RT_TEXT(struct arguments, draft, .reads = rt_model_reads, .suggests = rt_model_suggest),
     "Speculative decoding: a model that proposes tokens, on the same GPUs; mtp: the model's own layer for "
     "further tokens"},
    {"draft-tokens", 0, "N", RT_INTEGER(struct arguments, drafted, 1, 64),
     "Tokens that the draft proposes before each check (default 5)"},
    {"accepted", 0, "X", RT_NUMBER(struct arguments, accepted, 1, 65),
     "Tokens that a check makes of a sequence in the mean, its own included: 1 to 1 + --draft-tokens"},
    RT_HEADING("The GPUs:"),
    {"dtype", 0, "NAME", RT_OWN(struct arguments, step.dtype, rt_read_dtype, .suggests = rt_dtype_suggest),
     "Element type of weights and activations (default: that of the config.json; else bf16)"},
    {"quant", 0, "NAME",
     RT_OWN(struct arguments, step.quant, rt_read_dtype_or_none, .suggests = rt_dtype_suggest),
     "Of the products with weights: fp8, fp8-block, nvfp4, mxfp4, int8, int4 ... (default: as the "
     "config.json has it; none: not)"},
    {"kv-cache", 0, "NAME",
     RT_OWN(struct arguments, step.kv_cache, rt_read_dtype_or_none, .suggests = rt_dtype_suggest),
     "Element type of cached keys and values: fp8, or that of --dtype (default: as the config.json has it)"},
    RT_STEP_GPU_OPTIONS(struct arguments, step),
    {"pp", 0, "N", RT_INTEGER(struct arguments, step.parallel.pipeline, 1, 4096),
     "Pipeline parallel: the layers in N stages"},
    {"replicas", 0, "N", RT_INTEGER(struct arguments, step.parallel.data, 1, RT_MOST_REPLICAS),
     "Data parallel: N such servers behind a router (of those that decode, with --prefill-replicas)"},
    {"router", 0, "NAME", RT_CHOICE(struct arguments, router, rt_serve_routers),
     "Who gets a request: round-robin, or least-loaded (default)"},
    {"link-gbs", 0, "X", RT_NUMBER(struct arguments, step.parallel.link_gbs, 0.01, 1e5),
     "What a GPU sends to others of its server, one direction, GB/s (default: by the GPU's links)"},
    {"fabric", 0, "NAME", RT_CHOICE(struct arguments, step.parallel.fabric, rt_fabrics),
     "What joins them: switch, mesh, pairs, pcie, pcie-peer, pcie-host; default: own, by the GPU's links"},
    RT_STEP_CLUSTER_OPTIONS(struct arguments, step),
    RT_HEADING("Prefill and decode apart:"),
    {"prefill-replicas", 0, "N", RT_INTEGER(struct arguments, prefill_replicas, 1, RT_MOST_REPLICAS),
     "N servers that prefill only; --replicas decode only, and get the caches"},
    {"prefill-tp", 0, "N", RT_INTEGER(struct arguments, prefill_tensor, 1, 65536),
     "GPUs of each that prefills, tensor parallel (default: as --tp)"},
    {"transfer-gbs", 0, "X", RT_NUMBER(struct arguments, transfer_gbs, 0.001, 1e5),
     "What a GPU sends of a cache to those that decode, GB/s (default: by the GPU's links)"},
    {"transfer-overlap", 0, NULL, RT_FLAG(struct arguments, transfer_overlap),
     "Layers are sent while later ones are computed (default: when the prompt is)"},
    RT_HEADING("Output:"),
    {"ttft", 0, "MS", RT_MILLISECONDS(struct arguments, ttft_ms, 1e-3, 1e9),
     "Count requests whose first token takes so long at most, in ms"},
    {"tpot", 0, "MS", RT_MILLISECONDS(struct arguments, tpot_ms, 1e-6, 1e9),
     "Count requests whose further tokens take so long each at most, in ms"},
    {"interval", 0, "LEVEL", RT_NUMBER(struct arguments, level, 0, 0.99),
     "Level of the intervals: the same load with steps at both ends of theirs; 0: none"},
    {"fallback", 0, NULL, RT_FLAG(struct arguments, fallback),
     "Take the roofline where the predictor has no network for an op"},
    {"trace-out", 0, "FILE", RT_TEXT(struct arguments, timeline, .writes = &rt_serve_timeline_kind),
     "Also write the first 200,000 steps as a timeline that Perfetto (ui.perfetto.dev) opens"},
    RT_REPORT_OPTION(struct arguments, reports),
    {"overwrite", 0, NULL, RT_FLAG(struct arguments, overwrite),
     "Replace a timeline and reports that are there already, each its own kind"},
    {"json", 'j', NULL, RT_FLAG(struct arguments, json), "Print JSON instead of text"},
};

static void set_defaults(void *value)
{
    *(struct arguments *)value = (struct arguments){
        .predictor = "pretrained",
        .server = rt_server_default(),
        .step = RT_STEP_NOT_GIVEN,
        .range_ratio = 1,
        .memory_share = NAN,
        .transfer_gbs = NAN,
        .drafted = 5,
        .accepted = NAN,
        .request_ms = NAN,
        .level = 0.9,
        .load = {.ramp_us = NAN, .think_us = NAN, .warm_up = -1, .seed = 1},
        .router = RT_LEAST_LOADED,
        .ttft_ms = NAN,
        .tpot_ms = NAN,
    };
    ((struct arguments *)value)->step.mode = RT_STEP_DECODE;
}

/* ---- what is asked ---- */

static int check_arrivals(const struct rt_command_line *line)
{
    const struct arguments *arguments = line->options;
    bool trace = arguments->requests != NULL, rate = arguments->rate.count > 0;
    if (!trace && !rate && arguments->concurrency.count == 0)
        return rt_fail(RT_EUSAGE,
                       "say how requests come: --concurrency 64, --rate 8 or --trace requests.csv");
    if (trace && rate)
        return rt_fail(RT_EUSAGE, "--trace says when requests come: leave out --rate");
    if ((trace || rate) && arguments->concurrency.count > 1)
        return rt_fail(RT_EUSAGE,
                       "--concurrency beside --rate and --trace is the most at once: give one number");
    if ((trace || rate) && (rt_given(line, "ramp") || rt_given(line, "think")))
        return rt_fail(RT_EUSAGE, "--%s is for --concurrency alone, whose users ask again when answered",
                       rt_given(line, "ramp") ? "ramp" : "think");
    return RT_OK;
}

static int check_lengths(const struct rt_command_line *line)
{
    static const char *const lengths[] = {"isl", "osl", "range-ratio", "prefix-share", "seed", NULL};
    const struct arguments *arguments = line->options;
    const char *given = rt_given_of(line, lengths);
    if (arguments->requests != NULL && given != NULL)
        return rt_fail(RT_EUSAGE, "--trace says how long requests are: leave out --%s", given);
    if (arguments->requests == NULL && (!rt_given(line, "isl") || !rt_given(line, "osl")))
        return rt_fail(RT_EUSAGE, "say how long requests are: --isl 4096 --osl 1024");
    if (arguments->requests != NULL && (rt_given(line, "image") || rt_given(line, "images")))
        return rt_fail(RT_EUSAGE,
                       "--image is for prompts that are alike: leave out --trace, give --isl and --osl");
    if (rt_given(line, "range-ratio") && (arguments->load.input.least < arguments->load.input.most ||
                                          arguments->load.output.least < arguments->load.output.most))
        return rt_fail(RT_EUSAGE,
                       "--range-ratio gives the range: name one length each, --isl 4096 --osl 1024");
    return RT_OK;
}

static int check_groups(const struct rt_command_line *line)
{
    static const char *const apart[] = {"prefill-tp", "transfer-gbs", "transfer-overlap", NULL};
    const struct arguments *arguments = line->options;
    const char *given = rt_given_of(line, apart);
    if (arguments->prefill_replicas == 0 && given != NULL)
        return rt_fail(RT_EUSAGE,
                       "--%s is for prefill and decode apart: say how many prefill, --prefill-replicas N",
                       given);
    if (arguments->gather > 0 && arguments->poll > 0)
        return rt_fail(RT_EUSAGE, "--gather-steps and --poll-steps are two servers' ways: leave one out");
    if (arguments->adapters > 0 && arguments->lora == 0)
        return rt_fail(RT_EUSAGE, "--adapters: give their rank, --lora RANK");
    if (arguments->timeline != NULL && arguments->concurrency.count + arguments->rate.count > 1 &&
        (arguments->concurrency.count > 1 || arguments->rate.count > 1))
        return rt_fail(RT_EUSAGE, "--trace-out shows one load: give one --concurrency or one --rate");
    return RT_OK;
}

static int check_draft(const struct rt_command_line *line)
{
    const struct arguments *arguments = line->options;
    bool drafts = arguments->draft != NULL;
    if (!drafts && (rt_given(line, "accepted") || rt_given(line, "draft-tokens")))
        return rt_fail(RT_EUSAGE, "--%s is for speculative decoding: say what proposes tokens, --draft MODEL",
                       rt_given(line, "accepted") ? "accepted" : "draft-tokens");
    if (drafts && arguments->prefill_replicas > 0)
        return rt_fail(RT_EUSAGE, "--draft beside --prefill-replicas: whose cache of the draft moves is not "
                                  "simulated; leave one out");
    return drafts ? rt_draft_check(arguments->drafted, arguments->accepted) : RT_OK;
}

/* Of a prompt: one, where their side alone is given. */
static int64_t images_of(const struct rt_step *step)
{
    return step->image > 0 && step->images == 0 ? 1 : step->images;
}

/* ---- a model on its GPUs ---- */

struct longest {
    int64_t input, both;
};

static struct longest longest_of(const struct rt_serve_load *load)
{
    struct longest longest = {load->input.most, load->input.most + load->output.most};
    for (size_t i = 0; load->trace != NULL && i < rt_serve_load_requests(load); i++) {
        int64_t input = load->trace->input[i], both = input + load->trace->output[i];
        longest.input = input > longest.input ? input : longest.input;
        longest.both = both > longest.both ? both : longest.both;
    }
    return longest;
}

static int check_positions(const struct arguments *arguments, const struct rt_model *model,
                           struct longest longest)
{
    if (model->positions < 1 || longest.both <= model->positions)
        return RT_OK;
    return rt_fail(RT_EUSAGE,
                   "a request of %" PRId64 " tokens, prompt and output, is longer than the %" PRId64
                   " positions of %s: %s",
                   longest.both, model->positions, arguments->model,
                   arguments->requests != NULL ? "take such requests out of the trace"
                                               : "lower --isl or --osl");
}

/* The server's, but for what was given. */
static struct rt_scheduler scheduler_of(const struct arguments *arguments, const struct rt_device *device)
{
    struct rt_scheduler scheduler =
        rt_server_scheduler(arguments->server, device, arguments->step.parallel.tensor);
    if (arguments->budget > 0)
        scheduler.budget = arguments->budget;
    if (arguments->sequences > 0)
        scheduler.sequences = arguments->sequences;
    if (arguments->block > 0)
        scheduler.block = arguments->block;
    scheduler.gathers = arguments->gather > 0;
    scheduler.poll = scheduler.gathers ? arguments->gather : arguments->poll;
    if (!isnan(arguments->memory_share))
        scheduler.memory_share = arguments->memory_share / 100;
    scheduler.prefix_cache &= !arguments->no_prefix_cache;
    scheduler.graph_most = arguments->no_graphs ? 0 : scheduler.graph_most;
    return scheduler;
}

/* Most requests that a load has at once. */
static int64_t most_at_once(const struct arguments *arguments, const struct rt_serve_load *load)
{
    double most = 0;
    for (size_t i = 0; i < arguments->concurrency.count; i++)
        most = fmax(most, arguments->concurrency.value[i]);
    return most > 0 ? (int64_t)most : (int64_t)rt_serve_load_requests(load);
}

static struct rt_deployment_options deployment_of(const struct arguments *arguments,
                                                  const struct rt_device *device,
                                                  const struct rt_model_source *source,
                                                  const struct rt_graph_options *graph)
{
    struct longest longest = longest_of(&arguments->load);
    return (struct rt_deployment_options){
        .name = arguments->model,
        .model = &source->model,
        .device = device,
        .cost = {.graph = *graph,
                 .parallel = arguments->step.parallel,
                 .server = arguments->server,
                 .adapters = arguments->adapters,
                 .fallback = arguments->fallback,
                 .level = arguments->level},
        .scheduler = scheduler_of(arguments, device),
        .cache_tokens = arguments->cache_tokens > 0 ? (double)arguments->cache_tokens : NAN,
        .host_gib = arguments->host_gib,
        .sequences = most_at_once(arguments, &arguments->load),
        .longest_input = longest.input,
        .longest = longest.both,
    };
}

/* The step that a server decodes with on the device, that it prefills with where prompts have images; what is
 * not served is refused. */
static int settle_step(const struct arguments *arguments, const struct rt_model_source *source,
                       const struct rt_device *device, struct rt_graph_options *out)
{
    struct rt_settled_step settled;
    struct rt_step step = arguments->step;
    if (step.image > 0 || step.images > 0)
        step.mode = RT_STEP_PREFILL;
    int status = rt_step_settle(&step, source, device, &settled);
    rt_settled_step_release(&settled);
    if (status == RT_OK && !rt_runtimes[settled.graph.runtime].served)
        return rt_fail(RT_EUSAGE,
                       "%s in %s is not what LLM servers run; serve is for decoders in 16 bits or fewer",
                       arguments->model, rt_dtypes[settled.graph.dtype].name);
    *out = settled.graph;
    return status;
}

struct service {
    struct rt_deployment serve, decode; /* serve prefills only where decode has replicas */
    double transfer_gbs;
};

static double transfer_us(const void *context, int64_t tokens)
{
    const struct service *service = context;
    return rt_step_cost_move_us(service->serve.cost, (double)tokens, service->transfer_gbs);
}

static struct rt_serve_system system_of(const struct arguments *arguments, const struct service *service)
{
    struct rt_serve_system system = {
        .serve = service->serve.group,
        .decode = service->decode.group,
        .transfer_us = transfer_us,
        .transfer_context = service,
        .transfer_overlap = arguments->transfer_overlap,
        .router = arguments->router,
    };
    if (!isnan(arguments->request_ms))
        system.serve.request_us = 1e3 * arguments->request_ms;
    return system;
}

static int open_service(const struct arguments *arguments, struct rt_deployment_options *cut,
                        struct service *service)
{
    *service = (struct service){.transfer_gbs = arguments->transfer_gbs};
    if (arguments->prefill_replicas == 0)
        return rt_deployment_open(cut, &service->serve);
    int status = rt_deployment_open(cut, &service->decode);
    cut->cost.parallel.data = arguments->prefill_replicas;
    if (arguments->prefill_tensor > 0)
        cut->cost.parallel.tensor = arguments->prefill_tensor;
    return status == RT_OK ? rt_deployment_open(cut, &service->serve) : status;
}

static void close_service(struct service *service)
{
    rt_deployment_release(&service->serve);
    rt_deployment_release(&service->decode);
}

/* ---- simulations ---- */

/* Half-widths, in ln, of a step that only decodes and of one with a prompt, as the load has them on average.
 */
static void halves(const struct service *service, const struct rt_serve_point *point, double *decode,
                   double *prefill)
{
    const struct rt_serve_result *r = &point->result;
    const struct rt_deployment *decodes = service->decode.cost != NULL ? &service->decode : &service->serve;
    double requests = (double)r->requests, length = r->input_tokens / requests;
    double running = fmax(1, round(r->running_mean / (double)decodes->group.replicas));
    int64_t budget = service->serve.group.scheduler.budget;
    struct rt_serve_chunk chunk = {.tokens = length < (double)budget ? (int64_t)ceil(length) : budget};
    struct rt_serve_batch batch =
        rt_deployment_decodes(decodes, (int64_t)running, length + r->output_tokens / requests / 2);
    *decode = rt_deployment_ln_half_width(decodes, &batch);
    batch = (struct rt_serve_batch){.chunks = &chunk, .chunk_count = 1};
    *prefill = rt_deployment_ln_half_width(&service->serve, &batch);
}

static int simulate_scaled(const struct rt_serve_load *load, const struct rt_serve_system *system,
                           const struct rt_serve_options *plain, double decode, double prefill,
                           struct rt_serve_result *out)
{
    struct rt_serve_system scaled = *system;
    struct rt_scaled_costs serve = {system->serve.costs, exp(decode), exp(prefill)};
    struct rt_scaled_costs decodes = {system->decode.costs, exp(decode), exp(prefill)};
    scaled.serve.costs = rt_scaled_costs(&serve);
    scaled.decode.costs = rt_scaled_costs(&decodes);
    struct rt_serve_load own = *load;
    if (load->lasting) { /* users begin and think where they do in the time of an answer */
        rt_serve_load_last(&own, &scaled);
        own.think_us *= own.ramp_us / load->ramp_us;
        own.warm_up = load->warm_up;
    }
    return rt_serve_simulate(&own, &scaled, plain, out);
}

static void enclose_one(double of, double *low, double *high)
{
    double fast = *low, slow = *high;
    *low = fmin(of, fmin(fast, slow));
    *high = fmax(of, fmax(fast, slow));
}

/* Who comes beside whom differs where steps do, so that slower steps may wait less: from the least to the
 * most of the three. */
static void enclose(const struct rt_serve_quantiles *of, struct rt_serve_quantiles *low,
                    struct rt_serve_quantiles *high)
{
    enclose_one(of->mean, &low->mean, &high->mean);
    enclose_one(of->p50, &low->p50, &high->p50);
}

/* A load, and the same with all steps at either end of their interval. */
static int simulate(const struct arguments *arguments, const struct service *service,
                    struct rt_serve_point *point)
{
    struct rt_serve_system system = system_of(arguments, service);
    struct rt_serve_options plain = {.ttft_target_us = arguments->ttft_ms * 1e3,
                                     .tpot_target_us = arguments->tpot_ms * 1e3};
    struct rt_serve_options watched = plain;
    double decode, prefill;
    rt_serve_recorder_init(&point->recorder, arguments->timeline != NULL ? RT_RECORDED_SPANS : 0);
    rt_serve_recorder_attach(&point->recorder, &watched);
    int status = rt_serve_simulate(&point->load, &system, &watched, &point->result);
    if (status != RT_OK || arguments->level <= 0)
        return status;
    halves(service, point, &decode, &prefill);
    if (isnan(decode) || isnan(prefill))
        return RT_OK;
    point->has_interval = true;
    status = simulate_scaled(&point->load, &system, &plain, -decode, -prefill, &point->low);
    if (status == RT_OK)
        status = simulate_scaled(&point->load, &system, &plain, decode, prefill, &point->high);
    enclose(&point->result.ttft_us, &point->low.ttft_us, &point->high.ttft_us);
    enclose(&point->result.queue_us, &point->low.queue_us, &point->high.queue_us);
    return status;
}

/* A closed loop lasts where nobody says how it begins. */
static struct rt_serve_load load_of(const struct arguments *arguments, const struct rt_serve_system *system,
                                    size_t i)
{
    double ramp_us = arguments->load.ramp_us, think_us = arguments->load.think_us;
    int64_t warm_up = arguments->load.warm_up;
    struct rt_serve_load load = arguments->load;
    load.rate = arguments->rate.count > 0 ? arguments->rate.value[i] : 0;
    if (arguments->concurrency.count > 0)
        load.concurrency = (int64_t)arguments->concurrency.value[arguments->rate.count > 0 ? 0 : i];
    load.ramp_us = isnan(ramp_us) ? 0 : 1e6 * ramp_us;
    load.think_us = isnan(think_us) ? RT_SERVE_THINK_US : 1e6 * think_us;
    if (load.arrivals == RT_CLOSED_LOOP && isnan(ramp_us))
        rt_serve_load_last(&load, system);
    if (warm_up >= 0 || !load.lasting)
        load.warm_up = warm_up > 0 ? warm_up : 0;
    return load;
}

static int write_timeline(const struct arguments *arguments, const struct rt_serve_recorder *recorder)
{
    if (arguments->timeline == NULL)
        return RT_OK;
    if (recorder->left_out > 0)
        rt_note("%s holds the first %zu runs of steps and leaves out the %zu after them", arguments->timeline,
                recorder->spans, recorder->left_out);
    return rt_serve_timeline_write(recorder, arguments->timeline);
}

static int report(const struct arguments *arguments, const struct service *service,
                  const struct rt_device *device, struct rt_serve_point *points, size_t count)
{
    bool apart = service->decode.cost != NULL;
    const struct rt_serve_group *serve = &service->serve.group, *decode = &service->decode.group;
    const struct rt_serve_setting setting = {
        .model = arguments->model,
        .gpu = device->name,
        .server = arguments->server->name,
        .predictor = arguments->predictor,
        .trace = arguments->requests,
        .draft = arguments->draft,
        .drafted = arguments->drafted,
        .accepted = arguments->accepted,
        .images = images_of(&arguments->step),
        .image = arguments->step.image,
        .level = arguments->level,
        .ttft_target_us = arguments->ttft_ms * 1e3,
        .tpot_target_us = arguments->tpot_ms * 1e3,
        .serve = &service->serve,
        .decode = apart ? &service->decode : NULL,
        .gpus = serve->replicas * serve->gpus + (apart ? decode->replicas * decode->gpus : 0),
    };
    int status = write_timeline(arguments, &points[0].recorder);
    return status == RT_OK ? rt_report_end_with(rt_serve_report(&setting, points, count), arguments->json,
                                                &arguments->reports)
                           : status;
}

static int serve(const struct arguments *arguments, const struct service *service,
                 const struct rt_device *device)
{
    size_t count = arguments->rate.count > 0       ? arguments->rate.count
                   : arguments->load.trace != NULL ? 1
                                                   : arguments->concurrency.count;
    struct rt_serve_point *points = rt_calloc(count, sizeof *points);
    const struct rt_serve_system system = system_of(arguments, service);
    int status = RT_OK;
    for (size_t i = 0; status == RT_OK && i < count; i++) {
        points[i].load = load_of(arguments, &system, i);
        status = simulate(arguments, service, &points[i]);
    }
    if (status == RT_OK)
        status = report(arguments, service, device, points, count);
    for (size_t i = 0; i < count; i++)
        rt_serve_recorder_release(&points[i].recorder);
    free(points);
    return status;
}

/* As its own checkpoint is stored, on the server's runtime. */
static int find_draft(const struct arguments *arguments, const struct rt_model_source *model,
                      const struct rt_device *device, struct rt_model_source *source, struct rt_draft *out)
{
    struct arguments own = *arguments;
    own.model = arguments->draft;
    if (!rt_draft_is_own(arguments->draft))
        own.step.quant = own.step.kv_cache = RT_NOT_GIVEN;
    own.step.image = own.step.images = 0;
    *out = (struct rt_draft){arguments->draft, source, .drafted = arguments->drafted,
                             .accepted = arguments->accepted};
    int status = rt_draft_find(arguments->draft, model, source);
    return status == RT_OK ? settle_step(&own, source, device, &out->graph) : status;
}

static int serve_on(const struct rt_command_line *line, const struct rt_model_source *source,
                    const struct rt_predictor *predictor)
{
    const struct arguments *arguments = line->options;
    struct rt_device device;
    struct service service = {0};
    struct rt_graph_options step;
    int status = rt_device_find(arguments->gpu, &device);
    if (status == RT_OK)
        status = settle_step(arguments, source, &device, &step);
    if (status != RT_OK)
        return status;
    step.lora = arguments->lora;
    struct rt_deployment_options cut = deployment_of(arguments, &device, source, &step);
    struct rt_model_source drafts;
    struct rt_draft draft;
    if (arguments->draft != NULL) {
        status = find_draft(arguments, source, &device, &drafts, &draft);
        if (status != RT_OK)
            return status;
        cut.draft = &draft;
    }
    struct rt_network_memo *memo = rt_network_memo_new();
    cut.predictor = predictor;
    cut.cost.memo = memo;
    status = open_service(arguments, &cut, &service);
    if (status == RT_OK)
        status = serve(arguments, &service, &device);
    close_service(&service);
    rt_network_memo_free(memo);
    return status;
}

/* ---- the command ---- */

/* What a server runs: decoders, not what reads files of other tools, images or sound. */
static int find_model(const struct arguments *arguments, struct rt_model_source *source)
{
    int status = rt_model_source_find_as(arguments->model, arguments->as, source);
    if (status == RT_OK && rt_model_source_traced(source))
        return rt_fail(RT_EUSAGE, "%s is an %s; LLM servers read checkpoints: give the model's config.json",
                       arguments->model, source->importer->what);
    return status;
}

static int settle_load(struct arguments *arguments, const struct rt_model *model,
                       struct rt_serve_trace *trace)
{
    struct rt_serve_load *load = &arguments->load;
    rt_serve_lengths_spread(arguments->range_ratio, &load->input);
    rt_serve_lengths_spread(arguments->range_ratio, &load->output);
    if (arguments->step.image > 0 && rt_model_sees(model)) {
        int64_t tokens =
            images_of(&arguments->step) * rt_vision_tower_tokens(&model->vision_tower, arguments->step.image);
        load->input.least += tokens;
        load->input.most += tokens;
    }
    load->prefix_share = arguments->prefix_percent / 100;
    load->arrivals = arguments->requests != NULL ? RT_TRACE
                     : arguments->rate.count > 0 ? RT_POISSON
                                                 : RT_CLOSED_LOOP;
    if (load->arrivals == RT_POISSON && load->requests == 0)
        load->requests = 1000;
    if (load->arrivals == RT_TRACE) {
        int status = rt_serve_trace_read(arguments->requests, trace);
        if (status != RT_OK)
            return status;
        load->trace = trace;
    }
    return check_positions(arguments, model, longest_of(load));
}

static int run(const struct rt_command_line *line)
{
    struct arguments *arguments = line->options;
    struct rt_model_source source;
    struct rt_predictor predictor;
    struct rt_serve_trace trace = {0};
    int status = check_arrivals(line);
    if (status == RT_OK)
        status = check_lengths(line);
    if (status == RT_OK)
        status = check_groups(line);
    if (status == RT_OK)
        status = check_draft(line);
    if (status == RT_OK)
        status = rt_outputs_check(line);
    if (status == RT_OK)
        status = rt_step_read_cluster(&arguments->step);
    if (status == RT_OK)
        status = find_model(arguments, &source);
    if (status == RT_OK)
        status = settle_load(arguments, &source.model, &trace);
    if (status == RT_OK)
        status = rt_predictor_open(arguments->predictor, &predictor);
    if (status == RT_OK) {
        status = serve_on(line, &source, &predictor);
        rt_predictor_release(&predictor);
    }
    rt_serve_trace_release(&trace);
    return status;
}

/* "serve" is what it was called before. */
#define COMMAND(NAME, BRIEF)                                                                                 \
    {                                                                                                        \
        .name = NAME, .brief = BRIEF,                                                                        \
        .about = "Simulates an LLM server, vLLM, SGLang or TensorRT-LLM, under a load: requests wait, are "  \
                 "prefilled "                                                                                \
                 "in "                                                                                       \
                 "chunks and decoded in batches, and every step takes what the predictor says. Prints "      \
                 "TTFT, TPOT and "                                                                           \
                 "throughput as their benchmarks define them.",                                              \
        .details =                                                                                           \
            "TTFT: from sending a request to its first token. TPOT: (end to end - TTFT) / (output tokens - " \
            "1). "                                                                                           \
            "Throughput: tokens over the time from the first request's sending to the last one's end. "      \
            "docs/guide/serve.md says what is simulated and what is not.\n\n"                                \
            "Example: 64 users on four GPUs that are not in the room\n"                                      \
            "  rooftile simulate --gpu H100 -m llama-3.1-70b --tp 4 --isl 4096 --osl 1024 \\\n"              \
            "    --concurrency 64\n"                                                                         \
            "Example: throughput against latency, as a page with pictures\n"                                 \
            "  rooftile simulate --gpu H200 -m llama-3.1-70b --quant fp8 --tp 2 --isl 1024 \\\n"             \
            "    --osl 1024 --concurrency 1,4,16,64,256 --report serve.html\n"                               \
            "Example: requests as they came, and how many were answered in time\n"                           \
            "  printf 'arrival_s,input_tokens,output_tokens\\n0,900,80\\n0.4,70,9\\n' >list.csv\n"           \
            "  rooftile simulate --gpu H100 -m llama-3.1-8b --trace list.csv \\\n"                           \
            "    --ttft 500 --tpot 20\n"                                                                     \
            "Example: prefill and decode apart\n"                                                            \
            "  rooftile simulate --gpu H100 -m llama-3.1-8b --prefill-replicas 2 --replicas 2 \\\n"          \
            "    --transfer-gbs 50 --isl 4096 --osl 512 --rate 8",                                           \
        RT_RUNS(run, struct arguments, options), .set_defaults = set_defaults, .in_library = true,           \
        .operands = RT_NO_OPERANDS(NAME " takes options only; name a model with --model"),                   \
    }
const struct rt_command rt_command_simulate = COMMAND("simulate", "simulate an LLM server under load");
const struct rt_command rt_command_serve = COMMAND("serve", NULL);
