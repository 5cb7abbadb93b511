/* What functions of rows ask and do. See lowering.h. */
#include "models/networks/onnx/lowering.h"
#include "base/array.h"
#include "models/networks/build_node.h"

#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum rt_op_id rt_onnx_lower_op(const struct rt_onnx_lowering *l)
{
    return l->at.node->row->op;
}

uint32_t rt_onnx_lower_in(const struct rt_onnx_lowering *l, size_t i)
{
    return i < l->at.node->input_count ? l->at.node->inputs[i] : RT_ONNX_NO_VALUE;
}

const struct rt_onnx_shape *rt_onnx_lower_shape(const struct rt_onnx_lowering *l, size_t input)
{
    return &l->at.model->values[l->at.node->inputs[input]].shape;
}

const struct rt_onnx_shape *rt_onnx_lower_out_shape(const struct rt_onnx_lowering *l)
{
    return &l->at.model->values[l->at.node->outputs[0]].shape;
}

uint32_t rt_onnx_lower_node(const struct rt_onnx_lowering *l, size_t input)
{
    uint32_t value = rt_onnx_lower_in(l, input);
    return value == RT_ONNX_NO_VALUE || l->made[value].constant ? RT_NO_INPUT : l->made[value].node;
}

bool rt_onnx_lower_is_constant(const struct rt_onnx_lowering *l, size_t input)
{
    uint32_t value = rt_onnx_lower_in(l, input);
    return value != RT_ONNX_NO_VALUE && l->made[value].constant;
}

bool rt_onnx_lower_scalar(const struct rt_onnx_lowering *l, size_t input, double *out)
{
    uint32_t value = rt_onnx_lower_in(l, input);
    const struct rt_onnx_data *data = value == RT_ONNX_NO_VALUE ? NULL : l->at.model->values[value].data;
    if (data == NULL || data->count != 1 || (!data->real && data->element[0].whole == RT_ONNX_UNKNOWN_INT))
        return false;
    *out = data->real ? data->element[0].real : (double)data->element[0].whole;
    return true;
}

int64_t rt_onnx_dims_product(const struct rt_onnx_shape *shape, int from, int to)
{
    int64_t product = 1;
    for (int d = from; d < to; d++)
        product = rt_onnx_times(product, shape->dim[d]);
    return product;
}

void rt_onnx_lower_matrix(const struct rt_onnx_lowering *l, uint32_t value, int64_t *rows, int64_t *cols)
{
    const struct rt_onnx_shape *shape = &l->at.model->values[value].shape;
    int64_t pixels = shape->rank > 2 ? rt_onnx_dims_product(shape, 2, shape->rank) : 1;
    int64_t last = shape->rank > 0 ? shape->dim[shape->rank - 1] : 1;
    if (l->made[value].image && shape->rank > 2) /* rt_image_matrix */
        last = l->graph->options.channels_last || pixels == 1 ? shape->dim[1] : pixels;
    *cols = last;
    *rows = rt_onnx_count(shape) / *cols;
}

struct rt_image rt_onnx_lower_image_of(const struct rt_onnx_lowering *l, size_t input)
{
    const struct rt_onnx_shape *shape = rt_onnx_lower_shape(l, input);
    int rank = shape->rank;
    return (struct rt_image){.node = rt_onnx_lower_node(l, input),
                             .batch = shape->dim[0],
                             .channels = rank > 1 ? shape->dim[1] : 1,
                             .height = rank > 3 ? rt_onnx_dims_product(shape, 2, rank - 1) : 1,
                             .width = rank > 2 ? shape->dim[rank - 1] : 1};
}

/* Of an element that is real: as the node that makes it has it, or is about to (autocast). */
static double width_of(const struct rt_onnx_lowering *l, uint32_t value)
{
    const struct rt_onnx_made *made = &l->made[value];
    bool follows = made->node == RT_NO_INPUT && made->maker != NULL && !made->constant;
    uint32_t node = follows ? l->result : made->node;
    return node != RT_NO_INPUT ? rt_node_width(l->graph, node) : rt_dtypes[l->graph->options.dtype].bytes;
}

double rt_onnx_lower_bytes(const struct rt_onnx_lowering *l, uint32_t value)
{
    const struct rt_onnx_value *of = &l->at.model->values[value];
    const struct rt_onnx_dtype_row *dtype = &rt_onnx_dtypes[of->dtype];
    if (of->kind != RT_ONNX_TENSOR || !rt_onnx_shape_known(&of->shape))
        return 0;
    return (dtype->real ? width_of(l, value) : dtype->bits / 8.0) * (double)rt_onnx_count(&of->shape);
}

