/*
 * A model that was read to the kernels that it runs: the rows of its operators (operator.h) add nodes to a
 * graph. What runs of a node follows from its row, from patterns of several nodes (patterns.h), and from what
 * is the same in every step: operators whose inputs are all constants are computed once.
 */
#include "models/networks/onnx/onnx.h"
#include "base/status.h"
#include "base/strings.h"
#include "models/networks/build_node.h"
#include "models/networks/onnx/infer.h"
#include "models/networks/onnx/lowering.h"
#include "models/networks/onnx/patterns.h"

#include <inttypes.h>
#include <stdlib.h>
#include <string.h>

/* --- rows --- */

/* NULL: none, or it does not say how the operator is forecast. */
static const struct rt_onnx_operator *row_of(const struct rt_onnx_node *node)
{
    return node->row != NULL && node->row->lower != NULL ? node->row : NULL;
}

static bool in_mask(uint16_t mask, size_t i)
{
    return i < 16 && (mask >> i & 1) != 0;
}

/* --- weights --- */

static bool is_elementwise(const struct rt_onnx_operator *row)
{
    return in_mask(row->weights, 0) && in_mask(row->weights, 1);
}

/* Marks, from the last node to the first, what goes into a weight's place, or is turned and then does. */
static void mark_slots(struct rt_onnx_lowering *l, const struct rt_onnx_graph *graph)
{
    for (size_t n = graph->node_count; n-- > 0;) {
        const struct rt_onnx_node *node = &graph->nodes[n];
        const struct rt_onnx_operator *row = row_of(node);
        bool passes = row != NULL && node->input_count > 0 && node->inputs[0] != RT_ONNX_NO_VALUE &&
                      node->output_count > 0 && node->outputs[0] != RT_ONNX_NO_VALUE &&
                      (strcmp(node->op, "Identity") == 0 || strcmp(node->op, "Transpose") == 0 ||
                       strcmp(node->op, "Cast") == 0);
        if (passes)
            l->made[node->inputs[0]].slot |= l->made[node->outputs[0]].slot;
        for (size_t i = 0; row != NULL && i < node->input_count; i++) {
            uint32_t value = node->inputs[i];
            if (value == RT_ONNX_NO_VALUE || !in_mask(row->weights, i))
                continue;
            int rank = l->at.model->values[value].shape.rank;
            bool fits = is_elementwise(row) ? rank == 1 : strcmp(node->op, "MatMul") != 0 || rank <= 2;
            l->made[value].slot |= fits;
        }
    }
}

static bool has_names(const struct rt_onnx_value *value)
{
    for (int d = 0; value->dim_names != NULL && value->written != NULL && d < value->written->rank; d++)
        if (value->dim_names[d] != NULL)
            return true;
    return false;
}

/* Initializers, and inputs that stand where operators have their weights: exporters list weights as inputs
 * when they write none. The first input is never one, nor is what has dims by name. */
static void find_weights(struct rt_onnx_lowering *l)
{
    const struct rt_onnx_model *model = l->at.model;
    for (uint32_t v = 0; v < model->value_count; v++)
        l->made[v] = (struct rt_onnx_made){.node = RT_NO_INPUT, .origin = v};
    mark_slots(l, model->graph);
    for (uint32_t v = 0; v < model->value_count; v++) {
        l->made[v].weight = model->values[v].initializer;
        l->made[v].constant = model->values[v].initializer || model->values[v].data != NULL;
        l->made[v].fixed = l->made[v].constant;
    }
    for (size_t i = 1; i < model->graph->input_count; i++) {
        uint32_t v = model->graph->inputs[i];
        const struct rt_onnx_value *value = &model->values[v];
        if (l->made[v].slot && rt_onnx_dtypes[value->dtype].real && !has_names(value))
            l->made[v].weight = l->made[v].constant = l->made[v].fixed = true;
    }
}

