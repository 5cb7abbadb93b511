/* Sequences of tensors and values that may be missing. See operator.h. */
#include "base/status.h"
#include "models/networks/onnx/lowering.h"
#include "models/networks/onnx/operator.h"

static void set_sequence(struct rt_onnx_value *out, enum rt_onnx_dtype dtype,
                         const struct rt_onnx_shape *each, int64_t length)
{
    if (out == NULL)
        return;
    rt_onnx_set(out, dtype, each);
    out->kind = RT_ONNX_SEQUENCE;
    out->length = length;
    out->split = NULL;
}

static int construct(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *first = rt_onnx_in(at, 0);
    struct rt_onnx_shape each = first->shape;
    for (size_t i = 1; i < at->node->input_count; i++)
        each = rt_onnx_in(at, i) != NULL ? rt_onnx_common(&each, &rt_onnx_in(at, i)->shape) : each;
    set_sequence(rt_onnx_out(at, 0), first->dtype, &each, (int64_t)at->node->input_count);
    return RT_OK;
}

static int empty(const struct rt_onnx_at *at)
{
    int64_t dtype = rt_onnx_int(at, "dtype", RT_ONNX_FLOAT);
    set_sequence(rt_onnx_out(at, 0),
                 dtype > 0 && dtype < RT_ONNX_DTYPES ? (enum rt_onnx_dtype)dtype : RT_ONNX_FLOAT,
                 &rt_onnx_no_shape, 0);
    return RT_OK;
}

static int insert(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0), *fresh = rt_onnx_in(at, 1);
    struct rt_onnx_shape each = in->length == 0 ? fresh->shape : rt_onnx_common(&in->shape, &fresh->shape);
    set_sequence(rt_onnx_out(at, 0), fresh->dtype, &each, rt_onnx_plus(in->length, 1));
    return RT_OK;
}

static int erase(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    set_sequence(rt_onnx_out(at, 0), in->dtype, &in->shape,
                 in->length > 0 ? in->length - 1 : RT_ONNX_UNKNOWN);
    return RT_OK;
}

/* Parts may be uneven: one whose index is known is as long as its split says. */
static int element_of(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    const struct rt_onnx_at split = {.model = at->model, .node = in->split};
    struct rt_onnx_shape shape = in->shape;
    int64_t index, sizes[RT_ONNX_RANK];
    int count = 0, axis;
    bool known = in->split != NULL && rt_onnx_number(rt_onnx_in(at, 1), &index) &&
                 rt_onnx_in(&split, 1) != NULL && rt_onnx_in(&split, 1)->shape.rank == 1 &&
                 rt_onnx_numbers(rt_onnx_in(&split, 1), sizes, &count);
    if (known && index < 0)
        index += count;
    if (known && index >= 0 && index < count && sizes[index] >= 0 && sizes[index] <= RT_ONNX_LARGEST &&
        rt_onnx_axis(rt_onnx_int(&split, "axis", 0), shape.rank, &axis) == RT_OK)
        shape.dim[axis] = sizes[index];
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &shape);
    return RT_OK;
}

static int scalar_of(const struct rt_onnx_at *at)
{
    struct rt_onnx_shape scalar = rt_onnx_scalar();
    rt_onnx_set(rt_onnx_out(at, 0), (enum rt_onnx_dtype)at->node->row->how, &scalar);
    return RT_OK;
}

static bool fold_length(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    int64_t length = rt_onnx_in(at, 0)->length;
    out->element[0].whole = length == RT_ONNX_UNKNOWN ? RT_ONNX_UNKNOWN_INT : length;
    return true;
}

/* How many parts a dim of `size` is split into, and how long each is where all are alike. */
static void parts_of(const struct rt_onnx_at *at, int64_t size, int64_t *count, int64_t *each)
{
    const struct rt_onnx_value *split = rt_onnx_in(at, 1);
    int64_t sizes[RT_ONNX_RANK];
    int given;
    *count = split == NULL ? size : RT_ONNX_UNKNOWN;
    *each = split == NULL ? 1 : RT_ONNX_UNKNOWN;
    if (split == NULL || !rt_onnx_numbers(split, sizes, &given) || given < 1)
        return;
    bool alike = true;
    for (int i = 1; i < given; i++)
        alike &= sizes[i] == sizes[0];
    if (split->shape.rank == 1) {
        *count = given;
        *each = alike && sizes[0] >= 0 ? sizes[0] : RT_ONNX_UNKNOWN;
    } else if (sizes[0] > 0 && size >= 0) {
        *count = (size + sizes[0] - 1) / sizes[0];
        *each = size % sizes[0] == 0 ? sizes[0] : RT_ONNX_UNKNOWN;
    }
}

