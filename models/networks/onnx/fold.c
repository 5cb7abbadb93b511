/* Elements of small values by arithmetic. See fold.h. */
#include "models/networks/onnx/fold.h"

#include <limits.h>
#include <math.h>
#include <string.h>

/* --- places --- */

size_t rt_onnx_source(const struct rt_onnx_shape *out, size_t i, const int64_t *stride)
{
    int64_t rest = (int64_t)i, at = 0;
    for (int d = out->rank - 1; d >= 0; d--) {
        at += rest % out->dim[d] * stride[d];
        rest /= out->dim[d];
    }
    return (size_t)at;
}

void rt_onnx_strides(const struct rt_onnx_shape *in, const struct rt_onnx_shape *out, int64_t *stride)
{
    int64_t step = 1;
    memset(stride, 0, RT_ONNX_RANK * sizeof *stride);
    for (int d = in->rank - 1, o = out->rank - 1; d >= 0 && o >= 0; d--, o--) {
        stride[o] = in->dim[d] == 1 ? 0 : step;
        step *= in->dim[d];
    }
}

/* --- scalars --- */

typedef bool whole_function(int64_t a, int64_t b, int64_t *out); /* false: not defined, or it does not fit */
typedef double real_function(double a, double b);

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

enum { LESS = 1, EQUAL = 2, GREATER = 4 }; /* which orders a comparison is true of */

static const struct binary {
    const char *op;
    whole_function *whole;
    real_function *real;
    int compares;
} binaries[] = {
    {"Add", whole_add, real_add, 0},
    {"Sub", whole_sub, real_sub, 0},
    {"Mul", whole_mul, real_mul, 0},
    {"Div", whole_div, real_div, 0},
    {"Mod", whole_mod, fmod, 0},
    {"Pow", whole_pow, pow, 0},
    {"Min", whole_min, fmin, 0},
    {"Max", whole_max, fmax, 0},
    {"And", whole_and, NULL, 0},
    {"Or", whole_or, NULL, 0},
    {"Xor", whole_xor, NULL, 0},
    {"Equal", NULL, NULL, EQUAL},
    {"Less", NULL, NULL, LESS},
    {"Greater", NULL, NULL, GREATER},
    {"LessOrEqual", NULL, NULL, LESS | EQUAL},
    {"GreaterOrEqual", NULL, NULL, GREATER | EQUAL},
};

static bool compute(const struct binary *row, bool real, union rt_onnx_element a, union rt_onnx_element b,
                    union rt_onnx_element *out)
{
    if (real && row->real != NULL) {
        out->real = row->real(a.real, b.real);
        return true;
    }
    bool known = real || (a.whole != RT_ONNX_UNKNOWN_INT && b.whole != RT_ONNX_UNKNOWN_INT);
    out->whole = RT_ONNX_UNKNOWN_INT;
    if (row->compares != 0 && known) {
        bool less = real ? a.real < b.real : a.whole < b.whole;
        bool greater = real ? a.real > b.real : a.whole > b.whole;
        out->whole = (row->compares & (less ? LESS : greater ? GREATER : EQUAL)) != 0;
    } else if (known && row->whole != NULL && !row->whole(a.whole, b.whole, &out->whole)) {
        out->whole = RT_ONNX_UNKNOWN_INT;
    }
    return !real || row->compares != 0;
}

/* `shape`: of the result; `a` is in its order. */
static bool combine(const struct binary *row, const struct rt_onnx_shape *shape, bool real,
                    union rt_onnx_element *a, const struct rt_onnx_value *with, size_t count)
{
    int64_t stride[RT_ONNX_RANK];
    rt_onnx_strides(&with->shape, shape, stride);
    for (size_t i = 0; i < count; i++)
        if (!compute(row, real, a[i], with->data->element[rt_onnx_source(shape, i, stride)], &a[i]))
            return false;
    return true;
}

