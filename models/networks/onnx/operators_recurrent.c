/*
 * LSTM, GRU and RNN: shapes, and nodes as cuDNN runs them for torch.nn.LSTM: one product of all tokens with
 * the weights of the input, then, token by token, one with the recurrent weights and a kernel of the gates.
 * Steps are a block that repeats, the two directions one after the other. Where there are several layers or
 * directions cuDNN runs them in streams of their own, so that gates of one are beside a product of another
 * (Appleyard et al. 2016, arXiv 1604.01946, section 3.3). See operator.h.
 */
#include "models/networks/onnx/lowering.h"
#include "models/networks/onnx/operator.h"

#include <string.h>

/* x: tokens, batch, size; weights: directions, gates * hidden, size. y: tokens, directions, batch, hidden;
 * the last states: directions, batch, hidden. With `layout` 1 the batch goes first. */
static int recurrent_shape(const struct rt_onnx_at *at)
{
    const struct rt_onnx_shape *in = &rt_onnx_in(at, 0)->shape, *again = &rt_onnx_in(at, 2)->shape;
    enum rt_onnx_dtype dtype = rt_onnx_in(at, 0)->dtype;
    bool first = rt_onnx_int(at, "layout", 0) != 0;
    int64_t directions = strcmp(rt_onnx_word(at, "direction", "forward"), "bidirectional") == 0 ? 2 : 1;
    int64_t hidden = rt_onnx_int(at, "hidden_size", again->rank == 3 ? again->dim[2] : RT_ONNX_UNKNOWN);
    int64_t tokens = in->rank == 3 ? in->dim[first ? 1 : 0] : RT_ONNX_UNKNOWN;
    int64_t batch = in->rank == 3 ? in->dim[first ? 0 : 1] : RT_ONNX_UNKNOWN;
    struct rt_onnx_shape all = {.rank = 4, .dim = {tokens, directions, batch, hidden}};
    struct rt_onnx_shape state = {.rank = 3, .dim = {directions, batch, hidden}};
    if (first) {
        all = (struct rt_onnx_shape){.rank = 4, .dim = {batch, tokens, directions, hidden}};
        state = (struct rt_onnx_shape){.rank = 3, .dim = {batch, directions, hidden}};
    }
    rt_onnx_set(rt_onnx_out(at, 0), dtype, &all);
    for (size_t i = 1; i < 3; i++)
        rt_onnx_set(rt_onnx_out(at, i), dtype, &state);
    return rt_onnx_want_rank(at, 0, 3, 3);
}

struct layer {
    int64_t tokens, batch, in, hidden, gates; /* gates * hidden, of one direction */
    int64_t directions;
};

static bool take_layer(const struct rt_onnx_lowering *l, struct layer *layer)
{
    const struct rt_onnx_shape *x = rt_onnx_lower_shape(l, 0), *w = rt_onnx_lower_shape(l, 1),
                               *again = rt_onnx_lower_shape(l, 2);
    bool first = rt_onnx_int(&l->at, "layout", 0) != 0;
    if (x->rank != 3 || w->rank != 3 || again->rank != 3)
        return false;
    *layer = (struct layer){.tokens = x->dim[first ? 1 : 0],
                            .batch = x->dim[first ? 0 : 1],
                            .in = w->dim[2],
                            .hidden = again->dim[2],
                            .gates = w->dim[1],
                            .directions = w->dim[0]};
    return layer->tokens > 0 && layer->directions > 0;
}

static bool is_recurrent(const char *op)
{
    return strcmp(op, "LSTM") == 0 || strcmp(op, "GRU") == 0 || strcmp(op, "RNN") == 0;
}

static bool has_several(const struct rt_onnx_lowering *l, const struct layer *layer)
{
    const struct rt_onnx_graph *graph = l->at.model->graph;
    int64_t layers = layer->directions;
    for (size_t n = 0; n < graph->node_count; n++)
        layers += is_recurrent(graph->nodes[n].op) && graph->nodes[n].outputs != l->at.node->outputs;
    return layers > 1;
}

/* Both sums of the gates are read, the state of an LSTM's cell or of a GRU too, new states written. */
static void add_gates(struct rt_onnx_lowering *l, const struct layer *layer, uint32_t sums)
{
    int states = strcmp(l->at.node->op, "LSTM") == 0 ? 3 : strcmp(l->at.node->op, "GRU") == 0 ? 2 : 1;
    double width = rt_dtypes[l->graph->options.dtype].bytes;
    l->result = rt_build_unary(l->graph, rt_image_name(l->graph, l->name, "gates"), RT_OP_TANH, sums,
                               layer->batch, layer->gates);
    struct rt_graph_kernel *kernel = &l->graph->kernels[l->graph->nodes[l->result].kernel];
    kernel->overlaps = has_several(l, layer);
    kernel->bytes =
        width * (double)layer->batch * (2.0 * (double)layer->gates + (double)states * (double)layer->hidden);
    l->graph->nodes[l->result].outputs = (double)layer->batch * (double)layer->hidden;
    l->graph->nodes[l->result].nested = true;
}

/* What follows the steps is a block again. */
static bool lower_recurrent(struct rt_onnx_lowering *l)
{
    struct layer layer;
    if (!take_layer(l, &layer))
        return false;
    uint32_t sums = RT_NO_INPUT;
    for (int64_t d = 0; d < layer.directions && d < 2; d++)
        sums = rt_build_linear(l->graph, rt_image_name(l->graph, l->name, d == 0 ? "input" : "input_reverse"),
                               rt_onnx_lower_node(l, 0), rt_onnx_times(layer.tokens, layer.batch), layer.in,
                               layer.gates, rt_onnx_lower_in(l, 3) != RT_ONNX_NO_VALUE);
    rt_graph_add_block(l->graph, rt_image_name(l->graph, l->name, "steps"), RT_BLOCK_LAYER,
                       layer.tokens * layer.directions);
    sums = rt_build_linear(l->graph, rt_image_name(l->graph, l->name, "recurrent"), sums, layer.batch,
                           layer.hidden, layer.gates, false);
    l->graph->nodes[sums].parameters = 0; /* set_parameters counts the node's, once */
    l->graph->nodes[sums].nested = true;  /* one call of PyTorch's, whose library launches the steps */
    add_gates(l, &layer, sums);
    rt_graph_add_block(l->graph, rt_image_name(l->graph, l->name, "behind"), RT_BLOCK_LAYER, 1);
    return true;
}

/* Lengths and first states are no parameters. */
#define FIRST_STATES (1 << 4 | 1 << 5 | 1 << 6)

const struct rt_onnx_operator rt_onnx_recurrent_rows[] = {
    {"RNN", 3, .shapes = recurrent_shape, .lower = lower_recurrent, .op = RT_OP_LINEAR,
     .weights = 1 << 1 | 1 << 2 | 1 << 3, .statistics = FIRST_STATES},
    {"GRU", 3, .shapes = recurrent_shape, .lower = lower_recurrent, .op = RT_OP_LINEAR,
     .weights = 1 << 1 | 1 << 2 | 1 << 3, .statistics = FIRST_STATES},
    {"LSTM", 3, .shapes = recurrent_shape, .lower = lower_recurrent, .op = RT_OP_LINEAR,
     .weights = 1 << 1 | 1 << 2 | 1 << 3, .statistics = FIRST_STATES},
    {.name = NULL},
};
