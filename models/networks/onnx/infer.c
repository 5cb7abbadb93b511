/* The walk over a model's nodes. See infer.h. */
#include "models/networks/onnx/infer.h"
#include "base/status.h"
#include "models/networks/onnx/operator.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

#define MOST_VISITS ((size_t)1 << 22)

/* --- what is known --- */

static bool is_known(const struct rt_onnx_value *value)
{
    return value->kind != RT_ONNX_TENSOR || rt_onnx_shape_known(&value->shape);
}

static bool has_unknown_elements(const struct rt_onnx_value *value)
{
    if (value->data == NULL || value->data->real)
        return false;
    for (size_t i = 0; i < value->data->count; i++)
        if (value->data->element[i].whole == RT_ONNX_UNKNOWN_INT)
            return true;
    return false;
}

/* What the file writes fills in what is not known; what the command line gives goes first. */
static void take_written(struct rt_onnx_value *value)
{
    const struct rt_onnx_shape *written = value->written;
    struct rt_onnx_shape *shape = &value->shape;
    if (written == NULL || value->kind == RT_ONNX_OTHER)
        return;
    if (shape->rank == RT_ONNX_UNKNOWN || value->given)
        *shape = *written;
    for (int i = 0; i < shape->rank && shape->rank == written->rank; i++)
        if (shape->dim[i] == RT_ONNX_UNKNOWN)
            shape->dim[i] = written->dim[i];
    if (value->data != NULL && rt_onnx_count(shape) != (int64_t)value->data->count)
        value->data = NULL;
}

static int check_shape(const struct rt_onnx_value *value)
{
    if (value->shape.rank > RT_ONNX_RANK)
        return rt_fail(RT_EFORMAT, "'%s' would have %d dims; up to %d are read", value->name,
                       value->shape.rank, RT_ONNX_RANK);
    for (int i = 0; i < value->shape.rank; i++)
        if (value->shape.dim[i] < RT_ONNX_UNKNOWN || value->shape.dim[i] > RT_ONNX_LARGEST)
            return rt_fail(RT_EFORMAT, "dim %d of '%s' would be %s; dims are 0 to 2^40", i, value->name,
                           value->shape.dim[i] < 0 ? "negative" : "larger");
    return RT_OK;
}

/* --- a node --- */

static int check_inputs(const struct rt_onnx_at *at)
{
    for (size_t i = 0; i < at->node->row->least; i++)
        if (rt_onnx_in(at, i) == NULL)
            return rt_fail(RT_EFORMAT, "has no input %zu, which %s cannot be without", i, at->node->op);
    return RT_OK;
}

static void forget(struct rt_onnx_value *value)
{
    value->shape = rt_onnx_no_shape;
    value->length = RT_ONNX_UNKNOWN;
    value->data = NULL;
    value->cause = RT_ONNX_NO_VALUE;
}

static void fold(const struct rt_onnx_at *at)
{
    struct rt_onnx_model *model = at->model;
    struct rt_onnx_value *out = rt_onnx_out(at, 0);
    if (at->node->row->fold == NULL || out == NULL || out->kind != RT_ONNX_TENSOR || out->data != NULL)
        return;
    int64_t count = rt_onnx_count(&out->shape);
    if (count < 0 || count > RT_ONNX_HELD || !rt_onnx_dtypes[out->dtype].foldable)
        return;
    if (model->scratch == NULL)
        model->scratch = rt_onnx_new_data(model, RT_ONNX_HELD, false);
    if (model->scratch == NULL)
        return;
    model->scratch->count = (size_t)count;
    model->scratch->real = rt_onnx_dtypes[out->dtype].real;
    if (!at->node->row->fold(at, model->scratch))
        return;
    struct rt_onnx_data *data = rt_onnx_new_data(model, (size_t)count, model->scratch->real);
    if (data != NULL)
        memcpy(data->element, model->scratch->element, (size_t)count * sizeof data->element[0]);
    out->data = data;
}

/* Might it be a part of a shape? */
static bool lacks_elements(const struct rt_onnx_value *value)
{
    int64_t count = rt_onnx_count(&value->shape);
    return value->data == NULL && count >= 0 && count <= RT_ONNX_RANK;
}

/* Where what is not known of an output begins: where it does for an input, else here. */
static void set_cause(const struct rt_onnx_at *at, uint32_t output)
{
    struct rt_onnx_value *out = &at->model->values[output];
    bool incomplete = !is_known(out) || has_unknown_elements(out);
    if (!incomplete && !lacks_elements(out))
        return;
    out->cause = incomplete ? output : RT_ONNX_NO_VALUE;
    for (size_t i = 0; i < at->node->input_count; i++) {
        const struct rt_onnx_value *in = rt_onnx_in(at, i);
        if (in != NULL && in->cause != RT_ONNX_NO_VALUE) {
            out->cause = in->cause;
            return;
        }
    }
}

