/* Operators that move data, or make a view of it, to nodes. See lower.h. */
#include "base/status.h"
#include "models/networks/build_node.h"
#include "models/networks/onnx/lower.h"

#include <string.h>

/* Inputs and outputs once. */
static bool move(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    rt_onnx_lower_move(l, row->op, rt_onnx_lower_traffic(l));
    return true;
}

/* Only what it makes: it reads as much as it writes, or nothing. */
static bool make(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    double bytes = rt_onnx_lower_bytes(l, l->at.node->outputs[0]);
    rt_onnx_lower_move(l, row->op, row->op == RT_OP_FILL ? bytes : 2 * bytes);
    return true;
}

/* The view that a transposition makes of another; false where it is none of these. */
static bool view_of(enum rt_onnx_view before, const int64_t *order, enum rt_onnx_view *after)
{
    static const struct {
        enum rt_onnx_view before;
        int64_t order[4];
        enum rt_onnx_view after;
    } rows[] = {
        {RT_ONNX_PLAIN, {0, 2, 1, 3}, RT_ONNX_HEADS},   {RT_ONNX_PLAIN, {0, 2, 3, 1}, RT_ONNX_KEYS},
        {RT_ONNX_PLAIN, {0, 1, 3, 2}, RT_ONNX_SWAPPED}, {RT_ONNX_HEADS, {0, 1, 3, 2}, RT_ONNX_KEYS},
        {RT_ONNX_HEADS, {0, 2, 1, 3}, RT_ONNX_PLAIN},   {RT_ONNX_KEYS, {0, 1, 3, 2}, RT_ONNX_HEADS},
        {RT_ONNX_SWAPPED, {0, 1, 3, 2}, RT_ONNX_PLAIN},
    };
    for (size_t i = 0; i < RT_COUNT(rows); i++)
        if (rows[i].before == before && memcmp(rows[i].order, order, sizeof rows[i].order) == 0) {
            *after = rows[i].after;
            return true;
        }
    return false;
}

/* An output is in the order of the input. */
static void pass_view(struct rt_onnx_lowering *l, size_t output)
{
    const struct rt_onnx_made *in = &l->made[rt_onnx_lower_in(l, 0)];
    struct rt_onnx_made *out = &l->made[l->at.node->outputs[output]];
    out->view = in->view;
    out->ordered = in->ordered;
    out->part = in->part;
}

/* Nothing where neither order nor place changes: only dims of one element move. */
static bool transpose(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
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
    if (!moves)
        return true;
    struct rt_onnx_made *out = &l->made[l->at.node->outputs[0]];
    const struct rt_onnx_made *in = &l->made[rt_onnx_lower_in(l, 0)];
    if (!l->patterns || shape->rank != 4 || in->image || !view_of(in->view, order, &out->view))
        return make(l, row);
    out->ordered = in->view != RT_ONNX_PLAIN && in->ordered;
    out->part = in->part;
    if (in->view == RT_ONNX_PLAIN)
        rt_onnx_lower_heads(l);
    return true;
}

/* Between reals all is in the dtype of the step. */
static bool cast(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    const struct rt_onnx_value *in = rt_onnx_in(&l->at, 0), *out = rt_onnx_out(&l->at, 0);
    pass_view(l, 0);
    if (in->dtype == out->dtype || (rt_onnx_dtypes[in->dtype].real && rt_onnx_dtypes[out->dtype].real))
        return true;
    return move(l, row);
}

/* Along the last dim, as halves of heads are swapped, it is the copy that rt_build_rotate_half makes of it;
 * what joins channels or tokens is as rt_image_concat. */
static bool concat(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    const struct rt_onnx_shape *out = rt_onnx_lower_out_shape(l);
    int axis;
    if (rt_onnx_axis(rt_onnx_int(&l->at, "axis", 1), out->rank, &axis) != RT_OK)
        return false;
    int64_t rows = rt_onnx_dims_product(out, 0, axis), all = rt_onnx_count(out);
    l->result = rt_onnx_lower_add(l, (double)all);
    l->graph->nodes[l->result].fusable = true;
    bool last = axis == out->rank - 1 && !l->made[l->at.node->outputs[0]].image;
    rt_node_add_kernel(l->graph, RT_FORWARD, last ? RT_OP_COPY : row->op, rows, all / rows)->bytes =
        2 * rt_onnx_lower_bytes(l, l->at.node->outputs[0]);
    rt_node_begin_backward(l->graph, l->result); /* parts of the gradient are views */
    return true;
}

/* Rows of a table that is a weight; one index that is known takes a view. */
static bool gather(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    const struct rt_onnx_shape *table = rt_onnx_lower_shape(l, 0), *index = rt_onnx_lower_shape(l, 1);
    if (rt_onnx_lower_is_constant(l, 1) && rt_onnx_count(index) == 1) {
        rt_onnx_lower_parts(l);
        return true;
    }
    bool rows = rt_onnx_int(&l->at, "axis", 0) == 0 && table->rank == 2;
    if (!rows || !rt_onnx_lower_is_constant(l, 0))
        return make(l, row);
    l->result = rt_build_embedding(l->graph, l->name, rt_onnx_count(index), table->dim[0], table->dim[1]);
    return true;
}

