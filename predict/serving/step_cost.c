/* A step of an LLM server, from tables. See step_cost.h. */
#include "predict/serving/step_cost.h"
#include "base/array.h"
#include "base/status.h"
#include "models/networks/memory.h"
#include "predict/step/collectives.h"
#include "predict/step/forecast.h"
#include "predict/serving/cost_table.h"
#include "predict/step/forecast_graphs.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

/* Steps that only decode, and those with chunks: the first run as CUDA graphs, with collectives of their own,
 * and models with latent attention (MLA) run other products. */
enum kind { DECODES, MIXED, KINDS };

/* Alike chunks of one step share a kernel. Up to so many tokens each, what a further one takes is forecast
 * beside what the first does. */
enum { ALIKE = 4, MOST_ALIKE_TOKENS = 1024 };

struct rt_step_cost {
    struct rt_cost_table tokens[KINDS], experts[KINDS]; /* by rows of one attention group */
    struct rt_cost_table tower;                         /* by prompts that begin */
    struct rt_cost_table sequences;                     /* by sequences that get a token */
    struct rt_cost_table decodes;                       /* by their number and mean context */
    struct rt_cost_table chunk, further;                /* by tokens and those cached before them */
    struct rt_cost_table ln_half_width[KINDS];          /* of intervals, by rows; value 0 */
    struct rt_cost_table cache;                         /* bytes by tokens of a sequence; value 0 */
    double launches[KINDS];                             /* of kernels in a pass */
    double expert_layers[KINDS];                        /* in a pass */
    struct rt_trust trust;                              /* of a decode step in the middle of the grids */
    double weights, activations, memory_gib;
    double adapter_bytes, adapter_us; /* of a further adapter of a step: its weights, read once */
    int64_t adapters, captured;
    double move_us_per_byte, level, scale;
    int64_t tensor, attention, pipeline;
    bool sees; /* prompts have images */
    struct rt_server server;
};

/* --- filling the tables --- */

/* A cell that is to be filled: from a graph's kernels of a role, and of RT_NODE_EXPERTS into another. */
struct wanted {
    struct rt_graph graph;
    struct rt_sequences group; /* of it, where it has one */
    unsigned roles;            /* bits */
    enum kind kind;
    bool tower;
    int64_t x, y;
};

struct builder {
    struct rt_step_cost *cost;
    const struct rt_model *model;
    const struct rt_predictor *predictor;
    const struct rt_device *device;
    const struct rt_step_cost_options *options;
    struct wanted *wanted; /* pointers into it are taken when all are there */
    size_t count, capacity;
};

/* Leaves the kernels of the roles alone, so that no others are forecast. */
static void keep_roles(struct rt_graph *graph, unsigned roles)
{
    for (size_t n = 0; n < graph->node_count; n++) {
        struct rt_node *node = &graph->nodes[n];
        if (node->kernel_count == 0)
            continue;
        if (!(roles >> node->role & 1))
            node->kernel_count = 0;
    }
}

static struct rt_graph_options graph_options(const struct builder *builder)
{
    const struct rt_step_cost *cost = builder->cost;
    struct rt_graph_options options = builder->options->graph;
    options.tensor_parallel = cost->tensor;
    options.attention_data_parallel = cost->attention;
    options.expert_parallel = builder->options->parallel.expert;
    options.runtime = RT_RUNTIME_SERVING;
    options.groups = NULL;
    options.group_count = 0;
    options.prompt_images = 0;
    return options;
}

static int want(struct builder *builder, const struct rt_graph_options *options, unsigned roles,
                enum kind kind, int64_t x, int64_t y)
{
    RT_GROW(builder->wanted, builder->count, 1, builder->capacity);
    struct wanted *wanted = &builder->wanted[builder->count];
    *wanted = (struct wanted){.roles = roles, .kind = kind, .x = x, .y = y};
    int status = rt_graph_build(builder->model, options, &wanted->graph);
    if (status != RT_OK)
        return status;
    keep_roles(&wanted->graph, roles);
    builder->count++;
    return RT_OK;
}

static int want_decodes(struct builder *builder, int64_t sequences, int64_t context, unsigned roles,
                        int64_t x, int64_t y)
{
    struct rt_graph_options options = graph_options(builder);
    options.step = RT_STEP_DECODE;
    options.batch = sequences;
    options.context = context;
    options.sequence = 1;
    return want(builder, &options, roles, DECODES, x, y);
}

