/* Operators that reduce along axes, pick elements, or count. See rows.h. */
#include "base/status.h"
#include "models/networks/onnx/fold.h"

/* --- reductions --- */

/* Leaves the axes that are marked with one element, or without them. */
static struct rt_onnx_shape reduced(const struct rt_onnx_shape *in, const bool *gone, bool keep)
{
    struct rt_onnx_shape shape = {.rank = 0};
    for (int d = 0; d < in->rank; d++)
        if (!gone[d] || keep)
            shape.dim[shape.rank++] = gone[d] ? 1 : in->dim[d];
    return shape;
}

/* Marks the axes; false where an input has them that is not known. None given are all, or none where the
 * node says so. */
static bool find_axes(const struct rt_onnx_at *at, int rank, bool *gone, int *status)
{
    int64_t axes[RT_ONNX_RANK];
    int count = 0, axis;
    bool known = rt_onnx_numbers_of(at, 1, "axes", axes, &count);
    const struct rt_onnx_value *input = rt_onnx_in(at, 1);
    if (!known && input != NULL && !(input->shape.rank == 1 && input->shape.dim[0] == 0))
        return false;
    count = known ? count : 0;
    for (int d = 0; d < rank; d++)
        gone[d] = count == 0 && rt_onnx_int(at, "noop_with_empty_axes", 0) == 0;
    for (int i = 0; i < count && *status == RT_OK; i++) {
        if (axes[i] == RT_ONNX_UNKNOWN_INT)
            return false;
        if ((*status = rt_onnx_axis(axes[i], rank, &axis)) == RT_OK)
            gone[axis] = true;
    }
    return true;
}

static int reduce(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    bool gone[RT_ONNX_RANK], keep = rt_onnx_int(at, "keepdims", 1) != 0;
    struct rt_onnx_shape shape = rt_onnx_no_shape;
    int status = RT_OK, rank = in->shape.rank;
    if (rank != RT_ONNX_UNKNOWN && find_axes(at, rank, gone, &status))
        shape = reduced(&in->shape, gone, keep);
    else if (rank != RT_ONNX_UNKNOWN && keep)
        shape = rt_onnx_open(rank);
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &shape);
    return status;
}

static int arg(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    bool gone[RT_ONNX_RANK] = {false};
    struct rt_onnx_shape shape = rt_onnx_no_shape;
    int axis, status = RT_OK;
    if (in->shape.rank != RT_ONNX_UNKNOWN) {
        if ((status = rt_onnx_axis(rt_onnx_int(at, "axis", 0), in->shape.rank, &axis)) != RT_OK)
            return status;
        gone[axis] = true;
        shape = reduced(&in->shape, gone, rt_onnx_int(at, "keepdims", 1) != 0);
    }
    rt_onnx_set(rt_onnx_out(at, 0), RT_ONNX_INT64, &shape);
    return status;
}

/* --- what is picked --- */

static int top_k(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    struct rt_onnx_shape shape = in->shape;
    int64_t k = rt_onnx_int(at, "k", RT_ONNX_UNKNOWN);
    int axis, status;
    if (shape.rank != RT_ONNX_UNKNOWN) {
        if ((status = rt_onnx_axis(rt_onnx_int(at, "axis", -1), shape.rank, &axis)) != RT_OK)
            return status;
        if (rt_onnx_in(at, 1) != NULL && !rt_onnx_number(rt_onnx_in(at, 1), &k))
            k = RT_ONNX_UNKNOWN;
        if (k > shape.dim[axis] && shape.dim[axis] >= 0)
            return rt_fail(RT_EFORMAT, "picks more elements than axis %d has", axis);
        shape.dim[axis] = k < 0 ? RT_ONNX_UNKNOWN : k;
    }
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &shape);
    rt_onnx_set(rt_onnx_out(at, 1), RT_ONNX_INT64, &shape);
    return RT_OK;
}

/* How many elements of a value are not zero. */
static int64_t count_true(const struct rt_onnx_value *in)
{
    int64_t count = 0;
    if (in->data == NULL)
        return RT_ONNX_UNKNOWN;
    for (size_t i = 0; i < in->data->count; i++) {
        if (!in->data->real && in->data->element[i].whole == RT_ONNX_UNKNOWN_INT)
            return RT_ONNX_UNKNOWN;
        count += in->data->real ? in->data->element[i].real != 0 : in->data->element[i].whole != 0;
    }
    return count;
}

