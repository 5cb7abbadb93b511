/* Elementwise operators, norms of rows and reductions to nodes. See lower.h. */
#include "base/status.h"
#include "models/networks/build_node.h"
#include "models/networks/onnx/lower.h"

#include <string.h>

/* --- elementwise --- */

/* Elementwise kernels write in the order that they read (TensorIterator). */
static void keep_view(struct rt_onnx_lowering *l, size_t input)
{
    if (rt_onnx_lower_shape(l, input)->rank != 4)
        return;
    l->made[l->at.node->outputs[0]].view = l->made[rt_onnx_lower_in(l, input)].view;
    l->made[l->at.node->outputs[0]].ordered = true;
}

/* Those of rt_image_activation, which keeps what their gradients read. */
static bool is_activation(enum rt_op_id op)
{
    return op == RT_OP_RELU || op == RT_OP_RELU6 || op == RT_OP_HARDSWISH || op == RT_OP_HARDSIGMOID ||
           op == RT_OP_SIGMOID || op == RT_OP_SILU || op == RT_OP_GELU || op == RT_OP_TANH;
}

static bool unary(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    int64_t rows, cols;
    keep_view(l, 0);
    if (l->made[rt_onnx_lower_in(l, 0)].image && is_activation(row->op)) {
        struct rt_image x = rt_onnx_lower_image_of(l, 0);
        l->result = rt_image_activation(l->graph, l->name, row->op, x, false).node;
        return true;
    }
    rt_onnx_lower_matrix(l, l->at.node->outputs[0], &rows, &cols);
    l->result = rt_build_unary(l->graph, l->name, row->op, rt_onnx_lower_node(l, 0), rows, cols);
    return true;
}

/* Limits of attributes before opset 11. */
static bool limits(const struct rt_onnx_lowering *l, double *low, double *high)
{
    if (rt_onnx_has(&l->at, "max")) {
        *low = rt_onnx_real(&l->at, "min", -1);
        *high = rt_onnx_real(&l->at, "max", -1);
        return true;
    }
    return rt_onnx_lower_scalar(l, 1, low) && rt_onnx_lower_scalar(l, 2, high);
}

static bool clip(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    struct rt_onnx_lower_row as = *row;
    double low, high;
    if (limits(l, &low, &high) && low == 0 && high == 6)
        as.op = RT_OP_RELU6;
    return unary(l, &as);
}

/* The op of a tensor and one number. */
static enum rt_op_id by_scalar(enum rt_op_id op)
{
    switch (op) {
    case RT_OP_ADD:
        return RT_OP_ADD_SCALAR;
    case RT_OP_DIV:
        return RT_OP_DIV_SCALAR;
    case RT_OP_POW:
        return RT_OP_POW_SCALAR;
    case RT_OP_CLAMP:
        return RT_OP_CLAMP;
    default:
        return RT_OP_MUL_SCALAR;
    }
}

/* A weight of as many elements as a row of a product before it, read by nothing else: its bias, which the
 * product's kernel adds (cuBLAS, addmm in PyTorch). */
static bool is_bias(const struct rt_onnx_lowering *l, size_t x, size_t z, int64_t cols)
{
    uint32_t product = rt_onnx_lower_in(l, x);
    return l->patterns && strcmp(l->at.node->op, "Add") == 0 && rt_onnx_lower_is_constant(l, z) &&
           rt_onnx_count(rt_onnx_lower_shape(l, z)) == cols && cols > 1 && l->made[product].product &&
           l->made[product].readers == 1;
}

/* Operands `x`, with all elements if one has, and `z`, which is broadcast. */
static void binary_of(struct rt_onnx_lowering *l, enum rt_op_id op, size_t x, size_t z)
{
    int64_t rows, cols, other = rt_onnx_count(rt_onnx_lower_shape(l, z));
    rt_onnx_lower_matrix(l, l->at.node->outputs[0], &rows, &cols);
    if (is_bias(l, x, z, cols)) {
        l->result = rt_onnx_lower_node(l, x);
        return;
    }
    if (other == 1 && rt_onnx_lower_is_constant(l, z)) {
        l->result = rt_build_unary(l->graph, l->name, by_scalar(op), rt_onnx_lower_node(l, x), rows, cols);
        return;
    }
    op = op == RT_OP_CLAMP ? RT_OP_MUL : op;
    l->result = rt_build_binary(l->graph, l->name, op, rt_onnx_lower_node(l, x), rt_onnx_lower_node(l, z),
                                rows, cols, other);
    /* What meets only inputs is none of a layer's: means of pixels, frequencies of positions. */
    if (rt_onnx_lower_trains(l, z) && rt_node_has_gradient(l->graph, rt_onnx_lower_node(l, x)))
        rt_node_weight_gradient(l->graph, op, rt_onnx_lower_node(l, x), rows, cols,
                                rt_onnx_lower_weight(l, z));
}

