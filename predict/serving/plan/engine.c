/* Cuts; memory, costs and bounds of an engine. See engine.h. */
#include "predict/serving/plan/engine.h"
#include "base/status.h"
#include "models/networks/memory.h"
#include "models/networks/step.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

void rt_serving_engine_release(struct rt_serving_engine *engine)
{
    rt_deployment_release(&engine->deployment);
    free(engine->reason);
    *engine = (struct rt_serving_engine){.reason = NULL};
}

/* ---- what is asked ---- */

const int rt_serving_percents[RT_SERVING_PERCENTILES] = {50, 90, 99};

double rt_serving_target_least(const struct rt_serving_target *target)
{
    return fmin(fmin(target->us[0], target->us[1]), target->us[2]);
}

double rt_serving_target_most(const struct rt_serving_target *target)
{
    return fmax(fmax(target->us[0], target->us[1]), target->us[2]);
}

double rt_serving_target_miss(const struct rt_serving_target *target, const double *percentiles)
{
    double miss = -INFINITY;
    for (int p = 0; p < RT_SERVING_PERCENTILES; p++)
        miss = fmax(miss, log(percentiles[p] / target->us[p])); /* drops a NaN */
    return miss;
}

/* Of request `i` of a list: tokens of its prompt that others may have computed. */
static int64_t shared_of(const struct rt_serve_trace *trace, size_t i)
{
    if (trace->hash != NULL)
        return RT_SERVE_HASHED * (int64_t)(trace->hash_from[i + 1] - trace->hash_from[i]);
    return trace->prefix != NULL ? trace->prefix[i] : 0;
}

static struct rt_serving_traffic traffic_of_trace(const struct rt_serve_load *load)
{
    const struct rt_serve_trace *trace = load->trace;
    struct rt_serving_traffic traffic = {.least_input = INT64_MAX, .varied = true};
    size_t count = rt_serve_load_requests(load);
    for (size_t i = 0; i < count; i++) {
        int64_t input = trace->input[i], output = trace->output[i], shared = shared_of(trace, i);
        traffic.longest_input = input > traffic.longest_input ? input : traffic.longest_input;
        traffic.longest = input + output > traffic.longest ? input + output : traffic.longest;
        traffic.least_input = input < traffic.least_input ? input : traffic.least_input;
        traffic.input += (double)input / (double)count;
        traffic.output += (double)output / (double)count;
        traffic.prompt += (double)(shared < input ? input - shared : 1) / (double)count;
        traffic.context += (double)(output - 1) * ((double)input + (double)output / 2) / (double)count;
    }
    traffic.least_prompt = trace->hash != NULL || trace->prefix != NULL ? 1 : traffic.least_input;
    traffic.least_context = traffic.least_input + 1;
    return traffic;
}

struct rt_serving_traffic rt_serving_traffic(const struct rt_serve_load *load)
{
    const struct rt_serve_lengths *in = &load->input, *out = &load->output;
    if (load->trace != NULL)
        return traffic_of_trace(load);
    double input = (double)(in->least + in->most) / 2, output = (double)(out->least + out->most) / 2;
    int64_t least_prompt = in->least - (int64_t)(load->prefix_share * (double)in->least);
    return (struct rt_serving_traffic){.longest_input = in->most,
                                       .longest = in->most + out->most,
                                       .least_input = in->least,
                                       .least_prompt = least_prompt > 1 ? least_prompt : 1,
                                       .least_context = in->least + out->least / 2,
                                       .input = input,
                                       .output = output,
                                       .prompt = fmax((1 - load->prefix_share) * input, 1),
                                       .context = (output - 1) * (input + output / 2),
                                       .varied = in->least < in->most || out->least < out->most};
}

/* Graphs of a server that is cut and quantised so: a decode step of one sequence; other sizes are the
 * caller's. NULL quant: as the checkpoint is stored. Errors of rt_step_settle. */
static int settle(const struct rt_serving_request *request, const struct rt_model_source *source,
                  const struct rt_parallelism *cut, const struct rt_serving_quant *quant,
                  const struct rt_device *device, struct rt_graph_options *out)
{
    struct rt_step step = RT_STEP_NOT_GIVEN;
    struct rt_settled_step settled;
    bool narrow = quant != NULL && rt_dtype_is_narrow(quant->dtype);
    step.mode = RT_STEP_DECODE;
    step.runtime = RT_RUNTIME_SERVING;
    step.batch = rt_parallelism_parts(cut);
    step.sequence = 1;
    step.context = request->traffic.longest - 1;
    step.parallel = *cut;
    if (quant != NULL) {
        step.dtype = !narrow ? (int)quant->dtype : quant->fp16_beside ? RT_FP16 : RT_BF16;
        step.quant = narrow ? (int)quant->dtype : RT_DTYPE_NONE;
        step.kv_cache = quant->kv_bits == 8 ? RT_FP8 : step.dtype;
    }
    int status = rt_step_settle(&step, source, device, &settled);
    *out = settled.graph;
    rt_settled_step_release(&settled);
    return status;
}

