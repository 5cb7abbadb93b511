/* Rows of operator graphs to nodes. See opgraph.h. */
#include "models/networks/opgraph/opgraph.h"
#include "base/status.h"
#include "models/networks/model.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#define LAYER_LIMIT 1000000
#define NONE        UINT32_MAX

/* --- the layer --- */

/* Where the one layer that was traced begins and ends, by the artifact's aggregator; `second` is a node
 * of graphs that hold every layer. */
static const struct section {
    const char *first, *last, *second;
} sections[] = {
    {"bert_encoder_layer_0_attention_self_query", "bert_encoder_layer_0_output_layer_norm",
     "bert_encoder_layer_1_attention_self_query"},
    {"transformer_h_0_ln_1_grad", "add_15", "transformer_h_1_ln_1"},
    {"transformer_h_0_ln_1", "add_15", "transformer_h_1_ln_1"},
    {"model_decoder_layers_0_self_attn_layer_norm", "view_11", "model_decoder_layers_1_self_attn_layer_norm"},
};

/* Places of the first and last row of the layer; false, and nothing set, where the file holds every layer. */
static bool find_layer(const struct rt_opgraph *file, int64_t *first, int64_t *last)
{
    if (file->any_fused)
        return false;
    for (size_t s = 0; s < RT_COUNT(sections); s++) {
        int64_t from = rt_opgraph_place(file, sections[s].first),
                to = rt_opgraph_place(file, sections[s].last);
        if (from < 0 || to < from || rt_opgraph_place(file, sections[s].second) >= 0)
            continue;
        *first = from;
        *last = to;
        return true;
    }
    return false;
}

/* --- nodes --- */

/* The graph while rows are added to it. */
struct fit {
    const struct rt_opgraph *file;
    struct rt_graph *graph;
    uint32_t *node;      /* (rows) the node of a row's output; NONE: it has none */
    uint32_t *seen;      /* (rows, as nodes) the row that read a node last */
    uint32_t *producers; /* (rows) of the row that is added */
};

static double call_outputs(const struct rt_call *call)
{
    const struct rt_family_row *family = &rt_families[rt_call_family(call)];
    if (family->link)
        return (double)call->dim[1];
    double outputs = (double)call->dim[0] * (double)call->dim[1];
    return family->product ? outputs * (double)call->dim[2] : outputs;
}

static double row_parameters(const struct rt_opgraph *file, const struct rt_opgraph_row *row)
{
    double parameters = 0;
    for (size_t c = row->call; c < row->call + row->call_count; c++) {
        const struct rt_call *call = &file->calls[c].call;
        if (call->phase == RT_FORWARD && call->op == RT_OP_LINEAR)
            parameters += ((double)call->dim[3] + 1) * (double)call->dim[2];
        if (call->phase == RT_FORWARD && call->op == RT_OP_LAYERNORM)
            parameters += 2.0 * (double)call->dim[1];
    }
    const struct rt_opgraph_call *table = rt_opgraph_first_call(file, row, RT_BACKWARD);
    if (row->embedding && table != NULL)
        parameters += (double)table->table;
    return parameters;
}

/* Elements that a training step keeps on account of the last node: its inputs, its result, a mask. */
static void keep_saved(struct rt_graph *graph, const struct rt_opgraph_row *row, double width)
{
    struct rt_node *node = &graph->nodes[graph->node_count - 1];
    if (row->dropout)
        node->saved = node->outputs / width;
    for (uint32_t k = 0; k < node->kernel_count; k++) {
        const struct rt_call *call = &graph->kernels[node->kernel + k].call;
        if (call->phase != RT_FORWARD)
            continue;
        if (rt_op_keeps(call->op) == RT_KEEPS_OUTPUT)
            node->saved = node->outputs;
        for (uint32_t i = 0; rt_op_keeps(call->op) == RT_KEEPS_INPUTS && i < node->input_count; i++) {
            struct rt_node *from = &graph->nodes[graph->inputs[node->input + i]];
            if (from->saved < from->outputs)
                from->saved += from->outputs;
        }
    }
}

