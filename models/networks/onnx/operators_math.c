/* Elementwise operators: shapes that broadcast, small values computed, kernels. See operator.h. */
#include "base/status.h"
#include "models/networks/build_node.h"
#include "models/networks/onnx/lowering.h"
#include "models/networks/onnx/operator.h"

#include <math.h>
#include <string.h>

/* --- shapes --- */

/* Where the first input is the condition. */
static int where_shape(const struct rt_onnx_at *at)
{
    struct rt_onnx_shape shape;
    int status = rt_onnx_all_alike(at);
    shape = rt_onnx_out(at, 0) != NULL ? rt_onnx_out(at, 0)->shape : rt_onnx_no_shape;
    rt_onnx_set(rt_onnx_out(at, 0), rt_onnx_in(at, 1)->dtype, &shape);
    return status;
}

/* a, its scale and zero point, b, its scale and zero point */
static int quantised_pair_shape(const struct rt_onnx_at *at)
{
    struct rt_onnx_shape shape;
    int status = rt_onnx_broadcast(&rt_onnx_in(at, 0)->shape, &rt_onnx_in(at, 3)->shape, &shape);
    rt_onnx_set(rt_onnx_out(at, 0), rt_onnx_in(at, 0)->dtype, &shape);
    return status;
}

/* Half of the columns gate the other half. */
static int split_gelu_shape(const struct rt_onnx_at *at)
{
    struct rt_onnx_shape shape = rt_onnx_in(at, 0)->shape;
    if (shape.rank > 0 && shape.dim[shape.rank - 1] >= 0)
        shape.dim[shape.rank - 1] /= 2;
    rt_onnx_set(rt_onnx_out(at, 0), rt_onnx_in(at, 0)->dtype, &shape);
    return RT_OK;
}

static int bias_dropout_shape(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &in->shape);
    rt_onnx_set(rt_onnx_out(at, 1), RT_ONNX_BOOL, &in->shape);
    return RT_OK;
}

/* --- small values of one input --- */

static double real_neg(double a)
{
    return -a;
}

static int64_t whole_abs(int64_t a)
{
    return a < 0 ? -a : a;
}

static int64_t whole_neg(int64_t a)
{
    return -a;
}

static int64_t whole_not(int64_t a)
{
    return a == 0;
}

static bool fold_unary(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    const struct rt_onnx_data *in = rt_onnx_in(at, 0)->data;
    const struct rt_onnx_operator *row = at->node->row;
    if (in == NULL || in->count != out->count || in->real != out->real ||
        (in->real ? row->one.real == NULL : row->one.whole == NULL))
        return false;
    for (size_t i = 0; i < out->count; i++) {
        int64_t whole = in->element[i].whole;
        if (in->real)
            out->element[i].real = row->one.real(in->element[i].real);
        else
            out->element[i].whole = whole == RT_ONNX_UNKNOWN_INT ? whole : row->one.whole(whole);
    }
    return true;
}

/* --- of two and more, broadcast --- */

enum { LESS = 1, EQUAL = 2, GREATER = 4 }; /* which orders a comparison is true of */

static bool whole_add(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_add_overflow(a, b, out);
}

static bool whole_sub(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_sub_overflow(a, b, out);
}

static bool whole_mul(int64_t a, int64_t b, int64_t *out)
{
    return !__builtin_mul_overflow(a, b, out);
}

/* Towards zero, as C does. */
static bool whole_div(int64_t a, int64_t b, int64_t *out)
{
    bool defined = b != 0 && !(a == INT64_MIN && b == -1);
    *out = defined ? a / b : 0;
    return defined;
}

/* Of the sign of the divisor, as Python does. */
static bool whole_mod(int64_t a, int64_t b, int64_t *out)
{
    bool defined = b != 0 && b != -1;
    int64_t rest = defined ? a % b : 0;
    *out = rest != 0 && (rest < 0) != (b < 0) ? rest + b : rest;
    return defined || b == -1;
}

static bool whole_pow(int64_t a, int64_t b, int64_t *out)
{
    double power = pow((double)a, (double)b);
    bool fits = fabs(power) < 9e15;
    *out = fits ? (int64_t)power : 0;
    return fits;
}

static bool whole_min(int64_t a, int64_t b, int64_t *out)
{
    *out = a < b ? a : b;
    return true;
}