/* The model's own layer as the model is quantised. */
static int settle_draft(const struct rt_serving_request *request, const struct rt_device *device,
                        const struct rt_parallelism *cut, const struct rt_serving_quant *quant,
                        struct rt_draft *out)
{
    *out = *request->draft;
    return settle(request, out->source, cut, rt_draft_is_own(out->name) ? quant : NULL, device, &out->graph);
}

/* --- memory --- */

int rt_serving_missing_bytes(const struct rt_serving_request *request, const struct rt_device *device,
                             const struct rt_parallelism *cut, const struct rt_serving_quant *quant,
                             double *weight_bytes, double *missing_bytes)
{
    struct rt_graph_options options;
    struct rt_memory_options share = RT_MEMORY_DEFAULTS;
    struct rt_scheduler scheduler = rt_server_scheduler(request->server, device, cut->tensor);
    struct rt_graph_memory memory;
    struct rt_graph graph;
    int status = settle(request, request->source, cut, quant, device, &options);
    options.prompt_images = request->images;
    options.prompt_image_side = request->image;
    if (status == RT_OK)
        status = rt_graph_build(&request->source->model, &options, &graph);
    if (status != RT_OK)
        return status;
    share.layers = 1.0 / (double)cut->pipeline;
    rt_graph_memory(&graph, &share, &memory);
    rt_graph_release(&graph);
    *weight_bytes = memory.weights;
    *missing_bytes = -rt_server_kv_allocation(&scheduler, device->memory_gib, memory.total);
    return RT_OK;
}

int64_t rt_serving_engine_most_users(const struct rt_serving_request *request,
                                     const struct rt_serving_engine *engine)
{
    return rt_deployment_requests(&engine->deployment, request->traffic.longest);
}

/* --- steps --- */

/* Tokens of prompts in a step of all attention groups; a prompt that is not cut goes as a whole. */
static int64_t budget_of(const struct rt_serving_request *request, const struct rt_serving_engine *engine)
{
    const struct rt_scheduler *scheduler = &engine->deployment.group.scheduler;
    int64_t budget = scheduler->budget * (scheduler->budget_shared ? 1 : engine->cut.attention);
    return scheduler->chunked || budget > request->traffic.longest_input ? budget
                                                                         : request->traffic.longest_input;
}

/* Tokens of prompts as chunks: whole prompts, then a beginning of one. */
enum { MOST_CHUNKS = 512 };

/* With a draft, of a token. */
static double batch_us(const struct rt_serving_engine *engine, const struct rt_serve_batch *batch)
{
    const struct rt_serve_costs *costs = &engine->deployment.group.costs;
    return costs->step_us(costs->context, batch);
}

static double step_us(const struct rt_serving_request *request, const struct rt_serving_engine *engine,
                      int64_t decodes, double context, int64_t tokens)
{
    struct rt_serve_chunk chunk[MOST_CHUNKS];
    struct rt_serve_batch batch = {
        .decodes = decodes,
        .padded = tokens == 0 ? rt_scheduler_padded(&engine->deployment.group.scheduler, decodes) : 0,
        .context = context,
        .chunks = chunk};
    int64_t least = (tokens + MOST_CHUNKS - 1) / MOST_CHUNKS, prompt = request->traffic.least_prompt;
    prompt = prompt > least ? prompt : least;
    while (tokens > 0) {
        int64_t part = tokens < prompt ? tokens : prompt;
        chunk[batch.chunk_count++] = (struct rt_serve_chunk){.tokens = part};
        tokens -= part;
    }
    return batch_us(engine, &batch);
}

/* One prompt in chunks of the budget, nothing beside it. */
static double prompt_us(const struct rt_serving_engine *engine, int64_t tokens)
{
    const struct rt_scheduler *scheduler = &engine->deployment.group.scheduler;
    int64_t budget = scheduler->chunked ? scheduler->budget : tokens;
    double us = 0;
    for (int64_t cached = 0; cached < tokens; cached += budget) {
        int64_t left = tokens - cached;
        const struct rt_serve_chunk chunk = {
            .tokens = left < budget ? left : budget, .cached = cached, .first = cached == 0};
        const struct rt_serve_batch batch = {.chunks = &chunk, .chunk_count = 1};
        us += batch_us(engine, &batch);
    }
    return us;
}