static int want_chunks(struct builder *builder, struct rt_sequences group, unsigned roles, int64_t x,
                       int64_t y)
{
    struct rt_graph_options options = graph_options(builder);
    options.step = RT_STEP_PREFILL;
    options.batch = group.count;
    options.sequence = options.context = group.tokens;
    options.groups = &group;
    options.group_count = 1;
    int status = want(builder, &options, roles, MIXED, x, y);
    if (status == RT_OK) { /* `group` is gone when the graph is read again */
        struct wanted *wanted = &builder->wanted[builder->count - 1];
        wanted->group = group;
        wanted->graph.options.groups = NULL;
        wanted->graph.options.group_count = 0;
    }
    return status;
}

/* The kernels before the language part, of prompts that begin. */
static int want_tower(struct builder *builder)
{
    const struct rt_cost_axis *prompts = &builder->cost->tower.x;
    struct rt_graph_options options = graph_options(builder);
    options.step = RT_STEP_PREFILL;
    options.sequence = options.context = 1;
    options.prompt_images = builder->options->graph.prompt_images;
    int status = RT_OK;
    for (int64_t i = 0; options.prompt_images > 0 && status == RT_OK && i < rt_cost_axis_points(prompts);
         i++) {
        options.batch = rt_cost_axis_at(prompts, i);
        status = want(builder, &options, 1u << RT_NODE_TOKENS, DECODES, i, 0);
        if (status != RT_OK)
            return status;
        struct wanted *wanted = &builder->wanted[builder->count - 1];
        wanted->tower = true;
        for (size_t b = 0; b < wanted->graph.block_count; b++) {
            const struct rt_block *block = &wanted->graph.blocks[b];
            for (uint32_t n = block->node; n < block->node + block->node_count; n++)
                if (strncmp(block->name, "images.", 7) != 0)
                    wanted->graph.nodes[n].kernel_count = 0;
        }
    }
    return status;
}

/* What follows rows and sequences, of steps that only decode. */
static int want_decode_rows(struct builder *builder)
{
    const struct rt_cost_axis *rows = &builder->cost->tokens[DECODES].x;
    unsigned roles = 1u << RT_NODE_TOKENS | 1u << RT_NODE_EXPERTS | 1u << RT_NODE_LAST_TOKENS;
    int status = RT_OK;
    for (int64_t i = 0; status == RT_OK && i < rt_cost_axis_points(rows); i++)
        status = want_decodes(builder, rt_cost_axis_at(rows, i), 1, roles, i, 0);
    return status;
}

static int want_decode_attention(struct builder *builder)
{
    const struct rt_cost_table *table = &builder->cost->decodes;
    int status = RT_OK;
    for (int64_t x = 0; x < rt_cost_axis_points(&table->x); x++)
        for (int64_t y = 0; status == RT_OK && y < rt_cost_axis_points(&table->y); y++)
            status = want_decodes(builder, rt_cost_axis_at(&table->x, x), rt_cost_axis_at(&table->y, y),
                                  1u << RT_NODE_DECODES, x, y);
    return status;
}

static int want_mixed_rows(struct builder *builder)
{
    const struct rt_cost_axis *rows = &builder->cost->tokens[MIXED].x;
    int status = RT_OK;
    for (int64_t i = 0; status == RT_OK && i < rt_cost_axis_points(rows); i++)
        status = want_chunks(builder, (struct rt_sequences){1, rt_cost_axis_at(rows, i), 0},
                             1u << RT_NODE_TOKENS | 1u << RT_NODE_EXPERTS, i, 0);
    return status;
}

/* Chunks of a token are sequences that decode, so the first point is of two. */
static int want_chunk_attention(struct builder *builder, const struct rt_cost_table *table, int64_t alike)
{
    int status = RT_OK;
    for (int64_t x = 0; x < rt_cost_axis_points(&table->x); x++)
        for (int64_t y = 0; status == RT_OK && y < rt_cost_axis_points(&table->y); y++) {
            int64_t tokens = rt_cost_axis_at(&table->x, x), cached = rt_cost_axis_at(&table->y, y);
            status = want_chunks(builder, (struct rt_sequences){alike, tokens > 1 ? tokens : 2, cached},
                                 1u << RT_NODE_CHUNKS, x, y);
        }
    return status;
}

