/* Training: the backward pass where no builder of build.h and build_image.h knows it. See lower.h. */
#include "models/networks/build_node.h"
#include "models/networks/onnx/lower.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

/* --- what gets a gradient --- */

static bool is_real(const struct rt_onnx_lowering *l, uint32_t value)
{
    return rt_onnx_dtypes[l->at.model->values[value].dtype].real;
}

bool rt_onnx_lower_trains(const struct rt_onnx_lowering *l, size_t input)
{
    uint32_t value = rt_onnx_lower_in(l, input);
    if (!rt_graph_trains(l->graph) || value == RT_ONNX_NO_VALUE || !l->made[value].weight)
        return false;
    return is_real(l, value) && rt_onnx_lower_weight(l, input) > 1;
}

int64_t rt_onnx_lower_weight(const struct rt_onnx_lowering *l, size_t input)
{
    return rt_onnx_count(&l->at.model->values[l->made[rt_onnx_lower_in(l, input)].origin].shape);
}

uint32_t rt_onnx_lower_add(struct rt_onnx_lowering *l, double outputs)
{
    struct rt_graph *graph = l->graph;
    uint32_t node = rt_node_add(graph, l->name, RT_NO_INPUT, RT_NO_INPUT, outputs);
    bool gradient = false, first = true;
    for (size_t i = 0; i < l->at.node->input_count; i++) {
        uint32_t input = rt_onnx_lower_node(l, i);
        gradient |= rt_node_has_gradient(graph, input) || rt_onnx_lower_trains(l, i);
        if (input == RT_NO_INPUT)
            continue;
        bool wider = first || rt_node_width(graph, input) > rt_node_width(graph, node);
        if (wider)
            graph->nodes[node].dtype = graph->nodes[input].dtype;
        first = false;
        rt_graph_add_input(graph, input);
    }
    graph->nodes[node].gradient = gradient && is_real(l, l->at.node->outputs[0]);
    return node;
}

/* Does a gradient flow back through the node's first input? */
static bool flows_back(const struct rt_onnx_lowering *l)
{
    return rt_graph_trains(l->graph) && rt_node_has_gradient(l->graph, rt_onnx_lower_node(l, 0));
}

/* --- operators with kernels of their own --- */

void rt_onnx_lower_keep(struct rt_onnx_lowering *l)
{
    for (size_t i = 0; i < l->at.node->input_count; i++)
        rt_node_keep(l->graph, rt_onnx_lower_node(l, i));
}

void rt_onnx_lower_again(struct rt_onnx_lowering *l)
{
    struct rt_graph *graph = l->graph;
    uint32_t node = (uint32_t)graph->node_count - 1;
    uint32_t first = graph->nodes[node].kernel, count = graph->nodes[node].kernel_count;
    if (!rt_node_begin_backward(graph, node))
        return;
    for (uint32_t k = first; k < first + count; k++) {
        const struct rt_graph_kernel forward = graph->kernels[k];
        enum rt_op_id op = (enum rt_op_id)forward.call.op;
        if (rt_op_keeps(op) == RT_KEEPS_INPUTS)
            rt_onnx_lower_keep(l);
        rt_graph_add_kernel(graph, RT_BACKWARD, op, forward.call.dim)->bytes = forward.bytes;
    }
}

void rt_onnx_lower_move(struct rt_onnx_lowering *l, enum rt_op_id op, double bytes)
{
    int64_t rows, cols;
    rt_onnx_lower_matrix(l, l->at.node->outputs[0], &rows, &cols);
    l->result = rt_onnx_lower_add(l, (double)(rows * cols));
    rt_node_add_kernel(l->graph, RT_FORWARD, op, rows, cols)->bytes = bytes;
    rt_onnx_lower_again(l);
}

/* A sum's is a view of dy. Others read dy and what they were given (tools/autograd/derivatives.yaml). */
void rt_onnx_lower_reduced(struct rt_onnx_lowering *l, int64_t rows, int64_t cols)
{
    if (!rt_node_begin_backward(l->graph, l->result) || strcmp(l->at.node->op, "ReduceSum") == 0)
        return;
    rt_onnx_lower_keep(l);
    rt_node_add_kernel(l->graph, RT_BACKWARD, RT_OP_MUL, rows, cols);
}

/* As layer norm's: dy and x are read once more for the gradients of weights (layer_norm_kernel.cu). */
void rt_onnx_lower_normed(struct rt_onnx_lowering *l, int64_t rows, int64_t cols)
{
    struct rt_graph *graph = l->graph;
    bool trains = false;
    if (!rt_node_begin_backward(graph, l->result))
        return;
    rt_onnx_lower_keep(l);
    rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_RMSNORM_BACKWARD, rows, cols);
    for (size_t i = 0; i < l->at.node->input_count; i++)
        trains |= rt_onnx_lower_trains(l, i);
    if (trains)
        rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_REDUCE, rows, cols)->bytes *= 2;
    for (size_t i = 0; i < l->at.node->input_count; i++)
        if (rt_onnx_lower_trains(l, i))
            rt_node_accumulate(graph, rt_onnx_lower_weight(l, i));
}