static void count_readers(struct rt_onnx_lowering *l, const struct rt_onnx_graph *graph)
{
    for (size_t n = 0; n < graph->node_count; n++) {
        const struct rt_onnx_node *node = &graph->nodes[n];
        for (size_t i = 0; i < node->input_count && rt_onnx_reads_elements(node); i++)
            if (node->inputs[i] != RT_ONNX_NO_VALUE) {
                l->made[node->inputs[i]].readers++;
                l->made[node->inputs[i]].reader = node;
            }
        for (size_t i = 0; i < node->output_count; i++)
            if (node->outputs[i] != RT_ONNX_NO_VALUE)
                l->made[node->outputs[i]].maker = node;
        for (size_t a = 0; a < node->attribute_count; a++)
            if (node->attributes[a].kind == RT_ONNX_A_GRAPH)
                count_readers(l, node->attributes[a].body);
    }
    for (size_t i = 0; i < graph->output_count; i++)
        l->made[graph->outputs[i]].readers++;
}

/* Reals, quantised weights, and the whole numbers that are added to products of these. */
static bool may_be_parameter(const struct rt_onnx_operator *row, enum rt_onnx_dtype dtype)
{
    const struct rt_onnx_dtype_row *of = &rt_onnx_dtypes[dtype];
    bool product = row != NULL && (row->op == RT_OP_LINEAR || row->op == RT_OP_CONV2D);
    return of->real || (of->bits > 0 && of->bits <= 8 && dtype != RT_ONNX_BOOL) ||
           (product && dtype == RT_ONNX_INT32);
}

/* Elements of weights among `values`, the row's inputs, that are read for the first time. */
static double new_parameters(struct rt_onnx_lowering *l, const struct rt_onnx_operator *row,
                             const uint32_t *values, size_t count)
{
    double parameters = 0;
    for (size_t i = 0; i < count; i++) {
        uint32_t value = values[i];
        if (value == RT_ONNX_NO_VALUE || !l->made[value].weight ||
            !may_be_parameter(row, l->at.model->values[value].dtype))
            continue;
        struct rt_onnx_made *origin = &l->made[l->made[value].origin];
        int64_t elements = rt_onnx_count(&l->at.model->values[l->made[value].origin].shape);
        bool trained = elements > 1 && (row == NULL || !in_mask(row->statistics, i));
        bool tied = origin->table && origin->counted && rt_graph_trains(l->graph);
        if (trained && (tied || !origin->counted))
            parameters += (double)elements;
        if (trained && tied) /* both nodes count it, as in named models */
            l->graph->shared += (double)elements;
        origin->counted = true;
        origin->table |= strcmp(l->at.node->op, "Gather") == 0;
    }
    return parameters;
}

/* Builders count the weights of their operator; those that nodes share count once. */
static void set_parameters(struct rt_onnx_lowering *l, double parameters, size_t first)
{
    parameters += l->packed;
    l->packed = 0;
    struct rt_graph *graph = l->graph;
    for (size_t n = first; n < graph->node_count; n++)
        parameters -= graph->nodes[n].parameters;
    if (first < graph->node_count)
        graph->nodes[first].parameters += parameters;
    else if (l->result != RT_NO_INPUT)
        graph->nodes[l->result].parameters += parameters;
}

/* --- nodes --- */

struct walk {
    struct rt_onnx_lowering l;
    bool channels_last;                       /* all images are stored so */
    struct rt_strings by_bytes, counted_once; /* operators */
};

/* What all of its inputs being constants makes of a node: computed once, it is one, too. */
static bool is_constant(const struct rt_onnx_lowering *l)
{
    const struct rt_onnx_node *node = l->at.node;
    bool all = true;
    for (size_t i = 0; i < node->input_count; i++)
        all &= node->inputs[i] == RT_ONNX_NO_VALUE || l->made[node->inputs[i]].constant;
    return all;
}

