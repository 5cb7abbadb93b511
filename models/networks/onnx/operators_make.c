/* Values that are made: constants, random numbers, other dtypes. See operator.h. */
#include "base/status.h"
#include "models/networks/onnx/lowering.h"
#include "models/networks/onnx/operator.h"

#include <math.h>
#include <string.h>
#include <strings.h>

/* --- constants --- */

static int constant_shape(const struct rt_onnx_at *at)
{
    const struct rt_onnx_attribute *from = at->node->attributes;
    struct rt_onnx_shape shape = rt_onnx_scalar();
    if (at->node->attribute_count != 1)
        return rt_fail(RT_EFORMAT, "has %zu attributes; a constant has one", at->node->attribute_count);
    if (from->kind == RT_ONNX_A_TENSOR) {
        const struct rt_onnx_value *tensor = &at->model->values[from->value];
        rt_onnx_set(rt_onnx_out(at, 0), tensor->dtype, &tensor->shape);
        return RT_OK;
    }
    if (from->kind == RT_ONNX_A_FLOATS || from->kind == RT_ONNX_A_INTS || from->kind == RT_ONNX_A_STRINGS)
        shape = rt_onnx_vector((int64_t)from->count);
    bool real = from->kind == RT_ONNX_A_FLOAT || from->kind == RT_ONNX_A_FLOATS;
    bool whole = from->kind == RT_ONNX_A_INT || from->kind == RT_ONNX_A_INTS;
    bool other = from->kind == RT_ONNX_A_OTHER || from->kind == RT_ONNX_A_GRAPH;
    rt_onnx_set(rt_onnx_out(at, 0),
                real    ? RT_ONNX_FLOAT
                : whole ? RT_ONNX_INT64
                        : RT_ONNX_STRING,
                other ? &rt_onnx_no_shape : &shape);
    return RT_OK;
}

/* The shape that a vector of whole numbers names. */
static struct rt_onnx_shape shape_in(const struct rt_onnx_value *value)
{
    int64_t dims[RT_ONNX_RANK];
    int count;
    if (!rt_onnx_numbers(value, dims, &count)) {
        bool sized =
            value->shape.rank == 1 && value->shape.dim[0] >= 0 && value->shape.dim[0] <= RT_ONNX_RANK;
        return sized ? rt_onnx_open((int)value->shape.dim[0]) : rt_onnx_no_shape;
    }
    struct rt_onnx_shape shape = rt_onnx_open(count);
    for (int d = 0; d < count; d++)
        shape.dim[d] = dims[d] < 0 ? RT_ONNX_UNKNOWN : dims[d];
    return shape;
}

static int filled_shape(const struct rt_onnx_at *at)
{
    const struct rt_onnx_attribute *with = rt_onnx_attribute(at, "value");
    struct rt_onnx_shape shape = shape_in(rt_onnx_in(at, 0));
    bool tensor = with != NULL && with->kind == RT_ONNX_A_TENSOR;
    rt_onnx_set(rt_onnx_out(at, 0), tensor ? at->model->values[with->value].dtype : RT_ONNX_FLOAT, &shape);
    return RT_OK;
}

static int64_t range_count(const struct rt_onnx_value *start, const struct rt_onnx_value *end,
                           const struct rt_onnx_value *step)
{
    int64_t from, to, by;
    double count;
    if (start->data == NULL || end->data == NULL || step->data == NULL || start->data->count != 1 ||
        end->data->count != 1 || step->data->count != 1 || start->data->real != end->data->real ||
        start->data->real != step->data->real)
        return RT_ONNX_UNKNOWN;
    if (start->data->real) {
        count =
            ceil((end->data->element[0].real - start->data->element[0].real) / step->data->element[0].real);
    } else {
        if (!rt_onnx_number(start, &from) || !rt_onnx_number(end, &to) || !rt_onnx_number(step, &by) ||
            by == 0)
            return RT_ONNX_UNKNOWN;
        count = ceil((double)(to - from) / (double)by);
    }
    return !isfinite(count)                  ? RT_ONNX_UNKNOWN
           : count < 0                       ? 0
           : count > (double)RT_ONNX_LARGEST ? RT_ONNX_LARGEST + 1
                                             : (int64_t)count;
}

static int range_shape(const struct rt_onnx_at *at)
{
    struct rt_onnx_shape shape =
        rt_onnx_vector(range_count(rt_onnx_in(at, 0), rt_onnx_in(at, 1), rt_onnx_in(at, 2)));
    rt_onnx_set(rt_onnx_out(at, 0), rt_onnx_in(at, 0)->dtype, &shape);
    return RT_OK;
}

static bool fold_constant(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    const struct rt_onnx_attribute *from = &at->node->attributes[0];
    if (from->kind == RT_ONNX_A_TENSOR) {
        const struct rt_onnx_data *data = at->model->values[from->value].data;
        if (data == NULL || data->count != out->count || data->real != out->real)
            return false;
        memcpy(out->element, data->element, out->count * sizeof out->element[0]);
        return true;
    }
    bool real = from->kind == RT_ONNX_A_FLOAT || from->kind == RT_ONNX_A_FLOATS;
    if (from->count != out->count || real != out->real)
        return false;
    for (size_t i = 0; i < out->count; i++)
        if (real)
            out->element[i].real = from->reals[i];
        else
            out->element[i].whole = rt_onnx_whole(from->ints[i]);
    return true;
}

