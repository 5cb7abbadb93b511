/* Llama, Mistral and Qwen2 as Hugging Face's ForCausalLM classes run them, attention written out ("eager").
 *
 * Mistral's sliding window only changes what the mask holds: eager attention computes every score, so a
 * sequence longer than the window costs what it costs here. The tables of cosines and sines are made once a
 * step from a few thousand numbers and left out, as is the making of the mask. */
#include "models/graph/build.h"
#include "models/graph/architectures/config.h"
#include "base/status.h"

#include <inttypes.h>

/* clang-format off */
#define SHARED_KEYS(positions_)                                                            \
    RT_MODEL_KEY("hidden_size", RT_KEY_SIZE, hidden, true, 0),                             \
    RT_MODEL_KEY("num_hidden_layers", RT_KEY_SIZE, layers, true, 0),                       \
    RT_MODEL_KEY("num_attention_heads", RT_KEY_SIZE, heads, true, 0),                      \
    RT_MODEL_KEY("num_key_value_heads", RT_KEY_SIZE, kv_heads, false, -1),                 \
    RT_MODEL_KEY("head_dim", RT_KEY_SIZE, head_dim, false, -1),                            \
    RT_MODEL_KEY("intermediate_size", RT_KEY_SIZE, inner, true, 0),                        \
    RT_MODEL_KEY("vocab_size", RT_KEY_SIZE, vocab, true, 0),                               \
    RT_MODEL_KEY("max_position_embeddings", RT_KEY_SIZE, positions, false, positions_),    \
    RT_MODEL_KEY("hidden_act", RT_KEY_ACTIVATION, activation, false, RT_ACT_SILU),         \
    RT_MODEL_KEY("tie_word_embeddings", RT_KEY_BOOLEAN, tied, false, 0)
/* clang-format on */

static const struct rt_config_key llama_keys[] = {
    SHARED_KEYS(2048),
    RT_MODEL_KEY("attention_bias", RT_KEY_BOOLEAN, qkv_bias, false, 0),
    RT_MODEL_KEY("mlp_bias", RT_KEY_BOOLEAN, mlp_bias, false, 0),
    {0},
};
static const struct rt_config_key mistral_keys[] = {SHARED_KEYS(131072), {0}};
static const struct rt_config_key qwen2_keys[] = {SHARED_KEYS(32768), {0}};

static int complete(struct rt_model *model, const char *where)
{
    int status = rt_config_heads(model, where);
    if (status == RT_OK && model->head_dim % 2 != 0)
        return rt_fail(RT_EFORMAT,
                       "%s: a head is %" PRId64 " wide, and rotary embedding turns pairs; correct the hidden "
                       "size, the heads or \"head_dim\"",
                       where, model->head_dim);
    return status;
}

static int complete_qwen2(struct rt_model *model, const char *where)
{
    model->qkv_bias = 1; /* always, and no key says so */
    return complete(model, where);
}

/* x cos + rotate_half(x) sin, for x(rows, d); the tables have `other` elements. */
struct rotary_names {
    const char *heads, *cos;
    struct rt_rotate_names rotate;
    const char *sin, *add;
};
static const struct rotary_names of_queries = {"rotary.q_heads",
                                               "rotary.q_cos",
                                               {"rotary.q_negate", "rotary.q_rotate_half"},
                                               "rotary.q_sin",
                                               "rotary.q_add"};
static const struct rotary_names of_keys = {"rotary.k_heads",
                                            "rotary.k_cos",
                                            {"rotary.k_negate", "rotary.k_rotate_half"},
                                            "rotary.k_sin",
                                            "rotary.k_add"};
static uint32_t rotary(struct rt_graph *graph, const struct rotary_names *name, uint32_t x, int64_t rows,
                       int64_t d, int64_t other, bool turned)
{
    x = rt_build_copies(graph, name->heads, x, rows, d, RT_COPY_NONE, RT_COPY_ROWS);
    uint32_t whole = rt_build_binary(graph, name->cos, RT_OP_MUL, x, RT_NO_INPUT, rows, d, other);
    uint32_t half = rt_build_rotate_half(graph, &name->rotate, x, rows, d, turned);
    half = rt_build_binary(graph, name->sin, RT_OP_MUL, half, RT_NO_INPUT, rows, d, other);
    return rt_build_binary(graph, name->add, RT_OP_ADD, whole, half, rows, d, rows * d);
}

