/* Operators that move elements. See rows.h. */
#include "base/status.h"
#include "models/networks/onnx/fold.h"

#include <inttypes.h>

/* --- Reshape, Flatten --- */

/* Elements of the shape without those of dims that are not known; `open` is how many are not. */
static int64_t known_count(const struct rt_onnx_shape *shape, int *open)
{
    int64_t count = 1;
    *open = 0;
    for (int d = 0; d < shape->rank; d++)
        if (shape->dim[d] == RT_ONNX_UNKNOWN)
            ++*open;
        else
            count = rt_onnx_times(count, shape->dim[d]);
    return count;
}

/* Fills in the one dim that follows from the number of elements. A dim that is not known may stand on both
 * sides: "?x12x64" reshaped to "?x768", the same unknown one by 0 or by its place in Shape, is taken for the
 * same where it is the only one. */
static int infer_dim(const struct rt_onnx_shape *in, int free_dim, struct rt_onnx_shape *out)
{
    int open_in, open_out;
    int64_t before = known_count(in, &open_in), after = known_count(out, &open_out);
    if (in->rank == RT_ONNX_UNKNOWN || open_in > 0)
        return RT_OK;
    if (open_out == 0 && after != before)
        return rt_fail(RT_EFORMAT, "%s cannot become %s: %" PRId64 " and %" PRId64 " elements",
                       rt_onnx_shape_words(in).text, rt_onnx_shape_words(out).text, before, after);
    if (open_out != 1 || after == 0)
        return RT_OK;
    if (before % after != 0)
        return rt_fail(RT_EFORMAT, "%s cannot become %s", rt_onnx_shape_words(in).text,
                       rt_onnx_shape_words(out).text);
    for (int d = 0; d < out->rank; d++)
        if (d == free_dim || out->dim[d] == RT_ONNX_UNKNOWN)
            out->dim[d] = before / after;
    return RT_OK;
}

static int reshape(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0), *to = rt_onnx_in(at, 1);
    int64_t dims[RT_ONNX_RANK];
    int count, free_dim = -1, status = RT_OK;
    struct rt_onnx_shape shape = rt_onnx_no_shape;
    if (rt_onnx_numbers_of(at, 1, "shape", dims, &count)) {
        shape.rank = count;
        for (int d = 0; d < count; d++) {
            shape.dim[d] = dims[d] < 0 ? RT_ONNX_UNKNOWN : dims[d];
            if (dims[d] == -1)
                free_dim = d;
            if (dims[d] == 0 && rt_onnx_int(at, "allowzero", 0) == 0)
                shape.dim[d] = d < in->shape.rank ? in->shape.dim[d] : RT_ONNX_UNKNOWN;
        }
        status = infer_dim(&in->shape, free_dim, &shape);
    } else if (to != NULL && to->shape.rank == 1 && to->shape.dim[0] >= 0 &&
               to->shape.dim[0] <= RT_ONNX_RANK) {
        shape = rt_onnx_open((int)to->shape.dim[0]);
    }
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &shape);
    return status;
}

static int flatten(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    int64_t axis = rt_onnx_int(at, "axis", 1);
    struct rt_onnx_shape shape = {.rank = 2, .dim = {1, 1}};
    int rank = in->shape.rank;
    if (rank == RT_ONNX_UNKNOWN)
        shape = rt_onnx_open(2);
    else if (axis < -rank || axis > rank)
        return rt_fail(RT_EFORMAT, "axis %" PRId64 " of a shape with %d dims", axis, rank);
    axis += axis < 0 ? rank : 0;
    for (int d = 0; d < rank; d++)
        shape.dim[d >= axis] = rt_onnx_times(shape.dim[d >= axis], in->shape.dim[d]);
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &shape);
    return RT_OK;
}

/* --- Squeeze, Unsqueeze --- */

static int squeeze(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    int64_t axes[RT_ONNX_RANK];
    int count = 0, axis, status = RT_OK;
    bool gone[RT_ONNX_RANK] = {false}, given = rt_onnx_numbers_of(at, 1, "axes", axes, &count);
    struct rt_onnx_shape shape = {.rank = 0};
    bool known = in->shape.rank != RT_ONNX_UNKNOWN && (given || rt_onnx_in(at, 1) == NULL);
    for (int d = 0; d < in->shape.rank && !given && known; d++) {
        gone[d] = in->shape.dim[d] == 1;
        known = in->shape.dim[d] != RT_ONNX_UNKNOWN;
    }
    for (int i = 0; i < count && status == RT_OK && known; i++) {
        if ((status = rt_onnx_axis(axes[i], in->shape.rank, &axis)) != RT_OK)
            return status;
        gone[axis] = true;
        if (in->shape.dim[axis] > 1 || in->shape.dim[axis] == 0)
            return rt_fail(RT_EFORMAT, "takes away axis %d of %s, which is not 1", axis,
                           rt_onnx_shape_words(&in->shape).text);
    }
    for (int d = 0; d < in->shape.rank && known; d++)
        if (!gone[d])
            shape.dim[shape.rank++] = in->shape.dim[d];
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, known ? &shape : &rt_onnx_no_shape);
    return RT_OK;
}

