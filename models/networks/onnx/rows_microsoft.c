/* Operators that ONNX Runtime fuses (com.microsoft, ContribOperators.md). See rows.h. */
#include "base/status.h"
#include "models/networks/onnx/fold.h"
#include "models/networks/onnx/products.h"
#include "models/networks/onnx/windows.h"

static int64_t dim_of(const struct rt_onnx_value *value, int from_end)
{
    if (value == NULL || value->shape.rank < from_end)
        return RT_ONNX_UNKNOWN;
    return value->shape.dim[value->shape.rank - from_end];
}

static int64_t tokens_and(const struct rt_onnx_value *past, int64_t tokens)
{
    return past == NULL ? tokens : rt_onnx_plus(tokens, dim_of(past, 2));
}

/* --- attention --- */

/* x (batch, tokens, size), weight of queries, keys and values side by side, bias, mask, past (2, batch,
 * heads, tokens, size of a head); y and the present */
static int attention(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0), *past = rt_onnx_in(at, at->node->row->how ? 8 : 4);
    struct rt_onnx_shape shape = in->shape, present = rt_onnx_open(5);
    enum rt_onnx_dtype dtype = at->node->row->how ? rt_onnx_in(at, 3)->dtype : in->dtype;
    int64_t heads = rt_onnx_int(at, "num_heads", RT_ONNX_UNKNOWN), sizes[RT_ONNX_RANK];
    int64_t columns = dim_of(rt_onnx_in(at, 1), 1);
    int count = rt_onnx_ints(at, "qkv_hidden_sizes", sizes);
    int64_t size = count == 3 ? sizes[2] : columns < 0 ? RT_ONNX_UNKNOWN : columns / 3;
    if (shape.rank == 3) {
        shape.dim[2] = size;
        present = (struct rt_onnx_shape){.rank = 5,
                                         .dim = {2, shape.dim[0], heads, tokens_and(past, shape.dim[1]),
                                                 size < 0 || heads < 1 ? RT_ONNX_UNKNOWN : size / heads}};
    }
    rt_onnx_set(rt_onnx_out(at, 0), dtype, &shape);
    rt_onnx_set(rt_onnx_out(at, 1), dtype, &present);
    return rt_onnx_want_rank(at, 0, 3, 3);
}

static void set_cache(struct rt_onnx_value *out, const struct rt_onnx_value *in,
                      const struct rt_onnx_value *past, int64_t heads, int64_t size)
{
    struct rt_onnx_shape shape = {.rank = 4,
                                  .dim = {dim_of(in, 3), heads, tokens_and(past, dim_of(in, 2)), size}};
    rt_onnx_set(out, in->dtype, &shape);
}

/* query, key, value, bias, mask, bias of scores, past keys, past values; y, present keys, present values */
static int multi_head(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *q = rt_onnx_in(at, 0), *k = rt_onnx_in(at, 1), *v = rt_onnx_in(at, 2);
    int64_t heads = rt_onnx_int(at, "num_heads", RT_ONNX_UNKNOWN);
    struct rt_onnx_shape shape = q->shape;
    if (q->shape.rank == 5) /* batch, tokens, heads, 3, size: packed */
        shape = (struct rt_onnx_shape){
            .rank = 3,
            .dim = {q->shape.dim[0], q->shape.dim[1], rt_onnx_times(q->shape.dim[2], q->shape.dim[4])}};
    else if (shape.rank == 3 && v != NULL)
        shape.dim[2] = v->shape.rank == 4 ? rt_onnx_times(v->shape.dim[1], v->shape.dim[3]) : dim_of(v, 1);
    rt_onnx_set(rt_onnx_out(at, 0), q->dtype, &shape);
    if (k != NULL && k->shape.rank == 3 && heads > 0)
        set_cache(rt_onnx_out(at, 1), k, rt_onnx_in(at, 6), heads,
                  dim_of(k, 1) < 0 ? -1 : dim_of(k, 1) / heads);
    if (v != NULL && v->shape.rank == 3 && heads > 0)
        set_cache(rt_onnx_out(at, 2), v, rt_onnx_in(at, 7), heads,
                  dim_of(v, 1) < 0 ? -1 : dim_of(v, 1) / heads);
    return RT_OK;
}

/* query, key, value, past keys, past values, lengths; y, present keys, present values. Past and present share
 * a buffer of the longest sequence where they are one. */
