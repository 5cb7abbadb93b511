/*
 * Operators that stand for several of a transformer's: Attention and RotaryEmbedding of ai.onnx 23, and what
 * ONNX Runtime fuses (com.microsoft, ContribOperators.md). Attention is one kernel where the runtime has one
 * (lowering.h, rt_onnx_lower_fuses_attention), else as transformers' eager code runs it: product, scale,
 * mask, softmax, product. See operator.h.
 */
#include "base/status.h"
#include "models/networks/build_node.h"
#include "models/networks/onnx/lowering.h"
#include "models/networks/onnx/operator.h"

#include <string.h>

/* --- shapes of ai.onnx --- */

/* Heads of queries or of keys: a dim, or an attribute where heads lie side by side. */
static int64_t heads_of(const struct rt_onnx_at *at, const struct rt_onnx_shape *shape, const char *attribute)
{
    return shape->rank == 4 ? shape->dim[1] : rt_onnx_int(at, attribute, RT_ONNX_UNKNOWN);
}

static int64_t part_of(int64_t whole, int64_t parts)
{
    return whole < 0 || parts < 1 ? RT_ONNX_UNKNOWN : whole / parts;
}

/* Cached keys or values with the new ones behind them: batch, heads, tokens, size. */
static int set_present(const struct rt_onnx_at *at, size_t output, size_t past, size_t input, int64_t heads)
{
    const struct rt_onnx_shape *in = &rt_onnx_in(at, input)->shape;
    const struct rt_onnx_value *cached = rt_onnx_in(at, past);
    struct rt_onnx_shape shape = {.rank = 4,
                                  .dim = {in->dim[0], heads, in->dim[in->rank - 2],
                                          in->rank == 4 ? in->dim[3] : part_of(in->dim[2], heads)}};
    if (cached != NULL)
        shape.dim[2] =
            cached->shape.rank == 4 ? rt_onnx_plus(shape.dim[2], cached->shape.dim[2]) : RT_ONNX_UNKNOWN;
    rt_onnx_set(rt_onnx_out(at, output), rt_onnx_in(at, input)->dtype, &shape);
    return RT_OK;
}

/* q, k, v, mask, past keys, past values; y, present keys, present values, scores */
static int attention_shape(const struct rt_onnx_at *at)
{
    const struct rt_onnx_shape *q = &rt_onnx_in(at, 0)->shape, *k = &rt_onnx_in(at, 1)->shape,
                               *v = &rt_onnx_in(at, 2)->shape;
    int status = RT_OK;
    for (size_t i = 0; i < 3 && status == RT_OK; i++)
        status = rt_onnx_want_rank(at, i, 3, 4);
    if (status != RT_OK || q->rank < 0 || k->rank < 0 || v->rank < 0)
        return status;
    int64_t heads = heads_of(at, q, "q_num_heads"), groups = heads_of(at, k, "kv_num_heads");
    int64_t size = v->rank == 4 ? v->dim[3] : part_of(v->dim[2], groups), tokens = k->dim[k->rank - 2];
    struct rt_onnx_shape out = *q;
    out.dim[q->rank - 1] = q->rank == 4 ? size : rt_onnx_times(heads, size);
    rt_onnx_set(rt_onnx_out(at, 0), rt_onnx_in(at, 0)->dtype, &out);
    set_present(at, 1, 4, 1, groups);
    set_present(at, 2, 5, 2, groups);
    const struct rt_onnx_value *past = rt_onnx_in(at, 4);
    if (past != NULL)
        tokens = past->shape.rank == 4 ? rt_onnx_plus(tokens, past->shape.dim[2]) : RT_ONNX_UNKNOWN;
    struct rt_onnx_shape scores = {.rank = 4, .dim = {q->dim[0], heads, q->dim[q->rank - 2], tokens}};
    rt_onnx_set(rt_onnx_out(at, 3), rt_onnx_in(at, 0)->dtype, &scores);
    return RT_OK;
}

/* --- of com.microsoft --- */

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