static int unsqueeze(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    int64_t axes[RT_ONNX_RANK];
    int count, axis, from = 0;
    bool fresh[RT_ONNX_RANK] = {false};
    struct rt_onnx_shape shape = rt_onnx_no_shape;
    bool known = rt_onnx_numbers_of(at, 1, "axes", axes, &count) && in->shape.rank != RT_ONNX_UNKNOWN;
    if (known && in->shape.rank + count > RT_ONNX_RANK)
        return rt_fail(RT_EFORMAT, "its result has more than %d dims", RT_ONNX_RANK);
    if (known)
        shape.rank = in->shape.rank + count;
    for (int i = 0; i < count && known; i++) {
        int status = rt_onnx_axis(axes[i], shape.rank, &axis);
        if (status == RT_OK && fresh[axis])
            status = rt_fail(RT_EFORMAT, "axis %d is put in twice", axis);
        if (status != RT_OK)
            return status;
        fresh[axis] = true;
    }
    for (int d = 0; d < shape.rank; d++)
        shape.dim[d] = fresh[d] ? 1 : in->shape.dim[from++];
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &shape);
    return RT_OK;
}

/* --- Transpose, Concat, Split, Slice --- */

static int transpose(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    struct rt_onnx_shape shape = in->shape;
    int64_t order[RT_ONNX_RANK];
    int count = rt_onnx_ints(at, "perm", order), axis;
    bool taken[RT_ONNX_RANK] = {false};
    if (shape.rank != RT_ONNX_UNKNOWN && count != RT_ONNX_UNKNOWN && count != shape.rank)
        return rt_fail(RT_EFORMAT, "orders %d dims of %s", count, rt_onnx_shape_words(&shape).text);
    for (int d = 0; d < shape.rank; d++) {
        int status = rt_onnx_axis(count < 0 ? shape.rank - 1 - d : order[d], shape.rank, &axis);
        if (status != RT_OK || (count >= 0 && order[d] < 0) || taken[axis])
            return rt_fail(RT_EFORMAT, "its order of dims has a %" PRId64 " that it may not have", order[d]);
        taken[axis] = true;
        shape.dim[d] = in->shape.dim[axis];
    }
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &shape);
    return RT_OK;
}

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

static int concat(const struct rt_onnx_at *at)
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

/* Part `i` of an axis of `size`: as given, else equal ones with a smaller last. */
static int64_t split_size(const struct rt_onnx_at *at, const int64_t *sizes, int count, int64_t size,
                          size_t i)
{
    size_t parts = at->node->output_count;
    if (count > 0)
        return i < (size_t)count && sizes[i] >= 0 ? sizes[i] : RT_ONNX_UNKNOWN;
    if (size < 0 || rt_onnx_in(at, 1) != NULL || parts == 0)
        return RT_ONNX_UNKNOWN;
    int64_t each = (size + (int64_t)parts - 1) / (int64_t)parts, left = size - (int64_t)i * each;
    return left < 0 ? 0 : left < each ? left : each;
}

static int split(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    int64_t sizes[RT_ONNX_RANK], sum = 0;
    int count = 0, axis = 0, status = RT_OK;
    struct rt_onnx_shape shape = in->shape;
    if (!rt_onnx_numbers_of(at, 1, "split", sizes, &count))
        count = 0;
    if (shape.rank != RT_ONNX_UNKNOWN)
        status = rt_onnx_axis(rt_onnx_int(at, "axis", 0), shape.rank, &axis);
    for (int i = 0; i < count; i++)
        sum = rt_onnx_plus(sum, sizes[i]);
    if (status == RT_OK && shape.rank > 0 && count > 0 && sum >= 0 && in->shape.dim[axis] >= 0 &&
        sum != in->shape.dim[axis])
        return rt_fail(RT_EFORMAT, "its parts are %" PRId64 " long together, axis %d of %s is not", sum, axis,
                       rt_onnx_shape_words(&in->shape).text);
    for (size_t i = 0; i < at->node->output_count && status == RT_OK; i++) {
        if (shape.rank != RT_ONNX_UNKNOWN)
            shape.dim[axis] = split_size(at, sizes, count, in->shape.dim[axis], i);
        rt_onnx_set(rt_onnx_out(at, i), in->dtype, &shape);
    }
    return status;
}