static bool fold_filled(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    const struct rt_onnx_attribute *with = rt_onnx_attribute(at, "value");
    union rt_onnx_element element = {.whole = 0};
    if (with == NULL || with->kind != RT_ONNX_A_TENSOR) {
        element.real = 0;
    } else {
        const struct rt_onnx_data *data = at->model->values[with->value].data;
        if (data == NULL || data->count != 1 || data->real != out->real)
            return false;
        element = data->element[0];
    }
    for (size_t i = 0; i < out->count; i++)
        out->element[i] = element;
    return true;
}

static bool fold_range(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    const struct rt_onnx_data *start = rt_onnx_in(at, 0)->data, *step = rt_onnx_in(at, 2)->data;
    int64_t from, by;
    if (out->real) {
        bool held = start != NULL && step != NULL && start->real && step->real;
        for (size_t i = 0; i < out->count && held; i++)
            out->element[i].real = start->element[0].real + (double)i * step->element[0].real;
        return held;
    }
    if (!rt_onnx_number(rt_onnx_in(at, 0), &from) || !rt_onnx_number(rt_onnx_in(at, 2), &by))
        return false;
    for (size_t i = 0; i < out->count; i++)
        out->element[i].whole = from + (int64_t)i * by;
    return true;
}

/* --- random numbers, windows --- */

static enum rt_onnx_dtype dtype_attribute(const struct rt_onnx_at *at, const char *name,
                                          enum rt_onnx_dtype otherwise)
{
    int64_t dtype = rt_onnx_int(at, name, otherwise);
    return dtype > 0 && dtype < RT_ONNX_DTYPES ? (enum rt_onnx_dtype)dtype : RT_ONNX_UNDEFINED;
}

static int random_shape(const struct rt_onnx_at *at)
{
    struct rt_onnx_shape shape = {.rank = 0};
    shape.rank = rt_onnx_ints(at, "shape", shape.dim);
    for (int d = 0; d < shape.rank; d++)
        shape.dim[d] = shape.dim[d] < 0 ? RT_ONNX_UNKNOWN : shape.dim[d];
    rt_onnx_set(rt_onnx_out(at, 0), dtype_attribute(at, "dtype", RT_ONNX_FLOAT), &shape);
    return RT_OK;
}

static int made_like_shape(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    rt_onnx_set(rt_onnx_out(at, 0), dtype_attribute(at, "dtype", in->dtype), &in->shape);
    return RT_OK;
}

static int multinomial_shape(const struct rt_onnx_at *at)
{
    const struct rt_onnx_shape *in = &rt_onnx_in(at, 0)->shape;
    struct rt_onnx_shape shape = {
        .rank = 2, .dim = {in->rank == 2 ? in->dim[0] : RT_ONNX_UNKNOWN, rt_onnx_int(at, "sample_size", 1)}};
    rt_onnx_set(rt_onnx_out(at, 0), dtype_attribute(at, "dtype", RT_ONNX_INT32), &shape);
    return RT_OK;
}

static int window_shape(const struct rt_onnx_at *at)
{
    int64_t size;
    struct rt_onnx_shape shape =
        rt_onnx_vector(rt_onnx_number(rt_onnx_in(at, 0), &size) && size >= 0 ? size : RT_ONNX_UNKNOWN);
    rt_onnx_set(rt_onnx_out(at, 0), dtype_attribute(at, "output_datatype", RT_ONNX_FLOAT), &shape);
    return RT_OK;
}

static int mel_weights_shape(const struct rt_onnx_at *at)
{
    struct rt_onnx_shape shape = rt_onnx_open(2);
    int64_t bins, length;
    if (rt_onnx_number(rt_onnx_in(at, 0), &bins) && bins >= 0)
        shape.dim[1] = bins;
    if (rt_onnx_number(rt_onnx_in(at, 1), &length) && length >= 0)
        shape.dim[0] = length / 2 + 1;
    rt_onnx_set(rt_onnx_out(at, 0), dtype_attribute(at, "output_datatype", RT_ONNX_FLOAT), &shape);
    return RT_OK;
}

/* --- dtypes --- */

static int cast_shape(const struct rt_onnx_at *at)
{
    enum rt_onnx_dtype to = dtype_attribute(at, "to", RT_ONNX_UNDEFINED);
    if (at->node->opset < 6 && to == RT_ONNX_UNDEFINED) { /* the name of the dtype */
        const char *name = rt_onnx_word(at, "to", "");
        for (int d = 1; d < RT_ONNX_DTYPES; d++)
            if (strcasecmp(name, rt_onnx_dtypes[d].name) == 0)
                to = (enum rt_onnx_dtype)d;
    }
    rt_onnx_set(rt_onnx_out(at, 0), to, &rt_onnx_in(at, 0)->shape);
    return RT_OK;
}