/* PyTorch fills what it makes, then copies into it (aten/native/PadNd.cpp). */
static bool pad(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    (void)row;
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

/* A view, but of a view the copy that makes new dims of it. */
static bool reshape(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    (void)row;
    const struct rt_onnx_made *in = &l->made[rt_onnx_lower_in(l, 0)];
    const struct rt_onnx_shape *from = rt_onnx_lower_shape(l, 0), *to = rt_onnx_lower_out_shape(l);
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

static bool same(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    (void)row;
    pass_view(l, 0);
    return true;
}

/* A view; images that are stored channels last are turned before they are rows of numbers. */
static bool flatten(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    const struct rt_onnx_shape *in = rt_onnx_lower_shape(l, 0);
    bool image = l->made[rt_onnx_lower_in(l, 0)].image && in->rank == 4;
    if (!image || rt_onnx_lower_out_shape(l)->rank != 2)
        return strcmp(row->name, "Reshape") != 0 || reshape(l, row);
    l->result = rt_image_flatten(l->graph, l->name, rt_onnx_lower_image_of(l, 0)).node;
    return true;
}

/* A part of a view is one. */
static bool part(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    (void)row;
    for (size_t i = 0; i < l->at.node->output_count; i++)
        if (l->at.node->outputs[i] != RT_ONNX_NO_VALUE)
            pass_view(l, i);
    rt_onnx_lower_parts(l);
    return true;
}

static bool expand(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    (void)row;
    rt_onnx_lower_expand(l);
    return true;
}

/* Exports for inference leave it out; one that stands there runs in training. */
static bool dropout(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    (void)row;
    int64_t rows, cols;
    pass_view(l, 0);
    rt_onnx_lower_matrix(l, rt_onnx_lower_in(l, 0), &rows, &cols);
    if (rt_onnx_lower_node(l, 0) != RT_NO_INPUT)
        l->result = rt_build_dropout(l->graph, l->name, rt_onnx_lower_node(l, 0), rows, cols);
    return true;
}

#define VIEW(name)                                                                                           \
    {                                                                                                        \
        name, NULL, RT_OP_COPY, 0, 0                                                                         \
    }
#define MOVE(name, op)                                                                                       \
    {                                                                                                        \
        name, move, op, 0, 0                                                                                 \
    }
#define MAKE(name, op)                                                                                       \
    {                                                                                                        \
        name, make, op, 0, 0                                                                                 \
    }

const struct rt_onnx_lower_row rt_onnx_lower_moves[] = {
    {"Cast", cast, RT_OP_COPY, 0, 0},
    {"CastLike", cast, RT_OP_COPY, 0, 0},
    {"Concat", concat, RT_OP_CONCAT, 0, 0},
    {"Gather", gather, RT_OP_INDEX, 1 << 0, 0},
    {"Pad", pad, RT_OP_PAD, 0, 0},
    {"Transpose", transpose, RT_OP_TRANSPOSE, 0, 0},
    VIEW("Constant"),
    {"Dropout", dropout, RT_OP_DROPOUT, 0, 0},
    {"Expand", expand, RT_OP_COPY, 0, 0},
    {"Flatten", flatten, RT_OP_COPY, 0, 0},
    {"Identity", same, RT_OP_COPY, 0, 0},
    VIEW("Optional"),
    VIEW("OptionalGetElement"),
    VIEW("OptionalHasElement"),
    {"Reshape", flatten, RT_OP_COPY, 0, 0},
    VIEW("SequenceAt"),
    VIEW("SequenceConstruct"),
    VIEW("SequenceEmpty"),
    VIEW("SequenceErase"),
    VIEW("SequenceInsert"),
    VIEW("SequenceLength"),
    VIEW("Shape"),
    VIEW("Size"),
    {"Slice", part, RT_OP_COPY, 0, 0},
    {"Split", part, RT_OP_COPY, 0, 0},
    VIEW("SplitToSequence"),
    VIEW("Squeeze"),
    VIEW("Unsqueeze"),
    MAKE("Compress", RT_OP_INDEX),
    MAKE("AffineGrid", RT_OP_FILL),
    MAKE("CenterCropPad", RT_OP_COPY),
    MAKE("Col2Im", RT_OP_COPY),
    MAKE("ConstantOfShape", RT_OP_FILL),
    MAKE("DepthToSpace", RT_OP_COPY),
    MAKE("EyeLike", RT_OP_FILL),
    MAKE("GatherElements", RT_OP_INDEX),
    MAKE("GatherND", RT_OP_INDEX),
    MAKE("OneHot", RT_OP_FILL),
    MAKE("Range", RT_OP_FILL),
    MAKE("RandomNormal", RT_OP_FILL),
    MAKE("RandomNormalLike", RT_OP_FILL),
    MAKE("RandomUniform", RT_OP_FILL),
    MAKE("RandomUniformLike", RT_OP_FILL),
    MAKE("SpaceToDepth", RT_OP_COPY),
    MAKE("Tile", RT_OP_COPY),
    MAKE("Trilu", RT_OP_COPY),
    MOVE("CumSum", RT_OP_COPY),
    MOVE("Bernoulli", RT_OP_COPY),
    MOVE("CumProd", RT_OP_COPY),
    MOVE("MaxUnpool", RT_OP_INDEX),
    MOVE("NhwcMaxPool", RT_OP_REDUCE),
    MOVE("TensorScatter", RT_OP_INDEX),
    MOVE("DequantizeLinear", RT_OP_COPY),
    MOVE("DynamicQuantizeLinear", RT_OP_COPY),
    MOVE("NonZero", RT_OP_COPY),
    MOVE("QuantizeLinear", RT_OP_COPY),
    MOVE("ReverseSequence", RT_OP_INDEX),
    MOVE("Scatter", RT_OP_INDEX),
    MOVE("ScatterElements", RT_OP_INDEX),
    MOVE("ScatterND", RT_OP_INDEX),
    MOVE("TopK", RT_OP_COPY),
    MOVE("Where", RT_OP_WHERE),
    {0},
};