static int grouped(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *q = rt_onnx_in(at, 0), *k = rt_onnx_in(at, 1);
    int64_t heads = rt_onnx_int(at, "num_heads", RT_ONNX_UNKNOWN);
    int64_t groups = rt_onnx_int(at, "kv_num_heads", RT_ONNX_UNKNOWN), size = RT_ONNX_UNKNOWN;
    struct rt_onnx_shape shape = q->shape;
    if (shape.rank == 3 && shape.dim[2] >= 0 && heads > 0 && groups > 0) {
        size = k == NULL ? shape.dim[2] / (heads + 2 * groups) : shape.dim[2] / heads;
        shape.dim[2] = rt_onnx_times(heads, size);
    }
    rt_onnx_set(rt_onnx_out(at, 0), q->dtype, &shape);
    for (size_t i = 1; i < 3; i++)
        set_cache(rt_onnx_out(at, i), q, rt_onnx_in(at, 2 + i), groups, size);
    return rt_onnx_want_rank(at, 0, 3, 3);
}

/* --- norms --- */

/* The last output is the sum of input and skip. */
static int skip_norm(const struct rt_onnx_at *at)
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

/* ids, ids of segments, tables of words, positions, segments; y, index of the mask, sum */
static int embed(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *ids = rt_onnx_in(at, 0), *words = rt_onnx_in(at, 2);
    struct rt_onnx_shape shape = {.rank = 3, .dim = {dim_of(ids, 2), dim_of(ids, 1), dim_of(words, 1)}};
    struct rt_onnx_shape mask = rt_onnx_vector(dim_of(ids, 2));
    rt_onnx_set(rt_onnx_out(at, 0), words->dtype, &shape);
    rt_onnx_set(rt_onnx_out(at, 1), RT_ONNX_INT32, &mask);
    rt_onnx_set(rt_onnx_out(at, 2), words->dtype, &shape);
    return RT_OK;
}

static int skip_group_norm(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &in->shape);
    rt_onnx_set(rt_onnx_out(at, 1), in->dtype, &in->shape);
    return RT_OK;
}

/* --- products --- */

static int fused_matmul(const struct rt_onnx_at *at)
{
    int how = at->node->row->how;
    return rt_onnx_matmul_of(at, 1, how > 0 ? (enum rt_onnx_dtype)how : rt_onnx_in(at, 0)->dtype);
}

/* Weights of N rows of K, packed: the attributes say both. */
static int packed_matmul(const struct rt_onnx_at *at)
{
    struct rt_onnx_shape shape = rt_onnx_in(at, 0)->shape;
    if (shape.rank > 0)
        shape.dim[shape.rank - 1] = rt_onnx_int(at, "N", RT_ONNX_UNKNOWN);
    rt_onnx_set(rt_onnx_out(at, 0), rt_onnx_in(at, 0)->dtype, &shape);
    return RT_OK;
}

/* a, its scale and zero point, b, its scale and zero point, bias, those of the result */
static int quantised_gemm(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *zero = rt_onnx_in(at, 8);
    return rt_onnx_matmul_of(at, 3, zero != NULL ? zero->dtype : RT_ONNX_FLOAT);
}

/* --- images --- */

static int conv(const struct rt_onnx_at *at)
{
    return rt_onnx_conv(at, 0, 1, rt_onnx_in(at, 0)->dtype, at->node->row->how != 0);
}

static int max_pool(const struct rt_onnx_at *at)
{
    return rt_onnx_pool(at, true);
}

static int average_pool(const struct rt_onnx_at *at)
{
    return rt_onnx_pool(at, rt_onnx_int(at, "channels_last", 0) != 0);
}

static int global_pool(const struct rt_onnx_at *at)
{
    return rt_onnx_global_pool(at, rt_onnx_int(at, "channels_last", 0) != 0);
}

/* --- elements --- */

/* a, its scale and zero point, b, its scale and zero point */
static int quantised_pair(const struct rt_onnx_at *at)
{
    struct rt_onnx_shape shape;
    int status = rt_onnx_broadcast(&rt_onnx_in(at, 0)->shape, &rt_onnx_in(at, 3)->shape, &shape);
    rt_onnx_set(rt_onnx_out(at, 0), rt_onnx_in(at, 0)->dtype, &shape);
    return status;
}

/* Scale and zero point of the result, then each input with both. */
static int quantised_concat(const struct rt_onnx_at *at)
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