/* x (batch, tokens, size), weight of queries, keys and values side by side, bias, mask, past (2, batch,
 * heads, tokens, size of a head); y and the present */
static int joined_attention_shape(const struct rt_onnx_at *at)
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
static int multi_head_shape(const struct rt_onnx_at *at)
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
static int grouped_shape(const struct rt_onnx_at *at)
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

/* ids, ids of segments, tables of words, positions, segments; y, index of the mask, sum */
static int embed_shape(const struct rt_onnx_at *at)
{
    const struct rt_onnx_value *ids = rt_onnx_in(at, 0), *words = rt_onnx_in(at, 2);
    struct rt_onnx_shape shape = {.rank = 3, .dim = {dim_of(ids, 2), dim_of(ids, 1), dim_of(words, 1)}};
    struct rt_onnx_shape mask = rt_onnx_vector(dim_of(ids, 2));
    rt_onnx_set(rt_onnx_out(at, 0), words->dtype, &shape);
    rt_onnx_set(rt_onnx_out(at, 1), RT_ONNX_INT32, &mask);
    rt_onnx_set(rt_onnx_out(at, 2), words->dtype, &shape);
    return RT_OK;
}

/* --- nodes of attention --- */

static bool is_sound(const struct rt_onnx_attention *a)
{
    return a->batch > 0 && a->tokens > 0 && a->keys > 0 && a->heads > 0 && a->kv_heads > 0 && a->size > 0 &&
           a->value_size > 0 && a->heads % a->kv_heads == 0;
}

static const char *part(struct rt_onnx_lowering *l, const char *name)
{
    return rt_image_name(l->graph, l->name, name);
}

bool rt_onnx_attend_in_one(struct rt_onnx_lowering *l, const struct rt_onnx_attention *a)
{
    bool context = a->causal && a->tokens > 1 && a->keys >= a->tokens;
    bool generation = a->tokens == 1;
    int64_t size = (a->size + a->value_size) / 2; /* as many FLOPs and bytes where they differ */
    double outputs = (double)a->batch * (double)a->tokens * (double)a->heads * (double)a->value_size;
    const int64_t cached[RT_ATTENTION_DIMS] = {
        [RT_ATTENTION_BATCH] = a->batch,
        [RT_ATTENTION_TOKENS] = a->tokens,
        [RT_ATTENTION_CACHED] = a->keys - a->tokens,
        [RT_ATTENTION_HEADS] = a->heads,
        [RT_ATTENTION_KV_HEADS] = a->kv_heads,
        [RT_ATTENTION_HEAD_DIM] = size,
        [RT_ATTENTION_WINDOW] = a->window,
    };
    const int64_t whole[] = {a->batch, a->tokens, a->heads, size, a->keys}; /* encoder, cross */
    bool others = !context && !generation && a->tokens != a->keys;
    if (!rt_onnx_lower_fuses_attention(l) || (others && a->kv_heads != a->heads))
        return false;
    l->result = rt_build_fused_attention(l->graph, l->name, a->q, a->k, a->v,
                                         context      ? RT_OP_ATTENTION_CONTEXT
                                         : generation ? RT_OP_ATTENTION_GENERATION
                                         : others     ? RT_OP_ATTENTION_CROSS
                                                      : RT_OP_ATTENTION_ENCODER,
                                         context || generation ? cached : whole, outputs);
    if (!a->rows && l->patterns)
        l->made[l->at.node->outputs[0]].view = RT_ONNX_HEADS;
    return true;
}

/* Keys or values of a group of heads, repeated for each of them, or copied as products take them. */
static uint32_t spread(struct rt_onnx_lowering *l, const struct rt_onnx_attention *a, const char *name,
                       uint32_t x, int64_t size, bool keys)
{
    int64_t rows = rt_onnx_times(a->batch, a->keys);
    if (a->kv_heads < a->heads)
        x = rt_build_copies(l->graph, part(l, name), x, rt_onnx_times(rows, a->heads), size, RT_COPY_ROWS,
                            RT_COPY_ROWS);
    else if (a->split[keys ? 1 : 2])
        x = rt_build_heads(l->graph, part(l, name), x, a->batch, rows, rt_onnx_times(a->heads, size), keys);
    return x;
}

