/* GPT-2 and GPT-3 as Hugging Face's GPT2LMHeadModel runs them, attention written out ("eager"). */
#include "models/graph/build.h"
#include "models/graph/architectures/config.h"

#include <math.h>

static const struct rt_config_key keys[] = {
    RT_MODEL_KEY("n_embd", RT_KEY_SIZE, hidden, true, 0),
    RT_MODEL_KEY("n_layer", RT_KEY_SIZE, layers, true, 0),
    RT_MODEL_KEY("n_head", RT_KEY_SIZE, heads, true, 0),
    RT_MODEL_KEY("n_inner", RT_KEY_SIZE, inner, false, -1),
    RT_MODEL_KEY("n_positions", RT_KEY_SIZE, positions, false, 1024),
    RT_MODEL_KEY("vocab_size", RT_KEY_SIZE, vocab, true, 0),
    RT_MODEL_KEY("activation_function", RT_KEY_ACTIVATION, activation, false, RT_ACT_GELU_TANH),
    RT_MODEL_KEY("tie_word_embeddings", RT_KEY_BOOLEAN, tied, false, 1),
    {0},
};

static int complete(struct rt_model *model, const char *where)
{
    if (model->inner < 0)
        model->inner = 4 * model->hidden;
    return rt_config_heads(model, where);
}

/* softmax(q k^T / sqrt(d), masked) v for the heads of one device */
static uint32_t attention(const struct rt_model *model, struct rt_graph *graph, uint32_t qkv)
{
    struct rt_shape s = rt_shape_of(model, &graph->options);
    int64_t pairs = s.batch * s.heads, scores = pairs * s.queries;
    bool cached = graph->options.step == RT_STEP_DECODE; /* the cache is one piece for all sequences */
    int64_t wide = s.heads * s.head_dim, sequences = cached ? 1 : s.batch;
    qkv = rt_build_split(graph, "attn.split", qkv, s.rows, 3 * wide, wide);
    uint32_t q = rt_build_heads(graph, "attn.heads_q", qkv, sequences, s.rows, wide, false);
    uint32_t k =
        rt_build_copies(graph, "attn.heads_k", qkv, s.rows, wide, rt_copy_keys(sequences), RT_COPY_NONE);
    uint32_t v = rt_build_heads(graph, "attn.heads_v", qkv, sequences, s.rows, wide, false);
    uint32_t x = rt_build_bmm(graph, "attn.scores", q, k, pairs, s.queries, s.head_dim, s.keys);
    x = rt_build_binary(graph, "attn.scale", RT_OP_DIV, x, RT_NO_INPUT, scores, s.keys, 1);
    /* the mask is one byte for each pair of tokens, the same for all heads */
    double mask_bytes = 2 * rt_dtypes[graph->options.dtype].bytes * (double)scores * s.keys;
    x = rt_build_move(graph, "attn.mask", RT_OP_WHERE, x, scores, s.keys,
                      mask_bytes + (double)s.queries * s.keys);
    rt_build_broadcast(graph, 1, s.queries * s.keys);
    x = rt_build_softmax(graph, "attn.softmax", x, scores, s.keys);
    x = rt_build_dropout(graph, "attn.dropout", x, scores, s.keys);
    x = rt_build_bmm(graph, "attn.values", x, v, pairs, s.queries, s.keys, s.head_dim);
    return rt_build_merge(graph, "attn.merge_heads", x, s.batch, s.rows, wide);
}

static uint32_t layer(const struct rt_model *model, struct rt_graph *graph, uint32_t in)
{
    struct rt_shape s = rt_shape_of(model, &graph->options);
    int64_t h = model->hidden, all = s.rows * h, wide = s.heads * s.head_dim;
    uint32_t x = rt_build_layernorm(graph, "ln_1", in, s.rows, h);
    x = rt_build_all_reduce(graph, "attn.gradient_all_reduce", x, all, false, true);
    x = rt_build_linear(graph, "attn.qkv", x, s.rows, h, 3 * wide, true);
    x = attention(model, graph, rt_build_cache(model, graph, x));
    x = rt_build_linear(graph, "attn.projection", x, s.rows, wide, h, true);
    x = rt_build_all_reduce(graph, "attn.all_reduce", x, all, true, false);
    x = rt_build_dropout(graph, "attn.residual_dropout", x, s.rows, h);
    uint32_t middle = rt_build_binary(graph, "attn.residual", RT_OP_ADD, x, in, s.rows, h, all);
    x = rt_build_layernorm(graph, "ln_2", middle, s.rows, h);
    x = rt_build_all_reduce(graph, "mlp.gradient_all_reduce", x, all, false, true);
    x = rt_build_linear(graph, "mlp.up", x, s.rows, h, s.inner, true);
    x = rt_build_activation(graph, model->activation, x, s.rows, s.inner);
    x = rt_build_linear(graph, "mlp.down", x, s.rows, s.inner, h, true);
    x = rt_build_all_reduce(graph, "mlp.all_reduce", x, all, true, false);
    x = rt_build_dropout(graph, "mlp.dropout", x, s.rows, h);
    return rt_build_binary(graph, "mlp.residual", RT_OP_ADD, x, middle, s.rows, h, all);
}

static void build(const struct rt_model *model, struct rt_graph *graph)
{
    struct rt_shape s = rt_shape_of(model, &graph->options);
    int64_t h = model->hidden;
    rt_graph_add_block(graph, "embedding", RT_BLOCK_FIRST, 1);
    uint32_t x = rt_build_embedding(graph, "tokens", s.rows, s.vocab, h);
    x = rt_build_all_reduce(graph, "all_reduce", x, s.rows * h, true, false);
    x = rt_build_binary(graph, "add_positions", RT_OP_ADD, x, RT_NO_INPUT, s.rows, h, s.queries * h);
    graph->nodes[x].parameters = (double)model->positions * h;
    x = rt_build_dropout(graph, "dropout", x, s.rows, h);
    rt_graph_add_block(graph, "layer", RT_BLOCK_LAYER, model->layers);
    x = layer(model, graph, x);
    rt_graph_add_block(graph, "head", RT_BLOCK_LAST, 1);
    x = rt_build_layernorm(graph, "ln_f", x, s.rows, h);
    x = rt_build_all_reduce(graph, "gradient_all_reduce", x, s.rows * h, false, true);
    rt_build_linear(graph, "lm_head", x, s.rows, h, s.vocab, false);
    graph->shared = model->tied ? (double)s.vocab * h : 0;
    graph->boundary = (double)s.rows * h;
}

const struct rt_architecture rt_gpt2 = {"gpt2", "GPT-2, GPT-3", keys, complete, build};
