/* Networks of tokens. See tokens.h. */
#include "models/networks/vision/tokens.h"
#include "models/networks/build_node.h"

struct rt_tokens rt_tokens_patches(struct rt_graph *graph, const char *name, struct rt_image x, int64_t patch,
                                   int64_t width, bool bias)
{
    const struct rt_conv conv = {.out = width, .kernel_h = patch, .stride = patch, .bias = bias};
    x = rt_image_conv(graph, name, x, &conv);
    return (struct rt_tokens){x.node, x.batch, x.height * x.width, width};
}

struct rt_tokens rt_tokens_linear(struct rt_graph *graph, const char *name, struct rt_tokens x, int64_t out,
                                  bool bias)
{
    x.node = rt_build_linear(graph, name, x.node, rt_tokens_rows(x), x.width, out, bias);
    x.width = out;
    return x;
}

struct rt_tokens rt_tokens_norm(struct rt_graph *graph, const char *name, struct rt_tokens x)
{
    x.node = rt_build_layernorm(graph, name, x.node, rt_tokens_rows(x), x.width);
    return x;
}

struct rt_tokens rt_tokens_add(struct rt_graph *graph, const char *name, struct rt_tokens x,
                               struct rt_tokens y)
{
    int64_t rows = rt_tokens_rows(x);
    x.node = rt_build_binary(graph, name, RT_OP_ADD, x.node, y.node, rows, x.width, rows * x.width);
    return x;
}

/* The last node adds a weight of `elements` to x, or multiplies it by one. */
static void with_weight(struct rt_graph *graph, enum rt_op_id op, struct rt_tokens x, uint32_t read,
                        int64_t elements)
{
    graph->nodes[graph->node_count - 1].parameters = (double)elements;
    rt_node_weight_gradient(graph, op, read, rt_tokens_rows(x), x.width, elements);
}

struct rt_tokens rt_tokens_positions(struct rt_graph *graph, const char *name, struct rt_tokens x)
{
    int64_t table = x.count * x.width;
    uint32_t read = x.node;
    x.node = rt_build_binary(graph, name, RT_OP_ADD, x.node, RT_NO_INPUT, rt_tokens_rows(x), x.width, table);
    with_weight(graph, RT_OP_ADD, x, read, table);
    return x;
}

struct rt_tokens rt_tokens_layer_scale(struct rt_graph *graph, const char *name, struct rt_tokens x, bool on)
{
    uint32_t read = x.node;
    if (!on)
        return x;
    x.node =
        rt_build_binary(graph, name, RT_OP_MUL, x.node, RT_NO_INPUT, rt_tokens_rows(x), x.width, x.width);
    with_weight(graph, RT_OP_MUL, x, read, x.width);
    return x;
}

/* Learned tokens are fp32, so what autocast concatenates is. */
struct rt_tokens rt_tokens_prepend(struct rt_graph *graph, const char *name, struct rt_tokens x,
                                   int64_t prefix)
{
    uint32_t read = x.node;
    if (prefix == 0)
        return x;
    double tokens = (double)rt_tokens_rows(x) * (double)x.width;
    x.count += prefix;
    double all = (double)rt_tokens_rows(x) * (double)x.width;
    x.node = rt_node_add(graph, name, read, RT_NO_INPUT, all);
    graph->nodes[x.node].dtype = graph->options.autocast ? RT_FP32 : graph->options.dtype;
    graph->nodes[x.node].fusable = true;
    graph->nodes[x.node].parameters = (double)(prefix * x.width);
    graph->nodes[x.node].gradient = true;
    struct rt_graph_kernel *kernel =
        rt_node_add_kernel(graph, RT_FORWARD, RT_OP_CONCAT, x.batch, x.count * x.width);
    kernel->bytes = rt_node_width(graph, x.node) * (2 * all - tokens) + rt_node_width(graph, read) * tokens;
    if (rt_node_begin_backward(graph, x.node)) {
        rt_node_narrow_gradient(graph, read);
        rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_REDUCE, x.batch, prefix * x.width);
        rt_node_accumulate(graph, prefix * x.width);
    }
    return x;
}