static bool whole_max(int64_t a, int64_t b, int64_t *out)
{
    *out = a > b ? a : b;
    return true;
}

static bool whole_and(int64_t a, int64_t b, int64_t *out)
{
    *out = a != 0 && b != 0;
    return true;
}

static bool whole_or(int64_t a, int64_t b, int64_t *out)
{
    *out = a != 0 || b != 0;
    return true;
}

static bool whole_xor(int64_t a, int64_t b, int64_t *out)
{
    *out = (a != 0) != (b != 0);
    return true;
}

static double real_add(double a, double b)
{
    return a + b;
}

static double real_sub(double a, double b)
{
    return a - b;
}

static double real_mul(double a, double b)
{
    return a * b;
}

static double real_div(double a, double b)
{
    return a / b;
}

static bool compute(const struct rt_onnx_operator *row, bool real, union rt_onnx_element a,
                    union rt_onnx_element b, union rt_onnx_element *out)
{
    if (real && row->two.real != NULL) {
        out->real = row->two.real(a.real, b.real);
        return true;
    }
    bool known = real || (a.whole != RT_ONNX_UNKNOWN_INT && b.whole != RT_ONNX_UNKNOWN_INT);
    out->whole = RT_ONNX_UNKNOWN_INT;
    if (row->two.compares != 0 && known) {
        bool less = real ? a.real < b.real : a.whole < b.whole;
        bool greater = real ? a.real > b.real : a.whole > b.whole;
        out->whole = (row->two.compares & (less ? LESS : greater ? GREATER : EQUAL)) != 0;
    } else if (known && row->two.whole != NULL && !row->two.whole(a.whole, b.whole, &out->whole)) {
        out->whole = RT_ONNX_UNKNOWN_INT;
    }
    return !real || row->two.compares != 0;
}

/* `shape`: of the result; `a` is in its order. */
static bool combine(const struct rt_onnx_operator *row, const struct rt_onnx_shape *shape, bool real,
                    union rt_onnx_element *a, const struct rt_onnx_value *with, size_t count)
{
    int64_t stride[RT_ONNX_RANK];
    rt_onnx_strides(&with->shape, shape, stride);
    for (size_t i = 0; i < count; i++)
        if (!compute(row, real, a[i], with->data->element[rt_onnx_source(shape, i, stride)], &a[i]))
            return false;
    return true;
}

static bool fold_binary(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    const struct rt_onnx_value *first = rt_onnx_in(at, 0), *result = rt_onnx_out(at, 0);
    const struct rt_onnx_operator *row = at->node->row;
    int64_t stride[RT_ONNX_RANK];
    for (size_t i = 0; i < at->node->input_count; i++)
        if (rt_onnx_in(at, i) == NULL || rt_onnx_in(at, i)->data == NULL ||
            rt_onnx_in(at, i)->data->real != first->data->real)
            return false;
    bool none = row->two.whole == NULL && row->two.real == NULL && row->two.compares == 0;
    if (none || (row->two.compares == 0 && first->data->real != out->real))
        return false;
    rt_onnx_strides(&first->shape, &result->shape, stride);
    for (size_t i = 0; i < out->count; i++)
        out->element[i] = first->data->element[rt_onnx_source(&result->shape, i, stride)];
    bool known = at->node->input_count == 1 || at->node->input_count == 2 || row->two.compares == 0;
    for (size_t i = 1; i < at->node->input_count && known; i++)
        known = combine(row, &result->shape, first->data->real, out->element, rt_onnx_in(at, i), out->count);
    return known;
}

static bool fold_where(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    const struct rt_onnx_shape *shape = &rt_onnx_out(at, 0)->shape;
    const struct rt_onnx_data *data[3];
    int64_t stride[3][RT_ONNX_RANK];
    for (size_t i = 0; i < 3; i++) {
        data[i] = rt_onnx_in(at, i)->data;
        if (data[i] == NULL || (i > 0 && data[i]->real != out->real))
            return false;
        rt_onnx_strides(&rt_onnx_in(at, i)->shape, shape, stride[i]);
    }
    for (size_t i = 0; i < out->count; i++) {
        int64_t condition = data[0]->element[rt_onnx_source(shape, i, stride[0])].whole;
        size_t from = condition != 0 ? 1 : 2;
        out->element[i] = data[from]->element[rt_onnx_source(shape, i, stride[from])];
        if (condition == RT_ONNX_UNKNOWN_INT && out->real)
            return false;
        if (condition == RT_ONNX_UNKNOWN_INT)
            out->element[i].whole = RT_ONNX_UNKNOWN_INT;
    }
    return true;
}