static void pass_constant(struct rt_onnx_lowering *l)
{
    const struct rt_onnx_node *node = l->at.node;
    uint32_t first = node->input_count > 0 ? node->inputs[0] : RT_ONNX_NO_VALUE;
    bool form = node->row != NULL && node->row->form; /* other forms and parts of a weight are that weight */
    bool whole = form || strcmp(node->op, "Identity") == 0 || strcmp(node->op, "Concat") == 0;
    for (size_t i = 0; i < node->output_count; i++) {
        uint32_t out = node->outputs[i];
        if (out == RT_ONNX_NO_VALUE)
            continue;
        l->made[out].constant = true;
        l->made[out].weight = whole && first != RT_ONNX_NO_VALUE && l->made[first].weight;
        if (form && first != RT_ONNX_NO_VALUE)
            l->made[out].origin = l->made[first].origin;
    }
}

#define MOST_ELEMENTS ((int64_t)1 << 48) /* of a value: products with a few more of them fit */

static int check_size(const struct rt_onnx_lowering *l, const struct rt_onnx_value *value)
{
    if (rt_onnx_count(&value->shape) <= MOST_ELEMENTS)
        return RT_OK;
    return rt_fail(RT_EFORMAT, "%s: node '%s' (%s): '%s' is %s, more than 2^48 elements", l->at.model->path,
                   l->at.node->name, l->at.node->op, value->name, rt_onnx_shape_words(&value->shape).text);
}

static int fail_unknown(const struct rt_onnx_lowering *l, uint32_t value)
{
    char *why = rt_onnx_why_unknown(l->at.model, value);
    int status =
        rt_fail(RT_EFORMAT, "%s: node '%s' (%s) cannot be forecast: %s", l->at.model->path, l->at.node->name,
                l->at.node->op, why != NULL ? why : "a shape depends on a round of a loop or a branch");
    free(why);
    return status;
}

/* RT_EFORMAT where a shape is not known, or larger than any memory. */
static int check_known(const struct rt_onnx_lowering *l, const uint32_t *values, size_t count)
{
    int status = RT_OK;
    for (size_t i = 0; i < count && status == RT_OK; i++) {
        if (values[i] == RT_ONNX_NO_VALUE)
            continue;
        const struct rt_onnx_value *value = &l->at.model->values[values[i]];
        if (rt_onnx_shape_known(&value->shape))
            status = check_size(l, value);
        else if (value->kind == RT_ONNX_TENSOR)
            status = fail_unknown(l, values[i]);
    }
    return status;
}

/* Does it make no element? */
static bool is_empty(const struct rt_onnx_lowering *l)
{
    for (size_t i = 0; i < l->at.node->output_count; i++)
        if (l->at.node->outputs[i] != RT_ONNX_NO_VALUE &&
            rt_onnx_count(&l->at.model->values[l->at.node->outputs[i]].shape) != 0)
            return false;
    return true;
}

static bool has_output(const struct rt_onnx_node *node)
{
    return node->output_count > 0 && node->outputs[0] != RT_ONNX_NO_VALUE;
}

/* What all that follows a node may know of its outputs. */
static void set_made(struct rt_onnx_lowering *l)
{
    const struct rt_onnx_node *node = l->at.node;
    for (size_t i = 0; i < node->output_count; i++) {
        if (node->outputs[i] == RT_ONNX_NO_VALUE)
            continue;
        struct rt_onnx_made *made = &l->made[node->outputs[i]];
        if (made->node == RT_NO_INPUT)
            made->node = l->result;
        made->last |= l->graph->options.channels_last && strcmp(node->op, "Transpose") != 0;
    }
}

/* Channels are still followed by place, or are rows': outputs of operators on images, and of elementwise ones
 * on them. */
static void mark_image(struct rt_onnx_lowering *l, const struct rt_onnx_operator *row)
{
    const struct rt_onnx_node *node = l->at.node;
    if (row == NULL || !has_output(node))
        return;
    struct rt_onnx_made *out = &l->made[node->outputs[0]];
    int rank = rt_onnx_lower_out_shape(l)->rank;
    out->image = row->image;
    for (size_t i = 0; i < node->input_count && strcmp(node->op, "Transpose") != 0; i++) {
        bool alike = node->inputs[i] != RT_ONNX_NO_VALUE && rank == rt_onnx_lower_shape(l, i)->rank;
        out->image |= alike && l->made[node->inputs[i]].image;
        out->pixels |= alike && l->made[node->inputs[i]].pixels;
    }
}