/* --- the bound on the rate: engine.h --- */

enum { GRID = 48 };

struct grid {
    int64_t decodes[GRID], tokens[GRID];
    size_t decode_count, token_count;
};

/* 0, then powers of 2 and what is halfway between them, up to `most`, which is the last. */
static size_t fill_axis(int64_t *axis, int64_t first, int64_t most)
{
    size_t count = 0;
    axis[count++] = 0;
    for (int64_t at = first; at < most && count + 3 < GRID; at *= 2) {
        axis[count++] = at;
        if (at > 1 && at + at / 2 < most)
            axis[count++] = at + at / 2;
    }
    axis[count++] = most;
    return count;
}

struct work {
    double decode, context, prompt; /* u, w, v: us */
};

/* Slopes of the steps of so many users; prompts: 0 where none are prefilled here. */
static struct work slopes(const struct rt_serving_request *request, const struct rt_serving_engine *engine,
                          int64_t users, int64_t budget)
{
    double mean = (double)users * (request->traffic.input + request->traffic.output / 2);
    double plain = step_us(request, engine, users, mean, 0);
    double longer = step_us(request, engine, users, 2 * mean, 0);
    struct work work = {.context = fmax(longer - plain, 0) / mean};
    work.decode = fmax(plain - work.context * mean, 0) / (double)users;
    if (budget > 0 && engine->deployment.group.scheduler.mixed)
        work.prompt = fmax(step_us(request, engine, users, mean, budget) - plain, 0) / (double)budget;
    else if (budget > 0)
        work.prompt = step_us(request, engine, 0, 0, budget) / (double)budget;
    return work;
}

/* The least time of a unit of work, over steps that the scheduler may make. */
static double least_unit(const struct rt_serving_request *request, const struct rt_serving_engine *engine,
                         const struct grid *grid, const struct work *work)
{
    double least = INFINITY;
    for (size_t d = 0; d < grid->decode_count; d++)
        for (size_t k = 0; k < grid->token_count; k++)
            for (int far = 0; far < (grid->decodes[d] > 0 ? 2 : 1); far++) {
                int64_t decodes = grid->decodes[d], tokens = grid->tokens[k];
                int64_t cached = far ? request->traffic.longest : request->traffic.least_input + 1;
                double context = (double)decodes * (double)cached;
                double done =
                    (double)decodes * work->decode + context * work->context + (double)tokens * work->prompt;
                bool may = engine->deployment.group.scheduler.mixed || decodes == 0 || tokens == 0;
                if (may && done > 0)
                    least = fmin(least, step_us(request, engine, decodes, context, tokens) / done);
            }
    return least;
}

/* Requests a second. */
static double most_rate(const struct rt_serving_request *request, const struct rt_serving_engine *engine,
                        int64_t users, int64_t budget)
{
    struct grid grid = {.tokens = {0}, .token_count = 1};
    struct work work = slopes(request, engine, users, budget);
    const struct rt_serving_traffic *traffic = &request->traffic;
    grid.decode_count = fill_axis(grid.decodes, 1, users);
    if (budget > 0)
        grid.token_count = fill_axis(grid.tokens, 64, budget);
    double least = least_unit(request, engine, &grid, &work);
    double steps = traffic->output - 1; /* its first token comes with its prompt */
    double one = steps * work.decode + traffic->context * work.context + traffic->prompt * work.prompt;
    return (1 + RT_SERVING_SLACK) * 1e6 / (least * one);
}

/* Prompts a second where nothing decodes: the best step. */
static double most_prompts(const struct rt_serving_request *request, const struct rt_serving_engine *engine,
                           int64_t budget)
{
    int64_t tokens[GRID];
    size_t count = fill_axis(tokens, 64, budget);
    double least = INFINITY;
    for (size_t k = 1; k < count; k++)
        least = fmin(least, step_us(request, engine, 0, 0, tokens[k]) / (double)tokens[k]);
    return (1 + RT_SERVING_SLACK) * 1e6 / (least * request->traffic.prompt);
}