static int split_to_sequence(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    struct rt_onnx_shape each = in->shape;
    int64_t count = RT_ONNX_UNKNOWN, size;
    int axis, status = RT_OK;
    if (each.rank != RT_ONNX_UNKNOWN) {
        if ((status = rt_onnx_axis(rt_onnx_int(at, "axis", 0), each.rank, &axis)) != RT_OK)
            return status;
        parts_of(at, each.dim[axis], &count, &size);
        each.dim[axis] = size;
        if (rt_onnx_in(at, 1) == NULL && rt_onnx_int(at, "keepdims", 1) == 0) {
            for (int d = axis + 1; d < each.rank; d++)
                each.dim[d - 1] = each.dim[d];
            each.rank--;
        }
    }
    set_sequence(rt_onnx_out(at, 0), in->dtype, &each, count);
    if (rt_onnx_out(at, 0) != NULL)
        rt_onnx_out(at, 0)->split = at->node;
    return RT_OK;
}

static int concat_from_sequence(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    struct rt_onnx_shape shape = in->shape;
    int fresh = rt_onnx_int(at, "new_axis", 0) != 0, axis, status;
    if (shape.rank >= RT_ONNX_RANK)
        return rt_fail(RT_EFORMAT, "its result has more than %d dims", RT_ONNX_RANK);
    if (shape.rank != RT_ONNX_UNKNOWN) {
        if ((status = rt_onnx_axis(rt_onnx_int(at, "axis", 0), shape.rank + fresh, &axis)) != RT_OK)
            return status;
        for (int d = shape.rank; fresh && d > axis; d--)
            shape.dim[d] = shape.dim[d - 1];
        shape.rank += fresh;
        shape.dim[axis] = fresh ? in->length : rt_onnx_times(in->shape.dim[axis], in->length);
    }
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &shape);
    return RT_OK;
}

/* --- what may be missing --- */

static int optional(const struct rt_onnx_at *at)
{
    struct rt_onnx_value *out = rt_onnx_out(at, 0);
    if (rt_onnx_in(at, 0) != NULL)
        rt_onnx_set_like(out, rt_onnx_in(at, 0));
    else if (out != NULL)
        out->kind = RT_ONNX_OPTIONAL;
    return RT_OK;
}

static int held(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    struct rt_onnx_value *out = rt_onnx_out(at, 0);
    if (in->kind == RT_ONNX_OPTIONAL)
        rt_onnx_set(out, in->dtype, &in->shape);
    else
        rt_onnx_set_like(out, in);
    return RT_OK;
}

const struct rt_onnx_operator rt_onnx_sequence_rows[] = {
    {"SequenceConstruct", 1, .shapes = construct, .lower = rt_onnx_lower_nothing},
    {"SequenceEmpty", 0, .shapes = empty, .lower = rt_onnx_lower_nothing},
    {"SequenceInsert", 2, .shapes = insert, .lower = rt_onnx_lower_nothing},
    {"SequenceErase", 1, .shapes = erase, .lower = rt_onnx_lower_nothing},
    {"SequenceAt", 2, .shapes = element_of, .lower = rt_onnx_lower_nothing},
    {"SequenceLength", 1, .shapes = scalar_of, .how = RT_ONNX_INT64, .fold = fold_length,
     .lower = rt_onnx_lower_nothing},
    {"SplitToSequence", 1, .shapes = split_to_sequence, .lower = rt_onnx_lower_nothing},
    {"ConcatFromSequence", 1, .shapes = concat_from_sequence},
    {"Optional", 0, .shapes = optional, .lower = rt_onnx_lower_nothing},
    {"OptionalGetElement", 1, .shapes = held, .lower = rt_onnx_lower_nothing},
    {"OptionalHasElement", 0, .shapes = scalar_of, .how = RT_ONNX_BOOL, .lower = rt_onnx_lower_nothing},
    {.name = NULL},
};
