/* Products of matrices. See operator.h. */
#include "base/status.h"
#include "models/networks/onnx/lowering.h"
#include "models/networks/onnx/operator.h"

#include <string.h>

/* --- shapes --- */

/* Swaps the last two dims. */
static struct rt_onnx_shape transposed(struct rt_onnx_shape shape, bool swap)
{
    if (!swap || shape.rank < 2)
        return shape;
    int64_t last = shape.dim[shape.rank - 1];
    shape.dim[shape.rank - 1] = shape.dim[shape.rank - 2];
    shape.dim[shape.rank - 2] = last;
    return shape;
}

static int product_of_shapes(struct rt_onnx_shape a, struct rt_onnx_shape b, struct rt_onnx_shape *out)
{
    int64_t k;
    *out = rt_onnx_no_shape;
    if (a.rank == RT_ONNX_UNKNOWN || b.rank == RT_ONNX_UNKNOWN)
        return RT_OK;
    if (a.rank == 0 || b.rank == 0)
        return rt_fail(RT_EFORMAT, "a scalar is no matrix");
    bool row = a.rank == 1, column = b.rank == 1;
    if (row)
        a = (struct rt_onnx_shape){.rank = 2, .dim = {1, a.dim[0]}};
    if (column)
        b = (struct rt_onnx_shape){.rank = 2, .dim = {b.dim[0], 1}};
    int64_t m = a.dim[a.rank - 2], n = b.dim[b.rank - 1];
    int status = rt_onnx_same_dim(a.dim[a.rank - 1], b.dim[b.rank - 2],
                                  "columns of the first matrix and rows of the second", &k);
    a.rank -= 2;
    b.rank -= 2;
    if (status == RT_OK)
        status = rt_onnx_broadcast(&a, &b, out);
    if (!row && out->rank >= 0)
        out->dim[out->rank++] = m;
    if (!column && out->rank >= 0)
        out->dim[out->rank++] = n;
    return status;
}

static int matmul_of(const struct rt_onnx_at *at, size_t second, enum rt_onnx_dtype dtype)
{
    struct rt_onnx_shape shape;
    int status = product_of_shapes(
        transposed(rt_onnx_in(at, 0)->shape, rt_onnx_int(at, "transA", 0) != 0),
        transposed(rt_onnx_in(at, second)->shape, rt_onnx_int(at, "transB", 0) != 0), &shape);
    rt_onnx_set(rt_onnx_out(at, 0), dtype, &shape);
    return status;
}

static int matmul_shape(const struct rt_onnx_at *at)
{
    int how = at->node->row->how;
    return matmul_of(at, 1, how > 0 ? (enum rt_onnx_dtype)how : rt_onnx_in(at, 0)->dtype);
}

/* a, its scale and zero point, b, its scale and zero point, those of the result */
static int quantised_matmul_shape(const struct rt_onnx_at *at)
{
    return matmul_of(at, 3, rt_onnx_in(at, 7)->dtype);
}

static int gemm_shape(const struct rt_onnx_at *at)
{
    int status = rt_onnx_want_rank(at, 0, 2, 2);
    if (status == RT_OK)
        status = rt_onnx_want_rank(at, 1, 2, 2);
    return status == RT_OK ? matmul_of(at, 1, rt_onnx_in(at, 0)->dtype) : status;
}

static int determinant_shape(const struct rt_onnx_at *at)
{
    struct rt_onnx_shape shape = rt_onnx_in(at, 0)->shape;
    int status = rt_onnx_want_rank(at, 0, 2, RT_ONNX_RANK);
    if (shape.rank >= 2)
        shape.rank -= 2;
    rt_onnx_set(rt_onnx_out(at, 0), rt_onnx_in(at, 0)->dtype, &shape);
    return status;
}

/* Weights of N rows of K, packed: the attributes say both. */
static int packed_matmul_shape(const struct rt_onnx_at *at)
{
    struct rt_onnx_shape shape = rt_onnx_in(at, 0)->shape;
    if (shape.rank > 0)
        shape.dim[shape.rank - 1] = rt_onnx_int(at, "N", RT_ONNX_UNKNOWN);
    rt_onnx_set(rt_onnx_out(at, 0), rt_onnx_in(at, 0)->dtype, &shape);
    return RT_OK;
}

/* a, its scale and zero point, b, its scale and zero point, bias, those of the result */
static int quantised_gemm_shape(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *zero = rt_onnx_in(at, 8);
    return matmul_of(at, 3, zero != NULL ? zero->dtype : RT_ONNX_FLOAT);
}

/* --- kernels --- */

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
    if (shape->rank != 4 || (!keys && made->view != RT_ONNX_HEADS))
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

/* The shape of an operand whose last two dims may be swapped. */
static struct rt_onnx_shape taken(const struct rt_onnx_lowering *l, size_t input, const char *attribute)
{
    struct rt_onnx_shape shape = *rt_onnx_lower_shape(l, input);
    if (shape.rank > 1 && rt_onnx_int(&l->at, attribute, 0) != 0) {
        int64_t last = shape.dim[shape.rank - 1];
        shape.dim[shape.rank - 1] = shape.dim[shape.rank - 2];
        shape.dim[shape.rank - 2] = last;
    }
    return shape;
}