static void fill_bounds(const struct rt_serving_request *request, struct rt_serving_engine *engine)
{
    int64_t budget = budget_of(request, engine), most = rt_serving_engine_most_users(request, engine);
    const struct rt_serving_traffic *traffic = &request->traffic;
    engine->prompt_us = (1 - RT_SERVING_SLACK) * prompt_us(engine, traffic->least_prompt);
    engine->longest_prompt_us = (1 - RT_SERVING_SLACK) * prompt_us(engine, traffic->longest_input);
    engine->token_us =
        (1 - RT_SERVING_SLACK) * step_us(request, engine, 1, (double)traffic->least_context, 0);
    engine->prompts_rate = most_prompts(request, engine, budget);
    while (engine->levels < request->level_count && request->level[engine->levels] <= most)
        engine->levels++;
    for (size_t l = 0; l <= engine->levels; l++) {
        int64_t users = l < engine->levels ? request->level[l] : most;
        engine->requests_rate[l] = most_rate(request, engine, users, budget);
        engine->decodes_rate[l] = most_rate(request, engine, users, 0);
    }
}

double rt_serving_engine_least_users(const struct rt_serving_request *request,
                                     const struct rt_serving_engine *engine, const double *rates, double rate)
{
    double below_users = 0, below_rate = 0;
    for (size_t l = 0; l <= engine->levels; l++) {
        double users = l < engine->levels ? (double)request->level[l]
                                          : (double)rt_serving_engine_most_users(request, engine);
        if (rates[l] >= rate)
            return below_users + (users - below_users) * (rate - below_rate) / (rates[l] - below_rate);
        below_users = users;
        below_rate = rates[l];
    }
    return INFINITY;
}

/* --- the whole --- */

static void refuse(struct rt_serving_engine *engine, char *reason)
{
    engine->refused = RT_SERVING_CUT;
    engine->reason = reason;
}

static int fill_deployment(const struct rt_serving_request *request, const struct rt_serving_quant *quant,
                           struct rt_network_memo *memo, struct rt_serving_engine *engine)
{
    const struct rt_device *device = &request->gpu[engine->gpu].device;
    int64_t length = request->traffic.longest;
    struct rt_draft draft;
    struct rt_deployment_options options = {
        .name = request->source->spec,
        .model = &request->source->model,
        .predictor = request->predictor,
        .device = device,
        .cost = {.parallel = engine->cut,
                 .server = request->server,
                 .fallback = request->fallback,
                 .level = request->confidence,
                 .memo = memo},
        .scheduler = rt_server_scheduler(request->server, device, engine->cut.tensor),
        .cache_tokens = NAN,
        .longest_input = request->traffic.longest_input,
        .longest = length,
    };
    options.cost.parallel.fabric = request->fabric;
    options.cost.parallel.link_gbs = request->link_gbs;
    options.cost.parallel.cluster = request->cluster;
    int status = settle(request, request->source, &engine->cut, quant, device, &options.cost.graph);
    options.cost.graph.prompt_images = request->images; /* whose tower steps that decode do not run */
    options.cost.graph.prompt_image_side = request->image;
    if (status == RT_OK && request->draft != NULL) {
        options.draft = &draft;
        status = settle_draft(request, device, &engine->cut, quant, &draft);
    }
    if (status == RT_OK)
        status = rt_deployment_init(&options, &engine->deployment);
    if (status != RT_OK)
        return status;
    const struct rt_serve_group *group = &engine->deployment.group;
    engine->request_bytes = rt_step_cost_cache_bytes(engine->deployment.cost, (double)length);
    if (rt_serving_engine_most_users(request, engine) < 1) {
        double lacks = rt_deployment_request_tokens(&engine->deployment, length) -
                       group->cache_tokens / (double)engine->cut.attention;
        engine->refused = RT_SERVING_WEIGHTS;
        engine->missing_bytes = lacks / (double)length * engine->request_bytes;
        return RT_OK;
    }
    fill_bounds(request, engine);
    return RT_OK;
}

int rt_serving_engine_fill(const struct rt_serving_request *request, struct rt_network_memo *memo,
                           struct rt_serving_engine *engine)
{
    const struct rt_device *device = &request->gpu[engine->gpu].device;
    const struct rt_serving_quant quant = rt_serving_quant_on(device, &request->quant[engine->quant]);
    engine->gpus = rt_parallelism_gpus(&engine->cut);
    engine->refused = RT_SERVING_FATES;
    if (!rt_serving_has_units(device, &quant)) {
        refuse(engine, rt_format("%s has no units for %s", device->name, rt_dtypes[quant.dtype].name));
        return RT_OK;
    }
    if (rt_serving_missing_bytes(request, device, &engine->cut, &quant, &engine->weight_bytes,
                                 &engine->missing_bytes) != RT_OK) {
        refuse(engine, rt_strdup(rt_error()));
        return RT_OK;
    }
    if (engine->missing_bytes > 0) {
        engine->refused = RT_SERVING_WEIGHTS;
        return RT_OK;
    }
    return fill_deployment(request, &quant, memo, engine);
}

