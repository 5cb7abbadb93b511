/* The operators that graphs are built of. See build.h. */
#include "models/graph/build.h"

#include <math.h>

/* A node with up to two inputs. */
static uint32_t add_node(struct rt_graph *graph, const char *name, uint32_t a, uint32_t b, double outputs)
{
    uint32_t node = rt_graph_add_node(graph, name);
    if (a != RT_NO_INPUT)
        rt_graph_add_input(graph, a);
    if (b != RT_NO_INPUT)
        rt_graph_add_input(graph, b);
    graph->nodes[node].outputs = outputs;
    return node;
}

/* The backward pass reads the output of this node: kept once, besides a mask that the node keeps anyway. */
static void keep(struct rt_graph *graph, uint32_t node)
{
    if (node != RT_NO_INPUT && graph->nodes[node].saved < graph->nodes[node].outputs)
        graph->nodes[node].saved += graph->nodes[node].outputs;
}

static struct rt_kernel *rows_kernel(struct rt_graph *graph, enum rt_phase phase, enum rt_op_id op,
                                     int64_t rows, int64_t cols)
{
    return rt_graph_add_kernel(graph, phase, op, (const int64_t[]){rows, cols});
}

static void product_kernel(struct rt_graph *graph, enum rt_phase phase, enum rt_op_id op, int64_t batch,
                           int64_t m, int64_t k, int64_t n)
{
    rt_graph_add_kernel(graph, phase, op, (const int64_t[]){batch, m, n, k});
}

/* gradient += new gradient, of one weight */
static void accumulate(struct rt_graph *graph, int64_t parameters)
{
    rows_kernel(graph, RT_ACCUMULATE, RT_OP_ADD, 1, parameters);
}

int64_t rt_build_shard(int64_t elements, int64_t parts)
{
    return (elements + parts - 1) / parts;
}

uint32_t rt_build_linear(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t in,
                         int64_t out, bool bias)
{
    uint32_t node = add_node(graph, name, x, RT_NO_INPUT, (double)rows * out);
    graph->nodes[node].parameters = (double)in * out + (bias ? out : 0);
    product_kernel(graph, RT_FORWARD, RT_OP_LINEAR, 1, rows, in, out);
    if (!rt_build_training(graph))
        return node;
    keep(graph, x);
    product_kernel(graph, RT_BACKWARD, RT_OP_LINEAR, 1, rows, out, in); /* dx = dy W^T */
    product_kernel(graph, RT_BACKWARD, RT_OP_LINEAR, 1, out, rows, in); /* dW^T = dy^T x */
    accumulate(graph, in * out);
    if (bias)
        accumulate(graph, out);
    return node;
}

uint32_t rt_build_bmm(struct rt_graph *graph, const char *name, uint32_t a, uint32_t b, int64_t batch,
                      int64_t m, int64_t k, int64_t n)
{
    uint32_t node = add_node(graph, name, a, b, (double)batch * m * n);
    product_kernel(graph, RT_FORWARD, RT_OP_BMM, batch, m, k, n);
    if (!rt_build_training(graph))
        return node;
    keep(graph, a);
    keep(graph, b);
    product_kernel(graph, RT_BACKWARD, RT_OP_BMM, batch, m, n, k); /* da = dc b^T */
    product_kernel(graph, RT_BACKWARD, RT_OP_BMM, batch, k, m, n); /* db = a^T dc */
    return node;
}

/* The kernels that the gradient of an elementwise op runs for each of its operands. */
static void elementwise_backward(struct rt_graph *graph, enum rt_op_id op, int64_t rows, int64_t cols,
                                 int operands)
{
    switch (op) {
    case RT_OP_ADD:
    case RT_OP_ADD_SCALAR:
        for (int i = 0; i < operands; i++)
            rows_kernel(graph, RT_BACKWARD, RT_OP_FILL, rows, cols);
        break;
    case RT_OP_POW:
    case RT_OP_POW_SCALAR:
        rows_kernel(graph, RT_BACKWARD, op, rows, cols);
        rows_kernel(graph, RT_BACKWARD, RT_OP_MUL, rows, cols);
        rows_kernel(graph, RT_BACKWARD, RT_OP_MUL_SCALAR, rows, cols);
        break;
    case RT_OP_TANH:
        rows_kernel(graph, RT_BACKWARD, RT_OP_MUL_SCALAR, rows, cols);
        rows_kernel(graph, RT_BACKWARD, RT_OP_ADD_SCALAR, rows, cols);
        break;
    default:
        for (int i = 0; i < operands; i++)
            rows_kernel(graph, RT_BACKWARD, op, rows, cols);
    }
}

/* Does the gradient of an op with a scalar need what it read? */
static bool reads_input(enum rt_op_id op)
{
    return op != RT_OP_ADD_SCALAR && op != RT_OP_MUL_SCALAR && op != RT_OP_DIV_SCALAR;
}