static enum rt_serve_part part_of(const struct rt_forecast_launch *launch)
{
    const struct rt_family_row *family = &rt_families[rt_call_family(&launch->kernel.call)];
    if (launch->source == RT_TIME_LINK)
        return RT_SERVE_COLLECTIVES;
    if (family->attention || rt_call_family(&launch->kernel.call) == RT_FAMILY_RECURRENT)
        return RT_SERVE_ATTENTION;
    bool product = family->product || rt_call_family(&launch->kernel.call) == RT_FAMILY_MOE;
    return product ? RT_SERVE_PRODUCTS : RT_SERVE_OTHER_KERNELS;
}

/* Where kernels of a role go that were asked for by `wanted`. */
static struct rt_cost_cell *cell_of(const struct rt_step_cost *cost, const struct wanted *wanted,
                                    enum rt_node_role role)
{
    bool alike = wanted->group.count == ALIKE;
    if (wanted->tower)
        return rt_cost_table_cell(&cost->tower, wanted->x, 0);
    const struct rt_cost_table *tables[RT_NODE_ROLES] = {[RT_NODE_TOKENS] = &cost->tokens[wanted->kind],
                                                         [RT_NODE_EXPERTS] = &cost->experts[wanted->kind],
                                                         [RT_NODE_LAST_TOKENS] = &cost->sequences,
                                                         [RT_NODE_DECODES] = &cost->decodes,
                                                         [RT_NODE_CHUNKS] =
                                                             alike ? &cost->further : &cost->chunk};
    return rt_cost_table_cell(tables[role], wanted->x, wanted->y);
}

static void take_launches(struct rt_step_cost *cost, const struct wanted *wanted,
                          const struct rt_forecast *forecast)
{
    double launches = 0, expert_layers = 0;
    for (size_t i = 0; i < forecast->launch_count; i++) {
        const struct rt_forecast_launch *launch = &forecast->launches[i];
        const struct rt_node *node = &wanted->graph.nodes[launch->node];
        double us = rt_forecast_launch_total(forecast, launch), times = us / launch->time_us;
        struct rt_cost_cell *cell = cell_of(cost, wanted, node->role);
        cell->value[part_of(launch)] += us;
        cell->value[RT_CELL_BOUND] += times * launch->roofline_us;
        double repeat = (double)rt_graph_repeat(&wanted->graph, node);
        launches += repeat;
        expert_layers += rt_call_family(&launch->kernel.call) == RT_FAMILY_MOE ? repeat : 0;
    }
    if (!wanted->tower && wanted->roles >> RT_NODE_TOKENS & 1) {
        cost->launches[wanted->kind] = fmax(cost->launches[wanted->kind], launches);
        cost->expert_layers[wanted->kind] = fmax(cost->expert_layers[wanted->kind], expert_layers);
        double ln_half_width = log(forecast->interval_high_us / forecast->total_us);
        rt_cost_table_cell(&cost->ln_half_width[wanted->kind], wanted->x, 0)->value[0] = ln_half_width;
    }
}

/* Rows, and attention: each from the middle of its grid. */
static bool is_middle(const struct rt_step_cost *cost, const struct wanted *wanted)
{
    bool attention = wanted->roles == 1u << RT_NODE_DECODES;
    const struct rt_cost_table *table = attention ? &cost->decodes : &cost->tokens[DECODES];
    return wanted->kind == DECODES && wanted->x == rt_cost_axis_points(&table->x) / 2 &&
           wanted->y == (attention ? rt_cost_axis_points(&table->y) / 2 : 0);
}

static void take_trust(struct builder *builder, const struct wanted *wanted,
                       const struct rt_forecast *forecast)
{
    if (!(builder->cost->level > 0) || !is_middle(builder->cost, wanted) || !(forecast->total_us > 0))
        return;
    struct rt_trust trust = rt_forecast_trust(forecast, builder->predictor);
    rt_trust_add(&builder->cost->trust, &trust, 1);
}

