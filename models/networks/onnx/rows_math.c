/* Operators that compute element by element, or along rows without changing the shape. See rows.h. */
#include "models/networks/onnx/fold.h"

/* Where the first input is the condition. */
static int choose(const struct rt_onnx_at *at)
{
    struct rt_onnx_shape shape;
    int status = rt_onnx_all_alike(at);
    shape = rt_onnx_out(at, 0) != NULL ? rt_onnx_out(at, 0)->shape : rt_onnx_no_shape;
    rt_onnx_set(rt_onnx_out(at, 0), rt_onnx_in(at, 1)->dtype, &shape);
    return status;
}

#define UNARY(name)                                                                                          \
    {                                                                                                        \
        name, rt_onnx_same, rt_onnx_fold_unary, 0, 1                                                         \
    }
#define SAME(name, least)                                                                                    \
    {                                                                                                        \
        name, rt_onnx_same, NULL, 0, least                                                                   \
    }
#define TEST(name)                                                                                           \
    {                                                                                                        \
        name, rt_onnx_same, NULL, RT_ONNX_BOOL, 1                                                            \
    }
#define ALIKE(name)                                                                                          \
    {                                                                                                        \
        name, rt_onnx_all_alike, rt_onnx_fold_binary, 0, 1                                                   \
    }
#define BINARY(name)                                                                                         \
    {                                                                                                        \
        name, rt_onnx_all_alike, rt_onnx_fold_binary, 0, 2                                                   \
    }
#define COMPARE(name)                                                                                        \
    {                                                                                                        \
        name, rt_onnx_all_alike, rt_onnx_fold_binary, RT_ONNX_BOOL, 2                                        \
    }

const struct rt_onnx_op rt_onnx_math_rows[] = {
    UNARY("Abs"),
    UNARY("Ceil"),
    UNARY("Cos"),
    UNARY("Exp"),
    UNARY("Floor"),
    UNARY("Log"),
    UNARY("Neg"),
    {"Not", rt_onnx_same, rt_onnx_fold_unary, RT_ONNX_BOOL, 1},
    UNARY("Round"),
    UNARY("Sin"),
    UNARY("Sqrt"),
    SAME("Acos", 1),
    SAME("Acosh", 1),
    SAME("Asin", 1),
    SAME("Asinh", 1),
    SAME("Atan", 1),
    SAME("Atanh", 1),
    SAME("BitwiseNot", 1),
    SAME("Celu", 1),
    SAME("Clip", 1),
    SAME("Cosh", 1),
    SAME("CumProd", 1),
    SAME("CumSum", 1),
    SAME("Elu", 1),
    SAME("Erf", 1),
    SAME("Gelu", 1),
    SAME("HardSigmoid", 1),
    SAME("HardSwish", 1),
    SAME("Hardmax", 1),
    SAME("LeakyRelu", 1),
    SAME("LogSoftmax", 1),
    SAME("LpNormalization", 1),
    SAME("Mish", 1),
    SAME("PRelu", 2),
    SAME("Reciprocal", 1),
    SAME("Relu", 1),
    SAME("Selu", 1),
    SAME("Shrink", 1),
    SAME("Sigmoid", 1),
    SAME("Sign", 1),
    SAME("Sinh", 1),
    SAME("Softmax", 1),
    SAME("Softplus", 1),
    SAME("Softsign", 1),
    SAME("Swish", 1),
    SAME("Tan", 1),
    SAME("Tanh", 1),
    SAME("ThresholdedRelu", 1),
    TEST("IsInf"),
    TEST("IsNaN"),
    ALIKE("Max"),
    ALIKE("Mean"),
    ALIKE("Min"),
    ALIKE("Sum"),
    BINARY("Add"),
    BINARY("BitShift"),
    BINARY("BitwiseAnd"),
    BINARY("BitwiseOr"),
    BINARY("BitwiseXor"),
    BINARY("Div"),
    BINARY("Mod"),
    BINARY("Mul"),
    BINARY("Pow"),
    BINARY("Sub"),
    COMPARE("And"),
    COMPARE("Equal"),
    COMPARE("Greater"),
    COMPARE("GreaterOrEqual"),
    COMPARE("Less"),
    COMPARE("LessOrEqual"),
    COMPARE("Or"),
    COMPARE("Xor"),
    {"Where", choose, rt_onnx_fold_where, 0, 3},
    {.name = NULL},
};
