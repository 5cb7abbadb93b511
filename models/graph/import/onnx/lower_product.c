/* Products of matrices to nodes. See lower.h. */
#include "models/graph/build_node.h"
#include "models/graph/import/onnx/lower.h"

#include <string.h>

/* --- products --- */

/* x(rows, in) times a weight of two dims. */
static void with_weight(struct rt_onnx_lowering *l, size_t x, int64_t in, int64_t out, bool bias)
{
    int64_t rows = rt_onnx_count(rt_onnx_lower_out_shape(l)) / out;
    l->result = rt_build_linear(l->graph, l->name, rt_onnx_lower_node(l, x), rows, in, out, bias);
}

/* Is a weight of one number a column added to the product, its bias? */
static bool gains_bias(const struct rt_onnx_lowering *l, int64_t cols)
{
    const struct rt_onnx_made *made = &l->made[l->at.node->outputs[0]];
    const struct rt_onnx_node *reader = made->reader;
    if (!l->patterns || made->readers != 1 || reader == NULL || strcmp(reader->op, "Add") != 0)
        return false;
    uint32_t z = reader->inputs[reader->inputs[0] == l->at.node->outputs[0] ? 1 : 0];
    return z != RT_ONNX_NO_VALUE && l->made[z].constant && cols > 1 &&
           rt_onnx_count(&l->at.model->values[z].shape) == cols;
}

/* Dims of an operand as a batch of matrices; vectors are matrices of one row or column. */
struct matrices {
    int64_t batch, rows, cols;
};
static struct matrices matrices_of(const struct rt_onnx_shape *shape, bool first)
{
    if (shape->rank == 1)
        return first ? (struct matrices){1, 1, shape->dim[0]} : (struct matrices){1, shape->dim[0], 1};
    return (struct matrices){rt_onnx_dims_product(shape, 0, shape->rank - 2), shape->dim[shape->rank - 2],
                             shape->dim[shape->rank - 1]};
}

/* An operand of a batched product: views by heads of several sequences are copied (build.h, rt_build_heads).
 */
static uint32_t operand(struct rt_onnx_lowering *l, size_t input, const char *part)
{
    const struct rt_onnx_made *made = &l->made[rt_onnx_lower_in(l, input)];
    const struct rt_onnx_shape *shape = rt_onnx_lower_shape(l, input);
    bool keys = made->view == RT_ONNX_KEYS;
    if (!keys && made->view != RT_ONNX_HEADS)
        return made->node;
    int64_t rows = shape->dim[0] * shape->dim[keys ? 3 : 2];
    int64_t cols = rt_onnx_count(shape) / rows;
    part = rt_image_name(l->graph, l->name, part);
    if (made->ordered || (made->part && keys)) /* parts' gradients are put in order by what joins them */
        return rt_build_copies(l->graph, part, made->node, rows, cols,
                               keys ? rt_copy_keys(shape->dim[0]) : rt_copy_values(shape->dim[0]),
                               RT_COPY_NONE);
    return rt_build_heads(l->graph, part, made->node, shape->dim[0], rows, cols, keys);
}

/* A product with what is the same in every step; in training such as is trained. */
static bool is_layer(const struct rt_onnx_lowering *l, size_t input)
{
    return rt_graph_trains(l->graph) ? rt_onnx_lower_trains(l, input) : rt_onnx_lower_is_constant(l, input);
}

/* numpy's matmul. What has one matrix for the whole batch is a linear layer where that is a weight, and one
 * product of all rows else. */
static bool matmul(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    (void)row;
    struct matrices a = matrices_of(rt_onnx_lower_shape(l, 0), true);
    struct matrices b = matrices_of(rt_onnx_lower_shape(l, 1), false);
    int64_t all = rt_onnx_count(rt_onnx_lower_out_shape(l));
    bool weight = is_layer(l, 1) && b.batch == 1;
    if (weight)
        with_weight(l, 0, b.rows, b.cols, gains_bias(l, b.cols));
    else if (is_layer(l, 0) && a.batch == 1 && b.batch == 1)
        with_weight(l, 1, a.cols, a.rows, false); /* its transpose */
    else {
        int64_t m = b.batch == 1 ? all / b.cols : a.rows;
        uint32_t left = operand(l, 0, "left"), right = operand(l, 1, "right");
        l->result = rt_build_bmm(l->graph, l->name, left, right, all / (m * b.cols), m, a.cols, b.cols);
    }
    l->made[l->at.node->outputs[0]].product = weight;
    return true;
}

/* The bias is added in the same kernel where it is a weight of one dim. */
static bool gemm(struct rt_onnx_lowering *l, const struct rt_onnx_lower_row *row)
{
    (void)row;
    const struct rt_onnx_shape *a = rt_onnx_lower_shape(l, 0), *out = rt_onnx_lower_out_shape(l);
    int64_t k = a->dim[rt_onnx_int(&l->at, "transA", 0) != 0 ? 0 : 1];
    bool third = rt_onnx_lower_in(l, 2) != RT_ONNX_NO_VALUE;
    if (rt_onnx_lower_is_constant(l, 1)) {
        with_weight(l, 0, k, out->dim[1], third);
        return true;
    }
    l->result = rt_build_bmm(l->graph, l->name, rt_onnx_lower_node(l, 0), rt_onnx_lower_node(l, 1), 1,
                             out->dim[0], k, out->dim[1]);
    return true;
}

const struct rt_onnx_lower_row rt_onnx_lower_product[] = {
    {"FusedGemm", gemm, RT_OP_LINEAR, 1 << 1 | 1 << 2, 0},
    {"Gemm", gemm, RT_OP_LINEAR, 1 << 1 | 1 << 2, 0},
    {"MatMul", matmul, RT_OP_LINEAR, 1 << 1, 0},
    {0},
};