/* --- views --- */

/* What the first input's gradient is made of, for part `i`: parts of a split are joined, in one kernel; any
 * other part is copied into zeros (split_with_sizes_backward, slice_backward, select_backward). */
static void part_backward(struct rt_onnx_lowering *l, uint32_t node, size_t i, bool split)
{
    int64_t rows, cols;
    if ((split && i > 0) || !rt_node_begin_backward(l->graph, node))
        return;
    rt_onnx_lower_matrix(l, l->at.node->inputs[0], &rows, &cols);
    rt_node_add_kernel(l->graph, RT_BACKWARD, split ? RT_OP_COPY : RT_OP_FILL, rows, cols);
    if (split)
        return;
    rt_onnx_lower_matrix(l, l->at.node->outputs[i], &rows, &cols);
    rt_node_add_kernel(l->graph, RT_BACKWARD, RT_OP_COPY, rows, cols);
}

void rt_onnx_lower_parts(struct rt_onnx_lowering *l)
{
    const struct rt_onnx_node *node = l->at.node;
    uint32_t whole = rt_onnx_lower_node(l, 0);
    bool split = strcmp(node->op, "Split") == 0;
    int64_t all = rt_onnx_count(rt_onnx_lower_shape(l, 0));
    for (size_t i = 0; flows_back(l) && i < node->output_count; i++) {
        char number[24];
        if (node->outputs[i] == RT_ONNX_NO_VALUE)
            continue;
        struct rt_onnx_made *out = &l->made[node->outputs[i]];
        int64_t count = rt_onnx_count(&l->at.model->values[node->outputs[i]].shape);
        if (count == all)
            continue;
        snprintf(number, sizeof number, "%zu", i + 1);
        out->part = split;
        out->node = rt_node_add(l->graph, split ? rt_image_name(l->graph, l->name, number) : l->name, whole,
                                RT_NO_INPUT, (double)count);
        part_backward(l, out->node, i, split);
    }
}

void rt_onnx_lower_expand(struct rt_onnx_lowering *l)
{
    int64_t rows, cols, all = rt_onnx_count(rt_onnx_lower_out_shape(l));
    if (!flows_back(l) || rt_onnx_count(rt_onnx_lower_shape(l, 0)) == all)
        return;
    rt_onnx_lower_matrix(l, l->at.node->outputs[0], &rows, &cols);
    l->result = rt_node_add(l->graph, l->name, rt_onnx_lower_node(l, 0), RT_NO_INPUT, (double)all);
    if (rt_node_begin_backward(l->graph, l->result))
        rt_node_add_kernel(l->graph, RT_BACKWARD, RT_OP_REDUCE, rows, cols);
}

static bool is_read_by(const struct rt_onnx_made *made, const char *op)
{
    return made->readers == 1 && made->reader != NULL && strcmp(made->reader->op, op) == 0;
}

/* Products copy gradients of their operands themselves (rt_build_heads), keys' also where these are turned
 * once more, and reshapes what they merge (rt_build_merge). */
void rt_onnx_lower_heads(struct rt_onnx_lowering *l)
{
    struct rt_onnx_made *out = &l->made[l->at.node->outputs[0]];
    bool turned = is_read_by(out, "Transpose") && is_read_by(&l->made[out->reader->outputs[0]], "MatMul");
    int64_t rows, cols;
    if (!flows_back(l) || out->view != RT_ONNX_HEADS || turned || is_read_by(out, "MatMul") ||
        is_read_by(out, "Reshape"))
        return;
    rt_onnx_lower_matrix(l, l->at.node->outputs[0], &rows, &cols);
    l->result =
        rt_build_copies(l->graph, l->name, rt_onnx_lower_node(l, 0), rows, cols, RT_COPY_NONE, RT_COPY_ROWS);
    out->ordered = true;
}

/* --- weights --- */

static bool accumulates(const struct rt_graph *graph, size_t first)
{
    for (size_t n = first; n < graph->node_count; n++)
        for (uint32_t k = 0; k < graph->nodes[n].kernel_count; k++)
            if (graph->kernels[graph->nodes[n].kernel + k].call.phase == RT_ACCUMULATE)
                return true;
    return false;
}

/* The output's gradient is summed for each. */
void rt_onnx_lower_weights(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row, size_t first)
{
    struct rt_graph *graph = l->graph;
    int64_t rows, cols;
    if (!rt_graph_trains(graph) || first == graph->node_count || accumulates(graph, first) ||
        !graph->nodes[graph->node_count - 1].gradient)
        return;
    rt_onnx_lower_matrix(l, l->at.node->outputs[0], &rows, &cols);
    for (size_t i = 0; i < l->at.node->input_count; i++) {
        bool statistics = row != NULL && i < 16 && (row->statistics >> i & 1) != 0;
        if (!rt_onnx_lower_trains(l, i) || statistics)
            continue;
        rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_REDUCE, rows, cols);
        rt_node_accumulate(graph, rt_onnx_lower_weight(l, i));
    }
}
