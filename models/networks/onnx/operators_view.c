/* Views, which run nothing: other dims, orders and parts of what is there, and what PyTorch copies for them.
 * See operator.h. */
#include "base/status.h"
#include "models/networks/onnx/lowering.h"
#include "models/networks/onnx/operator.h"

#include <inttypes.h>
#include <string.h>

/* --- Reshape, Flatten, Squeeze, Unsqueeze, Identity --- */

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

static int reshape_shape(const struct rt_onnx_at *at)
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

static int flatten_shape(const struct rt_onnx_at *at)
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

static int squeeze_shape(const struct rt_onnx_at *at)
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

static int unsqueeze_shape(const struct rt_onnx_at *at)
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

static int identity_shape(const struct rt_onnx_at *at)
{
    rt_onnx_set_like(rt_onnx_out(at, 0), rt_onnx_in(at, 0));
    return RT_OK;
}

static bool fold_copy(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    if (in == NULL || in->data == NULL || in->data->count != out->count || in->data->real != out->real)
        return false;
    memcpy(out->element, in->data->element, out->count * sizeof out->element[0]);
    return true;
}

/* Images that are stored channels last are turned before they are rows of numbers. */
static bool turns_image(struct rt_onnx_lowering *l)
{
    bool image = l->made[rt_onnx_lower_in(l, 0)].image && rt_onnx_lower_shape(l, 0)->rank == 4;
    if (!image || rt_onnx_lower_out_shape(l)->rank != 2)
        return false;
    l->result = rt_image_flatten(l->graph, l->name, rt_onnx_lower_image_of(l, 0)).node;
    return true;
}

static bool lower_flatten(struct rt_onnx_lowering *l)
{
    turns_image(l);
    return true;
}

/* A view, but of a view the copy that makes new dims of it. */
static bool lower_reshape(struct rt_onnx_lowering *l)
{
    const struct rt_onnx_made *in = &l->made[rt_onnx_lower_in(l, 0)];
    const struct rt_onnx_shape *from = rt_onnx_lower_shape(l, 0), *to = rt_onnx_lower_out_shape(l);
    if (turns_image(l))
        return true;
    bool same = from->rank == to->rank && memcmp(from->dim, to->dim, (size_t)to->rank * sizeof *to->dim) == 0;
    l->made[l->at.node->outputs[0]].part = in->part;
    if (same)
        l->made[l->at.node->outputs[0]].view = in->view;
    if (same || in->view == RT_ONNX_PLAIN)
        return true;
    int64_t rows, cols;
    rt_onnx_lower_matrix(l, l->at.node->outputs[0], &rows, &cols);
    l->result = rt_build_merge(l->graph, l->name, in->node, rt_onnx_lower_shape(l, 0)->dim[0], rows, cols);
    return true;
}

static bool lower_identity(struct rt_onnx_lowering *l)
{
    rt_onnx_lower_pass_view(l, 0);
    return true;
}

/* --- Transpose --- */

static int transpose_shape(const struct rt_onnx_at *at)
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

static bool fold_transpose(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    int64_t order[RT_ONNX_RANK], stride[RT_ONNX_RANK], moved[RT_ONNX_RANK], unit = 1;
    int rank = in->shape.rank;
    if (in->data == NULL || in->data->real != out->real)
        return false;
    if (rt_onnx_ints(at, "perm", order) != rank)
        for (int d = 0; d < rank; d++)
            order[d] = rank - 1 - d;
    for (int d = rank - 1; d >= 0; d--) {
        stride[d] = unit;
        unit *= in->shape.dim[d];
    }
    for (int d = 0; d < rank; d++)
        moved[d] = stride[order[d]];
    for (size_t i = 0; i < out->count; i++)
        out->element[i] = in->data->element[rt_onnx_source(&rt_onnx_out(at, 0)->shape, i, moved)];
    return true;
}

/* The view that a transposition makes of another; false where it is none of these. Queries, keys and values
 * of one product, (batch, tokens, 3, heads, size), are three views by heads. */
