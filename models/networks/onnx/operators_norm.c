/* Norms, softmax, dropout: operators that keep the shape and read rows or channels. See operator.h. */
#include "base/status.h"
#include "models/networks/build_node.h"
#include "models/networks/onnx/lowering.h"
#include "models/networks/onnx/operator.h"

#include <string.h>

/* --- shapes --- */

static int batch_norm_shape(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    struct rt_onnx_shape channels = rt_onnx_vector(in->shape.rank > 1 ? in->shape.dim[1] : RT_ONNX_UNKNOWN);
    int status = RT_OK;
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &in->shape);
    for (size_t i = 1; i < 5 && status == RT_OK; i++) {
        const struct rt_onnx_value *weight = rt_onnx_in(at, i);
        if (weight != NULL && weight->shape.rank == 1)
            status = rt_onnx_same_dim(channels.dim[0], weight->shape.dim[0], "channels", &channels.dim[0]);
    }
    for (size_t i = 1; i < 5; i++)
        rt_onnx_set(rt_onnx_out(at, i), rt_onnx_in(at, 3)->dtype, &channels);
    return status;
}

/* Outputs behind the first: statistics of each row. */
static int layer_norm_shape(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    struct rt_onnx_shape rows = in->shape;
    int axis, status = RT_OK;
    if (rows.rank != RT_ONNX_UNKNOWN)
        status = rt_onnx_axis(rt_onnx_int(at, "axis", -1), rows.rank, &axis);
    for (int d = rows.rank; status == RT_OK && d-- > 0 && d >= axis;)
        rows.dim[d] = 1;
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &in->shape);
    for (size_t i = 1; i < 3; i++)
        rt_onnx_set(rt_onnx_out(at, i), RT_ONNX_FLOAT, &rows);
    return status;
}

static int dropout_shape(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &in->shape);
    rt_onnx_set(rt_onnx_out(at, 1), at->node->opset < 10 ? in->dtype : RT_ONNX_BOOL, &in->shape);
    return RT_OK;
}

/* The last output is the sum of input and skip. */
static int skip_norm_shape(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    struct rt_onnx_shape rows = in->shape;
    if (rows.rank > 0)
        rows.dim[rows.rank - 1] = 1;
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &in->shape);
    for (size_t i = 1; i < 3; i++)
        rt_onnx_set(rt_onnx_out(at, i), RT_ONNX_FLOAT, &rows);
    rt_onnx_set(rt_onnx_out(at, 3), in->dtype, &in->shape);
    return RT_OK;
}

static int skip_group_norm_shape(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &in->shape);
    rt_onnx_set(rt_onnx_out(at, 1), in->dtype, &in->shape);
    return RT_OK;
}

/* --- kernels of rows --- */

/* Before opset 13 all dims from the axis on are the columns. */
static bool lower_softmax(struct rt_onnx_lowering *l)
{
    const struct rt_onnx_shape *shape = rt_onnx_lower_shape(l, 0);
    bool flat = l->at.node->opset < 13;
    int axis;
    if (rt_onnx_axis(rt_onnx_int(&l->at, "axis", flat ? 1 : -1), shape->rank, &axis) != RT_OK)
        return false;
    int64_t cols = flat ? rt_onnx_dims_product(shape, axis, shape->rank) : shape->dim[axis];
    l->result =
        rt_build_softmax(l->graph, l->name, rt_onnx_lower_node(l, 0), rt_onnx_count(shape) / cols, cols);
    return true;
}

/* Dims from the axis on are the columns. */
static bool lower_norm(struct rt_onnx_lowering *l)
{
    const struct rt_onnx_shape *shape = rt_onnx_lower_shape(l, 0);
    int axis;
    if (rt_onnx_axis(rt_onnx_int(&l->at, "axis", -1), shape->rank, &axis) != RT_OK)
        return false;
    int64_t cols = rt_onnx_dims_product(shape, axis, shape->rank), rows = rt_onnx_count(shape) / cols;
    if (rt_onnx_lower_op(l) == RT_OP_LAYERNORM) {
        l->result = rt_build_layernorm(l->graph, l->name, rt_onnx_lower_node(l, 0), rows, cols);
        return true;
    }
    l->result = rt_onnx_lower_add(l, (double)(rows * cols));
    rt_node_add_kernel(l->graph, RT_FORWARD, rt_onnx_lower_op(l), rows, cols);
    rt_onnx_lower_normed(l, rows, cols);
    return true;
}

/* The residual is added first, in the kernel of RMS norm or in one of its own. */
static bool lower_skip_norm(struct rt_onnx_lowering *l)
{
    int64_t rows, cols;
    rt_onnx_lower_matrix(l, rt_onnx_lower_in(l, 0), &rows, &cols);
    uint32_t x = rt_onnx_lower_node(l, 0), skip = rt_onnx_lower_node(l, 1);
    if (rt_onnx_lower_op(l) == RT_OP_RESIDUAL_RMSNORM) {
        l->result = rt_onnx_lower_add(l, (double)(rows * cols));
        rt_node_add_kernel(l->graph, RT_FORWARD, rt_onnx_lower_op(l), rows, cols);
        rt_onnx_lower_normed(l, rows, cols);
        return true;
    }
    x = rt_build_binary(l->graph, rt_image_name(l->graph, l->name, "add"), RT_OP_ADD, x, skip, rows, cols,
                        rows * cols);
    l->result = rt_build_layernorm(l->graph, l->name, x, rows, cols);
    return true;
}

/* Exports for inference leave it out; one that stands there runs in training. */
static bool lower_dropout(struct rt_onnx_lowering *l)
{
    int64_t rows, cols;
    rt_onnx_lower_pass_view(l, 0);
    rt_onnx_lower_matrix(l, rt_onnx_lower_in(l, 0), &rows, &cols);
    if (rt_onnx_lower_node(l, 0) != RT_NO_INPUT)
        l->result = rt_build_dropout(l->graph, l->name, rt_onnx_lower_node(l, 0), rows, cols);
    return true;
}