/* A matrix times a vector (gemv) reads the matrix once, as a sum of its rows does: no tile is filled. */
static void as_reduction(struct rt_graph_kernel *kernel, int64_t rows, int64_t cols)
{
    enum rt_dtype dtype = (enum rt_dtype)kernel->call.dtype;
    rt_call_init(&kernel->call, RT_OP_REDUCE, dtype);
    kernel->call.dim[0] = rows;
    kernel->call.dim[1] = cols;
}

/* numpy's matmul of the first input and input `second`. What has one matrix for the whole batch is a linear
 * layer where that is a weight, and one product of all rows else. False where one is no matrix, which shapes
 * that were not yet known when they were checked may turn out to be. */
static bool product_of(struct rt_onnx_lowering *l, size_t second, bool bias)
{
    if (rt_onnx_lower_shape(l, 0)->rank < 1 || rt_onnx_lower_shape(l, second)->rank < 1)
        return false;
    struct rt_onnx_shape first = taken(l, 0, "transA"), other = taken(l, second, "transB");
    struct matrices a = matrices_of(&first, true), b = matrices_of(&other, false);
    int64_t all = rt_onnx_count(rt_onnx_lower_out_shape(l));
    bool weight = is_layer(l, second) && b.batch == 1;
    if (weight)
        with_weight(l, 0, b.rows, b.cols, bias || gains_bias(l, b.cols));
    else if (is_layer(l, 0) && a.batch == 1 && b.batch == 1)
        with_weight(l, second, a.cols, a.rows, bias); /* its transpose */
    else {
        int64_t m = b.batch == 1 ? all / b.cols : a.rows;
        uint32_t left = operand(l, 0, "left"), right = operand(l, second, "right");
        l->result = rt_build_bmm(l->graph, l->name, left, right, all / (m * b.cols), m, a.cols, b.cols);
    }
    l->made[l->at.node->outputs[0]].product = weight && !bias;
    if (all == a.rows && b.cols == 1 && !rt_graph_trains(l->graph))
        as_reduction(&l->graph->kernels[l->graph->nodes[l->result].kernel], a.rows, a.cols);
    return true;
}

/* Batches of dims in another order are not told apart. */
static bool lower_matmul(struct rt_onnx_lowering *l)
{
    if (rt_onnx_int(&l->at, "transBatchA", 0) != 0 || rt_onnx_int(&l->at, "transBatchB", 0) != 0)
        return false;
    return product_of(l, 1, false);
}