static void written_out(struct rt_onnx_lowering *l, const struct rt_onnx_attention *a)
{
    struct rt_graph *graph = l->graph;
    int64_t pairs = rt_onnx_times(a->batch, a->heads), rows = rt_onnx_times(pairs, a->tokens);
    int64_t tokens = rt_onnx_times(a->batch, a->tokens);
    uint32_t q = a->q, k, v;
    if (a->split[0])
        q = rt_build_heads(graph, part(l, "heads_q"), q, a->batch, tokens, rt_onnx_times(a->heads, a->size),
                           false);
    k = spread(l, a, "heads_k", a->k, a->size, true);
    v = spread(l, a, "heads_v", a->v, a->value_size, false);
    uint32_t x = rt_build_bmm(graph, part(l, "scores"), q, k, pairs, a->tokens, a->size, a->keys);
    x = rt_build_unary(graph, part(l, "scale"), RT_OP_MUL_SCALAR, x, rows, a->keys);
    if (a->causal || a->masked)
        x = rt_build_binary(graph, part(l, "mask"), RT_OP_ADD, x, a->mask, rows, a->keys,
                            rt_onnx_times(a->masked ? tokens : a->tokens, a->keys));
    x = rt_build_softmax(graph, part(l, "softmax"), x, rows, a->keys);
    l->result = rt_build_bmm(graph, part(l, "values"), x, v, pairs, a->tokens, a->keys, a->value_size);
    if (a->rows)
        l->result = rt_build_merge(graph, part(l, "merge"), l->result, a->batch, tokens,
                                   rt_onnx_times(a->heads, a->value_size));
}

/* Keys and values of new tokens behind those of `past`, where the model gives them back: one copy each
 * (torch.cat, as transformers' DynamicCache). */
static void add_caches(struct rt_onnx_lowering *l, size_t first, size_t last, size_t past)
{
    const struct rt_onnx_node *node = l->at.node;
    uint32_t result = l->result;
    for (size_t i = first; i <= last && i < node->output_count; i++) {
        if (node->outputs[i] == RT_ONNX_NO_VALUE || rt_onnx_lower_in(l, past) == RT_ONNX_NO_VALUE)
            continue;
        int64_t rows, cols;
        rt_onnx_lower_matrix(l, node->outputs[i], &rows, &cols);
        rt_build_move(l->graph, part(l, "cache"), RT_OP_COPY, rt_onnx_lower_node(l, i), rows, cols, 0);
    }
    l->result = result;
}

static bool attend(struct rt_onnx_lowering *l, const struct rt_onnx_attention *a)
{
    if (!is_sound(a))
        return false;
    if (!rt_onnx_attend_in_one(l, a))
        written_out(l, a);
    return true;
}

static int64_t past_tokens(const struct rt_onnx_lowering *l, size_t past)
{
    if (rt_onnx_lower_in(l, past) == RT_ONNX_NO_VALUE || rt_onnx_lower_shape(l, past)->rank < 2)
        return 0;
    return rt_onnx_lower_shape(l, past)->dim[rt_onnx_lower_shape(l, past)->rank - 2];
}

/* Of queries, keys, values of 3 dims (batch, tokens, heads * size) or 4 (batch, heads, tokens, size). */
static void take_heads(const struct rt_onnx_shape *shape, int64_t heads, int64_t *count, int64_t *size)
{
    *count = shape->rank == 4 ? shape->dim[1] : heads;
    *size = shape->rank == 4 ? shape->dim[3] : heads > 0 ? shape->dim[2] / heads : 0;
}