/* --- of images --- */

static bool lower_batch_norm(struct rt_onnx_lowering *l)
{
    if (rt_onnx_lower_shape(l, 0)->rank < 2)
        return false;
    bool statistics = rt_graph_trains(l->graph) || rt_onnx_int(&l->at, "training_mode", 0) != 0;
    l->result = rt_image_batchnorm_of(l->graph, l->name, rt_onnx_lower_image_of(l, 0), statistics).node;
    return true;
}

/* Rows of layer norm: every channel, or every group of them, of every image. */
static bool lower_group_norm(struct rt_onnx_lowering *l)
{
    struct rt_image x = rt_onnx_lower_image_of(l, 0);
    int64_t groups = rt_onnx_int(&l->at, "num_groups", rt_onnx_int(&l->at, "groups", x.channels));
    if (groups < 1 || x.channels < groups || x.channels % groups != 0 || rt_image_elements(x) < 1)
        return false;
    int64_t rows = x.batch * groups;
    l->result = rt_build_groupnorm(l->graph, l->name, x.node, rows, rt_image_elements(x) / rows, x.channels);
    return true;
}

static bool lower_response_norm(struct rt_onnx_lowering *l)
{
    struct rt_image x = rt_onnx_lower_image_of(l, 0);
    l->result = rt_node_add(l->graph, l->name, x.node, RT_NO_INPUT, (double)rt_image_elements(x));
    rt_graph_add_kernel(
        l->graph, RT_FORWARD, rt_onnx_lower_op(l),
        (const int64_t[]){x.batch, x.channels, x.height, x.width, rt_onnx_int(&l->at, "size", 1)});
    rt_onnx_lower_again(l);
    return true;
}

const struct rt_onnx_operator rt_onnx_norm_rows[] = {
    {"Softmax", 1, .shapes = rt_onnx_same, .lower = lower_softmax, .op = RT_OP_SOFTMAX},
    {"LogSoftmax", 1, .shapes = rt_onnx_same, .lower = lower_softmax, .op = RT_OP_SOFTMAX},
    {"Hardmax", 1, .shapes = rt_onnx_same, .lower = lower_softmax, .op = RT_OP_SOFTMAX},
    {"LayerNormalization", 2, .shapes = layer_norm_shape, .lower = lower_norm, .op = RT_OP_LAYERNORM,
     .weights = 1 << 1 | 1 << 2},
    {"SimplifiedLayerNormalization", 2, .shapes = layer_norm_shape, .lower = lower_norm, .op = RT_OP_RMSNORM,
     .weights = 1 << 1},
    {"RMSNormalization", 2, .shapes = rt_onnx_same, .lower = lower_norm, .op = RT_OP_RMSNORM,
     .weights = 1 << 1},
    {"LpNormalization", 1, .shapes = rt_onnx_same, .lower = lower_norm, .op = RT_OP_RMSNORM},
    {"MeanVarianceNormalization", 1, .shapes = rt_onnx_same, .lower = rt_onnx_lower_once,
     .op = RT_OP_LAYERNORM},
    {"BatchNormalization", 5, .shapes = batch_norm_shape, .lower = lower_batch_norm,
     .op = RT_OP_BATCHNORM_INFERENCE, .weights = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4,
     .statistics = 1 << 3 | 1 << 4, .image = true},
    {"GroupNormalization", 3, .shapes = rt_onnx_same, .lower = lower_group_norm, .op = RT_OP_LAYERNORM,
     .weights = 1 << 1 | 1 << 2, .image = true},
    {"InstanceNormalization", 3, .shapes = rt_onnx_same, .lower = lower_group_norm, .op = RT_OP_LAYERNORM,
     .weights = 1 << 1 | 1 << 2, .image = true},
    {"LRN", 1, .shapes = rt_onnx_same, .lower = lower_response_norm, .op = RT_OP_LOCAL_RESPONSE_NORM,
     .image = true},
    {"Dropout", 1, .shapes = dropout_shape, .lower = lower_dropout, .op = RT_OP_DROPOUT},
    {"SkipLayerNormalization", 2, .shapes = skip_norm_shape, .domain = RT_ONNX_MICROSOFT,
     .lower = lower_skip_norm, .op = RT_OP_LAYERNORM, .weights = 1 << 2 | 1 << 3 | 1 << 4},
    {"SkipSimplifiedLayerNormalization", 2, .shapes = skip_norm_shape, .domain = RT_ONNX_MICROSOFT,
     .lower = lower_skip_norm, .op = RT_OP_RESIDUAL_RMSNORM, .weights = 1 << 2 | 1 << 3},
    {"GroupNorm", 1, .shapes = rt_onnx_same, .domain = RT_ONNX_MICROSOFT, .lower = lower_group_norm,
     .op = RT_OP_LAYERNORM, .weights = 1 << 1 | 1 << 2, .image = true},
    {"SkipGroupNorm", 1, .shapes = skip_group_norm_shape, .domain = RT_ONNX_MICROSOFT,
     .lower = rt_onnx_lower_once, .op = RT_OP_LAYERNORM},
    {"BiasSoftmax", 1, .shapes = rt_onnx_same, .domain = RT_ONNX_MICROSOFT, .lower = rt_onnx_lower_once,
     .op = RT_OP_SOFTMAX},
    {"QLinearSoftmax", 1, .shapes = rt_onnx_same, .domain = RT_ONNX_MICROSOFT, .lower = rt_onnx_lower_once,
     .op = RT_OP_SOFTMAX},
    {.name = NULL},
};