/* Half of the columns gate the other half. */
static int split_gelu(const struct rt_onnx_at *at)
{
    struct rt_onnx_shape shape = rt_onnx_in(at, 0)->shape;
    if (shape.rank > 0 && shape.dim[shape.rank - 1] >= 0)
        shape.dim[shape.rank - 1] /= 2;
    rt_onnx_set(rt_onnx_out(at, 0), rt_onnx_in(at, 0)->dtype, &shape);
    return RT_OK;
}

static int dropout(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *in = rt_onnx_in(at, 0);
    rt_onnx_set(rt_onnx_out(at, 0), in->dtype, &in->shape);
    rt_onnx_set(rt_onnx_out(at, 1), RT_ONNX_BOOL, &in->shape);
    return RT_OK;
}

static int as_scale(const struct rt_onnx_at *at)
{
    rt_onnx_set(rt_onnx_out(at, 0), rt_onnx_in(at, 1)->dtype, &rt_onnx_in(at, 0)->shape);
    return RT_OK;
}

static int quantise(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *zero = rt_onnx_in(at, 2);
    rt_onnx_set(rt_onnx_out(at, 0), zero != NULL ? zero->dtype : RT_ONNX_UINT8, &rt_onnx_in(at, 0)->shape);
    return RT_OK;
}

#define SAME(name)                                                                                           \
    {                                                                                                        \
        name, rt_onnx_same, NULL, 0, 1                                                                       \
    }

const struct rt_onnx_op rt_onnx_microsoft_rows[] = {
    {"Attention", attention, NULL, 0, 2},
    {"QAttention", attention, NULL, 1, 5},
    {"MultiHeadAttention", multi_head, NULL, 0, 1},
    {"GroupQueryAttention", grouped, NULL, 0, 1},
    SAME("RotaryEmbedding"),
    {"SkipLayerNormalization", skip_norm, NULL, 0, 2},
    {"SkipSimplifiedLayerNormalization", skip_norm, NULL, 0, 2},
    {"EmbedLayerNormalization", embed, NULL, 0, 3},
    SAME("GroupNorm"),
    {"SkipGroupNorm", skip_group_norm, NULL, 0, 1},
    {"FusedMatMul", fused_matmul, NULL, 0, 2},
    {"TransposeMatMul", fused_matmul, NULL, 0, 2},
    {"FusedGemm", fused_matmul, NULL, 0, 2},
    {"GemmFloat8", fused_matmul, NULL, 0, 2},
    {"DynamicQuantizeMatMul", fused_matmul, NULL, 0, 2},
    {"MatMulIntegerToFloat", fused_matmul, NULL, RT_ONNX_FLOAT, 2},
    {"MatMulInteger16", fused_matmul, NULL, RT_ONNX_INT32, 2},
    {"MatMulNBits", packed_matmul, NULL, 0, 2},
    {"MatMulBnb4", packed_matmul, NULL, 0, 2},
    {"QGemm", quantised_gemm, NULL, 0, 6},
    {"FusedConv", conv, NULL, 0, 2},
    {"NhwcConv", conv, NULL, 1, 2},
    {"NhwcFusedConv", conv, NULL, 1, 2},
    {"NhwcMaxPool", max_pool, NULL, 0, 1},
    {"QLinearAveragePool", average_pool, NULL, 0, 1},
    {"QLinearGlobalAveragePool", global_pool, NULL, 0, 1},
    {"QLinearAdd", quantised_pair, NULL, 0, 4},
    {"QLinearMul", quantised_pair, NULL, 0, 4},
    {"QLinearConcat", quantised_concat, NULL, 0, 3},
    SAME("QLinearLeakyRelu"),
    SAME("QLinearSigmoid"),
    SAME("QLinearSoftmax"),
    SAME("BiasGelu"),
    SAME("FastGelu"),
    SAME("Gelu"),
    SAME("QuickGelu"),
    {"BiasSplitGelu", split_gelu, NULL, 0, 1},
    SAME("BiasAdd"),
    SAME("BiasSoftmax"),
    {"BiasDropout", dropout, NULL, 0, 1},
    {"DropoutGrad", rt_onnx_same, NULL, 0, 1},
    SAME("Inverse"),
    SAME("MoE"),
    SAME("QMoE"),
    SAME("Trilu"),
    {"DequantizeLinear", as_scale, NULL, 0, 2},
    {"QuantizeLinear", quantise, NULL, 0, 2},
    {.name = NULL},
};
