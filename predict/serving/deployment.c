/* A model on GPUs. See deployment.h. */
#include "predict/serving/deployment.h"
#include "base/status.h"
#include "models/networks/architectures/architecture.h"
#include "base/text.h"
#include "base/units.h"
#include "models/predictors/predictor/conformal_interval.h"
#include "predict/step/host.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

static int64_t most(int64_t a, int64_t b)
{
    return a > b ? a : b;
}

static int64_t least(int64_t a, int64_t b)
{
    return a < b ? a : b;
}

/* What a step of so many sequences is taken for: each attention group's part in the graph that was captured
 * for it, and where there are `parts` (groups, batches of a pipeline) a sequence more in each, whose decodes
 * and prompts are rounded up apart. Beyond the end of a grid times grow in proportion, which a step does not.
 */
static int64_t most_in_step(const struct rt_scheduler *scheduler, int64_t sequences, int64_t groups,
                            int64_t parts)
{
    int64_t padded = groups * rt_scheduler_padded(scheduler, (sequences + groups - 1) / groups);
    return most(sequences, padded) + (parts > 1 ? parts : 0);
}

/* Steps hold no more than the scheduler lets in, nor more than there is. */
static struct rt_step_cost_options grid_of(const struct rt_deployment_options *options)
{
    struct rt_step_cost_options cost = options->cost;
    const struct rt_scheduler *scheduler = &options->scheduler;
    int64_t groups = most(cost.parallel.attention, 1), sequences = scheduler->sequences * groups;
    int64_t budget = scheduler->budget * (scheduler->budget_shared ? 1 : groups);
    int64_t parts = groups * most(cost.parallel.pipeline, 1);
    cost.most_sequences = most_in_step(
        scheduler, options->sequences > 0 ? least(options->sequences, sequences) : sequences, groups, parts);
    cost.most_tokens = scheduler->chunked ? budget : most(budget, options->longest_input);
    cost.most_context = options->longest;
    return cost;
}

/* ---- costs and room ---- */

static void describe(const struct rt_deployment_options *options, struct rt_deployment *out)
{
    double cache = options->cache_tokens;
    if (isnan(cache))
        cache =
            rt_step_cost_cache_tokens(out->cost, &options->scheduler, out->draft, (double)options->longest);
    double token_bytes =
        rt_step_cost_cache_bytes(out->cost, (double)options->longest) / (double)options->longest;
    double parts = (double)most(options->cost.parallel.tensor, 1) * /* GPUs that hold a token's cache */
                   (double)most(options->cost.parallel.pipeline, 1);
    out->weight_gib = rt_step_cost_weight_bytes(out->cost) / RT_GIB;
    out->weight_gib += out->draft != NULL ? rt_step_cost_weight_bytes(out->draft) / RT_GIB : 0;
    out->activation_gib = rt_step_cost_activation_bytes(out->cost) / RT_GIB;
    out->group = (struct rt_serve_group){
        .costs =
            out->speculation != NULL ? rt_speculation_costs(out->speculation) : rt_step_cost_costs(out->cost),
        .scheduler = options->scheduler,
        .cache_tokens = cache,
        .host_tokens = options->host_gib * RT_GIB / (parts * token_bytes),
        .load_us = rt_host_copy_us(rt_host_default(), options->device, RT_TRANSFER_PINNED, token_bytes),
        .request_us = options->cost.server != NULL ? options->cost.server->request_us : 0,
        .replicas = options->cost.parallel.data,
        .gpus = rt_step_cost_gpus(out->cost),
        .attention_groups = options->cost.parallel.attention,
    };
}

/* What measured runs that a predictor was calibrated to say of a model's steps on a device. */
static struct rt_anchor anchor_of(const struct rt_deployment_options *options)
{
    const struct rt_server *server = options->cost.server != NULL ? options->cost.server : rt_server_hidden();
    const struct rt_anchor_kind kind = {.server = server->name,
                                        .architecture = options->model->architecture->model_type,
                                        .dtype = rt_dtypes[options->cost.graph.dtype].name,
                                        .device = options->device->name};
    return rt_anchor_of(options->predictor->anchors, &kind);
}

bool rt_draft_is_own(const char *name)
{
    return strcmp(name, "mtp") == 0;
}

int rt_draft_check(int64_t drafted, double accepted)
{
    if (isnan(accepted))
        return rt_fail(
            RT_EUSAGE,
            "{draft}: say how many tokens a check makes in the mean, as measured with your prompts: "
            "{accepted} 2.4");
    if (accepted > 1 + (double)drafted)
        return rt_fail(RT_EUSAGE,
                       "{accepted} %g: a check of %" PRId64 " proposed tokens makes %" PRId64 " at most",
                       accepted, drafted, drafted + 1);
    return RT_OK;
}

