/* Tensors and types of a file to values. See read.h. */
#include "models/networks/onnx/proto/read.h"
#include "base/status.h"

#include <inttypes.h>
#include <math.h>
#include <string.h>

/* --- shapes --- */

static int check_dim(const char *name, int64_t dim)
{
    if (dim >= 0 && dim <= RT_ONNX_LARGEST)
        return RT_OK;
    return rt_fail(RT_EFORMAT, "value '%s': a dim of %" PRId64 "; dims are 0 to 2^40", name, dim);
}

static int check_rank(const char *name, size_t rank)
{
    if (rank <= RT_ONNX_RANK)
        return RT_OK;
    return rt_fail(RT_EFORMAT, "value '%s' has %zu dims; up to %d are read", name, rank, RT_ONNX_RANK);
}

static int read_dims(struct rt_onnx_value *value, size_t count, const int64_t *dims)
{
    int status = check_rank(value->name, count);
    for (size_t i = 0; i < count && status == RT_OK; i++)
        if ((status = check_dim(value->name, dims[i])) == RT_OK)
            value->shape.dim[i] = dims[i];
    value->shape.rank = (int)count;
    return status;
}

/* --- elements --- */

/* Halves of fp32 and fp16 (IEEE 754). */
static double real_of_bf16(uint16_t bits)
{
    uint32_t wide = (uint32_t)bits << 16;
    float value;
    memcpy(&value, &wide, sizeof value);
    return value;
}

static double real_of_fp16(uint16_t bits)
{
    int exponent = bits >> 10 & 31;
    double fraction = bits & 1023, sign = bits >> 15 != 0 ? -1 : 1;
    if (exponent == 31)
        return fraction != 0 ? NAN : sign * INFINITY;
    return exponent == 0 ? sign * ldexp(fraction, -24) : sign * ldexp(fraction + 1024, exponent - 25);
}

/* Element i of raw_data, little-endian. */
static union rt_onnx_element raw_element(enum rt_onnx_dtype dtype, const uint8_t *raw, size_t i)
{
    union rt_onnx_element out = {.whole = 0};
    uint64_t bits = 0;
    size_t width = rt_onnx_dtypes[dtype].bits / 8;
    float single;
    for (size_t b = 0; b < width; b++)
        bits |= (uint64_t)raw[i * width + b] << (8 * b);
    uint32_t low = (uint32_t)bits;
    switch (dtype) {
    case RT_ONNX_FLOAT:
        memcpy(&single, &low, sizeof single);
        out.real = single;
        return out;
    case RT_ONNX_DOUBLE:
        memcpy(&out.real, &bits, sizeof out.real);
        return out;
    case RT_ONNX_FLOAT16:
    case RT_ONNX_BFLOAT16:
        out.real = dtype == RT_ONNX_FLOAT16 ? real_of_fp16((uint16_t)bits) : real_of_bf16((uint16_t)bits);
        return out;
    case RT_ONNX_INT8:
        out.whole = (int8_t)bits;
        return out;
    case RT_ONNX_INT16:
        out.whole = (int16_t)bits;
        return out;
    case RT_ONNX_INT32:
        out.whole = (int32_t)bits;
        return out;
    default:
        out.whole = rt_onnx_whole((int64_t)bits);
        return out;
    }
}

/* Element i of the field of numbers that this dtype has in TensorProto. */
static union rt_onnx_element typed_element(const Onnx__TensorProto *tensor, enum rt_onnx_dtype dtype,
                                           size_t i)
{
    union rt_onnx_element out = {.whole = 0};
    switch (dtype) {
    case RT_ONNX_FLOAT:
        out.real = tensor->float_data[i];
        return out;
    case RT_ONNX_DOUBLE:
        out.real = tensor->double_data[i];
        return out;
    case RT_ONNX_FLOAT16:
        out.real = real_of_fp16((uint16_t)tensor->int32_data[i]);
        return out;
    case RT_ONNX_BFLOAT16:
        out.real = real_of_bf16((uint16_t)tensor->int32_data[i]);
        return out;
    case RT_ONNX_INT64:
        out.whole = rt_onnx_whole(tensor->int64_data[i]);
        return out;
    case RT_ONNX_UINT32:
        out.whole = (int64_t)(tensor->uint64_data[i] & UINT32_MAX);
        return out;
    default:
        out.whole = tensor->int32_data[i];
        return out;
    }
}

static size_t typed_count(const Onnx__TensorProto *tensor, enum rt_onnx_dtype dtype)
{
    switch (dtype) {
    case RT_ONNX_FLOAT:
        return tensor->n_float_data;
    case RT_ONNX_DOUBLE:
        return tensor->n_double_data;
    case RT_ONNX_INT64:
        return tensor->n_int64_data;
    case RT_ONNX_UINT32:
        return tensor->n_uint64_data;
    default:
        return tensor->n_int32_data;
    }
}

