/* Operators that make values of attributes or of other shapes, and that change dtypes. See rows.h. */
#include "base/status.h"
#include "models/networks/onnx/fold.h"

#include <math.h>
#include <string.h>

/* --- constants --- */

static int constant(const struct rt_onnx_at *at)
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

static int constant_of_shape(const struct rt_onnx_at *at)
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

static int range(const struct rt_onnx_at *at)
{
    struct rt_onnx_shape shape =
        rt_onnx_vector(range_count(rt_onnx_in(at, 0), rt_onnx_in(at, 1), rt_onnx_in(at, 2)));
    rt_onnx_set(rt_onnx_out(at, 0), rt_onnx_in(at, 0)->dtype, &shape);
    return RT_OK;
}

/* --- random numbers, windows --- */

static enum rt_onnx_dtype dtype_attribute(const struct rt_onnx_at *at, const char *name,
                                          enum rt_onnx_dtype otherwise)
{
    int64_t dtype = rt_onnx_int(at, name, otherwise);
    return dtype > 0 && dtype < RT_ONNX_DTYPES ? (enum rt_onnx_dtype)dtype : RT_ONNX_UNDEFINED;
}

static int random_of(const struct rt_onnx_at *at)
{
    struct rt_onnx_shape shape = {.rank = 0};
    shape.rank = rt_onnx_ints(at, "shape", shape.dim);
    for (int d = 0; d < shape.rank; d++)
        shape.dim[d] = shape.dim[d] < 0 ? RT_ONNX_UNKNOWN : shape.dim[d];
    rt_onnx_set(rt_onnx_out(at, 0), dtype_attribute(at, "dtype", RT_ONNX_FLOAT), &shape);
    return RT_OK;
}

static int made_like(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    rt_onnx_set(rt_onnx_out(at, 0), dtype_attribute(at, "dtype", in->dtype), &in->shape);
    return RT_OK;
}

static int multinomial(const struct rt_onnx_at *at)
{
    const struct rt_onnx_shape *in = &rt_onnx_in(at, 0)->shape;
    struct rt_onnx_shape shape = {
        .rank = 2, .dim = {in->rank == 2 ? in->dim[0] : RT_ONNX_UNKNOWN, rt_onnx_int(at, "sample_size", 1)}};
    rt_onnx_set(rt_onnx_out(at, 0), dtype_attribute(at, "dtype", RT_ONNX_INT32), &shape);
    return RT_OK;
}

static int window(const struct rt_onnx_at *at)
{
    int64_t size;
    struct rt_onnx_shape shape =
        rt_onnx_vector(rt_onnx_number(rt_onnx_in(at, 0), &size) && size >= 0 ? size : RT_ONNX_UNKNOWN);
    rt_onnx_set(rt_onnx_out(at, 0), dtype_attribute(at, "output_datatype", RT_ONNX_FLOAT), &shape);
    return RT_OK;
}

static int mel_weights(const struct rt_onnx_at *at)
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

static int cast(const struct rt_onnx_at *at)
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
static int cast_as(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *like = rt_onnx_in(at, (size_t)at->node->row->how);
    rt_onnx_set(rt_onnx_out(at, 0), like->dtype, &rt_onnx_in(at, 0)->shape);
    return RT_OK;
}

static int quantise(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *zero = rt_onnx_in(at, 2);
    rt_onnx_set(rt_onnx_out(at, 0),
                zero != NULL ? zero->dtype : dtype_attribute(at, "output_dtype", RT_ONNX_UINT8),
                &rt_onnx_in(at, 0)->shape);
    return RT_OK;
}

static int dynamic_quantise(const struct rt_onnx_at *at)
{
    struct rt_onnx_shape scalar = rt_onnx_scalar();
    rt_onnx_set(rt_onnx_out(at, 0), RT_ONNX_UINT8, &rt_onnx_in(at, 0)->shape);
    rt_onnx_set(rt_onnx_out(at, 1), RT_ONNX_FLOAT, &scalar);
    rt_onnx_set(rt_onnx_out(at, 2), RT_ONNX_UINT8, &scalar);
    return RT_OK;
}

const struct rt_onnx_op rt_onnx_make_rows[] = {
    {"Constant", constant, rt_onnx_fold_constant, 0, 0},
    {"ConstantOfShape", constant_of_shape, rt_onnx_fold_filled, 0, 1},
    {"Range", range, rt_onnx_fold_range, 0, 3},
    {"EyeLike", made_like, NULL, 0, 1},
    {"RandomNormal", random_of, NULL, 0, 0},
    {"RandomUniform", random_of, NULL, 0, 0},
    {"RandomNormalLike", made_like, NULL, 0, 1},
    {"RandomUniformLike", made_like, NULL, 0, 1},
    {"Bernoulli", made_like, NULL, 0, 1},
    {"Multinomial", multinomial, NULL, 0, 1},
    {"BlackmanWindow", window, NULL, 0, 1},
    {"HammingWindow", window, NULL, 0, 1},
    {"HannWindow", window, NULL, 0, 1},
    {"MelWeightMatrix", mel_weights, NULL, 0, 2},
    {"Cast", cast, rt_onnx_fold_cast, 0, 1},
    {"CastLike", cast_as, rt_onnx_fold_cast, 1, 2},
    {"QuantizeLinear", quantise, NULL, 0, 2},
    {"DequantizeLinear", cast_as, NULL, 1, 2},
    {"DynamicQuantizeLinear", dynamic_quantise, NULL, 0, 1},
    {.name = NULL},
};