/* An operator runs in the layout of the first image that it computes with, as PyTorch's do, however the
 * model's own images are stored. */
static void set_layout(struct walk *walk)
{
    struct rt_onnx_lowering *l = &walk->l;
    const struct rt_onnx_node *node = l->at.node;
    bool *last = &l->graph->options.channels_last;
    *last = walk->channels_last;
    for (size_t i = 0; i < node->input_count && !*last; i++)
        if (rt_onnx_lower_node(l, i) != RT_NO_INPUT && rt_onnx_lower_shape(l, i)->rank > 2) {
            *last = l->made[node->inputs[i]].last;
            return;
        }
}

static uint32_t first_computed(const struct rt_onnx_lowering *l)
{
    for (size_t i = 0; i < l->at.node->input_count; i++)
        if (rt_onnx_lower_node(l, i) != RT_NO_INPUT)
            return rt_onnx_lower_node(l, i);
    return RT_NO_INPUT;
}

static void add_name(struct rt_strings *names, const struct rt_onnx_node *node)
{
    char *name = rt_format("%s%s%s", node->domain, node->domain[0] != '\0' ? "." : "", node->op);
    rt_strings_add(names, name, strlen(name));
    free(name);
}

static int lower_present(struct walk *walk)
{
    struct rt_onnx_lowering *l = &walk->l;
    const struct rt_onnx_node *node = l->at.node;
    const struct rt_onnx_operator *row = row_of(node);
    size_t first = l->graph->node_count;
    if (is_constant(l) && (node->input_count > 0 || strcmp(node->op, "Constant") == 0)) {
        pass_constant(l);
        return RT_OK;
    }
    int status = check_known(l, node->inputs, node->input_count);
    if (status == RT_OK)
        status = check_known(l, node->outputs, node->output_count);
    if (status != RT_OK || !has_output(node) || is_empty(l))
        return status;
    mark_image(l, row);
    if (l->made[node->outputs[0]].inside)
        return RT_OK;
    l->name = rt_graph_text(l->graph, node->name, strlen(node->name));
    const struct rt_onnx_found *found = l->made[node->outputs[0]].found;
    if (found != NULL) {
        found->pattern->lower(l, found);
        set_parameters(l, new_parameters(l, NULL, found->weight, found->weight_count), first);
        return RT_OK;
    }
    if (row == NULL || !row->lower(l)) {
        add_name(&walk->by_bytes, node);
        rt_onnx_lower_move(l, RT_OP_COPY, rt_onnx_lower_traffic(l));
        if (rt_node_has_gradient(l->graph, l->result))
            rt_onnx_lower_save(l);
    }
    rt_onnx_lower_weights(l, first);
    set_parameters(l, new_parameters(l, row, node->inputs, node->input_count), first);
    return RT_OK;
}

/* Rows find at their first output what the node makes: those before it that are left out are passed over. */
static int lower_operator(struct walk *walk)
{
    const struct rt_onnx_node *whole = walk->l.at.node;
    struct rt_onnx_node node = *whole;
    while (node.output_count > 1 && node.outputs[0] == RT_ONNX_NO_VALUE) {
        node.outputs++;
        node.output_count--;
    }
    walk->l.at.node = &node;
    struct rt_graph *graph = walk->l.graph;
    size_t first = graph->node_count;
    int status = lower_present(walk);
    for (size_t n = first; n < graph->node_count; n++)
        graph->nodes[n].of = walk->l.name;
    walk->l.at.node = whole;
    return status;
}

/* --- bodies --- */

static int lower_graph(struct walk *walk, const struct rt_onnx_graph *graph);

static void pass(struct rt_onnx_lowering *l, uint32_t from, uint32_t to)
{
    if (from == RT_ONNX_NO_VALUE || to == RT_ONNX_NO_VALUE)
        return;
    l->made[to].node = l->made[from].node;
    l->made[to].image = l->made[from].image;
}