/* --- kernels --- */

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

static bool unary_of(struct rt_onnx_lowering *l, enum rt_op_id op)
{
    int64_t rows, cols;
    keep_view(l, 0);
    if (l->made[rt_onnx_lower_in(l, 0)].image && is_activation(op)) {
        struct rt_image x = rt_onnx_lower_image_of(l, 0);
        l->result = rt_image_activation(l->graph, l->name, op, x, false).node;
        return true;
    }
    rt_onnx_lower_matrix(l, l->at.node->outputs[0], &rows, &cols);
    l->result = rt_build_unary(l->graph, l->name, op, rt_onnx_lower_node(l, 0), rows, cols);
    return true;
}

static bool lower_unary(struct rt_onnx_lowering *l)
{
    return unary_of(l, rt_onnx_lower_op(l));
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

static bool lower_clip(struct rt_onnx_lowering *l)
{
    double low, high;
    bool six = limits(l, &low, &high) && low == 0 && high == 6;
    return unary_of(l, six ? RT_OP_RELU6 : rt_onnx_lower_op(l));
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
static bool lower_binary(struct rt_onnx_lowering *l)
{
    if (l->at.node->input_count == 1)
        return true;
    int64_t all[2] = {rt_onnx_count(rt_onnx_lower_shape(l, 0)), rt_onnx_count(rt_onnx_lower_shape(l, 1))};
    bool turned = all[0] < all[1] || (all[0] == all[1] && rt_onnx_lower_is_constant(l, 0));
    keep_view(l, turned ? 1 : 0);
    binary_of(l, rt_onnx_lower_op(l), turned ? 1 : 0, turned ? 0 : 1);
    for (size_t i = 2; i < l->at.node->input_count; i++) {
        int64_t rows, cols;
        rt_onnx_lower_matrix(l, l->at.node->outputs[0], &rows, &cols);
        l->result =
            rt_build_binary(l->graph, l->name, rt_onnx_lower_op(l), l->result, rt_onnx_lower_node(l, i), rows,
                            cols, rt_onnx_count(rt_onnx_lower_shape(l, i)));
    }
    return true;
}

/* --- the rows --- */

#define UNARY(name_, kernel)                                                                                 \
    {                                                                                                        \
        name_, 1, .shapes = rt_onnx_same, .lower = lower_unary, .op = kernel                                 \
    }
/* `real`, `whole`: what it makes of a small value's elements, which shapes may follow from; NULL: nothing. */
#define FOLDED(name_, kernel, real, whole)                                                                   \
    {                                                                                                        \
        name_, 1, .shapes = rt_onnx_same, .fold = fold_unary, .one = {real, whole}, .lower = lower_unary,    \
                  .op = kernel                                                                               \
    }
#define BINARY(name_, least_, kernel, whole, real)                                                           \
    {                                                                                                        \
        name_, least_, .shapes = rt_onnx_all_alike, .fold = fold_binary, .two = {whole, real, 0},            \
                       .lower = lower_binary, .op = kernel, .weights = 1 << 0 | 1 << 1                       \
    }
/* PyTorch's scan goes up and down a tree in shared memory (aten/native/cuda/ScanUtils.cuh): cycles of a
 * multiprocessor an element, by KernelBench's cumsum on the H100 (v0.1, problem 89: 7.33 ms). */
static bool lower_scan(struct rt_onnx_lowering *l)
{
    const double element_cycles = 1.37;
    rt_onnx_lower_once(l);
    l->graph->kernels[l->graph->nodes[l->result].kernel].own_cycles =
        element_cycles * (double)rt_onnx_count(rt_onnx_lower_out_shape(l));
    return true;
}

#define COMPARE(name_, orders)                                                                               \
    {                                                                                                        \
        name_, 2, .shapes = rt_onnx_all_alike, .how = RT_ONNX_BOOL, .fold = fold_binary,                     \
                  .two = {.compares = orders}, .lower = rt_onnx_lower_once, .op = RT_OP_ADD                  \
    }
#define LOGICAL(name_, truth)                                                                                \
    {                                                                                                        \
        name_, 2, .shapes = rt_onnx_all_alike, .how = RT_ONNX_BOOL, .fold = fold_binary,                     \
                  .two = {truth, NULL, 0}, .lower = rt_onnx_lower_once, .op = RT_OP_ADD                      \
    }
#define BITS(name_)                                                                                          \
    {                                                                                                        \
        name_, 2, .shapes = rt_onnx_all_alike, .lower = rt_onnx_lower_once, .op = RT_OP_ADD                  \
    }

/* Operators of one kernel that no op stands for alone are that of as many FLOPs and bytes. */
const struct rt_onnx_operator rt_onnx_math_rows[] = {
    FOLDED("Abs", RT_OP_MUL_SCALAR, fabs, whole_abs),
    UNARY("Acos", RT_OP_TANH),
    UNARY("Acosh", RT_OP_TANH),
    UNARY("Asin", RT_OP_TANH),
    UNARY("Asinh", RT_OP_TANH),
    UNARY("Atan", RT_OP_TANH),
    UNARY("Atanh", RT_OP_TANH),
    FOLDED("Ceil", RT_OP_MUL_SCALAR, ceil, NULL),
    UNARY("Celu", RT_OP_RELU),
    FOLDED("Cos", RT_OP_TANH, cos, NULL),
    UNARY("Cosh", RT_OP_TANH),
    UNARY("Elu", RT_OP_RELU),
    UNARY("Erf", RT_OP_TANH),
    FOLDED("Exp", RT_OP_TANH, exp, NULL),
    FOLDED("Floor", RT_OP_MUL_SCALAR, floor, NULL),
    UNARY("Gelu", RT_OP_GELU),
    UNARY("HardSigmoid", RT_OP_HARDSIGMOID),
    UNARY("HardSwish", RT_OP_HARDSWISH),
    UNARY("LeakyRelu", RT_OP_RELU),
    FOLDED("Log", RT_OP_TANH, log, NULL),
    UNARY("Mish", RT_OP_SILU),
    FOLDED("Neg", RT_OP_MUL_SCALAR, real_neg, whole_neg),
    UNARY("Reciprocal", RT_OP_RSQRT),
    UNARY("Relu", RT_OP_RELU),
    FOLDED("Round", RT_OP_MUL_SCALAR, rint, NULL),
    UNARY("Selu", RT_OP_RELU),
    UNARY("Shrink", RT_OP_RELU),
    UNARY("Sigmoid", RT_OP_SIGMOID),
    UNARY("Sign", RT_OP_MUL_SCALAR),
    FOLDED("Sin", RT_OP_TANH, sin, NULL),
    UNARY("Sinh", RT_OP_TANH),
    UNARY("Softplus", RT_OP_TANH),
    UNARY("Softsign", RT_OP_TANH),
    FOLDED("Sqrt", RT_OP_RSQRT, sqrt, NULL),
    UNARY("Swish", RT_OP_SILU),
    UNARY("Tan", RT_OP_TANH),
    UNARY("Tanh", RT_OP_TANH),
    UNARY("ThresholdedRelu", RT_OP_RELU),
    {"Clip", 1, .shapes = rt_onnx_same, .lower = lower_clip, .op = RT_OP_CLAMP},
    {"PRelu", 2, .shapes = rt_onnx_same, .lower = lower_unary, .op = RT_OP_RELU},
    {"BiasGelu", 1, .shapes = rt_onnx_same, .domain = RT_ONNX_MICROSOFT, .lower = lower_unary,
     .op = RT_OP_GELU},
    {"FastGelu", 1, .shapes = rt_onnx_same, .domain = RT_ONNX_MICROSOFT, .lower = lower_unary,
     .op = RT_OP_GELU},
    {"Gelu", 1, .shapes = rt_onnx_same, .domain = RT_ONNX_MICROSOFT, .lower = lower_unary, .op = RT_OP_GELU},
    {"QuickGelu", 1, .shapes = rt_onnx_same, .domain = RT_ONNX_MICROSOFT, .lower = lower_unary,
     .op = RT_OP_SILU},
    BINARY("Add", 2, RT_OP_ADD, whole_add, real_add),
    BINARY("Div", 2, RT_OP_DIV, whole_div, real_div),
    BINARY("Max", 1, RT_OP_CLAMP, whole_max, fmax),
    BINARY("Mean", 1, RT_OP_ADD, NULL, NULL),
    BINARY("Min", 1, RT_OP_CLAMP, whole_min, fmin),
    BINARY("Mul", 2, RT_OP_MUL, whole_mul, real_mul),
    BINARY("Pow", 2, RT_OP_POW, whole_pow, pow),
    BINARY("Sub", 2, RT_OP_ADD, whole_sub, real_sub),
    BINARY("Sum", 1, RT_OP_ADD, NULL, NULL),
    COMPARE("Equal", EQUAL),
    COMPARE("Greater", GREATER),
    COMPARE("GreaterOrEqual", GREATER | EQUAL),
    COMPARE("Less", LESS),
    COMPARE("LessOrEqual", LESS | EQUAL),
    LOGICAL("And", whole_and),
    LOGICAL("Or", whole_or),
    LOGICAL("Xor", whole_xor),
    BITS("BitShift"),
    BITS("BitwiseAnd"),
    BITS("BitwiseOr"),
    BITS("BitwiseXor"),
    {"Mod", 2, .shapes = rt_onnx_all_alike, .fold = fold_binary, .two = {whole_mod, fmod, 0},
     .lower = rt_onnx_lower_once, .op = RT_OP_ADD},
    {"Not", 1, .shapes = rt_onnx_same, .how = RT_ONNX_BOOL, .fold = fold_unary, .one = {NULL, whole_not},
     .lower = rt_onnx_lower_once, .op = RT_OP_ADD},
    {"BitwiseNot", 1, .shapes = rt_onnx_same, .lower = rt_onnx_lower_once, .op = RT_OP_ADD},
    {"IsInf", 1, .shapes = rt_onnx_same, .how = RT_ONNX_BOOL, .lower = rt_onnx_lower_once, .op = RT_OP_ADD},
    {"IsNaN", 1, .shapes = rt_onnx_same, .how = RT_ONNX_BOOL, .lower = rt_onnx_lower_once, .op = RT_OP_ADD},
    {"Where", 3, .shapes = where_shape, .fold = fold_where, .lower = rt_onnx_lower_once, .op = RT_OP_WHERE},
    {"CumProd", 1, .shapes = rt_onnx_same, .lower = rt_onnx_lower_once, .op = RT_OP_COPY},
    {"CumSum", 1, .shapes = rt_onnx_same, .lower = lower_scan, .op = RT_OP_COPY},
    {"BiasAdd", 1, .shapes = rt_onnx_same, .domain = RT_ONNX_MICROSOFT, .lower = rt_onnx_lower_once,
     .op = RT_OP_ADD},
    {"BiasDropout", 1, .shapes = bias_dropout_shape, .domain = RT_ONNX_MICROSOFT, .lower = rt_onnx_lower_once,
     .op = RT_OP_ADD},
    {"BiasSplitGelu", 1, .shapes = split_gelu_shape, .domain = RT_ONNX_MICROSOFT, .lower = rt_onnx_lower_once,
     .op = RT_OP_GELU},
    {"DropoutGrad", 1, .shapes = rt_onnx_same, .domain = RT_ONNX_MICROSOFT},
    {"QLinearAdd", 4, .shapes = quantised_pair_shape, .domain = RT_ONNX_MICROSOFT,
     .lower = rt_onnx_lower_once, .op = RT_OP_ADD},
    {"QLinearLeakyRelu", 1, .shapes = rt_onnx_same, .domain = RT_ONNX_MICROSOFT, .lower = rt_onnx_lower_once,
     .op = RT_OP_RELU},
    {"QLinearMul", 4, .shapes = quantised_pair_shape, .domain = RT_ONNX_MICROSOFT,
     .lower = rt_onnx_lower_once, .op = RT_OP_MUL},
    {"QLinearSigmoid", 1, .shapes = rt_onnx_same, .domain = RT_ONNX_MICROSOFT, .lower = rt_onnx_lower_once,
     .op = RT_OP_SIGMOID},
    {.name = NULL},
};