static int own_layer(const struct rt_model_source *of, struct rt_model_source *out)
{
    const struct rt_model *model = &of->model;
    if (model->layered.predicting < 1)
        return rt_fail(RT_EUSAGE,
                       "{draft} mtp: the config.json of %s names no layers for predicting further tokens; "
                       "name a model that proposes",
                       of->spec);
    if (model->layered.kind_count > 0)
        return rt_fail(RT_EUSAGE,
                       "{draft} mtp: layers of %s differ, and what those that predict further tokens are is "
                       "not read; name a model that proposes",
                       of->spec);
    *out = *of;
    out->model.layers = 1;
    out->model.experts.dense_layers = 0;
    return RT_OK;
}

int rt_draft_find(const char *name, const struct rt_model_source *of, struct rt_model_source *out)
{
    int status = rt_draft_is_own(name) ? own_layer(of, out) : rt_model_source_find(name, out);
    if (status == RT_OK && rt_model_source_traced(out))
        return rt_fail(RT_EUSAGE, "{draft} %s is an %s; give the model's config.json", name,
                       out->importer->what);
    return status;
}

/* The draft on the same GPUs, cut alike; no host is between its steps. */
static int add_draft(const struct rt_deployment_options *options, const struct rt_step_cost_options *of_model,
                     struct rt_deployment *out)
{
    const struct rt_draft *draft = options->draft;
    struct rt_step_cost_options cost = *of_model;
    cost.graph = draft->graph;
    cost.server = NULL;
    cost.adapters = 0;
    cost.scale = 1;
    int status =
        rt_step_cost_new(&draft->source->model, options->predictor, options->device, &cost, &out->draft);
    if (status != RT_OK)
        return rt_fail_context(status, "the draft %s", draft->name);
    out->speculation = rt_malloc(sizeof *out->speculation);
    *out->speculation = (struct rt_speculation){out->cost, out->draft, draft->drafted, draft->accepted};
    return RT_OK;
}

int rt_deployment_init(const struct rt_deployment_options *options, struct rt_deployment *out)
{
    struct rt_step_cost_options cost = grid_of(options);
    struct rt_anchor anchor = anchor_of(options);
    cost.scale = exp(anchor.ln_factor);
    cost.captured = options->scheduler.graph_pieces ? options->scheduler.graph_most : 0;
    if (options->draft != NULL) /* a check has so many rows of each */
        cost.most_sequences *= 1 + options->draft->drafted;
    *out = (struct rt_deployment){
        .anchor = anchor, .level = cost.level, .ln_load = cost.server != NULL ? cost.server->ln_load : 0};
    int status = rt_step_cost_new(options->model, options->predictor, options->device, &cost, &out->cost);
    if (status == RT_OK && options->draft != NULL)
        status = add_draft(options, &cost, out);
    if (status == RT_OK)
        describe(options, out);
    return status;
}

struct rt_serve_batch rt_deployment_decodes(const struct rt_deployment *deployment, int64_t users,
                                            double context)
{
    int64_t groups = most(deployment->group.attention_groups, 1);
    const struct rt_scheduler *scheduler = &deployment->group.scheduler;
    return (struct rt_serve_batch){.decodes = users,
                                   .padded =
                                       groups * rt_scheduler_padded(scheduler, (users + groups - 1) / groups),
                                   .context = (double)users * floor(context)};
}

/* Of the width of kernels whose design nobody measured: what steps under load keep of it. Of 0.1, 0.2 .. 1 it
 * has the least mean interval score over H100's runs, forecast without H100 and what is newer; B200 judged it
 * (docs/log/serving.md). */
static const double OTHER_DESIGNS = 0.5;

double rt_deployment_ln_half_width(const struct rt_deployment *deployment, const struct rt_serve_batch *batch)
{
    double kernels = rt_step_cost_ln_half_width(deployment->cost, batch), level = deployment->level;
    const struct rt_trust trust = rt_step_cost_trust(deployment->cost);
    double others = trust.known[RT_KNOWN_OLDER] + trust.known[RT_KNOWN_NEWER] + trust.known[RT_KNOWN_OTHERS];
    kernels *= 1 - (1 - OTHER_DESIGNS) * others;
    return rt_anchor_ln_half_width(&deployment->anchor,
                                   hypot(kernels, deployment->ln_load * rt_interval_scale(level)), level);
}

double rt_deployment_request_tokens(const struct rt_deployment *deployment, int64_t tokens)
{
    double block = (double)deployment->group.scheduler.block;
    return block * (ceil((double)tokens / block) + 1);
}

