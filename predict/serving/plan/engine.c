/* Cuts; memory, costs and bounds of an engine. See engine.h. */
#include "predict/serving/plan/engine.h"
#include "base/status.h"
#include "base/strings.h"
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

/* Graphs of a server that is cut and quantised so: a decode step of one sequence; other sizes are the
 * caller's. Errors of rt_step_settle. */
static int settle(const struct rt_serving_request *request, const struct rt_device *device,
                  const struct rt_parallelism *cut, const struct rt_serving_quant *quant,
                  struct rt_graph_options *out)
{
    struct rt_step step = RT_STEP_NOT_GIVEN;
    struct rt_settled_step settled;
    step.mode = RT_STEP_DECODE;
    step.runtime = RT_RUNTIME_SERVING;
    step.batch = rt_parallelism_parts(cut);
    step.sequence = 1;
    step.context = request->isl + request->osl - 1;
    bool narrow = rt_dtype_is_narrow(quant->dtype);
    step.dtype = !narrow ? (int)quant->dtype : quant->fp16_beside ? RT_FP16 : RT_BF16;
    step.quant = narrow ? (int)quant->dtype : RT_DTYPE_NONE;
    step.kv_cache = quant->kv_bits == 8 ? RT_FP8 : step.dtype;
    step.parallel = *cut;
    int status = rt_step_settle(&step, request->source, device, &settled);
    *out = settled.graph;
    out->prompt_images = request->images; /* a prompt's tower, which steps that decode do not run */
    out->prompt_image_side = request->image;
    rt_settled_step_release(&settled);
    return status;
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
    int status = settle(request, device, cut, quant, &options);
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
    return rt_deployment_requests(&engine->deployment, request->isl + request->osl);
}

/* --- steps --- */

int64_t rt_serving_engine_padded(const struct rt_serving_engine *engine, int64_t decodes)
{
    int64_t groups = engine->cut.attention;
    return groups * rt_scheduler_padded(&engine->deployment.group.scheduler, (decodes + groups - 1) / groups);
}

/* Tokens of prompts in a step of all attention groups; a prompt that is not cut goes as a whole. */
static int64_t budget_of(const struct rt_serving_request *request, const struct rt_serving_engine *engine)
{
    const struct rt_scheduler *scheduler = &engine->deployment.group.scheduler;
    int64_t budget = scheduler->budget * (scheduler->budget_shared ? 1 : engine->cut.attention);
    return scheduler->chunked || budget > request->isl ? budget : request->isl;
}

/* Tokens of prompts as chunks: whole prompts, then a beginning of one. */
enum { MOST_CHUNKS = 512 };

static double step_us(const struct rt_serving_request *request, const struct rt_serving_engine *engine,
                      int64_t decodes, double context, int64_t tokens)
{
    struct rt_serve_chunk chunk[MOST_CHUNKS];
    struct rt_serve_batch batch = {
        .decodes = decodes,
        .padded = tokens == 0 ? rt_scheduler_padded(&engine->deployment.group.scheduler, decodes) : 0,
        .context = context,
        .chunks = chunk};
    while (tokens > 0 && batch.chunk_count < MOST_CHUNKS) {
        int64_t part = tokens < request->isl ? tokens : request->isl;
        chunk[batch.chunk_count++] = (struct rt_serve_chunk){.tokens = part};
        tokens -= part;
    }
    return rt_step_cost_us(engine->deployment.cost, &batch);
}

/* One prompt in chunks of the budget, nothing beside it. */
static double prompt_us(const struct rt_serving_request *request, const struct rt_serving_engine *engine)
{
    int64_t budget =
        engine->deployment.group.scheduler.chunked ? engine->deployment.group.scheduler.budget : request->isl;
    double us = 0;
    for (int64_t cached = 0; cached < request->isl; cached += budget) {
        int64_t left = request->isl - cached;
        const struct rt_serve_chunk chunk = {
            .tokens = left < budget ? left : budget, .cached = cached, .first = cached == 0};
        const struct rt_serve_batch batch = {.chunks = &chunk, .chunk_count = 1};
        us += rt_step_cost_us(engine->deployment.cost, &batch);
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
    double mean = (double)users * ((double)request->isl + (double)request->osl / 2);
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
                double context = (double)decodes * (double)(request->isl + (far ? request->osl : 1));
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
    double isl = (double)request->isl, osl = (double)request->osl;
    grid.decode_count = fill_axis(grid.decodes, 1, users);
    if (budget > 0)
        grid.token_count = fill_axis(grid.tokens, 64, budget);
    double least = least_unit(request, engine, &grid, &work);
    double steps = osl - 1; /* its first token comes with its prompt */
    double one = steps * (work.decode + (isl + osl / 2) * work.context) + isl * work.prompt;
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
    return (1 + RT_SERVING_SLACK) * 1e6 / (least * (double)request->isl);
}

static void fill_bounds(const struct rt_serving_request *request, struct rt_serving_engine *engine)
{
    int64_t budget = budget_of(request, engine), most = rt_serving_engine_most_users(request, engine);
    engine->prompt_us = (1 - RT_SERVING_SLACK) * prompt_us(request, engine);
    engine->token_us =
        (1 - RT_SERVING_SLACK) * step_us(request, engine, 1, (double)(request->isl + request->osl / 2), 0);
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
    int64_t length = request->isl + request->osl;
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
        .longest_input = request->isl,
        .longest = length,
    };
    options.cost.parallel.fabric = request->fabric;
    options.cost.parallel.link_gbs = request->link_gbs;
    int status = settle(request, device, &engine->cut, quant, &options.cost.graph);
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