static int take_forecasts(struct builder *builder)
{
    const struct rt_step_cost_options *asked = builder->options;
    const struct rt_forecast_options options = {
        .parallel = {.data = 1,
                     .pipeline = 1,
                     .microbatches = 1,
                     .link_gbs = asked->parallel.link_gbs,
                     .fabric = asked->parallel.fabric,
                     .cluster = asked->parallel.cluster},
        .fallback = asked->fallback,
        .host_us = 0,
        .level = asked->level,
        .times_only = true,
        .memo = asked->memo,
    };
    const struct rt_graph **graphs = rt_calloc(builder->count, sizeof *graphs);
    struct rt_forecast *forecasts = rt_calloc(builder->count, sizeof *forecasts);
    for (size_t i = 0; i < builder->count; i++)
        graphs[i] = &builder->wanted[i].graph;
    int status =
        rt_forecast_graphs(graphs, builder->count, builder->predictor, builder->device, &options, forecasts);
    for (size_t i = 0; status == RT_OK && i < builder->count; i++) {
        take_launches(builder->cost, &builder->wanted[i], &forecasts[i]);
        take_trust(builder, &builder->wanted[i], &forecasts[i]);
        rt_forecast_release(&forecasts[i]);
    }
    free(forecasts);
    free(graphs);
    return status;
}

/* Of a step through a pipeline: what each stage passes on. */
static void add_sends(const struct builder *builder, enum kind kind, const struct rt_collectives *collectives)
{
    const struct rt_step_cost *cost = builder->cost;
    const struct rt_cost_table *table = &cost->tokens[kind];
    for (int64_t i = 0; i < rt_cost_axis_points(&table->x); i++) {
        double bytes = rt_dtypes[collectives->dtype].bytes * (double)builder->model->hidden *
                       (double)rt_cost_axis_at(&table->x, i);
        double us = rt_collective_us(collectives, RT_OP_SEND_RECEIVE, RT_GROUP_PIPELINE, bytes);
        rt_cost_table_cell(table, i, 0)->value[RT_SERVE_COLLECTIVES] += (double)(cost->pipeline - 1) * us;
    }
}

/* What a further one of alike chunks takes: a share of what several take more than one; no more than one. */
static void set_further(struct rt_step_cost *cost)
{
    for (int64_t x = 0; x < rt_cost_axis_points(&cost->chunk.x); x++)
        for (int64_t y = 0; y < rt_cost_axis_points(&cost->chunk.y); y++) {
            struct rt_cost_cell *further = rt_cost_table_cell(&cost->further, x, y);
            const struct rt_cost_cell *one = rt_cost_table_cell(&cost->chunk, x, y);
            bool asked = rt_cost_axis_at(&cost->chunk.x, x) <= MOST_ALIKE_TOKENS;
            for (int v = 0; v < RT_CELL_VALUES; v++) {
                double more = (further->value[v] - one->value[v]) / (ALIKE - 1);
                further->value[v] = asked ? fmin(fmax(more, 0), one->value[v]) : one->value[v];
            }
        }
}

/* A step with chunks takes no less than one of as many rows that only decodes. */
static void raise_mixed(const struct rt_cost_table *decodes, struct rt_cost_table *mixed)
{
    for (int64_t i = 0; i < rt_cost_axis_points(&mixed->x); i++) {
        int64_t rows = rt_cost_axis_at(&mixed->x, i);
        struct rt_cost_cell least = {{0}};
        if (rows <= rt_cost_axis_at(&decodes->x, rt_cost_axis_points(&decodes->x) - 1))
            rt_cost_table_add(decodes, (double)rows, 0, 1, &least);
        for (int v = 0; v < RT_CELL_VALUES; v++) {
            double *value = &rt_cost_table_cell(mixed, i, 0)->value[v];
            *value = fmax(*value, least.value[v]);
        }
    }
}

/* After the tables rose: a surface never falls. */
static void settle(struct rt_step_cost *cost)
{
    set_further(cost);
    struct rt_cost_table *tables[] = {&cost->tokens[DECODES],
                                      &cost->tokens[MIXED],
                                      &cost->experts[DECODES],
                                      &cost->experts[MIXED],
                                      &cost->sequences,
                                      &cost->decodes,
                                      &cost->chunk,
                                      &cost->further,
                                      &cost->cache,
                                      &cost->tower};
    for (size_t t = 0; t < RT_COUNT(tables); t++)
        rt_cost_table_rise(tables[t]);
    raise_mixed(&cost->tokens[DECODES], &cost->tokens[MIXED]);
    raise_mixed(&cost->experts[DECODES], &cost->experts[MIXED]);
    rt_cost_table_rise(&cost->tokens[MIXED]);
    rt_cost_table_rise(&cost->experts[MIXED]);
}

static int64_t or_else(int64_t value, int64_t otherwise)
{
    return value > 0 ? value : otherwise;
}