/* Of two and more inputs, one after the other. */
static bool binary(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    if (l->at.node->input_count == 1)
        return true;
    int64_t all[2] = {rt_onnx_count(rt_onnx_lower_shape(l, 0)), rt_onnx_count(rt_onnx_lower_shape(l, 1))};
    bool turned = all[0] < all[1] || (all[0] == all[1] && rt_onnx_lower_is_constant(l, 0));
    keep_view(l, turned ? 1 : 0);
    binary_of(l, row->op, turned ? 1 : 0, turned ? 0 : 1);
    for (size_t i = 2; i < l->at.node->input_count; i++) {
        int64_t rows, cols;
        rt_onnx_lower_matrix(l, l->at.node->outputs[0], &rows, &cols);
        l->result = rt_build_binary(l->graph, l->name, row->op, l->result, rt_onnx_lower_node(l, i), rows,
                                    cols, rt_onnx_count(rt_onnx_lower_shape(l, i)));
    }
    return true;
}

/* Comparisons, operators of bits and of quantised numbers: their bytes are those of the dtypes. */
static bool compare(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    rt_onnx_lower_move(l, row->op, rt_onnx_lower_traffic(l));
    return true;
}

/* --- rows --- */

/* Before opset 13 all dims from the axis on are the columns. */
static bool softmax(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    (void)row;
    const struct rt_onnx_shape *shape = rt_onnx_lower_shape(l, 0);
    bool flat = l->at.node->opset < 13;
    int axis;
    if (rt_onnx_axis(rt_onnx_int(&l->at, "axis", flat ? 1 : -1), shape->rank, &axis) != RT_OK)
        return false;
    int64_t cols = flat ? rt_onnx_dims_product(shape, axis, shape->rank) : shape->dim[axis];
    l->result =
        rt_build_softmax(l->graph, l->name, rt_onnx_lower_node(l, 0), rt_onnx_count(shape) / cols, cols);
    return true;
}

/* Dims from the axis on are the columns. */
static bool norm(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    const struct rt_onnx_shape *shape = rt_onnx_lower_shape(l, 0);
    int axis;
    if (rt_onnx_axis(rt_onnx_int(&l->at, "axis", -1), shape->rank, &axis) != RT_OK)
        return false;
    int64_t cols = rt_onnx_dims_product(shape, axis, shape->rank), rows = rt_onnx_count(shape) / cols;
    if (row->op == RT_OP_LAYERNORM) {
        l->result = rt_build_layernorm(l->graph, l->name, rt_onnx_lower_node(l, 0), rows, cols);
        return true;
    }
    l->result = rt_onnx_lower_add(l, (double)(rows * cols));
    rt_node_add_kernel(l->graph, RT_FORWARD, row->op, rows, cols);
    rt_onnx_lower_normed(l, rows, cols);
    return true;
}

/* The residual is added first, in the kernel of RMS norm or in one of its own. */
static bool skip_norm(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    int64_t rows, cols;
    rt_onnx_lower_matrix(l, rt_onnx_lower_in(l, 0), &rows, &cols);
    uint32_t x = rt_onnx_lower_node(l, 0), skip = rt_onnx_lower_node(l, 1);
    if (row->op == RT_OP_RESIDUAL_RMSNORM) {
        l->result = rt_onnx_lower_add(l, (double)(rows * cols));
        rt_node_add_kernel(l->graph, RT_FORWARD, row->op, rows, cols);
        rt_onnx_lower_normed(l, rows, cols);
        return true;
    }
    x = rt_build_binary(l->graph, rt_image_name(l->graph, l->name, "add"), RT_OP_ADD, x, skip, rows, cols,
                        rows * cols);
    l->result = rt_build_layernorm(l->graph, l->name, x, rows, cols);
    return true;
}

