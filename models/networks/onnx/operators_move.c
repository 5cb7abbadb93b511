/* Operators that move elements: joined, looked up, scattered, repeated, padded. See operator.h. */
#include "base/status.h"
#include "models/networks/build_node.h"
#include "models/networks/onnx/lowering.h"
#include "models/networks/onnx/operator.h"

#include <inttypes.h>
#include <string.h>

/* --- parts along an axis --- */

/* Elements of the shape before, at and behind an axis. */
struct parts {
    size_t outer, size, inner;
};

static struct parts split_at(const struct rt_onnx_shape *shape, int axis)
{
    struct parts parts = {1, (size_t)shape->dim[axis], 1};
    for (int d = 0; d < axis; d++)
        parts.outer *= (size_t)shape->dim[d];
    for (int d = axis + 1; d < shape->rank; d++)
        parts.inner *= (size_t)shape->dim[d];
    return parts;
}

/* --- Concat --- */

static int concat_dims(const struct rt_onnx_shape *in, int axis, struct rt_onnx_shape *shape)
{
    int status = RT_OK;
    if (in->rank != shape->rank)
        return rt_fail(RT_EFORMAT, "puts %s behind %s", rt_onnx_shape_words(in).text,
                       rt_onnx_shape_words(shape).text);
    for (int d = 0; d < shape->rank && status == RT_OK; d++)
        if (d == axis)
            shape->dim[d] = rt_onnx_plus(shape->dim[d], in->dim[d]);
        else
            status = rt_onnx_same_dim(shape->dim[d], in->dim[d], "dims beside the one that is joined",
                                      &shape->dim[d]);
    return status;
}

static int concat_shape(const struct rt_onnx_at *at)
{
    struct rt_onnx_shape shape = rt_onnx_in(at, 0)->shape;
    int axis, status = RT_OK;
    for (size_t i = 0; i < at->node->input_count; i++)
        if (rt_onnx_in(at, i) == NULL || rt_onnx_in(at, i)->shape.rank == RT_ONNX_UNKNOWN)
            shape = rt_onnx_no_shape;
    if (shape.rank != RT_ONNX_UNKNOWN)
        status = rt_onnx_axis(rt_onnx_int(at, "axis", 1), shape.rank, &axis);
    for (size_t i = 1; i < at->node->input_count && status == RT_OK && shape.rank != RT_ONNX_UNKNOWN; i++)
        status = concat_dims(&rt_onnx_in(at, i)->shape, axis, &shape);
    rt_onnx_set(rt_onnx_out(at, 0), rt_onnx_in(at, 0)->dtype, &shape);
    return status;
}

/* Scale and zero point of the result, then each input with both. */
static int quantised_concat_shape(const struct rt_onnx_at *at)
{
    struct rt_onnx_shape shape = rt_onnx_in(at, 2)->shape;
    int axis, status = RT_OK;
    if (shape.rank != RT_ONNX_UNKNOWN)
        status = rt_onnx_axis(rt_onnx_int(at, "axis", 0), shape.rank, &axis);
    for (size_t i = 5; i < at->node->input_count && status == RT_OK && shape.rank != RT_ONNX_UNKNOWN;
         i += 3) {
        const struct rt_onnx_value *in = rt_onnx_in(at, i);
        shape.dim[axis] = in == NULL || in->shape.rank != shape.rank
                              ? RT_ONNX_UNKNOWN
                              : rt_onnx_plus(shape.dim[axis], in->shape.dim[axis]);
    }
    rt_onnx_set(rt_onnx_out(at, 0), rt_onnx_in(at, 2)->dtype, &shape);
    return status;
}