double rt_onnx_lower_traffic(const struct rt_onnx_lowering *l)
{
    const struct rt_onnx_node *node = l->at.node;
    double bytes = 0;
    for (size_t i = 0; i < node->input_count; i++)
        if (node->inputs[i] != RT_ONNX_NO_VALUE)
            bytes += rt_onnx_lower_bytes(l, node->inputs[i]);
    for (size_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != RT_ONNX_NO_VALUE)
            bytes += rt_onnx_lower_bytes(l, node->outputs[i]);
    return bytes;
}

void rt_onnx_lower_set_dtype(struct rt_onnx_lowering *l, enum rt_dtype dtype)
{
    const struct rt_node *node = &l->graph->nodes[l->result];
    for (uint32_t k = 0; k < node->kernel_count; k++)
        rt_graph_set_dtype(&l->graph->kernels[node->kernel + k], dtype);
}

bool rt_onnx_lower_fuses_attention(const struct rt_onnx_lowering *l)
{
    const struct rt_graph_options *options = &l->graph->options;
    bool half = options->dtype == RT_FP16 || options->dtype == RT_BF16;
    return rt_graph_fuses_attention(options) && half;
}

bool rt_onnx_reads_elements(const struct rt_onnx_node *node)
{
    return strcmp(node->op, "Shape") != 0 && strcmp(node->op, "Size") != 0;
}

bool rt_onnx_has_body(const struct rt_onnx_node *node)
{
    for (size_t a = 0; a < node->attribute_count; a++)
        if (node->attributes[a].kind == RT_ONNX_A_GRAPH)
            return true;
    return false;
}

void rt_onnx_unread(struct rt_onnx_lowering *l, uint32_t value)
{
    size_t count = 0, capacity = 0;
    uint32_t *unread = NULL;
    RT_GROW(unread, count, 1, capacity);
    unread[count++] = value;
    while (count > 0) {
        struct rt_onnx_made *made = &l->made[unread[--count]];
        const struct rt_onnx_node *node = made->maker;
        made->readers -= made->readers > 0;
        if (made->readers > 0 || made->inside || made->found != NULL || node == NULL ||
            node->output_count != 1 || rt_onnx_has_body(node))
            continue;
        made->inside = true;
        RT_GROW(unread, count, node->input_count, capacity);
        for (size_t i = 0; i < node->input_count && rt_onnx_reads_elements(node); i++)
            if (node->inputs[i] != RT_ONNX_NO_VALUE)
                unread[count++] = node->inputs[i];
    }
    free(unread);
}

/* --- is a mask causal? --- */

static const struct rt_onnx_shape *shape_of(const struct rt_onnx_lowering *l, uint32_t value)
{
    return &l->at.model->values[value].shape;
}

enum { MOST_VISITED = 256 }; /* values on the way to a mask */

/* Does the shape end in a dim for queries and one for keys? Tables are as large as the longest sequence. */
static bool is_of_pairs(const struct rt_onnx_shape *shape, int64_t queries, int64_t keys, bool table)
{
    if (shape->rank < 2)
        return false;
    int64_t rows = shape->dim[shape->rank - 2], cols = shape->dim[shape->rank - 1];
    return (rows == queries && cols == keys) || (table && rows == cols && rows >= keys);
}

static bool is_one_of(const char *op, const char *const *names)
{
    for (; *names != NULL; names++)
        if (strcmp(op, *names) == 0)
            return true;
    return false;
}

/* A triangle, positions of queries compared with those of keys, or a table of pairs that the file holds:
 * padding alone has no dim for queries. */
static bool tells_pairs(const struct rt_onnx_lowering *l, uint32_t value, int64_t queries, int64_t keys)
{
    static const char *const orders[] = {"Greater", "GreaterOrEqual", "Less", "LessOrEqual", "Trilu", NULL};
    const struct rt_onnx_made *made = &l->made[value];
    const struct rt_onnx_data *data = l->at.model->values[value].data;
    bool computed = made->maker != NULL && strcmp(made->maker->op, "Constant") != 0;
    bool table = !computed || strcmp(made->maker->op, "Trilu") == 0;
    if (!is_of_pairs(shape_of(l, value), queries, keys, table))
        return false;
    if (computed)
        return is_one_of(made->maker->op, orders);
    bool differs = data == NULL;
    for (size_t i = 1; data != NULL && i < data->count; i++)
        differs |= memcmp(&data->element[i], &data->element[0], sizeof data->element[0]) != 0;
    return made->fixed && differs;
}