/* (batch, classes, ...): PyTorch's cross entropy is log softmax, then the labels' mean. */
static bool loss(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    const struct rt_onnx_shape *scores = rt_onnx_lower_shape(l, 0);
    uint32_t x = rt_onnx_lower_node(l, 0);
    if (scores->rank < 2 || rt_onnx_count(scores) < 1)
        return false;
    int64_t cols = scores->dim[1], rows = rt_onnx_count(scores) / cols;
    if (row->op == RT_OP_SOFTMAX)
        x = rt_build_softmax(l->graph, rt_image_name(l->graph, l->name, "softmax"), x, rows, cols);
    l->result = rt_build_move(l->graph, l->name, RT_OP_REDUCE, x, 1, rows, 0);
    return true;
}

static bool reduce(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    int64_t in = rt_onnx_count(rt_onnx_lower_shape(l, 0)), rows = rt_onnx_count(rt_onnx_lower_out_shape(l));
    const struct rt_onnx_made *made = &l->made[rt_onnx_lower_in(l, 0)];
    struct rt_image x = rt_onnx_lower_image_of(l, 0);
    bool mean = strcmp(l->at.node->op, "ReduceMean") == 0;
    if (mean && made->image && rt_onnx_lower_shape(l, 0)->rank == 4 && rows == x.batch * x.channels) {
        l->result = rt_image_adaptive_avg_pool(l->graph, l->name, x, 1, 1).node;
        return true;
    }
    if (mean) {
        l->result = rt_build_mean(l->graph, l->name, rt_onnx_lower_node(l, 0), rows, in / rows);
        return true;
    }
    l->result = rt_onnx_lower_add(l, (double)rows);
    l->graph->nodes[l->result].fusable = true;
    rt_node_add_kernel(l->graph, RT_FORWARD, row->op, rows, in / rows);
    rt_onnx_lower_reduced(l, rows, in / rows);
    return true;
}

#define UNARY(name, op)                                                                                      \
    {                                                                                                        \
        name, unary, op, 0, 0                                                                                \
    }
#define BINARY(name, op)                                                                                     \
    {                                                                                                        \
        name, binary, op, 1 << 0 | 1 << 1, 0                                                                 \
    }
#define BYTES(name, op)                                                                                      \
    {                                                                                                        \
        name, compare, op, 0, 0                                                                              \
    }
#define COMPARE(name)                                                                                        \
    {                                                                                                        \
        name, compare, RT_OP_ADD, 0, 0                                                                       \
    }
#define REDUCE(name)                                                                                         \
    {                                                                                                        \
        name, reduce, RT_OP_REDUCE, 0, 0                                                                     \
    }