static bool view_of(enum rt_onnx_view before, const int64_t *order, int rank, enum rt_onnx_view *after)
{
    static const struct {
        enum rt_onnx_view before;
        int64_t order[5];
        enum rt_onnx_view after;
    } rows[] = {
        {RT_ONNX_PLAIN, {2, 0, 3, 1, 4}, RT_ONNX_HEADS}, {RT_ONNX_PLAIN, {2, 0, 3, 4, 1}, RT_ONNX_KEYS},
        {RT_ONNX_PLAIN, {0, 2, 1, 3}, RT_ONNX_HEADS},    {RT_ONNX_PLAIN, {0, 2, 3, 1}, RT_ONNX_KEYS},
        {RT_ONNX_PLAIN, {0, 1, 3, 2}, RT_ONNX_SWAPPED},  {RT_ONNX_HEADS, {0, 1, 3, 2}, RT_ONNX_KEYS},
        {RT_ONNX_HEADS, {0, 2, 1, 3}, RT_ONNX_PLAIN},    {RT_ONNX_KEYS, {0, 1, 3, 2}, RT_ONNX_HEADS},
        {RT_ONNX_SWAPPED, {0, 1, 3, 2}, RT_ONNX_PLAIN},
    };
    for (size_t i = 0; i < RT_COUNT(rows); i++)
        if (rows[i].before == before && (rank == 5) == (rows[i].order[0] == 2) &&
            memcmp(rows[i].order, order, (size_t)rank * sizeof *order) == 0) {
            *after = rows[i].after;
            return true;
        }
    return false;
}

/* Does a Reshape make (batch, channels, pixels) of an image, or an image of such? */
static bool is_image_reshaped(const struct rt_onnx_lowering *l, const struct rt_onnx_node *node)
{
    if (node == NULL || strcmp(node->op, "Reshape") != 0)
        return false;
    const struct rt_onnx_shape *from = &l->at.model->values[node->inputs[0]].shape,
                               *to = &l->at.model->values[node->outputs[0]].shape;
    int least = from->rank < to->rank ? from->rank : to->rank;
    return least == 3 && from->rank + to->rank > 6 && memcmp(from->dim, to->dim, 2 * sizeof *to->dim) == 0;
}

/* Does an operator take the value as an image? */
static bool is_image_next(const struct rt_onnx_made *made)
{
    return made->reader != NULL && made->reader->row != NULL && made->reader->row->image;
}

/* Images that lie channels last as rows of pixels, or back; of tokens, too, which are reshaped to images. An
 * image that is made of rows is stored channels last from there on. */
static bool is_view_of_pixels(struct rt_onnx_lowering *l, const int64_t *order, int rank)
{
    static const int64_t there[] = {0, 2, 3, 1}, back[] = {0, 3, 1, 2}, tokens[] = {0, 2, 1};
    const struct rt_onnx_made *in = &l->made[rt_onnx_lower_in(l, 0)];
    struct rt_onnx_made *out = &l->made[l->at.node->outputs[0]];
    if (rank == 3 && memcmp(order, tokens, sizeof tokens) == 0) {
        bool rows = is_image_reshaped(l, in->maker);
        out->last = !rows && out->readers == 1 && is_image_reshaped(l, out->reader);
        return out->last || (rows && in->last);
    }
    if (rank == 4 && memcmp(order, there, sizeof there) == 0) {
        out->pixels = in->image;
        return in->image && in->last;
    }
    out->image = out->last =
        rank == 4 && memcmp(order, back, sizeof back) == 0 && (in->pixels || is_image_next(out));
    return out->last;
}

/* Rows stay together, or elements are read with a stride; compiled code has the copy in its neighbours. */
static void copy_turned(struct rt_onnx_lowering *l, bool together)
{
    int64_t rows, cols;
    enum rt_copy copy = together ? RT_COPY_ROWS : RT_COPY_TRANSPOSED;
    rt_onnx_lower_matrix(l, l->at.node->outputs[0], &rows, &cols);
    l->result = rt_build_copies(l->graph, l->name, rt_onnx_lower_node(l, 0), rows, cols, copy, copy);
    l->graph->nodes[l->result].fusable = true;
}

/* Libraries read either operand of a product by rows or by columns; of views by heads it takes copies. */
static bool is_turned_for_product(const struct rt_onnx_lowering *l, const int64_t *order, int rank)
{
    if (l->made[rt_onnx_lower_in(l, 0)].view != RT_ONNX_PLAIN)
        return false;
    for (int d = 0; d < rank - 2; d++)
        if (order[d] != d)
            return false;
    return rt_onnx_is_read_by(&l->made[l->at.node->outputs[0]], "MatMul");
}

