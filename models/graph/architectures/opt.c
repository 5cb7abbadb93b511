/* OPT as Hugging Face's OPTForCausalLM runs it, attention written out ("eager"). Positions and masks are
 * computed on the device, from the mask of padding; the table of positions is read by its add. */
#include "models/graph/build.h"
#include "models/graph/architectures/config.h"

#define POSITION_OFFSET 2 /* rows of the table that no token uses (OPTLearnedPositionalEmbedding) */

static const struct rt_config_key keys[] = {
    RT_MODEL_KEY("hidden_size", RT_KEY_SIZE, hidden, true, 0),
    RT_MODEL_KEY("num_hidden_layers", RT_KEY_SIZE, layers, true, 0),
    RT_MODEL_KEY("num_attention_heads", RT_KEY_SIZE, heads, true, 0),
    RT_MODEL_KEY("ffn_dim", RT_KEY_SIZE, inner, true, 0),
    RT_MODEL_KEY("max_position_embeddings", RT_KEY_SIZE, positions, false, 2048),
    RT_MODEL_KEY("vocab_size", RT_KEY_SIZE, vocab, true, 0),
    RT_MODEL_KEY("word_embed_proj_dim", RT_KEY_SIZE, embedding, false, -1),
    RT_MODEL_KEY("do_layer_norm_before", RT_KEY_BOOLEAN, norm_first, false, 1),
    RT_MODEL_KEY("enable_bias", RT_KEY_BOOLEAN, qkv_bias, false, 1), /* of every product, not these alone */
    RT_MODEL_KEY("activation_function", RT_KEY_ACTIVATION, activation, false, RT_ACT_RELU),
    RT_MODEL_KEY("tie_word_embeddings", RT_KEY_BOOLEAN, tied, false, 1),
    {0},
};

static int complete(struct rt_model *model, const char *where)
{
    if (model->embedding < 0)
        model->embedding = model->hidden;
    return rt_config_heads(model, where);
}

/* A copy that puts the heads of one operand in a row: (batch, heads, tokens, d). The gradient of keys comes
 * transposed, and in rows but for the sequences. */
static uint32_t split_heads(struct rt_graph *graph, const struct rt_shape *s, const char *name, uint32_t x)
{
    return rt_build_move(graph, name, RT_OP_COPY, x, s->rows, s->heads * s->head_dim, 0);
}

/* softmax(max((q / sqrt(d)) k^T + mask, lowest)) v for the heads of one device */
static uint32_t attention(const struct rt_model *model, struct rt_graph *graph, uint32_t x, uint32_t mask)
{
    struct rt_shape s = rt_shape_of(model, &graph->options);
    int64_t h = model->hidden, wide = s.heads * s.head_dim;
    int64_t pairs = s.batch * s.heads, scores = pairs * s.queries;
    bool bias = model->qkv_bias;
    uint32_t q = rt_build_linear(graph, "attn.q", x, s.rows, h, wide, bias);
    q = rt_build_unary(graph, "attn.scale", RT_OP_MUL_SCALAR, q, s.rows, wide);
    uint32_t k = rt_build_linear(graph, "attn.k", x, s.rows, h, wide, bias);
    k = rt_build_copies(graph, "attn.split_k", k, s.rows, wide, RT_COPY_ROWS, rt_copy_keys(s.batch));
    uint32_t v = rt_build_linear(graph, "attn.v", x, s.rows, h, wide, bias);
    v = split_heads(graph, &s, "attn.split_v", v);
    q = split_heads(graph, &s, "attn.split_q", q);
    uint32_t cached = rt_build_cache(model, graph, k);
    if (cached != k) {
        rt_graph_add_input(graph, v);
        k = v = cached;
    }
    x = rt_build_bmm(graph, "attn.scores", q, k, pairs, s.queries, s.head_dim, s.keys);
    x = rt_build_binary(graph, "attn.mask", RT_OP_ADD, x, mask, scores, s.keys, s.rows * s.keys);
    rt_build_broadcast(graph, rt_dtypes[graph->options.dtype].bytes, s.queries * s.keys);
    x = rt_build_maximum(graph, "attn.lowest", x, scores, s.keys);
    x = rt_build_softmax(graph, "attn.softmax", x, scores, s.keys);
    x = rt_build_dropout(graph, "attn.dropout", x, scores, s.keys);
    x = rt_build_bmm(graph, "attn.values", x, v, pairs, s.queries, s.keys, s.head_dim);
    x = rt_build_merge(graph, "attn.merge_heads", x, s.batch, s.rows, wide);
    return rt_build_linear(graph, "attn.output", x, s.rows, wide, h, bias);
}

