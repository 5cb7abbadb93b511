/* BERT as Hugging Face runs it, attention written out ("eager"). Inference is BertForSequenceClassification
 * with two labels, training BertForPreTraining (masked words and next sentence): the two that NeuSight
 * published measurements of. The tables of positions and token types are read by their adds. */
#include "models/graph/build.h"
#include "models/graph/architectures/config.h"

#define LABELS 2 /* of the classifier; is the second sentence the next one */

static const struct rt_config_key keys[] = {
    RT_MODEL_KEY("hidden_size", RT_KEY_SIZE, hidden, true, 0),
    RT_MODEL_KEY("num_hidden_layers", RT_KEY_SIZE, layers, true, 0),
    RT_MODEL_KEY("num_attention_heads", RT_KEY_SIZE, heads, true, 0),
    RT_MODEL_KEY("intermediate_size", RT_KEY_SIZE, inner, true, 0),
    RT_MODEL_KEY("max_position_embeddings", RT_KEY_SIZE, positions, false, 512),
    RT_MODEL_KEY("vocab_size", RT_KEY_SIZE, vocab, true, 0),
    RT_MODEL_KEY("type_vocab_size", RT_KEY_SIZE, types, false, 2),
    RT_MODEL_KEY("hidden_act", RT_KEY_ACTIVATION, activation, false, RT_ACT_GELU),
    RT_MODEL_KEY("tie_word_embeddings", RT_KEY_BOOLEAN, tied, false, 1),
    {0},
};

/* softmax(q k^T / sqrt(d) + mask) v for the heads of one device */
static uint32_t attention(const struct rt_model *model, struct rt_graph *graph, uint32_t x, uint32_t mask)
{
    struct rt_shape s = rt_shape_of(model, &graph->options);
    int64_t h = model->hidden, wide = s.heads * s.head_dim;
    int64_t pairs = s.batch * s.heads, scores = pairs * s.queries;
    uint32_t q = rt_build_linear(graph, "attn.q", x, s.rows, h, wide, true);
    uint32_t k = rt_build_linear(graph, "attn.k", x, s.rows, h, wide, true);
    uint32_t v = rt_build_linear(graph, "attn.v", x, s.rows, h, wide, true);
    q = rt_build_heads(graph, "attn.heads_q", q, s.batch, s.rows, wide, false);
    k = rt_build_heads(graph, "attn.heads_k", k, s.batch, s.rows, wide, true);
    v = rt_build_heads(graph, "attn.heads_v", v, s.batch, s.rows, wide, false);
    x = rt_build_bmm(graph, "attn.scores", q, k, pairs, s.queries, s.head_dim, s.keys);
    x = rt_build_unary(graph, "attn.scale", RT_OP_DIV_SCALAR, x, scores, s.keys);
    x = rt_build_binary(graph, "attn.mask", RT_OP_ADD, x, mask, scores, s.keys, s.batch * s.keys);
    x = rt_build_softmax(graph, "attn.softmax", x, scores, s.keys);
    x = rt_build_dropout(graph, "attn.dropout", x, scores, s.keys);
    x = rt_build_bmm(graph, "attn.values", x, v, pairs, s.queries, s.keys, s.head_dim);
    x = rt_build_merge(graph, "attn.merge_heads", x, s.batch, s.rows, wide);
    return rt_build_linear(graph, "attn.output", x, s.rows, wide, h, true);
}

