/* The steps of adding a node. See build_node.h. */
#include "models/networks/build_node.h"

#include <string.h>

bool rt_node_has_gradient(const struct rt_graph *graph, uint32_t node)
{
    return node != RT_NO_INPUT && graph->nodes[node].gradient;
}

static void add_input(struct rt_graph *graph, uint32_t node, uint32_t from)
{
    if (from == RT_NO_INPUT)
        return;
    rt_graph_add_input(graph, from);
    graph->nodes[node].gradient |= graph->nodes[from].gradient;
}

static enum rt_dtype promoted(const struct rt_graph *graph, uint32_t a, uint32_t b)
{
    uint32_t wide =
        b == RT_NO_INPUT || (a != RT_NO_INPUT && rt_node_width(graph, a) >= rt_node_width(graph, b)) ? a : b;
    return graph->nodes[wide].dtype;
}

uint32_t rt_node_add(struct rt_graph *graph, const char *name, uint32_t a, uint32_t b, double outputs)
{
    uint32_t node = rt_graph_add_node(graph, name);
    add_input(graph, node, a);
    add_input(graph, node, b);
    if (a != RT_NO_INPUT || b != RT_NO_INPUT)
        graph->nodes[node].dtype = promoted(graph, a, b);
    graph->nodes[node].outputs = outputs;
    return node;
}

static bool is_fp32(enum rt_dtype dtype)
{
    return dtype == RT_FP32 || dtype == RT_TF32;
}

/* A copy of `elements` from one dtype to the other. */
static void cast_kernel(struct rt_graph *graph, enum rt_phase phase, enum rt_dtype from, enum rt_dtype to,
                        double elements)
{
    struct rt_graph_kernel *copy = rt_node_add_kernel(graph, phase, RT_OP_COPY, 1, (int64_t)elements);
    rt_graph_set_dtype(copy, to);
    copy->bytes = (rt_dtypes[from].bytes + rt_dtypes[to].bytes) * elements;
}

/* The same cast in this block: compiled code makes one of both. */
static uint32_t cast_before(const struct rt_graph *graph, uint32_t x, double elements, enum rt_dtype dtype)
{
    uint32_t n = (uint32_t)graph->node_count, first = graph->blocks[graph->block_count - 1].node;
    while (graph->options.fusion && !rt_graph_trains(graph) && x != RT_NO_INPUT && n-- > first) {
        const struct rt_node *node = &graph->nodes[n];
        if (node->input_count == 1 && graph->inputs[node->input] == x && node->dtype == dtype &&
            node->outputs == elements && strcmp(node->name, "cast") == 0)
            return n;
    }
    return RT_NO_INPUT;
}

uint32_t rt_node_cast(struct rt_graph *graph, uint32_t x, double elements, enum rt_dtype dtype)
{
    enum rt_dtype from = x == RT_NO_INPUT ? RT_FP32 : graph->nodes[x].dtype;
    if (!graph->options.autocast || from == dtype || (is_fp32(from) && is_fp32(dtype)))
        return x;
    uint32_t node = cast_before(graph, x, elements, dtype);
    if (node != RT_NO_INPUT)
        return node;
    node = rt_node_add(graph, "cast", x, RT_NO_INPUT, elements);
    graph->nodes[node].dtype = dtype;
    graph->nodes[node].fusable = true;
    cast_kernel(graph, RT_FORWARD, from, dtype, elements);
    if (rt_node_begin_backward(graph, node))
        cast_kernel(graph, RT_BACKWARD, dtype, from, elements);
    return node;
}

void rt_node_narrow_gradient(struct rt_graph *graph, uint32_t input)
{
    enum rt_dtype wide = graph->nodes[graph->node_count - 1].dtype;
    if (graph->options.autocast && rt_node_has_gradient(graph, input) &&
        rt_dtypes[graph->nodes[input].dtype].bytes < rt_dtypes[wide].bytes)
        cast_kernel(graph, RT_BACKWARD, wide, graph->nodes[input].dtype, graph->nodes[input].outputs);
}

static bool casts_weights(const struct rt_graph *graph)
{
    return graph->options.autocast && !is_fp32(graph->options.dtype);
}

void rt_node_cast_weight(struct rt_graph *graph, int64_t elements)
{
    if (casts_weights(graph))
        cast_kernel(graph, RT_FORWARD, RT_FP32, graph->options.dtype, (double)elements);
}