static bool fold_concat(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    const struct rt_onnx_shape *shape = &rt_onnx_out(at, 0)->shape;
    size_t before = 0;
    int axis;
    if (rt_onnx_axis(rt_onnx_int(at, "axis", 1), shape->rank, &axis) != 0)
        return false;
    struct parts whole = split_at(shape, axis);
    for (size_t i = 0; i < at->node->input_count; i++) {
        const struct rt_onnx_value *in = rt_onnx_in(at, i);
        if (in == NULL)
            continue;
        if (in->data == NULL || in->data->real != out->real)
            return false;
        size_t size = (size_t)in->shape.dim[axis];
        for (size_t e = 0; e < in->data->count; e++) {
            size_t outer = e / (size * whole.inner), rest = e % (size * whole.inner);
            out->element[outer * whole.size * whole.inner + before * whole.inner + rest] =
                in->data->element[e];
        }
        before += size;
    }
    return before == whole.size;
}

/* Along the last dim, as halves of heads are swapped, it is the copy that rt_build_rotate_half makes of it;
 * what joins channels or tokens is as rt_image_concat. */
static bool lower_concat(struct rt_onnx_lowering *l)
{
    const struct rt_onnx_shape *out = rt_onnx_lower_out_shape(l);
    int axis;
    if (rt_onnx_axis(rt_onnx_int(&l->at, "axis", 1), out->rank, &axis) != RT_OK)
        return false;
    int64_t rows = rt_onnx_dims_product(out, 0, axis), all = rt_onnx_count(out);
    l->result = rt_onnx_lower_add(l, (double)all);
    l->graph->nodes[l->result].fusable = true;
    bool last = axis == out->rank - 1 && !l->made[l->at.node->outputs[0]].image;
    rt_node_add_kernel(l->graph, RT_FORWARD, last ? RT_OP_COPY : rt_onnx_lower_op(l), rows, all / rows)
        ->bytes = 2 * rt_onnx_lower_bytes(l, l->at.node->outputs[0]);
    rt_node_begin_backward(l->graph, l->result); /* parts of the gradient are views */
    return true;
}

/* --- Gather and its kin --- */

/* Puts `count` dims of `from` behind `shape`. */
static int append_dims(struct rt_onnx_shape *shape, const int64_t *from, int count)
{
    if (shape->rank + count > RT_ONNX_RANK)
        return rt_fail(RT_EFORMAT, "its result has more than %d dims", RT_ONNX_RANK);
    for (int d = 0; d < count; d++)
        shape->dim[shape->rank++] = from[d];
    return RT_OK;
}

static int gather_shape(const struct rt_onnx_at *at)
{
    const struct rt_onnx_shape *in = &rt_onnx_in(at, 0)->shape, *indices = &rt_onnx_in(at, 1)->shape;
    struct rt_onnx_shape shape = {.rank = 0};
    int axis, status;
    if (in->rank == RT_ONNX_UNKNOWN || indices->rank == RT_ONNX_UNKNOWN) {
        shape = rt_onnx_no_shape;
    } else {
        if ((status = rt_onnx_axis(rt_onnx_int(at, "axis", 0), in->rank, &axis)) != RT_OK ||
            (status = append_dims(&shape, in->dim, axis)) != RT_OK ||
            (status = append_dims(&shape, indices->dim, indices->rank)) != RT_OK ||
            (status = append_dims(&shape, in->dim + axis + 1, in->rank - axis - 1)) != RT_OK)
            return status;
    }
    rt_onnx_set(rt_onnx_out(at, 0), rt_onnx_in(at, 0)->dtype, &shape);
    return RT_OK;
}

static int gather_elements_shape(const struct rt_onnx_at *at)
{
    rt_onnx_set(rt_onnx_out(at, 0), rt_onnx_in(at, 0)->dtype, &rt_onnx_in(at, 1)->shape);
    return RT_OK;
}