static void take_inputs(const struct rt_onnx_lowering *l, struct rt_onnx_attention *a, int64_t heads,
                        int64_t kv_heads, size_t past)
{
    const struct rt_onnx_shape *q = rt_onnx_lower_shape(l, 0), *k = rt_onnx_lower_shape(l, 1),
                               *v = rt_onnx_lower_shape(l, 2);
    int64_t values;
    a->q = rt_onnx_lower_node(l, 0);
    a->k = rt_onnx_lower_node(l, 1);
    a->v = rt_onnx_lower_node(l, 2);
    a->batch = q->dim[0];
    a->tokens = q->dim[q->rank - 2];
    a->keys = rt_onnx_plus(k->dim[k->rank - 2], past_tokens(l, past));
    a->rows = q->rank == 3;
    for (size_t i = 0; i < 3; i++)
        a->split[i] =
            rt_onnx_lower_shape(l, i)->rank == 3 || l->made[rt_onnx_lower_in(l, i)].view == RT_ONNX_HEADS;
    take_heads(q, heads, &a->heads, &a->size);
    take_heads(k, kv_heads, &a->kv_heads, &values);
    take_heads(v, kv_heads, &values, &a->value_size);
}

static bool is_3_or_4(const struct rt_onnx_lowering *l, size_t input)
{
    if (rt_onnx_lower_in(l, input) == RT_ONNX_NO_VALUE)
        return false;
    int rank = rt_onnx_lower_shape(l, input)->rank;
    return rank == 3 || rank == 4;
}

static bool has(const struct rt_onnx_lowering *l, size_t input)
{
    return rt_onnx_lower_in(l, input) != RT_ONNX_NO_VALUE;
}

void rt_onnx_claim_mask(struct rt_onnx_lowering *l, const struct rt_onnx_node *node)
{
    bool attention = strcmp(node->op, "Attention") == 0 && node->domain[0] == '\0';
    if (!attention || node->input_count < 4 || node->inputs[0] == RT_ONNX_NO_VALUE ||
        node->inputs[3] == RT_ONNX_NO_VALUE || !rt_onnx_lower_fuses_attention(l))
        return;
    const struct rt_onnx_value *values = l->at.model->values;
    const struct rt_onnx_shape *q = &values[node->inputs[0]].shape, *mask = &values[node->inputs[3]].shape;
    if (q->rank < 3 || mask->rank < 2 || !rt_onnx_shape_known(q) || !rt_onnx_shape_known(mask))
        return;
    int64_t queries = q->dim[q->rank - 2], keys = mask->dim[mask->rank - 1];
    bool causal = keys >= queries && rt_onnx_is_causal(l, node->inputs[3], queries, keys);
    l->made[node->outputs[0]].causal = causal;
    if (causal || queries == 1)
        rt_onnx_unread(l, node->inputs[3]);
}

/* ai.onnx 23: q, k, v, mask, past keys, past values */
static bool lower_attention(struct rt_onnx_lowering *l)
{
    struct rt_onnx_attention a = {.mask = rt_onnx_lower_node(l, 3),
                                  .masked = has(l, 3),
                                  .causal = rt_onnx_int(&l->at, "is_causal", 0) != 0 ||
                                            l->made[l->at.node->outputs[0]].causal};
    if (!is_3_or_4(l, 0) || !is_3_or_4(l, 1) || !is_3_or_4(l, 2))
        return false;
    take_inputs(l, &a, rt_onnx_int(&l->at, "q_num_heads", 0), rt_onnx_int(&l->at, "kv_num_heads", 0), 4);
    if (!attend(l, &a))
        return false;
    add_caches(l, 1, 2, 4);
    return true;
}

/* com.microsoft: x, weights of queries, keys and values side by side, bias, mask, past. QAttention's product
 * is of 8 bits, and has scales before its mask. */