/* Nothing where neither order nor place changes: only dims of one element move. */
static bool lower_transpose(struct rt_onnx_lowering *l)
{
    const struct rt_onnx_shape *shape = rt_onnx_lower_shape(l, 0);
    int64_t order[RT_ONNX_RANK], last = -1;
    bool moves = false;
    if (rt_onnx_ints(&l->at, "perm", order) != shape->rank)
        for (int d = 0; d < shape->rank; d++)
            order[d] = shape->rank - 1 - d;
    for (int d = 0; d < shape->rank; d++) {
        if (order[d] < 0 || order[d] >= shape->rank || shape->dim[order[d]] == 1)
            continue;
        moves |= order[d] < last;
        last = order[d];
    }
    if (!moves || is_view_of_pixels(l, order, shape->rank) || is_turned_for_product(l, order, shape->rank))
        return true;
    struct rt_onnx_made *out = &l->made[l->at.node->outputs[0]];
    const struct rt_onnx_made *in = &l->made[rt_onnx_lower_in(l, 0)];
    if (!l->patterns || shape->rank < 4 || shape->rank > 5 || in->image ||
        !view_of(in->view, order, shape->rank, &out->view)) {
        copy_turned(l, order[shape->rank - 1] == shape->rank - 1);
        return true;
    }
    out->ordered = in->view != RT_ONNX_PLAIN && in->ordered;
    out->part = in->part;
    if (in->view == RT_ONNX_PLAIN)
        rt_onnx_lower_heads(l);
    return true;
}

/* --- Slice --- */

/* Starts, ends, steps by axis, from inputs or attributes. Axes that are not sliced have step 1, start 0 and a
 * large end. */
struct slices {
    int64_t start[RT_ONNX_RANK], end[RT_ONNX_RANK], step[RT_ONNX_RANK];
    bool sliced[RT_ONNX_RANK], known[RT_ONNX_RANK];
};

/* False where they are not known. */
static bool slices_of(const struct rt_onnx_at *at, int rank, struct slices *out)
{
    int64_t starts[RT_ONNX_RANK], ends[RT_ONNX_RANK], axes[RT_ONNX_RANK], steps[RT_ONNX_RANK];
    int count, ends_count, axes_count = RT_ONNX_UNKNOWN, steps_count = RT_ONNX_UNKNOWN;
    for (int d = 0; d < rank; d++) {
        out->start[d] = 0;
        out->end[d] = RT_ONNX_LARGEST;
        out->step[d] = 1;
        out->sliced[d] = false;
        out->known[d] = true;
    }
    if (!rt_onnx_numbers_of(at, 1, "starts", starts, &count) ||
        !rt_onnx_numbers_of(at, 2, "ends", ends, &ends_count) || ends_count != count)
        return false;
    if (!rt_onnx_numbers_of(at, 3, "axes", axes, &axes_count) && rt_onnx_in(at, 3) != NULL)
        return false;
    if (!rt_onnx_numbers_of(at, 4, "steps", steps, &steps_count) && rt_onnx_in(at, 4) != NULL)
        return false;
    for (int i = 0; i < count; i++) {
        int axis;
        if (rt_onnx_axis(i < axes_count ? axes[i] : i, rank, &axis) != 0)
            return false;
        out->start[axis] = starts[i];
        out->end[axis] = ends[i];
        out->step[axis] = i < steps_count ? steps[i] : 1;
        out->sliced[axis] = true;
        out->known[axis] = starts[i] != RT_ONNX_UNKNOWN_INT && ends[i] != RT_ONNX_UNKNOWN_INT &&
                           out->step[axis] != 0 && out->step[axis] != RT_ONNX_UNKNOWN_INT;
    }
    return true;
}