static int slice(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    struct rt_onnx_shape shape = in->shape;
    struct rt_onnx_slices slices;
    int64_t first;
    if (shape.rank != RT_ONNX_UNKNOWN && !rt_onnx_slices(at, shape.rank, &slices))
        shape = rt_onnx_open(shape.rank);
    else
        for (int d = 0; d < shape.rank; d++)
            if (slices.sliced[d])
                shape.dim[d] = shape.dim[d] < 0 || !slices.known[d]
                                   ? RT_ONNX_UNKNOWN
                                   : rt_onnx_slice_count(shape.dim[d], slices.start[d], slices.end[d],
                                                         slices.step[d], &first);
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &shape);
    return RT_OK;
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

static int gather(const struct rt_onnx_at *at)
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

static int gather_elements(const struct rt_onnx_at *at)
{
    rt_onnx_set(rt_onnx_out(at, 0), rt_onnx_in(at, 0)->dtype, &rt_onnx_in(at, 1)->shape);
    return RT_OK;
}

static int gather_nd(const struct rt_onnx_at *at)
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

/* --- Tile, Expand, Pad --- */

static int tile(const struct rt_onnx_at *at)
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

static int expand(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0), *to = rt_onnx_in(at, 1);
    struct rt_onnx_shape shape = rt_onnx_no_shape;
    int64_t dims[RT_ONNX_RANK];
    int count, status = RT_OK;
    if (rt_onnx_numbers(to, dims, &count)) {
        shape.rank = count;
        for (int d = 0; d < count; d++)
            shape.dim[d] = dims[d] < 0 ? RT_ONNX_UNKNOWN : dims[d];
    } else if (to->shape.rank == 1 && to->shape.dim[0] >= 0 && to->shape.dim[0] <= RT_ONNX_RANK) {
        shape = rt_onnx_open((int)to->shape.dim[0]);
    }
    status = rt_onnx_broadcast(&in->shape, &shape, &shape);
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &shape);
    return status;
}

/* Beginnings of all axes, then ends; the axes may be given (opset 18). */
static int pad(const struct rt_onnx_at *at)
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

/* --- others --- */

static int identity(const struct rt_onnx_at *at)
{
    rt_onnx_set_like(rt_onnx_out(at, 0), rt_onnx_in(at, 0));
    return RT_OK;
}

static int one_hot(const struct rt_onnx_at *at)
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
static int space_depth(const struct rt_onnx_at *at)
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

const struct rt_onnx_op rt_onnx_move_rows[] = {
    {"Reshape", reshape, rt_onnx_fold_copy, 0, 1},
    {"Flatten", flatten, rt_onnx_fold_copy, 0, 1},
    {"Squeeze", squeeze, rt_onnx_fold_copy, 0, 1},
    {"Unsqueeze", unsqueeze, rt_onnx_fold_copy, 0, 1},
    {"Identity", identity, rt_onnx_fold_copy, 0, 1},
    {"Transpose", transpose, rt_onnx_fold_transpose, 0, 1},
    {"Concat", concat, rt_onnx_fold_concat, 0, 1},
    {"Split", split, rt_onnx_fold_split, 0, 1},
    {"Slice", slice, rt_onnx_fold_slice, 0, 1},
    {"Gather", gather, rt_onnx_fold_gather, 0, 2},
    {"GatherElements", gather_elements, NULL, 0, 2},
    {"GatherND", gather_nd, NULL, 0, 2},
    {"Scatter", rt_onnx_same, NULL, 0, 3},
    {"ScatterElements", rt_onnx_same, NULL, 0, 3},
    {"ScatterND", rt_onnx_same, NULL, 0, 3},
    {"TensorScatter", rt_onnx_same, NULL, 0, 2},
    {"ReverseSequence", rt_onnx_same, NULL, 0, 2},
    {"Trilu", rt_onnx_same, NULL, 0, 1},
    {"Tile", tile, NULL, 0, 2},
    {"Expand", expand, rt_onnx_fold_expand, 0, 2},
    {"Pad", pad, NULL, 0, 1},
    {"OneHot", one_hot, NULL, 0, 3},
    {"DepthToSpace", space_depth, NULL, 0, 1},
    {"SpaceToDepth", space_depth, NULL, 1, 1},
    {.name = NULL},
};