static void make_tables(struct rt_step_cost *cost, const struct rt_step_cost_options *options)
{
    int64_t groups = cost->attention * cost->pipeline;
    int64_t sequences = (or_else(options->most_sequences, 512) + groups - 1) / groups;
    int64_t tokens = or_else(options->most_tokens, 16384), context = or_else(options->most_context, 32768);
    const struct rt_cost_axis none = {0};
    struct rt_cost_axis few = rt_cost_axis(1, sequences, 1, false),
                        rows = rt_cost_axis(1, tokens + sequences, 1, false);
    for (int kind = 0; kind < KINDS; kind++) {
        struct rt_cost_axis axis = kind == DECODES ? few : rows;
        rt_cost_table_init(&cost->tokens[kind], axis, none);
        rt_cost_table_init(&cost->experts[kind], axis, none);
        rt_cost_table_init(&cost->ln_half_width[kind], axis, none);
    }
    rt_cost_table_init(&cost->sequences, few, none);
    rt_cost_table_init(&cost->tower, rt_cost_axis(1, or_else(sequences / 8, 1), 1, false), none);
    struct rt_cost_axis chunks = rt_cost_axis(16, tokens, 2, false),
                        cached = rt_cost_axis(128, context, 4, true);
    rt_cost_table_init(&cost->decodes, rt_cost_axis(1, sequences, 1, false),
                       rt_cost_axis(16, context, 4, false));
    rt_cost_table_init(&cost->chunk, chunks, cached);
    rt_cost_table_init(&cost->further, chunks, cached);
    rt_cost_table_init(&cost->cache, rt_cost_axis(16, 4 * context, 2, true), none);
}

static int want_all(struct builder *builder)
{
    struct rt_step_cost *cost = builder->cost;
    struct rt_cost_table alike = cost->further;
    alike.x = rt_cost_axis(16, MOST_ALIKE_TOKENS, 2, false);
    if (alike.x.count > cost->further.x.count)
        alike.x = cost->further.x;
    int status = want_decode_rows(builder);
    if (status == RT_OK)
        status = want_tower(builder);
    if (status == RT_OK)
        status = want_decode_attention(builder);
    if (status == RT_OK)
        status = want_mixed_rows(builder);
    if (status == RT_OK)
        status = want_chunk_attention(builder, &cost->chunk, 1);
    if (status == RT_OK)
        status = want_chunk_attention(builder, &alike, ALIKE);
    return status;
}

/* --- memory --- */

/* On one GPU, were all layers there. */
static double adapter_bytes(const struct rt_graph *graph)
{
    double bytes = 0;
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct rt_node *node = &graph->nodes[n];
        double each = (double)node->parameters * rt_dtypes[graph->options.dtype].bytes;
        bytes += node->adapter ? each * (double)rt_graph_repeat(graph, node) : 0;
    }
    return bytes;
}

/* Of a decode step of one sequence with so many tokens in its cache when it ends. */
static int memory_at(const struct builder *builder, int64_t tokens, int64_t most_tokens,
                     struct rt_graph_memory *out)
{
    struct rt_graph_options options = graph_options(builder);
    struct rt_memory_options share = RT_MEMORY_DEFAULTS;
    struct rt_graph graph;
    bool prefill = most_tokens > 0;
    options.step = prefill ? RT_STEP_PREFILL : RT_STEP_DECODE;
    options.batch = 1;
    options.sequence = prefill ? most_tokens : 1;
    options.context = prefill ? most_tokens : tokens - 1;
    options.prompt_images = prefill ? builder->options->graph.prompt_images : 0;
    int status = rt_graph_build(builder->model, &options, &graph);
    if (status != RT_OK)
        return status;
    share.layers = 1.0 / (double)builder->cost->pipeline;
    rt_graph_memory(&graph, &share, out);
    builder->cost->adapter_bytes = adapter_bytes(&graph) * share.layers;
    rt_graph_release(&graph);
    return RT_OK;
}

static int fill_memory(struct builder *builder)
{
    struct rt_step_cost *cost = builder->cost;
    const struct rt_cost_table *cache = &cost->cache;
    struct rt_graph_memory memory = {0};
    int64_t tokens = or_else(builder->options->most_tokens, 8192) / cost->attention;
    int status = memory_at(builder, 0, or_else(tokens, 1), &memory);
    cost->weights = memory.weights;
    cost->activations = memory.activations;
    cost->weights += (double)(cost->adapters - 1) * cost->adapter_bytes; /* one is the graph's */
    cost->adapter_us = cost->adapter_bytes / (1e3 * builder->device->bandwidth_gbs);
    for (int64_t i = 1; status == RT_OK && i < rt_cost_axis_points(&cache->x); i++) {
        status = memory_at(builder, rt_cost_axis_at(&cache->x, i), 0, &memory);
        rt_cost_table_cell(cache, i, 0)->value[0] = memory.cache;
    }
    return status;
}