void rt_node_cast_gradient(struct rt_graph *graph, int64_t elements)
{
    if (casts_weights(graph))
        cast_kernel(graph, RT_BACKWARD, graph->options.dtype, RT_FP32, (double)elements);
}

void rt_node_accumulate(struct rt_graph *graph, int64_t elements)
{
    enum rt_accumulation kind = rt_runtimes[graph->options.runtime].accumulation;
    if (kind == RT_ACCUMULATION_FUSED || kind == RT_ACCUMULATION_JOINED || rt_graph_freezes(graph))
        return;
    struct rt_graph_kernel *addition = rt_node_add_kernel(graph, RT_ACCUMULATE, RT_OP_ADD, 1, elements);
    if (graph->options.autocast)
        rt_graph_set_dtype(addition, RT_FP32);
    else if (kind == RT_ACCUMULATION_WIDE)
        addition->bytes = (rt_dtypes[graph->options.dtype].bytes + 2 * 4) * (double)elements;
}

void rt_node_run_again(struct rt_graph *graph)
{
    const struct rt_node *node = &graph->nodes[graph->node_count - 1];
    for (uint32_t k = 0, count = node->kernel_count; k < count; k++) {
        struct rt_graph_kernel kernel = graph->kernels[node->kernel + k];
        if (kernel.call.phase != RT_FORWARD)
            continue;
        kernel.call.phase = RT_BACKWARD;
        *rt_graph_add_kernel(graph, RT_BACKWARD, (enum rt_op_id)kernel.call.op, kernel.call.dim) = kernel;
    }
}

void rt_node_recompute(struct rt_graph *graph)
{
    if (!rt_graph_trains(graph) || graph->options.recompute != RT_RECOMPUTE_SELECTIVE)
        return;
    graph->nodes[graph->node_count - 1].recomputed = true;
    rt_node_run_again(graph);
}

void rt_node_discard(struct rt_graph *graph, enum rt_recompute what)
{
    enum rt_recompute asked = graph->options.recompute;
    bool again = asked == what || (asked == RT_RECOMPUTE_EXPERTS && what == RT_RECOMPUTE_NORMS);
    if (!rt_graph_trains(graph) || !again || graph->again)
        return;
    graph->nodes[graph->node_count - 1].regathered = true;
    rt_node_run_again(graph);
}

void rt_node_weight_gradient(struct rt_graph *graph, enum rt_op_id op, uint32_t read, int64_t rows,
                             int64_t cols, int64_t elements)
{
    graph->nodes[graph->node_count - 1].gradient = true;
    if (!rt_graph_trains(graph) || rt_graph_freezes(graph))
        return;
    if (op != RT_OP_ADD) {
        rt_node_save(graph, read);
        rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_MUL, rows, cols);
    }
    rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_REDUCE, rows, cols);
    rt_node_accumulate(graph, elements);
}

void rt_node_save(struct rt_graph *graph, uint32_t node)
{
    while (node != RT_NO_INPUT && graph->nodes[node].regathered)
        node = graph->inputs[graph->nodes[node].input];
    if (node == RT_NO_INPUT || graph->nodes[node].output_saved)
        return;
    graph->nodes[node].output_saved = true;
    graph->nodes[node].saved += graph->nodes[node].outputs;
}

struct rt_graph_kernel *rt_node_add_kernel(struct rt_graph *graph, enum rt_phase phase, enum rt_op_id op,
                                           int64_t rows, int64_t cols)
{
    return rt_graph_add_kernel(graph, phase, op, (const int64_t[]){rows, cols});
}

bool rt_node_begin_backward(struct rt_graph *graph, uint32_t node)
{
    if (!rt_graph_trains(graph) || !graph->nodes[node].gradient)
        return false;
    const struct rt_node *reader = &graph->nodes[node];
    for (uint32_t i = 0; i < reader->input_count; i++) {
        struct rt_node *input = &graph->nodes[graph->inputs[reader->input + i]];
        if (input->gradient && input->read)
            rt_graph_set_dtype(rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_ADD, 1, (int64_t)input->outputs),
                               rt_gradient_dtype(graph, input));
        input->read = true;
    }
    if (graph->again) {
        graph->nodes[node].recomputed = true;
        rt_node_run_again(graph);
    }
    return true;
}
