/* Operators that reduce along axes, pick elements, or count. See operator.h. */
#include "base/status.h"
#include "models/networks/build_node.h"
#include "models/networks/onnx/lowering.h"
#include "models/networks/onnx/operator.h"

#include <string.h>

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

static int reduce_shape(const struct rt_onnx_at *at)
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

static int arg_shape(const struct rt_onnx_at *at)
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

static bool reduce_whole(const char *op, const struct rt_onnx_data *in, int64_t *out)
{
    bool product = strcmp(op, "ReduceProd") == 0, fits = in->count > 0;
    int64_t sum = product;
    for (size_t i = 0; i < in->count && fits; i++) {
        int64_t value = in->element[i].whole;
        fits = value != RT_ONNX_UNKNOWN_INT;
        if (!fits)
            break;
        if (product)
            fits = !__builtin_mul_overflow(sum, value, &sum);
        else if (strcmp(op, "ReduceSum") == 0)
            fits = !__builtin_add_overflow(sum, value, &sum);
        else if (i == 0 || (strcmp(op, "ReduceMax") == 0 ? value > sum : value < sum))
            sum = value;
    }
    *out = fits ? sum : RT_ONNX_UNKNOWN_INT;
    return true;
}

static bool fold_reduce(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    const struct rt_onnx_data *in = rt_onnx_in(at, 0)->data;
    return in != NULL && !in->real && !out->real && out->count == 1 &&
           reduce_whole(at->node->op, in, &out->element[0].whole);
}

static bool lower_reduce(struct rt_onnx_lowering *l)
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
    rt_node_add_kernel(l->graph, RT_FORWARD, rt_onnx_lower_op(l), rows, in / rows);
    rt_onnx_lower_reduced(l, rows, in / rows);
    return true;
}

/* --- what is picked --- */

static int top_k_shape(const struct rt_onnx_at *at)
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

static int non_zero_shape(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    struct rt_onnx_shape shape = {.rank = 2, .dim = {in->shape.rank, count_true(in)}};
    rt_onnx_set(rt_onnx_out(at, 0), RT_ONNX_INT64, &shape);
    return RT_OK;
}

static int compress_shape(const struct rt_onnx_at *at)
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

static int unique_shape(const struct rt_onnx_at *at)
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

static int boxes_shape(const struct rt_onnx_at *at)
{
    struct rt_onnx_shape shape = {.rank = 2, .dim = {RT_ONNX_UNKNOWN, 3}};
    rt_onnx_set(rt_onnx_out(at, 0), RT_ONNX_INT64, &shape);
    return RT_OK;
}

/* --- what is counted --- */

static int shape_shape(const struct rt_onnx_at *at)
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

static bool fold_shape(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    const struct rt_onnx_shape *shape = &rt_onnx_in(at, 0)->shape;
    int64_t start = rt_onnx_int(at, "start", 0), first;
    rt_onnx_slice_count(shape->rank, start, shape->rank, 1, &first);
    for (size_t i = 0; i < out->count; i++) {
        int64_t dim = shape->dim[(size_t)first + i];
        out->element[i].whole = dim == RT_ONNX_UNKNOWN ? RT_ONNX_UNKNOWN_INT : dim;
    }
    return true;
}

static int size_shape(const struct rt_onnx_at *at)
{
    struct rt_onnx_shape shape = rt_onnx_scalar();
    rt_onnx_set(rt_onnx_out(at, 0), RT_ONNX_INT64, &shape);
    return RT_OK;
}

static bool fold_size(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    int64_t count = rt_onnx_count(&rt_onnx_in(at, 0)->shape);
    out->element[0].whole = count < 0 ? RT_ONNX_UNKNOWN_INT : count;
    return true;
}

const struct rt_onnx_operator rt_onnx_reduce_rows[] = {
    {"ReduceL1", 1, .shapes = reduce_shape, .lower = lower_reduce, .op = RT_OP_REDUCE},
    {"ReduceL2", 1, .shapes = reduce_shape, .lower = lower_reduce, .op = RT_OP_REDUCE},
    {"ReduceLogSum", 1, .shapes = reduce_shape, .lower = lower_reduce, .op = RT_OP_REDUCE},
    {"ReduceLogSumExp", 1, .shapes = reduce_shape, .lower = lower_reduce, .op = RT_OP_REDUCE},
    {"ReduceMax", 1, .shapes = reduce_shape, .fold = fold_reduce, .lower = lower_reduce, .op = RT_OP_REDUCE},
    {"ReduceMean", 1, .shapes = reduce_shape, .lower = lower_reduce, .op = RT_OP_REDUCE},
    {"ReduceMin", 1, .shapes = reduce_shape, .fold = fold_reduce, .lower = lower_reduce, .op = RT_OP_REDUCE},
    {"ReduceProd", 1, .shapes = reduce_shape, .fold = fold_reduce, .lower = lower_reduce, .op = RT_OP_REDUCE},
    {"ReduceSum", 1, .shapes = reduce_shape, .fold = fold_reduce, .lower = lower_reduce, .op = RT_OP_REDUCE},
    {"ReduceSumSquare", 1, .shapes = reduce_shape, .lower = lower_reduce, .op = RT_OP_REDUCE},
    {"ArgMax", 1, .shapes = arg_shape, .lower = lower_reduce, .op = RT_OP_REDUCE},
    {"ArgMin", 1, .shapes = arg_shape, .lower = lower_reduce, .op = RT_OP_REDUCE},
    {"TopK", 1, .shapes = top_k_shape, .lower = rt_onnx_lower_once, .op = RT_OP_COPY},
    {"NonZero", 1, .shapes = non_zero_shape, .lower = rt_onnx_lower_once, .op = RT_OP_COPY},
    {"Compress", 2, .shapes = compress_shape, .lower = rt_onnx_lower_made, .op = RT_OP_INDEX},
    {"Unique", 1, .shapes = unique_shape},
    {"NonMaxSuppression", 2, .shapes = boxes_shape},
    {"Shape", 1, .shapes = shape_shape, .fold = fold_shape, .lower = rt_onnx_lower_nothing},
    {"Size", 1, .shapes = size_shape, .fold = fold_size, .lower = rt_onnx_lower_nothing},
    {.name = NULL},
};