static bool packed_attention(struct rt_onnx_lowering *l, size_t mask, size_t past, bool quantised)
{
    const struct rt_onnx_shape *x = rt_onnx_lower_shape(l, 0), *w = rt_onnx_lower_shape(l, 1);
    int64_t heads = rt_onnx_int(&l->at, "num_heads", 0), sizes[RT_ONNX_RANK];
    if (x->rank != 3 || w->rank != 2 || heads < 1)
        return false;
    if (rt_onnx_ints(&l->at, "qkv_hidden_sizes", sizes) != 3)
        sizes[0] = sizes[2] = w->dim[1] / 3;
    struct rt_onnx_attention a = {.batch = x->dim[0],
                                  .tokens = x->dim[1],
                                  .keys = rt_onnx_plus(x->dim[1], past_tokens(l, past)),
                                  .heads = heads,
                                  .kv_heads = heads,
                                  .size = sizes[0] / heads,
                                  .value_size = sizes[2] / heads,
                                  .mask = rt_onnx_lower_node(l, mask),
                                  .masked = has(l, mask),
                                  .causal = rt_onnx_int(&l->at, "unidirectional", 0) != 0,
                                  .rows = true,
                                  .split = {true, true, true}};
    if (!is_sound(&a))
        return false;
    l->result = rt_build_linear(l->graph, part(l, "qkv"), rt_onnx_lower_node(l, 0),
                                rt_onnx_times(x->dim[0], x->dim[1]), w->dim[0], w->dim[1], has(l, 2));
    if (quantised)
        rt_onnx_lower_set_dtype(l, RT_INT8);
    a.q = a.k = a.v = l->result;
    attend(l, &a);
    add_caches(l, 1, 1, past);
    return true;
}

static bool lower_joined_attention(struct rt_onnx_lowering *l)
{
    return packed_attention(l, 3, 4, false);
}

static bool lower_quantised_attention(struct rt_onnx_lowering *l)
{
    return packed_attention(l, 5, 8, true);
}

/* The bias of queries, keys or values, which lie apart. */
static uint32_t add_bias(struct rt_onnx_lowering *l, const char *name, uint32_t x, int64_t rows, int64_t cols)
{
    return rt_build_binary(l->graph, part(l, name), RT_OP_ADD, x, RT_NO_INPUT, rows, cols, cols);
}

/* Queries, keys and values in one: batch, tokens, heads, 3, size. */
static bool packed_heads(struct rt_onnx_lowering *l, const struct rt_onnx_attention *as)
{
    const struct rt_onnx_shape *x = rt_onnx_lower_shape(l, 0);
    struct rt_onnx_attention a = *as;
    if (x->rank != 5 || has(l, 1) || has(l, 3))
        return false;
    a.q = a.k = a.v = rt_onnx_lower_node(l, 0);
    a.batch = x->dim[0];
    a.tokens = a.keys = x->dim[1];
    a.heads = a.kv_heads = x->dim[2];
    a.size = a.value_size = x->dim[4];
    a.rows = a.split[0] = a.split[1] = a.split[2] = true;
    return attend(l, &a);
}

/* query, key, value, bias, mask, bias of scores, past keys, past values */
static bool lower_multi_head(struct rt_onnx_lowering *l)
{
    int64_t heads = rt_onnx_int(&l->at, "num_heads", 0);
    struct rt_onnx_attention a = {.mask = rt_onnx_lower_node(l, has(l, 4) ? 4 : 5),
                                  .masked = has(l, 4) || has(l, 5),
                                  .causal = rt_onnx_int(&l->at, "unidirectional", 0) != 0};
    if (!is_3_or_4(l, 0) || !is_3_or_4(l, 1) || !is_3_or_4(l, 2))
        return packed_heads(l, &a);
    take_inputs(l, &a, heads, heads, 6);
    if (!is_sound(&a))
        return false;
    if (has(l, 3)) {
        int64_t tokens = rt_onnx_times(a.batch, a.tokens), keys = rt_onnx_times(a.batch, a.keys);
        a.q = add_bias(l, "bias_q", a.q, tokens, rt_onnx_times(heads, a.size));
        a.k = add_bias(l, "bias_k", a.k, keys, rt_onnx_times(heads, a.size));
        a.v = add_bias(l, "bias_v", a.v, keys, rt_onnx_times(heads, a.value_size));
    }
    attend(l, &a);
    add_caches(l, 1, 2, 6);
    return true;
}