/* Of a tensor whose elements were left out (read.h), or lie in another file, none are held. */
static int read_elements(struct rt_onnx_model *model, const Onnx__TensorProto *tensor,
                         struct rt_onnx_value *value)
{
    int64_t count = rt_onnx_count(&value->shape);
    const struct rt_onnx_dtype_row *row = &rt_onnx_dtypes[value->dtype];
    size_t raw = tensor->has_raw_data ? tensor->raw_data.len : 0, typed = typed_count(tensor, value->dtype);
    if (!row->foldable || count > RT_ONNX_HELD || (count > 0 && raw + typed == 0))
        return RT_OK;
    if (raw > 0 ? raw != (size_t)count * row->bits / 8 : typed != (size_t)count)
        return rt_fail(RT_EFORMAT, "tensor '%s' has %zu %s of data where its shape is %s %s", value->name,
                       raw > 0 ? raw : typed, raw > 0 ? "bytes" : "elements",
                       rt_onnx_shape_words(&value->shape).text, row->name);
    struct rt_onnx_data *data = rt_onnx_new_data(model, (size_t)count, row->real);
    for (size_t i = 0; data != NULL && i < data->count; i++)
        data->element[i] = raw > 0 ? raw_element(value->dtype, tensor->raw_data.data, i)
                                   : typed_element(tensor, value->dtype, i);
    value->data = data;
    return RT_OK;
}

static int set_dtype(struct rt_onnx_value *value, int64_t dtype)
{
    if (dtype < 0 || dtype >= RT_ONNX_DTYPES)
        return rt_fail(RT_EFORMAT, "value '%s' is of data type %" PRId64 ", which is none of ONNX",
                       value->name, dtype);
    value->dtype = (enum rt_onnx_dtype)dtype;
    return RT_OK;
}

int rt_onnx_read_tensor(struct rt_onnx_model *model, const Onnx__TensorProto *tensor, uint32_t number)
{
    struct rt_onnx_value *value = &model->values[number];
    value->initializer = true;
    int status = set_dtype(value, tensor->data_type);
    if (status == RT_OK)
        status = read_dims(value, tensor->n_dims, tensor->dims);
    return status == RT_OK ? read_elements(model, tensor, value) : status;
}

int rt_onnx_read_sparse(struct rt_onnx_model *model, const Onnx__SparseTensorProto *tensor, uint32_t number)
{
    struct rt_onnx_value *value = &model->values[number];
    value->initializer = true;
    int status = tensor->values != NULL ? set_dtype(value, tensor->values->data_type) : RT_OK;
    return status == RT_OK ? read_dims(value, tensor->n_dims, tensor->dims) : status;
}

/* --- types --- */

static int read_written(struct rt_onnx_model *model, const Onnx__TensorShapeProto *from, uint32_t number)
{
    const char *name = model->values[number].name;
    int status = check_rank(name, from->n_dim);
    if (status != RT_OK)
        return status;
    struct rt_onnx_shape *shape = rt_onnx_room(model, 1, sizeof *shape);
    const char **names = rt_onnx_room(model, from->n_dim + 1, sizeof *names);
    shape->rank = (int)from->n_dim;
    for (size_t i = 0; i < from->n_dim; i++) {
        const Onnx__TensorShapeProto__Dimension *dim = from->dim[i];
        shape->dim[i] = RT_ONNX_UNKNOWN;
        if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_PARAM &&
            dim->dim_param != NULL && dim->dim_param[0] != '\0') {
            names[i] = dim->dim_param;
            shape->dim[i] = rt_onnx_dim_size(model, dim->dim_param);
        } else if (dim->value_case == ONNX__TENSOR_SHAPE_PROTO__DIMENSION__VALUE_DIM_VALUE &&
                   dim->dim_value != RT_ONNX_UNKNOWN) { /* some exporters write -1 for what varies */
            if ((status = check_dim(name, dim->dim_value)) != RT_OK)
                return status;
            shape->dim[i] = dim->dim_value;
        }
    }
    model->values[number].written = shape;
    model->values[number].dim_names = names;
    return RT_OK;
}

static int read_tensor_type(struct rt_onnx_model *model, int64_t dtype, const Onnx__TensorShapeProto *shape,
                            uint32_t number)
{
    int status = set_dtype(&model->values[number], dtype);
    return status == RT_OK && shape != NULL ? read_written(model, shape, number) : status;
}

/* A sequence of sequences, a map: of them nothing is known but that they are there. */
int rt_onnx_read_type(struct rt_onnx_model *model, const Onnx__TypeProto *type, uint32_t number)
{
    struct rt_onnx_value *value = &model->values[number];
    if (type->value_case == ONNX__TYPE_PROTO__VALUE_OPTIONAL_TYPE && type->optional_type != NULL &&
        type->optional_type->elem_type != NULL) {
        value->kind = RT_ONNX_OPTIONAL;
        type = type->optional_type->elem_type;
    }
    if (type->value_case == ONNX__TYPE_PROTO__VALUE_SEQUENCE_TYPE && type->sequence_type != NULL &&
        type->sequence_type->elem_type != NULL) {
        value->kind = RT_ONNX_SEQUENCE;
        type = type->sequence_type->elem_type;
    }
    if (type->value_case == ONNX__TYPE_PROTO__VALUE_TENSOR_TYPE && type->tensor_type != NULL)
        return read_tensor_type(model, type->tensor_type->elem_type, type->tensor_type->shape, number);
    if (type->value_case == ONNX__TYPE_PROTO__VALUE_SPARSE_TENSOR_TYPE && type->sparse_tensor_type != NULL)
        return read_tensor_type(model, type->sparse_tensor_type->elem_type, type->sparse_tensor_type->shape,
                                number);
    if (type->value_case != ONNX__TYPE_PROTO__VALUE__NOT_SET)
        value->kind = RT_ONNX_OTHER;
    return RT_OK;
}