static uint32_t layer(const struct rt_model *model, struct rt_graph *graph, uint32_t in, uint32_t mask)
{
    struct rt_shape s = rt_shape_of(model, &graph->options);
    int64_t h = model->hidden, all = s.rows * h;
    uint32_t x = rt_build_all_reduce(graph, "attn.gradient_all_reduce", in, all, false, true);
    x = attention(model, graph, x, mask);
    x = rt_build_all_reduce(graph, "attn.all_reduce", x, all, true, false);
    x = rt_build_dropout(graph, "attn.residual_dropout", x, s.rows, h);
    x = rt_build_binary(graph, "attn.residual", RT_OP_ADD, x, in, s.rows, h, all);
    uint32_t middle = rt_build_layernorm(graph, "attn.layer_norm", x, s.rows, h);
    x = rt_build_all_reduce(graph, "mlp.gradient_all_reduce", middle, all, false, true);
    x = rt_build_linear(graph, "mlp.up", x, s.rows, h, s.inner, true);
    x = rt_build_activation(graph, model->activation, x, s.rows, s.inner);
    x = rt_build_linear(graph, "mlp.down", x, s.rows, s.inner, h, true);
    x = rt_build_all_reduce(graph, "mlp.all_reduce", x, all, true, false);
    x = rt_build_dropout(graph, "mlp.dropout", x, s.rows, h);
    x = rt_build_binary(graph, "mlp.residual", RT_OP_ADD, x, middle, s.rows, h, all);
    return rt_build_layernorm(graph, "mlp.layer_norm", x, s.rows, h);
}

static uint32_t embedding(const struct rt_model *model, struct rt_graph *graph)
{
    struct rt_shape s = rt_shape_of(model, &graph->options);
    int64_t h = model->hidden, all = s.rows * h;
    uint32_t x = rt_build_embedding(graph, "tokens", s.rows, s.vocab, h);
    x = rt_build_all_reduce(graph, "all_reduce", x, all, true, false);
    x = rt_build_binary(graph, "add_types", RT_OP_ADD, x, RT_NO_INPUT, s.rows, h, model->types * h);
    graph->nodes[x].parameters = (double)model->types * h;
    x = rt_build_binary(graph, "add_positions", RT_OP_ADD, x, RT_NO_INPUT, s.rows, h, s.queries * h);
    graph->nodes[x].parameters = (double)model->positions * h;
    x = rt_build_layernorm(graph, "layer_norm", x, s.rows, h);
    return rt_build_dropout(graph, "dropout", x, s.rows, h);
}

/* Words are scored last, so that the scores are the model's last output; the order costs nothing. */
static void pretraining_heads(const struct rt_model *model, struct rt_graph *graph, uint32_t pooled,
                              uint32_t x)
{
    struct rt_shape s = rt_shape_of(model, &graph->options);
    int64_t h = model->hidden;
    rt_build_linear(graph, "next_sentence", pooled, s.batch, h, LABELS, true);
    x = rt_build_linear(graph, "transform", x, s.rows, h, h, true);
    x = rt_build_activation(graph, model->activation, x, s.rows, h);
    x = rt_build_layernorm(graph, "layer_norm", x, s.rows, h);
    x = rt_build_all_reduce(graph, "gradient_all_reduce", x, s.rows * h, false, true);
    rt_build_linear(graph, "words", x, s.rows, h, s.vocab, true);
    graph->shared = model->tied ? (double)s.vocab * h : 0;
}

static void build(const struct rt_model *model, struct rt_graph *graph)
{
    struct rt_shape s = rt_shape_of(model, &graph->options);
    int64_t h = model->hidden;
    rt_graph_add_block(graph, "embedding", RT_BLOCK_FIRST, 1);
    uint32_t mask = rt_build_unary(graph, "mask", RT_OP_MUL_SCALAR, RT_NO_INPUT, s.batch, s.keys);
    uint32_t x = embedding(model, graph);
    rt_graph_add_block(graph, "layer", RT_BLOCK_LAYER, model->layers);
    x = layer(model, graph, x, mask);
    rt_graph_add_block(graph, "head", RT_BLOCK_LAST, 1);
    uint32_t pooled = rt_build_linear(graph, "pooler", x, s.batch, h, h, true); /* of the first tokens */
    pooled = rt_build_unary(graph, "pooler.tanh", RT_OP_TANH, pooled, s.batch, h);
    if (rt_build_training(graph))
        pretraining_heads(model, graph, pooled, x);
    else
        rt_build_linear(graph, "classifier", pooled, s.batch, h, LABELS, true);
    graph->boundary = (double)s.rows * h;
}

const struct rt_architecture rt_bert = {"bert", "BERT", keys, rt_config_heads, build};