static int gather_nd_shape(const struct rt_onnx_at *at)
{
    const struct rt_onnx_shape *in = &rt_onnx_in(at, 0)->shape, *indices = &rt_onnx_in(at, 1)->shape;
    struct rt_onnx_shape shape = {.rank = 0};
    int64_t batch = rt_onnx_int(at, "batch_dims", 0);
    int status = RT_OK, last = indices->rank - 1;
    if (in->rank == RT_ONNX_UNKNOWN || indices->rank < 1 || indices->dim[last] < 0) {
        shape = rt_onnx_no_shape;
    } else {
        int64_t used = batch + indices->dim[last];
        if (batch < 0 || used > in->rank)
            return rt_fail(RT_EFORMAT, "its indices name %" PRId64 " dims of %s", used,
                           rt_onnx_shape_words(in).text);
        status = append_dims(&shape, indices->dim, last);
        if (status == RT_OK)
            status = append_dims(&shape, in->dim + used, in->rank - (int)used);
    }
    rt_onnx_set(rt_onnx_out(at, 0), rt_onnx_in(at, 0)->dtype, &shape);
    return status;
}

static bool fold_gather(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    const struct rt_onnx_data *indices = rt_onnx_in(at, 1)->data;
    int axis;
    if (in->data == NULL || indices == NULL || indices->real || in->data->real != out->real ||
        rt_onnx_axis(rt_onnx_int(at, "axis", 0), in->shape.rank, &axis) != 0)
        return false;
    struct parts parts = split_at(&in->shape, axis);
    for (size_t i = 0; i < out->count; i++) {
        size_t inner = i % parts.inner, which = i / parts.inner % indices->count;
        size_t outer = i / parts.inner / indices->count;
        int64_t index = indices->element[which].whole;
        if (index < 0 && index != RT_ONNX_UNKNOWN_INT)
            index += (int64_t)parts.size;
        if (index < 0 || index >= (int64_t)parts.size)
            return false;
        out->element[i] = in->data->element[(outer * parts.size + (size_t)index) * parts.inner + inner];
    }
    return true;
}

/* Rows of a table that is a weight; one index that is known takes a view. */
static bool lower_gather(struct rt_onnx_lowering *l)
{
    const struct rt_onnx_shape *table = rt_onnx_lower_shape(l, 0), *index = rt_onnx_lower_shape(l, 1);
    if (rt_onnx_lower_is_constant(l, 1) && rt_onnx_count(index) == 1) {
        rt_onnx_lower_pass_view(l, 0);
        rt_onnx_lower_parts(l);
        return true;
    }
    bool rows = rt_onnx_int(&l->at, "axis", 0) == 0 && table->rank == 2;
    if (!rows || !rt_onnx_lower_is_constant(l, 0))
        return rt_onnx_lower_made(l);
    l->result = rt_build_embedding(l->graph, l->name, rt_onnx_count(index), table->dim[0], table->dim[1]);
    return true;
}

/* --- Tile, Pad --- */

static int tile_shape(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    struct rt_onnx_shape shape = in->shape;
    int64_t times[RT_ONNX_RANK];
    int count;
    bool known = rt_onnx_numbers(rt_onnx_in(at, 1), times, &count) && count == shape.rank;
    for (int d = 0; d < shape.rank; d++)
        shape.dim[d] = known ? rt_onnx_times(shape.dim[d], times[d]) : RT_ONNX_UNKNOWN;
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &shape);
    return RT_OK;
}