static int slice_shape(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    struct rt_onnx_shape shape = in->shape;
    struct slices slices;
    int64_t first;
    if (shape.rank != RT_ONNX_UNKNOWN && !slices_of(at, shape.rank, &slices))
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

/* `start`: index of the first element of each axis. */
static void take(const struct rt_onnx_shape *in, const struct rt_onnx_data *from, const int64_t *start,
                 const int64_t *step, const struct rt_onnx_shape *shape, struct rt_onnx_data *out)
{
    int64_t stride[RT_ONNX_RANK], origin = 0, unit = 1;
    for (int d = in->rank - 1; d >= 0; d--) {
        stride[d] = unit * step[d];
        origin += unit * start[d];
        unit *= in->dim[d];
    }
    for (size_t i = 0; i < out->count; i++)
        out->element[i] = from->element[(size_t)(origin + (int64_t)rt_onnx_source(shape, i, stride))];
}

static bool fold_slice(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    struct slices slices;
    int64_t first[RT_ONNX_RANK];
    if (in->data == NULL || in->data->real != out->real || !slices_of(at, in->shape.rank, &slices))
        return false;
    for (int d = 0; d < in->shape.rank; d++) {
        if (!slices.known[d])
            return false;
        rt_onnx_slice_count(in->shape.dim[d], slices.start[d], slices.end[d], slices.step[d], &first[d]);
    }
    take(&in->shape, in->data, first, slices.step, &rt_onnx_out(at, 0)->shape, out);
    return true;
}

/* Backwards along an axis: torch.flip, which copies. */
static bool is_flip(const struct rt_onnx_lowering *l)
{
    struct slices slices;
    int rank = rt_onnx_lower_shape(l, 0)->rank;
    bool flip = false;
    if (strcmp(l->at.node->op, "Slice") == 0 && rank > 0 && slices_of(&l->at, rank, &slices))
        for (int d = 0; d < rank; d++)
            flip |= slices.known[d] && slices.step[d] < 0;
    return flip;
}

/* --- Split --- */

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

static int split_shape(const struct rt_onnx_at *at)
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

/* The outputs stand one behind the other along the axis. */
static bool fold_split(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    int64_t first[RT_ONNX_RANK] = {0}, step[RT_ONNX_RANK];
    int axis;
    if (in->data == NULL || in->data->real != out->real ||
        rt_onnx_axis(rt_onnx_int(at, "axis", 0), in->shape.rank, &axis) != 0)
        return false;
    for (int d = 0; d < in->shape.rank; d++)
        step[d] = 1;
    for (size_t o = 0; o < at->node->output_count; o++) {
        struct rt_onnx_value *part = rt_onnx_out(at, o);
        if (part == NULL || !rt_onnx_shape_known(&part->shape))
            return false;
        struct rt_onnx_data *data =
            rt_onnx_new_data(at->model, (size_t)rt_onnx_count(&part->shape), out->real);
        if (data == NULL)
            return false;
        take(&in->shape, in->data, first, step, &part->shape, data);
        part->data = data;
        first[axis] += part->shape.dim[axis];
    }
    memcpy(out->element, rt_onnx_out(at, 0)->data->element, out->count * sizeof out->element[0]);
    return true;
}

/* A part of a view is one. */
static bool lower_part(struct rt_onnx_lowering *l)
{
    if (is_flip(l)) {
        rt_onnx_lower_move(l, RT_OP_COPY, rt_onnx_lower_traffic(l));
        return true;
    }
    for (size_t i = 0; i < l->at.node->output_count; i++)
        if (l->at.node->outputs[i] != RT_ONNX_NO_VALUE)
            rt_onnx_lower_pass_view(l, i);
    rt_onnx_lower_parts(l);
    return true;
}

/* --- Expand --- */

static int expand_shape(const struct rt_onnx_at *at)
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

static bool fold_expand(const struct rt_onnx_at *at, struct rt_onnx_data *out)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0), *result = rt_onnx_out(at, 0);
    int64_t stride[RT_ONNX_RANK];
    if (in->data == NULL || in->data->real != out->real)
        return false;
    rt_onnx_strides(&in->shape, &result->shape, stride);
    for (size_t i = 0; i < out->count; i++)
        out->element[i] = in->data->element[rt_onnx_source(&result->shape, i, stride)];
    return true;
}

static bool lower_expand(struct rt_onnx_lowering *l)
{
    rt_onnx_lower_expand(l);
    return true;
}

const struct rt_onnx_operator rt_onnx_view_rows[] = {
    {"Reshape", 1, .shapes = reshape_shape, .fold = fold_copy, .lower = lower_reshape, .op = RT_OP_COPY,
     .form = true},
    {"Flatten", 1, .shapes = flatten_shape, .fold = fold_copy, .lower = lower_flatten, .op = RT_OP_COPY,
     .form = true},
    {"Squeeze", 1, .shapes = squeeze_shape, .fold = fold_copy, .lower = lower_identity, .form = true},
    {"Unsqueeze", 1, .shapes = unsqueeze_shape, .fold = fold_copy, .lower = rt_onnx_lower_nothing,
     .form = true},
    {"Identity", 1, .shapes = identity_shape, .fold = fold_copy, .lower = lower_identity, .op = RT_OP_COPY},
    {"Transpose", 1, .shapes = transpose_shape, .fold = fold_transpose, .lower = lower_transpose,
     .op = RT_OP_TRANSPOSE, .form = true},
    {"Split", 1, .shapes = split_shape, .fold = fold_split, .lower = lower_part, .op = RT_OP_COPY,
     .form = true},
    {"Slice", 1, .shapes = slice_shape, .fold = fold_slice, .lower = lower_part, .op = RT_OP_COPY,
     .form = true},
    {"Expand", 2, .shapes = expand_shape, .fold = fold_expand, .lower = lower_expand, .op = RT_OP_COPY},
    {.name = NULL},
};