/* Each key-value head is copied for the heads that share it (repeat_kv); its gradient sums them up again. */
static uint32_t repeat(struct rt_graph *graph, const char *name, const struct rt_shape *s, uint32_t x)
{
    if (s->heads == s->kv_heads)
        return x;
    double heads = (double)s->kv_heads + s->heads; /* read and written */
    double bytes = rt_dtypes[graph->options.dtype].bytes * heads * s->batch * s->keys * s->head_dim;
    int64_t rows = s->batch * s->heads * s->keys;
    uint32_t node = rt_build_copies(graph, name, x, rows, s->head_dim, RT_COPY_ROWS, RT_COPY_NONE);
    graph->kernels[graph->nodes[node].kernel].bytes = bytes;
    if (rt_build_training(graph))
        rt_graph_add_kernel(graph, RT_BACKWARD, RT_OP_REDUCE, (const int64_t[]){rows, s->head_dim});
    return node;
}

/* softmax(q k^T / sqrt(d) + mask) v for the heads of one device */
static uint32_t scores_and_values(struct rt_graph *graph, const struct rt_shape *s, uint32_t q, uint32_t k,
                                  uint32_t v)
{
    int64_t pairs = s->batch * s->heads, scores = pairs * s->queries;
    double width = rt_dtypes[graph->options.dtype].bytes;
    int64_t sequences = graph->options.step == RT_STEP_DECODE ? 1 : s->batch; /* the cache is one piece, */
    int64_t shared = s->heads == s->kv_heads ? sequences : 1; /* and so is what was repeated */
    int64_t wide = s->heads * s->head_dim, tokens = s->batch * s->keys;
    q = rt_build_copies(graph, "attn.heads_q", q, s->rows, wide, rt_copy_values(sequences), RT_COPY_NONE);
    k = rt_build_copies(graph, "attn.heads_k", k, tokens, wide, rt_copy_keys(shared), RT_COPY_NONE);
    v = rt_build_copies(graph, "attn.heads_v", v, tokens, wide, rt_copy_values(shared), RT_COPY_NONE);
    uint32_t x = rt_build_bmm(graph, "attn.scores", q, k, pairs, s->queries, s->head_dim, s->keys);
    x = rt_build_unary(graph, "attn.scale", RT_OP_MUL_SCALAR, x, scores, s->keys);
    x = rt_build_binary(graph, "attn.mask", RT_OP_ADD, x, RT_NO_INPUT, scores, s->keys,
                        s->batch * s->queries * s->keys);
    rt_build_broadcast(graph, width, s->queries * s->keys);
    x = rt_build_softmax(graph, "attn.softmax", x, scores, s->keys);
    if (width < 4) /* the softmax is computed in fp32 and cast back */
        x = rt_build_move(graph, "attn.softmax_cast", RT_OP_COPY, x, scores, s->keys,
                          (4 + width) * scores * s->keys);
    return rt_build_bmm(graph, "attn.values", x, v, pairs, s->queries, s->keys, s->head_dim);
}

static uint32_t attention(const struct rt_model *model, struct rt_graph *graph, uint32_t x)
{
    struct rt_shape s = rt_shape_of(model, &graph->options);
    int64_t h = model->hidden, wide = s.heads * s.head_dim, kv_wide = s.kv_heads * s.head_dim;
    int64_t table = s.queries * s.head_dim;
    bool bias = model->qkv_bias, out_bias = bias && model->architecture == &rt_llama;
    uint32_t q = rt_build_linear(graph, "attn.q", x, s.rows, h, wide, bias);
    uint32_t k = rt_build_linear(graph, "attn.k", x, s.rows, h, kv_wide, bias);
    uint32_t v = rt_build_linear(graph, "attn.v", x, s.rows, h, kv_wide, bias);
    v = rt_build_copies(graph, "attn.rows_v", v, s.rows, kv_wide, RT_COPY_NONE, RT_COPY_ROWS);
    q = rotary(graph, &of_queries, q, s.rows * s.heads, s.head_dim, table, false);
    /* the product's gradient of keys is transposed; where heads share keys, their sum is not */
    k = rotary(graph, &of_keys, k, s.rows * s.kv_heads, s.head_dim, table, s.heads == s.kv_heads);
    uint32_t cached = rt_build_cache(model, graph, k);
    if (cached != k) {
        rt_graph_add_input(graph, v);
        k = v = cached;
    }
    k = repeat(graph, "attn.repeat_keys", &s, k);
    v = repeat(graph, "attn.repeat_values", &s, v);
    x = scores_and_values(graph, &s, q, k, v);
    x = rt_build_merge(graph, "attn.merge_heads", x, s.batch, s.rows, wide);
    return rt_build_linear(graph, "attn.o", x, s.rows, wide, h, out_bias);
}