static int non_zero(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    struct rt_onnx_shape shape = {.rank = 2, .dim = {in->shape.rank, count_true(in)}};
    rt_onnx_set(rt_onnx_out(at, 0), RT_ONNX_INT64, &shape);
    return RT_OK;
}

static int compress(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    struct rt_onnx_shape shape = rt_onnx_vector(count_true(rt_onnx_in(at, 1)));
    int axis, status;
    if (rt_onnx_has(at, "axis")) {
        int64_t count = shape.dim[0];
        shape = in->shape;
        if (shape.rank != RT_ONNX_UNKNOWN) {
            if ((status = rt_onnx_axis(rt_onnx_int(at, "axis", 0), shape.rank, &axis)) != RT_OK)
                return status;
            shape.dim[axis] = count;
        }
    }
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &shape);
    return RT_OK;
}

static int unique(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    struct rt_onnx_shape shape = rt_onnx_vector(RT_ONNX_UNKNOWN), some = shape;
    int axis, status;
    if (rt_onnx_has(at, "axis")) {
        shape = in->shape;
        if (shape.rank != RT_ONNX_UNKNOWN) {
            if ((status = rt_onnx_axis(rt_onnx_int(at, "axis", 0), shape.rank, &axis)) != RT_OK)
                return status;
            shape.dim[axis] = RT_ONNX_UNKNOWN;
        }
    }
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &shape);
    for (size_t i = 1; i < 4; i++)
        rt_onnx_set(rt_onnx_out(at, i), RT_ONNX_INT64, &some);
    return RT_OK;
}

static int boxes(const struct rt_onnx_at *at)
{
    struct rt_onnx_shape shape = {.rank = 2, .dim = {RT_ONNX_UNKNOWN, 3}};
    rt_onnx_set(rt_onnx_out(at, 0), RT_ONNX_INT64, &shape);
    return RT_OK;
}

/* --- what is counted --- */

static int shape_of(const struct rt_onnx_at *at)
{
    const struct rt_onnx_shape *in = &rt_onnx_in(at, 0)->shape;
    struct rt_onnx_shape shape = rt_onnx_vector(RT_ONNX_UNKNOWN);
    int64_t first;
    if (in->rank != RT_ONNX_UNKNOWN)
        shape.dim[0] = rt_onnx_slice_count(in->rank, rt_onnx_int(at, "start", 0),
                                           rt_onnx_int(at, "end", in->rank), 1, &first);
    rt_onnx_set(rt_onnx_out(at, 0), RT_ONNX_INT64, &shape);
    return RT_OK;
}

static int size_of(const struct rt_onnx_at *at)
{
    struct rt_onnx_shape shape = rt_onnx_scalar();
    rt_onnx_set(rt_onnx_out(at, 0), RT_ONNX_INT64, &shape);
    return RT_OK;
}

#define REDUCE(name)                                                                                         \
    {                                                                                                        \
        name, reduce, rt_onnx_fold_reduce, 0, 1                                                              \
    }

const struct rt_onnx_op rt_onnx_reduce_rows[] = {
    {"ReduceL1", reduce, NULL, 0, 1},
    {"ReduceL2", reduce, NULL, 0, 1},
    {"ReduceLogSum", reduce, NULL, 0, 1},
    {"ReduceLogSumExp", reduce, NULL, 0, 1},
    REDUCE("ReduceMax"),
    {"ReduceMean", reduce, NULL, 0, 1},
    REDUCE("ReduceMin"),
    REDUCE("ReduceProd"),
    REDUCE("ReduceSum"),
    {"ReduceSumSquare", reduce, NULL, 0, 1},
    {"ArgMax", arg, NULL, 0, 1},
    {"ArgMin", arg, NULL, 0, 1},
    {"TopK", top_k, NULL, 0, 1},
    {"NonZero", non_zero, NULL, 0, 1},
    {"Compress", compress, NULL, 0, 2},
    {"Unique", unique, NULL, 0, 1},
    {"NonMaxSuppression", boxes, NULL, 0, 2},
    {"Shape", shape_of, rt_onnx_fold_shape, 0, 1},
    {"Size", size_of, rt_onnx_fold_size, 0, 1},
    {.name = NULL},
};
