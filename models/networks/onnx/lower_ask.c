/* What rows may ask of the node that is added. See lower.h. */
#include "base/status.h"
#include "models/networks/onnx/lower.h"

#include <stdlib.h>
#include <string.h>

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

double rt_onnx_lower_bytes(const struct rt_onnx_lowering *l, uint32_t value)
{
    const struct rt_onnx_value *of = &l->at.model->values[value];
    const struct rt_onnx_dtype_row *dtype = &rt_onnx_dtypes[of->dtype];
    if (of->kind != RT_ONNX_TENSOR || !rt_onnx_shape_known(&of->shape))
        return 0;
    double width = dtype->real ? rt_dtypes[l->graph->options.dtype].bytes : dtype->bits / 8.0;
    return width * (double)rt_onnx_count(&of->shape);
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
    return rt_runtimes[options->runtime].fused_attention && half;
}

bool rt_onnx_lower_is_microsoft(const struct rt_onnx_lowering *l)
{
    return strcmp(l->at.node->domain, "com.microsoft") == 0;
}

const struct rt_onnx_lower_row *rt_onnx_lower_row_of(const struct rt_onnx_node *node)
{
    static const struct rt_onnx_lower_row *const tables[] = {rt_onnx_lower_image,     rt_onnx_lower_math,
                                                             rt_onnx_lower_moves,     rt_onnx_lower_product,
                                                             rt_onnx_lower_recurrent, rt_onnx_lower_fused};
    for (size_t t = 0; t < RT_COUNT(tables) && node->row != NULL; t++)
        for (const struct rt_onnx_lower_row *row = tables[t]; row->name != NULL; row++)
            if (strcmp(row->name, node->op) == 0)
                return row;
    return NULL;
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
    size_t count = 1, room = 64;
    uint32_t *unread = rt_malloc(room * sizeof *unread);
    unread[0] = value;
    while (count > 0) {
        struct rt_onnx_made *made = &l->made[unread[--count]];
        const struct rt_onnx_node *node = made->maker;
        made->readers -= made->readers > 0;
        if (made->readers > 0 || made->inside || made->found != NULL || node == NULL ||
            node->output_count != 1 || rt_onnx_has_body(node))
            continue;
        made->inside = true;
        if (count + node->input_count > room)
            unread = rt_realloc(unread, (room = 2 * (count + node->input_count)), sizeof *unread);
        for (size_t i = 0; i < node->input_count && rt_onnx_reads_elements(node); i++)
            if (node->inputs[i] != RT_ONNX_NO_VALUE)
                unread[count++] = node->inputs[i];
    }
    free(unread);
}