/* --- the whole --- */

static void fill_links(struct builder *builder)
{
    struct rt_step_cost *cost = builder->cost;
    struct rt_parallelism parallel = builder->options->parallel;
    parallel.data = parallel.microbatches = 1;
    parallel.pipeline = cost->pipeline;
    struct rt_collectives collectives;
    rt_collectives_init(&collectives, builder->predictor, builder->device, &builder->wanted[0].graph,
                        &parallel, 0);
    for (int kind = 0; cost->pipeline > 1 && kind < KINDS; kind++)
        add_sends(builder, (enum kind)kind, &collectives);
    double gbs = rt_device_fabric_link(&collectives.device, collectives.fabric, 2).gbs;
    cost->move_us_per_byte = 1e-3 / gbs;
}

static int fill(struct builder *builder)
{
    make_tables(builder->cost, builder->options);
    int status = want_all(builder);
    if (status == RT_OK)
        status = take_forecasts(builder);
    if (status == RT_OK)
        status = fill_memory(builder);
    if (status == RT_OK) {
        fill_links(builder);
        settle(builder->cost);
    }
    for (size_t i = 0; i < builder->count; i++)
        rt_graph_release(&builder->wanted[i].graph);
    free(builder->wanted);
    return status;
}

int rt_step_cost_new(const struct rt_model *model, const struct rt_predictor *predictor,
                     const struct rt_device *device, const struct rt_step_cost_options *options,
                     struct rt_step_cost **out)
{
    struct rt_step_cost *cost = rt_calloc(1, sizeof *cost);
    struct builder builder = {cost, model, predictor, device, options, NULL, 0, 0};
    cost->tensor = or_else(options->parallel.tensor, 1);
    cost->attention = or_else(options->parallel.attention, 1);
    cost->pipeline = or_else(options->parallel.pipeline, 1);
    cost->server = options->server != NULL ? *options->server : *rt_server_hidden();
    if (cost->server.experts_fused && device->fp4_matrix_tflops > 0)
        cost->server.experts_us = 0;
    cost->memory_gib = device->memory_gib;
    cost->sees = options->graph.prompt_images > 0;
    cost->adapters = or_else(options->adapters, 1);
    cost->captured = options->captured;
    cost->level = options->level;
    cost->scale = options->scale > 0 ? options->scale : 1;
    int status = fill(&builder);
    if (status == RT_OK)
        *out = cost;
    else
        rt_step_cost_free(cost);
    return status;
}

void rt_step_cost_free(struct rt_step_cost *cost)
{
    if (cost == NULL)
        return;
    for (int kind = 0; kind < KINDS; kind++) {
        rt_cost_table_release(&cost->tokens[kind]);
        rt_cost_table_release(&cost->experts[kind]);
        rt_cost_table_release(&cost->ln_half_width[kind]);
    }
    rt_cost_table_release(&cost->sequences);
    rt_cost_table_release(&cost->tower);
    rt_cost_table_release(&cost->decodes);
    rt_cost_table_release(&cost->chunk);
    rt_cost_table_release(&cost->further);
    rt_cost_table_release(&cost->cache);
    free(cost);
}

/* --- a step --- */

/* What the fullest of the attention groups, in the fullest of the pipeline's batches, has. */
struct load {
    double decodes, context;    /* sequences that decode, mean of their caches */
    double rows, expert_rows;   /* of the group; mean of all groups */
    double sequences;           /* that get a token */
    double prompts;             /* that begin */
    struct rt_cost_cell chunks; /* attention of its chunks */
};

static double total_us(const struct rt_cost_cell *cell)
{
    double sum = 0;
    for (int p = 0; p < RT_SERVE_PARTS; p++)
        sum += cell->value[p];
    return sum;
}

/* Chunks `first`, first + groups ...: each adds what a further one takes, one of them all that the first
 * does: the one for which that makes the most. Returns their tokens. */