/* Forecasts overlap the reductions of nodes whose names end in "_grad" with the backward pass. */
static const char *node_name(const struct rt_opgraph *file, const struct rt_opgraph_row *row,
                             struct rt_graph *graph)
{
    const char *name = rt_opgraph_row_name(file, row), *ending = "_grad";
    size_t length = strlen(name), tail = strlen(ending);
    bool overlaps = false;
    for (size_t c = row->call; c < row->call + row->call_count; c++)
        overlaps |= file->calls[c].overlaps;
    if (!overlaps || (length >= tail && strcmp(name + length - tail, ending) == 0))
        return rt_graph_text(graph, name, length);
    char *longer = rt_format("%s%s", name, ending);
    const char *text = rt_graph_text(graph, longer, length + tail);
    free(longer);
    return text;
}

static uint32_t add_node(const struct rt_opgraph *file, const struct rt_opgraph_row *row,
                         struct rt_graph *graph)
{
    uint32_t number = rt_graph_add_node(graph, node_name(file, row, graph));
    const struct rt_opgraph_call *forward = rt_opgraph_first_call(file, row, RT_FORWARD);
    bool fusable = forward != NULL && !row->fused;
    for (size_t c = row->call; c < row->call + row->call_count; c++) {
        const struct rt_call *call = &file->calls[c].call;
        struct rt_graph_kernel *kernel = rt_graph_add_kernel(graph, call->phase, call->op, call->dim);
        if (file->calls[c].bytes > 0)
            kernel->bytes = file->calls[c].bytes;
        if (call->phase == RT_FORWARD)
            fusable = fusable && (rt_opgraph_vector(call->op) || row->dropout || row->embedding);
    }
    struct rt_node *node = &graph->nodes[number];
    node->fusable = fusable;
    node->outputs = row->outputs;
    if (forward != NULL && !row->fused && forward->call.op != RT_OP_COPY)
        node->outputs = call_outputs(&forward->call); /* tensor-parallel files shard ops, not all shapes */
    node->parameters = row_parameters(file, row);
    if (row->fused)
        node->fused_bytes[RT_FORWARD] = node->fused_bytes[RT_BACKWARD] =
            file->width * (row->inputs + row->outputs);
    return number;
}

/* Sets fit->producers: the nodes whose outputs a row reads, each once. Returns how many. */
static size_t find_producers(struct fit *fit, uint32_t r)
{
    const struct rt_opgraph_row *row = &fit->file->rows[r];
    size_t count = 0;
    for (size_t p = 0; p < row->previous_count; p++) {
        uint32_t node = fit->node[fit->file->previous[row->previous + p]];
        if (node == NONE || fit->seen[node] == r)
            continue;
        fit->seen[node] = r;
        fit->producers[count++] = node;
    }
    return count;
}

/* Adds the rows at places from..to of the order. A row without kernels that reads one node is a view of it;
 * one that reads several is a node. A single number (a size, which the host knows) is no node. */
static void add_rows(struct fit *fit, int64_t from, int64_t to)
{
    for (int64_t i = from; i < to; i++) {
        uint32_t r = fit->file->order[i];
        const struct rt_opgraph_row *row = &fit->file->rows[r];
        size_t count = find_producers(fit, r);
        if (row->call_count == 0 && (row->outputs <= 1 || !row->read || count < 2)) {
            fit->node[r] = row->outputs > 1 && count == 1 ? fit->producers[0] : NONE;
            continue;
        }
        fit->node[r] = add_node(fit->file, row, fit->graph);
        for (size_t p = 0; p < count; p++)
            rt_graph_add_input(fit->graph, fit->producers[p]);
        if (fit->graph->options.step == RT_STEP_TRAINING)
            keep_saved(fit->graph, row, fit->file->width);
    }
}

/* --- the graph --- */

/* Several devices share the batch, or take it in microbatches. */
static struct rt_graph_options graph_options(const struct rt_opgraph *file)
{
    const struct rt_opgraph_name *name = &file->name;
    struct rt_graph_options options = {.batch = 1,
                                       .sequence = 1,
                                       .dtype = file->dtype,
                                       .runtime = RT_RUNTIME_EAGER_1, /* gradients are summed in every pass */
                                       .tensor_parallel = name->parallel.tensor,
                                       .fusion = name->fusion || file->any_fused};
    if (file->named) {
        int64_t parts = rt_parallelism_parts(&name->parallel);
        options.step = name->step;
        options.sequence = name->sequence;
        options.batch = name->batch > parts ? name->batch / parts : 1;
        return options;
    }
    options.step = file->any_backward ? RT_STEP_TRAINING : RT_STEP_PREFILL;
    if (file->shape[0] > 0) {
        options.batch = file->shape[0];
        options.sequence = file->shape[1];
    }
    return options;
}