/* Beginnings of all axes, then ends; the axes may be given (opset 18). */
static int pad_shape(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0), *list = rt_onnx_in(at, 3);
    struct rt_onnx_shape shape = in->shape;
    const struct rt_onnx_data *data = rt_onnx_in(at, 1) != NULL ? rt_onnx_in(at, 1)->data : NULL;
    const struct rt_onnx_attribute *pads =
        rt_onnx_attribute(at, rt_onnx_has(at, "paddings") ? "paddings" : "pads");
    int64_t axes[RT_ONNX_RANK], number;
    int count = shape.rank, axis, status;
    bool given = list != NULL && rt_onnx_numbers(list, axes, &count);
    size_t pad_count = data != NULL                                   ? data->count
                       : pads != NULL && pads->kind == RT_ONNX_A_INTS ? pads->count
                                                                      : 0;
    if (shape.rank == RT_ONNX_UNKNOWN || (list != NULL && !given) || (data == NULL && pad_count == 0) ||
        (data != NULL && data->real) || pad_count != 2 * (size_t)count) {
        shape = shape.rank == RT_ONNX_UNKNOWN ? shape : rt_onnx_open(shape.rank);
        count = 0;
    }
    for (int i = 0; i < 2 * count; i++) {
        if ((status = rt_onnx_axis(given ? axes[i % count] : i % count, shape.rank, &axis)) != RT_OK)
            return status;
        number = data != NULL ? data->element[i].whole : pads->ints[i];
        if (number == RT_ONNX_UNKNOWN_INT || shape.dim[axis] == RT_ONNX_UNKNOWN) {
            shape.dim[axis] = RT_ONNX_UNKNOWN;
            continue;
        }
        if (number > RT_ONNX_LARGEST || number < -RT_ONNX_LARGEST || shape.dim[axis] + number < 0)
            return rt_fail(RT_EFORMAT, "pads axis %d of %s by %" PRId64, axis,
                           rt_onnx_shape_words(&in->shape).text, number);
        shape.dim[axis] += number;
    }
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &shape);
    return RT_OK;
}

/* PyTorch fills what it makes, then copies into it (aten/native/PadNd.cpp). */
static bool lower_pad(struct rt_onnx_lowering *l)
{
    if (rt_onnx_count(rt_onnx_lower_shape(l, 0)) == rt_onnx_count(rt_onnx_lower_out_shape(l)))
        return true; /* of nothing */
    int64_t rows, cols;
    rt_onnx_lower_matrix(l, l->at.node->outputs[0], &rows, &cols);
    l->result = rt_onnx_lower_add(l, (double)(rows * cols));
    rt_node_add_kernel(l->graph, RT_FORWARD, RT_OP_FILL, rows, cols)->bytes =
        rt_onnx_lower_bytes(l, l->at.node->outputs[0]);
    rt_onnx_lower_matrix(l, rt_onnx_lower_in(l, 0), &rows, &cols);
    rt_node_add_kernel(l->graph, RT_FORWARD, RT_OP_COPY, rows, cols)->bytes =
        2 * rt_onnx_lower_bytes(l, rt_onnx_lower_in(l, 0));
    if (rt_node_begin_backward(l->graph, l->result)) { /* of a negative padding */
        rt_node_add_kernel(l->graph, RT_BACKWARD, RT_OP_FILL, rows, cols);
        rt_node_add_kernel(l->graph, RT_BACKWARD, RT_OP_COPY, rows, cols);
    }
    return true;
}

/* --- others --- */

static int one_hot_shape(const struct rt_onnx_at *at)
{
    const struct rt_onnx_shape *indices = &rt_onnx_in(at, 0)->shape;
    struct rt_onnx_shape shape = *indices;
    int64_t depth;
    int axis, status;
    if (!rt_onnx_number(rt_onnx_in(at, 1), &depth) || depth < 0)
        depth = RT_ONNX_UNKNOWN;
    if (indices->rank == RT_ONNX_RANK)
        return rt_fail(RT_EFORMAT, "its result has more than %d dims", RT_ONNX_RANK);
    if (indices->rank != RT_ONNX_UNKNOWN) {
        if ((status = rt_onnx_axis(rt_onnx_int(at, "axis", -1), indices->rank + 1, &axis)) != RT_OK)
            return status;
        shape.rank++;
        for (int d = 0, from = 0; d < shape.rank; d++)
            shape.dim[d] = d == axis ? depth : indices->dim[from++];
    }
    rt_onnx_set(rt_onnx_out(at, 0), rt_onnx_in(at, 2)->dtype, &shape);
    return RT_OK;
}