static uint32_t rotate(struct rt_onnx_lowering *l, const char *name, uint32_t x, int64_t rows, int64_t cols)
{
    uint32_t node = rt_node_add(l->graph, name, x, RT_NO_INPUT, (double)rows * (double)cols);
    rt_node_add_kernel(l->graph, RT_FORWARD, RT_OP_ROTARY, rows, cols);
    if (rt_node_begin_backward(l->graph, node)) /* the same in the other direction */
        rt_node_add_kernel(l->graph, RT_BACKWARD, RT_OP_ROTARY, rows, cols);
    return node;
}

/* query (or queries, keys and values side by side), key, value, past keys, past values, lengths ... */
static bool lower_grouped(struct rt_onnx_lowering *l)
{
    const struct rt_onnx_shape *q = rt_onnx_lower_shape(l, 0);
    int64_t heads = rt_onnx_int(&l->at, "num_heads", 0), groups = rt_onnx_int(&l->at, "kv_num_heads", 0);
    int64_t window = rt_onnx_int(&l->at, "local_window_size", -1);
    if (q->rank != 3 || heads < 1 || groups < 1)
        return false;
    struct rt_onnx_attention a = {.q = rt_onnx_lower_node(l, 0),
                                  .k = rt_onnx_lower_node(l, has(l, 1) ? 1 : 0),
                                  .v = rt_onnx_lower_node(l, has(l, 2) ? 2 : 0),
                                  .mask = RT_NO_INPUT,
                                  .batch = q->dim[0],
                                  .tokens = q->dim[1],
                                  .keys = rt_onnx_plus(q->dim[1], past_tokens(l, 3)),
                                  .heads = heads,
                                  .kv_heads = groups,
                                  .size = q->dim[2] / (has(l, 1) ? heads : heads + 2 * groups),
                                  .window = window > 0 ? window : 0,
                                  .causal = true,
                                  .rows = true,
                                  .split = {true, true, true}};
    a.value_size = a.size;
    if (!is_sound(&a))
        return false;
    int64_t rows = rt_onnx_times(a.batch, a.tokens);
    if (rt_onnx_int(&l->at, "do_rotary", 0) != 0) {
        a.q = rotate(l, part(l, "rotary_q"), a.q, rows, rt_onnx_times(heads, a.size));
        a.k = rotate(l, part(l, "rotary_k"), a.k, rows, rt_onnx_times(groups, a.size));
    }
    attend(l, &a);
    add_caches(l, 1, 2, 3);
    return true;
}

/* --- what stands around it --- */

/* Positions are not in the order of the other domain, which no size depends on. */
static bool lower_rotary(struct rt_onnx_lowering *l)
{
    int64_t rows, cols;
    rt_onnx_lower_matrix(l, l->at.node->outputs[0], &rows, &cols);
    l->result = rotate(l, l->name, rt_onnx_lower_node(l, 0), rows, cols);
    l->made[l->at.node->outputs[0]].view = l->made[rt_onnx_lower_in(l, 0)].view;
    return true;
}

static uint32_t look_up(struct rt_onnx_lowering *l, const char *name, size_t table, uint32_t sum,
                        int64_t rows)
{
    const struct rt_onnx_shape *shape = rt_onnx_lower_shape(l, table);
    uint32_t found = rt_build_embedding(l->graph, part(l, name), rows, shape->dim[0], shape->dim[1]);
    if (sum == RT_NO_INPUT)
        return found;
    return rt_build_binary(l->graph, part(l, "add"), RT_OP_ADD, sum, found, rows, shape->dim[1],
                           rt_onnx_times(rows, shape->dim[1]));
}

/* ids, ids of segments, tables of words, positions, segments (none where there is one), weight and bias of
 * the norm: a lookup each, their sums, the norm. */
static bool lower_embed(struct rt_onnx_lowering *l)
{
    static const char *const names[] = {"words", "positions", "segments"};
    int64_t rows, cols;
    uint32_t sum = RT_NO_INPUT;
    rt_onnx_lower_matrix(l, l->at.node->outputs[0], &rows, &cols);
    for (size_t table = 2; table < 5; table++)
        if (has(l, table) && rt_onnx_lower_shape(l, table)->rank != 2)
            return false;
    for (size_t table = 2; table < 5; table++)
        if (has(l, table))
            sum = look_up(l, names[table - 2], table, sum, rows);
    l->result = rt_build_layernorm(l->graph, l->name, sum, rows, cols);
    return true;
}