static size_t add_inputs(const struct rt_onnx_node *node, uint32_t *visited, size_t count)
{
    for (size_t i = 0; i < node->input_count && count < MOST_VISITED; i++) {
        bool met = node->inputs[i] == RT_ONNX_NO_VALUE;
        for (size_t v = 0; v < count; v++)
            met |= visited[v] == node->inputs[i];
        if (!met)
            visited[count++] = node->inputs[i];
    }
    return count;
}

bool rt_onnx_is_causal(const struct rt_onnx_lowering *l, uint32_t mask, int64_t queries, int64_t keys)
{
    uint32_t visited[MOST_VISITED] = {mask};
    size_t count = mask != RT_ONNX_NO_VALUE ? 1 : 0;
    for (size_t v = 0; v < count; v++) {
        if (tells_pairs(l, visited[v], queries, keys))
            return true;
        const struct rt_onnx_node *maker = l->made[visited[v]].maker;
        if (maker != NULL && rt_onnx_reads_elements(maker))
            count = add_inputs(maker, visited, count);
    }
    return false;
}

/* --- what rows of several files do --- */

bool rt_onnx_lower_nothing(struct rt_onnx_lowering *l)
{
    (void)l;
    return true;
}

bool rt_onnx_lower_once(struct rt_onnx_lowering *l)
{
    rt_onnx_lower_move(l, rt_onnx_lower_op(l), rt_onnx_lower_traffic(l));
    return true;
}

bool rt_onnx_lower_made(struct rt_onnx_lowering *l)
{
    double bytes = rt_onnx_lower_bytes(l, l->at.node->outputs[0]);
    enum rt_op_id op = rt_onnx_lower_op(l);
    rt_onnx_lower_move(l, op, op == RT_OP_FILL ? bytes : 2 * bytes);
    return true;
}

void rt_onnx_lower_pass_view(struct rt_onnx_lowering *l, size_t output)
{
    const struct rt_onnx_made *in = &l->made[rt_onnx_lower_in(l, 0)];
    struct rt_onnx_made *out = &l->made[l->at.node->outputs[output]];
    out->view = in->view;
    out->ordered = in->ordered;
    out->part = in->part;
}

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

void rt_onnx_lower_save(struct rt_onnx_lowering *l)
{
    for (size_t i = 0; i < l->at.node->input_count; i++)
        rt_node_save(l->graph, rt_onnx_lower_node(l, i));
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
            rt_onnx_lower_save(l);
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
    rt_onnx_lower_save(l);
    rt_node_add_kernel(l->graph, RT_BACKWARD, RT_OP_MUL, rows, cols);
}

/* As layer norm's: dy and x are read once more for the gradients of weights (layer_norm_kernel.cu). */
void rt_onnx_lower_normed(struct rt_onnx_lowering *l, int64_t rows, int64_t cols)
{
    struct rt_graph *graph = l->graph;
    bool trains = false;
    if (!rt_node_begin_backward(graph, l->result))
        return;
    rt_onnx_lower_save(l);
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

bool rt_onnx_is_read_by(const struct rt_onnx_made *made, const char *op)
{
    return made->readers == 1 && made->reader != NULL && strcmp(made->reader->op, op) == 0;
}

/* Products copy gradients of their operands themselves (rt_build_heads), keys' also where these are turned
 * once more, and reshapes what they merge (rt_build_merge). */
void rt_onnx_lower_heads(struct rt_onnx_lowering *l)
{
    struct rt_onnx_made *out = &l->made[l->at.node->outputs[0]];
    bool turned = rt_onnx_is_read_by(out, "Transpose") &&
                  rt_onnx_is_read_by(&l->made[out->reader->outputs[0]], "MatMul");
    int64_t rows, cols;
    if (!flows_back(l) || out->view != RT_ONNX_HEADS || turned || rt_onnx_is_read_by(out, "MatMul") ||
        rt_onnx_is_read_by(out, "Reshape"))
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
void rt_onnx_lower_weights(struct rt_onnx_lowering *l, size_t first)
{
    struct rt_graph *graph = l->graph;
    const struct rt_onnx_operator *row = l->at.node->row;
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