/* Operators of one kernel that no op stands for alone are that of as many FLOPs and bytes. */
const struct rt_onnx_lower_row rt_onnx_lower_math[] = {
    UNARY("Abs", RT_OP_MUL_SCALAR),
    UNARY("Acos", RT_OP_TANH),
    UNARY("Acosh", RT_OP_TANH),
    UNARY("Asin", RT_OP_TANH),
    UNARY("Asinh", RT_OP_TANH),
    UNARY("Atan", RT_OP_TANH),
    UNARY("Atanh", RT_OP_TANH),
    UNARY("BiasGelu", RT_OP_GELU),
    UNARY("Ceil", RT_OP_MUL_SCALAR),
    UNARY("Celu", RT_OP_RELU),
    {"Clip", clip, RT_OP_CLAMP, 0, 0},
    UNARY("Cos", RT_OP_TANH),
    UNARY("Cosh", RT_OP_TANH),
    UNARY("Elu", RT_OP_RELU),
    UNARY("Erf", RT_OP_TANH),
    UNARY("Exp", RT_OP_TANH),
    UNARY("FastGelu", RT_OP_GELU),
    UNARY("Floor", RT_OP_MUL_SCALAR),
    UNARY("Gelu", RT_OP_GELU),
    UNARY("HardSigmoid", RT_OP_HARDSIGMOID),
    UNARY("HardSwish", RT_OP_HARDSWISH),
    UNARY("LeakyRelu", RT_OP_RELU),
    UNARY("Log", RT_OP_TANH),
    UNARY("Mish", RT_OP_SILU),
    UNARY("Neg", RT_OP_MUL_SCALAR),
    UNARY("PRelu", RT_OP_RELU),
    UNARY("QuickGelu", RT_OP_SILU),
    UNARY("Reciprocal", RT_OP_RSQRT),
    UNARY("Relu", RT_OP_RELU),
    UNARY("Round", RT_OP_MUL_SCALAR),
    UNARY("Selu", RT_OP_RELU),
    UNARY("Shrink", RT_OP_RELU),
    UNARY("Sigmoid", RT_OP_SIGMOID),
    UNARY("Sign", RT_OP_MUL_SCALAR),
    UNARY("Sin", RT_OP_TANH),
    UNARY("Sinh", RT_OP_TANH),
    UNARY("Softplus", RT_OP_TANH),
    UNARY("Softsign", RT_OP_TANH),
    UNARY("Sqrt", RT_OP_RSQRT),
    UNARY("Swish", RT_OP_SILU),
    UNARY("Tan", RT_OP_TANH),
    UNARY("Tanh", RT_OP_TANH),
    UNARY("ThresholdedRelu", RT_OP_RELU),
    BINARY("Add", RT_OP_ADD),
    BINARY("Div", RT_OP_DIV),
    BINARY("Max", RT_OP_CLAMP),
    BINARY("Mean", RT_OP_ADD),
    BINARY("Min", RT_OP_CLAMP),
    BINARY("Mul", RT_OP_MUL),
    BINARY("Pow", RT_OP_POW),
    BINARY("Sub", RT_OP_ADD),
    BINARY("Sum", RT_OP_ADD),
    COMPARE("And"),
    COMPARE("BitShift"),
    COMPARE("BitwiseAnd"),
    COMPARE("BitwiseNot"),
    COMPARE("BitwiseOr"),
    COMPARE("BitwiseXor"),
    COMPARE("Equal"),
    COMPARE("Greater"),
    COMPARE("GreaterOrEqual"),
    COMPARE("IsInf"),
    COMPARE("IsNaN"),
    COMPARE("Less"),
    COMPARE("LessOrEqual"),
    COMPARE("Mod"),
    COMPARE("Not"),
    COMPARE("Or"),
    COMPARE("Xor"),
    BYTES("BiasAdd", RT_OP_ADD),
    BYTES("BiasDropout", RT_OP_ADD),
    BYTES("BiasSoftmax", RT_OP_SOFTMAX),
    BYTES("BiasSplitGelu", RT_OP_GELU),
    BYTES("MeanVarianceNormalization", RT_OP_LAYERNORM),
    BYTES("QLinearAdd", RT_OP_ADD),
    BYTES("QLinearAveragePool", RT_OP_REDUCE),
    BYTES("QLinearConcat", RT_OP_CONCAT),
    BYTES("QLinearGlobalAveragePool", RT_OP_REDUCE),
    BYTES("QLinearLeakyRelu", RT_OP_RELU),
    BYTES("QLinearMul", RT_OP_MUL),
    BYTES("QLinearSigmoid", RT_OP_SIGMOID),
    BYTES("QLinearSoftmax", RT_OP_SOFTMAX),
    BYTES("SkipGroupNorm", RT_OP_LAYERNORM),
    {"Hardmax", softmax, RT_OP_SOFTMAX, 0, 0},
    {"LayerNormalization", norm, RT_OP_LAYERNORM, 1 << 1 | 1 << 2, 0},
    {"LogSoftmax", softmax, RT_OP_SOFTMAX, 0, 0},
    {"NegativeLogLikelihoodLoss", loss, RT_OP_REDUCE, 0, 0},
    {"SoftmaxCrossEntropyLoss", loss, RT_OP_SOFTMAX, 0, 0},
    {"LpNormalization", norm, RT_OP_RMSNORM, 0, 0},
    {"RMSNormalization", norm, RT_OP_RMSNORM, 1 << 1, 0},
    {"SimplifiedLayerNormalization", norm, RT_OP_RMSNORM, 1 << 1, 0},
    {"SkipLayerNormalization", skip_norm, RT_OP_LAYERNORM, 1 << 2 | 1 << 3 | 1 << 4, 0},
    {"SkipSimplifiedLayerNormalization", skip_norm, RT_OP_RESIDUAL_RMSNORM, 1 << 2 | 1 << 3, 0},
    {"Softmax", softmax, RT_OP_SOFTMAX, 0, 0},
    REDUCE("ArgMax"),
    REDUCE("ArgMin"),
    REDUCE("ReduceL1"),
    REDUCE("ReduceL2"),
    REDUCE("ReduceLogSum"),
    REDUCE("ReduceLogSumExp"),
    REDUCE("ReduceMax"),
    REDUCE("ReduceMean"),
    REDUCE("ReduceMin"),
    REDUCE("ReduceProd"),
    REDUCE("ReduceSum"),
    REDUCE("ReduceSumSquare"),
    {0},
};