uint32_t rt_build_unary(struct rt_graph *graph, const char *name, enum rt_op_id op, uint32_t x, int64_t rows,
                        int64_t cols)
{
    uint32_t node = add_node(graph, name, x, RT_NO_INPUT, (double)rows * cols);
    graph->nodes[node].fusable = true;
    rows_kernel(graph, RT_FORWARD, op, rows, cols);
    if (rt_build_training(graph)) {
        if (reads_input(op))
            keep(graph, x);
        elementwise_backward(graph, op, rows, cols, 1);
    }
    return node;
}

uint32_t rt_build_binary(struct rt_graph *graph, const char *name, enum rt_op_id op, uint32_t x, uint32_t z,
                         int64_t rows, int64_t cols, int64_t other)
{
    uint32_t node = add_node(graph, name, x, z, (double)rows * cols);
    graph->nodes[node].fusable = true;
    double width = rt_dtypes[graph->options.dtype].bytes;
    rows_kernel(graph, RT_FORWARD, op, rows, cols)->bytes = width * (2.0 * rows * cols + other);
    if (rt_build_training(graph)) {
        bool constant = z == RT_NO_INPUT && other == 1; /* has no gradient, so x is not read again */
        if (op != RT_OP_ADD && !constant) {
            keep(graph, x);
            keep(graph, z);
        }
        elementwise_backward(graph, op, rows, cols, 2);
    }
    return node;
}

uint32_t rt_build_softmax(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols)
{
    uint32_t node = add_node(graph, name, x, RT_NO_INPUT, (double)rows * cols);
    graph->nodes[node].fusable = true;
    rows_kernel(graph, RT_FORWARD, RT_OP_SOFTMAX, rows, cols);
    if (rt_build_training(graph)) {
        keep(graph, node);
        rows_kernel(graph, RT_BACKWARD, RT_OP_MUL, rows, cols);
        rows_kernel(graph, RT_BACKWARD, RT_OP_SOFTMAX, rows, cols);
    }
    return node;
}

uint32_t rt_build_layernorm(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols)
{
    uint32_t node = add_node(graph, name, x, RT_NO_INPUT, (double)rows * cols);
    graph->nodes[node].fusable = true;
    graph->nodes[node].parameters = 2.0 * cols;
    rows_kernel(graph, RT_FORWARD, RT_OP_LAYERNORM, rows, cols);
    if (rt_build_training(graph)) {
        keep(graph, x);
        rows_kernel(graph, RT_BACKWARD, RT_OP_MUL, rows, cols);
        accumulate(graph, cols);
        accumulate(graph, cols);
    }
    return node;
}

/* Mean of x^2 over a row and its inverse root are one number a row: (rows, 1). */
uint32_t rt_build_rmsnorm(struct rt_graph *graph, uint32_t x, int64_t rows, int64_t cols)
{
    uint32_t squares = rt_build_unary(graph, "norm.pow", RT_OP_POW_SCALAR, x, rows, cols);
    uint32_t mean = rt_build_move(graph, "norm.mean", RT_OP_REDUCE, squares, rows, cols, 0);
    graph->nodes[mean].outputs = (double)rows;
    graph->nodes[mean].fusable = true; /* row-wise, as layer norm is */
    uint32_t shifted = rt_build_unary(graph, "norm.add_eps", RT_OP_ADD_SCALAR, mean, rows, 1);
    uint32_t root = rt_build_unary(graph, "norm.rsqrt", RT_OP_RSQRT, shifted, rows, 1);
    uint32_t scaled = rt_build_binary(graph, "norm.scale", RT_OP_MUL, x, root, rows, cols, rows);
    uint32_t node = rt_build_binary(graph, "norm.weight", RT_OP_MUL, scaled, RT_NO_INPUT, rows, cols, cols);
    graph->nodes[node].parameters = (double)cols;
    if (rt_build_training(graph))
        accumulate(graph, cols);
    return node;
}

/* 0.5 x (1 + tanh(sqrt(2/pi) (x + 0.044715 x^3))): Hugging Face's NewGELUActivation, op by op. */
static uint32_t gelu_tanh(struct rt_graph *graph, uint32_t x, int64_t rows, int64_t cols)
{
    int64_t all = rows * cols;
    uint32_t half = rt_build_unary(graph, "gelu.half", RT_OP_MUL_SCALAR, x, rows, cols);
    uint32_t cube = rt_build_unary(graph, "gelu.cube", RT_OP_POW_SCALAR, x, rows, cols);
    cube = rt_build_unary(graph, "gelu.cube_scale", RT_OP_MUL_SCALAR, cube, rows, cols);
    uint32_t sum = rt_build_binary(graph, "gelu.sum", RT_OP_ADD, x, cube, rows, cols, all);
    sum = rt_build_unary(graph, "gelu.sum_scale", RT_OP_MUL_SCALAR, sum, rows, cols);
    uint32_t curve = rt_build_unary(graph, "gelu.tanh", RT_OP_TANH, sum, rows, cols);
    curve = rt_build_unary(graph, "gelu.tanh_add", RT_OP_ADD_SCALAR, curve, rows, cols);
    return rt_build_binary(graph, "gelu.product", RT_OP_MUL, half, curve, rows, cols, all);
}