/* --- weights and cache on a device --- */

bool rt_serving_has_units(const struct rt_device *device, const struct rt_serving_quant *quant)
{
    if (quant->dtype == RT_MXFP4_MXFP8) /* else in 16 bits: rt_step_settle */
        return device->fp4_matrix_tflops > 0;
    return rt_device_peak_flops(device, RT_FAMILY_LINEAR, quant->dtype) > 0;
}

struct rt_serving_quant rt_serving_quant_on(const struct rt_device *device,
                                            const struct rt_serving_quant *quant)
{
    struct rt_serving_quant on = *quant;
    bool bf16 = rt_device_has_bf16(device);
    if (on.dtype == RT_BF16 && !bf16)
        on.dtype = RT_FP16;
    on.fp16_beside |= !bf16;
    return on;
}

const char *rt_serving_cache_dtype(const struct rt_serving_quant *quant)
{
    return quant->kv_bits == 8 ? "fp8" : rt_dtypes[quant->fp16_beside ? RT_FP16 : RT_BF16].name;
}

/* --- cuts --- */

struct list {
    struct rt_parallelism *cut;
    size_t count;
};

static int compare(const void *x, const void *y)
{
    const struct rt_parallelism *a = x, *b = y;
    const int64_t ours[] = {rt_parallelism_gpus(a), a->pipeline, a->attention, a->expert};
    const int64_t theirs[] = {rt_parallelism_gpus(b), b->pipeline, b->attention, b->expert};
    for (size_t i = 0; i < RT_COUNT(ours); i++)
        if (ours[i] != theirs[i])
            return ours[i] < theirs[i] ? -1 : 1;
    return 0;
}

/* Can a server cut a stage so? */
static bool can_cut(const struct rt_server *server, int64_t stage, int64_t attention, int64_t expert)
{
    return server->project == RT_SERVER_TENSORRT ? attention == 1 || attention == stage
                                                 : expert == 1 || expert == stage;
}

/* A stage of so many GPUs: how they share attention, and how experts. */
static void add_stage(const struct rt_model *model, const struct rt_server *server, int64_t stage,
                      int64_t pipeline, struct list *list)
{
    bool experts = model->experts.count > 0;
    for (int64_t attention = 1; attention <= (experts ? stage : 1); attention++)
        for (int64_t ep = 1; stage % attention == 0 && ep <= (experts ? stage : 1); ep++) {
            if (stage % ep != 0 || !can_cut(server, stage, attention, ep))
                continue;
            list->cut = rt_realloc(list->cut, list->count + 1, sizeof *list->cut);
            struct rt_parallelism *cut = &list->cut[list->count++];
            *cut = (struct rt_parallelism)RT_PARALLELISM_NONE;
            cut->tensor = stage / attention;
            cut->pipeline = pipeline;
            cut->attention = attention;
            cut->expert = ep;
        }
}

static bool divides_any(int64_t part, const int64_t *gpus, size_t count)
{
    for (size_t g = 0; g < count; g++)
        if (gpus[g] % part == 0)
            return true;
    return false;
}

struct rt_parallelism *rt_serving_cuts(const struct rt_model *model, const struct rt_server *server,
                                       const int64_t *gpus, size_t gpus_count, size_t *count)
{
    struct list list = {.cut = rt_malloc(sizeof *list.cut)};
    for (int64_t all = 1; all <= gpus[gpus_count - 1]; all++)
        for (int64_t stage = 1; divides_any(all, gpus, gpus_count) && stage <= all; stage++)
            if (all % stage == 0 && all / stage <= model->layers)
                add_stage(model, server, stage, all / stage, &list);
    qsort(list.cut, list.count, sizeof *list.cut, compare);
    *count = list.count;
    return list.cut;
}

static void add_degree(struct rt_serving_cut_words *words, const char *name, int64_t degree)
{
    size_t length = strlen(words->text);
    if (degree > 1)
        snprintf(words->text + length, sizeof words->text - length, "%s%s %" PRId64, length > 0 ? ", " : "",
                 name, degree);
}

struct rt_serving_cut_words rt_serving_cut_words(const struct rt_parallelism *cut)
{
    struct rt_serving_cut_words words = {""};
    add_degree(&words, "tp", cut->tensor);
    add_degree(&words, "pp", cut->pipeline);
    add_degree(&words, "attention dp", cut->attention);
    add_degree(&words, "ep", cut->expert);
    if (words.text[0] == '\0')
        strcpy(words.text, "1 GPU");
    return words;
}