/* --- feed-forward --- */

static struct rt_tokens activate(struct rt_graph *graph, struct rt_tokens x, enum rt_tokens_activation kind)
{
    int64_t rows = rt_tokens_rows(x);
    uint32_t gate;
    switch (kind) {
    case RT_TOKENS_QUICK_GELU:
        gate = rt_build_unary(graph, "mlp.act.scale", RT_OP_MUL_SCALAR, x.node, rows, x.width);
        gate = rt_build_unary(graph, "mlp.act.sigmoid", RT_OP_SIGMOID, gate, rows, x.width);
        x.node = rt_build_binary(graph, "mlp.act", RT_OP_MUL, x.node, gate, rows, x.width, rows * x.width);
        return x;
    case RT_TOKENS_SWIGLU:
        x.node = rt_build_split(graph, "mlp.chunk", x.node, rows, x.width, 0);
        x.width /= 2;
        gate = rt_build_unary(graph, "mlp.act", RT_OP_SILU, x.node, rows, x.width);
        x.node = rt_build_binary(graph, "mlp.gate", RT_OP_MUL, x.node, gate, rows, x.width, rows * x.width);
        return x;
    default:
        x.node = rt_build_unary(graph, "mlp.act", RT_OP_GELU, x.node, rows, x.width);
        return x;
    }
}

struct rt_tokens rt_tokens_feed_forward(struct rt_graph *graph, struct rt_tokens x,
                                        const struct rt_feed_forward *shape)
{
    int64_t width = x.width;
    x = activate(graph, rt_tokens_linear(graph, "mlp.fc1", x, shape->inner, true), shape->activation);
    if (shape->norm)
        x = rt_tokens_norm(graph, "mlp.norm", x);
    return rt_tokens_linear(graph, "mlp.fc2", x, width, true);
}

/* --- attention --- */

/* The table's entries for each pair of tokens, in the order of the scores: looked up, and copied. */
static uint32_t distance_bias(struct rt_graph *graph, int64_t heads, int64_t count, int64_t entries)
{
    uint32_t node = rt_node_add(graph, "attn.bias_table", RT_NO_INPUT, RT_NO_INPUT,
                                (double)heads * (double)count * (double)count);
    enum rt_dtype dtype = rt_graph_weight_dtype(graph);
    graph->nodes[node].dtype = dtype;
    graph->nodes[node].parameters = (double)(entries * heads);
    graph->nodes[node].gradient = true;
    rt_node_add_kernel(graph, RT_FORWARD, RT_OP_INDEX, count * count, heads);
    rt_node_add_kernel(graph, RT_FORWARD, RT_OP_TRANSPOSE, count * count, heads);
    if (rt_node_begin_backward(graph, node)) {
        rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_FILL, entries, heads);
        rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_INDEX, count * count, heads);
        rt_node_accumulate(graph, entries * heads);
    }
    return node;
}

/* Scores(batch x heads x count, count) + the biases of every pair + the mask of each window. */
static uint32_t add_biases(struct rt_graph *graph, const struct rt_self_attention *shape, struct rt_tokens x,
                           uint32_t scores)
{
    int64_t rows = x.batch * shape->heads * x.count, pairs = x.count * x.count;
    if (shape->bias_tables > 0) {
        uint32_t table = distance_bias(graph, shape->heads, x.count, shape->bias_tables);
        scores = rt_build_binary(graph, "attn.bias", RT_OP_ADD, scores, table, rows, x.count,
                                 shape->heads * pairs);
    }
    if (shape->masks > 0)
        scores = rt_build_binary(graph, "attn.mask", RT_OP_ADD, scores, RT_NO_INPUT, rows, x.count,
                                 shape->masks * pairs);
    return scores;
}