/* A last product of the size of the embedding table is that table (GPT-2, OPT, T5 tie them). */
static double shared_parameters(const struct rt_graph *graph)
{
    double table = 0, head = 0;
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct rt_node *node = &graph->nodes[n];
        const struct rt_graph_kernel *kernel = &graph->kernels[node->kernel];
        if (node->kernel_count == 0)
            continue;
        if (kernel->call.op == RT_OP_COPY)
            table = fmax(table, node->parameters);
        if (kernel->call.op == RT_OP_LINEAR && strcmp(node->name, "lm_head") == 0)
            head = (double)kernel->call.dim[2] * (double)kernel->call.dim[3];
    }
    return table == head ? table : 0;
}

/* 0 where the file's name holds no model of the zoo. */
static int64_t layers_by_name(const struct rt_opgraph *file)
{
    struct rt_model model;
    return file->named && rt_model_named(file->name.model, &model) == RT_OK ? model.layers : 0;
}

/* Blocks: before the layer, the layer, behind it; or one block of all rows. */
static void add_blocks(struct fit *fit, int64_t layers)
{
    struct rt_graph *graph = fit->graph;
    int64_t first = 0, last = (int64_t)fit->file->row_count - 1, end = (int64_t)fit->file->row_count;
    if (!find_layer(fit->file, &first, &last)) {
        rt_graph_add_block(graph, "all", RT_BLOCK_LAYER, 1);
        add_rows(fit, 0, end);
        return;
    }
    rt_graph_add_block(graph, "first", RT_BLOCK_FIRST, 1);
    add_rows(fit, 0, first);
    if (layers < 1)
        rt_warn("%s: one layer was traced and the file's name holds no known model, so one is counted; "
                "{layers} gives their number",
                fit->file->path);
    rt_graph_add_block(graph, "layer", RT_BLOCK_LAYER, layers < 1 ? 1 : layers);
    add_rows(fit, first, last + 1);
    uint32_t boundary = fit->node[fit->file->order[last]];
    graph->boundary = boundary != NONE ? graph->nodes[boundary].outputs : 0;
    rt_graph_add_block(graph, "last", RT_BLOCK_LAST, 1);
    add_rows(fit, last + 1, end);
}

static uint32_t *new_numbers(size_t count)
{
    uint32_t *numbers = rt_malloc(count * sizeof *numbers);
    for (size_t i = 0; i < count; i++)
        numbers[i] = NONE;
    return numbers;
}

static void build(const struct rt_opgraph *file, int64_t layers, struct rt_graph *graph)
{
    struct rt_graph_options options = graph_options(file);
    struct fit fit = {.file = file,
                      .graph = graph,
                      .node = new_numbers(file->row_count),
                      .seen = new_numbers(file->row_count),
                      .producers = new_numbers(file->row_count)};
    rt_graph_init(graph, &options);
    add_blocks(&fit, layers);
    graph->shared = shared_parameters(graph);
    for (size_t n = 0; n < graph->node_count; n++)
        if (graph->nodes[n].kernel_count > 0)
            graph->classes = graph->nodes[n].outputs;
    free(fit.node);
    free(fit.seen);
    free(fit.producers);
}

int rt_graph_import_opgraph(const char *path, int64_t layers, enum rt_dtype dtype, struct rt_graph *out)
{
    struct rt_opgraph file;
    if (layers > LAYER_LIMIT)
        return rt_fail(RT_EUSAGE, "%s: %" PRId64 " layers are more than a million", path, layers);
    int status = rt_opgraph_read(path, dtype, &file);
    if (status == RT_OK)
        build(&file, layers < 1 ? layers_by_name(&file) : layers, out);
    rt_opgraph_release(&file);
    return status;
}