static int infer_node(const struct rt_onnx_at *at)
{
    const struct rt_onnx_node *node = at->node;
    struct rt_onnx_value *values = at->model->values;
    int status = node->row != NULL ? check_inputs(at) : RT_OK;
    for (size_t i = 0; i < node->output_count; i++)
        if (node->outputs[i] != RT_ONNX_NO_VALUE)
            forget(&values[node->outputs[i]]);
    if (status == RT_OK && node->row != NULL && (status = node->row->shapes(at)) == RT_OK)
        fold(at);
    for (size_t i = 0; i < node->output_count && status == RT_OK; i++) {
        if (node->outputs[i] == RT_ONNX_NO_VALUE)
            continue;
        take_written(&values[node->outputs[i]]);
        set_cause(at, node->outputs[i]);
        status = check_shape(&values[node->outputs[i]]);
    }
    return status;
}

int rt_onnx_infer_graph(struct rt_onnx_model *model, const struct rt_onnx_graph *graph, int depth)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        struct rt_onnx_at at = {model, &graph->nodes[i], depth};
        if (model->visits++ >= rt_onnx_most(model, MOST_VISITS))
            return rt_fail(RT_EFORMAT, "its loops are too many, one in another");
        int status = infer_node(&at);
        if (status != RT_OK)
            return rt_fail_context(status, "node '%s' (%s)", at.node->name, at.node->op);
    }
    return RT_OK;
}

int rt_onnx_infer(struct rt_onnx_model *model)
{
    for (size_t i = 0; i < model->graph->input_count; i++) {
        struct rt_onnx_value *value = &model->values[model->graph->inputs[i]];
        take_written(value);
        if (!is_known(value))
            value->cause = model->graph->inputs[i];
    }
    return rt_onnx_infer_graph(model, model->graph, 0);
}

/* --- why --- */

static char *why_dim(const struct rt_onnx_value *value, int d)
{
    const char *name = value->dim_names[d], *field = rt_onnx_size_field(name);
    char *by_name = rt_sentence("dim %d of input '%s' is '%s' in the file; give {dim} '%s=N'", d, value->name,
                                name, name);
    if (field == NULL)
        return by_name;
    char *either = rt_sentence(strcmp(field, "batch") == 0 ? "%s or {batch} N" : "%s or {seq} N", by_name);
    free(by_name);
    return either;
}

static char *why_input(const struct rt_onnx_value *value)
{
    if (value->shape.rank == RT_ONNX_UNKNOWN)
        return rt_sentence("the file gives input '%s' no shape; give {shape} '%s=...', such as 1x3x224x224",
                           value->name, value->name);
    for (int i = 0; i < value->shape.rank; i++)
        if (value->shape.dim[i] == RT_ONNX_UNKNOWN && value->dim_names != NULL && value->dim_names[i] != NULL)
            return why_dim(value, i);
    return rt_sentence("input '%s' is %s in the file; give {shape} '%s=...' with every dim", value->name,
                       rt_onnx_shape_words(&value->shape).text, value->name);
}

/* The node that makes a value, in the graph or a body of it. */
static const struct rt_onnx_node *maker(const struct rt_onnx_graph *graph, uint32_t value)
{
    for (size_t i = 0; i < graph->node_count; i++) {
        const struct rt_onnx_node *node = &graph->nodes[i], *inside = NULL;
        for (size_t o = 0; o < node->output_count; o++)
            if (node->outputs[o] == value)
                return node;
        for (size_t a = 0; a < node->attribute_count && inside == NULL; a++)
            if (node->attributes[a].kind == RT_ONNX_A_GRAPH)
                inside = maker(node->attributes[a].body, value);
        if (inside != NULL)
            return inside;
    }
    return NULL;
}

char *rt_onnx_why_unknown(const struct rt_onnx_model *model, uint32_t number)
{
    uint32_t cause = model->values[number].cause;
    if (cause == RT_ONNX_NO_VALUE)
        return NULL;
    const struct rt_onnx_value *value = &model->values[cause];
    const struct rt_onnx_node *node = maker(model->graph, cause);
    if (node == NULL)
        return why_input(value);
    if (node->row == NULL)
        return rt_sentence("node '%s' is a %s, an operator of which rooftile knows no shapes; give {shape} "
                           "'%s=...'",
                           node->name, node->op, value->name);
    return rt_sentence("the shape of '%s' depends on what node '%s' (%s) computes; give {shape} '%s=...'",
                       value->name, node->name, node->op, value->name);
}