/* A weight that a Loop carries and its body hands on as it is: TensorFlow's bodies read weights so. */
static void pass_weight(struct rt_onnx_lowering *l, uint32_t from, uint32_t to)
{
    if (from == RT_ONNX_NO_VALUE || !l->made[from].weight)
        return;
    l->made[to].weight = l->made[to].constant = l->made[to].fixed = true;
    l->made[to].origin = l->made[from].origin;
}

/* Values go from the node's inputs to the body's, which begin `skip` later, and back from the body's outputs,
 * of which `ahead` come first that are not the node's. */
static int lower_body(struct walk *walk, const struct rt_onnx_graph *body, size_t skip, size_t ahead)
{
    struct rt_onnx_at at = walk->l.at;
    for (size_t i = skip; i < body->input_count && i < at.node->input_count; i++) {
        pass(&walk->l, at.node->inputs[i], body->inputs[i]);
        size_t carried = i - skip + ahead;
        if (ahead > 0 && carried < body->output_count && body->outputs[carried] == body->inputs[i])
            pass_weight(&walk->l, at.node->inputs[i], body->inputs[i]);
    }
    int status = lower_graph(walk, body);
    walk->l.at = at;
    for (size_t i = 0; i < at.node->output_count && i + ahead < body->output_count; i++)
        pass(&walk->l, body->outputs[i + ahead], at.node->outputs[i]);
    return status;
}

static int lower_control(struct walk *walk)
{
    const struct rt_onnx_at at = walk->l.at;
    bool branches = strcmp(at.node->op, "If") == 0;
    const struct rt_onnx_graph *body = branches ? rt_onnx_branch(&at) : rt_onnx_body(&at, "body");
    if (!branches || body == NULL)
        add_name(&walk->counted_once, at.node);
    if (body == NULL && branches)
        body = rt_onnx_body(&at, "then_branch");
    if (body == NULL)
        return RT_OK;
    bool loops = strcmp(at.node->op, "Loop") == 0;
    return lower_body(walk, body, branches ? SIZE_MAX : loops ? 2 : 0, loops ? 1 : 0);
}

static int lower_graph(struct walk *walk, const struct rt_onnx_graph *graph)
{
    int status = RT_OK;
    for (size_t n = 0; n < graph->node_count && status == RT_OK; n++) {
        walk->l.at.node = &graph->nodes[n];
        walk->l.result = first_computed(&walk->l);
        set_layout(walk);
        if (rt_onnx_has_body(walk->l.at.node)) {
            status = lower_control(walk);
            continue;
        }
        status = lower_operator(walk);
        set_made(&walk->l);
    }
    return status;
}

/* --- the graph --- */

static void warn_of(const struct rt_strings *names, const char *path, const char *what)
{
    char *list = NULL;
    for (size_t i = 0; i < names->count; i++) {
        char *longer = rt_format("%s%s%s", list != NULL ? list : "", list != NULL ? ", " : "",
                                 rt_strings_get(names, (int32_t)i));
        free(list);
        list = longer;
    }
    if (list != NULL)
        rt_warn("%s: %s: %s", path, what, list);
    free(list);
}

/* The sizes of a step: those asked for, else as far as the first input has them. */
static void set_sizes(const struct rt_onnx_model *model, struct rt_graph_options *options)
{
    options->batch = model->has_batch ? model->given->batch : 1;
    options->sequence = model->has_sequence ? model->given->sequence : 1;
    options->image = 0;
    if (model->graph->input_count == 0)
        return;
    const struct rt_onnx_shape *shape = &model->values[model->graph->inputs[0]].shape;
    if (!rt_onnx_shape_known(shape) || shape->rank < 1)
        return;
    if (!model->has_batch && shape->dim[0] > 0)
        options->batch = shape->dim[0];
    if (shape->rank == 4)
        options->image = shape->dim[2];
    else if (shape->rank > 1 && shape->dim[1] > 0 && !model->has_sequence)
        options->sequence = shape->dim[1];
}