/* The bias is added in the same kernel where it is a weight of one dim. */
static bool lower_gemm(struct rt_onnx_lowering *l)
{
    const struct rt_onnx_shape *a = rt_onnx_lower_shape(l, 0), *out = rt_onnx_lower_out_shape(l);
    if (a->rank != 2 || out->rank != 2)
        return false;
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

/* --- of quantised operands --- */

/* Scale and zero point stand behind each operand: the second is input 3. Scales and the rounding of the
 * result are in the product's kernel (cuBLASLt). */
static bool lower_quantised_apart(struct rt_onnx_lowering *l)
{
    bool bias = strcmp(l->at.node->op, "QGemm") == 0 && rt_onnx_lower_in(l, 6) != RT_ONNX_NO_VALUE;
    if (!product_of(l, 3, bias))
        return false;
    rt_onnx_lower_set_dtype(l, RT_INT8);
    return true;
}

/* Both operands first, then scales and zero points. */
static bool lower_quantised(struct rt_onnx_lowering *l)
{
    if (!product_of(l, 1, false))
        return false;
    rt_onnx_lower_set_dtype(l, strcmp(l->at.node->op, "GemmFloat8") == 0 ? RT_FP8 : RT_INT8);
    return true;
}

/* The first operand is of reals: it is rounded to 8 bits first, by what its largest elements are. */
static bool lower_quantises(struct rt_onnx_lowering *l)
{
    int64_t rows, cols;
    uint32_t x = rt_onnx_lower_node(l, 0);
    rt_onnx_lower_matrix(l, rt_onnx_lower_in(l, 0), &rows, &cols);
    double bytes = rt_onnx_lower_bytes(l, rt_onnx_lower_in(l, 0));
    x = rt_build_move(l->graph, rt_image_name(l->graph, l->name, "quantise"), RT_OP_COPY, x, rows, cols,
                      bytes + (double)rows * (double)cols);
    struct rt_onnx_made *in = &l->made[rt_onnx_lower_in(l, 0)];
    uint32_t before = in->node;
    in->node = x;
    if (!lower_quantised(l))
        l->result = x;
    in->node = before;
    return true;
}

/* Weights of few bits, packed, with activations of 16: N columns of K rows, as attributes say. */
static bool lower_packed(struct rt_onnx_lowering *l)
{
    int64_t k = rt_onnx_int(&l->at, "K", 0), n = rt_onnx_int(&l->at, "N", 0);
    int64_t bits = rt_onnx_int(&l->at, "bits", 4);
    const struct rt_onnx_shape *in = rt_onnx_lower_shape(l, 0);
    if ((bits != 4 && bits != 8) || n < 1 || in->rank < 1 || in->dim[in->rank - 1] != k)
        return false;
    uint32_t weight = rt_onnx_lower_in(l, 1);
    bool counted = l->made[l->made[weight].origin].counted;
    bool bias = strcmp(l->at.node->op, "MatMulNBits") == 0 && rt_onnx_lower_in(l, 5) != RT_ONNX_NO_VALUE;
    with_weight(l, 0, k, n, bias || gains_bias(l, n));
    l->made[l->at.node->outputs[0]].product = !bias;
    rt_onnx_lower_set_dtype(l, bits == 4 ? RT_INT4 : RT_INT8_WO);
    l->packed = counted || !l->made[weight].weight ? 0 : (double)k * (double)n;
    return true;
}

/* Scales, zero points and the rest of what is no parameter. */
#define APART (1 << 1 | 1 << 2 | 1 << 4 | 1 << 5 | 1 << 6 | 1 << 7)

#define BEHIND (1 << 2 | 1 << 3 | 1 << 4 | 1 << 5)

const struct rt_onnx_operator rt_onnx_product_rows[] = {
    {"MatMul", 2, .shapes = matmul_shape, .lower = lower_matmul, .op = RT_OP_LINEAR, .weights = 1 << 1},
    {"Gemm", 2, .shapes = gemm_shape, .lower = lower_gemm, .op = RT_OP_LINEAR, .weights = 1 << 1 | 1 << 2},
    {"MatMulInteger", 2, .shapes = matmul_shape, .how = RT_ONNX_INT32, .lower = lower_quantised,
     .op = RT_OP_LINEAR, .weights = 1 << 1, .statistics = BEHIND},
    {"QLinearMatMul", 8, .shapes = quantised_matmul_shape, .lower = lower_quantised_apart, .op = RT_OP_LINEAR,
     .weights = 1 << 3, .statistics = APART},
    {"Det", 1, .shapes = determinant_shape},
    {"FusedMatMul", 2, .shapes = matmul_shape, .domain = RT_ONNX_MICROSOFT, .lower = lower_matmul,
     .op = RT_OP_LINEAR, .weights = 1 << 1},
    {"TransposeMatMul", 2, .shapes = matmul_shape, .domain = RT_ONNX_MICROSOFT, .lower = lower_matmul,
     .op = RT_OP_LINEAR, .weights = 1 << 1},
    {"FusedGemm", 2, .shapes = matmul_shape, .domain = RT_ONNX_MICROSOFT, .lower = lower_gemm,
     .op = RT_OP_LINEAR, .weights = 1 << 1 | 1 << 2},
    {"GemmFloat8", 2, .shapes = matmul_shape, .domain = RT_ONNX_MICROSOFT, .lower = lower_quantised,
     .op = RT_OP_LINEAR, .weights = 1 << 1, .statistics = 1 << 3 | 1 << 4 | 1 << 5},
    {"DynamicQuantizeMatMul", 2, .shapes = matmul_shape, .domain = RT_ONNX_MICROSOFT,
     .lower = lower_quantises, .op = RT_OP_LINEAR, .weights = 1 << 1, .statistics = 1 << 2 | 1 << 3},
    {"MatMulIntegerToFloat", 2, .shapes = matmul_shape, .domain = RT_ONNX_MICROSOFT, .how = RT_ONNX_FLOAT,
     .lower = lower_quantised, .op = RT_OP_LINEAR, .weights = 1 << 1, .statistics = BEHIND},
    {"MatMulInteger16", 2, .shapes = matmul_shape, .domain = RT_ONNX_MICROSOFT, .how = RT_ONNX_INT32},
    {"MatMulNBits", 2, .shapes = packed_matmul_shape, .domain = RT_ONNX_MICROSOFT, .lower = lower_packed,
     .op = RT_OP_LINEAR, .weights = 1 << 1, .statistics = 1 << 1 | 1 << 2 | 1 << 3 | 1 << 4},
    {"MatMulBnb4", 2, .shapes = packed_matmul_shape, .domain = RT_ONNX_MICROSOFT, .lower = lower_packed,
     .op = RT_OP_LINEAR, .weights = 1 << 1, .statistics = 1 << 1 | 1 << 2},
    {"QGemm", 6, .shapes = quantised_gemm_shape, .domain = RT_ONNX_MICROSOFT, .lower = lower_quantised_apart,
     .op = RT_OP_LINEAR, .weights = 1 << 3, .statistics = APART & ~(1 << 6)},
    {"Inverse", 1, .shapes = rt_onnx_same, .domain = RT_ONNX_MICROSOFT},
    {.name = NULL},
};