static double add_chunks(const struct rt_step_cost *cost, const struct rt_serve_batch *batch, size_t first,
                         size_t groups, struct rt_cost_cell *sum)
{
    struct rt_cost_cell most = {{0}};
    double tokens = 0, most_us = 0;
    for (size_t i = first; i < batch->chunk_count; i += groups) {
        const struct rt_serve_chunk *chunk = &batch->chunks[i];
        struct rt_cost_cell one = {{0}}, further = {{0}};
        rt_cost_table_add(&cost->chunk, (double)chunk->tokens, (double)chunk->cached, 1, &one);
        if (batch->chunk_count > groups)
            rt_cost_table_add(&cost->further, (double)chunk->tokens, (double)chunk->cached, 1, &further);
        for (int v = 0; v < RT_CELL_VALUES; v++) {
            sum->value[v] += further.value[v];
            one.value[v] -= further.value[v];
        }
        if (total_us(&one) > most_us || tokens == 0) {
            most_us = total_us(&one);
            most = one;
        }
        tokens += (double)chunk->tokens;
    }
    for (int v = 0; v < RT_CELL_VALUES; v++)
        sum->value[v] += most.value[v];
    return tokens;
}

static struct load load_of(const struct rt_step_cost *cost, const struct rt_serve_batch *batch)
{
    size_t groups = (size_t)(cost->attention * cost->pipeline);
    double decodes = ceil((double)batch->decodes / (double)groups), tokens = 0, most = 0;
    double rows = batch->padded > batch->decodes ? ceil((double)batch->padded / (double)groups) : decodes;
    rows *= 1 + (double)batch->drafted;
    struct load load = {.decodes = decodes,
                        .context = batch->decodes > 0 ? batch->context / (double)batch->decodes : 0};
    for (size_t g = 0; g < groups && g < batch->chunk_count; g++) {
        struct rt_cost_cell chunks = {{0}};
        double own = add_chunks(cost, batch, g, groups, &chunks);
        tokens += own;
        if (own > most) {
            most = own;
            load.chunks = chunks;
        }
    }
    load.rows = rows + most;
    load.expert_rows = fmax(rows + tokens / (double)groups, load.rows / (double)cost->attention);
    load.sequences = rows + ceil((double)batch->chunk_count / (double)groups);
    for (size_t i = 0; i < batch->chunk_count; i++)
        load.prompts += batch->chunks[i].first;
    load.prompts = ceil(load.prompts / (double)groups);
    return load;
}

/* Of the kernels, by part. */
static struct rt_cost_cell kernels_of(const struct rt_step_cost *cost, const struct rt_serve_batch *batch,
                                      const struct load *load)
{
    enum kind kind = batch->chunk_count > 0 ? MIXED : DECODES;
    struct rt_cost_cell sum = load->chunks;
    if (load->rows == 0)
        return sum;
    rt_cost_table_add(&cost->tokens[kind], load->rows, 0, 1, &sum);
    rt_cost_table_add(&cost->experts[kind], load->expert_rows, 0, 1, &sum);
    rt_cost_table_add(&cost->sequences, load->sequences, 0, 1, &sum);
    if (load->decodes > 0)
        rt_cost_table_add(&cost->decodes, load->decodes, load->context, 1, &sum);
    if (cost->sees && load->prompts > 0)
        rt_cost_table_add(&cost->tower, load->prompts, 0, 1, &sum);
    double further = fmin((double)cost->adapters, load->sequences) - 1;
    if (further > 0 && cost->adapter_us > 0) {
        sum.value[RT_SERVE_PRODUCTS] += further * cost->adapter_us;
        sum.value[RT_CELL_BOUND] += further * cost->adapter_us;
    }
    return sum;
}

/* Between steps, and where kernels are launched one by one and take less than that. */
static double host_us(const struct rt_step_cost *cost, const struct rt_serve_batch *batch,
                      const struct load *load, double kernels_us)
{
    enum kind kind = batch->chunk_count > 0 && load->rows > (double)cost->captured ? MIXED : DECODES;
    int64_t sequences = batch->decodes + (int64_t)batch->chunk_count;
    if (sequences == 0)
        return 0;
    double each =
        kind == MIXED ? fmax(cost->server.launch_us, cost->server.eager_us) : cost->server.launch_us;
    double launches_us = each * cost->launches[kind];
    launches_us += kind == MIXED ? cost->server.experts_us * cost->expert_layers[kind] : 0;
    return fmax(launches_us - kernels_us, 0) +
           rt_server_step_us(&cost->server, sequences, rt_step_cost_gpus(cost), cost->pipeline);
}