/* As the input of that number says. */
static int cast_as_shape(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *like = rt_onnx_in(at, (size_t)at->node->row->how);
    rt_onnx_set(rt_onnx_out(at, 0), like->dtype, &rt_onnx_in(at, 0)->shape);
    return RT_OK;
}

static int quantise_shape(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *zero = rt_onnx_in(at, 2);
    rt_onnx_set(rt_onnx_out(at, 0),
                zero != NULL ? zero->dtype : dtype_attribute(at, "output_dtype", RT_ONNX_UINT8),
                &rt_onnx_in(at, 0)->shape);
    return RT_OK;
}

static int dynamic_quantise_shape(const struct rt_onnx_at *at)
{
    struct rt_onnx_shape scalar = rt_onnx_scalar();
    rt_onnx_set(rt_onnx_out(at, 0), RT_ONNX_UINT8, &rt_onnx_in(at, 0)->shape);
    rt_onnx_set(rt_onnx_out(at, 1), RT_ONNX_FLOAT, &scalar);
    rt_onnx_set(rt_onnx_out(at, 2), RT_ONNX_UINT8, &scalar);
    return RT_OK;
}

static bool cast_element(const struct rt_onnx_data *in, enum rt_onnx_dtype to, size_t i,
                         union rt_onnx_element *out)
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

static bool fold_cast(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    const struct rt_onnx_data *in = rt_onnx_in(at, 0)->data;
    bool known = in != NULL && in->count == out->count;
    for (size_t i = 0; i < out->count && known; i++)
        known = cast_element(in, rt_onnx_out(at, 0)->dtype, i, &out->element[i]);
    return known;
}

/* Between reals all is in the dtype of the step. */
static bool lower_cast(struct rt_onnx_lowering *l)
{
    const struct rt_onnx_value *in = rt_onnx_in(&l->at, 0), *out = rt_onnx_out(&l->at, 0);
    rt_onnx_lower_pass_view(l, 0);
    if (in->dtype == out->dtype || (rt_onnx_dtypes[in->dtype].real && rt_onnx_dtypes[out->dtype].real))
        return true;
    return rt_onnx_lower_once(l);
}

const struct rt_onnx_operator rt_onnx_make_rows[] = {
    {"Constant", 0, .shapes = constant_shape, .fold = fold_constant, .lower = rt_onnx_lower_nothing},
    {"ConstantOfShape", 1, .shapes = filled_shape, .fold = fold_filled, .lower = rt_onnx_lower_made,
     .op = RT_OP_FILL},
    {"Range", 3, .shapes = range_shape, .fold = fold_range, .lower = rt_onnx_lower_made, .op = RT_OP_FILL},
    {"EyeLike", 1, .shapes = made_like_shape, .lower = rt_onnx_lower_made, .op = RT_OP_FILL},
    {"RandomNormal", 0, .shapes = random_shape, .lower = rt_onnx_lower_made, .op = RT_OP_FILL},
    {"RandomUniform", 0, .shapes = random_shape, .lower = rt_onnx_lower_made, .op = RT_OP_FILL},
    {"RandomNormalLike", 1, .shapes = made_like_shape, .lower = rt_onnx_lower_made, .op = RT_OP_FILL},
    {"RandomUniformLike", 1, .shapes = made_like_shape, .lower = rt_onnx_lower_made, .op = RT_OP_FILL},
    {"Bernoulli", 1, .shapes = made_like_shape, .lower = rt_onnx_lower_once, .op = RT_OP_COPY},
    {"Multinomial", 1, .shapes = multinomial_shape},
    {"BlackmanWindow", 1, .shapes = window_shape},
    {"HammingWindow", 1, .shapes = window_shape},
    {"HannWindow", 1, .shapes = window_shape},
    {"MelWeightMatrix", 2, .shapes = mel_weights_shape},
    {"Cast", 1, .shapes = cast_shape, .fold = fold_cast, .lower = lower_cast, .op = RT_OP_COPY, .form = true},
    {"CastLike", 2, .shapes = cast_as_shape, .how = 1, .fold = fold_cast, .lower = lower_cast,
     .op = RT_OP_COPY},
    {"QuantizeLinear", 2, .shapes = quantise_shape, .lower = rt_onnx_lower_once, .op = RT_OP_COPY,
     .form = true},
    {"DequantizeLinear", 2, .shapes = cast_as_shape, .how = 1, .lower = rt_onnx_lower_once, .op = RT_OP_COPY,
     .form = true},
    {"DynamicQuantizeLinear", 1, .shapes = dynamic_quantise_shape, .lower = rt_onnx_lower_once,
     .op = RT_OP_COPY},
    {"QuantizeLinear", 2, .shapes = quantise_shape, .domain = RT_ONNX_MICROSOFT, .lower = rt_onnx_lower_once,
     .op = RT_OP_COPY, .form = true},
    {"DequantizeLinear", 2, .shapes = cast_as_shape, .domain = RT_ONNX_MICROSOFT, .how = 1,
     .lower = rt_onnx_lower_once, .op = RT_OP_COPY, .form = true},
    {.name = NULL},
};