/* A file that is of one size is forecast where that is what was asked for. */
static int check_sizes(const struct rt_onnx_model *model, bool layout, const struct rt_graph_options *step)
{
    const struct rt_onnx_given *given = model->given;
    if (layout && step->image == 0)
        return rt_fail(RT_EUSAGE, "%s: its first input is no image, so {layout} does not apply", model->path);
    if (given->batch != 0 && given->batch != step->batch)
        return rt_fail(RT_EUSAGE,
                       "%s: {batch} %" PRId64
                       " is for dims whose names begin with 'batch', and the first input has %" PRId64
                       " there; {dim} NAME=N sizes dims of other names",
                       model->path, given->batch, step->batch);
    if (given->sequence != 0 && given->sequence != step->sequence)
        return rt_fail(RT_EUSAGE,
                       "%s: {seq} %" PRId64
                       " is for dims whose names begin with 'seq', and the first input has %" PRId64
                       " there; {dim} NAME=N sizes dims of other names",
                       model->path, given->sequence, step->sequence);
    return RT_OK;
}

static void set_ends(const struct rt_onnx_lowering *l)
{
    const struct rt_onnx_graph *graph = l->at.model->graph;
    for (size_t i = 0; i < graph->input_count; i++)
        if (!l->made[graph->inputs[i]].weight)
            l->graph->input_bytes += rt_onnx_lower_bytes(l, graph->inputs[i]);
    for (size_t i = 0; i < graph->output_count; i++)
        l->graph->result_bytes += rt_onnx_lower_bytes(l, graph->outputs[i]);
    for (size_t n = 0; n < l->graph->node_count; n++)
        if (l->graph->nodes[n].kernel_count > 0)
            l->graph->classes = l->graph->nodes[n].outputs;
}

static int check_kernels(const struct rt_graph *graph, const char *path)
{
    for (size_t n = 0; n < graph->node_count; n++)
        for (uint32_t k = 0; k < graph->nodes[n].kernel_count; k++) {
            const struct rt_call *call = &graph->kernels[graph->nodes[n].kernel + k].call;
            int status = rt_op_check((enum rt_op_id)call->op, call->dim);
            if (status != RT_OK)
                return rt_fail_context(status, "%s: node '%s'", path, graph->nodes[n].name);
        }
    return RT_OK;
}

static int check_trained(const struct rt_graph *graph, const char *path)
{
    for (size_t k = 0; k < graph->kernel_count; k++)
        if (graph->kernels[k].call.phase == RT_ACCUMULATE)
            return RT_OK;
    return rt_fail(RT_EFORMAT, "%s: it has no weights that could be trained", path);
}

static bool has_op(const struct rt_graph *graph, enum rt_op_id op)
{
    for (size_t k = 0; k < graph->kernel_count; k++)
        if (graph->kernels[k].call.op == op)
            return true;
    return false;
}

/* Exports for inference leave out what only training runs. */
static void warn_of_training(const struct rt_graph *graph, const char *path)
{
    bool folded = has_op(graph, RT_OP_CONV2D) && !has_op(graph, RT_OP_BATCHNORM) &&
                  !has_op(graph, RT_OP_BATCHNORM_INFERENCE) && !has_op(graph, RT_OP_LAYERNORM);
    if (folded)
        rt_warn("%s has convolutions and no norm; where its exporter folded batch norm into them, training "
                "runs more than forecast: export it without folding (docs/guide/onnx.md)",
                path);
    if (!has_op(graph, RT_OP_DROPOUT) && has_op(graph, RT_OP_SOFTMAX) && has_op(graph, RT_OP_LAYERNORM))
        rt_warn("%s has no dropout, which exports for inference leave out; training with it runs more than "
                "forecast (docs/guide/onnx.md)",
                path);
}