bool rt_onnx_fold_binary(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    const struct rt_onnx_value *first = rt_onnx_in(at, 0), *result = rt_onnx_out(at, 0);
    const struct binary *row = NULL;
    int64_t stride[RT_ONNX_RANK];
    for (size_t i = 0; i < sizeof binaries / sizeof *binaries; i++)
        if (strcmp(binaries[i].op, at->node->op) == 0)
            row = &binaries[i];
    for (size_t i = 0; i < at->node->input_count; i++)
        if (rt_onnx_in(at, i) == NULL || rt_onnx_in(at, i)->data == NULL ||
            rt_onnx_in(at, i)->data->real != first->data->real)
            return false;
    if (row == NULL || (row->compares == 0 && first->data->real != out->real))
        return false;
    rt_onnx_strides(&first->shape, &result->shape, stride);
    for (size_t i = 0; i < out->count; i++)
        out->element[i] = first->data->element[rt_onnx_source(&result->shape, i, stride)];
    bool known = at->node->input_count == 1 || at->node->input_count == 2 || row->compares == 0;
    for (size_t i = 1; i < at->node->input_count && known; i++)
        known = combine(row, &result->shape, first->data->real, out->element, rt_onnx_in(at, i), out->count);
    return known;
}

/* --- one input --- */

static const struct unary {
    const char *op;
    double (*real)(double);
    int whole; /* what of whole numbers: 0: nothing */
} unaries[] = {
    {"Abs", fabs, 'a'},  {"Ceil", ceil, 0}, {"Cos", cos, 0},    {"Exp", exp, 0},
    {"Floor", floor, 0}, {"Log", log, 0},   {"Neg", NULL, '-'}, {"Not", NULL, '!'},
    {"Round", rint, 0},  {"Sin", sin, 0},   {"Sqrt", sqrt, 0},
};

static int64_t unary_whole(int kind, int64_t value)
{
    if (value == RT_ONNX_UNKNOWN_INT)
        return value;
    return kind == '!' ? value == 0 : kind == '-' || value < 0 ? -value : value;
}

bool rt_onnx_fold_unary(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    const struct rt_onnx_data *in = rt_onnx_in(at, 0)->data;
    const struct unary *row = NULL;
    for (size_t i = 0; i < sizeof unaries / sizeof *unaries; i++)
        if (strcmp(unaries[i].op, at->node->op) == 0)
            row = &unaries[i];
    if (in == NULL || row == NULL || in->count != out->count || in->real != out->real ||
        (!in->real && row->whole == 0))
        return false;
    for (size_t i = 0; i < out->count; i++)
        if (!in->real)
            out->element[i].whole = unary_whole(row->whole, in->element[i].whole);
        else
            out->element[i].real = row->real != NULL ? row->real(in->element[i].real) : -in->element[i].real;
    return true;
}

/* --- three inputs, other dtypes --- */

bool rt_onnx_fold_where(const struct rt_onnx_at *at, struct rt_onnx_data *out)
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

static bool cast(const struct rt_onnx_data *in, enum rt_onnx_dtype to, size_t i, union rt_onnx_element *out)
{
    bool known = in->real || in->element[i].whole != RT_ONNX_UNKNOWN_INT;
    if (rt_onnx_dtypes[to].real) {
        out->real = in->real ? in->element[i].real : (double)in->element[i].whole;
        return known;
    }
    if (in->real && !(fabs(in->element[i].real) < 9.2e18)) {
        out->whole = RT_ONNX_UNKNOWN_INT;
        return true;
    }
    int64_t whole = in->real ? (int64_t)in->element[i].real : in->element[i].whole;
    bool truth = in->real ? in->element[i].real != 0 : whole != 0;
    out->whole = to == RT_ONNX_BOOL && known ? truth : whole;
    return true;
}

bool rt_onnx_fold_cast(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    const struct rt_onnx_data *in = rt_onnx_in(at, 0)->data;
    bool known = in != NULL && in->count == out->count;
    for (size_t i = 0; i < out->count && known; i++)
        known = cast(in, rt_onnx_out(at, 0)->dtype, i, &out->element[i]);
    return known;
}