/* x is queries, keys and values of all heads. */
static struct rt_tokens written_out(struct rt_graph *graph, const struct rt_self_attention *shape,
                                    struct rt_tokens x)
{
    int64_t rows = rt_tokens_rows(x), wide = shape->width, groups = x.batch * shape->heads;
    int64_t d = wide / shape->heads, scores = groups * x.count;
    uint32_t q = rt_build_unary(graph, "attn.scale", RT_OP_MUL_SCALAR, x.node, rows, wide);
    q = rt_build_heads(graph, "attn.heads_q", q, x.batch, rows, wide, false);
    uint32_t k = rt_build_heads(graph, "attn.heads_k", x.node, x.batch, rows, wide, true);
    uint32_t v = rt_build_heads(graph, "attn.heads_v", x.node, x.batch, rows, wide, false);
    uint32_t s = rt_build_bmm(graph, "attn.scores", q, k, groups, x.count, d, x.count);
    s = add_biases(graph, shape, x, s);
    s = rt_build_softmax(graph, "attn.softmax", s, scores, x.count);
    s = rt_build_bmm(graph, "attn.values", s, v, groups, x.count, x.count, d);
    x.node = rt_build_merge(graph, "attn.merge_heads", s, x.batch, rows, wide);
    x.width = wide;
    return x;
}

static struct rt_tokens fused(struct rt_graph *graph, const struct rt_self_attention *shape,
                              struct rt_tokens x)
{
    const int64_t dim[] = {x.batch, x.count, shape->heads, shape->width / shape->heads};
    x.node = rt_build_fused_attention(graph, "attn", x.node, x.node, RT_NO_INPUT, RT_OP_ATTENTION_ENCODER,
                                      dim, (double)rt_tokens_rows(x) * (double)shape->width);
    x.width = shape->width;
    return x;
}

struct rt_tokens rt_tokens_attention(struct rt_graph *graph, struct rt_tokens x,
                                     const struct rt_self_attention *shape)
{
    int64_t out = x.width;
    x = rt_tokens_linear(graph, "attn.qkv", x, 3 * shape->width, shape->qkv_bias);
    x.node = rt_build_split(graph, "attn.split", x.node, rt_tokens_rows(x), x.width, 0);
    x = rt_graph_fuses_attention(&graph->options) && !shape->written_out ? fused(graph, shape, x)
                                                                         : written_out(graph, shape, x);
    if (shape->norm)
        x = rt_tokens_norm(graph, "attn.norm", x);
    return rt_tokens_linear(graph, "attn.proj", x, out, true);
}

/* --- from tokens to one row an image --- */

struct rt_tokens rt_tokens_first(struct rt_graph *graph, const char *name, struct rt_tokens x)
{
    struct rt_tokens y = {x.node, x.batch, 1, x.width};
    if (!rt_graph_trains(graph))
        return y;
    y.node = rt_node_add(graph, name, x.node, RT_NO_INPUT, (double)y.batch * (double)y.width);
    if (rt_node_begin_backward(graph, y.node)) {
        rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_FILL, rt_tokens_rows(x), x.width);
        rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_COPY, x.batch, x.width);
    }
    return y;
}

struct rt_tokens rt_tokens_mean(struct rt_graph *graph, const char *name, struct rt_tokens x, int64_t prefix)
{
    struct rt_tokens y = {RT_NO_INPUT, x.batch, 1, x.width};
    int64_t rows = x.batch * (x.count - prefix);
    y.node = rt_node_add(graph, name, x.node, RT_NO_INPUT, (double)y.batch * (double)y.width);
    graph->nodes[y.node].fusable = true;
    rt_node_add_kernel(graph, RT_FORWARD, RT_OP_REDUCE, rows, x.width);
    if (rt_node_begin_backward(graph, y.node))
        rt_node_add_kernel(graph, RT_BACKWARD, RT_OP_DIV_SCALAR, rows, x.width)->bytes =
            rt_node_width(graph, y.node) *
            ((double)rows * (double)x.width + (double)x.batch * (double)x.width);
    return y;
}