static double scaled_us(const struct rt_step_cost *cost, const struct rt_cost_cell *kernels, double us)
{
    return cost->scale == 1 ? us : fmax(cost->scale * us, kernels->value[RT_CELL_BOUND]);
}

void rt_step_cost_parts(const struct rt_step_cost *cost, const struct rt_serve_batch *batch,
                        double parts[RT_SERVE_PARTS])
{
    const struct load load = load_of(cost, batch);
    struct rt_cost_cell kernels = kernels_of(cost, batch, &load);
    double us = total_us(&kernels), host = host_us(cost, batch, &load, us);
    for (int p = 0; p < RT_SERVE_PARTS; p++)
        parts[p] = kernels.value[p];
    parts[RT_SERVE_HOST] += host;
    us += host;
    for (int p = 0; p < RT_SERVE_PARTS && cost->scale != 1; p++)
        parts[p] *= us > 0 ? scaled_us(cost, &kernels, us) / us : 1;
}

double rt_step_cost_us(const struct rt_step_cost *cost, const struct rt_serve_batch *batch)
{
    const struct load load = load_of(cost, batch);
    struct rt_cost_cell kernels = kernels_of(cost, batch, &load);
    double us = total_us(&kernels);
    return scaled_us(cost, &kernels, us + host_us(cost, batch, &load, us));
}

double rt_step_cost_bound_us(const struct rt_step_cost *cost, const struct rt_serve_batch *batch)
{
    const struct load load = load_of(cost, batch);
    return kernels_of(cost, batch, &load).value[RT_CELL_BOUND];
}

struct rt_trust rt_step_cost_trust(const struct rt_step_cost *cost)
{
    struct rt_trust trust = cost->trust;
    if (!(cost->level > 0))
        trust.ln_error = NAN;
    return trust;
}

double rt_step_cost_ln_half_width(const struct rt_step_cost *cost, const struct rt_serve_batch *batch)
{
    struct load load = load_of(cost, batch);
    struct rt_cost_cell ln_half_width = {{0}};
    if (!(cost->level > 0) || load.rows == 0)
        return NAN;
    const struct rt_cost_table *table = &cost->ln_half_width[batch->chunk_count > 0 ? MIXED : DECODES];
    double end = (double)rt_cost_axis_at(&table->x, rt_cost_axis_points(&table->x) - 1);
    rt_cost_table_add(table, fmin(load.rows, end), 0, 1, &ln_half_width);
    return ln_half_width.value[0];
}

static double costs_us(const void *context, const struct rt_serve_batch *batch)
{
    return rt_step_cost_us(context, batch);
}

static void costs_parts(const void *context, const struct rt_serve_batch *batch, double parts[RT_SERVE_PARTS])
{
    rt_step_cost_parts(context, batch, parts);
}

struct rt_serve_costs rt_step_cost_costs(const struct rt_step_cost *cost)
{
    return (struct rt_serve_costs){costs_us, costs_parts, cost};
}

/* --- cache --- */

double rt_step_cost_cache_bytes(const struct rt_step_cost *cost, double tokens)
{
    struct rt_cost_cell bytes = {{0}};
    rt_cost_table_add(&cost->cache, tokens, 0, 1, &bytes);
    return bytes.value[0];
}

double rt_step_cost_cache_tokens(const struct rt_step_cost *cost, const struct rt_scheduler *scheduler,
                                 const struct rt_step_cost *draft, double length)
{
    double beside = draft != NULL ? draft->weights : 0, each = rt_step_cost_cache_bytes(cost, length);
    double bytes =
        rt_server_kv_allocation(scheduler, cost->memory_gib, cost->weights + cost->activations + beside);
    each += draft != NULL ? rt_step_cost_cache_bytes(draft, length) : 0;
    return bytes * length / each * (double)cost->attention;
}

double rt_step_cost_weight_bytes(const struct rt_step_cost *cost)
{
    return cost->weights;
}

double rt_step_cost_activation_bytes(const struct rt_step_cost *cost)
{
    return cost->activations;
}

double rt_step_cost_move_us(const struct rt_step_cost *cost, double tokens, double gbs)
{
    double per_byte = isnan(gbs) ? cost->move_us_per_byte : 1e-3 / gbs;
    return rt_step_cost_cache_bytes(cost, tokens) * per_byte;
}

int64_t rt_step_cost_gpus(const struct rt_step_cost *cost)
{
    return cost->tensor * cost->attention * cost->pipeline;
}