/* Blocks of pixels to channels, and back. */
static int space_depth_shape(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    struct rt_onnx_shape shape = rt_onnx_open(4);
    int64_t block = rt_onnx_int(at, "blocksize", 1), area = rt_onnx_times(block, block);
    const int64_t *dim = in->shape.dim;
    int status = rt_onnx_want_rank(at, 0, 4, 4);
    if (status == RT_OK && block < 1)
        status = rt_fail(RT_EFORMAT, "its blocks have a side of %" PRId64, block);
    if (status != RT_OK)
        return status;
    if (in->shape.rank == 4) {
        bool to_depth = at->node->row->how != 0;
        shape.dim[0] = dim[0];
        shape.dim[1] = to_depth ? rt_onnx_times(dim[1], area) : dim[1] < 0 ? dim[1] : dim[1] / area;
        for (int d = 2; d < 4; d++)
            shape.dim[d] = to_depth ? (dim[d] < 0 ? dim[d] : dim[d] / block) : rt_onnx_times(dim[d], block);
    }
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &shape);
    return RT_OK;
}

/* PyTorch writes a slice, or what indices name, where it is (x[...] = y): torch.export makes a new tensor of
 * it in the file alone. */
static bool lower_scatter(struct rt_onnx_lowering *l)
{
    rt_onnx_lower_move(l, RT_OP_INDEX, 2 * rt_onnx_lower_bytes(l, rt_onnx_lower_in(l, 2)));
    return true;
}

const struct rt_onnx_operator rt_onnx_move_rows[] = {
    {"Concat", 1, .shapes = concat_shape, .fold = fold_concat, .lower = lower_concat, .op = RT_OP_CONCAT},
    {"Gather", 2, .shapes = gather_shape, .fold = fold_gather, .lower = lower_gather, .op = RT_OP_INDEX,
     .weights = 1 << 0, .form = true},
    {"GatherElements", 2, .shapes = gather_elements_shape, .lower = rt_onnx_lower_made, .op = RT_OP_INDEX},
    {"GatherND", 2, .shapes = gather_nd_shape, .lower = rt_onnx_lower_made, .op = RT_OP_INDEX},
    {"Scatter", 3, .shapes = rt_onnx_same, .lower = rt_onnx_lower_once, .op = RT_OP_INDEX},
    {"ScatterElements", 3, .shapes = rt_onnx_same, .lower = rt_onnx_lower_once, .op = RT_OP_INDEX},
    {"ScatterND", 3, .shapes = rt_onnx_same, .lower = lower_scatter, .op = RT_OP_INDEX},
    {"TensorScatter", 2, .shapes = rt_onnx_same, .lower = rt_onnx_lower_once, .op = RT_OP_INDEX},
    {"ReverseSequence", 2, .shapes = rt_onnx_same, .lower = rt_onnx_lower_once, .op = RT_OP_INDEX},
    {"Trilu", 1, .shapes = rt_onnx_same, .lower = rt_onnx_lower_made, .op = RT_OP_COPY},
    {"Tile", 2, .shapes = tile_shape, .lower = rt_onnx_lower_made, .op = RT_OP_COPY},
    {"Pad", 1, .shapes = pad_shape, .lower = lower_pad, .op = RT_OP_PAD},
    {"OneHot", 3, .shapes = one_hot_shape, .lower = rt_onnx_lower_made, .op = RT_OP_FILL},
    {"DepthToSpace", 1, .shapes = space_depth_shape, .lower = rt_onnx_lower_made, .op = RT_OP_COPY},
    {"SpaceToDepth", 1, .shapes = space_depth_shape, .how = 1, .lower = rt_onnx_lower_made, .op = RT_OP_COPY},
    {"QLinearConcat", 3, .shapes = quantised_concat_shape, .domain = RT_ONNX_MICROSOFT,
     .lower = rt_onnx_lower_once, .op = RT_OP_CONCAT},
    {"Trilu", 1, .shapes = rt_onnx_same, .domain = RT_ONNX_MICROSOFT, .lower = rt_onnx_lower_made,
     .op = RT_OP_COPY},
    {.name = NULL},
};