int64_t rt_deployment_requests(const struct rt_deployment *deployment, int64_t tokens)
{
    const struct rt_serve_group *group = &deployment->group;
    double groups = (double)most(group->attention_groups, 1);
    double requests = floor(group->cache_tokens / groups / rt_deployment_request_tokens(deployment, tokens));
    return (int64_t)(groups * fmax(fmin(requests, (double)group->scheduler.sequences), 0));
}

void rt_deployment_release(struct rt_deployment *deployment)
{
    rt_step_cost_free(deployment->cost);
    rt_step_cost_free(deployment->draft);
    free(deployment->speculation);
    *deployment = (struct rt_deployment){0};
}

/* ---- what would do where it does not fit ---- */

static bool would_fit(struct rt_deployment_options changed)
{
    struct rt_deployment tried;
    if (rt_deployment_init(&changed, &tried) != RT_OK)
        return false;
    bool fit = rt_deployment_requests(&tried, changed.longest) > 0;
    rt_deployment_release(&tried);
    return fit;
}

/* The least tensor parallelism that does; 0: none up to 64. */
static int64_t tensor_that_fits(const struct rt_deployment_options *options)
{
    struct rt_deployment_options changed = *options;
    int64_t *tensor = &changed.cost.parallel.tensor;
    for (*tensor = 2 * most(*tensor, 1); *tensor <= 64; *tensor *= 2)
        if (would_fit(changed))
            return *tensor;
    return 0;
}

static void add_quantised(const struct rt_deployment_options *options, struct rt_text *text)
{
    static const enum rt_dtype narrow[] = {RT_FP8, RT_INT4};
    struct rt_deployment_options changed = *options;
    struct rt_graph_options *graph = &changed.cost.graph;
    if (rt_dtype_is_narrow(graph->dtype))
        return;
    graph->fp16_beside = graph->dtype == RT_FP16;
    for (size_t d = 0; d < RT_COUNT(narrow); d++) {
        graph->dtype = narrow[d];
        if (would_fit(changed)) {
            rt_text_item(text, ", ", "%s %s", rt_field_words("quant").text, rt_dtypes[narrow[d]].name);
            return;
        }
    }
}

/* A device like this one with more memory says how much is enough. */
static void add_memory(const struct rt_deployment_options *options, struct rt_text *text)
{
    struct rt_deployment_options changed = *options;
    struct rt_device device = *options->device;
    changed.device = &device;
    for (double gib = 16; gib <= 1024; gib *= 2) {
        device.memory_gib = gib;
        if (gib > options->device->memory_gib && would_fit(changed)) {
            rt_text_item(text, ", ", "a GPU of %g GiB", gib);
            return;
        }
    }
}

static int refuse(const struct rt_deployment_options *options, const struct rt_deployment *deployment)
{
    struct rt_text changes = {0};
    int64_t tensor = tensor_that_fits(options);
    if (tensor > 0)
        rt_text_item(&changes, ", ", "%s %" PRId64, rt_field_words("tp").text, tensor);
    add_quantised(options, &changes);
    add_memory(options, &changes);
    if (changes.text == NULL)
        rt_text_add(&changes, "nothing that was tried (%s to 64, %s, memory to 1024 GiB)",
                    rt_field_words("tp").text, rt_field_words("quant").text);
    int status = rt_fail(
        RT_EUSAGE,
        "%s does not fit: a GPU would hold %.1f GiB of weights and %.1f GiB of activations, and has room for "
        "%.1f GiB with a cache for one request of %" PRId64 " tokens; what would do, each alone: %s",
        options->name, deployment->weight_gib, deployment->activation_gib,
        rt_server_kv_allocation(&options->scheduler, options->device->memory_gib, 0) / RT_GIB,
        options->longest, changes.text);
    rt_text_release(&changes);
    return status;
}

int rt_deployment_open(const struct rt_deployment_options *options, struct rt_deployment *out)
{
    int status = rt_deployment_init(options, out);
    if (status == RT_OK && isnan(options->cache_tokens) && rt_deployment_requests(out, options->longest) == 0)
        status = refuse(options, out);
    if (status != RT_OK)
        rt_deployment_release(out);
    return status;
}

/* ---- longer and shorter steps ---- */

static double scaled_us(const void *context, const struct rt_serve_batch *batch)
{
    const struct rt_scaled_costs *scaled = context;
    double factor = batch->chunk_count > 0 ? scaled->chunk_factor : scaled->factor;
    return factor * scaled->costs.step_us(scaled->costs.context, batch);
}

struct rt_serve_costs rt_scaled_costs(const struct rt_scaled_costs *scaled)
{
    return (struct rt_serve_costs){.step_us = scaled_us, .context = scaled};
}
