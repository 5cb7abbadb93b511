/* The steps of adding a node. See build_node.h. */
#include "models/graph/build_node.h"

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

uint32_t rt_node_add(struct rt_graph *graph, const char *name, uint32_t a, uint32_t b, double outputs)
{
    uint32_t node = rt_graph_add_node(graph, name);
    add_input(graph, node, a);
    add_input(graph, node, b);
    graph->nodes[node].outputs = outputs;
    return node;
}

void rt_node_keep(struct rt_graph *graph, uint32_t node)
{
    if (node != RT_NO_INPUT && graph->nodes[node].saved < graph->nodes[node].outputs)
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
            rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_ADD, 1, (int64_t)input->outputs);
        input->read = true;
    }
    return true;
}