/* Gated experts (three products) of which each token takes `k`; others move their bytes. */
static bool lower_experts(struct rt_onnx_lowering *l)
{
    const struct rt_onnx_shape *router = has(l, 1) ? rt_onnx_lower_shape(l, 1) : NULL;
    const struct rt_onnx_shape *down = has(l, 4) ? rt_onnx_lower_shape(l, 4) : NULL;
    bool gated = has(l, 6) || strcmp(rt_onnx_word(&l->at, "activation_type", "relu"), "swiglu") == 0;
    int64_t rows, cols, each = rt_onnx_int(&l->at, "k", 1);
    rt_onnx_lower_matrix(l, l->at.node->outputs[0], &rows, &cols);
    if (!gated || router == NULL || router->rank < 1 || down == NULL || down->rank != 3 || down->dim[0] < 1)
        return false;
    int64_t inner = rt_onnx_count(down) / rt_onnx_times(down->dim[0], cols);
    l->result = rt_onnx_lower_add(l, (double)rows * (double)cols);
    rt_graph_add_kernel(
        l->graph, RT_FORWARD, rt_onnx_lower_op(l),
        (const int64_t[]){rows, cols, inner, each, router->dim[router->rank - 1], 1, 1, 0, 0});
    rt_onnx_lower_again(l);
    return true;
}

const struct rt_onnx_operator rt_onnx_attention_rows[] = {
    {"Attention", 3, .shapes = attention_shape, .lower = lower_attention, .op = RT_OP_LINEAR},
    {"RotaryEmbedding", 3, .shapes = rt_onnx_same, .lower = lower_rotary, .op = RT_OP_ROTARY,
     .statistics = 1 << 1 | 1 << 2 | 1 << 3},
    {"Attention", 2, .shapes = joined_attention_shape, .domain = RT_ONNX_MICROSOFT,
     .lower = lower_joined_attention, .op = RT_OP_LINEAR},
    {"QAttention", 5, .shapes = joined_attention_shape, .domain = RT_ONNX_MICROSOFT, .how = 1,
     .lower = lower_quantised_attention, .op = RT_OP_LINEAR, .weights = 1 << 1 | 1 << 2,
     .statistics = 1 << 3 | 1 << 4 | 1 << 6 | 1 << 7},
    {"MultiHeadAttention", 1, .shapes = multi_head_shape, .domain = RT_ONNX_MICROSOFT,
     .lower = lower_multi_head, .op = RT_OP_ATTENTION_ENCODER, .weights = 1 << 3},
    {"GroupQueryAttention", 1, .shapes = grouped_shape, .domain = RT_ONNX_MICROSOFT, .lower = lower_grouped,
     .op = RT_OP_ATTENTION_CONTEXT, .statistics = 1 << 7 | 1 << 8},
    {"RotaryEmbedding", 1, .shapes = rt_onnx_same, .domain = RT_ONNX_MICROSOFT, .lower = lower_rotary,
     .op = RT_OP_ROTARY, .statistics = 1 << 1 | 1 << 2 | 1 << 3},
    {"EmbedLayerNormalization", 3, .shapes = embed_shape, .domain = RT_ONNX_MICROSOFT, .lower = lower_embed,
     .op = RT_OP_LAYERNORM, .weights = 1 << 2 | 1 << 3 | 1 << 4 | 1 << 5 | 1 << 6},
    {"MoE", 1, .shapes = rt_onnx_same, .domain = RT_ONNX_MICROSOFT, .lower = lower_experts, .op = RT_OP_MOE,
     .weights = 1 << 2 | 1 << 4 | 1 << 6},
    {"QMoE", 1, .shapes = rt_onnx_same, .domain = RT_ONNX_MICROSOFT},
    {.name = NULL},
};