/* Layer norm comes before each half where norm_first, else after it (OPT-350m). */
static uint32_t layer(const struct rt_model *model, struct rt_graph *graph, uint32_t in, uint32_t mask)
{
    struct rt_shape s = rt_shape_of(model, &graph->options);
    int64_t h = model->hidden, all = s.rows * h;
    bool first = model->norm_first, bias = model->qkv_bias;
    uint32_t x = first ? rt_build_layernorm(graph, "attn.layer_norm", in, s.rows, h) : in;
    x = rt_build_all_reduce(graph, "attn.gradient_all_reduce", x, all, false, true);
    x = attention(model, graph, x, mask);
    x = rt_build_all_reduce(graph, "attn.all_reduce", x, all, true, false);
    x = rt_build_dropout(graph, "attn.residual_dropout", x, s.rows, h);
    uint32_t middle = rt_build_binary(graph, "attn.residual", RT_OP_ADD, x, in, s.rows, h, all);
    x = rt_build_layernorm(graph, first ? "mlp.layer_norm" : "attn.layer_norm", middle, s.rows, h);
    if (!first)
        middle = x;
    x = rt_build_all_reduce(graph, "mlp.gradient_all_reduce", x, all, false, true);
    x = rt_build_linear(graph, "mlp.up", x, s.rows, h, s.inner, bias);
    x = rt_build_activation(graph, model->activation, x, s.rows, s.inner);
    x = rt_build_linear(graph, "mlp.down", x, s.rows, s.inner, h, bias);
    x = rt_build_all_reduce(graph, "mlp.all_reduce", x, all, true, false);
    x = rt_build_dropout(graph, "mlp.dropout", x, s.rows, h);
    x = rt_build_binary(graph, "mlp.residual", RT_OP_ADD, x, middle, s.rows, h, all);
    return first ? x : rt_build_layernorm(graph, "mlp.layer_norm", x, s.rows, h);
}

/* What a query may see, (batch, 1, queries, keys): padding and, where there is more than one query,
 * causality. */
static uint32_t attention_mask(struct rt_graph *graph, const struct rt_shape *s)
{
    uint32_t causal = RT_NO_INPUT;
    if (s->queries > 1) {
        causal = rt_build_unary(graph, "mask.next", RT_OP_ADD_SCALAR, RT_NO_INPUT, 1, s->queries);
        causal = rt_build_constant(graph, "mask.causal", RT_OP_WHERE, causal, s->queries, s->keys);
    }
    return rt_build_constant(graph, "mask.combine", RT_OP_WHERE, causal, s->rows, s->keys);
}

/* Positions are counted over the mask of padding. */
static uint32_t positions_of(struct rt_graph *graph, const struct rt_shape *s)
{
    uint32_t x = rt_build_constant(graph, "positions.cumsum", RT_OP_REDUCE, RT_NO_INPUT, s->batch, s->keys);
    x = rt_build_binary(graph, "positions.mask", RT_OP_MUL, x, RT_NO_INPUT, s->batch, s->keys,
                        s->batch * s->keys);
    return rt_build_unary(graph, "positions.offset", RT_OP_ADD_SCALAR, x, s->batch, s->queries);
}

static uint32_t embedding(const struct rt_model *model, struct rt_graph *graph)
{
    struct rt_shape s = rt_shape_of(model, &graph->options);
    int64_t h = model->hidden;
    uint32_t x = rt_build_embedding(graph, "tokens", s.rows, s.vocab, model->embedding);
    x = rt_build_all_reduce(graph, "all_reduce", x, s.rows * model->embedding, true, false);
    uint32_t positions = positions_of(graph, &s);
    if (model->embedding != h)
        x = rt_build_linear(graph, "project_in", x, s.rows, model->embedding, h, false);
    x = rt_build_binary(graph, "add_positions", RT_OP_ADD, x, positions, s.rows, h, s.rows * h);
    graph->nodes[x].parameters = (double)(model->positions + POSITION_OFFSET) * h;
    return x;
}

static void build(const struct rt_model *model, struct rt_graph *graph)
{
    struct rt_shape s = rt_shape_of(model, &graph->options);
    int64_t h = model->hidden, e = model->embedding;
    rt_graph_add_block(graph, "embedding", RT_BLOCK_FIRST, 1);
    uint32_t mask = attention_mask(graph, &s);
    uint32_t x = embedding(model, graph);
    rt_graph_add_block(graph, "layer", RT_BLOCK_LAYER, model->layers);
    x = layer(model, graph, x, mask);
    rt_graph_add_block(graph, "head", RT_BLOCK_LAST, 1);
    if (model->norm_first)
        x = rt_build_layernorm(graph, "layer_norm", x, s.rows, h);
    if (e != h)
        x = rt_build_linear(graph, "project_out", x, s.rows, h, e, false);
    x = rt_build_all_reduce(graph, "gradient_all_reduce", x, s.rows * e, false, true);
    rt_build_linear(graph, "lm_head", x, s.rows, e, s.vocab, false);
    graph->shared = model->tied ? (double)s.vocab * e : 0;
    graph->boundary = (double)s.rows * h;
}

const struct rt_architecture rt_opt = {"opt", "OPT", keys, complete, build};