static int lower(struct walk *walk, struct rt_graph *graph)
{
    struct rt_onnx_model *model = walk->l.at.model;
    walk->l.graph = graph;
    walk->channels_last = graph->options.channels_last;
    walk->l.made = rt_calloc(model->value_count + 1, sizeof(struct rt_onnx_made));
    find_weights(&walk->l);
    count_readers(&walk->l, model->graph);
    if (walk->l.patterns)
        rt_onnx_find_patterns(&walk->l, model->graph);
    rt_graph_add_block(graph, "all", RT_BLOCK_LAYER, 1);
    int status = lower_graph(walk, model->graph);
    graph->options.channels_last = walk->channels_last;
    if (graph->block_count > 1 && graph->blocks[graph->block_count - 1].node_count == 0)
        graph->block_count--; /* nothing stands behind the last recurrent layer */
    if (status == RT_OK)
        status = check_kernels(graph, model->path);
    if (status == RT_OK && graph->kernel_count == 0)
        status = rt_fail(RT_EFORMAT, "%s: nothing in it runs on a GPU: all values are constants or views",
                         model->path);
    if (status == RT_OK && rt_graph_trains(graph))
        status = check_trained(graph, model->path);
    set_ends(&walk->l);
    free(walk->l.made);
    return status;
}

/* As rt_graph_build does of named models: compiled code may store images channels last. */
static int lower_for_runtime(struct walk *walk, struct rt_graph_options *step, struct rt_graph *out)
{
    step->fusion |= rt_runtimes[step->runtime].fusion;
    rt_graph_init(out, step);
    int status = lower(walk, out);
    if (status == RT_OK && step->image > 0 && step->runtime == RT_RUNTIME_COMPILE &&
        rt_graph_prefers_channels_last(out)) {
        rt_graph_release(out);
        step->channels_last = true;
        rt_graph_init(out, step);
        status = lower(walk, out);
    }
    if (status != RT_OK) {
        rt_graph_release(out);
        return status;
    }
    rt_graph_mark_scalar_loads(out);
    rt_build_optimizer(out);
    if (step->fusion)
        rt_graph_fuse(out);
    return RT_OK;
}

/* What is of models whose layers are known. */
static int check_options(const char *path, const struct rt_graph_options *options)
{
    if (options->step == RT_STEP_DECODE)
        return rt_fail(RT_EUSAGE,
                       "%s: {mode} decode is for models by name or config.json; a file that decodes is "
                       "{mode} inference",
                       path);
    if (options->autocast && options->dtype != RT_FP16 && options->dtype != RT_BF16)
        return rt_fail(RT_EUSAGE, "autocast is to fp16 or bf16, not to %s", rt_dtypes[options->dtype].name);
    if (options->recompute != RT_RECOMPUTE_NONE)
        return rt_fail(RT_EUSAGE,
                       "%s: the layers of an ONNX model are not known, so {recompute} does not apply", path);
    if (options->tensor_parallel > 1)
        return rt_fail(RT_EUSAGE,
                       "%s: the layers of an ONNX model are not cut, so {tp} does not apply; share the batch "
                       "out with {dp}",
                       path);
    return RT_OK;
}

static void warn(const struct walk *walk, const struct rt_graph *graph, const char *path)
{
    warn_of(&walk->by_bytes, path, "forecast by the bytes that they read and write");
    warn_of(&walk->counted_once, path, "bodies that may run several times or not are counted once");
    if (rt_graph_trains(graph))
        warn_of_training(graph, path);
}

int rt_graph_import_onnx(const char *path, const struct rt_onnx_given *given,
                         const struct rt_graph_options *options, struct rt_graph *out)
{
    struct rt_onnx_model model;
    struct rt_graph_options step = *options;
    int status = check_options(path, options);
    if (status == RT_OK)
        status = rt_onnx_read(path, given, &model);
    if (status != RT_OK)
        return status;
    set_sizes(&model, &step);
    struct walk walk = {.l = {.at = {.model = &model}, .patterns = !given->no_patterns}};
    status = lower_for_runtime(&walk, &step, out);
    if (status == RT_OK && (status = check_sizes(&model, options->channels_last, &step)) != RT_OK)
        rt_graph_release(out);
    if (status == RT_OK && !given->quiet)
        warn(&walk, out, model.path);
    rt_strings_release(&walk.by_bytes);
    rt_strings_release(&walk.counted_once);
    rt_onnx_release(&model);
    return status;
}