/* down(act(gate x) * up x) */
static uint32_t feed_forward(const struct rt_model *model, struct rt_graph *graph, uint32_t x)
{
    struct rt_shape s = rt_shape_of(model, &graph->options);
    int64_t h = model->hidden;
    bool bias = model->mlp_bias;
    uint32_t gate = rt_build_linear(graph, "mlp.gate", x, s.rows, h, s.inner, bias);
    gate = rt_build_activation(graph, model->activation, gate, s.rows, s.inner);
    uint32_t up = rt_build_linear(graph, "mlp.up", x, s.rows, h, s.inner, bias);
    x = rt_build_binary(graph, "mlp.product", RT_OP_MUL, gate, up, s.rows, s.inner, s.rows * s.inner);
    return rt_build_linear(graph, "mlp.down", x, s.rows, s.inner, h, bias);
}

static uint32_t layer(const struct rt_model *model, struct rt_graph *graph, uint32_t in)
{
    struct rt_shape s = rt_shape_of(model, &graph->options);
    int64_t h = model->hidden, all = s.rows * h;
    uint32_t x = rt_build_rmsnorm(graph, in, s.rows, h);
    x = rt_build_all_reduce(graph, "attn.gradient_all_reduce", x, all, false, true);
    x = attention(model, graph, x);
    x = rt_build_all_reduce(graph, "attn.all_reduce", x, all, true, false);
    uint32_t middle = rt_build_binary(graph, "attn.residual", RT_OP_ADD, x, in, s.rows, h, all);
    x = rt_build_rmsnorm(graph, middle, s.rows, h);
    x = rt_build_all_reduce(graph, "mlp.gradient_all_reduce", x, all, false, true);
    x = feed_forward(model, graph, x);
    x = rt_build_all_reduce(graph, "mlp.all_reduce", x, all, true, false);
    return rt_build_binary(graph, "mlp.residual", RT_OP_ADD, x, middle, s.rows, h, all);
}

static void build(const struct rt_model *model, struct rt_graph *graph)
{
    struct rt_shape s = rt_shape_of(model, &graph->options);
    int64_t h = model->hidden, all = s.rows * h;
    rt_graph_add_block(graph, "embedding", RT_BLOCK_FIRST, 1);
    uint32_t x = rt_build_embedding(graph, "tokens", s.rows, s.vocab, h);
    x = rt_build_all_reduce(graph, "all_reduce", x, all, true, false);
    rt_graph_add_block(graph, "layer", RT_BLOCK_LAYER, model->layers);
    x = layer(model, graph, x);
    rt_graph_add_block(graph, "head", RT_BLOCK_LAST, 1);
    x = rt_build_rmsnorm(graph, x, s.rows, h);
    x = rt_build_all_reduce(graph, "gradient_all_reduce", x, all, false, true);
    rt_build_linear(graph, "lm_head", x, s.rows, h, s.vocab, false);
    graph->shared = model->tied ? (double)s.vocab * h : 0;
    graph->boundary = (double)all;
}

const struct rt_architecture rt_llama = {"llama", "Llama 2, Llama 3", llama_keys, complete, build};
const struct rt_architecture rt_mistral = {"mistral", "Mistral", mistral_keys, complete, build};
const struct rt_architecture rt_qwen2 = {"qwen2", "Qwen2, Qwen2.5", qwen2_keys, complete_qwen2, build};