uint32_t rt_build_activation(struct rt_graph *graph, enum rt_activation_kind kind, uint32_t x, int64_t rows,
                             int64_t cols)
{
    switch (kind) {
    case RT_ACT_GELU_TANH:
        return gelu_tanh(graph, x, rows, cols);
    case RT_ACT_RELU:
        return rt_build_unary(graph, "mlp.relu", RT_OP_RELU, x, rows, cols);
    case RT_ACT_SILU:
        return rt_build_unary(graph, "mlp.silu", RT_OP_SILU, x, rows, cols);
    default:
        return rt_build_unary(graph, "mlp.gelu", RT_OP_GELU, x, rows, cols);
    }
}

uint32_t rt_build_embedding(struct rt_graph *graph, const char *name, int64_t rows, int64_t vocab,
                            int64_t cols)
{
    uint32_t node = add_node(graph, name, RT_NO_INPUT, RT_NO_INPUT, (double)rows * cols);
    graph->nodes[node].fusable = true;
    graph->nodes[node].parameters = (double)vocab * cols;
    rows_kernel(graph, RT_FORWARD, RT_OP_EMBEDDING, rows, cols);
    if (rt_build_training(graph)) {
        rows_kernel(graph, RT_BACKWARD, RT_OP_FILL, vocab, cols); /* a dense gradient: zeros, */
        rows_kernel(graph, RT_BACKWARD, RT_OP_INDEX, rows, cols); /* then the rows that were read */
        accumulate(graph, vocab * cols);
    }
    return node;
}

uint32_t rt_build_dropout(struct rt_graph *graph, const char *name, uint32_t x, int64_t rows, int64_t cols)
{
    if (!rt_build_training(graph))
        return x;
    uint32_t node = add_node(graph, name, x, RT_NO_INPUT, (double)rows * cols);
    graph->nodes[node].fusable = true;
    graph->nodes[node].saved = (double)rows * cols / rt_dtypes[graph->options.dtype].bytes; /* a byte each */
    rows_kernel(graph, RT_FORWARD, RT_OP_DROPOUT, rows, cols);
    rows_kernel(graph, RT_BACKWARD, RT_OP_DROPOUT, rows, cols);
    return node;
}

uint32_t rt_build_move(struct rt_graph *graph, const char *name, enum rt_op_id op, uint32_t x, int64_t rows,
                       int64_t cols, double bytes)
{
    uint32_t node = add_node(graph, name, x, RT_NO_INPUT, (double)rows * cols);
    graph->nodes[node].fusable = op == RT_OP_WHERE;
    for (int phase = RT_FORWARD; phase <= (rt_build_training(graph) ? RT_BACKWARD : RT_FORWARD); phase++) {
        struct rt_kernel *kernel = rows_kernel(graph, phase, op, rows, cols);
        if (bytes > 0)
            kernel->bytes = bytes;
    }
    return node;
}

uint32_t rt_build_constant(struct rt_graph *graph, const char *name, enum rt_op_id op, uint32_t x,
                           int64_t rows, int64_t cols)
{
    uint32_t node = add_node(graph, name, x, RT_NO_INPUT, (double)rows * cols);
    graph->nodes[node].fusable = op == RT_OP_WHERE;
    rows_kernel(graph, RT_FORWARD, op, rows, cols);
    return node;
}

uint32_t rt_build_all_reduce(struct rt_graph *graph, const char *name, uint32_t x, int64_t elements,
                             bool forward, bool backward)
{
    int64_t gpus = graph->options.tensor_parallel;
    backward = backward && rt_build_training(graph);
    if (gpus == 1 || (!forward && !backward))
        return x;
    uint32_t node = add_node(graph, name, x, RT_NO_INPUT, (double)elements);
    if (forward)
        rt_graph_add_kernel(graph, RT_FORWARD, RT_OP_ALL_REDUCE, (const int64_t[]){gpus, elements});
    if (backward)
        rt_graph_add_kernel(graph, RT_BACKWARD, RT_OP_ALL_REDUCE, (const int64_t[]){gpus, elements});
    return node;
}

void rt_build_optimizer(struct rt_graph *graph)
{
    if (!rt_build_training(graph) || graph->options.optimizer == RT_OPTIMIZER_NONE)
        return;
    struct rt_graph_totals totals;
    rt_graph_totals(graph, &totals);
    int64_t parameters = (int64_t)totals.parameters;
    rt_graph_add_block(graph, "optimizer", RT_BLOCK_LAST, 1);
    rt_graph_add_node(graph, "optimizer.step");
    struct rt_kernel *kernel =
        rt_graph_add_kernel(graph, RT_ACCUMULATE, RT_OP_OPTIMIZER, (const int64_t[]){parameters});
    if (graph->options.optimizer == RT_OPTIMIZER_SGD) { /* w -= rate g: reads both, writes one */
        kernel->flops = 2.0 * (double)parameters;
        kernel->bytes = 3 * rt_dtypes[graph->options.dtype].bytes * (double)parameters;
    }
}
